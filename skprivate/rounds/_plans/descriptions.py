# SPDX-License-Identifier: BSD-3-Clause
"""Plan of a description: tables that depend on the domain alone, and the cells of rows in them."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from ..._typing import BoolArray, FloatArray, IntArray
from ...domain import TableDomain
from ...domain._columns import CategoricalColumn, Column, DateColumn, NumberColumn
from ...domain._life_data import TRUE_OR_FALSE, EventCoding
from ...utils._json_documents import Fields
from .._codec import Record, integers, maybe, refuse_sums, stored, texts
from .._tables import has_names

#: Result of `TableDomain.read_columns`: values, and a mask of those that are unusable.
Readings = Mapping[str, tuple[FloatArray, BoolArray]]
#: Returns a given number of values, uniform in [0, 1).
Coins = Callable[[int], FloatArray]
#: Most cells of all tables together. A plan with more is a mistake, and could exhaust the memory.
MOST_CELLS = 2**22
# Bins of a number in a crosstab without declared cut points: few enough for a table that people read.
_COARSE = 4


@dataclass(frozen=True)
class Tree:
    """Public intervals of a range: on each level, every interval is divided into `branches` equal parts."""

    branches: int
    n_levels: int

    @property
    def n_points(self) -> int:
        """Number of grid points to which numbers are rounded: those of the last level."""
        return int(self.branches**self.n_levels)


@dataclass(frozen=True)
class NumberTable:
    """Counts of a column of numbers, rounded at random to points of a grid, and of missing values.

    A value between two points is rounded up with the probability that keeps its expectation. Means of the
    counts therefore have no binning error. The points are leaves of a tree, and every level of the tree is a
    table: a row is in one cell of each.
    """

    name: str
    column: Column
    tree: Tree

    @property
    def sizes(self) -> list[int]:
        """Nodes of each level, and one cell for missing values and values that are not numbers."""
        return [int(self.tree.branches**level) + 1 for level in range(1, self.tree.n_levels + 1)]

    def codes(self, readings: Readings, coins: Coins) -> list[IntArray]:
        """Return the cell of every row on every level."""
        place = share_of_range(self.column, readings[self.name][0]) * (self.tree.n_points - 1)
        missing = np.isnan(place)
        place = np.where(missing, 0.0, place)
        below = np.minimum(np.floor(place), self.tree.n_points - 2)
        leaf = (below + (coins(len(place)) < place - below)).astype(np.int64)
        return [
            np.where(missing, size - 1, leaf // (self.tree.n_points // (size - 1))) for size in self.sizes
        ]


@dataclass(frozen=True)
class LevelTable:
    """Counts of a column's levels, of other values, and of missing ones."""

    name: str
    labels: tuple[str, ...]

    @property
    def size(self) -> int:
        """Levels, one cell for other values, and one for missing values."""
        return len(self.labels) + 2

    def codes(self, readings: Readings, coins: Coins) -> IntArray:
        """Return the cell of every row."""
        values, unusable = readings[self.name]
        n_levels = len(self.labels)
        rest = np.where(unusable, n_levels, n_levels + 1)
        return np.where(np.isnan(values), rest, values).astype(np.int64)


@dataclass(frozen=True)
class Axis:
    """One side of a crosstab: levels, or intervals of numbers between cut points."""

    name: str
    column: Column
    labels: tuple[str, ...]
    cuts: tuple[float, ...] = ()

    def codes(self, readings: Readings) -> IntArray:
        """Return the position of every row; -1 if the value is missing or not declared."""
        values, _ = readings[self.name]
        known = ~np.isnan(values)
        if is_measured(self.column):
            places = np.searchsorted(np.array(self.cuts), np.where(known, values, 0.0), side="right")
            values = places.astype(np.float64)
        return np.where(known, values, -1).astype(np.int64)


@dataclass(frozen=True)
class CrossTable:
    """Counts of pairs of values, and of rows with an unknown value."""

    first: Axis
    second: Axis

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return len(self.first.labels), len(self.second.labels)

    @property
    def size(self) -> int:
        """Pairs, and one cell for the other rows."""
        return int(np.prod(self.shape)) + 1

    def codes(self, readings: Readings, coins: Coins) -> IntArray:
        """Return the cell of every row."""
        first, second = self.first.codes(readings), self.second.codes(readings)
        known = (first >= 0) & (second >= 0)
        return np.where(known, first * self.shape[1] + second, self.size - 1)


