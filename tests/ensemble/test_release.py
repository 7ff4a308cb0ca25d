# SPDX-License-Identifier: BSD-3-Clause
"""Rounds of boosting: which cells are counted, how they are made finer and joined, and grids of them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skprivate.ensemble._plan import ColumnCells
from skprivate.ensemble._release import (
    CountedCells,
    finer_cells,
    finer_feature,
    joined_cells,
    posterior_sizes,
)
from skprivate.rounds._plans.boosting import (
    CodedFeature,
)


class TestCells:
    COLUMN = ColumnCells("x", CodedFeature(0, np.empty(0)), 0.0, 1.0)

    @settings(max_examples=60, deadline=None)
    @given(st.lists(st.floats(-50, 500), min_size=4, max_size=32), st.floats(0.1, 60), st.floats(1, 300))
    def test_sizes_add_up_whatever_is_counted(self, counts, std, rows_of_a_bin):
        n = 1000
        feature = self.COLUMN.with_bins(len(counts))
        cells = CountedCells(feature, posterior_sizes(np.array(counts), std**2, n, 1e-9))
        assert cells.sizes.sum() == pytest.approx(n)
        finer = finer_feature(cells, self.COLUMN, std, rows_of_a_bin)
        if finer is not None:
            assert set(feature.thresholds) < set(finer.thresholds)
            cells = finer_cells(cells, finer, np.arange(finer.n_bins) % 7 * std, std)
            assert cells.sizes.sum() == pytest.approx(n)
        joined = joined_cells(cells, self.COLUMN, std, rows_of_a_bin)
        assert set(joined.feature.thresholds) <= set(cells.feature.thresholds)
        assert len(joined.sizes) == joined.feature.size
        assert joined.sizes.sum() == pytest.approx(n)
        assert (joined.sizes > 0).all()

    def test_a_cell_of_missing_values_is_never_joined(self):
        column = ColumnCells("x", CodedFeature(0, np.empty(0), missing=1), 0.0, 1.0)
        cells = CountedCells(column.with_bins(4), np.array([5.0, 5.0, 5.0, 5.0, 1.0]))
        joined = joined_cells(cells, column, 1.0, 1000.0)
        assert joined.feature.size == 2
        assert np.isnan(joined.positions[-1])
