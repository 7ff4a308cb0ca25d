# SPDX-License-Identifier: BSD-3-Clause
"""Predictions of a model with known parameters, against SciPy and through scikit-survival."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.exceptions import NotFittedError, UndefinedMetricWarning
from sklearn.metrics import r2_score
from sklearn.utils.validation import validate_data

from skprivate.linear_model import _predictions
from skprivate.linear_model._distributions import error_distribution_of, models_log_target
from skprivate.linear_model._predictions import TIED, concordance_index
from skprivate.linear_model._regressors import BaseLogLocationScale
from skprivate.rounds._rows import is_structured

IN_SCIPY = {"sev": stats.gumbel_l, "logistic": stats.logistic, "normal": stats.norm}
COEF, INTERCEPT, SCALE = np.array([0.5, -0.25]), 2.0, 0.4
X = np.random.default_rng(0).uniform(-1, 1, (50, 2))


class Known(BaseLogLocationScale):
    """A regressor whose parameters are given; replicates vary around them."""

    def __init__(self, distribution="weibull", n_replicates=200, spread=0.05):
        self.distribution, self.n_replicates, self.spread = distribution, n_replicates, spread

    def fit(self, X, y=None):
        validate_data(self, X)
        self.error_distribution_ = error_distribution_of(self.distribution)
        self.log_target_ = models_log_target(self.distribution)
        self.log_target_ = self.log_target_ or is_structured(y)
        self.coef_, self.intercept_, self.scale_ = COEF, INTERCEPT, SCALE
        self.bounds_y_ = (0.5, 80.0) if self.log_target_ else (-2.0, 6.0)
        noise = np.random.default_rng(1).normal(size=(self.n_replicates, 4))
        self._replicates = np.concatenate([[INTERCEPT, SCALE], COEF]) + self.spread * noise
        return self

    def in_scipy(self, X):
        """SciPy's distribution on the scale of the model."""
        return IN_SCIPY[self.error_distribution_.name](loc=INTERCEPT + X @ COEF, scale=SCALE)


def in_units(model, values):
    return np.exp(values) if model.log_target_ else values


@pytest.fixture(params=["weibull", "loglogistic", "lognormal", "sev", "logistic", "normal"])
def model(request):
    return Known(request.param).fit(X)


class TestPoints:
    def test_predict_is_the_median(self, model):
        np.testing.assert_allclose(model.predict(X), in_units(model, model.in_scipy(X).median()), rtol=1e-12)

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

    def test_quantiles(self, model):
        levels = np.array([0.1, 0.5, 0.99])
        quantiles = model.predict_quantile(X, levels)
        assert quantiles.shape == (50, 3)
        expected = in_units(model, model.in_scipy(X[:, :]).ppf(levels[:, np.newaxis])).T
        np.testing.assert_allclose(quantiles, expected, rtol=1e-12)
        for column, level in enumerate(levels):
            one = model.predict_quantile(X, level)
            assert one.shape == (50,)
            np.testing.assert_array_equal(one, quantiles[:, column])
        np.testing.assert_array_equal(model.predict_quantile(X, [0.1]), quantiles[:, :1])

    def test_times_beyond_floats_are_infinite_without_a_warning(self, model):
        model.coef_ = np.array([1e6, 0.0])
        values = model.predict(np.array([[1.0, 0.0], [-1.0, 0.0]]))
        np.testing.assert_allclose(values, [np.inf, 0.0] if model.log_target_ else [1e6, -1e6], rtol=1e-5)

    @pytest.mark.parametrize("q", [0, 1, -0.1, 1.5, np.nan, [0.5, 1.0], [[0.5]]])
    def test_levels_out_of_range(self, model, q):
        with pytest.raises(ValueError, match="q must be"):
            model.predict_quantile(X, q)

    @pytest.mark.parametrize("confidence", [0, 1, np.nan, 90])
    def test_confidence_out_of_range(self, model, confidence):
        with pytest.raises(ValueError, match="confidence must be"):
            model.predict_quantile(X, 0.5, return_interval=True, confidence=confidence)


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

    def test_one_level_has_one_interval(self, model):
        quantiles, interval = model.predict_quantile(X, 0.1, return_interval=True)
        assert quantiles.shape == (50,)
        assert interval.shape == (50, 2)
        assert (interval[:, 0] < quantiles).all()
        assert (quantiles < interval[:, 1]).all()
        _, wider = model.predict_quantile(X, 0.1, return_interval=True, confidence=0.99)
        assert (wider[:, 0] < interval[:, 0]).all()
        assert (wider[:, 1] > interval[:, 1]).all()

    def test_skewed_replicates_are_turned_around(self):
        # The estimate lies low among its replicates, as the truth then does below the estimate.
        model = Known("sev").fit(X)
        model._replicates = np.tile([INTERCEPT, SCALE, *COEF], (101, 1))
        model._replicates[:, 0] += np.linspace(0, 1, 101)
        estimate, interval = model.predict_quantile(X, 0.5, return_interval=True)
        np.testing.assert_allclose(interval[:, 0], estimate - 0.95)
        np.testing.assert_allclose(interval[:, 1], estimate - 0.05)

    def test_parts_of_rows_change_nothing(self, model, monkeypatch):
        _, whole = model.predict_quantile(X, [0.1, 0.5], return_interval=True)
        for at_once in (1, 400, 2000, 19_999):
            monkeypatch.setattr(_predictions, "_AT_ONCE", at_once)
            _, parts = model.predict_quantile(X, [0.1, 0.5], return_interval=True)
            np.testing.assert_allclose(parts, whole, rtol=1e-13)


