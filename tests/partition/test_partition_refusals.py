# SPDX-License-Identifier: BSD-3-Clause
"""What the room of partitions refuses: parameters, rows of another width, and documents that were changed."""

import copy
import math

import numpy as np
import pytest

from skprivate.domain import CategoricalColumn, NumberColumn, TableDomain
from skprivate.partition import ColumnBins, Partition, TableCells, build_partition
from skprivate.rounds._plans.masses import HistogramsPlan
from skprivate.rounds._task import plan_from_dict

DOMAIN = TableDomain(
    {
        "age": NumberColumn(0, 80, missing="indicator"),
        "job": CategoricalColumn(["clerk", "smith", "farmer"], missing="indicator"),
        "size": (-1, 1),
        "grade": CategoricalColumn([1, 2], ordered=True, missing="fill"),
    }
)
ROWS = {
    "age": [20, None] * 10,
    "job": ["clerk", "smith"] * 10,
    "size": np.linspace(-1, 1, 20).tolist(),
    "grade": [1, 2] * 10,
}
ROOT = Partition.from_splits([-1], [], [0, 0], [1, 1])
BINS, CELLS = ColumnBins.of([0.0, 0.0], [1.0, 1.0], 4), TableCells.of(*DOMAIN.bounds, DOMAIN.groups, 4)
TASK = {"X": np.zeros((3, 2)), "labels": [0, 1, 0], "lower": [0, 0], "upper": [1, 1], "max_depth": 2}
SPLITS = {"version": 2, "feature": [0, 1, -1, -1, -1], "threshold": [0.5, 0.25]}
SPLITS |= {"lower": [0.0, 0.0], "upper": [1.0, 1.0], "derived": None}


def grow_on(domain, rows, labels):
    lower, upper = domain.bounds
    options = {"lower": lower, "upper": upper, "max_depth": 5, "rule": "cart", "groups": domain.groups}
    return build_partition(domain.encode(rows), labels, **options)


TREE = grow_on(DOMAIN, ROWS, np.arange(20) % 2)
DERIVED = TREE.to_dict()
KINDS = [column["kind"] for column in DERIVED["derived"]["columns"]]


def chain(depth):
    """Halve [0, 1] towards 0: the left child splits again."""
    feature = [0] + [0, -1] * (depth - 1) + [-1, -1]
    threshold = [0.5 ** (k + 1) for k in range(depth)]
    return SPLITS | {"feature": feature, "threshold": threshold, "lower": [0.0], "upper": [1.0]}


def with_column(kind, /, **changes):
    """The tree of derived columns, with another first column of a kind; of "last", another last one."""
    changed = copy.deepcopy(DERIVED)
    at = {"first": 0, "last": -1}.get(kind)
    changed["derived"]["columns"][KINDS.index(kind) if at is None else at].update(changes)
    return changed


DOCUMENTS = [
    *([], "partition", None, {}, SPLITS | {"extra": 1}),
    *({name: value for name, value in some.items() if name != "derived"} for some in (SPLITS, DERIVED)),
    *(SPLITS | {"version": version} for version in (0, 1, 3, "2", None, True)),
    *(
        SPLITS | {"feature": feature}
        for feature in (
            *([], [0], [-1], [0, 1, -1, -1], "01", None, [[0], [1], [-1], [-1], [-1]]),
            *([0, 2, -1, -1, -1], [0, -2, 1, -1, -1], [-1, 0, 1, -1, -1], [0, -1, -1, 1, -1]),
            *([0, 1.0, -1, -1, -1], [0, True, -1, -1, -1], [0, 2**40, -1, -1, -1]),
        )
    ),
    *(SPLITS | {"threshold": threshold} for threshold in ([], [0.5], [0.5, 0.25, 0.1], [0.0, 0.25])),
    *(SPLITS | {"threshold": [0.5, cut]} for cut in (1.5, math.nan, math.inf, 10**400, "0.25", None, False)),
    *(SPLITS | {"lower": lower} for lower in ([], [0.0], [2.0, 0.0], [-math.inf, 0.0], [[0.0, 0.0]], 0.0)),
    *(SPLITS | {"upper": upper} for upper in ([1.0, 1.0, 1.0], [1.0, math.nan], [0.5, 0.0])),
    chain(31),
    *(with_column("value", column=place) for place in (10**9, -1, True)),
    *(with_column("value", kind=kind) for kind in ("other", ["value"], "filled")),
    *(with_column("filled", **change) for change in ({"place": None}, {"place": math.nan}, {"lower": 1e9})),
    with_column("filled", indicator=None),
    *(with_column("levels", places=places) for places in ([], [0.5] * 30, [0.5, "0.5"], 0.5)),
    *(with_column("levels", **change) for change in ({"absent": math.inf}, {"indicator": 10**6})),
    with_column("levels", start=2.0),
    *(with_column(place, source=source) for place, source in (("first", 1), ("last", 0), ("last", 9))),
    with_column("first", more=1),
    *(
        DERIVED | {"derived": DERIVED["derived"] | change}
        for change in (
            *({"n_features": 0}, {"n_features": 3}, {"columns": []}, {"more": 1}),
            {"columns": DERIVED["derived"]["columns"][:-1]},
        )
    ),
    *(DERIVED | change for change in ({"version": 1}, {"derived": 7}, {"derived": []})),
]


