# SPDX-License-Identifier: BSD-3-Clause
"""Layouts of a site's rows, one per kernel; each averages y around queries for several sizes at once.

A size is a bandwidth, or a number of neighbours. Rows are scaled to [0, 1]; queries are scaled on the way by
``ranges``, an array of four lines: lower, upper, a unit, the width in units. `averages` returns values and
support, both of shape (n_queries, n_sizes).
"""

import math
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ...utils._public_module import public_module
from .cell_kernels import cell_averages, fill_cells
from .kd_tree_kernels import ball_averages, build_tree, nearest_averages
from .smooth_kernels import scale_rows, smooth_averages

FloatArray = NDArray[np.float64]
Averages = tuple[FloatArray, NDArray[np.bool_]]

# Rows of a leaf: what the loops take at a time; where most rows count, what the first cache holds.
LEAF = 32
BLOCK = 256
# Numbers in a line of the cache.
LINE = 8
# Bandwidths are cut to these, so that their squares and inverses are normal numbers; features are in [0, 1].
LEAST_BANDWIDTH, MOST_BANDWIDTH = 1e-100, 1e100
# What rows that are scaled already need.
UNIT_RANGE = np.array([[0.0], [1.0], [1.0], [1.0]])


class LocalModel(Protocol):
    """The interface of a layout: rows for one kernel, averaged for several sizes."""

    def __init__(self, X: FloatArray, y: FloatArray, sizes: Sequence[float]) -> None: ...

    def averages(self, X: FloatArray, ranges: FloatArray) -> Averages:
        """Average around the rows of X."""


def make_ranges(lower: FloatArray, upper: FloatArray) -> FloatArray:
    """Return the ranges of features as the kernels take them.

    Parameters
    ----------
    lower, upper : ndarray of shape (n_features,)
        In the units of X; equal where a column is constant.

    Returns
    -------
    ranges : ndarray of shape (4, n_features)
    """
    with np.errstate(over="ignore"):
        # Halves where the width overflows.
        unit = np.where(np.isfinite(upper - lower), 1.0, 0.5)
    width = upper * unit - lower * unit
    return np.array([lower, upper, unit, np.where(width > 0, width, 1.0)])


def scaled(X: FloatArray, ranges: FloatArray) -> FloatArray:
    """Return rows clipped to the ranges and scaled to [0, 1], as the kernels scale a query."""
    out = np.empty(X.shape)
    scale_rows(X, ranges, out)
    return out


