# SPDX-License-Identifier: BSD-3-Clause
"""The partition against a slow, exact reference, and its promises to clients."""

import copy
import json
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

from skprivate.partition import Partition, build_partition

LARGEST = float(np.finfo(np.float64).max)


def midpoint(low, high, halvings, coordinate):
    share = (2 * coordinate + 1) / 2 ** (halvings + 1)
    middle = low * (1 - share) + high * share
    return min(max(middle, math.nextafter(low, high)), high)


def purity(labels, criterion):
    """Sum of squares / rows, or exp(-rows * entropy): fractions, so that ties are ties."""
    counts = [labels.count(m) for m in set(labels)]
    if criterion == "gini":
        return Fraction(sum(c * c for c in counts), max(len(labels), 1))
    return Fraction(math.prod(c**c for c in counts), len(labels) ** len(labels))


def split_score(left, right, labels, criterion):
    pure = [purity([labels[i] for i in side], criterion) for side in (left, right)]
    return pure[0] + pure[1] if criterion == "gini" else pure[0] * pure[1]


def longest_edges(halvings, lower, upper):
    splittable = [j for j in range(len(lower)) if lower[j] < upper[j]]
    return [j for j in splittable if halvings[j] == min(halvings[k] for k in splittable)]


def reference(
    X, labels, *, lower, upper, max_depth, rule="max-edge", criterion="gini", min_samples_leaf=0, seed=0, **_
):
    """Features (-1 at leaves) and thresholds of the inner nodes, by a queue of cells."""
    generator = np.random.default_rng(seed).bit_generator
    labels, complete = list(labels), len(X) == 0
    d = len(lower)
    queue = [(range(len(X)), (0,) * d, (0,) * d)]
    features, thresholds = [], []
    for rows, halvings, coordinate in queue:
        options = []
        if sum(halvings) < max_depth and any(low < high for low, high in zip(lower, upper, strict=True)):
            word = generator.random_raw() if rule == "random" or complete else None
            for j in longest_edges(halvings, lower, upper) if rows or complete else ():
                cut = midpoint(lower[j], upper[j], halvings[j], coordinate[j])
                left = [i for i in rows if X[i][j] < cut]
                right = [i for i in rows if not X[i][j] < cut]
                if complete or min(len(left), len(right)) >= min_samples_leaf:
                    options.append((j, cut, left, right))
        if not options:
            features.append(-1)
            continue
        if word is not None:
            j, cut, left, right = options[word % len(options)]
        else:
            scores = [split_score(left, right, labels, criterion) for _, _, left, right in options]
            j, cut, left, right = options[scores.index(max(scores))]
        features.append(j)
        thresholds.append(cut)
        for side, side_rows in enumerate((left, right)):
            h, c = list(halvings), list(coordinate)
            h[j], c[j] = h[j] + 1, 2 * c[j] + side
            queue.append((side_rows, tuple(h), tuple(c)))
    return features, thresholds


def uniform(rng, n, d):
    return rng.random((n, d)), np.zeros(d), np.ones(d)


def on_midpoints(rng, n, d):
    # Values on the cuts, many ties and duplicates.
    return rng.integers(0, 9, (n, d)) / 8, np.zeros(d), np.ones(d)


def outside(rng, n, d):
    return rng.normal(0, 3, (n, d)), np.full(d, -1.0), np.linspace(0.3, 2.1, d)


def constant_columns(rng, n, d):
    X, lower, upper = uniform(rng, n, d)
    X[:, ::2] = 0.25
    # A column of no width is never split, a constant one in a wide box is.
    lower[-1] = upper[-1] = 0.25
    return X, lower, upper


def huge(rng, n, d):
    return (rng.random((n, d)) - 0.5) * 2 * LARGEST, np.full(d, -LARGEST), np.full(d, LARGEST)


def a_few_ulps(rng, n, d):
    lower = np.full(d, 3.0)
    upper = lower + 3 * np.spacing(3.0)
    return lower + rng.integers(-1, 5, (n, d)) * np.spacing(3.0), lower, upper


DATA = (uniform, on_midpoints, outside, constant_columns, huge, a_few_ulps)


def problem(data, d, n_labels, n=120, seed=0):
    rng = np.random.default_rng([seed, d, n_labels, DATA.index(data)])
    X, lower, upper = data(rng, n, d)
    score = np.searchsorted([0.3, 0.6], rng.random(n) * 0.8 + 0.2 * (X[:, 0] > np.median(X[:, 0])))
    labels = np.minimum(score, n_labels - 1).astype(np.int32)
    return {"X": X, "labels": labels, "lower": lower, "upper": upper, "n_labels": n_labels}


