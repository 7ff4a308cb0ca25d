# SPDX-License-Identifier: BSD-3-Clause
"""Leaves of rows against a walk from the root, and counts per leaf and label against NumPy."""

import numpy as np
import pytest

from skprivate.partition import build_partition, count_leaves
from tests.partition.references import problem, uniform


def walk(partition, row):
    node = 0
    while partition.leaf_index[node] < 0:
        node = partition.left[node] + int(row[partition.feature[node]] >= partition.threshold[node])
    return partition.leaf_index[node]


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
