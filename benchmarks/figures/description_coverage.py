# SPDX-License-Identifier: BSD-3-Clause
"""Coverage of the intervals of a private description, and how wide they are.

Every run draws rows from a population whose values are known, and describes them. Coverage is at the nominal
90 %; widths are shares of what is possible: that of the interval, and that which 90 % of the errors of the
estimate need. Populations: normal and lognormal numbers, incomes below a bound of 17 medians, 90 % zeros, a
level of 1 %, a constant, 60 % missing cells, bounds ten times too wide, and durations of which half are
censored.
"""

import math
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import lognorm, norm

from skprivate import private_describe
from skprivate.domain import TableDomain

from .._tables import Table

#: Rows and epsilons.
SIZES: dict[bool, tuple[tuple[int, ...], tuple[float, ...]]] = {
    False: ((500, 2_000, 20_000, 200_000), (0.25, 1.0, 4.0)),
    True: ((500,), (0.1, 1.0)),
}
LEVELS = {"common": 0.7, "usual": 0.29, "rare": 0.01}
QUANTILES = (0.25, 0.5, 0.75)
CONSTANT = 3.3


@dataclass(frozen=True)
class Numbers:
    """A population of numbers: its bounds, how rows are drawn, and what is true of it."""

    bounds: tuple[float, float]
    draw: Callable[[int, np.random.Generator], Any]
    mean: float
    std: float
    quantiles: Any
    missing: float = 0.0


def continuous(law: Any, low: float, high: float, missing: float = 0.0) -> Numbers:
    """Return a population; its mean and standard deviation are those of values clipped to the bounds."""

    def draw(n: int, rng: np.random.Generator) -> Any:
        return np.where(rng.uniform(size=n) < missing, np.nan, law.rvs(n, random_state=rng))

    first, second = (
        law.expect(lambda x, k=k: x**k, lb=low, ub=high) + low**k * law.cdf(low) + high**k * law.sf(high)
        for k in (1, 2)
    )
    return Numbers((low, high), draw, first, math.sqrt(second - first**2), law.ppf(QUANTILES), missing)


NUMBERS = {
    "normal": continuous(norm(), -4.0, 4.0),
    "skewed": continuous(lognorm(1.0), 0.0, 20.0),
    "constant": Numbers((0.0, 10.0), lambda n, rng: np.full(n, CONSTANT), CONSTANT, 0.0, [CONSTANT] * 3),
    "income": continuous(lognorm(0.8, scale=29_750), 0.0, 500_000.0),
    "90 % zeros": Numbers(
        (0.0, 40.0), lambda n, rng: rng.exponential(rng.random(n) < 0.1), 0.1, 0.436, [0] * 3
    ),
    "60 % missing": continuous(norm(), -4.0, 4.0, 0.6),
    "wide bounds": continuous(norm(), -40.0, 40.0),
}
DOMAIN = TableDomain({name: one.bounds for name, one in NUMBERS.items()}, missing="fill")
LEVELS_DOMAIN = TableDomain({"level": list(LEVELS), "flag": bool, "age": (0.0, 1.0)})
LIFE_DOMAIN = TableDomain({"time": (0.0, 2.0), "event": bool})

#: Population, statistic, estimate, truth and range.
Found = Iterator[tuple[str, str, Any, float, float]]


def numbers(n: int, epsilon: float, rng: np.random.Generator) -> Found:
    """Describe columns of numbers."""
    table = {name: one.draw(n, rng) for name, one in NUMBERS.items()}
    options: dict[str, Any] = {"epsilon": epsilon, "quantiles": QUANTILES}
    # Where all seven together are refused, one column at a time.
    alone = n * epsilon < 100
    told = {} if alone else private_describe(table, DOMAIN, **options).columns
    for name, one in NUMBERS.items():
        column = (private_describe(table, DOMAIN, columns=[name], **options).columns if alone else told)[name]
        width = one.bounds[1] - one.bounds[0]
        yield name, "mean", column.mean, one.mean, width
        yield name, "std", column.std, one.std, width / 2
        for level, value in zip(QUANTILES, one.quantiles, strict=True):
            yield name, f"q {level:g}", column.quantiles[level], value, width
        yield name, "missing", column.missing, one.missing, 1.0


