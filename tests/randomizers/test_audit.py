# SPDX-License-Identifier: BSD-3-Clause
"""A black-box audit of one report: epsilon 1.5 passes for every mechanism, half the noise is caught.

For each mechanism a pair of categories and an event that has the pair's full loss, fixed beforehand.
"""

import numpy as np
import pytest

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
