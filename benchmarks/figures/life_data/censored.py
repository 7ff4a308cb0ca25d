# SPDX-License-Identifier: BSD-3-Clause
"""Errors, warnings and interval coverage of censored fits at epsilon 1, with five normal columns."""

import itertools
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skprivate.linear_model._censored.release import CensoredRelease, bootstrap_censored, censored_warning
from skprivate.linear_model._censored.rounds import CensoredPlan, censored_rounds, plan_censored
from skprivate.linear_model._distributions import LOGISTIC, NORMAL, SEV, ErrorDistribution
from skprivate.linear_model._moments.released_moments import Neighbours, moment_weights, unscale
from skprivate.noise import check_entropy
from skprivate.noise._mechanisms import FitBudget
from skprivate.rounds._driver import RowsInMemory, drive
from skprivate.rounds._plans.moments import MomentGrid
from skprivate.rounds._rows import CODES, PreparedRows, event_within

from ..._tables import Table, across

D = 5
SIGMA = 0.5
GRID = MomentGrid(lower=np.full(D, -4.0), upper=np.full(D, 4.0), target=(-5.0, 5.0), exponent=20)


@dataclass(frozen=True)
class Sizes:
    """Rows, shares of them that are censored, seeds, and runs of the coverage."""

    rows: tuple[int, ...] = (100_000, 1_000_000)
    shares: tuple[float, ...] = (0.3, 0.8, 0.95, 0.99)
    seeds: int = 10
    coverage_runs: int = 200


SIZES = {False: Sizes(), True: Sizes((20_000,), (0.3,), 2, 2)}

Fleet = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_], NDArray[np.float64]]


def run(*, small: bool = False) -> None:
    """Print the tables."""
    sizes = SIZES[small]
    print("B10 error / sigma (median, 80 % quantile), relative slope error (median), share warned, rounds")
    table = Table(
        *(("family", "<9"), ("n", ">7"), ("censored", ">8.0%"), ("B10", ">6.3f"), ("80 %", ">6.3f")),
        *(("slopes", ">6.3f"), ("warned", ">6.0%"), ("rounds", ">6.1f")),
    )
    for family, n, share in itertools.product((SEV, LOGISTIC, NORMAL), sizes.rows, sizes.shares):
        found = np.array([_errors(family, n, share, seed) for seed in range(sizes.seeds)])
        miss, slopes, warned, rounds = found.T
        errors = np.median(miss), np.quantile(miss, 0.8), np.median(slopes)
        table.row(family.name, n, share, *errors, warned.mean(), rounds.mean())
    n = max(sizes.rows)
    print(f"\ncoverage of 90 % intervals, n = {n}, 80 % censored, {sizes.coverage_runs} runs")
    names = *(f"slope {j}" for j in range(D)), "scale", "B10"
    table = Table(("bootstrap", "<11"), *across(names, ">7.3f"))
    covered = [_covers(n, seed) for seed in range(sizes.coverage_runs)]
    for name, part in zip(("pivotal", "percentile"), np.mean(covered, axis=0), strict=True):
        table.row(name, *part)


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


def _fit(
    family: ErrorDistribution, n: int, censored: float, seed: int
) -> tuple[CensoredRelease, NDArray[np.float64]]:
    X, time, event, coef = _fleet(family, n, censored, seed)
    neighbours = Neighbours(weights=moment_weights(D, "laplace", None))
    plan = plan_censored(GRID, family, FitBudget.of(1, 0, "laplace"), neighbours, n_rows=n)
    return fit_censored(plan, X, time, event, 1000 + seed), coef


def _errors(family: ErrorDistribution, n: int, censored: float, seed: int) -> tuple[float, float, bool, int]:
    release, coef = _fit(family, n, censored, seed)
    slopes, intercept, scale = unscale(release.fit, GRID)
    q = float(family.quantile(0.1))
    miss = abs(intercept + scale * q - SIGMA * q) / SIGMA
    warned = censored_warning(release, family) is not None
    return miss, float(np.linalg.norm(slopes - coef)), warned, len(release.rounds)


def _covers(n: int, seed: int) -> list[NDArray[np.bool_]]:
    release, coef = _fit(SEV, n, 0.8, seed)
    q = float(SEV.quantile(0.1))
    slopes, intercept, scale = unscale(release.fit, GRID)
    all_slopes, intercepts, scales = unscale(bootstrap_censored(release), GRID)
    estimate = np.array([*slopes, np.log(scale), intercept + q * scale])
    replicates = np.column_stack([all_slopes, np.log(scales), intercepts + q * scales])
    truth = np.array([*coef, np.log(SIGMA), q * SIGMA])
    low, high = np.quantile(replicates, [0.05, 0.95], axis=0)
    pivotal = (2 * estimate - high <= truth) & (truth <= 2 * estimate - low)
    return [pivotal, (low <= truth) & (truth <= high)]


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
