# SPDX-License-Identifier: BSD-3-Clause
"""A place for a ledger, and a ledger with one charge."""

import pytest

from skprivate.accounting import PrivacyLedger


@pytest.fixture
def path(tmp_path):
    return tmp_path / "study.ledger"


@pytest.fixture
def ledger(path, tenth):
    """A ledger with the ceiling 1, of which one tenth is spent."""
    ledger = PrivacyLedger(path, epsilon=1)
    ledger.charge(tenth, "Tree")
    return ledger
