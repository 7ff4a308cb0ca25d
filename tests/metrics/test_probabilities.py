# SPDX-License-Identifier: BSD-3-Clause
"""Mean of a normal distribution within [0, 1]: against SciPy and quadrature, and at extreme arguments."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import truncnorm

from skprivate.metrics._probabilities import truncated_mean


@pytest.mark.parametrize("scale", [1e-6, 0.01, 0.2, 0.7, 3.0])
def test_agrees_with_scipy(scale):
    centers = np.array([0.0, 0.1, 0.4999, 0.5, 0.7, 1.0, -2 * scale, -8 * scale, 1 + 3 * scale])
    found = truncated_mean(centers, scale)
    expected = truncnorm.mean(-centers / scale, (1 - centers) / scale, centers, scale)
    np.testing.assert_allclose(found, np.clip(expected, 1e-12, 1 - 1e-12), rtol=1e-7, atol=1e-13)


@pytest.mark.parametrize(
    ("center", "scale"),
    [
        (-1e3, 0.5),
        (-9e3, 1.0),
        (-1.1e4, 1.0),
        (-1e6, 600.0),
        (0.2, 9e3),
        (0.2, 1.1e4),
        (-1e9, 3e4),
        (-1e7, 3e4),
    ],
)
def test_agrees_with_quadrature_far_away(center, scale):
    def density(x):
        return np.exp((2 * center * x - x * x) / (2 * scale**2))

    # Where the mass ends: beyond 60 mean distances of the exponential bound.
    end = min(1.0, 60 * scale**2 / max(-center, 1e-9))
    mean = quad(lambda x: x * density(x), 0, end)[0] / quad(density, 0, end)[0]
    np.testing.assert_allclose(truncated_mean(np.array([center]), scale), mean, rtol=1e-6)


def test_is_never_0_or_1_and_warns_of_nothing():
    ends = np.concatenate([-np.logspace(-300, 300, 61), [0.0, 0.5, 1.0], np.logspace(-300, 300, 61)])
    center, scale = np.meshgrid(ends, np.logspace(-150, 150, 61))
    with np.errstate(invalid="raise", divide="raise"):
        found = truncated_mean(center, scale)
    assert np.isfinite(found).all()
    assert found.min() >= 1e-12
    assert found.max() <= 1 - 1e-12


def test_is_symmetric_and_grows_with_the_centre():
    center, scale = np.meshgrid(np.linspace(-3, 4, 141), np.logspace(-2, 2, 9))
    found = truncated_mean(center, scale)
    np.testing.assert_allclose(truncated_mean(1 - center, scale), 1 - found, atol=1e-12)
    assert np.diff(found, axis=1).min() >= -1e-12
