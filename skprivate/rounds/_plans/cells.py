# SPDX-License-Identifier: BSD-3-Clause
"""Plan of counts in tables of cells, and the axes that put a row into one cell."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from ..._typing import FloatArray, IntArray
from ...partition import Partition, count_leaves
from ...partition._column_cells import find_levels
from ...utils._json_documents import Fields
from .._rows import BESIDE, CODES, PreparedRows
from .moments import MomentGrid, ResidualAxis, make_packer, read_grid
from .residual_kernels import fill_bins

# Axes of tables of counts: each puts a row, by itself, into one of a public number of cells.

#: Magnitudes from 2^-100 to 2^100, some 1e-30 to 1e30. A constant, so that no data choose it.
OCTAVES = 100
#: Cells of an `OctaveAxis` in the order of the numbers: negative octaves, zero, positive octaves.
N_OCTAVES = 4 * OCTAVES + 1
#: The cell of zero.
ZERO = 2 * OCTAVES
# Largest number of columns, labels or bins that a plan may name: room is made for them before rows are read.
_MOST = 2**24
# Rows whose standardised errors are computed together: 256 kB at six columns.
_BLOCK_ROWS = 4096
# Codes of an event are numbers of one byte.
_MOST_KINDS = 256


class Axis(Protocol):
    """One way to put rows into cells."""

    kind: ClassVar[str]

    @property
    def size(self) -> int:
        """Number of cells."""

    def codes(self, rows: PreparedRows) -> NDArray[Any]:
        """Return the cell of every row, 0 to ``size - 1``, as integers; also of rows that do not count."""

    def to_dict(self) -> dict[str, Any]:
        """Return JSON values, the kind among them."""

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Self:
        """Restore the axis; ValueError for what `to_dict` would not write."""


@dataclass(frozen=True, eq=False)
class LeafAxis:
    """The leaf of a partition of the features."""

    partition: Partition
    kind: ClassVar[str] = "leaf"

    @property
    def size(self) -> int:
        """Number of leaves."""
        return self.partition.n_leaves

    def codes(self, rows: PreparedRows) -> NDArray[Any]:
        """Return the leaf of every row."""
        return self.partition.apply(rows.X)

    def to_dict(self) -> dict[str, Any]:
        """Return JSON values."""
        return {"kind": self.kind, "partition": self.partition.to_dict()}

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> "LeafAxis":
        """Restore the axis."""
        fields = Fields(content, ("kind", "partition"), what="an axis")
        return cls(Partition.from_dict(fields.mapping("partition")))


@dataclass(frozen=True)
class LabelAxis:
    """The position of the label among the classes."""

    size: int
    kind: ClassVar[str] = "label"

    def codes(self, rows: PreparedRows) -> NDArray[Any]:
        """Return the position of every label."""
        if rows.labels is None:
            raise ValueError("the rows have no labels.")
        if len(rows.labels) and int(rows.labels.max()) >= self.size:
            raise ValueError("the rows have more classes than the plan.")
        return rows.labels

    def to_dict(self) -> dict[str, Any]:
        """Return JSON values."""
        return {"kind": self.kind, "size": self.size}

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Self:
        """Restore the axis."""
        return cls(Fields(content, ("kind", "size"), what="an axis").integer("size", 1, _MOST))


@dataclass(frozen=True)
class LevelAxis:
    """The level of a declared column that has an encoded column for each; one more cell for none, or missing.

    Attributes
    ----------
    start : int
        The first of its encoded columns, one a level.
    n_levels : int
    indicator : int or None
        The encoded column that is 1 where the cell is missing.
    """

    start: int
    n_levels: int
    indicator: int | None
    kind: ClassVar[str] = "level"

    @property
    def size(self) -> int:
        """Number of cells."""
        return self.n_levels + 1

    def codes(self, rows: PreparedRows) -> NDArray[Any]:
        """Return the position of every level."""
        X = rows.X
        indicator = -1 if self.indicator is None else self.indicator
        if max(self.start + self.n_levels - 1, indicator) >= X.shape[1]:
            raise ValueError("the rows do not have so many columns.")
        return find_levels(X, self.start, self.n_levels, self.indicator).astype(np.int32)

    def to_dict(self) -> dict[str, Any]:
        """Return JSON values."""
        own = {"start": self.start, "n_levels": self.n_levels, "indicator": self.indicator}
        return {"kind": self.kind, **own}

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Self:
        """Restore the axis."""
        fields = Fields(content, ("kind", "start", "n_levels", "indicator"), what="an axis")
        indicator = fields.maybe(fields.integer, "indicator", 0, _MOST)
        return cls(fields.integer("start", 0, _MOST), fields.integer("n_levels", 1, _MOST), indicator)


@dataclass(frozen=True)
class OctaveAxis:
    """Sign and power of two of one column: a magnitude in (2^(e-1), 2^e] has the octave e."""

    column: int
    kind: ClassVar[str] = "octave"

    @property
    def size(self) -> int:
        """Number of cells: octaves of both signs, and zero."""
        return N_OCTAVES

    def codes(self, rows: PreparedRows) -> NDArray[Any]:
        """Return the octave of every number, in the order of the numbers."""
        if self.column >= rows.X.shape[1]:
            raise ValueError("the rows do not have so many columns.")
        fraction, octave = np.frexp(rows.X[:, self.column])
        # frexp puts 2^e at the bottom of the next octave.
        octave -= np.abs(fraction) == 0.5
        np.clip(octave, -OCTAVES, OCTAVES, out=octave)
        octave += OCTAVES
        octave *= np.sign(fraction).astype(np.int32)
        octave += ZERO
        return octave

    def to_dict(self) -> dict[str, Any]:
        """Return JSON values."""
        return {"kind": self.kind, "column": self.column}

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Self:
        """Restore the axis."""
        return cls(Fields(content, ("kind", "column"), what="an axis").integer("column", 0, _MOST))


@dataclass(frozen=True)
class SurvivalAxis:
    """What the target tells, by equal bins of it between two bounds; what lies outside is in an end bin.

    Attributes
    ----------
    center, half : float
        Centre and half-width of the bounds on the scale of the model.
    n_bins : int
        Cells 0 to ``n_bins - 1`` are of censored rows, the next of events; then, where there are four tables,
        of rows whose event came earlier, and of intervals, by their middle between the bounds.
    n_tables : {2, 4}, default=2
        With two tables every row that is not censored counts as an event.
    below : bool, default=False
        Whether events below the lower bound are in a cell of their own, the last one.
    """

    center: float
    half: float
    n_bins: int
    n_tables: int = 2
    below: bool = False
    kind: ClassVar[str] = "survival"

    @property
    def size(self) -> int:
        """Number of cells."""
        return self.n_tables * self.n_bins + self.below

    def codes(self, rows: PreparedRows) -> IntArray:
        """Return the cell of every row; ValueError where a target is NaN or infinite."""
        if rows.y is None or rows.event is None:
            raise ValueError("the rows have no times and events.")
        if rows.event.shape != rows.y.shape:
            raise ValueError("every time needs an event.")
        codes = np.empty(len(rows.y), dtype=np.int64)
        tables, target = np.minimum(rows.event, self.n_tables - 1), np.ascontiguousarray(rows.y)
        if self.n_tables > 2 and rows.start is not None:
            low, high = self.center - self.half, self.center + self.half
            middle = 0.5 * np.clip(rows.start, low, high) + 0.5 * np.clip(target, low, high)
            target = np.where(tables == CODES["interval"], middle, target)
        if not fill_bins(target, tables, self.center, self.half, self.n_bins, codes):
            raise ValueError("y contains NaN or infinity.")
        if self.below:
            first = self.center - (1.0 + BESIDE) * self.half
            codes[(tables == CODES["exact"]) & (target < first)] = self.size - 1
        return codes

    def to_dict(self) -> dict[str, Any]:
        """Return JSON values."""
        return {"kind": self.kind, **vars(self)}

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Self:
        """Restore the axis."""
        names = ("kind", "center", "half", "n_bins", "n_tables", "below")
        fields = Fields(content, names, what="an axis")
        half = fields.number("half")
        if half <= 0:
            raise ValueError("an axis: half must be above 0")
        n_tables = fields.integer("n_tables", 2, 4)
        if n_tables == 3:
            raise ValueError("an axis: n_tables must be 2 or 4")
        n_bins, below = fields.integer("n_bins", 1, _MOST), fields.flag("below")
        return cls(fields.number("center"), half, n_bins, n_tables, below)


@dataclass(frozen=True)
class TargetAxis:
    """Equal bins of a numeric target between two bounds; what lies outside is in an end bin.

    Attributes
    ----------
    center, half : float
        Centre and half-width of the bounds.
    size : int
    """

    center: float
    half: float
    size: int
    kind: ClassVar[str] = "target"

    def codes(self, rows: PreparedRows) -> NDArray[Any]:
        """Return the bin of every target."""
        if rows.y is None:
            raise ValueError("the rows have no target.")
        # Divided first: the difference of two bounds may overflow.
        place = np.clip(rows.y / self.half - self.center / self.half, -1.0, 1.0)
        return np.minimum((place + 1.0) * (self.size / 2), self.size - 1).astype(np.int64)

    def to_dict(self) -> dict[str, Any]:
        """Return JSON values."""
        return {"kind": self.kind, "center": self.center, "half": self.half, "size": self.size}

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Self:
        """Restore the axis."""
        fields = Fields(content, ("kind", "center", "half", "size"), what="an axis")
        half = fields.number("half")
        if half <= 0:
            raise ValueError("an axis: half must be above 0")
        return cls(fields.number("center"), half, fields.integer("size", 1, _MOST))


@dataclass(frozen=True, eq=False)
class ErrorAxis:
    """Cell of the standardised error theta . z of a row on a grid, in a table for its kind of observation.

    Attributes
    ----------
    grid : MomentGrid
    theta : ndarray of shape (n_features + 2,)
        Public, or made of released values; index 0 the constant, 1 the target, then the features.
    edges : ndarray of shape (n_edges,)
        Increasing. An error on an edge is in the cell above it; there is one cell more than edges.
    tables : tuple of int
        Table of every code of an event, 0 being the first: censored rows, then events.

    Notes
    -----
    **Privacy.** The error is added up in one fixed order, and follows from the row and the axis alone.
    """

    grid: MomentGrid
    theta: FloatArray
    edges: FloatArray
    tables: tuple[int, ...] = (0, 1)
    kind: ClassVar[str] = "error"

    @property
    def size(self) -> int:
        """Number of cells of all tables."""
        return (max(self.tables) + 1) * (len(self.edges) + 1)

    def codes(self, rows: PreparedRows) -> IntArray:
        """Return the cell of every row; ValueError where a value is NaN or infinite."""
        if rows.y is None or rows.event is None:
            raise ValueError("the rows have no times and events.")
        if rows.X.shape != (len(rows.y), self.grid.n_features) or rows.event.shape != rows.y.shape:
            wanted = f"(n, {self.grid.n_features})"
            raise ValueError(f"X must have shape {wanted}, and a target and an event per row.")
        if len(rows.event) and int(rows.event.max()) >= len(self.tables):
            raise ValueError("the rows have kinds of observation that the plan does not count.")
        codes = np.array(self.tables, dtype=np.int64)[rows.event] * (len(self.edges) + 1)
        # The order of a packed row: features, target, constant.
        theta = self.theta[[*range(2, self.grid.size), 1, 0]] / 2.0**self.grid.exponent
        pack, block = make_packer(self.grid), np.empty((_BLOCK_ROWS, self.grid.size))
        for first in range(0, len(rows.y), _BLOCK_ROWS):
            here = slice(first, first + _BLOCK_ROWS)
            packed = block[: len(rows.y[here])]
            if not pack(rows.X[here], rows.y[here], packed):
                raise ValueError("X and y must be finite: NaN and inf are refused.")
            errors = np.zeros(len(packed))
            # Huge parameters may give no number; it is in the last cell.
            with np.errstate(over="ignore", invalid="ignore"):
                for weight, column in zip(theta, packed.T, strict=True):
                    errors += weight * column
            codes[here] += np.searchsorted(self.edges, errors, side="right")
        return codes

    def to_dict(self) -> dict[str, Any]:
        """Return JSON values."""
        numbers = {"theta": self.theta.tolist(), "edges": self.edges.tolist(), "tables": list(self.tables)}
        return {"kind": self.kind, "grid": self.grid.to_dict(), **numbers}

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Self:
        """Restore the axis."""
        fields = Fields(content, ("kind", "grid", "theta", "edges", "tables"), what="an axis")
        grid = read_grid(fields)
        edges = np.array(fields.numbers("edges"))
        tables = fields.items("tables")
        if not len(edges) or len(edges) > _MOST or not (np.diff(edges) > 0).all():
            raise ValueError("an axis: edges must increase")
        numbered = all(type(table) is int and 0 <= table < len(tables) for table in tables)
        if not numbered or not 0 < len(tables) <= _MOST_KINDS:
            raise ValueError("an axis: tables must be numbered from 0")
        return cls(grid, np.array(fields.numbers("theta", grid.size)), edges, tuple(tables))


_KINDS: dict[str, Any] = {
    axis.kind: axis
    for axis in (
        ErrorAxis,
        LeafAxis,
        LabelAxis,
        LevelAxis,
        OctaveAxis,
        ResidualAxis,
        SurvivalAxis,
        TargetAxis,
    )
}


def axis_from_dict(content: Any) -> Axis:
    """Restore an axis of any kind; ValueError for what none would write."""
    kind = content.get("kind") if type(content) is dict else None
    if type(kind) is not str or kind not in _KINDS:
        raise ValueError("a table has an axis of an unknown kind")
    axis: Axis = _KINDS[kind].from_dict(content)
    return axis


# Plan of counts: tables of cells, in each of which a row is counted once.

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
    >>> from skprivate.rounds._plans.cells import LabelAxis
    >>> from skprivate.rounds._plans.cells import CellsPlan
    >>> from skprivate.rounds._rows import PreparedRows
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
