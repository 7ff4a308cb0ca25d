# SPDX-License-Identifier: BSD-3-Clause
"""Newton steps between the rounds of a censored fit: information, rule, and errors of a step."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..._typing import FloatArray
from ...utils._public_module import public_module
from .._distributions import NORMAL, SEV, ErrorDistribution
from .._moments.released_moments import ScaledFit
from .gradient_round import GradientRound, Residuals

# Values in [-1, 1] have no larger variance, whatever their weights (Popoviciu); a fair coin reaches it.
_LARGEST_VARIANCE = 1.0
# Part of the mean variance of the features, and of the largest eigenvalue. It only keeps a constant column
# regular. The variance of a rare level of a category is some thousandths of the others'.
_LEAST_SHARE = 1e-4
# Part of the lower bound of the target's variance given the features, to which noise can reduce this
# variance. It only keeps the matrix regular.
_LEAST_LEFT = 0.1
# Discrete Laplace noise exceeds so many standard deviations once in 5,000 draws.
_REACH_OF_NOISE = 6.0
# Range of the relative increase of the information along a step: a third to three times as large, as theta_1
# may change by a factor of three in a step.
_BENT = (0.0, 2.0)


@dataclass(frozen=True, eq=False)
class NewtonModel:
    """Information about the parameters: mean and covariance of (y', x') weighted by the curvature.

    Attributes
    ----------
    total : float
        Sum of the weights.
    mean : ndarray of shape (D - 1,)
    covariance : ndarray of shape (D - 1, D - 1)
        Regularised: positive definite.
    of_scale : float
        Information about theta_1 in addition to that of the weights.
    seen : ndarray of shape (D - 1, D - 1)
        The covariance with its noise, shrunk but not made positive definite.
    kept : ndarray of shape (D - 1, D - 1)
        Part of the noise's variance in the covariance that shrinkage left.
    along : ndarray of shape (D,)
        A step whose length by all of these is 1.
    more : float
        Relative increase of the information along it, above -1.
    """

    total: float
    mean: FloatArray
    covariance: FloatArray
    of_scale: float
    seen: FloatArray
    kept: FloatArray
    along: FloatArray
    more: float = 0.0

    @property
    def information(self) -> FloatArray:
        """Information, of shape (D, D)."""
        whole = np.concatenate([[1.0], self.mean])
        information = self.total * np.outer(whole, whole)
        information[1:, 1:] += self._centred
        push = information @ self.along
        return information + self.more * np.outer(push, push)

    @property
    def inverse(self) -> FloatArray:
        """Inverse of the information.

        It is computed by blocks: if the targets hardly vary, a mean that is not 0 would make the sum singular
        in float64.
        """
        centred = self._centred
        widths = np.sqrt(np.diagonal(centred))
        rest = np.linalg.inv(correlation(centred)) / np.outer(widths, widths)
        cross = -rest @ self.mean
        corner = np.array([[1.0 / self.total - self.mean @ cross]])
        inverse = np.block([[corner, cross], [cross[:, None], rest]])
        return inverse - self.more / (1.0 + self.more) * np.outer(self.along, self.along)

    def bent(self, step: FloatArray, fall: FloatArray, variance: FloatArray) -> "NewtonModel":
        """Return the model with the change of the gradient on a step, as far as it is not noise.

        Parameters
        ----------
        step, fall : ndarray of shape (D,)
        variance : ndarray of shape (D,)
            Of the noise in `fall`.
        """
        square = float(step @ self.information @ step)
        if square <= 0.0:
            return self
        more = float(step @ fall) / square - 1.0
        noise = float(step**2 @ variance) / square**2
        more = float(np.clip(more * max(0.0, 1.0 - noise / max(more**2, 1e-300)), *_BENT))
        return replace(self, along=step / np.sqrt(square), more=more)

    @property
    def _centred(self) -> FloatArray:
        centred = self.total * self.covariance
        centred[0, 0] += self.of_scale
        return centred

    def length(self, step: FloatArray) -> float:
        """Return the length of a step: the root mean square change of the error over the rows at risk."""
        return float(np.sqrt(step @ self.information @ step / self.total))

    def length_of_noise(self, variances: FloatArray) -> float:
        """Return the length of the step that noise of such variances in the gradient makes."""
        return float(np.sqrt(np.diagonal(self.inverse) @ variances / self.total))

    def step(self, gradient: FloatArray, limits: FloatArray) -> FloatArray:
        """Return the step for a gradient, with its entry for the scale between limits."""
        inverse = self.inverse
        step = inverse @ gradient
        wanted = np.clip(step[1], *limits)
        return step + inverse[1] * ((wanted - step[1]) / inverse[1, 1])


def correlation(covariance: FloatArray) -> FloatArray:
    """Scale a covariance to a diagonal of 1: theta_1 may be far larger or smaller than the rest."""
    widths = np.sqrt(np.diagonal(covariance))
    return covariance / np.outer(widths, widths)


def regularized_covariance(
    covariance: FloatArray, noise: float, direction: FloatArray, given: Sequence[float], slopes: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Shrink the noise in a covariance of (y', x'), and bound its eigenvalues; return what noise is left.

    Only a preconditioner is needed, as the gradients determine where steps end. So everything that the noise
    may have made is removed. Products of different features are shrunk toward 0, and squares toward their
    mean, by the noise's share in them (James and Stein). Products of the target and a feature are shrunk
    toward their part along `direction`, in which features with an elliptical distribution move the target.
    Eigenvalues are floored. The target's variance given the features is shrunk toward the middle of its
    likely range under the model. Without noise, nothing is changed.

    Parameters
    ----------
    covariance : ndarray of shape (D - 1, D - 1)
    noise : float
        Standard deviation of the noise of a product of two features.
    direction : ndarray of shape (D - 2,)
    given : pair of floats
        Likely bounds of the target's variance given the features; zeros if none are known.
    slopes : ndarray of shape (D - 2,)
        Slopes of the target, as known before; zeros if they are not known.

    Returns
    -------
    regularized : ndarray of shape (D - 1, D - 1)
        Positive definite.
    seen : ndarray of shape (D - 1, D - 1)
        Shrunk only.
    kept : ndarray of shape (D - 1, D - 1)
        Part of the noise's variance that is left. If values of variance t have noise of variance v, an
        estimate shrunk by t / (t + v) has an error of variance v times that share.
    """
    shrunk, features, of_squares, of_products = _regular_features(covariance[1:, 1:], noise)
    raw = _no_outliers(covariance[0, 1:], shrunk, noise, slopes)
    cross, of_cross = _shrink_cross(raw, noise, direction)
    # Without the shrinkage, which would leave too much unexplained; the noise explains its own part.
    own = noise**2 * np.trace(np.linalg.inv(features))
    left = covariance[0, 0] - _explained(raw, features) + own
    # Noise in the products also changes what they explain.
    error = 2.0 * noise * float(np.sqrt(1.0 + np.sum(np.linalg.solve(features, raw) ** 2)))
    of_left = 1.0
    if given[1]:
        # Shrunk to the (geometric) middle of its bounds, as if these were two standard deviations apart.
        middle, spread = float(np.sqrt(given[0] * given[1])), 0.5 * (given[1] - given[0])
        of_left = spread**2 / (spread**2 + error**2)
        left = middle + (left - middle) * of_left
    seen = np.array(covariance)
    seen[1:, 1:] = shrunk
    seen[0, 1:] = seen[1:, 0] = cross
    seen[0, 0] = left + _explained(cross, features)
    result = np.array(seen)
    result[0, 0] += (
        max(left, max(_LEAST_LEFT, 1.0 - of_left) * given[0], noise if not given[1] else 0.0) - left
    )
    result[1:, 1:] = features
    kept = np.full(covariance.shape, of_products)
    np.fill_diagonal(kept, of_squares)
    kept[0, :] = kept[:, 0] = of_cross
    kept[0, 0] = of_left
    return result, seen, kept


