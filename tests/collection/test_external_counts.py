# SPDX-License-Identifier: BSD-3-Clause
"""Counts from elsewhere: what their noise costs, and the tree of a finished sum."""

import math
from fractions import Fraction

import numpy as np
import pytest

from skprivate.collection import TreeCurator
from skprivate.collection._external_counts import ExternalNoise
from skprivate.noise import DiscreteLaplaceMechanism, zcdp_to_epsilon
from tests.collection.studies import N_PRIVATE, N_PUBLIC, label_plan, label_rows, write_reports

X, Y = label_rows()


def study(tree=None, n_labels=2):
    """A curator of these public rows, and the exact counts of the private ones in its leaves."""
    y, tree = np.minimum(Y, n_labels - 1), label_plan("krr", public_weight=0.0) if tree is None else tree
    curator = TreeCurator(tree, X[:N_PUBLIC], y[:N_PUBLIC], n_clients=N_PRIVATE)
    partition = curator.specification.partition
    table = np.zeros((partition.n_leaves, n_labels), dtype=np.int64)
    np.add.at(table, (partition.apply(X[N_PUBLIC:]), y[N_PUBLIC:]), 1)
    return curator, table


def test_they_may_be_fractions():
    curator, table = study(label_plan())
    tree = curator.from_counts(table + 0.25, mechanism="laplace", epsilon=2).release()
    np.testing.assert_array_equal(tree.report_counts_, table + 0.25)


@pytest.mark.parametrize("prune", [False, True, "paper"])
def test_almost_exact_counts(prune):
    curator, table = study(label_plan("krr", public_weight=0.0, prune=prune))
    # As good as none.
    tree = curator.from_counts(table, mechanism="laplace", epsilon=1e6).release()
    assert tree.leaf_proba_.min() >= 0
    if prune is True:
        # Nothing is noisy, so a leaf with a clear majority is judged by itself.
        clear = np.abs(table[:, 1] - table[:, 0]) > 10
        assert clear.any()
        np.testing.assert_array_equal(tree.leaf_proba_.argmax(axis=1)[clear], table.argmax(axis=1)[clear])


def test_a_finished_sum_takes_no_reports(tmp_path):
    curator, table = study()
    reports = curator.specification.randomizer.randomize(np.zeros(20, dtype=int), 0)
    path = write_reports(tmp_path / "reports.bin", curator.specification, reports)
    curator.update(reports)
    finished = curator.from_counts(table, mechanism="discrete-laplace", epsilon=1, relation="add-remove")
    for operation in (
        lambda: finished.update(reports),
        lambda: finished.update_file(path),
        lambda: finished.merge(curator),
        lambda: curator.merge(finished),
        finished.to_bytes,
    ):
        with pytest.raises(ValueError, match="only release it"):
            operation()


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("rows_per_unit", [None, 3])
@pytest.mark.parametrize("mechanism", ["laplace", "discrete-laplace", "gaussian"])
def test_epsilon_and_variance_follow_from_one_another(relation, rows_per_unit, mechanism):
    curator, table = study()
    units = {"relation": relation, "max_rows_per_unit": rows_per_unit}
    l1 = (2 if relation == "replace-one" else 1) * (rows_per_unit or 1)
    if mechanism == "gaussian":
        squared = (2 if relation == "replace-one" else 1) * (rows_per_unit or 1) ** 2
        given, delta = {"noise_variance": 18.0, "delta": 1e-6}, Fraction(1e-6)
        epsilon = zcdp_to_epsilon(Fraction(squared, 36), 1e-6)
    else:
        own = DiscreteLaplaceMechanism(Fraction(1, 2), sensitivity=l1)
        variance = own.variance if mechanism == "discrete-laplace" else 2.0 * (2 * l1) ** 2
        given, delta, epsilon = {"noise_variance": variance}, 0, Fraction(1, 2)
    for both in (given, {**given, "epsilon": epsilon}):
        spent = curator.from_counts(table, mechanism=mechanism, **both, **units).release().privacy_spent_
        assert epsilon <= spent.epsilon < epsilon * (1 + Fraction(1, 10**9))
        assert (spent.delta, spent.relation) == (delta, relation)
        assert (spent.unit, spent.max_rows_per_unit) == (("group", 3) if rows_per_unit else ("row", 1))


@pytest.mark.parametrize("variance", [0.01, 1e9, 1e15, 4e15, 1e20, 1e299])
def test_epsilon_of_large_noise_is_not_rounded_down(variance):
    noise = ExternalNoise.of("discrete-laplace", None, variance)
    # The variance is 1 / (2 sinh(r / 2)^2) where epsilon is 2 r; the series is exact in fractions.
    half = noise.epsilon / 4
    sinh = sum(half ** (2 * k + 1) / math.factorial(2 * k + 1) for k in range(20))
    assert 1 <= 2 * sinh**2 * Fraction(variance) < 1 + 1e-10
