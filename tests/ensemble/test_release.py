# SPDX-License-Identifier: BSD-3-Clause
"""Rounds of boosting: which cells are counted, how they are made finer and joined, and grids of them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skprivate import DPBoostingClassifier
from skprivate.ensemble import _release
from skprivate.ensemble._plan import ColumnCells
from skprivate.ensemble._release import (
    CountedCells,
    draw_columns,
    finer_cells,
    finer_feature,
    joined_cells,
    posterior_sizes,
)
from skprivate.rounds._plans.boosting import CodedFeature


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


class TestColumnsOfSteps:
    def test_columns_of_grids_meet_evenly_or_by_their_parts(self):
        together, rng = np.zeros((7, 7)), np.random.default_rng(0)
        for _ in range(14):
            draw_columns(None, together, 3, rng)
        pairs = together[np.triu_indices(7, 1)]
        assert pairs.sum() == 14 * 3
        assert pairs.min() >= 1
        assert np.ptp(together.diagonal()) <= 2
        parts = np.array([9.0, 9.0, 0, 0, 0, 0, 0])
        drawn = [draw_columns(parts, together, 2, rng) for _ in range(50)]
        assert drawn.count([0, 1]) > 25
        assert all(one == sorted(set(one)) for one in drawn)
        # Without parts there are columns, too.
        assert len(draw_columns(0 * parts, together, 7, rng)) == 7

    def test_steps_after_the_first_of_every_column_go_where_those_showed_an_effect(self, monkeypatch):
        rng, taken = np.random.default_rng(0), []
        X = rng.uniform(size=(3000, 12))
        y = rng.logistic(size=3000) < 2 * np.sin(6 * X[:, 3]) + 2 * np.sin(6 * X[:, 8])
        honest = _release.ResidualsPlan

        def plan(model, loss, grid, bits):
            taken.append(grid.features)
            return honest(model, loss, grid, bits)

        monkeypatch.setattr(_release, "ResidualsPlan", plan)
        # Without a linear part.
        options = {"bounds": (0, 1), "classes": [0, 1], "interactions": 0, "monotonic_cst": [1] + [0] * 11}
        for seed in range(5):
            DPBoostingClassifier(1.0, delta=1e-6, random_state=seed, **options).fit(X, y)
            assert taken[24 * seed : 24 * seed + 12] == [(j,) for j in range(12)]
        assert len(taken) == 5 * 24
        # In equal passes there would be 20.
        assert sum(one in ((3,), (8,)) for one in taken) >= 25
