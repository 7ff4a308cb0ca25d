# SPDX-License-Identifier: BSD-3-Clause
"""The simulated parties follow the rule and the sizes that the docstring states."""

import numpy as np
import pytest
from scipy import stats

from skprivate.datasets import make_parties


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


def test_rows_are_reproducible_and_do_not_depend_on_the_noise():
    first, second = (make_parties(100, 3, random_state=5) for _ in range(2))
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a, b)
    clean = make_parties(100, 3, noise=0, random_state=5)
    np.testing.assert_array_equal(clean[0], first[0])
    np.testing.assert_array_equal(clean[2], first[2])
    for rng in (np.random.default_rng(0), np.random.RandomState(0)):
        assert make_parties(10, 2, random_state=rng)[0].shape == (10, 5)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_parties": 0}, "n_parties"),
        ({"n_samples": 19}, "n_samples must be at least 20"),
        ({"n_features": 0}, "n_features"),
        ({"noise": -0.1}, "noise"),
        ({"noise": np.inf}, "noise"),
        ({"noise": np.nan}, "noise"),
        ({"noise": True}, "noise"),
        ({"noise": "0"}, "noise"),
    ],
)
def test_bad_parameters(change, message):
    with pytest.raises(ValueError, match=message):
        make_parties(**change)
