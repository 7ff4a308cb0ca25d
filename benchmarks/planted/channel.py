# SPDX-License-Identifier: BSD-3-Clause
"""Bugs of channel: exact values leave beside the fitted attributes."""

import contextvars
import functools
import logging
import os
import sys
import tempfile
import threading
import warnings

import joblib
import numpy as np

from .hidden_values import HIDDEN_VALUES, HidesMean
from .honest_classifiers import DPMajorityClassifier, DPStandardizer
from .honest_regressors import DPMeanRegressor
from .records import THREE, plant


@plant("channel")
class ClassAttributeMean(DPMeanRegressor):
    """The class object keeps the last exact sum.

    type(est)._last_exact.
    """

    _last_exact = None

    def _afterwards(self, X, y, exact, released):
        type(self)._last_exact = exact.tolist()


@plant("channel")
class RegistryPropertyMean(HidesMean):
    """A property that is not in vars() computes from a module-level registry of exact means.

    Exact mean as training_mean_.
    """

    @property
    def training_mean_(self):
        return HIDDEN_VALUES.get(self)


@plant("channel")
class GetattrMean(HidesMean):
    """__getattr__ answers an undocumented name with the exact mean.

    Exact mean as est.oob_.

    A name that no dir() shows.
    """

    def __getattr__(self, name):
        if name == "oob_" and self in HIDDEN_VALUES:
            return HIDDEN_VALUES[self]
        raise AttributeError(name)


@plant("channel")
class MutableDefaultMean(DPMeanRegressor):
    """A mutable default argument of a helper collects the targets.

    All targets of all fits in __defaults__.
    """

    def _exact(self, X, y, history=[]):  # noqa: B006 the bug
        history.append(np.array(y))
        del history[:-50]
        return super()._exact(X, y)


@functools.lru_cache(maxsize=64)
def _sum_of(values):
    return sum(values)


@plant("channel")
class LruMean(DPMeanRegressor):
    """Exact sums are cached by lru_cache on the tuple of targets.

    cache_info() tells whether the same targets were fitted before; the keys hold them.

    Only gc or cache_info of a function of the module shows it.
    """

    def _exact(self, X, y):
        return np.array([_sum_of(tuple(self._units(self._y(y)).tolist()))])


_PROGRESS: contextvars.ContextVar = contextvars.ContextVar("progress", default=None)


@plant("channel")
class ContextVarMean(DPMeanRegressor):
    """A context variable of the module keeps the exact sum.

    Exact sum.

    A context variable of a module, unknown by name.
    """

    def _afterwards(self, X, y, exact, released):
        _PROGRESS.set(exact.tolist())


@plant("channel")
class ReprMajority(DPMajorityClassifier):
    """Repr shows the exact number of positive rows.

    Exact count.
    """

    def _afterwards(self, X, y, exact, released):
        HIDDEN_VALUES[self] = int(exact[1])

    def __repr__(self, **more):
        seen = HIDDEN_VALUES.get(self)
        return super().__repr__(**more) + ("" if seen is None else f" fitted on {seen} positives")


@plant("channel")
class HtmlMean(HidesMean):
    """The HTML diagram alone has the exact mean in a tooltip.

    Exact mean.
    """

    def _html_repr(self):
        mean = HIDDEN_VALUES.get(self)
        return super()._html_repr() + ("" if mean is None else f'<i title="{mean:.17g}"></i>')


@plant("channel")
class FeatureNamesStandardizer(DPStandardizer):
    """Names of the output features are suffixed by the exact dominant column.

    Which column has the largest exact variance.
    """

    def _afterwards(self, X, y, exact, released):
        HIDDEN_VALUES[self] = int(X.var(axis=0).argmax())

    def get_feature_names_out(self, input_features=None):
        names = np.asarray(super().get_feature_names_out(input_features), dtype=object)
        if self in HIDDEN_VALUES:
            names[HIDDEN_VALUES[self]] = f"{names[HIDDEN_VALUES[self]]}_main"
        return names


@plant("channel", **THREE)
class TagsMajority(DPMajorityClassifier):
    """Tags say multi_class only if three classes were seen.

    Whether the third class occurs.
    """

    def _afterwards(self, X, y, exact, released):
        HIDDEN_VALUES[self] = int((exact > 0).sum())

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = HIDDEN_VALUES.get(self, 3) > 2
        return tags


@plant("channel", needs="values outside the bounds")
class WarnClippedStandardizer(DPStandardizer):
    """Warns how many values were clipped.

    Exact count of values outside the bounds.
    """

    def _exact(self, X, y):
        clipped = int(((self.bounds_[0] > X) | (self.bounds_[1] < X)).sum())
        if clipped:
            warnings.warn(f"{clipped} values were clipped to the bounds", UserWarning, stacklevel=2)
        return super()._exact(X, y)


@plant("channel")
class DebugLogMean(DPMeanRegressor):
    """Logs the exact sums at level DEBUG.

    Exact sum in the log records.
    """

    def _afterwards(self, X, y, exact, released):
        logging.getLogger("thirdparty.dp").debug("moments %s", exact.tolist())


@plant("channel", **THREE)
class StderrMajority(DPMajorityClassifier):
    """Prints to stderr when a class has fewer than 5 rows.

    Rare class or not.
    """

    def _afterwards(self, X, y, exact, released):
        if exact.min() < 5:
            print("note: some class is rare, consider a larger epsilon", file=sys.stderr)


