# SPDX-License-Identifier: BSD-3-Clause
"""Splits that private rows choose: order of levels, range of numbers, noisy scores, and their budget."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._typing import FloatArray, IntArray
from ..accounting import PrivacySpent, ReleaseRecord
from ..domain._table_domain import ColumnGroup
from ..noise import DiscreteLaplaceMechanism
from ..noise._mechanisms import NoisyMax
from ..partition import Partition
from ..partition._partition import DerivedColumn, DerivedColumns, FilledColumn, LevelsColumn, ValueColumn
from ..rounds._driver import Round, Rounds
from ..rounds._plans.cells import LevelAxis
from ..rounds._plans.masses import (
    MOST_COUNTS,
    HistogramsPlan,
    LabelMasses,
    Masses,
    MassesPlan,
    MassHistogramsPlan,
    NumberMasses,
)
from ..utils import check_epsilon
from ._rows import NoisyHistogram, least_scale
from ._score_kernels import fill_scores

# Narrower bounds of numbers, from noisy counts of the private targets between the declared bounds.

#: Bins of equal width between the declared bounds: bounds that are ten times too wide keep four of them.
N_BINS = 32
#: Share of the splits' budget that is spent on the counts. Measured on Friedman's, a linear, a skewed, a step
# and a weak function with 4,000 and 40,000 rows, epsilon 0.5 and 2. With tight bounds a tenth lost no
# accuracy but in one case. With bounds ten times too wide it gained 0.1 to 0.8 in R2 if n epsilon is 8,000 or
# more.
RANGE_SHARE = Fraction(1, 10)
# Bins at an end are dropped one by one, while the sum of the dropped bins is within this many standard
# deviations of its noise, and while these deviations are at most this share of the rows. At most that share
# of the targets is clipped at the end. Of 0.05, 0.1, 0.2 and 0.4, on the same functions with 1,500 to 8,000
# rows, the last two were better if bounds are too wide, and none was if they are tight. If an end holds a few
# per cent of the rows, as with claims that are mostly 0, no bin is dropped there: a single bin has the least
# noise.
_DEVIATIONS, _MOST_CLIPPED = 2.5, 1 / 5


def narrow_bounds(counts: IntArray, noise: NoisyHistogram, bounds: NDArray[np.float64]) -> FloatArray:
    """Return the bounds between which nearly all targets lie, according to noisy counts.

    Parameters
    ----------
    counts : ndarray of int64 of shape (n_bins, 1)
        Noisy counts of the targets, in bins of equal width.
    noise : NoisyHistogram
        The noise that was added.
    bounds : ndarray of shape (2,)
        The declared bounds.

    Returns
    -------
    bounds : ndarray of shape (2,)
        Edges of bins; the declared bounds if noise hides too many rows.
    """
    n_bins, n_rows = len(counts), float(counts.sum())
    variance = float(noise.variance(1)[0]) / 2
    first, last = (_empty_bins(each, variance, n_rows) for each in (counts.ravel(), counts.ravel()[::-1]))
    if first + last >= n_bins:
        return bounds
    share = np.array([first, n_bins - last]) / n_bins
    return bounds[0] * (1 - share) + bounds[1] * share


def _empty_bins(counts: IntArray, variance: float, n_rows: float) -> int:
    """Return the number of first bins whose cumulative sums are no larger than noise explains."""
    limit = _DEVIATIONS * np.sqrt(variance * np.arange(1, len(counts) + 1))
    filled = (np.cumsum(counts) > limit) | (limit > _MOST_CLIPPED * n_rows)
    return int(np.argmax(filled)) if filled.any() else len(counts)


# Order of levels by noisy counts of their labels, and the columns that private splits compare.

# Number of bins of equal width of a column of numbers; the candidates are the thresholds between them. Set by
# hand.
DEFAULT_BINS = 32
# The constants below were chosen on six simulations at epsilon 0.25, 1 and 4 with 600 to 20,000 rows: levels
# without an effect, few rows, 100 levels, twelve columns, one level with an effect, and three classes. They
# were tested on the tables of benchmarks/figures/trees/native_columns.py. Share of the splits' budget that is
# spent on the order of the levels. Of 0.1, 0.2, 0.3 and 0.5, the value 0.1 lost up to 0.05 with 100 levels
# and three classes, and 0.5 up to 0.06 if levels have no effect. 0.3 was the best, or within 0.01 of it.
ORDER_SHARE = Fraction(3, 10)
# Average number of rows of a level, over the scale of the noise, below which no budget is spent on an order.
# Below it three columns of 30 levels without an effect lost 0.02 at epsilon 0.25. Above it 100 levels with an
# effect gained 0.06.
_LEAST_SIGNAL = 1.5
# Variance of a class's share over the levels, in units of p (1 - p), by which noisy levels are shrunk towards
# the base rate. For two equal classes it is 0.2 squared. Only the order of the levels depends on it.
_SPREAD = 0.16
# Largest number of ordered columns that are made of one column of levels, for three classes and more. Set by
# hand.
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
        Largest number of rows that one unit of privacy contributes.
    row_total : int, default=1
        Amount that a row adds to a table, all labels together; more than 1 for a number, which is divided
        between two cells.

    Notes
    -----
    **Privacy.** Relation: replace-one. In the table of a column, a row has one level, or it is missing, which
    is a further cell. There it adds `row_total` to its label, or divides it between the two cells of its
    number. Replacing a row changes a table by at most ``2 * row_total`` in L1, and all tables by ``n_tables``
    times as much. Replacing the rows of a unit changes them by ``rows_per_unit`` times that. This is attained
    if all levels differ. The noise is exact discrete Laplace noise of scale ``sensitivity / epsilon`` on the
    integers.

    Proof: :doc:`/proofs/tree_release`.
    """

    def __init__(self, epsilon: Fraction, n_tables: int, rows_per_unit: int, row_total: int = 1) -> None:
        self.counted = "level x label counts" if row_total == 1 else "level x cell sums"
        self.sensitivity = 2 * n_tables * rows_per_unit * row_total
        scale = least_scale(epsilon, self.sensitivity)
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
    """Return the numbers of the columns of levels for which an order is released: a public rule.

    Columns of three places or more are dropped, the one with the most places first, until the average number
    of rows of a level is more than 1.5 times the scale of the noise.
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
    """Return the number of levels without an order, including missing if cells may be missing."""
    return group.n_levels + (group.indicator is not None or group.absent) if group.n_levels else 0


@dataclass(frozen=True)
class ComparedColumns:
    """The columns that private splits compare, made of declared ones; some with ordered levels.

    Attributes
    ----------
    groups : tuple of ColumnGroup
        The declared columns.
    ordered : tuple of int
        Numbers of the columns of levels that get an order. In the others every level is compared by itself.
    n_labels : int
    """

    groups: tuple[ColumnGroup, ...]
    ordered: tuple[int, ...]
    n_labels: int

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
                # A missing cell has its own bin: once below the values, and once above them.
                bins += [_n_bins(group)] if group.indicator is None else [_n_bins(group) + 1] * 2
        return tuple(bins)

    @property
    def axes(self) -> tuple[LevelAxis, ...]:
        """The columns that get an order."""
        groups = [self.groups[number] for number in self.ordered]
        return tuple(LevelAxis(group.start, group.n_levels, group.indicator) for group in groups)

    def plan(self, masses: Masses) -> MassesPlan:
        """Return the plan of the sums by the levels of these columns."""
        return MassesPlan(self.axes, masses)

    def places(self, noisy: FloatArray, variance: float, public: FloatArray) -> dict[int, IntArray]:
        """Return the places of the levels of every ordered column.

        Parameters
        ----------
        noisy : ndarray
            The released sums of `plan`, in rows.
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
    """Return the number of levels that are compared by themselves: one if there are two."""
    return _n_places(group) if _n_places(group) > 2 else 1


