# SPDX-License-Identifier: BSD-3-Clause
"""Predictions, their intervals and their scores, of a model with known parameters, against SciPy."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import r2_score

from skprivate import (
    DPLogLocationScaleRegressor,
    PrivacyLedger,
    TableDomain,
    config_context,
    life_data,
)
from skprivate.domain import StressColumn
from skprivate.linear_model import _predictions
from skprivate.linear_model._predictions import TIED, concordance_index, replicate_quantiles
from tests.linear_model.conftest import COEF, INTERCEPT, SCALE, Known, lives_of
from tests.marks import slow

X = np.random.default_rng(0).uniform(-1, 1, (50, 2))


def in_units(model, values):
    return np.exp(values) if model.log_target_ else values


@pytest.fixture(params=["weibull", "loglogistic", "lognormal", "sev", "logistic", "normal"])
def model(request):
    return Known(request.param).fit(X)


class TestPoints:
    def test_mean(self, model):
        means = {
            "weibull": stats.weibull_min(1 / SCALE, scale=np.exp(INTERCEPT + X @ COEF)).mean(),
            "loglogistic": stats.fisk(1 / SCALE, scale=np.exp(INTERCEPT + X @ COEF)).mean(),
            "lognormal": stats.lognorm(SCALE, scale=np.exp(INTERCEPT + X @ COEF)).mean(),
        }
        expected = means.get(model.distribution, model.in_scipy(X).mean())
        np.testing.assert_allclose(model.predict_mean(X), expected, rtol=1e-12)

    def test_quantiles_of_which_the_prediction_is_the_median(self, model):
        levels = np.array([0.1, 0.5, 0.99])
        quantiles = model.predict_quantile(X, levels)
        expected = in_units(model, model.in_scipy(X).ppf(levels[:, np.newaxis])).T
        np.testing.assert_allclose(quantiles, expected, rtol=1e-12)
        np.testing.assert_allclose(model.predict(X), expected[:, 1], rtol=1e-12)
        np.testing.assert_array_equal(model.predict_quantile(X, 0.1), quantiles[:, 0])
        np.testing.assert_array_equal(model.predict_quantile(X, [0.1]), quantiles[:, :1])

    def test_times_beyond_floats_are_infinite_without_a_warning(self, model):
        model.coef_ = np.array([1e6, 0.0])
        values = model.predict(np.array([[1.0, 0.0], [-1.0, 0.0]]))
        np.testing.assert_allclose(values, [np.inf, 0.0] if model.log_target_ else [1e6, -1e6], rtol=1e-5)


class TestIntervals:
    def test_pivotal_rule(self, model):
        levels = [0.1, 0.9]
        quantiles, interval = model.predict_quantile(X, levels, return_interval=True, confidence=0.8)
        np.testing.assert_array_equal(quantiles, model.predict_quantile(X, levels))
        assert interval.shape == (50, 2, 2)
        for column, level in enumerate(levels):
            error = model.error_distribution_.quantile(level)
            estimate = INTERCEPT + X @ COEF + SCALE * error
            replicated = [r[0] + X @ r[2:] + r[1] * error for r in model.replicates_]
            low, high = np.quantile(replicated, [0.1, 0.9], axis=0)
            expected = np.column_stack([2 * estimate - high, 2 * estimate - low])
            np.testing.assert_allclose(interval[:, column], in_units(model, expected), rtol=1e-12)
        assert model.predict_quantile(X, 0.1, return_interval=True)[1].shape == (50, 2)

    def test_bounds_are_the_ends_of_a_wider_interval(self, model):
        levels = [0.1, 0.5]
        _, interval = model.predict_quantile(X, levels, return_interval=True, confidence=0.9)
        for end, side in enumerate(("lower", "upper")):
            bound = model.predict_quantile_bound(X, levels, side=side, confidence=0.95)
            np.testing.assert_allclose(bound, interval[..., end], rtol=1e-12)
        # The default is a lower bound of confidence .95.
        np.testing.assert_allclose(model.predict_quantile_bound(X, 0.1), interval[:, 0, 0], rtol=1e-12)

    def test_b_lives_agree_with_the_predictions(self, model):
        rows, levels = X[:3], [0.01, 0.1]
        table = model.b_lives(rows, levels, confidence=0.8)
        assert list(table.columns) == ["row", "level", "estimate", "lower", "upper", "bound", "beyond"]
        assert table["row"].tolist() == [0, 0, 1, 1, 2, 2]
        assert table["level"].tolist() == levels * 3
        quantiles, interval = model.predict_quantile(rows, levels, return_interval=True, confidence=0.8)
        bound = model.predict_quantile_bound(rows, levels, confidence=0.8)
        np.testing.assert_allclose(table["estimate"], quantiles.ravel(), rtol=1e-12)
        np.testing.assert_allclose(table[["lower", "upper"]], interval.reshape(-1, 2), rtol=1e-12)
        np.testing.assert_allclose(table["bound"], bound.ravel(), rtol=1e-12)
        assert model.b_lives(rows[:1])["level"].tolist() == [0.01, 0.05, 0.1, 0.5]
        pd.testing.assert_frame_equal(model.b_lives(rows, 0.1), model.b_lives(rows, [0.1]))

    @pytest.mark.parametrize("n_replicates", [1, 2, 101, 400])
    def test_quantiles_of_replicates_are_those_of_numpy(self, n_replicates):
        rng = np.random.default_rng(0)
        rows, slopes = rng.normal(size=(300, 3)), rng.normal(size=(n_replicates, 3))
        offsets, levels = rng.normal(size=(2, n_replicates)), [0.0, 0.05, 0.5, 0.95, 1.0]
        every = (rows @ slopes.T)[:, np.newaxis] + offsets
        expected = np.moveaxis(np.quantile(every, levels, axis=-1), 0, -1)
        found = replicate_quantiles(rows, slopes, offsets, levels)
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)
        assert replicate_quantiles(rows[:0], slopes, offsets, levels).shape == (0, 2, 5)


@pytest.mark.statistical
@pytest.mark.parametrize("distribution", ["weibull", slow("loglogistic"), slow("lognormal")])
def test_bounds_and_bands_hold_as_often_as_they_say(distribution):
    """150 tables each: nominal .9 one-sided (B10) and .9 two-sided (survival at one time).

    At a coverage of .9 a count below 107 has the probability 4e-11, and at .87 still below 2e-7.
    """
    known = Known(distribution).fit(X)
    row, time = np.array([[0.5, -0.5]]), 5.0
    law = known.in_scipy(row)
    b10, survival = np.exp(law.ppf(0.1))[0], law.sf(np.log(time))[0]
    lower = upper = band = 0
    for seed in range(150):
        rng = np.random.default_rng([seed, 1])
        rows = rng.uniform(-1, 1, (3000, 2))
        options = {"bounds_X": (-1, 1), "bounds_y": (0.2, 200.0), "max_iter": 1, "random_state": 10**6 + seed}
        model = DPLogLocationScaleRegressor(2.0, distribution=distribution, **options)
        model.fit(rows, np.exp(known.in_scipy(rows).rvs(random_state=rng)))
        lower += model.predict_quantile_bound(row, 0.1, confidence=0.9)[0] < b10
        upper += b10 < model.predict_quantile_bound(row, 0.1, side="upper", confidence=0.9)[0]
        _, (((low, high),),) = model.predict_survival_function(row, return_interval=True, times=[time])
        band += low < survival < high
    assert min(lower, upper, band) >= 107
    # Bounds that always hold say nothing: at most 149 of 150 for the three of them together.
    assert lower + upper + band < 450


def brute_force_index(event, time, predicted, entry=None):
    """All pairs: i had the event, and j certainly lived longer and was watched then."""
    total = pairs = 0.0
    for i in np.flatnonzero(event):
        later = (time > time[i]) | ((time == time[i]) & ~event)
        if entry is not None:
            later &= entry < time[i]
        ahead = predicted[later] - predicted[i]
        total += np.sum(ahead > TIED) + 0.5 * np.sum(np.abs(ahead) <= TIED)
        pairs += later.sum()
    return total / pairs if pairs else np.nan


class TestConcordance:
    @pytest.mark.parametrize("entered", [False, True])
    @settings(max_examples=100, deadline=None)
    @given(
        rows=st.lists(
            st.tuples(
                st.booleans(),
                st.integers(1, 5),
                st.integers(-4, 4),
                st.sampled_from([0.0, 0.9e-8, 2e-8]),
                st.integers(1, 5),
            ),
            min_size=1,
            max_size=40,
        )
    )
    def test_is_the_count_over_all_pairs(self, rows, entered):
        event, time, coarse, fine, watched = (np.array(column) for column in zip(*rows, strict=True))
        entry = np.where(watched > 2, time - watched / 2, -np.inf) if entered else None
        row = event, time.astype(float), coarse + fine, entry
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UndefinedMetricWarning)
            found = concordance_index(*row)
        np.testing.assert_allclose(found, brute_force_index(*row), rtol=1e-12)

    def test_infinite_predictions_are_tied(self):
        time = np.array([1.0, 2.0, 3.0])
        assert concordance_index(np.ones(3, bool), time, np.array([1.0, np.inf, np.inf])) == 2.5 / 3


class TestScore:
    def test_numbers(self, model):
        y = in_units(model, model.in_scipy(X).rvs(random_state=0))
        weights = np.linspace(1, 2, 50)
        assert model.score(X, y) == r2_score(y, model.predict(X))
        assert model.score(X, y, weights) == r2_score(y, model.predict(X), sample_weight=weights)

    def test_events_times_and_entries(self):
        model, rng = Known().fit(X), np.random.default_rng(3)
        rows = rng.uniform(-1, 1, (300, 2))
        time, end = np.exp(model.in_scipy(rows).rvs(random_state=rng)), rng.uniform(2, 20, 300)
        y = lives_of(np.minimum(time, end), time <= end)
        expected = brute_force_index(y["event"], y["time"], model.predict(rows))
        assert model.score(rows, y) == pytest.approx(expected, rel=1e-12)
        assert model.score(rows, pd.DataFrame(y)) == model.score(rows, y)
        assert 0.6 < expected < 0.9
        entry = np.where(rng.random(300) < 0.5, 0.0, y["time"] / 2)
        expected = brute_force_index(y["event"], y["time"], model.predict(rows), entry)
        entered = life_data(time=y["time"], event=y["event"], entry=entry)
        assert model.score(rows, entered) == pytest.approx(expected, rel=1e-12)
        with pytest.raises(ValueError, match="which event came first"):
            model.score(rows, life_data(lower=y["time"], upper=y["time"] + 1))


# Acceleration factors, and predictions at use: beyond the bounds, and wherever rows are.

DOMAIN = TableDomain(
    {"celsius": StressColumn(85, 125, "arrhenius"), "volt": StressColumn(2, 6, "inverse-power")}
)
ENERGY, POWER, LOG_LIFE, SPREAD = 0.7, -2.0, -11.0, 0.5
USE, TEST = {"celsius": [40.0], "volt": [1.5]}, {"celsius": [125.0], "volt": [6.0]}
BOUNDS_Y = (10.0, 1e6)


def units(n, seed=0, end=None):
    """Return a test of units at 3 temperatures and 2 voltages."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"celsius": rng.choice([85.0, 105, 125], n), "volt": rng.choice([3.0, 6.0], n)})
    line = LOG_LIFE + DOMAIN.encode(X) @ [ENERGY, POWER]
    hours = np.exp(line) * rng.exponential(size=n) ** SPREAD
    return X, hours if end is None else lives_of(np.minimum(hours, end), hours <= end)


