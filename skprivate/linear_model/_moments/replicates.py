# SPDX-License-Identifier: BSD-3-Clause
"""Replicates of a fit by moments or looks, and whether its slopes may be noise."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..._typing import FloatArray
from .._distributions import ClippedErrors, ErrorDistribution, clipped_errors
from .released_moments import (
    Line,
    MomentRelease,
    ScaledFit,
    least_squares,
    mirrored,
    noise_level,
    scale_of,
    solve_moments,
    varying_directions,
)
from .rounds import Look, LookRelease, Metric, noise_of_equations

# Whether the noise hides the effect of the features, by released values and the known noise.

# Standard errors by which slopes have to be better than none. Of 750 simulated fits that lost to a constant,
# most of them nearly even with it, this finds 95 % (0.75 finds 91 %). Of 690 fits that kept four fifths of
# what can be explained it suspects 5 %.
_CLEARLY = 1.0
# A direction is clear if its variance is so many standard deviations of its own noise above 0. It must also
# be so many times the typical norm of the noise of all: with many features the noise lowers the least
# variance by that norm. Simulations had 72 cells of nine designs (narrow, skewed, heavy-tailed, one-hot,
# nearly dependent and normal columns) with 3 to 15 of the first. 90 % intervals held in 0.89 of the quiet
# fits on average. In the seven worst cells, where a part of the fits warned, they held in 0.64 to 0.79. Below
# 3 they held in 0 to 0.8. At 4 or 5 as many cells are bad: directions that pass by chance have small
# intervals wherever the limit is. Ten normal columns: slopes 0.90, scale 0.87, quantiles 0.88 beyond 1.5 of
# the second; below 1: 0.85, 0.45, 0.7.
_CLEAR = 3.0
_ABOVE = 1.5
# Slopes in scaled units beyond it have no meaning; it keeps their squares finite (of a double's 2^1023).
_LARGEST = 2.0**64


def explained_share(release: MomentRelease, fit: ScaledFit) -> tuple[float, float, float]:
    """Estimate by how much the fitted slopes lower the mean squared error of new rows, compared with none.

    Parameters
    ----------
    release : MomentRelease
    fit : ScaledFit
        One fit to the release. Only its slopes are used.

    Returns
    -------
    gain, error : float
        The estimate, in squared scaled units of the target, and its standard error. The gain is below 0 if
        the best constant is better.
    factor : float
        Factor of the slopes, from 0 to 1, that gains most.

    Notes
    -----
    With exact centred moments C of the features and c of features and target, slopes b gain
    ``2 b'c - b'C b``. Computed from the released C + E and c + e, this is too large by ``2 b'e - b'E b``. As
    b is off by C^-1 (e - E b), to first order, this is ``2 (e - E b)' C^-1 (e - E b)`` on average. It follows
    from the known noise, with the sampling error of the rows added. Directions of C that are below the noise
    count as raised to its level, as so much curvature cannot be distinguished from none. Slopes along them
    follow e but hardly E. The error of the intercept is subtracted as well.

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate.linear_model._moments.released_moments import MomentRelease
    >>> from skprivate.linear_model._moments.released_moments import ScaledFit
    >>> from skprivate.linear_model._moments.replicates import explained_share
    >>> matrix = 1000 * np.array([[1, 0, 0], [0, 0.25, 0.1], [0, 0.1, 0.2]])
    >>> fit = ScaledFit(0.0, np.array([0.5]), 0.4)
    >>> [round(x, 3) for x in explained_share(MomentRelease(matrix, np.zeros((3, 3)), "laplace"), fit)[:2]]
    [0.05, 0.006]
    """

    n = max(float(release.matrix[0, 0]), 1.0)
    moments = np.clip(release.matrix / n, -1.0, 1.0)
    centred = moments - np.outer(moments[0], moments[0])
    coef = np.clip(fit.coef, -_LARGEST, _LARGEST)
    values, vectors = np.linalg.eigh(centred[2:, 2:])
    raised = np.maximum(values, max(noise_level(release) / n, 1.0 / n))
    gain = float(2.0 * coef @ centred[2:, 1] - (vectors.T @ coef) ** 2 @ raised)
    residual = max(float(centred[1, 1]) - gain, 0.0)
    # Variances, per row, of e and of E b, first for the constant and then for the features.
    variances = np.delete(release.noise_std / n, 1, axis=0) ** 2
    own, bent = variances[:, 1], variances[:, 2:] @ coef**2
    followed = (vectors**2).T @ np.column_stack([own[1:], bent[1:]])
    taken = (followed[:, 0] + (values >= raised) * followed[:, 1]) / raised + residual / n
    intercept = float(own[0] + bent[0])
    straight = 4.0 * (own + bent)[1:] @ coef**2 + 4.0 * residual * max(gain, 0.0) / n
    variance = straight + 8.0 * taken @ taken + 2.0 * intercept**2
    lost, whole = float(taken.sum()), float((vectors.T @ coef) ** 2 @ raised)
    factor = np.clip((coef @ centred[2:, 1] - lost) / max(whole, np.finfo(float).tiny), 0.0, 1.0)
    return gain - 2.0 * lost - intercept, float(np.sqrt(variance)), float(factor)


@np.errstate(all="ignore")
def shrink(
    release: Any, fit: ScaledFit, distribution: ErrorDistribution, limits: tuple[float, float]
) -> ScaledFit:
    """Return a fit whose slopes are multiplied by what is expected to predict new rows best, at most 1.

    Parameters
    ----------
    release : MomentRelease or LookRelease
    fit : ScaledFit
        To the release.
    distribution : ErrorDistribution
    limits : tuple of two floats
        Of the scale.

    Notes
    -----
    A check of the predictions determines the factor best. Without it, the factor is 1 after looks. After
    moments alone it is 1 if slopes are better than none by `explained_share`, and else the factor that is
    expected to be best. A check is weighted against this value. The line goes through the means, and the
    scale is that of the residuals about it.

    **Privacy**: a function of released values.
    """
    moments: MomentRelease = getattr(release, "moments", release)
    check, alone, kept = release.check, moments is release, 1.0
    matrix, std, n = moments.matrix, moments.noise_std, max(float(moments.matrix[0, 0]), 1.0)
    if alone:
        gain, error, factor = explained_share(moments, fit)
        kept = 1.0 if gain > _CLEARLY * error else float(np.nan_to_num(factor))
    if check is not None:
        kept = check.factor(kept)
    if kept == 1.0 and (check is None or not alone):
        return fit
    (middle, square), (own, spread) = matrix[:2, 1], std[:2, 1]
    mean, along = np.clip(matrix[0, 2:] / n, -1.0, 1.0), 0.0
    centred = np.clip(matrix / n, -1.0, 1.0)
    centred = centred[1:, 1:] - np.outer(centred[0, 1:], centred[0, 1:])
    explained = kept * fit.coef @ (2.0 * centred[0, 1:] - kept * centred[1:, 1:] @ fit.coef)
    if check is not None:
        # The mean of two releases of the target's moments.
        weights = np.array([own, spread]) ** 2 + np.finfo(float).tiny
        weights = weights / (weights + check.release.noise_std[:2, 1] ** 2)
        other = check.release.matrix
        middle, square = (1.0 - weights) * [middle, square] + weights * other[:2, 1]
        spread *= np.sqrt(1.0 - weights[1])
        along = check.reach * other[0, 2] / n
        part = kept * check.reach
        cross = other - np.outer(other[0], other[0]) / n
        explained = part * (2.0 * cross[1, 2] - part * cross[2, 2]) / n
    middle = np.clip(middle / n, -1.0, 1.0)
    left = max(square / n - middle**2 - explained, spread / n)
    scale = float(np.clip(np.sqrt(left / distribution.variance), *limits))
    intercept = middle - kept * (along + fit.coef @ mean) - distribution.mean * scale
    return ScaledFit(float(intercept), kept * fit.coef, scale)


def slopes_are_clear(release: MomentRelease, constant: FloatArray | None = None) -> bool:
    """Return whether every combination of the features varies clearly more than its noise."""
    return not len(unclear_directions(release, constant))


def unclear_directions(release: MomentRelease, constant: FloatArray | None = None) -> FloatArray:
    """Return the principal combinations of the features that do not vary clearly more than their noise.

    Parameters
    ----------
    release : MomentRelease
        Of one fit.
    constant : ndarray of shape (k, n_features), default=None
        As in `varying_directions`: only combinations of the others are judged. Slopes along constant
        directions move no prediction.

    Returns
    -------
    directions : ndarray of shape (k, n_features)
        Unit vectors, in scaled units.

    Notes
    -----
    The released equations c + e = (C + E) b of the slopes have noise of mean 0 at the true b. An interval of
    the slope along a direction w is the set of slopes that they do not contradict (of Fieller, or Anderson
    and Rubin). It is finite if w'(C + E) w is clear of its noise; otherwise any slope may be true. That noise
    is w'E w - 2 (w'm) (w'e_0) + (w'm)^2 e_00, with m the means, e_0 the noise of the features' sums and e_00
    that of the number of rows.

    **Privacy**: a function of released values.

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate.linear_model._moments.released_moments import MomentRelease
    >>> from skprivate.linear_model._moments.replicates import slopes_are_clear
    >>> features = np.array([[0.30, 0.29], [0.29, 0.30]])
    >>> matrix = np.eye(4)
    >>> matrix[2:, 2:] = features
    >>> [slopes_are_clear(MomentRelease(1000 * matrix, np.full((4, 4), s), "laplace")) for s in (1.0, 10.0)]
    [True, False]
    """
    n = max(float(release.matrix[0, 0]), 1.0)
    means = np.clip(release.matrix[0, 2:] / n, -1.0, 1.0)
    varying = varying_directions(len(means), constant)
    centred = release.matrix[2:, 2:] - n * np.outer(means, means)
    values, turned = np.linalg.eigh(varying @ centred @ varying.T)
    vectors = varying.T @ turned
    variances, squares, along = release.noise_std**2, vectors**2, (means @ vectors) ** 2
    # An entry and its mirror image carry one noise, which counts twice.
    entries = 2.0 * variances[2:, 2:] - np.diag(np.diagonal(variances)[2:])
    noise = np.einsum("jk,jk->k", squares, entries @ squares)
    noise += 4.0 * along * (variances[0, 2:] @ squares) + along**2 * variances[0, 0]
    least = max(_ABOVE * noise_level(release), 1e-9 * n)
    return vectors.T[values < np.maximum(_CLEAR * np.sqrt(noise), least)]


def moments_may_be_noise(release: MomentRelease, fit: ScaledFit) -> bool:
    """Return whether a constant may predict as well as a fit to moments.

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate.linear_model._moments.released_moments import MomentRelease
    >>> from skprivate.linear_model._moments.released_moments import ScaledFit
    >>> from skprivate.linear_model._moments.replicates import moments_may_be_noise
    >>> matrix = 1000 * np.array([[1, 0, 0], [0, 0.25, 0.1], [0, 0.1, 0.2]])
    >>> fit = ScaledFit(0.0, np.array([0.5]), 0.4)
    >>> noise = np.ones((3, 3))
    >>> moments_may_be_noise(MomentRelease(matrix, noise, "laplace"), fit)
    False
    >>> moments_may_be_noise(MomentRelease(matrix, 100 * noise, "laplace"), fit)
    True
    """
    gain, error, _ = explained_share(release, fit)
    return not gain > _CLEARLY * error


# Parametric bootstrap of released moments: fits to releases drawn from the fitted model.

#: Number of features beyond which replicates are of first order. The noise of so many products is close to
#: normal, and a decomposition of every replicate takes time with their cube.
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

    The target's moments are drawn from their joint limit distribution under the fitted model. There the
    errors' skewness ties the mean square to the mean, and their kurtosis spreads it. Noise is drawn as that
    of the release. Both are subtracted from the released moments. The result, fitted without regularisation,
    is a model that may have led to the release. A replicate is the fit plus its error if this model were
    true. So the noise of the features' moments counts as in Fieller's intervals. If it can make up a good
    part of a small variance, the slope may be much larger, but not much smaller.

    If the noise hides a direction of the features there is no such interval (`slopes_are_clear`). Then the
    drawn deviations are added to the released moments, which are made those of possible rows, and fitted as
    the release was.

    Parameters
    ----------
    release : MomentRelease
    distribution : ErrorDistribution
    regularization, scale_bounds
        As in `solve_moments`.
    method : {"moments", "taylor"}, default="moments"
        What fits the replicates. The model that they are drawn from is the consistent one.
    rows_per_unit : int, default=1
        Rows of one person that count. The errors of these rows may depend on each other in any way. The
        variance of a sum over persons is at most that of independent rows times this number, by the
        inequality of Cauchy and Schwarz. The rows' part of the replicates has this variance.
    n_replicates : int, default=400
    seed : int, default=0
        The same release always has the same intervals.
    with_noise : bool, default=True
        False: only the rows are drawn again, to show how much of the variance the noise makes.
    constant : ndarray of shape (k, n_features), default=None
        As in `varying_directions`. If all others are clear, every replicate has the slopes of the fit along
        them.

    Returns
    -------
    fits : ScaledFit
        A stack of finite fits, in scaled units.

    Notes
    -----
    **Privacy**: a function of released values alone, with noise that protects nothing; it spends nothing.

    With more than 100 features the fits are of first order in what is drawn. The equations of the slopes are
    solved with the released moments of the features.

    Along directions that the noise hides, slopes are shrunk in the replicates about as much as in the fit,
    but how much is unknown. Their intervals are too narrow, and such fits warn.

    References
    ----------
    .. [1] Ferrando, Wang, Sheldon: "Parametric bootstrap for differentially private confidence intervals",
       AISTATS 2022.

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate.linear_model._distributions import NORMAL
    >>> from skprivate.linear_model._moments.replicates import bootstrap_moments
    >>> from skprivate.linear_model._moments.released_moments import MomentRelease
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
    # The rows' own spread: their sums with (1, x), and one that is independent of these.
    z = np.sqrt(rows_per_unit) * rng.standard_normal((n_replicates, len(fit.coef) + 2))
    if len(fit.coef) > WHOLE:
        line = least_squares(release, regularization)
        line = _first_order(release, fit, distribution, line, rng, z, with_noise)
        return scale_of(line, distribution, scale_bounds, method)
    drawn = _sampled(release, fit, distribution, z)
    noise = _Noise(release.mechanism, rng).matrices(release, n_replicates) if with_noise else 0.0

    def solve(moments: MomentRelease, rule: str) -> ScaledFit:
        return solve_moments(moments, distribution, rule, scale_bounds, method)

    if not slopes_are_clear(release, constant):
        return solve(replace(release, matrix=drawn + noise), regularization)
    expected = _sampled(release, fit, distribution, 0.0 * z[:1])
    possible = replace(release, matrix=release.matrix - (drawn - expected) - noise)
    reported = solve(release, regularization)
    if constant is None:
        fits = solve(possible, "none")
    else:
        fits = _solve_varying(possible, solve, reported.coef, constant)
    # The fit and its errors if other models were true; those of the scale are on the scale of its square.
    low, high = scale_bounds
    square = np.clip(2.0 * reported.scale**2 - fits.scale**2, low**2, high**2)
    intercept, coef = 2.0 * reported.intercept - fits.intercept, 2.0 * reported.coef - fits.coef
    return ScaledFit(intercept, coef, np.sqrt(square))


def _solve_varying(
    release: MomentRelease, solve: Callable[..., ScaledFit], coef: FloatArray, constant: FloatArray
) -> ScaledFit:
    """Fit a stack of releases without regularisation, with the slopes `coef` along constant directions.

    Let a be the known part of the slopes, m any vector (here the first means), and Q the other directions.
    The unknown slopes are those of y - a'(x - m) on Q x / sqrt(d): a linear map of the rows, and so of their
    moments. These stay within [-1, 1], as the solution requires.
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
    fits = solve(changed, "none")
    return ScaledFit(fits.intercept - offset, fits.coef @ varying + known, fits.scale)


