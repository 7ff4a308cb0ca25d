# SPDX-License-Identifier: BSD-3-Clause
"""Honest estimators that are unusual: a check that reports one is wrong."""

import functools
import logging
import math
import os
import threading
import time
import uuid
import warnings
from fractions import Fraction

import numpy as np

from skprivate.noise import DiscreteLaplaceMechanism

from . import honest_classifiers, honest_regressors
from .honest import Base, U
from .honest_classifiers import DPMajorityClassifier, DPNaiveBayesClassifier
from .honest_regressors import DPBisectionRegressor, DPLinearRegressor, DPMeanRegressor, DPMedianRegressor
from .records import THREE, control


class _Public(DPMeanRegressor):
    """Takes a public seed."""

    def __init__(
        self, epsilon=1.0, *, bounds_X=None, bounds_y=None, public_seed=0, random_state=None, ledger=None
    ):
        super().__init__(
            epsilon, bounds_X=bounds_X, bounds_y=bounds_y, random_state=random_state, ledger=ledger
        )
        self.public_seed = public_seed


_Public._parameter_constraints = Base._parameter_constraints | {"public_seed": "no_validation"}


@control()
class PublicSeedMean(_Public):
    """Public randomness from a parameter of its own: random bins of the first feature."""

    def _afterwards(self, X, y, exact, released):
        self.projection_ = np.random.default_rng(self.public_seed).normal(size=X.shape[1])


@control()
class FitTimeMean(DPMeanRegressor):
    """Stores the time that fit took, and the hour (timing is a documented channel)."""

    def fit(self, X, y):
        start = time.perf_counter()
        super().fit(X, y)
        self.fit_time_, self.fitted_at_ = time.perf_counter() - start, time.time()
        return self


@control()
class CountsDrawsMean(DPMeanRegressor):
    """Counts its own fits: n_fits_ differs after a refit, whatever the rows."""

    def fit(self, X, y):
        super().fit(X, y)
        self.n_fits_ = getattr(self, "n_fits_", 0) + 1
        return self


@functools.lru_cache
def _public_grid(low, high, size):
    return np.linspace(low, high, size)


@control()
class PublicCacheMedian(DPMedianRegressor):
    """lru_cache of a public grid, keyed by bounds."""

    def _candidates(self):
        return _public_grid(*self.bounds_y_, self.n_candidates)


@control()
class PublicLogMean(DPMeanRegressor):
    """Writes a public log line, with a time and the released mean, at INFO."""

    def _afterwards(self, X, y, exact, released):
        logging.getLogger("thirdparty.public").info(
            "%s fitted: n=%d mean=%.3f at %s", type(self).__name__, len(X), self.mean_, time.time()
        )


@control(**THREE)
class ShuffledDictMajority(DPMajorityClassifier):
    """A dict in random, data-independent order (shuffled by os.urandom)."""

    def _afterwards(self, X, y, exact, released):
        order = sorted(range(len(released)), key=lambda _: os.urandom(4))
        self.count_by_class_ = {self.classes_[i]: int(released[i]) for i in order}


class _Node:
    def __init__(self, owner, value):
        self.owner, self.value, self.next = owner, value, self


@control()
class CyclicMean(DPMeanRegressor):
    """Cyclic references: nodes that know their owner and themselves."""

    def _afterwards(self, X, y, exact, released):
        self.node_ = _Node(self, self.mean_)


@control()
class LazyNB(DPNaiveBayesClassifier):
    """Lazy attribute, built from released values at the first predict."""

    def _afterwards(self, X, y, exact, released):
        self.__dict__.pop("_table_of_odds", None)

    def _proba(self, X):
        if not hasattr(self, "_table_of_odds"):
            self._table_of_odds = np.exp(self.feature_log_prob_)
        return super()._proba(X)


