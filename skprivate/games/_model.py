# SPDX-License-Identifier: BSD-3-Clause
"""What is public about a run of broadcasts: all that a guarantee about it may depend on."""

from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from ._sets import ConstraintSet

FloatArray = NDArray[np.float64]
Algorithm = Literal["wang_nedic", "ye"]

_OF_THE_GAME = ("n_players", "n_dims", "private", "P", "Q", "constraint", "private_bounds")


@dataclass(frozen=True, kw_only=True, eq=False)
class BroadcastModel:
    """Public description of the broadcasts of one run.

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
        Added to every round's sensitivity per coordinate, in the units of the strategies: the broadcast's
        grid, and the rounding of double arithmetic.
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

    @property
    def n_rounds(self) -> int:
        """Number of broadcasts of every player."""
        return len(self.noise_scales)

    def until(self, n_rounds: int) -> Self:
        """Return the model of the first rounds alone."""
        return replace(self, noise_scales=self.noise_scales[:n_rounds], steps=self.steps[:n_rounds])

    def after(self, before: Self) -> Self:
        """Return the model of all rounds, the first of which `before` describes.

        Raises
        ------
        ValueError
            They differ: the guarantee about all rounds would be wrong about the first.
        """
        for name in _OF_THE_GAME:
            if not _same(getattr(self, name), getattr(before, name)):
                raise ValueError("game differs from the one of the rounds before in what is public about it.")
        first = self.until(before.n_rounds)
        check_same(self.algorithm, before.algorithm, "algorithm")
        check_same(self.clip_norm, before.clip_norm, "clip_norm")
        check_same(first.noise_scales, before.noise_scales, "noise_scale")
        check_same(first.steps, before.steps, "step_size")
        # The grid of the first rounds may have been coarser.
        return replace(self, allowance=max(self.allowance, before.allowance))


def check_same(now: Any, before: Any, name: str) -> None:
    """Raise a ValueError where a parameter is not that of the rounds before."""
    if not _same(now, before):
        raise ValueError(f"{name} differs from that of the rounds that were run.")


def _same(now: Any, before: Any) -> bool:
    if isinstance(now, np.ndarray | tuple):
        return before is not None and np.array_equal(now, before)
    return bool(now == before) if before is not None else now is None
