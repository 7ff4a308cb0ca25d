# SPDX-License-Identifier: BSD-3-Clause
"""Display of a private evaluation: its calibration curve with intervals, and its ROC curve."""

import math
from typing import Any, Literal, Self, get_args

import numpy as np

from ..utils._public_module import public_module
from ._matplotlib import class_colours, new_axes

Curve = Literal["calibration", "roc"]


@public_module("skprivate.inspection")
class PrivateEvaluationDisplay:
    """Calibration curve or ROC curve of a model on private rows, from released counts.

    It is recommended to use `from_evaluation`; parameters are stored as attributes.

    Parameters
    ----------
    evaluation : PrivateEvaluation
        As `private_evaluate` returns it.
    groups : sequence, default=(None,)
        Declared groups of interest to draw; None stands for all rows.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes with the picture.
    figure_ : matplotlib Figure
        The figure of the axes.
    lines_ : list of matplotlib artists
        An ``ErrorbarContainer`` per calibration curve, a ``Line2D`` per ROC curve.

    See Also
    --------
    skprivate.private_evaluate : What is drawn.

    Notes
    -----
    **Privacy.** A picture of released quantities is released: it costs nothing.

    Bars of a calibration curve are the intervals of the observed shares, each by itself. A ROC curve has
    none: the interval of the area below it stands in the legend, and negative counts are drawn as 0, so that
    the area of the picture may be another than the estimate.

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> from sklearn.linear_model import LogisticRegression
    >>> from skprivate import private_evaluate
    >>> from skprivate.inspection import PrivateEvaluationDisplay
    >>> X = np.random.default_rng(0).normal(size=(3000, 2))
    >>> y = X[:, 0] + np.random.default_rng(1).logistic(size=3000) > 0
    >>> result = private_evaluate(LogisticRegression().fit(X[:500], y[:500]), X[500:], y[500:], epsilon=1.0)
    >>> display = PrivateEvaluationDisplay.from_evaluation(result, ax=Figure().subplots())
    >>> display.ax_.get_xlabel()
    'score'
    """

    def __init__(self, *, evaluation: Any, groups: Any = (None,)) -> None:
        self.evaluation = evaluation
        self.groups = groups

    @classmethod
    def from_evaluation(
        cls,
        evaluation: Any,
        *,
        curve: Curve = "calibration",
        groups: Any = (None,),
        ax: Any = None,
        cmap: Any = None,
    ) -> Self:
        """Draw a curve of an evaluation.

        Parameters
        ----------
        evaluation : PrivateEvaluation
            As `private_evaluate` returns it.
        curve : {"calibration", "roc"}, default="calibration"
            What to draw.
        groups : sequence, default=(None,)
            Declared groups of interest to draw; None stands for all rows.
        ax : matplotlib Axes, default=None
            Axes to draw on; None: those of a new figure.
        cmap : str or Colormap, default=None
            Colours of the groups. None: "tab10" for up to ten of them, "gist_rainbow" for more.

        Returns
        -------
        display : PrivateEvaluationDisplay

        Raises
        ------
        ValueError
            There is no such curve or group.
        AttributeError
            The evaluation has no such curve: a regressor's has none.
        ImportError
            Matplotlib is not installed.
        """
        return cls(evaluation=evaluation, groups=groups).plot(curve=curve, ax=ax, cmap=cmap)

    def plot(self, *, curve: Curve = "calibration", ax: Any = None, cmap: Any = None) -> Self:
        """Draw a curve.

        Parameters
        ----------
        curve : {"calibration", "roc"}, default="calibration"
            What to draw.
        ax : matplotlib Axes, default=None
            Axes to draw on; None: those of a new figure.
        cmap : str or Colormap, default=None
            Colours of the groups. None: "tab10" for up to ten of them, "gist_rainbow" for more.

        Returns
        -------
        self : PrivateEvaluationDisplay

        Raises
        ------
        ValueError
            There is no such curve or group.
        AttributeError
            The evaluation has no such curve: a regressor's has none.
        ImportError
            Matplotlib is not installed.
        """
        if curve not in get_args(Curve):
            raise ValueError(f"curve must be one of {list(get_args(Curve))}.")
        read = self._calibration if curve == "calibration" else self.evaluation.roc_curve
        curves = [read(group) for group in self.groups]
        self.ax_: Any = new_axes(ax, type(self).__name__)
        self.figure_ = self.ax_.figure
        self.lines_: list[Any] = []
        self.ax_.plot([0, 1], [0, 1], linestyle=":", color="grey")
        for group, colour, found in zip(
            self.groups, class_colours(len(self.groups), cmap), curves, strict=True
        ):
            name = "all rows" if group is None else str(group)
            if curve == "roc":
                label = f"{name}: AUC {self._auc(group)}"
                self.lines_ += self.ax_.plot(*found, color=tuple(colour), label=label)
            else:
                x, y, reach = found
                style = {"color": tuple(colour), "label": name, "capsize": 3, "marker": "o"}
                self.lines_.append(self.ax_.errorbar(x, y, yerr=reach, **style))
        names = (
            ("score", "observed share") if curve == "calibration" else ("false positives", "true positives")
        )
        self.ax_.set(xlabel=names[0], ylabel=names[1], xlim=(0, 1), ylim=(0, 1.02))
        for text in self.ax_.legend().get_texts():
            text.set_parse_math(False)
        if self.evaluation.on_training_rows:
            self.ax_.set_title("on rows that the model was fitted on")
        return self

    def _auc(self, group: Any) -> Any:
        metrics = self.evaluation.metrics if group is None else self.evaluation.by_group[group]
        return metrics["auc"]

    def _calibration(self, group: Any) -> tuple[Any, Any, Any]:
        """Return scores, observed shares and the reach of their intervals down and up."""
        points = [
            point
            for point in self.evaluation.calibration_curve(group)
            if not (math.isnan(point.observed.value) or point.observed.says_nothing)
        ]
        x, y = [point.predicted for point in points], [point.observed.value for point in points]
        down = [point.observed.value - point.observed.lower for point in points]
        up = [point.observed.upper - point.observed.value for point in points]
        return x, y, np.maximum([down, up], 0.0)
