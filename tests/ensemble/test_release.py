# SPDX-License-Identifier: BSD-3-Clause
"""How steps, cells and schedules of boosting follow from releases."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import multivariate_normal

from skprivate.ensemble._plan import ColumnCells, NoiseShares, columns_of_numbers, make_schedule, project
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
from skprivate.ensemble._shrinkage import (
    CellPrior,
    _posterior_means,
    base_of_labels,
    base_of_target,
    step_weights,
)
from skprivate.noise import check_entropy
from skprivate.noise._mechanisms import FitBudget
from skprivate.rounds._driver import RowsInMemory
from skprivate.rounds._plans.boosting import (
    ClassLoss,
    CodeCountsPlan,
    CodedFeature,
    NumberLoss,
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


class TestSteps:
    @staticmethod
    def expected(sums, std, sizes, kernels, variance, spreads):
        """The posterior by formulas of normal vectors, without their eigenvectors."""
        covariance = np.diag(std**2 + variance * sizes)
        zero = np.zeros(len(sums))
        evidence, means = [multivariate_normal(zero, covariance).logpdf(sums)], [zero]
        prior = [0.5]
        for kernel in kernels:
            for spread in spreads:
                signal = spread**2 * kernel
                whole = sizes[:, None] * signal * sizes + covariance
                evidence.append(multivariate_normal(zero, whole).logpdf(sums))
                means.append(signal @ (sizes * np.linalg.solve(whole, sums)))
                prior.append(0.5 / (len(kernels) * len(spreads)))
        weights = np.array(prior) * np.exp(np.array(evidence) - max(evidence))
        return (weights / weights.sum()) @ np.array(means)

    @pytest.mark.parametrize("seed", range(5))
    @pytest.mark.parametrize("smooth", [False, True])
    def test_means_are_those_of_the_posterior(self, seed, smooth):
        rng = np.random.default_rng(seed)
        sizes, spreads = rng.uniform(5, 200, 7), np.array([0.01, 0.1, 0.5])
        sums = rng.normal(size=7) * 20 + sizes * 0.2
        kernels, positions = [np.eye(7)], None
        if smooth:
            positions = np.append((np.arange(6) + 0.5) / 6, np.nan)
            apart = np.abs(positions[:6, None] - positions[:6])
            for length in (0.1, 0.4):
                kernel = np.eye(7)
                kernel[:6, :6] = 0.9 * np.exp(-apart / length) + 0.1 * np.eye(6)
                kernels.append(kernel)
        means, gains, _ = _posterior_means(sums, 8.0, CellPrior(sizes, positions), 0.2, spreads)
        np.testing.assert_allclose(
            means, self.expected(sums, 8.0, sizes, kernels, 0.2, spreads), rtol=1e-7, atol=1e-12
        )
        assert (gains > 0).all()

    def test_noise_alone_moves_little(self):
        rng = np.random.default_rng(0)
        sizes = np.full(16, 100.0)
        moves = []
        for _ in range(200):
            sums = rng.normal(scale=50.0, size=(16, 1))
            weights, stds, _ = step_weights(sums, 50.0, CellPrior(sizes), np.array([0.3]), None)
            moves.append(np.abs(weights).mean())
            assert (stds >= 0).all()
        # A step without shrinkage would move 50 / 100 / 0.21 = 2.4 logits on the average.
        assert np.mean(moves) < 0.1

    def test_weights_of_labels_are_bounded_and_of_several_add_up_to_0(self):
        sums = np.array([[1e9, -1e9, 3.0], [-5.0, 4.0, 1.0]])
        weights, _, _ = step_weights(sums, 1.0, CellPrior(np.array([10.0, 1e6])), np.full(3, 1 / 3), None)
        assert np.abs(weights).max() <= 6
        np.testing.assert_allclose(weights.sum(axis=1), 0, atol=1e-12)

    def test_empty_cells_make_no_trouble(self):
        with np.errstate(all="raise"):
            weights, stds, _ = step_weights(
                np.array([[0.0], [3.0]]), 1.0, CellPrior(np.zeros(2)), np.array([0.5]), None
            )
        assert np.isfinite(weights).all()
        assert np.isfinite(stds).all()


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

    def test_bins_are_joined_until_they_have_enough_rows(self):
        feature = self.COLUMN.with_bins(10)
        sizes = np.array([900.0, *[0.0] * 8, 100.0]) + 1e-6
        joined = joined_cells(CountedCells(feature, sizes), self.COLUMN, 1.0, 100.0)
        np.testing.assert_allclose(joined.sizes, [900, 100], rtol=1e-3)

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


class TestSchedule:
    @pytest.mark.parametrize("kind", BUDGETS)
    def test_more_rows_buy_more(self, kind):
        noise = NoiseShares(BUDGETS[kind], "replace-one")
        made = [make_schedule(n, 10, 1, noise) for n in (100, 10_000, 1_000_000)]
        for name in ("n_bins", "n_grids", "depth"):
            values = [getattr(one, name) for one in made]
            assert values == sorted(values)
        assert made[-1].n_bins == 32
        assert made[-1].n_grids == 80
        assert made[0].n_grids == 0

    @pytest.mark.parametrize("n", [1, 2, 3])
    def test_there_are_no_more_first_bins_than_rows(self, n):
        assert make_schedule(n, 3, 1, NoiseShares(BUDGETS["laplace"], "replace-one")).n_bins <= n

    def test_one_feature_has_no_grids(self):
        noise = NoiseShares(BUDGETS["gaussian"], "replace-one")
        assert make_schedule(10**6, 1, 1, noise, n_grids=7).n_grids == 0


class TestBase:
    def test_no_share_of_a_label_is_0(self):
        assert (base_of_labels(np.array([-500, 1000, 3]), 25.0, 503) > 0).all()
        np.testing.assert_allclose(base_of_labels(np.array([300, 700]), 1.0, 1000), [0.3, 0.7], atol=0.01)

    def test_noise_in_empty_bins_does_not_move_the_mean(self):
        rng = np.random.default_rng(0)
        counts = np.rint(rng.normal(scale=30, size=32)).astype(np.int64)
        counts[15] += 20_000
        mean, loss = base_of_target(counts, 900.0, NumberLoss(0.0, 1.0, 2.0))
        assert abs(mean[0] - (-1 + 15.5 / 16)) < 0.02
        assert loss.clip < 0.2

    def test_where_all_is_noise_it_is_the_middle(self):
        rng = np.random.default_rng(1)
        counts = np.rint(rng.normal(scale=300, size=32)).astype(np.int64)
        mean, loss = base_of_target(counts, 9e4, NumberLoss(0.0, 1.0, 2.0))
        assert abs(mean[0]) < 0.3
        assert loss.clip > 1


def test_projections_are_monotone_and_keep_missing_values():
    rng = np.random.default_rng(0)
    column = ColumnCells("x", CodedFeature(0, np.empty(0), missing=1), 0.0, 1.0)
    for sign in (1, -1):
        table = rng.integers(-(2**34), 2**34, (9, 1))
        found = project(table, rng.uniform(0, 9, 9), sign, column)
        assert (sign * np.diff(found[:8, 0]) >= 0).all()
        assert found[8, 0] == table[8, 0]
