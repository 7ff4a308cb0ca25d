# SPDX-License-Identifier: BSD-3-Clause
"""The fixed-point grid: rounding toward zero, bounds, sums that never wrap."""

from fractions import Fraction
from math import ceil, trunc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skprivate.noise._rounding import grid_exponent, quantise

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


def test_bounds_beyond_the_range_raise_whatever_the_values() -> None:
    assert quantise(0.0, 61, -1.0, 1.0) == 0
    for value in (0.0, 1e300):
        with pytest.raises(OverflowError, match="2\\^62"):
            quantise(value, 62, -1.0, 1.0)
    with pytest.raises(OverflowError):
        quantise(0.0, 2000, -1.0, 1.0)


def test_nan_is_refused_without_its_place() -> None:
    with pytest.raises(ValueError, match=r"^values contain NaN$"):
        quantise([12345.0, np.nan], 3, 0.0, 1e6)


def test_wrong_bounds_and_types_are_refused() -> None:
    for lower, upper in ((1.0, 0.0), (0.0, np.inf), (np.nan, 1.0), (0, 2**53 + 1), (-(2**60), 0)):
        with pytest.raises(ValueError, match=r"bounds|lower"):
            quantise([0.5], 0, lower, upper)
    for exponent in (-1, 0.5):
        with pytest.raises(ValueError, match="exponent"):
            quantise([0.5], exponent, 0.0, 1.0)
    for values in (["a"], [1j], np.ones(2, dtype=np.longdouble)):
        with pytest.raises(TypeError, match="real numbers"):
            quantise(values, 0, 0.0, 1.0)


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
    assert grid_exponent(1, Fraction(1, 2**52)) == 0
    with pytest.raises(ValueError, match="epsilon is too small"):
        grid_exponent(1, Fraction(1, 2**52 + 1))
    assert grid_exponent(1, Fraction(1), 2**61) == 0
    with pytest.raises(ValueError, match="does not fit"):
        grid_exponent(1, Fraction(1), 2**61 + 1)
    with pytest.raises(ValueError, match="positive"):
        grid_exponent(0, Fraction(1))
