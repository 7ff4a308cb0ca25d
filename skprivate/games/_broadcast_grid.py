# SPDX-License-Identifier: BSD-3-Clause
"""The grid of the broadcasts: its step and its range, so that sums fit 64-bit integers."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

# log2 of the smallest noise scale in steps: what the grid adds to epsilon is then about 2^-40 of it.
_LOG2_RESOLUTION = 40
# log2 of the largest broadcast in steps, so that sums fit 64 bits.
_LOG2_RANGE = 59
# log2 of how far broadcasts may leave the public range of noise and strategies. The noise has this margin
# too, as the sampler takes scales up to 2^52 only.
_LOG2_MARGIN = 12
# In steps: a scale that is rounded up to a whole number of steps grows by less than a thousandth.
_LEAST_SCALE = 2**10
# Powers of two beyond this, times numbers near 1, leave the range of doubles (2^1023) or come close.
_MOST_EXPONENT = 900


@dataclass(frozen=True)
class Grid:
    """Broadcasts are multiples of ``2**-exponent``; scales are whole numbers of them.

    Attributes
    ----------
    exponent : int
        The step is ``2**-exponent``.
    scales : ndarray of int64 of shape (n_rounds,)
        Noise scale of every round in steps, rounded up.
    limit : float
        A run ends where a broadcast, or what an estimate takes from broadcasts, leaves -limit to limit.
    """

    exponent: int
    scales: NDArray[np.int64]
    limit: float

    @property
    def steps(self) -> float:
        """Number of steps in one unit of the strategies."""
        return float(np.ldexp(1.0, self.exponent))

    @property
    def noise_scales(self) -> FloatArray:
        """The scales in units of the strategies, after rounding."""
        return np.ldexp(self.scales.astype(np.float64), -self.exponent)


def make_grid(noise_scales: FloatArray, public_magnitude: float) -> Grid | None:
    """Choose the grid; None if a round has no noise.

    Parameters
    ----------
    noise_scales : ndarray of shape (n_rounds,)
        Laplace scales, at least 0.
    public_magnitude : float
        Largest magnitude of public starting points and bounds, above 0.

    Raises
    ------
    ValueError
        The noise differs between rounds, or from the strategies, by more than the sampler can represent.
    """
    if (noise_scales == 0).any():
        return None
    smallest, largest = np.log2(noise_scales.min()), np.log2(noise_scales.max())
    span = int(np.ceil(max(largest, np.log2(public_magnitude))))
    exponent = int(np.floor(min(_LOG2_RESOLUTION - smallest, _LOG2_RANGE - _LOG2_MARGIN - span)))
    scales = np.ceil(np.ldexp(noise_scales, exponent))
    if scales.min() < _LEAST_SCALE or abs(exponent) > _MOST_EXPONENT:
        raise ValueError(
            "noise_scale spans too many orders of magnitude, between rounds or to the strategies."
        )
    return Grid(exponent, scales.astype(np.int64), float(np.ldexp(1.0, span + _LOG2_MARGIN)))
