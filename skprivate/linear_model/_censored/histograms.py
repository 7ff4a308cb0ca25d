# SPDX-License-Identifier: BSD-3-Clause
"""Histograms of a censored fit: times and a first fit, residuals and the correction by them."""

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Self

import numpy as np
from scipy.optimize import brentq, minimize

from ..._typing import FloatArray, IntArray
from ...base._likely_mistakes import count_at_a_bound
from ...rounds._plans.cells import CellsPlan, SurvivalAxis
from ...rounds._plans.moments import MomentGrid
from ...utils._public_module import public_module
from .._distributions import ErrorDistribution
from .._moments.released_moments import NoiseScales
from .gradient_round import GradientRound
from .newton import StepErrors

# Parts of one row. Scales of discrete noise are rounded up to whole parts: by less than 1 % unless they are
# below a tenth of a row. 2^32 rows have room.
PARTS = 2**10
TIME_BINS = 64  # with bounds of exp(+-5) a bin is a factor of 1.17 in time; set by hand
# Cells below so many standard deviations of the noise count as empty in the first fit; some 3 % of the empty
# cells do not. Only the start of the rounds follows from it.
_VISIBLE = 2.0
# The survival curve ends if fewer rows are at risk than so many standard deviations of the noise: a hazard is
# then known within a fifth.
_AT_RISK = 5.0
# Noisy number of events below which nothing can be learnt, in standard deviations of its noise. Set by hand.
_FEW_EVENTS = 3.0
# Rows beyond a bound are reported if their count is so many standard deviations of its noise: of Laplace
# noise one in 500 is. They matter if they are more than this part of the square root of all rows: a clipped
# row moves a score by about one, and its standard error is about that square root.
_CLEARLY = 4.0
_MOVES = 0.5
# Scales of the error that the first fit tries, in scaled units (half the bounds of the target are 1). It
# continues from the best of them, within the ranges below. Set by hand.
_SCALES = (0.02, 0.05, 0.1, 0.2, 0.4)
_LOG_SCALE_RANGE = (np.log(1e-3), np.log(10.0))
_LOCATION_RANGE = (-3.0, 3.0)


@dataclass(frozen=True, eq=False)
class CountNoise:
    """Discrete noise on counts in parts of a row. It vanishes as epsilon grows.

    Attributes
    ----------
    scales : NoiseScales
        Of the counts times `PARTS`.
    """

    scales: NoiseScales

    @property
    def std(self) -> FloatArray:
        """Standard deviation of the noise of every count, in rows."""
        return self.scales.std / PARTS

    def randomize(self, values: IntArray, entropy: Any) -> IntArray:
        """Return the counts with noise, in parts."""
        return self.scales.randomize(values * PARTS, entropy)


def histogram_sensitivity(relation: str) -> Fraction:
    """Return the L1 sensitivity of the histogram to one row, which is also its squared L2 sensitivity.

    A row is in one cell. A replaced row leaves one and enters another: 2. An added or removed row: 1.
    """
    return Fraction(1 if relation == "add-remove" else 2)


