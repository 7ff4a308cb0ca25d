# SPDX-License-Identifier: BSD-3-Clause
"""One level of a CART partition: bins of the rows, choice of a cut per cell, routing of the rows.

Rows of a cell are adjacent, with a line of bins for each feature, so that histograms read memory in order.
"""

from libc.math cimport nextafter
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memset

from ..noise._stream_kernels cimport lowest_bit
from ._impurity cimport NEAR, Split, gini_score, is_purer


cdef inline double cut_between(double low, double high) noexcept nogil:
    # Halves do not overflow, but the halves of subnormal numbers may round to the lower value.
    return max(low / 2 + high / 2, nextafter(low, high))


cdef enum:
    # Digits of a radix sort: six of eleven bits.
    DIGIT = 11
    N_DIGITS = 6


cdef void sort_numbers(uint64_t* numbers, uint64_t* scratch, Py_ssize_t n) noexcept nogil:
    """Sort finite numbers by their bits; digits that are equal in all of them are skipped."""
    cdef Py_ssize_t i, k, digit, place
    cdef uint64_t[N_DIGITS][1 << DIGIT] starts
    cdef uint64_t x, before, mask = (1 << DIGIT) - 1
    cdef uint64_t* source = numbers
    cdef uint64_t* target = scratch
    memset(starts, 0, sizeof(starts))
    for i in range(n):
        # Bits of positive numbers have the order of the numbers, and those of negative ones the opposite
        # order.
        x = numbers[i]
        x ^= 0 - (x >> 63) | <uint64_t> 1 << 63
        numbers[i] = x
        for digit in range(N_DIGITS):
            starts[digit][x >> (DIGIT * digit) & mask] += 1
    for digit in range(N_DIGITS):
        if starts[digit][source[0] >> (DIGIT * digit) & mask] == <uint64_t> n:
            continue
        before = 0
        for k in range(1 << DIGIT):
            x = starts[digit][k]
            starts[digit][k] = before
            before += x
        for i in range(n):
            k = source[i] >> (DIGIT * digit) & mask
            place = starts[digit][k]
            starts[digit][k] += 1
            target[place] = source[i]
        source, target = target, source
    for i in range(n):
        x = source[i]
        numbers[i] = x ^ ((x >> 63) - 1 | <uint64_t> 1 << 63)


def place_cuts(double[:, ::1] values, uint64_t[::1] scratch, double[:, ::1] cuts):
    """Fill each line with the cuts of a column, and sort its finite values; lines must be NaN before.

    There is a cut in every gap between distinct values, or in the first gaps with k / 256 of the rows below.
    """
    cdef Py_ssize_t i, j, n_gaps, placed, last, k
    cdef Py_ssize_t n = values.shape[1], most = cuts.shape[1]
    cdef double share = n / (most + 1.0)
    with nogil:
        for j in range(values.shape[0] if n else 0):
            sort_numbers(<uint64_t*> &values[j, 0], &scratch[0], n)
            n_gaps = placed = last = 0
            k = 1
            for i in range(1, n):
                n_gaps += values[j, i] > values[j, i - 1]
            for i in range(1, n):
                if values[j, i] <= values[j, i - 1]:
                    continue
                last = i
                if n_gaps <= most or k * share <= i:
                    cuts[j, placed] = cut_between(values[j, i - 1], values[j, i])
                    placed += 1
                    last = 0
                    while k <= most and k * share <= i:
                        k += 1
                    if k > most and n_gaps > most:
                        break
            # The last gap also serves shares beyond it.
            if last > 0 and k <= most:
                cuts[j, placed] = cut_between(values[j, last - 1], values[j, last])


