# SPDX-License-Identifier: BSD-3-Clause
"""Predictions of a fitted life model, which are methods of the regressors: quantiles, means, factors, scores.

The model is y = intercept + coef . x + scale * Z on the scale of the model, which is log time for life
distributions. The line is the location. For the smallest extreme value distribution it is the 63.2 %
quantile. All functions are of released values, at no further privacy cost; `self` is a fitted regressor.
"""

import math
from collections.abc import Sequence
from typing import Any, Literal, get_args, overload

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import check_is_fitted

from .._typing import BoolArray, FloatArray, IntArray
from ..exceptions import UtilityWarning
from ..metrics._probabilities import exp, products
from ..rounds._rows import CODES, find_roles, read_target, replace_target
from ..utils import is_structured
from ..utils._private_fit import redact_errors, warn_user
from . import _goodness_of_fit as goodness
from ._fit import CONFIDENCE, check_confidence, ends_of, without_noise
from ._scale_by_level import each_level

Side = Literal["lower", "upper"]
No = Literal[False]
Yes = Literal[True]
Rows = ArrayLike | None  # None: a model of one population, without columns

# Replicated values that are held at once, of 8 bytes each: 256 kB. They stay in the second cache of a core
# (1 to 2 MB on today's servers) while they are sorted.
_AT_ONCE = 2**15
# Largest difference of tied predictions, as in scikit-survival.
TIED = 1e-8

#: What the mark "beyond" of an interval means.
BEYOND = (
    "an end of an interval lies beyond bounds_y by more than the bounds are apart on the scale of the model: "
    "no row says anything about such values."
)


@redact_errors
def predict(self: Any, X: Rows) -> FloatArray:
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


@redact_errors
def predict_mean(self: Any, X: Rows) -> FloatArray:
    """Predict the mean.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)

    Returns
    -------
    means : ndarray of shape (n_samples,)
        In the units of y as passed to fit. The mean of a log-logistic time is infinite if ``scale_`` is 1 or
        more.
    """
    rows, means = locations(self, X)
    for where, level in each_level(self, rows, intervals=False):
        if self.log_target_:
            means[where] = self.error_distribution_.mean_of_exp(means[where], level.scale_)
        else:
            means[where] += level.scale_ * self.error_distribution_.mean
    return means


@overload
def predict_quantile(
    self: Any, X: Rows, q: ArrayLike, *, return_interval: No = False, confidence: float = 0.9
) -> FloatArray: ...


@overload
def predict_quantile(
    self: Any, X: Rows, q: ArrayLike, *, return_interval: Yes, confidence: float = 0.9
) -> tuple[FloatArray, FloatArray]: ...


@overload
def predict_quantile(
    self: Any, X: Rows, q: ArrayLike, *, return_interval: bool = False, confidence: float = 0.9
) -> FloatArray | tuple[FloatArray, FloatArray]: ...


