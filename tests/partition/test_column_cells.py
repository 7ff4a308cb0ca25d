# SPDX-License-Identifier: BSD-3-Clause
"""Bins of numbers, and cells of declared columns: levels, missing cells and bins of numbers."""

import json
import pickle

import numpy as np

from skprivate.domain import CategoricalColumn, NumberColumn, TableDomain
from skprivate.partition import ColumnBins, TableCells
from skprivate.partition._column_cells import MOST_LEVEL_CELLS

DOMAIN = TableDomain(
    {
        "age": NumberColumn(0, 80, missing="indicator"),
        "job": CategoricalColumn(["clerk", "smith", "farmer"], missing="indicator"),
        "town": list("ab"),
        "married": bool,
        "rank": CategoricalColumn(list("xyz"), ordered=True),
        "size": (-1, 1),
    }
)
CELLS = TableCells.of(*DOMAIN.bounds, DOMAIN.groups, 4)
ROWS = {
    "age": [0, 19.9, 20, 100, None],
    "job": ["farmer", None, "smith", "clerk", "clerk"],
    "town": ["b", "a", "b", "a", "a"],
    "married": [True, False, True, False, False],
    "rank": ["x", "y", "z", "x", "x"],
    "size": [-1, -0.5, 0, 0.5, 1],
}
EXPECTED = [
    [0, 2, 1, 1, 0, 0],
    [0, 3, 0, 0, 1, 1],
    [1, 1, 1, 1, 2, 2],
    [3, 0, 0, 0, 0, 3],
    [4, 0, 0, 0, 0, 3],
]


def test_bins_have_equal_width():
    lower, upper = np.array([-1.0, 5.0]), np.array([3.0, 6.0])
    X = np.random.default_rng(0).uniform(lower, upper, size=(500, 2))
    expected = np.floor((X - lower) / (upper - lower) * 8)
    np.testing.assert_array_equal(ColumnBins.of(lower, upper, 8).apply(X), expected)


def test_values_beyond_the_box_and_at_thresholds():
    bins = ColumnBins.of([0.0], [1.0], 4)
    values = np.array([-1e308, 0.0, 0.25, np.nextafter(0.25, 0), 1.0, 1e308])[:, np.newaxis]
    assert bins.apply(values).ravel().tolist() == [0, 0, 1, 0, 3, 3]


def test_the_widest_box_and_one_without_width():
    bins = ColumnBins.of([-1.7e308, 2.0], [1.7e308, 2.0], 2)
    assert bins.apply([[-1.0, 2.0], [1.0, 2.0]]).tolist() == [[0, 1], [1, 1]]


def test_a_row_without_a_level_is_in_the_last_cell():
    nothing = np.zeros((1, 11))
    assert CELLS.apply(nothing)[0, 1:3].tolist() == [3, 2]


def test_a_missing_cell_that_is_filled_is_missing():
    domain = TableDomain({"job": CategoricalColumn(["a", "b"], missing="indicator", fill="b")})
    cells = TableCells.of(*domain.bounds, domain.groups, 4)
    encoded = np.array([[0.0, 1, 0], [0, 1, 1], [1, 0, 0]])
    assert cells.apply(encoded).ravel().tolist() == [1, 2, 0]
    assert cells.apply(domain.encode({"job": ["b", None, "a"]})).ravel().tolist() == [1, 2, 0]


def test_many_levels_share_cells_with_their_neighbours():
    n_levels = 2 * MOST_LEVEL_CELLS + 5
    domain = TableDomain({"code": [f"{i}" for i in range(n_levels)]})
    cells = TableCells.of(*domain.bounds, domain.groups, 4)
    assert cells.sizes == (MOST_LEVEL_CELLS + 1,)
    own = cells.apply(np.eye(n_levels))[:, 0]
    assert (np.diff(own) >= 0).all()
    assert set(np.bincount(own)) <= {2, 3}
    rng = np.random.default_rng(1)
    asked = rng.integers(MOST_LEVEL_CELLS, size=(4000, 1))
    rows = cells.rows_within(asked, rng.uniform(size=asked.shape))
    np.testing.assert_array_equal(cells.apply(rows), asked)
    # All levels of a cell are drawn; of 4000 draws each has about 15.
    assert (rows.sum(axis=0) > 0).all()


def test_json_and_pickles_restore_them():
    again = TableCells.from_dict(json.loads(json.dumps(CELLS.to_dict())))
    for other in (again, pickle.loads(pickle.dumps(CELLS))):
        assert other.groups == CELLS.groups
        assert other.to_dict() == CELLS.to_dict()
        np.testing.assert_array_equal(other.apply(DOMAIN.encode(ROWS)), EXPECTED)
    bins = ColumnBins.of([0.1, -3.0], [0.7, 1e9], 16)
    again = ColumnBins.from_dict(bins.to_dict())
    assert again.to_dict() == bins.to_dict()
    assert (again.n_features, again.n_leaves) == (2, 16)