@pytest.mark.parametrize("document", DOCUMENTS)
def test_documents_of_partitions(document):
    assert {"value", "filled", "levels"} == set(KINDS)
    for good in (SPLITS, DERIVED, chain(30)):
        Partition.from_dict(good)
    with pytest.raises(
        ValueError, match=r"partition|derived column|lower|threshold|feature|depth|upper|parent"
    ):
        Partition.from_dict(document)


GROUPS = CELLS.to_dict()["groups"]


@pytest.mark.parametrize(
    ("bins", "change"),
    [
        *((BINS, {"n_bins": n}) for n in (1, 257, 4.0)),
        *((BINS, change) for change in ({"upper": [-1.0, 1.0]}, {"lower": [0.0]})),
        *((CELLS, {"n_bins": n}) for n in (1, 4.0)),
        *((CELLS, change) for change in ({"upper": [1.0]}, {"more": 1})),
        *((CELLS, {"groups": groups}) for groups in ([], GROUPS[:-1])),
        *((CELLS, {"groups": [GROUPS[0] | change]}) for change in ({"n_levels": -1}, {"indicator": 1})),
        (CELLS, {"groups": [*GROUPS[:-1], GROUPS[-1] | {"values": [1, 0]}]}),
    ],
)
def test_documents_of_bins(bins, change):
    type(bins).from_dict(bins.to_dict())
    with pytest.raises(ValueError, match=r"n_bins|lower|groups|column|values|cells"):
        type(bins).from_dict(bins.to_dict() | change)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        *(({"max_depth": depth}, "max_depth") for depth in (-1, 31)),
        ({"rule": "CART"}, "rule"),
        ({"criterion": "mse"}, "criterion"),
        ({"min_samples_leaf": -1}, "min_samples_leaf"),
        ({"n_labels": 1}, "n_labels"),
        *(({"labels": labels}, "labels") for labels in ([0, 1], [0, 1, 2], [0, 1, -1], [0.0, 1.0, 0.0])),
        ({"X": np.zeros((3, 3))}, "shape"),
        ({"lower": [0, 2]}, "lower"),
        ({"upper": [1, np.inf]}, "finite"),
        ({"lower": 0}, "length"),
        ({"groups": DOMAIN.groups}, "groups"),
    ],
)
def test_parameters_of_growth(change, message):
    build_partition(**TASK)
    with pytest.raises(ValueError, match=message):
        build_partition(**TASK | change)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ROOT.apply(np.zeros((5, 3))), "shape"),
        (lambda: ROOT.apply(np.zeros(2)), "shape"),
        (lambda: BINS.apply([[0.5]]), r"shape \(n, 2\)"),
        (lambda: CELLS.apply([[0.5]]), rf"shape \(n, {CELLS.n_features}\)"),
        (lambda: ROOT.truncate(-1), "depth"),
        (lambda: Partition.from_splits([0.5, -1.0, -1.0], [0.5], [0.0], [1.0]), "integers"),
        # A node that is a leaf, one that splits a number, and a partition without declared columns.
        (lambda: TREE.levels_left(len(TREE.left) - 1), "levels"),
        (lambda: grow_on(DOMAIN, ROWS, [0] * 10 + [1] * 10).levels_left(0), "levels"),
        (lambda: ROOT.levels_left(0), "levels"),
    ],
)
def test_questions(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_bins_of_a_plan_for_other_columns():
    plan = HistogramsPlan(TREE, (5,) * TREE.n_columns, 2).to_dict()
    plan_from_dict(plan)
    with pytest.raises(ValueError, match="n_bins"):
        plan_from_dict(plan | {"n_bins": [5] * TREE.n_features})
