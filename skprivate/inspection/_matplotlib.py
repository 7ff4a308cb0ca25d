# SPDX-License-Identifier: BSD-3-Clause
"""Parts of every display: the axes to draw on, legends, colours of classes, and features by name."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._typing import FloatArray
from ..utils import check_int

# Number of classes that matplotlib's "tab10" distinguishes.
_MOST_DISTINCT_COLOURS = 10


def check_matplotlib(display: str) -> None:
    """Raise ImportError with the name of the extra, if matplotlib is not installed."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ImportError(
            f"{display} needs matplotlib. Install it with: pip install 'skprivate[plot]'"
        ) from error


def check_axes(ax: Any) -> None:
    """Raise TypeError for an object that nothing can be drawn on."""
    if ax is not None and not hasattr(ax, "figure"):
        raise TypeError(f"ax must be matplotlib Axes or None, not {type(ax).__name__}.")


def new_axes(ax: Any, display: str) -> tuple[Any, Any]:
    """Return the axes that were given, or those of a new figure, and their figure."""
    check_matplotlib(display)
    check_axes(ax)
    if ax is None:
        from matplotlib import pyplot

        ax = pyplot.subplots()[1]
    return ax, ax.figure


def plain_legend(ax: Any, **options: Any) -> None:
    """Draw a legend whose names are no formulas, whatever they contain."""
    for text in ax.legend(**options).get_texts():
        text.set_parse_math(False)


def legend_of_classes(ax: Any, classes: Any, colours: FloatArray, title: str) -> None:
    """Draw a legend that names the class of every colour."""
    from matplotlib.patches import Patch

    handles = [Patch(facecolor=c, label=str(k)) for c, k in zip(colours, classes, strict=True)]
    plain_legend(ax, handles=handles, title=title)


def colour_by_number(ax: Any, shown: Any, values: FloatArray, limits: Any, cmap: Any, label: str) -> None:
    """Colour a collection by a number, beside a bar that explains the colours."""
    shown.set(array=values, cmap=cmap, clim=limits)
    ax.figure.colorbar(shown, ax=ax, label=label)


def find_feature(feature: Any, names: Sequence[str]) -> int:
    """Return the place of a feature that is given by its name or its number."""
    if isinstance(feature, str):
        if feature not in names:
            raise ValueError(f"there is no feature {feature!r}: they are {list(names)}.")
        return list(names).index(feature)
    number = check_int(feature, "feature", least=0)
    if number >= len(names):
        raise ValueError(f"there is no feature {number}: there are {len(names)}.")
    return number


def class_colours(n_classes: int, cmap: Any) -> FloatArray:
    """Return the colour of every class, of shape (n_classes, 4); None means a map that has enough colours."""
    from matplotlib import colormaps

    if cmap is None:
        cmap = "tab10" if n_classes <= _MOST_DISTINCT_COLOURS else "gist_rainbow"
    chosen = colormaps.get_cmap(cmap)
    # A list of colours is read in order; a continuous map is spread over the classes.
    steps = np.arange(n_classes) if chosen.N < 256 else np.linspace(0, 1, n_classes)
    return np.asarray(chosen(steps))
