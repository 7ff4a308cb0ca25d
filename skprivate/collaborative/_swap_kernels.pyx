# SPDX-License-Identifier: BSD-3-Clause
"""Bounded swaps of the values of every row, and sums that do not depend on the order of their terms."""

from libc.math cimport fabs
from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from ..noise._stream_kernels cimport WordStream

cdef enum:
    FEWEST = 0
    TOP = 2

cdef uint64_t STEP = 0x9E3779B97F4A7C15ULL
cdef uint32_t OUT = 0xFFFFFFFFU
# A power of two, so that nothing is rounded.
cdef double SHRINK = 1.0 / (1 << 64)


# ---------------------------------------------------------------------------------------------------------
# Random choices
# ---------------------------------------------------------------------------------------------------------
cdef inline uint64_t mix(uint64_t z) noexcept nogil:
    """Scramble 64 bits: the finaliser of splitmix64 (Steele, Lea and Flood, 2014), a bijection."""
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL
    return z ^ (z >> 31)


cdef inline uint64_t hash_row(uint64_t seed, const double* row, Py_ssize_t m) noexcept nogil:
    """Start of the counter of a seeded row: a function of the seed and the row's values."""
    cdef Py_ssize_t j
    cdef double value
    cdef uint64_t bits
    cdef uint64_t state = mix(seed + STEP)
    for j in range(m):
        # Equal values must have equal bits: -0.0 becomes 0.0.
        value = row[j] + 0.0
        memcpy(&bits, &value, 8)
        state = mix((state ^ bits) + STEP)
    return state


cdef inline uint64_t seeded_below(uint64_t* counter, uint64_t n) noexcept nogil:
    """Uniform in [0, n) for uniform words, 1 <= n < 2^32.

    Of the 2^32 halves x, floor(n x / 2^32) maps equally many to each number once those whose product is
    below 2^32 mod n, modulo 2^32, are drawn again (Lemire, 2019).
    """
    cdef uint64_t product
    while True:
        counter[0] += STEP
        product = n * (mix(counter[0]) >> 32)
        if <uint32_t> product >= n or <uint32_t> product >= (<uint64_t> 1 << 32) % n:
            return product >> 32


cdef inline Py_ssize_t below(WordStream stream, uint64_t* counter, Py_ssize_t n) except -1 nogil:
    """Uniform in [0, n), n >= 1: from the stream, or from the counter where there is none."""
    if n == 1:
        return 0
    if stream is None:
        return <Py_ssize_t> seeded_below(counter, <uint64_t> n)
    return <Py_ssize_t> stream.below(<uint64_t> n)


# ---------------------------------------------------------------------------------------------------------
# Bounded swapping
# ---------------------------------------------------------------------------------------------------------
# Ranks r and s may be swapped where lower <= |r - s| <= upper. `partners[r]` is the number of free ranks that
# the free rank r may be swapped with, and 0 for a rank that is swapped. A rank whose number falls to 0 stays
# out for good, and it is a partner of nobody: the relation is symmetric.
cdef inline void rank_descending(const double* row, Py_ssize_t m, int32_t* ranked) noexcept nogil:
    """Fill in the positions from the largest value to the smallest; equal values keep their order."""
    cdef Py_ssize_t j, k, rank
    # Counted without a branch: for a few dozen values faster than a sort, whose comparisons nobody predicts.
    for j in range(m):
        rank = 0
        for k in range(j):
            rank += row[k] >= row[j]
        for k in range(j + 1, m):
            rank += row[k] > row[j]
        ranked[rank] = <int32_t> j


cdef inline void count_partners(
    Py_ssize_t m, Py_ssize_t lower, Py_ssize_t upper, int32_t* partners
) noexcept nogil:
    cdef Py_ssize_t r
    for r in range(m):
        partners[r] = <int32_t> (
            max(min(r, upper) - lower + 1, 0) + max(min(m - 1 - r, upper) - lower + 1, 0)
        )


cdef inline Py_ssize_t choose_rank(
    const int32_t* partners, Py_ssize_t m, int order, WordStream stream, uint64_t* counter
) except -2 nogil:
    """The next rank to swap, -1 if none is left."""
    cdef Py_ssize_t r
    cdef Py_ssize_t skip = 0
    # Less one, as unsigned, the number of a rank that is out is the greatest of all: it never qualifies.
    cdef uint32_t most = OUT - 1
    if order == FEWEST:
        for r in range(m):
            most = min(most, <uint32_t> partners[r] - 1)
    if order != TOP:
        for r in range(m):
            skip += <uint32_t> partners[r] - 1 <= most
        if skip == 0:
            return -1
        skip = below(stream, counter, skip)
    for r in range(m):
        if <uint32_t> partners[r] - 1 <= most:
            if skip == 0:
                return r
            skip -= 1
    return -1


cdef inline Py_ssize_t find_partner(
    const int32_t* partners,
    Py_ssize_t m,
    Py_ssize_t rank,
    Py_ssize_t lower,
    Py_ssize_t upper,
    Py_ssize_t skip,
) noexcept nogil:
    """The free partner of a rank behind so many others."""
    cdef Py_ssize_t r
    for r in range(max(rank - upper, 0), rank - lower + 1):
        if partners[r] > 0:
            if skip == 0:
                return r
            skip -= 1
    for r in range(rank + lower, min(rank + upper, m - 1) + 1):
        if partners[r] > 0:
            if skip == 0:
                return r
            skip -= 1
    return -1


