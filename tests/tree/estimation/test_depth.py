# SPDX-License-Identifier: BSD-3-Clause
"""Automatic depth and weight: worked by hand, their invariants, and what they are for on the simulation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import truncnorm

from skprivate import DPTreeClassifier, LocallyPrivateTreeClassifier
from skprivate.datasets import make_posterior_drift
from skprivate.tree._leaf_probabilities import (
    LeafCounts,
    choose_weight,
    estimate_drift,
    estimate_shares,
    estimate_slope,
)
from skprivate.tree._release import DEEPEST, choose_depth, deepest_to_grow
from tests.marks import slow

PUBLIC = np.array([[6, 2], [1, 3]])  # by leaf and label: 8 and 4 rows, signed -4 and 2
SHARES = np.array([9 / 14, 5 / 14])
NONE = np.zeros((2, 2))


def estimates_of(signed):
    return np.column_stack([-np.asarray(signed) / 2, np.asarray(signed) / 2])


def posterior_drift(drift, error):
    """Posterior mean of a normal estimate under the exponential prior of mean .05, cut off at 0 and 1."""
    scale = max(error, 0.003)
    centre = drift - error**2 / 0.05
    mean = truncnorm.mean((0 - centre) / scale, (1 - centre) / scale, centre, scale)
    return np.clip(mean, 0.003, 1)


def binary_weight(signed, n, public, v):
    """The rule for signed sums, written out."""
    per_leaf, wanted = public.sum(axis=1), public[:, 1] - public[:, 0]
    share = (per_leaf + 1) / (per_leaf.sum() + len(per_leaf))
    ratio = n / per_leaf.sum()
    own, theirs = n * v + n * share, ratio**2 * per_leaf.sum() * share
    wanted = ratio * wanted
    signal = np.sum(wanted**2) - theirs.sum()
    slope = 1.0
    if signal > 0:
        noise = own.mean() * np.sum(wanted**2)
        noise += theirs.mean() * max(np.sum(signed**2) - own.sum(), 0)
        slope = np.clip((signal * np.sum(signed * wanted) + noise) / (signal**2 + noise), 0, 10)
    explained = own + slope**2 * theirs
    excess = np.sum((signed - slope * wanted) ** 2) - explained.sum()
    unit = np.sum((n * share) ** 2)
    drift = posterior_drift(excess / unit, np.sqrt(2 * np.sum(explained**2)) / unit)
    # What a leaf's own counts contradict by more than three standard errors, a public row.
    apart = np.maximum((signed - slope * wanted) ** 2 - 9 * explained, 0) / theirs
    return slope * (1 + v / share) / (slope**2 + drift * per_leaf + apart)


class TestDepth:
    COUNTS = 2 ** np.arange(13)

    @pytest.mark.parametrize(
        ("n", "variance", "n_features", "depth"),
        [
            (10_000, 4.68, 2, 4),  # log2(10_000 / 4.68) / 3 = 3.69
            (10_000, 4.68, 1, 4),
            (10_000, 4.68, 5, 3),  # 3.25
            (10_000, 4.68, 20, 3),  # 2.58
            (10_000, 4.68, 40, 2),  # 2.25
            (10_000, 1e-6, 2, 9),  # 16 reports a leaf allow 625 leaves
            (40, 4.68, 2, 1),
            (1000, 15.0, 20, 2),  # 2.02, and .91 for 20 features
            (300, 15.0, 20, 1),  # 1.44
            (10**9, 1e-3, 2, 12),
        ],
    )
    def test_by_hand(self, n, variance, n_features, depth):
        assert choose_depth(n, self.COUNTS, lambda leaves: variance, n_features) == depth

    def test_a_tree_without_splits(self):
        assert choose_depth(1000, np.array([1]), lambda leaves: 1.0) == 0

    def test_the_variance_is_that_of_the_depth(self):
        asked = []
        choose_depth(10**9, self.COUNTS[:5], lambda leaves: asked.append(leaves) or 1.0)
        assert asked == [16]

    def test_no_tree_deeper_than_what_may_be_chosen_is_grown(self):
        for n_rows in [*range(1, 100), 127, 128, 3000, 2**15, 2**16, 2**17, 10**6]:
            # Without noise only the number of rows limits the depth.
            chosen = choose_depth(n_rows, 2 ** np.arange(DEEPEST + 1), lambda n_leaves: 1e-300)
            assert deepest_to_grow(n_rows) == chosen

    @pytest.mark.parametrize("prune", [True, "paper"])
    def test_a_complete_tree_is_the_same_grown_in_full(self, prune, monkeypatch):
        X, y = np.random.default_rng(0).uniform(size=(700, 2)), np.arange(700) % 2
        tree = DPTreeClassifier(1000.0, bounds=(0, 1), classes=[0, 1], prune=prune, random_state=0)
        first = tree.fit(X, y).partition_, tree.leaf_proba_
        monkeypatch.setattr("skprivate.tree._estimator.deepest_to_grow", lambda n_rows: DEEPEST)
        full = tree.fit(X, y).partition_, tree.leaf_proba_
        assert first[0] == full[0]
        assert first[0].max_depth > 1
        np.testing.assert_array_equal(first[1], full[1])


class TestByHand:
    def test_shares(self):
        np.testing.assert_allclose(estimate_shares(PUBLIC), SHARES)
        np.testing.assert_allclose(estimate_shares(np.zeros((4, 2), dtype=int)), 0.25)

    def test_shares_follow_precise_cell_estimates(self):
        cells = np.array([1000.0, 9000.0])
        np.testing.assert_allclose(
            LeafCounts.of(NONE, 10_000, PUBLIC, 0.0, cells).shares(), [0.1, 0.9], atol=2e-3
        )
        # With a variance of 1e5 a report, their noise explains all of the difference.
        np.testing.assert_allclose(LeafCounts.of(NONE, 10_000, PUBLIC, 1e5, cells).shares(), SHARES)

    def test_shares_stay_positive(self):
        shares = LeafCounts.of(NONE, 10_000, PUBLIC, 0.0, np.array([-50.0, 10_050.0])).shares()
        assert np.all(shares > 0)
        assert shares.sum() == pytest.approx(1)

    @pytest.mark.parametrize(
        ("signed", "product", "private_signal"),
        # Products with (-40, 20); squares less 2 n v + n = 240, at least 0.
        [([30.0, -10.0], -1400, 760), ([-40.0, 20.0], 2000, 1760), ([120.0, -120.0], -7200, 28560)],
    )
    def test_weight(self, signed, product, private_signal):
        # The public signal is 40^2 + 20^2 - 1200, the errors are 120 a leaf, and 600.
        noise = 120 * 2000 + 600 * private_signal
        slope = max((800 * product + noise) / (800**2 + noise), 0)
        signed = np.array(signed)
        leaves = LeafCounts.of(estimates_of(signed), 120, PUBLIC, 0.5)
        assert estimate_slope(leaves) == pytest.approx(slope)
        np.testing.assert_allclose(choose_weight(leaves), binary_weight(signed, 120, PUBLIC, 0.5))

    def test_the_weight_of_public_rows_that_are_right(self):
        # Without noise, and with many public rows, the drift is the least one: .003 of a row's variance.
        public = np.array([[300_000, 100_000], [100_000, 300_000]])
        leaves = LeafCounts.of(estimates_of([-3e7, 3e7]), 12 * 10**7, public, 1e-9)
        assert estimate_drift(leaves) == pytest.approx(0.003, abs=2e-3)
        assert estimate_slope(leaves) == pytest.approx(1, abs=1e-3)

    @pytest.mark.parametrize(("clearer", "tolerance"), [(0.5, 0.05), (1.0, 0.05), (3.0, 0.15)])
    def test_the_slope_is_found(self, clearer, tolerance):
        # 64 leaves, contrasts of +-.3 of public labels, reports without noise.
        rng = np.random.default_rng(0)
        contrast = 0.3 * rng.choice([-1, 1], size=64)
        public = np.stack([1000 * (1 - contrast), 1000 * (1 + contrast)], axis=1)
        found = estimate_slope(
            LeafCounts.of(estimates_of(clearer * contrast * 1e6 / 64), 1_000_000, public, 1e-6)
        )
        assert found == pytest.approx(clearer, abs=tolerance)

    def test_no_public_rows_have_no_weight(self):
        leaves = LeafCounts.of(np.ones((2, 2)), 10, np.zeros((2, 2), dtype=int), 1.0)
        assert choose_weight(leaves).tolist() == [0, 0]


tables = st.integers(2, 5).flatmap(
    lambda labels: st.integers(1, 6).flatmap(
        lambda leaves: st.integers(0, 2**32 - 1).map(lambda seed: draw_tables(labels, leaves, seed))
    )
)


def draw_tables(n_labels, n_leaves, seed):
    rng = np.random.default_rng(seed)
    votes = rng.normal(0, 10 ** rng.uniform(0, 4), size=(n_leaves, n_labels))
    public = rng.integers(0, 20, size=(n_leaves, n_labels)) * rng.integers(0, 2, size=(n_leaves, 1))
    return votes, public, 10 ** rng.uniform(-6, 2)


class TestInvariants:
    @given(tables)
    def test_labels_may_be_renamed(self, case):
        votes, public, variance = case
        weight = choose_weight(LeafCounts.of(votes, 1000, public, variance))
        renamed = LeafCounts.of(votes[:, ::-1], 1000, public[:, ::-1], variance)
        np.testing.assert_allclose(choose_weight(renamed), weight)

    @given(tables)
    def test_a_constant_a_leaf_changes_no_weight(self, case):
        votes, public, variance = case
        moved = votes + np.arange(len(votes))[:, np.newaxis]
        np.testing.assert_allclose(
            choose_weight(LeafCounts.of(moved, 1000, public, variance)),
            choose_weight(LeafCounts.of(votes, 1000, public, variance)),
        )

    @pytest.mark.parametrize("n_labels", [2, 3, 6])
    def test_unrelated_public_rows_lose_their_weight(self, n_labels):
        rng = np.random.default_rng(n_labels)
        truth = rng.permuted(np.tile(np.eye(n_labels), (64, 1)), axis=1)
        n = 64 * n_labels * 1000
        private = 1000 * truth + rng.normal(0, 30, size=truth.shape)
        right, wrong = (20 * truth).astype(int), rng.integers(0, 20, size=truth.shape)
        variance = 2 * 900 / n
        tables = [LeafCounts.of(private, n, public, variance) for public in (right, wrong)]
        drifts = [estimate_drift(leaves) for leaves in tables]
        assert drifts[0] < 0.05 < 0.3 < drifts[1]
        trusted, mistrusted = (choose_weight(leaves) for leaves in tables)
        assert np.median(trusted) > 3 * np.median(mistrusted)

    def test_cell_estimates_undo_a_shift_of_private_rows(self):
        # The same labels in every leaf, but private rows crowd where public rows are few.
        cells = np.array([9000.0, 500.0, 500.0])
        public = np.array([[5, 45], [30, 270], [65, 585]])
        votes = cells[:, np.newaxis] * [0.1, 0.9]
        assert estimate_drift(LeafCounts.of(votes, 10_000, public, 1e-4, cells)) < 0.02
        assert estimate_drift(LeafCounts.of(votes, 10_000, public, 1e-4)) > 0.5


def mean_scores(weights, epsilons, seeds, n_public, n_features=2, **options):
    """Mean accuracy by weight and epsilon, and its standard error; everything seeded."""
    table = np.zeros((seeds, len(weights), len(epsilons)))
    for seed in range(seeds):
        X, y, is_public = make_posterior_drift(
            10_000, n_public, n_features=n_features, random_state=seed, **options
        )
        X_test, y_test, _ = make_posterior_drift(2000, 0, n_features=n_features, random_state=10_000 + seed)
        for w, weight in enumerate(weights):
            for e, epsilon in enumerate(epsilons):
                tree = LocallyPrivateTreeClassifier(
                    epsilon, public_weight=weight, bounds=(0, 1), classes=[0, 1], random_state=seed
                )
                table[seed, w, e] = tree.fit(X, y, is_public=is_public).score(X_test, y_test)
    return table.mean(axis=0), table.std(axis=0, ddof=1) / np.sqrt(seeds)


@pytest.mark.parametrize(
    ("n_public", "gamma", "goal"),
    [
        slow(50, 0.5, [0.664, 0.685, 0.698, 0.727, 0.752]),
        (1000, 5.0, [0.668, 0.687, 0.701, 0.729, 0.764]),
    ],
)
def test_reaches_the_figures_of_the_prototype(n_public, gamma, goal):
    # The goals have a standard error of .003 of their own. Seeded: it passes always or never.
    mean, error = mean_scores(["auto"], [0.5, 1, 2, 4, 8], 30, n_public, gamma=gamma)
    assert np.all(mean[0] + 3 * np.hypot(error[0], 0.003) >= goal)


@pytest.mark.parametrize("drift", ["flipped", "unrelated"])
@pytest.mark.parametrize("n_features", [2, slow(5), slow(10)])
def test_misleading_public_rows_cost_little(drift, n_features):
    mean, _ = mean_scores(["auto", 0.0, 1e12], [0.5, 2, 8], 10, 1000, n_features, drift=drift)
    assert np.all(mean[0] >= mean[1:].max(axis=0) - 0.05)


def test_good_public_rows_are_used():
    mean, _ = mean_scores(["auto", 0.0], [0.5], 10, 1000, gamma=0.5)
    assert mean[0, 0] > mean[1, 0] + 0.02
