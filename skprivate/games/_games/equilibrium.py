# SPDX-License-Identifier: BSD-3-Clause
"""Equilibria without privacy: monotonicity, extragradient and Newton steps, and gains of best responses."""

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._typing import BoolArray, FloatArray
from ...utils._public_module import public_module
from .sets import Box, ConstraintSet, Simplex, Unconstrained

# Products of every player's matrix with its vector, for all players at once.

# Up to this many dimensions einsum is faster on a stack of matrices than matmul (measured: 1.3 ms against
# 3.0 ms for 1e5 players and 2 dimensions, 173 us against 85 us for 1e3 and 20).
_EINSUM_DIMS = 8


@public_module("skprivate.games")
class LinearMap:
    """A matrix for all players, or one each, applied to the rows of an array in the cheapest way."""

    def __init__(self, matrices: FloatArray) -> None:
        identity = np.eye(matrices.shape[-1])
        diagonal = np.ascontiguousarray(np.diagonal(matrices, axis1=-2, axis2=-1))
        self._factor: Any = None
        self._matrices = matrices
        if np.array_equal(matrices, diagonal[..., None] * identity):
            common = matrices.ndim == 2 and (diagonal == diagonal[0]).all()
            self._factor = float(diagonal[0]) if common else diagonal

    def __call__(self, rows: FloatArray) -> FloatArray:
        """Return M_i z_i; rows of shape (n_players, n_dims), or (n_dims,) for one z."""
        if self._factor is not None:
            return rows * self._factor
        if self._matrices.ndim == 2:
            return rows @ self._matrices.T
        if rows.ndim == 1:
            return self._matrices @ rows
        if rows.shape[1] <= _EINSUM_DIMS:
            return np.einsum("ijk,ik->ij", self._matrices, rows)
        return np.matmul(self._matrices, rows[:, :, None])[:, :, 0]


# Equilibria without privacy: projected extragradient steps, and Newton steps where the sets are boxes.

# Strategies to the players' pseudo-gradients at them and their mean.
Operator = Callable[[FloatArray], FloatArray]

# A step times the Lipschitz constant met on it stays below this, < 1 (Khobotov's condition).
_LIPSCHITZ_FRACTION = 0.9
# Factors of the step size after a step that was too long, and after one that was not.
_SHRINK = 0.6
_GROW = 1.2
# Shorter steps are taken as they are: near the smallest double nothing is gained by halving.
_SMALLEST_STEP = 1e-300
# Longest step of a row in its first ones: where a gradient is flat, nothing else ends its growth.
_LONGEST_STEP = 1e12
# A spectral step must not exceed the largest of so many residuals of its row. Quadratic costs of a condition
# number of 1,000 took 9,000 evaluations with 10, and 400 with 30.
_REMEMBERED_STEPS = 30
# Newton steps that one attempt may take; a guess of the sides in use settles in a few, or never.
_NEWTON_STEPS = 30


@dataclass(frozen=True, eq=False)
class VariationalInequality:
    """The variational inequality of a game: strategies x with ``x = P[x - F(x)]``.

    Parameters
    ----------
    operator : callable
        F: from strategies to the players' pseudo-gradients at them and their mean.
    constraint : ConstraintSet
        The set that P projects on.
    tol : float
        Tolerance of the residual, relative to the largest entry of x and F(x).
    weights : ndarray of shape (n_players,), default=None
        Weights of the players in the norm that step sizes are chosen by; None is 1 each.
    noise : callable, default=None
        From strategies to a residual that rounding of F alone may make; None is 0.
    """

    operator: Operator
    constraint: ConstraintSet
    tol: float
    weights: FloatArray | None = None
    noise: Callable[[FloatArray], float] | None = None

    def solved_by(self, x: FloatArray, gradients: FloatArray) -> bool:
        """Return whether the residual is below the tolerance."""
        moved = x - self.constraint.project(x - gradients)
        scale = max(1.0, float(np.abs(x).max()), float(np.abs(gradients).max()))
        residual = float(np.sqrt(np.square(moved).sum(axis=1).max()))
        return residual <= self.tol * scale or (self.noise is not None and residual <= self.noise(x))

    def norm(self, values: FloatArray) -> float:
        """Return the norm of all players' vectors together."""
        squares = np.square(values).sum(axis=1)
        return float(np.sqrt(squares.sum() if self.weights is None else self.weights @ squares))

    def step(self, x: FloatArray, gradients: FloatArray, size: float) -> tuple[FloatArray, float]:
        """Take one extragradient step, and return the size to try next."""
        while True:
            ahead = self.constraint.project(x - size * gradients)
            there = self.operator(ahead)
            short = size * self.norm(there - gradients) <= _LIPSCHITZ_FRACTION * self.norm(ahead - x)
            if short or size < _SMALLEST_STEP:
                return self.constraint.project(x - size * there), size * _GROW
            size *= _SHRINK


