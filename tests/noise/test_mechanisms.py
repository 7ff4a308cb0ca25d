# SPDX-License-Identifier: BSD-3-Clause
"""What the mechanisms spend and release."""

import math
import pickle
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skprivate.noise import DiscreteGaussianMechanism, DiscreteLaplaceMechanism, laplace_sum, zcdp_to_epsilon
from skprivate.noise._mechanisms import STEP, _best_gap, _epsilon_at, geometric_bit_probabilities

EPSILONS = st.floats(1e-6, 1e6) | st.fractions(Fraction(1, 10**6), 10**6)
MECHANISMS = [DiscreteLaplaceMechanism(0.5, 3), DiscreteGaussianMechanism(0.5, squared_sensitivity=9)]


@pytest.mark.parametrize("delta", [Fraction(1, 10**k) for k in (1, 6, 40)])
@pytest.mark.parametrize("rho", [Fraction(k, 977) for k in (1, 50, 3000)])
def test_zcdp_is_converted_by_the_formula_rounded_up(rho, delta) -> None:
    gap = Decimal(f"{_best_gap(rho, delta):.6e}")
    above = zcdp_to_epsilon(rho, delta) - max(Fraction(_epsilon_at(rho, delta, gap)), 0)
    assert 0 < above <= Fraction(1, STEP) + Fraction(1, 10**30)


@settings(deadline=None)
@given(epsilon=EPSILONS, sensitivity=st.integers(1, 2**31))
def test_laplace_never_spends_more_than_asked(epsilon, sensitivity) -> None:
    mechanism = DiscreteLaplaceMechanism(epsilon, sensitivity)
    assert isinstance(mechanism.epsilon, Fraction)
    assert mechanism.epsilon == Fraction(sensitivity, mechanism.scale)
    assert mechanism.epsilon <= mechanism.epsilon_requested == Fraction(epsilon)
    # The next smaller scale would.
    assert mechanism.scale == 1 or Fraction(sensitivity, mechanism.scale - 1) > Fraction(epsilon)


@settings(deadline=None)
@given(rho=EPSILONS, squared_sensitivity=st.integers(1, 2**62))
def test_gaussian_never_spends_more_rho_than_asked(rho, squared_sensitivity) -> None:
    mechanism = DiscreteGaussianMechanism(rho, squared_sensitivity=squared_sensitivity)
    sigma = mechanism.sigma
    assert mechanism.rho == Fraction(squared_sensitivity, 2 * sigma**2) <= Fraction(rho)
    assert sigma == 1 or Fraction(squared_sensitivity, 2 * (sigma - 1) ** 2) > Fraction(rho)
    assert mechanism.epsilon is mechanism.delta is None


@pytest.mark.parametrize("scale", [Fraction(1, 2), 1, 3, Fraction(10, 3), 1000, 2**40])
def test_laplace_variance_is_that_of_the_law(scale) -> None:
    # 2 r / (1 - r)^2 in 60 decimals.
    with localcontext() as context:
        context.prec = 60
        ratio = (-Decimal(scale.denominator) / Decimal(scale.numerator)).exp()
        expected = float(2 * ratio / (1 - ratio) ** 2)
    mechanism = DiscreteLaplaceMechanism.from_scale(scale)
    assert mechanism.variance == pytest.approx(expected, rel=1e-12)
    draws = mechanism.randomize(np.zeros(200_000, dtype=np.int64), 0)
    # Kurtosis below 6.1 / (1 - r): 5.5 standard errors hold at a rate of 1e-7.
    assert np.square(draws.astype(float)).mean() == pytest.approx(expected, rel=5.5 * math.sqrt(8 / 200_000))


@pytest.mark.parametrize("sigma", [Fraction(1, 3), 1, 3, Fraction(7, 2), 50])
def test_gaussian_variance_is_that_of_the_law_and_at_most_sigma_squared(sigma) -> None:
    x = np.arange(-1000, 1001)
    weights = np.exp(-0.5 * (x / float(sigma)) ** 2)
    variance = DiscreteGaussianMechanism.from_sigma(sigma).variance
    assert variance == pytest.approx(float((weights * x**2).sum() / weights.sum()), rel=1e-12)
    assert variance <= float(sigma) ** 2 * (1 + 1e-15)


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
def test_releases_have_the_shape_of_the_values_and_leave_them_alone(mechanism) -> None:
    for values in (7, [1, 2], np.zeros((2, 0, 3), dtype=np.int8), np.ones((2, 3), dtype=np.uint32).T):
        released = mechanism.randomize(values, 0)
        assert (released.shape, released.dtype) == (np.shape(values), np.int64)
    zeros = np.zeros((3, 2), dtype=np.int64)
    noise = mechanism.randomize(zeros, 0)
    assert noise.any()
    assert not zeros.any()
    values = np.arange(6).reshape(2, 3).T
    np.testing.assert_array_equal(mechanism.randomize(values, 0) - values, noise)


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
def test_mechanisms_survive_pickling(mechanism) -> None:
    copy = pickle.loads(pickle.dumps(mechanism))
    np.testing.assert_array_equal(copy.randomize([1, 2, 3], 0), mechanism.randomize([1, 2, 3], 0))


def test_sums_of_noise_take_sizes() -> None:
    assert isinstance(laplace_sum(10, 2, random_state=0), int)
    assert laplace_sum(0, 2, size=4).tolist() == [0] * 4
    np.testing.assert_array_equal(laplace_sum(9, 5, 8, random_state=1), laplace_sum(9, 5, 8, random_state=1))
    assert laplace_sum(1000, Fraction(1, 2**52), size=2).tolist() == [0, 0]


def test_the_limits_of_the_sampler_and_of_the_conversion_are_reached() -> None:
    assert DiscreteLaplaceMechanism(Fraction(1, 2**52)).scale == 2**52
    assert DiscreteLaplaceMechanism.from_scale(Fraction(6, 4)).epsilon == Fraction(2, 3)
    assert DiscreteLaplaceMechanism.from_scale(Fraction(1, 1000)).variance == 0.0
    assert zcdp_to_epsilon(Fraction(10) ** 290, Fraction(1, 10**2000)) > 10**290
    assert zcdp_to_epsilon(Fraction(1, 10**1000), 0.5) < Fraction(1, 10**18)


@pytest.mark.parametrize("scale", [1, Fraction(7, 3), 2**52])
def test_digits_of_a_geometric_number_have_their_probability(scale) -> None:
    rows = geometric_bit_probabilities(1000, Fraction(scale))
    with localcontext() as context:
        context.prec = 200
        for i, row in enumerate(rows):
            digits = sum(int(word) << (192 - 64 * j) for j, word in enumerate(row))
            odds = (Decimal(2**i * Fraction(scale).denominator) / Fraction(scale).numerator).exp()
            exact = Decimal(2**256) / (1 + odds)
            assert 0 <= exact - digits < Decimal("1.000001")
    dropped = Fraction(2 ** len(rows)) / scale
    # n p < n exp(-2^i / scale) for the first digit left out.
    assert math.log2(1000) - float(dropped) / math.log(2) < -203
