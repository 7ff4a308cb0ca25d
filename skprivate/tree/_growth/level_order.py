# SPDX-License-Identifier: BSD-3-Clause
"""Order of levels by noisy counts of their labels, and the columns that paid splits compare."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ..._typing import FloatArray, IntArray
from ...domain._groups import ColumnGroup
from ...noise import DiscreteLaplaceMechanism
from ...partition._derived import DerivedColumn, DerivedColumns, FilledColumn, LevelsColumn, ValueColumn
from ...rounds._plans._masses.masses import Masses
from ...rounds._plans._masses.plans import MassesPlan
from ...rounds._plans.axes import LevelAxis
from .._noisy_leaf_counts import _scale

# Candidates of a column of numbers are the thresholds between so many bins of equal width.
DEFAULT_BINS = 32
# The constants below were chosen on six simulations at epsilon .25, 1 and 4 with 600 to 20,000 rows: levels
# that tell nothing, few rows, 100 levels, twelve columns, one level that tells, and three classes; and tested
# on the tables of benchmarks/figures/trees/native_columns.py.
#: Share of the splits' budget that the order of the levels gets, of .1, .2, .3 and .5: .1 lost up to .05 with
# 100 levels and three classes, .5 up to .06 where levels tell nothing; .3 was the best, or within .01 of it.
ORDER_SHARE = Fraction(3, 10)
# Rows of a level, on average, over the scale of the noise, below which an order is not bought: below it three
# columns of 30 levels that tell nothing lost .02 at epsilon .25; above it 100 levels that tell gained .06.
_LEAST_SIGNAL = 1.5
# Variance of a class's share over the levels, in units of p (1 - p), by which noisy levels are drawn to the
# base rate: .2 squared for two equal classes. Only the order of the levels depends on it.
_SPREAD = 0.16
# Columns that are made of one column of levels at most, for three classes and more.
_MOST_DIRECTIONS = 3


class NoisyLevelCounts:
    """Counts by level and label of several columns, with discrete Laplace noise.

    Parameters
    ----------
    epsilon : Fraction
        Privacy loss, > 0.
    n_tables : int
        Number of columns that are counted.
    rows_per_unit : int
        Rows that one unit of privacy contributes at most.
    row_total : int, default=1
        What a row adds to a table, all labels together: of a number more, which is divided between two cells.

    Notes
    -----
    **Privacy.** Relation: replace-one. In the table of a column a row has one level (or none, which is a
    cell as well), and there it adds `row_total` to its label, or divides it between the two cells of its
    number. Taking it away and putting another one in moves a table by at most ``2 * row_total`` in L1, all
    tables by ``n_tables`` times that, and replacing the rows of a unit by ``rows_per_unit`` times as much:
    attained where all levels differ. The noise is exact discrete Laplace noise of scale ``sensitivity /
    epsilon`` on the integers.

    Proof: :doc:`/proofs/tree_release`.
    """

    def __init__(self, epsilon: Fraction, n_tables: int, rows_per_unit: int, row_total: int = 1) -> None:
        self.counted = "level x label counts" if row_total == 1 else "level x cell sums"
        self.sensitivity = 2 * n_tables * rows_per_unit * row_total
        scale = _scale(epsilon, self.sensitivity)
        self._mechanism = DiscreteLaplaceMechanism.from_scale(scale, self.sensitivity)
        self.noise_scale = self._mechanism.scale
        self.epsilon = self._mechanism.epsilon
        # In rows.
        self.variance = float(self._mechanism.variance) / row_total**2

    def randomize(self, values: IntArray, entropy: object) -> IntArray:
        """Return the noisy counts of all tables."""
        return self._mechanism.randomize(values, entropy)


def columns_to_order(
    groups: Sequence[ColumnGroup], epsilon: Fraction, n_rows: int, rows_per_unit: int
) -> tuple[int, ...]:
    """Return the numbers of the columns of levels whose order is worth its price: a public rule.

    A column of three places or more is left out, the one with the most places first, until the rows of a
    level, on average, are more than 1.5 times the scale of the noise.
    """
    found = [number for number, group in enumerate(groups) if _n_places(group) >= 3]
    found.sort(key=lambda number: groups[number].n_levels)
    while found:
        scale = 2 * len(found) * rows_per_unit / epsilon
        if n_rows >= _LEAST_SIGNAL * scale * _n_places(groups[found[-1]]):
            break
        found.pop()
    return tuple(sorted(found))


def _n_places(group: ColumnGroup) -> int:
    """Return the number of levels without an order, with missing as one, where cells may be missing."""
    return group.n_levels + (group.indicator is not None or group.absent) if group.n_levels else 0


@dataclass(frozen=True)
class ComparedColumns:
    """The columns that paid splits compare, made of declared ones; the levels of some of these in an order.

    Attributes
    ----------
    groups : tuple of ColumnGroup
        The declared columns.
    ordered : tuple of int
        Numbers of the columns of levels that get an order. Of others every level is compared by itself.
    n_labels : int
    """

    groups: tuple[ColumnGroup, ...]
    ordered: tuple[int, ...]
    n_labels: int

    @classmethod
    def of(cls, groups: Sequence[ColumnGroup], derived: DerivedColumns, n_labels: int) -> "ComparedColumns":
        """Return those that a partition's derived columns were made by."""
        # The places of levels that are compared by themselves are 0 and 1.
        ordered = {
            column.source
            for column in derived.columns
            if isinstance(column, LevelsColumn) and max(column.places) > 1
        }
        return cls(tuple(groups), tuple(sorted(ordered)), n_labels)

    @property
    def n_directions(self) -> int:
        """Number of orders of the levels of a column: one for two classes."""
        return min(self.n_labels - 1, _MOST_DIRECTIONS)

    @property
    def n_bins(self) -> tuple[int, ...]:
        """Number of bins of every column that is compared."""
        bins: list[int] = []
        for number, group in enumerate(self.groups):
            if number in self.ordered:
                bins += [group.n_levels + 1] * self.n_directions
            elif group.n_levels:
                bins += [2] * _n_single(group)
            else:
                # A missing cell takes a bin: below the values, and above them.
                bins += [_n_bins(group)] if group.indicator is None else [_n_bins(group) + 1] * 2
        return tuple(bins)

    @property
    def axes(self) -> tuple[LevelAxis, ...]:
        """The columns that get an order."""
        groups = [self.groups[number] for number in self.ordered]
        return tuple(LevelAxis(group.start, group.n_levels, group.indicator) for group in groups)

    def plan(self, masses: Masses) -> MassesPlan:
        """Return what is summed by the levels of these columns."""
        return MassesPlan(self.axes, masses)

    def places(self, noisy: FloatArray, variance: float, public: FloatArray) -> dict[int, IntArray]:
        """Return the places of the levels of every ordered column.

        Parameters
        ----------
        noisy : ndarray
            What was released of the sums of `plan`, in rows.
        variance : float
            Of the noise.
        public : ndarray
            The same sums of public rows.

        Returns
        -------
        places : dict of int to ndarray of shape (n_levels + 1, n_directions)
            By the number of the column; the last place is that of missing.
        """
        sizes = [axis.size * self.n_labels for axis in self.axes]
        tables = np.split((noisy + public).astype(np.float64), np.cumsum(sizes)[:-1])
        return {
            number: level_places(table.reshape(-1, self.n_labels), variance, self.n_directions)
            for number, table in zip(self.ordered, tables, strict=True)
        }

    def derive(
        self, lower: FloatArray, upper: FloatArray, places: Mapping[int, IntArray]
    ) -> tuple[DerivedColumns, FloatArray, FloatArray]:
        """Return the columns that are compared, and their lower and upper bounds.

        Parameters
        ----------
        lower, upper : ndarray of shape (n_features,)
            Bounds of the encoded columns.
        places : dict
            From `places`.
        """
        columns: list[tuple[DerivedColumn, float, float]] = []
        for number, group in enumerate(self.groups):
            box = float(lower[group.start]), float(upper[group.start])
            if number in self.ordered:
                columns += _ordered_levels(number, group, places[number])
            elif group.n_levels:
                columns += _single_levels(number, group)
            elif group.indicator is None:
                columns.append((ValueColumn(number, group.start), *box))
            else:
                columns += _filled_numbers(number, group, *box)
        made, low, high = zip(*columns, strict=True)
        return DerivedColumns(len(lower), made), np.array(low), np.array(high)


