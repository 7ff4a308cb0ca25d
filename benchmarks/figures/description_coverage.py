# SPDX-License-Identifier: BSD-3-Clause
"""Coverage of the intervals of a private description, and how wide they are.

``python -m benchmarks.figures.description_coverage [runs [rows ...]]``: every run draws rows from a
population whose values are known, and describes them. Coverage is at the nominal 90 %; the width is a share
of what is possible. Populations: normal and lognormal numbers, a level of 1 %, a constant, one of two values,
5 and 60 % missing cells, bounds ten times too wide, and durations of which half are censored.
"""

import math
import warnings
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from scipy.stats import lognorm, norm

from skprivate import private_describe
from skprivate.domain import TableDomain
from skprivate.evaluation import TableDescription

from .._tables import Table

EPSILONS = (0.1, 0.5, 1.0)
ROWS = (500, 5_000, 50_000)
LEVELS = ("common", "usual", "rare")
SHARES = (0.7, 0.29, 0.01)
QUANTILES = (0.25, 0.5, 0.75)
CONSTANT = 3.3
BOUNDS: Mapping[str, tuple[float, float]] = {
    "normal": (-4.0, 4.0),
    "skewed": (0.0, 20.0),
    "constant": (0.0, 10.0),
    "two values": (0.0, 1.0),
    "5 % missing": (-4.0, 4.0),
    "60 % missing": (-4.0, 4.0),
    "wide bounds": (-40.0, 40.0),
}
DOMAIN = TableDomain(dict(BOUNDS), missing="fill")
LEVELS_DOMAIN = TableDomain({"level": list(LEVELS), "flag": bool, "age": (0.0, 1.0)})
LIFE_DOMAIN = TableDomain({"time": (0.0, 2.0), "event": bool})


def draw_numbers(n: int, rng: np.random.Generator) -> dict[str, Any]:
    """Return columns of numbers."""
    table = {name: rng.normal(size=n) for name in BOUNDS}
    table["skewed"] = rng.lognormal(size=n)
    table["constant"] = np.full(n, CONSTANT)
    table["two values"] = (rng.uniform(size=n) < 0.2).astype(float)
    for name, share in (("5 % missing", 0.05), ("60 % missing", 0.6)):
        table[name] = np.where(rng.uniform(size=n) < share, np.nan, table[name])
    return table


def moments_of(name: str) -> tuple[float, float]:
    """Return the population's mean and standard deviation, of values clipped to the bounds."""
    if name == "constant":
        return CONSTANT, 0.0
    if name == "two values":
        return 0.2, 0.4
    low, high = BOUNDS[name]
    law = lognorm(1.0) if name == "skewed" else norm()
    grid = np.linspace(low, high, 400_001)
    tail = law.sf(grid)
    step = grid[1] - grid[0]
    # E[X] = low + the integral of the survival function, and likewise of the square about low.
    first = float(np.trapezoid(tail, dx=step))
    second = float(np.trapezoid(2 * (grid - low) * tail, dx=step))
    return low + first, math.sqrt(second - first**2)


def quantiles_of(name: str) -> list[float]:
    """Return the population's quantiles."""
    if name in ("constant", "two values"):
        return [CONSTANT if name == "constant" else 0.0] * len(QUANTILES)
    return (lognorm(1.0) if name == "skewed" else norm()).ppf(QUANTILES).tolist()


def missing_of(name: str) -> float:
    """Return the population's share of missing cells."""
    return {"5 % missing": 0.05, "60 % missing": 0.6}.get(name, 0.0)


TRUTH = {name: (*moments_of(name), quantiles_of(name), missing_of(name)) for name in BOUNDS}


