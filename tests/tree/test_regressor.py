# SPDX-License-Identifier: BSD-3-Clause
"""Trees of numbers: exact at a huge epsilon, unbiased, targets and range, public rows, sources, charges."""

import warnings
from fractions import Fraction

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from skprivate import DPTreeRegressor, LocallyPrivateTreeRegressor, PrivacyLedger, config_context
from skprivate.audit import sensitivity_fuzz
from skprivate.exceptions import BudgetExceededError, PrivacyLeakError, PrivacyLeakWarning
from skprivate.tree._splits import RANGE_SHARE, SPLIT_SHARE
from tests.marks import slow

pytestmark = pytest.mark.filterwarnings("ignore::skprivate.exceptions.UtilityWarning")

KINDS = [DPTreeRegressor, LocallyPrivateTreeRegressor]
N = 4000
RNG = np.random.default_rng(0)
X = RNG.uniform(size=(N, 2))
STEP = 10.0 * (X[:, 0] > 0.5)
Y = STEP + RNG.normal(size=N)
PUBLIC = np.arange(N) < 200
BOUNDS = {"bounds_X": (0, 1), "bounds_y": (-5, 15)}
PLAIN = {**BOUNDS, "rule": "random", "max_depth": 3}


def leaf_means(tree, rows, y):
    leaf = tree.apply(rows)
    return np.bincount(leaf, y, tree.n_leaves_) / np.bincount(leaf, minlength=tree.n_leaves_)


class TestHugeEpsilon:
    """Epsilon 1e5 leaves noise of a standard deviation of 1e-4 rows or less."""

    def test_the_targets_alone_are_hidden_exactly(self):
        tree = LocallyPrivateTreeRegressor(100.0, protect="label", random_state=1, **PLAIN).fit(X, Y)
        # What is left is the random rounding: a standard deviation of at most 1/16 of the width a row.
        assert np.abs(tree.leaf_values_ - leaf_means(tree, X, Y)).max() < 6 * 20 / 16 / np.sqrt(300)


@pytest.mark.parametrize("kind", KINDS)
class TestTargets:
    def test_targets_beyond_the_bounds_are_clipped_in_silence(self, kind):
        far = np.where(Y > 5, 1e200, -1e200)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            one = kind(3.0, random_state=1, **PLAIN).fit(X, far)
        other = kind(3.0, random_state=1, **PLAIN).fit(X, np.clip(far, -5, 15))
        np.testing.assert_array_equal(one.report_counts_, other.report_counts_)
        assert one.predict(X).min() >= -5
        assert one.predict(X).max() <= 15

    def test_bounds_of_y_that_are_missing_are_a_leak(self, kind):
        with pytest.warns(PrivacyLeakWarning, match="bounds of y"):
            tree = kind(2.0, bounds_X=(0, 1), split_share=0).fit(X, Y)
        assert not tree.privacy_spent_.private
        assert tree.bounds_y_ == (Y.min(), Y.max())
        with config_context(strict=True), pytest.raises(PrivacyLeakError):
            kind(2.0, bounds_X=(0, 1)).fit(X, Y)

    def test_bounds_of_public_rows(self, kind):
        tree = kind(2.0).fit(X, Y, is_public=PUBLIC)
        assert tree.privacy_spent_.private
        assert tree.bounds_y_ == (Y[PUBLIC].min(), Y[PUBLIC].max())

    def test_bounds_as_wide_as_floats_are(self, kind):
        tree = kind(2.0, bounds_X=(0, 1), bounds_y=(-1e135, 1e135), random_state=1).fit(X, 1e134 * Y)
        assert np.isfinite(tree.predict(X)).all()
        assert np.isfinite(tree.leaf_errors_).all()
        assert np.isfinite(tree.leaf_intervals()).all()

    def test_forms_of_the_target(self, kind):
        one = kind(3.0, random_state=1, **PLAIN).fit(X, Y)
        with pytest.warns(Warning, match="column-vector|1d array"):
            other = kind(3.0, random_state=1, **PLAIN).fit(X, Y[:, np.newaxis])
        np.testing.assert_array_equal(one.report_counts_, other.report_counts_)
        events = np.zeros(N, dtype=[("event", bool), ("time", float)])
        for strict in (False, True):
            with config_context(strict=strict), pytest.raises(ValueError, match="no times with events"):
                kind(1.0, **PLAIN).fit(X, events)


@pytest.mark.parametrize("kind", KINDS)
class TestPublicRows:
    def test_misleading_ones_lose_their_weight(self, kind):
        lies = np.where(PUBLIC, 10 - STEP, Y)
        options = {**BOUNDS, "split_share": 0, "random_state": 1}
        tree = kind(8.0, **options).fit(X, lies, is_public=PUBLIC)
        assert tree.score(X[~PUBLIC], Y[~PUBLIC]) > 0.7
        trusting = tree.reweighted(public_weight=1000.0)
        assert trusting.score(X[~PUBLIC], Y[~PUBLIC]) < 0
        assert (trusting.public_weight_ == 1000).all()
        np.testing.assert_array_equal(trusting.report_counts_, tree.report_counts_)
        # The copy is another object, and the same weight gives the same tree.
        again = trusting.reweighted(public_weight="auto")
        np.testing.assert_array_equal(again.predict(X), tree.predict(X))