def _sampled(
    release: MomentRelease, fit: ScaledFit, distribution: ErrorDistribution, z: FloatArray
) -> FloatArray:
    """Return moments of (1, y, x) without noise, of shape (count, D, D)."""
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
    line: Line,
    rng: np.random.Generator,
    z: FloatArray,
    with_noise: bool,
) -> Line:
    """Fit lines to releases whose moments differ a little from the released ones.

    With w = (-intercept, 1, -coef), noise N moves the equations of the line by N w and the mean squared
    residual about it by w'N w. The entries of N w have the covariances s_ij^2 w_i w_j, and the variances
    sum_j s_ij^2 w_j^2, with s the standard deviations of the noise.
    """
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
    return replace(line, intercept=intercept, coef=coef, residual=square)


def _possible_design(release: MomentRelease) -> FloatArray:
    """Return moments of (1, x) near the released ones, positive definite."""
    others = np.r_[0, 2 : len(release.matrix)]
    matrix = release.matrix[np.ix_(others, others)]
    n = max(float(matrix[0, 0]), 1.0)
    means = np.clip(matrix[0] / n, -1.0, 1.0)
    means[0] = 1.0
    centred = matrix[1:, 1:] - n * np.outer(means[1:], means[1:])
    values, vectors = np.linalg.eigh(centred)
    # Rows are in [-1, 1]: no direction has moments above n d. The least one keeps what follows regular.
    values = np.clip(values, max(noise_level(release), 1e-9 * n), n * len(centred))
    design = n * np.outer(means, means)
    design[1:, 1:] += (vectors * values) @ vectors.T
    return design


