# SPDX-License-Identifier: BSD-3-Clause
"""How long the battery searches in tests."""

import math

from skprivate.audit._battery import noise_statistics, recorded_fits
from skprivate.audit._search import search

SEARCH_SECONDS = (
    search._SECONDS,
    search._CLIMB_SECONDS,
    noise_statistics._PAIR_SECONDS,
    recorded_fits._RARE_SECONDS,
)
#: What is planted in small estimators is found on the first chains.
SHORT = 0.4
#: The modules whose searches a deadline ends.
SEARCHES = (search, noise_statistics, recorded_fits)
# As often as a search of `SHORT` seconds looks at its deadline, on the slowest of the estimators with bugs.
_LOOKS = 100


class Looks:
    """A deadline that passes after a number of looks at it: the same search on machines of any speed."""

    def __init__(self, seconds: float) -> None:
        # Whole fits are counted up to a number of trials, which ends them.
        self.left = math.inf if seconds in noise_statistics._WHOLE_FIT_SECONDS.values() else _LOOKS

    @property
    def has_passed(self) -> bool:
        self.left -= 1
        return self.left < 0
