# SPDX-License-Identifier: BSD-3-Clause
"""Goodness of fit of hand-made releases: curves, intervals, and how often a wrong law is found."""

from types import SimpleNamespace

import numpy as np
import pytest

from skprivate import DPLogLocationScaleRegressor
from skprivate.datasets import make_location_scale
from skprivate.linear_model._distributions import LOGISTIC, NORMAL, SEV
from skprivate.linear_model._goodness_of_fit import compare_residuals
from tests.linear_model.conftest import DISTRIBUTIONS, IN_SCIPY, Known

EVERY_LAW = pytest.mark.parametrize("law", DISTRIBUTIONS, ids=lambda law: law.name)


def edges_of(law):
    return np.concatenate([[-np.inf], np.linspace(*law.quantile([2e-4, 1 - 2e-4]), 49), [np.inf]])


def counts_of(law, seed, n=100_000, censored=0.0, cells=SEV, noise_std=0.0):
    """Return counts of errors of a law, censored at normal times, in the cells of another, with noise."""
    rng = np.random.default_rng([seed, 1])
    errors = IN_SCIPY[law.name].rvs(size=n, random_state=rng)
    ends = np.full(n, np.inf)
    if censored:
        ends = law.quantile(1 - censored) + 1.5 * rng.normal(size=n)
    event, errors = errors <= ends, np.minimum(errors, ends)
    place = np.searchsorted(edges_of(cells)[1:-1], errors, side="right")
    counts = np.stack([np.bincount(place[event == kind], minlength=50) for kind in (False, True)])
    noise = np.random.default_rng([seed, 2]).laplace(size=counts.shape) * noise_std / np.sqrt(2)
    if not censored:
        noise[0] = 0
    return counts + noise


@EVERY_LAW
class TestCurve:
    def test_of_complete_rows_without_noise_is_the_empirical_one(self, law):
        counts = counts_of(law, 0, cells=law)
        fit = compare_residuals(edges_of(law), counts, 0.0, law, "laplace")
        empirical = 1 - np.cumsum(counts[1])[: len(fit.errors)] / counts.sum()
        np.testing.assert_array_equal(fit.errors, edges_of(law)[1 : 1 + len(fit.errors)])
        # Events leave within cells as the law says, not exactly as these did.
        np.testing.assert_allclose(np.exp(-fit.cumulative_hazard), empirical, atol=2e-3)
        np.testing.assert_allclose(fit.model_hazard, -IN_SCIPY[law.name].logsf(fit.errors), rtol=1e-9)
        # No noise: its interval is empty, and that of the rows has Greenwood's width, to first order.
        np.testing.assert_allclose(fit.noise_interval, fit.cumulative_hazard[:, np.newaxis] * [1, 1])
        half = 0.5 * np.diff(fit.interval, axis=1)[:, 0]
        middle = (empirical > 0.1) & (empirical < 0.9)
        greenwood = 1.645 * np.sqrt((1 - empirical) / (counts.sum() * empirical))
        np.testing.assert_allclose(half[middle], greenwood[middle], rtol=0.02)

    def test_of_censored_rows_is_that_of_the_law(self, law):
        """A million rows; five standard errors of sampling, a share of 1e-6 of all tables."""
        counts = counts_of(law, 1, n=1_000_000, censored=0.5, cells=law)
        fit = compare_residuals(edges_of(law), counts, 0.0, law, "laplace")
        known = fit.model_hazard < 1.0
        width = np.abs(fit.interval - fit.cumulative_hazard[:, np.newaxis]).max(axis=1) / 1.645
        difference = np.abs(fit.cumulative_hazard - fit.model_hazard)
        assert known.sum() > 20
        assert (difference[known] < 5 * width[known] + 1e-9).all()

    def test_squares_of_the_errors_of_noise_and_of_rows_add_up(self, law):
        counts = counts_of(law, 2, n=3000, censored=0.5, cells=law)
        noisy, exact = (compare_residuals(edges_of(law), counts, std, law, "laplace") for std in (5.0, 0.0))
        known = noisy.cumulative_hazard > 0.1
        intervals = (noisy.interval, noisy.noise_interval, exact.interval[: len(known)])
        both, *parts = (np.log(one[known, 1] / noisy.cumulative_hazard[known]) for one in intervals)
        np.testing.assert_allclose(both**2, np.sum(np.square(parts), axis=0))
        # Neither is nearly all of it.
        assert (np.max(parts, axis=0) < 0.95 * both).any()

    def test_rises_whatever_the_noise(self, law):
        for seed in range(5):
            counts = counts_of(law, seed, n=3000, censored=0.5, cells=law, noise_std=40.0)
            fit = compare_residuals(edges_of(law), counts, 40.0, law, "laplace")
            assert (np.diff(fit.cumulative_hazard) >= 0).all()
            assert (fit.cumulative_hazard >= 0).all()
            for interval in (fit.interval, fit.noise_interval):
                assert np.isfinite(interval).all()
                assert (interval[:, 0] <= fit.cumulative_hazard).all()
                assert (fit.cumulative_hazard <= interval[:, 1]).all()
            assert 0 < fit.p_value <= 1

    @pytest.mark.parametrize("counts", [np.zeros((2, 50)), -np.ones((2, 50)), np.full((2, 50), 1e-300)])
    def test_counts_that_say_nothing(self, law, counts):
        fit = compare_residuals(edges_of(law), counts, 5.0, law, "gaussian")
        assert len(fit.errors) >= 1
        assert np.isfinite([fit.distance, fit.statistic, fit.limit, fit.p_value]).all()


