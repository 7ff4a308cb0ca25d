# SPDX-License-Identifier: BSD-3-Clause
"""Integer thresholds of randomised response, certified to cost at most epsilon."""

from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

WORD = 2**64
# exp(200) > 2^64 * 2^64: more changes no threshold.
MAX_EXPONENT = 200


def response_threshold(epsilon: Fraction, n_others: int | Fraction) -> int:
    """Largest threshold with which randomised response is epsilon-private.

    The true answer is sent iff a uniform 64-bit word is below the threshold T, else one of the `n_others`
    other answers, uniformly.

    Parameters
    ----------
    epsilon : Fraction
        Positive.
    n_others : int or Fraction
        Number of answers but the true one, from 1 to 2^64 - 1. A fraction where answers overlap: with s sets
        that hold the true value and t that do not, drawn uniformly on either side, it is t / s.

    Returns
    -------
    threshold : int
        The largest T <= 2^64 - 1 whose odds, `response_odds`, do not exceed e^epsilon.

    Raises
    ------
    ValueError
        If epsilon is so small that no threshold keeps the odds between e^-epsilon and e^epsilon.

    Notes
    -----
    **Privacy**: T n <= (2^64 - T) e^epsilon means T <= 2^64 e^epsilon / (n + e^epsilon), which grows with
    e^epsilon. A rational lower bound of e^epsilon gives a T that is safe, an upper bound one that is not
    exceeded; the precision is raised until they agree, which happens since e^epsilon is irrational. As
    e^epsilon >= 1, T is at least the uniform share floor(2^64 / (n + 1)), and the reverse odds exceed 1 only
    when rounding down brought T below it: they are checked.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from skprivate.noise._response_threshold import response_odds, response_threshold
    >>> threshold = response_threshold(Fraction(1), 3)
    >>> float(response_odds(threshold, 3))
    2.718281828459045
    """
    if epsilon <= 0:
        raise ValueError("epsilon must be positive")
    if not 1 <= n_others < WORD:
        raise ValueError("n_others must be between 1 and 2^64 - 1")
    # Fewer odds than allowed are safe, and exp of a huge epsilon is never computed.
    capped = min(Fraction(epsilon), Fraction(MAX_EXPONENT))
    digits = 50
    while True:
        lowest, highest = exp_bounds(capped, digits)
        threshold = _largest_threshold(lowest, n_others)
        if threshold == _largest_threshold(highest, n_others):
            break
        digits *= 2
    if threshold == 0 or 1 / response_odds(threshold, n_others) > lowest:
        raise ValueError("epsilon is too small for randomised response with 64-bit words")
    return threshold


def response_odds(threshold: int, n_others: int | Fraction) -> Fraction:
    """Return P(true answer) / P(one given other answer), exactly.

    Parameters
    ----------
    threshold : int
        From 0 to 2^64 - 1.
    n_others : int or Fraction
        As in `response_threshold`.

    Returns
    -------
    odds : Fraction
        ``threshold * n_others / (2**64 - threshold)``.

    Examples
    --------
    >>> from skprivate.noise._response_threshold import response_odds
    >>> response_odds(2**63, 3)
    Fraction(3, 1)
    """
    return threshold * Fraction(n_others) / (WORD - threshold)


def exp_bounds(x: Fraction, digits: int) -> tuple[Fraction, Fraction]:
    """Rational numbers below and above e^x, x > 0, apart by about 10^-digits relative to it.

    The argument is rounded outward; `Decimal.exp` is correctly rounded, so with `digits` + 2 digits it errs
    by a relative 10^-digits at most, which the widening covers. The lower one is at least 1.
    """
    down = Context(prec=digits + 2, rounding=ROUND_FLOOR)
    up = Context(prec=digits + 2, rounding=ROUND_CEILING)
    slack = Fraction(1, 10**digits)
    numerator, denominator = Decimal(x.numerator), Decimal(x.denominator)
    below = Fraction(down.exp(down.divide(numerator, denominator))) * (1 - slack)
    above = Fraction(up.exp(up.divide(numerator, denominator))) * (1 + slack)
    return max(below, Fraction(1)), above


def _largest_threshold(odds: Fraction, n_others: int | Fraction) -> int:
    """Largest T <= 2^64 - 1 with T n_others <= (2^64 - T) odds."""
    return min(int(WORD * odds / (n_others + odds)), WORD - 1)