def shares(n: int, epsilon: float, rng: np.random.Generator) -> Found:
    """Describe levels and crosstabs."""
    level = rng.choice(list(LEVELS), size=n, p=list(LEVELS.values()))
    table = {"level": level, "flag": rng.uniform(size=n) < 0.4, "age": rng.uniform(size=n)}
    crosstabs = [("level", "flag"), ("age", "flag")]
    told = private_describe(table, LEVELS_DOMAIN, epsilon, columns=["level", "flag"], crosstabs=crosstabs)
    for name, share in LEVELS.items():
        yield f"level of {share:.0%}", "share", told.columns["level"].levels[name], share, 1.0
    yield "flag", "share", told.columns["flag"].levels["true"], 0.4, 1.0
    pairs = told.crosstab("level", "flag")
    for row, share in ((0, LEVELS["common"]), (2, LEVELS["rare"])):
        yield f"crosstab, {share:.0%}", "share", pairs.shares[row][1], share * 0.4, 1.0
        yield f"crosstab, {share:.0%}", "row share", pairs.row_shares[row][1], 0.4, 1.0
    yield "crosstab, ages", "row share", told.crosstab("age", "flag").row_shares[1][1], 0.4, 1.0


def life(n: int, epsilon: float, rng: np.random.Generator) -> Found:
    """Describe a curve of survival."""
    times, ends = rng.exponential(size=n), rng.uniform(0.0, 2.5, size=n)
    table = {"time": np.minimum(times, ends), "event": times <= ends}
    curve: Any = private_describe(
        table, LIFE_DOMAIN, epsilon, columns=[], survival=("time", "event")
    ).survival
    for share in (0.25, 0.5, 1.0):
        place = max(round(share * len(curve.times)) - 1, 0)
        yield "survival", f"at {2 * share:g}", curve.curves[""][place], math.exp(-curve.times[place]), 1.0


def run(seeds: int = 300, *, small: bool = False) -> None:
    """Print coverage and width for every population, statistic, number of rows and epsilon."""
    seeds = 2 if small else seeds
    table = Table(
        *(("rows", ">6d"), ("epsilon", ">7g"), ("population", "<14"), ("statistic", "<9")),
        *(("coverage", ">8.3f"), ("width", ">8.5f"), ("needed", ">8.5f"), ("above noise", ">6.2f")),
    )
    least = 1.0
    sizes, epsilons = SIZES[small]
    for n in sizes:
        for epsilon in epsilons:
            for place, draws in _described(n, epsilon, seeds).items():
                coverage, width, above, _ = np.mean(draws, axis=0)
                least = min(least, float(coverage))
                needed = 2 * np.quantile([draw[-1] for draw in draws], 0.9)
                table.row(n, epsilon, *place, coverage, width, needed, above)
    error = math.sqrt(0.9 * 0.1 / seeds)
    print(f"least coverage: {least:.3f}; the standard error of one at 0.9 is {error:.4f}")


def _described(n: int, epsilon: float, seeds: int) -> dict[tuple[str, str], list[tuple[float, ...]]]:
    """Return of each run: does an interval hold the truth, its width, does noise hide nothing, the error."""
    found = defaultdict(list)
    rng = np.random.default_rng(7)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for describe in (numbers, shares, life):
            for _ in range(seeds):
                for name, statistic, one, truth, reach in describe(n, epsilon, rng):
                    slack = 1e-9 * reach
                    inside = one.lower - slack <= truth <= one.upper + slack
                    width, error = (one.upper - one.lower) / reach, abs(one.value - truth) / reach
                    found[name, statistic].append((inside, width, one.above_noise, error))
    return found
