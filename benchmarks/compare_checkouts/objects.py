# SPDX-License-Identifier: BSD-3-Clause
"""Cases of what is no estimator: randomizers, ledgers, collected reports, sealed messages and games.

Mechanisms of noise and functions have their own example alone, which `surface.examples` runs.
"""

import contextlib
import io
import runpy
import sys
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats
from sklearn.base import clone

from .encode import read
from .estimators import settings
from .names import public, public_objects
from .record import FIT, PREDICTIONS, SEEDS, STATEMENTS, Case, Recorder, folder


def randomizers(recorder: Recorder) -> None:
    """Randomise, aggregate and estimate with every local randomizer."""
    base, again = public("LocalRandomizer"), public("randomizer_from_dict")
    kinds = {
        name: kind
        for name, kind in public_objects().items()
        if isinstance(kind, type) and issubclass(kind, base) and kind is not base
    }
    for name, kind in kinds.items():
        for epsilon, n_labels, seed in product((0.3, Fraction(3, 2), 5), (2, 3), (*SEEDS, None)):
            with recorder.case(name, f"epsilon={epsilon}, {n_labels} labels, seed {seed}") as case:
                _randomize(case, kind(epsilon, 4, n_labels), seed)
    for mechanism in ("auto", *(kind.name for kind in kinds.values())):
        with recorder.case("make_randomizer", mechanism) as case:
            made = [public("make_randomizer")(mechanism, epsilon, 8) for epsilon in (0.5, 3.0)]
            case.put(FIT, "made", [again(one.to_dict()).to_dict() for one in made])


def _randomize(case: Case, randomizer: Any, seed: Any) -> None:
    n_columns = getattr(randomizer, "n_columns", None)
    categories = np.random.default_rng(6).integers(
        randomizer.n_categories, size=150 if n_columns is None else (150, n_columns)
    )
    case.put(FIT, "randomizer", [randomizer, randomizer.to_dict(), randomizer.specification])
    reports = randomizer.randomize(categories, seed)
    counts = randomizer.aggregate(reports, specification=randomizer.specification)
    case.put(PREDICTIONS, "reports", [reports, counts, randomizer.simulate(categories, seed)])
    for name, arguments in {
        "estimate": (counts, 150),
        "estimate_cells": (counts, 150),
        "variance": (150,),
    }.items():
        case.attempt(PREDICTIONS, name, getattr(randomizer, name), *arguments)
    case.attempt(PREDICTIONS, "blanket", randomizer.blanket)
    n_cells = randomizer.n_categories // randomizer.n_labels
    prior = np.full((n_cells, randomizer.n_labels), 1 / randomizer.n_categories)
    for shape in (prior, prior.ravel()):
        case.attempt(STATEMENTS, f"leakage {shape.ndim}", randomizer.leakage, shape)
    case.put(STATEMENTS, "texts", [repr(randomizer), randomizer.describe(), str(randomizer)])
    known = randomizer.epsilon, 5000, 1e-6, randomizer
    shuffled = case.attempt(STATEMENTS, "shuffled", public("shuffle_amplification"), *known)
    case.put(STATEMENTS, "shuffled, printed", str(shuffled))


def _spent(**changes: Any) -> Any:
    given = {
        **{"mechanism": "discrete Laplace", "epsilon": Fraction(1, 2), "relation": "replace-one"},
        **{"sensitivity": 2, "noise_scale": 4, "noise_source": "os-entropy", "deployment": "curator"},
        **{"claim": "dp", **changes},
    }
    return public("PrivacySpent")(**given)


def ledgers(recorder: Recorder) -> None:
    """Charge, label, back up, restore and refuse; compose what was charged."""
    kind, compose = public("PrivacyLedger"), public("compose")
    charges = [
        _spent(),
        _spent(relation="local", deployment="collected", epsilon=1),
        _spent(relation="label", epsilon=Fraction(1, 3)),
        _spent(claim="not-private", reasons=("seeded",), noise_source="seeded"),
        _spent(delta=Fraction(1, 10**6), rho=Fraction(1, 8), mechanism="discrete Gaussian", epsilon=2),
        _spent(unit="group", max_rows_per_unit=3, relation="add-remove", unprotected={"n": 100}),
    ]
    with recorder.case("PrivacyLedger", "charges") as case, folder() as here:
        ledger = kind(here / "a.ledger", epsilon=5, delta=1e-5, max_failures=3)
        for number, spent in enumerate(charges):
            case.statement(f"spent {number}", spent)
            with ledger.label(f"study {number % 2}"), ledger.data("all"):
                case.attempt(STATEMENTS, f"charge {number}", ledger.charge, spent, "DPTreeClassifier")
        case.statement("ledger", ledger)
        case.put(STATEMENTS, "report", [ledger.report(), ledger.to_json(), ledger.entries()])
        case.put(STATEMENTS, "sums", [ledger.spent(), ledger.remaining(), ledger.n_failures])
        for method in ("basic", "rdp", "pld"):
            case.attempt(STATEMENTS, method, ledger.composition, method, 1e-6)
            case.attempt(STATEMENTS, f"{method}, runs", compose, charges * 5, method, 1e-5)
        case.attempt(STATEMENTS, "too much", ledger.charge, _spent(epsilon=9), "DPTreeClassifier")
        for _ in range(4):
            case.attempt(STATEMENTS, "failure", ledger.count_failure, "DPTreeClassifier")
        case.attempt(STATEMENTS, "failures", ledger.check_failures)
        ledger.backup(here / "b.ledger")
        (here / "a.ledger").unlink()
        restore = lambda: kind.restore(here / "b.ledger", here / "a.ledger").report()  # noqa: E731
        case.attempt(STATEMENTS, "restored", restore)
    with recorder.case("PrivacySpent", "read and audited") as case:
        audited = _spent().with_audit(0.25, 0.999, "fixed event")
        case.statement("audited", audited)
        case.statement("read again", type(audited).from_dict(audited.to_dict()))
        case.put(STATEMENTS, "registry", audited.to_registry(registry_authors=["A. Author"]))
        case.put(STATEMENTS, "schema", public("statement_schema")())


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


