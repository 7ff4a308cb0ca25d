# SPDX-License-Identifier: BSD-3-Clause
"""Standardised rows in a ball, and the residuals and curvatures of their labels, as integers."""

from libc.math cimport fabs, sqrt
from libc.stdint cimport int32_t, int64_t

from .logit_loops cimport TILE as LOOP, add_gradient, clipped, exps, logits_of, two_classes

#: Rows of a tile.
TILE = LOOP
# Far outside any ball, and its square is far from overflow.
cdef double FAR = 2.0**256


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


def fill_tiles(
    const double[:, ::1] block, const double[::1] factor, const double[::1] shift, double radius,
    bint squares, double span, double[::1] work, int32_t[:, :, ::1] tiles, double[::1] weights,
):
    """Fill in tiles of a block of packed rows: its features, and what is made of them, by columns.

    A row (x', y', 1) of `block` becomes z = factor * x' - shift, and 1. The first d columns of a tile are
    x'; the next holds the 1, and d more hold z, times min(1, radius / norm), in units of radius / span:
    integers whose norm is at most the span (`squares`: the sum of their squares at most its square), which is
    checked on the integers without error, as span^2 is at most 2^53. `weights` holds min(1, radius / norm).
    `work` has room for two rows. Tiles are filled up with rows of 0, of weight 0.
    """
    cdef:
        Py_ssize_t n = block.shape[0], d = factor.shape[0], i, j, tile, place
        double limit = span * span if squares else span
        double norm, weight, scale
        double* z = &work[0]
        double* q = &work[d + 1]
    with nogil:
        for i in range(tiles.shape[0] * LOOP):
            tile, place = i // LOOP, i % LOOP
            if i >= n:
                weights[i] = 0.0
                for j in range(2 * d + 1):
                    tiles[tile, j, place] = 0
                continue
            for j in range(d):
                tiles[tile, j, place] = <int32_t> block[i, j]
                z[j] = clipped(block[i, j] * factor[j] - shift[j], FAR)
            z[d] = 1.0
            norm = norm_of(z, d + 1, squares)
            norm = sqrt(norm) if squares else norm
            weight = 1.0 if norm <= radius else radius / norm
            weights[i] = weight
            scale = weight * (span / radius)
            for j in range(d + 1):
                q[j] = <int32_t> clipped(z[j] * scale, span)
            if norm_of(q, d + 1, squares) > limit:
                shorten(q, d + 1, limit, squares)
            tiles[tile, d, place] = <int32_t> q[d]
            for j in range(d):
                tiles[tile, d + 1 + j, place] = <int32_t> q[j]


cdef inline void several_classes(
    double* logits, Py_ssize_t n, const int32_t* labels, const double* weights, double unit, double* total,
    int32_t* residuals,
) noexcept nogil:
    """Fill in the integer residuals e_label - p of a tile: those below 0 add up to no more than the unit."""
    cdef Py_ssize_t k, i, at
    cdef double[LOOP] most
    cdef int64_t below
    for i in range(LOOP):
        most[i] = logits[i]
        total[i] = 0.0
    for k in range(1, n):
        for i in range(LOOP):
            at = k * LOOP + i
            most[i] = logits[at] if logits[at] > most[i] else most[i]
    for k in range(n):
        for i in range(LOOP):
            logits[k * LOOP + i] -= most[i]
        exps(logits + k * LOOP)
        for i in range(LOOP):
            total[i] += logits[k * LOOP + i]
    for k in range(n):
        for i in range(LOOP):
            at = k * LOOP + i
            residuals[at] = -<int32_t> clipped(weights[i] * (logits[at] / total[i]) * unit, unit)
    for i in range(LOOP):
        at = labels[i] * LOOP + i
        residuals[at] = <int32_t> clipped(weights[i] * (1.0 - logits[at] / total[i]) * unit, unit)
        below = residuals[at]
        for k in range(n):
            below -= residuals[k * LOOP + i]
        while below > unit:
            for k in range(n):
                if k != labels[i] and residuals[k * LOOP + i] < 0:
                    residuals[k * LOOP + i] += 1
                    below -= 1


def add_gradients(
    const int32_t[:, :, ::1] tiles, const int32_t[::1] labels, const double[::1] weights,
    const double[::1] factor, const double[::1] shift, const double[:, ::1] theta, double unit, double fine,
    double[:, ::1] work, int32_t[:, ::1] residuals, double[::1] curvatures, int64_t[:, ::1] sums,
):
    """Add up residuals times rows of tiles, by logit and column; fill in curvatures.

    The residual of a label is that of the logits theta (1, z), with z in full, times the row's weight, in
    units of 1 / unit and toward zero. `theta` has one row for two classes, whose residual is 1 or 0 less the
    probability of the second; and one per class for several. Curvatures are p (1 - p), two classes
    only, in units of 1 / fine; 0: none. `work` has one row more, `residuals` as many as `theta`, of a tile.
    """
    cdef Py_ssize_t n_logits = theta.shape[0], d = factor.shape[0], tile, k, i
    cdef double* logits = &work[0, 0]
    cdef double* beside = &work[n_logits, 0]
    with nogil:
        for tile in range(tiles.shape[0]):
            i = tile * LOOP
            for k in range(n_logits):
                logits_of(&tiles[tile, 0, 0], d, &factor[0], &shift[0], &theta[k, 0], FAR, logits + k * LOOP)
            if n_logits == 1:
                two_classes(logits, &labels[i], &weights[i], unit, fine, &residuals[0, 0], &curvatures[i])
            else:
                several_classes(logits, n_logits, &labels[i], &weights[i], unit, beside, &residuals[0, 0])
            for k in range(n_logits):
                add_gradient(&tiles[tile, d, 0], d + 1, &residuals[k, 0], &sums[k, 0])
