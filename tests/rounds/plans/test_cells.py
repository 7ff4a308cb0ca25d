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


def test_cells_are_those_of_the_clipped_errors():
    rows = rows_of(9000)
    axis = ErrorAxis(GRID, THETA, EDGES)
    X = np.clip((rows.X - GRID.center) / GRID.half, -1, 1)
    y = np.clip((rows.y - GRID.y_center) / GRID.y_half, -1, 1)
    errors = THETA[0] + THETA[1] * y + X @ THETA[2:]
    want = (errors[:, None] >= EDGES).sum(axis=1) + 5 * rows.event
    # The grid moves errors by up to 4e-6, and those of rows at the bounds are on an edge.
    clear = np.abs(errors[:, None] - EDGES).min(axis=1) > 1e-5
    assert clear.mean() > 0.9
    np.testing.assert_array_equal(axis.codes(rows)[clear], want[clear])
    assert axis.size == 10


def test_a_row_has_one_cell_whatever_rows_are_beside_it():
    rows = rows_of(9000)
    axis = ErrorAxis(GRID, THETA, EDGES)
    codes = axis.codes(rows)
    for first in (1, 17, 4096, 5003):
        part = PreparedRows(rows.X[first:], y=rows.y[first:], event=rows.event[first:])
        np.testing.assert_array_equal(axis.codes(part), codes[first:])
    order = np.random.default_rng(1).permutation(len(codes))
    again = PreparedRows(rows.X[order], y=rows.y[order], event=rows.event[order])
    np.testing.assert_array_equal(axis.codes(again), codes[order])


def test_rows_on_an_edge_are_above_it():
    grid = MomentGrid(lower=np.zeros(1), upper=np.full(1, 2.0), target=(-1.0, 1.0), exponent=4)
    axis = ErrorAxis(grid, np.array([0.0, 1.0, 0.0]), np.array([0.5]))
    rows = PreparedRows(np.ones((3, 1)), y=np.array([0.49, 0.5, 0.51]), event=np.zeros(3, dtype=np.uint8))
    np.testing.assert_array_equal(axis.codes(rows), [0, 1, 1])


def test_codes_have_the_tables_that_are_declared():
    rows = rows_of(400)
    kinds = PreparedRows(rows.X, y=rows.y, event=(np.arange(400) % 4).astype(np.uint8))
    other = ErrorAxis(GRID, THETA, EDGES, tables=(0, 1, 0, 2))
    assert other.size == 15
    np.testing.assert_array_equal(other.codes(kinds) // 5, np.array([0, 1, 0, 2])[kinds.event])
