# SPDX-License-Identifier: BSD-3-Clause
"""What a number with Laplace noise leaks: on values, on an interval, under a density, and bad input."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from skprivate.accounting import pml_laplace


@given(
    weights=st.lists(st.integers(0, 5), min_size=1, max_size=6).filter(any),
    data=st.data(),
    scale=st.sampled_from([1e-3, 0.2, 1.0, 50.0, 1e7]),
)
def test_laplace_on_values_is_the_leakage_at_the_worst_value(weights, data, scale):
    prior = np.array(weights) / sum(weights)
    values = np.array(data.draw(st.lists(st.integers(-4, 4), min_size=len(prior), max_size=len(prior))))
    distances = np.abs(values[:, None] - values) / scale
    expected = max(-math.log(prior @ np.exp(-row)) for row, p in zip(distances, prior, strict=True) if p)
    found = pml_laplace(scale, (values, prior))
    assert found == pytest.approx(expected, abs=1e-12)
    # No output on a fine grid leaks more.
    outputs = np.linspace(-8, 8, 161)
    noise = np.abs(outputs[:, None] - values[prior > 0]) / scale
    leakage = -np.log(np.exp(noise.min(axis=1, keepdims=True) - noise) @ prior[prior > 0])
    assert leakage.max() <= found + 1e-12


@pytest.mark.parametrize("width", [1e-8, 0.001, 0.5, 2, 30, 5000])
def test_laplace_on_a_uniform_interval(width):
    closed = math.log(width / -math.expm1(-width)) if width > 1e-4 else width / 2
    assert pml_laplace(1, (3, 3 + width)) == pytest.approx(closed, rel=1e-6, abs=1e-15)
    # At 3, a support of 1e-8 would be rounded.
    searched = pml_laplace(1, stats.uniform(0, width))
    assert -1e-12 <= searched - closed <= 1e-9 * max(1, closed)


def test_laplace_on_integers_and_without_bounds():
    coin = pml_laplace(0.5, ([0, 1, 2], [0.25, 0.5, 0.25]))
    assert pml_laplace(0.5, stats.binom(2, 0.5)) == pytest.approx(coin, abs=1e-12)
    # Far from 0: it is the number of values that counts.
    assert pml_laplace(0.5, stats.binom(2, 0.5, loc=10**7)) == pytest.approx(coin, abs=1e-12)
    for distribution in (stats.norm(), stats.expon(), stats.poisson(3)):
        assert pml_laplace(1, distribution) == math.inf


@settings(max_examples=15)
@given(a=st.floats(0.1, 5), b=st.floats(0.1, 5), rate=st.floats(0.01, 50))
def test_laplace_is_a_bound_at_every_point(a, b, rate):
    distribution = stats.beta(a, b)
    bound = pml_laplace(1 / rate, distribution)
    assert bound <= rate + 1e-12
    u = (np.arange(4000) + 0.5) / 4000
    values = distribution.ppf(u)
    for where in np.linspace(0, 1, 9):
        fading = np.exp(-rate * np.abs(values - where))
        # The integrand rises and then falls, by 1 at most each: two midpoint errors bound its own.
        assert -math.log(fading.mean() + 2 / 4000) <= bound
