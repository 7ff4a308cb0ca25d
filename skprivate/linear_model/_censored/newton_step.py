# SPDX-License-Identifier: BSD-3-Clause
"""Newton step from a released round to the next parameters; post-processing."""

from dataclasses import dataclass, replace

import numpy as np

from ..._typing import FloatArray

# What lies in [-1, 1] has no larger variance, whatever its weights (Popoviciu); a fair coin reaches it.
_LARGEST_VARIANCE = 1.0
# Of the mean variance of the features, and of the largest eigenvalue: only keeps a constant column regular.
# The variance of a rare level of a category is some thousandths of the others'.
_LEAST_SHARE = 1e-4
# Part of the lower bound of the target's variance given the features that noise can bring it down to: it only
# keeps the matrix regular.
_LEAST_LEFT = 0.1
# Discrete Laplace noise is farther out than so many standard deviations once in 5,000 draws.
_REACH_OF_NOISE = 6.0
# What the information along a step is taken to be greater by: a third to three times as large, as theta_1 may
# change by a factor of three in a step.
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
        Information about theta_1 beside that of the weights.
    seen : ndarray of shape (D - 1, D - 1)
        The covariance as the noise leaves it, shrunk but not made positive definite.
    kept : ndarray of shape (D - 1, D - 1)
        Part of the noise's variance in the covariance that shrinkage has left.
    along : ndarray of shape (D,)
        A step whose length by all of these is 1.
    more : float
        What the information along it is greater by, above -1.
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

        By blocks: where the targets hardly vary, a mean that is not 0 would leave the sum singular in
        float64.
        """
        centred = self._centred
        widths = np.sqrt(np.diagonal(centred))
        rest = np.linalg.inv(correlation(centred)) / np.outer(widths, widths)
        cross = -rest @ self.mean
        corner = np.array([[1.0 / self.total - self.mean @ cross]])
        inverse = np.block([[corner, cross], [cross[:, None], rest]])
        return inverse - self.more / (1.0 + self.more) * np.outer(self.along, self.along)

    def bent(self, step: FloatArray, fall: FloatArray, variance: FloatArray) -> "NewtonModel":
        """Return the model that knows what the gradient fell by on a step, as far as that is not noise.

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
        """Length of a step: the change of the error, as a root mean square over the rows at risk."""
        return float(np.sqrt(step @ self.information @ step / self.total))

    def length_of_noise(self, variances: FloatArray) -> float:
        """Length of the step that noise of such variances in the gradient makes, as a root mean square."""
        return float(np.sqrt(np.diagonal(self.inverse) @ variances / self.total))

    def step(self, gradient: FloatArray, limits: FloatArray) -> FloatArray:
        """Return the step that answers a gradient, with its entry for the scale between limits."""
        inverse = self.inverse
        step = inverse @ gradient
        wanted = np.clip(step[1], *limits)
        return step + inverse[1] * ((wanted - step[1]) / inverse[1, 1])


def correlation(covariance: FloatArray) -> FloatArray:
    """Scale a covariance to a diagonal of 1: theta_1 may be of another order than the rest by far."""
    widths = np.sqrt(np.diagonal(covariance))
    return covariance / np.outer(widths, widths)


