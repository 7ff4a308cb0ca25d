# SPDX-License-Identifier: BSD-3-Clause
"""Aggregative games: costs of the own strategy and of the mean of all players' strategies."""

from collections.abc import Callable
from typing import Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike

from ..._typing import FloatArray
from ...exceptions import UtilityWarning
from ...utils import check_int, check_positive
from ...utils._private_fit import warn_user
from ...utils._public_module import public_module
from .cost_checks import CostChecks
from .cost_gradient import PlayerFunction, check_player_function, own_weights, read_only, residual_noise
from .equilibrium import (
    Operator,
    VariationalInequality,
    extragradient,
    row_solutions,
    searched_gains,
    some_pair_is_not_monotone,
)
from .sets import Bounds, ConstraintSet, Projection, as_numbers, make_constraint

# Tolerance of responses, relative to the set and the gradient at its start, and most steps to it.
_RESPONSE_TOL, _RESPONSE_STEPS = 1e-8, 5000
# Strategies so many times as large as the start run away.
_RUNAWAY = 1e6


@public_module("skprivate.games")
class AggregativeGame:
    """A game given by its pseudo-gradient, or by its costs (`from_cost`), for all players at once.

    Player i picks x_i from a convex set and bears the cost ``f_i(x_i, delta)`` where delta is the mean of all
    strategies, its own included. A pseudo-gradient F_i is the direction in which that cost grows; strategies
    with ``x_i = P[x_i - F_i(x_i, delta)]`` for every player are an equilibrium.

    Parameters
    ----------
    pseudo_gradient : callable
        ``pseudo_gradient(x, aggregate)`` takes two arrays of shape (n_players, n_dims) and returns F of the
        same shape. Row i holds player i's strategy and its estimate of the aggregate. Row i of the result may
        depend on row i of the arguments alone.
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
        `regret` needs it. That the pseudo-gradient is its derivative is not assumed: see `check_gradient`.

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
        A parameter has the wrong type, size or shape. A function does not return finite numbers of the right
        shape where it is tried, or its rows depend on other rows.

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
    # By how much the aggregate moves with the own strategy, if it was given; None is 1/N.
    _own_weights: FloatArray | None = None

    def __init__(
        self,
        pseudo_gradient: PlayerFunction,
        n_players: int,
        n_dims: int = 1,
        *,
        bounds: Bounds = None,
        projection: Projection | None = None,
        diameter: float | None = None,
        cost: PlayerFunction | None = None,
    ) -> None:
        for name, function in (("pseudo_gradient", pseudo_gradient), ("cost", cost)):
            if not callable(function) and (name, function) != ("cost", None):
                raise TypeError(f"{name} must be callable, not {type(function).__name__}.")
        n_players = check_int(n_players, "n_players", least=1)
        n_dims = check_int(n_dims, "n_dims", least=1)
        self._set_shape(n_players, n_dims, make_constraint(bounds, projection, diameter, n_players, n_dims))
        self.private = frozenset({"pseudo_gradient"})
        self._function, self._cost = pseudo_gradient, cost
        shape = (n_players, n_dims)
        check_player_function("pseudo_gradient", pseudo_gradient, shape, self.constraint, shape)
        if cost is not None:
            check_player_function("cost", cost, shape[:1], self.constraint, shape)

    @classmethod
    def from_cost(
        cls,
        cost: PlayerFunction,
        n_players: int,
        n_dims: int = 1,
        *,
        bounds: Bounds = None,
        projection: Projection | None = None,
        diameter: float | None = None,
        gradient: Callable[[FloatArray, FloatArray], Any] | None = None,
        own_effect: bool | ArrayLike = True,
        check: bool = True,
    ) -> Self:
        """Return the game of players with these costs; the pseudo-gradient is found from them.

        Parameters
        ----------
        cost : callable
            ``cost(x, aggregate)`` takes two arrays of shape (n_players, n_dims) and returns the costs, of
            shape (n_players,), row by row. Row i holds player i's strategy and the aggregate.
        n_players, n_dims, bounds, projection, diameter
            As for the class.
        gradient : callable, default=None
            ``gradient(x, aggregate)`` returns two arrays of shape (n_players, n_dims). These are the
            derivatives of the costs by the own strategy and by the aggregate, each with the other held fixed.
            As costs go row by row, ``jax.grad(lambda x, mean: cost(x, mean).sum(), argnums=(0, 1))`` is one.
            None: central differences of the cost, 2 n_dims evaluations for all players a round.
        own_effect : bool, float, or array-like of shape (n_players,), default=True
            By how much a player's own strategy moves the aggregate that it reckons with. True: 1/N, the Nash
            equilibrium. False: 0, Wardrop's. Numbers in [0, 1], where a row is no single player: 1 / (N M_i)
            for the mean of M_i players who decide alike, each for itself; `regret` is then that of one.
        check : bool, default=True
            Whether cost and gradient are tried at random points of the strategies' sets, from a fixed seed,
            in some 400 evaluations of the cost. What is wrong between those points is not seen.

        Returns
        -------
        game : AggregativeGame

        Raises
        ------
        TypeError, ValueError
            As for the class. With `check` also for a cost that is NaN or infinite, not differentiable, or not
            convex in the own strategy, and for a gradient that is not its derivative. The message names a
            player and the point.

        Warns
        -----
        UtilityWarning
            A cost is so large that its rounding hides its derivatives: `gradient` was not checked.

        Notes
        -----
        The pseudo-gradient is the total derivative ``d f_i / d x_i + w_i d f_i / d delta``, w_i the own
        effect. Steps of differences are eps^(1/3) times the width of the set in that coordinate (or times
        ``max(1, |x|)`` without sides). Here eps is that of the type in which the cost returns its numbers.
        This gives about ten digits in double precision, and five in single. Differences do not leave a `Box`,
        or the range of coordinates of a `Simplex`; another set they may leave by a step. With noise a
        player's estimate of the aggregate may leave the range of means: a cost that is not finite there is no
        move.

        **Privacy**: checks use points that depend on a seed and on public sets alone. A message names a
        player, a point and a relative error, and no cost.

        Examples
        --------
        The same firms, from their expenses less their earnings.

        >>> import numpy as np
        >>> from skprivate.games import AggregativeGame
        >>> unit_cost = np.array([1.0, 1.5, 2.0, 2.5, 3.0])
        >>> def cost(x, mean):
        ...     return unit_cost * x[:, 0] + x[:, 0] ** 2 / 2 - x[:, 0] * (10 - 2 * mean[:, 0])
        >>> AggregativeGame.from_cost(cost, 5, bounds=(0, 10)).solve().ravel().round(3)
        array([3.067, 2.71 , 2.353, 1.996, 1.639])
        """
        if cls.__init__ is not AggregativeGame.__init__:
            raise TypeError(f"{cls.__name__} is not made from a cost: use AggregativeGame.from_cost.")
        for name, function in (("cost", cost), ("gradient", gradient)):
            if not callable(function) and (name, function) != ("gradient", None):
                raise TypeError(f"{name} must be callable, not {type(function).__name__}.")
        shape = check_int(n_players, "n_players", least=1), check_int(n_dims, "n_dims", least=1)
        constraint = make_constraint(bounds, projection, diameter, *shape)
        check_player_function("cost", cost, shape[:1], constraint, shape)
        weights = own_weights(own_effect, shape[0])
        checks = CostChecks(cost, weights, constraint, shape)
        pseudo_gradient = checks.checked_gradient(gradient, check=check)
        game = cls(pseudo_gradient, *shape, bounds=constraint, cost=cost)
        # Players who overlook their own effect may gain by it all the same.
        overlooked = isinstance(own_effect, bool | np.bool_) and not own_effect
        game._own_weights = None if overlooked else weights
        return game

    def _set_shape(self, n_players: int, n_dims: int, constraint: ConstraintSet) -> None:
        self.n_players, self.n_dims, self.constraint = n_players, n_dims, constraint

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
        return np.asarray(self._function(read_only(x), self._rows(aggregate)), dtype=np.float64)

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
        return np.asarray(self._cost(read_only(x), self._rows(aggregate)), dtype=np.float64)

    def check_gradient(
        self, *, own_effect: bool | ArrayLike | None = None, n_points: int = 10, random_state: int = 0
    ) -> float:
        """Compare the pseudo-gradient with differences of the cost at random points of the strategies' sets.

        Parameters
        ----------
        own_effect : bool, float, or array-like of shape (n_players,), default=None
            As in `from_cost`: by how much the aggregate moves with the own strategy. None: the value given to
            `from_cost`, or else 1/N.
        n_points : int, default=10
            Number of points, for every player.
        random_state : int, default=0
            Seed of the points. They do not depend on anything private.

        Returns
        -------
        error : float
            Largest error found, relative to the largest derivative of the player's cost at these points.

        Raises
        ------
        ValueError
            The game has no cost, or one that is not finite at a point. Or the pseudo-gradient is off by more
            than rounding and the one-sided differences allow. The message names the player, the coordinate,
            the point and the relative error. It also says if the pseudo-gradient is the partial derivative,
            which leads to Wardrop's equilibrium.

        Warns
        -----
        UtilityWarning
            A cost is so large that its rounding hides its derivatives at all these points.

        Notes
        -----
        A pseudo-gradient may differ from the central difference by the distance of the two one-sided ones,
        since the derivative of a convex cost lies between them. Three digits more than the cost's rounding
        are added.

        Examples
        --------
        >>> from skprivate.games import AggregativeGame
        >>> def cost(x, mean):
        ...     return x[:, 0] ** 2 + x[:, 0] * mean[:, 0]
        >>> partial = AggregativeGame(lambda x, mean: 2 * x + mean, 4, bounds=(-1, 1), cost=cost)
        >>> partial.check_gradient()
        Traceback (most recent call last):
        ...
        ValueError: pseudo_gradient is not the derivative of cost: player ..., coordinate 0, ...
        >>> partial.check_gradient(own_effect=False) < 1e-6
        True
        """
        n_points = check_int(n_points, "n_points", least=1)
        seed = check_int(random_state, "random_state", least=0)
        weights = self._deviation_weights if own_effect is None else own_weights(own_effect, self.n_players)
        start = self.constraint.start(self.n_players, self.n_dims)
        if self.cost(start, start) is None:
            raise ValueError("check_gradient needs the players' costs: this game was given none (cost=...).")
        # A user's functions as they are: in their own precision.
        gradient, cost = getattr(self, "_function", self.pseudo_gradient), self._cost or cast(Any, self.cost)
        return CostChecks(cost, weights, self.constraint, start.shape, seed).compare_gradient(
            gradient, n_points
        )

    @property
    def _deviation_weights(self) -> FloatArray:
        """By how much the aggregate moves when a player leaves its strategy."""
        if self._own_weights is not None:
            return self._own_weights
        return np.full(self.n_players, 1.0 / self.n_players)

    def _rows(self, aggregate: FloatArray) -> FloatArray:
        if aggregate.ndim == 2:
            return read_only(aggregate)
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
            player's weight 1/N in the aggregate is counted, even if the game's pseudo-gradient leaves it out.
            A Wardrop equilibrium therefore has a regret of the order 1/N.

        Raises
        ------
        ValueError
            The game has no cost, or one that is not finite at x; wrong shape, not finite, or outside the
            constraint set.

        Notes
        -----
        For a user's cost the least cost is searched for by projected descents, with numerical derivatives,
        from x and from the set's start. It is the least if the cost is smooth and convex in the own strategy.
        Otherwise the result is a LOWER bound of the regret. The cost may be evaluated a little outside of the
        set (relative 1e-6); where it is not finite there, that side is left out.
        """
        strategies = self._check_strategies(x)
        if not self.constraint.contains(strategies).all():
            raise ValueError("regret compares strategies of the constraint set, and these are not all in it.")
        return max(0.0, float(self._gains(strategies).max()))

    def _gains(self, x: FloatArray) -> FloatArray:
        if self._cost is None:
            raise ValueError("regret needs the players' costs: this game was given none (cost=...).")
        weight = self._deviation_weights[:, None]
        others = x.mean(axis=0) - weight * x

        def cost(y: FloatArray) -> FloatArray:
            return np.asarray(self._cost(read_only(y), others + weight * y), dtype=np.float64)

        if not np.isfinite(cost(x)).all():
            raise ValueError("regret compares costs, and these strategies have some that are not finite.")
        return searched_gains(cost, x, self.constraint)

    def respond(
        self,
        aggregate: ArrayLike,
        *,
        reference: ArrayLike | None = None,
        conjecture: ArrayLike | None = None,
    ) -> FloatArray:
        """Return what every player plays at home against a public estimate of the aggregate.

        Parameters
        ----------
        aggregate : array-like of shape (n_dims,)
            The estimate, as of `PrivateNashSolver.public_aggregate_` or of an equilibrium of a public draw.
        reference : array-like of shape (n_players, n_dims), default=None
            What players played when the aggregate was estimated. None: their responses to the aggregate as
            it is.
        conjecture : float or array-like of shape (n_players,), default=None
            In [0, 1]: by how much of its own change, from the reference, a player expects the aggregate to
            move. 1: as if all players were like it. None: 1/N, its own share.

        Returns
        -------
        strategies : ndarray of shape (n_players, n_dims)
            Every player's is a function of its own costs and of the arguments alone.

        Raises
        ------
        ValueError
            Wrong shape, not finite, or a conjecture outside of [0, 1].

        Warns
        -----
        ConvergenceWarning
            Some responses are not found to that tolerance, as where a cost is 10,000 times as steep in one
            direction as in another.

        Notes
        -----
        A player solves ``F_i(x, aggregate + conjecture (x - reference_i)) = 0`` in its set. Take a
        pseudo-gradient ``P x + Q aggregate`` and an aggregate that is off by e. With the conjecture 0 the
        responses move by about ``Q e / P``. With the conjecture 1 they move by ``Q e / (P + Q)``, but players
        who differ from others stay closer to the reference. Steps are projected gradient steps of spectral
        lengths, with extragradient steps where those fail, 5,000 at most, to 1e-8 of the set's diameter.

        **Privacy**: nothing is published. Responses to a private estimate are its post-processing, joined
        with the player's own data: no guarantee about broadcasts covers a response that others see.

        Examples
        --------
        >>> from skprivate.games import QuadraticAggregativeGame
        >>> game = QuadraticAggregativeGame(P=1.0, Q=0.5, r=[-3.0, -1.0], bounds=(0, 4))
        >>> game.respond([1.0]).ravel().round(2), game.solve().ravel().round(2)
        (array([2. , 0.4]), array([1.94, 0.34]))
        """
        shape, near = (self.n_players, self.n_dims), as_numbers(aggregate, "aggregate").astype(np.float64)
        if near.shape != shape[1:] or not np.isfinite(near).all():
            raise ValueError(f"aggregate must hold finite numbers, of shape {shape[1:]}.")
        share = np.asarray(1 / self.n_players if conjecture is None else conjecture, dtype=np.float64)
        if share.shape not in ((), shape[:1]) or not ((share >= 0) & (share <= 1)).all():
            raise ValueError("conjecture must hold numbers from 0 to 1: one, or one for each player.")
        share = np.broadcast_to(share, shape[:1])[:, np.newaxis]
        held = np.broadcast_to(near, shape)
        if reference is None:
            start = self.constraint.start(*shape)
            known, _ = self._responses(lambda x: self.pseudo_gradient(x, held), start)
        else:
            known = self._check_strategies(reference)
        found, solved = self._responses(lambda x: self.pseudo_gradient(x, held + share * (x - known)), known)
        if not solved:
            from sklearn.exceptions import ConvergenceWarning

            warn_user(
                "Some responses are not found to 1e-8 of the set: a cost is far steeper in one direction "
                "than in another, or has kinks. Use units in which slopes are alike.",
                ConvergenceWarning,
            )
        return found

    def _responses(self, operator: Operator, start: FloatArray) -> tuple[FloatArray, bool]:
        origin, reach = self.constraint.start(self.n_players, self.n_dims), self.constraint.euclidean_diameter
        reach = reach if 0 < reach < np.inf else max(1.0, float(np.abs(origin).max()))
        # Of two public points the one where the row's gradient is larger: at one of them it may be all but 0.
        ends = [operator(point) for point in (origin, self.constraint.project(origin + reach))]
        larger = np.square(ends[0]).sum(axis=1) >= np.square(ends[1]).sum(axis=1)
        scale = np.where(larger[:, np.newaxis], *ends)
        return row_solutions(operator, self.constraint, start, reach, scale, _RESPONSE_TOL, _RESPONSE_STEPS)

    def solve(
        self, *, start: ArrayLike | None = None, tol: float = 1e-10, max_iter: int = 100_000
    ) -> FloatArray:
        """Return an equilibrium, found without any privacy: a reference for what noise costs.

        Parameters
        ----------
        start : array-like of shape (n_players, n_dims), default=None
            Where to start; None is the set's public start.
        tol : float, default=1e-10
            Stop at a `residual` of ``tol * max(1, largest |x|, largest |F|)``. With differences of a cost
            (`from_cost`), or in single precision, also stop if the residual is no more than their rounding.
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
        # Strategies that run away make any residual small beside them.
        origin = self.constraint.start(self.n_players, self.n_dims)
        far = float(np.abs(solution).max()) > _RUNAWAY * max(1.0, float(np.abs(origin).max()))
        if not solved or (far and self.residual(solution) > self.residual(origin) / 2):
            from sklearn.exceptions import ConvergenceWarning

            warn_user(
                "the residual is above tol after max_iter iterations: raise one of them, or look whether the "
                "game has an equilibrium (an unconstrained one need not).",
                ConvergenceWarning,
            )
        return solution

    def _solve_from(self, start: FloatArray, tol: float, max_iter: int) -> tuple[FloatArray, bool]:
        noise = residual_noise(self._function, start)
        problem = VariationalInequality(self._operator, self.constraint, tol, noise=noise)
        return extragradient(problem, start, max_iter)

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
        start = self.constraint.start(self.n_players, self.n_dims)
        return False if some_pair_is_not_monotone(self._operator, self.constraint, start) else None

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
