# SPDX-License-Identifier: BSD-3-Clause
"""A place for a ledger, a ledger with one charge, and what is refused of a ledger that is wrong."""

import pickle

import pytest

from skprivate.accounting import PrivacyLedger
from skprivate.exceptions import LedgerError


@pytest.fixture
def path(tmp_path):
    return tmp_path / "study.ledger"


@pytest.fixture
def ledger(path, tenth):
    """A ledger with the ceiling 1, of which one tenth is spent."""
    ledger = PrivacyLedger(path, epsilon=1)
    ledger.charge(tenth, "Tree")
    return ledger


@pytest.fixture
def assert_refused(tenth):
    """Every operation of the object and of a pickle, and opening again, raise and write nothing."""

    def check(ledger, match):
        path = ledger.path
        before = path.read_bytes() if path.is_file() else None
        for known in (ledger, pickle.loads(pickle.dumps(ledger))):
            for operation in (known.spent, known.entries, known.remaining, known.report):
                with pytest.raises(LedgerError, match=match):
                    operation()
            with pytest.raises(LedgerError, match=match):
                known.charge(tenth, "T")
        if before is not None or path.exists():
            with pytest.raises(LedgerError, match=match):
                PrivacyLedger(path, epsilon=1)
        assert (path.read_bytes() if path.is_file() else None) == before

    return check
