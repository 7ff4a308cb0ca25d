# SPDX-License-Identifier: BSD-3-Clause
"""Newton step from a released round to the next parameters; post-processing."""

from dataclasses import dataclass

import numpy as np

from ..._typing import FloatArray

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
    kept : ndarray of shape (D - 1, D - 1)
        Part of the noise's variance in the covariance that its regularisation has left.
    """

    total: float
    mean: FloatArray
    covariance: FloatArray
    tilt: float
    kept: FloatArray

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
) -> tuple[FloatArray, FloatArray]:
    """Shrink the noise in a covariance of (y', x'), and bound its eigenvalues; say what noise is left.

    Only a preconditioner is needed: where steps end is set by the gradients. So everything that the noise may
    have made is taken back: products of different features are shrunk toward 0 and squares toward their mean
    by the noise's share in them (James and Stein); products of the target and a feature are shrunk toward
    their part along `direction`, the direction in which features with an elliptical distribution move the
    target; eigenvalues are floored; the target's variance, and that given the features, are kept within what
    the model allows, the latter shrunk toward the middle.

    Parameters
    ----------
    covariance : ndarray of shape (D - 1, D - 1)
    noise : float
        Standard deviation of the noise of a product of two features.
    direction : ndarray of shape (D - 2,)
    spread : tuple of a float and a pair of floats
        Upper bound of the target's variance, and both bounds of that given the features.

    Returns
    -------
    regularized : ndarray of shape (D - 1, D - 1)
    kept : ndarray of shape (D - 1, D - 1)
        Part of the noise's variance that is left. Where values of variance t have noise of variance v, an
        estimate shrunk by t / (t + v) is off by a variance of v times that share.
    """
    features, of_squares, of_products = _regularized_features(covariance[1:, 1:], noise)
    raw = covariance[0, 1:]
    cross, of_cross = _shrink_cross(raw, noise, direction)
    whole, given = spread
    explained = _explained(cross, features)
    factor = min(1.0, 0.9 * whole / max(explained, 1e-100))
    # Without the shrinkage, which would leave too much unexplained; the noise explains its own part.
    own = noise**2 * np.trace(np.linalg.inv(features))
    left = covariance[0, 0] - _explained(raw, features) + own
    left, of_left = _shrunk_to_middle(left, 2.0 * noise, given)
    result = np.array(covariance)
    result[1:, 1:] = features
    result[0, 1:] = result[1:, 0] = cross * np.sqrt(factor)
    result[0, 0] = np.clip(left, *given) + explained * factor
    kept = np.full(covariance.shape, of_products)
    np.fill_diagonal(kept, of_squares)
    kept[0, :] = kept[:, 0] = of_cross
    kept[0, 0] = of_left
    return result, kept


def _regularized_features(covariance: FloatArray, noise: float) -> tuple[FloatArray, float, float]:
    """Return the features' covariance, and what is left of the noise's variance in squares and products."""
    d = len(covariance)
    squares = np.diagonal(covariance)
    mean = squares.mean()
    of_squares = _signal_share(squares - mean, (d - 1) * 4 * noise**2)
    # Less than the noise's own size (twice the 0.4: squares) would make steps along it as long as noise can.
    squares = mean + (squares - mean) * of_squares
    squares = np.clip(squares, max(_LEAST_SHARE * mean, 0.4 * noise), _LARGEST_VARIANCE)
    products = covariance * (1 - np.eye(d))
    of_products = _signal_share(products.ravel(), d * (d - 1) * noise**2)
    values, vectors = np.linalg.eigh(products * of_products + np.diag(squares))
    # A symmetric matrix of noise has a norm of about 2 sqrt(d) times it; half of that shrinkage took.
    floor = max(0.5 * noise * np.sqrt(2 * d), _LEAST_SHARE * max(values[-1], 1e-6))
    # No eigenvalue of a covariance is above its trace.
    values = np.clip(values, floor, max(floor, squares.sum()))
    return (vectors * values) @ vectors.T, (1.0 + (d - 1) * of_squares) / d, of_products


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
