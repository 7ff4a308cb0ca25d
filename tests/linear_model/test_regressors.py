# SPDX-License-Identifier: BSD-3-Clause
"""What a user sees of the regressors on fully observed targets: estimates, intervals, claims and costs."""

import inspect
import pickle
import re
import warnings
from fractions import Fraction

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.datasets import make_regression
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import scale
from sklearn.utils import get_tags

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
from skprivate.exceptions import BudgetExceededError, PrivacyLeakError, PrivacyLeakWarning, UtilityWarning
from skprivate.linear_model import _fit
from skprivate.linear_model._moments import rounds as moment_fit
from skprivate.linear_model._moments.released_moments import NoiseScales, unscale
from skprivate.linear_model._moments.replicates import bootstrap_moments
from skprivate.linear_model._regressors import share_docstring
from tests.linear_model.conftest import GAUSSIAN, IN_SCIPY, lives_of

BOX = {"bounds_X": (-1.0, 1.0), "bounds_y": (-3.0, 3.0)}
SLOPES = np.array([0.8, -0.5])
PRESETS = {"sev": DPSEVRegressor, "logistic": DPLogisticLLSRegressor, "normal": DPNormalLLSRegressor}
MAY_BE_USELESS = pytest.mark.filterwarnings("ignore::skprivate.exceptions.UtilityWarning")


def make(n=20_000, distribution="sev", seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, 2))
    return X, 0.3 + X @ SLOPES + 0.25 * IN_SCIPY[distribution].rvs(size=n, random_state=rng)


def times(n, censored, seed=0):
    """Features and times, or times with events."""
    X, y = make(n, seed=seed)
    life = np.exp(y)
    return X, lives_of(np.minimum(life, 2.0), life <= 2.0) if censored else life


LIFE = {"bounds_X": (-1, 1), "bounds_y": (np.exp(-3), np.exp(3))}
EITHER_TARGET = pytest.mark.parametrize("censored", [False, True])


class TestEstimates:
    @pytest.mark.parametrize(
        ("distribution", "options"),
        [*((name, {}) for name in PRESETS), ("sev", GAUSSIAN), ("normal", {"relation": "add-remove"})],
        ids=str,
    )
    def test_finds_the_model(self, distribution, options):
        X, y = make(50_000, distribution)
        with config_context(strict=True):
            fit = PRESETS[distribution](epsilon=4.0, **BOX, **options).fit(X, y)
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
        options = {"random_state": 0, "max_iter": 1}
        times = DPLogLocationScaleRegressor(distribution=life, **LIFE, **options).fit(X, np.exp(y))
        logs = DPLogLocationScaleRegressor(distribution=log, **BOX, **options).fit(X, y)
        np.testing.assert_allclose(times.coef_, logs.coef_, atol=1e-5)
        np.testing.assert_allclose(times.predict(X[:9]), np.exp(logs.predict(X[:9])), rtol=1e-4)
        assert get_tags(times).target_tags.positive_only
        assert not get_tags(logs).target_tags.positive_only

    @MAY_BE_USELESS
    @EITHER_TARGET
    def test_the_order_of_the_rows_does_not_matter(self, censored):
        X, y = times(5000, censored)
        order = np.random.default_rng(1).permutation(len(X))
        first, second = (
            DPLogLocationScaleRegressor(random_state=1, **LIFE).fit(*rows)
            for rows in ((X, y), (X[order], y[order]))
        )
        assert first.coef_.tobytes() == second.coef_.tobytes()

    @MAY_BE_USELESS
    def test_scale_ends_between_its_bounds(self):
        X, y = make(2000)
        fit = DPSEVRegressor(epsilon=1e6, scale_bounds=(0.5, 0.7), **BOX).fit(X, y)
        assert fit.scale_ == pytest.approx(0.5)
        # A thousandth of the target's half-width of 3, and twice it: without errors, and with noise alone.
        assert DPSEVRegressor(epsilon=1e12, **BOX).fit(X, X @ SLOPES).scale_ == pytest.approx(0.003)
        useless = DPSEVRegressor(epsilon=1e-3, random_state=0, **BOX).fit(X[:200], y[:200])
        assert useless.scale_ == pytest.approx(6.0)

    @pytest.mark.parametrize("bounds", [(1e-70, 1e-60), (1e30, 1e40), (1e-70, 1e70)])
    def test_bounds_of_the_scale_far_from_those_of_the_target_fail_no_fit(self, bounds):
        narrow = {**BOX, "bounds_y": (0, 1e-130), "epsilon": 1.0}
        fit = DPNormalLLSRegressor(scale_bounds=bounds, **narrow).fit(*make(100))
        assert np.isfinite(fit.scale_interval_).all()

    @pytest.mark.filterwarnings("ignore::skprivate.exceptions.PrivacyLeakWarning")
    @MAY_BE_USELESS
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

    def test_values_outside_the_bounds_are_clipped_silently(self):
        X, y = make(5000)
        X[0], y[0] = 1e300, -1e300
        fit = DPSEVRegressor(random_state=1, **BOX).fit(X, y)
        X[0], y[0] = 1.0, -3.0
        assert (DPSEVRegressor(random_state=1, **BOX).fit(X, y).coef_ == fit.coef_).all()

    @pytest.mark.filterwarnings("ignore::skprivate.exceptions.PrivacyLeakWarning")
    @MAY_BE_USELESS
    @pytest.mark.parametrize(
        ("kind", "options"),
        [(DPSEVRegressor, {}), (DPLogisticLLSRegressor, GAUSSIAN), (DPNormalLLSRegressor, {})],
    )
    def test_poor_score_is_said_because_the_default_is_poor_on_200_rows(self, kind, options):
        # The rows of scikit-learn's check, which wants R^2 > 0.5.
        X, y = make_regression(200, 10, n_informative=1, bias=5.0, noise=20, random_state=42)
        X, y = scale(X), scale(y)

        def passed(epsilon):
            fits = (kind(epsilon, random_state=seed, **options).fit(X, y) for seed in range(20))
            return np.mean([fit.score(X, y) > 0.5 for fit in fits])

        assert passed(1.0) < 0.5
        assert passed(1000.0) == 1.0
        assert get_tags(kind(**options)).regressor_tags.poor_score


