# SPDX-License-Identifier: BSD-3-Clause
"""Cases of noise, randomizers and ledgers.

Other functions have their own example alone, which `surface.examples` runs.
"""

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from .names import public, public_objects
from .record import FIT, PREDICTIONS, SEEDS, STATEMENTS, Case, Recorder, folder


def noise(recorder: Recorder) -> None:
    """Draw from the mechanisms; convert zCDP."""
    settings: dict[str, list[dict[str, Any]]] = {
        "DiscreteLaplaceMechanism": [
            {"epsilon": epsilon, "sensitivity": moved}
            for epsilon, moved in ((0.5, 1), (Fraction(1, 3), 2), (3.0, 40))
        ],
        "DiscreteGaussianMechanism": [
            {"rho": rho, "squared_sensitivity": moved}
            for rho, moved in ((0.125, 4), (Fraction(1, 50), 1), (2, 9))
        ],
    }
    for name, each in settings.items():
        for setting, seed in product(each, (*SEEDS, None)):
            with recorder.case(name, f"{setting}, seed {seed}") as case:
                mechanism = public(name)(**setting)
                case.put(FIT, "mechanism", [mechanism, repr(mechanism)])
                case.put(PREDICTIONS, "drawn", mechanism.randomize(np.arange(60), seed))
    with recorder.case("noise", "functions") as case:
        total, convert = public("laplace_sum"), public("zcdp_to_epsilon")
        sums = [total(n, 4, size=9, random_state=seed) for n in (1, 50, 10**6) for seed in SEEDS]
        case.put(PREDICTIONS, "sums", sums)
        case.put(PREDICTIONS, "converted", [convert(rho, 1e-6) for rho in (0.01, 0.5, Fraction(7, 3))])


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
