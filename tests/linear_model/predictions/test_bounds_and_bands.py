# SPDX-License-Identifier: BSD-3-Clause
"""One-sided bounds, tables of B lives and bands of curves: their arithmetic, and how often they hold."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from skprivate import DPLogLocationScaleRegressor
from skprivate.linear_model._predictions import replicate_quantiles

DISTRIBUTIONS = ("weibull", "loglogistic", "lognormal")
IN_SCIPY = {"weibull": stats.gumbel_l, "loglogistic": stats.logistic, "lognormal": stats.norm}
COEF, INTERCEPT, SCALE = np.array([0.5, -0.25]), 2.0, 0.4
ROWS = np.array([[0.0, 0.0], [0.5, -0.5], [1.0, 1.0]])


def fitted(seed=0, distribution="weibull", n=3000, epsilon=2.0):
    """Return a fit to uncensored times, by one release; the noise and the data have different seeds."""
    rng = np.random.default_rng([seed, 1])
    X = rng.uniform(-1, 1, (n, 2))
    error = IN_SCIPY[distribution].rvs(size=n, random_state=rng)
    y = np.exp(INTERCEPT + X @ COEF + SCALE * error)
    model = DPLogLocationScaleRegressor(
        epsilon,
        distribution=distribution,
        bounds_X=(-1, 1),
        bounds_y=(0.2, 200.0),
        max_iter=1,
        random_state=10**6 + seed,
    )
    return model.fit(X, y)


@pytest.fixture(scope="module", params=DISTRIBUTIONS)
def model(request):
    return fitted(distribution=request.param)


class TestReplicateQuantiles:
    @pytest.mark.parametrize("n_replicates", [1, 2, 101, 400])
    def test_are_those_of_numpy(self, n_replicates):
        rng = np.random.default_rng(0)
        rows, slopes = rng.normal(size=(300, 3)), rng.normal(size=(n_replicates, 3))
        offsets, levels = rng.normal(size=(2, n_replicates)), [0.0, 0.05, 0.5, 0.95, 1.0]
        found = replicate_quantiles(rows, slopes, offsets, levels)
        every = (rows @ slopes.T)[:, np.newaxis] + offsets
        expected = np.moveaxis(np.quantile(every, levels, axis=-1), 0, -1)
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)

    def test_no_rows(self):
        assert replicate_quantiles(np.ones((0, 2)), np.ones((5, 2)), np.ones((3, 5)), [0.5]).shape == (
            0,
            3,
            1,
        )


class TestBounds:
    def test_are_the_ends_of_a_wider_interval(self, model):
        levels = [0.1, 0.5]
        _, interval = model.predict_quantile(ROWS, levels, return_interval=True, confidence=0.9)
        lower = model.predict_quantile_bound(ROWS, levels, confidence=0.95)
        upper = model.predict_quantile_bound(ROWS, levels, side="upper", confidence=0.95)
        assert lower.shape == (3, 2)
        np.testing.assert_allclose(lower, interval[..., 0], rtol=1e-12)
        np.testing.assert_allclose(upper, interval[..., 1], rtol=1e-12)
        one = model.predict_quantile_bound(ROWS, 0.1)
        assert one.shape == (3,)
        np.testing.assert_array_equal(one, lower[:, 0])

    def test_more_confidence_is_further_away(self, model):
        bounds = [model.predict_quantile_bound(ROWS, 0.1, confidence=c) for c in (0.6, 0.9, 0.99)]
        assert (np.diff(bounds, axis=0) < 0).all()
        bounds = [model.predict_quantile_bound(ROWS, 0.1, side="upper", confidence=c) for c in (0.6, 0.99)]
        assert (np.diff(bounds, axis=0) > 0).all()

    def test_errors(self, model):
        with pytest.raises(ValueError, match="side must be"):
            model.predict_quantile_bound(ROWS, 0.1, side="both")
        with pytest.raises(ValueError, match="confidence must be"):
            model.predict_quantile_bound(ROWS, 0.1, confidence=95)
        with pytest.raises(ValueError, match="q must be"):
            model.predict_quantile_bound(ROWS, 10)


class TestBLives:
    def test_agree_with_the_predictions(self, model):
        levels = [0.01, 0.1]
        table = model.b_lives(ROWS, levels, confidence=0.8)
        assert list(table.columns) == ["row", "level", "estimate", "lower", "upper", "bound", "beyond"]
        assert table["row"].tolist() == [0, 0, 1, 1, 2, 2]
        assert table["level"].tolist() == [0.01, 0.1] * 3
        quantiles, interval = model.predict_quantile(ROWS, levels, return_interval=True, confidence=0.8)
        bound = model.predict_quantile_bound(ROWS, levels, confidence=0.8)
        np.testing.assert_allclose(table["estimate"], quantiles.ravel(), rtol=1e-12)
        np.testing.assert_allclose(table[["lower", "upper"]], interval.reshape(-1, 2), rtol=1e-12)
        np.testing.assert_allclose(table["bound"], bound.ravel(), rtol=1e-12)

    def test_default_levels(self, model):
        assert model.b_lives(ROWS[:1])["level"].tolist() == [0.01, 0.05, 0.1, 0.5]
        pd.testing.assert_frame_equal(model.b_lives(ROWS, 0.1), model.b_lives(ROWS, [0.1]))

    def test_errors(self, model):
        with pytest.raises(ValueError, match="levels must be"):
            model.b_lives(ROWS, [10])
        with pytest.raises(ValueError, match="confidence must be"):
            model.b_lives(ROWS, confidence=0)


class TestBands:
    def test_pivotal_rule_of_the_standardised_error(self, model):
        times = np.array([0.0, 3.0, 7.0])
        values, band = model.predict_survival_function(
            ROWS, return_array=True, return_interval=True, times=times, confidence=0.8
        )
        assert values.shape == (3, 3)
        assert band.shape == (3, 3, 2)
        law = IN_SCIPY[model.distribution]
        for i, row in enumerate(ROWS):
            assert (band[i, 0] == 1.0).all()
            for j, time in enumerate(times[1:], start=1):
                z = (np.log(time) - model.intercept_ - row @ model.coef_) / model.scale_
                draws = [(np.log(time) - r[0] - row @ r[2:]) / r[1] for r in model.replicates_]
                low, high = np.quantile(draws, [0.1, 0.9])
                np.testing.assert_allclose(values[i, j], law.sf(z), rtol=1e-10)
                np.testing.assert_allclose(band[i, j], law.sf([2 * z - low, 2 * z - high]), rtol=1e-8)

    def test_hazard_is_minus_the_logarithm(self, model):
        options = {"return_array": True, "return_interval": True, "times": [1.0, 5.0]}
        survival, band = model.predict_survival_function(ROWS, **options)
        hazard, hazard_band = model.predict_cumulative_hazard_function(ROWS, **options)
        np.testing.assert_allclose(hazard, -np.log(survival), rtol=1e-8, atol=1e-14)
        np.testing.assert_allclose(hazard_band, -np.log(band[..., ::-1]), rtol=1e-8, atol=1e-14)

    def test_hold_the_estimate_and_are_probabilities(self, model):
        values, band = model.predict_survival_function(ROWS, return_array=True, return_interval=True)
        assert band.shape == (3, 128, 2)
        assert ((band >= 0) & (band <= 1)).all()
        assert ((band[..., 0] <= values) & (values <= band[..., 1])).all()

    def test_functions_come_with_the_band_of_their_grid(self, model):
        times = [1.0, 2.0]
        curves, band = model.predict_survival_function(ROWS, return_interval=True, times=times)
        assert [curve.x.tolist() for curve in curves] == [times] * 3
        array, same = model.predict_survival_function(
            ROWS, return_array=True, return_interval=True, times=times
        )
        np.testing.assert_allclose([curve.y for curve in curves], array, rtol=1e-12)
        np.testing.assert_array_equal(band, same)

    @pytest.mark.parametrize("times", [[np.nan], [1.0, np.inf], [-1.0], 3.0])
    def test_bad_times(self, model, times):
        with pytest.raises(ValueError, match="times must be"):
            model.predict_survival_function(ROWS, times=times)

    def test_bad_confidence(self, model):
        with pytest.raises(ValueError, match="confidence must be"):
            model.predict_survival_function(ROWS, return_interval=True, confidence=1)


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_bounds_and_bands_hold_as_often_as_they_say(distribution):
    """150 tables each: nominal .9 one-sided (B10) and .9 two-sided (survival at one time).

    At a coverage of .9 a count below 107 has the probability 4e-11, and at .87 still below 2e-7.
    """
    law, row, time = IN_SCIPY[distribution], ROWS[1:2], 5.0
    b10 = np.exp(INTERCEPT + row[0] @ COEF + SCALE * law.ppf(0.1))
    survival = law.sf((np.log(time) - INTERCEPT - row[0] @ COEF) / SCALE)
    lower = upper = band = 0
    for seed in range(150):
        model = fitted(seed, distribution)
        lower += model.predict_quantile_bound(row, 0.1, confidence=0.9)[0] < b10
        upper += b10 < model.predict_quantile_bound(row, 0.1, side="upper", confidence=0.9)[0]
        _, (((low, high),),) = model.predict_survival_function(row, return_interval=True, times=[time])
        band += low < survival < high
    assert min(lower, upper, band) >= 107
    # Bounds that always hold say nothing: at most 149 of 150 for the three of them together.
    assert lower + upper + band < 450
