# SPDX-License-Identifier: BSD-3-Clause
"""Bugs of noise: too little of it, none in places, or noise that others know."""

import functools
import zlib
from fractions import Fraction

import numpy as np

from skprivate.noise import DiscreteLaplaceMechanism, check_entropy

from .honest import U
from .honest_classifiers import DPMajorityClassifier, DPNaiveBayesClassifier, DPStandardizer
from .honest_regressors import DPBinnedRegressor, DPFirstBinRegressor, DPLinearRegressor, DPMeanRegressor
from .records import THREE, plant


@plant("noise")
class SharedDrawMajority(DPMajorityClassifier):
    """One draw serves all classes (scalar noise broadcast).

    Differences of the noisy counts are exact.
    """

    def _randomize(self, exact, mechanism, entropy):
        return exact + int(mechanism.randomize(np.array([0]), entropy)[0])


@functools.lru_cache
def _cached_noise(scale, size):
    return DiscreteLaplaceMechanism.from_scale(scale).randomize(np.zeros(size, dtype=np.int64))


@plant("noise")
class CachedNoiseMean(DPMeanRegressor):
    """Noise cached per (scale, size) for speed: every fit of the process adds the same.

    Two fits on neighbours differ by the exact difference.
    """

    def _randomize(self, exact, mechanism, entropy):
        if not entropy.private:
            return mechanism.randomize(exact, entropy)
        return exact + _cached_noise(mechanism.scale, exact.size)


@plant("noise")
class WeakLastMomentLinear(DPLinearRegressor):
    """The last moment alone (sum of squared targets) gets an eighth of the noise.

    Epsilon about 1.5 times the stated; 8 / 14 more from that entry.
    """

    def _randomize(self, exact, mechanism, entropy):
        released = mechanism.randomize(exact, entropy)
        released[-1] = DiscreteLaplaceMechanism.from_scale(mechanism.scale // 8).randomize(
            exact[-1:], entropy
        )[0]
        return released


@plant("noise")
class RarelyNoNoiseMean(DPMeanRegressor):
    """With probability 1/1000 no noise at all is added (an unhandled retry).

    Delta = .001 on top; the exact sum.

    1 fit in 1000; needs 3,000 fits and something that notices that the exact value came out.
    """

    def _randomize(self, exact, mechanism, entropy):
        word = int.from_bytes(entropy.random_bytes(8), "little")
        return mechanism.randomize(exact, entropy) if word % 1000 else exact.copy()


@plant("noise")
class ConstantTargetMean(DPMeanRegressor):
    """No noise where all targets are equal ('nothing to hide').

    Exact value; all equal or not is told.
    """

    def _randomize(self, exact, mechanism, entropy):
        return exact.copy() if self._same else mechanism.randomize(exact, entropy)

    def _exact(self, X, y):
        self._same = bool(np.ptp(y) == 0)
        return super()._exact(X, y)

    def _finish(self, *args):
        super()._finish(*args)
        del self._same


@plant("noise")
class ConstantColumnStandardizer(DPStandardizer):
    """Constant columns are released without noise.

    Exact value of a constant column; whether it is constant.
    """

    def _exact(self, X, y):
        self._flat = np.ptp(X, axis=0) == 0
        return super()._exact(X, y)

    def _randomize(self, exact, mechanism, entropy):
        noisy = mechanism.randomize(exact, entropy)
        return np.where(self.__dict__.pop("_flat"), exact, noisy)


@plant("noise")
class CoarseNoiseMean(DPMeanRegressor):
    """Noise rounded to whole 2^10 steps for a 'clean' grid: the low bits of the sum are exact.

    Exact sum modulo 1024 steps.
    """

    def _randomize(self, exact, mechanism, entropy):
        noise = mechanism.randomize(np.zeros_like(exact), entropy)
        return exact + noise // 1024 * 1024


@plant("noise")
class FloatLaplaceMean(DPMeanRegressor):
    """Np.random.laplace on doubles instead of the exact sampler.

    Floating-point attack; np.random.seed decides the noise, while the statement says os-entropy.
    """

    def _randomize(self, exact, mechanism, entropy):
        return exact + np.random.laplace(scale=float(mechanism.scale), size=exact.shape)  # noqa: NPY002 the bug


@plant("noise")
class DataSeedMean(DPMeanRegressor):
    """Seed of the noise is a checksum of X (reproducible runs); the statement says os-entropy.

    Who guesses X can undo the noise; the same rows always give the same release.
    """

    def _exact(self, X, y):
        self._crc = zlib.crc32(np.ascontiguousarray(X).tobytes())
        return super()._exact(X, y)

    def _randomize(self, exact, mechanism, entropy):
        return mechanism.randomize(exact, self.__dict__.pop("_crc"))


@plant("noise")
class KeptSeedMean(DPMeanRegressor):
    """A seed is drawn from the OS once and kept on the object: every refit uses it, and so may its reader.

    The exact sum: subtract the noise of `_stream`; refits on neighbours differ exactly.
    """

    def _randomize(self, exact, mechanism, entropy):
        if not hasattr(self, "_stream"):
            self._stream = int.from_bytes(entropy.random_bytes(8), "little") >> 1
        return mechanism.randomize(exact, self._stream)


@plant("noise")
class ZeroSumBinned(DPBinnedRegressor):
    """Noise is made to sum to zero ('unbiased totals').

    The exact total of the targets.
    """

    def _randomize(self, exact, mechanism, entropy):
        noise = mechanism.randomize(np.zeros_like(exact), entropy)
        for part in (slice(0, self.n_bins), slice(self.n_bins, None)):
            noise[part.start] -= noise[part].sum()
        return exact + noise


