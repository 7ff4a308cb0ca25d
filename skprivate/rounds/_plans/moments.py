# SPDX-License-Identifier: BSD-3-Clause
"""Rows on a public grid of integers, and plans of their moments and of residuals about a line."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..._typing import FloatArray, IntArray
from ...utils._json_documents import Fields
from ...utils._public_module import public_module
from .._codec import Record, array, maybe, pair, stored
from .._rows import PreparedRows
from .moment_kernels import add_products, has_vectors, pack_ball, pack_cube

# Rounding at 2^-20 is far below any noise, and float64 (2^53) holds sums of 2^13 products of two values.
FINEST = 20
# Largest number of rows where it is protected: the grid must not depend on n.
MANY_ROWS = 2**32
# log2 of n 4^k: int64 with two spare bits.
SUM_BITS = 61
# log2 of the largest scale of the noise; the sampler's own limit is 2^52.
SCALE_BITS = 51
# Most columns of a plan: the sums of 4,096 are 128 MiB.
MOST_COLUMNS = 4096
# A float64 holds every integer up to this.
EXACT = 2**53
# Values of a block, 256 kB: it stays in the second-level cache, and beside it a call costs little.
BLOCK_VALUES = 2**15
# Beyond it BLAS keeps pace, benchmarks/speed/exact_moments.py, and may use several threads.
WIDEST = 128
# Values that `pack_cube` reads beyond the last feature.
PADDING = 3
#: Rows that are worked on together: grids are chosen so that the sums of so many are exact in float64.
BLOCK_ROWS = 4096
#: Largest coefficient of a line: sums of so many entries of rows stay finite.
STEEPEST = 2.0**64
#: Least clip: nearer to 0, its inverse overflows.
NARROWEST = 1e-100


@public_module("skprivate.linear_model")
@dataclass(frozen=True, eq=False, kw_only=True)
class MomentGrid(Record):
    """Public description of how a row is rounded to integers.

    A row is z = (1, y', x'): the target and the features, centred and divided by their half-widths, so that
    each lies in [-1, 1]; with `x_norm` the features share one half-width, `x_norm`, and x' lies in the unit
    ball. What lies outside is clipped; then everything is rounded toward zero to multiples of 2^-exponent.

    Attributes
    ----------
    lower, upper : ndarray of shape (n_features,)
        Bounds of the features.
    target : tuple of two floats
        Bounds of the target on the scale of the model.
    exponent : int
        k, from 0 to 20: the grid's step is 2^-k.
    x_norm : float or None
        Bound on the norm of a centred row of features.
    norm_order : {1, 2} or None
        Which norm; None without `x_norm`.
    """

    lower: FloatArray = stored(array)
    upper: FloatArray = stored(array)
    target: tuple[float, float] = stored(pair)
    exponent: int = stored(Fields.integer, 0, FINEST)
    x_norm: float | None = stored(maybe, Fields.number, default=None)
    norm_order: int | None = stored(maybe, Fields.integer, 1, 2, default=None)
    _what: ClassVar[str] = "its grid"

    @property
    def n_features(self) -> int:
        """Number of features, d."""
        return len(self.lower)

    @property
    def size(self) -> int:
        """Number of entries of z, d + 2: the constant, the target, the features."""
        return len(self.lower) + 2

    @property
    def center(self) -> FloatArray:
        """Centres of the features."""
        # Halves first: the sum of two huge bounds overflows.
        return self.lower / 2 + self.upper / 2

    @property
    def half(self) -> FloatArray:
        """What the centred features are divided by."""
        if self.x_norm is not None:
            return np.full(self.n_features, float(self.x_norm))
        return self.upper / 2 - self.lower / 2

    @property
    def y_center(self) -> float:
        """Centre of the target."""
        return self.target[0] / 2 + self.target[1] / 2

    @property
    def y_half(self) -> float:
        """Half-width of the target."""
        return self.target[1] / 2 - self.target[0] / 2

    def _check_fields(self) -> None:
        if not len(self.lower):
            raise ValueError("its grid has no column")
        self._require(len(self.upper) == len(self.lower), "upper must be a list of finite numbers")


def choose_exponent(n_rows: int, scale: Fraction) -> int:
    """Choose the grid: the finest whose sums and whose noise fit 64-bit integers.

    Parameters
    ----------
    n_rows : int
        Largest number of rows; public.
    scale : Fraction
        Largest scale of the noise on sums of products of entries of z, before the grid: on it, it is 4^k
        times as large.

    Returns
    -------
    exponent : int
        The largest k <= 20 with ``n_rows * 4**k <= 2**61`` and ``scale * 4**k <= 2**51``.

    Raises
    ------
    ValueError
        There is none: too many rows, or epsilon too small.
    """
    rows_bits = SUM_BITS - (max(n_rows, 1) - 1).bit_length()
    if rows_bits < 0:
        raise ValueError("too many rows for 64-bit sums.")
    scale_bits = SCALE_BITS - (-(-scale.numerator // scale.denominator) - 1).bit_length()
    if scale_bits < 0:
        raise ValueError(
            "epsilon is too small for this many features: the noise does not fit 64-bit integers."
        )
    return min(FINEST, rows_bits // 2, scale_bits // 2)


def read_grid(fields: Fields, name: str = "grid") -> MomentGrid:
    """Return the grid of a plan; ValueError for one that no bounds make."""
    grid = MomentGrid.from_dict(fields.mapping(name))
    sides = np.append(grid.lower, grid.target[0]), np.append(grid.upper, grid.target[1])
    if grid.n_features > MOST_COLUMNS or not (sides[0] < sides[1]).all():
        raise ValueError("its grid has too many columns, or bounds that are none")
    if (grid.x_norm is None) != (grid.norm_order is None) or (grid.x_norm is not None and grid.x_norm <= 0):
        raise ValueError("its grid has a norm without an order, or none above 0")
    return grid


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
    >>> from skprivate.rounds._plans.moments import MomentGrid, exact_gram
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


def packed_blocks(
    grid: MomentGrid, X: NDArray[Any], y: NDArray[Any] | None = None
) -> Iterator[tuple[slice, FloatArray]]:
    """Yield blocks of rows: where they are, and (x', y', 1) as integers on the grid, in one array for all.

    ValueError where a value is NaN or infinite; the message does not say which. Without y zeros are packed.
    """
    pack, block, nothing = make_packer(grid), np.empty((BLOCK_ROWS, grid.size)), np.zeros(BLOCK_ROWS)
    for first in range(0, len(X), BLOCK_ROWS):
        here = slice(first, first + BLOCK_ROWS)
        packed = block[: len(X[here])]
        if not pack(X[here], nothing[: len(packed)] if y is None else y[here], packed):
            raise ValueError(f"{'X' if y is None else 'X and y'} must be finite: NaN and inf are refused.")
        yield here, packed


def check_block_room(n_rows: int, one: float) -> None:
    """Refuse integers of a row, up to `one`, whose sums over a block or over all rows might not be exact."""
    if BLOCK_ROWS * one > EXACT:
        raise OverflowError("the grid is too fine: sums of a block of rows do not fit float64.")
    if n_rows * one > 2**62:
        raise OverflowError("too many rows for the grid: its exact sums do not fit 64-bit integers.")


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


@dataclass(frozen=True, eq=False)
class MomentsPlan(Record):
    """Sums of z z' over rows z = (1, y', x') on a grid.

    Attributes
    ----------
    grid : MomentGrid
    largest : int
        Bound on a row's weight, in steps; 1: rows have no weights.

    Notes
    -----
    **Privacy.** A row's integers follow from the row and the grid alone, whatever rows are beside it.
    """

    grid: MomentGrid = stored(read_grid)
    largest: int = stored(Fields.integer, 1, 2**SUM_BITS, default=1)
    kind: ClassVar[str] = "moments"

    @property
    def n_sums(self) -> int:
        """Number of entries of the matrix."""
        return self.grid.size**2

    def sums(self, rows: PreparedRows) -> IntArray:
        """Return the matrix, of shape (d + 2, d + 2), as one vector."""
        rows = rows.only_kept()
        if rows.y is None:
            raise ValueError("the rows have no target.")
        return exact_gram(self.grid, rows.X, rows.y, rows.steps, self.largest).ravel()

    def check_sums(self, values: IntArray, n_rows: int) -> None:
        """Refuse sums that no n_rows rows have."""
        gram, largest = values.reshape(self.grid.size, -1), n_rows * 4**self.grid.exponent * self.largest
        total = int(gram[0, 0])
        possible = total == largest if self.largest == 1 else 0 <= total <= largest
        if not possible or (gram != gram.T).any() or (gram > total).any() or (gram < -total).any():
            raise ValueError("the sums are not those of so many rows")

    def check_room(self, n_rows: int) -> None:
        """Refuse rows that the sums have no room for."""
        check_room(n_rows, self.grid.exponent, self.largest)


def residuals_of(
    grid: MomentGrid, line: FloatArray, rows: PreparedRows
) -> Iterator[tuple[slice, FloatArray, FloatArray]]:
    """Yield blocks of rows: where they are, as integers on the grid, and y' less the line at x'.

    Parameters
    ----------
    grid : MomentGrid
    line : ndarray of shape (n_features + 1,)
        The constant, then the slopes, in scaled units; at most `STEEPEST`.
    rows : PreparedRows

    Raises
    ------
    ValueError
        A value is NaN or infinite (the message does not say which), or the rows do not fit the grid.
    """
    if rows.y is None:
        raise ValueError("the rows have no target.")
    if rows.X.shape != (len(rows.y), grid.n_features):
        raise ValueError(f"X must have shape (n, {grid.n_features}), and a target per row.")
    return combinations_of(grid, np.r_[-line[1:], 1.0, -line[0]], rows.X, rows.y)


def combinations_of(
    grid: MomentGrid, weights: FloatArray, X: NDArray[Any], y: FloatArray
) -> Iterator[tuple[slice, FloatArray, FloatArray]]:
    """Yield blocks of rows: where they are, packed, and the weights times (x', y', 1).

    Each sum is added up entry by entry, in one order, whatever rows are beside it.
    """
    factors = weights * 2.0**-grid.exponent
    sums, product = np.empty(BLOCK_ROWS), np.empty(BLOCK_ROWS)
    for here, packed in packed_blocks(grid, X, y):
        total, part = sums[: len(packed)], product[: len(packed)]
        total[:] = 0.0
        # Huge weights may give no number.
        with np.errstate(over="ignore", invalid="ignore"):
            for factor, entries in zip(factors, packed.T, strict=True):
                total += np.multiply(entries, factor, out=part)
        yield here, packed, total


def read_line(fields: Fields, name: str = "line") -> FloatArray:
    """Return the line of a plan; ValueError for one that is none."""
    line = array(fields, name, read_grid(fields).n_features + 1)
    if np.abs(line).max() > STEEPEST:
        raise ValueError("a line is too steep")
    return line


@dataclass(frozen=True, eq=False)
class LooksPlan(Record):
    """The sums of r, r x' and r^2 over rows, where r is the residual about a line, clipped to [-1, 1] clips.

    Attributes
    ----------
    grid : MomentGrid
    line : ndarray of shape (n_features + 1,)
        The constant, then the slopes, in scaled units.
    clip : float
        In half-widths of the target; r is the residual divided by it, clipped.
    bits : int
        r is rounded toward zero to a multiple of 2^-bits.

    Notes
    -----
    **Privacy.** The line and the clip are public, or made of released values. A row's integers follow from
    the row and the plan alone: an integer r within its bound times an integer row within its own. The sums of
    a block stay below 2^53, so that the result depends on nothing but the set of rows.
    """

    grid: MomentGrid = stored(read_grid)
    line: FloatArray = stored(read_line)
    clip: float = stored(Fields.number)
    bits: int = stored(Fields.integer, 0, FINEST)
    kind: ClassVar[str] = "looks"

    @property
    def n_sums(self) -> int:
        """Number of integers: of r, of r times each feature, and of its square."""
        return self.grid.n_features + 2

    def sums(self, rows: PreparedRows) -> IntArray:
        """Return the sums of r and r x' in units of 2^-(exponent + bits), and that of r^2 in 4^-bits."""
        rows = rows.only_kept()
        largest, scale = 2.0**self.bits, 2.0**self.bits / self.clip
        total, squares = np.zeros(self.grid.size, dtype=np.int64), 0
        for _, packed, residuals in residuals_of(self.grid, self.line, rows):
            r = np.trunc(np.clip(residuals * scale, -largest, largest))
            total += (r @ packed).astype(np.int64)
            squares += int(r @ r)
        d = self.grid.n_features
        return np.r_[total[d + 1], total[:d], squares].astype(np.int64)

    def check_sums(self, values: IntArray, n_rows: int) -> None:
        """Refuse sums that no n_rows rows have."""
        most = n_rows * 2 ** (self.grid.exponent + self.bits)
        if exceeds(values[:-1], most) or not 0 <= int(values[-1]) <= n_rows * 4**self.bits:
            raise ValueError("the sums are not those of so many rows")

    def check_room(self, n_rows: int) -> None:
        """Refuse rows that the sums have no room for."""
        check_block_room(n_rows, 2 ** (self.bits + max(self.bits, self.grid.exponent)))

    def _check_fields(self) -> None:
        self._require(self.clip >= NARROWEST, "clip must be above 0")
