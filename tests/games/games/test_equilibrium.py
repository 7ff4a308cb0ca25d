# SPDX-License-Identifier: BSD-3-Clause
"""Steps towards an equilibrium, whether a game is monotone, and what a best response gains."""

import itertools
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skprivate.games import QuadraticAggregativeGame
from skprivate.games._games.equilibrium import (
    LinearMap,
    QuadraticCosts,
    VariationalInequality,
    _descended_costs,
    _least_on_faces,
    _minimise_convex,
    extragradient,
    is_nonnegative_form,
    list_faces,
    newton,
    quadratic_gains,
    trace_weights,
)
from skprivate.games._games.sets import Box, ProjectionSet, Unconstrained, check_constraint


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


def test_the_tolerance_grows_with_the_numbers_of_the_game():
    large = QuadraticAggregativeGame(1e8, 1e7, 1e8 * np.linspace(-1, 1, 5)[:, None], Box(-2, 2))
    assert large.residual(large.solve()) < 1e-2


KINDS = ("convex", "concave", "indefinite", "flat")


def make_costs(generator, kind, n_players, n_dims):
    turn = np.linalg.qr(generator.normal(size=(n_players, n_dims, n_dims)))[0]
    curvature = generator.uniform(0.2, 2.0, size=(n_players, n_dims))
    if kind == "concave":
        curvature = -curvature
    elif kind == "indefinite":
        curvature[:, 0] *= -1
    elif kind == "flat":
        curvature[:, 0] = 0.0
    H = (turn * curvature[:, None, :]) @ turn.swapaxes(1, 2)
    return QuadraticCosts((H + H.swapaxes(1, 2)) / 2, generator.normal(size=(n_players, n_dims)))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["box", "simplex"])
@pytest.mark.parametrize("n_dims", [1, 2, 3])
def test_gains_are_those_of_a_fine_grid(kind, name, n_dims):
    generator = np.random.default_rng(3)
    grid = np.array(list(itertools.product(np.linspace(0, 1, 41), repeat=n_dims)))
    if name == "simplex":
        grid = grid[np.abs(grid.sum(axis=1) - 1) < 1e-9]
    constraint = check_constraint((0, 1) if name == "box" else "simplex", 8, n_dims)
    costs = make_costs(generator, kind, 8, n_dims)
    x = constraint.project(generator.normal(size=(8, n_dims)))
    gains = quadratic_gains(costs, x, constraint)
    least = (np.einsum("gj,ijk,gk->gi", grid, costs.H / 2, grid) + grid @ costs.c.T).min(axis=0)
    # A grid of step 1/40 misses the least cost by at most curvature times step squared times n.
    assert (gains >= costs(x) - least - 1e-12).all()
    assert (gains <= costs(x) - least + 2.0 * n_dims / 40**2 + 1e-12).all()


@pytest.mark.parametrize("n_dims", [1, 2, 4])
def test_without_a_constraint_the_slope_is_0_at_the_best_response(n_dims):
    costs = make_costs(np.random.default_rng(0), "convex", 6, n_dims)
    best = -np.linalg.solve(costs.H, costs.c[:, :, None])[:, :, 0]
    x = np.ones((6, n_dims))
    for constraint in (Unconstrained(), Box(-np.inf, np.inf).fit_to(6, n_dims)):
        np.testing.assert_allclose(quadratic_gains(costs, x, constraint), costs(x) - costs(best), rtol=1e-10)


@pytest.mark.parametrize("constraint", [Unconstrained(), Box([-np.inf], [np.inf])])
def test_costs_that_fall_for_ever_are_gained_without_end(constraint):
    H = np.array([[[-1.0]], [[0.0]], [[0.0]], [[0.0]]])
    costs = QuadraticCosts(H, np.array([[0.0], [1.0], [-1.0], [0.0]]))
    gains = quadratic_gains(costs, np.zeros((4, 1)), constraint)
    np.testing.assert_array_equal(gains, [np.inf, np.inf, np.inf, 0.0])
    below = Box([-np.inf], [1.0])
    np.testing.assert_array_equal(quadratic_gains(costs, np.zeros((4, 1)), below), [np.inf, np.inf, 1.0, 0.0])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_dims", [6, 14, 20])
def test_many_dimensions_give_a_lower_bound_that_is_not_0(kind, n_dims):
    generator = np.random.default_rng(5)
    for bounds in ((0, 1), "simplex"):
        constraint = check_constraint(bounds, 5, n_dims)
        costs = make_costs(generator, kind, 5, n_dims)
        x = constraint.start(5, n_dims)
        gains = quadratic_gains(costs, x, constraint)
        tried = constraint.project(generator.normal(size=(200, 5, n_dims)).reshape(-1, n_dims))
        least = np.min([costs(rows) for rows in tried.reshape(200, 5, n_dims)], axis=0)
        assert (gains >= costs(x) - least - 1e-9).all()


def test_convex_costs_on_a_disc():
    constraint = ProjectionSet(lambda z: z / np.maximum(1, np.linalg.norm(z, axis=1, keepdims=True)), 2)
    costs = QuadraticCosts(np.eye(2), np.array([[-3.0, -4.0], [-0.3, -0.4]]))
    gains = quadratic_gains(costs, np.zeros((2, 2)), constraint)
    np.testing.assert_allclose(gains, [5.0 - 0.5, 0.125], rtol=1e-12)


