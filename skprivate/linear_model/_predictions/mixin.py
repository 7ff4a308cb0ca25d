# SPDX-License-Identifier: BSD-3-Clause
"""Predictions of a fitted model: median, mean, quantiles with intervals, survival curves, score."""

from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_consistent_length, gen_batches
from sklearn.utils.validation import check_is_fitted

from ..._typing import FloatArray
from ...base import redact_errors
from ...rounds._reading.targets import read_target
from ...utils import is_structured
from .._distributions import ErrorDistribution
from .._moments.bootstrap import pivotal
from .acceleration import AccelerationFactors
from .concordance import concordance_index
from .survival_curves import CumulativeHazardFunction, PredictedCurve, SurvivalFunction, standardized

# Times of a curve that is returned as an array: steps of 1/127 of the target's range.
_GRID_POINTS = 128
# Replicated quantiles that are held at once, of 8 bytes each: 16 MB.
_AT_ONCE = 2**21


class LogLocationScalePredictions(AccelerationFactors):
    """Predictions of the regressors: functions of released values, at no further privacy cost.

    The model is y = intercept + coef . x + scale * Z on its scale, log time for life distributions. The line
    is the location, which for the smallest extreme value distribution is the 63.2 % quantile.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
    intercept_, scale_ : float
    error_distribution_ : ErrorDistribution
        Distribution of Z.
    log_target_ : bool
        Whether the scale of the model is log time.
    bounds_y_ : tuple of two floats
        Bounds of the target, in the units passed to fit.
    replicates_ : ndarray of shape (n_replicates, 2 + n_features)
        Intercept, scale and slopes of fits to replicated releases.
    """

    n_features_in_: int
    feature_names_in_: NDArray[np.object_]
    coef_: FloatArray
    intercept_: float
    scale_: float
    error_distribution_: ErrorDistribution
    log_target_: bool
    bounds_y_: tuple[float, float]
    replicates_: FloatArray

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

    @overload
    def predict_quantile(
        self, X: ArrayLike, q: ArrayLike, *, return_interval: Literal[False] = False, confidence: float = 0.9
    ) -> FloatArray: ...

    @overload
    def predict_quantile(
        self, X: ArrayLike, q: ArrayLike, *, return_interval: Literal[True], confidence: float = 0.9
    ) -> tuple[FloatArray, FloatArray]: ...

    @overload
    def predict_quantile(
        self, X: ArrayLike, q: ArrayLike, *, return_interval: bool = False, confidence: float = 0.9
    ) -> FloatArray | tuple[FloatArray, FloatArray]: ...

    def predict_quantile(
        self, X: ArrayLike, q: ArrayLike, *, return_interval: bool = False, confidence: float = 0.9
    ) -> FloatArray | tuple[FloatArray, FloatArray]:
        """Predict quantiles: ``q=0.1`` is the B10 life.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        q : float or array-like of shape (n_quantiles,)
            Probabilities above 0 and below 1.
        return_interval : bool, default=False
            Whether to return confidence intervals too.
        confidence : float, default=0.9
            Of each interval, above 0 and below 1. The lower end alone is a bound at (1 + confidence) / 2.

        Returns
        -------
        quantiles : ndarray of shape (n_samples,) or (n_samples, n_quantiles)
            In the units of y as passed to fit.
        interval : ndarray of shape (n_samples, 2) or (n_samples, n_quantiles, 2)
            Lower and upper end; only with ``return_interval=True``.

        Raises
        ------
        ValueError
            q or confidence is out of range, or q has more than one dimension.

        Notes
        -----
        An interval is about the quantile itself, which sampling and the noise leave uncertain; it is not one
        that holds a new y with the given confidence. It comes from replicated releases by the pivotal rule:
        on the scale of the model, twice the estimate minus the quantiles of the replicates.

        **Privacy**: replicates are drawn from the released values, so intervals spend nothing.
        """
        levels = _check_levels(q)
        _check_confidence(confidence)
        rows, location = self._locations(X)
        errors = self.error_distribution_.quantile(levels)
        estimates = np.add.outer(location, self.scale_ * errors)
        quantiles = self._in_units(estimates)
        if not return_interval:
            return quantiles
        columns = estimates.reshape(len(rows), -1)
        interval = self._pivotal(rows, columns, np.atleast_1d(errors), confidence)
        return quantiles, self._in_units(interval.reshape(*quantiles.shape, 2))

    @property
    def unique_times_(self) -> FloatArray:
        """Times of the curves' grid: 128, from bound to bound of y, even on the scale of the model."""
        check_is_fitted(self)
        low, high = self.bounds_y_
        spaced = np.geomspace if self.log_target_ else np.linspace
        return spaced(low, high, _GRID_POINTS)

    @overload
    def predict_survival_function(
        self, X: ArrayLike, return_array: Literal[False] = False
    ) -> NDArray[np.object_]: ...

    @overload
    def predict_survival_function(self, X: ArrayLike, return_array: Literal[True]) -> FloatArray: ...

    @overload
    def predict_survival_function(self, X: ArrayLike, return_array: bool = False) -> NDArray[Any]: ...

    def predict_survival_function(self, X: ArrayLike, return_array: bool = False) -> NDArray[Any]:
        """Predict survival functions, as scikit-survival does.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        return_array : bool, default=False
            Whether to return the values at ``unique_times_`` instead of functions.

        Returns
        -------
        survival : ndarray of shape (n_samples,) or (n_samples, n_times)
            Functions, to be called with a time or an array of times in the units of y as passed to fit, each
            with its ``x``, ``y`` and ``domain``; or an array of values.
        """
        return self._curves(X, SurvivalFunction, return_array)

    @overload
    def predict_cumulative_hazard_function(
        self, X: ArrayLike, return_array: Literal[False] = False
    ) -> NDArray[np.object_]: ...

    @overload
    def predict_cumulative_hazard_function(self, X: ArrayLike, return_array: Literal[True]) -> FloatArray: ...

    @overload
    def predict_cumulative_hazard_function(
        self, X: ArrayLike, return_array: bool = False
    ) -> NDArray[Any]: ...

    def predict_cumulative_hazard_function(self, X: ArrayLike, return_array: bool = False) -> NDArray[Any]:
        """Predict cumulative hazard functions, as scikit-survival does.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        return_array : bool, default=False
            Whether to return the values at ``unique_times_`` instead of functions.

        Returns
        -------
        hazard : ndarray of shape (n_samples,) or (n_samples, n_times)
            As of `predict_survival_function`.
        """
        return self._curves(X, CumulativeHazardFunction, return_array)

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
            ``concordance_index_censored(event, time, -predict(X))[0]``; nan where no pair is comparable.

        Raises
        ------
        TypeError, ValueError
            Unusable rows or target; weights with events and times.

        Notes
        -----
        **Privacy**: a score is an exact function of the rows that are passed. Nothing protects these rows.
        """
        if not is_structured(y):
            return super().score(X, y, sample_weight)  # type: ignore[misc]
        if sample_weight is not None:
            raise ValueError("sample_weight is for a numeric y; the concordance index takes no weights.")
        target = read_target(y, self.log_target_)
        medians = self.predict(X)
        check_consistent_length(medians, target.event)
        return concordance_index(target.event, target.time_on_model_scale, medians)  # type: ignore[arg-type]

    @redact_errors
    def _locations(self, X: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Validated rows, and the location of each on the scale of the model."""
        check_is_fitted(self)
        rows = self.read_fitted(X)
        return rows, rows @ self.coef_ + self.intercept_

    @np.errstate(over="ignore")
    def _in_units(self, values: FloatArray) -> FloatArray:
        return np.exp(values) if self.log_target_ else values

    def _pivotal(
        self, rows: FloatArray, estimates: FloatArray, errors: FloatArray, confidence: float
    ) -> FloatArray:
        """Intervals of shape (n_samples, n_quantiles, 2) on the scale of the model."""
        # Once: replicates may be drawn when they are asked for.
        replicates = self.replicates_
        intercepts, scales, slopes = replicates[:, 0], replicates[:, 1], replicates[:, 2:]
        offsets = intercepts + np.multiply.outer(errors, scales)
        intervals = np.empty((*estimates.shape, 2))
        for part in gen_batches(len(rows), max(1, _AT_ONCE // max(1, offsets.size))):
            replicated = (rows[part] @ slopes.T)[:, np.newaxis, :] + offsets
            intervals[part] = pivotal(estimates[part], replicated, confidence)
        return intervals

    def _curves(self, X: ArrayLike, kind: type[PredictedCurve], return_array: bool) -> NDArray[Any]:
        _, location = self._locations(X)
        times = self.unique_times_
        if return_array:
            z = standardized(times, location[:, np.newaxis], self.scale_, self.log_target_)
            return kind.of_errors(self.error_distribution_, z)
        curves = np.empty(len(location), dtype=object)
        for row, center in enumerate(location.tolist()):
            curves[row] = kind(
                distribution=self.error_distribution_,
                location=center,
                scale=float(self.scale_),
                log_target=self.log_target_,
                x=times,
            )
        return curves


def _check_levels(q: Any) -> FloatArray:
    levels = np.asarray(q, dtype=np.float64)
    if levels.ndim > 1:
        raise ValueError("q must be a number or a one-dimensional array.")
    if not ((levels > 0) & (levels < 1)).all():
        raise ValueError("q must be above 0 and below 1.")
    return levels


def _check_confidence(confidence: float) -> None:
    if not 0 < confidence < 1:
        raise ValueError("confidence must be above 0 and below 1.")
