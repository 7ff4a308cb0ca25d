# SPDX-License-Identifier: BSD-3-Clause
"""The plan of histograms: exact counts, and bins that are those of the splits at their thresholds."""

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from skprivate.partition import Partition, build_partition
from skprivate.rounds._plans.masses import HistogramsPlan
from skprivate.rounds._rows import PreparedRows

LARGEST = float(np.finfo(np.float64).max)
SMALLEST = 5e-324
EXTREMES = [0.0, -0.0, 1.0, SMALLEST, 3e-323, 1e-308, 1e16, -LARGEST, LARGEST, LARGEST / 3]


def halves(n_features, depth, lower=0.0, upper=1.0):
    box = (np.full(n_features, bound) for bound in (lower, upper))
    return build_partition(
        np.empty((0, n_features)),
        np.empty(0, dtype=np.int32),
        **dict(zip(("lower", "upper"), box, strict=True)),
        max_depth=depth,
        n_labels=2,
        rule="random",
    )


def reference(plan, X, labels):
    leaf, ends = plan.partition.apply(X), np.cumsum(np.array(plan.n_bins) - 1)
    tables = [
        np.zeros((plan.partition.n_leaves, plan.n_labels, bins), dtype=np.int64) for bins in plan.n_bins
    ]
    for j, cuts in enumerate(np.split(plan.thresholds, ends[:-1], axis=1)):
        np.add.at(tables[j], (leaf, labels, (X[:, j, np.newaxis] >= cuts[leaf]).sum(axis=1)), 1)
    return tables


def assert_counts(plan, X, labels):
    found = plan.by_column(plan.sums(PreparedRows(X, labels=labels)))
    for table, expected in zip(found, reference(plan, X, labels), strict=True):
        np.testing.assert_array_equal(table, expected)


@pytest.mark.parametrize(("n_labels", "n_bins"), [(2, (32, 2, 7)), (3, (2, 2, 2)), (10, (32, 31, 300))])
@pytest.mark.parametrize("depth", [0, 1, 5])
def test_counts_are_those_of_numpy(n_labels, n_bins, depth):
    rng = np.random.default_rng(depth)
    # More rows than a block, and rows outside the box.
    X, labels = rng.normal(0.5, 0.4, size=(12_000, 3)), rng.integers(n_labels, size=12_000).astype(np.int32)
    assert_counts(HistogramsPlan(halves(3, depth), n_bins, n_labels), X, labels)


def test_rows_that_do_not_count_are_left_out():
    rng = np.random.default_rng(0)
    X, labels = rng.uniform(size=(500, 2)), rng.integers(3, size=500).astype(np.int32)
    plan, kept = HistogramsPlan(halves(2, 3), (8, 4), 3), rng.uniform(size=500) < 0.3
    expected = plan.sums(PreparedRows(X[kept], labels=labels[kept]))
    for mark in (kept, np.flatnonzero(kept)):
        np.testing.assert_array_equal(plan.sums(PreparedRows(X, labels=labels, kept=mark)), expected)
    assert plan.sums(PreparedRows(X[:0], labels=labels[:0])).tolist() == [0] * plan.n_sums


def test_single_precision_is_counted_as_the_same_numbers():
    X = np.random.default_rng(0).uniform(size=(300, 2)).astype(np.float32)
    plan, labels = HistogramsPlan(halves(2, 2), (32, 32), 2), np.zeros(300, dtype=np.int64)
    found = plan.sums(PreparedRows(X, labels=labels))
    np.testing.assert_array_equal(found, plan.sums(PreparedRows(X.astype(np.float64), labels=labels)))


def values_near(cuts):
    """Return thresholds, their neighbours, and what is no number in a box."""
    ends = [-math.inf, math.inf, math.nan, -LARGEST, LARGEST, 0.0]
    near = [math.nextafter(cut, end) for cut in cuts for end in (-math.inf, math.inf)]
    return np.array([*cuts, *near, *ends])


corner = st.one_of(st.sampled_from(EXTREMES), st.floats(allow_nan=False, allow_infinity=False))


