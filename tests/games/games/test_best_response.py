# SPDX-License-Identifier: BSD-3-Clause
"""Gains of best responses, against brute force on a grid and against costs whose minimum is known."""

import itertools

import numpy as np
import pytest

from skprivate.games import Box, Simplex
from skprivate.games._games.equilibrium import (
    QuadraticCosts,
    _descended_costs,
    _least_on_faces,
    _minimise_convex,
    list_faces,
    quadratic_gains,
    searched_gains,
)
from skprivate.games._games.sets import ProjectionSet, Unconstrained, check_constraint
from tests.marks import slow

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


def box_grid(n_dims):
    return np.array(list(itertools.product(np.linspace(0, 1, 41), repeat=n_dims)))


def simplex_grid(n_dims):
    return np.array([z for z in box_grid(n_dims) if abs(z.sum() - 1) < 1e-9])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["box", "simplex"])
@pytest.mark.parametrize("n_dims", [1, 2, slow(3)])
def test_gains_are_those_of_a_fine_grid(kind, name, n_dims):
    generator = np.random.default_rng(3)
    grid = box_grid(n_dims) if name == "box" else simplex_grid(n_dims)
    constraint = check_constraint((0, 1) if name == "box" else "simplex", 8, n_dims)
    costs = make_costs(generator, kind, 8, n_dims)
    x = constraint.project(generator.normal(size=(8, n_dims)))
    gains = quadratic_gains(costs, x, constraint)
    least = np.min([costs(np.broadcast_to(z, x.shape)) for z in grid], axis=0)
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


def test_concave_costs_on_a_disc_gain_something():
    constraint = ProjectionSet(lambda z: z / np.maximum(1, np.linalg.norm(z, axis=1, keepdims=True)), 2)
    costs = QuadraticCosts(-np.eye(2), np.array([[-3.0, -4.0]]))
    np.testing.assert_allclose(quadratic_gains(costs, np.zeros((1, 2)), constraint), [5.5], rtol=1e-9)


@pytest.mark.parametrize("bounds", [None, (0, 1), "simplex"])
def test_search_finds_the_least_convex_cost(bounds):
    generator = np.random.default_rng(7)
    constraint = check_constraint(bounds, 6, 3)
    costs = make_costs(generator, "convex", 6, 3)
    x = constraint.project(generator.normal(size=(6, 3)))
    exact = quadratic_gains(costs, x, constraint)
    searched = searched_gains(costs, x, constraint)
    assert exact.max() > 0.1
    np.testing.assert_allclose(searched, exact, atol=1e-8)


def test_search_copes_with_costs_that_are_defined_inside_alone():
    constraint = check_constraint((0, 1), 2, 1)

    def cost(y):
        roots = np.sqrt(np.clip(y, 0, None))
        return np.where((y >= 0) & (y <= 1), (roots - [[0.5], [0.0]]) ** 2, np.nan)[:, 0]

    np.testing.assert_allclose(_descended_costs(cost, np.ones((2, 1)), constraint), 0.0, atol=1e-5)


def test_simplex_total_counts():
    constraint = Simplex(3.0).fit_to(1, 2)
    costs = QuadraticCosts(-np.eye(2), np.zeros((1, 2)))
    assert quadratic_gains(costs, np.array([[1.5, 1.5]]), constraint)[0] == pytest.approx(4.5 - 2.25)


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
