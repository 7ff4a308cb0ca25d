# SPDX-License-Identifier: BSD-3-Clause
"""Private fit of lifetimes of one population, without columns: two histograms, and their distribution."""

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.optimize import minimize

from ..._typing import FloatArray
from ...accounting import PrivacySpent
from ...noise._mechanisms import FitBudget
from ...rounds._driver import Rounds
from ...rounds._plans.cells import CellsPlan, SurvivalAxis
from ...rounds._plans.moments import MomentGrid
from ...utils._public_module import public_module
from .._distributions import ErrorDistribution
from .._moments.released_moments import Neighbours, ScaledFit
from .histograms import PARTS, HistogramRelease, LawFit, ResidualHistogram, histogram_cells
from .rounds import counts_round

# Share of the budget of the first histogram, which places the second. Of 0.1, 0.15, 0.2 and 0.3, with 0 and
# 60 % censored and bounds of a factor of 1e3 and 1e6, 0.3 had the least errors below n epsilon = 4,000.
# Beyond, they were alike.
FIRST_SHARE = Fraction(3, 10)
#: Counts of censored rows below so many standard deviations of the noise count as 0. Set by hand.
VISIBLE = 2.0
# Rows censored at one time: a bin that exceeds its neighbours by so many standard deviations of the noise,
# and by this share of all rows. Set by hand.
_PEAK, _PEAK_SHARE = 5.0, 0.01
# Candidates: numbers of inner cells, their start (probability), and their end (cumulative hazard). Fewer
# cells have less noise, more cells more information.
_NUMBERS = (8, 12, 16, 24, 32, 48, 64)
_BEGIN, _END = (2e-4, 2e-3, 1e-2), (0.1, 0.25, 0.5, 1.0, 2.0, 4.0, -np.log(2e-4))
# Smallest width of all inner cells, in scales of the error. Set by hand.
_NARROWEST = 0.5
# Shares that have failed, whose times are to be precise: those of `b_lives`.
_LEVELS = (0.01, 0.05, 0.1, 0.5)
# Points of a cell: the rows' places in it have a density between its ends. Set by hand.
_POINTS = 8
#: Range of location and log scale, in scales and as a factor, about the fit that placed the cells. Set by
#: hand.
REACH = np.array([6.0, np.log(8.0)])
# Standardised errors beyond it are made by noise alone, and would overflow.
_FARTHEST = 30.0
# Step of numerical derivatives: their errors are 1e-8 of third derivatives.
_STEP = 1e-4
# Newton's method: most iterations, and the step at which it has settled. Set by hand.
_ITERATIONS, _SETTLED = 40, 1e-6
# Largest step of Newton's method, and the smallest curvature that it uses, of the largest. Set by hand.
_LONGEST, _FLATTEST = 0.5, 1e-3


@dataclass(frozen=True, eq=False)
class PopulationPlan:
    """Everything public about a fit without columns.

    Attributes
    ----------
    grid : MomentGrid
        Without features: the bounds of the target.
    distribution : ErrorDistribution
    budget : FitBudget
    neighbours : Neighbours
    scale_bounds : tuple of two floats
        In scaled units.
    """

    grid: MomentGrid
    distribution: ErrorDistribution
    budget: FitBudget
    neighbours: Neighbours
    scale_bounds: tuple[float, float] = (1e-3, 10.0)


@public_module("skprivate.linear_model")
@dataclass(frozen=True, eq=False)
class PopulationRelease:
    """Everything that a fit without columns released, and the fit.

    Attributes
    ----------
    histogram : HistogramRelease
        Counts by time and event between the bounds, with 30 % of the budget.
    residuals : ResidualHistogram
        Counts in cells that the first ones placed, with the rest. Their edges are standardised errors of the
        final fit.
    law : LawFit
        Location and log scale, in scales of the fit that placed the cells, and their errors.
    settled : bool
        Whether the likelihood of the counts has a maximum. Otherwise the fit is one of least squares, whose
        errors are not known.
    fit : ScaledFit
    mechanism : {"laplace", "gaussian"}
    ends : None
    """

    histogram: HistogramRelease
    residuals: ResidualHistogram
    law: LawFit
    settled: bool
    fit: ScaledFit
    mechanism: str
    ends: None = None

    @property
    def shows_events(self) -> bool:
        """Whether the counts of events stand out of their noise."""
        return replace(
            self.histogram, counts=self.residuals.counts, noise_std=self.residuals.noise_std
        ).shows_events

    @property
    def event_share(self) -> float:
        """Noisy share of events among all rows, from 0 to 1."""
        counts = self.residuals.counts
        return float(np.clip(counts[1].sum() / max(counts.sum(), 1.0), 0.0, 1.0))


