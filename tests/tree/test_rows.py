# SPDX-License-Identifier: BSD-3-Clause
"""Rows and their cells: votes of public rows, targets as shares, and the exact noise of counts."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skprivate.audit import audit_epsilon
from skprivate.partition import Partition
from skprivate.tree._rows import NoisyHistogram, PublicVotes, round_at_random, shares_of

HALVES = Partition.from_splits([0, -1, -1], [0.5], lower=[0.0], upper=[1.0])


class TestPublicVotes:
    X = np.array([[0.1], [0.2], [0.9]])

    def test_copies_have_the_shares_of_the_numbers(self):
        shares = np.random.default_rng(0).random(200)
        votes = PublicVotes.of_numbers(np.zeros((200, 1)), shares)
        assert votes.n_rows == 200
        found = votes.labels / votes.copies
        assert np.abs(found - shares).max() <= 1 / votes.copies
        assert abs(found.mean() - shares.mean()) < 0.005

    def test_counts_are_sums_of_shares(self):
        votes = PublicVotes.of_numbers(self.X, np.array([0.25, 0.5, 1.0]))
        np.testing.assert_allclose(votes.count(HALVES), [[1.25, 0.75], [0.0, 1.0]])
        kept = votes.where(np.array([False, True, True]))
        np.testing.assert_allclose(kept.count(HALVES), [[0.5, 0.5], [0.0, 1.0]])

    def test_variance_of_a_row_is_a_part_of_that_of_a_label(self):
        rng = np.random.default_rng(1)
        rows = rng.random((4000, 1))
        labels = PublicVotes.of_numbers(rows, (rng.random(4000) < 0.3).astype(float))
        assert labels.row_variance(HALVES) == pytest.approx(1.0, abs=0.01)
        # Uniform shares: a variance of 1/12 out of 1/4.
        assert PublicVotes.of_numbers(rows, rng.random(4000)).row_variance(HALVES) == pytest.approx(
            1 / 3, abs=0.02
        )
        assert PublicVotes.of_numbers(rows, np.full(4000, 0.5)).row_variance(HALVES) < 1e-3


def test_random_rounding_has_the_mean_of_the_share():
    """Six standard errors: 2e-9 a share by chance."""
    shares = np.repeat([0.0, 0.1, 0.3, 0.625, 1.0], 40_000)
    levels = round_at_random(shares, 5, np.random.default_rng(2).bytes).reshape(5, -1)
    error = 0.5 / 4 / np.sqrt(40_000)
    assert np.abs(levels.mean(axis=1) / 4 - [0.0, 0.1, 0.3, 0.625, 1.0]).max() < 6 * error
    assert levels[0].max() == 0
    assert levels[4].min() == 4
    assert (np.abs(levels / 4 - shares.reshape(5, -1)) < 0.25 + 1e-9).all()


def test_shares_are_clipped_and_do_not_overflow():
    bounds = np.array([-1e135, 1e135])
    np.testing.assert_allclose(shares_of(np.array([-1e300, -5e134, 0.0, 1e300]), bounds), [0, 0.25, 0.5, 1])


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


@pytest.mark.parametrize("rows_per_unit", [1, 3])
def test_spends_what_was_asked_and_no_more(rows_per_unit):
    for epsilon in (1e-9, 0.1, 1.5, 8.0, 700.0, 1e5, Fraction(1, 3), Fraction(10**17, 7)):
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
