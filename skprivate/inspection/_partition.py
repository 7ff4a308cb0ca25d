# SPDX-License-Identifier: BSD-3-Clause
"""Display of a fitted tree: its cells in two features, coloured by the prediction."""

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from .._typing import FloatArray
from ..domain import TableDomain
from ..partition._derived import FilledColumn, LevelsColumn
from ..utils._public_module import public_module
from ._matplotlib import class_colours, new_axes


@public_module("skprivate.inspection")
class PartitionDisplay:
    """Cells of a fitted private tree in two features, as coloured rectangles.

    Two classes: the colour is the estimated probability of the second class, with a colour bar. Several: it
    is the predicted class, with a legend. Numbers: it is the estimated mean, between the least and the
    largest one of all leaves, with a colour bar. Of a tree over more than two features, the cells are drawn
    that a plane cuts. It is recommended to use `from_estimator`; parameters are stored as attributes.

    Parameters
    ----------
    lower, upper : ndarray of shape (n_cells, 2)
        Lower left and upper right corners of the cells, in the units of the features.
    leaf_proba : ndarray of shape (n_cells, n_classes), default=None
        Class probabilities of every cell; None for numbers.
    classes : ndarray of shape (n_classes,), default=None
        The classes; None for numbers.
    leaves : ndarray of int of shape (n_cells,), default=None
        Leaf number of every cell; for information.
    xlabel, ylabel : str, default=None
        Names of the two features.
    xticks, yticks : dict of str to float, default=None
        Places of the levels of a feature on its axis; None: it is a number.
    leaf_values : ndarray of shape (n_cells,), default=None
        Estimated mean of every cell; None for classes.
    value_range : tuple of two floats, default=None
        Values of the two ends of the colours; None: the least and the largest of `leaf_values`.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes with the picture.
    figure_ : matplotlib Figure
        The figure of the axes.
    patches_ : matplotlib PolyCollection
        The rectangles, in the order of `lower`.

    See Also
    --------
    skprivate.LocallyPrivateTreeClassifier : A tree that can be drawn.
    skprivate.DPTreeRegressor : Another one, of numbers.

    Notes
    -----
    **Privacy.** A picture of released quantities is released: it costs nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> from skprivate import LocallyPrivateTreeClassifier
    >>> from skprivate.inspection import PartitionDisplay
    >>> X = np.random.default_rng(0).uniform(size=(2000, 2))
    >>> tree = LocallyPrivateTreeClassifier(bounds=(0, 1), max_depth=4)
    >>> tree = tree.fit(X, X[:, 0] > 0.5, is_public=np.arange(2000) < 100)
    >>> display = PartitionDisplay.from_estimator(tree, ax=Figure().subplots())
    >>> len(display.patches_.get_paths()) == tree.n_leaves_
    True
    """

    def __init__(
        self,
        *,
        lower: FloatArray,
        upper: FloatArray,
        leaf_proba: FloatArray | None = None,
        classes: NDArray[Any] | None = None,
        leaves: NDArray[np.intp] | None = None,
        xlabel: str | None = None,
        ylabel: str | None = None,
        xticks: dict[str, float] | None = None,
        yticks: dict[str, float] | None = None,
        leaf_values: FloatArray | None = None,
        value_range: tuple[float, float] | None = None,
    ) -> None:
        self.lower = lower
        self.upper = upper
        self.leaf_proba = leaf_proba
        self.classes = classes
        self.leaves = leaves
        self.xlabel = xlabel
        self.ylabel = ylabel
        self.xticks = xticks
        self.yticks = yticks
        self.leaf_values = leaf_values
        self.value_range = value_range

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        features: Sequence[int | str] = (0, 1),
        at: ArrayLike | None = None,
        ax: Any = None,
        cmap: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the cells of a fitted tree.

        Parameters
        ----------
        estimator : estimator
            A fitted tree, with `partition_`, and `leaf_proba_` and `classes_` or `leaf_values_`.
        features : pair of int or str, default=(0, 1)
            Features of the two axes: numbers of columns, or names where the tree was fitted with names.
            Levels without an order lie at the places by which the tree compares them.
        at : array-like of shape (n_features,), or record of a declared table, default=None
            A row: where the plane cuts the other features; its values of the two features do not matter.
            Values outside the box count as on its boundary. None: the middle of the box. Of a number that may
            be missing the cells are drawn of rows that have it.
        ax : matplotlib Axes, default=None
            Axes to draw on; None: those of a new figure.
        cmap : str or Colormap, default=None
            Colours. None: "RdBu_r" for two classes, "tab10" for up to ten, "gist_rainbow" for more, and
            "viridis" for numbers.
        **kwargs : dict
            Keywords of `matplotlib.collections.PolyCollection`, such as ``edgecolor`` and ``alpha``.

        Returns
        -------
        display : PartitionDisplay

        Raises
        ------
        NotFittedError
            The tree is not fitted.
        ValueError
            Features that are not two different columns of the tree, or a row of another length.
        ImportError
            Matplotlib is not installed.
        """
        values = getattr(estimator, "leaf_values_", None)
        own = ["leaf_proba_", "classes_"] if values is None else []
        check_is_fitted(estimator, ["partition_", *own])
        partition = estimator.partition_
        domain = getattr(estimator, "domain_", None)
        names = getattr(estimator, "feature_names_in_", None) if domain is None else domain.encoded_names
        names = domain.names if domain is not None and partition.derived is not None else names
        pair = _check_features(features, partition.n_features if names is None else len(names), names)
        axes = [FeatureAxis.of(partition, domain, feature) for feature in pair]
        row = _check_row(at, partition, domain)
        for axis in axes:
            row[axis.indicators] = 0.0
        leaves = _leaves_in_plane(partition, [column for axis in axes for column in axis.columns], row)
        lower, upper = (np.array(side).T for side in zip(*(axis.ends(leaves) for axis in axes), strict=True))
        shown = (lower < upper).all(axis=1)
        xlabel, ylabel = (f"feature {j}" if names is None else str(names[j]) for j in pair)
        display = cls(
            lower=lower[shown],
            upper=upper[shown],
            leaf_proba=estimator.leaf_proba_[leaves[shown]] if values is None else None,
            classes=estimator.classes_ if values is None else None,
            leaves=leaves[shown],
            xlabel=xlabel,
            ylabel=ylabel,
            xticks=axes[0].ticks,
            yticks=axes[1].ticks,
            leaf_values=None if values is None else values[leaves[shown]],
            value_range=None if values is None else (float(values.min()), float(values.max())),
        )
        return display.plot(ax=ax, cmap=cmap, **kwargs)

    def plot(self, ax: Any = None, *, cmap: Any = None, **kwargs: Any) -> Self:
        """Draw the cells.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None: those of a new figure.
        cmap : str or Colormap, default=None
            Colours. None: "RdBu_r" for two classes, "tab10" for up to ten, "gist_rainbow" for more, and
            "viridis" for numbers.
        **kwargs : dict
            Keywords of `matplotlib.collections.PolyCollection`, such as ``edgecolor`` and ``alpha``.

        Returns
        -------
        self : PartitionDisplay

        Raises
        ------
        ValueError
            There are neither class probabilities nor values.
        ImportError
            Matplotlib is not installed.
        """
        ax = new_axes(ax, type(self).__name__)
        from matplotlib.collections import PolyCollection

        self.ax_, self.figure_ = ax, ax.figure
        style: dict[str, Any] = {"edgecolor": "grey", "linewidth": 0.5} | kwargs
        self.patches_ = PolyCollection(list(self._rectangles()), **style)
        # Without a margin around the box, also where something else is drawn on the axes.
        self.patches_.sticky_edges.x[:] = self.lower[:, 0].min(), self.upper[:, 0].max()
        self.patches_.sticky_edges.y[:] = self.lower[:, 1].min(), self.upper[:, 1].max()
        if self.leaf_values is not None:
            self._colour_by_value(self.leaf_values, cmap)
        elif self.leaf_proba is not None and self.classes is not None:
            colour = self._colour_by_probability if len(self.classes) == 2 else self._colour_by_class
            colour(self.leaf_proba, self.classes, cmap)
        else:
            raise ValueError("leaf_proba and classes are needed, or leaf_values.")
        ax.add_collection(self.patches_)
        # Matplotlib before 3.11 needs to be asked.
        ax.autoscale_view()
        ax.set(xlabel=self.xlabel, ylabel=self.ylabel)
        if self.xticks is not None:
            ax.set_xticks(list(self.xticks.values()), list(self.xticks))
        if self.yticks is not None:
            ax.set_yticks(list(self.yticks.values()), list(self.yticks))
        return self

    def _rectangles(self) -> FloatArray:
        """Corners counter-clockwise, of shape (n_cells, 4, 2)."""
        (left, bottom), (right, top) = self.lower.T, self.upper.T
        corners = [(left, bottom), (right, bottom), (right, top), (left, top)]
        return np.array(corners).transpose(2, 0, 1)

    def _colour_by_value(self, values: FloatArray, cmap: Any) -> None:
        ends = (values.min(), values.max()) if self.value_range is None else self.value_range
        self.patches_.set(array=values, cmap=cmap or "viridis", clim=ends)
        self.figure_.colorbar(self.patches_, ax=self.ax_, label="estimated mean of y")

    def _colour_by_probability(self, shares: FloatArray, classes: NDArray[Any], cmap: Any) -> None:
        self.patches_.set(array=shares[:, 1], cmap=cmap or "RdBu_r", clim=(0.0, 1.0))
        self.figure_.colorbar(self.patches_, ax=self.ax_, label=f"estimated P(y = {classes[1]})")

    def _colour_by_class(self, shares: FloatArray, classes: NDArray[Any], cmap: Any) -> None:
        from matplotlib.patches import Patch

        colours = class_colours(len(classes), cmap)
        self.patches_.set(facecolor=colours[shares.argmax(axis=1)])
        handles = [Patch(facecolor=c, label=str(k)) for c, k in zip(colours, classes, strict=True)]
        self.ax_.legend(handles=handles, title="predicted class")


def _check_features(features: Any, n_features: int, names: NDArray[Any] | None) -> list[int]:
    """Return the numbers of two columns."""
    if isinstance(features, str) or np.shape(features) != (2,):
        raise ValueError("features must be two columns, by number or by name.")
    known = [] if names is None else list(names)
    pair = []
    for feature in features:
        if isinstance(feature, str) and feature in known:
            pair.append(known.index(feature))
        elif isinstance(feature, Integral) and 0 <= int(feature) < n_features:
            pair.append(int(feature))
        else:
            raise ValueError(
                f"features holds {feature!r}, which is neither a number from 0 to {n_features - 1} nor the "
                "name of a column that the tree was fitted with."
            )
    if pair[0] == pair[1]:
        raise ValueError(f"features must be two different columns, got {features!r}.")
    return pair


@dataclass(frozen=True)
class FeatureAxis:
    """One feature as an axis: the columns of the partition that its values move along.

    Attributes
    ----------
    partition : Partition
    columns : list of int
        Several where a number may be missing, which has one place in each of them.
    indicators : list of int
        Columns that are 0 in rows that have a value.
    bounds : tuple of float
        Bounds of the values; what lies beyond them are missing cells.
    ticks : dict of str to float, or None
        Places of levels.
    """

    partition: Any
    columns: list[int]
    indicators: list[int]
    bounds: tuple[float, float]
    ticks: dict[str, float] | None

    @classmethod
    def of(cls, partition: Any, domain: TableDomain | None, feature: int) -> Self:
        """Return the axis of a feature, or of a declared column where columns are derived."""
        box = (float(partition.lower[feature]), float(partition.upper[feature]))
        if partition.derived is None or domain is None:
            return cls(partition, [feature], [], box, None)
        columns = np.flatnonzero(partition.source == feature).tolist()
        column, name = partition.derived.columns[columns[0]], domain.names[feature]
        box = (float(partition.lower[columns[0]]), float(partition.upper[columns[0]]))
        if isinstance(column, LevelsColumn):
            # Its first component; the others stay where the row has them.
            levels = [end.removeprefix("=") for end in domain.columns[name].suffixes()]
            known = [*levels, *["missing"] * (column.indicator is not None)]
            return cls(partition, columns[:1], [], box, dict(zip(known, column.places, strict=True)))
        if isinstance(column, FilledColumn):
            box = (column.lower, column.upper)
        indicator = domain.groups[feature].indicator
        indicators = [
            j for j in columns if getattr(partition.derived.columns[j], "column", None) == indicator
        ]
        return cls(partition, [j for j in columns if j not in indicators], indicators, box, None)

    def ends(self, leaves: NDArray[np.intp]) -> tuple[FloatArray, FloatArray]:
        """Return the lower and the upper ends of leaves along the axis; not in order where one is empty."""
        low, high = (corner[leaves][:, self.columns] for corner in self.partition.cells())
        lower: FloatArray = np.maximum(low.max(axis=1), self.bounds[0])
        upper: FloatArray = np.minimum(high.min(axis=1), self.bounds[1])
        return lower, upper


def _check_row(at: Any, partition: Any, domain: TableDomain | None) -> FloatArray:
    if at is None:
        middle: FloatArray = partition.lower / 2 + partition.upper / 2
        return middle
    if partition.derived is not None and domain is not None:
        derived: FloatArray = partition.derive(domain.encode([at]))[0]
        return derived
    row = np.array(at, dtype=np.float64)
    if row.shape != (partition.n_features,) or np.isnan(row).any():
        raise ValueError(f"at must be a row of {partition.n_features} numbers.")
    return row


def _leaves_in_plane(partition: Any, pair: list[int], row: FloatArray) -> NDArray[np.intp]:
    """Return the leaves that a row can reach if its values of two features change, in leaf order."""
    reached = np.zeros(len(partition.left), dtype=np.bool_)
    reached[0] = True
    for depth in range(partition.max_depth):
        node = np.flatnonzero(reached & (partition.depth == depth) & (partition.leaf_index < 0))
        feature, left = partition.feature[node], partition.left[node]
        free = np.isin(feature, pair)
        below = row[feature] < partition.threshold[node]
        reached[left] = free | below
        reached[left + 1] = free | ~below
    return partition.leaf_index[reached & (partition.leaf_index >= 0)].astype(np.intp)
