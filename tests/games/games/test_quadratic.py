# SPDX-License-Identifier: BSD-3-Clause
"""Affine games: pseudo-gradients against differences of costs, equilibria known on paper, invariants."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skprivate.exceptions import UtilityWarning
from skprivate.games import Box, QuadraticAggregativeGame


@pytest.fixture
def generator():
    return np.random.default_rng(0)


def make_parts(n_players, n_dims, each, generator):
    shape = (n_players, n_dims, n_dims) if each else (n_dims, n_dims)
    root = generator.normal(size=shape)
    P = root @ root.swapaxes(-1, -2) + np.eye(n_dims)
    return (
        P,
        0.3 * generator.normal(size=shape) + 0.5 * np.eye(n_dims),
        generator.normal(size=(n_players, n_dims)),
    )


def slopes_of_cost(game, x, own_effect, size=1e-6):
    """Differentiate every player's cost by its own strategy, the mean moving along or not."""
    slopes = np.zeros(x.shape)
    weight = 1 / game.n_players if own_effect else 0.0
    for j in range(game.n_dims):
        step = np.zeros(x.shape)
        step[:, j] = size
        mean = np.tile(x.mean(axis=0), (game.n_players, 1))
        ahead, behind = game.cost(x + step, mean + weight * step), game.cost(x - step, mean - weight * step)
        slopes[:, j] = (ahead - behind) / (2 * size)
    return slopes


@pytest.mark.parametrize("own_effect", [True, False])
@pytest.mark.parametrize("each", [True, False])
@pytest.mark.parametrize(("n_players", "n_dims"), [(1, 1), (4, 1), (5, 3)])
def test_the_pseudo_gradient_is_the_slope_of_the_cost(n_players, n_dims, each, own_effect, generator):
    game = QuadraticAggregativeGame(*make_parts(n_players, n_dims, each, generator), own_effect=own_effect)
    x = generator.normal(size=(n_players, n_dims))
    np.testing.assert_allclose(
        game.pseudo_gradient(x, x.mean(axis=0)), slopes_of_cost(game, x, own_effect), atol=1e-7
    )


@pytest.mark.parametrize("each", [True, False])
@pytest.mark.parametrize("n_dims", [1, 2, 9])
def test_attributes_make_up_the_pseudo_gradient(n_dims, each, generator):
    game = QuadraticAggregativeGame(*make_parts(5, n_dims, each, generator))
    x, estimates = generator.normal(size=(2, 5, n_dims))
    P, Q = (np.broadcast_to(M, (5, n_dims, n_dims)) for M in (game.P_, game.Q_))
    expected = (P @ x[:, :, None] + Q @ estimates[:, :, None])[:, :, 0] + game.r_
    np.testing.assert_allclose(game.pseudo_gradient(x, estimates), expected, atol=1e-12)
    np.testing.assert_allclose(
        game.pseudo_gradient(x, estimates[0]), game.pseudo_gradient(x, np.tile(estimates[0], (5, 1)))
    )


def test_numbers_and_vectors_stand_for_multiples_of_the_identity(generator):
    r = generator.normal(size=(3, 2))
    common = QuadraticAggregativeGame(2.0, 0.5, r)
    np.testing.assert_array_equal(common.P_, (2 + 0.5 / 3) * np.eye(2))
    np.testing.assert_array_equal(common.Q_, 0.5 * np.eye(2))
    each = QuadraticAggregativeGame([2.0, 3.0, 4.0], 0.5, r, own_effect=False)
    np.testing.assert_array_equal(each.P_, np.array([2.0, 3.0, 4.0])[:, None, None] * np.eye(2))
    assert each.Q_.shape == (2, 2)


@pytest.mark.parametrize("bounds", [None, (-0.3, 0.4), "simplex"], ids=["free", "box", "simplex"])
@pytest.mark.parametrize("each", [True, False])
@pytest.mark.parametrize(("n_players", "n_dims"), [(1, 1), (1, 2), (4, 1), (20, 3), (300, 2)])
def test_the_solution_is_an_equilibrium(n_players, n_dims, each, bounds, generator):
    game = QuadraticAggregativeGame(*make_parts(n_players, n_dims, each, generator), bounds)
    if not game.is_monotone():
        pytest.fail("the parts are meant to make monotone games")
    x = game.solve()
    assert game.constraint.contains(x).all()
    assert game.residual(x) < 1e-8
    assert game.regret(x) < 1e-8
    if game.constraint.diameter > 0:
        assert game.regret(game.constraint.project(x + np.linspace(0.05, 0.1, n_dims))) > 1e-5


