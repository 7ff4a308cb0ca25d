# SPDX-License-Identifier: BSD-3-Clause
"""Leakage of one player among independent players: finite, continuous, unknown and sampled priors."""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import exp, floor, inf, isfinite, log, sqrt
from typing import Any

import numpy as np
from scipy import integrate
from scipy.special import logsumexp

from ..._typing import FloatArray
from ...accounting._leakage import uniform_log_mean, worst_log_mean
from .broadcast_sensitivity import Distance, NormDistance
from .priors import is_interval, is_uniform

# Leakage of one player among independent players: finite, continuous and unknown priors.


@dataclass(frozen=True)
class LeakageBound:
    """A bound on a leakage, in nats.

    Attributes
    ----------
    value : float
        The bound.
    exact : bool
        Whether it is attained.
    lower : float or None
        A lower bound on the same leakage, where one is known.
    confidence : float or None
        Probability with which an estimate is a bound; None for a proven one.
    """

    value: float
    exact: bool
    lower: float | None = None
    confidence: float | None = None


class PlayerPrior(ABC):
    """The prior of one player's private vector."""

    @abstractmethod
    def leakage(self, distance: Distance) -> LeakageBound:
        """Return Theorem 1: the largest ``-log E exp(-D(r, r'))`` over r' in the support, or a bound."""

    @abstractmethod
    def corollary1(self, distance: Distance) -> LeakageBound:
        """Return Corollary 1: ``-log E exp(-max D(r, .))``, or a bound on it."""

    @abstractmethod
    def largest_distance(self, distance: Distance) -> LeakageBound:
        """Return Corollary 2: the largest D between two points of the support, or a bound on it."""


@dataclass(frozen=True, eq=False)
class FinitePlayerPrior(PlayerPrior):
    """Types of shape (m, n_dims) with probabilities of shape (m,), all positive."""

    types: FloatArray
    probabilities: FloatArray

    def leakage(self, distance: Distance) -> LeakageBound:
        """Try every type as r'."""
        table = np.log(self.probabilities)[:, None] - distance.between(self.types)
        return LeakageBound(max(0.0, float(-logsumexp(table, axis=0).min())), distance.exact)

    def corollary1(self, distance: Distance) -> LeakageBound:
        """Sum over all types r."""
        worst = distance.between(self.types).max(axis=1)
        return LeakageBound(max(0.0, float(-logsumexp(np.log(self.probabilities) - worst))), False)

    def largest_distance(self, distance: Distance) -> LeakageBound:
        """Try all pairs."""
        return LeakageBound(float(distance.between(self.types).max()), distance.exact)


@dataclass(frozen=True, eq=False)
class ContinuousPlayerPrior(PlayerPrior):
    """Independent coordinates, one frozen distribution for each.

    Notes
    -----
    If D separates into ``sum_j S_j |r_j - r_j'|``, the mean of exp(-D) is a product over coordinates, and so
    the leakages add: one search in one dimension per coordinate. Otherwise that sum is still at least D, and
    the result a bound. The search may end in a gap of the support, and the support's ends may be named too
    far out: values are exact only for distributions whose support is known to be an interval.
    """

    distributions: tuple[Any, ...]

    def leakage(self, distance: Distance) -> LeakageBound:
        """Add up the coordinates."""
        parts = [_coordinate_leakage(*pair) for pair in zip(self.distributions, distance.rates, strict=True)]
        value = sum(parts) + distance.allowance
        exact = distance.exact and distance.separable and self._has_known_support(distance)
        return LeakageBound(value if exact else min(value, self.largest_distance(distance).value), exact)

    def corollary1(self, distance: Distance) -> LeakageBound:
        """Add up the coordinates, or take the largest distance where that is less."""
        pairs = zip(self.distributions, distance.rates, strict=True)
        value = sum(_coordinate_leakage(*pair, corollary1=True) for pair in pairs) + distance.allowance
        return LeakageBound(min(value, self.largest_distance(distance).value), False)

    def largest_distance(self, distance: Distance) -> LeakageBound:
        """Take the box of the supports: its corners are limits of points of the support."""
        ends = np.array([item.support() for item in self.distributions], dtype=np.float64)
        value, exact = distance.largest(ends[:, 1] - ends[:, 0])
        return LeakageBound(value, exact and self._has_known_support(distance))

    def _has_known_support(self, distance: Distance) -> bool:
        """Whether the support is known to be a box, in all coordinates that move the broadcasts."""
        pairs = zip(self.distributions, distance.rates, strict=True)
        return all(rate == 0 or is_interval(distribution) for distribution, rate in pairs)


@dataclass(frozen=True, eq=False)
class BoxPlayerPrior(PlayerPrior):
    """Any prior on a box with sides of these lengths."""

    widths: FloatArray

    def leakage(self, distance: Distance) -> LeakageBound:
        """Return the largest distance: it bounds the leakage under every prior on the box."""
        return LeakageBound(distance.largest(self.widths)[0], False)

    corollary1 = leakage

    def largest_distance(self, distance: Distance) -> LeakageBound:
        """Return the largest distance."""
        return LeakageBound(*distance.largest(self.widths))


