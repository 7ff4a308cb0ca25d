# SPDX-License-Identifier: BSD-3-Clause
"""Which encoded columns belong to which declared column."""

from collections.abc import Mapping
from dataclasses import dataclass

from ._columns import BooleanColumn, CategoricalColumn, Column


@dataclass(frozen=True)
class ColumnGroup:
    """The encoded columns of one declared column.

    Attributes
    ----------
    name : str
        Name of the declared column.
    start, stop : int
        Its encoded columns, without the indicator: one, or one a level where the levels have no order.
    n_levels : int
        Number of levels without an order; 0 for numbers, dates, booleans and ordered levels.
    indicator : int or None
        The encoded column that is 1 where the cell is missing; None where there is none.
    fill : float or None
        The encoded value that a missing cell becomes by the declaration; None where that says nothing.
    absent : bool
        Whether a row with a missing cell is 0 in all columns of levels.
    values : tuple of float
        All values of the encoded column, ascending, where it is a boolean or has ordered levels; else empty.
    """

    name: str
    start: int
    stop: int
    n_levels: int = 0
    indicator: int | None = None
    fill: float | None = None
    absent: bool = False
    values: tuple[float, ...] = ()

    @property
    def end(self) -> int:
        """The first encoded column behind this declared column."""
        return self.stop + (self.indicator is not None)


def groups_of(columns: Mapping[str, Column]) -> tuple[ColumnGroup, ...]:
    """Return the groups of declared columns, in order."""
    groups: list[ColumnGroup] = []
    for name, column in columns.items():
        start = groups[-1].end if groups else 0
        width = len(column.suffixes())
        unordered = isinstance(column, CategoricalColumn) and not column.ordered
        groups.append(
            ColumnGroup(
                name,
                start,
                start + width,
                n_levels=width if unordered else 0,
                indicator=start + width if column.missing == "indicator" else None,
                fill=None if column.fill is None else column.fill_value(),
                absent=unordered and column.missing == "fill" and column.fill is None,
                values=_values_of(column),
            )
        )
    return tuple(groups)


def _values_of(column: Column) -> tuple[float, ...]:
    """Return all encoded values of booleans and ordered levels."""
    ordered = isinstance(column, CategoricalColumn) and column.ordered
    if not (ordered or isinstance(column, BooleanColumn)):
        return ()
    values = {float(value) for value in range(int(column.encoded_bounds()[1]) + 1)}
    fill = column.fill_value()
    return tuple(sorted(values | ({fill} if column.missing == "fill" and fill is not None else set())))
