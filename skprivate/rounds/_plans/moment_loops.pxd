# SPDX-License-Identifier: BSD-3-Clause
"""Rows to integers, and sums of products of columns, compiled for several widths of vectors.

A row's integers are the same bits whatever the width: each value is centred, scaled, clipped and rounded
toward zero by itself. Where all values and sums are integers below 2^53, as for the moments, no addition
rounds: then the sums are the same bits whatever the width, the order of addition, and whether products are
fused into sums.
"""

cdef extern from *:
    r"""
    /* W doubles at a time. The widest W: MSVC has no vectors, and clang-cl links nothing that tells what the
       processor can. */
    #ifndef SKP_WIDTH
    #if !defined(__GNUC__)
    #define SKP_WIDTH 1
    #elif !defined(__x86_64__)
    #define SKP_WIDTH 2
    #else
    #define SKP_WIDTH 4
    #endif
    #endif
    #include <math.h>
    #include <stdint.h>
    #if SKP_WIDTH > 1 && defined(__x86_64__)
    #include <immintrin.h>
    #endif

    #if SKP_WIDTH == 1
    typedef double skp_lanes1;
    #define SKP_ALL(W, value) (value)
    #define SKP_FMA1(a, b, c) ((a) * (b) + (c))
    #define SKP_INLINE static inline
    #else
    #define SKP_TYPES(W) \
        typedef double skp_lanes##W __attribute__((vector_size(8 * W), aligned(8), may_alias)); \
        typedef float skp_floats##W __attribute__((vector_size(4 * W), aligned(4), may_alias));
    #define SKP_ALL(W, value) ((skp_lanes##W){0} + (value))
    #define SKP_INLINE static inline __attribute__((always_inline, unused))
    SKP_TYPES(2)
    #if defined(__aarch64__)
    #include <arm_neon.h>
    #define SKP_FMA2(a, b, c) (skp_lanes2)vfmaq_f64((float64x2_t)(c), (float64x2_t)(a), (float64x2_t)(b))
    #else
    #define SKP_FMA2(a, b, c) ((a) * (b) + (c))
    #endif
    #endif
    #if SKP_WIDTH == 4
    #define SKP_AVX2 __attribute__((unused, target("avx2,fma")))
    SKP_TYPES(4)
    #define SKP_FMA4(a, b, c) (skp_lanes4)_mm256_fmadd_pd((__m256d)(a), (__m256d)(b), (__m256d)(c))
    #endif
    #define SKP_READ(W, p) (*(const skp_lanes##W*)(p))
    #define SKP_WRITE(W, p) (*(skp_lanes##W*)(p))

    /* Clip to [-bound, bound], a NaN to either, and round toward zero; |bound| is at most 2^26, and 0 has no
       sign. Comparisons in this order are one minimum and one maximum. */
    static inline double skp_grid1(double value, double bound) {
        value = value < bound ? value : bound;
        return (double)(int32_t)(value > -bound ? value : -bound);
    }
    #if SKP_WIDTH > 1
    SKP_INLINE void skp_grid2(skp_lanes2* values, double bound) {
    #ifdef __x86_64__
        __m128d clipped = _mm_min_pd((__m128d)*values, _mm_set1_pd(bound));
        clipped = _mm_max_pd(clipped, _mm_set1_pd(-bound));
        *values = (skp_lanes2)_mm_cvtepi32_pd(_mm_cvttpd_epi32(clipped));
    #else
        for (int k = 0; k < 2; k++) (*values)[k] = skp_grid1((*values)[k], bound);
    #endif
    }
    #endif
    #if SKP_WIDTH == 4
    SKP_AVX2 SKP_INLINE void skp_grid4(skp_lanes4* values, double bound) {
        __m256d clipped = _mm256_min_pd((__m256d)*values, _mm256_set1_pd(bound));
        clipped = _mm256_max_pd(clipped, _mm256_set1_pd(-bound));
        clipped = _mm256_round_pd(clipped, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
        *values = (skp_lanes4)_mm256_add_pd(clipped, _mm256_setzero_pd());  /* -0 becomes 0 */
    }
    #endif

    /* Pack n rows, `width` apart, as integers (x, y, bound); return a sum that is not finite if a value is
       not, and perhaps if all are. Vectors reach beyond the end of a row, where centre and scale are 0: what
       they write there is overwritten, by y and the bound and by the rows that follow, or is 0. Where they
       would leave the table, values are taken one by one. */
    #define SKP_PACK(W, TARGET, REAL, LOAD) \
    TARGET static double skp_pack_##REAL##W( \
        const REAL* x, const double* y, Py_ssize_t n, Py_ssize_t d, const double* center, \
        const double* scale, double y_center, double y_scale, double bound, Py_ssize_t width, double* out \
    ) { \
        const Py_ssize_t reach = (d + W - 1) / W * W; \
        skp_lanes##W sums = SKP_ALL(W, 0.0); \
        double lanes[W], total = 0; \
        for (Py_ssize_t i = 0; i < n; i++, x += d, out += width) { \
            double offset = y[i] - y_center; \
            if ((n - i) * d >= reach) { \
                for (Py_ssize_t j = 0; j < d; j += W) { \
                    skp_lanes##W values = LOAD(W, x + j) - SKP_READ(W, center + j); \
                    sums += values; \
                    values *= SKP_READ(W, scale + j); \
                    SKP_GRID(W, values, bound); \
                    SKP_WRITE(W, out + j) = values; \
                } \
            } else { \
                for (Py_ssize_t j = 0; j < d; j++) { \
                    double value = x[j] - center[j]; \
                    total += value; \
                    out[j] = skp_grid1(value * scale[j], bound); \
                } \
            } \
            total += offset; \
            out[d] = skp_grid1(offset * y_scale, bound); \
            out[d + 1] = bound; \
        } \
        SKP_WRITE(W, lanes) = sums; \
        for (int k = 0; k < W; k++) total += lanes[k]; \
        return total; \
    }
    #if SKP_WIDTH == 1
    #define SKP_GRID(W, values, bound) values = skp_grid1(values, bound)
    #define SKP_READ_FLOAT(W, p) (*(p))
    #else
    #define SKP_GRID(W, values, bound) skp_grid##W(&values, bound)
    #define SKP_READ_FLOAT(W, p) __builtin_convertvector(*(const skp_floats##W*)(p), skp_lanes##W)
    #endif
    #define SKP_PACKS(W, TARGET) \
        SKP_PACK(W, TARGET, double, SKP_READ) \
        SKP_PACK(W, TARGET, float, SKP_READ_FLOAT)

    /* Four columns of `left` times N vectors of columns of `right`: 4 N sums stay in registers, of which
       every x86-64 has 16. */
    #define SKP_TILE(W, TARGET, N) \
    TARGET SKP_INLINE void skp_tile##W##_##N( \
        const double* left, const double* right, Py_ssize_t n, Py_ssize_t width, double* out \
    ) { \
        skp_lanes##W sums[4][N], values[N]; \
        for (int i = 0; i < 4; i++) \
            for (int v = 0; v < N; v++) sums[i][v] = SKP_READ(W, out + i * width + v * W); \
        for (Py_ssize_t k = 0; k < n * width; k += width) { \
            for (int v = 0; v < N; v++) values[v] = SKP_READ(W, right + k + v * W); \
            for (int i = 0; i < 4; i++) { \
                skp_lanes##W one = SKP_ALL(W, left[k + i]); \
                for (int v = 0; v < N; v++) sums[i][v] = SKP_FMA##W(one, values[v], sums[i][v]); \
            } \
        } \
        for (int i = 0; i < 4; i++) \
            for (int v = 0; v < N; v++) SKP_WRITE(W, out + i * width + v * W) = sums[i][v]; \
    }

    /* Tiles of 4 x 4 columns and, with AVX2, of 4 x 8 and 4 x 12, on and above the diagonal. One vector at a
       time waits for its own sums, so that 16 columns are two tiles of 8. */
    #if SKP_WIDTH == 4
    SKP_TILE(4, SKP_AVX2, 1)
    SKP_TILE(4, SKP_AVX2, 2)
    SKP_TILE(4, SKP_AVX2, 3)
    SKP_AVX2 static void skp_products4(
        const double* left, const double* right, Py_ssize_t n, Py_ssize_t width, double* out
    ) {
        for (Py_ssize_t i = 0; i < width; i += 4) {
            Py_ssize_t j = i;
            while (j < width) {
                Py_ssize_t rest = width - j, at = i * width + j;
                if (rest == 4) {
                    skp_tile4_1(left + i, right + j, n, width, out + at);
                    j += 4;
                } else if (rest == 8 || rest == 16) {
                    skp_tile4_2(left + i, right + j, n, width, out + at);
                    j += 8;
                } else {
                    skp_tile4_3(left + i, right + j, n, width, out + at);
                    j += 12;
                }
            }
        }
    }
    #endif
    #if SKP_WIDTH == 1
    SKP_PACKS(1, )
    SKP_TILE(1, , 4)
    #define SKP_TILE_4 skp_tile1_4
    #define SKP_NARROW 1
    #else
    SKP_PACKS(2, )
    SKP_TILE(2, , 2)
    #define SKP_TILE_4 skp_tile2_2
    #define SKP_NARROW 2
    #endif
    #define SKP_JOIN(name, W) name##W
    #define SKP_NAME(name, W) SKP_JOIN(name, W)
    #if SKP_WIDTH == 4
    SKP_PACKS(4, SKP_AVX2)
    static inline int skp_has_avx2(void) {
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    }
    #define SKP_WIDER(call) if (skp_has_avx2()) call
    #else
    #define SKP_WIDER(call)
    #endif

    #define SKP_DISPATCH(REAL) \
    static inline double skp_pack_##REAL( \
        const REAL* x, const double* y, Py_ssize_t n, Py_ssize_t d, const double* center, \
        const double* scale, double y_center, double y_scale, double bound, Py_ssize_t width, double* out \
    ) { \
        SKP_WIDER( \
            return skp_pack_##REAL##4(x, y, n, d, center, scale, y_center, y_scale, bound, width, out); \
        ) \
        return SKP_NAME(skp_pack_##REAL, SKP_NARROW)( \
            x, y, n, d, center, scale, y_center, y_scale, bound, width, out \
        ); \
    }
    SKP_DISPATCH(double)
    SKP_DISPATCH(float)

    /* Rows of a ball, of norm 1 after scaling: four values at a time, or one by one where they leave the
       table; the four sums are added up in one order. `v` has room for a row, vectors reach beyond the end
       of a row as above. The integers obey the bound exactly: their norm is compared without error, and while
       it is above the limit, all that are not 0 move toward 0 by 1. */
    #define SKP_SIZE(u) (squares ? (u) * (u) : fabs(u))
    #define SKP_SCALED(REAL, COUNT) \
        for (int k = 0; k < COUNT; k++) { \
            double u = x[j + k] - center[j + k]; \
            sums[k] += u; \
            u *= scale[j + k]; \
            u = u < far ? u : far; \
            v[j + k] = u = u > -far ? u : -far; \
            sizes[k] += SKP_SIZE(u); \
        }
    #define SKP_ROUNDED(COUNT) \
        for (int k = 0; k < COUNT; k++) { \
            out[j + k] = skp_grid1(v[j + k] * factor, bound); \
            sizes[k] += SKP_SIZE(out[j + k]); \
        }
    typedef double skp_four1[4];
    #define SKP_SCALED1(REAL) SKP_SCALED(REAL, 4)
    #define SKP_ROUNDED1 SKP_ROUNDED(4)
    #if SKP_WIDTH == 4
    typedef skp_lanes4 skp_four4;
    #define SKP_SIZES4(u) \
        if (squares) sizes += u * u; \
        else sizes += (skp_lanes4)_mm256_andnot_pd(_mm256_set1_pd(-0.0), (__m256d)u);
    #define SKP_SCALED4(REAL) { \
            skp_lanes4 u = SKP_READ4_##REAL(x + j) - SKP_READ(4, center + j); \
            sums += u; \
            u *= SKP_READ(4, scale + j); \
            u = (skp_lanes4)_mm256_min_pd((__m256d)u, _mm256_set1_pd(far)); \
            u = (skp_lanes4)_mm256_max_pd((__m256d)u, _mm256_set1_pd(-far)); \
            SKP_WRITE(4, v + j) = u; \
            SKP_SIZES4(u) \
        }
    #define SKP_ROUNDED4 { \
            skp_lanes4 u = SKP_READ(4, v + j) * factor; \
            skp_grid4(&u, bound); \
            SKP_WRITE(4, out + j) = u; \
            SKP_SIZES4(u) \
        }
    #define SKP_READ4_double(p) SKP_READ(4, p)
    #define SKP_READ4_float(p) SKP_READ_FLOAT(4, p)
    #endif
    #define SKP_BALL(W, TARGET, REAL, ORDER) \
    TARGET static double skp_ball_##REAL##W##_##ORDER( \
        const REAL* x, const double* y, Py_ssize_t n, Py_ssize_t d, const double* center, \
        const double* scale, double y_center, double y_scale, double bound, double far, double* v, \
        Py_ssize_t width, double* out \
    ) { \
        const int squares = ORDER == 2; \
        const double limit = squares ? bound * bound : bound; \
        skp_four##W sums = {0, 0, 0, 0}; \
        double total = 0; \
        for (Py_ssize_t i = 0; i < n; i++, x += d, out += width) { \
            const Py_ssize_t whole = (n - i) * d >= (d + 3) / 4 * 4 ? d : d - 3; \
            skp_four##W sizes = {0, 0, 0, 0}; \
            double size, factor, offset = y[i] - y_center; \
            Py_ssize_t j = 0; \
            for (; j < whole; j += 4) SKP_SCALED##W(REAL) \
            if (j < d) SKP_SCALED(REAL, d - j) \
            size = (sizes[0] + sizes[1]) + (sizes[2] + sizes[3]); \
            factor = size <= 1 ? bound : bound / (squares ? sqrt(size) : size); \
            for (int k = 0; k < 4; k++) sizes[k] = 0; \
            for (j = 0; j < whole; j += 4) SKP_ROUNDED##W \
            if (j < d) SKP_ROUNDED(d - j) \
            while ((sizes[0] + sizes[1]) + (sizes[2] + sizes[3]) > limit) { \
                for (int k = 0; k < 4; k++) sizes[k] = 0; \
                for (j = 0; j < d; j++) { \
                    out[j] -= (out[j] > 0) - (out[j] < 0); \
                    sizes[0] += SKP_SIZE(out[j]); \
                } \
            } \
            total += offset; \
            out[d] = skp_grid1(offset * y_scale, bound); \
            out[d + 1] = bound; \
        } \
        return total + ((sums[0] + sums[1]) + (sums[2] + sums[3])); \
    }
    #define SKP_BALLS(W, TARGET, REAL) \
        SKP_BALL(W, TARGET, REAL, 1) \
        SKP_BALL(W, TARGET, REAL, 2)
    SKP_BALLS(1, , double)
    SKP_BALLS(1, , float)
    #if SKP_WIDTH == 4
    SKP_BALLS(4, SKP_AVX2, double)
    SKP_BALLS(4, SKP_AVX2, float)
    #endif
    #define SKP_BALL_DISPATCH(REAL) \
    static inline double skp_ball_##REAL( \
        const REAL* x, const double* y, Py_ssize_t n, Py_ssize_t d, const double* center, \
        const double* scale, double y_center, double y_scale, double bound, double far, int squares, \
        double* v, Py_ssize_t width, double* out \
    ) { \
        double (*pack)( \
           const REAL*, const double*, Py_ssize_t, Py_ssize_t, const double*, const double*, double, double, \
            double, double, double*, Py_ssize_t, double* \
        ) = squares ? skp_ball_##REAL##1_2 : skp_ball_##REAL##1_1; \
        SKP_WIDER(pack = squares ? skp_ball_##REAL##4_2 : skp_ball_##REAL##4_1;) \
        return pack(x, y, n, d, center, scale, y_center, y_scale, bound, far, v, width, out); \
    }
    SKP_BALL_DISPATCH(double)
    SKP_BALL_DISPATCH(float)

    static inline void skp_products(
        const double* left, const double* right, Py_ssize_t n, Py_ssize_t width, double* out
    ) {
        SKP_WIDER({ skp_products4(left, right, n, width, out); return; })
        for (Py_ssize_t i = 0; i < width; i += 4)
            for (Py_ssize_t j = i; j < width; j += 4)
                SKP_TILE_4(left + i, right + j, n, width, out + i * width + j);
    }
    """
    # 1 where the compiler has no vectors.
    int LANES "SKP_WIDTH"
    # Packs n rows of d values, `width` apart, and returns a sum that is not finite where a value is not.
    double pack_double "skp_pack_double"(
        const double* x, const double* y, Py_ssize_t n, Py_ssize_t d, const double* center,
        const double* scale, double y_center, double y_scale, double bound, Py_ssize_t width, double* out
    ) noexcept nogil
    double pack_float "skp_pack_float"(
        const float* x, const double* y, Py_ssize_t n, Py_ssize_t d, const double* center,
        const double* scale, double y_center, double y_scale, double bound, Py_ssize_t width, double* out
    ) noexcept nogil
    # The same of a ball, with a bound that is far from overflow, whether squares count, and room for a row.
    double ball_double "skp_ball_double"(
        const double* x, const double* y, Py_ssize_t n, Py_ssize_t d, const double* center,
        const double* scale, double y_center, double y_scale, double bound, double far, bint squares,
        double* v, Py_ssize_t width, double* out
    ) noexcept nogil
    double ball_float "skp_ball_float"(
        const float* x, const double* y, Py_ssize_t n, Py_ssize_t d, const double* center,
        const double* scale, double y_center, double y_scale, double bound, double far, bint squares,
        double* v, Py_ssize_t width, double* out
    ) noexcept nogil
    # Adds left' right over n rows to `out`, on and above its diagonal; the width is a multiple of 4.
    void products "skp_products"(
        const double* left, const double* right, Py_ssize_t n, Py_ssize_t width, double* out
    ) noexcept nogil
