# SPDX-License-Identifier: BSD-3-Clause
"""Wall times, of two tasks in turns so that a busy machine slows both."""

from collections.abc import Callable
from statistics import median
from time import perf_counter


def seconds(task: Callable[[], object]) -> float:
    """Return the wall time of one call."""
    start = perf_counter()
    task()
    return perf_counter() - start


def compare(
    ours: Callable[[], object], theirs: Callable[[], object], pairs: int
) -> tuple[float, float, float]:
    """Return the median seconds of both and the median ratio of neighbours; the first pair warms up."""
    runs = [(seconds(ours), seconds(theirs)) for _ in range(pairs + 1)][1:]
    first, second = zip(*runs, strict=True)
    return median(first), median(second), median(one / other for one, other in runs)