def row_solutions(
    operator: Operator,
    constraint: ConstraintSet,
    start: FloatArray,
    reach: float,
    first: FloatArray,
    tol: float,
    max_iter: int,
) -> tuple[FloatArray, bool]:
    """Return strategies that solve the inequality of every row by itself, in any units, and whether all do.

    Row i of `operator` is a function of row i alone. Every row has its own steps, with their own lengths and
    end. The result of one player is a function of its own costs, to the last bit, as if it had computed at
    home.

    Parameters
    ----------
    operator : callable
    constraint : ConstraintSet
    start : ndarray of shape (n_players, n_dims)
    reach : float
        How far strategies may be apart: a public scale of them.
    first : ndarray of shape (n_players, n_dims)
        Pseudo-gradients at a public point: a row's own scale.
    tol : float
        A row is solved where a step, that would have the length `reach` at that point, has at most this part
        of it.
    max_iter : int
        Most steps.

    Notes
    -----
    A row tries a projected step of the spectral length (Barzilai and Borwein), of the change of the
    gradient along the way before. It is taken if the residual is at most the largest of the last 30, and
    costs one evaluation. Otherwise the row takes an extragradient step, which converges for any monotone row.
    """
    steepness = _row_norms(first)
    known = np.isfinite(steepness) & (steepness > 0)
    unit = np.divide(reach, steepness, out=np.ones(len(start)), where=known)
    unit = np.where(np.isfinite(unit) & (unit > 0), unit, 1.0)

    def residuals(x: FloatArray, gradients: FloatArray) -> FloatArray:
        return _row_norms(x - constraint.project(x - unit[:, None] * gradients))

    x, sizes, gradients = start, unit, operator(start)
    left, spectral = residuals(x, gradients), np.full(len(start), np.inf)
    recent = np.tile(left, (_REMEMBERED_STEPS, 1))
    for number in range(max_iter):
        going = (left > tol * reach) & np.isfinite(gradients).all(axis=1)
        if not going.any():
            return np.where(np.isfinite(x).all(axis=1, keepdims=True), x, start), True
        direct = np.isfinite(spectral)
        ahead = constraint.project(x - np.where(direct, spectral, sizes)[:, None] * gradients)
        there = operator(ahead)
        way, change = _row_norms(ahead - x), _row_norms(there - gradients)
        left_there = residuals(ahead, there)
        short = ~direct & (~(sizes * change > _LIPSCHITZ_FRACTION * way) | (sizes < _SMALLEST_STEP))
        accepted, second = going & direct & (left_there <= recent.max(axis=0)), going & short
        rise = np.einsum("ij,ij->i", ahead - x, there - gradients)
        usable = accepted | (~direct & (rise > 0) & (way > 0))
        spectral = np.divide(way * way, rise, out=np.full(len(x), np.inf), where=usable & (rise > 0))
        x, gradients = (np.where(accepted[:, None], *pair) for pair in ((ahead, x), (there, gradients)))
        left = np.where(accepted, left_there, left)
        if second.any():
            x = np.where(second[:, None], constraint.project(x - sizes[:, None] * there), x)
            gradients = np.where(second[:, None], operator(x), gradients)
            left = np.where(second, residuals(x, gradients), left)
        slot = number % _REMEMBERED_STEPS
        recent[slot] = np.where(accepted | second, left, recent[slot])
        grown = np.where(short, np.minimum(sizes * _GROW, _LONGEST_STEP * unit), sizes * _SHRINK)
        sizes = np.where(direct, sizes, grown)
    return np.where(np.isfinite(x).all(axis=1, keepdims=True), x, start), False


