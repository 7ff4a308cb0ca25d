# SPDX-License-Identifier: BSD-3-Clause
"""The gain of slopes by a release, and whether they may be noise."""

import numpy as np
import pytest

from skprivate.linear_model._moments import replicates
from skprivate.linear_model._moments.released_moments import MomentRelease, ScaledFit
from skprivate.linear_model._moments.replicates import explained_share, moments_may_be_noise, slopes_are_clear

D, N = 8, 2000


def exact(slope):
    """Moments of N rows: independent features of variance .1, residuals of variance .05."""
    b = slope * np.where(np.arange(D) % 2, 1.0, -0.5)
    matrix = np.zeros((D + 2, D + 2))
    matrix[0, 0] = 1.0
    matrix[2:, 2:] = 0.1 * np.eye(D)
    matrix[1, 2:] = matrix[2:, 1] = 0.1 * b
    matrix[1, 1] = 0.1 * b @ b + 0.05
    return N * matrix, b


def test_a_release_without_noise_is_not_suspected():
    matrix, b = exact(0.5)
    release = MomentRelease(matrix, np.zeros_like(matrix), "laplace")
    assert not moments_may_be_noise(release, ScaledFit(0.0, b, 0.1))
    gain, error, _ = explained_share(release, ScaledFit(0.0, b, 0.1))
    assert gain == pytest.approx(0.1 * b @ b - 2 * D * 0.05 / N)
    assert 0 < error < 0.1 * gain


@pytest.mark.parametrize(("errors", "suspected"), [(0.95, True), (1.05, False)])
def test_slopes_must_be_better_by_a_standard_error(monkeypatch, errors, suspected):
    monkeypatch.setattr(replicates, "explained_share", lambda release, fit: (0.02 * errors, 0.02, 1.0))
    matrix, b = exact(0.5)
    release = MomentRelease(matrix, np.zeros_like(matrix), "laplace")
    assert moments_may_be_noise(release, ScaledFit(0.0, b, 0.1)) is suspected


def test_slopes_of_zero_are_no_better_than_a_constant():
    matrix, b = exact(0.5)
    release = MomentRelease(matrix, np.zeros_like(matrix), "laplace")
    assert moments_may_be_noise(release, ScaledFit(0.0, 0 * b, 0.1))


@pytest.mark.parametrize("size", [0.0, 1e12, -1e12])
def test_any_release_is_judged(size):
    matrix = np.full((D + 2, D + 2), size)
    release = MomentRelease(matrix, np.full_like(matrix, 1e7), "laplace")
    assert moments_may_be_noise(release, ScaledFit(0.0, np.full(D, 1e300), 1.0))


def test_estimate_by_hand():
    """Two features of variance .4 and .01; the noise's level per row is .02 sqrt(2)."""
    n, s = 1000, 10.0
    matrix = n * np.diag([1.0, 0.3, 0.4, 0.01])
    matrix[1, 2:] = matrix[2:, 1] = [200.0, 4.0]
    std = s * (1.0 + np.eye(4))
    std[0, 1:] = std[1:, 0] = 3 * s
    std[0, 0] = 0.0
    b = np.array([0.45, 0.2])
    level = 0.02 * 2**0.5
    gain, error, _ = explained_share(MomentRelease(matrix, std, "laplace"), ScaledFit(0.0, b, 0.3))
    seen = 2 * (0.45 * 0.2 + 0.2 * 0.004) - 0.4 * 0.45**2 - level * 0.2**2
    residual = 0.3 - seen
    noise, sampling = (s / n) ** 2, residual / n
    bent = noise * np.array([4 * b[0] ** 2 + b[1] ** 2, b[0] ** 2 + 4 * b[1] ** 2])
    taken = np.array([(noise + bent[0]) / 0.4 + sampling, noise / level + sampling])
    mean = 9 * noise * (1 + b @ b)
    assert gain == pytest.approx(seen - 2 * taken.sum() - mean, rel=1e-10)
    straight = 4 * (noise + bent) @ b**2 + 4 * sampling * seen
    assert error == pytest.approx(np.sqrt(straight + 8 * taken @ taken + 2 * mean**2), rel=1e-10)


class TestSlopesAreClear:
    """Two features of n = 1000 rows; `least` is what the least variance of a direction must be, per row."""

    def release(self, features, std, means=(0.0, 0.0), of_rows=0.0):
        matrix, noise = 1000 * np.diag([1.0, 0.3, 0.0, 0.0]), np.zeros((4, 4))
        matrix[2:, 2:] = 1000 * (features + np.outer(means, means))
        matrix[0, 2:] = matrix[2:, 0] = 1000 * np.asarray(means)
        noise[2:, 2:], noise[0, 0] = std, of_rows
        noise[0, 2:] = noise[2:, 0] = std[0][1] / 2
        return MomentRelease(matrix, noise, "laplace")

    def check(self, features_of, std, least, **options):
        assert slopes_are_clear(self.release(features_of(1.001 * least), std, **options))
        assert not slopes_are_clear(self.release(features_of(0.999 * least), std, **options))

    def test_three_standard_deviations_of_a_square(self):
        self.check(lambda v: np.diag([0.4, v]), [[8.0, 2.0], [2.0, 8.0]], 3 * 8.0 / 1000)

    def test_three_standard_deviations_of_a_difference(self):
        """Along (1, -1) / sqrt(2) the noise is half of that of both squares, and that of the product."""
        least = 3 * np.sqrt(2 * 8.0**2 / 4 + 2.0**2) / 1000
        both, apart = np.ones((2, 2)) / 2, np.array([[1, -1], [-1, 1]]) / 2
        self.check(lambda v: 0.6 * both + v * apart, [[8.0, 2.0], [2.0, 8.0]], least)

    def test_the_typical_norm_of_the_noise(self):
        self.check(lambda v: np.diag([0.4, v]), [[2.0, 2.0], [2.0, 2.0]], 1.5 * 2 * np.sqrt(2) * 2.0 / 1000)

    def test_noise_of_means_counts_where_they_are_far_from_0(self):
        """The sum of a feature has noise of 1, and its mean counts twice; the number of rows, its square."""
        least = 3 * np.sqrt(8.0**2 + 4 * 0.5**2 * 1.0**2 + 0.5**4 * 40.0**2) / 1000
        std = [[8.0, 2.0], [2.0, 8.0]]
        self.check(lambda v: np.diag([0.4, v]), std, least, means=(0.0, 0.5), of_rows=40.0)

    @pytest.mark.parametrize("std", [0.0, 1.0])
    def test_a_direction_that_does_not_vary(self, std):
        assert not slopes_are_clear(self.release(np.full((2, 2), 0.3), np.full((2, 2), std)))
