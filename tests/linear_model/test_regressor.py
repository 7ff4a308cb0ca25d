# SPDX-License-Identifier: BSD-3-Clause
"""What a user sees of the regressors on fully observed targets: estimates, claims, costs and refusals."""

import pickle
import warnings
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from skprivate import (
    BoundsScaler,
    DPLogisticLLSRegressor,
    DPLogLocationScaleRegressor,
    DPNormalLLSRegressor,
    DPSEVRegressor,
    PrivacyLedger,
    config_context,
    privacy_report,
)
from skprivate.datasets import make_location_scale
from skprivate.exceptions import BudgetExceededError, PrivacyLeakError, PrivacyLeakWarning, UtilityWarning
from skprivate.linear_model import _fit
from skprivate.linear_model._moments import rounds as moment_fit
from skprivate.linear_model._moments.released_moments import MomentPlan, unscale
from skprivate.linear_model._moments.replicates import bootstrap_moments
from skprivate.noise._mechanisms import FitBudget

BOX = {"bounds_X": (-1.0, 1.0), "bounds_y": (-3.0, 3.0)}
GAUSSIAN = {"mechanism": "gaussian", "delta": 1e-6}
SLOPES = np.array([0.8, -0.5])


def errors(distribution, n, rng):
    if distribution == "sev":
        return np.log(rng.exponential(size=n))
    return rng.logistic(size=n) if distribution == "logistic" else rng.normal(size=n)


def make(n=20_000, distribution="sev", seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, 2))
    return X, 0.3 + X @ SLOPES + 0.25 * errors(distribution, n, rng)


