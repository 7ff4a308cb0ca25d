# SPDX-License-Identifier: BSD-3-Clause
"""Replicates of released moments: they vary as fits to new rows and new noise do."""

import numpy as np
import pytest

from skprivate.linear_model._distributions import LOGISTIC, NORMAL, SEV
from skprivate.linear_model._fit import pivotal
from skprivate.linear_model._moments import replicates
from skprivate.linear_model._moments.released_moments import (
    METHODS,
    MomentRelease,
    noise_level,
    solve_moments,
)
from skprivate.linear_model._moments.replicates import _possible_design, bootstrap_moments

WIDE = (1e-9, 2.0)
SLOPES = np.array([0.3, -0.2, 0.1])
EVERY_DISTRIBUTION = pytest.mark.parametrize(
    "distribution", [SEV, LOGISTIC, NORMAL], ids=lambda distribution: distribution.name
)


def moments(rng, distribution, n, scale=0.05):
    x = rng.uniform(-1, 1, (n, len(SLOPES))) @ (0.6 * np.eye(3) + 0.1) + 0.1
    y = 0.05 + x @ SLOPES + scale * distribution.quantile(rng.uniform(size=n))
    rows = np.column_stack([np.ones(n), y, x])
    return rows.T @ rows


def noise_of(level, size=5):
    std = level * (1.0 + np.eye(size))
    std[0, 0] = 0.0
    return std


def add_noise(rng, matrix, std, mechanism):
    draws = (
        rng.laplace(scale=0.5**0.5, size=std.shape) if mechanism == "laplace" else rng.normal(size=std.shape)
    )
    upper = np.triu(draws) * std
    return MomentRelease(matrix + upper + np.triu(upper, 1).T, std, mechanism)


def columns(fit):
    return np.column_stack([fit.intercept, np.log(fit.scale), fit.coef])


@EVERY_DISTRIBUTION
@pytest.mark.parametrize("level", [0.0, 3.0])
def test_replicates_vary_as_fits_to_new_rows_and_new_noise_do(distribution, level):
    """Covariances of 2,000 fits: relative standard errors are near .03 for variances."""
    rng, n, std = np.random.default_rng(0), 1000, noise_of(level)
    exact = moments(np.random.default_rng(1), distribution, 20_000)
    release = MomentRelease(exact * n / 20_000, std, "gaussian")
    fits = bootstrap_moments(release, distribution, "floor", WIDE, n_replicates=4000)
    matrices = np.array(
        [add_noise(rng, moments(rng, distribution, n), std, "gaussian").matrix for _ in range(2000)]
    )
    true = np.cov(
        columns(solve_moments(MomentRelease(matrices, std, "gaussian"), distribution, "floor", WIDE)).T
    )
    drawn = np.cov(columns(fits).T)
    sd = np.sqrt(np.diag(true))
    np.testing.assert_allclose(np.diag(drawn) / sd**2, 1.0, atol=0.2)
    np.testing.assert_allclose(drawn / np.outer(sd, sd), true / np.outer(sd, sd), atol=0.2)


@pytest.mark.parametrize("mechanism", ["laplace", "gaussian"])
def test_intervals_of_slopes_cover(mechanism):
    """900 intervals: 90 % plus or minus 5.5 standard errors of independent hits is .845 to .955."""
    rng, std = np.random.default_rng(3), noise_of(10.0)
    matrix = moments(rng, NORMAL, 4000)
    hits = []
    for _ in range(300):
        release = add_noise(rng, matrix, std, mechanism)
        fits = bootstrap_moments(release, NORMAL, "floor", WIDE, n_replicates=200)
        estimate = solve_moments(release, NORMAL, "floor", WIDE).coef
        exact = solve_moments(MomentRelease(matrix, 0 * std, mechanism), NORMAL, "floor", WIDE).coef
        low, high = 2 * estimate - np.quantile(fits.coef, [0.95, 0.05], axis=0)
        hits.append((low <= exact) & (exact <= high))
    assert 0.845 < np.mean(hits) < 0.96


def test_replicates_are_of_rows_that_stand_out_of_the_noise_and_are_possible():
    n, std = 1000.0, noise_of(2.0)
    matrix = n * np.diag([1.0, 0.3, -0.5, 1e-3, 9.0])
    matrix[0, 3] = matrix[3, 0] = 3 * n
    release = MomentRelease(matrix, std, "gaussian")
    design = _possible_design(release)
    assert np.abs(design[0]).max() == n
    centred = design[1:, 1:] - np.outer(design[0, 1:], design[0, 1:]) / n
    np.testing.assert_allclose(
        np.linalg.eigvalsh(centred), [noise_level(release), noise_level(release), 3 * n], rtol=1e-9
    )


