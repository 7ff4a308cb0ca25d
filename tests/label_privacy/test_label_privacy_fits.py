# SPDX-License-Identifier: BSD-3-Clause
"""Labels that are protected one by one: what the regressor sees, what it costs, what is kept."""

import pickle
import warnings
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline

import skprivate
from skprivate import (
    LabelPrivateClassifier,
    LabelPrivateRegressor,
    PrivacyLedger,
)
from skprivate.audit import AuditCase, check_private_estimator
from skprivate.base import parameter_roles
from skprivate.exceptions import BudgetExceededError, PrivacyLeakError, PrivacyLeakWarning, UtilityWarning
from skprivate.label_privacy import NumberReporter
from skprivate.noise import DiscreteLaplaceMechanism
from skprivate.randomizers import LabelRandomizer

# 400 rows at a small epsilon tell little.
pytestmark = pytest.mark.filterwarnings("ignore::skprivate.exceptions.UtilityWarning")
RNG = np.random.default_rng(5)
X = RNG.uniform(-1, 1, (400, 3))
Y = (X[:, 0] > 0).astype(int)
NUMBERS = X[:, 0]
CLASSIFIER = {"classes": [0, 1]}
REGRESSOR = {"bounds_y": (-1, 1)}
BOTH = pytest.mark.parametrize(
    ("kind", "declared", "y"),
    [(LabelPrivateClassifier, CLASSIFIER, Y), (LabelPrivateRegressor, REGRESSOR, NUMBERS)],
    ids=["classes", "numbers"],
)


class Recording(RegressorMixin, BaseEstimator):
    """A mean that keeps what it was fitted to."""

    seen = []

    def fit(self, X, y, sample_weight=None):
        type(self).seen.append((np.array(X), np.array(y), sample_weight))
        self.mean_ = float(np.mean(y))
        return self

    def predict(self, X):
        return np.full(len(X), self.mean_)


class Refusing(RegressorMixin, BaseEstimator):
    """Refuses every table, and says what it was given."""

    def fit(self, X, y):
        raise ValueError(f"refused {np.asarray(y).tolist()}")

    def predict(self, X):
        return np.zeros(len(X))


def status_of(check, estimator):
    (result,) = check_private_estimator(AuditCase.of(estimator), only=[check], on_fail=None)
    return result["status"]


@pytest.fixture(autouse=True)
def nothing_seen():
    Recording.seen = []


class TestWhatTheRegressorSees:
    @BOTH
    def test_noisy_targets_alone(self, kind, declared, y):
        """With noise that hides all, what is seen is uncorrelated with the truth: 6 standard errors."""
        kind(Recording(), 0.01, cv=None, random_state=1, **declared).fit(X, y)
        ((rows, seen, weights),) = Recording.seen
        np.testing.assert_array_equal(rows, X)
        assert weights is None
        assert abs(np.corrcoef(seen, y)[0, 1]) < 6 / np.sqrt(len(y))
        assert not np.isin(seen, y).any()

    @BOTH
    def test_the_same_reports_make_the_same_model_whatever_the_labels(self, kind, declared, y, monkeypatch):
        """All that a fit keeps, warns of and raises is a function of the reports."""
        reports = kind(Recording(), **declared).make_reporter().randomize(y, random_state=0)
        kept = []
        for labels in (y, y[::-1].copy(), np.full_like(y, y[0])):
            for mechanism in (LabelRandomizer, DiscreteLaplaceMechanism):
                monkeypatch.setattr(mechanism, "randomize", lambda self, values, state=None: reports.copy())
            model = kind(Ridge(), **declared).fit(X, labels)
            monkeypatch.undo()
            kept.append(pickle.dumps(model))
        assert kept[0] == kept[1] == kept[2]

    @BOTH
    def test_public_rows_weigh_more_and_keep_their_targets(self, kind, declared, y):
        is_public = np.arange(len(y)) < 50
        model = kind(Recording(), 0.5, cv=None, random_state=0, **declared).fit(X, y, is_public=is_public)
        ((_, seen, weights),) = Recording.seen
        np.testing.assert_allclose(seen[is_public], y[is_public], atol=1e-6)
        assert set(weights[is_public]) == {1.0}
        assert len(set(weights[~is_public])) == 1
        if kind is LabelPrivateClassifier:
            noise = model.reporter_.noise_variance
            assert weights[-1] == pytest.approx(0.15 / (0.15 + noise))
        assert weights[-1] < 0.2

    def test_a_regressor_without_weights_is_named(self):
        is_public = np.arange(len(Y)) < 50
        with pytest.warns(UtilityWarning, match="KNeighborsRegressor.fit takes no sample_weight"):
            LabelPrivateClassifier(KNeighborsRegressor(), **CLASSIFIER).fit(X, Y, is_public=is_public)

    # A cap of one is the default.
    @pytest.mark.parametrize("cap", [1, 2])
    @BOTH
    def test_rows_of_a_person_beyond_the_cap_are_left_out(self, kind, declared, y, cap):
        groups = np.repeat(np.arange(100), 4)
        model = kind(Recording(), 1.0, cv=None, max_rows_per_group=cap, **declared).fit(X, y, groups=groups)
        ((rows, _, _),) = Recording.seen
        place = {row.tobytes(): number for number, row in enumerate(X)}
        found = [groups[place[row.tobytes()]] for row in rows]
        assert np.bincount(found).tolist() == [cap] * 100
        spent = model.privacy_spent_
        assert (spent.unit, spent.max_rows_per_unit, spent.relation) == ("group", cap, "label")
        assert spent.unprotected["reports"] == 100 * cap
        assert cap * model.reporter_.epsilon == spent.epsilon <= 1
        assert model.reporter_.epsilon <= Fraction(1, cap)


