# SPDX-License-Identifier: BSD-3-Clause
"""The test of leaves that are all alike: its squares, its rate of errors, and what it finds.

A fixed seed draws the noise; where a share of draws is counted, the bound is one that 5 standard errors of a
right share do not pass (below 1e-6).
"""

from types import SimpleNamespace

import numpy as np
import pytest

from skprivate.randomizers import HadamardRandomizer, KRRRandomizer, LabelRandomizer
from skprivate.tree import _nodes
from skprivate.tree._leaf_probabilities import LeafCounts, variance_per_row
from skprivate.tree._nodes import NoisyTable, leaves_differ, log_p_value

#: Of a complete tree of eight leaves.
ANCESTORS = np.array([np.arange(8) >> (3 - depth) for depth in range(4)], dtype=np.int32)
ALIKE = np.full(8, 0.125)


def histogram(scale):
    variance = 2 * 2 * scale**2
    return SimpleNamespace(relation="replace-one", variance=lambda n, sizes: np.full(len(sizes), variance))


def table(release, shares, rates, n_rows=4000, seed=0):
    """Draw rows of leaves with these shares of the rows and of the labels, and release their counts."""
    rng = np.random.default_rng(seed)
    n_labels = len(rates[0])
    exact = rng.multinomial(n_rows, (np.asarray(shares)[:, None] * rates).ravel()).reshape(-1, n_labels)
    public = rng.multinomial(200, shares)[:, None] * np.eye(n_labels, dtype=int)[0]
    if isinstance(release, float):
        noisy = exact + np.rint(rng.laplace(0, release, exact.shape))
        variance = 4 * release**2 / n_rows
        return NoisyTable.of(
            histogram(release), LeafCounts.of(noisy, n_rows, public, variance, noisy.sum(axis=1))
        )
    randomizer = release(1.0, len(exact), n_labels)
    categories = np.repeat(np.arange(exact.size), exact.ravel())
    counts = randomizer.simulate(categories, seed)
    found = randomizer.estimate(counts, n_rows)
    estimates = np.column_stack([-found / 2, found / 2]) if found.ndim == 1 else found
    cells = randomizer.estimate_cells(counts, n_rows)
    variance = variance_per_row(randomizer, n_rows)
    return NoisyTable.of(randomizer, LeafCounts.of(estimates, n_rows, public, variance, cells))


RELEASES = [2.0, 20.0, HadamardRandomizer, KRRRandomizer, LabelRandomizer]


@pytest.mark.parametrize("n_labels", [2, 4])
@pytest.mark.parametrize("release", RELEASES)
def test_the_squares_are_those_of_the_whole_covariance(release, n_labels):
    rates = np.random.default_rng(5).dirichlet(np.ones(n_labels))
    one = table(release, ALIKE, np.tile(rates, (8, 1)))
    counts, (cells, error) = one.counts, one.cells
    tilt = 1 / n_labels - rates
    difference = counts.label_totals() - np.outer(cells, rates)
    for leaf, square in enumerate(_nodes._squares(one, rates)):
        covariance = one.noise[leaf] * (np.eye(n_labels) - 1 / n_labels)
        covariance += error[leaf] * np.outer(tilt, tilt)
        covariance += counts.cell_sizes[leaf] * (np.diag(rates) - np.outer(rates, rates))
        expected = difference[leaf] @ np.linalg.pinv(covariance, rcond=1e-9) @ difference[leaf]
        assert square == pytest.approx(expected, rel=1e-6)


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("release", "n_labels"),
    [(2.0, 4), (20.0, 2), (HadamardRandomizer, 2), (KRRRandomizer, 4), (LabelRandomizer, 2)],
)
def test_leaves_that_are_alike_seldom_differ(release, n_labels):
    # The stated rate is at most .06; 5 standard errors of 100 draws are .12.
    rates = np.tile(np.r_[0.85, np.full(n_labels - 1, 0.15 / (n_labels - 1))], (8, 1))
    uneven = np.array([0.6, 0.2, 0.1, 0.04, 0.02, 0.02, 0.01, 0.01])
    for shares in (ALIKE, uneven):
        found = [leaves_differ(table(release, shares, rates, seed=seed), ANCESTORS) for seed in range(100)]
        assert np.mean(found) <= 0.18


@pytest.mark.parametrize("n_labels", [2, 4])
@pytest.mark.parametrize("release", RELEASES)
def test_leaves_that_differ_are_found(release, n_labels):
    rates = np.full((8, n_labels), 0.1 / (n_labels - 1))
    rates[:4, 0] = rates[4:, 1] = 0.9
    assert all(leaves_differ(table(release, ALIKE, rates, 20_000, seed), ANCESTORS) for seed in range(5))


@pytest.mark.parametrize("rates", [[0.5, 0.5], [0.9, 0.1], [0.2, 0.3, 0.5]])
def test_squares_of_laplace_noise_vary_as_their_kurtosis_says(rates):
    # 20,000 leaves of five rows each beside noise of 28: the standard error of the variance is .03 of it.
    n_leaves, rates = 20_000, np.array(rates)
    one = table(20.0, np.full(n_leaves, 1 / n_leaves), np.tile(rates, (n_leaves, 1)), 5 * n_leaves)
    found = _nodes._squares(one, rates).var()
    assert found == pytest.approx(_nodes._variances(one, rates).mean(), rel=0.15)
    assert found > 1.3 * 2 * (len(rates) - 1)
    pairs = np.repeat(np.arange(n_leaves // 2, dtype=np.int32), 2)
    np.testing.assert_allclose(one.aggregate(pairs).kurtosis, 1.5)


def test_labels_that_are_all_the_first_do_not_differ():
    rates = np.tile([1.0, 0.0], (8, 1))
    assert log_p_value(table(2.0, ALIKE, rates)) > np.log(1e-4)
    assert not leaves_differ(table(2.0, ALIKE, rates), ANCESTORS)


def test_rows_of_a_single_leaf_do_not_differ():
    # The base rate is estimated from the leaf that has rows, and not from the noise of all others.
    shares, rates = np.r_[1.0, np.full(7, 1e-300)], np.tile([0.9, 0.1], (8, 1))
    found = [leaves_differ(table(40.0, shares, rates, 50_000, seed), ANCESTORS) for seed in range(20)]
    assert np.mean(found) <= 0.3


def test_nodes_say_what_noise_hides_in_their_leaves():
    # 64 leaves of 15 rows each, beside noise of 14: halves of the tree differ all the same.
    rates = np.repeat([[0.9, 0.1], [0.1, 0.9]], 32, axis=0)
    ancestors = np.array([np.arange(64) >> (6 - depth) for depth in range(7)], dtype=np.int32)
    tables = [table(10.0, np.full(64, 1 / 64), rates, 1000, seed) for seed in range(20)]
    halves = np.mean([leaves_differ(one, ancestors) for one in tables])
    leaves = np.mean([log_p_value(one) < np.log(0.01) for one in tables])
    assert halves > leaves + 0.3


def test_one_leaf_does_not_differ_from_itself():
    one = table(2.0, [1.0], [[0.5, 0.5]])
    assert not leaves_differ(one, np.zeros((1, 1), dtype=np.int32))
    assert log_p_value(one) == 0.0


def test_public_labels_do_not_matter():
    rates = np.tile([0.7, 0.3], (8, 1))
    one = table(2.0, ALIKE, rates)
    other = NoisyTable(
        LeafCounts(**{**vars(one.counts), "public_counts": one.counts.public_counts[:, ::-1]}),
        one.exact_cells,
        one.kurtosis,
    )
    assert log_p_value(one) == log_p_value(other)
