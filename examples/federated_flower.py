# SPDX-License-Identifier: BSD-3-Clause
"""
Queries and answers through Flower
==================================

The platform speaks bytes, so that any transport can carry them. Here it is Flower: every client is a hospital
that answers with its own model, the server asks and combines. No row and no model leaves a client; the server
holds announcements (name, numbers of rows and of features) and answers.

It needs ``pip install "flwr[simulation]"``, and runs a simulation of twelve clients::

    python examples/federated_flower.py

In production the two apps stay as they are, and ``flower-superlink`` and ``flower-supernode`` run them.
"""

import numpy as np
from flwr.app import ConfigRecord, Message, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import ServerApp
from flwr.simulation import run_simulation

from skprivate import CollaborativeLARRegressor, LocalAverageRegressor
from skprivate.collaborative import CollaborativeSite
from skprivate.datasets import make_parties

N_HOSPITALS, N_ROWS = 12, 6000


def hospital(number: int) -> CollaborativeSite:
    """What a hospital does at home: fit its own model to its own rows."""
    X, y, sites = make_parties(N_ROWS, N_HOSPITALS, random_state=0)
    own = sites == number
    model = LocalAverageRegressor(bounds=(0, 1), refine_to=N_ROWS).fit(X[own], y[own])
    return CollaborativeSite(f"hospital {number}", model, n_samples=own.sum())


client_app = ClientApp()


@client_app.query()
def answer(message: Message, context) -> Message:
    """Announce the hospital, or answer a query."""
    site = hospital(int(context.node_config["partition-id"]))
    asked = message.content["skprivate"]
    content = site.answer(asked["query"]) if "query" in asked else site.announce()
    return Message(RecordDict({"skprivate": ConfigRecord({"answer": content})}), reply_to=message)


server_app = ServerApp()


@server_app.main()
def main(grid, context) -> None:
    """Ask all hospitals with perturbed queries, and combine what they answer."""

    def ask_all(record: ConfigRecord) -> list[bytes]:
        messages = [
            Message(RecordDict({"skprivate": record}), dst_node_id=node, message_type="query")
            for node in grid.get_node_ids()
        ]
        return [reply.content["skprivate"]["answer"] for reply in grid.send_and_receive(messages)]

    while len(list(grid.get_node_ids())) < N_HOSPITALS:
        pass
    platform = CollaborativeLARRegressor.from_sites(ask_all(ConfigRecord()), bounds=(0, 1))
    X, y, _ = make_parties(500, 1, noise=0, random_state=1)
    query = platform.ask(X)
    predictions = platform.combine(*ask_all(ConfigRecord({"query": query})), query=query)
    print(f"{len(platform.sites_)} hospitals, RMSE {np.sqrt(np.mean((predictions - y) ** 2)):.4f}")


if __name__ == "__main__":
    run_simulation(server_app, client_app, num_supernodes=N_HOSPITALS)
