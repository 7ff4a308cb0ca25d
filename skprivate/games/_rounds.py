# SPDX-License-Identifier: BSD-3-Clause
"""One round of the two updates, as the solver runs it and as anyone replays it from the broadcasts."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._model import Algorithm
from ._round_kernels import clip_rows
from ._weights import Mixing

FloatArray = NDArray[np.float64]


class Dynamics:
    """What every player does between two broadcasts.

    Parameters
    ----------
    game : AggregativeGame
    mixing : Mixing
        Who listens to whom.
    algorithm : {"wang_nedic", "ye"}
    clip_norm : float or None
        L1 norm at which pseudo-gradients are clipped.
    """

    def __init__(self, game: Any, mixing: Mixing, algorithm: Algorithm, clip_norm: float | None) -> None:
        self.game = game
        self.mixing = mixing
        self.projects = algorithm == "wang_nedic"
        self.clip_norm = clip_norm

    def advance(
        self, x: FloatArray, v: FloatArray, heard: FloatArray, o: FloatArray, step: float, consensus: float
    ) -> tuple[FloatArray, FloatArray]:
        """Return the next strategies and estimates.

        Parameters
        ----------
        x, v : ndarray of shape (n_players, n_dims)
            Strategies and estimates of the aggregate.
        heard : ndarray of shape (n_players, n_dims) or (1, n_dims)
            ``mixing.average(o)``.
        o : ndarray of shape (n_players, n_dims)
            The broadcasts.
        step, consensus : float
            Step sizes of the round.
        """
        gradient = np.array(self.game.pseudo_gradient(x, v), dtype=np.float64, order="C")
        if self.clip_norm is not None:
            clip_rows(gradient, self.clip_norm)
        gradient *= -step
        gradient += x
        moved = self.game.constraint.project(gradient) if self.projects else gradient
        if self.projects:
            # Rows of the weights sum to 1, so that sum_j L_ij (o_j - o_i) is the average less the own.
            following = heard - o
            following *= consensus
            following += v
        else:
            following = np.broadcast_to(heard, v.shape).copy()
        following += moved
        following -= x
        return moved, following


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
    x = v = start
    for o, step, gamma in zip(observations, steps, consensus, strict=True):
        yield v
        x, v = dynamics.advance(x, v, dynamics.mixing.average(o), o, step, gamma)
