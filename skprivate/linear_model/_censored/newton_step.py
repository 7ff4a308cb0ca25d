# SPDX-License-Identifier: BSD-3-Clause
"""Newton step from a released round to the next parameters; post-processing."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

# What lies in [-1, 1] has no larger variance, whatever its weights (Popoviciu); a fair coin reaches it.
_LARGEST_VARIANCE = 1.0
# Of the mean variance of the features, and of the largest eigenvalue: only keeps a constant column regular.
# The variance of a rare level of a category is some thousandths of the others'.
_LEAST_SHARE = 1e-4
# Of a concave maximisation, which takes 3 to 10 and 0 to 5; the ridge is relative, near the rounding.
_ITERATIONS = 40
_HALVINGS = 30
_RIDGE = 1e-12


@dataclass(frozen=True, eq=False)
class NewtonModel:
    """Model of the log likelihood about a round: mean and covariance of (y', x') weighted by the curvature.

    Attributes
    ----------
    total : float
        Sum of the weights.
    mean : ndarray of shape (D - 1,)
    covariance : ndarray of shape (..., D - 1, D - 1)
    tilt : float
        a > 0: the weights grow as exp(a u). For SEV errors it is 1.
    """

    total: float
    mean: FloatArray
    covariance: FloatArray
    tilt: float

    def step(
        self, theta: FloatArray, gradient: FloatArray, events: FloatArray, limits: FloatArray
    ) -> FloatArray:
        """Maximise the model of the log likelihood around theta; return the new parameters.

        The model is ``events log(theta_1) + gradient . s`` minus the convex part without its linear term.
        Where weights are exp(a u), that part is the sum of exp(a u) / a^2, for which normally distributed
        rows at risk give ``total exp(a m . s + a^2 s' V s / 2) / a^2``: a quadratic, the limit of small a, is
        too short-sighted for the long steps that lead from a fit without features.

        Parameters
        ----------
        theta : ndarray of shape (D,)
        gradient : ndarray of shape (..., D)
            Sum of residual times z.
        events : ndarray of shape (...,)
        limits : ndarray of shape (2,)
            Least and greatest theta_1.
        """
        free = self._maximise(theta, gradient, events, None)
        slope = np.clip(free[..., 1], *limits)
        if np.all(slope == free[..., 1]):
            return free
        return self._maximise(theta, gradient, events, slope - theta[1])

    def _maximise(
        self, theta: FloatArray, gradient: FloatArray, events: FloatArray, fixed: FloatArray | None
    ) -> FloatArray:
        step = np.zeros_like(gradient)
        if fixed is not None:
            step[..., 1] = fixed
        value, slope, hessian = self._derivatives(step, theta, gradient, events)
        for _ in range(_ITERATIONS):
            if fixed is not None:
                slope[..., 1] = 0.0
                hessian[..., 1, :] = hessian[..., :, 1] = 0.0
                hessian[..., 1, 1] = 1.0
            move = np.linalg.solve(hessian, slope[..., None])[..., 0].astype(np.float64, copy=False)
            gain = np.einsum("...i,...i->...", slope, move)
            if np.all(gain <= 1e-10 * self.total):
                break
            step, (value, slope, hessian) = self._search(step, move, value, theta, gradient, events)
        return theta + step

    def _search(
        self,
        step: FloatArray,
        move: FloatArray,
        value: FloatArray,
        theta: FloatArray,
        gradient: FloatArray,
        events: FloatArray,
    ) -> tuple[FloatArray, tuple[FloatArray, FloatArray, FloatArray]]:
        """Go along a move as far as the model improves."""
        length = np.ones(gradient.shape[:-1], dtype=np.float64)
        for _ in range(_HALVINGS):
            trial = step + length[..., None] * move
            found = self._derivatives(trial, theta, gradient, events)
            worse = ~(found[0] >= value - 1e-12 * np.abs(value))
            if not worse.any():
                break
            length = np.where(worse, 0.5 * length, length)
        step = np.where(worse[..., None], step, trial)
        return step, self._derivatives(step, theta, gradient, events)

    def _derivatives(
        self, step: FloatArray, theta: FloatArray, gradient: FloatArray, events: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Value, slope and minus the Hessian of the model; the value is -inf outside of its domain."""
        rest, total = step[..., 1:], self.total
        spread = np.einsum("...ij,...j->...i", self.covariance, rest)
        along = step[..., 0] + np.einsum("...i,...i->...", self.mean, rest)
        square = np.einsum("...i,...i->...", rest, spread)
        mean = np.broadcast_to(np.concatenate([[1.0], self.mean]), gradient.shape)
        spread = np.concatenate([np.zeros_like(along)[..., None], spread], axis=-1)
        a = self.tilt
        factor = np.exp(np.minimum(a * along + 0.5 * a**2 * square, 50.0))
        convex = (factor - 1.0) / a**2 - along / a
        pull = factor[..., None] * (mean / a + spread) - mean / a
        mean = mean + a * spread
        hessian = np.einsum("...i,...j->...ij", mean, mean)
        hessian[..., 1:, 1:] += self.covariance
        hessian *= (total * factor)[..., None, None]
        scale = np.maximum(theta[1] + step[..., 1], 1e-100)
        value = events * np.log(scale) + np.einsum("...i,...i->...", gradient, step) - total * convex
        slope = gradient - total * pull
        slope[..., 1] += events / scale
        hessian[..., 1, 1] += events / scale**2
        # Of no weight but where a step has gone to the end of the range of floats.
        size = np.einsum("...ii->...", hessian) + 1e-100
        hessian += _RIDGE * size[..., None, None] * np.eye(gradient.shape[-1])
        return np.where(theta[1] + step[..., 1] > 0, value, -np.inf), slope, hessian


def regularized_covariance(
    covariance: FloatArray, noise: float, direction: FloatArray, spread: tuple[float, tuple[float, float]]
) -> FloatArray:
    """Shrink the noise in a covariance of (y', x'), and bound its eigenvalues.

    Only a preconditioner is needed: where steps end is set by the gradients. So everything that the noise may
    have made is taken back: products of different features are shrunk toward 0 and squares toward their mean
    by the noise's share in them (James and Stein); products of the target and a feature are shrunk toward
    their part along `direction`, the direction in which features with an elliptical distribution move the
    target; eigenvalues are floored; the target's variance, and that given the features, are kept within what
    the model allows, the latter shrunk toward the middle.

    Parameters
    ----------
    covariance : ndarray of shape (..., D - 1, D - 1)
    noise : float
        Standard deviation of the noise of a product of two features.
    direction : ndarray of shape (..., D - 2)
    spread : tuple of a float and a pair of floats
        Upper bound of the target's variance, and both bounds of that given the features.
    """
    features = _regularized_features(covariance[..., 1:, 1:], noise)
    raw = covariance[..., 0, 1:]
    cross = _shrink_cross(raw, noise, direction)
    whole, given = spread
    explained = _explained(cross, features)
    factor = np.minimum(1.0, 0.9 * whole / np.maximum(explained, 1e-100))
    # Without the shrinkage, which would leave too much unexplained; the noise explains its own part.
    own = noise**2 * np.trace(np.linalg.inv(features), axis1=-2, axis2=-1)
    left = covariance[..., 0, 0] - _explained(raw, features) + own
    left = np.clip(_shrunk_to_middle(left, 2.0 * noise, given), *given)
    result = np.array(covariance)
    result[..., 1:, 1:] = features
    result[..., 0, 1:] = result[..., 1:, 0] = cross * np.sqrt(factor)[..., None]
    result[..., 0, 0] = left + explained * factor
    return result


def _regularized_features(covariance: FloatArray, noise: float) -> FloatArray:
    d = covariance.shape[-1]
    squares = np.diagonal(covariance, axis1=-2, axis2=-1)
    mean = squares.mean(axis=-1, keepdims=True)
    squares = mean + (squares - mean) * _signal_share(squares - mean, (d - 1) * 4 * noise**2)[..., None]
    # Less than the noise's own size (twice the 0.4: squares) would make steps along it as long as noise can.
    squares = np.clip(squares, np.maximum(_LEAST_SHARE * mean, 0.4 * noise), _LARGEST_VARIANCE)
    eye = np.eye(d)
    products = covariance * (1 - eye)
    products = (
        products
        * _signal_share(products.reshape(*products.shape[:-2], -1), d * (d - 1) * noise**2)[..., None, None]
    )
    values, vectors = np.linalg.eigh(products + squares[..., None] * eye)
    # A symmetric matrix of noise has a norm of about 2 sqrt(d) times it; half of that shrinkage took.
    floor = np.maximum(0.5 * noise * np.sqrt(2 * d), _LEAST_SHARE * np.maximum(values[..., -1:], 1e-6))
    # No eigenvalue of a covariance is above its trace.
    values = np.clip(values, floor, np.maximum(floor, squares.sum(axis=-1, keepdims=True)))
    return (vectors * values[..., None, :]) @ np.swapaxes(vectors, -1, -2)


def _explained(cross: FloatArray, features: FloatArray) -> FloatArray:
    return np.einsum("...i,...i->...", cross, np.linalg.solve(features, cross[..., None])[..., 0])


def _shrunk_to_middle(left: FloatArray, noise: float, given: tuple[float, float]) -> FloatArray:
    """Shrink the target's variance given the features toward the middle of its bounds, by the noise's share.

    As if it were normal about the (geometric) middle, with the bounds two standard deviations apart.
    """
    middle, spread = float(np.sqrt(given[0] * given[1])), 0.5 * (given[1] - given[0])
    return middle + (left - middle) * spread**2 / (spread**2 + noise**2)


def _shrink_cross(cross: FloatArray, noise: float, direction: FloatArray) -> FloatArray:
    length = np.maximum(np.linalg.norm(direction, axis=-1, keepdims=True), 1e-300)
    unit = direction / length
    along = np.einsum("...i,...i->...", cross, unit)[..., None] * unit
    rest = cross - along
    along = along * _signal_share(along, noise**2)[..., None]
    return along + rest * _signal_share(rest, (cross.shape[-1] - 1) * noise**2)[..., None]


def _signal_share(values: FloatArray, noise_square: float) -> FloatArray:
    """Return the share of values that is not noise, by the expected square of the noise."""
    square = np.einsum("...i,...i->...", values, values)
    return np.maximum(0.0, 1.0 - noise_square / np.maximum(square, 1e-300))


def secant(matrix: FloatArray, step: FloatArray, miss: FloatArray) -> FloatArray:
    """Correct a symmetric matrix along a step (Powell's symmetric Broyden update).

    Parameters
    ----------
    matrix : ndarray of shape (m, m)
    step : ndarray of shape (m,)
    miss : ndarray of shape (m,)
        What matrix times step lacks, as later observed.
    """
    square = float(step @ step)
    if square == 0.0:
        return matrix
    both = np.outer(miss, step)
    return matrix + (both + both.T) / square - (step @ miss) * np.outer(step, step) / square**2
