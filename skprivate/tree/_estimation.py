# SPDX-License-Identifier: BSD-3-Clause
"""From released sums to a decision: automatic depth, automatic weight of public rows, probabilities.

Everything here is a function of released or public quantities, so nothing private is spent on tuning.
"""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

#: Deepest tree that the automatic rule considers.
DEEPEST = 12
# Average number of reports in a leaf below which labels are too few, whatever the noise.
_LEAST_REPORTS = 8
# Least variance of public labels around private ones that is believed.
_LEAST_DRIFT = 0.003


def choose_depth(n_reports: int, leaf_counts: IntArray, variance: Callable[[int], float]) -> int:
    """Return the depth p in 1..12 at which n reports still carry their leaves.

    The largest p with ``p <= round(log2(n / v(p)) / 3)``, where v(p) is the variance of one report about a
    leaf of the depth-p partition, and with at least eight reports a leaf on average; 1 if there is none. The
    second condition counts only where epsilon is so large that v vanishes, and sampling alone limits.

    Parameters
    ----------
    n_reports : int
        Number of private reports.
    leaf_counts : ndarray of int of shape (max_depth + 1,)
        Number of leaves of the partition at every depth.
    variance : callable
        v as a function of the number of leaves.

    Returns
    -------
    depth : int
    """
    deepest = min(DEEPEST, len(leaf_counts) - 1)
    for depth in range(deepest, 1, -1):
        if _LEAST_REPORTS * leaf_counts[depth] > n_reports:
            continue
        supported = math.floor(math.log2(n_reports / variance(int(leaf_counts[depth]))) / 3 + 0.5)
        if depth <= supported:
            return depth
    return min(1, deepest)


def leaf_shares(public_counts: IntArray) -> FloatArray:
    """Return the share of rows in every leaf, from public rows, one pseudo-row a leaf."""
    per_leaf = public_counts.sum(axis=1)
    return (per_leaf + 1.0) / (per_leaf.sum() + len(per_leaf))


def choose_weight(votes: FloatArray, n_reports: int, public_counts: IntArray, variance: float) -> FloatArray:
    """Return the weight of a public row against a private one, per leaf.

    The mean squared distance b2 between public and private labels is estimated from the same reports by
    moments; a leaf's public sum then has variance growing with b2, and the weight is the ratio of the
    precisions. Misleading public rows lose their weight.

    Parameters
    ----------
    signed : ndarray of shape (n_leaves,)
        Unbiased estimates of the private signed label sums.
    n_reports : int
        Number of private reports.
    public_counts : ndarray of int of shape (n_leaves, 2)
        Public rows by leaf and label.
    variance : float
        Variance of one report about a leaf.

    Returns
    -------
    weight : ndarray of shape (n_leaves,)
    """
    per_leaf = public_counts.sum(axis=1)
    n_public = per_leaf.sum()
    if n_public == 0:
        return np.zeros(len(votes))
    n_labels = votes.shape[1]
    sampled = 2 / n_labels
    shares = leaf_shares(public_counts)
    ratio = n_reports / n_public
    difference = votes - ratio * public_counts
    difference -= difference.mean(axis=1, keepdims=True)
    distance = 2 / (n_labels - 1) * np.sum(difference**2)
    sampling = len(votes) * n_reports * variance + sampled * (n_reports * shares.sum() + ratio**2 * n_public)
    drift = np.clip((distance - sampling) / np.sum((n_reports * shares) ** 2), _LEAST_DRIFT, 1.0)
    return (sampled + variance / shares) / (sampled + drift * per_leaf)


def leaf_probabilities(
    votes: FloatArray, cells: FloatArray, public_counts: IntArray, weight: FloatArray
) -> FloatArray:
    """Return the class probabilities of every leaf."""
    weight = weight[:, np.newaxis]
    if votes.shape[1] == 2:
        margin = np.diff(votes + weight * public_counts, axis=1)[:, 0]
        rows = cells + weight[:, 0] * public_counts.sum(axis=1)
        second = np.clip(0.5 + 0.5 * margin / rows, 0.0, 1.0)
        return np.column_stack([1.0 - second, second])
    total = np.maximum(votes + weight * public_counts, 1e-300)
    return total / total.sum(axis=1, keepdims=True)
