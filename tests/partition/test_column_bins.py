# SPDX-License-Identifier: BSD-3-Clause
"""Bins of columns: where values fall, and what is refused."""

import numpy as np
import pytest

from skprivate.partition import ColumnBins


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


def test_json_restores_them():
    bins = ColumnBins.of([0.1, -3.0], [0.7, 1e9], 16)
    again = ColumnBins.from_dict(bins.to_dict())
    assert again.to_dict() == bins.to_dict()
    assert (again.n_features, again.n_leaves) == (2, 16)


@pytest.mark.parametrize(
    "change", [{"n_bins": 1}, {"n_bins": 257}, {"n_bins": 4.0}, {"upper": [-1.0, 1.0]}, {"lower": [0.0]}]
)
def test_what_is_refused(change):
    with pytest.raises(ValueError, match=r"n_bins|lower"):
        ColumnBins.from_dict(ColumnBins.of([0.0, 0.0], [1.0, 1.0], 4).to_dict() | change)


def test_rows_of_another_width_are_refused():
    with pytest.raises(ValueError, match=r"shape \(n, 2\)"):
        ColumnBins.of([0.0, 0.0], [1.0, 1.0], 4).apply([[0.5]])