@settings(max_examples=150, deadline=None)
@given(
    low=corner,
    high=st.one_of(corner, st.integers(0, 40)),
    n_bins=st.sampled_from([2, 3, 7, 32, 100]),
    more=st.lists(st.floats(), max_size=20),
)
@example(low=-LARGEST, high=LARGEST, n_bins=7, more=[])
@example(low=0.0, high=SMALLEST, n_bins=32, more=[])
@example(low=1e16, high=5, n_bins=32, more=[])
@example(low=1.0, high=0, n_bins=3, more=[1.0, math.nan])
@example(low=1.0, high=3.0, n_bins=49, more=[])
def test_bins_before_a_threshold_are_the_rows_that_it_sends_left(low, high, n_bins, more):
    """An integer `high` stands for a box of so many units in the last place."""
    if isinstance(high, int):
        steps, high = high, low
        for _ in range(steps):
            high = math.nextafter(high, math.inf)
    low, high = min(low, high, LARGEST), min(max(low, high), LARGEST)
    root = Partition.from_splits([-1], [], [low], [high])
    plan = HistogramsPlan(root, (n_bins,), 2)
    cuts = plan.thresholds[0]
    if low == high:
        assert np.isnan(cuts).all()
        cuts = np.array([low])
    values = np.concatenate([values_near(cuts), more])
    X, labels = values[:, np.newaxis], (np.arange(len(values)) % 2).astype(np.int32)
    assert_counts(plan, X, labels)
    table = plan.by_column(plan.sums(PreparedRows(X, labels=labels)))[0]
    for k, cut in enumerate(plan.thresholds[0] if low < high else []):
        # It refuses thresholds outside (low, high].
        sides = Partition.from_splits([0, -1, -1], [cut], [low], [high]).apply(X)
        expected = np.bincount(2 * sides + labels, minlength=4).reshape(2, 2)
        assert table[0, :, : k + 1].sum(axis=1).tolist() == expected[0].tolist()
        assert table[0, :, k + 1 :].sum(axis=1).tolist() == expected[1].tolist()


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_bins_are_equal_in_width_within_the_box_of_a_leaf(data):
    low, width = data.draw(st.floats(-1e3, 1e3)), data.draw(st.floats(1e-3, 1e3))
    plan = HistogramsPlan(halves(2, 3, low, low + width), (4, 5), 2)
    lower, upper = plan.partition.cells()
    for j, cuts in enumerate(np.split(plan.thresholds, [3], axis=1)):
        shares = np.arange(1, plan.n_bins[j]) / plan.n_bins[j]
        expected = lower[:, [j]] + (upper - lower)[:, [j]] * shares
        np.testing.assert_allclose(cuts, expected, rtol=0, atol=1e-12 * (abs(low) + width))


def test_counts_that_no_rows_have_are_refused():
    plan = HistogramsPlan(halves(2, 1), (2, 2), 2)
    rows = PreparedRows(np.array([[0.1, 0.9], [0.9, 0.6]]), labels=np.array([0, 1], dtype=np.int32))
    sums = plan.sums(rows)
    plan.check_sums(sums, 2)
    moved = sums.copy()
    # The first column counts one row more of a label, and one less of the other.
    table = plan.by_column(moved)[0]
    table[0, 0, 0] += 1
    table[0, 1, 0] -= 1
    negative = sums.copy()
    plan.by_column(negative)[0][1, 0] += [1, -1]
    for wrong, n in ((sums, 3), (moved, 2), (negative, 2)):
        with pytest.raises(ValueError, match="not those of so many rows"):
            plan.check_sums(wrong, n)


def test_rows_that_the_plan_does_not_fit_are_refused():
    plan = HistogramsPlan(halves(2, 1), (2, 2), 2)
    with pytest.raises(ValueError, match="more classes"):
        plan.sums(PreparedRows(np.zeros((1, 2)), labels=np.array([2])))
    with pytest.raises(ValueError, match="no labels"):
        plan.sums(PreparedRows(np.zeros((1, 2))))
    with pytest.raises(ValueError, match="shape"):
        plan.sums(PreparedRows(np.zeros((1, 3)), labels=np.array([0])))
