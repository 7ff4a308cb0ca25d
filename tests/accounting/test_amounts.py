# SPDX-License-Identifier: BSD-3-Clause
"""Amounts are exact, in memory and as text."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skprivate.accounting._amounts import from_hex, from_text, to_hex, to_text

amounts = st.fractions(min_value=0)


@given(amounts)
def test_text_round_trip(value):
    assert from_text(to_text(value)) == value
    assert from_hex(to_hex(value)) == value


def test_sums_longer_than_pythons_limit_on_decimal_digits():
    total = Fraction(7**9000, 3**9000)
    assert from_hex(to_hex(total)) == total


@pytest.mark.parametrize(
    "text", ["", "1", "1/0", "1/2/3", "-1/2", " 1/2", "1/2\n", "1/\x00", "a/1", "٣/4", None, 1, b"1/2"]
)
def test_other_text_is_refused(text):
    with pytest.raises(ValueError, match="not an amount"):
        from_text(text)
