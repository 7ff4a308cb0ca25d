# SPDX-License-Identifier: BSD-3-Clause
"""How long the battery searches in tests."""

import math

from skprivate.audit import _search as search
from skprivate.audit._battery import noise_statistics, repeated_fits
from skprivate.audit._observation.recorder import Deadline

SEARCH_SECONDS = (
    search._SECONDS,
    search._CLIMB_SECONDS,
    noise_statistics._PAIR_SECONDS,
    repeated_fits._RARE_SECONDS,
)
#: What is planted in small estimators is found on the first chains.
SHORT = 0.4
#: The modules whose searches a deadline ends.
SEARCHES = (search, noise_statistics, repeated_fits)


class Looks:
    """A deadline that passes after a number of looks at it: the same search on machines of any speed."""

    # As often as a search of `SHORT` seconds looks, on the slowest of the estimators with bugs.
    looks = 100

    def __init__(self, seconds: float) -> None:
        # Whole fits are counted up to a number of trials, which ends them.
        self.left = math.inf if seconds in noise_statistics._WHOLE_FIT_SECONDS.values() else self.looks

    @property
    def has_passed(self) -> bool:
        self.left -= 1
        return self.left < 0


class FewLooks(Looks):
    """A deadline that passes after few looks, or by the clock where fits are slow."""

    # Twice as many as the last of the planted bugs needs, but for noise that is seldom missing.
    looks = 60

    def __init__(self, seconds: float) -> None:
        super().__init__(seconds)
        self.clock = Deadline(seconds)

    @property
    def has_passed(self) -> bool:
        return super().has_passed or self.clock.has_passed
