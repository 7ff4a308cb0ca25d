# SPDX-License-Identifier: BSD-3-Clause
"""How long a part of an audit may go on."""

import time

# On a busy machine a second of the processor takes longer; a fit that sleeps takes none.
_CLOCK = 6.0


class Budget:
    """A number of seconds of the processor for this thread; of the clock, six times as many.

    Parameters
    ----------
    seconds : float

    Examples
    --------
    >>> from skprivate.audit._search.deadline import Budget
    >>> Budget(60).is_spent, Budget(-1).is_spent
    (False, True)
    """

    def __init__(self, seconds: float) -> None:
        self._ends = time.thread_time() + seconds, time.perf_counter() + _CLOCK * seconds

    @property
    def is_spent(self) -> bool:
        """Whether the time is over."""
        return time.thread_time() > self._ends[0] or time.perf_counter() > self._ends[1]
