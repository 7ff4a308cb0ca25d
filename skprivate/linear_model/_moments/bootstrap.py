# SPDX-License-Identifier: BSD-3-Clause
"""Parametric bootstrap of released moments: fits to releases drawn from the fitted model."""

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from ..._typing import FloatArray
from .._distributions import ErrorDistribution
from .release import MomentRelease
from .solve import ScaledFit, least_squares, noise_level, scale_of, solve_moments
from .utility import slopes_are_told, varying_directions

#: Features beyond which replicates are of first order: the noise of so many products is close to normal, and
#: a decomposition of every replicate takes time with their cube.
WHOLE = 100


def bootstrap_moments(
    release: MomentRelease,
    distribution: ErrorDistribution,
    regularization: str,
    scale_bounds: tuple[float, float],
    *,
    method: str = "moments",
    rows_per_unit: int = 1,
    n_replicates: int = 400,
    seed: int = 0,
    with_noise: bool = True,
    constant: FloatArray | None = None,
) -> ScaledFit:
    """Draw what a fit would be with other rows and other noise, as the fitted model has them [1]_.

    The target's moments are drawn from their joint limit distribution under the fitted model, where the
    errors' skewness ties the mean square to the mean, and their kurtosis spreads it; noise is drawn as that
    of the release. Both are taken off the released moments, and what the rest leads to without regularisation
    is a model that may have led to the release. A replicate is the fit and its error if this model were true.
    So the noise of the features' moments counts in the way of Fieller's intervals: where it can make up a
    good part of a small variance, the slope may be much larger, but not much smaller.

    Where the noise hides a direction of the features there is no such interval (`slopes_are_told`). Then what
    is drawn is added to the released moments, made those of possible rows, and fitted as the release was.

    Parameters
    ----------
    release : MomentRelease
    distribution : ErrorDistribution
    regularization, scale_bounds
        As in `solve_moments`.
    method : {"moments", "taylor"}, default="moments"
        What fits the replicates; the model that they are drawn from is the consistent one.
    rows_per_unit : int, default=1
        Rows of one person that count. The errors of so many rows may depend on each other in any way: the
        variance of a sum over persons is at most that of independent rows times their number, by the
        inequality of Cauchy and Schwarz, and the rows' part of the replicates has this variance.
    n_replicates : int, default=400
    seed : int, default=0
        The same release always has the same intervals.
    with_noise : bool, default=True
        False: the rows alone are drawn anew, to tell how much of the variance is the noise's.
    constant : ndarray of shape (k, n_features), default=None
        As in `varying_directions`. Where all others are told, every replicate has the slopes of the fit along
        them.

    Returns
    -------
    fits : ScaledFit
        A stack of finite fits, in scaled units.

    Notes
    -----
    **Privacy**: a function of released values alone, with noise that protects nothing; it spends nothing.

    With more than 100 features the fits are of first order in what is drawn: the equations of the slopes are
    solved with the released moments of the features.

    Slopes along directions that the noise hides are shrunk in the replicates about as much as in the fit, but
    how much they are is unknown: their intervals are too narrow, and such fits warn.

    References
    ----------
    .. [1] Ferrando, Wang, Sheldon: "Parametric bootstrap for differentially private confidence intervals",
       AISTATS 2022.

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate.linear_model._distributions import NORMAL
    >>> from skprivate.linear_model._moments.bootstrap import bootstrap_moments
    >>> from skprivate.linear_model._moments.release import MomentRelease
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-1, 1, 10_000)
    >>> rows = np.column_stack([np.ones_like(x), 0.5 * x + rng.normal(0, 0.1, x.size), x])
    >>> release = MomentRelease(rows.T @ rows, np.zeros((3, 3)), "laplace")
    >>> fits = bootstrap_moments(release, NORMAL, "floor", (0.001, 2.0))
    >>> fits.coef.shape, bool(abs(fits.coef.std() / (0.1 / np.sqrt(10_000 / 3)) - 1) < 0.1)
    ((400, 1), True)
    """
    fit = solve_moments(release, distribution, regularization, scale_bounds)
    rng = np.random.default_rng(seed)
    # Of the rows' own spread: their sums with (1, x), and one that is independent of these.
    z = np.sqrt(rows_per_unit) * rng.standard_normal((n_replicates, len(fit.coef) + 2))
    if len(fit.coef) > WHOLE:
        return _first_order(
            release, fit, distribution, regularization, scale_bounds, method, rng, z, with_noise
        )
    drawn = _sampled(release, fit, distribution, z)
    noise = noise_matrices(release, rng, n_replicates) if with_noise else 0.0
    if slopes_are_told(release, constant):
        expected = _sampled(release, fit, distribution, 0.0 * z[:1])
        possible = replace(release, matrix=release.matrix - (drawn - expected) - noise)
        reported = solve_moments(release, distribution, regularization, scale_bounds, method)
        if constant is None:
            fits = solve_moments(possible, distribution, "none", scale_bounds, method)
        else:
            fits = _solve_varying(possible, distribution, scale_bounds, method, reported.coef, constant)
        return _reflected(reported, fits, scale_bounds)
    return solve_moments(
        replace(release, matrix=drawn + noise), distribution, regularization, scale_bounds, method
    )