@pytest.fixture(scope="module")
def tested():
    return units(20_000)


@pytest.fixture(scope="module")
def aged(tested):
    return DPLogLocationScaleRegressor(8.0, domain=DOMAIN, bounds_y=BOUNDS_Y, random_state=1).fit(*tested)


def true_factor():
    return float(np.exp((DOMAIN.encode(USE) - DOMAIN.encode(TEST)) @ [ENERGY, POWER])[0])


class TestStresses:
    def test_slopes_are_the_activation_energy_and_the_power(self, aged):
        # Over 20 seeds of noise and rows the standard deviations are .0035 and .013.
        assert np.abs(aged.coef_ - [ENERGY, POWER]).max() < 0.1

    def test_predictions_beyond_the_bounds_are_not_clipped(self, aged):
        line = aged.intercept_ + DOMAIN.encode(USE) @ aged.coef_
        found = aged.predict_quantile(USE, 0.1)
        np.testing.assert_allclose(np.log(found), line + aged.scale_ * np.log(-np.log(0.9)), rtol=1e-12)
        assert not np.isclose(found, aged.predict_quantile({"celsius": [85.0], "volt": [2.0]}, 0.1))[0]

    def test_a_stress_without_a_law_fails_before_the_charge(self, tested, tmp_path):
        ledger = PrivacyLedger(tmp_path / "ledger.json", epsilon=2)
        X = tested[0].copy()
        X.loc[7, "volt"] = -3.25
        aged = DPLogLocationScaleRegressor(1.0, domain=DOMAIN, bounds_y=BOUNDS_Y, ledger=ledger)
        with pytest.raises(ValueError, match="'volt'") as caught:
            aged.fit(X, tested[1])
        assert "3.25" not in str(caught.value)
        assert ledger.spent()[0] == 0
        with config_context(strict=True):
            aged.fit(X, tested[1])
        assert ledger.spent()[0] == 1
        assert aged.privacy_spent_.private


