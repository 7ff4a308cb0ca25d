# SPDX-License-Identifier: BSD-3-Clause
"""Instances of every estimator: for scikit-learn's checks, the battery, data frames and skops.

An estimator that joins the suite joins `INSTANCES` and `CHECKED`; tests fail until it does.
"""

import inspect
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline

import skprivate
from skprivate import (
    BoundsScaler,
    BSTDAggregator,
    CollaborativeClassifier,
    CollaborativeLARRegressor,
    CollaborativeRegressor,
    DomainEncoder,
    DPBoostingClassifier,
    DPBoostingRegressor,
    DPLogisticLLSRegressor,
    DPLogisticRegression,
    DPLogLocationScaleRegressor,
    DPNormalLLSRegressor,
    DPSEVRegressor,
    DPTreeClassifier,
    DPTreeRegressor,
    LabelPrivateClassifier,
    LabelPrivateRegressor,
    LocallyPrivateTreeClassifier,
    LocallyPrivateTreeRegressor,
    PrivateGridSearch,
    PrivateNashSolver,
    PrivateRandomizedSearch,
    QuadraticAggregativeGame,
    SecureSumAggregator,
    TableDomain,
    TQMATransformer,
)
from skprivate.audit._cases import columns_of, make_rows
from skprivate.collaborative import LocalAverageRegressor
from skprivate.domain import BooleanColumn, CategoricalColumn, DateColumn, NumberColumn, StressColumn
from skprivate.games import Box, Simplex
from skprivate.preprocessing import estimate_bounds
from skprivate.randomizers._factory import MECHANISMS

WORDS = ["maybe", "no", "yes"]
N_SITES = 5
KERNELS = ("gaussian", "laplace", "epanechnikov", "partition", "knn")

TREE = {"epsilon": 1.5, "bounds": (-1, 1), "classes": [0, 1]}
SHALLOW = {**TREE, "max_depth": 2}
THREE = {**SHALLOW, "classes": WORDS}
NUMBERS = {"epsilon": 1.5, "bounds_X": (-1, 1), "bounds_y": (-1, 1)}
SHALLOW_NUMBERS = {**NUMBERS, "max_depth": 2}
LLS = {"epsilon": 1.5, "bounds_X": (-1, 1), "bounds_y": (-1, 1)}
AFT = {"epsilon": 1.5, "bounds_X": (-1, 1), "bounds_y": (0.4, 3), "max_iter": 3}
GAUSSIAN = {"delta": 1e-6}
ADD_REMOVE = {"relation": "add-remove"}
DEPTHS = {"max_depth": [1, 2]}
RULES = ("error", "fill", "indicator")
#: Every kind of column in each of them, and every kind with every rule for missing cells in one of them.
DOMAINS = [
    TableDomain(
        {
            "size": NumberColumn(-1, 1, missing=first),
            "job": CategoricalColumn(["clerk", "smith", "baker"], missing=second),
            "married": BooleanColumn(missing=third),
            "since": DateColumn("2001-01-01", "2020-12-31", missing=first),
            "grade": CategoricalColumn([1, 2, 3], ordered=True, missing=second),
            "celsius": StressColumn(20, 150, "arrhenius", missing=third),
        }
    )
    for first, second, third in (RULES, RULES[1:] + RULES[:1], RULES[2:] + RULES[:2])
]
#: Two columns of numbers.
DOMAIN = TableDomain({"a": (-1, 1), "b": (-1, 1)}, missing="fill")
OBSERVATIONS = ["exact", "right", "left", "interval", "entry"]
BOOSTED = {"epsilon": 1.5, "bounds": (-1, 1), "classes": [0, 1]}
BOOSTED_WORDS = {**BOOSTED, "classes": WORDS}
BOOSTED_NUMBERS = {"epsilon": 1.5, "bounds_X": (-1, 1), "bounds_y": (-1, 1)}


