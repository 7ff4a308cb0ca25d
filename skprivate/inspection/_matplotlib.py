# SPDX-License-Identifier: BSD-3-Clause
"""The one place where the pictures ask for matplotlib."""

from typing import Any


def new_axes(ax: Any, display: str) -> Any:
    """Return the axes that were given, or new ones; without matplotlib, say which extra has it."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ImportError(
            f"{display} needs matplotlib. Install it with: pip install 'skprivate[plot]'"
        ) from error
    if ax is not None:
        return ax
    from matplotlib import pyplot

    return pyplot.subplots()[1]
