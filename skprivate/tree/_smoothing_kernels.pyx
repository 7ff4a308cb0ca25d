# SPDX-License-Identifier: BSD-3-Clause
"""Posterior of the variance of a deviation, one for every pair of siblings in a tree."""

from libc.math cimport exp, log

cdef enum:
    # No more variances are compared.
    MOST = 16
    # Factors of an evidence whose logarithms are taken at once: each is above 1e-9.
    AT_ONCE = 16


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

    A square has the density v^-weight exp(-weight square / v) with v = noise + spread, but for a factor;
    `local` holds the probabilities of the spreads (columns) given a usual one, and `prior` the logarithm of
    the usual one's. Scratch: `likelihood` and `by_level`, a line for each square.
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
