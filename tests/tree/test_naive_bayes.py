# SPDX-License-Identifier: BSD-3-Clause
"""Naive Bayes from noisy histograms: exact ones, noise alone, and rows that are drawn from it."""

import numpy as np
import pytest

from skprivate.domain import NumberColumn, TableDomain
from skprivate.partition import ColumnBins, TableCells
from skprivate.tree._splits_by_clients import fit_naive_bayes

N = 50_000


@pytest.fixture
def exact():
    """Histograms (column, bin, label): the first column separates three classes, the second nothing."""
    by_bin = np.array([[0.6, 0.3, 0.1], [0.5, 0.3, 0.2], [0.2, 0.3, 0.5], [0.1, 0.2, 0.7]]) / 4
    flat = np.tile(by_bin.sum(axis=0) / 4, (4, 1))
    return N * np.stack([by_bin, flat])


def model_of(estimates, variance):
    bins = ColumnBins.of([0.0, -1.0], [1.0, 1.0], estimates.shape[1])
    n_rows = np.full(2, N)
    return fit_naive_bayes(bins, estimates, n_rows, np.full(2, variance))


def test_exact_histograms_give_the_conditional_shares(exact):
    model = model_of(exact, 1.0)
    np.testing.assert_allclose(model.base, exact[0].sum(axis=0) / N, atol=1e-3)
    X = np.column_stack([[0.1, 0.4, 0.6, 0.9], np.linspace(-1, 1, 4)])
    np.testing.assert_allclose(model.predict_proba(X), 4 * exact[0] / N, atol=0.01)


def test_noise_alone_gives_the_base_rate(exact):
    noise = np.random.default_rng(0).normal(scale=3000.0, size=exact.shape)
    flat = np.stack([exact[1], exact[1]])
    model = model_of(flat + noise, 3000.0**2)
    differences = model.predict_proba(np.random.default_rng(1).uniform(-1, 1, (200, 2))) - model.base
    # The raw shares differ by up to .5.
    raw = (flat + noise) / (flat + noise).sum(axis=2, keepdims=True)
    assert np.abs(raw - model.base).max() > 0.2
    assert np.abs(differences).max() < 0.1


def test_noise_draws_towards_the_base_rate_by_degrees(exact):
    X = np.array([[0.1, 0.0], [0.9, 0.0]])
    sizes = [np.ptp(model_of(exact, scale**2).predict_proba(X)[:, 2]) for scale in (1, 1000, 3000, 10000)]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] < sizes[0] / 2


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
    estimates[0, :4] = N / 3 * np.column_stack([1 - of_kinds, of_kinds])[[0, 1, 2, 2]]
    estimates[0, 3] = 0
    rows = N * np.array([3, 3, 3, 3, 4]) / 16
    of_sizes[4] = 0.9
    estimates[1] = rows[:, np.newaxis] * np.column_stack([1 - of_sizes, of_sizes])
    model = fit_naive_bayes(cells, estimates, np.full(2, N), np.full(2, 1.0))
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
    for column, shares in ((0, [1 / 3, 1 / 3, 1 / 3]), (1, rows / N)):
        counts = np.bincount(own[:, column], minlength=len(shares))[: len(shares)] / 20_000
        np.testing.assert_allclose(counts, shares, atol=0.02 + 6 * np.sqrt(0.25 / 20_000))
    assert set(np.unique(drawn[:, :3])) == {0.0, 1.0}
    np.testing.assert_array_equal(drawn[drawn[:, 4] == 1, 3], 0.5)
