# SPDX-License-Identifier: BSD-3-Clause
"""Reports that are numbers, bit by bit: those of plain references that read the same words."""

import numpy as np
import pytest

from skprivate.randomizers._report_kernels import randomize_hadamard, randomize_response

# A word meets a threshold that is 0 but for its last digits now and then in its first 16 bits, never in all.
THRESHOLDS = [0, 1, 2**61 + 12345, 2**63, 2**64 - 1]


def categories(n_categories):
    return np.random.default_rng(1).integers(n_categories, size=3000)


def lie(bits, truth, n_answers, threshold):
    """The truth, or one of the others, all equally likely."""
    return truth if bits.bernoulli(threshold) else (truth + 1 + bits.below(n_answers - 1)) % n_answers


@pytest.mark.parametrize("threshold", THRESHOLDS)
@pytest.mark.parametrize(("log2_rows", "n_blocks"), [(0, 8), (3, 2), (17, 4), (24, 1)])
def test_hadamard_reports(scripted_reports, bits, log2_rows, n_blocks, threshold) -> None:
    asked, expected = categories(2 * n_blocks << log2_rows), []
    for category in asked.tolist():
        cell, label = divmod(category, 2)
        block, column = divmod(cell, 1 << log2_rows)
        row = bits(log2_rows)
        sign = label ^ (row & column).bit_count() % 2
        block, sign = divmod(lie(bits, 2 * block + sign, 2 * n_blocks, threshold), 2)
        expected.append(2 * (block << log2_rows | row) + sign)
    out = np.empty(3000, dtype=np.uint32)
    scripted_reports(randomize_hadamard, asked, log2_rows, n_blocks, threshold, out=out)
    assert out.tolist() == expected


@pytest.mark.parametrize("threshold", THRESHOLDS)
@pytest.mark.parametrize(("n_answers", "n_blocks"), [(2, 5), (3, 4), (5, 1), (1000, 1)])
def test_responses(scripted_reports, bits, n_answers, n_blocks, threshold) -> None:
    asked, expected = categories(n_answers * n_blocks), []
    for category in asked.tolist():
        block, answer = divmod(category, n_answers)
        expected.append(n_answers * block + lie(bits, answer, n_answers, threshold))
    out = np.empty(3000, dtype=np.uint32)
    scripted_reports(randomize_response, asked, n_answers, threshold, out=out)
    assert out.tolist() == expected
