# SPDX-License-Identifier: BSD-3-Clause
"""Local trees without public rows: some clients' reports shape the tree, the others fill it."""

import json
import pickle
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from skprivate import LocallyPrivateTreeClassifier, PrivacyLedger, config_context
from skprivate.domain import NumberColumn, TableDomain
from skprivate.noise import check_entropy
from skprivate.tree._splits_by_clients import FirstPhase, draw_part

RNG = np.random.default_rng(0)
N = 12_000
X = RNG.uniform(size=(N, 6))
# Two of six columns matter, so that random splits mostly miss them.
Y = (X[:, 1] + X[:, 4] + 0.1 * RNG.normal(size=N) > 1).astype(int)
BOX = (np.zeros(6), np.ones(6))


def tree_of(epsilon=3.0, **options):
    return LocallyPrivateTreeClassifier(epsilon, bounds=(0, 1), **{"classes": [0, 1], **options})


@pytest.fixture(scope="module")
def tree():
    return tree_of(random_state=0).fit(X, Y)


def test_every_row_reports_in_one_phase(tree):
    clients = tree.split_randomizer_.clients_by_column(tree.split_counts_)
    assert clients.sum() == 7200
    assert tree.n_reports_ == N - 7200
    assert tree.randomizer_.estimate_cells(tree.report_counts_, tree.n_reports_).sum() == pytest.approx(4800)


def test_the_parts_are_those_of_a_permutation():
    first, others = draw_part(1000, 600, check_entropy(0))
    assert len(first) == 600
    np.testing.assert_array_equal(np.sort(np.concatenate([first, others])), np.arange(1000))
    assert not np.array_equal(first, draw_part(1000, 600, check_entropy(1))[0])
    # The mean number of a part is 500 with a standard deviation of 7.5.
    assert abs(first.mean() - 499.5) < 45


def test_reports_find_the_columns_that_matter(tree):
    # The root and its children.
    assert set(tree.partition_.feature[:3].tolist()) == {1, 4}
    random = tree_of(split_share=0, random_state=0).fit(X, Y)
    assert random.split_counts_ is None
    assert tree.score(X, Y) > random.score(X, Y) + 0.1
    assert tree.score(X, Y) > 0.85


def test_the_statement_tells_of_both_phases():
    with config_context(strict=True):
        fitted = tree_of().fit(X, Y)
    spent = fitted.privacy_spent_
    assert (spent.private, spent.relation, spent.epsilon) == (True, "local", 3)
    assert "one of 6 columns, drawn without data" in spent.mechanism
    assert "by the other clients" in spent.mechanism
    assert spent.unprotected["reports"] == N
    assert spent.unprotected["reports that shape the tree"] == 7200
    assert "model" not in "".join(spent.public_inputs)


def test_the_cost_is_charged_once_and_before_any_report(tmp_path, monkeypatch):
    ledger = PrivacyLedger(tmp_path / "two.ledger", epsilon=4)
    tree_of(ledger=ledger).fit(X, Y)
    assert [entry.epsilon for entry in ledger.entries()] == [3]

    def refuse(*arguments):
        raise AssertionError("a report was drawn")

    monkeypatch.setattr("skprivate.randomizers._column.fill_below", refuse)
    with pytest.raises(AssertionError, match="was drawn"):
        tree_of(1.0, ledger=ledger).fit(X, Y)
    assert ledger.spent()[0] == 4


def test_a_person_answers_once():
    persons = np.arange(N) // 3
    fitted = tree_of(random_state=0).fit(X, Y, groups=persons)
    clients = fitted.split_randomizer_.clients_by_column(fitted.split_counts_).sum()
    assert clients + fitted.n_reports_ == N // 3
    assert fitted.privacy_spent_.unit == "group"
    assert fitted.score(X, Y) > 0.75


def test_a_fit_is_reproducible_and_survives_a_pickle(tree):
    again = tree_of(random_state=0).fit(X, Y)
    expected = tree.predict_proba(X[:100])
    np.testing.assert_array_equal(again.predict_proba(X[:100]), expected)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(tree)).predict_proba(X[:100]), expected)
    np.testing.assert_array_equal(tree.repruned(prune=False).predict_proba(X[:100]), expected)
    assert ((expected > 0) & (expected < 1)).all()


def test_a_fit_with_public_rows_has_one_phase():
    fitted = tree_of(random_state=0).fit(X, Y, is_public=np.arange(N) < 300)
    assert fitted.split_counts_ is None
    assert fitted.n_reports_ == N - 300


@pytest.mark.parametrize(
    "options", [{"rule": "random"}, {"protect": "label"}, {"prune": "paper"}, {"epsilon": 0.01}]
)
def test_where_reports_shape_nothing_all_clients_fill_the_leaves(options):
    fitted = tree_of(**options).fit(X, Y)
    assert fitted.rule_ == "random"
    assert fitted.n_reports_ == N