def test_an_equilibrium_known_on_paper():
    # F_i = x_i + m/2 + r_i: m (1 + 1/2) = -mean r.
    game = QuadraticAggregativeGame(1.0, 0.5, [0.0, 3.0, -6.0], own_effect=False)
    np.testing.assert_allclose(game.solve().ravel(), np.array([0.0, -3.0, 6.0]) - 1 / 3, atol=1e-14)
    # Two players with x_i^2 / 2 + x_i m - x_i, m = (x_1 + x_2) / 2: 2 x_i + x_j / 2 = 1 and so x = 2/5.
    game = QuadraticAggregativeGame(1.0, 1.0, [-1.0, -1.0])
    np.testing.assert_allclose(game.solve().ravel(), [0.4, 0.4], atol=1e-14)
    assert game.regret([0.4, 0.4]) == pytest.approx(0.0, abs=1e-15)
    # From 0 a player alone goes to 1/2, at H/2 = 1: it gains 1/4.
    assert game.regret([0.0, 0.0]) == pytest.approx(0.25, abs=1e-15)
    assert game.residual([0.0, 0.0]) == 1.0


def test_residual_and_regret_are_those_of_the_worst_player():
    game = QuadraticAggregativeGame(1.0, 0.0, [0.0, 0.0, 0.0])
    assert game.residual([0.0, 3.0, -4.0]) == 4.0
    assert game.regret([0.0, 3.0, -4.0]) == 8.0


def test_a_wardrop_equilibrium_has_regret(generator):
    parts = make_parts(4, 2, False, generator)
    wardrop, nash = (QuadraticAggregativeGame(*parts, own_effect=own) for own in (False, True))
    x = wardrop.solve()
    assert wardrop.residual(x) < 1e-12
    assert wardrop.regret(x) == pytest.approx(nash.regret(x), rel=1e-12)
    assert wardrop.regret(x) > 1e-4


@given(st.integers(0, 10**6), st.sampled_from([None, (-0.3, 0.4), "simplex"]))
def test_permuted_players_have_the_permuted_equilibrium(seed, bounds):
    generator = np.random.default_rng(seed)
    P, Q, r = make_parts(5, 2, True, generator)
    Q = Q[0]
    order = generator.permutation(5)
    first = QuadraticAggregativeGame(P, Q, r, bounds)
    second = QuadraticAggregativeGame(P[order], Q, r[order], bounds)
    if first.is_monotone():
        np.testing.assert_allclose(second.solve(), first.solve()[order], atol=1e-6)


def test_the_box_may_differ_by_player():
    lower = np.array([[0.5], [-1.0], [-2.0]])
    game = QuadraticAggregativeGame(1.0, 0.5, [1.0, 0.0, 9.0], Box(lower, np.inf), own_effect=False)
    x = game.solve()
    assert game.residual(x) < 1e-12
    np.testing.assert_array_equal(x[[0, 2]], lower[[0, 2]])
    assert x[1, 0] == pytest.approx(-x.mean() / 2)


def test_a_singular_own_part_is_solved_by_steps():
    # P_1 = 0: the linear system for the mean does not exist, the equilibrium does: m = -r_1.
    game = QuadraticAggregativeGame([0.0, 1.0], 1.0, [-1.0, 0.0], own_effect=False)
    with np.errstate(all="raise"):
        x = game.solve()
    np.testing.assert_allclose(x.ravel(), [3.0, -1.0], atol=1e-8)


@pytest.mark.parametrize(
    ("P", "Q", "monotone"),
    [
        (1.0, 0.5, True),
        (1.0, -1.0, True),
        (1.0, -1.01, False),
        (0.0, 1.0, True),
        (-0.01, 1.0, False),
        ([1.0, 1.0, 2.0], -1.0, True),
        ([1.0, 1.0, -0.5], 1.0, False),
        ([[1.0, 0.9], [0.9, 1.0]], [[0.0, -5.0], [5.0, 0.0]], True),
        ([[1.0, 0.9], [0.9, 1.0]], [[0.0, -2.0], [-2.0, 0.0]], False),
    ],
)
def test_monotonicity_is_decided(P, Q, monotone):
    n_dims = 2 if np.ndim(P) == 2 else 1
    game = QuadraticAggregativeGame(P, Q, np.zeros((3, n_dims)), own_effect=False)
    assert game.is_monotone() is monotone


def test_on_a_simplex_only_directions_within_it_count():
    away = np.full((2, 2), -0.5)  # negative along (1, 1) alone
    parts = (np.eye(2) + 2 * away, 0.0, np.zeros((4, 2)))
    assert QuadraticAggregativeGame(*parts, "simplex").is_monotone() is True
    assert QuadraticAggregativeGame(0.5 * np.eye(2) + 2 * away, 0.0, np.zeros((4, 2))).is_monotone() is False
    assert QuadraticAggregativeGame(-1.0, 0.0, np.zeros((4, 1)), "simplex").is_monotone() is True


