# SPDX-License-Identifier: BSD-3-Clause
"""Display of the contribution of one feature to the scores of a boosting, with the noise of its own steps."""

from dataclasses import dataclass
from numbers import Real
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._typing import FloatArray
from ..ensemble import ShapeFunction
from ..utils._public_module import public_module
from ._matplotlib import class_colours, find_feature, new_axes, plain_legend

# Share of the distance between two levels that their marks take, if there are several classes. Set by hand.
_SPREAD = 0.6
# Opacity of the band of the noise. Set by hand.
_BAND = 0.25


@public_module("skprivate.inspection")
@dataclass(kw_only=True, eq=False, repr=False)
class ShapeFunctionDisplay:
    """Contribution of one feature to the scores: steps over the bins of numbers, marks for levels.

    A band, or a bar, extends ``n_std`` standard deviations of the noise of the column's own steps to both
    sides. It is recommended to use `from_estimator`; parameters are stored as attributes.

    Parameters
    ----------
    shape : ShapeFunction
        Of one feature, from ``shape_functions_``.
    score : str, default="score"
        The quantity that is drawn, for the axis.
    classes : ndarray of shape (n_classes,), default=None
        The classes of the columns of ``shape.values``, if it has several.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes with the picture.
    figure_ : matplotlib Figure
        The figure of the axes.
    lines_ : list of matplotlib artists
        A ``StepPatch`` per class over bins of numbers, an ``ErrorbarContainer`` per class over levels.
    bands_ : list of matplotlib artists
        The bands of the noise over bins; empty over levels.
    missing_ : list of matplotlib ErrorbarContainer
        The marks of missing values, right of the bins; empty if there are none.

    See Also
    --------
    skprivate.DPBoostingClassifier : Has a shape function for every column.
    PrivateTreeDisplay : The picture of a tree.

    Notes
    -----
    **Privacy.** A picture of released quantities is released: it costs nothing.

    The band is that of the noise in the sums of this column's own steps, and no confidence interval. The
    values may be further from those without noise. Noise of other columns' steps, and of the counts that made
    the cells, moves them, too, most of all in correlated columns and small cells. So does the sampling of the
    rows.

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> from skprivate import DPBoostingClassifier
    >>> from skprivate.inspection import ShapeFunctionDisplay
    >>> X = np.random.default_rng(0).uniform(size=(20000, 2))
    >>> model = DPBoostingClassifier(4.0, bounds=(0, 1), classes=[False, True]).fit(X, X[:, 0] > 0.5)
    >>> display = ShapeFunctionDisplay.from_estimator(model, 0, ax=Figure().subplots())
    >>> display.ax_.get_xlabel(), len(display.bands_)
    ('x0', 1)
    """

    shape: ShapeFunction
    score: str = "score"
    classes: Any = None

    @classmethod
    def from_estimator(
        cls, estimator: Any, feature: int | str, *, n_std: float = 2.0, ax: Any = None, cmap: Any = None
    ) -> Self:
        """Draw a shape function of a fitted boosting.

        Parameters
        ----------
        estimator : DPBoostingClassifier or DPBoostingRegressor
            Fitted.
        feature : int or str
            Number or name of the column.
        n_std : float, default=2.0
            Standard deviations of the noise that bands and bars extend to both sides, 0 or more.
        ax : matplotlib Axes, default=None
            Axes to draw on; None: those of a new figure.
        cmap : str or Colormap, default=None
            Colours of the classes. None: "tab10" for up to ten classes, "gist_rainbow" for more.

        Returns
        -------
        display : ShapeFunctionDisplay

        Raises
        ------
        NotFittedError
            The estimator is not fitted.
        ValueError
            There is no such feature, or ``n_std`` is out of range.
        ImportError
            Matplotlib is not installed.
        """
        check_is_fitted(estimator, "shape_functions_")
        shapes = estimator.shape_functions_
        shape = shapes[find_feature(feature, [one.name for one in shapes])]
        classes = getattr(estimator, "classes_", None)
        score = "prediction" if classes is None else "log odds"
        if classes is not None and shape.values.ndim == 1:
            score, classes = f"log odds of {classes[1]}", None
        return cls(shape=shape, score=score, classes=classes).plot(ax=ax, n_std=n_std, cmap=cmap)

    def plot(self, ax: Any = None, *, n_std: float = 2.0, cmap: Any = None) -> Self:
        """Draw the shape function.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None: those of a new figure.
        n_std : float, default=2.0
            Standard deviations of the noise that bands and bars extend to both sides, 0 or more.
        cmap : str or Colormap, default=None
            Colours of the classes. None: "tab10" for up to ten classes, "gist_rainbow" for more.

        Returns
        -------
        self : ShapeFunctionDisplay

        Raises
        ------
        ValueError
            ``n_std`` is out of range.
        ImportError
            Matplotlib is not installed.
        """
        if not (isinstance(n_std, Real) and 0 <= float(n_std) < np.inf):
            raise ValueError("n_std must be a number of 0 or more.")
        self.ax_: Any
        self.ax_, self.figure_ = new_axes(ax, type(self).__name__)
        shape = self.shape
        tables = shape.values, float(n_std) * shape.std
        values, reach = (table.reshape(len(shape.sizes), -1) for table in tables)
        n_lines = values.shape[1]
        colours = class_colours(n_lines, cmap)
        names = [None] * n_lines if self.classes is None else [str(name) for name in self.classes]
        self.lines_: list[Any] = []
        self.bands_: list[Any] = []
        self.missing_: list[Any] = []
        for k in range(n_lines):
            style = {"color": tuple(colours[k]), "label": names[k]}
            aside = _SPREAD * ((k + 0.5) / n_lines - 0.5)
            if shape.edges is None:
                places = np.arange(len(values)) + aside
                self.lines_.append(_marks(self.ax_, places, values[:, k], reach[:, k], style))
            else:
                self._draw_bins(values[:, k], reach[:, k], style, aside)
        self._name_axes()
        return self

    def _draw_bins(self, values: FloatArray, reach: FloatArray, style: dict[str, Any], aside: float) -> None:
        """Draw the steps over the bins, their band, and the mark of missing values."""
        edges = np.asarray(self.shape.edges)
        n_bins = len(edges) - 1
        inner, around = values[:n_bins], reach[:n_bins]
        band = {"fill": True, "alpha": _BAND, "color": style["color"]}
        self.bands_.append(self.ax_.stairs(inner + around, edges, baseline=inner - around, **band))
        self.lines_.append(self.ax_.stairs(inner, edges, baseline=None, **style))
        if self.shape.has_missing:
            width = edges[-1] - edges[0]
            place: FloatArray = np.array([float(edges[-1] + width * (0.1 + 0.1 * aside))])
            mark = {"color": style["color"]}
            self.missing_.append(_marks(self.ax_, place, values[n_bins:], reach[n_bins:], mark))

    def _name_axes(self) -> None:
        shape, ax = self.shape, self.ax_
        # Names are not formulas, whatever they contain.
        ax.set_xlabel(shape.name, parse_math=False)
        ax.set_ylabel(self.score, parse_math=False)
        if shape.edges is None:
            ax.set_xticks(np.arange(len(shape.labels)), shape.labels, rotation=90, parse_math=False)
        elif shape.has_missing:
            ticks = [tick for tick in ax.get_xticks() if shape.edges[0] <= tick <= shape.edges[-1]]
            place = shape.edges[-1] + 0.1 * (shape.edges[-1] - shape.edges[0])
            ax.set_xticks([*ticks, place], [*(f"{tick:g}" for tick in ticks), "missing"])
        if self.classes is not None:
            plain_legend(ax, title="class")


def _marks(ax: Any, places: FloatArray, values: FloatArray, reach: FloatArray, style: dict[str, Any]) -> Any:
    return ax.errorbar(places, values, yerr=reach, fmt="o", capsize=3, **style)
