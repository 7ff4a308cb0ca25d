# SPDX-License-Identifier: BSD-3-Clause
"""The fixed-point grid, and thresholds of randomised response against 200-digit decimals."""

from decimal import Context, Decimal
from fractions import Fraction
from math import ceil, trunc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skprivate.noise._rounding import grid_exponent, quantise, response_odds, response_threshold

FLOATS = st.floats(-100, 100)
EXPONENTS = st.integers(0, 50)


@settings(deadline=None)
@given(value=st.floats(allow_nan=False), k=EXPONENTS, lower=FLOATS, width=st.floats(0, 100))
def test_rounds_toward_zero_within_the_bounds(value, k, lower, width) -> None:
    upper = lower + width
    exact = Fraction(min(max(value, lower), upper))
    assert int(quantise(value, k, lower, upper)) == trunc(exact * 2**k)


@settings(deadline=None)
@given(values=st.lists(FLOATS, min_size=1, max_size=8), k=EXPONENTS)
def test_the_l1_norm_stays_a_bound_on_the_grid(values, k) -> None:
    norm = sum(abs(Fraction(value)) for value in values)
    assert sum(abs(int(q)) for q in quantise(values, k, -100.0, 100.0)) <= norm * 2**k


@settings(deadline=None)
@given(pair=st.tuples(st.floats(), st.floats()).filter(lambda p: p[0] == p[0] and p[1] == p[1]), k=EXPONENTS)
def test_two_values_differ_by_the_rounded_range_at_most(pair, k) -> None:
    first, second = quantise(pair, k, -0.7, 1.3).tolist()
    assert abs(first - second) <= trunc(Fraction(1.3) * 2**k) - trunc(Fraction(-0.7) * 2**k)


def test_bounds_broadcast_over_columns() -> None:
    values = np.array([[-9.0, 0.75], [0.49, np.inf]])
    np.testing.assert_array_equal(quantise(values, 1, [-2.0, 0.0], [2.0, 4.0]), [[-4, 1], [0, 8]])


POSITIVE = st.fractions(Fraction(1, 10**4), 10**4)


@settings(deadline=None)
@given(sensitivity=POSITIVE, epsilon=POSITIVE, n=st.none() | st.integers(1, 10**12))
def test_the_grid_is_the_finest_that_is_safe(sensitivity, epsilon, n) -> None:
    def safe(k):
        fits = n is None or n * 2**k * sensitivity <= 2**61
        return ceil(2**k * sensitivity / epsilon) <= 2**31 and fits

    k = grid_exponent(sensitivity, epsilon, n)
    assert safe(k)
    assert not safe(k + 1)


def test_a_grid_of_integers_is_the_coarsest() -> None:
    assert grid_exponent(1, Fraction(1, 2**52)) == grid_exponent(1, Fraction(1), 2**61) == 0
    assert quantise(0.0, 61, -1.0, 1.0) == 0


WORD = 2**64
PRECISE = Context(prec=200)
EPSILONS = *(Fraction(1, k) for k in (1000, 7, 2)), Fraction(0.1), *(1, 2, 4, 10), Fraction(99, 4), 44, 50


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


def test_a_huge_epsilon_saturates_at_once_and_a_tiny_one_is_honoured() -> None:
    for epsilon in (60, 10**6, 10**300):
        assert response_threshold(Fraction(epsilon), 4095) == WORD - 1
    assert response_threshold(Fraction(1, 10**400), 1) == WORD // 2
    assert response_threshold(Fraction(1, 10**18), 2) >= WORD // 3