@public_module("skprivate.linear_model")
@dataclass(frozen=True, eq=False)
class HistogramRelease:
    """Noisy counts of rows by event and by equal bins of the time.

    Attributes
    ----------
    counts : ndarray of shape (2, n_bins) or (4, n_bins)
        Row 0: censored rows, row 1: events. If other kinds are declared, row 2: earlier events, row 3:
        intervals, by their middle. The start of watching is not used. Counts may be negative.
    noise_std : float
        Standard deviation of the noise of every count.
    target : tuple of two floats
        Bounds of the bins on the scale of the model. Values outside are counted in the first or last bin.
    below : float
        Noisy count of events below the lower bound. It is part of the first bin of events, whose noise has
        twice the variance.
    """

    counts: FloatArray
    noise_std: float
    target: tuple[float, float]
    below: float = 0.0

    @classmethod
    def of(cls, released: IntArray, noise_std: float, target: tuple[float, float], n_tables: int) -> Self:
        """Compute it from what was released of `histogram_cells`."""
        counts = released[:-1].reshape(n_tables, -1) / PARTS
        below = float(released[-1] / PARTS)
        counts[1, 0] += below
        return cls(counts, noise_std, target, below)

    def stands_out(self, count: float) -> bool:
        """Return whether a count of rows beyond a bound is clear of its noise, and moves estimates."""
        total = max(float(self.counts.sum()), 0.0)
        return count > max(_CLEARLY * self.noise_std, _MOVES * np.sqrt(total))

    @property
    def n_late(self) -> float:
        """Noisy number of rows censored in the last bin; for complete times, of rows above the bound."""
        return float(self.counts[0, -1])

    @property
    def n_events(self) -> float:
        """Noisy number of events, whenever they happened, at least 1."""
        return max(1.0, float(self.counts[1:].sum()))

    @property
    def shows_events(self) -> bool:
        """Whether the counts of events stand out of their noise."""
        counts = self.counts[1:]
        return float(counts.sum()) >= _FEW_EVENTS * self.noise_std * np.sqrt(counts.size)

    @property
    def event_share(self) -> float:
        """Noisy share of events among all rows, in (0, 1]."""
        return min(1.0, self.n_events / max(self.n_events, float(self.counts.sum())))


def histogram_cells(grid: MomentGrid, n_tables: int = 2, n_bins: int = TIME_BINS) -> CellsPlan:
    """Return the cells of the histogram: by kind of row, and equal bins; then events below the bounds."""
    return CellsPlan(((SurvivalAxis(grid.y_center, grid.y_half, n_bins, n_tables, below=True),),))


def beyond_bounds(counts: HistogramRelease) -> str | None:
    """Return what counts of times beyond the bounds suggest, or that estimates do not account for them."""
    late = 0.0 if counts.shows_events and counts.counts.shape[1] > 1 else counts.n_late
    reason = count_at_a_bound(counts.below, late, max(float(counts.counts.sum()), 1.0))
    if reason is None and counts.stands_out(counts.below):
        reason = (
            "by the released counts, events lie below the lower bound of bounds_y, where they are clipped; "
            "estimates and their intervals do not account for it. Declare a lower bound below all times."
        )
    return reason


