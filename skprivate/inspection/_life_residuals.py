# SPDX-License-Identifier: BSD-3-Clause
"""Display of the residuals of a life model against its law: probability plot and Cox-Snell plot."""

from typing import Any, Literal, Self, get_args

import numpy as np

from .._typing import FloatArray
from ..linear_model import GoodnessOfFit
from ..utils._public_module import public_module
from ._matplotlib import new_axes

Kind = Literal["probability", "cox-snell"]

# Shares that have failed, as probability paper is ruled.
_TICKS = (0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999)


@public_module("skprivate.inspection")
class ResidualDisplay:
    """Probability plot or Cox-Snell plot of the residuals that a life model released.

    It is recommended to use `from_estimator`; parameters are stored as attributes.

    Parameters
    ----------
    fit : GoodnessOfFit
        As ``goodness_of_fit`` of the model returns it.
    distribution : ErrorDistribution
        The law, ``error_distribution_`` of the model.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes with the picture.
    figure_ : matplotlib Figure
        The figure of the axes.
    line_ : matplotlib Line2D
        The estimate at the ends of the cells, where it is above 0.
    band_ : matplotlib PolyCollection
        Confidence intervals of noise and sampling.
    noise_band_ : matplotlib PolyCollection
        Those of the noise alone.
    law_line_ : matplotlib Line2D
        The diagonal: what a right law shows but for noise and sampling.

    See Also
    --------
    skprivate.linear_model.GoodnessOfFit : The numbers of the picture, and the test that is its title.

    Notes
    -----
    The probability plot shows the share of rows that have failed, on the scale of the law's quantiles,
    against the standardised error: Weibull paper for Weibull times, log-normal paper for log-normal ones. The
    Cox-Snell plot shows the cumulative hazard of the residuals against that of the law. Where a point lies
    above the diagonal, more rows had failed by then than the law expects. Points are not independent: one
    deviation early carries on.

    **Privacy.** A picture of released quantities is released: it costs nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> from skprivate.inspection import ResidualDisplay
    >>> from skprivate.linear_model._distributions import SEV
    >>> from skprivate.linear_model._predictions.goodness_of_fit import goodness_of_fit
    >>> edges = np.concatenate([[-np.inf], np.linspace(-8, 2, 49), [np.inf]])
    >>> events = -1e5 * np.diff(SEV.survival(edges))
    >>> fit = goodness_of_fit(edges, np.stack([0 * events, events]), 1.0, SEV, "laplace")
    >>> display = ResidualDisplay(fit=fit, distribution=SEV).plot(ax=Figure().subplots())
    >>> display.ax_.get_xlabel()
    'standardised residual'
    """

    def __init__(self, *, fit: GoodnessOfFit, distribution: Any) -> None:
        self.fit = fit
        self.distribution = distribution

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
        self.ax_: Any = new_axes(ax, type(self).__name__)
        self.figure_, fit = self.ax_.figure, self.fit
        shown = fit.cumulative_hazard > 0
        places = (fit.errors if kind == "probability" else fit.law_hazard)[shown]
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
        self.law_line_: Any = self.ax_.plot(ends, ends, "k--", linewidth=1, label="law")[0]
        self._name_axes(kind, values)
        return self

    def _heights(self, hazard: FloatArray, kind: Kind) -> FloatArray:
        """Cumulative hazards, or the law's quantiles of the shares that have failed."""
        if kind == "cox-snell":
            return hazard
        # A hazard of 0 has the quantile -inf, which cannot be drawn: below all that is.
        shares = np.clip(-np.expm1(-hazard), 1e-6, 1.0 - 1e-6)
        return self.distribution.quantile(shares)

    def _name_axes(self, kind: Kind, values: FloatArray) -> None:
        ax, fit = self.ax_, self.fit
        if kind == "cox-snell":
            ax.set(xlabel="cumulative hazard by the law", ylabel="cumulative hazard of the residuals")
        else:
            heights = self.distribution.quantile(np.array(_TICKS))
            ax.set_yticks(heights, [f"{100 * share:g} %" for share in _TICKS])
            ax.set(xlabel="standardised residual", ylabel="share that has failed")
        if len(values):
            # The picture is that of the estimate and the law: ends of wide bands may be far away.
            ends = [*values[[0, -1]], *self.law_line_.get_ydata()]
            low, high = min(ends), max(ends)
            margin = 0.05 * (high - low)
            ax.set_ylim(low - margin, high + margin)
        ax.set_title(
            f"distance {fit.distance:.2g} = {fit.statistic:.2g} standard errors (limit {fit.limit:.2g})",
            fontsize="medium",
        )
        ax.legend(fontsize="small")
