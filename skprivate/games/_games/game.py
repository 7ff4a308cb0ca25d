# SPDX-License-Identifier: BSD-3-Clause
"""Aggregative games: costs of the own strategy and of the mean of all players' strategies."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..._typing import FloatArray
from ...exceptions import UtilityWarning
from ...utils import check_int, check_positive
from ...utils._public_module import public_module
from ...utils._user_frame import warn_user
from .best_response import searched_gains
from .equilibrium import VariationalInequality, extragradient, warn_of_no_convergence
from .projection_set import make_constraint
from .sets import Bounds, ConstraintSet, Projection

Function = Callable[[FloatArray, FloatArray], ArrayLike]

# Scales of the pairs of points at which a user's game is asked whether it is monotone, in diameters or 1.
_PAIR_SCALES = (0.1, 1.0, 10.0)
_PAIRS_PER_SCALE = 8
# A pair speaks against monotonicity if it does so by more than rounding could.
_ROUNDING = 1e-9


@public_module("skprivate.games")
class AggregativeGame:
    """A game given by its pseudo-gradient, for all players at once.

    Player i picks x_i from a convex set and bears the cost ``f_i(x_i, delta)`` where delta is the mean of all
    strategies, its own included. A pseudo-gradient F_i tells in which direction that cost grows; strategies
    with ``x_i = P[x_i - F_i(x_i, delta)]`` for every player are an equilibrium.

    Parameters
    ----------
    pseudo_gradient : callable
        ``pseudo_gradient(x, aggregate)`` takes two arrays of shape (n_players, n_dims), row i being player
        i's strategy and its estimate of the aggregate, and returns F of the same shape. Row i of the result
        may depend on row i of the arguments alone.
    n_players : int
        N, at least 1.
    n_dims : int, default=1
        n, the number of coordinates of a strategy, at least 1.
    bounds : None, pair (lower, upper), "simplex" or ConstraintSet, default=None
        Where strategies lie, see `Box` and `Simplex`; None is everywhere.
    projection : callable, default=None
        Instead of `bounds`: the Euclidean projection on the players' sets, from and to arrays of shape
        (n_players, n_dims), row by row.
    diameter : float, default=None
        L1 diameter of a player's set, for a `projection`; None is unbounded.
    cost : callable, default=None
        ``cost(x, aggregate)``, with the same arguments, returns the players' costs, of shape (n_players,).
        `regret` needs it.

    Attributes
    ----------
    n_players, n_dims : int
    constraint : ConstraintSet
        The strategies' sets.
    private : frozenset of str
        ``{"pseudo_gradient"}``: nothing of it is public.

    Raises
    ------
    TypeError, ValueError
        A parameter of the wrong type, size or shape; a function that does not return finite numbers of the
        right shape where it is tried, or whose rows depend on other rows.

    See Also
    --------
    QuadraticAggregativeGame : Affine pseudo-gradients; exact guarantees where their constant part is private.
    VaccinationGame : The game of the paper's simulations.

    Notes
    -----
    The Nash equilibrium needs the total derivative of ``f_i(x_i, delta)`` by x_i, which holds 1/N times the
    derivative by delta because delta contains x_i. With the partial derivative by x_i alone the equilibrium
    is Wardrop's, of players who overlook their own weight in the aggregate.

    **Privacy**: the game holds what the players keep to themselves. Nothing here is private but what a
    `PrivateNashSolver` releases; ``repr`` shows sizes and sets alone.

    References
    ----------
    Z. Cheng, G. Chen, T. J. Oechtering, M. Skoglund, "Privacy Guarantee for Nash Equilibrium Computation of
    Aggregative Games Based on Pointwise Maximal Leakage".

    Examples
    --------
    Five firms choose quantities; the price falls with the mean.

    >>> import numpy as np
    >>> from skprivate.games import AggregativeGame
    >>> costs = np.array([[1.0], [1.5], [2.0], [2.5], [3.0]])
    >>> def gradient(x, mean):
    ...     return costs + x - (10 - 2 * mean) + 2 / 5 * x
    >>> game = AggregativeGame(gradient, 5, bounds=(0, 10))
    >>> x = game.solve()
    >>> x.ravel().round(3)
    array([3.067, 2.71 , 2.353, 1.996, 1.639])
    >>> bool(game.residual(x) < 1e-9)
    True
    """

    n_players: int
    n_dims: int
    constraint: ConstraintSet
    private: frozenset[str]
    _function: Any
    _cost: Any = None

    def __init__(
        self,
        pseudo_gradient: Function,
        n_players: int,
        n_dims: int = 1,
        *,
        bounds: Bounds = None,
        projection: Projection | None = None,
        diameter: float | None = None,
        cost: Function | None = None,
    ) -> None:
        for name, function in (("pseudo_gradient", pseudo_gradient), ("cost", cost)):
            if not callable(function) and (name, function) != ("cost", None):
                raise TypeError(f"{name} must be callable, not {type(function).__name__}.")
        n_players = check_int(n_players, "n_players", least=1)
        n_dims = check_int(n_dims, "n_dims", least=1)
        self._set_shape(n_players, n_dims, make_constraint(bounds, projection, diameter, n_players, n_dims))
        self.private = frozenset({"pseudo_gradient"})
        self._function, self._cost = pseudo_gradient, cost
        self._check_function("pseudo_gradient", pseudo_gradient, (n_players, n_dims))
        if cost is not None:
            self._check_function("cost", cost, (n_players,))

    def _set_shape(self, n_players: int, n_dims: int, constraint: ConstraintSet) -> None:
        self.n_players, self.n_dims, self.constraint = n_players, n_dims, constraint

    def _check_function(self, name: str, function: Any, shape: tuple[int, ...]) -> None:
        """Refuse a user's function that returns no finite numbers of this shape, or mixes the players."""
        start = self.constraint.start(self.n_players, self.n_dims)
        values = np.asarray(function(_read_only(start), _read_only(start)))
        if values.dtype.kind not in "iuf" or values.shape != shape:
            raise ValueError(
                f"{name} must return real numbers of shape {shape} for a game of {self.n_players} players "
                f"and {self.n_dims} dimensions; it returned {values.dtype} of shape {values.shape}."
            )
        if not np.isfinite(values).all():
            raise ValueError(f"{name} must return finite numbers; it does not at the public start.")
        half = self.n_players // 2
        moved = self.constraint.project(start + np.linspace(0.1, 0.3, self.n_dims))
        for kept, changed in ((slice(half), slice(half, None)), (slice(half, None), slice(half))):
            other = start.copy()
            other[changed] = moved[changed]
            found = np.asarray(function(_read_only(other), _read_only(other)))
            if not np.allclose(found[kept], values[kept], rtol=1e-9, atol=1e-12, equal_nan=True):
                raise ValueError(
                    f"{name}: row i of the result must depend on row i of the arguments alone, and it does "
                    "not. The aggregate comes as an argument; do not take a mean inside."
                )

    def pseudo_gradient(self, x: FloatArray, aggregate: FloatArray) -> FloatArray:
        """Return the players' pseudo-gradients.

        Parameters
        ----------
        x : ndarray of shape (n_players, n_dims)
            Strategies. Nothing is checked here: a solver calls this every round.
        aggregate : ndarray of shape (n_players, n_dims) or (n_dims,)
            The players' estimates of the aggregate, or one for all.

        Returns
        -------
        gradients : ndarray of shape (n_players, n_dims)
        """
        return np.asarray(self._function(_read_only(x), self._rows(aggregate)), dtype=np.float64)

    def cost(self, x: FloatArray, aggregate: FloatArray) -> FloatArray | None:
        """Return the players' costs.

        Parameters
        ----------
        x : ndarray of shape (n_players, n_dims)
            Strategies.
        aggregate : ndarray of shape (n_players, n_dims) or (n_dims,)
            As in `pseudo_gradient`; for the cost at x, ``x.mean(axis=0)``.

        Returns
        -------
        costs : ndarray of shape (n_players,), or None
            None if the game was given no cost.
        """
        if self._cost is None:
            return None
        return np.asarray(self._cost(_read_only(x), self._rows(aggregate)), dtype=np.float64)

    def _rows(self, aggregate: FloatArray) -> FloatArray:
        if aggregate.ndim == 2:
            return _read_only(aggregate)
        return np.broadcast_to(aggregate, (self.n_players, self.n_dims))

    def residual(self, x: ArrayLike) -> float:
        """Return how far strategies are from an equilibrium: 0 exactly there.

        Parameters
        ----------
        x : array-like of shape (n_players, n_dims), or (n_players,) for one dimension
            Strategies.

        Returns
        -------
        residual : float
            Largest Euclidean norm over players of ``x_i - P[x_i - F_i(x_i, mean x)]``.

        Raises
        ------
        ValueError
            Wrong shape, or not finite.
        """
        strategies = self._check_strategies(x)
        moved = strategies - self.constraint.project(strategies - self._operator(strategies))
        return float(np.sqrt(np.square(moved).sum(axis=1).max()))

    def regret(self, x: ArrayLike) -> float:
        """Return what the player with most to gain could gain by another strategy: 0 at a Nash equilibrium.

        Parameters
        ----------
        x : array-like of shape (n_players, n_dims), or (n_players,) for one dimension
            Strategies inside the constraint set.

        Returns
        -------
        regret : float
            Largest over players of ``f_i(x) - min_y f_i(y, the others of x)``, in the units of the costs. The
            player's weight 1/N in the aggregate is counted, also in a game whose pseudo-gradient leaves
            it out: a Wardrop equilibrium has a regret of the order 1/N.

        Raises
        ------
        ValueError
            The game has no cost, or one that is not finite at x; wrong shape, not finite, or outside the
            constraint set.

        Notes
        -----
        For a user's cost the least cost is searched for by projected descents, with numerical derivatives,
        from x and from the set's start. It is the least where the cost is convex in the own strategy and
        smooth, and the result is a LOWER bound of the regret otherwise. The cost may be evaluated a
        little outside of the set (relative 1e-6); where it is not finite there, that side is left out.
        """
        strategies = self._check_strategies(x)
        if not self.constraint.contains(strategies).all():
            raise ValueError("regret compares strategies of the constraint set, and these are not all in it.")
        return max(0.0, float(self._gains(strategies).max()))

    def _gains(self, x: FloatArray) -> FloatArray:
        if self._cost is None:
            raise ValueError("regret needs the players' costs: this game was given none (cost=...).")
        weight = 1.0 / self.n_players
        others = x.mean(axis=0) - weight * x

        def cost(y: FloatArray) -> FloatArray:
            return np.asarray(self._cost(_read_only(y), others + weight * y), dtype=np.float64)

        if not np.isfinite(cost(x)).all():
            raise ValueError("regret compares costs, and these strategies have some that are not finite.")
        return searched_gains(cost, x, self.constraint)

    def solve(
        self, *, start: ArrayLike | None = None, tol: float = 1e-10, max_iter: int = 100_000
    ) -> FloatArray:
        """Return an equilibrium, found without any privacy: a reference for what noise costs.

        Parameters
        ----------
        start : array-like of shape (n_players, n_dims), default=None
            Where to start; None is the set's public start.
        tol : float, default=1e-10
            Stop at a `residual` of ``tol * max(1, largest |x|, largest |F|)``.
        max_iter : int, default=100_000
            Most iterations of the extragradient method.

        Returns
        -------
        x : ndarray of shape (n_players, n_dims)

        Raises
        ------
        TypeError, ValueError
            A start of the wrong shape or not finite; `tol` or `max_iter` that is no number or not positive.

        Warns
        -----
        UtilityWarning
            The game is not monotone: what is found, if anything, may be one equilibrium of several, or none.
        ConvergenceWarning
            The residual is above the tolerance after `max_iter` iterations.

        Notes
        -----
        Projected extragradient steps, whose length adapts to the pseudo-gradient's slope. They converge where
        the game is monotone and its pseudo-gradient is Lipschitz. Affine games on a box take Newton steps
        too, see `QuadraticAggregativeGame`.

        **Privacy**: none: the result is computed from all that the players keep to themselves.
        """
        max_iter = check_int(max_iter, "max_iter", least=0)
        check_positive(tol, "tol")
        if start is None:
            strategies = self.constraint.start(self.n_players, self.n_dims)
        else:
            strategies = self.constraint.project(self._check_strategies(start))
        if self.is_monotone() is False:
            warn_user(
                "the game is not monotone: strategies found here may be one equilibrium of several, or none.",
                UtilityWarning,
            )
        solution, solved = self._solve_from(strategies, tol, max_iter)
        if not solved:
            warn_of_no_convergence()
        return solution

    def _solve_from(self, start: FloatArray, tol: float, max_iter: int) -> tuple[FloatArray, bool]:
        return extragradient(VariationalInequality(self._operator, self.constraint, tol), start, max_iter)

    def _operator(self, x: FloatArray) -> FloatArray:
        """Return the pseudo-gradients where all players know the mean."""
        return self.pseudo_gradient(x, x.mean(axis=0))

    def is_monotone(self) -> bool | None:
        """Return whether the game is monotone, as far as tried pairs of profiles show.

        Returns
        -------
        monotone : bool or None
            False if two strategy profiles speak against it, None if none of the tried ones does. That is no
            proof; affine games have one.

        Notes
        -----
        Monotone: ``sum_i (F_i(x) - F_i(y))'(x_i - y_i) >= 0`` for all profiles x and y. Then the equilibria
        are a convex set, and methods like `solve` find one. Pairs of three scales are tried, from a fixed
        seed: with players moving at random, with the mean unchanged, and all together.
        """
        generator = np.random.default_rng(0)
        start = self.constraint.start(self.n_players, self.n_dims)
        diameter = self.constraint.diameter
        unit = diameter if 0 < diameter < np.inf else 1.0
        for scale in np.repeat(_PAIR_SCALES, _PAIRS_PER_SCALE) * unit:
            first = self.constraint.project(start + scale * generator.standard_normal(start.shape))
            steps = scale * generator.standard_normal(start.shape)
            mean = steps.mean(axis=0)
            if any(self._violated(first, first + step) for step in (steps, steps - mean, steps[:1])):
                return False
        return None

    def _violated(self, first: FloatArray, second: FloatArray) -> bool:
        second = self.constraint.project(second)
        rise, step = self._operator(second) - self._operator(first), second - first
        return float((rise * step).sum()) < -_ROUNDING * float(np.linalg.norm(rise) * np.linalg.norm(step))

    def _check_strategies(self, x: ArrayLike) -> FloatArray:
        strategies = np.asarray(x)
        if strategies.dtype.kind not in "iuf":
            raise ValueError("strategies must be real numbers.")
        if self.n_dims == 1 and strategies.shape == (self.n_players,):
            strategies = strategies[:, None]
        if strategies.shape != (self.n_players, self.n_dims):
            raise ValueError(
                f"strategies must have shape {(self.n_players, self.n_dims)}, one row per player, not "
                f"{strategies.shape}."
            )
        if not np.isfinite(strategies).all():
            raise ValueError("strategies must be finite.")
        return strategies.astype(np.float64)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(n_players={self.n_players}, n_dims={self.n_dims}, "
            f"constraint={self.constraint!r}, private={sorted(self.private)!r})"
        )


def _read_only(values: FloatArray) -> FloatArray:
    """Return a view that a user's function cannot write to: a step that it takes by itself is not clipped."""
    view = values.view()
    view.flags.writeable = False
    return view
