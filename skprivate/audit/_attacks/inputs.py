# SPDX-License-Identifier: BSD-3-Clause
"""Inputs of attacks: the generator of a simulation, and the broadcasts of a fitted solver."""

from typing import Any

import numpy as np

from ..._typing import FloatArray
from ...noise import check_entropy

# 128 bits: no two runs draw the same seed.
_SEED_BYTES = 16


def check_generator(random_state: Any) -> np.random.Generator:
    """Return a NumPy generator; None seeds it from the operating system, whatever ``np.random.seed`` did."""
    return np.random.default_rng(list(check_entropy(random_state).random_bytes(_SEED_BYTES)))


def check_observations(game: Any, solver: Any) -> FloatArray:
    """Return the broadcasts of a fitted solver, of at least two rounds of this game."""
    if not hasattr(solver, "observations_"):
        raise ValueError('the solver must be fitted with store="observations" or "all".')
    observations: FloatArray = solver.observations_
    if observations.shape[1:] != (game.n_players, game.n_dims):
        raise ValueError("the game must be the one that the solver was fitted on.")
    if len(observations) < 2:
        raise ValueError(
            "the solver must have run at least two rounds: the first broadcast shows only public things."
        )
    return observations
