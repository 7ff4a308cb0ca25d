# SPDX-License-Identifier: BSD-3-Clause
"""Constraint sets of the players: projections, diameters, and how far a projection can expand."""

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]


class ConstraintSet(ABC):
    """A closed convex set for every player's strategy.

    Attributes
    ----------
    diameter : float
        Largest L1 distance of two points of one player's set; infinite if it is unbounded.
    expansion : float
        Bound on the L1 Lipschitz constant of the Euclidean projection.
    """

    diameter: float
    expansion: float

    @abstractmethod
    def project(self, points: FloatArray) -> FloatArray:
        """Return the Euclidean projections of the rows; points of shape (n_players, n_dims)."""

    @abstractmethod
    def contains(self, points: FloatArray) -> BoolArray:
        """Return which rows lie in the set, up to rounding; of shape (n_players,)."""

    @abstractmethod
    def start(self, n_players: int, n_dims: int) -> FloatArray:
        """Return a public point for every player to start from; of shape (n_players, n_dims)."""
