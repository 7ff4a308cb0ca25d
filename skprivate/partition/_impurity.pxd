# SPDX-License-Identifier: BSD-3-Clause
"""Scores of a split of labelled rows, and the exact comparison of two Gini scores."""

from libc.stdint cimport int64_t

# A Gini score is within 2^-51 of its true value, an entropy score within some 2^-50 of its largest term:
# scores closer than this share are left to integers, or are ties.
cdef extern from *:
    """
    #define SKPRIVATE_NEAR 1e-14
    """
    const double NEAR "SKPRIVATE_NEAR"


cdef struct Split:
    # Rows and sum of squared label counts of both sides.
    int64_t rows_left
    int64_t squares_left
    int64_t rows_right
    int64_t squares_right


cdef inline int compare_fractions(int64_t a, int64_t b, int64_t c, int64_t d) noexcept nogil:
    """Sign of a/b - c/d (a, c >= 0; b, d > 0) by Euclid's algorithm: their products could overflow."""
    cdef int sign = 1
    while a // b == c // d:
        a, c = a % b, c % d
        if a == 0 or c == 0:
            return sign * ((a > 0) - (c > 0))
        a, b, c, d = b, a, d, c
        sign = -sign
    return sign if a // b > c // d else -sign


cdef inline int64_t whole_part(Split* s) noexcept nogil:
    return s.squares_left // s.rows_left + s.squares_right // s.rows_right


cdef inline int64_t remainder(Split* s) noexcept nogil:
    """Rest of the score over rows_left * rows_right, at most half the cell's rows squared: it fits."""
    return s.squares_left % s.rows_left * s.rows_right + s.squares_right % s.rows_right * s.rows_left


cdef inline int compare_splits(Split* s, Split* t) noexcept nogil:
    """Sign of the difference of two Gini scores, exactly."""
    cdef int64_t base = s.rows_left * s.rows_right, base_t = t.rows_left * t.rows_right
    cdef int64_t rest = remainder(s), rest_t = remainder(t)
    cdef int64_t whole = whole_part(s) + rest // base, whole_t = whole_part(t) + rest_t // base_t
    if whole != whole_t:
        return 1 if whole > whole_t else -1
    return compare_fractions(rest % base, base, rest_t % base_t, base_t)


cdef inline double gini_score(Split* s) noexcept nogil:
    """Squares / rows, summed over both sides; higher is purer. One division is slower than products."""
    cdef double left = <double>s.rows_left, right = <double>s.rows_right
    return (<double>s.squares_left * right + <double>s.squares_right * left) / (left * right)


cdef inline bint is_purer(Split* s, double score, Split* best, double best_score) noexcept nogil:
    """Whether a split's Gini score is above the best one's; both are given as floats too, for speed."""
    if score < best_score * (1 - NEAR):
        return False
    return score >= best_score * (1 + NEAR) or compare_splits(s, best) > 0
