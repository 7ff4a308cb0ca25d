# SPDX-License-Identifier: BSD-3-Clause
"""Finds known values in texts and in bytes."""

import struct
from decimal import Decimal
from typing import Any

# By which a number is known again in a text.
_DIGITS = 6


def texts_of_value(value: float | str) -> list[str]:
    """Return the texts by which a value could be known again, to six digits."""
    if isinstance(value, str):
        return [value]
    digits = f"{Decimal(repr(float(value))):f}"
    start = len(digits) - len(digits.lstrip("-0."))
    # Printed in full, or rounded, or cut.
    cut = digits[: start + _DIGITS + ("." in digits[start : start + _DIGITS])]
    return sorted({repr(float(value)), f"{value:.8g}", f"{value:.{_DIGITS}g}", cut})


def bytes_of_value(value: float | str) -> list[bytes]:
    """Return the bytes by which a value could be known again in a pickle."""
    if isinstance(value, str):
        return [value.encode(), value.encode("utf-16-le"), value.encode("utf-32-le")]
    return [repr(float(value)).encode(), *(struct.pack(order + "d", value) for order in "<>")]


def text_shows_any(text: str, values: list[Any]) -> bool:
    """Whether a text shows one of the values, to six digits or more."""
    return any(form in text for value in values for form in texts_of_value(value))


def bytes_hold_any(content: bytes, values: list[Any]) -> bool:
    """Whether bytes hold one of the values in full."""
    return any(form in content for value in values for form in bytes_of_value(value))
