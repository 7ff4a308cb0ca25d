# SPDX-License-Identifier: BSD-3-Clause
"""Histograms of labels and of masses: exact sums by node, cell and bin; bins are those of the splits."""

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from skprivate.partition import Partition
from skprivate.rounds._plans.masses import HistogramsPlan, LabelMasses, MassHistogramsPlan, NumberMasses
from skprivate.rounds._rows import PreparedRows
from tests.rounds.plans.example_plans import halved

ALL_MASSES = [
    LabelMasses(3),
    LabelMasses(3, largest=8),
    NumberMasses(0.5, 0.5).for_splits(),
    NumberMasses(0.5, 0.5, bits=4, largest=1024).for_splits(),
    NumberMasses(0.5, 0.5),
]
N_BINS = (32, 2, 7)


def rows_of(n, seed=0):
    rng = np.random.default_rng(seed)
    return PreparedRows(
        rng.normal(0.5, 0.4, size=(n, 3)),
        y=rng.normal(0.5, 0.6, size=n),
        labels=rng.integers(3, size=n),
        steps=rng.integers(10, size=n).astype(float),
    )


@pytest.mark.parametrize("masses", ALL_MASSES)
@pytest.mark.parametrize("depth", [0, 1, 5])
def test_sums_are_those_of_numpy(masses, depth):
    # More rows than a block, and rows outside the box.
    plan, rows = MassHistogramsPlan.of(halved(3, depth), N_BINS, masses), rows_of(12_000)
    leaf, row_masses = plan.partition.apply(rows.X), masses.row_masses(rows)
    cuts_of_columns = np.split(plan.thresholds, np.cumsum(np.array(N_BINS) - 1)[:-1], axis=1)
    sums = plan.sums(rows)
    assert sums.dtype == np.int64
    for j, (table, cuts) in enumerate(zip(plan.by_column(sums), cuts_of_columns, strict=True)):
        expected = np.zeros((plan.partition.n_leaves, N_BINS[j], masses.n_cells), dtype=np.int64)
        np.add.at(expected, (leaf, (rows.X[:, j, np.newaxis] >= cuts[leaf]).sum(axis=1)), row_masses)
        np.testing.assert_array_equal(table, expected.transpose(0, 2, 1))
    plan.check_sums(sums, 12_000)


LARGEST = float(np.finfo(np.float64).max)


SMALLEST = 5e-324


EXTREMES = [0.0, -0.0, 1.0, SMALLEST, 3e-323, 1e-308, 1e16, -LARGEST, LARGEST, LARGEST / 3]


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
    plan = HistogramsPlan(halved(2, 3, low, low + width), (4, 5), 2)
    lower, upper = plan.partition.cells()
    for j, cuts in enumerate(np.split(plan.thresholds, [3], axis=1)):
        shares = np.arange(1, plan.n_bins[j]) / plan.n_bins[j]
        expected = lower[:, [j]] + (upper - lower)[:, [j]] * shares
        np.testing.assert_allclose(cuts, expected, rtol=0, atol=1e-12 * (abs(low) + width))