class TestFactors:
    def test_is_the_ratio_of_every_quantile(self, aged):
        factor = aged.acceleration_factor(USE, TEST)
        for q in (0.1, 0.5):
            ratio = aged.predict_quantile(USE, q) / aged.predict_quantile(TEST, q)
            np.testing.assert_allclose(factor, ratio, rtol=1e-9)
        # Log factor over 20 seeds: standard deviation .034.
        assert abs(np.log(factor[0] / true_factor())) < 0.3

    def test_one_row_is_paired_with_all(self, aged):
        stress = {"celsius": [85.0, 105.0, 125.0], "volt": [3.0, 3.0, 6.0]}
        factors, intervals = aged.acceleration_factor(USE, stress, return_interval=True)
        assert factors.shape == (3,)
        assert intervals.shape == (3, 2)
        single = {name: values[1:2] for name, values in stress.items()}
        alone, interval = aged.acceleration_factor(USE, single, return_interval=True)
        np.testing.assert_allclose(alone[0], factors[1])
        np.testing.assert_allclose(interval[0], intervals[1])
        back = aged.acceleration_factor(stress, USE)
        np.testing.assert_allclose(back * factors, 1)
        same, interval = aged.acceleration_factor(TEST, TEST, return_interval=True)
        assert [*same, *interval[0]] == [1.0, 1.0, 1.0]

    def test_the_interval_is_that_of_the_slope(self, aged):
        """Where one column differs, the interval is the printed one of its slope."""
        warm, hot = 100.0, 120.0
        shift = DOMAIN.encode([[warm, 2.0]])[0, 0] - DOMAIN.encode([[hot, 2.0]])[0, 0]
        _, interval = aged.acceleration_factor([[warm, 2.0]], [[hot, 2.0]], return_interval=True)
        np.testing.assert_allclose(np.log(interval[0]) / shift, aged.coef_interval_[0], rtol=1e-9)
        _, wide = aged.acceleration_factor([[warm, 2]], [[hot, 2]], return_interval=True, confidence=0.99)
        assert wide[0, 0] < interval[0, 0]
        assert interval[0, 1] < wide[0, 1]

    def test_intervals_do_not_depend_on_batches(self, aged, monkeypatch):
        use = [[40.0 + row, 2.0] for row in range(5)]
        whole = aged.acceleration_factor(use, TEST, return_interval=True)[1]
        monkeypatch.setattr(_predictions, "_AT_ONCE", 1)
        np.testing.assert_allclose(aged.acceleration_factor(use, TEST, return_interval=True)[1], whole)

    def test_censored_tests_have_factors_too(self):
        X, y = units(100_000, seed=5, end=4000.0)
        aged = DPLogLocationScaleRegressor(8.0, domain=DOMAIN, bounds_y=BOUNDS_Y, random_state=2).fit(X, y)
        factor, interval = aged.acceleration_factor(USE, TEST, return_interval=True)
        assert interval[0, 0] < factor[0] < interval[0, 1]
        # Log factor over 8 seeds: standard deviation .021.
        assert abs(np.log(factor[0] / true_factor())) < 0.2

    def test_intervals_hold_the_truth(self):
        """Of 30 intervals that hold with probability .9, fewer than 17 do with probability 3e-7."""
        held = []
        for seed in range(30):
            X, y = units(2000, seed=100 + seed)
            aged = DPLogLocationScaleRegressor(8.0, domain=DOMAIN, bounds_y=BOUNDS_Y, random_state=seed)
            _, interval = aged.fit(X, y).acceleration_factor(USE, TEST, return_interval=True)
            held.append(interval[0, 0] < true_factor() < interval[0, 1])
        assert sum(held) >= 17
