# SPDX-License-Identifier: BSD-3-Clause
"""A study whose sites and driver are killed at random, over a transport that doubles, delays and cuts.

``python -m tests.collaborative.kills FOLDER N_FITS SEED`` runs it, and prints what happened as JSON. What
leaves a site is noted before it does: two replies to one request show, as each may hold a mask.
"""

import hashlib
import http.client
import json
import os
import random
import signal
import socket
import sys
import threading
import traceback
import warnings
from collections import Counter, defaultdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pandas as pd

from skprivate import DPLogisticRegression, DPNormalLLSRegressor, DPTreeClassifier, PrivacyLedger
from skprivate.collaborative import MaskedSites, SiteKey, SiteState
from skprivate.collaborative._protocols.consortium import Consortium
from skprivate.noise import DiscreteLaplaceMechanism
from skprivate.rounds import TableSource, fit_rounds
from skprivate.rounds._driver import RunRecord
from skprivate.rounds._task import RoundTask

NAMES, FEATURES, CHANCE = ("north", "south", "west"), ["a", "b"], 0.02
LABELS = {"features": FEATURES, "target": "label"}
MODELS = [
    (DPTreeClassifier(1.0, bounds=(0, 1), classes=[0, 1], max_depth=3), LABELS),
    (DPNormalLLSRegressor(1.0, bounds_X=(0, 1), bounds_y=(-2, 4)), {"features": FEATURES, "target": "y"}),
    (DPLogisticRegression(1.0, bounds=(0, 1), classes=[0, 1]), LABELS),
]


def make_rows():
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(rng.uniform(size=(3000, 2)), columns=FEATURES)
    rows["label"], rows["y"] = (rows["a"] > 0.4).astype(int), rows["a"] - rows["b"] + rng.normal(size=3000)
    return rows


def parameters_of(model):
    """Everything that a fit released, as text."""
    leaves = [getattr(model, name).tolist() for name in ("coef_", "intercept_") if hasattr(model, name)]
    return repr(leaves or model.predict_proba(make_rows()[FEATURES]).tolist())


def die(folder, place):
    """Kill this process here, sometimes."""
    if random.random() < CHANCE:
        with open(folder / "killed", "a") as file:
            file.write(place + "\n")
        os.kill(os.getpid(), signal.SIGKILL)


def kill_around(folder, owner, name, place):
    """Kill the process sometimes before, and sometimes after, a call of a function."""
    function = getattr(owner, name)

    def wrapper(*args, **kwargs):
        die(folder, f"before {place}")
        found = function(*args, **kwargs)
        die(folder, f"after {place}")
        return found

    setattr(owner, name, wrapper)


