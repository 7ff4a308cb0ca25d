# SPDX-License-Identifier: BSD-3-Clause
"""Replicates of a released fit where little is known, and the warnings that say so."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.figures.life_data.censored import fit_censored
from skprivate.linear_model._censored.release import bootstrap_censored, means_nothing, unsettled
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
    assert "one time" in means_nothing(once)
    counts = counts.copy()
    counts[0, 40] = 9000.0
    twice = replace(once, histogram=replace(release.histogram, counts=counts))
    assert means_nothing(twice) is None


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
        assert not unsettled(rounds, SEV)
        some = (replace(rounds.curvature_estimate, off=off) for off in np.geomspace(1.0, 1e3, 20))
        said = [unsettled(replace(rounds, curvature_estimate=one), SEV) for one in some]
        assert said[-1]
