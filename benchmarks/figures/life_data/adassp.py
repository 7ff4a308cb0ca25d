# SPDX-License-Identifier: BSD-3-Clause
"""Excess error of private least squares with Gaussian noise against AdaSSP, plain and boosted.

All have the same epsilon and delta, ours and the boosted one the same rho. AdaSSP's bounds are for neighbours
that differ by one more row; the others are for one row replaced, which costs more noise.
"""

import warnings
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skprivate import DPNormalLLSRegressor
from skprivate.exceptions import UtilityWarning
from skprivate.noise._mechanisms import FitBudget

from ..._tables import Table
from ._adassp import Boosted, Norms, adassp, boost_together

FloatArray = NDArray[np.float64]

# Data of no seed from here on were looked at while methods were chosen.
FIRST_SEED = 7100
# Between the seeds of the data and those of the noise of the three methods.
APART = 1_000_000
#: Dimensions, and rows.
SIZES = {False: ((10, 30), (10_000, 100_000, 1_000_000)), True: ((3,), (1_000,))}
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


def excess(coef: FloatArray, intercept: float, beta: FloatArray) -> float:
    """Excess mean squared error over what the features explain: above 1, a constant is better."""
    return float((np.sum((coef - beta[1:]) ** 2) + (intercept - beta[0]) ** 2) / np.sum(beta[1:] ** 2))


def excesses(X: FloatArray, y: FloatArray, beta: FloatArray, width: float, seed: int) -> list[list[float]]:
    """Return the excess of all methods at every epsilon: of shape (n_epsilons, 3)."""
    d = X.shape[1]
    # Few rows are longer, and few targets larger, at width 1.
    norms = Norms(width * (np.sqrt(d) + 2.5), width * 4 * np.sqrt(d + 2))
    rows, targets = norms.bounded(X, y)
    gram, cross = rows.T @ rows, rows.T @ targets
    rhos = [float(FitBudget.of(epsilon, DELTA, "gaussian").amount) for epsilon in EPSILONS]
    boosted = [Boosted(gram, rho, seed + (2 + k) * APART) for k, rho in enumerate(rhos)]
    boost_together(boosted, rows, targets)
    known: dict[str, Any] = {"mechanism": "gaussian", "x_norm": norms.x, "bounds_y": (-norms.y, norms.y)}
    results = []
    for epsilon, other in zip(EPSILONS, boosted, strict=True):
        theta = adassp(gram, cross, epsilon, DELTA, seed + APART)
        ours = DPNormalLLSRegressor(epsilon, delta=DELTA, random_state=seed + 9 * APART, **known).fit(X, y)
        lines = norms.line(theta), norms.line(other.theta), (ours.coef_, ours.intercept_)
        results.append([excess(*line, beta) for line in lines])
    return results


def run(seeds: int = 20, *, small: bool = False) -> None:
    """Print the table, and how many of its cells are near the better of the others."""
    seeds, (dimensions, sizes) = 2 if small else seeds, SIZES[small]
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
    for d in dimensions:
        places = list(product(sizes, WIDTHS))
        found = []
        for seed in range(FIRST_SEED, FIRST_SEED + seeds):
            X, y, beta = simulate(max(sizes), d, seed)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UtilityWarning)
                found.append([excesses(X[:n], y[:n], beta, width, seed) for n, width in places])
        for (n, width), medians in zip(places, np.median(found, axis=0), strict=True):
            own = medians[:, 2] / medians[:, :2].min(axis=1)
            cells = np.column_stack([EPSILONS, medians, own])
            table.row(d, n, f"x {width:g}", *cells.ravel())
            ratios += own.tolist()
    near = sum(ratio <= NEAR for ratio in ratios)
    print(f"ratio at most {NEAR}: {near} of {len(ratios)} cells; greatest ratio: {max(ratios):.2f}")
