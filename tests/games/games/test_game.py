# SPDX-License-Identifier: BSD-3-Clause
"""Games of users: what is asked of their functions, residual, regret, solution, monotonicity."""

import numpy as np
import pytest

from skprivate.exceptions import UtilityWarning
from skprivate.games import AggregativeGame, QuadraticAggregativeGame, Simplex
from tests.games.conftest import N, P, Q, R, cost, n, nash


@pytest.fixture
def generator():
    return np.random.default_rng(0)


@pytest.mark.parametrize("bounds", ["free", "box", "simplex"], indirect=True)
def test_agrees_with_the_quadratic_game(bounds, generator):
    game = AggregativeGame(nash, N, n, bounds=bounds, cost=cost)
    known = QuadraticAggregativeGame(P, Q, R, bounds)
    x = game.constraint.project(generator.normal(size=(N, n)))
    assert game.residual(x) == pytest.approx(known.residual(x), rel=1e-12)
    assert game.regret(x) == pytest.approx(known.regret(x), rel=1e-6)
    solution = game.solve()
    np.testing.assert_allclose(solution, known.solve(), atol=1e-8)
    assert game.residual(solution) < 1e-8
    assert game.regret(solution) < 1e-8
    np.testing.assert_allclose(game.cost(x, x.mean(axis=0)), known.cost(x, x.mean(axis=0)))


def test_a_nonlinear_game_is_solved():
    targets = np.array([0.5, 1.0, 2.0])

    def field(x, aggregate):
        return x**3 + np.exp(aggregate) - 1 - targets[:, None]

    game = AggregativeGame(field, 3)
    x = game.solve()
    np.testing.assert_allclose(x**3, targets[:, None] + 1 - np.exp(x.mean()), atol=1e-8)


def test_the_users_functions_always_see_two_dimensions():
    shapes = set()

    def field(x, aggregate):
        shapes.update([x.shape, aggregate.shape])
        return x + aggregate

    game = AggregativeGame(field, 4, cost=lambda x, aggregate: field(x, aggregate)[:, 0])
    game.residual([0.0, 1.0, 2.0, 3.0])
    game.cost(np.zeros((4, 1)), np.zeros(1))
    game.solve()
    assert shapes == {(4, 1)}


def test_attributes():
    game = AggregativeGame(nash, N, n, bounds="simplex")
    assert (game.n_players, game.n_dims, game.private) == (N, n, frozenset({"pseudo_gradient"}))
    assert game.constraint == Simplex().fit_to(N, n)
    assert "1." not in repr(AggregativeGame(nash, N, n))
    assert game.cost(np.zeros((N, n)), np.zeros(n)) is None


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


@pytest.mark.parametrize(
    ("field", "monotone"),
    [
        (nash, None),
        (lambda x, v: -x, False),
        (lambda x, v: x - 1.01 * v, False),  # against it when all move together, and only then
        (lambda x, v: -0.01 * x + v, False),  # against it when players move apart, and only then
        (lambda x, v: np.stack([-x[:, 1], x[:, 0]], axis=1), None),
    ],
)
def test_monotonicity_is_tried_on_pairs(field, monotone):
    assert AggregativeGame(field, N, n).is_monotone() is monotone


def test_a_game_that_is_not_monotone_warns():
    game = AggregativeGame(lambda x, v: -x, N, n, bounds=(-1, 1))
    with pytest.warns(UtilityWarning, match="not monotone"):
        x = game.solve(start=np.full((N, n), 0.1))
    np.testing.assert_array_equal(x, np.ones((N, n)))


def test_no_convergence_warns():
    from sklearn.exceptions import ConvergenceWarning

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


def test_residual_is_that_of_the_player_farthest_off():
    game = AggregativeGame(lambda x, mean: x, 3, 2)
    assert game.residual([[0.0, 0.0], [3.0, 4.0], [1.0, 1.0]]) == pytest.approx(5.0)