def _row_norms(rows: FloatArray) -> FloatArray:
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", rows, rows)))


def extragradient(
    inequality: VariationalInequality, start: FloatArray, max_iter: int
) -> tuple[FloatArray, bool]:
    """Return strategies after projected extragradient steps, and whether they solve the inequality."""
    x, size = start, 1.0
    for _ in range(max_iter):
        gradients = inequality.operator(x)
        if inequality.solved_by(x, gradients):
            return x, True
        x, size = inequality.step(x, gradients, size)
    return x, inequality.solved_by(x, inequality.operator(x))


def newton(
    inequality: VariationalInequality,
    start: FloatArray,
    P: FloatArray,
    Q: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
) -> FloatArray | None:
    """Return strategies that solve an affine game on a box, or None if the method does not settle.

    A semismooth Newton method: coordinates that a projected step of size 1 holds at a side are put there, the
    others are put where the pseudo-gradient is 0, until nothing changes. Without sides that is one
    linear system.
    """
    x, constants = start, inequality.operator(np.zeros_like(start))
    for _ in range(_NEWTON_STEPS):
        gradients = inequality.operator(x)
        if inequality.solved_by(x, gradients):
            return x
        target = x - gradients
        held = (target <= lower) | (target >= upper)
        sides = np.where(held, np.where(target <= lower, lower, upper), 0.0)
        try:
            x = _solve_free(P, Q, np.where(held, sides, -constants), held)
        except np.linalg.LinAlgError:
            return None
        if not np.isfinite(x).all():
            return None
    return None


def _solve_free(P: FloatArray, Q: FloatArray, right: FloatArray, held: BoolArray) -> FloatArray:
    """Solve ``P_i x_i + Q_i m = right_i`` with m the mean of x, and ``x_i = right_i`` where it is held.

    With M_i = P_i and the rows of the held coordinates replaced by those of the identity, ``x_i = M_i^-1
    right_i - M_i^-1 Q_i m`` (the held rows of Q_i set to 0). The mean of that is a system of size n for m.
    """
    identity, fixed = np.eye(right.shape[1]), held[:, :, None]
    own = np.where(fixed, identity, P)
    coupling = np.where(fixed, 0.0, Q)
    solved = np.linalg.solve(own, np.concatenate([right[:, :, None], coupling], axis=2))
    base, slopes = solved[:, :, 0], solved[:, :, 1:]
    mean = np.linalg.solve(identity + slopes.mean(axis=0), base.mean(axis=0))
    return base - slopes @ mean


# Monotonicity: of affine games by signs of eigenvalues, of others by pairs of profiles that are tried.

# Negative eigenvalues above minus this times the largest matrix norm count as rounding.
_EIGENVALUE_ROUNDING = 1e-9
# Scales of the pairs of points at which a user's game is asked whether it is monotone, in diameters or 1.
_PAIR_SCALES = (0.1, 1.0, 10.0)
_PAIRS_PER_SCALE = 8


def is_nonnegative_form(P: FloatArray, Q: FloatArray, n_players: int) -> bool:
    """Return whether ``z -> sum_i z_i' (P_i z_i + Q_i mean z)`` is never negative, up to rounding.

    Parameters
    ----------
    P, Q : ndarray of shape (n, n) or (n_players, n, n)
    n_players : int
    """
    if P.shape[-1] == 0:
        return True
    largest = max(float(np.abs(P).max()), float(np.abs(Q).max()), np.finfo(np.float64).tiny)
    shift = _EIGENVALUE_ROUNDING * largest
    if P.ndim == Q.ndim == 2:
        together = _least_eigenvalue(P + Q) >= -shift
        return together and (n_players == 1 or _least_eigenvalue(P) >= -shift)
    return _count_negative(P, Q, n_players, shift) == 0


