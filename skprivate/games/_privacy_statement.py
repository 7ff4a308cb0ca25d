# SPDX-License-Identifier: BSD-3-Clause
"""The public mechanism of a solver's run, the epsilon of one player, and its `PrivacySpent`."""

import math
from fractions import Fraction
from typing import Any

import numpy as np

from .._typing import FloatArray
from ..accounting import PrivacySpent, ReleaseRecord
from ..base import claim_of
from ..exceptions import PrivacyUnboundedError
from ._broadcast_grid import Grid
from ._broadcast_mechanism import BroadcastMechanism
from ._games.game import AggregativeGame
from ._leakage.guarantees import largest_player_epsilon
from ._schedules import Schedules

# The sum of a recursion in double arithmetic is rounded up before it is called a bound: its relative error is
# far below this.
_ROUNDING = Fraction(1, 2**40)


def make_mechanism(
    solver: Any, game: AggregativeGame, schedules: Schedules, grid: Grid | None
) -> BroadcastMechanism:
    """Return the public mechanism of a run with these schedules; without noise there is no grid."""
    return BroadcastMechanism(
        n_players=game.n_players,
        n_dims=game.n_dims,
        algorithm=solver.algorithm,
        noise_scales=schedules.noise_scales if grid is None else grid.noise_scales,
        steps=schedules.steps,
        constraint=game.constraint,
        clip_norm=solver.clip_norm,
        private=game.private,
        P=_public_matrix(game, "P"),
        Q=_public_matrix(game, "Q"),
        private_bounds=getattr(game, "private_bounds", None),
        allowance=0.0 if grid is None else 1.0 / grid.steps,
        limit=0.0 if grid is None else grid.limit,
    )


def largest_public_magnitude(game: AggregativeGame, start: FloatArray) -> float:
    """Return the largest magnitude that is public before the run: of the start, the set and the bounds."""
    bounds = getattr(game, "private_bounds", None)
    known = [
        1.0,
        np.abs(start).max(),
        game.constraint.diameter,
        *(np.abs(side).max() for side in bounds or ()),
    ]
    return float(max(size for size in known if math.isfinite(size)))


def player_epsilon(mechanism: BroadcastMechanism) -> tuple[Fraction | float, list[str]]:
    """Return epsilon of differential privacy of one player, and the reasons where it is infinite."""
    if (mechanism.noise_scales == 0).any():
        return math.inf, ["a round has no noise (noise_scale is 0)"]
    try:
        epsilon = largest_player_epsilon(mechanism)
    except PrivacyUnboundedError as error:
        return math.inf, [str(error).rstrip(".")]
    if not math.isfinite(epsilon):
        return math.inf, ["no finite bound holds"]
    return Fraction(epsilon) * (1 + _ROUNDING), []


def make_statement(
    mechanism: BroadcastMechanism, epsilon: Fraction | float, leaks: list[str], noise_source: str
) -> PrivacySpent:
    """Return what the data of one player spent by all broadcasts."""
    affine = ("P and Q of the pseudo-gradient",) if mechanism.private == {"r"} else ()
    releases: tuple[ReleaseRecord, ...] = ()
    if isinstance(epsilon, Fraction):
        whole = {"name": "all broadcasts of one player", "mechanism": "discrete Laplace", "epsilon": epsilon}
        releases = (ReleaseRecord(**whole, draws=mechanism.n_rounds),)  # type: ignore[arg-type]
    return PrivacySpent(
        releases=releases,
        mechanism=f"discrete Laplace noise on every broadcast ({mechanism.algorithm})",
        epsilon=epsilon,
        relation="local",
        unit="player",
        noise_scale=None,
        noise_source=noise_source,  # type: ignore[arg-type]
        deployment="simulated",
        public_inputs=("weights", "schedules", "starting point", "constraint set", *affine),
        unprotected={
            "players": mechanism.n_players,
            "rounds": mechanism.n_rounds,
            "not broadcast, not covered": "strategies_, estimates_, aggregate_, residual_, history_",
        },
        **claim_of(leaks, noise_source),
    )


def _public_matrix(game: AggregativeGame, name: str) -> FloatArray | None:
    """P or Q of an affine game, where it is public."""
    return None if game.private != {"r"} else getattr(game, f"{name}_")
