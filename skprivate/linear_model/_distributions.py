# SPDX-License-Identifier: BSD-3-Clause
"""The laws of the error: smallest extreme value, logistic and normal, in location-scale form."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from ..utils._public_module import public_module

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Family(ABC):
    """A standard law Z: the model is y = mu(x) + scale * Z, with mu the location, not the mean.

    Methods take arrays of any shape; -inf and inf are allowed where the law has a limit there.

    Attributes
    ----------
    name : str
        Of the law on the scale of the model.
    mean, variance : float
        Of Z.
    curvature : float
        Minus the second derivative of the log density at 0, the mode of all three laws.
    skewness, kurtosis : float
        Third and fourth moment of Z about its mean, in standard deviations.
    """

    name: str
    mean: float = field(repr=False)
    variance: float = field(repr=False)
    curvature: float = field(repr=False)
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
class SmallestExtremeValue(Family):
    """Law of the smallest of many values (Gumbel minimum): the logarithm of a Weibull time."""

    @np.errstate(divide="ignore")
    def quantile(self, p: ArrayLike) -> FloatArray:
        return np.log(-np.log1p(-_floats(p)))

    @np.errstate(over="ignore")
    def log_survival(self, z: ArrayLike) -> FloatArray:
        return -np.exp(_floats(z))

    def survival(self, z: ArrayLike) -> FloatArray:
        return np.exp(self.log_survival(z))

    def log_density(self, z: ArrayLike) -> FloatArray:
        return _floats(z) + self.log_survival(z)

    @np.errstate(over="ignore")
    def mean_of_exp(self, mu: ArrayLike, sigma: ArrayLike) -> FloatArray:
        return np.exp(_floats(mu) + special.gammaln(1.0 + _floats(sigma)))


@public_module("skprivate.linear_model")
class Logistic(Family):
    """Logistic law: the logarithm of a log-logistic time."""

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
        return np.exp(_floats(mu) + np.log(np.where(exists, factor, np.inf)))


@public_module("skprivate.linear_model")
class Normal(Family):
    """Normal law: the logarithm of a log-normal time."""

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
        return np.exp(_floats(mu) + 0.5 * _floats(sigma) ** 2)


def _floats(values: ArrayLike) -> FloatArray:
    return np.asarray(values, dtype=np.float64)


SEV: Family = SmallestExtremeValue(
    "sev",
    mean=-float(np.euler_gamma),
    variance=np.pi**2 / 6,
    curvature=1.0,
    skewness=float(-12.0 * np.sqrt(6.0) * special.zeta(3.0) / np.pi**3),
    kurtosis=5.4,
)
LOGISTIC: Family = Logistic(
    "logistic", mean=0.0, variance=np.pi**2 / 3, curvature=0.5, skewness=0.0, kurtosis=4.2
)
NORMAL: Family = Normal("normal", mean=0.0, variance=1.0, curvature=1.0, skewness=0.0, kurtosis=3.0)

# Distribution of the target -> law of the error, and whether the model is about log time.
_FAMILIES = {
    "weibull": (SEV, True),
    "loglogistic": (LOGISTIC, True),
    "lognormal": (NORMAL, True),
    "sev": (SEV, False),
    "logistic": (LOGISTIC, False),
    "normal": (NORMAL, False),
}

#: Names that `family_of` knows.
DISTRIBUTIONS = tuple(_FAMILIES)


def family_of(distribution: Any) -> tuple[Family, bool]:
    """Find the law of the error and the scale of the model.

    Parameters
    ----------
    distribution : {"weibull", "loglogistic", "lognormal", "sev", "logistic", "normal"}

    Returns
    -------
    family : Family
    log_target : bool
        Whether the model is about the logarithm of the target.

    Raises
    ------
    ValueError
        Unknown distribution.

    Examples
    --------
    >>> from skprivate.linear_model._distributions import family_of
    >>> family, log_target = family_of("weibull")
    >>> family.name, log_target
    ('sev', True)
    >>> bool(abs(family.survival(family.quantile(0.1)) - 0.9) < 1e-12)
    True
    """
    if distribution not in DISTRIBUTIONS:
        raise ValueError(f"distribution must be one of {', '.join(DISTRIBUTIONS)}, not {distribution!r}.")
    return _FAMILIES[distribution]
