# SPDX-License-Identifier: BSD-3-Clause
"""Distributions of the standardised error: smallest extreme value, logistic and normal."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from .._typing import FloatArray
from ..metrics._row_arithmetic import exp
from ..utils._public_module import public_module


@dataclass(frozen=True)
class ErrorDistribution(ABC):
    """Distribution of the standardised error Z: y = mu(x) + scale * Z, with mu the location, not the mean.

    Methods take arrays of any shape; -inf and inf are allowed where the distribution has a limit there.

    Attributes
    ----------
    name : str
        Name of the distribution on the scale of the model.
    mean, variance : float
        Of Z.
    skewness, kurtosis : float
        Third and fourth moment of Z about its mean, in standard deviations.
    """

    name: str
    mean: float = field(repr=False)
    variance: float = field(repr=False)
    skewness: float = field(repr=False)
    kurtosis: float = field(repr=False)

    @abstractmethod
    def quantile(self, p: ArrayLike) -> FloatArray:
        """Return the p-quantile of Z."""

    @abstractmethod
    def log_survival(self, z: ArrayLike) -> FloatArray:
        """Return log P(Z > z)."""

    @abstractmethod
    def survival(self, z: ArrayLike) -> FloatArray:
        """Return P(Z > z)."""

    @abstractmethod
    def log_density(self, z: ArrayLike) -> FloatArray:
        """Return the logarithm of the density at finite z."""

    @abstractmethod
    def mean_of_exp(self, mu: ArrayLike, sigma: ArrayLike) -> FloatArray:
        """Return the mean of exp(mu + sigma Z): the mean time. It is inf where it does not exist."""


@public_module("skprivate.linear_model")
class SmallestExtremeValue(ErrorDistribution):
    """Smallest extreme value distribution (Gumbel, for minima): the logarithm of a Weibull time."""

    @np.errstate(divide="ignore")
    def quantile(self, p: ArrayLike) -> FloatArray:
        return np.log(-np.log1p(-_floats(p)))

    def log_survival(self, z: ArrayLike) -> FloatArray:
        return -exp(_floats(z))

    def survival(self, z: ArrayLike) -> FloatArray:
        return exp(self.log_survival(z))

    def log_density(self, z: ArrayLike) -> FloatArray:
        return _floats(z) + self.log_survival(z)

    @np.errstate(over="ignore")
    def mean_of_exp(self, mu: ArrayLike, sigma: ArrayLike) -> FloatArray:
        return exp(_floats(mu) + special.gammaln(1.0 + _floats(sigma)))


@public_module("skprivate.linear_model")
class Logistic(ErrorDistribution):
    """Logistic distribution: the logarithm of a log-logistic time."""

    def quantile(self, p: ArrayLike) -> FloatArray:
        return special.logit(_floats(p))

    def log_survival(self, z: ArrayLike) -> FloatArray:
        return special.log_expit(-_floats(z))

    def survival(self, z: ArrayLike) -> FloatArray:
        return special.expit(-_floats(z))

    def log_density(self, z: ArrayLike) -> FloatArray:
        distance = np.abs(_floats(z))
        return -distance - 2.0 * np.log1p(np.exp(-distance))

    @np.errstate(over="ignore")
    def mean_of_exp(self, mu: ArrayLike, sigma: ArrayLike) -> FloatArray:
        sigma = _floats(sigma)
        exists = sigma < 1.0
        # sin(pi s) = sin(pi (1 - s)), and the smaller angle is the exact one.
        angle = np.pi * np.where(exists, np.minimum(sigma, 1.0 - sigma), 0.5)
        factor = np.where(sigma > 0.0, np.pi * sigma / np.where(angle > 0.0, np.sin(angle), 1.0), 1.0)
        return exp(_floats(mu) + np.log(np.where(exists, factor, np.inf)))


@public_module("skprivate.linear_model")
class Normal(ErrorDistribution):
    """Normal distribution: the logarithm of a log-normal time."""

    def quantile(self, p: ArrayLike) -> FloatArray:
        return special.ndtri(_floats(p))

    def log_survival(self, z: ArrayLike) -> FloatArray:
        return special.log_ndtr(-_floats(z))

    def survival(self, z: ArrayLike) -> FloatArray:
        return special.ndtr(-_floats(z))

    @np.errstate(over="ignore")
    def log_density(self, z: ArrayLike) -> FloatArray:
        return -0.5 * _floats(z) ** 2 - 0.5 * np.log(2.0 * np.pi)

    @np.errstate(over="ignore")
    def mean_of_exp(self, mu: ArrayLike, sigma: ArrayLike) -> FloatArray:
        return exp(_floats(mu) + 0.5 * _floats(sigma) ** 2)


def _floats(values: ArrayLike) -> FloatArray:
    return np.asarray(values, dtype=np.float64)


SEV: ErrorDistribution = SmallestExtremeValue(
    "sev",
    mean=-float(np.euler_gamma),
    variance=np.pi**2 / 6,
    skewness=float(-12.0 * np.sqrt(6.0) * special.zeta(3.0) / np.pi**3),
    kurtosis=5.4,
)
LOGISTIC: ErrorDistribution = Logistic(
    "logistic", mean=0.0, variance=np.pi**2 / 3, skewness=0.0, kurtosis=4.2
)
NORMAL: ErrorDistribution = Normal("normal", mean=0.0, variance=1.0, skewness=0.0, kurtosis=3.0)

# Distribution of the target -> that of the error, and whether the model is about log time.
_BY_TARGET = {
    "weibull": (SEV, True),
    "loglogistic": (LOGISTIC, True),
    "lognormal": (NORMAL, True),
    "sev": (SEV, False),
    "logistic": (LOGISTIC, False),
    "normal": (NORMAL, False),
}

#: Distributions of the target, by the names that the regressors take.
DISTRIBUTIONS = tuple(_BY_TARGET)


def error_distribution_of(name: Any) -> ErrorDistribution:
    """Return the distribution of the error for a distribution of the target.

    Parameters
    ----------
    name : {"weibull", "loglogistic", "lognormal", "sev", "logistic", "normal"}
        Distribution of the target.

    Raises
    ------
    ValueError
        Unknown distribution.

    Examples
    --------
    >>> from skprivate.linear_model._distributions import error_distribution_of
    >>> distribution = error_distribution_of("weibull")
    >>> distribution.name
    'sev'
    >>> bool(abs(distribution.survival(distribution.quantile(0.1)) - 0.9) < 1e-12)
    True
    """
    return _look_up(name)[0]


def models_log_target(name: Any) -> bool:
    """Return whether the model of a distribution of the target is about the target's logarithm.

    Parameters and errors are those of `error_distribution_of`.

    Examples
    --------
    >>> from skprivate.linear_model._distributions import models_log_target
    >>> models_log_target("weibull"), models_log_target("sev")
    (True, False)
    """
    return _look_up(name)[1]


def _look_up(name: Any) -> tuple[ErrorDistribution, bool]:
    if name not in DISTRIBUTIONS:
        raise ValueError(f"distribution must be one of {', '.join(DISTRIBUTIONS)}, not {name!r}.")
    return _BY_TARGET[name]
