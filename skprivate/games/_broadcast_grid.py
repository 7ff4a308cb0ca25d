# SPDX-License-Identifier: BSD-3-Clause
"""The grid of the broadcasts: fine against the noise, and within 64-bit integers."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

_WANTED = 40  # log2 of the smallest noise scale in grid units
# Of the largest broadcast in grid units, so that sums fit 64 bits; less the margin, of the noise too: the
# sampler takes scales up to 2^52.
_ROOM = 59
_MARGIN = 12  # log2 of how far broadcasts may leave what is known of noise and strategies


@dataclass(frozen=True)
class Grid:
    """Broadcasts are multiples of ``2**-exponent``; scales are whole numbers of them.

    Attributes
    ----------
    exponent : int
        Of the step.
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
        """Steps in one unit."""
        return float(np.ldexp(1.0, self.exponent))

    @property
    def noise_scales(self) -> FloatArray:
        """The scales in units, as they are."""
        return np.ldexp(self.scales.astype(np.float64), -self.exponent)


def make_grid(noise_scales: FloatArray, reach: float) -> Grid | None:
    """Choose the grid; None if a round has no noise.

    Parameters
    ----------
    noise_scales : ndarray of shape (n_rounds,)
        Laplace scales, at least 0.
    reach : float
        Largest magnitude of public starting points and bounds, above 0.

    Raises
    ------
    ValueError
        The noise differs between rounds, or from the strategies, by more than the sampler can represent.
    """
    if (noise_scales == 0).any():
        return None
    smallest, largest = np.log2(noise_scales.min()), np.log2(noise_scales.max())
    span = int(np.ceil(max(largest, np.log2(reach))))
    exponent = int(np.floor(min(_WANTED - smallest, _ROOM - _MARGIN - span)))
    scales = np.ceil(np.ldexp(noise_scales, exponent))
    if scales.min() < 2**10 or abs(exponent) > 900:
        raise ValueError(
            "noise_scale spans too many orders of magnitude, between rounds or to the strategies."
        )
    return Grid(exponent, scales.astype(np.int64), float(np.ldexp(1.0, span + _MARGIN)))
