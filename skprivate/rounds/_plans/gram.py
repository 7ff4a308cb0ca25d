# SPDX-License-Identifier: BSD-3-Clause
"""Exact integer moments of rows."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._typing import FloatArray, IntArray
from .grid import SUM_BITS, MomentGrid
from .moment_kernels import add_products, has_vectors, pack_ball, pack_cube

# A float64 holds every integer up to this.
EXACT = 2**53
# Values of a block, 256 kB: it stays in the second-level cache, and beside it a call costs little.
BLOCK_VALUES = 2**15
# Beyond it BLAS keeps pace, benchmarks/speed/exact_moments.py, and may use several threads.
WIDEST = 128
# Values that `pack_cube` reads beyond the last feature.
PADDING = 3


def exceeds(values: IntArray, most: float) -> bool:
    """Return whether an integer is beyond a bound; the magnitude of the least int64 is none."""
    return bool((values > most).any() or (values < -most).any())


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
    # `add_products` takes four columns at a time; what is beside the row stays 0.
    width = -(-grid.size // 4) * 4
    rows = min(block_rows or max(BLOCK_VALUES // width, 1), exact_rows, max(n, 1))
    pack, multiply = make_packer(grid), _multiplier((rows, width), weighted=steps is not None)
    block = np.zeros((rows, width))
    partial, pending = np.zeros((width, width)), 0
    total = np.zeros((width, width), dtype=np.int64)
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
    return _ordered(total[: grid.size, : grid.size])


def check_room(n_rows: int, exponent: int, largest: int = 1) -> None:
    """Refuse sums that 64-bit integers, with two spare bits, might not hold; from public numbers alone."""
    if n_rows * 4**exponent * largest > 2**SUM_BITS:
        raise OverflowError("too many rows for the grid: its exact sums do not fit 64-bit integers.")
    if 4**exponent * largest > EXACT:
        raise OverflowError("the grid is too fine: products of its values do not fit float64.")


def make_packer(grid: MomentGrid) -> Callable[[NDArray[Any], NDArray[Any], FloatArray], bool]:
    """Return a function that packs rows on the grid; it returns False where a value is not finite."""
    bound = 2.0**grid.exponent
    radius = 1.0 if grid.norm_order else bound
    center, scale = np.zeros((2, grid.n_features + PADDING))
    center[: grid.n_features] = grid.center
    # A half-width near the least float has an infinite inverse; the kernels clip what comes of it.
    with np.errstate(over="ignore", divide="ignore"):
        scale[: grid.n_features] = radius / grid.half
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
    shape: tuple[int, int], *, weighted: bool
) -> Callable[[FloatArray, FloatArray | None, FloatArray], None]:
    """Return a function that adds block' diag(steps) block to `total`, at least above the diagonal."""
    # Not with the module: clients, who add up nothing, have NumPy alone.
    from scipy.linalg.blas import dgemm, dsyrk

    # Exact sums cannot depend on the routine.
    own = shape[1] <= WIDEST and has_vectors()
    product = np.zeros(shape) if weighted else None

    def multiply(block: FloatArray, steps: FloatArray | None, total: FloatArray) -> None:
        left = block
        if product is not None and steps is not None:
            # At most 2^exponent * largest: exact.
            left = np.multiply(block, steps[:, None], out=product[: len(block)])
        if own:
            add_products(left, block, total)
        elif weighted:
            dgemm(1.0, left.T, block.T, 1.0, total.T, trans_b=1, overwrite_c=1)
        else:
            # BLAS counts by columns: below its diagonal is above ours.
            dsyrk(1.0, block.T, 1.0, total.T, lower=1, overwrite_c=1)

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
