# SPDX-License-Identifier: BSD-3-Clause
"""Reports that are sets, bit by bit: those of plain references that read the same words; and their counts."""

import numpy as np
import pytest

from skprivate.noise import check_entropy
from skprivate.noise._stream_kernels import WordStream
from skprivate.randomizers._bit_kernels import count_bits, randomize_subset, randomize_unary

WORD = 2**64


def categories(n_categories, n):
    return np.random.default_rng(1).integers(n_categories, size=n)


def empty(n, n_categories):
    return np.empty((n, -(-n_categories // 8)), dtype=np.uint8)


def as_numbers(reports):
    """Sets of categories as whole numbers with a bit for each."""
    return [int.from_bytes(row, "little") for row in reports]


def scaled_below(bits, n, width):
    """Every number stands for as many blocks: those beyond a multiple of n are drawn again."""
    while True:
        number, low = divmod(n * bits(width), 2**width)
        if low >= 2**width % n:
            return number


@pytest.mark.parametrize("threshold", [0, 2**61 + 12345, 2**64 - 1])
@pytest.mark.parametrize(("n_categories", "size"), [(2, 1), (6, 1), (7, 3), (40, 12)])
def test_subsets(scripted_reports, bits, n_categories, size, threshold) -> None:
    asked, expected, others = categories(n_categories, 3000), [], n_categories - 1
    width = others.bit_length() + 6
    for category in asked.tolist():
        own = bits.bernoulli(threshold)
        chosen: set[int] = set()
        # Floyd's algorithm over the others, numbered from the category on.
        for j in range(others - size + own, others):
            drawn = scaled_below(bits, j + 1, width)
            chosen.add(j if drawn in chosen else drawn)
        members = [(category + 1 + other) % n_categories for other in chosen] + [category] * own
        expected.append(sum(1 << member for member in members))
    out = empty(3000, n_categories)
    scripted_reports(randomize_subset, asked, n_categories, size, threshold, out=out)
    assert as_numbers(out) == expected


@pytest.mark.statistical
@pytest.mark.parametrize("n_categories", [5, 67, 300])
def test_others_are_drawn_evenly_at_any_width(assert_fits, n_categories) -> None:
    # Sets of size 1 without the own category: uniform over all others.
    out = empty(40 * n_categories, n_categories)
    with WordStream(check_entropy(5), 1000) as stream:
        randomize_subset(np.full(len(out), 1), n_categories, 1, 0, stream, out)
    seen = np.unpackbits(out, axis=1, bitorder="little").sum(axis=0)[:n_categories]
    assert (seen[1], seen.sum()) == (0, len(out))
    assert_fits("others", np.delete(seen, 1), np.full(n_categories - 1, 1 / (n_categories - 1)))


def test_blocks_that_favour_small_numbers_are_drawn_again(scripted_entropy, bit_script) -> None:
    # Six categories: 5 others, blocks of 9 bits. 5 x mod 512 < 512 mod 5 = 2 rejects x = 0 (0) and
    # x = 205 (1), x = 103 (3) is accepted and gives 1. The threshold of 2^63 rejects a first word of ones.
    for first in (0, 205):
        script = bit_script([(0xFFFF, 16), (first, 9), (103, 9)])
        out = empty(1, 6)
        randomize_subset(np.array([0]), 6, 1, WORD // 2, WordStream(scripted_entropy(script), 4), out)
        assert as_numbers(out) == [1 << 2]


def rare_bits(bits, threshold):
    """64 bits, each 1 iff its number is not below the threshold; the first four digits come as words."""
    words, ones = [bits.word() for _ in range(4)], 0
    for lane in range(64):
        for place in range(64):
            digit = words[place] >> lane & 1 if place < 4 else bits(1)
            if digit != threshold >> (63 - place) & 1:
                ones |= digit << lane
                break
        else:
            ones |= 1 << lane
    return ones


@pytest.mark.parametrize("threshold", [2**63 + 12345, 13 * 2**60 + 2**59 + 7, 2**64 - 1])
@pytest.mark.parametrize("n_categories", [2, 64, 83])
def test_unary_reports(scripted_reports, bits, n_categories, threshold) -> None:
    asked, expected = categories(n_categories, 300), []
    for category in asked.tolist():
        report = sum(rare_bits(bits, threshold) << start for start in range(0, n_categories, 64))
        own = 1 << category
        coin = bits(1) * own
        expected.append((report & (1 << n_categories) - 1) & ~own | coin)
    out = empty(300, n_categories)
    scripted_reports(randomize_unary, asked, n_categories, threshold, out=out)
    assert as_numbers(out) == expected


@pytest.mark.parametrize("place", [0, 3, 4, 5, 31, 62, 63, 64])
def test_a_bit_is_decided_by_the_first_digit_that_differs(scripted_entropy, bit_script, place) -> None:
    threshold = int(np.random.default_rng(3).integers(2**63, 2**64, dtype=np.uint64))
    digits = [(threshold >> (63 - i)) & 1 for i in range(64)]
    drawn = digits[:place] + [1 - digit for digit in digits[place : place + 1]]
    lane = 37
    # The first four digits come as words; all other lanes are decided by the first digit, a 1 against 0.
    words = [digit << lane for digit in (drawn + [0] * 4)[:4]]
    script = bit_script([(word, 64) for word in words] + [(digit, 1) for digit in [*drawn[4:], 1]])
    out = empty(1, 64)
    randomize_unary(np.array([5]), 64, threshold, WordStream(scripted_entropy(script), 16), out)
    # A number equal to the threshold is not below it. The bit behind is the own category's coin.
    expected = drawn[place] if place < 64 else 1
    coin = 1 if place >= 4 or len(drawn) > 4 else int(script[32]) & 1
    assert as_numbers(out) == [coin << 5 | expected << lane]


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
