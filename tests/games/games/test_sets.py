# SPDX-License-Identifier: BSD-3-Clause
"""Projections against their definition; diameters and expansions that no pair of points exceeds."""

import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import optimize

from skprivate.games import Box, ConstraintSet, Simplex
from skprivate.games._games.sets import ProjectionSet, Unconstrained, check_constraint


def clip_to_disc(points):
    """Project on the discs of radius 1."""
    return points / np.maximum(1.0, np.linalg.norm(points, axis=1, keepdims=True))


def make_sets(n_players, n_dims):
    infinite = np.where(np.arange(n_dims) % 2, np.inf, 1.0)
    sets = (
        None,
        (-1.0, 2.0),
        (np.zeros(n_dims), infinite),
        (np.arange(n_players * n_dims).reshape(n_players, n_dims) / 10 - 1.0, 5.0),
        "simplex",
        Simplex(2.5),
        ProjectionSet(clip_to_disc, n_dims, 2 * math.sqrt(n_dims)),
    )
    return [check_constraint(bounds, n_players, n_dims) for bounds in sets]


points = st.integers(1, 4).flatmap(
    lambda n_dims: arrays(np.float64, (2, 5, n_dims), elements=st.floats(-1e3, 1e3, width=32))
)


@given(points)
def test_projections_land_inside_stay_and_contract_in_l2(pair):
    first, second = pair
    for constraint in make_sets(*first.shape):
        near, far = constraint.project(first), constraint.project(second)
        assert constraint.contains(near).all()
        assert constraint.contains(constraint.start(*first.shape)).all()
        np.testing.assert_allclose(constraint.project(near), near, rtol=1e-12, atol=1e-12)
        before = np.linalg.norm(first - second, axis=1)
        assert (np.linalg.norm(near - far, axis=1) <= before * (1 + 1e-12) + 1e-12).all()
        # No pair is moved apart, or lies apart, by more than is promised.
        apart, before = (np.abs(gap).sum(axis=1) for gap in (near - far, first - second))
        assert (apart <= constraint.diameter * (1 + 1e-12)).all()
        assert (apart <= constraint.expansion * before * (1 + 1e-12) + 1e-9).all()


@pytest.mark.parametrize("n_dims", [2, 3, 4])
def test_simplex_projection_of_huge_points_is_a_vertex(n_dims):
    # The largest doubles: two of them have no sum.
    rows = np.full((1, n_dims), -1.5e308)
    rows[0, 1] = 0.0
    np.testing.assert_array_equal(Simplex().project(rows), np.eye(n_dims)[[1]])


@pytest.mark.parametrize("n_dims", [3, 5, 8])
def test_simplex_projection_expands_in_l1_by_exactly_its_expansion(n_dims):
    constraint = check_constraint("simplex", 1, n_dims)
    middle = constraint.start(1, n_dims)
    moved = middle.copy()
    moved[0, 0] += 1e-3
    ratio = np.abs(constraint.project(moved) - middle).sum() / 1e-3
    assert ratio > 1.3
    assert ratio == pytest.approx(constraint.expansion, rel=1e-9)
    assert constraint.expansion < math.sqrt(n_dims)


def test_diameters():
    assert check_constraint((0, 1), 3, 2).diameter == 2.0
    assert check_constraint(([0, 0, 0], [1, 5, 2]), 3, 1).diameter == 5.0
    assert check_constraint((0, np.inf), 3, 2).diameter == math.inf
    assert check_constraint(None, 3, 2).diameter == math.inf
    assert check_constraint(Simplex(3.0), 3, 2).diameter == 6.0
    assert check_constraint("simplex", 3, 1).diameter == 0.0
    assert Box([[0, 0], [1, 1]], [1, 4]).diameter == 5.0
    assert Box(0, 1).diameter == math.inf, "a game may give it any number of dimensions"


def test_start_is_the_middle_or_the_value_nearest_0():
    box = Box([0.0, -np.inf, 2.0, -np.inf, -np.inf], [1.0, np.inf, np.inf, -3.0, 4.0])
    np.testing.assert_array_equal(box.start(2, 5), [[0.5, 0.0, 2.0, -3.0, 0.0]] * 2)
    np.testing.assert_array_equal(Simplex(2).start(1, 4), [[0.5] * 4])


def test_sets_compare_show_and_pickle():
    for first, other in zip(make_sets(3, 2), make_sets(3, 2), strict=True):
        assert first == other
        assert pickle.loads(pickle.dumps(first)) == first
    assert Box(0, 1) != Box(0, 2)
    assert Simplex() != Simplex(2)
    assert Simplex() != Box(0, 1)
    assert repr(Box(0, [1, 2])) == "Box(lower=0.0, upper=[1.0, 2.0])"
    assert repr(Box(np.zeros((9, 2)), 1)) == "Box(lower=<array of shape (9, 2)>, upper=1.0)"
    assert repr(Simplex()) == "Simplex(total=1.0)"
    assert repr(Unconstrained()) == "Unconstrained()"
    assert repr(ProjectionSet(clip_to_disc, 2)) == "ProjectionSet(clip_to_disc)"