class TestCurves:
    def test_values_at_any_time(self, model):
        times = np.array([0.7, 3.3, 41.0]) if model.log_target_ else np.array([-7.0, 0.0, 2.5])
        on_scale = np.log(times) if model.log_target_ else times
        survival = model.predict_survival_function(X)
        hazard = model.predict_cumulative_hazard_function(X)
        assert survival.dtype == hazard.dtype == object
        assert survival.shape == hazard.shape == (50,)
        expected = model.in_scipy(X).sf(on_scale[:, np.newaxis]).T
        np.testing.assert_allclose([curve(times) for curve in survival], expected, rtol=1e-10)
        np.testing.assert_allclose(
            [curve(times) for curve in hazard], -np.log(expected), rtol=1e-8, atol=1e-15
        )
        assert survival[3](times[1]) == pytest.approx(expected[3, 1])
        assert np.ndim(survival[3](times[1])) == 0

    def test_half_at_the_median(self, model):
        for curve, median in zip(model.predict_survival_function(X), model.predict(X), strict=True):
            assert curve(median) == pytest.approx(0.5, rel=1e-10)

    @pytest.mark.parametrize("method", ["predict_survival_function", "predict_cumulative_hazard_function"])
    def test_arrays_are_the_functions_on_the_grid(self, model, method):
        times = model.unique_times_
        curves = getattr(model, method)(X)
        array = getattr(model, method)(X, return_array=True)
        assert array.shape == (50, len(times)) == (50, 128)
        np.testing.assert_allclose([curve(times) for curve in curves], array, rtol=1e-13)
        np.testing.assert_allclose([curve.y for curve in curves], array, rtol=1e-13)
        np.testing.assert_array_equal(curves[0].x, times)

    def test_grid_spans_the_bounds(self, model):
        times = model.unique_times_
        assert (times[0], times[-1]) == model.bounds_y_
        steps = np.diff(np.log(times) if model.log_target_ else times)
        np.testing.assert_allclose(steps, steps[0], rtol=1e-9)

    def test_domain(self, model):
        curve = model.predict_survival_function(X)[0]
        assert curve.domain == (0.0 if model.log_target_ else -np.inf, np.inf)
        for bad in (np.nan, np.inf, [1.0, -np.inf]):
            with pytest.raises(ValueError, match="finite"):
                curve(bad)
        if model.log_target_:
            assert curve(0.0) == 1.0
            with pytest.raises(ValueError, match="at least 0"):
                curve([1.0, -1e-9])

    def test_curves_survive_pickling(self, model):
        curve = model.predict_survival_function(X)[0]
        again = pickle.loads(pickle.dumps(curve))
        assert again == curve
        assert again(1.0) == curve(1.0)

    def test_events_make_any_distribution_one_of_times(self):
        y = pd.DataFrame({"event": np.ones(50, bool), "time": 1.0})
        model, plain = Known("sev").fit(X, y), Known("weibull").fit(X)
        np.testing.assert_array_equal(model.predict(X), plain.predict(X))
        np.testing.assert_array_equal(model.unique_times_, plain.unique_times_)


def brute_force_index(event, time, predicted):
    """All pairs: i had the event, and j certainly lived longer."""
    total = pairs = 0.0
    for i in np.flatnonzero(event):
        later = (time > time[i]) | ((time == time[i]) & ~event)
        ahead = predicted[later] - predicted[i]
        total += np.sum(ahead > TIED) + 0.5 * np.sum(np.abs(ahead) <= TIED)
        pairs += later.sum()
    return total / pairs if pairs else np.nan


class TestConcordance:
    @settings(max_examples=200, deadline=None)
    @given(
        rows=st.lists(
            st.tuples(
                st.booleans(), st.integers(1, 5), st.integers(-4, 4), st.sampled_from([0.0, 0.9e-8, 2e-8])
            ),
            min_size=1,
            max_size=40,
        )
    )
    def test_is_the_count_over_all_pairs(self, rows):
        event, time, coarse, fine = (np.array(column) for column in zip(*rows, strict=True))
        predicted = coarse + fine
        expected = brute_force_index(event, time.astype(float), predicted)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UndefinedMetricWarning)
            found = concordance_index(event, time.astype(float), predicted)
        np.testing.assert_allclose(found, expected, rtol=1e-12)

    def test_infinite_predictions_are_tied(self):
        time = np.array([1.0, 2.0, 3.0])
        assert concordance_index(np.ones(3, bool), time, np.array([1.0, np.inf, np.inf])) == 2.5 / 3

    def test_no_pair(self):
        with pytest.warns(UndefinedMetricWarning, match="not defined"):
            assert np.isnan(concordance_index(np.zeros(3, bool), np.arange(1.0, 4), np.arange(3.0)))


