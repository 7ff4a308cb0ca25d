# SPDX-License-Identifier: BSD-3-Clause
"""One round's residual and curvature of every row, as integers, and the bins of the histogram."""

from libc.math cimport INFINITY, M_PI, M_SQRT1_2, ceil, erfc, exp, expm1, log, log1p, rint, sqrt, trunc
from libc.stdint cimport int64_t, uint8_t

cdef enum:
    SEV = 0
    LOGISTIC = 1
    NORMAL = 2

    NODES = 8
    # Codes of the rows, `CODES` of `_rows`.
    RIGHT = 0
    EXACT = 1
    LEFT = 2
    INTERVAL = 3

cdef double NORMAL_DENSITY = 0.3989422804014327  # 1 / sqrt(2 pi)
# Gauss and Legendre's nodes and weights on [0, 1].
cdef double[NODES] PLACES = [
    0.019855071751231912, 0.10166676129318664, 0.2372337950418355, 0.4082826787521751,
    0.5917173212478248, 0.7627662049581645, 0.8983332387068134, 0.9801449282487681,
]
cdef double[NODES] SHARES = [
    0.05061426814518853, 0.11119051722668721, 0.15685332293894344, 0.18134189168918083,
    0.18134189168918083, 0.15685332293894344, 0.11119051722668721, 0.05061426814518853,
]
# Standardised errors that a panel of nodes covers: with panels of 2, 4 and 6, three distributions and 300
# intervals each, means of residuals times errors were off by 2e-5, 2e-5 and 4e-4 at most.
cdef double PANEL = 4.0
# An interval narrower than this, in standardised errors, is an event at its middle: it is off by its square.
cdef double NARROW = 1e-3
# What is computed in floating point is taken toward 0 by more than its rounding, then to the next integer.
cdef double INWARD = 1.0 - 2.0 ** -40


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


cdef inline double cumulative(int code, double u) noexcept nogil:
    """Cumulative hazard up to u."""
    if code == SEV:
        return exp(u)
    if code == LOGISTIC:
        return u + log1p(exp(-u)) if u > 0 else log1p(exp(u))
    return -log(0.5 * erfc(u * M_SQRT1_2)) if u > 0 else early_hazard(u)


cdef inline double late_information(double u) noexcept nogil:
    """Antiderivative of (h(u) - u)^2 h(u), h the hazard of the normal distribution."""
    cdef double h = hazard(u)
    return h * (0.5 * h - u) + cumulative(NORMAL, u)


cdef inline double bounded(double value, double low, double high) noexcept nogil:
    value = value if value < high else high
    return value if value > low else low


cdef inline double inward(double value, double low, double high) noexcept nogil:
    """Round toward 0, by more than the rounding of floating point; 0 for NaN."""
    return trunc(bounded(value * INWARD, -low, high)) if value == value else 0.0


cdef inline double expit(double u) noexcept nogil:
    cdef double e
    if u >= 0:
        return 1.0 / (1.0 + exp(-u))
    e = exp(u)
    return e / (1.0 + e)


# Where the derivative of the log hazard of normal errors is 1: early events count as if it were.
cdef double STEEP = -0.48105838703462783
# Where the score of the scale of such events is on average, by what they count too little; from a = h(-2) + 2
# on. It is -1.10 from a = h(-4) + 4 on.
cdef double EARLY_PLACE = -0.9452
# Least derivative of the log hazard of an event whose target is moved by its reciprocal.
cdef double LEAST = 1e-6


cdef struct Errors:
    # Distribution of the errors. Below low the score is constant; rows end at high. The other fields are for
    # normal errors.
    int code
    double low, high, slope, excess, kink, base, early


cdef struct Row:
    # Residual, correction of its event, curvature, cumulative hazard, and derivative of the log hazard.
    double r, off, w, p, a


cdef struct Observed:
    # Conditional means, given the observation: event, residual, residual times target, correction of the
    # event, curvature and its target. And the information about the scale besides the curvature.
    double d, r, t, off, w, place, own


cdef inline double early_information(const Errors* errors, double u) noexcept nogil:
    """Integral, up to u <= STEEP, of what the square of the log hazard's derivative is above 1."""
    if u < errors.low:
        return (errors.slope * errors.slope - 1.0) * early_hazard(u)
    return errors.base + late_information(u) - cumulative(NORMAL, u)


