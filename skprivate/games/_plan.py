# SPDX-License-Identifier: BSD-3-Clause
"""What is public of a run: schedules, the grid of the broadcasts, and the parameters of the mechanism."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, Literal, Self

import numpy as np

from .._typing import FloatArray, IntArray
from ..utils._public_module import public_module
from ._games.sets import ConstraintSet

# The public parameters of the broadcasts of one run: all that a privacy guarantee may depend on.

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
    values, arrays = ("n_players", "n_dims", "private", "constraint"), ("P", "Q", "private_bounds")
    same = all(getattr(mechanism, name) == getattr(before, name) for name in values) and all(
        np.array_equal(getattr(mechanism, name), getattr(before, name)) for name in arrays
    )
    if not same:
        raise ValueError("game differs from the one of the rounds before in what is public about it.")
    # Rounds on two grids: scales as they were drawn, and the coarser and wider one covers both.
    return replace(
        mechanism,
        noise_scales=np.concatenate([before.noise_scales, mechanism.noise_scales[before.n_rounds :]]),
        allowance=max(before.allowance, mechanism.allowance),
        limit=max(before.limit, mechanism.limit),
    )


# Schedules of noise scales and step sizes over the rounds: their forms, and their checks.


@dataclass(frozen=True, eq=False)
class Schedules:
    """One value per round of everything that changes over the rounds, each of shape (n_rounds,).

    Attributes
    ----------
    noise_scales : ndarray
        Scales of the Laplace noise, as they were asked for.
    steps : ndarray
        Step sizes of the strategies.
    consensus_steps : ndarray
        Step sizes of the estimates.
    """

    noise_scales: FloatArray
    steps: FloatArray
    consensus_steps: FloatArray

    @classmethod
    def checked(cls, noise_scale: Any, step_size: Any, consensus_step: Any, n_rounds: int) -> Self:
        """Return the schedules that the parameters of a solver stand for."""
        return cls(
            check_schedule(noise_scale, "noise_scale", n_rounds, power_schedule, positive=False),
            check_schedule(step_size, "step_size", n_rounds, hyperbolic_schedule, positive=True),
            check_schedule(consensus_step, "consensus_step", n_rounds, hyperbolic_schedule, positive=True),
        )


def power_schedule(numbers: tuple[float, float, float], rounds: IntArray) -> FloatArray:
    """Return ``p1 + p2 k**p3``."""
    first, slope, power = numbers
    return np.asarray(first + slope * rounds.astype(np.float64) ** power)


def hyperbolic_schedule(numbers: tuple[float, float, float], rounds: IntArray) -> FloatArray:
    """Return ``q1 / (q2 + q3 k)``."""
    numerator, first, slope = numbers
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(numerator / (first + slope * rounds))


def check_schedule(
    value: Any, name: str, n_rounds: int, formula: Callable[..., FloatArray], *, positive: bool
) -> FloatArray:
    """Return one value per round.

    Parameters
    ----------
    value : float, tuple of three floats, array-like of shape (>= n_rounds,), or callable
        A constant; the numbers of `formula`; the values; or a function of the round 0, 1, ...
    name : str
        Of the parameter, for messages.
    n_rounds : int
        Number of rounds.
    formula : callable
        What a tuple of three stands for.
    positive : bool
        Whether 0 is refused.

    Returns
    -------
    values : ndarray of shape (n_rounds,)

    Raises
    ------
    TypeError, ValueError
        The value is none of these, too short, not finite, negative, or 0 where it must not be.
    """
    values = _schedule_values(value, name, n_rounds, formula)
    if values.shape != (n_rounds,):
        raise ValueError(f"{name} must have a value for each of {n_rounds} rounds, got shape {values.shape}.")
    if not np.isfinite(values).all() or (values < 0).any() or (positive and (values == 0).any()):
        raise ValueError(
            f"{name} must be finite and {'above 0' if positive else 'at least 0'} in every round."
        )
    return np.ascontiguousarray(values)


def _schedule_values(value: Any, name: str, n_rounds: int, formula: Callable[..., FloatArray]) -> FloatArray:
    rounds = np.arange(n_rounds)
    if isinstance(value, Real) and not isinstance(value, bool):
        return np.full(n_rounds, float(value))
    if isinstance(value, tuple) and len(value) == 3:
        return formula(tuple(float(number) for number in value), rounds)
    if callable(value):
        return np.array([float(value(int(k))) for k in rounds], dtype=np.float64)
    values = np.asarray(value)
    if values.dtype.kind not in "iuf" or values.ndim != 1:
        raise TypeError(
            f"{name} must be a number, a tuple of three numbers, one number per round, or a function of the "
            "round."
        )
    return values[:n_rounds].astype(np.float64)


# The grid of the broadcasts: its step and its range, so that sums fit 64-bit integers.

# log2 of the smallest noise scale in steps: what the grid adds to epsilon is then about 2^-40 of it.
_LOG2_RESOLUTION = 40
# log2 of the largest broadcast in steps, so that sums fit 64 bits.
_LOG2_RANGE = 59
# log2 of how far broadcasts may leave the public range of noise and strategies. The noise has this margin
# too, as the sampler takes scales up to 2^52 only.
_LOG2_MARGIN = 12
# In steps: a scale that is rounded up to a whole number of steps grows by less than a thousandth.
_LEAST_SCALE = 2**10
# Powers of two beyond this, times numbers near 1, leave the range of doubles (2^1023) or come close.
_MOST_EXPONENT = 900


@dataclass(frozen=True)
class Grid:
    """Broadcasts are multiples of ``2**-exponent``; scales are whole numbers of them.

    Attributes
    ----------
    exponent : int
        The step is ``2**-exponent``.
    scales : ndarray of int64 of shape (n_rounds,)
        Noise scale of every round in steps, rounded up.
    limit : float
        A run ends where a broadcast, or what an estimate takes from broadcasts, leaves -limit to limit.
    """

    exponent: int
    scales: IntArray
    limit: float

    @property
    def steps(self) -> float:
        """Number of steps in one unit of the strategies."""
        return float(np.ldexp(1.0, self.exponent))

    @property
    def noise_scales(self) -> FloatArray:
        """The scales in units of the strategies, after rounding."""
        return np.ldexp(self.scales.astype(np.float64), -self.exponent)


def make_grid(noise_scales: FloatArray, public_magnitude: float) -> Grid | None:
    """Choose the grid; None if a round has no noise.

    Parameters
    ----------
    noise_scales : ndarray of shape (n_rounds,)
        Laplace scales, at least 0.
    public_magnitude : float
        Largest magnitude of public starting points and bounds, above 0.

    Raises
    ------
    ValueError
        The noise differs between rounds, or from the strategies, by more than the sampler can represent.
    """
    if (noise_scales == 0).any():
        return None
    smallest, largest = np.log2(noise_scales.min()), np.log2(noise_scales.max())
    span = int(np.ceil(max(largest, np.log2(public_magnitude))))
    exponent = int(np.floor(min(_LOG2_RESOLUTION - smallest, _LOG2_RANGE - _LOG2_MARGIN - span)))
    scales = np.ceil(np.ldexp(noise_scales, exponent))
    if scales.min() < _LEAST_SCALE or abs(exponent) > _MOST_EXPONENT:
        raise ValueError(
            "noise_scale spans too many orders of magnitude, between rounds or to the strategies."
        )
    return Grid(exponent, scales.astype(np.int64), float(np.ldexp(1.0, span + _LOG2_MARGIN)))
