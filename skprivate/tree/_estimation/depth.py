# SPDX-License-Identifier: BSD-3-Clause
"""From released sums to a decision: automatic depth, automatic weight of public rows, probabilities.

Everything here is a function of released or public quantities, so nothing private is spent on tuning.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
# Public rows, or sums of them over leaves.
Counts = NDArray[np.int64] | NDArray[np.float64]

#: Deepest tree that the automatic rule considers.
DEEPEST = 12
# Average number of reports in a leaf below which labels are too few, whatever the noise.
_LEAST_REPORTS = 16
#: Least variance of public labels around private ones that is believed, in units of one row's own variance.
LEAST_DRIFT = 0.003
# Most that private labels are believed to be clearer than public ones.
_STEEPEST = 10.0
# Standard errors that the drift is believed to lie above its estimate: trusting wrong public rows costs more
# than mistrusting right ones.
_CAUTION = 0.5


def choose_depth(
    n_reports: int, leaf_counts: IntArray, variance: Callable[[int], float], n_features: int | IntArray = 2
) -> int:
    """Return the depth p in 1..12 at which n reports still carry their leaves.

    The largest p with ``p <= round(log2(2 n / (d v(p))) / 3)``, where v(p) is the variance of one report
    about a leaf of the depth-p partition, and with at least 16 reports a leaf on average; 1 if there is none.
    The second condition counts only where v vanishes, as for a trusted curator, and sampling alone limits.
    A single split sees no interaction, so a plain number of features does not count up to depth 2.

    Parameters
    ----------
    n_reports : int
        Number of private reports.
    leaf_counts : ndarray of int of shape (max_depth + 1,)
        Number of leaves of the partition at every depth.
    variance : callable
        v as a function of the number of leaves.
    n_features : int or ndarray of int of shape (max_depth + 1,), default=2
        Number of features d: all columns, or those that the partition has split down to every depth. Below
        2 it counts as 2.

    Returns
    -------
    depth : int
    """
    deepest = min(DEEPEST, len(leaf_counts) - 1)
    depths = np.arange(len(leaf_counts))
    divided = np.where(depths > 2, n_features, 2) if np.ndim(n_features) == 0 else np.asarray(n_features)
    features = np.log2(np.maximum(divided, 2) / 2)
    for depth in range(deepest, 1, -1):
        if _LEAST_REPORTS * leaf_counts[depth] > n_reports:
            continue
        signal = math.log2(n_reports / variance(int(leaf_counts[depth]))) - features[depth]
        if depth <= math.floor(signal / 3 + 0.5):
            return depth
    return min(1, deepest)


def leaf_shares(
    public_counts: Counts,
    n_reports: int = 0,
    cells: FloatArray | None = None,
    variance: float | FloatArray = 0.0,
) -> FloatArray:
    """Return the share of private rows in every leaf.

    From public rows, one pseudo-row a leaf; where the release tells the private cells, moved towards these
    as far as their noise allows (James-Stein), so that P(X) need not be the public rows'.

    Parameters
    ----------
    public_counts : ndarray of int of shape (n_leaves, n_labels)
        Public rows by leaf and label.
    n_reports : int
        Number of private reports; used with `cells`.
    cells : ndarray of shape (n_leaves,), default=None
        Unbiased estimates of the private rows in the leaves.
    variance : float or ndarray of shape (n_leaves,)
        Variance of one report about the difference of two labels in a leaf.

    Returns
    -------
    shares : ndarray of shape (n_leaves,)
        Positive, with sum 1.
    """
    per_leaf = public_counts.sum(axis=1)
    shares: FloatArray = (per_leaf + 1.0) / (per_leaf.sum() + len(per_leaf))
    if cells is None or n_reports == 0:
        return shares
    apart = cells / n_reports - shares
    # A label's estimate has half the variance of a difference; a cell is the sum of its labels.
    per_report = 0.5 * public_counts.shape[1] * float(np.broadcast_to(variance, len(cells)).sum())
    noise = (per_report + 1.0) / n_reports
    trust = max(0.0, 1.0 - noise / max(float(np.sum(apart**2)), 1e-300))
    moved: FloatArray = np.maximum(shares + trust * apart, 1.0 / (n_reports + len(cells)))
    return moved / moved.sum()


@dataclass(frozen=True)
class _Contrasts:
    """Private and public label contrasts on one scale: votes, and public counts as if there were n of them.

    Squares are of differences from a leaf's mean, times 2 / (M - 1): an average over the pairs of M labels.
    """

    private: FloatArray
    public: FloatArray
    #: Expected squares of noise and sampling, a leaf.
    private_error: FloatArray
    public_error: FloatArray
    #: What a drift of 1 adds to the sum of squares.
    unit: float

    @classmethod
    def of(
        cls,
        votes: FloatArray,
        n_reports: int,
        public_counts: Counts,
        variance: float | FloatArray,
        cells: FloatArray | None,
    ) -> "_Contrasts":
        n_labels = votes.shape[1]
        sampled = 2 / n_labels
        shares = leaf_shares(public_counts, n_reports, cells, variance)
        public_rows = public_counts.sum() * leaf_shares(public_counts)
        ratio = n_reports * shares / public_rows
        scale = math.sqrt(2 / (n_labels - 1))
        return cls(
            private=scale * (votes - votes.mean(axis=1, keepdims=True)),
            public=scale * ratio[:, np.newaxis] * (public_counts - public_counts.mean(axis=1, keepdims=True)),
            private_error=n_reports * (variance + sampled * shares),
            public_error=sampled * ratio**2 * public_rows,
            unit=sampled * float(np.sum((n_reports * shares) ** 2)),
        )


def estimate_slope(
    votes: FloatArray,
    n_reports: int,
    public_counts: Counts,
    variance: float | FloatArray,
    cells: FloatArray | None = None,
) -> float:
    """Return how many times as clear as public labels private ones are, 0 to 10, by moments.

    The regression of private on public contrasts, without the public sampling error, drawn towards 1 as far
    as the noise of the reports demands (a prior of variance 1). Labels of the same rule that are noisier, or
    cleaner, than the private ones are worth more than their distance tells.

    Parameters
    ----------
    votes, n_reports, public_counts, variance, cells
        As in `choose_weight`; there is at least one public row.

    Returns
    -------
    slope : float
        1 where there is nothing to judge by.
    """
    if n_reports == 0:
        return 1.0
    contrasts = _Contrasts.of(votes, n_reports, public_counts, variance, cells)
    signal = float(np.sum(contrasts.public**2) - np.sum(contrasts.public_error))
    if signal <= 0:
        return 1.0
    product = float(np.sum(contrasts.private * contrasts.public))
    # Variance of the product: noise of one side times the square of the other.
    private_signal = max(float(np.sum(contrasts.private**2) - np.sum(contrasts.private_error)), 0.0)
    noise = float(np.mean(contrasts.private_error) * np.sum(contrasts.public**2))
    noise += float(np.mean(contrasts.public_error)) * private_signal
    slope = (signal * product + noise) / (signal**2 + noise)
    return float(np.clip(slope, 0.0, _STEEPEST))


def estimate_drift(
    votes: FloatArray,
    n_reports: int,
    public_counts: Counts,
    variance: float | FloatArray,
    cells: FloatArray | None = None,
    *,
    slope: float = 1.0,
    caution: float = _CAUTION,
) -> float:
    """Return how far public labels, times a slope, lie from private ones: a mean square, 0.003 to 1.

    By moments: what the sums differ by, minus what noise and sampling explain, plus half a standard error, in
    units of the variance of a single row's label.

    Parameters
    ----------
    votes, n_reports, public_counts, variance, cells
        As in `choose_weight`; there is at least one public row.
    slope : float, default=1.0
        As from `estimate_slope`.
    caution : float, default=0.5
        Standard errors that are added.

    Returns
    -------
    drift : float
    """
    if n_reports == 0:
        return LEAST_DRIFT
    contrasts = _Contrasts.of(votes, n_reports, public_counts, variance, cells)
    distance = float(np.sum((contrasts.private - slope * contrasts.public) ** 2))
    explained = contrasts.private_error + slope**2 * contrasts.public_error
    error = math.sqrt(2 * np.sum(explained**2))
    drift = (distance - np.sum(explained) + caution * error) / contrasts.unit
    return float(np.clip(drift, LEAST_DRIFT, 1.0))


def choose_weight(
    votes: FloatArray,
    n_reports: int,
    public_counts: Counts,
    variance: float | FloatArray,
    cells: FloatArray | None = None,
) -> FloatArray:
    """Return the weight of a public row against a private one, per leaf.

    Slope and drift between public and private labels are estimated from the same reports; a leaf's public
    sum then has a variance that grows with the drift, and the weight is the ratio of the precisions, times
    the slope. Misleading public rows lose their weight.

    Parameters
    ----------
    votes : ndarray of shape (n_leaves, n_labels)
        Unbiased estimates of the private rows by leaf and label, up to one constant a leaf: from signed sums
        W, the columns -W/2 and W/2.
    n_reports : int
        Number of private reports.
    public_counts : ndarray of int of shape (n_leaves, n_labels)
        Public rows by leaf and label.
    variance : float or ndarray of shape (n_leaves,)
        Variance of one report about the difference of two labels in a leaf, averaged over their pairs.
    cells : ndarray of shape (n_leaves,), default=None
        Unbiased estimates of the private rows in the leaves, where the release tells them. None: private
        rows are taken to fill the leaves as the public rows do.

    Returns
    -------
    weight : ndarray of shape (n_leaves,)
        0 everywhere without public rows.
    """
    if public_counts.sum() == 0:
        return np.zeros(len(votes))
    known = votes, n_reports, public_counts, variance, cells
    slope = estimate_slope(*known)
    drift = estimate_drift(*known, slope=slope)
    shares = leaf_shares(public_counts, n_reports, cells, variance)
    sampled = 2 / votes.shape[1]
    precision = 1.0 + variance / (sampled * shares)
    # A leaf without public rows has no use for a weight; a slope of 0 leaves none to the others.
    spread = slope**2 + drift * np.maximum(public_counts.sum(axis=1), 1)
    weight: FloatArray = slope * precision / spread
    return weight


def leaf_probabilities(
    votes: FloatArray, cells: FloatArray, public_counts: Counts, weight: FloatArray
) -> FloatArray:
    """Return the class probabilities of every leaf.

    The most probable class has the most ``votes + weight * public_counts``. Two labels: the share of the
    second, clipped to [0, 1]; more: the point of the simplex nearest to the noisy shares, which keeps their
    order.

    Parameters
    ----------
    votes : ndarray of shape (n_leaves, n_labels)
        As in `choose_weight`.
    cells : ndarray of shape (n_leaves,)
        Estimated, positive, numbers of private rows.
    public_counts : ndarray of int of shape (n_leaves, n_labels)
        Public rows by leaf and label.
    weight : ndarray of shape (n_leaves,)
        Weight of a public row.

    Returns
    -------
    probabilities : ndarray of shape (n_leaves, n_labels)
        Every row adds to 1.
    """
    total = votes + weight[:, np.newaxis] * public_counts
    rows = cells + weight * public_counts.sum(axis=1)
    if votes.shape[1] == 2:
        second = np.clip(0.5 + 0.5 * (total[:, 1] - total[:, 0]) / rows, 0.0, 1.0)
        return np.column_stack([1.0 - second, second])
    return _nearest_in_simplex(total / rows[:, np.newaxis])


def _nearest_in_simplex(points: FloatArray) -> FloatArray:
    """Euclidean projection of every row: the same amount is taken from every entry that stays positive."""
    falling = -np.sort(-points, axis=1)
    excess = np.cumsum(falling, axis=1) - 1.0
    taken = excess / np.arange(1, points.shape[1] + 1)
    last = np.sum(falling > taken, axis=1) - 1
    nearest: FloatArray = np.maximum(points - taken[np.arange(len(points)), last][:, np.newaxis], 0.0)
    return nearest / nearest.sum(axis=1, keepdims=True)
