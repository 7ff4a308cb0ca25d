# SPDX-License-Identifier: BSD-3-Clause
"""Scores are bounded per row whatever a scorer returns, and a unit moves their sum by one step at most."""

from fractions import Fraction

import numpy as np
import pytest

from skprivate import DPNormalLLSRegressor
from skprivate.model_selection._scoring import ErrorScore, ScoringRows, hold_out, resolve_scorer
from skprivate.noise import check_entropy

X = np.arange(5)[:, None]


def giving(scores):
    """Return a scorer of rows that hold their numbers."""
    return lambda estimator, X, y: np.asarray(scores)[X[:, 0]]


def rows(groups=None, epsilon=None, n=5):
    n_units = n if groups is None else int(np.max(groups)) + 1
    return ScoringRows(np.arange(n)[:, None], np.zeros(n), groups, n_units, epsilon)


def test_public_scores_are_exact_means():
    scores = np.array([0.0, 0.25, 0.5, 1.0, 1.0])
    assert rows().score(giving(scores), None, None) == Fraction(11, 20)


@pytest.mark.parametrize("groups", [None, np.array([0, 0, 0, 1, 2])])
def test_replacing_a_unit_moves_the_exact_sum_by_at_most_one_score(groups):
    first = np.array([0, 1, 2]) if groups is not None else np.array([0])
    worst, best = np.full(5, 0.3), np.full(5, 0.3)
    worst[first], best[first] = 0.0, 1.0
    scored = rows(groups)
    moved = scored.score(giving(best), None, None) - scored.score(giving(worst), None, None)
    assert moved * scored.n_units == 1


def test_noise_has_the_scale_of_one_score():
    scored = rows(epsilon=Fraction(1, 2), n=1)
    entropy = check_entropy(5)
    noise = [float(scored.score(giving(np.zeros(5)), None, entropy)) for _ in range(4000)]
    # The mean absolute value of Laplace noise is its scale, 2; its standard error here is .032.
    assert abs(np.mean(np.abs(noise)) - 2) < 6 * 0.032


def test_the_hold_out_is_random_and_of_public_size():
    held = [tuple(hold_out(50, 0.2, check_entropy(None).random_bytes)) for _ in range(20)]
    assert {sum(one) for one in held} == {10}
    assert len(set(held)) == 20
    assert hold_out(2, 0.01, check_entropy(0).random_bytes).sum() == 1
    with pytest.raises(ValueError, match="cannot be split"):
        hold_out(1, 0.5, check_entropy(0).random_bytes)


def test_bounds_are_read_from_rows_only_by_those_who_say_so():
    model, y = DPNormalLLSRegressor(), np.array([1.0, 4.0])
    assert resolve_scorer(None, model, [model], y, announced=True) == ErrorScore(3.0, 1)
    with pytest.raises(ValueError, match="declare them"):
        resolve_scorer(None, model, [model], y)
