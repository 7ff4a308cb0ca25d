# SPDX-License-Identifier: BSD-3-Clause
"""Rows on a public grid of integers; plans of their moments, of residuals about a line, and of gradients."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..._typing import FloatArray, IntArray
from ...metrics._row_kernels import add_dot_products
from ...utils._json_documents import Fields
from ...utils._public_module import public_module
from .._codec import Record, array, maybe, pair, refuse_sums, spread, stored
from .._kept import AS_THEY_ARE, AsTheyAre
from .._rows import CODES, KINDS, PreparedRows, check_observations
from .moment_kernels import add_products, has_vectors, pack_ball, pack_cube
from .residual_kernels import fill_observed, fill_residuals

# Rounding at 2^-20 is far below any noise, and float64 (2^53) holds sums of 2^13 products of two values.
FINEST = 20
# Largest number of rows if it is protected: the grid must then not depend on n.
MANY_ROWS = 2**32
# log2 of n 4^k: int64 with two spare bits.
SUM_BITS = 61
# log2 of the largest scale of the noise; the sampler's own limit is 2^52.
SCALE_BITS = 51
# Most columns of a plan: the sums of 4,096 are 128 MiB.
MOST_COLUMNS = 4096
# A float64 holds every integer up to this.
EXACT = 2**53
# Values of a block, 256 kB: it stays in the second-level cache, and is long compared with the cost of a call.
BLOCK_VALUES = 2**15
# Above it, BLAS is as fast (benchmarks/speed/exact_moments.py), and may use several threads.
WIDEST = 128
# Values that `pack_cube` reads beyond the last feature.
PADDING = 3
#: Rows of a block: grids are chosen so that the sums of a block are exact in float64.
BLOCK_ROWS = 4096
#: Largest coefficient of a line, with which the sums over the entries of a row stay finite.
STEEPEST = 2.0**64
#: Least clip: the inverse of a smaller one may overflow.
NARROWEST = 1e-100
# Distributions in the kernel.
_N_DISTRIBUTIONS = 3
# Bits of a residual and of a curvature below 1 at most.
_MOST_BITS = 26


@public_module("skprivate.linear_model")
@dataclass(frozen=True, eq=False, kw_only=True)
class MomentGrid(Record):
    """Public description of how a row is rounded to integers.

    A row is z = (1, y', x'): the target and the features, centred and divided by their half-widths, so that
    each lies in [-1, 1]. With `x_norm`, the features share one half-width, `x_norm`, and x' lies in the unit
    ball. Values outside are clipped. Then everything is rounded toward zero to multiples of 2^-exponent.

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
        Order of the norm; None without `x_norm`.
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
        """Divisors of the centred features."""
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
    """Choose the finest grid whose sums and noise fit 64-bit integers.

    Parameters
    ----------
    n_rows : int
        Largest number of rows; public.
    scale : Fraction
        Largest scale of the noise on sums of products of entries of z, in units of 1. On the grid, it is 4^k
        times as large.

    Returns
    -------
    exponent : int
        The largest k <= 20 with ``n_rows * 4**k <= 2**61`` and ``scale * 4**k <= 2**51``.

    Raises
    ------
    ValueError
        No grid is possible: there are too many rows, or epsilon is too small.
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
    """Return the grid of a plan; ValueError for one that cannot follow from bounds."""
    grid = MomentGrid.from_dict(fields.mapping(name))
    sides = np.append(grid.lower, grid.target[0]), np.append(grid.upper, grid.target[1])
    if grid.n_features > MOST_COLUMNS or not (sides[0] < sides[1]).all():
        raise ValueError("its grid has too many columns, or impossible bounds")
    if (grid.x_norm is None) != (grid.norm_order is None) or (grid.x_norm is not None and grid.x_norm <= 0):
        raise ValueError("its grid has a norm without an order, or none above 0")
    return grid


def exceeds(values: IntArray, most: float) -> bool:
    """Return whether an integer is beyond a bound, also for the least int64, which has no magnitude."""
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
        Numbers in the units of the bounds. float64 and float32 in C order are read without a copy.
    y : ndarray of shape (n,)
        Target on the scale of the model.
    steps : ndarray of float64 of shape (n,), default=None
        Weights of the rows as integers from 0 to `largest`. None: all are 1.
    largest : int, default=1
        Bound on a weight.
    block_rows : int, default=None
        Rows that are packed together. None: the fastest number. The result does not depend on it.

    Returns
    -------
    gram : int64 ndarray of shape (n_features + 2, n_features + 2)
        Sums in units of 4^-exponent; index 0 is the constant, 1 the target, then the features.

    Raises
    ------
    OverflowError
        ``n * 4**exponent * largest`` reaches 2^61. No row is read.
    ValueError
        A value is NaN or infinite (the message does not say which), or a shape is wrong.

    Notes
    -----
    The products of a block are added in float64, where integers are exact up to 2^53. A block has at most
    ``2**53 / (4**exponent * largest)`` rows, so that its sums stay below this limit in any order of addition,
    with or without fused operations. Then they are added in int64. The result thus depends only on the set of
    rows.

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
    # `add_products` processes four columns at a time; padding stays 0.
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
    """Raise OverflowError if sums might exceed 64 bits less two; this depends only on public numbers."""
    if n_rows * 4**exponent * largest > 2**SUM_BITS:
        raise OverflowError("too many rows for the grid: its exact sums do not fit 64-bit integers.")
    if 4**exponent * largest > EXACT:
        raise OverflowError("the grid is too fine: products of its values do not fit float64.")


def make_packer(grid: MomentGrid) -> Callable[[NDArray[Any], NDArray[Any], FloatArray], bool]:
    """Return a function that packs rows on the grid; it returns False if a value is not finite."""
    bound = 2.0**grid.exponent
    radius = 1.0 if grid.norm_order else bound
    center, scale = np.zeros((2, grid.n_features + PADDING))
    center[: grid.n_features] = grid.center
    # A half-width near the least float has an infinite inverse; the kernels clip the results.
    with np.errstate(over="ignore", divide="ignore"):
        scale[: grid.n_features] = radius / grid.half
        y_scale = float(np.float64(bound) / grid.y_half)
    work = np.zeros_like(center)

    def pack(X: NDArray[Any], y: NDArray[Any], out: FloatArray) -> bool:
        # The kernels need C order and one type. Copying a block is cheap, copying all rows is not.
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
    """Yield the slice of each block of rows, and (x', y', 1) as integers on the grid, in a reused array.

    It raises ValueError if a value is NaN or infinite; the message does not say which. Without y, zeros are
    packed.
    """
    pack, block, nothing = make_packer(grid), np.empty((BLOCK_ROWS, grid.size)), np.zeros(BLOCK_ROWS)
    for first in range(0, len(X), BLOCK_ROWS):
        here = slice(first, first + BLOCK_ROWS)
        packed = block[: len(X[here])]
        if not pack(X[here], nothing[: len(packed)] if y is None else y[here], packed):
            raise ValueError(f"{'X' if y is None else 'X and y'} must be finite: NaN and inf are refused.")
        yield here, packed


def check_block_room(n_rows: int, one: float) -> None:
    """Raise OverflowError if sums of integers up to `one` over a block or all rows might not be exact."""
    if BLOCK_ROWS * one > EXACT:
        raise OverflowError("the grid is too fine: sums of a block of rows do not fit float64.")
    if n_rows * one > 2**62:
        raise OverflowError("too many rows for the grid: its exact sums do not fit 64-bit integers.")


def _multiplier(
    shape: tuple[int, int], *, weighted: bool
) -> Callable[[FloatArray, FloatArray | None, FloatArray], None]:
    """Return a function that adds block' diag(steps) block to `total`, at least above the diagonal."""
    # Imported here: clients, which sum nothing, have only NumPy.
    from scipy.linalg.blas import dgemm, dsyrk

    # Both routines give the same sums, which are exact.
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
            # BLAS uses column order: its lower triangle is our upper one.
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
    """Sums of z z' over rows z = (1, y', x') on a grid, or z = (1, y', p') with p' a line at x'.

    Attributes
    ----------
    grid : MomentGrid
    largest : int
        Bound on a row's weight, in steps; 1: rows have no weights.
    line : ndarray of shape (n_features + 1,) or None
        The constant, then the slopes, in scaled units: p' is clipped to [-1, 1], and rounded as y' is.

    Notes
    -----
    **Privacy.** A row's integers follow from the row and the plan alone, whatever rows are beside it. The
    line is public, or made of released values; (1, y', p') is a row of one feature, whatever it is.
    """

    grid: MomentGrid = stored(read_grid)
    largest: int = stored(Fields.integer, 1, 2**SUM_BITS, default=1)
    line: FloatArray | None = stored(maybe, lambda *where: read_line(*where), default=None)
    kind: ClassVar[str] = "moments"

    @property
    def size(self) -> int:
        """Number of entries of z."""
        return self.grid.size if self.line is None else 3

    @property
    def n_sums(self) -> int:
        """Number of entries of the matrix."""
        return self.size**2

    def sums(self, rows: PreparedRows) -> IntArray:
        """Return the matrix, of the shape of z z', as one vector."""
        rows = rows.only_kept()
        if rows.y is None:
            raise ValueError("the rows have no target.")
        if self.line is None:
            return exact_gram(self.grid, rows.X, rows.y, rows.steps, self.largest).ravel()
        weights, one = np.r_[self.line[1:], 0.0, self.line[0]], 2.0**self.grid.exponent
        gram = np.zeros((3, 3), dtype=np.int64)
        for _, packed, places in combinations_of(self.grid, weights, rows.X, rows.y):
            places = np.trunc(np.clip(places * one, -one, one))
            z = np.stack([packed[:, -1], packed[:, -2], places])
            gram += (z @ z.T).astype(np.int64)
        return gram.ravel()

    def check_sums(self, values: IntArray, n_rows: int) -> None:
        """Raise ValueError if sums are impossible for n_rows rows."""
        gram, largest = values.reshape(self.size, -1), n_rows * 4**self.grid.exponent * self.largest
        total = int(gram[0, 0])
        possible = total == largest if self.largest == 1 else 0 <= total <= largest
        refuse_sums(not possible or (gram != gram.T).any() or (gram > total).any() or (gram < -total).any())

    def check_room(self, n_rows: int) -> None:
        """Raise OverflowError if the sums of so many rows might overflow."""
        check_room(n_rows, self.grid.exponent, self.largest)

    def _check_fields(self) -> None:
        self._require(self.line is None or self.largest == 1, "rows with a line have no weights")


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
    """Yield the slice of each block of rows, the packed rows, and their products weights . (x', y', 1).

    Each product is summed entry by entry in one order, independent of the other rows.
    """
    factors, sums = weights * 2.0**-grid.exponent, np.empty(BLOCK_ROWS)
    for here, packed in packed_blocks(grid, X, y):
        total = sums[: len(packed)]
        total[:] = 0.0
        # Huge weights may give NaN.
        add_dot_products(packed, factors, total)
        yield here, packed, total