def trace_weights(Q: FloatArray) -> FloatArray | None:
    """Return weights inverse to the traces of Q, where they are all positive and not the same."""
    if Q.ndim == 2 or Q.shape[-1] == 0:
        return None
    traces = np.trace(Q, axis1=-2, axis2=-1)
    if traces.min() <= 0 or traces.max() <= traces.min() * (1 + _EIGENVALUE_ROUNDING):
        return None
    return float(traces.mean()) / traces


def _count_negative(P: FloatArray, Q: FloatArray, n_players: int, shift: float) -> int:
    """Count the negative eigenvalues of the form's matrix plus shift times the identity.

    The symmetric matrix is S = D + W C W' with D block-diagonal of the symmetric parts of P_i, plus the
    shift, W = [E, R], E a stack of identities, R the stack of the Q_i, and C = [[0, I], [I, 0]] / (2 N). The
    block matrix [[D, W], [W', -C^-1]] has the inertia of D plus that of -C^-1 - W' D^-1 W, and also that
    of -C^-1 plus that of S. C^-1 has n negative eigenvalues and n positive ones; hence the difference below.
    """
    size = P.shape[-1]
    blocks = (P + np.swapaxes(P, -1, -2)) / 2 + shift * np.eye(size)
    blocks, Q = np.broadcast_to(blocks, (n_players, size, size)), np.broadcast_to(Q, (n_players, size, size))
    wide = np.concatenate([np.broadcast_to(np.eye(size), blocks.shape), Q], axis=-1)
    gram = np.einsum("iab,iac->bc", wide, np.linalg.solve(blocks, wide))
    swap = np.zeros((2 * size, 2 * size))
    swap[:size, size:] = swap[size:, :size] = 2.0 * n_players * np.eye(size)
    schur = -swap - (gram + gram.T) / 2
    return sum(int((np.linalg.eigvalsh(matrices) < 0).sum()) for matrices in (blocks, schur)) - size


def _least_eigenvalue(matrix: FloatArray) -> float:
    return float(np.linalg.eigvalsh((matrix + matrix.T) / 2)[0])


def some_pair_is_not_monotone(operator: Operator, constraint: ConstraintSet, start: FloatArray) -> bool:
    """Return whether one of the tried pairs of profiles speaks against monotonicity, by more than rounding.

    Parameters
    ----------
    operator : callable
        From strategies to the pseudo-gradients at them and their mean.
    constraint : ConstraintSet
    start : ndarray of shape (n_players, n_dims)
        The public point that profiles lie around, from a fixed seed.
    """

    def violated(first: FloatArray, second: FloatArray) -> bool:
        second = constraint.project(second)
        rise, step = operator(second) - operator(first), second - first
        return float((rise * step).sum()) < -_EIGENVALUE_ROUNDING * float(
            np.linalg.norm(rise) * np.linalg.norm(step)
        )

    generator, diameter = np.random.default_rng(0), constraint.diameter
    unit = diameter if 0 < diameter < np.inf else 1.0
    for scale in np.repeat(_PAIR_SCALES, _PAIRS_PER_SCALE) * unit:
        first = constraint.project(start + scale * generator.standard_normal(start.shape))
        steps = scale * generator.standard_normal(start.shape)
        mean = steps.mean(axis=0)
        if any(violated(first, first + step) for step in (steps, steps - mean, steps[:1])):
            return True
    return False


# Gains of best responses: from the faces of the players' sets for quadratic costs, else by local search.

Costs = Callable[[FloatArray], FloatArray]
Face = tuple[FloatArray, FloatArray]

