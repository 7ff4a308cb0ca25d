# SPDX-License-Identifier: BSD-3-Clause
"""Excess error of private least squares with Gaussian noise against AdaSSP, plain and boosted.

All have the same epsilon and delta, ours and the boosted one the same rho. AdaSSP's bounds are for neighbours
that differ by one more row; the others are for one row replaced, which costs more noise.
"""

import os
import warnings
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from skprivate import DPNormalLLSRegressor
from skprivate.exceptions import UtilityWarning
from skprivate.noise._mechanisms import FitBudget

from ..._tables import Table
from ._adassp import AdaSSP, BoostedAdaSSP, fit_together

FloatArray = NDArray[np.float64]

SEEDS = int(os.environ.get("SKPRIVATE_BENCH_SEEDS", "20"))
# Data of no seed from here on were looked at while methods were chosen.
FIRST_SEED = int(os.environ.get("SKPRIVATE_BENCH_FIRST_SEED", "7100"))
# Between the seeds of the data and those of the noise of the three methods.
APART = 1_000_000
DIMENSIONS = (10, 30)
ROWS = (10_000, 100_000, 1_000_000)[: int(os.environ.get("SKPRIVATE_BENCH_SIZES", "3"))]
EPSILONS = (0.5, 1.0, 2.0)
DELTA = 1e-6
WIDTHS = (1.0, 10.0)
# Of the better of the two others: what counts as near it.
NEAR = 1.25


def simulate(n: int, d: int, seed: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Draw standard normal features, errors and coefficients; the intercept is the first coefficient."""
    rng = np.random.default_rng(seed)
    beta = rng.normal(size=d + 1)
    X = rng.normal(size=(n, d))
    return X, beta[0] + X @ beta[1:] + rng.normal(size=n), beta


def norms(d: int, width: float) -> tuple[float, float]:
    """Public norms: few rows are longer, and few targets larger, at width 1."""
    return width * (np.sqrt(d) + 2.5), width * 4 * np.sqrt(d + 2)


def excess(coef: FloatArray, intercept: float, beta: FloatArray) -> float:
    """Excess mean squared error over what the features explain: above 1, a constant is better."""
    return float((np.sum((coef - beta[1:]) ** 2) + (intercept - beta[0]) ** 2) / np.sum(beta[1:] ** 2))


def excesses(X: FloatArray, y: FloatArray, beta: FloatArray, width: float, seed: int) -> FloatArray:
    """Return the excess of all methods at every epsilon: of shape (n_epsilons, 3)."""
    x_norm, y_norm = norms(X.shape[1], width)
    statistics = AdaSSP(1.0, DELTA, x_norm, y_norm, 0).moments(X, y)
    rhos = [float(FitBudget.of(epsilon, DELTA, "gaussian").amount) for epsilon in EPSILONS]
    boosted = [BoostedAdaSSP(rho, x_norm, y_norm, seed + (2 + k) * APART) for k, rho in enumerate(rhos)]
    fit_together(boosted, X, y)
    results = []
    for k, epsilon in enumerate(EPSILONS):
        theirs = AdaSSP(epsilon, DELTA, x_norm, y_norm, seed + APART).fit_moments(*statistics)
        ours = DPNormalLLSRegressor(
            epsilon,
            delta=DELTA,
            mechanism="gaussian",
            x_norm=x_norm,
            bounds_y=(-y_norm, y_norm),
            random_state=seed + 9 * APART,
        ).fit(X, y)
        results.append([excess(m.coef_, m.intercept_, beta) for m in (theirs, boosted[k], ours)])
    return np.array(results)


def run(seeds: int = SEEDS) -> None:
    """Print the table, and how many of its cells are near the better of the others."""
    warnings.simplefilter("ignore", UtilityWarning)
    print(
        f"excess mean squared error over the explained variance, median of {seeds} seeds from {FIRST_SEED}; "
        f"delta = {DELTA:g}"
    )
    print("ratio: ours over the better of the two others")
    methods = (
        *(("epsilon", ">9g"), ("AdaSSP", ">9.2g"), ("boosted", ">9.2g")),
        *(("ours", ">9.2g"), ("ratio", ">7.2f")),
    )
    table = Table(("d", ">3"), ("n", ">8"), ("bounds", ">7"), *methods * len(EPSILONS))
    ratios: list[float] = []
    for d, n, width, values in _settings(seeds):
        cells = list(_cells(values))
        table.row(d, n, f"x {width:g}", *cells)
        ratios += cells[4::5]
    near = sum(ratio <= NEAR for ratio in ratios)
    print(f"ratio at most {NEAR}: {near} of {len(ratios)} cells; greatest ratio: {max(ratios):.2f}")


def _settings(seeds: int) -> Iterator[tuple[int, int, float, FloatArray]]:
    """Yield d, n, the width of bounds, and excesses of shape (n_seeds, n_epsilons, 3)."""
    for d in DIMENSIONS:
        found: dict[tuple[int, float], list[FloatArray]] = {(n, w): [] for n in ROWS for w in WIDTHS}
        for seed in range(FIRST_SEED, FIRST_SEED + seeds):
            X, y, beta = simulate(max(ROWS), d, seed)
            for n, width in found:
                found[n, width].append(excesses(X[:n], y[:n], beta, width, seed))
        for (n, width), values in found.items():
            yield d, n, width, np.array(values)


def _cells(values: FloatArray) -> Iterator[float]:
    """Yield epsilon, the medians, and the ratio of ours to the better of the others."""
    for epsilon, errors in zip(EPSILONS, np.moveaxis(values, 1, 0), strict=True):
        medians = np.median(errors, axis=0)
        yield from (epsilon, *medians, medians[2] / medians[:2].min())
