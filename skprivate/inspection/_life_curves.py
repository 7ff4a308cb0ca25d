# SPDX-License-Identifier: BSD-3-Clause
"""Display of survival functions of rows with bands, beside the private Kaplan-Meier curve of all rows."""

from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._typing import FloatArray
from ..utils._public_module import public_module
from ._matplotlib import new_axes


@public_module("skprivate.inspection")
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
    The Kaplan-Meier curve is that of all rows of the fit, whatever their features: it lies among the curves
    of rows, and need not agree with any of them.

    **Privacy.** A picture of released quantities is released: it costs nothing. The rows that are drawn are
    those that are passed, and nothing protects them.

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

    def __init__(
        self,
        *,
        times: FloatArray,
        survival: FloatArray,
        interval: FloatArray,
        names: Any,
        kaplan_meier: tuple[FloatArray, FloatArray] | None = None,
    ) -> None:
        self.times = times
        self.survival = survival
        self.interval = interval
        self.names = names
        self.kaplan_meier = kaplan_meier

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
            Where curves are drawn; None: ``unique_times_`` of the estimator.
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
            Rows, times, or the confidence cannot be used, or the names are of another number.
        ImportError
            Matplotlib is not installed.
        """
        check_is_fitted(estimator)
        times = estimator.unique_times_ if times is None else np.asarray(times, dtype=np.float64)
        survival, interval = estimator.predict_survival_function(
            X, return_array=True, return_interval=True, times=times, confidence=confidence
        )
        names = [f"row {k}" for k in range(len(survival))] if names is None else [str(name) for name in names]
        if len(names) != len(survival):
            raise ValueError("names must have one name for each row of X.")
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
        self.ax_: Any = new_axes(ax, type(self).__name__)
        self.figure_ = self.ax_.figure
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
        # Names are not formulas, whatever they hold.
        for text in self.ax_.legend(fontsize="small").get_texts():
            text.set_parse_math(False)
        return self
