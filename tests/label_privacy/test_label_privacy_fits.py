# SPDX-License-Identifier: BSD-3-Clause
"""Labels that are protected one by one: what the regressor sees, what it costs, what is kept."""

import pickle
import warnings
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor

import skprivate
from skprivate import (
    LabelPrivateClassifier,
    LabelPrivateRegressor,
    PrivacyLedger,
)
from skprivate.audit import AuditCase, check_private_estimator
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

    @pytest.mark.slow
    def test_half_the_noise_on_numbers_is_caught(self, monkeypatch):
        honest = DiscreteLaplaceMechanism._fill

        def half(self, noise, stream):
            honest(DiscreteLaplaceMechanism.from_scale(Fraction(self.scale) / 2), noise, stream)

        estimator = LabelPrivateRegressor(LinearRegression(), 1.5, cv=None, **REGRESSOR)
        assert status_of("check_epsilon_audit", estimator) == "passed"
        monkeypatch.setattr(DiscreteLaplaceMechanism, "_fill", half)
        assert status_of("check_epsilon_audit", estimator) == "failed"

    @pytest.mark.usefixtures("short_searches")
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


class TestModels:
    @pytest.mark.slow
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

    def test_a_line_is_learnt_where_no_leaf_has_rows_enough(self):
        """Two fits of 455 rows; trees alone stay at the base rate's log loss of 0.66."""
        rows, labels = load_breast_cancer(return_X_y=True)
        for seed in range(2):
            model = LabelPrivateClassifier(epsilon=0.7, random_state=seed, **CLASSIFIER).fit(rows, labels)
            assert np.log(model.predict_proba(rows)[np.arange(len(rows)), labels]).mean() > -0.45

    def test_the_default_takes_gaps_and_columns_that_are_no_numbers(self):
        rows = np.where(RNG.uniform(size=X.shape) < 0.1, np.nan, X)
        table = pd.DataFrame({"x": rows[:, 0], "level": pd.Categorical(X[:, 1] > 0)})
        for data, of_numbers in ((rows, True), (table, False)):
            model = LabelPrivateClassifier(epsilon=20.0, **CLASSIFIER).fit(data, Y)
            assert (model.estimators_[0].coef_ is not None) == of_numbers
            assert model.score(data, Y) > 0.8
        # A row has the same bits alone: no linear algebra adds in another order.
        together = LabelPrivateClassifier(epsilon=20.0, **CLASSIFIER).fit(rows, Y)
        alone = [together.predict_proba(rows[[i]])[0] for i in range(20)]
        np.testing.assert_array_equal(alone, together.predict_proba(rows)[:20])

    def test_leaves_follow_the_noise(self):
        sizes = []
        for epsilon in (0.5, 1.0, 4.0):
            model = LabelPrivateClassifier(epsilon=epsilon, cv=None, **CLASSIFIER).fit(X, Y)
            contrast = (np.exp(epsilon) + 1) / (np.exp(epsilon) - 1)
            sizes.append(model.estimators_[0].trees.min_samples_leaf)
            assert sizes[-1] == pytest.approx(max(20, 20 * contrast**2), abs=10)
        assert sizes == sorted(sizes, reverse=True)
