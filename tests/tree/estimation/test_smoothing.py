# SPDX-License-Identifier: BSD-3-Clause
"""Smoothing over a tree: the dense normal posterior, limits, and the variances that are estimated."""

import itertools

import numpy as np
import pytest

from skprivate.tree import _leaf_probabilities
from skprivate.tree._leaf_probabilities import smooth_over_tree

# A complete tree of depth 3, one of unequal depths with only children, and leaves below one root.
COMPLETE = np.array([[0] * 8, [0, 0, 0, 0, 1, 1, 1, 1], [0, 0, 1, 1, 2, 2, 3, 3], range(8)], dtype=np.int32)
UNEQUAL = np.array([[0] * 5, [0, 1, 1, 1, 1], [0, 1, 1, 2, 2], [0, 1, 2, 3, 4]], dtype=np.int32)
STAR = np.array([[0] * 5, range(5)], dtype=np.int32)
TREES = {"complete": COMPLETE, "unequal": UNEQUAL, "star": STAR}


def draw(ancestors, seed, n_columns=2):
    rng, n_leaves = np.random.default_rng(seed), ancestors.shape[1]
    values = rng.normal(0, 0.4, size=(n_leaves, n_columns))
    return values, rng.uniform(0.01, 0.2, n_leaves), rng.uniform(10, 1000, n_leaves)


def dense_posterior(ancestors, values, variance, spreads):
    """Mean and variances of leaves whose covariance is what their common ancestors below the root vary by."""
    n_leaves = ancestors.shape[1]
    prior = np.zeros((n_leaves, n_leaves))
    for level, (above, below) in enumerate(itertools.pairwise(ancestors)):
        children = [len(np.unique(below[above == node])) for node in above]
        common = below[:, np.newaxis] == below
        # An only child is its parent.
        prior += np.where(common & (np.array(children) > 1), spreads[level], 0.0)
    gain = prior @ np.linalg.inv(prior + np.diag(variance))
    return gain @ values, np.diag(prior - gain @ prior)


@pytest.mark.parametrize("name", sorted(TREES))
@pytest.mark.parametrize("seed", range(3))
def test_is_the_normal_posterior(name, seed):
    ancestors = TREES[name]
    values, variance, weights = draw(ancestors, seed)
    mean, variances = smooth_over_tree(ancestors, values, variance, weights, largest=0.25)
    upward = _leaf_probabilities._spreads(ancestors, values, variance, weights, 0.25, 0.0)
    spreads = np.minimum(upward[::-1], 0.25)
    assert spreads.max() > 0
    expected, of_expected = dense_posterior(ancestors, values, variance, spreads)
    np.testing.assert_allclose(mean, expected, atol=1e-9)
    np.testing.assert_allclose(variances, of_expected, atol=1e-9)


@pytest.mark.parametrize("name", sorted(TREES))
def test_without_noise_values_stay(name):
    ancestors = TREES[name]
    values, variance, weights = draw(ancestors, 4)
    mean, variances = smooth_over_tree(ancestors, values, 1e-14 * variance, weights, largest=10.0)
    np.testing.assert_allclose(mean, values, atol=1e-9)
    assert variances.max() < 1e-12


@pytest.mark.parametrize("name", sorted(TREES))
@pytest.mark.parametrize("scale", [1e4, 1e8, 1e16, 1e60])
def test_with_endless_noise_leaves_are_the_root(name, scale):
    ancestors = TREES[name]
    values, variance, weights = draw(ancestors, 5)
    values = values * np.sqrt(scale)
    mean, variances = smooth_over_tree(ancestors, values, variance * scale, weights, largest=0.25)
    # What is left of a value is its part of 1 / noise: the spread is that of the prior, .01.
    assert np.abs(mean).max() < 5 / np.sqrt(scale)
    assert variances.max() <= 3 * 0.25


def test_a_single_leaf_is_the_root():
    root = np.zeros((1, 1), dtype=np.int32)
    mean, variances = smooth_over_tree(root, np.array([[5.0]]), np.ones(1), np.ones(1), largest=1.0)
    assert mean.tolist() == [[0.0]]
    assert variances.tolist() == [0.0]


@pytest.mark.parametrize("name", sorted(TREES))
def test_columns_are_smoothed_apart_and_leaves_may_be_renumbered(name):
    ancestors = TREES[name]
    values, variance, weights = draw(ancestors, 6, n_columns=3)
    mean, variances = smooth_over_tree(ancestors, values, variance, weights, 0.25)
    swapped, again = smooth_over_tree(ancestors, values[:, ::-1], variance, weights, 0.25)
    np.testing.assert_allclose(swapped[:, ::-1], mean, atol=1e-14)
    np.testing.assert_allclose(again, variances, atol=1e-14)
    if name == "star":
        order = np.array([3, 1, 4, 0, 2])
        moved, _ = smooth_over_tree(ancestors, values[order], variance[order], weights[order], 0.25)
        np.testing.assert_allclose(moved, mean[order], atol=1e-14)


@pytest.mark.parametrize("n_children", [2, 3, 64])
def test_the_spread_of_siblings_is_found(n_children):
    # 4096 leaves of variance .04 and noise .01 to .05; the error of the estimate is some 3 %.
    rng = np.random.default_rng(n_children)
    parent = np.repeat(np.arange(4096 // n_children), n_children)
    noise = rng.uniform(0.01, 0.05, len(parent))
    values = rng.normal(0, np.sqrt(0.04 + noise))[:, np.newaxis] + rng.normal(size=4096)[parent, np.newaxis]
    found, error = _leaf_probabilities._spread_of_siblings(
        parent, np.ones(len(parent), dtype=bool), values, noise
    )
    assert found == pytest.approx(0.04, rel=0.15)
    assert 0 < error < 0.01