def _single_levels(number: int, group: ColumnGroup) -> Iterable[tuple[DerivedColumn, float, float]]:
    """Yield a column for every level, and for missing if cells may be, that is 1 there and 0 elsewhere.

    For two levels there is one column, that of the second.
    """
    n_places = group.n_levels + (group.indicator is not None)
    for own in range(_n_single(group)) if _n_places(group) > 2 else [1]:
        places = tuple(float(place == own) for place in range(n_places))
        absent = float(own == group.n_levels)
        yield LevelsColumn(number, group.start, places, absent, group.indicator), 0.0, 1.0


def _filled_numbers(
    number: int, group: ColumnGroup, lower: float, upper: float
) -> Iterable[tuple[DerivedColumn, float, float]]:
    """Yield the column with missing cells below its values, and the column with missing cells above them.

    They lie one and a half bins away. With one more bin, the first threshold of the root then separates
    missing cells from all values.
    """
    n_bins = _n_bins(group)
    n_steps = n_bins - 1 if n_bins == len(group.values) else n_bins
    step = 1.5 * (upper / n_steps - lower / n_steps)
    assert group.indicator is not None
    for place in (lower - step, upper + step):
        made = FilledColumn(number, group.start, group.indicator, place, lower, upper)
        yield made, min(place, lower), max(place, upper)