def events_and_times(model, seed=3, n=300):
    rng = np.random.default_rng(seed)
    rows = rng.uniform(-1, 1, (n, 2))
    time = np.exp(model.in_scipy(rows).rvs(random_state=rng))
    censored = rng.uniform(2, 20, n)
    y = np.empty(n, dtype=[("event", bool), ("time", float)])
    y["event"], y["time"] = time <= censored, np.minimum(time, censored)
    return rows, y


class TestScore:
    def test_numbers(self, model):
        y = in_units(model, model.in_scipy(X).rvs(random_state=0))
        weights = np.linspace(1, 2, 50)
        assert model.score(X, y) == r2_score(y, model.predict(X))
        assert model.score(X, y, weights) == r2_score(y, model.predict(X), sample_weight=weights)

    @pytest.mark.parametrize("distribution", ["weibull", "loglogistic", "lognormal"])
    def test_events_and_times(self, distribution):
        model = Known(distribution).fit(X)
        rows, y = events_and_times(model)
        expected = brute_force_index(y["event"], y["time"], model.predict(rows))
        assert model.score(rows, y) == pytest.approx(expected, rel=1e-12)
        assert model.score(rows, pd.DataFrame(y)) == model.score(rows, y)
        assert 0.6 < expected < 0.9

    def test_errors(self):
        model = Known().fit(X)
        rows, y = events_and_times(model)
        with pytest.raises(ValueError, match="takes no weights"):
            model.score(rows, y, np.ones(300))
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            model.score(rows[:-1], y)
        with pytest.raises(ValueError) as caught:  # noqa: PT011
            model.score(X, np.array(["secret"] * 50))
        assert "secret" not in str(caught.value)


class TestRows:
    METHODS = ("predict", "predict_mean", "predict_survival_function", "predict_cumulative_hazard_function")

    @pytest.mark.parametrize("method", METHODS)
    def test_rows_are_validated(self, method):
        model = Known().fit(pd.DataFrame(X, columns=["a", "b"]))
        with pytest.raises(ValueError, match="feature names"):
            getattr(model, method)(pd.DataFrame(X, columns=["b", "a"]))
        with pytest.raises(ValueError, match="3 features"):
            getattr(Known().fit(X), method)(np.ones((2, 3)))
        with pytest.raises(ValueError, match="NaN"):
            getattr(Known().fit(X), method)([[np.nan, 1.0]])
        with pytest.raises(TypeError, match="X holds text") as caught:
            getattr(Known().fit(X), method)(np.array([["secret", "1"]]))
        assert "secret" not in str(caught.value)

    def test_before_the_fit(self):
        for method in self.METHODS:
            with pytest.raises(NotFittedError):
                getattr(Known(), method)(X)
        assert not hasattr(Known(), "unique_times_")


class TestScikitSurvival:
    """Its metrics take the predictions as they are."""

    TIMES = np.linspace(2, 9, 8)

    @pytest.fixture
    def known(self):
        model = Known("weibull").fit(X)
        return model, *events_and_times(model)

    def test_brier_score(self, known):
        metrics = pytest.importorskip("sksurv.metrics")
        model, rows, y = known
        array = np.vstack([curve(self.TIMES) for curve in model.predict_survival_function(rows)])
        good = metrics.integrated_brier_score(y, y, array, self.TIMES)
        constant = metrics.integrated_brier_score(y, y, np.tile(array.mean(axis=0), (300, 1)), self.TIMES)
        assert 0.05 < good < constant

    def test_brier_scorer(self, known):
        metrics = pytest.importorskip("sksurv.metrics")
        model, rows, y = known
        scorer = metrics.as_integrated_brier_score_scorer(Known("weibull"), times=self.TIMES).fit(rows, y)
        array = np.vstack([curve(self.TIMES) for curve in model.predict_survival_function(rows)])
        assert scorer.score(rows, y) == -metrics.integrated_brier_score(y, y, array, self.TIMES)

    def test_auc_and_concordance(self, known):
        metrics = pytest.importorskip("sksurv.metrics")
        model, rows, y = known
        risk = -model.predict(rows)
        _, mean = metrics.cumulative_dynamic_auc(y, y, risk, self.TIMES)
        hazard = model.predict_cumulative_hazard_function(rows)
        by_time = np.vstack([curve(self.TIMES) for curve in hazard])
        assert metrics.cumulative_dynamic_auc(y, y, by_time, self.TIMES)[1] == pytest.approx(mean)
        assert 0.6 < metrics.concordance_index_ipcw(y, y, risk, tau=9.0)[0] < 0.9
        harrell = metrics.concordance_index_censored(y["event"], y["time"], risk)[0]
        assert model.score(rows, y) == pytest.approx(harrell, rel=1e-12)