@dataclass(frozen=True)
class SurvivalTable:
    """Counts of durations by interval, by whether the event was observed, and by group.

    Each group has a cell for the events and a cell for the censored rows of every interval, and a cell for
    the rows observed beyond the last interval. One further cell counts rows with an unknown value. The curve
    is printed at the end of every `every`-th interval.
    """

    time: str
    event: str
    column: NumberColumn
    n_bins: int
    every: int
    group: Axis | None = None
    coding: EventCoding = TRUE_OR_FALSE

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the groups; one empty name if there are no groups."""
        return ("",) if self.group is None else self.group.labels

    @property
    def size(self) -> int:
        """Number of cells."""
        return len(self.labels) * (2 * self.n_bins + 1) + 1

    def codes(self, readings: Readings, coins: Coins) -> IntArray:
        """Return the cell of every row."""
        times, events = readings[self.time][0], self.coding.events_of(readings[self.event][0])
        known = ~np.isnan(times) & ~np.isnan(events)
        group = np.zeros(len(times), dtype=np.int64)
        if self.group is not None:
            group = self.group.codes(readings)
            known &= group >= 0
        place = np.where(known, share_of_range(self.column, times), 0.0) * self.n_bins
        # Intervals are open below: an event at the end of an interval belongs to it.
        interval = np.clip(np.ceil(place) - 1, 0, self.n_bins - 1)
        code = interval + np.where(events == 1, 0, self.n_bins)
        # Events after the upper bound are not observed.
        code = np.where(np.where(known, times, 0.0) > self.column.upper, 2 * self.n_bins, code)
        code += group * (2 * self.n_bins + 1)
        return np.where(known, code, self.size - 1).astype(np.int64)


CountTable = NumberTable | LevelTable | CrossTable | SurvivalTable


@dataclass(frozen=True)
class TablePlan:
    """All tables of a description; public.

    Attributes
    ----------
    names : tuple of str
        Columns with a table of their own.
    tables : tuple
        The tables of the columns, then the crosstabs, then survival.
    """

    names: tuple[str, ...]
    tables: tuple[CountTable, ...]

    @property
    def n_levels(self) -> list[int]:
        """Number of released tables of each table: the levels of a tree, otherwise 1."""
        return [table.tree.n_levels if isinstance(table, NumberTable) else 1 for table in self.tables]

    @property
    def sizes(self) -> list[int]:
        """Numbers of cells of all released tables."""
        found = [table.sizes if isinstance(table, NumberTable) else [table.size] for table in self.tables]
        return [size for sizes in found for size in sizes]

    @property
    def read(self) -> list[str]:
        """Names of all columns that are read."""
        found = dict.fromkeys(self.names)
        for table in self.tables:
            if isinstance(table, CrossTable):
                found |= dict.fromkeys([table.first.name, table.second.name])
            if isinstance(table, SurvivalTable):
                found |= dict.fromkeys([table.time, table.event])
                found |= {} if table.group is None else {table.group.name: None}
        return list(found)

    def codes(self, readings: Readings, coins: Coins) -> list[IntArray]:
        """Return the cell of every row in every released table."""
        found = [table.codes(readings, coins) for table in self.tables]
        return [code for codes in found for code in (codes if isinstance(codes, list) else [codes])]


@dataclass(frozen=True, eq=False)
class DescriptionPlan(Record):
    """Counts of a `TablePlan`, over tables that stay in place.

    Attributes
    ----------
    names : tuple of str
    crosstabs, survival : as in `plan_tables`, with all cut points
    branches, n_levels, n_times, every : int
    happened, censored : list
        The coding of events.
    sizes : tuple of int
        Numbers of cells.
    """

    names: tuple[str, ...] = stored(texts)
    crosstabs: list[Any] = stored(Fields.items)
    survival: list[Any] | None = stored(maybe, Fields.items)
    branches: int = stored(Fields.integer, 2, MOST_CELLS)
    n_levels: int = stored(Fields.integer, 1, 22)
    n_times: int = stored(Fields.integer, 1, MOST_CELLS)
    every: int = stored(Fields.integer, 1, MOST_CELLS)
    happened: list[Any] = stored(Fields.items)
    censored: list[Any] = stored(Fields.items)
    sizes: tuple[int, ...] = stored(integers, 1, MOST_CELLS, "a plan: sizes must be positive whole numbers")
    kind: ClassVar[str] = "description"

    @classmethod
    def of(
        cls, plan: TablePlan, tree: Tree, n_times: int, every: int, coding: EventCoding
    ) -> "DescriptionPlan":
        """Return the plan of these tables, in JSON values."""

        def side(axis: Axis) -> Any:
            return [axis.name, list(axis.cuts)] if is_measured(axis.column) else axis.name

        pairs = [[side(one.first), side(one.second)] for one in plan.tables if isinstance(one, CrossTable)]
        lives = [one for one in plan.tables if isinstance(one, SurvivalTable)]
        survival = None
        if lives:
            group = lives[0].group
            survival = [lives[0].time, lives[0].event, *([] if group is None else [side(group)])]
        values = list(coding.happened), list(coding.censored)
        shape = tree.branches, tree.n_levels, n_times, every
        return cls(plan.names, pairs, survival, *shape, *values, tuple(plan.sizes))

    @property
    def n_sums(self) -> int:
        """Number of cells."""
        return sum(self.sizes)

    def table_sums(self, table: Any, domain: TableDomain) -> tuple[IntArray, int]:
        """Return the counts of a table, and its number of rows. This process draws the random rounding.

        No cell causes an error.
        """
        coding, tree = EventCoding.of(self.happened or None, self.censored or None), Tree(*self._tree)
        plan = plan_tables(
            domain, self.names, self.crosstabs, self.survival, tree, self.n_times, self.every, coding
        )
        if tuple(plan.sizes) != self.sizes:
            raise ValueError("the plan is not one of this domain")
        readings = domain.read_columns(_declared(table, list(domain.names)), plan.read)
        codes = plan.codes(readings, lambda n: np.frombuffer(os.urandom(8 * n), dtype="<u8") / 2.0**64)
        counts = [np.bincount(code, minlength=size) for code, size in zip(codes, self.sizes, strict=True)]
        return np.concatenate(counts).astype(np.int64), len(codes[0])

    @property
    def _tree(self) -> tuple[int, int]:
        return self.branches, self.n_levels

    def sums(self, rows: Any) -> IntArray:
        """Not used: the cells of a table are read by its domain, not as features and a target."""
        raise TypeError("a description reads tables: see table_sums.")

    def check_sums(self, values: IntArray, n_rows: int) -> None:
        """Raise ValueError if counts are impossible for n_rows rows."""
        found = np.split(values, np.cumsum(self.sizes)[:-1])
        refuse_sums((values < 0).any() or any(int(table.sum()) != n_rows for table in found))

    def check_room(self, n_rows: int) -> None:
        """Counts never overflow."""

    def _check_fields(self) -> None:
        self._require(self.n_sums <= MOST_CELLS, "it has too many cells")


def _declared(table: Any, names: list[str]) -> Any:
    """Return the columns that the domain declares; a table may also have other columns, for fits."""
    if isinstance(table, Mapping):
        return {name: table[name] for name in names if name in table}
    if has_names(table):
        return table[[name for name in names if name in table.columns]]
    return table.select(names) if hasattr(table, "select") else table


def plan_tables(
    domain: TableDomain,
    columns: Any,
    crosstabs: Any,
    survival: Any,
    tree: Tree,
    n_times: int,
    every: int = 1,
    coding: EventCoding = TRUE_OR_FALSE,
) -> TablePlan:
    """Return the requested tables; raise an error if the domain does not declare their columns."""
    names = domain.names if columns is None else _names_of(columns, "columns", domain)
    if len(set(names)) < len(names):
        raise ValueError("columns names a column twice.")
    tables: list[CountTable] = [_column_table(name, domain.columns[name], tree) for name in names]
    tables += [_cross_table(pair, domain) for pair in _list_of(crosstabs, "crosstabs")]
    if survival is not None:
        tables.append(_survival_table(survival, domain, n_times * every, every, coding))
    if not tables:
        raise ValueError("there is nothing to describe: no column, no crosstab and no survival.")
    plan = TablePlan(names, tuple(tables))
    if sum(plan.sizes) > MOST_CELLS:
        raise ValueError(
            f"the tables have more than {MOST_CELLS} cells: use fewer bins, levels or crosstabs."
        )
    return plan


def share_of_range(column: Column, values: FloatArray) -> FloatArray:
    """Return the position of values between the bounds, from 0 to 1, clipped; NaN stays."""
    lower, upper = column.read_bounds()
    # Halved first: the difference of two large bounds may be infinite.
    with np.errstate(over="ignore"):
        return np.clip((values / 2 - lower / 2) / (upper / 2 - lower / 2), 0.0, 1.0)


def is_measured(column: Column) -> bool:
    """Return whether a column holds numbers or dates, and not levels."""
    return isinstance(column, NumberColumn | DateColumn)


def level_labels(column: Column) -> tuple[str, ...]:
    """Return the names of a column's levels."""
    if isinstance(column, CategoricalColumn):
        return tuple(str(level) for level in column.levels)
    return "false", "true"


