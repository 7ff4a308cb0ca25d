# SPDX-License-Identifier: BSD-3-Clause
"""Masks added to rows of two numbers modulo 2^256, each of eight words of 32 bits, the lowest first."""

from libc.stdint cimport int64_t, uint8_t, uint32_t

cdef enum:
    WORDS = 8
    ROW_WORDS = 16
    ROW_BYTES = 64


cdef inline int64_t read_word(const uint8_t* place) noexcept nogil:
    return place[0] | <uint32_t> place[1] << 8 | <uint32_t> place[2] << 16 | <uint32_t> place[3] << 24


cdef inline void write_word(uint8_t* place, int64_t word) noexcept nogil:
    cdef Py_ssize_t byte
    for byte in range(4):
        place[byte] = <uint8_t> (word >> 8 * byte)


def mask_rows(const int64_t[:, ::1] rows, const uint8_t[::1] masks, Py_ssize_t n_before, uint8_t[::1] out):
    """Fill `out` with rows, less the masks of the first peers, plus those of the others.

    Parameters
    ----------
    rows : const int64_t[n_rows, 16]
        Two numbers in each, as words below 2^62 of any sign.
    masks : const uint8_t[n_peers * n_rows * 64]
        Of peer after peer, 16 words in little-endian order for each row.
    n_before : int
        How many peers' masks are subtracted.
    out : uint8_t[n_rows * 64]
        16 words in little-endian order for each row: the numbers from 0 to 2^256 - 1, all carries done.
    """
    cdef Py_ssize_t n_rows = rows.shape[0], size = n_rows * ROW_BYTES
    cdef Py_ssize_t n_peers = masks.shape[0] // size if size else 0
    cdef Py_ssize_t row, word, peer
    cdef int64_t total[ROW_WORDS]
    cdef int64_t carry
    cdef const uint8_t* mask
    if rows.shape[1] != ROW_WORDS or out.shape[0] != size or masks.shape[0] != n_peers * size or not size:
        raise ValueError
    with nogil:
        for row in range(n_rows):
            for word in range(ROW_WORDS):
                total[word] = rows[row, word]
            for peer in range(n_peers):
                mask = &masks[peer * size + row * ROW_BYTES]
                if peer < n_before:
                    for word in range(ROW_WORDS):
                        total[word] -= read_word(mask + 4 * word)
                else:
                    for word in range(ROW_WORDS):
                        total[word] += read_word(mask + 4 * word)
            carry = 0
            for word in range(ROW_WORDS):
                # A carry out of a number's highest word is a multiple of 2^256.
                carry = total[word] + (carry if word % WORDS else 0)
                write_word(&out[row * ROW_BYTES + 4 * word], carry)
                carry >>= 32
