# SPDX-License-Identifier: BSD-3-Clause
"""Fixed-point numbers: floats rounded to integers on a grid 2^-k, and the grid of a sum."""

from fractions import Fraction
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._typing import FloatArray, IntArray
from ._argument_checks import MAX_SCALE

MAX_MAGNITUDE = 2**62  # of one grid value
MAX_SUM_BOUND = 2**61  # of a planned sum: int64 with two spare bits
TARGET_SCALE = 2**31  # finer grids gain nothing: rounding is then far below the noise


def quantise(values: ArrayLike, exponent: int, lower: ArrayLike, upper: ArrayLike) -> IntArray:
    """Round floats toward zero onto the grid 2^-exponent, within bounds.

    Parameters
    ----------
    values : array-like of float
        Infinities go to the bounds.
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
        If a bound reaches 2^62 steps; decided from the bounds alone.
    ValueError
        If a value is NaN (the message does not say which), or the bounds are not finite or not ordered.

    Notes
    -----
    **Privacy**: rounding toward zero moves no magnitude up, so ``sum(abs(q)) <= 2**exponent * sum(abs(v))``
    and a declared L1 norm stays a bound on the grid; rounding to nearest would break it. Rounding is
    monotone, so values clipped to [lower, upper] stay between the rounded bounds.

    Examples
    --------
    >>> from skprivate.noise._quantise import quantise
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
    # A multiplication by 2^k is exact, since the bounds keep it below 2^62 and k >= 0 loses no low bit.
    return np.trunc(np.ldexp(np.clip(array, low, high), exponent)).astype(np.int64)


def grid_exponent(sensitivity: Fraction | int, epsilon: Fraction, n: int | None = None) -> int:
    """Choose the grid for a sum: the largest useful exponent that is safe.

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
        ``n * 2**k * sensitivity <= 2**61``; 0 also where the scale is below the sampler's own limit, 2^52.

    Raises
    ------
    ValueError
        If even the grid of integers is too fine: epsilon is too small, or there are too many rows.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from skprivate.noise._quantise import grid_exponent
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
    """Largest k with 2^k <= ratio, exact."""
    k = ratio.numerator.bit_length() - ratio.denominator.bit_length()
    return k if Fraction(2) ** k <= ratio else k - 1


def _as_float64(values: ArrayLike, name: str) -> FloatArray:
    array = np.asarray(values)
    # A longer float would be rounded to nearest, maybe away from zero.
    if array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
        raise TypeError(f"{name} must be real numbers of at most 64 bits")
    return array.astype(np.float64, copy=False)


def _as_bounds(bounds: Any, exponent: int) -> FloatArray:
    array = _as_float64(bounds, "bounds")
    if not np.isfinite(array).all():
        raise ValueError("bounds must be finite")
    # An integer bound that no double holds could be rounded outward.
    if np.asarray(bounds).dtype.kind in "iu" and (np.abs(array) >= 2.0**53).any():
        raise ValueError("integer bounds must be below 2^53 in magnitude")
    with np.errstate(over="ignore"):
        if (np.ldexp(np.abs(array), exponent) >= MAX_MAGNITUDE).any():
            raise OverflowError("a bound reaches 2^62 steps of the grid: use a smaller exponent")
    return array
