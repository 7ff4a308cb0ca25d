# SPDX-License-Identifier: BSD-3-Clause
"""Rounding with proven bounds: fixed-point numbers, and thresholds of randomised response."""

from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._typing import FloatArray, IntArray
from ._mechanisms import MAX_SCALE

# Fixed-point numbers: floats rounded to integers on a grid 2^-k, and the grid of a sum.

MAX_MAGNITUDE = 2**62  # of one grid value
MAX_SUM_BOUND = 2**61  # of a planned sum: int64 with two spare bits
TARGET_SCALE = 2**31  # set by hand: on this grid rounding is already far below the noise


def quantise(values: ArrayLike, exponent: int, lower: ArrayLike, upper: ArrayLike) -> IntArray:
    """Round floats toward zero onto the grid 2^-exponent, within bounds.

    Parameters
    ----------
    values : array-like of float
        Infinities are replaced by the bounds.
    exponent : int
        Non-negative: the grid's step is ``2**-exponent``.
    lower, upper : float or array-like broadcastable with `values`
        Finite public bounds, lower <= upper.

    Returns
    -------
    integers : int64 ndarray
        In units of the step; between ``trunc(lower * 2**exponent)`` and ``trunc(upper * 2**exponent)``.

    Raises
    ------
    OverflowError
        A bound reaches 2^62 steps; this depends on the bounds alone.
    ValueError
        A value is NaN (the message does not show which), or the bounds are not finite or not ordered.

    Notes
    -----
    **Privacy**: rounding toward zero increases no magnitude, so ``sum(abs(q)) <= 2**exponent * sum(abs(v))``.
    Therefore a declared L1 norm is still a bound on the grid; after rounding to nearest it would not be.
    Rounding is monotone, so values clipped to [lower, upper] stay between the rounded bounds.

    Examples
    --------
    >>> from skprivate.noise._rounding import quantise
    >>> quantise([-0.3, 0.3, 9.0], 2, -1.0, 1.0)
    array([-1,  1,  4])
    """
    if not isinstance(exponent, int | np.integer) or exponent < 0:
        raise ValueError("exponent must be a non-negative int")
    low, high = _as_bounds(lower, exponent), _as_bounds(upper, exponent)
    if np.any(low > high):
        raise ValueError("lower must not exceed upper")
    array = _as_float64(values, "values")
    if np.isnan(array).any():
        raise ValueError("values contain NaN")
    # The multiplication by 2^k is exact: the bounds keep it below 2^62, and k >= 0 loses no low bit.
    return np.trunc(np.ldexp(np.clip(array, low, high), exponent)).astype(np.int64)


def grid_exponent(sensitivity: Fraction | int, epsilon: Fraction, n: int | None = None) -> int:
    """Return the grid exponent for a sum: the largest useful exponent that is safe.

    Parameters
    ----------
    sensitivity : Fraction or int
        Positive L1 sensitivity before scaling.
    epsilon : Fraction
        Positive.
    n : int or None, default=None
        Number of rows to be summed.

    Returns
    -------
    exponent : int
        The largest k >= 0 with ``ceil(2**k * sensitivity / epsilon) <= 2**31`` and, if `n` is given,
        ``n * 2**k * sensitivity <= 2**61``. It is also 0 if only the sampler's own limit, 2^52, holds.

    Raises
    ------
    ValueError
        Even the grid of integers is too fine: epsilon is too small, or there are too many rows.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from skprivate.noise._rounding import grid_exponent
    >>> grid_exponent(1, Fraction(1))
    31
    >>> grid_exponent(1, Fraction(1), n=2**40)
    21
    """
    if sensitivity <= 0 or epsilon <= 0 or (n is not None and n < 1):
        raise ValueError("sensitivity, epsilon and n must be positive")
    scale = Fraction(sensitivity) / Fraction(epsilon)
    if ceil(scale) > MAX_SCALE:
        raise ValueError("epsilon is too small for this sensitivity")
    exponent = _floor_log2(TARGET_SCALE / scale)
    if n is not None:
        room = MAX_SUM_BOUND / (n * Fraction(sensitivity))
        if room < 1:
            raise ValueError("n times the sensitivity does not fit 64-bit integers")
        exponent = min(exponent, _floor_log2(room))
    return max(exponent, 0)


