# SPDX-License-Identifier: BSD-3-Clause
"""DPBoostingClassifier and DPBoostingRegressor: what is learnt, spent and refused."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from skprivate import DPBoostingClassifier, DPBoostingRegressor, PrivacyLedger, config_context
from skprivate.ensemble._public_scores import PublicScores
from skprivate.exceptions import BudgetExceededError
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
FOREST = RandomForestClassifier(20, random_state=0)


def best_of_base_rate(y):
    return max(np.mean(y == label) for label in np.unique(y))


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
    def test_numbers_and_names(self):
        frame = pd.DataFrame(X, columns=list("abcd"))
        model = DPBoostingRegressor(1.0, monotonic_cst={"b": -1}, random_state=0, **NUMBERS)
        shape = model.fit(frame, SIGNAL).shape_functions_[1]
        assert shape.name == "b"
        assert (np.diff(shape.values) <= 0).all()


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


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_laplace_steps_find_the_columns_that_matter_among_many(relation):
    many = np.column_stack([np.random.default_rng(2).uniform(-1, 1, (3000, 40)), X[:3000]])
    model = DPBoostingClassifier(1.0, random_state=0, relation=relation, **BOX).fit(many, LABELS[:3000])
    assert model.n_steps_ < 20
    assert np.argmax(model.feature_importances_) == 40
    assert model.score(many, LABELS[:3000]) > 0.75
    total = sum(release.epsilon for release in model.privacy_spent_.releases)
    assert 0.99 < total <= 1


class TestPublicModel:
    def test_three_classes_and_numbers(self):
        options, some = {"delta": 1e-6, "random_state": 0}, slice(3000)
        words = DPBoostingClassifier(2.0, bounds=(-1, 1), public_model=FOREST, **options)
        words.fit(X[some], WORDS[some], is_public=PUBLIC[some])
        assert words.score(X, WORDS) > best_of_base_rate(WORDS) + 0.25
        numbers = DPBoostingRegressor(2.0, public_model=LinearRegression(), **options, **NUMBERS)
        numbers.fit(X[some], SIGNAL[some], is_public=PUBLIC[some])
        assert numbers.score(X, SIGNAL) > LinearRegression().fit(X, SIGNAL).score(X, SIGNAL) + 0.03

    def test_is_put_right_at_another_base_rate(self):
        private = LABELS * (np.arange(N) % 8 == 0)
        model = DPBoostingClassifier(
            1.0, delta=1e-6, public_model=FOREST, interactions=0, random_state=0, **BOX
        )
        model.fit(X, np.where(PUBLIC, LABELS, private), is_public=PUBLIC)
        assert abs(model.predict_proba(X[~PUBLIC])[:, 1].mean() / private[~PUBLIC].mean() - 1) < 0.15

    @pytest.mark.parametrize("share", [0.1, 0.5])
    def test_is_calibrated_and_counts_for_nothing_where_labels_are_noise(self, share):
        sure = RandomForestClassifier(20, max_features=None, bootstrap=False, random_state=0)
        labels = np.where(np.random.default_rng(1).random(N) < share, 1 - LABELS, LABELS).astype(np.int32)
        scores = PublicScores.of_labels(sure, X[PUBLIC], labels[PUBLIC], np.arange(2))
        found = log_loss(labels[~PUBLIC], expit(scores.augment(X[~PUBLIC])[:, 0]))
        raw = log_loss(labels[~PUBLIC], expit(replace(scores, slope=1.0).augment(X[~PUBLIC])[:, 0]))
        assert found < raw - 0.1
        assert (scores.slope == 0) == (share == 0.5)

    def test_residuals_reach_as_far_as_its_errors(self):
        # With residuals that reach as far as the target the noise would be forty times as much.
        y, wide = SIGNAL + 50 * X[:, 2], {"bounds_X": (-1, 1), "bounds_y": (-60, 60), "random_state": 0}
        model = DPBoostingRegressor(1.0, delta=1e-6, public_model=LinearRegression(), **wide)
        model.fit(X, y, is_public=PUBLIC)
        line = LinearRegression().fit(X[PUBLIC], y[PUBLIC])
        assert np.std(y - model.predict(X)) < 0.6 * np.std(y - line.predict(X))

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
