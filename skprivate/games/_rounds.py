# SPDX-License-Identifier: BSD-3-Clause
"""The rounds of a run: noisy broadcasts, the players' updates, the history, and replays."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from math import hypot, sqrt
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags
from sklearn.utils.metadata_routing import UNUSED

from .._typing import FloatArray, IntArray
from ..base import PrivateEstimatorMixin
from ..exceptions import UtilityWarning
from ..noise._mechanisms import Entropy
from ..noise._sampling_kernels import fill_discrete_laplace
from ..noise._stream_kernels import WordStream
from ..utils._compat import CallbackSupportMixin
from ..utils._private_fit import warn_user
from ._communication_weights import MixingSchedule
from ._games.game import AggregativeGame
from ._games.sets import as_numbers
from ._plan import Algorithm, Grid, Schedules
from ._round_kernels import clip_rows, fill_broadcast

# Epsilon above which differential privacy of one player is called weak: odds may change by a factor of 5e8.
WEAK = 20
# Distance of an aggregate from the public start, as a part of the diameter. By hand, on charging, market,
# quadratic and vaccination games of 100 to 1,000 players with 1 to 4 rounds and epsilon from 0.5 to 4.
FAR = 0.25


class GameSolver(CallbackSupportMixin, PrivateEstimatorMixin, BaseEstimator):
    """A private solver whose input is a game, and no table of rows."""

    releases_state = False
    # A game and its starting point are no metadata of rows, which scikit-learn would route.
    __metadata_request__fit = {"game": UNUSED, "x0": UNUSED}

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        return tags


def check_game(game: Any) -> None:
    """Refuse what is no game."""
    if not isinstance(game, AggregativeGame):
        raise TypeError(f"game must be an AggregativeGame, got {type(game).__name__}.")


def check_start(game: AggregativeGame, x0: Any, *, inside: bool) -> FloatArray:
    """Return the public starting point of all players; None is that of their sets."""
    shape = (game.n_players, game.n_dims)
    if x0 is None:
        return np.array(game.constraint.start(*shape), order="C")
    start = as_numbers(x0, "x0")
    if start.shape == shape[:1] and game.n_dims == 1:
        start = start[:, np.newaxis]
    if start.shape not in (shape, shape[1:]) or not np.isfinite(start).all():
        raise ValueError(f"x0 must hold finite numbers, of shape {shape} or {shape[1:]}.")
    start = np.array(np.broadcast_to(start, shape), dtype=np.float64, order="C")
    if inside and not game.constraint.contains(start).all():
        raise ValueError("x0 must lie in the constraint set of every player.")
    return start


def kept_of_step(way: FloatArray, unknown: float) -> float:
    """Return what is kept of a step whose noise has this expected squared norm.

    Noise explains two standard deviations of its squared norm more than its expectation.
    """
    square, explained = float(way @ way), unknown * (1 + 2 * sqrt(2 / len(way)))
    return max(0.0, 1 - explained / square) if square else 0.0


def drowned_share(game: AggregativeGame, heard: float) -> float:
    """Return the conjecture that noise of this expected squared norm leaves players with, at the least.

    Where players respond to noise, sets cut off some of its effect, and their mean is not that of an
    equilibrium. The share is ``heard^2 / (heard^2 + far^4)``, with far the distance of a typical aggregate
    from the start. Both variances are squared, since sets cut off next to nothing of little noise. If there
    is only noise, players respond as if all were alike.
    """
    far = FAR * game.constraint.euclidean_diameter
    return (heard / (hypot(heard, far * far) or 1.0)) ** 2


def last_responses(
    game: AggregativeGame,
    public: FloatArray,
    reference: FloatArray,
    unknown: float,
    length: float,
    heard: float,
) -> FloatArray:
    """Return what players play at home against an estimate of the aggregate with noise.

    Parameters
    ----------
    game : AggregativeGame
    public : ndarray of shape (n_dims,)
        The estimate.
    reference : ndarray of shape (n_players, n_dims)
        What players would play on average if the estimate were right.
    unknown : float
        Expected squared norm of the noise in the estimate.
    length : float
        P / (P + Q) for a pseudo-gradient ``P x + Q aggregate``, about.
    heard : float
        Expected squared norm of the noise in what players responded to before.

    Notes
    -----
    Take such a pseudo-gradient and an error e of the estimate. With the conjecture 0 the error moves the
    gradient at the responses by about ``Q e / length``. With the conjecture 1 the gradient is off by ``Q
    length r`` for a player at a distance r from its response, which it sees at home. Each player takes the
    part that minimises the sum of both squares, and at least `drowned_share`.
    """
    least = max(1 / game.n_players, drowned_share(game, heard))
    held = game.respond(public, reference=reference, conjecture=0)
    own = length**2 * np.square(held - reference).sum(axis=1)
    expected = np.divide(unknown, unknown + own, out=np.zeros(len(own)), where=unknown + own > 0)
    return game.respond(public, reference=reference, conjecture=np.maximum(expected, least))


def warn_of_noise(game: AggregativeGame, heard: float, where: str, otherwise: str, remedy: str) -> None:
    """Warn if the noise in what players respond to is larger than what they may learn from it.

    Parameters
    ----------
    game : AggregativeGame
    heard : float
        Expected squared norm of the noise.
    where, otherwise, remedy : str
        What holds the noise; what needs no epsilon and is no worse; what to do.
    """
    if sqrt(heard) > FAR * game.constraint.euclidean_diameter:
        warn_user(
            f"The noise in {where} is larger than a quarter of a player's set: strategies are expected to be "
            f"no better than {otherwise}. {remedy}",
            UtilityWarning,
        )


ALIKE = (
    "responses to the public start as if all players were alike, which need no epsilon "
    "(AggregativeGame.respond with reference=start, conjecture=1)"
)


# The update of all players in one round, and its replay from recorded broadcasts.


class PlayerStates(NamedTuple):
    """Strategies and estimates of all players between two rounds.

    Attributes
    ----------
    x : ndarray of shape (n_players, n_dims)
        Strategies.
    private_part, public_part : ndarray of shape (n_players, n_dims); public_part may have one row for all
        The estimates of the aggregate are their sum. `public_part` is a function of the broadcasts alone: two
        runs with the same broadcasts have the same one, bit for bit. Rounding differs in `private_part` only.
    """

    x: FloatArray
    private_part: FloatArray
    public_part: FloatArray

    @classmethod
    def initial(cls, start: FloatArray) -> Self:
        """Make the state before the first broadcast, which shows the start."""
        return cls(start, start, np.zeros_like(start[:1]))

    @property
    def v(self) -> FloatArray:
        """The estimates of the aggregate."""
        return self.private_part + self.public_part


class Dynamics:
    """The update of strategies and estimates between two broadcasts.

    Parameters
    ----------
    game : AggregativeGame
    mixing : MixingSchedule
        The communication weights.
    algorithm : {"wang_nedic", "ye"}
    clip_norm : float or None
        L1 norm at which pseudo-gradients are clipped; with infinity only those are changed, to 0, that are
        no finite numbers.
    """

    def __init__(
        self, game: Any, mixing: MixingSchedule, algorithm: Algorithm, clip_norm: float | None
    ) -> None:
        self.game = game
        self.mixing = mixing
        self.projects = algorithm == "wang_nedic"
        self.clip_norm = clip_norm

    def advance(
        self, state: PlayerStates, averages: FloatArray, o: FloatArray, step: float, consensus: float
    ) -> PlayerStates:
        """Return the next state of all players.

        Parameters
        ----------
        state : PlayerStates
        averages : ndarray of shape (n_players, n_dims) or (1, n_dims)
            Of the broadcasts, by the weights of the round.
        o : ndarray of shape (n_players, n_dims)
            The broadcasts.
        step, consensus : float
            Step sizes of the round.
        """
        move = np.array(self.game.pseudo_gradient(state.x, state.v), dtype=np.float64, order="C")
        if self.clip_norm is not None:
            clip_rows(move, self.clip_norm)
        move *= -step
        if not self.projects:
            return PlayerStates(state.x + move, move, averages)
        move += state.x
        x = np.asarray(self.game.constraint.project(move), dtype=np.float64, order="C")
        # Rows of the weights sum to 1, so that sum_j L_ij (o_j - o_i) is the average minus o_i. Estimates
        # start at the strategies and move as they do: the difference is a function of the broadcasts.
        public_part = averages - o
        public_part *= consensus
        public_part += state.public_part
        return PlayerStates(x, x, public_part)


def replay(
    dynamics: Dynamics,
    start: FloatArray,
    observations: Iterable[FloatArray],
    steps: FloatArray,
    consensus: FloatArray,
) -> Iterator[FloatArray]:
    """Yield the estimates that the players of `dynamics.game` would have had before every broadcast.

    Given the broadcasts, a player's path depends on its own costs alone. So m replays give the likelihoods of
    all m^N profiles: one of a game in which all players have the first of m types, one with the second, and
    so on.

    Parameters
    ----------
    dynamics : Dynamics
    start : ndarray of shape (n_players, n_dims)
        The public starting point.
    observations : iterable of ndarray of shape (n_players, n_dims)
        The broadcasts of every round.
    steps, consensus : ndarray of shape (n_rounds,)
        Step sizes.

    Yields
    ------
    estimates : ndarray of shape (n_players, n_dims)
    """
    state = PlayerStates.initial(start)
    for k, (o, step, gamma) in enumerate(zip(observations, steps, consensus, strict=True)):
        yield state.v
        state = dynamics.advance(state, dynamics.mixing.at(k).average(o), o, step, gamma)


# The state of a solver between two rounds, the history that it keeps, and the loop over the rounds.

# Words of entropy that one draw of discrete Laplace noise takes on average, as a fraction.
_WORDS_PER_DRAW = (3, 2)

_DIVERGES = (
    "the run diverges: estimates left the range of the broadcasts. Use smaller steps (step_size, "
    "consensus_step), or, if strategies are meant to be that large, other units or declared bounds."
)


@dataclass(eq=False)
class SolverState:
    """States of all players after some rounds, and the history of these rounds.

    Parameters
    ----------
    start : ndarray of shape (n_players, n_dims)
        The public starting point.
    mixing : MixingSchedule
        The checked communication weights.
    progress : tuple of PlayerStates and int
        Strategies and estimates, and after how many rounds. One assignment changes both: an interrupt finds
        the players before or after a round, never within.
    history : dict of str to list of ndarray
        "observations", "strategies" and "estimates" of every round, those that are stored.
    means : list of ndarray of shape (n_dims,)
        Of the broadcasts of every round.
    """

    start: FloatArray
    mixing: MixingSchedule
    progress: tuple[PlayerStates, int]
    history: dict[str, list[FloatArray]]
    means: list[FloatArray]

    @classmethod
    def initial(cls, start: FloatArray, mixing: MixingSchedule, store: str) -> Self:
        """Make the state before the first round."""
        history: dict[str, list[FloatArray]] = {} if store == "none" else {"observations": []}
        if store == "all":
            history |= {"strategies": [start], "estimates": [start]}
        return cls(start, mixing, (PlayerStates.initial(start), 0), history, [])

    @classmethod
    def of_solver(cls, solver: Any, mixing: MixingSchedule) -> Self:
        """Make the state after a solver's last round, with weights for the rounds to come too."""
        history = {"observations": list(solver.observations_)} if hasattr(solver, "observations_") else {}
        history |= {name: list(path) for name, path in getattr(solver, "history_", {}).items()}
        players = PlayerStates(*solver._state)
        return cls(
            solver.start_,
            mixing,
            (players, solver.n_iter_),
            history,
            list(getattr(solver, "broadcast_means_", ())),
        )

    @property
    def n_done(self) -> int:
        """Number of rounds so far."""
        return self.progress[1]

    def store_in(self, solver: Any) -> None:
        """Write the state into a solver's attributes."""
        solver.start_, solver.mixing_ = self.start, self.mixing
        players = self.progress[0]
        # As a plain tuple: a PlayerStates of another version would not be unpickled.
        solver._state, solver.strategies_, solver.estimates_ = tuple(players), players.x, players.v
        solver.broadcast_means_ = np.array(self.means[: self.n_done])
        for name in ("observations_", "history_"):
            vars(solver).pop(name, None)
        if "observations" in self.history:
            solver.observations_ = np.stack(self.history["observations"][: self.n_done])
        if "strategies" in self.history:
            solver.history_ = {
                name: np.stack(self.history[name][: self.n_done + 1]) for name in ("strategies", "estimates")
            }

    def run_rounds(
        self,
        dynamics: Dynamics,
        grid: Grid | None,
        schedules: Schedules,
        entropy: Entropy,
        on_progress: Callable[[], None],
    ) -> int:
        """Run the rounds that are missing; return the number of all.

        Raises
        ------
        OverflowError
            An estimate is no finite number any more.
        """
        n_rounds = len(schedules.steps)
        noise = np.empty(self.start.size, dtype=np.int64)
        words, draws = _WORDS_PER_DRAW
        expected_words = words * noise.size * (n_rounds - self.n_done) // draws + 1
        with WordStream(entropy, expected_words) as stream:
            try:
                for k in range(self.n_done, n_rounds):
                    players = self.progress[0]
                    o = self._broadcast(players, grid, k, noise, stream)
                    averages, step = dynamics.mixing.at(k).average(o), schedules.steps[k]
                    players = dynamics.advance(players, averages, o, step, schedules.consensus_steps[k])
                    self._record(k, o, players)
                    self.progress = (players, k + 1)
                    on_progress()
            except KeyboardInterrupt:
                if self.n_done == 0:
                    raise
                warn_user(
                    f"The run was interrupted after {self.n_done} of {n_rounds} rounds; partial_fit goes on.",
                    ConvergenceWarning,
                )
        self._check_finite()
        return self.n_done

    def _broadcast(
        self, players: PlayerStates, grid: Grid | None, k: int, noise: IntArray, stream: WordStream
    ) -> FloatArray:
        if grid is None:
            self._check_finite()
            return players.v
        o = np.empty(players.x.shape)
        fill_discrete_laplace(noise, int(grid.scales[k]), 1, stream)
        limit = grid.limit * grid.steps
        if not fill_broadcast(players.private_part, players.public_part, grid.steps, limit, noise, o):
            raise OverflowError(_DIVERGES)
        return o

    def _record(self, k: int, o: FloatArray, players: PlayerStates) -> None:
        # A round that an interrupt cut short is written again.
        self.means[k:] = [o.mean(axis=0)]
        for name, index, value in (
            ("observations", k, o),
            ("strategies", k + 1, players.x),
            ("estimates", k + 1, players.v),
        ):
            if name in self.history:
                del self.history[name][index:]
                self.history[name].append(value)

    def _check_finite(self) -> None:
        players = self.progress[0]
        if not (np.isfinite(players.x).all() and np.isfinite(players.v).all()):
            raise OverflowError(_DIVERGES)