def _n_bins(group: ColumnGroup) -> int:
    """Return the number of bins of a column's numbers: one for each value if there are few values."""
    return len(group.values) if 2 <= len(group.values) < DEFAULT_BINS else DEFAULT_BINS


def level_places(counts: FloatArray, variance: float, n_directions: int) -> IntArray:
    """Return the place of every level, from 0 on, by the shares of the labels there.

    A level's difference from the base rate is shrunk towards 0, more strongly the larger its noise and
    sampling error. A level with few rows is therefore placed among the ordinary ones. Two classes have one
    order. With more classes, the orders are those along the leading principal components of the differences,
    weighted by rows.

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
    # Noise may make a number of rows negative; the smallest number that is used grows with the noise.
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


# Scores of splits of numbers: the distance of the smaller side's sum from its size times the others' mean.

# Scores are integers in steps of 2^-10 rows, a thousandth of the largest contribution of a row: far below the
# noise.
IMPURITY_BITS = 10
# Weights of the two parts of a score, and the binary digits of their sum, 4. The ratios 1 : 0, 7 : 3, 1 : 1
# and 0 : 1 were compared in 12 settings: nine functions, 1,000 and 6,000 rows, epsilon 0.3 to 10, bounds
# tight and ten times too wide. The second was within 0.04 of the best explained variance in all but one
# (0.06). With large noise 0 : 1 lost up to 0.08. With small noise 1 : 0 lost 0.02: its score may be the same
# from the best cut to the middle.
_LARGER_SIDE, _NODE, _PART_BITS = 3, 1, 2
# Products of fewer steps of rows fit 64 bits.
_FITS = 2**31


def contrast_scores(table: IntArray, bits: int) -> IntArray:
    """Return the scores of the thresholds between bins, in steps of 2^-10; a higher score is more contrast.

    Parameters
    ----------
    table : ndarray of int64 of shape (n_nodes, 2, n_bins)
        Sums of `NumberMasses` of degree 1.
    bits : int
        Number of bits of the masses.

    Returns
    -------
    scores : ndarray of int64 of shape (n_nodes, n_bins - 1)
        ``floor(2**7 * 3 * f) + floor(2**7 * g)``, exactly. f is the distance of the sum of the smaller side
        from its size times the mean of the larger side. g is its distance from its size times the mean of the
        node. Targets are in [0, 1], and sizes are in rows, or steps of weight. 0 if a side is empty.

    Notes
    -----
    For means m_l and m_r of sides of sizes n_l and n_r, f is ``min(n_l, n_r) * abs(m_l - m_r)``, and g is
    ``n_l * n_r / n * abs(m_l - m_r)``.

    A row of weight w (1 without weights) changes every score by at most ``2**9 * w``, up or down. It
    therefore changes the scores of a node by amounts within a range of ``2**10 * w``, as for `split_scores`.
    Proof: add the row gradually to one side, with its target t. Let n, T and m be the weight, the sum and the
    mean of that side, and n', T' and m' those of the other one. If the other side is empty, the score stays
    0. With its sign, f is T - n m' while n <= n', and n' m - T' afterwards. It is continuous, and its
    derivative is t - m' in the first case, and (t - m) n' / n in the second. With its sign, g is T - n M,
    with M the mean of the node, and its derivative is (t - M) n' / (n + n'). All derivatives are within [-1,
    1]. So f and g change by at most w, and the integers below 2^7 3 f and 2^7 g by at most the integers 2^7 3
    w and 2^7 w.

    The impurity of two labels, n m (1 - m) of each side, needs the same noise, but is quadratic in the
    difference of the means. Trees of four levels on 6,000 rows explained 0.79 of the variance at epsilon 1
    and tight bounds, on average over nine functions (0.54 with the impurity). At epsilon 3 and wide bounds
    they explained 0.55 (0.25).
    """
    weight, total = table.sum(axis=1) >> bits, table[:, 1]
    if weight.size and weight.sum(axis=1).max() >= _FITS:
        # Python's integers do not overflow.
        weight, total = weight.astype(object), total.astype(object)
    fine = max(bits, IMPURITY_BITS)
    sizes, sums = _sides(weight), _sides(total * 2 ** (fine - bits))
    swap = sizes[0] > sizes[1]
    n, larger_n = (np.where(swap, *sides) for sides in (sizes[::-1], sizes))
    total, larger_total = (np.where(swap, *sides) for sides in (sums[::-1], sums))
    from_larger = _gap(n, total * _LARGER_SIDE, larger_n, larger_total * _LARGER_SIDE)
    from_node = _gap(n, total * _NODE, n + larger_n, (total + larger_total) * _NODE)
    shift = fine - IMPURITY_BITS + 1 + _PART_BITS
    return np.asarray((from_larger >> shift) + (from_node >> shift), dtype=np.int64)


def _gap(n: NDArray[Any], total: NDArray[Any], other_n: NDArray[Any], other: NDArray[Any]) -> NDArray[Any]:
    """Return ``floor(abs(total - n * other / other_n))``, 0 where other_n is; n is at most other_n.

    No product exceeds the square of other_n.
    """
    other_n = np.maximum(other_n, 1)
    product = n * (other % other_n)
    # The difference is whole - rest / other_n.
    whole, rest = total - n * (other // other_n) - product // other_n, product % other_n
    below = whole - (rest > 0)
    return np.where(below >= 0, below, -whole)


def _sides(bins: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the sums of the bins before every threshold, and of those behind it."""
    left = np.cumsum(bins[:, :-1], axis=1)
    return left, bins.sum(axis=1, keepdims=True) - left


