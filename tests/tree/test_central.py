# SPDX-License-Identifier: BSD-3-Clause
"""DPTreeClassifier: sensitivity by fuzz and reached, exact noise, audit, groups, refusals."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skprivate import DPTreeClassifier, LocallyPrivateTreeClassifier, PrivacyLedger, config_context
from skprivate.audit import audit_epsilon
from skprivate.datasets import make_posterior_drift
from skprivate.exceptions import BudgetExceededError, PrivacyLeakError
from skprivate.tree._rows import NoisyHistogram

X, Y, IS_PUBLIC = make_posterior_drift(4000, 200, random_state=0)
BINARY = {"bounds": (0.0, 1.0), "classes": [0, 1]}


class NoNoise:
    def __init__(self, mechanism):
        self.mechanism = mechanism

    def __getattr__(self, name):
        return getattr(self.mechanism, name)

    def randomize(self, values, random_state=None):
        return np.asarray(values)


def exact_counts(n_cells, n_labels, categories, rows_per_unit=1):
    histogram = NoisyHistogram(1.0, n_cells, n_labels, rows_per_unit)
    histogram._mechanism = NoNoise(histogram._mechanism)
    return histogram.simulate(categories)


class TestSensitivity:
    @pytest.mark.parametrize("n_labels", [2, 3])
    @pytest.mark.parametrize("rows_per_unit", [1, 3])
    def test_is_reached_by_extreme_neighbours_and_never_passed(self, n_labels, rows_per_unit):
        rest = np.array([0, 1, 2])
        distances = set()
        for first, second in itertools.product(range(3 * n_labels), repeat=2):
            counts = [
                exact_counts(3, n_labels, np.concatenate([rest, np.full(rows_per_unit, category)]))
                for category in (first, second)
            ]
            distances.add(int(np.abs(counts[0] - counts[1]).sum()))
        assert (
            max(distances) == 2 * rows_per_unit == NoisyHistogram(1.0, 3, n_labels, rows_per_unit).sensitivity
        )

    @settings(max_examples=60, deadline=None)
    @given(st.data())
    def test_fuzz(self, data):
        n_labels, cap = data.draw(st.integers(2, 4)), data.draw(st.integers(1, 4))
        category = st.integers(0, 4 * n_labels - 1)
        rest = data.draw(st.lists(category, max_size=8))
        mine, theirs = (data.draw(st.lists(category, min_size=cap, max_size=cap)) for _ in range(2))
        difference = exact_counts(4, n_labels, np.array(rest + mine)) - exact_counts(
            4, n_labels, np.array(rest + theirs)
        )
        assert np.abs(difference).sum() <= NoisyHistogram(1.0, 4, n_labels, cap).sensitivity


@pytest.mark.parametrize("n_labels", [2, 3])
def test_the_histogram_says_what_its_counts_tell(n_labels):
    n_cells = 50_000
    histogram = NoisyHistogram(1.0, n_cells, n_labels, 1)
    counts = histogram.simulate(np.full(9, n_labels * 7), 0)
    estimates, cells = histogram.estimate(counts, 9), histogram.estimate_cells(counts, 9)
    difference = estimates[:, -1] - estimates[:, -2]
    np.testing.assert_allclose(cells, estimates.sum(axis=1))
    # The number of rows is public under replace-one: all counts are moved alike, so that they add to it.
    assert estimates.sum() == pytest.approx(9, abs=1e-6)
    np.testing.assert_allclose(estimates - counts, (9 - counts.sum()) / counts.size, atol=1e-9)
    # How many rows a person has is not.
    by_person = NoisyHistogram(1.0, n_cells, n_labels, 2)
    np.testing.assert_array_equal(by_person.estimate(counts, 9), counts)
    # Seeded. The variance of 50,000 Laplace draws has a relative standard error of .01; a factor 2 is far.
    assert histogram.variance(9).shape == (n_cells,)
    assert histogram.variance(9)[0] == pytest.approx(difference.var(), rel=0.05)


def audited_epsilon(draws_first, draws_second, threshold):
    """Lower bound on epsilon, 99.9 % sure, from one event fixed beforehand."""
    return audit_epsilon(draws_first, draws_second, event=lambda draws: draws >= threshold).epsilon


def test_audit_catches_half_the_noise():
    # One row flips its label in a leaf of its own: two counts move by 1, their difference by 2.
    n = 100_000
    bounds = []
    for epsilon in (1.5, 3.0):
        mechanism = NoisyHistogram(epsilon, n, 2, 1)
        alone = np.arange(n)
        first = mechanism.simulate(2 * alone + 1, np.random.default_rng(0))
        second = mechanism.simulate(2 * alone, np.random.default_rng(1))
        # The event on two independent counts whose probabilities differ by nearly exp(epsilon).
        low, high = (np.minimum(draws[:, 1], 1 - draws[:, 0]) for draws in (second, first))
        bounds.append(audited_epsilon(high, low, 1))
    assert 1.3 < bounds[0] <= 1.5 < bounds[1]


@pytest.mark.parametrize(
    "epsilon", [1e-9, 0.1, 0.3, 1.5, 2, 8.0, 50, 700.0, 1e5, Fraction(1, 3), Fraction(10**17, 7)]
)
@pytest.mark.parametrize("rows_per_unit", [1, 3])
def test_spends_what_was_asked_and_no_more(epsilon, rows_per_unit):
    histogram = NoisyHistogram(epsilon, 4, 2, rows_per_unit)
    assert histogram.epsilon <= Fraction(epsilon)
    assert histogram.epsilon == Fraction(histogram.sensitivity) / histogram.noise_scale
    if epsilon < 1e4:
        assert histogram.epsilon > Fraction(epsilon) * (1 - Fraction(1, 2**40))
    assert histogram.simulate([0, 3, 7], 0).shape == (4, 2)


def test_noise_shrinks_with_epsilon():
    variances = [NoisyHistogram(epsilon, 1, 2, 1).variance(1)[0] for epsilon in (1, 1.5, 2, 3, 8)]
    # Of the difference of two counts, each with noise of variance 1 / (2 sinh(epsilon / 4)^2).
    np.testing.assert_allclose(variances, [1 / np.sinh(epsilon / 4) ** 2 for epsilon in (1, 1.5, 2, 3, 8)])


class TestPrivacy:
    def test_what_is_claimed(self):
        spent = DPTreeClassifier(Fraction(1, 2), **BINARY).fit(X, Y, is_public=IS_PUBLIC).privacy_spent_
        assert (spent.epsilon, spent.relation, spent.deployment) == (Fraction(1, 2), "replace-one", "curator")
        assert (spent.sensitivity, spent.noise_scale, spent.private) == (2, 4, True)
        assert spent.unprotected["private rows"] == 4000
        assert spent.public_inputs == ("public rows with their labels", "bounds", "classes")
        assert DPTreeClassifier(**BINARY).fit(X, Y).privacy_spent_.public_inputs == ("bounds", "classes")

    def test_groups_multiply_the_sensitivity(self):
        groups = np.repeat(np.arange(1050), 4)
        tree = DPTreeClassifier(1.0, max_rows_per_group=3, **BINARY)
        tree.fit(X, Y, is_public=IS_PUBLIC, groups=groups)
        spent = tree.privacy_spent_
        assert (spent.sensitivity, spent.unit, spent.max_rows_per_unit) == (6, "group", 3)
        assert tree.n_reports_ == spent.unprotected["private rows"] == 3000
        without = DPTreeClassifier(1.0, max_rows_per_group=3, **BINARY).fit(X, Y, is_public=IS_PUBLIC)
        assert (without.privacy_spent_.sensitivity, without.privacy_spent_.unit) == (2, "row")

    def test_how_many_rows_a_person_has_shows_nowhere(self):
        groups, fewer = np.repeat(np.arange(1050), 4), np.repeat(np.arange(1050), 4)
        # A person has one row instead of four, and somebody else has more than count anyway.
        person = np.flatnonzero(groups == groups[~IS_PUBLIC][0])
        fewer[person[1:]] = groups[~IS_PUBLIC][-1]
        tree = DPTreeClassifier(1.0, max_rows_per_group=3, **BINARY)
        told = []
        for persons in (groups, fewer):
            tree.fit(X, Y, is_public=IS_PUBLIC, groups=persons)
            told.append((tree.n_reports_, tree.max_depth_, tree.privacy_spent_))
        assert told[0] == told[1]
        assert told[0][0] == 3000

    def test_leaks_and_strict_mode(self):
        with config_context(strict=True), pytest.raises(PrivacyLeakError, match="bounds"):
            DPTreeClassifier(classes=[0, 1]).fit(X, Y)

    def test_noise_is_fresh_and_added_to_every_count(self):
        trees = (DPTreeClassifier(0.5, max_depth=4, random_state=seed, **BINARY) for seed in range(200))
        runs = [tree.fit(X, Y, is_public=IS_PUBLIC) for tree in trees]
        counts = np.array([run.report_counts_ for run in runs])
        leaves = runs[0].apply(X[~IS_PUBLIC])
        exact = np.bincount(2 * leaves + Y[~IS_PUBLIC], minlength=2 * runs[0].n_leaves_).reshape(-1, 2)
        # A count has half the variance of a difference.
        variance = runs[0].randomizer_.variance(4000)[0] / 2
        # 32 means and variances at 6 standard errors of a Laplace draw. Seeded: sums of squares of such draws
        # pass 6 standard errors far more often than normal ones.
        assert np.abs(counts.mean(axis=0) - exact).max() < 6 * np.sqrt(variance / 200)
        assert np.abs(counts.var(axis=0) / variance - 1).max() < 6 * np.sqrt(5 / 200)

    def test_unseeded_fits_differ(self):
        # 16 draws of scale 4 agree twice with a probability below 1e-12.
        tree = DPTreeClassifier(0.5, max_depth=4, **BINARY)
        counts = [tree.fit(X, Y, is_public=IS_PUBLIC).report_counts_ for _ in range(2)]
        assert (counts[0] != counts[1]).any()

    def test_automatic_depth_allows_for_the_noise_of_all_rows_of_a_person(self):
        depths = [
            DPTreeClassifier(0.2, max_rows_per_group=10, **BINARY)
            .fit(X, Y, is_public=IS_PUBLIC, groups=groups)
            .max_depth_
            for groups in (None, np.repeat(np.arange(420), 10))
        ]
        assert depths[1] < depths[0]

    def test_ledger(self, tmp_path):
        ledger = PrivacyLedger(tmp_path / "one.ledger", epsilon=1)
        tree = DPTreeClassifier(0.75, ledger=ledger, **BINARY)
        tree.fit(X, Y, is_public=IS_PUBLIC)
        with pytest.raises(BudgetExceededError):
            tree.fit(X, Y, is_public=IS_PUBLIC)
        (entry,) = ledger.entries()
        assert (entry.estimator, entry.relation) == ("DPTreeClassifier", "replace-one")

    def test_an_epsilon_that_cannot_be_realised(self):
        with pytest.raises(ValueError, match="too small"):
            DPTreeClassifier(1e-300, **BINARY).fit(X, Y, is_public=IS_PUBLIC)


def test_better_than_local_reports_at_one_epsilon():
    X_test, y_test, _ = make_posterior_drift(5000, 0, random_state=9)
    means = []
    for kind in (DPTreeClassifier, LocallyPrivateTreeClassifier):
        trees = (kind(0.5, random_state=seed, **BINARY) for seed in range(5))
        means.append(np.mean([tree.fit(X, Y, is_public=IS_PUBLIC).score(X_test, y_test) for tree in trees]))
    assert means[0] > means[1] + 0.03


def test_same_partition_rule_as_the_local_tree():
    trees = [
        kind(1.0, max_depth=5, split_share=0, **BINARY).fit(X, Y, is_public=IS_PUBLIC)
        for kind in (DPTreeClassifier, LocallyPrivateTreeClassifier)
    ]
    assert trees[0].partition_ == trees[1].partition_
