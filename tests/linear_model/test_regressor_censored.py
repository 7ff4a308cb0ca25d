# SPDX-License-Identifier: BSD-3-Clause
"""What a user sees of the regressors on censored targets: estimates, curves, costs, warnings and refusals."""

import pickle
import warnings
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from skprivate import (
    DPLogisticLLSRegressor,
    DPLogLocationScaleRegressor,
    DPNormalLLSRegressor,
    DPSEVRegressor,
    PrivacyLedger,
    config_context,
)
from skprivate.datasets import make_location_scale
from skprivate.exceptions import BudgetExceededError, PrivacyLeakError, PrivacyLeakWarning, UtilityWarning
from skprivate.linear_model._moments.released_moments import NoiseScales

BOX = {"bounds_X": (-1.0, 1.0), "bounds_y": (0.1, 400.0)}
GAUSSIAN = {"mechanism": "gaussian", "delta": 1e-6}
COEF = np.array([0.6, -0.4, 0.0])


def fleet(n=100_000, distribution="weibull", censoring=0.8, seed=0):
    return make_location_scale(
        n, 3, distribution=distribution, coef=COEF, intercept=3.0, censoring=censoring, random_state=seed
    )


@pytest.fixture(scope="module")
def rows():
    return fleet()


@pytest.fixture(scope="module")
def model(rows):
    with config_context(strict=True):
        return DPLogLocationScaleRegressor(epsilon=2.0, **BOX).fit(*rows)


class TestEstimates:
    @pytest.mark.parametrize("options", [{}, GAUSSIAN, {"relation": "add-remove"}])
    @pytest.mark.parametrize("life", ["weibull", "loglogistic", "lognormal"])
    def test_finds_the_model(self, life, options):
        X, y = fleet(200_000, life)
        fit = DPLogLocationScaleRegressor(epsilon=4.0, distribution=life, **BOX, **options).fit(X, y)
        # The spread of each is .02 at most.
        assert np.abs(fit.coef_ - COEF).max() < 0.2
        assert abs(fit.intercept_ - 3.0) < 0.2
        assert abs(fit.scale_ - 0.5) < 0.2

    @pytest.mark.parametrize(
        ("kind", "life"),
        [
            (DPSEVRegressor, "weibull"),
            (DPLogisticLLSRegressor, "loglogistic"),
            (DPNormalLLSRegressor, "lognormal"),
        ],
    )
    def test_presets_take_censored_times(self, kind, life):
        X, y = fleet(20_000, life)
        first = kind(epsilon=50.0, random_state=0, **BOX).fit(X, y)
        second = DPLogLocationScaleRegressor(epsilon=50.0, distribution=life, random_state=0, **BOX).fit(X, y)
        assert first.log_target_
        assert (first.predict(X[:5]) == second.predict(X[:5])).all()

    def test_a_table_without_censoring_agrees_with_the_moments(self):
        X, y = fleet(200_000, censoring=0.0)
        times = y if y.dtype.names is None else y["time"]
        structured = np.zeros(len(times), dtype=[("event", bool), ("time", float)])
        structured["event"], structured["time"] = True, times
        first = DPLogLocationScaleRegressor(epsilon=8.0, **BOX).fit(X, times)
        second = DPLogLocationScaleRegressor(epsilon=8.0, **BOX).fit(X, structured)
        assert np.abs(first.coef_ - second.coef_).max() < 0.1
        assert second.event_share_ > 0.98

    def test_frames_and_record_arrays(self, rows):
        X, y = rows
        fits = [
            DPLogLocationScaleRegressor(random_state=0, **BOX).fit(X, target).coef_
            for target in (y, y.view(np.recarray), pd.DataFrame({"event": y["event"], "time": y["time"]}))
        ]
        assert (fits[0] == fits[1]).all()
        assert (fits[0] == fits[2]).all()

    def test_the_order_of_the_rows_does_not_matter(self, rows):
        X, y = rows
        order = np.random.default_rng(1).permutation(len(X))
        first = DPLogLocationScaleRegressor(random_state=0, **BOX).fit(X, y)
        second = DPLogLocationScaleRegressor(random_state=0, **BOX).fit(X[order], y[order])
        assert first.coef_.tobytes() == second.coef_.tobytes()
        assert first.release_.histogram.counts.tobytes() == second.release_.histogram.counts.tobytes()

    def test_curve_intervals_and_shares(self, rows, model):
        _, y = rows
        times, survival = model.survival_curve_
        assert times.shape == survival.shape
        assert (np.diff(times) > 0).all()
        assert (np.diff(survival) <= 0).all()
        assert times[0] > 0.1
        assert times[-1] <= 400 * (1 + 1e-9)
        # Kaplan-Meier of the rows themselves, where many are at risk.
        order = np.argsort(y["time"])
        at_risk = len(y) - np.arange(len(y))
        plain = np.cumprod(1 - y["event"][order] / at_risk)
        reached = plain[np.minimum(np.searchsorted(y["time"][order], times), len(y) - 1)]
        many = np.searchsorted(y["time"][order], times) < 0.95 * len(y)
        assert many.sum() > 20
        assert np.abs(survival - reached)[many].max() < 0.05
        assert abs(model.event_share_ - y["event"].mean()) < 0.02
        assert 3 <= model.n_iter_ == len(model.release_.rounds) <= 8
        assert model.coef_interval_.shape == (3, 2)
        assert (model.coef_interval_[:, 0] < model.coef_).all()
        assert (model.coef_ < model.coef_interval_[:, 1]).all()
        assert model.scale_interval_[0] < model.scale_ < model.scale_interval_[1]

    def test_a_fit_of_observed_times_leaves_nothing_of_a_censored_one(self):
        X, y = fleet(20_000)
        options = {"epsilon": 50.0, "random_state": 0}
        refitted = DPLogLocationScaleRegressor(**options, **BOX).fit(X, y).fit(X, y["time"])
        assert vars(refitted).keys() == vars(clone(refitted).fit(X, y["time"])).keys()
        assert not hasattr(refitted, "survival_curve_")

    def test_the_curve_ends_where_nobody_is_at_risk(self, rows, model):
        _, y = rows
        times, survival = model.survival_curve_
        # Ages end far below the upper bound of the times: there is nothing to be told beyond.
        assert times[-1] < 1.5 * y["time"].max()
        assert survival[-1] > 0.05

    def test_quantiles_with_their_bounds(self, rows, model):
        X, _ = rows
        quantiles, interval = model.predict_quantile(X[:50], [0.1, 0.5], return_interval=True)
        assert interval.shape == (50, 2, 2)
        truth = np.exp(3 + X[:50] @ COEF)[:, None] * (-np.log1p(-np.array([0.1, 0.5]))) ** 0.5
        assert np.abs(quantiles / truth - 1).max() < 0.3
        assert ((interval[..., 0] < quantiles) & (quantiles < interval[..., 1])).all()

    def test_score_is_the_concordance_index(self, rows, model):
        X, y = rows
        assert 0.65 < model.score(X[:5000], y[:5000]) < 0.85


