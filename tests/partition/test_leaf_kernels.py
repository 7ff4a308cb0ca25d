# SPDX-License-Identifier: BSD-3-Clause
"""Counts per leaf and label."""

import numpy as np
import pytest

from skprivate.partition import count_leaves


@pytest.mark.parametrize("n", [0, 1, 1000])
@pytest.mark.parametrize("n_labels", [2, 3])
def test_count_leaves_equals_numpy(n, n_labels):
    rng = np.random.default_rng(n)
    leaves, labels = rng.integers(0, 5, n, dtype=np.int32), rng.integers(0, n_labels, n, dtype=np.int32)
    counts = np.zeros((5, n_labels), dtype=np.int64)
    count_leaves(leaves, labels, counts)
    expected = np.zeros_like(counts)
    np.add.at(expected, (leaves, labels), 1)
    np.testing.assert_array_equal(counts, expected)


def test_count_leaves_adds_to_what_is_there():
    leaves, labels = np.zeros(3, dtype=np.int32), np.array([0, 1, 1], dtype=np.int32)
    counts = np.array([[10, 20]])
    for _ in range(2):
        count_leaves(leaves, labels, counts)
    np.testing.assert_array_equal(counts, [[12, 24]])
