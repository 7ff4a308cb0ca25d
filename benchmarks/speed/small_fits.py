# SPDX-License-Identifier: BSD-3-Clause
"""Times of fits on 200 rows against plain scikit-learn, and of an import."""

import resource
import subprocess
import sys
import warnings
from collections.abc import Iterator
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsRegressor
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

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

from .._timing import Task
from ._goals import Measured, SideBySide

N_FEATURES = 4
# Rows, public rows, sites, rounds of a game; pairs; what a process imports.
SIZES = {
    False: (200, 50, 5, 100, 21, ("from skprivate import DPTreeClassifier", "import sklearn.tree")),
    True: (40, 10, 2, 2, 0, ("pass", "pass")),
}
MECHANISMS = ("auto", "hadamard", "krr", "subset", "unary", "signed-laplace", "laplace")
LABELS: dict[str, Any] = {"bounds": (0, 1), "classes": [0, 1]}
NUMBERS: dict[str, Any] = {"bounds_X": (0, 1), "bounds_y": (-3, 8)}
#: What is fitted, and what in the terms of a plain model, each a task.
Cases = Iterator[tuple[str, str, Task, Task]]


def trees(X: Any, y: Any, labels: Any, is_public: Any) -> Cases:
    """Yield the fits of trees with public rows, and of each kind without."""
    options = [*({"mechanism": name} for name in MECHANISMS), {"protect": "label"}, {"prune": True}]
    for kind, known, target, changes in (
        (LocallyPrivateTreeClassifier, LABELS, labels, [{}, *options]),
        (DPTreeClassifier, LABELS, labels, [{}]),
        (LocallyPrivateTreeRegressor, NUMBERS, y, [{}, {"protect": "label"}]),
        (DPTreeRegressor, NUMBERS, y, [{}]),
    ):
        plain: Any = DecisionTreeClassifier() if target is labels else DecisionTreeRegressor()
        name, fit = kind.__name__, partial(plain.fit, X, target)
        for how in changes:
            work = ", ".join([name, *(f"{key}={value}" for key, value in how.items())])
            yield work, "plain tree", partial(kind(**known, **how).fit, X, target, is_public=is_public), fit
        yield f"{name}, all rows private", "plain tree", partial(kind(**known).fit, X, target), fit


def regressions(X: Any, y: Any) -> Cases:
    """Yield the fits of life models."""
    plain = partial(LinearRegression().fit, X, y)
    gaussian = {"mechanism": "gaussian", "delta": 1e-6}
    for name, kind, how in (
        ("normal errors", DPNormalLLSRegressor, {}),
        ("normal errors, Gaussian noise", DPNormalLLSRegressor, gaussian),
        ("extreme-value errors", DPSEVRegressor, {}),
        ("logistic errors", DPLogisticLLSRegressor, {}),
    ):
        yield name, "LinearRegression", partial(kind(**NUMBERS, **how).fit, X, y), plain
    lives = make_location_scale(*X.shape, censoring=0.5, random_state=0)
    censored = DPLogLocationScaleRegressor(bounds_X=(-1, 1), bounds_y=(1e-3, 1e2))
    yield "censored, in Newton rounds", "LinearRegression", partial(censored.fit, *lives), plain


def platforms(X: Any, y: Any, n_sites: int) -> Cases:
    """Yield the fits of platforms, beside a clone and a fit for every site, and of their parts."""
    sites, answers = np.arange(len(X)) % n_sites, np.random.default_rng(0).normal(size=(len(X), 12))
    tqma, neighbours = TQMATransformer(bounds=(0, 1)), KNeighborsRegressor(5)

    def loop() -> None:
        for site in range(n_sites):
            clone(neighbours).fit(X[sites == site], y[sites == site])

    for name, part, rows in (
        ("TQMA", tqma, X),
        ("swapping", BSTDAggregator(), answers),
        ("secure sum", SecureSumAggregator(), answers),
    ):
        yield name, "StandardScaler", partial(part.fit, rows), partial(StandardScaler().fit, rows)
    local = LocalAverageRegressor(bounds=(0, 1))
    yield "local average", "neighbours", partial(local.fit, X, y), partial(neighbours.fit, X, y)
    for name, platform in (
        ("platform, neighbours", CollaborativeRegressor(neighbours, tqma)),
        ("platform, local averages", CollaborativeLARRegressor(bounds=(0, 1))),
    ):
        yield name, f"{n_sites} local fits", partial(platform.fit, X, y, sites=sites), loop


def others(X: Any, y: Any, n_rounds: int) -> Cases:
    """Yield a search over two candidates, and a game of four players."""
    grid = {"max_depth": [2, 4]}
    search = PrivateGridSearch(DPTreeClassifier(**LABELS), grid)
    plain = GridSearchCV(DecisionTreeClassifier(), grid)
    yield "search, 2 candidates", "GridSearchCV", partial(search.fit, X, y), partial(plain.fit, X, y)
    game = QuadraticAggregativeGame(P=1.0, Q=0.5, r=[-0.6, 0.1, 0.4, 0.2], r_bounds=(-1, 1))
    solver, linear = PrivateNashSolver(max_iter=n_rounds), LinearRegression()
    yield f"game, {n_rounds} rounds", "LinearRegression", partial(solver.fit, game), partial(linear.fit, X, y)


def seconds_of_children() -> float:
    """Return the processor time of all processes that were started and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run(small: bool = False) -> Measured:
    warnings.simplefilter("ignore")
    n_rows, n_public, n_sites, n_rounds, pairs, imports = SIZES[small]
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(n_rows, N_FEATURES))
    y = X.sum(axis=1) + rng.normal(size=n_rows)
    labels = (X[:, 0] + 0.3 * rng.normal(size=n_rows) > 0.5).astype(int)
    table = SideBySide(pairs)
    table.heading(f"fits on {n_rows} rows, d = {N_FEATURES}, {n_public} of them public for trees")
    parts = trees(X, y, labels, np.arange(n_rows) < n_public), regressions(X, y), platforms(X, y, n_sites)
    for work, beside, ours, theirs in chain(*parts, others(X, labels, n_rounds)):
        table.row(work, beside, ours, theirs, goal=f"{work}, 200 rows")
    ours, theirs = (partial(subprocess.run, [sys.executable, "-c", line], check=True) for line in imports)
    processes = SideBySide(min(pairs, 7), clock=seconds_of_children)
    processes.heading("processes that do nothing else")
    processes.row("import of a tree", "import of sklearn.tree", ours, theirs, goal="import of a tree")
    return table.measured | processes.measured
