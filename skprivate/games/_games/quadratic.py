# SPDX-License-Identifier: BSD-3-Clause
"""Games with quadratic costs, whose pseudo-gradients are affine."""

from collections.abc import Collection
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from ..._typing import FloatArray
from ...utils._public_module import public_module
from .affine import (
    AffineGame,
    Pair,
    check_matrices,
    check_private,
    check_private_bounds,
    check_vectors,
    transposed,
)
from .linear_map import LinearMap
from .sets import Bounds, check_constraint

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
    and cannot tell P from its symmetric part. A pseudo-gradient without a cost is an `AggregativeGame`'s.

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
        self._own_P = _check_symmetric(check_matrices(P, n_players, n_dims, "P"))
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


def _check_symmetric(P: FloatArray) -> FloatArray:
    if np.abs(P - transposed(P)).max() > _ROUNDING * np.abs(P).max():
        raise ValueError(
            "P must be symmetric: the cost x'Px/2 has the gradient (P + P')/2 x. Pass the symmetric part, or "
            "an AggregativeGame with the pseudo-gradient you mean."
        )
    return P
