# SPDX-License-Identifier: BSD-3-Clause
"""Cases of collaboration between sites and of collecting reports from clients."""

import contextlib
import io
import runpy
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LinearRegression, LogisticRegression

from .names import public
from .record import FIT, PREDICTIONS, SEEDS, STATEMENTS, Recorder, folder, sweep

_SITES = 9


def _rows(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    X, y, _ = public("datasets", "make_parties")(360, _SITES, random_state=seed)
    return X, y, np.arange(360) % _SITES


def platforms(recorder: Recorder) -> None:
    """Fit the platforms with every local model and aggregator; ask sites apart; answer queries."""
    kind = public("collaborative", "CollaborativeLARRegressor")
    changes = {
        "shallow": {"depth": 2},
        "window": {"p_lower": 1, "p_upper": 4},
        "bandwidth": {"bandwidth": 0.2, "kernel": "laplace"},
        "neighbours": {"n_neighbors": 5, "kernel": "knn"},
        "quasi-identifiers": {"quasi_identifiers": [0]},
        "bounds not declared": {"bounds": None},
    }
    for label, parameters in sweep(kind, {"depth": 4, "bounds": (0, 1)}, changes):
        for seed in (*SEEDS, None):
            _fit_platform(recorder, "CollaborativeLARRegressor", label, kind(**parameters), seed)
    for name, local in (
        ("CollaborativeRegressor", LinearRegression()),
        ("CollaborativeClassifier", LogisticRegression()),
    ):
        for label, options in _combinations(local).items():
            for seed in SEEDS:
                model = public("collaborative", name)(**options)
                _fit_platform(recorder, name, label, model, seed)


def _combinations(local: Any) -> dict[str, dict[str, Any]]:
    swap, total = public("collaborative", "BSTDAggregator"), public("collaborative", "SecureSumAggregator")
    coarse = public("preprocessing", "TQMATransformer")(depth=3, bounds=(0, 1))
    return {
        "default": {},
        "local model": {"estimator": local},
        "coarse queries": {"estimator": local, "query_perturber": coarse},
        "swapped": {"aggregator": swap(p_lower=1, p_upper=5), "query_perturber": coarse},
        "summed": {"aggregator": total(), "query_perturber": coarse},
        "drops": {"on_site_error": "drop", "estimator": local},
    }


def _fit_platform(recorder: Recorder, name: str, label: str, model: Any, seed: Any) -> None:
    with recorder.case(name, f"{label}, seed {seed}") as case:
        X, y, sites = _rows(seed or 0)
        targets = y > np.median(y) if name.endswith("Classifier") else y
        model.set_params(random_state=seed)
        model.fit(X, targets, sites=sites)
        queries = _rows(50)[0][:15]
        case.estimator(model, queries, targets[:15])
        case.attempt(PREDICTIONS, "responses of sites", lambda: model.site_responses(queries))
        case.attempt(PREDICTIONS, "observed", lambda: model.observe(queries))
        case.attempt(PREDICTIONS, "asked", lambda: _ask(case, model, queries))


def _ask(case: Any, model: Any, queries: np.ndarray) -> Any:
    site = [model.site(name) for name in range(_SITES)]
    announced = [one.announce() for one in site]
    case.put(FIT, "announced", announced)
    query = model.ask(queries)
    answers = [one.answer(query) for one in site]
    case.put(FIT, "messages", [query, *answers])
    case.attempt(STATEMENTS, "one answer missing", lambda: model.combine(*answers[1:], query=query))
    return model.combine(*answers, query=query)


def aggregators(recorder: Recorder) -> None:
    """Fit aggregators, local averages, query perturbation and scaling by themselves."""
    bare = {
        "BSTDAggregator": ({}, {"narrow": {"p_lower": 1, "p_upper": 3}, "sizes": {"party_sizes": "sizes"}}),
        "SecureSumAggregator": ({}, {"sizes": {"party_sizes": "sizes"}}),
    }
    for name, (base, changes) in bare.items():
        kind = public("collaborative", name)
        for label, parameters in sweep(kind, base, changes):
            for seed in SEEDS:
                with recorder.case(name, f"{label}, seed {seed}") as case:
                    responses = np.random.default_rng(seed).normal(size=(6, 12)) * (np.arange(12) % 5 > 0)
                    sizes = list(range(30, 42)) if parameters.get("party_sizes") else None
                    model = kind(**{**parameters, "party_sizes": sizes} if sizes else parameters)
                    if name == "BSTDAggregator":
                        model.set_params(random_state=seed)
                    case.estimator(model.fit(responses), responses)
    _local_averages(recorder)
    _transformers(recorder)


def _local_averages(recorder: Recorder) -> None:
    kind = public("collaborative", "LocalAverageRegressor")
    changes: dict[str, dict[str, Any]] = {
        "refined": {"refine_to": 3000},
        **{f"{name}, fixed": {"kernel": name, "bandwidth": 0.2} for name in ("gaussian", "epanechnikov")},
        "five neighbours": {"kernel": "knn", "n_neighbors": 5},
        "bounds not declared": {"bounds": None},
    }
    for label, parameters in sweep(kind, {"bounds": (0, 1)}, changes):
        for seed in SEEDS:
            with recorder.case("LocalAverageRegressor", f"{label}, seed {seed}") as case:
                X, y, _ = _rows(seed)
                case.estimator(kind(**parameters).fit(X[:150], y[:150]), X[150:180], y[150:180])


def _transformers(recorder: Recorder) -> None:
    X = np.random.default_rng(3).uniform(size=(80, 3))
    variants: dict[str, dict[str, dict[str, Any]]] = {
        "TQMATransformer": {
            **{f"depth={depth}": {"depth": depth, "bounds": (0, 1)} for depth in (1, 4, 9)},
            "depths": {"depth": [1, 2, 3], "bounds": (0, 1)},
            "bounds not declared": {"depth": 3},
            "quasi-identifiers": {"bounds": (0, 1), "quasi_identifiers": [0, 2], "perturb_fit": False},
        },
        "BoundsScaler": {"one": {"bounds": (0, 2)}, "three": {"bounds": ([0, 0.2, 0.1], [1, 0.5, 3])}},
    }
    for name, settings in variants.items():
        for label, parameters in settings.items():
            with recorder.case(name, label) as case:
                model = public("preprocessing", name)(**parameters)
                case.put(PREDICTIONS, "fit_transform", model.fit_transform(X))
                case.estimator(model, X[:30] * 1.5 - 0.2)


def sealed_messages(recorder: Recorder) -> None:
    """Answer under consent and under masks, with fixed keys."""
    # Keys come from OpenSSL, which no seed reaches.
    key = public("collaborative", "SiteKey")
    keys = {
        name: key.from_bytes(bytes([index + 1]) * 32) for index, name in enumerate(("north", "south", "west"))
    }
    head = key.from_bytes(bytes([9]) * 32)
    members = {name: own.public for name, own in keys.items()}
    for name in ("ConsentBox", "MaskedSum"):
        for seed in SEEDS:
            with recorder.case(name, f"seed {seed}") as case:
                box = public("collaborative", name)(members, head.public)
                rng = np.random.default_rng(seed)
                query = box.new_query(rng.uniform(size=(2, 3)), ["a", "b", "c"] if seed else None)
                case.put(FIT, "box", [repr(box), box.fingerprint, box.members, query])
                steps = _consent if name == "ConsentBox" else _masked
                with warnings.catch_warnings():
                    steps(case, box, keys, head, query, rng)
                case.put(STATEMENTS, "keys", [repr(head), head.public])


def _consent(case: Any, box: Any, keys: Any, head: Any, query: bytes, rng: Any) -> None:
    sealed = {name: box.seal(name, key, query, rng.normal(size=2)) for name, key in keys.items()}
    consents = {name: box.consent(name, key, query, sealed) for name, key in keys.items()}
    case.put(FIT, "sealed", [sealed, consents])
    case.put(PREDICTIONS, "opened", box.open(head, query, sealed, consents))
    del consents["west"]
    case.attempt(STATEMENTS, "one consent missing", lambda: box.open(head, query, sealed, consents))


def _masked(case: Any, total: Any, keys: Any, head: Any, query: bytes, rng: Any) -> None:
    messages = {name: total.mask(name, key, query, rng.normal(size=2), 10) for name, key in keys.items()}
    case.put(FIT, "masked", messages)
    case.put(PREDICTIONS, "opened", total.open(head, query, messages))
    del messages["west"]
    case.attempt(STATEMENTS, "one message missing", lambda: total.open(head, query, messages))


def collection(recorder: Recorder) -> None:
    """Collect reports by objects, by files and by the command line."""
    changes = {
        "bounds": {"mechanism": "auto"},
        **{
            f"{name}, shallow": {"mechanism": name, "max_depth": 2} for name in ("hadamard", "krr", "laplace")
        },
        "labels alone": {"protect": "label"},
    }
    tree = public("tree", "LocallyPrivateTreeClassifier")
    base = {"epsilon": 4.0, "bounds": (0, 1), "classes": ["no", "yes"]}
    for label, parameters in sweep(tree, base, changes):
        for public_rows in (0, 40):
            with (
                recorder.case("TreeCurator", f"{label}, {public_rows} public rows") as case,
                folder() as here,
            ):
                _collect(case, tree(**parameters), public_rows, here)
    with recorder.case("TreeCurator", "command line") as case, folder() as here:
        _command_line(case, here)


def _collect(case: Any, plan: Any, n_public: int, here: Path) -> None:
    rng = np.random.default_rng(4)
    X = rng.uniform(size=(200, 2))
    y = np.where(X[:, 0] > 0.5, "yes", "no")
    given = (X[:n_public], y[:n_public]) if n_public else ()
    kind = public("collection", "TreeCurator")
    curator = kind(plan, *given, n_clients=160, features=["a", "b"], label="ill")
    question = curator.specification
    case.put(FIT, "specification", [question.to_json(), question.hash, repr(question), str(question)])
    reader = public("collection", "TreeSpecification")
    case.put(FIT, "read again", reader.from_json(question.to_json()).to_dict())
    options = {"protect": plan.protect}
    reports = [curator.client(**options).randomize(x, label) for x, label in zip(X[40:], y[40:], strict=True)]
    case.put(FIT, "reports", b"".join(reports))
    with public("collection", "ReportWriter")(here / "a.bin", question) as writer:
        writer.write(b"".join(reports[80:]))
    case.put(FIT, "file", (here / "a.bin").read_bytes())
    other = kind.from_bytes(curator.to_bytes())
    for report in reports[:80]:
        curator.update(report)
    seen: list[Any] = []
    other.update_file(here / "a.bin", progress=lambda *now: seen.append(now))
    case.attempt(STATEMENTS, "counted twice", lambda: other.update_file(here / "a.bin"))
    curator.merge(other)
    case.put(FIT, "curator", [curator.to_bytes(), curator.history, curator.n_reports, repr(curator), seen])
    case.estimator(curator.release(), X[:30], y[:30])
    client = public("collection", "TreeClient")(question, memory=here / "c.json", **options)
    case.put(FIT, "client", [client.randomize({"a": 0.2, "b": 0.1}, "no"), repr(client)[:20]])
    case.put(FIT, "memory", [(here / "c.json").read_text(), client.spent_epsilon, client.lifetime_epsilon])
    counts = np.arange(curator.specification.partition.n_leaves * 2)
    case.attempt(
        PREDICTIONS,
        "external counts",
        lambda: curator.from_counts(
            counts.reshape(-1, 2), mechanism="somebody's", epsilon=1.0, noise_variance=4.0
        ),
    )


def _command_line(case: Any, here: Path) -> None:
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
