# SPDX-License-Identifier: BSD-3-Clause
"""Correction of location and scale by the histogram of residuals, beside what the rounds say of them."""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from ..._typing import FloatArray
from ...utils._public_module import public_module
from .._distributions import ErrorDistribution
from .gradient_round import GradientRound
from .residual_histogram import LawFit, ResidualHistogram, fit_law, noise_of_scores
from .step_errors import StepErrors

# Greatest predicted error of the log scale from the histogram's noise with which it is asked: beyond, the
# likelihood of noisy counts is no longer near its quadratic.
_USABLE = 0.2
# Largest variance of the slopes' errors, in the law's scales, that a fit of the residuals allows for.
_MOST_SPREAD = 0.25
# Range of a raised guess of what rounds have left undone, as a multiple of the rows' own variance.
_LEAST_UNFINISHED = 1e-6
_MOST_UNFINISHED = 1e8
# Log scales of replicates beyond are those of noise alone, and would overflow.
_FARTHEST = 10.0


@public_module("skprivate.linear_model")
@dataclass(frozen=True, eq=False)
class Correction:
    """How location and scale were moved after the last round.

    Attributes
    ----------
    theta : ndarray of shape (D,)
        Where the rounds ended: the residuals were counted there.
    law : LawFit
        Of the residuals.
    weight : ndarray of shape (2, 2)
        Of the residuals' location and log scale beside those of the rounds, which are 0 at theta.
    spread : float
        Variance that the noise of the slopes gives the residuals.
    unfinished : float
        What rounds have left undone, as in `StepErrors`; at least what was guessed there.
    surprise : float
        Mean square of the two differences between residuals and rounds, in standard deviations, with what was
        guessed; about 1, and inf where the residuals have no location and scale.
    """

    theta: FloatArray
    law: LawFit
    weight: FloatArray
    spread: float
    unfinished: float
    surprise: float

    @property
    def by(self) -> FloatArray:
        """Location and log scale of the residuals, as far as they are believed."""
        return self.weight @ np.array([self.law.location, self.law.log_scale])

    def apply(self, limits: tuple[float, float]) -> FloatArray:
        """Return the corrected parameters."""
        location, log_scale = self.by
        theta = self.theta.copy()
        theta[0] -= location
        theta *= np.exp(-log_scale)
        theta[1] = np.clip(theta[1], *limits)
        return theta


def residuals_pay(errors: StepErrors, distribution: ErrorDistribution, noise_std: float) -> bool:
    """Whether a histogram with such noise would tell the scale of the errors, by released values."""
    inverse = np.linalg.inv(errors.law_information)
    error = noise_std**2 * (inverse @ noise_of_scores(distribution) @ inverse)[1, 1]
    return bool(error < _USABLE**2)


def correct(
    residuals: ResidualHistogram, distribution: ErrorDistribution, errors: StepErrors, last: GradientRound
) -> Correction:
    """Weigh the residuals' location and scale against those of the rounds, by the variances of their noise.

    Notes
    -----
    Both estimates of (location, log scale), with slopes known, have independent noise, and errors from the
    same rows that are the same, to first order, but for what cuts and bins take from either: an efficient
    estimate is uncorrelated with its difference from another one, whose variance is the difference of the
    variances. The weights are those of least variance. An error of the slopes moves the location where the
    features are at their centres alike in both. What the rounds have left undone is a
    guess: where the two differ by more than their variances say, it is raised until the difference has the
    mean square that it should have.
    """
    noise = errors.noise(last)
    # Of the slopes at a given scale of the errors.
    slopes = np.eye(len(errors.theta))[2:]
    slopes[:, 1] = -errors.theta[2:] / errors.theta[1]
    moved = slopes @ errors.inverse
    spread = float(np.einsum("ij,ji->", errors.features, moved @ noise @ moved.T))
    law = fit_law(residuals, distribution, min(spread, _MOST_SPREAD))
    inverse = np.asarray(np.linalg.inv(errors.law_information), dtype=np.float64)
    directions = errors.law_directions
    known = inverse @ directions.T @ noise @ directions @ inverse
    if not law.settled:
        return Correction(errors.theta, law, np.zeros((2, 2)), spread, errors.unfinished, np.inf)
    own = law.noise(residuals.noise_std)
    apart = known + own + _magnitude(inverse - law.inverse)
    found = np.array([law.location, law.log_scale])
    guessed = apart + errors.unfinished * inverse
    surprise = float(found @ np.linalg.solve(guessed, found)) / len(found)
    unfinished = _unfinished(found, apart, inverse, errors.unfinished)
    rounds = known + unfinished * inverse
    weight = rounds @ np.linalg.inv(rounds + own)
    return Correction(errors.theta, law, weight, spread, unfinished, surprise)


def _magnitude(matrix: FloatArray) -> FloatArray:
    """Return the symmetric matrix with its eigenvalues' magnitudes."""
    values, vectors = np.linalg.eigh(0.5 * (matrix + matrix.T))
    return np.asarray((vectors * np.abs(values)) @ vectors.T)


def _unfinished(found: FloatArray, known: FloatArray, guess: FloatArray, least: float) -> float:
    """Return the multiple of `guess`, at least `least`, with which two differences have the mean square 1."""

    def excess(log_multiple: float) -> float:
        variance = known + np.exp(log_multiple) * guess
        return float(found @ np.linalg.solve(variance, found)) - len(found)

    low, high = np.log(max(least, _LEAST_UNFINISHED)), np.log(_MOST_UNFINISHED)
    if low >= high or excess(low) <= 0.0:
        return least
    return float(np.exp(high if excess(high) > 0.0 else brentq(excess, low, high)))


def replicate(
    correction: Correction,
    errors: StepErrors,
    rounds: FloatArray,
    rows: FloatArray,
    residuals: FloatArray,
) -> FloatArray:
    """Return replicates of the corrected parameters.

    Parameters
    ----------
    correction : Correction
    errors : StepErrors
    rounds : ndarray of shape (n, D)
        Replicates of where the rounds ended.
    rows : ndarray of shape (n, D)
        The rows' own scores in these.
    residuals : ndarray of shape (n, 2)
        Errors of the residuals' location and log scale that their noise makes.
    """
    theta = correction.theta
    factor = theta[1] / rounds[:, 1]
    slopes = rounds[:, 2:] * factor[:, None] - theta[2:]
    shared = slopes @ errors.law_by_slopes.T
    of_rounds = np.column_stack([theta[0] - rounds[:, 0] * factor, np.log(factor)]) + shared
    of_rows = rows @ errors.law_directions @ np.linalg.inv(errors.law_information)
    # The slopes' errors spread the residuals; their mean square has been allowed for.
    squares = np.minimum(np.einsum("ni,ij,nj->n", slopes, errors.features, slopes), _MOST_SPREAD)
    of_residuals = of_rows + residuals - (squares - squares.mean())[:, None] * correction.law.bend
    both = of_rounds + (of_residuals - of_rounds) @ correction.weight.T - shared + correction.by
    moved = np.empty_like(rounds)
    moved[:, 0] = theta[0] - both[:, 0]
    moved[:, 1] = theta[1]
    moved[:, 2:] = theta[2:] + slopes
    return moved * np.exp(-np.clip(both[:, 1:], -_FARTHEST, _FARTHEST))
