# SPDX-License-Identifier: BSD-3-Clause
"""Private parameters of games whose pseudo-gradient is affine in them, and its derivative by them."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from ..._typing import FloatArray
from ...games import QuadraticAggregativeGame, VaccinationGame

Parameters = dict[str, FloatArray]


class PrivateCosts(ABC):
    """Private parameters in which the pseudo-gradient is affine."""

    @abstractmethod
    def truth(self, game: Any) -> Parameters:
        """Return the true ones."""

    @abstractmethod
    def gradient(self, guess: Parameters, x: FloatArray, aggregate: FloatArray) -> FloatArray:
        """Return the pseudo-gradient with guessed parameters."""

    @abstractmethod
    def derivative(self, weights: FloatArray, x: FloatArray, aggregate: FloatArray) -> Parameters:
        """Return the derivative of ``sum(weights * gradient)`` by the parameters.

        Each player's is divided by 1 plus the squared length of what its risks are multiplied with.
        """


class ConstantCosts(PrivateCosts):
    """r of a game with public P and Q."""

    def __init__(self, game: Any) -> None:
        self.P, self.Q = game.P_, game.Q_

    def truth(self, game: Any) -> Parameters:
        return {"r": game.r_}

    def gradient(self, guess: Parameters, x: FloatArray, aggregate: FloatArray) -> FloatArray:
        return multiply(self.P, x) + multiply(self.Q, aggregate) + guess["r"]

    def derivative(self, weights: FloatArray, x: FloatArray, aggregate: FloatArray) -> Parameters:
        return {"r": weights}


class VaccinationCosts(PrivateCosts):
    """A and B of a vaccination game.

    The pseudo-gradient is ``A - s (B' e + w B (1 - x))``: e = 1 - delta and s = 1 for "herd_immunity",
    e = delta with B' e subtracted and s = -1 in the second term for "as_printed"; w = 1/N with own effect.
    """

    def __init__(self, game: Any) -> None:
        self.rises = not game.herd_immunity
        self.own = 1.0 / game.n_players if game.own_effect else 0.0

    def truth(self, game: Any) -> Parameters:
        # Q_ is B' or -B', and r_ is A less P_ 1, and less Q_ 1 where the risk falls.
        one = np.ones((game.n_players, game.n_dims))
        Q = np.broadcast_to(game.Q_, (game.n_players, game.n_dims, game.n_dims))
        prices = game.r_ + multiply(game.P_, one)
        if self.rises:
            return {"A": prices, "B": -Q.swapaxes(1, 2)}
        return {"A": prices + multiply(Q, one), "B": Q.swapaxes(1, 2)}

    def _features(self, x: FloatArray, aggregate: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return what B' and what B are multiplied with."""
        own = self.own * (1.0 - x)
        return (-aggregate, own) if self.rises else (aggregate - 1.0, -own)

    def gradient(self, guess: Parameters, x: FloatArray, aggregate: FloatArray) -> FloatArray:
        shared, own = self._features(x, aggregate)
        risks = guess["B"]
        return guess["A"] + multiply(risks.swapaxes(1, 2), shared) + multiply(risks, own)

    def derivative(self, weights: FloatArray, x: FloatArray, aggregate: FloatArray) -> Parameters:
        shared, own = self._features(x, aggregate)
        # Broadcasts with large noise would otherwise throw the guess far off, and farther in every round.
        weights = weights / (1.0 + (shared**2 + own**2).sum(axis=1, keepdims=True))
        outer = shared[:, :, None] * weights[:, None, :] + weights[:, :, None] * own[:, None, :]
        return {"A": weights, "B": outer}


def private_costs_of(game: Any) -> PrivateCosts:
    """Return the private parameters of a game in the form that the attack estimates."""
    if not isinstance(game, QuadraticAggregativeGame | VaccinationGame):
        raise TypeError("game must be a QuadraticAggregativeGame or a VaccinationGame.")
    if game.private == {"r"}:
        return ConstantCosts(game)
    if isinstance(game, VaccinationGame):
        return VaccinationCosts(game)
    raise ValueError('of a QuadraticAggregativeGame only r can be learnt: use private="r".')


def multiply(matrices: FloatArray, vectors: FloatArray) -> FloatArray:
    """Return the product of every matrix, shape (..., j, k), with its vector, shape (..., k)."""
    return np.einsum("...jk,...k->...j", matrices, vectors)
