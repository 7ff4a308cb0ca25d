# SPDX-License-Identifier: BSD-3-Clause
"""Declarations of columns from public rows."""

import math
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..utils import check_int
from ..utils._private_fit import warn_user
from ._columns import BooleanColumn, CategoricalColumn, Column, DateColumn, NumberColumn, column_of
from ._readers import Reading, classify, reader_of
from ._table_columns import CodedColumn, ColumnTypeError, RawTable, as_list, cells_of
from ._text_values import DAY, Marker, NumberStyle, instant_of_text, text_of_instant

# Preliminary bounds of undeclared columns; days count from 1970, so that their fractions are exact.
_LARGEST = 1e300
_DATES = ("1970-01-01", "9999-12-31")
# Usual pairs of the sign before decimals and that between thousands, from Unicode's CLDR.
_SIGNS = ((".", None), (",", "."), (".", ","), (",", " "), (".", " "), (".", "'"))
# Usual orders of day, month and year, with each of the signs between them, from the same source.
_ORDERS = ("%Y{0}%m{0}%d", "%d{0}%m{0}%Y", "%m{0}%d{0}%Y", "%d{0}%m{0}%y", "%m{0}%d{0}%y")
_FORMATS = [
    order.format(sign) + time for order in _ORDERS for sign in "/-." for time in ("", " %H:%M", " %H:%M:%S")
]
_STYLES = [NumberStyle(decimal, thousands, unit) for unit in (None, "%") for decimal, thousands in _SIGNS]
_SHOWN = 3


def columns_of_public_rows(
    raw: RawTable, columns: dict[str, Any], markers: Sequence[Marker], max_levels: int, rounded: bool
) -> dict[str, Column]:
    """Return a declaration for each column of public rows.

    Parameters
    ----------
    raw : RawTable
    columns : dict
        Declarations that are used as they are.
    markers : sequence of str, int or float
        Values that mean a missing one.
    max_levels : int
    rounded : bool
        Whether bounds are rounded outwards.

    Returns
    -------
    columns : dict

    Raises
    ------
    ValueError
        A column cannot be declared from its cells, or a declaration names a column that the table does not
        have.
    """
    check_int(max_levels, "max_levels", least=1)
    names = raw.names if raw.names is not None else tuple(f"x{place}" for place in range(len(raw.columns)))
    if not set(columns) <= set(names):
        raise ValueError("columns declares a column that the table does not have.")
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the table has more than one column {twice!r}: rename them, or leave one out.")
    found = {}
    for name, values in zip(names, raw.columns, strict=True):
        try:
            found[name] = (
                column_of(columns[name])
                if name in columns
                else _column_of(str(name), cells_of(values), markers, max_levels, rounded)
            )
        except (TypeError, ValueError) as error:
            raise ValueError(f"column {name!r}: {error}") from None
    return found


def _column_of(name: str, cells: Any, markers: Sequence[Marker], max_levels: int, rounded: bool) -> Column:
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
    kinds = [classify(value) for value in values]
    if any(kind != "text" for kind, _ in kinds):
        raise ValueError("its cells are neither all numbers, nor dates, nor text; declare it in columns.")
    texts = {text.strip() for _, text in kinds}
    marked = {"", *(str(marker).strip() for marker in markers)}
    written, doubt = find_format(texts - marked)
    if not written:
        column = _levels(texts, marked, max_levels, doubt)
        if doubt and isinstance(column, CategoricalColumn):
            warn_user(f"column {name!r} was read as {len(column.levels)} levels: {doubt}", UserWarning)
        return column
    if "format" in written:
        dates = reader_of(DateColumn(*_DATES, missing_values=markers, **written)).read(cells)
        return _with_rule(DateColumn(*_date_bounds(dates, rounded), **written), dates)
    numbers = reader_of(NumberColumn(-_LARGEST, _LARGEST, missing_values=markers, **written)).read(cells)
    return _with_rule(NumberColumn(*_number_bounds(numbers, rounded), **written), numbers)


def _reading(column: Column, cells: Any) -> Reading | None:
    """Return the reading of a column; None if it does not fit these cells."""
    try:
        reading = reader_of(column).read(cells)
    except ColumnTypeError:
        return None
    infinite = np.isinf(reading.values)
    if infinite.any() and not (reading.unusable & ~infinite).any():
        raise ValueError("it holds infinity, so it has no bounds; declare it in columns.")
    if np.isnan(reading.values).all() and not reading.unusable.any():
        raise ValueError("it holds no value; declare it in columns.")
    return None if reading.unusable.any() else reading


