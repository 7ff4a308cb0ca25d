# SPDX-License-Identifier: BSD-3-Clause
"""Times of fits on 200 rows, against plain scikit-learn, and what they cost beyond its own checks."""

import warnings
from collections.abc import Callable
from functools import partial
from itertools import chain
from time import process_time
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsRegressor
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.validation import validate_data

from skprivate import (
    BSTDAggregator,
    CollaborativeLARRegressor,
    CollaborativeRegressor,
    DPLogisticLLSRegressor,
    DPLogLocationScaleRegressor,
    DPNormalLLSRegressor,
    DPSEVRegressor,
    DPTreeClassifier,
    DPTreeRegressor,
    LocalAverageRegressor,
    LocallyPrivateTreeClassifier,
    LocallyPrivateTreeRegressor,
    PrivateGridSearch,
    PrivateNashSolver,
    QuadraticAggregativeGame,
    SecureSumAggregator,
    TQMATransformer,
)
from skprivate.datasets import make_location_scale
from skprivate.exceptions import DisclosureWarning, UtilityWarning

from .._tables import Table, verdict
from .._timing import Task, compare

N_ROWS, N_FEATURES, N_PUBLIC, N_SITES = 200, 4, 40, 5
PAIRS = 60
GOAL_MILLISECONDS = 4
MECHANISMS = ("auto", "hadamard", "krr", "subset", "unary", "signed-laplace", "laplace")


class Case(NamedTuple):
    """One fit, a plain fit beside it, scikit-learn's checks, and why it may take longer than the goal."""

    name: str
    fit: Task
    plain: Task
    checks: Task
    why_longer: str = ""


def checks_of(estimator: Any, *rows: Any) -> Task:
    """Return scikit-learn's validation of the parameters and the rows, which every fit has."""
    bare = clone(estimator)

    def check() -> None:
        bare._validate_params()
        validate_data(bare, *rows, dtype=np.float64)

    return check


def trees(X: Any, y: Any) -> list[Case]:
    """Return the fits of trees."""
    shared = {"bounds": (0, 1), "classes": [0, 1]}
    kinds: dict[str, tuple[Any, bool]] = {
        f"local tree, {name}": (LocallyPrivateTreeClassifier(mechanism=name, **shared), True)
        for name in MECHANISMS
    }
    local: Callable[..., Any] = partial(LocallyPrivateTreeClassifier, **shared)
    kinds |= {
        "local tree, labels": (local(protect="label"), True),
        "local tree, pruned": (local(prune=True), True),
        "local tree, all private": (local(), False),
        "curator's tree": (DPTreeClassifier(**shared), True),
        "curator's tree, all private": (DPTreeClassifier(**shared), False),
    }
    return [_tree_case(name, *kind, DecisionTreeClassifier(), X, y) for name, kind in kinds.items()]


def number_trees(X: Any, y: Any) -> list[Case]:
    """Return the fits of trees of numbers."""
    bounds: dict[str, Any] = {"bounds_X": (0, 1), "bounds_y": (-3, 8)}
    kinds: dict[str, tuple[Any, bool]] = {
        "local tree of numbers": (LocallyPrivateTreeRegressor(**bounds), True),
        "local tree of numbers, targets": (LocallyPrivateTreeRegressor(protect="label", **bounds), True),
        "local tree of numbers, all private": (LocallyPrivateTreeRegressor(**bounds), False),
        "curator's tree of numbers": (DPTreeRegressor(**bounds), True),
        "the same, all private": (DPTreeRegressor(**bounds), False),
    }
    return [_tree_case(name, *kind, DecisionTreeRegressor(), X, y) for name, kind in kinds.items()]


def _tree_case(name: str, tree: Any, any_public: bool, plain: Any, X: Any, y: Any) -> Case:
    """Return the fit of a private tree, some of whose rows are public or none, beside a plain one."""
    is_public = np.arange(N_ROWS) < N_PUBLIC if any_public else None
    return Case(
        name,
        partial(tree.fit, X, y, is_public=is_public),
        partial(plain.fit, X, y),
        checks_of(tree, X, y),
    )


