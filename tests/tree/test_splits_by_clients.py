# SPDX-License-Identifier: BSD-3-Clause
"""Local trees without public rows: reports of some clients make a model, which shapes the tree."""

import json
import pickle
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from skprivate import LocallyPrivateTreeClassifier, PrivacyLedger
from skprivate.domain import NumberColumn, TableDomain
from skprivate.noise import check_entropy
from skprivate.partition import ColumnBins, TableCells
from skprivate.tree._splits_by_clients import FirstPhase, draw_part, fit_naive_bayes

# Naive Bayes from noisy histograms

N_ROWS = 50_000


@pytest.fixture
def exact():
    """Histograms (column, bin, label): the first column separates three classes, the second nothing."""
    by_bin = np.array([[0.6, 0.3, 0.1], [0.5, 0.3, 0.2], [0.2, 0.3, 0.5], [0.1, 0.2, 0.7]]) / 4
    flat = np.tile(by_bin.sum(axis=0) / 4, (4, 1))
    return N_ROWS * np.stack([by_bin, flat])


def model_of(estimates, variance):
    bins = ColumnBins.of([0.0, -1.0], [1.0, 1.0], estimates.shape[1])
    n_rows = np.full(2, N_ROWS)
    return fit_naive_bayes(bins, estimates, n_rows, np.full(2, variance))


def test_exact_histograms_give_the_conditional_shares(exact):
    model = model_of(exact, 1.0)
    np.testing.assert_allclose(model.base, exact[0].sum(axis=0) / N_ROWS, atol=1e-3)
    X = np.column_stack([[0.1, 0.4, 0.6, 0.9], np.linspace(-1, 1, 4)])
    np.testing.assert_allclose(model.predict_proba(X), 4 * exact[0] / N_ROWS, atol=0.01)


def test_noise_alone_gives_the_base_rate(exact):
    noise = np.random.default_rng(0).normal(scale=3000.0, size=exact.shape)
    flat = np.stack([exact[1], exact[1]])
    model = model_of(flat + noise, 3000.0**2)
    differences = model.predict_proba(np.random.default_rng(1).uniform(-1, 1, (200, 2))) - model.base
    # The raw shares differ by up to .5.
    raw = (flat + noise) / (flat + noise).sum(axis=2, keepdims=True)
    assert np.abs(raw - model.base).max() > 0.2
    assert np.abs(differences).max() < 0.1


def test_drawn_rows_have_the_shares_of_the_model(exact):
    model = model_of(exact, 1.0)
    rows = model.draw(20_000, seed=3)
    np.testing.assert_array_equal(rows, model.draw(20_000, seed=3))
    assert not np.array_equal(rows, model.draw(20_000, seed=4))
    assert (rows >= model.bins.lower).all()
    assert (rows <= model.bins.upper).all()
    # 6 standard errors.
    shares = np.bincount(model.bins.apply(rows)[:, 0], minlength=4) / 20_000
    np.testing.assert_allclose(shares, 0.25, atol=6 * np.sqrt(0.1875 / 20_000))
    mean = model.predict_proba(rows).mean(axis=0)
    np.testing.assert_allclose(mean, model.base, atol=0.01)


