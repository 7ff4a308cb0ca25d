# SPDX-License-Identifier: BSD-3-Clause
"""One rule for labels: how classes are declared and found, and how cells are compared with them."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from skprivate import DPBoostingClassifier, DPTreeClassifier, LocallyPrivateTreeClassifier
from skprivate.domain._labels import (
    declared_classes,
    find_classes,
    number_labels,
    refuse_label_types,
    refuse_unknown_labels,
)

RNG = np.random.default_rng(0)
X = RNG.uniform(size=(200, 2))
PUBLIC = np.arange(200) < 100


@pytest.mark.parametrize("labels", [[0.0, 1.0], [-3.0, 2.0**40], [True, False]])
def test_whole_numbers_are_integers(labels):
    classes = find_classes(np.array(labels))
    assert classes.dtype.kind in "ib"
    assert classes.tolist() == sorted(labels)


@pytest.mark.parametrize("kind", [DPTreeClassifier, DPBoostingClassifier, LocallyPrivateTreeClassifier])
def test_a_private_label_does_not_change_their_type(kind):
    whole = pd.Series(np.arange(200) % 2)
    found = []
    for label in (1, 0.5):
        y = whole.astype(type(label))
        y.iloc[-1] = label
        found.append(kind(bounds=(0, 1)).fit(X, y, is_public=PUBLIC).classes_)
    assert found[0].dtype == found[1].dtype == np.int64


TEXT = ["no", " yes", "\tno\n", "Yes"]
TEXTS = {
    "U": np.array(TEXT),
    "S": np.array(TEXT, dtype="S"),
    "StringDType": np.array(TEXT, dtype=np.dtypes.StringDType()),
    "pandas str": pd.Series(TEXT),
    "pandas string": pd.Series(TEXT, dtype="string"),
    "pandas category": pd.Series(TEXT, dtype="category"),
    "pandas arrow": pd.Series(TEXT, dtype=pd.ArrowDtype(pa.string())),
    "polars String": pl.Series(TEXT),
    "polars Categorical": pl.Series(TEXT, dtype=pl.Categorical),
    "polars Enum": pl.Series(TEXT, dtype=pl.Enum(TEXT)),
    "arrow": pa.chunked_array([TEXT]),
    "arrow dictionary": pa.array(TEXT).dictionary_encode(),
}
NUMBERS = {
    "int": np.array([0, 1, 0, 2]),
    "big-endian": np.array([0, 1, 0, 2], dtype=">i4"),
    "float": np.array([0.0, 1.0, 0.0, np.nan]),
    "pandas Int64": pd.Series([0, 1, 0, 2], dtype="Int64"),
    "pandas category": pd.Series([0, 1, 0, 2], dtype="category"),
    "pandas arrow": pd.Series([0, 1, 0, 2.5], dtype=pd.ArrowDtype(pa.float64())),
    "polars": pl.Series([0, 1, 0, 2]),
    "arrow": pa.array([0, 1, 0, 2]),
}
BOOLEANS = {
    "bool": np.array([False, True, False, False]),
    "pandas boolean": pd.Series([False, True, False, False], dtype="boolean"),
    "polars": pl.Series([False, True, False, False]),
    "arrow": pa.array([False, True, False, False]),
}
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
    ("labels", "classes", "remedy"),
    [
        *((labels, [0, 1], r"classes=\['0', '1'\]") for labels in TEXTS.values()),
        *((labels, ["no", "yes"], r"classes=\[0, 1\]") for labels in (NUMBERS | BOOLEANS).values()),
        (pd.DataFrame({"y": TEXT}), [0, 1], "turn y into numbers"),
        (np.array([0j, 1j]), [0, 1], "not complex"),
        (np.array([0, 1]), list("abcdef"), r"classes=\['a', 'b', 'c', ...\] are text"),
    ],
)
def test_types_of_the_other_kind_are_refused(labels, classes, remedy):
    with pytest.raises(TypeError, match=remedy):
        refuse_label_types(labels, classes)


@pytest.mark.parametrize(
    "labels",
    [
        np.array([True, False]),
        pd.Series([True, False]),
        pd.Series([True, None], dtype="boolean"),
        pa.array([True, False]),
    ],
)
def test_booleans_are_refused_where_a_class_is_neither_0_nor_1(labels):
    refuse_label_types(labels, [0, 1])
    refuse_label_types(labels, [False, True])
    with pytest.raises(TypeError, match=r"classes=\[False, True\]"):
        refuse_label_types(labels, [1, 2])


@pytest.mark.parametrize(
    "labels", [["no", 1], np.array([0, "no"], dtype=object), np.array([]).astype(object)]
)
def test_cells_have_no_public_type(labels):
    refuse_label_types(labels, [0, 1])
    refuse_label_types(labels, ["no", "yes"])


@pytest.mark.parametrize(
    ("labels", "told"),
    [
        (np.array([0, 1, 2]), r"classes=\[1, 2\]: \[0\]\."),
        ([True, False], r": \[False\]\."),
        ([*range(9), "x" * 99], r": \[0, 3, 4, \.\.\.\]\."),
        (list(np.array([0, 3, 1])), r": \[0, 3\]\."),
        (["x" * 99], rf": \['{'x' * 29}\]\."),
    ],
)
def test_public_labels_outside_the_classes_are_told(labels, told):
    with pytest.raises(ValueError, match=told):
        refuse_unknown_labels(labels, np.array([1, 2]))
    refuse_unknown_labels([1, 2.0], np.array([1, 2]))


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


@pytest.mark.parametrize(
    "classes", [["no", "no "], [b"a", "a"], [1, True], [0, "no"], [0, np.inf], [0, 2**60]]
)
def test_classes_that_are_none(classes):
    with pytest.raises(ValueError, match="classes must"):
        declared_classes(classes)


def test_found_classes_have_no_white_space():
    assert find_classes(["yes", " no", "no", b"yes "]).tolist() == ["no", "yes"]


@pytest.mark.parametrize("kind", [int, float, str, object])
def test_labels_are_numbered_and_others_are_the_first_class(kind):
    labels = number_labels(np.array([3, 1, 2, 7, 3]).astype(kind), np.array([1, 2, 3]).astype(kind))
    assert labels.tolist() == [2, 0, 1, 0, 2]
    assert labels.dtype == np.int32