class Ball(ConstraintSet):
    def __init__(self, diameter, expansion, radius=1.0, middle=0.0):
        self.diameter, self.expansion, self.radius, self.middle = diameter, expansion, radius, middle

    def project(self, points):
        return self.middle + self.radius * clip_to_disc((points - self.middle) / self.radius)

    def contains(self, points):
        return np.linalg.norm(points - self.middle, axis=1) <= self.radius * (1 + 1e-9)

    def start(self, n_players, n_dims):
        return np.full((n_players, n_dims), self.middle)


@pytest.mark.parametrize(
    ("radius", "middle"), [(1.0, 0.0), (1e-6, 0.0), (1e6, 3.0), (1e-2, 1e4), (1e-12, 0.0)]
)
def test_a_users_own_set_is_taken_as_it_is_unless_points_show_it_larger(radius, middle):
    longest, widest = 2 * np.sqrt(2) * radius, np.sqrt(2)
    for diameter in (longest, 5 * radius, np.inf):
        ball = Ball(diameter, widest, radius, middle)
        assert check_constraint(ball, 4, 2) is ball
    # Of the Euclidean norm: epsilon would be too small by the factor sqrt(2).
    with pytest.raises(ValueError, match="diameter is too small"):
        check_constraint(Ball(2 * radius, widest, radius, middle), 4, 2)
    with pytest.raises(ValueError, match="expansion is too small"):
        check_constraint(Ball(longest, 1.0, radius, middle), 4, 2)


def test_a_simplex_with_largest_coordinates_is_projected_on():
    rng = np.random.default_rng(0)
    for scale in (0.1, 1.0, 1e4):
        upper, points = rng.uniform(0.1, 3, (200, 4)), scale * rng.normal(size=(200, 4))
        total = rng.uniform(0.05, 1, 200) * upper.sum(axis=1)
        low, high = points.min(axis=1) - 3.0, points.max(axis=1)
        for _ in range(100):
            middle = (low + high) / 2
            above = np.clip(points - middle[:, None], 0, upper).sum(axis=1) > total
            low, high = np.where(above, middle, low), np.where(above, high, middle)
        found = Simplex(total, upper=upper).fit_to(200, 4).project(points)
        assert found == pytest.approx(np.clip(points - low[:, None], 0, upper), abs=1e-9 * max(scale, 1))
    rows = rng.normal(scale=9.0, size=(6, 3))
    for loose in (1e20, np.inf, [np.inf, 9, 9]):
        assert Simplex(8, upper=loose).fit_to(6, 3).project(rows) == pytest.approx(Simplex(8).project(rows))
    assert Simplex(5, upper=3).fit_to(1, 3).project([[1e20, 0.0, 0.0]]).tolist() == [[3.0, 1.0, 1.0]]


def test_diameters_of_a_simplex_with_largest_coordinates_are_bounds():
    rng = np.random.default_rng(1)
    for _ in range(30):
        upper = rng.uniform(0.1, 3, 5)
        limits = Simplex(rng.uniform(0.1, 1) * upper.sum(), upper=upper).fit_to(400, 5)
        ends = limits.project(rng.choice([-50.0, 0.0, 50.0], size=(400, 5)))
        apart = ends[:, None] - ends
        assert np.abs(apart).sum(axis=2).max() <= limits.diameter * (1 + 1e-9)
        assert np.linalg.norm(apart, axis=2).max() <= limits.euclidean_diameter * (1 + 1e-9)


def test_simplex_projection_is_the_nearest_point():
    generator = np.random.default_rng(0)
    for n_dims in (1, 2, 3, 5):
        rows = generator.normal(scale=2.0, size=(6, n_dims))
        for row, projected in zip(rows, Simplex(1.5).project(rows), strict=True):
            found = optimize.minimize(
                lambda y, row=row: ((y - row) ** 2).sum(),
                np.full(n_dims, 1.5 / n_dims),
                bounds=[(0, None)] * n_dims,
                constraints={"type": "eq", "fun": lambda y: y.sum() - 1.5},
                tol=1e-12,
            )
            np.testing.assert_allclose(projected, found.x, atol=1e-5)


def test_corners_cannot_be_written():
    box = Box([0.0], [1.0])
    with pytest.raises(ValueError, match="read-only"):
        box.lower[0] = -5.0
