# SPDX-License-Identifier: BSD-3-Clause
"""Never more failures are told than `max_failures` allows, whatever threads and processes do at once."""

import multiprocessing
import os
import signal
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest

from skprivate import DPTreeClassifier
from skprivate.accounting import LedgerAudit, PrivacyLedger
from skprivate.accounting._ledger import sqlite_store
from skprivate.accounting._ledger.records import SQLiteRecords
from skprivate.exceptions import BudgetExceededError, LedgerError
from skprivate.utils._private_fit import failures_counted

X = np.linspace(0, 1, 40).reshape(20, 2)
Y = np.arange(20) % 2
BAD = np.where(X > 0.9, np.nan, X)
FORK = multiprocessing.get_context("fork") if hasattr(os, "fork") else None
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork")


class Table:
    """Rows that do something when they are read."""

    shape = X.shape

    def __init__(self, read):
        self.read = read

    def __len__(self):
        return len(X)

    def __array__(self, dtype=None, copy=None):
        self.read()
        return BAD


def tree(ledger, **parameters):
    return DPTreeClassifier(**{"bounds": (0, 1), "classes": [0, 1], "ledger": ledger, **parameters})


def is_told(ledger, table):
    """Return whether a fit to rows that make it fail failed, instead of being refused."""
    with pytest.raises((BudgetExceededError, ValueError)) as caught:
        tree(ledger).fit(table, Y)
    return not isinstance(caught.value, BudgetExceededError)


def count_told(ledger, n_fits):
    table = Table(lambda: time.sleep(0.02))
    return sum(is_told(ledger, table) for _ in range(n_fits))


def counts(ledger):
    """Failures, and places that are taken."""
    state = ledger._account().state
    return state.failures, state.places


def fit_around(ledger, n_fits, *, fails=False):
    """Go on within a fit after fits have failed, and fail or not; return which were not refused."""
    with failures_counted([ledger], "Around"):
        told = [is_told(ledger, BAD) for _ in range(n_fits)]
        if fails:
            raise ValueError("one more failure")
    return told


def test_a_fit_that_runs_has_the_last_place(path):
    ledger = PrivacyLedger(path, max_failures=0)
    found = []

    def look():
        found.append(ledger.report())
        with ThreadPoolExecutor(1) as pool, pytest.raises(BudgetExceededError, match="n_jobs"):
            pool.submit(tree(PrivacyLedger(path, max_failures=0)).fit, X, Y).result()

    assert is_told(ledger, Table(look))
    assert "0 (limit 0; 1 more run or were stopped, and count)" in found[0]


def fit_and_die(ledger):
    tree(ledger).fit(Table(lambda: os.kill(os.getpid(), signal.SIGKILL)), Y)


@needs_fork
@pytest.mark.process
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork.*:DeprecationWarning")
def test_a_killed_process_keeps_its_place_for_good(path, tmp_path):
    ledger = PrivacyLedger(path, max_failures=1)
    ledger.backup(tmp_path / "before")
    before = path.read_bytes()
    child = FORK.Process(target=fit_and_die, args=(ledger,))
    child.start()
    child.join(60)
    assert child.exitcode == -signal.SIGKILL
    # An older file does not free it.
    with pytest.raises(LedgerError, match="1 newer fits that had begun would be forgotten"):
        PrivacyLedger.restore(tmp_path / "before", path)
    latest = path.read_bytes()
    path.write_bytes(before)
    with pytest.raises(LedgerError, match="older state"):
        PrivacyLedger(path, max_failures=1)
    path.write_bytes(latest)
    assert [is_told(ledger, BAD) for _ in range(3)] == [True, False, False]
    assert "1 (limit 1; DPTreeClassifier: 1; 1 more" in ledger.report()
    ledger.to_json(tmp_path / "export")
    assert LedgerAudit(tmp_path / "export").report().splitlines()[1:] == ledger.report().splitlines()[1:]


