# SPDX-License-Identifier: BSD-3-Clause
"""Scores of predicted labels, probabilities and numbers, and how paired scores differ."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import roc_auc_score

from .._tables import standard_error
from .method import Prediction

# The least probability that log loss is taken of; rows below it are counted in a column of their own.
LEAST = 1e-15
# Standard errors of a paired difference beyond which it counts.
ERRORS = 2.0
# Differences of equal scores, in floating point, are no difference.
ROUNDING = 1e-9


def score(prediction: Prediction, y: NDArray[Any]) -> dict[str, float]:
    """Return the scores of labels or of numbers, the seconds of the fit, and whether it warned.

    Seconds and the coverage of intervals are left out where nobody measured them.
    """
    scores = of_numbers(prediction.labels, y) if prediction.proba is None else of_labels(prediction, y)
    measured = {"seconds": prediction.seconds, "coverage": prediction.coverage}
    scores |= {name: value for name, value in measured.items() if np.isfinite(value)}
    return scores | {"warned": float(prediction.warned)}


def of_numbers(found: NDArray[Any], y: NDArray[Any]) -> dict[str, float]:
    """Return the share of explained variance and the root mean squared error."""
    squared = np.mean((found - y) ** 2)
    return {"r2": float(1 - squared / y.var()), "rmse": float(np.sqrt(squared))}


def of_labels(prediction: Prediction, y: NDArray[Any]) -> dict[str, float]:
    """Return accuracy, log loss, AUC, and the shares of rows with a probability of 0 or 1.

    Labels are 0, 1, ... and number the columns. AUC is that of label 1, with more labels the mean over labels
    of one against the rest. ``sure``: rows with a probability of exactly 0 or 1; ``sure_wrong``: rows whose
    own label has probability 0, or no number, which log loss takes for 1e-15.
    """
    given = np.asarray(prediction.proba)
    proba = np.nan_to_num(given)
    own = proba[np.arange(len(y)), y]
    return {
        "accuracy": float(np.mean(prediction.labels == y)),
        "log_loss": float(-np.log(np.maximum(own, LEAST)).mean()),
        "auc": area(proba, y),
        "sure": float(np.mean(((given == 0) | (given == 1)).any(axis=1))),
        "sure_wrong": float(np.mean(own < LEAST)),
    }


def area(proba: NDArray[np.float64], y: NDArray[Any]) -> float:
    """Return the area under the ROC curve; labels without a test row are left out of the mean."""
    columns = (1,) if proba.shape[1] == 2 else range(proba.shape[1])
    areas = [roc_auc_score(y == k, proba[:, k]) for k in columns if 0 < np.sum(y == k) < len(y)]
    return float(np.mean(areas)) if areas else np.nan


def error_of(found: ArrayLike) -> float:
    """Return the standard error of a mean of two or more values."""
    return float(standard_error(found)) if np.size(found) > 1 else np.nan


def is_above(found: ArrayLike) -> bool:
    """Whether the mean of paired differences is above 0 by more than two standard errors."""
    return np.size(found) > 1 and bool(np.mean(found) > ERRORS * error_of(found) + ROUNDING)


def mean_text(values: ArrayLike, digits: int = 3, sign: str = "") -> str:
    """Return the mean of one or more values, and its standard error."""
    mean = f"{np.mean(values):{sign}.{digits}f}"
    return f"{mean} ±{error_of(values):.{digits}f}" if np.size(values) > 1 else mean
