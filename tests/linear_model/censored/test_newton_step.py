# SPDX-License-Identifier: BSD-3-Clause
"""The model of a Newton step: its inverse, and what a fall of the gradient tells along the last step."""

import numpy as np
import pytest

from skprivate.linear_model._censored.newton import NewtonModel


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
