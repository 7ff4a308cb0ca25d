# SPDX-License-Identifier: BSD-3-Clause
"""Times of calls: one call, the median of several, and ratios of two tasks that run in turns."""

from collections.abc import Callable, Iterable
from itertools import repeat
from statistics import median
from time import perf_counter
from typing import NamedTuple, TypeVar

Result = TypeVar("Result")
Task = Callable[[], object]
Clock = Callable[[], float]


class Comparison(NamedTuple):
    """Median seconds of two tasks, and the median of the ratios of neighbouring runs, ours over theirs."""

    ours: float
    theirs: float
    ratio: float


def timed(task: Callable[[], Result], clock: Clock = perf_counter) -> tuple[float, Result]:
    """Return the seconds of one call, and its result; `time.process_time` counts those of this process."""
    start = clock()
    result = task()
    return clock() - start, result


def seconds(task: Task, clock: Clock = perf_counter) -> float:
    """Return the seconds of one call."""
    return timed(task, clock)[0]


def median_of(tasks: Iterable[Task], clock: Clock = perf_counter) -> float:
    """Return the median time of several tasks, each called once."""
    return median(seconds(task, clock) for task in tasks)


def median_seconds(task: Task, repeats: int, clock: Clock = perf_counter) -> float:
    """Return the median time of several calls."""
    return median_of(repeat(task, repeats), clock)


def compare(ours: Task, theirs: Task, pairs: int, clock: Clock = perf_counter) -> Comparison:
    """Time two tasks in turns, so that a busy machine slows both.

    A first pair warms up, and is not counted; without pairs it is all that runs.
    """
    runs = [(seconds(ours, clock), seconds(theirs, clock)) for _ in range(pairs + 1)]
    first, second = zip(*(counted := runs[1:] or runs), strict=True)
    return Comparison(median(first), median(second), median(one / other for one, other in counted))
