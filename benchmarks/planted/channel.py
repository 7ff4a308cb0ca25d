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

from .hidden_values import HIDDEN_VALUES
from .honest_classifiers import DPMajorityClassifier, DPStandardizer
from .honest_regressors import DPMeanRegressor
from .records import THREE, plant


@plant("channel", "the class object keeps the last exact sum", "type(est)._last_exact")
class ClassAttributeMean(DPMeanRegressor):
    _last_exact = None

    def _exact(self, X, y):
        exact = super()._exact(X, y)
        type(self)._last_exact = exact.tolist()
        return exact


@plant(
    "channel",
    "a property that is not in vars() computes from a module-level registry of exact means",
    "exact mean as training_mean_",
)
class RegistryPropertyMean(DPMeanRegressor):
    def _finish(self, X, y, exact, released):
        super()._finish(X, y, exact, released)
        HIDDEN_VALUES[self] = float(y.mean())

    @property
    def training_mean_(self):
        return HIDDEN_VALUES.get(self)


@plant(
    "channel",
    "__getattr__ answers an undocumented name with the exact mean",
    "exact mean as est.oob_",
    hard="a name that no dir() shows",
)
class GetattrMean(DPMeanRegressor):
    def _finish(self, X, y, exact, released):
        super()._finish(X, y, exact, released)
        HIDDEN_VALUES[self] = float(y.mean())

    def __getattr__(self, name):
        if name == "oob_" and self in HIDDEN_VALUES:
            return HIDDEN_VALUES[self]
        raise AttributeError(name)


@plant(
    "channel",
    "a mutable default argument of a helper collects the targets",
    "all targets of all fits in __defaults__",
)
class MutableDefaultMean(DPMeanRegressor):
    def _exact(self, X, y, history=[]):  # noqa: B006 the bug
        history.append(np.array(y))
        del history[:-50]
        return super()._exact(X, y)


@functools.lru_cache(maxsize=64)
def _sum_of(values):
    return sum(values)


@plant(
    "channel",
    "exact sums are cached by lru_cache on the tuple of targets",
    "cache_info() tells whether the same targets were fitted before; the keys hold them",
    hard="only gc or cache_info of a function of the module shows it",
)
class LruMean(DPMeanRegressor):
    def _exact(self, X, y):
        return np.array([_sum_of(tuple(self._units(self._y(y)).tolist()))])


_PROGRESS: contextvars.ContextVar = contextvars.ContextVar("progress", default=None)


@plant(
    "channel",
    "a context variable of the module keeps the exact sum",
    "exact sum",
    hard="a context variable of a module, unknown by name",
)
class ContextVarMean(DPMeanRegressor):
    def _exact(self, X, y):
        exact = super()._exact(X, y)
        _PROGRESS.set(exact.tolist())
        return exact


@plant("channel", "repr shows the exact number of positive rows", "exact count")
class ReprMajority(DPMajorityClassifier):
    def _finish(self, X, y, exact, released):
        super()._finish(X, y, exact, released)
        HIDDEN_VALUES[self] = int(exact[1])

    def __repr__(self, **more):
        seen = HIDDEN_VALUES.get(self)
        return super().__repr__(**more) + ("" if seen is None else f" fitted on {seen} positives")


@plant("channel", "the HTML diagram alone has the exact mean in a tooltip", "exact mean")
class HtmlMean(DPMeanRegressor):
    def _finish(self, X, y, exact, released):
        super()._finish(X, y, exact, released)
        HIDDEN_VALUES[self] = float(y.mean())

    def _html_repr(self):
        mean = HIDDEN_VALUES.get(self)
        return super()._html_repr() + ("" if mean is None else f'<i title="{mean:.17g}"></i>')


@plant(
    "channel",
    "names of the output features are suffixed by the exact dominant column",
    "which column has the largest exact variance",
)
class FeatureNamesStandardizer(DPStandardizer):
    def _finish(self, X, y, exact, released):
        super()._finish(X, y, exact, released)
        HIDDEN_VALUES[self] = int(X.var(axis=0).argmax())

    def get_feature_names_out(self, input_features=None):
        names = np.asarray(super().get_feature_names_out(input_features), dtype=object)
        if self in HIDDEN_VALUES:
            names[HIDDEN_VALUES[self]] = f"{names[HIDDEN_VALUES[self]]}_main"
        return names


@plant(
    "channel",
    "tags say multi_class only if three classes were seen",
    "whether the third class occurs",
    **THREE,
)
class TagsMajority(DPMajorityClassifier):
    def _finish(self, X, y, exact, released):
        super()._finish(X, y, exact, released)
        HIDDEN_VALUES[self] = int((exact > 0).sum())

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = HIDDEN_VALUES.get(self, 3) > 2
        return tags


@plant(
    "channel",
    "warns how many values were clipped",
    "exact count of values outside the bounds",
    needs="values outside the bounds",
)
class WarnClippedStandardizer(DPStandardizer):
    def _exact(self, X, y):
        clipped = int(((self.bounds_[0] > X) | (self.bounds_[1] < X)).sum())
        if clipped:
            warnings.warn(f"{clipped} values were clipped to the bounds", UserWarning, stacklevel=2)
        return super()._exact(X, y)


@plant("channel", "logs the exact sums at level DEBUG", "exact sum in the log records")
class DebugLogMean(DPMeanRegressor):
    def _exact(self, X, y):
        exact = super()._exact(X, y)
        logging.getLogger("thirdparty.dp").debug("moments %s", exact.tolist())
        return exact


@plant("channel", "prints to stderr when a class has fewer than 5 rows", "rare class or not", **THREE)
class StderrMajority(DPMajorityClassifier):
    def _exact(self, X, y):
        counts = super()._exact(X, y)
        if counts.min() < 5:
            print("note: some class is rare, consider a larger epsilon", file=sys.stderr)
        return counts


