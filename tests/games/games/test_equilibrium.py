# SPDX-License-Identifier: BSD-3-Clause
"""Extragradient and Newton steps, each on its own."""

import numpy as np
import pytest

from skprivate.games import QuadraticAggregativeGame, VaccinationGame
from skprivate.games._games.equilibrium import VariationalInequality, extragradient, newton
from skprivate.games._games.sets import Box, Unconstrained


@pytest.fixture
def game():
    r = np.array([[-9.0, 0.1], [9.0, -0.1], [0.1, 0.2], [-0.2, 9.0]])
    return QuadraticAggregativeGame([[2.0, 0.5], [0.5, 1.0]], [[0.5, 0.1], [0.0, 0.3]], r, (-1, 2))


def make_problem(game, tol=1e-12):
    return VariationalInequality(lambda x: game.pseudo_gradient(x, x.mean(axis=0)), game.constraint, tol)


def test_newton_and_extragradient_agree(game):
    start = game.constraint.start(4, 2)
    box = game.constraint
    by_newton = newton(make_problem(game), start, game.P_, game.Q_, box.lower, box.upper)
    by_steps, solved = extragradient(make_problem(game), start, 10_000)
    assert solved
    np.testing.assert_allclose(by_newton, by_steps, atol=1e-10)
    assert {-1.0, 2.0} < set(by_newton.ravel()), "both sides are in use, and neither holds everyone"


def test_newton_gives_up_where_its_systems_have_no_solution():
    game = QuadraticAggregativeGame(0.0, 1.0, [0.0, 1.0], own_effect=False)
    infinite = np.full(1, np.inf)
    start = np.zeros((2, 1))
    assert newton(make_problem(game), start, game.P_, game.Q_, -infinite, infinite) is None


def test_extragradient_says_whether_it_is_done(game):
    start = game.constraint.start(4, 2)
    x, solved = extragradient(make_problem(game), start, 1)
    assert not solved
    assert game.residual(x) > 1e-3
    assert extragradient(make_problem(game), game.solve(), 0)[1]


def test_a_rotation_is_solved_where_plain_gradient_steps_diverge():
    game = QuadraticAggregativeGame(0.0, [[0.0, -1.0], [1.0, 0.0]], [[1.0, 2.0]], own_effect=False)
    x, solved = extragradient(make_problem(game, 1e-10), np.zeros((1, 2)), 2000)
    assert solved
    np.testing.assert_allclose(x, [[-2.0, 1.0]], atol=1e-9)


def test_norms_are_weighted_by_player():
    problem = VariationalInequality(lambda x: x, Unconstrained(), 1e-9, np.array([4.0, 9.0]))
    assert problem.norm(np.array([[1.0, 0.0], [0.0, 2.0]])) == pytest.approx(np.sqrt(40))


def test_weights_are_used_where_only_they_make_the_game_monotone():
    generator = np.random.default_rng(0)
    alike = VaccinationGame(generator.random(50), generator.uniform(0.9, 1.1, 50))
    assert alike._monotone_weights() == (True, None)
    different = VaccinationGame(generator.random(2000), generator.uniform(0.2, 3.0, 2000))
    monotone, weights = different._monotone_weights()
    assert monotone
    spread = weights * different.Q_[:, 0, 0]
    np.testing.assert_allclose(spread, spread[0])


def test_the_tolerance_grows_with_the_numbers_of_the_game():
    large = QuadraticAggregativeGame(1e8, 1e7, 1e8 * np.linspace(-1, 1, 5)[:, None], Box(-2, 2))
    assert large.residual(large.solve()) < 1e-2
