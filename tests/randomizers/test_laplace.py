# SPDX-License-Identifier: BSD-3-Clause
"""The paper's reports: sensitivity by fuzzing the integers before noise, unbiased, stated variance."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from skprivate.noise import DiscreteLaplaceMechanism
from skprivate.randomizers import HadamardRandomizer, LaplaceRandomizer, SignedLaplaceRandomizer


@pytest.fixture
def without_noise(monkeypatch):
    """Show the integers to which the mechanism would add noise."""
    monkeypatch.setattr(
        DiscreteLaplaceMechanism, "randomize", lambda self, values, random_state=None: np.array(values)
    )


@pytest.mark.parametrize("epsilon", [0.1, 1.0, Fraction(22, 7), 8.0])
@pytest.mark.parametrize("n_cells", [1, 2, 5])
@pytest.mark.parametrize("kind", [LaplaceRandomizer, SignedLaplaceRandomizer])
@pytest.mark.usefixtures("without_noise")
def test_every_pair_of_categories_is_within_epsilon(kind, n_cells, epsilon):
    randomizer = kind(epsilon, n_cells)
    exact = randomizer.randomize(np.arange(2 * n_cells)).reshape(2 * n_cells, -1)
    losses = [
        Fraction(int(np.abs(a - b).sum()), randomizer.noise_scale)
        for a, b in itertools.combinations(exact, 2)
    ]
    assert max(losses) <= randomizer.epsilon <= Fraction(epsilon)
    if n_cells > 1 or kind is SignedLaplaceRandomizer:
        assert max(losses) == randomizer.epsilon, "the bound is attained"


def test_epsilon_is_nearly_all_used():
    for kind, epsilon in itertools.product(
        (LaplaceRandomizer, SignedLaplaceRandomizer), (0.1, 1.0, 3.0, 8.0)
    ):
        randomizer = kind(epsilon, 4)
        assert 0 <= Fraction(epsilon) - randomizer.epsilon < Fraction(epsilon) / 10**8


def test_a_signed_report_needs_a_thirtieth_of_the_variance():
    ratio = LaplaceRandomizer(1.0, 256).variance(1)[0] / HadamardRandomizer(1.0, 256).variance(1)[0]
    assert ratio > 30


@pytest.mark.parametrize("epsilon", [1e3, 1e6, 1e100])
def test_a_huge_epsilon_does_not_wrap(epsilon):
    randomizer = LaplaceRandomizer(epsilon, 2)
    counts = randomizer.simulate(np.full(200_000, 3))
    # At epsilon 1000 the standard deviation is 6.
    np.testing.assert_allclose(randomizer.estimate(counts, 200_000), [0, 200_000], atol=60)


def test_the_least_epsilon():
    randomizer = LaplaceRandomizer(4e-12, 2)
    assert randomizer.simulate(np.zeros(50_000, dtype=int), 0).shape == (2, 2)
