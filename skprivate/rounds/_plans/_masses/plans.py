# SPDX-License-Identifier: BSD-3-Clause
"""Plan of masses: their sums by leaf of a partition, or by the cells of other axes."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...._typing import IntArray
from ....partition import Partition
from ....utils._json_documents import Fields
from ..axes import Axis, LeafAxis, axis_from_dict
from ..rows import PreparedRows
from .mass_kernels import add_masses
from .masses import Masses, check_room, check_totals, masses_from_dict

# Most sums of a plan, 1 GiB.
_MOST_SUMS = 2**27
# Rows of a block, whose leaves and masses stay in the second-level cache.
_BLOCK_ROWS = 2**13


@dataclass(frozen=True, eq=False)
class MassesPlan:
    """Sums of masses by the cells of axes: a table for each.

    Attributes
    ----------
    axes : tuple of Axis
        Each puts a row into one of its cells; tables follow each other in the sums.
    masses : Masses
        What a row adds to its cell of every axis.

    Notes
    -----
    **Privacy.** A row is in one cell of every axis, by itself. Adding or removing it moves the sums of an
    axis by at most ``masses.total * masses.largest`` in L1, replacing it by twice that. Without weights the
    sum of all masses of an axis is ``masses.total`` times the number of rows, as public as that; with weights
    it is as private as the rest.

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate.partition import Partition
    >>> from skprivate.rounds._plans._masses.masses import NumberMasses
    >>> from skprivate.rounds._plans._masses.plans import MassesPlan
    >>> from skprivate.rounds._plans.rows import PreparedRows
    >>> halves = Partition.from_splits([0, -1, -1], [0.5], lower=[0.0], upper=[1.0])
    >>> plan = MassesPlan.of_leaves(halves, NumberMasses(center=0.0, half=1.0, bits=2))
    >>> rows = PreparedRows(np.array([[0.1], [0.9], [0.7]]), y=np.array([-1.0, 0.0, 1.0]))
    >>> plan.tables(plan.sums(rows))[0]
    array([[16,  0,  0],
           [ 4,  8, 20]])
    """

    axes: tuple[Axis, ...]
    masses: Masses
    kind: ClassVar[str] = "masses"

    @classmethod
    def of_leaves(cls, partition: Partition, masses: Masses) -> "MassesPlan":
        """Return the plan of sums by leaf of a partition."""
        return cls((LeafAxis(partition),), masses)

    @property
    def n_sums(self) -> int:
        """Number of sums, of all axes together."""
        return sum(axis.size for axis in self.axes) * self.masses.n_cells

    def tables(self, values: IntArray) -> list[IntArray]:
        """Return the sums of every axis as a table of shape (size, n_cells), a view."""
        whole = values.reshape(-1, self.masses.n_cells)
        return np.split(whole, np.cumsum([axis.size for axis in self.axes])[:-1])

    def sums(self, rows: PreparedRows) -> IntArray:
        """Return the sums by axis, cell of it, and cell of the masses, the last fastest."""
        sums = np.zeros(self.n_sums, dtype=np.int64)
        tables = self.tables(sums)
        for block in blocks_of(rows.only_kept(), _BLOCK_ROWS):
            placed = self.masses.place(block)
            for axis, table in zip(self.axes, tables, strict=True):
                add_masses(np.ascontiguousarray(axis.codes(block), dtype=np.int32), *placed, table)
        return sums

    def check_sums(self, values: IntArray, n_rows: int) -> None:
        """Refuse sums that no n_rows rows have."""
        if (values < 0).any() or (values > n_rows * self.masses.total * self.masses.largest).any():
            raise ValueError("the sums are not those of so many rows")
        for table in self.tables(values):
            # Python's integers have no end: so many cells of so large sums may pass 64 bits.
            check_totals(self.masses, table.astype(object).sum(axis=1), n_rows)

    def check_room(self, n_rows: int) -> None:
        """Refuse rows that the sums have no room for."""
        check_room(self.masses, n_rows)

    def to_dict(self) -> dict[str, Any]:
        """Return JSON values."""
        axes = [axis.to_dict() for axis in self.axes]
        return {"kind": self.kind, "axes": axes, "masses": self.masses.to_dict()}

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> "MassesPlan":
        """Restore the plan; ValueError for what `to_dict` would not write."""
        fields = Fields(content, ("kind", "axes", "masses"), what="a plan")
        axes = tuple(axis_from_dict(axis) for axis in fields.items("axes"))
        plan = cls(axes, masses_from_dict(fields.mapping("masses")))
        if not axes or plan.n_sums > _MOST_SUMS:
            raise ValueError("a plan: it has no sums, or too many")
        return plan


def blocks_of(rows: PreparedRows, n_rows: int) -> Iterator[PreparedRows]:
    """Yield the rows, all of which count, so many at a time, as views: what masses read of them."""
    for first in range(0, len(rows.X), n_rows):
        here = slice(first, first + n_rows)
        y, labels, steps = (
            None if column is None else column[here] for column in (rows.y, rows.labels, rows.steps)
        )
        yield PreparedRows(rows.X[here], y=y, labels=labels, steps=steps)
