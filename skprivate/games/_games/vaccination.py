# SPDX-License-Identifier: BSD-3-Clause
"""The vaccination game: the cost of a vaccine against a risk that depends on the coverage."""

from collections.abc import Collection
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from ..._typing import FloatArray
from ...exceptions import UtilityWarning
from ...utils._public_module import public_module
from ...utils._user_frame import warn_user
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

    Where A alone is private, priors are about ``r_``: a prior of A has to be moved by ``r_ - A``, which is a
    function of B and N and thus public.

    With one vaccine and B > 0 the game of "herd_immunity" has exactly one Nash equilibrium. Proof: divided by
    B_i, the pseudo-gradient is ``x_i / N + delta`` plus a constant, the map of a positive definite matrix; a
    positive factor per player changes no equilibrium on a box. In "as_printed" with B > 0 every player's cost
    is concave in its own strategy: best responses are corners, and a point with residual 0 inside the box
    can have regret.

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
        if secret == {"A"}:
            self.private_bounds = self._shifted(limits)
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

    def _shifted(self, limits: Pair | None) -> Pair | None:
        """Return bounds of r from those of A: the two differ by what is public, added as it is to A."""
        return None if limits is None else (limits[0] + self._shift, limits[1] + self._shift)

    def cost(self, x: FloatArray, aggregate: FloatArray) -> FloatArray:
        """Return the players' costs, as `AggregativeGame.cost` does."""
        exposure = 1.0 - aggregate if self.herd_immunity else aggregate
        risk = self._apply_B(1.0 - x)
        return np.einsum("ij,ij->i", self._prices, x) + (risk * exposure).sum(axis=1)