def _column_table(name: str, column: Column, tree: Tree) -> CountTable:
    return NumberTable(name, column, tree) if is_measured(column) else LevelTable(name, level_labels(column))


def _cross_table(pair: Any, domain: TableDomain) -> CrossTable:
    sides = _list_of(pair, "a crosstab")
    if len(sides) != 2:
        raise ValueError("a crosstab must be a pair of columns.")
    first, second = (_axis(side, domain) for side in sides)
    if first.name == second.name:
        raise ValueError("a crosstab must be of two different columns.")
    return CrossTable(first, second)


def _axis(side: Any, domain: TableDomain) -> Axis:
    """Return the axis for a column's name, or for a pair of a name and cut points."""
    name, cuts = (
        (side, None) if isinstance(side, str) else (*_list_of(side, "a side of a crosstab"), None)[:2]
    )
    (name,) = _names_of([name], "crosstabs", domain)
    column = domain.columns[name]
    if not is_measured(column):
        if cuts is not None:
            raise ValueError(f"cut points are given for {name!r}, which has levels.")
        return Axis(name, column, level_labels(column))
    lower, upper = column.read_bounds()
    shares = np.arange(1, _COARSE) / _COARSE
    inner = [float(cut) for cut in (lower * (1 - shares) + upper * shares if cuts is None else cuts)]
    ends = [lower, *inner, upper]
    if any(not low < high for low, high in pairwise(ends)):
        raise ValueError(f"the cut points of {name!r} must ascend, within the bounds.")
    texts = [show_value(column, end) for end in ends]
    labels = [f"{low} to below {high}" for low, high in pairwise(texts)]
    labels[-1] = labels[-1].replace(" below ", " ")
    return Axis(name, column, tuple(labels), tuple(inner))


