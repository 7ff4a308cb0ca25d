# SPDX-License-Identifier: BSD-3-Clause
"""Growth of a partition level by level: one of the longest edges of every cell is halved."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ._max_edge_kernels import count_right, mark_sides, route_rows

# A function from right-hand counts (cell, label, feature), totals (cell, label) and allowed features (cell,
# feature) to the feature of every cell, -1 where none is allowed.
EdgeChoice = Callable[[NDArray[np.int32], NDArray[np.int32], NDArray[np.bool_]], NDArray[np.int32]]


def grow_by_halving(
    X: NDArray[np.float64],
    labels: NDArray[np.int32],
    lower: NDArray[np.float64],
    upper: NDArray[np.float64],
    choose: EdgeChoice,
    max_depth: int,
    n_labels: int,
    min_samples_leaf: int,
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return the features of all nodes, -1 at leaves, and the inner nodes' thresholds, level by level."""
    rows, splittable = RoutedRows.at_root(X, labels), lower < upper
    cells = Cells.root(rows.labels, n_labels, splittable)
    features, thresholds = [], [np.empty(0)]
    for depth in range(max_depth if splittable.any() else 0):
        halvings, remainder = divmod(depth, int(splittable.sum()))
        if remainder == 0:
            # Longest edges first: at this depth every cell has halved each edge equally often.
            cells = cells.start_round(halvings, lower, upper, splittable)
            mark_sides(rows.X, rows.cell, cells.midpoint, rows.side)
        right = np.zeros((*cells.total.shape, len(lower)), dtype=np.int32)
        count_right(rows.side, rows.cell, rows.labels, right)
        feature = choose(right, cells.total, cells.allowed(right, min_samples_leaf, len(rows.X)))
        features.append(feature)
        cells, threshold = cells.halve(feature, right, rows)
        thresholds.append(threshold)
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

    X: NDArray[np.float64]
    labels: NDArray[np.int32]
    cell: NDArray[np.int32]
    side: NDArray[np.uint8]

    @classmethod
    def at_root(cls, X: NDArray[np.float64], labels: NDArray[np.int32]) -> RoutedRows:
        """Return the rows in the first cell."""
        return cls(X, labels, np.zeros(len(X), dtype=np.int32), np.empty(X.shape, dtype=np.uint8))


@dataclass(frozen=True)
class Cells:
    """Cells of one level, in node order.

    Attributes
    ----------
    coordinate : ndarray of int64 of shape (n_cells, n_features)
        Number of the cell along every feature, among those of its size.
    midpoint : ndarray of shape (n_cells, n_features)
        Midpoints of its edges.
    longest : ndarray of bool of shape (n_cells, n_features)
        Which edges were halved the fewest times.
    total : ndarray of int32 of shape (n_cells, n_labels)
        Public rows by label.
    """

    coordinate: NDArray[np.int64]
    midpoint: NDArray[np.float64]
    longest: NDArray[np.bool_]
    total: NDArray[np.int32]

    @classmethod
    def root(cls, labels: NDArray[np.int32], n_labels: int, splittable: NDArray[np.bool_]) -> Cells:
        """Return the box as the only cell."""
        total = np.bincount(labels, minlength=n_labels).astype(np.int32)[np.newaxis]
        shape = (1, len(splittable))
        return cls(np.zeros(shape, dtype=np.int64), np.empty(shape), splittable[np.newaxis], total)

    def start_round(
        self,
        halvings: int,
        lower: NDArray[np.float64],
        upper: NDArray[np.float64],
        splittable: NDArray[np.bool_],
    ) -> Cells:
        """Return the cells after all edges were halved equally often: all of them are longest again."""
        midpoint = _midpoints(self.coordinate, halvings, lower, upper)
        return replace(self, midpoint=midpoint, longest=np.tile(splittable, (len(midpoint), 1)))

    def allowed(self, right: NDArray[np.int32], min_samples_leaf: int, n_rows: int) -> NDArray[np.bool_]:
        """Longest edges with enough rows on both sides, in cells with a row; all of them if no cell has."""
        if n_rows == 0:
            return self.longest
        rows = self.total.sum(axis=1)[:, np.newaxis]
        allowed = self.longest & (rows > 0)
        if min_samples_leaf == 0:
            return allowed
        rows_right = right.sum(axis=1)
        return allowed & (np.minimum(rows_right, rows - rows_right) >= min_samples_leaf)

    def halve(
        self, feature: NDArray[np.int32], right: NDArray[np.int32], rows: RoutedRows
    ) -> tuple[Cells, NDArray[np.float64]]:
        """Split every cell with a feature, move the rows; return the children and the thresholds."""
        parent = np.flatnonzero(feature >= 0)
        chosen = feature[parent]
        child = np.zeros(len(feature), dtype=np.int32)
        child[parent] = 2 * np.arange(len(parent))
        route_rows(rows.side, feature, child, rows.cell)
        total_right = right[parent, :, chosen]
        total = np.stack([self.total[parent] - total_right, total_right], axis=1)
        twins, cut = np.repeat(parent, 2), np.repeat(chosen, 2)
        each = np.arange(len(twins))
        coordinate, longest = self.coordinate[twins], self.longest[twins]
        coordinate[each, cut] = 2 * coordinate[each, cut] + each % 2
        longest[each, cut] = False
        cells = Cells(coordinate, self.midpoint[twins], longest, total.reshape(-1, total.shape[2]))
        return cells, self.midpoint[parent, chosen]


def _midpoints(
    coordinate: NDArray[np.int64], halvings: int, lower: NDArray[np.float64], upper: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Midpoints of edges number `coordinate` among 2^halvings, in (lower, upper]."""
    share = (2 * coordinate + 1) * 0.5 ** (halvings + 1)
    # The weights are exact and add up to 1: no box overflows, and a power of two scales through.
    middle = lower * (1 - share) + upper * share
    return np.clip(middle, np.nextafter(lower, upper), upper)