def _floor_log2(ratio: Fraction) -> int:
    """Return the largest k with 2^k <= ratio, exactly."""
    k = ratio.numerator.bit_length() - ratio.denominator.bit_length()
    return k if Fraction(2) ** k <= ratio else k - 1


def _as_float64(values: ArrayLike, name: str) -> FloatArray:
    array = np.asarray(values)
    # A longer float would be rounded to nearest, possibly away from zero.
    if array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
        raise TypeError(f"{name} must be real numbers of at most 64 bits")
    return array.astype(np.float64, copy=False)


def _as_bounds(bounds: Any, exponent: int) -> FloatArray:
    array = _as_float64(bounds, "bounds")
    if not np.isfinite(array).all():
        raise ValueError("bounds must be finite")
    # An integer bound that no double can hold could be rounded outward.
    if np.asarray(bounds).dtype.kind in "iu" and (np.abs(array) >= 2.0**53).any():
        raise ValueError("integer bounds must be below 2^53 in magnitude")
    with np.errstate(over="ignore"):
        if (np.ldexp(np.abs(array), exponent) >= MAX_MAGNITUDE).any():
            raise OverflowError("a bound reaches 2^62 steps of the grid: use a smaller exponent")
    return array


# Integer thresholds of randomised response, with a proof that they cost at most epsilon.

WORD = 2**64
# exp(200) > 2^64 * 2^64: a larger exponent changes no threshold.
MAX_EXPONENT = 200


def response_threshold(epsilon: Fraction, n_others: int | Fraction) -> int:
    """Return the largest threshold with which randomised response is epsilon-private.

    The true answer is sent if a uniform 64-bit word is below the threshold T. Otherwise one of the `n_others`
    other answers is sent, uniformly.

    Parameters
    ----------
    epsilon : Fraction
        Positive.
    n_others : int or Fraction
        Number of answers except the true one, from 1 to 2^64 - 1. It is a fraction if answers overlap: t / s
        for s sets with the true value and t sets without it, drawn uniformly on either side.

    Returns
    -------
    threshold : int
        The largest T <= 2^64 - 1 whose odds, `response_odds`, do not exceed e^epsilon.

    Raises
    ------
    ValueError
        epsilon is so small that no threshold keeps the odds between e^-epsilon and e^epsilon.

    Notes
    -----
    **Privacy**: T n <= (2^64 - T) e^epsilon means T <= 2^64 e^epsilon / (n + e^epsilon), which grows with
    e^epsilon. A rational lower bound of e^epsilon gives a T that is safe. An upper bound gives one that the
    largest T does not exceed. The precision is raised until they agree, which happens since e^epsilon is
    irrational. As e^epsilon >= 1, T is at least the uniform share floor(2^64 / (n + 1)). The reverse odds
    exceed 1 only if rounding down brought T below it. They are checked.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from skprivate.noise._rounding import response_odds, response_threshold
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
    """Return P(true answer) / P(one particular other answer), exactly.

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
    >>> from skprivate.noise._rounding import response_odds
    >>> response_odds(2**63, 3)
    Fraction(3, 1)
    """
    return threshold * Fraction(n_others) / (WORD - threshold)


def exp_bounds(x: Fraction, digits: int) -> tuple[Fraction, Fraction]:
    """Return rational numbers below and above e^x, x > 0, with a relative distance of about 10^-digits.

    The argument is rounded outward. `Decimal.exp` is correctly rounded, so with `digits` + 2 digits its
    relative error is at most 10^-digits, which the widening covers. The lower number is at least 1.
    """
    down = Context(prec=digits + 2, rounding=ROUND_FLOOR)
    up = Context(prec=digits + 2, rounding=ROUND_CEILING)
    slack = Fraction(1, 10**digits)
    numerator, denominator = Decimal(x.numerator), Decimal(x.denominator)
    below = Fraction(down.exp(down.divide(numerator, denominator))) * (1 - slack)
    above = Fraction(up.exp(up.divide(numerator, denominator))) * (1 + slack)
    return max(below, Fraction(1)), above


def _largest_threshold(odds: Fraction, n_others: int | Fraction) -> int:
    """Return the largest T <= 2^64 - 1 with T n_others <= (2^64 - T) odds."""
    return min(int(WORD * odds / (n_others + odds)), WORD - 1)