class TestClaims:
    @pytest.mark.parametrize("options", [{}, GAUSSIAN])
    def test_costs_what_was_asked_once(self, rows, options, tmp_path):
        ledger = PrivacyLedger(tmp_path / "a.ledger", epsilon=3, delta=0.01)
        X, y = rows
        fit = DPLogLocationScaleRegressor(epsilon=Fraction(5, 2), ledger=ledger, **BOX, **options).fit(X, y)
        spent = fit.privacy_spent_
        assert spent.private
        assert Fraction(249, 100) < spent.epsilon <= Fraction(5, 2)
        assert "rounds" in spent.mechanism
        assert len(ledger.entries()) == 1
        with pytest.raises(BudgetExceededError):
            fit.fit(X, y)
        assert len(ledger.entries()) == 1

    def test_is_charged_before_any_noise_is_drawn(self, rows, tmp_path, monkeypatch):
        ledger = PrivacyLedger(tmp_path / "a.ledger", epsilon=3)

        def refuse(*arguments):
            assert len(ledger.entries()) == 1
            raise KeyboardInterrupt

        monkeypatch.setattr(NoiseScales, "randomize", refuse)
        with pytest.raises(KeyboardInterrupt):
            DPLogLocationScaleRegressor(ledger=ledger, **BOX).fit(*rows)

    def test_bounds_from_rows_are_a_leak(self, rows):
        X, y = rows
        with pytest.warns(PrivacyLeakWarning) as caught:
            fit = DPLogLocationScaleRegressor(epsilon=8.0).fit(X, y)
        assert len(caught) == 1
        assert len(fit.privacy_spent_.reasons) == 2
        with config_context(strict=True), pytest.raises(PrivacyLeakError):
            DPLogLocationScaleRegressor().fit(X, y)

    def test_pickle_holds_no_row(self):
        X, y = fleet(3000)
        X[:50], y["time"][:50] = 0.123456789, 12.3456789
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UtilityWarning)
            data = pickle.dumps(DPLogLocationScaleRegressor(**BOX).fit(X, y))
        assert np.float64(0.123456789).tobytes() not in data
        assert np.float64(12.3456789).tobytes() not in data
        assert len(data) < 60_000

    def test_a_later_fit_keeps_nothing_of_it(self):
        X, y = fleet(3000)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UtilityWarning)
            fresh = DPLogLocationScaleRegressor(**BOX).fit(X, y["time"])
            again = DPLogLocationScaleRegressor(**BOX).fit(X, y).fit(X, y["time"])
        assert set(vars(again)) == set(vars(fresh))

    def test_groups(self, rows):
        X, y = rows
        groups = np.arange(len(X)) // 4
        fit = DPLogLocationScaleRegressor(epsilon=8.0, max_rows_per_group=2, **BOX).fit(X, y, groups=groups)
        assert (fit.privacy_spent_.unit, fit.privacy_spent_.max_rows_per_unit) == ("group", 2)
        assert fit.privacy_spent_.unprotected["groups"] == 25_000
        assert np.abs(fit.coef_ - COEF).max() < 0.3


