# SPDX-License-Identifier: BSD-3-Clause
"""One rule for labels: how classes are declared and found, and how cells are compared with them."""

import numpy as np
import pandas as pd
import pytest

from skprivate import DPTreeClassifier
from skprivate.domain._labels import (
    declared_classes,
    find_classes,
    number_labels,
    refuse_label_types,
)
from tests.domain.typed_columns import BOOLEANS, NUMBERS, TEXT, TEXTS

# No type of theirs is public: each cell is read by itself.
CELLS = {
    "list": TEXT,
    "object": np.array(TEXT, dtype=object),
    "bytes": [b"no", b" yes", "no", b"\xff"],
    "mixed": ["no", "yes", 1, None],
    "odd": ["no", np.str_("yes "), float("nan"), ["yes"]],
}


@pytest.mark.parametrize("labels", [*TEXTS.values(), *CELLS.values()], ids=[*TEXTS, *CELLS])
def test_text_is_compared_without_white_space(labels):
    array = np.empty(4, dtype=object) if isinstance(labels, list) else labels
    if isinstance(labels, list):
        array[:] = labels
    refuse_label_types(labels, ["no", "yes "])
    assert number_labels(array, ["no", "yes "], elsewhere=-1)[:2].tolist() == [0, 1]
    assert number_labels(array, ["no", "yes "], elsewhere=-1)[3] == -1
    assert number_labels(array, ["no", "yes "])[3] == 0


@pytest.mark.parametrize("classes", [[0, 1], [0.0, 1.0], [False, True]])
@pytest.mark.parametrize("labels", [*NUMBERS.values(), *BOOLEANS.values()], ids=[*NUMBERS, *BOOLEANS])
def test_booleans_are_numbers(labels, classes):
    refuse_label_types(labels, classes)
    assert number_labels(labels, classes).tolist() == [0, 1, 0, 0]
    assert number_labels(np.array(np.asarray(labels).tolist(), dtype=object), classes).tolist() == [
        0,
        1,
        0,
        0,
    ]


@pytest.mark.parametrize(
    "labels", [["no", 1], np.array([0, "no"], dtype=object), np.array([]).astype(object)]
)
def test_cells_have_no_public_type(labels):
    refuse_label_types(labels, [0, 1])
    refuse_label_types(labels, ["no", "yes"])


def test_no_object_makes_reading_fail():
    class Odd(str):
        def __hash__(self):
            raise RuntimeError

        def __eq__(self, other):
            raise RuntimeError

    cells = np.array([Odd("yes"), object(), ["yes"], pd.NaT, 10**400, "yes"], dtype=object)
    assert number_labels(cells, ["no", "yes"])[1:].tolist() == [0, 0, 0, 0, 1]


@pytest.mark.parametrize(
    ("classes", "found"),
    [
        (["yes", " no"], [" no", "yes"]),
        ([b"yes", b"no"], ["no", "yes"]),
        ((2, 1), [1, 2]),
        ([True, False], [False, True]),
        (pd.Series(["yes", "no"], dtype="category"), ["no", "yes"]),
    ],
)
def test_declared_classes_stay_as_written(classes, found):
    assert declared_classes(classes).tolist() == found


def test_found_classes_have_no_white_space():
    assert find_classes(["yes", " no", "no", b"yes "]).tolist() == ["no", "yes"]


@pytest.mark.parametrize("kind", [int, float, str, object])
def test_labels_are_numbered_and_others_are_the_first_class(kind):
    labels = number_labels(np.array([3, 1, 2, 7, 3]).astype(kind), np.array([1, 2, 3]).astype(kind))
    assert labels.tolist() == [2, 0, 1, 0, 2]
    assert labels.dtype == np.int32


def test_a_private_label_does_not_change_the_type_of_the_classes():
    X, whole, found = np.linspace(0, 1, 200)[:, None], pd.Series(np.arange(200) % 2), []
    for label in (1, 0.5):
        y = whole.astype(type(label))
        y.iloc[-1] = label
        found.append(DPTreeClassifier(bounds=(0, 1)).fit(X, y, is_public=np.arange(200) < 100).classes_)
    assert found[0].dtype == found[1].dtype == np.int64
