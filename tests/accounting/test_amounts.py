# SPDX-License-Identifier: BSD-3-Clause
"""Amounts are exact, in memory and as text."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skprivate.accounting import PrivacyLedger
from skprivate.accounting._privacy_amounts import (
    Remaining,
    Spent,
    from_hex,
    from_text,
    show,
    show_pair,
    to_hex,
    to_text,
)
from skprivate.base import PlannedCost

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


@pytest.mark.parametrize(
    ("amount", "up", "down"),
    [
        (Fraction(73786976294837455043, 2**64), "4", "3.99999"),
        (4 + Fraction(1, 2**64), "4.00001", "4"),
        (Fraction(1, 3), "0.333334", "0.333333"),
        (Fraction(2, 3) / 10**6, "6.66667e-07", "6.66666e-07"),
        (Fraction(1234567, 1), "1.23457e+06", "1.23456e+06"),
        (0.1, "0.1", "0.1"),
        (Fraction(1, 10), "0.1", "0.1"),
        # A fit of epsilon=0.9, which is above 9/10, would be refused.
        (1 - Fraction(0.1), "0.9", "0.899999"),
        (Fraction(-1, 3), "-0.333333", "-0.333334"),
        (Fraction(0), "0", "0"),
        (float("inf"), "inf", "inf"),
    ],
)
def test_what_is_spent_is_printed_rounded_up_and_what_is_left_rounded_down(amount, up, down):
    assert (show(amount), show(amount, down=True)) == (up, down)
    assert show_pair(amount, 0, down=True) == f"epsilon = {down}, delta = 0"
    assert str(Spent(amount, amount)) == f"Spent(epsilon={up}, delta={up})"
    assert str(Remaining(amount, amount)) == f"Remaining(epsilon={down}, delta={down})"
    assert Spent(amount, 0) == Remaining(amount, 0) == (amount, 0)


@given(st.fractions(min_value=Fraction(1, 10**9), max_value=10**9))
def test_a_printed_amount_is_never_a_wrong_claim(amount):
    for text, sign in ((show(amount), 1), (show(amount, down=True), -1)):
        # Read as a decimal, or as the float that Python makes of it.
        assert max(sign * (Fraction(read) - amount) for read in (text, float(text))) >= 0
        assert abs(Fraction(text) - amount) <= amount / 10**5


def test_objects_print_their_amounts_as_numbers_and_hold_exact_ones(tenth, tmp_path):
    ledger = PrivacyLedger(tmp_path / "study.ledger", epsilon=1)
    ledger.charge(tenth, "Tree")
    cost = PlannedCost(epsilon=Fraction(1, 3), relation="replace-one")
    for thing in (tenth, ledger.entries()[0], ledger.composition(), ledger.spent(), ledger.remaining(), cost):
        assert "Fraction(" not in repr(thing)
    assert (tenth.epsilon, ledger.spent(), ledger.remaining()) == (
        Fraction(1, 10),
        (Fraction(1, 10), 0),
        (Fraction(9, 10), 0),
    )
