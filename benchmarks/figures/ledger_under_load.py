# SPDX-License-Identifier: BSD-3-Clause
"""Time of a charge, and of opening a ledger, by the number of its entries."""

import os
import pickle
from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from itertools import islice, repeat
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from skprivate.accounting import PrivacyLedger, PrivacySpent
from skprivate.accounting._statements.ledger_entry import to_row

from .._tables import Table
from .._timing import median_of, seconds

#: Entries of a ledger, and charges that are timed.
SIZES = {False: ((100, 1000, 10_000, 100_000), 101), True: ((20,), 3)}


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


def in_new_workers(ledger: PrivacyLedger) -> Iterator[PrivacyLedger]:
    """What a worker process gets for each fit: an object that has verified nothing."""
    while True:
        yield pickle.loads(pickle.dumps(ledger))


def run(*, small: bool = False) -> None:
    """Print the times of a charge to equal and to distinct amounts, and in a worker."""
    entries, repeats = SIZES[small]
    print(f"time of a charge, ms (median of {repeats}), and of opening, s:")
    table = Table(
        *(("entries", ">10"), ("equal", ">9.2f"), ("distinct", ">9.2f"), ("in a worker", ">12.2f")),
        ("opening", ">9.2f"),
    )
    cost = spend(Fraction(1, 1000))
    for size in entries:
        with TemporaryDirectory() as folder:
            equal = fill(Path(folder, "equal"), repeat(Fraction(1, 1000), size))
            distinct = fill(Path(folder, "distinct"), islice(distinct_amounts(), size))
            os.sync()  # what was just written is not the charge's to wait for
            opening = seconds(partial(PrivacyLedger, distinct.path))
            times = [
                median_of(partial(one.charge, cost, "Tree") for one in islice(ledgers, repeats))
                for ledgers in (repeat(equal), repeat(distinct), in_new_workers(distinct))
            ]
        table.row(size, *(1e3 * one for one in times), opening)
