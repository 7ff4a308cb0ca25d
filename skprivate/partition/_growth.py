# SPDX-License-Identifier: BSD-3-Clause
"""Growth of a partition on public rows, by one of three rules: max-edge, cart and random."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._typing import BoolArray, FloatArray, IntArray, SplitCriterion, SplitRule
from ..domain._table_domain import ColumnGroup
from ._cart_kernels import bin_rows, choose_cuts, part_rows, place_cuts
from ._derived_columns import derive_columns, settle_missing
from ._max_edge_kernels import choose_by_entropy, choose_by_gini, count_right, mark_sides, route_rows
from ._partition import DEPTH_LIMIT, DerivedColumns, Partition, as_rows, check_box

RULES: tuple[SplitRule, ...] = get_args(SplitRule)
CRITERIA: tuple[SplitCriterion, ...] = get_args(SplitCriterion)


def build_partition(
    X: ArrayLike,
    labels: ArrayLike,
    *,
    lower: ArrayLike,
    upper: ArrayLike,
    max_depth: int,
    n_labels: int = 2,
    rule: SplitRule = "max-edge",
    criterion: SplitCriterion = "gini",
    min_samples_leaf: int = 0,
    seed: int = 0,
    groups: Sequence[ColumnGroup] | None = None,
    copies: int = 1,
) -> Partition:
    """Grow a partition of the box [lower, upper] on public rows, by halving longest edges or like CART.

    Halving: a cell splits if it holds a public row, is shallower than `max_depth`, and halving one of its
    longest edges leaves `min_samples_leaf` public rows on both sides. The longest edges are those that were
    halved the fewest times; edges of length 0 do not count. The split is at the midpoint of the edge. Without
    public rows the rule is "random", and every cell splits: the tree is complete.

    CART: a cell splits if it holds public rows of two labels, is shallower than `max_depth`, and a cut leaves
    `min_samples_leaf` public rows, and at least one, on both sides. It need not lower the impurity. The cuts
    of a feature are the midpoints of adjacent distinct public values in the box. If there are more than 255,
    they are those at the 256-quantiles of the public rows.

    With `groups` the rows are encoded by a `TableDomain`, and columns are first derived from them, by the
    public rows. Levels without an order get places by their labels, so that a split sends a subset of them
    left. Missing cells get a side of the numbers. Halving ignores edges unless both halves hold a possible
    value of the column.

    Parameters
    ----------
    X : array-like of float, shape (n, n_features)
        Public rows; 0 rows are allowed. Rows outside the box count with their clipped values.
    labels : array-like of int, shape (n,)
        Public labels, 0 to `n_labels - 1`; with `copies`, the number of a row's copies that have label 1.
    lower, upper : array-like of float, shape (n_features,)
        The public box; finite, lower <= upper.
    max_depth : int
        Largest depth of a leaf, 0 to 30.
    n_labels : int, default=2
        Number of labels.
    rule : {"max-edge", "cart", "random"}, default="max-edge"
        The choice of a split. "max-edge", "cart": the longest edge, or the cut, with the smallest weighted
        impurity of the two sides; among ties the lowest feature, then the lowest cut. "random": one of the
        longest edges, drawn at random.
    criterion : {"gini", "entropy"}, default="gini"
        Impurity for "max-edge" and "cart". Gini scores are compared exactly. Entropies that differ only by
        rounding are ties.
    min_samples_leaf : int, default=0
        Smallest number of public rows in a child. 0 allows empty cells, except for "cart". No effect without
        public rows.
    seed : int, default=0
        Public seed of "random", 0 or more. One word is drawn for each node, level by level, so that the
        partition of a smaller depth is a truncation.
    groups : sequence, default=None
        `TableDomain.groups` of encoded rows; None: every column is a number.
    copies : int, default=1
        Number of copies of a row, with two labels: those without label 1 have label 0. `min_samples_leaf`
        counts rows.

    Returns
    -------
    Partition
        The partition; building at a smaller `max_depth` gives its truncation.

    References
    ----------
    Ma, Y. and Yang, H. "Optimal Locally Private Nonparametric Classification with Public Data", section 3.

    Breiman, L., Friedman, J., Olshen, R. and Stone, C. "Classification and Regression Trees", 1984.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.1, 0.2], [0.7, 0.3], [0.8, 0.9]])
    >>> partition = build_partition(X, [0, 1, 1], lower=[0, 0], upper=[1, 1], max_depth=2)
    >>> partition
    Partition(n_leaves=4, max_depth=2, n_features=2)
    >>> partition.apply(X)
    array([0, 2, 3], dtype=int32)
    """
    low, high = check_box(lower, upper)
    _check_options(max_depth, n_labels, rule, criterion, min_samples_leaf)
    rows, marks = _check_rows(X, labels, n_labels if copies == 1 else copies + 1, len(low))
    limits = (max_depth, n_labels, min_samples_leaf * copies)
    derived: DerivedColumns | None = None
    known: tuple[Any, ...] = ()
    if groups is not None:
        by_cuts = rule == "cart" and len(rows) > 0
        box = derive_columns(
            groups, rows, marks, low, high, n_labels=n_labels, two_sides=by_cuts, copies=copies
        )
        derived, low, high = box.columns, box.lower, box.upper
        known = box.places, box.indicators
        rows = derived.apply(rows)
    if copies > 1 and rule != "cart":
        rows = np.repeat(rows, copies, axis=0)
        marks = (np.arange(copies) < marks[:, np.newaxis]).astype(np.int32).ravel()
    # Without rows, edges cannot be compared.
    if rule == "random" or len(rows) == 0:
        splits = grow_by_halving(rows, marks, low, high, random_edges(seed), *limits, *known)
    elif rule == "cart":
        terms = _entropy_terms(criterion, copies * len(rows))
        splits = grow_by_cuts(rows, marks, low, high, terms, *limits, copies)
        if derived is not None:
            splits = settle_missing(*splits, rows, derived), splits[1]
    else:
        choose = purest_edges(_entropy_terms(criterion, len(rows)))
        splits = grow_by_halving(rows, marks, low, high, choose, *limits, *known)
    return Partition.from_splits(*splits, low, high, derived)


def _entropy_terms(criterion: str, n_rows: int) -> FloatArray | None:
    """Return k log k for k from 0 to `n_rows`, the terms of entropies; None for the Gini impurity."""
    if criterion == "gini":
        return None
    count = np.arange(n_rows + 1.0)
    return count * np.log(np.maximum(count, 1))


def _check_options(max_depth: int, n_labels: int, rule: str, criterion: str, min_samples_leaf: int) -> None:
    if not 0 <= max_depth <= DEPTH_LIMIT:
        raise ValueError(f"max_depth must lie between 0 and {DEPTH_LIMIT}, got {max_depth}")
    if n_labels < 2 or min_samples_leaf < 0:
        raise ValueError("n_labels must be at least 2 and min_samples_leaf at least 0")
    if rule not in RULES or criterion not in CRITERIA:
        raise ValueError(f"rule must be one of {RULES} and criterion one of {CRITERIA}")


def _check_rows(
    X: ArrayLike, labels: ArrayLike, n_labels: int, n_features: int
) -> tuple[FloatArray, NDArray[np.int32]]:
    rows, marks = as_rows(X, n_features), np.asarray(labels)
    if marks.shape != (len(rows),):
        raise ValueError(f"labels must have shape ({len(rows)},), got {marks.shape}")
    if marks.size and (marks.dtype.kind not in "iub" or marks.min() < 0 or marks.max() >= n_labels):
        raise ValueError(f"labels must be integers from 0 to {n_labels - 1}")
    return rows, np.ascontiguousarray(marks, dtype=np.int32)


# Growth of a partition level by level, by halving one of the longest edges of every cell.

# A function from right-hand counts (cell, label, feature), totals (cell, label) and allowed features (cell,
# feature) to the feature of every cell, or -1 if none is allowed.
EdgeChoice = Callable[[NDArray[np.int32], NDArray[np.int32], BoolArray], NDArray[np.int32]]

# Largest number of halvings of an edge, for which every midpoint fraction is exact.
_MOST_HALVINGS = 50


def grow_by_halving(
    X: FloatArray,
    labels: NDArray[np.int32],
    lower: FloatArray,
    upper: FloatArray,
    choose: EdgeChoice,
    max_depth: int,
    n_labels: int,
    min_samples_leaf: int,
    places: Sequence[FloatArray | None] = (),
    indicators: Mapping[int, tuple[int, float]] = MappingProxyType({}),
) -> tuple[NDArray[np.int32], FloatArray]:
    """Return the features of all nodes, -1 at leaves, and the inner nodes' thresholds, level by level.

    `places` are all values of a column, ascending, or None for a continuum. An edge with one place is not
    halved, and a half without a place is cut off without a split. `indicators` are columns of 0 and 1, each
    with another column and the only place of that column where the indicator is 1.
    """
    box = Box(lower, upper, places, indicators)
    cells = box.cut_off_empty(Cells.root(labels, n_labels, box))
    # The cell of every row in the current level, -1 if it became a leaf; and 1 if the row is right of its
    # cell's midpoint.
    cell, side = np.zeros(len(X), dtype=np.int32), np.empty(X.shape, dtype=np.uint8)
    features, thresholds, rounds = [], [np.empty(0)], np.array([-1])
    for _ in range(max_depth):
        midpoint = box.midpoints(cells)
        if (cells.rounds != rounds).any():
            # Within a round only the sides of halved edges change, and these are not used.
            mark_sides(X, cell, midpoint, side)
        right = np.zeros((*cells.total.shape, len(lower)), dtype=np.int32)
        count_right(side, cell, labels, right)
        feature = choose(right, cells.total, cells.allowed(right, min_samples_leaf, len(X)))
        features.append(feature)
        thresholds.append(midpoint[np.arange(len(feature)), feature][feature >= 0])
        rounds = np.repeat(cells.rounds[feature >= 0], 2)
        # The left child of every split cell.
        child = (2 * (np.cumsum(feature >= 0) - 1)).astype(np.int32)
        route_rows(side, feature, child, cell)
        cells = box.cut_off_empty(cells.halve(feature, midpoint, right, box))
    features.append(np.full(len(cells.total), -1, dtype=np.int32))
    return np.concatenate(features), np.concatenate(thresholds)


@dataclass(frozen=True)
class Cells:
    """Cells of one level, in node order.

    Attributes
    ----------
    coordinate : ndarray of int64 of shape (n_cells, n_features)
        Number of the cell along every feature, among those of its size.
    halvings : ndarray of int64 of shape (n_cells, n_features)
        Number of times that every edge was halved.
    first, last : ndarray of int64 of shape (n_cells, n_features)
        The places in the cell are those from `first` to before `last`; 0 and 2 for a continuum, which can
        always be divided.
    total : ndarray of int32 of shape (n_cells, n_labels)
        Public rows by label.
    """

    coordinate: IntArray
    halvings: IntArray
    first: IntArray
    last: IntArray
    total: NDArray[np.int32]

    @classmethod
    def root(cls, labels: NDArray[np.int32], n_labels: int, box: Box) -> Cells:
        """Return the box as the only cell."""
        total = np.bincount(labels, minlength=n_labels).astype(np.int32)[np.newaxis]
        zeros = np.zeros((1, len(box.lower)), dtype=np.int64)
        last = [[2 if places is None else len(places) for places in box.places or [None] * len(box.lower)]]
        return cls(zeros, zeros, zeros, np.array(last, dtype=np.int64) * (box.lower < box.upper), total)

    @cached_property
    def splittable(self) -> BoolArray:
        """Whether an edge can be divided, shape (n_cells, n_features)."""
        return self.last - self.first > 1

    @cached_property
    def rounds(self) -> IntArray:
        """Number of times that the longest edges of every cell were halved, shape (n_cells,)."""
        halvings = np.where(self.splittable, self.halvings, np.iinfo(np.int64).max)
        return halvings.min(axis=1)

    def allowed(self, right: NDArray[np.int32], min_samples_leaf: int, n_rows: int) -> BoolArray:
        """Longest edges with enough rows on both sides, in cells with rows; without rows all of them."""
        longest = self.splittable & (self.halvings == self.rounds[:, np.newaxis])
        if n_rows == 0:
            return longest
        rows = self.total.sum(axis=1)[:, np.newaxis]
        allowed = longest & (rows > 0)
        if min_samples_leaf == 0:
            return allowed
        rows_right = right.sum(axis=1)
        return allowed & (np.minimum(rows_right, rows - rows_right) >= min_samples_leaf)

    def halve(
        self, feature: NDArray[np.int32], midpoint: FloatArray, right: NDArray[np.int32], box: Box
    ) -> Cells:
        """Return the children of the cells with a feature."""
        parent = np.flatnonzero(feature >= 0)
        chosen = feature[parent]
        total_right = right[parent, :, chosen]
        total = np.stack([self.total[parent] - total_right, total_right], axis=1)
        twins, cut = np.repeat(parent, 2), np.repeat(chosen, 2)
        each = np.arange(len(twins))
        coordinate, halvings = self.coordinate[twins], self.halvings[twins]
        coordinate[each, cut] = 2 * coordinate[each, cut] + each % 2
        halvings[each, cut] += 1
        first, last = self.first[twins], self.last[twins]
        for column, places in box.columns_of_places:
            split = np.flatnonzero(chosen == column)
            border = np.searchsorted(places, midpoint[parent[split], column])
            last[2 * split, column] = first[2 * split + 1, column] = border
        for indicator, (value, place) in box.indicators.items():
            # If one of the two is known, so is the other.
            ones = 2 * np.flatnonzero(chosen == indicator) + 1
            last[ones, value] = first[ones, value] + 1
            split = np.flatnonzero(chosen == value)
            zeros = 2 * split + (place < midpoint[parent[split], value])
            last[zeros, indicator] = first[zeros, indicator] + 1
        return Cells(coordinate, halvings, first, last, total.reshape(-1, total.shape[2]))


@dataclass(frozen=True)
class Box:
    """The box that is cut into cells.

    Attributes
    ----------
    lower, upper : ndarray of shape (n_features,)
    places : sequence of ndarray or None
        All values of a column, ascending, or None for a continuum; empty if all columns are continua.
    indicators : mapping of int to (int, float)
        Columns of 0 and 1, each with another column and its only place where the indicator is 1.
    """

    lower: FloatArray
    upper: FloatArray
    places: Sequence[FloatArray | None]
    indicators: Mapping[int, tuple[int, float]]

    @property
    def columns_of_places(self) -> list[tuple[int, FloatArray]]:
        """Columns that have places, with the places."""
        return [(column, places) for column, places in enumerate(self.places) if places is not None]

    def midpoints(self, cells: Cells) -> FloatArray:
        """Midpoints of all edges, shape (n_cells, n_features)."""
        return _midpoints(cells.coordinate, cells.halvings, self.lower, self.upper)

    def cut_off_empty(self, cells: Cells) -> Cells:
        """Halve edges, without a split, until there are places in both halves or only one is left."""
        if not self.columns_of_places:
            return cells
        coordinate, halvings, last = cells.coordinate.copy(), cells.halvings.copy(), cells.last.copy()
        for column, places in self.columns_of_places:
            ends, first = (self.lower[column], self.upper[column]), cells.first[:, column]
            while True:
                midpoint = _midpoints(coordinate[:, column], halvings[:, column], *ends)
                border = np.searchsorted(places, midpoint)
                all_right = border <= first
                idle = (last[:, column] - first > 1) & (all_right | (border >= last[:, column]))
                if not idle.any():
                    break
                # Places that are closer count as one.
                close = idle & (halvings[:, column] == _MOST_HALVINGS)
                last[close, column] = first[close] + 1
                coordinate[idle, column] = (2 * coordinate[:, column] + all_right)[idle]
                halvings[idle, column] += 1
        return replace(cells, coordinate=coordinate, halvings=halvings, last=last)


def _midpoints(coordinate: IntArray, halvings: IntArray, lower: Any, upper: Any) -> FloatArray:
    """Midpoints of the edges with number `coordinate` among 2^halvings, in (lower, upper]."""
    share = np.ldexp(2.0 * coordinate + 1.0, -1 - halvings)
    # The weights are exact and add up to 1: no box overflows, and scaling by a power of two is exact.
    middle = lower * (1 - share) + upper * share
    return np.clip(middle, np.nextafter(lower, upper), upper)


# Rule "max-edge": among the longest edges of a cell, the one whose halves separate the public labels best.


def purest_edges(entropy_terms: FloatArray | None) -> EdgeChoice:
    """Return the rule as a function; `entropy_terms` are k log k, or None for the Gini impurity."""

    def choose(right: NDArray[np.int32], total: NDArray[np.int32], allowed: BoolArray) -> NDArray[np.int32]:
        feature = np.empty(len(allowed), dtype=np.int32)
        if entropy_terms is None:
            choose_by_gini(right, total, allowed.view(np.uint8), feature)
        else:
            choose_by_entropy(right, total, allowed.view(np.uint8), entropy_terms, feature)
        return feature

    return choose


# Rule "random": one of the longest edges of every cell, drawn with a public seed.


def random_edges(seed: int) -> EdgeChoice:
    """Return the rule as a function that draws one word for each cell."""
    # Raw words: NumPy guarantees the stream of a bit generator, but not the results of a generator's methods.
    words = np.random.default_rng(seed).bit_generator
    return lambda right, total, allowed: _draw(allowed, words.random_raw(len(allowed)))


def _draw(allowed: BoolArray, words: NDArray[np.uint64]) -> NDArray[np.int32]:
    """Draw one allowed feature for each cell, -1 if there is none."""
    choices = allowed.sum(axis=1)
    rank = (words % np.maximum(choices, 1).astype(np.uint64)).astype(np.int64)
    feature = np.argmax(np.cumsum(allowed, axis=1) > rank[:, np.newaxis], axis=1)
    return np.where(choices > 0, feature, -1).astype(np.int32)


# Rule "cart": growth of a partition level by level, with the best among a limited number of cuts of a cell.

#: Largest number of candidate cuts of a feature, so that a bin number is one byte.
MOST_CUTS = 255


def grow_by_cuts(
    X: FloatArray,
    labels: NDArray[np.int32],
    lower: FloatArray,
    upper: FloatArray,
    entropy_terms: FloatArray | None,
    max_depth: int,
    n_labels: int,
    min_samples_leaf: int,
    copies: int,
) -> tuple[NDArray[np.int32], FloatArray]:
    """Return the features of all nodes, -1 at leaves, and the inner nodes' thresholds, level by level.

    `entropy_terms` are k log k for k from 0 to n, or None for the Gini impurity. `min_samples_leaf` and n
    count copies.
    """
    cuts = candidate_cuts(X, lower, upper)
    bins = np.empty(X.shape[::-1], dtype=np.uint8)
    bin_rows(X, cuts, bins)
    level = CellRows(bins, labels, np.array([0, len(X)], dtype=np.int64))
    # The kernel takes an empty table for the Gini impurity.
    table = np.empty(0) if entropy_terms is None else entropy_terms
    features, thresholds = [], [np.empty(0)]
    for _ in range(max_depth):
        feature, cut, rows_left = level.choose(table, max(1, min_samples_leaf), n_labels, copies)
        features.append(feature)
        thresholds.append(cuts[feature, cut][feature >= 0])
        level = level.split(feature, cut, rows_left)
    features.append(np.full(level.n_cells, -1, dtype=np.int32))
    return np.concatenate(features), np.concatenate(thresholds)


@dataclass(frozen=True)
class CellRows:
    """Public rows of one level, cell by cell.

    Attributes
    ----------
    bins : ndarray of uint8 of shape (n_features, n)
        Number of the candidate cuts at or below a value.
    labels : ndarray of int32 of shape (n,)
    start : ndarray of int64 of shape (n_cells + 1,)
        First row of every cell, and at the end n.
    """

    bins: NDArray[np.uint8]
    labels: NDArray[np.int32]
    start: IntArray

    @property
    def n_cells(self) -> int:
        """Number of cells."""
        return len(self.start) - 1

    def choose(
        self, table: FloatArray, least: int, n_labels: int, copies: int
    ) -> tuple[NDArray[np.int32], NDArray[np.int32], IntArray]:
        """Return every cell's feature (-1: a leaf), number of its cut, and number of rows on the left."""
        feature, cut = np.empty((2, self.n_cells), dtype=np.int32)
        rows_left = np.empty(self.n_cells, dtype=np.int64)
        counts = np.zeros((MOST_CUTS + 1, n_labels), dtype=np.int32)
        sums = np.empty((2, n_labels), dtype=np.int32)
        rows = (self.bins, self.labels, self.start)
        choose_cuts(*rows, table, least, copies, counts, sums, feature, cut, rows_left)
        return feature, cut, rows_left

    def split(self, feature: NDArray[np.int32], cut: NDArray[np.int32], rows_left: IntArray) -> CellRows:
        """Return the next level, without the rows of leaves."""
        inner = feature >= 0
        rows = np.diff(self.start)
        sides = np.column_stack([rows_left, rows - rows_left])[inner]
        start = np.concatenate([[0], np.cumsum(sides, dtype=np.int64)])
        bins = np.empty((len(self.bins), start[-1]), dtype=np.uint8)
        labels, place = np.empty(start[-1], dtype=np.int32), np.empty(len(self.labels), dtype=np.int64)
        part_rows(self.bins, self.labels, self.start, feature, cut, rows_left, place, bins, labels)
        return CellRows(bins, labels, start)


def candidate_cuts(X: FloatArray, lower: FloatArray, upper: FloatArray) -> FloatArray:
    """Return up to 255 ascending cuts for each feature, shape (n_features, 255), padded with NaN.

    Rows count with their values clipped to the box. The cuts are the midpoints of adjacent distinct values.
    If there are more than 255, they are those at the 256-quantiles of the rows.
    """
    cuts = np.full((len(lower), MOST_CUTS), np.nan)
    # fmin and fmax replace NaN by a bound, so that it goes left.
    within = np.fmax(np.fmin(X, upper, order="F"), lower, order="F").T
    place_cuts(within, np.empty(len(X), dtype=np.uint64), cuts)
    return cuts