def _with_rule(column: Column, reading: Reading) -> Column:
    """Return the column, with the rule of declared missing values if there are missing cells."""
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
    # Categories of any type as text: levels are compared with markers as text.
    marked = {str(marker).strip() for marker in markers}
    levels = [level for level in _present(as_list(cells.categories)) if str(level).strip() not in marked]
    _check_number(levels, max_levels)
    missing = bool((cells.codes < 0).any()) or len(levels) < len(as_list(cells.categories))
    return CategoricalColumn(levels, ordered=cells.ordered, missing="indicator" if missing else None)


def _levels(texts: set[str], marked: set[str], max_levels: int, doubt: str) -> Column:
    levels = sorted(texts - marked)
    _check_number(levels, max_levels, doubt)
    yes_or_no = {level.casefold() for level in levels} <= {"true", "false", "yes", "no"}
    missing = bool(texts & marked)
    if yes_or_no:
        return BooleanColumn(missing="indicator" if missing else None)
    return CategoricalColumn(levels, missing="indicator" if missing else None)


def _check_number(levels: list[Any], max_levels: int, doubt: str = "") -> None:
    if len(levels) > max_levels:
        raise ValueError(f"it has more than max_levels different values; {doubt or 'declare it in columns.'}")


def find_format(texts: Collection[str]) -> tuple[dict[str, Any], str]:
    """Return the format of numbers or dates for a declaration, and a doubt.

    Parameters
    ----------
    texts : collection of str
        Different texts of a public column, none of which means a missing value.

    Returns
    -------
    written : dict
        Parameters of `NumberColumn` or `DateColumn`. Empty if the texts are neither, or fit more than one
        format.
    doubt : str
        A sentence for the owner if text looks like numbers or dates; otherwise empty.

    Examples
    --------
    >>> from skprivate.domain._public_rows import find_format
    >>> find_format(["17-08-1984", "01-09-1984"])
    ({'format': '%d-%m-%Y'}, '')
    >>> find_format(["0,5", "12,25"])
    ({'decimal': ',', 'thousands': '.'}, '')
    """
    if not texts:
        return {}, ""
    formats = [form for form in _FORMATS if all(instant_of_text(text, form) is not None for text in texts)]
    if len(formats) == 1:
        return {"format": formats[0]}, ""
    if formats:
        return {}, _ambiguous("DateColumn(..., format=...)", "dates", formats)
    styles: dict[tuple[float | None, ...], NumberStyle] = {}
    for style in _STYLES:
        numbers = [style.read(text) for text in texts]
        if None not in numbers:
            styles.setdefault(tuple(numbers), style)
    found = [_written(style) for style in styles.values()]
    if len(found) == 1:
        return found[0], ""
    if found:
        return {}, _ambiguous("NumberColumn(..., decimal=..., thousands=...)", "numbers", found)
    return {}, _mixed(texts)


def _written(style: NumberStyle) -> dict[str, Any]:
    usual = vars(NumberStyle())
    return {name: sign for name, sign in vars(style).items() if sign != usual[name]}


def _ambiguous(declaration: str, what: str, found: list[Any]) -> str:
    return (
        f"its texts are {what} by {' and by '.join(map(repr, found[:_SHOWN]))}. Declare which: "
        f"{declaration} in columns."
    )


def _mixed(texts: Collection[str]) -> str:
    """Return a sentence if most texts are numbers or dates, and the others may mean missing values."""
    others = [text for text in texts if not any(map(str.isdigit, text))]
    rest = [text for text in texts if any(map(str.isdigit, text))]
    if len(rest) <= len(others) or not others:
        return ""
    written, doubt = find_format(rest)
    plain = all(NumberStyle().read(text) is not None for text in rest)
    if not (written or doubt or plain or all(instant_of_text(text) is not None for text in rest)):
        return ""
    return (
        f"most of its texts read as numbers or dates, but others do not: {sorted(others)[:_SHOWN]}. If these "
        "mean missing values, list them in missing_values; otherwise declare the levels in columns."
    )