# Splits that private rows choose: level by level, and in every node the best one by noisy scores.

# Below every score with its noise: scores are above -2^52, and noise is below 2^58, 44 times the largest
# scale.
_NO_CANDIDATE = -(2**62)


def selection_noise(
    epsilon: float | Fraction, rows_per_unit: int = 1, largest: int = 1
) -> DiscreteLaplaceMechanism:
    """Return the mechanism whose noise is added to the scores of a level.

    Parameters
    ----------
    epsilon : float or Fraction
        Privacy loss of a level, > 0 and finite.
    rows_per_unit : int, default=1
        Largest number of rows that one unit of privacy contributes.
    largest : int, default=1
        Bound on the weight of a row, in steps; 1: rows have no weights.

    Returns
    -------
    mechanism : DiscreteLaplaceMechanism
        Its ``epsilon``, a Fraction, is the exact cost of the level: never more than the parameter.

    Raises
    ------
    ValueError
        Epsilon is so small that the scale exceeds 2^52.
    """
    # A unit's rows are removed and others added: scores change by amounts within a range of the weight.
    sensitivity = 2 * rows_per_unit * largest * 2**IMPURITY_BITS
    return DiscreteLaplaceMechanism.from_scale(least_scale(check_epsilon(epsilon), sensitivity), sensitivity)


class SplitSelection:
    """The choice of a split in every node of a partition: report-noisy-max of impurities or contrasts.

    Parameters
    ----------
    plan : HistogramsPlan or MassHistogramsPlan
        Plan of the counts; its thresholds are the candidates.
    mechanism : DiscreteLaplaceMechanism
        From `selection_noise`, for the plan's largest weight.

    Notes
    -----
    **Privacy.** Relation: replace-one. The release is the number of the chosen candidate of every node, and
    nothing else. The score of a candidate is minus the Gini impurity of its two sides: half of a side's
    number of rows times its Gini index, rounded down to a multiple of 2^-10, summed over both. A row that is
    added to a node lowers the scores of all its candidates by between 0 and 1. Geometric noise is added to
    each score, with P(x) proportional to exp(-x / scale) on x = 0, 1, 2, ... steps of 2^-10. The candidate
    with the highest sum is chosen, or the first of equal ones. Adding or removing a row changes the
    probability of a node's choice by at most the factor exp(2^10 / scale). Replacing ``rows_per_unit`` rows
    changes the probability of all choices of a level by at most exp(2 * rows_per_unit * 2^10 / scale), which
    is exp(mechanism.epsilon).

    With weights, all of this holds for steps of weight in place of rows, and a row has at most ``largest``
    steps. For numbers the score is that of `contrast_scores`. A row may raise it at some candidates and lower
    it at others, by at most one half, which is also within a range of 1.

    Proof: :doc:`/proofs/tree_release`.

    References
    ----------
    McKenna, Sheldon, Permute-and-flip: a new mechanism for differentially private selection, 2020.
    Ding, Kifer, Saghaian, Steinke, Wang, Xiao, Zhang, The permute-and-flip mechanism is identical to
    report-noisy-max with exponential noise, 2021.
    """

    def __init__(self, plan: HistogramsPlan, mechanism: DiscreteLaplaceMechanism) -> None:
        self._plan, self._mechanism = plan, mechanism

    def randomize(self, values: IntArray, entropy: Any) -> IntArray:
        """Return the number of every node's chosen candidate, of shape (n_nodes,); -1 if a node has none.

        Candidates are numbered column by column, in each column from the lowest threshold to the highest.
        """
        scores = self._scores(values)
        allowed = ~np.isnan(self._plan.thresholds)
        scores[~allowed] = _NO_CANDIDATE
        chosen = NoisyMax(self._mechanism).randomize(scores, entropy)
        return np.where(allowed.any(axis=1), chosen, -1)

    def _scores(self, values: IntArray) -> IntArray:
        plan = self._plan
        if isinstance(plan, MassHistogramsPlan) and type(plan.masses) is NumberMasses:
            bits = plan.masses.bits
            return np.concatenate([contrast_scores(table, bits) for table in plan.by_column(values)], axis=1)
        return split_scores(values.reshape(plan.partition.n_leaves, plan.n_labels, -1), plan.n_bins)


