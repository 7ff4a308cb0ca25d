# SPDX-License-Identifier: BSD-3-Clause
"""Exact amounts of privacy: their sums, and their texts for files and for people."""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, fields
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from math import gcd
from typing import Any, NamedTuple

_DECIMAL = re.compile(r"([0-9]+)/([0-9]+)")
_LONGEST = 2 * 4300  # Python reads 4,300 decimal digits of an int at most
_HEXADECIMAL = re.compile(r"([0-9a-f]+)/([0-9a-f]+)")


def to_text(amount: Fraction) -> str:
    """Return one amount as 'numerator/denominator'."""
    return f"{amount.numerator}/{amount.denominator}"


def from_text(text: Any) -> Fraction:
    """Return the amount that `to_text` wrote; anything else is a ValueError."""
    return _parse(text, _DECIMAL, 10)


def to_hex(amount: Fraction) -> str:
    """Return a sum as text; older files hold sums of more decimal digits than Python reads."""
    return f"{amount.numerator:x}/{amount.denominator:x}"


def from_hex(text: Any) -> Fraction:
    """Return the sum that `to_hex` wrote; anything else is a ValueError."""
    return _parse(text, _HEXADECIMAL, 16)


def from_signed_text(text: Any) -> Fraction:
    """Return the Fraction of which a text is the ``str``; anything else is a ValueError."""
    sign, digits = (-1, text[1:]) if isinstance(text, str) and text.startswith("-") else (1, text)
    whole = isinstance(digits, str) and "/" not in digits
    return sign * from_text(f"{digits}/1" if whole else digits)


def show(amount: Fraction | float, *, down: bool = False) -> str:
    """Return an amount to six significant digits, rounded up: the printed amount is never below the true one.

    With `down` it is rounded down, for a remaining budget and for noise. A number that a user typed as a
    float is printed as it was typed: 0.1, and not 0.100001.
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
    """Return epsilon and delta as `show` writes them."""
    return f"epsilon = {show(epsilon, down=down)}, delta = {show(delta, down=down)}"


class Spent(NamedTuple):
    """Exact sums of epsilon and of delta; printed as numbers of six digits, rounded up."""

    epsilon: Fraction
    delta: Fraction

    def __repr__(self) -> str:
        return f"Spent(epsilon={show(self.epsilon)}, delta={show(self.delta)})"


class Remaining(NamedTuple):
    """The exact remaining budget, infinite without a ceiling; printed to six digits, rounded down."""

    epsilon: Fraction | float
    delta: Fraction | float

    def __repr__(self) -> str:
        return f"Remaining(epsilon={show(self.epsilon, down=True)}, delta={show(self.delta, down=True)})"


class ReadableAmounts:
    """Mixin of dataclasses: the repr shows six digits of exact amounts; the fields hold the exact amounts."""

    def __repr__(self) -> str:
        shown = []
        for name in (one.name for one in fields(self) if one.repr):  # type: ignore[arg-type]
            value = getattr(self, name)
            exact = isinstance(value, Fraction)
            shown.append(f"{name}={show(value, down=name == 'noise_scale') if exact else repr(value)}")
        return f"{type(self).__name__}({', '.join(shown)})"


def _parse(text: Any, pattern: re.Pattern[str], base: int) -> Fraction:
    # Python reads no more decimal digits, and a longer fraction takes long to reduce.
    short = isinstance(text, str) and (base == 16 or len(text) <= _LONGEST)
    match = pattern.fullmatch(text) if short else None
    if match is None or not int(match[2], base):
        raise ValueError("not an amount")
    return Fraction(int(match[1], base), int(match[2], base))


# A sum of fractions that is exact while its denominator is short, and rounded up otherwise.

# Bits of the exact part's denominator. A float's denominator has at most 1,074 bits. So floats, decimals of
# up to 200 digits and hundreds of common fractions are added exactly.
EXACT_BITS = 2048
# A million units are less than 2**-100 of the smallest float above 0, 2**-1074: no budget is lost to
# rounding.
GRID_BITS = 1200
# Digits of a sum: exact amounts up to 2**1000 with the longest denominator, the same for the units, and as
# much again for their number.
_LONGEST_SUM = 2 * (2 * EXACT_BITS + GRID_BITS + 2 * 1000) // 4


@dataclass(frozen=True)
class RunningSum:
    """Sum of amounts: an exact part, and a number of units of 2**-GRID_BITS for amounts that were rounded up.

    **Why.** The denominator of an exact sum is the least common multiple of the terms' denominators. With n
    distinct primes it has n times their digits, so that n charges cost O(n**2). Here each charge costs the
    same.

    **Claim.** ``upper`` is never below the exact sum of the added amounts, and equals it while ``rounded`` is
    0. It is above it by less than k / 2**GRID_BITS, where k is the number of rounded amounts.

    **Proof.** By induction over `plus`. Either a term is added to ``exact``, which does not change the
    difference. Or its ceiling on the grid is added to ``rounded``, which adds at least 0 and less than one
    unit to the difference.

    So a ledger that compares ``upper`` with its ceiling never exceeds the ceiling. It refuses a charge that
    an exact sum would grant only if less than k / 2**GRID_BITS is left. After a million charges this is less
    than 2**-1180, while the smallest ceiling that a float can hold is 2**-1074.
    """

    exact: Fraction = Fraction(0)
    rounded: int = 0

    @property
    def upper(self) -> Fraction:
        """The sum, or an upper bound on it if amounts were rounded."""
        return self.exact + Fraction(self.rounded, 1 << GRID_BITS) if self.rounded else self.exact

    def plus(self, amount: Fraction) -> "RunningSum":
        """Return the sum with one more amount."""
        if not amount:
            return self
        ours, theirs = self.exact.denominator, amount.denominator
        common = ours if ours % theirs == 0 else ours // gcd(ours, theirs) * theirs
        if common.bit_length() <= EXACT_BITS:
            return RunningSum(self.exact + amount, self.rounded)
        units = -(-(amount.numerator << GRID_BITS) // theirs)
        return RunningSum(self.exact, self.rounded + units)


def upper_sum(amounts: Iterable[Fraction]) -> Fraction:
    """Return the sum of amounts, or an upper bound on it: see `RunningSum`."""
    total = RunningSum()
    for amount in amounts:
        total = total.plus(amount)
    return total.upper


def running_sum_to_text(total: RunningSum) -> str:
    """Return a sum as 'numerator/denominator+units' in hexadecimal digits."""
    return f"{to_hex(total.exact)}+{total.rounded:x}"


def running_sum_from_text(text: Any) -> RunningSum:
    """Return the sum that `running_sum_to_text` wrote; anything else is a ValueError."""
    if not isinstance(text, str) or len(text) > _LONGEST_SUM:
        raise ValueError("not an amount")
    exact, _, units = text.partition("+")
    total = RunningSum(from_hex(exact), from_hex(f"{units}/1").numerator)
    if running_sum_to_text(total) != text:
        raise ValueError("not an amount")
    return total
