# SPDX-License-Identifier: BSD-3-Clause
"""Closed-form estimates of slopes, intercept and scale from released moments; post-processing."""

from dataclasses import dataclass
from typing import Any, get_args

import numpy as np

from ..._typing import FloatArray, MomentMethod, Regularization
from ...rounds._plans.grid import MomentGrid
from ...utils._public_module import public_module
from .._distributions import ErrorDistribution
from .release import MomentRelease
from .taylor import taylor_scale

REGULARIZATIONS: tuple[Regularization, ...] = get_args(Regularization)
METHODS: tuple[MomentMethod, ...] = get_args(MomentMethod)


@public_module("skprivate.linear_model")
@dataclass(frozen=True, eq=False)
class ScaledFit:
    """A model in the units of the scaled rows, or a stack of them; the location is ``intercept + coef . x'``.

    Attributes
    ----------
    intercept : float or ndarray of shape (n_fits,)
    coef : ndarray of shape (n_features,) or (n_fits, n_features)
    scale : float or ndarray of shape (n_fits,)
        Positive.
    """

    intercept: Any
    coef: FloatArray
    scale: Any


@dataclass(frozen=True, eq=False)
class Line:
    """Least squares: the line, the mean squared residual by the noisy moments, and its expected bias.

    Attributes
    ----------
    intercept, residual, optimism : float or ndarray of shape (n_fits,)
    coef, means : ndarray of shape (n_features,) or (n_fits, n_features)
        Slopes, and means of the features.
    values, inverse : ndarray of the same shape
        Variances along the directions of the features, and their reciprocals after regularisation: 0 where a
        direction is dropped.
    vectors : ndarray of shape (..., n_features, n_features)
        These directions, as columns.
    """

    intercept: FloatArray
    coef: FloatArray
    residual: FloatArray
    optimism: FloatArray
    means: FloatArray
    values: FloatArray
    inverse: FloatArray
    vectors: FloatArray


def solve_moments(
    release: MomentRelease,
    distribution: ErrorDistribution,
    regularization: str,
    scale_bounds: tuple[float, float],
    method: str = "moments",
) -> ScaledFit:
    """Solve the Fisher-consistent quadratic: least squares, and the scale from the residuals.

    The log density of a standardised error z is replaced by ``-(z - m)**2 / (2 v)``, with m and v the mean
    and the variance of the distribution. Its score and its score for the scale have mean 0 under the model,
    and the estimates are in closed form: the slopes are those of least squares, ``scale**2 = RSS / (n v)``,
    and the location is the regression line minus ``m * scale``.

    The slopes follow the noise, so that the noisy RSS about them is too small, even negative; what this is
    expected to make is added. The scale then is that of the residuals about the line that is released.

    Parameters
    ----------
    release : MomentRelease
        Its matrix may be a stack of shape (n_fits, D, D), with one noise.
    distribution : ErrorDistribution
    regularization : {"floor", "trim", "zhang", "none"}
        About eigenvalues of the centred features' moments, where s is the noise's standard deviation and
        ``L = 2 s sqrt(d)`` the typical norm of the noise: raise those below L to L, or all to 2 L where all
        are below L (and d > 1); drop those below L; add 4 s to the diagonal, then drop what is not positive
        [1]_; or nothing.
    scale_bounds : tuple of two floats
        The scale is clipped to them, in scaled units; noise can make the sum of squares negative.
    method : {"moments", "taylor"}, default="moments"
        "taylor": the scale is that of the paper's truncated likelihood (`taylor_scale`), and the intercept
        that of the regression line.

    Returns
    -------
    fit : ScaledFit
        Finite for every finite matrix.

    References
    ----------
    .. [1] Zhang, Zhang, Xiao, Yang, Winslett: "Functional mechanism: regression analysis under differential
       privacy", VLDB 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate.linear_model._distributions import SEV
    >>> from skprivate.linear_model._moments.release import MomentRelease
    >>> from skprivate.linear_model._moments.solve import solve_moments
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-1, 1, 100_000)
    >>> y = 0.1 + 0.4 * x + 0.05 * np.log(rng.exponential(size=x.size))
    >>> rows = np.column_stack([np.ones_like(x), y, x])
    >>> release = MomentRelease(rows.T @ rows, np.zeros((3, 3)), "laplace")
    >>> fit = solve_moments(release, SEV, "floor", (0.001, 1.0))
    >>> fit.coef.round(2), round(float(fit.intercept), 2), round(float(fit.scale), 2)
    (array([0.4]), 0.1, 0.05)
    """
    return scale_of(least_squares(release, regularization), distribution, scale_bounds, method)


def scale_of(
    line: Line, distribution: ErrorDistribution, scale_bounds: tuple[float, float], method: str
) -> ScaledFit:
    """Return the fit of a line, whose scale is that of the residuals about it; see `solve_moments`."""
    if method == "taylor":
        scale = taylor_scale(line.residual, distribution.name, scale_bounds)
        return ScaledFit(line.intercept, line.coef, scale)
    square = line.residual + line.optimism
    low, high = scale_bounds
    scale = np.sqrt(np.clip(square / distribution.variance, low**2, high**2))
    return ScaledFit(line.intercept - distribution.mean * scale, line.coef, scale)


