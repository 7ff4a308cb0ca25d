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
)
from skprivate.linear_model._distributions import SEV
from tests.linear_model.censored.test_fit import fleet, make_plan


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
