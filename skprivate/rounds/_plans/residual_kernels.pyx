# SPDX-License-Identifier: BSD-3-Clause
"""One round's residual and curvature of every row, as integers, and the bins of the histogram."""

from libc.math cimport M_PI, M_SQRT1_2, erfc, exp, log1p, rint, sqrt, trunc
from libc.stdint cimport int64_t, uint8_t

cdef enum:
    SEV = 0
    LOGISTIC = 1
    NORMAL = 2

cdef double NORMAL_DENSITY = 0.3989422804014327  # 1 / sqrt(2 pi)


cdef inline double hazard(double u) noexcept nogil:
    """Hazard of the normal distribution; u is at most about 30."""
    return 2.0 * NORMAL_DENSITY * exp(-0.5 * u * u) / erfc(u * M_SQRT1_2)


cdef inline double early_hazard(double u) noexcept nogil:
    """Cumulative hazard of the normal distribution up to an early u."""
    return -log1p(-0.5 * erfc(-u * M_SQRT1_2))


cdef inline double early_excess(double u, double slope) noexcept nogil:
    """What the cumulative hazard H up to an early u is above slope times the integral of H.

    H = p + p^2 / 2 + ..., p the distribution function; the integrals of both are known.
    """
    cdef double p = 0.5 * erfc(-u * M_SQRT1_2), f = NORMAL_DENSITY * exp(-0.5 * u * u), integral
    integral = u * p + f + 0.5 * (u * p * p + 2.0 * f * p - 0.5 * erfc(-u) / sqrt(M_PI))
    return early_hazard(u) - slope * integral


cdef inline double bounded(double value, double low, double high) noexcept nogil:
    value = value if value < high else high
    return value if value > low else low


cdef inline double expit(double u) noexcept nogil:
    cdef double e
    if u >= 0:
        return 1.0 / (1.0 + exp(-u))
    e = exp(u)
    return e / (1.0 + e)


def fill_residuals(
    double[:, ::1] block,
    const uint8_t[::1] event,
    const double[::1] theta,
    int distribution,
    const double[::1] cuts,
    const double[::1] units,
    const double[::1] limits,
    double[::1] residual,
    double[::1] curvature,
):
    """Fill in residuals and curvatures of a block's rows; late rows end at the cut. Return the events left.

    `block` holds packed rows (features, target, constant) as integers, the constant being the number of
    steps in 1; the targets of rows beyond the upper cut are replaced. `theta` is per step, in the same order.
    `cuts` are the standardised errors below which the score of normal errors is flat, and at which rows end.
    `units` are the integers per 1 of a residual and of a curvature; the events are in units of a residual.
    `limits` are the greatest integers: of a negative residual's magnitude, of a positive one, of a curvature,
    of what is taken off an event. `residuals_of` has the formulas.
    """
    cdef:
        Py_ssize_t n = event.shape[0], width = theta.shape[0], i, j
        double low = cuts[0], high = cuts[1], unit = units[0], fine = units[1]
        Py_ssize_t target = width - 2
        double span = block[0, width - 1] if n else 0.0
        double u, r, w, p, d, off
        double slope = 0.0, excess = 0.0, kink = 0.0
        const double* t = &theta[0]
        double* q
        bint alive
        int64_t events = 0
    if distribution == NORMAL:
        slope = hazard(low) - low
        kink = hazard(low) - slope * early_hazard(low)
        excess = early_excess(low, slope)
    with nogil:
        for i in range(n):
            q = &block[i, 0]
            # One fixed order of additions: the bits do not depend on the block.
            u = 0.0
            for j in range(width):
                u += t[j] * q[j]
            if u != u:
                u = 0.0  # infinite parameters; the integers keep to their bounds even then
            alive = event[i] != 0
            if u > high:
                q[target] = trunc(bounded(q[target] - (u - high) / t[target], -span, span))
                u = high
                alive = False
            d = 1.0 if alive else 0.0
            off = 0.0
            if distribution == SEV:
                w = exp(u)
                # The residual is the event minus the same integer, so that the pair keeps to the stated set.
                r = d * unit - bounded(rint(w * unit), 0.0, limits[0])
            elif distribution == LOGISTIC:
                p = expit(u)
                r = d * unit - (1.0 + d) * bounded(rint(p * unit), 0.0, limits[0])
                w = (1.0 + d) * p * (1.0 - p)
            elif u < low:
                # Toward zero, here and below: no residual passes the stated corners.
                r = trunc(bounded(slope * (d - early_hazard(u)) * unit, -limits[0], d * limits[1]))
                w = slope * hazard(u)
                off = early_excess(u, slope)
            else:
                p = hazard(u)
                r = trunc(bounded((kink - u if alive else kink - p) * unit, -limits[0], d * limits[1]))
                w = 1.0 if alive else p * (p - u)
                off = excess + kink * (u - low)
            residual[i] = r
            curvature[i] = bounded(rint(w * fine), 0.0, limits[2])
            events += <int64_t> (d * unit - bounded(trunc(off * unit), 0.0, limits[3]))
    return events


def fill_bins(
    const double[::1] target,
    const uint8_t[::1] event,
    double center,
    double half,
    Py_ssize_t bins,
    int64_t[::1] codes,
):
    """Fill in every row's bin of the scaled target, events after the others. Return whether all is finite."""
    cdef:
        Py_ssize_t n = target.shape[0], i
        double width = 2.0 * half / bins, low = center - half, bad = 0.0
    with nogil:
        for i in range(n):
            bad += target[i] * 0.0
            codes[i] = <int64_t> bounded((target[i] - low) / width, 0.0, bins - 1.0)
            codes[i] += bins if event[i] != 0 else 0
    return bad == 0
