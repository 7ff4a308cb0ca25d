# SPDX-License-Identifier: BSD-3-Clause
"""Collection in two phases: a curator of splits, then one of leaves."""

import json

import numpy as np
import pandas as pd
import pytest

from skprivate import LocallyPrivateTreeClassifier, TableDomain
from skprivate.collection import ReportWriter, SplitCurator, TreeClient, TreeCurator, TreeSpecification
from skprivate.domain import NumberColumn
from skprivate.exceptions import BudgetExceededError, PrivacyLeakError
from skprivate.utils._json_documents import digest

RNG = np.random.default_rng(0)
X = RNG.uniform(size=(9000, 3))
Y = np.where(X[:, 0] > 0.4, "yes", "no")
NAMES = ["a", "b", "c"]


def plan(**options):
    return LocallyPrivateTreeClassifier(3.0, bounds=(0, 1), classes=["no", "yes"], **options)


def reports_of(curator, rows):
    return curator.specification.randomize_many(X[rows], Y[rows])


@pytest.fixture
def first():
    made = SplitCurator(plan(), n_clients=9000, features=NAMES, label="sick")
    made.update(reports_of(made, slice(0, 5400)))
    return made


def test_two_phases_make_a_tree(first):
    assert (first.n_wanted, first.n_reports) == (5400, 5400)
    second = first.shape(n_clients=3600)
    assert second.specification.label == "sick"
    second.update(reports_of(second, slice(5400, None)))
    tree = second.release()
    assert tree.feature_names_in_.tolist() == NAMES
    assert (tree.n_reports_, tree.rule_) == (3600, "cart")
    assert np.mean(tree.predict_proba(dict_of(X))[:, 1] > 0.5) == pytest.approx(0.6, abs=0.1)
    assert np.mean(tree.predict(dict_of(X)) == Y) > 0.9
    spent = tree.privacy_spent_
    assert (spent.deployment, spent.epsilon, spent.claim) == ("collected", 3, "dp")
    assert spent.unprotected["reports that shape the tree"] == 5400
    np.testing.assert_array_equal(tree.split_counts_, first._state.counts)


def dict_of(rows):

    return pd.DataFrame(rows, columns=NAMES)


def test_the_specification_is_read_by_clients(first, tmp_path):
    text = first.specification.to_json()
    again = TreeSpecification.from_json(text)
    assert again == first.specification
    report = TreeClient(again).randomize({"a": 0.5, "b": 0.1, "c": 0.9}, "no")
    assert len(report) == again.randomizer.report_bytes
    with ReportWriter(tmp_path / "one.bin", again) as writer:
        writer.write(report)
    assert first.update_file(tmp_path / "one.bin")
    assert not first.update_file(tmp_path / "one.bin")
    assert first.n_reports == 5401


def test_a_memory_that_both_phases_share_answers_one(first, tmp_path):
    memory = tmp_path / "mine"
    TreeClient(first.specification, memory=memory).randomize([0.1, 0.2, 0.3], "no")
    other = TreeClient(first.shape(n_clients=100).specification, memory=memory)
    with pytest.raises(BudgetExceededError, match="ceiling"):
        other.randomize([0.1, 0.2, 0.3], "no")


def test_states_are_restored(first, tmp_path):
    again = SplitCurator.from_bytes(first.to_bytes())
    assert again.to_bytes() == first.to_bytes()
    second = again.shape(n_clients=3600)
    assert second.specification == first.shape(n_clients=3600).specification
    second.update(reports_of(second, slice(5400, None)))
    with TreeCurator.from_bytes(second.to_bytes()) as restored:
        restored.save(tmp_path / "state")
    assert restored.to_bytes() == second.to_bytes()
    rows = dict_of(X[:50])
    np.testing.assert_array_equal(
        restored.release().predict_proba(rows), second.release().predict_proba(rows)
    )


def test_each_phase_has_its_own_class(first):
    second = first.shape(n_clients=3600)
    with pytest.raises(ValueError, match=r"SplitCurator\.from_bytes"):
        TreeCurator.from_bytes(first.to_bytes())
    with pytest.raises(ValueError, match=r"TreeCurator\.from_bytes"):
        SplitCurator.from_bytes(second.to_bytes())
    with pytest.raises(TypeError, match="must be a TreeCurator"):
        second.merge(first)


def test_workers_are_merged():
    parts = [SplitCurator(plan(), n_clients=9000, features=NAMES) for _ in range(2)]
    for part, rows in zip(parts, (slice(0, 100), slice(100, 300)), strict=True):
        part.update(reports_of(part, rows))
    parts[0].merge(parts[1])
    assert parts[0].n_reports == 300


