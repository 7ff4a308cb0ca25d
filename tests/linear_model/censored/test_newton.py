# SPDX-License-Identifier: BSD-3-Clause
"""The model of a Newton step: its inverse, and what a fall of the gradient tells along the last step."""

import numpy as np
import pytest

from skprivate.linear_model._censored.newton import NewtonModel, regularized_covariance


def random_model(seed, size=4):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(size - 1, size - 1))
    covariance = root @ root.T / size + 0.01 * np.eye(size - 1)
    mean = rng.uniform(-0.9, 0.9, size - 1)
    return NewtonModel(1e4, mean, covariance, 300.0, covariance, 0 * covariance, np.zeros(size)), rng


@pytest.mark.parametrize("seed", range(5))
def test_the_inverse_is_that_of_the_information(seed):
    model, rng = random_model(seed)
    step = 0.1 * rng.normal(size=4)
    none, clear = np.zeros(4), np.full(4, 1e-9)
    for factor in (0.4, 1.0, 2.5):
        fall = factor * model.information @ step
        bent = model.bent(step, fall, clear if factor != 1.0 else none)
        np.testing.assert_allclose(bent.information @ bent.inverse, np.eye(4), atol=1e-9)
        np.testing.assert_allclose(bent.inverse, np.linalg.inv(bent.information), rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_a_clear_fall_is_the_information_along_its_step(seed):
    """And nothing changes for directions without information in common with it."""
    model, rng = random_model(seed)
    step = 0.1 * rng.normal(size=4)
    push = model.information @ step
    bent = model.bent(step, 1.7 * push, np.zeros(4))
    np.testing.assert_allclose(bent.information @ step, 1.7 * push, rtol=1e-9)
    apart = rng.normal(size=4)
    apart -= step * (apart @ push) / (step @ push)
    np.testing.assert_allclose(bent.information @ apart, model.information @ apart, rtol=1e-7, atol=1e-6)
    # As much to three times as much, whatever the fall: steps are never lengthened.
    for factor, most in ((99.0, 3.0), (-99.0, 1.0)):
        far = model.bent(step, factor * push, np.zeros(4))
        assert step @ far.information @ step == pytest.approx(most * (step @ push))
        assert np.linalg.eigvalsh(far.information).min() > 0


def test_a_fall_that_may_be_noise_changes_nothing():
    model, rng = random_model(9)
    step = 0.1 * rng.normal(size=4)
    push = model.information @ step
    loud = np.full(4, (push @ step) ** 2 / (step @ step))
    np.testing.assert_array_equal(model.bent(step, 1.5 * push, loud).information, model.information)
    np.testing.assert_array_equal(model.bent(np.zeros(4), push, loud).information, model.information)
    half = model.bent(step, 1.5 * push, 0.125 * loud)
    # The noise's variance is half of the square of .5.
    assert half.more == pytest.approx(0.25)


def test_the_information_has_an_inverse_where_targets_hardly_vary():
    mean, covariance = np.array([0.3, 0.1]), np.diag([1e-19, 0.2])
    inverse = NewtonModel(1e5, mean, covariance, 0.0, covariance, covariance, np.zeros(3)).inverse
    np.testing.assert_allclose(inverse[1:, 1:], np.diag([1e14, 5e-5]), rtol=1e-9)
    np.testing.assert_allclose(inverse[0], [9e12, -3e13, -5e-6], rtol=1e-4)


def test_an_outlier_of_the_noise_does_not_turn_the_covariances_of_the_target():
    """They are between 0 and those of the known slopes; what no noise explains is left as it was released."""
    slopes, noise = np.array([0.5, -0.3, 0.0]), 0.01
    covariance = np.diag([0.2, 0.06, 0.06, 0.06])
    covariance[0, 1:] = covariance[1:, 0] = 0.025, -0.015, 0.0
    for column, outlier in [(1, 0.05), (2, -0.05), (3, 0.05), (1, -0.09)]:
        noisy = covariance.copy()
        noisy[0, column] += outlier
        noisy[column, 0] = noisy[0, column]
        unknown, known = (
            regularized_covariance(noisy, noise, slopes, (0.05, 0.2), believed)[0]
            for believed in (np.zeros(3), slopes)
        )
        # The column loses what is outside of its range, and the others keep their part along `direction`.
        assert abs(known[0, column]) < abs(unknown[0, column]) - 0.01
        assert np.linalg.eigvalsh(known)[0] > 0.0
    # Six standard deviations of a small noise do not reach back to the range: data, not noise.
    clear = regularized_covariance(noisy, 1e-6, slopes, (0.05, 0.2), slopes)[1]
    np.testing.assert_allclose(clear[0, 1:], noisy[0, 1:], atol=1e-4)
