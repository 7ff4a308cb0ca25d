# SPDX-License-Identifier: BSD-3-Clause
"""The inner loops of a round: a noisy broadcast on a grid, and the clipping of gradients."""

from libc.math cimport INFINITY, fabs, trunc
from libc.stdint cimport int64_t

cdef double MAX_STEPS = 2.0 ** 60
cdef int64_t FAR = 1LL << 59


def fill_broadcast(const double[::1] values, double steps, const int64_t[::1] noise, double[::1] out):
    """Fill ``out`` with ``(trunc(values * steps) + noise) / steps``; return whether what is sent is in range.

    `steps` is a power of two, so that both scalings are exact. Values beyond 2^60 steps are sent as if they
    were there, which moves no two of them apart; noise is below 2^62, so that sums fit 64 bits. What is SENT
    must be within 2^59 steps: everybody sees that, while a test of the values themselves would tell of them.
    Not a number is out of range.
    """
    cdef Py_ssize_t i
    cdef double scaled
    cdef int64_t sent
    cdef bint in_range = True
    if noise.shape[0] != values.shape[0] or out.shape[0] != values.shape[0]:
        raise ValueError("values, noise and out must have the same length")
    with nogil:
        for i in range(values.shape[0]):
            scaled = values[i] * steps
            if not fabs(scaled) <= MAX_STEPS:
                # Not a number compares as false.
                in_range = in_range and scaled == scaled
                scaled = MAX_STEPS if scaled > 0 else (-MAX_STEPS if scaled < 0 else 0.0)
            sent = <int64_t> trunc(scaled) + noise[i]
            if sent > FAR or sent < -FAR:
                in_range = False
            out[i] = <double> sent / steps
    return in_range


def clip_rows(double[:, ::1] rows, double bound):
    """Scale every row down to an L1 norm of at most `bound`, in place; without a finite norm, to 0."""
    cdef Py_ssize_t i, j
    cdef double norm, factor
    with nogil:
        for i in range(rows.shape[0]):
            norm = 0.0
            for j in range(rows.shape[1]):
                norm += fabs(rows[i, j])
            if not norm < INFINITY:
                # The bound must hold for any gradient, and times a factor infinity would be no number.
                for j in range(rows.shape[1]):
                    rows[i, j] = 0.0
            elif norm > bound:
                # Rounding must not leave the row above the bound.
                factor = bound / norm * (1.0 - 4e-16 * rows.shape[1])
                for j in range(rows.shape[1]):
                    rows[i, j] = rows[i, j] * factor
