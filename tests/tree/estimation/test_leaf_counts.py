# SPDX-License-Identifier: BSD-3-Clause
"""Counts of leaves: aggregation to nodes, and what follows from a release."""

from dataclasses import fields

import numpy as np
import pytest

from skprivate.partition import build_partition
from skprivate.randomizers import HadamardRandomizer, KRRRandomizer
from skprivate.tree._leaf_probabilities import LeafCounts, estimate_shares, variance_per_row
from skprivate.tree._release import TreeDesign

PARENT = np.array([0, 1, 0, 2], dtype=np.int32)


def random_leaves(n_labels=3, n_leaves=4, with_cells=True):
    rng = np.random.default_rng(n_labels)
    public = rng.integers(0, 9, size=(n_leaves, n_labels))
    cells = rng.uniform(1, 90, size=n_leaves) if with_cells else None
    return LeafCounts.of(rng.normal(0, 9, size=public.shape), 200, public, rng.uniform(size=n_leaves), cells)


@pytest.mark.parametrize("with_cells", [True, False])
def test_a_node_has_the_sums_of_its_leaves(with_cells):
    parent, leaves = PARENT, random_leaves(with_cells=with_cells)
    nodes = leaves.aggregate(parent)
    for name in (field.name for field in fields(leaves)):
        own, sums = getattr(leaves, name), getattr(nodes, name)
        if isinstance(own, int | float) or own is None:
            assert own == sums
        else:
            np.testing.assert_allclose(sums, [own[parent == k].sum(axis=0) for k in range(3)])
    assert (nodes.n_leaves, nodes.n_labels, nodes.n_public) == (3, 3, leaves.n_public)
    np.testing.assert_array_equal(nodes.public_rows, nodes.public_counts.sum(axis=1))


def test_nodes_of_one_leaf_each_are_the_leaves():
    leaves = random_leaves()
    same = leaves.aggregate(np.arange(4, dtype=np.int32))
    for name in (field.name for field in fields(leaves)):
        np.testing.assert_array_equal(getattr(same, name), getattr(leaves, name))


def test_cell_sizes_are_those_of_the_rows_at_hand():
    leaves = random_leaves()
    # Less is taken from the release where others like them are meant: sampling is between.
    own, others = (
        np.abs(sizes - leaves.cell_estimates) for sizes in (leaves.cell_sizes, 200 * leaves.shares())
    )
    assert own.sum() < others.sum()
    exact = LeafCounts.of(leaves.label_estimates, 200, leaves.public_counts, 0.0, np.array([90.0, 60, 50, 0]))
    np.testing.assert_allclose(exact.cell_sizes, [90, 60, 50, 200 / 204])
    # With cell estimates they follow these, and else the public rows.
    assert not np.allclose(leaves.shares(), estimate_shares(leaves.public_counts))
    apart = random_leaves(with_cells=False)
    np.testing.assert_array_equal(apart.shares(), estimate_shares(apart.public_counts))


@pytest.mark.parametrize(
    ("kind", "n_labels"), [(HadamardRandomizer, 2), (KRRRandomizer, 2), (KRRRandomizer, 3)]
)
def test_everything_of_a_release_is_taken(kind, n_labels):
    partition = build_partition(np.empty((0, 2)), [], lower=[0, 0], upper=[1, 1], max_depth=2)
    randomizer = kind(2.0, partition.n_leaves, n_labels)
    public = np.arange(4 * n_labels).reshape(4, n_labels)
    box = (partition.lower, partition.upper)
    design = TreeDesign(partition, randomizer, np.arange(n_labels), box, "random", public)
    released = randomizer.simulate(np.arange(4 * n_labels).repeat(30), 0)
    n = 120 * n_labels
    leaves = LeafCounts.from_release(design, released, n)
    estimates = randomizer.estimate(released, n)
    if n_labels == 2:
        # Signed sums are the difference of the columns, up to a constant a leaf.
        np.testing.assert_allclose(leaves.label_estimates @ [-1, 1], estimates)
    else:
        np.testing.assert_array_equal(leaves.label_estimates, estimates)
    cells = randomizer.estimate_cells(released, n)
    assert (leaves.cell_estimates is None) == (cells is None)
    if cells is not None:
        np.testing.assert_array_equal(leaves.cell_estimates, cells)
    np.testing.assert_array_equal(leaves.variance, variance_per_row(randomizer, n))
    np.testing.assert_array_equal(leaves.public_counts, public)
    assert leaves.n_rows == n