def _solve_varying(
    release: MomentRelease,
    distribution: ErrorDistribution,
    scale_bounds: tuple[float, float],
    method: str,
    coef: FloatArray,
    constant: FloatArray,
) -> ScaledFit:
    """Fit a stack of releases without regularisation, with the slopes `coef` along constant directions.

    The slopes that are left are those of y - a'(x - m) on Q x / sqrt(d), with a the known part of the slopes,
    m any vector, here the first means, and Q the other directions: a linear map of the rows, and so of their
    moments. These stay within [-1, 1], where the solution looks for them.
    """
    size = len(coef)
    varying = varying_directions(size, constant) / np.sqrt(size)
    known = constant.T @ (constant @ coef)
    offset = float(known @ release.matrix[0, 0, 2:] / max(float(release.matrix[0, 0, 0]), 1.0))
    change = np.zeros((2 + len(varying), 2 + size))
    change[0, 0] = change[1, 1] = 1.0
    change[1, 0], change[1, 2:], change[2:, 2:] = offset, -known, varying
    std = np.sqrt(change**2 @ release.noise_std**2 @ (change**2).T)
    changed = replace(release, matrix=change @ release.matrix @ change.T, noise_std=std)
    fits = solve_moments(changed, distribution, "none", scale_bounds, method)
    return ScaledFit(fits.intercept - offset, fits.coef @ varying + known, fits.scale)


def _reflected(fit: ScaledFit, fits: ScaledFit, scale_bounds: tuple[float, float]) -> ScaledFit:
    """Return the fit and its errors if others were true; of the scale on the scale of its square."""
    low, high = scale_bounds
    square = np.clip(2.0 * fit.scale**2 - fits.scale**2, low**2, high**2)
    return ScaledFit(2.0 * fit.intercept - fits.intercept, 2.0 * fit.coef - fits.coef, np.sqrt(square))


def pivotal(estimates: ArrayLike, replicates: FloatArray, confidence: float) -> FloatArray:
    """Reflect the spread of replicates at the estimates.

    Parameters
    ----------
    estimates : array-like of any shape
    replicates : ndarray of the shape of the estimates and one axis more
    confidence : float

    Returns
    -------
    intervals : ndarray of the shape of the estimates and one axis more, of length 2

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate.linear_model._moments.bootstrap import pivotal
    >>> pivotal(5.0, np.linspace(4.0, 8.0, 101), 0.5)
    array([3., 5.])
    """
    tails = 0.5 + 0.5 * confidence * np.array([1.0, -1.0])
    ends = np.moveaxis(np.quantile(replicates, tails, axis=-1), 0, -1)
    return 2.0 * np.asarray(estimates)[..., np.newaxis] - ends


