# SPDX-License-Identifier: BSD-3-Clause
"""Games with affine pseudo-gradients: quadratic costs, and the vaccination game."""

from collections.abc import Collection
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from ..._typing import FloatArray
from ...exceptions import UtilityWarning
from ...utils._private_fit import warn_user
from ...utils._public_module import public_module
from .equilibrium import (
    LinearMap,
    QuadraticCosts,
    VariationalInequality,
    extragradient,
    is_nonnegative_form,
    newton,
    quadratic_gains,
    trace_weights,
)
from .game import AggregativeGame
from .sets import Bounds, Box, Simplex, Unconstrained, as_numbers, check_constraint

# Games whose pseudo-gradient is affine in the own strategy and in the aggregate.

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
        slope = self._own_r + self._apply_Q(x.mean(axis=0) - weight * x)
        return quadratic_gains(QuadraticCosts(curvature, slope), x, self.constraint)

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
    rows = as_numbers(values, name)
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
    matrices = as_numbers(values, name)
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
    values = as_numbers(side, name)
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


def check_private(private: Any, names: tuple[str, ...]) -> frozenset[str]:
    """Return which of these parameters are private: a name, or a collection of names."""
    chosen = (private,) if isinstance(private, str) else private
    if not isinstance(chosen, tuple | list | set | frozenset) or not chosen or not set(chosen) <= set(names):
        raise ValueError(f"private must be one or several of {', '.join(map(repr, names))}.")
    return frozenset(chosen)


def transposed(matrices: FloatArray) -> FloatArray:
    """Return every matrix transposed."""
    return np.swapaxes(matrices, -1, -2)


# Games with quadratic costs, whose pseudo-gradients are affine.

# Relative difference of a matrix and its transpose that counts as rounding.
_ROUNDING = 1e-12


