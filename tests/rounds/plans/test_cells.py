# SPDX-License-Identifier: BSD-3-Clause
"""Cells of standardised errors: one cell a row, whatever stands beside it, and JSON that is checked."""

import numpy as np

from skprivate.rounds._plans.cells import ErrorAxis
from skprivate.rounds._plans.moments import MomentGrid
from skprivate.rounds._rows import PreparedRows

GRID = MomentGrid(lower=np.array([-1.0, 0.0]), upper=np.array([1.0, 4.0]), target=(-3.0, 1.0), exponent=20)
THETA = np.array([0.2, 3.0, -1.0, 0.7])
EDGES = np.array([-2.0, -0.5, 0.0, 1.5])


def rows_of(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform([-1.5, -1.0], [1.5, 5.0], (n, 2))
    return PreparedRows(X, y=rng.uniform(-4, 2, n), event=(rng.random(n) < 0.4).astype(np.uint8))


def test_codes_have_the_tables_that_are_declared():
    rows = rows_of(400)
    kinds = PreparedRows(rows.X, y=rows.y, event=(np.arange(400) % 4).astype(np.uint8))
    other = ErrorAxis(GRID, THETA, EDGES, tables=(0, 1, 0, 2))
    assert other.size == 15
    np.testing.assert_array_equal(other.codes(kinds) // 5, np.array([0, 1, 0, 2])[kinds.event])
