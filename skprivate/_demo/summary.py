# SPDX-License-Identifier: BSD-3-Clause
"""Results of one family in the demonstration: tables, a counter of fits, and a panel of the picture."""

import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

from .._typing import FloatArray

#: Column of a table -> scores of shape (n_levels, n_repetitions).
Scores = dict[str, FloatArray]

# Epsilons of all tables. Set by hand.
EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0)
# Seconds without a counter on the terminal.
_PATIENCE = 1.0

Item = TypeVar("Item")


def progress(items: Iterable[Item], total: int) -> Iterator[Item]:
    """Yield the items; after a second, keep a counter on a terminal's error stream."""
    start = time.perf_counter()
    shown = False
    for number, item in enumerate(items):
        if sys.stderr.isatty() and time.perf_counter() - start > _PATIENCE:
            shown = True
            print(f"\r  {number}/{total} fits", end="", file=sys.stderr, flush=True)
        yield item
    if shown:
        print("\r" + " " * 40 + "\r", end="", file=sys.stderr, flush=True)


def print_table(heading: str, levels: Iterable[float], scores: Scores, number_format: str) -> None:
    """Print means over the repetitions: a row for each level, a column for each method."""
    print("".join(f"{name:>15}" for name in [heading, *scores]))
    for row, level in enumerate(levels):
        means = [values[row].mean() for values in scores.values()]
        print(f"{level:>15g}" + "".join(f"{mean:>15{number_format}}" for mean in means))


# The palette of Okabe and Ito: readers who do not see red or green can distinguish its colours.
COLOURS = ("#0072B2", "#D55E00", "#009E73")
GREY = "#555555"
# Inches, and dots per inch: half as many again as the 800 pixels of a page, for dense screens.
SIZE, DPI = (8.0, 6.0), 150
# Points. A picture 800 pixels wide has 100 to an inch: 8 points are 11 pixels.
TITLE_SIZE, TEXT_SIZE = 9.5, 8.0
# Points between a line and its name.
_GAP = 4
# Characters of a row's name, and of a number.
_NAME_WIDTH, _NUMBER_WIDTH = 36, 8


#: Of a point, or of the end of a line across the panel.
Side = Literal["above, right", "below, right", "above, left", "below, left"]


@dataclass(frozen=True, eq=False)
class Curve:
    """A line of a panel, and the place of its name: at which point, and on which side of it."""

    name: str
    x: Sequence[float] | FloatArray
    y: FloatArray
    at: int
    side: Side


@dataclass(frozen=True)
class Baseline:
    """Result without the method: a level across a panel, and the place of its name."""

    name: str
    level: float
    side: Side = "above, right"


@dataclass(frozen=True)
class Axis:
    """Name, scale, ticks and ends of one side of a panel."""

    name: str
    scale: str
    ticks: Sequence[float]
    limits: tuple[float, float]


@dataclass(frozen=True, eq=False)
class Panel:
    """Curves and axes."""

    x: Axis
    y: Axis
    curves: Sequence[Curve]


@dataclass(frozen=True, eq=False)
class Summary:
    """Results of one family, with those without the method."""

    #: A statement that these numbers support.
    message: str
    #: Simulated data, and a guarantee that is not claimed.
    data: str
    rows: Mapping[str, Iterable[float]]
    baselines: Sequence[Baseline]
    panel: Panel


def print_summary(summary: Summary) -> None:
    """Print the message, the rows, and the baselines in a line below."""
    print(f"{summary.message}. {summary.data}")
    for name, numbers in summary.rows.items():
        print(f"{name:>{_NAME_WIDTH}}" + "".join(f"{number:>{_NUMBER_WIDTH}.3g}" for number in numbers))
    print(
        "  compare: " + "; ".join(f"{baseline.name} {baseline.level:.3g}" for baseline in summary.baselines)
    )


def save_picture(path: Path, summaries: Sequence[Summary]) -> None:
    """Draw a panel for each of four families.

    Raises
    ------
    ImportError
        If matplotlib is missing.
    """
    draw_picture(summaries).savefig(path, dpi=DPI, pil_kwargs={"optimize": True})


def draw_picture(summaries: Sequence[Summary]) -> Any:
    """Return a figure with a panel for each of four families."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=SIZE)
    figure.set_layout_engine("constrained", wspace=0.06, hspace=0.06)
    for axis, summary in zip(figure.subplots(2, 2).ravel(), summaries, strict=True):
        _draw(axis, summary)
    return figure


def _draw(axis: Any, summary: Summary) -> None:
    panel = summary.panel
    axis.set(xscale=panel.x.scale, yscale=panel.y.scale, xlim=panel.x.limits, ylim=panel.y.limits)
    for curve, colour in zip(panel.curves, COLOURS, strict=False):
        axis.plot(curve.x, curve.y, color=colour, marker="o", markersize=3.5, linewidth=2)
        _write(axis, curve.name, (curve.x[curve.at], curve.y[curve.at]), curve.side, colour, axis.transData)
    for baseline in summary.baselines:
        axis.axhline(baseline.level, color=GREY, linestyle="--", linewidth=1.2)
        place = (0 if baseline.side.endswith("right") else 1, baseline.level)
        _write(axis, baseline.name, place, baseline.side, GREY, axis.get_yaxis_transform())
    axis.set_title(summary.message, fontsize=TITLE_SIZE, fontweight="bold", loc="left", pad=17)
    axis.text(0, 1.02, summary.data, transform=axis.transAxes, fontsize=TEXT_SIZE, color=GREY)
    for side, one in ((axis.xaxis, panel.x), (axis.yaxis, panel.y)):
        side.set_label_text(one.name, fontsize=TEXT_SIZE)
        side.set_ticks(one.ticks, [f"{tick:g}" for tick in one.ticks])
    axis.minorticks_off()
    axis.tick_params(labelsize=TEXT_SIZE)
    axis.spines[["top", "right"]].set_visible(False)


def _write(axis: Any, text: str, place: tuple[float, float], side: str, colour: str, transform: Any) -> None:
    above, right = side.startswith("above"), side.endswith("right")
    axis.annotate(
        text,
        place,
        xycoords=transform,
        xytext=(_GAP / 2 if right else -_GAP / 2, _GAP if above else -_GAP),
        textcoords="offset points",
        ha="left" if right else "right",
        va="bottom" if above else "top",
        color=colour,
        fontsize=TEXT_SIZE,
    )
