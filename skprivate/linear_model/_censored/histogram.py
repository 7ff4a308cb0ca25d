# SPDX-License-Identifier: BSD-3-Clause
"""The private histogram of censored times, its Kaplan-Meier curve, and a first fit without features."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.optimize import minimize

from ..._typing import FloatArray, IntArray
from ...base._likely_mistakes import count_at_a_bound
from ...rounds._plans.axes import SurvivalAxis
from ...rounds._plans.cells import CellsPlan
from ...rounds._plans.grid import MomentGrid
from ...utils._public_module import public_module
from .._distributions import ErrorDistribution
from .._moments.noise_scale import NoiseScales

# Of one row. Scales of discrete noise are rounded up to whole parts: by less than 1 % unless they are below a
# tenth of a row. 2^32 rows have room.
PARTS = 2**10
N_BINS = 64  # a bin of bounds of exp(+-5) is a factor of 1.17 in time
# Cells below so many standard deviations of the noise are taken for empty in the first fit; some 3 % of the
# empty ones are not. Only where rounds start follows from it.
_VISIBLE = 2.0
# The survival curve ends where fewer rows are at risk than so many standard deviations of the noise: a hazard
# is then known within a fifth.
_AT_RISK = 5.0
# Noisy number of events below which nothing is to be learnt, in standard deviations of its noise.
_FEW_EVENTS = 3.0
# Rows beyond a bound are told if their count is so many standard deviations of its noise: of Laplace noise
# one in 500 is. They matter where they are more than this part of the square root of all rows: a clipped row
# moves a score by about one, whose standard error is about that square root.
_CLEARLY = 4.0
_MOVES = 0.5
# Scales of the error that the first fit tries, in scaled units (half the bounds of the target are 1); it goes
# on from the best of them, within the ranges below.
_SCALES = (0.02, 0.05, 0.1, 0.2, 0.4)
_LOG_SCALE_RANGE = (np.log(1e-3), np.log(10.0))
_LOCATION_RANGE = (-3.0, 3.0)


@dataclass(frozen=True, eq=False)
class CountNoise:
    """Discrete noise on counts in parts of a row, which vanishes as epsilon grows.

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


@public_module("skprivate.linear_model")
@dataclass(frozen=True, eq=False)
class HistogramRelease:
    """Noisy counts of rows by event and by equal bins of the time.

    Attributes
    ----------
    counts : ndarray of shape (2, n_bins) or (4, n_bins)
        Row 0: censored, row 1: events; where other kinds are declared, row 2: events that came earlier, row
        3: intervals, by their middle. When watching began is not looked at. May be negative.
    noise_std : float
        Standard deviation of the noise of every count.
    target : tuple of two floats
        Bounds of the bins on the scale of the model. What lies outside is counted in the first or last bin.
    below : float
        Noisy count of events below the lower bound, which is part of the first bin of events: the noise of
        that one has twice the variance.
    """

    counts: FloatArray
    noise_std: float
    target: tuple[float, float]
    below: float = 0.0

    @classmethod
    def of(cls, released: IntArray, noise_std: float, target: tuple[float, float], n_tables: int) -> Self:
        """Take it from what was released of `histogram_cells`."""
        counts = released[:-1].reshape(n_tables, -1) / PARTS
        below = float(released[-1] / PARTS)
        counts[1, 0] += below
        return cls(counts, noise_std, target, below)

    def stands_out(self, count: float) -> bool:
        """Whether a count of rows beyond a bound is clear of its noise, and moves estimates."""
        total = max(float(self.counts.sum()), 0.0)
        return count > max(_CLEARLY * self.noise_std, _MOVES * np.sqrt(total))

    @property
    def n_late(self) -> float:
        """Noisy number of rows that are censored in the last bin: of complete times those above the bound."""
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


def histogram_cells(grid: MomentGrid, n_tables: int = 2, n_bins: int = N_BINS) -> CellsPlan:
    """Return the cells of the histogram: by what rows tell, and equal bins; then events below the bounds."""
    return CellsPlan(((SurvivalAxis(grid.y_center, grid.y_half, n_bins, n_tables, below=True),),))


def beyond_bounds(counts: HistogramRelease) -> str | None:
    """Return what counts of times beyond the bounds suggest, or why estimates do not account for them."""
    late = 0.0 if counts.shows_events and counts.counts.shape[1] > 1 else counts.n_late
    reason = count_at_a_bound(counts.below, late, max(float(counts.counts.sum()), 1.0))
    if reason is None and counts.stands_out(counts.below):
        reason = (
            "by the released counts, events lie below the lower bound of bounds_y, where they are clipped; "
            "estimates and their intervals do not account for it. Declare a lower bound below all times."
        )
    return reason


def kaplan_meier(release: HistogramRelease) -> tuple[FloatArray, FloatArray]:
    """Return the survival curve of the noisy counts.

    Parameters
    ----------
    release : HistogramRelease

    Returns
    -------
    times : ndarray of shape (n_times,)
        Upper ends of the bins, on the scale of the model, as far as the rows at risk stand out of the noise;
        at least one.
    survival : ndarray of shape (n_times,)
        Never increasing, in [0, 1].

    Notes
    -----
    In every bin the censored rows count as half at risk (the actuarial estimate). Post-processing of released
    counts. It is the survival curve only where all rows are events or censored, and watched from the start.
    """
    events = release.counts[1]
    remaining = np.cumsum(release.counts.sum(axis=0)[::-1])[::-1]
    noise = release.noise_std * np.sqrt(2.0 * np.arange(len(events), 0, -1))
    clear = remaining > _AT_RISK * noise
    n_times = len(events) if clear.all() else max(1, int(np.argmin(clear)))
    at_risk = (remaining - 0.5 * release.counts[0])[:n_times]
    risk = np.clip(events[:n_times] / np.maximum(at_risk, 1.0), 0.0, 1.0)
    times = np.linspace(*release.target, len(events) + 1)[1:]
    return times[:n_times], np.cumprod(1.0 - risk)


def fit_histogram(release: HistogramRelease, distribution: ErrorDistribution) -> tuple[float, float]:
    """Fit location and scale of the error, without features, to the noisy counts by maximum likelihood.

    Parameters
    ----------
    release : HistogramRelease
    distribution : ErrorDistribution

    Returns
    -------
    location, scale : float
        In scaled units (the bounds of the target are -1 and 1), within fixed ranges; finite whatever the
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
    """Log likelihood of counts between standardised edges."""
    survival = distribution.survival(errors)
    survival[0], survival[-1] = 1.0, 0.0  # the end bins hold what lies outside
    events = np.log(np.maximum(survival[:-1] - survival[1:], 1e-300))
    # Censored somewhere in a bin: at its middle.
    censored = np.maximum(distribution.log_survival(0.5 * (errors[1:] + errors[:-1])), -700.0)
    # Intervals are not far from events in their middle, for a place to start from.
    total = float(counts[0] @ censored + (counts[1:2].sum(axis=0) + counts[3:].sum(axis=0)) @ events)
    if len(counts) > 2:
        earlier = 1.0 - distribution.survival(0.5 * (errors[1:] + errors[:-1]))
        total += float(counts[2] @ np.log(np.maximum(earlier, 1e-300)))
    return total
