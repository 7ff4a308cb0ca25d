# SPDX-License-Identifier: BSD-3-Clause
"""DPBoostingClassifier and DPBoostingRegressor: what is learnt, spent and refused."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from skprivate import (
    DPBoostingClassifier,
    DPBoostingRegressor,
    PrivacyLedger,
    TableDomain,
    config_context,
)
from skprivate.domain import CategoricalColumn, NumberColumn
from skprivate.exceptions import BudgetExceededError, PrivacyLeakError, PrivacyLeakWarning
from skprivate.noise import zcdp_to_epsilon

RNG = np.random.default_rng(0)
N = 8000
X = RNG.uniform(-1, 1, size=(N, 4))
SIGNAL = 2 * np.sin(3 * X[:, 0]) + X[:, 1]
LABELS = (SIGNAL + 0.3 * RNG.standard_normal(N) > 0).astype(int)
WORDS = np.array(["high", "low", "middle"])[(SIGNAL < -0.7) + 2 * (np.abs(SIGNAL) <= 0.7)]
PUBLIC = np.arange(N) < 200
BOX = {"bounds": (-1, 1), "classes": [0, 1]}
NUMBERS = {"bounds_X": (-1, 1), "bounds_y": (-3, 3)}
KINDS = {"laplace": {}, "gaussian": {"delta": 1e-6}}
FOREST = RandomForestClassifier(20, random_state=0)


def best_of_base_rate(y):
    return max(np.mean(y == label) for label in np.unique(y))


class TestLearning:
    """Fixed seeds: noise that is drawn anew would fail by chance."""

    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
    def test_two_classes(self, kind, relation):
        model = DPBoostingClassifier(1.0, relation=relation, random_state=1, **BOX, **KINDS[kind])
        assert model.fit(X, LABELS).score(X, LABELS) > 0.87
        assert model.mechanism_ == kind

    @pytest.mark.parametrize("kind", KINDS)
    def test_three_classes(self, kind):
        model = DPBoostingClassifier(
            2.0, bounds=(-1, 1), classes=["low", "middle", "high"], random_state=1, **KINDS[kind]
        ).fit(X, WORDS)
        assert model.score(X, WORDS) > best_of_base_rate(WORDS) + 0.25
        assert model.predict_proba(X).shape == model.decision_function(X).shape == (N, 3)
        np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)

    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize("wider", [1, 10])
    def test_numbers(self, kind, wider):
        bounds = {"bounds_X": (-1, 1), "bounds_y": (-3 * wider, 3 * wider)}
        model = DPBoostingRegressor(2.0, random_state=1, **bounds, **KINDS[kind])
        assert model.fit(X, SIGNAL).score(X, SIGNAL) > 0.7

    def test_pairs_of_columns_need_random_cells(self):
        y = (X[:, 2] * X[:, 3] > 0).astype(int)
        scores = [
            DPBoostingClassifier(8.0, delta=1e-6, interactions=steps, random_state=1, **BOX).fit(X, y)
            for steps in (0, "auto")
        ]
        single, several = (model.score(X, y) for model in scores)
        assert single < 0.6
        assert several > 0.8
        assert scores[0].interactions_ == ()

    def test_constant_columns_get_no_step(self):
        table = np.column_stack([X[:, :2], np.zeros(N)])
        model = DPBoostingClassifier(1.0, interactions=0, random_state=0)
        model.fit(table, LABELS, is_public=PUBLIC)
        assert model.shape_functions_[2].values.shape == (1,)
        assert model.n_steps_ == 4
        assert model.feature_importances_[2] == 0

    @pytest.mark.parametrize("n", [2, 5, 30])
    def test_few_rows_are_no_error(self, n):
        y = np.arange(n) % 2
        proba = DPBoostingClassifier(0.1, delta=1e-6, **BOX).fit(X[:n], y).predict_proba(X)
        assert ((proba > 0) & (proba < 1)).all()
        assert np.isfinite(DPBoostingRegressor(0.1, **NUMBERS).fit(X[:n], SIGNAL[:n]).predict(X)).all()


def test_probabilities_are_never_0_or_1():
    certain = np.repeat([[-1.0], [1.0]], 50_000, axis=0)
    y = (certain[:, 0] > 0).astype(int)
    # A huge epsilon, that leaves no noise to divide by.
    model = DPBoostingClassifier(1e6, delta=1e-6, bounds=(-1, 1), classes=[0, 1]).fit(certain, y)
    proba = model.predict_proba(np.array([[-1.0], [1.0], [1e300], [-1e300]]))
    assert ((proba > 0) & (proba < 1)).all()
    assert model.score(certain, y) == 1
    assert np.isfinite(model.predict_log_proba(certain)).all()


@pytest.mark.parametrize("words", [False, True])
def test_scores_are_the_sum_of_what_is_shown(words):
    y, classes = (WORDS, ["low", "middle", "high"]) if words else (LABELS, [0, 1])
    model = DPBoostingClassifier(2.0, delta=1e-6, bounds=(-1, 1), classes=classes, random_state=0).fit(X, y)
    assert len(model.interactions_) > 0
    total = np.tile(model.intercept_, (N, 1))
    codes = []
    for shape, column in zip(model.shape_functions_, X.T, strict=True):
        code = np.searchsorted(shape.edges[1:-1], column, side="right")
        codes.append(code)
        total += shape.values[code].reshape(N, -1)
        assert shape.std.shape == shape.values.shape
        assert len(shape.labels) == len(shape.values) == len(shape.sizes)
    for step in model.interactions_:
        cell = np.zeros(N, dtype=int)
        for name, groups in zip(step.names, step.grid.groups, strict=True):
            cell = cell * 2 + groups[codes[int(name[1:])]]
        total += step.values[cell].reshape(N, -1)
    np.testing.assert_allclose(model.decision_function(X).reshape(N, -1), np.clip(total, -16, 16), atol=1e-6)
    assert model.feature_importances_.sum() == pytest.approx(1)


def test_the_stated_noise_is_that_of_the_shapes():
    """Over 60 seeds of noise the spread of a value is what one fit states, within the error of both."""
    fits = [
        DPBoostingRegressor(4.0, delta=1e-6, interactions=0, random_state=seed, **NUMBERS).fit(X, SIGNAL)
        for seed in range(60)
    ]
    # At the middle of the first column, whatever the bins are there.
    values, stds = [], []
    for model in fits:
        shape = model.shape_functions_[0]
        code = np.searchsorted(shape.edges[1:-1], 0.05, side="right")
        values.append(shape.values[code])
        stds.append(shape.std[code])
    # A relative standard error of 9 % of the spread; the bins move with the noise, too. A factor 3 is far.
    assert np.mean(stds) / 3 < np.std(values) < 3 * np.mean(stds)


class TestMonotone:
    @pytest.mark.parametrize("sign", [1, -1])
    def test_predictions_never_turn(self, sign):
        model = DPBoostingClassifier(
            0.5, delta=1e-6, monotonic_cst=[sign, 0, sign, 0], random_state=3, **BOX
        ).fit(X, LABELS)
        assert not any({"x0", "x2"} & set(step.names) for step in model.interactions_)
        rows = np.repeat(RNG.uniform(-1, 1, (20, 4)), 200, axis=0)
        for column in (0, 2):
            table = rows.copy()
            table[:, column] = np.tile(np.linspace(-2, 2, 200), 20)
            scores = model.decision_function(table).reshape(20, 200)
            assert (sign * np.diff(scores, axis=1) >= 0).all()
        # Free columns do turn.
        table = rows.copy()
        table[:, 1] = np.tile(np.linspace(-2, 2, 200), 20)
        assert (np.diff(model.decision_function(table).reshape(20, 200), axis=1) != 0).any()

    def test_numbers_and_names(self):
        frame = pd.DataFrame(X, columns=list("abcd"))
        model = DPBoostingRegressor(1.0, monotonic_cst={"b": -1}, random_state=0, **NUMBERS)
        shape = model.fit(frame, SIGNAL).shape_functions_[1]
        assert shape.name == "b"
        assert (np.diff(shape.values) <= 0).all()


class TestDeclaredColumns:
    DOMAIN = TableDomain(
        {
            "age": NumberColumn(0, 100, missing="indicator"),
            "job": CategoricalColumn(["clerk", "nurse", "smith"], missing="indicator", fill="nurse"),
            "size": CategoricalColumn(["s", "m", "l"], ordered=True),
            "day": ("2020-01-01", "2020-12-31"),
            "member": bool,
        }
    )

    def table(self, n=6000):
        rng = np.random.default_rng(5)
        age = rng.uniform(0, 100, n)
        age[rng.random(n) < 0.2] = np.nan
        job = rng.choice(["clerk", "nurse", "smith", None], n)
        table = {
            "age": age,
            "job": job,
            "size": rng.choice(["s", "m", "l"], n),
            "day": np.datetime64("2020-01-01") + rng.integers(0, 366, n),
            "member": rng.random(n) < 0.5,
        }
        y = np.where(np.isnan(age), 1, age > 50) ^ (job == "smith")
        return pd.DataFrame(table), y.astype(int)

    def test_levels_and_missing_values_are_cells(self):
        table, y = self.table()
        model = DPBoostingClassifier(4.0, delta=1e-6, domain=self.DOMAIN, classes=[0, 1], random_state=0)
        model.fit(table, y)
        assert model.score(table, y) > 0.8
        shapes = {shape.name: shape for shape in model.shape_functions_}
        assert list(shapes) == list(self.DOMAIN.names)
        assert shapes["age"].has_missing
        assert shapes["age"].values[-1] > shapes["age"].values[0] + 1
        assert shapes["job"].labels == ["clerk", "nurse", "smith", "missing"]
        assert shapes["job"].values[2] == min(shapes["job"].values)
        assert shapes["size"].labels == ["s", "m", "l"]
        assert shapes["member"].labels == ["False", "True"]
        assert model.n_features_in_ == len(model.feature_importances_) == 5


class TestSpending:
    def test_one_charge_of_the_whole_amount(self, tmp_path):
        ledger = PrivacyLedger(tmp_path / "fits.ledger", epsilon=1.5, delta=1e-5)
        model = DPBoostingClassifier(1.0, delta=1e-6, ledger=ledger, **BOX).fit(X, LABELS)
        spent = model.privacy_spent_
        (entry,) = ledger.entries()
        assert (entry.epsilon, entry.delta) == (spent.epsilon, spent.delta)
        assert spent.epsilon == zcdp_to_epsilon(spent.rho, spent.delta) <= 1
        before = model.decision_function(X)
        with pytest.raises(BudgetExceededError):
            model.fit(X, LABELS)
        np.testing.assert_array_equal(model.decision_function(X), before)

    def test_persons(self):
        groups = np.arange(N) // 4
        spent = (
            DPBoostingClassifier(1.0, max_rows_per_group=2, **BOX)
            .fit(X, LABELS, groups=groups)
            .privacy_spent_
        )
        assert (spent.unit, spent.max_rows_per_unit) == ("group", 2)
        assert spent.unprotected["private rows"] == N // 2

    def test_the_number_of_rows_is_protected_where_one_is_added(self):
        spent = DPBoostingClassifier(1.0, relation="add-remove", **BOX).fit(X, LABELS).privacy_spent_
        assert "private rows" not in spent.unprotected
        assert spent.relation == "add-remove"

    def test_what_is_read_from_rows_is_told(self):
        with pytest.warns(PrivacyLeakWarning, match="bounds of X.*classes"):
            assert not DPBoostingClassifier().fit(X, LABELS).privacy_spent_.private
        with config_context(strict=True), pytest.raises(PrivacyLeakError):
            DPBoostingRegressor().fit(X, SIGNAL)
        assert DPBoostingClassifier().fit(X, LABELS, is_public=PUBLIC).privacy_spent_.private


class TestPublicModel:
    def test_it_helps_where_it_is_right(self):
        parameters = {"epsilon": 0.2, "random_state": 0, **BOX}
        plain = DPBoostingClassifier(**parameters).fit(X[:1500], LABELS[:1500], is_public=PUBLIC[:1500])
        model = DPBoostingClassifier(public_model=FOREST, **parameters)
        model.fit(X[:1500], LABELS[:1500], is_public=PUBLIC[:1500])
        assert model.score(X, LABELS) > plain.score(X, LABELS) + 0.01
        assert model.shape_functions_[-1].name == "public_model"
        assert "a model fitted to the public rows" in model.privacy_spent_.public_inputs
        again = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))

    def test_wrong_labels_are_repaired(self):
        y = np.where(PUBLIC, 1 - LABELS, LABELS)
        model = DPBoostingClassifier(2.0, delta=1e-6, public_model=FOREST, random_state=0, **BOX)
        assert model.fit(X, y, is_public=PUBLIC).score(X[~PUBLIC], LABELS[~PUBLIC]) > 0.8

    def test_three_classes_and_numbers(self):
        options, some = {"delta": 1e-6, "random_state": 0}, slice(3000)
        words = DPBoostingClassifier(2.0, bounds=(-1, 1), public_model=FOREST, **options)
        words.fit(X[some], WORDS[some], is_public=PUBLIC[some])
        assert words.score(X, WORDS) > best_of_base_rate(WORDS) + 0.25
        numbers = DPBoostingRegressor(2.0, public_model=LinearRegression(), **options, **NUMBERS)
        numbers.fit(X[some], SIGNAL[some], is_public=PUBLIC[some])
        assert numbers.score(X, SIGNAL) > LinearRegression().fit(X, SIGNAL).score(X, SIGNAL) + 0.03

    @pytest.mark.filterwarnings("ignore::skprivate.exceptions.UtilityWarning")
    @pytest.mark.parametrize("unknown", ["error", "warn"])
    @pytest.mark.parametrize("strict", [False, True])
    def test_what_it_says_of_private_rows_stays_unsaid(self, unknown, strict):
        codes, labels, public = np.round(X[:100]), LABELS[:100], np.arange(100) < 50
        codes[-1, 0] = 0.7123456
        encoder = OneHotEncoder(handle_unknown=unknown, categories=[[-1.0, 0.0, 1.0]] * 4)
        model = DPBoostingClassifier(public_model=make_pipeline(encoder, LogisticRegression()), **BOX)
        with config_context(strict=strict):
            if strict or unknown == "warn":
                assert model.fit(codes, labels, is_public=public).privacy_spent_.private
            else:
                with pytest.raises(ValueError, match="cannot predict all private rows") as caught:
                    model.fit(codes, labels, is_public=public)
                assert caught.value.__context__ is None
