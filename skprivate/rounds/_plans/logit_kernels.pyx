# SPDX-License-Identifier: BSD-3-Clause
"""Standardised rows in a ball, and the residuals and curvatures of their labels, as integers."""

from libc.math cimport exp, fabs, sqrt
from libc.stdint cimport int32_t

cdef enum:
    WIDE = 8

#: Rows that are worked on at once.
LANES = WIDE

# Far outside any ball, and its square is far from overflow.
cdef double FAR = 2.0**256


ctypedef fused cell_t:
    double
    int32_t


cdef inline double clipped(double value, double bound) noexcept nogil:
    # Comparisons in this order turn NaN into a bound.
    value = value if value < bound else bound
    return value if value > -bound else -bound


cdef inline double whole(double value, double bound) noexcept nogil:
    """Clip to [-bound, bound], at most 2^26, and round toward zero: a conversion, which many lanes do at once."""
    return <double> <int32_t> clipped(value, bound)


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


cdef inline void two_classes(
    const double* logits, const double* seconds, const double* weights, double unit, double* residuals,
    double* variances,
) noexcept nogil:
    """Fill in the integer residuals of all lanes, and their variances p (1 - p); no branch is guessed wrong."""
    cdef Py_ssize_t r
    cdef double p
    cdef double e[WIDE]
    for r in range(WIDE):
        e[r] = exp(-fabs(logits[r]))
    for r in range(WIDE):
        p = (1.0 if logits[r] >= 0 else e[r]) / (1.0 + e[r])
        # Toward zero, and no magnitude beyond the unit, whatever floating point did.
        residuals[r] = whole(weights[r] * (seconds[r] - p) * unit, unit)
        variances[r] = p * (1.0 - p)


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
        residual[k] = -whole(weight * (logits[k] / total) * unit, unit)
        below -= residual[k] if k != label else 0.0
    residual[label] = whole(weight * (1.0 - logits[label] / total) * unit, unit)
    while below > unit:
        for k in range(n):
            if k != label and residual[k] < 0:
                residual[k] += 1.0
                below -= 1.0


cdef inline void add_norms(const double* values, Py_ssize_t n, bint squares, double* norms) noexcept nogil:
    """Add up the squares or magnitudes of n values of every lane, in their order."""
    cdef Py_ssize_t j, r
    for r in range(WIDE):
        norms[r] = 0.0
    for j in range(n):
        for r in range(WIDE):
            norms[r] += values[j * WIDE + r] * values[j * WIDE + r] if squares else fabs(values[j * WIDE + r])


cdef inline void add_logits(const double* theta, const double* z, Py_ssize_t n, double* logits) noexcept nogil:
    """Fill in the logits of every lane."""
    cdef Py_ssize_t j, r
    cdef double u[WIDE]
    for r in range(WIDE):
        u[r] = 0.0
    for j in range(n):
        # One fixed order of additions: the bits do not depend on the block.
        for r in range(WIDE):
            u[r] += theta[j] * z[j * WIDE + r]
    for r in range(WIDE):
        # Infinite parameters; the integers keep to their bounds even then.
        logits[r] = clipped(u[r], FAR) if u[r] == u[r] else 0.0


cdef inline void fill_lanes(
    const cell_t* block, Py_ssize_t stride, Py_ssize_t count, const double* factor, const double* shift,
    Py_ssize_t width, double radius, bint squares, double* z, double* weights,
) noexcept nogil:
    """Fill in z = factor * row - shift, 1 in the end, of `count` rows, a lane each, and min(1, radius / norm)."""
    cdef Py_ssize_t j, r
    cdef Py_ssize_t at[WIDE]
    cdef double norms[WIDE]
    for r in range(WIDE):
        # Lanes beyond the end repeat the last row.
        at[r] = min(r, count - 1) * stride
    for j in range(width - 1):
        for r in range(WIDE):
            z[j * WIDE + r] = clipped(block[at[r] + j] * factor[j] - shift[j], FAR)
    for r in range(WIDE):
        z[(width - 1) * WIDE + r] = 1.0
    add_norms(z, width, squares, norms)
    for r in range(WIDE):
        norms[r] = sqrt(norms[r]) if squares else norms[r]
    for r in range(WIDE):
        weights[r] = radius / (norms[r] if norms[r] > radius else radius)


