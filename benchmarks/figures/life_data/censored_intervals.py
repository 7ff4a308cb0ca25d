# SPDX-License-Identifier: BSD-3-Clause
"""Coverage of 90 % intervals of censored fits at n = 1e5, over a grid of designs, and how often a fit warns.

Cells: three distributions, kinds of columns, shares of censoring, tight bounds and bounds ten times as wide,
two epsilons. ``python -m benchmarks.figures.life_data.censored_intervals --help`` has the options: which
cells, runs a cell, processes, and a file of one JSON line a run, which several calls may add to; ``--read``
prints the tables of such files.
"""

import argparse
import itertools
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from numpy.typing import NDArray

from skprivate import DPLogLocationScaleRegressor
from skprivate.datasets._simulations import _errors

from ..._tables import Table, across
from ._checks import fit_warns, holds

FloatArray = NDArray[np.float64]

N = 100_000
SIGMA = 0.5
N_ROWS = 5  # drawn rows at which the B10 life is predicted
DISTRIBUTIONS = {"weibull": "sev", "loglogistic": "logistic", "lognormal": "normal"}
SHARES = (0.0, 0.3, 0.8, 0.95)
COLUMNS = ("normal", "binary", "one-hot", "skewed")
OTHERS = ("mixed", "levels", "rare", "collinear", "one")
BOUNDS = ("tight", "wide")
EPSILONS = (1.0, 4.0)
QUANTITIES = ("B10", "rows", "median", "scale", "slopes")


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
        """As ``--cells`` takes it."""
        return f"{self.distribution}/{self.columns}/{self.censored:g}/{self.bounds}/{self.epsilon:g}"


@dataclass(frozen=True, eq=False)
class Columns:
    """Features, their slopes (NaN where they are no parameters), and tight bounds."""

    X: FloatArray
    coef: FloatArray
    lower: FloatArray
    upper: FloatArray


def run(arguments: Sequence[str] = ()) -> None:
    """Run cells, and print one line for each, means, and the worst cells."""
    options = _parser().parse_args(arguments)
    if options.read:
        lines = itertools.chain.from_iterable(path.read_text().splitlines() for path in options.read)
        found = [json.loads(line) for line in lines]
    else:
        found = list(_measured(options))
    _print(found)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--cells", default="*", help="pattern, such as 'lognormal/*/0.3/tight/*'; commas between"
    )
    parser.add_argument("--columns", default="usual", choices=("usual", "others", "all"))
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--first", type=int, default=0, help="number of the first run, which seeds its table")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--save", type=Path, help="file to which one JSON line a run is added")
    parser.add_argument("--read", type=Path, nargs="+", help="files of such lines, to be printed")
    return parser


