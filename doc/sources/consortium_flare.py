# SPDX-License-Identifier: BSD-3-Clause
"""A study over NVIDIA FLARE: its sites and its server transport the bytes, and take no part in the masks.

Every machine has a folder STUDY. A site's holds ``NAME/site.state``, which has joined (consortium_site.py
join; NAME is FLARE's name of the site), and ``NAME/rows.csv``; the server's holds driver.key and roster.json.
"""

import functools
import os
from pathlib import Path

import pandas as pd
from nvflare.collab import CollabRecipe, collab
from nvflare.recipe import SimEnv

from skprivate import DPSEVRegressor, PrivacyLedger
from skprivate.collaborative import MaskedSites, SiteKey, SiteState
from skprivate.rounds import TableSource, fit_rounds

STUDY = Path(os.environ.get("SKPRIVATE_STUDY", "/var/lib/skprivate"))
COLUMNS = {"features": ["age", "dose"], "target": "days", "event": "died"}
MODEL = DPSEVRegressor(epsilon=1.0, bounds_X={"age": (20, 90), "dose": (0, 10)}, bounds_y=(1, 3650))


@functools.cache
def state_of(name):
    return SiteState(STUDY / name / "site.state")


@collab.publish
def answer(request: bytes) -> bytes:
    """Answer at a site: a refusal is a reply, too."""
    name = collab.site_name
    return state_of(name).answer(bytes(request), lambda: pd.read_csv(STUDY / name / "rows.csv"))


@collab.main
def run():
    """Fit at the server, which holds the driver's key: it is trusted with sums over all sites."""
    sites = {proxy.name: proxy for proxy in collab.clients}
    key = SiteKey.from_bytes((STUDY / "driver.key").read_bytes())
    roster = (STUDY / "roster.json").read_bytes()
    source = MaskedSites(lambda name, request: sites[name](timeout=60).answer(request), roster, key)
    model = MODEL.set_params(ledger=PrivacyLedger(STUDY / "study.ledger", epsilon=2))
    fit_rounds(model, TableSource(source, **COLUMNS), checkpoint=STUDY / "fit.checkpoint")
    (STUDY / "coefficients.txt").write_text(" ".join(map(repr, model.coef_.tolist())))


if __name__ == "__main__":
    # On a real network: ProdEnv of nvflare.recipe, with the startup kit of an administrator.
    names = sorted(path.parent.name for path in STUDY.glob("*/site.state"))
    job = CollabRecipe(job_name="skprivate", min_clients=len(names), sync_task_timeout=60)
    print(job.execute(SimEnv(clients=names, num_threads=len(names))).get_status())
