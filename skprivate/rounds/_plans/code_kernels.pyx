# SPDX-License-Identifier: BSD-3-Clause
"""Cells of rows, their scores, and the sums of their residuals, one row after the other."""

from libc.math cimport exp, fabs
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t

ctypedef fused code_t:
    uint8_t
    uint16_t


cdef inline double bounded(double x, double low, double high) noexcept nogil:
    """Return x within the bounds, `low` for NaN."""
    return high if x > high else (x if x > low else low)


cdef inline double expit(double x) noexcept nogil:
    """Return 1 / (1 + exp(-x)) without overflow, and without a branch that is guessed wrong."""
    cdef double e = exp(-fabs(x))
    return (1.0 if x >= 0 else e) / (1.0 + e)


def fill_codes(const double[::1] values, const double[::1] thresholds, code_t[::1] codes):
    """Fill in the number of thresholds, which ascend, at or below every value; 0 for NaN."""
    cdef:
        Py_ssize_t i, first, left, half, size = thresholds.shape[0]
    with nogil:
        for i in range(values.shape[0]):
            # A search whose steps do not depend on the value: no branch is guessed wrong.
            first, left = 0, size
            while left > 1:
                half = left // 2
                first += half if thresholds[first + half - 1] <= values[i] else 0
                left -= half
            if left == 1 and thresholds[first] <= values[i]:
                first += 1
            codes[i] = <code_t> first


def add_cells(const code_t[::1] codes, const int32_t[::1] groups, int32_t size, int32_t[::1] cells):
    """Append a digit to every row's cell: the group, below `size`, of its code."""
    cdef Py_ssize_t i
    with nogil:
        for i in range(codes.shape[0]):
            cells[i] = cells[i] * size + groups[codes[i]]


def add_code_weights(const code_t[::1] codes, const int64_t[:, ::1] weights, int64_t[:, ::1] scores):
    """Add the weights of every row's code to its scores."""
    cdef Py_ssize_t i, j
    with nogil:
        for i in range(codes.shape[0]):
            for j in range(weights.shape[1]):
                scores[i, j] += weights[codes[i], j]


def add_cell_weights(const int32_t[::1] cells, const int64_t[:, ::1] weights, int64_t[:, ::1] scores):
    """Add the weights of every row's cell to its scores."""
    cdef Py_ssize_t i, j
    with nogil:
        for i in range(cells.shape[0]):
            for j in range(weights.shape[1]):
                scores[i, j] += weights[cells[i], j]


def add_numbers(const code_t[::1] codes, const int64_t[:, ::1] numbers, int64_t[:, ::1] sums):
    """Add the numbers of every row to the sums of its code."""
    cdef Py_ssize_t i, j
    with nogil:
        for i in range(codes.shape[0]):
            for j in range(numbers.shape[1]):
                sums[codes[i], j] += numbers[i, j]


def add_binary(
    const int64_t[:, ::1] scores, const int32_t[::1] labels, const int32_t[::1] cells, double unit,
    double limit, int64_t one, int64_t[:, ::1] sums,
):
    """Add label - p, p the logistic function of the score, as a whole number from -one to one."""
    cdef:
        Py_ssize_t i
        double p
    with nogil:
        for i in range(labels.shape[0]):
            p = expit(bounded(scores[i, 0] * unit, -limit, limit))
            # Toward zero.
            sums[cells[i], 0] += <int64_t> bounded(((labels[i] != 0) - p) * one, -one, one)


def add_softmax(
    const int64_t[:, ::1] scores, const int32_t[::1] labels, const int32_t[::1] cells, double unit,
    double limit, int64_t one, double[::1] odds, int64_t[:, ::1] sums,
):
    """Add the unit vector of the label less the softmax of the scores, as whole numbers that add up to 0.

    Those of other labels are -q for q of 0 or more, whose sum is at most `one`; that of the label is the sum.
    """
    cdef:
        Py_ssize_t i, j, n_labels = scores.shape[1]
        double top, total
        int64_t q, left
        int32_t label
    with nogil:
        for i in range(labels.shape[0]):
            top = bounded(scores[i, 0] * unit, -limit, limit)
            for j in range(1, n_labels):
                odds[j] = bounded(scores[i, j] * unit, -limit, limit)
                top = odds[j] if odds[j] > top else top
            odds[0] = bounded(scores[i, 0] * unit, -limit, limit)
            total = 0.0
            for j in range(n_labels):
                odds[j] = exp(odds[j] - top)
                total += odds[j]
            label, left = labels[i], one
            for j in range(n_labels):
                if j != label:
                    q = <int64_t> bounded(odds[j] / total * one, 0.0, <double> left)
                    left -= q
                    sums[cells[i], j] -= q
            sums[cells[i], label] += one - left


def add_squared(
    const int64_t[:, ::1] scores, const double[::1] target, const int32_t[::1] cells, double unit,
    double center, double half, double clip, int64_t one, int64_t[:, ::1] sums,
):
    """Add the target, scaled to [-1, 1], less the score, in units of clip, from -one to one."""
    cdef:
        Py_ssize_t i
        double t
    with nogil:
        for i in range(target.shape[0]):
            t = bounded((target[i] - center) / half, -1.0, 1.0)
            # A conversion cuts off toward zero.
            sums[cells[i], 0] += <int64_t> bounded((t - scores[i, 0] * unit) / clip * one, -one, one)
