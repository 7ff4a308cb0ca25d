# SPDX-License-Identifier: BSD-3-Clause
"""Pictures of life data: survival curves, quantiles by a column, and residuals."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from .._typing import FloatArray
from ..linear_model import GoodnessOfFit
from ..utils._public_module import public_module
from ._matplotlib import find_feature, new_axes, plain_legend


@public_module("skprivate.inspection")
@dataclass(kw_only=True, eq=False, repr=False)
class SurvivalCurveDisplay:
    """Survival functions that a life model predicts for some rows, with pointwise confidence bands.

    It is recommended to use `from_estimator`; parameters are stored as attributes.

    Parameters
    ----------
    times : ndarray of shape (n_times,)
        In the units of the target.
    survival : ndarray of shape (n_rows, n_times)
        Probabilities.
    interval : ndarray of shape (n_rows, n_times, 2)
        Lower and upper ends of the bands.
    names : sequence of str of length n_rows
        Of the rows, for the legend.
    kaplan_meier : tuple of two ndarrays, default=None
        Times and survival of all rows of the fit, ``survival_curve_`` of the model. None: not drawn.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes with the picture.
    figure_ : matplotlib Figure
        The figure of the axes.
    lines_ : list of matplotlib Line2D
        One for each row.
    bands_ : list of matplotlib PolyCollection
        One for each row.
    kaplan_meier_ : matplotlib Line2D or None
        The curve of all rows.

    See Also
    --------
    QuantileDependenceDisplay : A quantile against one feature.

    Notes
    -----
    The Kaplan-Meier curve is that of all rows of the fit, whatever their features. It lies among the curves
    of rows, and need not agree with any of them.

    **Privacy.** A picture of released quantities is released: it costs nothing. It shows the rows that are
    passed, and nothing protects them.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from skprivate import DPLogLocationScaleRegressor
    >>> from skprivate.datasets import make_location_scale
    >>> from skprivate.inspection import SurvivalCurveDisplay
    >>> X, y = make_location_scale(50_000, 2, censoring=0.3, random_state=0)
    >>> model = DPLogLocationScaleRegressor(4.0, bounds_X=(-1, 1), bounds_y=(0.01, 20)).fit(X, y)
    >>> display = SurvivalCurveDisplay.from_estimator(model, [[-1, 0], [1, 0]], ax=Figure().subplots())
    >>> len(display.lines_), display.kaplan_meier_ is None
    (2, False)
    """

    times: FloatArray
    survival: FloatArray
    interval: FloatArray
    names: Any
    kaplan_meier: tuple[FloatArray, FloatArray] | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        times: Any = None,
        names: Any = None,
        confidence: float = 0.9,
        ax: Any = None,
    ) -> Self:
        """Draw the survival functions of rows.

        Parameters
        ----------
        estimator : DPLogLocationScaleRegressor or one of its presets
            Fitted.
        X : array-like of shape (n_rows, n_features)
            The rows.
        times : array-like of shape (n_times,), default=None
            Times of the curves; None: ``unique_times_`` of the estimator.
        names : sequence of str of length n_rows, default=None
            Of the rows, for the legend. None: "row 0", "row 1", ...
        confidence : float, default=0.9
            Of each interval of a band by itself, above 0 and below 1.
        ax : matplotlib Axes, default=None
            Axes to draw on; None: those of a new figure.

        Returns
        -------
        display : SurvivalCurveDisplay

        Raises
        ------
        NotFittedError
            The estimator is not fitted.
        ValueError
            Rows, times, or the confidence cannot be used, or there is another number of names.
        ImportError
            Matplotlib is not installed.
        """
        check_is_fitted(estimator)
        times = estimator.unique_times_ if times is None else np.asarray(times, dtype=np.float64)
        curves, interval = estimator.predict_survival_function(
            X, return_interval=True, times=times, confidence=confidence
        )
        survival = np.array([curve.y for curve in curves]).reshape(len(curves), len(times))
        names = [f"row {k}" for k in range(len(survival))] if names is None else [str(name) for name in names]
        if len(names) != len(survival):
            raise ValueError("names must have one name for each row of X.")
        names = [
            name if curve.state == "known" else f"{name} ({curve.state})"
            for name, curve in zip(names, curves, strict=True)
        ]
        curve = getattr(estimator, "survival_curve_", None)
        display = cls(times=times, survival=survival, interval=interval, names=names, kaplan_meier=curve)
        return display.plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None: those of a new figure.

        Returns
        -------
        self : SurvivalCurveDisplay

        Raises
        ------
        ImportError
            Matplotlib is not installed.
        """
        self.ax_, self.figure_ = new_axes(ax, type(self).__name__)
        self.lines_: list[Any] = []
        self.bands_: list[Any] = []
        self.kaplan_meier_: Any = None
        for name, values, band in zip(self.names, self.survival, self.interval, strict=True):
            (line,) = self.ax_.plot(self.times, values, label=name)
            self.lines_.append(line)
            self.bands_.append(
                self.ax_.fill_between(self.times, *band.T, color=line.get_color(), alpha=0.25, linewidth=0)
            )
        if self.kaplan_meier is not None:
            times, survival = self.kaplan_meier
            (self.kaplan_meier_,) = self.ax_.step(
                times, survival, where="post", color="black", linewidth=1, label="all rows, Kaplan-Meier"
            )
        self.ax_.set(xlabel="time", ylabel="survival probability", ylim=(-0.02, 1.02))
        plain_legend(self.ax_, fontsize="small")
        return self