@dataclass(frozen=True, eq=False)
class _Noise:
    """Draws of noise of mean 0 and standard deviation 1; none at all with the mechanism "none"."""

    mechanism: str
    rng: np.random.Generator

    def draw(self, shape: tuple[int, ...]) -> FloatArray:
        if self.mechanism == "none":
            return np.zeros(shape)
        if self.mechanism == "laplace":
            return self.rng.laplace(scale=np.sqrt(0.5), size=shape)
        return self.rng.standard_normal(shape)

    def of(self, look: Look, count: int) -> FloatArray:
        """Return noise of the sums of a look."""
        return self.draw((count, len(look.noise_std))) * look.noise_std * look.clip

    def matrices(self, release: MomentRelease, count: int) -> FloatArray:
        """Return symmetric matrices of noise like that of the release, of shape (count, D, D)."""
        rows, columns = np.triu_indices(len(release.matrix))
        return mirrored(self.draw((count, len(rows))) * release.noise_std[rows, columns], len(release.matrix))

    def features(self, release: MomentRelease, count: int) -> tuple[FloatArray, FloatArray]:
        """Return moments of the features about their means, and the means, less noise like theirs."""
        matrices = release.matrix[np.newaxis]
        if self.mechanism != "none":
            matrices = matrices - self.matrices(release, count)
        n = np.maximum(matrices[:, :1, :1], 1.0)
        means = matrices[:, 0, 2:] / n[:, 0]
        return matrices[:, 2:, 2:] - n * means[:, :, np.newaxis] * means[:, np.newaxis], means


