# SPDX-License-Identifier: BSD-3-Clause
"""The inner loops of a round: a noisy broadcast on a grid, averages of many, clipped gradients."""

from libc.math cimport INFINITY, fabs, trunc
from libc.stdint cimport int32_t, int64_t

ctypedef fused index_t:
    int32_t
    int64_t

# Private parts are cut to so many steps: with noise below 2^62 and the public part below 2^59, sums fit 64
# bits.
cdef double MAX_STEPS = 2.0 ** 60


cdef inline double saturated(double steps) noexcept nogil:
    """The end of the range on the side of a number beyond it; 0 for NaN."""
    return MAX_STEPS if steps > 0 else (-MAX_STEPS if steps < 0 else 0.0)


def fill_broadcast(
    const double[:, ::1] private_part,
    const double[:, :] public_part,
    double steps,
    double limit,
    const int64_t[::1] noise,
    double[:, ::1] out,
):
    """Fill ``out`` with ``(trunc(private_part * steps) + trunc(public_part * steps) + noise) / steps``.

    Returns whether what is sent is in range. `steps` is a power of two, so that both scalings are exact.
    `public_part` is a function of the broadcasts and has one row or as many as `private_part`; its rounding
    is the same whatever is private. Private parts beyond 2^60 steps are sent as 2^60 steps, which moves no
    two of them apart, and NaN as 0. What is SENT and `public_part` must be within `limit` steps, at most
    2^59: everybody sees whether they are, while a test of the private parts would be a leak. Noise is below
    2^62, so that sums fit 64 bits.
    """
    cdef Py_ssize_t i, j, row
    cdef Py_ssize_t n_players = private_part.shape[0], n_dims = private_part.shape[1]
    cdef Py_ssize_t stride = 0 if public_part.shape[0] == 1 else 1
    cdef double private_steps, public_steps
    cdef int64_t sent, largest = <int64_t> limit
    cdef bint in_range = True
    if not (noise.shape[0] == n_players * n_dims and out.shape[0] == n_players and out.shape[1] == n_dims):
        raise ValueError("private_part, noise and out must have the same size")
    if public_part.shape[1] != n_dims or (stride and public_part.shape[0] != n_players):
        raise ValueError("public_part must have one row or as many as private_part")
    if not 0 < limit <= MAX_STEPS / 2:
        raise ValueError("limit must be above 0 and at most 2^59")
    with nogil:
        for i in range(n_players):
            row = stride * i
            for j in range(n_dims):
                private_steps, public_steps = private_part[i, j] * steps, public_part[row, j] * steps
                if not fabs(private_steps) <= MAX_STEPS:
                    private_steps = saturated(private_steps)
                if not fabs(public_steps) <= limit:
                    in_range, public_steps = False, 0.0
                sent = <int64_t> trunc(private_steps) + <int64_t> trunc(public_steps) + noise[i * n_dims + j]
                if sent > largest or sent < -largest:
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


def average_rows(
    const index_t[::1] start, const index_t[::1] columns, const double[::1] weights,
    const double[:, ::1] rows, double[:, ::1] out,
):
    """Fill in sums of rows with the weights of a sparse matrix, whose lines begin at `start`."""
    cdef Py_ssize_t i, j, k, d = out.shape[1]
    cdef double first, second
    cdef const double* row
    with nogil:
        for i in range(out.shape[0]):
            # Two columns at once, in registers.
            for j in range(0, d, 2):
                first = second = 0.0
                for k in range(start[i], start[i + 1]):
                    row = &rows[columns[k], j]
                    first += weights[k] * row[0]
                    if j + 1 < d:
                        second += weights[k] * row[1]
                out[i, j] = first
                if j + 1 < d:
                    out[i, j + 1] = second


cdef inline Py_ssize_t find_root(index_t[::1] parent, Py_ssize_t i) noexcept nogil:
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


def count_components(
    const index_t[::1] start, const index_t[::1] columns, const double[::1] weights, double least,
    index_t[::1] parent,
):
    """Return how many groups of nodes no weight above `least` connects; `parent` is 0, 1, 2, ..."""
    cdef Py_ssize_t i, k, a, b, n = parent.shape[0]
    with nogil:
        for i in range(parent.shape[0]):
            for k in range(start[i], start[i + 1]):
                if weights[k] <= least:
                    continue
                a, b = find_root(parent, i), find_root(parent, columns[k])
                if a != b:
                    # The lower number is the root.
                    parent[max(a, b)] = <index_t> min(a, b)
                    n -= 1
    return n
