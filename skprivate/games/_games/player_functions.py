# SPDX-License-Identifier: BSD-3-Clause
"""Checks of the functions that a user gives for all players at once, where a game is made."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..._typing import FloatArray
from .sets import ConstraintSet

PlayerFunction = Callable[[FloatArray, FloatArray], ArrayLike]


def read_only(values: FloatArray) -> FloatArray:
    """Return a view that a user's function cannot write to: a step that it takes by itself is not clipped."""
    view = values.view()
    view.flags.writeable = False
    return view


def check_player_function(
    name: str,
    function: Any,
    shape: tuple[int, ...],
    constraint: ConstraintSet,
    n_players: int,
    n_dims: int,
    *,
    rows_apart: bool = False,
) -> None:
    """Refuse a user's function that returns no finite numbers of this shape, or mixes the players.

    `rows_apart`: it is known not to mix them.
    """
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
    if not rows_apart:
        _check_rows_apart(name, function, start, constraint)


def _check_rows_apart(
    name: str, function: PlayerFunction, start: FloatArray, constraint: ConstraintSet
) -> None:
    """Refuse a function of which a row changes with other rows, or from one call to the next.

    Of every two players each is moved while the other stays, as the numbers of two players differ in a bit:
    some back and some forth, since a least or largest row is felt one way only. Those who stay are not at the
    start, where a factor that other rows enter may be 0; nor is anybody on the boundary of its set.
    """
    players, n_dims = np.arange(len(start)), start.shape[1]
    way = constraint.project(start + np.linspace(0.1, 0.3, n_dims)) - start
    away, farther = start + 0.5 * way, start + 0.95 * way
    values = np.asarray(function(read_only(away), read_only(away)))
    if not _are_close(values, np.asarray(function(read_only(away), read_only(away)))):
        raise ValueError(
            f"{name} must return the same numbers whenever it is given the same arguments, and it does not: "
            "no random numbers, and no memory of earlier calls."
        )
    for bit in range((len(start) - 1).bit_length()):
        for side, moved in enumerate((start, farther)):
            kept = players >> bit & 1 == side
            other = np.where(kept[:, None], away, moved)
            found = np.asarray(function(read_only(other), read_only(other)))
            if not _are_close(values[kept], found[kept]):
                raise ValueError(
                    f"{name}: row i of the result must depend on row i of the arguments alone, and it does "
                    "not. The aggregate comes as an argument; do not take a mean inside."
                )


def _are_close(values: NDArray[Any], others: NDArray[Any]) -> bool:
    # Rounding of terms that cancel is relative to the values where they do not: in any unit of them.
    size = max(np.abs(np.where(np.isfinite(item), item, 0)).max(initial=0.0) for item in (values, others))
    return np.allclose(others, values, rtol=1e-9, atol=1e-12 * min(1.0, float(size)), equal_nan=True)
