# SPDX-License-Identifier: BSD-3-Clause
"""Gains of best responses: from the faces of the players' sets for quadratic costs, else by local search."""

import itertools
import math
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from .linear_map import LinearMap
from .sets import Box, ConstraintSet, Simplex, Unconstrained

FloatArray = NDArray[np.float64]
Costs = Callable[[FloatArray], FloatArray]
Face = tuple[FloatArray, FloatArray]

# Eigenvalues up to this times the largest one count as 0.
_ROUNDING = 1e-12
# Faces of a player's set that are looked at, each for all players at once: vertices of a box of 12
# dimensions, or all faces of one of 5 (and of a simplex of 8).
_MOST_VERTICES = 4096
_MOST_FACES = 255
# Iterations of the first-order methods, and the relative step at which they stop.
_DESCENT_STEPS = 5000
_SMALL_STEP = 1e-14
_SEARCH_STEPS = 500
# Central differences of a cost in double arithmetic, relative to the coordinate.
_DIFFERENCE = 1e-6


class QuadraticCosts:
    """``y' H_i y / 2 + c_i' y`` for every player, H_i symmetric; H of shape (n, n) or (N, n, n)."""

    def __init__(self, H: FloatArray, c: FloatArray) -> None:
        self.H, self.c = H, c
        self._apply = LinearMap(H)
        eigenvalues = np.broadcast_to(np.linalg.eigvalsh(H), c.shape)
        self.least, self.largest = eigenvalues[:, 0], eigenvalues[:, -1]
        self.tolerance = _ROUNDING * float(np.abs(eigenvalues).max())

    @property
    def convex(self) -> bool:
        """Whether all players' costs are convex."""
        return bool((self.least >= -self.tolerance).all())

    @property
    def concave(self) -> bool:
        """Whether all players' costs are concave."""
        return bool((self.largest <= self.tolerance).all())

    def gradients(self, y: FloatArray) -> FloatArray:
        """Return H_i y_i + c_i."""
        return self._apply(y) + self.c

    def __call__(self, y: FloatArray) -> FloatArray:
        """Return the players' costs."""
        return np.einsum("ij,ij->i", y, self._apply(y) / 2 + self.c)


def quadratic_gains(costs: QuadraticCosts, x: FloatArray, constraint: ConstraintSet) -> FloatArray:
    """Return by how much every player's cost at x is above the least one in its set.

    Exact up to rounding for one dimension; without a constraint; on a bounded box of at most 5 dimensions or
    a simplex of at most 8; where all costs are concave, on a bounded box of at most 12 or any simplex. Where
    all are convex, to the precision of 5,000 accelerated gradient steps. Otherwise a lower bound.
    """
    now = costs(x)
    if isinstance(constraint, Unconstrained):
        return now - _least_unconstrained(costs)
    if x.shape[1] == 1 and isinstance(constraint, Box):
        return now - _least_on_lines(costs, constraint)
    faces = list_faces(constraint, x.shape, vertices_only=costs.concave)
    if faces is not None:
        least = _least_on_faces(costs, faces, constraint)
    elif costs.convex:
        least = costs(_minimise_convex(costs, x, constraint))
    else:
        least = _least_by_descent(costs, x, constraint)
    # The player may as well stay.
    return np.maximum(now - least, 0.0)


def _least_unconstrained(costs: QuadraticCosts) -> FloatArray:
    """Return the least costs: minus infinity where a direction leads down for ever."""
    y = -np.einsum("...jk,...k->...j", np.linalg.pinv(costs.H, rcond=_ROUNDING, hermitian=True), costs.c)
    left = np.abs(costs.gradients(y)).max(axis=1)
    bounded = (costs.least >= -costs.tolerance) & (left <= 1e-9 * (1 + np.abs(costs.c).max(axis=1)))
    return np.where(bounded, costs(y), -np.inf)


