# SPDX-License-Identifier: BSD-3-Clause
"""Checks of the integers to be released and of the scale of their noise."""

from fractions import Fraction
from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike, NDArray

MAX_VALUE = 2**62  # plus noise, which is below 2^62, it fits int64
MAX_SCALE = 2**52  # of the samplers: numerator and denominator


def check_integers(values: ArrayLike) -> NDArray[np.int64]:
    """Return the values as int64 or refuse them; no message shows one."""
    array = np.asarray(values)
    too_large = "values must be at most 2^62 in magnitude"
    if array.dtype.kind == "O" and all(isinstance(value, int) for value in array.flat):
        raise OverflowError(too_large)
    if array.dtype.kind not in "iu":
        raise TypeError(
            "values must be integers: quantise each row onto the integer grid before summing; noise on "
            "floats is not private"
        )
    if array.size and (array.max() > MAX_VALUE or array.min() < -MAX_VALUE):
        raise OverflowError(too_large)
    return array.astype(np.int64, copy=False)


def check_scale(scale: int | Fraction, name: str) -> int | Fraction:
    """Return a scale that the samplers take, as an int where it is one."""
    if isinstance(scale, bool) or not isinstance(scale, Integral | Fraction):
        raise TypeError(f"{name} must be an int or a Fraction")
    # int(): a NumPy integer inside a Fraction would overflow.
    ratio = Fraction(int(scale.numerator), int(scale.denominator))
    if not (0 < ratio.numerator <= MAX_SCALE and ratio.denominator <= MAX_SCALE):
        raise ValueError(f"{name} must be positive, with numerator and denominator at most 2^52")
    return int(ratio.numerator) if ratio.denominator == 1 else ratio
