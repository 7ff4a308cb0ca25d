# SPDX-License-Identifier: BSD-3-Clause
"""Cases of noise, randomizers, paid bounds, ledgers, composition, leakage, metrics, audits and data sets."""

from fractions import Fraction
from typing import Any

import numpy as np
from scipy import stats

from .names import public, public_objects
from .record import FIT, PREDICTIONS, SEEDS, STATEMENTS, Recorder, folder


def noise(recorder: Recorder) -> None:
    """Draw from the mechanisms; convert zCDP."""
    kinds = {
        "DiscreteLaplaceMechanism": [(0.5, 1), (Fraction(1, 3), 2), (3.0, 40)],
        "DiscreteGaussianMechanism": [(0.125, 4), (Fraction(1, 50), 1), (2, 9)],
    }
    for name, settings in kinds.items():
        for setting in settings:
            for seed in (*SEEDS, None):
                with recorder.case(name, f"{setting}, seed {seed}") as case:
                    scale = "squared_sensitivity" if "Gaussian" in name else "sensitivity"
                    mechanism = public("noise", name)(setting[0], **{scale: setting[1]})
                    case.put(FIT, "mechanism", mechanism)
                    case.put(STATEMENTS, "repr", repr(mechanism))
                    case.put(PREDICTIONS, "drawn", mechanism.randomize(np.arange(60), seed))
    with recorder.case("noise", "functions") as case:
        total, convert = public("noise", "laplace_sum"), public("noise", "zcdp_to_epsilon")
        case.put(
            PREDICTIONS,
            "sums",
            [total(n, 4, size=9, random_state=seed) for n in (1, 50, 10**6) for seed in SEEDS],
        )
        case.put(PREDICTIONS, "converted", [convert(rho, 1e-6) for rho in (0.01, 0.5, Fraction(7, 3))])


def randomizers(recorder: Recorder) -> None:
    """Randomise, aggregate and estimate with every local randomizer."""
    made = public("randomizers", "make_randomizer")
    base = public("randomizers", "LocalRandomizer")
    for name, kind in public_objects().items():
        if not (isinstance(kind, type) and issubclass(kind, base)) or kind is base:
            continue
        for epsilon in (0.3, Fraction(3, 2), 5):
            for n_labels in (2, 3):
                for seed in (*SEEDS, None):
                    with recorder.case(name, f"epsilon={epsilon}, {n_labels} labels, seed {seed}") as case:
                        _randomize(case, kind(epsilon, 4, n_labels), seed)
    for mechanism in ("auto", "hadamard", "krr", "subset", "unary", "laplace", "signed-laplace"):
        with recorder.case("make_randomizer", mechanism) as case:
            chosen = [made(mechanism, epsilon, 8) for epsilon in (0.5, 3.0)]
            again = public("randomizers", "randomizer_from_dict")
            case.put(FIT, "made", [again(one.to_dict()).to_dict() for one in chosen])


def _randomize(case: Any, randomizer: Any, seed: Any) -> None:
    categories = np.random.default_rng(6).integers(randomizer.n_categories, size=150)
    case.put(FIT, "randomizer", [randomizer, randomizer.to_dict(), randomizer.specification])
    reports = randomizer.randomize(categories, seed)
    counts = randomizer.aggregate(reports, specification=randomizer.specification)
    case.put(PREDICTIONS, "reports", [reports, counts, randomizer.simulate(categories, seed)])
    case.put(
        PREDICTIONS, "estimates", [randomizer.estimate(counts, 150), randomizer.estimate_cells(counts, 150)]
    )
    case.attempt(PREDICTIONS, "variance", lambda: [randomizer.variance(150), randomizer.blanket()])
    n_cells = randomizer.n_categories // randomizer.n_labels
    prior = np.full((n_cells, randomizer.n_labels), 1 / randomizer.n_categories)
    for shape in (prior, prior.ravel()):
        case.attempt(STATEMENTS, f"leakage {shape.ndim}", lambda p=shape: randomizer.leakage(p))
    case.put(STATEMENTS, "texts", [repr(randomizer), randomizer.describe(), str(randomizer)])
    amplify = public("accounting", "shuffle_amplification")
    shuffled = case.attempt(
        STATEMENTS, "shuffled", lambda: amplify(randomizer.epsilon, 5000, 1e-6, randomizer)
    )
    case.put(STATEMENTS, "shuffled, printed", str(shuffled))


def bounds(recorder: Recorder) -> None:
    """Pay for bounds, and fit on them."""
    estimate = public("preprocessing", "estimate_bounds")
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
                tree = public("tree", "DPTreeClassifier")(bounds=found, classes=[0, 1], random_state=seed)
                case.estimator(tree.fit(X[:300], np.arange(300) % 2), X[:20])


