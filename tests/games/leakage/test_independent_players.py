# SPDX-License-Identifier: BSD-3-Clause
"""Estimates from samples: above the truth with the stated confidence, and labelled as estimates."""

import math

import numpy as np
import pytest
from scipy import stats

from skprivate.accounting._leakage import worst_log_mean
from skprivate.games import Box, SampledPrior
from skprivate.games._leakage import independent_players
from skprivate.games._leakage.broadcast_sensitivity import player_distances
from skprivate.games._leakage.guarantees import privacy_guarantee
from skprivate.games._leakage.independent_players import SampledPlayerPrior
from tests.games.conftest import HIDDEN, make_mechanism, mechanism_of_rate


def sampled(distribution, **options):
    def draw(n, rng):
        return distribution.rvs(size=n, random_state=rng)

    return SampledPrior(draw, distribution.support(), **{"random_state": 0, **options})


def test_the_bound_is_the_one_of_maurer_and_pontil():
    values = np.array([0.0, 1.0, 1.0, 0.5])
    variance, penalty = values.var(ddof=1), math.log(2 / 0.05)
    expected = 0.625 - math.sqrt(2 * variance * penalty / 4) - 7 * penalty / 9
    assert independent_players._least_mean(values, 0.05) == pytest.approx(expected)


def test_the_net_is_paid_for():
    """Every r' is within the radius of a point of the net, in the norm of the rates."""
    rng = np.random.default_rng(0)
    for n in (1, 2, 3):
        lower, upper = -rng.uniform(size=n), rng.uniform(size=n)
        player = SampledPlayerPrior(np.zeros((2, n)), lower, upper, False, 0.9, 1)
        rates = rng.uniform(0, 3, size=n)
        net, radius = player._net(rates)
        points = rng.uniform(lower, upper, size=(500, n))
        gaps = (np.abs(points[:, None] - net) @ rates).min(axis=1)
        assert gaps.max() <= radius
        assert gaps.max() > 0.5 * radius
        assert len(net) <= 256


def test_points_between_those_of_the_net_are_covered():
    """Six points a side miss the worst r', a corner, by a twelfth of every side."""
    mechanism = mechanism_of_rate(4.0, n_dims=3, n_players=1)
    prior = SampledPrior(lambda n, rng: rng.uniform(size=(n, 3)), (0, 1), n_samples=50_000, random_state=0)
    assert privacy_guarantee(mechanism, prior).epsilon > privacy_guarantee(mechanism, stats.uniform()).epsilon


def test_corners_are_enough_for_declared_log_concave_densities_alone():
    mechanism, triangle = mechanism_of_rate(3.0), stats.triang(0.3)
    corner = privacy_guarantee(mechanism, sampled(triangle, log_concave=True)).epsilon
    net = privacy_guarantee(mechanism, sampled(triangle)).epsilon
    assert 3 * worst_log_mean(triangle, 3.0)[0] < corner < net
    # A U-shaped density is worst inside: the declaration would be wrong.
    shaped = stats.beta(0.2, 0.2)
    false = privacy_guarantee(mechanism_of_rate(11.65), sampled(shaped, log_concave=True)).epsilon
    assert false < 3 * worst_log_mean(shaped, 11.65)[0]


def test_certain_bounds_are_no_estimates():
    prior = sampled(stats.uniform(-1, 2), n_samples=2)
    guarantee = privacy_guarantee(mechanism_of_rate(1.0), prior)
    assert guarantee.status == "upper_bound"
    assert guarantee.confidence is None
    assert guarantee.epsilon == pytest.approx(
        privacy_guarantee(mechanism_of_rate(1.0), prior, criterion="dp").epsilon
    )
    hidden = make_mechanism(private=HIDDEN, clip_norm=1.0)
    ceiling = player_distances(hidden)[0][0].ceiling
    for criterion in ("pml", "corollary1", "dp"):
        found = privacy_guarantee(hidden, prior, criterion=criterion)
        assert (found.status, found.epsilon) == ("upper_bound", pytest.approx(3 * ceiling))


def test_corollary_1_is_above_theorem_1():
    prior = sampled(stats.uniform(-1, 2))
    values = [
        privacy_guarantee(mechanism_of_rate(1.0), prior, criterion=c).epsilon
        for c in ("pml", "corollary1", "dp")
    ]
    assert values == sorted(values)
    truth = privacy_guarantee(mechanism_of_rate(1.0), stats.uniform(-1, 2), criterion="corollary1").epsilon
    assert truth < values[1] < 1.1 * truth


def test_projected_runs_use_the_rates():
    mechanism = make_mechanism(algorithm="wang_nedic", constraint=Box([-1.0], [1.0]), steps=np.full(8, 0.2))
    guarantee = privacy_guarantee(mechanism, sampled(stats.uniform(0, 0.2)))
    assert guarantee.status == "estimate"
    assert guarantee.epsilon > privacy_guarantee(mechanism, stats.uniform(0, 0.2)).epsilon