def bin_rows(const double[:, ::1] X, const double[:, ::1] cuts, uint8_t[:, ::1] bins):
    """Fill `bins[feature, row]` with the number of cuts at or below a value.

    `cuts` holds 255 ascending cuts for each feature; NaN follows the last one, and is above every value.
    """
    cdef Py_ssize_t i, j, step, k
    with nogil:
        for i in range(X.shape[0]):
            for j in range(X.shape[1]):
                k = 0
                step = 128
                while step > 0:
                    k += step * (X[i, j] >= cuts[j, k + step - 1])
                    step >>= 1
                bins[j, i] = <uint8_t>k


cdef struct Best:
    # The best cut of a cell up to now; feature -1: none yet.
    int32_t feature
    int32_t cut
    double score
    Split split


cdef inline void move_left(
    int32_t* counts, const int32_t[::1] total, int32_t[::1] left, Split* s
) noexcept nogil:
    """Move a bin's rows from the right side to the left, and empty the bin."""
    cdef Py_ssize_t m
    cdef int64_t here, rows = 0
    for m in range(total.shape[0]):
        here = counts[m]
        counts[m] = 0
        s.squares_left += here * (2 * left[m] + here)
        left[m] += <int32_t>here
        s.squares_right -= here * (2 * (total[m] - left[m]) + here)
        rows += here
    s.rows_left += rows
    s.rows_right -= rows


cdef inline void move_pair_left(
    uint64_t* both, const int32_t[::1] total, int32_t[::1] left, Split* s
) noexcept nogil:
    """Do the same for two labels."""
    cdef int64_t ones = <int64_t> (both[0] & 0xFFFFFFFFULL), rows = <int64_t> (both[0] >> 32), right
    both[0] = 0
    left[0] += <int32_t> (rows - ones)
    left[1] += <int32_t> ones
    s.rows_left += rows
    s.rows_right -= rows
    s.squares_left = <int64_t> left[0] * left[0] + <int64_t> left[1] * left[1]
    right = total[0] - left[0]
    ones = total[1] - left[1]
    s.squares_right = right * right + ones * ones


cdef inline double entropy_score(
    const int32_t[::1] total, const int32_t[::1] left, const double[::1] x_log_x, Split* s
) noexcept nogil:
    """Minus the entropy of both sides, weighted by their rows; a higher score is purer."""
    cdef Py_ssize_t m
    cdef double left_sum = 0, right_sum = 0
    for m in range(total.shape[0]):
        left_sum += x_log_x[left[m]]
        right_sum += x_log_x[total[m] - left[m]]
    return (left_sum - x_log_x[s.rows_left]) + (right_sum - x_log_x[s.rows_right])


