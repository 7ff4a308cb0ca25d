# SPDX-License-Identifier: BSD-3-Clause
"""Priors: which fit a game, what they say in words, and how samples repeat."""

import numpy as np
import pytest
from scipy import stats

from skprivate.games import Box, ContinuousPrior, JointPrior, SampledPrior, TypePrior
from skprivate.games._leakage.guarantees import privacy_guarantee
from skprivate.games._leakage.priors import as_prior
from tests.games.conftest import HIDDEN, make_mechanism

COINS = TypePrior([[0, 0], [1, 1]], [0.5, 0.5])


def draw(n, rng):
    return rng.uniform(size=(n, 2))


def check(prior, bounds=((0, 0), (1, 1)), **changes):
    """Ask whether a prior fits three players of two coordinates within bounds."""
    sides = [np.broadcast_to(np.array(side, dtype=float), (3, 2)) for side in bounds]
    prior.check(make_mechanism(**{"n_dims": 2, "private_bounds": sides, **changes}))


@pytest.mark.parametrize("prior", [TypePrior([0, 1], [0.5, 0.5]), TypePrior([[0, 0], [1, 2]], [0.5, 0.5])])
def test_types_of_more_than_a_vector_are_labels(prior):
    check(prior, private=HIDDEN, constraint=Box(0, 1), algorithm="wang_nedic")


def test_bounds_may_differ_by_player_and_by_rounding():
    bounds = (0, 0), [[1.0, 1], [1, 1], [1, 0.4]]
    types = np.tile([[0.0, 0.0], [1.0, 0.4]], (3, 1, 1))
    types[1, 1, 1] = 1 + 1e-12
    check(TypePrior(types, [0.5, 0.5]), bounds)
    types[2, 1, 1] = 0.5
    with pytest.raises(ValueError, match="leaves the bounds"):
        check(TypePrior(types, [0.5, 0.5]), bounds)


@pytest.mark.parametrize("given", [[0.33333333334] * 3, [0.3333333336] * 3])
def test_sums_that_are_off_by_rounding_take_nothing_from_a_leakage(given):
    quiet = make_mechanism(n_players=1, noise_scales=np.full(8, 1e8))
    for prior in (TypePrior([0.0, 1.0, 2.0], given), JointPrior([[0.0], [1.0], [2.0]], given)):
        assert abs(prior.probabilities.sum() - 1) < 1e-15
        # The mean distance from an end type is 1: what leaks is the sum of the steps' rates, all but.
        distance = privacy_guarantee(quiet, prior, criterion="dp").epsilon / 2
        assert privacy_guarantee(quiet, prior).epsilon == pytest.approx(distance, rel=1e-6)


@pytest.mark.parametrize(
    ("prior", "words"),
    [
        (ContinuousPrior(stats.beta(0.2, 0.2)), "10 independent players, each beta(0.2, 0.2) on [0, 1]"),
        (ContinuousPrior([stats.norm(), stats.norm(loc=1)]), "10 independent players, each norm() on an "
         "unbounded set and norm(loc=1) on an unbounded set"),
        (TypePrior(range(9), np.full(9, 1 / 9)), "10 independent players, each of one of 9 types with "
         "probabilities of at least 0.111111"),
        (JointPrior(np.zeros((9, 10)), np.full(9, 1 / 9)), "one of 9 joint profiles of 10 players with "
         "probabilities of at least 0.111111"),
        (SampledPrior(draw, ([0, 1], [1, 2])), "10 independent players, each as sampled on [0, 1] x [1, 2]"),
    ],
)  # fmt: skip
def test_priors_are_described_in_words(prior, words):
    assert prior.describe(10) == words


def test_samples_repeat_with_their_seed():
    prior = SampledPrior(draw, (0, 1), n_samples=50, random_state=1)
    assert np.array_equal(prior.sample(2), prior.sample(2))
    assert not np.array_equal(prior.sample(2), SampledPrior(draw, (0, 1), n_samples=50).sample(2))


def test_frozen_distributions_stand_for_priors():
    assert isinstance(as_prior(stats.norm()), ContinuousPrior)
    assert as_prior(COINS) is COINS
