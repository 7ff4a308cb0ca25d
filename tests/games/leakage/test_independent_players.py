# SPDX-License-Identifier: BSD-3-Clause
"""Estimates from samples: above the truth with the stated confidence, and labelled as estimates."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from skprivate.accounting._leakage.laplace import worst_log_mean
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


@pytest.mark.parametrize("distribution", [stats.uniform(-1, 2), stats.beta(0.2, 0.2), stats.beta(2, 5)])
@pytest.mark.parametrize("rate", [0.1, 5.0])
def test_estimates_are_above_the_truth_and_near(distribution, rate):
    truth = privacy_guarantee(mechanism_of_rate(rate), distribution).epsilon
    guarantee = privacy_guarantee(mechanism_of_rate(rate), sampled(distribution, n_samples=50_000))
    assert truth < guarantee.epsilon < 1.15 * truth + 0.1
    assert (
        guarantee.epsilon <= privacy_guarantee(mechanism_of_rate(rate), distribution, criterion="dp").epsilon
    )
    if guarantee.status == "estimate":
        assert guarantee.confidence == 0.999999
        assert "confidence" in guarantee.statement()
    assert (
        privacy_guarantee(mechanism_of_rate(rate), sampled(distribution), "individual").epsilon
        < guarantee.epsilon
    )


@pytest.mark.slow
def test_the_stated_confidence_holds():
    """At confidence .9 at most a tenth of the estimates may lie below the truth.

    400 estimates: more than 100 of them below has a probability under 1e-16 if the bound holds.
    """
    mechanism, distribution = mechanism_of_rate(2.0), stats.bernoulli
    truth = -math.log(0.5 + 0.5 * math.exp(-2.0))
    below = 0
    for seed in range(400):
        values = distribution(0.5).rvs(size=(60, 1), random_state=seed).astype(float)
        player = SampledPlayerPrior(values, np.zeros(1), np.ones(1), True, 0.9, 1)
        below += player.leakage(player_distances(mechanism)[0][0]).value < truth
    assert below <= 100


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


@pytest.mark.slow
def test_every_kind_of_player_takes_its_share_of_the_confidence():
    P, prior = np.array([1.0, 1.0, 0.5]).reshape(3, 1, 1), sampled(stats.uniform())
    rounds = {"noise_scales": np.ones(3), "steps": np.full(3, 0.5)}
    alone = [privacy_guarantee(make_mechanism(P=p, **rounds), prior, "individual").epsilon for p in P]
    together = privacy_guarantee(make_mechanism(P=P, **rounds), prior, "individual").epsilon
    assert alone[0] != alone[2]
    assert max(alone) < together < 1.01 * max(alone)


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


def test_several_dimensions_and_kinds_of_players():
    P = np.array([[[1.0, 0.3], [0.3, 1.0]], [[0.2, 0.0], [0.0, 0.4]], [[1.0, 0.3], [0.3, 1.0]]])
    mechanism = make_mechanism(n_dims=2, P=P, noise_scales=np.ones(4), steps=np.full(4, 0.3))
    prior = SampledPrior(lambda n, rng: rng.uniform(size=(n, 2)), (0, 1), n_samples=5000, random_state=1)
    exact = privacy_guarantee(mechanism, stats.uniform())  # an upper bound, without sampling
    guarantee = privacy_guarantee(mechanism, prior)
    assert guarantee.status == "estimate"
    assert 0.8 * exact.epsilon < guarantee.epsilon < 1.6 * exact.epsilon


def test_projected_runs_use_the_rates():
    mechanism = make_mechanism(algorithm="wang_nedic", constraint=Box([-1.0], [1.0]), steps=np.full(8, 0.2))
    guarantee = privacy_guarantee(mechanism, sampled(stats.uniform(0, 0.2)))
    assert guarantee.status == "estimate"
    assert guarantee.epsilon > privacy_guarantee(mechanism, stats.uniform(0, 0.2)).epsilon


def test_the_allowance_uses_the_same_samples():
    prior = sampled(stats.uniform(-1, 2), random_state=None)
    mechanism = replace(mechanism_of_rate(1.0), allowance=1e-3)
    guarantee = privacy_guarantee(mechanism, prior)
    assert guarantee.allowance == pytest.approx(3 * 1e-3 * (1 / mechanism.noise_scales).sum())


@pytest.mark.parametrize("log_concave", [True, False])
def test_the_confidence_is_shared_by_all_points_and_kinds(log_concave):
    values = np.random.default_rng(0).beta(2, 2, size=(1000, 1))
    (distance,), _ = player_distances(mechanism_of_rate(2.0))
    player = SampledPlayerPrior(values, np.zeros(1), np.ones(1), log_concave, 0.99, 3)
    points = np.array([0.0, 1.0]) if log_concave else (np.arange(256) + 0.5) / 256
    penalty = math.log(2 / (0.01 / (3 * len(points))))
    faded = np.exp(-2 * np.abs(values - points))
    least = faded.mean(axis=0) - np.sqrt(2 * faded.var(axis=0, ddof=1) * penalty / 1000) - 7 * penalty / 2997
    radius = 0.0 if log_concave else 2 / 512
    found = player.leakage(distance)
    assert found.value == pytest.approx(-math.log(least.min()) + radius, rel=1e-12)
    assert found.confidence == 0.99
