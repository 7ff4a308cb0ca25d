# SPDX-License-Identifier: BSD-3-Clause
"""Cells of single columns: bins of equal width, and cells of declared levels and missing values."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._typing import FloatArray, IntArray
from ..domain._table_domain import ColumnGroup
from ..utils._json_documents import Fields
from ..utils._public_module import public_module
from ._partition import as_rows, check_box

# Bins of equal width, for every column separately.

#: Largest number of bins of a column: a client reports about one column only, and more bins would hold too
# few clients. Set by hand.
MOST_BINS = 256


@public_module("skprivate.partition")
@dataclass(frozen=True, eq=False)
class ColumnBins:
    """Bins of equal width of every column of the box [lower, upper].

    A `Partition` assigns a row to one leaf; `ColumnBins` assign it to one bin in every column.

    Parameters
    ----------
    lower, upper : ndarray of shape (n_features,)
        The public box; finite, lower <= upper.
    n_bins : int
        Number of bins of every column, from 2 to 256.

    Examples
    --------
    >>> from skprivate.partition import ColumnBins
    >>> bins = ColumnBins.of([0.0, -1.0], [1.0, 1.0], 4)
    >>> bins.apply([[0.3, 0.0], [2.0, -5.0]])
    array([[1, 2],
           [3, 0]], dtype=int32)
    """

    lower: FloatArray
    upper: FloatArray
    n_bins: int

    @classmethod
    def of(cls, lower: ArrayLike, upper: ArrayLike, n_bins: int) -> Self:
        """Return the bins of a box; ValueError for an invalid box, or a number of bins out of range."""
        if type(n_bins) is not int or not 2 <= n_bins <= MOST_BINS:
            raise ValueError(f"n_bins must be a whole number from 2 to {MOST_BINS}")
        return cls(*check_box(lower, upper), n_bins)

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return len(self.lower)

    @property
    def n_columns(self) -> int:
        """Number of columns with bins: all."""
        return len(self.lower)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of bins of every column."""
        return (self.n_bins,) * len(self.lower)

    @property
    def n_leaves(self) -> int:
        """Number of possible cells of a value: the bins of one column."""
        return self.n_bins

    def bins_in_order(self, column: int) -> int:
        """Return the number of first bins of a column in the order of its numbers: all."""
        return self.n_bins

    @cached_property
    def thresholds(self) -> FloatArray:
        """Thresholds between the bins, ascending, of shape (n_features, n_bins - 1)."""
        # A weighted mean of the bounds does not overflow.
        place = np.arange(1, self.n_bins) / self.n_bins
        inner = self.lower[:, np.newaxis] * (1 - place) + self.upper[:, np.newaxis] * place
        return np.maximum.accumulate(inner, axis=1)

    def apply(self, X: ArrayLike) -> NDArray[np.int32]:
        """Return the bin of every value: the number of thresholds at or below it.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Values outside the box are in an end bin.

        Returns
        -------
        bins : ndarray of int32 of shape (n, n_features)
        """
        rows = as_rows(X, self.n_features)
        bins = np.empty(rows.shape, dtype=np.int32)
        for column, thresholds in enumerate(self.thresholds):
            bins[:, column] = np.searchsorted(thresholds, rows[:, column], side="right")
        return bins

    def rows_within(self, cells: IntArray, places: FloatArray) -> FloatArray:
        """Return rows in these bins, at places from 0 to below 1 of their width, shape (n, n_features)."""
        share = (cells + places) / self.n_bins
        return self.lower * (1 - share) + self.upper * share

    def to_dict(self) -> dict[str, Any]:
        """Return JSON values for `from_dict`."""
        return {"lower": self.lower.tolist(), "upper": self.upper.tolist(), "n_bins": self.n_bins}

    @classmethod
    def from_dict(cls, state: Any) -> Self:
        """Restore bins from `to_dict`; ValueError for anything else."""
        fields = Fields(state, ("lower", "upper", "n_bins"), what="the bins of the columns")
        return cls.of(
            fields.numbers("lower"), fields.numbers("upper"), fields.integer("n_bins", 2, MOST_BINS)
        )


# Cells of the declared columns of a table, for every column separately: levels, bins of numbers, missing.

#: Largest number of cells of levels in a column; more levels share cells. Set by hand.
MOST_LEVEL_CELLS = 128
# Largest number of levels of a group, that of columns.
_MOST = 2**24


