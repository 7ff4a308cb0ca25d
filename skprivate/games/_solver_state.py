# SPDX-License-Identifier: BSD-3-Clause
"""The state of a solver between two rounds, the history that it keeps, and the loop over the rounds."""

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from .._typing import FloatArray
from ..noise._entropy import Entropy
from ..noise._sampling_kernels import fill_discrete_laplace
from ..noise._stream_kernels import WordStream
from ..utils._user_frame import warn_user
from ._broadcast_grid import Grid
from ._broadcast_round import Dynamics, PlayerStates
from ._communication_weights import MixingSchedule
from ._round_kernels import fill_broadcast
from ._schedules import Schedules

# Words of entropy that one draw of discrete Laplace noise takes on average, as a fraction.
_WORDS_PER_DRAW = (3, 2)

_DIVERGES = (
    "the run diverges: estimates left the range of the broadcasts. Use smaller steps (step_size, "
    "consensus_step), or, if strategies are meant to be that large, other units or declared bounds."
)


class SolverState:
    """States of all players after some rounds, and the history of these rounds.

    Parameters
    ----------
    start : ndarray of shape (n_players, n_dims)
        The public starting point.
    mixing : MixingSchedule
        The checked communication weights.
    players : PlayerStates
        Strategies and estimates after `n_done` rounds.
    n_done : int
        Number of rounds so far.
    history : dict of str to list of ndarray
        "observations", "strategies" and "estimates" of every round, those that are stored.
    """

    def __init__(
        self,
        start: FloatArray,
        mixing: MixingSchedule,
        players: PlayerStates,
        n_done: int,
        history: dict[str, list[FloatArray]],
    ) -> None:
        self.start = start
        self.mixing = mixing
        self.history = history
        # One assignment: an interrupt finds the players before or after a round, never within.
        self._progress = (players, n_done)

    @classmethod
    def initial(cls, start: FloatArray, mixing: MixingSchedule, store: str) -> Self:
        """Make the state before the first round."""
        history: dict[str, list[FloatArray]] = {} if store == "none" else {"observations": []}
        if store == "all":
            history |= {"strategies": [start], "estimates": [start]}
        return cls(start, mixing, PlayerStates.initial(start), 0, history)

    @classmethod
    def of_solver(cls, solver: Any, mixing: MixingSchedule) -> Self:
        """Make the state after a solver's last round, with weights that tell of the rounds to come too."""
        history = {"observations": list(solver.observations_)} if hasattr(solver, "observations_") else {}
        history |= {name: list(path) for name, path in getattr(solver, "history_", {}).items()}
        return cls(solver.start_, mixing, PlayerStates(*solver._state), solver.n_iter_, history)

    @property
    def n_done(self) -> int:
        """Number of rounds so far."""
        return self._progress[1]

    def store_in(self, solver: Any) -> None:
        """Write the state into a solver's attributes."""
        solver.start_, solver.mixing_ = self.start, self.mixing
        players = self._progress[0]
        # As a plain tuple: a PlayerStates of another version would not be unpickled.
        solver._state, solver.strategies_, solver.estimates_ = tuple(players), players.x, players.v
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
        with WordStream(entropy, self._expected_words(n_rounds)) as stream:
            try:
                for k in range(self.n_done, n_rounds):
                    players = self._progress[0]
                    o = self._broadcast(players, grid, k, noise, stream)
                    averages = dynamics.mixing.at(k).average(o)
                    players = dynamics.advance(
                        players, averages, o, schedules.steps[k], schedules.consensus_steps[k]
                    )
                    self._record(k, o, players)
                    self._progress = (players, k + 1)
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

    def _expected_words(self, n_rounds: int) -> int:
        words, draws = _WORDS_PER_DRAW
        return words * self.start.size * (n_rounds - self.n_done) // draws + 1

    def _broadcast(
        self, players: PlayerStates, grid: Grid | None, k: int, noise: NDArray[np.int64], stream: WordStream
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
        if not self.history:
            return
        for name, index, value in (
            ("observations", k, o),
            ("strategies", k + 1, players.x),
            ("estimates", k + 1, players.v),
        ):
            if name in self.history:
                # A round that an interrupt cut short is written again.
                del self.history[name][index:]
                self.history[name].append(value)

    def _check_finite(self) -> None:
        players = self._progress[0]
        if not (np.isfinite(players.x).all() and np.isfinite(players.v).all()):
            raise OverflowError(_DIVERGES)