def assert_matches_reference(**arguments):
    features, thresholds = reference(**arguments)
    partition = build_partition(**arguments)
    inner = partition.leaf_index < 0
    np.testing.assert_array_equal(np.where(inner, partition.feature, -1), features)
    np.testing.assert_array_equal(partition.threshold[inner], thresholds)


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("d", [1, 2, 3, 5])
@pytest.mark.parametrize("n_labels", [2, 3])
@pytest.mark.parametrize("min_samples_leaf", [0, 5])
@pytest.mark.parametrize("choice", ["gini", "entropy", "random"])
def test_build_equals_reference(data, d, n_labels, min_samples_leaf, choice):
    rule, criterion = ("random", "gini") if choice == "random" else ("max-edge", choice)
    assert_matches_reference(
        **problem(data, d, n_labels),
        max_depth=6,
        rule=rule,
        criterion=criterion,
        min_samples_leaf=min_samples_leaf,
        seed=3,
    )


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_small_cells_tie_exactly(criterion):
    # Few rows on a coarse grid: most choices are ties, and the rounding of floats would break some of them.
    for seed in range(60):
        assert_matches_reference(
            **problem(on_midpoints, 4, 2, n=9, seed=seed), max_depth=5, criterion=criterion
        )


@pytest.mark.parametrize("d", [1, 3])
@pytest.mark.parametrize("rule", ["max-edge", "random"])
def test_no_public_rows_give_the_complete_random_tree(d, rule):
    lower, upper = np.zeros(d), np.arange(1.0, d + 1)
    empty = {"X": np.empty((0, d)), "labels": [], "lower": lower, "upper": upper, "seed": 5}
    partition = build_partition(**empty, max_depth=5, rule=rule, min_samples_leaf=4)
    assert partition.n_leaves == 32
    assert_matches_reference(**empty, max_depth=5, rule=rule)


def test_seed_changes_the_random_tree_only():
    task = problem(uniform, 4, 2)
    for rule, same in (("random", False), ("max-edge", True)):
        first, second = (build_partition(**task, max_depth=6, rule=rule, seed=s) for s in (0, 1))
        assert (first == second) is same


def test_box_without_width_or_depth_gives_the_root():
    X, labels = np.ones((7, 2)), np.zeros(7, dtype=int)
    flat = build_partition(X, labels, lower=[1, 1], upper=[1, 1], max_depth=4)
    shallow = build_partition(X, labels, lower=[0, 0], upper=[1, 1], max_depth=0)
    for partition in (flat, shallow):
        assert (partition.n_leaves, partition.max_depth) == (1, 0)
        np.testing.assert_array_equal(partition.apply(X), np.zeros(7))


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("rule", ["max-edge", "random"])
@pytest.mark.parametrize("min_samples_leaf", [0, 3])
def test_truncation_equals_building_shallower(data, rule, min_samples_leaf):
    task = problem(data, 3, 2) | {"rule": rule, "min_samples_leaf": min_samples_leaf, "seed": 1}
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
    with pytest.raises(ValueError, match="depth"):
        deep.truncate(-1)


def walk(partition, row):
    node = 0
    while partition.leaf_index[node] < 0:
        node = partition.left[node] + int(row[partition.feature[node]] >= partition.threshold[node])
    return partition.leaf_index[node]


@pytest.mark.parametrize("n", [0, 1, 7, 8, 9, 64, 117])
@pytest.mark.parametrize("max_depth", [0, 1, 7])
@pytest.mark.parametrize("data", DATA)
def test_apply_equals_a_walk(n, max_depth, data):
    partition = build_partition(**problem(data, 3, 2), max_depth=max_depth)
    X = problem(data, 3, 2, n=117, seed=1)["X"][:n]
    leaves = partition.apply(X)
    assert leaves.dtype == np.int32
    np.testing.assert_array_equal(leaves, [walk(partition, row) for row in X])


def test_apply_keeps_any_value_inside_the_tree():
    # All public rows are in one corner, so infinite rows rest in empty leaves at every depth.
    corner = np.random.default_rng(0).random((50, 2)) / 32
    partition = build_partition(corner, np.arange(50) % 2, lower=[0, 0], upper=[1, 1], max_depth=7)
    X = np.tile([[np.inf, -np.inf], [np.nan, np.inf], [np.inf, np.inf]], (9, 1))
    np.testing.assert_array_equal(partition.apply(X), [walk(partition, row) for row in X])