def _sampled(
    release: MomentRelease,
    fit: ScaledFit,
    distribution: ErrorDistribution,
    z: FloatArray,
) -> FloatArray:
    """Moments of (1, y, x) without noise, of shape (count, D, D)."""
    others = np.r_[0, 2 : len(release.matrix)]  # the constant and the features
    design = _possible_design(release)
    line = np.r_[fit.intercept + distribution.mean * fit.scale, fit.coef]
    spread = float(fit.scale) * np.sqrt(distribution.variance)
    # Residuals times (1, x), the first of them their sum; and the sum of their squares.
    products = spread * (z[:, :-1] @ np.linalg.cholesky(design).T)
    free = np.sqrt(distribution.kurtosis - 1.0 - distribution.skewness**2)
    squares = distribution.skewness * z[:, 0] + free * z[:, -1]
    n = design[0, 0]
    cross = design @ line + products
    matrices = np.empty((len(z), *release.matrix.shape))
    matrices[:, others[:, np.newaxis], others] = design
    matrices[:, 1, others] = matrices[:, others, 1] = cross
    matrices[:, 1, 1] = (cross + products) @ line + spread**2 * (n + np.sqrt(n) * squares)
    return matrices


def _first_order(
    release: MomentRelease,
    fit: ScaledFit,
    distribution: ErrorDistribution,
    regularization: str,
    scale_bounds: tuple[float, float],
    method: str,
    rng: np.random.Generator,
    z: FloatArray,
    with_noise: bool,
) -> ScaledFit:
    """Fit releases whose moments differ a little from the released ones.

    With w = (-intercept, 1, -coef), noise N moves the equations of the line by N w and the mean squared
    residual about it by w'N w. The entries of N w have the covariances s_ij^2 w_i w_j, and the variances
    sum_j s_ij^2 w_j^2, with s the standard deviations of the noise.
    """
    line = least_squares(release, regularization)
    n = max(float(release.matrix[0, 0]), 1.0)
    design = _possible_design(release)
    spread = float(fit.scale) * np.sqrt(distribution.variance)
    pushes = spread * (z[:, :-1] @ np.linalg.cholesky(design).T)
    free = np.sqrt(distribution.kurtosis - 1.0 - distribution.skewness**2)
    square = spread**2 * (1.0 + (distribution.skewness * z[:, 0] + free * z[:, -1]) / np.sqrt(n))
    if with_noise:
        w = np.concatenate([[-float(line.intercept), 1.0], -line.coef])
        squares = release.noise_std**2
        covariance = squares * np.outer(w, w)
        np.fill_diagonal(covariance, squares @ w**2)
        noise = rng.multivariate_normal(np.zeros(len(w)), covariance, len(z), method="eigh")
        pushes += np.delete(noise, 1, axis=1)
        square += noise @ w / n
    pushes /= n
    along = (pushes[:, 1:] - pushes[:, :1] * line.means) @ line.vectors
    moved = along * line.inverse
    coef = line.coef + moved @ line.vectors.T
    square += (moved * (line.values * moved - 2.0 * along)).sum(axis=1)
    intercept = line.intercept + pushes[:, 0] - (coef - line.coef) @ line.means
    replicated = replace(line, intercept=intercept, coef=coef, residual=square)
    return scale_of(replicated, distribution, scale_bounds, method)


def _possible_design(release: MomentRelease) -> FloatArray:
    """Moments of (1, x) near the released ones, positive definite."""
    others = np.r_[0, 2 : len(release.matrix)]
    matrix = release.matrix[np.ix_(others, others)]
    n = max(float(matrix[0, 0]), 1.0)
    means = np.clip(matrix[0] / n, -1.0, 1.0)
    means[0] = 1.0
    centred = matrix[1:, 1:] - n * np.outer(means[1:], means[1:])
    values, vectors = np.linalg.eigh(centred)
    # Rows in [-1, 1]: no direction has moments above n d; the least keeps what follows regular.
    values = np.clip(values, max(noise_level(release), 1e-9 * n), n * len(centred))
    design = n * np.outer(means, means)
    design[1:, 1:] += (vectors * values) @ vectors.T
    return design


def noise_matrices(release: MomentRelease, rng: np.random.Generator, count: int) -> FloatArray:
    """Draw symmetric matrices of noise as that of the release, of shape (count, D, D)."""
    rows, columns = np.triu_indices(len(release.matrix))
    shape = (count, len(rows))
    if release.mechanism == "laplace":
        draws = rng.laplace(scale=np.sqrt(0.5), size=shape)
    else:
        draws = rng.standard_normal(shape)
    draws *= release.noise_std[rows, columns]
    noise = np.empty((count, *release.matrix.shape))
    noise[:, rows, columns] = noise[:, columns, rows] = draws
    return noise