def _measured(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    kinds = {"usual": COLUMNS, "others": OTHERS, "all": COLUMNS + OTHERS}[options.columns]
    cells = [Cell(*parts) for parts in itertools.product(DISTRIBUTIONS, kinds, SHARES, BOUNDS, EPSILONS)]
    patterns = options.cells.split(",")
    cells = [cell for cell in cells if any(fnmatch(cell.name, pattern) for pattern in patterns)]
    seeds = range(options.first, options.first + options.runs)
    tasks = (joblib.delayed(_measure)(cell, seed) for cell in cells for seed in seeds)
    for one in joblib.Parallel(n_jobs=options.jobs, return_as="generator")(tasks):
        if options.save:
            with options.save.open("a", encoding="utf-8") as file:
                file.write(json.dumps(one) + "\n")
        yield one


def _columns(kind: str, rng: np.random.Generator) -> Columns:
    if kind in ("one-hot", "levels"):
        level = rng.choice(4, N, p=[0.4, 0.3, 0.2, 0.1])
        effects = [0.0, -0.5, 0.4, 0.8]
        if kind == "one-hot":
            return _bounded([level == k for k in (1, 2, 3)], effects[1:], 0, 1)
        return _bounded([level == k for k in range(4)], effects, 0, 1)
    if kind == "mixed":
        parts = [rng.random(N) < 0.5, rng.random(N) < 1 / 3, _normal(rng, 1)[:, 0], rng.uniform(-1, 1, N)]
        return _bounded(parts, [-0.8, 0.5, 0.4, 0.3], [0, 0, -3, -1], [1, 1, 3, 1])
    if kind == "binary":
        return _bounded([rng.random(N) < share for share in (0.5, 1 / 3)], [-0.8, 0.5], 0, 1)
    if kind == "rare":
        return _bounded([rng.random(N) < share for share in (0.02, 0.5)], [-0.8, 0.5], 0, 1)
    if kind == "skewed":
        return _bounded(list(np.minimum(rng.exponential(size=(3, N)), 8.0)), [0.3, -0.2, 0.1], 0, 8)
    if kind == "collinear":
        one = _normal(rng, 1)[:, 0]
        parts = [one, np.clip(one + 0.1 * rng.standard_normal(N), -3, 3), rng.uniform(-3, 3, N)]
        return _bounded(parts, [0.3, 0.3, -0.3], -3, 3)
    coef = rng.standard_normal(1 if kind == "one" else 5)
    return _bounded(list(_normal(rng, len(coef)).T), coef / np.linalg.norm(coef), -3, 3)


def _normal(rng: np.random.Generator, d: int) -> FloatArray:
    return np.clip(rng.standard_normal((N, d)), -3, 3)


def _bounded(parts: list[NDArray[Any]], coef: Any, lower: Any, upper: Any) -> Columns:
    X = np.column_stack(parts).astype(np.float64)
    ends = (np.broadcast_to(np.array(end, float), X.shape[1]) for end in (lower, upper))
    return Columns(X, np.array(coef, float), *ends)


def _measure(cell: Cell, seed: int) -> dict[str, Any]:
    """Whether a fit warned, what its intervals held, and errors of the B10 life, the scale and the slopes."""
    rng = np.random.default_rng([seed, 20261122])
    columns = _columns(cell.columns, rng)
    X = columns.X
    life = 1.0 + X @ columns.coef + SIGMA * _errors(DISTRIBUTIONS[cell.distribution], N, rng)
    # One moment for all, or entries over some time for odd seeds.
    entry = rng.uniform(-1.5, 1.5, N) if seed % 2 else np.zeros(N)
    end = entry + np.quantile(life - entry, 1 - cell.censored) if cell.censored else np.full(N, np.inf)
    y = np.empty(N, dtype=[("event", bool), ("time", float)])
    y["event"], y["time"] = life <= end, np.exp(np.minimum(life, end))
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
    points = np.vstack([X.mean(axis=0), X[rng.integers(N, size=N_ROWS)]])
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
        "slopes": float(np.mean((lower <= columns.coef) & (columns.coef <= upper))) if alone else None,
        "error": float(np.log(max(b10[0], 1e-300)) - location[0] - SIGMA * low) / SIGMA,
        "scale error": float(fit.scale_ / SIGMA - 1),
        "slope error": float(np.linalg.norm(fit.coef_ - columns.coef)) if alone else None,
    }


def _print(found: list[dict[str, Any]]) -> None:
    names = list(dict.fromkeys(one["cell"] for one in found))
    print(
        "Shares of 90 % intervals that hold, in fits that did not warn; median errors of all fits: of the B10"
    )
    print("life at the features' means in scales, relative of the scale, of the slopes.")
    errors = ("error", "scale error", "slope error")
    table = Table(
        *(("cell", "<36"), ("runs", ">4"), ("warned", ">6.0%"), *across(QUANTITIES, ">6.2f")),
        *across(("B10", "scale", "slopes"), ">7.4f"),
    )
    silent_cells = {}
    for name in names:
        runs = [one for one in found if one["cell"] == name]
        silent = [one for one in runs if not one["warned"]]
        shares = [_mean(silent, quantity) for quantity in QUANTITIES]
        if silent:
            silent_cells[name] = len(silent), dict(zip(QUANTITIES, shares, strict=True))
        sizes = [_median(runs, error) for error in errors]
        table.row(name, len(runs), 1 - len(silent) / len(runs), *shares, *sizes)
    _print_summary(silent_cells, found)


def _print_summary(cells: dict[str, tuple[int, dict[str, Any]]], found: list[dict[str, Any]]) -> None:
    usual = {name: shares for name, (n, shares) in cells.items() if n >= 10}
    print(f"\nmean over {len(usual)} cells of at least 10 fits that did not warn")
    for quantity in QUANTITIES:
        known = {name: shares[quantity] for name, shares in usual.items() if shares[quantity] is not None}
        if known:
            worst = sorted(known, key=lambda name: known[name])[:5]
            listed = ", ".join(f"{name} {known[name]:.2f}" for name in worst)
            below = sum(share < 0.8 for share in known.values())
            print(f"{quantity:<7} {np.mean(list(known.values())):.3f}; below .8: {below}; least: {listed}")
    print(f"warned: {np.mean([one['warned'] for one in found]):.1%} of all fits")


def _mean(runs: list[dict[str, Any]], key: str) -> float | None:
    known = [one[key] for one in runs if one[key] is not None]
    return float(np.mean(known)) if known else None


def _median(runs: list[dict[str, Any]], key: str) -> float | None:
    known = [abs(one[key]) for one in runs if one[key] is not None]
    return float(np.median(known)) if known else None


if __name__ == "__main__":
    run(sys.argv[1:])