class TestCost:
    @BOTH
    def test_the_statement(self, kind, declared, y):
        spent = kind(Ridge(), 0.7, **declared).fit(X, y).privacy_spent_
        assert spent.private
        assert spent.relation == "label"
        assert spent.deployment == "simulated"
        assert Fraction(0.7) * Fraction(999, 1000) < spent.epsilon <= Fraction(0.7)
        assert "ALL features" in spent.unprotected["features"]
        assert kind(**declared).planned_cost(False).relation == "label"
        assert kind.__doc__.splitlines()[0].count("features in clear")

    @BOTH
    def test_nothing_is_drawn_when_the_ledger_refuses(self, kind, declared, y, tmp_path, monkeypatch):
        ledger = PrivacyLedger(tmp_path / "one.ledger", epsilon=1)
        model = kind(Ridge(), 1.0, ledger=ledger, **declared).fit(X, y)
        before = pickle.dumps(model.estimators_)
        for mechanism in (LabelRandomizer, DiscreteLaplaceMechanism):
            monkeypatch.setattr(mechanism, "randomize", lambda *_: pytest.fail("noise was drawn"))
        with pytest.raises(BudgetExceededError):
            model.fit(X, y)
        assert pickle.dumps(model.estimators_) == before

    @BOTH
    def test_what_the_regressor_refuses_costs_nothing(self, kind, declared, y, tmp_path):
        """And its message can repeat no target: those of the rehearsal are made up."""
        ledger = PrivacyLedger(tmp_path / "one.ledger", epsilon=1)
        messages = set()
        for labels in (y, y[::-1].copy()):
            with pytest.raises(ValueError, match="refused") as raised:
                kind(Refusing(), 1.0, ledger=ledger, **declared).fit(X, labels)
            messages.add(str(raised.value))
        assert len(messages) == 1
        assert not ledger.entries()

    @BOTH
    def test_nor_does_what_a_fold_has_too_few_rows_for(self, kind, declared, y, tmp_path):
        ledger = PrivacyLedger(tmp_path / "one.ledger", epsilon=1)
        with pytest.raises(ValueError, match="n_neighbors <= n_samples_fit"):
            kind(KNeighborsRegressor(70), 1.0, ledger=ledger, **declared).fit(X[:80], y[:80])
        assert not ledger.entries()

    @BOTH
    @pytest.mark.parametrize("epsilon", [1e-6, 1e3])
    def test_an_extreme_epsilon_is_spent(self, kind, declared, y, epsilon):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UtilityWarning)
            model = kind(epsilon=epsilon, **declared).fit(X, y)
        assert np.isfinite(model.predict(X)).all()

    @BOTH
    def test_leaks(self, kind, declared, y):
        with pytest.warns(PrivacyLeakWarning, match="read from private rows"):
            assert not kind(Ridge()).fit(X, y).privacy_spent_.private
        is_public = np.arange(len(y)) < 50
        assert kind(Ridge()).fit(X, y, is_public=is_public).privacy_spent_.private
        assert not kind(Ridge(), random_state=0, **declared).fit(X, y).privacy_spent_.private
        with skprivate.config_context(strict=True):
            with pytest.raises(PrivacyLeakError):
                kind(Ridge()).fit(X, y)
            with pytest.raises(PrivacyLeakError):
                kind(Ridge(), random_state=0, **declared).fit(X, y)

    @BOTH
    def test_no_label_makes_a_strict_fit_fail(self, kind, declared, y):
        hostile = [None, float("nan"), "text", 10**400, [1, 2], *y[5:].tolist()]
        with skprivate.config_context(strict=True):
            assert kind(Ridge(), **declared).fit(X, hostile).privacy_spent_.private

    def test_half_the_noise_is_caught(self, monkeypatch):
        honest = LabelRandomizer._randomize

        def twice(self, categories, entropy):
            other = LabelRandomizer(2 * self.epsilon_requested, self.n_cells, self.n_labels)
            return honest(other, categories, entropy)

        estimator = LabelPrivateClassifier(LinearRegression(), 1.5, cv=None, **CLASSIFIER)
        assert status_of("check_epsilon_audit", estimator) == "passed"
        monkeypatch.setattr(LabelRandomizer, "_randomize", twice)
        assert status_of("check_epsilon_audit", estimator) == "failed"

    def test_half_the_noise_on_numbers_is_caught(self, monkeypatch):
        honest = DiscreteLaplaceMechanism._fill

        def half(self, noise, stream):
            honest(DiscreteLaplaceMechanism.from_scale(Fraction(self.scale) / 2), noise, stream)

        estimator = LabelPrivateRegressor(LinearRegression(), 1.5, cv=None, **REGRESSOR)
        assert status_of("check_epsilon_audit", estimator) == "passed"
        monkeypatch.setattr(DiscreteLaplaceMechanism, "_fill", half)
        assert status_of("check_epsilon_audit", estimator) == "failed"

    def test_half_the_sensitivity_is_caught(self, monkeypatch):
        """Twice the grid, with noise for one."""
        honest = NumberReporter.encode
        estimator = LabelPrivateRegressor(LinearRegression(), 1.5, cv=None, **REGRESSOR)
        assert status_of("check_sensitivity_fuzz", estimator) == "passed"
        monkeypatch.setattr(NumberReporter, "encode", lambda self, y: 2 * honest(self, y))
        assert status_of("check_sensitivity_fuzz", estimator) == "failed"


