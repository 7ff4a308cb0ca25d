# SPDX-License-Identifier: BSD-3-Clause
"""Rounds of boosting: which cells are counted, how they are made finer and joined, and grids of them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skprivate.ensemble._plan import ColumnCells, NoiseShares, columns_of_numbers
from skprivate.ensemble._release import (
    BoostingTask,
    CountedCells,
    boosting_rounds,
    draw_grid,
    finer_cells,
    finer_feature,
    joined_cells,
    posterior_sizes,
)
from skprivate.noise import check_entropy
from skprivate.noise._mechanisms import FitBudget
from skprivate.rounds._driver import RowsInMemory
from skprivate.rounds._plans.boosting import (
    ClassLoss,
    CodeCountsPlan,
    CodedFeature,
    ResidualsPlan,
)
from skprivate.rounds._rows import PreparedRows

BUDGETS = {
    "laplace": FitBudget.of(1.5, 0, "laplace"),
    "gaussian": FitBudget.of(1.5, 1e-6, "gaussian"),
}


def run(task, rows):
    """Run all rounds with seeded noise; return them, and the release."""
    source, entropy, rounds = RowsInMemory(rows), check_entropy(0), boosting_rounds(task, None)
    seen = []
    try:
        step = next(rounds)
        while True:
            seen.append(step)
            step = rounds.send(step.noise.randomize(source.sums(0, step.plan), entropy))
    except StopIteration as end:
        return seen, end.value


def test_finer_bins_are_counted_where_many_rows_are():
    rng, n = np.random.default_rng(0), 100_000
    X = np.column_stack([rng.uniform(-1, 1, (n, 2)), rng.exponential(0.05, n)])
    task = BoostingTask(
        columns=columns_of_numbers(np.full(3, -1.0), np.ones(3), None),
        loss=ClassLoss(2),
        noise=NoiseShares(BUDGETS["gaussian"], "replace-one"),
        n_rows=n,
        monotone=(0, 0, 0),
    )
    rounds, release = run(task, PreparedRows(X, labels=(X[:, 0] > 0).astype(np.int32)))
    first, finer = (step.plan for step in rounds if isinstance(step.plan, CodeCountsPlan))
    # The third column has all its rows in one twentieth of its bounds.
    assert [grid.features for grid in first.grids] == [(0,), (1,), (2,)]
    assert (2,) in [grid.features for grid in finer.grids]
    thresholds = release.model.codes.features[2].thresholds
    assert np.count_nonzero((thresholds > 0) & (thresholds < 0.2)) > 8
    assert all(sizes.sum() == pytest.approx(100_000) for sizes in release.sizes)
    assert release.n_steps == sum(isinstance(step.plan, ResidualsPlan) for step in rounds) > 0


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

    def test_grids_have_two_groups_of_each_feature(self):
        rng = np.random.default_rng(0)
        cells = [
            CountedCells(CodedFeature(0, np.linspace(0, 1, 7)), np.ones(8)),
            CountedCells(CodedFeature.of_levels(1, 3, no_level=True), np.ones(4)),
            CountedCells(CodedFeature(4, np.empty(0), missing=5), np.ones(2)),
        ]
        for _ in range(200):
            grid, sizes = draw_grid(cells, [0, 1, 2], 2, rng)
            assert grid.shape == (2, 2)
            assert sizes.sum() == pytest.approx(cells[grid.features[0]].sizes.sum())
            for number, groups in zip(grid.features, grid.groups, strict=True):
                assert set(groups) == {0, 1}
                if number == 0:
                    assert (np.diff(groups) >= 0).all()
