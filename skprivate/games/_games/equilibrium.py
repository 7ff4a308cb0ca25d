# SPDX-License-Identifier: BSD-3-Clause
"""Equilibria without privacy: projected extragradient steps, and Newton steps where the sets are boxes."""

from collections.abc import Callable

import numpy as np

from ..._typing import BoolArray, FloatArray
from ...utils._user_frame import warn_user
from .sets import ConstraintSet

# Strategies to the players' pseudo-gradients at them and their mean.
Operator = Callable[[FloatArray], FloatArray]

# A step times the Lipschitz constant met on it stays below this, < 1 (Khobotov's condition).
_LIPSCHITZ_FRACTION = 0.9
# Factors of the step size after a step that was too long, and after one that was not.
_SHRINK = 0.6
_GROW = 1.2
# Shorter steps are taken as they are: near the smallest double nothing is gained by halving.
_SMALLEST_STEP = 1e-300
# Newton steps that one attempt may take; a guess of the sides in use settles in a few, or never.
_NEWTON_STEPS = 30


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

    def __init__(
        self,
        operator: Operator,
        constraint: ConstraintSet,
        tol: float,
        weights: FloatArray | None = None,
        noise: Callable[[FloatArray], float] | None = None,
    ) -> None:
        self.operator, self.constraint, self.tol, self.weights = operator, constraint, tol, weights
        self.noise = noise

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
            if (
                size * self.norm(there - gradients) <= _LIPSCHITZ_FRACTION * self.norm(ahead - x)
                or size < _SMALLEST_STEP
            ):
                return self.constraint.project(x - size * there), size * _GROW
            size *= _SHRINK


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


def warn_of_no_convergence() -> None:
    """Warn that the strategies that are returned are no equilibrium."""
    from sklearn.exceptions import ConvergenceWarning

    warn_user(
        "the residual is above tol after max_iter iterations: raise one of them, or look whether the game "
        "has an equilibrium (an unconstrained one need not).",
        ConvergenceWarning,
    )
