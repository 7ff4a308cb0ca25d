# SPDX-License-Identifier: BSD-3-Clause
"""Sums of products of two tables' columns, compiled for several widths of vectors.

Where all values and sums are integers below 2^53, as for the moments, no addition rounds: then the sums are
equal bit for bit whatever the width, the order of addition, and whether products are fused into sums.
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
    #if SKP_WIDTH == 4
    #include <immintrin.h>
    #endif

    #if SKP_WIDTH == 1
    typedef double skp_lanes1;
    #define SKP_ALL(W, value) (value)
    #define SKP_FMA1(a, b, c) ((a) * (b) + (c))
    #define SKP_INLINE static inline
    #else
    #define SKP_TYPES(W) \
        typedef double skp_lanes##W __attribute__((vector_size(8 * W), aligned(8), may_alias));
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
    SKP_TILE(1, , 4)
    #define SKP_TILE_4 skp_tile1_4
    #else
    SKP_TILE(2, , 2)
    #define SKP_TILE_4 skp_tile2_2
    #endif

    static void skp_products(
        const double* left, const double* right, Py_ssize_t n, Py_ssize_t width, double* out
    ) {
    #if SKP_WIDTH == 4
        if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
            skp_products4(left, right, n, width, out);
            return;
        }
    #endif
        for (Py_ssize_t i = 0; i < width; i += 4)
            for (Py_ssize_t j = i; j < width; j += 4)
                SKP_TILE_4(left + i, right + j, n, width, out + i * width + j);
    }
    """
    # 1 where the compiler has no vectors.
    int LANES "SKP_WIDTH"
    # Adds left' right over n rows to `out`, on and above its diagonal; the width is a multiple of 4.
    void products "skp_products"(
        const double* left, const double* right, Py_ssize_t n, Py_ssize_t width, double* out
    ) noexcept nogil
