# SPDX-License-Identifier: BSD-3-Clause
"""The state of a run: where the players are, what was broadcast, and the loop over rounds."""

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from ..noise._entropy import Entropy
from ..noise._sampling_kernels import fill_discrete_laplace
from ..noise._stream_kernels import WordStream
from ..utils._user_frame import warn_user
from ._broadcast_grid import Grid
from ._broadcast_round import Dynamics, State
from ._communication_weights import Mixing
from ._round_kernels import fill_broadcast

FloatArray = NDArray[np.float64]

_DIVERGES = (
    "the run diverges: estimates left the range of the broadcasts. Use smaller steps (step_size, "
    "consensus_step), or, if strategies are meant to be that large, other units or declared bounds."
)


class Run:
    """Players between two rounds, and what is kept of the rounds before.

    Parameters
    ----------
    start : ndarray of shape (n_players, n_dims)
        The public starting point.
    mixing : Mixing
    state : State
        Strategies and estimates.
    n_done : int
        Number of rounds so far.
    kept : dict of str to list of ndarray
        "observations", "strategies" and "estimates", where they are kept.
    """

    def __init__(
        self,
        start: FloatArray,
        mixing: Mixing,
        state: State,
        n_done: int,
        kept: dict[str, list[FloatArray]],
    ) -> None:
        self.start = start
        self.mixing = mixing
        self.kept = kept
        # One assignment: an interrupt finds the players before or after a round, never within.
        self._progress = (state, n_done)

    @classmethod
    def begin(cls, start: FloatArray, mixing: Mixing, store: str) -> Self:
        """Make the state before the first round."""
        kept: dict[str, list[FloatArray]] = {} if store == "none" else {"observations": []}
        if store == "all":
            kept |= {"strategies": [start], "estimates": [start]}
        return cls(start, mixing, State.at(start), 0, kept)

    @classmethod
    def resume(cls, solver: Any) -> Self:
        """Make the state after a solver's last round."""
        kept = {"observations": list(solver.observations_)} if hasattr(solver, "observations_") else {}
        kept |= {name: list(path) for name, path in getattr(solver, "history_", {}).items()}
        return cls(solver.start_, solver.mixing_, State(*solver._state), solver.n_iter_, kept)

    @property
    def n_done(self) -> int:
        """Number of rounds so far."""
        return self._progress[1]

    def store_in(self, solver: Any) -> None:
        """Write the state into a solver's attributes."""
        solver.start_, solver.mixing_ = self.start, self.mixing
        state = self._progress[0]
        # As a plain tuple: a State of another version would not be unpickled.
        solver._state, solver.strategies_, solver.estimates_ = tuple(state), state.x, state.v
        for name in ("observations_", "history_"):
            vars(solver).pop(name, None)
        if "observations" in self.kept:
            solver.observations_ = np.stack(self.kept["observations"][: self.n_done])
        if "strategies" in self.kept:
            solver.history_ = {
                name: np.stack(self.kept[name][: self.n_done + 1]) for name in ("strategies", "estimates")
            }

    def play(
        self,
        dynamics: Dynamics,
        grid: Grid | None,
        steps: FloatArray,
        consensus: FloatArray,
        entropy: Entropy,
        tick: Callable[[], None],
    ) -> int:
        """Run the rounds that are missing; return the number of all.

        Raises
        ------
        OverflowError
            An estimate is no finite number any more.
        """
        size, total = self.start.size, len(steps)
        noise = np.empty(size, dtype=np.int64)
        # About 1.5 words a draw.
        with WordStream(entropy, 3 * size * (total - self.n_done) // 2 + 1) as stream:
            try:
                for k in range(self.n_done, total):
                    state = self._progress[0]
                    o = self._broadcast(state, grid, k, noise, stream)
                    heard = dynamics.mixing.average(o)
                    state = dynamics.advance(state, heard, o, steps[k], consensus[k])
                    self._keep(k, o, state)
                    self._progress = (state, k + 1)
                    tick()
            except KeyboardInterrupt:
                if self.n_done == 0:
                    raise
                warn_user(
                    f"The run was interrupted after {self.n_done} of {total} rounds; partial_fit goes on.",
                    ConvergenceWarning,
                )
        self._check_finite()
        return self.n_done

    def _broadcast(
        self, state: State, grid: Grid | None, k: int, noise: NDArray[np.int64], stream: WordStream
    ) -> FloatArray:
        if grid is None:
            self._check_finite()
            return state.v
        o = np.empty(state.x.shape)
        fill_discrete_laplace(noise, int(grid.scales[k]), 1, stream)
        limit = grid.limit * grid.steps
        if not fill_broadcast(state.own, state.given, grid.steps, limit, noise, o):
            raise OverflowError(_DIVERGES)
        return o

    def _keep(self, k: int, o: FloatArray, state: State) -> None:
        for name, path in (("observations", k), ("strategies", k + 1), ("estimates", k + 1)):
            if name in self.kept:
                # A round that an interrupt cut short is written again.
                del self.kept[name][path:]
                value = {"observations": o, "strategies": state.x}.get(name)
                self.kept[name].append(state.v if value is None else value)

    def _check_finite(self) -> None:
        state = self._progress[0]
        if not (np.isfinite(state.x).all() and np.isfinite(state.v).all()):
            raise OverflowError(_DIVERGES)
