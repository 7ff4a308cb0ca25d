# SPDX-License-Identifier: BSD-3-Clause
"""Products of rows with a matrix, each row by the same operations whatever other rows there are."""


def add_products(const double[:, ::1] rows, const double[:, ::1] slopes, double[:, ::1] out):
    """Add ``rows @ slopes`` to `out`, the columns of rows in their order.

    The inner loop is over the entries of one row of `out`, so that vector code adds no two of them up.
    """
    cdef Py_ssize_t i, j, k
    cdef double value
    with nogil:
        for i in range(rows.shape[0]):
            for j in range(rows.shape[1]):
                value = rows[i, j]
                for k in range(slopes.shape[1]):
                    out[i, k] += value * slopes[j, k]


def add_dot_products(const double[:, ::1] rows, const double[::1] slopes, double[::1] out):
    """The same with a vector."""
    cdef Py_ssize_t i, j
    cdef double total
    with nogil:
        for i in range(rows.shape[0]):
            total = out[i]
            for j in range(rows.shape[1]):
                total += rows[i, j] * slopes[j]
            out[i] = total
