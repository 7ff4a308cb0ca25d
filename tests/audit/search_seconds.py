# SPDX-License-Identifier: BSD-3-Clause
"""How long the battery searches, and how long it does in tests."""

from skprivate.audit._battery._checks import rare_fits
from skprivate.audit._search import black_box, search

SEARCH_SECONDS = (search._SECONDS, search._CLIMB_SECONDS, black_box._SECONDS, rare_fits._SECONDS)
#: What is planted in small estimators is found on the first chains.
SHORT = 0.3
