# SPDX-License-Identifier: BSD-3-Clause
"""Leaves of rows against a walk from the root, and counts per leaf and label against NumPy."""

import numpy as np
import pytest

from skprivate.partition import build_partition, count_leaves
from tests.partition.references import DATA, huge, problem, uniform


def walk(partition, row):
    node = 0
    while partition.leaf_index[node] < 0:
        node = partition.left[node] + int(row[partition.feature[node]] >= partition.threshold[node])
    return partition.leaf_index[node]


@pytest.mark.parametrize("data", DATA)
def test_apply_equals_a_walk(data):
    X = problem(data, 3, 2, n=117, seed=1)["X"]
    for max_depth in (0, 1, 7):
        partition = build_partition(**problem(data, 3, 2), max_depth=max_depth)
        expected = [walk(partition, row) for row in X]
        for n in (0, 1, 7, 8, 9, 64, 117):
            leaves = partition.apply(X[:n])
            assert leaves.dtype == np.int32
            np.testing.assert_array_equal(leaves, expected[:n])


def test_apply_keeps_any_value_inside_the_tree():
    # All public rows are in one corner, so infinite rows rest in empty leaves at every depth.
    corner = np.random.default_rng(0).random((50, 2)) / 32
    partition = build_partition(corner, np.arange(50) % 2, lower=[0, 0], upper=[1, 1], max_depth=7)
    X = np.tile([[np.inf, -np.inf], [np.nan, np.inf], [np.inf, np.inf]], (9, 1))
    np.testing.assert_array_equal(partition.apply(X), [walk(partition, row) for row in X])


@pytest.mark.parametrize("data", DATA)
def test_routing_a_raw_row_equals_routing_the_clipped_row(data):
    task = problem(data, 3, 2)
    partition = build_partition(**task, max_depth=7)
    X = np.concatenate([task["X"] / 2 * 5 if data is not huge else task["X"], task["X"]])
    clipped = np.clip(X, task["lower"], task["upper"])
    np.testing.assert_array_equal(partition.apply(X), partition.apply(clipped))
    task["X"] = np.clip(task["X"], task["lower"], task["upper"])
    assert build_partition(**task, max_depth=7) == partition


def test_apply_takes_any_layout():
    partition = build_partition(**problem(uniform, 3, 2), max_depth=5)
    X = np.random.default_rng(0).random((40, 3))
    expected = partition.apply(X)
    np.testing.assert_array_equal(partition.apply(np.asfortranarray(X)), expected)
    np.testing.assert_array_equal(partition.apply(X.tolist()), expected)


@pytest.mark.parametrize("n_labels", [2, 3])
def test_counts_are_added_to_what_is_there(n_labels):
    rng = np.random.default_rng(n_labels)
    counts = np.arange(5 * n_labels, dtype=np.int64).reshape(5, n_labels)
    expected = counts.copy()
    for n in (0, 1, 1000):
        leaves, labels = rng.integers(0, 5, n, dtype=np.int32), rng.integers(0, n_labels, n, dtype=np.int32)
        count_leaves(leaves, labels, counts)
        np.add.at(expected, (leaves, labels), 1)
    np.testing.assert_array_equal(counts, expected)
