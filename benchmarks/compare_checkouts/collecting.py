# SPDX-License-Identifier: BSD-3-Clause
"""Cases of collecting reports from clients, and of messages that sites seal for each other."""

import contextlib
import io
import runpy
import sys
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from .estimators import settings
from .names import public
from .record import FIT, PREDICTIONS, STATEMENTS, Case, Recorder, folder


def sealed_messages(recorder: Recorder) -> None:
    """Answer under consent and under masks, with fixed keys."""
    # Keys come from OpenSSL, which no seed reaches.
    key = public("SiteKey")
    keys = {name: key.from_bytes(8 * name.encode()) for name in ("nord", "east", "west")}
    head = key.from_bytes(bytes([9]) * 32)
    members = {name: own.public for name, own in keys.items()}
    for name, steps in {"ConsentBox": _consent, "MaskedSum": _masked}.items():
        with recorder.case(name, "three members") as case:
            box, rng = public(name)(members, head.public), np.random.default_rng(0)
            query = box.new_query(rng.uniform(size=(2, 3)), ["a", "b", "c"])
            case.put(FIT, "box", [repr(box), box.fingerprint, box.members, query])
            steps(case, box, keys, head, query, rng)
            case.put(STATEMENTS, "keys", [repr(head), head.public])


def _consent(case: Case, box: Any, keys: Any, head: Any, query: bytes, rng: Any) -> None:
    sealed = {name: box.seal(name, key, query, rng.normal(size=2)) for name, key in keys.items()}
    consents = {name: box.consent(name, key, query, sealed) for name, key in keys.items()}
    case.put(FIT, "sealed", [sealed, consents])
    case.put(PREDICTIONS, "opened", box.open(head, query, sealed, consents))
    del consents["west"]
    case.attempt(STATEMENTS, "one consent missing", box.open, head, query, sealed, consents)


def _masked(case: Case, total: Any, keys: Any, head: Any, query: bytes, rng: Any) -> None:
    messages = {name: total.mask(name, key, query, rng.normal(size=2), 10) for name, key in keys.items()}
    case.put(FIT, "masked", messages)
    case.put(PREDICTIONS, "opened", total.open(head, query, messages))
    del messages["west"]
    case.attempt(STATEMENTS, "one message missing", total.open, head, query, messages)


def collection(recorder: Recorder) -> None:
    """Collect reports by objects, by files and by the command line."""
    plan = public("LocallyPrivateTreeClassifier")(4.0, bounds=(0, 1), classes=["no", "yes"])
    for label, change in settings(plan):
        for n_public in (0, 40):
            name = f"{label}, {n_public} public rows"
            with recorder.case("TreeCurator", name) as case, folder() as here:
                _collect(case, clone(plan).set_params(**change), n_public, here)
    with recorder.case("TreeCurator", "command line") as case, folder() as here:
        _command_line(case, here)


def _collect(case: Case, plan: Any, n_public: int, here: Path) -> None:
    rng = np.random.default_rng(4)
    X = rng.uniform(size=(200, 2))
    y = np.where(X[:, 0] > 0.5, "yes", "no")
    given = (X[:n_public], y[:n_public]) if n_public else ()
    kind = public("TreeCurator")
    curator = kind(plan, *given, n_clients=160, features=["a", "b"], label="ill")
    question = curator.specification
    case.put(FIT, "specification", [question.to_json(), question.hash, repr(question), str(question)])
    reader = public("TreeSpecification")
    case.put(FIT, "read again", reader.from_json(question.to_json()).to_dict())
    options = {"protect": plan.protect}
    reports = [curator.client(**options).randomize(x, label) for x, label in zip(X[40:], y[40:], strict=True)]
    case.put(FIT, "reports", b"".join(reports))
    with public("ReportWriter")(here / "a.bin", question) as writer:
        writer.write(b"".join(reports[80:]))
    case.put(FIT, "file", (here / "a.bin").read_bytes())
    other = kind.from_bytes(curator.to_bytes())
    for report in reports[:80]:
        curator.update(report)
    seen: list[Any] = []
    other.update_file(here / "a.bin", progress=lambda *now: seen.append(now))
    case.attempt(STATEMENTS, "counted twice", other.update_file, here / "a.bin")
    curator.merge(other)
    case.put(FIT, "curator", [curator.to_bytes(), curator.history, curator.n_reports, repr(curator), seen])
    case.estimator(curator.release(), X[:30], y[:30])
    client = public("TreeClient")(question, memory=here / "c.json", **options)
    case.put(FIT, "client", [client.randomize({"a": 0.2, "b": 0.1}, "no"), repr(client)[:20]])
    case.put(FIT, "memory", [(here / "c.json").read_text(), client.spent_epsilon, client.lifetime_epsilon])
    counts = np.arange(question.partition.n_leaves * 2).reshape(-1, 2)
    stated = {"mechanism": "somebody's", "epsilon": 1.0, "noise_variance": 4.0}
    case.attempt(PREDICTIONS, "external counts", curator.from_counts, counts, **stated)


def _command_line(case: Case, here: Path) -> None:
    rng = np.random.default_rng(5)
    for name, n_rows in (("public.csv", 30), ("rows.csv", 120)):
        X = rng.uniform(size=(n_rows, 2))
        lines = [f"{a:.6f},{b:.6f},{int(a > 0.5)}" for a, b in X]
        (here / name).write_text("\n".join(["a,b,ill", *lines]) + "\n")
    commands = (
        "curator plan S Q.json --public public.csv --label ill --epsilon 2 --clients 120",
        "client Q.json rows.csv R.bin",
        "curator add S R.bin",
        "curator add S R.bin",
        "curator show S",
        "curator release S M.joblib",
        "curator add S missing.bin",
        "client Q.json public.csv R.bin",
        "curator plan S Q.json --epsilon -1 --clients 3",
    )
    for number, command in enumerate(commands):
        words = [str(here / word) if "." in word or word == "S" else word for word in command.split()]
        case.put(STATEMENTS, f"{number} {command}", run_module("skprivate.collection", words))
    case.put(FIT, "files", [(here / name).read_bytes() for name in ("S", "Q.json", "R.bin")])


def run_module(name: str, arguments: list[str]) -> list[Any]:
    """Run a module as a command in this process; return its code, output and errors."""
    out, errors, before = io.StringIO(), io.StringIO(), sys.argv
    sys.argv, code = [name, *arguments], None
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
            runpy.run_module(name, run_name="__main__", alter_sys=False)
    except SystemExit as stop:
        code = stop.code
    finally:
        sys.argv = before
    return [code, out.getvalue().splitlines(), errors.getvalue().splitlines()]
