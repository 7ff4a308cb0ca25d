# SPDX-License-Identifier: BSD-3-Clause
"""Averages over the cubes of a grid, found by a hash table of the cubes that hold rows."""

from libc.math cimport floor
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from .lanes cimport scale_row


cdef inline uint64_t find_cell(const double* row, Py_ssize_t d, double side, double* cell) noexcept nogil:
    """Fill `cell` with a row's place on the grid, whole numbers as floats, and return its hash."""
    cdef uint64_t code = 0, bits
    cdef Py_ssize_t j
    for j in range(d):
        # + 0.0: the grid's -0 and 0 are one.
        cell[j] = floor(row[j] / side) + 0.0
        memcpy(&bits, &cell[j], sizeof(double))
        code = (code ^ bits ^ (bits >> 32)) * 0x9E3779B97F4A7C15u
        code ^= code >> 29
    return code


cdef inline bint same_cell(const double* a, const double* b, Py_ssize_t d) noexcept nogil:
    cdef Py_ssize_t j
    for j in range(d):
        if a[j] != b[j]:
            return False
    return True


def fill_cells(
    const double[:, ::1] X,
    const double[::1] y,
    double side,
    int64_t[::1] slots,
    double[:, ::1] cells,
    double[::1] means,
    int64_t[::1] counts,
):
    """Fill the table of the cells that hold rows, and the mean of y in each; return their number.

    `slots`, -1 at first, has a power of two above the number of rows as its length; a slot holds the number
    of a cell. The other outputs have a line per row, of which the first ones are filled.
    """
    cdef Py_ssize_t i, d = X.shape[1]
    cdef uint64_t mask = slots.shape[0] - 1, at
    cdef int64_t n_cells = 0, c
    with nogil:
        for i in range(X.shape[0]):
            # A row's cell is written where a new one would stand.
            at = find_cell(&X[i, 0], d, side, &cells[n_cells, 0]) & mask
            while slots[at] >= 0 and not same_cell(&cells[slots[at], 0], &cells[n_cells, 0], d):
                at = (at + 1) & mask
            if slots[at] < 0:
                slots[at] = n_cells
                means[n_cells] = 0
                counts[n_cells] = 0
                n_cells += 1
            c = slots[at]
            means[c] += y[i]
            counts[c] += 1
        for c in range(n_cells):
            means[c] /= counts[c]
    return n_cells


def cell_averages(
    const double[:, ::1] X,
    const double[:, ::1] ranges,
    double side,
    const int64_t[::1] slots,
    const double[:, ::1] cells,
    const double[::1] means,
    double[:, ::1] values,
    uint8_t[:, ::1] support,
    Py_ssize_t column,
):
    """Fill a column of `values` with the mean of every query's cell; 0 and no support where no row lies."""
    cdef Py_ssize_t i, d = cells.shape[1]
    cdef uint64_t mask = slots.shape[0] - 1, at
    cdef int64_t c
    cdef double* query
    if X.shape[1] != d:
        raise ValueError
    query = <double*>malloc(2 * d * sizeof(double))
    if query == NULL:
        raise MemoryError
    with nogil:
        for i in range(X.shape[0]):
            scale_row(&X[i, 0], ranges, query)
            at = find_cell(query, d, side, query + d) & mask
            while slots[at] >= 0 and not same_cell(&cells[slots[at], 0], query + d, d):
                at = (at + 1) & mask
            c = slots[at]
            support[i, column] = c >= 0
            values[i, column] = means[c] if c >= 0 else 0.0
        free(query)
