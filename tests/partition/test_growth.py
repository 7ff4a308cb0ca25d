# SPDX-License-Identifier: BSD-3-Clause
"""How partitions grow, by every rule: against slow, exact references and scikit-learn's tree."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skprivate.partition import build_partition
from skprivate.partition._growth import MOST_CUTS, candidate_cuts
from tests.partition.references import (
    DATA,
    SMALLEST,
    assert_matches_reference,
    coarse,
    on_midpoints,
    outside,
    problem,
    uniform,
)

RULES = ["max-edge", "random", "cart"]


def build(**arguments):
    return build_partition(rule="cart", **arguments)


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize(
    ("rule", "criterion"),
    [
        ("random", "gini"),
        ("max-edge", "gini"),
        ("max-edge", "entropy"),
        ("cart", "gini"),
        ("cart", "entropy"),
    ],
)
def test_build_equals_reference(data, rule, criterion):
    options = {"rule": rule, "criterion": criterion, "max_depth": 5 if rule == "cart" else 6, "seed": 3}
    for d in (1, 2, 4):
        for n_labels in (2, 3):
            task = problem(data, d, n_labels, n=40 if rule == "cart" else 120) | options
            for min_samples_leaf in (0, 4):
                assert_matches_reference(**task, min_samples_leaf=min_samples_leaf)


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_small_cells_tie_exactly(criterion):
    # Few rows on a coarse grid: most choices are ties, and the rounding of floats would break some of them.
    for seed in range(60):
        halved, cut = problem(on_midpoints, 4, 2, n=9, seed=seed), problem(coarse, 4, 3, n=12, seed=seed)
        assert_matches_reference(**halved, max_depth=5, criterion=criterion)
        assert_matches_reference(**cut, max_depth=9, criterion=criterion, rule="cart")


@settings(deadline=None, max_examples=60)
@given(
    n=st.integers(1, 25),
    d=st.integers(1, 3),
    n_labels=st.integers(2, 4),
    depth=st.integers(0, 4),
    min_leaf=st.integers(0, 4),
    criterion=st.sampled_from(["gini", "entropy"]),
    data=st.data(),
)
def test_any_table_equals_the_reference_of_cart(n, d, n_labels, depth, min_leaf, criterion, data):
    numbers = st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from([0.0, -0.0, 1.0, SMALLEST])
    X = np.array(data.draw(st.lists(st.lists(numbers, min_size=d, max_size=d), min_size=n, max_size=n)))
    labels = data.draw(st.lists(st.integers(0, n_labels - 1), min_size=n, max_size=n))
    corners = st.lists(st.lists(numbers, min_size=d, max_size=d), min_size=2, max_size=2)
    box = np.sort(data.draw(corners), axis=0)
    task = {"X": X, "labels": labels, "lower": box[0], "upper": box[1], "n_labels": n_labels}
    task |= {"max_depth": depth, "min_samples_leaf": min_leaf, "criterion": criterion}
    assert_matches_reference(**task, rule="cart")


@pytest.mark.parametrize("d", [1, 3])
def test_without_public_rows_the_tree_is_complete_and_random(d):
    empty = {"X": np.empty((0, d)), "labels": [], "lower": np.zeros(d), "upper": np.arange(1.0, d + 1)}
    options = {"max_depth": 5, "seed": 5, "min_samples_leaf": 4}
    trees = [build_partition(**empty, rule=rule, **options) for rule in RULES]
    assert trees[0] == trees[1] == trees[2]
    assert trees[0].n_leaves == 32
    assert_matches_reference(**empty, rule="random", **options)


def test_seed_changes_the_random_tree_only():
    task = problem(uniform, 4, 2)
    for rule in RULES:
        first, second = (build_partition(**task, max_depth=6, rule=rule, seed=s) for s in (0, 1))
        assert (first == second) is (rule != "random")


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("min_samples_leaf", [0, 3])
def test_truncation_equals_building_shallower(data, rule, min_samples_leaf):
    task = problem(data, 3, 3) | {"rule": rule, "min_samples_leaf": min_samples_leaf, "seed": 1}
    deep = build_partition(**task, max_depth=8)
    counts = deep.leaf_counts_by_depth()
    assert counts.dtype == np.int64
    assert len(counts) == deep.max_depth + 1
    for depth in range(9):
        truncated = deep.truncate(depth)
        assert truncated == build_partition(**task, max_depth=depth)
        assert truncated.n_leaves == counts[min(depth, deep.max_depth)]
        assert truncated.max_depth == min(depth, deep.max_depth)
    assert deep.truncate(12) == deep


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("n", [40, 3000])
def test_copies_of_rows_need_not_be_made(rule, n):
    rng = np.random.default_rng(n)
    X, votes = rng.uniform(size=(n, 3)).round(3), rng.integers(0, 9, n)
    options = {"lower": [0] * 3, "upper": [1] * 3, "max_depth": 6, "rule": rule}
    for criterion, least in (("gini", 0), ("entropy", 3)):
        counted = build_partition(X, votes, **options, criterion=criterion, min_samples_leaf=least, copies=8)
        labels = (np.arange(8) < votes[:, np.newaxis]).ravel()
        copied = build_partition(
            np.repeat(X, 8, axis=0), labels, **options, criterion=criterion, min_samples_leaf=8 * least
        )
        assert counted == copied


@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 10**6),
    d=st.integers(1, 4),
    rule=st.sampled_from(RULES),
    criterion=st.sampled_from(["gini", "entropy"]),
)
def test_order_of_public_rows_does_not_matter(seed, d, rule, criterion):
    task = problem(on_midpoints, d, 3, n=50, seed=seed)
    task |= {"max_depth": 6, "rule": rule, "criterion": criterion}
    order = np.random.default_rng(seed).permutation(50)
    shuffled = task | {"X": task["X"][order], "labels": task["labels"][order]}
    assert build_partition(**task) == build_partition(**shuffled)


@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 10**6),
    powers=st.lists(st.integers(-200, 200), min_size=3, max_size=3),
    criterion=st.sampled_from(["gini", "entropy"]),
)
def test_units_that_differ_by_a_power_of_two_give_the_same_leaves(seed, powers, criterion):
    task = problem(outside, 3, 2, n=60, seed=seed)
    scale = 2.0 ** np.array(powers)
    scaled = task | {name: task[name] * scale for name in ("X", "lower", "upper")}
    first = build_partition(**task, max_depth=8, criterion=criterion)
    second = build_partition(**scaled, max_depth=8, criterion=criterion)
    np.testing.assert_array_equal(first.apply(task["X"]), second.apply(scaled["X"]))
    np.testing.assert_array_equal(first.feature, second.feature)


@settings(deadline=None, max_examples=40)
@given(
    seed=st.integers(0, 10**6),
    d=st.integers(1, 6),
    depth=st.integers(0, 9),
    min_leaf=st.integers(0, 6),
    rule=st.sampled_from(["max-edge", "cart"]),
)
def test_every_leaf_keeps_its_promises(seed, d, depth, min_leaf, rule):
    task = problem(uniform if rule == "cart" else on_midpoints, d, 2, n=600, seed=seed)
    partition = build_partition(**task, max_depth=depth, min_samples_leaf=min_leaf, rule=rule)
    rows = np.bincount(partition.apply(task["X"]), minlength=partition.n_leaves)
    assert rows.sum() == 600
    assert partition.n_leaves == 1 or rows.min() >= (max(1, min_leaf) if rule == "cart" else min_leaf)
    if rule == "max-edge" and min_leaf == 0:
        # Only empty cells stop early.
        assert (rows[partition.depth[partition.leaf_index >= 0] < depth] == 0).all()
    if rule == "cart" and min_leaf == 0 and d == 1:
        # 600 values, 255 cuts: what stopped early is pure or lies between two cuts.
        assert partition.n_leaves <= MOST_CUTS + 1


class TestCart:
    def test_gini_tie_that_floats_get_wrong(self):
        # 20/6 + 4/2 and 26/6 + 2/2 are both 16/3 in fractions, and differ in the last place in floats.
        labels = np.array([0, 0, 1, 1, 1, 1, 1, 1])
        X = np.array([[0, 1, 0, 0, 0, 0, 0, 1], [0, 0, 0, 0, 0, 0, 1, 1]], dtype=float).T
        for columns in (X, X[:, ::-1]):
            partition = build(X=columns, labels=labels, lower=[0, 0], upper=[1, 1], max_depth=1)
            assert partition.feature[0] == 0

    def test_an_xor_needs_a_split_without_gain(self):
        X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 3, dtype=float)
        partition = build(X=X, labels=[0, 1, 1, 0] * 3, lower=[0, 0], upper=[1, 1], max_depth=2)
        np.testing.assert_array_equal(partition.apply(X)[:4], [0, 1, 2, 3])

    def test_only_pure_or_inseparable_or_deep_cells_are_leaves(self):
        X = np.array([[0.0], [0.0], [1.0], [1.0], [2.0]])
        partition = build(X=X, labels=[0, 1, 2, 2, 0], lower=[0], upper=[9], max_depth=7, n_labels=3)
        np.testing.assert_array_equal(partition.apply(X), [0, 0, 1, 1, 2])
        assert build(X=X, labels=[1] * 5, lower=[0], upper=[9], max_depth=7).n_leaves == 1

    def test_values_that_are_not_finite_go_where_apply_sends_them(self):
        values = np.array([np.nan, -np.inf, 0.0, 1.0, 2.0, np.inf])
        task = {"labels": [0, 0, 0, 1, 2, 1], "lower": [0], "upper": [2], "n_labels": 3, "max_depth": 4}
        partition = build(X=values[:, None], **task)
        np.testing.assert_array_equal(partition.apply(values[:, None]), [0, 0, 0, 1, 2, 2])
        assert partition == build(X=np.array([[0.0], [0.0], [0.0], [1.0], [2.0], [2.0]]), **task)

    def cuts(self, values):
        cuts = candidate_cuts(np.asarray(values, dtype=float)[:, None], np.zeros(1), np.array([1e9]))[0]
        return cuts[np.isfinite(cuts)]

    def test_many_values_are_cut_at_their_quantiles(self):
        values = np.random.default_rng(0).lognormal(size=25_600)
        cuts = self.cuts(values)
        # Every gap between cuts holds a 256th of the rows.
        np.testing.assert_array_equal(np.diff(np.searchsorted(np.sort(values), cuts)), 100)
        labels = (values > 1.3).astype(int)
        partition = build(X=values[:, None], labels=labels, lower=[0], upper=[1e9], max_depth=1)
        nearest = np.abs(np.searchsorted(np.sort(values), cuts) - (1 - labels).sum()).argmin()
        assert partition.threshold[0] == cuts[nearest]

    def test_a_value_of_most_rows_leaves_cuts_to_the_others(self):
        cuts = self.cuts(np.concatenate([np.zeros(10_000), np.arange(1.0, 10_001)]))
        assert cuts[0] == 0.5
        assert 120 <= len(cuts) <= MOST_CUTS
        assert (np.diff(cuts) > 0).all()

    @pytest.mark.parametrize("n_values", [1, 2, 255, 256, 257, 300])
    def test_cuts_are_all_midpoints_while_they_fit(self, n_values):
        cuts = self.cuts(np.arange(n_values)[::-1])
        assert set(cuts) <= set(np.arange(n_values - 1) + 0.5)
        assert len(cuts) == min(n_values - 1, MOST_CUTS)
