# SPDX-License-Identifier: BSD-3-Clause
"""Games of users: what is asked of their functions, residual, regret, solution, monotonicity."""

from contextlib import nullcontext

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from skprivate.exceptions import UtilityWarning
from skprivate.games import AggregativeGame, QuadraticAggregativeGame, Simplex
from tests.games.conftest import N, n, nash


def test_a_users_projection_is_the_set():
    def onto_disc(points):
        return points / np.maximum(1.0, np.linalg.norm(points, axis=1, keepdims=True))

    game = AggregativeGame(lambda x, v: x - 2.0, 3, 2, projection=onto_disc, diameter=2 * np.sqrt(2))
    assert game.constraint.diameter == pytest.approx(2.828, abs=1e-3)
    np.testing.assert_allclose(game.solve(), np.full((3, 2), np.sqrt(0.5)), atol=1e-9)


@pytest.mark.parametrize("unit", [1e-12, 1e-200, 1e12])
def test_a_mean_inside_is_refused_in_any_unit(unit):
    with pytest.raises(ValueError, match="row i of the result must depend"):
        AggregativeGame(lambda x, v: unit * (x + x.mean(axis=0)), N, n)
    AggregativeGame(lambda x, v: unit * (x + v), N, n)


def test_the_largest_numbers_are_compared_without_overflow(recwarn):
    AggregativeGame(lambda x, v: np.full(x.shape, 1.5e308), N, n)
    assert not recwarn.list


def test_a_game_that_is_not_monotone_warns():
    game = AggregativeGame(lambda x, v: -x, N, n, bounds=(-1, 1))
    with pytest.warns(UtilityWarning, match="not monotone"):
        x = game.solve(start=np.full((N, n), 0.1))
    np.testing.assert_array_equal(x, np.ones((N, n)))


def test_no_convergence_warns():
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        AggregativeGame(nash, N, n).solve(max_iter=2)
    endless = AggregativeGame(lambda x, v: np.ones_like(x), N, n)
    with pytest.warns(ConvergenceWarning, match="need not"):
        endless.solve(max_iter=50)


def test_regret_refuses_costs_that_are_not_finite_where_the_players_are():
    game = AggregativeGame(
        lambda x, mean: x, 3, bounds=(0, 1), cost=lambda x, mean: np.where(x[:, 0] > 0.9, np.nan, x[:, 0])
    )
    assert game.regret([0.5, 0.5, 0.5]) == pytest.approx(0.5, abs=1e-6)
    with pytest.raises(ValueError, match="not finite"):
        game.regret([0.5, 0.5, 0.95])


@pytest.mark.parametrize(("unit", "cost"), [(1, 1e-8), (1, 1e8), (1e-3, 1e4), (1e3, 1e-4)])
def test_responses_do_not_depend_on_units(unit, cost):
    def responses(unit, cost):
        def gradient(x, mean):
            return cost * (2 * x / unit + np.array([2.0, 1.0, 0.0, 1.0]) + mean / unit) / unit

        game = AggregativeGame(gradient, 5, 4, bounds=Simplex(8 * unit))
        return game.respond(np.full(4, 2.0 * unit)) / unit

    assert responses(unit, cost) == pytest.approx(responses(1, 1), abs=1e-6)
    assert np.ptp(responses(1, 1)[0]) > 0.5


def test_responses_to_steep_costs_are_found_or_warn():
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(6, 6)))[0]
    for steepest, handled in ((1e3, nullcontext()), (1e6, pytest.warns(ConvergenceWarning, match="steeper"))):
        P = turn @ np.diag(np.geomspace(1, steepest, 6)) @ turn.T
        game = QuadraticAggregativeGame(P, 0.0, np.arange(-6.0, 6.0).reshape(2, 6), bounds=(-1, 1))
        with handled:
            off = game.residual(game.respond(np.zeros(6)))
        assert (off < 1e-4) == (steepest == 1e3)