@pytest.mark.parametrize("data", DATA)
def test_routing_a_raw_row_equals_routing_the_clipped_row(data):
    task = problem(data, 3, 2)
    partition = build_partition(**task, max_depth=7)
    X = np.concatenate([task["X"] / 2 * 5 if data is not huge else task["X"], task["X"]])
    clipped = np.clip(X, task["lower"], task["upper"])
    np.testing.assert_array_equal(partition.apply(X), partition.apply(clipped))
    task["X"] = np.clip(task["X"], task["lower"], task["upper"])
    assert build_partition(**task, max_depth=7) == partition


def test_apply_takes_any_layout_and_refuses_other_widths():
    partition = build_partition(**problem(uniform, 3, 2), max_depth=5)
    X = np.random.default_rng(0).random((40, 3))
    expected = partition.apply(X)
    np.testing.assert_array_equal(partition.apply(np.asfortranarray(X)), expected)
    np.testing.assert_array_equal(partition.apply(X.tolist()), expected)
    for wrong in (X[:, :2], X[0]):
        with pytest.raises(ValueError, match="shape"):
            partition.apply(wrong)


@pytest.mark.parametrize("min_samples_leaf", [0, 4])
def test_cells_tile_the_box(min_samples_leaf):
    task = problem(outside, 3, 2)
    partition = build_partition(**task, max_depth=7, min_samples_leaf=min_samples_leaf)
    low, high = partition.cells()
    sides = (high - low) / (task["upper"] - task["lower"])
    assert sides.min() > 0
    assert math.fsum(sides.prod(axis=1)) == pytest.approx(1, abs=1e-12)
    np.testing.assert_array_equal(partition.apply((low + high) / 2), np.arange(partition.n_leaves))
    np.testing.assert_array_equal(partition.apply(low), np.arange(partition.n_leaves))


def test_cells_stay_ordered_in_a_box_of_a_few_ulps():
    low, high = build_partition(**problem(a_few_ulps, 2, 2), max_depth=9).cells()
    assert (low <= high).all()


@pytest.mark.parametrize("data", DATA)
def test_dictionary_survives_json(data):
    partition = build_partition(**problem(data, 3, 2), max_depth=6)
    text = json.dumps(partition.to_dict(), allow_nan=False)
    restored = Partition.from_dict(json.loads(text))
    assert restored == partition
    assert restored.to_dict() == partition.to_dict()


def broken_dictionaries():
    good = {
        "version": 2,
        "feature": [0, 1, -1, -1, -1],
        "threshold": [0.5, 0.25],
        "lower": [0.0, 0.0],
        "upper": [1.0, 1.0],
        "derived": None,
    }
    Partition.from_dict(good)
    yield from ([], "partition", None, {}, good | {"extra": 1})
    yield {name: value for name, value in good.items() if name != "upper"}
    for name, values in {
        "version": [0, 1, 3, "2", None, True],
        "feature": [
            [],
            [0],
            [-1],
            [0, 1, -1, -1],
            [0, 2, -1, -1, -1],
            [0, -2, 1, -1, -1],
            [-1, 0, 1, -1, -1],
            [0, -1, -1, 1, -1],
            [0, 1.0, -1, -1, -1],
            [0, True, -1, -1, -1],
            [0, 2**40, -1, -1, -1],
            [[0], [1], [-1], [-1], [-1]],
            "01",
            None,
        ],
        "threshold": [
            [],
            [0.5],
            [0.5, 0.25, 0.1],
            [0.0, 0.25],
            [0.5, 1.5],
            [0.5, math.nan],
            [0.5, math.inf],
            [0.5, 10**400],
            [0.5, "0.25"],
            [0.5, None],
            [0.5, False],
        ],
        "lower": [[], [0.0], [2.0, 0.0], [-math.inf, 0.0], [[0.0, 0.0]], 0.0],
        "upper": [[1.0, 1.0, 1.0], [1.0, math.nan], [0.5, 0.0]],
    }.items():
        yield from (good | {name: value} for value in values)


@pytest.mark.parametrize("state", list(broken_dictionaries()))
def test_from_dict_refuses(state):
    with pytest.raises(ValueError):  # noqa: PT011
        Partition.from_dict(state)


def test_from_dict_refuses_a_tree_that_is_too_deep():
    def chain(depth):
        # Halving [0, 1] towards 0: the left child splits again.
        feature = [0] + [0, -1] * (depth - 1) + [-1, -1]
        threshold = [0.5 ** (k + 1) for k in range(depth)]
        splits = {"feature": feature, "threshold": threshold}
        return {"version": 2, **splits, "lower": [0.0], "upper": [1.0], "derived": None}

    assert Partition.from_dict(chain(30)).max_depth == 30
    with pytest.raises(ValueError, match="depth"):
        Partition.from_dict(chain(31))