cdef inline void retire(
    int32_t* partners, Py_ssize_t m, Py_ssize_t rank, Py_ssize_t lower, Py_ssize_t upper
) noexcept nogil:
    cdef Py_ssize_t r
    partners[rank] = 0
    for r in range(max(rank - upper, 0), rank - lower + 1):
        partners[r] -= partners[r] > 0
    for r in range(rank + lower, min(rank + upper, m - 1) + 1):
        partners[r] -= partners[r] > 0


def swap_rows(
    const double[:, ::1] values,
    Py_ssize_t lower,
    Py_ssize_t upper,
    int order,
    WordStream stream,
    uint64_t seed,
    int32_t[:, ::1] scratch,
    double[:, ::1] out,
):
    """Fill `out` with the swapped rows; without a stream, a row's swap is a function of the seed and the row.

    `order` is 0 for the rank with the fewest partners, 1 for a random one, 2 for the highest; `scratch` has
    three rows of at least one row's length. Values must not be NaN; 1 <= lower <= upper < m or m <= lower.
    """
    cdef:
        Py_ssize_t i, rank, partner
        Py_ssize_t m = values.shape[1]
        const double* row
        uint64_t counter = 0
        int32_t* ranked = &scratch[0, 0]
        int32_t* partners = &scratch[1, 0]
        int32_t* all_partners = &scratch[2, 0]
    with nogil:
        count_partners(m, lower, upper, all_partners)
        for i in range(values.shape[0]):
            row = &values[i, 0]
            memcpy(&out[i, 0], row, m * sizeof(double))
            memcpy(partners, all_partners, m * sizeof(int32_t))
            rank_descending(row, m, ranked)
            if stream is None:
                counter = hash_row(seed, row, m)
            while True:
                rank = choose_rank(partners, m, order, stream, &counter)
                if rank < 0:
                    break
                partner = below(stream, &counter, partners[rank])
                partner = find_partner(partners, m, rank, lower, upper, partner)
                retire(partners, m, rank, lower, upper)
                retire(partners, m, partner, lower, upper)
                out[i, ranked[rank]] = row[ranked[partner]]
                out[i, ranked[partner]] = row[ranked[rank]]


# ---------------------------------------------------------------------------------------------------------
# Sums
# ---------------------------------------------------------------------------------------------------------
cdef inline double exact_sum(
    const double* terms, Py_ssize_t n, double scale, double* parts
) noexcept nogil:
    """The sum of scale * terms, rounded once: the same in every order of the terms.

    `parts`, of room for n, holds numbers whose sum is exact and whose digits do not overlap, the smallest
    first: every term is added to each, and what rounding would lose stays behind (Shewchuk, 1997).
    """
    cdef Py_ssize_t j, k, kept
    cdef Py_ssize_t n_parts = 0
    cdef double carry, other, total, lost
    for j in range(n):
        carry = scale * terms[j]
        kept = 0
        for k in range(n_parts):
            other = parts[k]
            total = carry + other
            lost = other - (total - carry) if fabs(carry) >= fabs(other) else carry - (total - other)
            carry = total
            if lost != 0:
                parts[kept] = lost
                kept += 1
        parts[kept] = carry
        n_parts = kept + 1
    return round_parts(parts, n_parts)


cdef inline double round_parts(const double* parts, Py_ssize_t n_parts) noexcept nogil:
    cdef Py_ssize_t k
    cdef double total, lost, twice
    if n_parts == 0:
        return 0.0
    total = parts[n_parts - 1]
    for k in range(n_parts - 2, -1, -1):
        twice = total + parts[k]
        lost = parts[k] - (twice - total)
        total = twice
        if lost != 0:
            # A tie was rounded to even; what follows, if it has the sign of the loss, breaks the tie.
            if k > 0 and (lost > 0) == (parts[k - 1] > 0):
                twice = 2 * lost
                if (total + twice) - total == twice:
                    total += twice
            break
    return total


def synthesize_rows(
    const double[:, ::1] values,
    const uint8_t[:, ::1] active,
    const double[::1] weights,
    double[::1] scratch,
    double[::1] out,
):
    """Fill `out` with the sum of a row's active values over that of the active weights; 0 where none is.

    `scratch` has room for two rows.
    """
    cdef:
        Py_ssize_t i, j, n_active
        Py_ssize_t m = values.shape[1]
        double weight, largest, scale
        double* terms = &scratch[0]
    with nogil:
        for i in range(values.shape[0]):
            n_active = 0
            weight = 0
            largest = 0
            for j in range(m):
                if active[i, j]:
                    terms[n_active] = values[i, j]
                    largest = max(largest, fabs(values[i, j]))
                    weight += weights[j]
                    n_active += 1
            # Near the largest float the sum would overflow where the average does not.
            scale = 1.0 if largest < 1e280 else SHRINK
            out[i] = exact_sum(terms, n_active, scale, terms + m) / weight / scale if n_active else 0.0