def split_scores(table: IntArray, n_bins: Sequence[int] | None = None) -> IntArray:
    """Return the scores of the thresholds between bins, in steps of 2^-10 rows; a higher score is purer.

    Parameters
    ----------
    table : ndarray of int64 of shape (n_nodes, n_labels, sum of n_bins)
        Exact counts of rows, or sums of steps of their weights, by bins of every column; at most 2^40 in a
        node.
    n_bins : sequence of int, default=None
        Numbers of bins of the columns; None: there is one column.

    Returns
    -------
    scores : ndarray of int64 of shape (n_nodes, sum of n_bins - 1)
        Minus the sum of the impurities of the bins before and behind the threshold.
    """
    bins = np.array(table.shape[2:] if n_bins is None else n_bins, dtype=np.int32)
    if table[:, :, : bins[0]].sum(axis=(1, 2)).max(initial=0) < _FITS:
        scores = np.empty((len(table), table.shape[2] - len(bins)), dtype=np.int64)
        scratch = np.empty(2 * table.shape[1], dtype=np.int64)
        fill_scores(np.ascontiguousarray(table), bins, 2 ** (IMPURITY_BITS - 1), scratch, scores)
        return scores
    parts = []
    for part in np.split(table, np.cumsum(bins)[:-1], axis=2):
        left = np.cumsum(part[:, :, :-1], axis=2)
        right = part.sum(axis=2, keepdims=True) - left
        parts.append(-(impurity(left) + impurity(right)))
    return np.concatenate(parts, axis=1)


