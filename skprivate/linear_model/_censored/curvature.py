# SPDX-License-Identifier: BSD-3-Clause
"""Estimate of the curvature of the log likelihood between two rounds, and the rule of the next step."""

from dataclasses import dataclass, replace

import numpy as np

from ..._typing import FloatArray
from ...utils._public_module import public_module
from .._distributions import SEV, ErrorDistribution
from .._moments.solve import ScaledFit
from .gradient_round import GradientRound
from .newton_step import NewtonModel, regularized_covariance, secant
from .sensitivity import Residuals

# Limits of a step, so that noise cannot throw a round: the factor of theta_1, in the first round and later,
# and the change of the error, as a standard deviation over the rows at risk. The first step leads from a fit
# without features, whose scale is too large by sqrt(1 + their variance in scales^2): 3 covers features that
# explain 8 parts in 9. What is cut off is left to later rounds, and in `bootstrap_censored`.
_FACTORS = (3.0, 1.7)
_LONGEST_STEP = 2.0
# In half-widths of the target, whose bounds are at 1: a location beyond means that noise has taken over.
_FARTHEST_LOCATION = 3.0
# Bounds of the targets' variance given the features, in multiples of that of uncensored rows. For three
# distributions, with and without features that explain four fifths, it is .37 to 1.5 times that up to 50 %
# censored, and less beyond, where the events' own information about the scale, 1 each, is several times
# larger.
_TIGHT, _LOOSE = 0.3, 2.0
# The weights' mean moves by so many standard deviations at most: the expansion that predicts it ends there.
_FARTHEST = 1.0
# Part of a change in the number of events within the cuts that a secant may be wrong by: a guard against
# trusting rows that the cuts have taken away.
_ROUGH = 0.05


@public_module("skprivate.linear_model")
@dataclass(frozen=True, eq=False)
class CurvatureEstimate:
    """Estimate of the sum of curvatures times z z' from the released rounds, before `regularized_covariance`.

    Attributes
    ----------
    total : float
        Sum of the curvatures.
    mean : ndarray of shape (D - 1,)
        Of (y', x') under the curvatures as weights.
    covariance : ndarray of shape (D - 1, D - 1)
        The same; noisy.
    std : ndarray of shape (D, D)
        Standard deviations of the noise in the released curvature, over the sum of the curvatures.
    theta : ndarray of shape (D,)
        Where that curvature was released.
    direction : ndarray of shape (D - 2,)
        Direction of the targets' covariances with features whose distribution is elliptical.
    with_slopes : bool
        Whether the curvature was released at slopes other than 0; at 0 the weights narrow the targets down.
    """

    total: float
    mean: FloatArray
    covariance: FloatArray
    std: FloatArray
    theta: FloatArray
    direction: FloatArray
    with_slopes: bool

    @property
    def noise(self) -> float:
        """Standard deviation of the noise of a product of two features in the covariance."""
        # With one feature there is no product of two: its noise would be that of the target and the feature.
        return float(self.std[2, 3] if len(self.std) > 3 else self.std[1, 2])


