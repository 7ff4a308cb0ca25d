# SPDX-License-Identifier: BSD-3-Clause
"""Plan of a look at residuals: sums of clipped residuals times rows, and of their squares."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...._typing import FloatArray, IntArray
from ....utils._json_documents import Fields
from ..gram import EXACT, exceeds
from ..grid import FINEST, MomentGrid
from ..moments import read_grid
from ..rows import PreparedRows
from .residuals import BLOCK_ROWS, read_line, residuals_of

#: Least clip: nearer to 0, its inverse overflows.
NARROWEST = 1e-100


@dataclass(frozen=True, eq=False)
class LooksPlan:
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

    grid: MomentGrid
    line: FloatArray
    clip: float
    bits: int
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
        one = 2 ** (self.bits + max(self.bits, self.grid.exponent))
        if BLOCK_ROWS * one > EXACT:
            raise OverflowError("the grid is too fine: sums of a block of rows do not fit float64.")
        if n_rows * one > 2**62:
            raise OverflowError("too many rows for the grid: its exact sums do not fit 64-bit integers.")

    def to_dict(self) -> dict[str, Any]:
        """Return JSON values."""
        own = {"line": self.line.tolist(), "clip": self.clip, "bits": self.bits}
        return {"kind": self.kind, "grid": self.grid.to_dict(), **own}

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> "LooksPlan":
        """Restore the plan; ValueError for what `to_dict` would not write."""
        fields = Fields(content, ("kind", "grid", "line", "clip", "bits"), what="a plan")
        grid, clip = read_grid(fields), fields.number("clip")
        if clip < NARROWEST:
            raise ValueError("a plan: clip must be above 0")
        return cls(grid, read_line(fields, grid), clip, fields.integer("bits", 0, FINEST))
