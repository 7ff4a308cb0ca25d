# SPDX-License-Identifier: BSD-3-Clause
"""Checks of the functions that a user gives for all players at once, where a game is made."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..._typing import FloatArray
from .sets import ConstraintSet

PlayerFunction = Callable[[FloatArray, FloatArray], ArrayLike]


def read_only(values: FloatArray) -> FloatArray:
    """Return a view that a user's function cannot write to: a step that it takes by itself is not clipped."""
    view = values.view()
    view.flags.writeable = False
    return view


def check_player_function(
    name: str, function: Any, shape: tuple[int, ...], constraint: ConstraintSet, n_players: int, n_dims: int
) -> None:
    """Refuse a user's function that returns no finite numbers of this shape, or mixes the players."""
    start = constraint.start(n_players, n_dims)
    values = np.asarray(function(read_only(start), read_only(start)))
    if values.dtype.kind not in "iuf" or values.shape != shape:
        raise ValueError(
            f"{name} must return real numbers of shape {shape} for a game of {n_players} players "
            f"and {n_dims} dimensions; it returned {values.dtype} of shape {values.shape}."
        )
    wrong = ~np.isfinite(values).reshape(n_players, -1).all(axis=1)
    if wrong.any():
        raise ValueError(
            f"{name} must return finite numbers; it does not for player {int(np.argmax(wrong))} at the "
            "public start."
        )
    half = n_players // 2
    moved = constraint.project(start + np.linspace(0.1, 0.3, n_dims))
    for kept, changed in ((slice(half), slice(half, None)), (slice(half, None), slice(half))):
        other = start.copy()
        other[changed] = moved[changed]
        found = np.asarray(function(read_only(other), read_only(other)))
        # Rounding of terms that cancel is relative to the values where they do not: in any unit of them.
        size = np.abs(values).max() + np.abs(np.where(np.isfinite(found), found, 0)).max()
        atol = 1e-12 * min(1.0, float(size))
        if not np.allclose(found[kept], values[kept], rtol=1e-9, atol=atol, equal_nan=True):
            raise ValueError(
                f"{name}: row i of the result must depend on row i of the arguments alone, and it does "
                "not. The aggregate comes as an argument; do not take a mean inside."
            )
