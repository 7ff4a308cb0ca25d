# SPDX-License-Identifier: BSD-3-Clause
"""Reports of one bit per category, eight in a byte, the lowest first; and the counts of many."""

from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memcpy, memset

from ..noise._stream_kernels cimport WordStream, bit_length, popcount

# Largest number of rows for eight-bit counters.
cdef int FULL = 255
cdef uint64_t EACH_BYTE = 0x0101010101010101ULL


cdef inline uint64_t load(const uint8_t* start, Py_ssize_t n_bytes) noexcept nogil:
    cdef uint64_t word = 0
    if n_bytes >= 8:
        memcpy(&word, start, 8)
    else:
        memcpy(&word, start, n_bytes)
    return word


cdef inline bint has_bit(const uint8_t* row, uint64_t k) noexcept nogil:
    return (row[k >> 3] >> (k & 7)) & 1


cdef inline void set_bit(uint8_t* row, uint64_t k) noexcept nogil:
    row[k >> 3] |= <uint8_t> (1 << (k & 7))


# ---------------------------------------------------------------------------------------------------------
# Subset selection
# ---------------------------------------------------------------------------------------------------------
cdef inline uint64_t scaled_below(
    WordStream stream, uint64_t n, int width
) except? 0xFFFFFFFFFFFFFFFF nogil:
    """Uniform in [0, n) from blocks of `width` bits, n <= 2^width and width + bit_length(n) <= 64.

    A block x is drawn again if n x modulo 2^width is below 2^width mod n. Of the others, floor(n x / 2^width)
    maps the same number to each value (Lemire, Fast random integer generation in an interval, 2019). Fewer
    blocks are rejected than with the smallest width, so the branch is easy to predict.
    """
    cdef uint64_t size = <uint64_t> 1 << width
    cdef uint64_t product = n * stream.bits(width)
    while (product & (size - 1)) < n:
        if (product & (size - 1)) >= size % n:
            break
        product = n * stream.bits(width)
    return product >> width


cdef inline uint64_t wrap(uint64_t position, uint64_t n) noexcept nogil:
    return position - n if position >= n else position


def randomize_subset(
    const int64_t[::1] categories,
    uint64_t n_categories,
    uint64_t subset_size,
    uint64_t threshold,
    WordStream stream not None,
    uint8_t[:, ::1] out,
):
    """Fill each row with a subset: the category if a word is below the threshold, the rest uniform.

    The others are numbered from the category on, so that no draw depends on it. Floyd's algorithm: after step
    j the chosen numbers are a uniform subset of 0..j, because j is chosen unless a new number was drawn.
    """
    cdef:
        Py_ssize_t i
        uint64_t n_others = n_categories - 1
        uint64_t first, chosen, j, drawn, last
        uint8_t* row
        int bits = bit_length(n_others)
        int width = min(bits + 6, 64 - bits)
    with nogil:
        for i in range(categories.shape[0]):
            row = &out[i, 0]
            memset(row, 0, out.shape[1])
            chosen = subset_size
            if stream.bernoulli(threshold):
                set_bit(row, <uint64_t> categories[i])
                chosen -= 1
            first = <uint64_t> categories[i] + 1
            for j in range(n_others - chosen, n_others):
                drawn = wrap(first + scaled_below(stream, j + 1, width), n_categories)
                last = wrap(first + j, n_categories)
                set_bit(row, last if has_bit(row, drawn) else drawn)


