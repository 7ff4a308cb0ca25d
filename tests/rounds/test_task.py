# SPDX-License-Identifier: BSD-3-Clause
"""What travels: tasks of all kinds of plans, sums and facts, as bytes that are checked."""

import json
from dataclasses import replace

import numpy as np
import pytest

from skprivate.partition import build_partition
from skprivate.rounds import PartialSums, PartitionFunction, TableSource
from skprivate.rounds._plans.cells import (
    CellsPlan,
    ErrorAxis,
    LabelAxis,
    LeafAxis,
    LevelAxis,
    OctaveAxis,
    SurvivalAxis,
)
from skprivate.rounds._plans.masses import (
    HistogramsPlan,
    LabelMasses,
    MassesPlan,
    MassHistogramsPlan,
    NumberMasses,
)
from skprivate.rounds._plans.moments import GradientsPlan, MomentGrid, MomentsPlan, ResidualGrid
from skprivate.rounds._schema import RowSchema
from skprivate.rounds._sources import SourceFacts, SourceRun, TableFacts
from skprivate.rounds._tables import TableColumns
from skprivate.rounds._task import RoundTask
from skprivate.utils._json_documents import digest

GRID = MomentGrid(lower=np.zeros(2), upper=np.ones(2), target=(0.0, 1.0), exponent=8)
RESIDUALS = ResidualGrid(0, (-1e300, 0.5), 10, 8, (2048.0, 1024.0, 256.0, 0.0))
HALVES = build_partition(
    np.empty((0, 2)),
    np.empty(0, dtype=np.int32),
    lower=np.zeros(2),
    upper=np.ones(2),
    max_depth=2,
    n_labels=2,
    rule="random",
    criterion="gini",
    min_samples_leaf=0,
    seed=0,
)
PLANS = {
    "leaves": CellsPlan(((LeafAxis(HALVES), LabelAxis(2)),)),
    "octaves": CellsPlan(((OctaveAxis(0),), (OctaveAxis(1),))),
    "levels": CellsPlan(((LevelAxis(0, 1, 1), LabelAxis(2)), (LevelAxis(0, 2, None),))),
    "survival": CellsPlan(((SurvivalAxis(0.5, 0.5, 4),),)),
    "errors": CellsPlan(((ErrorAxis(GRID, np.array([0.1, 2.0, -0.5, 0.3]), np.array([-1.0, 0.5])),),)),
    "histograms": HistogramsPlan(HALVES, (8, 2), 2),
    "label masses": MassesPlan.of_leaves(HALVES, LabelMasses(2)),
    "number masses": MassesPlan.of_leaves(HALVES, NumberMasses(0.5, 0.5)),
    "number histograms": MassHistogramsPlan.of(HALVES, (8, 2), NumberMasses(0.5, 0.5).for_splits()),
    "moments": MomentsPlan(GRID),
    "gradient": GradientsPlan(GRID, RESIDUALS, np.array([0.1, 2.0, -0.5, 0.3]), None),
    "curvature": GradientsPlan(GRID, RESIDUALS, np.array([0.1, 2.0, -0.5, 0.3]), 6),
}
LABELS = RowSchema(columns=TableColumns(), n_features=2, classes=np.array([0, 1]))
NUMBERS = RowSchema(columns=TableColumns(), n_features=2, bounds_y=(0.0, 1.0))
LIVES = replace(NUMBERS, structured=True)
SCHEMAS = {
    **dict.fromkeys(("leaves", "levels", "octaves", "histograms", "label masses"), LABELS),
    **dict.fromkeys(("moments", "number masses", "number histograms"), NUMBERS),
}


def task_of(name):
    return RoundTask("run", 3, SCHEMAS.get(name, LIVES), PLANS[name])


def batch_of(name, n=50):
    rng = np.random.default_rng(0)
    X, y = rng.uniform(size=(n, 2)), rng.uniform(size=n)
    if SCHEMAS.get(name) is LABELS:
        return X, (y > 0.5).astype(int)
    if SCHEMAS.get(name) is NUMBERS:
        return X, y
    return X, np.array(list(zip(y > 0.3, y, strict=True)), dtype=[("event", bool), ("time", float)])


def resealed(data, change):
    """Return bytes whose checksum fits what was changed."""
    content = json.loads(data)
    content.pop("checksum")
    change(content)
    return json.dumps(content | {"checksum": digest(content)}).encode()


@pytest.mark.parametrize("name", PLANS)
def test_a_task_and_its_sums_travel(name):
    task = task_of(name)
    again = RoundTask.from_bytes(task.to_bytes())
    assert again.id == task.id
    part = PartialSums.from_bytes(PartitionFunction(task.to_bytes())(batch_of(name), 7))
    np.testing.assert_array_equal(part.values, task.sum_batch(batch_of(name), "7").values)
    assert part.values.any()
    assert (part.task, part.n_rows, [*part.batches]) == (task.id, 50, ["7"])
    task.plan.check_sums(part.values, 50)
    with pytest.raises(ValueError, match="not those of so many rows"):
        task.plan.check_sums(part.values * 10**6 + 1, 50)


