# SPDX-License-Identifier: BSD-3-Clause
"""The histogram of residuals that ends a censored fit, and what it tells of location and scale."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize

from ..._typing import FloatArray
from ...rounds._plans.axes import ErrorAxis
from ...rounds._plans.cells import CellsPlan
from ...rounds._plans.grid import FINEST, MomentGrid
from ...utils._public_module import public_module
from .._distributions import ErrorDistribution

# Bins between the law's quantiles of _TAIL and 1 - _TAIL; one more cell on each side holds the rest.
N_BINS = 48
_TAIL = 2e-4
# Cumulative hazards at which rows may count as censored. A late cell tells little and carries as much noise
# as others, times a score that grows like the hazard: which cut has the least predicted error is chosen
# fit by fit. With one of these it was within a tenth of the best cut (three laws, 0 to 95 % censored).
_CUTS = (1.0, 2.0, 4.0, np.inf)
# The likelihood of noisy counts has no bound; its maximum is looked for where errors keep a factor of two.
_LOCATIONS = (-1.0, 1.0)
_LOG_SCALES = (-np.log(2.0), np.log(2.0))
# Step of numerical derivatives: their errors are 1e-6 of second derivatives.
_STEP = 1e-3
# Nodes and weights of the mean over a standard normal, exact for polynomials up to degree 5.
_NODES, _WEIGHTS = np.sqrt(3.0) * np.array([-1.0, 0.0, 1.0]), np.array([1.0, 4.0, 1.0]) / 6.0


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
        Row 0: censored, row 1: events. May be negative.
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
    """Return the ends of all cells, equal bins between two quantiles of the law and a cell on each side."""
    low, high = distribution.quantile([_TAIL, 1.0 - _TAIL])
    return np.concatenate([[-np.inf], np.linspace(low, high, N_BINS + 1), [np.inf]])


def residual_cells(grid: MomentGrid, theta: FloatArray, distribution: ErrorDistribution) -> CellsPlan:
    """Return the cells of the histogram of the standardised errors theta . z, censored rows before events."""
    inner = residual_edges(distribution)[1:-1]
    return CellsPlan(((ErrorAxis(replace(grid, exponent=FINEST), theta, inner),),))


@public_module("skprivate.linear_model")
@dataclass(frozen=True, eq=False)
class LawFit:
    """Location m and log scale of residuals whose law is known, and the errors of both.

    Attributes
    ----------
    location, log_scale : float
        Of the residuals; 0 and 0 if nothing is to be corrected.
    information, inverse : ndarray of shape (2, 2)
        Observed information about (location, log scale).
    scores : ndarray of shape (2, 2, n_cells)
        Derivatives of the log likelihood by the counts: parameter, event, cell.
    bend : ndarray of shape (2,)
        What location and log scale change by, per variance of a normal error that residuals have beside.
    binning : ndarray of shape (2, 2)
        Covariance of the error of the scores that the bins make: where in a bin rows are censored is not
        known.
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
        """Whether the maximum lies within the box, and the counts curve down there."""
        inside = abs(self.location) < _LOCATIONS[1] and abs(self.log_scale) < _LOG_SCALES[1]
        return bool(inside and np.linalg.eigvalsh(self.information)[0] > 0.0)

    def noise(self, noise_std: float) -> FloatArray:
        """Covariance of the errors of (location, log scale) that noise of the counts and bins make."""
        scores = noise_std**2 * np.einsum("aec,bec->ab", self.scores, self.scores)
        return self.inverse @ (scores + self.binning) @ self.inverse

    def draw(self, noise_std: float, mechanism: str, rng: np.random.Generator, n: int) -> FloatArray:
        """Draw the same errors, to first order; of shape (n, 2)."""
        shape = (n, *self.scores.shape[1:])
        unit = rng.laplace(size=shape) / np.sqrt(2.0) if mechanism == "laplace" else rng.normal(size=shape)
        scores = noise_std * np.einsum("aec,nec->na", self.scores, unit)
        bins = rng.multivariate_normal(np.zeros(2), self.binning, n, method="eigh")
        return (scores + bins) @ self.inverse