def test_a_late_edge_does_not_bend_the_early_ones():
    """Of a million rows of which few reach the last edges, where noise makes the estimate fall by far.

    Five standard errors, of ten tables: a share of 1e-5 of normal errors, and of these seeds none.
    """
    for seed in range(10):
        counts = counts_of(LOGISTIC, seed, n=1_000_000, censored=0.95, cells=LOGISTIC, noise_std=28.0)
        fit = compare_residuals(edges_of(LOGISTIC), counts, 28.0, LOGISTIC, "laplace")
        early = slice(4, 14)
        width = (fit.interval[early, 1] - fit.cumulative_hazard[early]) / 1.645
        assert (np.abs(fit.cumulative_hazard - fit.model_hazard)[early] < 5 * width).all()


def test_the_interval_of_the_noise_is_what_fresh_noise_does():
    """Standard deviations over 150 releases of one table; their relative error is below a tenth.

    Half of the interval is compared within .4 of it, more than five of these errors.
    """
    counts, edges = counts_of(NORMAL, 0, censored=0.6, cells=NORMAL), edges_of(NORMAL)
    hazards = []
    for seed in range(150):
        noise = np.random.default_rng([seed, 3]).laplace(size=counts.shape) * 20.0
        noisy = compare_residuals(edges, counts + noise, 20.0 * np.sqrt(2), NORMAL, "laplace")
        hazards.append(noisy.cumulative_hazard[:20])
    spread = np.std(hazards, axis=0)
    fit = compare_residuals(edges, counts, 20.0 * np.sqrt(2), NORMAL, "laplace")
    half = 0.5 * np.diff(fit.noise_interval, axis=1)[:20, 0] / 1.645
    known = fit.cumulative_hazard[:20] > 3 * half
    assert known.sum() > 8
    np.testing.assert_allclose(half[known], spread[known], rtol=0.4)


@pytest.mark.parametrize(
    ("law", "censored", "noise_std"),
    [*((law, 0.8, 30.0) for law in DISTRIBUTIONS), (SEV, 0.0, 30.0), (NORMAL, 0.5, 60.0)],
    ids=str,
)
def test_a_right_law_is_seldom_called_wrong_and_is_in_the_intervals(law, censored, noise_std):
    """40 tables of 100,000 rows: p is below .05 in one of twenty, and sees no tails that are not there.

    More than 14 of 40 have a probability below 1e-8 at .05, and below 3e-6 at .1, over nine cells. Of a
    table, the share of edges whose 90 % interval holds the law has a mean with a standard error of about .03:
    edges move together.
    """
    found, held = 0, []
    for seed in range(40):
        counts = counts_of(law, seed, censored=censored, cells=law, noise_std=noise_std)
        fit = compare_residuals(edges_of(law), counts, noise_std, law, "laplace")
        found += fit.p_value <= 0.05
        held.append(
            np.mean((fit.interval[:, 0] <= fit.model_hazard) & (fit.model_hazard <= fit.interval[:, 1]))
        )
        assert (fit.statistic > fit.limit) == ("more than" in str(fit))
    assert found <= 14
    assert 0.72 < np.mean(held) <= 0.99


@pytest.mark.parametrize(("true", "fitted"), [(SEV, NORMAL), (NORMAL, SEV), (LOGISTIC, SEV)])
def test_a_wrong_law_is_found(true, fitted):
    """Errors of the same mean and variance as the fitted law's, of 100,000 rows, with noise; always found."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        errors = IN_SCIPY[true.name].rvs(size=100_000, random_state=rng)
        errors = (errors - true.mean) * np.sqrt(fitted.variance / true.variance) + fitted.mean
        counts = np.zeros((2, 50))
        counts[1] = np.bincount(np.searchsorted(edges_of(fitted)[1:-1], errors), minlength=50)
        counts[1] += np.random.default_rng(seed + 100).laplace(size=50) * 20
        fit = compare_residuals(edges_of(fitted), counts, 20 * np.sqrt(2), fitted, "laplace")
        assert fit.p_value < 0.01
        assert "more than" in str(fit)


def test_a_model_reads_its_release():
    model = Known().fit(np.zeros((1, 2)))
    counts = counts_of(SEV, 0, noise_std=10.0)
    residuals = SimpleNamespace(edges=edges_of(SEV), counts=counts, noise_std=10.0)
    model.release_ = SimpleNamespace(residuals=residuals, mechanism="gaussian")
    found = model.goodness_of_fit(confidence=0.8)
    expected = compare_residuals(edges_of(SEV), counts, 10.0, SEV, "gaussian", confidence=0.8)
    np.testing.assert_array_equal(found.interval, expected.interval)
    assert (found.p_value, found.limit) == (expected.p_value, expected.limit)


def test_fits_to_censored_rows():
    """One release of each law: seeded, so that nothing is left to chance."""
    X, y = make_location_scale(100_000, 2, distribution="loglogistic", censoring=0.5, random_state=0)
    options = {"bounds_X": (-1, 1), "bounds_y": (0.005, 40), "random_state": 10**6}
    right, wrong = (
        DPLogLocationScaleRegressor(2.0, distribution=law, **options).fit(X, y).goodness_of_fit().p_value
        for law in ("loglogistic", "weibull")
    )
    assert right > 0.01 > wrong
