# SPDX-License-Identifier: BSD-3-Clause
"""The histogram of censored times, its survival curve and its fit."""

import numpy as np
import pytest
from scipy import stats

from skprivate.linear_model._censored.histogram import (
    HistogramRelease,
    fit_histogram,
    histogram_cells,
    kaplan_meier,
    tilts_of,
)
from skprivate.linear_model._distributions import LOGISTIC, NORMAL, SEV
from skprivate.rounds._plans.grid import MomentGrid
from skprivate.rounds._plans.rows import PreparedRows

GRID = MomentGrid(lower=np.array([-1.0]), upper=np.array([1.0]), target=(-5.0, 5.0), exponent=20)


def count_bins(grid, time, event):
    """Return the counts of a table: censored rows, then events."""
    rows = PreparedRows(np.zeros((len(time), 1)), y=time, event=event)
    return histogram_cells(grid).sums(rows).reshape(2, -1)


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
        tilt, steepest = tilts_of(release, distribution, location, scale)
        assert 0.2 <= tilt <= 1.5
        assert tilt <= steepest < np.inf
        survival = kaplan_meier(release)[1]
        assert (np.diff(survival) <= 0).all()
        assert survival.min() >= 0
        assert survival.max() <= 1
        assert 0 < release.event_share <= 1


def test_curvatures_of_late_failures_grow_as_exponentials():
    # Errors far below 0: the logistic distribution is then nearly the SEV one, whose tilt is 1.
    counts = np.zeros((2, 64))
    counts[0, 5] = 1000.0
    assert tilts_of(release_of(counts), LOGISTIC, 0.5, 0.1) == pytest.approx((1.0, 1.0), abs=0.01)
    assert tilts_of(release_of(counts), SEV, 0.5, 0.1) == (1.0, 1.0)


def test_curvatures_of_normal_errors_grow_faster_the_earlier_rows_are_censored():
    """The logarithmic derivative of h (h - u), by differences; events have curvature 1."""
    early, late = np.zeros((2, 64)), np.zeros((2, 64))
    early[0, 10], late[0, 30] = 1000.0, 1000.0
    for counts, bin_ in ((early, 10), (late, 30)):
        u = (-1 + (2 * bin_ + 1) / 64) / 0.4
        curved = [h * (h - v) for v in (u - 1e-4, u + 1e-4) for h in [stats.norm.pdf(v) / stats.norm.sf(v)]]
        slope = np.log(curved[1] / curved[0]) / 2e-4
        assert tilts_of(release_of(counts), NORMAL, 0.0, 0.4)[1] == pytest.approx(slope, rel=1e-5)
    both = early + late
    both[1, 30] = 1000.0
    tilt, steepest = tilts_of(release_of(both), NORMAL, 0.0, 0.4)
    assert tilt < steepest