def fit_law(histogram: ResidualHistogram, distribution: ErrorDistribution, spread: float) -> LawFit:
    """Fit location and scale of the residuals to the noisy counts by maximum likelihood.

    Parameters
    ----------
    histogram : ResidualHistogram
    distribution : ErrorDistribution
    spread : float
        Variance of a normal error that residuals have beside their law: that of the slopes.

    Notes
    -----
    An event in a cell has the law's probability of the cell, a censored row the survival at its middle; the
    cells at the ends are censored at their inner edge. The log likelihood is linear in the counts, so that
    noise of mean 0 leaves the mean of its derivative as it is: counts below 0 count as they are. A row whose
    cumulative hazard passes a cut counts as censored there, which biases nothing either; of several cuts that
    with the least predicted error of the scale is taken. Post-processing of released counts.
    """
    fits = [_fit_with_cut(histogram, distribution, spread, cut) for cut in _CUTS]
    usable = [one for one in fits if one.settled]
    return min(usable or fits[:1], key=lambda one: _error_of_scale(one, histogram.noise_std))


def noise_of_scores(distribution: ErrorDistribution) -> FloatArray:
    """Covariance of the derivative of the log likelihood by (location, log scale), of noise of variance 1.

    With the first of the cuts: a public matrix of the law, for predictions before anything is released.
    """
    empty = ResidualHistogram(residual_edges(distribution), np.zeros((2, N_BINS + 2)), 1.0)
    scores = _derivatives(_LogCells(empty.edges, distribution, _CUTS[0]), np.zeros(3))[0][:2]
    return np.einsum("aec,bec->ab", scores, scores)


class _LogCells:
    """Log likelihood of one row in every cell, of shape (2, n_cells): censored, events.

    Rows whose residuals have a smooth density g in bins of width w add up to the sum of their log l, with an
    error of fourth order, if a bin has ``log l - w^2 / 24 (log l)''`` at its middle: its count is
    ``w (g + w^2 / 24 g'')``, and two integrations by parts take the derivatives off g. At a cut they leave
    ``w^2 / 12 g (log l)'``, which the bins on both its sides share. Of events, l is the density: the law's
    probability of the bin, ``w (l + w^2 / 24 l'')``, would forget that rows are censored within it.
    Differences between bins stand for w times derivatives.
    """

    def __init__(self, edges: FloatArray, distribution: ErrorDistribution, cut: float) -> None:
        self.edges, self._distribution = edges, distribution
        middles = 0.5 * (edges[:-1] + edges[1:])
        middles[0], middles[-1] = edges[1], edges[-2]
        self._middles = middles
        last = float(distribution.quantile(-np.expm1(-cut)))
        # The first edge at or beyond the cut; a cut beyond the last edge is none.
        self.cut = int(np.searchsorted(edges[:-1], last))

    def __call__(self, parameters: FloatArray) -> FloatArray:
        """Return it at (location, log scale, variance of another normal error)."""
        location, log_scale, variance = parameters
        # A variance below 0 is met only by the differences about 0.
        shifts = location + np.sqrt(abs(variance)) * _NODES
        points = np.concatenate([self.edges[1:-1], self._middles])
        values = self._distribution.survival((points[:, None] - shifts) * np.exp(-log_scale)) @ _WEIGHTS
        n_edges = len(self.edges) - 2
        survival = np.concatenate([[1.0], values[:n_edges], [0.0]])
        cells = np.stack([values[n_edges:], survival[:-1] - survival[1:]])
        logs = np.log(np.maximum(cells, 1e-300))
        # Not of the bins that end at the cells on either side, whose rows are elsewhere.
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

    Of a smooth density the middles are right, to second order. Rows that were all censored at one residual,
    such as rows of one level at the end of a study, are anywhere in a bin: uniformly. They stand out of the
    neighbouring bins. Beyond the cut rows are where they are said to be.
    """
    censored, widths = histogram.counts[0], np.diff(histogram.edges)[1:-1]
    peaks = censored[1:-1] - 0.5 * (censored[:-2] + censored[2:])
    # The noise of such a difference has a variance of one and a half.
    squares = np.where(peaks > 0.0, np.maximum(peaks**2 - 1.5 * histogram.noise_std**2, 0.0), 0.0)
    squares[max(cut - 1, 0) :] = 0.0
    inner = slopes[:, 1:-1]
    return np.asarray((inner * squares * widths**2 / 12.0) @ inner.T)


def _derivatives(cells: _LogCells, at: FloatArray) -> tuple[FloatArray, FloatArray]:
    """First and second derivatives by location, log scale and the other variance, by differences."""
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


def _error_of_scale(fit: LawFit, noise_std: float) -> float:
    return float((fit.inverse + fit.noise(noise_std))[1, 1])
