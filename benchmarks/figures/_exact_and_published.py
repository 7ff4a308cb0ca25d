# SPDX-License-Identifier: BSD-3-Clause
"""Figures of a finished model on test rows: exactly, and as `private_evaluate` publishes them."""

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from .._utility.scores import LEAST
from ._kept_predictions import Estimate

#: Figures of labels and of numbers, and those of which less is better.
OF_LABELS = ("accuracy", "auc", "log_loss", "calibration_slope")
OF_NUMBERS = ("mae", "rmse")
LOSSES = ("log_loss", "mae", "rmse")

# `private_evaluate` says that it takes probabilities for no nearer to 0 and 1.
CLIP = 1e-3

FloatArray = NDArray[np.float64]


def exact(values: FloatArray, y: NDArray[Any], of_labels: bool, least: float = LEAST) -> dict[str, float]:
    """Return the figures of probabilities of label 1, or of numbers.

    Probabilities are taken for no less than `least`, and for no more than 1 minus it.
    """
    if not of_labels:
        off = values - y
        return {"mae": float(np.abs(off).mean()), "rmse": float(np.sqrt(np.mean(off**2)))}
    own = np.where(y == 1, values, 1 - values)
    return {
        "accuracy": float(np.mean((values > 0.5) == y)),
        "auc": float(roc_auc_score(y, values)),
        "log_loss": float(-np.log(np.maximum(own, least)).mean()),
        "calibration_slope": _slope(np.clip(values, least, 1 - least), y),
    }


def _slope(values: FloatArray, y: NDArray[Any]) -> float:
    """Return the slope of the logistic regression of the labels on the log-odds; NaN for a constant."""
    log_odds = (np.log(values) - np.log1p(-values))[:, np.newaxis]
    if np.ptp(log_odds) == 0:
        return np.nan
    # Nothing is penalised.
    return float(LogisticRegression(C=np.inf, tol=1e-8, max_iter=1000).fit(log_odds, y).coef_[0, 0])


class _Given(BaseEstimator):
    """A finished model elsewhere, which has answered already: a row is the number of its answer."""

    def __init__(self, values: FloatArray) -> None:
        self.values = values

    def fit(self, X: Any = None, y: Any = None) -> Self:
        self.n_features_in_ = 1
        return self

    def _answers(self, X: Any) -> FloatArray:
        return self.values[np.asarray(X)[:, 0].astype(np.int64)]


class GivenProbabilities(ClassifierMixin, _Given):
    """Of label 1."""

    classes_ = np.array([0, 1])

    def predict_proba(self, X: Any) -> FloatArray:
        second = self._answers(X)
        return np.column_stack([1 - second, second])

    def predict(self, X: Any) -> NDArray[np.int64]:
        return (self._answers(X) > 0.5).astype(np.int64)


class GivenNumbers(RegressorMixin, _Given):
    """Predicted numbers."""

    def predict(self, X: Any) -> FloatArray:
        return self._answers(X)


def publish(
    values: FloatArray, y: NDArray[Any], rows: NDArray[np.int64], epsilon: float, known: dict[str, Any]
) -> dict[str, Estimate]:
    """Return what `private_evaluate` publishes of some test rows, with intervals."""
    from skprivate import private_evaluate

    of_labels = not known
    model: _Given = GivenProbabilities(values) if of_labels else GivenNumbers(values)
    with warnings.catch_warnings():
        # That a figure of a poor model cannot be said is in the table.
        warnings.simplefilter("ignore")
        found = private_evaluate(model.fit(), rows[:, np.newaxis], y[rows], epsilon, **known)
    names = OF_LABELS if of_labels else OF_NUMBERS
    estimates = {name: getattr(found, name) for name in names}
    return {name: (one.value, one.lower, one.upper) for name, one in estimates.items()}
