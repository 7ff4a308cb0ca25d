# SPDX-License-Identifier: BSD-3-Clause
"""Settings of the battery's tests."""

import pytest

from skprivate.audit._battery._checks import rare_fits
from skprivate.audit._search import black_box, search


@pytest.fixture
def short_searches(monkeypatch):
    """Searches of a third of a second: what is planted in small estimators is found on the first chains."""
    for room in (search._SECONDS, search._CLIMB_SECONDS, black_box._SECONDS, rare_fits._SECONDS):
        for thorough in room:
            monkeypatch.setitem(room, thorough, 0.3)
