# SPDX-License-Identifier: BSD-3-Clause
"""Games of users: what is asked of their functions, residual, regret, solution, monotonicity."""

import numpy as np
import pytest

from skprivate.exceptions import UtilityWarning
from skprivate.games import AggregativeGame, QuadraticAggregativeGame, Simplex

N, n = 6, 2
P = np.array([[2.0, 0.5], [0.5, 1.0]])
Q = np.array([[0.5, 0.1], [0.0, 0.3]])
R = np.random.default_rng(1).normal(size=(N, n))


@pytest.fixture
def generator():
    return np.random.default_rng(0)


def gradient(x, aggregate):
    """Return the pseudo-gradient of the quadratic game with the own effect."""
    return x @ (P + Q.T / N).T + aggregate @ Q.T + R


def cost(x, aggregate):
    return np.einsum("ij,ij->i", x, x @ P / 2 + aggregate @ Q.T + R)


@pytest.fixture(params=[None, (-0.2, 0.1), "simplex"], ids=["free", "box", "simplex"])
def bounds(request):
    return request.param


def test_agrees_with_the_quadratic_game(bounds, generator):
    game = AggregativeGame(gradient, N, n, bounds=bounds, cost=cost)
    known = QuadraticAggregativeGame(P, Q, R, bounds)
    x = game.constraint.project(generator.normal(size=(N, n)))
    assert game.residual(x) == pytest.approx(known.residual(x), rel=1e-12)
    assert game.regret(x) == pytest.approx(known.regret(x), rel=1e-6)
    solution = game.solve()
    np.testing.assert_allclose(solution, known.solve(), atol=1e-8)
    assert game.residual(solution) < 1e-8
    assert game.regret(solution) < 1e-8
    np.testing.assert_allclose(game.cost(x, x.mean(axis=0)), known.cost(x, x.mean(axis=0)))


def test_the_solution_does_not_depend_on_the_start(bounds, generator):
    game = AggregativeGame(gradient, N, n, bounds=bounds)
    for scale in (0.1, 10.0):
        start = generator.normal(scale=scale, size=(N, n))
        np.testing.assert_allclose(game.solve(start=start), game.solve(), atol=1e-8)


def test_a_nonlinear_game_is_solved():
    targets = np.array([0.5, 1.0, 2.0])

    def field(x, aggregate):
        return x**3 + np.exp(aggregate) - 1 - targets[:, None]

    game = AggregativeGame(field, 3)
    x = game.solve()
    np.testing.assert_allclose(x**3, targets[:, None] + 1 - np.exp(x.mean()), atol=1e-8)


def test_estimates_of_the_aggregate_go_row_by_row(generator):
    game = AggregativeGame(gradient, N, n)
    x, estimates = generator.normal(size=(2, N, n))
    np.testing.assert_array_equal(game.pseudo_gradient(x, estimates), gradient(x, estimates))
    one = estimates[0]
    np.testing.assert_allclose(game.pseudo_gradient(x, one), gradient(x, np.tile(one, (N, 1))), rtol=1e-12)


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
    game = AggregativeGame(gradient, N, n, bounds="simplex")
    assert (game.n_players, game.n_dims, game.private) == (N, n, frozenset({"pseudo_gradient"}))
    assert game.constraint == Simplex().fit_to(N, n)
    assert "1." not in repr(AggregativeGame(gradient, N, n))
    assert game.cost(np.zeros((N, n)), np.zeros(n)) is None


def test_a_users_projection_is_the_set():
    def onto_disc(points):
        return points / np.maximum(1.0, np.linalg.norm(points, axis=1, keepdims=True))

    game = AggregativeGame(lambda x, v: x - 2.0, 3, 2, projection=onto_disc, diameter=2 * np.sqrt(2))
    assert game.constraint.diameter == pytest.approx(2.828, abs=1e-3)
    np.testing.assert_allclose(game.solve(), np.full((3, 2), np.sqrt(0.5)), atol=1e-9)


def test_a_mean_inside_is_refused():
    with pytest.raises(ValueError, match="row i of the result must depend"):
        AggregativeGame(lambda x, v: x + x.mean(axis=0), N, n)
    with pytest.raises(ValueError, match="cost: row i"):
        AggregativeGame(gradient, N, n, cost=lambda x, v: x.sum(axis=1) + v.sum())


PAIRS = [1, 0, 3, 2, 5, 4, 7, 6]
MIXED = {
    "neighbours": lambda x, mean: x + 0.3 * x[PAIRS],
    "neighbours' aggregates": lambda x, mean: x + 0.3 * mean[PAIRS],
    "nothing where the own strategy is 1/2": lambda x, mean: x + (x - 0.5) * (x[::-1] - 0.5),
    "nothing where the own strategy is 0": lambda x, mean: x * (1 + x[::-1]),
    "largest": lambda x, mean: x * x.max(),
    "least": lambda x, mean: x * x.min(),
}


@pytest.mark.parametrize("bounds", [(0, 1), None, (0, 1e-6)], ids=str)
@pytest.mark.parametrize("name", MIXED)
def test_a_function_that_mixes_any_two_players_is_refused(name, bounds):
    with pytest.raises(ValueError, match="row i of the result must depend"):
        AggregativeGame(MIXED[name], 8, bounds=bounds)


