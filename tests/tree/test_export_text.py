# SPDX-License-Identifier: BSD-3-Clause
"""The rules of a tree as text: where rows go, what leaves estimate, and declared columns in words."""

import numpy as np
import pytest

from skprivate import DPTreeClassifier, LocallyPrivateTreeClassifier
from skprivate.domain import BooleanColumn, CategoricalColumn, DateColumn, NumberColumn, TableDomain
from skprivate.partition import DerivedColumns, Partition
from skprivate.partition._partition import FilledColumn, LevelsColumn, ValueColumn
from skprivate.tree import export_text
from skprivate.tree._export_text import SplitRules

RNG = np.random.default_rng(3)
X = RNG.uniform(size=(4000, 3))
Y = np.where((X[:, 0] > 0.5) ^ (X[:, 1] > 0.3), "yes", "no")
PUBLIC = np.arange(len(X)) < 400


def fitted(kind=DPTreeClassifier, **parameters):
    options = {"bounds": (0, 1), "rule": "cart", "max_depth": 4, "random_state": 11, "split_share": 0}
    return kind(4.0, **options | parameters).fit(X, Y, is_public=PUBLIC)


TREES = [fitted(), fitted(LocallyPrivateTreeClassifier, rule="max-edge")]


def test_text_ends_at_the_depth_that_was_asked_for():
    text = export_text(TREES[1], max_depth=2)
    assert text.count("|   |   |--- truncated branch of depth 2") == 4
    assert "|   |   |   |" not in text


def test_declared_columns_are_put_in_words():
    domain = TableDomain(
        {"age": (0, 100), "job": ["clerk", "smith"], "married": bool, "since": ("2001-01-01", "2020-12-31")},
        missing_values=["?"],
    )
    records = [
        {"age": 100 * a, "job": "clerk" if b < 0.5 else "smith", "married": c < 0.5, "since": "2010-01-01"}
        for a, b, c in X
    ]
    tree = DPTreeClassifier(8.0, domain=domain, rule="cart", max_depth=2, random_state=11, split_share=0)
    tree.fit(records, X[:, 1] < 0.5, is_public=PUBLIC)
    # No public row has a missing job: its place is that of the base rate, on one of the sides.
    first = export_text(tree, max_depth=1).splitlines()[0]
    assert first in ("|--- job in {smith}", "|--- job in {smith, missing}")
    np.testing.assert_allclose(tree.feature_importances_, [0, 1, 0, 0], atol=0.1)
    with pytest.raises(ValueError, match="the domain of the tree names its columns"):
        export_text(tree, feature_names=["a"] * 4)


def test_values_without_missing_cells_are_put_in_words():
    columns = {"age": (0, 100), "married": bool, "since": ("2001-01-01", "2020-12-31")}
    domain = TableDomain(columns)
    derived = DerivedColumns(3, tuple(ValueColumn(place, place) for place in range(3)))
    rules = chain(domain, (0, 1, 2, 1), (40.0, 0.5, 31.0, 0.75), derived, domain.bounds)
    assert [rules.sides(node, 1) for node in (0, 2, 4, 6)] == [
        ("age < 40.0", "age >= 40.0"),
        ("married is false", "married is not false"),
        ("since < 2001-02-01", "since >= 2001-02-01"),
        ("married is not true", "married is true"),
    ]


def chain(domain, columns, thresholds, derived, box):
    """The rules of a partition in which every right child, but the last one, is split."""
    features = [next(iter(columns)), *[f for c in list(columns)[1:] for f in (-1, c)], -1, -1]
    return SplitRules(Partition.from_splits(features, thresholds, *box, derived), None, domain)


def test_levels_and_missing_cells_are_put_in_words():
    names = ["clerk", "smith", "farmer", "b\u00e4cker"]
    many = [f"l{number}" for number in range(20)]
    domain = TableDomain(
        {
            "job": CategoricalColumn(names, missing="indicator"),
            "age": NumberColumn(0, 100, missing="indicator"),
            "married": BooleanColumn(missing="indicator"),
            "code": many,
            "kind": CategoricalColumn(["a", "b"], missing="fill"),
            "since": DateColumn("2001-01-01", "2020-12-31", missing="indicator", fill="2010-01-01"),
        }
    )
    columns = (
        LevelsColumn(0, 0, (0.1, 0.2, 0.3, 0.4, 0.25), 0.2, 4),
        FilledColumn(1, 5, 6, -200.0, 0.0, 100.0),
        FilledColumn(1, 5, 6, 300.0, 0.0, 100.0),
        FilledColumn(2, 7, 8, 1.0, 0.0, 1.0),
        ValueColumn(2, 8),
        LevelsColumn(3, 9, tuple(np.arange(20.0)), 9.5),
        LevelsColumn(4, 29, (0.2, 0.8), 0.5),
        FilledColumn(5, 31, 32, 3286.0, 0.0, 7304.0),
        ValueColumn(5, 32),
    )
    derived = DerivedColumns(33, columns)
    low, high = [0.1, -200, 0, 0, 0, 0, 0.2, 0, 0], [0.4, 100, 300, 1, 1, 19, 0.8, 7304, 1]

    def said(*splits):
        """The rules of a chain of nodes, each below the right child of the one before."""
        rules = chain(domain, [c for c, _ in splits], [t for _, t in splits], derived, (low, high))
        return [rules.sides(2 * node, 2) for node in range(len(splits))]

    assert said((0, 0.15)) == [("job in {clerk}", "job in {smith, farmer, b\\xe4cker, missing}")]
    assert said((0, 0.25), (0, 0.28), (0, 0.35)) == [
        ("job in {clerk, smith}", "job in {farmer, b\\xe4cker, missing}"),
        ("job is missing", "job is not missing"),
        ("job in {farmer}", "job in {b\\xe4cker}"),
    ]
    assert said((1, 40.0)) == [("age < 40.00 or missing", "age >= 40.00")]
    assert said((2, 40.0)) == [("age < 40.00", "age >= 40.00 or missing")]
    assert said((1, -50.0)) == [("age is missing", "age is not missing")]
    assert said((2, 150.0)) == [("age is not missing", "age is missing")]
    # What cannot be missing any more is not said to be.
    assert said((1, -50.0), (2, 40.0)) == [
        ("age is missing", "age is not missing"),
        ("age < 40.00", "age >= 40.00"),
    ]
    assert said((3, 0.5)) == [("married is false", "married is true or missing")]
    assert said((4, 0.5)) == [("married is not missing", "married is missing")]
    assert said((6, 0.3)) == [("kind in {a}", "kind in {b, missing}")]
    assert said((7, 31.0), (8, 0.5)) == [
        ("since < 2001-02-01", "since >= 2001-02-01 or missing"),
        ("since is not missing", "since is missing"),
    ]
    assert said((5, 2.5), (5, 11.5)) == [
        ("code in {l0, l1, l2}", "code not in {l0, l1, l2}"),
        (
            "code in {l3, l4, l5, l6, l7, l8, ... 3 more}",
            "code in {l12, l13, l14, l15, l16, l17, ... 2 more}",
        ),
    ]
