# SPDX-License-Identifier: BSD-3-Clause
"""A sum of fractions that is exact while its denominator is short, and rounded up beyond.

**Why.** The denominator of an exact sum is the least common multiple of its terms': with n distinct primes it
has n times their digits, so that n charges cost O(n**2). Here each of them costs the same.

**Claim.** ``upper`` is never below the exact sum of the amounts added, equals it while ``rounded`` is 0, and
is above it by less than k / 2**GRID_BITS, where k counts the amounts that were rounded.

**Proof.** By induction over `plus`. A term is added to ``exact``, which changes the difference by nothing, or
its ceiling on the grid is added to ``rounded``, which adds to the difference at least 0 and less than one
unit.

So a ledger that compares ``upper`` with its ceiling never passes the ceiling, and refuses a charge that an
exact sum would grant only where less than k / 2**GRID_BITS is left: after a million charges less than
2**-1180, while the smallest ceiling that a float can name is 2**-1074.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import gcd
from typing import Any

from ._amounts import from_hex, to_hex

# Bits of the exact part's denominator. A float's has at most 1,074, so that floats, decimals of up to 200
# digits beside them and hundreds of common fractions are exact.
EXACT_BITS = 2048
# A million units are less than 2**-100 of the smallest float above 0, 2**-1074: no budget is lost to
# rounding.
GRID_BITS = 1200
# Digits of a sum: exact amounts up to 2**1000 of the longest denominator, a numerator of units likewise, and
# as much again for their number.
_LONGEST = 2 * (2 * EXACT_BITS + GRID_BITS + 2 * 1000) // 4


@dataclass(frozen=True)
class RunningSum:
    """Sum of amounts: an exact part, and a number of units of 2**-GRID_BITS for what was rounded up."""

    exact: Fraction = Fraction(0)
    rounded: int = 0

    @property
    def upper(self) -> Fraction:
        """The sum, or an upper bound on it if amounts were rounded."""
        return self.exact + Fraction(self.rounded, 1 << GRID_BITS) if self.rounded else self.exact

    def plus(self, amount: Fraction) -> "RunningSum":
        """Return the sum with one amount more."""
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
    """Write a sum as 'numerator/denominator+units' in hexadecimal digits."""
    return f"{to_hex(total.exact)}+{total.rounded:x}"


def running_sum_from_text(text: Any) -> RunningSum:
    """Read `running_sum_to_text` back; anything else is a ValueError."""
    if not isinstance(text, str) or len(text) > _LONGEST:
        raise ValueError("not an amount")
    exact, _, units = text.partition("+")
    total = RunningSum(from_hex(exact), from_hex(f"{units}/1").numerator)
    if running_sum_to_text(total) != text:
        raise ValueError("not an amount")
    return total
