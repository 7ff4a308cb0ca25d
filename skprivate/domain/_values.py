# SPDX-License-Identifier: BSD-3-Clause
"""How declarations and cells are read alike: text of numbers, of booleans and of dates; instants of time."""

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._typing import IntArray

#: Microseconds of a day, by which instants become days.
DAY = 86_400_000_000.0
_MICROSECOND = timedelta(microseconds=1)
_EPOCH = datetime(1970, 1, 1)
# The years that Python's dates have; units finer than a microsecond hold none beyond them.
_FIRST, _LAST = np.datetime64("0001-01-01"), np.datetime64("9999-12-31T23:59:59.999999")
_FINE_UNITS = ("ns", "ps", "fs", "as")
_TEXTS_OF_BOOLEANS = {"true": 1.0, "false": 0.0, "yes": 1.0, "no": 0.0, "1": 1.0, "0": 0.0}


def number_of_text(text: str) -> float | None:
    """Return the number that a text says, NaN included; None where it says none."""
    try:
        # Adding 0 turns -0.0, which has other bits, into 0.0.
        return float(text) + 0.0
    except ValueError:
        return None


@dataclass(frozen=True)
class NumberStyle:
    """How numbers are written: the sign before decimals, that between groups of three digits, and a unit."""

    decimal: str = "."
    thousands: str | None = None
    unit: str | None = None

    def read(self, text: str) -> float | None:
        """Return the number that a text says, NaN included; None where it says none in this style."""
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
    """Return the shortest text of a number, without a point where the number is whole.

    Examples
    --------
    >>> from skprivate.domain._values import text_of_number
    >>> text_of_number(12.0), text_of_number(0.5)
    ('12', '0.5')
    """
    # Beyond 2^53 a float does not tell a whole number from the next one.
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
    """Return microseconds since 1970 of a date or a time; one without a zone counts as one of UTC."""
    if not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)
    elif value.tzinfo is not None:
        value = value.astimezone(UTC).replace(tzinfo=None)
    return (value - _EPOCH) // _MICROSECOND


def instants_of_array(values: NDArray[Any]) -> tuple[IntArray, NDArray[np.bool_]]:
    """Return microseconds since 1970 of an array of datetime64, and where there is none.

    What is finer than a microsecond is cut off, and years that Python's dates do not have are put at the
    first or the last of them: casting them would wrap around.
    """
    absent = np.isnat(values)
    unit = np.datetime_data(values.dtype)[0]
    if unit not in (*_FINE_UNITS, "generic"):
        low, high = (limit.astype(values.dtype) for limit in (_FIRST, _LAST))
        values = np.minimum(np.maximum(values, low), high)
    return values.astype("M8[us]").astype(np.int64), absent


def text_of_instant(instant: int) -> str:
    """Return the ISO text of an instant: the day alone where it is midnight."""
    value = _EPOCH + instant * _MICROSECOND
    return value.date().isoformat() if value == datetime(*value.timetuple()[:3]) else value.isoformat()
