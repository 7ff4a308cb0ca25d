# SPDX-License-Identifier: BSD-3-Clause
"""The release of a censored fit, its estimates, their bootstrap, and the warning that they mean nothing."""

from dataclasses import dataclass, replace

import numpy as np

from ..._typing import FloatArray
from ...utils._public_module import public_module
from .._distributions import ErrorDistribution
from .._moments.released_moments import ScaledFit, mirrored, varying_directions
from .gradient_round import GradientRound
from .histograms import Correction, HistogramRelease, ResidualHistogram, replicate
from .newton import CurvatureEstimate, StepErrors, StepRule, correlation, to_fit

# Number of parameters up to which every replicate inverts its own information: this takes time with their
# cube.
_WHOLE = 40
# Least part of the information that the noise may leave in a direction: intervals are up to so many times as
# wide there. Set by hand.
_LEAST_INFORMATION = 0.02
# Replicates for the warnings. Set by hand.
_FEW_REPLICATES = 100
# Slopes within two standard errors of none show nothing: the errors of the predictions are that part of them.
_LOOSE_SLOPES = 0.5
# Part of a normal distribution within one standard deviation: replicates may have tails without a variance.
_ONE_ERROR = 0.683
#: Reason that fits without columns give, too.
#: What fits without columns say, too.
NO_EVENTS = (
    "by the released counts there may be no events at all; the estimates mean nothing. Look at the coding of "
    "the events, such as life_data(..., happened='dead'), and at the times: a row with a time that is no "
    "number counts as censored."
)
# Mean square of two normal differences, in standard deviations: larger in 5 of 100,000 fits.
_SURPRISING = 10.0
# The largest of 64 sums of Laplace noise is beyond it, in standard deviations, once in 100 fits.
_STANDS_OUT = 5.0
# From so many standard deviations the features' mean square is not noise. Set by hand.
_CLEARLY = 3.0
# Share of the rows, beyond that of the next bin, which usual studies do not have in the first bin: rows that
# were observed at one time. It must stand out of the noise as well. Set by hand.
_MANY = 0.1


@public_module("skprivate.linear_model")
@dataclass(frozen=True, eq=False)
class CensoredRelease:
    """Everything that a censored fit released, with noise.

    Attributes
    ----------
    histogram : HistogramRelease
        Counts by time and event.
    rounds : tuple of GradientRound
    curvature_estimate : CurvatureEstimate
        After the last round. It is a function of the rounds.
    rule : StepRule
    theta : ndarray of shape (D,)
        The parameters: 1 / scale at index 1, -intercept / scale at 0, then -coef / scale.
    mechanism : {"laplace", "gaussian"}
    residuals : ResidualHistogram or None
        Counts by event and standardised residual; None if, by the rounds, they would have shown nothing.
    correction : Correction or None
        Change of location and scale by them. It is a function of all of these.
    contraction : float or None
        Part of a step that was left, by the rounds before residuals moved the start of the last one. None: by
        the last two rounds.
    ends : HistogramRelease or None
        Counts of times within and beyond the bounds, if they were released before the histogram.
    """

    histogram: HistogramRelease
    rounds: tuple[GradientRound, ...]
    curvature_estimate: CurvatureEstimate
    rule: StepRule
    theta: FloatArray
    mechanism: str
    residuals: ResidualHistogram | None = None
    correction: Correction | None = None
    contraction: float | None = None
    ends: HistogramRelease | None = None

    @property
    def fit(self) -> ScaledFit:
        """The model in scaled units."""
        return to_fit(self.theta)

    @property
    def event_share(self) -> float:
        """Noisy share of events among all rows."""
        return self.histogram.event_share


