# SPDX-License-Identifier: BSD-3-Clause
"""Survival functions and cumulative hazard functions of rows."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from ..._typing import FloatArray
from .._distributions import ErrorDistribution


@dataclass(frozen=True, kw_only=True)
class PredictedCurve(ABC):
    """Base of a row's curves: functions of time, called with a scalar or an array.

    Attributes
    ----------
    distribution : ErrorDistribution
        Distribution of the error.
    location, scale : float
        On the scale of the model.
    log_target : bool
        Whether that scale is log time.
    x : ndarray of shape (n_points,)
        Times of the grid; the function is exact between them too.

    Raises
    ------
    ValueError
        When called with a time that is not finite, or is outside the domain.
    """

    distribution: ErrorDistribution
    location: float
    scale: float
    log_target: bool
    x: FloatArray = field(compare=False, repr=False)

    @property
    def y(self) -> FloatArray:
        """The curve at the times of the grid."""
        return self(self.x)

    @property
    def domain(self) -> tuple[float, float]:
        """Times that the curve takes: from 0 for life distributions, all numbers otherwise."""
        return (0.0 if self.log_target else -math.inf, math.inf)

    def __call__(self, times: ArrayLike) -> FloatArray:
        """Return the curve at some times, in their shape."""
        times = np.asarray(times, dtype=np.float64)
        if not np.isfinite(times).all():
            raise ValueError("times must be finite.")
        if (times < self.domain[0]).any():
            raise ValueError("times must be at least 0.")
        z = standardized(times, self.location, self.scale, self.log_target)
        return self.of_errors(self.distribution, z)

    @staticmethod
    @abstractmethod
    def of_errors(distribution: ErrorDistribution, z: FloatArray) -> FloatArray:
        """Return the curve as a function of the standardised error."""


class SurvivalFunction(PredictedCurve):
    """Probability that the event comes later than a time.

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate.linear_model._predictions.survival_curves import SurvivalFunction
    >>> from skprivate.linear_model._distributions import SEV
    >>> weibull = SurvivalFunction(
    ...     distribution=SEV, location=np.log(100.0), scale=0.5, log_target=True, x=np.array([10.0, 200.0])
    ... )
    >>> weibull([0.0, 100.0, 200.0]).round(3), weibull.y.round(3)
    (array([1.   , 0.368, 0.018]), array([0.99 , 0.018]))
    """

    @staticmethod
    def of_errors(distribution: ErrorDistribution, z: FloatArray) -> FloatArray:
        return distribution.survival(z)


class CumulativeHazardFunction(PredictedCurve):
    """Minus the logarithm of the probability that the event comes later than a time."""

    @staticmethod
    def of_errors(distribution: ErrorDistribution, z: FloatArray) -> FloatArray:
        return -distribution.log_survival(z)


@np.errstate(divide="ignore", over="ignore")
def standardized(
    times: FloatArray, location: float | FloatArray, scale: float | FloatArray, log_target: bool
) -> FloatArray:
    """Return the error (time - location) / scale on the scale of the model; time 0 has log -inf."""
    on_scale = np.log(times) if log_target else times
    errors: FloatArray = (on_scale - location) / scale
    return errors
