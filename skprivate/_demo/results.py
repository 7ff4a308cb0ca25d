# SPDX-License-Identifier: BSD-3-Clause
"""Long tables, and the progress counter of the demonstration."""

import sys
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

from .._typing import FloatArray

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
