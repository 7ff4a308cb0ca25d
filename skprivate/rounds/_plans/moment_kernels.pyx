# SPDX-License-Identifier: BSD-3-Clause
"""Rows to integers: centre, scale, clip, round toward zero, pack side by side for BLAS.

A packed row is (x', y', 1) in units of the grid's step 1 / bound, bound = 2^k with k <= 26: integers, each
held exactly by a float64. Rows of a cube are packed by `moment_loops.pxd`; rows of a ball are worked on in
lanes of four values, two SSE2 registers, the last lane beyond the end of the row; where that would leave the
table, value by value with the same results.
"""

from libc.math cimport fabs, sqrt
from libc.stdint cimport int32_t

from .moment_loops cimport LANES as VECTOR, pack_double, pack_float, products

cdef enum:
    LANES = 4

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


cdef inline double size_of(double value, bint squares) noexcept nogil:
    return value * value if squares else fabs(value)


cdef inline bint all_finite(const real_t* values, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i
    cdef double total = 0
    for i in range(n):
        total += values[i] * 0.0
    return total == 0


cdef inline void scale_lanes(
    const real_t* x, Py_ssize_t d, const double* center, const double* scale, double* out, double* sums
) noexcept nogil:
    """Centre, scale and clip one row; add what is centred to the four sums."""
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
        u0 = clipped(u0 * scale[j], FAR)
        u1 = clipped(u1 * scale[j + 1], FAR)
        u2 = clipped(u2 * scale[j + 2], FAR)
        u3 = clipped(u3 * scale[j + 3], FAR)
        out[j] = u0
        out[j + 1] = u1
        out[j + 2] = u2
        out[j + 3] = u3


cdef inline void scale_values(
    const real_t* x, Py_ssize_t d, const double* center, const double* scale, double* out, double* sums
) noexcept nogil:
    """`scale_lanes`, but neither reading nor writing beyond d."""
    cdef Py_ssize_t j
    cdef double offset
    for j in range(d):
        offset = x[j] - center[j]
        sums[0] += offset
        out[j] = clipped(offset * scale[j], FAR)


def pack_cube(
    const real_t[:, ::1] X, const double[::1] y, const double[::1] center, const double[::1] scale,
    double y_center, double y_scale, double bound, double[:, ::1] out,
):
    """Fill `out` with packed rows, every value clipped to [-bound, bound]; False: X or y is not finite.

    `scale` is bound / half-width. It and `center` have LANES - 1 zeros after the columns of X.
    """
    cdef:
        Py_ssize_t n = X.shape[0], d = X.shape[1], width = out.shape[1]
        const double* c = &center[0]
        const double* s = &scale[0]
        double total
        bint finite
    with nogil:
        if real_t is double:
            total = pack_double(&X[0, 0], &y[0], n, d, c, s, y_center, y_scale, bound, width, &out[0, 0])
        else:
            total = pack_float(&X[0, 0], &y[0], n, d, c, s, y_center, y_scale, bound, width, &out[0, 0])
        # A sum of finite values may overflow; then they are looked at one by one.
        finite = total - total == 0 or (all_finite(&X[0, 0], n * d) and all_finite(&y[0], n))
    return finite


cdef inline double norm(const double* values, Py_ssize_t d, bint squares) noexcept nogil:
    """Sum of magnitudes or of squares."""
    cdef Py_ssize_t j
    cdef double total = 0
    for j in range(d):
        total += size_of(values[j], squares)
    return total


cdef inline double ball_factor(
    const double* values, Py_ssize_t d, double bound, bint squares
) noexcept nogil:
    """What to multiply a scaled row by: bound, or less where it is longer than 1."""
    cdef Py_ssize_t j
    cdef double s0 = 0, s1 = 0, s2 = 0, s3 = 0
    for j in range(0, d, 4):  # LANES
        s0 += size_of(values[j], squares)
        s1 += size_of(values[j + 1], squares)
        s2 += size_of(values[j + 2], squares)
        s3 += size_of(values[j + 3], squares)
    s0 = (s0 + s1) + (s2 + s3)
    if s0 <= 1:
        return bound
    return bound / (sqrt(s0) if squares else s0)


cdef inline double round_lanes(
    const double* values, Py_ssize_t d, double factor, double bound, bint squares, double* out
) noexcept nogil:
    """Multiply and round a row; return its integers' norm (`norm`)."""
    cdef Py_ssize_t j
    cdef double s0 = 0, s1 = 0, s2 = 0, s3 = 0, u0, u1, u2, u3
    for j in range(0, d, 4):  # LANES
        u0 = on_grid(values[j] * factor, bound)
        u1 = on_grid(values[j + 1] * factor, bound)
        u2 = on_grid(values[j + 2] * factor, bound)
        u3 = on_grid(values[j + 3] * factor, bound)
        s0 += size_of(u0, squares)
        s1 += size_of(u1, squares)
        s2 += size_of(u2, squares)
        s3 += size_of(u3, squares)
        out[j] = u0
        out[j + 1] = u1
        out[j + 2] = u2
        out[j + 3] = u3
    return (s0 + s1) + (s2 + s3)


cdef inline double round_values(
    const double* values, Py_ssize_t d, double factor, double bound, bint squares, double* out
) noexcept nogil:
    """`round_lanes`, but not writing beyond d."""
    cdef Py_ssize_t j
    for j in range(d):
        out[j] = on_grid(values[j] * factor, bound)
    return norm(out, d, squares)


cdef inline void shorten(double* row, Py_ssize_t d, double limit, bint squares) noexcept nogil:
    """Move every integer that is not 0 toward 0 by 1, until the norm is at most the limit."""
    cdef Py_ssize_t j
    while norm(row, d, squares) > limit:
        for j in range(d):
            row[j] -= (row[j] > 0) - (row[j] < 0)


def pack_ball(
    const real_t[:, ::1] X, const double[::1] y, const double[::1] center, const double[::1] scale,
    double y_center, double y_scale, double bound, bint squares, double[::1] row, double[:, ::1] out,
):
    """Fill `out` with packed rows, X shrunk into a ball of norm 1; False: X or y is not finite.

    `scale` is 1 / radius. It, `center` and `row`, which is for the kernel to work in, have LANES - 1 zeros
    after the columns of X. The integers obey the bound exactly, whatever floating point did before: `squares`
    says whether the sum of their squares is at most bound^2, or that of their magnitudes at most bound. That
    is checked without error: they are below 2^27 in magnitude, so a sum is exact up to 2^53, which is at
    least bound^2; and one that has passed 2^53 never falls below it again, since rounding is monotone.
    """
    cdef:
        Py_ssize_t n = X.shape[0], d = X.shape[1], width = out.shape[1], i
        Py_ssize_t reach = (d + LANES - 1) // LANES * LANES
        const real_t* x = &X[0, 0]
        const double* c = &center[0]
        const double* s = &scale[0]
        double* v = &row[0]
        double* packed = &out[0, 0]
        double offset, factor, size, total = 0
        double limit = bound * bound if squares else bound
        double[LANES] sums
        bint finite
    with nogil:
        for i in range(LANES):
            sums[i] = 0
        for i in range(n):
            # Beyond d the scale is 0, and so is what lanes put there: it adds nothing to a norm.
            if (n - i) * d >= reach:
                scale_lanes(x, d, c, s, v, sums)
                factor = ball_factor(v, d, bound, squares)
                size = round_lanes(v, d, factor, bound, squares, packed)
            else:
                scale_values(x, d, c, s, v, sums)
                factor = ball_factor(v, d, bound, squares)
                size = round_values(v, d, factor, bound, squares, packed)
            if size > limit:
                shorten(packed, d, limit, squares)
            offset = y[i] - y_center
            total += offset
            packed[d] = on_grid(offset * y_scale, bound)
            packed[d + 1] = bound
            x += d
            packed += width
        for i in range(LANES):
            total += sums[i]
        finite = total - total == 0 or (all_finite(&X[0, 0], n * d) and all_finite(&y[0], n))
    return finite


def has_vectors():
    """Return whether `add_products` works on several values at a time."""
    return VECTOR > 1


def add_products(const double[:, ::1] left, const double[:, ::1] right, double[:, ::1] sums):
    """Add left' right to `sums`, on and above the diagonal; what is below is not to be used.

    The tables have one shape; the width, that of `sums` too, is a multiple of 4. Sums of integers are exact
    as long as those of their magnitudes are below 2^53.
    """
    cdef Py_ssize_t n = left.shape[0], width = left.shape[1]
    with nogil:
        products(&left[0, 0], &right[0, 0], n, width, &sums[0, 0])