def kaplan_meier(counts: FloatArray, noise_std: float, ends: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the survival curve of noisy counts.

    Parameters
    ----------
    counts : ndarray of shape (2, n_bins)
        Censored rows, and events.
    noise_std : float
    ends : ndarray of shape (n_ends,)
        Upper ends of the bins, on the scale of the model. Further bins have no end.

    Returns
    -------
    times : ndarray of shape (n_times,)
        Of the ends, while the rows at risk stand out of the noise; at least one.
    survival : ndarray of shape (n_times,)
        Never increasing, in [0, 1].

    Notes
    -----
    In every bin the censored rows count as half at risk (the actuarial estimate). It is post-processing of
    released counts. It is the survival curve only if all rows are events or censored, and watched from the
    start.
    """
    remaining = np.cumsum(counts.sum(axis=0)[::-1])[::-1]
    noise = noise_std * np.sqrt(2.0 * np.arange(len(remaining), 0, -1))
    clear = (remaining > _AT_RISK * noise)[: len(ends)]
    n_times = len(ends) if clear.all() else max(1, int(np.argmin(clear)))
    at_risk = (remaining - 0.5 * counts[0])[:n_times]
    risk = np.clip(counts[1, :n_times] / np.maximum(at_risk, 1.0), 0.0, 1.0)
    return ends[:n_times], np.cumprod(1.0 - risk)


def fit_histogram(release: HistogramRelease, distribution: ErrorDistribution) -> tuple[float, float]:
    """Fit location and scale of the error, without features, to the noisy counts by maximum likelihood.

    Parameters
    ----------
    release : HistogramRelease
    distribution : ErrorDistribution

    Returns
    -------
    location, scale : float
        In scaled units (the bounds of the target are -1 and 1), within fixed ranges. They are finite for all
        counts.
    """
    edges = np.linspace(-1.0, 1.0, release.counts.shape[1] + 1)
    counts = np.where(release.counts > _VISIBLE * release.noise_std, release.counts, 0.0)
    counts[1, 0] += 0.5  # never without an event
    total = counts.sum()

    def loss(parameters: FloatArray) -> float:
        location = np.clip(parameters[0], *_LOCATION_RANGE)
        scale = np.exp(np.clip(parameters[1], *_LOG_SCALE_RANGE))
        outside = np.abs(parameters - [location, np.log(scale)]).sum()
        return -_log_likelihood(counts, (edges - location) / scale, distribution) / total + outside

    starts = [(location, np.log(scale)) for location in np.linspace(-1.0, 1.0, 5) for scale in _SCALES]
    best = min(starts, key=lambda start: loss(np.array(start)))
    found = minimize(loss, best, method="Nelder-Mead", options={"xatol": 1e-4, "fatol": 1e-9, "maxiter": 400})
    location = float(np.clip(found.x[0], *_LOCATION_RANGE))
    return location, float(np.exp(np.clip(found.x[1], *_LOG_SCALE_RANGE)))


def _log_likelihood(counts: FloatArray, errors: FloatArray, distribution: ErrorDistribution) -> float:
    """Return the log likelihood of counts between standardised edges."""
    survival = distribution.survival(errors)
    survival[0], survival[-1] = 1.0, 0.0  # values outside are in the end bins
    events = np.log(np.maximum(survival[:-1] - survival[1:], 1e-300))
    # A row that is censored in a bin counts as censored at its middle.
    censored = np.maximum(distribution.log_survival(0.5 * (errors[1:] + errors[:-1])), -700.0)
    # Intervals are not far from events in their middle, which is good enough for a start.
    total = float(counts[0] @ censored + (counts[1:2].sum(axis=0) + counts[3:].sum(axis=0)) @ events)
    if len(counts) > 2:
        earlier = 1.0 - distribution.survival(0.5 * (errors[1:] + errors[:-1]))
        total += float(counts[2] @ np.log(np.maximum(earlier, 1e-300)))
    return total


# The histogram of residuals that ends a censored fit, and their location and scale.

# Bins between the distribution's quantiles of _TAIL and 1 - _TAIL. One more cell on each side holds the rest.
# Set by hand.
RESIDUAL_BINS = 48
_TAIL = 2e-4
# Cumulative hazards at which rows may count as censored. A late cell shows little, and carries as much noise
# as others, times a score that grows like the hazard. Every fit chooses the cut with the least predicted
# error. With one of these it was within a tenth of the best cut (three distributions, 0 to 95 % censored).
_CUTS = (1.0, 2.0, 4.0, np.inf)
# The likelihood of noisy counts has no bound. Its maximum is sought within a factor of two of the errors.
_LOCATIONS = (-1.0, 1.0)
_LOG_SCALES = (-np.log(2.0), np.log(2.0))
# Step of numerical derivatives: their errors are 1e-6 of second derivatives.
_STEP = 1e-3
#: Nodes and weights of the mean over a standard normal, exact for polynomials up to degree 5.
NODES, WEIGHTS = np.sqrt(3.0) * np.array([-1.0, 0.0, 1.0]), np.array([1.0, 4.0, 1.0]) / 6.0


@public_module("skprivate.linear_model")
@dataclass(frozen=True, eq=False)
class ResidualHistogram:
    """Noisy counts of rows by event and by cells of the standardised residual.

    Attributes
    ----------
    edges : ndarray of shape (n_cells + 1,)
        Ends of the cells, of (log time - location) / scale under the final estimates; -inf and inf at the
        ends.
    counts : ndarray of shape (2, n_cells)
        Row 0: censored rows, row 1: events. Counts may be negative.
    noise_std : float
        Standard deviation of the noise of every count.
    """

    edges: FloatArray
    counts: FloatArray
    noise_std: float

    def moved(self, location: float, scale: float) -> "ResidualHistogram":
        """Return the same counts by the cells of (residual - location) / scale."""
        return replace(self, edges=(self.edges - location) / scale)


def residual_edges(distribution: ErrorDistribution) -> FloatArray:
    """Return the ends of all cells: equal bins between two quantiles, and a cell on each side."""
    low, high = distribution.quantile([_TAIL, 1.0 - _TAIL])
    return np.concatenate([[-np.inf], np.linspace(low, high, RESIDUAL_BINS + 1), [np.inf]])


@public_module("skprivate.linear_model")
@dataclass(frozen=True, eq=False)
class LawFit:
    """Location m and log scale of residuals whose distribution is known, and the errors of both.

    Attributes
    ----------
    location, log_scale : float
        Of the residuals; 0 and 0 if nothing has to be corrected.
    information, inverse : ndarray of shape (2, 2)
        Observed information about (location, log scale).
    scores : ndarray of shape (2, 2, n_cells)
        Derivatives of the log likelihood by the counts: parameter, event, cell.
    bend : ndarray of shape (2,)
        Change of location and log scale per variance of a normal error that residuals have in addition.
    binning : ndarray of shape (2, 2)
        Covariance of the error of the scores that the bins make: the places of censored rows in their bins
        are not known.
    """

    location: float
    log_scale: float
    information: FloatArray
    scores: FloatArray
    bend: FloatArray
    binning: FloatArray

    @property
    def inverse(self) -> FloatArray:
        """Inverse of the information."""
        return np.asarray(np.linalg.inv(self.information))

    @property
    def settled(self) -> bool:
        """Whether the maximum lies within the box, and the likelihood is concave there."""
        inside = abs(self.location) < _LOCATIONS[1] and abs(self.log_scale) < _LOG_SCALES[1]
        return bool(inside and np.linalg.eigvalsh(self.information)[0] > 0.0)

    def noise(self, noise_std: float) -> FloatArray:
        """Return the covariance of errors of (location, log scale) that noise of counts and bins makes."""
        scores = noise_std**2 * np.einsum("aec,bec->ab", self.scores, self.scores)
        return self.inverse @ (scores + self.binning) @ self.inverse

    def draw(self, noise_std: float, mechanism: str, rng: np.random.Generator, n: int) -> FloatArray:
        """Draw the same errors, to first order, of shape (n, 2)."""
        shape = (n, *self.scores.shape[1:])
        unit = rng.laplace(size=shape) / np.sqrt(2.0) if mechanism == "laplace" else rng.normal(size=shape)
        scores = noise_std * np.einsum("aec,nec->na", self.scores, unit)
        bins = rng.multivariate_normal(np.zeros(2), self.binning, n, method="eigh")
        return (scores + bins) @ self.inverse


def fit_residuals(histogram: ResidualHistogram, distribution: ErrorDistribution, spread: float) -> LawFit:
    """Fit location and scale of the residuals to the noisy counts by maximum likelihood.

    Parameters
    ----------
    histogram : ResidualHistogram
    distribution : ErrorDistribution
    spread : float
        Variance of a normal error that residuals have in addition to their distribution: that of the slopes.

    Notes
    -----
    An event in a cell has the distribution's probability of the cell, and a censored row the survival at its
    middle. The cells at the ends are censored at their inner edge. The log likelihood is linear in the
    counts, so noise of mean 0 does not change the mean of its derivative, and counts below 0 are used as they
    are. A row whose cumulative hazard exceeds a cut counts as censored there, which makes no bias either. Of
    several cuts, the one with the least predicted error of the scale is used. It is post-processing of
    released counts.
    """
    fits = [_fit_with_cut(histogram, distribution, spread, cut) for cut in _CUTS]
    usable = [one for one in fits if one.settled]
    return min(usable or fits[:1], key=lambda one: (one.inverse + one.noise(histogram.noise_std))[1, 1])


class _LogCells:
    """Log likelihood of one row in every cell, of shape (2, n_cells): censored, events.

    Let the residuals have a smooth density g in bins of width w. The sum over rows of their log l then has an
    error of fourth order, if a bin has ``log l - w^2 / 24 (log l)''`` at its middle. Its count is
    ``w (g + w^2 / 24 g'')``, and two integrations by parts move the derivatives from g to log l. At a cut
    they leave ``w^2 / 12 g (log l)'``, which is divided between the bins on both sides. For events, l is the
    density. The distribution's probability of the bin, ``w (l + w^2 / 24 l'')``, would ignore that rows are
    censored within it. Differences between bins are used for w times derivatives.
    """

    def __init__(self, edges: FloatArray, distribution: ErrorDistribution, cut: float) -> None:
        self.edges, self._distribution = edges, distribution
        middles = 0.5 * (edges[:-1] + edges[1:])
        middles[0], middles[-1] = edges[1], edges[-2]
        self._middles = middles
        last = float(distribution.quantile(-np.expm1(-cut)))
        # The first edge at or beyond the cut; a cut beyond the last edge has no effect.
        self.cut = int(np.searchsorted(edges[:-1], last))

    def __call__(self, parameters: FloatArray) -> FloatArray:
        """Return it at (location, log scale, variance of an additional normal error)."""
        location, log_scale, variance = parameters
        # A variance below 0 occurs only in the differences about 0.
        shifts = location + np.sqrt(abs(variance)) * NODES
        points = np.concatenate([self.edges[1:-1], self._middles])
        values = self._distribution.survival((points[:, None] - shifts) * np.exp(-log_scale)) @ WEIGHTS
        n_edges = len(self.edges) - 2
        survival = np.concatenate([[1.0], values[:n_edges], [0.0]])
        cells = np.stack([values[n_edges:], survival[:-1] - survival[1:]])
        logs = np.log(np.maximum(cells, 1e-300))
        # Bins next to the two end cells are left out, as the rows of those are elsewhere.
        first, second = (logs[1, 3:-1] - logs[1, 1:-3]) / 2.0, np.diff(logs[:, 1:-1], 2)
        smooth, cut = logs.copy(), self.cut
        smooth[:, 2:-2] -= second / 24.0
        smooth[1, 2:-2] -= (second[1] + first**2) / 24.0
        if cut < len(self.edges) - 1:
            smooth[:, cut:] = np.log(max(survival[cut], 1e-300))
        if 2 < cut < len(self.edges) - 3:
            smooth[:, cut - 1 : cut + 1] += (logs[:, [cut]] - logs[:, [cut - 1]]) / 24.0
        return smooth


def _fit_with_cut(
    histogram: ResidualHistogram, distribution: ErrorDistribution, spread: float, cut: float
) -> LawFit:
    cells, counts = _LogCells(histogram.edges, distribution, cut), histogram.counts
    total = max(1.0, float(counts[1].sum()))

    def loss(parameters: FloatArray) -> float:
        return -float((counts * cells(np.append(parameters, spread))).sum()) / total

    found = minimize(loss, np.zeros(2), method="L-BFGS-B", bounds=[_LOCATIONS, _LOG_SCALES])
    scores, hessian = _derivatives(cells, np.append(found.x, spread))
    second = -np.einsum("abec,ec->ab", hessian, counts)
    information = second[:2, :2]
    bend = np.linalg.pinv(information) @ second[:2, 2]
    binning = _error_of_bins(histogram, hessian[:2, 0, 0], cells.cut)
    return LawFit(float(found.x[0]), float(found.x[1]), information, scores[:2], bend, binning)


def _error_of_bins(histogram: ResidualHistogram, slopes: FloatArray, cut: int) -> FloatArray:
    """Return the covariance of what the places of censored rows in their bins add to the scores.

    For a smooth density the middles are right, to second order. Rows that were all censored at one residual,
    such as rows of one level at the end of a study, may be anywhere in a bin: uniformly. They stand out of
    the neighbouring bins. Beyond the cut, rows are censored at the cut itself.
    """
    widths = np.diff(histogram.edges)[1:-1]
    squares = squares_of_peaks(histogram.counts[0], histogram.noise_std)
    squares[max(cut - 1, 0) :] = 0.0
    inner = slopes[:, 1:-1]
    return np.asarray((inner * squares * widths**2 / 12.0) @ inner.T)


def squares_of_peaks(censored: FloatArray, noise_std: float) -> FloatArray:
    """Return squares of the excess of inner cells over the mean of their neighbours, less the noise."""
    peaks = np.maximum(censored[1:-1] - 0.5 * (censored[:-2] + censored[2:]), 0.0)
    # The noise of such a difference has a variance of one and a half.
    return np.asarray(np.maximum(peaks**2 - 1.5 * noise_std**2, 0.0))


def _derivatives(cells: _LogCells, at: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return first and second derivatives by location, log scale and the other variance, by differences."""
    # The variance is a square: its differences go up only.
    at = np.array([at[0], at[1], max(at[2], 2.0 * _STEP)])
    steps = _STEP * np.eye(3)
    middle = cells(at)
    up, down = (np.stack([cells(at + sign * step) for step in steps]) for sign in (1, -1))
    second = np.empty((3, 3, *middle.shape))
    for i in range(3):
        second[i, i] = (up[i] - 2.0 * middle + down[i]) / _STEP**2
        for j in range(i):
            both = cells(at + steps[i] + steps[j]) + cells(at - steps[i] - steps[j])
            mixed = both - up[i] - up[j] - down[i] - down[j] + 2.0 * middle
            second[i, j] = second[j, i] = mixed / (2.0 * _STEP**2)
    return (up - down) / (2.0 * _STEP), second


# The correction of location and scale by the histogram of residuals.

# The histogram is requested if its noise makes at most this predicted error of the log scale. Beyond it, the
# likelihood of noisy counts is no longer near its quadratic.
_USABLE = 0.2
# Largest variance of the slopes' errors, in scales of the error, that a fit of the residuals allows for.
_MOST_SPREAD = 0.25
# Range of a raised guess of what rounds left undone, as a multiple of the rows' own variance.
_LEAST_UNFINISHED = 1e-6
_MOST_UNFINISHED = 1e8
# Log scales of replicates beyond it are made by noise alone, and would overflow.
_FARTHEST = 10.0


@public_module("skprivate.linear_model")
@dataclass(frozen=True, eq=False)
class Correction:
    """Change of location and scale after the last round.

    Attributes
    ----------
    theta : ndarray of shape (D,)
        Where the rounds ended; the residuals were counted there.
    law : LawFit
        Fit of the residuals.
    weight : ndarray of shape (2, 2)
        Weight of the residuals' location and log scale beside those of the rounds, which are 0 at theta.
    spread : float
        Variance that the noise of the slopes adds to the residuals.
    unfinished : float
        What rounds left undone, as in `StepErrors`; at least the guess there.
    surprise : float
        Mean square of the two differences between residuals and rounds, in standard deviations of the guess.
        It is about 1, and inf if the residuals have no location and scale.
    """

    theta: FloatArray
    law: LawFit
    weight: FloatArray
    spread: float
    unfinished: float
    surprise: float

    @property
    def by(self) -> FloatArray:
        """Location and log scale of the residuals times their weight."""
        return self.weight @ np.array([self.law.location, self.law.log_scale])

    def apply(self, limits: tuple[float, float]) -> FloatArray:
        """Return the corrected parameters."""
        location, log_scale = self.by
        theta = self.theta.copy()
        theta[0] -= location
        theta *= np.exp(-log_scale)
        theta[1] = np.clip(theta[1], *limits)
        return theta


def residuals_show_scale(errors: StepErrors, distribution: ErrorDistribution, noise_std: float) -> bool:
    """Return whether a histogram with such noise would show the scale of the errors, by released values."""
    # Derivatives of the log likelihood by (location, log scale) with the first of the cuts: all is public.
    cells = _LogCells(residual_edges(distribution), distribution, _CUTS[0])
    scores = _derivatives(cells, np.zeros(3))[0][:2]
    inverse = np.linalg.inv(errors.error_information)
    error = noise_std**2 * (inverse @ np.einsum("aec,bec->ab", scores, scores) @ inverse)[1, 1]
    return bool(error < _USABLE**2)


def correct(
    residuals: ResidualHistogram, distribution: ErrorDistribution, errors: StepErrors, last: GradientRound
) -> Correction:
    """Weigh the residuals' location and scale against those of the rounds, by the variances of their noise.

    Notes
    -----
    Let the slopes be known. Both estimates of (location, log scale) have independent noise. Their errors from
    the rows are the same, to first order, except for the effect of cuts and bins. An efficient estimate is
    uncorrelated with its difference from another one, whose variance is the difference of the variances. The
    weights are those of least variance. An error of the slopes moves the location at the centres of the
    features in the same way in both. What the rounds left undone is a guess. If the two estimates differ by
    more than their variances allow, it is raised until the difference has the mean square that it should
    have.
    """
    noise = errors.noise(last)
    # Of the slopes at a given scale of the errors.
    slopes = np.eye(len(errors.theta))[2:]
    slopes[:, 1] = -errors.theta[2:] / errors.theta[1]
    moved = slopes @ errors.inverse
    spread = float(np.einsum("ij,ji->", errors.features, moved @ noise @ moved.T))
    law = fit_residuals(residuals, distribution, min(spread, _MOST_SPREAD))
    inverse = np.asarray(np.linalg.inv(errors.error_information), dtype=np.float64)
    directions = errors.error_directions
    known = inverse @ directions.T @ noise @ directions @ inverse
    if not law.settled:
        return Correction(errors.theta, law, np.zeros((2, 2)), spread, errors.unfinished, np.inf)
    own = law.noise(residuals.noise_std)
    difference = inverse - law.inverse
    values, vectors = np.linalg.eigh(0.5 * (difference + difference.T))
    apart = known + own + (vectors * np.abs(values)) @ vectors.T
    found = np.array([law.location, law.log_scale])
    guessed = apart + errors.unfinished * inverse
    surprise = float(found @ np.linalg.solve(guessed, found)) / len(found)
    unfinished = _unfinished(found, apart, inverse, errors.unfinished)
    rounds = known + unfinished * inverse
    weight = rounds @ np.linalg.inv(rounds + own)
    return Correction(errors.theta, law, weight, spread, unfinished, surprise)


def _unfinished(found: FloatArray, known: FloatArray, guess: FloatArray, least: float) -> float:
    """Return the multiple of `guess`, at least `least`, by which two differences have the mean square 1."""

    def excess(log_multiple: float) -> float:
        variance = known + np.exp(log_multiple) * guess
        return float(found @ np.linalg.solve(variance, found)) - len(found)

    low, high = np.log(max(least, _LEAST_UNFINISHED)), np.log(_MOST_UNFINISHED)
    if low >= high or excess(low) <= 0.0:
        return least
    return float(np.exp(high if excess(high) > 0.0 else brentq(excess, low, high)))


def replicate(
    correction: Correction, errors: StepErrors, rounds: FloatArray, rows: FloatArray, residuals: FloatArray
) -> FloatArray:
    """Return replicates of the corrected parameters.

    Parameters
    ----------
    correction : Correction
    errors : StepErrors
    rounds : ndarray of shape (n, D)
        Replicates of the ends of the rounds.
    rows : ndarray of shape (n, D)
        The rows' own scores in these.
    residuals : ndarray of shape (n, 2)
        Errors of the residuals' location and log scale that their noise makes.
    """
    theta = correction.theta
    factor = theta[1] / rounds[:, 1]
    slopes = rounds[:, 2:] * factor[:, None] - theta[2:]
    # Decrease of location and log scale per change of theta's slopes.
    both = errors.error_directions.T @ errors.information[:, 2:]
    shared = slopes @ np.linalg.solve(errors.error_information, both).T
    of_rounds = np.column_stack([theta[0] - rounds[:, 0] * factor, np.log(factor)]) + shared
    of_rows = rows @ errors.error_directions @ np.linalg.inv(errors.error_information)
    # The slopes' errors spread the residuals; their mean square has been allowed for.
    squares = np.minimum(np.einsum("ni,ij,nj->n", slopes, errors.features, slopes), _MOST_SPREAD)
    of_residuals = of_rows + residuals - (squares - squares.mean())[:, None] * correction.law.bend
    both = of_rounds + (of_residuals - of_rounds) @ correction.weight.T - shared + correction.by
    moved = np.empty_like(rounds)
    moved[:, 0] = theta[0] - both[:, 0]
    moved[:, 1] = theta[1]
    moved[:, 2:] = theta[2:] + slopes
    return moved * np.exp(-np.clip(both[:, 1:], -_FARTHEST, _FARTHEST))
