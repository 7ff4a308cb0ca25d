# SPDX-License-Identifier: BSD-3-Clause
"""Masses and their sums by leaf: exact, of one total, within 64 bits, and checked when they come back."""

import itertools
import json
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from skprivate.partition import Partition, build_partition
from skprivate.rounds import PartialSums
from skprivate.rounds._plans.masses import (
    NUMBER_BITS,
    WEIGHT_STEPS,
    LabelMasses,
    MassesPlan,
    NumberMasses,
    masses_from_dict,
)
from skprivate.rounds._rows import PreparedRows
from skprivate.rounds._task import plan_from_dict

LARGEST = float(np.finfo(np.float64).max)
HALVES = Partition.from_splits([0, 1, -1, -1, -1], [0.5, 0.25], [0.0, 0.0], [1.0, 1.0])
ALL_MASSES = [
    LabelMasses(3),
    LabelMasses(3, largest=8),
    NumberMasses(0.5, 0.5),
    NumberMasses(0.5, 0.5, bits=3, degree=1),
    NumberMasses(0.5, 0.5, bits=4, largest=WEIGHT_STEPS),
]


def rows_of(n, seed=0, most=8):
    rng = np.random.default_rng(seed)
    return PreparedRows(
        rng.normal(0.5, 0.4, size=(n, 2)),
        y=rng.normal(0.5, 0.6, size=n),
        labels=rng.integers(3, size=n),
        steps=rng.integers(most + 1, size=n).astype(float),
    )


def reference(masses, rows):
    """Return the masses of every row, in Python's exact numbers."""
    found = np.zeros((len(rows.X), masses.n_cells), dtype=object)
    for i in range(len(found)):
        step = min(max(int(rows.steps[i]), 0), masses.largest) if masses.largest > 1 else 1
        if masses.kind == "labels":
            found[i, rows.labels[i]] = step
            continue
        u = (Fraction(rows.y[i]) - Fraction(masses.center)) / Fraction(masses.half)
        one = 2**masses.bits
        a = math.floor(Fraction(one, 2) * (1 + min(max(u, Fraction(-1)), Fraction(1))) + Fraction(1, 2))
        terms = [one - a, a] if masses.degree == 1 else [(one - a) ** 2, 2 * a * (one - a), a * a]
        found[i] = [step * term for term in terms]
    return found


@pytest.mark.parametrize("masses", ALL_MASSES)
def test_masses_and_their_sums_are_those_of_exact_numbers(masses):
    # Numbers are multiples of 2^-20, so that the quotient is exact; there are more rows than two blocks.
    rows = rows_of(20_000)
    rows.y[:] = np.round(rows.y * 2**20) / 2**20
    expected = reference(masses, rows)
    assert (expected == masses.row_masses(rows)).all()
    first, placed = masses.place(rows)
    assert first.dtype == np.int32
    assert (placed.sum(axis=1) == expected.sum(axis=1)).all()
    totals = np.full(len(expected), masses.total)
    if masses.largest > 1:
        totals = totals * np.minimum(rows.steps, masses.largest).astype(int)
    assert (expected.sum(axis=1) == totals).all()

    plan, table = MassesPlan.of_leaves(HALVES, masses), np.zeros((3, masses.n_cells), dtype=np.int64)
    np.add.at(table, HALVES.apply(rows.X), expected.astype(np.int64))
    sums = plan.sums(rows)
    assert (sums.dtype, sums.shape) == (np.int64, (plan.n_sums,))
    np.testing.assert_array_equal(plan.tables(sums)[0], table)
    plan.check_sums(sums, len(expected))


def test_moments_of_numbers_are_read_from_the_sums():
    rows, masses = rows_of(1000), NumberMasses(0.5, 0.5)
    c = [int(cell) for cell in masses.row_masses(rows).sum(axis=0)]
    u, unit = np.clip(2 * rows.y - 1, -1, 1), 4**NUMBER_BITS
    assert sum(c) == 1000 * unit
    assert abs((c[2] - c[0]) / unit - u.sum()) <= 1000 * 2.0**-NUMBER_BITS
    assert abs((c[0] - c[1] + c[2]) / unit - (u * u).sum()) <= 1000 * 2 * 2.0**-NUMBER_BITS