@redact_errors
def predict_quantile(
    self: Any, X: Rows, q: ArrayLike, *, return_interval: bool = False, confidence: float = 0.9
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
        Of each interval, above 0 and below 1. The lower end alone is a bound of confidence
        (1 + confidence) / 2; `predict_quantile_bound` returns such bounds.

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

    Warns
    -----
    UtilityWarning
        Some intervals are mostly noise or unknown (`quantile_state`), or an end lies beyond ``bounds_y`` by
        more than the bounds are apart on the scale of the model.

    Notes
    -----
    An interval is about the quantile itself, which sampling and the noise leave uncertain. It is no
    interval for a new y. It comes from replicated releases by the pivotal rule: on the scale of the model,
    twice the estimate minus the quantiles of the replicates.

    **Privacy**: replicates are drawn from the released values, so intervals spend nothing.
    """
    if not return_interval:
        check_confidence(confidence)
        levels = _check_levels(q)
        return _quantiles(self, *locations(self, X), levels)
    quantiles, interval = self._with_intervals(X, q, confidence)
    warn_of_states(
        self, "predict_quantile", self.quantile_state(X, q), beyond=bool(self._beyond(interval).any())
    )
    return quantiles, interval


def warn_of_states(
    self: Any, method: str, states: goodness.States, what: str = "intervals", beyond: bool = False
) -> None:
    """Warn of intervals that are not known, and of ends far beyond the bounds of y."""
    said = [
        f"{np.sum(states == state)} of {states.size} {what} are {state}: {meaning}"
        for state, meaning in goodness.MEANING.items()
        if (states == state).any()
    ]
    if said or beyond:
        text = " ".join(said + [BEYOND[0].upper() + BEYOND[1:]] * beyond)
        warn_user(f"{type(self).__name__}.{method}: {text}", UtilityWarning)


@redact_errors
def quantile_state(self: Any, X: ArrayLike, q: ArrayLike) -> goodness.States:
    """Return what is known of quantiles: "known", "mostly noise" or "unknown".

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
    q : float or array-like of shape (n_quantiles,)
        Probabilities above 0 and below 1.

    Returns
    -------
    states : ndarray of str of shape (n_samples,) or (n_samples, n_quantiles)
        "known": the interval holds as often as its confidence. "mostly noise": it holds as often, but it is
        wider than twice the distance between the 10 % and the 20 % quantile of the errors, mostly by the
        noise of the release. A larger epsilon would help. "unknown": do not rely on it. Then the residuals
        reject the distribution, the rounds did not settle, the noise hides how much features vary, or an end
        lies beyond ``bounds_y`` by more than these are apart on the scale of the model.

    Raises
    ------
    ValueError
        q is out of range, or has more than one dimension.

    Notes
    -----
    :doc:`/life_data` has the share of simulated fits in which the intervals of each state held. Intervals
    assume that, given the columns, censoring does not depend on the lifetime. No count shows whether this is
    so.

    **Privacy**: a function of released values, which spends nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate import DPLogLocationScaleRegressor
    >>> rng = np.random.default_rng(0)
    >>> load = rng.uniform(0, 10, size=(20000, 1))
    >>> hours = np.exp(9 - 0.2 * load[:, 0]) * rng.weibull(2.0, size=20000)
    >>> known = {"bounds_X": (0, 10), "bounds_y": (10, 20000), "random_state": 0}    # seeded for this page
    >>> model = DPLogLocationScaleRegressor(epsilon=1.0, **known)
    >>> model.fit(load, hours).quantile_state([[5.0]], [0.1, 0.5])
    array([['known', 'known']], dtype='<U12')
    """
    levels = _check_levels(q)
    rows, location = locations(self, X)
    return states_of_quantiles(self, rows, location, np.atleast_1d(levels)).reshape(len(rows), *levels.shape)


def states_of_quantiles(
    self: Any, rows: FloatArray, location: FloatArray, levels: FloatArray
) -> goodness.States:
    """Return the states of quantiles, of shape (n_samples, n_levels)."""
    ground, errors = goodness.ground_of(self), self.error_distribution_.quantile(levels)
    states = np.empty((len(rows), len(errors)), dtype=f"<U{len(goodness.MOSTLY_NOISE)}")

    def ends(rows: FloatArray, replicates: FloatArray) -> FloatArray:
        offsets = replicates[:, 0] + np.multiply.outer(errors, replicates[:, 1])
        return replicate_quantiles(rows, replicates[:, 2:], offsets, ends_of(CONFIDENCE))

    for where, level in each_level(self, rows, True, without_noise(self)):
        of_all = ends(rows[where], level.replicates_)
        estimates = np.add.outer(location[where], level.scale_ * errors)
        beyond = goodness.beyond_y(self, 2.0 * estimates[..., np.newaxis] - of_all[..., ::-1])
        alone = ends(rows[where], without_noise(level))
        width, of_rows = (np.diff(each)[..., 0] for each in (of_all, alone))
        limit = 2.0 * ground.limit * level.scale_
        states[where] = goodness.states_of(width, of_rows, limit, beyond | goodness.is_lost(ground))
    if self._level_model is not None:
        states[~self._level_model.known[self._level_model.plan.codes(rows)]] = goodness.UNKNOWN
    return states


def _with_intervals(self: Any, X: Rows, q: ArrayLike, confidence: float) -> tuple[FloatArray, FloatArray]:
    """Return quantiles and their intervals, without a warning of those far beyond the bounds."""
    levels = _check_levels(q)
    check_confidence(confidence)
    rows, location = locations(self, X)
    interval = _quantile_bounds(self, rows, location, levels, ends_of(confidence))
    return _quantiles(self, rows, location, levels), interval


def _beyond(self: Any, interval: FloatArray) -> BoolArray:
    """Return which intervals have an end farther beyond the bounds of y than these are apart."""
    with np.errstate(divide="ignore"):
        return goodness.beyond_y(self, np.log(interval) if self.log_target_ else interval)


@redact_errors
def predict_quantile_bound(
    self: Any, X: Rows, q: ArrayLike, *, side: Side = "lower", confidence: float = 0.95
) -> FloatArray:
    """Predict one-sided confidence bounds of quantiles, such as a warranty may promise.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
    q : float or array-like of shape (n_quantiles,)
        Probabilities above 0 and below 1.
    side : {"lower", "upper"}, default="lower"
        "lower": the quantile is above the bound. "upper": it is below.
    confidence : float, default=0.95
        Of each bound by itself, above 0 and below 1.

    Returns
    -------
    bounds : ndarray of shape (n_samples,) or (n_samples, n_quantiles)
        In the units of y as passed to fit.

    Raises
    ------
    ValueError
        q, side or confidence is out of range, or q has more than one dimension.

    Warns
    -----
    UtilityWarning
        Some bounds are mostly noise or unknown (`quantile_state`).

    Notes
    -----
    With ``q=0.1``, ``side="lower"`` and ``confidence=0.95``: if the table were drawn again and fitted again
    with fresh noise, the bound would be below the true B10 life in 95 of 100 repetitions. In other words,
    with confidence 0.95 at most a tenth fails before the bound (a tolerance bound). The confidence covers
    sampling and the noise of the release. It assumes that the distribution and the line are right, and that
    the bounds of X and y hold. The bound is the lower end of a two-sided interval of confidence 0.9. The
    confidence is nominal. :doc:`/life_data` has how often intervals held in simulated tables, and
    `quantile_state` returns which are not to be relied upon.

    **Privacy**: a function of released values, which spends nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate import DPLogLocationScaleRegressor
    >>> rng = np.random.default_rng(0)
    >>> load = rng.uniform(0, 10, size=(20000, 1))
    >>> hours = np.exp(9 - 0.2 * load[:, 0]) * rng.weibull(2.0, size=20000)
    >>> known = {"bounds_X": (0, 10), "bounds_y": (10, 20000), "random_state": 0}    # seeded for this page
    >>> model = DPLogLocationScaleRegressor(epsilon=1.0, **known)
    >>> model = model.fit(load, hours)
    >>> b10 = model.predict_quantile([[5.0]], 0.1)
    >>> bool(model.predict_quantile_bound([[5.0]], 0.1)[0] < b10[0])
    True
    """
    levels = _check_levels(q)
    if side not in get_args(Side):
        raise ValueError("side must be 'lower' or 'upper'.")
    check_confidence(confidence)
    rows, location = locations(self, X)
    level = 1.0 - confidence if side == "lower" else confidence
    states = states_of_quantiles(self, rows, location, np.atleast_1d(levels))
    warn_of_states(self, "predict_quantile_bound", states, "bounds")
    return _quantile_bounds(self, rows, location, levels, [level])[..., 0]


@redact_errors
def b_lives(
    self: Any, X: Rows, levels: ArrayLike = (0.01, 0.05, 0.1, 0.5), *, confidence: float = 0.9
) -> Any:
    """Return a table of B lives: the times by which given shares have failed.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
    levels : array-like of shape (n_levels,), default=(0.01, 0.05, 0.1, 0.5)
        Shares above 0 and below 1; 0.1 is the B10 life.
    confidence : float, default=0.9
        Of each two-sided interval, and of each one-sided bound, by itself.

    Returns
    -------
    frame : pandas.DataFrame
        One line for each row of X and each level. The columns are ``row`` (from 0), ``level``, ``estimate``,
        ``lower``, ``upper``, ``bound``, ``beyond`` and ``state``. Times are in the units of y as passed to
        fit. ``lower`` and ``upper`` are the ends of the two-sided interval. ``bound`` is the one-sided lower
        bound. It is above ``lower``, as its whole risk is on one side. ``beyond``: an end of the interval
        lies farther beyond ``bounds_y`` than these are apart on the scale of the model, so that the table has
        no information about such times. ``state`` is that of `quantile_state`.
        ``frame.attrs["goodness_of_fit"]`` is a sentence: whether the residuals agree with the distribution.

    Raises
    ------
    ValueError
        A level or the confidence is out of range.
    ImportError
        pandas is not installed.

    Notes
    -----
    Intervals and bounds are those of `predict_quantile` and `predict_quantile_bound`.

    **Privacy**: a function of released values, which spends nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate import DPLogLocationScaleRegressor
    >>> rng = np.random.default_rng(0)
    >>> load = rng.uniform(0, 10, size=(20000, 1))
    >>> hours = np.exp(9 - 0.2 * load[:, 0]) * rng.weibull(2.0, size=20000)
    >>> known = {"bounds_X": (0, 10), "bounds_y": (10, 20000), "random_state": 0}    # seeded for this page
    >>> model = DPLogLocationScaleRegressor(epsilon=1.0, **known)
    >>> table = model.fit(load, hours).b_lives([[0.0], [5.0]], [0.1, 0.5])
    >>> table.shape, bool((table["lower"] < table["bound"]).all())
    ((4, 8), True)
    """
    import pandas as pd

    shares = np.atleast_1d(_check_levels(levels, "levels"))
    check_confidence(confidence)
    rows, location = locations(self, X)
    bounds = _quantile_bounds(self, rows, location, shares, [*ends_of(confidence), 1.0 - confidence])
    columns: dict[str, Any] = {
        "row": np.repeat(np.arange(len(rows)), len(shares)),
        "level": np.tile(shares, len(rows)),
        "estimate": _quantiles(self, rows, location, shares).ravel(),
    }
    for k, name in enumerate(("lower", "upper", "bound")):
        columns[name] = bounds[..., k].ravel()
    columns["beyond"] = self._beyond(bounds[..., :2]).ravel()
    columns["state"] = states_of_quantiles(self, rows, location, shares).ravel()
    frame = pd.DataFrame(columns)
    frame.attrs["goodness_of_fit"] = verdict_in_words(self)
    return frame


def verdict_in_words(self: Any) -> str:
    """Return whether the residuals agree with the distribution, in words."""
    verdict = goodness.ground_of(self).verdict
    if not isinstance(verdict, goodness.GoodnessOfFit):
        return f"no verdict: {verdict}."
    return f"{'the residuals reject the distribution' if verdict.rejected else 'not rejected'}. {verdict}"


@overload
def acceleration_factor(
    self: Any, X_use: Rows, X_stress: Rows, *, return_interval: No = False, confidence: float = 0.9
) -> FloatArray: ...


@overload
def acceleration_factor(
    self: Any, X_use: Rows, X_stress: Rows, *, return_interval: Yes, confidence: float = 0.9
) -> tuple[FloatArray, FloatArray]: ...


@overload
def acceleration_factor(
    self: Any, X_use: Rows, X_stress: Rows, *, return_interval: bool = False, confidence: float = 0.9
) -> FloatArray | tuple[FloatArray, FloatArray]: ...


@redact_errors
def acceleration_factor(
    self: Any, X_use: Rows, X_stress: Rows, *, return_interval: bool = False, confidence: float = 0.9
) -> FloatArray | tuple[FloatArray, FloatArray]:
    """Return how many times longer units last at use than under stress.

    Under the model every quantile of the lifetime at the first row is exp((x_use - x_stress) . coef) times
    that at the second one.

    Parameters
    ----------
    X_use, X_stress : array-like of shape (n_samples, n_features) or (1, n_features)
        Pairs of rows. If one side has a single row, it is paired with all rows of the other.
    return_interval : bool, default=False
        Whether to return confidence intervals too.
    confidence : float, default=0.9
        Of each interval, above 0 and below 1. The lower end alone is a bound of confidence
        (1 + confidence) / 2.

    Returns
    -------
    factors : ndarray of shape (n_samples,)
    interval : ndarray of shape (n_samples, 2)
        Lower and upper end; only with ``return_interval=True``.

    Raises
    ------
    ValueError
        The numbers of rows differ, or confidence is out of range.

    Notes
    -----
    Rows may lie outside the declared bounds, and are not clipped. The factor is then an extrapolation, which
    is right if the model holds there. Models of targets that are no times, such as `DPSEVRegressor`, count
    the target as the natural logarithm of a time. Intervals are those of the released replicates by the
    pivotal rule on the log scale, as in ``predict_quantile``.

    **Privacy**: replicates are drawn from the released values, so intervals spend nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate import DPLogLocationScaleRegressor, TableDomain
    >>> from skprivate.domain import StressColumn
    >>> rng = np.random.default_rng(0)
    >>> domain = TableDomain({"celsius": StressColumn(20, 150, "arrhenius")})
    >>> celsius = rng.choice([85.0, 105.0, 125.0], size=(20000, 1))
    >>> hours = np.exp(0.7 * domain.encode(celsius)[:, 0] - 14) * rng.weibull(2.0, size=20000)
    >>> model = DPLogLocationScaleRegressor(4.0, domain=domain, bounds_y=(10, 1e6)).fit(celsius, hours)
    >>> factor, interval = model.acceleration_factor([[25.0]], [[125.0]], return_interval=True)
    >>> bool(interval[0, 0] < factor[0] < interval[0, 1]), interval.shape
    (True, (1, 2))
    """
    check_is_fitted(self)
    check_confidence(confidence)
    use, stress = self._read_fitted(X_use), self._read_fitted(X_stress)
    if len(use) != len(stress) and 1 not in (len(use), len(stress)):
        raise ValueError("X_use and X_stress must have as many rows as each other, or one of them one row.")
    shift = use - stress
    estimates = products(shift, self.coef_)
    with np.errstate(over="ignore"):
        factors: FloatArray = exp(estimates)
        if not return_interval:
            return factors
        replicates = self.replicates_
        none = np.zeros((1, len(replicates)))
        ends = pivotal_bounds(estimates[:, np.newaxis], shift, replicates[:, 2:], none, ends_of(confidence))
        return factors, exp(ends[:, 0])


@redact_errors
def locations(self: Any, X: Rows) -> tuple[FloatArray, FloatArray]:
    """Return validated rows, and the location of each on the scale of the model."""
    check_is_fitted(self)
    rows = self._read_fitted(X)
    return rows, products(rows, self.coef_) + self.intercept_


def _quantiles(self: Any, rows: FloatArray, location: FloatArray, levels: FloatArray) -> FloatArray:
    errors = self.error_distribution_.quantile(levels)
    quantiles = np.empty((len(rows), *levels.shape))
    for where, level in each_level(self, rows, intervals=False):
        quantiles[where] = np.add.outer(location[where], level.scale_ * errors)
    return _in_units(self, quantiles)


def _quantile_bounds(
    self: Any, rows: FloatArray, location: FloatArray, levels: FloatArray, sides: Sequence[float]
) -> FloatArray:
    """Return bounds, of the shape of the quantiles and one axis more; see `pivotal_bounds`."""
    errors = np.atleast_1d(self.error_distribution_.quantile(levels))
    bounds = np.empty((len(rows), len(errors), len(sides)))
    for where, level in each_level(self, rows, intervals=True):
        # Read once: replicates may be drawn at every reading.
        replicates = level.replicates_
        offsets = replicates[:, 0] + np.multiply.outer(errors, replicates[:, 1])
        estimates = np.add.outer(location[where], level.scale_ * errors)
        bounds[where] = pivotal_bounds(estimates, rows[where], replicates[:, 2:], offsets, sides)
    return _in_units(self, bounds.reshape(len(rows), *levels.shape, len(sides)))


@np.errstate(over="ignore")
def _in_units(self: Any, values: FloatArray) -> FloatArray:
    return exp(values) if self.log_target_ else values


def _check_levels(q: Any, name: str = "q") -> FloatArray:
    levels = np.asarray(q, dtype=np.float64)
    if levels.ndim > 1:
        raise ValueError(f"{name} must be a number or a one-dimensional array.")
    if not ((levels > 0) & (levels < 1)).all():
        raise ValueError(f"{name} must be above 0 and below 1.")
    return levels


# Intervals of functions that are linear in a row, from the replicates of a fit.


def replicate_quantiles(
    rows: FloatArray, slopes: FloatArray, offsets: FloatArray, levels: ArrayLike
) -> FloatArray:
    """Return quantiles over replicates of ``rows @ slopes[r] + offsets[k, r]``, for every row and every k.

    Parameters
    ----------
    rows : ndarray of shape (n_samples, n_features)
    slopes : ndarray of shape (n_replicates, n_features)
    offsets : ndarray of shape (n_functions, n_replicates)
    levels : array-like of shape (n_levels,)
        Probabilities, from 0 to 1.

    Returns
    -------
    quantiles : ndarray of shape (n_samples, n_functions, n_levels)
        Interpolated linearly between order statistics, as `numpy.quantile` does.

    Notes
    -----
    Rows are processed in parts that stay in the cache. A whole sort is vectorised, and so takes less time
    than a partition around the few order statistics that are needed.

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate.linear_model._predictions import replicate_quantiles
    >>> replicate_quantiles(np.ones((1, 1)), np.arange(5.0)[:, None], np.zeros((1, 5)), [0.5, 0.9])
    array([[[2. , 3.6]]])
    """
    n_replicates = len(slopes)
    places = np.asarray(levels, dtype=np.float64) * (n_replicates - 1)
    below = np.floor(places).astype(np.intp)
    above = np.minimum(below + 1, n_replicates - 1)
    weights = places - below
    n_at_once = max(1, _AT_ONCE // n_replicates)
    transposed = np.ascontiguousarray(slopes.T)
    values = np.empty((n_at_once, n_replicates))
    quantiles = np.empty((len(rows), len(offsets), len(places)))
    for start in range(0, len(rows), n_at_once):
        part = rows[start : start + n_at_once]
        product, value = products(part, transposed), values[: len(part)]
        for k, offset in enumerate(offsets):
            np.add(product, offset, out=value)
            value.sort(axis=-1)
            low = value[:, below]
            quantiles[start : start + n_at_once, k] = low + weights * (value[:, above] - low)
    return quantiles


def pivotal_bounds(
    estimates: FloatArray, rows: FloatArray, slopes: FloatArray, offsets: FloatArray, levels: Sequence[float]
) -> FloatArray:
    """Return bounds by the pivotal rule: twice the estimate minus a quantile of the replicates.

    Parameters
    ----------
    estimates : ndarray of shape (n_samples, n_functions)
    rows, slopes, offsets
        Of `replicate_quantiles`.
    levels : sequence of float of length n_bounds
        Probability, under sampling and noise, that the truth is below the bound.

    Returns
    -------
    bounds : ndarray of shape (n_samples, n_functions, n_bounds)

    Notes
    -----
    With t the truth, e the estimate and r a replicate, the bootstrap takes the distribution of e - t to be
    that of r - e. So t < 2 e - r_p, with r_p the p-quantile of the replicates, has the probability
    P(e - t > r_p - e) = 1 - p.
    """
    quantiles = replicate_quantiles(rows, slopes, offsets, 1.0 - np.asarray(levels))
    return 2.0 * estimates[..., np.newaxis] - quantiles


# The score: R^2, or the concordance index.


@redact_errors
def score(self: Any, X: ArrayLike, y: Any, sample_weight: ArrayLike | None = None) -> float:
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
        Numbers: R^2. Events and times: Harrell's concordance index, with ties as in scikit-survival's
        ``concordance_index_censored(event, time, -predict(X))[0]``. It is nan if no pair is comparable. With
        entries, an event is compared with the rows that were watched at its time.

    Raises
    ------
    TypeError, ValueError
        Unusable rows or target; weights with events and times; or lower and upper ends, which do not show
        which event came first.

    Notes
    -----
    **Privacy**: a score is an exact function of the rows that are passed. Nothing protects these rows.
    """
    strict = self.is_strict()
    if not is_structured(y):
        score = float(RegressorMixin.score(self, X, y, sample_weight))
        if not strict:
            read_target(y, self.log_target_)  # a time of 0 is an error, as in fit
        return score
    if sample_weight is not None:
        raise ValueError("sample_weight is for a numeric y; the concordance index takes no weights.")
    if "lower" in find_roles(y):
        raise ValueError(
            "a target of lower and upper ends has no score: overlapping intervals do not show which event "
            "came first. Score rows of events and times."
        )
    target = replace_target(y, self.bounds_y_, True) if strict else read_target(y, self.log_target_)
    medians = self.predict(X)
    check_consistent_length(medians, target.event)
    seen = np.asarray(target.event) == CODES["exact"]
    return concordance_index(seen, target.time_on_model_scale, medians, target.entry)


def concordance_index(
    event: BoolArray, time: FloatArray, predicted: FloatArray, entry: FloatArray | None = None
) -> float:
    """Return the share of comparable pairs whose predicted times are in the right order.

    A pair is comparable if the shorter time ended in the event, or if the times are equal and exactly one
    of them did: the other then lived longer. Tied predictions count one half. If rows were watched from an
    entry on, the other must have been watched at the time of the event.

    Parameters
    ----------
    event : ndarray of bool of shape (n_samples,)
    time : ndarray of shape (n_samples,)
    predicted : ndarray of shape (n_samples,)
        Larger means later.
    entry : ndarray of shape (n_samples,), default=None
        Below the times; -inf: from the start. None: all rows from the start.

    Returns
    -------
    index : float
        From 0 to 1. It is nan, with an UndefinedMetricWarning, if no pair is comparable.

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate.linear_model._predictions import concordance_index
    >>> event, time = np.array([True, True, False, True]), np.array([1.0, 2.0, 3.0, 4.0])
    >>> concordance_index(event, time, np.array([10.0, 30.0, 20.0, 40.0]))
    0.8
    """
    ranks = np.unique(time, return_inverse=True)[1]
    # At equal times events come first. All that follows an event is then comparable to it.
    key = 2 * ranks + ~event
    n_pairs, right = _compare(key, 2 * ranks[event] + 1, event, predicted)
    if entry is not None:
        # All rows that entered later are among the comparable ones, as they lived longer.
        later, ordered = _compare(entry, time[event], event, predicted)
        n_pairs, right = n_pairs - later, right - ordered
    if n_pairs == 0:
        message = "The concordance index is not defined: no pair of rows is comparable."
        warn_user(message, UndefinedMetricWarning)
        return math.nan
    return right / (2 * n_pairs)


def _compare(key: Any, least: Any, event: BoolArray, predicted: FloatArray) -> tuple[int, int]:
    """Count pairs of an event and a row whose key is not less. Pairs in order count twice, tied ones once."""
    order = np.argsort(key, kind="stable")
    first = np.searchsorted(key[order], least)
    rising = np.sort(predicted)
    values = np.searchsorted(rising, predicted[order])
    own = predicted[event]
    above = np.searchsorted(rising, own + TIED, side="right")
    tied = np.searchsorted(rising, own - TIED, side="left")
    n_pairs = int(np.sum(len(key) - first))
    return n_pairs, _count_from(values, first, above) + _count_from(values, first, tied)


def _count_from(values: IntArray, first: IntArray, least: IntArray) -> int:
    """Count pairs (i, j) with j >= first[i] and values[j] >= least[i]; values are below their number.

    This is a wavelet tree, from the highest bit down. Values are partitioned stably by the bit, so that those
    that an i still has to compare stay contiguous.
    """
    n_values = len(values)
    low, high = first, np.full_like(first, n_values)
    found = 0
    for bit in reversed(range(n_values.bit_length())):
        one = (values >> bit & 1).astype(bool)
        zeros_before = np.concatenate([[0], np.cumsum(~one)])
        low_zeros, high_zeros = zeros_before[low], zeros_before[high]
        needs_one = (least >> bit & 1).astype(bool)
        # If a 0 is enough, all values with a 1 are large enough.
        found += int(np.sum((high - low - high_zeros + low_zeros)[~needs_one]))
        low = np.where(needs_one, zeros_before[-1] + low - low_zeros, low_zeros)
        high = np.where(needs_one, zeros_before[-1] + high - high_zeros, high_zeros)
        values = np.concatenate([values[~one], values[one]])
    return found + int(np.sum(high - low))
