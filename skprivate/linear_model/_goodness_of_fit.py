# SPDX-License-Identifier: BSD-3-Clause
"""Reliability of a fit: goodness of fit of its distribution, states of estimates, and the warning of a fit.

Every function is of released values and public inputs alone; `self` is a fitted regressor.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import isotonic_regression
from scipy.special import ndtri
from sklearn.utils.validation import check_is_fitted

from .._typing import BoolArray, FloatArray, IntArray
from ..base import _likely_mistakes as mistakes
from ..rounds._rows import on_model_scale
from ..utils._public_module import public_module
from . import _fit as fitting
from ._censored.histograms import NODES, WEIGHTS, beyond_bounds, squares_of_peaks
from ._censored.population import PopulationRelease
from ._censored.release import NO_EVENTS, CensoredRelease, hides_features, means_nothing, unsettled
from ._distributions import ErrorDistribution
from ._moments.released_moments import MomentRelease, varying_directions
from ._moments.replicates import bootstrap_looks, looks_may_be_noise, moments_may_be_noise, unclear_directions
from ._moments.rounds import LookRelease, Metric, fit_of_moments

# Goodness of fit of a distribution to a released histogram of standardised residuals.

# The curve ends if fewer rows are at risk than so many standard deviations of the noise: a hazard is then
# known within a fifth. The private survival curve ends there, too.
_AT_RISK = 5.0
# Tables that are drawn under the fitted distribution; the error of a 5 % tail is then one part in a hundred.
_N_TABLES = 400
# Under the right distribution, one release of twenty has a larger distance.
_LEVEL = 0.95
# A distribution is rejected if at most one release of 100 has as large a distance under it. This is found by
# so many times more tables, which are drawn if the first ones leave it possible.
_REJECTED, _MORE = 0.01, 10
# Distances of survival that do not count: a tenth of the share that has failed by the B1 life. So far out in
# the tails, the error of the slopes adds to residuals what is no longer normal.
_MATTERS = 1e-3
# Number of the first tables that may be as far, at most: p is then 0.03.
_FEW = 12
# Points of a cell at which the distribution is evaluated: the midpoint rule then errs by less than 1e-3 of a
# cell.
_N_POINTS = 8


@public_module("skprivate.linear_model")
@dataclass(frozen=True, kw_only=True, eq=False)
class GoodnessOfFit:
    """How the residuals of a fit agree with its distribution, as ``goodness_of_fit()`` returns it.

    Attributes
    ----------
    errors : ndarray of shape (n_edges,)
        Standardised errors at which the curve is known. They are the ends of the histogram's cells, as long
        as the rows at risk stand out of the noise.
    cumulative_hazard : ndarray of shape (n_edges,)
        Estimated from the counts, never falling.
    model_hazard : ndarray of shape (n_edges,)
        That of the fitted distribution: the Cox-Snell residual of a row at that error.
    interval : ndarray of shape (n_edges, 2)
        Confidence interval of the cumulative hazard, from noise and sampling, each by itself.
    noise_interval : ndarray of shape (n_edges, 2)
        The same from the noise alone: where the hazard would be in other releases of the same rows.
    confidence : float
        Of both.
    distance : float
        Between the estimated survival probability and that of the distribution, at the point where it is
        largest in standard errors. Distances below 0.001 do not count.
    place : float
        The standardised error at that point.
    statistic : float
        The distance at that point, in standard errors.
    limit : float
        Value that the statistic of the right distribution exceeds in 5 % of all tables and releases.
    p_value : float
        Share of tables and releases in which the statistic of the right distribution is at least as large.
    rejected : bool
        Whether the p-value is at most 0.01. Then the distribution is wrong, and so may be every quantile that
        is computed from it. The fit warns, and `ModelSummary` shows it.

    Notes
    -----
    The hazard of a cell is its events over the rows at risk (occurrence over exposure). Rows that leave in
    the cell are at risk for a part of it. For events the distribution gives this part, for censored rows the
    numbers in the neighbouring cells. Counts are noisy and may be negative; isotonic regression makes the
    cumulative hazard rise. Intervals carry the known variance of the noise, and that of the events, to the
    logarithm of the cumulative hazard by the derivative.

    ``limit`` and ``p_value`` come from tables that are drawn under the distribution, with the released
    numbers of censored rows and noise of the known distribution. They were measured in simulated releases of
    known parameters (three distributions, up to 95 % censored, 20,000 to a million rows). P-values of right
    distributions were below 0.05 in 3 to 10 of 100. In a million rows at epsilon 10, with censoring times in
    few cells, they were in up to 30. The unknown places of rows within cells move the curve by up to one
    standard error there. Location and scale count as known although they were fitted to the same rows, which
    favours the distribution. The test cannot detect deviations that are small beside the intervals, and in a
    small table these are mostly noise. Errors of the slopes widen the residuals; the distribution is widened
    as much, by a normal one.

    Fits to complete targets count residuals about their first line, and take looks at others afterwards.
    Cells are then those of the final line, and the distribution is widened by the move from one line to the
    other. Tables under the distribution have other locations, scales and slopes as well, as far as the noise
    of the release leaves these open.

    **Privacy**: a function of released values, which spends nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate.linear_model._distributions import SEV
    >>> from skprivate.linear_model._goodness_of_fit import compare_residuals
    >>> edges = np.concatenate([[-np.inf], np.linspace(-8, 2, 49), [np.inf]])
    >>> shares = -np.diff(SEV.survival(edges))
    >>> noise = np.random.default_rng(0).laplace(size=50)
    >>> counts = np.stack([np.zeros(50), 1e5 * shares + noise])
    >>> fit = compare_residuals(edges, counts, 2**0.5, SEV, "laplace")
    >>> bool(fit.statistic < fit.limit), bool(fit.p_value > 0.05)
    (True, True)
    """

    errors: FloatArray
    cumulative_hazard: FloatArray
    model_hazard: FloatArray
    interval: FloatArray
    noise_interval: FloatArray
    confidence: float
    distance: float
    place: float
    statistic: float
    limit: float
    p_value: float

    @property
    def rejected(self) -> bool:
        """Whether the distribution is clearly wrong."""
        return self.p_value <= _REJECTED

    def __str__(self) -> str:
        far = "more than" if self.statistic > self.limit else "within"
        return (
            f"Around a standardised error of {self.place:.2g} the residuals' survival curve is "
            f"{self.distance:.2g} from the distribution's: {self.statistic:.2g} standard errors, {far} the "
            f"{self.limit:.2g} that noise and sampling exceed in one of twenty releases under the "
            f"distribution (p = {self.p_value:.2g})."
        )


def about_the_final_line(self: Any, release: LookRelease) -> dict[str, Any]:
    """Return the cells of residuals about the first line as cells about the final one, and other lines.

    Let the final line be a + x b, the first one a_0 + x b_0, and m the features' means. A residual about the
    first line is that about the final one, moved by a - a_0 + m (b - b_0) and by (x - m) (b - b_0). The last
    term widens it. The replicates' noise makes other a, b and scales possible: twice the estimate less each.
    """
    distribution, fit, metric = self.error_distribution_, release.fit, Metric.of(release.moments)
    first = fit_of_moments(release.moments, distribution, self._scale_limits)
    grid, shift = self.grid_, self._shift
    replicates, without = (each - 2.0 * shift for each in (self.replicates_, fitting.without_noise(self)))
    half, center = grid.half, grid.center + grid.half * metric.mean
    of_noise = replicates - without
    locations = (of_noise[:, 0] + of_noise[:, 2:] @ center) / grid.y_half
    factors = without[:, 1] / np.maximum(replicates[:, 1], np.finfo(float).tiny)
    varying = varying_directions(len(half), self._constant)
    missed = fit.coef - first.coef - (replicates[:, 2:] - self.coef_ + shift[2:]) * half / grid.y_half
    along = missed @ varying.T @ varying @ metric.vectors
    spreads = along**2 @ metric.plausible / (metric.n * float(fit.scale) ** 2)
    moved = first.intercept - fit.intercept + metric.mean @ (first.coef - fit.coef)
    inner = (release.residuals.edges * first.scale + moved) / fit.scale
    others = (inner + locations[:, np.newaxis] / fit.scale) / factors[:, np.newaxis]
    return {
        "edges": np.concatenate([[-np.inf], inner, [np.inf]]),
        "spread": float(spreads.mean()),
        "possible": -_Widened(distribution, (spreads / factors**2)[:, np.newaxis]).log_survival(others),
    }


@dataclass(frozen=True, eq=False)
class _Widened:
    """Distribution of the sum of an error and a normal one, of one variance or one variance a table."""

    distribution: ErrorDistribution
    variance: Any

    def log_survival(self, errors: FloatArray) -> FloatArray:
        places = np.expand_dims(errors, -1) - np.sqrt(self.variance)[..., np.newaxis] * NODES
        survival: FloatArray = self.distribution.survival(places) @ WEIGHTS
        return np.log(np.maximum(survival, np.finfo(float).tiny))


def compare_residuals(
    edges: FloatArray,
    counts: FloatArray,
    noise_std: float,
    distribution: ErrorDistribution,
    mechanism: str,
    *,
    confidence: float = 0.9,
    spread: float = 0.0,
    possible: FloatArray | None = None,
    n_compared: int = 1,
    seed: int = 0,
) -> GoodnessOfFit:
    """Compare a noisy histogram of standardised residuals with their distribution.

    Parameters
    ----------
    edges : ndarray of shape (n_cells + 1,)
        Ends of the cells; the first and the last are infinite.
    counts : ndarray of shape (2, n_cells)
        Censored rows and events, with noise. Without censored rows the first line is 0.
    noise_std : float
        Standard deviation of the noise of every count; a line of zeros has none.
    distribution : ErrorDistribution
    mechanism : {"laplace", "gaussian"}
        Distribution of the noise.
    confidence : float, default=0.9
        Of the intervals.
        Variance of a normal error that residuals have in addition to their distribution.
        Variance of a normal error that residuals have in addition to their distribution.
    possible : ndarray of shape (n_tables, n_cells - 1), default=None
        Cumulative hazards at the inner edges under parameters that may be the true ones. None: those of the
        distribution alone.
    n_compared : int, default=1
        Number of histograms of which the least p-value counts: it is multiplied by this number.
    seed : int, default=0
        Of the tables under the distribution: the same release always has the same limit.

    Returns
    -------
    fit : GoodnessOfFit
    """
    # A line of zeros was not released.
    noise = np.where(counts.any(axis=1), noise_std, 0.0)[:, np.newaxis]
    widened = _Widened(distribution, np.array(spread)) if spread else distribution
    cells = _Cells(edges, counts, widened)
    usable = int(_usable(counts, noise))
    expected = cells.model_hazard[:usable]
    of_noise, of_rows = (std[:usable] for std in cells.errors_of_hazard(counts, noise))
    both = np.maximum(np.hypot(of_noise, of_rows), np.finfo(float).eps)

    # Edges beyond the usable ones are so inexact that early ones would have to be changed for them.
    hazard = _rising(cells.cumulative_hazard(counts)[np.newaxis, :usable])[0]
    steps = np.tile(cells.steps, (_N_TABLES, 1)) if possible is None else np.diff(possible, prepend=0.0)
    # In each cell: rows that may all be censored at one place of it, anywhere.
    peaks = np.append(0.0, np.sqrt(squares_of_peaks(counts[0], noise[0, 0])))
    rng = np.random.default_rng(seed)

    def draw(steps: FloatArray) -> FloatArray:
        """Return survival curves under the distribution, with nan where they are not known."""
        tables = _expected_tables(steps, counts, noise, mechanism, rng)
        moved = peaks * (rng.random((len(steps), len(peaks))) - 0.5)
        hazards = _rising(cells.cumulative_hazard(tables, moved)[:, :usable])
        known = np.arange(usable) < _usable(tables, noise)[:, np.newaxis]
        return np.where(known, np.exp(-hazards), np.nan)

    def counted(distances: FloatArray) -> FloatArray:
        return np.where(distances >= _MATTERS, distances / spread, 0.0)

    drawn = draw(steps)
    # Edges that most tables reach.
    compared = int(np.sum(np.mean(np.isnan(drawn), axis=0) < 0.5))
    drawn = drawn[:, :compared]
    center, spread = np.nanmean(drawn, axis=0), np.maximum(np.nanstd(drawn, axis=0), np.finfo(float).eps)
    distances = np.abs(np.exp(-hazard) - np.exp(-expected))[:compared]
    statistics, drawn_ones = counted(distances), counted(np.abs(drawn - center)).max(axis=1)
    limit = float(np.quantile(drawn_ones, 1.0 - (1.0 - _LEVEL) / n_compared))
    furthest = int(np.argmax(statistics if statistics.any() else distances))
    if np.sum(drawn_ones >= statistics[furthest]) <= _FEW:
        more = counted(np.abs(draw(np.tile(steps, (_MORE, 1)))[:, :compared] - center))
        drawn_ones = np.concatenate([drawn_ones, more.max(axis=1)])
    p_value = float((1 + np.sum(drawn_ones >= statistics[furthest])) / (1 + len(drawn_ones)))
    width = float(ndtri(fitting.ends_of(confidence)[1]))
    return GoodnessOfFit(
        errors=edges[1 : usable + 1],
        cumulative_hazard=hazard,
        model_hazard=expected,
        interval=_log_interval(hazard, width * both),
        noise_interval=_log_interval(hazard, width * of_noise),
        confidence=confidence,
        distance=float(distances[furthest]),
        place=float(edges[1 + furthest]),
        statistic=float(statistics[furthest]),
        limit=limit,
        p_value=min(1.0, n_compared * p_value),
    )


def _usable(counts: FloatArray, noise: FloatArray) -> IntArray:
    """Return the number of inner edges, at least 1, up to which the rows at risk stand out of the noise."""
    n_cells = counts.shape[-1]
    spread = np.sqrt(np.sum(noise**2) * np.arange(n_cells, 0, -1))
    hidden = (_remaining(counts) <= np.maximum(_AT_RISK * spread, 1.0))[..., :-1]
    return np.where(hidden.any(axis=-1), np.maximum(np.argmax(hidden, axis=-1), 1), n_cells - 1)


def _remaining(counts: FloatArray) -> FloatArray:
    """Return the rows that reach each cell, of shape (..., n_cells); counts are (..., 2, n_cells)."""
    return np.cumsum(counts.sum(axis=-2)[..., ::-1], axis=-1)[..., ::-1]


def _rising(hazards: FloatArray) -> FloatArray:
    """Return the nearest cumulative hazards that rise from 0, of every table, by isotonic regression."""
    found = np.maximum(hazards, 0.0)
    for table in np.flatnonzero((np.diff(hazards) <= 0.0).any(axis=1)):
        found[table] = np.maximum(isotonic_regression(hazards[table]).x, 0.0)
    return found


class _Cells:
    """The cells but the last: their hazards by the distribution, and how long leaving rows are at risk."""

    def __init__(self, edges: FloatArray, counts: FloatArray, distribution: Any) -> None:
        inner = edges[1:-1]
        self.model_hazard = -distribution.log_survival(inner)
        self.steps = np.diff(self.model_hazard, prepend=0.0)
        # Shares of the cell's hazard that leaving rows are at risk for, of shape (n_inner,). The first cell
        # has no end. One half is good enough, as the distribution has hardly any hazard there.
        self.censored, self.events = np.full((2, len(inner)), 0.5)
        points = (np.arange(_N_POINTS) + 0.5) / _N_POINTS
        at = inner[:-1, np.newaxis] + np.diff(inner)[:, np.newaxis] * points
        passed = -distribution.log_survival(at) - self.model_hazard[:-1, np.newaxis]
        steps = np.maximum(self.steps[1:, np.newaxis], np.finfo(float).tiny)
        lost, slopes = _censoring(counts)
        # Density of the rows' places within the cell. Censored ones are exponential. Events follow the
        # distribution and the number of censored rows that are left.
        curve = np.exp(slopes[:, np.newaxis] * points)
        rate = np.gradient(passed, points, axis=1) * np.exp(-passed - lost[:, np.newaxis] * points)
        for density, shares in ((curve, self.censored), (rate, self.events)):
            shares[1:] = np.sum(density * passed / steps, axis=1) / np.maximum(
                density.sum(axis=1), np.finfo(float).tiny
            )

    def exposure(self, counts: FloatArray) -> FloatArray:
        """Return the rows at risk in each cell, at least 1."""
        staying = _remaining(counts)[..., 1:]
        at_risk = staying + self.censored * counts[..., 0, :-1] + self.events * counts[..., 1, :-1]
        return np.maximum(at_risk, 1.0)

    def cumulative_hazard(self, counts: FloatArray, more: float | FloatArray = 0.0) -> FloatArray:
        """Return the cumulative hazard at inner edges, with `more` rows at risk. Noise can make it fall."""
        return np.cumsum(counts[..., 1, :-1] / np.maximum(self.exposure(counts) + more, 1.0), axis=-1)

    def errors_of_hazard(self, counts: FloatArray, noise: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the errors of the cumulative hazard at inner edges that noise makes, and that rows make."""
        exposure = self.exposure(counts)
        hazards = np.maximum(counts[1, :-1], 0.0) / exposure
        n_inner = len(exposure)
        own, later = np.eye(n_inner, n_inner + 1), np.triu(np.ones((n_inner, n_inner + 1)), 1)
        # Derivatives by the counts (columns): of the exposure of a cell (line), and then of its hazard.
        moved = later + np.stack([self.censored, self.events])[:, :, np.newaxis] * own
        slopes = -(hazards / exposure)[:, np.newaxis] * moved
        slopes[1] += own / exposure[:, np.newaxis]
        variance = np.einsum("e,ekc->k", noise[:, 0] ** 2, np.cumsum(slopes, axis=1) ** 2)
        return np.sqrt(variance), np.sqrt(np.cumsum(hazards / exposure))


