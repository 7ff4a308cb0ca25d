# SPDX-License-Identifier: BSD-3-Clause
"""Randomised response: its certified threshold and odds, and the leakage of one answer."""

import functools
import math
from fractions import Fraction

from ..noise._response_threshold import response_odds, response_threshold

# Resolution of the words: below it, a threshold would take ever more digits to certify.
_LEAST_EPSILON = Fraction(1, 2**64)


# A pure function of public numbers: what is kept tells of no row. The choice of a depth asks for up to 44
# thresholds of one epsilon (four mechanisms, eleven depths): the size is for some twenty of them.
@functools.lru_cache(maxsize=1024)
def certified_response(epsilon: Fraction, n_others: int | Fraction) -> tuple[int, Fraction]:
    """Return the certified threshold of randomised response and its odds, which exceed 1.

    Raises
    ------
    ValueError
        Epsilon is so small that the odds would not tell the true answer from another.
    """
    if epsilon >= _LEAST_EPSILON:
        threshold = response_threshold(epsilon, n_others)
        odds = response_odds(threshold, n_others)
        if odds > 1:
            return threshold, odds
    raise ValueError("epsilon is too small: a 64-bit threshold cannot tell it from 0.")


def approximate_excess(epsilon: Fraction) -> float:
    """Return exp(epsilon) - 1 in floats, within the range where the choice of a parameter depends on it."""
    return math.expm1(float(min(max(epsilon, _LEAST_EPSILON), Fraction(40))))


def response_leakage(odds: Fraction, mass: float) -> float:
    """Return log(odds / (1 + mass (odds - 1))): what is leaked by an answer that is `odds` times as probable
    under categories of this prior mass, above 0, as under the others.
    """
    rest = max(0.0, 1 - mass)
    # log(1 + ...) of the odds less 1 keeps the digits of a tiny epsilon.
    return math.log1p(rest * float(odds - 1) / (1 + mass * float(odds - 1)))
