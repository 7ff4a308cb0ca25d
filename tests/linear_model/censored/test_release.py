# SPDX-License-Identifier: BSD-3-Clause
"""Replicates of a released fit where little is known, and the warnings that say so."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.figures.life_data.censored import fit_censored
from skprivate.linear_model._censored.release import (
    _few_events_in_a_level,
    bootstrap_censored,
    censored_warning,
    errors_of,
)
from skprivate.linear_model._distributions import NORMAL, SEV
from tests.linear_model.censored.conftest import fitted, fleet, make_plan


@pytest.fixture(scope="module")
def release():
    X, time, event, _ = fleet(20_000, 0.3, 1)
    done = fit_censored(make_plan(20.0, n=20_000), X, time, event, 1)
    last = done.theta if done.correction is None else done.correction.theta
    return replace(done, theta=last, residuals=None, correction=None)


def test_replicates_along_a_direction_of_hardly_any_variance_are_wide(release):
    estimate = release.curvature_estimate
    flat = estimate.covariance.copy()
    flat[5] = flat[:, 5] = 0.0
    flat[5, 5] = 1e-7
    hidden = replace(release, curvature_estimate=replace(estimate, covariance=flat))
    # Of the middle of the replicates, whose tails have no variance.
    wide, narrow = (
        np.diff(np.quantile(bootstrap_censored(one).coef, [0.1, 0.9], axis=0), axis=0)[0]
        for one in (hidden, release)
    )
    # Column 5 of (y', x') is the fifth feature.
    assert wide[4] > 5 * narrow[4]
    assert (wide[:4] < wide[4] / 3).all()


@pytest.mark.parametrize("rows", [4, 25])
def test_rows_of_a_unit_have_so_many_times_the_variance(release, rows):
    """Their own spread alone; noise has what it had."""
    one, many = (
        bootstrap_censored(release, 200, rows_per_unit=count, with_noise=False) for count in (1, rows)
    )
    np.testing.assert_allclose(many.coef.std(axis=0) / one.coef.std(axis=0), np.sqrt(rows), rtol=0.2)
    noisy = bootstrap_censored(release, 200, rows_per_unit=rows)
    assert (noisy.coef.std(axis=0) > one.coef.std(axis=0)).all()


def test_one_time_of_looking_is_told(release):
    """Where the kinds tell of lives before or after one time only."""
    counts = np.zeros((4, 64))
    counts[0, 30], counts[2, 30] = 9000.0, 8000.0
    once = replace(
        release,
        histogram=replace(release.histogram, counts=counts),
        rule=replace(release.rule, in_halves=False, spread=0.0),
    )
    assert "one time" in censored_warning(once, SEV)
    counts = counts.copy()
    counts[0, 40] = 9000.0
    twice = replace(once, histogram=replace(release.histogram, counts=counts))
    assert "one time" not in (censored_warning(twice, SEV) or "")


def test_few_events_of_a_level_where_all_levels_are_coded(release):
    """In rows of one level the columns of the others are at -1: an error there counts in full."""
    shares = np.array([0.2, 0.3, 0.5])
    mean, covariance = np.zeros(6), np.eye(6) / 3
    mean[1:4] = 2 * shares - 1
    covariance[1:4, 1:4] = 4 * (np.diag(shares) - np.outer(shares, shares))
    estimate = replace(release.curvature_estimate, mean=mean, covariance=covariance, theta=release.theta)
    coded = replace(release, curvature_estimate=estimate)
    # Location of the first level against the others: its rows are at (1, -1, -1).
    way = np.array([1.0, -0.5, -0.5, 0.0, 0.0]) / 2
    grid = np.linspace(-1.0, 1.0, 201)

    def few(size):
        """Replicates that spread the location of that level evenly by `size` scales to either side."""
        fits = replace(
            bootstrap_censored(release, len(grid)),
            intercept=np.zeros(len(grid)),
            coef=size * grid[:, None] * way,
            scale=np.ones(len(grid)),
        )
        return _few_events_in_a_level(coded, fits, SEV)

    # An even spread of s has 1.645 times .682 s as half a 90 % interval: .7 at s = .624.
    assert not few(0.61)
    assert few(0.64)


@pytest.fixture(scope="module")
def corrected():
    X, time, event, _ = fleet(20_000, 0.3)
    return fit_censored(make_plan(8.0, n=20_000), X, time, event, 1)


@pytest.fixture(scope="module")
def rounds(corrected):
    """The same release before the residuals were counted."""
    return replace(corrected, theta=corrected.correction.theta, residuals=None, correction=None)


def half_width(replicates):
    """Of the middle 68 %: replicates have tails without a variance, of information that may be near 0."""
    return 0.5 * np.diff(np.quantile(replicates, [0.159, 0.841], axis=0), axis=0)[0]


class TestErrorsOfTheLastStep:
    def spread(self, release):
        return half_width(bootstrap_censored(release).scale)

    def test_replicates_lie_around_the_estimate(self, corrected):
        replicates = bootstrap_censored(corrected)
        off = np.mean(np.log(replicates.scale)) - np.log(corrected.fit.scale)
        # 6 standard errors of the mean of 400.
        assert abs(off) < 6 * np.std(np.log(replicates.scale)) / 20

    def test_noise_of_the_curvature_widens_them(self, corrected):
        estimate = corrected.curvature_estimate
        louder = replace(corrected, curvature_estimate=replace(estimate, std=3 * estimate.std))
        assert self.spread(louder) > 1.2 * self.spread(corrected)

    def test_a_curvature_of_elsewhere_leaves_more_undone(self, rounds):
        estimate, last = rounds.curvature_estimate, rounds.rounds[-1]
        left = [
            errors_of(replace(rounds, curvature_estimate=replace(estimate, theta=theta, off=0.0))).unfinished
            for theta in (last.theta, last.theta * np.r_[1.0, 0.8, np.ones(5)], last.theta * 0.5)
        ]
        assert left[0] == 0
        assert 0 < left[1] < left[2]

    def test_rounds_that_left_much_undone_are_said_not_to_have_settled(self, rounds):
        assert "settled" not in (censored_warning(rounds, SEV) or "")
        some = (replace(rounds.curvature_estimate, off=off) for off in np.geomspace(1.0, 1e3, 20))
        said = [censored_warning(replace(rounds, curvature_estimate=one), SEV) or "" for one in some]
        assert any("settled" in one for one in said)
        assert said[-1]


def test_the_bootstrap_spreads_as_the_fits_do():
    # 30 fits of one table's distribution, all seeds fixed: the ratio of spreads is 1 within a factor 2.
    X, time, event, _ = fleet(100_000, 0.3, 2)
    plan = make_plan(1.0, n=len(X))
    fits = [fit_censored(plan, X, time, event, seed) for seed in range(30)]
    slopes = np.array([release.fit.coef for release in fits])
    spread = half_width(slopes).mean()
    # A fit that the noise threw far says so.
    for release in fits:
        if np.abs(release.fit.coef - np.median(slopes, axis=0)).max() > 0.2:
            assert "noise hides" in censored_warning(release, SEV)
    claimed = np.median([half_width(bootstrap_censored(release, 100).coef).mean() for release in fits])
    assert 0.5 <= claimed / spread <= 2.0


def test_rounds_that_the_residuals_contradict_are_told():
    X, time, event, _ = fleet(20_000, 0.2, distribution=NORMAL)
    release = fit_censored(make_plan(20.0, NORMAL, n=20_000), X, time, event, 1)
    assert censored_warning(release, NORMAL) is None
    contradicted = replace(release, correction=replace(release.correction, surprise=20.0))
    assert "settled" in censored_warning(contradicted, NORMAL)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_useless_fits_are_told_by_released_values(seed):
    assert censored_warning(fitted(100_000, 0.3, seed, epsilon=2.0)[2], SEV) is None
    assert censored_warning(fitted(2000, 0.95, seed)[2], SEV) is not None


def test_all_rows_censored_is_told():
    X, time, event, _ = fleet(100_000, 1.0)
    release = fit_censored(make_plan(1.0, n=len(X)), X, time, event, 0)
    assert "no events" in censored_warning(release, SEV)


def test_the_inverse_of_the_information_is_one():
    X, time, event, _ = fleet(3000, 0.3, 1)
    errors = errors_of(fit_censored(make_plan(10.0, n=len(X), max_iter=2), X, time, event, 0))
    np.testing.assert_allclose(errors.information @ errors.inverse, np.eye(7), atol=1e-9)
