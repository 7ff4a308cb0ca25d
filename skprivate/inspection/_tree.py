# SPDX-License-Identifier: BSD-3-Clause
"""Display of a fitted tree: its nodes as boxes, coloured by the class and its probability, or by the mean."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from .._typing import FloatArray
from ..tree._reading.nodes import NodeEstimates, round_to_noise
from ..tree._reading.split_rules import SplitRules
from ..utils import check_int
from ..utils._public_module import public_module
from ._matplotlib import class_colours, new_axes

# Size of letters in points: that of boxes with much room, and the least that can be read.
_LARGEST_FONT, _LEAST_FONT = 9.0, 3.0
# Mean width of a letter and height of a line, as shares of its size, of matplotlib's usual font.
# An inch has 72 points.
_LETTER_WIDTH, _LINE_HEIGHT, _POINTS = 0.6, 1.3, 72.0
# Share of a class's colour in a box of probability 1, so that black letters are read on any.
_STRONGEST = 0.75
# Opacity of the colour of a mean, for the same reason.
_CLEAR = 0.6
# Share of its place in the row that a box fills, and of the height of its level.
_BOX_WIDTH, _BOX_HEIGHT = 0.9, 0.55


@public_module("skprivate.inspection")
class PrivateTreeDisplay:
    """A fitted private tree as boxes and lines, the root on top.

    The colour of a box is that of its most probable class, the paler the less probable it is; a legend names
    the classes. Of a tree of numbers it is that of the mean, between the least and the largest one of all
    boxes, with a colour bar; leaves show it plus or minus a standard deviation. Rows of which the rule in a
    box is true go left. It is recommended to use `from_estimator`; parameters are stored as attributes.

    Parameters
    ----------
    left : ndarray of int of shape (n_nodes,)
        Left child of every node, the right one is the next; a leaf points to itself. Nodes are numbered level
        by level, from the root 0.
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
        The text of the boxes; empty where they have no room for it.

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

    def __init__(
        self,
        *,
        left: NDArray[np.integer[Any]],
        labels: Sequence[str],
        node_proba: FloatArray | None = None,
        classes: NDArray[Any] | None = None,
        node_values: FloatArray | None = None,
    ) -> None:
        self.left = left
        self.labels = labels
        self.node_proba = node_proba
        self.classes = classes
        self.node_values = node_values

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
            Depth that is drawn, 0 or more; a box at this depth stands for all that is below it. None: all.
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
        ax = new_axes(ax, type(self).__name__)
        from matplotlib.collections import LineCollection, PolyCollection

        self.ax_, self.figure_ = ax, ax.figure
        left, places = np.asarray(self.left), _places(self.left)
        parents = np.flatnonzero(left != np.arange(len(left)))
        ends = [places[[node, child]] for node in parents for child in (left[node], left[node] + 1)]
        self.lines_ = LineCollection(ends, color="grey", zorder=1)
        half = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) * [_BOX_WIDTH / 2, _BOX_HEIGHT / 2]
        corners = places[:, np.newaxis] + half
        self.boxes_ = PolyCollection(list(corners), edgecolor="grey", zorder=2)
        if self.node_values is not None:
            self._colour_by_value(self.node_values, cmap)
        elif self.node_proba is not None and self.classes is not None:
            self._colour_by_class(self.node_proba, self.classes, cmap)
        else:
            raise ValueError("node_proba and classes are needed, or node_values.")
        ax.add_collection(self.lines_)
        ax.add_collection(self.boxes_)
        ax.autoscale_view()
        ax.set_axis_off()
        self.texts_ = self._write(places, kwargs)
        return self

    def _colour_by_value(self, values: FloatArray, cmap: Any) -> None:
        # Half transparent on white: black letters are read on any.
        self.boxes_.set(array=values, cmap=cmap or "viridis", alpha=_CLEAR, clim=(values.min(), values.max()))
        self.figure_.colorbar(self.boxes_, ax=self.ax_, label="estimated mean of y")

    def _colour_by_class(self, shares: FloatArray, classes: NDArray[Any], cmap: Any) -> None:
        """Colour boxes: white where classes are equally probable, that of a class where it is sure."""
        from matplotlib.patches import Patch

        colours, even = class_colours(len(classes), cmap), 1 / len(classes)
        sure = np.clip((shares.max(axis=1) - even) / (1 - even), 0.0, 1.0)[:, np.newaxis]
        self.boxes_.set(facecolor=1 - _STRONGEST * sure * (1 - colours[shares.argmax(axis=1), :3]))
        handles = [Patch(facecolor=c, label=str(k)) for c, k in zip(colours, classes, strict=True)]
        for text in self.ax_.legend(handles=handles, title="class").get_texts():
            text.set_parse_math(False)

    def _write(self, places: FloatArray, style: dict[str, Any]) -> list[Any]:
        """Write the text of the boxes in letters that fit, or nothing where these would be too small."""
        lines = [label.splitlines() for label in self.labels]
        leaves = np.asarray(self.left) == np.arange(len(self.left))
        columns, levels = np.count_nonzero(leaves), 1 - places[:, 1].min()
        area = self.ax_.get_window_extent()
        width = (
            _BOX_WIDTH
            * area.width
            / (columns * _LETTER_WIDTH * max(len(one) for box in lines for one in box))
        )
        height = _BOX_HEIGHT * area.height / (levels * _LINE_HEIGHT * max(map(len, lines)))
        fitting = _POINTS * min(width, height) / self.figure_.dpi
        if fitting < _LEAST_FONT and "fontsize" not in style:
            return []
        fontsize = min(fitting, _LARGEST_FONT)
        # Names are not formulas, whatever they hold.
        options = {"ha": "center", "va": "center", "fontsize": fontsize, "parse_math": False} | style
        return [
            self.ax_.text(x, y, label, **options) for (x, y), label in zip(places, self.labels, strict=True)
        ]


def _labels(estimator: Any, nodes: NodeEstimates, drawn: NDArray[np.intp], decimals: int) -> list[str]:
    partition = estimator.partition_
    domain, names = (getattr(estimator, name, None) for name in ("domain_", "feature_names_in_"))
    rules = SplitRules(partition, names, domain)
    labels = []
    for node in drawn:
        lines = [_estimate(estimator, nodes.probabilities[node], decimals)]
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


def _estimate(estimator: Any, shares: FloatArray, decimals: int) -> str:
    """Return what a node predicts."""
    classes = getattr(estimator, "classes_", None)
    if classes is None:
        return f"{float(estimator._in_units(shares[1])):.{decimals}f}"
    return f"{classes[shares.argmax()]}: {shares.max():.{decimals}f}"


def _places(left: NDArray[np.integer[Any]]) -> FloatArray:
    """Centres of the boxes, of shape (n_nodes, 2): leaves side by side, parents above their children."""
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
