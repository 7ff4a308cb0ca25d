# SPDX-License-Identifier: BSD-3-Clause
"""The kernels bit by bit: their reports are those of plain references that read the same words."""

import numpy as np
import pytest

from skprivate.noise._stream_kernels import WordStream
from skprivate.randomizers._bit_kernels import randomize_subset, randomize_unary
from skprivate.randomizers._report_kernels import randomize_hadamard, randomize_response

N = 3000
SCRIPT = np.random.default_rng(2021).bytes(2**18)
# A word meets a threshold that is 0 but for its last digits now and then in its first 16 bits, never in all.
THRESHOLDS = [0, 1, 2**61 + 12345, 2**63, 2**64 - 1]


def categories(n_categories):
    return np.random.default_rng(1).integers(n_categories, size=N)


def reports(kernel, scripted_entropy, n_categories, *parameters, sets=False):
    """Reports as whole numbers; sets of categories as those with a bit for each."""
    stream = WordStream(scripted_entropy(SCRIPT), len(SCRIPT) // 8)
    if not sets:
        out = np.empty(N, dtype=np.uint32)
        kernel(categories(n_categories), *parameters, stream, out)
        return out.tolist()
    packed = np.empty((N, -(-n_categories // 8)), dtype=np.uint8)
    kernel(categories(n_categories), n_categories, *parameters, stream, packed)
    return [int.from_bytes(row, "little") for row in packed]


def lie(bits, truth, n_answers, threshold):
    """The truth, or one of the others, all equally likely."""
    return truth if bits.bernoulli(threshold) else (truth + 1 + bits.below(n_answers - 1)) % n_answers


@pytest.mark.parametrize("threshold", THRESHOLDS)
@pytest.mark.parametrize(("log2_rows", "n_blocks"), [(0, 8), (3, 2), (17, 4), (24, 1)])
def test_hadamard_reports(scripted_entropy, bit_reader, log2_rows, n_blocks, threshold) -> None:
    bits, expected = bit_reader(SCRIPT), []
    for category in categories(2 * n_blocks << log2_rows).tolist():
        cell, label = divmod(category, 2)
        block, column = divmod(cell, 1 << log2_rows)
        row = bits(log2_rows)
        sign = label ^ (row & column).bit_count() % 2
        block, sign = divmod(lie(bits, 2 * block + sign, 2 * n_blocks, threshold), 2)
        expected.append(2 * (block << log2_rows | row) + sign)
    n_categories = 2 * n_blocks << log2_rows
    sent = reports(randomize_hadamard, scripted_entropy, n_categories, log2_rows, n_blocks, threshold)
    assert sent == expected


@pytest.mark.parametrize("threshold", THRESHOLDS)
@pytest.mark.parametrize(("n_answers", "n_blocks"), [(2, 5), (3, 4), (5, 1), (1000, 1)])
def test_responses(scripted_entropy, bit_reader, n_answers, n_blocks, threshold) -> None:
    bits, expected = bit_reader(SCRIPT), []
    for category in categories(n_answers * n_blocks).tolist():
        block, answer = divmod(category, n_answers)
        expected.append(n_answers * block + lie(bits, answer, n_answers, threshold))
    sent = reports(randomize_response, scripted_entropy, n_answers * n_blocks, n_answers, threshold)
    assert sent == expected


def scaled_below(bits, n, width):
    """Every number stands for as many blocks: those beyond a multiple of n are drawn again."""
    while True:
        number, low = divmod(n * bits(width), 2**width)
        if low >= 2**width % n:
            return number


@pytest.mark.parametrize("threshold", [0, 2**61 + 12345, 2**64 - 1])
@pytest.mark.parametrize(("n_categories", "size"), [(2, 1), (6, 1), (7, 3), (40, 12)])
def test_subsets(scripted_entropy, bit_reader, n_categories, size, threshold) -> None:
    bits, expected, others = bit_reader(SCRIPT), [], n_categories - 1
    width = others.bit_length() + 6
    for category in categories(n_categories).tolist():
        own = bits.bernoulli(threshold)
        chosen: set[int] = set()
        # Floyd's algorithm over the others, numbered from the category on.
        for j in range(others - size + own, others):
            drawn = scaled_below(bits, j + 1, width)
            chosen.add(j if drawn in chosen else drawn)
        members = [(category + 1 + other) % n_categories for other in chosen] + [category] * own
        expected.append(sum(1 << member for member in members))
    assert reports(randomize_subset, scripted_entropy, n_categories, size, threshold, sets=True) == expected


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
def test_unary_reports(scripted_entropy, bit_reader, monkeypatch, n_categories, threshold) -> None:
    monkeypatch.setattr(f"{__name__}.N", 300)
    bits, expected = bit_reader(SCRIPT), []
    for category in categories(n_categories).tolist():
        report = sum(rare_bits(bits, threshold) << start for start in range(0, n_categories, 64))
        own = 1 << category
        coin = bits(1) * own
        expected.append((report & (1 << n_categories) - 1) & ~own | coin)
    assert reports(randomize_unary, scripted_entropy, n_categories, threshold, sets=True) == expected
