# SPDX-License-Identifier: BSD-3-Clause
"""Log loss, balanced accuracy and AUC: scikit-learn's on public rows, one bounded release on private ones."""

from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from scipy.special import expit
from sklearn.metrics import balanced_accuracy_score, get_scorer, roc_auc_score

from skprivate import DPBoostingClassifier, DPTreeClassifier, config_context
from skprivate.exceptions import PrivacyLeakError, PrivacyLeakWarning
from skprivate.metrics._model_outputs import inner_ends
from skprivate.model_selection import PrivateGridSearch, _scoring
from skprivate.model_selection._scoring import (
    CLASS_SCORERS,
    SCORE_STEPS,
    ScoringRows,
    accuracy,
    area_under_curve,
    balanced_accuracy,
    log_loss_bound,
)
from skprivate.noise import DiscreteLaplaceMechanism, check_entropy

NAMES = ["balanced_accuracy", "roc_auc", "neg_log_loss"]
RNG = np.random.default_rng(0)
X = RNG.uniform(size=(600, 2))
Y = (X[:, 0] + RNG.normal(size=600) > 1).astype(int)


class FromColumn:
    """The first column of X is the probability of the last class; others share the rest."""

    def __init__(self, classes=(0, 1)):
        self.classes_ = np.array(classes)

    def predict_proba(self, X):
        rest = (1 - X[:, :1]) / (len(self.classes_) - 1)
        return np.hstack([np.repeat(rest, len(self.classes_) - 1, axis=1), X[:, :1]])

    def predict(self, X):
        if (X[:, 0] > 1).any():
            raise ValueError("secret")
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def rows(p, y, groups=None, epsilon=None):
    p, y = np.asarray(p, dtype=float), np.asarray(y)
    n_units = len(y) if groups is None else int(np.max(groups)) + 1
    return ScoringRows(p[:, None], y, groups, n_units, None if epsilon is None else Fraction(epsilon))


def score(name, scored, model=None, entropy=None):
    return float(scored.score(CLASS_SCORERS[name], model or FromColumn(), check_entropy(entropy)))


def tree(epsilon=1.0, **parameters):
    return DPTreeClassifier(epsilon, **{"bounds": (0, 1), "classes": [0, 1], **parameters})


# Public rows.


@pytest.mark.parametrize("name", NAMES)
def test_a_search_shows_the_exact_score_of_public_validation_rows(name):
    public = np.arange(600) < 200
    search = PrivateGridSearch(tree(), {"max_depth": [1, 2]}, scoring=name)
    search.fit(X, Y, is_public_validation=public)
    expected = get_scorer(name)(search.best_estimator_, X[public], Y[public])
    assert search.best_score_ == pytest.approx(expected, abs=1e-12)


# Sensitivity.


class Recorder(DiscreteLaplaceMechanism):
    """The mechanism, without noise; remembers what it was to release, at which sensitivity."""

    seen: list = []

    def __init__(self, epsilon, sensitivity=1):
        super().__init__(epsilon, sensitivity)
        self.claimed = sensitivity

    def randomize(self, values, random_state=None):
        self.seen.append((np.array(values, dtype=object), self.claimed))
        return np.asarray(values)


@pytest.fixture
def releases(monkeypatch):
    monkeypatch.setattr(_scoring, "DiscreteLaplaceMechanism", Recorder)
    Recorder.seen = []
    return Recorder.seen


# Extreme rows: certain and wrong, certain and right, tiny and even probabilities, no class at all.
EXTREME = [*product((0.0, 1e-300, 0.5, 1 - 1e-16, 1.0), (0, 1, 7))]