class TestIntervals:
    def test_are_pivotal_at_90_percent(self):
        options = {"epsilon": 2.0, "scale_bounds": (0.2, 0.26), "random_state": 1, "max_iter": 1}
        fit = DPSEVRegressor(**options, **BOX).fit(*make(5000))
        ends = np.quantile(fit.replicates_, [0.95, 0.05], axis=0)
        np.testing.assert_allclose(fit.coef_interval_, (2 * fit.coef_ - ends[:, 2:]).T)
        # The noise is in squares, of which the interval is, within the bounds of the scale.
        squares = 2 * fit.scale_**2 - ends[:, 1] ** 2
        np.testing.assert_allclose(fit.scale_interval_, np.sqrt(np.clip(squares, 0.2**2, 0.26**2)))
        assert fit.scale_interval_[1] == pytest.approx(0.26)

    @MAY_BE_USELESS
    @pytest.mark.parametrize(("method", "rule"), [("moments", "trim"), ("taylor", "none")])
    def test_replicates_are_fitted_as_the_release_was(self, method, rule):
        fit = DPSEVRegressor(epsilon=0.2, method=method, regularization=rule, **BOX).fit(*make(500))
        stack = bootstrap_moments(fit.release_, fit.error_distribution_, rule, (1e-3, 2.0), method=method)
        coef, intercept, scale = unscale(stack, fit.grid_)
        np.testing.assert_array_equal(fit.replicates_, np.column_stack([intercept, scale, coef]))

    def test_are_those_of_the_last_fit_whatever_is_set_afterwards(self):
        X, y = make(5000)
        fit = DPSEVRegressor(epsilon=8.0, random_state=0, **BOX).fit(X, -y)
        first, again = fit.coef_interval_, clone(fit).fit(X, y)
        fit.fit(X, y).set_params(method="taylor", regularization="trim", scale_bounds=(2.0, 3.0))
        np.testing.assert_array_equal(fit.coef_interval_, again.coef_interval_)
        np.testing.assert_array_equal(fit.scale_interval_, again.scale_interval_)
        assert (fit.coef_interval_ != first).all()