def test_several_classes_and_a_given_depth_and_share():
    labels = np.digitize(X[:, 2], [0.3, 0.6])
    fitted = tree_of(classes=[0, 1, 2], max_depth=2, split_share=0.25, random_state=0).fit(X, labels)
    assert fitted.n_reports_ == 9000
    assert fitted.max_depth_ == 2
    assert fitted.score(X, labels) > 0.8


def test_a_plan_follows_from_public_numbers():
    few = FirstPhase.plan(1, 0.5, 2000, 2, BOX)
    many = FirstPhase.plan(1, 0.5, 2_000_000, 2, BOX)
    assert (few.n_reports, few.bins.n_bins) == (1000, 4)
    assert many.bins.n_bins == 32
    assert FirstPhase.plan(1, "auto", 20, 2, BOX) is None
    assert FirstPhase.plan(1, 0.01, 20, 2, BOX) is None
    again = FirstPhase.from_dict(few.to_dict())
    assert again.to_dict() == few.to_dict()
    with pytest.raises(ValueError, match="not there yet"):
        few.fit_model(0)


@pytest.mark.parametrize(
    "change", [{"n_reports": 0}, {"counts": ""}, {"bins": {"lower": [0], "upper": [1], "n_bins": 4}}]
)
def test_a_changed_plan_is_refused(change):
    state = FirstPhase.plan(1, 0.5, 2000, 2, BOX).to_dict() | change
    with pytest.raises(ValueError, match=r"first phase|not of its shape"):
        FirstPhase.from_dict(state)


def levels_of(n, seed):
    """Two classes that 8 levels without an order tell, with a number of which nothing is to be learnt."""
    rng = np.random.default_rng(seed)
    names = np.array([f"level {i}" for i in range(8)], dtype=object)
    level, x = rng.integers(8, size=n), rng.uniform(size=n)
    x[rng.uniform(size=n) < 0.2] = np.nan
    y = (rng.uniform(size=n) < np.where(np.isin(level, (0, 2, 5, 7)), 0.9, 0.1)).astype(int)
    domain = TableDomain({"kind": list(names), "x": NumberColumn(0, 1, missing="indicator")})
    return domain, pd.DataFrame({"kind": names[level], "x": x}), y


def test_reports_find_the_levels_that_matter():
    domain, table, y = levels_of(16_000, 1)
    tree = LocallyPrivateTreeClassifier(2.0, domain=domain, classes=[0, 1], random_state=2)
    tree.fit(table[:10_000], y[:10_000])
    # One column of 8 levels and missing, and one of 4 bins and missing at least; not one for every level.
    assert tree.split_counts_.shape[0] == 2
    assert tree.split_randomizer_.n_cells >= 9
    left = tree.partition_.levels_left(0)
    assert set(np.flatnonzero(left).tolist()) in ({0, 2, 5, 7}, {1, 3, 4, 6})
    # The rule itself is right in 90 of 100 rows.
    assert tree.score(table[10_000:], y[10_000:]) > 0.88
    again = pickle.loads(pickle.dumps(tree))
    np.testing.assert_array_equal(again.predict_proba(table), tree.predict_proba(table))


def test_a_column_of_levels_alone_has_two_phases():
    domain, table, y = levels_of(10_000, 3)
    only = TableDomain({"kind": domain.columns["kind"]})
    tree = LocallyPrivateTreeClassifier(2.0, domain=only, classes=[0, 1], random_state=4)
    assert tree.fit(table[["kind"]], y).split_counts_.shape[0] == 1
    assert tree.score(table[["kind"]], y) > 0.88


def test_few_columns_without_several_levels_are_halved():
    rng = np.random.default_rng(7)
    columns = {"sex": ["f", "m"], "x": NumberColumn(0, 1, missing="indicator"), "rank": ["low", "high"]}
    table = {name: np.array(["f", "m"])[rng.integers(2, size=6000)] for name in ("sex", "rank")}
    table = {**table, "rank": np.where(table["rank"] == "f", "low", "high"), "x": rng.uniform(size=6000)}
    y = rng.integers(2, size=6000)
    for levels, phases in ((["low", "high"], 1), (["low", "high", "top"], 2)):
        tree = LocallyPrivateTreeClassifier(
            2.0, domain=TableDomain({**columns, "rank": levels}), classes=[0, 1], random_state=8
        )
        assert (tree.fit(table, y).split_counts_ is not None) == (phases == 2)


def test_a_phase_about_declared_columns_travels():
    domain, table, y = levels_of(500, 5)
    phase = FirstPhase.plan(Fraction(2), 0.6, 500, 2, domain.bounds, domain.groups)
    filled = phase.simulate(domain.encode(table[:300]), y[:300].astype(np.int64), check_entropy(6))
    again = FirstPhase.from_dict(json.loads(json.dumps(filled.to_dict())))
    assert again.to_dict() == filled.to_dict()
    state = phase.to_dict()
    state["randomizer"]["n_cells"] += 1
    with pytest.raises(ValueError, match="not for its columns"):
        FirstPhase.from_dict(state)
