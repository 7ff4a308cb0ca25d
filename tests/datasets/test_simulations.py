# SPDX-License-Identifier: BSD-3-Clause
"""The simulations follow the rules, the distributions and the sizes that their docstrings state."""

from functools import partial

import numpy as np
import pytest
from scipy import stats

from skprivate.datasets import make_location_scale, make_parties, make_posterior_drift
from skprivate.datasets._simulations import posterior

ERRORS = {"sev": stats.gumbel_l, "logistic": stats.logistic, "normal": stats.norm}
OF_TIMES = {"weibull": "sev", "loglogistic": "logistic", "lognormal": "normal"}


@pytest.mark.parametrize("distribution", [*ERRORS, *OF_TIMES])
def test_errors_follow_the_distribution(distribution):
    X, y, coef = make_location_scale(
        50_000, 3, distribution=distribution, scale=0.25, intercept=2.0, return_coef=True, random_state=0
    )
    errors = ((np.log(y) if distribution in OF_TIMES else y) - 2.0 - X @ coef) / 0.25
    # The right distribution fails with probability 1e-7 over the choice of the seed, the next one by far.
    for name, law in ERRORS.items():
        p_value = stats.kstest(errors, law.cdf).pvalue
        assert p_value > 1e-7 if name == OF_TIMES.get(distribution, distribution) else p_value < 1e-9
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


def rule(x):
    norm = float(np.linalg.norm(x))
    bump = (1 - norm) ** 5 * (1 + 5 * norm) if norm <= 1 else 0.0
    return bump + norm**2 / 5


def test_without_noise_y_is_the_rule():
    X, y, sites = make_parties(2000, 1, n_features=2, noise=0, random_state=0)
    assert X.min() >= 0
    assert X.max() <= 1
    # Both branches of the rule are met.
    norms = np.linalg.norm(X, axis=1)
    assert (norms < 0.5).any()
    assert (norms > 1).any()
    np.testing.assert_allclose(y, [rule(x) for x in X], rtol=1e-12)
    assert set(sites) == {0}


def test_noise_is_a_standard_deviation():
    X, y, _ = make_parties(50_000, 4, n_features=3, noise=0.1, random_state=1)
    errors = (y - [rule(x) for x in X]) / 0.1
    # The right distribution fails with probability 1e-7 over the choice of the seed; a variance of .1 by far.
    assert stats.kstest(errors, "norm").pvalue > 1e-7
    assert stats.kstest(errors * 0.1 / np.sqrt(0.1), "norm").pvalue < 1e-12


@pytest.mark.parametrize(("n", "m"), [(10_000, 20), (997, 10), (20, 20), (21, 20), (39, 20), (5, 1), (7, 2)])
def test_sizes_of_the_parties(n, m):
    for seed in range(20):
        sizes = np.bincount(make_parties(n, m, n_features=1, random_state=seed)[2], minlength=m)
        assert sizes.sum() == n
        assert sizes.min() >= 1
        assert sizes[-1] == sizes.max()
        assert (sizes[:-1] <= n / m).all()
        if n >= 10 * m:
            assert (sizes[:-1] >= 0.8 * n / m).all()


def test_every_size_is_equally_likely(assert_fits):
    sizes = [
        np.bincount(make_parties(500, 10, n_features=1, random_state=seed)[2])[:-1] for seed in range(400)
    ]
    counts = np.bincount(np.concatenate(sizes), minlength=51)
    assert counts[:40].sum() == 0
    assert_fits("sizes from 40 to 50", counts[40:], np.full(11, 1 / 11))


def test_the_paper_s_victim_is_the_party_with_the_rest():
    sizes = np.array([np.bincount(make_parties(random_state=seed)[2])[-1] for seed in range(50)])
    # 10,000 less 19 numbers of mean 450 and standard deviation 29.2: within six standard deviations of 1,450
    # but for 2e-9.
    assert np.abs(sizes.mean() - (10_000 - 19 * 450.0)) < 6 * np.sqrt(19 / 50) * 29.2
    assert sizes.min() > 500


def test_rows_of_all_parties_stand_in_random_order():
    sites = make_parties(2000, 4, random_state=0)[2]
    for part in np.split(sites, 4):
        assert set(part) == {0, 1, 2, 3}


def test_rows_of_parties_do_not_depend_on_the_noise():
    noisy, clean = (make_parties(100, 3, noise=noise, random_state=5) for noise in (0.1, 0))
    np.testing.assert_array_equal(clean[0], noisy[0])
    np.testing.assert_array_equal(clean[2], noisy[2])


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


@pytest.mark.parametrize(
    ("make", "shape"),
    [
        (partial(make_location_scale, 30, 4, censoring=0.5), (30, 4)),
        (partial(make_posterior_drift, 30, 20, n_features=5), (50, 5)),
        (partial(make_parties, 100, 3), (100, 5)),
    ],
)
def test_rows_have_their_shape_and_are_reproducible(make, shape):
    first, second = make(random_state=3), make(random_state=3)
    for one, two in zip(first, second, strict=True):
        np.testing.assert_array_equal(one, two)
    for source in (np.random.default_rng(3), np.random.RandomState(3)):
        X, *others = make(random_state=source)
        assert X.shape == shape
        assert {len(other) for other in others} == {shape[0]}


def test_public_rows_stand_last_and_one_row_is_enough():
    assert make_posterior_drift(30, 20, random_state=3)[2].tolist() == [False] * 30 + [True] * 20
    assert make_location_scale(1, 1, censoring=0.5, random_state=0)[1]["time"] > 0
