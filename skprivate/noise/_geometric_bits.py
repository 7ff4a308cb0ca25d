# SPDX-License-Identifier: BSD-3-Clause
"""Probabilities of the binary digits of a geometric number, from which exact Laplace sums are drawn."""

import functools
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

PROBABILITY_BITS = 256
# 120 digits are more than `PROBABILITY_BITS` binary ones.
DECIMALS = Context(prec=120, Emin=-(10**9), Emax=10**9)
NEGLIGIBLE = Fraction(1, 2**204)  # share of the 2^-201 that `laplace_sum` states


def geometric_bit_probabilities(n: int, scale: Fraction) -> NDArray[np.uint64]:
    """Return the digits' probabilities of a geometric number with ratio exp(-1 / scale).

    Parameters
    ----------
    n : int
        How many such numbers are summed; digits i with n p_i < 2^-204 are left out.
    scale : Fraction
        Positive, at most 2^52.

    Returns
    -------
    probabilities : uint64 ndarray of shape (n_digits, 4)
        Row i: p_i = 1 / (1 + exp(2^i / scale)) rounded down to 256 binary digits, highest word first.
    """
    rows = []
    for probability, row in _bits_of_scale(scale):
        if n * probability < NEGLIGIBLE:
            break
        rows.append(row)
    return np.array(rows, dtype=np.uint64).reshape(-1, PROBABILITY_BITS // 64)


# A pure function of a public scale, and not of n, so that what is kept tells of no number of rows.
@functools.lru_cache(maxsize=64)
def _bits_of_scale(scale: Fraction) -> tuple[tuple[Fraction, tuple[int, ...]], ...]:
    """Return p_i, and its 256 binary digits in words, of every digit that counts for 2^40 terms or fewer."""
    bits: list[tuple[Fraction, tuple[int, ...]]] = []
    # n p_i < 2^40 exp(-200) < 2^-204, and no exponential of a huge number is computed.
    while (exponent := 2 ** len(bits) / scale) < 200:
        odds = DECIMALS.exp(DECIMALS.divide(Decimal(exponent.numerator), Decimal(exponent.denominator)))
        probability = Fraction(DECIMALS.divide(Decimal(1), DECIMALS.add(1, odds)))
        digits = int(probability * 2**PROBABILITY_BITS).to_bytes(PROBABILITY_BITS // 8, "big")
        bits.append((probability, tuple(np.frombuffer(digits, dtype=">u8").tolist())))
    return tuple(bits)
