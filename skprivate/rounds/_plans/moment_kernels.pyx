# SPDX-License-Identifier: BSD-3-Clause
"""Rows to integers: centre, scale, clip, round toward zero, pack side by side for BLAS.

A packed row is (x', y', 1) in units of the grid's step 1 / bound, bound = 2^k with k <= 26: integers, each
held exactly by a float64.
"""

from .moment_loops cimport LANES as VECTOR, ball_double, ball_float, pack_double, pack_float, products

# Far outside any ball, and its square is far from overflow.
cdef double FAR = 2.0**256

ctypedef fused real_t:
    float
    double


cdef inline bint all_finite(const real_t* values, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i
    cdef double total = 0
    for i in range(n):
        total += values[i] * 0.0
    return total == 0


def pack_cube(
    const real_t[:, ::1] X, const double[::1] y, const double[::1] center, const double[::1] scale,
    double y_center, double y_scale, double bound, double[:, ::1] out,
):
    """Fill `out` with packed rows, every value clipped to [-bound, bound]; False: X or y is not finite.

    `scale` is bound / half-width. It and `center` have three zeros after the columns of X.
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


def pack_ball(
    const real_t[:, ::1] X, const double[::1] y, const double[::1] center, const double[::1] scale,
    double y_center, double y_scale, double bound, bint squares, double[::1] row, double[:, ::1] out,
):
    """Fill `out` with packed rows, X shrunk into a ball of norm 1; False: X or y is not finite.

    `scale` is 1 / radius. It, `center` and `row`, which is for the kernel to work in, have three zeros
    after the columns of X. The integers obey the bound exactly, whatever floating point did before: `squares`
    says whether the sum of their squares is at most bound^2, or that of their magnitudes at most bound. That
    is checked without error: they are below 2^27 in magnitude, so a sum is exact up to 2^53, which is at
    least bound^2; and one that has passed 2^53 never falls below it again, since rounding is monotone.
    """
    cdef:
        Py_ssize_t n = X.shape[0], d = X.shape[1], width = out.shape[1]
        const double* c = &center[0]
        const double* s = &scale[0]
        double* v = &row[0]
        double* packed = &out[0, 0]
        double total
        bint finite
    with nogil:
        if real_t is double:
            total = ball_double(
                &X[0, 0], &y[0], n, d, c, s, y_center, y_scale, bound, FAR, squares, v, width, packed
            )
        else:
            total = ball_float(
                &X[0, 0], &y[0], n, d, c, s, y_center, y_scale, bound, FAR, squares, v, width, packed
            )
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
