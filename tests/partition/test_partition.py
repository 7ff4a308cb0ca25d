# SPDX-License-Identifier: BSD-3-Clause
"""A partition's promises to clients: cells that tile the box, JSON, pickles, equality, and its own arrays."""

import copy
import pickle

import numpy as np

from skprivate.partition import Partition, build_partition
from tests.partition.references import problem, uniform


def test_copies_and_pickles_are_equal_and_read_only():
    partition = build_partition(**problem(uniform, 3, 2), max_depth=6)
    data = pickle.dumps(partition)
    assert len(data) < 12 * len(partition.left) + 1000
    for twin in (partition, pickle.loads(data), copy.deepcopy(partition), copy.copy(partition)):
        assert twin == partition
        for name, value in vars(partition).items():
            np.testing.assert_array_equal(getattr(twin, name), value)
            if isinstance(value, np.ndarray):
                assert not getattr(twin, name).flags.writeable
                assert getattr(twin, name).dtype == value.dtype


def test_equality_looks_at_every_field():
    splits = {"feature": [0, -1, -1], "threshold": [0.5], "lower": [0.0, 0.0], "upper": [1.0, 1.0]}
    changes = {"feature": [1, -1, -1], "threshold": [0.25], "lower": [0.0, -1.0], "upper": [2.0, 1.0]}
    partition = Partition.from_splits(**splits)
    assert partition == Partition.from_splits(**splits)
    for name, value in changes.items():
        assert partition != Partition.from_splits(**splits | {name: value})
    assert partition != Partition.from_splits([-1], [], [0.0, 0.0], [1.0, 1.0])
    assert partition != "partition"