cdef Errors errors_of(int distribution, const double[::1] cuts) noexcept:
    cdef Errors errors
    errors.code, errors.low, errors.high = distribution, cuts[0], cuts[1]
    errors.slope = errors.kink = errors.excess = errors.base = errors.early = 0.0
    if distribution == NORMAL:
        errors.slope = hazard(errors.low) - errors.low
        errors.kink = hazard(errors.low) - errors.slope * early_hazard(errors.low)
        errors.excess = early_excess(errors.low, errors.slope)
        errors.base = errors.slope * errors.slope * early_hazard(errors.low)
        errors.base -= late_information(errors.low)
        errors.early = early_information(&errors, STEEP)
    return errors


cdef inline Row complete(const Errors* errors, double u, double d) noexcept nogil:
    """Return the terms of a row observed from the start up to u, with an event (d = 1) or without."""
    cdef Row row
    row.off = row.p = 0.0
    if errors.code == SEV:
        row.p = row.w = exp(u)
        row.r, row.a = d - row.p, 1.0
    elif errors.code == LOGISTIC:
        row.p = expit(u)
        row.r = d - (1.0 + d) * row.p
        row.w, row.a = (1.0 + d) * row.p * (1.0 - row.p), 1.0 - row.p
    elif u < errors.low:
        row.r = errors.slope * (d - early_hazard(u))
        row.w = errors.slope * hazard(u)
        row.off, row.a = early_excess(u, errors.slope), errors.slope
    else:
        row.p = hazard(u)
        row.a = row.p - u
        row.r = errors.kink - u if d != 0.0 else errors.kink - row.p
        row.w = 1.0 if d != 0.0 else row.p * (row.p - u)
        row.off = errors.excess + errors.kink * (u - errors.low)
    return row


cdef inline double compensated(const Errors* errors, double u) noexcept nogil:
    """Return the expected sum of squares of the log hazard's derivative at events up to u, beyond 1."""
    return early_information(errors, u if u < STEEP else STEEP) if errors.code == NORMAL else 0.0


cdef inline double shortest(double a) noexcept nogil:
    """Return 1 / a: the score of the scale at an event is a times (the error + 1 / a)."""
    return 1.0 / (a if a > LEAST else LEAST)


cdef inline void fill_curvature(
    double u, double y, double w, double d, double a, double early, double slope, double span, double most,
    double fine, Py_ssize_t i, double[:, ::1] weights, double[:, ::1] places,
) noexcept nogil:
    """Fill in the three parts of a row's curvature, up to `most`, and their targets.

    They are half of w, minus the second derivative, at the row's own target; half of d a^2, the contribution
    of an event, with a^2 limited to 1; and half of the expected value beyond this limit.
    """
    cdef double beyond = shortest(a), rest
    weights[1, i] = bounded(rint(0.5 * (d * a * a if a < 1.0 else d) * fine), 0.0, most)
    places[0, i] = inward(y + beyond / slope, span, span)
    rest = most - weights[1, i]
    weights[2, i] = bounded(rint(0.5 * early * fine), 0.0, rest)
    places[1, i] = inward(y + (min(EARLY_PLACE, u + beyond) - u) / slope, span, span)
    weights[0, i] = bounded(rint(0.5 * w * fine), 0.0, rest - weights[2, i])