@pytest.mark.parametrize("name", PLANS)
@pytest.mark.parametrize(
    "change",
    [
        lambda content: content.update(version=2),
        lambda content: content.update(format="skprivate.sums"),
        lambda content: content.update(number=-1),
        lambda content: content.update(more=1),
        lambda content: content["plan"].update(kind="others"),
        lambda content: content["plan"].pop("kind"),
        lambda content: content["schema"].update(n_features="2"),
        lambda content: content["schema"].update(key="00"),
        lambda content: content["schema"].update(lower=[0.0, 0.0]),
    ],
)
def test_a_task_of_another_version_or_form_is_refused(name, change):
    with pytest.raises(ValueError, match="no bytes of a round"):
        RoundTask.from_bytes(resealed(task_of(name).to_bytes(), change))


@pytest.mark.parametrize("name", ["moments", "gradient", "curvature"])
@pytest.mark.parametrize(
    "change",
    [
        lambda plan: plan["grid"].update(exponent=60),
        lambda plan: plan["grid"].update(upper=[0.0, 0.0]),
        lambda plan: plan["grid"].update(x_norm=1.0),
        lambda plan: plan.update(largest=0) if "largest" in plan else plan.update(theta=[1.0]),
        lambda plan: (
            plan.update(largest=1.5) if "largest" in plan else plan.update(limits=[-1.0, 1.0, 1.0, 1.0])
        ),
    ],
)
def test_a_plan_out_of_range_is_refused(name, change):
    with pytest.raises(ValueError, match="no bytes of a round"):
        RoundTask.from_bytes(resealed(task_of(name).to_bytes(), lambda content: change(content["plan"])))


@pytest.mark.parametrize(
    "change",
    [
        lambda plan: plan.update(n_bins=[8]),
        lambda plan: plan.update(n_bins=[8, 1]),
        lambda plan: plan.update(n_bins=[8, 2.0]),
        lambda plan: plan.update(n_bins=[8, True]),
        lambda plan: plan.update(n_bins=[2**24, 2**24]),
        lambda plan: plan.update(n_labels=0),
        lambda plan: plan.update(n_labels="2"),
        lambda plan: plan["partition"].update(feature=[-1]),
        lambda plan: plan.update(partition=None),
        lambda plan: plan.update(more=1),
    ],
)
def test_a_plan_of_histograms_out_of_range_is_refused(change):
    with pytest.raises(ValueError, match="no bytes of a round"):
        RoundTask.from_bytes(
            resealed(task_of("histograms").to_bytes(), lambda content: change(content["plan"]))
        )


def test_bytes_that_were_changed_are_refused():
    task = task_of("moments").to_bytes()
    part = PartitionFunction(task)(batch_of("moments"), 0)
    facts = TableFacts("0", 5, 5, ("a",), ("number",), True).to_bytes()
    assert TableFacts.from_bytes(facts).n_rows == 5
    for data, read in ((task, RoundTask), (part, PartialSums), (facts, TableFacts)):
        for bad in (data[:-9], data.replace(b"5", b"6", 1), b"", b"{}"):
            with pytest.raises(ValueError, match=r"damaged|no bytes"):
                read.from_bytes(bad)


def test_sums_of_other_plans_and_overlapping_sums_do_not_merge():
    function, other = (PartitionFunction(task_of(name).to_bytes()) for name in ("moments", "leaves"))
    parts = [PartialSums.from_bytes(function(batch_of("moments", n), n)) for n in (3, 4, 5)]
    with pytest.raises(ValueError, match="another plan"):
        parts[0].merge(PartialSums.from_bytes(other(batch_of("leaves"), 1)))
    pair = parts[0].merge(parts[1])
    assert pair.merge(parts[0]).values.tolist() == pair.values.tolist()
    with pytest.raises(ValueError, match="merged already"):
        pair.merge(parts[1].merge(parts[2]))
    with pytest.raises(ValueError, match="with other rows"):
        pair.merge(PartialSums.from_bytes(function(batch_of("moments", 9), 3)))


@pytest.mark.parametrize("name", ["moments", "gradient", "curvature"])
def test_more_rows_than_the_sums_bear_are_refused_before_a_charge(name):
    facts = SourceFacts(2**60, 2**60, None, 2, True, (), None)
    run = SourceRun(TableSource([batch_of(name)]), SCHEMAS.get(name, LIVES), facts, "run")
    with pytest.raises(OverflowError, match="too many rows"):
        run.prepare(0, PLANS[name])


@pytest.mark.parametrize("name", ["leaves", "octaves", "histograms", "moments", "gradient"])
def test_rows_of_another_width_are_refused(name):
    X, y = batch_of(name)
    with pytest.raises(ValueError, match="2 columns"):
        PartitionFunction(task_of(name).to_bytes())((X[:, :1], y), 0)