# Replicates of a fit with looks, and whether noise hides the effect of the features.


def bootstrap_looks(
    release: LookRelease,
    distribution: ErrorDistribution,
    *,
    rows_per_unit: int = 1,
    n_replicates: int = 400,
    seed: int = 0,
    with_noise: bool = True,
    by_steps: bool = False,
    constant: FloatArray | None = None,
) -> ScaledFit:
    """Draw fits that the fitted model would give, from what was released and its noise.

    Parameters
    ----------
    release : LookRelease
    distribution : ErrorDistribution
    rows_per_unit, n_replicates, seed, with_noise
        As in `bootstrap_moments`.
    by_steps : bool, default=False
        True: errors of the steps of the fit, even if the moments are clear. The slopes that the looks leave
        possible have quantiles, but hardly a mean square.
    constant : ndarray of shape (k, n_features), default=None
        As in `varying_directions`: slopes along them have no error.

    Returns
    -------
    fits : ScaledFit
        A stack, in scaled units.

    Notes
    -----
    If the released moments are clear in all directions of the features, slopes are drawn that the last looks
    leave possible (`_by_looks`). Otherwise, and with more than 100 features, errors of the steps of the fit
    are drawn, as if hidden directions varied like the others (`_by_steps`). Replicates are the fit plus its
    error. The spread and the noise of the clipped mean and mean square move location and scale. The error of
    the slopes makes residuals wider than the errors.

    **Privacy**: a function of released values.
    """
    metric, clipped = Metric.of(release.moments), clipped_errors(distribution)
    # One generator for the rows and one for the noise: without noise the rows' part is the same.
    rng, others = (np.random.default_rng(child) for child in np.random.SeedSequence(seed).spawn(2))
    fit = release.fit
    shape = n_replicates, len(fit.coef)
    own = rng.standard_normal(shape) * np.sqrt(rows_per_unit * np.maximum(metric.plausible, 1.0))
    noise = _Noise(release.mechanism if with_noise else "none", others)
    by_steps = by_steps or len(fit.coef) > WHOLE or not slopes_are_clear(release.moments, constant)
    varying = varying_directions(len(fit.coef), constant)
    if by_steps:
        error, widened, place = _by_steps(release, clipped, metric, own, noise)
        error = error if constant is None else error @ varying.T @ varying
    else:
        error, widened, place = _by_looks(release, clipped, metric, own, noise, varying)
    # Errors of location and log scale from those of the clipped mean and mean square.
    clip = release.looks[-1].clip
    covariance = clipped.spread(fit.scale, clip) / (metric.n / rows_per_unit)
    sampled = rng.multivariate_normal(np.zeros(2), covariance, size=len(place), method="eigh")
    place = (sampled + place) @ np.linalg.pinv(clipped.jacobian(fit.scale, clip)).T
    coef = fit.coef + error
    intercept = fit.intercept + place[:, 0] - error @ metric.mean
    return ScaledFit(intercept, coef, fit.scale * np.exp(place[:, 1] + widened))