def fill_residuals(
    double[:, ::1] block, const uint8_t[::1] event, const double[::1] theta, int distribution,
    const double[::1] cuts, const double[::1] units, const double[::1] limits, double[::1] residual,
    double[:, ::1] weights, double[:, ::1] places,
):
    """Fill in residuals and curvatures of a block's rows; late rows end at the cut. Return the events left.

    The curvature has three parts, the rows of `weights`: half of minus the second derivative, at the target
    in the block, and half of the contributions of events, at the targets in the rows of `places`.

    `block` holds packed rows (features, target, constant) as integers; the constant is the number of steps in
    1. The targets of rows beyond the upper cut are replaced. `theta` is per step, in the same order. Below
    the first of `cuts` the score of normal errors is constant; rows end at the second. `units` are the
    integers per 1 of a residual and of a curvature; the events are in units of a residual. `limits` are the
    largest integers of a negative residual's magnitude, of a positive residual, of a curvature, and of the
    correction of an event. `residuals_of` has the formulas.
    """
    cdef:
        Py_ssize_t n = event.shape[0], width = theta.shape[0], i, j
        double high = cuts[1], unit = units[0], fine = units[1]
        Py_ssize_t target = width - 2
        double span = block[0, width - 1] if n else 0.0
        double u, r, d
        Errors errors = errors_of(distribution, cuts)
        Row row
        const double* t = &theta[0]
        double* q
        bint alive
        int64_t events = 0
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
            row = complete(&errors, u, d)
            if distribution == NORMAL:
                # Toward zero: no residual passes the stated corners.
                r = trunc(bounded(row.r * unit, -limits[0], d * limits[1]))
            else:
                # The residual is the event minus the same integer, so that the pair keeps to the stated set.
                r = bounded(rint(row.p * unit), 0.0, limits[0])
                r = d * unit - (r if distribution == SEV else (1.0 + d) * r)
            # Of a plan from elsewhere, the limits may be less than an event.
            residual[i] = bounded(r, -limits[0], limits[1])
            fill_curvature(
                u, q[target], row.w, d, row.a, compensated(&errors, u), t[target], span, limits[2], fine, i,
                weights, places,
            )
            events += <int64_t> (d * unit - bounded(trunc(row.off * unit), 0.0, limits[3]))
    return events


cdef inline double error_at(const Errors* errors, double rest, double slope, double y) noexcept nogil:
    """Standardised error where the target is y, within what the functions above can take."""
    cdef double u = rest + slope * y, most = 37.0 if errors.code == NORMAL else 300.0
    return bounded(u, -most, most) if u == u else 0.0


cdef inline double information(const Errors* errors, double u) noexcept nogil:
    """Information that watching a row from the start up to u is expected to give."""
    cdef double p
    if errors.code == SEV:
        return exp(u)
    if errors.code == LOGISTIC:
        p = expit(u)
        return p - 0.5 * p * p
    if u < errors.low:
        return errors.slope * errors.slope * early_hazard(u)
    return errors.base + late_information(u)


cdef inline Observed of_row(const Errors* errors, double y, double u, double d) noexcept nogil:
    """An event at u (d = 1), or none up to u."""
    cdef:
        Row row = complete(errors, u, d)
        Observed found
    found.d, found.r, found.t, found.off, found.w = d, row.r, row.r * y, row.off, row.w
    found.place, found.own = y, d - row.off
    return found


cdef Observed of_left(const Errors* errors, double last, double u, double end, bint late) noexcept nogil:
    """An event at some time up to `end`; what is not seen by u, before the end if `late`, counts as later.

    The mean over all rows is 0, so that the mean of those with an event by the end is minus that of the
    others, times the odds.
    """
    cdef:
        Row row = complete(errors, u, 0.0)
        double total = cumulative(errors.code, end), odds = 1.0 / expm1(total), h
        Observed found
    found.d, found.off, found.r, found.place = bounded(odds * row.off, 0.0, 1.0), 0.0, -odds * row.r, last
    found.t, found.own = found.r * last, found.d
    h = total if errors.code == SEV else (expit(end) if errors.code == LOGISTIC else hazard(end))
    found.w = -found.r * h / expm1(-total)
    if not late:
        found.w -= odds * row.w
    return found


