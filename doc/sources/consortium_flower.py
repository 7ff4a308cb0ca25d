# SPDX-License-Identifier: BSD-3-Clause
"""A study over Flower's deployment runtime: start each supernode with --node-config 'site="north"'.

Flower starts a new process for every message. A site's memory is therefore its ``site.state``, in the folder
STUDY/NAME of its machine beside ``rows.csv``. A key that is kept in Flower's ``context.state`` would mask two
messages alike. The server's folder STUDY holds driver.key and roster.json.
"""

import os
from pathlib import Path

import pandas as pd
from flwr.app import ConfigRecord, Message, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import ServerApp

from skprivate import DPSEVRegressor, PrivacyLedger
from skprivate.collaborative import MaskedSites, SiteKey, SiteState
from skprivate.rounds import TableSource, fit_rounds

STUDY = Path(os.environ.get("SKPRIVATE_STUDY", "/var/lib/skprivate"))
COLUMNS = {"features": ["age", "dose"], "target": "days", "event": "died"}
MODEL = DPSEVRegressor(epsilon=1.0, bounds_X={"age": (20, 90), "dose": (0, 10)}, bounds_y=(1, 3650))
client_app = ClientApp()
server_app = ServerApp()


@client_app.query()
def answer(message, context):
    """Answer at a site; without a request, return its name."""
    name, request = context.node_config["site"], message.content["request"].get("bytes")
    content = {"name": name}
    if request is not None:
        state = SiteState(STUDY / name / "site.state")
        content["bytes"] = state.answer(request, lambda: pd.read_csv(STUDY / name / "rows.csv"))
    return Message(RecordDict({"reply": ConfigRecord(content)}), reply_to=message)


@server_app.main()
def main(grid, context):
    """Fit at the server, which holds the driver's key: it is trusted with sums over all sites."""

    def ask(node, **content):
        record = RecordDict({"request": ConfigRecord(content)})
        message = Message(record, dst_node_id=node, message_type="query")
        (reply,) = grid.send_and_receive([message], timeout=120)
        return reply.content["reply"]

    roster, key = (
        (STUDY / "roster.json").read_bytes(),
        SiteKey.from_bytes((STUDY / "driver.key").read_bytes()),
    )
    nodes = {ask(node)["name"]: node for node in grid.get_node_ids()}
    sites = MaskedSites(
        lambda name, request: ask(nodes[name], bytes=request)["bytes"], roster, key, patience=600
    )
    model = MODEL.set_params(ledger=PrivacyLedger(STUDY / "study.ledger", epsilon=2))
    fit_rounds(model, TableSource(sites, **COLUMNS), checkpoint=STUDY / "fit.checkpoint")
    (STUDY / "coefficients.txt").write_text(" ".join(map(repr, model.coef_.tolist())))
