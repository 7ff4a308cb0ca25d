# SPDX-License-Identifier: BSD-3-Clause
"""Values to the centres of their cells."""

from libc.math cimport isnan


def coarsen(double[:, ::1] X, const Py_ssize_t[:, ::1] plan, const double[::1] table):
    """Replace values of X in place.

    A row of `plan` is (column, depth k, start): at `start` of `table` stand the 2^k - 1 inner edges of the
    column's cells in ascending order, then the 2^k centres. NaN stays.
    """
    cdef Py_ssize_t i, j, step, at, n = X.shape[0], half
    cdef const double* edges
    cdef double value
    with nogil:
        for i in range(n):
            for j in range(plan.shape[0]):
                value = X[i, plan[j, 0]]
                if isnan(value):
                    continue
                edges = &table[plan[j, 2]]
                # Down the binary tree: `at` counts the inner edges at or below the value.
                half = <Py_ssize_t>1 << plan[j, 1]
                at = 0
                step = half >> 1
                while step > 0:
                    at += step * (value >= edges[at + step - 1])
                    step >>= 1
                X[i, plan[j, 0]] = edges[half - 1 + at]
