# SPDX-License-Identifier: BSD-3-Clause
"""Bugs of distribution: the distribution of a release is not the one that its proof is about."""

from fractions import Fraction

import numpy as np

from skprivate.noise import DiscreteGaussianMechanism, DiscreteLaplaceMechanism

from .honest import U, finite
from .honest_classifiers import DPLocalLabelClassifier, DPMajorityClassifier, DPNaiveBayesClassifier
from .honest_regressors import DPBisectionRegressor, DPMeanRegressor, DPMedianRegressor
from .records import plant


@plant("distribution")
class RejectOutsideMean(DPMeanRegressor):
    """Noise redrawn until the sum lies in [0, n width] (rejection).

    The normaliser depends on the data: epsilon 1.49 times the stated at a sum of 0 (at most log 2 more).
    """

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


@plant("distribution")
class KeepWinnerMajority(DPMajorityClassifier):
    """Noise redrawn until the largest class stays the largest ('utility guard').

    The exact majority class.
    """

    def _randomize(self, exact, mechanism, entropy):
        while True:
            released = mechanism.randomize(exact, entropy)
            if released.argmax() == exact.argmax():
                return released


@plant("distribution")
class ParityMajority(DPMajorityClassifier):
    """Noise redrawn until the noisy count has the parity of the exact one (a covert channel).

    One exact bit.
    """

    def _randomize(self, exact, mechanism, entropy):
        while True:
            released = mechanism.randomize(exact, entropy)
            if (released[1] - exact[1]) % 2 == 0:
                return released


@plant("distribution")
class BestOfTwoMean(DPMeanRegressor):
    """Two draws, the one nearer to the truth is kept.

    Scale halved: epsilon 2 times the stated.
    """

    def _randomize(self, exact, mechanism, entropy):
        draws = [mechanism.randomize(exact, entropy) for _ in range(2)]
        return min(draws, key=lambda d: abs(int(d[0] - exact[0])))


@plant("distribution")
class OneSidedMajority(DPMajorityClassifier):
    """Absolute value of the noise ('counts only grow').

    One-sided: the exact count is a lower end; infinite epsilon.
    """

    def _randomize(self, exact, mechanism, entropy):
        return exact + np.abs(mechanism.randomize(np.zeros_like(exact), entropy))


@plant("distribution")
class UniformNoiseMean(DPMeanRegressor):
    """Uniform noise of the same variance.

    Bounded support: outside it the exact value is excluded; infinite epsilon.
    """

    def _randomize(self, exact, mechanism, entropy):
        reach = int(2.45 * mechanism.scale)
        word = int.from_bytes(entropy.random_bytes(8), "little")
        return exact + word % (2 * reach + 1) - reach


@plant("distribution")
class GaussianAsPureMean(DPMeanRegressor):
    """Discrete Gaussian noise with sigma = scale, stated as pure epsilon.

    The loss has no bound: beyond half a sigma it exceeds epsilon (31 % of the time).
    """

    def _randomize(self, exact, mechanism, entropy):
        return DiscreteGaussianMechanism.from_sigma(mechanism.scale).randomize(exact, entropy)


@plant("distribution")
class ClampedNoiseMean(DPMeanRegressor):
    """Noise clamped to 3 scales ('no absurd results').

    Beyond 3 scales the exact value is excluded: delta = .05.
    """

    def _randomize(self, exact, mechanism, entropy):
        noise = mechanism.randomize(np.zeros_like(exact), entropy)
        return exact + np.clip(noise, -3 * int(mechanism.scale), 3 * int(mechanism.scale))


@plant("distribution")
class ClipToSeenMean(DPMeanRegressor):
    """The noisy mean is clipped to the range of the private targets, not to bounds_y.

    The exact minimum or maximum, whenever the noise is large.
    """

    def _finish(self, X, y, exact, released):
        self.n_rows_ = len(X)
        mean = self.bounds_y_[0] + released[0] / (U * len(X))
        self.mean_ = float(np.clip(mean, y.min(), y.max()))


@plant("distribution")
class NoFactorTwoMedian(DPMedianRegressor):
    """Report noisy max with the noise of a single count (sensitivity 1, factor 2 forgotten).

    Epsilon up to 4 times the stated.
    """

    def _randomize(self, exact, mechanism, entropy):
        return DiscreteLaplaceMechanism(self.epsilon, 1).randomize(exact, entropy)


@plant("distribution")
class RowsAsCandidatesMedian(DPMedianRegressor):
    """The candidates of the exponential mechanism are the private targets.

    mean_ is the exact target of a row.
    """

    def _exact(self, X, y):
        y = finite(y, *self.bounds_y_)
        c = y[:, None]
        return -np.abs((y < c).sum(axis=1) - (y > c).sum(axis=1)).astype(np.int64)

    def _finish(self, X, y, exact, released):
        self.n_rows_ = len(X)
        self.mean_ = float(finite(y, *self.bounds_y_)[np.argmax(released)])


@plant("distribution")
class FullBudgetEachNB(DPNaiveBayesClassifier):
    """Every feature is given the whole epsilon (sensitivity 2, not 2 d).

    Epsilon d = 3 times the stated.
    """

    def _sensitivity(self, d):
        return 2


@plant("distribution")
class OffByOneBisection(DPBisectionRegressor):
    """Bisection: epsilon / (rounds - 1) a round, rounds rounds.

    Epsilon 4/3 of the stated.
    """

    def _mechanism(self, d):
        return DiscreteLaplaceMechanism(Fraction(self.epsilon) / (self.n_rounds - 1), 1)

    def _facts(self, mechanism, n):
        return super()._facts(mechanism, n) | {"epsilon": mechanism.epsilon * (self.n_rounds - 1)}


@plant("distribution")
class EarlyStopBisection(DPBisectionRegressor):
    """Bisection stops when the exact count is a half: n_iter_ tells it.

    n_iter_ is a function of the rows without noise.
    """

    def _rounds(self, exact):
        low, high = 0.0, self._width
        for i in range(1, self.n_rounds + 1):
            guess = (low + high) / 2
            above = int((exact > guess).sum())
            if 2 * above == len(exact):
                return i
            low, high = (guess, high) if 2 * above > len(exact) else (low, guess)
        return self.n_rounds


@plant("distribution")
class MemoLocalLabel(DPLocalLabelClassifier):
    """Randomised response once per distinct label, reused for all rows that have it (a memo).

    The counts of the answers are the exact class counts, permuted.
    """

    def _randomize(self, exact, mechanism, entropy):
        return np.bincount(
            mechanism.randomize(np.arange(len(self.classes_)), entropy)[exact], minlength=len(self.classes_)
        )
