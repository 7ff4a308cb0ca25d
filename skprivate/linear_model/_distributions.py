# SPDX-License-Identifier: BSD-3-Clause
"""Distributions of the standardised error: smallest extreme value, logistic, normal; and clipped errors."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from .._typing import FloatArray
from ..metrics._probabilities import exp
from ..utils._public_module import public_module

# Distributions of the standardised error: smallest extreme value, logistic and normal.


@dataclass(frozen=True)
class ErrorDistribution(ABC):
    """Distribution of the standardised error Z: y = mu(x) + scale * Z. The location mu is not the mean.

    Methods take arrays of any shape; -inf and inf are allowed if the distribution has a limit there.

    Attributes
    ----------
    name : str
        Name of the distribution on the scale of the model.
    mean, variance : float
        Mean and variance of Z.
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
        """Return the mean of exp(mu + sigma Z): the mean time. It is inf if it does not exist."""

    def hazard(self, z: ArrayLike) -> FloatArray:
        """Return the hazard, the density over the survival, at finite z."""
        return np.exp(self.log_density(z) - self.log_survival(z))


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


# Their moments are exact: kurtosis 5.4 and 4.2 are 3 + 12/5 and 3 + 6/5.
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


# Means of clipped errors under a distribution, and location and scale from them.

# Number of equally likely errors: the means of clipped ones are exact within 1e-6.
_N_NODES = 4000
# Clips that are tried, in standard deviations of the errors. Below the least nothing is gained, as the noise
# over the share of unclipped rows has a limit. Beyond the largest errors are rare.
_CLIPS = np.geomspace(0.3, 3.0, 16)
# Largest change of the scale by one look, as a factor, so that noise cannot spoil the next look. Set by hand.
_FACTOR = 4.0
# Newton steps to location and scale. Set by hand.
_STEPS = 25


@dataclass(frozen=True, eq=False)
class ClippedErrors:
    """A distribution of clipped errors.

    Attributes
    ----------
    errors : ndarray of shape (n_nodes,)
        They are equally likely.
    std : float
        Standard deviation of the error.
    """

    errors: FloatArray
    std: float

    @lru_cache(maxsize=64)  # noqa: B019 - distributions are few, and kept
    def center(self, clip: float) -> float:
        """Return the centre about which the mean of errors, clipped to [-clip, clip], is 0."""
        # The mean falls with the centre; a bisection needs no derivative.
        low, high = float(self.errors[0]), float(self.errors[-1])
        for _ in range(60):
            middle = 0.5 * (low + high)
            if np.clip(self.errors - middle, -clip, clip).mean() > 0.0:
                low = middle
            else:
                high = middle
        return 0.5 * (low + high)

    def choose_clip(self, scale: float, own: float, noise: float) -> float:
        """Return the clip at which slopes are most precise.

        Parameters
        ----------
        scale : float
        own : float
            Variance of a sum of errors times features, over that of one error: of the rows themselves.
        noise : float
            Variance of the noise of this sum, over the square of the clip.

        Notes
        -----
        A sum of clipped residuals has the variance own E[clipped^2] + noise clip^2, and moves in proportion
        to the share of unclipped rows. The variance over the square of this share is minimised.
        """
        clips, squares, shares = self._table
        best = np.argmin((own * squares + noise * clips**2) / shares**2)
        return float(scale * clips[best])

    @cached_property
    def _table(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return clips, mean squares of clipped errors of scale 1, and shares of unclipped errors."""
        clips = _CLIPS * self.std
        squares = [self.spread(1.0, clip)[0, 0] for clip in clips]
        return clips, np.array(squares), np.array([self.share(1.0, clip) for clip in clips])

    def locate(self, mean: float, square: float, clip: float, scale: float) -> tuple[float, float]:
        """Return shift and scale of errors whose clipped mean and mean square are given.

        Parameters
        ----------
        mean, square : float
            Of residuals clipped to [-clip, clip]; noisy.
        clip : float
        scale : float
            Scale by which the centre of the clip was chosen: residuals are those about
            ``location + scale * center(clip / scale)``.

        Returns
        -------
        shift : float
            Of the location, within the clip.
        scale : float
            Within a factor of 4.
        """
        start = self.center(clip / scale) * scale
        shift, log_factor = 0.0, 0.0
        limit = np.log(_FACTOR)
        for _ in range(_STEPS):
            values, jacobian = self._means(scale * np.exp(log_factor), shift - start, clip)
            # The diagonal keeps a step finite if hardly any error is unclipped.
            step = np.linalg.solve(
                jacobian.T @ jacobian + 1e-6 * np.diag([1.0, clip**2]),
                jacobian.T @ (np.array([mean, square]) - values),
            )
            shift = float(np.clip(shift + np.clip(step[0], -0.5 * clip, 0.5 * clip), -clip, clip))
            log_factor = float(np.clip(log_factor + np.clip(step[1], -0.5, 0.5), -limit, limit))
        return shift, float(scale * np.exp(log_factor))

    def jacobian(self, scale: float, clip: float) -> FloatArray:
        """Return derivatives of the clipped mean and mean square in location and log scale, at the centre."""
        return self._means(scale, -self.center(clip / scale) * scale, clip)[1]

    def share(self, scale: float, clip: float) -> float:
        """Return the share of unclipped rows about the centre."""
        k = clip / scale
        return float(np.mean(np.abs(self.errors - self.center(k)) < k))

    def spread(self, scale: float, clip: float) -> FloatArray:
        """Return the covariance matrix of a clipped residual about the centre and of its square."""
        k = clip / scale
        r = scale * np.clip(self.errors - self.center(k), -k, k)
        return np.cov(r, r**2, bias=True)

    def _means(self, scale: float, shift: float, clip: float) -> tuple[FloatArray, FloatArray]:
        u = scale * self.errors + shift
        inside = np.abs(u) < clip
        r = np.clip(u, -clip, clip)
        grown = scale * self.errors * inside
        jacobian = np.array(
            [[inside.mean(), grown.mean()], [2 * (r * inside).mean(), 2 * (r * grown).mean()]]
        )
        return np.array([r.mean(), (r**2).mean()]), jacobian


@lru_cache(maxsize=8)
def clipped_errors(distribution: ErrorDistribution) -> ClippedErrors:
    """Return the clipped errors of a distribution."""
    errors = distribution.quantile((np.arange(_N_NODES) + 0.5) / _N_NODES)
    return ClippedErrors(errors, float(np.sqrt(distribution.variance)))
