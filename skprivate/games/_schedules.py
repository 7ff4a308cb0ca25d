# SPDX-License-Identifier: BSD-3-Clause
"""Schedules of noise scales and step sizes over the rounds: their forms, and their checks."""

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


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

    def first_rounds(self, n_rounds: int) -> "Schedules":
        """Return the schedules of the first rounds alone."""
        return Schedules(self.noise_scales[:n_rounds], self.steps[:n_rounds], self.consensus_steps[:n_rounds])


def power_schedule(numbers: tuple[float, float, float], rounds: NDArray[np.int64]) -> FloatArray:
    """Return ``p1 + p2 k**p3``."""
    first, slope, power = numbers
    return np.asarray(first + slope * rounds.astype(np.float64) ** power)


def hyperbolic_schedule(numbers: tuple[float, float, float], rounds: NDArray[np.int64]) -> FloatArray:
    """Return ``q1 / (q2 + q3 k)``."""
    numerator, first, slope = numbers
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(numerator / (first + slope * rounds))


def check_schedule(
    value: Any,
    name: str,
    n_rounds: int,
    formula: Callable[[tuple[float, float, float], NDArray[np.int64]], FloatArray],
    *,
    positive: bool,
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
    values = _values(value, name, n_rounds, formula)
    if values.shape != (n_rounds,):
        raise ValueError(f"{name} must have a value for each of {n_rounds} rounds, got shape {values.shape}.")
    if not np.isfinite(values).all() or (values < 0).any() or (positive and (values == 0).any()):
        raise ValueError(
            f"{name} must be finite and {'above 0' if positive else 'at least 0'} in every round."
        )
    return np.ascontiguousarray(values)


def _values(value: Any, name: str, n_rounds: int, formula: Callable[..., FloatArray]) -> FloatArray:
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
