# SPDX-License-Identifier: BSD-3-Clause
"""Affine games: pseudo-gradients against differences of costs, equilibria known on paper, what is private."""

import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skprivate.exceptions import UtilityWarning
from skprivate.games import QuadraticAggregativeGame, VaccinationGame


@pytest.fixture
def generator():
    return np.random.default_rng(0)


def make_parts(n_players, n_dims, each, generator):
    shape = (n_players, n_dims, n_dims) if each else (n_dims, n_dims)
    root = generator.normal(size=shape)
    P = root @ root.swapaxes(-1, -2) + np.eye(n_dims)
    Q = 0.3 * generator.normal(size=shape) + 0.5 * np.eye(n_dims)
    return P, Q, generator.normal(size=(n_players, n_dims))


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


# ------------------------------------------------------------------ quadratic costs


def test_an_equilibrium_of_quadratic_costs_known_on_paper():
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


@given(st.integers(0, 10**6), st.sampled_from([None, (-0.3, 0.4), "simplex"]))
def test_permuted_players_have_the_permuted_equilibrium(seed, bounds):
    generator = np.random.default_rng(seed)
    P, Q, r = make_parts(5, 2, True, generator)
    order = generator.permutation(5)
    first = QuadraticAggregativeGame(P, Q[0], r, bounds)
    second = QuadraticAggregativeGame(P[order], Q[0], r[order], bounds)
    if first.is_monotone():
        np.testing.assert_allclose(second.solve(), first.solve()[order], atol=1e-6)


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
    assert "1234" not in repr(game) + repr(VaccinationGame([secret], [secret]))
    copy = pickle.loads(pickle.dumps(game))
    x = np.ones((2, 1))
    np.testing.assert_array_equal(copy.pseudo_gradient(x, x), game.pseudo_gradient(x, x))


def test_what_a_guarantee_is_about_cannot_be_changed_afterwards():
    P, Q, r = np.eye(2), np.eye(2), np.zeros((3, 2))
    game = QuadraticAggregativeGame(P, Q, r, r_bounds=(0, 1), own_effect=False)
    for array in (game.P_, game.Q_, game.r_, *game.private_bounds):
        with pytest.raises(ValueError, match="read-only"):
            array[:] = 7.0
    for part in (P, Q, r):
        part += 1.0
    x = np.ones((3, 2))
    np.testing.assert_array_equal(game.pseudo_gradient(x, x), 2 * x)


# ------------------------------------------------------------------ vaccination
KINDS = ("herd_immunity", "as_printed")


def vaccination(A, B, cost="herd_immunity", **parameters):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UtilityWarning)
        return VaccinationGame(A, B, cost, **parameters)


def written_cost(kind, A, B, x, delta):
    """Return the formula of the docstring for one player, at any number of strategies."""
    exposure = 1 - delta if kind == "herd_immunity" else delta
    return x @ A + ((exposure @ B) * (1 - x)).sum(axis=-1)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("own_effect", [True, False])
@pytest.mark.parametrize("n_dims", [1, 3])
def test_cost_and_pseudo_gradient_are_those_of_the_formula(kind, own_effect, n_dims, generator):
    A, B = generator.random((5, n_dims)), generator.random((5, n_dims, n_dims))
    game = vaccination(A, B, kind, own_effect=own_effect)
    assert (game.herd_immunity, game.own_effect) == (kind == "herd_immunity", own_effect)
    x = generator.random((5, n_dims))
    mean = x.mean(axis=0)
    expected = [written_cost(kind, *parts, mean) for parts in zip(A, B, x, strict=True)]
    np.testing.assert_allclose(game.cost(x, mean), expected, rtol=1e-13)
    slopes = slopes_of_cost(game, x, own_effect)
    np.testing.assert_allclose(game.pseudo_gradient(x, mean), slopes, atol=1e-8)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("own_effect", [True, False])
