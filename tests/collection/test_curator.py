# SPDX-License-Identifier: BSD-3-Clause
"""A curator plans with public rows or declarations, and releases what `fit` makes of the same reports."""

import copy

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestRegressor

from skprivate import LocallyPrivateTreeClassifier, LocallyPrivateTreeRegressor
from skprivate.collection import TreeClient, TreeCurator, TreeSpecification
from skprivate.partition import build_partition
from skprivate.preprocessing import estimate_bounds
from tests.collection.studies import (
    N_PRIVATE,
    N_PUBLIC,
    NAMES,
    label_plan,
    label_rows,
    make_domain,
    named,
    number_plan,
    number_rows,
    write_reports,
)

X, Y = label_rows()
TWO = np.minimum(Y, 1)
IS_PUBLIC = np.arange(len(X)) < N_PUBLIC


def label_curator(tree=None, labels=TWO, **kwargs):
    tree = label_plan() if tree is None else tree
    return TreeCurator(tree, X[:N_PUBLIC], labels[:N_PUBLIC], n_clients=N_PRIVATE, **kwargs)


def label_reports(curator, labels=TWO, seed=0):
    categories = (labels.max() + 1) * curator.specification.partition.apply(X[N_PUBLIC:]) + labels[N_PUBLIC:]
    return curator.specification.randomizer.randomize(categories, seed)


def number_curator(n_public=200, **options):
    rows = number_rows(n_public, seed=1)
    return TreeCurator(number_plan(**options), *rows, n_clients=3000, features=NAMES, label="cost")


# What comes out


@pytest.mark.parametrize(
    ("mechanism", "n_labels", "rule"),
    [
        ("hadamard", 2, "max-edge"),
        ("krr", 2, "cart"),
        ("subset", 2, "random"),
        ("krr", 3, "max-edge"),
        ("subset", 3, "cart"),
    ],
)
def test_the_release_is_what_fit_makes_of_the_same_reports(tmp_path, mechanism, n_labels, rule):
    y = np.minimum(Y, n_labels - 1)
    tree = label_plan(mechanism, rule=rule)
    curator = label_curator(tree, y)
    for number, part in enumerate(np.array_split(label_reports(curator, y, seed=3), 3)):
        assert curator.update_file(write_reports(tmp_path / f"{number}", curator.specification, part))
    released = curator.release()
    fitted = tree.set_params(random_state=3).fit(X, y, is_public=IS_PUBLIC)
    np.testing.assert_array_equal(released.report_counts_, fitted.report_counts_)
    np.testing.assert_array_equal(released.leaf_proba_, fitted.leaf_proba_)
    np.testing.assert_array_equal(released.predict(X), fitted.predict(X))
    assert released.predict(X).dtype == fitted.predict(X).dtype
    assert vars(released).keys() == vars(fitted).keys()


@pytest.mark.parametrize(
    "options",
    [
        {"mechanism": "krr"},
        {"mechanism": "hadamard"},
        {"protect": "label"},
        {"public_weight": 0.5, "rule": "max-edge"},
    ],
)
def test_so_is_that_of_numbers(options):
    rows, y = number_rows(3200)
    is_public = np.arange(3200) < 200
    curator = TreeCurator(number_plan(**options), rows[:200], y[:200], n_clients=3000)
    fitted = number_plan(**options, random_state=11).fit(rows, y, is_public=is_public)
    assert fitted.randomizer_.to_dict() == curator.specification.randomizer.to_dict()
    curator._state = curator._state.with_counts(fitted.report_counts_, {"00": (3000, 3000)})
    again = TreeCurator.from_bytes(curator.to_bytes())
    for tree in (curator.release(), again.release()):
        np.testing.assert_array_equal(tree.predict(rows), fitted.predict(rows))
        np.testing.assert_array_equal(tree.leaf_intervals(), fitted.leaf_intervals())
        np.testing.assert_array_equal(tree.public_counts_, fitted.public_counts_)
        np.testing.assert_array_equal(tree.public_weight_, fitted.public_weight_)


@pytest.mark.parametrize("protect", ["record", "label"])
def test_from_the_specification_to_the_tree(tmp_path, protect):
    curator = number_curator(protect=protect)
    (tmp_path / "study.json").write_text(curator.specification.to_json())
    specification = TreeSpecification.from_json(tmp_path / "study.json")
    rows, y = number_rows(3000)
    clients = [
        TreeClient(specification, protect=protect).randomize(row, cost)
        for row, cost in zip(rows[:300], y[:300], strict=True)
    ]
    fleet = specification.randomize_many(rows[300:], y[300:], protect=protect, random_state=9)
    phones = write_reports(tmp_path / "phones.bin", specification, *clients)
    other = TreeCurator.from_bytes(curator.to_bytes())
    assert curator.update_file(phones, checkpoint=tmp_path / "study.state")
    assert other.update_file(write_reports(tmp_path / "fleet.bin", specification, *fleet))
    curator.close()
    with TreeCurator.from_file(tmp_path / "study.state") as again:
        again.merge(other)
        again.save(tmp_path / "study.state")
        tree = again.release()
    assert isinstance(tree, LocallyPrivateTreeRegressor)
    assert (tree.n_reports_, tree.bounds_y_) == (3000, (-5.0, 15.0))
    spent = tree.privacy_spent_
    assert (spent.deployment, spent.epsilon, spent.claim) == ("collected", 3, "dp")
    assert spent.relation == ("local" if protect == "record" else "label")
    # Of 19 units of variance 18 are between the two halves: without reports the score would be 0.
    assert tree.score(named(rows), y) > 0.7
    state = (tmp_path / "study.state").read_bytes()
    assert TreeCurator.from_bytes(state).to_bytes() == state


