# SPDX-License-Identifier: BSD-3-Clause
"""Settings of the battery's tests."""

import pytest

from skprivate.audit import _black_box, _search
from skprivate.audit._battery import rare_checks


@pytest.fixture
def short_searches(monkeypatch):
    """Searches of a third of a second: what is planted in small estimators is found on the first walks."""
    for room in (_search._SECONDS, _search._CLIMB_SECONDS, _black_box._SECONDS, rare_checks._SECONDS):
        for thorough in room:
            monkeypatch.setitem(room, thorough, 0.3)