def _regular_features(covariance: FloatArray, noise: float) -> tuple[FloatArray, FloatArray, float, float]:
    """Return the features' covariance shrunk, and regular, and what is left of the noise's variance."""
    d = len(covariance)
    squares = np.diagonal(covariance)
    mean = squares.mean()
    of_squares = _signal_share(squares - mean, (d - 1) * 4 * noise**2)
    squares = mean + (squares - mean) * of_squares
    products = covariance * (1 - np.eye(d))
    of_products = _signal_share(products.ravel(), d * (d - 1) * noise**2)
    shrunk = products * of_products + np.diag(squares)
    # Less than the noise's own size (twice the 0.4, for squares) would make steps along it as long as noise
    # can.
    squares = np.clip(squares, max(_LEAST_SHARE * mean, 0.4 * noise), _LARGEST_VARIANCE)
    values, vectors = np.linalg.eigh(products * of_products + np.diag(squares))
    # A symmetric matrix of noise has a norm of about 2 sqrt(d) times it; shrinkage removed half of that.
    floor = max(0.5 * noise * np.sqrt(2 * d), _LEAST_SHARE * max(values[-1], 1e-6))
    # No eigenvalue of a covariance is above its trace.
    values = np.clip(values, floor, max(floor, squares.sum()))
    regular = (vectors * values) @ vectors.T
    return shrunk, regular, (1.0 + (d - 1) * of_squares) / d, of_products


