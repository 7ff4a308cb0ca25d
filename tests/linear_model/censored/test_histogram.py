# SPDX-License-Identifier: BSD-3-Clause
"""The histogram of censored times, its survival curve and its fit."""

import numpy as np
import pytest

from skprivate.linear_model._censored.histograms import (
    PARTS,
    HistogramRelease,
    fit_histogram,
    histogram_cells,
    kaplan_meier,
)
from skprivate.linear_model._distributions import LOGISTIC, NORMAL, SEV
from skprivate.rounds._plans.moments import MomentGrid
from skprivate.rounds._rows import PreparedRows

GRID = MomentGrid(lower=np.array([-1.0]), upper=np.array([1.0]), target=(-5.0, 5.0), exponent=20)


def count_bins(grid, time, event):
    """Return the counts of a table: censored rows, then events."""
    rows = PreparedRows(np.zeros((len(time), 1)), y=time, event=event)
    return HistogramRelease.of(histogram_cells(grid).sums(rows) * PARTS, 0.0, grid.target, 2).counts


def censored_times(distribution, n, seed=0):
    rng = np.random.default_rng(seed)
    y, end = 0.5 + 0.7 * distribution.quantile(rng.uniform(size=n)), rng.uniform(-1, 2, n)
    return np.minimum(y, end), (y <= end).astype(np.uint8)


def release_of(counts, noise=0.0):
    return HistogramRelease(np.asarray(counts, dtype=float), noise, GRID.target)


def test_counts_equal_numpy():
    time, event = censored_times(SEV, 5000)
    counts = count_bins(GRID, time, event)
    for k in (0, 1):
        want, _ = np.histogram(np.clip(time[event == k], -5, 5), bins=64, range=(-5, 5))
        np.testing.assert_array_equal(counts[k], want)


def test_times_outside_count_in_the_end_bins():
    counts = count_bins(GRID, np.array([-99.0, 99.0]), np.array([1, 0], dtype=np.uint8))
    assert counts[1, 0] == 1
    assert counts[0, -1] == 1
    assert counts.sum() == 2


@pytest.mark.parametrize(("time", "below"), [(-5.0 - 1e-3, 1), (-5.0, 0), (-5.0 * (1 + 1e-12), 0), (5.1, 0)])
def test_events_below_the_lower_bound_are_counted(time, below):
    """On the bound is inside, also where a logarithm was rounded; no censored row counts."""
    for event in (0, 1):
        rows = PreparedRows(np.zeros((1, 1)), y=np.array([time]), event=np.array([event], dtype=np.uint8))
        counted = HistogramRelease.of(histogram_cells(GRID).sums(rows) * PARTS, 0.0, GRID.target, 2)
        assert counted.below == below * event
        assert counted.counts.sum() == 1


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_times_that_are_not_finite_are_refused(bad):
    with pytest.raises(ValueError, match="NaN or infinity"):
        count_bins(GRID, np.array([0.0, bad, 1.0]), np.ones(3, dtype=np.uint8))


@pytest.mark.parametrize("distribution", [SEV, LOGISTIC, NORMAL])
def test_the_fit_finds_location_and_scale(distribution):
    release = release_of(count_bins(GRID, *censored_times(distribution, 100_000)))
    location, scale = fit_histogram(release, distribution)
    # In scaled units of 5. The bins are as wide as .2 scales.
    assert 5 * location == pytest.approx(0.5, abs=0.03)
    assert 5 * scale == pytest.approx(0.7, abs=0.03)


def test_the_survival_curve_is_kaplan_and_meiers():
    release = release_of(count_bins(GRID, *censored_times(SEV, 200_000)))
    times, survival = kaplan_meier(release)
    middle = (times > -2) & (times < 1)
    want = SEV.survival((times - 0.5) / 0.7)
    np.testing.assert_allclose(survival[middle], want[middle], atol=0.02)


@pytest.mark.parametrize("distribution", [SEV, LOGISTIC, NORMAL])
@pytest.mark.parametrize("seed", range(5))
def test_pure_noise_gives_finite_fits(distribution, seed):
    rng = np.random.default_rng(seed)
    for release in (
        release_of(rng.laplace(scale=50, size=(2, 64)), 70.0),
        release_of(-np.ones((2, 64)), 1.0),
        release_of(np.zeros((2, 64))),
    ):
        location, scale = fit_histogram(release, distribution)
        assert np.isfinite([location, scale]).all()
        assert scale > 0
        survival = kaplan_meier(release)[1]
        assert (np.diff(survival) <= 0).all()
        assert survival.min() >= 0
        assert survival.max() <= 1
        assert 0 < release.event_share <= 1
