# SPDX-License-Identifier: BSD-3-Clause
"""The driver of a study: python consortium_driver.py key | roster | check | fit | curve | predict."""

import http.client
import json
import os
import pickle
import sys
import threading
from pathlib import Path

import pandas as pd

from skprivate import DPSEVRegressor, PrivacyLedger, TQMATransformer, private_describe
from skprivate.collaborative import MaskedSites, SiteKey
from skprivate.domain import TableDomain
from skprivate.rounds import TableSource, fit_rounds

FEATURES, BOUNDS = ["age", "dose"], {"age": (20, 90), "dose": (0, 10)}
COLUMNS = {"features": FEATURES, "target": "days", "event": "died"}
DOMAIN = TableDomain({"days": (0, 3650), "died": bool})
MODEL = DPSEVRegressor(epsilon=1.0, bounds_X=BOUNDS, bounds_y=(1, 3650))
CURVE = {"columns": [], "survival": ("days", "died")}


class Post:
    """Brings requests to sites, over connections that stay open."""

    def __init__(self, addresses, timeout=60):
        self.addresses, self.timeout = addresses, timeout
        self.connections, self.locks = {}, {name: threading.Lock() for name in addresses}

    def __call__(self, name, request):
        with self.locks[name]:
            host = self.connections.pop(name, None)
            host = host or http.client.HTTPConnection(self.addresses[name], timeout=self.timeout)
            host.request("POST", "/", request)
            answer = host.getresponse()
            reply = answer.read()
            if answer.status != 200:
                raise OSError(f"status {answer.status}")
            self.connections[name] = host  # an error leaves none: the next try opens another
            return reply


def driver_key():
    path = Path("driver.key")
    if not path.exists():
        with open(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
            file.write(SiteKey.generate().to_bytes())
    return SiteKey.from_bytes(path.read_bytes())


def write_roster():
    publics = {name: bytes.fromhex(key) for name, key in json.loads(Path("publics.json").read_text()).items()}
    fits = [
        MaskedSites.plan_fit(MODEL, n_rows=1500, **COLUMNS),
        MaskedSites.plan_description(DOMAIN, 1.0, **CURVE),
    ]
    predictions = MaskedSites.plan_predictions(FEATURES, n_rows=1500, most_rows=1000, askers=["ward 3"])
    roster = MaskedSites.roster(
        publics, driver_key().public, fits, predictions=predictions, ledger="study.ledger", title="Survival"
    )
    Path("roster.json").write_bytes(roster)
    print(MaskedSites.fingerprint_of(roster))


def main(what):
    if what == "key":
        return print(driver_key().public.hex())
    if what == "roster":
        return write_roster()
    post = Post(json.loads(Path("addresses.json").read_text()))
    sites = MaskedSites(post, Path("roster.json").read_bytes(), driver_key(), patience=60)
    ledger = PrivacyLedger("study.ledger", epsilon=2)
    if what == "check":
        sites.check()
        print("all sites are ready")
    elif what == "fit":
        model = MODEL.set_params(ledger=ledger)
        fit_rounds(model, TableSource(sites, **COLUMNS), checkpoint="fit.checkpoint")
        # The checkpoint stays and would give the same fit again. Delete it after the model is saved.
        Path("model.pickle").write_bytes(pickle.dumps(model.set_params(ledger=None)))
        Path("fit.checkpoint").unlink()
        print("coefficients", dict(zip(FEATURES, model.coef_.round(4).tolist(), strict=True)))
    elif what == "curve":
        source = TableSource(sites)
        curve = private_describe(source, DOMAIN, 1.0, ledger=ledger, checkpoint="curve.checkpoint", **CURVE)
        Path("curve.txt").write_text(str(curve))
        Path("curve.checkpoint").unlink()
        print(curve)
    elif what == "predict":
        coarse = TQMATransformer(depth=4, bounds=BOUNDS, quasi_identifiers=["age"])
        patients = pd.DataFrame({"age": [43.0, 71.0], "dose": [2.0, 6.5]})
        print(sites.predict(coarse.fit(patients).transform(patients), asker="ward 3").round(3))
    print("spent", float(ledger.spent().epsilon))


if __name__ == "__main__":
    main(*sys.argv[1:])