def _no_outliers(cross: FloatArray, features: FloatArray, noise: float, slopes: FloatArray) -> FloatArray:
    """Return the covariances of the target and the features without outliers of the noise.

    Censoring removes late events of the rows that live long, and late entry removes early ones of those that
    live short. Both flatten slopes, and never steepen them or change their sign. So the covariance with a
    column is between the sums of the negative and of the positive parts of its covariances with all columns,
    times their slopes. A covariance beyond is moved back, as far as noise reaches.
    """
    if not slopes.any():
        return cross
    parts = features * slopes
    near = np.clip(cross, np.minimum(parts, 0.0).sum(axis=1), np.maximum(parts, 0.0).sum(axis=1))
    return np.clip(near, cross - _REACH_OF_NOISE * noise, cross + _REACH_OF_NOISE * noise)


def _explained(cross: FloatArray, features: FloatArray) -> float:
    return float(cross @ np.linalg.solve(features, cross))


def _shrink_cross(cross: FloatArray, noise: float, direction: FloatArray) -> tuple[FloatArray, float]:
    unit = direction / max(float(np.linalg.norm(direction)), 1e-300)
    along = (cross @ unit) * unit
    rest = cross - along
    d = len(cross)
    shares = _signal_share(along, noise**2), _signal_share(rest, (d - 1) * noise**2)
    return along * shares[0] + rest * shares[1], (shares[0] + (d - 1) * shares[1]) / d


def _signal_share(values: FloatArray, noise_square: float) -> float:
    """Return the share of values that is not noise, by the expected square of the noise."""
    return max(0.0, 1.0 - noise_square / max(float(values @ values), 1e-300))


# The estimate of the curvature between two rounds, and the rule of the next step.

