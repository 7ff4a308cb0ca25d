# SPDX-License-Identifier: BSD-3-Clause
"""Cases of noise, randomizers, paid bounds, ledgers, composition, leakage, metrics, audits and data sets."""

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
from scipy import stats

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


def bounds(recorder: Recorder) -> None:
    """Pay for bounds, and fit on them."""
    estimate = public("estimate_bounds")
    X = np.random.default_rng(8).normal(3, 5, size=(1500, 2))
    variants: dict[str, dict[str, Any]] = {
        "base": {},
        "coverage": {"coverage": 0.9},
        "add-remove": {"relation": "add-remove"},
        "groups": {"groups": np.arange(1500) // 2, "max_rows_per_group": 2},
    }
    for label, options in variants.items():
        for seed in (*SEEDS, None):
            with recorder.case("estimate_bounds", f"{label}, seed {seed}") as case:
                found, spent = estimate(X, epsilon=2.0, random_state=seed, return_spent=True, **options)
                case.put(FIT, "bounds", list(found))
                case.put(STATEMENTS, "texts", [repr(found), found.release_id])
                case.statement("spent", spent)
                tree = public("DPTreeClassifier")(bounds=found, classes=[0, 1], random_state=seed)
                case.estimator(tree.fit(X[:300], np.arange(300) % 2), X[:20])


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
    with recorder.case("PrivacyGuarantee", "every criterion") as case:
        for criterion, status in product(("pml", "corollary1", "dp"), ("exact", "upper_bound", "estimate")):
            given = {"epsilon": 0.584, "status": status, "criterion": criterion, "subject": "your report"}
            more: dict[str, Any] = {"confidence": 0.99} if status == "estimate" else {}
            more |= {"prior": "two values"} if criterion != "dp" else {}
            guarantee = public("PrivacyGuarantee")(**given, **more)
            case.statement(f"{criterion} {status}", guarantee)
            case.attempt(STATEMENTS, f"{criterion} {status}, other prior", guarantee.under_prior, 1.2)


def leakage(recorder: Recorder) -> None:
    """Compute leakages, amplification and disclosure metrics."""
    call = {name: thing for name, thing in public_objects().items() if callable(thing)}
    channel, prior = [[0.7, 0.2, 0.1], [0.1, 0.3, 0.6], [0.2, 0.5, 0.3]], [0.5, 0.2, 0.3]
    with recorder.case("leakage", "functions") as case:
        for name in ("pointwise_maximal_leakage", "maximal_leakage", "pml_guarantee"):
            case.attempt(PREDICTIONS, name, call[name], channel, prior)
        for mode in ("average", "envelope"):
            case.attempt(PREDICTIONS, mode, call["pml_guarantee"], channel, prior, mode, delta=0.9)
        priors = ((0, 1), ([0, 1], [0.7, 0.3]), stats.beta(2, 5))
        laplace = [call["pml_laplace"](*one) for one in product((0.2, 2.0), priors)]
        case.put(PREDICTIONS, "laplace", laplace)
        case.put(PREDICTIONS, "ldp", [call["pml_from_ldp"](epsilon, 0.3) for epsilon in (0.1, 1, 9)])
        case.put(PREDICTIONS, "ratio", call["prior_ratio"]([700, 200, 100], 0.99))
        case.put(PREDICTIONS, "joint", call["joint_channel"](channel, channel))
        case.put(PREDICTIONS, "information", call["max_information"](prior))
        shuffles = [call["shuffle_amplification"](*one) for one in ((0.5, 1000, 1e-6), (4, 10**5, 1e-8))]
        case.put(STATEMENTS, "shuffled", [[one, str(one)] for one in shuffles])
    for seed in SEEDS:
        with recorder.case("metrics", f"seed {seed}") as case:
            rng = np.random.default_rng(seed)
            X = rng.uniform(size=(60, 2))
            Z = X + rng.normal(0, 0.05, size=X.shape)
            case.put(PREDICTIONS, "orientation", call["correct_orientation_score"](X, Z, mu=[0.01, 0.1]))
            case.put(PREDICTIONS, "linkage", call["record_linkage_score"](X, Z))
            attack = call["AttributeAttack"](mu=1e-2, random_state=seed).run(X, Z)
            case.put(PREDICTIONS, "attack", [attack, str(attack), call["low_bits"](X[:5])])
            case.put(PREDICTIONS, "lower bound", call["epsilon_lower_bound"](400 + seed, 30, 1000))


def datasets(recorder: Recorder) -> None:
    """Draw from every generator."""
    settings: dict[str, dict[str, Any]] = {
        "make_location_scale": {"n_samples": 50, "n_features": 3, "censoring": 0.5},
        "make_parties": {"n_samples": 50, "n_parties": 4, "noise": 0.1},
        "make_posterior_drift": {"n_private": 40, "n_public": 10, "gamma": 0.7},
    }
    for name, options in settings.items():
        for seed in SEEDS:
            with recorder.case(name, f"seed {seed}") as case:
                case.put(FIT, "rows", public(name)(**options, random_state=seed))
