# SPDX-License-Identifier: BSD-3-Clause
"""Exact amounts of privacy as text, for storage and for people."""

import math
import re
from dataclasses import fields
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Any, NamedTuple

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


def show(amount: Fraction | float, *, down: bool = False) -> str:
    """Print an amount to six significant digits, rounded up: no more is spent than what is printed.

    With `down`, for what is left and for noise: there is no less than what is printed. A number that people
    typed as a float is printed as they typed it: 0.1, and not 0.100001.
    """
    text = f"{float(amount):.6g}"
    if not math.isfinite(amount):
        return text
    exact, read = Fraction(amount), (Fraction(text), Fraction(float(text)))
    if min(read) <= exact if down else max(read) >= exact:
        return text
    rounding = Context(prec=6, rounding=ROUND_FLOOR if down else ROUND_CEILING)
    return f"{float(rounding.divide(Decimal(exact.numerator), Decimal(exact.denominator))):.6g}"


def show_pair(epsilon: Fraction | float, delta: Fraction | float, *, down: bool = False) -> str:
    """Print epsilon and delta as `show` does."""
    return f"epsilon = {show(epsilon, down=down)}, delta = {show(delta, down=down)}"


class Spent(NamedTuple):
    """Exact sums of epsilon and of delta; printed as numbers of six digits, rounded up."""

    epsilon: Fraction
    delta: Fraction

    def __repr__(self) -> str:
        return f"Spent(epsilon={show(self.epsilon)}, delta={show(self.delta)})"


class Remaining(NamedTuple):
    """Exactly what a ceiling leaves, infinities without one; printed to six digits, rounded down."""

    epsilon: Fraction | float
    delta: Fraction | float

    def __repr__(self) -> str:
        return f"Remaining(epsilon={show(self.epsilon, down=True)}, delta={show(self.delta, down=True)})"


class ReadableAmounts:
    """Mixin of dataclasses: exact amounts are printed as numbers of six digits; their fields hold them."""

    def __repr__(self) -> str:
        told = []
        for name in (one.name for one in fields(self) if one.repr):  # type: ignore[arg-type]
            value = getattr(self, name)
            exact = isinstance(value, Fraction)
            told.append(f"{name}={show(value, down=name == 'noise_scale') if exact else repr(value)}")
        return f"{type(self).__name__}({', '.join(told)})"


def _parse(text: Any, pattern: re.Pattern[str], base: int) -> Fraction:
    # Python reads no more decimal digits, and a fraction of more takes long to reduce.
    short = isinstance(text, str) and (base == 16 or len(text) <= _LONGEST)
    match = pattern.fullmatch(text) if short else None
    if match is None or not int(match[2], base):
        raise ValueError("not an amount")
    return Fraction(int(match[1], base), int(match[2], base))
