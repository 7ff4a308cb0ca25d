# SPDX-License-Identifier: BSD-3-Clause
"""The budget of a fit, and the integer scales of its discrete noise."""

import functools
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, isqrt, sqrt
from typing import Any

import numpy as np

from ..._typing import FloatArray, IndexArray, IntArray
from ...noise import DiscreteGaussianMechanism, DiscreteLaplaceMechanism, zcdp_to_epsilon
from ...utils import check_epsilon, check_probability

# Squared sensitivity for an epsilon above the key. Rho depends on the ratio of noise and sensitivity alone:
# with a large sensitivity the rounding of sigma is negligible, with a tiny epsilon a smaller one keeps sigma
# in range.
_SENSITIVITIES = {Fraction(1, 2**4): 2**80, Fraction(0): 2**40}


@dataclass(frozen=True)
class FitBudget:
    """Budget of a fit: epsilon for Laplace noise, rho for Gaussian noise.

    Attributes
    ----------
    mechanism : {"laplace", "gaussian"}
        Which noise.
    amount : Fraction
        Epsilon, or rho of zero-concentrated differential privacy: both add up over releases.
    epsilon, delta : Fraction
        The guarantee that `amount` gives; epsilon is never above the request.
    """

    mechanism: str
    amount: Fraction
    epsilon: Fraction
    delta: Fraction

    @classmethod
    def of(cls, epsilon: Any, delta: Any, mechanism: str) -> "FitBudget":
        """Turn a request into a budget.

        Raises
        ------
        ValueError
            epsilon is not positive; delta is outside [0, 1), or is 0 with Gaussian noise.
        """
        request, probability = check_epsilon(epsilon), check_probability(delta, "delta")
        if mechanism == "laplace":
            # Not needed, so not spent; a search over mechanisms may pass one to both.
            return cls(mechanism, request, request, Fraction(0))
        if not probability:
            raise ValueError("mechanism='gaussian' needs a delta above 0, such as 1e-6.")
        return cls(mechanism, *_rho_and_epsilon(request, probability), probability)

    @property
    def rho(self) -> Fraction | None:
        """Rho, with Gaussian noise."""
        return self.amount if self.mechanism == "gaussian" else None


# A pure function of public numbers, which takes longer than the rest of the plan of a fit.
@functools.lru_cache(maxsize=256)
def _rho_and_epsilon(request: Fraction, delta: Fraction) -> tuple[Fraction, Fraction]:
    """Return the largest rho of a request that the rounding of sigma leaves, and its epsilon."""
    fine = next(size for least, size in _SENSITIVITIES.items() if request > least)
    rho = DiscreteGaussianMechanism(epsilon=request, delta=delta, squared_sensitivity=fine).rho
    return rho, zcdp_to_epsilon(rho, delta)


@dataclass(frozen=True, eq=False)
class NoiseScales:
    """Scales of the discrete noise of one release.

    Attributes
    ----------
    mechanism : {"laplace", "gaussian"}
        Discrete Laplace noise of scale ``scales``, or discrete Gaussian noise of sigma ``scales``.
    scales : ndarray of int64
        Of the shape of the integers to be released.
    """

    mechanism: str
    scales: IntArray

    @property
    def std(self) -> FloatArray:
        """Standard deviation of the noise of every integer."""
        values, inverse = np.unique(self.scales, return_inverse=True)
        stds = np.array([sqrt(self._mechanism(int(value)).variance) for value in values])
        return stds[inverse].reshape(self.scales.shape)

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
    return NoiseScales("laplace", np.array(scales, dtype=np.int64)[codes])


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
    return NoiseScales("gaussian", np.array(sigmas, dtype=np.int64)[codes])


def root_above(square: Fraction) -> int:
    """Return the least integer whose square is at least this number above 0."""
    return isqrt(ceil(square) - 1) + 1
