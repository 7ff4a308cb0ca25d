# SPDX-License-Identifier: BSD-3-Clause
"""Plan of masses: their sums by leaf of a partition."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...._typing import IntArray
from ....partition import Partition
from ....utils._json_documents import Fields
from ..rows import PreparedRows
from .mass_kernels import add_masses
from .masses import Masses, check_room, check_totals, masses_from_dict

# Most sums of a plan, 1 GiB.
_MOST_SUMS = 2**27
# Rows of a block, whose leaves and masses stay in the second-level cache.
_BLOCK_ROWS = 2**13


@dataclass(frozen=True, eq=False)
class MassesPlan:
    """Sums of masses by leaf of a partition and cell.

    Attributes
    ----------
    partition : Partition
    masses : Masses
        What a row adds to the cells of its leaf.

    Notes
    -----
    **Privacy.** A row is in one leaf, by itself. Adding or removing it moves the sums by at most
    ``masses.total * masses.largest`` in L1, replacing it by twice that. Without weights every sum over the
    cells of all leaves is ``masses.total`` times the number of rows, as public as that; with weights it is
    as private as the rest.

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate.partition import Partition
    >>> from skprivate.rounds._plans._masses.masses import NumberMasses
    >>> from skprivate.rounds._plans._masses.plans import MassesPlan
    >>> from skprivate.rounds._plans.rows import PreparedRows
    >>> halves = Partition.from_splits([0, -1, -1], [0.5], lower=[0.0], upper=[1.0])
    >>> plan = MassesPlan(halves, NumberMasses(center=0.0, half=1.0, bits=2))
    >>> plan.by_leaf(plan.sums(PreparedRows(np.array([[0.1], [0.9], [0.7]]), y=np.array([-1.0, 0.0, 1.0]))))
    array([[16,  0,  0],
           [ 4,  8, 20]])
    """

    partition: Partition
    masses: Masses
    kind: ClassVar[str] = "masses"

    @property
    def n_sums(self) -> int:
        """Number of leaves times cells."""
        return self.partition.n_leaves * self.masses.n_cells

    def by_leaf(self, values: IntArray) -> IntArray:
        """Return sums as a table of shape (n_leaves, n_cells), a view."""
        return values.reshape(self.partition.n_leaves, self.masses.n_cells)

    def sums(self, rows: PreparedRows) -> IntArray:
        """Return the sums by leaf and cell, the cell fastest."""
        sums = np.zeros((self.partition.n_leaves, self.masses.n_cells), dtype=np.int64)
        for block in blocks_of(rows.only_kept(), _BLOCK_ROWS):
            add_masses(self.partition.apply(block.X), *self.masses.place(block), sums)
        return sums.ravel()

    def check_sums(self, values: IntArray, n_rows: int) -> None:
        """Refuse sums that no n_rows rows have."""
        if (values < 0).any() or (values > n_rows * self.masses.total * self.masses.largest).any():
            raise ValueError("the sums are not those of so many rows")
        # Python's integers have no end: so many cells of so large sums may pass 64 bits.
        check_totals(self.masses, self.by_leaf(values).astype(object).sum(axis=1), n_rows)

    def check_room(self, n_rows: int) -> None:
        """Refuse rows that the sums have no room for."""
        check_room(self.masses, n_rows)

    def to_dict(self) -> dict[str, Any]:
        """Return JSON values."""
        return {"kind": self.kind, "partition": self.partition.to_dict(), "masses": self.masses.to_dict()}

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> "MassesPlan":
        """Restore the plan; ValueError for what `to_dict` would not write."""
        fields = Fields(content, ("kind", "partition", "masses"), what="a plan")
        partition = Partition.from_dict(fields.mapping("partition"))
        plan = cls(partition, masses_from_dict(fields.mapping("masses")))
        if plan.n_sums > _MOST_SUMS:
            raise ValueError("a plan: it has too many sums")
        return plan


def blocks_of(rows: PreparedRows, n_rows: int) -> Iterator[PreparedRows]:
    """Yield the rows, all of which count, so many at a time, as views: what masses read of them."""
    for first in range(0, len(rows.X), n_rows):
        here = slice(first, first + n_rows)
        y, labels, steps = (
            None if column is None else column[here] for column in (rows.y, rows.labels, rows.steps)
        )
        yield PreparedRows(rows.X[here], y=y, labels=labels, steps=steps)