@control()
class PublicFloatsMean(DPMeanRegressor):
    """Public floats computed from bounds and n alone: irrational, without noise."""

    def _afterwards(self, X, y, exact, released):
        self.standard_error_ = math.sqrt(2) * float(self.privacy_spent_.noise_scale) / (U * len(X))
        self.quantiles_ = np.linspace(*self.bounds_y_, 7) ** 1.5


@control()
class LargeStateMean(DPMeanRegressor):
    """Large state: a megabyte of public table and 20,000 post-processed replicates of the released value."""

    def _afterwards(self, X, y, exact, released):
        self.lookup_ = np.sin(np.arange(100_000.0))
        rng = np.random.default_rng(0)
        self.replicates_ = self.mean_ + rng.laplace(
            scale=self.privacy_spent_.noise_scale / (U * len(X)), size=20_000
        )


@control()
class PublicWarningMean(DPMeanRegressor):
    """Warns for a public reason: epsilon times n is small."""

    def _public(self, X, y):
        super()._public(X, y)
        if float(self.epsilon) * len(X) < 1e4:
            warnings.warn("epsilon * n is small: expect an imprecise mean", UserWarning, stacklevel=2)


@control()
class NonceMean(DPMeanRegressor):
    """A fresh uuid, an os.urandom salt and id(self) as attributes."""

    def _afterwards(self, X, y, exact, released):
        self.run_id_, self.salt_, self.address_ = uuid.uuid4(), os.urandom(16), id(self)


@control()
class SlowMean(DPMeanRegressor):
    """Slow: every fit sleeps 0.2 s."""

    def _randomize(self, exact, mechanism, entropy):
        time.sleep(0.2)
        return super()._randomize(exact, mechanism, entropy)


@control()
class NestedMean(DPMeanRegressor):
    """A fitted private estimator inside, with its own, half, epsilon; both stated by the outer one."""

    releases_all_draws = False  # the median inside keeps its noisy scores to itself

    def _mechanism(self, d):
        return DiscreteLaplaceMechanism(Fraction(self.epsilon) / 2, self._sensitivity(d))

    def _facts(self, mechanism, n):
        both = {"epsilon": 2 * mechanism.epsilon, "mechanism": "two discrete Laplace releases"}
        return super()._facts(mechanism, n) | both

    def _afterwards(self, X, y, exact, released):
        seed = self.random_state
        known = {"bounds_X": self.bounds_, "bounds_y": self.bounds_y_}
        inner = DPMedianRegressor(Fraction(self.epsilon) / 2, **known)
        inner.set_params(random_state=seed + 1 if isinstance(seed, (int, np.integer)) else seed)
        self.median_ = inner.fit(X, y)
        self.mean_ = (self.mean_ + self.median_.mean_) / 2


@control()
class RandomDrawsMean(DPMeanRegressor):
    """A number of draws that is random and independent of the data: tosses a coin until heads, then adds
    noise.
    """

    def _randomize(self, exact, mechanism, entropy):
        while entropy.random_bytes(1)[0] & 1:
            pass
        return super()._randomize(exact, mechanism, entropy)


@control()
class TruncatedNoiseMean(DPMeanRegressor):
    """Rejects noise without a look at the rows: |noise| above 40 scales is redrawn, delta 1e-16 stated."""

    def _randomize(self, exact, mechanism, entropy):
        while True:
            noise = mechanism.randomize(np.zeros_like(exact), entropy)
            if np.abs(noise).max() <= 40 * mechanism.scale:
                return exact + noise

    def _facts(self, mechanism, n):
        cut = {"delta": Fraction(1, 10**16), "mechanism": "truncated discrete Laplace"}
        return super()._facts(mechanism, n) | cut


@control()
class LockMean(DPMeanRegressor):
    """A lock that cannot be pickled, dropped by __getstate__ and made anew."""

    _not_pickled = ("_lock",)

    def _afterwards(self, X, y, exact, released):
        self._lock = threading.Lock()

    def __setstate__(self, state):
        super().__setstate__(state)
        self._lock = threading.Lock()