@pytest.mark.parametrize("bounds", [(0, 1), "simplex"])
def test_regret_is_what_the_best_of_many_strategies_gains(kind, own_effect, bounds, generator):
    A, B = generator.random((4, 2)), generator.random((4, 2, 2))
    game = vaccination(A, B, kind, own_effect=own_effect, bounds=bounds)
    x = game.constraint.project(generator.random((4, 2)))
    line = np.linspace(0, 1, 101)
    grid = np.stack(np.meshgrid(line, line), axis=-1).reshape(-1, 2)
    if bounds == "simplex":
        grid = np.stack([line, 1 - line], axis=1)
    gains = []
    for i in range(4):
        others = x.mean(axis=0) - x[i] / 4
        now = written_cost(kind, A[i], B[i], x[i], others + x[i] / 4)
        gains.append(now - written_cost(kind, A[i], B[i], grid, others + grid / 4).min())
    assert game.regret(x) == pytest.approx(max(gains), abs=2e-3)
    assert game.regret(x) >= max(gains) - 1e-12


def test_an_equilibrium_of_vaccination_known_on_paper():
    # F_i = x_i / 3 + m - 4/3 + A_i: the first is held at 1, for the others x_i = 4 - 3 m - 3 A_i.
    game = VaccinationGame([0.2, 0.4, 0.6], [1.0, 1.0, 1.0])
    np.testing.assert_allclose(game.solve().ravel(), [1.0, 0.8, 0.2], atol=1e-12)


def test_as_printed_warns_and_its_fixed_point_is_no_equilibrium():
    with pytest.warns(UtilityWarning, match="rises with coverage"):
        game = VaccinationGame(np.full(10, 0.5), np.ones(10), "as_printed")
    assert game.is_monotone() is False
    # F = A + B/N - B m - B x / N vanishes where all choose 6/11; a corner gains (6/11)^2 / N.
    x = np.full(10, 6 / 11)
    assert game.residual(x) < 1e-15
    assert game.regret(x) == pytest.approx((6 / 11) ** 2 / 10, rel=1e-12)
    with pytest.warns(UtilityWarning, match="not monotone"):
        found = game.solve()
    assert game.residual(found) < 1e-9


def test_what_is_private_and_its_bounds():
    A, B = np.array([0.1, 0.5, 0.9]), np.array([1.0, 2.0, 3.0])
    game = VaccinationGame(A, B, private="A", A_bounds=(0.2, 0.8))
    assert game.private == {"r"}
    prices = np.array([0.2, 0.5, 0.8])
    np.testing.assert_allclose(game.r_.ravel(), prices - B - B / 3)
    lower, upper = game.private_bounds
    np.testing.assert_allclose(lower.ravel(), 0.2 - B - B / 3)
    np.testing.assert_allclose(upper.ravel(), 0.8 - B - B / 3)
    np.testing.assert_allclose(game.cost(np.ones((3, 1)), np.zeros(1)), prices)
    for private in ("B", ("A", "B")):
        both = VaccinationGame(A, B, private=private, A_bounds=(0.2, 0.8))
        assert both.private == {"P", "Q", "r"}
        assert both.private_bounds is None, "r depends on B, which has no public bounds"
        np.testing.assert_array_equal(both.r_, game.r_)
    assert VaccinationGame(A, B).private == {"P", "Q", "r"}
    printed = vaccination(A, B, "as_printed", private="A", A_bounds=(0.2, 0.8))
    np.testing.assert_allclose(printed.private_bounds[1].ravel(), 0.8 + B / 3)


def test_public_bounds_do_not_depend_on_private_costs(generator):
    B = generator.uniform(0.1, 1.0, (4, 3, 3))
    games = [VaccinationGame(generator.random((4, 3)), B, private="A", A_bounds=(0, 1)) for _ in range(2)]
    first, second = (game.private_bounds for game in games)
    assert np.array_equal(first, second)
    for game in games:
        assert (game.r_ >= first[0]).all()
        assert (game.r_ <= first[1]).all()
