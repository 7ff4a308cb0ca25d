# SPDX-License-Identifier: BSD-3-Clause
"""Plan of gradients: sums of residuals times rows, and of curvatures, around public parameters."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..._typing import FloatArray, IntArray
from ...utils._json_documents import Fields
from .gram import EXACT, make_packer
from .grid import FINEST, MomentGrid
from .moments import read_grid
from .residual_kernels import fill_residuals
from .rows import PreparedRows

#: Rows that are packed together: grids are chosen so that the sums of so many are exact in float64.
BLOCK_ROWS = 4096
# Distributions that the kernel knows.
_N_DISTRIBUTIONS = 3
# Bits of a residual and of a curvature below 1 at most.
_MOST_BITS = 26


@dataclass(frozen=True, eq=False)
class ResidualGrid:
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
    limits : tuple of four floats
        Greatest integers: of a residual below 0, of one above, of a curvature, of what is off an event.
    """

    distribution: int
    cuts: tuple[float, float]
    residual_bits: int
    curvature_bits: int
    limits: tuple[float, float, float, float]


@dataclass(frozen=True, eq=False)
class GradientsPlan:
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

    grid: MomentGrid
    residuals: ResidualGrid
    theta: FloatArray
    coarse: int | None
    kind: ClassVar[str] = "gradients"

    @property
    def n_sums(self) -> int:
        """Number of integers: events, gradient, and the matrix of the curvature."""
        size = self.grid.size
        return 1 + size + (0 if self.coarse is None else size**2)

    def sums(self, rows: PreparedRows) -> IntArray:
        """Return the integers.

        Notes
        -----
        The number of events within the cuts, less what `residuals_of` takes off, is in units of
        ``2**-residual_bits``. The gradient, index 0 the constant, 1 the target, then the features, is in
        units of ``2**-(exponent + residual_bits)``, the curvature in ``2**-(2 coarse + curvature_bits)``.
        """
        rows = rows.only_kept()
        if rows.y is None or rows.event is None:
            raise ValueError("the rows have no times and events.")
        grid, size, about = self.grid, self.grid.size, self.residuals
        if rows.X.shape != (len(rows.y), grid.n_features) or rows.event.shape != rows.y.shape:
            raise ValueError(f"X must have shape (n, {grid.n_features}), and a target and an event per row.")
        order = np.array([*range(2, size), 1, 0])
        pack, theta = make_packer(grid), self.theta[order] / 2.0**grid.exponent
        block, residual, curvature = np.empty((BLOCK_ROWS, size)), np.empty(BLOCK_ROWS), np.empty(BLOCK_ROWS)
        units = np.array([2.0**about.residual_bits, 2.0**about.curvature_bits])
        cuts, limits = np.array(about.cuts), np.array(about.limits)
        events, gradient = 0, np.zeros(size, dtype=np.int64)
        matrix = np.zeros((size, size), dtype=np.int64)
        for first in range(0, len(rows.y), BLOCK_ROWS):
            here = slice(first, first + BLOCK_ROWS)
            m = len(rows.y[here])
            q, r, w = block[:m], residual[:m], curvature[:m]
            if not pack(rows.X[here], rows.y[here], q):
                raise ValueError("X and y must be finite: NaN and inf are refused.")
            events += fill_residuals(
                q, rows.event[here], theta, about.distribution, cuts, units, limits, r, w
            )
            gradient += (r @ q).astype(np.int64)
            if self.coarse is not None:
                # Toward zero, so that no norm grows.
                short = np.trunc(q * 2.0 ** (self.coarse - grid.exponent))
                matrix += ((short * w[:, None]).T @ short).astype(np.int64)
        back = np.argsort(order)
        parts = [np.array([events], dtype=np.int64), gradient[back]]
        if self.coarse is not None:
            parts.append(matrix[np.ix_(back, back)].ravel())
        return np.concatenate(parts)

    def split(self, values: IntArray) -> tuple[int, IntArray, IntArray | None]:
        """Return events, gradient and curvature of such sums."""
        size = self.grid.size
        matrix = None if self.coarse is None else values[1 + size :].reshape(size, size)
        return int(values[0]), values[1 : 1 + size], matrix

    def check_sums(self, values: IntArray, n_rows: int) -> None:
        """Refuse sums that no n_rows rows have."""
        events, gradient, matrix = self.split(values)
        about = self.residuals
        most = n_rows * max(about.limits[:2]) * 2**self.grid.exponent
        possible = abs(events) <= n_rows * 2**about.residual_bits + n_rows * about.limits[3]
        if matrix is not None and self.coarse is not None:
            possible &= bool(np.abs(matrix).max() <= n_rows * about.limits[2] * 4**self.coarse)
            possible &= bool((matrix == matrix.T).all())
        if not possible or np.abs(gradient).max() > most:
            raise ValueError("the sums are not those of so many rows")

    def check_room(self, n_rows: int) -> None:
        """Refuse rows that the sums have no room for."""
        about = self.residuals
        one = [max(about.limits[:2]) * 2**self.grid.exponent, 2**about.residual_bits + about.limits[3]]
        if self.coarse is not None:
            one.append(about.limits[2] * 4**self.coarse)
        if BLOCK_ROWS * max(one) > EXACT:
            raise OverflowError("the grid is too fine: sums of a block of rows do not fit float64.")
        if n_rows * max(one) > 2**62:
            raise OverflowError("too many rows for the grid: its exact sums do not fit 64-bit integers.")

    def to_dict(self) -> dict[str, Any]:
        """Return JSON values."""
        about = self.residuals
        return {
            "kind": self.kind,
            "grid": self.grid.to_dict(),
            "distribution": about.distribution,
            "cuts": list(about.cuts),
            "residual_bits": about.residual_bits,
            "curvature_bits": about.curvature_bits,
            "limits": list(about.limits),
            "theta": self.theta.tolist(),
            "coarse": self.coarse,
        }

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> "GradientsPlan":
        """Restore the plan; ValueError for what `to_dict` would not write."""
        names = ("kind", "grid", "distribution", "cuts", "residual_bits", "curvature_bits", "limits")
        fields = Fields(content, (*names, "theta", "coarse"), what="a plan")
        grid = read_grid(fields)
        low, high = fields.numbers("cuts", 2)
        limits = fields.numbers("limits", 4)
        if min(limits) < 0:
            raise ValueError("a plan: limits must not be negative")
        residuals = ResidualGrid(
            fields.integer("distribution", 0, _N_DISTRIBUTIONS - 1),
            (low, high),
            fields.integer("residual_bits", 0, _MOST_BITS),
            fields.integer("curvature_bits", 0, _MOST_BITS),
            (limits[0], limits[1], limits[2], limits[3]),
        )
        theta = np.array(fields.numbers("theta", grid.size))
        return cls(grid, residuals, theta, fields.maybe(fields.integer, "coarse", 0, FINEST))