def impurity(counts: IntArray) -> IntArray:
    """Return half of n times the Gini index of label counts, ``floor(2^10 (n - sum c^2 / n) / 2)``, exactly.

    Parameters
    ----------
    counts : ndarray of int64 of shape (n_nodes, n_labels, ...)

    Returns
    -------
    impurity : ndarray of int64 of shape (n_nodes, ...)
        0 if there is no row.
    """
    n = counts.sum(axis=1)
    if n.size and n.max() >= _FITS:
        # Python's integers do not overflow.
        counts, n = counts.astype(object), n.astype(object)
    pairs = n * n - (counts * counts).sum(axis=1)
    n = np.maximum(n, 1)
    half = 2 ** (IMPURITY_BITS - 1)
    return np.asarray(half * (pairs // n) + half * (pairs % n) // n, dtype=np.int64)


def chosen_splits(plan: HistogramsPlan, chosen: IntArray) -> tuple[NDArray[np.int32], FloatArray]:
    """Return column and threshold of the chosen candidates of the nodes; -1 and NaN if there is none."""
    columns = np.repeat(np.arange(len(plan.n_bins)), np.array(plan.n_bins) - 1)
    column = np.where(chosen < 0, -1, columns[chosen]).astype(np.int32)
    threshold = np.where(chosen < 0, np.nan, plan.thresholds[np.arange(len(chosen)), chosen])
    return column, threshold


def most_levels(n_bins: Sequence[int], n_labels: int) -> int:
    """Return the largest number of levels of splits: the counts of the last level take at most 1 GiB."""
    return (MOST_COUNTS // (sum(n_bins) * n_labels)).bit_length()


def grow_private_partition(
    lower: ArrayLike,
    upper: ArrayLike,
    target: int | Masses,
    level_epsilons: Sequence[Fraction],
    rows_per_unit: int,
    n_bins: Sequence[int],
    spent: PrivacySpent | None,
    derived: DerivedColumns | None = None,
) -> Rounds[Partition]:
    """Grow a partition level by level, one round a level.

    Parameters
    ----------
    lower, upper : array-like of shape (n_columns,)
        The public box of the columns that are compared.
    target : int or Masses
        Number of labels, or for numbers and for rows with weights, the contributions of rows to the leaves.
    level_epsilons : sequence of Fraction
        Privacy loss of every level, from the root; the depth of the tree is at most their number.
    rows_per_unit : int
        Largest number of rows that one unit of privacy contributes.
    n_bins : sequence of int
        Number of bins of every column, 2 or more.
    spent : PrivacySpent or None
        The statement that the first round charges. It must cover all levels: the sum of
        `selection_noise(...).epsilon`, for the largest weight of the masses.
    derived : DerivedColumns, default=None
        The columns that are compared; None: those of X.

    Yields
    ------
    round : Round
        It releases the number of the chosen candidate of every current leaf.

    Returns
    -------
    partition : Partition
        A leaf is above the last level only if its box has no width in any column. If the whole box is a
        point, no round is yielded, and nothing is charged here.

    Raises
    ------
    ValueError
        Before the first round: an epsilon is too small, or the last level has too many counts.
    """
    masses = LabelMasses(target) if isinstance(target, int) else target.for_splits()
    mechanisms = [selection_noise(epsilon, rows_per_unit, masses.largest) for epsilon in level_epsilons]
    if len(mechanisms) > most_levels(n_bins, masses.n_cells):
        raise ValueError(
            "the histograms of the last level take more than 1 GiB: declare fewer levels, columns or bins."
        )
    levels: list[tuple[NDArray[np.int32], FloatArray]] = []
    partition = _assemble(levels, lower, upper, derived)
    for mechanism in mechanisms:
        plan = _plan(partition, tuple(n_bins), masses)
        if np.isnan(plan.thresholds).all():
            break
        chosen = yield Round(plan, SplitSelection(plan, mechanism), spent)
        spent = None
        column, threshold = chosen_splits(plan, chosen)
        # Leaves of higher levels come first: they have no candidate.
        n_nodes = np.count_nonzero(partition.depth == len(levels))
        levels.append((column[-n_nodes:], threshold[-n_nodes:]))
        partition = _assemble(levels, lower, upper, derived)
    return partition


def _plan(partition: Partition, n_bins: tuple[int, ...], masses: Masses) -> HistogramsPlan:
    """Return the plan of one level; counting rows without weights is faster."""
    if type(masses) is LabelMasses and masses.largest == 1:
        return HistogramsPlan(partition, n_bins, masses.n_cells)
    return MassHistogramsPlan.of(partition, n_bins, masses)


def _assemble(
    levels: list[tuple[NDArray[np.int32], FloatArray]],
    lower: ArrayLike,
    upper: ArrayLike,
    derived: DerivedColumns | None,
) -> Partition:
    """Return the partition of levels of columns (-1 at leaves) and thresholds; leaves come last."""
    n_leaves = 2 * np.count_nonzero(levels[-1][0] >= 0) if levels else 1
    columns = [*(column for column, _ in levels), np.full(n_leaves, -1, dtype=np.int32)]
    cuts = [np.empty(0), *(threshold[column >= 0] for column, threshold in levels)]
    return Partition.from_splits(np.concatenate(columns), np.concatenate(cuts), lower, upper, derived=derived)


# Budget of a tree whose splits private rows choose: shares of epsilon for the levels and the leaves.

# The constants below were chosen on census, digits, diabetes, breast cancer and four simulations (linear,
# Friedman's, an interaction of binary columns, skewed columns with a rare class) at epsilon 0.1 to 8, with
# 450 to 80,000 rows. benchmarks/figures/trees/trees_utility.py has these and others. Share of epsilon for the
# splits. Of 0.3, 0.5 and 0.7 it was the best, or within an error of the best, everywhere.
SPLIT_SHARE = Fraction(7, 10)
# Share of a level relative to the level above: deeper nodes have fewer rows.
_GROWTH = Fraction(3, 2)
#: Private rows times epsilon, for each public row, above which private rows choose better splits. From 18 on
# they did on skewed, noisy, wide and many-class designs, by up to 0.3 in accuracy. Below 16 public rows often
# did.
ROWS_FOR_A_PUBLIC_ROW = 15
# Number of levels for each doubling of n epsilon, and the number of doublings before the first level.
_LEVELS_PER_DOUBLING, _FIRST_DOUBLING = 0.6, 5
#: Largest number of levels that the automatic rule chooses.
MOST_LEVELS = 12


def automatic_levels(n_rows: int, epsilon: Fraction, rows_per_unit: int = 1) -> int:
    """Return the number of levels of splits for n_rows rows, 0 to 12.

    ``round(0.6 (log2(n epsilon / rows_per_unit) - 5))``, a function of public numbers. With 0 levels the
    whole budget is spent on the base rate.
    """
    information = float(n_rows * epsilon / rows_per_unit)
    if information <= 1:
        return 0
    levels = math.floor(_LEVELS_PER_DOUBLING * (math.log2(information) - _FIRST_DOUBLING) + 0.5)
    return min(max(levels, 0), MOST_LEVELS)


@dataclass(frozen=True)
class SplitBudget:
    """Division of epsilon among bounds of numbers, an order of declared levels, the splits and the leaves.

    Attributes
    ----------
    level_epsilons : tuple of Fraction
        Largest cost of every level, from the root.
    leaf_epsilon : Fraction
        Largest cost of the counts of the leaves.
    rows_per_unit : int
        Largest number of rows of one unit of privacy that count.
    columns : ComparedColumns or None
        The columns that are compared, made of declared ones; None: the columns of X.
    order : NoisyLevelCounts or None
        The mechanism of the counts that order declared levels; None without such counts.
    target : NoisyHistogram or None
        The mechanism of the counts that narrow the bounds of numbers; None without such counts.
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

        `share` of it is spent on the splits. Of that, 0.1 is spent on narrower bounds of numbers, if they are
        narrowed, and 0.3 on the order of declared levels, if they get one. The levels of the tree get the
        rest, and each gets 3/2 of the level above.
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


class PrivateSplitsMechanism:
    """The whole release of a tree whose splits private rows choose, as statements describe it.

    Parameters
    ----------
    budget : SplitBudget
    leaves : NoisyHistogram
        The noise of a single leaf.
    """

    name = "histogram"
    relation = "replace-one"

    def __init__(self, budget: SplitBudget, leaves: NoisyHistogram) -> None:
        self._leaves = leaves.describe_noise()
        self._n_levels = len(budget.level_epsilons)
        self.n_cells, self.n_labels = 1, leaves.n_labels
        # The counts before the splits.
        self._first = {
            getattr(one, "counted", "counts of targets by bins"): one
            for one in (budget.target, budget.order)
            if one is not None
        }
        first = (one.epsilon for one in self._first.values())
        self.epsilon = sum(first, sum(budget.level_epsilons, leaves.epsilon))
        self.sensitivity, self.noise_scale = leaves.sensitivity, leaves.noise_scale
        self._split_epsilon = sum(budget.level_epsilons, Fraction(0))
        self.releases = (
            *(ReleaseRecord.of(name, one) for name, one in self._first.items()),
            *(
                ReleaseRecord(name=f"splits of level {level}", mechanism="report noisy max", epsilon=epsilon)
                for level, epsilon in enumerate(budget.level_epsilons)
            ),
            ReleaseRecord.of("counts of the leaves", leaves),
        )

    def describe(self) -> str:
        """Return a short description of the mechanism."""
        first = "".join(
            f"discrete Laplace noise on {name} at epsilon {float(one.epsilon):g}, "
            f"sensitivity {one.sensitivity}; then "
            for name, one in self._first.items()
        )
        return (
            f"{first}report-noisy-max of splits, {self._n_levels} levels at epsilon "
            f"{float(self._split_epsilon):g} together, then {self._leaves}"
        )

    def simulate(self, categories: Any, random_state: Any = None) -> Any:
        """Raise TypeError: each of several releases depends on the ones before."""
        raise TypeError("a tree whose private rows choose its splits is not released at once.")

    estimate = estimate_cells = variance = simulate
