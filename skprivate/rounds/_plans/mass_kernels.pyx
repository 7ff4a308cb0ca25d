# SPDX-License-Identifier: BSD-3-Clause
"""Masses of numbers on a grid, and sums of masses by leaf."""

from libc.stdint cimport int32_t, int64_t


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
