# SPDX-License-Identifier: BSD-3-Clause
"""Estimate of the curvature of the log likelihood between two rounds, and the rule of the next step."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..._typing import FloatArray
from ...utils._public_module import public_module
from .._distributions import NORMAL, SEV, ErrorDistribution
from .._moments.solve import ScaledFit
from .gradient_round import GradientRound
from .newton_step import NewtonModel, regularized_covariance
from .sensitivity import Residuals

# Limits of a step, so that noise cannot throw a round: the factor of theta_1, in the first round and later,
# and the change of the error, as a root mean square over the rows at risk. The first step leads from a fit
# without features, whose scale is too large by sqrt(1 + their variance in scales^2): 3 covers features
# that explain 8 parts in 9. Where the hazards of two groups differ by exp(delta), the curvature that is the
# mean of both ends leads 2 tanh(delta / 2) of the way, never beyond 2. What is cut off is left to later
# rounds, and in `bootstrap_censored`.
_FACTORS = (3.0, 1.7)
_LONGEST_STEP = 2.0
# In half-widths of the target, whose bounds are at 1: a location beyond means that noise has taken over.
_FARTHEST_LOCATION = 3.0
# The half of the curvature that is a round's own grows as exp(u): that of another place, so far away, is off
# by this part of the way.
CHANGE = 0.5
#: Share of the largest variance that its mean allows, from which a column counts as one of two values: a
#: uniform one has a third, levels of a category have all of it.
TWO_VALUES = 0.6
# Likely bounds of the targets' variance given the features, in multiples of that of uncensored rows. For
# three distributions, with and without features that explain four fifths, it is .37 to 1.5 times that up to
# 50 % censored, and less beyond.
_TIGHT, _LOOSE = 0.3, 2.0


@public_module("skprivate.linear_model")
@dataclass(frozen=True, eq=False)
class CurvatureEstimate:
    """Estimate of the sum of curvatures from the released rounds, before `regularized_covariance`.

    Attributes
    ----------
    total : float
        Sum of the weights.
    mean : ndarray of shape (D - 1,)
        Of (y', x') under these weights.
    covariance : ndarray of shape (D - 1, D - 1)
        The same; noisy.
    std : ndarray of shape (D, D)
        Standard deviations of the noise in the released curvature, over the sum of the weights.
    theta : ndarray of shape (D,)
        Where the latest curvature was released.
    off : float
        Relative error there of the earlier curvatures that are in it, beside their noise.
    direction : ndarray of shape (D - 2,)
        Direction of the targets' covariances with features whose distribution is elliptical.
    events : float
        Noisy number of events by the last round, as they tell of the scale.
    """

    total: float
    mean: FloatArray
    covariance: FloatArray
    std: FloatArray
    theta: FloatArray
    off: float
    direction: FloatArray
    events: float

    @property
    def centred_std(self) -> FloatArray:
        """Standard deviations of the noise in the weights' sum, the mean and the covariance, of shape (D, D).

        With noise N in the sums of products, N_ij - m_i N_0j - m_j N_0i + m_i m_j N_00 is in those about the
        mean m: columns far from the centre of their bounds have more.
        """
        squares, mean = self.std**2, self.mean**2
        first, corner = squares[0, 1:], squares[0, 0]
        cross = np.outer(mean, first)
        centred = squares.copy()
        centred[0, 1:] = centred[1:, 0] = first + mean * corner
        centred[1:, 1:] += cross + cross.T + np.outer(mean, mean) * corner
        # Both of the terms in between are one and the same.
        centred[1:, 1:] += np.diag(2.0 * mean * first)
        return np.sqrt(centred)

    @property
    def noise(self) -> float:
        """Standard deviation of the noise of a product of two features in the covariance."""
        std = self.centred_std
        # With one feature there is no product of two: its noise would be that of the target and the feature.
        pairs = std[2:, 2:][np.triu_indices(len(std) - 2, 1)] if len(std) > 3 else std[1, 2]
        return float(np.sqrt(np.mean(pairs**2)))

    @property
    def clearness(self) -> float:
        """Mean variance of the features, in standard deviations of its noise."""
        squares = np.diagonal(self.covariance)[1:]
        noise = float(np.mean(np.diagonal(self.centred_std)[2:])) / np.sqrt(len(squares))
        return float(squares.mean()) / max(noise, 1e-300)


@public_module("skprivate.linear_model")
@dataclass(frozen=True, eq=False)
class StepRule:
    """Rule by which released rounds move the parameters; its constants are public or released.

    The curvature of a round is the mean of two matrices, see `residuals_of`: a round's own, and one of the
    same expectation that hardly depends on the parameters, so that it is that of the end of the way. A
    function whose slope is known at one end, and its slope's slope at both, has its root where the mean of
    these leads, up to the cube of the way. Newton steps with either of them alone are as slow as one standard
    error a round from one side, and far too long from the other.

    Attributes
    ----------
    in_halves : bool
        Whether the curvature is that mean; otherwise it is a round's own.
    grows : bool
        Whether the logarithm of the hazard follows early errors the faster, the earlier they are (normal).
    exact_total : bool
        Whether the weights' sum follows from the events and residuals (SEV), whose noise is small.
    spread : float
        Variance of the error of uncensored rows, weighted by the curvature; 0 where rows may not tell it,
        such as those that were looked at once.
    shrink : bool
        Whether noise in the covariance is taken back.
    limits : tuple of two floats
        Least and greatest theta_1.
    """

    in_halves: bool
    grows: bool
    exact_total: bool
    spread: float
    shrink: bool
    limits: tuple[float, float]

    @classmethod
    def of(
        cls,
        distribution: ErrorDistribution,
        residuals: Residuals,
        regularization: str,
        limits: tuple[float, float],
    ) -> "StepRule":
        """Collect the constants."""
        # Only of events and censored rows are the curvatures the events minus the residuals.
        exact = distribution is SEV and residuals.is_plain
        halves = {"left", "interval"}.isdisjoint(residuals.observations)
        spread = residuals.spread(distribution) if halves else 0.0
        return cls(halves, distribution is NORMAL, exact, spread, regularization != "none", limits)

    def update(self, estimate: CurvatureEstimate | None, new: GradientRound) -> CurvatureEstimate:
        """Return the estimate after a new round."""
        total = None
        if self.exact_total:
            # Half of the sum of w, the events less the residuals, and half of the events.
            total = max(max(new.events, 1.0) - 0.5 * float(new.gradient[0]), 1.0)
        events = new.scale_information
        if estimate is not None and new.curvature is None:
            return replace(estimate, total=estimate.total if total is None else total, events=events)
        fresh = self._released(new, total, estimate is None)
        return fresh if estimate is None else self._combined(estimate, fresh)

    def _released(self, new: GradientRound, total: float | None, is_first: bool) -> CurvatureEstimate:
        """Compute mean and covariance from a released curvature."""
        if new.curvature is None or new.curvature_std is None:
            raise ValueError("the first round must release its curvature.")
        total = max(float(new.curvature[0, 0]), 1.0) if total is None else total
        mean = np.clip(new.curvature[0, 1:] / total, -1.0, 1.0)
        covariance = new.curvature[1:, 1:] / total - np.outer(mean, mean)
        std = new.curvature_std / total
        if self.exact_total:
            std[0, 0] = 0.0
        direction = new.gradient[2:] if is_first else covariance[1:, 1:] @ new.theta[2:]
        return CurvatureEstimate(
            total, mean, covariance, std, new.theta, 0.0, direction, new.scale_information
        )

    def _combined(self, old: CurvatureEstimate, fresh: CurvatureEstimate) -> CurvatureEstimate:
        """Weigh two estimates by the variances of products of features: by noise, and what has changed."""
        model = self.newton_model(fresh, float(fresh.theta[1]))
        typical = float(np.mean(np.diagonal(model.covariance)[1:]))
        changed = self.changed(old, model, fresh.theta)
        of_old, of_fresh = old.noise**2 + (changed * typical) ** 2, fresh.noise**2
        part = of_fresh / max(of_old + of_fresh, 1e-300)
        return replace(
            fresh,
            mean=part * old.mean + (1.0 - part) * fresh.mean,
            covariance=part * old.covariance + (1.0 - part) * fresh.covariance,
            std=np.hypot(part * old.std, (1.0 - part) * fresh.std),
            off=part * changed,
        )

    def newton_model(
        self, estimate: CurvatureEstimate, slope: float, rounds: Sequence[GradientRound] = ()
    ) -> NewtonModel:
        """Return the model of the next step where theta_1 is `slope`, after rounds."""
        noise = estimate.noise if self.shrink else 0.0
        # The targets' own spread does not follow theta_1: it is that of where the curvature was released.
        variance = self.spread / float(estimate.theta[1]) ** 2
        given = _TIGHT * variance, _LOOSE * variance
        regular, seen, kept = regularized_covariance(
            estimate.covariance, noise, estimate.direction, given, to_fit(estimate.theta).coef
        )
        of_scale = (0.5 if self.in_halves else 1.0) * estimate.events / slope**2
        nothing = np.zeros(len(estimate.theta))
        model = NewtonModel(estimate.total, estimate.mean, regular, of_scale, seen, kept, nothing)
        if len(rounds) < 2:
            return model
        before, last = rounds[-2:]
        fall = before.score - last.score
        return model.bent(last.theta - before.theta, fall, before.score_variance + last.score_variance)

    @property
    def is_one_sided(self) -> bool:
        """Whether steps are as `left_by_curvatures` says of one side."""
        return self.grows or not self.in_halves

    def change(self, model: NewtonModel, start: FloatArray, end: FloatArray) -> float:
        """Return by how much the logarithm of the hazard changes on a way, of some rows far out."""
        step = end - start
        return float(np.max(np.abs(step[2:]) * _reach(model, end, self.grows), initial=model.length(step)))

    def changed(self, estimate: CurvatureEstimate, model: NewtonModel, theta: FloatArray) -> float:
        """Return the relative error of an estimate at other parameters, beside its noise."""
        return float(np.hypot(estimate.off, CHANGE * self.change(model, estimate.theta, theta)))

    def move(self, model: NewtonModel, new: GradientRound) -> FloatArray:
        """Take a step from a round, shortened where it would change the errors too much.

        The location where all features are at their centres stays within three half-widths of the target's.
        """
        theta = new.theta
        factor = _FACTORS[1 if theta[2:].any() else 0]
        limits = np.clip([theta[1] / factor, theta[1] * factor], *self.limits) - theta[1]
        step = model.step(new.score, limits)
        moved = theta + step * min(1.0, _LONGEST_STEP / max(model.length(step), 1e-300))
        farthest = _FARTHEST_LOCATION * moved[1]
        moved[0] = np.clip(moved[0], -farthest, farthest)
        return np.asarray(moved, dtype=np.float64)


def _reach(model: NewtonModel, theta: FloatArray, grows: bool) -> FloatArray:
    """Return how far the log hazard follows the slope of each column of two values; 0 for other columns.

    Such a column has as large a variance as its mean allows, and rows at both values. Where it `grows`
    (normal errors), the hazard's logarithm follows early errors as fast as these are early.
    """
    mean, variance = model.mean[1:], np.diagonal(model.covariance)[1:]
    far = np.where(variance > TWO_VALUES * (1.0 - mean**2), 1.0 + np.abs(mean), 0.0)
    if not grows:
        return far
    middle = float(theta[0] + theta[1:] @ model.mean)
    return far * np.maximum(1.0, far * np.abs(theta[2:]) - middle)


def to_fit(theta: FloatArray) -> ScaledFit:
    """Return location, slopes and scale of standardised parameters, one vector or a stack."""
    scale = 1.0 / theta[..., 1]
    return ScaledFit(-theta[..., 0] * scale, -theta[..., 2:] * scale[..., None], scale)
