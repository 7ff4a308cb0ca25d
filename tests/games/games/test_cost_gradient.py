# SPDX-License-Identifier: BSD-3-Clause
"""Games from costs: their gradients by differences or by the user, and their equilibria."""

import pickle

import numpy as np
import pytest

from skprivate.games import (
    AggregativeGame,
    QuadraticAggregativeGame,
)
from skprivate.games._games import cost_gradient
from skprivate.games._games.cost_gradient import CostDifferences
from tests.games.conftest import N, P, Q, R, cost, derivatives, n


def curved(x, aggregate):
    return np.exp(x).sum(axis=1) + np.sin(aggregate).sum(axis=1) * x[:, 0]


def curved_derivatives(x, aggregate):
    by_strategy = np.exp(x)
    by_strategy[:, 0] += np.sin(aggregate).sum(axis=1)
    return by_strategy, np.cos(aggregate) * x[:, :1]


@pytest.mark.parametrize("gradient", [None, derivatives], ids=["differences", "by hand"])
def test_a_game_from_its_cost_is_the_quadratic_one(bounds, gradient):
    game = AggregativeGame.from_cost(cost, N, n, bounds=bounds, gradient=gradient)
    known = QuadraticAggregativeGame(P, Q, R, bounds)
    x = game.constraint.project(np.random.default_rng(0).normal(size=(N, n)))
    # Differences have about ten digits.
    np.testing.assert_allclose(game.pseudo_gradient(x, x.mean(axis=0)), known._operator(x), atol=1e-8)
    np.testing.assert_allclose(game.solve(), known.solve(), atol=1e-7)
    # The regret does not depend on the gradient.
    assert gradient is None or game.regret(known.solve()) < 1e-8


@pytest.mark.parametrize("own_effect", [True, False, 0.3, np.linspace(0, 1, N)], ids=str)
def test_the_own_effect_is_the_weight_times_the_derivative_by_the_aggregate(bounds, own_effect):
    x = np.random.default_rng(0).uniform(-0.2, 0.1, (N, n))
    estimates = np.random.default_rng(1).normal(size=(N, n))
    weights = {True: 1 / N, False: 0.0}[own_effect] if isinstance(own_effect, bool) else own_effect
    by_strategy, by_aggregate = curved_derivatives(x, estimates)
    expected = by_strategy + np.broadcast_to(weights, N)[:, None] * by_aggregate
    found = AggregativeGame.from_cost(curved, N, n, bounds=bounds, own_effect=own_effect, check=False)
    np.testing.assert_allclose(found.pseudo_gradient(x, estimates), expected, atol=1e-8)
    chained = AggregativeGame.from_cost(
        curved, N, n, bounds=bounds, gradient=curved_derivatives, own_effect=own_effect, check=False
    )
    np.testing.assert_allclose(chained.pseudo_gradient(x, estimates), expected, atol=1e-12)


def test_rows_that_stand_for_many_players_are_as_the_players_written_out():
    def of(unit):
        return lambda x, mean: x[:, 0] ** 2 + unit * x[:, 0] + x[:, 0] * mean[:, 0]

    kinds = np.array([-3.0, -1.0])
    rows = AggregativeGame.from_cost(of(kinds), 2, bounds=(0, 5), own_effect=1 / 8)
    players = AggregativeGame.from_cost(of(np.repeat(kinds, 4)), 8, bounds=(0, 5))
    np.testing.assert_allclose(np.repeat(rows.solve(), 4, axis=0), players.solve(), atol=1e-8)
    x = np.array([[0.5], [1.5]])
    assert rows.regret(x) == pytest.approx(players.regret(np.repeat(x, 4, axis=0)), rel=1e-6)


def test_the_step_is_near_the_best_of_all():
    # A function of three widths of its set, whatever the units: errors of other steps are larger.
    for width in (1e-3, 1.0, 1e4):

        def wave(x, mean, width=width):
            return np.cos(3 * x[:, 0] / width) + 2

        x = width * np.linspace(0.1, 0.9, 200)[:, None]
        exact = -3 / width * np.sin(3 * x / width)
        sides = np.zeros(1), np.full(1, width)

        def error(factor, wave=wave, x=x, exact=exact, sides=sides, width=width):
            # The step grows as the cube root of the precision that is told.
            differences = CostDifferences(wave, np.zeros(200), sides, np.inf, factor**3 * np.finfo(float).eps)
            return np.sqrt(np.square(differences(x, x) - exact).mean()) * width

        assert error(1) < 1e-9
        assert error(1) < min(error(0.01), error(30)) / 5


def test_a_solution_is_found_to_the_rounding_of_its_cost(recwarn):
    # Differences of 1 in costs of 1e6 leave three digits of the slope, single precision two.
    for offset, kind, accuracy in ((1e6, np.float64, 1e-3), (0.0, np.float32, 1e-2), (0.0, np.float64, 1e-8)):

        def rough(x, mean, offset=offset, kind=kind):
            return (offset + (x[:, 0] - 0.3) ** 2 + mean[:, 0] * x[:, 0]).astype(kind)

        found = AggregativeGame.from_cost(rough, 5, bounds=(0, 1)).solve()
        np.testing.assert_allclose(found, 0.1875, atol=accuracy)
    single = AggregativeGame(lambda x, mean: (x - 7.0 + mean).astype(np.float32), 5)
    np.testing.assert_allclose(single.solve(), 3.5, atol=1e-4)
    assert not recwarn.list


def test_a_game_of_functions_that_can_be_pickled_is_pickled():
    for gradient in (None, derivatives):
        game = AggregativeGame.from_cost(cost, N, n, bounds=(-1, 1), gradient=gradient, own_effect=0.2)
        copy = pickle.loads(pickle.dumps(game))
        np.testing.assert_array_equal(copy.pseudo_gradient(R / 9, R), game.pseudo_gradient(R / 9, R))
        assert copy.regret(np.zeros((N, n))) == game.regret(np.zeros((N, n)))


def test_the_step_comes_from_the_precision_and_the_set():
    assert cost_gradient.precision_of(np.zeros(2, np.float32), np.zeros(2)) == np.finfo(np.float32).eps
    free = CostDifferences(cost, np.zeros(N), (np.full(1, -np.inf), np.full(1, np.inf)), np.inf, 1e-15)
    np.testing.assert_allclose(free.steps(np.array([[0.0, -300.0]])), [[1e-5, 3e-3]])
