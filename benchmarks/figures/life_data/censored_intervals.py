# SPDX-License-Identifier: BSD-3-Clause
"""Coverage of 90 % intervals of censored fits at n = 1e5 and epsilon 1, and how often a fit warns.

Three distributions, kinds of columns, shares of censoring, and bounds that are tight or wide.
SKPRIVATE_BENCH_COVERAGE tables a cell (default 20), SKPRIVATE_BENCH_COLUMNS names the kinds of
columns, or is "all".
"""

import itertools
import os
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skprivate import DPLogLocationScaleRegressor
from skprivate.datasets._location_scale import _errors

from ..._tables import Table, across
from ._checks import fit_warns, holds

FloatArray = NDArray[np.float64]

N = 100_000
SIGMA = 0.5
DISTRIBUTIONS = {"weibull": "sev", "loglogistic": "logistic", "lognormal": "normal"}
SHARES = (0.0, 0.3, 0.8)
RUNS = int(os.environ.get("SKPRIVATE_BENCH_COVERAGE", "20"))
USUAL = ("mixed", "one-hot", "normal")
OTHERS = ("coin", "one in three", "rare", "skewed", "collinear")


@dataclass(frozen=True, eq=False)
class Columns:
    """Features, their slopes, and tight bounds."""

    X: FloatArray
    coef: FloatArray
    lower: FloatArray
    upper: FloatArray


def run() -> None:
    """Print one line a cell."""
    chosen = os.environ.get("SKPRIVATE_BENCH_COLUMNS", ",".join(USUAL))
    kinds = USUAL + OTHERS if chosen == "all" else tuple(chosen.split(","))
    print(f"{RUNS} tables a cell; shares of 90 % intervals that hold: all fits, then fits that did not warn")
    parts = across(("B10", "scale", "slopes"), ">6.2f")
    table = Table(
        *(
            ("distribution", "<12"),
            ("columns", "<12"),
            ("censored", ">8.0%"),
            ("bounds", "<6"),
            ("warned", ">6.0%"),
        ),
        *(*parts, ("", "<1"), *parts, ("error", ">7.4f")),
    )
    for distribution, kind, share, wide in itertools.product(DISTRIBUTIONS, kinds, SHARES, (False, True)):
        found = np.array([_table(distribution, kind, share, wide, seed) for seed in range(RUNS)])
        silent = found[found[:, 0] == 0, 1:4]
        held = silent.mean(axis=0) if len(silent) else np.full(3, np.nan)
        warned, *shares = found[:, :4].mean(axis=0)
        error = np.median(np.abs(found[:, 4]))
        table.row(distribution, kind, share, "wide" if wide else "tight", warned, *shares, "|", *held, error)


def _columns(kind: str, rng: np.random.Generator) -> Columns:
    flags = {"coin": (0.5,), "one in three": (1 / 3,), "rare": (0.02, 0.5)}
    if kind == "mixed":
        parts = [rng.random(N) < 0.5, rng.random(N) < 1 / 3, _normal(rng, 1)[:, 0], rng.uniform(-1, 1, N)]
        return _bounded(parts, [-0.8, 0.5, 0.4, 0.3], [0, 0, -3, -1], [1, 1, 3, 1])
    if kind == "one-hot":
        level = rng.choice(4, N, p=[0.4, 0.3, 0.2, 0.1])
        return _bounded([level == k for k in (1, 2, 3)], [-0.5, 0.4, 0.8], [0] * 3, [1] * 3)
    if kind in flags:
        parts = [rng.random(N) < share for share in flags[kind]]
        return _bounded(parts, [-0.8, 0.5][: len(parts)], [0] * len(parts), [1] * len(parts))
    if kind == "skewed":
        parts = list(np.minimum(rng.exponential(size=(3, N)), 8.0))
        return _bounded(parts, [0.3, -0.2, 0.1], [0] * 3, [8] * 3)
    if kind == "collinear":
        one = _normal(rng, 1)[:, 0]
        parts = [one, np.clip(one + 0.1 * rng.standard_normal(N), -3, 3), rng.uniform(-3, 3, N)]
        return _bounded(parts, [0.3, 0.3, -0.3], [-3] * 3, [3] * 3)
    coef = rng.standard_normal(5)
    return _bounded(list(_normal(rng, 5).T), coef / np.linalg.norm(coef), [-3] * 5, [3] * 5)


def _normal(rng: np.random.Generator, d: int) -> FloatArray:
    return np.clip(rng.standard_normal((N, d)), -3, 3)


def _bounded(parts: list[NDArray], coef: object, lower: list[int], upper: list[int]) -> Columns:
    X = np.column_stack(parts).astype(np.float64)
    return Columns(X, np.array(coef, float), np.array(lower, float), np.array(upper, float))


def _table(distribution: str, kind: str, share: float, wide: bool, seed: int) -> list[float]:
    """Whether the fit warned, what its intervals held, and the error of log B10 at the means."""
    rng = np.random.default_rng([seed, 20261122])
    columns = _columns(kind, rng)
    life = 1.0 + columns.X @ columns.coef + SIGMA * _errors(DISTRIBUTIONS[distribution], N, rng)
    # One moment for all, or entries over some time for odd seeds.
    entry = rng.uniform(-1.5, 1.5, N) if seed % 2 else np.zeros(N)
    end = entry + np.quantile(life - entry, 1 - share) if share else np.full(N, np.inf)
    y = np.empty(N, dtype=[("event", bool), ("time", float)])
    y["event"], y["time"] = life <= end, np.exp(np.minimum(life, end))
    middle, half = (columns.lower + columns.upper) / 2, (columns.upper - columns.lower) / 2
    reach = 3.0 if wide else 1.0
    fit = DPLogLocationScaleRegressor(
        distribution=distribution,
        epsilon=1.0,
        bounds_X=(middle - reach * half, middle + reach * half),
        bounds_y=(np.exp(1 - 5 * (1 + wide)), np.exp(1 + 5 * (1 + wide))),
        random_state=1000 + seed,
    )
    warned = fit_warns(fit, columns.X, y)
    center = columns.X.mean(axis=0, keepdims=True)
    truth = 1.0 + float(center[0] @ columns.coef) + SIGMA * float(fit.error_distribution_.quantile(0.1))
    b10, ends = fit.predict_quantile(center, 0.1, return_interval=True)
    low, high = fit.coef_interval_.T
    held = holds(ends[0], np.exp(truth)), holds(fit.scale_interval_, SIGMA)
    slopes = np.mean((low <= columns.coef) & (columns.coef <= high))
    return [warned, *held, slopes, np.log(max(float(b10[0]), 1e-300)) - truth]
