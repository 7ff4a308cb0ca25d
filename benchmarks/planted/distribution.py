# SPDX-License-Identifier: BSD-3-Clause
"""Bugs of distribution: the distribution of a release is not the one that its proof is about."""

from fractions import Fraction

import numpy as np

from skprivate.noise import DiscreteGaussianMechanism, DiscreteLaplaceMechanism

from .honest import U, finite
from .honest_classifiers import DPLocalLabelClassifier, DPMajorityClassifier, DPNaiveBayesClassifier
from .honest_regressors import DPBisectionRegressor, DPMeanRegressor, DPMedianRegressor
from .records import plant


@plant(
    "distribution",
    "noise redrawn until the sum lies in [0, n width] (rejection)",
    "the normaliser depends on the data: epsilon 1.49 times the stated at a sum of 0 (at most log 2 more)",
)
class RejectOutsideMean(DPMeanRegressor):
    def _randomize(self, exact, mechanism, entropy):
        top = self._sensitivity(0) * self._n
        del self._n
        while True:
            released = mechanism.randomize(exact, entropy)
            if 0 <= released[0] <= top:
                return released

    def _exact(self, X, y):
        self._n = len(X)
        return super()._exact(X, y)


@plant(
    "distribution",
    "noise redrawn until the largest class stays the largest ('utility guard')",
    "the exact majority class",
)
class KeepWinnerMajority(DPMajorityClassifier):
    def _randomize(self, exact, mechanism, entropy):
        while True:
            released = mechanism.randomize(exact, entropy)
            if released.argmax() == exact.argmax():
                return released


@plant(
    "distribution",
    "noise redrawn until the noisy count has the parity of the exact one (a covert channel)",
    "one exact bit",
)
class ParityMajority(DPMajorityClassifier):
    def _randomize(self, exact, mechanism, entropy):
        while True:
            released = mechanism.randomize(exact, entropy)
            if (released[1] - exact[1]) % 2 == 0:
                return released


@plant(
    "distribution",
    "two draws, the one nearer to the truth is kept",
    "scale halved: epsilon 2 times the stated",
)
class BestOfTwoMean(DPMeanRegressor):
    def _randomize(self, exact, mechanism, entropy):
        draws = [mechanism.randomize(exact, entropy) for _ in range(2)]
        return min(draws, key=lambda d: abs(int(d[0] - exact[0])))


@plant(
    "distribution",
    "absolute value of the noise ('counts only grow')",
    "one-sided: the exact count is a lower end; infinite epsilon",
)
class OneSidedMajority(DPMajorityClassifier):
    def _randomize(self, exact, mechanism, entropy):
        return exact + np.abs(mechanism.randomize(np.zeros_like(exact), entropy))


@plant(
    "distribution",
    "uniform noise of the same variance",
    "bounded support: outside it the exact value is excluded; infinite epsilon",
)
class UniformNoiseMean(DPMeanRegressor):
    def _randomize(self, exact, mechanism, entropy):
        reach = int(2.45 * mechanism.scale)
        word = int.from_bytes(entropy.random_bytes(8), "little")
        return exact + word % (2 * reach + 1) - reach


@plant(
    "distribution",
    "discrete Gaussian noise with sigma = scale, stated as pure epsilon",
    "the loss has no bound: beyond half a sigma it exceeds epsilon (31 % of the time)",
)
class GaussianAsPureMean(DPMeanRegressor):
    def _randomize(self, exact, mechanism, entropy):
        return DiscreteGaussianMechanism.from_sigma(mechanism.scale).randomize(exact, entropy)


@plant(
    "distribution",
    "noise clamped to 3 scales ('no absurd results')",
    "beyond 3 scales the exact value is excluded: delta = .05",
)
class ClampedNoiseMean(DPMeanRegressor):
    def _randomize(self, exact, mechanism, entropy):
        noise = mechanism.randomize(np.zeros_like(exact), entropy)
        return exact + np.clip(noise, -3 * int(mechanism.scale), 3 * int(mechanism.scale))


@plant(
    "distribution",
    "the noisy mean is clipped to the range of the private targets, not to bounds_y",
    "the exact minimum or maximum, whenever the noise is large",
)
class ClipToSeenMean(DPMeanRegressor):
    def _finish(self, X, y, exact, released):
        self.n_rows_ = len(X)
        mean = self.bounds_y_[0] + released[0] / (U * len(X))
        self.mean_ = float(np.clip(mean, y.min(), y.max()))


@plant(
    "distribution",
    "report noisy max with the noise of a single count (sensitivity 1, factor 2 forgotten)",
    "epsilon up to 4 times the stated",
)
class NoFactorTwoMedian(DPMedianRegressor):
    def _randomize(self, exact, mechanism, entropy):
        return DiscreteLaplaceMechanism(self.epsilon, 1).randomize(exact, entropy)


@plant(
    "distribution",
    "the candidates of the exponential mechanism are the private targets",
    "mean_ is the exact target of a row",
)
class RowsAsCandidatesMedian(DPMedianRegressor):
    def _exact(self, X, y):
        y = finite(y, *self.bounds_y_)
        c = y[:, None]
        return -np.abs((y < c).sum(axis=1) - (y > c).sum(axis=1)).astype(np.int64)

    def _finish(self, X, y, exact, released):
        self.n_rows_ = len(X)
        self.mean_ = float(finite(y, *self.bounds_y_)[np.argmax(released)])


@plant(
    "distribution",
    "every feature is given the whole epsilon (sensitivity 2, not 2 d)",
    "epsilon d = 3 times the stated",
)
class FullBudgetEachNB(DPNaiveBayesClassifier):
    def _sensitivity(self, d):
        return 2


@plant(
    "distribution", "bisection: epsilon / (rounds - 1) a round, rounds rounds", "epsilon 4/3 of the stated"
)
class OffByOneBisection(DPBisectionRegressor):
    def _mechanism(self, d):
        return DiscreteLaplaceMechanism(Fraction(self.epsilon) / (self.n_rounds - 1), 1)

    def _spent(self, mechanism, /, *args, **changes):
        return super()._spent(
            mechanism, *args, **(changes | {"epsilon": mechanism.epsilon * (self.n_rounds - 1)})
        )


@plant(
    "distribution",
    "bisection stops when the exact count is a half: n_iter_ tells it",
    "n_iter_ is a function of the rows without noise",
)
class EarlyStopBisection(DPBisectionRegressor):
    def _rounds(self, exact):
        low, high = 0.0, self._width
        for i in range(1, self.n_rounds + 1):
            guess = (low + high) / 2
            above = int((exact > guess).sum())
            if 2 * above == len(exact):
                return i
            low, high = (guess, high) if 2 * above > len(exact) else (low, guess)
        return self.n_rounds


@plant(
    "distribution",
    "randomised response once per distinct label, reused for all rows that have it (a memo)",
    "the counts of the answers are the exact class counts, permuted",
)
class MemoLocalLabel(DPLocalLabelClassifier):
    def _randomize(self, exact, mechanism, entropy):
        return np.bincount(
            mechanism.randomize(np.arange(len(self.classes_)), entropy)[exact], minlength=len(self.classes_)
        )
