# SPDX-License-Identifier: BSD-3-Clause
"""Replicates of a fit with looks, and the warning that the noise hides the effect of the features."""

from dataclasses import dataclass

import numpy as np

from ..._typing import FloatArray
from .._distributions import ErrorDistribution
from .bootstrap import WHOLE, noise_matrices
from .clipped_law import ClippedLaw, clipped_law
from .looks import Look, LookRelease, Metric, noise_of_equations
from .release import MomentRelease
from .solve import ScaledFit
from .utility import HIDDEN, UNTOLD, slopes_are_told, varying_directions


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
        True: errors of the steps of the fit, whatever the moments tell. Those of slopes that the looks leave
        possible have quantiles, but hardly a mean square.
    constant : ndarray of shape (k, n_features), default=None
        As in `varying_directions`: slopes along them are not off.

    Returns
    -------
    fits : ScaledFit
        A stack, in scaled units.

    Notes
    -----
    Where the released moments tell all directions of the features, slopes are drawn that the last looks
    leave possible (`_left_by_looks`). Elsewhere, and with more than 100 features, errors are drawn that the
    steps of the fit would leave if hidden directions varied as the others do (`_left_by_steps`). Replicates
    are the fit and its error. Location and scale are off by the spread and the noise of the clipped mean and
    mean square, and residuals are wider than the errors by what the slopes miss.

    **Privacy**: a function of released values.
    """
    metric, law = Metric.of(release.moments), clipped_law(distribution)
    # Of the rows, and of the noise: without noise the rows' part is the same.
    rng, others = (np.random.default_rng(child) for child in np.random.SeedSequence(seed).spawn(2))
    fit = release.fit
    shape = n_replicates, len(fit.coef)
    own = rng.standard_normal(shape) * np.sqrt(rows_per_unit * np.maximum(metric.plausible, 1.0))
    noise = _Noise(release.mechanism if with_noise else "none", others)
    by_steps = by_steps or len(fit.coef) > WHOLE or not slopes_are_told(release.moments, constant)
    varying = varying_directions(len(fit.coef), constant)
    if by_steps:
        error, widened, place = _left_by_steps(release, distribution, metric, own, noise)
        error = error if constant is None else error @ varying.T @ varying
    else:
        error, widened, place = _left_by_looks(release, distribution, metric, own, noise, varying)
    place = _located(law, release.looks[-1], fit, metric.n / rows_per_unit, place, rng)
    coef = fit.coef + error
    intercept = fit.intercept + place[:, 0] - error @ metric.mean
    return ScaledFit(intercept, coef, fit.scale * np.exp(place[:, 1] + widened))


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

    def features(self, release: MomentRelease, count: int) -> tuple[FloatArray, FloatArray]:
        """Return moments of the features about their means, and the means, less noise as theirs."""
        matrices = release.matrix[np.newaxis]
        if self.mechanism != "none":
            matrices = matrices - noise_matrices(release, self.rng, count)
        n = np.maximum(matrices[:, :1, :1], 1.0)
        means = matrices[:, 0, 2:] / n[:, 0]
        return matrices[:, 2:, 2:] - n * means[:, :, np.newaxis] * means[:, np.newaxis], means


_Left = tuple[FloatArray, FloatArray, FloatArray]


def _left_by_looks(
    release: LookRelease,
    distribution: ErrorDistribution,
    metric: Metric,
    own: FloatArray,
    noise: _Noise,
    varying: FloatArray,
) -> _Left:
    """Return errors of slopes and log scale, and noise of the last looks' mean and mean square.

    A look about slopes b released s = q C (b_0 - b) + h, with b_0 the true slopes, q the share of unclipped
    rows and h its noise and the rows' spread. So b_0 = b + C^-1 (s - h) / q, whatever the steps of the fit
    were and however far they went. This is taken of the mean of the last looks, with fresh h and, in place of
    C, the released C + E less fresh noise as E. The rows' spread is the same in all looks.

    All of it along the directions that vary.
    """
    law, looks = clipped_law(distribution), release.looks[-release.n_averaged :]
    features, means = noise.features(release.moments, len(own))
    start, left = np.zeros(own.shape[1]), np.zeros_like(own)
    place = np.zeros((len(own), 2))
    along = own @ metric.vectors.T
    for look in looks:
        share, spread = _share_and_spread(look, law, metric)
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
        widened += 0.5 * np.log1p(np.maximum(square, 0.0) / (release.fit.scale * law.std) ** 2) / len(looks)
    return (varying @ release.fit.coef - possible) @ varying, widened, place


def _left_by_steps(
    release: LookRelease, distribution: ErrorDistribution, metric: Metric, own: FloatArray, noise: _Noise
) -> _Left:
    """Return the same by the steps of the fit, where the noise hides directions of the features.

    The error of the first fit is made of the noise of the moments, the rows' own spread, and what the
    regulariser takes. A look multiplies it by what its moments miss, where the noise E of the moments acts on
    an error as a random vector of the size of E, drawn anew for every look; and adds its own noise and the
    rows' spread, the same in all looks.
    """
    law, fit = clipped_law(distribution), release.fit
    slopes, variance = metric.vectors.T @ fit.coef, (fit.scale * law.std) ** 2
    error = (np.clip(metric.values, 0.0, None) / metric.raised - 1.0) * slopes
    first = np.sqrt(noise_of_equations(release.moments, metric, fit.coef))
    error = error + (noise.draw(own.shape) * first) @ metric.vectors / metric.raised
    error += own * np.sqrt(variance) / metric.raised
    kept = 1.0 - np.clip(metric.values, 0.0, None) / metric.raised
    mean_error, place, widened = np.zeros_like(error), np.zeros((len(own), 2)), np.zeros(len(own))
    for number, look in enumerate(release.looks):
        drawn = noise.of(look, len(own))
        share, spread = _share_and_spread(look, law, metric)
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


def _share_and_spread(look: Look, law: ClippedLaw, metric: Metric) -> tuple[float, float]:
    """Return the share of unclipped rows, and the root mean square of clipped residuals."""
    share = max(law.share(look.fit.scale, look.clip), 1e-3)
    return share, float(np.sqrt(np.clip(look.sums[-1] / metric.n, 0.0, 1.0))) * look.clip


def looks_warning(
    release: LookRelease, replicates: ScaledFit, constant: FloatArray | None = None
) -> str | None:
    """Return why a constant may predict better than a fit, or why intervals are too narrow, or None.

    Parameters
    ----------
    release : LookRelease
    replicates : ScaledFit
        Of `bootstrap_looks`, by steps.
    constant : ndarray of shape (k, n_features), default=None
        As in `varying_directions`.

    Notes
    -----
    Slopes b with an error e gain b*'C b* - e'C e over none, b* being the true ones. What b'C b exceeds that
    by is 2 e'C e on average, and its standard error that of the two products.
    """
    metric, slopes = Metric.of(release.moments), release.fit.coef
    weights = np.clip(metric.values, 0.0, None)
    along = metric.vectors.T @ slopes
    errors = (replicates.coef - slopes) @ metric.vectors
    losses = (errors**2) @ weights
    gain = float(weights @ along**2 - 2.0 * losses.mean())
    spread = np.hypot(np.std(2.0 * (errors * along) @ weights), np.std(losses))
    if gain > spread:
        return None if slopes_are_told(release.moments, constant) else UNTOLD
    return HIDDEN


def _located(
    law: ClippedLaw, look: Look, fit: ScaledFit, n: float, noise: FloatArray, rng: np.random.Generator
) -> FloatArray:
    """Return errors of location and log scale from those of the clipped mean and mean square."""
    covariance = law.spread(fit.scale, look.clip) / n
    sampled = rng.multivariate_normal(np.zeros(2), covariance, size=len(noise), method="eigh")
    return (sampled + noise) @ np.linalg.pinv(law.jacobian(fit.scale, look.clip)).T