def read_line(fields: Fields, name: str = "line") -> FloatArray:
    """Return the line of a plan; ValueError if it is impossible."""
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
        Limit of residuals in half-widths of the target; r is the clipped residual divided by it.
    bits : int
        r is rounded toward zero to a multiple of 2^-bits.

    Notes
    -----
    **Privacy.** The line and the clip are public, or functions of released values. A row's integers depend
    only on the row and the plan: they are a bounded integer r times an integer row on the grid. The sums of a
    block stay below 2^53, so that the result depends only on the set of rows.
    """

    grid: MomentGrid = stored(read_grid)
    line: FloatArray = stored(read_line)
    clip: float = stored(Fields.number)
    bits: int = stored(Fields.integer, 0, FINEST)
    kind: ClassVar[str] = "looks"
    coding: ClassVar[AsTheyAre] = AS_THEY_ARE

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
        """Raise ValueError if sums are impossible for n_rows rows."""
        most = n_rows * 2 ** (self.grid.exponent + self.bits)
        refuse_sums(exceeds(values[:-1], most) or not 0 <= int(values[-1]) <= n_rows * 4**self.bits)

    def check_room(self, n_rows: int) -> None:
        """Raise OverflowError if the sums of so many rows might overflow."""
        check_block_room(n_rows, 2 ** (self.bits + max(self.bits, self.grid.exponent)))

    def _check_fields(self) -> None:
        self._require(self.clip >= NARROWEST, "clip must be above 0")


def count_sums(observations: tuple[str, ...]) -> int:
    """Return the number of sums besides gradient and curvature, by the declared kinds of observation.

    The first is the number of events. Intervals, and rows with an entry, contain less information about the
    scale than events; the difference is a second sum.
    """
    return 1 if {"interval", "entry"}.isdisjoint(observations) else 2


def _read_kinds(fields: Fields, name: str) -> tuple[str, ...]:
    return check_observations(fields.texts(name), structured=True)


def _read_limits(fields: Fields, name: str) -> tuple[float, ...]:
    is_plain = set(_read_kinds(fields, "observations")) <= set(KINDS[:2])
    limits = fields.numbers(name, 4 if is_plain else 5)
    if min(limits) < 0 or any(limit != int(limit) for limit in limits):
        raise ValueError("a plan: limits must be integers of at least 0")
    return tuple(limits)


@dataclass(frozen=True, eq=False)
class ResidualGrid(Record):
    """Rounding of a row's residual and curvature to integers.

    Attributes
    ----------
    distribution : int
        Number of the distribution in the kernel.
    cuts : tuple of two floats
        Limits of standardised errors. Below the first, the score of normal errors does not grow; a row beyond
        the second counts as censored there.
    residual_bits, curvature_bits : int
        Residuals and curvatures are multiples of 2^-bits.
    limits : tuple of four or five floats
        Largest integers of a residual below 0, of a residual above 0, of a curvature, and of the correction
        of the number of events. With further kinds of observation, also of a residual times a target of 1.
    observations : tuple of str
        Declared kinds of observation. Rows of other kinds count as events, and undeclared entries are not
        read.
    """

    distribution: int = stored(Fields.integer, 0, _N_DISTRIBUTIONS - 1)
    cuts: tuple[float, float] = stored(pair)
    residual_bits: int = stored(Fields.integer, 0, _MOST_BITS)
    curvature_bits: int = stored(Fields.integer, 0, _MOST_BITS)
    limits: tuple[float, ...] = stored(_read_limits)
    observations: tuple[str, ...] = stored(_read_kinds, default=KINDS[:2])

    @property
    def is_plain(self) -> bool:
        """Whether every row is an event or right-censored, and observed from the start."""
        return set(self.observations) <= set(KINDS[:2])

    @property
    def in_halves(self) -> bool:
        """Whether the curvature is the mean of two estimates of the same expectation; see `residuals_of`."""
        return {"left", "interval"}.isdisjoint(self.observations)

    @property
    def n_counts(self) -> int:
        """Number of sums besides gradient and curvature: events and, for some kinds, the lost information."""
        return count_sums(self.observations)

    @property
    def largest_moment(self) -> float:
        """Largest integer of a residual times an entry of z that is 1."""
        return max(self.limits[:2] if self.is_plain else (*self.limits[:2], self.limits[4]))


@dataclass(frozen=True, eq=False)
class GradientsPlan(Record):
    """The number of events, the sum of r z, and optionally the sum of w z z', over rows z on a grid.

    Attributes
    ----------
    grid : MomentGrid
        Grid with the exponent of the rows in the gradient.
    residuals : ResidualGrid
    theta : ndarray of shape (D,)
        Parameters at which residuals are computed: the standardised error of a row is theta . z.
    coarse : int or None
        Exponent of the rows in the curvature; None: no curvature.

    Notes
    -----
    **Privacy.** theta is public, or a function of released values. A row's integers depend only on the row
    and the plan: the standardised error is summed in one fixed order, independent of the other rows. The sums
    of a block stay below 2^53, so that the result depends only on the set of rows.
    """

    grid: MomentGrid = stored(read_grid)
    residuals: ResidualGrid = spread(ResidualGrid)
    theta: FloatArray = stored(lambda fields, name: array(fields, name, read_grid(fields).size))
    coarse: int | None = stored(maybe, Fields.integer, 0, FINEST)
    kind: ClassVar[str] = "gradients"
    coding: ClassVar[AsTheyAre] = AS_THEY_ARE

    @property
    def n_sums(self) -> int:
        """Number of integers: events, lost information if needed, gradient, and the curvature's matrix."""
        size = self.grid.size
        return self.residuals.n_counts + size + (0 if self.coarse is None else size**2)

    def sums(self, rows: PreparedRows) -> IntArray:
        """Return the integers.

        Notes
        -----
        The number of events within the cuts, minus the corrections by `residuals_of`, is in units of
        ``2**-residual_bits``. The gradient (index 0 the constant, 1 the target, then the features) is in
        units of ``2**-(exponent + residual_bits)``, the curvature in units of ``2**-(2 coarse +
        curvature_bits)``. If `count_sums` is 2, the second number is the lost information about the scale, in
        the units of the number of events.
        """
        rows = rows.only_kept()
        y, event = rows.times_and_events(self.grid.n_features)
        grid, size, about = self.grid, self.grid.size, self.residuals
        order = np.array([*range(2, size), 1, 0])
        theta, columns = self.theta[order] / 2.0**grid.exponent, np.empty(7 * BLOCK_ROWS)
        units = np.array([2.0**about.residual_bits, 2.0**about.curvature_bits])
        about_kind = about.distribution, np.array(about.cuts), units, np.array(about.limits)
        counts, gradient = np.zeros(about.n_counts, dtype=np.int64), np.zeros(size, dtype=np.int64)
        observed = None if about.is_plain else _read_observed(rows, grid, about.observations)
        matrix = np.zeros((size, size), dtype=np.int64)
        for here, q in packed_blocks(grid, rows.X, y):
            m = len(q)
            r, moment = columns[:m], columns[m : 2 * m]
            weights, places = columns[2 * m : 5 * m].reshape(3, m), columns[5 * m : 7 * m].reshape(2, m)
            if observed is None:
                counts += fill_residuals(q, event[here], theta, *about_kind, r, weights, places)
                gradient += (r @ q).astype(np.int64)
            else:
                code, end, start, entry = (column[here] for column in observed)
                outputs, halves = (r, moment, weights, places), about.in_halves
                both = fill_observed(q, code, end, start, entry, theta, *about_kind, halves, *outputs)
                counts += both[: about.n_counts]
                one = r @ q
                one[-2] = moment.sum()
                gradient += one.astype(np.int64)
            if self.coarse is not None:
                matrix += _curvature(q, weights, places, 2.0 ** (self.coarse - grid.exponent))
        back = np.argsort(order)
        parts = [counts, gradient[back]]
        if self.coarse is not None:
            parts.append(matrix[np.ix_(back, back)].ravel())
        return np.concatenate(parts)

    def split(self, values: IntArray) -> tuple[int, IntArray, IntArray | None]:
        """Return the events, the gradient and the curvature in these sums."""
        size, first = self.grid.size, self.residuals.n_counts
        matrix = None if self.coarse is None else values[first + size :].reshape(size, size)
        return int(values[0]), values[first : first + size], matrix

    def check_sums(self, values: IntArray, n_rows: int) -> None:
        """Raise ValueError if sums are impossible for n_rows rows."""
        events, gradient, matrix = self.split(values)
        about = self.residuals
        most = n_rows * about.largest_moment * 2**self.grid.exponent
        refuse_sums(about.n_counts > 1 and not 0 <= values[1] <= n_rows * 2**about.residual_bits)
        possible = abs(events) <= n_rows * 2**about.residual_bits + n_rows * about.limits[3]
        if matrix is not None and self.coarse is not None:
            possible &= not exceeds(matrix, n_rows * about.limits[2] * 4**self.coarse)
            possible &= bool((matrix == matrix.T).all())
        refuse_sums(not possible or exceeds(gradient, most))

    def check_room(self, n_rows: int) -> None:
        """Raise OverflowError if the sums of so many rows might overflow."""
        about = self.residuals
        one = [about.largest_moment * 2**self.grid.exponent, 2**about.residual_bits + about.limits[3]]
        if self.coarse is not None:
            one.append(about.limits[2] * 4**self.coarse)
        check_block_room(n_rows, max(one))


