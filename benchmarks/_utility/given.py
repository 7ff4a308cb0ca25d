# SPDX-License-Identifier: BSD-3-Clause
"""Finished models that predict given values, and exact figures of these values."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import balanced_accuracy_score, roc_auc_score

from .scores import LEAST

FloatArray = NDArray[np.float64]


def as_model(values: FloatArray, of_labels: bool) -> tuple[Any, FloatArray]:
    """Return a finished model, and the rows of which it predicts these probabilities of label 1, or numbers.

    A linear model, since `private_evaluate` asks others about one row at a time.
    """
    X = logit(np.clip(values, LEAST, 1 - LEAST)) if of_labels else values
    model: Any = LogisticRegression() if of_labels else LinearRegression()
    model.n_features_in_, model.classes_ = 1, np.array([0, 1])
    model.coef_, model.intercept_ = (np.ones((1, 1)), np.zeros(1)) if of_labels else (np.ones(1), 0.0)
    return model, X[:, np.newaxis]


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
    log_odds = logit(values)[:, np.newaxis]
    if np.ptp(log_odds) == 0:
        return np.nan
    # Nothing is penalised.
    return float(LogisticRegression(C=np.inf, tol=1e-8, max_iter=1000).fit(log_odds, y).coef_[0, 0])
