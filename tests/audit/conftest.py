# SPDX-License-Identifier: BSD-3-Clause
"""Settings of the battery's tests."""

import pytest

from tests.audit.search_seconds import SEARCH_SECONDS, SHORT


@pytest.fixture
def short_searches(monkeypatch):
    """Searches of a third of a second."""
    for seconds in SEARCH_SECONDS:
        for thorough in seconds:
            monkeypatch.setitem(seconds, thorough, SHORT)
