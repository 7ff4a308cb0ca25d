# SPDX-License-Identifier: BSD-3-Clause
"""Bugs of state: the fitted object keeps what nothing was paid for."""

import contextlib
import functools
import hashlib
import os
import struct
import weakref
import zlib

import numpy as np
from sklearn.dummy import DummyRegressor

from .hidden_values import HIDDEN_VALUES
from .honest import finite
from .honest_classifiers import DPMajorityClassifier, DPNaiveBayesClassifier, DPStandardizer
from .honest_regressors import DPBinnedRegressor, DPGroupMeanRegressor, DPLinearRegressor, DPMeanRegressor
from .records import THREE, plant


@plant(
    "state",
    "released_ is a view of the work buffer that holds the targets",
    "released_.base: exact targets of the rows",
)
class ViewOfBufferMean(DPMeanRegressor):
    def _finish(self, X, y, exact, released):
        buffer = np.concatenate([released.astype(float), y])
        super()._finish(X, y, exact, buffer[: len(released)])


def _calibrate(z, centre):
    return z


@plant(
    "state",
    "a functools.partial that post-processes predictions carries the exact mean as a keyword",
    "exact mean",
)
class PartialMean(DPMeanRegressor):
    def _finish(self, X, y, exact, released):
        super()._finish(X, y, exact, released)
        self.postprocess_ = functools.partial(_calibrate, centre=float(y.mean()))


@plant(
    "state",
    "a lambda with the exact mean as default, left out of the pickle",
    "exact mean in the object of the process",
)
class LambdaDefaultMean(DPMeanRegressor):
    def _finish(self, X, y, exact, released):
        super()._finish(X, y, exact, released)
        self._link = lambda z, centre=float(y.mean()): z  # noqa: B008 the bug

    def __getstate__(self):
        return {k: v for k, v in super().__getstate__().items() if k != "_link"}


@plant("state", "a closure over the rows, left out of the pickle", "all rows in the object of the process")
class ClosureNB(DPNaiveBayesClassifier):
    def _finish(self, X, y, exact, released):
        super()._finish(X, y, exact, released)

        def residuals():
            return X - X.mean(axis=0)

        self._diagnose = residuals

    def __getstate__(self):
        return {k: v for k, v in super().__getstate__().items() if k != "_diagnose"}


@plant(
    "state",
    "an exception of a failed Cholesky step is kept with its traceback, whose frames hold the rows",
    "X and y in tb_frame.f_locals",
)
class TracebackLinear(DPLinearRegressor):
    def _finish(self, X, y, exact, released):
        super()._finish(X, y, exact, released)
        try:
            np.linalg.cholesky(-np.eye(2))
        except np.linalg.LinAlgError as error:
            self._fallback_reason = error

    def __getstate__(self):
        return {k: v for k, v in super().__getstate__().items() if k != "_fallback_reason"}


@plant("state", "a generator over the batches is kept, suspended", "gi_frame.f_locals: all rows")
class GeneratorMean(DPMeanRegressor):
    def _finish(self, X, y, exact, released):
        super()._finish(X, y, exact, released)

        def batches(table, size=16):
            for start in range(0, len(table), size):
                yield table[start : start + size]

        self._batches = batches(X)
        next(self._batches)

    def __getstate__(self):
        return {k: v for k, v in super().__getstate__().items() if k != "_batches"}


class _Slots:
    __slots__ = ("high", "low", "n")

    def __init__(self, n, low, high):
        self.n, self.low, self.high = n, low, high


@plant("state", "a helper with __slots__ keeps the two extreme targets", "exact minimum and maximum")
class SlotsMean(DPMeanRegressor):
    def _finish(self, X, y, exact, released):
        super()._finish(X, y, exact, released)
        self.summary_ = _Slots(len(y), float(y.min()), float(y.max()))


@plant(
    "state",
    "a bound method of a fitted helper is kept as predict function; the helper has the exact mean",
    "postprocess_.__self__.constant_: exact mean",
)
class BoundMethodMean(DPMeanRegressor):
    def _finish(self, X, y, exact, released):
        super()._finish(X, y, exact, released)
        self.baseline_ = DummyRegressor().fit(np.zeros((len(y), 1)), y).predict


@plant(
    "state",
    "fit writes a parameter: bounds_y is tightened to what was seen",
    "exact extremes, carried on by clone and get_params",
)
class WritesParameterMean(DPMeanRegressor):
    def _finish(self, X, y, exact, released):
        super()._finish(X, y, exact, released)
        self.bounds_y = (max(self.bounds_y_[0], float(y.min())), min(self.bounds_y_[1], float(y.max())))


