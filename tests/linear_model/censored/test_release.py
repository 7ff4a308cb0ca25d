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
from tests.linear_model.censored.conftest import fleet, make_plan


@pytest.fixture(scope="module")
def release():
    X, time, event, _ = fleet(20_000, 0.3, 1)
    done = fit_censored(make_plan(20.0, n=20_000), X, time, event, 1)
    last = done.theta if done.correction is None else done.correction.theta
    return replace(done, theta=last, residuals=None, correction=None)


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

    def test_rounds_that_left_much_undone_are_said_not_to_have_settled(self, rounds):
        assert "settled" not in (censored_warning(rounds, SEV) or "")
        some = (replace(rounds.curvature_estimate, off=off) for off in np.geomspace(1.0, 1e3, 20))
        said = [censored_warning(replace(rounds, curvature_estimate=one), SEV) or "" for one in some]
        assert any("settled" in one for one in said)
        assert said[-1]