cdef void scan_feature(
    const uint8_t* bins,
    const int32_t* labels,
    Py_ssize_t j,
    const int32_t[::1] total,
    const double[::1] x_log_x,
    int64_t least,
    int32_t copies,
    int32_t[:, ::1] counts,
    int32_t[::1] left,
    Split split,
    Best* best,
) noexcept nogil:
    """Try every cut of a feature; `split` starts with all rows right, `counts` starts and ends 0."""
    cdef Py_ssize_t i, k, w, m
    cdef double score
    cdef bint better, pairs = total.shape[0] == 2
    cdef uint64_t[4] filled
    # For two labels: the copies in a bin, and in the lower half those with the second label.
    cdef uint64_t* both = <uint64_t*> &counts[0, 0]
    cdef uint64_t copy = <uint64_t> copies << 32
    for w in range(4):
        filled[w] = 0
    for i in range(split.rows_right // copies):
        k = bins[i]
        if pairs:
            both[k] += copy + <uint64_t> labels[i]
        else:
            counts[k, labels[i]] += 1
        filled[k >> 6] |= <uint64_t> 1 << (k & 63)
    for m in range(total.shape[0]):
        left[m] = 0
    for w in range(4):
        while filled[w]:
            k = 64 * w + lowest_bit(filled[w])
            filled[w] &= filled[w] - 1
            if pairs:
                move_pair_left(&both[k], total, left, &split)
            else:
                move_left(&counts[k, 0], total, left, &split)
            if split.rows_left < least or split.rows_right < least:
                continue
            if x_log_x.shape[0] > 0:
                score = entropy_score(total, left, x_log_x, &split)
                better = score > best.score + NEAR * x_log_x[split.rows_left + split.rows_right]
            else:
                score = gini_score(&split)
                better = best.feature >= 0 and is_purer(&split, score, &best.split, best.score)
            if better or best.feature < 0:
                best.feature = <int32_t>j
                best.cut = <int32_t>k
                best.score = score
                best.split = split


def choose_cuts(
    const uint8_t[:, ::1] bins,
    const int32_t[::1] labels,
    const int64_t[::1] start,
    const double[::1] x_log_x,
    int64_t least,
    int32_t copies,
    int32_t[:, ::1] counts,
    int32_t[:, ::1] sums,
    int32_t[::1] feature,
    int32_t[::1] cut,
    int64_t[::1] rows_left,
):
    """Fill every cell's best feature and cut, lowest on ties, and the rows that go left; -1, 0, 0 at leaves.

    Cell c holds the rows from `start[c]` on; cut k sends the bins up to k left. A row counts as `copies`
    rows, of which `labels` have the second label of two. `least` is the smallest number of copies on a side,
    at least 1. `x_log_x[k]` is k log k for k up to their number, empty for Gini. Scratch: `counts`, 0, of
    shape (256, n_labels), and `sums` of shape (2, n_labels).
    """
    cdef Py_ssize_t c, i, j, m
    cdef Split split
    cdef Best best
    with nogil:
        for c in range(feature.shape[0]):
            split = Split(0, 0, copies * (start[c + 1] - start[c]), 0)
            best.feature = -1
            best.cut = 0
            best.score = 0
            best.split = split
            for m in range(sums.shape[1]):
                sums[0, m] = 0
            for i in range(start[c], start[c + 1]):
                if copies == 1:
                    sums[0, labels[i]] += 1
                else:
                    sums[0, 0] += copies - labels[i]
                    sums[0, 1] += labels[i]
            for m in range(sums.shape[1]):
                split.squares_right += <int64_t>sums[0, m] * sums[0, m]
            # A pure cell has one label only.
            if split.rows_right >= 2 * least and split.squares_right < split.rows_right * split.rows_right:
                for j in range(bins.shape[0]):
                    scan_feature(
                        &bins[j, start[c]], &labels[start[c]], j, sums[0], x_log_x, least, copies, counts,
                        sums[1], split, &best,
                    )
            feature[c] = best.feature
            cut[c] = best.cut
            rows_left[c] = best.split.rows_left // copies


def part_rows(
    const uint8_t[:, ::1] bins,
    const int32_t[::1] labels,
    const int64_t[::1] start,
    const int32_t[::1] feature,
    const int32_t[::1] cut,
    const int64_t[::1] rows_left,
    int64_t[::1] place,
    uint8_t[:, ::1] new_bins,
    int32_t[::1] new_labels,
):
    """Move the rows of every cell that splits, left ones first, to the next level; `place` is scratch."""
    cdef Py_ssize_t c, i, j
    cdef int64_t to_left, to_right = 0
    with nogil:
        for c in range(feature.shape[0]):
            if feature[c] < 0:
                for i in range(start[c], start[c + 1]):
                    place[i] = -1
                continue
            # The cell before this one ends where its right side does.
            to_left = to_right
            to_right = to_left + rows_left[c]
            for i in range(start[c], start[c + 1]):
                if bins[feature[c], i] <= cut[c]:
                    place[i] = to_left
                    to_left += 1
                else:
                    place[i] = to_right
                    to_right += 1
        for i in range(labels.shape[0]):
            if place[i] >= 0:
                new_labels[place[i]] = labels[i]
        for j in range(bins.shape[0]):
            for i in range(bins.shape[1]):
                if place[i] >= 0:
                    new_bins[j, place[i]] = bins[j, i]