@settings(max_examples=200, deadline=None)
@given(
    center=st.floats(-LARGEST, LARGEST),
    half=st.floats(5e-324, LARGEST),
    values=st.lists(st.floats(-LARGEST, LARGEST), min_size=1, max_size=8),
    bits=st.integers(1, 20),
    degree=st.sampled_from([1, 2]),
)
@example(center=0.0, half=1e-300, values=[1e300, -1e300, 0.0, 5e-301], bits=10, degree=2)
@example(center=1e10, half=1e-300, values=[1e10, 0.0], bits=10, degree=2)
@example(center=1.35e308, half=0.35e308, values=[-LARGEST, LARGEST], bits=20, degree=2)
@example(center=-1e308, half=0.5e308, values=[LARGEST, -LARGEST], bits=20, degree=2)
@example(center=0.0, half=LARGEST, values=[LARGEST, -LARGEST, 0.0], bits=1, degree=1)
@example(center=0.0, half=5e-324, values=[5e-324, -5e-324, 0.0], bits=20, degree=1)
def test_no_bounds_and_no_numbers_overflow(center, half, values, bits, degree):
    masses, y = NumberMasses(center, half, bits, degree), np.array(values)
    found = masses.row_masses(PreparedRows(np.zeros((len(y), 1)), y=y))
    assert (found >= 0).all()
    assert (found.sum(axis=1) == masses.total).all()
    # The place of a number is that of exact arithmetic, but for roundings of the difference and the quotient.
    one = 2**bits
    for number, row in zip(values, found.tolist(), strict=True):
        u = (Fraction(number) - Fraction(center)) / Fraction(half)
        place = (1 + min(max(u, Fraction(-1)), Fraction(1))) * one / 2
        a = row[-1] if degree == 1 else math.isqrt(row[-1])
        assert abs(a - place) <= Fraction(1, 2) + Fraction(1, 2**20)
        assert degree == 1 or row == [(one - a) ** 2, 2 * a * (one - a), a * a]


def test_replacing_a_row_moves_the_sums_by_at_most_twice_its_masses():
    """By brute force: numbers, labels and steps at, between and beyond the ends, in two leaves."""
    values = [
        [[0.1, 0.1], [0.9, 0.1]],
        [-1e9, 0.0, 0.3, 0.5, 1.0, 1e9],
        range(3),
        [-5.0, 0.0, 1.0, 1e30, math.inf],
    ]
    rows = [
        PreparedRows(np.array([x]), np.array([y]), labels=np.array([label]), steps=np.array([step]))
        for x, y, label, step in itertools.product(*values)
    ]
    for masses in ALL_MASSES:
        tables = np.array([MassesPlan.of_leaves(HALVES, masses).sums(row) for row in rows])
        bound = masses.total * masses.largest
        assert abs(tables).sum(axis=1).max() == bound
        assert abs(tables[:, np.newaxis] - tables).sum(axis=2).max() == 2 * bound


def test_rows_that_do_not_count_are_left_out():
    rows, kept = rows_of(500), np.random.default_rng(1).uniform(size=500) < 0.3
    for masses in ALL_MASSES:
        plan = MassesPlan.of_leaves(HALVES, masses)
        expected = np.zeros((3, masses.n_cells), dtype=np.int64)
        np.add.at(expected, HALVES.apply(rows.X)[kept], masses.row_masses(rows)[kept])
        for mark in (kept, np.flatnonzero(kept)):
            np.testing.assert_array_equal(plan.tables(plan.sums(rows.keeping(mark)))[0], expected)
        assert not plan.sums(rows.keeping(np.zeros(500, dtype=bool))).any()


def test_sums_of_batches_add_up_in_any_order():
    rows = rows_of(300)
    for masses in ALL_MASSES:
        plan = MassesPlan.of_leaves(HALVES, masses)
        parts = [
            PartialSums.of_batch("t", str(k), plan.sums(rows.keeping(np.arange(k, 300, 3))), 100, 100)
            for k in range(3)
        ]
        for order in itertools.permutations(parts):
            merged = order[0].merge(order[1]).merge(order[2]).merge(order[0])
            np.testing.assert_array_equal(merged.values, plan.sums(rows))
            plan.check_sums(merged.values, merged.n_rows)


@pytest.mark.parametrize("masses", ALL_MASSES)
def test_sums_that_no_rows_have_are_refused(masses):
    plan, rows = MassesPlan.of_leaves(HALVES, masses), rows_of(200)
    sums = plan.sums(rows)
    plan.check_sums(sums, 200)
    negative, huge = sums.copy(), np.full_like(sums, 2**62)
    negative[:2] = [-masses.total, sums[:2].sum() + masses.total]
    wrong = [(negative, 200), (huge, 200), (sums, 0 if masses.largest > 1 else 201)]
    if masses.total > 1:
        # Half a row more in one leaf, and less in another.
        halved = sums.copy()
        halved[0] += masses.total // 2
        halved[-1] -= masses.total // 2
        wrong.append((halved, 200))
    for values, n in wrong:
        with pytest.raises(ValueError, match="not those of so many rows"):
            plan.check_sums(values, n)