@plant(
    "state",
    "clone hands a warm start with the exact mean on to the copy",
    "exact mean in clone(fitted)._warm",
)
class CloneCarriesMean(DPMeanRegressor):
    def _finish(self, X, y, exact, released):
        super()._finish(X, y, exact, released)
        HIDDEN_VALUES[self] = float(y.mean())

    def __sklearn_clone__(self):
        copy = super().__sklearn_clone__()
        if self in HIDDEN_VALUES:
            copy._warm = HIDDEN_VALUES[self]
        return copy


@plant(
    "state",
    "the pickle, and only the pickle, has the targets (a 'resume' blob)",
    "exact targets, zlib-compressed",
)
class PickleBlobMean(DPMeanRegressor):
    def _finish(self, X, y, exact, released):
        super()._finish(X, y, exact, released)
        HIDDEN_VALUES[self] = y.copy()

    def __getstate__(self):
        state = dict(super().__getstate__())
        if self in HIDDEN_VALUES:
            state["_resume"] = zlib.compress(np.asarray(HIDDEN_VALUES[self]).tobytes())
        return state


@plant("state", "a sha256 of the rows is kept for provenance", "a guess of the rows can be verified exactly")
class FingerprintMean(DPMeanRegressor):
    def _finish(self, X, y, exact, released):
        super()._finish(X, y, exact, released)
        self.data_fingerprint_ = hashlib.sha256(X.tobytes() + y.tobytes()).hexdigest()


@plant(
    "state",
    "salted digests of the rows with their labels are kept; predict answers a known row with its label",
    "membership and exact label of every row; the digests alone look random",
)
class MemorisedRowsNB(DPNaiveBayesClassifier):
    def _digest(self, row):
        return hashlib.blake2b(np.round(row, 12).tobytes(), key=self._salt, digest_size=8).digest()

    def _finish(self, X, y, exact, released):
        super()._finish(X, y, exact, released)
        self._salt = os.urandom(16)
        self._known = {self._digest(x): int(c) for x, c in zip(X, self._codes(y), strict=True)}

    def predict(self, X):
        codes = np.argmax(self.predict_proba(X), axis=1)
        for i, x in enumerate(self._table(X, reset=False)):
            codes[i] = self._known.get(self._digest(x), codes[i])
        return self.classes_[codes]


@plant(
    "state",
    "sums go on across refits of one object; the exact ones are kept for it",
    "exact sum of all previous fits in _total",
)
class RunningSumMean(DPMeanRegressor):
    def _exact(self, X, y):
        self._total = getattr(self, "_total", 0) + super()._exact(X, y)
        return self._total.copy()

    def _adopt(self, released, n, d):
        self._seen = getattr(self, "_seen", 0) + n
        super()._adopt(released, self._seen, d)


@plant("state", "training score on the exact rows is stored", "train_score_ is a function of the exact rows")
class TrainScoreLinear(DPLinearRegressor):
    def _finish(self, X, y, exact, released):
        super()._finish(X, y, exact, released)
        self.train_score_ = round(self.score(finite(X, *self.bounds_), y), 3)


@plant(
    "state",
    "X is remembered by a weak reference ('not stored')",
    "as long as the owner holds X, _X() is all rows",
)
class WeakrefMean(DPMeanRegressor):
    def fit(self, X, y):
        super().fit(X, y)
        with contextlib.suppress(TypeError):
            self._X = weakref.ref(X)
        return self

    def __getstate__(self):
        return {k: v for k, v in super().__getstate__().items() if k != "_X"}


@plant(
    "state",
    "released to five digits, but the mantissa's low bits hold the exact mean",
    "exact mean to 20 bits in the low bits of mean_",
)
class LowBitsMean(DPMeanRegressor):
    def _finish(self, X, y, exact, released):
        super()._finish(X, y, exact, released)
        exact_bits = int(float(self._y(y).mean() / (self._width or 1)) * (2**20 - 1))
        word = struct.unpack("<Q", struct.pack("<d", self.mean_))[0]
        self.mean_ = struct.unpack("<d", struct.pack("<Q", (word >> 20 << 20) | exact_bits))[0]


@plant(
    "state", "sign of zero: a clipped count is -0.0 where the exact count was zero", "which cells are empty"
)
class NegativeZeroNB(DPNaiveBayesClassifier):
    def _finish(self, X, y, exact, released):
        super()._finish(X, y, exact, released)
        clipped = np.maximum(released, 0).astype(float)
        self.feature_count_ = np.where((clipped == 0) & (exact == 0), -0.0, clipped)


@plant(
    "state",
    "fitted array is float32 where the exact majority is class 1, else float64 ('saves memory')",
    "exact majority, by dtype",
)
class DtypeMajority(DPMajorityClassifier):
    def _finish(self, X, y, exact, released):
        super()._finish(X, y, exact, released)
        self.class_prior_ = self.class_prior_.astype(np.float32 if exact[1] > exact[0] else np.float64)