def _curvature(block: FloatArray, weights: FloatArray, places: FloatArray, factor: float) -> IntArray:
    """Sum weights z z'; the target, the second to last entry, differs for each of the later weights."""
    # Toward zero, so that no norm grows.
    short = np.trunc(block * factor)
    targets = np.stack([short[:, -2], *np.trunc(places * factor)])
    matrix = (short * weights.sum(axis=0)[:, None]).T @ short
    matrix[-2] = matrix[:, -2] = (weights * targets).sum(axis=0) @ short
    matrix[-2, -2] = (weights * targets**2).sum()
    return matrix.astype(np.int64)


def _read_observed(
    rows: PreparedRows, grid: MomentGrid, observations: tuple[str, ...]
) -> tuple[NDArray[Any], ...]:
    """Return codes, and ends, starts and entries in steps from the centre.

    Rows of undeclared kinds count as events; undeclared entries are not read.
    """
    y, event = rows.times_and_events()
    codes = np.array(event)
    for kind in ("left", "interval"):
        if kind not in observations:
            codes[codes == CODES[kind]] = CODES["exact"]
    nothing = np.full(len(codes), -np.inf)
    start = nothing if rows.start is None else np.where(codes == CODES["interval"], rows.start, -np.inf)
    entry = nothing if rows.entry is None or "entry" not in observations else rows.entry
    if np.isnan(start).any() or np.isnan(entry).any():
        raise ValueError("the starts of intervals and the entries must not be NaN.")

    def steps(column: FloatArray) -> FloatArray:
        # A value that overflows is beyond every bound.
        with np.errstate(over="ignore"):
            return np.ascontiguousarray((column - grid.y_center) / grid.y_half * 2.0**grid.exponent)

    return codes, steps(y), steps(start), steps(entry)
