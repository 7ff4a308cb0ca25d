# SPDX-License-Identifier: BSD-3-Clause
"""Collection in two phases: a curator of splits, then one of leaves; of labels and of numbers."""

import functools

import numpy as np
import pandas as pd
import pytest

from skprivate import LocallyPrivateTreeClassifier, TableDomain
from skprivate.collection import SplitCurator, TreeClient, TreeCurator, TreeSpecification
from skprivate.exceptions import BudgetExceededError
from tests.collection.studies import draw, number_plan, number_rows, resealed

NAMES = ["a", "b", "c"]
LABEL_PLAN = LocallyPrivateTreeClassifier(3.0, bounds=(0, 1), classes=["no", "yes"])
OPTIONS = {"bounds_X": ([0, 0, 0], [1, 1, 1]), "split_share": 0.6, "mechanism": "krr"}
NUMBER_PLAN = number_plan(**OPTIONS)
ROWS, NUMBERS = number_rows(9000, 3)
LABELS = np.where(ROWS[:, 0] > 0.4, "yes", "no")
PLANS = {"labels": (LABEL_PLAN, LABELS), "numbers": (NUMBER_PLAN, NUMBERS)}


@functools.cache
def first_phase(kind):
    """The state of a curator of splits that has its reports."""
    plan, targets = PLANS[kind]
    first = SplitCurator(plan, n_clients=9000, features=NAMES, label="sick")
    first.update(first.specification.randomize_many(ROWS[:5400], targets[:5400], random_state=7))
    return first.to_bytes()


@pytest.fixture
def first():
    return SplitCurator.from_bytes(first_phase("labels"))


@pytest.mark.parametrize("kind", PLANS)
def test_two_phases_make_a_tree(kind, tmp_path):
    first, targets = SplitCurator.from_bytes(first_phase(kind)), PLANS[kind][1]
    assert (first.n_wanted, first.n_reports) == (5400, 5400)
    assert first.to_bytes() == first_phase(kind)
    second = first.shape(n_clients=3600)
    assert second.to_bytes() == SplitCurator.from_bytes(first_phase(kind)).shape(n_clients=3600).to_bytes()
    assert second.specification.label == "sick"
    assert second.specification.partition.feature[0] == 0
    second.update(second.specification.randomize_many(ROWS[5400:], targets[5400:], random_state=6))
    with TreeCurator.from_bytes(second.to_bytes()) as restored:
        restored.save(tmp_path / "state")
    table = pd.DataFrame(ROWS, columns=NAMES)
    for tree in (second.release(), restored.release()):
        assert tree.feature_names_in_.tolist() == NAMES
        assert (tree.n_reports_, tree.rule_) == (3600, "cart")
        assert tree.score(table, targets) > 0.8
        spent = tree.privacy_spent_
        assert (spent.deployment, spent.epsilon, spent.claim) == ("collected", 3, "dp")
        assert spent.unprotected["reports that shape the tree"] == 5400
        np.testing.assert_array_equal(tree.split_counts_, first._state.counts)
        np.testing.assert_array_equal(tree.predict(table[:50]), second.release().predict(table[:50]))


def test_two_phases_are_those_of_fit():
    fitted = number_plan(**OPTIONS, random_state=1).fit(ROWS, NUMBERS)
    first = SplitCurator(NUMBER_PLAN, n_clients=9000)
    first._state = first._state.with_counts(fitted.split_counts_, {"00": (5400, 5400)})
    second = first.shape(n_clients=3600)
    assert second.specification.randomizer.to_dict() == fitted.randomizer_.to_dict()
    second._state = second._state.with_counts(fitted.report_counts_, {"00": (3600, 3600)})
    for curator in (second, TreeCurator.from_bytes(second.to_bytes())):
        np.testing.assert_array_equal(curator.release().predict(ROWS), fitted.predict(ROWS))


@pytest.mark.parametrize("kind", PLANS)
def test_a_memory_that_both_phases_share_answers_one(kind, tmp_path):
    first, targets = SplitCurator.from_bytes(first_phase(kind)), PLANS[kind][1]
    TreeClient(first.specification, memory=tmp_path / "mine").randomize(ROWS[0], targets[0])
    other = TreeClient(first.shape(n_clients=100).specification, memory=tmp_path / "mine")
    with pytest.raises(BudgetExceededError, match="Nothing was drawn"):
        other.randomize(ROWS[0], targets[0])


def test_each_phase_has_its_own_class(first):
    second = first.shape(n_clients=3600)
    with pytest.raises(ValueError, match=r"SplitCurator\.from_bytes"):
        TreeCurator.from_bytes(first.to_bytes())
    with pytest.raises(ValueError, match=r"TreeCurator\.from_bytes"):
        SplitCurator.from_bytes(second.to_bytes())
    with pytest.raises(TypeError, match="must be a TreeCurator"):
        second.merge(first)


@pytest.mark.parametrize(
    ("phase", "change"),
    [(1, {"first__counts": "AA=="}), (2, {"first__counts": None}), (2, {"first__n_reports": 17})],
)
def test_a_changed_state_is_refused(first, phase, change):
    curator = first if phase == 1 else first.shape(n_clients=100)
    with pytest.raises(ValueError, match="not a valid state of a curator"):
        type(curator).from_bytes(resealed(curator.to_bytes(), **change))


@pytest.mark.parametrize("kind", ["labels", "numbers", "numbers, one phase"])
def test_levels_have_cells_of_their_own(kind):
    rng = np.random.default_rng(11)
    names = np.array([f"level {i}" for i in range(8)], dtype=object)
    level, high = rng.integers(8, size=9000), [0, 2, 5, 7]
    table = pd.DataFrame({"kind": names[level], "x": rng.uniform(size=9000)})
    domain = TableDomain({"kind": list(names), "x": (0, 1)}, missing_values=["?"])
    if kind == "labels":
        y = np.where((rng.uniform(size=9000) < 0.9) == np.isin(level, high), "yes", "no")
        tree = LocallyPrivateTreeClassifier(2.0, domain=domain, classes=["no", "yes"])
    else:
        y = np.where(np.isin(level, high), 9.0, 1.0)
        share = {} if "one" in kind else {"split_share": 0.5}
        tree = number_plan(bounds_X=None, bounds_y=(0, 10), domain=domain, **share)
    if "one" in kind:
        curator = TreeCurator(tree, table[:300], y[:300], n_clients=5700)
    else:
        first = SplitCurator(tree, n_clients=9000)
        specification = TreeSpecification.from_json(first.specification.to_json())
        assert specification == first.specification
        # Eight levels, and a missing cell.
        assert specification.partition.sizes[0] == 9
        first.update(draw(specification, table[:5400], y[:5400], seed=12))
        first.update(TreeClient(specification).randomize({"kind": "?", "x": "0.5"}, y[0]))
        curator = SplitCurator.from_bytes(first.to_bytes()).shape(n_clients=3600)
        left = curator.specification.partition.levels_left(0)[:8]
        assert set(np.flatnonzero(left).tolist()) in (set(high), {1, 3, 4, 6})
    specification = TreeSpecification.from_json(curator.specification.to_json())
    curator.update(draw(specification, table[5400:], y[5400:], seed=13))
    curator.update(curator.client().randomize({"kind": "level 3", "x": 0.5}, y[0]))
    assert TreeCurator.from_bytes(curator.to_bytes()).release().score(table, y) > 0.8
