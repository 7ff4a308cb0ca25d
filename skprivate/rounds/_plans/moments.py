# SPDX-License-Identifier: BSD-3-Clause
"""Plan of moments: sums of products of what a row is on a public grid."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..._typing import IntArray
from ...utils._json_documents import Fields
from .gram import check_room, exact_gram
from .grid import SUM_BITS, MomentGrid
from .rows import PreparedRows

# Most columns of a plan: the sums of 4,096 are 128 MiB.
MOST_COLUMNS = 4096


@dataclass(frozen=True, eq=False)
class MomentsPlan:
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

    grid: MomentGrid
    largest: int = 1
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

    def to_dict(self) -> dict[str, Any]:
        """Return JSON values."""
        return {"kind": self.kind, "grid": self.grid.to_dict(), "largest": self.largest}

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> "MomentsPlan":
        """Restore the plan; ValueError for what `to_dict` would not write."""
        fields = Fields(content, ("kind", "grid", "largest"), what="a plan")
        return cls(read_grid(fields), fields.integer("largest", 1, 2**SUM_BITS))


def read_grid(fields: Fields) -> MomentGrid:
    """Return the grid of a plan; ValueError for one that no bounds make."""
    grid = MomentGrid.from_dict(fields.mapping("grid"))
    sides = np.append(grid.lower, grid.target[0]), np.append(grid.upper, grid.target[1])
    if grid.n_features > MOST_COLUMNS or not (sides[0] < sides[1]).all():
        raise ValueError("its grid has too many columns, or bounds that are none")
    if (grid.x_norm is None) != (grid.norm_order is None) or (grid.x_norm is not None and grid.x_norm <= 0):
        raise ValueError("its grid has a norm without an order, or none above 0")
    return grid
