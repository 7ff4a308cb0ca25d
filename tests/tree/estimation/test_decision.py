# SPDX-License-Identifier: BSD-3-Clause
"""Everything that a release tells reaches the post-processing: each fact that is left out changes it."""

import numpy as np
import pytest

from skprivate.partition._leaf_kernels import count_leaves
from skprivate.partition._partition import build_partition
from skprivate.randomizers import KRRRandomizer
from skprivate.tree._estimation.decision import decide, variance_per_row
from skprivate.tree._estimation.depth import choose_weight, leaf_probabilities, leaf_shares
from skprivate.tree._estimation.pruning import leaf_ancestors, paper_prune, prune_leaves
from skprivate.tree._tree_design import TreeDesign, dimensions

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
            self.partition, self.randomizer, np.arange(n_labels), (lower, upper), "cart", self.public
        )
        estimates = self.randomizer.estimate(self.counts, N)
        self.votes = np.column_stack([-estimates / 2, estimates / 2]) if n_labels == 2 else estimates
        self.cell_estimates = self.randomizer.estimate_cells(self.counts, N)
        self.variance = variance_per_row(self.randomizer, N)
        self.cells = N * leaf_shares(self.public, N, self.cell_estimates, self.variance)

    def decide(self, public_weight, prune):
        return decide(self.design, self.counts, N, public_weight, prune)


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
    found = release.decide("auto", False)
    facts = (release.votes, N, release.public, release.variance)
    weight = choose_weight(*facts, release.cell_estimates)
    np.testing.assert_array_equal(found.weight, weight)
    assert not np.allclose(weight, choose_weight(*facts))
    expected = leaf_probabilities(release.votes, release.cells, release.public, weight)
    np.testing.assert_array_equal(found.probabilities, expected)
    np.testing.assert_array_equal(found.depth, release.partition.max_depth)
    np.testing.assert_array_equal(release.decide(3.0, False).weight, 3.0)


@pytest.mark.parametrize("public_weight", ["auto", 3.0])
def test_pruning_gets_all_facts(release, public_weight):
    found = release.decide(public_weight, True)
    ancestors = leaf_ancestors(release.partition)
    facts = (ancestors, release.votes, N, release.public, release.variance, release.cells)
    options = {
        "weight": None if public_weight == "auto" else 3.0,
        "cell_estimates": release.cell_estimates,
        "n_features": dimensions(release.partition, "cart"),
    }
    probabilities, depth = prune_leaves(*facts, **options)
    np.testing.assert_array_equal(found.probabilities, probabilities)
    np.testing.assert_array_equal(found.depth, depth)
    # The weight that is shown is that of the leaves, whoever judges them.
    np.testing.assert_array_equal(found.weight, release.decide(public_weight, False).weight)
    # Each option changes something here, so that the comparison notices when one is left out.
    changes = {"n_features": 2} | ({"cell_estimates": None} if public_weight == "auto" else {"weight": None})
    for name, value in changes.items():
        other = prune_leaves(*facts, **{**options, name: value})
        assert not np.allclose(other[0], probabilities), name


def test_the_paper_is_given_unbiased_cell_estimates():
    release = Release(2)
    found = release.decide("auto", "paper")
    ancestors, epsilon = leaf_ancestors(release.partition), float(release.randomizer.epsilon)

    def pruned(rows):
        return paper_prune(ancestors, release.votes, rows, release.public, N, 9, epsilon)

    probabilities, depth = pruned(release.cell_estimates)
    np.testing.assert_array_equal(found.probabilities, probabilities)
    np.testing.assert_array_equal(found.depth, depth)
    assert not np.allclose(pruned(release.cells)[0], probabilities)


@pytest.mark.parametrize(("rule", "expected"), [("cart", None), ("max-edge", 8), ("random", 8)])
def test_dimensions_are_those_that_leaves_are_divided_among(rule, expected):
    rng = np.random.default_rng(0)
    X, labels = rng.uniform(size=(200, 9)), rng.integers(2, size=200)
    upper = np.ones(9)
    upper[4] = 0.0  # a constant column is never divided
    partition = build_partition(X, labels, lower=np.zeros(9), upper=upper, max_depth=3, rule=rule)
    found = dimensions(partition, rule)
    if expected is None:
        np.testing.assert_array_equal(found, partition.feature_counts_by_depth())
        assert found[0] == 0
    else:
        assert found == expected