cdef Observed of_interval(
    const Errors* errors, double rest, double slope, double first, double end, double span, double unit
) noexcept nogil:
    """An event at some time after `first`, and not after `end`: the mean over the events in between.

    By quadrature with positive weights of sum 1, so that the mean stays in the convex hull of events and of
    rows that are censored where rows end. The curvature is the mean one less the variance of the residual,
    and the information about the scale goes with it (Louis).
    """
    cdef:
        double last = bounded(end, -span, span), a = error_at(errors, rest, slope, first)
        double after = error_at(errors, rest, slope, end), e = error_at(errors, rest, slope, last)
        double chance = 1.0, low, high, knot, left, step, u, y, f, s, start, total = 0.0, mean
        double r = 0.0, t = 0.0, off = 0.0, w = 0.0, wy = 0.0, wyy = 0.0
        double rr = 0.0, rs = 0.0, ss = 0.0, sums = 0.0
        Py_ssize_t early, panels, i, j
        Row row
        Observed found
    if e > errors.high:
        last, e = bounded(last - (e - errors.high) / slope, -span, span), errors.high
    # Whatever the parameters, and where an interval ends before it begins.
    first, a = bounded(first, -span, last), min(a, e)
    start = cumulative(errors.code, a)
    if after > e:
        chance = expm1(start - cumulative(errors.code, e)) / expm1(start - cumulative(errors.code, after))
        # Whole units of the events.
        chance = rint(bounded(chance, 0.0, 1.0) * unit) / unit if a < e and chance == chance else 0.0
    if not e - a > NARROW:
        found = of_row(errors, 0.5 * (first + last), 0.5 * (a + e), 1.0)
        total, r, t, off, w = 1.0, found.r, found.t, found.off, found.w
        y = 0.5 * (a - e)
        s = r * y + 1.0 - off
        sums, wy, wyy, rr, rs, ss = s, w * y, w * y * y, r * r, r * s, s * s
    else:
        # All but some exp(-14) of the chance.
        if errors.code == SEV:
            high = min(e, log(start + 20.0))
            low = max(a, high - 16.0)
        elif errors.code == LOGISTIC:
            low, high = max(a, min(e, 0.0) - 14.0), min(e, max(a, 0.0) + 14.0)
        else:
            low, high = max(a, -sqrt(min(e, 0.0) ** 2 + 36.0)), min(e, sqrt(max(a, 0.0) ** 2 + 36.0))
        # The residual of normal errors has a kink.
        knot = bounded(errors.low, low, high)
        early = <Py_ssize_t> ceil((knot - low) / PANEL)
        panels = early + <Py_ssize_t> ceil((high - knot) / PANEL)
        # The largest density of normal errors is nearest to 0.
        mean = a if a > 0 else (e if e < 0 else 0.0)
        for i in range(panels):
            step = (knot - low) / early if i < early else (high - knot) / (panels - early)
            left = low + i * step if i < early else knot + (i - early) * step
            for j in range(NODES):
                u = left + PLACES[j] * step
                row = complete(errors, u, 1.0)
                if errors.code == SEV:
                    f = row.p * exp(start - row.p)
                elif errors.code == LOGISTIC:
                    f = row.w
                else:
                    f = exp(0.5 * (mean * mean - u * u))
                f *= SHARES[j] * step
                y = u - e
                s = row.r * y + 1.0 - row.off
                total += f
                sums += f * s
                r += f * row.r
                t += f * row.r * bounded(last + y / slope, first, last)
                off += f * row.off
                w += f * row.w
                wy += f * row.w * y
                wyy += f * row.w * y * y
                rr += f * row.r * row.r
                rs += f * row.r * s
                ss += f * s * s
    f, mean = chance / total, 1.0 - chance
    row = complete(errors, e, 0.0)
    # Together with the rows that end at e, where y is 0 and s is minus what is off.
    found.d, found.off = chance, f * off + mean * row.off
    found.r, found.t = f * r + mean * row.r, f * t + mean * row.r * last
    s = f * sums - mean * row.off
    found.w = f * w + mean * row.w - (f * rr + mean * row.r * row.r - found.r * found.r)
    wy = f * wy - (f * rs - mean * row.r * row.off - found.r * s)
    found.own = f * wyy + chance - found.off - (f * ss + mean * row.off * row.off - s * s)
    settle(&found, wy, first, last, last, slope)
    return found


cdef inline void settle(
    Observed* found, double across, double first, double last, double origin, double slope
) noexcept nogil:
    """Find the target that goes with the curvature, and the information about the scale beside it.

    `across` is the information between the location and the scale, with targets counted from the origin.
    """
    found.place = origin
    if found.w > 0:
        found.place = bounded(origin + across / (found.w * slope), first, last)
        found.own -= (found.place - origin) ** 2 * slope ** 2 * found.w


