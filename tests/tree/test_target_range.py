# SPDX-License-Identifier: BSD-3-Clause
"""Narrower bounds of numbers, by noisy counts of the private targets."""

import warnings
from fractions import Fraction

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from skprivate import DPTreeRegressor, PrivacyLedger
from skprivate.rounds import TableSource, fit_rounds
from skprivate.tree._rows import NoisyHistogram
from skprivate.tree._splits import N_BINS, RANGE_SHARE, SPLIT_SHARE, narrow_bounds

NOISE = NoisyHistogram(1.0, N_BINS, 1, 1)
DECLARED = np.array([-16.0, 16.0])


def counts_of(filled):
    """Exact counts: 1,000 rows in every bin from the first number to the second, and none elsewhere."""
    counts = np.zeros((N_BINS, 1), dtype=np.int64)
    counts[slice(*filled)] = 1000
    return counts


class TestBounds:
    @pytest.mark.parametrize("filled", [(0, 32), (14, 18), (0, 3), (31, 32), (5, 32)])
    def test_are_the_edges_of_the_bins_that_hold_rows(self, filled):
        expected = [filled[0] - 16, filled[1] - 16]
        np.testing.assert_allclose(narrow_bounds(counts_of(filled), NOISE, DECLARED), expected)

    def test_are_the_declared_ones_where_noise_hides_a_fifth_of_the_rows(self):
        counts = counts_of((14, 18))
        # Two standard deviations of the noise of one bin: 800 of 4,000 rows, just above and below.
        for scale, kept in ((300, [-16, 16]), (2, [-2, 2])):
            noise = NoisyHistogram(Fraction(2, scale), N_BINS, 1, 1)
            np.testing.assert_allclose(narrow_bounds(counts, noise, DECLARED), kept)

    def test_are_the_declared_ones_where_no_bin_is_left(self):
        np.testing.assert_array_equal(narrow_bounds(counts_of((0, 0)), NOISE, DECLARED), DECLARED)


def rows_of(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 3))
    return X, 2.0 * (X[:, 0] > 0.4) + X[:, 1] + 0.3 * rng.normal(size=n)


WIDE = {"bounds_X": (0, 1), "bounds_y": (-100, 100)}


class TestFit:
    X, Y = rows_of(20_000, 0)

    def test_bounds_a_hundred_times_too_wide_are_heard_of(self):
        tree = DPTreeRegressor(2.0, random_state=1, **WIDE).fit(self.X, self.Y)
        low, high = tree.range_y_
        assert -10 < low < 0 < 3 < high < 13
        assert tree.score(self.X, self.Y) > 0.8

    def test_targets_that_fill_their_bounds_keep_them(self):
        y = np.random.default_rng(2).uniform(size=20_000)
        with pytest.warns(UserWarning, match="a constant may predict as well"):
            tree = DPTreeRegressor(2.0, bounds_X=(0, 1), bounds_y=(0, 1), random_state=1).fit(self.X, y)
        assert tree.range_y_ == (0, 1)

    def test_free_splits_and_a_public_model_leave_bounds_as_they_are(self):
        public = np.arange(20_000) < 50
        for options in ({"split_share": 0}, {"rule": "random"}):
            tree = DPTreeRegressor(2.0, random_state=1, max_depth=2, **options, **WIDE)
            assert tree.fit(self.X, self.Y).range_y_ == (-100, 100)
        tree = DPTreeRegressor(2.0, random_state=1, public_model=LinearRegression(), **WIDE)
        assert tree.fit(self.X, self.Y, is_public=public).rule_ == "private"
        assert tree.range_y_ == (-100, 100)

    def test_few_public_rows_are_put_within_them(self):
        public = np.arange(20_000) < 20
        tree = DPTreeRegressor(2.0, random_state=1, **WIDE).fit(self.X, self.Y, is_public=public)
        low, high = tree.range_y_
        assert high - low < 30
        sums = low * tree.public_counts_[:, 0] + high * tree.public_counts_[:, 1]
        assert sums.sum() == pytest.approx(self.Y[public].sum())
        assert tree.bounds_y_ == (-100, 100)
        assert tree.score(self.X, self.Y) > 0.8

    @pytest.mark.parametrize("share", [0.06, 0.15])
    def test_a_few_per_cent_at_an_end_are_kept(self, share):
        y = (np.random.default_rng(4).uniform(size=6000) < share).astype(float)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = DPTreeRegressor(1.0, bounds_X=(0, 1), bounds_y=(0, 1), random_state=1).fit(
                self.X[:6000], y
            )
        assert tree.range_y_[1] == 1

    def test_the_cost_is_charged_once_and_stated(self, tmp_path):
        ledger = PrivacyLedger(tmp_path / "one.ledger")
        tree = DPTreeRegressor(Fraction(1, 2), ledger=ledger, **WIDE).fit(self.X, self.Y)
        (entry,) = ledger.entries()
        assert entry.epsilon == tree.privacy_spent_.epsilon <= Fraction(1, 2)
        cost = Fraction(1, 2) * SPLIT_SHARE * RANGE_SHARE
        said = f"counts of targets by bins at epsilon {float(cost):g}, sensitivity 2; then report-noisy-max"
        assert said in tree.privacy_spent_.mechanism

    def test_a_box_that_is_a_point_is_charged_once(self, tmp_path):
        ledger = PrivacyLedger(tmp_path / "one.ledger")
        tree = DPTreeRegressor(1.0, bounds_y=(-100, 100), ledger=ledger)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree.fit(np.ones_like(self.X), self.Y)
        assert ledger.spent()[0] == 1
        assert tree.n_leaves_ == 1

    def test_sources_take_the_same_rounds(self):
        import pandas as pd

        frame = pd.DataFrame(self.X, columns=["a", "b", "c"]).assign(y=self.Y)
        box = {"bounds_X": {name: (0, 1) for name in "abc"}, "bounds_y": (-100, 100)}
        one = DPTreeRegressor(2.0, random_state=1, **box).fit(frame[["a", "b", "c"]], self.Y)
        other = DPTreeRegressor(2.0, random_state=1, **box)
        fit_rounds(other, TableSource([frame[i::3] for i in range(3)], target="y"))
        assert one.range_y_ == other.range_y_
        np.testing.assert_array_equal(one.report_counts_, other.report_counts_)
