# SPDX-License-Identifier: BSD-3-Clause
"""The inner loops of a round: a noisy broadcast on a grid, and the clipping of gradients."""

from libc.math cimport fabs, trunc
from libc.stdint cimport int64_t

cdef double MAX_STEPS = 2.0 ** 61


def fill_broadcast(const double[::1] values, double steps, const int64_t[::1] noise, double[::1] out):
    """Fill ``out`` with ``(trunc(values * steps) + noise) / steps``; return whether all values are in range.

    `steps` is a power of two, so that both scalings are exact. In range are values within 2^61 steps: noise
    is below 2^62, so that sums fit 64 bits. Others count as 0.
    """
    cdef Py_ssize_t i
    cdef double scaled
    cdef bint in_range = True
    if noise.shape[0] != values.shape[0] or out.shape[0] != values.shape[0]:
        raise ValueError("values, noise and out must have the same length")
    with nogil:
        for i in range(values.shape[0]):
            scaled = values[i] * steps
            # Not a number compares as false.
            if not fabs(scaled) <= MAX_STEPS:
                in_range = False
                scaled = 0.0
            out[i] = <double> (<int64_t> trunc(scaled) + noise[i]) / steps
    return in_range


def clip_rows(double[:, ::1] rows, double bound):
    """Scale every row down to an L1 norm of at most `bound`, in place."""
    cdef Py_ssize_t i, j
    cdef double norm, factor
    with nogil:
        for i in range(rows.shape[0]):
            norm = 0.0
            for j in range(rows.shape[1]):
                norm += fabs(rows[i, j])
            if not norm <= bound:
                # Rounding must not leave the row above the bound.
                factor = bound / norm * (1.0 - 4e-16 * rows.shape[1])
                for j in range(rows.shape[1]):
                    rows[i, j] = rows[i, j] * factor
