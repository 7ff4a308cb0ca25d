# SPDX-License-Identifier: BSD-3-Clause
"""Loops over eight rows at a time, compiled for several widths of vectors, with bit-equal results.

The n rows of a block stand column by column, value j of row i at `columns[j * n + i]`; n is a multiple of
eight, and a row that fills up is at infinity, its y 0. Sums keep eight lanes each, the numerator's before the
denominator's, so that the order of summation does not depend on the width.
"""

cdef enum:
    LANES = 8

cdef extern from *:
    r"""
    #include <math.h>
    #if defined(__SSE2__)
    #include <emmintrin.h>
    #endif

    /* What follows is written once, as SKP_KERNELS, and compiled for vectors of W = 8, 4 and 2 doubles. A
       vector wider than the machine's would be taken apart in memory, and compared value by value. */
    #define SKP_TYPES(W) \
        typedef double skp_lanes##W __attribute__((vector_size(8 * W), aligned(8), may_alias)); \
        typedef unsigned long long skp_bits##W __attribute__((vector_size(8 * W), aligned(8), may_alias));
    #define SKP_READ(W, p) (*(const skp_lanes##W*)(p))
    #define SKP_WRITE(W, p) (*(skp_lanes##W*)(p))
    #define SKP_INLINE static inline __attribute__((always_inline, unused))

    /* Two roots at a time are as fast as eight, and the compiler would watch for errno. */
    static inline void skp_roots(double* values) {
    #if defined(__SSE2__)
        for (int lane = 0; lane < 8; lane += 2)
            _mm_storeu_pd(values + lane, _mm_sqrt_pd(_mm_loadu_pd(values + lane)));
    #else
        for (int lane = 0; lane < 8; lane++) values[lane] = sqrt(values[lane]);
    #endif
    }

    /* skp_power: 2^x for x <= 0, x itself raised to -1000. The whole part goes to the exponent; of the rest,
       f with |f| <= 1/2, 2^(f / 4) is interpolated at seven Chebyshev nodes beside 1 at 0, and squared twice.
       The relative error is below 1e-14, and 2^0 is exact. */
    #define SKP_LEAST -1000.0
    #define SKP_ROUND 6755399441055744.0  /* 1.5 * 2^52: added, it leaves no bit for a fraction */

    #define SKP_KERNELS(W, TARGET) \
    TARGET SKP_INLINE void skp_power##W(skp_lanes##W* lanes) { \
        skp_lanes##W x = *lanes, least = {0}, shifted, f, p; \
        skp_bits##W low; \
        least += SKP_LEAST; \
        low = 0 - ((skp_bits##W)(x - least) >> 63); \
        x = (skp_lanes##W)(((skp_bits##W)x & ~low) | ((skp_bits##W)least & low)); \
        shifted = x + SKP_ROUND; \
        f = x - (shifted - SKP_ROUND); \
        p = f * 9.311228705983226e-10 + 3.761509858361155e-08; \
        p = p * f + 1.3021052665016557e-06; \
        p = p * f + 3.75708157237381e-05; \
        p = p * f + 0.0008672516978885008; \
        p = p * f + 0.015014156684978262; \
        p = p * f + 0.17328679513998632; \
        p = p * f + 1.0; \
        p = p * p; \
        p = p * p; \
        *lanes = (skp_lanes##W)((skp_bits##W)p + ((skp_bits##W)shifted << 52)); \
    } \
    TARGET SKP_INLINE void skp_square##W( \
        const double* columns, Py_ssize_t n, Py_ssize_t d, const double* query, skp_lanes##W* sum \
    ) { \
        skp_lanes##W gap = SKP_READ(W, columns) - query[0]; \
        *sum = gap * gap; \
        for (Py_ssize_t j = 1; j < d; j++) { \
            gap = SKP_READ(W, columns + j * n) - query[j]; \
            *sum += gap * gap; \
        } \
    } \
    TARGET static void skp_distances##W( \
        const double* columns, Py_ssize_t n, Py_ssize_t d, const double* query, int root, double* out \
    ) { \
        for (Py_ssize_t i = 0; i < n; i += 8) { \
            for (int lane = 0; lane < 8; lane += W) { \
                skp_lanes##W sum; \
                skp_square##W(columns + i + lane, n, d, query, &sum); \
                SKP_WRITE(W, out + i + lane) = sum; \
            } \
            if (root) skp_roots(out + i); \
        } \
    } \
    TARGET static void skp_add_powers##W( \
        const double* distances, const double* y, Py_ssize_t n, double factor, double* sums \
    ) { \
        for (int lane = 0; lane < 8; lane += W) { \
            skp_lanes##W over = SKP_READ(W, sums + lane), under = SKP_READ(W, sums + 8 + lane); \
            for (Py_ssize_t i = lane; i < n; i += 8) { \
                skp_lanes##W weight = SKP_READ(W, distances + i) * factor; \
                skp_power##W(&weight); \
                over += weight * SKP_READ(W, y + i); \
                under += weight; \
            } \
            SKP_WRITE(W, sums + lane) = over; \
            SKP_WRITE(W, sums + 8 + lane) = under; \
        } \
    } \
    TARGET static void skp_add_parabolas##W( \
        const double* columns, const double* y, Py_ssize_t n, Py_ssize_t d, const double* query, \
        double inverse, double* sums \
    ) { \
        for (int lane = 0; lane < 8; lane += W) { \
            skp_lanes##W over = SKP_READ(W, sums + lane), under = SKP_READ(W, sums + 8 + lane), weight; \
            for (Py_ssize_t i = lane; i < n; i += 8) { \
                skp_square##W(columns + i, n, d, query, &weight); \
                weight = 1.0 - weight * inverse; \
                weight = (skp_lanes##W)((skp_bits##W)weight & (((skp_bits##W)weight >> 63) - 1)); \
                over += weight * SKP_READ(W, y + i); \
                under += weight; \
            } \
            SKP_WRITE(W, sums + lane) = over; \
            SKP_WRITE(W, sums + 8 + lane) = under; \
        } \
    }

    #if defined(__x86_64__) && defined(__GNUC__)
    SKP_TYPES(8)
    SKP_KERNELS(8, __attribute__((unused, target("avx512f"))))
    SKP_TYPES(4)
    SKP_KERNELS(4, __attribute__((unused, target("avx2"))))
    SKP_TYPES(2)
    SKP_KERNELS(2, __attribute__((unused)))
    #define SKP_WIDEST(name, ...) \
        if (__builtin_cpu_supports("avx512f")) name##8(__VA_ARGS__); \
        else if (__builtin_cpu_supports("avx2")) name##4(__VA_ARGS__); \
        else name##2(__VA_ARGS__);
    #else
    SKP_TYPES(2)
    SKP_KERNELS(2, __attribute__((unused)))
    #define SKP_WIDEST(name, ...) name##2(__VA_ARGS__);
    #endif

    static inline void skp_distances(
        const double* columns, Py_ssize_t n, Py_ssize_t d, const double* query, int root, double* out
    ) {
        SKP_WIDEST(skp_distances, columns, n, d, query, root, out)
    }
    static inline void skp_add_powers(
        const double* distances, const double* y, Py_ssize_t n, double factor, double* sums
    ) {
        SKP_WIDEST(skp_add_powers, distances, y, n, factor, sums)
    }
    static inline void skp_add_parabolas(
        const double* columns, const double* y, Py_ssize_t n, Py_ssize_t d, const double* query,
        double inverse, double* sums
    ) {
        SKP_WIDEST(skp_add_parabolas, columns, y, n, d, query, inverse, sums)
    }
    """
    # Squared distances of n rows to a query, or their roots.
    void distances "skp_distances"(
        const double* columns, Py_ssize_t n, Py_ssize_t d, const double* query, bint root, double* out
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
