# SPDX-License-Identifier: BSD-3-Clause
"""One Laplace report at epsilon 0.1 over 64 leaves: float noise gives the leaf away, exact noise does not.

An attacker who sees a float knows which floats numpy's Laplace can make from 0 and which from 1. No function
of an epsilon-LDP report finds a uniformly drawn leaf with probability above e / (e + 63), e = exp(epsilon).
"""

import math

import numpy as np
import pytest
from scipy import stats

from skprivate.randomizers import LaplaceRandomizer

pytestmark = pytest.mark.statistical

EPSILON, LEAVES = 0.1, 64
SCALE = 4 / EPSILON
CEILING = math.exp(EPSILON) / (math.exp(EPSILON) + LEAVES - 1)


def can_come_from(value, location):
    """Whether numpy's Laplace generator can turn a 53-bit uniform into this very double."""
    distance = value - location
    share = math.exp(-abs(distance) / SCALE) / 2
    nearest = round(share * 2**53)
    for steps in range(max(nearest - 4, 1), nearest + 5):
        uniform = steps * 2.0**-53
        if distance > 0:
            made = location - SCALE * math.log(2.0 - (1 - uniform) - (1 - uniform))
        else:
            made = location + SCALE * math.log(uniform + uniform)
        if made == value:
            return True
    return False


def guess_by_support(report, generator):
    """The leaf whose value could be made from 1 and not from 0, if there is one, else any that fits."""
    only_one = [j for j, value in enumerate(report) if not can_come_from(value, 0.0)]
    fitting = [j for j in only_one or range(LEAVES) if can_come_from(report[j], 1.0)]
    return generator.choice(fitting or only_one or range(LEAVES))


def draw_leaves(n, generator):
    return generator.integers(0, LEAVES, size=n)


def float_reports(leaves, generator):
    """The same vectors as `LaplaceRandomizer`, with the noise of numpy."""
    return np.eye(LEAVES)[leaves] + generator.laplace(0.0, SCALE, size=(len(leaves), LEAVES))


def exact_reports(leaves, seed):
    randomizer = LaplaceRandomizer(EPSILON, LEAVES)
    reports = randomizer.randomize(2 * leaves, seed)
    return np.ldexp(reports[:, 0].astype(float), -randomizer.exponent)


def test_floating_point_noise_is_recovered():
    generator = np.random.default_rng(0)
    leaves = draw_leaves(300, generator)
    reports = float_reports(leaves, generator)
    hits = sum(
        guess_by_support(report, generator) == leaf for report, leaf in zip(reports, leaves, strict=True)
    )
    assert hits / 300 > 0.6


@pytest.mark.parametrize("entropy", [11, None])
def test_exact_noise_is_not_recovered_by_the_same_attack(entropy):
    # One-sided binomial test at 1e-9 of a success probability above the ceiling of 1.7 %.
    generator = np.random.default_rng(1)
    leaves = draw_leaves(300, generator)
    reports = exact_reports(leaves, entropy)
    hits = sum(
        guess_by_support(report, generator) == leaf for report, leaf in zip(reports, leaves, strict=True)
    )
    assert hits <= stats.binom.isf(1e-9, 300, CEILING)


def test_nor_by_the_likeliest_leaf():
    # The best attack there is; one-sided binomial test at 1e-9.
    generator = np.random.default_rng(2)
    leaves = draw_leaves(30_000, generator)
    reports = exact_reports(leaves, 12)
    likelihood = np.abs(reports) - np.abs(reports - 1)
    hits = np.count_nonzero(likelihood.argmax(axis=1) == leaves)
    assert hits <= stats.binom.isf(1e-9, 30_000, CEILING)


def test_low_bits_do_not_depend_on_the_value():
    # Grid parity of the true leaf's entry against the others': a 2x2 table, 6 standard errors.
    generator = np.random.default_rng(3)
    leaves = draw_leaves(20_000, generator)
    randomizer = LaplaceRandomizer(EPSILON, LEAVES)
    odd = randomizer.randomize(2 * leaves, 13)[:, 0] & 1
    own = odd[np.arange(len(leaves)), leaves].mean()
    assert abs(own - odd.mean()) < 6 * 0.5 / math.sqrt(len(leaves))