def _ordered_levels(
    number: int, group: ColumnGroup, places: IntArray
) -> Iterable[tuple[DerivedColumn, float, float]]:
    n_places = group.n_levels + (group.indicator is not None)
    for column in places.T:
        own = tuple(map(float, column[:n_places]))
        made = LevelsColumn(number, group.start, own, float(column[-1]), group.indicator)
        yield made, 0.0, float(group.n_levels)


def _n_single(group: ColumnGroup) -> int:
    """Return how many levels are compared by themselves: of two, one."""
    return _n_places(group) if _n_places(group) > 2 else 1


def _single_levels(number: int, group: ColumnGroup) -> Iterable[tuple[DerivedColumn, float, float]]:
    """Yield for every level, and for missing where cells may be, a column that is 1 there and 0 elsewhere.

    Of two there is one column, that of the second.
    """
    n_places = group.n_levels + (group.indicator is not None)
    for own in range(_n_single(group)) if _n_places(group) > 2 else [1]:
        places = tuple(float(place == own) for place in range(n_places))
        absent = float(own == group.n_levels)
        yield LevelsColumn(number, group.start, places, absent, group.indicator), 0.0, 1.0


def _filled_numbers(
    number: int, group: ColumnGroup, lower: float, upper: float
) -> Iterable[tuple[DerivedColumn, float, float]]:
    """Yield the column with missing cells below its values, and with these above them.

    They lie a bin and a half away: with as many bins and one more, the first threshold of the root lies clear
    of all values, and missing cells are a side of their own.
    """
    n_bins = _n_bins(group)
    n_steps = n_bins - 1 if n_bins == len(group.values) else n_bins
    step = 1.5 * (upper / n_steps - lower / n_steps)
    assert group.indicator is not None
    for place in (lower - step, upper + step):
        made = FilledColumn(number, group.start, group.indicator, place, lower, upper)
        yield made, min(place, lower), max(place, upper)


