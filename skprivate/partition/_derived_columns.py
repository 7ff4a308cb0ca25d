# SPDX-License-Identifier: BSD-3-Clause
"""Derived columns from public rows: places of levels by their labels, and sides of missing numbers."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._typing import FloatArray
from ..domain._table_domain import ColumnGroup
from ._partition import DerivedColumn, DerivedColumns, FilledColumn, LevelsColumn, ValueColumn, check_box

# Largest number of derived columns of one column of levels. The shares of all labels but one determine the
# last, and the first three principal components hold most of the differences between levels. Set by hand.
_MOST_COMPONENTS = 3
# A component with less variance than this share of the first one's is a rounding error.
_ROUNDING = 1e-9
# Places are rounded to this many decimals, so that levels with equal shares have the same place in spite of
# rounding errors.
_DECIMALS = 12


@dataclass(frozen=True, eq=False)
class DerivedBox:
    """Derived columns and the public box of their values.

    Attributes
    ----------
    columns : DerivedColumns
    lower, upper : ndarray of shape (n_columns,)
    places : tuple of ndarray or None
        All different values of a derived column, ascending, if there are finitely many; otherwise None.
    indicators : dict of (int, float)
        The columns that are indicators: for each, the column that it marks, and the value of that column
        where it is 1.
    """

    columns: DerivedColumns
    lower: FloatArray
    upper: FloatArray
    places: tuple[FloatArray | None, ...]
    indicators: dict[int, tuple[int, float]]

    @classmethod
    def of(
        cls,
        groups: Sequence[ColumnGroup],
        columns: Sequence[DerivedColumn],
        lower: ArrayLike,
        upper: ArrayLike,
    ) -> DerivedBox:
        """Return the box of derived columns, given that of the encoded columns of these groups."""
        low, high = check_box(lower, upper)
        ends = [_ends(column, low, high) for column in columns]
        # An indicator follows the column that it marks.
        indicators = {
            number: (number - 1, value.place)
            for number, (value, column) in enumerate(itertools.pairwise(columns), 1)
            if isinstance(value, FilledColumn) and isinstance(column, ValueColumn)
            if value.indicator == column.column
        }
        return cls(
            DerivedColumns(len(low), tuple(columns)),
            np.array([end[0] for end in ends]),
            np.array([end[1] for end in ends]),
            tuple(_values(column, groups[column.source]) for column in columns),
            indicators,
        )


def _ends(column: DerivedColumn, low: FloatArray, high: FloatArray) -> tuple[float, float]:
    if isinstance(column, LevelsColumn):
        return min(*column.places, column.absent), max(*column.places, column.absent)
    if isinstance(column, FilledColumn):
        return min(column.lower, column.place), max(column.upper, column.place)
    return float(low[column.column]), float(high[column.column])


def _values(column: DerivedColumn, group: ColumnGroup) -> FloatArray | None:
    """Return all values of a derived column; None for a continuum."""
    if isinstance(column, LevelsColumn):
        return np.unique([*column.places, *[column.absent] * group.absent])
    if isinstance(column, ValueColumn) and column.column == group.indicator:
        return np.array([0.0, 1.0])
    if not group.values:
        return None
    place = [column.place] if isinstance(column, FilledColumn) else []
    return np.unique([*group.values, *place])


def derive_columns(
    groups: Sequence[ColumnGroup],
    X: FloatArray,
    labels: NDArray[np.int32],
    lower: ArrayLike,
    upper: ArrayLike,
    *,
    n_labels: int,
    two_sides: bool,
    copies: int = 1,
) -> DerivedBox:
    """Return the columns that a tree compares, derived by public rows.

    A column of levels without an order becomes the places of its levels. With two labels the place is the
    share of the second label at a level, shrunk towards that of all rows. With more labels places are the
    leading principal components of the shrunk shares. A level without rows has the share of all rows. Without
    any rows, places are equally spaced in declared order, and the missing one is last.

    Parameters
    ----------
    groups : sequence of ColumnGroup
        From `TableDomain.groups`.
    X : ndarray of shape (n, n_features)
        Public rows, encoded; there may be none.
    labels : ndarray of int32 of shape (n,)
    lower, upper : array-like of shape (n_features,)
        The public box of encoded columns.
    n_labels : int
    two_sides : bool
        Whether a number that may be missing becomes two columns, with missing cells below and above all
        values, so that each cut may choose their side. Otherwise, and if it is not missing in any public row,
        a missing cell has the declared value, or the median of the public values. The indicator is then a
        separate column.
    copies : int, default=1
        Number of copies of a row, of which `labels` have the second label of two.

    Returns
    -------
    box : DerivedBox
    """
    low, high = check_box(lower, upper)
    if not groups or groups[-1].end != len(low):
        raise ValueError("groups must be those of the columns of the box")
    columns: list[DerivedColumn] = []
    for source, group in enumerate(groups):
        if group.n_levels:
            columns += levels_columns(group, source, level_counts(group, X, labels, n_labels, copies))
        elif group.indicator is None:
            columns.append(ValueColumn(source, group.start))
        else:
            ends = float(low[group.start]), float(high[group.start])
            columns += _number_columns(group, source, X, *ends, two_sides)
    return DerivedBox.of(groups, columns, low, high)


def level_counts(
    group: ColumnGroup, X: FloatArray, labels: NDArray[np.int32], n_labels: int, copies: int
) -> FloatArray:
    """Return the rows by level, missing and absent, and by label, of shape (n_levels + 2, n_labels)."""
    n_places = group.n_levels + (group.indicator is not None)
    codes = LevelsColumn(
        0, group.start, tuple(np.arange(float(n_places))), group.n_levels + 1.0, group.indicator
    )
    level = DerivedColumns(X.shape[1], (codes,)).apply(X)[:, 0].astype(np.int64)
    if copies > 1:
        rows, ones = (np.bincount(level, weights, group.n_levels + 2) for weights in (None, labels))
        return np.column_stack([copies * rows - ones, ones]) / copies
    counts = np.bincount(level * n_labels + labels, minlength=(group.n_levels + 2) * n_labels)
    return counts.reshape(group.n_levels + 2, n_labels) / 1.0


def levels_columns(group: ColumnGroup, source: int, counts: ArrayLike) -> list[LevelsColumn]:
    """Return the derived columns of levels without an order, by counts of rows at each of them.

    Parameters
    ----------
    group : ColumnGroup
    source : int
        Number of the declared column.
    counts : array-like of shape (n_levels + 2, n_labels)
        Numbers of rows by level, missing and absent, and by label: 0 or more, and not necessarily whole. If
        all are 0, levels are in their declared order.

    Returns
    -------
    columns : list of LevelsColumn
        One, or with more than two labels up to three.
    """
    table = np.asarray(counts, dtype=np.float64)
    n_places = group.n_levels + (group.indicator is not None)
    if not table.any():
        order = tuple(map(float, range(n_places)))
        # If a row without a level is not a missing cell, no such row is expected.
        absent = float(n_places) if group.absent else (n_places - 1) / 2
        return [LevelsColumn(source, group.start, order, absent, group.indicator)]
    found = []
    for places in _places(table):
        absent = float(places[-1])
        found.append(
            LevelsColumn(source, group.start, tuple(places[:n_places].tolist()), absent, group.indicator)
        )
    return found


def _places(counts: FloatArray) -> list[FloatArray]:
    """Return the places of every level, of shape (n_levels + 2,), in each of the derived columns."""
    rows = counts.sum(axis=1, keepdims=True)
    base = counts.sum(axis=0) / counts.sum()
    # Sums over levels must not depend on the order of the levels.
    pseudo_rows = _pseudo_rows(counts[np.lexsort(counts.T)])
    above = (counts - rows * base) / (rows + pseudo_rows)
    if len(base) == 2:
        return [np.round(base[1] + above[:, 1], _DECIMALS)]
    weighted = (np.sqrt(rows) * above)[np.lexsort(counts.T)]
    variances, directions = np.linalg.eigh(weighted.T @ weighted)
    kept = [
        number
        for number in np.argsort(-variances, kind="stable")[: min(len(base) - 1, _MOST_COMPONENTS)]
        if variances[number] > _ROUNDING * variances[-1]
    ]
    if not kept:
        return [np.zeros(len(counts))]
    axes = directions[:, kept]
    # The sign of a component is arbitrary: its largest part is made positive.
    axes = axes * np.sign(axes[np.argmax(np.abs(axes), axis=0), np.arange(len(kept))])
    return list(np.round(above @ axes, _DECIMALS).T)


def _pseudo_rows(counts: FloatArray) -> float:
    """Return the number of rows of the base rate that are added to a level, from 1 to the number of rows.

    This is the variance of a row's label within levels, over that of the levels' true shares. With this
    number the shrunk share is the best linear estimate of a level's share. Both variances are the unbiased
    estimates of a one-way analysis of variance, summed over the labels. The smallest number is one, because a
    level with one row does not show that all of its rows are equal.
    """
    counts = counts[counts.any(axis=1)]
    rows, total = counts.sum(axis=1), counts.sum()
    shares, base = counts / rows[:, np.newaxis], counts.sum(axis=0) / total
    within = float(rows @ (1 - np.sum(shares**2, axis=1))) / max(total - len(rows), 1.0)
    between = float(rows @ np.sum((shares - base) ** 2, axis=1)) - (len(rows) - 1) * within
    spread = between / max(total - float(rows @ rows) / total, 1.0)
    return float(np.clip(within / max(spread, 1e-300), 1.0, max(total, 1.0)))


def _number_columns(
    group: ColumnGroup, source: int, X: FloatArray, lower: float, upper: float, two_sides: bool
) -> list[DerivedColumn]:
    """Return the derived columns of a number that may be missing."""
    assert group.indicator is not None
    missing = X[:, group.indicator] > 0.5
    filled = FilledColumn(source, group.start, group.indicator, 0.0, lower, upper)
    below, above = missing_sides(lower, upper)
    if two_sides and missing.any() and np.isfinite([below, above]).all():
        return [replace(filled, place=below), replace(filled, place=above)]
    present = np.sort(X[~missing, group.start])
    if group.fill is not None:
        typical = group.fill
    elif len(present):
        # The lower median is a value of the column for every kind of column.
        typical = float(np.clip(present[(len(present) - 1) // 2], lower, upper))
    else:
        typical = lower / 2 + upper / 2
    column = replace(filled, place=typical)
    # An indicator that is 0 in all public rows is useless for a rule that compares their labels.
    shown = missing.any() or not two_sides
    return [column, *[ValueColumn(source, group.indicator)] * bool(shown)]


def missing_sides(lower: float, upper: float) -> tuple[float, float]:
    """Return places below and above all values, so far that midpoints with values are also beyond values."""
    with np.errstate(over="ignore"):
        width = np.float64(upper) - lower
        return float(lower - 2 * width), float(upper + 2 * width)


def settle_missing(
    feature: NDArray[np.int32], threshold: FloatArray, values: FloatArray, derived: DerivedColumns
) -> NDArray[np.int32]:
    """Return the split columns of all nodes, with missing cells that no row shows on the heavier side.

    If the number that a node compares is not missing in any of its public rows, their labels do not determine
    the side of missing cells. Of the two columns of that number, the one that sends them to the side with
    more rows is used.

    Parameters
    ----------
    feature : ndarray of int32 of shape (n_nodes,)
        Derived column that every node compares, level by level; -1 at leaves.
    threshold : ndarray of shape (n_inner_nodes,)
    values : ndarray of shape (n, n_columns)
        Derived columns of the public rows.
    derived : DerivedColumns
    """
    settled, n_nodes = feature.copy(), len(feature)
    twin = np.arange(len(derived.columns))
    missing = np.zeros(values.shape, dtype=bool)
    for number, (below, above) in enumerate(itertools.pairwise(derived.columns)):
        if not (isinstance(below, FilledColumn) and isinstance(above, FilledColumn)):
            continue
        if below.source == above.source:
            twin[number], twin[number + 1] = number + 1, number
            missing[:, number] = missing[:, number + 1] = values[:, number] == below.place
    inner = feature >= 0
    cut, child = np.full(n_nodes, np.inf), np.zeros(n_nodes, dtype=np.int64)
    cut[inner], child[inner] = threshold, 2 * np.arange(np.count_nonzero(inner)) + 1
    row, node = np.arange(len(values)), np.zeros(len(values), dtype=np.int64)
    while len(row):
        own = feature[node]
        right = values[row, own] >= cut[node]
        lacking = np.bincount(node, missing[row, own], n_nodes)
        to_right, rows = np.bincount(node, right, n_nodes), np.bincount(node, minlength=n_nodes)
        heavier_right = 2 * to_right > rows
        here = np.flatnonzero((rows > 0) & (lacking == 0) & inner)
        column = feature[here]
        # In the first of the two columns missing cells are below all values, in the second above.
        wrong = (twin[column] != column) & ((twin[column] < column) != heavier_right[here])
        settled[here[wrong]] = twin[column[wrong]]
        node = child[node] + right
        row, node = row[inner[node]], node[inner[node]]
    return settled
