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

from skprivate import DPLogLocationScaleRegressor, life_data
from skprivate.linear_model import _predictions
from skprivate.linear_model._predictions import TIED, concordance_index, replicate_quantiles
from tests.linear_model.conftest import COEF, INTERCEPT, SCALE, Known, lives_of

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

    def test_infinite_mean(self):
        model = Known("loglogistic").fit(X)
        model.scale_ = 1.0
        assert np.isposinf(model.predict_mean(X)).all()
        assert np.isfinite(model.predict(X)).all()

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

    def test_parts_of_rows_change_nothing(self, model, monkeypatch):
        _, whole = model.predict_quantile(X, [0.1, 0.5], return_interval=True)
        for at_once in (1, 400, 2000, 19_999):
            monkeypatch.setattr(_predictions, "_AT_ONCE", at_once)
            _, parts = model.predict_quantile(X, [0.1, 0.5], return_interval=True)
            np.testing.assert_allclose(parts, whole, rtol=1e-13)

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
@pytest.mark.parametrize("distribution", ["weibull", "loglogistic", "lognormal"])
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

    def test_no_pair(self):
        with pytest.warns(UndefinedMetricWarning, match="not defined"):
            assert np.isnan(concordance_index(np.zeros(3, bool), np.arange(1.0, 4), np.arange(3.0)))


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