# Limits of a step, so that noise cannot spoil a round: the factor of theta_1, in the first round and later,
# and the change of the error, as a root mean square over the rows at risk. The first step starts from a fit
# without features, whose scale is too large by sqrt(1 + their variance in scales^2): 3 covers features that
# explain 8 parts in 9. If the hazards of two groups differ by exp(delta), the curvature that is the mean of
# both ends leads 2 tanh(delta / 2) of the way, never beyond 2. The rest is left to later rounds, and in
# `bootstrap_censored`.
_FACTORS = (3.0, 1.7)
_LONGEST_STEP = 2.0
# In half-widths of the target, whose bounds are at 1. A location beyond it is made by noise.
_FARTHEST_LOCATION = 3.0
# Half of the curvature is a round's own, and grows as exp(u). That of another place, so far away, is wrong by
# this part of the way.
CHANGE = 0.5
#: Share of the largest variance that its mean allows, from which a column counts as one of two values: a
#: uniform one has a third, levels of a category have all of it.
TWO_VALUES = 0.6
# Likely bounds of the targets' variance given the features, in multiples of that of uncensored rows. For
# three distributions, with and without features that explain four fifths, it is 0.37 to 1.5 times that up to
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
        Place of the latest released curvature.
    off : float
        Relative error at that place of the earlier curvatures in the estimate, in addition to their noise.
    direction : ndarray of shape (D - 2,)
        Direction of the targets' covariances with features whose distribution is elliptical.
    events : float
        Noisy number of events by the last round, as information about the scale.
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

        With noise N in the sums of products, those about the mean m have the noise
        N_ij - m_i N_0j - m_j N_0i + m_i m_j N_00. Columns far from the centre of their bounds have more.
        """
        squares, mean = self.std**2, self.mean**2
        first, corner = squares[0, 1:], squares[0, 0]
        cross = np.outer(mean, first)
        centred = squares.copy()
        centred[0, 1:] = centred[1:, 0] = first + mean * corner
        centred[1:, 1:] += cross + cross.T + np.outer(mean, mean) * corner
        # Both of the terms in between are the same.
        centred[1:, 1:] += np.diag(2.0 * mean * first)
        return np.sqrt(centred)

    @property
    def noise(self) -> float:
        """Standard deviation of the noise of a product of two features in the covariance."""
        std = self.centred_std
        # With one feature there is no product of two: the noise is that of the target and the feature.
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

    The curvature of a round is the mean of two matrices (see `residuals_of`): a round's own, and one of the
    same expectation that hardly depends on the parameters, and so is that of the end of the way. If a
    function is known at one end of a way, and its slope at both, its root is where the mean slope leads, up
    to the cube of the way. Newton steps with one of them alone are as slow as one standard error a round from
    one side, and far too long from the other.

    Attributes
    ----------
    in_halves : bool
        Whether the curvature is that mean. Otherwise it is a round's own.
    grows : bool
        Whether the logarithm of the hazard follows early errors faster, the earlier they are (normal).
    exact_total : bool
        Whether the weights' sum follows from the events and residuals (SEV), whose noise is small.
    spread : float
        Variance of the error of uncensored rows, weighted by the curvature. It is 0 if rows may not show it,
        such as rows that were observed once.
    shrink : bool
        Whether noise in the covariance is removed.
    limits : tuple of two floats
        Limits of theta_1.
    """

    in_halves: bool
    grows: bool
    exact_total: bool
    spread: float
    shrink: bool
    limits: tuple[float, float]

    @classmethod
    def of(
        cls, distribution: ErrorDistribution, residuals: Residuals, shrink: bool, limits: tuple[float, float]
    ) -> "StepRule":
        """Collect the constants."""
        # Only with events and censored rows alone, the curvatures are the events minus the residuals.
        exact = distribution is SEV and residuals.is_plain
        halves = {"left", "interval"}.isdisjoint(residuals.observations)
        spread = residuals.spread(distribution) if halves else 0.0
        return cls(halves, distribution is NORMAL, exact, spread, shrink, limits)

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
        # The first round releases its curvature.
        assert new.curvature is not None
        assert new.curvature_std is not None
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
        """Weigh two estimates by the variances of products of features: by noise, and by the change since."""
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
        """Return the model of the next step if theta_1 is `slope`, after rounds."""
        noise = estimate.noise if self.shrink else 0.0
        # The targets' own spread does not follow theta_1: it is that of the place of the released curvature.
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
        """Whether steps are those of one side in `left_by_curvatures`."""
        return self.grows or not self.in_halves

    def change(self, model: NewtonModel, start: FloatArray, end: FloatArray) -> float:
        """Return the change of the logarithm of the hazard on a way, for some rows far out."""
        step = end - start
        return float(np.max(np.abs(step[2:]) * _reach(model, end, self.grows), initial=model.length(step)))

    def changed(self, estimate: CurvatureEstimate, model: NewtonModel, theta: FloatArray) -> float:
        """Return the relative error of an estimate at other parameters, in addition to its noise."""
        return float(np.hypot(estimate.off, CHANGE * self.change(model, estimate.theta, theta)))

    def move(self, model: NewtonModel, new: GradientRound) -> FloatArray:
        """Take a step from a round, shortened if it would change the errors too much.

        The location at the centres of all features stays within three half-widths of the target's.
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

    Such a column has as large a variance as its mean allows, and rows at both values. If it `grows` (normal
    errors), the hazard's logarithm follows early errors as fast as these are early.
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


# Errors of the last step, by released values.

# The mean square of a step is compared with that of its noise: with three parameters noise alone is twice as
# large in one of nine steps, with ten in one of thirty.
_CLEAR = 2.0
# Part of the variance of the rows' own spread below which the error that steps leave does not matter. Set by
# hand.
_HARDLY = 0.1
# Largest part of a step that it may have left. Set by hand.
_MOST_LEFT = 5.0


@dataclass(frozen=True, eq=False)
class StepErrors:
    """Errors of the last step of a censored fit.

    Attributes
    ----------
    theta : ndarray of shape (D,)
        The end of the step.
    step : ndarray of shape (D,)
        The last step.
    model : NewtonModel
        Of the rows about theta, by the released values.
    information, inverse : ndarray of shape (D, D)
        Those of the model. The information is the covariance of the rows' own spread, too.
    curvature_std : ndarray of shape (D, D)
        Standard deviations of the noise that is left in the information about the mean of the rows at risk.
    error : float
        Error of a step that the information makes, as a part of the step: by its noise, and by the way since
        it was released.
    unfinished : float
        Variance of the gradient that rounds left undone, as a multiple of the information.
    contraction : float
        Part of the step before that was left, as the last one shows.
    change : float
        Change of the logarithm of the hazard of some rows by the last step.
    share : float
        Part of itself that the last step may have left in its own direction.
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

        `seen` is the contraction; None: by the last two rounds, if the last began at the end of the other.
        """
        model, last = rule.newton_model(estimate, float(theta[1]), rounds), rounds[-1]
        step = theta - last.theta
        left = model.length(step) * rule.changed(estimate, model, last.theta)
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

    def noise(self, last: GradientRound) -> FloatArray:
        """Return the covariance of the noise of the step: of the gradient, the events and the curvature."""
        # What rounds may have left undone along the last step.
        push = self.share * (self.information @ self.step)
        return self.noise_of_curvature + np.outer(push, push) + np.diag(last.score_variance)

    @property
    def error_directions(self) -> FloatArray:
        """Directions in theta of the location of the errors, and of their log scale; of shape (D, 2)."""
        location = -np.eye(len(self.theta))[:, 0]
        return np.column_stack([location, -self.theta])

    @property
    def error_information(self) -> FloatArray:
        """Information about location and log scale if slopes are known, of shape (2, 2)."""
        return self.error_directions.T @ self.information @ self.error_directions


def left_by_curvatures(change: float, one_sided: bool) -> float:
    """Return the part that a step leaves if it changes the logarithm of hazards by `change`.

    Of a way delta, a step by the mean of the curvatures at both of its ends goes 2 tanh(delta / 2). Early
    events of normal errors are too few in that mean, and other kinds have none of it. A step by the curvature
    at one end goes 1 - exp(-delta).
    """
    if one_sided:
        change = min(max(change, 1e-6), 0.999)
        return min(_MOST_LEFT, -float(np.log1p(-change)) / change - 1.0)
    half = min(max(0.5 * change, 1e-6), 0.999)
    return min(_MOST_LEFT, float(np.arctanh(half)) / half - 1.0)


def left_noise(estimate: CurvatureEstimate, model: NewtonModel) -> FloatArray:
    """Return the standard deviations of the noise that is left in the information, as in `centred_std`."""
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
    """Return the part of the way that the last step but one left, as the last one shows beside its noise."""
    if len(rounds) < 2:
        return 0.0
    before, last = rounds[-2:]
    noise = sum(model.length_of_noise(one.score_variance) ** 2 for one in rounds[-2:])
    own = len(theta) / model.total
    excess = model.length(theta - last.theta) ** 2 - _CLEAR * noise - _HARDLY * own
    way = max(model.length(last.theta - before.theta), 1e-300)
    return min(1.0, float(np.sqrt(max(excess, 0.0))) / way)