def _spent(**changes: Any) -> Any:
    given = {
        "mechanism": "discrete Laplace",
        "epsilon": Fraction(1, 2),
        "relation": "replace-one",
        "sensitivity": 2,
    }
    given |= {"noise_scale": 4, "noise_source": "os-entropy", "deployment": "curator", "claim": "dp"}
    return public("accounting", "PrivacySpent")(**{**given, **changes})


def ledgers(recorder: Recorder) -> None:
    """Charge, label, back up, restore and refuse; compose what was charged."""
    kind, compose = public("accounting", "PrivacyLedger"), public("accounting", "compose")
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
                case.attempt(
                    STATEMENTS, f"charge {number}", lambda s=spent: ledger.charge(s, "DPTreeClassifier")
                )
        case.statement("ledger", ledger)
        case.put(STATEMENTS, "report", [ledger.report(), ledger.to_json(), ledger.entries()])
        case.put(STATEMENTS, "sums", [ledger.spent(), ledger.remaining(), ledger.n_failures])
        for method in ("basic", "rdp", "pld"):
            case.attempt(STATEMENTS, method, lambda m=method: str(ledger.composition(m, 1e-6)))
            case.attempt(STATEMENTS, f"{method}, runs", lambda m=method: compose(charges * 5, m, 1e-5))
        case.attempt(STATEMENTS, "too much", lambda: ledger.charge(_spent(epsilon=9), "DPTreeClassifier"))
        for _ in range(4):
            case.attempt(STATEMENTS, "failure", lambda: ledger.count_failure("DPTreeClassifier"))
        case.attempt(STATEMENTS, "failures", ledger.check_failures)
        ledger.backup(here / "b.ledger")
        (here / "a.ledger").unlink()
        restore = lambda: kind.restore(here / "b.ledger", here / "a.ledger").report()  # noqa: E731
        case.attempt(STATEMENTS, "restored", restore)
    _records(recorder)


def _records(recorder: Recorder) -> None:
    with recorder.case("PrivacySpent", "read and audited") as case:
        spent = _spent()
        kind = type(spent)
        audited = spent.with_audit(0.25, 0.999, "fixed event")
        case.statement("audited", audited)
        case.statement("read again", kind.from_dict(audited.to_dict()))
        case.put(STATEMENTS, "registry", audited.to_registry(registry_authors=["A. Author"]))
        case.put(STATEMENTS, "schema", public("accounting", "statement_schema")())
    with recorder.case("PrivacyGuarantee", "every criterion") as case:
        for criterion in ("pml", "corollary1", "dp"):
            for status in ("exact", "upper_bound", "estimate"):
                given = {"epsilon": 0.584, "status": status, "criterion": criterion, "subject": "your report"}
                more: dict[str, Any] = {"confidence": 0.99} if status == "estimate" else {}
                more |= {"prior": "two values"} if criterion != "dp" else {}
                guarantee = public("accounting", "PrivacyGuarantee")(**given, **more)
                case.statement(f"{criterion} {status}", guarantee)
                case.attempt(
                    STATEMENTS, f"{criterion} {status}, other prior", lambda g=guarantee: g.under_prior(1.2)
                )


def leakage(recorder: Recorder) -> None:
    """Compute leakages, amplification and disclosure metrics."""
    call = {name: thing for name, thing in public_objects().items() if callable(thing)}
    channel, prior = [[0.7, 0.2, 0.1], [0.1, 0.3, 0.6], [0.2, 0.5, 0.3]], [0.5, 0.2, 0.3]
    with recorder.case("leakage", "functions") as case:
        for name in ("pointwise_maximal_leakage", "maximal_leakage", "pml_guarantee"):
            case.attempt(PREDICTIONS, name, lambda name=name: call[name](channel, prior))
        for mode in ("average", "envelope"):
            case.attempt(
                PREDICTIONS, mode, lambda m=mode: call["pml_guarantee"](channel, prior, m, delta=0.9)
            )
        laplace = [
            (scale, law) for scale in (0.2, 2.0) for law in ((0, 1), ([0, 1], [0.7, 0.3]), stats.beta(2, 5))
        ]
        case.put(PREDICTIONS, "laplace", [call["pml_laplace"](*one) for one in laplace])
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
    settings: dict[str, tuple[tuple[int, int], dict[str, Any]]] = {
        "make_location_scale": ((50, 3), {"censoring": 0.5}),
        "make_parties": ((50, 4), {"noise": 0.1}),
        "make_posterior_drift": ((40, 10), {"gamma": 0.7}),
    }
    for name, (size, options) in settings.items():
        for seed in SEEDS:
            with recorder.case(name, f"seed {seed}") as case:
                rows = public("datasets", name)(*size, random_state=seed, **options)
                case.put(FIT, "rows", rows)
