# SPDX-License-Identifier: BSD-3-Clause
"""A mediator who publishes noisy means: joint differential privacy of players who respond at home."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, isfinite, sqrt
from numbers import Integral, Real
from typing import Any, Literal, Self

import numpy as np

from .._typing import FloatArray, IntArray, RandomSource
from ..accounting import PrivacyLedger, PrivacySpent, ReleaseRecord
from ..base import SHARED_CONSTRAINTS, assign_roles, claim_of, private_fit
from ..noise import DiscreteGaussianMechanism
from ..noise._mechanisms import Entropy, FitBudget, check_entropy
from ..utils._compat import Interval, StrOptions
from ..utils._private_fit import progress, warn_user
from ..utils._public_module import public_module
from ._games.game import AggregativeGame
from ._games.sets import ConstraintSet, inside_of_means
from ._rounds import (
    ALIKE,
    FAR,
    WEAK,
    GameSolver,
    check_game,
    check_start,
    kept_of_step,
    last_responses,
    warn_of_noise,
)

#: Sums the players' messages: int64 of shape (n_players, n_dims + 1) to (n_dims + 1,).
Mediator = Callable[[IntArray], IntArray]

# Whole numbers of a message per diameter of a set: rounding adds a part of sqrt(n) / 2^20 to the noise.
_UNITS = 2**20
# Slack for the rounding of projections, as a part of the diameter.
_OUTSIDE = 1e-8
# Diameters, of the size of strategies and in all, for which a set's slack of 1e-9 and doubles leave that.
_LEAST, _LARGEST = 1e-6, 1e100
# Reach of a step's own length in a message, as a part of the diameter: it adds an eighth to the noise.
_STEP_REACH = 0.5
# Least step towards the responses, so that noise cannot stop a run.
_LEAST_STEP = 0.02
# Rounds: what a round leaves of the distance to the equilibrium. By hand, on the games of `FAR`.
_LEFT, _MOST_ROUNDS = 0.4, 8


@public_module("skprivate.games")
class MediatedNashSolver(GameSolver):
    """Seek a Nash equilibrium with a mediator who publishes noisy means; epsilon comes first.

    In every round each player computes at home its response to the public estimate of the aggregate, and
    sends it to a trusted mediator. The mediator publishes the mean with Gaussian noise, and nothing else.
    After the last round each player plays, at home, its response to the public estimate.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy of one player for the whole run, > 0.
    delta : float, default=1e-6
        In (0, 1), and far below one over the number of players.
    max_iter : int or "auto", default="auto"
        Rounds. "auto": from epsilon, the set and the number of players; `plan_game` compares numbers.
    mediator : callable, default=None
        Sums messages: takes an int64 array of shape (n_players, n_dims + 1) and returns its sum over players,
        such as through a `MaskedSum`. None: summed here.
    random_state : None, int, RandomState or Generator, default=None
        None: entropy of the operating system. Anything else makes the run reproducible, and not private.
    ledger : PrivacyLedger, default=None
        Charged before any noise is drawn.

    Attributes
    ----------
    strategies_ : ndarray of shape (n_players, n_dims)
        What every player plays. Each knows its own.
    public_aggregate_ : ndarray of shape (n_dims,)
        The estimate of the aggregate after the last round: public.
    observations_ : ndarray of shape (n_rounds, n_dims)
        The published means: public.
    aggregate_ : ndarray of shape (n_dims,)
        Mean of the strategies, exactly: not public.
    residual_ : float
        How far the strategies are from an equilibrium, see `AggregativeGame.residual`.
    n_iter_ : int
        Number of rounds.
    start_ : ndarray of shape (n_players, n_dims)
        The public starting point.
    privacy_spent_ : PrivacySpent
        What one player's data spent.

    See Also
    --------
    plan_game : Expected regret at an epsilon, beside what no epsilon gives.
    PrivateNashSolver : Broadcasts without a mediator.

    Notes
    -----
    **Privacy.** Joint differential privacy (Kearns et al.): take any player i and any two costs of i. Then
    all that others see, the published means and their own strategies, has nearly the same distribution.
    Proof: given the published means, the message of player j is a function of its own cost alone, since
    `respond` solves every row by itself. Hence the messages of all but i do not change. The message of i is
    its response b, a point of its public set of Euclidean diameter D, and a number between 0 and 1 times w =
    D / 2. Both are rounded to whole units u. The sum moves by at most ``sqrt((D / u + sqrt(n))^2 + (w / u +
    1)^2)`` units, in every round, whatever was published before. Discrete Gaussian noise on the sum is
    rho-zCDP, and T rounds compose adaptively to T rho. The strategies of others are post-processing of the
    means and of their own costs (the billboard lemma, Hsu et al.).

    The guarantee does not cover a player's own strategy if others see it being carried out. It does not hold
    against the mediator, who sees the messages, nor against whoever opens the sum that `mediator` returns and
    so sees exact means. Against the opener each player would have to add noise, and only the noise of honest
    players counts. A coalition sees the means and its own strategies. ``strategies_``, ``aggregate_`` and
    ``residual_`` are exact functions of private costs: publish ``public_aggregate_`` and ``observations_``
    alone.

    The step from an estimate z to the noisy mean y of the responses is ``z + d k (y - z)``. The factor d is a
    noisy mean of a ratio over players: how far a player would move if all were like it, to how far it moves
    if the aggregate stays. For a pseudo-gradient ``P x + Q aggregate`` it is 1 / (1 + Q / P), and the step is
    Newton's. If the product of ``k (y - z)`` with that of the step before is negative, the step was too long:
    from then on d is at most the length at which a secant through both vanishes. This happens where responses
    jump, as with costs that are linear in the own strategy. The limit is a function of published means. The
    factor ``k = max(0, 1 - (n + 2 sqrt(2 n)) s^2 / |y - z|^2)``, s the standard deviation of the noise,
    shrinks steps that noise explains: by its expected square and two standard deviations of that. The
    estimate is then moved to the nearest mean that the sets allow. In the last response a player expects the
    aggregate to move by ``e^2 / (e^2 + (d r)^2)`` of its own change, and at least by ``e^4 / (e^4 + (D /
    4)^4)`` (`AggregativeGame.respond`). Here e is the norm of the noise, and r the player's distance from its
    strategy before. The reason is that responses amplify an error of the estimate if the game is steep. A
    warning, before the charge, says that e is above D / 4.

    References
    ----------
    Kearns, Pai, Roth, Ullman, "Mechanism design in large games: incentives and privacy", ITCS 2014.

    Rogers, Roth, "Asymptotically truthful equilibrium selection in large congestion games", EC 2014.

    Hsu, Huang, Roth, Roughgarden, Wu, "Private matchings and allocations", STOC 2014 (the billboard lemma).

    Examples
    --------
    Vehicles that charge 8 kWh in four hours, beside other loads; the price grows with the load.

    >>> import numpy as np
    >>> from skprivate.games import AggregativeGame, MediatedNashSolver, Simplex
    >>> wear, others = np.random.default_rng(0).uniform(0.2, 1, 1000), np.array([2.0, 1.0, 0.0, 1.0])
    >>> def cost(x, mean):
    ...     return wear * (x**2).sum(axis=1) + (x * (others + mean)).sum(axis=1)
    >>> game = AggregativeGame.from_cost(cost, 1000, 4, bounds=Simplex(8))
    >>> solver = MediatedNashSolver(epsilon=1.0, random_state=0).fit(game)
    >>> bool(game.regret(solver.strategies_) < 0.1 < 1 < game.regret(solver.start_))
    True
    >>> solver.privacy_spent_.relation, solver.privacy_spent_.unit
    ('joint', 'player')
    """

    declared_roles = assign_roles(release="epsilon delta max_iter mediator random_state", computing="ledger")
    _parameter_constraints: dict[str, list[Any]] = {
        "epsilon": SHARED_CONSTRAINTS["epsilon"],
        "delta": [Fraction, Interval(Real, 0, 1, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "mediator": [callable, None],
        "random_state": SHARED_CONSTRAINTS["random_state"],
        "ledger": SHARED_CONSTRAINTS["ledger"],
    }

    def __init__(
        self,
        epsilon: float = 1.0,
        *,
        delta: float = 1e-6,
        max_iter: int | Literal["auto"] = "auto",
        mediator: Mediator | None = None,
        random_state: RandomSource = None,
        ledger: PrivacyLedger | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.max_iter = max_iter
        self.mediator = mediator
        self.random_state = random_state
        self.ledger = ledger

    @private_fit
    def fit(self, game: AggregativeGame, x0: Any = None) -> Self:
        """Run all rounds from a public starting point.

        Parameters
        ----------
        game : AggregativeGame
            The players' costs and constraints, each player's set bounded.
        x0 : array-like of shape (n_players, n_dims) or (n_dims,), default=None
            Public starting point, within the constraint set. None: ``game.constraint.start``.

        Returns
        -------
        self : MediatedNashSolver

        Raises
        ------
        TypeError, ValueError
            `game` is not a game, or its set is unbounded or a single point. `x0` has another shape or lies
            outside the set. `delta` is 0. The mediator does not return a sum: this error alone comes after
            the charge.
        """
        check_game(game)
        # A point in the set's slack for rounding is moved inside.
        start = game.constraint.project(check_start(game, x0, inside=True))
        entropy = check_entropy(self.random_state)
        budget = FitBudget.of(self.epsilon, self.delta, "gaussian")
        messages = Messages.of_game(game, start)
        n_rounds = self._n_rounds(messages, budget)
        noise = messages.noise(budget.amount / n_rounds)
        if budget.epsilon > WEAK and entropy.private:
            warn_user(f"epsilon={self.epsilon:g} protects hardly anything: take a smaller one.", UserWarning)
        unknown = game.n_dims * noise.variance * (messages.unit / game.n_players) ** 2
        warn_of_noise(game, unknown, "the published mean", ALIKE, "Use more players, or a larger epsilon.")
        self.announce_leaks([])
        spent = self._statement(budget, noise, n_rounds, entropy)
        self.charge(spent)
        state = _State(start, start.mean(axis=0), start)
        observed = []
        with progress(self, "rounds", n_rounds) as on_progress:
            for _ in range(n_rounds):
                sent, state = messages.of_players(game, state)
                total = noise.randomize(self._total(sent), entropy)
                state, mean = messages.step(game.constraint, state, total, unknown)
                observed.append(mean)
                on_progress()
        self.strategies_ = last_responses(game, state.public, state.path, unknown, state.length, unknown)
        self.public_aggregate_, self.observations_ = state.public, np.array(observed)
        self.aggregate_, self.residual_ = self.strategies_.mean(axis=0), game.residual(self.strategies_)
        self.privacy_spent_, self.n_iter_, self.start_ = spent, n_rounds, start
        return self

    def _n_rounds(self, messages: "Messages", budget: FitBudget) -> int:
        """Return the rounds that are asked for, or those after which noise is what is left."""
        if self.max_iter != "auto":
            return int(self.max_iter)
        std = sqrt(messages.squared_sensitivity / (2 * budget.amount)) * messages.unit / len(messages.start)
        noise = std * sqrt(messages.start.shape[1]) / (FAR * messages.diameter)
        left = [_LEFT**n + noise * sqrt(n) for n in range(1, _MOST_ROUNDS + 1)]
        return int(np.argmin(left)) + 1

    def _total(self, sent: IntArray) -> IntArray:
        if self.mediator is None:
            return np.asarray(sent.sum(axis=0))
        total = np.asarray(self.mediator(sent))
        if total.shape != sent.shape[1:] or total.dtype.kind not in "iu":
            raise ValueError(f"mediator must return integers of shape {sent.shape[1:]} (sums over players).")
        return total.astype(np.int64)

    def _statement(
        self, budget: FitBudget, noise: DiscreteGaussianMechanism, n_rounds: int, entropy: Entropy
    ) -> PrivacySpent:
        record = ReleaseRecord.of("sum of the players' responses", noise, noise.rho)
        return PrivacySpent(
            mechanism="discrete Gaussian noise on the mean of the players' responses",
            epsilon=budget.epsilon,
            delta=budget.delta,
            rho=budget.amount,
            relation="joint",
            unit="player",
            noise_scale=noise.sigma,
            noise_source=entropy.source,  # type: ignore[arg-type]
            deployment="curator",
            public_inputs=("starting point", "constraint set"),
            unprotected={
                "rounds": n_rounds,
                "not published, not covered": "strategies_, aggregate_, residual_",
            },
            **claim_of([], entropy.source),
        ).with_releases([record] * n_rounds)


@dataclass(frozen=True, eq=False)
class _State:
    """What players know between two rounds.

    Attributes
    ----------
    responses : ndarray of shape (n_players, n_dims)
        To the estimate before, at home.
    public : ndarray of shape (n_dims,)
        The public estimate of the aggregate.
    path : ndarray of shape (n_players, n_dims)
        Where every player would be, had it taken the same steps as the estimate, at home.
    length : float, default=1.0
        The length of the last step, from published values.
    longest : float, default=1.0
        Longest step that no published mean has shown to be too long.
    way : ndarray of shape (n_dims,) or float, default=0.0
        Beyond noise, from the estimate before the last step to the published mean.
    """

    responses: FloatArray
    public: FloatArray
    path: FloatArray
    length: float = 1.0
    longest: float = 1.0
    way: FloatArray | float = 0.0


@dataclass(frozen=True, eq=False)
class Messages:
    """The players' messages as whole numbers: responses less the start, and the length of a step.

    Attributes
    ----------
    start : ndarray of shape (n_players, n_dims)
    diameter : float
        Euclidean, of the largest set.
    """

    start: FloatArray
    diameter: float

    @classmethod
    def of_game(cls, game: AggregativeGame, start: FloatArray) -> Self:
        """Return the messages of a game; a ValueError if a set has no bound."""
        diameter = game.constraint.euclidean_diameter
        if not isfinite(diameter):
            raise ValueError(
                "every player's set must be bounded: nothing else bounds what one player adds to the mean. "
                "Pass bounds=(lower, upper) or Simplex(total)."
            )
        size = max(1.0, float(np.abs(start).max()))
        if not _LEAST * size <= diameter <= _LARGEST:
            raise ValueError(
                f"every player's set must have a diameter between {_LEAST:g} of the strategies' size and "
                f"{_LARGEST:g}: in a single point there is nothing to choose. Use other units or bounds."
            )
        return cls(start, diameter)

    @property
    def unit(self) -> float:
        """What one whole number stands for."""
        return self.diameter / _UNITS

    @property
    def squared_sensitivity(self) -> int:
        """Squared L2 sensitivity of the sum, in whole numbers."""
        response = _UNITS * (1 + _OUTSIDE) + sqrt(self.start.shape[1])
        return ceil(response**2 * (1 + _OUTSIDE) + (_UNITS * _STEP_REACH + 1) ** 2)

    def noise(self, rho: Fraction) -> DiscreteGaussianMechanism:
        """Return the noise of one round."""
        return DiscreteGaussianMechanism(rho=rho, squared_sensitivity=self.squared_sensitivity)

    def of_players(self, game: AggregativeGame, state: _State) -> tuple[IntArray, _State]:
        """Return what all players send, and what they remember; each row is a player's own."""
        shape, path = self.start.shape, state.path
        public = np.broadcast_to(state.public, shape)
        held, _ = game._responses(lambda x: game.pseudo_gradient(x, public), state.responses)
        alike, _ = game._responses(lambda x: game.pseudo_gradient(x, public + x - path), held)
        # A set of a user's own may return points that it does not contain, or that are further apart.
        near = np.linalg.norm(held - self.start, axis=1) <= self.diameter * (1 + _OUTSIDE)
        held = np.where((near & game.constraint.contains(held))[:, None], held, self.start)
        ways = held - path, alike - path
        squares = np.square(ways[0]).sum(axis=1)
        lengths = np.ones(len(path))
        np.divide((ways[0] * ways[1]).sum(axis=1), squares, out=lengths, where=squares > 0)
        lengths = np.clip(np.nan_to_num(lengths, nan=1.0), 0.0, 1.0)
        sent = np.column_stack([(held - self.start) / self.unit, lengths * (_STEP_REACH * _UNITS)])
        return np.rint(sent).astype(np.int64), replace(state, responses=held)

    def step(
        self, constraint: ConstraintSet, state: _State, total: IntArray, unknown: float
    ) -> tuple[_State, FloatArray]:
        """Return what follows from a published sum, and the mean that it stands for.

        `unknown` is the expected squared norm of the noise in that mean.
        """
        n_players = len(self.start)
        mean = self.start.mean(axis=0) + total[:-1] * (self.unit / n_players)
        way = mean - state.public
        kept = kept_of_step(way, unknown)
        longest, turn = state.longest, float(np.sum(kept * way * state.way))
        if turn < 0:
            # The last step went too far: the secant through both ways ends where they cancel.
            square = float(np.sum(np.square(state.way)))
            longest = min(longest, state.length * square / (square - turn))
        length = float(np.clip(total[-1] / (n_players * _STEP_REACH * _UNITS), _LEAST_STEP, 1.0))
        length = min(length, longest)
        path = state.path + length * kept * (state.responses - state.path)
        public = inside_of_means(constraint, state.public + length * kept * way)
        return _State(state.responses, public, path, length, longest, kept * way), mean