def unscale(fit: ScaledFit, grid: MomentGrid) -> tuple[FloatArray, Any, Any]:
    """Return slopes, intercept and scale in the units of X and of the model's target.

    Parameters
    ----------
    fit : ScaledFit
    grid : MomentGrid

    Returns
    -------
    coef : ndarray of shape (n_features,) or (n_fits, n_features)
    intercept, scale : float or ndarray of shape (n_fits,)

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate.rounds._plans.grid import MomentGrid
    >>> from skprivate.linear_model._moments.solve import ScaledFit, unscale
    >>> grid = MomentGrid(lower=np.array([0.0]), upper=np.array([10.0]), target=(2.0, 6.0), exponent=20)
    >>> coef, intercept, scale = unscale(ScaledFit(0.5, np.array([0.25]), 0.1), grid)
    >>> coef, float(intercept), scale
    (array([0.1]), 4.5, 0.2)
    """
    coef = fit.coef * (grid.y_half / grid.half)
    intercept = grid.y_center + grid.y_half * fit.intercept - (coef @ grid.center)[()]
    return coef, intercept, grid.y_half * fit.scale


def least_squares(release: MomentRelease, regularization: str) -> Line:
    """Return the regression line of released moments, as `solve_moments` takes it."""
    n = np.maximum(release.matrix[..., 0, 0], 1.0)[..., np.newaxis]
    moments = _CentredMoments.of(release.matrix / n[..., np.newaxis])
    values, vectors = np.linalg.eigh(moments.features)
    kept = _regularized(values, release, n, regularization)
    usable = np.abs(kept) > moments.rounding(values)
    inverse = np.where(usable, 1.0 / np.where(usable, kept, 1.0), 0.0)
    along = np.einsum("...jk,...j->...k", vectors, moments.cross)
    coef = np.einsum("...jk,...k->...j", vectors, inverse * along)
    diagonal = np.einsum("...jk,...k->...j", vectors**2, np.maximum(inverse, 0.0))
    optimism = _optimism(coef, diagonal, release.noise_std[1:, 2:] / n[..., np.newaxis])
    residual = moments.target + _dot(coef, _times(moments.features, coef) - 2.0 * moments.cross)
    intercept = moments.mean_target - _dot(coef, moments.mean_features)
    return Line(intercept, coef, residual, optimism, moments.mean_features, values, inverse, vectors)


def _optimism(coef: FloatArray, inverse: FloatArray, noise_std: FloatArray) -> FloatArray:
    """Return by how much the noisy residual about the fitted line is expected to be too small.

    With noise g = N_xy - N_xx b in the equations of the slopes, these move by S^-1 g, and the noise in the
    residual falls by 2 g . S^-1 g; `inverse` is the diagonal of S^-1, and the entries of g are taken to be
    uncorrelated.
    """
    variance = noise_std[..., 0, :] ** 2 + _times(noise_std[..., 1:, :] ** 2, coef**2)
    return 2.0 * _dot(inverse, variance)


# Below the square of the finest step of the grid; keeps reciprocals finite.
_SMALLEST = 2.0**-64


@dataclass(frozen=True, eq=False)
class _CentredMoments:
    """Second moments per row about the means; leading axes are a stack of releases."""

    mean_target: FloatArray
    mean_features: FloatArray
    target: FloatArray
    cross: FloatArray
    features: FloatArray

    @classmethod
    def of(cls, moments: FloatArray) -> "_CentredMoments":
        # No mean product of entries of [-1, 1] is beyond 1: what is beyond is noise.
        moments = np.clip(moments, -1.0, 1.0)
        means = moments[..., 0, 1:]
        centred = moments[..., 1:, 1:] - means[..., :, np.newaxis] * means[..., np.newaxis, :]
        target, cross, features = centred[..., 0, 0], centred[..., 0, 1:], centred[..., 1:, 1:]
        return cls(means[..., 0], means[..., 1:], target, cross, features)

    def rounding(self, eigenvalues: FloatArray) -> FloatArray:
        """Return how far rounding moves an eigenvalue that is 0, the subtraction of the means included."""
        sizes = np.maximum(np.abs(eigenvalues), self.mean_features**2)
        largest = np.max(sizes, axis=-1, keepdims=True)
        return np.maximum(4.0 * sizes.shape[-1] * np.finfo(np.float64).eps * largest, _SMALLEST)


def _regularized(values: FloatArray, release: MomentRelease, n: FloatArray, rule: str) -> FloatArray:
    """Eigenvalues after the rule; 0 for a direction that is dropped."""
    level = noise_level(release) / n
    if rule == "floor":
        # Where no direction exceeds the noise, larger slopes lose more than they gain. (The level of a single
        # feature is high already.)
        all_below = (values.shape[-1] > 1) & (values.max(axis=-1, keepdims=True) < level)
        return np.maximum(values, np.where(all_below, 2.0 * level, level))
    if rule == "trim":
        return np.where(values < level, 0.0, values)
    if rule == "zhang":
        return np.maximum(values + 4.0 * np.mean(np.diagonal(release.noise_std)[2:]) / n, 0.0)
    return values


def noise_level(release: MomentRelease) -> float:
    """Return the typical norm of the noise on the features' moments: smaller eigenvalues are mostly noise."""
    noise = release.noise_std[2:, 2:]
    d = len(noise)
    # Of one feature there is the noise of its square only.
    single = noise[np.triu_indices(d, 1)] if d > 1 else noise
    return 2.0 * float(np.mean(single)) * float(np.sqrt(d))


def _times(matrix: FloatArray, vector: FloatArray) -> FloatArray:
    return np.einsum("...jh,...h->...j", matrix, vector)


def _dot(left: FloatArray, right: FloatArray) -> FloatArray:
    return np.einsum("...j,...j->...", left, right)