def population_rounds(
    plan: PopulationPlan, spent: PrivacySpent | None = None, on_progress: Callable[[], object] = bool
) -> Rounds[PopulationRelease]:
    """Yield a histogram between the bounds, and one whose cells suit the fit to the first.

    Parameters
    ----------
    plan : PopulationPlan
    spent : PrivacySpent, default=None
        The cost of the whole fit, charged with the first histogram.
    on_progress : callable, optional
        Called after each release.

    Notes
    -----
    **Privacy**: a row is in one cell of each histogram, whatever its cells are. Replacing it moves the counts
    by 2 in L1 and in squared L2, adding or removing it by 1; c rows of a person by c times that, or c
    squared. The cells of the second follow from what the first released. The amounts are fixed and add up to
    the budget.
    """
    first = FIRST_SHARE * plan.budget.amount
    step = counts_round(plan, histogram_cells(plan.grid), first, "counts by time and event", spent)
    released = yield step
    on_progress()
    std = float(step.noise.std[0])  # type: ignore[attr-defined]
    histogram = HistogramRelease.of(released, std, plan.grid.target, 2)
    start, rest = fit_counts(histogram, plan.distribution), plan.budget.amount - first
    place, scale = start
    # The noise is the same for all cells.
    std *= float(first / rest) ** (1.0 if plan.budget.mechanism == "laplace" else 0.5)
    chosen = choose_cells(histogram, start, plan.distribution, std)
    width = (chosen.edges[-2] - chosen.edges[1]) / (len(chosen.edges) - 3)
    middle = 0.5 * (chosen.edges[-2] + chosen.edges[1])
    # There is one more bin at either end, which holds everything beyond.
    n_bins = len(chosen.edges) - 1
    axis = SurvivalAxis(
        plan.grid.y_center + plan.grid.y_half * (place + scale * middle),
        plan.grid.y_half * scale * 0.5 * width * n_bins,
        n_bins,
    )
    step = counts_round(plan, CellsPlan(((axis,),)), rest, "counts by time and event about a fit")
    counts = (yield step).reshape(2, -1) / PARTS
    on_progress()
    residuals = ResidualHistogram(chosen.edges, counts, float(step.noise.std[0]))  # type: ignore[attr-defined]
    law, settled = chosen.solve(residuals)
    found = np.clip(scale * np.exp(law.log_scale), *plan.scale_bounds)
    fit = ScaledFit(place + scale * law.location, np.zeros(0), float(found))
    moved = residuals.moved(law.location, float(found) / scale)
    return PopulationRelease(histogram, moved, law, settled, fit, plan.budget.mechanism)


# Location and scale of noisy counts.


def _least_squares(
    edges: FloatArray, counts: FloatArray, noise_std: float, distribution: ErrorDistribution, starts: Any
) -> FloatArray:
    """Fit location and log scale to counts whose noise may hide most cells.

    The expected events of a cell are about the rows at risk, of which censored ones count half, times the
    probability that a row at risk has its event there. Differences are weighted by the noise and the spread
    of rows, with their normal likelihood. Cells of noise alone move it far less than a likelihood of rows.
    """
    at_risk = np.cumsum(counts.sum(axis=0)[::-1])[::-1] - 0.5 * counts[0]
    noise_at_risk = noise_std**2 * (2.0 * np.arange(len(at_risk), 0, -1) - 1.75)

    def loss(parameters: FloatArray) -> float:
        errors = np.clip((edges - parameters[0]) * np.exp(-parameters[1]), -_FARTHEST, _FARTHEST)
        logs = distribution.log_survival(errors)
        share = -np.expm1(np.minimum(np.diff(logs), 0.0))
        share[-1] = 1.0
        of_rows = np.maximum(at_risk, 0.0) * share * (1.0 - share) + 1.0
        variance = noise_std**2 + share**2 * noise_at_risk + of_rows
        return float(np.sum((counts[1] - at_risk * share) ** 2 / variance + np.log(variance)))

    best = min(starts, key=lambda start: loss(np.array(start)))
    found = minimize(loss, best, method="Nelder-Mead", options={"xatol": 1e-4, "fatol": 1e-6, "maxiter": 400})
    return np.asarray(found.x)


