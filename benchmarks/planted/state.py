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

from .hidden_values import HIDDEN_VALUES, HidesMean
from .honest import finite
from .honest_classifiers import DPMajorityClassifier, DPNaiveBayesClassifier, DPStandardizer
from .honest_regressors import DPBinnedRegressor, DPGroupMeanRegressor, DPLinearRegressor, DPMeanRegressor
from .records import THREE, plant


@plant("state")
class ViewOfBufferMean(DPMeanRegressor):
    """released_ is a view of the work buffer that holds the targets.

    released_.base: exact targets of the rows.
    """

    def _finish(self, X, y, exact, released):
        buffer = np.concatenate([released.astype(float), y])
        super()._finish(X, y, exact, buffer[: len(released)])


def _calibrate(z, centre):
    return z


@plant("state")
class PartialMean(DPMeanRegressor):
    """A functools.partial that post-processes predictions carries the exact mean as a keyword.

    Exact mean.
    """

    def _afterwards(self, X, y, exact, released):
        self.postprocess_ = functools.partial(_calibrate, centre=float(y.mean()))


@plant("state")
class LambdaDefaultMean(DPMeanRegressor):
    """A lambda with the exact mean as default, left out of the pickle.

    Exact mean in the object of the process.
    """

    _not_pickled = ("_link",)

    def _afterwards(self, X, y, exact, released):
        self._link = lambda z, centre=float(y.mean()): z  # noqa: B008 the bug


@plant("state")
class ClosureNB(DPNaiveBayesClassifier):
    """A closure over the rows, left out of the pickle.

    All rows in the object of the process.
    """

    _not_pickled = ("_diagnose",)

    def _afterwards(self, X, y, exact, released):

        def residuals():
            return X - X.mean(axis=0)

        self._diagnose = residuals


@plant("state")
class TracebackLinear(DPLinearRegressor):
    """An exception of a failed Cholesky step is kept with its traceback, whose frames hold the rows.

    X and y in tb_frame.f_locals.
    """

    _not_pickled = ("_fallback_reason",)

    def _afterwards(self, X, y, exact, released):
        try:
            np.linalg.cholesky(-np.eye(2))
        except np.linalg.LinAlgError as error:
            self._fallback_reason = error


@plant("state")
class GeneratorMean(DPMeanRegressor):
    """A generator over the batches is kept, suspended.

    gi_frame.f_locals: all rows.
    """

    _not_pickled = ("_batches",)

    def _afterwards(self, X, y, exact, released):

        def batches(table, size=16):
            for start in range(0, len(table), size):
                yield table[start : start + size]

        self._batches = batches(X)
        next(self._batches)


class _Slots:
    __slots__ = ("high", "low", "n")

    def __init__(self, n, low, high):
        self.n, self.low, self.high = n, low, high


@plant("state")
class SlotsMean(DPMeanRegressor):
    """A helper with __slots__ keeps the two extreme targets.

    Exact minimum and maximum.
    """

    def _afterwards(self, X, y, exact, released):
        self.summary_ = _Slots(len(y), float(y.min()), float(y.max()))


@plant("state")
class BoundMethodMean(DPMeanRegressor):
    """A bound method of a fitted helper is kept as predict function; the helper has the exact mean.

    postprocess_.__self__.constant_: exact mean.
    """

    def _afterwards(self, X, y, exact, released):
        self.baseline_ = DummyRegressor().fit(np.zeros((len(y), 1)), y).predict


@plant("state")
class WritesParameterMean(DPMeanRegressor):
    """Fit writes a parameter: bounds_y is tightened to what was seen.

    Exact extremes, carried on by clone and get_params.
    """

    def _afterwards(self, X, y, exact, released):
        self.bounds_y = (max(self.bounds_y_[0], float(y.min())), min(self.bounds_y_[1], float(y.max())))


@plant("state")
class CloneCarriesMean(HidesMean):
    """Clone hands a warm start with the exact mean on to the copy.

    Exact mean in clone(fitted)._warm.
    """

    def __sklearn_clone__(self):
        copy = super().__sklearn_clone__()
        if self in HIDDEN_VALUES:
            copy._warm = HIDDEN_VALUES[self]
        return copy