class TestEstimates:
    @pytest.mark.parametrize("options", [{}, GAUSSIAN, {"relation": "add-remove"}])
    @pytest.mark.parametrize(
        ("kind", "distribution"),
        [(DPSEVRegressor, "sev"), (DPLogisticLLSRegressor, "logistic"), (DPNormalLLSRegressor, "normal")],
    )
    def test_finds_the_model(self, kind, distribution, options):
        X, y = make(50_000, distribution)
        with config_context(strict=True):
            fit = kind(epsilon=4.0, **BOX, **options).fit(X, y)
        # The noise of a slope is about .01 at most here: 12 standard deviations.
        assert np.abs(fit.coef_ - SLOPES).max() < 0.12
        assert abs(fit.intercept_ - 0.3) < 0.1
        assert abs(fit.scale_ - 0.25) < 0.1

    @pytest.mark.parametrize(
        "options", [{}, {"x_norm": 2.0}, {"relation": "add-remove"}, {"method": "taylor"}]
    )
    def test_without_noise_it_is_least_squares(self, options):
        X, y = make()
        plain = LinearRegression().fit(X, y)
        fit = DPNormalLLSRegressor(epsilon=1e12, bounds_X=(-2, 2), bounds_y=(-4, 4), **options).fit(X, y)
        # Rounding toward zero on the coarsest of these grids, 2^-14.
        np.testing.assert_allclose(fit.coef_, plain.coef_, atol=3e-4)
        assert abs(fit.intercept_ - plain.intercept_) < 3e-4

    def test_one_seed_gives_every_distribution_the_same_slopes(self):
        X, y = make()
        first = DPSEVRegressor(random_state=5, max_iter=1, **BOX).fit(X, y)
        second = DPLogisticLLSRegressor(random_state=5, max_iter=1, **BOX).fit(X, y)
        assert (first.coef_ == second.coef_).all()
        assert first.scale_ != second.scale_

    @pytest.mark.parametrize(
        ("life", "log"), [("weibull", "sev"), ("loglogistic", "logistic"), ("lognormal", "normal")]
    )
    def test_life_distributions_model_the_logarithm(self, life, log):
        X, y = make()
        times = DPLogLocationScaleRegressor(
            distribution=life, bounds_X=(-1, 1), bounds_y=(np.exp(-3), np.exp(3)), random_state=0, max_iter=1
        ).fit(X, np.exp(y))
        logs = DPLogLocationScaleRegressor(distribution=log, random_state=0, max_iter=1, **BOX).fit(X, y)
        np.testing.assert_allclose(times.coef_, logs.coef_, atol=1e-5)
        np.testing.assert_allclose(times.predict(X[:9]), np.exp(logs.predict(X[:9])), rtol=1e-4)

    def test_frames_give_what_arrays_give(self):
        X, y = make(2000)
        frame = pd.DataFrame(X, columns=["load", "heat"])
        bounds = {"heat": (-1.0, 1.0), "load": (-1.0, 1.0)}
        first = DPSEVRegressor(bounds_X=bounds, bounds_y=(-3, 3), random_state=1).fit(frame, pd.Series(y))
        second = DPSEVRegressor(random_state=1, **BOX).fit(X, y)
        assert (first.coef_ == second.coef_).all()
        assert first.feature_names_in_.tolist() == ["load", "heat"]

    def test_the_order_of_the_rows_does_not_matter(self):
        X, y = make(5000)
        order = np.random.default_rng(1).permutation(len(X))
        first = DPSEVRegressor(random_state=1, **BOX).fit(X, y)
        second = DPSEVRegressor(random_state=1, **BOX).fit(X[order], y[order])
        assert first.coef_.tobytes() == second.coef_.tobytes()

    def test_scale_ends_between_its_bounds(self):
        X, y = make(5000)
        fit = DPSEVRegressor(epsilon=1e6, scale_bounds=(0.5, 0.7), **BOX).fit(X, y)
        assert fit.scale_ == pytest.approx(0.5)

    @pytest.mark.filterwarnings("ignore::skprivate.exceptions.UtilityWarning")
    def test_scale_ends_between_a_thousandth_and_two_half_widths_where_none_are_declared(self):
        X, y = make(2000)
        # The target's half-width is 3: once there is no error, once nothing but noise.
        assert DPSEVRegressor(epsilon=1e12, **BOX).fit(X, X @ SLOPES).scale_ == pytest.approx(0.003)
        assert DPSEVRegressor(epsilon=1e-3, random_state=0, **BOX).fit(
            X[:200], y[:200]
        ).scale_ == pytest.approx(6.0)

    @pytest.mark.filterwarnings("ignore::skprivate.exceptions.PrivacyLeakWarning")
    @pytest.mark.filterwarnings("ignore::skprivate.exceptions.UtilityWarning")
    @pytest.mark.parametrize("value", [0.5, 1e20])
    def test_columns_and_targets_of_one_value_have_bounds_all_the_same(self, value):
        X, y = make(100)
        X[:, 1] = value
        fit = DPLogLocationScaleRegressor(distribution="lognormal").fit(X, np.exp(y))
        assert fit.bounds_y_ == pytest.approx((np.exp(y).min(), np.exp(y).max()))
        lower, upper = fit.bounds_
        assert lower[1] == value < upper[1]
        same = DPNormalLLSRegressor().fit(X, np.full(100, value))
        assert same.bounds_y_[0] == value < same.bounds_y_[1]

    def test_a_norm_alone_centres_rows_at_zero(self):
        fit = DPSEVRegressor(x_norm=2.0, bounds_y=(-3, 3)).fit(*make())
        assert (fit.grid_.center == 0).all()
        np.testing.assert_array_equal(fit.bounds_, [[-2.0, -2.0], [2.0, 2.0]])

    def test_values_outside_the_bounds_are_clipped_silently(self):
        X, y = make(5000)
        X[0], y[0] = 1e300, -1e300
        fit = DPSEVRegressor(random_state=1, **BOX).fit(X, y)
        X[0], y[0] = 1.0, -3.0
        assert (DPSEVRegressor(random_state=1, **BOX).fit(X, y).coef_ == fit.coef_).all()

    def test_intervals_hold_the_estimates(self):
        X, y = make(50_000)
        fit = DPSEVRegressor(epsilon=2.0, **BOX).fit(X, y)
        assert fit.coef_interval_.shape == (2, 2)
        assert (fit.coef_interval_[:, 0] < fit.coef_).all()
        assert (fit.coef_ < fit.coef_interval_[:, 1]).all()
        assert 0 < fit.scale_interval_[0] < fit.scale_ < fit.scale_interval_[1]
        assert np.abs(fit.coef_interval_[:, 0] - fit.coef_).max() < 0.1

    def test_intervals_are_pivotal_at_90_percent(self):
        options = {"epsilon": 2.0, "scale_bounds": (0.2, 0.26), "random_state": 1, "max_iter": 1}
        fit = DPSEVRegressor(**options, **BOX).fit(*make(5000))
        ends = np.quantile(fit.replicates_, [0.95, 0.05], axis=0)
        np.testing.assert_allclose(fit.coef_interval_, (2 * fit.coef_ - ends[:, 2:]).T)
        # The noise is in squares, of which the interval is, within the bounds of the scale.
        squares = 2 * fit.scale_**2 - ends[:, 1] ** 2
        np.testing.assert_allclose(fit.scale_interval_, np.sqrt(np.clip(squares, 0.2**2, 0.26**2)))
        assert fit.scale_interval_[1] == pytest.approx(0.26)

    @pytest.mark.filterwarnings("ignore::skprivate.exceptions.UtilityWarning")
    @pytest.mark.parametrize(("method", "rule"), [("moments", "trim"), ("taylor", "none")])
    def test_replicates_are_fitted_as_the_release_was(self, method, rule):
        fit = DPSEVRegressor(epsilon=0.2, method=method, regularization=rule, **BOX).fit(*make(500))
        stack = bootstrap_moments(fit.release_, fit.error_distribution_, rule, (1e-3, 2.0), method=method)
        coef, intercept, scale = unscale(stack, fit.grid_)
        np.testing.assert_array_equal(fit.replicates_, np.column_stack([intercept, scale, coef]))

    def test_another_fit_has_other_intervals(self):
        X, y = make(5000)
        fit = DPSEVRegressor(epsilon=8.0, random_state=0, **BOX).fit(X, y)
        first = fit.coef_interval_
        fit.fit(X, -y)
        np.testing.assert_array_equal(fit.coef_interval_, clone(fit).fit(X, -y).coef_interval_)
        assert (fit.coef_interval_ != first).all()

    def test_intervals_are_those_of_the_fit_whatever_is_set_afterwards(self):
        X, y = make(5000)
        fit = DPSEVRegressor(epsilon=2.0, random_state=0, **BOX).fit(X, y)
        slopes, scale = clone(fit).fit(X, y).coef_interval_, clone(fit).fit(X, y).scale_interval_
        fit.set_params(method="taylor", regularization="trim", scale_bounds=(2.0, 3.0))
        np.testing.assert_array_equal(fit.coef_interval_, slopes)
        np.testing.assert_array_equal(fit.scale_interval_, scale)