def _least_on_lines(costs: QuadraticCosts, box: Box) -> FloatArray:
    """Return the least costs for one dimension: at a side, or where the slope is 0."""
    slope, curvature = costs.c, np.broadcast_to(costs.H[..., 0], costs.c.shape)
    low, high = (np.broadcast_to(side, slope.shape) for side in (box.lower, box.upper))
    inner = np.divide(-slope, curvature, out=np.zeros(slope.shape), where=curvature > 0)
    inner = box.project(inner)
    candidates = [np.where(np.isfinite(side), side, inner) for side in (low, high)]
    least = np.min([costs(y) for y in (inner, *candidates)], axis=0)
    down = (np.isinf(high) & ((curvature < 0) | ((curvature == 0) & (slope < 0)))) | (
        np.isinf(low) & ((curvature < 0) | ((curvature == 0) & (slope > 0)))
    )
    return np.where(down[:, 0], -np.inf, least)


def _minimise_convex(costs: QuadraticCosts, x: FloatArray, constraint: ConstraintSet) -> FloatArray:
    """Minimise convex costs by accelerated projected gradient steps, each player with its own restarts."""
    # A player whose cost is all but linear takes long steps, not infinite ones.
    flattest = max(1e-6 * float(costs.largest.max()), _ROUNDING * float(np.abs(costs.c).max()))
    step = 1.0 / np.maximum(costs.largest, max(flattest, np.finfo(float).tiny))[:, None]
    y, ahead, momentum = x, x, np.ones((len(x), 1))
    reach = max(1.0, float(np.abs(step * costs.c).max()))
    for _ in range(_DESCENT_STEPS):
        following = constraint.project(ahead - step * costs.gradients(ahead))
        if np.abs(following - ahead).max() <= _SMALL_STEP * max(reach, float(np.abs(ahead).max())):
            return following
        uphill = ((ahead - following) * (following - y)).sum(axis=1, keepdims=True) > 0
        momentum = np.where(uphill, 1.0, momentum)
        grown = (1 + np.sqrt(1 + 4 * np.square(momentum))) / 2
        ahead = following + np.where(uphill, 0.0, (momentum - 1) / grown) * (following - y)
        y, momentum = following, grown
    return y


def list_faces(
    constraint: ConstraintSet, shape: tuple[int, ...], *, vertices_only: bool
) -> Iterator[Face] | None:
    """Return a set's faces, or its vertices; None if there are too many, or nobody knows them.

    A face is a pair of a point of shape (N, n) or (n,), and a basis of its directions, of shape (n, k).
    """
    n_dims = shape[1]
    most = _MOST_VERTICES if vertices_only else _MOST_FACES
    if isinstance(constraint, Simplex):
        n_faces = n_dims if vertices_only else 2**n_dims - 1
        sizes = range(1, 2 if vertices_only else n_dims + 1)
        return _simplex_faces(constraint.total, n_dims, sizes) if n_faces <= most else None
    if not isinstance(constraint, Box) or not math.isfinite(constraint.diameter):
        return None
    sides = (-1, 1) if vertices_only else (-1, 1, 0)
    return _box_faces(constraint, n_dims, sides) if len(sides) ** n_dims <= most else None


def _box_faces(box: Box, n_dims: int, sides: tuple[int, ...]) -> Iterator[Face]:
    """Yield every choice of a lower side (-1), an upper side (1) or neither (0) per coordinate."""
    for chosen in itertools.product(sides, repeat=n_dims):
        held = np.array(chosen)
        yield np.where(held < 0, box.lower, box.upper), np.eye(n_dims)[:, held == 0]


def _simplex_faces(total: float, n_dims: int, sizes: range) -> Iterator[Face]:
    """Yield every choice of coordinates that may be above 0."""
    for size in sizes:
        directions = np.linalg.svd(np.ones((1, size)))[2][1:].T
        for support in itertools.combinations(range(n_dims), size):
            basis, point = np.zeros((n_dims, size - 1)), np.zeros(n_dims)
            basis[list(support)], point[list(support)] = directions, total / size
            yield point, basis