def numbers(n: int, epsilon: float, rng: np.random.Generator) -> Iterator[tuple[str, str, Any, float, float]]:
    """Yield population, statistic, estimate, truth and range, of columns of numbers."""
    table, options = draw_numbers(n, rng), {"epsilon": epsilon, "quantiles": QUANTILES}
    # Where all seven together are refused, one column at a time.
    alone = n * epsilon < 100
    told = {} if alone else private_describe(table, DOMAIN, **options).columns
    for name, (low, high) in BOUNDS.items():
        mean, std, quantiles, missing = TRUTH[name]
        column = (private_describe(table, DOMAIN, columns=[name], **options).columns if alone else told)[name]
        yield name, "mean", column.mean, mean, high - low
        yield name, "std", column.std, std, (high - low) / 2
        for level, value in zip(QUANTILES, quantiles, strict=True):
            yield name, "quantile", column.quantiles[level], value, high - low
        yield name, "missing", column.missing, missing, 1.0


def shares(n: int, epsilon: float, rng: np.random.Generator) -> Iterator[tuple[str, str, Any, float, float]]:
    """Yield the same of levels and a crosstab."""
    table = {
        "level": rng.choice(LEVELS, size=n, p=SHARES),
        "flag": rng.uniform(size=n) < 0.4,
        "age": rng.uniform(size=n),
    }
    told: TableDescription = private_describe(
        table,
        LEVELS_DOMAIN,
        epsilon,
        columns=["level", "flag"],
        crosstabs=[("level", "flag"), ("age", "flag")],
    )
    for level, share in zip(LEVELS, SHARES, strict=True):
        yield f"level of {share:.0%}", "share", told.columns["level"].levels[level], share, 1.0
    yield "flag", "share", told.columns["flag"].levels["true"], 0.4, 1.0
    pairs = told.crosstab("level", "flag")
    for row, share in zip((0, 2), (0.7, 0.01), strict=True):
        yield f"crosstab, {share:.0%}", "share", pairs.shares[row][1], share * 0.4, 1.0
        yield f"crosstab, {share:.0%}", "row share", pairs.row_shares[row][1], 0.4, 1.0
    yield "crosstab, ages", "row share", told.crosstab("age", "flag").row_shares[1][1], 0.4, 1.0


def life(n: int, epsilon: float, rng: np.random.Generator) -> Iterator[tuple[str, str, Any, float, float]]:
    """Yield the same of a curve of survival."""
    times, ends = rng.exponential(size=n), rng.uniform(0.0, 2.5, size=n)
    table = {"time": np.minimum(times, ends), "event": times <= ends}
    curve = private_describe(table, LIFE_DOMAIN, epsilon, columns=[], survival=("time", "event")).survival
    if curve is None:
        raise RuntimeError("survival was asked for.")
    for share in (0.25, 0.5, 1.0):
        place = max(round(share * len(curve.times)) - 1, 0)
        yield "survival", f"at {2 * share:g}", curve.curves[""][place], math.exp(-curve.times[place]), 1.0


def run(arguments: Sequence[str] = ()) -> None:
    """Print coverage and width for every population, statistic, number of rows and epsilon."""
    runs = int(arguments[0]) if arguments else 300
    sizes = [int(rows) for rows in arguments[1:]] or ROWS
    table = Table(
        ("rows", ">6d"),
        ("epsilon", ">7g"),
        ("population", "<14"),
        ("statistic", "<9"),
        ("coverage", ">8.3f"),
        ("width", ">7.4f"),
        ("told", ">6.2f"),
    )
    warnings.simplefilter("ignore")
    least = 1.0
    for n in sizes:
        for epsilon in EPSILONS:
            found: dict[tuple[str, str], list[tuple[bool, float, bool]]] = defaultdict(list)
            rng = np.random.default_rng(7)
            for make in (numbers, shares, life):
                for _ in range(runs):
                    for name, statistic, one, truth, reach in make(n, epsilon, rng):
                        slack = 1e-9 * reach
                        inside = one.lower - slack <= truth <= one.upper + slack
                        found[name, statistic].append((inside, (one.upper - one.lower) / reach, one.told))
            for (name, statistic), draws in found.items():
                coverage, width, told = np.mean(draws, axis=0)
                least = min(least, float(coverage))
                table.row(n, epsilon, name, statistic, float(coverage), float(width), float(told))
    error = math.sqrt(0.9 * 0.1 / runs)
    print(f"least coverage: {least:.3f}; the standard error of one at 0.9 is {error:.4f}")


if __name__ == "__main__":
    import sys

    run(sys.argv[1:])
