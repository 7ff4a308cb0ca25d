# SPDX-License-Identifier: BSD-3-Clause
"""The CART rule against a slow, exact reference and against scikit-learn's tree."""

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

from skprivate.partition import build_partition
from skprivate.partition._growth import MOST_CUTS, candidate_cuts

LARGEST = float(np.finfo(np.float64).max)
SMALLEST = 5e-324


def purity(labels, criterion):
    """Sum of squares / rows, or exp(-rows * entropy): fractions, so that ties are ties."""
    counts = [labels.count(m) for m in set(labels)]
    if criterion == "gini":
        return Fraction(sum(c * c for c in counts), len(labels))
    return Fraction(math.prod(c**c for c in counts), len(labels) ** len(labels))


def split_score(left, right, criterion):
    first, second = purity(left, criterion), purity(right, criterion)
    return first + second if criterion == "gini" else first * second


def midpoints(values):
    values = sorted(set(values))
    return [max(low / 2 + high / 2, math.nextafter(low, high)) for low, high in pairwise(values)]


def reference(X, labels, *, lower, upper, max_depth, criterion="gini", min_samples_leaf=0, **_):
    """Features (-1 at leaves) and thresholds of the inner nodes, by a queue of cells."""
    X = np.clip(X, lower, upper).tolist()
    cuts = [midpoints(column) for column in zip(*X, strict=True)]
    queue, features, thresholds = [(range(len(X)), 0)], [], []
    for rows, depth in queue:
        best = None
        if depth < max_depth and len({labels[i] for i in rows}) > 1:
            for j, cut in ((j, cut) for j, column in enumerate(cuts) for cut in column):
                sides = [i for i in rows if X[i][j] < cut], [i for i in rows if X[i][j] >= cut]
                if min(map(len, sides)) < max(1, min_samples_leaf):
                    continue
                score = split_score(*([labels[i] for i in side] for side in sides), criterion)
                if best is None or score > best[0]:
                    best = score, j, cut, sides
        features.append(-1 if best is None else best[1])
        if best is not None:
            thresholds.append(best[2])
            queue.extend((side, depth + 1) for side in best[3])
    return features, thresholds


def uniform(rng, n, d):
    return rng.random((n, d)), np.zeros(d), np.ones(d)


def coarse(rng, n, d):
    # Duplicates, and many cuts that score the same.
    return rng.integers(0, 4, (n, d)).astype(float), np.zeros(d), np.full(d, 3.0)


def outside(rng, n, d):
    return rng.normal(0, 3, (n, d)), np.full(d, -1.0), np.linspace(0.3, 2.1, d)


def constants(rng, n, d):
    X, lower, upper = coarse(rng, n, d)
    X[:, ::2] = 1.0
    # The last column has no width in the box, the first no width in the rows.
    lower[-1] = upper[-1] = 2.0
    return X, lower, upper


def huge(rng, n, d):
    return (rng.random((n, d)) - 0.5) * 2 * LARGEST, np.full(d, -LARGEST), np.full(d, LARGEST)


def neighbours(rng, n, d):
    # Values with no float between them, around a power of two and among subnormal numbers.
    X = 1.0 + rng.integers(-2, 3, (n, d)) * 2.0**-53
    X[:, 0] = rng.integers(0, 4, n) * SMALLEST
    return X, np.zeros(d), np.full(d, 2.0)


DATA = (uniform, coarse, outside, constants, huge, neighbours)


def problem(data, d, n_labels, n=40, seed=0):
    rng = np.random.default_rng([seed, d, n_labels, DATA.index(data)])
    X, lower, upper = data(rng, n, d)
    score = np.searchsorted([0.3, 0.6], rng.random(n) * 0.8 + 0.2 * (X[:, 0] > np.median(X[:, 0])))
    labels = np.minimum(score, n_labels - 1).astype(np.int32)
    return {"X": X, "labels": labels, "lower": lower, "upper": upper, "n_labels": n_labels}


def build(**arguments):
    return build_partition(rule="cart", **arguments)


def assert_matches_reference(**arguments):
    features, thresholds = reference(**arguments)
    partition = build(**arguments)
    inner = partition.leaf_index < 0
    np.testing.assert_array_equal(np.where(inner, partition.feature, -1), features)
    np.testing.assert_array_equal(partition.threshold[inner], thresholds)


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("d", [1, 2, 4])
@pytest.mark.parametrize("n_labels", [2, 3, 5])
@pytest.mark.parametrize("min_samples_leaf", [0, 4])
@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_build_equals_reference(data, d, n_labels, min_samples_leaf, criterion):
    assert_matches_reference(
        **problem(data, d, n_labels), max_depth=5, criterion=criterion, min_samples_leaf=min_samples_leaf
    )


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_small_cells_tie_exactly(criterion):
    # Few rows on a coarse grid: most choices are ties, and the rounding of floats would break some of them.
    for seed in range(60):
        assert_matches_reference(**problem(coarse, 4, 3, n=12, seed=seed), max_depth=9, criterion=criterion)


