# SPDX-License-Identifier: BSD-3-Clause
"""Subset selection and unary encoding: epsilon by enumeration, every digit compared, variance, forgeries."""

import decimal
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from skprivate.noise import check_entropy
from skprivate.noise._stream_kernels import WordStream
from skprivate.randomizers import SubsetRandomizer, UnaryRandomizer
from skprivate.randomizers._bit_kernels import count_bits, randomize_subset, randomize_unary

WORD = 2**64


def assert_loss(worst, epsilon):
    with decimal.localcontext(prec=60):
        exact = Fraction(epsilon)
        loss = (decimal.Decimal(worst.numerator) / worst.denominator).ln()
        claimed = decimal.Decimal(exact.numerator) / exact.denominator
        assert loss <= claimed
        assert claimed - loss < decimal.Decimal("1e-12")


def as_sets(reports, n_categories):
    bits = np.unpackbits(reports, axis=1, bitorder="little")
    assert not bits[:, n_categories:].any()
    return [tuple(np.flatnonzero(row).tolist()) for row in bits]


# ---------------------------------------------------------------------------------------------------------
# Subset selection
# ---------------------------------------------------------------------------------------------------------
def subsets(randomizer, category, threshold, n=6000):
    """What the kernel can send for one category with this threshold."""
    out = np.empty((n, *randomizer.report_shape), dtype=np.uint8)
    with WordStream(check_entropy(7), 1000) as stream:
        randomize_subset(
            np.full(n, category), randomizer.n_categories, randomizer.subset_size, threshold, stream, out
        )
    return set(as_sets(out, randomizer.n_categories))


def enumerate_subsets(randomizer, category):
    """Exact probability of every set of the size, from what the kernel sends with and without the own one."""
    k, d = randomizer.n_categories, randomizer.subset_size
    inside, outside = (subsets(randomizer, category, threshold) for threshold in (WORD - 1, 0))
    assert len(inside) == math.comb(k - 1, d - 1)
    assert len(outside) == math.comb(k - 1, d)
    assert all(category in s for s in inside)
    assert not any(category in s for s in outside)
    share = Fraction(randomizer.threshold, WORD)
    table = {s: share / len(inside) for s in inside} | {s: (1 - share) / len(outside) for s in outside}
    assert sum(table.values()) == 1
    return [table[s] for s in itertools.combinations(range(k), d)]


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 2.0, 5.0, Fraction(1, 3)])
@pytest.mark.parametrize(("n_cells", "n_labels", "size"), [(1, 2, 1), (1, 3, 1), (3, 2, 3), (2, 4, 3)])
def test_epsilon_of_a_subset_by_enumeration(n_cells, n_labels, size, epsilon) -> None:
    randomizer = SubsetRandomizer(epsilon, n_cells, n_labels, subset_size=size)
    table = [enumerate_subsets(randomizer, k) for k in range(n_cells * n_labels)]
    worst = max(max(column) / min(column) for column in zip(*table, strict=True))
    assert worst == randomizer.odds
    assert_loss(worst, epsilon)


@pytest.mark.parametrize(("n_cells", "n_labels", "size"), [(3, 2, 3), (3, 3, 2), (1, 5, 2)])
def test_subsets_have_the_enumerated_frequencies(assert_fits, n_cells, n_labels, size) -> None:
    randomizer = SubsetRandomizer(1.0, n_cells, n_labels, subset_size=size)
    for category in (0, randomizer.n_categories - 1):
        sent = as_sets(
            randomizer.randomize(np.full(100_000, category), category + 1), randomizer.n_categories
        )
        every = {s: i for i, s in enumerate(itertools.combinations(range(randomizer.n_categories), size))}
        seen = np.bincount([every[s] for s in sent], minlength=len(every))
        assert_fits("subsets", seen, [float(p) for p in enumerate_subsets(randomizer, category)])


