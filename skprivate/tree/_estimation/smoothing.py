# SPDX-License-Identifier: BSD-3-Clause
"""Smoothing of noisy values over a tree: each node's value is its parent's plus a deviation.

Everything here is a function of released or public quantities: smoothing costs no privacy.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..._typing import BoolArray, FloatArray, IntArray
from ...utils._posteriors.truncated_normal import positive_mean

# Iterations of the weights of siblings: the estimate moves by less than a tenth of its error after three.
_ROUNDS_OF_WEIGHTS = 3
# Variance of the deviations at which the weights of siblings start: a tenth in the share of a class.
_FIRST_VARIANCE = 0.01
# Mean of the exponential prior of the variance of a level, which counts where noise hides it, in units of the
# largest variance: a tenth in the share of one of two equally frequent classes.
_USUAL_SPREAD = 0.04


@dataclass(frozen=True, eq=False)
class TreeLevels:
    """The nodes of every level of a tree, and their parents.

    Attributes
    ----------
    parents : list of ndarray of int
        ``parents[k][i]`` is the number, at level k, of the parent of node i of level k + 1. The root is node
        0 of level 0, and the nodes of the last level are the leaves.
    """

    parents: list[IntArray]

    @classmethod
    def of(cls, ancestors: NDArray[np.int32]) -> "TreeLevels":
        """Return the levels of the ancestors of all leaves, as `leaf_ancestors` gives them."""
        parents = []
        for above, below in itertools.pairwise(ancestors):
            parent = np.zeros(int(below.max()) + 1, dtype=np.int64)
            parent[below] = above
            parents.append(parent)
        return cls(parents)

    def upward(self) -> Iterator[tuple[int, IntArray, BoolArray]]:
        """Yield level, parents and whether a node has a sibling, from the leaves to the root."""
        for level in range(len(self.parents) - 1, -1, -1):
            parent = self.parents[level]
            yield level, parent, np.bincount(parent)[parent] > 1


def smooth_over_tree(
    ancestors: NDArray[np.int32],
    values: FloatArray,
    variance: FloatArray,
    weights: FloatArray,
    largest: float,
    caution: float = 0.0,
) -> tuple[FloatArray, FloatArray]:
    """Return the posterior mean and variance of the leaves' values, from noisy ones.

    The model: the root is 0, and a child differs from its parent by a normal deviation, whose variance is one
    for a level and is estimated from the differences of siblings, of which there may be any number (empirical
    Bayes). An only child is its parent. The posterior is exact given these variances: one pass up, one down.

    Parameters
    ----------
    ancestors : ndarray of int32 of shape (max_depth + 1, n_leaves)
        From `leaf_ancestors`.
    values : ndarray of shape (n_leaves, n_columns)
        Noisy values; every column is smoothed by itself, with the same variances.
    variance : ndarray of shape (n_leaves,)
        Noise variance of a leaf's values, positive.
    weights : ndarray of shape (n_leaves,)
        Rows of the leaves, positive: the value of a node is their weighted mean.
    largest : float
        Largest variance that the deviations can have: estimates beyond it are noise.
    caution : float, default=0.0
        Standard errors that are taken from the estimated variances of the deviations.

    Returns
    -------
    mean : ndarray of shape (n_leaves, n_columns)
    variance : ndarray of shape (n_leaves,)
    """
    levels = TreeLevels.of(ancestors)
    spreads = np.minimum(_spreads(levels, values, variance, weights, largest, caution), largest)
    mean, noise = values, variance
    messages = []
    for level, parent, has_sibling in levels.upward():
        spread = np.where(has_sibling, spreads[level], 0.0)
        messages.append((parent, mean, noise, spread))
        precision = 1.0 / (noise + spread)
        total = np.bincount(parent, precision)
        mean = _sums(parent, mean * precision[:, np.newaxis]) / total[:, np.newaxis]
        noise = 1.0 / total
    mean, noise = np.zeros_like(mean), np.zeros_like(noise)
    for parent, own, own_noise, spread in reversed(messages):
        # The child's own data have no weight where children do not differ.
        kept = (spread / (own_noise + spread))[:, np.newaxis]
        mean = kept * own + (1.0 - kept) * mean[parent]
        noise = kept[:, 0] * own_noise + (1.0 - kept[:, 0]) ** 2 * noise[parent]
    return mean, noise


def _spreads(
    levels: TreeLevels,
    values: FloatArray,
    variance: FloatArray,
    weights: FloatArray,
    largest: float,
    caution: float,
) -> FloatArray:
    """Variance of the deviations of every level."""
    spreads = np.zeros(len(levels.parents))
    sums, noise = values * weights[:, np.newaxis], variance * weights**2
    weight: FloatArray = weights
    for level, parent, has_sibling in levels.upward():
        found, error = _spread_of_siblings(
            parent, has_sibling, sums / weight[:, np.newaxis], noise / weight**2
        )
        spreads[level] = _posterior_spread(found - caution * error, error, _USUAL_SPREAD * largest)
        sums = _sums(parent, sums)
        noise, weight = (np.bincount(parent, each).astype(np.float64) for each in (noise, weight))
    return spreads


def _spread_of_siblings(
    parent: IntArray, has_sibling: BoolArray, means: FloatArray, noise: FloatArray
) -> tuple[float, float]:
    """Variance by which siblings differ beyond their noise, by moments, and its error if that is all."""
    group = np.unique(parent[has_sibling], return_inverse=True)[1]
    values, noise = means[has_sibling], noise[has_sibling]
    if not len(group):
        return 0.0, 0.0
    degrees = np.bincount(group) - 1.0
    found, error = _FIRST_VARIANCE, 0.0
    for _ in range(_ROUNDS_OF_WEIGHTS):
        weight = 1.0 / (noise + max(found, 0.0))
        total = np.bincount(group, weight)
        center = _sums(group, values * weight[:, np.newaxis]) / total[:, np.newaxis]
        squares = np.bincount(group, weight * np.mean((values - center[group]) ** 2, axis=1))
        # What noise adds to the squares around the weighted mean, and what a spread of 1 does.
        share = weight * (1.0 - weight / total[group])
        explained, gain = np.bincount(group, share * noise), np.bincount(group, share)
        part = gain / degrees
        found = float(np.sum(part * (squares - explained)) / np.sum(part * gain))
        error = float(np.sqrt(2 * np.sum((part * explained) ** 2 / degrees)) / np.sum(part * gain))
    return found, error


def _posterior_spread(found: float, error: float, usual: float) -> float:
    """Mean of the variance given a normal estimate of it, under an exponential prior."""
    if not error:
        return max(found, 0.0)
    return positive_mean(found - error**2 / usual, error)


def _sums(parent: IntArray, values: FloatArray) -> FloatArray:
    return np.column_stack([np.bincount(parent, column) for column in values.T])
