# SPDX-License-Identifier: BSD-3-Clause
"""The distributions of the error against SciPy, far into the tails; means of times that do not exist."""

import numpy as np
import pytest
from scipy import integrate, stats

from skprivate.linear_model._distributions import (
    LOGISTIC,
    NORMAL,
    SEV,
    error_distribution_of,
    models_log_target,
)

IN_SCIPY = [(SEV, stats.gumbel_l), (LOGISTIC, stats.logistic), (NORMAL, stats.norm)]
EVERY_DISTRIBUTION = pytest.mark.parametrize(
    ("distribution", "reference"), IN_SCIPY, ids=["sev", "logistic", "normal"]
)
POINTS = np.concatenate([np.linspace(-700, 700, 141), np.linspace(-6, 6, 121)])


@EVERY_DISTRIBUTION
class TestAgainstSciPy:
    def test_moments(self, distribution, reference):
        mean, variance, skewness, excess = reference.stats(moments="mvsk")
        assert distribution.mean == pytest.approx(float(mean), abs=1e-15)
        assert distribution.variance == pytest.approx(float(variance), rel=1e-15)
        assert distribution.skewness == pytest.approx(float(skewness), rel=1e-12)
        assert distribution.kurtosis == pytest.approx(3 + float(excess), rel=1e-12)

    def test_log_density_and_log_survival(self, distribution, reference):
        # SciPy's own logsf of the logistic and Gumbel distributions is exact there too.
        np.testing.assert_allclose(
            distribution.log_density(POINTS), reference.logpdf(POINTS), rtol=1e-12, atol=1e-300
        )
        np.testing.assert_allclose(
            distribution.log_survival(POINTS), reference.logsf(POINTS), rtol=1e-12, atol=1e-300
        )

    def test_survival(self, distribution, reference):
        np.testing.assert_allclose(
            distribution.survival(POINTS), reference.sf(POINTS), rtol=1e-12, atol=1e-300
        )

    def test_quantile_and_its_tails(self, distribution, reference):
        p = np.concatenate([[1e-300, 1e-12], np.linspace(0.01, 0.99, 99), [1 - 1e-12]])
        np.testing.assert_allclose(distribution.quantile(p), reference.ppf(p), rtol=1e-10, atol=1e-14)
        np.testing.assert_array_equal(distribution.quantile([0.0, 1.0]), [-np.inf, np.inf])

    def test_far_tails_are_limits_without_a_warning(self, distribution, reference):
        far = np.array([-np.inf, -1e308, 1e308, np.inf])
        np.testing.assert_array_equal(distribution.survival(far), [1, 1, 0, 0])
        logarithms = distribution.log_survival(far)
        assert (logarithms[1:] <= logarithms[:-1]).all()
        assert not np.isnan(distribution.log_density(far[1:3])).any()

    @pytest.mark.parametrize("sigma", [0.05, 0.4, 0.8])
    def test_mean_of_exp_is_the_integral(self, distribution, reference, sigma):
        def integrand(z):
            return np.exp(sigma * z + reference.logpdf(z))

        exact, _ = integrate.quad(integrand, -200, 250, points=[-5, 0, 5], limit=500)
        assert distribution.mean_of_exp(1.5, sigma) == pytest.approx(np.exp(1.5) * exact, rel=1e-8)

    def test_mean_of_exp_takes_every_size(self, distribution, reference):
        values = distribution.mean_of_exp(np.array([[-1e5], [0.0], [1e5]]), np.array([1e-12, 0.5]))
        assert values.shape == (3, 2)
        np.testing.assert_allclose(values[1, 0], 1.0, rtol=1e-11)
        np.testing.assert_array_equal(values[[0, 2]], [[0, 0], [np.inf, np.inf]])


def test_log_logistic_mean_ends_at_one():
    sigma = np.array([0.0, 0.5, 1 - 1e-12, 1.0, 1.5, 2.0, 2.5])
    means = LOGISTIC.mean_of_exp(0.0, sigma)
    assert means[0] == 1.0
    assert means[1] == pytest.approx(np.pi / 2, rel=1e-15)
    # Near 1 the mean is 1 / (1 - sigma).
    assert means[2] == pytest.approx(1 / (1 - sigma[2]), rel=1e-9)
    np.testing.assert_array_equal(means[3:], np.inf)


def test_names():
    names = ("weibull", "loglogistic", "lognormal", "sev", "logistic", "normal")
    assert [error_distribution_of(name) for name in names] == [SEV, LOGISTIC, NORMAL] * 2
    assert [models_log_target(name) for name in names] == [True] * 3 + [False] * 3
