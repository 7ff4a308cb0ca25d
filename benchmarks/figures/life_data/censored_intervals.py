# SPDX-License-Identifier: BSD-3-Clause
"""Coverage of 90 % intervals of censored fits at n = 1e5, over a grid of designs, and how often a fit warns.

Cells: three distributions, kinds of columns, shares of censoring, tight bounds and bounds ten times as wide,
two epsilons; the usual columns, then others. Nothing was tuned on tables of these seeds. N_JOBS processes
work at it.
"""

import warnings
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skprivate import DPLogLocationScaleRegressor
from skprivate.datasets._simulations import _errors
from skprivate.exceptions import UtilityWarning

from ..._tables import Table, across
from ..._utility.parallel import in_parallel
from ._checks import fit_warns, holds
from ._observed import ERRORS, structured

FloatArray = NDArray[np.float64]

SIGMA = 0.5
N_ROWS = 5  # drawn rows at which the B10 life is predicted
FIRST_SEED = 1000
QUANTITIES = ("B10", "rows", "median", "scale", "slopes")
SIZES_OF_ERRORS = ("error", "scale error", "slope error")
#: Kinds of columns.
COLUMNS = {
    "usual columns": ("normal", "binary", "one-hot", "skewed"),
    "other columns": ("mixed", "levels", "rare", "collinear", "one"),
}


@dataclass(frozen=True)
class Sizes:
    """Rows of a table, and what is varied."""

    rows: int = 100_000
    distributions: tuple[str, ...] = tuple(ERRORS)
    censored: tuple[float, ...] = (0.0, 0.3, 0.8, 0.95)
    bounds: tuple[str, ...] = ("tight", "wide")
    epsilons: tuple[float, ...] = (1.0, 4.0)


SIZES = {False: Sizes(), True: Sizes(3_000, ("weibull",), (0.3,), ("tight",), (4.0,))}


def run(seeds: int = 20, *, small: bool = False) -> None:
    """Print one line for each cell, means, and the worst cells, of usual columns and of others."""
    sizes, seeds = SIZES[small], 2 if small else seeds
    for kind, columns in COLUMNS.items():
        cells = product(sizes.distributions, columns, sizes.censored, sizes.bounds, sizes.epsilons)
        tasks = [
            (Cell(*cell), seed, sizes.rows)
            for cell in cells
            for seed in range(FIRST_SEED, FIRST_SEED + seeds)
        ]
        print(kind)
        with warnings.catch_warnings():
            # Of fits they are counted; predictions repeat them.
            warnings.simplefilter("ignore", UtilityWarning)
            found = in_parallel(_measure, tasks)
        _print(pd.DataFrame(found))


@dataclass(frozen=True)
class Cell:
    """One design."""

    distribution: str
    columns: str
    censored: float
    bounds: str
    epsilon: float

    @property
    def name(self) -> str:
        """As it is printed."""
        return f"{self.distribution}/{self.columns}/{self.censored:g}/{self.bounds}/{self.epsilon:g}"


@dataclass(frozen=True, eq=False)
class Columns:
    """Features, their slopes (NaN where they are no parameters), and tight bounds."""

    X: FloatArray
    coef: FloatArray
    lower: FloatArray
    upper: FloatArray


def _columns(kind: str, n: int, rng: np.random.Generator) -> Columns:
    if kind in ("one-hot", "levels"):
        level, effects = rng.choice(4, n, p=[0.4, 0.3, 0.2, 0.1]), [0.0, -0.5, 0.4, 0.8]
        first = 1 if kind == "one-hot" else 0
        return _bounded([level == k for k in range(first, 4)], effects[first:], 0, 1)
    if kind == "mixed":
        parts = [rng.random(n) < 0.5, rng.random(n) < 1 / 3, *_normal(rng, n, 1), rng.uniform(-1, 1, n)]
        return _bounded(parts, [-0.8, 0.5, 0.4, 0.3], [0, 0, -3, -1], [1, 1, 3, 1])
    if kind in ("binary", "rare"):
        shares = (0.5, 1 / 3) if kind == "binary" else (0.02, 0.5)
        return _bounded([rng.random(n) < share for share in shares], [-0.8, 0.5], 0, 1)
    if kind == "skewed":
        return _bounded(np.minimum(rng.exponential(size=(3, n)), 8.0), [0.3, -0.2, 0.1], 0, 8)
    if kind == "collinear":
        (one,) = _normal(rng, n, 1)
        parts = [one, np.clip(one + 0.1 * rng.standard_normal(n), -3, 3), rng.uniform(-3, 3, n)]
        return _bounded(parts, [0.3, 0.3, -0.3], -3, 3)
    coef = rng.standard_normal(1 if kind == "one" else 5)
    return _bounded(_normal(rng, n, len(coef)), coef / np.linalg.norm(coef), -3, 3)


