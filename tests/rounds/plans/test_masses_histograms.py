# SPDX-License-Identifier: BSD-3-Clause
"""Histograms of masses: exact sums by node, cell and bin, which are checked when they come back."""

import json

import numpy as np
import pytest

from skprivate.partition import DerivedColumns, Partition, build_partition
from skprivate.partition._partition import FilledColumn
from skprivate.rounds import PartialSums
from skprivate.rounds._plans.masses import HistogramsPlan, LabelMasses, MassHistogramsPlan, NumberMasses
from skprivate.rounds._rows import PreparedRows
from skprivate.rounds._task import plan_from_dict

ALL_MASSES = [
    LabelMasses(3),
    LabelMasses(3, largest=8),
    NumberMasses(0.5, 0.5).for_splits(),
    NumberMasses(0.5, 0.5, bits=4, largest=1024).for_splits(),
    NumberMasses(0.5, 0.5),
]
N_BINS = (32, 2, 7)


def partition_of(depth):
    return build_partition(
        np.empty((0, 3)),
        np.empty(0, dtype=np.int32),
        lower=np.zeros(3),
        upper=np.ones(3),
        max_depth=depth,
        n_labels=2,
        rule="random",
    )


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
    plan, rows = MassHistogramsPlan.of(partition_of(depth), N_BINS, masses), rows_of(12_000)
    leaf, row_masses = plan.partition.apply(rows.X), masses.row_masses(rows)
    cuts_of_columns = np.split(plan.thresholds, np.cumsum(np.array(N_BINS) - 1)[:-1], axis=1)
    sums = plan.sums(rows)
    assert sums.dtype == np.int64
    for j, (table, cuts) in enumerate(zip(plan.by_column(sums), cuts_of_columns, strict=True)):
        expected = np.zeros((plan.partition.n_leaves, N_BINS[j], masses.n_cells), dtype=np.int64)
        np.add.at(expected, (leaf, (rows.X[:, j, np.newaxis] >= cuts[leaf]).sum(axis=1)), row_masses)
        np.testing.assert_array_equal(table, expected.transpose(0, 2, 1))
    plan.check_sums(sums, 12_000)


def test_masses_of_labels_are_counts():
    partition, rows = partition_of(4), rows_of(5000)
    found = MassHistogramsPlan.of(partition, N_BINS, LabelMasses(3)).sums(rows)
    np.testing.assert_array_equal(found, HistogramsPlan(partition, N_BINS, 3).sums(rows))


def test_derived_columns_are_those_of_counts():
    """One column, with a value of its own where the other one says that it is missing."""
    derived = DerivedColumns(2, (FilledColumn(0, 0, 1, 9.0, 1.0, 3.0),))
    partition, rng = (
        Partition.from_splits([0, -1, -1], [2.0], [1.0], [3.0], derived),
        np.random.default_rng(0),
    )
    X = np.column_stack([rng.uniform(1, 3, 500), rng.integers(2, size=500)])
    rows = PreparedRows(X, labels=rng.integers(3, size=500))
    counts = HistogramsPlan(partition, (8,), 3).sums(rows)
    found = MassHistogramsPlan.of(partition, (8,), LabelMasses(3)).sums(rows)
    np.testing.assert_array_equal(found, counts)
    # Those that are missing are in the last bin.
    assert counts.reshape(2, 3, 8)[1, :, -1].sum() > 200


@pytest.mark.parametrize("masses", ALL_MASSES)
def test_parts_of_the_rows_add_up(masses):
    plan, rows = MassHistogramsPlan.of(partition_of(3), N_BINS, masses), rows_of(300)
    parts = [plan.sums(rows.keeping(np.arange(k, 300, 3))) for k in range(3)]
    first, second, third = (PartialSums.of_batch("t", str(k), parts[k], 100, 100) for k in range(3))
    merged = third.merge(first.merge(second)).merge(first)
    np.testing.assert_array_equal(merged.values, plan.sums(rows))
    single = PreparedRows(rows.X.astype(np.float32), rows.y, labels=rows.labels, steps=rows.steps)
    double = PreparedRows(single.X.astype(np.float64), rows.y, labels=rows.labels, steps=rows.steps)
    np.testing.assert_array_equal(plan.sums(single), plan.sums(double))


@pytest.mark.parametrize("masses", ALL_MASSES)
def test_sums_that_no_rows_have_are_refused(masses):
    plan, rows = MassHistogramsPlan.of(partition_of(1), N_BINS, masses), rows_of(200)
    sums = plan.sums(rows)
    plan.check_sums(sums, 200)
    moved, negative, huge = sums.copy(), sums.copy(), np.full_like(sums, 2**62)
    # One column has a row more of one cell, and one less of another.
    plan.by_column(moved)[1][0, :2, 0] += [masses.total, -masses.total]
    for table in plan.by_column(negative):
        table[0, 0, :2] = [-1, table[0, 0, :2].sum() + 1]
    wrong = [(moved, 200), (negative, 200), (huge, 200), (sums, 0 if masses.largest > 1 else 201)]
    for values, n in wrong:
        with pytest.raises(ValueError, match="not those of so many rows"):
            plan.check_sums(values, n)
    with pytest.raises(OverflowError, match="too many rows"):
        plan.check_room(2**62)


@pytest.mark.parametrize("masses", ALL_MASSES)
def test_plans_travel_as_json_and_are_checked(masses):
    plan, rows = MassHistogramsPlan.of(partition_of(2), N_BINS, masses), rows_of(100)
    text = json.dumps(plan.to_dict())
    again = plan_from_dict(json.loads(text))
    assert isinstance(again, MassHistogramsPlan)
    assert (again.masses, again.n_labels) == (masses, masses.n_cells)
    assert json.dumps(again.to_dict()) == text
    np.testing.assert_array_equal(again.sums(rows), plan.sums(rows))
    for change in (
        {"n_bins": [8]},
        {"n_bins": [8, 2, 1]},
        {"n_bins": [2**24] * 3},
        {"masses": None},
        {"masses": {"kind": "others"}},
        {"partition": None},
        {"n_labels": 7},
    ):
        with pytest.raises(ValueError, match=r"plan|must|masses"):
            plan_from_dict(json.loads(text) | change)


def test_rows_that_the_plan_does_not_fit_are_refused():
    rows = PreparedRows(np.zeros((2, 3)), labels=np.array([0, 3]), y=np.array([0.0, np.nan]))
    for masses, match in ((LabelMasses(3), "more classes"), (NumberMasses(0.0, 1.0), "NaN or infinity")):
        with pytest.raises(ValueError, match=match):
            MassHistogramsPlan.of(partition_of(1), N_BINS, masses).sums(rows)
    with pytest.raises(ValueError, match=r"X must have shape"):
        MassHistogramsPlan.of(partition_of(1), N_BINS, LabelMasses(4)).sums(
            PreparedRows(rows.X[:, :2], labels=rows.labels)
        )
