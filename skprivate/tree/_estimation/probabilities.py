# SPDX-License-Identifier: BSD-3-Clause
"""Class probabilities of the leaves, from released estimates and weighted public rows."""

import numpy as np

from .leaf_counts import FloatArray, LeafCounts


def leaf_probabilities(counts: LeafCounts, weight: FloatArray) -> FloatArray:
    """Return the class probabilities of every leaf.

    The most probable class has the most ``label_estimates + weight * public_counts``. Two labels: the share
    of the second, clipped to [0, 1]; more: the point of the simplex nearest to the noisy shares, which keeps
    their order.

    Parameters
    ----------
    counts : LeafCounts
    weight : ndarray of shape (n_leaves,)
        Weight of a public row.

    Returns
    -------
    probabilities : ndarray of shape (n_leaves, n_labels)
        Every row adds to 1.
    """
    total = counts.label_estimates + weight[:, np.newaxis] * counts.public_counts
    rows = counts.cell_sizes + weight * counts.public_rows
    if counts.n_labels == 2:
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
