# SPDX-License-Identifier: BSD-3-Clause
"""What a censored fit released; from it the estimates, their bootstrap, and when they are useless."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ._belief import Belief, StepRule, length_of, to_fit
from ._families import NORMAL, Family
from ._histogram import HistogramRelease
from ._rounds import Round
from ._solve import ScaledFit

FloatArray = NDArray[np.float64]

# Replicates that the warnings look at.
_FEW_REPLICATES = 100
# Spread of the slopes, relative to them, and of the 10 % quantile, in scales, at which a fit is of little
# use.
_LOOSE_SLOPES = 0.3
_LOOSE_QUANTILE = 0.19
# How far the rows at risk may be from the normal law of the steps, relative to their variances.
_MISFIT = 0.05
# What noise leaves of the way, per 1 beyond the harmless, and the most that is believed; simulated.
_SHORT = 0.3
_HARMLESS = 0.3
_SHORTEST = 0.5
# A last step that long has not arrived, in standard deviations of the error.
_LONG_STEP = 0.6
# Normal errors: with fewer released curvatures, at a smaller share of events, rounds end too early.
_KNOWN_CURVATURES = 3
_MOSTLY_EVENTS = 0.6
# Noisy number of events below which nothing is to be learnt, in standard deviations of its noise.
_FEW_EVENTS = 3.0


@dataclass(frozen=True, eq=False)
class CensoredRelease:
    """Everything that a censored fit released; noisy.

    Attributes
    ----------
    histogram : HistogramRelease
        Counts by time and event.
    rounds : tuple of Round
    belief : Belief
        Of the last round; made of the others.
    rule : StepRule
    theta : ndarray of shape (D,)
        The parameters: 1 / scale at index 1, -intercept / scale at 0, -coef / scale behind.
    mechanism : {"laplace", "gaussian"}
    """

    histogram: HistogramRelease
    rounds: tuple[Round, ...]
    belief: Belief
    rule: StepRule
    theta: FloatArray
    mechanism: str

    @property
    def fit(self) -> ScaledFit:
        """The model in scaled units."""
        return to_fit(self.theta)

    @property
    def event_share(self) -> float:
        """Noisy share of events among all rows."""
        return self.histogram.event_share


def bootstrap_censored(release: CensoredRelease, n_replicates: int = 400, seed: int = 0) -> ScaledFit:
    """Return replicates of the fit: the last round, with fresh noise and fresh rows.

    Parameters
    ----------
    release : CensoredRelease
    n_replicates : int, default=400
    seed : int, default=0
        Of a generator of its own: the result is a function of the release.

    Returns
    -------
    replicates : ScaledFit
        A stack.

    Notes
    -----
    Around the parameters of the last round, the released gradient is taken for the true one. Each replicate
    adds to it the rows' own spread, normal with the information as covariance, and fresh noise; it adds fresh
    noise to the number of events and to the curvature that the step is made with; and it takes the step.
    Post-processing of released values: it spends nothing.
    """
    rng = np.random.default_rng(seed)
    last, belief, rule = release.rounds[-1], release.belief, release.rule
    gradient = last.gradient + _noise(rng, release.mechanism, last.gradient_std, n_replicates)
    gradient += rng.multivariate_normal(
        np.zeros(len(gradient[0])), _information(release), n_replicates, method="eigh"
    )
    events = last.events + _noise(rng, release.mechanism, np.array([last.events_std]), n_replicates)[:, 0]
    widths = np.sqrt(np.maximum(np.diagonal(belief.covariance), 0.0))
    std = np.hypot(belief.noise, _MISFIT * np.outer(widths, widths))
    fresh = _symmetric_noise(rng, std, n_replicates)
    design = rule.design(belief, float(last.theta[1]), belief.covariance + fresh)
    first = len(release.rounds) == 1
    moved = rule.move(design, last.theta, gradient, events, first)
    # One factor for both: what the normal law of the rows at risk misses lies along the target.
    wrong = 1.0 + rule.doubt * rng.standard_normal((n_replicates, 1))
    moved[:, :2] = last.theta[:2] + wrong * (moved[:, :2] - last.theta[:2])
    moved[:, 1] = np.clip(moved[:, 1], *rule.limits)
    return _short_of(to_fit(moved), release, rng.uniform(0.0, 2.0, n_replicates))


def _short_of(fits: ScaledFit, release: CensoredRelease, share: FloatArray) -> ScaledFit:
    """Let replicates stop short of where they go, as noisy curvatures make the rounds do.

    Rounds start from a fit without features, whose scale is too large and whose lower quantiles are too low.
    Noise in the covariance of the target, in units of the errors' variance, leaves a part of that.
    """
    noise = release.belief.noise * float(release.theta[1]) ** 2
    part = min(_SHORT * max(noise - _HARMLESS, 0.0), _SHORTEST) * share
    scale = fits.scale * (1.0 + 0.5 * part)
    return ScaledFit(fits.intercept - 0.5 * part * fits.scale, fits.coef, scale)


def _noise(rng: np.random.Generator, mechanism: str, std: FloatArray, size: int) -> FloatArray:
    """Continuous noise of the released law."""
    shape = (size, len(std))
    return (
        rng.laplace(size=shape) * std / np.sqrt(2) if mechanism == "laplace" else rng.normal(size=shape) * std
    )


def _symmetric_noise(rng: np.random.Generator, std: FloatArray, size: int) -> FloatArray:
    """Noise of covariances; squares have twice that of products."""
    upper = np.triu(rng.normal(size=(size, *std.shape)) * std)
    return upper + np.swapaxes(upper, 1, 2)


def _information(release: CensoredRelease) -> FloatArray:
    """Information about theta in the rows, by the released values."""
    design = release.rule.design(release.belief, float(release.theta[1]))
    whole = np.concatenate([[1.0], design.mean])
    information = np.outer(whole, whole)
    information[1:, 1:] += design.covariance
    information *= design.total
    information[1, 1] += max(release.rounds[-1].events, 1.0) / release.theta[1] ** 2
    return information


def censored_warning(release: CensoredRelease, family: Family) -> str | None:
    """Return why a censored fit is of little use, by released values alone, or None."""
    histogram = release.histogram
    n_cells = histogram.counts.shape[1]
    if histogram.counts[1].sum() < _FEW_EVENTS * histogram.noise_std * np.sqrt(n_cells):
        return "by the released counts there may be no events at all; the estimates mean nothing."
    slopes, quantile = spreads(release, family)
    if slopes > _LOOSE_SLOPES:
        return (
            "by the released values, the noise hides what the features tell; use more rows, a larger "
            "epsilon, or fewer features."
        )
    if quantile > _LOOSE_QUANTILE:
        return (
            "by the released values, the noise hides the lower quantiles; use more rows or a larger epsilon."
        )
    known = sum(one.curvature is not None for one in release.rounds)
    if family is NORMAL and known < _KNOWN_CURVATURES and histogram.event_share < _MOSTLY_EVENTS:
        return (
            "by the released values, normal errors need more rows than these: lower quantiles may come out "
            "too low, by more than their intervals. Use more rows or a larger epsilon."
        )
    last = release.rounds[-1]
    design = release.rule.design(release.belief, float(last.theta[1]))
    if length_of(design, release.theta - last.theta) > _LONG_STEP:
        return "the last round still moved the estimates far; use more rounds, more rows or a larger epsilon."
    return None


def spreads(release: CensoredRelease, family: Family) -> tuple[float, float]:
    """Return spreads: of the slopes, relative to them, and of the 10 % quantile at the centre, in scales."""
    replicates, fit = bootstrap_censored(release, _FEW_REPLICATES), release.fit
    misses = np.linalg.norm(replicates.coef - fit.coef, axis=1)
    slopes = float(np.sqrt(np.mean(misses**2)) / max(float(np.linalg.norm(fit.coef)), 1e-300))
    error = float(family.quantile(0.1))
    low = replicates.intercept + error * replicates.scale - (fit.intercept + error * fit.scale)
    return slopes, float(np.std(low) / fit.scale)