def test_search_copes_with_costs_that_are_defined_inside_alone():
    constraint = check_constraint((0, 1), 2, 1)

    def cost(y):
        roots = np.sqrt(np.clip(y, 0, None))
        return np.where((y >= 0) & (y <= 1), (roots - [[0.5], [0.0]]) ** 2, np.nan)[:, 0]

    np.testing.assert_allclose(_descended_costs(cost, np.ones((2, 1)), constraint), 0.0, atol=1e-5)


@pytest.mark.parametrize("bounds", [(0, 1), "simplex"])
def test_accelerated_steps_and_faces_find_the_same_least_convex_costs(bounds):
    generator = np.random.default_rng(9)
    constraint = check_constraint(bounds, 50, 4)
    for kind in ("convex", "flat"):
        costs = make_costs(generator, kind, 50, 4)
        faces = list_faces(constraint, (50, 4), vertices_only=False)
        by_steps = costs(_minimise_convex(costs, constraint.start(50, 4), constraint))
        np.testing.assert_allclose(by_steps, _least_on_faces(costs, faces, constraint), atol=1e-9)


def test_players_with_all_but_linear_costs_take_long_steps():
    # H = 1e-9: a step of 1 / H from the middle reaches the corner, whatever the other player's H.
    costs = QuadraticCosts(np.array([1e-9, 1.0])[:, None, None] * np.eye(6), np.ones((2, 6)))
    constraint = check_constraint((0, 1), 2, 6)
    np.testing.assert_allclose(_minimise_convex(costs, np.full((2, 6), 0.5), constraint), 0.0, atol=1e-12)


@pytest.fixture
def generator():
    return np.random.default_rng(0)


@pytest.mark.parametrize("n_dims", [1, 2, 3, 12])
@pytest.mark.parametrize("kind", ["identity", "diagonal", "full", "diagonals", "stack"])
def test_applies_matrices_to_rows_and_to_one_vector(kind, n_dims, generator):
    n_players = 5
    matrices = {
        "identity": 1.5 * np.eye(n_dims),
        "diagonal": np.diag(np.arange(n_dims) + 0.5),
        "full": generator.normal(size=(n_dims, n_dims)),
        "diagonals": generator.normal(size=(n_players, n_dims, 1)) * np.eye(n_dims),
        "stack": generator.normal(size=(n_players, n_dims, n_dims)),
    }[kind]
    each = np.broadcast_to(matrices, (n_players, n_dims, n_dims))
    apply = pickle.loads(pickle.dumps(LinearMap(matrices)))
    rows, vector = generator.normal(size=(n_players, n_dims)), generator.normal(size=n_dims)
    np.testing.assert_allclose(apply(rows), [M @ z for M, z in zip(each, rows, strict=True)], atol=1e-12)
    np.testing.assert_allclose(
        np.broadcast_to(apply(vector), (n_players, n_dims)), [M @ vector for M in each], atol=1e-12
    )


def least_dense_eigenvalue(P, Q, n_players):
    size = P.shape[-1]
    P, Q = (np.broadcast_to(M, (n_players, size, size)) for M in (P, Q))
    matrix = np.zeros((n_players, size, n_players, size))
    for i in range(n_players):
        matrix[i, :, i] += P[i]
        matrix[i] += Q[i][:, None, :] / n_players
    flat = matrix.reshape(n_players * size, n_players * size)
    return np.linalg.eigvalsh((flat + flat.T) / 2)[0]


@given(
    st.integers(0, 10**6),
    st.integers(1, 6),
    st.integers(1, 3),
    st.sampled_from("cp"),
    st.sampled_from("cp"),
)
def test_agrees_with_the_dense_matrix(seed, n_players, size, kind_P, kind_Q):
    generator = np.random.default_rng(seed)
    shapes = {"c": (size, size), "p": (n_players, size, size)}
    P = generator.normal(size=shapes[kind_P]) + generator.uniform(0, 3) * np.eye(size)
    Q = generator.normal(size=shapes[kind_Q]) + generator.uniform(0, 3) * np.eye(size)
    least = least_dense_eigenvalue(P, Q, n_players)
    # The random least eigenvalue is moved to known ones, just below and just above 0.
    for wanted in (-1e-6, 1e-6):
        assert is_nonnegative_form(P + (wanted - least) * np.eye(size), Q, n_players) == (wanted > 0)


def test_a_single_player_has_no_one_to_move_apart_from():
    assert is_nonnegative_form(np.array([[-1.0]]), np.array([[1.5]]), 1)
    assert not is_nonnegative_form(np.array([[-1.0]]), np.array([[1.5]]), 2)
    assert is_nonnegative_form(np.array([[[-1.0]]]), np.array([[1.5]]), 1)


def test_rounding_does_not_make_a_flat_game_non_monotone():
    same = np.broadcast_to(np.array([[0.3]]), (1000, 1, 1))
    assert is_nonnegative_form(np.zeros((1, 1)), same, 1000)
    assert is_nonnegative_form(np.zeros((1, 1)), np.array([[0.0]]), 1000)


def test_couplings_of_different_strength_alone_are_not_monotone():
    Q = np.array([0.5, 2.0]).reshape(2, 1, 1)
    assert not is_nonnegative_form(np.zeros((1, 1)), Q, 2)
    weights = trace_weights(Q)
    np.testing.assert_allclose(weights * Q[:, 0, 0], weights[0] * 0.5)
    assert is_nonnegative_form(np.zeros((1, 1)), weights[:, None, None] * Q, 2)


@pytest.mark.parametrize("Q", [np.eye(2), np.zeros((3, 1, 1)), np.ones((3, 1, 1)), np.ones((3, 0, 0))])
def test_weights_only_where_they_change_something(Q):
    assert trace_weights(Q) is None
