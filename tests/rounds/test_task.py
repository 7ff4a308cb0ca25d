# SPDX-License-Identifier: BSD-3-Clause
"""What travels: tasks of all kinds of plans, sums and facts, as bytes that are checked."""

import json

import numpy as np
import pytest

from skprivate.rounds import PartialSums, PartitionFunction, TableSource
from skprivate.rounds._schema import RowSchema
from skprivate.rounds._sources import SourceFacts, SourceRun, TableFacts
from skprivate.rounds._tables import TableColumns
from skprivate.rounds._task import RoundTask
from skprivate.utils._json_documents import digest
from tests.rounds.plans import example_plans as plans
from tests.rounds.plans.example_plans import PLANS

LIVES = RowSchema(columns=TableColumns(), n_features=2, bounds_y=(0.0, 1.0), structured=True)
LABELS = RowSchema(columns=TableColumns(), n_features=2, classes=np.array([0, 1]))
NUMBERS = RowSchema(columns=TableColumns(), n_features=2, bounds_y=(0.0, 1.0))


def task_of(name):
    schema = NUMBERS if name in plans.NUMBERS else LIVES if name in plans.LIVES else LABELS
    return RoundTask("run", 3, schema, PLANS[name])


def batch_of(name, n=50):
    rng = np.random.default_rng(0)
    X, y = rng.uniform(size=(n, 2)), rng.uniform(size=n)
    if name in plans.NUMBERS:
        return X, y
    if name not in plans.LIVES:
        return X, (y > 0.5).astype(int)
    return X, np.array(list(zip(y > 0.3, y, strict=True)), dtype=[("event", bool), ("time", float)])


@pytest.mark.parametrize("name", PLANS)
def test_a_task_and_its_sums_travel(name):
    task = task_of(name)
    again = RoundTask.from_bytes(task.to_bytes())
    assert again.id == task.id
    part = PartialSums.from_bytes(PartitionFunction(task.to_bytes())(batch_of(name), 7))
    np.testing.assert_array_equal(part.values, task.sum_batch(batch_of(name), "7").values)
    assert part.values.any()
    assert (part.task, part.n_rows, [*part.batches]) == (task.id, 50, ["7"])
    assert again.plan.n_sums == task.plan.n_sums == len(part.values)


@pytest.mark.parametrize(
    ("place", "name", "value"),
    [
        (None, "version", 2),
        (None, "format", "skprivate.sums"),
        (None, "number", -1),
        (None, "more", 1),
        ("plan", "kind", "others"),
        ("schema", "n_features", "2"),
        ("schema", "key", "00"),
        ("schema", "lower", [0.0, 0.0]),
    ],
)
def test_a_task_of_another_version_or_form_is_refused(place, name, value):
    content = json.loads(task_of("moments").to_bytes())
    content.pop("checksum")
    (content if place is None else content[place])[name] = value
    with pytest.raises(ValueError, match="not the bytes of a usable round"):
        RoundTask.from_bytes(json.dumps(content | {"checksum": digest(content)}).encode())


def test_bytes_that_were_changed_are_refused():
    task = task_of("moments").to_bytes()
    part = PartitionFunction(task)(batch_of("moments"), 0)
    facts = TableFacts("0", 5, 5, ("a",), ("number",), True).to_bytes()
    assert TableFacts.from_bytes(facts).n_rows == 5
    for data, read in ((task, RoundTask), (part, PartialSums), (facts, TableFacts)):
        for bad in (data[:-9], data.replace(b"5", b"6", 1), b"", b"{}"):
            with pytest.raises(ValueError, match=r"damaged|not the bytes"):
                read.from_bytes(bad)


def test_sums_of_other_plans_and_overlapping_sums_do_not_merge():
    function, other = (PartitionFunction(task_of(name).to_bytes()) for name in ("moments", "leaves"))
    parts = [PartialSums.from_bytes(function(batch_of("moments", n), n)) for n in (3, 4, 5)]
    with pytest.raises(ValueError, match="another plan"):
        parts[0].merge(PartialSums.from_bytes(other(batch_of("leaves"), 1)))
    pair = parts[0].merge(parts[1])
    assert pair.merge(parts[0]).values.tolist() == pair.values.tolist()
    with pytest.raises(ValueError, match="already merged"):
        pair.merge(parts[1].merge(parts[2]))
    with pytest.raises(ValueError, match="with different rows"):
        pair.merge(PartialSums.from_bytes(function(batch_of("moments", 9), 3)))


@pytest.mark.parametrize("name", ["leaves", "octaves", "histograms", "moments", "gradient"])
def test_rows_of_another_width_are_refused(name):
    X, y = batch_of(name)
    with pytest.raises(ValueError, match="2 columns"):
        PartitionFunction(task_of(name).to_bytes())((X[:, :1], y), 0)


def test_too_many_rows_are_refused_before_a_charge():
    facts = SourceFacts(2**60, 2**60, None, 2, True, (), None)
    run = SourceRun(TableSource([batch_of("moments")]), NUMBERS, facts, "run")
    with pytest.raises(OverflowError, match="too many rows"):
        run.prepare(0, PLANS["moments"])
