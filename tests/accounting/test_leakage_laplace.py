# SPDX-License-Identifier: BSD-3-Clause
"""The search for the worst point of a number with Laplace noise: its bounds, its gap and its integrals."""

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats

from skprivate.accounting import _leakage
from skprivate.accounting._leakage import uniform_log_mean, worst_log_mean


def heaps(edges, masses):
    """A density that is constant between the edges."""
    heights = np.array(masses) / np.diff(edges)
    return stats.rv_histogram((heights, np.array(edges)), density=True)()


def mean_of_heaps(edges, masses, rate, where):
    """E exp(-rate |X - where|) in a closed form."""

    def antiderivative(x):
        return np.sign(x - where) * -np.expm1(-rate * np.abs(x - where)) / rate

    edges = np.array(edges)
    return np.diff(antiderivative(edges)) @ (np.array(masses) / np.diff(edges))


def panels_between(distribution, edges, rate):
    """Panels with these edges and the median, none of them halved."""
    edges = np.unique([*edges, distribution.ppf(0.5)])
    upper = edges[:-1] >= distribution.ppf(0.5)
    return _leakage._integrate(distribution, rate, edges[:-1], edges[1:], upper)


@settings(max_examples=50)
@given(seed=st.integers(0, 10**6), rate=st.floats(0.1, 100))
def test_no_point_of_a_panel_passes_its_bound(seed, rate):
    rng = np.random.default_rng(seed)
    edges, masses = np.sort(rng.random(6)), rng.dirichlet(np.full(5, 0.3))
    # With the kinks among the edges the integrals are exact.
    panels = panels_between(heaps(edges, masses), [*edges, *rng.uniform(edges[0], edges[-1], 4)], rate)
    _, _, bounds = _leakage._evaluate(panels, rate)
    for start, end, bound in zip(panels.start, panels.end, bounds, strict=True):
        inside = np.linspace(start, end, 41)
        worst = max(-math.log(mean_of_heaps(edges, masses, rate, a)) for a in inside)
        assert worst <= bound + 1e-6


@settings(max_examples=50)
@given(seed=st.integers(0, 10**6), rate=st.floats(0.1, 100))
# In these, Gauss rules of one order err alike, by 2e-13 and by 3e-10.
@example(seed=0, rate=4.0)
@example(seed=210, rate=4.0)
@pytest.mark.slow
def test_error_covers_kinks_and_gaps(seed, rate):
    rng = np.random.default_rng(seed)
    edges, masses = np.sort(rng.random(5)), rng.dirichlet(np.full(4, 0.3))
    value, where = worst_log_mean(heaps(edges, masses), rate)
    points = [where, *np.linspace(edges[0], edges[-1], 501)]
    # Probabilities are rounded to 1e-16, here and there.
    rounding = 1e-15 * math.exp(value)
    assert max(-math.log(mean_of_heaps(edges, masses, rate, a)) for a in points) <= value + rounding
    assert value - rounding <= -math.log(mean_of_heaps(edges, masses, rate, where)) + 1e-7 * max(1, value)


def test_quantiles_that_fail_leave_an_upper_bound():
    class Unknown:
        def support(self):
            return 0.0, 1.0

        def ppf(self, u):
            return np.full_like(u, np.nan)

        isf = ppf

        def cdf(self, x):
            return np.asarray(x)

        def sf(self, x):
            return 1 - np.asarray(x)

    assert math.log(7 / -math.expm1(-7)) <= worst_log_mean(Unknown(), 7.0)[0] <= 7


def test_too_many_intervals_leave_a_wider_bound(monkeypatch):
    exact = math.log(500 / -math.expm1(-500))
    monkeypatch.setattr(_leakage, "_MOST_PANELS", 20)
    value, _ = worst_log_mean(stats.uniform(), 500.0)
    assert exact < value <= 500


def test_limits():
    assert worst_log_mean(stats.norm(), 1.0)[0] == math.inf
    assert worst_log_mean(stats.uniform(), 0.0)[0] == 0.0


@pytest.mark.parametrize("width", [1e-8, 1e-4, 9.999e-4, 1.0001e-3, 0.3])
def test_uniform_value_against_its_series(width):
    # Bernoulli numbers: log(w / (1 - exp(-w))) = w / 2 - w^2 / 24 + w^4 / 2880 - w^6 / 181440 + ...
    series = width / 2 - width**2 / 24 + width**4 / 2880 - width**6 / 181440 + width**8 / 9676800
    assert uniform_log_mean(width) == pytest.approx(series, rel=1e-8, abs=1e-12)
