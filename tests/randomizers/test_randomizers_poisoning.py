# SPDX-License-Identifier: BSD-3-Clause
"""What doc/deployment.rst says about forged reports: the bound of each, and options that were not built."""

import math

import numpy as np
import pytest

from skprivate.randomizers import (
    HadamardRandomizer,
    LaplaceRandomizer,
    SignedLaplaceRandomizer,
    make_randomizer,
)

N_CELLS = 4
K = 2 * N_CELLS


def changes(randomizer):
    """How much each accepted report changes the estimates of all leaves, shape (n_accepted, n_cells)."""
    honest = randomizer.aggregate(randomizer.randomize(np.arange(800) % K, random_state=0))
    before, found = randomizer.estimate(honest, 800), []
    # One byte, or a number of a few bits: every report there is.
    for value in range(256):
        report = np.array([value], dtype=randomizer.report_dtype).reshape(1, *randomizer.report_shape)
        try:
            counts = randomizer.aggregate(report)
        except ValueError:
            continue
        found.append(randomizer.estimate(honest + counts, 801) - before)
    return np.array(found)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("n_blocks", [1, 2, 4])
def test_hadamard(epsilon, n_blocks):
    randomizer = HadamardRandomizer(epsilon, N_CELLS, n_blocks=n_blocks)
    found, e = changes(randomizer), math.exp(epsilon)
    assert len(found) == K
    assert np.abs(found).max() == pytest.approx((e + 2 * n_blocks - 1) / (e - 1))
    moved = np.abs(found) > 1e-9
    assert (moved.sum(axis=1) == N_CELLS // n_blocks).all()
    # The one-row attack: a report that moves all leaves of its block the same way.
    assert (found[1] >= -1e-9).all()


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
def test_krr(epsilon):
    found, e = changes(make_randomizer("krr", epsilon, N_CELLS)), math.exp(epsilon)
    assert len(found) == K
    assert np.abs(found).max() == pytest.approx((e + K - 1) / (e - 1))
    assert ((np.abs(found) > 1e-9).sum(axis=1) == 1).all()


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
def test_subset(epsilon):
    randomizer = make_randomizer("subset", epsilon, N_CELLS)
    found, e, d = changes(randomizer), math.exp(epsilon), randomizer.subset_size
    # Another number of ones is refused.
    assert len(found) == math.comb(K, d)
    assert np.abs(found).max() == pytest.approx((d * e + K - d) * (K - 1) / (d * (K - d) * (e - 1)))
    assert (np.abs(found) > 1e-9).sum(axis=1).max() == d


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
def test_unary(epsilon):
    found, e = changes(make_randomizer("unary", epsilon, N_CELLS)), math.exp(epsilon)
    assert len(found) == 2**K
    assert np.abs(found).max() == pytest.approx(2 * (e + 1) / (e - 1))
    assert found.min(axis=1).max() == pytest.approx(2 * (e + 1) / (e - 1))  # every leaf at once


@pytest.mark.parametrize("kind", [LaplaceRandomizer, SignedLaplaceRandomizer])
def test_laplace_has_no_bound(kind):
    randomizer = kind(1.0, N_CELLS)
    report = np.zeros((1, *randomizer.report_shape), dtype=randomizer.report_dtype)
    report.reshape(1, -1)[0, -1] = 2**60
    assert np.abs(randomizer.estimate(randomizer.aggregate(report), 1)).max() > 1e9


# The collection of the page: 100,000 clients in 64 leaves, half at 75 % yes, half at 25 %.
L, N = 64, 100_000
TRUTH = np.arange(L) % 2 == 1


@pytest.fixture(scope="module")
def collection():
    rng = np.random.default_rng(0)
    cells = rng.integers(L, size=N)
    labels = rng.random(N) < np.where(TRUTH, 0.75, 0.25)[cells]
    randomizer = make_randomizer("hadamard", 1.0, L)
    return randomizer, 2 * cells + labels, randomizer.randomize(2 * cells + labels, random_state=0)


def estimate_by_row(randomizer, reports):
    """Estimate from the mean sign of every row, so that no row weighs more than another."""
    means = randomizer.aggregate(reports) / np.bincount(reports >> 1, minlength=L)
    # The estimate is linear: its values for one report in each row are its matrix.
    basis = [randomizer.estimate(row, 1) for row in np.eye(L, dtype=np.int64)]
    return len(reports) / L * means @ np.array(basis)


def wrong_leaves(estimate):
    return int(((estimate > 0) != TRUTH).sum())


def test_estimates_by_row_do_not_help(collection):
    randomizer, _, honest = collection
    wrong = {}
    for share in (0.003, 0.01):
        reports = honest.copy()
        reports[: int(share * N)] = 1
        wrong[share] = wrong_leaves(estimate_by_row(randomizer, reports))
    assert wrong == {0.003: 10, 0.01: 24}


@pytest.mark.slow
def test_estimates_by_row_cost_nothing(collection):
    randomizer, categories, _ = collection
    plain, by_row = [], []
    for seed in range(300):
        reports = randomizer.randomize(categories[:5000], random_state=seed)
        plain.append(randomizer.estimate(randomizer.aggregate(reports), 5000))
        by_row.append(estimate_by_row(randomizer, reports))
    assert round(np.var(plain, axis=0).mean() / 5000, 2) == 4.59
    assert round(np.var(by_row, axis=0).mean() / 5000, 2) == 4.65


def test_rows_given_out_stop_the_attack_on_all_leaves(collection):
    randomizer, _, honest = collection
    reports = honest.copy()
    forged = reports[: N // 100]
    forged[:] = (forged >> 1 << 1) | 1  # the row as given, the sign as wanted
    assert wrong_leaves(randomizer.estimate(randomizer.aggregate(reports), N)) == 5
