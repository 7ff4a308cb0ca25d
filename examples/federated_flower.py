# SPDX-License-Identifier: BSD-3-Clause
"""
Queries and answers through Flower
==================================

The platform speaks bytes, so that any transport can carry them. Here it is Flower: every client is a hospital
that answers with its own model, the server asks and combines. No row and no model leaves a client; the server
holds announcements (name, number of rows, names of columns) and answers. The hospitals are SIMULATED.

With ``pip install "flwr[simulation]"`` it runs a simulation of twelve clients::

    python examples/federated_flower.py

In production the two apps stay as they are, and ``flower-superlink`` and ``flower-supernode`` run them. Where
Flower is not installed, a loop carries the same bytes; the title of the picture says which.
"""

# %%
# A hospital, and the platform
# ----------------------------
# Both sides only read and write bytes: this part knows nothing of Flower.
from collections.abc import Callable

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skprivate import CollaborativeLARRegressor, LocalAverageRegressor
from skprivate.collaborative import CollaborativeSite
from skprivate.datasets import make_parties

try:
    from flwr.app import ConfigRecord, Message, RecordDict
    from flwr.clientapp import ClientApp
    from flwr.serverapp import ServerApp
    from flwr.simulation import run_simulation

    TRANSPORT = "Flower"
except ImportError:
    TRANSPORT = "a loop"

N_HOSPITALS, N_ROWS = 12, 6000
COLUMNS = [f"x{column}" for column in range(5)]
outcomes = []  # of every run: the truth and the predictions


def answer(number: int, query: bytes | None) -> bytes:
    """What a hospital does at home: fit its own model to its own rows; announce itself, or answer."""
    X, y, _ = make_parties(N_ROWS, N_HOSPITALS, random_state=0)
    X = pd.DataFrame(X, columns=COLUMNS)
    own = np.arange(N_ROWS) % N_HOSPITALS == number  # of one size: swapping protects a larger site less
    model = LocalAverageRegressor(bounds=(0, 1), refine_to=N_ROWS).fit(X[own], y[own])
    site = CollaborativeSite(f"hospital {number}", model, n_samples=own.sum())
    return site.announce() if query is None else site.answer(query)


def predict(ask_all: Callable[[bytes | None], list[bytes]]) -> tuple[NDArray, NDArray]:
    """Ask all hospitals with perturbed queries, and combine what they answer."""
    platform = CollaborativeLARRegressor.from_sites(ask_all(None), bounds=(0, 1))
    X, y, _ = make_parties(500, 1, noise=0, random_state=1)
    query = platform.ask(pd.DataFrame(X, columns=COLUMNS))  # compared with the names that sites announced
    answers = ask_all(query)
    predictions = platform.combine(*answers, query=query)
    print(f"{len(platform.sites_)} hospitals; a query of {len(query)} bytes, an answer of {len(answers[0])}")
    return y, predictions


# %%
# The two apps of Flower
# ----------------------
if TRANSPORT == "Flower":
    client_app, server_app = ClientApp(), ServerApp()

    @client_app.query()
    def reply(message: Message, context) -> Message:
        """Hand the bytes of a query to the hospital, and its bytes back."""
        number = int(context.node_config["partition-id"])
        content = answer(number, message.content["skprivate"].get("query"))
        return Message(RecordDict({"skprivate": ConfigRecord({"answer": content})}), reply_to=message)

    @server_app.main()
    def main(grid, context) -> None:
        """Wait for the hospitals, and let the platform ask them."""

        def ask_all(query: bytes | None) -> list[bytes]:
            record = ConfigRecord() if query is None else ConfigRecord({"query": query})
            messages = [
                Message(RecordDict({"skprivate": record}), dst_node_id=node, message_type="query")
                for node in grid.get_node_ids()
            ]
            return [found.content["skprivate"]["answer"] for found in grid.send_and_receive(messages)]

        while len(list(grid.get_node_ids())) < N_HOSPITALS:
            pass
        outcomes.append(predict(ask_all))


# %%
# A run
# -----
if __name__ == "__main__":
    if TRANSPORT == "Flower":
        run_simulation(server_app, client_app, num_supernodes=N_HOSPITALS)
    else:
        outcomes.append(predict(lambda query: [answer(number, query) for number in range(N_HOSPITALS)]))

    truth, predictions = outcomes[0]
    print(f"RMSE {np.sqrt(np.mean((predictions - truth) ** 2)):.4f}")
    plt.figure(figsize=(5, 4), layout="constrained")
    plt.plot(truth, predictions, ".", markersize=4)
    plt.axline((0, 0), slope=1, color="black", linewidth=1)
    plt.xlabel("truth")
    plt.ylabel("prediction")
    plt.title(f"SIMULATED hospitals, asked by {TRANSPORT}")
    plt.show()