_Left = tuple[FloatArray, FloatArray, FloatArray]


def _by_looks(
    release: LookRelease,
    clipped: ClippedErrors,
    metric: Metric,
    own: FloatArray,
    noise: _Noise,
    varying: FloatArray,
) -> _Left:
    """Return errors of slopes and log scale, and noise of the last looks' mean and mean square.

    A look about slopes b released s = q C (b_0 - b) + h. Here b_0 are the true slopes, q is the share of
    unclipped rows, and h is the look's noise and the rows' spread. So b_0 = b + C^-1 (s - h) / q, whatever
    the steps of the fit were and however far they went. This is computed from the mean of the last looks,
    with fresh h. C is replaced by the released C + E less fresh noise like E. The rows' spread is the same in
    all looks. All of it is along the directions that vary.
    """
    looks = release.looks[-release.n_averaged :]
    features, means = noise.features(release.moments, len(own))
    start, left = np.zeros(own.shape[1]), np.zeros_like(own)
    place = np.zeros((len(own), 2))
    along = own @ metric.vectors.T
    for look in looks:
        share, spread = _share_and_spread(look, clipped, metric)
        drawn = noise.of(look, len(own))
        sums = look.sums * look.clip - drawn
        start += look.fit.coef / len(looks)
        left += (sums[:, 1:-1] - sums[:, :1] * means - along * spread) / share / len(looks)
        place += drawn[:, [0, -1]] * [1.0, look.clip] / metric.n / len(looks)
    start, features = varying @ start, varying @ features @ varying.T
    possible = start + np.linalg.solve(features, (left @ varying.T)[..., np.newaxis])[..., 0]
    widened = np.zeros(len(own))
    for look in looks:
        missed = varying @ look.fit.coef - possible
        square = np.sum(missed * (features @ missed[..., np.newaxis])[..., 0], axis=1) / metric.n
        part = np.maximum(square, 0.0) / (release.fit.scale * clipped.std) ** 2
        widened += 0.5 * np.log1p(part) / len(looks)
    return (varying @ release.fit.coef - possible) @ varying, widened, place


