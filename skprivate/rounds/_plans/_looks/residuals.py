# SPDX-License-Identifier: BSD-3-Clause
"""Residuals of rows on a grid about a public line, and the cells that they fall into."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...._typing import FloatArray, IntArray
from ....utils._json_documents import Fields
from ..gram import make_packer
from ..grid import MomentGrid
from ..moments import read_grid
from ..rows import PreparedRows

#: Rows that are worked on together: grids are chosen so that the sums of so many are exact in float64.
BLOCK_ROWS = 4096
#: Largest coefficient of a line: sums of so many entries of rows stay finite.
STEEPEST = 2.0**64
# Most edges between cells of residuals.
_MOST_EDGES = 2**16


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

    Notes
    -----
    The packed row is (x', y', 1). Its residual is added up entry by entry, in one order, whatever rows are
    beside it.
    """
    if rows.y is None:
        raise ValueError("the rows have no target.")
    if rows.X.shape != (len(rows.y), grid.n_features):
        raise ValueError(f"X must have shape (n, {grid.n_features}), and a target per row.")
    pack, factors = make_packer(grid), np.r_[-line[1:], 1.0, -line[0]] * 2.0**-grid.exponent
    block, residuals, product = np.empty((BLOCK_ROWS, grid.size)), np.empty(BLOCK_ROWS), np.empty(BLOCK_ROWS)
    for first in range(0, len(rows.y), BLOCK_ROWS):
        here = slice(first, first + BLOCK_ROWS)
        count = len(rows.y[here])
        q, r, part = block[:count], residuals[:count], product[:count]
        if not pack(rows.X[here], rows.y[here], q):
            raise ValueError("X and y must be finite: NaN and inf are refused.")
        r[:] = 0.0
        for factor, entries in zip(factors, q.T, strict=True):
            r += np.multiply(entries, factor, out=part)
        yield here, q, r


@dataclass(frozen=True, eq=False)
class ResidualAxis:
    """Cell of the residual of every row about a line.

    Attributes
    ----------
    grid : MomentGrid
    line : ndarray of shape (n_features + 1,)
        The constant, then the slopes, in scaled units: public, or made of released values.
    edges : ndarray of shape (n_edges,)
        Increasing, in half-widths of the target; a residual on an edge is in the cell above it.

    Notes
    -----
    **Privacy.** The cell follows from the row and the axis alone.
    """

    grid: MomentGrid
    line: FloatArray
    edges: FloatArray
    kind: ClassVar[str] = "residual"

    @property
    def size(self) -> int:
        """Number of cells, one more than edges."""
        return len(self.edges) + 1

    def codes(self, rows: PreparedRows) -> IntArray:
        """Return the cell of every row."""
        codes = np.empty(len(rows.X), dtype=np.int64)
        for here, _, residuals in residuals_of(self.grid, self.line, rows):
            codes[here] = np.searchsorted(self.edges, residuals, side="right")
        return codes

    def to_dict(self) -> dict[str, Any]:
        """Return JSON values."""
        numbers = {"line": self.line.tolist(), "edges": self.edges.tolist()}
        return {"kind": self.kind, "grid": self.grid.to_dict(), **numbers}

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> "ResidualAxis":
        """Restore the axis; ValueError for what `to_dict` would not write."""
        fields = Fields(content, ("kind", "grid", "line", "edges"), what="an axis")
        grid, edges = read_grid(fields), np.array(fields.numbers("edges"))
        if not 0 < len(edges) <= _MOST_EDGES or not (np.diff(edges) > 0).all():
            raise ValueError("an axis: edges must increase")
        return cls(grid, read_line(fields, grid), edges)


def read_line(fields: Fields, grid: MomentGrid) -> FloatArray:
    """Return the line of a plan; ValueError for one that is none."""
    line = np.array(fields.numbers("line", grid.n_features + 1))
    if np.abs(line).max() > STEEPEST:
        raise ValueError("a line is too steep")
    return line
