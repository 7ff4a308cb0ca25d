# SPDX-License-Identifier: BSD-3-Clause
"""Curves of survival and cumulative hazard, and their bands, of a model with known parameters."""

import pickle

import numpy as np
import pandas as pd
import pytest

from tests.linear_model.conftest import COEF, INTERCEPT, SCALE, Known

X = np.random.default_rng(0).uniform(-1, 1, (50, 2))
ROWS = X[:3]


@pytest.fixture(params=["weibull", "loglogistic", "lognormal", "sev", "logistic", "normal"])
def model(request):
    return Known(request.param).fit(X)


class TestCurves:
    def test_values_at_any_time(self, model):
        times = np.array([0.7, 3.3, 41.0]) if model.log_target_ else np.array([-7.0, 0.0, 2.5])
        on_scale = np.log(times) if model.log_target_ else times
        survival, hazard = model.predict_survival_function(X), model.predict_cumulative_hazard_function(X)
        assert survival.dtype == hazard.dtype == object
        assert survival.shape == hazard.shape == (50,)
        expected = model.in_scipy(X).sf(on_scale[:, np.newaxis]).T
        np.testing.assert_allclose([curve(times) for curve in survival], expected, rtol=1e-10)
        found = [curve(times) for curve in hazard]
        np.testing.assert_allclose(found, -np.log(expected), rtol=1e-8, atol=1e-15)
        assert survival[3](times[1]) == pytest.approx(expected[3, 1])
        assert np.ndim(survival[3](times[1])) == 0

    @pytest.mark.parametrize("method", ["predict_survival_function", "predict_cumulative_hazard_function"])
    def test_arrays_are_the_functions_on_a_grid_that_spans_the_bounds(self, model, method):
        times, curves = model.unique_times_, getattr(model, method)(X)
        array = getattr(model, method)(X, return_array=True)
        assert array.shape == (50, len(times)) == (50, 128)
        np.testing.assert_allclose([curve(times) for curve in curves], array, rtol=1e-13)
        np.testing.assert_allclose([curve.y for curve in curves], array, rtol=1e-13)
        np.testing.assert_array_equal(curves[0].x, times)
        assert (times[0], times[-1]) == model.bounds_y_
        steps = np.diff(np.log(times) if model.log_target_ else times)
        np.testing.assert_allclose(steps, steps[0], rtol=1e-9)

    def test_domain_and_pickles(self, model):
        curve = model.predict_survival_function(X)[0]
        assert curve.domain == (0.0 if model.log_target_ else -np.inf, np.inf)
        assert not model.log_target_ or curve(0.0) == 1.0
        again = pickle.loads(pickle.dumps(curve))
        assert again == curve
        assert again(1.0) == curve(1.0)

    def test_events_make_any_distribution_one_of_times(self):
        y = pd.DataFrame({"event": np.ones(50, bool), "time": 1.0})
        model, plain = Known("sev").fit(X, y), Known("weibull").fit(X)
        np.testing.assert_array_equal(model.predict(X), plain.predict(X))
        np.testing.assert_array_equal(model.unique_times_, plain.unique_times_)

    def test_before_the_fit_there_is_no_grid(self):
        assert not hasattr(Known(), "unique_times_")


class TestBands:
    @pytest.mark.parametrize("distribution", ["weibull", "loglogistic", "lognormal"])
    def test_pivotal_rule_of_the_standardised_error(self, distribution):
        model, times = Known(distribution, spread=0.01).fit(X), np.array([0.0, 3.0, 7.0])
        options = {"return_array": True, "return_interval": True, "times": times, "confidence": 0.8}
        values, band = model.predict_survival_function(ROWS, **options)
        assert band.shape == (3, 3, 2)
        assert (band[:, 0] == 1.0).all()
        at_zero = model.in_scipy(np.zeros((1, 2)))
        for i, row in enumerate(ROWS):
            for j, time in enumerate(times[1:], start=1):
                z = (np.log(time) - INTERCEPT - row @ COEF) / SCALE
                draws = [(np.log(time) - r[0] - row @ r[2:]) / r[1] for r in model.replicates_]
                low, high = np.quantile(draws, [0.1, 0.9])
                expected = at_zero.sf(INTERCEPT + SCALE * np.array([z, 2 * z - low, 2 * z - high]))
                np.testing.assert_allclose([values[i, j], *band[i, j]], expected, rtol=1e-8)
        hazard, hazard_band = model.predict_cumulative_hazard_function(ROWS, **options)
        close = {"rtol": 1e-8, "atol": 1e-14}
        np.testing.assert_allclose(hazard[:, 1:], -np.log(values[:, 1:]), **close)
        np.testing.assert_allclose(hazard_band[:, 1:], -np.log(band[:, 1:, ::-1]), **close)