def test_a_game_that_is_not_monotone_warns():
    with pytest.warns(UtilityWarning, match="not monotone"):
        QuadraticAggregativeGame(1.0, -3.0, [0.1, 0.2], (0, 1)).solve()


def test_r_is_clipped_silently_into_its_public_bounds():
    game = QuadraticAggregativeGame(1.0, 0.5, [-9.0, 0.5, 9.0], r_bounds=(-1, 2))
    np.testing.assert_array_equal(game.r_.ravel(), [-1.0, 0.5, 2.0])
    lower, upper = game.private_bounds
    np.testing.assert_array_equal(lower, np.full((3, 1), -1.0))
    np.testing.assert_array_equal(upper, np.full((3, 1), 2.0))
    assert game.cost(np.ones((3, 1)), np.zeros(1))[0] == 0.5 - 1.0
    each = QuadraticAggregativeGame(1.0, 0.5, [-9.0, 0.5, 9.0], r_bounds=([-1, -2, -3], [1, 2, 3]))
    np.testing.assert_array_equal(each.r_.ravel(), [-1.0, 0.5, 3.0])
    assert QuadraticAggregativeGame(1.0, 0.5, [1.0]).private_bounds is None


def test_private_parts_and_what_is_shown():
    secret = 0.123456
    game = QuadraticAggregativeGame(secret, secret, [secret, secret], private=("Q", "r"))
    assert game.private == {"Q", "r"}
    assert QuadraticAggregativeGame(1, 1, [1.0]).private == {"r"}
    assert "1234" not in repr(game)
    copy = pickle.loads(pickle.dumps(game))
    x = np.ones((2, 1))
    np.testing.assert_array_equal(copy.pseudo_gradient(x, x), game.pseudo_gradient(x, x))


def test_the_users_arrays_are_copied():
    P, Q, r = np.eye(2), np.eye(2), np.zeros((3, 2))
    game = QuadraticAggregativeGame(P, Q, r, own_effect=False)
    for part in (P, Q, r):
        part += 1.0
    x = np.ones((3, 2))
    np.testing.assert_array_equal(game.pseudo_gradient(x, x), 2 * x)


@pytest.mark.parametrize(
    ("parts", "parameters", "error", "message"),
    [
        ((1, 1, []), {}, ValueError, "at least one player"),
        ((1, 1, 3.0), {}, ValueError, "r must have shape"),
        ((1, 1, ["a"]), {}, TypeError, "r must hold numbers"),
        ((1, 1, [np.nan]), {}, ValueError, "r must be finite"),
        ((np.inf, 1, [1.0]), {}, ValueError, "P must be finite"),
        ((1, np.nan, [1.0]), {}, ValueError, "Q must be finite"),
        ((np.eye(3), 1, np.zeros((2, 2))), {}, ValueError, r"P must be a number or have shape \(2,\)"),
        ((1, np.eye(3), np.zeros((2, 2))), {}, ValueError, "Q must be a number"),
        ((1, "x", [1.0]), {}, TypeError, "Q must hold numbers"),
        (([[1, 1], [0, 1]], 1, np.zeros((3, 2))), {}, ValueError, "symmetric"),
        ((1, 1, [1.0]), {"private": "x"}, ValueError, "private must be"),
        ((1, 1, [1.0]), {"private": ()}, ValueError, "private must be"),
        ((1, 1, [1.0]), {"private": None}, ValueError, "private must be"),
        ((1, 1, [1.0]), {"r_bounds": 3}, TypeError, "pair"),
        ((1, 1, [1.0]), {"r_bounds": (1, 0)}, ValueError, "above"),
        ((1, 1, [1.0]), {"r_bounds": (0, np.inf)}, ValueError, "r_bounds must be finite"),
        ((1, 1, [1.0]), {"r_bounds": ([0, 0, 0], 1)}, ValueError, "r_bounds: each side"),
        ((1, 1, [1.0]), {"r_bounds": ("a", 1)}, TypeError, "numbers"),
    ],
)
def test_bad_parameters(parts, parameters, error, message):
    with pytest.raises(error, match=message):
        QuadraticAggregativeGame(*parts, **parameters)


def test_what_a_guarantee_is_about_cannot_be_changed_afterwards():
    game = QuadraticAggregativeGame(1.0, 0.5, [0.1, 0.2], r_bounds=(0, 1))
    for array in (game.P_, game.Q_, game.r_, *game.private_bounds):
        with pytest.raises(ValueError, match="read-only"):
            array[:] = 7.0
