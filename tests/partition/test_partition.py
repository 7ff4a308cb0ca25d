# SPDX-License-Identifier: BSD-3-Clause
"""A partition's promises to clients: cells that tile the box, JSON, pickles, equality, and its own arrays."""

import copy
import json
import math
import pickle

import numpy as np
import pytest

from skprivate.partition import Partition, build_partition
from tests.partition.references import DATA, a_few_ulps, outside, problem, uniform


@pytest.mark.parametrize("min_samples_leaf", [0, 4])
def test_cells_tile_the_box(min_samples_leaf):
    task = problem(outside, 3, 2)
    partition = build_partition(**task, max_depth=7, min_samples_leaf=min_samples_leaf)
    low, high = partition.cells()
    sides = (high - low) / (task["upper"] - task["lower"])
    assert sides.min() > 0
    assert math.fsum(sides.prod(axis=1)) == pytest.approx(1, abs=1e-12)
    np.testing.assert_array_equal(partition.apply((low + high) / 2), np.arange(partition.n_leaves))
    np.testing.assert_array_equal(partition.apply(low), np.arange(partition.n_leaves))


def test_cells_stay_ordered_in_a_box_of_a_few_ulps():
    low, high = build_partition(**problem(a_few_ulps, 2, 2), max_depth=9).cells()
    assert (low <= high).all()


@pytest.mark.parametrize("data", DATA)
def test_dictionary_survives_json(data):
    partition = build_partition(**problem(data, 3, 2), max_depth=6)
    text = json.dumps(partition.to_dict(), allow_nan=False)
    restored = Partition.from_dict(json.loads(text))
    assert restored == partition
    assert restored.to_dict() == partition.to_dict()


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


def test_arrays_of_the_caller_stay_his():
    lower = np.zeros(2)
    partition = Partition.from_splits([-1], [], lower, np.ones(2))
    lower[0] = -5
    assert partition.lower[0] == 0