@dataclass(frozen=True, eq=False)
class Instance:
    """An estimator whose domain is declared, and what kind of rows it is fitted on.

    Attributes
    ----------
    estimator : estimator
    target : {"labels", "words", "numbers", "times", "life", "spans", "game"}
        What y is; of a game there is none.
    beside : {None, "public", "persons", "sites", "box", "simplex"}
        What else `fit` is given; the set of a game's strategies.
    """

    estimator: Any
    target: str
    beside: str | None = None


def arguments(instance: Instance, n: int = 24, n_features: int = 2) -> dict[str, Any]:
    """Return the arguments of `fit`."""
    if instance.target == "game":
        sets = {None: None, "box": Box(0, 1), "simplex": Simplex(1.0)}
        constants, strategies = [0.2, 0.4, 0.9], sets[instance.beside]
        return {"game": QuadraticAggregativeGame(1.0, 0.5, constants, strategies, r_bounds=(0, 1))}
    rng = np.random.default_rng(0)
    X, numbers = rng.uniform(-1, 1, (n, n_features)), rng.uniform(-1, 1, n)
    if columns_of(instance.estimator) is not None:
        X = make_rows(instance.estimator, n)["X"]
    life = np.zeros(n, dtype=[("event", bool), ("time", float)])
    life["event"], life["time"] = rng.random(n) < 0.5, rng.uniform(0.4, 3, n)
    # Exact, right-censored, left-censored, between two times; watched from the start or from later on.
    lower, upper = life["time"] * np.tile([1, 1, 0, 0.5], n)[:n], life["time"].copy()
    upper[1::4] = np.inf
    entry = np.where(np.arange(n) % 8 < 4, 0.0, life["time"] / 4) * (lower > 0)
    spans = np.rec.fromarrays([lower, upper, entry], names="lower,upper,entry").view(np.ndarray)
    y = {
        "labels": np.arange(n) % 2,
        "words": np.array(WORDS)[np.arange(n) % 3],
        "numbers": numbers,
        "times": life["time"],
        "life": life,
        "spans": spans,
    }
    extra = {
        None: {},
        "public": {"is_public": np.arange(n) < n // 3},
        "persons": {"groups": np.arange(n) // 2},
        "sites": {"sites": np.repeat(np.arange(N_SITES), -(-n // N_SITES))[:n]},
    }
    return {"X": X, "y": y[instance.target], **extra[instance.beside]}


PAID_BOUNDS = estimate_bounds(np.random.default_rng(0).uniform(-1, 1, (6_000, 2)), 1.5)
RING = np.array([[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.25, 0.25, 0.5]])

INSTANCES = {
    "tree, public rows": Instance(LocallyPrivateTreeClassifier(**TREE), "labels", "public"),
    "tree, nothing declared": Instance(LocallyPrivateTreeClassifier(1.5), "words", "public"),
    **{
        f"tree, {mechanism}": Instance(LocallyPrivateTreeClassifier(mechanism=mechanism, **SHALLOW), "labels")
        for mechanism in ("hadamard", "krr", "subset", "unary", "signed-laplace", "laplace")
    },
    **{
        f"tree, three classes, {mechanism}": Instance(
            LocallyPrivateTreeClassifier(mechanism=mechanism, **THREE), "words"
        )
        for mechanism in ("hadamard", "krr", "subset", "unary")
    },
    "tree, labels": Instance(
        LocallyPrivateTreeClassifier(1.5, max_depth=2, protect="label", classes=WORDS), "words"
    ),
    "tree, two phases": Instance(
        LocallyPrivateTreeClassifier(1.5, max_depth=2, domain=DOMAINS[2], classes=[0, 1], split_share=0.6),
        "labels",
    ),
    "tree, persons": Instance(
        LocallyPrivateTreeClassifier(1.5, max_depth=2, domain=DOMAINS[1], classes=[0, 1]), "labels", "persons"
    ),
    "central": Instance(DPTreeClassifier(**SHALLOW), "labels"),
    "central, three classes": Instance(DPTreeClassifier(**THREE), "words"),
    "central, pruned": Instance(
        DPTreeClassifier(rule="cart", prune=True, split_share=0, **TREE), "labels", "public"
    ),
    "central, persons": Instance(
        DPTreeClassifier(1.5, max_depth=2, domain=DOMAINS[0], classes=[0, 1], max_rows_per_group=2),
        "labels",
        "persons",
    ),
    "declared columns, central": Instance(
        DPTreeClassifier(1.5, max_depth=2, domain=DOMAINS[2], classes=[0, 1]), "labels"
    ),
    "tree of numbers, public rows": Instance(LocallyPrivateTreeRegressor(**NUMBERS), "numbers", "public"),
    **{
        f"tree of numbers, {mechanism}": Instance(
            LocallyPrivateTreeRegressor(mechanism=mechanism, **SHALLOW_NUMBERS), "numbers"
        )
        for mechanism in ("hadamard", "krr", "subset", "unary")
    },
    "tree of numbers, targets": Instance(
        LocallyPrivateTreeRegressor(1.5, max_depth=2, protect="label", bounds_y=(-1, 1)), "numbers"
    ),
    "tree of numbers, two phases": Instance(
        LocallyPrivateTreeRegressor(split_share=0.6, **SHALLOW_NUMBERS), "numbers"
    ),
    "tree of numbers, persons": Instance(
        LocallyPrivateTreeRegressor(1.5, max_depth=2, domain=DOMAINS[0], bounds_y=(-1, 1)),
        "numbers",
        "persons",
    ),
    "central, numbers": Instance(DPTreeRegressor(**SHALLOW_NUMBERS), "numbers"),
    "central, numbers, public rows": Instance(
        DPTreeRegressor(1.5, rule="cart", split_share=0, domain=DOMAINS[2], bounds_y=(-1, 1)),
        "numbers",
        "public",
    ),
    "central, numbers, public model": Instance(
        DPTreeRegressor(public_model=LinearRegression(), split_share=0, **NUMBERS), "numbers", "public"
    ),
    "central, numbers, persons": Instance(
        DPTreeRegressor(max_rows_per_group=2, **SHALLOW_NUMBERS), "numbers", "persons"
    ),
    "declared columns, central, numbers": Instance(
        DPTreeRegressor(1.5, max_depth=2, domain=DOMAINS[1], bounds_y=(-1, 1)), "numbers"
    ),
    "boosting": Instance(DPBoostingClassifier(**BOOSTED), "labels"),
    "boosting, gaussian, add-remove": Instance(
        DPBoostingClassifier(delta=1e-6, **BOOSTED, **ADD_REMOVE), "labels"
    ),
    "boosting, three classes": Instance(DPBoostingClassifier(**BOOSTED_WORDS), "words"),
    "boosting, persons": Instance(
        DPBoostingClassifier(1.5, domain=DOMAINS[0], classes=[0, 1], max_rows_per_group=2),
        "labels",
        "persons",
    ),
    "boosting, public model": Instance(
        DPBoostingClassifier(public_model=LogisticRegression(), interactions=2, **BOOSTED), "labels", "public"
    ),
    "boosting, numbers": Instance(DPBoostingRegressor(**BOOSTED_NUMBERS), "numbers"),
    "boosting, numbers, gaussian, monotone": Instance(
        DPBoostingRegressor(monotonic_cst=[1, 0], interactions=2, **BOOSTED_NUMBERS, **GAUSSIAN), "numbers"
    ),
    "declared columns, boosting": Instance(
        DPBoostingClassifier(1.5, domain=DOMAINS[2], classes=[0, 1], interactions=2), "labels"
    ),
    "declared columns, boosting, numbers": Instance(
        DPBoostingRegressor(1.5, domain=DOMAINS[1], bounds_y=(-1, 1), **ADD_REMOVE), "numbers"
    ),
    "sev": Instance(DPSEVRegressor(**LLS), "numbers"),
    "sev, one release": Instance(DPSEVRegressor(max_iter=1, **LLS), "numbers"),
    "declared columns, sev": Instance(DPSEVRegressor(1.5, domain=DOMAINS[2], bounds_y=(-1, 1)), "numbers"),
    "sev, taylor": Instance(DPSEVRegressor(method="taylor", **LLS), "numbers"),
    "logistic, add-remove": Instance(DPLogisticLLSRegressor(**LLS, **ADD_REMOVE), "numbers"),
    "logistic, gaussian": Instance(DPLogisticLLSRegressor(**LLS, **GAUSSIAN), "numbers"),
    "normal": Instance(DPNormalLLSRegressor(**LLS), "numbers"),
    "normal, norm": Instance(DPNormalLLSRegressor(1.5, x_norm=1.0, bounds_y=(-1, 1)), "numbers"),
    "normal, persons": Instance(
        DPNormalLLSRegressor(1.5, domain=DOMAINS[1], bounds_y=(-1, 1), max_rows_per_group=2),
        "numbers",
        "persons",
    ),
    "logit": Instance(DPLogisticRegression(**TREE), "labels"),
    "logit, gaussian": Instance(
        DPLogisticRegression(1.5, delta=1e-6, domain=DOMAINS[2], classes=[0, 1]), "labels"
    ),
    "logit, three classes, persons": Instance(
        DPLogisticRegression(1.5, x_norm=1.0, classes=WORDS, delta=1e-6, **ADD_REMOVE), "words", "persons"
    ),
    "declared columns, logit": Instance(
        DPLogisticRegression(1.5, domain=DOMAINS[0], classes=[0, 1]), "labels"
    ),
    "aft": Instance(DPLogLocationScaleRegressor(**AFT), "times"),
    "aft, censored": Instance(DPLogLocationScaleRegressor(**AFT), "life"),
    "aft, censored, loglogistic": Instance(
        DPLogLocationScaleRegressor(
            1.5,
            distribution="loglogistic",
            domain=DOMAINS[1],
            bounds_y=(0.4, 3),
            max_iter=3,
            observations=OBSERVATIONS,
        ),
        "spans",
    ),
    "aft, censored, scale by level": Instance(
        DPLogLocationScaleRegressor(
            1.5, domain=DOMAINS[1], bounds_y=(0.4, 3), max_iter=3, scale_by=["job", "married"]
        ),
        "life",
    ),
    "aft, censored, gaussian, persons": Instance(
        DPLogLocationScaleRegressor(
            1.5,
            distribution="lognormal",
            domain=DOMAINS[0],
            bounds_y=(0.4, 3),
            max_iter=3,
            **GAUSSIAN,
            **ADD_REMOVE,
        ),
        "life",
        "persons",
    ),
    "label": Instance(LabelPrivateClassifier(LinearRegression(), 1.5, classes=[0, 1]), "labels"),
    "label, boosting, public rows": Instance(
        LabelPrivateClassifier(epsilon=1.5, classes=[0, 1]), "labels", "public"
    ),
    "label, three classes": Instance(
        LabelPrivateClassifier(LinearRegression(), 1.5, classes=WORDS, cv=None), "words"
    ),
    "label, persons": Instance(
        LabelPrivateClassifier(LinearRegression(), 1.5, classes=[0, 1], max_rows_per_group=2),
        "labels",
        "persons",
    ),
    "label, numbers": Instance(LabelPrivateRegressor(LinearRegression(), 1.5, bounds_y=(-1, 1)), "numbers"),
    "label, numbers, persons": Instance(
        LabelPrivateRegressor(LinearRegression(), 1.5, bounds_y=(-1, 1), max_rows_per_group=2),
        "numbers",
        "persons",
    ),
    "search": Instance(PrivateGridSearch(DPTreeClassifier(**{**TREE, "epsilon": 0.5}), DEPTHS), "labels"),
    "search, persons, label": Instance(
        PrivateRandomizedSearch(
            LocallyPrivateTreeClassifier(0.5, classes=[0, 1], protect="label"), {"max_depth": [1, 2, 3]}
        ),
        "labels",
        "persons",
    ),
    "tqma": Instance(TQMATransformer(bounds=(-1, 1)), "numbers"),
    "bounds scaler": Instance(BoundsScaler(bounds=(-1, 1)), "numbers"),
    "bounds scaler, estimated bounds": Instance(BoundsScaler(PAID_BOUNDS), "numbers"),
    "domain encoder": Instance(DomainEncoder(), "numbers"),
    "declared columns, encoder": Instance(DomainEncoder(DOMAINS[2]), "numbers"),
    "swapping": Instance(BSTDAggregator(), "numbers"),
    "secure sum": Instance(SecureSumAggregator(), "numbers"),
    **{
        f"local average, {kernel}": Instance(LocalAverageRegressor(kernel, bounds=(-1, 1)), "numbers")
        for kernel in KERNELS
    },
    "platform": Instance(CollaborativeRegressor(), "numbers", "sites"),
    "platform, secure sum": Instance(
        CollaborativeRegressor(LinearRegression(), TQMATransformer(bounds=(-1, 1)), SecureSumAggregator()),
        "numbers",
        "sites",
    ),
    "platform, preset": Instance(CollaborativeLARRegressor(bounds=(-1, 1)), "numbers", "sites"),
    "platform, classes": Instance(CollaborativeClassifier(), "labels", "sites"),
    "platform, words": Instance(CollaborativeClassifier(LogisticRegression()), "words", "sites"),
    "pipeline": Instance(make_pipeline(BoundsScaler((-1, 1)), DPNormalLLSRegressor(**LLS)), "numbers"),
    "players": Instance(PrivateNashSolver(max_iter=3), "game"),
    "players in a box": Instance(PrivateNashSolver(weights=RING, max_iter=3), "game", "box"),
    "players who take turns": Instance(PrivateNashSolver(weights=[RING, None] * 6, max_iter=3), "game"),
    "players on a simplex": Instance(PrivateNashSolver(max_iter=3), "game", "simplex"),
}

#: Estimators as scikit-learn's checks fit them: on rows of any kind, so that little is declared.
CHECKED = [
    LocallyPrivateTreeClassifier(),
    *(LocallyPrivateTreeClassifier(mechanism=mechanism) for mechanism in MECHANISMS),
    LocallyPrivateTreeClassifier(rule="cart"),
    LocallyPrivateTreeClassifier(rule="random", max_depth=3, criterion="entropy"),
    LocallyPrivateTreeClassifier(prune=True),
    LocallyPrivateTreeClassifier(prune="paper"),
    LocallyPrivateTreeClassifier(protect="label"),
    LocallyPrivateTreeClassifier(bounds=(-1e3, 1e3), public_weight=2.0, min_samples_leaf=2),
    DPTreeClassifier(),
    DPTreeClassifier(rule="cart", criterion="entropy"),
    DPTreeClassifier(rule="random", max_depth=3),
    DPTreeClassifier(prune=True),
    DPTreeClassifier(prune="paper"),
    LocallyPrivateTreeRegressor(),
    *(
        LocallyPrivateTreeRegressor(mechanism=mechanism)
        for mechanism in ("hadamard", "krr", "subset", "unary")
    ),
    LocallyPrivateTreeRegressor(rule="random", max_depth=3),
    LocallyPrivateTreeRegressor(protect="label"),
    LocallyPrivateTreeRegressor(
        bounds_X=(-1e3, 1e3), bounds_y=(-1e3, 1e3), public_weight=2.0, min_samples_leaf=2
    ),
    DPTreeRegressor(),
    DPTreeRegressor(rule="random", max_depth=3),
    DPTreeRegressor(split_share=0, bounds_X=(-1e3, 1e3), bounds_y=(-1e3, 1e3)),
    DPBoostingClassifier(),
    DPBoostingClassifier(delta=1e-6),
    DPBoostingClassifier(relation="add-remove", interactions=3),
    DPBoostingRegressor(),
    DPBoostingRegressor(delta=1e-6),
    DPBoostingRegressor(relation="add-remove", interactions=3),
    *(
        kind(**options)
        for kind in (
            DPLogLocationScaleRegressor,
            DPSEVRegressor,
            DPLogisticLLSRegressor,
            DPNormalLLSRegressor,
        )
        for options in ({}, GAUSSIAN)
    ),
    DPLogLocationScaleRegressor(distribution="lognormal"),
    DPLogisticRegression(),
    DPLogisticRegression(delta=1e-6),
    DPLogisticRegression(x_norm=5.0, relation="add-remove"),
    DPLogLocationScaleRegressor(distribution="loglogistic", relation="add-remove", regularization="trim"),
    DPLogLocationScaleRegressor(distribution="sev", method="taylor", regularization="none"),
    DPSEVRegressor(bounds_X=(-10, 10), bounds_y=(-1e3, 1e3), regularization="zhang"),
    DPNormalLLSRegressor(x_norm=5.0),
    DPNormalLLSRegressor(x_norm=5.0, **GAUSSIAN),
    LabelPrivateClassifier(),
    LabelPrivateClassifier(LinearRegression(), 4.0, cv=None),
    LabelPrivateRegressor(),
    LabelPrivateRegressor(LinearRegression(), 4.0, bounds_y=(-1e3, 1e3)),
    BSTDAggregator(),
    BSTDAggregator(p_lower=1, p_upper=2, random_state=0),
    BSTDAggregator(order="random"),
    BSTDAggregator(order="top", random_state=3),
    BSTDAggregator(active_rule=None),
    BSTDAggregator(active_rule="support"),
    BSTDAggregator(active_rule="receiver"),
    BSTDAggregator(p_lower=1, p_upper=3, active_rule="receiver", random_state=1),
    *(SecureSumAggregator(active_rule=rule) for rule in ("box", "support", None)),
    *(LocalAverageRegressor(kernel) for kernel in KERNELS),
    *(LocalAverageRegressor(kernel, n_jobs=2, refine_to=10**6) for kernel in KERNELS),
    LocalAverageRegressor("epanechnikov", bandwidth=0.2, bounds=(-5, 5)),
    LocalAverageRegressor("knn", n_neighbors=3),
    CollaborativeRegressor(),
    CollaborativeRegressor(LinearRegression(), TQMATransformer(8)),
    CollaborativeRegressor(aggregator=SecureSumAggregator()),
    CollaborativeRegressor(on_site_error="drop"),
    CollaborativeLARRegressor(),
    CollaborativeLARRegressor(kernel="knn", active_rule="support"),
    CollaborativeLARRegressor(kernel="epanechnikov", bandwidth=0.5),
    CollaborativeClassifier(),
    CollaborativeClassifier(LogisticRegression()),
    CollaborativeClassifier(on_site_error="drop"),
    TQMATransformer(),
    TQMATransformer(bounds=(-5, 5)),
    TQMATransformer(depth=0, bounds=(-5, 5), quasi_identifiers=[0]),
    TQMATransformer(bounds=(-5, 5), quasi_identifiers=slice(0, 2)),
    TQMATransformer(bounds=(-5, 5), perturb_fit=False),
    BoundsScaler(),
    BoundsScaler(bounds=(-10.0, 10.0)),
    DomainEncoder(),
    DomainEncoder(levels="codes", missing="fill"),
    PrivateGridSearch(DPTreeClassifier(), {"max_depth": [1, 3]}),
    PrivateGridSearch(DPNormalLLSRegressor(), {"regularization": ["floor", "trim"]}),
    PrivateRandomizedSearch(LocallyPrivateTreeClassifier(4.0, split_share=0), {"prune": [False, True]}),
]


def public_estimators() -> set[type]:
    """Return every estimator that the package exports."""
    classes = [getattr(skprivate, name) for name in skprivate.__all__]
    return {one for one in classes if inspect.isclass(one) and issubclass(one, BaseEstimator)}


_FIRST = {type(instance.estimator): name for name, instance in reversed(INSTANCES.items())}
#: Names of instances, one of every class, in an order that all workers share.
ONE_OF_EACH = sorted(_FIRST.values())

#: What the battery asks every instance: what it releases, and whether anything leaves beside it. The rest,
#: such as files, copies, ledgers, other tables and rare draws, comes from code that instances share.
OF_EVERY_INSTANCE = {
    "check_sensitivity_fuzz",
    "check_releases",
    "check_releases_show_half_the_noise",
    "check_runs_of_a_search",
    "check_replay",
    "check_noise_meets_values",
    "check_no_redraws",
    "check_same_branches",
    "check_only_released_values_differ",
    "check_noise_variance",
    "check_low_bits",
    "check_sentinels",
}
