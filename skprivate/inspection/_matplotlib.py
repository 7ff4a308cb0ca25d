# SPDX-License-Identifier: BSD-3-Clause
"""Checks that matplotlib is installed, and of the axes to draw on."""

from typing import Any

import numpy as np

from .._typing import FloatArray

# Classes that matplotlib's "tab10" tells apart.
_MOST_DISTINCT_COLOURS = 10


def check_matplotlib(display: str) -> None:
    """Without matplotlib, say which extra has it."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ImportError(
            f"{display} needs matplotlib. Install it with: pip install 'skprivate[plot]'"
        ) from error


def check_axes(ax: Any) -> None:
    """Refuse what nothing can be drawn on."""
    if ax is not None and not hasattr(ax, "figure"):
        raise TypeError(f"ax must be matplotlib Axes or None, not {type(ax).__name__}.")


def new_axes(ax: Any, display: str) -> Any:
    """Return the axes that were given, or those of a new figure."""
    check_matplotlib(display)
    check_axes(ax)
    if ax is not None:
        return ax
    from matplotlib import pyplot

    return pyplot.subplots()[1]


def class_colours(n_classes: int, cmap: Any) -> FloatArray:
    """Return the colour of every class, of shape (n_classes, 4); None stands for a map that has enough."""
    from matplotlib import colormaps

    if cmap is None:
        cmap = "tab10" if n_classes <= _MOST_DISTINCT_COLOURS else "gist_rainbow"
    chosen = colormaps.get_cmap(cmap)
    # A list of colours is read off; a continuous map is spread over the classes.
    steps = np.arange(n_classes) if chosen.N < 256 else np.linspace(0, 1, n_classes)
    colours: FloatArray = np.asarray(chosen(steps))
    return colours
