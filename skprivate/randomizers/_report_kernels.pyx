# SPDX-License-Identifier: BSD-3-Clause
"""One client's block-Hadamard or randomised-response report, and the counts of many."""

from libc.stdint cimport int64_t, uint16_t, uint32_t, uint64_t

from ..noise._stream_kernels cimport WordStream, bit_length

ctypedef fused report_t:
    uint16_t
    uint32_t


cdef inline uint64_t parity(uint64_t x) noexcept nogil:
    """Whether the number of ones is odd; x is below 2^32, as reports are."""
    x ^= x >> 16
    x ^= x >> 8
    x ^= x >> 4
    x ^= x >> 2
    x ^= x >> 1
    return x & 1


def randomize_hadamard(
    const int64_t[::1] categories,
    int log2_rows,
    uint64_t n_blocks,
    uint64_t threshold,
    WordStream stream,
    report_t[::1] out,
):
    """Fill out with reports ((block << log2_rows | row) << 1) | sign.

    The row is uniform and drawn independently of the category. So are the test for the true answer and the
    offset of another one. The number of random words therefore does not depend on the data either.
    """
    cdef:
        Py_ssize_t i
        uint64_t n_outcomes = 2 * n_blocks
        uint64_t cell, row, sign, outcome
    with nogil:
        for i in range(categories.shape[0]):
            cell = <uint64_t> categories[i] >> 1
            row = stream.bits(log2_rows)
            # A row has log2_rows bits, so the bits of the cell's block have no effect.
            sign = (<uint64_t> categories[i] & 1) ^ parity(row & cell)
            outcome = 2 * (cell >> log2_rows) + sign
            if not stream.bernoulli(threshold):
                outcome += 1 + stream.below(n_outcomes - 1)
                if outcome >= n_outcomes:
                    outcome -= n_outcomes
            out[i] = <report_t> (((((outcome >> 1) << log2_rows) | row) << 1) | (outcome & 1))


def count_signs(const report_t[::1] reports, int64_t[::1] counts):
    """Add each report's sign, -1 or +1, to the count of its (block, row); False: a report is out of range."""
    cdef:
        Py_ssize_t i
        uint64_t index, n = counts.shape[0]
        bint possible = True
    with nogil:
        for i in range(reports.shape[0]):
            index = reports[i] >> 1
            if index >= n:
                possible = False
                break
            counts[index] += 2 * <int64_t> (reports[i] & 1) - 1
    return possible


def randomize_response(
    const int64_t[::1] categories,
    uint64_t n_answers,
    uint64_t threshold,
    WordStream stream,
    report_t[::1] out,
):
    """Fill out with the category, or with another one of its block of n_answers.

    The test for the true answer and the offset of another one are drawn independently of the category.
    """
    cdef:
        Py_ssize_t i
        int offset_bits = bit_length(n_answers - 2)
        uint64_t category, block, answer
    with nogil:
        for i in range(categories.shape[0]):
            category = <uint64_t> categories[i]
            block = category - category % n_answers
            answer = category - block
            if not stream.bernoulli(threshold):
                answer += 1 + stream.below_within(n_answers - 1, offset_bits)
                if answer >= n_answers:
                    answer -= n_answers
            out[i] = <report_t> (block + answer)


def count_answers(const report_t[::1] reports, int64_t[::1] counts):
    """Add 1 to the count of each report's category; False: a report is out of range."""
    cdef:
        Py_ssize_t i
        uint64_t n = counts.shape[0]
        bint possible = True
    with nogil:
        for i in range(reports.shape[0]):
            if reports[i] >= n:
                possible = False
                break
            counts[reports[i]] += 1
    return possible
