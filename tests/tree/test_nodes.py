# SPDX-License-Identifier: BSD-3-Clause
"""Nodes of a tree: paths, importances, the test of leaves that are all alike, and the warning of no use.

A fixed seed draws the noise; where a share of draws is counted, the bound is one that 5 standard errors of a
right share do not pass (below 1e-6).
"""

import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from skprivate import DPTreeClassifier, LocallyPrivateTreeClassifier, TableDomain
from skprivate.collection import TreeCurator
from skprivate.exceptions import UtilityWarning
from skprivate.partition import Partition
from skprivate.randomizers import HadamardRandomizer, KRRRandomizer, LabelRandomizer
from skprivate.rounds import fit_rounds
from skprivate.tree import _nodes
from skprivate.tree._leaf_probabilities import LeafCounts, variance_per_row
from skprivate.tree._nodes import (
    NodeEstimates,
    NoisyTable,
    gini_importances,
    leaves_differ,
    log_p_value,
    round_to_noise,
)

# Paths and importances

RNG = np.random.default_rng(3)
POINTS = RNG.uniform(size=(4000, 3))
CROSSED = np.where((POINTS[:, 0] > 0.5) ^ (POINTS[:, 1] > 0.3), "yes", "no")


def test_importances_are_those_of_scikit_learn_where_counts_are_exact():
    # Its tree on the same rows has exact counts; its splits are given to the partition.
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(POINTS, CROSSED)
    partition, leaf_of_node = partition_of(model.tree_)
    proba = np.empty((partition.n_leaves, 2))
    sizes = np.empty(partition.n_leaves)
    leaves = model.tree_.children_left < 0
    proba[leaf_of_node[leaves]] = model.tree_.value[leaves, 0]
    sizes[leaf_of_node[leaves]] = model.tree_.n_node_samples[leaves]
    nodes = NodeEstimates.of(partition, sizes, proba)
    np.testing.assert_allclose(gini_importances(partition, nodes), model.feature_importances_, atol=1e-12)
    assert nodes.sizes[0] == len(POINTS)


def partition_of(found):
    """Return scikit-learn's tree as a partition, and the leaf of every one of its nodes."""
    order, features, thresholds = [0], [], []
    for node in order:
        features.append(found.feature[node] if found.children_left[node] >= 0 else -1)
        if features[-1] >= 0:
            order += [found.children_left[node], found.children_right[node]]
            thresholds.append(found.threshold[node])
    partition = Partition.from_splits(features, thresholds, np.zeros(3), np.ones(3))
    leaf_of_node = np.full(found.node_count, -1)
    leaf_of_node[np.array(order)] = partition.leaf_index
    return partition, leaf_of_node


@pytest.mark.parametrize(
    ("size", "error", "expected"),
    [(1234.5, 0.031, 1230), (1234.5, 0.2, 1200), (1234.4, 0.0001, 1234), (3.2, 40.0, 0), (0.2, 0.1, 0)],
)
def test_no_digit_of_a_size_lies_below_its_noise(size, error, expected):
    assert round_to_noise(size, error) == expected


# Leaves that are all alike

#: Of a complete tree of eight leaves.
ANCESTORS = np.array([np.arange(8) >> (3 - depth) for depth in range(4)], dtype=np.int32)
ALIKE = np.full(8, 0.125)


def histogram(scale):
    variance = 2 * 2 * scale**2
    return SimpleNamespace(relation="replace-one", variance=lambda n, sizes: np.full(len(sizes), variance))


def table(release, shares, rates, n_rows=4000, seed=0):
    """Draw rows of leaves with these shares of the rows and of the labels, and release their counts."""
    rng = np.random.default_rng(seed)
    n_labels = len(rates[0])
    exact = rng.multinomial(n_rows, (np.asarray(shares)[:, None] * rates).ravel()).reshape(-1, n_labels)
    public = rng.multinomial(200, shares)[:, None] * np.eye(n_labels, dtype=int)[0]
    if isinstance(release, float):
        noisy = exact + np.rint(rng.laplace(0, release, exact.shape))
        variance = 4 * release**2 / n_rows
        return NoisyTable.of(
            histogram(release), LeafCounts.of(noisy, n_rows, public, variance, noisy.sum(axis=1))
        )
    randomizer = release(1.0, len(exact), n_labels)
    categories = np.repeat(np.arange(exact.size), exact.ravel())
    counts = randomizer.simulate(categories, seed)
    found = randomizer.estimate(counts, n_rows)
    estimates = np.column_stack([-found / 2, found / 2]) if found.ndim == 1 else found
    cells = randomizer.estimate_cells(counts, n_rows)
    variance = variance_per_row(randomizer, n_rows)
    return NoisyTable.of(randomizer, LeafCounts.of(estimates, n_rows, public, variance, cells))


RELEASES = [2.0, 20.0, HadamardRandomizer, KRRRandomizer, LabelRandomizer]


