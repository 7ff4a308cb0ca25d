# SPDX-License-Identifier: BSD-3-Clause
"""All released and public counts reach the post-processing: each that is left out changes it."""

from dataclasses import replace

import numpy as np
import pytest

from skprivate.partition import build_partition, count_leaves
from skprivate.randomizers import KRRRandomizer
from skprivate.tree._leaf_probabilities import (
    LeafCounts,
    choose_weight,
    estimate_public_drift,
    estimate_shares_of_classes,
    estimate_sizes,
    variance_per_row,
)
from skprivate.tree._pruning_and_intervals import estimate_leaves, leaf_ancestors, paper_prune, prune_leaves
from skprivate.tree._release import TreeDesign, count_split_features

N = 3000


class Release:
    """Reports of rows that lie elsewhere than the public rows, in a tree of unequal depths."""

    def __init__(self, n_labels):
        rng = np.random.default_rng(n_labels)
        X, private = rng.beta(2, 4, size=(400, 9)), rng.beta(4, 2, size=(N, 9))
        public_labels, labels = (
            np.minimum((n_labels * rows[:, 0] + 0.3 * rng.standard_normal(len(rows))).clip(0), n_labels - 1)
            for rows in (X, private)
        )
        self.partition = build_partition(
            X,
            public_labels.astype(int),
            lower=np.zeros(9),
            upper=np.ones(9),
            max_depth=9,
            n_labels=n_labels,
            rule="cart",
            min_samples_leaf=2,
        )
        self.public = np.zeros((self.partition.n_leaves, n_labels), dtype=np.int64)
        count_leaves(self.partition.apply(X), public_labels.astype(np.int32), self.public)
        self.randomizer = KRRRandomizer(6.0, self.partition.n_leaves, n_labels)
        categories = n_labels * self.partition.apply(private) + labels.astype(int)
        self.counts = self.randomizer.simulate(categories, 0)
        lower, upper = self.partition.lower, self.partition.upper
        self.design = TreeDesign(
            self.partition,
            self.randomizer,
            np.arange(n_labels),
            (lower, upper),
            "cart",
            self.public,
            public_slope=0.7,
        )
        estimates = self.randomizer.estimate(self.counts, N)
        cell_estimates = self.randomizer.estimate_cells(self.counts, N)
        variance = np.full(len(estimates), variance_per_row(self.randomizer, N))
        self.leaves = LeafCounts(
            label_estimates=np.column_stack([-estimates / 2, estimates / 2]) if n_labels == 2 else estimates,
            n_rows=N,
            public_counts=self.public,
            variance=variance,
            cell_sizes=estimate_sizes(self.public, N, cell_estimates, variance),
            cell_estimates=cell_estimates,
            public_slope=0.7,
        )

    def estimate(self, public_weight, prune):
        return estimate_leaves(self.design, self.counts, N, public_weight, prune)


@pytest.fixture(scope="module", params=[2, 3])
def release(request):
    return Release(request.param)


def test_the_tree_has_leaves_of_unequal_depths(release):
    depth = release.partition.depth[release.partition.leaf_index >= 0]
    assert depth.min() < depth.max() == release.partition.max_depth


def test_the_variance_is_a_row_s(release):
    # The variance of a sum of reports is that of one, times their number.
    assert variance_per_row(release.randomizer, 10) == pytest.approx(release.randomizer.variance(1)[0])
    assert np.isfinite(variance_per_row(release.randomizer, 0))


def test_without_pruning(release):
    found = release.estimate("auto", False)
    weight = choose_weight(release.leaves)
    np.testing.assert_array_equal(found.weight, weight)
    assert not np.allclose(weight, choose_weight(replace(release.leaves, cell_estimates=None)))
    assert not np.allclose(weight, choose_weight(replace(release.leaves, public_slope=1.0)))
    ancestors, drift = leaf_ancestors(release.partition), estimate_public_drift(release.leaves)
    expected = estimate_shares_of_classes(release.leaves, weight, ancestors, drift)
    for name in ("probabilities", "errors"):
        np.testing.assert_array_equal(getattr(found.shares, name), getattr(expected, name))
    without_drift = estimate_shares_of_classes(release.leaves, weight, ancestors)
    assert not np.allclose(without_drift.probabilities, expected.probabilities)
    np.testing.assert_array_equal(found.depth, release.partition.max_depth)
    np.testing.assert_array_equal(found.sizes, release.leaves.cell_sizes)
    assert found.offsets is None
    np.testing.assert_array_equal(release.estimate(3.0, False).weight, 3.0)


@pytest.mark.parametrize("public_weight", ["auto", 3.0])
def test_pruning_gets_all_counts(release, public_weight):
    found = release.estimate(public_weight, True)
    ancestors = leaf_ancestors(release.partition)
    options = {
        "weight": None if public_weight == "auto" else 3.0,
        "n_features": count_split_features(release.partition, "cart"),
    }
    shares, depth = prune_leaves(ancestors, release.leaves, **options)
    for name in ("probabilities", "errors"):
        np.testing.assert_array_equal(getattr(found.shares, name), getattr(shares, name))
    np.testing.assert_array_equal(found.depth, depth)
    # The weight that is shown is that of the leaves, whichever nodes they take their estimates from.
    np.testing.assert_array_equal(found.weight, release.estimate(public_weight, False).weight)
    # Each of these changes something here, so that the comparison notices when one is left out.
    others = {"n_features": prune_leaves(ancestors, release.leaves, **{**options, "n_features": 2})}
    if public_weight == "auto":
        leaves = replace(release.leaves, cell_estimates=None)
        others["cell_estimates"] = prune_leaves(ancestors, leaves, **options)
    else:
        others["weight"] = prune_leaves(ancestors, release.leaves, **{**options, "weight": None})
    for name, other in others.items():
        assert not np.allclose(other[0].probabilities, shares.probabilities), name


def test_the_paper_is_given_unbiased_cell_estimates():
    release = Release(2)
    found = release.estimate("auto", "paper")
    ancestors, epsilon = leaf_ancestors(release.partition), float(release.randomizer.epsilon)

    def pruned(leaves):
        return paper_prune(ancestors, leaves, 9, epsilon)

    probabilities, depth = pruned(release.leaves)
    # The printed shares know 0 and 1; half a row is added on either side.
    least = 1 / (N + 400 + 2)
    np.testing.assert_allclose(found.shares.probabilities, least + (1 - 2 * least) * probabilities)
    np.testing.assert_array_equal(found.depth, depth)
    assert not np.allclose(pruned(replace(release.leaves, cell_estimates=None))[0], probabilities)


@pytest.mark.parametrize(("rule", "expected"), [("cart", None), ("max-edge", 8), ("random", 8)])
def test_features_are_those_that_leaves_are_divided_among(rule, expected):
    rng = np.random.default_rng(0)
    X, labels = rng.uniform(size=(200, 9)), rng.integers(2, size=200)
    upper = np.ones(9)
    upper[4] = 0.0  # a constant column is never divided
    partition = build_partition(X, labels, lower=np.zeros(9), upper=upper, max_depth=3, rule=rule)
    found = count_split_features(partition, rule)
    if expected is None:
        np.testing.assert_array_equal(found, partition.feature_counts_by_depth())
        assert found[0] == 0
    else:
        assert found == expected
