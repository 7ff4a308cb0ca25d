# SPDX-License-Identifier: BSD-3-Clause
"""Counts and masses of rows by node, cell, and bin of every column, in one pass over the rows."""

from libc.math cimport fabs
from libc.stdint cimport int32_t, int64_t


cdef inline int32_t search(double x, int32_t k, const double* edges) noexcept nogil:
    """Return the number of thresholds at or below x, from a first guess; -inf and NaN are around them."""
    while x >= edges[k + 1]:
        k += 1
    while x < edges[k]:
        k -= 1
    return k


cdef inline int32_t find_bin(double x, const double* about, const double* edges) noexcept nogil:
    """Return the bin of a value in one column of a node; see `count_bins`."""
    cdef double guess = (x - about[0]) * about[1]
    cdef int32_t k
    # In this order NaN becomes 0.5: the first bin.
    guess = guess if guess > 0.5 else 0.5
    guess = guess if guess < about[2] else about[2]
    k = <int32_t>guess
    if fabs(guess - k - 0.5) >= about[3]:
        k = search(x, k, edges)
    return k


def count_bins(
    const double[:, ::1] X, const int32_t[::1] nodes, const int32_t[::1] labels, const int32_t[::1] start,
    const double[:, :, ::1] guesses, const double[:, ::1] edges, int32_t[:, :, ::1] counts,
):
    """Add every row to `counts[node, label, start[j] + bin]` of every column j; node -1: it does not count.

    The bin is the number of thresholds at or below the value, none for NaN. `edges` are a node's thresholds
    in ascending order, each column's between -inf and NaN; those that are NaN have no value above them.
    `guesses` holds (origin, scale, number of bins - 0.5, sure) for every node and column: the whole part of
    (x - origin) * scale is the bin wherever the rest is closer to 0.5 than `sure`. So the edges are read
    where it matters only: those of all nodes would not stay in the cache.
    """
    cdef:
        Py_ssize_t i, j, d = X.shape[1]
        int32_t node
        const int32_t* begin = &start[0]
        const double* x
        const double* about
        const double* edge
        int32_t* count
    with nogil:
        for i in range(X.shape[0]):
            node = nodes[i]
            if node < 0:
                continue
            x = &X[i, 0]
            about = &guesses[node, 0, 0]
            edge = &edges[node, 0]
            count = &counts[node, labels[i], 0]
            for j in range(d):
                count[begin[j] + find_bin(x[j], about, edge + begin[j] + j)] += 1
                about += 4


def add_bins(
    const double[:, ::1] X, const int32_t[::1] nodes, const int32_t[::1] first, const int64_t[:, ::1] masses,
    const int32_t[::1] start, const double[:, :, ::1] guesses, const double[:, ::1] edges,
    int64_t[:, :, ::1] sums,
):
    """Add masses of rows to `sums[node, cell, start[j] + bin]` of every column j, from the cell `first` on.

    See `count_bins`.
    """
    cdef:
        Py_ssize_t i, j, p, d = X.shape[1], neighbours = masses.shape[1], width = sums.shape[2]
        int32_t node
        int64_t* cell
    with nogil:
        for i in range(X.shape[0]):
            node = nodes[i]
            for j in range(d):
                cell = &sums[node, first[i], start[j]]
                cell += find_bin(X[i, j], &guesses[node, j, 0], &edges[node, start[j] + j])
                for p in range(neighbours):
                    cell[p * width] += masses[i, p]
