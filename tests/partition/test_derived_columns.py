# SPDX-License-Identifier: BSD-3-Clause
"""Derived columns: the kernel against NumPy, places by public rows, partitions of them, and their JSON."""

import copy
import json
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skprivate.domain import BooleanColumn, CategoricalColumn, NumberColumn, TableDomain
from skprivate.partition import DerivedColumns, Partition, build_partition
from skprivate.partition._derived_columns import _pseudo_rows, levels_columns
from skprivate.partition._partition import FilledColumn, ValueColumn

RULES = ("max-edge", "cart", "random")
DOMAIN = TableDomain(
    {
        "job": CategoricalColumn([f"l{level}" for level in range(7)], missing="indicator"),
        "age": NumberColumn(20, 70, missing="indicator"),
        "married": BooleanColumn(missing="indicator"),
        "size": (0, 1),
        "kind": CategoricalColumn(["a", "b", "c"], missing="fill"),
        "grade": CategoricalColumn([1, 2, 3, 4], ordered=True, missing="indicator", fill=2),
    }
)


def table(rng, n, holes=0.2):
    def cells(values):
        return [None if hole else value for hole, value in zip(rng.random(n) < holes, values, strict=True)]

    return {
        "job": cells([f"l{level}" for level in rng.integers(7, size=n)]),
        "age": cells(rng.uniform(10, 80, size=n).tolist()),
        "married": cells((rng.random(n) < 0.5).tolist()),
        "size": rng.uniform(size=n).tolist(),
        "kind": cells(rng.choice(["a", "b", "c"], size=n).tolist()),
        "grade": cells(rng.integers(1, 5, size=n).tolist()),
    }


def labels_of(rows, rng, n_labels=2):
    """Labels that the job and a missing age tell of."""
    code = [len(str(job)) + (job in ("l1", "l4", None)) + (age is None) for job, age in
            zip(rows["job"], rows["age"], strict=True)]  # fmt: skip
    noise = rng.random(len(code)) < 0.2
    return (np.array(code) + noise) % n_labels


def grow(rows, labels, *, domain=DOMAIN, max_depth=5, n_labels=2, **options):
    lower, upper = domain.bounds
    return build_partition(
        domain.encode(rows), labels, lower=lower, upper=upper, max_depth=max_depth, n_labels=n_labels,
        groups=domain.groups, **options,
    )  # fmt: skip


def derived_by_numpy(derived, X):
    """The derived columns, one cell after the other."""
    Z = np.empty((len(X), derived.n_columns))
    for j, column in enumerate(derived.columns):
        for i, x in enumerate(X):
            missing = getattr(column, "indicator", None) is not None and x[column.indicator] == 1
            if isinstance(column, ValueColumn):
                Z[i, j] = x[column.column]
            elif isinstance(column, FilledColumn):
                Z[i, j] = column.place if missing else np.clip(x[column.column], column.lower, column.upper)
            elif missing:
                Z[i, j] = column.places[-1]
            else:
                own = np.flatnonzero(x[column.start : column.start + column.n_levels])
                Z[i, j] = column.places[own[0]] if len(own) else column.absent
    return Z


def test_nan_goes_to_the_lower_bound_of_a_filled_number():
    derived = DerivedColumns(2, (FilledColumn(0, 0, 1, 9.0, 1.0, 3.0),))
    X = [[np.nan, 0.0], [np.nan, 1.0], [np.inf, 0.0], [-np.inf, 0.0]]
    assert derived.apply(X).ravel().tolist() == [1.0, 9.0, 3.0, 1.0]


@given(seed=st.integers(0, 2**32), n_labels=st.integers(2, 5), n_levels=st.integers(1, 9))
@settings(max_examples=60, deadline=None)
def test_places_follow_their_levels_when_the_declaration_is_permuted(seed, n_labels, n_levels):
    rng = np.random.default_rng(seed)
    group = TableDomain({"job": [f"l{level}" for level in range(n_levels)]}).groups[0]
    counts = rng.integers(6, size=(n_levels + 2, n_labels)) * (rng.random((n_levels + 2, 1)) < 0.8)
    counts[0, 0] += 1
    order = rng.permutation(n_levels)
    turned = np.concatenate([counts[order], counts[n_levels:]])
    for column, moved in zip(levels_columns(group, 0, counts), levels_columns(group, 0, turned), strict=True):
        assert tuple(np.array(column.places)[order]) == moved.places


