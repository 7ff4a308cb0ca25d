# SPDX-License-Identifier: BSD-3-Clause
"""The constraint set of a projection that a user wrote, and the choice of a game's constraint set."""

import math
from typing import Any, Self

import numpy as np

from ..._typing import BoolArray, FloatArray
from .sets import (
    ConstraintSet,
    Projection,
    check_constraint,
    check_declared_sizes,
    rounding_slack,
    rows_all,
)


class ProjectionSet(ConstraintSet):
    """The set behind a Euclidean projection that a user wrote.

    ``expansion`` is sqrt(n_dims): a Euclidean projection is nonexpansive in L2, and
    ``|z|_2 <= |z|_1 <= sqrt(n) |z|_2``.
    """

    def __init__(self, function: Projection, n_dims: int, diameter: float | None = None) -> None:
        self.function = function
        self.diameter = math.inf if diameter is None else float(diameter)
        self.expansion = math.sqrt(n_dims)

    @classmethod
    def checked(cls, function: Any, diameter: Any, n_players: int, n_dims: int) -> Self:
        """Return the set if the function is one, and looks like a projection where it is tried."""
        if not callable(function):
            raise TypeError(f"projection must be callable, not {type(function).__name__}.")
        if diameter is not None and (np.ndim(diameter) != 0 or not diameter >= 0):
            raise ValueError("diameter must be a number of at least 0 (the L1 diameter of one player's set).")
        made = cls(function, n_dims, diameter)
        start = np.asarray(function(np.zeros((n_players, n_dims))))
        if start.shape != (n_players, n_dims) or start.dtype.kind not in "iuf":
            raise ValueError(
                "projection must take and return real arrays of shape (n_players, n_dims) = "
                f"{(n_players, n_dims)}; it returned {start.dtype} of shape {start.shape}."
            )
        if not np.isfinite(start).all():
            raise ValueError("projection must return finite numbers: it does not at 0.")
        if not made.contains(start.astype(np.float64)).all():
            raise ValueError("projection must leave its own results where they are: it moves that of 0.")
        check_declared_sizes(made, n_players, n_dims)
        return made

    def project(self, points: FloatArray) -> FloatArray:
        """Return what the user's function makes of the rows."""
        return np.asarray(self.function(points), dtype=np.float64)

    def contains(self, points: FloatArray) -> BoolArray:
        """Return which rows the projection leaves where they are, up to rounding."""
        moved = np.abs(self.project(np.array(points, dtype=np.float64)) - points)
        return rows_all(moved <= rounding_slack(np.asarray(points)))

    def start(self, n_players: int, n_dims: int) -> FloatArray:
        """Return the projection of 0."""
        return np.array(self.project(np.zeros((n_players, n_dims))))

    def __repr__(self) -> str:
        return f"ProjectionSet({getattr(self.function, '__name__', type(self.function).__name__)})"


def make_constraint(
    bounds: Any, projection: Any, diameter: Any, n_players: int, n_dims: int
) -> ConstraintSet:
    """Return the constraint set of a game that was given bounds, or a projection with its diameter."""
    if projection is None:
        if diameter is not None:
            raise ValueError("diameter goes with a projection; a set given as bounds knows its own.")
        return check_constraint(bounds, n_players, n_dims)
    if bounds is not None:
        raise ValueError("give bounds or a projection, not both.")
    return ProjectionSet.checked(projection, diameter, n_players, n_dims)
