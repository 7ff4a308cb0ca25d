# SPDX-License-Identifier: BSD-3-Clause
"""End to end: what a search releases tells two neighbours apart by (2 + eta) epsilon at most."""

from fractions import Fraction

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin

from skprivate.base import PlannedCost, PrivateEstimatorMixin, private_fit
from skprivate.model_selection import PrivateGridSearch, _private_search, _scoring
from skprivate.noise import DiscreteLaplaceMechanism
from tests.accounting.records import spend

pytestmark = pytest.mark.statistical

EPSILON = Fraction(1, 4)
TRIALS = 300
# The noise comes from the operating system: a sound search fails with probability 1e-9 at most.
CONFIDENCE = 1 - 1e-9
X = np.zeros((2, 1))
NEIGHBOURS = np.array([0, 0]), np.array([0, 1])


class Guess(PrivateEstimatorMixin, ClassifierMixin, BaseEstimator):
    """Answers a label; releases the noisy number of its rows that have label 1."""

    def __init__(self, label=0, epsilon=EPSILON, ledger=None):
        self.label, self.epsilon, self.ledger = label, epsilon, ledger

    _parameter_constraints = {}

    def planned_cost(self, any_public):
        return PlannedCost(epsilon=self.epsilon, relation="replace-one")

    @private_fit
    def fit(self, X, y):
        self.privacy_spent_ = spend(self.epsilon)
        self.count_ = int(DiscreteLaplaceMechanism(self.epsilon).randomize([int(np.sum(y))])[0])
        self.classes_ = np.array([0, 1])
        return self

    def predict(self, X):
        return np.full(len(X), self.label)


def audited(epsilon_lower_bound, *events):
    """Lower bounds on the epsilon of a search, from events of the same runs on two neighbours."""
    counts = []
    for y in NEIGHBOURS:
        search = PrivateGridSearch(Guess(), {"label": [0, 1]}, eta=1, validation_fraction=0.5)
        found = np.zeros(len(events), dtype=int)
        for _ in range(TRIALS):
            search.fit(X, y)
            found += [event(search) for event in events]
        counts.append(found.tolist())
    unlikely, likely = counts
    return [
        epsilon_lower_bound(ours, theirs, TRIALS, CONFIDENCE)
        for ours, theirs in zip(likely, unlikely, strict=True)
    ]


def guessed_right(search):
    """Label 1 has a high score: so one of the rows is of class 1."""
    return search.best_params_["label"] == 1 and search.best_score_ > 0.9


def counted(search):
    return search.best_estimator_.count_ >= 1


@pytest.mark.slow
def test_a_sound_search_stays_below_its_claim(epsilon_lower_bound):
    assert max(audited(epsilon_lower_bound, guessed_right, counted)) <= 3 * EPSILON


class Without(DiscreteLaplaceMechanism):
    def randomize(self, values, random_state=None):
        return np.asarray(values)


@pytest.mark.slow
def test_scores_without_noise_are_caught(epsilon_lower_bound, monkeypatch):
    monkeypatch.setattr(_scoring, "DiscreteLaplaceMechanism", Without)
    assert audited(epsilon_lower_bound, guessed_right)[0] > 3 * EPSILON


def by_hidden_count(drawn_from):
    """As `best_run`, with the exact number of ones in all rows as the score."""

    def best_run(task, drawn, seeds, n_jobs):
        run, candidate = drawn_from(task, drawn, seeds, n_jobs)
        ones = int(np.sum(task.y) + np.sum(task.scoring_rows.y))
        return run._replace(score=Fraction(ones)), candidate

    return best_run


@pytest.mark.slow
def test_a_released_exact_count_is_caught(epsilon_lower_bound, monkeypatch):
    monkeypatch.setattr(_private_search, "best_run", by_hidden_count(_private_search.best_run))
    assert audited(epsilon_lower_bound, lambda search: search.best_score_ == 1)[0] > 3 * EPSILON