def test_a_function_that_changes_from_call_to_call_is_refused():
    generator, calls = np.random.default_rng(0), []

    def remembering(x, mean):
        calls.append(1)
        return x * (1 + 0.01 * len(calls))

    for function in (lambda x, mean: x + 1e-6 * generator.normal(size=x.shape), remembering):
        with pytest.raises(ValueError, match="the same numbers whenever it is given the same arguments"):
            AggregativeGame(function, 8)
        with pytest.raises(ValueError, match="the same numbers whenever it is given the same arguments"):
            AggregativeGame.from_cost(lambda x, mean, of=function: of(x, mean)[:, 0], 8, bounds=(0, 1))


@pytest.mark.parametrize("unit", [1e-12, 1e-200, 1e12])
def test_a_mean_inside_is_refused_in_any_unit(unit):
    with pytest.raises(ValueError, match="row i of the result must depend"):
        AggregativeGame(lambda x, v: unit * (x + x.mean(axis=0)), N, n)
    AggregativeGame(lambda x, v: unit * (x + v), N, n)


def test_the_largest_numbers_are_compared_without_overflow(recwarn):
    AggregativeGame(lambda x, v: np.full(x.shape, 1.5e308), N, n)
    assert not recwarn.list


@pytest.mark.parametrize(
    ("field", "error", "message"),
    [
        (3, TypeError, "pseudo_gradient must be callable, not int"),
        (lambda x, v: x[0], ValueError, r"shape \(6, 2\).*shape \(2,\)"),
        (lambda x, v: x * 1j, ValueError, "complex128"),
        (lambda x, v: x / 0.0 * 0.0 + np.nan, ValueError, "finite"),
        (lambda x, v: np.full(x.shape, np.inf), ValueError, "finite"),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # the user's function divides by zero on purpose
def test_bad_functions(field, error, message):
    with pytest.raises(error, match=message):
        AggregativeGame(field, N, n)


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"n_players": 0}, ValueError, "n_players must be at least 1"),
        ({"n_players": 2.0}, TypeError, "n_players"),
        ({"n_dims": 0}, ValueError, "n_dims"),
        ({"cost": 3}, TypeError, "cost must be callable"),
        ({"cost": gradient}, ValueError, r"cost must return real numbers of shape \(6,\)"),
        ({"diameter": 2.0}, ValueError, "goes with a projection"),
        ({"projection": lambda z: z, "bounds": (0, 1)}, ValueError, "not both"),
        ({"bounds": (1, 0)}, ValueError, "above"),
    ],
)
def test_bad_parameters(parameters, error, message):
    with pytest.raises(error, match=message):
        AggregativeGame(gradient, **{"n_players": N, "n_dims": n, **parameters})


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (np.zeros((n, N)), "shape"),
        (np.zeros(N), "shape"),
        (np.full((N, n), np.nan), "finite"),
        ([["a", "b"]] * N, "real numbers"),
    ],
)
def test_bad_strategies(x, message):
    game = AggregativeGame(gradient, N, n, cost=cost)
    for method in (game.residual, game.regret, lambda x: game.solve(start=x)):
        with pytest.raises(ValueError, match=message):
            method(x)


def test_regret_needs_a_cost_and_strategies_of_the_set():
    with pytest.raises(ValueError, match="needs the players' costs"):
        AggregativeGame(gradient, N, n).regret(np.zeros((N, n)))
    with pytest.raises(ValueError, match="constraint set"):
        AggregativeGame(gradient, N, n, cost=cost, bounds=(0, 1)).regret(np.full((N, n), 2.0))


@pytest.mark.parametrize(
    ("field", "monotone"),
    [
        (gradient, None),
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
        AggregativeGame(gradient, N, n).solve(max_iter=2)
    endless = AggregativeGame(lambda x, v: np.ones_like(x), N, n)
    with pytest.warns(ConvergenceWarning, match="need not"):
        endless.solve(max_iter=50)


@pytest.mark.parametrize(
    ("parameters", "error"),
    [
        ({"tol": 0}, ValueError),
        ({"tol": "x"}, TypeError),
        ({"max_iter": -1}, ValueError),
        ({"max_iter": 1.5}, TypeError),
    ],
)
def test_bad_parameters_of_solve(parameters, error):
    with pytest.raises(error, match=next(iter(parameters))):
        AggregativeGame(gradient, N, n).solve(**parameters)


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


def test_a_function_cannot_move_the_players_by_itself():
    def moving(x, aggregate):
        x += 1.0
        return x

    with pytest.raises(ValueError, match="read-only"):
        AggregativeGame(moving, N, n)
    with pytest.raises(ValueError, match="read-only"):
        AggregativeGame(lambda x, aggregate: np.add(aggregate, 1, out=aggregate), N, n)
    late = AggregativeGame(lambda x, aggregate: moving(x, x) if (x > 5).any() else x - 1.0, N, n)
    with pytest.raises(ValueError, match="read-only"):
        late.pseudo_gradient(np.full((N, n), 9.0), np.ones((N, n)))


def test_functions_that_mix_players_in_either_direction_are_refused():
    for mix in (lambda x, mean: np.cumsum(x, axis=0), lambda x, mean: np.cumsum(x[::-1], axis=0)[::-1]):
        with pytest.raises(ValueError, match="row i"):
            AggregativeGame(mix, 4)
    assert AggregativeGame(lambda x, mean: x, 1).n_players == 1
