# SPDX-License-Identifier: BSD-3-Clause
"""Estimates and intervals from what the rounds of a logistic fit released."""

from dataclasses import dataclass
from math import sqrt

import numpy as np
from scipy.special import ndtri, softmax
from scipy.stats import chi2

from ..._typing import FloatArray
from ...rounds._plans.grid import MomentGrid
from ...utils._public_module import public_module
from .schedule import Schedule
from .standards import Standards

# Most that the ridge is taken back by.
_LONGEST = 4.0
# A direction whose curvature is less than this many times the largest noise in it is not known.
_KNOWN = 3.0
# Share of unknown directions in a slope from which its interval is infinite. Noise turns directions, and so
# gives every slope some; below, the interval is wider by so many standardised units times the share.
_TRACE, _FARTHEST = 0.02, 10.0

# Draws of rows: shares of 1 % that depend much on the columns have an error of a tenth of themselves.
_DRAWS = 2000


@public_module("skprivate.linear_model")
@dataclass(frozen=True, eq=False, kw_only=True)
class LogisticRelease:
    """What a logistic fit released, in standardised columns, the constant first.

    Attributes
    ----------
    standards : Standards
        Noisy centres and variances of the columns, and base rates.
    schedule : Schedule
        Rounds and their noise.
    mechanism : {"laplace", "gaussian"}
    start, theta : ndarray of shape (n_logits, n_features + 1)
        Where the rounds began, and the mean of where gradients were taken.
    gradient : ndarray of shape (n_logits, n_features + 1)
        The mean of these noisy gradients.
    curvature : ndarray of shape (n_features + 1, n_features + 1), or None
        Noisy curvature of the mean loss at `theta`.
    curvature_std : float
        Standard deviation of the noise of an entry beside its diagonal.
    rows_per_unit : int
        Rows of one person that count.
    """

    standards: Standards
    schedule: Schedule
    mechanism: str
    start: FloatArray
    theta: FloatArray
    gradient: FloatArray
    curvature: FloatArray | None
    curvature_std: float = 0.0
    rows_per_unit: int = 1

    def estimate(self) -> FloatArray:
        """Return the parameters: those of the rounds, their slopes longer or shorter as the noise tells.

        Notes
        -----
        With H the curvature, s = H theta* the gradient that leads from the start to the best slopes, and
        s + e what the rounds saw of it, their slopes are about b = (H + ridge)^-1 (s + e). The factor g that
        minimises the quadratic loss of g b, g^2 b'Hb / 2 - g b's, has b's in it, for which b'(s + e) less the
        mean of b'e stands (Stein's unbiased estimate of risk). At 0 noise explains all, and the base rates
        stay.
        """
        slopes, seen, by_noise, size = self._slopes()
        factor = min(max((seen - by_noise) / size, 0.0), _LONGEST) if size else 0.0
        estimate = self.theta.copy() if factor else self.start.copy()
        estimate[:, 1:] = factor * slopes
        if len(estimate) > 1:
            estimate -= estimate.mean(axis=0)
        return estimate

    def class_rates(self) -> FloatArray:
        """Return the shares of the classes: those of the model's mean, less what its gradients say of them.

        Their noise, `schedule.noise`, is a part of that of the noisy counts that the rounds start from. Rows
        are drawn as normal ones: of rare classes with strong effects the shares are up to a third too low.
        """
        deviations = np.sqrt(self.standards.variances[1:])
        rows = np.random.default_rng(0).normal(size=(_DRAWS, len(deviations))) * deviations
        logits, left = self.theta[:, 0] + rows @ self.theta[:, 1:].T, self.gradient[:, 0]
        if len(left) == 1:
            logits, left = np.column_stack([np.zeros(_DRAWS), logits]), np.append(-left, left)
        rates: FloatArray = softmax(logits, axis=1).mean(axis=0) - left
        return rates

    @property
    def may_be_noise(self) -> bool:
        """Whether noise and chance alone make as much of what the rounds saw once in twenty times or more.

        It is about a sum of squares of as many normal variables as there are slopes.
        """
        slopes, seen, by_noise, _ = self._slopes()
        return seen < by_noise * float(chi2.ppf(0.95, slopes.size)) / slopes.size

    def _slopes(self) -> tuple[FloatArray, float, float, float]:
        """Return slopes b, b'(s + e), the mean of b'e by noise and sampling, and b'Hb."""
        moved = (self.theta - self.start)[:, 1:]
        h, ridge, slopes = self._model(moved)
        pull = moved @ h - self.gradient[:, 1:]
        variance = self.schedule.noise**2 * np.eye(len(h)) + h * (self.rows_per_unit / self.standards.n_rows)
        by_noise = len(moved) * float(np.trace(np.linalg.solve(h + ridge, variance)))
        return slopes, float((slopes * pull).sum()), by_noise, float(np.einsum("ij,ij->", slopes @ h, slopes))

    def _largest(self, curvature: FloatArray) -> float:
        """Bound on the noise of a direction: about twice the root of the size, for a symmetric matrix."""
        return 2 * sqrt(len(curvature)) * self.curvature_std

    def _model(self, moved: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the curvature of slopes, the ridge, and slopes moved as far as the curvature tells."""
        schedule, n_slopes = self.schedule, moved.shape[1]
        if self.curvature is None:
            h = schedule.curvature * self.standards.variances[1:]
            return np.diag(h), schedule.ridge * np.eye(n_slopes), moved
        # The constant's part of a step is made by the rounds: it has no ridge.
        values, vectors = np.linalg.eigh(self.curvature[1:, 1:])
        h = (vectors * np.maximum(values, 0.0)) @ vectors.T
        ridge = max(schedule.ridge, self._largest(self.curvature)) * np.eye(n_slopes)
        left = self.gradient[:, 1:] + schedule.ridge * moved
        return h, ridge, moved - left @ np.linalg.inv(h + ridge)

    def slope_intervals(self, confidence: float) -> FloatArray:
        """Return intervals of the slopes of two classes, shape (n_features, 2); infinite where none is known.

        Notes
        -----
        From the mean of the rounds one Newton step without a ridge leads to an estimate whose error is
        H^-1 (noise + sampling), of variance H^-1 (s^2 + J / n) H^-1. With weights of rows at most 1 the
        variance J of a row's gradient is at most H under the model; rows of one person may be alike, so
        J is taken so many times. H is known up to noise of norm v, twice the root of its size times the noise
        of an entry, so its eigenvalues are taken v smaller, and its noise times the length of the step is
        added. Where that leaves less than two thirds of one, its direction is not known.
        """
        n_slopes = self.theta.shape[1] - 1
        if self.curvature is None:
            return np.tile([-np.inf, np.inf], (n_slopes, 1))
        values, vectors = np.linalg.eigh(self.curvature)
        largest = self._largest(self.curvature)
        known = values > _KNOWN * largest
        inverse = np.where(known, 1 / np.where(known, values, 1.0), 0.0)
        lower = np.where(known, values - largest, 1.0)
        step = -(vectors * inverse) @ (vectors.T @ self.gradient[0])
        variance = self.schedule.noise**2 + self.curvature_std**2 * float(step @ step)
        each = known * (variance / lower**2 + self.rows_per_unit / self.standards.n_rows / lower)
        std = np.sqrt((vectors**2) @ each)
        traces = np.abs(vectors[:, ~known]).sum(axis=1)
        half = float(ndtri(0.5 + confidence / 2)) * std + _FARTHEST * traces
        half = np.where(traces > _TRACE, np.inf, half)
        middle = self.theta[0] + step
        return np.column_stack([middle - half, middle + half])[1:]


def in_units_of_rows(
    theta: FloatArray, standards: Standards, grid: MomentGrid
) -> tuple[FloatArray, FloatArray]:
    """Return slopes of shape (n_logits, n_features) and intercepts in the units of X."""
    slopes = theta[:, 1:] / standards.scale
    coef = slopes / grid.half
    return coef, theta[:, 0] - slopes @ standards.center - coef @ grid.center
