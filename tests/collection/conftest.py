# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of the deployment share."""

import numpy as np
import pytest

from skprivate.collection import TreeSpecification
from skprivate.partition import build_partition
from skprivate.randomizers import make_randomizer


def _make_specification(mechanism="hadamard", *, classes=(0, 1), depth=3, epsilon=1.0, **kwargs):
    partition = build_partition(
        np.zeros((0, 2)), [], lower=[0, 0], upper=[1, 2], max_depth=depth, n_labels=len(classes)
    )
    randomizer = make_randomizer(mechanism, epsilon, partition.n_leaves, len(classes))
    return TreeSpecification(partition, randomizer, classes, **kwargs)


@pytest.fixture
def make_specification():
    """Return the function that makes a specification of 2^depth cells on [0, 1] x [0, 2]."""
    return _make_specification
