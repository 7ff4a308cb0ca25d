# SPDX-License-Identifier: BSD-3-Clause
"""A running sum is exact while denominators are short, and never below the exact sum."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skprivate.accounting._privacy_amounts import (
    EXACT_BITS,
    GRID_BITS,
    RunningSum,
    running_sum_from_text,
    running_sum_to_text,
    upper_sum,
)


def add(amounts):
    total = RunningSum()
    for amount in amounts:
        total = total.plus(amount)
    return total


@given(st.lists(st.floats(0, 1e300) | st.decimals(0, 1000, places=12), max_size=20))
def test_floats_and_decimals_are_exact(amounts):
    amounts = [Fraction(amount) for amount in amounts]
    total = add(amounts)
    assert total.upper == sum(amounts)
    assert not total.rounded


long = st.integers(2**900, 2**1400).map(lambda denominator: Fraction(1, denominator | 1))


@given(st.lists(long | st.fractions(min_value=0, max_value=3), max_size=12))
def test_the_bound_is_never_below_and_hardly_above(amounts):
    total = add(amounts)
    assert 0 <= total.upper - sum(amounts) <= Fraction(len(amounts), 2**GRID_BITS)
    assert total.exact.denominator.bit_length() <= EXACT_BITS
    assert running_sum_from_text(running_sum_to_text(total)) == total


def test_add_up():
    assert upper_sum([]) == 0
    assert upper_sum([Fraction(1, 3)] * 3) == 1
    assert 0 < upper_sum([Fraction(1, 7**900)] * 2) - Fraction(2, 7**900) < Fraction(2, 2**GRID_BITS)


def test_a_sum_that_is_the_ceiling_is_exact():
    assert add([Fraction(1, 10)] * 10).upper == 1
    assert add([Fraction(1, n) for n in range(2, 40)] + [Fraction(0.1)]).rounded == 0


@pytest.mark.parametrize("text", [None, 1, "", "1/2", "+", "1/2+", "1/0+0", "1/2+-1", "1/2+1/2", "1/2+0+0"])
def test_other_texts_are_refused(text):
    with pytest.raises(ValueError, match="amount"):
        running_sum_from_text(text)
