# SPDX-License-Identifier: BSD-3-Clause
"""Accuracy of trees and error of Weibull slopes by epsilon and number of rows, over ten seeds."""

import warnings

import numpy as np

from skprivate import DPLogLocationScaleRegressor, DPTreeClassifier, LocallyPrivateTreeClassifier
from skprivate.datasets import make_location_scale, make_posterior_drift
from skprivate.exceptions import UtilityWarning

from .._tables import Table, across

EPSILONS = (0.1, 0.5, 1.0, 2.0, 4.0, 8.0)
#: Rows, and seeds.
SIZES = {False: ((1_000, 10_000, 100_000), 10), True: ((1_000,), 1)}
N_PUBLIC, N_TEST = 200, 10_000
TREES = (("local", LocallyPrivateTreeClassifier), ("central", DPTreeClassifier))


def run(*, small: bool = False) -> None:
    """Print accuracies of trees and errors of slopes."""
    rows, seeds = SIZES[small][0], range(SIZES[small][1])
    table = Table(("epsilon", "<28"), *across(EPSILONS, ">7.3f"), indent=2)
    for name, kind in TREES:
        for n in rows:
            cells = [np.mean([_accuracy(kind, epsilon, n, seed) for seed in seeds]) for epsilon in EPSILONS]
            table.row(f"{name} tree, {n:,} rows", *cells)
    for n in rows:
        cells = [np.median([_slope_error(epsilon, n, seed) for seed in seeds]) for epsilon in EPSILONS]
        table.row(f"Weibull slopes, {n:,} rows", *(f"{cell:.2f}" for cell in cells))


def _accuracy(kind: type, epsilon: float, n: int, seed: int) -> float:
    X, y, is_public = make_posterior_drift(n + N_TEST, N_PUBLIC, gamma=0.5, random_state=seed)
    tested = np.zeros(len(X), dtype=bool)
    tested[n : n + N_TEST] = True
    tree = kind(epsilon, bounds=(0, 1), classes=[0, 1], random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UtilityWarning)
        tree = tree.fit(X[~tested], y[~tested], is_public=is_public[~tested])
    return float(tree.score(X[tested], y[tested]))


def _slope_error(epsilon: float, n: int, seed: int) -> float:
    """Error of the slopes, relative to them: 5 features, times within [50, 50,000]."""
    X, hours = make_location_scale(n, 5, intercept=7.4, scale=0.5, random_state=seed)
    truth = DPLogLocationScaleRegressor(1e9, bounds_X=(-1, 1), bounds_y=(50, 50_000), random_state=0)
    model = DPLogLocationScaleRegressor(epsilon, bounds_X=(-1, 1), bounds_y=(50, 50_000), random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UtilityWarning)
        exact, noisy = truth.fit(X, hours).coef_, model.fit(X, hours).coef_
    return float(np.linalg.norm(noisy - exact) / np.linalg.norm(exact))
