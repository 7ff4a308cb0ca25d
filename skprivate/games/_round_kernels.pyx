# SPDX-License-Identifier: BSD-3-Clause
"""The inner loops of a round: a noisy broadcast on a grid, and the clipping of gradients."""

from libc.math cimport INFINITY, fabs, trunc
from libc.stdint cimport int64_t

cdef double MAX_STEPS = 2.0 ** 60


def fill_broadcast(
    const double[:, ::1] own,
    const double[:, :] given,
    double steps,
    double limit,
    const int64_t[::1] noise,
    double[:, ::1] out,
):
    """Fill ``out`` with ``(trunc(own * steps) + trunc(given * steps) + noise) / steps``; return whether it is
    in range.

    `steps` is a power of two, so that both scalings are exact. `given` is a function of broadcasts and has one
    row or as many as `own`; what it is rounded to is the same whatever is private. Own parts beyond 2^60
    steps are sent as if they were there, which moves no two of them apart, and what is no number as 0. What
    is SENT and `given` must be within `limit` steps, at most 2^59: everybody sees that, while a test of the
    own parts would tell of them. Noise is below 2^62, so that sums fit 64 bits.
    """
    cdef Py_ssize_t i, j, row, n = own.shape[1]
    cdef Py_ssize_t stride = 0 if given.shape[0] == 1 else 1
    cdef double mine, theirs
    cdef int64_t sent, far = <int64_t> limit
    cdef bint in_range = True
    if not (noise.shape[0] == own.shape[0] * n and out.shape[0] == own.shape[0] and out.shape[1] == n):
        raise ValueError("own, noise and out must have the same size")
    if given.shape[1] != n or (stride and given.shape[0] != own.shape[0]) or not 0 < limit <= MAX_STEPS / 2:
        raise ValueError("given must have one row or as many as own, and limit be at most 2^59")
    with nogil:
        for i in range(own.shape[0]):
            row = stride * i
            for j in range(n):
                mine, theirs = own[i, j] * steps, given[row, j] * steps
                if not fabs(mine) <= MAX_STEPS:
                    mine = MAX_STEPS if mine > 0 else (-MAX_STEPS if mine < 0 else 0.0)
                if not fabs(theirs) <= limit:
                    in_range, theirs = False, 0.0
                sent = <int64_t> trunc(mine) + <int64_t> trunc(theirs) + noise[i * n + j]
                if sent > far or sent < -far:
                    in_range = False
                out[i, j] = <double> sent / steps
    return in_range


def clip_rows(double[:, ::1] rows, double bound):
    """Scale every row down to an L1 norm of at most `bound`, in place; without a finite norm, to 0.

    Rounding leaves no row above the bound, nor its product with a number above the bound's.
    """
    cdef Py_ssize_t i, j
    # The norm, three operations and a product are off by 2^-53 times (n + 4) at most.
    cdef double norm, factor, limit = bound * (1.0 - 4e-16 * (rows.shape[1] + 1))
    with nogil:
        for i in range(rows.shape[0]):
            norm = 0.0
            for j in range(rows.shape[1]):
                norm += fabs(rows[i, j])
            if not norm < INFINITY:
                # The bound must hold for any gradient, and times a factor infinity would be no number.
                for j in range(rows.shape[1]):
                    rows[i, j] = 0.0
            elif norm > limit:
                factor = limit / norm
                for j in range(rows.shape[1]):
                    rows[i, j] = rows[i, j] * factor
