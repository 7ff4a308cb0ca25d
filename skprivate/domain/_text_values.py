# SPDX-License-Identifier: BSD-3-Clause
"""Text of numbers, booleans and dates, with one rule for declarations and cells; checks of declarations."""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._typing import BoolArray, IntArray
from ..utils import check_characters

Level = str | int | float | bool
Marker = str | int | float

#: Microseconds of a day, by which instants become days.
DAY = 86_400_000_000.0
_MICROSECOND = timedelta(microseconds=1)
_EPOCH = datetime(1970, 1, 1)
# Range of years of Python's dates; units finer than a microsecond do not go beyond it.
_FIRST, _LAST = np.datetime64("0001-01-01"), np.datetime64("9999-12-31T23:59:59.999999")
_FINE_UNITS = ("ns", "ps", "fs", "as")
_TEXTS_OF_BOOLEANS = {"true": 1.0, "false": 0.0, "yes": 1.0, "no": 0.0, "1": 1.0, "0": 0.0}
# Above it floats, by which levels are compared, do not distinguish whole numbers.
_LARGEST_LEVEL = 2**53


def number_of_text(text: str) -> float | None:
    """Return the number in a text, which may be NaN; None if there is none."""
    try:
        # Adding 0 turns -0.0, which has different bits, into 0.0.
        return float(text) + 0.0
    except ValueError:
        return None


@dataclass(frozen=True)
class NumberStyle:
    """Format of numbers: the sign before decimals, the sign between groups of three digits, and a unit."""

    decimal: str = "."
    thousands: str | None = None
    unit: str | None = None

    def read(self, text: str) -> float | None:
        """Return the number in a text, which may be NaN; None if there is none in this style."""
        if self.unit is not None:
            text = text.strip().removeprefix(self.unit).removesuffix(self.unit).strip()
        whole, sign, rest = text.partition(self.decimal)
        if self.thousands is not None and self.thousands in whole:
            if not re.fullmatch(rf"[+-]?[0-9]{{1,3}}({re.escape(self.thousands)}[0-9]{{3}})+", whole):
                return None
            whole = whole.replace(self.thousands, "")
        if self.decimal != "." and "." in whole + rest:
            return None
        return number_of_text(f"{whole}.{rest}" if sign else whole)


def text_of_number(number: float) -> str:
    """Return the shortest text of a number, without a point if the number is whole.

    Examples
    --------
    >>> from skprivate.domain._text_values import text_of_number
    >>> text_of_number(12.0), text_of_number(0.5)
    ('12', '0.5')
    """
    # Above 2^53 floats do not distinguish a whole number from the next one.
    return str(int(number)) if abs(number) <= 2**53 and number == int(number) else repr(float(number))


def boolean_of_text(text: str) -> float | None:
    """Return 1.0 or 0.0 for true, false, yes, no, 1 and 0 in any case; None for other text."""
    return _TEXTS_OF_BOOLEANS.get(text.casefold())


def instant_of_text(text: str, form: str | None = None) -> int | None:
    """Return microseconds since 1970 of a date or time in UTC, by ISO 8601 or `form`; None for other text."""
    try:
        found = datetime.fromisoformat(text) if form is None else datetime.strptime(text, form)
        return instant_of_date(found)
    except (ValueError, OverflowError):
        return None


def instant_of_date(value: date) -> int:
    """Return microseconds since 1970 of a date or a time; without a zone it is read as UTC."""
    if not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)
    elif value.tzinfo is not None:
        value = value.astimezone(UTC).replace(tzinfo=None)
    return (value - _EPOCH) // _MICROSECOND


def instants_of_array(values: NDArray[Any]) -> tuple[IntArray, BoolArray]:
    """Return microseconds since 1970 of an array of datetime64, and which values are missing.

    Fractions of a microsecond are cut off. Years outside the range of Python's dates are replaced by the
    first or the last one, because casting them would wrap around.
    """
    absent = np.isnat(values)
    unit = np.datetime_data(values.dtype)[0]
    if unit not in (*_FINE_UNITS, "generic"):
        low, high = (limit.astype(values.dtype) for limit in (_FIRST, _LAST))
        values = np.minimum(np.maximum(values, low), high)
    return values.astype("M8[us]").astype(np.int64), absent


def text_of_instant(instant: int) -> str:
    """Return the ISO text of an instant: only the day at midnight."""
    value = _EPOCH + instant * _MICROSECOND
    return value.date().isoformat() if value == datetime(*value.timetuple()[:3]) else value.isoformat()