def fit_counts(histogram: HistogramRelease, distribution: ErrorDistribution) -> tuple[float, float]:
    """Return location and scale, in scaled units, of noisy counts between the bounds."""
    edges = np.r_[-np.inf, np.linspace(-1.0, 1.0, histogram.counts.shape[1] + 1)[1:-1], np.inf]
    starts = [(m, np.log(s)) for m in np.linspace(-1.0, 1.0, 21) for s in np.geomspace(0.01, 0.6, 9)]
    found = _least_squares(edges, histogram.counts, histogram.noise_std, distribution, starts)
    return float(np.clip(found[0], -3.0, 3.0)), float(np.exp(np.clip(found[1], *np.log([1e-3, 10.0]))))


def still_watched(counts: FloatArray) -> FloatArray:
    """Return the shares of rows that are still watched at the end of every cell, whatever their events.

    Events and the end of watching compete within a cell, at rates whose ratio is that of their numbers.
    """
    leaving = counts.sum(axis=0)
    at_risk = np.maximum(np.cumsum(leaving[::-1])[::-1], 1e-9)
    staying = np.clip(1.0 - leaving / at_risk, 1e-9, 1.0)
    return np.cumprod(staying ** (counts[0] / np.maximum(leaving, 1e-9)))


def peaks_of(censored: FloatArray, noise_std: float, total: float) -> FloatArray:
    """Return the rows by which inner cells exceed the mean of their neighbours, if they clearly do."""
    peaks = censored[1:-1] - 0.5 * (censored[:-2] + censored[2:])
    return np.where(peaks > max(_PEAK * noise_std, _PEAK_SHARE * total), peaks, 0.0)


def choose_cells(
    histogram: HistogramRelease, start: tuple[float, float], distribution: ErrorDistribution, noise_std: float
) -> "Cells":
    """Choose the cells with which B lives are expected to be most precise, by released values.

    Rows at the bounds and beyond are in the open cells at the ends. So bounds that cut off a part of the rows
    do not bias the fit.
    """
    counts, noise = histogram.counts, histogram.noise_std
    # Bins in standardised errors, shares that are still watched there, and rows censored at one time.
    edges = (np.linspace(-1.0, 1.0, counts.shape[1] + 1) - start[0]) / start[1]
    seen = np.where(counts > VISIBLE * noise, counts, 0.0)
    watched = np.r_[1.0, still_watched(seen)]
    peaks = peaks_of(np.pad(seen[0], 1), noise, float(counts.sum()))
    total = max(float(counts.sum()), 1.0)
    last = int(np.max(np.nonzero(counts.sum(axis=0) > VISIBLE * noise)[0], initial=2))
    ends = [*distribution.quantile(-np.expm1(-np.array(_END))), *edges[:-1][peaks > 0.0]]
    levels = np.stack([np.ones(len(_LEVELS)), distribution.quantile(_LEVELS)])
    found: list[tuple[float, Cells]] = []
    for low in np.maximum(distribution.quantile(_BEGIN), edges[1]):
        for high in sorted({float(min(end, edges[-2], edges[last + 1])) for end in ends}):
            for number in _NUMBERS if high > low + _NARROWEST else ():
                inner = np.linspace(low, high, number + 1)
                cells = Cells(np.r_[-np.inf, inner, np.inf], distribution, edges, watched, peaks)
                variance = cells.expected_variance()(total, noise_std)
                found.append((float(np.einsum("al,ab,bl->", levels, variance, levels)), cells))
    if found:
        return min(found, key=lambda one: one[0])[1]
    # No cells fit between the bounds. Any choice is then as good.
    inner = np.linspace(-1.0, 1.0, _NUMBERS[0] + 1)
    return Cells(np.r_[-np.inf, inner, np.inf], distribution, edges, watched, peaks)


