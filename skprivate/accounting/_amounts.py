# SPDX-License-Identifier: BSD-3-Clause
"""Exact amounts of privacy as text, for storage and for people."""

import re
from fractions import Fraction
from typing import Any

_DECIMAL = re.compile(r"([0-9]+)/([0-9]+)")
_LONGEST = 2 * 4300  # Python reads 4,300 decimal digits of an int at most
_HEXADECIMAL = re.compile(r"([0-9a-f]+)/([0-9a-f]+)")


def to_text(amount: Fraction) -> str:
    """Write one amount as 'numerator/denominator'."""
    return f"{amount.numerator}/{amount.denominator}"


def from_text(text: Any) -> Fraction:
    """Read `to_text` back; anything else is a ValueError."""
    return _parse(text, _DECIMAL, 10)


def to_hex(amount: Fraction) -> str:
    """Write a sum as text; older files hold sums of more decimal digits than Python agrees to read."""
    return f"{amount.numerator:x}/{amount.denominator:x}"


def from_hex(text: Any) -> Fraction:
    """Read `to_hex` back; anything else is a ValueError."""
    return _parse(text, _HEXADECIMAL, 16)


def from_signed_text(text: Any) -> Fraction:
    """Read what ``str`` makes of a Fraction; anything else is a ValueError."""
    sign, digits = (-1, text[1:]) if isinstance(text, str) and text.startswith("-") else (1, text)
    whole = isinstance(digits, str) and "/" not in digits
    return sign * from_text(f"{digits}/1" if whole else digits)


def show(amount: Fraction | float) -> str:
    """Print an amount to six significant digits."""
    return f"{float(amount):.6g}"


def show_pair(epsilon: Fraction | float, delta: Fraction | float) -> str:
    """Print epsilon and delta, six significant digits each."""
    return f"epsilon = {show(epsilon)}, delta = {show(delta)}"


def _parse(text: Any, pattern: re.Pattern[str], base: int) -> Fraction:
    # Python reads no more decimal digits, and a fraction of more takes long to reduce.
    short = isinstance(text, str) and (base == 16 or len(text) <= _LONGEST)
    match = pattern.fullmatch(text) if short else None
    if match is None or not int(match[2], base):
        raise ValueError("not an amount")
    return Fraction(int(match[1], base), int(match[2], base))
