# SPDX-License-Identifier: BSD-3-Clause
"""Cells of a declared column as numbers: NaN for a missing cell, and a mark for an invalid one.

Every cell is read separately: text by a table of texts that were read before, numbers and dates by functions
of single values. The values of a row therefore depend on that row alone.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np

from .._typing import BoolArray, FloatArray, IntArray
from ..utils._tables import is_temporal
from ._columns import BooleanColumn, CategoricalColumn, Column, DateColumn, NumberColumn, StressColumn
from ._table_columns import CodedColumn, ColumnTypeError
from ._text_values import (
    DAY,
    NumberStyle,
    boolean_of_text,
    instant_of_date,
    instant_of_text,
    instants_of_array,
    number_of_text,
    text_of_level,
    text_of_number,
)

_NUMBERS = {int, float, bool, type(None), np.float64, np.float32, np.int64, np.bool_}
_ABSENT_TYPES = ("NAType", "NaTType")
# Number of levels, and of characters of each, in a message.
_SHOWN, _WIDTH = 3, 30

_UNUSABLE = {
    "number": "no finite number",
    "stress": "no finite number for which its law is defined",
    "date": "no date (text is ISO 8601, or in the format of DateColumn)",
    "boolean": "neither true nor false",
}
_FORMAT_OF_NUMBERS = (
    "the format of numbers (NumberColumn(decimal=, thousands=, unit=)); other texts are declared as a list "
    "of levels"
)
_HINTS = {
    "number": _FORMAT_OF_NUMBERS,
    "stress": _FORMAT_OF_NUMBERS,
    "date": "the format of dates (DateColumn(format=))",
    "boolean": "how true and false are written; other texts are declared as a list of levels",
}


@dataclass(frozen=True)
class Reading:
    """The values of the cells of one column.

    Parameters
    ----------
    values : ndarray of float64 of shape (n,)
        Numbers, positions of levels, 0 and 1, or days since the lower bound; NaN for a missing or invalid
        cell.
    unusable : ndarray of bool of shape (n,)
        Whether a cell is neither missing nor a finite value of the column. Infinities stay in `values`.
    """

    values: FloatArray
    unusable: BoolArray


class Reader:
    """Reads the cells of one column.

    Parameters
    ----------
    column : Column
    """

    def __init__(self, column: Column) -> None:
        self._texts = {text_of_level(marker) for marker in column.missing_values}
        # A marker means a missing cell in any form: as a number, and as any text of it.
        self._marked_numbers = _array(map(number_of_text, self._texts))
        self._marked_values = _array(map(self._value_of_text, self._texts))

    def read(self, cells: Any) -> Reading:
        """Read a column.

        Parameters
        ----------
        cells : ndarray of shape (n,), list or CodedColumn
            From `cells_of`.

        Returns
        -------
        reading : Reading

        Raises
        ------
        ColumnTypeError
            The type of an array is one of complex numbers, durations or records. Or it is one of dates or
            numbers, and the column cannot have such values.
        """
        if isinstance(cells, CodedColumn):
            return self._read_codes(cells)
        if isinstance(cells, list):
            return self._read_cells(cells)
        kind = cells.dtype.kind
        if kind in "biuf":
            self._refuse_numbers(cells.dtype)
            with np.errstate(over="ignore"):
                return self._read_numbers(cells.astype(np.float64) + 0.0)
        if kind == "M":
            return self._read_instants(*instants_of_array(cells))
        if kind in "OUS":
            return self._read_cells(cells.tolist())
        raise ColumnTypeError("its type is not one of numbers, text, booleans or dates.")

    def of_text(self, text: str) -> float | None:
        """Return the value of a text, NaN if it means a missing one, None if it is invalid."""
        text = text.strip()
        return np.nan if not text or text in self._texts else self._value_of_text(text)

    def _value_of_text(self, text: str) -> float | None:
        raise NotImplementedError

    def _of_numbers(self, numbers: FloatArray) -> FloatArray:
        """Return values of numbers, NaN if the column has no such value."""
        raise NotImplementedError

    def _of_instants(self, instants: IntArray) -> FloatArray:
        """Return values of microseconds since 1970, NaN if the column has no such value."""
        raise ColumnTypeError(
            "its type is one of dates, but no dates are declared. Declare the first and the last, "
            "such as ('2001-01-31', '2020-12-31'), or convert the column to numbers."
        )

    def _refuse_numbers(self, dtype: np.dtype[Any]) -> None:
        """Raise ColumnTypeError if no number can be a value of the column."""

    def _read_numbers(self, numbers: FloatArray) -> Reading:
        values = self._of_numbers(numbers)
        absent = np.isnan(numbers) | np.isin(numbers, self._marked_numbers)
        return self._without_markers(values, (np.isnan(values) & ~absent) | np.isinf(numbers))

    def _read_instants(self, instants: IntArray, absent: BoolArray) -> Reading:
        values = np.where(absent, np.nan, self._of_instants(instants))
        return self._without_markers(values, np.zeros(len(values), dtype=bool))

    def _without_markers(self, values: FloatArray, unusable: BoolArray) -> Reading:
        if self._marked_values.size:
            marked = np.isin(values, self._marked_values)
            values, unusable = np.where(marked, np.nan, values), unusable & ~marked
        return Reading(values, unusable)

    def _read_codes(self, column: CodedColumn) -> Reading:
        """Read each category once; code -1 is a missing cell."""
        known = self.read(column.categories)
        return Reading(
            np.append(known.values, np.nan)[column.codes], np.append(known.unusable, False)[column.codes]
        )

    def _read_cells(self, cells: list[Any]) -> Reading:
        kinds = set(map(type, cells))
        if kinds <= _NUMBERS:
            try:
                return self._read_numbers(np.array(cells, dtype=np.float64) + 0.0)
            except OverflowError:  # a whole number beyond what a float holds: infinite, cell by cell
                pass
        if kinds <= {str, type(None)}:
            return self._read_texts([cell or "" for cell in cells])
        return self._read_mixed(cells)

    def _read_texts(self, texts: Sequence[str]) -> Reading:
        known = Known(self.of_text)
        found = [known[text] for text in texts]
        # None becomes NaN.
        values = np.array(found, dtype=np.float64)
        unusable = np.zeros(len(found), dtype=bool)
        if None in known.values():
            unusable[:] = [value is None for value in found]
        return self._without_markers(values, unusable | np.isinf(values))

    def _read_mixed(self, cells: list[Any]) -> Reading:
        classified = [classify(cell) for cell in cells]
        values = np.full(len(cells), np.nan)
        unusable = np.array([kind == "unusable" for kind, _ in classified], dtype=bool)
        reads: dict[str, Callable[[list[Any]], Reading]] = {
            "text": self._read_texts,
            "number": lambda numbers: self._read_numbers(np.array(numbers, dtype=np.float64) + 0.0),
            "instant": self._read_single_instants,
        }
        for kind, read in reads.items():
            places = [place for place, (found, _) in enumerate(classified) if found == kind]
            if places:
                reading = read([classified[place][1] for place in places])
                values[places], unusable[places] = reading.values, reading.unusable
        return Reading(values, unusable)

    def _read_single_instants(self, instants: list[int]) -> Reading:
        # The type of one object depends on its row: it is not an error in the type of the column.
        return Reading(np.full(len(instants), np.nan), np.ones(len(instants), dtype=bool))


def _array(values: Iterable[float | None]) -> FloatArray:
    """Return the values that are numbers and not NaN."""
    return np.array([value for value in values if value is not None and value == value], dtype=np.float64)


class Known(dict[str, Any]):
    """Values of texts that were read before."""

    def __init__(self, read: Callable[[str], Any]) -> None:
        super().__init__()
        self._read = read

    def __missing__(self, text: str) -> Any:
        value = self[text] = self._read(text)
        return value


def classify(cell: Any) -> tuple[str, Any]:
    """Return the kind of a cell, and its text, float or microseconds; no object raises an error."""
    try:
        if cell is None or type(cell).__name__ in _ABSENT_TYPES:
            return "text", ""
        if isinstance(cell, bytes):
            return "text", cell.decode("utf-8")
        if isinstance(cell, str):
            return "text", str(cell)
        if isinstance(cell, np.datetime64):
            instants, absent = instants_of_array(np.array([cell]))
            return ("text", "") if absent[0] else ("instant", int(instants[0]))
        if is_temporal(cell):
            return ("instant", instant_of_date(cell)) if isinstance(cell, date) else ("unusable", None)
        if isinstance(cell, Real | Decimal | np.bool_):
            return "number", _float(cell)
    except Exception:  # a signalling NaN, text in another encoding, a type of the user's own
        return "unusable", None
    return "unusable", None


def _float(cell: Any) -> float:
    try:
        return float(cell)
    except OverflowError:
        return np.inf if cell > 0 else -np.inf


class NumberReader(Reader):
    """Reads numbers, which are the values."""

    def __init__(self, column: NumberColumn) -> None:
        self._number_of_text = number_of_text if column.style == NumberStyle() else column.style.read
        super().__init__(column)
        # Missing values may also be written in Python's style.
        self._marked_values = np.append(self._marked_values, self._marked_numbers)

    def _read_texts(self, texts: Sequence[str]) -> Reading:
        if self._number_of_text is not number_of_text:
            return super()._read_texts(texts)
        # The same function for each text, without a table of texts, because most numbers are different.
        absent = {"", *self._texts}
        cells = ["nan" if text.strip() in absent else text for text in texts]
        try:
            return self._read_numbers(np.array(cells, dtype=object).astype(np.float64) + 0.0)
        except ValueError:  # a text that is no number
            return super()._read_texts(texts)

    def _value_of_text(self, text: str) -> float | None:
        return self._number_of_text(text)

    def _of_numbers(self, numbers: FloatArray) -> FloatArray:
        return numbers


class StressReader(NumberReader):
    """Reads stresses; values are the stresses for which the transform of the column is defined."""

    def __init__(self, column: StressColumn) -> None:
        self._law = column.transform
        super().__init__(column)

    def _value_of_text(self, text: str) -> float | None:
        number = self._number_of_text(text)
        if number is None or np.isnan(number):
            return number
        value = float(self._of_numbers(np.array([number]))[0])
        return None if np.isnan(value) else value

    def _of_numbers(self, numbers: FloatArray) -> FloatArray:
        defined = np.isinf(numbers) | np.isfinite(self._law.transform(numbers))
        return np.where(defined, numbers, np.nan)


class DateReader(Reader):
    """Reads dates; values are days since the lower bound."""

    def __init__(self, column: DateColumn) -> None:
        self._start, self._format = column.start, column.format
        super().__init__(column)
        # Missing values may also be written like bounds.
        known = [instant_of_text(text) for text in self._texts]
        days = [float(one - self._start) / DAY for one in known if one is not None]
        self._marked_values = np.append(self._marked_values, days)

    def _value_of_text(self, text: str) -> float | None:
        instant = instant_of_text(text, self._format)
        return None if instant is None else float(instant - self._start) / DAY

    def _of_numbers(self, numbers: FloatArray) -> FloatArray:
        return np.full(len(numbers), np.nan)

    def _refuse_numbers(self, dtype: np.dtype[Any]) -> None:
        raise ColumnTypeError(
            "its type is one of numbers, but dates are declared. Convert it to dates, or to text as declared"
            f" ({self._format or 'ISO 8601'})." + when_empty(dtype)
        )

    def _of_instants(self, instants: IntArray) -> FloatArray:
        return (instants - self._start).astype(np.float64) / DAY

    def _read_single_instants(self, instants: list[int]) -> Reading:
        return self._read_instants(np.array(instants, dtype=np.int64), np.zeros(len(instants), dtype=bool))


class BooleanReader(Reader):
    """Reads booleans; values are 0 and 1."""

    def _value_of_text(self, text: str) -> float | None:
        return boolean_of_text(text)

    def _of_numbers(self, numbers: FloatArray) -> FloatArray:
        return np.where((numbers == 0) | (numbers == 1), numbers, np.nan)


class LevelReader(Reader):
    """Reads levels; values are their positions."""

    def __init__(self, column: CategoricalColumn) -> None:
        levels = column.levels
        self._reads_numbers = not isinstance(levels[0], str)
        self._of_boolean = isinstance(levels[0], bool)
        self._positions = {level: float(place) for place, level in enumerate(levels)}
        numbers = [(_number_of_level(level), place) for place, level in enumerate(levels)]
        twins = sorted((number, place) for number, place in numbers if number is not None)
        # Infinity is not a level, and is placed behind the last one.
        self._numbers = np.array([*(number for number, _ in twins), np.inf])
        self._places = np.array([*(place for _, place in twins), 0], dtype=np.float64)
        self._shown = shown_levels(levels)
        super().__init__(column)

    def _refuse_numbers(self, dtype: np.dtype[Any]) -> None:
        if len(self._places) > 1:
            return
        codes = "bool" if dtype.kind == "b" else "[1, 2]"
        raise ColumnTypeError(
            f"its type is one of numbers, but the declared levels {self._shown} are text that no number "
            f"matches. Declare its codes, such as {codes}, or convert it to text as declared."
            + when_empty(dtype)
        )

    def _value_of_text(self, text: str) -> float | None:
        if not self._reads_numbers:
            return self._positions.get(text)
        number = boolean_of_text(text) if self._of_boolean else number_of_text(text)
        if number is None:
            return None
        # Text of NaN is missing in a column of numbers.
        missing = np.isnan(number) or number in self._marked_numbers
        return np.nan if missing else self._positions.get(number)

    def _of_numbers(self, numbers: FloatArray) -> FloatArray:
        found = np.searchsorted(self._numbers[:-1], numbers)
        same = (self._numbers[found] == numbers) & np.isfinite(numbers)
        return np.where(same, self._places[found], np.nan)


def _number_of_level(level: str | int | float | bool) -> float | None:
    """Return the number that matches a level: its value, or the number with the same text."""
    if not isinstance(level, str):
        return float(level)
    number = number_of_text(level)
    written_so = number is not None and np.isfinite(number) and text_of_number(number) == level
    return number if written_so else None


_READERS: dict[type[Column], Callable[[Any], Reader]] = {
    NumberColumn: NumberReader,
    StressColumn: StressReader,
    DateColumn: DateReader,
    BooleanColumn: BooleanReader,
    CategoricalColumn: LevelReader,
}


def reader_of(column: Column) -> Reader:
    """Return the reader of the cells of a column."""
    return _READERS[type(column)](column)


def refusal(name: str, column: Any) -> str:
    """Return the message about a cell that is not a value of its column."""
    what = _UNUSABLE.get(column.kind) or f"none of the declared levels {shown_levels(column.levels)}"
    return (
        f"column {name!r} holds a value that is {what}, and is not declared as missing. Check "
        f"{hint_of(column)}."
    )


def hint_of(column: Column) -> str:
    """Return what to check if many cells of a column are not values of it."""
    if not isinstance(column, CategoricalColumn):
        return _HINTS[column.kind]
    numbers = [level for level in column.levels if not isinstance(level, str | bool)]
    if len(column.levels) == len(numbers) == 2 and numbers[0] < numbers[1]:
        ends = ", ".join(map(str, numbers))
        return f"the brackets: [{ends}] declares two levels, and ({ends}) all numbers between them"
    return f"the spelling of the declared levels {shown_levels(column.levels)}"


def shown_levels(levels: Sequence[Any]) -> str:
    """Return the representation of some levels or labels."""
    shown = [repr(level)[:_WIDTH] for level in levels[:_SHOWN]]
    return ", ".join([*shown, "..."] if len(levels) > _SHOWN else shown)


def when_empty(dtype: np.dtype[Any]) -> str:
    """Return the remedy for a column that has this type because all of its cells are missing."""
    return " If all cells are missing: column.astype('str')." if dtype.kind == "f" else ""