@public_module("skprivate.inspection")
@dataclass(kw_only=True, eq=False, repr=False)
class QuantileDependenceDisplay:
    """A quantile of a life model against one feature, with its pointwise confidence band.

    It shows the median, or the B10 life (``q=0.1``), for example, while all other features are fixed. It is
    recommended to use `from_estimator`; parameters are stored as attributes.

    Parameters
    ----------
    name : str
        Of the feature.
    values : ndarray of shape (n_values,)
        Numbers, or levels.
    quantiles : ndarray of shape (n_values,)
        In the units of the target.
    interval : ndarray of shape (n_values, 2)
        Lower and upper ends.
    q : float
        Probability of the quantile.
    beyond : bool, default=False
        Whether an end of an interval lies beyond the bounds of the target by more than these are apart on the
        scale of the model. The title then shows it.
    state : {"known", "mostly noise", "unknown"}, default="known"
        The worst state of the quantiles, as ``quantile_state`` returns them. The title shows it, too.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes with the picture.
    figure_ : matplotlib Figure
        The figure of the axes.
    line_ : matplotlib artist
        A ``Line2D`` over numbers, an ``ErrorbarContainer`` over levels.
    band_ : matplotlib PolyCollection or None
        The band over numbers.

    See Also
    --------
    SurvivalCurveDisplay : Whole survival curves of some rows.
    sklearn.inspection.PartialDependenceDisplay : Averages predictions over rows, which it needs.

    Notes
    -----
    On its scale the model is additive: other values of the other features only shift the curve of log time.
    So, unlike an average over rows, the picture needs no rows.

    **Privacy.** A picture of released quantities is released: it costs nothing.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from skprivate import DPLogLocationScaleRegressor
    >>> from skprivate.datasets import make_location_scale
    >>> from skprivate.inspection import QuantileDependenceDisplay
    >>> X, y = make_location_scale(20_000, 2, random_state=0)
    >>> model = DPLogLocationScaleRegressor(4.0, bounds_X=(-1, 1), bounds_y=(0.01, 20)).fit(X, y)
    >>> display = QuantileDependenceDisplay.from_estimator(model, 0, q=0.1, ax=Figure().subplots())
    >>> display.quantiles.shape, display.ax_.get_xlabel()
    ((50,), 'x0')
    """

    name: str
    values: NDArray[Any]
    quantiles: FloatArray
    interval: FloatArray
    q: float
    beyond: bool = False
    state: str = "known"

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        feature: int | str,
        *,
        q: float = 0.5,
        at: Any = None,
        values: Any = None,
        confidence: float = 0.9,
        ax: Any = None,
    ) -> Self:
        """Draw a quantile against a feature.

        Parameters
        ----------
        estimator : DPLogLocationScaleRegressor or one of its presets
            Fitted.
        feature : int or str
            Number or name of the column.
        q : float, default=0.5
            Probability of the quantile, above 0 and below 1.
        at : mapping or array-like of shape (n_features,), default=None
            Values of the other features: all of them, or those of some by number or name. Numbers that are
            not given are at the centre of their bounds.
        values : array-like of shape (n_values,), default=None
            Values of the feature. None: 50 from bound to bound, or all levels.
        confidence : float, default=0.9
            Of each interval of the band by itself, above 0 and below 1.
        ax : matplotlib Axes, default=None
            Axes to draw on; None: those of a new figure.

        Returns
        -------
        display : QuantileDependenceDisplay

        Raises
        ------
        NotFittedError
            The estimator is not fitted.
        ValueError
            There is no such feature; ``at`` gives no value of a column without a centre; or q or confidence
            is out of range.
        ImportError
            Matplotlib is not installed, or pandas, if the columns of the fit had names.
        """
        check_is_fitted(estimator)
        columns = _Columns(estimator)
        name = columns.find(feature)
        if values is None:
            values = columns.choices(name)
        values = np.asarray(values)
        if values.ndim != 1 or not len(values):
            raise ValueError("values must be a one-dimensional array with at least one value.")
        table = columns.table(name, values, at)
        level = float(np.asarray(q, dtype=np.float64))
        quantiles, interval = estimator._with_intervals(table, level, confidence)
        beyond = bool(estimator._beyond(interval).any())
        found = set(estimator.quantile_state(table, level).tolist())
        state = next(one for one in ("unknown", "mostly noise", "known") if one in found)
        display = cls(
            name=name,
            values=values,
            quantiles=quantiles,
            interval=interval,
            q=level,
            beyond=beyond,
            state=state,
        )
        return display.plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the quantile.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None: those of a new figure.

        Returns
        -------
        self : QuantileDependenceDisplay

        Raises
        ------
        ImportError
            Matplotlib is not installed.
        """
        self.ax_, self.figure_ = new_axes(ax, type(self).__name__)
        self.band_: Any = None
        self.line_: Any
        if np.issubdtype(self.values.dtype, np.number):
            (self.line_,) = self.ax_.plot(self.values, self.quantiles)
            self.band_ = self.ax_.fill_between(self.values, *self.interval.T, alpha=0.25, linewidth=0)
        else:
            reach = np.abs(self.interval.T - self.quantiles)
            places = np.arange(len(self.values))
            self.line_ = self.ax_.errorbar(places, self.quantiles, yerr=reach, fmt="o", capsize=3)
            self.ax_.set_xticks(places, [str(value) for value in self.values], parse_math=False)
        # Names are not formulas, whatever they contain.
        self.ax_.set_xlabel(self.name, parse_math=False)
        self.ax_.set_ylabel("median" if self.q == 0.5 else f"{100 * self.q:g} % quantile")
        if self.beyond:
            self.ax_.set_title("a band leaves bounds_y by more than their width", parse_math=False)
        elif self.state != "known":
            self.ax_.set_title(f"a part of the band is {self.state}", parse_math=False)
        return self


class _Columns:
    """Columns of the tables that a fitted model reads, and what is publicly known of them."""

    def __init__(self, estimator: Any) -> None:
        self._domain: Any = getattr(estimator, "domain_", None)
        self._bounds: dict[str, tuple[float, float]]
        found = getattr(estimator, "feature_names_in_", None)
        self._named = found is not None
        self._names = [f"x{k}" for k in range(estimator.n_features_in_)] if found is None else list(found)
        if self._domain is None:
            self._bounds = dict(zip(self._names, zip(*estimator.bounds_, strict=True), strict=True))
        else:
            self._bounds = {
                name: (column.lower, column.upper)
                for name, column in self._domain.columns.items()
                if column.kind in ("number", "stress")
            }

    def find(self, feature: Any) -> str:
        """Return the name of a feature that is given by number or name."""
        return self._names[find_feature(feature, self._names)]

    def choices(self, name: str) -> Any:
        """Return values that the feature may have: an even grid of numbers, or all levels."""
        if name in self._bounds:
            lower, upper = self._bounds[name]
            return np.linspace(lower, upper, 50)
        column = self._domain.columns[name]
        if column.kind == "boolean":
            return [False, True]
        if column.kind == "categorical":
            return list(column.levels)
        raise ValueError(f"values must be given for the feature {name!r}.")

    def table(self, name: str, values: NDArray[Any], at: Any) -> Any:
        """Return a table in which one feature takes the values, and the others are fixed."""
        fixed = self._read(at)
        columns: dict[str, Any] = {}
        for other in self._names:
            if other == name:
                columns[other] = values
                continue
            if other not in fixed and other not in self._bounds:
                raise ValueError(f"at must give a value of the feature {other!r}.")
            value = fixed[other] if other in fixed else np.mean(self._bounds[other])
            columns[other] = np.full(len(values), value)
        if self._domain is not None:
            return columns
        if not self._named:
            return np.column_stack(list(columns.values()))
        import pandas as pd

        return pd.DataFrame(columns)

    def _read(self, at: Any) -> dict[str, Any]:
        if at is None:
            return {}
        if isinstance(at, Mapping):
            return {self.find(key): value for key, value in at.items()}
        row = list(at)
        if len(row) != len(self._names):
            raise ValueError("at must be a mapping, or have one value for each feature.")
        return dict(zip(self._names, row, strict=True))


Kind = Literal["probability", "cox-snell"]

# Ticks of the probability plot: shares that have failed, as on probability paper.
_TICKS = (0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999)


@public_module("skprivate.inspection")
@dataclass(kw_only=True, eq=False, repr=False)
class ResidualDisplay:
    """Probability plot or Cox-Snell plot of the residuals that a life model released.

    It is recommended to use `from_estimator`; parameters are stored as attributes.

    Parameters
    ----------
    fit : GoodnessOfFit
        As ``goodness_of_fit`` of the model returns it.
    distribution : ErrorDistribution
        The distribution of the fit, ``error_distribution_`` of the model.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes with the picture.
    figure_ : matplotlib Figure
        The figure of the axes.
    line_ : matplotlib Line2D
        The estimate at the ends of the cells, if it is above 0.
    band_ : matplotlib PolyCollection
        Confidence intervals of noise and sampling.
    noise_band_ : matplotlib PolyCollection
        Those of the noise alone.
    distribution_line_ : matplotlib Line2D
        The diagonal: the right distribution, without noise and sampling.

    See Also
    --------
    skprivate.linear_model.GoodnessOfFit : The numbers of the picture, and the test that is its title.

    Notes
    -----
    The probability plot shows the share of rows that have failed against the standardised error, on the scale
    of the distribution's quantiles: Weibull paper for Weibull times, log-normal paper for log-normal ones.
    The Cox-Snell plot shows the cumulative hazard of the residuals against that of the distribution. If a
    point lies above the diagonal, more rows had failed by then than the distribution expects. Points are not
    independent: one early deviation affects all later points.

    **Privacy.** A picture of released quantities is released: it costs nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> from skprivate.inspection import ResidualDisplay
    >>> from skprivate.linear_model._distributions import SEV
    >>> from skprivate.linear_model._goodness_of_fit import compare_residuals
    >>> edges = np.concatenate([[-np.inf], np.linspace(-8, 2, 49), [np.inf]])
    >>> events = -1e5 * np.diff(SEV.survival(edges))
    >>> fit = compare_residuals(edges, np.stack([0 * events, events]), 1.0, SEV, "laplace")
    >>> display = ResidualDisplay(fit=fit, distribution=SEV).plot(ax=Figure().subplots())
    >>> display.ax_.get_xlabel()
    'standardised residual'
    """

    fit: GoodnessOfFit
    distribution: Any

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, kind: Kind = "probability", confidence: float = 0.9, ax: Any = None
    ) -> Self:
        """Draw the residuals of a fitted life model.

        Parameters
        ----------
        estimator : DPLogLocationScaleRegressor or one of its presets
            Fitted.
        kind : {"probability", "cox-snell"}, default="probability"
            What to draw.
        confidence : float, default=0.9
            Of each interval of the bands by itself, above 0 and below 1.
        ax : matplotlib Axes, default=None
            Axes to draw on; None: those of a new figure.

        Returns
        -------
        display : ResidualDisplay

        Raises
        ------
        NotFittedError
            The estimator is not fitted.
        ValueError
            The fit released no histogram of residuals; or kind or confidence is out of range.
        ImportError
            Matplotlib is not installed.
        """
        fit = estimator.goodness_of_fit(confidence=confidence)
        return cls(fit=fit, distribution=estimator.error_distribution_).plot(ax=ax, kind=kind)

    def plot(self, ax: Any = None, *, kind: Kind = "probability") -> Self:
        """Draw the residuals.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None: those of a new figure.
        kind : {"probability", "cox-snell"}, default="probability"
            What to draw.

        Returns
        -------
        self : ResidualDisplay

        Raises
        ------
        ValueError
            kind is unknown.
        ImportError
            Matplotlib is not installed.
        """
        if kind not in get_args(Kind):
            raise ValueError("kind must be 'probability' or 'cox-snell'.")
        self.ax_, self.figure_ = new_axes(ax, type(self).__name__)
        fit = self.fit
        shown = fit.cumulative_hazard > 0
        places = (fit.errors if kind == "probability" else fit.model_hazard)[shown]
        values, band, noise = (
            self._heights(hazard[shown], kind)
            for hazard in (fit.cumulative_hazard, fit.interval, fit.noise_interval)
        )
        color = {"color": "C0", "linewidth": 0}
        self.band_: Any = self.ax_.fill_between(
            places, *band.T, alpha=0.2, label=f"{100 * fit.confidence:g} %: noise and sampling", **color
        )
        self.noise_band_: Any = self.ax_.fill_between(
            places, *noise.T, alpha=0.3, label="noise alone", **color
        )
        self.line_: Any = self.ax_.plot(places, values, "C0.-", label="residuals")[0]
        ends = places[[0, -1]] if len(places) else np.zeros(2)
        self.distribution_line_: Any = self.ax_.plot(ends, ends, "k--", linewidth=1, label="distribution")[0]
        self._name_axes(kind, values)
        return self

    def _heights(self, hazard: FloatArray, kind: Kind) -> FloatArray:
        """Return cumulative hazards, or the distribution's quantiles of the shares that have failed."""
        if kind == "cox-snell":
            return hazard
        # A hazard of 0 has the quantile -inf, which cannot be drawn: it is put below all others.
        shares = np.clip(-np.expm1(-hazard), 1e-6, 1.0 - 1e-6)
        return self.distribution.quantile(shares)

    def _name_axes(self, kind: Kind, values: FloatArray) -> None:
        ax, fit = self.ax_, self.fit
        if kind == "cox-snell":
            ax.set(xlabel="cumulative hazard by the model", ylabel="cumulative hazard of the residuals")
        else:
            heights = self.distribution.quantile(np.array(_TICKS))
            ax.set_yticks(heights, [f"{100 * share:g} %" for share in _TICKS])
            ax.set(xlabel="standardised residual", ylabel="share that has failed")
        if len(values):
            # The limits are those of the estimate and the diagonal: ends of wide bands may be far away.
            ends = [*values[[0, -1]], *self.distribution_line_.get_ydata()]
            low, high = min(ends), max(ends)
            margin = 0.05 * (high - low)
            ax.set_ylim(low - margin, high + margin)
        ax.set_title(
            f"distance {fit.distance:.2g} = {fit.statistic:.2g} standard errors (limit {fit.limit:.2g})",
            fontsize="medium",
        )
        ax.legend(fontsize="small")
