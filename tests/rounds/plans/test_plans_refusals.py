# SPDX-License-Identifier: BSD-3-Clause
"""What plans refuse: JSON that no plan writes, sums that no rows have, rows of others, and too many rows."""

import copy
import json
from dataclasses import replace

import numpy as np
import pytest

from skprivate.rounds._plans.cells import CellsPlan, ErrorAxis, SurvivalAxis
from skprivate.rounds._plans.masses import LabelMasses, MassesPlan, MassHistogramsPlan, NumberMasses
from skprivate.rounds._rows import PreparedRows
from skprivate.rounds._task import plan_from_dict
from tests.rounds.plans.example_plans import GRID, HALVES, LIVES, LOOKS, NUMBERS, PLANS

LEAST = np.iinfo(np.int64).min
COUNTS = {"leaves", "octaves", "levels", "survival", "errors", "histograms", "codes"}
MANY = MassesPlan.of_leaves(HALVES, LabelMasses(2, largest=8))
ERRORS, MASSES = ("tables", 0, 0), ("masses",)
#: Plan, place in its JSON, value there, and what the message says.
DOCUMENTS = [
    *(("moments", ("kind",), "others", "kind"), ("moments", ("more",), 1, "plan")),
    *(("moments", ("grid", "exponent"), 60, "grid"), ("moments", ("grid", "upper"), [0.0, 0.0], "grid")),
    *(("moments", ("grid", "x_norm"), 1.0, "grid"), ("moments", ("largest",), 0, "plan")),
    *(("moments", ("largest",), 1.5, "plan"), ("gradient", ("theta",), [1.0], "plan")),
    ("gradient", ("limits",), [-1.0, 1.0, 1.0, 1.0], "plan"),
    *(
        ("histograms", ("n_bins",), value, "plan")
        for value in ([8], [8, 1], [8, 2.0], [8, True], [2**24] * 2)
    ),
    *(("histograms", ("n_labels",), 0, "plan"), ("histograms", ("n_labels",), "2", "plan")),
    ("histograms", ("partition", "feature"), [-1], "."),
    *(("histograms", ("partition",), None, "."), ("histograms", ("more",), 1, "plan")),
    *(("errors", (*ERRORS, "edges"), value, "axis") for value in ([], [1.0, 0.5], [0.5, 0.5], ["a"])),
    *(("errors", (*ERRORS, "tables"), value, "axis") for value in ([], [0, 2], [0, -1], [0, 1.0])),
    *(("errors", (*ERRORS, "theta"), value, "axis") for value in ([1.0], [1.0, 2.0, 3.0, np.inf])),
    *(("errors", (*ERRORS, "grid"), None, "grid"), ("errors", (*ERRORS, "more"), 1, "axis")),
    # With as many labels as possible, several leaves have too many sums.
    *(("label masses", (*MASSES, "n_cells"), value, "masses|plan") for value in (0, 2**24 + 1, 2**24, 2.0)),
    *(("label masses", (*MASSES, "largest"), value, "masses") for value in (0, True)),
    *(("label masses", (*MASSES, "kind"), value, "masses") for value in ("others", ["labels"])),
    ("label masses", (*MASSES, "more"), 1, "masses"),
    *(("number masses", (*MASSES, "half"), value, "masses") for value in (0.0, -1.0, np.inf)),
    *(("number masses", (*MASSES, "bits"), value, "masses") for value in (0, 21)),
    *(("number masses", (*MASSES, "degree"), value, "masses") for value in (0, 3)),
    *(
        ("number masses", (*MASSES, name), value, "masses")
        for name, value in (("center", None), ("largest", 2**21))
    ),
    *(("number histograms", ("n_bins",), value, "plan|must") for value in ([8], [8, 2, 1], [2**24] * 2)),
    *(("number histograms", (name,), None, ".") for name in ("masses", "partition")),
    ("number histograms", ("n_labels",), 7, "plan"),
    *(("logits", ("scale",), [0.0, 1.0], "a plan"), ("logits", ("center",), [0.0], "a plan")),
    *(("logits", ("radius",), value, "a plan") for value in (0.0, "1")),
    *(("logits", ("theta",), value, "a plan") for value in ([], [0.0] * 4, [0.0] * 6)),
    *(("logits", ("coarse",), value, "a plan") for value in ([1.5, 2], [30, 2])),
    *(("logits", ("norm_order",), 3, "a plan"), ("logits", ("exponent",), 21, "a plan")),
    *(("logits", ("more",), 1, "a plan"), ("three logits", ("coarse",), [4, 4], "two classes")),
    ("residuals", ("grid", "groups", 0), [0, 0, 5], "whole numbers"),
    ("residuals", ("grid", "groups", 0), [0, 1], "of its features"),
    ("residuals", ("grid", "features"), [9], "of its features"),
    ("residuals", ("model", "tables"), [], "a table for every feature"),
    ("residuals", ("model", "offsets"), [0, 1], "offsets"),
    ("residuals", ("model", "features", 0, "thresholds"), [0.0, 0.0], "ascend"),
    *(
        ("residuals", ("loss", "kind"), "rank", "unknown kind"),
        ("residuals", ("loss", "n_labels"), 3, "outputs"),
    ),
    ("residuals", ("bits",), 21, "bits"),
    *(("probabilities", ("most",), value, "most") for value in (0.0, 1.5)),
    *(("probabilities", ("model", name), [1.0], "it needs") for name in ("lower", "slopes")),
    ("three probabilities", ("but",), 3, "a class"),
    ("number residuals", ("loss", "half"), 0.0, "half and clip"),
]


