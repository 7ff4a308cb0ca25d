# SPDX-License-Identifier: BSD-3-Clause
"""Threads, forked and spawned processes, joblib and scikit-learn's searches share one ledger."""

import multiprocessing
import os
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from fractions import Fraction

import pytest
from joblib import Parallel, delayed

from skprivate.accounting import PrivacyLedger
from tests.accounting.records import try_to_charge

pytestmark = pytest.mark.process

N = 20  # charges of 1/10 that the ceiling allows
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork")


def try_several_times(ledger, times):
    return sum(try_to_charge(ledger) for _ in range(times))


def create_and_charge(path):
    return PrivacyLedger(path, epsilon=Fraction(N, 10)), try_to_charge(PrivacyLedger(path, Fraction(N, 10)))


@pytest.fixture
def ledger(tmp_path):
    return PrivacyLedger(tmp_path / "study.ledger", epsilon=Fraction(N, 10))


def assert_exactly_used_up(ledger, succeeded):
    assert succeeded == N
    assert ledger.spent() == (Fraction(N, 10), 0)
    assert len(ledger.entries()) == N
    assert ledger.remaining() == (0, 0)
    names = {file.name for file in ledger.path.parent.iterdir()}
    assert names == {"study.ledger", "study.ledger.lock", "study.ledger.mark"}


@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork.*:DeprecationWarning")
@needs_fork
def test_forked_processes_never_overspend(ledger):
    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(3, mp_context=context) as pool:
        succeeded = sum(pool.map(try_several_times, [ledger] * 3, [N // 3 + 4] * 3))
    assert_exactly_used_up(ledger, succeeded)


@needs_fork
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork.*:DeprecationWarning")
def test_fork_while_another_thread_charges(tmp_path):
    # A child that inherits an open transaction believes that it holds its locks, and waits or overwrites.
    ledger = PrivacyLedger(tmp_path / "study.ledger")
    stop = threading.Event()

    def charge_on():
        while not stop.is_set():
            try_to_charge(ledger)

    thread = threading.Thread(target=charge_on)
    thread.start()
    context = multiprocessing.get_context("fork")
    children = [context.Process(target=try_several_times, args=(ledger, 2)) for _ in range(10)]
    try:
        for child in children:
            child.start()
        deadline = time.monotonic() + 30
        for child in children:
            child.join(max(0, deadline - time.monotonic()))
        codes = [child.exitcode for child in children]
    finally:
        stop.set()
        thread.join()
        for child in children:
            child.kill()
    assert codes == [0] * 10
    assert ledger.spent()[0] == Fraction(len(ledger.entries()), 10)


def test_processes_that_create_the_same_ledger_at_once_share_it(tmp_path):
    path = tmp_path / "study.ledger"
    results = Parallel(n_jobs=2, backend="loky")(delayed(create_and_charge)(path) for _ in range(N))
    ledgers = {ledger for ledger, _ in results}
    assert ledgers == {PrivacyLedger(path, epsilon=Fraction(N, 10))}
    assert_exactly_used_up(ledgers.pop(), sum(taken for _, taken in results))


def test_threads_that_create_the_same_ledger_at_once_share_it(tmp_path):
    path = tmp_path / "study.ledger"
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(create_and_charge, [path] * N))
    assert len({ledger for ledger, _ in results}) == 1
    assert_exactly_used_up(results[0][0], sum(taken for _, taken in results))