def bootstrap_censored(
    release: CensoredRelease,
    n_replicates: int = 400,
    seed: int = 0,
    *,
    rows_per_unit: int = 1,
    with_noise: bool = True,
    constant: FloatArray | None = None,
) -> ScaledFit:
    """Return replicates of the fit: the last round, with fresh noise and fresh rows.

    Parameters
    ----------
    release : CensoredRelease
    n_replicates : int, default=400
    seed : int, default=0
        Seed of a separate generator: the result is a function of the release.
    rows_per_unit : int, default=1
        Rows of one unit, which may all be alike: their own spread has so many times the variance.
    with_noise : bool, default=True
        False: only the rows are drawn again, to show how much of the variance the noise makes.
    constant : ndarray of shape (k, n_features), default=None
        As in `varying_directions`: standardised slopes along them have no error.

    Returns
    -------
    replicates : ScaledFit
        A stack.

    Notes
    -----
    The last step is s = theta - theta_K = I^-1 g. I is the information, and g the gradient that was released
    at theta_K. If the information were J, the step would be J^-1 g, and errors dg of the gradient would move
    it by J^-1 dg. So theta has the error (I^-1 - J^-1) g + J^-1 dg. A replicate draws

    - J: I as released, before it was made positive definite, with the noise that is left in it. If the
      features hardly vary in some direction, J^-1 may be anything, and intervals are as wide;
    - dg: the rows' own spread, normal with covariance I, and the noise of the gradient and of the events;
    - what the rounds left undone. Along the last step, in either direction, this is made of two parts of it:
    what the step before left of its own, as the last one showed, and what a curvature of both ends leaves
    (`left_by_curvatures`). In an unknown direction, normal with covariance I^-1, it is the step times half
      of the way since the curvature was released.

    With many parameters J^-1 is used to first order in the noise.

    It is post-processing of released values, and spends nothing.
    """
    rng = np.random.default_rng(seed)
    last, mechanism, errors = release.rounds[-1], release.mechanism, errors_of(release)
    push = with_noise * _noise(rng, mechanism, last.gradient_std, n_replicates)
    events = with_noise * _noise(rng, mechanism, np.array([last.events_std]), n_replicates)[:, 0]
    push[:, 1] += events / errors.theta[1]
    rows, left = _scores(rng, errors.information, (2, n_replicates))
    rows *= np.sqrt(rows_per_unit)
    undone = errors.share * rng.standard_normal((n_replicates, 1)) * (errors.information @ errors.step)
    push += rows + with_noise * (np.sqrt(errors.unfinished) * left + undone)
    varying = varying_directions(len(errors.step) - 2, constant)
    if with_noise and len(errors.step) <= _WHOLE:
        moved = errors.theta + _off(rng, mechanism, errors, push, varying)
    else:
        nothing = np.zeros(len(last.theta))
        bent = rng.multivariate_normal(nothing, errors.noise_of_curvature, n_replicates, method="eigh")
        moved = errors.theta + (push + with_noise * bent) @ errors.inverse
    if constant is not None:
        off = moved[:, 2:] - errors.theta[2:]
        unmoved = off - off @ varying.T @ varying
        moved[:, 2:] -= unmoved
        moved[:, 0] += unmoved @ errors.model.mean[1:]
    moved[:, 1] = np.clip(moved[:, 1], *release.rule.limits)
    correction, residuals = release.correction, release.residuals
    if correction is not None and residuals is not None:
        noise = correction.law.draw(with_noise * residuals.noise_std, mechanism, rng, n_replicates)
        moved = replicate(correction, errors, moved, rows, noise)
        moved[:, 1] = np.clip(moved[:, 1], *release.rule.limits)
    return to_fit(moved)


def _off(
    rng: np.random.Generator, mechanism: str, errors: StepErrors, push: FloatArray, varying: FloatArray
) -> FloatArray:
    """Draw the error of a step, with errors of the gradient, if the information is noisy."""
    std, size = errors.curvature_std, len(errors.step)
    noise = mirrored(_noise(rng, mechanism, std[np.triu_indices(size)], len(push)), size)
    model = errors.model
    noise[:, 1:, 1:] += model.total * (model.seen - model.covariance)
    if len(varying) < size - 2:
        # Features do not vary along the other directions: that much is known of the information.
        noise[:, 2:] = varying.T @ varying @ noise[:, 2:]
        noise[:, :, 2:] = noise[:, :, 2:] @ varying.T @ varying
    # About the mean of the rows at risk, in the coordinates in which the information is the identity.
    forth = np.eye(size)
    forth[0, 1:] = model.mean
    centred = np.linalg.inv(forth).T @ errors.information @ np.linalg.inv(forth)
    widths = np.sqrt(np.diagonal(centred))
    values, vectors = np.linalg.eigh(correlation(centred))
    inverse = vectors / (widths[:, None] * np.sqrt(values))
    other, turned = np.linalg.eigh(np.eye(size) + inverse.T @ noise @ inverse)
    step = (forth @ errors.step) @ (widths[:, None] * vectors * np.sqrt(values))
    pushes = push @ np.linalg.inv(forth) @ inverse
    along = np.einsum("nij,ni->nj", turned, pushes - step) / np.maximum(other, _LEAST_INFORMATION)
    return (step + np.einsum("nij,nj->ni", turned, along)) @ inverse.T @ np.linalg.inv(forth).T


