# SPDX-License-Identifier: BSD-3-Clause
"""Replicates of fits with looks: what the looks left undone, their noise, the rows' spread."""

import warnings

import numpy as np
import pytest

from skprivate import DPNormalLLSRegressor
from skprivate.exceptions import UtilityWarning
from skprivate.linear_model._distributions import NORMAL, clipped_errors
from skprivate.linear_model._moments.released_moments import MomentRelease, ScaledFit
from skprivate.linear_model._moments.replicates import bootstrap_looks
from skprivate.linear_model._moments.rounds import Look, LookRelease

N, SCALE, CLIP = 100_000, 0.05, 0.08
FEATURES = np.array([[0.3, 0.1], [0.1, 0.2]])
MEANS, TRUE = np.array([0.1, -0.3]), np.array([0.3, -0.2])


def release_of(found, *, features=FEATURES, noise=0.0, of_look=0.0, looks=2):
    """Looks about slopes, each of which released what is expected of it, and the fit that they led to."""
    matrix, std = np.zeros((4, 4)), np.full((4, 4), noise)
    matrix[0, 0], matrix[1, 1] = N, N * (TRUE @ features @ TRUE + SCALE**2)
    matrix[2:, 2:] = N * (features + np.outer(MEANS, MEANS))
    matrix[0, 2:] = matrix[2:, 0] = N * MEANS
    matrix[1, 2:] = matrix[2:, 1] = N * features @ TRUE
    std[0, 0] = 0.0
    share = clipped_errors(NORMAL).share(SCALE, CLIP)
    square = clipped_errors(NORMAL).spread(SCALE, CLIP)[0, 0]
    left = share * N * features @ (TRUE - found)
    fit = ScaledFit(0.0, np.asarray(found), SCALE)
    sums = np.r_[0.0, left, N * square / CLIP] / CLIP
    look = Look(fit, CLIP, sums, np.full(4, of_look))
    return LookRelease(MomentRelease(matrix, std, "gaussian"), None, (look,) * looks, looks, fit)


def test_what_the_looks_left_is_in_the_interval():
    """Looks about slopes that are off by a third: intervals are about the true slopes, not about the fit."""
    found = 0.67 * TRUE
    release = release_of(found, noise=10.0, of_look=10.0)
    replicates = bootstrap_looks(release, NORMAL)
    about_the_fit = bootstrap_looks(release, NORMAL, by_steps=True)
    np.testing.assert_allclose(about_the_fit.coef.mean(axis=0), found, atol=0.02)
    possible = 2 * found - replicates.coef
    spread = possible.std(axis=0)
    assert np.all(np.abs(TRUE - found) > 20 * spread)
    # The means of 400 have an error of a twentieth of the spread.
    np.testing.assert_allclose(possible.mean(axis=0), TRUE, atol=0.4 * spread.max())
    # Residuals about the fit are wider than the errors by what the slopes miss.
    missed = (TRUE - found) @ FEATURES @ (TRUE - found)
    assert np.median(np.log(replicates.scale / SCALE)) == pytest.approx(
        0.5 * np.log1p(missed / SCALE**2), abs=0.01
    )


def variances(found, noise=0.0, of_look=0.0, seed=3, **options):
    release = release_of(found, noise=noise, of_look=of_look)
    return np.cov(bootstrap_looks(release, NORMAL, n_replicates=6000, seed=seed, **options).coef.T)


def test_variances_of_the_parts():
    """Of 6,000 replicates, whose variances have relative standard errors of .018; limits are 8 of them."""
    law, inverse = clipped_errors(NORMAL), np.linalg.inv(FEATURES)
    share = law.share(SCALE, CLIP)
    own = law.spread(SCALE, CLIP)[0, 0] / share**2 * inverse / N
    close = dict(rtol=0.15, atol=0.15 * own.max())
    np.testing.assert_allclose(variances(TRUE), own, **close)
    np.testing.assert_allclose(variances(TRUE, of_look=500.0, with_noise=False), own, **close)
    np.testing.assert_allclose(variances(TRUE, rows_per_unit=4), 4 * own, rtol=0.15, atol=0.6 * own.max())
    # Two looks, each with its noise, in the sums about the means.
    noise = 500.0**2 * CLIP**2 / 2 * (np.eye(2) + np.outer(MEANS, MEANS))
    drawn = inverse @ noise @ inverse / (share * N) ** 2
    found = variances(TRUE, of_look=500.0) - own
    np.testing.assert_allclose(found, drawn, atol=0.15 * drawn.max())


def test_the_noise_of_the_moments_moves_what_is_left_alone():
    """It acts on the step that is left: by E times a step of (.1, .1), where products have noise of 300."""
    own, step = variances(TRUE), np.array([0.1, 0.1])
    np.testing.assert_allclose(variances(TRUE, noise=300.0), own, rtol=0.15, atol=0.15 * own.max())
    inverse, level = np.linalg.inv(FEATURES), MEANS @ step
    # Of E a - m (e . a) - e (m . a), with E symmetric.
    products = np.outer(step, step) + (step @ step + level**2) * np.eye(2) - np.diag(step**2)
    products += (step @ step) * np.outer(MEANS, MEANS)
    products += level * (np.outer(MEANS, step) + np.outer(step, MEANS))
    drawn = inverse @ products @ inverse * (300.0 / N) ** 2
    found = variances(TRUE - step, noise=300.0) - own
    np.testing.assert_allclose(np.diag(found), np.diag(drawn), rtol=0.2)


class TestFit:
    OPTIONS = {"bounds_X": (-1, 1), "bounds_y": (-4, 4)}

    def table(self, second, n=50_000):
        rng = np.random.default_rng(11)
        X = rng.uniform(-1, 1, (n, 2))
        X[:, 1] = second * X[:, 0] + (1 - second) * X[:, 1]
        return X, X @ [1.0, -0.5] + 0.5 * rng.normal(size=n)

    def reasons(self, max_iter, second):
        X, y = self.table(second)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            DPNormalLLSRegressor(1.0, random_state=31, max_iter=max_iter, **self.OPTIONS).fit(X, y)
        return [str(one.message) for one in caught if one.category is UtilityWarning]

    @pytest.mark.parametrize("max_iter", [1, 3])
    def test_nearly_equal_columns_warn_and_clear_ones_do_not(self, max_iter):
        """The second column is .95 of the first and .05 of its own, or all its own."""
        (reason,) = self.reasons(max_iter, 0.95)
        assert "some combination of the features" in reason
        assert self.reasons(max_iter, 0.0) == []
