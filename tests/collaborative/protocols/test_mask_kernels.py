# SPDX-License-Identifier: BSD-3-Clause
"""Masked rows against Python's whole numbers."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from skprivate.collaborative._protocols.mask_kernels import mask_rows

RING = 2**256
#: Carries that run through all words, in both directions, and the extremes of what a word holds.
words = st.one_of(
    st.sampled_from([0, 1, -1, 2**32 - 1, 2**32, -(2**32), 2**62 - 1, -(2**62)]),
    st.integers(-(2**62), 2**62 - 1),
)
masks = st.one_of(st.sampled_from([bytes(64), b"\xff" * 64]), st.binary(min_size=64, max_size=64))


def numbers_of(row):
    """The two whole numbers that 16 words stand for."""
    return [sum(int(row[half + place]) << 32 * place for place in range(8)) for half in (0, 8)]


def read(text, row):
    return [int.from_bytes(text[64 * row + half : 64 * row + half + 32], "little") for half in (0, 32)]


@given(st.data(), st.integers(1, 4), st.integers(0, 5))
def test_rows_are_masked_modulo_2_to_the_256(data, n_rows, n_peers):
    rows = [data.draw(st.lists(words, min_size=16, max_size=16)) for _ in range(n_rows)]
    streams = [b"".join(data.draw(masks) for _ in range(n_rows)) for _ in range(n_peers)]
    n_before = data.draw(st.integers(0, n_peers))
    out = bytearray(b"\xaa" * 64 * n_rows)
    mask_rows(np.array(rows), b"".join(streams), n_before, out)
    for place, row in enumerate(rows):
        expected = numbers_of(row)
        for peer, stream in enumerate(streams):
            sign = -1 if peer < n_before else 1
            expected = [a + sign * b for a, b in zip(expected, read(stream, place), strict=True)]
        assert read(out, place) == [number % RING for number in expected]
