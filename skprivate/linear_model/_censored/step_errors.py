# SPDX-License-Identifier: BSD-3-Clause
"""Errors of the last Newton step of a censored fit: what is known about them from released values."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..._typing import FloatArray
from .curvature import CurvatureEstimate, StepRule
from .gradient_round import GradientRound
from .newton_step import NewtonModel

# The mean square of a step is compared with that of its noise: with three parameters noise alone is twice as
# large in one of nine steps, with ten in one of thirty.
_CLEAR = 2.0
# Part of the variance of the rows' own spread below which what steps leave does not matter.
_HARDLY = 0.1
# What a step may have left is so many times itself at most.
_MOST_LEFT = 5.0


@dataclass(frozen=True, eq=False)
class StepErrors:
    """Errors of the last step of a censored fit.

    Attributes
    ----------
    theta : ndarray of shape (D,)
        Where the step led.
    step : ndarray of shape (D,)
        The last step.
    model : NewtonModel
        Of the rows about theta, by the released values.
    information, inverse : ndarray of shape (D, D)
        Its own; the information is the covariance of the rows' own spread, too.
    curvature_std : ndarray of shape (D, D)
        Standard deviations of the noise that is left in the information about the mean of the rows at risk.
    error : float
        Of the information: of a step as a part of it, by the noise and by the way since it was released.
    unfinished : float
        Variance of the gradient that rounds have left undone, as a multiple of the information.
    contraction : float
        Part of the step before that was left, as the last one shows.
    change : float
        By how much the last step changed the logarithm of the hazard of some rows.
    share : float
        What the last step may have left in its own direction, as a part of it.
    """

    theta: FloatArray
    step: FloatArray
    model: NewtonModel
    information: FloatArray
    inverse: FloatArray
    curvature_std: FloatArray
    error: float
    unfinished: float
    contraction: float
    change: float
    share: float

    @classmethod
    def of(
        cls,
        rule: StepRule,
        estimate: CurvatureEstimate,
        rounds: Sequence[GradientRound],
        theta: FloatArray,
        seen: float | None = None,
    ) -> "StepErrors":
        """Return the errors of the step from the last round to theta.

        `seen` is the contraction; None: by the last two rounds, where the last began where the other led.
        """
        model, last = rule.newton_model(estimate, float(theta[1]), rounds), rounds[-1]
        step = theta - last.theta
        length = model.length(step)
        changed = rule.changed(estimate, model, last.theta)
        left = length * changed
        change = rule.change(model, last.theta, theta)
        std = left_noise(estimate, model)
        error = float(np.hypot(relative_error(model, std, step), rule.changed(estimate, model, theta)))
        seen = contraction(model, rounds, theta) if seen is None else seen
        again = seen / max(1.0 - seen, 1.0 / _MOST_LEFT)
        share = float(np.hypot(again, left_by_curvatures(change, rule.is_one_sided)))
        unfinished = left**2 * model.total / len(theta)
        return cls(
            theta, step, model, model.information, model.inverse, std, error, unfinished, seen, change, share
        )

    @property
    def features(self) -> FloatArray:
        """Covariance of the features over the rows at risk, of shape (D - 2, D - 2)."""
        return self.model.covariance[1:, 1:]

    @property
    def noise_of_curvature(self) -> FloatArray:
        """Covariance of what the noise in the information, times the step, adds to the gradient."""
        return noise_along(self.model, self.curvature_std, self.step)

    @property
    def noise_of_unfinished(self) -> FloatArray:
        """Covariance of what rounds may have left undone along the last step, in the gradient."""
        push = self.share * (self.information @ self.step)
        return np.outer(push, push)

    def noise(self, last: GradientRound) -> FloatArray:
        """Covariance of the noise that the step followed: of the gradient, the events and the curvature."""
        return self.noise_of_curvature + self.noise_of_unfinished + np.diag(last.score_variance)

    @property
    def law_directions(self) -> FloatArray:
        """Directions in theta of the location of the errors, and of their log scale; of shape (D, 2)."""
        location = -np.eye(len(self.theta))[:, 0]
        return np.column_stack([location, -self.theta])

    @property
    def law_information(self) -> FloatArray:
        """Information about location and log scale where slopes are known, of shape (2, 2)."""
        return self.law_directions.T @ self.information @ self.law_directions

    @property
    def law_by_slopes(self) -> FloatArray:
        """What location and log scale fall by, per change of theta's slopes, of shape (2, D - 2)."""
        both = self.law_directions.T @ self.information[:, 2:]
        return np.asarray(np.linalg.solve(self.law_information, both))


def left_by_curvatures(change: float, one_sided: bool) -> float:
    """Return what a step leaves, as a part of it, that changes the logarithm of hazards so much.

    Of a way delta, a step by the mean of the curvatures at both of its ends goes 2 tanh(delta / 2). Early
    events of normal errors are too few in that mean, and other kinds have none of it: 1 - exp(-delta) is what
    a step by the curvature at one end goes.
    """
    if one_sided:
        change = min(max(change, 1e-6), 0.999)
        return min(_MOST_LEFT, -float(np.log1p(-change)) / change - 1.0)
    half = min(max(0.5 * change, 1e-6), 0.999)
    return min(_MOST_LEFT, float(np.arctanh(half)) / half - 1.0)


def left_noise(estimate: CurvatureEstimate, model: NewtonModel) -> FloatArray:
    """Return the standard deviations of the noise that is left in the information, as `centred_std` does."""
    std = model.total * estimate.centred_std
    std[1:, 1:] *= np.sqrt(model.kept)
    return std


def noise_along(model: NewtonModel, std: FloatArray, step: FloatArray) -> FloatArray:
    """Return the covariance of N s, with N noise in the information of centred standard deviations."""
    squares, centred = std**2, step.copy()
    centred[0] += model.mean @ step[1:]
    noise = squares * np.outer(centred, centred)
    np.fill_diagonal(noise, squares @ centred**2)
    back = np.eye(len(step))
    back[1:, 0] = model.mean
    return np.asarray(back @ noise @ back.T, dtype=np.float64)


def relative_error(model: NewtonModel, std: FloatArray, step: FloatArray) -> float:
    """Return the error of a step that noise in the information makes, as a part of the step."""
    error = np.einsum("ij,ji->", model.inverse, noise_along(model, std, step))
    return float(np.sqrt(error / max(float(step @ model.information @ step), 1e-300)))


def contraction(model: NewtonModel, rounds: Sequence[GradientRound], theta: FloatArray) -> float:
    """Return what part of the way the last step but one has left, as the last one shows beside its noise."""
    if len(rounds) < 2:
        return 0.0
    before, last = rounds[-2:]
    noise = sum(model.length_of_noise(one.score_variance) ** 2 for one in rounds[-2:])
    own = len(theta) / model.total
    excess = model.length(theta - last.theta) ** 2 - _CLEAR * noise - _HARDLY * own
    way = max(model.length(last.theta - before.theta), 1e-300)
    return min(1.0, float(np.sqrt(max(excess, 0.0))) / way)