def test_noise_level_is_the_typical_norm_of_the_noise():
    """The largest eigenvalue of noise on 100 features' moments; it varies by about 3 %."""
    std = noise_of(2.0, 102)
    release = add_noise(np.random.default_rng(7), np.zeros((102, 102)), std, "gaussian")
    assert np.linalg.norm(release.matrix[2:, 2:], 2) == pytest.approx(noise_level(release), rel=0.15)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("level", [0.0, 3.0])
def test_replicates_of_first_order_vary_as_whole_ones_do(method, level, monkeypatch):
    """Standard deviations of 4,000 fits, whose relative standard errors are near .013; .1 is 6 of both."""
    exact = moments(np.random.default_rng(1), SEV, 20_000)
    release = add_noise(np.random.default_rng(2), exact, noise_of(level), "laplace")
    whole = bootstrap_moments(release, SEV, "floor", WIDE, method=method, n_replicates=4000)
    monkeypatch.setattr(replicates, "WHOLE", 0)
    short = bootstrap_moments(release, SEV, "floor", WIDE, method=method, n_replicates=4000)
    np.testing.assert_allclose(columns(short).std(axis=0), columns(whole).std(axis=0), rtol=0.1)
    deviations = (columns(short).mean(axis=0) - columns(whole).mean(axis=0)) / columns(whole).std(axis=0)
    np.testing.assert_allclose(deviations, 0.0, atol=0.15)


@pytest.mark.parametrize("whole", [100, 2])
def test_rows_of_a_person_may_all_be_alike(monkeypatch, whole):
    """The rows' part varies as if m rows in a row were one, and the noise's part as ever.

    A variance of 4,000 replicates has a relative standard error of .022; limits are 6 of them.
    """
    monkeypatch.setattr(replicates, "WHOLE", whole)
    matrix = moments(np.random.default_rng(5), NORMAL, 5000)
    release = MomentRelease(matrix, noise_of(0.5), "gaussian")

    def variances(m, **options):
        options = {"rows_per_unit": m, "n_replicates": 4000, "seed": m, **options}
        return columns(bootstrap_moments(release, NORMAL, "floor", WIDE, **options)).var(axis=0)

    own = variances(1, with_noise=False)
    np.testing.assert_allclose(variances(4, with_noise=False) / own, 4.0, rtol=0.18)
    # Without the logarithm of the scale, whose noise is far from normal.
    noise = (variances(1) - own)[[0, 2, 3, 4]]
    assert np.all(noise > 0.02 * own[[0, 2, 3, 4]])
    np.testing.assert_allclose(variances(4)[[0, 2, 3, 4]], noise + 4 * own[[0, 2, 3, 4]], rtol=0.18)


def test_intervals_are_those_of_fieller_where_the_noise_is_a_good_part_of_a_variance():
    """One feature whose variance is 4 standard deviations of its noise, the only noise there is.

    A slope b is possible at 90 % where (v b - c)^2 <= (1.645 s b)^2, with v, c and s the variance, the
    product with the target and the noise: from c / (v + 1.645 s) to c / (v - 1.645 s). Quantiles of 20,000
    normal draws have an error of .015 s, which is .003 of the lower end and .006 of the upper one.
    """
    n, s = 1_000_000, 2000.0
    matrix, std = np.zeros((3, 3)), np.zeros((3, 3))
    matrix[0, 0], matrix[1, 1], matrix[2, 2], std[2, 2] = n, 0.1 * n, 4 * s, s
    matrix[1, 2] = matrix[2, 1] = 0.3 * 4 * s
    release = MomentRelease(matrix, std, "gaussian")
    # The level of one feature is twice the noise of its square, and this variance is above 1.5 of it.
    fits = bootstrap_moments(release, NORMAL, "floor", WIDE, n_replicates=20_000)
    low, high = pivotal(0.3, fits.coef[:, 0], 0.9)
    assert low == pytest.approx(0.3 * 4 / (4 + 1.645), rel=0.02)
    assert high == pytest.approx(0.3 * 4 / (4 - 1.645), rel=0.04)