def _survival_table(
    survival: Any, domain: TableDomain, n_bins: int, every: int, coding: EventCoding
) -> SurvivalTable:
    sides = _list_of(survival, "survival")
    if len(sides) not in (2, 3):
        raise ValueError("survival must be (time, event) or (time, event, group).")
    time, event = _names_of(sides[:2], "survival", domain)
    column = domain.columns[time]
    if not isinstance(column, NumberColumn) or column.lower < 0:
        raise ValueError(f"survival needs a time that is a number of at least 0, and {time!r} is none.")
    declared = domain.columns[event]
    if not coding.declared and declared.kind != "boolean":
        raise ValueError(
            f"survival needs an event that is declared as bool, or the values of {event!r} which mean that "
            f"the event happened: private_describe(..., survival=({time!r}, {event!r}), happened=...)."
        )
    group = _axis(sides[2], domain) if len(sides) == 3 else None
    return SurvivalTable(time, event, column, n_bins, every, group, _as_read(coding, event, declared))


def _as_read(coding: EventCoding, name: str, column: Column) -> EventCoding:
    """Return the coding with the numbers as which the values of the column are read."""
    if not isinstance(column, CategoricalColumn):
        if any(isinstance(value, str) for value in (*coding.happened, *coding.censored)):
            raise ValueError(f"happened is text, and {name!r} is declared as a column of another kind.")
        return coding
    levels = list(column.levels)
    if not set(coding.happened + coding.censored) <= set(levels):
        raise ValueError(f"happened and censored must be levels of {name!r}: {', '.join(map(repr, levels))}.")
    return EventCoding(tuple(map(levels.index, coding.happened)), tuple(map(levels.index, coding.censored)))


def show_value(column: Column, value: float) -> str:
    """Return a value of a column as text; days since the lower bound become a date."""
    if isinstance(column, DateColumn):
        return str(np.datetime64(column.start + round(value * 86_400_000_000), "us").astype("M8[D]"))
    return f"{value:.4g}"


def _names_of(names: Any, what: str, domain: TableDomain) -> tuple[str, ...]:
    found = _list_of(names, what)
    unknown = [name for name in found if not isinstance(name, str) or name not in domain.columns]
    if unknown:
        raise ValueError(f"{what} names {', '.join(map(repr, unknown))}, which the domain does not declare.")
    return tuple(map(str, found))


def _list_of(values: Any, name: str) -> list[Any]:
    if isinstance(values, str) or not isinstance(values, Sequence | np.ndarray):
        raise TypeError(f"{name} must be a list or a tuple.")
    return list(values)