# Eigenvalues up to this times the largest one count as 0.
_CURVATURE_ROUNDING = 1e-12
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
        self.tolerance = _CURVATURE_ROUNDING * float(np.abs(eigenvalues).max())

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
    y = -np.einsum(
        "...jk,...k->...j", np.linalg.pinv(costs.H, rcond=_CURVATURE_ROUNDING, hermitian=True), costs.c
    )
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
    down = np.isinf(high) & ((curvature < 0) | ((curvature == 0) & (slope < 0)))
    down |= np.isinf(low) & ((curvature < 0) | ((curvature == 0) & (slope > 0)))
    return np.where(down[:, 0], -np.inf, least)


def _minimise_convex(costs: QuadraticCosts, x: FloatArray, constraint: ConstraintSet) -> FloatArray:
    """Minimise convex costs by accelerated projected gradient steps, each player with its own restarts."""
    # A player whose cost is all but linear takes long steps, not infinite ones.
    flattest = max(1e-6 * float(costs.largest.max()), _CURVATURE_ROUNDING * float(np.abs(costs.c).max()))
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
        if constraint.upper is not None:
            return None
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


def _simplex_faces(total: float | FloatArray, n_dims: int, sizes: range) -> Iterator[Face]:
    """Yield every choice of coordinates that may be above 0."""
    for size in sizes:
        directions = np.linalg.svd(np.ones((1, size)))[2][1:].T
        for support in itertools.combinations(range(n_dims), size):
            basis, point = np.zeros((n_dims, size - 1)), np.zeros((*np.shape(total)[:-1], n_dims))
            basis[list(support)], point[..., list(support)] = directions, total / size
            yield point, basis


def _least_on_faces(costs: QuadraticCosts, faces: Iterator[Face], constraint: ConstraintSet) -> FloatArray:
    """Return the least costs over all faces.

    A least point lies inside some face, where the cost is stationary and does not curve downwards. If it
    curves upwards in all of the face's directions the point is the only one and is tried here. If it is flat
    in some, moving along those leads to a smaller face at the same cost. Whatever else is tried is projected
    on the set first, and so does no harm.
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
    now = least = cost(x)
    for start in (x, constraint.start(*x.shape)):
        least = np.minimum(least, _descended_costs(cost, start, constraint))
    return now - least


def _descended_costs(cost: Costs, y: FloatArray, constraint: ConstraintSet) -> FloatArray:
    """Return costs after projected gradient steps that lower them, the step's length found by halving."""
    values, step = _finite_costs(cost(y)), np.ones(len(y))
    for _ in range(_SEARCH_STEPS):
        slopes = _slopes_by_differences(cost, y, values)
        trial = constraint.project(y - step[:, None] * slopes)
        tried = _finite_costs(cost(trial))
        better = tried <= values - 1e-4 * ((y - trial) * slopes).sum(axis=1)
        way, size = np.abs(trial - y).max(axis=1), np.abs(y).max(axis=1)
        moved = better & (way > _SMALL_STEP * np.maximum(1.0, size))
        if not moved.any() and step.max() < _SMALL_STEP:
            break
        y, values = np.where(better[:, None], trial, y), np.where(better, np.minimum(tried, values), values)
        step *= np.where(moved, 2.0, 0.25)
    return values


def _slopes_by_differences(cost: Costs, y: FloatArray, values: FloatArray) -> FloatArray:
    """Return central differences, and one-sided ones where the cost is not defined on one side."""
    slopes = np.zeros(y.shape)
    for j in range(y.shape[1]):
        size = _DIFFERENCE * np.maximum(1.0, np.abs(y[:, j]))
        ahead, behind = y.copy(), y.copy()
        ahead[:, j] += size
        behind[:, j] -= size
        up, down = (_finite_costs(cost(side)) for side in (ahead, behind))
        width = size * (np.isfinite(up).astype(float) + np.isfinite(down))
        rise = np.where(np.isfinite(up), up, values) - np.where(np.isfinite(down), down, values)
        slopes[:, j] = np.divide(rise, width, out=np.zeros(len(y)), where=width > 0)
    return slopes


def _finite_costs(costs: FloatArray) -> FloatArray:
    return np.where(np.isfinite(costs), costs, np.inf)