def _scores(rng: np.random.Generator, information: FloatArray, shape: tuple[int, int]) -> FloatArray:
    """Draw normal scores whose covariance is the information."""
    related = correlation(information)
    draws = rng.multivariate_normal(np.zeros(len(related)), related, shape, method="eigh")
    return draws * np.sqrt(np.diagonal(information))


def errors_of(release: CensoredRelease) -> StepErrors:
    """Return the errors of the last step; see `bootstrap_censored`."""
    correction = release.correction
    theta = release.theta if correction is None else correction.theta
    errors = StepErrors.of(
        release.rule, release.curvature_estimate, release.rounds, theta, release.contraction
    )
    return errors if correction is None else replace(errors, unfinished=correction.unfinished)


def _noise(rng: np.random.Generator, mechanism: str, std: FloatArray, size: int) -> FloatArray:
    """Draw continuous noise of the distribution of the release's noise."""
    shape = (size, len(std))
    return (
        rng.laplace(size=shape) * std / np.sqrt(2) if mechanism == "laplace" else rng.normal(size=shape) * std
    )


def means_nothing(release: CensoredRelease, *, strict: bool = False) -> str | None:
    """Return why no estimate of a censored fit means anything, by released values alone, or None.

    `strict` is whether the rows were read in strict mode.
    """
    histogram = release.histogram
    if not histogram.shows_events:
        return NO_EVENTS
    first, second = histogram.counts[0, :2]
    if strict and first - second > max(_STANDS_OUT * histogram.noise_std, _MANY * histogram.counts.sum()):
        return (
            "by the released counts, many rows are censored at the lower bound of bounds_y, where they carry "
            "no information. A row with a missing or undeclared event counts so: declare the coding, such as "
            "life_data(..., happened=2) where 2 means that the event happened."
        )
    # Only one bin exceeds the noise: another one would by chance once in 100 fits.
    noise = _STANDS_OUT * histogram.noise_std * np.sqrt(len(histogram.counts))
    if not release.rule.in_halves and int(np.sum(histogram.counts.sum(axis=0) > noise)) <= 1:
        return (
            "by the released counts, all rows were observed at about one time: they determine the scale and "
            "the slopes only relative to each other, and no lifetime except that time."
        )
    return None


def hides_features(release: CensoredRelease, constant: FloatArray | None = None) -> bool:
    """Return whether noise hides how much features vary, or moves predictions nearly as much as they do.

    `constant` is as in `varying_directions`.
    """
    if release.curvature_estimate.clearness < _CLEARLY:
        return True
    replicates = bootstrap_censored(release, _FEW_REPLICATES, constant=constant)
    varying = varying_directions(len(release.fit.coef), constant)
    model = release.rule.newton_model(release.curvature_estimate, float(release.theta[1]))
    features = varying @ model.covariance[1:, 1:] @ varying.T
    coef = varying @ release.fit.coef
    misses = replicates.coef @ varying.T - coef
    error = np.quantile(np.einsum("ri,ij,rj->r", misses, features, misses), _ONE_ERROR)
    return bool(error > _LOOSE_SLOPES**2 * (coef @ features @ coef))


def unsettled(release: CensoredRelease, distribution: ErrorDistribution) -> bool:
    """Return whether the rounds ended farther from convergence than intervals account for.

    The distribution of the noise is known. The distance of the rounds from convergence is guessed, and raised
    if the residuals contradict it. If these contradict it by far, or have no maximum of likelihood, the model
    of the errors is wrong. Without residuals, that guess must not make most of the variance of the scale, or
    of the 10 % quantile.
    """
    if release.correction is not None:
        return release.correction.surprise > _SURPRISING
    errors, last = errors_of(release), release.rounds[-1]
    theta, noise = errors.theta, errors.noise(last)
    center = release.curvature_estimate.mean[1:]
    error = (float(distribution.quantile(0.1)) - theta[0] - theta[2:] @ center) / theta[1]
    moves = np.stack([np.eye(len(theta))[1], np.concatenate([[1.0, error], center])]) @ errors.inverse
    known = np.einsum("ki,ij,kj->k", moves, errors.information + noise, moves)
    guessed = errors.unfinished * np.einsum("ki,ij,kj->k", moves, errors.information, moves)
    return bool(np.any(guessed > known))
