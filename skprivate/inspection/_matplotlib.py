# SPDX-License-Identifier: BSD-3-Clause
"""Checks that matplotlib is installed, and of the axes to draw on."""

from typing import Any


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
