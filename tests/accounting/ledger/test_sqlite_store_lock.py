# SPDX-License-Identifier: BSD-3-Clause
"""One process at a time, whoever reads or copies the files and whoever is killed."""

import multiprocessing
import os
import signal
import time

import pytest

from skprivate.accounting import PrivacyLedger
from skprivate.accounting._ledger import sqlite_store
from skprivate.accounting._ledger.records import mark_path
from skprivate.exceptions import BudgetExceededError, LedgerError
from skprivate.utils._files import locked
from tests.accounting.records import spend

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork"),
    pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork.*:DeprecationWarning"),
]
ONE = spend(1)
FORK = multiprocessing.get_context("fork")


def outcome(ledger):
    try:
        ledger.charge(ONE, "Tree")
    except BudgetExceededError:
        return "refused"
    except LedgerError as error:
        return str(error)
    return "granted"


def test_whoever_deletes_the_lock_stops_its_holder(path):
    ledger = PrivacyLedger(path, epsilon=1)
    transaction = ledger._transaction(write=True)
    transaction.__enter__().add_failure("Tree")
    path.with_name("study.ledger.lock").unlink()
    with pytest.raises(LedgerError, match=r"lock file .* was deleted.*nothing was charged"):
        transaction.__exit__(None, None, None)
    assert ledger.n_failures == 0
    assert outcome(ledger) == "granted"


def test_a_lock_that_stays_held_is_named(path, monkeypatch):
    ledger = PrivacyLedger(path, epsilon=1)
    monkeypatch.setattr(sqlite_store, "TIMEOUT", 0.02)
    with locked(path):
        assert "held by other processes for 0.02 seconds; nothing was charged" in outcome(ledger)
    assert outcome(ledger) == "granted"


def acknowledge(ledger, pipe):
    while True:
        ledger.charge(ONE, "Tree")
        os.write(pipe, b".")


def test_no_kill_loses_an_acknowledged_charge(path):
    ledger, acknowledged = PrivacyLedger(path), 0
    for number in range(8):
        reading, writing = os.pipe()
        child = FORK.Process(target=acknowledge, args=(ledger, writing))
        child.start()
        os.close(writing)
        os.read(reading, 1)
        time.sleep(0.001 * number)
        os.kill(child.pid, signal.SIGKILL)
        child.join()
        with open(reading, "rb") as pipe:
            acknowledged += 1 + len(pipe.read())
        entries = len(PrivacyLedger(path).entries())
        assert acknowledged <= entries <= acknowledged + number + 1
    assert outcome(ledger) == "granted"


@pytest.mark.parametrize("moment", ["lock", "commit", "mark"])
def test_a_process_killed_at_any_moment_leaves_a_good_ledger(path, moment, monkeypatch):
    ledger = PrivacyLedger(path, epsilon=2)

    def kill(*arguments):
        os.kill(os.getpid(), signal.SIGKILL)

    def kill_inside():
        places = {
            "lock": (sqlite_store.SQLiteStore, "_check_file"),
            "commit": (sqlite_store.SQLiteStore, "_commit"),
            "mark": (sqlite_store, "write_mark"),
        }
        monkeypatch.setattr(*places[moment], kill)
        outcome(ledger)

    child = FORK.Process(target=kill_inside)
    child.start()
    child.join()
    assert child.exitcode == -signal.SIGKILL
    charged = moment == "mark"
    latest = PrivacyLedger(path, epsilon=2)
    assert len(latest.entries()) == charged
    # The mark has caught up: losing that entry is noticed now.
    assert f'"count": {int(charged)}' in mark_path(path).read_text()
    assert [outcome(latest) for _ in range(2)] == ["granted", "refused" if charged else "granted"]