def check_levels(levels: Any) -> tuple[Level, ...]:
    """Return levels that are all text, all numbers or all booleans, and different."""
    found = tuple(plain_level(level) for level in check_list(levels, "levels"))
    kinds = {bool if type(level) is bool else str if isinstance(level, str) else Real for level in found}
    if not found:
        raise ValueError("there are no levels.")
    if len(kinds) > 1 or not all(isinstance(level, str | int | float) for level in found):
        raise TypeError("levels must be all text, all numbers or all booleans.")
    for level in found:
        if isinstance(level, str):
            check_characters(level, "a level")
        elif not math.isfinite(level) or abs(level) > _LARGEST_LEVEL:
            raise ValueError("levels that are numbers must be finite and at most 2^53.")
    if "" in found:
        raise ValueError("a level is empty text, which means a missing value.")
    if len(set(found)) < len(found):
        raise ValueError("a level is given twice.")
    return found


def check_markers(markers: Iterable[Any]) -> tuple[Marker, ...]:
    """Return the values that mean a missing one, without those that always do."""
    found: dict[Marker, None] = {}
    for marker in map(plain_level, markers):
        # pandas' NA cannot be compared.
        if marker is None or type(marker).__name__ == "NAType" or marker == "" or marker != marker:
            continue
        if isinstance(marker, bool) or not isinstance(marker, str | int | float):
            raise TypeError("missing_values must hold texts and numbers.")
        if isinstance(marker, str):
            check_characters(marker, "a missing value")
        elif not abs(marker) <= _LARGEST_LEVEL:
            raise ValueError("missing_values that are numbers must be finite and at most 2^53.")
        found[marker] = None
    return tuple(found)


def plain_level(value: Any) -> Any:
    """Return a level or a marker as a Python object; text without the spaces around it."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float) and value.is_integer():
        return int(value)  # 1 and 1.0 are one level, and have one text
    return str(value).strip() if isinstance(value, str) else value


def text_of_level(value: Level) -> str:
    """Return the text of a level, or of a value that means a missing one."""
    return str(value) if isinstance(value, str | bool) else text_of_number(value)


def check_list(values: Any, name: str) -> list[Any]:
    """Return a list; TypeError for text, a dict or a set, which has no order."""
    if isinstance(values, str | bytes | dict | set | frozenset) or not isinstance(values, Iterable):
        raise TypeError(f"{name} must be a list.")
    return list(values)


def check_finite(value: Any, name: str) -> float:
    """Return a number that is finite."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number.")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ValueError(f"{name} must be finite.")
    return number + 0.0


def check_date(value: Any, name: str) -> int:
    """Return microseconds since 1970 of a bound in any of its forms."""
    if isinstance(value, np.datetime64):
        instants, absent = instants_of_array(np.array([value]))
        found = None if absent[0] else int(instants[0])
    elif isinstance(value, date) and value == value:  # pandas' NaT is a date, and unequal to itself
        found = instant_of_date(value)
    else:
        found = instant_of_text(value.strip()) if isinstance(value, str) else None
    if found is None:
        raise ValueError(f"{name} must be a date: text in the form 2001-01-31, a date or a time.")
    return found


def check_style(decimal: Any, thousands: Any, unit: Any) -> None:
    """Refuse signs that cannot be distinguished from each other, or from a number."""
    for name, sign in (("decimal", decimal), ("thousands", thousands)):
        if not isinstance(sign, str) and not (sign is None and name == "thousands"):
            raise TypeError(f"{name} must be a single sign, such as ','.")
        if sign is not None and (len(sign) != 1 or sign.isalnum() or sign in "+-_"):
            raise ValueError(f"{name} must be a single sign, such as ','.")
    if decimal == thousands:
        raise ValueError("decimal and thousands must be different.")
    if unit is not None and not isinstance(unit, str):
        raise TypeError("unit must be text, such as '%'.")
    if unit is not None:
        check_characters(unit, "unit")
        if not unit.strip() or unit != unit.strip() or number_of_text(unit) is not None:
            raise ValueError("unit must be text that is not a number, without spaces around it.")


def check_format(form: Any) -> None:
    """Refuse a format of dates that depends on a language, or lacks year, month or day."""
    if form is None:
        return
    if not isinstance(form, str):
        raise TypeError("format must be text, such as '%d/%m/%Y'.")
    check_characters(form, "format")
    if set(re.findall("%(.?)", form, re.DOTALL)) - set("YymdHMSf"):
        raise ValueError("format may hold %Y, %y, %m, %d, %H, %M, %S and %f, and no other field.")
    probe = datetime(2001, 12, 31)
    if instant_of_text(probe.strftime(form), form) != instant_of_date(probe):
        raise ValueError("format must contain the year, the month and the day once, such as '%d/%m/%Y'.")


def check_order(lower: Any, upper: Any) -> None:
    """Refuse bounds that are not in order."""
    if lower >= upper:
        raise ValueError("lower must be below upper.")
