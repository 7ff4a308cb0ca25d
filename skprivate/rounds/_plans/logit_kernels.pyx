# SPDX-License-Identifier: BSD-3-Clause
"""Standardised rows in a ball, and the residuals and curvatures of their labels, as integers."""

from libc.math cimport exp, fabs, sqrt, trunc
from libc.stdint cimport int32_t

# Far outside any ball, and its square is far from overflow.
cdef double FAR = 2.0**256


cdef inline double clipped(double value, double bound) noexcept nogil:
    # Comparisons in this order turn NaN into a bound.
    value = value if value < bound else bound
    return value if value > -bound else -bound


cdef inline double norm_of(const double* values, Py_ssize_t n, bint squares) noexcept nogil:
    """Sum of squares or of magnitudes."""
    cdef Py_ssize_t j
    cdef double total = 0.0
    for j in range(n):
        total += values[j] * values[j] if squares else fabs(values[j])
    return total


cdef inline void shorten(double* row, Py_ssize_t n, double limit, bint squares) noexcept nogil:
    """Move every integer that is not 0 toward 0 by 1, until the norm is at most the limit."""
    cdef Py_ssize_t j
    while norm_of(row, n, squares) > limit:
        for j in range(n):
            row[j] -= (row[j] > 0) - (row[j] < 0)


cdef inline double expit(double u) noexcept nogil:
    cdef double e
    if u >= 0:
        return 1.0 / (1.0 + exp(-u))
    e = exp(u)
    return e / (1.0 + e)


cdef inline double two_classes(
    double logit, bint second, double weight, double unit, double* residual
) noexcept nogil:
    """Fill in the integer residual of one row; return its variance p (1 - p)."""
    cdef double p = expit(logit)
    # Toward zero, and no magnitude beyond the unit, whatever floating point did.
    residual[0] = trunc(clipped(weight * ((1.0 if second else 0.0) - p) * unit, unit))
    return p * (1.0 - p)


cdef inline void several_classes(
    double* logits, Py_ssize_t n, int32_t label, double weight, double unit, double* residual
) noexcept nogil:
    """Fill in the integer residuals e_label - p: those below 0 add up to no more than the unit."""
    cdef Py_ssize_t k
    cdef double most = logits[0], total = 0.0, below = 0.0
    for k in range(1, n):
        most = logits[k] if logits[k] > most else most
    for k in range(n):
        logits[k] = exp(logits[k] - most)
        total += logits[k]
    for k in range(n):
        residual[k] = -trunc(clipped(weight * (logits[k] / total) * unit, unit))
        below -= residual[k] if k != label else 0.0
    residual[label] = trunc(clipped(weight * (1.0 - logits[label] / total) * unit, unit))
    while below > unit:
        for k in range(n):
            if k != label and residual[k] < 0:
                residual[k] += 1.0
                below -= 1.0


def fill_logits(
    const double[:, ::1] block, const int32_t[::1] labels, const double[::1] factor, const double[::1] shift,
    double radius, bint squares, double span, const double[:, ::1] theta, double unit, double fine,
    double[::1] work, double[:, ::1] rows, double[:, ::1] residuals, double[::1] curvatures,
):
    """Fill in standardised rows, residuals and curvatures of a block of packed rows.

    A row of `block` becomes z = factor * row - shift. `rows` holds z times min(1, radius / norm), in units of
    radius / span: integers whose norm is at most the span (`squares`: the sum of their squares at most its
    square), which is checked on the integers without error, as span^2 is at most 2^53. The residual of the
    label is that of the logits theta z, with z in full, times the same weight min(1, radius / norm), in
    units of 1 / unit and toward zero. `theta` has one row for two classes, whose residual is 1 or 0 less the
    probability of the second; and one per class for several. Curvatures are p (1 - p), two classes only, in
    units of 1 / fine; 0: none. `work` has room for a row and a logit per class.
    """
    cdef:
        Py_ssize_t n = block.shape[0], width = factor.shape[0], n_logits = theta.shape[0], i, j, k
        double limit = span * span if squares else span
        double norm, weight, scale, u, variance
        double* z = &work[0]
        double* logits = &work[width]
        double* q
    with nogil:
        for i in range(n):
            for j in range(width):
                z[j] = clipped(block[i, j] * factor[j] - shift[j], FAR)
            norm = norm_of(z, width, squares)
            norm = sqrt(norm) if squares else norm
            weight = 1.0 if norm <= radius else radius / norm
            scale = weight * (span / radius)
            q = &rows[i, 0]
            for j in range(width):
                q[j] = trunc(clipped(z[j] * scale, span))
            if norm_of(q, width, squares) > limit:
                shorten(q, width, limit, squares)
            for k in range(n_logits):
                # One fixed order of additions: the bits do not depend on the block.
                u = 0.0
                for j in range(width):
                    u += theta[k, j] * z[j]
                # Infinite parameters; the integers keep to their bounds even then.
                logits[k] = clipped(u, FAR) if u == u else 0.0
            if n_logits == 1:
                variance = two_classes(logits[0], labels[i] == 1, weight, unit, &residuals[i, 0])
                curvatures[i] = trunc(clipped(variance * fine, 0.25 * fine))
            else:
                several_classes(logits, n_logits, labels[i], weight, unit, &residuals[i, 0])