@public_module("skprivate.partition")
@dataclass(frozen=True, eq=False)
class TableCells:
    """Cells of the declared columns of a table, for rows of `TableDomain.encode`.

    A column of levels without an order has a cell for each level, and one for all other values, which are
    missing. If there are more levels than cells, neighbours in the declaration share one. Booleans and levels
    with an order have a cell for each value, if there are no more values than bins. Other columns have bins
    of equal width. If the domain declares missing cells, there is one more cell for them.

    Parameters
    ----------
    lower, upper : ndarray of shape (n_features,)
        The public box of the encoded columns; finite, lower <= upper.
    groups : tuple of ColumnGroup
        The declared columns, in the order of the encoded ones.
    n_bins : int
        Number of bins of a column of numbers, from 2 to 256.

    Examples
    --------
    >>> from skprivate.domain import CategoricalColumn, TableDomain
    >>> from skprivate.partition import TableCells
    >>> domain = TableDomain({"age": (0, 80), "job": ["clerk", "smith"]}, missing="indicator")
    >>> cells = TableCells.of(*domain.bounds, domain.groups, n_bins=4)
    >>> cells.sizes
    (5, 3)
    >>> cells.apply(domain.encode({"age": [30, None], "job": [None, "smith"]}))
    array([[1, 2],
           [4, 1]], dtype=int32)
    """

    lower: FloatArray
    upper: FloatArray
    groups: tuple[ColumnGroup, ...]
    n_bins: int

    @classmethod
    def of(cls, lower: ArrayLike, upper: ArrayLike, groups: Sequence[ColumnGroup], n_bins: int) -> Self:
        """Return the cells of a box; ValueError for an invalid box, or groups that are not its columns."""
        if type(n_bins) is not int or not 2 <= n_bins <= MOST_BINS:
            raise ValueError(f"n_bins must be a whole number from 2 to {MOST_BINS}")
        low, high = check_box(lower, upper)
        at = 0
        for group in groups:
            stop = at + max(group.n_levels, 1)
            if (group.start, group.stop) != (at, stop) or group.indicator not in (None, stop):
                raise ValueError("the groups must name every column once, in order")
            if not (np.isfinite(group.values).all() and (np.diff(group.values) > 0).all()):
                raise ValueError("the values of a group must be finite and ascending")
            at = group.end
        if at != len(low):
            raise ValueError("the groups must name every column once, in order")
        return cls(low, high, tuple(groups), n_bins)

    @property
    def n_features(self) -> int:
        """Number of encoded columns."""
        return len(self.lower)

    @property
    def n_columns(self) -> int:
        """Number of declared columns."""
        return len(self.groups)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Number of cells of every declared column."""
        return tuple(
            min(group.n_levels, MOST_LEVEL_CELLS) + 1
            if group.n_levels
            else self.bins_in_order(column) + (group.indicator is not None)
            for column, group in enumerate(self.groups)
        )

    @property
    def n_leaves(self) -> int:
        """Number of possible cells of a value: the largest number of a column."""
        return max(self.sizes)

    def bins_in_order(self, column: int) -> int:
        """Return the number of first cells of a column in the order of its numbers."""
        group = self.groups[column]
        if group.n_levels:
            return 0
        return len(group.values) if 2 <= len(group.values) <= self.n_bins else self.n_bins

    @cached_property
    def _thresholds(self) -> tuple[FloatArray, ...]:
        """Thresholds between the cells of every column's numbers; none for levels."""
        bins = ColumnBins.of(self.lower, self.upper, self.n_bins).thresholds
        found = []
        for column, group in enumerate(self.groups):
            values = np.array(group.values)
            by_value = len(values) == self.bins_in_order(column)
            found.append((values[:-1] + values[1:]) / 2 if by_value else bins[group.start])
        return tuple(found)

    def apply(self, X: ArrayLike) -> NDArray[np.int32]:
        """Return the cell of every row in every declared column.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Encoded rows.

        Returns
        -------
        cells : ndarray of int32 of shape (n, n_columns)
        """
        rows = as_rows(X, self.n_features)
        cells = np.empty((len(rows), self.n_columns), dtype=np.int32)
        for column, group in enumerate(self.groups):
            if group.n_levels:
                cells[:, column] = self._cell_of_level(column)[
                    find_levels(rows, group.start, group.n_levels, group.indicator)
                ]
                continue
            thresholds = self._thresholds[column]
            cells[:, column] = np.searchsorted(thresholds, rows[:, group.start], side="right")
            if group.indicator is not None:
                cells[rows[:, group.indicator] > 0.5, column] = len(thresholds) + 1
        return cells

    def _cell_of_level(self, column: int) -> NDArray[np.int32]:
        """Return the cell of every level, with that of missing last."""
        n_levels, n_cells = self.groups[column].n_levels, self.sizes[column] - 1
        shared = np.arange(n_levels) * n_cells // n_levels
        return np.append(shared, n_cells).astype(np.int32)

    def rows_within(self, cells: IntArray, places: FloatArray) -> FloatArray:
        """Return encoded rows in these cells.

        Parameters
        ----------
        cells : ndarray of int of shape (n, n_columns)
        places : ndarray of shape (n, n_columns)
            Position of a value in its cell, from 0 to below 1: of a number in its bin, or of a level among
            those of its cell.

        Returns
        -------
        X : ndarray of shape (n, n_features)
            A missing number is in the middle of its bounds.
        """
        rows = np.zeros((len(cells), self.n_features))
        for column, group in enumerate(self.groups):
            own, place = cells[:, column], places[:, column]
            missing = own == self.sizes[column] - 1
            if group.n_levels:
                shared = self._cell_of_level(column)
                first, size = np.searchsorted(shared, own), np.bincount(shared)[own]
                level = first + (place * size).astype(np.int64)
                known = np.flatnonzero(~missing)
                rows[known, group.start + level[known]] = 1.0
            else:
                missing &= group.indicator is not None
                rows[:, group.start] = self._numbers(column, np.where(missing, 0, own), place)
                middle = self.lower[group.start] / 2 + self.upper[group.start] / 2
                rows[missing, group.start] = middle
            if group.indicator is not None:
                rows[missing, group.indicator] = 1.0
        return rows

    def _numbers(self, column: int, own: IntArray, places: FloatArray) -> FloatArray:
        """Return numbers in these cells of a column."""
        group, n_cells = self.groups[column], self.bins_in_order(column)
        if len(group.values) == n_cells:
            return np.array(group.values)[own]
        share = (own + places) / n_cells
        return self.lower[group.start] * (1 - share) + self.upper[group.start] * share

    def __getstate__(self) -> dict[str, Any]:
        # Plain values, so that readers of pickles need not trust another class.
        return self.to_dict()

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(TableCells.from_dict(state).__dict__)

    def to_dict(self) -> dict[str, Any]:
        """Return JSON values for `from_dict`."""
        groups = [
            {
                "name": group.name,
                "n_levels": group.n_levels,
                "indicator": group.indicator is not None,
                "fill": group.fill,
                "absent": group.absent,
                "values": list(group.values),
            }
            for group in self.groups
        ]
        box = {"lower": self.lower.tolist(), "upper": self.upper.tolist()}
        return {**box, "groups": groups, "n_bins": self.n_bins}

    @classmethod
    def from_dict(cls, state: Any) -> Self:
        """Restore cells from `to_dict`; ValueError for anything else."""
        fields = Fields(state, ("lower", "upper", "groups", "n_bins"), what="the cells of the columns")
        lower, upper = fields.numbers("lower"), fields.numbers("upper")
        groups: list[ColumnGroup] = []
        for content in fields.items("groups"):
            groups.append(_group_from_dict(content, groups[-1].end if groups else 0))
        return cls.of(lower, upper, groups, fields.integer("n_bins", 2, MOST_BINS))


def _group_from_dict(content: Any, start: int) -> ColumnGroup:
    names = ("name", "n_levels", "indicator", "fill", "absent", "values")
    fields = Fields(content, names, what="a column")
    n_levels = fields.integer("n_levels", 0, _MOST)
    stop = start + max(n_levels, 1)
    return ColumnGroup(
        fields.text("name"),
        start,
        stop,
        n_levels,
        indicator=stop if fields.flag("indicator") else None,
        fill=fields.maybe(fields.number, "fill"),
        absent=fields.flag("absent"),
        values=tuple(fields.numbers("values")),
    )


def find_levels(X: FloatArray, start: int, n_levels: int, indicator: int | None) -> NDArray[np.intp]:
    """Return the position of every row's level; ``n_levels`` if it has none, or the cell is missing."""
    own = X[:, start : start + n_levels] > 0.5
    level = np.where(own.any(axis=1), own.argmax(axis=1), n_levels)
    if indicator is not None:
        level[X[:, indicator] > 0.5] = n_levels
    return level