@pytest.mark.parametrize(("name", "place", "value", "match"), DOCUMENTS)
def test_what_no_plan_writes_is_refused(name, place, value, match):
    content = json.loads(json.dumps(PLANS[name].to_dict()))
    inner = changed = copy.deepcopy(content)
    for step in place[:-1]:
        inner = inner[step]
    inner[place[-1]] = value
    assert plan_from_dict(content).to_dict() == content
    with pytest.raises(ValueError, match=match):
        plan_from_dict(changed)


def rows_of(name, n=50):
    """Return prepared rows of a plan."""
    rng = np.random.default_rng(0)
    X, y, labels = rng.uniform(size=(n, 2)), rng.uniform(size=n), rng.integers(2, size=n).astype(np.int32)
    if name in NUMBERS:
        return PreparedRows(X, y=y)
    return (
        PreparedRows(X, y=y, event=labels.astype(np.uint8))
        if name in LIVES
        else PreparedRows(X, labels=labels)
    )


@pytest.mark.parametrize("name", PLANS)
def test_sums_that_no_rows_have_are_refused(name):
    plan = PLANS[name]
    sums = plan.sums(rows_of(name))
    plan.check_sums(sums, 50)
    for wrong in (sums * 10**6 + 1, np.full_like(sums, 2**62)):
        with pytest.raises(ValueError, match="this number of rows"):
            plan.check_sums(wrong, 50)


@pytest.mark.parametrize("name", PLANS)
def test_the_least_integer_is_refused_everywhere(name):
    """NumPy takes its magnitude for negative."""
    plan = PLANS[name]
    for place in range(plan.n_sums):
        sums = np.zeros(plan.n_sums, dtype=np.int64)
        sums[place] = LEAST
        with pytest.raises(ValueError, match="this number of rows"):
            plan.check_sums(sums, 5)


@pytest.mark.parametrize("name", [name for name in PLANS if name not in COUNTS])
def test_more_rows_than_the_sums_bear_are_refused(name):
    """Counts bear any number."""
    with pytest.raises(OverflowError, match="too many rows"):
        PLANS[name].check_room(2**62)


def test_looks_of_the_least_integer_are_refused():
    for place in range(LOOKS.n_sums):
        sums = np.zeros(LOOKS.n_sums, dtype=np.int64)
        LOOKS.check_sums(sums, 5)
        sums[place] = LEAST
        with pytest.raises(ValueError, match="this number of rows"):
            LOOKS.check_sums(sums, 5)


@pytest.mark.parametrize("counts", [[5, -1, 1], [5, 1, 0], [3, 1, 0], [LEAST, 0, 5]])
def test_counts_of_other_rows_are_refused(counts):
    plan = CellsPlan(((SurvivalAxis(0.0, 1.0, 8, 2),),))
    sums = np.zeros(plan.n_sums, dtype=np.int64)
    sums[0] = 5
    plan.check_sums(sums, 5)
    sums[:3] = counts
    with pytest.raises(ValueError, match="this number of rows"):
        plan.check_sums(sums, 5)


