# SPDX-License-Identifier: BSD-3-Clause
"""Plan of counts: tables of cells, in each of which a row is counted once."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..._typing import IntArray
from ...partition import count_leaves
from ...utils._json_documents import Fields
from .axes import Axis, axis_from_dict
from .rows import PreparedRows

# Most cells of a plan, 1 GiB of counts.
_MOST_CELLS = 2**27


@dataclass(frozen=True, eq=False)
class CellsPlan:
    """Counts of rows in tables of cells.

    Attributes
    ----------
    tables : tuple of tuples of Axis
        Each table has one cell for every combination of its axes' cells, the last axis fastest; no axis: one
        cell. Tables follow each other in the sums.

    Notes
    -----
    **Privacy.** A row is in exactly one cell of every table, by itself. Replacing it moves the counts of a
    table by at most 2 in L1 and in squared L2, adding or removing it by 1.

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate.rounds._plans.axes import LabelAxis
    >>> from skprivate.rounds._plans.cells import CellsPlan
    >>> from skprivate.rounds._plans.rows import PreparedRows
    >>> plan = CellsPlan(((LabelAxis(3),),))
    >>> plan.sums(PreparedRows(np.zeros((4, 1)), labels=np.array([2, 0, 2, 2])))
    array([1, 0, 3])
    """

    tables: tuple[tuple[Axis, ...], ...]
    kind: ClassVar[str] = "cells"

    @property
    def sizes(self) -> list[int]:
        """Number of cells of every table."""
        return [math.prod(axis.size for axis in axes) for axes in self.tables]

    @property
    def n_sums(self) -> int:
        """Number of cells."""
        return sum(self.sizes)

    def sums(self, rows: PreparedRows) -> IntArray:
        """Return the counts, table after table."""
        counts = [_count(axes, size, rows) for axes, size in zip(self.tables, self.sizes, strict=True)]
        return np.concatenate(counts) if counts else np.zeros(0, dtype=np.int64)

    def check_sums(self, values: IntArray, n_rows: int) -> None:
        """Refuse counts that no n_rows rows have."""
        ends = np.cumsum(self.sizes)[:-1]
        tables = np.split(values, ends) if self.tables else []
        if (values < 0).any() or any(int(table.sum()) != n_rows for table in tables):
            raise ValueError("the sums are not those of so many rows")

    def check_room(self, n_rows: int) -> None:
        """Refuse rows that the sums have no room for: counts have room for all."""

    def to_dict(self) -> dict[str, Any]:
        """Return JSON values."""
        return {"kind": self.kind, "tables": [[axis.to_dict() for axis in axes] for axes in self.tables]}

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> "CellsPlan":
        """Restore the plan; ValueError for what `to_dict` would not write."""
        tables = Fields(content, ("kind", "tables"), what="a plan").items("tables")
        if not all(type(axes) is list for axes in tables):
            raise ValueError("a plan: tables must be lists of axes")
        plan = cls(tuple(tuple(axis_from_dict(axis) for axis in axes) for axes in tables))
        if plan.n_sums > _MOST_CELLS:
            raise ValueError("a plan: it has too many cells")
        return plan


def _count(axes: tuple[Axis, ...], size: int, rows: PreparedRows) -> IntArray:
    if not axes:
        return np.array([rows.n_rows], dtype=np.int64)
    if len(axes) == 2:
        first, second = (_kept(axis.codes(rows), rows) for axis in axes)
        if first.dtype == second.dtype == np.int32:
            # Leaves and labels: counted at once, without a code for both.
            counts = np.zeros((axes[0].size, axes[1].size), dtype=np.int64)
            count_leaves(first, second, counts)
            return counts.ravel()
    codes = axes[0].codes(rows)
    if len(axes) > 1:
        # A copy, wide enough for the number of all cells.
        codes = codes.astype(np.int64)
    for axis in axes[1:]:
        codes *= axis.size
        codes += axis.codes(rows)
    return np.bincount(_kept(codes, rows), minlength=size).astype(np.int64, copy=False)


def _kept(codes: NDArray[Any], rows: PreparedRows) -> NDArray[Any]:
    return codes if rows.kept is None else codes[rows.kept]
