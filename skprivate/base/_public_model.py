# SPDX-License-Identifier: BSD-3-Clause
"""Models that public rows alone train: fitted, cross-fitted, and checked for what they predict."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from sklearn.base import clone

from .._typing import BoolArray, FloatArray
from ..metrics._row_arithmetic import log, row_totals, softmax
from ..metrics._rows_alone import aligned_copy

#: Nats by which cross-fitted predictions must raise the likelihood of public labels: noise that was learnt
#: raises it by about half a nat at most, through the temperature.
LEAST_GAIN = 2.0
#: Predictions that differ by less are constant.
SAME = 1e-6
# Parts of the public rows, each of which is predicted by a model that has not seen it.
_FOLDS = 5
# Bounds of a prediction: a model that has seen hundreds of rows cannot know more.
_LEAST_SHARE = 0.01
# Prior of the temperature, around 1: forests want up to 2, models that are fitted to noise want 0.
_TEMPERATURE_ERROR, _HIGHEST_TEMPERATURE = 0.5, 4.0


def fit_model(estimator: Any, X: FloatArray, labels: NDArray[Any]) -> Any:
    """Return a clone fitted to public rows; ValueError, with the model's reason, where it cannot be."""
    try:
        # A copy: some models work in place.
        return clone(estimator).fit(X.copy(), labels)
    except Exception as error:
        raise ValueError(f"public_model could not be fitted to the public rows: {error}") from error


def cross_fit_shares(
    estimator: Any, X: FloatArray, labels: NDArray[np.int32], classes: NDArray[Any]
) -> FloatArray:
    """Return predictions of every row by a model that was fitted to the other folds, stratified by label."""
    fold = np.empty(len(X), dtype=np.int64)
    fold[np.argsort(labels, kind="stable")] = np.arange(len(X)) % _FOLDS
    shares = np.empty((len(X), len(classes)))
    for number in range(_FOLDS):
        held: BoolArray = fold == number
        others = labels[~held]
        if len(np.unique(others)) < 2:
            counts = np.bincount(others, minlength=len(classes))
            shares[held] = bounded_shares(counts[np.newaxis] / max(len(others), 1))
        elif held.any():
            shares[held] = predict_shares(fit_model(estimator, X[~held], classes[others]), X[held], classes)
    return shares


def predict_shares(classifier: Any, X: FloatArray, classes: NDArray[Any]) -> FloatArray:
    """Return a classifier's probabilities of all classes, each at least 0.01 or so.

    Raises
    ------
    ValueError
        It predicts something else than probabilities of some of the classes.
    """
    try:
        found = np.asarray(classifier.predict_proba(aligned_copy(X)), dtype=np.float64)
        own = np.asarray(classifier.classes_)
        places = np.searchsorted(classes, own)
        known = own.ndim == 1 and len(np.unique(places)) == len(own)
        known = known and bool((classes[np.minimum(places, len(classes) - 1)] == own).all())
    except Exception as error:
        raise ValueError(f"public_model cannot predict probabilities of its classes: {error}") from error
    if not known or found.shape != (len(X), len(own)):
        raise ValueError("public_model must predict one column for each class that public rows have.")
    if not (
        np.isfinite(found).all() and (found >= 0).all() and np.allclose(found.sum(axis=1), 1.0, atol=1e-3)
    ):
        raise ValueError(
            "public_model predicts no probabilities: numbers from 0 to 1 that add to 1 in a row."
        )
    shares = np.zeros((len(X), len(classes)))
    shares[:, places] = found
    return bounded_shares(shares)


def bounded_shares(shares: FloatArray) -> FloatArray:
    """Return probabilities that are at least 0.01 or so, and add up to 1 in a row."""
    least = _LEAST_SHARE * 2 / shares.shape[1]
    bounded = np.maximum(shares, least)
    return bounded / row_totals(bounded)


def fit_temperature(shares: FloatArray, labels: NDArray[np.int32]) -> float:
    """Return the temperature of highest posterior, 0 to 4, by the log loss of cross-fitted predictions."""

    def loss(temperature: float) -> float:
        fitted = tempered(shares, temperature)[np.arange(len(labels)), labels]
        prior = (temperature - 1.0) ** 2 / (2 * _TEMPERATURE_ERROR**2)
        return prior - float(np.sum(np.log(fitted)))

    return float(minimize_scalar(loss, bounds=(0.0, _HIGHEST_TEMPERATURE), method="bounded").x)


def log_likelihood_gain(shares: FloatArray, labels: NDArray[np.int32]) -> float:
    """Return by how much predictions raise the log-likelihood of labels over that of their base rate."""
    base = np.bincount(labels, minlength=shares.shape[1]) / len(labels)
    return float(np.sum(np.log(shares[np.arange(len(labels)), labels]) - np.log(base[labels])))


def tempered(shares: FloatArray, temperature: float) -> FloatArray:
    """Return probabilities whose logarithms are multiplied by a temperature."""
    return bounded_shares(softmax(temperature * log(shares)))
