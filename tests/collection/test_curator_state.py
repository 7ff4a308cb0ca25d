# SPDX-License-Identifier: BSD-3-Clause
"""The state of a curator: what it holds, and that its bytes restore it."""

import json
from fractions import Fraction

import numpy as np
import pytest

from skprivate.collection import TreeCurator
from tests.collection.studies import N_PUBLIC, label_plan, label_rows

X, Y = label_rows()


def curator_of(tree=None, classes=(0, 1)):
    labels = np.array(classes)[np.minimum(Y[:N_PUBLIC], 1)]
    curator = TreeCurator(label_plan() if tree is None else tree, X[:N_PUBLIC], labels, n_clients=400)
    assert TreeCurator.from_bytes(curator.to_bytes()).to_bytes() == curator.to_bytes()
    curator.update(curator.specification.randomizer.randomize(np.arange(400) % 16 % 2, 0))
    return curator


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"epsilon": Fraction(1, 3), "max_depth": "auto", "prune": True},
        {"bounds": (np.array([0, 0.5]), np.float64(1.0)), "classes": np.array([0, 1])},
        {"bounds": {0: (0, 1), 1: [0, 2]}, "classes": (0, 1), "class_weight": {0: 1.0, 1: 3.0}},
        {
            "mechanism": "auto",
            "protect": "label",
            "rule": "cart",
            "criterion": "entropy",
            "min_samples_leaf": 2,
        },
    ],
)
def test_bytes_restore_the_curator(parameters):
    curator = curator_of(label_plan().set_params(**parameters))
    again = TreeCurator.from_bytes(curator.to_bytes())
    assert again.to_bytes() == curator.to_bytes()
    assert again.specification == curator.specification
    mine, theirs = curator.release(), again.release()
    np.testing.assert_array_equal(mine.leaf_proba_, theirs.leaf_proba_)
    np.testing.assert_array_equal(mine.bounds_, theirs.bounds_)
    assert mine.privacy_spent_ == theirs.privacy_spent_
    assert vars(mine).keys() == vars(theirs).keys()
    assert (mine.epsilon, mine.class_weight) == (theirs.epsilon, theirs.class_weight)


@pytest.mark.parametrize("classes", [["a", "b"], [False, True], [0.0, 2.0], [-1, 1]])
def test_labels_of_every_type_survive(classes):
    curator = curator_of(classes=classes)
    again = TreeCurator.from_bytes(curator.to_bytes()).release()
    assert again.classes_.tolist() == classes
    assert again.classes_.dtype == curator.release().classes_.dtype


def test_it_shows_reports_only():
    assert set(json.loads(curator_of().to_bytes())) == {
        *("format", "version", "specification", "tree", "rule", "bounds", "named", "public_counts"),
        *("counts", "history", "stream", "public", "first", "checksum"),
    }