def test_levels_and_missing_numbers_have_shares_of_their_own():
    domain = TableDomain({"kind": list("abc"), "size": NumberColumn(0, 1, missing="indicator")})
    cells = TableCells.of(*domain.bounds, domain.groups, 4)
    assert cells.sizes == (4, 5)
    # Shares of the second class by cell; nobody is without a kind, and a quarter without a size.
    of_kinds, of_sizes = np.array([0.2, 0.8, 0.5]), np.array([0.5, 0.5, 0.5, 0.5, 0.5])
    estimates = np.tile([1e9, -1e9], (2, 5, 1))
    estimates[0, :4] = N_ROWS / 3 * np.column_stack([1 - of_kinds, of_kinds])[[0, 1, 2, 2]]
    estimates[0, 3] = 0
    rows = N_ROWS * np.array([3, 3, 3, 3, 4]) / 16
    of_sizes[4] = 0.9
    estimates[1] = rows[:, np.newaxis] * np.column_stack([1 - of_sizes, of_sizes])
    model = fit_naive_bayes(cells, estimates, np.full(2, N_ROWS), np.full(2, 1.0))
    # The cells that a column does not have are not read.
    assert model.marginals[0, 4] == 0
    assert model.base[1] == pytest.approx((0.5 + 0.6) / 2, abs=0.01)
    X = domain.encode({"kind": ["a", "b", "c", "c"], "size": [0.5, 0.5, 0.5, None]})
    found = model.predict_proba(X)[:, 1]
    assert found[0] < 0.3 < 0.4 < found[2] < 0.6 < 0.7 < found[1]
    assert found[3] > 0.85
    drawn = model.draw(20_000, seed=1)
    own = cells.apply(drawn)
    # 6 standard errors.
    for column, shares in ((0, [1 / 3, 1 / 3, 1 / 3]), (1, rows / N_ROWS)):
        counts = np.bincount(own[:, column], minlength=len(shares))[: len(shares)] / 20_000
        np.testing.assert_allclose(counts, shares, atol=0.02 + 6 * np.sqrt(0.25 / 20_000))
    assert set(np.unique(drawn[:, :3])) == {0.0, 1.0}
    np.testing.assert_array_equal(drawn[drawn[:, 4] == 1, 3], 0.5)


# Trees

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


def test_the_parts_are_those_of_a_permutation():
    first, others = draw_part(1000, 600, check_entropy(0))
    assert len(first) == 600
    np.testing.assert_array_equal(np.sort(np.concatenate([first, others])), np.arange(1000))
    assert not np.array_equal(first, draw_part(1000, 600, check_entropy(1))[0])
    # The mean number of a part is 500 with a standard deviation of 7.5.
    assert abs(first.mean() - 499.5) < 45


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


def test_a_fit_is_reproducible_and_survives_a_pickle(tree):
    again = tree_of(random_state=0).fit(X, Y)
    expected = tree.predict_proba(X[:100])
    np.testing.assert_array_equal(again.predict_proba(X[:100]), expected)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(tree)).predict_proba(X[:100]), expected)
    np.testing.assert_array_equal(tree.repruned(prune=False).predict_proba(X[:100]), expected)
    assert ((expected > 0) & (expected < 1)).all()


@pytest.mark.parametrize(
    "options", [{"rule": "random"}, {"protect": "label"}, {"prune": "paper"}, {"epsilon": 0.01}]
)
def test_where_reports_shape_nothing_all_clients_fill_the_leaves(options):
    fitted = tree_of(**options).fit(X, Y)
    assert fitted.rule_ == "random"
    assert fitted.n_reports_ == N


def test_a_plan_follows_from_public_numbers():
    few = FirstPhase.plan(1, 0.5, 2000, 2, BOX)
    many = FirstPhase.plan(1, 0.5, 2_000_000, 2, BOX)
    assert (few.n_reports, few.bins.n_bins) == (1000, 4)
    assert many.bins.n_bins == 32
    assert FirstPhase.plan(1, "auto", 20, 2, BOX) is None
    assert FirstPhase.plan(1, 0.01, 20, 2, BOX) is None
    again = FirstPhase.from_dict(few.to_dict())
    assert again.to_dict() == few.to_dict()
    with pytest.raises(ValueError, match="not arrived yet"):
        few.fit_model(0)


def levels_of(n, seed):
    """Two classes that 8 levels without an order tell, with a number of which nothing is to be learnt."""
    rng = np.random.default_rng(seed)
    names = np.array([f"level {i}" for i in range(8)], dtype=object)
    level, x = rng.integers(8, size=n), rng.uniform(size=n)
    x[rng.uniform(size=n) < 0.2] = np.nan
    y = (rng.uniform(size=n) < np.where(np.isin(level, (0, 2, 5, 7)), 0.9, 0.1)).astype(int)
    domain = TableDomain({"kind": list(names), "x": NumberColumn(0, 1, missing="indicator")})
    return domain, pd.DataFrame({"kind": names[level], "x": x}), y


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
