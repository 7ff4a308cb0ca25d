# SPDX-License-Identifier: BSD-3-Clause
"""Columns that a tree compares: numbers, filled numbers, and levels at their places, made of encoded rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._typing import FloatArray
from ..domain._groups import ColumnGroup
from ..utils._json_documents import Fields
from ..utils._public_module import public_module
from ._derived_kernels import derive_rows

_Integers = NDArray[np.int32]

# Most encoded columns: an index is an int32, and many more than a table has.
_MOST = 2**24


@dataclass(frozen=True)
class ValueColumn:
    """An encoded column as it is.

    Attributes
    ----------
    source : int
        Number of the declared column.
    column : int
        The encoded column.
    """

    source: int
    column: int
    kind: ClassVar[str] = "value"

    @property
    def _reads(self) -> list[int]:
        return [self.column]

    def _packed(self) -> tuple[int, int, int, int, list[float]]:
        return 0, self.column, 0, -1, []

    @classmethod
    def _of(cls, fields: Fields, source: int) -> ValueColumn:
        return cls(source, fields.integer("column", 0, _MOST))


@dataclass(frozen=True)
class FilledColumn:
    """An encoded column of numbers, clipped to bounds, in which missing cells have a place of their own.

    Attributes
    ----------
    source : int
        Number of the declared column.
    column, indicator : int
        The encoded column, and the one that is 1 where the cell is missing.
    place : float
        Where a missing cell lies: below `lower`, above `upper`, or between them.
    lower, upper : float
        Bounds of the values, so that none lies where a missing cell does.
    """

    source: int
    column: int
    indicator: int
    place: float
    lower: float
    upper: float
    kind: ClassVar[str] = "filled"

    @property
    def _reads(self) -> list[int]:
        return [self.column, self.indicator]

    def _packed(self) -> tuple[int, int, int, int, list[float]]:
        return 1, self.column, 0, self.indicator, [self.place, self.lower, self.upper]

    @classmethod
    def _of(cls, fields: Fields, source: int) -> FilledColumn:
        made = cls(
            source,
            fields.integer("column", 0, _MOST),
            fields.integer("indicator", 0, _MOST),
            *(fields.number(name) for name in ("place", "lower", "upper")),
        )
        if made.lower > made.upper:
            raise ValueError("a derived column: lower must be at most upper")
        return made


@dataclass(frozen=True)
class LevelsColumn:
    """The place of the level that a row has.

    Attributes
    ----------
    source : int
        Number of the declared column.
    start : int
        The first of the encoded columns, one a level, of which a row's own is 1.
    places : tuple of float
        Place of every level, and of a missing cell, which is the last one, where there is an indicator.
    absent : float
        Place of a row that has none of them.
    indicator : int or None
        The encoded column that is 1 where the cell is missing.
    """

    source: int
    start: int
    places: tuple[float, ...]
    absent: float
    indicator: int | None = None
    kind: ClassVar[str] = "levels"

    @property
    def n_levels(self) -> int:
        """Number of levels, without the missing one."""
        return len(self.places) - (self.indicator is not None)

    @property
    def _reads(self) -> list[int]:
        last = self.start + self.n_levels - 1
        return [last] if self.indicator is None else [last, self.indicator]

    def _packed(self) -> tuple[int, int, int, int, list[float]]:
        # Without an indicator no cell is known to be missing: the place of one is not used.
        unused = [self.absent] * (self.indicator is None)
        indicator = -1 if self.indicator is None else self.indicator
        return 2, self.start, self.n_levels, indicator, [*self.places, *unused, self.absent]

    @classmethod
    def _of(cls, fields: Fields, source: int) -> LevelsColumn:
        made = cls(
            source,
            fields.integer("start", 0, _MOST),
            tuple(fields.numbers("places")),
            fields.number("absent"),
            fields.maybe(fields.integer, "indicator", 0, _MOST),
        )
        if made.n_levels < 1:
            raise ValueError("a derived column: it has no levels")
        return made


DerivedColumn = ValueColumn | FilledColumn | LevelsColumn

_KINDS: dict[str, tuple[type[DerivedColumn], tuple[str, ...]]] = {
    "value": (ValueColumn, ("column",)),
    "filled": (FilledColumn, ("column", "indicator", "place", "lower", "upper")),
    "levels": (LevelsColumn, ("start", "places", "absent", "indicator")),
}


@public_module("skprivate.partition")
@dataclass(frozen=True)
class DerivedColumns:
    """The columns that a tree compares, each made row by row of encoded columns.

    Parameters
    ----------
    n_features : int
        Number of encoded columns.
    columns : tuple of ValueColumn, FilledColumn or LevelsColumn
        In the order of the declared columns that they are made of, each of which has one or more.

    Raises
    ------
    ValueError
        There is no column, one of them reads a column that is not there, or they are out of order.

    Notes
    -----
    **Privacy.** What a row becomes is a function of these public facts and of that row alone.

    Examples
    --------
    >>> from skprivate.partition import DerivedColumns
    >>> from skprivate.partition._derived import FilledColumn, LevelsColumn
    >>> age = FilledColumn(0, column=0, indicator=1, place=-120.0, lower=0.0, upper=120.0)
    >>> job = LevelsColumn(1, start=2, places=(0.3, 0.8), absent=0.5)
    >>> derived = DerivedColumns(4, (age, job))
    >>> derived.apply([[39.0, 0.0, 0.0, 1.0], [60.0, 1.0, 1.0, 0.0]])
    array([[  39. ,    0.8],
           [-120. ,    0.3]])
    """

    n_features: int
    columns: tuple[DerivedColumn, ...]

    def __post_init__(self) -> None:
        sources = [column.source for column in self.columns]
        if not sources or sources[0] != 0 or not set(np.diff(sources)) <= {0, 1}:
            raise ValueError("derived columns: they are not in the order of the declared columns")
        if not all(0 <= read < self.n_features for column in self.columns for read in column._reads):
            raise ValueError("derived columns: one of them reads a column that is not there")

    @property
    def n_columns(self) -> int:
        """Number of derived columns."""
        return len(self.columns)

    @property
    def n_sources(self) -> int:
        """Number of declared columns."""
        return self.columns[-1].source + 1

    @cached_property
    def source(self) -> NDArray[np.intp]:
        """Number of the declared column of every derived column, shape (n_columns,)."""
        return np.array([column.source for column in self.columns], dtype=np.intp)

    @cached_property
    def _arrays(self) -> tuple[_Integers, _Integers, _Integers, _Integers, _Integers, FloatArray]:
        """What the kernel reads of the columns, from `kind` to `numbers`."""
        packed = [column._packed() for column in self.columns]
        kind, first, n_levels, indicator = np.array(
            [column[:4] for column in packed], dtype=np.int32
        ).T.copy()
        offset = np.cumsum([0, *(len(column[4]) for column in packed[:-1])]).astype(np.int32)
        numbers = np.array([number for column in packed for number in column[4]], dtype=np.float64)
        return kind, first, n_levels, indicator, offset, numbers

    def check_groups(self, groups: Sequence[ColumnGroup]) -> None:
        """Raise ValueError where a column is not made of those of its group in `TableDomain.groups`."""
        known = self.n_sources == len(groups) and self.n_features == groups[-1].end
        if not known or not all(_fits(column, groups[column.source]) for column in self.columns):
            raise ValueError("derived columns: they are not those of the declared columns")

    def apply(self, X: ArrayLike) -> FloatArray:
        """Return the derived columns of encoded rows.

        Parameters
        ----------
        X : array-like of float, shape (n, n_features)
            No copy is made of C-contiguous float64.

        Returns
        -------
        Z : ndarray of float64, shape (n, n_columns), in C order
        """
        rows = np.ascontiguousarray(X, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != self.n_features:
            raise ValueError(f"X must have shape (n, {self.n_features}), got {np.shape(X)}")
        derived = np.empty((len(rows), self.n_columns))
        derive_rows(rows, *self._arrays, derived)
        return derived

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists and numbers that JSON carries exactly; `from_dict` restores them."""
        columns = []
        for column in self.columns:
            values = {name: getattr(column, name) for name in _KINDS[column.kind][1]}
            plain = {name: list(value) if name == "places" else value for name, value in values.items()}
            columns.append({"kind": column.kind, "source": column.source, **plain})
        return {"n_features": self.n_features, "columns": columns}

    @classmethod
    def from_dict(cls, state: Any) -> Self:
        """Restore the columns from `to_dict`; ValueError for anything else."""
        fields = Fields(state, ("n_features", "columns"), what="derived columns")
        columns = tuple(_column_from_dict(column) for column in fields.items("columns"))
        return cls(fields.integer("n_features", 1, _MOST), columns)


def _fits(column: DerivedColumn, group: ColumnGroup) -> bool:
    if isinstance(column, LevelsColumn):
        found = column.start, column.n_levels, column.indicator
        return found == (group.start, group.n_levels, group.indicator)
    if isinstance(column, FilledColumn):
        return (column.column, column.indicator, 0) == (group.start, group.indicator, group.n_levels)
    return group.n_levels == 0 and column.column in (group.start, group.indicator)


def _column_from_dict(state: Any) -> DerivedColumn:
    kind = state.get("kind") if type(state) is dict else None
    if type(kind) is not str or kind not in _KINDS:
        raise ValueError("derived columns: one is of an unknown kind")
    column, names = _KINDS[kind]
    fields = Fields(state, ("kind", "source", *names), what="a derived column")
    return column._of(fields, fields.integer("source", 0, _MOST))