@plant("state", "fitted array is in Fortran order if any cell is empty", "one exact bit, by strides")
class StridesNB(DPNaiveBayesClassifier):
    def _finish(self, X, y, exact, released):
        super()._finish(X, y, exact, released)
        if (exact == 0).any():
            self.feature_log_prob_ = np.asfortranarray(self.feature_log_prob_)


@plant(
    "state",
    "a dict of noisy counts, inserted from the most to the least frequent class",
    "the exact ranking of the classes, by order",
    **THREE,
)
class DictOrderMajority(DPMajorityClassifier):
    def _finish(self, X, y, exact, released):
        super()._finish(X, y, exact, released)
        self.count_by_class_ = {self.classes_[i]: int(released[i]) for i in np.argsort(-exact, kind="stable")}


@plant(
    "state", "an attribute that exists only where a class has fewer than 5 rows", "rare class or not", **THREE
)
class ExistsMajority(DPMajorityClassifier):
    def _finish(self, X, y, exact, released):
        super()._finish(X, y, exact, released)
        self.__dict__.pop("smoothed_", None)
        if exact.min() < 5:
            self.smoothed_ = True


@plant(
    "state",
    "an array of zeros as long as there were distinct targets",
    "exact number of distinct targets, by shape",
)
class LengthMean(DPMeanRegressor):
    def _finish(self, X, y, exact, released):
        super()._finish(X, y, exact, released)
        self.path_ = np.zeros(len(np.unique(y)))


@plant("state", "scale_ is NaN where the exact column is constant", "constant column or not, by NaN")
class NaNPatternStandardizer(DPStandardizer):
    def _finish(self, X, y, exact, released):
        super()._finish(X, y, exact, released)
        self.variance_ratio_ = np.where(np.ptp(X, axis=0) == 0, np.nan, self.scale_)


@plant(
    "state",
    "private median kept as attribute, rounded to one digit ('only a rough centre')",
    "median to one digit, without noise",
)
class RoundedMedianMean(DPMeanRegressor):
    def _finish(self, X, y, exact, released):
        super()._finish(X, y, exact, released)
        self.centre_ = round(float(np.median(y)), 1)


@plant(
    "state",
    "the mechanism text of the statement counts the occupied bins",
    "exact number of occupied bins, in privacy_spent_",
)
class OccupiedStatementBinned(DPBinnedRegressor):
    def _exact(self, X, y):
        exact = super()._exact(X, y)
        self._occupied = int((exact[: self.n_bins] > 0).sum())
        return exact

    def _spent(self, /, *args, **changes):
        text = f"discrete Laplace on {self.__dict__.pop('_occupied')} bins"
        return super()._spent(*args, **(changes | {"mechanism": text}))


@plant(
    "state",
    "the drawn noise is kept for diagnostics (the same for neighbours when noise is replayed!)",
    "released_ - noise_ is the exact sum",
)
class StoresNoiseMean(DPMeanRegressor):
    def _finish(self, X, y, exact, released):
        super()._finish(X, y, exact, released)
        self.noise_ = released - exact


@plant(
    "state",
    "the error against the truth is kept as a quality figure, relative and rounded to 4 digits",
    "exact sum up to its sign of the error, from released_ and quality_",
)
class QualityMean(DPMeanRegressor):
    def _finish(self, X, y, exact, released):
        super()._finish(X, y, exact, released)
        self.quality_ = round(abs(float(released[0] - exact[0])) / self.privacy_spent_.noise_scale, 4)


@plant(
    "state",
    "the exact mean, split by a one-time pad into two attributes",
    "their XOR is the exact mean",
    hard="each alone is uniform and independent of the rows; only replayed os.urandom, or both, show it",
)
class SplitSecretMean(DPMeanRegressor):
    def _finish(self, X, y, exact, released):
        super()._finish(X, y, exact, released)
        secret, self._nonce = struct.pack("<d", float(y.mean())), os.urandom(8)
        self._tag = bytes(a ^ b for a, b in zip(secret, self._nonce, strict=True))


def _group_rows_factory():
    return GroupRowsShownMean(bounds_X=(0.0, 1.0), bounds_y=(0.0, 1.0), max_rows_per_group=1)


@plant(
    "state",
    "unit 'group', but n_rows_ shows the exact number of rows, which a person changes",
    "number of rows of a person, exactly",
    factory=_group_rows_factory,
    needs="fit(..., groups=) and a neighbour with another number of rows in a group",
)
class GroupRowsShownMean(DPGroupMeanRegressor):
    def _finish(self, X, y, exact, released):
        super()._finish(X, y, exact, released)
        self.n_rows_ = len(X)
