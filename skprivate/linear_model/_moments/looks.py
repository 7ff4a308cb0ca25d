# SPDX-License-Identifier: BSD-3-Clause
"""Looks at the residuals of a first fit to moments: rounds that lead to the slopes."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ..._typing import FloatArray
from ...rounds._driver import Rounds
from ...rounds._plans._looks.looks import NARROWEST
from ...rounds._plans._looks.residuals import STEEPEST
from ...rounds._plans.grid import MomentGrid
from ...utils._public_module import public_module
from .._distributions import ErrorDistribution
from .clipped_law import clipped_law
from .look_plan import N_CELLS, LookPlan
from .release import MomentRelease
from .solve import ScaledFit, noise_level, solve_moments

# Shares of the budget: the moments, and the counts of residuals. Simulations with 10 and 30 normal columns,
# 10,000 to 1,000,000 rows, both mechanisms: a quarter to a half for the moments made little difference where
# looks are many.
MOMENTS_SHARE = Fraction(3, 10)
COUNTS_SHARE = Fraction(1, 20)
#: Numbers of looks that are compared. Where noise hides the moments, every look goes a small part of the way.
NUMBERS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
# Weight of what looks leave of the first error, which is a guess where that of their noise is known. On seven
# designs, four with Gaussian noise and bounds that fit or are ten times too wide, three with Laplace noise, 1
# lost up to 2.3 times the error of 4, and 16 won with Gaussian noise what it lost with Laplace noise.
_CAUTION = 4.0
# Quantiles of the distribution beyond which the counts have one cell on each side.
_TAIL = 0.0002


@public_module("skprivate.linear_model")
@dataclass(frozen=True, eq=False)
class ResidualRelease:
    """Noisy counts of standardised residuals.

    Attributes
    ----------
    edges : ndarray of shape (n_cells - 1,)
        Between cells; the first and the last cell have no end.
    counts : ndarray of shape (2, n_cells)
        Row 0: censored, of which there are none; row 1: complete. May be negative.
    noise_std : float
        Standard deviation of the noise of every count.
    """

    edges: FloatArray
    counts: FloatArray
    noise_std: float


@public_module("skprivate.linear_model")
@dataclass(frozen=True, eq=False)
class Look:
    """What one look released, about which fit.

    Attributes
    ----------
    fit : ScaledFit
        About which residuals were taken.
    clip : float
        Of residuals, in scaled units.
    sums : ndarray of shape (n_features + 2,)
        Sums of the clipped residuals, of their products with the features, and of their squares, in clips.
    noise_std : ndarray of shape (n_features + 2,)
        Standard deviations of their noise.
    """

    fit: ScaledFit
    clip: float
    sums: FloatArray
    noise_std: FloatArray


@public_module("skprivate.linear_model")
@dataclass(frozen=True, eq=False)
class LookRelease:
    """Everything that a fit with looks released, and the fit.

    Attributes
    ----------
    moments : MomentRelease
    residuals : ResidualRelease
        About the fit to the moments, in units of its scale.
    looks : tuple of Look
    n_averaged : int
        The fit is the mean of what the last looks led to.
    fit : ScaledFit
    ends : HistogramRelease or None
        Counts of times within and beyond the bounds of the target, where they were released first.
    """

    moments: MomentRelease
    residuals: ResidualRelease
    looks: tuple[Look, ...]
    n_averaged: int
    fit: ScaledFit
    ends: Any = None

    @property
    def mechanism(self) -> str:
        """Distribution of the noise."""
        return self.moments.mechanism


@dataclass(frozen=True, eq=False)
class Metric:
    """Released moments of the features about their means, as looks use them.

    Attributes
    ----------
    n : float
        Number of rows, at least 1.
    mean : ndarray of shape (n_features,)
    values, raised : ndarray of shape (n_features,)
        Eigenvalues, and at least the level of the noise.
    vectors : ndarray of shape (n_features, n_features)
    level : float
        Typical norm of the noise.
    entry : float
        Typical standard deviation of an entry of the centred moments.
    """

    n: float
    mean: FloatArray
    values: FloatArray
    raised: FloatArray
    vectors: FloatArray
    level: float
    entry: float

    @classmethod
    def of(cls, release: MomentRelease) -> "Metric":
        """Take them from a release."""
        n = max(float(release.matrix[0, 0]), 1.0)
        mean = np.clip(release.matrix[0, 2:] / n, -1.0, 1.0)
        values, vectors = np.linalg.eigh(release.matrix[2:, 2:] - n * np.outer(mean, mean))
        # Rows in [-1, 1]; the least keeps the inverse finite where there is no noise to speak of.
        level = noise_level(release)
        raised = np.maximum(values, max(level, 1e-9 * n))
        # Centred moments are off by E - m e' - e m', with e the noise of the features' sums.
        variances, squares = release.noise_std**2, mean**2
        entry = np.sqrt(np.mean(variances[2:, 2:]) + 2.0 * np.mean(squares) * np.mean(variances[0, 2:]))
        return cls(n, mean, values, raised, vectors, level, float(entry))

    def solve(self, equations: FloatArray) -> FloatArray:
        """Return slopes that answer equations, a vector or a stack of them."""
        return (equations @ self.vectors / self.raised) @ self.vectors.T

    @property
    def plausible(self) -> FloatArray:
        """Eigenvalues, where those that the noise hides count as the mean of all, which it hides far less.

        The mean counts as the noise of one entry over the root of their number at least, its own error.
        """
        least = max(self.entry, 1e-9 * self.n) / np.sqrt(len(self.values))
        return np.maximum(self.values, np.clip(self.values.mean(), least, max(0.25 * self.level, least)))


def noise_of_equations(release: MomentRelease, metric: Metric, coef: FloatArray) -> FloatArray:
    """Return the variances of the noise of the equations of slopes at a fit, per feature.

    The sum of centred features times residuals of a line with the constant a is off by
    e_y - E b - a e_x - m (e_0y - e_x . b), where the e are the noises of sums and products.
    """
    variances, squares = release.noise_std**2, coef**2
    constant = np.clip(release.matrix[0, 1] / metric.n, -1.0, 1.0) - metric.mean @ coef
    own = variances[1, 2:] + variances[2:, 2:] @ squares + constant**2 * variances[0, 2:]
    return own + metric.mean**2 * (variances[0, 1] + variances[0, 2:] @ squares)


def choose_number(
    plan: LookPlan,
    release: MomentRelease,
    distribution: ErrorDistribution,
    fit: ScaledFit,
    amounts: tuple[Fraction, Fraction, Fraction],
) -> int:
    """Return how many looks are expected to lead to the best slopes; 0: moments again.

    Parameters
    ----------
    plan : LookPlan
    release : MomentRelease
    distribution : ErrorDistribution
    fit : ScaledFit
        To the release.
    amounts : tuple of three Fractions
        Of the budget: spent on the release, left for looks, left for moments.

    Notes
    -----
    Released C + E in place of the features' moments C answer sums C (b - b_0) by (C + E)^-1 C (b - b_0). So a
    look leaves (C + E)^-1 E of what was wrong, of the size of an entry of E times the square root of the
    number of features over the eigenvalue, and adds its own noise, that of a share of the budget. Along
    directions whose moments are raised to the level, a look goes the part of the way that their own are of
    it. The rows' own spread counts too: without noise, least squares are best for normal errors. What is
    compared is the expected mean squared error of new rows.

    **Privacy**: a function of released values and public amounts.
    """
    metric = Metric.of(release)
    known, plausible = metric.raised, metric.plausible
    slopes = (metric.vectors.T @ fit.coef) ** 2
    unknown = np.maximum(slopes, slopes.mean())
    equations = float(np.mean(noise_of_equations(release, metric, fit.coef)))

    def of_moments(variance: float, level: float) -> FloatArray:
        raised = np.maximum(metric.values, level)
        own = variance + distribution.variance * fit.scale**2 * plausible
        return own / raised**2 + np.maximum(1 - plausible / raised, 0) ** 2 * unknown

    spent, left, again = amounts
    power = 2 if plan.mechanism == "laplace" else 1
    # Two releases of moments, weighted by the inverse of their variances.
    lower = 1.0 / (1.0 + float(again / spent) ** power)
    best = 0, float(plausible @ of_moments(lower * equations, np.sqrt(lower) * metric.level))
    if plan.hides_quartiles(metric.n, again - left):
        return 0
    start = of_moments(equations, metric.level)
    kept = np.maximum(metric.entry * np.sqrt(len(known)) / known, 1 - plausible / known)
    law = clipped_law(distribution)
    for number in NUMBERS:
        noise = float(plan.noise(1, left / number).std[1] / 4.0**plan.bits) ** 2
        averaged = n_averaged(number)
        clip = law.choose_clip(fit.scale, float(plausible.mean()), noise / averaged)
        share = law.share(fit.scale, clip)
        own = law.spread(fit.scale, clip)[0, 0] * plausible
        # Row k: the part of the noise of look k that is in the mean of the last fits.
        passed = np.array([kept**power for power in range(number + 1)])
        parts = [
            passed[max(number - averaged - k, 0) : number - k].sum(axis=0) / averaged for k in range(number)
        ]
        wrong = (passed[-averaged:].mean(axis=0)) ** 2 * start
        whole = np.sum(parts, axis=0) ** 2 * own + np.sum(np.square(parts), axis=0) * noise * clip**2
        error = float(plausible @ (_CAUTION * wrong + whole / (share * known) ** 2))
        best = min(best, (number, error), key=lambda pair: pair[1])
    return best[0]


def n_averaged(number: int) -> int:
    """Return how many of the last looks the fit is the mean of: half of them."""
    return max(1, number // 2)


def rounds_of_looks(
    plan: LookPlan,
    grid: MomentGrid,
    release: MomentRelease,
    distribution: ErrorDistribution,
    scale_limits: tuple[float, float],
    number: int,
    amounts: tuple[Fraction, Fraction],
    on_progress: Callable[[], object] = bool,
) -> Rounds[LookRelease]:
    """Yield counts of residuals and looks; return what they released, and the fit.

    Every look releases the sum of clipped residuals times rows about a fit, which is 0 on average at the true
    slopes for every clip and every distribution of errors that does not depend on the features; the released
    moments over the share of unclipped rows turn it into a step. A smaller clip has less noise.

    Parameters
    ----------
    plan : LookPlan
    grid : MomentGrid
    release : MomentRelease
        The first fit, and the moments by which sums become steps.
    distribution : ErrorDistribution
    scale_limits : tuple of two floats
        In scaled units.
    number : int
        Of looks.
    amounts : tuple of two Fractions
        Of the budget: for the counts, and for all looks.
    on_progress : callable, optional
        Called after every round.

    Notes
    -----
    **Privacy**: lines and clips are functions of what was released before; amounts are fixed before.
    """
    metric = Metric.of(release)
    law = clipped_law(distribution)
    first = solve_moments(release, distribution, "floor", scale_limits)
    fit = _within(first, scale_limits)
    edges = distribution.quantile(np.linspace(_TAIL, 1 - _TAIL, N_CELLS - 1))
    counting = plan.residual_counts(grid, line_of(fit, 0.0), edges * fit.scale, amounts[0])
    counts = np.zeros((2, N_CELLS))
    counts[1] = yield counting
    on_progress()
    residuals = ResidualRelease(edges, counts, float(counting.noise.std[0]))  # type: ignore[attr-defined]
    fit = _within(_placed(fit, residuals, distribution), scale_limits)
    looks: list[Look] = []
    path: list[ScaledFit] = []
    for _ in range(number):
        amount = amounts[1] / number
        noise = float(plan.noise(1, amount).std[1] / 4.0**plan.bits) ** 2 / n_averaged(number)
        clip = max(law.choose_clip(fit.scale, float(metric.plausible.mean()), noise), NARROWEST)
        step = plan.look(grid, line_of(fit, law.center(clip / fit.scale)), clip, amount)
        looks.append(Look(fit, clip, *plan.read(step, (yield step))))
        on_progress()
        fit = _within(next_fit(metric, looks[-1], distribution), scale_limits)
        path.append(fit)
    averaged = path[-n_averaged(number) :]
    mean = ScaledFit(
        np.mean([one.intercept for one in averaged]),
        np.mean([one.coef for one in averaged], axis=0),
        np.exp(np.mean([np.log(one.scale) for one in averaged])),
    )
    return LookRelease(release, residuals, tuple(looks), len(averaged), mean)


def line_of(fit: ScaledFit, center: float) -> FloatArray:
    """Return the line that goes through so many scales above the location, as plans take it."""
    line = np.r_[fit.intercept + center * fit.scale, fit.coef]
    return np.clip(line, -STEEPEST, STEEPEST)


def next_fit(metric: Metric, look: Look, distribution: ErrorDistribution) -> ScaledFit:
    """Return the fit that a look leads to."""
    law, fit, clip = clipped_law(distribution), look.fit, look.clip
    share = max(law.share(fit.scale, clip), 1e-3)
    sums = look.sums * clip
    slopes = metric.solve(sums[1:-1] - metric.mean * sums[0]) / share
    means = np.clip([look.sums[0] / metric.n, look.sums[-1] / metric.n], [-1, 0], 1) * [clip, clip**2]
    shift, scale = law.locate(means[0], means[1], clip, fit.scale)
    return ScaledFit(fit.intercept + shift - slopes @ metric.mean, fit.coef + slopes, scale)


def _placed(fit: ScaledFit, residuals: ResidualRelease, distribution: ErrorDistribution) -> ScaledFit:
    """Return the fit with location and scale by the quartiles of the noisy counts."""
    counts = residuals.counts[1]
    shares = np.maximum.accumulate(np.cumsum(counts))[:-1] / max(counts.sum(), 1.0)
    wanted = np.array([0.25, 0.5, 0.75])
    low, middle, high = np.interp(wanted, shares, residuals.edges)
    law = distribution.quantile(wanted)
    factor = max((high - low) / (law[2] - law[0]), 1.0 / len(counts))
    shift = middle - factor * law[1]
    return ScaledFit(fit.intercept + shift * fit.scale, fit.coef, fit.scale * factor)


def _within(fit: ScaledFit, scale_limits: tuple[float, float]) -> ScaledFit:
    """Return the fit with its scale between the limits, and finite."""
    scale = float(np.clip(fit.scale, *scale_limits))
    coef = np.clip(fit.coef, -STEEPEST, STEEPEST)
    return ScaledFit(float(np.clip(fit.intercept, -STEEPEST, STEEPEST)), coef, scale)