@pytest.mark.parametrize("n_labels", [2, 4])
@pytest.mark.parametrize("release", RELEASES)
def test_the_squares_are_those_of_the_whole_covariance(release, n_labels):
    rates = np.random.default_rng(5).dirichlet(np.ones(n_labels))
    one = table(release, ALIKE, np.tile(rates, (8, 1)))
    counts, (cells, error) = one.counts, one.cells
    tilt = 1 / n_labels - rates
    difference = counts.label_totals() - np.outer(cells, rates)
    for leaf, square in enumerate(_nodes._squares(one, rates)):
        covariance = one.noise[leaf] * (np.eye(n_labels) - 1 / n_labels)
        covariance += error[leaf] * np.outer(tilt, tilt)
        covariance += counts.cell_sizes[leaf] * (np.diag(rates) - np.outer(rates, rates))
        expected = difference[leaf] @ np.linalg.pinv(covariance, rcond=1e-9) @ difference[leaf]
        assert square == pytest.approx(expected, rel=1e-6)


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("release", "n_labels"),
    [(2.0, 4), (20.0, 2), (HadamardRandomizer, 2), (KRRRandomizer, 4), (LabelRandomizer, 2)],
)
def test_leaves_that_are_alike_seldom_differ(release, n_labels):
    # The stated rate is at most .06; 5 standard errors of 100 draws are .12.
    rates = np.tile(np.r_[0.85, np.full(n_labels - 1, 0.15 / (n_labels - 1))], (8, 1))
    uneven = np.array([0.6, 0.2, 0.1, 0.04, 0.02, 0.02, 0.01, 0.01])
    for shares in (ALIKE, uneven):
        found = [leaves_differ(table(release, shares, rates, seed=seed), ANCESTORS) for seed in range(100)]
        assert np.mean(found) <= 0.18


@pytest.mark.parametrize("rates", [[0.5, 0.5], [0.9, 0.1], [0.2, 0.3, 0.5]])
def test_squares_of_laplace_noise_vary_as_their_kurtosis_says(rates):
    # 20,000 leaves of five rows each beside noise of 28: the standard error of the variance is .03 of it.
    n_leaves, rates = 20_000, np.array(rates)
    one = table(20.0, np.full(n_leaves, 1 / n_leaves), np.tile(rates, (n_leaves, 1)), 5 * n_leaves)
    found = _nodes._squares(one, rates).var()
    assert found == pytest.approx(_nodes._variances(one, rates).mean(), rel=0.15)
    assert found > 1.3 * 2 * (len(rates) - 1)
    pairs = np.repeat(np.arange(n_leaves // 2, dtype=np.int32), 2)
    np.testing.assert_allclose(one.aggregate(pairs).kurtosis, 1.5)


def test_nodes_say_what_noise_hides_in_their_leaves():
    # 64 leaves of 15 rows each, beside noise of 14: halves of the tree differ all the same.
    rates = np.repeat([[0.9, 0.1], [0.1, 0.9]], 32, axis=0)
    ancestors = np.array([np.arange(64) >> (6 - depth) for depth in range(7)], dtype=np.int32)
    tables = [table(10.0, np.full(64, 1 / 64), rates, 1000, seed) for seed in range(20)]
    halves = np.mean([leaves_differ(one, ancestors) for one in tables])
    leaves = np.mean([log_p_value(one) < np.log(0.01) for one in tables])
    assert halves > leaves + 0.3


def test_one_leaf_does_not_differ_from_itself():
    one = table(2.0, [1.0], [[0.5, 0.5]])
    assert not leaves_differ(one, np.zeros((1, 1), dtype=np.int32))
    assert log_p_value(one) == 0.0


# The warning

X = np.random.default_rng(0).uniform(size=(20_000, 2))
Y = np.where(X[:, 0] > 0.5, "yes", "no")
PERMUTED = np.random.default_rng(1).permutation(Y)
PUBLIC = np.arange(len(X)) < 100


def tree_of(kind, **parameters):
    options = {"bounds": (0, 1), "classes": ["no", "yes"], "random_state": 7, "max_depth": 3, **parameters}
    return kind(4.0, **options)


def said(fit):
    """Return the warnings of use in a call."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit()
    return [str(one.message) for one in caught if one.category is UtilityWarning]


def test_sources_and_curators_warn_once():
    tree = tree_of(DPTreeClassifier)
    assert len(said(lambda: fit_rounds(tree, [(X, PERMUTED)]))) == 1
    assert said(lambda: fit_rounds(tree, [(X, Y)])) == []
    for labels, times in ((Y, 0), (PERMUTED, 1)):
        plan = tree_of(LocallyPrivateTreeClassifier, random_state=None)
        curator = TreeCurator(plan, X[PUBLIC], Y[PUBLIC], n_clients=len(X))
        for reports in curator.specification.randomize_many(X, labels, random_state=5):
            curator.update(reports)
        assert len(said(curator.release)) == times


@pytest.mark.statistical
def test_splits_that_the_rows_chose_do_not_make_useless_trees_silent():
    # Of 62 splits the best looks better than chance in about a third of the draws; the stated rate is .02, so
    # that four of 25 have a probability below 1e-4 for any seed. These are fixed.
    useless = np.random.default_rng(2)
    silent = 0
    for seed in range(25):
        tree = DPTreeClassifier(100.0, bounds=(0, 1), classes=["no", "yes"], max_depth=2, random_state=seed)
        silent += said(lambda tree=tree: tree.fit(X[:4000], useless.permutation(Y[:4000]))) == []
    assert silent <= 3


def test_a_root_that_no_split_was_paid_for_has_the_declared_columns():
    domain = TableDomain({"job": ["clerk", "smith"], "age": (0, 1)})
    tree = DPTreeClassifier(1e-3, domain=domain, classes=[0, 1], random_state=0)
    tree.fit([{"job": "clerk", "age": 0.2}, {"job": "smith", "age": 0.4}] * 50, [0, 1] * 50)
    assert (tree.n_leaves_, tree.feature_importances_.tolist()) == (1, [0, 0])
