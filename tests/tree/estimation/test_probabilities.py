# SPDX-License-Identifier: BSD-3-Clause
"""Class probabilities of leaves: sane for all counts, fair to all labels, and right in the limits."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skprivate.metrics._probabilities import estimate_base_rate
from skprivate.partition import build_partition
from skprivate.tree._leaf_probabilities import (
    LeafCounts,
    choose_weight,
    estimate_public_drift,
    estimate_shares_of_classes,
    measure_drift,
)
from skprivate.tree._release import slope_of_public_rows
from skprivate.tree._rows import PublicVotes

COMPLETE = np.array([[0] * 4, [0, 0, 1, 1], range(4)], dtype=np.int32)
ONE = np.zeros((1, 1), dtype=np.int32)


def counts_of(estimates, n_rows, variance=0.01, public=None):
    estimates = np.asarray(estimates, dtype=float)
    public = np.zeros(estimates.shape, dtype=np.int64) if public is None else np.asarray(public)
    return LeafCounts.of(estimates, n_rows, public, variance, estimates.sum(axis=1))


def hostile(seed, n_labels, n_leaves):
    """Counts that are negative, zero or huge, with noise of any size and public rows here and there."""
    rng = np.random.default_rng(seed)
    size = 10.0 ** rng.uniform(-3, 12)
    estimates = rng.choice([0.0, -1.0, 1.0, 1e3], size=(n_leaves, n_labels)) * size
    estimates = estimates * rng.uniform(size=estimates.shape)
    public = rng.integers(0, 50, size=estimates.shape) * rng.integers(0, 2, size=(n_leaves, 1))
    return counts_of(estimates, int(rng.choice([1, 50, 10**6])), 10.0 ** rng.uniform(-12, 12), public)


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 10), st.booleans())
def test_are_never_0_or_1_and_add_to_1(seed, n_labels, single):
    ancestors = ONE if single else COMPLETE
    counts = hostile(seed, n_labels, ancestors.shape[1])
    for weight in (choose_weight(counts), np.full(counts.n_leaves, 1e12)):
        with np.errstate(invalid="raise", divide="raise", over="raise"):
            found = estimate_shares_of_classes(counts, weight, ancestors, estimate_public_drift(counts))
        assert np.isfinite(found.probabilities).all()
        assert found.probabilities.min() > 0
        assert found.probabilities.max() < 1
        np.testing.assert_allclose(found.probabilities.sum(axis=1), 1)
        assert found.base.shares.min() > 0
        assert found.base.shares.sum() == pytest.approx(1)
        assert (found.errors > 0).all()


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 10))
def test_labels_may_be_renamed(seed, n_labels):
    rng = np.random.default_rng(seed)
    truth = rng.dirichlet(np.ones(n_labels), size=4) * 500
    public = rng.integers(0, 9, size=truth.shape)
    order = rng.permutation(n_labels)
    found, renamed = (
        estimate_shares_of_classes(counts, choose_weight(counts), COMPLETE, estimate_public_drift(counts))
        for counts in (
            counts_of(truth, 2000, 0.5, public),
            counts_of(truth[:, order], 2000, 0.5, public[:, order]),
        )
    )
    np.testing.assert_allclose(renamed.probabilities, found.probabilities[:, order], rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(renamed.base.shares, found.base.shares[order], rtol=1e-9)
    np.testing.assert_allclose(renamed.errors, found.errors, rtol=1e-6)


def test_without_noise_they_are_the_shares():
    truth = np.array([[0.9, 0.1], [0.2, 0.8], [0.5, 0.5], [0.35, 0.65]])
    found = estimate_shares_of_classes(counts_of(1e8 * truth, 4 * 10**8, 1e-30), np.zeros(4), COMPLETE)
    np.testing.assert_allclose(found.probabilities, truth, atol=1e-4)
    np.testing.assert_allclose(found.base.shares, truth.mean(axis=0), atol=1e-4)
    # Sampling is all that is left: that of the leaf, and that of the base rate.
    np.testing.assert_allclose(found.errors, np.sqrt(truth[:, 0] * truth[:, 1] / 1e8 + 0.25 / 4e8), rtol=0.1)


def test_with_endless_noise_they_are_the_base_rate_of_public_rows_or_even():
    noisy = np.array([[3e7, -1e7], [-2e7, 5e7], [4e7, 1e7], [0, -3e7]])
    even = estimate_shares_of_classes(counts_of(noisy, 1000, 1e30), np.zeros(4), COMPLETE)
    np.testing.assert_allclose(even.probabilities, 0.5, atol=1e-3)
    public = np.full((4, 2), [900, 100])
    counts = counts_of(noisy, 1000, 1e30, public)
    told = estimate_shares_of_classes(counts, np.full(4, 1e-6), COMPLETE)
    np.testing.assert_allclose(told.base.shares, [0.9, 0.1], atol=0.02)


@pytest.mark.parametrize("n_labels", [2, 3, 7])
def test_the_base_rate(n_labels):
    shares = np.arange(1, n_labels + 1) / np.arange(1, n_labels + 1).sum()
    np.testing.assert_allclose(estimate_base_rate(1e9 * shares, 10**9, 1.0).shares, shares, atol=1e-4)
    np.testing.assert_allclose(estimate_base_rate(1e9 * shares, 10**3, 1e40).shares, 1 / n_labels, atol=1e-6)
    # Public rows count where the noise hides private ones, and not where it does not.
    public = np.round(1e6 * shares[::-1]).astype(int)
    noisy = estimate_base_rate(np.zeros(n_labels), 1000, 1e40, public).shares
    np.testing.assert_allclose(noisy, shares[::-1], atol=0.02)
    np.testing.assert_allclose(estimate_base_rate(1e9 * shares, 10**9, 1.0, public).shares, shares, atol=1e-3)


class TestDrift:
    PUBLIC = np.array([[700, 300], [300, 700], [600, 400], [400, 600]])

    def test_is_small_where_public_labels_agree_and_large_where_they_do_not(self):
        right, wrong = (
            counts_of(1e4 * table, 4 * 10**7, 1e-9, self.PUBLIC) for table in (self.PUBLIC, self.PUBLIC[::-1])
        )
        drift, error = measure_drift(right)
        assert abs(drift) < 3 * error
        drift, error = measure_drift(wrong)
        assert drift > 10 * error

    def test_where_noise_hides_it_the_prior_counts(self):
        found = [
            estimate_public_drift(counts_of(1e4 * self.PUBLIC, 4 * 10**7, variance, self.PUBLIC))
            for variance in (1e-9, 1e12, 1e30, 1e60)
        ]
        assert found[0] < 0.01
        # An exponential prior of mean .05, cut off at 1.
        np.testing.assert_allclose(found[1:], 0.05, rtol=0.05)


class TestPublicSlope:
    @staticmethod
    def slope(X, labels):
        def grow(X, labels):
            return build_partition(X, labels, lower=np.zeros(3), upper=np.ones(3), max_depth=5, rule="cart")

        return slope_of_public_rows(grow, PublicVotes(X, labels.astype(np.int32), 2), 5)

    @pytest.mark.parametrize("n_rows", [10, 60, 500])
    @pytest.mark.parametrize("seed", range(3))
    def test_is_between_0_and_1(self, n_rows, seed):
        rng = np.random.default_rng(seed)
        X = rng.uniform(size=(n_rows, 3))
        assert 0 <= self.slope(X, X[:, 0] > rng.uniform(size=n_rows)) <= 1

    def test_clear_labels_hold_elsewhere_and_coins_do_not(self):
        rng = np.random.default_rng(0)
        X = rng.uniform(size=(500, 3))
        assert self.slope(X, X[:, 0] > 0.5) > 0.9
        coins = [self.slope(X, rng.integers(2, size=500)) for _ in range(5)]
        assert np.mean(coins) < 0.2
