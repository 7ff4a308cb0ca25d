# SPDX-License-Identifier: BSD-3-Clause
"""Growth of a partition level by level: one of the longest edges of every cell is halved."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._typing import BoolArray, FloatArray, IntArray
from ._max_edge_kernels import count_right, mark_sides, route_rows

# A function from right-hand counts (cell, label, feature), totals (cell, label) and allowed features (cell,
# feature) to the feature of every cell, -1 where none is allowed.
EdgeChoice = Callable[[NDArray[np.int32], NDArray[np.int32], BoolArray], NDArray[np.int32]]

# Of an edge: every midpoint fraction is exact.
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

    `places` are all values of a column, ascending, or None where there is a continuum. An edge that holds one
    place is not halved, and a half without a place is cut off without a split. `indicators` are columns of 0
    and 1, each with another column and the only place of that where the indicator is 1.
    """
    rows, box = RoutedRows.at_root(X, labels), Box(lower, upper, places, indicators)
    cells = box.cut_off_empty(Cells.root(rows.labels, n_labels, box))
    features, thresholds, rounds = [], [np.empty(0)], np.array([-1])
    for _ in range(max_depth):
        midpoint = box.midpoints(cells)
        if (cells.rounds != rounds).any():
            # Within a round only the sides of edges that were halved change, which are not looked at.
            mark_sides(rows.X, rows.cell, midpoint, rows.side)
        right = np.zeros((*cells.total.shape, len(lower)), dtype=np.int32)
        count_right(rows.side, rows.cell, rows.labels, right)
        feature = choose(right, cells.total, cells.allowed(right, min_samples_leaf, len(rows.X)))
        features.append(feature)
        thresholds.append(midpoint[np.arange(len(feature)), feature][feature >= 0])
        rounds = np.repeat(cells.rounds[feature >= 0], 2)
        cells = box.cut_off_empty(cells.halve(feature, midpoint, right, rows, box))
    features.append(np.full(len(cells.total), -1, dtype=np.int32))
    return np.concatenate(features), np.concatenate(thresholds)


@dataclass
class RoutedRows:
    """Public rows on their way to the leaves.

    Attributes
    ----------
    X : ndarray of shape (n, n_features)
    labels : ndarray of int32 of shape (n,)
    cell : ndarray of int32 of shape (n,)
        Number of the row's cell in the current level; -1 where that became a leaf.
    side : ndarray of uint8 of shape (n, n_features)
        1 where the row is right of its cell's midpoint.
    """

    X: FloatArray
    labels: NDArray[np.int32]
    cell: NDArray[np.int32]
    side: NDArray[np.uint8]

    @classmethod
    def at_root(cls, X: FloatArray, labels: NDArray[np.int32]) -> RoutedRows:
        """Return the rows in the first cell."""
        return cls(X, labels, np.zeros(len(X), dtype=np.int32), np.empty(X.shape, dtype=np.uint8))


@dataclass(frozen=True)
class Cells:
    """Cells of one level, in node order.

    Attributes
    ----------
    coordinate : ndarray of int64 of shape (n_cells, n_features)
        Number of the cell along every feature, among those of its size.
    halvings : ndarray of int64 of shape (n_cells, n_features)
        How often every edge was halved.
    first, last : ndarray of int64 of shape (n_cells, n_features)
        The places in the cell are those from the first one to before the last one; 0 and 2 where there is a
        continuum, of which there is always more to part.
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
        last = [[2 if places is None else len(places) for places in box.places_of_columns]]
        return cls(zeros, zeros, zeros, np.array(last, dtype=np.int64) * (box.lower < box.upper), total)

    @property
    def splittable(self) -> BoolArray:
        """Which edges have something to part, shape (n_cells, n_features)."""
        return self.last - self.first > 1

    @property
    def rounds(self) -> IntArray:
        """How often the longest edges of every cell were halved, shape (n_cells,)."""
        halvings = np.where(self.splittable, self.halvings, np.iinfo(np.int64).max)
        found: IntArray = halvings.min(axis=1)
        return found

    def allowed(self, right: NDArray[np.int32], min_samples_leaf: int, n_rows: int) -> BoolArray:
        """Longest edges with enough rows on both sides, in cells with a row; all of them if no cell has."""
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
        self,
        feature: NDArray[np.int32],
        midpoint: FloatArray,
        right: NDArray[np.int32],
        rows: RoutedRows,
        box: Box,
    ) -> Cells:
        """Split every cell with a feature, move the rows; return the children."""
        parent = np.flatnonzero(feature >= 0)
        chosen = feature[parent]
        child = np.zeros(len(feature), dtype=np.int32)
        child[parent] = 2 * np.arange(len(parent))
        route_rows(rows.side, feature, child, rows.cell)
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
            # Where the one is known, so is the other.
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
        All values of a column, ascending, or None where there is a continuum; empty: it is one everywhere.
    indicators : mapping of int to (int, float)
        Columns of 0 and 1, and another column with its only place where the indicator is 1.
    """

    lower: FloatArray
    upper: FloatArray
    places: Sequence[FloatArray | None]
    indicators: Mapping[int, tuple[int, float]]

    @property
    def places_of_columns(self) -> Sequence[FloatArray | None]:
        """Places of every column."""
        return self.places or [None] * len(self.lower)

    @property
    def columns_of_places(self) -> list[tuple[int, FloatArray]]:
        """Columns that have places, and these."""
        return [(column, places) for column, places in enumerate(self.places) if places is not None]

    def midpoints(self, cells: Cells) -> FloatArray:
        """Midpoints of all edges, shape (n_cells, n_features)."""
        return _midpoints(cells.coordinate, cells.halvings, self.lower, self.upper)

    def cut_off_empty(self, cells: Cells) -> Cells:
        """Halve edges, without a split, until there are places in both halves or the edge holds one only."""
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
                # Places that are so close count as one.
                close = idle & (halvings[:, column] == _MOST_HALVINGS)
                last[close, column] = first[close] + 1
                coordinate[idle, column] = (2 * coordinate[:, column] + all_right)[idle]
                halvings[idle, column] += 1
        return replace(cells, coordinate=coordinate, halvings=halvings, last=last)


def _midpoints(coordinate: IntArray, halvings: IntArray, lower: Any, upper: Any) -> FloatArray:
    """Midpoints of edges number `coordinate` among 2^halvings, in (lower, upper]."""
    share = np.ldexp(2.0 * coordinate + 1.0, -1 - halvings)
    # The weights are exact and add up to 1: no box overflows, and a power of two scales through.
    middle = lower * (1 - share) + upper * share
    return np.clip(middle, np.nextafter(lower, upper), upper)