@pytest.mark.parametrize(("name", "cells"), [("balanced_accuracy", 2), ("roc_auc", 2), ("neg_log_loss", 1)])
def test_replacing_any_row_by_any_other_moves_one_release_by_its_sensitivity_at_most(name, cells, releases):
    others = [(0.3, 0), (0.9, 1), (0.6, 0)]
    for one in EXTREME:
        p, y = zip(one, *others, strict=True)
        score(name, rows(p, y, epsilon=1))
    values = [released for released, _ in releases]
    # One release of one sum or table for each score, and its sensitivity is that of the noise.
    assert len(releases) == len(EXTREME)
    assert {claimed for _, claimed in releases} == {cells * SCORE_STEPS}
    moves = [abs(first - second).sum() for first in values for second in values]
    assert max(moves) == cells * SCORE_STEPS


def test_replacing_a_person_by_any_rows_moves_a_table_by_two_units_at_most():
    n_cells = 3
    persons = [one for size in (1, 2, 3) for one in combinations_with_replacement(range(n_cells), size)]
    tables = []
    for own in persons:
        cells = np.array([*own, 0, 1, 1, 2, 0, 2])
        groups = np.array([0] * len(own) + [1, 1, 1, 2, 2, 2])
        scored = ScoringRows(np.zeros((len(cells), 1)), np.zeros(len(cells)), groups, 3, Fraction(1))
        tables.append(scored.masses(cells, n_cells))
    assert all(table.sum() <= 3 * SCORE_STEPS for table in tables)
    moves = [np.abs(first - second).sum() for first in tables for second in tables]
    assert max(moves) == 2 * SCORE_STEPS


