# SPDX-License-Identifier: BSD-3-Clause
"""Weight of public rows against private ones, from how far their labels are from the released estimates."""

import math
from dataclasses import dataclass

import numpy as np

from ..._typing import FloatArray
from ...utils._posteriors.truncated_normal import truncated_mean
from .leaf_counts import LeafCounts, estimate_shares

# These are evaluated in benchmarks/figures/trees/depth_and_weight.py.
#: Least estimate of the drift, the mean square of what public labels differ by from private ones, in units of
#: one row's own variance.
LEAST_DRIFT = 0.003
# Below it public labels say nothing, and have no weight either.
_LEAST_SLOPE = 1e-3
# Largest estimate of the slope.
_LARGEST_SLOPE = 10.0
# Standard errors by which the release contradicts the public rows of a leaf: 3 in 1,000 by chance.
_CONTRADICTION = 3.0
# Mean of the exponential prior of the drift, which counts where noise hides it: of .05, .1 and .3 the best
# where public labels are right, and no worse where they are permuted, which the slope shows first.
_PRIOR_DRIFT = 0.05


def choose_weight(counts: LeafCounts) -> FloatArray:
    """Return the weight of a public row against a private one, per leaf.

    Slope and drift between public and private labels are estimated from the same release; the public sum of a
    leaf then has a variance that grows with the drift, and the weight is the ratio of the precisions, times
    the slope. Misleading public rows lose their weight.

    Parameters
    ----------
    counts : LeafCounts

    Returns
    -------
    weight : ndarray of shape (n_leaves,)
        0 everywhere without public rows.
    """
    if counts.n_public == 0:
        return np.zeros(counts.n_leaves)
    slope = estimate_slope(counts)
    drift = estimate_drift(counts, slope=slope)
    sampling = counts.row_variance * 2 / counts.n_labels
    precision = 1.0 + counts.variance / (sampling * counts.shares())
    # A leaf without public rows has no use for a weight; a slope of 0 leaves none to the others.
    spread = slope**2 * counts.public_noise + counts.drift_unit * drift * np.maximum(counts.public_rows, 1)
    spread = spread + _contradictions(counts, slope)
    weight: FloatArray = slope * precision / spread
    return weight


def _contradictions(counts: LeafCounts, slope: float) -> FloatArray:
    """Return what a leaf's own counts add to the variance of its public rows, in units of a private row's.

    Where the two differ by more than three standard errors, the square of the difference beyond them.
    """
    found = _LabelContrasts.of(counts)
    distance = np.sum((found.private - slope * found.public) ** 2, axis=1)
    explained = _CONTRADICTION**2 * (found.private_error + slope**2 * found.public_error)
    per_row = found.public_error / max(counts.public_row_variance, 1e-300) * counts.row_variance
    contradicted: FloatArray = np.maximum(distance - explained, 0.0) / np.maximum(per_row, 1e-300)
    return contradicted


def estimate_public_drift(counts: LeafCounts) -> float:
    """Return how far public labels themselves are from what is left of the private ones, by the slope.

    Parameters
    ----------
    counts : LeafCounts

    Returns
    -------
    drift : float
        A mean square in units of the variance of one row's label; 0 without public rows.
    """
    if not counts.n_public:
        return 0.0
    slope = max(estimate_slope(counts), _LEAST_SLOPE)
    return estimate_drift(counts, slope=slope) / slope**2