def fill_observed(
    double[:, ::1] block, const uint8_t[::1] code, const double[::1] end, const double[::1] start,
    const double[::1] entry, const double[::1] theta, int distribution, const double[::1] cuts,
    const double[::1] units, const double[::1] limits, bint in_halves, double[::1] residual,
    double[::1] moment, double[:, ::1] weights, double[:, ::1] places,
):
    """Fill in residuals and curvatures of rows of every kind, and residuals times targets.

    As `fill_residuals`, for rows with a code of `CODES`. `end`, `start` and `entry` are targets in steps, not
    rounded and not clipped; -inf: no entry. `limits` has one more entry, for a residual times a target of 1.
    The targets in the block are replaced by those of the curvature. The curvature is computed `in_halves`
    only if all rows are events or censored. Otherwise it is minus the second derivative, because
    left-censored rows and intervals contribute terms of their own. Return the events left, and the lost
    information about the scale, in the same units.
    """
    cdef:
        Py_ssize_t n = code.shape[0], width = theta.shape[0], i, j
        double high = cuts[1], unit = units[0], fine = units[1]
        Py_ssize_t target = width - 2
        double span = block[0, width - 1] if n else 0.0
        double rest, slope = theta[width - 2], u, y, v, watched, across
        double extra = 0.0, steep = 0.0
        Errors errors = errors_of(distribution, cuts)
        Row row
        Observed found
        double* q
        bint entered, late
        int64_t events = 0, less = 0
    with nogil:
        for i in range(n):
            q = &block[i, 0]
            rest = 0.0
            for j in range(width):
                rest += theta[j] * q[j] if j != target else 0.0
            entered = entry[i] > -INFINITY
            y = bounded(end[i], -span, span)
            u = error_at(&errors, rest, slope, y)
            v = error_at(&errors, rest, slope, entry[i]) if entered else 0.0
            if entered and (v >= high or entry[i] >= span):
                # It was never watched before its end.
                q[target] = residual[i] = moment[i] = places[0, i] = places[1, i] = 0.0
                weights[0, i] = weights[1, i] = weights[2, i] = 0.0
                continue
            if code[i] == INTERVAL or (code[i] == LEFT and entered):
                y = start[i] if code[i] == INTERVAL and start[i] > -span else -span
                y = min(max(y, entry[i]) if entered else y, end[i])
                found = of_interval(&errors, rest, slope, y, end[i], span, unit)
                u = min(u, error_at(&errors, rest, slope, y))
                y = bounded(end[i], -span, span)
            else:
                late = u > high
                if late:
                    y, u = bounded(y - (u - high) / slope, -span, span), high
                if code[i] == LEFT:
                    late = late or end[i] > span
                    # Not before the end within the bounds, whatever the parameters.
                    v = max(u, error_at(&errors, rest, slope, end[i]))
                    found = of_left(&errors, y, u, v, late)
                else:
                    found = of_row(&errors, y, u, 1.0 if code[i] == EXACT and not late else 0.0)
                    extra = compensated(&errors, u) - (compensated(&errors, min(v, u)) if entered else 0.0)
                    steep = complete(&errors, u, found.d).a
                    if entered:
                        found.w = information(&errors, u)
            if entered:
                # Less what a row gives that is censored at the entry, which is not after the end.
                v = min(v, u)
                row = complete(&errors, v, 0.0)
                watched = information(&errors, v)
                found.r -= row.r
                found.t -= row.r * bounded(entry[i], -span, y)
                found.off -= row.off
                found.w -= watched
                across = (bounded(entry[i], -span, y) - found.place) * slope * watched
                found.own += row.off - across * across / watched if watched > 0 else 0.0
                settle(&found, -across, -span, span, found.place, slope)
            u = found.d * unit - bounded(trunc(found.off * unit), 0.0, limits[3])
            events += <int64_t> u
            less += <int64_t> bounded(rint(u - found.own * unit), 0.0, unit)
            residual[i] = inward(found.r * unit, limits[0], limits[1])
            moment[i] = inward(found.t * unit, limits[4] * span, limits[4] * span)
            if in_halves:
                fill_curvature(
                    error_at(&errors, rest, slope, y), y, found.w, found.d, steep, extra, slope, span,
                    limits[2], fine, i, weights, places,
                )
                q[target] = inward(found.place, span, span)
                continue
            weights[0, i] = bounded(rint(found.w * fine), 0.0, limits[2])
            weights[1, i] = weights[2, i] = places[0, i] = places[1, i] = 0.0
            q[target] = inward(found.place, span, span)
    return events, less


def fill_bins(
    const double[::1] target, const uint8_t[::1] event, double center, double half, Py_ssize_t bins,
    int64_t[::1] codes,
):
    """Fill in every row's bin of the scaled target, by table, its code. Return whether all is finite."""
    cdef:
        Py_ssize_t n = target.shape[0], i
        double width = 2.0 * half / bins, low = center - half, bad = 0.0
    with nogil:
        for i in range(n):
            bad += target[i] * 0.0
            codes[i] = <int64_t> bounded((target[i] - low) / width, 0.0, bins - 1.0)
            codes[i] += bins * event[i]
    return bad == 0
