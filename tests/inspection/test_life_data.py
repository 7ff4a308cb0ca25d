# SPDX-License-Identifier: BSD-3-Clause
"""Pictures of life models: their lines and bands are the predictions, the released residuals, and the law."""

import functools
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from skprivate import DPLogLocationScaleRegressor, TableDomain
from skprivate.datasets import make_location_scale
from skprivate.inspection import QuantileDependenceDisplay, ResidualDisplay, SurvivalCurveDisplay
from skprivate.linear_model._distributions import SEV

X, Y = make_location_scale(5_000, 2, censoring=0.3, random_state=0)
pytestmark = pytest.mark.filterwarnings("ignore::skprivate.exceptions.UtilityWarning")


@functools.cache
def common():
    return fitted()


def fitted(rows=X, target=Y, **parameters):
    options = {"epsilon": 20.0, "bounds_y": (0.01, 20), "max_iter": 2}
    if "domain" not in parameters:
        options["bounds_X"] = (-1, 1)
    return DPLogLocationScaleRegressor(**(options | parameters), random_state=1).fit(rows, target)


class TestSurvivalCurves:
    def test_the_curve_of_all_rows_is_the_released_one(self, axes):
        model = common()
        display = SurvivalCurveDisplay.from_estimator(model, X[:1], ax=axes)
        np.testing.assert_array_equal(display.kaplan_meier_.get_xdata(), model.survival_curve_[0])
        np.testing.assert_array_equal(display.kaplan_meier_.get_ydata(), model.survival_curve_[1])
        complete = fitted(target=Y["time"])
        assert SurvivalCurveDisplay.from_estimator(complete, X[:1]).kaplan_meier_ is None
        np.testing.assert_array_equal(display.lines_[0].get_xdata(), model.unique_times_)

    def test_names_are_shown_as_they_are(self, axes):
        display = SurvivalCurveDisplay.from_estimator(common(), X[:2], names=["$a$", "b"], ax=axes)
        texts = display.ax_.get_legend().get_texts()
        assert [text.get_text() for text in texts][:2] == ["$a$", "b"]
        assert not any(text.get_parse_math() for text in texts)


class TestQuantileDependence:
    @pytest.mark.parametrize("at", [{0: 0.7}, {"x0": 0.7}, [0.7, -9.0]])
    def test_other_features_stay_where_they_are_put(self, axes, at):
        model = common()
        display = QuantileDependenceDisplay.from_estimator(model, "x1", at=at, values=[-0.5, 0.5], ax=axes)
        expected = model.predict([[0.7, -0.5], [0.7, 0.5]])
        np.testing.assert_allclose(display.quantiles, expected, rtol=1e-12)
        assert axes.get_ylabel() == "median"

    def test_columns_of_a_domain(self, axes):
        table = pd.DataFrame(
            {"kind": np.where(X[:, 0] > 0, "new", "old"), "heat": X[:, 1], "hot": X[:, 1] > 0}
        )
        domain = TableDomain({"kind": ["new", "old"], "heat": (-1, 3), "hot": bool})
        model = fitted(table, domain=domain)
        display = QuantileDependenceDisplay.from_estimator(model, "kind", at={"hot": True}, ax=axes)
        rows = pd.DataFrame({"kind": ["new", "old"], "heat": 1.0, "hot": True})
        quantiles, interval = model.predict_quantile(rows, 0.5, return_interval=True)
        np.testing.assert_allclose(display.quantiles, quantiles, rtol=1e-12)
        np.testing.assert_allclose(display.interval, interval, rtol=1e-12)
        assert [tick.get_text() for tick in axes.get_xticklabels()] == ["new", "old"]
        places, _, (bars,) = display.line_.lines
        np.testing.assert_allclose(places.get_ydata(), quantiles)
        ends = np.array([segment[:, 1] for segment in bars.get_segments()])
        np.testing.assert_allclose(ends, interval, rtol=1e-12)
        heat = QuantileDependenceDisplay.from_estimator(model, "heat", at={"hot": 1, "kind": "old"})
        assert heat.band_ is not None
        assert (heat.values[0], heat.values[-1]) == (-1, 3)

    def test_columns_with_names(self, axes):
        model = fitted(pd.DataFrame(X, columns=["$a$", "b"]))
        display = QuantileDependenceDisplay.from_estimator(model, "$a$", values=[0.0, 1.0], ax=axes)
        expected = model.predict(pd.DataFrame({"$a$": [0.0, 1.0], "b": 0.0}))
        np.testing.assert_allclose(display.quantiles, expected, rtol=1e-12)
        assert axes.get_xlabel() == "$a$"
        assert not axes.xaxis.label.get_parse_math()


