# SPDX-License-Identifier: BSD-3-Clause
"""One level of a partition by halving: sides of the rows, counts, choice of an edge, routing of the rows."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from ._impurity cimport NEAR, Split, gini_score, is_purer


def mark_sides(
    const double[:, ::1] X,
    const int32_t[::1] cell,
    const double[:, ::1] midpoint,
    uint8_t[:, ::1] side,
):
    """Fill `side` with 1 if a row is right of its cell's midpoint; rows in leaves (cell -1) are skipped."""
    cdef Py_ssize_t i, j, c
    with nogil:
        for i in range(X.shape[0]):
            c = cell[i]
            if c >= 0:
                for j in range(X.shape[1]):
                    side[i, j] = X[i, j] >= midpoint[c, j]


def count_right(
    const uint8_t[:, ::1] side,
    const int32_t[::1] cell,
    const int32_t[::1] labels,
    int32_t[:, :, ::1] right,
):
    """Add the rows on the right side to `right[cell, label, dimension]`."""
    cdef Py_ssize_t i, j, c, m
    with nogil:
        for i in range(side.shape[0]):
            c = cell[i]
            m = labels[i]
            if c >= 0:
                for j in range(side.shape[1]):
                    right[c, m, j] += side[i, j]


def route_rows(
    const uint8_t[:, ::1] side,
    const int32_t[::1] feature,
    const int32_t[::1] child,
    int32_t[::1] cell,
):
    """Move every row to its side's cell of the next level, or to -1 if its cell became a leaf."""
    cdef Py_ssize_t i, c
    with nogil:
        for i in range(side.shape[0]):
            c = cell[i]
            if c >= 0:
                cell[i] = child[c] + side[i, feature[c]] if feature[c] >= 0 else -1


cdef inline void count_sides(
    const int32_t[:, :, ::1] right, const int32_t[:, ::1] total, Py_ssize_t c, Py_ssize_t j, Split* s
) noexcept nogil:
    """Fill `s` with the rows and squares of both sides."""
    cdef Py_ssize_t m
    cdef int64_t a, b
    s[0] = Split(0, 0, 0, 0)
    for m in range(total.shape[1]):
        b = right[c, m, j]
        a = total[c, m] - b
        s.rows_left += a
        s.rows_right += b
        s.squares_left += a * a
        s.squares_right += b * b
    # An empty side scores 0 / 1.
    s.rows_left += s.rows_left == 0
    s.rows_right += s.rows_right == 0


cdef inline double entropy_score(
    const int32_t[:, :, ::1] right,
    const int32_t[:, ::1] total,
    const double[::1] x_log_x,
    Py_ssize_t c,
    Py_ssize_t j,
) noexcept nogil:
    """Minus the entropy of both sides, weighted by their rows; a higher score is purer."""
    cdef Py_ssize_t m
    cdef int64_t a, b, rows_left = 0, rows_right = 0
    cdef double left_sum = 0, right_sum = 0
    for m in range(total.shape[1]):
        b = right[c, m, j]
        a = total[c, m] - b
        rows_left += a
        rows_right += b
        left_sum += x_log_x[a]
        right_sum += x_log_x[b]
    return (left_sum - x_log_x[rows_left]) + (right_sum - x_log_x[rows_right])


def choose_by_gini(
    const int32_t[:, :, ::1] right,
    const int32_t[:, ::1] total,
    const uint8_t[:, ::1] allowed,
    int32_t[::1] feature,
):
    """Fill `feature` with each cell's allowed dimension of least weighted Gini, lowest on ties, or -1."""
    cdef Py_ssize_t c, j
    cdef double score, best_score
    cdef Split split, best = Split(1, 0, 1, 0)
    with nogil:
        for c in range(allowed.shape[0]):
            feature[c] = -1
            best_score = 0
            for j in range(allowed.shape[1]):
                if not allowed[c, j]:
                    continue
                count_sides(right, total, c, j, &split)
                score = gini_score(&split)
                if feature[c] < 0 or is_purer(&split, score, &best, best_score):
                    feature[c] = <int32_t>j
                    best_score = score
                    best = split


def choose_by_entropy(
    const int32_t[:, :, ::1] right,
    const int32_t[:, ::1] total,
    const uint8_t[:, ::1] allowed,
    const double[::1] x_log_x,
    int32_t[::1] feature,
):
    """Fill `feature` with each cell's allowed dimension of least weighted entropy, lowest on ties, or -1.

    `x_log_x[k]` is k log k for k up to the rows of the largest cell; a difference of rounding alone is a tie.
    """
    cdef Py_ssize_t c, j, m
    cdef int64_t rows
    cdef double score, best_score, tie
    with nogil:
        for c in range(allowed.shape[0]):
            feature[c] = -1
            best_score = 0
            rows = 0
            for m in range(total.shape[1]):
                rows += total[c, m]
            tie = NEAR * x_log_x[rows]
            for j in range(allowed.shape[1]):
                if not allowed[c, j]:
                    continue
                score = entropy_score(right, total, x_log_x, c, j)
                if feature[c] < 0 or score > best_score + tie:
                    feature[c] = <int32_t>j
                    best_score = score