def regressions(X: Any, y: Any) -> list[Case]:
    """Return the fits of log-location-scale models."""
    bounds: dict[str, Any] = {"bounds_X": (0, 1), "bounds_y": (-3, 8)}
    models = {
        "normal errors": DPNormalLLSRegressor(**bounds),
        "normal errors, Gaussian noise": DPNormalLLSRegressor(mechanism="gaussian", delta=1e-6, **bounds),
        "extreme-value errors": DPSEVRegressor(**bounds),
        "logistic errors": DPLogisticLLSRegressor(**bounds),
    }
    plain = partial(LinearRegression().fit, X, y)
    cases = [
        Case(name, partial(model.fit, X, y), plain, checks_of(model, X, y)) for name, model in models.items()
    ]
    lives, times = make_location_scale(N_ROWS, N_FEATURES, censoring=0.5, random_state=0)
    censored = DPLogLocationScaleRegressor(bounds_X=(-1, 1), bounds_y=(1e-3, 1e2))
    why = "Newton rounds"
    return [
        *cases,
        Case("censored", partial(censored.fit, lives, times), plain, checks_of(censored, lives), why),
    ]


def platforms(X: Any, y: Any) -> list[Case]:
    """Return the fits of platforms and of their parts."""
    sites, answers = np.arange(N_ROWS) % N_SITES, np.random.default_rng(0).normal(size=(N_ROWS, 12))
    coarsening, local = TQMATransformer(bounds=(0, 1)), LocalAverageRegressor(bounds=(0, 1))
    shared = CollaborativeRegressor(KNeighborsRegressor(5), coarsening)
    averages = CollaborativeLARRegressor(bounds=(0, 1))
    scaler, neighbours = StandardScaler(), KNeighborsRegressor(5)
    # What a platform of sites takes anyhow: a clone and a fit for every site.
    parts = [np.flatnonzero(sites == site) for site in range(N_SITES)]

    def loop() -> None:
        for rows in parts:
            clone(neighbours).fit(X[rows], y[rows])

    why = f"{N_SITES} local fits"
    transformers = [
        Case(name, partial(one.fit, rows), partial(scaler.fit, rows), checks_of(one, rows))
        for name, one, rows in (
            ("TQMA", coarsening, X),
            ("swapping", BSTDAggregator(), answers),
            ("secure sum", SecureSumAggregator(), answers),
        )
    ]
    return [
        *transformers,
        Case(
            "local average", partial(local.fit, X, y), partial(neighbours.fit, X, y), checks_of(local, X, y)
        ),
        Case("platform, neighbours", partial(shared.fit, X, y, sites=sites), loop, loop, why),
        Case("platform, local averages", partial(averages.fit, X, y, sites=sites), loop, loop, why),
    ]


def searches_and_games(X: Any, y: Any) -> list[Case]:
    """Return a search over two candidates, and a game of four players."""
    tree, grid = DPTreeClassifier(bounds=(0, 1), classes=[0, 1]), {"max_depth": [2, 4]}
    search = PrivateGridSearch(tree, grid)
    plain = GridSearchCV(DecisionTreeClassifier(), grid)
    game = QuadraticAggregativeGame(P=1.0, Q=0.5, r=[-0.6, 0.1, 0.4, 0.2], r_bounds=(-1, 1))
    solver, linear = PrivateNashSolver(max_iter=100), LinearRegression()
    return [
        Case(
            "search, 2 candidates",
            partial(search.fit, X, y),
            partial(plain.fit, X, y),
            checks_of(tree, X, y),
            "runs",
        ),
        Case(
            "game, 100 rounds",
            partial(solver.fit, game),
            partial(linear.fit, X, y),
            solver._validate_params,
            "rounds",
        ),
    ]


def run() -> None:
    for category in (UtilityWarning, DisclosureWarning):
        warnings.simplefilter("ignore", category)
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(N_ROWS, N_FEATURES))
    y = X.sum(axis=1) + rng.normal(size=N_ROWS)
    labels = (X[:, 0] + 0.3 * rng.normal(size=N_ROWS) > 0.5).astype(int)
    print(f"CPU times of fits on {N_ROWS} rows, d = {N_FEATURES}; plain: scikit-learn's on the same rows")
    print("checks: its validation of the parameters and the rows; ours: what the fit takes beyond them")
    fits = (trees(X, labels), number_trees(X, y), regressions(X, y), platforms(X, y))
    columns = ("ms", ">8.2f"), ("plain, ms", ">9.2f"), ("ratio", ">7.3g"), ("checks, ms", ">10.2f")
    table = Table(("fit", "<34"), *columns, ("ours, ms", ">8.2f"), ("", "<18"))
    for case in chain(*fits, searches_and_games(X, labels)):
        ours, plain, ratio = compare(case.fit, case.plain, PAIRS, process_time)
        checks = compare(case.fit, case.checks, PAIRS, process_time)
        own = 1e3 * (checks.ours - checks.theirs)
        goal = case.why_longer or verdict(GOAL_MILLISECONDS, own <= GOAL_MILLISECONDS)
        table.row(case.name, 1e3 * ours, 1e3 * plain, ratio, 1e3 * checks.theirs, own, goal)