def _n_bins(group: ColumnGroup) -> int:
    """Return the number of bins of a column's numbers: one for each where there are few."""
    return len(group.values) if 2 <= len(group.values) < DEFAULT_BINS else DEFAULT_BINS


def level_places(counts: FloatArray, variance: float, n_directions: int) -> IntArray:
    """Return the place of every level, from 0 on, by the shares of the labels there.

    A level's difference from the base rate is drawn to 0 as noise and sampling demand, so that a level that
    few rows have stands among the ordinary ones. Two classes have one order; of more, those along the
    leading principal components of the differences, weighted by rows.

    Parameters
    ----------
    counts : ndarray of shape (n_levels, n_labels)
        Rows by level and label, with noise.
    variance : float
        Of the noise of a count.
    n_directions : int

    Returns
    -------
    places : ndarray of int64 of shape (n_levels, n_directions)
        Whole numbers 0 to n_levels - 1, each once in a direction.
    """
    n_labels = counts.shape[1]
    base = np.maximum(counts.sum(axis=0), 0.0) + 1.0
    base /= base.sum()
    # Noise may leave fewer rows than none: such a level has some, up to the noise.
    rows = np.maximum(counts.sum(axis=1), np.sqrt(n_labels * variance) + 1.0)[:, np.newaxis]
    sampling = float(np.mean(base * (1 - base)))
    noise = variance * float(np.mean((1 - base) ** 2 + (n_labels - 1) * base**2))
    spread = _SPREAD * sampling
    differences = counts - base * counts.sum(axis=1, keepdims=True)
    shrunk = differences * rows * spread / (rows**2 * spread + rows * sampling + noise)
    if n_labels == 2:
        along = shrunk[:, 1:]
    else:
        along = shrunk @ np.linalg.svd(np.sqrt(rows) * shrunk, full_matrices=False)[2][:n_directions].T
        if along.shape[1] < n_directions:
            along = np.pad(along, ((0, 0), (0, n_directions - along.shape[1])))
    order = np.argsort(along, axis=0, kind="stable")
    return np.argsort(order, axis=0, kind="stable")
