# SPDX-License-Identifier: BSD-3-Clause
"""Growth of a partition level by level: choose a longest edge per cell, halve it, move the public rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._max_edge_kernels import choose_by_entropy, choose_by_gini, count_right, mark_sides, route_rows

# From right-hand counts (cell, label, dimension), totals (cell, label) and allowed dimensions (cell,
# dimension) to each cell's feature, -1 where none is allowed.
Chooser = Callable[[NDArray[np.int32], NDArray[np.int32], NDArray[np.bool_]], NDArray[np.int32]]


def grow(
    rows: Rows,
    lower: NDArray[np.float64],
    upper: NDArray[np.float64],
    choose: Chooser,
    max_depth: int,
    n_labels: int,
    min_samples_leaf: int,
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return the features of all nodes, -1 at leaves, and the inner nodes' thresholds, level by level."""
    splittable = lower < upper
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
class Rows:
    """Public rows on their way down: cell in the current level (-1 at rest), sides of its midpoints."""

    X: NDArray[np.float64]
    labels: NDArray[np.int32]
    cell: NDArray[np.int32]
    side: NDArray[np.uint8]

    @classmethod
    def start(cls, X: ArrayLike, labels: ArrayLike, n_labels: int, n_features: int) -> Rows:
        rows, marks = np.ascontiguousarray(X, dtype=np.float64), np.asarray(labels)
        if rows.ndim != 2 or rows.shape[1] != n_features:
            raise ValueError(f"X must have shape (n, {n_features}), got {np.shape(X)}")
        if marks.shape != (len(rows),):
            raise ValueError(f"labels must have shape ({len(rows)},), got {marks.shape}")
        if marks.size and (marks.dtype.kind not in "iub" or marks.min() < 0 or marks.max() >= n_labels):
            raise ValueError(f"labels must be integers from 0 to {n_labels - 1}")
        marks = np.ascontiguousarray(marks, dtype=np.int32)
        return cls(rows, marks, np.zeros(len(rows), dtype=np.int32), np.empty(rows.shape, dtype=np.uint8))


@dataclass(frozen=True)
class Cells:
    """Cells of one level in node order: integer coordinates, midpoints and longest edges; label totals."""

    coordinate: NDArray[np.int64]
    midpoint: NDArray[np.float64]
    longest: NDArray[np.bool_]
    total: NDArray[np.int32]

    @classmethod
    def root(cls, labels: NDArray[np.int32], n_labels: int, splittable: NDArray[np.bool_]) -> Cells:
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
        self, feature: NDArray[np.int32], right: NDArray[np.int32], rows: Rows
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


def chooser(rule: str, criterion: str, seed: int, n_rows: int) -> Chooser:
    """Return the rule as a function; it is "random" where there is no row to judge by."""
    if rule == "random" or n_rows == 0:
        # Raw words: NumPy keeps a bit generator's stream for good, but not what its methods make of it.
        words = np.random.default_rng(seed).bit_generator
        return lambda right, total, allowed: _draw(allowed, words.random_raw(len(allowed)))
    if criterion == "gini":
        return lambda right, total, allowed: _choose(choose_by_gini, right, total, allowed)
    table = x_log_x(n_rows)
    return lambda right, total, allowed: _choose(choose_by_entropy, right, total, allowed, table)


def x_log_x(n_rows: int) -> NDArray[np.float64]:
    """Return k log k for k from 0 to `n_rows`."""
    count = np.arange(n_rows + 1.0)
    return count * np.log(np.maximum(count, 1))


def _choose(
    kernel: Callable[..., None],
    right: NDArray[np.int32],
    total: NDArray[np.int32],
    allowed: NDArray[np.bool_],
    *table: NDArray[np.float64],
) -> NDArray[np.int32]:
    feature = np.empty(len(allowed), dtype=np.int32)
    kernel(right, total, allowed.view(np.uint8), *table, feature)
    return feature


def _draw(allowed: NDArray[np.bool_], words: NDArray[np.uint64]) -> NDArray[np.int32]:
    """Draw one allowed dimension per cell, -1 where there is none."""
    choices = allowed.sum(axis=1)
    rank = (words % np.maximum(choices, 1).astype(np.uint64)).astype(np.int64)
    feature = np.argmax(np.cumsum(allowed, axis=1) > rank[:, np.newaxis], axis=1)
    return np.where(choices > 0, feature, -1).astype(np.int32)
