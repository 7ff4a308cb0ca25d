# SPDX-License-Identifier: BSD-3-Clause
"""Plan of histograms of masses: their sums by node of a partition, cell, and bin of every column."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...._typing import IntArray
from ....partition import Partition
from ....utils._json_documents import Fields
from ..histogram_kernels import add_bins
from ..histograms import BLOCK_VALUES, HistogramsPlan, read_nodes
from ..rows import PreparedRows
from .masses import Masses, check_room, check_totals, masses_from_dict
from .plans import blocks_of


@dataclass(frozen=True, eq=False)
class MassHistogramsPlan(HistogramsPlan):
    """Sums of masses by leaf of a partition, cell, and bin of every column within the leaf's own box.

    Made by `of`.

    Attributes
    ----------
    partition : Partition
        Its leaves are the nodes.
    n_bins : tuple of int
        Bins of every column; see `HistogramsPlan`.
    n_labels : int
        Number of cells of the masses.
    masses : Masses
        What a row adds to the cells of its bins.

    Notes
    -----
    **Privacy.** A row is in one node, and there in one bin of every column. Adding or removing it moves the
    sums of every column by at most ``masses.total * masses.largest`` in L1, all of one node.

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate.partition import Partition
    >>> from skprivate.rounds._plans._masses.histograms import MassHistogramsPlan
    >>> from skprivate.rounds._plans._masses.masses import NumberMasses
    >>> from skprivate.rounds._plans.rows import PreparedRows
    >>> root = Partition.from_splits([-1], [], lower=[0.0, 0.0], upper=[1.0, 1.0])
    >>> plan = MassHistogramsPlan.of(root, (4, 2), NumberMasses(0.5, 0.5, bits=3).for_splits())
    >>> rows = PreparedRows(np.array([[0.1, 0.9], [0.5, 0.2]]), y=np.array([0.25, 1.0]))
    >>> plan.by_column(plan.sums(rows))[0].tolist()
    [[[6, 0, 0, 0], [2, 0, 8, 0]]]
    """

    masses: Masses
    kind: ClassVar[str] = "mass-histograms"

    @classmethod
    def of(cls, partition: Partition, n_bins: tuple[int, ...], masses: Masses) -> "MassHistogramsPlan":
        """Return the plan of these masses."""
        return cls(partition, n_bins, masses.n_cells, masses)

    def sums(self, rows: PreparedRows) -> IntArray:
        """Return the sums by leaf, cell, and column and bin, the last fastest."""
        sums = np.zeros((self.partition.n_leaves, self.n_labels, sum(self.n_bins)), dtype=np.int64)
        for block in blocks_of(rows.only_kept(), max(BLOCK_VALUES // rows.X.shape[1], 1)):
            columns = self.partition.derive(np.ascontiguousarray(block.X, dtype=np.float64))
            nodes, placed = self.partition.apply_derived(columns), self.masses.place(block)
            add_bins(columns, nodes, *placed, self.first_bins, self.guesses, self.edges, sums)
        return sums.ravel()

    def check_sums(self, values: IntArray, n_rows: int) -> None:
        """Refuse sums that no n_rows rows have."""
        most = n_rows * self.masses.total * self.masses.largest
        by_cell = [table.sum(axis=2) for table in self.by_column(values)]
        # A row counts once in every column.
        same = all(np.array_equal(totals, by_cell[0]) for totals in by_cell)
        if (values < 0).any() or (values > most).any() or not same:
            raise ValueError("the sums are not those of so many rows")
        check_totals(self.masses, by_cell[0].astype(object).sum(axis=1), n_rows)

    def check_room(self, n_rows: int) -> None:
        """Refuse rows that the sums have no room for."""
        check_room(self.masses, n_rows)

    def to_dict(self) -> dict[str, Any]:
        """Return JSON values."""
        return {
            "kind": self.kind,
            "partition": self.partition.to_dict(),
            "n_bins": list(self.n_bins),
            "masses": self.masses.to_dict(),
        }

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> "MassHistogramsPlan":
        """Restore the plan; ValueError for what `to_dict` would not write."""
        fields = Fields(content, ("kind", "partition", "n_bins", "masses"), what="a plan")
        plan = cls.of(*read_nodes(fields), masses_from_dict(fields.mapping("masses")))
        plan.check_size()
        return plan