def walk(partition, row):
    """The leaf of a row of derived columns."""
    node = 0
    while partition.leaf_index[node] < 0:
        node = partition.left[node] + int(row[partition.feature[node]] >= partition.threshold[node])
    return partition.leaf_index[node]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("n_public", [0, 12, 250])
@pytest.mark.parametrize("n_labels", [2, 3])
def test_leaf_of_a_row_is_found_by_walking_its_derived_columns(rule, n_public, n_labels):
    rng = np.random.default_rng(n_public + n_labels)
    rows = table(rng, n_public)
    labels = labels_of(rows, rng, n_labels)
    partition = grow(rows, labels, n_labels=n_labels, rule=rule, max_depth=7)
    assert partition.n_leaves > 3
    fresh = DOMAIN.encode(table(rng, 200, holes=0.3))
    leaves, Z = partition.apply(fresh), derived_by_numpy(partition.derived, fresh)
    assert leaves.tolist() == [walk(partition, row) for row in Z]
    np.testing.assert_array_equal(partition.derive(fresh), Z)
    np.testing.assert_array_equal(partition.apply_derived(Z), leaves)
    # A shallower tree is the truncation of a deeper one.
    assert partition.truncate(3) == grow(rows, labels, n_labels=n_labels, rule=rule, max_depth=3)


def test_bounds_that_leave_no_room_keep_the_indicator_as_a_column():
    largest = float(np.finfo(np.float64).max)
    domain = TableDomain({"age": NumberColumn(-largest, largest, missing="indicator")})
    rows = {"age": [None, 1.0, None, 2.0]}
    partition = grow(rows, [1, 0, 1, 0], domain=domain, rule="cart", max_depth=1)
    assert partition.apply(domain.encode(rows)).tolist() == [1, 0, 1, 0]


@pytest.mark.parametrize("rule", RULES)
def test_json_and_pickles_restore_the_derived_columns(rule):
    rng = np.random.default_rng(8)
    rows = table(rng, 200)
    partition = grow(rows, labels_of(rows, rng, 4), n_labels=4, rule=rule)
    state = json.loads(json.dumps(partition.to_dict()))
    for again in (
        Partition.from_dict(state),
        pickle.loads(pickle.dumps(partition)),
        copy.deepcopy(partition),
    ):
        assert again == partition
        X = DOMAIN.encode(table(rng, 100))
        np.testing.assert_array_equal(again.apply(X), partition.apply(X))
    assert partition.truncate(0) != Partition.from_splits([-1], [], partition.lower, partition.upper)


def test_levels_left_of_a_node_that_splits_levels():
    domain = TableDomain({"kind": ["a", "b"], "size": (0, 1)})
    rows = {"kind": ["a", "b"] * 10, "size": [0.3] * 10 + [0.8] * 10}
    partition = grow(rows, [0, 1] * 10, domain=domain, max_depth=1)
    assert partition.levels_left(0).tolist() == [True, False]


def test_pseudo_rows_are_those_of_the_distribution_of_the_shares():
    rng = np.random.default_rng(6)
    rows = rng.integers(20, 60, size=4000)
    ones = rng.binomial(rows, rng.beta(4, 6, size=4000))
    # Of 10 on average, by a sum over 4,000 levels.
    assert _pseudo_rows(np.column_stack([rows - ones, ones]).astype(float)) == pytest.approx(10, rel=0.15)
    alike = rng.binomial(rows, 0.4)
    assert _pseudo_rows(np.column_stack([rows - alike, alike]).astype(float)) > 300
    # So levels that are alike nearly share a place, where one row each would leave their sampling.
    group = TableDomain({"job": [str(level) for level in range(4000)]}).groups[0]
    counts = np.column_stack([rows - alike, alike])
    (column,) = levels_columns(group, 0, np.concatenate([counts, np.zeros((2, 2))]))
    assert np.ptp(column.places) < 0.1 < np.ptp(alike / rows)
    pure = np.array([[50.0, 0.0], [0.0, 50.0]])
    assert _pseudo_rows(pure) == 1
