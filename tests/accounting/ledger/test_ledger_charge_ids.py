# SPDX-License-Identifier: BSD-3-Clause
"""A charge with an id is counted once, whoever repeats it, and pays for nothing else."""

import pytest
from joblib import Parallel, delayed

from skprivate.accounting import PrivacyLedger
from skprivate.accounting._ledger.records import mark_path
from skprivate.exceptions import BudgetExceededError, LedgerError
from tests.accounting.records import TENTH, spend


def charge(ledger, charge_id="round 1"):
    return ledger.charge(spend(), "Tree", charge_id=charge_id)


@pytest.fixture
def ledger(path):
    """A ledger whose ceiling is the two charges that it holds, with ids."""
    ledger = PrivacyLedger(path, epsilon=2 * TENTH, max_failures=0)
    assert charge(ledger) is True
    assert charge(ledger, "round 2") is True
    return ledger


def assert_as_charged(ledger):
    assert ledger.spent() == (2 * TENTH, 0)
    assert len(ledger.entries()) == 2


def test_a_repeated_id_adds_nothing_and_is_refused_by_no_limit(ledger):
    ledger.count_failure("Tree")
    for known in (ledger, PrivacyLedger(ledger.path, epsilon=2 * TENTH, max_failures=0)):
        with known.label("second run"):
            assert charge(known) is False
        assert_as_charged(known)
        with pytest.raises(BudgetExceededError):
            charge(known, "round 3")
        with pytest.raises(BudgetExceededError):
            charge(known, None)
    assert_as_charged(ledger)


def test_a_refused_id_is_not_counted(path):
    ledger = PrivacyLedger(path, epsilon=TENTH)
    with pytest.raises(BudgetExceededError):
        ledger.charge(spend(1), "Tree", charge_id="round 1")
    assert charge(ledger) is True


def test_an_id_is_the_same_charge_under_another_record(path):
    ledger = PrivacyLedger(path)
    with ledger.record(person="A"):
        assert charge(ledger) is True
    assert charge(ledger) is False
    assert [entry.person for entry in ledger.entries()] == ["A"]


def test_an_id_pays_for_no_other_estimator_and_group(ledger):
    with pytest.raises(LedgerError, match="was used"):
        ledger.charge(spend(), "Forest", charge_id="round 1")
    with ledger.data("hospital B"), pytest.raises(LedgerError, match="was used"):
        charge(ledger)
    assert_as_charged(ledger)


def test_a_charge_that_was_not_acknowledged_is_found_again(path):
    # A process that is killed after its commit leaves the mark of the charge before.
    ledger = PrivacyLedger(path)
    before = mark_path(path).read_bytes()
    charge(ledger)
    mark_path(path).write_bytes(before)
    assert charge(ledger) is False
    assert ledger.spent() == (TENTH, 0)


@pytest.mark.process
def test_processes_that_charge_an_id_at_once_make_one_entry(path):
    ledger = PrivacyLedger(path)
    taken = Parallel(n_jobs=2, backend="loky")(
        delayed(ledger.charge)(spend(), "Tree", charge_id="round 1") for _ in range(8)
    )
    assert sorted(taken) == [False] * 7 + [True]
    assert ledger.spent() == (TENTH, 0)