class TestCollected:
    @BOTH
    def test_reports_of_clients_make_the_model_of_a_fit(self, kind, declared, y):
        plan = kind(Ridge(), 2.0, **declared)
        reports = plan.make_reporter().randomize(y, random_state=3)
        collected = plan.fit_reports(X, reports)
        simulated = kind(Ridge(), 2.0, random_state=3, **declared).fit(X, y)
        np.testing.assert_array_equal(collected.predict(X), simulated.predict(X))
        assert collected.privacy_spent_.deployment == "collected"
        assert collected.privacy_spent_.private

    def test_public_rows_beside_reports(self):
        plan = LabelPrivateClassifier(Ridge(), 2.0, **CLASSIFIER)
        is_public, reporter = np.arange(len(Y)) < 50, plan.make_reporter()
        reports = reporter.randomize(Y)
        reports[is_public] = reporter.encode(Y[is_public])
        model = plan.fit_reports(X, reports, is_public=is_public)
        assert model.privacy_spent_.unprotected["public rows"] == 50
        assert model.privacy_spent_.unprotected["reports"] == len(Y) - 50


class TestModels:
    def test_probabilities_are_never_0_or_1(self):
        for n_classes in (2, 4):
            y = np.digitize(X[:, 0], np.linspace(-1, 1, n_classes + 1)[1:-1])
            model = LabelPrivateClassifier(epsilon=20.0, classes=range(n_classes)).fit(X, y)
            proba = model.predict_proba(X)
            assert proba.shape == (len(X), n_classes)
            np.testing.assert_allclose(proba.sum(axis=1), 1)
            assert proba.min() > 0
            assert proba.max() < 1
            assert model.score(X, y) > 0.7

    def test_labels_that_are_noise_get_the_base_rate(self):
        """Features say nothing: 20 fits of 2,000 rows are hardly worse than the base rate in log loss."""
        rng = np.random.default_rng(8)
        excess = []
        for seed in range(20):
            rows, labels = rng.normal(size=(2000, 5)), (rng.random(2000) < 0.2).astype(int)
            model = LabelPrivateClassifier(epsilon=1.0, random_state=100 + seed, **CLASSIFIER)
            model.fit(rows, labels)
            proba = model.predict_proba(rng.normal(size=(500, 5)))
            truth = np.log([0.8, 0.2]) @ [0.8, 0.2]
            excess.append(truth - (np.log(proba) @ [0.8, 0.2]).mean())
        assert np.mean(excess) < 0.01

    def test_a_rare_class_does_not_vanish(self):
        rng = np.random.default_rng(9)
        rows, labels = rng.normal(size=(5000, 2)), (rng.random(5000) < 0.01).astype(int)
        for seed in range(20):
            model = LabelPrivateClassifier(Ridge(), 0.5, random_state=200 + seed, **CLASSIFIER)
            assert 0.001 < model.fit(rows, labels).base_proba_[1] < 0.15

    @BOTH
    def test_a_constant_is_announced(self, kind, declared, y):
        noise = np.random.default_rng(10).permutation(y)
        with pytest.warns(UtilityWarning, match="may predict as well as the model"):
            model = kind(Ridge(), 0.05, random_state=0, **declared).fit(X, noise)
        assert model.slope_ == 0
        assert np.ptp(model.predict(X)) == 0

    def test_leaves_follow_the_noise(self):
        sizes = []
        for epsilon in (0.5, 1.0, 4.0):
            model = LabelPrivateClassifier(epsilon=epsilon, cv=None, **CLASSIFIER).fit(X, Y)
            contrast = (np.exp(epsilon) + 1) / (np.exp(epsilon) - 1)
            sizes.append(model.estimators_[0].min_samples_leaf)
            assert sizes[-1] == pytest.approx(max(20, 20 * contrast**2), abs=10)
        assert sizes == sorted(sizes, reverse=True)

    def test_frames_with_categories_and_gaps(self):
        frame = pd.DataFrame({"a": X[:, 0], "b": pd.Categorical(np.where(X[:, 1] > 0, "u", "v"))})
        frame.loc[:20, "a"] = np.nan
        model = LabelPrivateClassifier(epsilon=4.0, **CLASSIFIER).fit(frame, Y)
        assert model.feature_names_in_.tolist() == ["a", "b"]
        assert model.score(frame, Y) > 0.8
        pipeline = make_pipeline(SimpleImputer(), Ridge())
        model = LabelPrivateClassifier(pipeline, 4.0, **CLASSIFIER).fit(frame[["a"]], Y)
        assert model.score(frame[["a"]], Y) > 0.7

    def test_a_search_inside_costs_nothing_more(self, tmp_path):
        ledger = PrivacyLedger(tmp_path / "one.ledger", epsilon=1)
        search = GridSearchCV(HistGradientBoostingRegressor(), {"max_iter": [2, 5]}, cv=2)
        model = LabelPrivateClassifier(search, 1.0, ledger=ledger, **CLASSIFIER).fit(X, Y)
        assert len(ledger.entries()) == 1
        assert model.estimators_[0].best_params_["max_iter"] in (2, 5)
        roles = parameter_roles(model)
        assert roles["estimator__cv"] == roles["estimator"] == "release"
        assert roles["ledger"] == "computing"

    @BOTH
    def test_predictions_stay_within(self, kind, declared, y):
        model = kind(Ridge(), 8.0, **declared).fit(X, y)
        far = model.predict(1e6 * X)
        assert np.isin(far, [0, 1]).all() if kind is LabelPrivateClassifier else np.abs(far).max() <= 1

    def test_numbers_are_learnt(self):
        model = LabelPrivateRegressor(LinearRegression(), 2.0, random_state=0, **REGRESSOR)
        assert model.fit(X, NUMBERS).score(X, NUMBERS) > 0.8
        assert 0.5 < model.slope_ < 1.5
