# SPDX-License-Identifier: BSD-3-Clause
"""The reference solver: projected extragradient, and Newton steps for affine games on a box."""

import warnings
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..exceptions import UtilityWarning

if TYPE_CHECKING:
    from ._game import AggregativeGame

FloatArray = NDArray[np.float64]

# Khobotov's condition: step times slope stays below this, < 1.
_SLOPE = 0.9
_SHRINK = 0.6
_GROW = 1.2
_SMALLEST_STEP = 1e-300


def extragradient(game: "AggregativeGame", start: FloatArray, *, tol: float, max_iter: int) -> FloatArray:
    """Return strategies at which the game's residual is small, or warn that they are not."""
    if game.is_monotone() is False:
        warnings.warn(
            "the game is not monotone: strategies found here may be one equilibrium of several, or none.",
            UtilityWarning,
            stacklevel=3,
        )
    x, step = start, 1.0
    for _ in range(max_iter):
        gradients = game.pseudo_gradient(x, x.mean(axis=0))
        if _small(game, x, gradients, tol):
            return x
        x, step = _step(game, x, gradients, step)
    _warn_of_no_convergence()
    return x


def _step(
    game: "AggregativeGame", x: FloatArray, gradients: FloatArray, step: float
) -> tuple[FloatArray, float]:
    """Take one extragradient step, and return the step size to try next."""
    weights = game._weights()
    project = game.constraint.project
    while True:
        ahead = project(x - step * gradients)
        there = game.pseudo_gradient(ahead, ahead.mean(axis=0))
        rise, way = _norm(there - gradients, weights), _norm(ahead - x, weights)
        if step * rise <= _SLOPE * way or step < _SMALLEST_STEP:
            return project(x - step * there), step * _GROW
        step *= _SHRINK


def _norm(values: FloatArray, weights: FloatArray | None) -> float:
    squares = np.square(values).sum(axis=1)
    return float(np.sqrt(squares.sum() if weights is None else weights @ squares))


def _small(game: "AggregativeGame", x: FloatArray, gradients: FloatArray, tol: float) -> bool:
    moved = x - game.constraint.project(x - gradients)
    scale = max(1.0, float(np.abs(x).max()), float(np.abs(gradients).max()))
    return float(np.sqrt(np.square(moved).sum(axis=1).max())) <= tol * scale


def _warn_of_no_convergence() -> None:
    from sklearn.exceptions import ConvergenceWarning

    warnings.warn(
        "the residual is above tol after max_iter iterations: raise one of them, or look whether the game "
        "has an equilibrium (an unconstrained one need not).",
        ConvergenceWarning,
        stacklevel=4,
    )
