# SPDX-License-Identifier: BSD-3-Clause
"""Estimated leakage of one player, with a confidence, from samples of its prior."""

from dataclasses import dataclass
from math import exp, floor, inf, log, sqrt

import numpy as np
from numpy.typing import NDArray

from .independent import LeakageBound, PlayerPrior
from .sensitivity import Distance, NormDistance

FloatArray = NDArray[np.float64]

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
    inequality -log of the mean at any r' is at most D(r', r'') more than at the nearest r'' of the net. For a
    log-concave density no net is needed: the mean is its convolution with exp(-D), log-concave too, hence
    log-concave in r', and on a box least at a corner.
    """

    samples: FloatArray
    lower: FloatArray
    upper: FloatArray
    log_concave: bool
    confidence: float
    n_kinds: int

    def leakage(self, distance: Distance) -> LeakageBound:
        """Take the worst point of the net, and pay for its radius."""
        if not np.isfinite(distance.rates).all():
            return self.largest_distance(distance)
        net, radius = self._net(distance.rates)
        failure = (1 - self.confidence) / (self.n_kinds * len(net))
        least = min(
            _least_mean(_exp_minus_distance(distance, self.samples - point), failure) for point in net
        )
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


def _exp_minus_distance(distance: Distance, differences: FloatArray) -> FloatArray:
    if isinstance(distance, NormDistance):
        return np.exp(-distance.of(differences))
    return np.exp(-np.abs(differences) @ distance.rates)


def _least_mean(values: FloatArray, failure: float) -> float:
    n, penalty = len(values), log(2 / failure)
    variance = float(values.var(ddof=1))
    return float(values.mean()) - sqrt(2 * variance * penalty / n) - 7 * penalty / (3 * (n - 1))


def _minus_log(mean: float) -> float:
    return -log(mean) if mean > exp(-700) else inf
