# SPDX-License-Identifier: BSD-3-Clause
"""Sums of residuals times directions: what a row adds at most, and that it adds what the formula says."""

import numpy as np
import pytest

from skprivate.rounds._driver import RowsInMemory
from skprivate.rounds._plans.boosting import LIMIT, UNIT, AdditiveModel, ClassLoss, to_units
from skprivate.rounds._plans.linear_residuals import LinearResidualsPlan
from skprivate.rounds._plans.probabilities import class_probabilities
from skprivate.rounds._rows import PreparedRows
from tests.rounds.plans.example_plans import CODES

BASIS = (np.array([-700, 20, 900]), np.array([-300, 0, 50, 200]))


def plan_of(n_labels, radius, seed=0):
    rng = np.random.default_rng(seed)
    n_outputs = 1 if n_labels == 2 else n_labels
    model = AdditiveModel.constant(CODES, rng.normal(size=n_outputs))
    for number, size in enumerate(CODES.sizes):
        # Certain of one label by the first column.
        table = np.roll(600 * np.eye(size, n_outputs) - 300, seed, axis=0) * (number == 0)
        model = model.with_table(number, to_units(table))
    return LinearResidualsPlan(model, ClassLoss(n_labels), 256, BASIS, radius, 20)


def rows_of(n_labels, n=300):
    rng = np.random.default_rng(1)
    return PreparedRows(rng.uniform(size=(n, 2)), labels=rng.integers(n_labels, size=n).astype(np.int32))


# Norms of some rows, rounded up; and one that no row has.
@pytest.mark.parametrize("radius", [330, 804, 2000])
@pytest.mark.parametrize("n_labels", [2, 3])
def test_no_row_is_longer_than_the_bound_and_long_ones_nearly_reach_it(n_labels, radius):
    plan, rows = plan_of(n_labels, radius), rows_of(n_labels)
    each = [plan.sums(rows.keeping(np.array([i]))) for i in range(300)]
    squares = [sum(int(value) ** 2 for value in one) for one in each]
    bound = (1 if n_labels == 2 else 2) * (radius * 2**20) ** 2
    assert max(squares) <= bound
    assert max(squares) > 0.99 * bound or radius == 2000
    np.testing.assert_array_equal(np.sum(each, axis=0), plan.sums(rows))


@pytest.mark.parametrize("n_labels", [2, 3])
def test_sums_are_residuals_times_rows(n_labels):
    plan, rows = plan_of(n_labels, 500), rows_of(n_labels)
    codes = CODES.codes(rows.X)
    z = np.column_stack([np.full(300, 256), BASIS[0][codes[0]], BASIS[1].reshape(2, 2)[codes[1]]])
    scores = np.clip(plan.model.scores(rows.X) * UNIT, -LIMIT, LIMIT)
    residuals = np.eye(n_labels)[rows.labels] - class_probabilities(scores)
    factors = np.minimum(1, 500**2 / (z**2).sum(axis=1))
    expected = (residuals * factors[:, None]).T @ z
    expected = expected[1:] if n_labels == 2 else expected
    np.testing.assert_allclose(plan.sums(rows) / 2.0**20, expected.ravel(), atol=0.5)


def test_kept_rows_give_the_same_sums_as_the_model_changes():
    rows, source = rows_of(3), RowsInMemory(rows_of(3))
    for seed in range(4):
        plan = plan_of(3, 500, seed)
        source.prepare(0, plan)
        np.testing.assert_array_equal(source.sums(0, plan), plan.sums(rows))
