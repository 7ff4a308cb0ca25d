# SPDX-License-Identifier: BSD-3-Clause
"""Pictures of a tree: its nodes, and its cells in a plane of two columns."""

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from .._typing import FloatArray
from ..domain import TableDomain
from ..partition._partition import FilledColumn, LevelsColumn
from ..tree._export_text import SplitRules
from ..tree._nodes import NodeEstimates, round_to_noise
from ..utils import check_int
from ..utils._public_module import public_module
from ._matplotlib import class_colours, colour_by_number, legend_of_classes, new_axes

# Size of letters in points: of boxes with much room, and the smallest that can be read. Set by hand.
_LARGEST_FONT, _LEAST_FONT = 9.0, 3.0
# Mean width of a letter and height of a line, as shares of its size, of matplotlib's usual font.
# An inch has 72 points.
_LETTER_WIDTH, _LINE_HEIGHT, _POINTS = 0.6, 1.3, 72.0
# Share of a class's colour in a box of probability 1, so that black letters can be read on any. Set by hand.
_STRONGEST = 0.75
# Opacity of the colour of a mean, for the same reason. Set by hand.
_CLEAR = 0.6
# Shares of its width in the row, and of the height of its level, that a box fills. Set by hand.
_BOX_WIDTH, _BOX_HEIGHT = 0.9, 0.55


