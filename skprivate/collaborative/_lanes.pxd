# SPDX-License-Identifier: BSD-3-Clause
"""Loops over eight rows at a time, compiled for several widths of vectors with bit-equal results.

The n rows of a block stand column by column, value j of row i at `columns[j * n + i]`; n is a multiple of
eight, and a row that fills up is at infinity, its y 0. Sums keep eight lanes each, the numerator's before the
denominator's, so that the order of summation does not depend on the width.
"""

cdef enum:
    LANES = 8

cdef extern from *:
    """
    #include <stdlib.h>
    #include <math.h>
    #include <string.h>

    #if defined(__x86_64__) && defined(__linux__) && defined(__GLIBC__) \\
        && (!defined(__clang__) || __clang_major__ >= 14)
    #define SKP_CLONED __attribute__((unused, target_clones("avx512f", "avx2", "default")))
    #elif defined(__GNUC__)
    #define SKP_CLONED __attribute__((unused))
    #else
    #define SKP_CLONED
    #endif

    #if defined(__SSE2__)
    #include <emmintrin.h>
    #endif

    #if defined(__GNUC__)
    #define SKP_LANES 8
    #define SKP_INLINE static inline __attribute__((always_inline, unused))
    typedef double skp_lanes __attribute__((vector_size(64), aligned(8), may_alias));
    typedef unsigned long long skp_bits __attribute__((vector_size(64), aligned(8), may_alias));
    #define SKP_BITS(x) ((skp_bits)(x))
    #define SKP_DOUBLES(x) ((skp_lanes)(x))
    #define SKP_MASK(condition) ((skp_bits)(condition))
    #else
    #define SKP_LANES 1
    #define SKP_INLINE static
    typedef double skp_lanes;
    typedef unsigned long long skp_bits;
    SKP_INLINE skp_bits SKP_BITS(double x) { skp_bits b; memcpy(&b, &x, 8); return b; }
    SKP_INLINE double SKP_DOUBLES(skp_bits b) { double x; memcpy(&x, &b, 8); return x; }
    #define SKP_MASK(condition) ((skp_bits)0 - (skp_bits)(condition))
    #endif
    #define SKP_AT(p) (*(skp_lanes*)(p))
    #define SKP_READ(p) (*(const skp_lanes*)(p))

    /* 2^x for x <= 0, x itself raised to -1000: the whole part goes to the exponent; of the rest, f with
       |f| <= 1/2, 2^(f / 4) is interpolated at seven Chebyshev nodes beside 1 at 0, and squared twice. The
       relative error is below 1e-14, and 2^0 is exact. */
    #define SKP_LEAST -1000.0
    #define SKP_ROUND 6755399441055744.0  /* 1.5 * 2^52: added, it leaves no bit for a fraction */
    SKP_INLINE void skp_power(skp_lanes* lanes) {
        skp_lanes x = *lanes, least = {0}, shifted, f, p;
        skp_bits low = SKP_MASK(x < SKP_LEAST);
        least = least + SKP_LEAST;
        x = SKP_DOUBLES((SKP_BITS(x) & ~low) | (SKP_BITS(least) & low));
        shifted = x + SKP_ROUND;
        f = x - (shifted - SKP_ROUND);
        p = f * 9.311228705983226e-10 + 3.761509858361155e-08;
        p = p * f + 1.3021052665016557e-06;
        p = p * f + 3.75708157237381e-05;
        p = p * f + 0.0008672516978885008;
        p = p * f + 0.015014156684978262;
        p = p * f + 0.17328679513998632;
        p = p * f + 1.0;
        p = p * p;
        p = p * p;
        *lanes = SKP_DOUBLES(SKP_BITS(p) + (SKP_BITS(shifted) << 52));
    }

    SKP_CLONED static void skp_squares(
        const double* columns, Py_ssize_t n, Py_ssize_t d, const double* query, double* out
    ) {
        for (Py_ssize_t i = 0; i < n; i += SKP_LANES) {
            skp_lanes gap = SKP_READ(columns + i) - query[0], sum = gap * gap;
            for (Py_ssize_t j = 1; j < d; j++) {
                gap = SKP_READ(columns + j * n + i) - query[j];
                sum += gap * gap;
            }
            SKP_AT(out + i) = sum;
        }
    }

    /* Two roots at a time are as fast as eight, and the compiler would watch for errno. */
    SKP_INLINE void skp_roots(double* values) {
    #if defined(__SSE2__)
        for (int lane = 0; lane < SKP_LANES; lane += 2)
            _mm_storeu_pd(values + lane, _mm_sqrt_pd(_mm_loadu_pd(values + lane)));
    #else
        for (int lane = 0; lane < SKP_LANES; lane++) values[lane] = sqrt(values[lane]);
    #endif
    }

    SKP_CLONED static void skp_distances(
        const double* columns, Py_ssize_t n, Py_ssize_t d, const double* query, double* out
    ) {
        for (Py_ssize_t i = 0; i < n; i += SKP_LANES) {
            skp_lanes gap = SKP_READ(columns + i) - query[0], sum = gap * gap;
            for (Py_ssize_t j = 1; j < d; j++) {
                gap = SKP_READ(columns + j * n + i) - query[j];
                sum += gap * gap;
            }
            SKP_AT(out + i) = sum;
            skp_roots(out + i);
        }
    }

    SKP_CLONED static void skp_add_powers(
        const double* distances, const double* y, Py_ssize_t n, double factor, double* sums
    ) {
        skp_lanes over = SKP_READ(sums), under = SKP_READ(sums + 8);
        for (Py_ssize_t i = 0; i < n; i += SKP_LANES) {
            skp_lanes weight = SKP_READ(distances + i) * factor;
            skp_power(&weight);
            over += weight * SKP_READ(y + i);
            under += weight;
        }
        SKP_AT(sums) = over;
        SKP_AT(sums + 8) = under;
    }

    SKP_CLONED static void skp_add_parabolas(
        const double* columns, const double* y, Py_ssize_t n, Py_ssize_t d, const double* query,
        double inverse, double* sums
    ) {
        skp_lanes over = SKP_READ(sums), under = SKP_READ(sums + 8);
        for (Py_ssize_t i = 0; i < n; i += SKP_LANES) {
            skp_lanes gap = SKP_READ(columns + i) - query[0], sum = gap * gap, weight;
            for (Py_ssize_t j = 1; j < d; j++) {
                gap = SKP_READ(columns + j * n + i) - query[j];
                sum += gap * gap;
            }
            weight = 1.0 - sum * inverse;
            weight = SKP_DOUBLES(SKP_BITS(weight) & SKP_MASK(weight > 0.0));
            over += weight * SKP_READ(y + i);
            under += weight;
        }
        SKP_AT(sums) = over;
        SKP_AT(sums + 8) = under;
    }
    """
    # Squared distances of n rows to a query, and their roots.
    void squares "skp_squares"(
        const double* columns, Py_ssize_t n, Py_ssize_t d, const double* query, double* out
    ) noexcept nogil
    void distances "skp_distances"(
        const double* columns, Py_ssize_t n, Py_ssize_t d, const double* query, double* out
    ) noexcept nogil
    # Adds weights 2^(distance * factor), at least 2^-1000, times y, and the weights, to the sums.
    void add_powers "skp_add_powers"(
        const double* distances, const double* y, Py_ssize_t n, double factor, double* sums
    ) noexcept nogil
    # Adds weights (1 - squared distance * inverse)_+ times y, and the weights.
    void add_parabolas "skp_add_parabolas"(
        const double* columns, const double* y, Py_ssize_t n, Py_ssize_t d, const double* query,
        double inverse, double* sums
    ) noexcept nogil


cdef inline double total(const double* lanes) noexcept nogil:
    return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) + ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]))


cdef inline void scale_row(const double* x, const double[:, ::1] ranges, double* out) noexcept nogil:
    """Clip to [lower, upper] and scale to [0, 1]; `ranges` holds lower, upper, a unit, width in units."""
    cdef Py_ssize_t j
    cdef double value
    for j in range(ranges.shape[1]):
        value = min(max(x[j], ranges[0, j]), ranges[1, j])
        out[j] = (value * ranges[2, j] - ranges[0, j] * ranges[2, j]) / ranges[3, j]