def _coordinate_leakage(distribution: Any, rate: float, corollary1: bool = False) -> float:
    """``-log E exp(-rate |r - z|)`` at the worst z; of corollary 1, of the distance from the farther end.

    That is half the width, and the distance from the middle.
    """
    low, high = distribution.support()
    if rate == 0 or low == high:
        return 0.0
    if not isfinite(rate) or not isfinite(high - low):
        return inf
    half, middle = rate * (high - low) / 2, (low + high) / 2
    if is_uniform(distribution):
        return (
            half + uniform_log_mean(float(half))
            if corollary1
            else uniform_log_mean(float(rate * (high - low)))
        )
    if not corollary1:
        with _ignore_quantile_warnings():
            return worst_log_mean(distribution, float(rate))[0]

    # Over probabilities: a quantile function is bounded where a density need not be.
    def gain(probability: float) -> float:
        return float(np.exp(-rate * abs(distribution.ppf(probability) - middle)))

    kink, accuracy = float(distribution.cdf(middle)), {"epsabs": 0.0, "epsrel": 1e-10, "limit": 200}
    with _ignore_quantile_warnings():
        pieces = [integrate.quad(gain, *ends, **accuracy) for ends in ((0.0, kink), (kink, 1.0))]
    # Less the estimated errors of the integrals.
    mean = sum(value - error for value, error in pieces)
    return half + min(half, -log(mean) if mean > 0 else inf)


@contextmanager
def _ignore_quantile_warnings() -> Iterator[None]:
    """SciPy warns where a quantile is below the smallest double, and returns that double."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        warnings.simplefilter("ignore", integrate.IntegrationWarning)
        yield


# Estimated leakage of one player, with a confidence, from samples of its prior.

# Points of the net of r' in all dimensions together.
_NET = 256
# A log-concave prior is tried at 2^n corners of its bounds.
_CORNER_DIMS = 8


@dataclass(frozen=True, eq=False)
class SampledPlayerPrior(PlayerPrior):
    """Samples of shape (n_samples, n_dims) of a distribution on a box.

    Notes
    -----
    D is a norm here, or replaced by the norm ``rates @ |r - r'|`` above it. For a fixed r' the mean of
    exp(-D(r, r')), in [0, 1], has the empirical Bernstein bound of Maurer and Pontil (2009): with probability
    1 - failure it is at least

        mean - sqrt(2 V log(2 / failure) / n) - 7 log(2 / failure) / (3 (n - 1)).

    The failures of all r' of a net and of all kinds of players add up to 1 - confidence. By the triangle
    inequality, -log of the mean at any r' exceeds that at the nearest r'' of the net by at most D(r', r'').
    For a log-concave density no net is needed: the mean is its convolution with exp(-D), log-concave too,
    hence log-concave in r', and on a box least at a corner.
    """

    samples: FloatArray
    lower: FloatArray
    upper: FloatArray
    log_concave: bool
    confidence: float
    n_kinds: int

    def leakage(self, distance: Distance) -> LeakageBound:
        """Take the worst point of the net, and add its radius."""
        if not np.isfinite(distance.rates).all():
            return self.largest_distance(distance)

        def distances_from(point: FloatArray) -> FloatArray:
            if isinstance(distance, NormDistance):
                return distance.of(self.samples - point)
            return np.abs(self.samples - point) @ distance.rates

        net, radius = self._net(distance.rates)
        failure = (1 - self.confidence) / (self.n_kinds * len(net))
        least = min(_least_mean(np.exp(-distances_from(point)), failure) for point in net)
        return self._at_most_certain(_minus_log(least) + radius + distance.allowance, distance)

    def corollary1(self, distance: Distance) -> LeakageBound:
        """Take the farthest corner of the bounds from every sample."""
        if not np.isfinite(distance.rates).all():
            return self.largest_distance(distance)
        farthest = np.maximum(self.samples - self.lower, self.upper - self.samples) @ distance.rates
        least = _least_mean(np.exp(-farthest), (1 - self.confidence) / self.n_kinds)
        return self._at_most_certain(_minus_log(least) + distance.allowance, distance)

    def largest_distance(self, distance: Distance) -> LeakageBound:
        """Take the box; its corners need not be in the support."""
        return LeakageBound(distance.largest(self.upper - self.lower)[0], False)

    def _at_most_certain(self, value: float, distance: Distance) -> LeakageBound:
        """Return the estimate, or the proven bound where that is not larger."""
        certain = self.largest_distance(distance)
        return certain if certain.value <= value else LeakageBound(value, False, confidence=self.confidence)

    def _net(self, rates: FloatArray) -> tuple[FloatArray, float]:
        n, widths = len(self.lower), self.upper - self.lower
        if self.log_concave and n <= _CORNER_DIMS:
            corners = np.arange(2**n)[:, None] >> np.arange(n) & 1
            return self.lower + corners * widths, 0.0
        per_side = max(1, floor(_NET ** (1 / n)))
        centres = (np.arange(per_side) + 0.5) / per_side
        grid = np.stack(np.meshgrid(*[centres] * n, indexing="ij"), axis=-1).reshape(-1, n)
        return self.lower + grid * widths, float(rates @ widths) / (2 * per_side)


def _least_mean(values: FloatArray, failure: float) -> float:
    n, penalty = len(values), log(2 / failure)
    variance = float(values.var(ddof=1))
    return float(values.mean()) - sqrt(2 * variance * penalty / n) - 7 * penalty / (3 * (n - 1))


def _minus_log(mean: float) -> float:
    return -log(mean) if mean > exp(-700) else inf
