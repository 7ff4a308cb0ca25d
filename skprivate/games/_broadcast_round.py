# SPDX-License-Identifier: BSD-3-Clause
"""One round of the two updates, as the solver runs it and as anyone replays it from the broadcasts."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ._broadcast_model import Algorithm
from ._communication_weights import Mixing
from ._round_kernels import clip_rows

FloatArray = NDArray[np.float64]


class State(NamedTuple):
    """All players between two rounds.

    Attributes
    ----------
    x : ndarray of shape (n_players, n_dims)
        Strategies.
    own, given : ndarray of shape (n_players, n_dims); given may have one row for all
        The estimates of the aggregate are their sum. `given` is a function of the broadcasts alone, computed
        alike to the last bit whatever is private: rounding can part two runs in `own` only.
    """

    x: FloatArray
    own: FloatArray
    given: FloatArray

    @classmethod
    def at(cls, start: FloatArray) -> Self:
        """Make the state before the first broadcast, which shows the start."""
        return cls(start, start, np.zeros_like(start[:1]))

    @property
    def v(self) -> FloatArray:
        """The estimates."""
        return self.own + self.given


class Dynamics:
    """What every player does between two broadcasts.

    Parameters
    ----------
    game : AggregativeGame
    mixing : Mixing
        Who listens to whom.
    algorithm : {"wang_nedic", "ye"}
    clip_norm : float or None
        L1 norm at which pseudo-gradients are clipped; with infinity only those are changed, to 0, that are
        no finite numbers.
    """

    def __init__(self, game: Any, mixing: Mixing, algorithm: Algorithm, clip_norm: float | None) -> None:
        self.game = game
        self.mixing = mixing
        self.projects = algorithm == "wang_nedic"
        self.clip_norm = clip_norm

    def advance(self, state: State, heard: FloatArray, o: FloatArray, step: float, consensus: float) -> State:
        """Return the next state.

        Parameters
        ----------
        state : State
        heard : ndarray of shape (n_players, n_dims) or (1, n_dims)
            ``mixing.average(o)``.
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
            return State(state.x + move, move, heard)
        move += state.x
        x = np.asarray(self.game.constraint.project(move), dtype=np.float64, order="C")
        # Rows of the weights sum to 1, so that sum_j L_ij (o_j - o_i) is the average less the own. Estimates
        # start as strategies do and move as they do: they differ by what broadcasts gave.
        given = heard - o
        given *= consensus
        given += state.given
        return State(x, x, given)


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
    state = State.at(start)
    for o, step, gamma in zip(observations, steps, consensus, strict=True):
        yield state.v
        state = dynamics.advance(state, dynamics.mixing.average(o), o, step, gamma)
