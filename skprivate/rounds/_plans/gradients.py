# SPDX-License-Identifier: BSD-3-Clause
"""Plan of gradients: sums of residuals times rows, and of curvatures, around public parameters."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..._typing import FloatArray, IntArray
from ...utils._json_documents import Fields
from .._codec import Record, array, maybe, pair, spread, stored
from .._rows import CODES, KINDS, PreparedRows, check_observations
from .moments import BLOCK_ROWS, FINEST, MomentGrid, check_block_room, exceeds, packed_blocks, read_grid
from .residual_kernels import fill_observed, fill_residuals

# Distributions that the kernel knows.
_N_DISTRIBUTIONS = 3
# Bits of a residual and of a curvature below 1 at most.
_MOST_BITS = 26


def count_sums(observations: tuple[str, ...]) -> int:
    """Return the number of sums beside gradient and curvature, by the declared kinds of observation.

    The number of events is one. Intervals, and rows with an entry, tell less of the scale than events do: how
    much less is another.
    """
    return 1 if {"interval", "entry"}.isdisjoint(observations) else 2


def _read_kinds(fields: Fields, name: str) -> tuple[str, ...]:
    return check_observations(fields.texts(name), structured=True)


def _read_limits(fields: Fields, name: str) -> tuple[float, ...]:
    is_plain = set(_read_kinds(fields, "observations")) <= set(KINDS[:2])
    limits = fields.numbers(name, 4 if is_plain else 5)
    if min(limits) < 0 or any(limit != int(limit) for limit in limits):
        raise ValueError("a plan: limits must be whole numbers, and not negative")
    return tuple(limits)


@dataclass(frozen=True, eq=False)
class ResidualGrid(Record):
    """How a row's residual and curvature become integers.

    Attributes
    ----------
    distribution : int
        Number of the distribution in the kernel.
    cuts : tuple of two floats
        Standardised errors: below the first, the score of normal errors does not grow; a row that passes the
        second counts as censored there.
    residual_bits, curvature_bits : int
        Residuals and curvatures are multiples of 2^-bits.
    limits : tuple of four or five floats
        Greatest integers: of a residual below 0, of one above, of a curvature, of what is off an event; where
        there are other kinds, of a residual times a target of 1.
    observations : tuple of str
        Kinds of observation that are declared; rows of others count as events, and entries are not read.
    """

    distribution: int = stored(Fields.integer, 0, _N_DISTRIBUTIONS - 1)
    cuts: tuple[float, float] = stored(pair)
    residual_bits: int = stored(Fields.integer, 0, _MOST_BITS)
    curvature_bits: int = stored(Fields.integer, 0, _MOST_BITS)
    limits: tuple[float, ...] = stored(_read_limits)
    observations: tuple[str, ...] = stored(_read_kinds, default=KINDS[:2])

    @property
    def is_plain(self) -> bool:
        """Whether every row is an event or censored, and watched from the start."""
        return set(self.observations) <= set(KINDS[:2])

    @property
    def in_halves(self) -> bool:
        """Whether the curvature is the mean of two of the same expectation; see `residuals_of`."""
        return {"left", "interval"}.isdisjoint(self.observations)

    @property
    def n_counts(self) -> int:
        """Number of sums beside gradient and curvature: events and, for some kinds, the information less."""
        return count_sums(self.observations)

    @property
    def largest_moment(self) -> float:
        """Greatest integer of a residual times an entry of z that is 1."""
        return max(self.limits[:2] if self.is_plain else (*self.limits[:2], self.limits[4]))


@dataclass(frozen=True, eq=False)
class GradientsPlan(Record):
    """The number of events, the sum of r z, and perhaps that of w z z', over rows z on a grid.

    Attributes
    ----------
    grid : MomentGrid
        With the exponent of the rows in the gradient.
    residuals : ResidualGrid
    theta : ndarray of shape (D,)
        Where residuals are taken: the standardised error of a row is theta . z.
    coarse : int or None
        Exponent of the rows in the curvature; None: no curvature.

    Notes
    -----
    **Privacy.** theta is public, or made of released values. A row's integers follow from the row and the
    plan alone: the standardised error is added up in one fixed order, whatever rows are beside it. The sums
    of a block stay below 2^53, so that the result depends on nothing but the set of rows.
    """

    grid: MomentGrid = stored(read_grid)
    residuals: ResidualGrid = spread(ResidualGrid)
    theta: FloatArray = stored(lambda fields, name: array(fields, name, read_grid(fields).size))
    coarse: int | None = stored(maybe, Fields.integer, 0, FINEST)
    kind: ClassVar[str] = "gradients"

    @property
    def n_sums(self) -> int:
        """Number of integers: events, perhaps the information less, gradient, and the curvature's matrix."""
        size = self.grid.size
        return self.residuals.n_counts + size + (0 if self.coarse is None else size**2)

    def sums(self, rows: PreparedRows) -> IntArray:
        """Return the integers.

        Notes
        -----
        The number of events within the cuts, less what `residuals_of` takes off, is in units of
        ``2**-residual_bits``. The gradient, index 0 the constant, 1 the target, then the features, is in
        units of ``2**-(exponent + residual_bits)``, the curvature in ``2**-(2 coarse + curvature_bits)``.
        Where `count_sums` is 2, the second number is how much less than the number of events, in the same
        units, rows tell of the scale.
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
        """Return events, gradient and curvature of such sums."""
        size, first = self.grid.size, self.residuals.n_counts
        matrix = None if self.coarse is None else values[first + size :].reshape(size, size)
        return int(values[0]), values[first : first + size], matrix

    def check_sums(self, values: IntArray, n_rows: int) -> None:
        """Refuse sums that no n_rows rows have."""
        events, gradient, matrix = self.split(values)
        about = self.residuals
        most = n_rows * about.largest_moment * 2**self.grid.exponent
        if about.n_counts > 1 and not 0 <= values[1] <= n_rows * 2**about.residual_bits:
            raise ValueError("the sums are not those of so many rows")
        possible = abs(events) <= n_rows * 2**about.residual_bits + n_rows * about.limits[3]
        if matrix is not None and self.coarse is not None:
            possible &= not exceeds(matrix, n_rows * about.limits[2] * 4**self.coarse)
            possible &= bool((matrix == matrix.T).all())
        if not possible or exceeds(gradient, most):
            raise ValueError("the sums are not those of so many rows")

    def check_room(self, n_rows: int) -> None:
        """Refuse rows that the sums have no room for."""
        about = self.residuals
        one = [about.largest_moment * 2**self.grid.exponent, 2**about.residual_bits + about.limits[3]]
        if self.coarse is not None:
            one.append(about.limits[2] * 4**self.coarse)
        check_block_room(n_rows, max(one))


def _curvature(block: FloatArray, weights: FloatArray, places: FloatArray, factor: float) -> IntArray:
    """Sum weights z z'; the target, the last entry but one, is another with each of the later weights."""
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

    What is not declared counts as an event, or is not read.
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
        # What overflows is beyond every bound.
        with np.errstate(over="ignore"):
            return np.ascontiguousarray((column - grid.y_center) / grid.y_half * 2.0**grid.exponent)

    return codes, steps(y), steps(start), steps(entry)