class TestResiduals:
    EDGES = np.concatenate([[-np.inf], np.linspace(-8, 2, 49), [np.inf]])

    def model(self, noise_std=20.0):
        """Return a model whose release has residuals that follow the law but for noise."""
        model = fitted(target=Y["time"])
        events = -1e5 * np.diff(SEV.survival(self.EDGES))
        noise = np.random.default_rng(3).laplace(size=50) * noise_std / np.sqrt(2)
        counts = np.stack([np.zeros(50), events + noise])
        residuals = SimpleNamespace(edges=self.EDGES, counts=counts, noise_std=noise_std)
        model.release_ = SimpleNamespace(residuals=residuals, mechanism="laplace")
        return model

    def test_probability_plot(self, axes, edges_of):
        model = self.model()
        display = ResidualDisplay.from_estimator(model, confidence=0.8, ax=axes)
        fit = model.goodness_of_fit(confidence=0.8)
        shown = fit.cumulative_hazard > 0
        np.testing.assert_array_equal(display.line_.get_xdata(), fit.errors[shown])
        # On Weibull paper the height of a share p is log(-log(1 - p)): the logarithm of the hazard.
        hazard = fit.cumulative_hazard[shown]
        inner = (hazard > 2e-6) & (hazard < 10)
        np.testing.assert_allclose(display.line_.get_ydata()[inner], np.log(hazard[inner]), rtol=1e-6)
        ends = edges_of(display.band_)[inner]
        kept = (fit.interval[shown][inner] > 2e-6).all(axis=1) & (fit.interval[shown][inner] < 10).all(axis=1)
        np.testing.assert_allclose(ends[kept], np.log(fit.interval[shown][inner][kept]), rtol=1e-6)
        np.testing.assert_array_equal(*display.distribution_line_.get_data())
        ticks = dict(zip([t.get_text() for t in axes.get_yticklabels()], axes.get_yticks(), strict=True))
        assert ticks["50 %"] == pytest.approx(np.log(np.log(2)))

    def test_cox_snell_plot(self, axes, edges_of):
        model = self.model()
        display = ResidualDisplay.from_estimator(model, kind="cox-snell", ax=axes)
        fit = model.goodness_of_fit()
        shown = fit.cumulative_hazard > 0
        np.testing.assert_array_equal(display.line_.get_xdata(), fit.model_hazard[shown])
        np.testing.assert_array_equal(display.line_.get_ydata(), fit.cumulative_hazard[shown])
        np.testing.assert_array_equal(edges_of(display.band_), fit.interval[shown])
        np.testing.assert_array_equal(edges_of(display.noise_band_), fit.noise_interval[shown])
        assert f"limit {fit.limit:.2g}" in axes.get_title()

    def test_an_unknown_kind_is_refused(self):
        with pytest.raises(ValueError, match="kind must be"):
            ResidualDisplay.from_estimator(self.model(), kind="qq")

    def test_residuals_without_events(self, axes):
        model = self.model()
        model.release_.residuals.counts = -np.ones((2, 50))
        display = ResidualDisplay.from_estimator(model, ax=axes)
        assert len(display.line_.get_xdata()) == 0
