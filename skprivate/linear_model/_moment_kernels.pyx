# SPDX-License-Identifier: BSD-3-Clause
"""Rows to integers: centre, scale, clip, round toward zero, pack side by side for BLAS.

A packed row is (x', y', 1) in units of the grid's step 1 / bound, bound = 2^k with k <= 26: integers, each
held exactly by a float64.
"""

from libc.math cimport fabs, sqrt
from libc.stdint cimport int32_t

cdef enum:
    LANES = 4  # two SSE registers

# Far outside any ball, and its square is far from overflow.
cdef double FAR = 2.0**256

ctypedef fused real_t:
    float
    double


cdef inline double clipped(double value, double bound) noexcept nogil:
    # Comparisons in this order turn NaN into a bound, and compile to one minimum and one maximum.
    value = value if value < bound else bound
    return value if value > -bound else -bound


cdef inline double on_grid(double value, double bound) noexcept nogil:
    """Clip to [-bound, bound] and round toward zero; through int32, which SSE2 converts two at a time."""
    return <double> <int32_t> clipped(value, bound)


cdef inline double pack_row(
    const real_t* x, Py_ssize_t d, const double* center, const double* scale, double bound, double* out
) noexcept nogil:
    """Pack the features of one row; return a sum that is finite only if they are."""
    cdef Py_ssize_t j
    cdef double offset, total = 0
    for j in range(d):
        offset = x[j] - center[j]
        total += offset
        out[j] = on_grid(offset * scale[j], bound)
    return total


cdef inline void pack_lanes(
    const real_t* x, Py_ssize_t d, const double* center, const double* scale, double bound, double* out,
    double* sums
) noexcept nogil:
    """Pack the features of one row, LANES at once: reads and writes up to LANES - 1 values more than d."""
    cdef Py_ssize_t j
    cdef double u0, u1, u2, u3
    for j in range(0, d, 4):  # LANES
        u0 = x[j] - center[j]
        u1 = x[j + 1] - center[j + 1]
        u2 = x[j + 2] - center[j + 2]
        u3 = x[j + 3] - center[j + 3]
        sums[0] += u0
        sums[1] += u1
        sums[2] += u2
        sums[3] += u3
        # All is read before anything is written, so that the compiler need not fear that they overlap.
        u0 = on_grid(u0 * scale[j], bound)
        u1 = on_grid(u1 * scale[j + 1], bound)
        u2 = on_grid(u2 * scale[j + 2], bound)
        u3 = on_grid(u3 * scale[j + 3], bound)
        out[j] = u0
        out[j + 1] = u1
        out[j + 2] = u2
        out[j + 3] = u3


cdef inline bint all_finite(const real_t* values, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i
    cdef double total = 0
    for i in range(n):
        total += values[i] * 0.0
    return total == 0


def pack_cube(
    const real_t[:, ::1] X,
    const double[::1] y,
    const double[::1] center,
    const double[::1] scale,
    double y_center,
    double y_scale,
    double bound,
    double[:, ::1] out,
):
    """Fill `out` with packed rows, every value clipped to [-bound, bound]; False: X or y is not finite.

    `center` and `scale` (bound / half-width) have LANES - 1 values more than X has columns.
    """
    cdef:
        Py_ssize_t n = X.shape[0], d = X.shape[1], width = out.shape[1], i
        Py_ssize_t reach = (d + LANES - 1) // LANES * LANES
        const real_t* x = &X[0, 0]
        double* row = &out[0, 0]
        double offset, total = 0
        double[LANES] sums
        bint finite
    with nogil:
        for i in range(LANES):
            sums[i] = 0
        for i in range(n):
            # What lanes write beyond d is overwritten: by the two values below and by the rows that follow.
            if (n - i) * d >= reach:
                pack_lanes(x, d, &center[0], &scale[0], bound, row, sums)
            else:
                total += pack_row(x, d, &center[0], &scale[0], bound, row)
            offset = y[i] - y_center
            total += offset
            row[d] = on_grid(offset * y_scale, bound)
            row[d + 1] = bound
            x += d
            row += width
        for i in range(LANES):
            total += sums[i]
        # A sum of finite values may overflow; then they are looked at one by one.
        finite = total - total == 0 or (all_finite(&X[0, 0], n * d) and all_finite(&y[0], n))
    return finite


cdef inline double norm(const double* row, Py_ssize_t d, bint squares) noexcept nogil:
    """Sum of magnitudes or of squares."""
    cdef double s0 = 0, s1 = 0
    cdef Py_ssize_t j
    for j in range(0, d - 1, 2):
        s0 += row[j] * row[j] if squares else fabs(row[j])
        s1 += row[j + 1] * row[j + 1] if squares else fabs(row[j + 1])
    if d % 2:
        s0 += row[d - 1] * row[d - 1] if squares else fabs(row[d - 1])
    return s0 + s1


cdef inline void into_ball(double* row, Py_ssize_t d, double bound, bint squares) noexcept nogil:
    """Shrink a row into the unit ball and round it, so that its integers obey the bound exactly.

    `norm` decides that in floating point without error: the integers are below 2^27, so a sum of their squares
    is exact up to 2^53, which is at least bound^2; and a sum that has passed 2^53 never falls below it again,
    since rounding is monotone. Each round of the loop moves every value that is not 0 toward 0 by 1.
    """
    cdef Py_ssize_t j
    cdef double length = norm(row, d, squares), limit = bound * bound if squares else bound
    length = sqrt(length) if squares else length
    cdef double factor = bound / length if length > 1 else bound
    for j in range(d):
        row[j] = on_grid(row[j] * factor, bound)
    while norm(row, d, squares) > limit:
        for j in range(d):
            row[j] -= (row[j] > 0) - (row[j] < 0)


def pack_ball(
    const real_t[:, ::1] X,
    const double[::1] y,
    const double[::1] center,
    const double[::1] scale,
    double y_center,
    double y_scale,
    double bound,
    int order,
    double[:, ::1] out,
):
    """Fill `out` with packed rows, X shrunk into a norm ball; False: X or y is not finite.

    `scale` is 1 / radius; `order` is 1 (sum of magnitudes at most bound) or 2 (of squares, bound^2).
    """
    cdef:
        Py_ssize_t n = X.shape[0], d = X.shape[1], i, j
        double offset, total = 0
        double* row
        bint finite
    with nogil:
        for i in range(n):
            row = &out[i, 0]
            for j in range(d):
                offset = X[i, j] - center[j]
                total += offset
                row[j] = clipped(offset * scale[j], FAR)
            if order == 1:
                into_ball(row, d, bound, False)
            else:
                into_ball(row, d, bound, True)
            offset = y[i] - y_center
            total += offset
            row[d] = on_grid(offset * y_scale, bound)
            row[d + 1] = bound
        finite = total - total == 0 or (all_finite(&X[0, 0], n * d) and all_finite(&y[0], n))
    return finite