def _censoring(counts: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the hazard of censoring in each inner cell, and the exponent of growth of censored rows."""
    censored = np.maximum(counts[0], 0.0)
    lost = -np.log1p(-np.minimum(censored / np.maximum(_remaining(counts), 1.0), 0.99))
    changes = 0.5 * (censored[2:] - censored[:-2]) / np.maximum(censored[1:-1], 1.0)
    # If numbers grow like exp(s u) by cells, half of the change over two cells is sinh(s).
    return lost[1:-1], np.clip(np.arcsinh(changes), -2.0, 2.0)


def _log_interval(hazard: FloatArray, width: FloatArray) -> FloatArray:
    """Return the ends hazard * exp(-+ width / hazard), as of its logarithm; from 0 if the hazard is 0."""
    factor = np.exp(width / np.maximum(hazard, np.maximum(width, np.finfo(float).tiny)))
    # If the error is as large as the estimate, the error of the logarithm means nothing.
    lower = np.where(width < hazard, hazard / factor, 0.0)
    return np.stack([lower, np.maximum(hazard * factor, hazard + width)], axis=-1)


def _expected_tables(
    steps: FloatArray, counts: FloatArray, noise: FloatArray, mechanism: str, rng: np.random.Generator
) -> FloatArray:
    """Draw noisy counts, of shape (n_tables, 2, n_cells): new events, and censored rows as released.

    Within a cell events, with the hazards `steps` of shape (n_tables, n_cells - 1), and censoring compete at
    constant hazards. The last cell takes what is left.
    """
    n_tables, n_inner = steps.shape
    censored = np.maximum(counts[0], 0.0) / np.maximum(_remaining(counts), 1.0)
    competing = -np.log1p(-np.minimum(censored, 0.99))
    tables = np.zeros((n_tables, 2, n_inner + 1))
    alive = np.full(n_tables, max(1, round(float(counts.sum()))))
    for k, censoring in enumerate(competing[:-1]):
        event = np.maximum(steps[:, k], np.finfo(float).tiny)
        both = event + censoring
        gone = rng.binomial(alive, -np.expm1(-both))
        tables[:, 1, k] = rng.binomial(gone, event / both)
        tables[:, 0, k] = gone - tables[:, 1, k]
        alive = alive - gone
    tables[:, 1, -1] = alive
    if mechanism == "laplace":
        return tables + rng.laplace(size=tables.shape) * noise / np.sqrt(2.0)
    return tables + rng.normal(size=tables.shape) * noise


# States of estimates, and the warning of a fit, which names those that are not known.

States = NDArray[np.str_]

#: The interval is expected to hold as often as its confidence, and is narrow enough to be useful.
KNOWN = "known"
#: The interval is expected to hold, but the noise of the release makes most of its width, and it is of little
#: use.
MOSTLY_NOISE = "mostly noise"
#: The interval may hold less often than its confidence, or no row has information about such values.
UNKNOWN = "unknown"

#: Meaning of the states, printed below tables.
MEANING = {
    MOSTLY_NOISE: "the noise of the release makes most of the interval, which says little.",
    UNKNOWN: "do not rely on the estimate, nor on its interval.",
}
# An interval is of little use if it is too wide to one side on the scale of the model. The limit is the
# distance between the 10 % and the 20 % quantile of the errors. Beyond it, the interval does not show whether
# twice as many failures come by then.
_LIVES = (0.1, 0.2)
# The noise is most of an interval if it makes this share of the square of its width.
_MOST = 0.5
# Part of a unit slope along directions that the noise hides, from which the slope counts as hidden.
_HIDDEN_PART = 0.1
# Of 13 slopes hidden by noise in 432 fits to 5,000 rows, intervals that exclude 0 held in 0.3; with 2, none
# is left.
_TWICE = 2.0
# Replicates for the warning of a fit, if they take long: standard errors are then within a tenth.
_FEW_REPLICATES = 100
# Largest variance, in scales of the error, that errors of the slopes may add to the residuals. A normal
# distribution is used for them, which is right if the variance is small.
_MOST_SPREAD = 0.25
# Part of a normal distribution within one standard deviation, and the half-width of a 90 % interval in these.
_ONE_ERROR, _OF_ONE_ERROR = 0.683, 1.645
# Largest number of names in a sentence.
_SHOWN = 5
# Why lifetimes are not known if many are clipped, of which there is another warning.
_CLIPPED = "times beyond bounds_y are clipped"


@dataclass(frozen=True, eq=False)
class Ground:
    """What applies to many estimates of a fit at once.

    Attributes
    ----------
    verdict : GoodnessOfFit or str
        How residuals agree with the distribution, or why there is no verdict.
    means_nothing : str or None
        Why no estimate means anything.
    of_lives : str or None
        Why intervals of the scale, of quantiles and of curves may not hold.
    hidden : ndarray of bool of shape (n_features,)
        Which slopes belong to combinations of features whose variation the noise hides: they are pulled
        toward zero by an unknown amount.
    limit : float
        Distance, in scales of the error, beyond which an interval is of little use.
    """

    verdict: GoodnessOfFit | str
    means_nothing: str | None
    of_lives: str | None
    hidden: BoolArray
    limit: float

    @property
    def rejected(self) -> bool:
        """Whether the residuals reject the distribution."""
        return isinstance(self.verdict, GoodnessOfFit) and self.verdict.rejected


def ground_of(self: Any) -> Ground:
    """Return what applies to many estimates at once, computed when it is first read."""
    if self._ground is None:
        self._ground = _find_ground(self)
    ground: Ground = self._ground
    return ground


def _find_ground(self: Any) -> Ground:
    release, distribution = self.release_, self.error_distribution_
    low, high = distribution.quantile(_LIVES)
    hidden = np.zeros(len(self.coef_), dtype=bool)
    nothing = of_lives = None
    if isinstance(release, CensoredRelease):
        nothing = means_nothing(release, strict=self._was_strict)
        if nothing is None and unsettled(release, distribution):
            of_lives = "by the released values, the rounds ended before location and scale settled"
    elif isinstance(release, PopulationRelease):
        nothing = None if release.shows_events else NO_EVENTS
        if not release.settled:
            of_lives = "by the released values, the noise hides where the likelihood is largest"
    else:
        hidden_directions = unclear_directions(fitting.moments_of(release), self._constant)
        if len(hidden_directions):
            hidden = np.sum(hidden_directions**2, axis=0) > _HIDDEN_PART
            of_lives = "by the released values, the noise hides how much some columns vary"
    compared = "the estimates mean nothing" if nothing else _compared(self)
    verdict = compared if isinstance(compared, str) else _compare(compared)
    if isinstance(verdict, GoodnessOfFit) and verdict.rejected:
        of_lives = f"the residuals reject the distribution. {verdict}"
    if of_lives is None and _why_clipped(self):
        of_lives = _CLIPPED
    return Ground(verdict, nothing, of_lives, hidden, float(high - low))


# The verdict on the distribution.


def goodness_of_fit(self: Any, *, confidence: float = fitting.CONFIDENCE) -> GoodnessOfFit:
    """Compare the released residuals with the distribution of the fit.

    Parameters
    ----------
    confidence : float, default=0.9
        Of each interval by itself, above 0 and below 1.

    Returns
    -------
    fit : GoodnessOfFit
        It prints as a sentence; `skprivate.inspection.ResidualDisplay` draws it.

    Raises
    ------
    NotFittedError
        There is no fit yet.
    ValueError
        The fit released no histogram of residuals about its estimates, or the confidence is out of range.

    Notes
    -----
    With ``scale_by`` the residuals of each level are compared, in its own scale. The result is the comparison
    of the level that differs most, with a p-value that accounts for the number of levels.

    **Privacy**: a function of released values, which spends nothing.
    """
    check_is_fitted(self)
    fitting.check_confidence(confidence)
    compared = _compared(self)
    if isinstance(compared, str):
        raise ValueError(f"{compared}: no released value shows whether the distribution is right.")
    return _compare(compared, confidence)


def _compare(compared: list[dict[str, Any]], confidence: float = fitting.CONFIDENCE) -> GoodnessOfFit:
    """Return the comparison that differs most, with a p-value that accounts for the number of comparisons."""
    found = [compare_residuals(**one, confidence=confidence, n_compared=len(compared)) for one in compared]
    return min(found, key=lambda one: one.p_value)


def _compared(self: Any) -> list[dict[str, Any]] | str:
    """Return what `compare_residuals` takes of a fit, or of each level, or why there is no verdict."""
    release, levels = self.release_, self._level_model
    residuals = getattr(release, "residuals", None)
    counted: list[Any] = [residuals] if levels is None else levels.residuals
    if not counted or counted[0] is None:
        return "the fit released no histogram of residuals"
    every = [
        {
            "edges": one.edges,
            "counts": one.counts,
            "noise_std": one.noise_std,
            "distribution": self.error_distribution_,
            "mechanism": release.mechanism,
        }
        for one in counted
    ]
    if levels is not None:
        return every
    (found,) = every
    if isinstance(release, LookRelease):
        found |= about_the_final_line(self, release)
    elif isinstance(release, CensoredRelease) and release.correction is not None:
        found["spread"] = release.correction.spread
    if found.get("spread", 0.0) > _MOST_SPREAD:
        return "the errors that the slopes may have spread the residuals"
    return every


# States, from widths of intervals with the noise and without it.


def states_of(
    width: FloatArray, of_rows: FloatArray, limit: ArrayLike, lost: ArrayLike, useful: ArrayLike = False
) -> States:
    """Return the state of each of some estimates.

    Parameters
    ----------
    width, of_rows : ndarray of any shape
        Of the interval, and of the one that the rows alone would leave.
    limit : float or ndarray
        Width up to which an interval is useful.
    lost : bool or ndarray
        Whether the interval may not hold.
    useful : bool or ndarray, default=False
        Whether it is useful for another reason, such as an effect that is not 0.
    """
    too_wide = (noise_share(width, of_rows) > _MOST) & (width > np.asarray(limit)) & ~np.asarray(useful)
    states = np.where(too_wide, MOSTLY_NOISE, KNOWN)
    return np.where(np.asarray(lost) | ~np.isfinite(width), UNKNOWN, states)


def noise_share(width: FloatArray, of_rows: FloatArray) -> FloatArray:
    """Return the share of the noise in the squares of widths. Variances of replicates may be infinite."""
    width, of_rows = np.asarray(width), np.asarray(of_rows)
    parts = np.divide(of_rows, width, out=np.ones_like(width), where=width > 0.0)
    return np.asarray(1.0 - np.minimum(parts, 1.0) ** 2)


def width_of(replicates: FloatArray, confidence: float = fitting.CONFIDENCE) -> FloatArray:
    """Return the width of an interval from replicates, which are the last axis."""
    low, high = np.quantile(replicates, fitting.ends_of(confidence), axis=-1)
    return np.asarray(high - low)


def states_of_slopes(self: Any) -> States:
    """Return the state of every slope.

    A slope that is clearly not 0 is useful, and so is an interval that is narrow for the whole of its column.
    If noise hides many slopes, intervals of some exclude 0 by chance, or because noise has turned them to one
    side. These hold less often. So 0 has to be twice as far away as the farther end.
    """
    ground, units = ground_of(self), self.bounds_[1] - self.bounds_[0]
    interval = fitting.interval_of_coef(self, fitting.CONFIDENCE)
    clear = _clearly_not_0(self.coef_ - self._shift[2:], interval)
    replicates, without = self.replicates_[:, 2:].T, fitting.without_noise(self)[:, 2:].T
    lost = ground.hidden | (ground.means_nothing is not None) | leads_beyond(self, interval)
    return states_of(
        width_of(replicates), width_of(without), 2.0 * ground.limit * self.scale_ / units, lost, clear
    )


def _clearly_not_0(estimates: FloatArray, interval: FloatArray) -> BoolArray:
    """Return whether intervals exclude 0 from both sides of the estimate, also if they were twice as wide."""
    ends = np.abs(interval - estimates[:, np.newaxis]).max(axis=1, initial=0.0)
    return np.asarray(np.abs(estimates) > _TWICE * ends)


def states_of_place(self: Any) -> States:
    """Return the states of intercept and scale; the limit of both is how far they move the B10 life."""
    ground = ground_of(self)
    replicates, without = self.replicates_[:, :2].T, fitting.without_noise(self)[:, :2].T
    reach = abs(float(self.error_distribution_.quantile(_LIVES[0])))
    intercept = fitting.pivotal(self.intercept_, replicates[0], fitting.CONFIDENCE)
    lost = np.array([beyond_y(self, intercept), False]) | is_lost(ground)
    limits = 2.0 * ground.limit * self.scale_ / np.array([1.0, reach])
    return states_of(width_of(replicates), width_of(without), limits, lost)


def is_lost(ground: Ground) -> bool:
    """Return whether intervals of quantiles may not hold, whatever their width."""
    return bool(ground.means_nothing or ground.of_lives)


def beyond_y(self: Any, interval: FloatArray) -> BoolArray:
    """Return which intervals, on the scale of the model, end farther beyond bounds_y than these are apart."""
    low, high = on_model_scale(self.bounds_y_, self.log_target_)
    return np.asarray((interval[..., 0] < 2 * low - high) | (interval[..., 1] > 2 * high - low))


def leads_beyond(self: Any, interval: FloatArray) -> BoolArray:
    """Return which slopes may lead, within the bounds of their columns, as far."""
    low, high = on_model_scale(self.bounds_y_, self.log_target_)
    units = self.bounds_[1] - self.bounds_[0]
    return np.asarray(np.abs(interval).max(axis=1, initial=0.0) * units > 2 * (high - low))


def names_of_slopes(self: Any) -> tuple[str, ...]:
    """Return the names of the columns of the slopes: x0, x1, ... if the fit had none."""
    unnamed = tuple(f"x{k}" for k in range(len(self.coef_)))
    return tuple(map(str, self._names_of_features() or unnamed))


# The warning of a fit.


def warn_of_release(self: Any) -> None:
    """Warn of columns that are not as declared, of clipped targets, and of what is not known."""
    misfits: tuple[str | None, ...] = ()
    if isinstance(self.release_, MomentRelease | LookRelease):
        moments, grid = fitting.moments_of(self.release_), self.grid_
        n_rows = max(float(moments.matrix[0, 0]), 1.0)
        # Columns in their own units, and not in those of the grid.
        means = grid.center + grid.half * moments.matrix[0, 2:] / n_rows
        std, bounds = grid.half * moments.noise_std[0, 2:] / n_rows, (grid.lower, grid.upper)
        columns = mistakes.bounded_columns(self.domain, self._names_of_features(), bounds, means, std)
        missing = mistakes.mostly_missing(self.domain, mistakes.least_missing(self.domain, means, std))
        misfits = missing, mistakes.columns_at_a_bound(columns)
    if isinstance(self.release_, MomentRelease):
        # Each replicate is a fit of its own, which takes long with many features.
        self._replicates, self._without_noise = (
            fitting.replicate(self, with_noise, _FEW_REPLICATES) for with_noise in (True, False)
        )
    mistakes.warn_of_mistakes(type(self).__name__, *misfits, why_unknown(self))
    # They are functions of the release, and drawn again where they are read: pickles of the model stay small.
    self._replicates = self._without_noise = self._ground = None


def why_unknown(self: Any) -> str | None:
    """Return what is not known of the model, and why, by released values."""
    with np.errstate(all="ignore"):
        levels = None if self._level_model is None else self._level_model.warning()
        return " And ".join(filter(None, [_why_clipped(self), *_why_noisy(self), levels])) or None


def _why_clipped(self: Any) -> str | None:
    """Return what released counts, or the mean, show of values of the target beyond its bounds."""
    release, grid = self.release_, self.grid_
    if release.ends is not None:
        return beyond_bounds(release.ends)
    if isinstance(release, CensoredRelease):
        return beyond_bounds(release.histogram)
    if isinstance(release, PopulationRelease):
        # Rows beyond the bounds are in open cells: a few of them bias nothing.
        counts = release.histogram
        return mistakes.count_at_a_bound(counts.below, 0.0, max(float(counts.counts.sum()), 1.0))
    moments = fitting.moments_of(release)
    n = max(float(moments.matrix[0, 0]), 1.0)
    mean, noise = float(moments.matrix[0, 1]) / n, float(moments.noise_std[0, 1]) / n
    return mistakes.mean_at_a_bound(grid.y_center + grid.y_half * mean, grid.y_half * noise, grid.target)


def _why_noisy(self: Any) -> list[str]:
    ground = ground_of(self)
    if ground.means_nothing:
        return [ground.means_nothing]
    states = states_of_slopes(self)
    said = []
    interval = fitting.interval_of_coef(self, fitting.CONFIDENCE)
    shown = (states == KNOWN) & _clearly_not_0(self.coef_ - self._shift[2:], interval)
    if _constant_may_do(self) and not shown.any():
        said.append(mistakes.no_effect("numbers"))
    elif (states == MOSTLY_NOISE).any():
        said.append(_hidden(self, states == MOSTLY_NOISE))
    if ground.hidden.any():
        said.append(
            "by the released values, the noise hides how much some combination of the features varies. "
            f"Slopes of {_listed(self, ground.hidden)} are pulled toward zero, and intervals do not account "
            "for that, nor do those of the scale and of quantiles. Leave out one of columns that nearly "
            "determine each other (of one-hot coded columns that add up to one, a level), or "
            "tighten the bounds; more rows or a larger epsilon would help, too."
        )
    elif ground.of_lives and ground.of_lives != _CLIPPED:
        said.append(
            f"{ground.of_lives.removesuffix('.')}. The scale and quantiles may be off by more than their "
            "intervals."
        )
    elif _hides_lives(self):
        said.append("by the released values, the noise hides the lower quantiles.")
    return said


def _hides_lives(self: Any) -> bool:
    """Return whether the B10 life of a row with the released means of the features is mostly noise."""
    center = self.grid_.center + self.grid_.half * fitting.means_of(self.release_)
    lower = self.error_distribution_.quantile(_LIVES[0])
    # Widths are those of one standard error: replicates of few rows have far outliers.
    width, of_rows = (
        _OF_ONE_ERROR * width_of(each[:, 0] + each[:, 2:] @ center + each[:, 1] * lower, _ONE_ERROR)
        for each in (self.replicates_, fitting.without_noise(self))
    )
    limit = 2.0 * ground_of(self).limit * self.scale_
    return bool(states_of(width, of_rows, limit, False) == MOSTLY_NOISE)


def _constant_may_do(self: Any) -> bool:
    """Return whether, by released values, a constant may predict as well as the slopes do."""
    release, constant = self.release_, self._constant
    if isinstance(release, PopulationRelease):
        return False
    if isinstance(release, CensoredRelease):
        return hides_features(release, constant)
    if release.check is not None:
        return not release.check.shows_effect
    if isinstance(release, LookRelease):
        options = {"rows_per_unit": self._rows_per_unit, "n_replicates": _FEW_REPLICATES, "by_steps": True}
        replicates = bootstrap_looks(release, self.error_distribution_, constant=constant, **options)
        return looks_may_be_noise(release, replicates)
    return moments_may_be_noise(release, self._unshrunk)


def _hidden(self: Any, hidden: BoolArray) -> str:
    """Return the sentence on slopes that are mostly noise, with what would help."""
    helps = ["more rows", "a larger epsilon"]
    if any("=" in name for name in _named(self, hidden)) and self.domain is not None:
        helps.insert(0, "levels that are joined")
    if self.release_.mechanism == "laplace" and len(self.coef_) > 2:
        helps.insert(0, "Gaussian noise (delta above 0)")
    return (
        f"by the released values, the noise hides the effects of {_listed(self, hidden)}: intervals hold, "
        f"but are of little use. What helps: {', '.join(helps[:-1])} or {helps[-1]}. summary() shows what is "
        "known of every estimate."
    )


def _named(self: Any, which: BoolArray) -> Sequence[str]:
    return [name for name, named in zip(names_of_slopes(self), which, strict=True) if named]


def _listed(self: Any, which: BoolArray) -> str:
    names = [repr(name) for name in _named(self, which)]
    return ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