def serve(folder, name, port, table):
    """A site, from its file on."""
    kill_around(folder, RoundTask, "sum_batch", "sums")
    kill_around(folder, SiteState, "_append", "entry")
    kill_around(folder, SiteState, "_write_mark", "mark, behind the commit")
    read = Consortium.read_request

    def asked(self, own, key, message):
        asking.request = read(self, own, key, message)
        return asking.request

    asking, Consortium.read_request = threading.local(), asked

    class Handler(BaseHTTPRequestHandler):
        protocol_version, disable_nagle_algorithm = "HTTP/1.1", True

        def do_POST(self):
            reply = state.answer(self.rfile.read(int(self.headers["Content-Length"])), table)
            request = getattr(asking, "request", b"")
            if b'"sums"' in request or b'"facts"' in request:
                digests = (hashlib.sha256(content).hexdigest() for content in (request, reply))
                with open(folder / f"sent {name}", "a") as file:
                    file.write(" ".join(digests) + "\n")
            self.send_response(200)
            self.send_header("Content-Length", str(len(reply)))
            self.end_headers()
            self.wfile.write(reply[: len(reply) // 2])
            die(folder, "site, half of a reply")
            self.wfile.write(reply[len(reply) // 2 :])

        def log_message(self, *_):
            pass

    state = SiteState(folder / f"{name}.state")
    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    server.state = state
    server.serve_forever()


class Chaos:
    """A transport that doubles, delays, reorders, cuts and alters."""

    def __init__(self, folder, ports):
        self.folder, self.ports, self.old = folder, ports, defaultdict(list)

    def send(self, name, request):
        host = http.client.HTTPConnection("127.0.0.1", self.ports[name], timeout=20)
        try:
            host.request("POST", "/", request)
            return host.getresponse().read()
        finally:
            host.close()

    def __call__(self, name, request):
        kind = random.choices(
            ("fair", "doubled", "late request", "old reply", "cut", "altered", "lost"), (12, 1, 1, 1, 1, 1, 1)
        )[0]
        with open(self.folder / "chaos", "a") as file:
            file.write(kind + "\n")
        old = self.old[name]
        if kind == "late request" and old:
            self.send(name, random.choice(old)[0])
        if kind == "old reply" and old:
            return random.choice(old)[1]
        reply = self.send(name, request)
        if kind == "doubled":
            reply = self.send(name, request)
        if kind == "lost":
            raise TimeoutError
        old.append((request, reply))
        place = random.randrange(len(reply))
        if kind == "altered":
            return reply[:place] + bytes([reply[place] ^ 1]) + reply[place + 1 :]
        die(self.folder, "driver, with a reply")
        return reply[:place] if kind == "cut" else reply


def drive(folder, number, ports):
    """The driver of one fit, from its checkpoint on."""
    kill_around(folder, PrivacyLedger, "charge", "charge")
    kill_around(folder, RunRecord, "_write", "checkpoint")
    kill_around(folder, DiscreteLaplaceMechanism, "randomize", "noise")
    kill_around(folder, Consortium, "add_integers", "opened sum")
    key = SiteKey.from_bytes((folder / "driver.key").read_bytes())
    sites = MaskedSites(Chaos(folder, ports), (folder / "roster").read_bytes(), key, patience=120)
    ledger = PrivacyLedger(folder / f"{number}.ledger", epsilon=1)
    model, columns = MODELS[number % len(MODELS)]
    model.set_params(ledger=ledger, random_state=number)
    fit_rounds(model, TableSource(sites, **columns), checkpoint=folder / f"{number}.checkpoint")
    (folder / f"{number}.fit").write_text(parameters_of(model))


def fork(function, *args):
    """Return the id of a process that runs a function, and no more."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        random.seed()
        function(*args)
        code = 0
    except Exception:
        traceback.print_exc()
    finally:
        os._exit(code)


def main(folder, n_fits):
    """Run all fits, and start again what was killed."""
    rows, key = make_rows(), SiteKey.generate()
    tables = {name: rows[place::3] for place, name in enumerate(NAMES)}
    states = {name: SiteState(folder / f"{name}.state") for name in NAMES}
    fits = [MaskedSites.plan_fit(model, n_rows=3000, runs=n_fits, **columns) for model, columns in MODELS]
    roster = MaskedSites.roster({name: state.public for name, state in states.items()}, key.public, fits)
    (folder / "roster").write_bytes(roster)
    (folder / "driver.key").write_bytes(key.to_bytes())
    for state in states.values():
        state.enrol(roster, MaskedSites.fingerprint_of(roster))
    free = [socket.create_server(("127.0.0.1", 0)) for _ in NAMES]
    ports = {name: one.getsockname()[1] for name, one in zip(NAMES, free, strict=True)}
    for one in free:
        one.close()
    servers = {fork(serve, folder, name, ports[name], tables[name]): name for name in NAMES}
    failed = []
    for number in range(n_fits):
        driver = fork(drive, folder, number, ports)
        while driver is not None:
            child, status = os.wait()
            if child in servers:
                name = servers.pop(child)
                servers[fork(serve, folder, name, ports[name], tables[name])] = name
                if status != signal.SIGKILL:
                    failed.append(f"site {name}: {status}")
                continue
            if status not in (0, signal.SIGKILL):
                failed.append(f"driver {number}: {status}")
            driver = fork(drive, folder, number, ports) if status == signal.SIGKILL and not failed else None
    for child in servers:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    print(json.dumps(report(folder, n_fits, failed)))


def report(folder, n_fits, failed):
    """Count wrong sums, charges, and masks that were used twice."""
    wrong, rows = [], make_rows()
    for number in range(n_fits):
        model, columns = MODELS[number % len(MODELS)]
        model.set_params(ledger=None, random_state=number).fit(rows[FEATURES], rows[columns["target"]])
        found = folder / f"{number}.fit"
        wrong += [] if found.exists() and found.read_text() == parameters_of(model) else [number]
    entries = [len(PrivacyLedger(folder / f"{number}.ledger").entries()) for number in range(n_fits)]
    twice = n_masks = 0
    for name in NAMES:
        contents = defaultdict(set)
        for line in (folder / f"sent {name}").read_text().splitlines():
            contents[line.split()[0]].add(line.split()[1])
        n_masks += len(contents)
        twice += sum(len(found) > 1 for found in contents.values())
        SiteState(folder / f"{name}.state")  # checks the whole file
    killed = Counter((folder / "killed").read_text().splitlines())
    chaos = Counter((folder / "chaos").read_text().splitlines())
    counts = {"fits": n_fits, "wrong": wrong, "entries": entries, "masks": n_masks, "twice": twice}
    return {**counts, "failed": failed, "kills": sum(killed.values()), "killed": killed, "chaos": chaos}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(Path(sys.argv[1]), int(sys.argv[2]))
