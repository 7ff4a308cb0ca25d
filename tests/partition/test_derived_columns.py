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
from skprivate.partition._derived_columns import _pseudo_rows, derive_columns, levels_columns
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


def halve(domain, **options):
    """A partition without public rows."""
    lower, upper = domain.bounds
    return build_partition(
        np.empty((0, len(lower))), [], lower=lower, upper=upper, groups=domain.groups, **options
    )


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


@pytest.mark.parametrize("n_labels", [2, 3, 6])
@pytest.mark.parametrize("n_rows", [0, 200])
@pytest.mark.parametrize("two_sides", [False, True])
def test_kernel_is_what_numpy_makes_of_the_rows(n_labels, n_rows, two_sides):
    rng = np.random.default_rng(n_labels)
    rows = table(rng, n_rows)
    box = derive_columns(
        DOMAIN.groups, DOMAIN.encode(rows), labels_of(rows, rng, n_labels).astype(np.int32), *DOMAIN.bounds,
        n_labels=n_labels, two_sides=two_sides,
    )  # fmt: skip
    X = DOMAIN.encode(table(rng, 500, holes=0.4))
    Z = box.columns.apply(X)
    np.testing.assert_array_equal(Z, derived_by_numpy(box.columns, X))
    # The age is clipped only where its missing cells need room; every other value lies in its box.
    known = [places is not None for places in box.places]
    assert all(np.isin(Z[:, j], [*box.places[j], getattr(box.columns.columns[j], "absent", 0.5)]).all()
               for j in np.flatnonzero(known))  # fmt: skip
    assert ((box.lower <= Z) & (box.upper >= Z))[:, known].all()


def test_nan_goes_to_the_lower_bound_of_a_filled_number():
    derived = DerivedColumns(2, (FilledColumn(0, 0, 1, 9.0, 1.0, 3.0),))
    X = [[np.nan, 0.0], [np.nan, 1.0], [np.inf, 0.0], [-np.inf, 0.0]]
    assert derived.apply(X).ravel().tolist() == [1.0, 9.0, 3.0, 1.0]


def test_places_are_the_shrunk_shares_of_the_second_label():
    group = TableDomain({"job": CategoricalColumn(["a", "b", "c"], missing="indicator")}).groups[0]
    counts = np.array([[90, 10], [10, 90], [0, 0], [1, 0], [0, 0]])
    (column,) = levels_columns(group, 0, counts)
    base = 100 / 201
    first, second, unseen, rare = column.places
    assert unseen == column.absent == pytest.approx(base)
    assert 0.1 < first < 0.15 < 0.85 < second < 0.9
    # One row, and the largest possible share, are not taken at their word.
    assert 0 < rare < unseen
    # Of three levels with one label each, nothing is left of the differences within them.
    (pure,) = levels_columns(group, 0, np.array([[50, 0], [0, 50], [50, 0], [0, 0], [0, 0]]))
    assert pure.places[:3] == pytest.approx(((1 / 3) / 51, (50 + 1 / 3) / 51, (1 / 3) / 51))


def test_without_rows_levels_lie_in_their_declared_order_and_missing_comes_last():
    for missing, places, absent in (("error", 3, 1.0), ("indicator", 4, 1.5), ("fill", 3, 3.0)):
        domain = TableDomain({"job": CategoricalColumn(["a", "b", "c"], missing=missing)})
        (column,) = levels_columns(domain.groups[0], 0, np.zeros((5, 2)))
        assert column.places == tuple(range(places))
        assert column.absent == absent


def test_several_labels_give_components_by_which_levels_of_each_label_can_be_parted():
    group = TableDomain({"job": list("abcdefgh")}).groups[0]
    counts = np.zeros((10, 4))
    counts[np.arange(8), np.arange(8) % 4] = 50
    columns = levels_columns(group, 0, counts)
    assert len(columns) == 3
    places = np.round([column.places for column in columns], 6)
    assert len({tuple(place) for place in places.T}) == 4
    for level in range(4):
        np.testing.assert_allclose(places[:, level], places[:, level + 4])
    # Nothing differs: no direction is better than another, and there is one column, of one place.
    (same,) = levels_columns(group, 0, np.full((10, 4), 5.0))
    assert len(set(same.places)) == 1


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


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("n_labels", [2, 4])
def test_predictions_do_not_depend_on_the_order_of_declared_levels(rule, n_labels):
    rng = np.random.default_rng(5)
    rows = table(rng, 300)
    labels = labels_of(rows, rng, n_labels)
    turned = TableDomain(
        {**DOMAIN.columns, "job": CategoricalColumn(["l3", "l6", "l0", "l5", "l1", "l2", "l4"],
                                                    missing="indicator")})  # fmt: skip
    first, second = (
        grow(rows, labels, domain=domain, n_labels=n_labels, rule=rule) for domain in (DOMAIN, turned)
    )
    fresh = table(rng, 400)
    np.testing.assert_array_equal(first.apply(DOMAIN.encode(fresh)), second.apply(turned.encode(fresh)))


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


