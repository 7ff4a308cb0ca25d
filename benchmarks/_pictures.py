# SPDX-License-Identifier: BSD-3-Clause
"""Pictures of benchmarks, which ``--save DIR`` writes; without it matplotlib is not imported."""

from pathlib import Path
from typing import Any

import numpy as np


def new_panels(titles: list[str], columns: int = 3) -> tuple[Any, list[Any]]:
    """Return a figure and one panel for each title, row by row."""
    # Not pyplot: it would look for a screen.
    from matplotlib.figure import Figure

    columns = min(columns, len(titles))
    rows = -(-len(titles) // columns)
    figure = Figure(figsize=(4.2 * columns, 3.3 * rows), layout="constrained")
    panels = list(figure.subplots(rows, columns, squeeze=False).flat)
    for panel, title in zip(panels, titles, strict=False):
        panel.set_title(title, fontsize=9)
    for panel in panels[len(titles) :]:
        panel.set_axis_off()
    return figure, panels[: len(titles)]


def write(figure: Any, folder: Path, name: str) -> None:
    """Write a figure to ``folder/name.png``, and say so."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.png"
    figure.savefig(path, dpi=120)
    print(f"picture: {path}")


def lines(panel: Any, x: Any, series: dict[str, Any], labels: tuple[str, str], log: str = "") -> None:
    """Draw one line for each series over the same x; `log` names the axes with a logarithmic scale."""
    for name, values in series.items():
        panel.plot(x, np.asarray(values, dtype=float), marker="o", markersize=3, label=name)
    panel.set(xlabel=labels[0], ylabel=labels[1], **{f"{axis}scale": "log" for axis in log})
    if len(series) > 1:
        panel.legend(fontsize=7)


def second_axis(panel: Any, x: Any, values: Any, label: str) -> None:
    """Draw percentages over the same x on an axis of their own, dashed."""
    other = panel.twinx()
    other.plot(x, values, "k--", marker="s", markersize=3)
    other.set(ylabel=f"{label} (dashed)", ylim=(0, None))


def bars(panel: Any, series: dict[str, dict[str, float]], label: str) -> None:
    """Draw groups of bars: an outer name is a colour, an inner one a place."""
    width = 0.8 / len(series)
    for place, (name, values) in enumerate(series.items()):
        panel.bar(np.arange(len(values)) + place * width, list(values.values()), width, label=name)
        panel.set_xticks(np.arange(len(values)) + 0.4 - width / 2, list(values), fontsize=7)
    panel.set_ylabel(label)
    if len(series) > 1:
        panel.legend(fontsize=7)
