# SPDX-License-Identifier: BSD-3-Clause
"""Tables, curves over epsilon, and the progress counter of the demonstration."""

import sys
import time
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
#: Column of a table -> scores of shape (n_levels, n_repetitions).
Scores = dict[str, FloatArray]

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


def draw_curves(axis: Any, scores: Scores, title: str, measure: str) -> None:
    """Draw the scores against epsilon: a line per method, with a band of one standard deviation."""
    for name, values in scores.items():
        middle, spread = values.mean(axis=1), values.std(axis=1)
        (line,) = axis.plot(EPSILONS, middle, marker="o", markersize=3, label=name)
        axis.fill_between(
            EPSILONS, middle - spread, middle + spread, color=line.get_color(), alpha=0.15, linewidth=0
        )
    axis.set(xscale="log", xlabel="epsilon", ylabel=measure, title=title.split(":")[0])
    axis.set_xticks(EPSILONS, [f"{epsilon:g}" for epsilon in EPSILONS])
    axis.minorticks_off()


def add_common_legend(axis: Any, twin: Any, **options: Any) -> None:
    """Add one legend for the lines of two axes that share their x."""
    lines = axis.get_lines() + twin.get_lines()
    axis.legend(lines, [line.get_label() for line in lines], fontsize="small", **options)
