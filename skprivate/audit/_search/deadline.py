# SPDX-License-Identifier: BSD-3-Clause
"""Deadlines of a search, in processor time and on the clock."""

import time

# On a busy machine a second of the processor takes longer; a fit that sleeps takes none.
_CLOCK_PER_PROCESSOR = 6.0


class Deadline:
    """A number of seconds of the processor for this thread; of the clock, six times as many.

    Parameters
    ----------
    seconds : float

    Examples
    --------
    >>> from skprivate.audit._search.deadline import Deadline
    >>> Deadline(60).has_passed, Deadline(-1).has_passed
    (False, True)
    """

    def __init__(self, seconds: float) -> None:
        self._ends = time.thread_time() + seconds, time.perf_counter() + _CLOCK_PER_PROCESSOR * seconds

    @property
    def has_passed(self) -> bool:
        """Whether the time is over."""
        return time.thread_time() > self._ends[0] or time.perf_counter() > self._ends[1]