@public_module("skprivate.games")
class QuadraticAggregativeGame(AffineGame):
    """Players with costs ``f_i(x, delta) = x' P_i x / 2 + x' Q_i delta + r_i' x``.

    x is the player's own strategy and delta the mean of all strategies. The pseudo-gradient is affine, and
    where r alone is private the guarantee of a `PrivateNashSolver` without projection is exact.

    Parameters
    ----------
    P : float, or array-like of shape (n_dims, n_dims), (n_players,) or (n_players, n_dims, n_dims)
        Symmetric; a number stands for that multiple of the identity, a vector for one multiple per player.
    Q : float, or array-like of shape (n_dims, n_dims), (n_players,) or (n_players, n_dims, n_dims)
        As P, but not necessarily symmetric.
    r : array-like of shape (n_players,) for one dimension, or (n_players, n_dims)
        The players' own constants; their shape gives the numbers of players and dimensions.
    bounds : None, pair (lower, upper), "simplex" or ConstraintSet, default=None
        Public: where strategies lie, see `Box` and `Simplex`; None is everywhere.
    own_effect : bool, default=True
        Whether players count their own weight 1/N in the aggregate. True leads to the Nash equilibrium,
        False to Wardrop's.
    private : {"P", "Q", "r"} or collection of these, default="r"
        What the players keep to themselves; the rest is public.
    r_bounds : pair (lower, upper), default=None
        Public bounds of r: numbers, or arrays of shape (n_dims,) or (n_players, n_dims). Values of r outside
        are clipped silently: a message would be a leak.

    Attributes
    ----------
    n_players, n_dims : int
    constraint : ConstraintSet
    private : frozenset of str
        As given.
    private_bounds : tuple of two ndarrays of shape (n_players, n_dims), or None
        Public bounds of the players' r.
    P_ : ndarray of shape (n_dims, n_dims) or (n_players, n_dims, n_dims)
        The pseudo-gradient's derivative by the own strategy, the own effect included.
    Q_ : ndarray of shape (n_dims, n_dims) or (n_players, n_dims, n_dims)
        Its derivative by the aggregate.
    r_ : ndarray of shape (n_players, n_dims)
        Its constant part. PRIVATE, as ``P_`` and ``Q_`` are where `private` names P or Q.

    Raises
    ------
    TypeError
        Something that does not hold numbers, or is no pair.
    ValueError
        Wrong shapes, values that are not finite, bounds the wrong way round, P not symmetric, or unknown
        names in `private`.

    See Also
    --------
    AggregativeGame : Any pseudo-gradient.
    VaccinationGame : Costs that are bilinear in coverage and strategy.

    Notes
    -----
    The derivative of f_i by the own strategy x_i, as delta = (x_i + the others) / N holds it too, is ``P x +
    Q delta + r`` from x plus 1/N times the derivative ``Q' x`` by delta. Hence ``P_ = P + Q' / N`` with the
    own effect and ``P_ = P`` without. P must be symmetric: ``x' P x / 2`` has the gradient ``(P + P') x / 2``
    and does not distinguish P from its symmetric part. A pseudo-gradient without a cost is an
    `AggregativeGame`'s.

    `solve` finds the equilibrium without a projection from one linear system of size n for the mean; with a
    box, from such systems for the players that are not held by a side, or by projected extragradient steps.

    `regret` is exact up to rounding for one dimension, without a projection, and on a bounded box of at most
    5 dimensions or a simplex of at most 8: all faces are looked at. (If all costs are concave in the own
    strategy, ``P + (Q + Q') / N`` with no positive eigenvalue: 12 dimensions, or any simplex.) Otherwise it
    is as precise as 5,000 accelerated gradient steps where all costs are convex in the own strategy, and
    else a lower bound, from projected descents.

    **Privacy**: the object holds private numbers; ``repr`` shows none. `residual`, `regret`, `solve` and
    `is_monotone` compute with them, and their results are not private.

    References
    ----------
    Z. Cheng, G. Chen, T. J. Oechtering, M. Skoglund, "Privacy Guarantee for Nash Equilibrium Computation of
    Aggregative Games Based on Pointwise Maximal Leakage".

    Examples
    --------
    >>> from skprivate.games import QuadraticAggregativeGame
    >>> game = QuadraticAggregativeGame(1.0, 0.5, [-1.0, 0.0, 2.5], r_bounds=(-2, 2))
    >>> game.solve().ravel().round(3)
    array([ 0.943,  0.086, -1.629])
    >>> round(game.regret(game.solve()), 9)
    0.0
    >>> game
    QuadraticAggregativeGame(n_players=3, n_dims=1, constraint=Unconstrained(), private=['r'])
    """

    def __init__(
        self,
        P: ArrayLike,
        Q: ArrayLike,
        r: ArrayLike,
        bounds: Bounds = None,
        *,
        own_effect: bool = True,
        private: Literal["P", "Q", "r"] | Collection[Literal["P", "Q", "r"]] = "r",
        r_bounds: Any = None,
    ) -> None:
        constants = check_vectors(r, "r")
        n_players, n_dims = constants.shape
        self._set_shape(n_players, n_dims, check_constraint(bounds, n_players, n_dims))
        self.private = check_private(private, ("P", "Q", "r"))
        self.private_bounds: Pair | None = check_private_bounds(r_bounds, n_players, n_dims, "r_bounds")
        if self.private_bounds is not None:
            constants = np.clip(constants, *self.private_bounds)
        self._own_P = check_matrices(P, n_players, n_dims, "P")
        if np.abs(self._own_P - transposed(self._own_P)).max() > _ROUNDING * np.abs(self._own_P).max():
            raise ValueError(
                "P must be symmetric: the cost x'Px/2 has the gradient (P + P')/2 x. Pass the symmetric "
                "part, or an AggregativeGame with the pseudo-gradient you mean."
            )
        self._own_r = constants
        couplings = check_matrices(Q, n_players, n_dims, "Q")
        effective = self._own_P + transposed(couplings) / n_players if own_effect else self._own_P
        self._set_gradient(effective, couplings, constants)
        self._apply_own = LinearMap(self._own_P)

    def cost(self, x: FloatArray, aggregate: FloatArray) -> FloatArray:
        """Return the players' costs, as `AggregativeGame.cost` does."""
        slopes = self._apply_own(x) / 2
        slopes += self._apply_Q(aggregate)
        slopes += self._own_r
        return np.einsum("ij,ij->i", x, slopes)