def test_what_is_claimed():
    curator = label_curator()
    curator.update(label_reports(curator))
    spent = curator.release().privacy_spent_
    assert (spent.deployment, spent.claim, spent.relation) == ("collected", "dp", "local")
    assert (spent.epsilon, spent.noise_source) == (2, "os-entropy")
    assert spent.unprotected["reports"] == N_PRIVATE
    assert spent.unprotected["bounds"] == "those of the public rows"


# Planning


@pytest.mark.parametrize(
    ("bounds", "features", "names"),
    [
        ((0, 1), NAMES, ("a", "b")),
        (([0, 0], 1), None, ("x0", "x1")),
        ({"b": (0, 1), "a": (0, 2)}, None, ("b", "a")),
        ({"b": (0, 1), "a": (0, 2)}, NAMES, ("a", "b")),
        ({0: (0, 1), 1: (0, 2)}, None, ("x0", "x1")),
    ],
)
def test_columns_without_public_rows(bounds, features, names):
    tree = LocallyPrivateTreeClassifier(bounds=bounds, classes=["n", "y"], max_depth=2)
    curator = TreeCurator(tree, n_clients=100, features=features)
    assert curator.specification.features == names
    assert curator.specification.classes == ("n", "y")
    curator.update(curator.client().randomize(dict.fromkeys(names, 0.3), "y"))
    released = TreeCurator.from_bytes(curator.to_bytes()).release()
    assert released.n_features_in_ == 2
    assert hasattr(released, "feature_names_in_") == (names[0] != "x0")
    assert released.rule_ == "random"


def test_names_of_the_columns():
    curator = TreeCurator(label_plan("krr"), named(X[:N_PUBLIC]), Y[:N_PUBLIC], n_clients=100, label="sick")
    assert (curator.specification.features, curator.specification.label) == (("a", "b"), "sick")
    curator.update(curator.client().randomize({"b": 0.1, "a": 0.2}, 0))
    assert list(curator.release().feature_names_in_) == ["a", "b"]
    assert label_curator(features=["c", "d"]).specification.features == ("c", "d")


def test_bounds_of_numbers():
    rows, y = number_rows(200)
    curator = TreeCurator(number_plan(bounds_y=None), rows, y, n_clients=100)
    assert curator.specification.bounds_y == (y.min(), y.max())
    declared = TreeCurator(number_plan(split_share=0, max_depth=2), n_clients=100, features=NAMES)
    assert declared.specification.bounds_y == (-5.0, 15.0)
    wider = TreeCurator(
        number_plan(split_share=0, max_depth=2, bounds_y=(-5, 16)), n_clients=100, features=NAMES
    )
    with pytest.raises(ValueError, match="different specifications"):
        declared.merge(wider)


def test_a_public_model_stays_and_its_leaves_are_saved():
    curator = number_curator(public_model=RandomForestRegressor(30, random_state=0))
    rows, y = number_rows(3000)
    curator.update(curator.specification.randomize_many(rows, y, random_state=9))
    again = TreeCurator.from_bytes(curator.to_bytes())
    tree, restored = curator.release(), again.release()
    np.testing.assert_array_equal(tree.leaf_values_, restored.leaf_values_)
    assert tree.score(named(rows), y) > 0.9
    assert restored.score(named(rows), y) > 0.8
    assert again.to_bytes() == curator.to_bytes()


def test_estimated_bounds_of_a_plan_survive_a_saved_state():
    curator = label_curator(label_plan(bounds=estimate_bounds(X, 0.5, random_state=0)))
    curator.update(label_reports(curator))
    for one in (curator, TreeCurator.from_bytes(curator.to_bytes())):
        spent = one.release().privacy_spent_
        assert spent.claim == "not-private"
        assert "bounds (estimated for epsilon = 0.5, charged separately)" in spent.public_inputs


# Declared columns


def domain_rows(n=300, seed=0):
    """Smiths since 2010 and all above 60 are sick."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "since": pd.Timestamp("2001-01-01") + pd.to_timedelta(rng.integers(0, 7300, size=n), "D"),
            "age": rng.integers(17, 91, size=n),
            "job": rng.choice(["clerk", "smith", "?"], size=n),
        }
    )
    sick = (frame["age"] > 60) | ((frame["job"] == "smith") & (frame["since"] >= "2010-01-01"))
    return frame, np.where(sick, "yes", "no")


def domain_curator(*rows, **parameters):
    classes = None if rows else ["no", "yes"]
    plan = LocallyPrivateTreeClassifier(8.0, domain=make_domain(), classes=classes, **parameters)
    return TreeCurator(plan, *rows, n_clients=4000, label="sick")


def test_raw_rows_make_a_plan_and_a_tree_that_takes_them():
    frame, sick = domain_rows()
    domain, curator = make_domain(), domain_curator(frame, sick)
    made = curator.specification.partition
    box = {"lower": domain.bounds[0], "upper": domain.bounds[1], "groups": domain.groups}
    by_hand = build_partition(domain.encode(frame), sick == "yes", max_depth=made.max_depth, **box)
    assert made == by_hand
    assert made.max_depth > 1
    assert (curator.specification.domain, curator.specification.features) == (domain, domain.names)
    curator.update(curator.specification.randomize_many(*domain_rows(4000, seed=1)))
    test_rows, expected = domain_rows(1000, seed=2)
    for again in (curator, TreeCurator.from_bytes(curator.to_bytes()), copy.deepcopy(curator)):
        tree = again.release()
        assert list(tree.feature_names_in_) == list(domain.names)
        assert (tree.predict(test_rows) == expected).mean() > 0.85
    assert domain_curator(max_depth=3).specification.partition.n_features == 5
