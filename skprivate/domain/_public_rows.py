# SPDX-License-Identifier: BSD-3-Clause
"""Declarations of columns from rows that are public."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..utils import check_int
from ._columns import BooleanColumn, CategoricalColumn, Column, DateColumn, NumberColumn, column_of
from ._declaration_checks import Marker
from ._raw_columns import CodedColumn, ColumnTypeError, RawTable, as_list, cells_of
from ._readers import Reading, classify, reader_of
from ._values import DAY, text_of_instant

# Bounds that hold what is not declared yet; days count from 1970, so that their fractions are exact.
_LARGEST = 1e300
_DATES = ("1970-01-01", "9999-12-31")


def columns_of_public_rows(
    raw: RawTable, columns: dict[str, Any], markers: Sequence[Marker], max_levels: int, rounded: bool
) -> dict[str, Column]:
    """Return a declaration for each column of public rows.

    Parameters
    ----------
    raw : RawTable
    columns : dict
        Declarations that stand as they are.
    markers : sequence of str, int or float
        Values that stand for a missing one.
    max_levels : int
    rounded : bool
        Whether bounds are rounded outwards.

    Returns
    -------
    columns : dict

    Raises
    ------
    ValueError
        A column of which nothing can be said, or a declaration of a column that the table does not have.
    """
    check_int(max_levels, "max_levels", least=1)
    names = raw.names if raw.names is not None else tuple(f"x{place}" for place in range(len(raw.columns)))
    if not set(columns) <= set(names):
        raise ValueError("columns declares a column that the table does not have.")
    found = {}
    for name, values in zip(names, raw.columns, strict=True):
        try:
            found[name] = (
                column_of(columns[name])
                if name in columns
                else _column_of(cells_of(values), markers, max_levels, rounded)
            )
        except (TypeError, ValueError) as error:
            raise ValueError(f"column {name!r}: {error}") from None
    return found


def _column_of(cells: Any, markers: Sequence[Marker], max_levels: int, rounded: bool) -> Column:
    if isinstance(cells, CodedColumn) and cells.declared:
        return _categories(cells, markers, max_levels)
    values = as_list(cells)
    numbers = _reading(NumberColumn(-_LARGEST, _LARGEST, missing_values=markers), cells)
    if numbers is not None and all(isinstance(value, bool | np.bool_) for value in _present(values)):
        return _with_rule(BooleanColumn(), numbers)
    if numbers is not None:
        return _with_rule(NumberColumn(*_number_bounds(numbers, rounded)), numbers)
    dates = _reading(DateColumn(*_DATES, missing_values=markers), cells)
    if dates is not None:
        return _with_rule(DateColumn(*_date_bounds(dates, rounded)), dates)
    return _levels(values, markers, max_levels)


def _reading(column: Column, cells: Any) -> Reading | None:
    """Return what a column reads, None where it is not the column for these cells."""
    try:
        reading = reader_of(column).read(cells)
    except ColumnTypeError:
        return None
    if np.isnan(reading.values).all() and not reading.unusable.any():
        raise ValueError("it holds no value; declare it in columns.")
    return None if reading.unusable.any() else reading


def _with_rule(column: Column, reading: Reading) -> Column:
    """Return the column, with the rule of declared missing values where there are missing cells."""
    missing = np.isnan(reading.values).any()
    return replace(column, missing=column.usual_rule) if missing else column


def _present(values: list[Any]) -> list[Any]:
    return [value for value in values if classify(value) != ("text", "")]


def _number_bounds(reading: Reading, rounded: bool) -> tuple[float, float]:
    lower, upper = float(np.nanmin(reading.values)), float(np.nanmax(reading.values))
    if lower >= upper:
        raise ValueError("it has the same value in all rows; declare its bounds in columns.")
    if not rounded or not math.isfinite(upper - lower):
        return lower, upper
    step = 10.0 ** math.floor(math.log10(upper - lower))
    low, high = math.floor(lower / step) * step, math.ceil(upper / step) * step
    return min(low, lower), max(high, upper)


def _date_bounds(reading: Reading, rounded: bool) -> tuple[str, str]:
    first, last = (
        text_of_instant(int(np.rint(days * DAY)))
        for days in (np.nanmin(reading.values), np.nanmax(reading.values))
    )
    if rounded:
        return f"{first[:4]}-01-01", f"{last[:4]}-12-31"
    if first == last:
        raise ValueError("it has the same value in all rows; declare its bounds in columns.")
    return first, last


def _categories(cells: CodedColumn, markers: Sequence[Marker], max_levels: int) -> Column:
    # Text of any kind of category: a level is compared with markers as text is.
    marked = {str(marker).strip() for marker in markers}
    levels = [level for level in _present(as_list(cells.categories)) if str(level).strip() not in marked]
    _check_number(levels, max_levels)
    missing = bool((cells.codes < 0).any()) or len(levels) < len(as_list(cells.categories))
    return CategoricalColumn(levels, ordered=cells.ordered, missing="indicator" if missing else None)


def _levels(values: list[Any], markers: Sequence[Marker], max_levels: int) -> Column:
    kinds = [classify(value) for value in values]
    if any(kind != "text" for kind, _ in kinds):
        raise ValueError("its cells are neither all numbers, nor dates, nor text; declare it in columns.")
    marked = {"", *(str(marker).strip() for marker in markers)}
    texts = {text.strip() for _, text in kinds}
    levels = sorted(texts - marked)
    _check_number(levels, max_levels)
    yes_or_no = {level.casefold() for level in levels} <= {"true", "false", "yes", "no"}
    missing = bool(texts & marked)
    if yes_or_no:
        return BooleanColumn(missing="indicator" if missing else None)
    return CategoricalColumn(levels, missing="indicator" if missing else None)


def _check_number(levels: list[Any], max_levels: int) -> None:
    if len(levels) > max_levels:
        raise ValueError("it has more than max_levels different values; declare it in columns.")
