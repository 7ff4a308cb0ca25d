# SPDX-License-Identifier: BSD-3-Clause
"""How steps and the first scores of boosting follow from noisy sums."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from skprivate.ensemble._shrinkage import (
    CellPrior,
    _posterior_means,
    base_of_labels,
    base_of_target,
    step_weights,
)
from skprivate.rounds._plans.boosting import NumberLoss


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
