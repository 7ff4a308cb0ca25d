# SPDX-License-Identifier: BSD-3-Clause
"""Plans of sums by node of a partition: histograms of labels, and masses that a row divides among cells."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..._typing import BoolArray, FloatArray, IntArray
from ...partition import Partition
from ...utils._json_documents import Fields
from .._codec import Record, integers, of_kind, record, records, refuse_sums, stored
from .._kept import AS_THEY_ARE, AsTheyAre
from .._rows import PreparedRows
from .cells import Axis, LabelAxis, LeafAxis, axis_from_dict
from .mass_kernels import add_bins, add_masses, count_bins, fill_terms, find_bins, move_rows, multiply
from .moments import FINEST, SUM_BITS

# Most sums of a plan, 1 GiB.
MOST_COUNTS = 2**27
# Most bins of a column, and most labels: memory for them is allocated before rows are read.
_MOST = 2**24
#: Values of a block, 256 kB: it stays in the second-level cache between the search for leaves and the counts.
BLOCK_VALUES = 2**15
# Rows of a block, whose leaves and masses stay in the second-level cache.
_BLOCK_ROWS = 2**13
# Rows whose counts fit 32 bits: smaller counts stay in the cache longer.
_MOST_ROWS = 2**30
# Derived values that are kept from round to round: 256 MB.
_MOST_COPIED = 2**25
# Part of a bin's width: more than the excess precision of a compiler could add to a guess.
_SLACK = 2.0**-30
#: Steps of the largest weight of a row: a weight is rounded by less than a thousandth of the largest one.
WEIGHT_STEPS = 2**10
#: log2 of the steps of a number between its bounds: the squares of 2^31 rows with weights of `WEIGHT_STEPS`
#: fit 64 bits. If n rows are spread over several steps, their mean is rounded by about 2^-10 / sqrt(3 n) of
#: the half-width, far less than its sampling error. The mean of n equal rows is rounded by at most 2^-10.
#: That is less than the noise's standard deviation, about 4 / (n epsilon), up to n epsilon = 4096.
NUMBER_BITS = 10


_BINS = "a plan: n_bins must be integers above 1, one for every column"


@dataclass(frozen=True, eq=False)
class HistogramsPlan(Record):
    """Counts of rows by leaf of a partition, label, and bin of every column within the leaf's own box.

    Attributes
    ----------
    partition : Partition
        Its leaves are the counted nodes.
    n_bins : tuple of int
        Numbers of bins, 2 or more, of every column that the partition compares (the derived columns, if it
        has any). The bins have equal width within the box of a node. A value beyond the box is in the first
        or last bin.
    n_labels : int
        Number of labels.

    Notes
    -----
    The bin of a value is the number of thresholds at or below it. The rows in the bins before a threshold are
    therefore those that `Partition.apply` sends to the left. If the box of a node has no width in a column,
    the node has no threshold there, and its rows are in the first bin.

    **Privacy.** A row is in one node, and there in one bin of every column. Adding or removing it changes one
    count of every column by 1; all of them belong to one node and one label. This also holds for derived
    columns, which are functions of that row and of public facts.

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate.partition import Partition
    >>> from skprivate.rounds._plans.masses import HistogramsPlan
    >>> from skprivate.rounds._rows import PreparedRows
    >>> root = Partition.from_splits([-1], [], lower=[0.0, 0.0], upper=[1.0, 1.0])
    >>> plan = HistogramsPlan(root, (4, 2), n_labels=2)
    >>> rows = PreparedRows(np.array([[0.1, 0.9], [0.5, 0.2]]), labels=np.array([0, 1]))
    >>> plan.by_column(plan.sums(rows))[0].tolist()
    [[[1, 0, 0, 0], [0, 0, 1, 0]]]
    """

    partition: Partition = stored(record, Partition.from_dict)
    n_bins: tuple[int, ...] = stored(integers, 2, _MOST, _BINS)
    n_labels: int = stored(Fields.integer, 1, _MOST)
    kind: ClassVar[str] = "histograms"
    coding: ClassVar[AsTheyAre] = AS_THEY_ARE

    @property
    def n_sums(self) -> int:
        """Number of counts."""
        return self.partition.n_leaves * sum(self.n_bins) * self.n_labels

    @cached_property
    def boxes(self) -> tuple[FloatArray, FloatArray]:
        """Corners of the leaves' boxes."""
        return self.partition.cells()

    @cached_property
    def thresholds(self) -> FloatArray:
        """Thresholds of every leaf, of shape (n_leaves, sum of n_bins - 1): column by column, ascending.

        NaN if the box of the leaf has no width in the column.
        """
        low, high = self.boxes
        # Adjacent columns with the same number of bins are computed together.
        ends = np.flatnonzero(np.diff([*self.n_bins, 0])) + 1
        cuts = [
            _thresholds(low[:, first:last], high[:, first:last], self.n_bins[first]).reshape(len(low), -1)
            for first, last in itertools.pairwise([0, *ends.tolist()])
        ]
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
        """Return the sums by leaf, label or cell, and column and bin; the last index changes fastest."""
        total, left_out = np.zeros(self.n_sums, dtype=np.int64), _left_out(rows)
        placed = self._place(rows)
        for first in range(0, len(rows.X), _MOST_ROWS):
            # Blocks of rows are placed and counted while they are in the cache.
            table, last = self._table(), min(first + _MOST_ROWS, len(rows.X))
            for start in blocks(first, last, max(BLOCK_VALUES // rows.X.shape[1], 1)):
                binned = BinnedRows(self, rows.X[start], None if left_out is None else left_out[start])
                self._add(binned, [part[start] for part in placed], table)
            total += table.ravel()
        return total

    def binned_sums(
        self, rows: PreparedRows, binned: "BinnedRows | None"
    ) -> "tuple[IntArray, BinnedRows | None]":
        """Return the sums of rows in memory, and their bins, which the next plan may move to child nodes.

        `binned` are the bins of the same rows by an earlier plan; None if there are none, or too many.
        """
        copied = self.partition.derived is not None or rows.X.dtype != np.float64
        if len(rows.X) > _MOST_ROWS or (copied and len(rows.X) * len(self.n_bins) > _MOST_COPIED):
            return self.sums(rows), None
        if binned is None or not binned.move(self):
            binned = BinnedRows(self, rows.X, _left_out(rows))
        table = self._table()
        self._add(binned, self._place(rows), table)
        return table.ravel().astype(np.int64, copy=False), binned

    def _table(self) -> IntArray | NDArray[np.int32]:
        return np.zeros((self.partition.n_leaves, self.n_labels, sum(self.n_bins)), dtype=np.int32)

    def _place(self, rows: PreparedRows) -> list[NDArray[Any]]:
        """Return the label or the first cell of every row, and its masses if it has any."""
        return [np.ascontiguousarray(LabelAxis(self.n_labels).codes(rows), dtype=np.int32)]

    def _add(self, binned: "BinnedRows", placed: list[NDArray[Any]], table: NDArray[Any]) -> None:
        count_bins(binned.bins, binned.nodes, placed[0], self.first_bins, table)

    @cached_property
    def guesses(self) -> FloatArray:
        """Origin, scale, number of bins - 0.5, and `sure` of the kernel, of shape (n_leaves, n_columns, 4).

        Rounded differences and products do not decrease as x grows. Let the guesses of the thresholds have an
        error of at most m. Then a guess between k + m and k + 1 - m belongs to a value at or above threshold
        k and below the next: its fractional part is closer to 0.5 than 0.5 - m. If m >= 0.5, no guess is
        sure.
        """
        low, high = self.boxes
        bins = np.array(self.n_bins)
        # Results may be infinite in boxes without width, or a few subnormal numbers wide.
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            scale = np.where(low < high, bins / (high - low), 0.0)
            found = (self.thresholds - np.repeat(low, bins - 1, axis=1)) * np.repeat(scale, bins - 1, axis=1)
            off = abs(found - np.concatenate([np.arange(1, count) for count in bins]))
        most = np.maximum.reduceat(off, np.cumsum(bins - 1) - (bins - 1), axis=1)
        sure = np.where(most < 0.5 - _SLACK, 0.5 - _SLACK - most, 0.0)
        return np.stack(np.broadcast_arrays(low, scale, bins - 0.5, sure), axis=2)

    @cached_property
    def edges(self) -> FloatArray:
        """Thresholds for the kernel, column by column: those of each column between -inf and NaN."""
        edges = np.full((self.partition.n_leaves, sum(self.n_bins) + len(self.n_bins)), np.nan)
        before = self.first_bins + np.arange(len(self.n_bins))
        inner = np.ones(edges.shape[1], dtype=bool)
        inner[before] = inner[before + np.array(self.n_bins)] = False
        edges[:, before], edges[:, inner] = -np.inf, self.thresholds
        return edges

    def check_sums(self, values: IntArray, n_rows: int) -> None:
        """Raise ValueError if counts are impossible for n_rows rows."""
        by_label = [table.sum(axis=2) for table in self.by_column(values)]
        # A row counts once in every column.
        same = all(np.array_equal(totals, by_label[0]) for totals in by_label)
        refuse_sums((values < 0).any() or not same or int(by_label[0].sum()) != n_rows)

    def check_room(self, n_rows: int) -> None:
        """Counts never overflow."""

    def _check_fields(self) -> None:
        if len(self.n_bins) != self.partition.n_columns:
            raise ValueError(_BINS)
        self._require(self.n_sums <= MOST_COUNTS, "it has too many counts")


class BinnedRows:
    """Rows by leaf of a plan's partition, with the bins of their values in the leaf's box; private.

    Parameters
    ----------
    plan : HistogramsPlan
    X : ndarray of shape (n, n_features)
    left_out : ndarray of bool of shape (n,), or None
        Rows that do not count.
    """

    def __init__(self, plan: HistogramsPlan, X: NDArray[Any], left_out: BoolArray | None) -> None:
        self._columns = plan.partition.derive(np.ascontiguousarray(X, dtype=np.float64))
        self.nodes = plan.partition.apply_derived(self._columns)
        if left_out is not None:
            self.nodes[left_out] = -1
        self.bins = np.zeros(self._columns.shape, dtype=np.uint8 if max(plan.n_bins) <= 256 else np.int32)
        self._plan = plan
        find_bins(self._columns, self.nodes, plan.first_bins, plan.guesses, plan.edges, self.bins)

    def move(self, plan: HistogramsPlan) -> bool:
        """Move the rows to the leaves of a plan, and return True, if its partition splits these leaves."""
        old, new = self._plan.partition, plan.partition
        if plan.n_bins != self._plan.n_bins or new.derived is not old.derived:
            return False
        if new.max_depth > old.max_depth + 1 or new.truncate(old.max_depth) != old:
            return False
        node = np.flatnonzero(old.leaf_index >= 0)
        feature = np.where(new.leaf_index[node] < 0, new.feature[node], -1).astype(np.int32)
        left = new.leaf_index[new.left[node]]
        where = plan.first_bins, plan.guesses, plan.edges
        move_rows(self._columns, feature, new.threshold[node], left, *where, self.nodes, self.bins)
        self._plan = plan
        return True


def _thresholds(low: FloatArray, high: FloatArray, n_bins: int) -> FloatArray:
    """Return the ascending thresholds between bins of equal width, in (low, high]; NaN if low equals high."""
    share = np.arange(1, n_bins) / n_bins
    # The weights add up to 1: only rounding can leave the box, and it is clipped.
    with np.errstate(over="ignore"):
        cuts = np.multiply.outer(low, 1 - share) + np.multiply.outer(high, share)
    low, high = low[..., np.newaxis], high[..., np.newaxis]
    # A box a few units in the last place wide has fewer different thresholds than bins, rounded in any order.
    cuts = np.maximum.accumulate(np.clip(cuts, np.nextafter(low, high), high), axis=-1)
    return np.where(low < high, cuts, np.nan)


def _left_out(rows: PreparedRows) -> BoolArray | None:
    """Return a mask of the rows that do not count; None if all count."""
    if rows.kept is None:
        return None
    left_out = np.ones(len(rows.X), dtype=bool)
    left_out[rows.kept] = False
    return left_out


@dataclass(frozen=True)
class LabelMasses(Record):
    """A mass of 1 in the cell of a row's label.

    Attributes
    ----------
    n_cells : int
        Number of labels.
    largest : int
        Bound on a row's weight, in steps; 1: rows have no weights.

    Notes
    -----
    **Privacy.** A row's masses add up to 1, or to its steps, which are clipped to [0, largest]. Adding or
    removing a row changes sums of masses by at most ``largest`` in L1; replacing it, by at most
    ``2 * largest``.

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate.rounds._plans.masses import LabelMasses
    >>> from skprivate.rounds._rows import PreparedRows
    >>> rows = PreparedRows(np.zeros((2, 1)), labels=np.array([1, 0]), steps=np.array([3.0, 9.0]))
    >>> LabelMasses(2).row_masses(rows).tolist(), LabelMasses(2, largest=8).row_masses(rows).tolist()
    ([[0, 1], [1, 0]], [[0, 3], [8, 0]])
    """

    n_cells: int = stored(Fields.integer, 1, _MOST)
    largest: int = stored(Fields.integer, 1, 2**FINEST, default=1)
    total: ClassVar[int] = 1
    kind: ClassVar[str] = "labels"
    _what: ClassVar[str] = "masses"

    def place(self, rows: PreparedRows) -> tuple[NDArray[np.int32], IntArray]:
        """Return each row's label, and its steps.

        Raises
        ------
        ValueError
            The rows have no labels, more labels than there are cells, or no weights although they are needed.
        """
        if rows.labels is None:
            raise ValueError("the rows have no labels.")
        labels = np.ascontiguousarray(rows.labels, dtype=np.int32)
        if len(labels) and not (labels.min() >= 0 and labels.max() < self.n_cells):
            raise ValueError("the rows have more classes than the plan.")
        return labels, _weighted(np.ones((len(labels), 1), dtype=np.int64), rows, self.largest)

    def row_masses(self, rows: PreparedRows) -> IntArray:
        """Return the steps of every row in the cell of its label, of shape (n, n_cells)."""
        labels, steps = self.place(rows)
        masses = np.zeros((len(labels), self.n_cells), dtype=np.int64)
        np.put_along_axis(masses, labels[:, np.newaxis].astype(np.int64), steps, axis=1)
        return masses

    def for_splits(self) -> "LabelMasses":
        """Return the same masses."""
        return self


@dataclass(frozen=True)
class NumberMasses(Record):
    """Terms of ((B - a) + a)^degree; a in 0, ..., B = 2^bits is the position of a number between its bounds.

    Attributes
    ----------
    center, half : float
        Centre and half-width of the bounds; half > 0. A number is clipped to the bounds; u = (y - center) /
        half is in [-1, 1], and a is the integer nearest to B (1 + u) / 2.
    bits : int
        log2 of B, from 1 to 20.
    degree : {1, 2}
        2: the cells hold (B - a)^2, 2 a (B - a) and a^2. 1: B - a and a, which suffice to choose splits.
    largest : int
        Bound on a row's weight, in steps; 1: rows have no weights.

    Notes
    -----
    The terms add up to B^degree, exactly. Let c be the sums of the three cells, in units of 4^bits, with u on
    the grid. Then c_0 + c_1 + c_2 is the number of rows, c_2 - c_0 the sum of u, and c_0 - c_1 + c_2 the sum
    of u^2. With weights, these are the sum of the steps, and sums of steps times u and u^2. The sum of the
    three cells over all leaves is then private; without weights, it is the public number of rows.

    **Privacy.** Adding or removing a row changes sums of masses by at most ``total * largest`` in L1;
    replacing it, by at most twice that. The number of rows, the mean and the spread together thus cost as
    much as a count alone.

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate.rounds._plans.masses import NumberMasses
    >>> from skprivate.rounds._rows import PreparedRows
    >>> rows = PreparedRows(np.zeros((3, 1)), y=np.array([-5.0, 0.5, 10.0]))
    >>> NumberMasses(center=0.0, half=1.0, bits=3).row_masses(rows).tolist()
    [[64, 0, 0], [4, 24, 36], [0, 0, 64]]
    """

    center: float = stored(Fields.number)
    half: float = stored(Fields.number)
    bits: int = stored(Fields.integer, 1, FINEST, default=NUMBER_BITS)
    degree: int = stored(Fields.integer, 1, 2, default=2)
    largest: int = stored(Fields.integer, 1, 2**FINEST, default=1)
    kind: ClassVar[str] = "numbers"
    _what: ClassVar[str] = "masses"

    @property
    def n_cells(self) -> int:
        """Number of terms."""
        return self.degree + 1

    @property
    def total(self) -> int:
        """Sum of the terms."""
        return 2 ** (self.bits * self.degree)

    def place(self, rows: PreparedRows) -> tuple[NDArray[np.int32], IntArray]:
        """Return zeros, and the terms of every row times its steps.

        Raises
        ------
        ValueError
            The rows have no target, no weights although they are needed, or NaN or infinity in one of them.
        """
        masses = self.row_masses(rows)
        return np.zeros(len(masses), dtype=np.int32), masses

    def row_masses(self, rows: PreparedRows) -> IntArray:
        """Return the terms of every row times its steps, of shape (n, degree + 1)."""
        if rows.y is None:
            raise ValueError("the rows have no target.")
        y = np.ascontiguousarray(rows.y, dtype=np.float64)
        masses = np.empty((len(y), self.n_cells), dtype=np.int64)
        if not fill_terms(y, self.center, self.half, 2**self.bits, masses):
            raise ValueError("y contains NaN or infinity.")
        return _weighted(masses, rows, self.largest)

    def for_splits(self) -> "NumberMasses":
        """Return the masses of degree 1."""
        return replace(self, degree=1)

    def _check_fields(self) -> None:
        self._require(self.half > 0, "half must be above 0")


#: Ways to divide a row's amount among cells. The masses of a row are >= 0, and are in neighbouring cells.
#: They add up to ``total``, times the row's steps if rows have weights.
Masses = LabelMasses | NumberMasses


def check_room(masses: Masses, n_rows: int) -> None:
    """Raise OverflowError if masses might exceed 64 bits less two; this depends only on public numbers."""
    if n_rows * masses.total * masses.largest > 2**SUM_BITS:
        raise OverflowError("too many rows for the grid: its exact sums do not fit 64-bit integers.")


def check_totals(masses: Masses, totals: NDArray[Any], n_rows: int) -> None:
    """Raise ValueError if masses by group of rows, summed over the cells, are impossible for n_rows rows."""
    amounts = [divmod(int(total), masses.total) for total in totals]
    steps = sum(amount for amount, _ in amounts)
    possible = steps == n_rows if masses.largest == 1 else 0 <= steps <= n_rows * masses.largest
    refuse_sums(not possible or any(rest for _, rest in amounts))


def masses_from_dict(content: Any) -> Masses:
    """Restore masses of any kind; ValueError for anything that none would write."""
    return of_kind(content, (LabelMasses, NumberMasses), "a plan has masses of an unknown kind")


def _weighted(masses: IntArray, rows: PreparedRows, largest: int) -> IntArray:
    """Multiply masses by the steps of their rows, clipped to [0, largest] and rounded down, in place."""
    if largest == 1:
        return masses
    if rows.steps is None:
        raise ValueError("the rows have no weights.")
    if not multiply(masses, np.ascontiguousarray(rows.steps, dtype=np.float64), largest):
        raise ValueError("the weights contain NaN.")
    return masses


@dataclass(frozen=True, eq=False)
class MassesPlan(Record):
    """Sums of masses by the cells of axes, with one table for each axis.

    Attributes
    ----------
    axes : tuple of Axis
        Each assigns a row to one of its cells. The sums contain one table after the other.
    masses : Masses
        The amounts that a row adds to its cell of every axis.

    Notes
    -----
    **Privacy.** A row is in one cell of every axis, which depends on this row alone. Adding or removing it
    changes the sums of an axis by at most ``masses.total * masses.largest`` in L1; replacing it, by at most
    twice that. Without weights, the sum of all masses of an axis is ``masses.total`` times the public number
    of rows. With weights, it is private.

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate.partition import Partition
    >>> from skprivate.rounds._plans.masses import MassesPlan, NumberMasses
    >>> from skprivate.rounds._rows import PreparedRows
    >>> halves = Partition.from_splits([0, -1, -1], [0.5], lower=[0.0], upper=[1.0])
    >>> plan = MassesPlan.of_leaves(halves, NumberMasses(center=0.0, half=1.0, bits=2))
    >>> rows = PreparedRows(np.array([[0.1], [0.9], [0.7]]), y=np.array([-1.0, 0.0, 1.0]))
    >>> plan.tables(plan.sums(rows))[0]
    array([[16,  0,  0],
           [ 4,  8, 20]])
    """

    axes: tuple[Axis, ...] = stored(records, axis_from_dict)
    masses: Masses = stored(record, masses_from_dict)
    kind: ClassVar[str] = "masses"
    coding: ClassVar[AsTheyAre] = AS_THEY_ARE

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
        """Return the sums by axis, its cell, and cell of the masses; the last index changes fastest."""
        sums = np.zeros(self.n_sums, dtype=np.int64)
        tables = self.tables(sums)
        for block in blocks_of(rows.only_kept(), _BLOCK_ROWS):
            placed = self.masses.place(block)
            for axis, table in zip(self.axes, tables, strict=True):
                add_masses(np.ascontiguousarray(axis.codes(block), dtype=np.int32), *placed, table)
        return sums

    def check_sums(self, values: IntArray, n_rows: int) -> None:
        """Raise ValueError if sums are impossible for n_rows rows."""
        refuse_sums((values < 0).any() or (values > n_rows * self.masses.total * self.masses.largest).any())
        for table in self.tables(values):
            # Python's integers cannot overflow: the total of all cells may exceed 64 bits.
            check_totals(self.masses, table.astype(object).sum(axis=1), n_rows)

    def check_room(self, n_rows: int) -> None:
        """Raise OverflowError if the sums of so many rows might overflow."""
        check_room(self.masses, n_rows)

    def _check_fields(self) -> None:
        self._require(0 < self.n_sums <= MOST_COUNTS, "it has no sums, or too many")


def blocks(first: int, last: int, n_rows: int) -> Iterator[slice]:
    """Yield slices of at most n_rows rows."""
    return (slice(start, min(start + n_rows, last)) for start in range(first, last, n_rows))


def blocks_of(rows: PreparedRows, n_rows: int) -> Iterator[PreparedRows]:
    """Yield views of at most n_rows rows, all of which count, with the columns that masses read."""
    for here in blocks(0, len(rows.X), n_rows):
        y, labels, steps = (
            None if column is None else column[here] for column in (rows.y, rows.labels, rows.steps)
        )
        yield PreparedRows(rows.X[here], y=y, labels=labels, steps=steps)


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
        The amounts that a row adds to the cells of its bins.

    Notes
    -----
    **Privacy.** A row is in one node, and there in one bin of every column. Adding or removing it changes the
    sums of every column by at most ``masses.total * masses.largest`` in L1, all within one node.

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate.partition import Partition
    >>> from skprivate.rounds._plans.masses import MassHistogramsPlan, NumberMasses
    >>> from skprivate.rounds._rows import PreparedRows
    >>> root = Partition.from_splits([-1], [], lower=[0.0, 0.0], upper=[1.0, 1.0])
    >>> plan = MassHistogramsPlan.of(root, (4, 2), NumberMasses(0.5, 0.5, bits=3).for_splits())
    >>> rows = PreparedRows(np.array([[0.1, 0.9], [0.5, 0.2]]), y=np.array([0.25, 1.0]))
    >>> plan.by_column(plan.sums(rows))[0].tolist()
    [[[6, 0, 0, 0], [2, 0, 8, 0]]]
    """

    masses: Masses = stored(record, masses_from_dict)
    kind: ClassVar[str] = "mass-histograms"

    @classmethod
    def of(cls, partition: Partition, n_bins: tuple[int, ...], masses: Masses) -> "MassHistogramsPlan":
        """Return the plan of these masses."""
        return cls(partition, n_bins, masses.n_cells, masses)

    def _table(self) -> IntArray:
        return np.zeros((self.partition.n_leaves, self.n_labels, sum(self.n_bins)), dtype=np.int64)

    def _place(self, rows: PreparedRows) -> list[NDArray[Any]]:
        return list(self.masses.place(rows))

    def _add(self, binned: "BinnedRows", placed: list[NDArray[Any]], table: NDArray[Any]) -> None:
        add_bins(binned.bins, binned.nodes, placed[0], placed[1], self.first_bins, table)

    def check_sums(self, values: IntArray, n_rows: int) -> None:
        """Raise ValueError if sums are impossible for n_rows rows."""
        most = n_rows * self.masses.total * self.masses.largest
        by_cell = [table.sum(axis=2) for table in self.by_column(values)]
        # A row counts once in every column.
        same = all(np.array_equal(totals, by_cell[0]) for totals in by_cell)
        refuse_sums((values < 0).any() or (values > most).any() or not same)
        check_totals(self.masses, by_cell[0].astype(object).sum(axis=1), n_rows)

    def check_room(self, n_rows: int) -> None:
        """Raise OverflowError if the sums of so many rows might overflow."""
        check_room(self.masses, n_rows)

    def _check_fields(self) -> None:
        super()._check_fields()
        self._require(self.n_labels == self.masses.n_cells, "n_labels must be the number of cells")
