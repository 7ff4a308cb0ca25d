# SPDX-License-Identifier: BSD-3-Clause
"""Exact integer moments of rows, computed by BLAS."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dgemm, dsyrk

from ..._typing import FloatArray, IntArray
from .grid import SUM_BITS, MomentGrid
from .moment_kernels import pack_ball, pack_cube

# A float64 holds every integer up to this.
EXACT = 2**53
# Values of a block, 512 kB: it stays in the second-level cache, and beside it a call costs little.
BLOCK_VALUES = 2**16
# Up to this width a general product of a small block is faster than the symmetric one, for its set-up is.
SMALL_WIDTH = 52
# Multiplications up to which OpenBLAS has kernels for small products.
SMALL_PRODUCT = 900_000
# Values that `pack_cube` reads beyond the last feature.
PADDING = 3


def exact_gram(
    grid: MomentGrid,
    X: NDArray[Any],
    y: NDArray[Any],
    steps: FloatArray | None = None,
    largest: int = 1,
    *,
    block_rows: int | None = None,
) -> IntArray:
    """Sum z z' over rows z = (1, y', x') on the grid.

    Parameters
    ----------
    grid : MomentGrid
    X : ndarray of shape (n, n_features)
        Numbers in the units of the bounds; float64 or float32 in C order is read in place.
    y : ndarray of shape (n,)
        Target on the scale of the model.
    steps : ndarray of float64 of shape (n,), default=None
        Weights of the rows as whole numbers from 0 to `largest`. None: all are 1.
    largest : int, default=1
        Bound on a weight.
    block_rows : int, default=None
        Rows that are packed together. None: as is fastest. The result does not depend on it.

    Returns
    -------
    gram : int64 ndarray of shape (n_features + 2, n_features + 2)
        Units of 4^-exponent; index 0 is the constant, 1 the target, then the features.

    Raises
    ------
    OverflowError
        ``n * 4**exponent * largest`` reaches 2^61; no row is looked at.
    ValueError
        A value is NaN or infinite (the message does not say which), or a shape is wrong.

    Notes
    -----
    The products of a block are added in float64, where integers are exact up to 2^53: no more than
    ``2**53 / (4**exponent * largest)`` rows, whose sums cannot exceed it in any order of addition, with or
    without fused operations. Then they move to int64. So the result depends on nothing but the set of rows.

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate.rounds._plans.gram import exact_gram
    >>> from skprivate.rounds._plans.grid import MomentGrid
    >>> grid = MomentGrid(lower=np.array([0.0]), upper=np.array([2.0]), target=(-1.0, 1.0), exponent=2)
    >>> exact_gram(grid, np.array([[0.0], [9.0]]), np.array([0.5, -0.6]))
    array([[ 32,   0,   0],
           [  0,   8, -16],
           [  0, -16,  32]])
    """
    n = _check_shapes(grid, X, y, steps)
    check_room(n, grid.exponent, largest)
    exact_rows = EXACT // (4**grid.exponent * largest)
    rows = min(block_rows or _best_rows(grid.size), exact_rows, max(n, 1))
    pack, multiply = make_packer(grid), _multiplier(grid.size, rows, weighted=steps is not None)
    block = np.empty((rows, grid.size))
    partial, pending = np.zeros((grid.size, grid.size), order="F"), 0
    total = np.zeros((grid.size, grid.size), dtype=np.int64)
    for first in range(0, n, rows):
        count = min(rows, n - first)
        if pending + count > exact_rows:
            total += partial.astype(np.int64)
            partial[:], pending = 0.0, 0
        here = slice(first, first + count)
        if not pack(X[here], y[here], block[:count]):
            raise ValueError("X and y must be finite: NaN and inf are refused.")
        multiply(block[:count], None if steps is None else steps[here], partial)
        pending += count
    total += partial.astype(np.int64)
    return _ordered(total)


def check_room(n_rows: int, exponent: int, largest: int = 1) -> None:
    """Refuse sums that 64-bit integers, with two spare bits, might not hold; from public numbers alone."""
    if n_rows * 4**exponent * largest > 2**SUM_BITS:
        raise OverflowError("too many rows for the grid: its exact sums do not fit 64-bit integers.")
    if 4**exponent * largest > EXACT:
        raise OverflowError("the grid is too fine: products of its values do not fit float64.")


def _best_rows(size: int) -> int:
    rows = max(BLOCK_VALUES // size, 1)
    return min(rows, SMALL_PRODUCT // size**2) if size <= SMALL_WIDTH else rows


def make_packer(grid: MomentGrid) -> Callable[[NDArray[Any], NDArray[Any], FloatArray], bool]:
    """Return a function that packs rows on the grid; it returns False where a value is not finite."""
    bound = 2.0**grid.exponent
    radius = 1.0 if grid.norm_order else bound
    # A half-width near the least float has an infinite inverse; the kernels clip what comes of it.
    with np.errstate(over="ignore", divide="ignore"):
        center, scale = np.pad(grid.center, (0, PADDING)), np.pad(radius / grid.half, (0, PADDING))
        y_scale = float(np.float64(bound) / grid.y_half)
    work = np.zeros_like(center)

    def pack(X: NDArray[Any], y: NDArray[Any], out: FloatArray) -> bool:
        # Row by row in C order, and one type per call: a copy of a block costs little, one of all rows much.
        rows = np.ascontiguousarray(X, dtype=np.float32 if X.dtype == np.float32 else np.float64)
        target = np.ascontiguousarray(y, dtype=np.float64)
        if grid.norm_order is None:
            return pack_cube(rows, target, center, scale, grid.y_center, y_scale, bound, out)
        return pack_ball(
            rows, target, center, scale, grid.y_center, y_scale, bound, grid.norm_order == 2, work, out
        )

    return pack


def _multiplier(
    size: int, rows: int, *, weighted: bool
) -> Callable[[FloatArray, FloatArray | None, FloatArray], None]:
    """Return a function that adds block' diag(steps) block to `total`, at least above the diagonal."""
    # Exact sums cannot depend on the routine.
    symmetric = not weighted and size > SMALL_WIDTH
    product = np.empty((rows, size)) if weighted else None

    def multiply(block: FloatArray, steps: FloatArray | None, total: FloatArray) -> None:
        if symmetric:
            dsyrk(1.0, block.T, 1.0, total, overwrite_c=1)
            return
        left = block
        if product is not None and steps is not None:
            # At most 2^exponent * largest: exact.
            left = np.multiply(block, steps[:, None], out=product[: len(block)])
        dgemm(1.0, left.T, block.T, 1.0, total, trans_b=1, overwrite_c=1)

    return multiply


def _ordered(upper: IntArray) -> IntArray:
    """Mirror the upper triangle of sums over packed rows (x', y', 1), and order them (1, y', x')."""
    gram = np.triu(upper) + np.triu(upper, 1).T
    size = len(gram)
    order = np.array([size - 1, size - 2, *range(size - 2)])
    return gram[np.ix_(order, order)]


def _check_shapes(grid: MomentGrid, X: NDArray[Any], y: NDArray[Any], steps: FloatArray | None) -> int:
    """Return the number of rows."""
    if X.ndim != 2 or X.shape[1] != grid.n_features:
        raise ValueError(f"X must have shape (n, {grid.n_features}), as the bounds have.")
    if y.shape != (len(X),) or (steps is not None and steps.shape != (len(X),)):
        raise ValueError("y and the weights must have one value per row of X.")
    if X.dtype.kind not in "biuf" or y.dtype.kind not in "biuf":
        raise ValueError("X and y must hold real numbers.")
    return len(X)
