# SPDX-License-Identifier: BSD-3-Clause
"""The simulated fleet follows the model and the censoring that its docstring states."""

import numpy as np
import pytest
from scipy import stats

from skprivate.datasets import make_location_scale

DISTRIBUTIONS = {"sev": stats.gumbel_l, "logistic": stats.logistic, "normal": stats.norm}


@pytest.mark.parametrize(
    ("distribution", "error_distribution", "is_time"),
    [
        ("weibull", "sev", True),
        ("loglogistic", "logistic", True),
        ("lognormal", "normal", True),
        ("sev", "sev", False),
        ("logistic", "logistic", False),
        ("normal", "normal", False),
    ],
)
def test_errors_follow_the_distribution(distribution, error_distribution, is_time):
    X, y, coef = make_location_scale(
        50_000, 3, distribution=distribution, scale=0.25, intercept=2.0, return_coef=True, random_state=0
    )
    model = np.log(y) if is_time else y
    errors = (model - 2.0 - X @ coef) / 0.25
    # The right distribution fails with probability 1e-7 over the choice of the seed, the next one by far.
    assert stats.kstest(errors, DISTRIBUTIONS[error_distribution].cdf).pvalue > 1e-7
    assert all(
        stats.kstest(errors, DISTRIBUTIONS[other].cdf).pvalue < 1e-9
        for other in DISTRIBUTIONS
        if other != error_distribution
    )
    assert np.linalg.norm(coef) == pytest.approx(1.0)
    assert -1 <= X.min() < -0.99 < 0.99 < X.max() <= 1
    assert np.abs(X.mean(axis=0)).max() < 6 / np.sqrt(3 * 50_000)


@pytest.mark.parametrize("share", [0.05, 0.5, 0.8, 0.95, 0.999])
def test_the_stated_share_is_censored_by_uniform_ages(share):
    n = 50_000
    _, y = make_location_scale(n, 2, censoring=share, random_state=1)
    assert y.dtype == np.dtype([("event", bool), ("time", float)])
    # A binomial number given the lifetimes: within six standard deviations but for 2e-9.
    assert abs(np.mean(~y["event"]) - share) < 6 * np.sqrt(share * (1 - share) / n)
    # The same machines, all seen to fail.
    _, everything = make_location_scale(n, 2, structured=True, random_state=1)
    assert everything["event"].all()
    times, lifetimes = y["time"], everything["time"]
    assert (times[y["event"]] == lifetimes[y["event"]]).all()
    assert (times[~y["event"]] < lifetimes[~y["event"]]).all()
    assert times.min() > 0


def test_ages_are_uniform():
    # Almost all machines outlive the largest age, so that censored times are the ages themselves.
    _, y = make_location_scale(50_000, censoring=0.9999, random_state=2)
    ages = y["time"][~y["event"]]
    assert stats.kstest(ages / ages.max(), "uniform").pvalue > 1e-7


def test_coefficients_and_form_of_the_target_may_be_chosen():
    X, y = make_location_scale(100, 2, coef=[1.0, -2.0], scale=1e-12, intercept=3.0, random_state=0)
    np.testing.assert_allclose(y, np.exp(3.0 + X @ [1.0, -2.0]))
    _, model = make_location_scale(100, 2, distribution="sev", coef=[1.0, -2.0], random_state=0)
    _, times = make_location_scale(
        100, 2, distribution="sev", coef=[1.0, -2.0], structured=True, random_state=0
    )
    np.testing.assert_allclose(times["time"], np.exp(model))


def test_shapes_and_reproducibility():
    first, second = (make_location_scale(30, 4, censoring=0.5, random_state=3) for _ in range(2))
    assert first[0].shape == (30, 4)
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a, b)
    again = make_location_scale(30, 4, censoring=0.5, random_state=np.random.default_rng(3))
    assert again[1].shape == (30,)
    assert make_location_scale(1, 1, censoring=0.5, random_state=0)[1]["time"] > 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_samples": 0}, "n_samples"),
        ({"n_features": 0}, "n_features"),
        ({"distribution": "gamma"}, "distribution"),
        ({"scale": 0.0}, "scale"),
        ({"scale": "1"}, "scale"),
        ({"intercept": np.nan}, "intercept"),
        ({"coef": [1.0]}, "coef must hold 5"),
        ({"coef": [np.nan] * 5}, "coef"),
        ({"censoring": 1.0}, "censoring"),
        ({"censoring": 0.5, "structured": False}, "structured"),
    ],
)
def test_bad_parameters(change, message):
    with pytest.raises(ValueError, match=message):
        make_location_scale(**change)
