# SPDX-License-Identifier: BSD-3-Clause
"""Predictions of a fitted model: median, mean, quantiles with intervals, survival curves, score."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_consistent_length

from ..._typing import FloatArray
from ...base import redact_errors
from ...rounds._plans.observations import CODES
from ...rounds._reading.targets import find_roles, read_target
from ...utils import is_structured
from .acceleration import AccelerationFactors
from .concordance import concordance_index
from .curves import CurvePredictions
from .quantiles import QuantilePredictions


class LogLocationScalePredictions(QuantilePredictions, CurvePredictions, AccelerationFactors):
    """Predictions of the regressors: functions of released values, at no further privacy cost."""

    def predict(self, X: ArrayLike) -> FloatArray:
        """Predict the median.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        medians : ndarray of shape (n_samples,)
            In the units of y as passed to fit.
        """
        return self.predict_quantile(X, 0.5)

    def predict_mean(self, X: ArrayLike) -> FloatArray:
        """Predict the mean.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        means : ndarray of shape (n_samples,)
            In the units of y as passed to fit. The mean of a log-logistic time is infinite where ``scale_``
            is 1 or more.
        """
        _, location = self._locations(X)
        if self.log_target_:
            return self.error_distribution_.mean_of_exp(location, self.scale_)
        return location + self.scale_ * self.error_distribution_.mean

    @redact_errors
    def score(self, X: ArrayLike, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """Score the predicted medians.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Numbers, or events and times as in fit.
        sample_weight : array-like of shape (n_samples,), default=None
            With numbers only.

        Returns
        -------
        score : float
            Numbers: R^2. Events and times: Harrell's concordance index, with ties as in scikit-survival: its
            ``concordance_index_censored(event, time, -predict(X))[0]``; nan where no pair is comparable. With
            entries, an event is compared with the rows that were watched at its time.

        Raises
        ------
        TypeError, ValueError
            Unusable rows or target; weights with events and times; lower and upper ends, of which it is not
            known which event came first.

        Notes
        -----
        **Privacy**: a score is an exact function of the rows that are passed. Nothing protects these rows.
        """
        if not is_structured(y):
            return super().score(X, y, sample_weight)  # type: ignore[misc]
        if sample_weight is not None:
            raise ValueError("sample_weight is for a numeric y; the concordance index takes no weights.")
        if "lower" in find_roles(y):
            raise ValueError(
                "a target of lower and upper ends has no score: of overlapping intervals it is not known "
                "which event came first. Score rows of events and times."
            )
        target = read_target(y, self.log_target_)
        medians = self.predict(X)
        check_consistent_length(medians, target.event)
        seen = np.asarray(target.event) == CODES["exact"]
        return concordance_index(seen, target.time_on_model_scale, medians, target.entry)