def estimate_slope(counts: LeafCounts) -> float:
    """Return how many times as clear as public labels private ones are, 0 to 10, by moments.

    The regression of private on public contrasts, without the public sampling error, drawn towards 1 as far
    as the noise of the release demands (a prior of variance 1). Labels of the same rule that are noisier, or
    cleaner, than the private ones are worth more than their distance suggests.

    Parameters
    ----------
    counts : LeafCounts
        With at least one public row.

    Returns
    -------
    slope : float
        1 where nothing can be estimated.
    """
    if counts.n_rows == 0:
        return counts.public_slope
    contrasts = _LabelContrasts.of(counts)
    signal = float(np.sum(contrasts.public**2) - np.sum(contrasts.public_error))
    if signal <= 0:
        return counts.public_slope
    product = float(np.sum(contrasts.private * contrasts.public))
    # Variance of the product: noise of one side times the square of the other.
    private_signal = max(float(np.sum(contrasts.private**2) - np.sum(contrasts.private_error)), 0.0)
    noise = float(np.mean(contrasts.private_error) * np.sum(contrasts.public**2))
    noise += float(np.mean(contrasts.public_error)) * private_signal
    slope = (signal * product + counts.public_slope * noise) / (signal**2 + noise)
    return float(np.clip(slope, 0.0, _LARGEST_SLOPE))


def estimate_drift(counts: LeafCounts, *, slope: float = 1.0) -> float:
    """Return how far public labels, times a slope, are from private ones: a mean square, 0.003 to 1.

    The posterior mean, between 0 and 1, of `measure_drift`'s normal estimate under an exponential prior of
    mean 0.05: where noise hides the drift, public labels are neither trusted nor thrown away.

    Parameters
    ----------
    counts : LeafCounts
        With at least one public row.
    slope : float, default=1.0
        As from `estimate_slope`.

    Returns
    -------
    drift : float
    """
    if counts.n_rows == 0:
        return LEAST_DRIFT
    drift, error = measure_drift(counts, slope=slope)
    posterior = truncated_mean(np.array([drift - error**2 / _PRIOR_DRIFT]), max(error, LEAST_DRIFT))
    return float(np.clip(posterior[0], LEAST_DRIFT, 1.0))


def measure_drift(counts: LeafCounts, *, slope: float = 1.0) -> tuple[float, float]:
    """Return the unbiased estimate of the drift, by moments, and its standard error where there is none.

    The squared differences of the sums, minus what noise and sampling explain, in units of the variance of a
    single row's label.

    Parameters
    ----------
    counts : LeafCounts
        With at least one public and one private row.
    slope : float, default=1.0
        As from `estimate_slope`.

    Returns
    -------
    drift, error : float
    """
    contrasts = _LabelContrasts.of(counts)
    distance = float(np.sum((contrasts.private - slope * contrasts.public) ** 2))
    explained = contrasts.private_error + slope**2 * contrasts.public_error
    error = math.sqrt(2 * np.sum(explained**2))
    return (distance - float(np.sum(explained))) / contrasts.unit, error / contrasts.unit


@dataclass(frozen=True)
class _LabelContrasts:
    """Private and public label contrasts on one scale: public counts as if there were n_rows of them.

    Squares are of differences from a leaf's mean, times 2 / (M - 1): an average over the pairs of M labels.

    Attributes
    ----------
    private, public : ndarray of shape (n_leaves, n_labels)
    private_error, public_error : ndarray of shape (n_leaves,)
        Expected squares of noise and sampling.
    unit : float
        What a drift of 1 adds to the sum of squares.
    """

    private: FloatArray
    public: FloatArray
    private_error: FloatArray
    public_error: FloatArray
    unit: float

    @classmethod
    def of(cls, counts: LeafCounts) -> "_LabelContrasts":
        estimates, public_counts, n_rows = counts.label_estimates, counts.public_counts, counts.n_rows
        sampling = 2 / counts.n_labels
        shares = counts.shares()
        public_rows = public_counts.sum() * estimate_shares(public_counts)
        ratio = n_rows * shares / public_rows
        scale = math.sqrt(2 / (counts.n_labels - 1))
        return cls(
            private=scale * (estimates - estimates.mean(axis=1, keepdims=True)),
            public=scale * ratio[:, np.newaxis] * (public_counts - public_counts.mean(axis=1, keepdims=True)),
            private_error=n_rows * (counts.variance + counts.row_variance * sampling * shares),
            public_error=counts.public_row_variance * sampling * ratio**2 * public_rows,
            unit=counts.total_variance * sampling * float(np.sum((n_rows * shares) ** 2)),
        )
