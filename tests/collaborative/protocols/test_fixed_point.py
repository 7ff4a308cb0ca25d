# SPDX-License-Identifier: BSD-3-Clause
"""256-bit fixed point against Python's whole numbers."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skprivate.collaborative._protocols.masked_sum import (
    FRACTION_BITS,
    LIMIT,
    WORDS,
    settle,
    to_floats,
    to_words,
)

RING = 2**256
EXTREMES = [0.0, -0.0, 5e-324, -1e-300, 2.0**-129, 2.0**-128, -(2.0**-128), 3 * 2.0**-129, 1e-29, 0.1, -1.0]
EXTREMES += [1.0 - 2**-53, 2.0**32, -(2.0**32), 2.0**53 + 2, 1e18, -1e18, 1e30, np.nextafter(LIMIT, 0)]
floats = st.one_of(
    st.sampled_from([*EXTREMES, *(-value for value in EXTREMES)]),
    st.floats(-LIMIT, LIMIT, exclude_min=True, exclude_max=True),
)


def number_of(words):
    """The whole number that a row of words stands for."""
    return sum(int(word) << 32 * place for place, word in enumerate(words))


def steps_of(value):
    return round(Fraction(value) * 2**FRACTION_BITS)


@given(floats)
def test_words_are_the_nearest_step(value):
    assert number_of(to_words(np.array([value]))[0]) == steps_of(value)


@given(st.lists(floats, min_size=1, max_size=30))
def test_sums_are_exact_and_rounded_once(values):
    total = to_words(np.array(values)).sum(axis=0, keepdims=True)
    exact = sum(map(steps_of, values))
    assert number_of(settle(total, 0)[0]) == exact % RING
    nearest = exact / 2**FRACTION_BITS
    result = to_floats(total)[0]
    assert result == nearest or abs(result - nearest) <= 2 * np.spacing(abs(nearest))
    assert (result == 0) == (exact == 0)


@given(st.lists(st.integers(-(2**62), 2**62), min_size=WORDS, max_size=WORDS), st.sampled_from([0, -(2**31)]))
def test_settled_words_are_in_range_and_mean_the_same(words, lowest):
    settled = settle(np.array([words]), lowest)
    assert (settled >= lowest).all()
    assert (settled < lowest + 2**32).all()
    assert (number_of(settled[0]) - number_of(words)) % RING == 0


@given(st.integers(0, RING - 1), floats)
def test_a_mask_and_its_negative_cancel_exactly(mask, value):
    mask_words = np.array([[mask >> 32 * place & 0xFFFFFFFF for place in range(WORDS)]])
    plain = to_words(np.array([value]))
    masked = settle(plain + mask_words, 0)
    assert number_of(masked[0]) == (steps_of(value) + mask) % RING
    np.testing.assert_array_equal(to_floats(masked - mask_words), to_floats(plain))


def test_values_come_back_as_they_were_in_any_number_of_rows():
    rng = np.random.default_rng(0)
    values = rng.normal(size=2000) * 10.0 ** rng.uniform(-20, 29, size=2000)
    np.testing.assert_array_equal(to_floats(to_words(values)), values)
    rows = np.array([to_floats(to_words(values[i : i + 1]))[0] for i in range(100)])
    np.testing.assert_array_equal(rows, values[:100])
    assert to_floats(to_words(np.zeros(0))).shape == (0,)


@pytest.mark.parametrize("power", [-29, -12, 0, 12, 30])
def test_a_sum_is_right_to_nine_digits_in_units_from_1e_29_to_1e30(power):
    values = np.random.default_rng(1).uniform(0.1, 1.0, size=20) * 10.0**power
    total = to_floats(to_words(values).sum(axis=0, keepdims=True))[0]
    assert total == pytest.approx(values.sum(), rel=1e-9)
