# SPDX-License-Identifier: BSD-3-Clause
"""The simulator follows the rules that its docstring states."""

import numpy as np
import pytest

from skprivate.datasets import make_posterior_drift
from skprivate.datasets._simulations import posterior


def test_bayes_accuracy_is_the_stated_one():
    # 400,000 rows: standard error .0007, so the true value is within .005 but for a chance below 1e-9.
    X, y, _ = make_posterior_drift(400_000, 0, random_state=0)
    assert np.mean((posterior(X) > 0.5) == (y == 1)) == pytest.approx(0.786, abs=0.005)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"gamma": 0.5}, lambda eta, X: 0.5 + 0.4 * np.sign(eta - 0.5) * (abs(eta - 0.5) / 0.4) ** 0.5),
        ({"drift": "flipped"}, lambda eta, X: np.where(X[:, 0] < 1 / 3, 1 - eta, eta)),
        ({"drift": "unrelated"}, lambda eta, X: np.full(len(eta), 0.5)),
    ],
)
def test_public_labels_follow_their_own_rule(options, expected):
    # Sum of 200,000 centred labels times a fixed sign: below 6 standard deviations but for 2e-9.
    X, y, is_public = make_posterior_drift(10, 200_000, n_features=3, random_state=1, **options)
    X, y = X[is_public], y[is_public]
    eta = expected(posterior(X), X)
    for sign in (np.sign(posterior(X) - 0.5), np.where(X[:, 0] < 1 / 3, 1, -1)):
        assert abs(np.sum(sign * (y - eta))) < 6 * np.sqrt(np.sum(eta * (1 - eta)))


def test_shapes_and_reproducibility():
    first, second = (make_posterior_drift(30, 20, n_features=5, random_state=3) for _ in range(2))
    for one, two in zip(first, second, strict=True):
        np.testing.assert_array_equal(one, two)
    assert first[0].shape == (50, 5)
    assert first[2].sum() == 20
    assert not first[2][:30].any()


@pytest.mark.parametrize(
    "options",
    [
        {"n_private": -1},
        {"n_public": 1.5},
        {"n_features": 1},
        {"gamma": 0},
        {"gamma": np.inf},
        {"drift": "none"},
    ],
)
def test_refusals(options):
    with pytest.raises((TypeError, ValueError), match=next(iter(options))):
        make_posterior_drift(**options)
