# SPDX-License-Identifier: BSD-3-Clause
"""Quantiles of rows, their intervals and one-sided bounds, and tables of B lives."""

from collections.abc import Sequence
from typing import Any, Literal, get_args, overload

import numpy as np
from numpy.typing import ArrayLike

from ..._typing import FloatArray
from .fitted_line import FittedLine
from .replicated import check_confidence, ends_of, pivotal_bounds

Side = Literal["lower", "upper"]


class QuantilePredictions(FittedLine):
    """Mixin of predictions of quantiles."""

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
            Of each interval, above 0 and below 1. The lower end alone is a bound at (1 + confidence) / 2,
            as `predict_quantile_bound` returns it.

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
        check_confidence(confidence)
        rows, location = self._locations(X)
        quantiles = self._quantiles(location, levels)
        if not return_interval:
            return quantiles
        return quantiles, self._quantile_bounds(rows, location, levels, ends_of(confidence))

    def predict_quantile_bound(
        self, X: ArrayLike, q: ArrayLike, *, side: Side = "lower", confidence: float = 0.95
    ) -> FloatArray:
        """Predict one-sided confidence bounds of quantiles: what a warranty may promise.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        q : float or array-like of shape (n_quantiles,)
            Probabilities above 0 and below 1.
        side : {"lower", "upper"}, default="lower"
            Whether the quantile is to be above the bound, or below it.
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

        Notes
        -----
        With ``q=0.1``, ``side="lower"`` and ``confidence=0.95``: were the table drawn anew and fitted anew
        with fresh noise, the bound would be below the true B10 life in 95 of 100 repetitions. In other words,
        with confidence .95 at most a tenth fails before the bound (a tolerance bound). Sampling and the noise
        of the release are what may be wrong; that the distribution and the line are right, and that the
        bounds of X and y hold, is assumed. It is the lower end of a two-sided interval of confidence .9.
        The confidence is nominal: the guide says how often intervals held in simulated tables, and a
        `UtilityWarning` of the fit says where they cannot be relied upon.

        **Privacy**: a function of released values, which spends nothing.

        Examples
        --------
        >>> import numpy as np
        >>> from skprivate import DPLogLocationScaleRegressor
        >>> rng = np.random.default_rng(0)
        >>> load = rng.uniform(0, 10, size=(20000, 1))
        >>> hours = np.exp(9 - 0.2 * load[:, 0]) * rng.weibull(2.0, size=20000)
        >>> model = DPLogLocationScaleRegressor(epsilon=1.0, bounds_X=(0, 10), bounds_y=(10, 20000))
        >>> model = model.fit(load, hours)
        >>> b10 = model.predict_quantile([[5.0]], 0.1)
        >>> bool(model.predict_quantile_bound([[5.0]], 0.1)[0] < b10[0])
        True
        """
        levels = _check_levels(q)
        if side not in get_args(Side):
            raise ValueError("side must be 'lower' or 'upper'.")
        check_confidence(confidence)
        rows, location = self._locations(X)
        level = 1.0 - confidence if side == "lower" else confidence
        return self._quantile_bounds(rows, location, levels, [level])[..., 0]

    def b_lives(
        self, X: ArrayLike, levels: ArrayLike = (0.01, 0.05, 0.1, 0.5), *, confidence: float = 0.9
    ) -> Any:
        """Return a table of B lives: the times by which given shares have failed.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        levels : array-like of shape (n_levels,), default=(0.01, 0.05, 0.1, 0.5)
            Shares above 0 and below 1: .1 is the B10 life.
        confidence : float, default=0.9
            Of each two-sided interval, and of each one-sided bound, by itself.

        Returns
        -------
        frame : pandas.DataFrame
            A line for each row of X and each level: ``row`` (from 0), ``level``, ``estimate``, ``lower`` and
            ``upper`` (the ends of the two-sided interval) and ``bound`` (the one-sided lower bound, which is
            above ``lower``, as its whole risk is on one side), in the units of y as passed to fit.

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
        >>> model = DPLogLocationScaleRegressor(epsilon=1.0, bounds_X=(0, 10), bounds_y=(10, 20000))
        >>> table = model.fit(load, hours).b_lives([[0.0], [5.0]], [0.1, 0.5])
        >>> table.shape, bool((table["lower"] < table["bound"]).all())
        ((4, 6), True)
        """
        import pandas as pd

        shares = np.atleast_1d(_check_levels(levels, "levels"))
        check_confidence(confidence)
        rows, location = self._locations(X)
        bounds = self._quantile_bounds(rows, location, shares, [*ends_of(confidence), 1.0 - confidence])
        columns = {
            "row": np.repeat(np.arange(len(rows)), len(shares)),
            "level": np.tile(shares, len(rows)),
            "estimate": self._quantiles(location, shares).ravel(),
        }
        for k, name in enumerate(("lower", "upper", "bound")):
            columns[name] = bounds[..., k].ravel()
        return pd.DataFrame(columns)

    def _quantiles(self, location: FloatArray, levels: FloatArray) -> FloatArray:
        errors = self.error_distribution_.quantile(levels)
        return self._in_units(np.add.outer(location, self.scale_ * errors))

    def _quantile_bounds(
        self, rows: FloatArray, location: FloatArray, levels: FloatArray, sides: Sequence[float]
    ) -> FloatArray:
        """Bounds of the shape of the quantiles and one axis more; see `pivotal_bounds`."""
        # Once: replicates may be drawn when they are asked for.
        replicates = self.replicates_
        errors = np.atleast_1d(self.error_distribution_.quantile(levels))
        offsets = replicates[:, 0] + np.multiply.outer(errors, replicates[:, 1])
        estimates = np.add.outer(location, self.scale_ * errors)
        bounds = pivotal_bounds(estimates, rows, replicates[:, 2:], offsets, sides)
        return self._in_units(bounds.reshape(len(rows), *levels.shape, len(sides)))


def _check_levels(q: Any, name: str = "q") -> FloatArray:
    levels = np.asarray(q, dtype=np.float64)
    if levels.ndim > 1:
        raise ValueError(f"{name} must be a number or a one-dimensional array.")
    if not ((levels > 0) & (levels < 1)).all():
        raise ValueError(f"{name} must be above 0 and below 1.")
    return levels