@plant("noise")
class EmptyCellsNB(DPNaiveBayesClassifier):
    """Cells of no rows are left at zero (sparse histogram).

    Which cells are empty, exactly.
    """

    def _randomize(self, exact, mechanism, entropy):
        released = np.zeros_like(exact)
        full = exact > 0
        released[full] = mechanism.randomize(exact[full], entropy)
        return released


@plant("noise")
class MemoNoiseMajority(DPMajorityClassifier):
    """Equal counts get the same noise (a memo by value).

    Which counts are equal, exactly.
    """

    def _randomize(self, exact, mechanism, entropy):
        memo = {}
        for value in exact.tolist():
            if value not in memo:
                memo[value] = int(mechanism.randomize(np.array([value]), entropy)[0])
        return np.array([memo[value] for value in exact.tolist()])


@plant("noise", **THREE)
class WeakMiddleClassMajority(DPMajorityClassifier):
    """The second of three classes gets noise of scale 1/2 instead of 2 (its draw is overwritten).

    Epsilon 2.5 for a row that enters or leaves class 1; right between the other two.
    """

    def _randomize(self, exact, mechanism, entropy):
        released = mechanism.randomize(exact, entropy)
        released[1] = DiscreteLaplaceMechanism.from_scale(Fraction(1, 2)).randomize(exact[1:2], entropy)[0]
        return released


@plant("noise")
class LargeCountMajority(DPMajorityClassifier):
    """Above 40 rows of a class the count is 'safe': its noise has half the scale.

    Epsilon 2 times the stated, and more where a row crosses 40: the scale itself depends on the data.
    """

    def _randomize(self, exact, mechanism, entropy):
        noise = mechanism.randomize(np.zeros_like(exact), entropy)
        return exact + np.where(exact > 40, noise // 2, noise)


@plant("noise")
class NoQueryNoiseSVT(DPFirstBinRegressor):
    """Sparse vector without noise on the queries, on the threshold only.

    Bins before the answer lie below one noisy bar: the fullest is told far too well, epsilon up to 2 a bin.
    """

    def _randomize(self, exact, mechanism, entropy):
        bar = mechanism.threshold.randomize(np.array([self.threshold]), entropy)[0]
        above = exact >= bar
        return int(np.argmax(above)) if above.any() else self.n_bins


@plant("noise")
class LastBatchMean(DPMeanRegressor):
    """Per-batch sums: the last batch, where it is incomplete, is released without noise.

    Exact sum of the last n mod 16 rows; nothing where n is a multiple of 16.
    """

    def _exact(self, X, y):
        q = self._units(self._y(y))
        self._ragged = bool(len(q) % 16)
        return np.array([q[i : i + 16].sum() for i in range(0, len(q), 16)], dtype=np.int64)

    def _randomize(self, exact, mechanism, entropy):
        noisy = mechanism.randomize(exact, entropy)
        if self.__dict__.pop("_ragged"):
            noisy[-1] = exact[-1]
        return noisy

    def _adopt(self, released, n, d):
        super()._adopt(released.sum(keepdims=True), n, d)


@plant("noise")
class Int16NoiseMean(DPMeanRegressor):
    """Noise is cast to int16 to save memory: it wraps.

    |noise| < 2^15 steps, half a scale: bounded support; infinite epsilon.
    """

    def _randomize(self, exact, mechanism, entropy):
        return exact + mechanism.randomize(np.zeros_like(exact), entropy).astype(np.int16)


@plant("noise")
class ExactTotalsNB(DPNaiveBayesClassifier):
    """Noisy counts are rescaled so that every class has its exact number of rows ('consistency').

    Exact class counts, through class_log_prior_.
    """

    def _randomize(self, exact, mechanism, entropy):
        noisy = np.maximum(mechanism.randomize(exact, entropy), 0) + 1.0
        return noisy / noisy.sum(axis=2, keepdims=True) * exact.sum(axis=2, keepdims=True)

    def _adopt(self, released, n, d):
        totals = released.sum(axis=(1, 2))
        self.class_log_prior_ = np.log(np.maximum(totals / totals.sum(), 1e-9))
        self.feature_log_prob_ = np.log(
            np.maximum(released, 1e-9) / np.maximum(released.sum(axis=2, keepdims=True), 1e-9)
        )


@plant("noise")
class ExactFallbackBinned(DPBinnedRegressor):
    """Bins whose noisy count is below 1 answer the exact overall mean of the targets.

    Exact mean, whenever a bin is nearly empty.
    """

    def _afterwards(self, X, y, exact, released):
        self.bin_means_[released[: self.n_bins] < U] = float(np.clip(y, *self.bounds_y_).mean())


@plant("noise", needs="call predict more than once")
class PredictNoiseMean(DPMeanRegressor):
    """Fit keeps the exact mean, predict adds fresh noise at every call.

    Exact mean by averaging calls, and in the object.
    """

    def _afterwards(self, X, y, exact, released):
        self._sum = exact

    def _predict(self, X):
        noisy = self._mechanism(X.shape[1]).randomize(self._sum, check_entropy(self.random_state))
        mean = self.bounds_y_[0] + noisy[0] / (U * self.n_rows_)
        return np.full(len(X), float(np.clip(mean, *self.bounds_y_)))
