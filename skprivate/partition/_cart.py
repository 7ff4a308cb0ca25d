# SPDX-License-Identifier: BSD-3-Clause
"""Rule "cart": growth of a partition level by level, at the purest of a bounded number of cuts of a cell."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ._cart_kernels import bin_rows, choose_cuts, part_rows

FloatArray = NDArray[np.float64]

#: Candidates of a feature; a bin number is one byte.
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
) -> tuple[NDArray[np.int32], FloatArray]:
    """Return the features of all nodes, -1 at leaves, and the inner nodes' thresholds, level by level.

    `entropy_terms` are k log k for k from 0 to n, or None for the Gini impurity.
    """
    cuts = candidate_cuts(X, lower, upper)
    bins = np.empty(X.shape[::-1], dtype=np.uint8)
    bin_rows(X, cuts, bins)
    level = CellRows(bins, labels, np.array([0, len(X)], dtype=np.int64))
    # The kernel takes an empty table for the Gini impurity.
    table = np.empty(0) if entropy_terms is None else entropy_terms
    features, thresholds = [], [np.empty(0)]
    for _ in range(max_depth):
        feature, cut, rows_left = level.choose(table, max(1, min_samples_leaf), n_labels)
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
        First row of every cell, and n.
    """

    bins: NDArray[np.uint8]
    labels: NDArray[np.int32]
    start: NDArray[np.int64]

    @property
    def n_cells(self) -> int:
        """Number of cells."""
        return len(self.start) - 1

    def choose(
        self, table: FloatArray, least: int, n_labels: int
    ) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]:
        """Return every cell's feature (-1: a leaf), number of its cut, and number of rows on the left."""
        feature, cut = np.empty((2, self.n_cells), dtype=np.int32)
        rows_left = np.empty(self.n_cells, dtype=np.int64)
        counts = np.zeros((MOST_CUTS + 1, n_labels), dtype=np.int32)
        sums = np.empty((2, n_labels), dtype=np.int32)
        rows = (self.bins, self.labels, self.start)
        choose_cuts(*rows, table, least, counts, sums, feature, cut, rows_left)
        return feature, cut, rows_left

    def split(
        self, feature: NDArray[np.int32], cut: NDArray[np.int32], rows_left: NDArray[np.int64]
    ) -> CellRows:
        """Return the next level; rows of leaves stay behind."""
        inner = feature >= 0
        rows = np.diff(self.start)
        sides = np.column_stack([rows_left, rows - rows_left])[inner]
        start = np.concatenate([[0], np.cumsum(sides, dtype=np.int64)])
        bins = np.empty((len(self.bins), start[-1]), dtype=np.uint8)
        labels, place = np.empty(start[-1], dtype=np.int32), np.empty(len(self.labels), dtype=np.int64)
        part_rows(self.bins, self.labels, self.start, feature, cut, rows_left, place, bins, labels)
        return CellRows(bins, labels, start)


def candidate_cuts(X: FloatArray, lower: FloatArray, upper: FloatArray) -> FloatArray:
    """Return up to 255 ascending cuts per feature, shape (n_features, 255), filled up with NaN.

    Rows count where their values clipped to the box lie. The cuts are the midpoints of adjacent distinct
    values; where there are more than 255, those at the 256-quantiles of the rows.
    """
    cuts = np.full((len(lower), MOST_CUTS), np.nan)
    for j in range(len(lower)):
        # fmin and fmax take NaN for the lower bound: it goes left.
        values = np.sort(np.fmax(np.fmin(X[:, j], upper[j]), lower[j]))
        # Rows before every gap between distinct values.
        gaps = np.flatnonzero(values[1:] > values[:-1]) + 1
        if len(gaps) > MOST_CUTS:
            wanted = np.arange(1, MOST_CUTS + 1) * (len(values) / (MOST_CUTS + 1))
            following = np.minimum(np.searchsorted(gaps, wanted), len(gaps) - 1)
            gaps = gaps[np.unique(following)]
        low, high = values[gaps - 1], values[gaps]
        # Halves do not overflow, but the halves of subnormal numbers may round to the lower value.
        cuts[j, : len(gaps)] = np.maximum(low / 2 + high / 2, np.nextafter(low, high))
    return cuts