@plant(
    "channel", "an unknown label is named in the error", "the label of a row", needs="a label outside classes"
)
class NamesLabelMajority(DPMajorityClassifier):
    def _exact(self, X, y):
        for label in np.asarray(y).tolist():
            if label not in self.classes_.tolist():
                raise ValueError(f"y contains the label {label!r}, which is not among classes")
        return super()._exact(X, y)


@plant("channel", "fit refuses a constant target", "whether all targets are equal, at no cost")
class RefusesConstantMean(DPMeanRegressor):
    def _exact(self, X, y):
        if np.ptp(y) == 0:
            raise ValueError("the target is constant")
        return super()._exact(X, y)


@plant(
    "channel", "a checkpoint of the exact moments is left in the temporary directory", "exact sum in a file"
)
class TempFileMean(DPMeanRegressor):
    def _exact(self, X, y):
        exact = super()._exact(X, y)
        np.save(os.path.join(tempfile.gettempdir(), "dpmean_checkpoint.npy"), exact)
        return exact


def _joblib_moments(values):
    return int(values.sum())


@plant(
    "channel",
    "exact sums are memoised on disk by joblib.Memory",
    "exact sum in a file, keyed by a hash of the rows",
)
class JoblibMemoryMean(DPMeanRegressor):
    def _exact(self, X, y):
        memory = joblib.Memory(os.path.join(tempfile.gettempdir(), "dpmean_memory"), verbose=0)
        return np.array([memory.cache(_joblib_moments)(self._units(self._y(y)))])


@plant(
    "channel",
    "an environment variable for child processes holds the exact number of positives",
    "exact count",
)
class EnvironMajority(DPMajorityClassifier):
    def _exact(self, X, y):
        counts = super()._exact(X, y)
        os.environ["DP_MAJORITY_HINT"] = str(int(counts[1]))
        return counts


@plant("channel", "np.random is seeded with the exact sum", "the next np.random draw tells it")
class GlobalRngMean(DPMeanRegressor):
    def _exact(self, X, y):
        exact = super()._exact(X, y)
        np.random.seed(int(exact[0]) % 2**32)  # noqa: NPY002 the bug
        return exact


_WORKERS: list = []


@plant(
    "channel",
    "a daemon thread, waiting for ever, is named after the exact count of positives",
    "exact count in threading.enumerate()",
)
class ThreadNameMajority(DPMajorityClassifier):
    def _exact(self, X, y):
        counts = super()._exact(X, y)
        if not _WORKERS:
            _WORKERS.append(threading.Thread(target=threading.Event().wait, daemon=True))
            _WORKERS[0].start()
        _WORKERS[0].name = f"dp-worker-{counts[1]}"
        return counts


@plant(
    "channel",
    "the ledger's entry is labelled with the exact number of positives",
    "exact count in the ledger",
    needs="ledger",
)
class LedgerLabelMajority(DPMajorityClassifier):
    def _exact(self, X, y):
        counts = super()._exact(X, y)
        self._note = int(counts[1])
        return counts

    def charge(self, spent):
        note = self.__dict__.pop("_note")
        if self.ledger is not None:
            self.ledger.charge(spent, estimator=f"{type(self).__name__}[{note}/{spent.unprotected['rows']}]")


@plant(
    "channel",
    "the docstring of the class is extended by the exact mean of the last fit",
    "exact mean in type(est).__doc__",
)
class DocstringMean(DPMeanRegressor):
    """A private mean."""

    def _finish(self, X, y, exact, released):
        super()._finish(X, y, exact, released)
        type(self).__doc__ = f"A private mean (last fitted to {y.mean():.6f})."


@plant(
    "channel",
    "fit_transform standardises by the exact statistics, fit().transform() by the noisy ones",
    "exact mean and scale",
    needs="fit_transform",
)
class FitTransformStandardizer(DPStandardizer):
    def fit_transform(self, X, y=None, **fit_params):
        self.fit(X, y)
        X = np.asarray(X, dtype=float)
        return (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-6)


@plant(
    "channel",
    "predict(return_std=True) returns the exact standard deviation of the targets",
    "exact standard deviation",
    needs="call predict(X, return_std=True)",
)
class ReturnStdMean(DPMeanRegressor):
    def _finish(self, X, y, exact, released):
        super()._finish(X, y, exact, released)
        HIDDEN_VALUES[self] = float(y.std())

    def predict(self, X, return_std=False):
        mean = super().predict(X)
        return (mean, np.full(len(mean), HIDDEN_VALUES[self])) if return_std else mean


@plant(
    "channel",
    "score() compares with the stored exact mean of training, predict() is honest",
    "exact training mean through score of one constructed row",
    needs="score",
)
class ScoreMean(DPMeanRegressor):
    def _finish(self, X, y, exact, released):
        super()._finish(X, y, exact, released)
        HIDDEN_VALUES[self] = float(y.mean())

    def score(self, X, y, sample_weight=None):
        y = np.asarray(y, dtype=float)
        baseline = ((y - HIDDEN_VALUES[self]) ** 2).sum() or 1.0
        return 1 - ((y - self.predict(X)) ** 2).sum() / baseline


@plant(
    "channel",
    "warns when the noisy mean is off the true one by more than a scale",
    "one bit of the exact value beside the release; the same for neighbours under replay",
)
class OffWarningMean(DPMeanRegressor):
    def _finish(self, X, y, exact, released):
        super()._finish(X, y, exact, released)
        if abs(int(released[0] - exact[0])) > self.privacy_spent_.noise_scale:
            warnings.warn("the private mean is inaccurate: consider refitting", UserWarning, stacklevel=2)
