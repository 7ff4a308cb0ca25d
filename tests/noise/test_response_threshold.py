# SPDX-License-Identifier: BSD-3-Clause
"""Thresholds of randomised response against 200-digit decimals, in both directions."""

from decimal import Context, Decimal
from fractions import Fraction

import pytest

from skprivate.noise._rounding import response_odds, response_threshold

WORD = 2**64
PRECISE = Context(prec=200)
EPSILONS = [
    Fraction(1, 1000),
    Fraction(1, 7),
    Fraction(1, 2),
    1,
    2,
    Fraction(0.1),
    4,
    10,
    Fraction(99, 4),
    44,
    50,
]


def e_to_the(epsilon):
    epsilon = Fraction(epsilon)
    return Fraction(PRECISE.exp(PRECISE.divide(Decimal(epsilon.numerator), Decimal(epsilon.denominator))))


@pytest.mark.parametrize("n_others", [1, Fraction(8, 7), Fraction(5, 2), 2, 3, 7, 16, 255, 1000, 4095])
@pytest.mark.parametrize("epsilon", EPSILONS, ids=str)
def test_the_threshold_is_the_largest_that_is_private(epsilon, n_others) -> None:
    # 200 digits settle a comparison of 20-digit integers with an irrational number.
    limit = e_to_the(epsilon)
    threshold = response_threshold(Fraction(epsilon), n_others)
    assert threshold * n_others <= (WORD - threshold) * limit
    assert threshold == WORD - 1 or (threshold + 1) * n_others > (WORD - threshold - 1) * limit
    assert threshold >= int(WORD / Fraction(n_others + 1))
    # Nor does an answer become less likely when it is true.
    assert WORD - threshold <= threshold * n_others * limit


def test_odds_are_exact() -> None:
    assert response_odds(WORD - 1, 3) == 3 * (WORD - 1)
    assert response_odds(0, 3) == 0
    threshold = response_threshold(Fraction(1), 2)
    assert response_odds(threshold, 2) == Fraction(2 * threshold, WORD - threshold)


def test_a_huge_epsilon_saturates_at_once() -> None:
    for epsilon in (60, 10**6, 10**300):
        assert response_threshold(Fraction(epsilon), 4095) == WORD - 1


def test_a_tiny_epsilon_is_honoured_or_refused() -> None:
    assert response_threshold(Fraction(1, 10**400), 1) == WORD // 2
    assert response_threshold(Fraction(1, 10**18), 2) >= WORD // 3
    # 2^64 / 3 is no integer: the nearest threshold below it favours the other answers by 1 in 2^64.
    with pytest.raises(ValueError, match="too small"):
        response_threshold(Fraction(1, 10**30), 2)


@pytest.mark.parametrize(
    ("epsilon", "n_others"),
    [
        (Fraction(0), 2),
        (Fraction(-1), 2),
        (Fraction(1), 0),
        (Fraction(1), WORD),
        (Fraction(1), Fraction(1, 2)),
    ],
)
def test_arguments_out_of_range_are_refused(epsilon, n_others) -> None:
    with pytest.raises(ValueError, match="must be"):
        response_threshold(epsilon, n_others)
