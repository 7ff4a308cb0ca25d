# SPDX-License-Identifier: BSD-3-Clause
"""Black-box audits: epsilon 1.5 passes for every mechanism, half the noise and float noise are caught.

For each mechanism a pair of categories and an event that has the pair's full loss, fixed beforehand.
"""

import math

import numpy as np
import pytest
from scipy import stats

from skprivate.randomizers import (
    HadamardRandomizer,
    KRRRandomizer,
    LabelRandomizer,
    LaplaceRandomizer,
    SignedLaplaceRandomizer,
    SubsetRandomizer,
    UnaryRandomizer,
)

pytestmark = pytest.mark.statistical

TRIALS = 30_000


def holds(reports, category):
    return (reports[:, category // 8] >> (category % 8)) & 1 == 1


def one_and_not_the_other(likely, unlikely):
    return lambda randomizer, reports: holds(reports, likely) & ~holds(reports, unlikely)


def is_category(category):
    return lambda randomizer, reports: reports == category


def is_positive_in_the_first_block(randomizer, reports):
    # The row of code 0 has ones only: the sign is the label, or +1.
    in_block = (reports >> 1) < randomizer.n_padded // randomizer.n_blocks
    return in_block & (reports & 1 == 1)


def is_in_the_first_cell(randomizer, reports):
    step = 1 << randomizer.exponent
    return (reports[:, :, 0] >= step).all(axis=1) & (reports[:, :, 1] <= 0).all(axis=1)


def is_positive(randomizer, reports):
    return reports[:, 0] >= 1 << randomizer.exponent


CASES = {
    "hadamard": (lambda e: HadamardRandomizer(e, 8), 1, 0, is_positive_in_the_first_block),
    "hadamard, one block": (
        lambda e: HadamardRandomizer(e, 8, n_blocks=1),
        1,
        0,
        is_positive_in_the_first_block,
    ),
    # Eight codes in four blocks: category 11 is in another block than category 0.
    "hadamard, several labels": (
        lambda e: HadamardRandomizer(e, 4, 3, n_blocks=4),
        0,
        11,
        is_positive_in_the_first_block,
    ),
    "krr": (lambda e: KRRRandomizer(e, 2, 3), 4, 1, is_category(4)),
    "subset": (lambda e: SubsetRandomizer(e, 4, 3), 9, 2, one_and_not_the_other(9, 2)),
    "unary": (lambda e: UnaryRandomizer(e, 4, 3), 9, 2, one_and_not_the_other(9, 2)),
    "label-rr": (lambda e: LabelRandomizer(e, 3, 3), 4, 5, is_category(4)),
    "laplace": (lambda e: LaplaceRandomizer(e, 2), 1, 3, is_in_the_first_cell),
    "signed-laplace": (lambda e: SignedLaplaceRandomizer(e, 2), 1, 0, is_positive),
}


@pytest.mark.parametrize("case", CASES)
def test_the_audit_passes_the_mechanism_and_catches_half_its_noise(epsilon_lower_bound, case) -> None:
    make, likely, unlikely, event = CASES[case]
    bounds = {}
    for epsilon in (1.5, 3.0):
        randomizer, generator = make(epsilon), np.random.default_rng(14)
        hits = [
            int(event(randomizer, randomizer.randomize(np.full(TRIALS, category), generator)).sum())
            for category in (likely, unlikely)
        ]
        # At this confidence the right noise fails once in 1e7 runs.
        bounds[epsilon] = epsilon_lower_bound(*hits, TRIALS, confidence=1 - 1e-7)
        print(f"{case}, made with {epsilon}: {hits}, epsilon >= {bounds[epsilon]:.3f}")
    assert 1.0 < bounds[1.5] <= 1.5 < bounds[3.0]


# ---------------------------------------------------------------------------------------------------------
# One Laplace report at epsilon 0.1 over 64 leaves: float noise gives the leaf away, exact noise does not.
#
# An attacker who sees a float knows which floats numpy's Laplace can make from 0 and which from 1. No
# function of an epsilon-LDP report finds a uniformly drawn leaf with probability above e / (e + 63), e =
# exp(epsilon).
# ---------------------------------------------------------------------------------------------------------
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
