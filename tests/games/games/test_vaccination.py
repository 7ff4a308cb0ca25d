# SPDX-License-Identifier: BSD-3-Clause
"""The vaccination game: both costs, both derivatives, one equilibrium where risk falls with coverage."""

import warnings

import numpy as np
import pytest

from skprivate.exceptions import UtilityWarning
from skprivate.games import VaccinationGame


@pytest.fixture
def generator():
    return np.random.default_rng(0)


def make(A, B, cost="herd_immunity", **parameters):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UtilityWarning)
        return VaccinationGame(A, B, cost, **parameters)


def written_cost(kind, A, B, x, delta):
    """Return the formula of the docstring for one player."""
    exposure = 1 - delta if kind == "herd_immunity" else delta
    return A @ x + exposure @ B @ (1 - x)


@pytest.mark.parametrize("kind", ["herd_immunity", "as_printed"])
@pytest.mark.parametrize("own_effect", [True, False])
@pytest.mark.parametrize("n_dims", [1, 3])
def test_cost_and_pseudo_gradient_are_those_of_the_formula(kind, own_effect, n_dims, generator):
    n_players, size = 5, 1e-6
    A, B = generator.random((n_players, n_dims)), generator.random((n_players, n_dims, n_dims))
    game = make(A, B, kind, own_effect=own_effect)
    x = generator.random((n_players, n_dims))
    mean = x.mean(axis=0)
    expected = [written_cost(kind, A[i], B[i], x[i], mean) for i in range(n_players)]
    np.testing.assert_allclose(game.cost(x, mean), expected, rtol=1e-13)
    slopes = np.zeros(x.shape)
    for i, j in np.ndindex(x.shape):
        step = size * np.eye(n_dims)[j]
        along = step / n_players if own_effect else 0.0
        ahead = written_cost(kind, A[i], B[i], x[i] + step, mean + along)
        behind = written_cost(kind, A[i], B[i], x[i] - step, mean - along)
        slopes[i, j] = (ahead - behind) / (2 * size)
    np.testing.assert_allclose(game.pseudo_gradient(x, mean), slopes, atol=1e-8)


@pytest.mark.parametrize("kind", ["herd_immunity", "as_printed"])
@pytest.mark.parametrize("own_effect", [True, False])
@pytest.mark.parametrize("bounds", [(0, 1), "simplex"])
def test_regret_is_what_the_best_of_many_strategies_gains(kind, own_effect, bounds, generator):
    n_players, n_dims = 4, 2
    A, B = generator.random((n_players, n_dims)), generator.random((n_players, n_dims, n_dims))
    game = make(A, B, kind, own_effect=own_effect, bounds=bounds)
    x = game.constraint.project(generator.random((n_players, n_dims)))
    line = np.linspace(0, 1, 101)
    grid = np.stack(np.meshgrid(line, line), axis=-1).reshape(-1, 2)
    if bounds == "simplex":
        grid = np.stack([line, 1 - line], axis=1)
    gains = []
    for i in range(n_players):
        others = x.mean(axis=0) - x[i] / n_players
        now = written_cost(kind, A[i], B[i], x[i], others + x[i] / n_players)
        gains.append(max(now - written_cost(kind, A[i], B[i], y, others + y / n_players) for y in grid))
    assert game.regret(x) == pytest.approx(max(gains), abs=2e-3)
    assert game.regret(x) >= max(gains) - 1e-12


def test_one_equilibrium_from_any_start(generator):
    A, B = generator.random(10), generator.uniform(0.5, 1.5, 10)
    game = VaccinationGame(A, B)
    assert game.is_monotone() is True
    x = game.solve()
    assert game.regret(x) <= 1e-8
    assert game.residual(x) <= 1e-8
    for start in (np.zeros(10), np.ones(10), generator.random(10)):
        np.testing.assert_allclose(game.solve(start=start), x, atol=1e-8)


def test_an_equilibrium_known_on_paper():
    # F_i = x_i / 3 + m - 4/3 + A_i: the first is held at 1, for the others x_i = 4 - 3 m - 3 A_i.
    game = VaccinationGame([0.2, 0.4, 0.6], [1.0, 1.0, 1.0])
    np.testing.assert_allclose(game.solve().ravel(), [1.0, 0.8, 0.2], atol=1e-12)


def test_permuted_players_have_the_permuted_equilibrium(generator):
    A, B = generator.random((7, 2)), generator.random((7, 1, 1)) * np.array([[1.0, 0.2], [0.1, 0.8]])
    order = generator.permutation(7)
    first, second = VaccinationGame(A, B).solve(), VaccinationGame(A[order], B[order]).solve()
    np.testing.assert_allclose(second, first[order], atol=1e-8)


def test_thousands_of_different_players_are_monotone_in_the_right_inner_product(generator):
    # Without weights the spread of B outweighs the own effect B / N.
    A, B = generator.random(5000), generator.uniform(0.2, 3.0, 5000)
    game = VaccinationGame(A, B)
    assert game.is_monotone() is True
    x = game.solve()
    assert game.residual(x) <= 1e-8
    assert game.regret(x) <= 1e-8


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


def test_a_wardrop_equilibrium_has_regret_of_order_one_over_n():
    A, B = np.linspace(0.3, 0.7, 10), np.ones(10)
    game = VaccinationGame(A, B, own_effect=False)
    x = game.solve()
    assert game.residual(x) <= 1e-8
    assert 1e-4 < game.regret(x) < 0.1


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
    printed = make(A, B, "as_printed", private="A", A_bounds=(0.2, 0.8))
    np.testing.assert_allclose(printed.private_bounds[1].ravel(), 0.8 + B / 3)


def test_shows_no_values():
    assert "1234" not in repr(VaccinationGame([0.123456], [0.123456]))


@pytest.mark.parametrize(
    ("parts", "parameters", "error", "message"),
    [
        (([0.1, 0.2], [1, 2, 3]), {}, ValueError, "B must be a number or have shape"),
        (([0.1, 0.2], [1, np.nan]), {}, ValueError, "B must be finite"),
        ((0.1, 1.0), {}, ValueError, "A must have shape"),
        (([0.1], [1.0]), {"cost": "printed"}, ValueError, "cost must be"),
        (([0.1], [1.0]), {"private": "r"}, ValueError, "'A', 'B'"),
        (([0.1], [1.0]), {"A_bounds": (1, 0)}, ValueError, "A_bounds"),
        (([0.1], [1.0]), {"bounds": "cube"}, TypeError, "bounds"),
    ],
)
def test_bad_parameters(parts, parameters, error, message):
    with pytest.raises(error, match=message):
        VaccinationGame(*parts, **parameters)


@pytest.mark.parametrize("own_effect", [True, False])
def test_what_kind_of_game_it_is_is_public(own_effect):
    for kind in ("herd_immunity", "as_printed"):
        game = make([0.2, 0.4], [0.0, 0.0], kind, own_effect=own_effect)
        assert (game.herd_immunity, game.own_effect) == (kind == "herd_immunity", own_effect)


def test_public_bounds_do_not_depend_on_private_costs():
    rng = np.random.default_rng(0)
    B = rng.uniform(0.1, 1.0, (4, 3, 3))
    games = [VaccinationGame(rng.uniform(0, 1, (4, 3)), B, private="A", A_bounds=(0, 1)) for _ in range(2)]
    first, second = (game.private_bounds for game in games)
    assert np.array_equal(first, second)
    for game in games:
        assert (game.r_ >= first[0]).all()
        assert (game.r_ <= first[1]).all()
