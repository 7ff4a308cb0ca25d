# SPDX-License-Identifier: BSD-3-Clause
"""The automatic choice, and how the mechanisms compare."""

import itertools

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


def test_a_mechanism_by_its_name() -> None:
    for kind in (*CANDIDATES, LaplaceRandomizer, SignedLaplaceRandomizer):
        assert make_randomizer(kind.name, 1.0, 6).specification == kind(1.0, 6).specification


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
    ("epsilon", "n_cells", "n_labels", "name"),
    [
        (1, 256, 2, "hadamard"),
        (1, 256, 3, "subset"),
        (6, 64, 3, "krr"),
        (0.25, 256, 5, "hadamard"),
        # k-ary randomised response over so many categories needs a larger epsilon, and Hadamard fewer codes.
        (1e-12, 2**30, 2, "hadamard"),
        (1.0, 2**30, 3, "subset"),
    ],
)
def test_what_is_chosen(epsilon, n_cells, n_labels, name) -> None:
    assert make_randomizer("auto", epsilon, n_cells, n_labels).name == name


def test_no_other_mechanism_of_categories_beats_subset_selection() -> None:
    for epsilon, n_cells, n_labels in itertools.product((0.25, 1, 2, 4, 8), (1, 2, 5, 64), (3, 5)):
        best = variance(SubsetRandomizer, epsilon, n_cells, n_labels)
        for kind in (HadamardRandomizer, KRRRandomizer, UnaryRandomizer):
            assert best <= variance(kind, epsilon, n_cells, n_labels) * (1 + 1e-12)


@pytest.mark.parametrize(("epsilon", "ratio"), [(1, 1.3), (2, 1.8), (3, 1.9), (4, 2.0)])
def test_unsigned_hadamard_against_subset_selection(epsilon, ratio) -> None:
    seen = variance(HadamardRandomizer, epsilon, 256, 4) / variance(SubsetRandomizer, epsilon, 256, 4)
    assert seen == pytest.approx(ratio, abs=0.05)


@pytest.mark.parametrize(
    ("kind", "at_1", "at_4"), [(SignedLaplaceRandomizer, 8, 0.5), (LaplaceRandomizer, 160, 10)]
)
def test_variance_of_noisy_vectors(kind, at_1, at_4) -> None:
    assert variance(kind, 1, 256) == pytest.approx(at_1, rel=1e-6)
    assert variance(kind, 4, 256) == pytest.approx(at_4, rel=1e-6)
