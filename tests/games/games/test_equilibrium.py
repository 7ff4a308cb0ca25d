# SPDX-License-Identifier: BSD-3-Clause
"""Steps towards an equilibrium, whether a game is monotone, and what a best response gains."""

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
    is_nonnegative_form,
    newton,
    quadratic_gains,
    trace_weights,
)
from skprivate.games._games.sets import Box, Unconstrained, check_constraint


@pytest.fixture
def game():
    r = np.array([[-9.0, 0.1], [9.0, -0.1], [0.1, 0.2], [-0.2, 9.0]])
    return QuadraticAggregativeGame([[2.0, 0.5], [0.5, 1.0]], [[0.5, 0.1], [0.0, 0.3]], r, (-1, 2))


def make_problem(game, tol=1e-12):
    return VariationalInequality(lambda x: game.pseudo_gradient(x, x.mean(axis=0)), game.constraint, tol)


def test_newton_gives_up_where_its_systems_have_no_solution():
    game = QuadraticAggregativeGame(0.0, 1.0, [0.0, 1.0], own_effect=False)
    infinite = np.full(1, np.inf)
    start = np.zeros((2, 1))
    assert newton(make_problem(game), start, game.P_, game.Q_, -infinite, infinite) is None


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