def test_from_splits_refuses_features_that_are_not_integers():
    with pytest.raises(ValueError, match="integers"):
        Partition.from_splits([0.5, -1.0, -1.0], [0.5], [0.0], [1.0])


def test_copies_and_pickles_are_equal_and_read_only():
    partition = build_partition(**problem(uniform, 3, 2), max_depth=6)
    data = pickle.dumps(partition)
    assert len(data) < 12 * len(partition.left) + 1000
    for twin in (partition, pickle.loads(data), copy.deepcopy(partition), copy.copy(partition)):
        assert twin == partition
        for name, value in vars(partition).items():
            np.testing.assert_array_equal(getattr(twin, name), value)
            if isinstance(value, np.ndarray):
                assert not getattr(twin, name).flags.writeable
                assert getattr(twin, name).dtype == value.dtype


def test_equality_looks_at_every_field():
    splits = {
        "feature": [0, -1, -1],
        "threshold": [0.5],
        "lower": [0.0, 0.0],
        "upper": [1.0, 1.0],
    }
    changes = {"feature": [1, -1, -1], "threshold": [0.25], "lower": [0.0, -1.0], "upper": [2.0, 1.0]}
    partition = Partition.from_splits(**splits)
    assert partition == Partition.from_splits(**splits)
    for name, value in changes.items():
        assert partition != Partition.from_splits(**splits | {name: value})
    assert partition != Partition.from_splits([-1], [], [0.0, 0.0], [1.0, 1.0])
    assert partition != "partition"


def test_arrays_of_the_caller_stay_his():
    lower = np.zeros(2)
    partition = Partition.from_splits([-1], [], lower, np.ones(2))
    lower[0] = -5
    assert partition.lower[0] == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"max_depth": -1}, "max_depth"),
        ({"max_depth": 31}, "max_depth"),
        ({"rule": "CART"}, "rule"),
        ({"criterion": "mse"}, "criterion"),
        ({"min_samples_leaf": -1}, "min_samples_leaf"),
        ({"n_labels": 1}, "n_labels"),
        ({"labels": [0, 1]}, "labels"),
        ({"labels": [0, 1, 2]}, "labels"),
        ({"labels": [0, 1, -1]}, "labels"),
        ({"labels": [0.0, 1.0, 0.0]}, "labels"),
        ({"X": np.zeros((3, 3))}, "shape"),
        ({"lower": [0, 2]}, "lower"),
        ({"upper": [1, np.inf]}, "finite"),
        ({"lower": 0}, "length"),
    ],
)
def test_build_refuses(change, message):
    good = {"X": np.zeros((3, 2)), "labels": [0, 1, 0], "lower": [0, 0], "upper": [1, 1], "max_depth": 2}
    build_partition(**good)
    with pytest.raises(ValueError, match=message):
        build_partition(**good | change)


def test_first_split_agrees_with_cart():
    # On 0-1 columns the midpoints are the only cuts that CART can choose from.
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (200, 4)).astype(float)
    labels = (X[:, 2] != (rng.random(200) < 0.1)).astype(int)
    partition = build_partition(X, labels, lower=np.zeros(4), upper=np.ones(4), max_depth=1)
    cart = DecisionTreeClassifier(max_depth=1).fit(X, labels)
    assert partition.feature[0] == cart.tree_.feature[0] == 2
    assert partition.threshold[0] == cart.tree_.threshold[0] == 0.5


@settings(deadline=None, max_examples=60)
@given(seed=st.integers(0, 10**6), d=st.integers(1, 4), rule=st.sampled_from(["max-edge", "random"]))
def test_order_of_public_rows_does_not_matter(seed, d, rule):
    task = problem(on_midpoints, d, 3, n=50, seed=seed)
    order = np.random.default_rng(seed).permutation(50)
    shuffled = task | {"X": task["X"][order], "labels": task["labels"][order]}
    assert build_partition(**task, max_depth=6, rule=rule) == build_partition(
        **shuffled, max_depth=6, rule=rule
    )


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
@given(seed=st.integers(0, 10**6), d=st.integers(1, 6), depth=st.integers(0, 9), min_leaf=st.integers(0, 6))
def test_every_leaf_keeps_its_promises(seed, d, depth, min_leaf):
    task = problem(on_midpoints, d, 2, n=80, seed=seed)
    partition = build_partition(**task, max_depth=depth, min_samples_leaf=min_leaf)
    rows = np.bincount(partition.apply(task["X"]), minlength=partition.n_leaves)
    assert rows.sum() == 80
    assert partition.n_leaves == 1 or rows.min() >= min_leaf
    if min_leaf == 0:
        # Only empty cells stop early.
        assert (rows[partition.depth[partition.leaf_index >= 0] < depth] == 0).all()
