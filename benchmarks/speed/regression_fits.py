# SPDX-License-Identifier: BSD-3-Clause
"""Times of whole private regression fits against one ``X.T @ X``, scikit-learn and lifelines."""

import warnings
from functools import partial

import numpy as np
from sklearn.linear_model import LinearRegression

from skprivate import DPLogLocationScaleRegressor, DPNormalLLSRegressor
from skprivate.datasets import make_location_scale
from skprivate.exceptions import UtilityWarning

from .._peers.lifelines import weibull_fit
from .._tables import Table, verdict
from .._timing import compare, median_seconds

N_ROWS = 1_000_000
N_CENSORED = 100_000
PAIRS = 9
GOAL_RATIO = 1.5
N_PREDICTED = 20_000


def bench_fit(table: Table, n_features: int) -> None:
    """Print the times of a fit and of what it is compared with."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_ROWS, n_features))
    y = X @ rng.normal(size=n_features) + rng.normal(size=N_ROWS)
    wide = 4.0 * np.sqrt(n_features + 1.0)
    model = DPNormalLLSRegressor(1.0, bounds_X=(-4, 4), bounds_y=(-wide, wide))
    others = {"X.T @ X": lambda: X.T @ X, "LinearRegression": lambda: LinearRegression().fit(X, y)}
    for name, other in others.items():
        ours, theirs, ratio = compare(lambda: model.fit(X, y), other, PAIRS)
        goal = verdict(GOAL_RATIO, ratio <= GOAL_RATIO) if name == "X.T @ X" else ""
        table.row(f"n = {N_ROWS:,}, d = {n_features}", name, 1e3 * ours, 1e3 * theirs, ratio, goal)


def bench_censored(table: Table) -> None:
    """Print the times of a censored fit, and of lifelines where it is installed."""
    X, y = make_location_scale(N_CENSORED, 10, censoring=0.8, random_state=0)
    model = DPLogLocationScaleRegressor(1.0, bounds_X=(-1, 1), bounds_y=(1e-3, 1e2))
    fit, name = partial(model.fit, X, y), f"censored, n = {N_CENSORED:,}, d = 10"
    other = weibull_fit(X, y)
    if other is None:
        table.row(name, "", 1e3 * median_seconds(fit, 5), None, None, "")
        return
    ours, theirs, ratio = compare(fit, other, 2)
    table.row(name, "lifelines, Weibull", 1e3 * ours, 1e3 * theirs, ratio, "")


def bench_intervals(table: Table) -> None:
    """Print the times of many rows' B10 intervals, and of NumPy's quantiles of the replicates."""
    X, y = make_location_scale(N_PREDICTED, 5, random_state=0)
    model = DPLogLocationScaleRegressor(4.0, bounds_X=(-1, 1), bounds_y=(1e-3, 1e2)).fit(X, y)
    replicates = model.replicates_
    offsets = replicates[:, 0] + model.error_distribution_.quantile(0.1) * replicates[:, 1]

    def with_numpy() -> None:
        for part in np.array_split(X, 4):
            np.quantile(part @ replicates[:, 2:].T + offsets, [0.05, 0.95], axis=1)

    intervals = partial(model.predict_quantile, X, 0.1, return_interval=True)
    ours, theirs, ratio = compare(intervals, with_numpy, PAIRS)
    table.row(f"B10 intervals, {N_PREDICTED:,} rows", "np.quantile", 1e3 * ours, 1e3 * theirs, ratio, "")


def run() -> None:
    warnings.simplefilter("ignore", UtilityWarning)
    table = Table(
        ("fit", "<28"),
        ("against", "<18"),
        ("ms", ">8.1f"),
        ("theirs, ms", ">10.1f"),
        ("ratio", ">7.3g"),
        ("", "<18"),
    )
    for n_features in (10, 30):
        bench_fit(table, n_features)
    bench_censored(table)
    bench_intervals(table)