@pytest.mark.parametrize("n_categories", [2, 5, 67, 300])
def test_others_are_drawn_evenly_at_any_width(assert_fits, n_categories) -> None:
    # Sets of size 1 without the own category: uniform over all others.
    out = np.empty((40 * n_categories, -(-n_categories // 8)), dtype=np.uint8)
    with WordStream(check_entropy(5), 1000) as stream:
        randomize_subset(np.full(len(out), 1), n_categories, 1, 0, stream, out)
    drawn = np.array([s[0] for s in as_sets(out, n_categories)])
    seen = np.bincount(drawn, minlength=n_categories)
    assert seen[1] == 0
    if n_categories > 2:
        assert_fits("others", np.delete(seen, 1), np.full(n_categories - 1, 1 / (n_categories - 1)))


def test_blocks_that_favour_small_numbers_are_drawn_again(scripted_entropy, bit_script) -> None:
    # Six categories: 5 others, blocks of 9 bits. 5 x mod 512 < 512 mod 5 = 2 rejects x = 0 (0) and
    # x = 205 (1), x = 103 (3) is accepted and gives 1. The threshold of 2^63 rejects a first word of ones.
    for first in (0, 205):
        script = bit_script([(0xFFFF, 16), (first, 9), (103, 9)])
        out = np.empty((1, 1), dtype=np.uint8)
        randomize_subset(np.array([0]), 6, 1, WORD // 2, WordStream(scripted_entropy(script), 4), out)
        assert as_sets(out, 6) == [(2,)]


def test_the_chosen_size_has_the_least_variance() -> None:
    for epsilon, (n_cells, n_labels) in itertools.product(
        [0.1, 0.5, 1.0, 2.0, 3.0, 6.0, 12.0], [(1, 2), (1, 3), (2, 3), (5, 2), (20, 3)]
    ):
        best = SubsetRandomizer(epsilon, n_cells, n_labels)
        others = [
            SubsetRandomizer(epsilon, n_cells, n_labels, subset_size=size).variance(1)[0]
            for size in range(1, best.n_categories // 2 + 1)
        ]
        assert best.variance(1)[0] <= min(others) * (1 + 1e-12)


@pytest.mark.parametrize("size", [0, 4, -1])
def test_sizes_out_of_range(size) -> None:
    with pytest.raises(ValueError, match="subset_size must be"):
        SubsetRandomizer(1.0, 2, 3, subset_size=size)


@pytest.mark.parametrize("n_cells", [4, 5, 100])
def test_a_subset_of_another_size_is_a_forgery(n_cells) -> None:
    randomizer = SubsetRandomizer(1.0, n_cells, 3)
    reports = randomizer.randomize(np.zeros(300, dtype=int), random_state=0)
    for forged in (np.uint8(0), np.uint8(0xFF)):
        spoilt = reports.copy()
        spoilt[299, 0] = forged
        # Eight ones or none among a category's first bits, where the rest has some.
        if np.unpackbits(spoilt[299]).sum() == randomizer.subset_size:
            spoilt[299] = 0
        with pytest.raises(ValueError, match="another number of ones"):
            randomizer.aggregate(spoilt)


# ---------------------------------------------------------------------------------------------------------
# Unary encoding
# ---------------------------------------------------------------------------------------------------------
def enumerate_bits(randomizer, category):
    """Exact probability of every report: the own bit is a coin, another is 0 below the threshold."""
    one = Fraction(WORD - randomizer.threshold, WORD)
    table = []
    for bits in itertools.product((0, 1), repeat=randomizer.n_categories):
        others = [one if bit else 1 - one for k, bit in enumerate(bits) if k != category]
        table.append(math.prod(others, start=Fraction(1, 2)))
    assert sum(table) == 1
    return table


@pytest.mark.parametrize("category", range(5))
def test_only_the_own_bit_is_a_coin(category) -> None:
    # With the largest threshold all others are 0, with the least they are 1.
    for threshold, others in ((WORD - 1, 0), (0, 1)):
        out = np.empty((200, 1), dtype=np.uint8)
        with WordStream(check_entropy(7), 1000) as stream:
            randomize_unary(np.full(200, category), 5, threshold, stream, out)
        rest = (0b11111 if others else 0) & ~(1 << category)
        assert set(out.ravel().tolist()) == {rest, rest | 1 << category}


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 2.0, 5.0, Fraction(1, 3)])
@pytest.mark.parametrize(("n_cells", "n_labels"), [(1, 2), (1, 3), (2, 2)])
def test_epsilon_of_unary_by_enumeration(n_cells, n_labels, epsilon) -> None:
    randomizer = UnaryRandomizer(epsilon, n_cells, n_labels)
    table = [enumerate_bits(randomizer, k) for k in range(n_cells * n_labels)]
    worst = max(max(column) / min(column) for column in zip(*table, strict=True))
    assert worst == randomizer.odds == Fraction(randomizer.threshold, WORD - randomizer.threshold)
    assert_loss(worst, epsilon)


def test_unary_reports_have_the_enumerated_frequencies(assert_fits) -> None:
    randomizer = UnaryRandomizer(1.0, 2, 2)
    for category in range(4):
        reports = randomizer.randomize(np.full(100_000, category), random_state=category)
        expected = enumerate_bits(randomizer, category)
        order = [sum(bit << k for k, bit in enumerate(b)) for b in itertools.product((0, 1), repeat=4)]
        assert_fits("unary", np.bincount(reports.ravel(), minlength=16)[order], [float(p) for p in expected])


@pytest.mark.parametrize("place", range(65))
def test_a_bit_is_decided_by_the_first_digit_that_differs(scripted_entropy, bit_script, place) -> None:
    threshold = int(np.random.default_rng(3).integers(2**63, 2**64, dtype=np.uint64))
    digits = [(threshold >> (63 - i)) & 1 for i in range(64)]
    drawn = digits[:place] + [1 - digit for digit in digits[place : place + 1]]
    lane = 37
    # The first four digits come as words; all other lanes are decided by the first digit, a 1 against 0.
    words = [digit << lane for digit in (drawn + [0] * 4)[:4]]
    script = bit_script([(word, 64) for word in words] + [(digit, 1) for digit in [*drawn[4:], 1]])
    out = np.empty((1, 8), dtype=np.uint8)
    randomize_unary(np.array([5]), 64, threshold, WordStream(scripted_entropy(script), 16), out)
    # A number equal to the threshold is not below it. The bit behind is the own category's coin.
    expected = drawn[place] if place < 64 else 1
    coin = 1 if place >= 4 or len(drawn) > 4 else int(script[32]) & 1
    assert as_sets(out, 64) == [tuple([5] * coin + [lane] * expected)]


@pytest.mark.parametrize(("epsilon", "variance"), [(1, 7.4), (4, 0.156)])
def test_variance_of_unary_at_256_cells(epsilon, variance) -> None:
    assert UnaryRandomizer(epsilon, 256).variance(1)[0] == pytest.approx(variance, rel=0.005)


# ---------------------------------------------------------------------------------------------------------
# Both
# ---------------------------------------------------------------------------------------------------------
def exact_variance(randomizer):
    """Of one report about a difference, for even categories, from the joint probabilities of two bits."""
    k = randomizer.n_categories
    own = Fraction(randomizer.threshold, WORD)
    if isinstance(randomizer, UnaryRandomizer):
        other = 1 - own
        mean, involved, rest = Fraction(1, 2) - other, other * (1 - other) + Fraction(1, 4), 2 * other * own
    else:
        d = randomizer.subset_size
        alone = own * Fraction(k - d, k - 1)  # own in, another given one out
        reverse = (1 - own) * Fraction(d, k - 1)
        mean, involved = alone - reverse, alone + reverse - (alone - reverse) ** 2
        with_own, without = own * (d - 1) * (k - d), (1 - own) * d * (k - 1 - d)
        rest = 2 * (with_own + without) / ((k - 1) * (k - 2)) if k > 2 else Fraction(0)
    share = Fraction(2, k)
    return (share * involved + (1 - share) * rest) / mean**2


@pytest.mark.parametrize("epsilon", [Fraction(1, 10**6), 1, 4, 20, 38, 45, 200])
@pytest.mark.parametrize(("n_cells", "n_labels"), [(1, 2), (1, 3), (2, 3), (4096, 5)])
@pytest.mark.parametrize("kind", [SubsetRandomizer, UnaryRandomizer])
def test_variance_is_exact_at_any_epsilon(kind, n_cells, n_labels, epsilon) -> None:
    randomizer = kind(epsilon, n_cells, n_labels)
    assert randomizer.variance(1)[0] == pytest.approx(float(exact_variance(randomizer)), rel=1e-12)
    assert randomizer.variance(1)[0] > 0


@pytest.mark.parametrize("kind", [SubsetRandomizer, UnaryRandomizer])
@pytest.mark.parametrize("n_cells", [1, 3, 30, 50])
def test_bits_beyond_the_last_category_are_refused(kind, n_cells) -> None:
    randomizer = kind(1.0, n_cells, 3)
    reports = randomizer.randomize(np.zeros(3, dtype=int), random_state=0)
    used = randomizer.n_categories % 8
    spoilt = reports.copy()
    spoilt[2, -1] |= 1 << used
    with pytest.raises(ValueError, match=f"beyond category {randomizer.n_categories - 1}"):
        randomizer.aggregate(spoilt)


@pytest.mark.parametrize("width", [1, 7, 8, 9, 64, 67])
@pytest.mark.parametrize("n", [0, 1, 255, 256, 700])
def test_counts_are_those_of_numpy(n, width) -> None:
    reports = np.random.default_rng(n + width).integers(0, 256, size=(n, width), dtype=np.uint8)
    # All ones for long: eight-bit counters would overflow.
    reports[:, 0] = 0xFF
    n_words = -(-width // 8)
    counts = np.zeros((n_words, 8, 8), dtype=np.int64)
    assert count_bits(reports, -1, np.zeros((n_words, 8), dtype=np.uint64), counts)
    seen = counts.transpose(0, 2, 1).ravel()
    expected = np.unpackbits(reports, axis=1, bitorder="little").sum(axis=0, dtype=np.int64)
    np.testing.assert_array_equal(seen[: 8 * width], expected)
    assert not seen[8 * width :].any()