# The vaccination game: the cost of a vaccine against a risk that depends on the coverage.


@public_module("skprivate.games")
class VaccinationGame(AffineGame):
    """Players who decide how likely they take each of n vaccines.

    x is the player's own strategy (probabilities of the n vaccines), delta the mean of all strategies, that
    is the coverage. Vaccination costs player i ``A_i' x``; what remains of its risk depends on the coverage.

    Parameters
    ----------
    A : array-like of shape (n_players,) for one vaccine, or (n_players, n_dims)
        The players' costs of vaccination.
    B : array-like of shape (n_players,) for one vaccine, or (n_players, n_dims, n_dims)
        The players' risks without. (A number, or a matrix of shape (n_dims, n_dims), is the same for all.)
    cost : {"herd_immunity", "as_printed"}, default="herd_immunity"
        "herd_immunity": ``A_i' x + (1 - delta)' B_i (1 - x)``, a risk that falls with the coverage.
        "as_printed": ``A_i' x + delta' B_i (1 - x)``, the paper's, a risk that RISES with it; warns.
    bounds : pair (lower, upper), "simplex", None or ConstraintSet, default=(0, 1)
        Public: where strategies lie, see `Box` and `Simplex`.
    own_effect : bool, default=True
        Whether players count their own weight 1/N in the coverage. True leads to the Nash equilibrium, False
        to Wardrop's.
    private : {"A", "B"} or collection of these, default=("A", "B")
        What the players keep to themselves; the rest is public. With B private the sensitivity of a broadcast
        has no bound, unless the pseudo-gradient is clipped.
    A_bounds : pair (lower, upper), default=None
        Public bounds of A: numbers, or arrays of shape (n_dims,) or (n_players, n_dims). Values of A outside
        are clipped silently: a message would be a leak.

    Attributes
    ----------
    n_players, n_dims : int
    constraint : ConstraintSet
    herd_immunity, own_effect : bool
        Which cost it is, and whether players count their own weight.
    private : frozenset of str
        ``{"r"}`` if A alone is private, ``{"P", "Q", "r"}`` if B is.
    private_bounds : tuple of two ndarrays of shape (n_players, n_dims), or None
        Public bounds of the players' ``r_``, from `A_bounds` and B; None where B is private.
    P_, Q_ : ndarray of shape (n_dims, n_dims) or (n_players, n_dims, n_dims)
        The pseudo-gradient's derivatives by the own strategy, the own effect included, and by the coverage.
    r_ : ndarray of shape (n_players, n_dims)
        Its constant part. PRIVATE, as ``P_`` and ``Q_`` are where B is.

    Raises
    ------
    TypeError
        Something that does not hold numbers, or is no pair.
    ValueError
        Wrong shapes, values that are not finite, bounds the wrong way round, an unknown `cost` or unknown
        names in `private`.

    Warns
    -----
    UtilityWarning
        For ``cost="as_printed"``: the game is not monotone, and its costs are concave in the own strategy.

    See Also
    --------
    QuadraticAggregativeGame : Quadratic costs.

    Notes
    -----
    The pseudo-gradient is ``P_ x + Q_ delta + r_``. For "herd_immunity" the partial derivative of the cost by
    x is ``A - B' (1 - delta)``, and the one by delta is ``-B (1 - x)``, of which the own effect adds 1/N:

    - own effect: ``P_ = B / N, Q_ = B', r_ = A - B' 1 - B 1 / N``;
    - without: ``P_ = 0, Q_ = B', r_ = A - B' 1``.

    For "as_printed" the two are ``A - B' delta`` and ``B (1 - x)``:

    - own effect: ``P_ = -B / N, Q_ = -B', r_ = A + B 1 / N``;
    - without: ``P_ = 0, Q_ = -B', r_ = A``.

    If only A is private, priors are about ``r_``: a prior of A has to be moved by ``r_ - A``, which is a
    function of B and N and thus public.

    With one vaccine and B > 0 the game of "herd_immunity" has exactly one Nash equilibrium. Proof. Divided by
    B_i, the pseudo-gradient is ``x_i / N + delta`` plus a constant, the map of a positive definite matrix; a
    positive factor per player changes no equilibrium on a box. In "as_printed" with B > 0 every player's cost
    is concave in its own strategy: best responses are corners, and a point with residual 0 inside the box can
    have regret.

    **Privacy**: the object holds private numbers; ``repr`` shows none. `residual`, `regret`, `solve` and
    `is_monotone` compute with them, and their results are not private.

    References
    ----------
    Z. Cheng, G. Chen, T. J. Oechtering, M. Skoglund, "Privacy Guarantee for Nash Equilibrium Computation of
    Aggregative Games Based on Pointwise Maximal Leakage", section 5. C. T. Bauch, D. J. D. Earn,
    "Vaccination and the theory of games", PNAS 101(36), 2004.

    Examples
    --------
    >>> from skprivate.games import VaccinationGame
    >>> game = VaccinationGame(A=[0.2, 0.4, 0.6], B=[1.0, 1.0, 1.0])
    >>> game.solve().ravel()
    array([1. , 0.8, 0.2])
    >>> round(game.regret(game.solve()), 9)
    0.0
    """

    def __init__(
        self,
        A: ArrayLike,
        B: ArrayLike,
        cost: Literal["herd_immunity", "as_printed"] = "herd_immunity",
        *,
        bounds: Bounds = (0, 1),
        own_effect: bool = True,
        private: Literal["A", "B"] | Collection[Literal["A", "B"]] = ("A", "B"),
        A_bounds: Any = None,
    ) -> None:
        if cost not in ("herd_immunity", "as_printed"):
            raise ValueError('cost must be "herd_immunity" or "as_printed".')
        prices = check_vectors(A, "A")
        n_players, n_dims = prices.shape
        self._set_shape(n_players, n_dims, check_constraint(bounds, n_players, n_dims))
        risks = check_matrices(B, n_players, n_dims, "B")
        limits = check_private_bounds(A_bounds, n_players, n_dims, "A_bounds")
        if limits is not None:
            prices = np.clip(prices, *limits)
        secret = check_private(private, ("A", "B"))
        self.private = frozenset({"r"}) if secret == {"A"} else frozenset({"P", "Q", "r"})
        self.herd_immunity, self.own_effect = cost == "herd_immunity", bool(own_effect)
        self.private_bounds = None
        self._set_costs(prices, risks)
        if secret == {"A"} and limits is not None:
            # The bounds of r are those of A, which differs by what is public, added as it is to A.
            self.private_bounds = (limits[0] + self._shift, limits[1] + self._shift)
        if not self.herd_immunity:
            warn_user(
                'with cost="as_printed" the risk rises with coverage: the game is not monotone, its costs '
                "are concave, and what a solver finds need not be an equilibrium.",
                UtilityWarning,
            )

    def _set_costs(self, prices: FloatArray, risks: FloatArray) -> None:
        ones = np.ones(self.n_dims)
        sign = 1.0 if self.herd_immunity else -1.0
        partial = -(transposed(risks) @ ones) if self.herd_immunity else np.zeros(self.n_dims)
        own = risks / self.n_players
        lone = partial - sign * (own @ ones)
        # Of the cost as the player's own strategy alone changes it: bilinear, no square of its own.
        self._own_P, self._own_r = np.zeros((self.n_dims, self.n_dims)), prices + lone
        self._prices, self._apply_B = prices, LinearMap(risks)
        effective, self._shift = (sign * own, lone) if self.own_effect else (self._own_P, partial)
        self._set_gradient(effective, sign * transposed(risks), prices + self._shift)

    def cost(self, x: FloatArray, aggregate: FloatArray) -> FloatArray:
        """Return the players' costs, as `AggregativeGame.cost` does."""
        exposure = 1.0 - aggregate if self.herd_immunity else aggregate
        risk = self._apply_B(1.0 - x)
        return np.einsum("ij,ij->i", self._prices, x) + (risk * exposure).sum(axis=1)
