# SPDX-License-Identifier: BSD-3-Clause
"""Budget of a tree whose splits private rows choose: the levels' shares of epsilon, and the leaves'."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ...accounting import ReleaseRecord
from .._noisy_leaf_counts import NoisyHistogram
from .level_order import ORDER_SHARE, ComparedColumns, NoisyLevelCounts
from .split_selection import selection_noise
from .target_range import RANGE_SHARE

# The constants below were chosen on census, digits, diabetes, breast cancer and four simulations (linear,
# Friedman's, an interaction of binary columns, skewed columns with a rare class) at epsilon .1 to 8, with
# 450 to 80,000 rows; benchmarks/figures/trees/trees_utility.py has them and others.
#: Share of epsilon that the splits get: of .3, .5 and .7 the best or within an error of it everywhere.
SPLIT_SHARE = Fraction(7, 10)
# Each level's share against that of the level above: deeper nodes have fewer rows.
_GROWTH = Fraction(3, 2)
#: Private rows times epsilon, for each public row, beyond which private rows choose better splits: from 18 on
#: they did on skewed, noisy, wide and many-class designs, by up to .3 in accuracy; below 16 public rows
#: often did.
ROWS_FOR_A_PUBLIC_ROW = 15
# Levels: this many for each doubling of n epsilon, beyond the second number of doublings.
_LEVELS_PER_DOUBLING, _FIRST_DOUBLING = 0.6, 5
#: Most levels that the automatic rule chooses.
MOST_LEVELS = 12


def automatic_levels(n_rows: int, epsilon: Fraction, rows_per_unit: int = 1) -> int:
    """Return the number of levels of splits that n_rows rows can pay for: 0 to 12.

    ``round(.6 (log2(n epsilon / rows_per_unit) - 5))``: a function of public numbers. With 0 the whole
    budget goes to the base rate.
    """
    information = float(n_rows * epsilon / rows_per_unit)
    if information <= 1:
        return 0
    levels = math.floor(_LEVELS_PER_DOUBLING * (math.log2(information) - _FIRST_DOUBLING) + 0.5)
    return min(max(levels, 0), MOST_LEVELS)


@dataclass(frozen=True)
class SplitBudget:
    """Division of epsilon among an order of declared levels, levels of splits and the leaves.

    Attributes
    ----------
    level_epsilons : tuple of Fraction
        What every level costs at most, from the root.
    leaf_epsilon : Fraction
        What the counts of the leaves cost at most.
    rows_per_unit : int
        Rows of one unit of privacy that count.
    columns : ComparedColumns or None
        What is compared of declared columns; None: the columns of X.
    order : NoisyLevelCounts or None
        The mechanism of the counts that put declared levels in an order; None where there are none.
    target : NoisyHistogram or None
        The mechanism of the counts that narrow the bounds of numbers; None where there are none.
    """

    level_epsilons: tuple[Fraction, ...]
    leaf_epsilon: Fraction
    rows_per_unit: int
    columns: ComparedColumns | None = None
    order: NoisyLevelCounts | None = None
    target: NoisyHistogram | None = None

    @classmethod
    def divide(
        cls,
        epsilon: Fraction,
        share: Fraction,
        n_levels: int,
        rows_per_unit: int,
        columns: ComparedColumns | None = None,
        row_total: int = 1,
        n_target_bins: int = 0,
    ) -> "SplitBudget":
        """Divide epsilon.

        `share` of it goes to the splits: .1 of that to narrower bounds of numbers, where they get some, .3 to
        the order of declared levels, where they get one, and the rest to the levels of the tree, each of
        which gets 3/2 of what the one above gets.
        """
        of_splits = epsilon * share
        weights = [_GROWTH**level for level in range(n_levels)]
        order, target = None, None
        if n_levels and n_target_bins:
            target = NoisyHistogram(of_splits * RANGE_SHARE, n_target_bins, 1, rows_per_unit)
        if n_levels and columns is not None and columns.ordered:
            order = NoisyLevelCounts(of_splits * ORDER_SHARE, len(columns.ordered), rows_per_unit, row_total)
        first = sum((one.epsilon for one in (target, order) if one is not None), Fraction(0))
        asked = [(of_splits - first) * weight / sum(weights) for weight in weights]
        levels = tuple(selection_noise(one, rows_per_unit).epsilon for one in asked)
        return cls(levels, epsilon - sum(levels, first), rows_per_unit, columns, order, target)


class PaidTreeMechanism:
    """The whole release of a tree whose splits are paid for, as statements describe it.

    Parameters
    ----------
    budget : SplitBudget
    leaves : NoisyHistogram
        That of a single leaf.
    """

    name = "histogram"
    relation = "replace-one"

    def __init__(self, budget: SplitBudget, leaves: NoisyHistogram) -> None:
        self._leaves = leaves.describe_noise()
        self._n_levels = len(budget.level_epsilons)
        self.n_cells, self.n_labels = 1, leaves.n_labels
        self._first = [one for one in (budget.target, budget.order) if one is not None]
        self.epsilon = sum((one.epsilon for one in self._first), sum(budget.level_epsilons, leaves.epsilon))
        self.sensitivity, self.noise_scale = leaves.sensitivity, leaves.noise_scale
        self._split_epsilon = sum(budget.level_epsilons, Fraction(0))
        self.releases = (
            *(ReleaseRecord.of(_name_of(one), one) for one in self._first),
            *(
                ReleaseRecord(name=f"splits of level {level}", mechanism="report noisy max", epsilon=epsilon)
                for level, epsilon in enumerate(budget.level_epsilons)
            ),
            ReleaseRecord.of("counts of the leaves", leaves),
        )

    def describe(self) -> str:
        """Return the mechanism in a few words."""
        first = "".join(
            "discrete Laplace noise on "
            f"{_name_of(one)} "
            f"at epsilon {float(one.epsilon):g}, sensitivity {one.sensitivity}; then "
            for one in self._first
        )
        return (
            f"{first}report-noisy-max of splits, {self._n_levels} levels at epsilon "
            f"{float(self._split_epsilon):g} together, then {self._leaves}"
        )

    def simulate(self, categories: Any, random_state: Any = None) -> Any:
        """Refuse: it is several releases, each of which depends on the ones before."""
        raise TypeError("a tree with paid splits is not released at once.")

    estimate = estimate_cells = variance = simulate


def _name_of(one: NoisyLevelCounts | NoisyHistogram) -> str:
    """Return what is counted before there are splits."""
    return one.counted if isinstance(one, NoisyLevelCounts) else "counts of targets by bins"
