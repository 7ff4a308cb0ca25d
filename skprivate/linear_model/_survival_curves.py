# SPDX-License-Identifier: BSD-3-Clause
"""Survival functions and cumulative hazard functions of rows, with pointwise bands.

They are methods of the regressors: `self` is a fitted one.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, TypedDict, Unpack, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from .._typing import FloatArray
from ..base import redact_errors
from ._distributions import ErrorDistribution
from ._fit import check_confidence, ends_of
from ._goodness_of_fit import KNOWN, MOSTLY_NOISE, UNKNOWN
from ._predictions import No, Rows, Yes, locations, pivotal_bounds, states_of_quantiles, warn_of_states
from ._scale_by_level import each_level

# Quantiles whose worse state is that of a curve.
_PLACES = np.array([0.1, 0.5])
# States, the worst one first.
_WORST = (UNKNOWN, MOSTLY_NOISE, KNOWN)
# Times of a curve that is returned as an array: steps of 1/127 of the target's range.
_GRID_POINTS = 128


@dataclass(frozen=True, kw_only=True)
class PredictedCurve(ABC):
    """Base of the curves of one row: functions of time, called with a scalar or an array.

    Attributes
    ----------
    distribution : ErrorDistribution
        Distribution of the error.
    location, scale : float
        On the scale of the model.
    log_target : bool
        Whether that scale is log time.
    x : ndarray of shape (n_points,)
        Times of the grid; the function is exact between them too.
    state : str or None
        The worse of the states of the 10 % quantile and of the median (``quantile_state``); None if no bands
        were requested.

    Raises
    ------
    ValueError
        The curve was called with a time that is not finite, or is outside the domain.
    """

    distribution: ErrorDistribution
    location: float
    scale: float
    log_target: bool
    x: FloatArray = field(compare=False, repr=False)
    state: str | None = field(default=None, compare=False)

    @property
    def y(self) -> FloatArray:
        """The curve at the times of the grid."""
        return self(self.x)

    @property
    def domain(self) -> tuple[float, float]:
        """Times that the curve takes: from 0 for life distributions, all numbers otherwise."""
        return (0.0 if self.log_target else -math.inf, math.inf)

    def __call__(self, times: ArrayLike) -> FloatArray:
        """Return the curve at these times, in their shape."""
        times = np.asarray(times, dtype=np.float64)
        _check_times(times, self.log_target)
        z = standardized(times, self.location, self.scale, self.log_target)
        return self.of_errors(self.distribution, z)

    @staticmethod
    @abstractmethod
    def of_errors(distribution: ErrorDistribution, z: FloatArray) -> FloatArray:
        """Return the curve as a function of the standardised error."""


class SurvivalFunction(PredictedCurve):
    """Probability that the event comes later than a time.

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate.linear_model._survival_curves import SurvivalFunction
    >>> from skprivate.linear_model._distributions import SEV
    >>> weibull = SurvivalFunction(
    ...     distribution=SEV, location=np.log(100.0), scale=0.5, log_target=True, x=np.array([10.0, 200.0])
    ... )
    >>> weibull([0.0, 100.0, 200.0]).round(3), weibull.y.round(3)
    (array([1.   , 0.368, 0.018]), array([0.99 , 0.018]))
    """

    @staticmethod
    def of_errors(distribution: ErrorDistribution, z: FloatArray) -> FloatArray:
        return distribution.survival(z)


class CumulativeHazardFunction(PredictedCurve):
    """Minus the logarithm of the probability that the event comes later than a time."""

    @staticmethod
    def of_errors(distribution: ErrorDistribution, z: FloatArray) -> FloatArray:
        return -distribution.log_survival(z)


def unique_times_(self: Any) -> FloatArray:
    """Times of the curves' grid: 128, from bound to bound of y, even on the scale of the model."""
    check_is_fitted(self)
    low, high = self.bounds_y_
    spaced = np.geomspace if self.log_target_ else np.linspace
    return spaced(low, high, _GRID_POINTS)


Kind = type[PredictedCurve]


class Band(TypedDict, total=False):
    """Times at which the curves are returned, and the confidence of their band."""

    times: ArrayLike | None
    confidence: float


@overload
def predict_survival_function(
    self: Any, X: Rows, return_array: No = False, *, return_interval: No = False, **options: Unpack[Band]
) -> NDArray[np.object_]: ...


@overload
def predict_survival_function(
    self: Any, X: Rows, return_array: Yes, *, return_interval: No = False, **options: Unpack[Band]
) -> FloatArray: ...


@overload
def predict_survival_function(
    self: Any, X: Rows, return_array: bool = False, *, return_interval: Yes, **options: Unpack[Band]
) -> tuple[NDArray[Any], FloatArray]: ...


@overload
def predict_survival_function(
    self: Any, X: Rows, return_array: bool = False, *, return_interval: bool = False, **options: Unpack[Band]
) -> NDArray[Any] | tuple[NDArray[Any], FloatArray]: ...


