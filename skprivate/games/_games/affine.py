# SPDX-License-Identifier: BSD-3-Clause
"""Games whose pseudo-gradient is affine in the own strategy and in the aggregate."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .best_response import QuadraticCosts, quadratic_gains
from .equilibrium import VariationalInequality, extragradient, newton
from .game import AggregativeGame
from .linear_map import LinearMap
from .monotone import is_nonnegative_form, trace_weights
from .sets import Box, Simplex, Unconstrained

FloatArray = NDArray[np.float64]
Pair = tuple[FloatArray, FloatArray]

# Extragradient steps between two attempts of Newton's method.
_RUNS = (30, 100, 300, 1000, 3000, 10_000)


class AffineGame(AggregativeGame):
    """Base of the games with ``F_i(x, v) = P_i x + Q_i v + r_i``.

    The cost of player i is, up to terms without x_i, ``x' H x / 2 + (Q_i m + c_i)' x`` where m is what the
    other players give to the aggregate, ``H = C_i + (Q_i + Q_i') / N``, and C_i and c_i come from a subclass.
    """

    P_: FloatArray
    Q_: FloatArray
    r_: FloatArray
    private_bounds: Pair | None
    _own_P: FloatArray
    _own_r: FloatArray

    def _set_gradient(self, P: FloatArray, Q: FloatArray, r: FloatArray) -> None:
        self.P_, self.Q_, self.r_ = P, Q, r
        # What a guarantee is about must stay what the players compute with, and r within its bounds.
        for array in (P, Q, r, *(self.private_bounds or ())):
            array.flags.writeable = False
        self._apply_P, self._apply_Q = LinearMap(P), LinearMap(Q)

    def pseudo_gradient(self, x: FloatArray, aggregate: FloatArray) -> FloatArray:
        """Return the players' pseudo-gradients, as `AggregativeGame.pseudo_gradient` does."""
        gradients = self._apply_P(x)
        gradients += self._apply_Q(aggregate)
        gradients += self.r_
        return gradients

    def _gains(self, x: FloatArray) -> FloatArray:
        weight = 1.0 / self.n_players
        curvature = self._own_P + weight * (self.Q_ + transposed(self.Q_))
        others = x.mean(axis=0) - weight * x
        return quadratic_gains(
            QuadraticCosts(curvature, self._own_r + self._apply_Q(others)), x, self.constraint
        )

    def is_monotone(self) -> bool:
        """Return whether the game is monotone, decided up to rounding.

        Returns
        -------
        monotone : bool

        Notes
        -----
        Monotone: ``sum_i w_i (F_i(x) - F_i(y))'(x_i - y_i) >= 0`` for all profiles x and y, with weights w_i
        that are 1 or, if that fails, inverse to the trace of Q_i. Any positive weights are as good as 1: each
        player's set is projected on for itself, so that equilibria, projections and the methods that
        use them are the same in the weighted inner product.

        The profiles differ in any direction; for a `Simplex`, in any direction whose coordinates sum to 0.
        With one P and one Q for all, the condition is that the symmetric parts of P (players moving apart,
        two players or more) and of P + Q (all together) have no negative eigenvalue. Otherwise the matrix
        of the quadratic form is block-diagonal plus one of rank 2 n, and its negative eigenvalues are counted
        from matrices of size 2 n (Haynsworth's inertia formula), in time N n^3.
        """
        return self._monotone_weights()[0]

    def _monotone_weights(self) -> tuple[bool, FloatArray | None]:
        """Return whether the game is monotone, and the players' weights for which it is; None is 1 each."""
        P, Q = self._tangent(self.P_), self._tangent(self.Q_)
        if is_nonnegative_form(P, Q, self.n_players):
            return True, None
        weights = trace_weights(Q)
        if weights is None:
            return False, None
        each = weights[:, None, None]
        return is_nonnegative_form(each * P, each * Q, self.n_players), weights

    def _solve_from(self, start: FloatArray, tol: float, max_iter: int) -> tuple[FloatArray, bool]:
        problem = VariationalInequality(self._operator, self.constraint, tol, self._monotone_weights()[1])
        sides = self._sides()
        # Short runs first: from closer, Newton's guess of the sides in use is more often right.
        for n_steps in _RUNS:
            if sides is not None and (found := newton(problem, start, self.P_, self.Q_, *sides)) is not None:
                return found, True
            start, solved = extragradient(problem, start, min(n_steps, max_iter))
            max_iter -= n_steps
            if solved or max_iter <= 0:
                return start, solved
        return extragradient(problem, start, max_iter)

    def _sides(self) -> Pair | None:
        if isinstance(self.constraint, Box):
            return self.constraint.lower, self.constraint.upper
        infinite = np.full(self.n_dims, np.inf)
        return (-infinite, infinite) if isinstance(self.constraint, Unconstrained) else None

    def _tangent(self, matrices: FloatArray) -> FloatArray:
        """Return matrices as they act on differences of two points of the players' sets."""
        if not isinstance(self.constraint, Simplex):
            return matrices
        # An orthonormal basis of the directions whose coordinates sum to 0.
        basis = np.linalg.svd(np.ones((1, self.n_dims)))[2][1:].T
        return basis.T @ matrices @ basis


def check_vectors(values: ArrayLike, name: str) -> FloatArray:
    """Return finite numbers of shape (n_players, n_dims), or (n_players,) for one dimension, as rows."""
    rows = _numbers(values, name)
    if rows.ndim == 1:
        rows = rows[:, None]
    if rows.ndim != 2 or 0 in rows.shape:
        raise ValueError(
            f"{name} must have shape (n_players,) for one dimension or (n_players, n_dims), with at least "
            f"one player, not {np.shape(values)}."
        )
    if not np.isfinite(rows).all():
        raise ValueError(f"{name} must be finite.")
    return rows.astype(np.float64)


def check_matrices(values: ArrayLike, n_players: int, n_dims: int, name: str) -> FloatArray:
    """Return finite matrices of shape (n_dims, n_dims), or (n_players, n_dims, n_dims) for one each."""
    matrices = _numbers(values, name)
    if matrices.shape in ((), (n_players,)):
        matrices = matrices[..., None, None] * np.eye(n_dims)
    if matrices.shape not in ((n_dims, n_dims), (n_players, n_dims, n_dims)):
        raise ValueError(
            f"{name} must be a number or have shape ({n_players},), {(n_dims, n_dims)} or "
            f"{(n_players, n_dims, n_dims)}, not {np.shape(values)}."
        )
    if not np.isfinite(matrices).all():
        raise ValueError(f"{name} must be finite.")
    return matrices.astype(np.float64)


def check_private_bounds(bounds: Any, n_players: int, n_dims: int, name: str) -> Pair | None:
    """Return public bounds of the players' vectors as two arrays of shape (n_players, n_dims), or None."""
    if bounds is None:
        return None
    if not isinstance(bounds, tuple | list) or len(bounds) != 2:
        raise TypeError(f"{name} must be a pair (lower, upper).")
    lower, upper = (_full_side(side, n_players, n_dims, name) for side in bounds)
    if (lower > upper).any():
        raise ValueError(f"{name}: lower must not be above upper.")
    return lower, upper


def _full_side(side: Any, n_players: int, n_dims: int, name: str) -> FloatArray:
    values = _numbers(side, name)
    if n_dims == 1 and values.shape == (n_players,):
        values = values[:, None]
    if values.shape not in ((), (n_dims,), (n_players, n_dims)):
        raise ValueError(
            f"{name}: each side must be a number or have shape ({n_dims},) or ({n_players}, {n_dims}), not "
            f"{np.shape(side)}."
        )
    if not np.isfinite(values).all():
        raise ValueError(f"{name} must be finite.")
    return np.array(np.broadcast_to(values, (n_players, n_dims)), dtype=np.float64)


def _numbers(values: ArrayLike, name: str) -> NDArray[Any]:
    array = np.asarray(values)
    if array.dtype.kind not in "iuf":
        raise TypeError(f"{name} must hold numbers.")
    return array


def check_private(private: Any, names: tuple[str, ...]) -> frozenset[str]:
    """Return which of these parameters are private: a name, or a collection of names."""
    chosen = (private,) if isinstance(private, str) else private
    if not isinstance(chosen, tuple | list | set | frozenset) or not chosen or not set(chosen) <= set(names):
        raise ValueError(f"private must be one or several of {', '.join(map(repr, names))}.")
    return frozenset(chosen)


def transposed(matrices: FloatArray) -> FloatArray:
    """Return every matrix transposed."""
    return np.swapaxes(matrices, -1, -2)
