# SPDX-License-Identifier: BSD-3-Clause
"""The solver: private Nash equilibrium seeking with noisy broadcasts of the players' estimates."""

import math
from dataclasses import replace
from fractions import Fraction
from numbers import Integral, Real
from typing import Any, Literal, Self

import numpy as np
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_is_fitted

from .._typing import Criterion, FloatArray, RandomSource
from ..accounting import PrivacyGuarantee, PrivacyLedger, PrivacySpent, ReleaseRecord
from ..base import SHARED_CONSTRAINTS, assign_roles, claim_of, private_fit
from ..exceptions import PrivacyLeakWarning, PrivacyUnboundedError, UtilityWarning
from ..noise._mechanisms import Entropy, check_entropy
from ..utils import check_int, check_positive
from ..utils._compat import Interval, StrOptions
from ..utils._private_fit import progress, warn_user
from ..utils._public_module import public_module
from ._communication_weights import MixingSchedule, check_same_rounds, make_mixing
from ._games.game import AggregativeGame
from ._leakage.guarantees import View, largest_player_epsilon, privacy_guarantee
from ._mediated import MediatedNashSolver, Messages
from ._plan import Algorithm, BroadcastMechanism, Grid, Schedules, extend_rounds, make_grid
from ._rounds import (
    ALIKE,
    FAR,
    WEAK,
    Dynamics,
    GameSolver,
    SolverState,
    check_game,
    check_start,
    drowned_share,
    kept_of_step,
    last_responses,
    warn_of_noise,
)

# The solver: private Nash equilibrium seeking with noisy broadcasts of the players' estimates.


