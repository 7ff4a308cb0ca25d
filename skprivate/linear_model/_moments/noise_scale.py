# SPDX-License-Identifier: BSD-3-Clause
"""The integer scales of the discrete noise of a fit."""

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, isqrt, sqrt
from typing import Any

import numpy as np

from ..._typing import FloatArray, IndexArray, IntArray
from ...accounting import ReleaseRecord
from ...noise import DiscreteGaussianMechanism, DiscreteLaplaceMechanism

# Sigmas of weight 1 are multiples of 1 / _ONE in statements: whole numbers would say up to 1 too much.
_ONE = 2**20


@dataclass(frozen=True, eq=False)
class NoiseScales:
    """Scales of the discrete noise of one release.

    Attributes
    ----------
    mechanism : {"laplace", "gaussian"}
        Discrete Laplace noise of scale ``scales``, or discrete Gaussian noise of sigma ``scales``.
    scales : ndarray of int64
        Of the shape of the integers to be released.
    sensitivity : Fraction
        L1, or squared L2, of the weighted integers.
    amount : Fraction
        Of epsilon, or rho.
    """

    mechanism: str
    scales: IntArray
    sensitivity: Fraction
    amount: Fraction

    @property
    def std(self) -> FloatArray:
        """Standard deviation of the noise of every integer."""
        values, inverse = np.unique(self.scales, return_inverse=True)
        stds = np.array([sqrt(self._mechanism(int(value)).variance) for value in values])
        return stds[inverse].reshape(self.scales.shape)

    def describe(self, name: str) -> ReleaseRecord:
        """Return the record of the release; its scale is the least that entries of weight 1 have."""
        draws = len(np.unique(self.scales))
        if self.mechanism == "laplace":
            kind, scale, unit = "discrete Laplace", self.sensitivity / self.amount, "epsilon"
        else:
            kind, unit = "discrete Gaussian", "rho"
            scale = Fraction(root_above(self.sensitivity / (2 * self.amount) * _ONE**2), _ONE)
        shares: dict[str, Any] = {unit: self.amount}
        return ReleaseRecord(
            name=name,
            mechanism=kind,
            sensitivity=self.sensitivity,
            noise_scale=scale,
            draws=draws,
            **shares,
        )

    def randomize(self, values: IntArray, entropy: Any) -> IntArray:
        """Return the integers with noise."""
        released = np.empty(self.scales.shape, dtype=np.int64)
        for scale in np.unique(self.scales):
            same = self.scales == scale
            released[same] = self._mechanism(int(scale)).randomize(values[same], entropy)
        return released

    def _mechanism(self, scale: int) -> DiscreteLaplaceMechanism | DiscreteGaussianMechanism:
        if self.mechanism == "laplace":
            return DiscreteLaplaceMechanism.from_scale(scale)
        return DiscreteGaussianMechanism.from_sigma(scale)


def laplace_scales(
    weights: list[Fraction], codes: IndexArray, sensitivity: Fraction, epsilon: Fraction
) -> NoiseScales:
    """Return the scales of discrete Laplace noise on integers of different weights.

    Parameters
    ----------
    weights : list of Fraction
        c > 0, of every class of integers.
    codes : ndarray of int
        Class of every integer f_i.
    sensitivity : Fraction
        Largest sum of c_i |f_i - f'_i| over neighbours.
    epsilon : Fraction

    Notes
    -----
    With scales t_i >= sensitivity / (c_i epsilon) the loss is at most
    sum |f_i - f'_i| / t_i <= epsilon sum c_i |f_i - f'_i| / sensitivity <= epsilon.
    """
    scales = [ceil(sensitivity / (weight * epsilon)) for weight in weights]
    return NoiseScales("laplace", np.array(scales, dtype=np.int64)[codes], sensitivity, epsilon)


def gaussian_scales(
    squared_weights: list[Fraction], codes: IndexArray, squared_sensitivity: Fraction, rho: Fraction
) -> NoiseScales:
    """Return the sigmas of discrete Gaussian noise on integers of different weights.

    Parameters
    ----------
    squared_weights : list of Fraction
        c^2 > 0, of every class of integers.
    codes : ndarray of int
        Class of every integer f_i.
    squared_sensitivity : Fraction
        Largest sum of c_i^2 (f_i - f'_i)^2 over neighbours.
    rho : Fraction

    Notes
    -----
    The divergence of order alpha is at most alpha sum (f_i - f'_i)^2 / (2 sigma_i^2); with
    sigma_i^2 >= squared_sensitivity / (2 rho c_i^2) that is at most alpha rho.
    """
    variance = squared_sensitivity / (2 * rho)
    sigmas = [root_above(variance / weight) for weight in squared_weights]
    return NoiseScales("gaussian", np.array(sigmas, dtype=np.int64)[codes], squared_sensitivity, rho)


def root_above(square: Fraction) -> int:
    """Return the least integer whose square is at least this number above 0."""
    return isqrt(ceil(square) - 1) + 1
