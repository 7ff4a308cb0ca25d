# SPDX-License-Identifier: BSD-3-Clause
"""Loops over many rows at a time, compiled for several widths of vectors.

The n rows of a block stand column by column, value j of row i at `columns[j * n + i]`; n is a multiple of 32,
and a row that fills up is at infinity, its y 0. Sums keep eight lanes each, the numerator's before
the denominator's, so that the order of summation does not depend on the width.

Where rows are compared, by `squares`, or have a weight or none, by `add_parabolas`, results are bit-equal on
all machines, and equal gaps in another order of two columns are equally far. `distances` and `add_powers`
fuse products into sums where the machine can, so that their last digits depend on the machine: two machines'
distances of d columns differ by less than (d + 1) 2^-52 of themselves, and a weight by less than 2e-14.
"""

cdef enum:
    LANES = 8

cdef extern from *:
    r"""
    #include <math.h>
    #include <string.h>

    /* What follows is written once, as SKP_KERNELS, and compiled for W = 8, 4 and 2 doubles at a time, or for
       W = 1. A vector wider than the machine's would be taken apart in memory, and compared value by value.
       The widest W: MSVC has no vectors, and clang-cl links nothing that tells what the processor can. */
    #ifndef SKP_WIDTH
    #if !defined(__GNUC__)
    #define SKP_WIDTH 1
    #elif !defined(__x86_64__)
    #define SKP_WIDTH 2
    #else
    #define SKP_WIDTH 8
    #endif
    #endif
    #if SKP_WIDTH == 8
    #include <immintrin.h>
    #endif

    #if SKP_WIDTH == 1
    typedef double skp_lanes1;
    typedef unsigned long long skp_bits1;
    static inline skp_bits1 skp_bits_of(skp_lanes1 value) {
        skp_bits1 bits;
        memcpy(&bits, &value, sizeof bits);
        return bits;
    }
    static inline skp_lanes1 skp_lanes_of(skp_bits1 bits) {
        skp_lanes1 value;
        memcpy(&value, &bits, sizeof value);
        return value;
    }
    #define SKP_BITS(W, lanes) skp_bits_of(lanes)
    #define SKP_LANES(W, bits) skp_lanes_of(bits)
    #define SKP_UNUSED
    #define SKP_INLINE static inline
    #else
    #define SKP_TYPES(W) \
        typedef double skp_lanes##W __attribute__((vector_size(8 * W), aligned(8), may_alias)); \
        typedef unsigned long long skp_bits##W __attribute__((vector_size(8 * W), aligned(8), may_alias));
    #define SKP_BITS(W, lanes) ((skp_bits##W)(lanes))
    #define SKP_LANES(W, bits) ((skp_lanes##W)(bits))
    #define SKP_UNUSED __attribute__((unused))
    #define SKP_INLINE static inline __attribute__((always_inline, unused))
    #endif
    #define SKP_READ(W, p) (*(const skp_lanes##W*)(p))
    #define SKP_WRITE(W, p) (*(skp_lanes##W*)(p))
    #define SKP_ALL(W, value) ((skp_lanes##W){0} + (value))

    #define SKP_LEAST -1000.0
    #define SKP_ROUND 6755399441055744.0  /* 1.5 * 2^52: added, it leaves no bit for a fraction */

    /* skp_power: 2^x for x <= 0, x itself raised to -1000. The whole part goes to the exponent; of the rest,
       f with |f| <= 1/2, 2^(f / 4) is interpolated at seven Chebyshev nodes beside 1 at 0, and squared twice.
       The relative error is below 1e-14, and 2^0 is exact. */
    #define SKP_POWER(W, TARGET) \
    TARGET SKP_INLINE void skp_power##W(skp_lanes##W* lanes) { \
        skp_lanes##W x = *lanes, least = SKP_ALL(W, SKP_LEAST), shifted, f, p; \
        skp_bits##W low = 0 - (SKP_BITS(W, x - least) >> 63); \
        x = SKP_LANES(W, (SKP_BITS(W, x) & ~low) | (SKP_BITS(W, least) & low)); \
        shifted = x + SKP_ROUND; \
        f = x - (shifted - SKP_ROUND); \
        p = SKP_FMA##W(SKP_ALL(W, 9.311228705983226e-10), f, SKP_ALL(W, 3.761509858361155e-08)); \
        p = SKP_FMA##W(p, f, SKP_ALL(W, 1.3021052665016557e-06)); \
        p = SKP_FMA##W(p, f, SKP_ALL(W, 3.75708157237381e-05)); \
        p = SKP_FMA##W(p, f, SKP_ALL(W, 0.0008672516978885008)); \
        p = SKP_FMA##W(p, f, SKP_ALL(W, 0.015014156684978262)); \
        p = SKP_FMA##W(p, f, SKP_ALL(W, 0.17328679513998632)); \
        p = SKP_FMA##W(p, f, SKP_ALL(W, 1.0)); \
        p = p * p; \
        p = p * p; \
        *lanes = SKP_LANES(W, SKP_BITS(W, p) + (SKP_BITS(W, shifted) << 52)); \
    }

    #if SKP_WIDTH == 1
    #define SKP_FMA1(a, b, c) ((a) * (b) + (c))
    SKP_POWER(1, )
    #else
    SKP_TYPES(2)
    #define SKP_FMA2(a, b, c) ((a) * (b) + (c))
    SKP_POWER(2, )
    #endif

    static inline void skp_roots(double* values, Py_ssize_t n) {
    #if SKP_WIDTH == 8
        /* Two at a time are as fast as four, and the compiler would watch for errno. */
        for (Py_ssize_t i = 0; i < n; i += 2)
            _mm_storeu_pd(values + i, _mm_sqrt_pd(_mm_loadu_pd(values + i)));
    #else
        for (Py_ssize_t i = 0; i < n; i++) values[i] = sqrt(values[i]);
    #endif
    }
    #define skp_roots1 skp_roots
    #define skp_roots2 skp_roots
    #define skp_roots4 skp_roots

    #if SKP_WIDTH == 8
    #define SKP_AVX2 __attribute__((unused, target("avx2,fma")))
    #define SKP_AVX512 __attribute__((unused, target("avx512f")))

    SKP_TYPES(4)
    #define SKP_FMA4(a, b, c) (skp_lanes4)_mm256_fmadd_pd((__m256d)(a), (__m256d)(b), (__m256d)(c))
    SKP_POWER(4, SKP_AVX2)

    SKP_TYPES(8)
    #define SKP_FMA8(a, b, c) (skp_lanes8)_mm512_fmadd_pd((__m512d)(a), (__m512d)(b), (__m512d)(c))

    /* The same with sixteenths, which are looked up in two registers: what is left, |f| <= 1/32, needs no
       squares and fewer terms, 1 + f log(2) + ... as at 0, then interpolated; the error is below 6e-15. Of
       2^(k / 16) the bits of k / 16 are subtracted, as they come back when the whole part is added. */
    static const unsigned long long skp_sixteenths[16] = {
        0x3ff0000000000000, 0x3fefb5586cf9890f, 0x3fef72b83c7d517b, 0x3fef387a6e756238,
        0x3fef06fe0a31b715, 0x3feedea64c123422, 0x3feebfdad5362a27, 0x3feeab07dd485429,
        0x3feea09e667f3bcd, 0x3feea11473eb0187, 0x3feeace5422aa0db, 0x3feec49182a3f090,
        0x3feee89f995ad3ad, 0x3fef199bdd85529c, 0x3fef5818dcfba487, 0x3fefa4afa2a490da,
    };
    SKP_AVX512 SKP_INLINE void skp_power8(skp_lanes8* lanes) {
        const double* table = (const double*)skp_sixteenths;
        __m512d x = _mm512_max_pd((__m512d)*lanes, _mm512_set1_pd(SKP_LEAST));
        skp_lanes8 shifted = (skp_lanes8)x + SKP_ROUND / 16, f, p;
        skp_bits8 power = (skp_bits8)_mm512_permutex2var_pd(
            _mm512_loadu_pd(table), (__m512i)shifted, _mm512_loadu_pd(table + 8)
        );
        f = (skp_lanes8)x - (shifted - SKP_ROUND / 16);
        p = SKP_FMA8(SKP_ALL(8, 0.001333376553514957), f, SKP_ALL(8, 0.00961833854712641));
        p = SKP_FMA8(p, f, SKP_ALL(8, 0.055504108658555325));
        p = SKP_FMA8(p, f, SKP_ALL(8, 0.2402265068958185));
        p = SKP_FMA8(p, f, SKP_ALL(8, 0.6931471805599453));
        p = SKP_FMA8(p, f, SKP_ALL(8, 1.0));
        *lanes = p * (skp_lanes8)(power + ((skp_bits8)shifted << 48));
    }

    /* The root of x is s / sqrt(1 - e) for s = x * r and e = 1 - s * r, where r is nearly 1 / sqrt(x): with
       |e| < 2^-12, four terms of the series are exact to the last digit, in half the time of a division's
       unit. The ends keep 0 and infinity away from 0 * infinity. */
    SKP_AVX512 static void skp_roots8(double* values, Py_ssize_t n) {
        const skp_lanes8 one = SKP_ALL(8, 1.0);
        for (Py_ssize_t i = 0; i < n; i += 8) {
            __m512d x = _mm512_max_pd(_mm512_loadu_pd(values + i), _mm512_set1_pd(1e-300));
            skp_lanes8 r, s, e, p;
            x = _mm512_min_pd(x, _mm512_set1_pd(1e300));
            r = (skp_lanes8)_mm512_rsqrt14_pd(x);
            s = (skp_lanes8)x * r;
            e = SKP_FMA8(-s, r, one);
            p = SKP_FMA8(e, SKP_ALL(8, 0.3125), SKP_ALL(8, 0.375));
            p = SKP_FMA8(p, e, SKP_ALL(8, 0.5));
            SKP_WRITE(8, values + i) = SKP_FMA8(s * e, p, s);
        }
    }
    #endif

    /* Four vectors for each load of a query's value; ADD adds the square of a gap to a sum. */
    #define SKP_SQUARES(W, TARGET, name, ADD) \
    TARGET static void name##W( \
        const double* columns, Py_ssize_t n, Py_ssize_t d, const double* query, double* out \
    ) { \
        for (Py_ssize_t i = 0; i < n; i += 4 * W) { \
            skp_lanes##W sums[4]; \
            for (int k = 0; k < 4; k++) sums[k] = SKP_ALL(W, 0.0); \
            for (Py_ssize_t j = 0; j < d; j++) { \
                for (int k = 0; k < 4; k++) { \
                    skp_lanes##W gap = SKP_READ(W, columns + j * n + i + k * W) - query[j]; \
                    sums[k] = ADD(W, gap, sums[k]); \
                } \
            } \
            for (int k = 0; k < 4; k++) SKP_WRITE(W, out + i + k * W) = sums[k]; \
        } \
    }
    #define SKP_ADD_EXACT(W, gap, sum) (gap) * (gap) + (sum)
    #define SKP_ADD_FUSED(W, gap, sum) SKP_FMA##W(gap, gap, sum)

    #define SKP_KERNELS(W, TARGET) \
    SKP_SQUARES(W, TARGET, skp_squares, SKP_ADD_EXACT) \
    SKP_SQUARES(W, TARGET, skp_fused_squares, SKP_ADD_FUSED) \
    TARGET static void skp_distances##W( \
        const double* columns, Py_ssize_t n, Py_ssize_t d, const double* query, int root, double* out \
    ) { \
        skp_fused_squares##W(columns, n, d, query, out); \
        if (root) skp_roots##W(out, n); \
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
    TARGET static void skp_add_powers##W( \
        const double* distances, const double* y, Py_ssize_t n, double factor, double* sums \
    ) { \
        for (int lane = 0; lane < 8; lane += W) { \
            skp_lanes##W over = SKP_READ(W, sums + lane), under = SKP_READ(W, sums + 8 + lane); \
            for (Py_ssize_t i = lane; i < n; i += 8) { \
                skp_lanes##W weight = SKP_READ(W, distances + i) * factor; \
                skp_power##W(&weight); \
                over = SKP_FMA##W(weight, SKP_READ(W, y + i), over); \
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
                weight = SKP_LANES(W, SKP_BITS(W, weight) & ((SKP_BITS(W, weight) >> 63) - 1)); \
                over += weight * SKP_READ(W, y + i); \
                under += weight; \
            } \
            SKP_WRITE(W, sums + lane) = over; \
            SKP_WRITE(W, sums + 8 + lane) = under; \
        } \
    }

    #if SKP_WIDTH == 1
    SKP_KERNELS(1, SKP_UNUSED)
    #define SKP_WIDEST(name, ...) name##1(__VA_ARGS__);
    #elif SKP_WIDTH == 2
    SKP_KERNELS(2, SKP_UNUSED)
    #define SKP_WIDEST(name, ...) name##2(__VA_ARGS__);
    #else
    SKP_KERNELS(2, SKP_UNUSED)
    SKP_KERNELS(4, SKP_AVX2)
    SKP_KERNELS(8, SKP_AVX512)
    #define SKP_WIDEST(name, ...) \
        if (__builtin_cpu_supports("avx512f")) name##8(__VA_ARGS__); \
        else if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) name##4(__VA_ARGS__); \
        else name##2(__VA_ARGS__);
    #endif

    static inline void skp_squares(
        const double* columns, Py_ssize_t n, Py_ssize_t d, const double* query, double* out
    ) {
        SKP_WIDEST(skp_squares, columns, n, d, query, out)
    }
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
    # Squared distances of n rows to a query.
    void squares "skp_squares"(
        const double* columns, Py_ssize_t n, Py_ssize_t d, const double* query, double* out
    ) noexcept nogil
    # The same but for the last digits, faster; or the distances.
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