@public_module("skprivate.linear_model")
@dataclass(frozen=True, eq=False)
class StepRule:
    """Rule by which released rounds move the parameters; its constants are public or released.

    Attributes
    ----------
    tilt : float
        The curvature of a row grows like exp(tilt u) with its error u; see `NewtonModel`.
    steepest : float
        Root mean square, over rows, of the tilt of each.
    exact_total : bool
        Whether the curvatures are the events minus the residuals (SEV), whose noise is small.
    spread : float
        Variance of the error of uncensored rows, weighted by the curvature.
    variance : float
        Variance of the error.
    slope : float
        theta_1 of the first fit, which knows of no slopes.
    shrink : bool
        Whether noise in the covariance is taken back.
    limits : tuple of two floats
        Least and greatest theta_1.
    """

    tilt: float
    steepest: float
    exact_total: bool
    spread: float
    variance: float
    slope: float
    shrink: bool
    limits: tuple[float, float]

    @classmethod
    def of(
        cls,
        distribution: ErrorDistribution,
        residuals: Residuals,
        tilts: tuple[float, float],
        slope: float,
        regularization: str,
        limits: tuple[float, float],
    ) -> "StepRule":
        """Collect the constants."""
        spread = residuals.spread(distribution)
        shrink = regularization != "none"
        return cls(*tilts, distribution is SEV, spread, distribution.variance, slope, shrink, limits)

    def update(
        self, estimate: CurvatureEstimate | None, previous: GradientRound | None, new: GradientRound
    ) -> CurvatureEstimate:
        """Return the estimate after a new round; `previous` is the round before it."""
        total = max(max(new.events, 1.0) - float(new.gradient[0]), 1.0) if self.exact_total else None
        if estimate is None or previous is None:
            return _estimate_from_release(new, new.gradient[2:], total)
        if new.curvature is None:
            return _estimate_from_step(estimate, previous, new, self.tilt, total)
        fresh = _estimate_from_release(new, new.theta[2:], total)
        return replace(fresh, direction=fresh.covariance[1:, 1:] @ new.theta[2:])

    def newton_model(
        self, estimate: CurvatureEstimate, slope: float, covariance: FloatArray | None = None
    ) -> NewtonModel:
        """Return the model of the next step where theta_1 is `slope`; `covariance` replaces its own.

        Without features the errors have the variance of their distribution. So 1 / theta_1^2 of the first fit
        times this variance bounds the variance of the targets, and the same of the present fit bounds it
        given the features.
        """
        whole = self.variance if estimate.with_slopes else _LOOSE * self.spread
        bounds = whole / self.slope**2, self.variances_given(slope)
        raw = estimate.covariance if covariance is None else covariance
        regularized, kept = regularized_covariance(
            raw, estimate.noise if self.shrink else 0.0, estimate.direction, bounds
        )
        return NewtonModel(estimate.total, estimate.mean, regularized, self.tilt, kept)

    def variances_given(self, slope: float) -> tuple[float, float]:
        """Return bounds of the targets' variance given the features, where theta_1 is `slope`."""
        return _TIGHT * self.spread / slope**2, _LOOSE * self.spread / slope**2

    def change_since(self, estimate: CurvatureEstimate, theta: FloatArray) -> float:
        """Relative change of the curvature from where it was released to theta, to first order.

        The error u of a row has changed by the length of the way, as a standard deviation over the rows at
        risk; the logarithm of its curvature by `steepest` times that, as a root mean square.
        """
        model = self.newton_model(estimate, float(theta[1]))
        return self.steepest * float(length_of(model, theta - estimate.theta))

    def relative_error(
        self, estimate: CurvatureEstimate, theta: FloatArray, step: FloatArray, noise: float
    ) -> float:
        """Standard error of the curvature along a step that ends in theta, relative to the curvature.

        With noise of standard deviation nu in products (twice that in squares), s'N s has at most the
        variance (2 nu s's)^2; the change since the curvature was released adds to it.
        """
        rest = step[1:]
        square = max(float(length_of(self.newton_model(estimate, float(theta[1])), step)) ** 2, 1e-300)
        return float(np.hypot(2.0 * noise * float(rest @ rest) / square, self.change_since(estimate, theta)))

    def move(
        self, model: NewtonModel, theta: FloatArray, gradient: FloatArray, events: FloatArray, first: bool
    ) -> FloatArray:
        """Take a step from theta, shortened where it would change the errors too much.

        The location where all features are at their centres stays within three half-widths of the target's.
        """
        factor = _FACTORS[0 if first else 1]
        limits = np.clip([theta[1] / factor, theta[1] * factor], *self.limits)
        step = model.step(theta, gradient, np.maximum(events, 1.0), limits) - theta
        shorter = np.minimum(1.0, _LONGEST_STEP / np.maximum(length_of(model, step), 1e-300))
        moved = theta + step * shorter[..., None]
        farthest = _FARTHEST_LOCATION * moved[..., 1]
        moved[..., 0] = np.clip(moved[..., 0], -farthest, farthest)
        return moved


def _estimate_from_release(
    new: GradientRound, direction: FloatArray, total: float | None
) -> CurvatureEstimate:
    """Compute mean and covariance from a released curvature."""
    curvature, std = new.curvature, new.curvature_std
    if curvature is None or std is None:
        raise ValueError("the first round must release its curvature.")
    total = max(float(curvature[0, 0]), 1.0) if total is None else total
    mean = np.clip(curvature[0, 1:] / total, -1.0, 1.0)
    covariance = curvature[1:, 1:] / total - np.outer(mean, mean)
    return CurvatureEstimate(
        total, mean, covariance, std / total, new.theta, direction, bool(new.theta[2:].any())
    )


def _estimate_from_step(
    estimate: CurvatureEstimate, previous: GradientRound, new: GradientRound, tilt: float, total: float | None
) -> CurvatureEstimate:
    """Predict the weights after the last step, and correct the covariance by the change of the gradient."""
    step = new.theta - previous.theta
    rest = step[1:]
    widths = _FARTHEST * np.sqrt(np.maximum(np.diagonal(estimate.covariance), 0.0))
    moved = np.clip(tilt * (estimate.covariance @ rest), -widths, widths)
    if total is None:
        growth = tilt * (step[0] + (estimate.mean + 0.5 * moved) @ rest)
        total = max(estimate.total * float(np.exp(np.clip(growth, -1.0, 1.0))), 1.0)
    mean = np.clip(estimate.mean + moved, -1.0, 1.0)
    # The part of the gradient that is no weight goes with the number of events that are left.
    share = max(new.events, 1.0) / max(previous.events, 1.0)
    events = (tilt * previous.gradient[1:] + estimate.total * estimate.mean) * share
    seen = np.clip((events - tilt * new.gradient[1:]) / total, -1.0, 1.0)
    noise = tilt * (new.gradient_std[-1] / total + previous.gradient_std[-1] / estimate.total)
    noise += _ROUGH * abs(share - 1.0) + 1.0 / np.sqrt(total)
    # Of what the prediction misses, the share that is not noise.
    mine = (tilt * estimate.noise) ** 2 * float(rest @ rest)
    trust = mine / (mine + noise**2 + 1e-300)
    covariance = secant(estimate.covariance, rest, trust * (seen - mean) / tilt)
    return replace(estimate, total=total, mean=mean + trust * (seen - mean), covariance=covariance)


def length_of(model: NewtonModel, step: FloatArray) -> FloatArray:
    """Standard deviation of the change of the error over the rows at risk."""
    rest = step[..., 1:]
    square = np.einsum("...i,...ij,...j->...", rest, model.covariance, rest)
    return np.sqrt(np.maximum(square, 0.0))


def to_fit(theta: FloatArray) -> ScaledFit:
    """Return location, slopes and scale of standardised parameters, one vector or a stack."""
    scale = 1.0 / theta[..., 1]
    return ScaledFit(-theta[..., 0] * scale, -theta[..., 2:] * scale[..., None], scale)
