# SPDX-License-Identifier: BSD-3-Clause
"""The inline draws of `WordStream`, for the kernels that cimport it."""

cimport cython
from libc.stdint cimport uint64_t
from libc.string cimport memcpy


# A failed draw returns a value that a successful one (nearly) never returns, since the check for a pending
# exception behind it must take the GIL.
@cython.final
cdef class WordStream:
    cdef object _entropy
    cdef unsigned long _thread
    cdef bytes _chunk
    cdef bint _ours
    cdef const char* _cursor
    cdef Py_ssize_t _words_left
    cdef Py_ssize_t _planned
    cdef Py_ssize_t _top_up
    cdef uint64_t _reservoir
    cdef int _reservoir_size

    cdef int _wipe(self) except -1
    cdef int _refill(self) except -1 with gil

    cdef inline uint64_t word(self) except? 0xFFFFFFFFFFFFFFFF nogil:
        """64 fresh bits."""
        cdef uint64_t value
        if self._words_left == 0:
            self._refill()
        memcpy(&value, self._cursor, 8)
        self._cursor += 8
        self._words_left -= 1
        return value

    cdef inline uint64_t bits(self, int k) except? 0xFFFFFFFFFFFFFFFF nogil:
        """`k` fresh bits, 0 <= k <= 64; those left over from a word are kept for the next call."""
        cdef uint64_t value, fresh
        cdef int missing = k - self._reservoir_size
        if k == 64:
            return self.word()
        if missing <= 0:
            value = self._reservoir
            self._reservoir >>= k
            self._reservoir_size = -missing
        else:
            # 1 <= missing <= 63, since k < 64: no shift by the full width.
            fresh = self.word()
            value = self._reservoir | (fresh << self._reservoir_size)
            self._reservoir = fresh >> missing
            self._reservoir_size = 64 - missing
        return value & ((<uint64_t> 1 << k) - 1)

    cdef inline uint64_t below_within(self, uint64_t n, int k) except? 0xFFFFFFFFFFFFFFFF nogil:
        """Uniform in [0, n) from blocks of `k` bits; needs 1 <= n <= 2^k."""
        cdef uint64_t value = self.bits(k)
        # A block is uniform in [0, 2^k); kept only below n, it is uniform there.
        while value >= n:
            value = self.bits(k)
        return value

    cdef inline uint64_t below(self, uint64_t n) except? 0xFFFFFFFFFFFFFFFF nogil:
        """Uniform in [0, n), n >= 1."""
        return self.below_within(n, bit_length(n - 1))

    cdef inline int bernoulli(self, uint64_t threshold) except -1 nogil:
        """1 with probability threshold / 2^64, else 0."""
        cdef uint64_t head = threshold >> 48
        cdef uint64_t value = self.bits(16)
        # A uniform 64-bit word compares with the threshold by its first 16 bits unless these are equal.
        if value != head:
            return value < head
        return self.bits(48) < (threshold & 0xFFFFFFFFFFFFULL)


cdef inline int bit_length(uint64_t n) noexcept nogil:
    """Smallest k with n < 2^k."""
    cdef int k = 0
    while n:
        n >>= 1
        k += 1
    return k


cdef inline uint64_t popcount(uint64_t x) noexcept nogil:
    """Number of ones, by sums in fields of 2, 4 and 8 bits; the product adds the bytes."""
    x -= (x >> 1) & 0x5555555555555555ULL
    x = (x & 0x3333333333333333ULL) + ((x >> 2) & 0x3333333333333333ULL)
    x = (x + (x >> 4)) & 0x0F0F0F0F0F0F0F0FULL
    return (x * 0x0101010101010101ULL) >> 56


cdef extern from *:
    """
    #if defined(_MSC_VER) && !defined(__clang__)
    #include <intrin.h>
    static int skprivate_lowest_bit(unsigned long long x) {
        unsigned long k;
        return _BitScanForward(&k, (unsigned long) x) ? (int) k
            : (_BitScanForward(&k, (unsigned long) (x >> 32)), 32 + (int) k);
    }
    #else
    #define skprivate_lowest_bit(x) __builtin_ctzll(x)
    #endif
    """
    # Place of the lowest one; x is not 0.
    int lowest_bit "skprivate_lowest_bit"(uint64_t x) noexcept nogil
