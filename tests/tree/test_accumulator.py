# SPDX-License-Identifier: BSD-3-Clause
"""Counts of batches are those of a fit, in any order; weights of rows up to a public bound."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from skprivate import DPTreeClassifier, DPTreeRegressor, config_context
from skprivate.domain import CategoricalColumn, TableDomain
from skprivate.rounds._plans.masses import NUMBER_BITS, WEIGHT_STEPS
from skprivate.tree import LeafCountAccumulator

pytestmark = pytest.mark.filterwarnings("ignore::skprivate.exceptions.UtilityWarning")

N = 4000
RNG = np.random.default_rng(0)
X = RNG.uniform(size=(N, 2))
LABELS = (X[:, 0] > RNG.uniform(size=N)).astype(int)
NUMBERS = 3 * X[:, 0] + RNG.uniform(size=N)
WEIGHTS = RNG.uniform(0, 2, size=N)
BOX = ([0, 0], [1, 1])


class TestAccumulator:
    TREE = DPTreeRegressor(1.0, random_state=3, split_share=0, bounds_X=([0, 0], [1, 1]), bounds_y=(0, 4))

    @pytest.mark.parametrize("public", [None, (X[:200], NUMBERS[:200])], ids=["private", "public"])
    def test_batches_in_any_order_are_one_fit(self, public):
        rows, y = (X, NUMBERS) if public is None else (X[200:], NUMBERS[200:])
        memory = clone(self.TREE).fit(X, NUMBERS, is_public=None if public is None else np.arange(N) < 200)
        first, second = (LeafCountAccumulator(self.TREE, len(rows), public=public) for _ in range(2))
        first.update(rows[:700], y[:700], batch_id="a")
        second = second.update(rows[800:], y[800:], batch_id="c").update(
            rows[700:800], y[700:800], batch_id="b"
        )
        restored = LeafCountAccumulator.from_bytes(second.to_bytes())
        found = first.merge(restored).release(self.TREE)
        np.testing.assert_array_equal(found.report_counts_, memory.report_counts_)
        np.testing.assert_array_equal(found.leaf_intervals(), memory.leaf_intervals())
        assert first.released


def tree_of(kind, epsilon=1e5, **options):
    if kind == "labels":
        return DPTreeClassifier(epsilon, max_depth=3, bounds=BOX, classes=[0, 1], **options)
    return DPTreeRegressor(epsilon, max_depth=3, bounds_X=BOX, bounds_y=(0, 4), **options)


def released(kind, weights, cap=2.0, epsilon=1e5, target=None, **options):
    tree = tree_of(kind, epsilon, **options)
    y = (LABELS if kind == "labels" else NUMBERS) if target is None else target
    counts = LeafCountAccumulator(tree, len(y), max_sample_weight=cap)
    for part in np.array_split(np.arange(len(y)), 3):
        counts.update(X[part], y[part], sample_weight=None if weights is None else weights[part])
    return counts.release(tree)


@pytest.mark.parametrize("kind", ["labels", "numbers"])
class TestEstimates:
    def test_are_weighted_means_where_there_is_hardly_noise(self, kind):
        tree = released(kind, WEIGHTS)
        leaf = tree.apply(X)
        sizes = np.bincount(leaf, WEIGHTS)
        np.testing.assert_allclose(tree.leaf_sizes_, sizes, rtol=3e-3)
        y = LABELS if kind == "labels" else NUMBERS
        means = np.bincount(leaf, WEIGHTS * y) / sizes
        found = tree.leaf_proba_[:, 1] if kind == "labels" else tree.leaf_values_
        np.testing.assert_allclose(found, means, atol=0.06)
        # Far from those of rows that count alike, where weights follow the target.
        other = released(kind, 2.0 * (y > np.median(y) - 0.5 * (kind == "labels")))
        more = other.leaf_proba_[:, 1] if kind == "labels" else other.leaf_values_
        assert (more > found + 0.1).sum() >= 4

    def test_weights_beyond_their_bound_are_clipped_in_silence(self, kind):
        wild = WEIGHTS.copy()
        wild[:4] = 1e300, -5.0, np.inf, -np.inf
        tame = wild.copy()
        tame[:4] = 2, 0, 2, 0
        one, other = (released(kind, weights, random_state=1) for weights in (wild, tame))
        np.testing.assert_array_equal(one.report_counts_, other.report_counts_)

    def test_the_noise_is_that_of_the_largest_weight(self, kind):
        tree = released(kind, WEIGHTS, epsilon=1.0)
        total = 1 if kind == "labels" else 4**NUMBER_BITS
        assert tree.privacy_spent_.sensitivity == 2 * WEIGHT_STEPS * total
        assert tree.privacy_spent_.noise_scale == 2 * WEIGHT_STEPS * total
        assert tree.privacy_spent_.private

    def test_replacing_a_row_moves_the_sums_by_the_sensitivity_at_most(self, kind):
        y = LABELS if kind == "labels" else NUMBERS
        tree = tree_of(kind)
        total = 1 if kind == "labels" else 4**NUMBER_BITS

        def sums(x, target, weight):
            counts = LeafCountAccumulator(tree, 50, max_sample_weight=2.0)
            rows, targets = np.vstack([X[:49], [x]]), np.append(y[:49], target)
            counts.update(rows, targets, sample_weight=np.append(WEIGHTS[:49], weight))
            return counts._sums

        ends = [(x, t, w) for x in ([0, 0], [1, 1]) for t in (0, 1, 4, -1e300) for w in (0, 2, 1e300, 0.3)]
        tables = [sums(*end) for end in ends]
        moved = [int(abs(one - other).sum()) for one in tables for other in tables]
        assert max(moved) == 2 * WEIGHT_STEPS * total

    def test_intervals_are_wider_than_without(self, kind):
        if kind == "labels":
            return  # trees of labels have none
        plain, weighted = released(kind, None, cap=1.0), released(kind, np.ones(N), cap=4.0)
        widths = [np.diff(tree.leaf_intervals(), axis=1).mean() for tree in (plain, weighted)]
        assert 1.7 < widths[1] / widths[0] < 2.3


def test_weighted_sums_are_merged_and_pickled():
    one, other = (LeafCountAccumulator(tree_of("labels"), N, max_sample_weight=2) for _ in range(2))
    one.update(X[:1000], LABELS[:1000], sample_weight=WEIGHTS[:1000])
    other = pickle.loads(pickle.dumps(other))
    other.update(X[1000:], LABELS[1000:], sample_weight=WEIGHTS[1000:])
    whole = one.merge(other).release(tree_of("labels", random_state=1))
    expected = released("labels", WEIGHTS, random_state=1)
    np.testing.assert_array_equal(whole.report_counts_, expected.report_counts_)


def test_a_weight_that_is_no_number_is_one_in_strict_mode():
    counts = LeafCountAccumulator(tree_of("labels"), N, max_sample_weight=2)
    with config_context(strict=True):
        counts.update(X, LABELS, sample_weight=np.where(np.arange(N) == 5, np.nan, 1.0))
    assert counts._sums.sum() == (N - 1) * WEIGHT_STEPS / 2


def test_declared_columns_are_read_in_batches():
    domain = TableDomain({"job": CategoricalColumn(list("abc"), missing="indicator"), "age": (0, 1)})
    table = pd.DataFrame({"job": np.array(["a", "b", "c", None])[np.arange(N) % 4], "age": X[:, 0]})
    tree = DPTreeClassifier(4.0, domain=domain, classes=[0, 1], rule="cart", max_depth=3, split_share=0)
    public, private = np.arange(N) < 300, np.arange(300, N)
    known = table[public], LABELS[public]
    counts = LeafCountAccumulator(tree, n_rows=len(private), public=known)
    for part in np.array_split(private, 3):
        counts.update(table.iloc[part], LABELS[part], batch_id=str(part[0]))
    found = counts.release(tree, public=known)
    assert found.partition_ == clone(tree).fit(table, LABELS, is_public=public).partition_
    # Noise of scale 1/2 at epsilon 4, on counts: 40 is beyond e^-79 for each of at most 16 of them.
    exact = np.zeros_like(found.report_counts_)
    leaves = found.partition_.apply(domain.encode(table.iloc[private]))
    np.add.at(exact.reshape(-1), 2 * leaves + LABELS[private], 1)
    assert abs(found.report_counts_ - exact).max() <= 40