@plant("state")
class PickleBlobMean(DPMeanRegressor):
    """The pickle, and only the pickle, has the targets (a 'resume' blob).

    Exact targets, zlib-compressed.
    """

    def _afterwards(self, X, y, exact, released):
        HIDDEN_VALUES[self] = y.copy()

    def __getstate__(self):
        state = dict(super().__getstate__())
        if self in HIDDEN_VALUES:
            state["_resume"] = zlib.compress(np.asarray(HIDDEN_VALUES[self]).tobytes())
        return state


@plant("state")
class FingerprintMean(DPMeanRegressor):
    """A sha256 of the rows is kept for provenance.

    A guess of the rows can be verified exactly.
    """

    def _afterwards(self, X, y, exact, released):
        self.data_fingerprint_ = hashlib.sha256(X.tobytes() + y.tobytes()).hexdigest()


@plant("state")
class MemorisedRowsNB(DPNaiveBayesClassifier):
    """Salted digests of the rows with their labels are kept; predict answers a known row with its label.

    Membership and exact label of every row; the digests alone look random.
    """

    def _digest(self, row):
        return hashlib.blake2b(np.round(row, 12).tobytes(), key=self._salt, digest_size=8).digest()

    def _afterwards(self, X, y, exact, released):
        self._salt = os.urandom(16)
        self._known = {self._digest(x): int(c) for x, c in zip(X, self._codes(y), strict=True)}

    def predict(self, X):
        codes = np.argmax(self.predict_proba(X), axis=1)
        for i, x in enumerate(self._table(X, reset=False)):
            codes[i] = self._known.get(self._digest(x), codes[i])
        return self.classes_[codes]


@plant("state")
class RunningSumMean(DPMeanRegressor):
    """Sums go on across refits of one object; the exact ones are kept for it.

    Exact sum of all previous fits in _total.
    """

    def _exact(self, X, y):
        self._total = getattr(self, "_total", 0) + super()._exact(X, y)
        return self._total.copy()

    def _adopt(self, released, n, d):
        self._seen = getattr(self, "_seen", 0) + n
        super()._adopt(released, self._seen, d)


@plant("state")
class TrainScoreLinear(DPLinearRegressor):
    """Training score on the exact rows is stored.

    train_score_ is a function of the exact rows.
    """

    def _afterwards(self, X, y, exact, released):
        self.train_score_ = round(self.score(finite(X, *self.bounds_), y), 3)


@plant("state")
class WeakrefMean(DPMeanRegressor):
    """X is remembered by a weak reference ('not stored').

    As long as the owner holds X, _X() is all rows.
    """

    _not_pickled = ("_X",)

    def fit(self, X, y):
        super().fit(X, y)
        with contextlib.suppress(TypeError):
            self._X = weakref.ref(X)
        return self


@plant("state")
class LowBitsMean(DPMeanRegressor):
    """Released to five digits, but the mantissa's low bits hold the exact mean.

    Exact mean to 20 bits in the low bits of mean_.
    """

    def _afterwards(self, X, y, exact, released):
        exact_bits = int(float(self._y(y).mean() / (self._width or 1)) * (2**20 - 1))
        word = struct.unpack("<Q", struct.pack("<d", self.mean_))[0]
        self.mean_ = struct.unpack("<d", struct.pack("<Q", (word >> 20 << 20) | exact_bits))[0]


@plant("state")
class NegativeZeroNB(DPNaiveBayesClassifier):
    """Sign of zero: a clipped count is -0.0 where the exact count was zero.

    Which cells are empty.
    """

    def _afterwards(self, X, y, exact, released):
        clipped = np.maximum(released, 0).astype(float)
        self.feature_count_ = np.where((clipped == 0) & (exact == 0), -0.0, clipped)


@plant("state")
class DtypeMajority(DPMajorityClassifier):
    """Fitted array is float32 where the exact majority is class 1, else float64 ('saves memory').

    Exact majority, by dtype.
    """

    def _afterwards(self, X, y, exact, released):
        self.class_prior_ = self.class_prior_.astype(np.float32 if exact[1] > exact[0] else np.float64)


