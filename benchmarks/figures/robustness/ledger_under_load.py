# SPDX-License-Identifier: BSD-3-Clause
"""Grants and entries of the ledger under concurrent processes and kill -9, and its time of a charge.

``SKPRIVATE_LEDGER_SECONDS`` shortens the first part (default 300).
"""

import multiprocessing
import os
import pickle
import random
import shutil
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from functools import partial
from itertools import count, islice, repeat
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from skprivate.accounting import PrivacyLedger, PrivacySpent
from skprivate.accounting._statements.ledger_entry import to_row
from skprivate.exceptions import BudgetExceededError, LedgerError

from ..._tables import Table
from ..._timing import median_of, seconds

DURATION = float(os.environ.get("SKPRIVATE_LEDGER_SECONDS", "300"))
PROCESSES, COPIERS, CEILING = 8, 2, 1000
REFUSALS = 50  # after its ceiling is reached, of every process, before the next ledger
KILLS = 100
REPEATS = 101
SIZES = (100, 1000, 10_000, 100_000)
FORK = multiprocessing.get_context("fork")


def spend(epsilon: Fraction) -> PrivacySpent:
    return PrivacySpent(
        mechanism="discrete Laplace",
        epsilon=epsilon,
        relation="replace-one",
        noise_scale=4,
        noise_source="os-entropy",
        deployment="curator",
        claim="dp",
    )


@contextmanager
def copying(path: Path, target: Path) -> Iterator[None]:
    """Copy and read a file every 2 ms, in a thread of this process."""
    stop = threading.Event()

    def work() -> None:
        while not stop.wait(0.002):
            shutil.copy(path, target)
            path.read_bytes()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def charge_on(ledger: PrivacyLedger, end: float, results: Any) -> None:
    granted = refused = errors = 0
    cost = spend(Fraction(1))
    while time.monotonic() < end and refused < REFUSALS:
        try:
            ledger.charge(cost, "Tree")
            granted += 1
        except BudgetExceededError:
            refused += 1
        except LedgerError:
            errors += 1
    results.put((granted, refused, errors))


def charge_and_copy(ledger: PrivacyLedger, end: float, results: Any, number: int) -> None:
    if number >= COPIERS:
        charge_on(ledger, end, results)
        return
    with copying(ledger.path, ledger.path.with_name(f"copy{number}")):
        charge_on(ledger, end, results)


def contend(path: Path, end: float) -> tuple[int, int, int, int]:
    """Return what processes were granted and refused on one ledger, their errors, and its entries."""
    ledger, results = PrivacyLedger(path, epsilon=CEILING), FORK.Queue()
    workers = [
        FORK.Process(target=charge_and_copy, args=(ledger, end, results, number))
        for number in range(PROCESSES)
    ]
    for worker in workers:
        worker.start()
    granted, refused, errors = map(sum, zip(*(results.get() for _ in workers), strict=True))
    for worker in workers:
        worker.join()
    return granted, refused, errors, len(PrivacyLedger(path, epsilon=CEILING).entries())


def run_contention() -> None:
    print(
        f"{PROCESSES} processes charge, {COPIERS} of them copy and read the file every 2 ms, {DURATION:g} s:"
    )
    end, totals, worst = time.monotonic() + DURATION, (0, 0, 0, 0), 0
    for number in count(1):
        with TemporaryDirectory() as folder:
            one = contend(Path(folder, "study.ledger"), end)
        totals = tuple(a + b for a, b in zip(totals, one, strict=True))
        worst = max(worst, one[3])
        verdict = "grants = entries <= ceiling" if one[0] == one[3] <= CEILING else "BROKEN"
        print(f"  ledger {number}: granted, refused, errors, entries = {one}: {verdict}", flush=True)
        if time.monotonic() >= end:
            break
    print(f"  all: granted, refused, errors, entries = {totals}; most entries in one: {worst} of {CEILING}")


def distinct_amounts() -> Iterator[Fraction]:
    """Amounts of distinct prime denominators: their exact sum would have millions of digits."""
    sieve = np.ones(1_400_000, dtype=bool)  # more than 1e5 primes
    for number in range(2, 1200):
        sieve[number * number :: number] = False
    return (Fraction(1, int(prime)) for prime in np.flatnonzero(sieve)[2:])


def fill(path: Path, amounts: Iterator[Fraction]) -> PrivacyLedger:
    """Write entries as charges do, in one transaction."""
    ledger = PrivacyLedger(path)
    with ledger._transaction(write=True) as records:
        for amount in amounts:
            row = to_row(spend(amount), amount, "Tree", None, None)
            records.append(row, records.state.after(row))
    return ledger


def charge_time(ledgers: Iterator[PrivacyLedger]) -> float:
    cost = spend(Fraction(1, 1000))
    return median_of(partial(ledger.charge, cost, "Tree") for ledger in islice(ledgers, REPEATS))


def in_new_workers(ledger: PrivacyLedger) -> Iterator[PrivacyLedger]:
    """What a worker process gets for each fit: an object that has verified nothing."""
    while True:
        yield pickle.loads(pickle.dumps(ledger))


def run_costs() -> None:
    print(f"time of a charge, ms (median of {REPEATS}), and of opening, s:")
    table = Table(
        *(("entries", ">10"), ("equal", ">9.2f"), ("distinct", ">9.2f"), ("in a worker", ">12.2f")),
        ("opening", ">9.2f"),
    )
    for size in SIZES:
        with TemporaryDirectory() as folder:
            amounts = {
                "equal": (Fraction(1, 1000) for _ in range(size)),
                "distinct": islice(distinct_amounts(), size),
            }
            equal, distinct = (fill(Path(folder, name), terms) for name, terms in amounts.items())
            os.sync()  # what was just written is not the charge's to wait for
            opening = seconds(partial(PrivacyLedger, distinct.path))
            times = [charge_time(one) for one in (repeat(equal), repeat(distinct), in_new_workers(distinct))]
        table.row(size, *(1e3 * one for one in times), opening)


def acknowledge(ledger: PrivacyLedger, pipe: int) -> None:
    """Charge for ever, and write a byte after each charge."""
    cost = spend(Fraction(1))
    while True:
        ledger.charge(cost, "Tree")
        os.write(pipe, b".")


def kill_one(ledger: PrivacyLedger, pause: float) -> int:
    """Return how many charges a process acknowledged before it was killed."""
    reading, writing = os.pipe()
    child = FORK.Process(target=acknowledge, args=(ledger, writing))
    child.start()
    os.close(writing)
    time.sleep(pause)
    os.kill(child.pid, signal.SIGKILL)
    child.join()
    with open(reading, "rb") as pipe:
        return len(pipe.read())


def run_kills() -> None:
    pauses = random.Random(0)
    acknowledged = unacknowledged = 0
    with TemporaryDirectory() as folder:
        path = Path(folder, "study.ledger")
        ledger = PrivacyLedger(path)
        for _ in range(KILLS):
            acknowledged += kill_one(ledger, pauses.uniform(0.002, 0.06))
            entries = len(PrivacyLedger(path).entries())
            unacknowledged = entries - acknowledged
            if unacknowledged < 0:
                print("BROKEN: an acknowledged charge is lost")
    print(
        f"{KILLS} times kill -9: {acknowledged} charges acknowledged, {entries} entries, {unacknowledged} "
        "of them charged and not acknowledged; the ledger opened every time"
    )


def run() -> None:
    run_contention()
    run_costs()
    run_kills()
