# SPDX-License-Identifier: BSD-3-Clause
"""Display of a quantile of the lifetime against one feature, with bands, at given values of the others."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from .._typing import FloatArray
from ..utils import check_int
from ..utils._public_module import public_module
from ._matplotlib import new_axes


@public_module("skprivate.inspection")
class QuantileDependenceDisplay:
    """A quantile of a life model against one feature, with its pointwise confidence band.

    The median, say, or the B10 life (``q=0.1``), while all other features stay where they are. It is
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
        scale of the model: the title then says so.

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
    On its scale the model is additive: with other values of the other features the curve of log time is the
    same but for a shift. So, unlike an average over rows, the picture needs no rows.

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

    def __init__(
        self,
        *,
        name: str,
        values: NDArray[Any],
        quantiles: FloatArray,
        interval: FloatArray,
        q: float,
        beyond: bool = False,
    ) -> None:
        self.name = name
        self.values = values
        self.quantiles = quantiles
        self.interval = interval
        self.q = q
        self.beyond = beyond

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
            There is no such feature; ``at`` gives no value of a column that has no centre; or q or confidence
            is out of range.
        ImportError
            Matplotlib is not installed, or pandas, where the columns of the fit had names.
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
        display = cls(
            name=name, values=values, quantiles=quantiles, interval=interval, q=level, beyond=beyond
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
        self.ax_: Any = new_axes(ax, type(self).__name__)
        self.figure_ = self.ax_.figure
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
        # Names are not formulas, whatever they hold.
        self.ax_.set_xlabel(self.name, parse_math=False)
        self.ax_.set_ylabel("median" if self.q == 0.5 else f"{100 * self.q:g} % quantile")
        if self.beyond:
            self.ax_.set_title("a band leaves bounds_y by more than their width", parse_math=False)
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
        if isinstance(feature, str):
            if feature not in self._names:
                raise ValueError(f"there is no feature {feature!r}: they are {self._names}.")
            return feature
        number = check_int(feature, "feature", least=0)
        if number >= len(self._names):
            raise ValueError(f"there is no feature {number}: there are {len(self._names)}.")
        name: str = self._names[number]
        return name

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
        """Return a table in which one feature takes the values, and the others stay."""
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
