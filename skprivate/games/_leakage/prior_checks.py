# SPDX-License-Identifier: BSD-3-Clause
"""Checks of priors: their numbers, and whether they fit a run."""

import numpy as np
from numpy.typing import ArrayLike

from ..._typing import FloatArray
from .._broadcast_mechanism import BroadcastMechanism

# Of sums of probabilities, and of a support's ends beside the declared bounds.
_ROUNDING = 1e-9


def check_numbers(values: ArrayLike, name: str) -> FloatArray:
    """Return finite numbers, at least one, as floats."""
    array = np.asarray(values)
    if array.dtype.kind not in "iuf":
        raise TypeError(f"{name} must hold numbers.")
    array = array.astype(np.float64)
    if array.ndim == 0 or array.size == 0 or not np.isfinite(array).all():
        raise ValueError(f"{name} must hold finite numbers, at least one.")
    return array


def check_probabilities(values: ArrayLike) -> FloatArray:
    """Return probabilities that sum to 1 along the last axis.

    Sums that are off by rounding are brought there: one of 1 + 1e-10 would take 1e-10 from every leakage.
    """
    array = check_numbers(values, "probabilities")
    if array.ndim > 2 or (array < 0).any() or (np.abs(array.sum(axis=-1) - 1) > _ROUNDING).any():
        raise ValueError("probabilities must be at least 0 and have sums of 1.")
    return array / array.sum(axis=-1, keepdims=True)


def check_n_players(own: int | None, n_players: int) -> None:
    """Check the number of players that a prior names."""
    if own is not None and own != n_players:
        raise ValueError(f"the prior is about {own} players, the game has {n_players}.")


def check_support(values: FloatArray, mechanism: BroadcastMechanism) -> None:
    """Check private vectors of shape (1 or n_players, m, n_dims): their dimensions and the bounds."""
    if mechanism.private != {"r"}:
        return
    if values.shape[-1] != mechanism.n_dims:
        raise ValueError(f"the prior has {values.shape[-1]} coordinates, the game {mechanism.n_dims}.")
    if mechanism.private_bounds is None:
        _check_limit(values, mechanism)
        return
    lower, upper = (side[:, None] for side in mechanism.private_bounds)
    slack = _ROUNDING * (1 + np.maximum(np.abs(lower), np.abs(upper)))
    if ((values < lower - slack) | (values > upper + slack)).any():
        raise ValueError(
            "the prior's support leaves the bounds of the private vectors that the game declares "
            "(private_bounds, of the constants r): they are clipped there, so that this is not their "
            "distribution."
        )


def _check_limit(values: FloatArray, mechanism: BroadcastMechanism) -> None:
    """Check that finite private vectors are in the range for which rounding is bounded."""
    sizes = np.abs(values[np.isfinite(values)])
    if mechanism.limit and sizes.max(initial=0.0) > mechanism.limit:
        raise ValueError(
            f"the prior's support reaches beyond {mechanism.limit:.3g}, for which the run was not made: "
            "declare the game's bounds of the private vectors (r_bounds), or use other units."
        )
