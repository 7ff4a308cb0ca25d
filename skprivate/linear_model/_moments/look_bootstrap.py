# SPDX-License-Identifier: BSD-3-Clause
"""Replicates of a fit with looks, and the warning that the noise hides the effect of the features."""

import numpy as np

from ..._typing import FloatArray
from .._distributions import ErrorDistribution
from .clipped_law import ClippedLaw, clipped_law
from .looks import Look, LookRelease, Metric, noise_of_equations
from .solve import ScaledFit
from .utility import HIDDEN


def bootstrap_looks(
    release: LookRelease,
    distribution: ErrorDistribution,
    *,
    n_replicates: int = 400,
    seed: int = 0,
    with_noise: bool = True,
) -> ScaledFit:
    """Draw fits that the fitted model would give, from what was released and its noise.

    Parameters
    ----------
    release : LookRelease
    distribution : ErrorDistribution
    n_replicates, seed, with_noise
        As in `bootstrap_moments`.

    Returns
    -------
    fits : ScaledFit
        A stack, in scaled units.

    Notes
    -----
    The slopes' error goes through the steps of the fit, in the directions of the released moments: that of
    the first fit is made of the noise of the moments, the rows' own spread, and what the regulariser takes. A
    look multiplies it by what its moments miss, where the noise E of the moments acts on an error as a random
    vector of the size of E, drawn anew for every look; and adds its own noise and the rows' spread, the same
    in all looks. Location and scale are off by the spread and the noise of the clipped mean and mean square,
    and residuals are wider than the errors by what the slopes miss.

    **Privacy**: a function of released values.
    """
    metric, law = Metric.of(release.moments), clipped_law(distribution)
    # Of the rows, and of the noise: without noise the rows' part is the same.
    rng, others = (np.random.default_rng(child) for child in np.random.SeedSequence(seed).spawn(2))
    fit = release.fit
    draw = _drawer(release.mechanism if with_noise else "none", others)
    slopes = metric.vectors.T @ fit.coef
    own = rng.standard_normal((n_replicates, len(slopes))) * np.sqrt(np.maximum(metric.plausible, 1.0))
    error = (np.clip(metric.values, 0.0, None) / metric.raised - 1.0) * slopes
    first = np.sqrt(noise_of_equations(release.moments, metric, fit.coef))
    error = error + (draw((n_replicates, len(slopes))) * first) @ metric.vectors / metric.raised
    error += own * (fit.scale * law.std) / metric.raised
    kept = 1.0 - np.clip(metric.values, 0.0, None) / metric.raised
    mean_error, place, widened = np.zeros_like(error), np.zeros((n_replicates, 2)), np.zeros(n_replicates)
    variance = (fit.scale * law.std) ** 2
    for number, look in enumerate(release.looks):
        noise = draw((n_replicates, len(look.noise_std))) * look.noise_std * look.clip
        share = max(law.share(look.fit.scale, look.clip), 1e-3)
        spread = np.sqrt(np.clip(look.sums[-1] / metric.n, 0.0, 1.0)) * look.clip
        size = np.sqrt(np.sum(error**2, axis=1, keepdims=True))
        acting = (others.standard_normal(error.shape) * (metric.entry * size)) if with_noise else 0.0
        missed = (error**2) @ metric.plausible / (metric.n * variance)
        pulled = (noise[:, 1:-1] - noise[:, :1] * metric.mean) @ metric.vectors
        error = kept * error + (acting + (pulled + own * spread) / share) / metric.raised
        if number >= len(release.looks) - release.n_averaged:
            mean_error += error / release.n_averaged
            widened += 0.5 * np.log1p(missed) / release.n_averaged
            place += noise[:, [0, -1]] * [1.0, look.clip] / metric.n / release.n_averaged
    place = _located(law, release.looks[-1], fit, metric.n, place, rng)
    coef = fit.coef + mean_error @ metric.vectors.T
    intercept = fit.intercept + place[:, 0] - (coef - fit.coef) @ metric.mean
    return ScaledFit(intercept, coef, fit.scale * np.exp(place[:, 1] + widened))


def looks_warning(release: LookRelease, replicates: ScaledFit) -> str | None:
    """Return why a constant may predict better than a fit, or None; from released values.

    Parameters
    ----------
    release : LookRelease
    replicates : ScaledFit
        Of `bootstrap_looks`.

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
    return None if gain > spread else HIDDEN


def _drawer(mechanism: str, rng: np.random.Generator):  # type: ignore[no-untyped-def]
    """Return a function that draws noise of standard deviation 1."""

    def draw(shape: tuple[int, ...]) -> FloatArray:
        if mechanism == "none":
            return np.zeros(shape)
        if mechanism == "laplace":
            return rng.laplace(scale=np.sqrt(0.5), size=shape)
        return rng.standard_normal(shape)

    return draw


def _located(
    law: ClippedLaw, look: Look, fit: ScaledFit, n: float, noise: FloatArray, rng: np.random.Generator
) -> FloatArray:
    """Return errors of location and log scale from those of the clipped mean and mean square."""
    covariance = law.spread(fit.scale, look.clip) / n
    sampled = rng.multivariate_normal(np.zeros(2), covariance, size=len(noise), method="eigh")
    return (sampled + noise) @ np.linalg.pinv(law.jacobian(fit.scale, look.clip)).T
