# SPDX-License-Identifier: BSD-3-Clause
"""Plans over codes: sums against NumPy, proven bounds on neighbours, kept scores, JSON."""

import itertools

import numpy as np
import pytest

from skprivate.rounds._driver import RowsInMemory
from skprivate.rounds._plans.boosting import (
    AdditiveModel,
    CellGrid,
    ClassLoss,
    CodedFeature,
    ColumnResidualsPlan,
    FeatureCodes,
    NumberLoss,
    ResidualsPlan,
    to_units,
)
from skprivate.rounds._rows import PreparedRows

ONE = 2**20
LAYOUT = FeatureCodes(
    (
        CodedFeature(0, np.array([-0.5, 0.0, 0.5])),
        CodedFeature(1, np.array([0.0]), missing=2),
        CodedFeature.of_levels(3, 3, no_level=True),
    )
)
GRIDS = (
    CellGrid.of_feature(0, 4),
    CellGrid((0, 2), (np.array([0, 0, 1, 1], dtype=np.int32), np.array([1, 0, 2, 0], dtype=np.int32))),
    CellGrid((1, 1), (np.array([0, 1, 0], dtype=np.int32), np.array([0, 0, 1], dtype=np.int32))),
)
LOSSES = {
    "two": ClassLoss(2),
    "three": ClassLoss(3),
    "numbers": NumberLoss(1.0, 2.0, 0.75),
}


def rows_of(seed, n=200, n_labels=2):
    rng = np.random.default_rng(seed)
    X = np.zeros((n, 6))
    X[:, :2] = rng.uniform(-1, 1, (n, 2))
    X[:, 2] = rng.random(n) < 0.2
    level = rng.integers(4, size=n)
    X[level < 3, 3 + level[level < 3]] = 1
    return PreparedRows(X, y=rng.uniform(-2, 4, n), labels=rng.integers(n_labels, size=n, dtype=np.int32))


def model_of(seed, n_outputs, size=1.0):
    rng = np.random.default_rng(seed)

    def weights(n_cells):
        return to_units(size * rng.standard_normal((n_cells, n_outputs)))

    tables = tuple(weights(n_cells) for n_cells in LAYOUT.sizes)
    return AdditiveModel(LAYOUT, to_units(rng.standard_normal(n_outputs)), tables, ((GRIDS[1], weights(6)),))


@pytest.mark.parametrize("n_thresholds", range(10))
def test_a_bin_is_the_number_of_thresholds_at_or_below_a_value(n_thresholds):
    thresholds = np.arange(n_thresholds) / 4
    values = np.concatenate([thresholds, thresholds + 0.1, [-np.inf, -7.0, 7.0, np.inf]])
    codes = FeatureCodes((CodedFeature(0, thresholds),)).codes(values[:, None])
    np.testing.assert_array_equal(codes[0], np.searchsorted(thresholds, values, side="right"))


@pytest.mark.parametrize("name", LOSSES)
def test_a_replaced_row_reaches_the_sensitivity_within_one_cell(name):
    """Residuals of -1 and +1 in one cell, and of three labels e_a - e_b against e_b - e_a."""
    loss = LOSSES[name]
    factor = 2 if name == "three" else 1
    X = rows_of(0, n=2).X
    X[0, 0], X[1, 0] = -0.9, -0.8
    X[:, 1], X[:, 2] = (-0.5, 0.5), 0
    base = np.zeros(loss.n_outputs)
    model = AdditiveModel.constant(LAYOUT, base)
    table = np.zeros((3, loss.n_outputs))
    # Certain of the second label in the one cell, of the first in the other.
    table[0, 0], table[1, 0] = 100.0, -100.0
    if name == "three":
        table[0], table[1] = [100, -100, -100], [-100, 100, -100]
    model = model.with_table(1, to_units(table))
    labels = {"two": [0, 1], "three": [1, 0], "numbers": [0, 0]}[name]
    rows = PreparedRows(X, y=np.array([-2.0, 4.0]), labels=np.array(labels, dtype=np.int32))
    plan = ResidualsPlan(model, loss, GRIDS[0], 20)
    moved = plan.sums(rows.keeping(np.array([0]))) - plan.sums(rows.keeping(np.array([1])))
    l1, squared = int(np.abs(moved).sum()), sum(int(value) ** 2 for value in moved)
    assert 0.999 < l1 / (2 * factor * ONE) <= 1
    assert 0.999 < squared / (4 * factor * ONE**2) <= 1


@pytest.mark.parametrize("name", LOSSES)
def test_kept_scores_are_those_that_are_added_up_anew(name):
    loss = LOSSES[name]
    rows = rows_of(5, n_labels=getattr(loss, "n_labels", 2))
    source = RowsInMemory(rows.keeping(np.arange(200) % 3 > 0))
    model = AdditiveModel.constant(LAYOUT, np.full(loss.n_outputs, 0.3))
    for seed, (grid, number) in enumerate(itertools.product(GRIDS, range(3))):
        plan = ResidualsPlan(model, loss, grid, 20)
        source.prepare(0, plan)
        np.testing.assert_array_equal(source.sums(0, plan), plan.sums(rows.keeping(np.arange(200) % 3 > 0)))
        other = model_of(seed, loss.n_outputs)
        model = model.with_table(number, other.tables[number]).with_term(*other.terms[0])


@pytest.mark.parametrize("name", LOSSES)
def test_sums_of_several_grids_are_those_of_each_also_from_json(name):
    loss, rows = LOSSES[name], rows_of(5, n_labels=getattr(LOSSES[name], "n_labels", 2))
    plan = ColumnResidualsPlan(model_of(1, loss.n_outputs), loss, GRIDS, 20)
    read = ColumnResidualsPlan.from_dict(plan.to_dict())
    for grid, sums in zip(GRIDS, read.by_grid(read.sums(rows)), strict=True):
        np.testing.assert_array_equal(sums, ResidualsPlan(plan.model, loss, grid, 20).sums(rows))