class TestClaims:
    def test_a_private_fit(self):
        X, y = make(5000)
        spent = DPSEVRegressor(epsilon=Fraction(1, 3), **BOX).fit(X, y).privacy_spent_
        assert spent.private
        assert spent.epsilon == Fraction(1, 3)
        assert (spent.relation, spent.unit, spent.delta) == ("replace-one", "row", 0)
        assert spent.unprotected["rows"] == 5000
        assert spent.public_inputs == ("bounds_X", "bounds_y")

    def test_states_the_sensitivity_and_the_noise_of_weight_1(self):
        X, y = make(5000)
        laplace = DPSEVRegressor(epsilon=0.5, max_iter=1, **BOX).fit(X, y)
        spent, unit = laplace.privacy_spent_, 4**laplace.grid_.exponent
        # B = 1 + 2 + d; a feature's sum has weight 1, a square's half as much.
        assert spent.sensitivity == Fraction(5**2, 2) * unit
        assert spent.noise_scale == spent.sensitivity / Fraction(1, 2)
        std = laplace.release_.noise_std[0, 2] * unit
        assert std == pytest.approx(np.sqrt(2) * float(spent.noise_scale), rel=1e-6)
        gaussian = DPSEVRegressor(relation="add-remove", max_iter=1, **BOX, **GAUSSIAN).fit(X, y)
        spent, unit = gaussian.privacy_spent_, 4**gaussian.grid_.exponent
        # R^2 = 1 + 4 + d; a square has weight 1.
        assert spent.sensitivity == 7 * unit
        assert spent.noise_scale == pytest.approx(7 * unit / np.sqrt(2 * float(spent.rho)), rel=1e-6)
        assert gaussian.release_.noise_std[0, 0] * unit == pytest.approx(spent.noise_scale, rel=1e-6)

    def test_gaussian_keeps_rho(self):
        X, y = make(5000)
        spent = DPSEVRegressor(epsilon=1.0, **BOX, **GAUSSIAN).fit(X, y).privacy_spent_
        assert 0.99 < spent.epsilon <= 1
        assert spent.delta == Fraction(1e-6)
        assert spent.rho > 0

    def test_add_remove_does_not_tell_the_number_of_rows(self):
        X, y = make(5000)
        options = {"relation": "add-remove", "random_state": 0, "max_iter": 1, **BOX}
        fit = DPSEVRegressor(**options).fit(X, y)
        assert "rows" not in fit.privacy_spent_.unprotected
        assert fit.release_.noise_std[0, 0] > 0
        assert fit.release_.matrix[0, 0] != 5000
        shorter = DPSEVRegressor(**options).fit(X[:2000], y[:2000])
        assert shorter.grid_.to_dict() == fit.grid_.to_dict()
        # Room for 2^32 rows, whatever their number is.
        assert 2**32 * 4**fit.grid_.exponent <= 2**61

    @pytest.mark.parametrize(
        ("given", "leaks"),
        [({}, 2), ({"bounds_X": (-1, 1)}, 1), ({"bounds_y": (-3, 3)}, 1), ({"x_norm": 2.0}, 1), (BOX, 0)],
    )
    def test_leaks(self, given, leaks):
        X, y = make(5000)
        if not leaks:
            assert DPSEVRegressor(**given).fit(X, y).privacy_spent_.private
            return
        with pytest.warns(PrivacyLeakWarning, match="estimate_bounds") as caught:
            fit = DPSEVRegressor(epsilon=8.0, **given).fit(X, y)
        assert len(caught) == 1
        assert caught[0].filename == __file__
        assert len(fit.privacy_spent_.reasons) == leaks
        sources = {name: fit.privacy_spent_.unprotected[name] for name in ("bounds_X", "bounds_y")}
        assert list(sources.values()).count("READ FROM PRIVATE ROWS") == leaks
        assert all(sources[name] == "declared" for name in given if name != "x_norm")
        with config_context(strict=True), pytest.raises(PrivacyLeakError):
            DPSEVRegressor(**given).fit(X, y)

    def test_seeded_fits_are_not_private_and_unseeded_ones_differ(self):
        X, y = make(5000)
        assert not DPSEVRegressor(random_state=0, **BOX).fit(X, y).privacy_spent_.private
        np.random.seed(0)  # noqa: NPY002
        first = DPSEVRegressor(**BOX).fit(X, y).coef_
        np.random.seed(0)  # noqa: NPY002
        assert (DPSEVRegressor(**BOX).fit(X, y).coef_ != first).all()

    def test_groups_cost_more_and_hide_the_number_of_rows_of_each(self):
        X, y = make(5000)
        groups = np.arange(5000) // 5
        options = {"epsilon": 8.0, "random_state": 0, "max_iter": 1, **BOX}
        fit = DPSEVRegressor(max_rows_per_group=3, **options).fit(X, y, groups=groups)
        spent = fit.privacy_spent_
        assert (spent.unit, spent.max_rows_per_unit) == ("group", 3)
        assert spent.unprotected["groups"] == 1000
        assert fit.release_.noise_std[0, 0] > 0
        assert abs(fit.release_.matrix[0, 0] - 3000) < 100
        plain = DPSEVRegressor(relation="add-remove", **options).fit(X, y)
        ratio = fit.release_.noise_std[0, 0] / plain.release_.noise_std[0, 0]
        assert ratio == pytest.approx(3, rel=1e-6)
        # A grid that told the number of rows would tell how many a person has.
        assert fit.grid_.to_dict() == plain.grid_.to_dict()

    def test_max_rows_per_group_is_of_no_account_without_groups(self):
        X, y = make(5000)
        fits = [DPSEVRegressor(max_rows_per_group=rows, random_state=0, **BOX).fit(X, y) for rows in (1, 9)]
        np.testing.assert_array_equal(fits[0].coef_, fits[1].coef_)
        assert fits[1].privacy_spent_.max_rows_per_unit == 1

    @pytest.mark.parametrize("wrap", [lambda model: model, make_pipeline], ids=["alone", "in a pipeline"])
    @pytest.mark.parametrize("censored", [False, True])
    def test_a_useless_fit_warns_where_it_is_called(self, censored, wrap):
        X, y = make(100)
        target = np.array([(True, value) for value in np.exp(y)], dtype="?,f8") if censored else np.exp(y)
        options = {"epsilon": 0.01, "bounds_X": (-1, 1), "bounds_y": (0.1, 9), "random_state": 0}
        model = wrap(DPLogLocationScaleRegressor(**options))
        with pytest.warns(UtilityWarning) as caught:
            model.fit(X, target)
        assert [warning.filename for warning in caught] == [__file__]

    def test_pickle_holds_no_row_and_predicts_the_same(self):
        X, y = make(3000)
        X[:50] = 0.123456789
        fit = DPSEVRegressor(**BOX).fit(X, y)
        data = pickle.dumps(fit)
        assert np.float64(0.123456789).tobytes() not in data
        assert len(data) < 10_000
        assert (pickle.loads(data).predict(X) == fit.predict(X)).all()

    @pytest.mark.filterwarnings("ignore::skprivate.exceptions.UtilityWarning")
    @pytest.mark.parametrize("options", [{}, GAUSSIAN])
    def test_extreme_neighbours_move_the_integers_by_at_most_epsilon(self, options, monkeypatch):
        seen = []
        original = MomentPlan.randomize

        def spy(self, values, entropy):
            seen.append((self, values.reshape(self.grid.size, -1).copy()))
            return original(self, values, entropy)

        monkeypatch.setattr(MomentPlan, "randomize", spy)
        X, y = make(200)
        rng = np.random.default_rng(0)
        reached = 0.0
        for _ in range(30):
            seen.clear()
            for _ in range(2):
                X[0] = rng.choice([-1.0, 1.0, 0.0, 1e9, -1e-300], size=2)
                y[0] = rng.choice([-3.0, 3.0, 0.0])
                DPSEVRegressor(epsilon=0.7, max_iter=1, random_state=0, **BOX, **options).fit(X, y)
            (plan, gram), (_, other) = seen
            moved = np.abs(gram - other)[plan.rows, plan.columns] / plan.noise.scales
            loss = float(moved.sum() if not options else (moved**2).sum() / 2)
            mechanism = options.get("mechanism", "laplace")
            budget = float(FitBudget.of(0.7, options.get("delta", 0), mechanism).amount)
            assert loss <= budget
            reached = max(reached, loss / budget)
        assert reached > 0.6