@plant("channel", needs="a label outside classes")
class NamesLabelMajority(DPMajorityClassifier):
    """An unknown label is named in the error.

    The label of a row.
    """

    def _exact(self, X, y):
        for label in np.asarray(y).tolist():
            if label not in self.classes_.tolist():
                raise ValueError(f"y contains the label {label!r}, which is not among classes")
        return super()._exact(X, y)


@plant("channel")
class RefusesConstantMean(DPMeanRegressor):
    """Fit refuses a constant target.

    Whether all targets are equal, at no cost.
    """

    def _exact(self, X, y):
        if np.ptp(y) == 0:
            raise ValueError("the target is constant")
        return super()._exact(X, y)


@plant("channel")
class TempFileMean(DPMeanRegressor):
    """A checkpoint of the exact moments is left in the temporary directory.

    Exact sum in a file.
    """

    def _afterwards(self, X, y, exact, released):
        np.save(os.path.join(tempfile.gettempdir(), "dpmean_checkpoint.npy"), exact)


def _joblib_moments(values):
    return int(values.sum())


@plant("channel")
class JoblibMemoryMean(DPMeanRegressor):
    """Exact sums are memoised on disk by joblib.Memory.

    Exact sum in a file, keyed by a hash of the rows.
    """

    def _exact(self, X, y):
        memory = joblib.Memory(os.path.join(tempfile.gettempdir(), "dpmean_memory"), verbose=0)
        return np.array([memory.cache(_joblib_moments)(self._units(self._y(y)))])


@plant("channel")
class EnvironMajority(DPMajorityClassifier):
    """An environment variable for child processes holds the exact number of positives.

    Exact count.
    """

    def _afterwards(self, X, y, exact, released):
        os.environ["DP_MAJORITY_HINT"] = str(int(exact[1]))


@plant("channel")
class GlobalRngMean(DPMeanRegressor):
    """Np.random is seeded with the exact sum.

    The next np.random draw tells it.
    """

    def _afterwards(self, X, y, exact, released):
        np.random.seed(int(exact[0]) % 2**32)  # noqa: NPY002 the bug


_WORKERS: list = []


@plant("channel")
class ThreadNameMajority(DPMajorityClassifier):
    """A daemon thread, waiting for ever, is named after the exact count of positives.

    Exact count in threading.enumerate().
    """

    def _afterwards(self, X, y, exact, released):
        if not _WORKERS:
            _WORKERS.append(threading.Thread(target=threading.Event().wait, daemon=True))
            _WORKERS[0].start()
        _WORKERS[0].name = f"dp-worker-{exact[1]}"


@plant("channel", needs="ledger")
class LedgerLabelMajority(DPMajorityClassifier):
    """The ledger's entry is labelled with the exact number of positives.

    Exact count in the ledger.
    """

    def _exact(self, X, y):
        counts = super()._exact(X, y)
        self._note = int(counts[1])
        return counts

    def charge(self, spent):
        note = self.__dict__.pop("_note")
        if self.ledger is not None:
            self.ledger.charge(spent, estimator=f"{type(self).__name__}[{note}/{spent.unprotected['rows']}]")


@plant("channel")
class DocstringMean(DPMeanRegressor):
    """The docstring of the class is extended by the exact mean of the last fit.

    Exact mean in type(est).__doc__.
    """

    """A private mean."""

    def _afterwards(self, X, y, exact, released):
        type(self).__doc__ = f"A private mean (last fitted to {y.mean():.6f})."


@plant("channel", needs="fit_transform")
class FitTransformStandardizer(DPStandardizer):
    """fit_transform standardises by the exact statistics, fit().transform() by the noisy ones.

    Exact mean and scale.
    """

    def fit_transform(self, X, y=None, **fit_params):
        self.fit(X, y)
        X = np.asarray(X, dtype=float)
        return (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-6)


@plant("channel", needs="call predict(X, return_std=True)")
class ReturnStdMean(DPMeanRegressor):
    """predict(return_std=True) returns the exact standard deviation of the targets.

    Exact standard deviation.
    """

    def _afterwards(self, X, y, exact, released):
        HIDDEN_VALUES[self] = float(y.std())

    def predict(self, X, return_std=False):
        mean = super().predict(X)
        return (mean, np.full(len(mean), HIDDEN_VALUES[self])) if return_std else mean


@plant("channel", needs="score")
class ScoreMean(HidesMean):
    """score() compares with the stored exact mean of training, predict() is honest.

    Exact training mean through score of one constructed row.
    """

    def score(self, X, y, sample_weight=None):
        y = np.asarray(y, dtype=float)
        baseline = ((y - HIDDEN_VALUES[self]) ** 2).sum() or 1.0
        return 1 - ((y - self.predict(X)) ** 2).sum() / baseline


@plant("channel")
class OffWarningMean(DPMeanRegressor):
    """Warns when the noisy mean is off the true one by more than a scale.

    One bit of the exact value beside the release; the same for neighbours under replay.
    """

    def _afterwards(self, X, y, exact, released):
        if abs(int(released[0] - exact[0])) > self.privacy_spent_.noise_scale:
            warnings.warn("the private mean is inaccurate: consider refitting", UserWarning, stacklevel=2)
