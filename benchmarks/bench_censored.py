# SPDX-License-Identifier: BSD-3-Clause
"""Censored fits, d = 5, sigma = 0.5: errors at epsilon 1, warnings, and how often intervals cover."""

import os

import numpy as np
from numpy.typing import NDArray

from skprivate.linear_model._censored.fit import fit_censored, plan_censored
from skprivate.linear_model._censored.release import CensoredRelease, bootstrap_censored, censored_warning
from skprivate.linear_model._distributions import LOGISTIC, NORMAL, SEV, ErrorDistribution
from skprivate.linear_model._moments.grid import MomentGrid
from skprivate.linear_model._moments.noise_scale import FitBudget
from skprivate.linear_model._moments.release import Neighbours
from skprivate.linear_model._moments.solve import unscale
from skprivate.linear_model._moments.weights import moment_weights

D = 5
SIGMA = 0.5
GRID = MomentGrid(lower=np.full(D, -4.0), upper=np.full(D, 4.0), target=(-5.0, 5.0), exponent=20)
SHARES = (0.3, 0.8, 0.95, 0.99)
SIZES = (100_000, 1_000_000)
SEEDS = int(os.environ.get("SKPRIVATE_BENCH_SEEDS", "10"))
COVERAGE_RUNS = int(os.environ.get("SKPRIVATE_BENCH_COVERAGE", "200"))

Table = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_], NDArray[np.float64]]


def run() -> None:
    """Print the tables."""
    print("B10 error / sigma (median, 80 % quantile), relative slope error (median), share warned, rounds")
    jobs = [
        (distribution, n, share)
        for distribution in (SEV, LOGISTIC, NORMAL)
        for n in SIZES
        for share in SHARES
    ]
    for distribution, n, share in jobs:
        found = np.array([_errors(distribution, n, share, seed) for seed in range(SEEDS)])
        miss, slopes, warned, rounds = found.T
        print(
            f"{distribution.name:9} n = {n:<8} {share:4.0%} censored: {np.median(miss):6.3f} "
            f"{np.quantile(miss, 0.8):7.3f}   {np.median(slopes):.3f}   {warned.mean():4.0%}   "
            f"{rounds.mean():.1f}",
            flush=True,
        )
    print(f"\ncoverage of 90 % intervals, n = 1e6, 80 % censored, {COVERAGE_RUNS} runs: slopes, scale, B10")
    covered = [_covers(seed) for seed in range(COVERAGE_RUNS)]
    for name, part in zip(("pivotal", "percentile"), np.mean(covered, axis=0), strict=True):
        print(f"{name:11}", *(f"{share:.3f}" for share in part))


def _fleet(distribution: ErrorDistribution, n: int, censored: float, seed: int) -> Table:
    """Features, log times, events, slopes of norm 1; one end of all times, random ones for odd seeds."""
    rng = np.random.default_rng(seed)
    X = np.clip(rng.standard_normal((n, D)), -4, 4)
    coef = rng.standard_normal(D)
    coef /= np.linalg.norm(coef)
    y = X @ coef + SIGMA * distribution.quantile(rng.uniform(size=n))
    offset = rng.uniform(-1.5, 1.5, n) if seed % 2 else np.zeros(n)
    end = offset + np.quantile(y - offset, 1 - censored)
    return X, np.minimum(y, end), y <= end, coef


def _fit(
    distribution: ErrorDistribution, n: int, censored: float, seed: int
) -> tuple[CensoredRelease, NDArray[np.float64]]:
    X, time, event, coef = _fleet(distribution, n, censored, seed)
    neighbours = Neighbours(weights=moment_weights(D, "laplace", None))
    plan = plan_censored(GRID, distribution, FitBudget.of(1, 0, "laplace"), neighbours, n_rows=n)
    return fit_censored(plan, X, time, event, 1000 + seed), coef


def _errors(
    distribution: ErrorDistribution, n: int, censored: float, seed: int
) -> tuple[float, float, bool, int]:
    release, coef = _fit(distribution, n, censored, seed)
    slopes, intercept, scale = unscale(release.fit, GRID)
    q = float(distribution.quantile(0.1))
    miss = abs(intercept + scale * q - SIGMA * q) / SIGMA
    warned = censored_warning(release, distribution) is not None
    return miss, float(np.linalg.norm(slopes - coef)), warned, len(release.rounds)


def _covers(seed: int) -> list[NDArray[np.bool_]]:
    release, coef = _fit(SEV, 1_000_000, 0.8, seed)
    q = float(SEV.quantile(0.1))
    slopes, intercept, scale = unscale(release.fit, GRID)
    all_slopes, intercepts, scales = unscale(bootstrap_censored(release), GRID)
    estimate = np.array([*slopes, np.log(scale), intercept + q * scale])
    replicates = np.column_stack([all_slopes, np.log(scales), intercepts + q * scales])
    truth = np.array([*coef, np.log(SIGMA), q * SIGMA])
    low, high = np.quantile(replicates, [0.05, 0.95], axis=0)
    pivotal = (2 * estimate - high <= truth) & (truth <= 2 * estimate - low)
    return [pivotal, (low <= truth) & (truth <= high)]