@pytest.mark.filterwarnings("ignore::skprivate.exceptions.UtilityWarning")
class TestSearch:
    def test_pipeline_and_grid_search_over_epsilon(self, tmp_path):
        X, y = make(3000)
        ledger = PrivacyLedger(tmp_path / "fits.ledger", epsilon=1000, delta=0.01)
        pipe = make_pipeline(
            BoundsScaler((-1.0, 1.0)), DPSEVRegressor(bounds_X=(0, 1), bounds_y=(-3, 3), ledger=ledger)
        )
        # At 0.01 the noise is 800 times that at 8: to score alike, three fits would need four moments each
        # whose noise is below 1/50 of its scale (probability below 1e-19).
        grid = {"dpsevregressor__epsilon": [0.01, 8.0], "dpsevregressor__delta": [0, 1e-6]}
        with config_context(strict=True):
            search = GridSearchCV(pipe, grid, cv=3, n_jobs=2).fit(X, y)
        assert len(ledger.entries()) == 4 * 3 + 1
        assert search.best_params_["dpsevregressor__epsilon"] == 8.0
        assert privacy_report(search).claim == "not-private"
        assert privacy_report(search.best_estimator_).claim == "dp"

    def test_groups_are_routed(self):
        X, y = make(1200)
        groups = np.arange(1200) // 4
        with sklearn.config_context(enable_metadata_routing=True):
            pipe = make_pipeline(BoundsScaler((-1.0, 1.0)), DPSEVRegressor(bounds_X=(0, 1), bounds_y=(-3, 3)))
            pipe.fit(X, y, groups=groups)
        assert pipe[-1].privacy_spent_.unit == "group"