cdef inline void round_lanes(
    double* z, Py_ssize_t width, const double* weights, double radius, double span, bint squares, double* row
) noexcept nogil:
    """Turn z into integers in units of radius / span, whose norm is at most the span."""
    cdef Py_ssize_t j, r
    cdef double limit = span * span if squares else span, unit = span / radius
    cdef double norms[WIDE]
    for j in range(width):
        for r in range(WIDE):
            z[j * WIDE + r] = whole(z[j * WIDE + r] * (weights[r] * unit), span)
    add_norms(z, width, squares, norms)
    for r in range(WIDE):
        if norms[r] > limit:
            for j in range(width):
                row[j] = z[j * WIDE + r]
            shorten(row, width, limit, squares)
            for j in range(width):
                z[j * WIDE + r] = row[j]


def fill_logits(
    const cell_t[:, ::1] block, const int32_t[::1] labels, const double[::1] factor, const double[::1] shift,
    double radius, bint squares, double span, const double[:, ::1] theta, double unit, double fine,
    double[::1] work, double[::1] gradient, double[:, ::1] rows, double[:, ::1] residuals,
    double[::1] curvatures,
):
    """Fill in standardised rows, residuals and curvatures of a block of rows on a grid, or add up a gradient.

    The first columns of `block` are features x', and a row becomes z = factor * x' - shift, and then 1.
    `rows` holds z times min(1, radius / norm), in units of
    radius / span: integers whose norm is at most the span (`squares`: the sum of their squares at most its
    square), which is checked on the integers without error, as span^2 is at most 2^53. The residual of the
    label is that of the logits theta z, with z in full, times the same weight min(1, radius / norm), in
    units of 1 / unit and toward zero. `theta` has one row for two classes, whose residual is 1 or 0 less the
    probability of the second; and one per class for several. Curvatures are p (1 - p), two classes only, in
    units of 1 / fine. If `rows` is empty, the products of residuals and rows of two classes, whose sums are
    below 2^53, are added to `gradient`, and nothing else is filled in.

    Rows are worked on in lanes, each by itself: `work` has room for twice LANES rows and for their logits,
    and for one row and its logits.
    """
    cdef:
        Py_ssize_t n = block.shape[0], width = theta.shape[1], n_logits = theta.shape[0], i, j, k, r, count
        bint adds = not rows.shape[0]
        double weights[WIDE]
        double seconds[WIDE]
        double parts[WIDE]
        double variances[WIDE]
        double* z = &work[0]
        double* sums = z + width * WIDE
        double* logits = sums + width * WIDE
        double* own = logits + n_logits * WIDE
        double* row = own + n_logits
    with nogil:
        for j in range(width * WIDE):
            sums[j] = 0.0
        for i in range(0, n, 8):  # WIDE
            count = min(n - i, WIDE)
            fill_lanes(
                &block[i, 0], block.shape[1], count, &factor[0], &shift[0], width, radius, squares, z, weights
            )
            for k in range(n_logits):
                add_logits(&theta[k, 0], z, width, &logits[k * WIDE])
            round_lanes(z, width, weights, radius, span, squares, row)
            if n_logits == 1:
                for r in range(WIDE):
                    seconds[r] = labels[i + min(r, count - 1)] == 1
                two_classes(logits, seconds, weights, unit, parts, variances)
            if adds:
                for r in range(count, WIDE):
                    parts[r] = 0.0
                for j in range(width):
                    for r in range(WIDE):
                        sums[j * WIDE + r] += z[j * WIDE + r] * parts[r]
                continue
            for r in range(count):
                for j in range(width):
                    rows[i + r, j] = z[j * WIDE + r]
                for k in range(n_logits):
                    own[k] = logits[k * WIDE + r]
                if n_logits == 1:
                    residuals[i + r, 0], curvatures[i + r] = parts[r], whole(variances[r] * fine, 0.25 * fine)
                else:
                    several_classes(own, n_logits, labels[i + r], weights[r], unit, &residuals[i + r, 0])
        for j in range(width if adds else 0):
            for r in range(WIDE):
                gradient[j] += sums[j * WIDE + r]
