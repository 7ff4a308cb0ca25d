# SPDX-License-Identifier: BSD-3-Clause
"""Reports about a drawn column: its law, the counts, the estimates, and what is refused."""

from fractions import Fraction

import numpy as np
import pytest

from skprivate.randomizers import ColumnRandomizer, SubsetRandomizer, randomizer_from_dict

N = 40_000


def columns_of(reports):
    return reports[:, 0].astype(int) + 256 * reports[:, 1].astype(int)


@pytest.fixture
def randomizer():
    return ColumnRandomizer(1.5, 4, 3, n_columns=5)


@pytest.fixture
def categories():
    return np.random.default_rng(0).integers(12, size=(N, 5))


def test_the_column_does_not_depend_on_the_data(randomizer, categories):
    columns = columns_of(randomizer.randomize(categories, random_state=1))
    np.testing.assert_array_equal(columns, columns_of(randomizer.randomize(11 - categories, random_state=1)))
    # A sixth of the rows would be 30 standard deviations off; 6 are passed once in 10^8 seeds.
    assert abs(np.bincount(columns, minlength=5) - N / 5).max() < 6 * np.sqrt(N * 0.16)


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), 1, 3.5])
def test_a_report_is_that_of_subset_selection(epsilon):
    column, subset = ColumnRandomizer(epsilon, 4, 2, n_columns=3), SubsetRandomizer(epsilon, 4, 2)
    assert (column.odds, column.subset_size, column.epsilon) == (subset.odds, subset.subset_size, epsilon)
    assert float(column.odds) <= np.exp(float(epsilon)) * (1 + 1e-12)
    reports = column.randomize(np.full((N, 3), 5), random_state=0)
    sets = np.unpackbits(reports[:, 2:], axis=1, bitorder="little")[:, :8]
    assert (sets.sum(axis=1) == column.subset_size).all()
    # 6 standard deviations of a frequency.
    assert abs(sets[:, 5].mean() - subset.threshold / 2**64) < 3 / np.sqrt(N)


def test_estimates_are_unbiased_and_their_variance_is_known(randomizer):
    truth = np.full((N, 5), 7)
    errors = []
    for seed in range(30):
        counts = randomizer.simulate(truth, seed)
        found = randomizer.estimate(counts, N)
        clients = randomizer.clients_by_column(counts)
        assert clients.sum() == N
        expected = np.zeros((5, 4, 3))
        expected[:, 2, 1] = clients
        errors.append((found - expected)[:, 0] / np.sqrt(randomizer.column_variances(counts))[:, None])
    errors = np.array(errors)
    # 450 values: 6 standard errors of their mean, and of their mean square.
    assert abs(errors.mean()) < 6 / np.sqrt(errors.size)
    assert abs(np.mean(errors**2) - 1) < 6 * np.sqrt(2 / errors.size)


def test_a_dictionary_restores_it(randomizer):
    again = randomizer_from_dict(randomizer.to_dict())
    assert again.specification == randomizer.specification
    assert again.n_columns == 5
    assert again.blanket() == SubsetRandomizer(1.5, 4, 3).blanket()
