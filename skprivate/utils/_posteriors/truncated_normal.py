# SPDX-License-Identifier: BSD-3-Clause
"""Means of normal distributions that are cut off at 0 and 1, or at 0 alone."""

import math

import numpy as np
from scipy.special import erfcx

from ..._typing import FloatArray

# Standard deviations of the centre from [0, 1], and scales, beyond which the density is exponential to a
# relative 1e-7, while the exact formula loses that many digits.
_FARTHEST = _WIDEST = 1e4
# Rates below which the mean of an exponential density on [0, 1] is linear in the rate, to 1e-10.
_FLAT = 1e-3


def truncated_mean(center: FloatArray, scale: FloatArray | float) -> FloatArray:
    """Return the mean of a normal distribution within [0, 1]: between 0 and 1, and never 0 or 1."""
    upper = center > 0.5
    # By symmetry the centre is in the lower half, where the far end is too far to lose digits.
    middle = np.where(upper, 1.0 - center, center)
    scale = np.broadcast_to(scale, middle.shape)
    exponential = (middle < -_FARTHEST * scale) | (scale > _WIDEST)
    # A rate without bound has its mean at the end.
    with np.errstate(over="ignore"):
        mean = np.where(
            exponential,
            _exponential_mean(np.where(exponential, -middle / scale / scale, 0.0)),
            _normal_mean(np.where(exponential, 0.5, middle), np.where(exponential, 1.0, scale)),
        )
    mean = np.clip(mean, 1e-12, 0.5)
    return np.where(upper, 1.0 - mean, mean)


def positive_mean(center: float, scale: float) -> float:
    """Return the mean of a normal distribution above 0, which is not negative."""
    low = -center / scale
    if low > _FARTHEST:
        # Exponential, as far from the centre as this.
        return scale / low
    return max(center + scale / float(_mills_ratio(np.array([low]))[0]), 0.0)


def _normal_mean(middle: FloatArray, scale: FloatArray) -> FloatArray:
    low, high = -middle / scale, (1.0 - middle) / scale
    # The density at the far end, in units of that at the near one.
    log_far = -(0.5 - middle) / scale / scale
    mass = _mills_ratio(low) - np.exp(log_far) * _mills_ratio(high)
    mean: FloatArray = scale * (-np.expm1(log_far) / mass - low)
    return mean


def _mills_ratio(x: FloatArray) -> FloatArray:
    """Return the mass of the standard normal distribution above x, in units of its density at x."""
    ratio: FloatArray = math.sqrt(math.pi / 2) * erfcx(x / math.sqrt(2))
    return ratio


def _exponential_mean(rate: FloatArray) -> FloatArray:
    """Return the mean of a density proportional to exp(-rate x) on [0, 1], for rates above -1."""
    flat = np.abs(rate) < _FLAT
    steep = np.where(flat, 1.0, rate)
    # Beyond 700 the far end has no mass.
    exact = 1.0 / steep - 1.0 / np.expm1(np.minimum(steep, 700.0))
    return np.where(flat, 0.5 - rate / 12, exact)