@public_module("skprivate.games")
class PrivateNashSolver(GameSolver):
    """Seek the Nash equilibrium of an aggregative game; players broadcast noisy estimates, never their costs.

    In round k every player i broadcasts ``o_i = v_i + noise``: v_i is its estimate of the mean strategy, and
    the noise is Laplace noise of scale M_k on every coordinate. Then it moves:

    - "wang_nedic": ``x_i+ = P[x_i - l_k F_i(x_i, v_i)]``, P the projection on the constraint set, and
      ``v_i+ = v_i + g_k sum_j L_ij (o_j - o_i) + x_i+ - x_i``;
    - "ye": ``x_i+ = x_i - l_k F_i(x_i, v_i)``, without projection, and
      ``v_i+ = sum_j L_ij o_j + x_i+ - x_i``.

    Parameters
    ----------
    algorithm : {"wang_nedic", "ye"}, default="wang_nedic"
        The update. "ye" adds the mean of each round's noise to the mean estimate for good: with noise that
        grows it diverges, and warns. "wang_nedic" keeps the mean estimate equal to the mean strategy.
    weights : None, array-like or sparse matrix of shape (n_players, n_players), graph, or one per round, \
default=None
        L, public: doubly stochastic and connected, with "wang_nedic" symmetric. None: the complete graph,
        with weight 1 / N for every pair. A graph as of networkx gets Metropolis weights, and its i-th node is
        player i. Weights may change over the rounds: pass a list of these, an array of shape (n_rounds,
        n_players, n_players), or a function of k = 0, 1, ... A list or an array is at least as long as all
        rounds. See `connected_within`.
    max_iter : int, default=1000
        Rounds of one call of `fit` or `partial_fit`. There is no stopping rule that looks at private data.
    noise_scale : float, tuple, array-like or callable, default=1.0
        M_k, the scale of the Laplace noise; the standard deviation is sqrt(2) times as large. A constant,
        ``(p1, p2, p3)`` for ``p1 + p2 k**p3``, a value per round, or a function of k = 0, 1, ... With 0 there
        is no noise, and no privacy.
    step_size : float, tuple, array-like or callable, default=(1.0, 2.0, 0.1)
        l_k: as above, with ``(q1, q2, q3)`` for ``q1 / (q2 + q3 k)``.
    consensus_step : float, tuple, array-like or callable, default=(1.0, 2.0, 0.1)
        g_k of "wang_nedic", in the same forms; no effect with "ye".
    connected_within : int or None, default=None
        B, for weights that change: any B rounds in a row must connect all players, together. None: N - 1, see
        Notes.
    clip_norm : float or None, default=None
        L1 norm at which every pseudo-gradient is clipped before the step. It bounds what any game can leak,
        and moves the equilibrium if it bites there.
    last_step : {"update", "response"}, default="update"
        What players play in the end. "update": the strategies after the last round, as in the papers.
        "response": each player responds, at home, to the public estimate of the aggregate from all broadcasts
        (`AggregativeGame.respond`). This estimate has far less noise than a player's own, and nothing more is
        broadcast. See Notes.
    store : {"none", "observations", "all"}, default="none"
        What is kept of every round: nothing, the broadcasts, or strategies and estimates too.
    random_state : None, int, RandomState or Generator, default=None
        None: entropy of the operating system. Anything else makes the run reproducible, and not private.
    ledger : PrivacyLedger, default=None
        Charged before any noise is drawn.

    Attributes
    ----------
    strategies_ : ndarray of shape (n_players, n_dims)
        What every player plays after the last round. Each player knows its own; see Notes.
    estimates_ : ndarray of shape (n_players, n_dims)
        Every player's estimate of the aggregate.
    aggregate_ : ndarray of shape (n_dims,)
        Mean strategy.
    broadcast_means_ : ndarray of shape (n_rounds, n_dims)
        Mean over players of the broadcasts of every round: public.
    public_aggregate_ : ndarray of shape (n_dims,)
        Estimate of the aggregate by broadcasts: their mean over players and over the last quarter of the
        rounds, inversely weighted by their variances. With "ye" that of the last round: noise adds up there.
    n_iter_ : int
        Number of rounds.
    residual_ : float
        How far the strategies are from an equilibrium, see `AggregativeGame.residual`.
    observations_ : ndarray of shape (n_rounds, n_players, n_dims)
        The broadcasts; unless `store` is "none".
    history_ : dict
        "strategies" and "estimates" before every round and after the last, ndarrays of shape
        (n_rounds + 1, n_players, n_dims); if `store` is "all".
    noise_scales_, steps_, consensus_steps_ : ndarray of shape (n_rounds,)
        The schedules.
    start_ : ndarray of shape (n_players, n_dims)
        The public starting point.
    mixing_ : object
        The checked weights.
    mechanism_ : BroadcastMechanism
        All that is public about the broadcasts.
    privacy_spent_ : PrivacySpent
        What one player's data spent by all its broadcasts.

    See Also
    --------
    AggregativeGame, QuadraticAggregativeGame, VaccinationGame : The games.
    skprivate.audit.GradientMatchingAdversary, skprivate.audit.BayesAdversary : Attacks on the broadcasts.

    Notes
    -----
    **Privacy.** Each player's private part of its cost (``game.private``) is protected against whoever sees
    all broadcasts, weights, schedules and the starting point. Given the broadcasts, a player's path is a
    function of its own costs alone. Its broadcasts are therefore private by themselves, whatever others do
    (relation: local). `privacy_guarantee` has the figures and their proofs. Noise is exact discrete Laplace
    noise. Estimates are rounded toward zero onto a grid about 2^-40 times as fine as the smallest noise scale
    (coarser if declared bounds are large). Rounding adds less than one step to the difference of two
    estimates. The guarantee adds this step per coordinate and round, and a proven bound on the rounding of
    double arithmetic (`PrivacyGuarantee.allowance`). A pseudo-gradient of which nothing is public may be
    computed in any way. A projection that a user wrote must be exact to the rounding of its steps.

    Proof: :doc:`/proofs/games`.

    **Weights that change** do not change the guarantee: they are public, and given the broadcasts a player's
    path is a function of its own costs with any weights. Convergence needs weights that connect the players
    again and again. Theory is for doubly stochastic weights whose positive entries stay away from 0 (Koshal,
    Nedić, Shanbhag). It asks for some B such that the graphs of any B rounds in a row together connect all
    players. It names no B; the disagreement that remains after B rounds grows with B. The default N - 1 is
    the least for players who talk over one link a round: a tree has N - 1 links, and taking turns uses each
    once in any N - 1 rounds. Wang and Nedić prove convergence under noise for weights that do not change.

    **The last response.** The estimate is moved towards the start by the part of the difference that noise
    explains. The noise that is left and the last move of the broadcasts' mean set the conjecture. If players
    responded to noise, their sets cut off part of it, and the mean of the broadcasts is not near the
    equilibrium's. The conjecture is therefore at least ``s^4 / (s^4 + (D / 4)^4)``, with s the norm of the
    noise in a player's own estimate and D the set's diameter. A warning says that s is above D / 4.
    Strategies are then about those of players who respond to the public start as if all were alike, which
    needs no epsilon.

    A warning says that a game is not monotone. If P, Q or B is private, or the game is a user's own, the
    warning reveals one bit about the private part to whoever runs `fit`. The broadcasts do not contain it.

    This class runs all players in one place: a simulation, in which whoever calls `fit` holds all costs.
    ``strategies_``, ``estimates_``, ``aggregate_``, ``residual_`` and ``history_`` are exact functions of the
    private costs that players do not broadcast. The guarantee does not cover them: do not publish the object
    or its pickle (``releases_state`` is False). Publish ``observations_``.

    The input of `fit` is a game, not a table of rows. The solver's tags declare this, and scikit-learn's
    ``check_estimator``, which checks fits to tables, skips the solver with a warning. Parameters, clones and
    representations are those of any estimator.

    An interrupt (Ctrl-C) ends the run after the round under way, with a warning; `partial_fit` goes on.
    Rounds that were charged but did not run are not charged again when they run later.

    References
    ----------
    Cheng, Chen, Oechtering, Skoglund, "Privacy guarantee for Nash equilibrium computation of aggregative
    games based on pointwise maximal leakage".

    Wang, Nedić, "Differentially private distributed algorithms for aggregative games with guaranteed
    convergence", IEEE Transactions on Automatic Control 2024.

    Koshal, Nedić, Shanbhag, "Distributed algorithms for aggregative games on graphs", Operations Research
    2016.

    Ye, Hu, Xu, Xie, "Differentially private distributed Nash equilibrium seeking for aggregative games", IEEE
    Transactions on Automatic Control 2022.

    Examples
    --------
    >>> from scipy.stats import uniform
    >>> from skprivate import PrivateNashSolver, QuadraticAggregativeGame
    >>> game = QuadraticAggregativeGame(P=1.0, Q=0.5, r=[-0.6, 0.1, 0.4, 0.9], r_bounds=(-1, 1))
    >>> solver = PrivateNashSolver(max_iter=200, random_state=0).fit(game)
    >>> solver.strategies_.shape, solver.n_iter_
    ((4, 1), 200)
    >>> guarantee = solver.privacy_guarantee(uniform(-1, 2))
    >>> guarantee.status, guarantee.epsilon <= solver.privacy_guarantee(criterion="dp").epsilon
    ('exact', True)
    """

    __metadata_request__partial_fit = {"game": UNUSED}
    start_: FloatArray
    mixing_: MixingSchedule
    strategies_: FloatArray
    estimates_: FloatArray
    observations_: FloatArray
    history_: dict[str, FloatArray]
    mechanism_: BroadcastMechanism
    noise_scales_: FloatArray
    consensus_steps_: FloatArray
    leak_remedy = (
        "Bound what is private (clip_norm, r_bounds, or a bounded constraint set with 'wang_nedic'), and use "
        "noise in every round."
    )

    declared_roles = assign_roles(
        release="algorithm weights max_iter noise_scale step_size consensus_step connected_within clip_norm "
        "last_step store random_state",
        computing="ledger",
    )

    _parameter_constraints: dict[str, list[Any]] = {
        "algorithm": [StrOptions({"wang_nedic", "ye"})],
        "weights": "no_validation",  # type: ignore[dict-item]  # checked against the game
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "noise_scale": [Interval(Real, 0, None, closed="left"), tuple, "array-like", callable],
        "step_size": [Interval(Real, 0, None, closed="neither"), tuple, "array-like", callable],
        "consensus_step": [Interval(Real, 0, None, closed="neither"), tuple, "array-like", callable],
        "connected_within": [Interval(Integral, 1, None, closed="left"), None],
        "clip_norm": [Interval(Real, 0, None, closed="neither"), None],
        "last_step": [StrOptions({"update", "response"})],
        "store": [StrOptions({"none", "observations", "all"})],
        "random_state": SHARED_CONSTRAINTS["random_state"],
        "ledger": SHARED_CONSTRAINTS["ledger"],
    }

    def __init__(
        self,
        algorithm: Algorithm = "wang_nedic",
        *,
        weights: Any = None,
        max_iter: int = 1000,
        noise_scale: Any = 1.0,
        step_size: Any = (1.0, 2.0, 0.1),
        consensus_step: Any = (1.0, 2.0, 0.1),
        connected_within: int | None = None,
        clip_norm: float | None = None,
        last_step: Literal["update", "response"] = "update",
        store: Literal["none", "observations", "all"] = "none",
        random_state: RandomSource = None,
        ledger: PrivacyLedger | None = None,
    ) -> None:
        self.algorithm = algorithm
        self.weights = weights
        self.max_iter = max_iter
        self.noise_scale = noise_scale
        self.step_size = step_size
        self.consensus_step = consensus_step
        self.connected_within = connected_within
        self.clip_norm = clip_norm
        self.last_step = last_step
        self.store = store
        self.random_state = random_state
        self.ledger = ledger

    @classmethod
    def from_epsilon(
        cls,
        epsilon: float,
        game: AggregativeGame,
        *,
        criterion: Criterion = "dp",
        view: View | Literal["joint"] = "individual",
        prior: Any = None,
        rounds: int | Literal["auto"] = "auto",
        x0: Any = None,
        **options: Any,
    ) -> "Self | MediatedNashSolver":
        """Return a solver whose noise and rounds follow from epsilon; nothing is run or charged.

        Parameters
        ----------
        epsilon : float
            The guarantee that all broadcasts together shall have, > 0.
        game : AggregativeGame
            What is public of it counts: its set, the number of players, declared bounds.
        criterion : {"dp", "pml", "corollary1"}, default="dp"
            As in `privacy_guarantee`.
        view : {"individual", "entire", "joint"}, default="individual"
            As in `privacy_guarantee`; "joint": a `MediatedNashSolver`, for criterion "dp" alone.
        prior : prior or scipy.stats frozen distribution, default=None
            As in `privacy_guarantee`.
        rounds : int or "auto", default="auto"
            "auto": that of the least error as expected from the set, the number of players and the noise.
        x0 : array-like, default=None
            As in `fit`, which must be given the same one.
        **options
            Further parameters of the solver, but for noise_scale and max_iter.

        Returns
        -------
        solver : PrivateNashSolver or MediatedNashSolver
            Not fitted; with ``last_step="response"`` unless `options` say otherwise.

        Raises
        ------
        PrivacyUnboundedError
            No amount of noise reaches epsilon: nothing bounds what a broadcast leaks.
        TypeError, ValueError
            Wrong types; a prior that does not fit; a mediator with another criterion, or a set without a
            bound.

        Notes
        -----
        **Privacy**: a function of public things. The guarantee after one `fit` of the solver, from this x0,
        is at most epsilon, and less by the resolution of the search. `partial_fit` adds rounds, and spends
        more.

        Examples
        --------
        >>> import numpy as np
        >>> from skprivate.games import PrivateNashSolver, QuadraticAggregativeGame
        >>> wishes = np.random.default_rng(0).uniform(-4, 0, size=3000)
        >>> game = QuadraticAggregativeGame(1.0, 0.5, wishes, bounds=(0, 4), r_bounds=(-4, 0))
        >>> solver = PrivateNashSolver.from_epsilon(2.0, game).fit(game)
        >>> bool(1.9 < solver.privacy_guarantee(criterion="dp", view="individual").epsilon <= 2.0)
        True
        >>> bool(game.regret(solver.strategies_) < game.regret(solver.start_))
        True
        """
        check_game(game)
        epsilon = float(check_positive(epsilon, "epsilon"))
        for name in {"noise_scale", "max_iter"} & options.keys():
            raise ValueError(
                f"{name} follows from epsilon: leave it out (rounds= sets the number of rounds)."
            )
        if rounds != "auto":
            check_int(rounds, "rounds", least=1)
        if view == "joint":
            if criterion != "dp" or prior is not None:
                raise ValueError("view='joint' is for criterion='dp', without a prior.")
            Messages.of_game(game, check_start(game, x0, inside=True))
            return MediatedNashSolver(epsilon, max_iter=rounds, **options)
        options = {"last_step": "response", **options}
        tried = _ROUNDS if rounds == "auto" else (rounds,)
        found = []
        for n_rounds in tried:
            solver = cls(max_iter=n_rounds, **options)
            solver.noise_scale = solver._scale_of(epsilon, game, x0, prior, view, criterion)
            noise = solver.noise_scale * math.sqrt(2 * game.n_dims / game.n_players / -(-n_rounds // 4))
            far = FAR * game.constraint.euclidean_diameter
            far = far if math.isfinite(far) else 1.0
            forms = solver.noise_scale, solver.step_size, solver.consensus_step
            heard = solver._noise_heard(game, Schedules.checked(*forms, n_rounds))
            found.append((_LEFT**n_rounds + drowned_share(game, heard) + noise / far, solver))
        return min(found, key=lambda pair: pair[0])[1]

    def _scale_of(
        self, epsilon: float, game: AggregativeGame, x0: Any, prior: Any, view: View, criterion: Criterion
    ) -> float:
        """Return the least constant scale of noise, to a part in a thousand, that reaches epsilon."""
        start = check_start(game, x0, inside=self.algorithm == "wang_nedic")

        def leaked(exponent: int) -> float:
            schedules = Schedules.checked(1.001**exponent, self.step_size, self.consensus_step, self.max_iter)
            try:
                grid = make_grid(schedules.noise_scales, largest_public_magnitude(game, start))
            except ValueError:
                # Strategies are too large for so little noise.
                return math.inf
            mechanism = make_mechanism(self, game, schedules, grid)
            return privacy_guarantee(mechanism, prior, view=view, criterion=criterion).epsilon

        low, high = -_EXPONENTS, _EXPONENTS
        if not leaked(high) <= epsilon:
            raise PrivacyUnboundedError(
                f"no noise up to 1e13 reaches epsilon={epsilon:g}: what one player holds may move its "
                "broadcasts too far. Declare bounds, set clip_norm, or take a larger epsilon."
            )
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if leaked(middle) <= epsilon else (middle, high)
        return float(1.001**high)

    @private_fit
    def fit(self, game: AggregativeGame, x0: Any = None) -> Self:
        """Run `max_iter` rounds from a public starting point.

        Parameters
        ----------
        game : AggregativeGame
            The players' costs and constraints.
        x0 : array-like of shape (n_players, n_dims) or (n_dims,), default=None
            Public starting point, within the constraint set. None: ``game.constraint.start``.

        Returns
        -------
        self : PrivateNashSolver

        Raises
        ------
        TypeError, ValueError
            `game` is no game; `x0` has another shape or lies outside the constraint set; weights or schedules
            are not what they must be.
        OverflowError
            The run diverges: a broadcast with its noise, or the part of an estimate that comes from
            broadcasts, leaves the range. The range is 4,096 times that of the noise and of the public part of
            the strategies. (With noise, a pseudo-gradient that is not a finite number counts as 0: to end the
            run would be a leak.)
        PrivacyUnboundedError
            In strict mode, or with a ledger: nothing bounds what the broadcasts leak.
        """
        check_game(game)
        start = check_start(game, x0, inside=self.algorithm == "wang_nedic")
        return self._run(game, SolverState.initial(start, self._check_weights(game, 0), self.store))

    @private_fit
    def partial_fit(self, game: AggregativeGame) -> Self:
        """Run `max_iter` more rounds from where the last call ended; the first call is `fit`.

        A ledger that was not charged for the rounds before is charged for all. The algorithm, clip_norm and
        the schedules and weights of the rounds before must not change (an error names the round).

        Parameters
        ----------
        game : AggregativeGame
            The same game. Its size and its public part are compared, with an error if they differ. The
            private part must be the same, too, but is not compared: a guarantee is about one secret per
            player.

        Returns
        -------
        self : PrivateNashSolver
        """
        if not hasattr(self, "strategies_"):
            return self.fit(game)
        check_game(game)
        if (game.n_players, game.n_dims) != self.start_.shape:
            raise ValueError("game differs from the one of the rounds before in what is public about it.")
        mixing = self._check_weights(game, self.n_iter_)
        check_same_rounds(self.mixing_, mixing, self.n_iter_)
        return self._run(game, SolverState.of_solver(self, mixing))

    def privacy_guarantee(
        self, prior: Any = None, view: View = "entire", criterion: Criterion = "pml"
    ) -> PrivacyGuarantee:
        """Return what all broadcasts so far leak at most.

        Parameters
        ----------
        prior : prior or scipy.stats frozen distribution, default=None
            Of the players' private vectors: `TypePrior`, `ContinuousPrior`, `JointPrior`, `TwoTypePrior`,
            `SampledPrior`; a frozen distribution stands for independent players and coordinates. None: for
            criterion "dp" alone, over the game's public bounds.
        view : {"entire", "individual"}, default="entire"
            Whether the secret is all players' data, or those of the worst single player.
        criterion : {"pml", "corollary1", "dp"}, default="pml"
            Pointwise maximal leakage (Theorem 1), its simpler bound, or differential privacy. Differential
            privacy is that of the group of all players in the entire view, and of one player in the
            individual view.

        Returns
        -------
        guarantee : PrivacyGuarantee
            With its status: "exact", "upper_bound" or "estimate".

        Raises
        ------
        PrivacyUnboundedError
            Nothing bounds what the broadcasts leak.
        TypeError, ValueError
            The prior does not fit the game, or a round has no noise.

        Notes
        -----
        The guarantee is a function of public values: it reveals nothing about the players' data, and holds
        for any run with these parameters.

        Proof: :doc:`/proofs/games`.
        """
        check_is_fitted(self)
        return privacy_guarantee(self.mechanism_, prior, view=view, criterion=criterion)

    def _run(self, game: AggregativeGame, state: SolverState) -> Self:
        """Run `max_iter` rounds from a state, and set the fitted attributes."""
        source = self.random_state
        if state.n_done and isinstance(source, Integral):
            # With a seed, rounds that go on must not repeat the noise of the first.
            source = np.random.default_rng((int(source), state.n_done))
        entropy = check_entropy(source)
        n_rounds = state.n_done + check_int(self.max_iter, "max_iter", least=1)
        schedules = Schedules.checked(self.noise_scale, self.step_size, self.consensus_step, n_rounds)
        grid = make_grid(schedules.noise_scales, largest_public_magnitude(game, state.start))
        mechanism = make_mechanism(self, game, schedules, grid)
        if state.n_done:
            for name, schedule, before in (
                ("noise_scale", schedules.noise_scales, self.noise_scales_),
                ("consensus_step", schedules.consensus_steps, self.consensus_steps_),
            ):
                if not np.array_equal(schedule[: state.n_done], before):
                    raise ValueError(f"{name} differs from that of the rounds that were run.")
            mechanism = extend_rounds(self.mechanism_, mechanism)
        self._warn_about_use(game, schedules)
        self.announce_leaks([])
        spent = self._spend(mechanism, entropy)
        # With noise a gradient that is no finite number must not end the run: it is no move.
        clip = np.inf if self.clip_norm is None and grid is not None else self.clip_norm
        dynamics = Dynamics(game, state.mixing, mechanism.algorithm, clip)
        with progress(self, "rounds", n_rounds - state.n_done) as on_progress:
            n_done = state.run_rounds(dynamics, grid, schedules, entropy, on_progress)
        self.privacy_spent_, self._charged_ledger = spent, self.ledger
        self.mechanism_, self.steps_ = mechanism.first_rounds(n_done), schedules.steps[:n_done]
        self.noise_scales_ = schedules.noise_scales[:n_done]
        self.consensus_steps_ = schedules.consensus_steps[:n_done]
        state.store_in(self)
        self.public_aggregate_ = _public_aggregate(self)
        if self.last_step == "response":
            self.strategies_ = _responses(self, game)
        self.n_iter_, self.aggregate_ = n_done, self.strategies_.mean(axis=0)
        self.residual_ = game.residual(self.strategies_)
        return self

    def _check_weights(self, game: AggregativeGame, n_done: int) -> MixingSchedule:
        return make_mixing(
            self.weights,
            game.n_players,
            n_done + check_int(self.max_iter, "max_iter", least=1),
            symmetric=self.algorithm == "wang_nedic",
            connected_within=self.connected_within,
        )

    def _warn_about_use(self, game: AggregativeGame, schedules: Schedules) -> None:
        noise_scales = schedules.noise_scales
        instead, remedy = "the public start", "Use last_step='response', a mediator (MediatedNashSolver)"
        if self.last_step == "response":
            instead, remedy = ALIKE, "Use a mediator (MediatedNashSolver)"
        heard = self._noise_heard(game, schedules)
        warn_of_noise(
            game, heard, "every player's estimate of the aggregate", instead, f"{remedy}, or less noise."
        )
        if self.algorithm == "ye" and noise_scales[-1] > noise_scales[0]:
            warn_user(
                "algorithm='ye' with growing noise diverges: the mean estimate is off by the running sum of "
                "the rounds' mean noises. Use algorithm='wang_nedic', or constant noise.",
                UtilityWarning,
            )
        if game.is_monotone() is False:
            warn_user(
                "The game is not monotone: the rounds may not converge, or not to an equilibrium.",
                UtilityWarning,
            )

    def _noise_heard(self, game: AggregativeGame, schedules: Schedules) -> float:
        """Return the expected squared norm of the noise in a player's own estimate after all rounds."""
        if self.algorithm == "ye":
            # Strategies are not projected: no set cuts off what noise does, and the mean is what it is.
            return 0.0
        variance = 0.0
        for step, scale in zip(schedules.consensus_steps, schedules.noise_scales, strict=True):
            variance = (1 - step) ** 2 * variance + 2 * (step * scale) ** 2
        return float(game.n_dims * variance)

    def _spend(self, mechanism: BroadcastMechanism, entropy: Entropy) -> PrivacySpent:
        """Say what all rounds cost one player, and charge what is not charged yet."""
        before = getattr(self, "privacy_spent_", None) if mechanism.n_rounds > int(self.max_iter) else None
        epsilon, leaks = player_epsilon(mechanism)
        if leaks:
            message = f"{type(self).__name__} is not private: {'; '.join(leaks)}. {self.leak_remedy}"
            if self.is_strict() or self.ledger is not None:
                raise PrivacyUnboundedError(message)
            warn_user(message, PrivacyLeakWarning)
        elif epsilon > WEAK and entropy.private:
            warn_user(
                f"One player's epsilon is {float(epsilon):.3g}, which protects hardly anything. "
                "PrivateNashSolver.from_epsilon chooses noise and rounds for an epsilon.",
                UserWarning,
            )
        seeded = before is not None and before.noise_source == "seeded"
        spent = make_statement(mechanism, epsilon, leaks, "seeded" if seeded else entropy.source)
        if self.ledger is not None:
            # What is more than the rounds before, if this ledger was charged for those.
            charged = before is not None and getattr(self, "_charged_ledger", None) == self.ledger
            due = spent.epsilon - (before.epsilon if charged else 0)  # type: ignore[union-attr]
            if due > 0:
                self.charge(replace(spent, epsilon=due, releases=()))
        return spent


# Where own costs and the aggregate count the same.
_TYPICAL_LENGTH = 0.5
# Rounds that `from_epsilon` compares. What a round leaves of the distance to the equilibrium: a guess that
# was not tuned (0.4 was no better on seven games of 100 players at epsilon 1 to 64). Exponents of 1.001 for
# scales from 1e-13 to 1e13.
_ROUNDS, _LEFT, _EXPONENTS = (2, 3, 5, 10, 20, 50), 0.6, 30_000


def _public_aggregate(solver: Any) -> FloatArray:
    """Return the estimate of the aggregate by the broadcasts alone."""
    n_last = _n_last(solver)
    weights = 1 / np.square(solver.noise_scales_[-n_last:]) if n_last > 1 else None
    return np.asarray(np.average(solver.broadcast_means_[-n_last:], axis=0, weights=weights))


def _n_last(solver: Any) -> int:
    """Return how many of the last rounds the public estimate is of."""
    noisy = solver.algorithm == "wang_nedic" and (solver.noise_scales_ > 0).all()
    return min(-(-len(solver.noise_scales_) // 4), len(solver.broadcast_means_)) if noisy else 1


def _responses(solver: Any, game: AggregativeGame) -> FloatArray:
    """Return the players' responses to the public estimate, shrunk to the start by what noise explains."""
    scales = solver.noise_scales_[-_n_last(solver) :]
    unknown = 0.0 if (scales == 0).any() else 2 * game.n_dims / game.n_players / float((1 / scales**2).sum())
    start, way = solver.start_.mean(axis=0), solver.public_aggregate_ - solver.start_.mean(axis=0)
    kept = way * kept_of_step(way, unknown)
    reference = game.constraint.project(solver.start_ + kept)
    # The part that was taken away may belong to the aggregate. Further rounds would have moved the mean on:
    # at the rate _LEFT, by this multiple of the last move. The first move starts at the public start.
    doubt = unknown + float(np.square(way - kept).sum())
    means = np.vstack([start, solver.broadcast_means_[1:]])
    last, noise = np.ptp(means[-2:], axis=0), 2 * game.n_dims / game.n_players * np.square(scales[-1])
    moved = _LEFT / (1 - _LEFT) * last * kept_of_step(last, noise * min(2, len(means) - 1))
    doubt += float(moved @ moved)
    heard = solver._noise_heard(game, Schedules(solver.noise_scales_, solver.steps_, solver.consensus_steps_))
    return last_responses(game, start + kept, reference, doubt, _TYPICAL_LENGTH, heard)


# The public mechanism of a solver's run, the epsilon of one player, and its `PrivacySpent`.

# The sum of a recursion in double arithmetic is rounded up before it is called a bound: its relative error is
# far below this.
_ROUNDING = Fraction(1, 2**40)


def make_mechanism(solver: Any, game: Any, schedules: Schedules, grid: Grid | None) -> BroadcastMechanism:
    """Return the public mechanism of a run with these schedules; without noise there is no grid."""
    affine = game.private == {"r"}
    return BroadcastMechanism(
        n_players=game.n_players,
        n_dims=game.n_dims,
        algorithm=solver.algorithm,
        noise_scales=schedules.noise_scales if grid is None else grid.noise_scales,
        steps=schedules.steps,
        constraint=game.constraint,
        clip_norm=solver.clip_norm,
        private=game.private,
        P=game.P_ if affine else None,
        Q=game.Q_ if affine else None,
        private_bounds=getattr(game, "private_bounds", None),
        allowance=0.0 if grid is None else 1.0 / grid.steps,
        limit=0.0 if grid is None else grid.limit,
    )


def largest_public_magnitude(game: AggregativeGame, start: FloatArray) -> float:
    """Return the largest magnitude that is public before the run: of the start, the set and the bounds."""
    bounds = getattr(game, "private_bounds", None)
    known = [1.0, game.constraint.diameter, *(np.abs(side).max() for side in (start, *(bounds or ())))]
    return float(max(size for size in known if math.isfinite(size)))


def player_epsilon(mechanism: BroadcastMechanism) -> tuple[Fraction | float, list[str]]:
    """Return epsilon of differential privacy of one player, and the reasons where it is infinite."""
    if (mechanism.noise_scales == 0).any():
        return math.inf, ["a round has no noise (noise_scale is 0)"]
    try:
        epsilon = largest_player_epsilon(mechanism)
    except PrivacyUnboundedError as error:
        return math.inf, [str(error).rstrip(".")]
    if not math.isfinite(epsilon):
        return math.inf, ["no finite bound holds"]
    return Fraction(epsilon) * (1 + _ROUNDING), []


def make_statement(
    mechanism: BroadcastMechanism, epsilon: Fraction | float, leaks: list[str], noise_source: str
) -> PrivacySpent:
    """Return what the data of one player spent by all broadcasts."""
    affine = ("P and Q of the pseudo-gradient",) if mechanism.private == {"r"} else ()
    releases: tuple[ReleaseRecord, ...] = ()
    if isinstance(epsilon, Fraction):
        whole = {"name": "all broadcasts of one player", "mechanism": "discrete Laplace", "epsilon": epsilon}
        releases = (ReleaseRecord(**whole, draws=mechanism.n_rounds),)  # type: ignore[arg-type]
    return PrivacySpent(
        releases=releases,
        mechanism=f"discrete Laplace noise on every broadcast ({mechanism.algorithm})",
        epsilon=epsilon,
        relation="local",
        unit="player",
        noise_scale=None,
        noise_source=noise_source,  # type: ignore[arg-type]
        deployment="simulated",
        public_inputs=("weights", "schedules", "starting point", "constraint set", *affine),
        unprotected={
            "players": mechanism.n_players,
            "rounds": mechanism.n_rounds,
            "not broadcast, not covered": "strategies_, estimates_, aggregate_, residual_, history_",
        },
        **claim_of(leaks, noise_source),
    )