class TestLedger:
    def test_is_charged_before_any_noise_is_drawn(self, tmp_path, monkeypatch):
        ledger = PrivacyLedger(tmp_path / "a.ledger", epsilon=5)
        X, y = make(2000)

        def refuse(self, values, entropy):
            assert len(ledger.entries()) == 1
            raise KeyboardInterrupt

        monkeypatch.setattr(MomentPlan, "randomize", refuse)
        with pytest.raises(KeyboardInterrupt):
            DPSEVRegressor(ledger=ledger, **BOX).fit(X, y)

    def test_a_refusal_keeps_the_previous_fit(self, tmp_path):
        ledger = PrivacyLedger(tmp_path / "a.ledger", epsilon=Fraction(3, 2))
        X, y = make(20_000)
        fit = DPSEVRegressor(ledger=ledger, **BOX).fit(X, y)
        before = fit.coef_.copy()
        with pytest.raises(BudgetExceededError):
            fit.fit(X[:, :1], y)
        assert (fit.coef_ == before).all()
        assert fit.n_features_in_ == 2
        assert len(ledger.entries()) == 1

    @pytest.mark.parametrize("spoil", ["nan in X", "inf in X", "nan in y", "groups", "length", "times"])
    def test_bad_input_costs_nothing(self, tmp_path, spoil):
        ledger = PrivacyLedger(tmp_path / "a.ledger", epsilon=5)
        X, y = make(2000)
        groups, model = None, DPSEVRegressor(ledger=ledger, **BOX)
        if spoil == "nan in X":
            X[1500, 1] = np.nan
        elif spoil == "inf in X":
            X[3, 0] = -np.inf
        elif spoil == "nan in y":
            y[3] = np.nan
        elif spoil == "groups":
            groups = np.arange(1999)
        elif spoil == "length":
            y = y[:-1]
        else:
            model = DPLogLocationScaleRegressor(bounds_X=(-1, 1), bounds_y=(0.1, 9), ledger=ledger)
            y[7] = -0.123
        with pytest.raises(ValueError, match=r"NaN|infinity|shape|inconsistent|not above 0") as error:
            model.fit(X, y, groups=groups)
        assert "0.123" not in str(error.value)
        assert not ledger.entries()
        assert not hasattr(model, "coef_")

    @pytest.mark.parametrize("method", ["moments", "taylor"])
    @pytest.mark.parametrize(
        "parameters",
        [{"scale_bounds": (0, 1)}, {"scale_bounds": "ab"}, {"bounds_y": (3, -3)}, {"epsilon": 1e-300}],
    )
    def test_bad_parameters_cost_nothing(self, tmp_path, parameters, method):
        ledger = PrivacyLedger(tmp_path / "a.ledger", epsilon=5)
        with pytest.raises((TypeError, ValueError), match=r"scale_bounds|bounds_y|epsilon"):
            DPSEVRegressor(**{**BOX, "method": method, "ledger": ledger, **parameters}).fit(*make(2000))
        assert not ledger.entries()

    @pytest.mark.parametrize("spoil", [np.nan, np.inf])
    def test_bad_rows_with_groups_cost_nothing(self, tmp_path, spoil):
        ledger = PrivacyLedger(tmp_path / "a.ledger", epsilon=50)
        X, y = make(2000)
        X[1500, 1] = spoil
        for seed in range(5):  # whether the bad row is among those that count must not matter
            model = DPSEVRegressor(ledger=ledger, random_state=seed, **BOX)
            with pytest.raises(ValueError, match="Input X contains"):
                model.fit(X, y, groups=np.arange(2000) // 20)
        assert not ledger.entries()


class TestRefusals:
    @pytest.mark.parametrize(
        ("parameters", "match"),
        [
            ({"epsilon": 0}, "epsilon"),
            ({"epsilon": -1.0}, "epsilon"),
            ({"epsilon": np.inf}, "epsilon"),
            ({"epsilon": np.nan}, "epsilon"),
            ({"delta": 1.0}, "delta"),
            ({"delta": -1e-9}, "delta"),
            ({"mechanism": "gaussian"}, "needs a delta above 0"),
            ({"mechanism": "normal"}, "mechanism"),
            ({"bounds_X": ([0, 0, 0], [1, 1, 1])}, "one value per column"),
            ({"bounds_X": (1, 1)}, "lower must be below upper"),
            ({"bounds_X": (0, np.inf)}, "must be finite"),
            ({"bounds_y": (3, -3)}, "lower must be below upper"),
            ({"bounds_y": (0, np.nan)}, "must be finite"),
            ({"bounds_y": ([0, 0], [1, 1])}, "one value per column"),
            ({"x_norm": 0}, "x_norm"),
            ({"scale_bounds": (0, 1)}, "scale_bounds must be above 0"),
            ({"method": "newton"}, "method"),
            ({"relation": "local"}, "relation"),
            ({"max_iter": 0}, "max_iter"),
            ({"hazard_clip": 0.0}, "hazard_clip"),
            ({"max_rows_per_group": 0}, "max_rows_per_group"),
            ({"epsilon": 1e-300}, "epsilon is too small"),
        ],
    )
    def test_parameters(self, parameters, match):
        X, y = make(100)
        with pytest.raises(ValueError, match=match):
            DPSEVRegressor(**{**BOX, **parameters}).fit(X, y)

    @pytest.mark.parametrize(
        "bounds", [(2, 1), (0, 1), (1,), ("a", 1), (0.1, np.inf), (1e-300, 1), (1, 1e300)]
    )
    def test_bounds_of_the_scale_are_checked_before_the_charge(self, bounds, tmp_path):
        X, y = make(100)
        ledger = PrivacyLedger(tmp_path / "one.ledger", epsilon=10)
        with pytest.raises((TypeError, ValueError), match="scale_bounds"):
            DPSEVRegressor(scale_bounds=bounds, ledger=ledger, **BOX).fit(X, y)
        assert not ledger.entries()

    @pytest.mark.parametrize("bounds", [(1e-70, 1e-60), (1e30, 1e40), (1e-70, 1e70)])
    def test_bounds_of_the_scale_far_from_those_of_the_target_fail_no_fit(self, bounds):
        X, y = make(100)
        narrow = {**BOX, "bounds_y": (0, 1e-130), "epsilon": 1.0}
        fit = DPNormalLLSRegressor(scale_bounds=bounds, **narrow).fit(X, y)
        assert np.isfinite(fit.scale_interval_).all()

    @pytest.mark.parametrize(
        ("target", "error", "match"),
        [
            (lambda t: [(True, time) for time in t], ValueError, "2 columns.*structured array"),
            (lambda t: np.column_stack([t, t > 1]), ValueError, "2 columns.*structured array"),
            (lambda t: pd.Series(pd.to_timedelta(t, unit="D")), TypeError, "durations"),
            (lambda t: np.full(len(t), "2020-01-01", dtype="datetime64[D]"), TypeError, "dates"),
        ],
    )
    def test_other_forms_of_targets(self, target, error, match):
        X, y = make(100)
        with pytest.raises(error, match=match):
            DPLogLocationScaleRegressor(bounds_X=(-1, 1), bounds_y=(0.1, 9)).fit(X, target(np.exp(y)))

    def test_messages_name_the_parameter(self):
        X, y = make(100)
        with pytest.raises(ValueError, match=r"^bounds_X: lower must"):
            DPSEVRegressor(**{**BOX, "bounds_X": (1, 1)}).fit(X, y)
        with pytest.raises(ValueError, match=r"^bounds_y: lower must be below upper\.$"):
            DPSEVRegressor(**{**BOX, "bounds_y": (1, 1)}).fit(X, y)

    def test_times(self):
        X, y = make(100)
        with pytest.raises(ValueError, match="not above 0"):
            DPLogLocationScaleRegressor(bounds_X=(-1, 1), bounds_y=(0.1, 9)).fit(X, y)
        with pytest.raises(ValueError, match="bounds_y must be above 0"):
            DPLogLocationScaleRegressor(bounds_X=(-1, 1), bounds_y=(0, 9)).fit(X, np.exp(y))

    def test_a_clone_carries_nothing(self):
        X, y = make(3000)
        fit = DPSEVRegressor(**BOX).fit(X, y)
        assert vars(clone(fit)).keys() == vars(DPSEVRegressor()).keys()


@pytest.mark.parametrize("structured", [False, True])
def test_a_fit_plans_its_noise_once(structured, monkeypatch):
    asked = []
    module, name = (_fit, "plan_censored") if structured else (moment_fit, "plan_looks")
    plan = getattr(module, name)
    monkeypatch.setattr(module, name, lambda *args, **options: asked.append(name) or plan(*args, **options))
    X, y = make_location_scale(50, 2, censoring=0.5, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UtilityWarning)
        DPLogLocationScaleRegressor(bounds_X=(-1, 1), bounds_y=(1e-3, 1e2)).fit(
            X, y if structured else y["time"]
        )
    assert asked == [name]
