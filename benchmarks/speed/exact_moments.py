# SPDX-License-Identifier: BSD-3-Clause
"""Times of exact integer moments and of regressions by them, against ``X.T @ X`` and scikit-learn."""

import warnings
from functools import partial
from typing import Any

import numpy as np
from sklearn.linear_model import LinearRegression

from skprivate import DPNormalLLSRegressor
from skprivate.rounds._plans.moments import MomentGrid, exact_gram

from ._goals import Measured, SideBySide

# Rows and values of a table at most (240 MB), and pairs.
SIZES = {False: (1_000_000, 30_000_000, 9), True: (500, 10_000, 0)}
FEATURES = (5, 10, 30, 50, 100)
# Numbers of columns of the fits, and of bounds other than a cube.
FITTED = (10, 30)


def bench_gram(table: SideBySide, X: Any, y: Any, work: str, **options: Any) -> None:
    """Print the times of the exact moments of rows within bounds, and of a product of matrices."""
    n_features, bound = X.shape[1], np.full(X.shape[1], 4.0)
    grid = MomentGrid(lower=-bound, upper=bound, target=(-4.0, 4.0), exponent=20, **options)
    goal = "exact moments, cube" if work == "cube" else ""
    if options and n_features == FITTED[0]:
        goal = "exact moments under L1 and L2 balls, 10 columns"
    ours = partial(exact_gram, grid, X, y)
    table.row(f"{work}, d = {n_features}", "X.T @ X", ours, lambda: X.T @ X, goal=goal)


def bench_fit(table: SideBySide, X: Any) -> None:
    """Print the times of a private fit of normal errors, and of least squares."""
    n_features, rng = X.shape[1], np.random.default_rng(1)
    y = X @ rng.normal(size=n_features) + rng.normal(size=len(X))
    wide = 4.0 * np.sqrt(n_features + 1.0)
    fit = partial(DPNormalLLSRegressor(1.0, bounds_X=(-4, 4), bounds_y=(-wide, wide)).fit, X, y)
    work, goal = (
        f"DPNormalLLSRegressor, d = {n_features}",
        f"life models without censoring, {n_features} columns",
    )
    table.row(work, "LinearRegression", fit, partial(LinearRegression().fit, X, y), goal=goal)


def run(small: bool = False) -> Measured:
    warnings.simplefilter("ignore")
    n_rows, most_values, pairs = SIZES[small]
    table = SideBySide(pairs)
    table.heading(f"{n_rows:,} rows, or fewer for tables of {8e-6 * most_values:.0f} MB")
    for n_features in FEATURES:
        rng = np.random.default_rng(0)
        X = rng.normal(size=(min(n_rows, most_values // n_features), n_features))
        y = rng.normal(size=len(X))
        bench_gram(table, X, y, "cube")
        if n_features in FITTED:
            bench_gram(table, X.astype(np.float32), y, "float32")
            bench_gram(table, X, y, "L1 ball", x_norm=4.0, norm_order=1)
            bench_gram(table, X, y, "L2 ball", x_norm=4.0, norm_order=2)
            bench_fit(table, X)
    return table.measured
