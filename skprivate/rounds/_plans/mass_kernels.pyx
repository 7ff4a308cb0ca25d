# SPDX-License-Identifier: BSD-3-Clause
"""Counts and masses of rows by node, cell, and bin of every column; masses of numbers and their sums."""

from libc.math cimport fabs
from libc.stdint cimport int32_t, int64_t, uint8_t

ctypedef fused bin_t:
    uint8_t
    int32_t


cdef inline int32_t search(double x, int32_t k, const double* edges) noexcept nogil:
    """Return the number of thresholds at or below x, from a first guess; -inf and NaN are around them."""
    while x >= edges[k + 1]:
        k += 1
    while x < edges[k]:
        k -= 1
    return k


cdef inline int32_t find_bin(double x, const double* about, const double* edges) noexcept nogil:
    """Return the bin of a value in one column of a node; see `find_bins`."""
    cdef double guess = (x - about[0]) * about[1]
    cdef int32_t k
    # In this order NaN becomes 0.5: the first bin.
    guess = guess if guess > 0.5 else 0.5
    guess = guess if guess < about[2] else about[2]
    k = <int32_t>guess
    if fabs(guess - k - 0.5) >= about[3]:
        k = search(x, k, edges)
    return k


def find_bins(
    const double[:, ::1] X, const int32_t[::1] nodes, const int32_t[::1] start,
    const double[:, :, ::1] guesses, const double[:, ::1] edges, bin_t[:, ::1] bins,
):
    """Fill in the bin of every value within its row's node; node -1: the row does not count.

    The bin is the number of thresholds at or below the value, none for NaN. `edges` are a node's thresholds
    in ascending order, each column's between -inf and NaN; those that are NaN have no value above them.
    `guesses` holds (origin, scale, number of bins - 0.5, sure) for every node and column: the whole part of
    (x - origin) * scale is the bin wherever the rest is closer to 0.5 than `sure`. So the edges are read
    where it matters only: those of all nodes would not stay in the cache.
    """
    cdef Py_ssize_t i, j
    cdef int32_t node
    with nogil:
        for i in range(X.shape[0]):
            node = nodes[i]
            if node < 0:
                continue
            for j in range(X.shape[1]):
                bins[i, j] = <bin_t>find_bin(X[i, j], &guesses[node, j, 0], &edges[node, start[j] + j])


def move_rows(
    const double[:, ::1] X, const int32_t[::1] feature, const double[::1] threshold,
    const int32_t[::1] left, const int32_t[::1] start, const double[:, :, ::1] guesses,
    const double[:, ::1] edges, int32_t[::1] nodes, bin_t[:, ::1] bins,
):
    """Move rows from their nodes to the children of these, whose boxes differ in one column only.

    `feature` is what a node compares, -1 where it stays a leaf; `left` is the first child, or itself.
    """
    cdef Py_ssize_t i
    cdef int32_t node, j
    cdef double x
    with nogil:
        for i in range(X.shape[0]):
            if nodes[i] < 0:
                continue
            j = feature[nodes[i]]
            node = left[nodes[i]]
            if j >= 0:
                x = X[i, j]
                node += x >= threshold[nodes[i]]
                bins[i, j] = <bin_t>find_bin(x, &guesses[node, j, 0], &edges[node, start[j] + j])
            nodes[i] = node


def count_bins(
    const bin_t[:, ::1] bins, const int32_t[::1] nodes, const int32_t[::1] labels, const int32_t[::1] start,
    int32_t[:, :, ::1] counts,
):
    """Add every row to `counts[node, label, start[j] + bin]` of every column j."""
    cdef Py_ssize_t i, j, d = bins.shape[1]
    cdef const bin_t* bin
    cdef int32_t* count
    with nogil:
        for i in range(bins.shape[0]):
            if nodes[i] < 0:
                continue
            bin = &bins[i, 0]
            count = &counts[nodes[i], labels[i], 0]
            for j in range(d):
                count[start[j] + bin[j]] += 1


def add_bins(
    const bin_t[:, ::1] bins, const int32_t[::1] nodes, const int32_t[::1] first,
    const int64_t[:, ::1] masses, const int32_t[::1] start, int64_t[:, :, ::1] sums,
):
    """Add masses of rows to `sums[node, cell, start[j] + bin]` of every column j, from cell `first` on."""
    cdef Py_ssize_t i, j, p, width = sums.shape[2]
    cdef int64_t* cell
    with nogil:
        for i in range(bins.shape[0]):
            if nodes[i] < 0:
                continue
            for j in range(bins.shape[1]):
                cell = &sums[nodes[i], first[i], start[j] + bins[i, j]]
                for p in range(masses.shape[1]):
                    cell[p * width] += masses[i, p]


def fill_terms(const double[::1] y, double center, double half, int64_t one, int64_t[:, ::1] out):
    """Fill in the terms of ((one - a) + a)^m, m + 1 = 2 or 3 a row. Return whether all numbers are finite.

    a is the whole number nearest to one (1 + u) / 2, the upper one of two, for u = (y - center) / half, which
    is clipped to [-1, 1]. A difference beyond the largest float is infinite, and clipped to the right end.
    """
    cdef:
        Py_ssize_t i
        bint squares = out.shape[1] == 3
        double u, steps = 0.5 * one, bad = 0.0
        int64_t a, b
    with nogil:
        for i in range(y.shape[0]):
            bad += y[i] * 0.0
            u = (y[i] - center) / half
            # In this order NaN becomes -1.
            u = u if u > -1.0 else -1.0
            u = u if u < 1.0 else 1.0
            a = <int64_t>((u + 1.0) * steps + 0.5)
            b = one - a
            if squares:
                out[i, 0] = b * b
                out[i, 1] = 2 * a * b
                out[i, 2] = a * a
            else:
                out[i, 0] = b
                out[i, 1] = a
    return bad == 0.0


def multiply(int64_t[:, ::1] masses, const double[::1] steps, int64_t largest):
    """Multiply rows by their steps, clipped to [0, largest] and rounded down. Return whether none is NaN."""
    cdef:
        Py_ssize_t i, p
        double most = <double>largest, step
        int64_t times
        bint numbers = True
    with nogil:
        for i in range(masses.shape[0]):
            numbers &= steps[i] == steps[i]
            # In this order NaN becomes 0.
            step = steps[i] if steps[i] > 0.0 else 0.0
            times = <int64_t>(step if step < most else most)
            for p in range(masses.shape[1]):
                masses[i, p] *= times
    return numbers


def add_masses(
    const int32_t[::1] leaves, const int32_t[::1] first, const int64_t[:, ::1] masses, int64_t[:, ::1] out
):
    """Add the masses of every row to `out[leaf]`, from the cell `first` on."""
    cdef:
        Py_ssize_t i, p, width = masses.shape[1]
        int64_t* cells
    with nogil:
        for i in range(leaves.shape[0]):
            cells = &out[leaves[i], first[i]]
            for p in range(width):
                cells[p] += masses[i, p]
