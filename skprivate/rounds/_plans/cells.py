# SPDX-License-Identifier: BSD-3-Clause
"""Plan of counts in tables of cells, and the axes that assign a row to a cell."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from ..._typing import FloatArray, IntArray
from ...partition import Partition, count_leaves
from ...partition._column_cells import find_levels
from ...utils._json_documents import Fields
from .._codec import Record, array, integers, maybe, of_kind, record, refuse_sums, stored
from .._rows import BESIDE, CODES, PreparedRows
from .code_kernels import fill_codes
from .moments import MomentGrid, combinations_of, read_grid, read_line, residuals_of
from .residual_kernels import fill_bins

#: Magnitudes from 2^-100 to 2^100, about 1e-30 to 1e30. It is constant, so that it does not depend on data.
OCTAVES = 100
#: Cells of an `OctaveAxis` in the order of the numbers: negative octaves, zero, positive octaves.
N_OCTAVES = 4 * OCTAVES + 1
#: The cell of zero.
ZERO = 2 * OCTAVES
# Most cells of a plan, 1 GiB of counts.
_MOST_CELLS = 2**27
# Most columns, labels or bins of a plan: memory for them is allocated before rows are read.
_MOST = 2**24
# Most edges between cells of residuals: codes have two bytes.
_MOST_EDGES = 2**16 - 1
# Codes of an event have one byte.
_MOST_KINDS = 256


class Axis(Protocol):
    """Assigns rows to cells."""

    kind: ClassVar[str]

    @property
    def size(self) -> int:
        """Number of cells."""

    def codes(self, rows: PreparedRows) -> NDArray[Any]:
        """Return the cell of every row, 0 to ``size - 1``, as integers, including rows that do not count."""

    def to_dict(self) -> dict[str, Any]:
        """Return JSON values, including the kind."""


@dataclass(frozen=True, eq=False)
class CellsPlan(Record):
    """Counts of rows in tables of cells.

    Attributes
    ----------
    tables : tuple of tuples of Axis
        Each table has one cell for every combination of its axes' cells; the cell of the last axis changes
        fastest. A table without axes has one cell. The sums contain one table after the other.

    Notes
    -----
    **Privacy.** A row is in exactly one cell of every table, which depends on this row alone. Replacing the
    row changes the counts of a table by at most 2 in L1 and in squared L2; adding or removing it, by 1.

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate.rounds._plans.cells import CellsPlan, LabelAxis
    >>> from skprivate.rounds._rows import PreparedRows
    >>> plan = CellsPlan(((LabelAxis(3),),))
    >>> plan.sums(PreparedRows(np.zeros((4, 1)), labels=np.array([2, 0, 2, 2])))
    array([1, 0, 3])
    """

    tables: tuple[tuple[Axis, ...], ...] = stored(lambda fields, name: _read_tables(fields.items(name)))
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
        """Raise ValueError if counts are impossible for n_rows rows."""
        ends = np.cumsum(self.sizes)[:-1]
        tables = np.split(values, ends) if self.tables else []
        refuse_sums((values < 0).any() or any(int(table.sum()) != n_rows for table in tables))

    def check_room(self, n_rows: int) -> None:
        """Counts never overflow."""

    def _check_fields(self) -> None:
        self._require(self.n_sums <= _MOST_CELLS, "it has too many cells")


def _read_tables(tables: list[Any]) -> tuple[tuple[Axis, ...], ...]:
    if not all(type(axes) is list for axes in tables):
        raise ValueError("a plan: tables must be lists of axes")
    return tuple(tuple(map(axis_from_dict, axes)) for axes in tables)


def _count(axes: tuple[Axis, ...], size: int, rows: PreparedRows) -> IntArray:
    if not axes:
        return np.array([rows.n_rows], dtype=np.int64)
    if len(axes) == 2:
        first, second = (_kept(axis.codes(rows), rows) for axis in axes)
        if first.dtype == second.dtype == np.int32:
            # Leaves and labels are counted without a common code.
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


class _StoredAxis(Record):
    _what: ClassVar[str] = "an axis"


@dataclass(frozen=True, eq=False)
class LeafAxis(_StoredAxis):
    """The leaf of a partition of the features."""

    partition: Partition = stored(record, Partition.from_dict)
    kind: ClassVar[str] = "leaf"

    @property
    def size(self) -> int:
        """Number of leaves."""
        return self.partition.n_leaves

    def codes(self, rows: PreparedRows) -> NDArray[Any]:
        """Return the leaf of every row."""
        return self.partition.apply(rows.X)


@dataclass(frozen=True)
class LabelAxis(_StoredAxis):
    """The position of the label among the classes."""

    size: int = stored(Fields.integer, 1, _MOST)
    kind: ClassVar[str] = "label"

    def codes(self, rows: PreparedRows) -> NDArray[Any]:
        """Return the position of every label."""
        if rows.labels is None:
            raise ValueError("the rows have no labels.")
        if len(rows.labels) and int(rows.labels.max()) >= self.size:
            raise ValueError("the rows have more classes than the plan.")
        return rows.labels


@dataclass(frozen=True)
class LevelAxis(_StoredAxis):
    """The level of a declared column with one encoded column a level; the last cell is for missing values.

    Attributes
    ----------
    start : int
        Position of its first encoded column.
    n_levels : int
    indicator : int or None
        Position of the encoded column that is 1 if the value is missing.
    """

    start: int = stored(Fields.integer, 0, _MOST)
    n_levels: int = stored(Fields.integer, 1, _MOST)
    indicator: int | None = stored(maybe, Fields.integer, 0, _MOST)
    kind: ClassVar[str] = "level"

    @property
    def size(self) -> int:
        """Number of cells."""
        return self.n_levels + 1

    def codes(self, rows: PreparedRows) -> NDArray[Any]:
        """Return the position of every level."""
        indicator = -1 if self.indicator is None else self.indicator
        _require_columns(rows, max(self.start + self.n_levels - 1, indicator))
        return find_levels(rows.X, self.start, self.n_levels, self.indicator).astype(np.int32)


@dataclass(frozen=True)
class OctaveAxis(_StoredAxis):
    """Sign and power of two of one column: a magnitude in (2^(e-1), 2^e] has the octave e."""

    column: int = stored(Fields.integer, 0, _MOST)
    kind: ClassVar[str] = "octave"

    @property
    def size(self) -> int:
        """Number of cells: the octaves of both signs, and zero."""
        return N_OCTAVES

    def codes(self, rows: PreparedRows) -> NDArray[Any]:
        """Return the octave of every number, in the order of the numbers."""
        _require_columns(rows, self.column)
        fraction, octave = np.frexp(rows.X[:, self.column])
        # frexp assigns 2^e to the next octave.
        octave -= np.abs(fraction) == 0.5
        np.clip(octave, -OCTAVES, OCTAVES, out=octave)
        octave += OCTAVES
        octave *= np.sign(fraction).astype(np.int32)
        octave += ZERO
        return octave


def _require_columns(rows: PreparedRows, last: int) -> None:
    if last >= rows.X.shape[1]:
        raise ValueError("the rows have too few columns.")


@dataclass(frozen=True)
class TargetAxis(_StoredAxis):
    """Equal bins of a numeric target between two bounds; values outside are in the first or last bin.

    Attributes
    ----------
    center, half : float
        Centre and half-width of the bounds.
    size : int
    """

    center: float = stored(Fields.number)
    half: float = stored(Fields.number)
    size: int = stored(Fields.integer, 1, _MOST)
    kind: ClassVar[str] = "target"

    def codes(self, rows: PreparedRows) -> NDArray[Any]:
        """Return the bin of every target."""
        if rows.y is None:
            raise ValueError("the rows have no target.")
        # Divided first: the difference of two bounds may overflow.
        place = np.clip(rows.y / self.half - self.center / self.half, -1.0, 1.0)
        return np.minimum((place + 1.0) * (self.size / 2), self.size - 1).astype(np.int64)

    def _check_fields(self) -> None:
        self._require(self.half > 0, "half must be above 0")


@dataclass(frozen=True)
class SurvivalAxis(_StoredAxis):
    """Kind of observation, and equal bins of the target between two bounds; values outside are in an end bin.

    Attributes
    ----------
    center, half : float
        Centre and half-width of the bounds on the scale of the model.
    n_bins : int
        Number of bins. Cells 0 to ``n_bins - 1`` are for censored rows, the next ``n_bins`` for events. With
        four tables, rows whose event came earlier follow, and then intervals, by their middle between the
        bounds.
    n_tables : {2, 4}, default=2
        With two tables, every row that is not censored counts as an event.
    below : bool, default=False
        Whether events below the lower bound have a cell of their own, which is the last one.
    """

    center: float = stored(Fields.number)
    half: float = stored(Fields.number)
    n_bins: int = stored(Fields.integer, 1, _MOST)
    n_tables: int = stored(Fields.integer, 2, 4, default=2)
    below: bool = stored(Fields.flag, default=False)
    kind: ClassVar[str] = "survival"

    @property
    def size(self) -> int:
        """Number of cells."""
        return self.n_tables * self.n_bins + self.below

    def codes(self, rows: PreparedRows) -> IntArray:
        """Return the cell of every row; ValueError if a target is NaN or infinite."""
        y, event = rows.times_and_events()
        if event.shape != y.shape:
            raise ValueError("every time needs an event.")
        codes = np.empty(len(y), dtype=np.int64)
        tables, target = np.minimum(event, self.n_tables - 1), np.ascontiguousarray(y)
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

    def _check_fields(self) -> None:
        self._require(self.half > 0, "half must be above 0")
        self._require(self.n_tables != 3, "n_tables must be 2 or 4")


@dataclass(frozen=True, eq=False)
class ErrorAxis(_StoredAxis):
    """Cell of the standardised error theta . z of a row on a grid, in a table for its kind of observation.

    Attributes
    ----------
    grid : MomentGrid
    theta : ndarray of shape (n_features + 2,)
        Coefficients of the constant, the target and the features, in this order: public or released values.
    edges : ndarray of shape (n_edges,)
        Increasing edges between the ``n_edges + 1`` cells. An error on an edge is in the cell above it.
    tables : tuple of int
        Table of every code of an event, from 0: censored rows, then events.

    Notes
    -----
    **Privacy.** The error is summed in one fixed order, and depends only on the row and the axis.
    """

    grid: MomentGrid = stored(read_grid)
    theta: FloatArray = stored(lambda fields, name: array(fields, name, read_grid(fields).size))
    edges: FloatArray = stored(array)
    tables: tuple[int, ...] = stored(
        integers, 0, _MOST_KINDS - 1, "an axis: tables must be numbered from 0", default=(0, 1)
    )
    kind: ClassVar[str] = "error"

    @property
    def size(self) -> int:
        """Number of cells of all tables."""
        return (max(self.tables) + 1) * (len(self.edges) + 1)

    def codes(self, rows: PreparedRows) -> IntArray:
        """Return the cell of every row; ValueError if a value is NaN or infinite."""
        y, event = rows.times_and_events(self.grid.n_features)
        if len(event) and int(event.max()) >= len(self.tables):
            raise ValueError("the rows have kinds of observation that the plan does not count.")
        codes = np.array(self.tables, dtype=np.int64)[event] * (len(self.edges) + 1)
        weights = self.theta[[*range(2, self.grid.size), 1, 0]]
        for here, _, errors in combinations_of(self.grid, weights, rows.X, y):
            # Huge parameters may give NaN, which is in the last cell.
            codes[here] += np.searchsorted(self.edges, errors, side="right")
        return codes

    def _check_fields(self) -> None:
        _check_edges(self.edges, _MOST)
        numbered = 0 < len(self.tables) <= _MOST_KINDS and max(self.tables) < len(self.tables)
        self._require(numbered, "tables must be numbered from 0")


@dataclass(frozen=True, eq=False)
class ResidualAxis(_StoredAxis):
    """Cell of the residual of every row about a line.

    Attributes
    ----------
    grid : MomentGrid
    line : ndarray of shape (n_features + 1,)
        The constant, then the slopes, in scaled units: public or released values.
    edges : ndarray of shape (n_edges,)
        Increasing, in half-widths of the target. A residual on an edge is in the cell above it.

    Notes
    -----
    **Privacy.** The cell depends only on the row and the axis.
    """

    grid: MomentGrid = stored(read_grid)
    line: FloatArray = stored(read_line)
    edges: FloatArray = stored(array)
    kind: ClassVar[str] = "residual"

    @property
    def size(self) -> int:
        """Number of cells: one more than edges."""
        return len(self.edges) + 1

    def codes(self, rows: PreparedRows) -> NDArray[Any]:
        """Return the cell of every row."""
        codes, edges = np.empty(len(rows.X), dtype=np.uint16), np.ascontiguousarray(self.edges)
        for here, _, residuals in residuals_of(self.grid, self.line, rows):
            fill_codes(residuals, edges, codes[here])
        return codes

    def _check_fields(self) -> None:
        _check_edges(self.edges, _MOST_EDGES)


def _check_edges(edges: FloatArray, most: int) -> None:
    if not 0 < len(edges) <= most or not (np.diff(edges) > 0).all():
        raise ValueError("an axis: edges must increase")


_AXES = (ErrorAxis, LeafAxis, LabelAxis, LevelAxis, OctaveAxis, ResidualAxis, SurvivalAxis, TargetAxis)


def axis_from_dict(content: Any) -> Axis:
    """Restore an axis of any kind; ValueError for anything that no axis would write."""
    return of_kind(content, _AXES, "a table has an axis of an unknown kind")
