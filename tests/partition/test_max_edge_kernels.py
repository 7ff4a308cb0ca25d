# SPDX-License-Identifier: BSD-3-Clause
"""Exact comparison of Gini scores where floats are blind."""

import math
from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from skprivate.partition._max_edge_kernels import choose_by_gini


def test_gini_tie_that_floats_get_wrong():
    # 20/6 + 4/2 and 26/6 + 2/2 are both 16/3 in fractions, and differ in the last place in floats.
    total = np.array([[2, 6]], dtype=np.int32)
    right = np.array([[[1, 0], [1, 2]]], dtype=np.int32)
    for counts in (right, right[:, :, ::-1].copy()):
        feature = np.empty(1, dtype=np.int32)
        choose_by_gini(counts, total, np.ones((1, 2), dtype=np.uint8), feature)
        assert feature[0] == 0


def gini_fraction(total, right):
    sides = right, [t - r for t, r in zip(total, right, strict=True)]
    return sum(Fraction(sum(c * c for c in side), max(sum(side), 1)) for side in sides)


@settings(deadline=None, max_examples=300)
@given(
    total=st.lists(st.integers(2 * 10**8, 10**9), min_size=2, max_size=2),
    shares=st.tuples(st.integers(1, 15), st.integers(1, 15)),
    shifts=st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3)), min_size=2, max_size=6),
)
def test_gini_is_exact_at_large_counts(total, shares, shifts):
    # Splits that move up to three rows of hundreds of millions: floats see many as equal.
    splits = [[t * w // 16 + s for t, w, s in zip(total, shares, shift, strict=True)] for shift in shifts]
    scores = [gini_fraction(total, right) for right in splits]
    feature = np.empty(1, dtype=np.int32)
    right = np.ascontiguousarray(np.array([splits], dtype=np.int32).transpose(0, 2, 1))
    allowed = np.ones((1, len(splits)), dtype=np.uint8)
    choose_by_gini(right, np.array([total], dtype=np.int32), allowed, feature)
    assert feature[0] == scores.index(max(scores))


def test_gini_is_exact_across_a_whole_number():
    # With k^2 + 2 rows the uncut cell scores a whole number less 1 / rows; cutting off two rows reaches it.
    k = 30001
    total = [(k * k + 2 + k) // 2, (k * k + 2 - k) // 2]
    scores = [gini_fraction(total, right) for right in ([0, 0], [1, 1])]
    assert math.floor(scores[0]) < scores[1] == math.ceil(scores[0])
    assert float(scores[0]) == float(scores[1])
    right, feature = np.array([[[0, 1], [0, 1]]], dtype=np.int32), np.empty(1, dtype=np.int32)
    choose_by_gini(right, np.array([total], dtype=np.int32), np.ones((1, 2), dtype=np.uint8), feature)
    assert feature[0] == 1