def _by_steps(
    release: LookRelease, clipped: ClippedErrors, metric: Metric, own: FloatArray, noise: _Noise
) -> _Left:
    """Return the same by the steps of the fit, if the noise hides directions of the features.

    The error of the first fit is made of the noise of the moments, the rows' own spread, and the shrinkage of
    the regulariser. A look multiplies it by what its moments miss. There the noise E of the moments acts on
    an error as a random vector of the size of E, drawn again for every look. The look adds its own noise and
    the rows' spread, the same in all looks.
    """
    fit = release.fit
    slopes, variance = metric.vectors.T @ fit.coef, (fit.scale * clipped.std) ** 2
    error = (np.clip(metric.values, 0.0, None) / metric.raised - 1.0) * slopes
    first = np.sqrt(noise_of_equations(release.moments, metric, fit.coef))
    error = error + (noise.draw(own.shape) * first) @ metric.vectors / metric.raised
    error += own * np.sqrt(variance) / metric.raised
    kept = 1.0 - np.clip(metric.values, 0.0, None) / metric.raised
    mean_error, place, widened = np.zeros_like(error), np.zeros((len(own), 2)), np.zeros(len(own))
    for number, look in enumerate(release.looks):
        drawn = noise.of(look, len(own))
        share, spread = _share_and_spread(look, clipped, metric)
        size = np.sqrt(np.sum(error**2, axis=1, keepdims=True))
        acting = noise.draw(error.shape) * (metric.entry * size)
        missed = (error**2) @ metric.plausible / (metric.n * variance)
        pulled = (drawn[:, 1:-1] - drawn[:, :1] * metric.mean) @ metric.vectors
        error = kept * error + (acting + (pulled + own * spread) / share) / metric.raised
        if number >= len(release.looks) - release.n_averaged:
            mean_error += error / release.n_averaged
            widened += 0.5 * np.log1p(missed) / release.n_averaged
            place += drawn[:, [0, -1]] * [1.0, look.clip] / metric.n / release.n_averaged
    return mean_error @ metric.vectors.T, widened, place