def test_a_person_counts_once_however_many_rows_it_has():
    scored = ScoringRows(np.zeros((5, 1)), np.zeros(5), np.array([0, 0, 0, 0, 1]), 2, Fraction(1))
    masses = scored.masses(np.array([0, 0, 0, 1, 1]), 3)
    assert masses.tolist() == [SCORE_STEPS * 3 // 4, SCORE_STEPS // 4 + SCORE_STEPS, 0]


class HalfNoise(DiscreteLaplaceMechanism):
    """Noise for half of the sensitivity that is asked for."""

    def __init__(self, epsilon, sensitivity=1):
        super().__init__(epsilon, sensitivity // 2)


TRIALS = 10_000


def audited(epsilon_lower_bound):
    """A lower bound on the epsilon of a table: one unit is in cell 0, or in cell 1."""
    counts = []
    for cells in (np.array([0, 2]), np.array([1, 2])):
        scored = ScoringRows(np.zeros((2, 1)), np.zeros(2), None, 2, Fraction(2))
        entropy = check_entropy(None)
        found = [scored.noisy_counts(cells, 4, scored.epsilon, entropy)[0] for _ in range(TRIALS)]
        counts.append(sum(table[1] - table[0] >= 2 for table in found))
    # A sound table fails with probability 1e-9 at most.
    return epsilon_lower_bound(counts[1], counts[0], TRIALS, 1 - 1e-9)


@pytest.mark.statistical
def test_a_table_stays_below_its_epsilon_and_half_of_the_noise_is_caught(epsilon_lower_bound, monkeypatch):
    assert audited(epsilon_lower_bound) <= 2
    monkeypatch.setattr(_scoring, "DiscreteLaplaceMechanism", HalfNoise)
    assert audited(epsilon_lower_bound) > 2


@pytest.mark.statistical
def test_the_stated_deviation_is_that_of_the_counts():
    scored = ScoringRows(np.zeros((2, 1)), np.zeros(2), None, 2, Fraction(1))
    entropy = check_entropy(3)
    tables = [scored.noisy_counts(np.array([0, 1]), 50, scored.epsilon, entropy) for _ in range(200)]
    noise = np.concatenate([counts for counts, _ in tables])
    # 10,000 draws of Laplace noise: the mean square has a standard error of 5^(1/2) / 100 of itself, 2.2 %.
    assert np.mean(noise**2) == pytest.approx(tables[0][1] ** 2, rel=6 * 0.0224 + 0.02)
    assert all(counts.sum() == pytest.approx(2) for counts, _ in tables)


# What follows from a table.


def binned(p, y, ends):
    place, n_bins = np.searchsorted(ends, p), len(ends) + 1
    table = np.bincount(y * n_bins + place, minlength=2 * n_bins).reshape(2, n_bins).astype(float)
    return table, place


def test_without_noise_a_table_gives_the_scores_of_scikit_learn():
    rng = np.random.default_rng(2)
    p = rng.uniform(size=500)
    y = (rng.uniform(size=500) < p).astype(int)
    table, place = binned(p, y, inner_ends(10))
    assert area_under_curve(*table, 0.0) == pytest.approx(roc_auc_score(y, place), abs=1e-12)
    labels, predicted = rng.integers(0, 4, 500), rng.integers(0, 4, 500)
    counts = np.bincount(2 * labels + (labels == predicted), minlength=8).reshape(4, 2).astype(float)
    assert balanced_accuracy(counts, 0.0) == pytest.approx(balanced_accuracy_score(labels, predicted))


@pytest.mark.statistical
@pytest.mark.parametrize("positives", [50, 400, 3_000])
def test_noise_biases_a_score_by_no_more_than_is_stated(positives):
    std, n_tables = 3.0, 4_000
    rng = np.random.default_rng(positives)
    shape = np.array([[0.5, 0.3, 0.15, 0.05], [0.1, 0.2, 0.3, 0.4]])
    table = shape * np.array([[6_000.0 - positives], [positives]])
    order = np.sign(np.subtract.outer(np.arange(4), np.arange(4)))
    above, below = order @ table[0], order.T @ table[1]
    v = std**2 * (above @ above + below @ below) + std**4 * 12
    pairs = positives * (6_000.0 - positives)
    exact = area_under_curve(*table, 0.0)
    stated = (exact - 0.5) * v / (v + pairs**2 / 3)
    noise = rng.laplace(scale=std / np.sqrt(2), size=(n_tables, 2, 4))
    noise -= noise.mean(axis=(1, 2), keepdims=True)
    found = np.array([area_under_curve(*one, std) for one in table + noise])
    error = found.std() / np.sqrt(n_tables)
    # Besides, the denominator's noise: its relative variance, of second order.
    second = 8 * std**2 / positives**2
    assert -stated - second - 6 * error <= found.mean() - exact <= second + 6 * error


@pytest.mark.statistical
def test_the_variance_of_balanced_accuracy_is_the_stated_one():
    std, counts = 3.0, np.array([[500.0, 4_500.0], [80.0, 120.0]])
    rng = np.random.default_rng(9)
    found = [
        balanced_accuracy(counts + one, std)
        for one in rng.laplace(scale=std / np.sqrt(2), size=(4_000, 2, 2))
    ]
    parts = [(0.9**2 + 0.1**2) / 5_000**2, (0.6**2 + 0.4**2) / 200**2]
    # Laplace noise: the variance of 4,000 draws has a standard error of 3.5 %.
    assert np.var(found) == pytest.approx(std**2 * sum(parts) / 4, rel=6 * 0.035)


def test_a_class_with_fewer_rows_than_the_noise_is_drawn_towards_the_accuracy():
    counts = np.array([[100.0, 900.0], [4.0, 0.0]])
    assert balanced_accuracy(counts, 0.0) == pytest.approx(0.45)
    assert balanced_accuracy(counts, 30.0) == pytest.approx(0.9, abs=0.01)
    # Nobody, it seems: nothing but the accuracy is known of the class.
    assert balanced_accuracy(np.array([[100.0, 900.0], [-2.0, -3.0]]), 3.0) == pytest.approx(0.9, abs=0.01)
    # And with no pairs that could be told from noise, an AUC of one half.
    assert area_under_curve(np.full(4, 20.0), np.array([-1.0, 0.0, -1.0, 1.0]), 3.0) == 0.5


def test_the_bound_of_the_log_loss_makes_its_bias_as_large_as_the_noise():
    for n, epsilon, n_classes in ((200, 1, 2), (20_000, 0.5, 2), (5_000, 1, 5)):
        bound = log_loss_bound(n, Fraction(epsilon), n_classes)
        noise = np.sqrt(2) * bound / (epsilon * n)
        assert (n_classes - 1) * np.exp(-bound) / np.e == pytest.approx(noise)
    assert log_loss_bound(10, Fraction(1, 100), 3) == pytest.approx(np.log(6))


@pytest.mark.slow
@pytest.mark.statistical
def test_private_scores_are_those_of_the_rows_up_to_noise():
    rng = np.random.default_rng(4)
    p = expit(rng.normal(scale=1.5, size=20_000))
    y = (rng.uniform(size=20_000) < p).astype(int)
    for name, within in (("roc_auc", 0.01), ("balanced_accuracy", 0.005), ("neg_log_loss", 0.005)):
        exact = score(name, rows(p, y))
        # Noise of a deviation of 1e-3 at most; the AUC of some 34 intervals.
        assert score(name, rows(p, y, epsilon=1), entropy=5) == pytest.approx(exact, abs=within)


@pytest.mark.statistical
def test_a_rare_class_counts():
    rng = np.random.default_rng(7)
    y = (rng.uniform(size=4_000) < 0.05).astype(int)
    p = np.where(y == 1, rng.uniform(0.3, 1.0, 4_000), rng.uniform(0.0, 0.6, 4_000))
    useful, constant = rows(p, y, epsilon=1), rows(np.full(4_000, 0.05), y, epsilon=1)
    for name in NAMES[:2]:
        assert score(name, useful, entropy=8) > score(name, constant, entropy=9) + 0.1
    assert useful.score(accuracy, FromColumn(), check_entropy(8)) < constant.score(
        accuracy, FromColumn(), check_entropy(9)
    )


def test_labels_and_predictions_that_are_no_class_and_rows_that_fail(releases):
    model, p = FromColumn(), [0.9, 0.2, 1.5, 0.7]
    with config_context(strict=True):
        for name in NAMES:
            score(name, rows(p, [1, 7, 0, 0], epsilon=1))
    cells, table, total = (released for released, _ in releases)
    # Wrong and right of class 0, then of class 1: a strange label is of class 0, a row that fails is wrong.
    assert (cells / SCORE_STEPS).tolist() == [2, 1, 0, 1]
    assert table.sum() == 4 * SCORE_STEPS
    bound = log_loss_bound(4, Fraction(1), 2)
    losses = -np.log([0.9, 0.8, np.exp(-bound), 0.3])
    assert total[0] / SCORE_STEPS == pytest.approx(np.sum(1 - losses / bound), abs=1e-5)
    with pytest.raises(ValueError, match="kept back"):
        score("balanced_accuracy", rows(p, [1, 0, 1, 0]), model)
    model.predict = lambda rows: np.full(len(rows), 9)
    with pytest.warns(UserWarning, match="classes not in y_true"):  # of scikit-learn; a run hides it
        assert score("balanced_accuracy", rows(p, [1, 0, 1, 0]), model) == 0


# In a search.


THREE = np.where(X[:, 1] > 0.9, 2, Y)


def test_classes_that_are_read_are_a_leak_and_classes_of_public_rows_are_not():
    search = PrivateGridSearch(DPBoostingClassifier(bounds=(0, 1)), {"epsilon": [1.0]}, scoring="roc_auc")
    with pytest.warns(PrivacyLeakWarning):
        search.fit(X, Y)
    assert not search.privacy_spent_.private
    with pytest.warns(PrivacyLeakWarning), pytest.raises(ValueError, match="is for two classes"):
        search.fit(X, THREE)
    with config_context(strict=True), pytest.raises(PrivacyLeakError):
        search.fit(X, Y)
    public = np.arange(600) < 200
    by_rows = PrivateGridSearch(tree(classes=None), {"max_depth": [1]}, scoring="roc_auc")
    assert by_rows.fit(X, Y, is_public=public).privacy_spent_.private
    with pytest.raises(ValueError, match="is for two classes"):
        by_rows.fit(X, THREE, is_public=public)