@pytest.mark.parametrize("limit", [0, 2])
@pytest.mark.parametrize("fails", [False, True])
def test_a_fit_whose_place_was_used_up_inside_tells_no_failure_of_its_own(path, limit, fails):
    ledger = PrivacyLedger(path, max_failures=limit)
    with pytest.raises(BudgetExceededError, match="A fit inside this one failed"):
        fit_around(ledger, 5, fails=fails)
    assert counts(ledger) == (limit + 1, 0)


def test_a_fit_around_failed_fits_may_fail_while_the_limit_has_room(path):
    ledger = PrivacyLedger(path, max_failures=2)
    assert fit_around(ledger, 1) == [True]
    with pytest.raises(ValueError, match="one more"):
        fit_around(ledger, 1, fails=True)
    assert counts(ledger) == (3, 0)


def test_an_interrupt_right_after_a_place_was_taken_gives_it_back(path, monkeypatch):
    ledger = PrivacyLedger(path, max_failures=2)

    def interrupted(*_):
        monkeypatch.undo()
        raise KeyboardInterrupt

    monkeypatch.setattr(sqlite_store, "write_mark", interrupted)
    with pytest.raises(KeyboardInterrupt):
        tree(ledger).fit(X, Y)
    state = ledger._account().state
    assert (state.failures, state.places_taken, state.places_returned) == (0, 1, 1)


@pytest.mark.parametrize("error", [KeyboardInterrupt, LedgerError])
def test_a_place_that_was_not_taken_is_not_given_back(path, monkeypatch, error):
    ledger = PrivacyLedger(path, max_failures=2)

    def interrupted(*_):
        monkeypatch.undo()
        raise error

    monkeypatch.setattr(SQLiteRecords, "take_place", interrupted)
    with pytest.raises(error):
        ledger._take_place("Tree")
    state = ledger._account().state
    assert (state.places_taken, state.places_returned) == (0, 0)


@needs_fork
@pytest.mark.process
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork.*:DeprecationWarning")
def test_forks_do_not_share_a_place(path):
    ledger = PrivacyLedger(path, max_failures=1)
    with failures_counted([ledger], "Outer"), ProcessPoolExecutor(4, mp_context=FORK) as pool:
        assert sum(pool.map(count_told, [ledger] * 4, [2] * 4)) == 1
    assert ledger.n_failures == 1


def test_two_ledgers_have_a_place_or_none(path, tmp_path):
    first, second = PrivacyLedger(path, max_failures=0), PrivacyLedger(tmp_path / "b", max_failures=0)
    second.count_failure("Tree")
    with pytest.raises(BudgetExceededError), failures_counted([first, second], "Both"):
        raise AssertionError("rows were looked at")
    assert counts(first)[1] == 0


def test_a_failure_that_another_ledger_counted_counts_in_this_one(path, tmp_path):
    first, second = PrivacyLedger(path, max_failures=0), PrivacyLedger(tmp_path / "b")
    with pytest.raises(ValueError, match="NaN"), failures_counted([first], "Outer"):
        tree(second).fit(BAD, Y)
    with pytest.raises(ValueError, match="lower must be below"), failures_counted([second], "Outer"):
        tree(second, bounds=(1, 0)).fit(X, Y)
    assert (counts(first), second.n_failures) == ((1, 0), 1)
    with pytest.raises(BudgetExceededError), failures_counted([first], "Outer"):
        raise AssertionError("rows were looked at")


def test_an_estimator_that_no_ledger_can_name_is_refused_before_rows_are_read(path):
    name = "Tree\nTotal: epsilon = 0"
    forged = type(name, (DPTreeClassifier,), {"__module__": __name__})
    for limits in ({}, {"max_failures": 1}):
        ledger = PrivacyLedger(path.with_name(f"{len(limits)}"), **limits)
        with pytest.raises(ValueError, match="estimator"):
            forged(bounds=(0, 1), classes=[0, 1], ledger=ledger).fit(Table(pytest.fail), Y)
        assert counts(ledger) == (0, 0)