def _share_and_spread(look: Look, clipped: ClippedErrors, metric: Metric) -> tuple[float, float]:
    """Return the share of unclipped rows, and the root mean square of clipped residuals."""
    share = max(clipped.share(look.fit.scale, look.clip), 1e-3)
    return share, float(np.sqrt(np.clip(look.sums[-1] / metric.n, 0.0, 1.0))) * look.clip


def looks_may_be_noise(release: LookRelease, replicates: ScaledFit) -> bool:
    """Return whether a constant may predict as well as a fit with looks.

    Parameters
    ----------
    release : LookRelease
    replicates : ScaledFit
        Of `bootstrap_looks`, by steps.

    Notes
    -----
    Let b* be the true slopes and e the error of the slopes b. They gain b*'C b* - e'C e over none. b'C b
    exceeds this by 2 e'C e on average, and its standard error is that of the two products.
    """
    metric, slopes = Metric.of(release.moments), release.fit.coef
    weights = np.clip(metric.values, 0.0, None)
    along = metric.vectors.T @ slopes
    errors = (replicates.coef - slopes) @ metric.vectors
    losses = (errors**2) @ weights
    gain = float(weights @ along**2 - 2.0 * losses.mean())
    spread = np.hypot(np.std(2.0 * (errors * along) @ weights), np.std(losses))
    return not gain > spread
