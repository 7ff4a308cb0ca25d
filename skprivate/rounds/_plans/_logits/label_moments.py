# SPDX-License-Identifier: BSD-3-Clause
"""Plan of label moments: rows by label, and sums and squares of every column."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...._typing import IntArray
from ....utils._json_documents import Fields
from ..gram import EXACT, make_packer
from ..grid import MomentGrid
from ..moments import read_grid
from ..rows import PreparedRows

# Rows that are packed together: with the finest grid their sums of squares are exact in float64.
_BLOCK_ROWS = 4096
# Most labels: room is made for them before rows are read.
MOST_LABELS = 2**16


@dataclass(frozen=True, eq=False)
class LabelMomentsPlan:
    """The number of rows of every label, and the sum and the sum of squares of every column on a grid.

    Attributes
    ----------
    grid : MomentGrid
        Of the features; its target is not used.
    n_labels : int

    Notes
    -----
    **Privacy.** A row's integers follow from the row and the grid alone. It is in one count, and its columns
    x' lie in the cube or the ball of the grid on the integers themselves.
    """

    grid: MomentGrid
    n_labels: int
    kind: ClassVar[str] = "label-moments"

    @property
    def n_sums(self) -> int:
        """Number of integers: counts, sums, and sums of squares."""
        return self.n_labels + 2 * self.grid.n_features

    def sums(self, rows: PreparedRows) -> IntArray:
        """Return counts in rows, sums in units of 2^-exponent, and squares in units of 4^-exponent."""
        rows = rows.only_kept()
        labels = check_labels(rows, self.grid.n_features, self.n_labels)
        pack, d = make_packer(self.grid), self.grid.n_features
        block, nothing = np.empty((_BLOCK_ROWS, self.grid.size)), np.zeros(_BLOCK_ROWS)
        first_two = np.zeros((2, d), dtype=np.int64)
        for first in range(0, len(labels), _BLOCK_ROWS):
            here = rows.X[first : first + _BLOCK_ROWS]
            q = block[: len(here)]
            if not pack(here, nothing[: len(here)], q):
                raise ValueError("X must be finite: NaN and inf are refused.")
            x = q[:, :d]
            first_two[0] += x.sum(axis=0).astype(np.int64)
            first_two[1] += np.einsum("ij,ij->j", x, x).astype(np.int64)
        counts = np.bincount(labels, minlength=self.n_labels).astype(np.int64)
        return np.concatenate([counts, first_two.ravel()])

    def check_sums(self, values: IntArray, n_rows: int) -> None:
        """Refuse sums that no n_rows rows have."""
        counts, (sums, squares) = values[: self.n_labels], values[self.n_labels :].reshape(2, -1)
        one = 2**self.grid.exponent
        possible = counts.min() >= 0 and counts.sum() == n_rows
        possible &= bool((np.abs(sums) <= n_rows * one).all() and (squares <= n_rows * one**2).all())
        if not possible or squares.min() < 0:
            raise ValueError("the sums are not those of so many rows")

    def check_room(self, n_rows: int) -> None:
        """Refuse rows that the sums have no room for."""
        if _BLOCK_ROWS * 4**self.grid.exponent > EXACT:
            raise OverflowError("the grid is too fine: sums of a block of rows do not fit float64.")
        if n_rows * 4**self.grid.exponent > 2**62:
            raise OverflowError("too many rows for the grid: its exact sums do not fit 64-bit integers.")

    def to_dict(self) -> dict[str, Any]:
        """Return JSON values."""
        return {"kind": self.kind, "grid": self.grid.to_dict(), "n_labels": self.n_labels}

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> "LabelMomentsPlan":
        """Restore the plan; ValueError for what `to_dict` would not write."""
        fields = Fields(content, ("kind", "grid", "n_labels"), what="a plan")
        return cls(read_grid(fields), fields.integer("n_labels", 2, MOST_LABELS))


def check_labels(rows: PreparedRows, n_features: int, n_labels: int) -> Any:
    """Return the labels of rows; ValueError, which repeats nothing, for rows that a plan is not about."""
    if rows.labels is None or rows.X.ndim != 2 or rows.X.shape != (len(rows.labels), n_features):
        raise ValueError(f"X must have shape (n, {n_features}), and a label per row.")
    labels = np.ascontiguousarray(rows.labels, dtype=np.int32)
    if len(labels) and not 0 <= labels.min() <= labels.max() < n_labels:
        raise ValueError("a label is not a position among the classes.")
    return labels
