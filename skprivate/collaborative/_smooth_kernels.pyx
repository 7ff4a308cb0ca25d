# SPDX-License-Identifier: BSD-3-Clause
"""Gaussian and Laplace averages: every row has a weight, so every row is read."""

from libc.stdint cimport uint8_t
from libc.stdlib cimport free, malloc

from ._lanes cimport LANES, add_powers, roots, scale_row, squares, total

cdef enum:
    # Rows of a block, whose columns stay in the first cache, and queries that read it in turn.
    BLOCK = 512
    TILE = 64
    # The queries of a tile have sums of two times LANES each.
    SUMS = 16

# Below this a sum of weights is no longer known to 2^-60, see `skp_power`.
cdef double SMALL = 2.0**-900
cdef double INFINITE = float("inf")


def scale_rows(const double[:, ::1] X, const double[:, ::1] ranges, double[:, ::1] out):
    """Fill `out` with rows clipped and scaled to [0, 1]; `ranges`: lower, upper, a unit, width in units."""
    cdef Py_ssize_t i
    if X.shape[1] != ranges.shape[1]:
        raise ValueError
    with nogil:
        for i in range(X.shape[0]):
            scale_row(&X[i, 0], ranges, &out[i, 0])


cdef void distances(
    const double[:, ::1] columns, Py_ssize_t first, Py_ssize_t n, const double* query, bint squared, double* out
) noexcept nogil:
    squares(&columns[0, first], columns.shape[1], n, columns.shape[0], query, out)
    if not squared:
        roots(out, n)


cdef double nearest_distance(
    const double[:, ::1] columns, const double* query, bint squared, double* scratch
) noexcept nogil:
    cdef Py_ssize_t first, i, n, rows = columns.shape[1]
    cdef double least = INFINITE
    for first in range(0, rows, 512):  # BLOCK
        n = min(<Py_ssize_t>BLOCK, rows - first)
        distances(columns, first, n, query, squared, scratch)
        for i in range(n):
            least = min(least, scratch[i])
    return least


cdef void add_tile(
    const double[:, ::1] columns, const double[::1] y, const double[::1] factors, const double* queries,
    Py_ssize_t n_queries, bint squared, const double* nearest, double* scratch, double* sums
) noexcept nogil:
    """Add every row to the sums of a tile's queries; those of query t and factor g begin at t, g."""
    cdef Py_ssize_t first, n, t, g, rows = columns.shape[1], d = columns.shape[0]
    for first in range(0, rows, 512):  # BLOCK
        n = min(<Py_ssize_t>BLOCK, rows - first)
        for t in range(n_queries):
            distances(columns, first, n, queries + t * d, squared, scratch)
            for g in range(factors.shape[0]):
                add_powers(
                    scratch, &y[first], n, factors[g], nearest[t], sums + (t * factors.shape[0] + g) * SUMS
                )


cdef void rescale(
    const double[:, ::1] columns, const double[::1] y, double factor, const double* query, bint squared,
    double* scratch, double* sums
) noexcept nogil:
    """Sum again with weights relative to the nearest row's, which do not all underflow."""
    cdef Py_ssize_t first, n, k, rows = columns.shape[1]
    cdef double nearest = nearest_distance(columns, query, squared, scratch)
    for k in range(SUMS):
        sums[k] = 0
    for first in range(0, rows, 512):  # BLOCK
        n = min(<Py_ssize_t>BLOCK, rows - first)
        distances(columns, first, n, query, squared, scratch)
        add_powers(scratch, &y[first], n, factor, nearest, sums)


cdef void answer_tile(
    const double[:, ::1] columns, const double[::1] y, const double[::1] factors, const double* queries,
    Py_ssize_t n_queries, bint squared, double* scratch, double* sums, double* out
) noexcept nogil:
    cdef Py_ssize_t t, k, d = columns.shape[0], n_factors = factors.shape[0]
    cdef double* zeros = scratch + BLOCK
    for t in range(n_queries):
        zeros[t] = 0
    for k in range(n_queries * n_factors * SUMS):
        sums[k] = 0
    add_tile(columns, y, factors, queries, n_queries, squared, zeros, scratch, sums)
    for k in range(n_queries * n_factors):
        if total(sums + k * SUMS + LANES) < SMALL:
            rescale(
                columns, y, factors[k % n_factors], queries + k // n_factors * d, squared, scratch, sums + k * SUMS
            )
        out[k] = total(sums + k * SUMS) / total(sums + k * SUMS + LANES)


def smooth_averages(
    const double[:, ::1] X,
    const double[:, ::1] ranges,
    const double[:, ::1] columns,
    const double[::1] y,
    const double[::1] factors,
    bint squared,
    double[:, ::1] values,
):
    """Fill `values[query, k]` with means of y, weights 2^(-factors[k] distance), of squared distances or not.

    `columns` holds the scaled rows column by column; the number of rows is filled up to a multiple of eight by
    rows at infinity, with y 0.
    """
    cdef Py_ssize_t first, n, t, d = columns.shape[0], n_queries = X.shape[0], n_factors = factors.shape[0]
    cdef Py_ssize_t tile = min(n_queries, <Py_ssize_t>TILE)
    cdef double* queries
    if X.shape[1] != d:
        raise ValueError
    queries = <double*>malloc((tile * (d + 1 + n_factors * SUMS) + BLOCK) * sizeof(double))
    if queries == NULL:
        raise MemoryError
    with nogil:
        for first in range(0, n_queries, 64):  # TILE
            n = min(<Py_ssize_t>TILE, n_queries - first)
            for t in range(n):
                scale_row(&X[first + t, 0], ranges, queries + t * d)
            answer_tile(
                columns, y, factors, queries, n, squared, queries + tile * d,
                queries + tile * (d + 1) + BLOCK, &values[first, 0],
            )
        free(queries)