def _normal(rng: np.random.Generator, n: int, d: int) -> FloatArray:
    return np.clip(rng.standard_normal((n, d)), -3, 3).T


def _bounded(parts: Any, coef: Any, lower: Any, upper: Any) -> Columns:
    X = np.column_stack(list(parts)).astype(np.float64)
    ends = (np.broadcast_to(np.array(end, float), X.shape[1]) for end in (lower, upper))
    return Columns(X, np.array(coef, float), *ends)


def _measure(cell: Cell, seed: int, n: int) -> dict[str, Any]:
    """Whether a fit warned, what its intervals held, and errors of the B10 life, the scale and the slopes."""
    rng = np.random.default_rng([seed, 20261122])
    columns = _columns(cell.columns, n, rng)
    X = columns.X
    life = 1.0 + X @ columns.coef + SIGMA * _errors(ERRORS[cell.distribution], n, rng)
    # One moment for all, or entries over some time for odd seeds.
    entry = rng.uniform(-1.5, 1.5, n) if seed % 2 else np.zeros(n)
    end = entry + np.quantile(life - entry, 1 - cell.censored) if cell.censored else np.full(n, np.inf)
    y = structured(event=life <= end, time=np.exp(np.minimum(life, end)))
    middle, half = (columns.lower + columns.upper) / 2, (columns.upper - columns.lower) / 2
    reach = 10.0 if cell.bounds == "wide" else 1.0
    fit = DPLogLocationScaleRegressor(
        distribution=cell.distribution,
        epsilon=cell.epsilon,
        bounds_X=(middle - reach * half, middle + reach * half),
        bounds_y=(np.exp(1 - 5) / reach, np.exp(1 + 5) * reach),
        random_state=1000 + seed,
    )
    warned = fit_warns(fit, X, y)
    points = np.vstack([X.mean(axis=0), X[rng.integers(n, size=N_ROWS)]])
    low, middle_level = (float(fit.error_distribution_.quantile(level)) for level in (0.1, 0.5))
    location = 1.0 + points @ columns.coef
    b10, ends = fit.predict_quantile(points, 0.1, return_interval=True)
    held = [holds(two, np.exp(value)) for two, value in zip(ends, location + SIGMA * low, strict=True)]
    median = fit.predict_quantile(points[:1], 0.5, return_interval=True)[1][0]
    lower, upper = fit.coef_interval_.T
    # Slopes of all levels of a category are no parameters: the intercept takes what they share.
    alone = cell.columns != "levels"
    return {
        "cell": cell.name,
        "seed": seed,
        "warned": warned,
        "B10": held[0],
        "rows": float(np.mean(held[1:])),
        "median": holds(median, np.exp(location[0] + SIGMA * middle_level)),
        "scale": holds(fit.scale_interval_, SIGMA),
        "slopes": float(np.mean((lower <= columns.coef) & (columns.coef <= upper))) if alone else np.nan,
        "error": abs(float(np.log(max(b10[0], 1e-300)) - location[0] - SIGMA * low)) / SIGMA,
        "scale error": abs(float(fit.scale_ / SIGMA - 1)),
        "slope error": float(np.linalg.norm(fit.coef_ - columns.coef)) if alone else np.nan,
    }


def _print(found: pd.DataFrame) -> None:
    """Print shares of intervals that hold and errors by cell, and means over cells."""
    print("Shares of 90 % intervals that hold, in fits that did not warn; median errors of all fits: of the")
    print("B10 life at the features' means in scales, relative of the scale, of the slopes.")
    table = Table(
        *(("cell", "<36"), ("runs", ">4"), ("warned", ">6.0%"), *across(QUANTITIES, ">6.2f")),
        *across(("B10", "scale", "slopes"), ">7.4f"),
    )
    silent = found[~found.warned].groupby("cell")
    shares, quiet_fits = silent[list(QUANTITIES)].mean(), silent.size()
    for cell, runs in found.groupby("cell", sort=False):
        held = shares.loc[cell] if cell in shares.index else [None] * len(QUANTITIES)
        table.row(cell, len(runs), runs.warned.mean(), *held, *runs[list(SIZES_OF_ERRORS)].median())
    usual = shares[quiet_fits >= 10]
    print(f"\nmean over {len(usual)} cells of at least 10 fits that did not warn")
    for quantity in QUANTITIES:
        known = usual[quantity].dropna().sort_values()
        listed = ", ".join(f"{cell} {share:.2f}" for cell, share in known[:5].items())
        print(f"{quantity:<7} {known.mean():.3f}; below .8: {sum(known < 0.8)}; least: {listed}")
    print(f"warned: {found.warned.mean():.1%} of all fits")
