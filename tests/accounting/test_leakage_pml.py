# SPDX-License-Identifier: BSD-3-Clause
"""Pointwise maximal leakage: the published figures, an independent oracle and brute force."""

import math
from fractions import Fraction

import numpy as np
import pytest
import qif
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from skprivate.accounting import (
    max_information,
    maximal_leakage,
    pml_from_ldp,
    pml_guarantee,
    pointwise_maximal_leakage,
    prior_ratio,
)
from tests.accounting.records import random_case, response

# The table of c(epsilon, p_min).
TABLE = {
    (0.5, 0.5): [0.219, 0.380, 0.566, 0.675, 0.693],
    (0.7, 0.3): [0.322, 0.584, 0.930, 1.162, 1.203],
    (0.1,) * 10: [0.437, 0.841, 1.506, 2.150, 2.300],
    (0.99, 0.01): [0.494, 0.983, 1.938, 3.571, 4.572],
}


@pytest.mark.parametrize("prior", TABLE)
def test_bound_of_local_privacy_is_the_published_table_and_attained(prior):
    epsilons = (0.5, 1, 2, 4, 8)
    assert [round(pml_from_ldp(epsilon, min(prior)), 3) for epsilon in epsilons] == TABLE[prior]
    for epsilon in epsilons:
        told = pml_guarantee(response(epsilon, len(prior)), prior)
        assert told == pytest.approx(pml_from_ldp(epsilon, min(prior)), abs=1e-12)


@pytest.mark.parametrize("p_min", [0.3, Fraction(3, 10), 1e-12, Fraction(1, 10**400), 1, 5e-324])
@pytest.mark.parametrize("epsilon", [1e-300, 1e-12, 0.69, 0.7, 1, 700, 1e4, 1e299, Fraction(1, 3)])
def test_bound_of_local_privacy_keeps_its_digits(epsilon, p_min):
    bound = pml_from_ldp(epsilon, p_min)
    e, p = Fraction(epsilon), Fraction(p_min)
    if p == 1:
        assert bound == 0
    elif e < Fraction(1, 10**10):
        assert bound == pytest.approx(float((1 - p) * e), rel=1e-9)
    elif e >= 700 and p > Fraction(1, 10**300):
        assert bound == pytest.approx(-math.log(p), rel=1e-12)
    else:
        assert 0 < bound <= float(e)


def test_bound_of_local_privacy_at_its_limits():
    assert pml_from_ldp(0, 0.3) == 0
    assert pml_from_ldp(math.inf, 0.25) == math.log(4)
    assert pml_from_ldp(math.inf, Fraction(1, 10**400)) == math.inf


@pytest.mark.parametrize("seed", range(20))
def test_leakage_agrees_with_an_independent_oracle(seed):
    channel, prior = random_case(seed)
    leakage = pointwise_maximal_leakage(channel, prior)
    possible = prior > 0
    for column, value in enumerate(leakage):
        if not (prior @ channel)[column]:
            assert math.isnan(value)
            continue
        posterior = qif.channel.posterior(channel, prior, column).ravel()
        assert value == pytest.approx(np.log((posterior[possible] / prior[possible]).max()), abs=1e-6)
    capacity = qif.measure.bayes_vuln.mult_capacity(channel)
    assert maximal_leakage(channel) == pytest.approx(math.log(capacity), abs=1e-6)
    # Of a uniform prior it is the mean of e to the leakage, and the gain of the best guess.
    uniform = np.full(len(prior), 1 / len(prior))
    gain = qif.measure.bayes_vuln.mult_leakage(uniform, channel)
    assert maximal_leakage(channel, uniform) == pytest.approx(math.log(gain), abs=1e-6)