class TestClaims:
    @pytest.mark.parametrize("options", [{}, GAUSSIAN])
    def test_a_private_fit(self, options):
        spent = DPSEVRegressor(epsilon=Fraction(1, 3), **BOX, **options).fit(*make(5000)).privacy_spent_
        assert spent.private
        assert (spent.relation, spent.unit, spent.delta) == ("replace-one", "row", options.get("delta", 0))
        assert spent.unprotected["rows"] == 5000
        assert spent.public_inputs == ("bounds_X", "bounds_y")
        if options:
            assert 0.99 / 3 < spent.epsilon <= Fraction(1, 3)
            assert spent.rho > 0
        else:
            assert spent.epsilon == Fraction(1, 3)

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

    @pytest.mark.parametrize(
        ("given", "leaks"),
        [({}, 2), ({"bounds_X": (-1, 1)}, 1), ({"bounds_y": (-3, 3)}, 1), ({"x_norm": 2.0}, 1)],
    )
    def test_leaks(self, given, leaks):
        X, y = make(5000)
        with pytest.warns(PrivacyLeakWarning, match="estimate_bounds") as caught:
            fit = DPSEVRegressor(epsilon=8.0, **given).fit(X, y)
        assert [warning.filename for warning in caught] == [__file__]
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

    @pytest.mark.parametrize("wrap", [lambda model: model, make_pipeline], ids=["alone", "in a pipeline"])
    @EITHER_TARGET
    def test_a_useless_fit_warns_where_it_is_called(self, censored, wrap):
        model = wrap(DPLogLocationScaleRegressor(epsilon=0.01, random_state=0, **LIFE))
        with pytest.warns(UtilityWarning) as caught:
            model.fit(*times(100, censored))
        assert [warning.filename for warning in caught] == [__file__]

    @MAY_BE_USELESS
    @EITHER_TARGET
    def test_pickle_holds_no_row_and_predicts_the_same(self, censored):
        X, y = times(3000, censored)
        X[:50] = 0.123456789
        (y["time"] if censored else y)[:50] = 1.23456789
        fit = DPLogLocationScaleRegressor(**LIFE).fit(X, y)
        data = pickle.dumps(fit)
        assert not any(np.float64(value).tobytes() in data for value in (0.123456789, 1.23456789))
        assert len(data) < (60_000 if censored else 20_000)
        assert (pickle.loads(data).predict(X) == fit.predict(X)).all()


