# SPDX-License-Identifier: BSD-3-Clause
"""Plans of logistic regression: moments of columns, and gradients of the log loss."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..._typing import FloatArray, IntArray
from ...utils._json_documents import Fields, digest
from .._codec import Record, array, maybe, refuse_sums, spread, stored
from .._rows import PreparedRows
from .logit_kernels import TILE, add_gradients, fill_tiles
from .moments import BLOCK_ROWS, FINEST, MomentGrid, check_block_room, exceeds, packed_blocks, read_grid

#: Integers of a block of rows, their weights, and their labels.
Tiles = tuple[NDArray[np.int32], FloatArray, NDArray[np.int32]]
# Most labels: memory for them is allocated before rows are read.
MOST_LABELS = 2**16
# Bits of a residual and of a curvature below 1 at most.
_MOST_BITS = 26


@dataclass(frozen=True, eq=False)
class ColumnMomentsPlan(Record):
    """The sum and the sum of squares of every column on a grid.

    Attributes
    ----------
    grid : MomentGrid
        Grid of the features; its target is not used.

    Notes
    -----
    **Privacy.** A row's integers depend only on the row and the grid. The integers themselves lie in the cube
    or the ball of the grid.
    """

    grid: MomentGrid = stored(read_grid)
    kind: ClassVar[str] = "column-moments"

    @property
    def n_sums(self) -> int:
        """Number of integers: sums, and sums of squares."""
        return 2 * self.grid.n_features

    def sums(self, rows: PreparedRows) -> IntArray:
        """Return sums in units of 2^-exponent, and squares in units of 4^-exponent."""
        rows, d = rows.only_kept(), self.grid.n_features
        first_two = np.zeros((2, d), dtype=np.int64)
        for _, packed in packed_blocks(self.grid, rows.X):
            x = packed[:, :d]
            # With the finest grid the sums of squares of a block are exact in float64.
            first_two[0] += x.sum(axis=0).astype(np.int64)
            first_two[1] += np.einsum("ij,ij->j", x, x).astype(np.int64)
        return first_two.ravel()

    def check_sums(self, values: IntArray, n_rows: int) -> None:
        """Raise ValueError if sums are impossible for n_rows rows."""
        sums, squares = values.reshape(2, -1)
        one = 2**self.grid.exponent
        refuse_sums(exceeds(sums, n_rows * one) or exceeds(squares, n_rows * one**2) or squares.min() < 0)

    def check_room(self, n_rows: int) -> None:
        """Raise OverflowError if the sums of so many rows might overflow."""
        check_block_room(n_rows, 4**self.grid.exponent)


class GridRows:
    """The integers of rows on a grid, and their labels, which are all that plans of logits read."""

    def __init__(self, X: NDArray[np.int32], labels: NDArray[Any] | None) -> None:
        self.X, self.labels = X, labels

    def blocks(self) -> Iterator[tuple[slice, NDArray[np.int32]]]:
        """Yield blocks of rows, as `packed_blocks` does."""
        for first in range(0, len(self.X), BLOCK_ROWS):
            here = slice(first, first + BLOCK_ROWS)
            yield here, self.X[here]


@dataclass(frozen=True)
class GridCoding:
    """Rows on a grid, as `GridRows`."""

    grid: MomentGrid
    is_small: ClassVar[bool] = True

    @cached_property
    def key(self) -> str:
        """A hash of the grid."""
        return digest(self.grid.to_dict())

    def code(self, rows: PreparedRows) -> GridRows:
        """Return the integers of the rows that count."""
        rows = rows.only_kept()
        found = np.empty((len(rows.X), self.grid.n_features), dtype=np.int32)
        for here, packed in packed_blocks(self.grid, rows.X):
            found[here] = packed[:, : self.grid.n_features]
        return GridRows(found, rows.labels)

    def holds(self, other: Any) -> bool:
        """Return whether another coding is this one."""
        return other is self


def check_labels(rows: PreparedRows | GridRows, n_features: int, n_labels: int) -> Any:
    """Return the labels of rows; ValueError, which repeats nothing, for rows that a plan is not about."""
    if rows.labels is None or rows.X.ndim != 2 or rows.X.shape != (len(rows.labels), n_features):
        raise ValueError(f"X must have shape (n, {n_features}), and a label per row.")
    labels = np.ascontiguousarray(rows.labels, dtype=np.int32)
    if len(labels) and not 0 <= labels.min() <= labels.max() < n_labels:
        raise ValueError("a label is not a position among the classes.")
    return labels


_SCALES = "scales must be above 0, and theta must hold whole rows, 1 or above 2"


def _read_theta(fields: Fields, name: str) -> FloatArray:
    theta = array(fields, name)
    n_logits, rest = divmod(len(theta), read_grid(fields).n_features + 1)
    if rest or not 0 < n_logits <= MOST_LABELS or n_logits == 2:
        raise ValueError(f"a plan: {_SCALES}")
    return theta.reshape(n_logits, -1)


def _read_coarse(fields: Fields, name: str) -> tuple[int, int]:
    rows, curvature = fields.numbers(name, 2)
    if rows % 1 or curvature % 1 or not (0 <= rows <= FINEST and 2 <= curvature <= _MOST_BITS):
        raise ValueError("a plan: coarse must hold bits, of two classes")
    return int(rows), int(curvature)


@dataclass(frozen=True, eq=False)
class StandardRows(Record):
    """How a row on the grid is standardised, and how it becomes integers in a ball.

    Attributes
    ----------
    center, scale : ndarray of shape (n_features,)
        z is 1, then (x' - center) / scale, where x' is the row in the cube or the ball of the grid.
    radius : float
        A row has the weight min(1, radius / norm).
    norm_order : {1, 2}
        Order of the norm.
    exponent : int
        Integers are those of z / radius in units of 2^-exponent.
    """

    center: FloatArray = stored(array)
    scale: FloatArray = stored(array)
    radius: float = stored(Fields.number)
    norm_order: int = stored(Fields.integer, 1, 2)
    exponent: int = stored(Fields.integer, 0, FINEST)


@dataclass(frozen=True, eq=False)
class LogitsPlan(Record):
    """The sum of residuals times z over rows z, and optionally the sum of curvatures times z z'.

    Attributes
    ----------
    grid : MomentGrid
        Grid of the features; its target is not used.
    rows : StandardRows
    theta : ndarray of shape (n_logits, n_features + 1)
        Logits of a row are theta z, with the constant first. With two classes there is one row, the logit of
        the second class; otherwise one row per class.
    residual_bits : int
        Residuals are multiples of 2^-residual_bits.
    coarse : tuple of two ints, or None
        Exponent of the rows in the curvature, and bits of the curvature, with two classes; None: no
        curvature.

    Notes
    -----
    A row z of norm r is multiplied by min(1, radius / r), and so is its residual. The row thus has a weight
    that depends only on its features, so that the gradient still has mean 0 at the true parameters. Clipping
    the row alone would bias it.

    **Privacy.** theta and the standardisation are public, or functions of released values. A row's integers
    depend only on the row and the plan. They are products of an integer residual and an integer row, whose
    norms are bounded on the integers themselves. The sums of a block stay below 2^53, so that the result
    depends only on the set of rows.
    """

    grid: MomentGrid = stored(read_grid)
    rows: StandardRows = spread(StandardRows)
    theta: FloatArray = stored(_read_theta)
    residual_bits: int = stored(Fields.integer, 0, _MOST_BITS)
    coarse: tuple[int, int] | None = stored(maybe, _read_coarse, default=None)
    kind: ClassVar[str] = "logits"

    @property
    def coding(self) -> GridCoding:
        """Coding of the rows that are kept."""
        return GridCoding(self.grid)

    @property
    def n_labels(self) -> int:
        """Number of classes."""
        return max(len(self.theta), 2)

    @property
    def n_sums(self) -> int:
        """Number of integers: the gradient, and the matrix of the curvature."""
        size = self.grid.n_features + 1
        return self.theta.size + (0 if self.coarse is None else size**2)

    def sums(self, rows: PreparedRows) -> IntArray:
        """Return the integers: for every logit, that of the constant and then those of the features.

        Notes
        -----
        The gradient is in units of ``radius * 2**-(exponent + residual_bits)``, with the sign of label minus
        probability. The curvature is in units of ``radius**2 * 2**-(2 * coarse[0] + coarse[1])``.
        """
        return self.tile_sums(self.tiles(rows))

    def coded_sums(self, rows: GridRows) -> IntArray:
        """Return the integers of rows on the grid."""
        return self.tile_sums(self._tiles(rows, rows.blocks()))

    def tiles(self, rows: PreparedRows) -> Iterator[Tiles]:
        """Yield blocks of standardised rows; `theta` and the bits of the plan are not used.

        A block is a tuple of three arrays: the integers of tiles of rows, of shape
        (n_tiles, 2 * n_features + 1, TILE), as `fill_tiles` computes them; the weights of the rows; and their
        labels. It has about 8 bytes per value and 16 bytes per row.
        """
        rows = rows.only_kept()
        return self._tiles(rows, packed_blocks(self.grid, rows.X))

    def _tiles(
        self, rows: PreparedRows | GridRows, blocks: Iterator[tuple[slice, NDArray[Any]]]
    ) -> Iterator[Tiles]:
        d = self.grid.n_features
        labels = check_labels(rows, d, self.n_labels)
        standard, work = self.rows, np.empty(2 * (d + 1))
        squares, span = standard.norm_order == 2, 2.0**standard.exponent
        for here, block in blocks:
            packed = np.ascontiguousarray(block, dtype=np.float64)
            n_tiles = -(-len(packed) // TILE)
            tiles = np.empty((n_tiles, 2 * d + 1, TILE), dtype=np.int32)
            weights, padded = np.empty(n_tiles * TILE), np.zeros(n_tiles * TILE, dtype=np.int32)
            padded[: len(packed)] = labels[here]
            fill_tiles(packed, *self._line(), standard.radius, squares, span, work, tiles, weights)
            yield tiles, weights, padded

    def tile_sums(self, blocks: Iterable[Tiles]) -> IntArray:
        """Return `sums` over the tiles of rows, made by this plan or by one with other parameters."""
        size, theta = self.grid.n_features + 1, np.ascontiguousarray(self.theta)
        steps = 2.0**self.residual_bits, 0.0 if self.coarse is None else 2.0 ** self.coarse[1]
        work, residuals = np.empty((len(theta) + 1, TILE)), np.empty((len(theta), TILE), dtype=np.int32)
        gradient, curvatures = np.zeros((len(theta), size), dtype=np.int64), np.empty(BLOCK_ROWS)
        matrix, line = np.zeros((size, size), dtype=np.int64), self._line()
        for tiles, weights, labels in blocks:
            add_gradients(
                *(tiles, labels, weights, *line, theta, *steps, work, residuals, curvatures, gradient)
            )
            if self.coarse is not None:
                # Toward zero, so that no norm grows.
                short = np.trunc(tiles[:, size - 1 :] * 2.0 ** (self.coarse[0] - self.rows.exponent))
                short = np.moveaxis(short, 1, 0).reshape(size, -1)
                matrix += ((short * curvatures[: short.shape[1]]) @ short.T).astype(np.int64)
        return gradient.ravel() if self.coarse is None else np.r_[gradient.ravel(), matrix.ravel()]

    def _line(self) -> tuple[FloatArray, FloatArray]:
        """Return the factors of packed features, and what is subtracted from the products."""
        # A scale near the least float has an infinite inverse; the kernels clip the results.
        with np.errstate(over="ignore", invalid="ignore"):
            return 2.0**-self.grid.exponent / self.rows.scale, self.rows.center / self.rows.scale

    def split(self, values: IntArray) -> tuple[IntArray, IntArray | None]:
        """Return the gradient and the curvature in these sums."""
        size = self.grid.n_features + 1
        gradient = values[: self.theta.size].reshape(len(self.theta), size)
        return gradient, None if self.coarse is None else values[self.theta.size :].reshape(size, size)

    def check_sums(self, values: IntArray, n_rows: int) -> None:
        """Raise ValueError if sums are impossible for n_rows rows."""
        gradient, matrix = self.split(values)
        possible = not exceeds(gradient, n_rows * 2 ** (self.rows.exponent + self.residual_bits))
        if matrix is not None and self.coarse is not None:
            most = n_rows * 2 ** (2 * self.coarse[0] + self.coarse[1] - 2)
            possible &= not exceeds(matrix, most) and bool((matrix == matrix.T).all())
        refuse_sums(not possible)

    def check_room(self, n_rows: int) -> None:
        """Raise OverflowError if the sums of so many rows might overflow."""
        one = 2 ** (self.rows.exponent + self.residual_bits)
        if self.coarse is not None:
            one = max(one, 2 ** (2 * self.coarse[0] + self.coarse[1] - 2))
        check_block_room(n_rows, one)

    def _check_fields(self) -> None:
        rows, n_features = self.rows, self.grid.n_features
        self._require(len(rows.center) == n_features, "center must be a list of finite numbers")
        self._require(len(rows.scale) == n_features, "scale must be a list of finite numbers")
        self._require(min(rows.scale.min(), rows.radius) > 0, _SCALES)
        self._require(rows.radius > 2.0 ** (rows.exponent - 1000), "the radius is too small")
        self._require(self.coarse is None or len(self.theta) == 1, "coarse must hold bits, of two classes")