def test_a_cut_sends_missing_numbers_to_either_side_and_alone():
    rng = np.random.default_rng(3)
    domain = TableDomain({"age": NumberColumn(0, 100, missing="indicator")})
    age = [None if rng.random() < 0.3 else float(value) for value in rng.integers(101, size=400)]
    for truth in (
        lambda value: value is None,
        lambda value: value is None or value < 40,
        lambda value: value is None or value > 60,
    ):
        labels = np.array([truth(value) for value in age], dtype=int)
        partition = grow({"age": age}, labels, domain=domain, max_depth=1, rule="cart")
        leaves = partition.apply(domain.encode({"age": age}))
        # One cut is enough: the leaves are the labels, or the other way round.
        assert (leaves == labels).all() or (leaves == 1 - labels).all()
    # All values beyond the bounds count as the bounds, and never as missing.
    labels = np.array([value is None for value in age], dtype=int)
    partition = grow({"age": age}, labels, domain=domain, max_depth=1, rule="cart")
    beyond = partition.apply(domain.encode({"age": [-1e9, 0.0, 100.0, 1e9]}))
    assert len(set(beyond)) == 1
    assert partition.apply(domain.encode({"age": [None]}))[0] != beyond[0]


def test_numbers_missing_in_no_public_row_lie_at_their_median():
    rng = np.random.default_rng(4)
    rows = {"age": rng.integers(100, size=51).astype(float).tolist()}
    for fill, place in ((None, float(np.median(rows["age"]))), (33, None)):
        domain = TableDomain({"age": NumberColumn(0, 100, missing="indicator", fill=fill)})
        box = derive_columns(
            domain.groups, domain.encode(rows), np.zeros(51, dtype=np.int32), *domain.bounds, n_labels=2,
            two_sides=True,
        )  # fmt: skip
        assert len(box.columns.columns) == 1
        assert box.columns.apply(domain.encode({"age": [None]}))[0, 0] == (place or fill)


def test_bounds_that_leave_no_room_keep_the_indicator_as_a_column():
    largest = float(np.finfo(np.float64).max)
    domain = TableDomain({"age": NumberColumn(-largest, largest, missing="indicator")})
    rows = {"age": [None, 1.0, None, 2.0]}
    partition = grow(rows, [1, 0, 1, 0], domain=domain, rule="cart", max_depth=1)
    assert partition.apply(domain.encode(rows)).tolist() == [1, 0, 1, 0]


def test_halving_wastes_no_depth_on_a_column_whose_value_is_known():
    domain = TableDomain({"married": bool, "kind": ["a", "b", "c"], "size": (0, 1)})
    partition = halve(domain, max_depth=7)
    kinds = [("a", "b", "c")[i % 3] for i in range(600)]
    size = np.arange(600) // 6 / 100
    rows = {"married": [i % 6 < 3 for i in range(600)], "kind": kinds, "size": size.tolist()}
    counts = np.bincount(partition.apply(domain.encode(rows)), minlength=partition.n_leaves)
    # 2 x 3 values of the first two columns, and halves of the third: every leaf holds some of the grid.
    assert (counts > 0).all()
    assert partition.n_leaves > 2**6


def test_one_place_is_not_split():
    domain = TableDomain({"kind": ["a"], "size": (0, 1)})
    partition = halve(domain, max_depth=3)
    assert set(partition.feature[partition.leaf_index < 0]) == {1}
    alone = grow({"kind": ["a"] * 3}, [0, 1, 0], domain=TableDomain({"kind": ["a"]}))
    assert alone.n_leaves == 1


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


def test_close_places_are_parted_without_a_split_between_them_and_nothing():
    # Two levels of few second labels and two of many: after one halving each pair lies in half an interval.
    domain = TableDomain({"kind": ["a", "b", "c", "d"]})
    kinds, shares = ["a", "b", "c", "d"], (0.1, 0.12, 0.88, 0.9)
    rows = {"kind": [kind for kind in kinds for _ in range(100)]}
    labels = np.concatenate([np.arange(100) < 100 * share for share in shares]).astype(int)
    partition = grow(rows, labels, domain=domain, max_depth=2)
    assert len(set(partition.apply(domain.encode({"kind": kinds})))) == partition.n_leaves == 4


@pytest.mark.parametrize("seed", range(5))
def test_a_missing_number_is_not_split_by_its_value(seed):
    domain = TableDomain({"age": NumberColumn(0, 100, missing="indicator")})
    partition = halve(domain, max_depth=5, seed=seed)
    ages = np.linspace(0, 100, 1000).tolist()
    leaves = partition.apply(domain.encode({"age": [*ages, None]}))
    assert set(leaves) == set(range(partition.n_leaves))
    assert leaves[-1] not in leaves[:-1]


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


@pytest.mark.parametrize("label", range(3))
def test_components_point_where_their_largest_part_is(label):
    group = TableDomain({"job": ["a", "b"]}).groups[0]
    counts = np.full((4, 3), 20)
    counts[1] = [5, 5, 5]
    counts[1, label] = 50
    counts[2:] = 0
    first = levels_columns(group, 0, counts)[0].places
    assert first[1] > first[0]


def test_missing_cells_that_no_row_of_a_node_shows_go_the_heavier_way():
    # Missing cells are all on the left of the first split, where `flag` is 0; right of it nobody lacks `x`.
    domain = TableDomain({"flag": (0, 1), "x": NumberColumn(0, 1, missing="indicator")})
    rng = np.random.default_rng(3)
    flag, x = np.repeat([0.0, 1.0], 200), rng.uniform(size=400)
    for share in (0.25, 0.75):
        labels = np.where(flag == 0, 0, 2 * (x > share) + 1).astype(np.int32)
        labels[:20] = 1 - labels[:20] % 2
        cells = [None if row < 20 else float(x[row]) for row in range(400)]
        rows = {"flag": flag, "x": cells}
        partition = grow(rows, labels, domain=domain, max_depth=2, n_labels=4, rule="cart")
        missing, low, high = partition.apply(domain.encode({"flag": [1, 1, 1], "x": [None, 0.01, 0.99]}))
        assert low != high
        assert missing == (high if share < 0.5 else low)
