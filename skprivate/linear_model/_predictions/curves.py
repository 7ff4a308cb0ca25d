# SPDX-License-Identifier: BSD-3-Clause
"""Survival functions and cumulative hazard functions of rows, with pointwise bands."""

from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from ..._typing import FloatArray
from ...base import redact_errors
from ...base._domain_reading import DomainMixin
from ...metrics._row_arithmetic import exp, products
from .._distributions import ErrorDistribution
from .replicated import check_confidence, ends_of, pivotal_bounds
from .survival_curves import CumulativeHazardFunction, PredictedCurve, SurvivalFunction, standardized

# Times of a curve that is returned as an array: steps of 1/127 of the target's range.
_GRID_POINTS = 128


class CurvePredictions(DomainMixin):
    """Mixin of predictions of curves, as scikit-survival's estimators make them.

    The model is y = intercept + coef . x + scale * Z on the scale of the model.

    That scale is log time for life distributions. The line is the location, which for the smallest extreme
    value distribution is the 63.2 % quantile.

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

    @property
    def unique_times_(self) -> FloatArray:
        """Times of the curves' grid: 128, from bound to bound of y, even on the scale of the model."""
        check_is_fitted(self)
        low, high = self.bounds_y_
        spaced = np.geomspace if self.log_target_ else np.linspace
        return spaced(low, high, _GRID_POINTS)

    @overload
    def predict_survival_function(
        self,
        X: ArrayLike,
        return_array: Literal[False] = False,
        *,
        return_interval: Literal[False] = False,
        times: ArrayLike | None = None,
        confidence: float = 0.9,
    ) -> NDArray[np.object_]: ...

    @overload
    def predict_survival_function(
        self,
        X: ArrayLike,
        return_array: Literal[True],
        *,
        return_interval: Literal[False] = False,
        times: ArrayLike | None = None,
        confidence: float = 0.9,
    ) -> FloatArray: ...

    @overload
    def predict_survival_function(
        self,
        X: ArrayLike,
        return_array: bool = False,
        *,
        return_interval: Literal[True],
        times: ArrayLike | None = None,
        confidence: float = 0.9,
    ) -> tuple[NDArray[Any], FloatArray]: ...

    @overload
    def predict_survival_function(
        self,
        X: ArrayLike,
        return_array: bool = False,
        *,
        return_interval: bool = False,
        times: ArrayLike | None = None,
        confidence: float = 0.9,
    ) -> NDArray[Any] | tuple[NDArray[Any], FloatArray]: ...

    @redact_errors
    def predict_survival_function(
        self,
        X: ArrayLike,
        return_array: bool = False,
        *,
        return_interval: bool = False,
        times: ArrayLike | None = None,
        confidence: float = 0.9,
    ) -> NDArray[Any] | tuple[NDArray[Any], FloatArray]:
        """Predict survival functions, as scikit-survival does.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        return_array : bool, default=False
            Whether to return the values at the times instead of functions.
        return_interval : bool, default=False
            Whether to return a band of confidence intervals, too.
        times : array-like of shape (n_times,), default=None
            Where values and bands are, in the units of y as passed to fit. None: ``unique_times_``.
        confidence : float, default=0.9
            Of each interval by itself (the band is pointwise), above 0 and below 1.

        Returns
        -------
        survival : ndarray of shape (n_samples,) or (n_samples, n_times)
            Functions, to be called with a time or an array of times in the units of y as passed to fit, each
            with its ``x``, ``y`` and ``domain``; or an array of values.
        interval : ndarray of shape (n_samples, n_times, 2)
            Lower and upper end at each of the times; only with ``return_interval=True``.

        Raises
        ------
        ValueError
            A time is not finite or, for life distributions, negative; or the confidence is out of range.

        Notes
        -----
        The band follows the pivotal rule on the scale of the standardised error, which for Weibull times is
        the logarithm of the cumulative hazard: its ends are between 0 and 1. It is about the probability
        itself, which sampling and the noise leave uncertain.

        **Privacy**: replicates are drawn from the released values, so bands spend nothing.
        """
        return self._curves(X, SurvivalFunction, return_array, return_interval, times, confidence)

    @overload
    def predict_cumulative_hazard_function(
        self,
        X: ArrayLike,
        return_array: Literal[False] = False,
        *,
        return_interval: Literal[False] = False,
        times: ArrayLike | None = None,
        confidence: float = 0.9,
    ) -> NDArray[np.object_]: ...

    @overload
    def predict_cumulative_hazard_function(
        self,
        X: ArrayLike,
        return_array: Literal[True],
        *,
        return_interval: Literal[False] = False,
        times: ArrayLike | None = None,
        confidence: float = 0.9,
    ) -> FloatArray: ...

    @overload
    def predict_cumulative_hazard_function(
        self,
        X: ArrayLike,
        return_array: bool = False,
        *,
        return_interval: Literal[True],
        times: ArrayLike | None = None,
        confidence: float = 0.9,
    ) -> tuple[NDArray[Any], FloatArray]: ...

    @overload
    def predict_cumulative_hazard_function(
        self,
        X: ArrayLike,
        return_array: bool = False,
        *,
        return_interval: bool = False,
        times: ArrayLike | None = None,
        confidence: float = 0.9,
    ) -> NDArray[Any] | tuple[NDArray[Any], FloatArray]: ...

    @redact_errors
    def predict_cumulative_hazard_function(
        self,
        X: ArrayLike,
        return_array: bool = False,
        *,
        return_interval: bool = False,
        times: ArrayLike | None = None,
        confidence: float = 0.9,
    ) -> NDArray[Any] | tuple[NDArray[Any], FloatArray]:
        """Predict cumulative hazard functions, as scikit-survival does.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        return_array : bool, default=False
            Whether to return the values at the times instead of functions.
        return_interval : bool, default=False
            Whether to return a band of confidence intervals, too.
        times : array-like of shape (n_times,), default=None
            Where values and bands are, in the units of y as passed to fit. None: ``unique_times_``.
        confidence : float, default=0.9
            Of each interval by itself, above 0 and below 1.

        Returns
        -------
        hazard : ndarray of shape (n_samples,) or (n_samples, n_times)
            As of `predict_survival_function`.
        interval : ndarray of shape (n_samples, n_times, 2)
            As of `predict_survival_function`; only with ``return_interval=True``.
        """
        return self._curves(X, CumulativeHazardFunction, return_array, return_interval, times, confidence)

    def _curves(
        self,
        X: ArrayLike,
        kind: type[PredictedCurve],
        return_array: bool,
        return_interval: bool,
        times: ArrayLike | None,
        confidence: float,
    ) -> NDArray[Any] | tuple[NDArray[Any], FloatArray]:
        rows, location = self._locations(X)
        grid = self.unique_times_ if times is None else _check_times(times, self.log_target_)
        check_confidence(confidence)
        curves = self._values(location, kind, grid) if return_array else self._functions(location, kind, grid)
        return (curves, self._band(rows, location, kind, grid, confidence)) if return_interval else curves

    def _values(self, location: FloatArray, kind: type[PredictedCurve], times: FloatArray) -> FloatArray:
        z = standardized(times, location[:, np.newaxis], self.scale_, self.log_target_)
        return kind.of_errors(self.error_distribution_, z)

    def _functions(
        self, location: FloatArray, kind: type[PredictedCurve], times: FloatArray
    ) -> NDArray[np.object_]:
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

    def _band(
        self,
        rows: FloatArray,
        location: FloatArray,
        kind: type[PredictedCurve],
        times: FloatArray,
        confidence: float,
    ) -> FloatArray:
        """Ends of the intervals, of shape (n_samples, n_times, 2)."""
        replicates = self.replicates_
        intercepts, scales, slopes = replicates[:, 0], replicates[:, 1], replicates[:, 2:]
        # At time 0 the standardised error is -inf in every replicate.
        started = times > 0 if self.log_target_ else np.ones(len(times), dtype=bool)
        z = np.full((len(rows), len(times), 2), -np.inf)
        offsets = standardized(times[started, np.newaxis], intercepts, scales, self.log_target_)
        estimates = standardized(times[started], location[:, np.newaxis], self.scale_, self.log_target_)
        z[:, started] = pivotal_bounds(
            estimates, rows, -slopes / scales[:, np.newaxis], offsets, ends_of(confidence)
        )
        return np.sort(kind.of_errors(self.error_distribution_, z), axis=-1)

    @redact_errors
    def _locations(self, X: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Validated rows, and the location of each on the scale of the model."""
        check_is_fitted(self)
        rows = self.read_fitted(X)
        return rows, products(rows, self.coef_) + self.intercept_

    def _names_of_slopes(self) -> tuple[str, ...]:
        """Names of the columns that slopes are about: x0, x1, ... where the fit saw none."""
        domain = getattr(self, "domain_", None)
        if domain is not None:
            names: tuple[str, ...] = domain.encoded_names
            return names
        unnamed = [f"x{k}" for k in range(len(self.coef_))]
        return tuple(map(str, getattr(self, "feature_names_in_", unnamed)))

    @np.errstate(over="ignore")
    def _in_units(self, values: FloatArray) -> FloatArray:
        return exp(values) if self.log_target_ else values


def _check_times(times: Any, log_target: bool) -> FloatArray:
    found = np.asarray(times, dtype=np.float64)
    if found.ndim != 1:
        raise ValueError("times must be a one-dimensional array.")
    if not np.isfinite(found).all():
        raise ValueError("times must be finite.")
    if log_target and (found < 0).any():
        raise ValueError("times must be at least 0.")
    return found