def regularized_covariance(
    covariance: FloatArray,
    noise: float,
    direction: FloatArray,
    given: tuple[float, float],
    slopes: FloatArray,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Shrink the noise in a covariance of (y', x'), and bound its eigenvalues; say what noise is left.

    Only a preconditioner is needed: where steps end is set by the gradients. So everything that the noise may
    have made is taken back: products of different features are shrunk toward 0 and squares toward their mean
    by the noise's share in them (James and Stein); products of the target and a feature are shrunk toward
    their part along `direction`, the direction in which features with an elliptical distribution move the
    target; eigenvalues are floored; the target's variance given the features is shrunk toward the middle of
    what the model makes likely. Without noise, all of it is as it was released.

    Parameters
    ----------
    covariance : ndarray of shape (D - 1, D - 1)
    noise : float
        Standard deviation of the noise of a product of two features.
    direction : ndarray of shape (D - 2,)
    given : pair of floats
        Likely bounds of the target's variance given the features; zeros where none are known.
    slopes : ndarray of shape (D - 2,)
        Of the target, as known before; zeros where they are not.

    Returns
    -------
    regularized : ndarray of shape (D - 1, D - 1)
        Positive definite.
    seen : ndarray of shape (D - 1, D - 1)
        Shrunk only.
    kept : ndarray of shape (D - 1, D - 1)
        Part of the noise's variance that is left. Where values of variance t have noise of variance v, an
        estimate shrunk by t / (t + v) is off by a variance of v times that share.
    """
    shrunk, features, of_squares, of_products = _regularized_features(covariance[1:, 1:], noise)
    raw = _without_outliers(covariance[0, 1:], shrunk, noise, slopes)
    cross, of_cross = _shrink_cross(raw, noise, direction)
    # Without the shrinkage, which would leave too much unexplained; the noise explains its own part.
    own = noise**2 * np.trace(np.linalg.inv(features))
    left = covariance[0, 0] - _explained(raw, features) + own
    # Noise in the products moves what they explain, too.
    error = 2.0 * noise * float(np.sqrt(1.0 + np.sum(np.linalg.solve(features, raw) ** 2)))
    left, of_left = _shrunk_to_middle(left, error, given) if given[1] else (left, 1.0)
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


def _regularized_features(
    covariance: FloatArray, noise: float
) -> tuple[FloatArray, FloatArray, float, float]:
    """Return the features' covariance shrunk, and regular, and what is left of the noise's variance."""
    d = len(covariance)
    squares = np.diagonal(covariance)
    mean = squares.mean()
    of_squares = _signal_share(squares - mean, (d - 1) * 4 * noise**2)
    squares = mean + (squares - mean) * of_squares
    products = covariance * (1 - np.eye(d))
    of_products = _signal_share(products.ravel(), d * (d - 1) * noise**2)
    shrunk = products * of_products + np.diag(squares)
    # Less than the noise's own size (twice the 0.4: squares) would make steps along it as long as noise can.
    squares = np.clip(squares, max(_LEAST_SHARE * mean, 0.4 * noise), _LARGEST_VARIANCE)
    values, vectors = np.linalg.eigh(products * of_products + np.diag(squares))
    # A symmetric matrix of noise has a norm of about 2 sqrt(d) times it; half of that shrinkage took.
    floor = max(0.5 * noise * np.sqrt(2 * d), _LEAST_SHARE * max(values[-1], 1e-6))
    # No eigenvalue of a covariance is above its trace.
    values = np.clip(values, floor, max(floor, squares.sum()))
    regular = (vectors * values) @ vectors.T
    return shrunk, regular, (1.0 + (d - 1) * of_squares) / d, of_products


def _without_outliers(
    cross: FloatArray, features: FloatArray, noise: float, slopes: FloatArray
) -> FloatArray:
    """Return the covariances of the target and the features without outliers of the noise.

    Censoring takes late events of the rows that live long, and late entry takes early ones of those that live
    short: both flatten slopes, and never steepen them or turn them around. So the covariance with a column is
    between the sums of the negative and of the positive parts of its covariances with all, times their
    slopes. What is beyond is brought back, as far as noise reaches.
    """
    if not slopes.any():
        return cross
    parts = features * slopes
    near = np.clip(cross, np.minimum(parts, 0.0).sum(axis=1), np.maximum(parts, 0.0).sum(axis=1))
    return np.clip(near, cross - _REACH_OF_NOISE * noise, cross + _REACH_OF_NOISE * noise)


def _explained(cross: FloatArray, features: FloatArray) -> float:
    return float(cross @ np.linalg.solve(features, cross))


def _shrunk_to_middle(left: float, noise: float, given: tuple[float, float]) -> tuple[float, float]:
    """Shrink the target's variance given the features toward the middle of its bounds, by the noise's share.

    As if it were normal about the (geometric) middle, with the bounds two standard deviations apart.
    """
    middle, spread = float(np.sqrt(given[0] * given[1])), 0.5 * (given[1] - given[0])
    share = spread**2 / (spread**2 + noise**2)
    return middle + (left - middle) * share, share


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