def test_a_changed_state_is_refused(first):
    second = first.shape(n_clients=100)
    for curator, change in (
        (first, {"counts": "AA=="}),
        (second, {"counts": None}),
        (second, {"n_reports": 17}),
    ):
        state = json.loads(curator.to_bytes())
        state["first"].update(change)
        del state["checksum"]
        state["checksum"] = digest(state)
        with pytest.raises(ValueError, match="no state of a curator"):
            type(curator).from_bytes(json.dumps(state).encode())


def test_declared_columns():
    domain = TableDomain({"age": (17, 90), "job": ["clerk", "smith"]}, missing_values=["?"])
    tree = LocallyPrivateTreeClassifier(2.0, domain=domain, classes=["no", "yes"])
    curator = SplitCurator(tree, n_clients=5000)
    client = TreeClient(TreeSpecification.from_json(curator.specification.to_json()))
    curator.update(client.randomize({"age": "39", "job": "?"}, "no"))
    second = SplitCurator.from_bytes(curator.to_bytes()).shape(n_clients=2000)
    assert second.specification.features == ("age", "job")
    assert second.client().randomize({"age": 20, "job": "smith"}, "yes")


def test_levels_have_cells_of_their_own():
    rng = np.random.default_rng(11)
    names = np.array([f"level {i}" for i in range(8)], dtype=object)
    level = rng.integers(8, size=9000)
    table = pd.DataFrame({"kind": names[level], "x": rng.uniform(size=9000)})
    y = np.where((rng.uniform(size=9000) < 0.9) == np.isin(level, (0, 2, 5, 7)), "yes", "no")
    domain = TableDomain({"kind": list(names), "x": (0, 1)})
    tree = LocallyPrivateTreeClassifier(2.0, domain=domain, classes=["no", "yes"])
    curator = SplitCurator(tree, n_clients=9000)
    text = curator.specification.to_json()
    # What the curator and its clients ask for is the same after a way through JSON.
    specification = TreeSpecification.from_json(text)
    assert specification == curator.specification
    assert specification.partition.sizes[0] == 9
    curator.update(specification.randomize_many(table[:5400], y[:5400], random_state=12))
    curator.update(TreeClient(specification).randomize({"kind": "level 3", "x": 0.5}, "no"))
    second = SplitCurator.from_bytes(curator.to_bytes()).shape(n_clients=3600)
    left = second.specification.partition.levels_left(0)
    assert set(np.flatnonzero(left).tolist()) in ({0, 2, 5, 7}, {1, 3, 4, 6})
    second.update(second.specification.randomize_many(table[5400:], y[5400:], random_state=13))
    again = type(second).from_bytes(second.to_bytes())
    assert again.release().score(table, y) > 0.88


def test_cells_of_another_domain_are_refused():
    domain = TableDomain({"kind": list("abc"), "x": (0, 1)})
    tree = LocallyPrivateTreeClassifier(2.0, domain=domain, classes=["no", "yes"])
    state = SplitCurator(tree, n_clients=5000).specification.to_dict()
    del state["hash"]
    for change in (
        {"domain": TableDomain({"kind": list("abc"), "y": (0, 1)}).to_dict()},
        {"domain": TableDomain({"kind": ["a", "b"], "x": (0, 1), "z": (0, 1)}).to_dict()},
        {"domain": TableDomain({"kind": ["a", "b"], "x": NumberColumn(0, 1, missing="indicator")}).to_dict()},
    ):
        other = json.loads(json.dumps({**state, **change}))
        with pytest.raises(ValueError, match=r"cells|bins|domain|features|one form"):
            TreeSpecification.from_dict(other | {"hash": digest(other)})


def test_what_cannot_be_planned():
    with pytest.raises(PrivacyLeakError, match="classes must be declared"):
        SplitCurator(LocallyPrivateTreeClassifier(bounds=(0, 1)), n_clients=9000, features=NAMES)
    for options in ({"rule": "random"}, {"protect": "label"}, {"split_share": 0}):
        with pytest.raises(ValueError, match="shape no tree"):
            SplitCurator(plan(**options), n_clients=9000, features=NAMES)
    with pytest.raises(ValueError, match="shape no tree"):
        SplitCurator(plan(), n_clients=1, features=NAMES)
    with pytest.raises(ValueError, match="no reports yet"):
        SplitCurator(plan(), n_clients=9000, features=NAMES).shape(n_clients=10)
    with pytest.raises(ValueError, match="SplitCurator, or pass split_share=0"):
        TreeCurator(plan(split_share=0.5), n_clients=9000, features=NAMES)


def test_one_phase_without_public_rows_has_random_splits():
    curator = TreeCurator(plan(), n_clients=9000, features=NAMES)
    assert curator._state.design.rule == "random"
    assert curator._state.tree.split_share == "auto"
