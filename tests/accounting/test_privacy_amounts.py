# SPDX-License-Identifier: BSD-3-Clause
"""Amounts are exact, in memory and as text; a running sum is never below the exact one."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skprivate.accounting import PrivacyLedger
from skprivate.accounting._privacy_amounts import (
    EXACT_BITS,
    GRID_BITS,
    Remaining,
    RunningSum,
    Spent,
    from_hex,
    from_text,
    running_sum_from_text,
    running_sum_to_text,
    show,
    show_pair,
    to_hex,
    to_text,
    upper_sum,
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
    ("amount", "up", "down"),
    [
        *((Fraction(73786976294837455043, 2**64), "4", "3.99999"), (4 + Fraction(1, 2**64), "4.00001", "4")),
        *((Fraction(1, 3), "0.333334", "0.333333"), (Fraction(-1, 3), "-0.333333", "-0.333334")),
        *((Fraction(2, 3) / 10**6, "6.66667e-07", "6.66666e-07"), (1234567, "1.23457e+06", "1.23456e+06")),
        *((0.1, "0.1", "0.1"), (Fraction(1, 10), "0.1", "0.1"), (Fraction(0), "0", "0")),
        # A fit of epsilon=0.9, which is above 9/10, would be refused.
        *((1 - Fraction(0.1), "0.9", "0.899999"), (float("inf"), "inf", "inf")),
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


def add_up(amounts):
    total = RunningSum()
    for amount in amounts:
        total = total.plus(amount)
    return total


@given(st.lists(st.floats(0, 1e300) | st.decimals(0, 1000, places=12), max_size=20))
def test_sums_of_floats_and_decimals_are_exact(amounts):
    amounts = [Fraction(amount) for amount in amounts]
    total = add_up(amounts)
    assert total.upper == sum(amounts)
    assert not total.rounded


long = st.integers(2**900, 2**1400).map(lambda denominator: Fraction(1, denominator | 1))


@given(st.lists(long | st.fractions(min_value=0, max_value=3), max_size=12))
def test_a_running_sum_is_never_below_and_hardly_above(amounts):
    total = add_up(amounts)
    assert 0 <= total.upper - sum(amounts) <= Fraction(len(amounts), 2**GRID_BITS)
    assert total.exact.denominator.bit_length() <= EXACT_BITS
    assert running_sum_from_text(running_sum_to_text(total)) == total


def test_an_upper_sum_is_exact_or_hardly_above():
    assert upper_sum([]) == 0
    assert upper_sum([Fraction(1, 3)] * 3) == 1
    assert 0 < upper_sum([Fraction(1, 7**900)] * 2) - Fraction(2, 7**900) < Fraction(2, 2**GRID_BITS)
