# SPDX-License-Identifier: BSD-3-Clause
"""Masses and their sums by leaf: exact, of one total, within 64 bits, and checked when they come back."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from skprivate.partition import Partition
from skprivate.rounds._plans.masses import (
    NUMBER_BITS,
    WEIGHT_STEPS,
    LabelMasses,
    MassesPlan,
    NumberMasses,
)
from skprivate.rounds._rows import PreparedRows

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
    """Return the masses of the first rows, in Python's exact numbers."""
    found = np.zeros((1000, masses.n_cells), dtype=object)
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
    expected = masses.row_masses(rows)
    assert (reference(masses, rows) == expected[:1000]).all()
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
