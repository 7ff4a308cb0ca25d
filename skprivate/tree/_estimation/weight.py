# SPDX-License-Identifier: BSD-3-Clause
"""Weight of public rows against private ones, from how far their labels are from the released estimates."""

import math
from dataclasses import dataclass

import numpy as np

from .leaf_counts import FloatArray, LeafCounts, estimate_shares

# These are evaluated in benchmarks/figures/trees/depth_and_weight.py.
#: Least estimate of the drift, the mean square of what public labels differ by from private ones, in units of
#: one row's own variance.
LEAST_DRIFT = 0.003
# Largest estimate of the slope.
_LARGEST_SLOPE = 10.0
# Standard errors that are added to the estimate of the drift: trusting wrong public rows costs more than
# mistrusting right ones.
_CAUTION = 0.5


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
    sampling = 2 / counts.n_labels
    precision = 1.0 + counts.variance / (sampling * counts.shares())
    # A leaf without public rows has no use for a weight; a slope of 0 leaves none to the others.
    spread = slope**2 + drift * np.maximum(counts.public_rows, 1)
    weight: FloatArray = slope * precision / spread
    return weight


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
        return 1.0
    contrasts = _LabelContrasts.of(counts)
    signal = float(np.sum(contrasts.public**2) - np.sum(contrasts.public_error))
    if signal <= 0:
        return 1.0
    product = float(np.sum(contrasts.private * contrasts.public))
    # Variance of the product: noise of one side times the square of the other.
    private_signal = max(float(np.sum(contrasts.private**2) - np.sum(contrasts.private_error)), 0.0)
    noise = float(np.mean(contrasts.private_error) * np.sum(contrasts.public**2))
    noise += float(np.mean(contrasts.public_error)) * private_signal
    slope = (signal * product + noise) / (signal**2 + noise)
    return float(np.clip(slope, 0.0, _LARGEST_SLOPE))


def estimate_drift(counts: LeafCounts, *, slope: float = 1.0, caution: float = _CAUTION) -> float:
    """Return how far public labels, times a slope, are from private ones: a mean square, 0.003 to 1.

    By moments: the squared differences of the sums, minus what noise and sampling explain, plus half a
    standard error, in units of the variance of a single row's label.

    Parameters
    ----------
    counts : LeafCounts
        With at least one public row.
    slope : float, default=1.0
        As from `estimate_slope`.
    caution : float, default=0.5
        Standard errors that are added.

    Returns
    -------
    drift : float
    """
    if counts.n_rows == 0:
        return LEAST_DRIFT
    contrasts = _LabelContrasts.of(counts)
    distance = float(np.sum((contrasts.private - slope * contrasts.public) ** 2))
    explained = contrasts.private_error + slope**2 * contrasts.public_error
    error = math.sqrt(2 * np.sum(explained**2))
    drift = (distance - np.sum(explained) + caution * error) / contrasts.unit
    return float(np.clip(drift, LEAST_DRIFT, 1.0))


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
            private_error=n_rows * (counts.variance + sampling * shares),
            public_error=sampling * ratio**2 * public_rows,
            unit=sampling * float(np.sum((n_rows * shares) ** 2)),
        )
