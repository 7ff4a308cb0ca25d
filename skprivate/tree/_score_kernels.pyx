# SPDX-License-Identifier: BSD-3-Clause
"""Scores of splits by exact counts; posterior of the variance of a deviation, for each pair of siblings."""

from libc.math cimport exp, log
from libc.stdint cimport int32_t, int64_t

cdef enum:
    # Largest number of variances that are compared.
    MOST = 16
    # Number of factors of an evidence whose logarithms are taken together: each is above 1e-9.
    AT_ONCE = 16


cdef inline int64_t impurity(int64_t n, int64_t squares, int64_t half) noexcept nogil:
    """floor(half (n - squares / n)), exactly; n is below 2^31."""
    cdef int64_t pairs = n * n - squares
    if n == 0:
        return 0
    return half * (pairs // n) + half * (pairs % n) // n


def fill_scores(
    const int64_t[:, :, ::1] table,
    const int32_t[::1] n_bins,
    int64_t half,
    int64_t[::1] left,
    int64_t[:, ::1] out,
):
    """Fill `out` with minus the impurities of both sides, for all thresholds between the bins of a column.

    `table` holds counts by node, label, and bin, column by column. Scratch: `left`, two numbers per label.
    """
    cdef Py_ssize_t node, j, k, m, first, place, n_labels = table.shape[1]
    cdef int64_t rows, n, squares, others, here, total
    with nogil:
        for node in range(table.shape[0]):
            first = place = 0
            for j in range(n_bins.shape[0]):
                rows = n = squares = others = 0
                for m in range(n_labels):
                    total = 0
                    for k in range(first, first + n_bins[j]):
                        total += table[node, m, k]
                    left[m] = 0
                    left[n_labels + m] = total
                    rows += total
                    others += total * total
                for k in range(first, first + n_bins[j] - 1):
                    for m in range(n_labels):
                        here = table[node, m, k]
                        n += here
                        squares += here * (2 * left[m] + here)
                        left[m] += here
                        total = left[n_labels + m]
                        others -= here * (2 * total - here)
                        left[n_labels + m] = total - here
                    out[node, place] = -(impurity(n, squares, half) + impurity(rows - n, others, half))
                    place += 1
                first += n_bins[j]


def fill_spreads(
    const double[::1] squares,
    const double[::1] noise,
    double weight,
    const double[::1] spreads,
    const double[:, ::1] local,
    const double[::1] prior,
    double[:, ::1] likelihood,
    double[:, ::1] by_level,
    double[::1] out,
):
    """Fill `out` with posterior means of a variance among `spreads`.

    Up to a factor, a square has the density v^-weight exp(-weight square / v) with v = noise + spread.
    `local` holds probabilities of the spreads (columns) given a usual one, and `prior` the log prior of the
    usual one. Scratch: `likelihood` and `by_level`, a row for each square.
    """
    cdef Py_ssize_t i, s, t, n = out.shape[0], m = spreads.shape[0]
    cdef double variance, least, above, below, part
    cdef double[MOST] evidence, product, surprise
    if m > MOST:
        raise ValueError("too many variances")
    with nogil:
        for t in range(m):
            evidence[t] = prior[t]
            product[t] = 1.0
        for i in range(n):
            for s in range(m):
                variance = noise[i] + spreads[s]
                surprise[s] = weight * (log(variance) + squares[i] / variance)
                least = min(least, surprise[s]) if s else surprise[s]
            for s in range(m):
                likelihood[i, s] = exp(least - surprise[s])
            for t in range(m):
                part = 0.0
                for s in range(m):
                    part += likelihood[i, s] * local[t, s]
                by_level[i, t] = part
                product[t] *= part
            if i % AT_ONCE == AT_ONCE - 1 or i == n - 1:
                for t in range(m):
                    evidence[t] += log(product[t])
                    product[t] = 1.0
        above = evidence[0]
        for t in range(m):
            above = max(above, evidence[t])
        for t in range(m):
            evidence[t] = exp(evidence[t] - above)
        for i in range(n):
            for t in range(m):
                product[t] = evidence[t] / by_level[i, t]
            above = below = 0.0
            for s in range(m):
                part = 0.0
                for t in range(m):
                    part += product[t] * local[t, s]
                above += part * likelihood[i, s] * spreads[s]
                below += part * likelihood[i, s]
            out[i] = above / below
