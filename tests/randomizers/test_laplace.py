# SPDX-License-Identifier: BSD-3-Clause
"""The paper's reports: sensitivity by fuzzing the integers before noise, unbiased, stated variance."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from skprivate.noise import DiscreteLaplaceMechanism
from skprivate.randomizers import HadamardRandomizer, LaplaceRandomizer, SignedLaplaceRandomizer
from tests.marks import slow


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


@pytest.mark.parametrize("simulate", [False, slow(True)])
def test_mean_and_variance_of_both_ways(simulate):
    # 4 cells, 3 statistics each; 6 standard errors (excess kurtosis of the sum below 1): false alarm < 1e-7.
    cells, positive = np.array([30, 10, 0, 24]), np.array([20, 0, 0, 12])
    categories = np.concatenate(
        [
            np.full(c, 2 * j + label)
            for j in range(4)
            for label, c in ((1, positive[j]), (0, (cells - positive)[j]))
        ]
    )
    randomizer = LaplaceRandomizer(1.0, 4)
    generator = np.random.default_rng(5)
    runs = 4000
    counts = [
        randomizer.simulate(categories, generator)
        if simulate
        else randomizer.aggregate(randomizer.randomize(categories, generator))
        for _ in range(runs)
    ]
    signed = np.array([randomizer.estimate(c, 64) for c in counts])
    sizes = np.array([randomizer.estimate_cells(c, 64) for c in counts])
    variance = randomizer.variance(64)
    assert variance[0] == pytest.approx(64 * 160, rel=1e-6)
    assert np.abs(signed.mean(axis=0) - (2 * positive - cells)).max() < 6 * np.sqrt(variance[0] / runs)
    assert np.abs(sizes.mean(axis=0) - cells).max() < 6 * np.sqrt(variance[0] / 5 / runs)
    assert np.abs(signed.var(axis=0, ddof=1) / variance - 1).max() < 6 * np.sqrt(2.1 / runs)


def test_a_signed_report_needs_a_thirtieth_of_the_variance():
    ratio = LaplaceRandomizer(1.0, 256).variance(1)[0] / HadamardRandomizer(1.0, 256).variance(1)[0]
    assert ratio > 30


def test_reports_that_are_not_ours():
    randomizer = LaplaceRandomizer(1.0, 4)
    with pytest.raises(TypeError, match="must be int64"):
        randomizer.aggregate(np.zeros((3, 2, 4)))
    with pytest.raises(ValueError, match=r"shape \(n, 2, 4\)"):
        randomizer.aggregate(np.zeros((3, 2, 5), dtype=np.int64))
    with pytest.raises(ValueError, match="too large"):
        randomizer.aggregate(np.full((2, 2, 4), 2**61, dtype=np.int64))
    with pytest.raises(ValueError, match="too large"):
        randomizer.aggregate(np.full((1, 2, 4), -(2**63), dtype=np.int64))
    with pytest.raises(ValueError, match="another specification"):
        randomizer.aggregate(
            np.zeros((1, 2, 4), dtype=np.int64), specification=LaplaceRandomizer(2.0, 4).specification
        )


@pytest.mark.parametrize("epsilon", [1e3, 1e6, 1e100])
def test_a_huge_epsilon_does_not_wrap(epsilon):
    randomizer = LaplaceRandomizer(epsilon, 2)
    counts = randomizer.simulate(np.full(200_000, 3))
    # At epsilon 1000 the standard deviation is 6.
    np.testing.assert_allclose(randomizer.estimate(counts, 200_000), [0, 200_000], atol=60)


def test_the_least_epsilon_and_what_lies_below():
    randomizer = LaplaceRandomizer(4e-12, 2)
    assert randomizer.simulate(np.zeros(50_000, dtype=int), 0).shape == (2, 2)
    with pytest.raises(ValueError, match="epsilon is too small"):
        LaplaceRandomizer(3e-12, 2)


def test_empty_batch():
    randomizer = LaplaceRandomizer(1.0, 3)
    np.testing.assert_array_equal(randomizer.aggregate(randomizer.randomize([])), np.zeros((2, 3)))
    np.testing.assert_array_equal(randomizer.simulate([]), np.zeros((2, 3)))
