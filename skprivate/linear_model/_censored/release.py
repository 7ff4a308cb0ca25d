# SPDX-License-Identifier: BSD-3-Clause
"""The release of a censored fit, its estimates, their bootstrap, and the warning that they are useless."""

from dataclasses import dataclass, replace

import numpy as np

from ..._typing import FloatArray
from ...utils._public_module import public_module
from .._distributions import ErrorDistribution
from .._moments.released_moments import ScaledFit, mirrored, varying_directions
from .gradient_round import GradientRound
from .histograms import Correction, HistogramRelease, ResidualHistogram, replicate
from .newton import CurvatureEstimate, StepErrors, StepRule, correlation, to_fit

# Parameters up to which every replicate inverts its own information: it takes time with their cube.
_WHOLE = 40
# Of the information as it was believed, in some direction, what the noise may leave: intervals are up to so
# many times as wide there.
_LEAST_INFORMATION = 0.02
# Replicates that the warnings look at.
_FEW_REPLICATES = 100
# Slopes within two standard errors of none show nothing: the errors of the predictions are that part of them.
_LOOSE_SLOPES = 0.5
# Part of a normal distribution within one standard deviation: replicates may have tails without a variance.
_ONE_ERROR = 0.683
#: What fits without columns say, too.
NO_EVENTS = (
    "by the released counts there may be no events at all; the estimates mean nothing. Look at the coding of "
    "the events, such as life_data(..., happened='dead'), and at the times: a row with a time that is no "
    "number counts as censored."
)
# Mean square of two normal differences, in standard deviations: it is beyond in 5 of 100,000 fits.
_SURPRISING = 10.0
# The largest of 64 sums of Laplace noise is beyond, in standard deviations, once in 100 fits.
_STANDS_OUT = 5.0
# What is no noise: differences of counts, and the features' mean square, in standard deviations.
_CLEARLY = 3.0
# Share of the rows, beyond that of the next bin, which no observation of usual studies puts into the first:
# rows that were observed at one time. It must stand out of the noise as well.
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
        After the last round; a function of the rounds.
    rule : StepRule
    theta : ndarray of shape (D,)
        The parameters: 1 / scale at index 1, -intercept / scale at 0, -coef / scale behind.
    mechanism : {"laplace", "gaussian"}
    residuals : ResidualHistogram or None
        Counts by event and standardised residual; None where, by the rounds, they would have shown nothing.
    correction : Correction or None
        What they moved location and scale by; a function of all of these.
    contraction : float or None
        Part of a step that was left, by the rounds before residuals moved the start of the last one; None: by
        the last two rounds.
    ends : HistogramRelease or None
        Counts of times within and beyond the bounds, where they were released before the histogram.
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
        Of a generator of its own: the result is a function of the release.
    rows_per_unit : int, default=1
        Rows of one unit, which may all be alike: their own spread has so many times the variance.
    with_noise : bool, default=True
        False: the rows alone are drawn anew, to show how much of the variance is the noise's.
    constant : ndarray of shape (k, n_features), default=None
        As in `varying_directions`: standardised slopes along them are not off.

    Returns
    -------
    replicates : ScaledFit
        A stack.

    Notes
    -----
    The last step is s = theta - theta_K = I^-1 g, with I the information and g the gradient that was released
    at theta_K. Had the information been J, the step would have been J^-1 g, and errors of the gradient dg
    move it by J^-1 dg: so theta is off by (I^-1 - J^-1) g + J^-1 dg. A replicate draws

    - J: I as it was seen, before it was made positive definite, with the noise that is left in it. Where the
      features hardly vary in some direction, J^-1 is anything, and intervals are as wide;
    - dg: the rows' own spread, normal with covariance I, and the noise of the gradient and of the events;
    - what the rounds have left undone: along the last step, either way, the part of it that the step before
      left of its own, as the last one showed, and the part that a curvature of both ends leaves
      (`left_by_curvatures`); and the step times half of the way since the curvature was released, in a
      direction that is not known: normal with covariance I^-1.

    With many parameters J^-1 is taken to first order in the noise.

    Post-processing of released values: it spends nothing.
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
    """Draw by how much a step is off, with errors of the gradient, where the information is noisy."""
    std, size = errors.curvature_std, len(errors.step)
    noise = mirrored(_noise(rng, mechanism, std[np.triu_indices(size)], len(push)), size)
    model = errors.model
    noise[:, 1:, 1:] += model.total * (model.seen - model.covariance)
    if len(varying) < size - 2:
        # Features do not vary along the others: that much is known of the information.
        noise[:, 2:] = varying.T @ varying @ noise[:, 2:]
        noise[:, :, 2:] = noise[:, :, 2:] @ varying.T @ varying
    # About the mean of the rows at risk, and in the coordinates in which the information is the identity.
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

    `strict` says whether the rows were read in strict mode.
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
    # Of one bin only: that of some other stands out once in 100 fits.
    noise = _STANDS_OUT * histogram.noise_std * np.sqrt(len(histogram.counts))
    if not release.rule.in_halves and int(np.sum(histogram.counts.sum(axis=0) > noise)) <= 1:
        return (
            "by the released counts, all rows were looked at at about one time: they determine the scale and "
            "the slopes only relative to each other, and no lifetime but that time."
        )
    return None


def hides_features(release: CensoredRelease, constant: FloatArray | None = None) -> bool:
    """Whether the noise hides how much the features vary, or moves predictions nearly as much as they do.

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
    """Whether the rounds ended farther from convergence than intervals account for.

    The distribution of the noise is known; how far the rounds are from convergence is guessed, and raised
    where the residuals contradict it. Where these contradict it by far, or have no maximum of likelihood,
    the model of the errors is wrong. Without residuals, most of the variance of the scale, or of the 10 %
    quantile, must not be that guess.
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
