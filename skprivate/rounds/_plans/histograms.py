# SPDX-License-Identifier: BSD-3-Clause
"""Plan of histograms: counts of rows by node of a partition, label, and bin of every column."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..._typing import BoolArray, FloatArray, IntArray
from ...partition import Partition
from ...utils._json_documents import Fields
from .axes import LabelAxis
from .histogram_kernels import count_bins
from .rows import PreparedRows

# Most counts of a plan, 1 GiB.
MOST_COUNTS = 2**27
# Most bins of a column, and most labels: room is made for them before rows are read.
_MOST = 2**24
#: Values of a block, 256 kB: it stays in the second-level cache between the search for leaves and the counts.
BLOCK_VALUES = 2**15
# Rows whose counts fit 32 bits: counts of half the size stay in the cache longer.
_MOST_ROWS = 2**30
# Of a bin's width: more than a compiler that keeps more digits than it says could add to a guess.
_SLACK = 2.0**-30


@dataclass(frozen=True, eq=False)
class HistogramsPlan:
    """Counts of rows by leaf of a partition, label, and bin of every column within the leaf's own box.

    Attributes
    ----------
    partition : Partition
        Its leaves are the nodes that are counted.
    n_bins : tuple of int
        Bins of every column that the partition compares, 2 or more, of equal width within the box of a
        node: of every derived column where it has some. A value beyond the box is in an end bin.
    n_labels : int
        Number of labels.

    Notes
    -----
    The bin of a value is the number of thresholds at or below it, so that the rows in the bins before a
    threshold are those that `Partition.apply` sends left there. In a column whose box has no width a node
    has no threshold, and its rows are in the first bin.

    **Privacy.** A row is in one node, and there in one bin of every column. Adding or removing it moves
    one count of every column by 1, all of one node and one label. Derived columns are functions of that row
    and of public facts, so that the same holds of them.

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate.partition import Partition
    >>> from skprivate.rounds._plans.histograms import HistogramsPlan
    >>> from skprivate.rounds._plans.rows import PreparedRows
    >>> root = Partition.from_splits([-1], [], lower=[0.0, 0.0], upper=[1.0, 1.0])
    >>> plan = HistogramsPlan(root, (4, 2), n_labels=2)
    >>> rows = PreparedRows(np.array([[0.1, 0.9], [0.5, 0.2]]), labels=np.array([0, 1]))
    >>> plan.by_column(plan.sums(rows))[0].tolist()
    [[[1, 0, 0, 0], [0, 0, 1, 0]]]
    """

    partition: Partition
    n_bins: tuple[int, ...]
    n_labels: int
    kind: ClassVar[str] = "histograms"

    @property
    def n_sums(self) -> int:
        """Number of counts."""
        return self.partition.n_leaves * sum(self.n_bins) * self.n_labels

    @cached_property
    def thresholds(self) -> FloatArray:
        """Thresholds of every leaf, of shape (n_leaves, sum of n_bins - 1): column by column, ascending.

        NaN where the box of the leaf has no width in the column.
        """
        low, high = self.partition.cells()
        cuts = [_thresholds(low[:, j], high[:, j], bins) for j, bins in enumerate(self.n_bins)]
        return np.concatenate(cuts, axis=1)

    def by_column(self, values: IntArray) -> list[IntArray]:
        """Return the counts of every column, each of shape (n_leaves, n_labels, n_bins), as views."""
        table = values.reshape(self.partition.n_leaves, self.n_labels, -1)
        return np.split(table, np.cumsum(self.n_bins)[:-1], axis=2)

    @cached_property
    def first_bins(self) -> NDArray[np.int32]:
        """Place of every column's first bin among the bins of all columns."""
        return np.cumsum([0, *self.n_bins[:-1]], dtype=np.int32)

    def sums(self, rows: PreparedRows) -> IntArray:
        """Return the counts by leaf, label, and column and bin, the last fastest."""
        X = np.ascontiguousarray(rows.X, dtype=np.float64)
        labels = np.ascontiguousarray(LabelAxis(self.n_labels).codes(rows), dtype=np.int32)
        left_out = _left_out(rows)
        total = np.zeros(self.n_sums, dtype=np.int64)
        for first in range(0, len(X), _MOST_ROWS):
            here = slice(first, first + _MOST_ROWS)
            total += self._count(X[here], labels[here], None if left_out is None else left_out[here])
        return total

    def _count(
        self, X: FloatArray, labels: NDArray[np.int32], left_out: BoolArray | None
    ) -> NDArray[np.int32]:
        counts = np.zeros((self.partition.n_leaves, self.n_labels, sum(self.n_bins)), dtype=np.int32)
        step = max(BLOCK_VALUES // X.shape[1], 1)
        for first in range(0, len(X), step):
            here = slice(first, first + step)
            columns = self.partition.derive(X[here])
            nodes = self.partition.apply_derived(columns)
            if left_out is not None:
                nodes[left_out[here]] = -1
            count_bins(columns, nodes, labels[here], self.first_bins, self.guesses, self.edges, counts)
        return counts.ravel()

    @cached_property
    def guesses(self) -> FloatArray:
        """Origin, scale, number of bins - 0.5, and `sure` of the kernel, of shape (n_leaves, n_columns, 4).

        Rounded differences and products never fall as x grows. So if the thresholds' own guesses are off by
        at most m, a guess between k + m and k + 1 - m belongs to a value from threshold k on and below the
        next: the rest of it is closer to 0.5 than 0.5 - m. Where m is not below 0.5, nothing is sure.
        """
        low, high = self.partition.cells()
        bins = np.array(self.n_bins)
        # Nothing here is finite in boxes that are a few subnormal numbers wide, or have no width.
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            scale = np.where(low < high, bins / (high - low), 0.0)
            found = (self.thresholds - np.repeat(low, bins - 1, axis=1)) * np.repeat(scale, bins - 1, axis=1)
            off = abs(found - np.concatenate([np.arange(1, count) for count in bins]))
        most = np.maximum.reduceat(off, np.cumsum(bins - 1) - (bins - 1), axis=1)
        sure = np.where(most < 0.5 - _SLACK, 0.5 - _SLACK - most, 0.0)
        return np.stack(np.broadcast_arrays(low, scale, bins - 0.5, sure), axis=2)

    @cached_property
    def edges(self) -> FloatArray:
        """Thresholds as the kernel reads them: side by side, those of each column between -inf and NaN."""
        ends = np.cumsum(np.array(self.n_bins) - 1)
        padded = np.insert(self.thresholds, np.concatenate([[0], ends[:-1]]), -np.inf, axis=1)
        return np.insert(padded, ends + np.arange(1, len(ends) + 1), np.nan, axis=1)

    def check_sums(self, values: IntArray, n_rows: int) -> None:
        """Refuse counts that no n_rows rows have."""
        by_label = [table.sum(axis=2) for table in self.by_column(values)]
        # A row counts once in every column.
        same = all(np.array_equal(totals, by_label[0]) for totals in by_label)
        if (values < 0).any() or not same or int(by_label[0].sum()) != n_rows:
            raise ValueError("the sums are not those of so many rows")

    def check_room(self, n_rows: int) -> None:
        """Refuse rows that the sums have no room for: counts have room for all."""

    def to_dict(self) -> dict[str, Any]:
        """Return JSON values."""
        return {
            "kind": self.kind,
            "partition": self.partition.to_dict(),
            "n_bins": list(self.n_bins),
            "n_labels": self.n_labels,
        }

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> "HistogramsPlan":
        """Restore the plan; ValueError for what `to_dict` would not write."""
        fields = Fields(content, ("kind", "partition", "n_bins", "n_labels"), what="a plan")
        plan = cls(*read_nodes(fields), fields.integer("n_labels", 1, _MOST))
        plan.check_size()
        return plan

    def check_size(self) -> None:
        """Refuse a plan whose sums take more than 1 GiB."""
        if self.n_sums > MOST_COUNTS:
            raise ValueError("a plan: it has too many counts")


def read_nodes(fields: Fields) -> tuple[Partition, tuple[int, ...]]:
    """Return the partition and the numbers of bins of a plan; ValueError for what no plan would write."""
    partition, n_bins = Partition.from_dict(fields.mapping("partition")), fields.items("n_bins")
    if len(n_bins) != partition.n_columns or not all(map(_is_number_of_bins, n_bins)):
        raise ValueError("a plan: n_bins must be whole numbers above 1, one for every column")
    return partition, tuple(n_bins)


def _is_number_of_bins(value: Any) -> bool:
    return type(value) is int and 2 <= value <= _MOST


def _thresholds(low: FloatArray, high: FloatArray, n_bins: int) -> FloatArray:
    """Return the thresholds between bins of equal width, in (low, high] and ascending; NaN in no width."""
    share = np.arange(1, n_bins) / n_bins
    # The weights add up to 1, so that no box overflows but by a rounding, which is clipped.
    with np.errstate(over="ignore"):
        cuts = np.multiply.outer(low, 1 - share) + np.multiply.outer(high, share)
    low, high = low[:, np.newaxis], high[:, np.newaxis]
    # A box of a few units in the last place has fewer different thresholds than bins, rounded in any order.
    cuts = np.maximum.accumulate(np.clip(cuts, np.nextafter(low, high), high), axis=1)
    return np.where(low < high, cuts, np.nan)


def _left_out(rows: PreparedRows) -> BoolArray | None:
    """Return a mask of the rows that do not count; None where all do."""
    if rows.kept is None:
        return None
    left_out = np.ones(len(rows.X), dtype=bool)
    left_out[rows.kept] = False
    return left_out