@redact_errors
def predict_survival_function(
    self: Any,
    X: Rows,
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
        Times of values and bands, in the units of y as passed to fit. None: ``unique_times_``.
    confidence : float, default=0.9
        Of each interval by itself (the band is pointwise), above 0 and below 1.

    Returns
    -------
    survival : ndarray of shape (n_samples,) or (n_samples, n_times)
        Functions of a time or an array of times, in the units of y as passed to fit. Each has ``x``, ``y``
        and ``domain``. Or an array of values.
    interval : ndarray of shape (n_samples, n_times, 2)
        Lower and upper end at each of the times; only with ``return_interval=True``.

    Raises
    ------
    ValueError
        A time is not finite or, for life distributions, negative; or the confidence is out of range.

    Warns
    -----
    UtilityWarning
        Some bands are mostly noise or unknown: they have the worse state of the 10 % quantile and the median
        of the row (``quantile_state``).

    Notes
    -----
    The band follows the pivotal rule on the scale of the standardised error, which for Weibull times is
    the logarithm of the cumulative hazard. So its ends are between 0 and 1. It is about the probability
    itself, which sampling and the noise leave uncertain.

    **Privacy**: replicates are drawn from the released values, so bands spend nothing.
    """
    return _curves(self, X, SurvivalFunction, return_array, return_interval, times, confidence)


@overload
def predict_cumulative_hazard_function(
    self: Any, X: Rows, return_array: No = False, *, return_interval: No = False, **options: Unpack[Band]
) -> NDArray[np.object_]: ...


@overload
def predict_cumulative_hazard_function(
    self: Any, X: Rows, return_array: Yes, *, return_interval: No = False, **options: Unpack[Band]
) -> FloatArray: ...


@overload
def predict_cumulative_hazard_function(
    self: Any, X: Rows, return_array: bool = False, *, return_interval: Yes, **options: Unpack[Band]
) -> tuple[NDArray[Any], FloatArray]: ...


@overload
def predict_cumulative_hazard_function(
    self: Any, X: Rows, return_array: bool = False, *, return_interval: bool = False, **options: Unpack[Band]
) -> NDArray[Any] | tuple[NDArray[Any], FloatArray]: ...


@redact_errors
def predict_cumulative_hazard_function(
    self: Any,
    X: Rows,
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
        Times of values and bands, in the units of y as passed to fit. None: ``unique_times_``.
    confidence : float, default=0.9
        Of each interval by itself, above 0 and below 1.

    Returns
    -------
    hazard : ndarray of shape (n_samples,) or (n_samples, n_times)
        As in `predict_survival_function`.
    interval : ndarray of shape (n_samples, n_times, 2)
        As in `predict_survival_function`; only with ``return_interval=True``.
    """
    return _curves(self, X, CumulativeHazardFunction, return_array, return_interval, times, confidence)


def _curves(
    self: Any, X: Rows, kind: Kind, return_array: bool, return_interval: bool, times: Rows, confidence: float
) -> NDArray[Any] | tuple[NDArray[Any], FloatArray]:
    rows, location = locations(self, X)
    distribution, log_target = self.error_distribution_, self.log_target_
    grid = self.unique_times_ if times is None else np.asarray(times, dtype=np.float64)
    if grid.ndim != 1:
        raise ValueError("times must be a one-dimensional array.")
    _check_times(grid, log_target)
    check_confidence(confidence)
    curves: NDArray[Any] = np.empty((len(rows), len(grid))) if return_array else np.empty(len(rows), object)
    bands = np.empty((len(rows), len(grid), 2))
    states: NDArray[Any] = np.full(len(rows), None)
    if return_interval:
        of_places = states_of_quantiles(self, rows, location, _PLACES)
        states = np.array([next(state for state in _WORST if state in places) for places in of_places])
        name = "survival" if kind is SurvivalFunction else "cumulative_hazard"
        warn_of_states(self, f"predict_{name}_function", states, "bands")
    for where, level in each_level(self, rows, return_interval):
        if return_array:
            errors = standardized(grid, location[where, np.newaxis], level.scale_, log_target)
            curves[where] = kind.of_errors(distribution, errors)
        else:
            known = {"distribution": distribution, "scale": float(level.scale_), "log_target": log_target}
            for row in np.arange(len(rows))[where]:
                state = None if states[row] is None else str(states[row])
                curves[row] = kind(location=float(location[row]), x=grid, state=state, **known)
        if return_interval:
            bands[where] = _band(level, rows[where], location[where], kind, grid, confidence)
    return (curves, bands) if return_interval else curves


def _band(
    self: Any, rows: FloatArray, location: FloatArray, kind: Kind, grid: FloatArray, confidence: float
) -> FloatArray:
    """Return the band of rows that have one scale."""
    log_target = self.log_target_
    # Ends of the intervals of standardised errors, of shape (n_samples, n_times, 2).
    replicates = self.replicates_
    intercepts, scales, slopes = replicates[:, 0], replicates[:, 1], replicates[:, 2:]
    # At time 0 the standardised error is -inf in every replicate.
    started = grid > 0 if log_target else np.ones(len(grid), dtype=bool)
    z = np.full((len(rows), len(grid), 2), -np.inf)
    offsets = standardized(grid[started, np.newaxis], intercepts, scales, log_target)
    estimates = standardized(grid[started], location[:, np.newaxis], self.scale_, log_target)
    z[:, started] = pivotal_bounds(
        estimates, rows, -slopes / scales[:, np.newaxis], offsets, ends_of(confidence)
    )
    return np.sort(kind.of_errors(self.error_distribution_, z), axis=-1)


def _check_times(times: FloatArray, log_target: bool) -> None:
    if not np.isfinite(times).all():
        raise ValueError("times must be finite.")
    if log_target and (times < 0).any():
        raise ValueError("times must be at least 0.")


@np.errstate(divide="ignore", over="ignore")
def standardized(
    times: FloatArray, location: float | FloatArray, scale: float | FloatArray, log_target: bool
) -> FloatArray:
    """Return the error (time - location) / scale on the scale of the model; log of time 0 is -inf."""
    on_scale = np.log(times) if log_target else times
    return (on_scale - location) / scale