@pytest.mark.parametrize("name", ["histograms", "label masses", "number masses", "number histograms"])
def test_tables_whose_totals_differ_are_refused(name):
    plan, sums = PLANS[name], PLANS[name].sums(rows_of(name))
    negative, moved = sums.copy(), sums.copy()
    negative[:2] = [-1, sums[:2].sum() + 1]
    # One column has something more of a cell than the others.
    moved[0] += 1
    moved[-1] -= 1
    wrong = [(negative, 50), (sums, 51)] + [(moved, 50)] * (name != "label masses")
    for values, n in wrong:
        with pytest.raises(ValueError, match="impossible for this number of rows"):
            plan.check_sums(values, n)


X, TRUE = np.zeros((2, 2)), np.zeros(2, dtype=np.int32)
ROWS = [
    *((PLANS[name], PreparedRows(X), "label") for name in ("histograms", "label masses", "logits")),
    (PLANS["logits"], PreparedRows(X, labels=TRUE + 2), "label"),
    (PLANS["logits"], PreparedRows(X, labels=TRUE - 1), "label"),
    (PLANS["logits"], PreparedRows(X + np.nan, labels=TRUE), "finite"),
    (PLANS["logits"], PreparedRows(X[:, :1], labels=TRUE), "shape"),
    (PLANS["column moments"], PreparedRows(X + np.nan), "finite"),
    (PLANS["histograms"], PreparedRows(X, labels=TRUE + 2), "more classes"),
    (PLANS["histograms"], PreparedRows(X[:, :1], labels=TRUE), "shape"),
    (PLANS["label masses"], PreparedRows(X, labels=TRUE + 2), "more classes"),
    (PLANS["label masses"], PreparedRows(X, labels=TRUE - 1), "more classes"),
    (MANY, PreparedRows(X, labels=TRUE), "no weights"),
    (MANY, PreparedRows(X, labels=TRUE, steps=np.array([1.0, np.nan])), "contain NaN"),
    (PLANS["number masses"], PreparedRows(X), "no target"),
    (PLANS["number masses"], PreparedRows(X, y=np.array([0.0, np.nan])), "NaN or infinity"),
    (PLANS["number masses"], PreparedRows(X, y=np.array([np.inf, 0.0])), "NaN or infinity"),
    (
        MassesPlan.of_leaves(HALVES, NumberMasses(0.0, 1.0, largest=8)),
        PreparedRows(X, y=X[:, 0]),
        "no weights",
    ),
    (PLANS["number histograms"], PreparedRows(X, y=np.array([0.0, np.nan])), "NaN or infinity"),
    (
        MassHistogramsPlan.of(HALVES, (8, 2), LabelMasses(2)),
        PreparedRows(X[:, :1], labels=TRUE),
        "X must have shape",
    ),
    (PLANS["errors"], PreparedRows(X + np.inf, y=X[:, 0], event=TRUE.astype(np.uint8)), "finite"),
    (PLANS["errors"], PreparedRows(X, y=X[:, 0], event=np.array([0, 3], np.uint8)), "kinds of observation"),
]


@pytest.mark.parametrize(("plan", "rows", "match"), ROWS)
def test_rows_that_a_plan_is_not_about_are_refused(plan, rows, match):
    with pytest.raises(ValueError, match=match):
        plan.sums(rows)


@pytest.mark.parametrize("theta", [np.full(4, 1e308), np.array([1e308, -1e308, 1e308, 0.0])])
def test_huge_parameters_are_not_refused_and_leave_a_row_one_cell(theta):
    plan = CellsPlan(((ErrorAxis(GRID, theta, np.array([-1.0, 0.5])),),))
    assert plan.sums(rows_of("errors")).sum() == 50


def test_room_is_a_matter_of_public_numbers_alone():
    for name in ("label masses", "number masses"):
        plan = PLANS[name]
        most = 2**61 // (plan.masses.total * plan.masses.largest)
        plan.check_room(most)
        with pytest.raises(OverflowError, match="too many rows"):
            plan.check_room(most + 1)
    # What the resolution of numbers promises.
    MassesPlan.of_leaves(HALVES, NumberMasses(0.0, 1.0, largest=1024)).check_room(2**31)
    fine = replace(PLANS["logits"], coarse=None, residual_bits=26)
    with pytest.raises(OverflowError, match="fit float64"):
        replace(fine, rows=replace(fine.rows, exponent=20)).check_room(1)
    PLANS["logits"].check_room(10**6)
