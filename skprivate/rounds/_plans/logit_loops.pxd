# SPDX-License-Identifier: BSD-3-Clause
"""Loops over tiles of rows kept by columns, compiled for two widths of vectors.

A row's numbers are the same bits whatever the width, the tile and its place there: each operation rounds by
itself, additions are made in one order, and the exponential is made of the same operations everywhere. Sums
over rows are sums of integers.
"""

from libc.stdint cimport int32_t, int64_t

cdef extern from *:
    r"""
    #include <math.h>
    #include <stdint.h>
    #include <string.h>

    #define SKP_TILE 64
    #if defined(__GNUC__)
    #define SKP_BODY static inline __attribute__((always_inline))
    #else
    #define SKP_BODY static inline
    #endif

    /* Comparisons in this order turn NaN into a bound. */
    SKP_BODY double skp_clipped(double value, double bound) {
        value = value < bound ? value : bound;
        return value > -bound ? value : -bound;
    }

    SKP_BODY void skp_logits_body(
        const int32_t* cells, Py_ssize_t d, const double* factor, const double* shift, const double* theta,
        double far, double* out
    ) {
        for (int i = 0; i < SKP_TILE; i++) out[i] = 0.0;
        for (Py_ssize_t j = 0; j < d; j++, cells += SKP_TILE) {
            const double f = factor[j], s = shift[j], t = theta[j + 1];
            for (int i = 0; i < SKP_TILE; i++) out[i] += t * skp_clipped(cells[i] * f - s, far);
        }
        for (int i = 0; i < SKP_TILE; i++) {
            /* Infinite parameters; the integers keep to their bounds even then. */
            double u = out[i] + theta[0];
            u = u == u ? u : 0.0;
            out[i] = skp_clipped(u, far);
        }
    }

    /* exp of numbers that are not above 0, to one unit in the last place; below exp(-708) it is exp(-708).
       x = k log 2 + r, the logarithm in two parts, of which k times the first is exact; Taylor's series of r,
       which is 0.35 at most, ends where the next term is 2^-57; and k is added to the exponent. */
    SKP_BODY void skp_exps_body(double* values) {
        const double round = 0x1.8p52;
        /* Apart: in one loop compilers would branch. */
        for (int i = 0; i < SKP_TILE; i++) values[i] = skp_clipped(values[i], 708.0);
        for (int i = 0; i < SKP_TILE; i++) {
            double x = values[i], shifted = x * 0x1.71547652b82fep0 + round;
            double k = shifted - round, r = (x - k * 0x1.62e42feep-1) - k * 0x1.a39ef35793c76p-33, p;
            int64_t power, bits;
            p = 1.0 / 6227020800;
            p = p * r + 1.0 / 479001600;
            p = p * r + 1.0 / 39916800;
            p = p * r + 1.0 / 3628800;
            p = p * r + 1.0 / 362880;
            p = p * r + 1.0 / 40320;
            p = p * r + 1.0 / 5040;
            p = p * r + 1.0 / 720;
            p = p * r + 1.0 / 120;
            p = p * r + 1.0 / 24;
            p = p * r + 1.0 / 6;
            p = p * r + 0.5;
            p = (p * (r * r) + r) + 1.0;
            memcpy(&power, &shifted, 8);
            memcpy(&bits, &p, 8);
            bits = (int64_t)((uint64_t)bits + ((uint64_t)power << 52));
            memcpy(&values[i], &bits, 8);
        }
    }

    SKP_BODY void skp_two_classes_body(
        const double* logits, const int32_t* labels, const double* weights, double unit, double fine,
        int32_t* residuals, double* curvatures
    ) {
        double odds[SKP_TILE];
        for (int i = 0; i < SKP_TILE; i++) odds[i] = -fabs(logits[i]);
        skp_exps_body(odds);
        for (int i = 0; i < SKP_TILE; i++) {
            double one = 1.0, p = (logits[i] >= 0 ? one : odds[i]) / (one + odds[i]);
            /* Toward zero, and no magnitude beyond the unit, whatever floating point did. */
            residuals[i] = (int32_t)skp_clipped(weights[i] * (labels[i] - p) * unit, unit);
            curvatures[i] = (int32_t)skp_clipped(p * (one - p) * fine, 0.25 * fine);
        }
    }

    SKP_BODY void skp_gradient_body(const int32_t* rows, Py_ssize_t width, const int32_t* r, int64_t* out) {
        for (Py_ssize_t j = 0; j < width; j++, rows += SKP_TILE) {
            int64_t sum = 0;
            for (int i = 0; i < SKP_TILE; i++) sum += (int64_t)rows[i] * r[i];
            out[j] += sum;
        }
    }

    #if defined(__GNUC__) && defined(__x86_64__)
    #define SKP_TWICE(name, parameters, arguments) \
        __attribute__((target("avx2"))) static void name##_avx2 parameters { name##_body arguments; } \
        static inline void name parameters { \
            if (__builtin_cpu_supports("avx2")) name##_avx2 arguments; \
            else name##_body arguments; \
        }
    #else
    #define SKP_TWICE(name, parameters, arguments) \
        static inline void name parameters { name##_body arguments; }
    #endif
    SKP_TWICE(
        skp_logits,
        (const int32_t* cells, Py_ssize_t d, const double* factor, const double* shift, const double* theta,
         double far, double* out),
        (cells, d, factor, shift, theta, far, out)
    )
    SKP_TWICE(skp_exps, (double* values), (values))
    SKP_TWICE(
        skp_two_classes,
        (const double* logits, const int32_t* labels, const double* weights, double unit, double fine,
         int32_t* residuals, double* curvatures),
        (logits, labels, weights, unit, fine, residuals, curvatures)
    )
    SKP_TWICE(
        skp_gradient, (const int32_t* rows, Py_ssize_t width, const int32_t* r, int64_t* out),
        (rows, width, r, out)
    )
    """
    enum:
        TILE "SKP_TILE"
    double clipped "skp_clipped"(double value, double bound) noexcept nogil
    # Logits of rows z = factor * cell - shift: theta z, and the constant, which is the first of theta.
    void logits_of "skp_logits"(
        const int32_t* cells, Py_ssize_t d, const double* factor, const double* shift, const double* theta,
        double far, double* out
    ) noexcept nogil
    # Replaces numbers, none above 0, by their exponentials.
    void exps "skp_exps"(double* values) noexcept nogil
    # Fills in the integer residuals and curvatures of a tile.
    void two_classes "skp_two_classes"(
        const double* logits, const int32_t* labels, const double* weights, double unit, double fine,
        int32_t* residuals, double* curvatures
    ) noexcept nogil
    # Adds up r times the rows, by columns.
    void add_gradient "skp_gradient"(
        const int32_t* rows, Py_ssize_t width, const int32_t* r, int64_t* out
    ) noexcept nogil
