# SPDX-License-Identifier: BSD-3-Clause
"""Schedules and projections, and audits of one step on the worst pairs of rows, with planted mistakes."""

from fractions import Fraction
from unittest import mock

import numpy as np
import pytest

from skprivate.audit import audit_epsilon
from skprivate.ensemble._plan import ColumnCells, project
from skprivate.noise._mechanisms import FitBudget
from skprivate.rounds._plans.boosting import (
    AdditiveModel,
    CellGrid,
    ClassLoss,
    CodedFeature,
    FeatureCodes,
    NumberLoss,
    ResidualsPlan,
    to_units,
)
from skprivate.rounds._rates import NoiseShares, Sensitivity
from skprivate.rounds._rows import PreparedRows

N = 60_000
EPSILON = 1.5
BITS = 20
#: Two cells by the sign of the one column; the model is certain in both, of different things.
LAYOUT = FeatureCodes((CodedFeature(0, np.array([0.0])),))
ONE_CELL = CellGrid((0,), (np.zeros(2, dtype=np.int32),))
TABLES = {
    "two": (ClassLoss(2), [[100.0], [-100.0]], [0, 1]),
    "three": (ClassLoss(3), [[100.0, -100.0, -100.0], [-100.0, 100.0, -100.0]], [1, 0]),
    "numbers": (NumberLoss(0.0, 1.0, 2.0), [[100.0], [-100.0]], [0, 0]),
}


def worst_sums(name):
    """Return the sums of one row, and of one that replaces it within its cell, from -1 to 1."""
    loss, table, labels = TABLES[name]
    model = AdditiveModel.constant(LAYOUT, np.zeros(loss.n_outputs)).with_table(0, to_units(table))
    rows = PreparedRows(
        np.array([[-1.0], [1.0]]), y=np.array([-1.0, 1.0]), labels=np.array(labels, dtype=np.int32)
    )
    plan = ResidualsPlan(model, loss, ONE_CELL, BITS)
    return [plan.sums(rows.keeping(np.array([place]))) for place in range(2)]


def audited(name, shrink=1):
    """Return a lower bound on epsilon, 99.9 % sure, of a step that gets the whole of it; seeded."""
    noise = NoiseShares(FitBudget.of(EPSILON, 0, "laplace"), "replace-one")
    mechanism = noise.residuals(1, TABLES[name][0].n_outputs, BITS)
    mechanism = type(mechanism).from_scale(Fraction(mechanism.scale) / shrink)
    first, second = worst_sums(name)
    signs = np.sign(second - first)
    draws = [
        mechanism.randomize(np.tile(sums, (N, 1)), np.random.default_rng(seed))
        for seed, sums in enumerate((second, first))
    ]
    # All that moved moved far: the event whose probabilities differ most, and is not rare.
    moved = np.flatnonzero(signs)

    def event(released):
        return ((released * signs >= second * signs)[:, moved]).all(axis=1)

    return audit_epsilon(*(event(released).astype(int) for released in draws), event=lambda seen: seen == 1)


@pytest.mark.parametrize("name", TABLES)
def test_half_the_noise_is_caught(name):
    assert audited(name, shrink=2).epsilon > EPSILON


@pytest.mark.parametrize("name", TABLES)
def test_half_the_sensitivity_is_caught(name):
    honest = Sensitivity.of_residuals

    def half(n_outputs, relation):
        found = honest(n_outputs, relation)
        return Sensitivity(found.l1 // 2, found.squared_l2 // 4)

    with mock.patch.object(Sensitivity, "of_residuals", half):
        assert audited(name).epsilon > EPSILON


def test_projections_are_monotone_and_keep_missing_values():
    rng = np.random.default_rng(0)
    column = ColumnCells("x", CodedFeature(0, np.empty(0), missing=1), 0.0, 1.0)
    for sign in (1, -1):
        table = rng.integers(-(2**34), 2**34, (9, 1))
        found = project(table, rng.uniform(0, 9, 9), sign, column)
        assert (sign * np.diff(found[:8, 0]) >= 0).all()
        assert found[8, 0] == table[8, 0]