@given(seed=st.integers(0, 10**6))
def test_invariants_of_leakage(seed):
    channel, prior = random_case(seed)
    almost_sure = pml_guarantee(channel, prior)
    assert 0 <= almost_sure <= max_information(prior) + 1e-12
    masses, leakage = prior @ channel, pointwise_maximal_leakage(channel, prior)
    seen = masses > 0
    average = pml_guarantee(channel, prior, "average")
    assert average == pytest.approx(math.log(masses[seen] @ np.exp(leakage[seen])), abs=1e-12)
    assert 0 <= average <= almost_sure + 1e-12
    # Data processing: any further randomisation of the output.
    rng = np.random.default_rng(seed)
    after = channel @ rng.dirichlet(np.full(3, 0.5), channel.shape[1])
    after /= after.sum(axis=1, keepdims=True)
    assert pml_guarantee(after, prior) <= almost_sure + 1e-12
    inputs, outputs = rng.permutation(4), rng.permutation(5)
    assert pml_guarantee(channel[inputs][:, outputs], prior[inputs]) == pytest.approx(almost_sure, abs=1e-12)


@given(seed=st.integers(0, 10**6), epsilon=st.floats(0.01, 5))
def test_local_privacy_bounds_every_channel(seed, epsilon):
    rng = np.random.default_rng(seed)
    # Rows are mixtures of rows of randomised response, which have its epsilon.
    channel = rng.dirichlet(np.full(4, 0.3), 5) @ response(epsilon, 4)
    prior = rng.dirichlet(np.ones(5))
    channel /= channel.sum(axis=1, keepdims=True)
    assert pml_guarantee(channel, prior) <= pml_from_ldp(epsilon, prior.min()) + 1e-9


def test_leakage_is_not_negative_by_rounding():
    row = np.random.default_rng(0).dirichlet(np.ones(50))
    leakage = pointwise_maximal_leakage(np.tile(row, (3, 1)), [0.1, 0.2, 0.7])
    assert (leakage == 0).all()
    assert maximal_leakage(np.tile(row, (3, 1))) == 0


def test_tiny_probabilities_do_not_underflow():
    channel = [[1e-200, 1 - 1e-200], [0, 1]]
    assert pointwise_maximal_leakage(channel, [1e-200, 1 - 1e-200])[0] == pytest.approx(200 * math.log(10))


def test_max_information():
    assert max_information([0.5, 0.25, 0.25, 0]) == pytest.approx(math.log(4))
    assert max_information([1.0]) == 0


def test_prior_ratio_is_the_clopper_pearson_bound():
    counts, confidence = [10, 40, 50], 0.95
    level = 0.05 / 3
    ratios = []
    for count in counts:
        least = prior_ratio_of_one(count, 100, level)
        ratios.append(least / (count / 100))
    assert prior_ratio(counts, confidence) == pytest.approx(min(ratios), rel=1e-9)
    assert prior_ratio([7], 0.99) == 1


def prior_ratio_of_one(count, n, level):
    """The p with P(at least so many of n) = level, by bisection."""
    low, high = 0.0, count / n
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if stats.binom.sf(count - 1, n, middle) < level else (low, middle)
    return low


def test_prior_ratio_covers_the_truth():
    # Of 2,000 samples at confidence .95 at most 100 fail on average, and 150 with probability below 1e-6.
    rng, truth = np.random.default_rng(5), np.array([0.05, 0.25, 0.3, 0.4])
    samples = rng.multinomial(200, truth, size=2000)
    samples = samples[(samples > 0).all(axis=1)]
    failed = sum((truth < prior_ratio(counts, 0.95) * counts / 200).any() for counts in samples)
    assert 0 < failed <= 150


def test_leakage_under_the_true_prior_is_within_the_ratio():
    channel, counts = response(2.0, 3), np.array([30, 50, 120])
    estimated = counts / counts.sum()
    rho = prior_ratio(counts, 0.9)
    for seed in range(50):
        other = estimated * rho + (1 - rho) * np.random.default_rng(seed).dirichlet(np.ones(3))
        assert pml_guarantee(channel, other) <= pml_guarantee(channel, estimated) - math.log(rho) + 1e-12
