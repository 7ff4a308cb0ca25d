# SPDX-License-Identifier: BSD-3-Clause
"""The update of all players in one round, and its replay from recorded broadcasts."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, Self

import numpy as np

from .._typing import FloatArray
from ._broadcast_mechanism import Algorithm
from ._communication_weights import MixingSchedule
from ._round_kernels import clip_rows


class PlayerStates(NamedTuple):
    """Strategies and estimates of all players between two rounds.

    Attributes
    ----------
    x : ndarray of shape (n_players, n_dims)
        Strategies.
    private_part, public_part : ndarray of shape (n_players, n_dims); public_part may have one row for all
        The estimates of the aggregate are their sum. `public_part` is a function of the broadcasts alone: two
        runs with the same broadcasts have the same, bit for bit, and rounding differs in `private_part` only.
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

    Given the broadcasts, a player's path depends on its own costs alone: replaying a game in which all
    players have the first of m types, then the second, gives the likelihoods of all m^N profiles.

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