class TestUseless:
    @pytest.mark.parametrize("n", [1, 3, 50, 5000])
    @pytest.mark.parametrize("options", [{}, GAUSSIAN, {"distribution": "lognormal"}])
    def test_all_censored_raises_nothing_and_warns(self, n, options):
        X, y = fleet(n)
        y["event"] = False
        with pytest.warns(UtilityWarning):
            fit = DPLogLocationScaleRegressor(random_state=0, **BOX, **options).fit(X, y)
        assert np.isfinite([*fit.coef_, fit.intercept_, fit.scale_]).all()
        assert np.isfinite(fit.coef_interval_).all()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UtilityWarning)  # an end may lie beyond bounds_y
            assert np.isfinite(fit.predict_quantile(X[:1], 0.1, return_interval=True)[0]).all()

    def test_constant_columns_and_times(self):
        X, y = np.zeros((500, 2)), np.zeros(500, dtype=[("event", bool), ("time", float)])
        y["time"], y["event"] = 7.0, True
        with pytest.warns(UtilityWarning):
            fit = DPLogLocationScaleRegressor(**BOX).fit(X, y)
        assert np.isfinite([*fit.coef_, fit.intercept_, fit.scale_]).all()

    def test_a_useful_fit_is_silent(self, rows):
        # A filter that raises would prove nothing: this warning is shown in spite of it.
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            DPLogLocationScaleRegressor(epsilon=4.0, **BOX).fit(*rows)
        assert not caught


BAD_TIMES = {"nan time": np.nan, "zero time": 0.0, "negative time": -0.123, "inf time": np.inf}


class TestRefusals:
    def spoilt(self, tmp_path, spoil):
        """A model with a ledger, and rows with one thing wrong."""
        X, y = fleet(2000)
        model = DPLogLocationScaleRegressor(ledger=PrivacyLedger(tmp_path / "a.ledger", epsilon=5), **BOX)
        if spoil == "nan in X":
            X[1500, 1] = np.nan
        elif spoil == "length":
            y = y[:-1]
        elif spoil == "taylor":
            model.set_params(method="taylor")
        elif spoil == "integer event":
            fields = [("event", int), ("time", float)]
            y = np.array([(1, 2.5)] * 2000, dtype=fields)
        elif spoil == "swapped":
            y = np.array([(2.5, True)] * 2000, dtype=[("time", float), ("event", bool)])
        elif spoil == "three fields":
            y = np.array([(True, 2.5, 1.0)] * 2000, dtype=[("a", bool), ("b", float), ("c", float)])
        else:
            y["time"][77] = {
                "nan time": np.nan,
                "zero time": 0.0,
                "negative time": -0.123,
                "inf time": np.inf,
            }[spoil]
        return model, X, y

    @pytest.mark.parametrize(
        "spoil",
        [
            *("nan in X", "length", "taylor", "integer event", "swapped", "three fields"),
            *BAD_TIMES,
        ],
    )
    def test_cost_nothing_and_show_no_value(self, tmp_path, spoil):
        model, X, y = self.spoilt(tmp_path, spoil)
        with pytest.raises((TypeError, ValueError)) as error:
            model.fit(X, y)
        assert "0.123" not in str(error.value)
        assert "77" not in str(error.value)
        assert not model.ledger.entries()
        assert not hasattr(model, "coef_")


@pytest.mark.filterwarnings("ignore::skprivate.exceptions.UtilityWarning")
def test_a_fit_to_other_targets_keeps_no_curve_of_the_fit_before():
    X, y = fleet(2000)
    model = DPLogLocationScaleRegressor(**BOX).fit(X, y)
    names = ("survival_curve_", "event_share_")
    assert all(hasattr(model, name) for name in names)
    model.fit(X, y["time"])
    assert not any(hasattr(model, name) for name in names)
    model.set_params(max_iter=1).fit(X, y["time"])
    assert model.n_iter_ == 1


def test_scikit_survival_takes_the_survival_functions(rows, model):
    metrics = pytest.importorskip("sksurv.metrics")
    X, y = rows[0][:3000], rows[1][:3000]
    times = np.quantile(y["time"], [0.2, 0.4, 0.6])
    chances = np.vstack([curve(times) for curve in model.predict_survival_function(X)])
    assert 0 < metrics.integrated_brier_score(y, y, chances, times) < 0.25
    # The metric wants a risk.
    assert 0.6 < metrics.concordance_index_ipcw(y, y, -model.predict(X), tau=times[-1])[0] < 0.9
    scorer = metrics.as_integrated_brier_score_scorer(model, times)
    assert -0.25 < scorer.fit(X, y).score(X, y) < 0
