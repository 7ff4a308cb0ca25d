# SPDX-License-Identifier: BSD-3-Clause
"""Times of calls: one call, the median or the least of several, and ratios of two tasks that run in turns."""

from collections.abc import Callable, Iterable
from itertools import repeat
from statistics import median
from time import perf_counter
from typing import NamedTuple, TypeVar

Result = TypeVar("Result")
Task = Callable[[], object]


class Comparison(NamedTuple):
    """Median seconds of two tasks, and the median of the ratios of neighbouring runs, ours over theirs."""

    ours: float
    theirs: float
    ratio: float


def timed(task: Callable[[], Result], clock: Callable[[], float] = perf_counter) -> tuple[float, Result]:
    """Return the seconds of one call, and its result; `time.process_time` counts those of this process."""
    start = clock()
    result = task()
    return clock() - start, result


def seconds(task: Task, clock: Callable[[], float] = perf_counter) -> float:
    """Return the seconds of one call."""
    return timed(task, clock)[0]


def median_of(tasks: Iterable[Task]) -> float:
    """Return the median wall time of several tasks, each called once."""
    return median(seconds(task) for task in tasks)


def median_seconds(task: Task, repeats: int) -> float:
    """Return the median wall time of several calls."""
    return median_of(repeat(task, repeats))


def fastest(task: Callable[[], Result], repeats: int) -> tuple[float, Result]:
    """Return the least wall time of several calls, and the last result."""
    runs = [timed(task) for _ in range(repeats)]
    return min(run[0] for run in runs), runs[-1][1]


def compare(ours: Task, theirs: Task, pairs: int, clock: Callable[[], float] = perf_counter) -> Comparison:
    """Time two tasks in turns, so that a busy machine slows both; the first pair warms up."""
    runs = [(seconds(ours, clock), seconds(theirs, clock)) for _ in range(pairs + 1)][1:]
    first, second = zip(*runs, strict=True)
    return Comparison(median(first), median(second), median(one / other for one, other in runs))
