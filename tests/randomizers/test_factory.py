# SPDX-License-Identifier: BSD-3-Clause
"""The automatic choice, and how the mechanisms compare."""

import pytest

from skprivate.randomizers import (
    HadamardRandomizer,
    KRRRandomizer,
    LaplaceRandomizer,
    SignedLaplaceRandomizer,
    SubsetRandomizer,
    UnaryRandomizer,
    make_randomizer,
)

CANDIDATES = [HadamardRandomizer, KRRRandomizer, SubsetRandomizer, UnaryRandomizer]


def variance(kind, *parameters):
    return kind(*parameters).variance(1)[0]


@pytest.mark.parametrize("n_labels", [2, 3, 5])
@pytest.mark.parametrize("n_cells", [1, 2, 3, 6, 16, 100, 1024])
def test_automatic_is_the_cheapest_that_is_good_enough(n_cells, n_labels) -> None:
    for epsilon in (0.25, 0.5, 1, 2, 3, 4, 6, 8):
        chosen = make_randomizer("auto", epsilon, n_cells, n_labels)
        made = [kind(epsilon, n_cells, n_labels) for kind in CANDIDATES]
        limit = 1.05 * min(randomizer.variance(1)[0] for randomizer in made)
        assert chosen.variance(1)[0] <= limit
        assert chosen.variance(1)[0] <= 1.05 * variance(SubsetRandomizer, epsilon, n_cells, n_labels)
        for randomizer in made:
            if randomizer.variance(1)[0] <= limit:
                assert chosen.report_bytes <= randomizer.report_bytes
                if chosen.report_bytes == randomizer.report_bytes:
                    assert chosen.variance(1)[0] <= randomizer.variance(1)[0]


@pytest.mark.parametrize(
    ("kind", "at_1", "at_4"), [(SignedLaplaceRandomizer, 8, 0.5), (LaplaceRandomizer, 160, 10)]
)
def test_variance_of_noisy_vectors(kind, at_1, at_4) -> None:
    assert variance(kind, 1, 256) == pytest.approx(at_1, rel=1e-6)
    assert variance(kind, 4, 256) == pytest.approx(at_4, rel=1e-6)
