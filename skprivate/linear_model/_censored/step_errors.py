# SPDX-License-Identifier: BSD-3-Clause
"""Errors of the last Newton step of a censored fit: what is known about them from released values."""

from dataclasses import dataclass

import numpy as np

from ..._typing import FloatArray
from .curvature import CurvatureEstimate, StepRule, length_of
from .gradient_round import GradientRound


@dataclass(frozen=True, eq=False)
class StepErrors:
    """Errors of the last step of a censored fit.

    Attributes
    ----------
    theta : ndarray of shape (D,)
        Where the step led.
    step : ndarray of shape (D,)
        The last step.
    information, inverse : ndarray of shape (D, D)
        Of the rows about theta, by the released values; it is the covariance of the rows' own spread, too.
    curvature_std : ndarray of shape (D, D)
        Standard deviations of the noise that is left in the information.
    features : ndarray of shape (D - 2, D - 2)
        Covariance of the features over the rows at risk.
    unfinished : float
        Variance of the gradient that rounds have left undone, as a multiple of the information.
    """

    theta: FloatArray
    step: FloatArray
    information: FloatArray
    inverse: FloatArray
    curvature_std: FloatArray
    features: FloatArray
    unfinished: float

    @classmethod
    def of(
        cls, rule: StepRule, estimate: CurvatureEstimate, last: GradientRound, theta: FloatArray
    ) -> "StepErrors":
        """Return the errors of the step from the last round to theta."""
        model, step = rule.newton_model(estimate, float(theta[1])), theta - last.theta
        whole = np.concatenate([[1.0], model.mean])
        centred = model.total * model.covariance
        centred[0, 0] += last.scale_information / theta[1] ** 2
        information = model.total * np.outer(whole, whole)
        information[1:, 1:] += centred
        inverse = _inverse(model.total, model.mean, centred)
        std = estimate.total * estimate.std
        std[1:, 1:] *= np.sqrt(model.kept)
        if rule.exact_total:
            std[0, 0] = 0.0
        left = rule.change_since(estimate, theta) * float(length_of(model, step))
        features = model.covariance[1:, 1:]
        return cls(theta, step, information, inverse, std, features, left**2 * model.total / len(theta))

    @property
    def noise_of_curvature(self) -> FloatArray:
        """Covariance of what the noise in the information, times the step, adds to the gradient."""
        squares = self.curvature_std**2
        noise = squares * np.outer(self.step, self.step)
        np.fill_diagonal(noise, squares @ self.step**2)
        return noise

    def noise(self, last: GradientRound) -> FloatArray:
        """Covariance of the noise that the step followed: of the gradient, the events and the curvature."""
        noise = self.noise_of_curvature + np.diag(last.gradient_std**2)
        noise[1, 1] += (last.events_std / self.theta[1]) ** 2
        return noise

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


def _inverse(total: float, mean: FloatArray, centred: FloatArray) -> FloatArray:
    """Invert total (1, mean) (1, mean)' + centred, the latter without the constant.

    By blocks: where the targets hardly vary, a mean that is not 0 would leave the sum singular in float64.
    """
    widths = np.sqrt(np.diagonal(centred))
    rest = np.linalg.inv(correlation(centred)) / np.outer(widths, widths)
    cross = -rest @ mean
    return np.block([[np.array([[1.0 / total - mean @ cross]]), cross], [cross[:, None], rest]])


def correlation(covariance: FloatArray) -> FloatArray:
    """Scale a covariance to a diagonal of 1: theta_1 may be of another order than the rest by far."""
    widths = np.sqrt(np.diagonal(covariance))
    return covariance / np.outer(widths, widths)
