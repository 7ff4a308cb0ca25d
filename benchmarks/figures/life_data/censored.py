# SPDX-License-Identifier: BSD-3-Clause
"""Errors and warnings of censored fits at epsilon 1, with five normal columns."""

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skprivate.linear_model._censored.release import CensoredRelease, hides_features, means_nothing, unsettled
from skprivate.linear_model._censored.rounds import CensoredPlan, censored_rounds, plan_censored
from skprivate.linear_model._distributions import LOGISTIC, NORMAL, SEV, ErrorDistribution
from skprivate.linear_model._moments.released_moments import Neighbours, moment_weights, unscale
from skprivate.noise import check_entropy
from skprivate.noise._mechanisms import FitBudget
from skprivate.rounds._driver import RowsInMemory, drive
from skprivate.rounds._plans.moments import MomentGrid
from skprivate.rounds._rows import CODES, PreparedRows, event_within

from ..._tables import Table

D = 5
SIGMA = 0.5
GRID = MomentGrid(lower=np.full(D, -4.0), upper=np.full(D, 4.0), target=(-5.0, 5.0), exponent=20)


#: Rows, shares of them that are censored, and seeds.
SIZES: dict[bool, tuple[tuple[int, ...], tuple[float, ...], int]] = {
    False: ((100_000, 1_000_000), (0.3, 0.8, 0.95, 0.99), 10),
    True: ((20_000,), (0.3,), 2),
}

Fleet = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_], NDArray[np.float64]]


def run(*, small: bool = False) -> None:
    """Print the table."""
    rows, shares, seeds = SIZES[small]
    print("B10 error / sigma (median, 80 % quantile), relative slope error (median), share warned, rounds")
    table = Table(
        *(("family", "<9"), ("n", ">7"), ("censored", ">8.0%"), ("B10", ">6.3f"), ("80 %", ">6.3f")),
        *(("slopes", ">6.3f"), ("warned", ">6.0%"), ("rounds", ">6.1f")),
    )
    for family, n, share in itertools.product((SEV, LOGISTIC, NORMAL), rows, shares):
        found = np.array([_errors(family, n, share, seed) for seed in range(seeds)])
        miss, slopes, warned, rounds = found.T
        errors = np.median(miss), np.quantile(miss, 0.8), np.median(slopes)
        table.row(family.name, n, share, *errors, warned.mean(), rounds.mean())


def _fleet(family: ErrorDistribution, n: int, censored: float, seed: int) -> Fleet:
    """Features, log times, events, slopes of norm 1; one end of all times, random ones for odd seeds."""
    rng = np.random.default_rng(seed)
    X = np.clip(rng.standard_normal((n, D)), -4, 4)
    coef = rng.standard_normal(D)
    coef /= np.linalg.norm(coef)
    y = X @ coef + SIGMA * family.quantile(rng.uniform(size=n))
    offset = rng.uniform(-1.5, 1.5, n) if seed % 2 else np.zeros(n)
    end = offset + np.quantile(y - offset, 1 - censored)
    return X, np.minimum(y, end), y <= end, coef


def _errors(family: ErrorDistribution, n: int, censored: float, seed: int) -> tuple[float, float, bool, int]:
    X, time, event, coef = _fleet(family, n, censored, seed)
    neighbours = Neighbours(weights=moment_weights(D, "laplace", False))
    plan = plan_censored(GRID, family, FitBudget.of(1, 0, "laplace"), neighbours, n_rows=n)
    release = fit_censored(plan, X, time, event, 1000 + seed)
    slopes, intercept, scale = unscale(release.fit, GRID)
    q = float(family.quantile(0.1))
    miss = abs(intercept + scale * q - SIGMA * q) / SIGMA
    warned = bool(means_nothing(release)) or hides_features(release) or unsettled(release, family)
    return miss, float(np.linalg.norm(slopes - coef)), warned, len(release.rounds)


def fit_censored(
    plan: CensoredPlan,
    X: NDArray[np.float64],
    time: NDArray[np.float64],
    event: NDArray[Any],
    entropy: Any = None,
    **more: Any,
) -> CensoredRelease:
    """Fit rows in memory, on the scale of the model; `more` are other fields of `PreparedRows`."""
    rows = replace(censored_rows(plan, X, time, event), **more)
    return drive(censored_rounds(plan), RowsInMemory(rows), check_entropy(entropy))


def censored_rows(
    plan: CensoredPlan, X: NDArray[np.float64], time: NDArray[np.float64], event: NDArray[Any]
) -> PreparedRows:
    """Rows as the rounds read them: times beyond the bounds are censored there."""
    within = event_within(time, event, plan.grid.target[1])
    if not plan.is_plain and event.dtype != np.bool_:
        within = np.where(event > CODES["exact"], event, within).astype(np.uint8)
    return PreparedRows(X, y=time, event=within)