@public_module("skprivate.inspection")
@dataclass(kw_only=True, eq=False, repr=False)
class PrivateTreeDisplay:
    """A fitted private tree as boxes and lines, the root on top.

    The colour of a box is that of its most probable class. It is paler if the class is less probable; a
    legend names the classes. In a tree of numbers the colour is that of the mean, between the smallest and
    the largest mean of all boxes, with a colour bar. Leaves show it plus or minus a standard deviation. Rows
    for which the rule in a box is true go left. It is recommended to use `from_estimator`; parameters are
    stored as attributes.

    Parameters
    ----------
    left : ndarray of int of shape (n_nodes,)
        Left child of every node; the right child is the next node. A leaf points to itself. Nodes are
        numbered level by level, from the root 0.
    labels : sequence of str of length n_nodes
        Text of the boxes.
    node_proba : ndarray of shape (n_nodes, n_classes), default=None
        Class probabilities of every node; None for numbers.
    classes : ndarray of shape (n_classes,), default=None
        The classes; None for numbers.
    node_values : ndarray of shape (n_nodes,), default=None
        Estimated mean of every node; None for classes.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes with the picture.
    figure_ : matplotlib Figure
        The figure of the axes.
    boxes_ : matplotlib PolyCollection
        The boxes, in the order of the nodes.
    lines_ : matplotlib LineCollection
        The lines from every node but the root to its parent.
    texts_ : list of matplotlib Text
        The text of the boxes; empty if they have no room for it.

    See Also
    --------
    skprivate.tree.export_text : The same as text.
    PartitionDisplay : The cells of a tree in two features.

    Notes
    -----
    **Privacy.** A picture of released quantities is released: it costs nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> from skprivate import DPTreeClassifier
    >>> from skprivate.inspection import PrivateTreeDisplay
    >>> X = np.random.default_rng(0).uniform(size=(2000, 2))
    >>> tree = DPTreeClassifier(bounds=(0, 1), max_depth=2)
    >>> tree = tree.fit(X, X[:, 0] > 0.5, is_public=np.arange(2000) < 100)
    >>> display = PrivateTreeDisplay.from_estimator(tree, ax=Figure().subplots())
    >>> len(display.boxes_.get_paths()), display.labels[0].splitlines()[0]
    (7, 'feature_0 < 0.50')
    """

    left: NDArray[np.integer[Any]]
    labels: Sequence[str]
    node_proba: FloatArray | None = None
    classes: NDArray[Any] | None = None
    node_values: FloatArray | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        max_depth: int | None = None,
        decimals: int = 2,
        ax: Any = None,
        cmap: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw a fitted tree.

        Parameters
        ----------
        estimator : estimator
            A fitted private tree.
        max_depth : int, default=None
            Depth that is drawn, 0 or more; a box at this depth represents everything below it. None: all.
        decimals : int, default=2
            Decimals of thresholds, probabilities and their errors, 0 or more.
        ax : matplotlib Axes, default=None
            Axes to draw on; None: those of a new figure.
        cmap : str or Colormap, default=None
            Colours. None: "tab10" for up to ten classes, "gist_rainbow" for more, "viridis" for numbers.
        **kwargs : dict
            Keywords of `matplotlib.axes.Axes.text`, such as ``fontsize``.

        Returns
        -------
        display : PrivateTreeDisplay

        Raises
        ------
        NotFittedError
            The tree is not fitted.
        ValueError
            A number out of range.
        ImportError
            Matplotlib is not installed.
        """
        check_is_fitted(estimator, ["partition_", "leaf_sizes_", "leaf_errors_"])
        classes = getattr(estimator, "classes_", None)
        partition = estimator.partition_
        deepest = partition.max_depth if max_depth is None else check_int(max_depth, "max_depth", least=0)
        nodes = NodeEstimates.of(partition, estimator.leaf_sizes_, estimator._leaf_shares)
        drawn = np.flatnonzero(partition.depth <= deepest)
        ends = partition.depth[drawn] == deepest
        shares = nodes.probabilities[drawn]
        display = cls(
            left=np.where(ends, drawn, partition.left[drawn]),
            node_proba=None if classes is None else shares,
            node_values=estimator._in_units(shares[:, 1]) if classes is None else None,
            labels=_labels(estimator, nodes, drawn, check_int(decimals, "decimals", least=0)),
            classes=classes,
        )
        return display.plot(ax=ax, cmap=cmap, **kwargs)

    def plot(self, ax: Any = None, *, cmap: Any = None, **kwargs: Any) -> Self:
        """Draw the tree.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None: those of a new figure.
        cmap : str or Colormap, default=None
            Colours. None: "tab10" for up to ten classes, "gist_rainbow" for more, "viridis" for numbers.
        **kwargs : dict
            Keywords of `matplotlib.axes.Axes.text`, such as ``fontsize``.

        Returns
        -------
        self : PrivateTreeDisplay

        Raises
        ------
        ImportError
            Matplotlib is not installed.
        """
        self.ax_, self.figure_ = new_axes(ax, type(self).__name__)
        from matplotlib.collections import LineCollection, PolyCollection

        left, places = np.asarray(self.left), _places(self.left)
        parents = np.flatnonzero(left != np.arange(len(left)))
        ends = [places[[node, child]] for node in parents for child in (left[node], left[node] + 1)]
        self.lines_ = LineCollection(ends, color="grey", zorder=1)
        half = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) * [_BOX_WIDTH / 2, _BOX_HEIGHT / 2]
        corners = places[:, np.newaxis] + half
        self.boxes_ = PolyCollection(list(corners), edgecolor="grey", zorder=2)
        if self.node_values is not None:
            values = self.node_values
            # Half transparent on white, so that black letters can be read on any colour.
            self.boxes_.set_alpha(_CLEAR)
            limits = values.min(), values.max()
            colour_by_number(self.ax_, self.boxes_, values, limits, cmap or "viridis", "estimated mean of y")
        elif self.node_proba is not None and self.classes is not None:
            self._colour_by_class(self.node_proba, self.classes, cmap)
        else:
            raise ValueError("node_proba and classes are needed, or node_values.")
        self.ax_.add_collection(self.lines_)
        self.ax_.add_collection(self.boxes_)
        self.ax_.autoscale_view()
        self.ax_.set_axis_off()
        self.texts_ = self._write(places, kwargs)
        return self

    def _colour_by_class(self, shares: FloatArray, classes: NDArray[Any], cmap: Any) -> None:
        """Colour boxes: white if classes are equally probable, the colour of a class if it is certain."""
        colours, even = class_colours(len(classes), cmap), 1 / len(classes)
        sure = np.clip((shares.max(axis=1) - even) / (1 - even), 0.0, 1.0)[:, np.newaxis]
        self.boxes_.set(facecolor=1 - _STRONGEST * sure * (1 - colours[shares.argmax(axis=1), :3]))
        legend_of_classes(self.ax_, classes, colours, "class")

    def _write(self, places: FloatArray, style: dict[str, Any]) -> list[Any]:
        """Write the text of the boxes in letters that fit, or nothing if these would be too small."""
        lines = [label.splitlines() for label in self.labels]
        leaves = np.asarray(self.left) == np.arange(len(self.left))
        columns, levels = np.count_nonzero(leaves), 1 - places[:, 1].min()
        area = self.ax_.get_window_extent()
        longest = max(len(one) for box in lines for one in box)
        width = _BOX_WIDTH * area.width / (columns * _LETTER_WIDTH * longest)
        height = _BOX_HEIGHT * area.height / (levels * _LINE_HEIGHT * max(map(len, lines)))
        fitting = _POINTS * min(width, height) / self.figure_.dpi
        if fitting < _LEAST_FONT and "fontsize" not in style:
            return []
        fontsize = min(fitting, _LARGEST_FONT)
        # Names are not formulas, whatever they contain.
        options = {"ha": "center", "va": "center", "fontsize": fontsize, "parse_math": False} | style
        return [
            self.ax_.text(x, y, label, **options) for (x, y), label in zip(places, self.labels, strict=True)
        ]


def _labels(estimator: Any, nodes: NodeEstimates, drawn: NDArray[np.intp], decimals: int) -> list[str]:
    partition = estimator.partition_
    domain, names, classes = (
        getattr(estimator, name, None) for name in ("domain_", "feature_names_in_", "classes_")
    )
    rules = SplitRules(partition, names, domain)
    labels = []
    for node in drawn:
        shares = nodes.probabilities[node]
        if classes is None:
            lines = [f"{float(estimator._in_units(shares[1])):.{decimals}f}"]
        else:
            lines = [f"{classes[shares.argmax()]}: {shares.max():.{decimals}f}"]
        leaf = partition.leaf_index[node]
        if leaf >= 0:
            error = float(estimator.leaf_errors_[leaf])
            size = round_to_noise(float(nodes.sizes[node]), float(estimator._share_errors[leaf]))
            lines = [f"{lines[0]} +- {error:.{decimals}f}", f"about {size} rows"]
        elif partition.left[node] > drawn[-1]:
            lines.append("...")
        else:
            lines.insert(0, rules.sides(node, decimals)[0])
        labels.append("\n".join(lines))
    return labels


def _places(left: NDArray[np.integer[Any]]) -> FloatArray:
    """Return centres of the boxes, of shape (n_nodes, 2): leaves side by side, parents above children."""
    n_nodes = len(left)
    places = np.zeros((n_nodes, 2))
    inner = np.flatnonzero(left != np.arange(n_nodes))
    waiting, column = [0], 0
    while waiting:
        node = waiting.pop()
        if left[node] == node:
            places[node, 0] = column
            column += 1
        else:
            waiting += [int(left[node]) + 1, int(left[node])]
    for parent in inner:
        places[left[parent] : left[parent] + 2, 1] = places[parent, 1] - 1
    for parent in inner[::-1]:
        places[parent, 0] = places[left[parent] : left[parent] + 2, 0].mean()
    return places


@public_module("skprivate.inspection")
@dataclass(kw_only=True, eq=False, repr=False)
class PartitionDisplay:
    """Cells of a fitted private tree in two features, as coloured rectangles.

    Two classes: the colour is the estimated probability of the second class, with a colour bar. Several
    classes: it is the predicted class, with a legend. Numbers: it is the estimated mean, between the smallest
    and the largest mean of all leaves, with a colour bar. For a tree over more than two features, the cells
    that a plane cuts are drawn. It is recommended to use `from_estimator`; parameters are stored as
    attributes.

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
        Values of the two ends of the colours; None: the smallest and the largest of `leaf_values`.

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

    lower: FloatArray
    upper: FloatArray
    leaf_proba: FloatArray | None = None
    classes: NDArray[Any] | None = None
    leaves: NDArray[np.intp] | None = None
    xlabel: str | None = None
    ylabel: str | None = None
    xticks: dict[str, float] | None = None
    yticks: dict[str, float] | None = None
    leaf_values: FloatArray | None = None
    value_range: tuple[float, float] | None = None

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
            Features of the two axes: numbers of columns, or names if the tree was fitted with names. Levels
            without an order are placed where the tree compares them.
        at : array-like of shape (n_features,), or record of a declared table, default=None
            A row at which the plane cuts the other features; its values of the two features have no effect.
            Values outside the box count as on its boundary. None: the middle of the box. If a number may be
            missing, the cells of rows that have it are drawn.
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
            The features are not two different columns of the tree, or the row has another length.
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
        self.ax_, self.figure_ = new_axes(ax, type(self).__name__)
        from matplotlib.collections import PolyCollection

        style: dict[str, Any] = {"edgecolor": "grey", "linewidth": 0.5} | kwargs
        # Corners counter-clockwise, of shape (n_cells, 4, 2).
        (left, bottom), (right, top) = self.lower.T, self.upper.T
        corners = np.array([(left, bottom), (right, bottom), (right, top), (left, top)])
        self.patches_ = PolyCollection(list(corners.transpose(2, 0, 1)), **style)
        # Without a margin around the box, also if something else is drawn on the axes.
        self.patches_.sticky_edges.x[:] = self.lower[:, 0].min(), self.upper[:, 0].max()
        self.patches_.sticky_edges.y[:] = self.lower[:, 1].min(), self.upper[:, 1].max()
        if self.leaf_values is not None:
            values, label = self.leaf_values, "estimated mean of y"
            limits = (values.min(), values.max()) if self.value_range is None else self.value_range
            colour_by_number(self.ax_, self.patches_, values, limits, cmap or "viridis", label)
        elif self.leaf_proba is not None and self.classes is not None:
            if len(self.classes) == 2:
                label = f"estimated P(y = {self.classes[1]})"
                shares = self.leaf_proba[:, 1]
                colour_by_number(self.ax_, self.patches_, shares, (0.0, 1.0), cmap or "RdBu_r", label)
            else:
                self._colour_by_class(self.leaf_proba, self.classes, cmap)
        else:
            raise ValueError("leaf_proba and classes are needed, or leaf_values.")
        self.ax_.add_collection(self.patches_)
        # Matplotlib before 3.11 requires this call.
        self.ax_.autoscale_view()
        self.ax_.set(xlabel=self.xlabel, ylabel=self.ylabel)
        if self.xticks is not None:
            self.ax_.set_xticks(list(self.xticks.values()), list(self.xticks))
        if self.yticks is not None:
            self.ax_.set_yticks(list(self.yticks.values()), list(self.yticks))
        return self

    def _colour_by_class(self, shares: FloatArray, classes: NDArray[Any], cmap: Any) -> None:
        colours = class_colours(len(classes), cmap)
        self.patches_.set(facecolor=colours[shares.argmax(axis=1)])
        legend_of_classes(self.ax_, classes, colours, "predicted class")


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
    """One feature as an axis: the columns of the partition along which its values move.

    Attributes
    ----------
    partition : Partition
    columns : list of int
        There are several if a number may be missing: it has one place in each of them.
    indicators : list of int
        Columns that are 0 in rows that have a value.
    bounds : tuple of float
        Bounds of the values; beyond them are missing cells.
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
        """Return the axis of a feature, or of a declared column if columns are derived."""
        box = (float(partition.lower[feature]), float(partition.upper[feature]))
        if partition.derived is None or domain is None:
            return cls(partition, [feature], [], box, None)
        columns = np.flatnonzero(partition.source == feature).tolist()
        column, name = partition.derived.columns[columns[0]], domain.names[feature]
        box = (float(partition.lower[columns[0]]), float(partition.upper[columns[0]]))
        if isinstance(column, LevelsColumn):
            # Only the first component moves; the others keep the values of the row.
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
        """Return the lower and the upper ends of leaves along the axis; not in order if a leaf is empty."""
        low, high = (corner[leaves][:, self.columns] for corner in self.partition.cells())
        lower: FloatArray = np.maximum(low.max(axis=1), self.bounds[0])
        upper: FloatArray = np.minimum(high.min(axis=1), self.bounds[1])
        return lower, upper


def _check_row(at: Any, partition: Any, domain: TableDomain | None) -> FloatArray:
    if at is None:
        return partition.lower / 2 + partition.upper / 2
    if partition.derived is not None and domain is not None:
        return partition.derive(domain.encode([at]))[0]
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