def games(recorder: Recorder) -> None:
    """Solve every game, run it, ask for every guarantee, and attack its broadcasts."""
    for name, (kind, options) in _games().items():
        with recorder.case(kind, name) as case:
            game = public(kind)(**options)
            x = game.solve()
            case.put(FIT, "game", game)
            case.put(PREDICTIONS, "equilibrium", [x, game.residual(x), read(game, "n_players")])
            case.attempt(PREDICTIONS, "regret", game.regret, x)
            case.attempt(PREDICTIONS, "cost", game.cost, x, x.mean(axis=0))
            case.attempt(PREDICTIONS, "gradient", game.pseudo_gradient, x, x)
            case.put(STATEMENTS, "texts", [repr(game), str(game), game.is_monotone()])
            _run(case, game)
    points = np.random.default_rng(2).normal(size=(12, 2))
    for name, bounds in {"Box": ([0.0, -1], [1.0, 1]), "Simplex": ()}.items():
        with recorder.case(name, "projection") as case:
            found = public(name)(*bounds)
            case.put(FIT, "set", [found, repr(found)])
            projected = [found.project(points), found.contains(points), found.start(3, 2)]
            case.put(PREDICTIONS, "projected", projected)


def _games() -> dict[str, tuple[str, dict[str, Any]]]:
    line: dict[str, Any] = {"P": 1.0, "Q": 0.5, "r": [-0.6, 0.1, 0.4, 0.9]}
    plane = {"P": 1.5, "Q": 0.2, "r": [[-0.5, 0.2], [0.1, 0.4], [0.3, -0.2], [0.8, 0.1]], "r_bounds": (-1, 1)}
    vaccines = {"A": [0.2, 0.4, 0.6, 0.1], "B": [1.0] * 4}
    constants = np.array([[1.0], [1.5], [2.0], [2.5]])
    gradient = lambda x, mean: constants + 1.4 * x - 10 + 2 * mean  # noqa: E731
    return {
        "no bounds": ("QuadraticAggregativeGame", line),
        "bounds of r": ("QuadraticAggregativeGame", {**line, "r_bounds": (-1, 1)}),
        "bounds": (
            "QuadraticAggregativeGame",
            {**line, "r_bounds": (-1, 1), "bounds": (-2, 2), "own_effect": False},
        ),
        "simplex": ("QuadraticAggregativeGame", {**plane, "bounds": public("Simplex")()}),
        "box": ("QuadraticAggregativeGame", {**plane, "bounds": public("Box")([0, -1], [1, 1])}),
        "private A": ("VaccinationGame", {**vaccines, "A_bounds": (0, 1), "private": "A"}),
        "as printed": ("VaccinationGame", {**vaccines, "cost": "as_printed"}),
        "own": ("AggregativeGame", {"pseudo_gradient": gradient, "n_players": 4, "bounds": (0, 10)}),
    }


def _priors() -> dict[str, Any]:
    profiles = [[-1.0] * 4, [0.5, 0, 1, -1.0], [1.0] * 4]
    return {
        "none": None,
        "uniform": stats.uniform(-1, 2),
        "continuous": public("ContinuousPrior")(stats.truncnorm(-1, 1)),
        "types": public("TypePrior")([-1.0, 0.0, 1.0], [0.5, 0.2, 0.3]),
        "joint": public("JointPrior")(profiles, [0.4, 0.2, 0.4]),
        "two types": public("TwoTypePrior")([-1.0, 1.0], alpha=0.3, beta=0.6),
        "sampled": public("SampledPrior")(lambda n, rng: rng.triangular(-1, 0, 1, size=n), bounds=(-1, 1)),
    }


def _run(case: Case, game: Any) -> None:
    options = {"max_iter": 25, "noise_scale": 2.0, "store": "observations", "random_state": 0}
    solver = public("PrivateNashSolver")(**options).fit(game)
    case.estimator(solver)
    for (name, prior), view, criterion in product(
        _priors().items(), ("entire", "individual"), ("pml", "corollary1", "dp")
    ):
        ask = {"prior": prior, "view": view, "criterion": criterion}
        key = f"{name}, {view}, {criterion}"
        guarantee = case.attempt(STATEMENTS, key, solver.privacy_guarantee, **ask)
        if guarantee is not None:
            case.statement(key, guarantee)
    bayes = public("BayesAdversary")(public("TypePrior")([-1.0, 1.0], [0.5, 0.5]))
    for adversary in (bayes, public("GradientMatchingAdversary")(random_state=0)):
        found = case.attempt(PREDICTIONS, type(adversary).__name__, adversary.run, game, solver)
        case.put(STATEMENTS, type(adversary).__name__, str(found))
    case.attempt(FIT, "further rounds", lambda: solver.partial_fit(game).strategies_)
    case.put(FIT, "broadcasts", read(solver, "observations_"))
    case.statement("spent after further rounds", solver.privacy_spent_)