def test_sums_beyond_64_bits_are_refused_by_public_numbers_alone():
    for masses in ALL_MASSES:
        plan = MassesPlan.of_leaves(HALVES, masses)
        most = 2**61 // (masses.total * masses.largest)
        plan.check_room(most)
        with pytest.raises(OverflowError, match="too many rows"):
            plan.check_room(most + 1)
    # What `NUMBER_BITS` promises.
    MassesPlan.of_leaves(HALVES, NumberMasses(0.0, 1.0, largest=WEIGHT_STEPS)).check_room(2**31)


def test_rows_that_the_masses_do_not_fit_are_refused():
    X, y = np.zeros((2, 2)), np.zeros(2)
    wrong = [
        (LabelMasses(2), PreparedRows(X), "no labels"),
        (LabelMasses(2), PreparedRows(X, labels=np.array([0, 2])), "more classes"),
        (LabelMasses(2), PreparedRows(X, labels=np.array([0, -1])), "more classes"),
        (LabelMasses(2, 8), PreparedRows(X, labels=np.array([0, 1])), "no weights"),
        (
            LabelMasses(2, 8),
            PreparedRows(X, labels=np.array([0, 1]), steps=np.array([1.0, np.nan])),
            "contain NaN",
        ),
        (NumberMasses(0.0, 1.0), PreparedRows(X), "no target"),
        (NumberMasses(0.0, 1.0), PreparedRows(X, y=np.array([0.0, np.nan])), "NaN or infinity"),
        (NumberMasses(0.0, 1.0), PreparedRows(X, y=np.array([np.inf, 0.0])), "NaN or infinity"),
        (NumberMasses(0.0, 1.0, largest=8), PreparedRows(X, y=y), "no weights"),
    ]
    for masses, rows, message in wrong:
        with pytest.raises(ValueError, match=message):
            MassesPlan.of_leaves(HALVES, masses).sums(rows)


@pytest.mark.parametrize("masses", ALL_MASSES)
def test_plans_travel_as_json(masses):
    plan, rows = MassesPlan.of_leaves(HALVES, masses), rows_of(100)
    text = json.dumps(plan.to_dict())
    again = plan_from_dict(json.loads(text))
    assert isinstance(again, MassesPlan)
    assert again.masses == masses
    assert json.dumps(again.to_dict()) == text
    np.testing.assert_array_equal(again.sums(rows), plan.sums(rows))


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("labels", {"n_cells": 0}),
        ("labels", {"n_cells": 2**24 + 1}),
        ("labels", {"n_cells": 2**24}),
        ("labels", {"n_cells": 2.0}),
        ("labels", {"largest": 0}),
        ("labels", {"largest": True}),
        ("labels", {"kind": "others"}),
        ("labels", {"kind": ["labels"]}),
        ("labels", {"more": 1}),
        ("numbers", {"half": 0.0}),
        ("numbers", {"half": -1.0}),
        ("numbers", {"half": math.inf}),
        ("numbers", {"center": None}),
        ("numbers", {"bits": 0}),
        ("numbers", {"bits": 21}),
        ("numbers", {"degree": 3}),
        ("numbers", {"degree": 0}),
        ("numbers", {"largest": 2**20 + 1}),
    ],
)
def test_masses_out_of_range_are_refused(kind, change):
    # With as many labels as possible, eight leaves and more have too many sums.
    partition = build_partition(
        np.empty((0, 1)),
        np.empty(0, dtype=np.int32),
        lower=[0.0],
        upper=[1.0],
        max_depth=4,
        n_labels=2,
        rule="random",
    )
    masses = LabelMasses(3) if kind == "labels" else NumberMasses(0.0, 1.0)
    content = MassesPlan.of_leaves(partition, masses).to_dict()
    plan_from_dict(content)
    content["masses"].update(change)
    with pytest.raises(ValueError, match=r"masses|plan"):
        plan_from_dict(content)
    if change != {"n_cells": 2**24}:
        with pytest.raises(ValueError, match="masses"):
            masses_from_dict(content["masses"])