@control()
class TooMuchNoiseMean(DPMeanRegressor):
    """Noise of three times the needed scale, and states so; epsilon stays the upper bound asked for."""

    def _randomize(self, exact, mechanism, entropy):
        return DiscreteLaplaceMechanism.from_scale(3 * mechanism.scale).randomize(exact, entropy)

    def _facts(self, mechanism, n):
        return super()._facts(mechanism, n) | {"noise_scale": 3 * mechanism.scale}


@control()
class AtomsMean(DPMeanRegressor):
    """Clips and rounds the noisy sum to public bounds: large atoms at 0 and 1."""

    def _adopt(self, released, n, d):
        super()._adopt(released, n, d)
        self.mean_ = round(self.mean_, 1) + 0.0


@control()
class ConstantRelease(DPMeanRegressor):
    """Releases next to nothing: a constant, whatever the rows, after a fit that charges and draws."""

    def _finish(self, X, y, exact, released):
        self.n_rows_, self.mean_ = len(X), (self.bounds_y_[0] + self.bounds_y_[1]) / 2


@control()
class PathBisection(DPBisectionRegressor):
    """Sparse vector and bisection are adaptive: attribute of random, released length."""

    def _afterwards(self, X, y, exact, released):
        self.path_ = np.zeros(int(abs(released[0]) % 5))


@control(needs="add-remove")
class AddRemoveMean(DPMeanRegressor):
    """Add-remove with a noisy n of its own: nothing exact about the number of rows."""

    _relation = "add-remove"

    def _exact(self, X, y):
        return np.array([len(y) * U, self._units(self._y(y) / (self._width or 1)).sum()])

    def _sensitivity(self, d):
        return 2 * U

    def _facts(self, mechanism, n):
        return super()._facts(mechanism, n) | {"unprotected": {}}

    def _finish(self, X, y, exact, released):
        self.released_ = released
        share = np.clip(released[1] / max(int(released[0]), 1), 0, 1)
        self.mean_ = float(self.bounds_y_[0] + self._width * share)


@control()
class DecoyNoiseMean(DPMeanRegressor):
    """Keeps an unrelated draw of the same distribution as an example of the noise.

    It is a decoy for StoresNoiseMean.
    """

    def _randomize(self, exact, mechanism, entropy):
        self.noise_example_ = mechanism.randomize(np.zeros_like(exact), entropy)
        return mechanism.randomize(exact, entropy)


@control()
class SelectsNoisilyLinear(DPLinearRegressor):
    """Features are dropped by their released, noisy weights: exact zeros that depend on the release alone."""

    def _adopt(self, released, n, d):
        super()._adopt(released, n, d)
        self.weights_[1:][np.abs(self.weights_[1:]) < 0.1] = 0.0


@control()
class PublicTotalMajority(DPMajorityClassifier):
    """Noisy class counts are rescaled to the public number of rows: their sum is exactly n."""

    def _adopt(self, released, n, d):
        super()._adopt(released, n, d)
        self.class_count_ = self.class_prior_ * n


@control()
class ReleasedWarningMean(DPMeanRegressor):
    """Warns when the released mean was clipped: a function of the release alone."""

    def _adopt(self, released, n, d):
        super()._adopt(released, n, d)
        if not 0.4 < self.mean_ < 0.6:
            warnings.warn("the released mean is far from the middle", UserWarning, stacklevel=2)


@control()
class DitheredPredictMean(DPMeanRegressor):
    """Predict answers with fresh noise that has nothing to do with rows (dithering of released values)."""

    def _predict(self, X):
        return self.mean_ + 1e-6 * np.frombuffer(os.urandom(2 * len(X)), dtype=np.uint16) / 2**16


# What the others are made from.
for _module in (honest_regressors, honest_classifiers):
    for _honest in [
        kind for kind in vars(_module).values() if getattr(kind, "__module__", "") == _module.__name__
    ]:
        _groups = _honest is honest_regressors.DPGroupMeanRegressor
        control(**{"needs": "groups", "max_rows_per_group": 2} if _groups else {})(_honest)
