# SPDX-License-Identifier: BSD-3-Clause
"""The public parameters of the broadcasts of one run: all that a privacy guarantee may depend on."""

from dataclasses import dataclass, replace
from typing import Literal, Self

import numpy as np
from numpy.typing import NDArray

from ..utils._public_module import public_module
from ._games.sets import ConstraintSet

FloatArray = NDArray[np.float64]
Algorithm = Literal["wang_nedic", "ye"]


@public_module("skprivate.games")
@dataclass(frozen=True, kw_only=True, eq=False)
class BroadcastMechanism:
    """Public parameters of the mechanism that releases the broadcasts of one run.

    Attributes
    ----------
    n_players, n_dims : int
        N and n.
    algorithm : {"wang_nedic", "ye"}
        The update.
    noise_scales : ndarray of shape (n_rounds,)
        Scale of the Laplace noise on every coordinate of the broadcasts of round k.
    steps : ndarray of shape (n_rounds,)
        Step size of the strategies in round k, between broadcast k and broadcast k + 1.
    constraint : ConstraintSet
        What strategies are projected on; "ye" does not project.
    clip_norm : float or None
        L1 norm at which every player's pseudo-gradient is clipped.
    private : frozenset of str
        What the players keep to themselves: {"r"} the constant part of an affine pseudo-gradient alone;
        anything else stands for a pseudo-gradient of which nothing is public.
    P, Q : ndarray of shape (n_dims, n_dims) or (n_players, n_dims, n_dims), or None
        Public derivatives of the pseudo-gradient ``P x + Q v + r`` by the own strategy (the player's effect
        on the aggregate included) and by the aggregate; None where they are private or not constant.
    private_bounds : tuple of two ndarrays of shape (n_players, n_dims), or None
        Public bounds of the private vectors.
    allowance : float
        Added to every round's sensitivity per coordinate, in the units of the strategies: the step of the
        broadcasts' grid.
    limit : float, default=0.0
        Starting points, private vectors, broadcasts and what estimates take from them are at most this in
        every coordinate, which bounds the rounding of double arithmetic. 0: arithmetic is exact.
    """

    n_players: int
    n_dims: int
    algorithm: Algorithm
    noise_scales: FloatArray
    steps: FloatArray
    constraint: ConstraintSet
    clip_norm: float | None
    private: frozenset[str]
    P: FloatArray | None
    Q: FloatArray | None
    private_bounds: tuple[FloatArray, FloatArray] | None
    allowance: float
    limit: float = 0.0

    @property
    def n_rounds(self) -> int:
        """Number of broadcasts of every player."""
        return len(self.noise_scales)

    def first_rounds(self, n_rounds: int) -> Self:
        """Return the mechanism of the first rounds alone."""
        return replace(self, noise_scales=self.noise_scales[:n_rounds], steps=self.steps[:n_rounds])


def extend_rounds(before: BroadcastMechanism, mechanism: BroadcastMechanism) -> BroadcastMechanism:
    """Return the mechanism of all rounds; a ValueError if it differs from `before` in the rounds before."""
    for name in ("algorithm", "clip_norm"):
        if getattr(mechanism, name) != getattr(before, name):
            raise ValueError(f"{name} differs from that of the rounds that were run.")
    if not np.array_equal(mechanism.steps[: before.n_rounds], before.steps):
        raise ValueError("step_size differs from that of the rounds that were run.")
    if not _same_public_part(before, mechanism):
        raise ValueError("game differs from the one of the rounds before in what is public about it.")
    # Rounds on two grids: scales as they were drawn, and the coarser and wider one pays for both.
    return replace(
        mechanism,
        noise_scales=np.concatenate([before.noise_scales, mechanism.noise_scales[before.n_rounds :]]),
        allowance=max(before.allowance, mechanism.allowance),
        limit=max(before.limit, mechanism.limit),
    )


def _same_public_part(before: BroadcastMechanism, mechanism: BroadcastMechanism) -> bool:
    same = all(
        getattr(mechanism, name) == getattr(before, name)
        for name in ("n_players", "n_dims", "private", "constraint")
    )
    ours, theirs = ((item.P, item.Q, *(item.private_bounds or (None, None))) for item in (mechanism, before))
    return same and all(map(_equal, ours, theirs))


def _equal(first: FloatArray | None, second: FloatArray | None) -> bool:
    return first is second if first is None or second is None else np.array_equal(first, second)