class TestCosts:
    @MAY_BE_USELESS
    def test_a_search_in_a_pipeline_charges_every_fit(self, tmp_path):
        X, y = make(3000)
        ledger = PrivacyLedger(tmp_path / "fits.ledger", epsilon=1000, delta=0.01)
        pipe = make_pipeline(
            BoundsScaler((-1.0, 1.0)), DPSEVRegressor(bounds_X=(0, 1), bounds_y=(-3, 3), ledger=ledger)
        )
        # At 0.01 the noise is 800 times that at 8: to score alike, three fits would need four moments each
        # whose noise is below 1/50 of its scale (probability below 1e-19).
        grid = {"dpsevregressor__epsilon": [0.01, 8.0], "dpsevregressor__delta": [0, 1e-6]}
        with config_context(strict=True):
            search = GridSearchCV(pipe, grid, cv=3).fit(X, y)
        assert len(ledger.entries()) == 4 * 3 + 1
        assert search.best_params_["dpsevregressor__epsilon"] == 8.0
        assert privacy_report(search).claim == "not-private"
        assert privacy_report(search.best_estimator_).claim == "dp"

    def test_groups_are_routed(self):
        X, y = make(1200)
        with sklearn.config_context(enable_metadata_routing=True):
            pipe = make_pipeline(BoundsScaler((-1.0, 1.0)), DPSEVRegressor(bounds_X=(0, 1), bounds_y=(-3, 3)))
            pipe.fit(X, y, groups=np.arange(1200) // 4)
        assert pipe[-1].privacy_spent_.unit == "group"

    @EITHER_TARGET
    def test_a_fit_is_charged_before_any_noise_is_drawn(self, censored, tmp_path, monkeypatch):
        ledger = PrivacyLedger(tmp_path / "a.ledger", epsilon=5)

        def refuse(self, values, entropy):
            assert len(ledger.entries()) == 1
            raise KeyboardInterrupt

        monkeypatch.setattr(NoiseScales, "randomize", refuse)
        with pytest.raises(KeyboardInterrupt):
            DPLogLocationScaleRegressor(ledger=ledger, **LIFE).fit(*times(2000, censored))

    @pytest.mark.parametrize("options", [{}, GAUSSIAN])
    @EITHER_TARGET
    def test_a_refusal_keeps_the_previous_fit(self, censored, options, tmp_path):
        ledger = PrivacyLedger(tmp_path / "a.ledger", epsilon=9, delta=0.01)
        X, y = times(20_000, censored)
        fit = DPLogLocationScaleRegressor(epsilon=8, ledger=ledger, **LIFE, **options).fit(X, y)
        assert fit.privacy_spent_.private
        assert Fraction(799, 100) < fit.privacy_spent_.epsilon <= 8
        before = fit.coef_.copy()
        with pytest.raises(BudgetExceededError):
            fit.fit(X[:, :1], y)
        assert (fit.coef_ == before).all()
        assert fit.n_features_in_ == 2
        assert len(ledger.entries()) == 1

    @EITHER_TARGET
    def test_a_fit_plans_its_noise_once(self, censored, monkeypatch):
        asked = []
        module, name = (_fit, "plan_censored") if censored else (moment_fit, "plan_looks")
        plan = getattr(module, name)
        monkeypatch.setattr(
            module, name, lambda *args, **options: asked.append(name) or plan(*args, **options)
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UtilityWarning)
            DPLogLocationScaleRegressor(**LIFE).fit(*times(50, censored))
        assert asked == [name]


# Docstrings, whose shared sections are written once, and the presets' parameters.

EVERY_REGRESSOR = pytest.mark.parametrize("kind", [DPLogLocationScaleRegressor, *PRESETS.values()])


def section(kind, name):
    """The lines of a section of a docstring, up to the next title."""
    text = inspect.getdoc(kind)
    return re.search(rf"^{name}\n-+\n(.*?)(?=^\S[^\n]*\n---|\Z)", text, re.M | re.S).group(1)


@EVERY_REGRESSOR
def test_parameters_and_defaults_are_described_in_the_order_of_the_signature(kind):
    described = re.findall(r"^(\w+) : (?:.*default=(.+))?", section(kind, "Parameters"), re.M)
    signature = inspect.signature(kind).parameters
    assert [name for name, _ in described] == list(signature)
    for name, default in described:
        assert default.replace('"', "") == str(signature[name].default), name


@EVERY_REGRESSOR
def test_every_section_is_there(kind):
    text = inspect.getdoc(kind)
    assert "$" not in text
    titles = re.findall(r"^(\S.*)\n-{3,}$", text, re.M)
    assert titles == ["Parameters", "Attributes", "See Also", "Notes", "References", "Examples"]
    assert section(kind, "Notes").startswith("**Privacy.**")
    # Indented text in a section would render as a quotation.
    assert not re.search(r"^ +(Parameters|epsilon : |\*\*Privacy)", text, re.M)


@pytest.mark.parametrize("kind", PRESETS.values())
def test_presets_take_what_the_regressor_does_but_the_distribution(kind):
    whole = inspect.signature(DPLogLocationScaleRegressor).parameters.values()
    signature = [parameter for parameter in whole if parameter.name != "distribution"]
    assert list(inspect.signature(kind).parameters.values()) == signature


def test_a_section_that_there_is_not_is_an_error_and_no_docstring_stays_none():
    class Regressor:
        """A regressor.

        $paramters
        """

    with pytest.raises(KeyError, match="paramters"):
        share_docstring(Regressor)
    # As every class under `python -OO`.
    bare = type("Regressor", (), {"__doc__": None})
    assert share_docstring(bare) is bare
    assert bare.__doc__ is None
