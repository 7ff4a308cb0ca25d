# SPDX-License-Identifier: BSD-3-Clause
"""How steps and the first scores of boosting follow from noisy sums."""

import numpy as np
from scipy.stats import multivariate_normal

from skprivate.ensemble._shrinkage import (
    CellPrior,
    LearntSpreads,
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

    def test_noise_alone_moves_little(self):
        rng = np.random.default_rng(0)
        sizes = np.full(16, 100.0)
        moves = []
        for _ in range(200):
            sums = rng.normal(scale=50.0, size=(16, 1))
            weights, stds, *_ = step_weights(sums, 50.0, CellPrior(sizes), np.array([0.3]), None)
            moves.append(np.abs(weights).mean())
            assert (stds >= 0).all()
        # A step without shrinkage would move 50 / 100 / 0.21 = 2.4 logits on the average.
        assert np.mean(moves) < 0.1

    def test_steps_learn_from_those_before(self):
        """After steps without an effect noise moves less, after strong ones a weak effect is kept."""
        rng, prior, base = np.random.default_rng(0), CellPrior(np.full(16, 1000.0)), np.array([0.3])
        weak = rng.normal(scale=80.0, size=(16, 1))
        moves = {}
        for scale in (50.0, 400.0):
            learnt = LearntSpreads()
            for _ in range(20):
                sums = rng.normal(scale=scale, size=(16, 1))
                step_weights(sums, 50.0, prior, base, None, learnt=learnt)
            moves[scale] = np.abs(step_weights(weak, 50.0, prior, base, None, learnt=learnt)[0]).mean()
        plain = np.abs(step_weights(weak, 50.0, prior, base, None)[0]).mean()
        assert moves[50.0] < plain < moves[400.0]

    def test_a_further_step_gains_where_there_is_an_effect_that_noise_hides(self):
        prior, base = CellPrior(np.full(8, 1000.0)), np.array([0.3])
        none, some = np.zeros((8, 1)), 150.0 * np.array([[1.0], [-1.0]] * 4)
        gains = [step_weights(sums, 50.0, prior, base, None)[3] for sums in (none, some)]
        assert 0 < 4 * gains[0] < gains[1]
        # Without noise all is known.
        assert step_weights(some, 0.01, prior, base, None)[3] < 1e-3 * gains[1]

    def test_weights_of_labels_are_bounded_and_of_several_add_up_to_0(self):
        sums = np.array([[1e9, -1e9, 3.0], [-5.0, 4.0, 1.0]])
        weights, *_ = step_weights(sums, 1.0, CellPrior(np.array([10.0, 1e6])), np.full(3, 1 / 3), None)
        assert np.abs(weights).max() <= 6
        np.testing.assert_allclose(weights.sum(axis=1), 0, atol=1e-12)


class TestBase:
    def test_noise_in_empty_bins_does_not_move_the_mean(self):
        rng = np.random.default_rng(0)
        counts = np.rint(rng.normal(scale=30, size=32)).astype(np.int64)
        counts[15] += 20_000
        mean, loss = base_of_target(counts, 900.0, NumberLoss(0.0, 1.0, 2.0))
        assert abs(mean[0] - (-1 + 15.5 / 16)) < 0.02
        assert loss.clip < 0.2

    def test_one_bin_of_noise_far_off_does_not_move_the_mean(self):
        counts = np.zeros(32, dtype=np.int64)
        counts[[0, 1, 2, 28]] = 1500, 600, 300, 120
        mean, loss = base_of_target(counts, 900.0, NumberLoss(0.0, 1.0, 2.0))
        assert abs(mean[0] + 0.94) < 0.02
        assert loss.clip < 0.15

    def test_where_all_is_noise_it_is_the_middle(self):
        rng = np.random.default_rng(1)
        counts = np.rint(rng.normal(scale=300, size=32)).astype(np.int64)
        mean, loss = base_of_target(counts, 9e4, NumberLoss(0.0, 1.0, 2.0))
        assert abs(mean[0]) < 0.3
        assert loss.clip > 1