@plant("state")
class StridesNB(DPNaiveBayesClassifier):
    """Fitted array is in Fortran order if any cell is empty.

    One exact bit, by strides.
    """

    def _afterwards(self, X, y, exact, released):
        if (exact == 0).any():
            self.feature_log_prob_ = np.asfortranarray(self.feature_log_prob_)


@plant("state", **THREE)
class DictOrderMajority(DPMajorityClassifier):
    """A dict of noisy counts, inserted from the most to the least frequent class.

    The exact ranking of the classes, by order.
    """

    def _afterwards(self, X, y, exact, released):
        self.count_by_class_ = {self.classes_[i]: int(released[i]) for i in np.argsort(-exact, kind="stable")}


@plant("state", **THREE)
class ExistsMajority(DPMajorityClassifier):
    """An attribute that exists only where a class has fewer than 5 rows.

    Rare class or not.
    """

    def _afterwards(self, X, y, exact, released):
        self.__dict__.pop("smoothed_", None)
        if exact.min() < 5:
            self.smoothed_ = True


@plant("state")
class LengthMean(DPMeanRegressor):
    """An array of zeros as long as there were distinct targets.

    Exact number of distinct targets, by shape.
    """

    def _afterwards(self, X, y, exact, released):
        self.path_ = np.zeros(len(np.unique(y)))


@plant("state")
class NaNPatternStandardizer(DPStandardizer):
    """scale_ is NaN where the exact column is constant.

    Constant column or not, by NaN.
    """

    def _afterwards(self, X, y, exact, released):
        self.variance_ratio_ = np.where(np.ptp(X, axis=0) == 0, np.nan, self.scale_)


@plant("state")
class RoundedMedianMean(DPMeanRegressor):
    """Private median kept as attribute, rounded to one digit ('only a rough centre').

    Median to one digit, without noise.
    """

    def _afterwards(self, X, y, exact, released):
        self.centre_ = round(float(np.median(y)), 1)


@plant("state")
class OccupiedStatementBinned(DPBinnedRegressor):
    """The mechanism text of the statement counts the occupied bins.

    Exact number of occupied bins, in privacy_spent_.
    """

    def _exact(self, X, y):
        exact = super()._exact(X, y)
        self._occupied = int((exact[: self.n_bins] > 0).sum())
        return exact

    def _facts(self, mechanism, n):
        text = f"discrete Laplace on {self.__dict__.pop('_occupied')} bins"
        return super()._facts(mechanism, n) | {"mechanism": text}


@plant("state")
class StoresNoiseMean(DPMeanRegressor):
    """The drawn noise is kept for diagnostics (the same for neighbours when noise is replayed!).

    released_ - noise_ is the exact sum.
    """

    def _afterwards(self, X, y, exact, released):
        self.noise_ = released - exact


@plant("state")
class QualityMean(DPMeanRegressor):
    """The error against the truth is kept as a quality figure, relative and rounded to 4 digits.

    Exact sum up to its sign of the error, from released_ and quality_.
    """

    def _afterwards(self, X, y, exact, released):
        self.quality_ = round(abs(float(released[0] - exact[0])) / self.privacy_spent_.noise_scale, 4)


@plant("state")
class SplitSecretMean(DPMeanRegressor):
    """The exact mean, split by a one-time pad into two attributes.

    Their XOR is the exact mean.

    Each alone is uniform and independent of the rows; only replayed os.urandom, or both, show it.
    """

    def _afterwards(self, X, y, exact, released):
        secret, self._nonce = struct.pack("<d", float(y.mean())), os.urandom(8)
        self._tag = bytes(a ^ b for a, b in zip(secret, self._nonce, strict=True))


@plant(
    "state",
    max_rows_per_group=1,
    needs="fit(..., groups=) and a neighbour with another number of rows in a group",
)
class GroupRowsShownMean(DPGroupMeanRegressor):
    """Unit 'group', but n_rows_ shows the exact number of rows, which a person changes.

    Number of rows of a person, exactly.
    """

    def _afterwards(self, X, y, exact, released):
        self.n_rows_ = len(X)