class Cells:
    """The likelihood of rows of which only the cell is known, as a function of location and log scale.

    By Fisher's identity the derivative of the log likelihood of a cell is the mean, over the rows in it, of
    that of a row. The places of events in a cell follow from the distribution and the number of rows that are
    still watched, the places of censored rows from the number that cease to be. The first cell is open below
    and the last above. Rows there are known to have survived the inner edge.

    Parameters
    ----------
    edges : ndarray of shape (n_cells + 1,)
        In standardised errors; infinite at the ends.
    distribution : ErrorDistribution
    bins, watched : ndarray of shape (n_bins + 1,)
        Shares of the rows that are still watched, at these errors; they change linearly between.
    peaks : ndarray of shape (n_bins,)
        Rows of each bin that were censored at one time, of which only the bin is known.
    """

    def __init__(
        self,
        edges: FloatArray,
        distribution: ErrorDistribution,
        bins: FloatArray,
        watched: FloatArray,
        peaks: FloatArray,
    ) -> None:
        self.edges, self._distribution = edges, distribution
        self._bins, self._watched, self._peaks = bins, watched, peaks
        inner = edges[1:-1]
        fine = inner[:-1, None] + np.diff(inner)[:, None] * np.linspace(0.0, 1.0, _POINTS + 1)
        self._points = 0.5 * (fine[:, 1:] + fine[:, :-1])
        still = np.interp(fine, bins, watched)
        ceasing = still[:, :-1] - still[:, 1:]
        # They are anywhere in a cell in which none are known to cease.
        ceasing[ceasing.sum(axis=1) <= 0.0] = 1.0
        with np.errstate(divide="ignore"):
            self._log_watched = np.log(np.maximum(0.5 * (still[:, 1:] + still[:, :-1]), 1e-9))
            self._log_ceasing = np.log(ceasing)

    def scores(self, at: FloatArray) -> FloatArray:
        """Return derivatives by (location, log scale) for a row of every cell: ..., parameter, event, cell.

        There may be several locations and log scales, of shape (..., 2).
        """
        distribution, place, shrunk = self._distribution, at[..., 0], np.exp(-at[..., 1])
        found = np.zeros((2, *place.shape, 2, len(self.edges) - 1))
        factor = shrunk[..., np.newaxis, np.newaxis]
        errors = (self._points - place[..., np.newaxis, np.newaxis]) * factor
        errors = np.clip(errors, -_FARTHEST, _FARTHEST)
        density, up, down = distribution.log_density(np.stack([errors, errors + _STEP, errors - _STEP]))
        survival, slope = distribution.log_survival(errors), (up - down) / (2.0 * _STEP)
        hazard = np.exp(density - survival)
        by_event = np.stack([-slope * factor, -1.0 - errors * slope])
        by_censored = np.stack([hazard * factor, errors * hazard])
        found[..., 1, 1:-1] = np.sum(_shares(density + self._log_watched) * by_event, axis=-1)
        found[..., 0, 1:-1] = np.sum(_shares(survival + self._log_ceasing) * by_censored, axis=-1)
        low, high = (np.clip((end - place) * shrunk, -_FARTHEST, _FARTHEST) for end in self.edges[[1, -2]])
        before = np.exp(distribution.log_density(low)) / np.maximum(
            -np.expm1(distribution.log_survival(low)), 1e-300
        )
        found[..., 1, 0] = -before * np.stack([shrunk, low])
        # Rows that were censored in the first cell were at risk there for half of it.
        found[..., 0, 0] = 0.5 * distribution.hazard(low) * np.stack([shrunk, low])
        after = distribution.hazard(high) * np.stack([shrunk, high])
        found[..., -1] = after[..., np.newaxis]
        return np.moveaxis(found, 0, -3)

    def expected_variance(self, at: FloatArray | None = None) -> Callable[[float, float], FloatArray]:
        """Return the expected covariance of location and log scale, as a function of rows and noise."""
        at = np.zeros(2) if at is None else at
        distribution, edges = self._distribution, self.edges
        survival = distribution.survival((edges - at[0]) * np.exp(-at[1]))
        watched = np.interp(edges, self._bins, self._watched)
        survival[[0, -1]], watched[[0, -1]] = (1.0, 0.0), (1.0, 0.0)
        middles = 0.5 * (edges[1:] + edges[:-1])
        middles[[0, -1]] = edges[[1, -2]]
        still = np.interp(middles, self._bins, self._watched)
        events, censored = -np.diff(survival) * still, -np.diff(watched) * distribution.survival(middles)
        shares = np.stack([censored, events])
        return functools.partial(_variance, self.scores(at), shares, self._error_of_peaks(at))

    def _error_of_peaks(self, at: FloatArray) -> FloatArray:
        """Return the covariance that places of peaks in their bins, uniform ones, add to the scores."""
        distribution, shrunk = self._distribution, np.exp(-at[1])
        widths, middles = np.diff(self._bins), 0.5 * (self._bins[1:] + self._bins[:-1])
        inside = (middles > self.edges[1]) & (self._bins[:-1] < self.edges[-2] - 1e-9)
        errors = np.clip((middles - at[0]) * shrunk, -_FARTHEST, _FARTHEST)
        up, down = (distribution.hazard(z) for z in (errors + _STEP, errors - _STEP))
        slope = (up - down) / (2.0 * _STEP)
        slopes = np.stack([slope, 0.5 * (up + down) + errors * slope]) * shrunk
        squares = inside * (self._peaks * widths) ** 2 / 12.0
        return np.asarray((slopes * squares) @ slopes.T)

    def slopes(self, at: FloatArray, counts: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the derivatives of the log likelihood of the counts, and minus their derivatives."""
        steps = _STEP * np.eye(2)
        places = np.concatenate([at[np.newaxis], at + steps, at - steps])
        score, *sides = np.sum(self.scores(places) * counts, axis=(2, 3))
        found = (np.stack(sides[2:]) - np.stack(sides[:2])) / (2.0 * _STEP)
        return score, np.asarray(0.5 * (found + found.T))

    def solve(self, residuals: ResidualHistogram) -> tuple[LawFit, bool]:
        """Fit location and log scale to noisy counts; also whether their likelihood has a maximum nearby.

        The derivative of the log likelihood is linear in the counts, so that noise of mean 0 does not change
        its mean. Newton's method begins at least squares. If it does not settle, these are the fit.
        """
        counts = residuals.counts
        starts = [(m, s) for m in np.linspace(-2.0, 2.0, 9) for s in np.linspace(-1.5, 1.5, 7)]
        first = _least_squares(self.edges, counts, residuals.noise_std, self._distribution, starts)
        first = at = np.clip(first, -REACH, REACH)
        settled = False
        for _ in range(_ITERATIONS):
            score, information = self.slopes(at, counts)
            values, vectors = np.linalg.eigh(information)
            raised = np.maximum(np.abs(values), max(_FLATTEST * float(np.abs(values).max()), 1e-9))
            step = np.clip(vectors @ ((vectors.T @ score) / raised), -_LONGEST, _LONGEST)
            at = np.clip(at + step, -REACH, REACH)
            settled = bool(np.abs(step).max() < _SETTLED)
            if settled:
                break
        information = self.slopes(at, counts)[1]
        settled = settled and bool(np.linalg.eigvalsh(information)[0] > 0.0 and (np.abs(at) < REACH).all())
        if not settled:
            at, information = first, np.eye(2) / REACH**2
        scores, nothing = self.scores(at), np.zeros(2)
        law = LawFit(float(at[0]), float(at[1]), information, scores, nothing, self._error_of_peaks(at))
        return law, settled


def _variance(
    scores: FloatArray, shares: FloatArray, of_peaks: FloatArray, total: float, noise_std: float
) -> FloatArray:
    """Return the covariance of (location, log scale) for so many rows, with their noise."""
    inverse = np.linalg.pinv(np.einsum("aec,bec,ec->ab", scores, scores, total * shares))
    noise = noise_std**2 * np.einsum("aec,bec->ab", scores, scores)
    return np.asarray(inverse + inverse @ (noise + of_peaks) @ inverse)


def _shares(logs: FloatArray) -> FloatArray:
    """Return weights of the points of every cell, from their logarithms."""
    weights = np.exp(logs - logs.max(axis=-1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))


# Replicates, and the survival curve.


def bootstrap_population(
    release: PopulationRelease, n_replicates: int = 400, *, rows_per_unit: int = 1, with_noise: bool = True
) -> ScaledFit:
    """Return replicates of the fit: normal errors of the rows, those of the noise, and those of peaks.

    Parameters are those of `bootstrap_censored`. It is post-processing of released values, and spends
    nothing.
    """
    rng = np.random.default_rng(0)
    law, fit = release.law, release.fit
    drawn = rng.multivariate_normal(np.zeros(2), rows_per_unit * law.inverse, n_replicates, method="eigh")
    if with_noise:
        drawn += law.draw(release.residuals.noise_std, release.mechanism, rng, n_replicates)
    # In scales of the fit that placed the cells.
    unit = fit.scale * np.exp(-law.log_scale)
    scale = fit.scale * np.exp(np.clip(drawn[:, 1], -_FARTHEST, _FARTHEST))
    return ScaledFit(fit.intercept + unit * drawn[:, 0], np.zeros((n_replicates, 0)), scale)
