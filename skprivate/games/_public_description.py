# SPDX-License-Identifier: BSD-3-Clause
"""What is public about a run of the solver, and what it costs a player."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import PrivacyUnboundedError
from ._broadcast_grid import Grid
from ._broadcast_model import BroadcastModel
from ._games.game import AggregativeGame
from ._leakage.guarantees import worst_player

FloatArray = NDArray[np.float64]

# The sum of a float recursion is rounded up before it is called a bound.
_ROUNDING = Fraction(1, 2**40)


def describe_run(
    solver: Any, game: AggregativeGame, noise_scales: FloatArray, steps: FloatArray, grid: Grid | None
) -> BroadcastModel:
    """Return the model of a run with these schedules; without noise there is no grid."""
    return BroadcastModel(
        n_players=game.n_players,
        n_dims=game.n_dims,
        algorithm=solver.algorithm,
        noise_scales=noise_scales,
        steps=steps,
        constraint=game.constraint,
        clip_norm=solver.clip_norm,
        private=game.private,
        P=_public(game, "P"),
        Q=_public(game, "Q"),
        private_bounds=getattr(game, "private_bounds", None),
        allowance=0.0 if grid is None else 1.0 / grid.steps,
        limit=0.0 if grid is None else grid.limit,
    )


def public_reach(game: AggregativeGame, start: FloatArray) -> float:
    """Return the largest magnitude that is public before the run."""
    bounds = getattr(game, "private_bounds", None)
    known = [
        1.0,
        np.abs(start).max(),
        game.constraint.diameter,
        *(np.abs(side).max() for side in bounds or ()),
    ]
    return float(max(size for size in known if math.isfinite(size)))


def public_parts(game: AggregativeGame) -> tuple[str, ...]:
    """Return what is public of a game, in words."""
    return ("P and Q of the pseudo-gradient",) if game.private == {"r"} else ()


def price(model: BroadcastModel) -> tuple[Fraction | float, list[str]]:
    """Return what one player's data cost, and why that may be infinite."""
    if (model.noise_scales == 0).any():
        return math.inf, ["a round has no noise (noise_scale is 0)"]
    try:
        epsilon = worst_player(model)
    except PrivacyUnboundedError as error:
        return math.inf, [str(error).rstrip(".")]
    if not math.isfinite(epsilon):
        return math.inf, ["no finite bound holds"]
    return Fraction(epsilon) * (1 + _ROUNDING), []


def _public(game: AggregativeGame, name: str) -> FloatArray | None:
    """P or Q of an affine game, where it is public."""
    return None if game.private != {"r"} else getattr(game, f"{name}_")