def test_gini_tie_that_floats_get_wrong():
    # 20/6 + 4/2 and 26/6 + 2/2 are both 16/3 in fractions, and differ in the last place in floats.
    labels = np.array([0, 0, 1, 1, 1, 1, 1, 1])
    X = np.array([[0, 1, 0, 0, 0, 0, 0, 1], [0, 0, 0, 0, 0, 0, 1, 1]], dtype=float).T
    for columns in (X, X[:, ::-1]):
        partition = build(X=columns, labels=labels, lower=[0, 0], upper=[1, 1], max_depth=1)
        assert partition.feature[0] == 0


def test_an_xor_needs_a_split_without_gain():
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 3, dtype=float)
    partition = build(X=X, labels=[0, 1, 1, 0] * 3, lower=[0, 0], upper=[1, 1], max_depth=2)
    leaves = partition.apply(X)
    assert partition.n_leaves == 4
    np.testing.assert_array_equal(leaves[:4], [0, 1, 2, 3])


def test_only_pure_or_inseparable_or_deep_cells_are_leaves():
    X = np.array([[0.0], [0.0], [1.0], [1.0], [2.0]])
    partition = build(X=X, labels=[0, 1, 2, 2, 0], lower=[0], upper=[9], max_depth=7, n_labels=3)
    np.testing.assert_array_equal(partition.apply(X), [0, 0, 1, 1, 2])
    pure = build(X=X, labels=[1] * 5, lower=[0], upper=[9], max_depth=7)
    assert pure.n_leaves == 1


def entropy_or_gini(labels, n_labels, criterion):
    share = np.bincount(labels, minlength=n_labels) / len(labels)
    return (
        1 - (share**2).sum() if criterion == "gini" else -(share[share > 0] * np.log2(share[share > 0])).sum()
    )


@pytest.mark.parametrize("n_labels", [2, 3])
@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("least", [1, 7])
def test_impurity_agrees_with_scikit_learn(n_labels, criterion, least):
    # Fewer than 256 distinct values: the candidates are all of scikit-learn's, up to the place within a gap.
    # Many rows and few levels, so that no two cuts tie.
    rng = np.random.default_rng(n_labels)
    X = rng.integers(0, 250, (3000, 5)) / 256
    chance = 0.5 + 0.4 * np.sign((X[:, 0] - 1 / 3) * (X[:, 1] - 1 / 3))
    labels = (rng.random(3000) < chance).astype(int) + (n_labels - 2) * (X[:, 2] > 0.6)
    theirs = DecisionTreeClassifier(
        max_depth=3, criterion=criterion, min_samples_leaf=least, random_state=0
    ).fit(X, labels)
    ours = build(
        X=X,
        labels=labels,
        lower=np.zeros(5),
        upper=np.ones(5),
        max_depth=3,
        n_labels=n_labels,
        criterion=criterion,
        min_samples_leaf=least,
    )
    nodes = theirs.tree_
    for side_by_side in (
        (ours.apply(X), theirs.apply(X)),
        (ours.truncate(1).apply(X), X[:, nodes.feature[0]] > nodes.threshold[0]),
    ):
        pairs = np.unique(np.stack(side_by_side), axis=1)
        assert pairs.shape[1] == len(np.unique(pairs[0])) == len(np.unique(pairs[1]))
    leaves, partners = ours.apply(X), theirs.apply(X)
    impurities = [entropy_or_gini(labels[leaves == leaf], n_labels, criterion) for leaf in leaves]
    np.testing.assert_allclose(impurities, nodes.impurity[partners], atol=1e-12)


def test_many_values_are_cut_at_their_quantiles():
    rng = np.random.default_rng(0)
    X = rng.lognormal(size=(25_600, 1))
    cuts = candidate_cuts(X, np.zeros(1), np.array([1e9]))[0]
    assert np.isfinite(cuts).all()
    # Every gap between cuts holds a 256th of the rows.
    np.testing.assert_array_equal(np.diff(np.searchsorted(np.sort(X[:, 0]), cuts)), 100)
    labels = (X[:, 0] > 1.3).astype(int)
    partition = build(X=X, labels=labels, lower=[0], upper=[1e9], max_depth=1)
    assert (
        partition.threshold[0]
        == cuts[np.abs(np.searchsorted(np.sort(X[:, 0]), cuts) - (1 - labels).sum()).argmin()]
    )