def _least_on_faces(costs: QuadraticCosts, faces: Iterator[Face], constraint: ConstraintSet) -> FloatArray:
    """Return the least costs over all faces.

    A least point lies inside some face, where the cost is stationary and does not curve downwards. If it
    curves upwards in all of the face's directions the point is the only one and is tried here; if it is flat
    in some, the same cost is reached by moving along those to a smaller face. Whatever else is tried
    is projected on the set first, and so does no harm.
    """
    least = np.full(len(costs.c), np.inf)
    for point, basis in faces:
        y = _stationary(costs, np.broadcast_to(point, costs.c.shape), basis)
        np.minimum(least, costs(constraint.project(y)), out=least)
    return least


def _stationary(costs: QuadraticCosts, point: FloatArray, basis: FloatArray) -> FloatArray:
    """Return the costs' least points among point + directions, as far as they curve upwards."""
    if basis.shape[1] == 0:
        return point
    curvatures, vectors = np.linalg.eigh(basis.T @ costs.H @ basis)
    slopes = np.einsum("...ab,...a->...b", vectors, costs.gradients(point) @ basis)
    curvatures = np.broadcast_to(curvatures, slopes.shape)
    way = np.divide(-slopes, curvatures, out=np.zeros(slopes.shape), where=curvatures > costs.tolerance)
    return point + np.einsum("...ab,...b->...a", vectors, way) @ basis.T


def _least_by_descent(costs: QuadraticCosts, x: FloatArray, constraint: ConstraintSet) -> FloatArray:
    """Return the least of costs reached downhill from x, and from far down the slope at the set's start."""
    steepest = np.maximum(np.abs(costs.least), np.abs(costs.largest))
    step = 1.0 / np.maximum(steepest, costs.tolerance + np.finfo(float).tiny)[:, None]
    start = constraint.start(*x.shape)
    least = costs(x)
    for y in (x, constraint.project(start - 1e3 * step * costs.gradients(start))):
        for _ in range(_SEARCH_STEPS):
            y = constraint.project(y - step * costs.gradients(y))
        least = np.minimum(least, costs(y))
    return least


def searched_gains(cost: Costs, x: FloatArray, constraint: ConstraintSet) -> FloatArray:
    """Return by how much a local search lowers every player's cost: lower bounds on what can be gained."""
    now = cost(x)
    least = now
    for start in (x, constraint.start(*x.shape)):
        least = np.minimum(least, _search(cost, start, constraint))
    return now - least


def _search(cost: Costs, y: FloatArray, constraint: ConstraintSet) -> FloatArray:
    """Return costs after projected gradient steps that lower them, the step's length found by halving."""
    values, step = _finite(cost(y)), np.ones(len(y))
    for _ in range(_SEARCH_STEPS):
        slopes = _differences(cost, y, values)
        trial = constraint.project(y - step[:, None] * slopes)
        tried = _finite(cost(trial))
        better = tried <= values - 1e-4 * ((y - trial) * slopes).sum(axis=1)
        way, size = np.abs(trial - y).max(axis=1), np.abs(y).max(axis=1)
        moved = better & (way > _SMALL_STEP * np.maximum(1.0, size))
        if not moved.any() and step.max() < _SMALL_STEP:
            break
        y, values = np.where(better[:, None], trial, y), np.where(better, np.minimum(tried, values), values)
        step *= np.where(moved, 2.0, 0.25)
    return values


def _differences(cost: Costs, y: FloatArray, values: FloatArray) -> FloatArray:
    """Return central differences, and one-sided ones where the cost is not defined on one side."""
    slopes = np.zeros(y.shape)
    for j in range(y.shape[1]):
        size = _DIFFERENCE * np.maximum(1.0, np.abs(y[:, j]))
        ahead, behind = y.copy(), y.copy()
        ahead[:, j] += size
        behind[:, j] -= size
        up, down = (_finite(cost(side)) for side in (ahead, behind))
        width = size * (np.isfinite(up).astype(float) + np.isfinite(down))
        rise = np.where(np.isfinite(up), up, values) - np.where(np.isfinite(down), down, values)
        slopes[:, j] = np.divide(rise, width, out=np.zeros(len(y)), where=width > 0)
    return slopes


def _finite(costs: FloatArray) -> FloatArray:
    return np.where(np.isfinite(costs), costs, np.inf)
