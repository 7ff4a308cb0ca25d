# SPDX-License-Identifier: BSD-3-Clause
"""Finished models that have answered already, and exact figures of what they said."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score, roc_auc_score

from .scores import LEAST

FloatArray = NDArray[np.float64]


class GivenAnswers:
    """A finished model of labels 0 and 1, or of numbers: a row is the number of its answer.

    Parameters
    ----------
    answers : ndarray
        Probabilities of label 1, or numbers.
    of_labels : bool
    """

    def __init__(self, answers: FloatArray, of_labels: bool = True) -> None:
        self.answers = answers
        if of_labels:
            self.classes_ = np.array([0, 1])
            self.predict_proba = self._probabilities

    def predict(self, rows: NDArray[np.int64]) -> NDArray[Any]:
        found = self.answers[rows.ravel()]
        return (found > 0.5).astype(np.int64) if hasattr(self, "classes_") else found

    def _probabilities(self, rows: NDArray[np.int64]) -> FloatArray:
        second = self.answers[rows.ravel()]
        return np.column_stack([1 - second, second])


def exact(values: FloatArray, y: NDArray[Any], of_labels: bool, least: float = LEAST) -> dict[str, float]:
    """Return the figures of probabilities of label 1, or of numbers, by the names of `private_evaluate`.

    Losses and the slope take probabilities for no less than `least`, and for no more than 1 minus it.
    """
    if not of_labels:
        off = values - y
        return {"mae": float(np.abs(off).mean()), "rmse": float(np.sqrt(np.mean(off**2)))}
    p = np.clip(values, least, 1 - least)
    return {
        "accuracy": float(np.mean((values > 0.5) == y)),
        "balanced_accuracy": float(balanced_accuracy_score(y, values > 0.5)),
        "auc": float(roc_auc_score(y, p)),
        "brier": float(np.mean((p - y) ** 2)),
        "log_loss": float(-np.log(np.where(y == 1, p, 1 - p)).mean()),
        "calibration_in_the_large": float(np.mean(y - p)),
        "calibration_slope": _slope(p, y),
    }


def _slope(values: FloatArray, y: NDArray[Any]) -> float:
    """Return the slope of the logistic regression of the labels on the log-odds; NaN for a constant."""
    log_odds = (np.log(values) - np.log1p(-values))[:, np.newaxis]
    if np.ptp(log_odds) == 0:
        return np.nan
    # Nothing is penalised.
    return float(LogisticRegression(C=np.inf, tol=1e-8, max_iter=1000).fit(log_odds, y).coef_[0, 0])
