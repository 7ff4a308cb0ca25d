# SPDX-License-Identifier: BSD-3-Clause
"""Histograms of censored times and of residuals: their counts, curves and fits, and what their noise does."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

from benchmarks.figures.life_data.censored import fit_censored
from skprivate.linear_model._censored.histograms import (
    _CUTS,
    PARTS,
    RESIDUAL_BINS,
    HistogramRelease,
    ResidualHistogram,
    _fit_with_cut,
    fit_histogram,
    fit_residuals,
    histogram_cells,
    kaplan_meier,
    residual_edges,
)
from skprivate.linear_model._censored.release import bootstrap_censored
from skprivate.linear_model._distributions import NORMAL, SEV
from skprivate.linear_model._moments.released_moments import unscale
from skprivate.rounds._plans.moments import MomentGrid
from skprivate.rounds._rows import PreparedRows
from tests.linear_model.censored.conftest import make_grid, make_plan
from tests.linear_model.conftest import DISTRIBUTIONS
from tests.marks import slow_unless

GRID = MomentGrid(lower=np.array([-1.0]), upper=np.array([1.0]), target=(-5.0, 5.0), exponent=20)


def release_of(counts, noise=0.0):
    return HistogramRelease(np.asarray(counts, dtype=float), noise, GRID.target)


@pytest.mark.parametrize(("time", "below"), [(-5.0 - 1e-3, 1), (-5.0, 0), (-5.0 * (1 + 1e-12), 0), (5.1, 0)])
def test_events_below_the_lower_bound_are_counted(time, below):
    """On the bound is inside, also where a logarithm was rounded; no censored row counts."""
    for event in (0, 1):
        rows = PreparedRows(np.zeros((1, 1)), y=np.array([time]), event=np.array([event], dtype=np.uint8))
        counted = HistogramRelease.of(histogram_cells(GRID).sums(rows) * PARTS, 0.0, GRID.target, 2)
        assert counted.below == below * event
        assert counted.counts.sum() == 1


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
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
        survival = kaplan_meier(release.counts, release.noise_std, np.linspace(-1, 1, 65)[1:])[1]
        assert (np.diff(survival) <= 0).all()
        assert survival.min() >= 0
        assert survival.max() <= 1
        assert 0 < release.event_share <= 1


# Residuals.

COEF = np.array([0.5, -0.5, 0.5, 0.0, 0.5])


def counts_of(distribution, location, scale, censored, spread=0.0, n=400_000, width=1.0):
    """Counts of standardised residuals that are watched to times within two scales."""
    rng = np.random.default_rng(3)
    u = location + scale * distribution.quantile(rng.random(n)) + np.sqrt(spread) * rng.standard_normal(n)
    offset = rng.uniform(-width, width, n)
    end = offset + (np.quantile(u - offset, 1 - censored) if censored else np.inf)
    edges, event = residual_edges(distribution), u <= end
    cells = np.searchsorted(edges[1:-1], np.minimum(u, end), side="right")
    counts = np.stack([np.bincount(cells[event == seen], minlength=RESIDUAL_BINS + 2) for seen in (0, 1)])
    return ResidualHistogram(edges, counts.astype(float), 0.0)


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
@pytest.mark.parametrize("censored", [0.0, 0.3, 0.8])
@pytest.mark.parametrize(("location", "scale"), [(0.0, 1.0), (0.2, 0.9), (-0.3, 1.25)])
def test_location_and_scale_are_those_of_the_residuals(distribution, censored, location, scale):
    # The error of the bins' middles is the limit; standard errors are some .005.
    law = fit_residuals(counts_of(distribution, location, scale, censored), distribution, 0.0)
    assert law.settled
    assert law.location == pytest.approx(location, abs=0.025)
    assert law.log_scale == pytest.approx(np.log(scale), abs=0.02)


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
@pytest.mark.parametrize("middle", [-1.5, 0.5])
def test_bins_of_smooth_counts_bias_nothing(distribution, middle):
    """Expected counts where watching ends at normal residuals; a tenth of a standard error of 50,000 rows."""
    edges = residual_edges(distribution)
    parts = np.linspace(-40.0, 40.0, 800_001)[:-1] + 5e-5
    density, survival = np.exp(distribution.log_density(parts)), distribution.survival(parts)
    cells = np.searchsorted(edges[1:-1], parts, side="right")
    rows = [survival * norm.pdf(parts, middle, 1.5), density * norm.sf(parts, middle, 1.5)]
    counts = np.stack([np.bincount(cells, row, RESIDUAL_BINS + 2) for row in rows]) * 100
    for cut in _CUTS:
        law = _fit_with_cut(ResidualHistogram(edges, counts, 0.0), distribution, 0.0, cut)
        assert abs(law.location) < 5e-4
        assert abs(law.log_scale) < 5e-4


@pytest.mark.parametrize("distribution", slow_unless({NORMAL}, DISTRIBUTIONS))
def test_noise_of_the_counts_moves_the_estimate_as_is_claimed(distribution):
    """Counts below 0 count: leaving them out moves the scale by more than its noise."""
    rng, exact = np.random.default_rng(4), counts_of(distribution, 0.0, 1.0, 0.8, n=100_000)
    noise_std, n = 28.3, 200
    found = []
    for _ in range(n):
        noisy = exact.counts + rng.laplace(scale=noise_std / np.sqrt(2), size=exact.counts.shape)
        law = fit_residuals(replace(exact, counts=noisy, noise_std=noise_std), distribution, 0.0)
        found.append([law.location, law.log_scale, np.sqrt(law.noise(noise_std)[1, 1])])
    off, spread = np.mean(found, axis=0), np.std(found, axis=0)
    # Six standard errors of the mean; a standard deviation of 200 is within a fifth.
    assert (np.abs(off[:2]) < 6 * spread[:2] / np.sqrt(n) + 0.006).all()
    assert 0.75 < np.median([claimed for _, _, claimed in found]) / spread[1] < 1.3


def released(distribution=SEV, n=100_000, seed=0, rows=0, censored=0.4, epsilon=1):
    rng = np.random.default_rng([rows, 77])
    X = np.clip(rng.standard_normal((n, 5)), -4, 4)
    y = X @ COEF + 0.5 * distribution.quantile(rng.random(n))
    end = np.quantile(y, 1 - censored)
    return fit_censored(make_plan(epsilon, distribution, n=n), X, np.minimum(y, end), y <= end, seed)


def test_slopes_stay_and_the_edges_are_those_of_the_final_law():
    release = released()
    before, after = release.correction.theta, release.theta
    np.testing.assert_allclose(after[2:] / after[1], before[2:] / before[1], rtol=1e-12)
    assert release.residuals.counts.shape == (2, RESIDUAL_BINS + 2)
    assert release.residuals.edges.shape == (RESIDUAL_BINS + 3,)
    law = fit_residuals(release.residuals, SEV, release.correction.spread)
    # They have moved by what was believed of them.
    by = release.correction.by[1]
    assert law.log_scale == pytest.approx(release.correction.law.log_scale - by, abs=2e-3)


def test_replicates_scatter_about_the_estimate():
    release = released()
    replicates, (coef, intercept, scale) = bootstrap_censored(release), unscale(release.fit, make_grid())
    slopes, intercepts, scales = unscale(replicates, make_grid())
    for values, estimate in ((slopes[:, 0], coef[0]), (intercepts, intercept), (scales, scale)):
        # Six standard errors of a mean of 400.
        assert abs(values.mean() - estimate) < 6 * values.std() / 20


def test_noise_of_the_counts_widens_the_replicates():
    release = released()
    louder = replace(release, residuals=replace(release.residuals, noise_std=5 * release.residuals.noise_std))
    # Of the middle of the replicates, whose tails have no variance.
    wide, narrow = (
        float(np.diff(np.quantile(bootstrap_censored(one).scale, [0.1, 0.9]))[0]) for one in (louder, release)
    )
    assert wide > 1.4 * narrow