def test_several_rows_of_a_person_cost_as_many_times_the_noise():
    one = DPTreeRegressor(1.0, random_state=1, **PLAIN).fit(X, Y, groups=np.arange(N) // 4)
    four = DPTreeRegressor(1.0, max_rows_per_group=4, random_state=1, **PLAIN).fit(
        X, Y, groups=np.arange(N) // 4
    )
    assert four.privacy_spent_.sensitivity == 4 * one.privacy_spent_.sensitivity == 8 * 2**30
    assert four.privacy_spent_.noise_scale == 8 * 2**30
    with pytest.raises(ValueError, match="max_rows_per_group must be 1"):
        LocallyPrivateTreeRegressor(1.0, max_rows_per_group=2, **PLAIN).fit(X, Y)


@pytest.mark.parametrize("kind", KINDS)
def test_the_ledger_is_charged_before_noise_is_drawn(kind, tmp_path):
    ledger = PrivacyLedger(epsilon=Fraction(5, 2), path=tmp_path / "ledger")
    tree = kind(2.0, ledger=ledger, **PLAIN).fit(X, Y)
    assert ledger.spent()[0] == 2
    before = tree.report_counts_.copy()
    with pytest.raises(BudgetExceededError):
        tree.fit(X, Y)
    assert ledger.spent()[0] == 2
    np.testing.assert_array_equal(tree.report_counts_, before)


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("mechanism", "epsilon"),
    [
        *(slow(*case) for case in (("krr", 6.0), ("hadamard", 0.5), ("subset", 2.0), ("unary", 0.5))),
        *(slow(*case) for case in (("hadamard", 6.0), ("krr", 0.5), ("subset", 6.0), ("unary", 2.0))),
    ],
)
def test_estimates_of_reports_are_unbiased_at_every_number_of_levels(mechanism, epsilon):
    """The mean of 200 released estimates lies within 6 standard errors of the truth: 4e-9 by chance."""
    rng = np.random.default_rng(5)
    rows = rng.uniform(size=(400, 2))
    y = -5 + 20 * rng.beta(2, 5, 400)
    found, truth = [], None
    for seed in range(200):
        tree = LocallyPrivateTreeRegressor(epsilon, mechanism=mechanism, random_state=9000 + seed, **PLAIN)
        tree.fit(rows, y)
        cells = tree.randomizer_.estimate(tree.report_counts_, tree.n_reports_)
        if cells.ndim == 1:
            size = tree.randomizer_.estimate_cells(tree.report_counts_, tree.n_reports_)
            cells = np.column_stack([size - cells, size + cells]) / 2
        found.append(tree._released.cells.halves(cells)[:, 1])
        truth = np.bincount(tree.apply(rows), (y + 5) / 20, 8)
    error = np.std(found, axis=0) / np.sqrt(len(found))
    assert (np.abs(np.mean(found, axis=0) - truth) < 6 * error).all()
    assert tree.randomizer_.n_labels in (2, 3, 5, 9)


@pytest.mark.usefixtures("short_searches")
class TestSensitivity:
    @pytest.mark.parametrize(
        "options", [slow({"split_share": 0}), {"max_depth": 2}], ids=["leaves", "splits"]
    )
    def test_fuzz(self, options):
        tree = DPTreeRegressor(1.5, bounds_X=(0, 1), bounds_y=(-5, 15), **options)
        fuzz = sensitivity_fuzz(tree)
        assert fuzz.passed
        assert fuzz.loss > 0.6 * 1.5


def rows_of(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 3))
    return X, 2.0 * (X[:, 0] > 0.4) + X[:, 1] + 0.3 * rng.normal(size=n)


WIDE = {"bounds_X": (0, 1), "bounds_y": (-100, 100)}


class TestRange:
    X, Y = rows_of(20_000, 0)

    def test_bounds_a_hundred_times_too_wide_are_heard_of(self):
        tree = DPTreeRegressor(2.0, random_state=1, **WIDE).fit(self.X, self.Y)
        low, high = tree.range_y_
        assert -10 < low < 0 < 3 < high < 13
        assert tree.score(self.X, self.Y) > 0.8

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


@pytest.mark.parametrize(("depth", "name"), [(3, "subset"), (9, "unary")])
def test_bits_are_sent_where_subsets_have_hardly_less_variance(depth, name):
    tree = LocallyPrivateTreeRegressor(1.0, bounds_X=(0, 1), bounds_y=(0, 1), max_depth=depth, split_share=0)
    tree.fit(np.random.default_rng(0).random((500, 2)), np.zeros(500))
    assert tree.mechanism_ == name
