# SPDX-License-Identifier: BSD-3-Clause
"""Columns side by side: rows of a table that is kept by columns."""

from libc.stdlib cimport free, malloc

cdef enum:
    # Rows of a tile: up to some 60 columns of it stay in a first-level cache of 32 kB.
    TILE = 64


def join_columns(list columns, double[:, ::1] out):
    """Copy columns, C-contiguous arrays of float64 of one length, side by side. Return if all are finite."""
    cdef:
        Py_ssize_t n = out.shape[0], d = out.shape[1], first, last, i, j
        const double[::1] column
        double** starts = <double**> malloc(d * sizeof(double*))
        double* target
        double* values
        double b0 = 0.0, b1 = 0.0, b2 = 0.0, b3 = 0.0
    if starts == NULL:
        raise MemoryError
    try:
        for j in range(d):
            column = columns[j]
            if column.shape[0] != n:
                raise ValueError("columns must be of one length.")
            starts[j] = NULL
            if n > 0:
                starts[j] = <double*> &column[0]
        with nogil:
            for first in range(0, n, 64):  # TILE
                last = first + TILE if first + TILE < n else n
                for j in range(d):
                    values = starts[j]
                    target = &out[0, 0] + j
                    i = first
                    # Four sums: one would wait for itself in every step.
                    while i + 4 <= last:
                        target[i * d] = values[i]
                        target[(i + 1) * d] = values[i + 1]
                        target[(i + 2) * d] = values[i + 2]
                        target[(i + 3) * d] = values[i + 3]
                        b0 += values[i] * 0.0
                        b1 += values[i + 1] * 0.0
                        b2 += values[i + 2] * 0.0
                        b3 += values[i + 3] * 0.0
                        i += 4
                    while i < last:
                        target[i * d] = values[i]
                        b0 += values[i] * 0.0
                        i += 1
    finally:
        free(starts)
    return b0 + b1 + b2 + b3 == 0