def _aligned(shape: tuple[int, ...]) -> FloatArray:
    """Return zeros that start with a line of the cache, so that no load of eight lanes needs two lines.

    A copy, or what comes out of a pickle, may start elsewhere: it is only slower.
    """
    count = math.prod(shape)
    memory = np.zeros(count + LINE - 1)
    first = -(memory.ctypes.data // memory.itemsize) % LINE
    return memory[first : first + count].reshape(shape)


class _TreeModel:
    """A balanced kd-tree, its rows leaf by leaf; all leaves are full but the last, filled up at infinity."""

    def __init__(self, X: FloatArray, y: FloatArray, leaf_size: int) -> None:
        n, d = X.shape
        size = min(leaf_size, -(-n // LEAF) * LEAF)
        leaves = -(-n // size)
        rows, order = X.copy(), np.arange(n)
        self.feature, self.gap = np.zeros(leaves, dtype=np.int32), np.zeros((leaves, 2))
        build_tree(rows, order, self.feature, self.gap, size)
        starts = np.arange(leaves) * size
        self.boxes = np.stack(
            [np.minimum.reduceat(rows, starts, axis=0), np.maximum.reduceat(rows, starts, axis=0)], axis=1
        )
        filled = np.full((leaves * size, d), np.inf)
        filled[:n] = rows
        self.columns = _aligned((leaves, d, size))
        self.columns[:] = filled.reshape(leaves, size, d).transpose(0, 2, 1)
        self.y, self.index = _aligned((leaves, size)), np.full((leaves, size), -1)
        self.y.flat[:n], self.index.flat[:n] = y[order], order


class _SmoothModel(_TreeModel):
    """A Gaussian or Laplace weight reaches everywhere, visibly only so far."""

    squared: bool

    def __init__(self, X: FloatArray, y: FloatArray, sizes: Sequence[float]) -> None:
        super().__init__(X, y, BLOCK)
        bandwidths = np.clip(sizes, LEAST_BANDWIDTH, MOST_BANDWIDTH)
        # Weights are powers of two. All rows that are passed over weigh less than 2^-50 of the others.
        self.factors = math.log2(math.e) / (bandwidths**2 if self.squared else bandwidths)
        self.invisible = 50 + math.log2(len(X))

    def averages(self, X: FloatArray, ranges: FloatArray) -> Averages:
        shape = (len(X), len(self.factors))
        values = np.empty(shape)
        smooth_averages(
            *(X, ranges, self.columns, self.y, self.boxes, self.feature, self.gap),
            *(self.factors, self.squared, self.invisible, values),
        )
        return values, np.ones(shape, dtype=bool)


@public_module("skprivate.collaborative")
class GaussianModel(_SmoothModel):
    """Weights exp(-(distance / h)^2)."""

    squared = True


@public_module("skprivate.collaborative")
class LaplaceModel(_SmoothModel):
    """Weights exp(-distance / h)."""

    squared = False


@public_module("skprivate.collaborative")
class NeighborsModel(_TreeModel):
    """The mean of the nearest rows; of equally far ones, the first."""

    def __init__(self, X: FloatArray, y: FloatArray, sizes: Sequence[float]) -> None:
        super().__init__(X, y, LEAF)
        self.wanted = np.array(sizes, dtype=np.int64)

    def averages(self, X: FloatArray, ranges: FloatArray) -> Averages:
        shape = (len(X), len(self.wanted))
        values = np.empty(shape)
        nearest_averages(
            X, ranges, self.columns, self.y, self.index, self.feature, self.gap, self.wanted, values
        )
        return values, np.ones(shape, dtype=bool)


@public_module("skprivate.collaborative")
class EpanechnikovModel(_TreeModel):
    """Weights (1 - (distance / h)^2)_+."""

    def __init__(self, X: FloatArray, y: FloatArray, sizes: Sequence[float]) -> None:
        super().__init__(X, y, LEAF)
        self.radii = np.clip(sizes, LEAST_BANDWIDTH, MOST_BANDWIDTH)

    def averages(self, X: FloatArray, ranges: FloatArray) -> Averages:
        shape = (len(X), len(self.radii))
        values, support = np.empty(shape), np.empty(shape, dtype=bool)
        ball_averages(
            *(X, ranges, self.columns, self.y, self.feature, self.gap),
            *(self.radii, values, support.view(np.uint8)),
        )
        return values, support


@public_module("skprivate.collaborative")
class PartitionModel:
    """The mean of y in each cube of a grid anchored at 0, in a hash table per side."""

    def __init__(self, X: FloatArray, y: FloatArray, sizes: Sequence[float]) -> None:
        sides = np.clip(sizes, LEAST_BANDWIDTH, MOST_BANDWIDTH)
        self.tables = [self._table(X, y, float(side)) for side in sides]

    @staticmethod
    def _table(X: FloatArray, y: FloatArray, side: float) -> tuple[float, Any, FloatArray, FloatArray]:
        slots = np.full(2 ** (2 * len(X)).bit_length(), -1)
        cells, means = np.empty(X.shape), np.empty(len(X))
        n_cells = fill_cells(X, y, side, slots, cells, means, np.empty(len(X), dtype=np.int64))
        return side, slots, cells[:n_cells].copy(), means[:n_cells].copy()

    def averages(self, X: FloatArray, ranges: FloatArray) -> Averages:
        shape = (len(X), len(self.tables))
        values, support = np.empty(shape), np.empty(shape, dtype=bool)
        for column, (side, slots, cells, means) in enumerate(self.tables):
            cell_averages(X, ranges, side, slots, cells, means, values, support.view(np.uint8), column)
        return values, support


MODELS: dict[str, type[LocalModel]] = {
    "gaussian": GaussianModel,
    "laplace": LaplaceModel,
    "epanechnikov": EpanechnikovModel,
    "partition": PartitionModel,
    "knn": NeighborsModel,
}