# ---------------------------------------------------------------------------------------------------------
# Unary encoding
# ---------------------------------------------------------------------------------------------------------
# Geometric skips from one 1 to the next would need logarithms, which are not exact. Comparing digits is exact
# in integers and faster: 64 bits take 4 words and 8 bits, while at epsilon 1 they hold 17 ones.
cdef inline uint64_t rare_bits(WordStream stream, uint64_t threshold) except? 0xFFFFFFFFFFFFFFFF nogil:
    """64 bits, each 1 iff its own uniform 64-bit number is not below the threshold.

    All numbers are compared with the threshold digit by digit, the highest first. At a digit 1 of the
    threshold, numbers that drew 0 are below it. At a digit 0, numbers that drew 1 are not. The others stay
    undecided. The few that are undecided after four digits continue one by one.
    """
    cdef:
        uint64_t ones = 0
        uint64_t undecided = 0xFFFFFFFFFFFFFFFFULL
        uint64_t drawn, lane
        int digit
    for digit in range(63, 59, -1):
        drawn = stream.word()
        if (threshold >> digit) & 1:
            undecided &= drawn
        else:
            ones |= undecided & drawn
            undecided &= ~drawn
    while undecided:
        lane = undecided & (~undecided + 1)
        undecided ^= lane
        for digit in range(59, -1, -1):
            drawn = stream.bits(1)
            if drawn != (threshold >> digit) & 1:
                break
        else:
            # Equal to the threshold.
            drawn = 1
        if drawn:
            ones |= lane
    return ones


def randomize_unary(
    const int64_t[::1] categories,
    uint64_t n_categories,
    uint64_t threshold,
    WordStream stream not None,
    uint8_t[:, ::1] out,
):
    """Fill each row with bits that are 1 with probability 1 - threshold / 2^64, the category's own by a coin.

    The own bit is first drawn like all others and then replaced, so that no draw depends on the category.
    """
    cdef:
        Py_ssize_t i, start
        Py_ssize_t width = out.shape[1]
        uint64_t noise
        uint64_t padding = 8 * <uint64_t> width - n_categories
        uint64_t category
        uint8_t mask, coin
        uint8_t* row
    with nogil:
        for i in range(categories.shape[0]):
            row = &out[i, 0]
            for start in range(0, width, 8):
                noise = rare_bits(stream, threshold)
                if width - start >= 8:
                    memcpy(row + start, &noise, 8)
                else:
                    memcpy(row + start, &noise, width - start)
            row[width - 1] &= <uint8_t> (0xFF >> padding)
            category = <uint64_t> categories[i]
            mask = <uint8_t> (1 << (category & 7))
            coin = <uint8_t> (stream.bits(1) << (category & 7))
            row[category >> 3] = (row[category >> 3] & ~mask) | coin


# ---------------------------------------------------------------------------------------------------------
# Counts
# ---------------------------------------------------------------------------------------------------------
def count_bits(
    const uint8_t[:, ::1] reports, int64_t n_ones, uint64_t[:, ::1] lanes, int64_t[:, :, ::1] counts
):
    """Add each report's bits to the counts of (word, bit of a byte, byte).

    False: a report does not have n_ones ones; -1 allows any number. `lanes`, zeros of shape (number of words,
    8), counts the bits of a byte for all bytes of a word at once.
    """
    cdef:
        Py_ssize_t i, w
        Py_ssize_t width = reports.shape[1]
        int rows = 0
        int shift
        int64_t ones
        uint64_t word
        bint possible = True
    with nogil:
        for i in range(reports.shape[0]):
            ones = 0
            for w in range(lanes.shape[0]):
                word = load(&reports[i, 8 * w], width - 8 * w)
                ones += <int64_t> popcount(word)
                for shift in range(8):
                    lanes[w, shift] += (word >> shift) & EACH_BYTE
            if n_ones >= 0 and ones != n_ones:
                possible = False
                break
            rows += 1
            if rows == FULL:
                flush(lanes, counts)
                rows = 0
        flush(lanes, counts)
    return possible


cdef void flush(uint64_t[:, ::1] lanes, int64_t[:, :, ::1] counts) noexcept nogil:
    """Move the eight-bit counters to the counts."""
    cdef Py_ssize_t w, shift, byte
    cdef uint8_t parts[8]
    for w in range(lanes.shape[0]):
        for shift in range(8):
            # As bytes in memory, for any order of bytes in a word.
            memcpy(parts, &lanes[w, shift], 8)
            lanes[w, shift] = 0
            for byte in range(8):
                counts[w, shift, byte] += parts[byte]
