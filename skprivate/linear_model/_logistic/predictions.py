# SPDX-License-Identifier: BSD-3-Clause
"""Predictions of a fitted logistic regression: logits, classes, and their probabilities."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, log_expit
from sklearn.utils.validation import check_is_fitted

from ..._typing import FloatArray
from ...base import redact_errors
from ...base._domain_reading import DomainMixin
from ...metrics._row_arithmetic import log_softmax, products, softmax
from ...rounds._plans.grid import MomentGrid


class LogisticPredictions(DomainMixin):
    """Functions of released values, at no further privacy cost."""

    classes_: NDArray[Any]
    coef_: FloatArray
    intercept_: FloatArray
    bounds_: tuple[FloatArray, FloatArray]
    grid_: MomentGrid

    @redact_errors
    def decision_function(self, X: ArrayLike) -> FloatArray:
        """Return the logits of every row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            What lies outside the bounds is put within them, as in the fit.

        Returns
        -------
        logits : ndarray of shape (n_samples,), or (n_samples, n_classes)
            Two classes: the logit of the second. Several: logits that add up to 0.
        """
        check_is_fitted(self)
        rows = self.read_fitted(X)
        if self.grid_.x_norm is None:
            rows = np.clip(rows, *self.bounds_)
        logits: FloatArray = products(rows, self.coef_.T) + self.intercept_
        return logits[:, 0] if logits.shape[1] == 1 else logits

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the most probable class of every row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        logits = self.decision_function(X)
        return self.classes_[(logits > 0).astype(np.intp) if logits.ndim == 1 else logits.argmax(axis=1)]

    @redact_errors
    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Return the class probabilities of every row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            Columns in the order of ``classes_``.
        """
        logits = self.decision_function(X)
        if logits.ndim == 1:
            return np.column_stack([expit(-logits), expit(logits)])
        return softmax(logits)

    @redact_errors
    def predict_log_proba(self, X: ArrayLike) -> FloatArray:
        """Return the natural logarithms of what `predict_proba` returns.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        log_probabilities : ndarray of shape (n_samples, n_classes)
            Columns in the order of ``classes_``.
        """
        logits = self.decision_function(X)
        if logits.ndim == 1:
            return np.column_stack([log_expit(-logits), log_expit(logits)])
        return log_softmax(logits)