def test_a_value_of_most_rows_leaves_cuts_to_the_others():
    values = np.concatenate([np.zeros(10_000), np.arange(1.0, 10_001)])
    cuts = candidate_cuts(values[:, None], np.zeros(1), np.array([1e9]))[0]
    cuts = cuts[np.isfinite(cuts)]
    assert cuts[0] == 0.5
    assert 120 <= len(cuts) <= MOST_CUTS
    assert (np.diff(cuts) > 0).all()


@pytest.mark.parametrize("n_values", [1, 2, 255, 256, 257, 300])
def test_cuts_are_all_midpoints_while_they_fit(n_values):
    cuts = candidate_cuts(np.arange(float(n_values))[::-1, None], np.zeros(1), np.array([1e9]))[0]
    cuts = cuts[np.isfinite(cuts)]
    assert set(cuts) <= set(np.arange(n_values - 1) + 0.5)
    assert len(cuts) == min(n_values - 1, MOST_CUTS)


def test_values_that_are_not_finite_go_where_apply_sends_them():
    values = np.array([np.nan, -np.inf, 0.0, 1.0, 2.0, np.inf])
    task = {"labels": [0, 0, 0, 1, 2, 1], "lower": [0], "upper": [2], "n_labels": 3, "max_depth": 4}
    partition = build(X=values[:, None], **task)
    np.testing.assert_array_equal(partition.apply(values[:, None]), [0, 0, 0, 1, 2, 2])
    assert partition == build(X=np.array([[0.0], [0.0], [0.0], [1.0], [2.0], [2.0]]), **task)


def test_without_public_rows_the_tree_is_random():
    empty = {"X": np.empty((0, 3)), "labels": [], "lower": np.zeros(3), "upper": np.ones(3), "seed": 5}
    assert build(**empty, max_depth=5) == build_partition(**empty, max_depth=5, rule="random")


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("min_samples_leaf", [0, 3])
def test_truncation_equals_building_shallower(data, min_samples_leaf):
    task = problem(data, 3, 3, n=300) | {"min_samples_leaf": min_samples_leaf}
    deep = build(**task, max_depth=8)
    for depth in range(9):
        assert deep.truncate(depth) == build(**task, max_depth=depth)


@settings(deadline=None, max_examples=60)
@given(seed=st.integers(0, 10**6), d=st.integers(1, 4), criterion=st.sampled_from(["gini", "entropy"]))
def test_order_of_public_rows_does_not_matter(seed, d, criterion):
    task = problem(coarse, d, 3, n=50, seed=seed) | {"criterion": criterion}
    order = np.random.default_rng(seed).permutation(50)
    shuffled = task | {"X": task["X"][order], "labels": task["labels"][order]}
    assert build(**task, max_depth=6) == build(**shuffled, max_depth=6)


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
def test_any_table_equals_reference(n, d, n_labels, depth, min_leaf, criterion, data):
    numbers = st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from([0.0, -0.0, 1.0, SMALLEST])
    X = np.array(data.draw(st.lists(st.lists(numbers, min_size=d, max_size=d), min_size=n, max_size=n)))
    labels = data.draw(st.lists(st.integers(0, n_labels - 1), min_size=n, max_size=n))
    box = np.sort(
        data.draw(st.lists(st.lists(numbers, min_size=d, max_size=d), min_size=2, max_size=2)), axis=0
    )
    task = {"X": X, "labels": labels, "lower": box[0], "upper": box[1], "n_labels": n_labels}
    task |= {"max_depth": depth, "min_samples_leaf": min_leaf, "criterion": criterion}
    assert_matches_reference(**task)


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 10**6), d=st.integers(1, 6), depth=st.integers(0, 9), min_leaf=st.integers(0, 6))
def test_every_leaf_keeps_its_promises(seed, d, depth, min_leaf):
    task = problem(uniform, d, 2, n=600, seed=seed)
    partition = build(**task, max_depth=depth, min_samples_leaf=min_leaf)
    leaves = partition.apply(task["X"])
    rows = np.bincount(leaves, minlength=partition.n_leaves)
    assert partition.n_leaves == 1 or rows.min() >= max(1, min_leaf)
    if min_leaf == 0 and d == 1:
        # 600 values, 255 cuts: what stopped early is pure or lies between two cuts.
        assert partition.n_leaves <= MOST_CUTS + 1
