# SPDX-License-Identifier: BSD-3-Clause
"""Times of the consent gate and of the secure sum over 20 parties, and the damaged messages they refuse."""

import numpy as np

from skprivate.collaborative import ConsentBox, MaskedSum
from skprivate.exceptions import ConsentError

from .._tables import Table
from .._timing import median_seconds, seconds

PARTIES = 20
QUERIES = 1000
RUNS = 21
DAMAGED = 100_000


class Gate:
    """The consent gate, all parties in one process."""

    def __init__(self, names):
        self.names = names
        self.roster, self.keys, self.receiver = ConsentBox.simulate(names)

    def send(self, query, values):
        box, keys = self.roster, self.keys
        sealed = {n: box.seal(n, keys[n], query, values[:, j]) for j, n in enumerate(self.names)}
        return sealed, {n: box.consent(n, keys[n], query, sealed) for n in self.names}

    def receive(self, query, messages):
        return self.roster.open(self.receiver, query, *messages)


class Sum:
    """The secure sum, all parties in one process."""

    def __init__(self, names):
        self.names = names
        self.roster, self.keys, self.receiver = MaskedSum.simulate(names)

    def send(self, query, values):
        masked = {n: self.roster.mask(n, self.keys[n], query, values[:, j]) for j, n in enumerate(self.names)}
        return (masked,)

    def receive(self, query, messages):
        return self.roster.open(self.receiver, query, *messages)


def run_once(protocol, values):
    query = protocol.roster.new_query(np.arange(len(values))[:, np.newaxis])
    return protocol.receive(query, protocol.send(query, values))


def damaged(message, rng):
    """A message with one bit flipped, cut short, longer, or replaced."""
    kind, place = rng.integers(6), int(rng.integers(len(message)))
    if kind < 3:
        return message[:place] + bytes([message[place] ^ 1 << int(rng.integers(8))]) + message[place + 1 :]
    if kind == 3:
        return message[:place]
    return message + rng.bytes(place + 1) if kind == 4 else rng.bytes(len(message))


def count_refused(protocol, values, seed=0):
    """How many of the damaged sets of messages are refused; one message is damaged in each."""
    rng = np.random.default_rng(seed)
    query = protocol.roster.new_query(np.arange(len(values))[:, np.newaxis])
    messages = protocol.send(query, values)
    refused = 0
    for _ in range(DAMAGED):
        bad = [dict(part) for part in messages]
        part = bad[rng.integers(len(bad))]
        name = protocol.names[rng.integers(len(protocol.names))]
        part[name] = damaged(part[name], rng)
        try:
            protocol.receive(query, bad)
        except ConsentError:
            refused += 1
    return refused


def run():
    names = [f"site {j}" for j in range(PARTIES)]
    values = np.random.default_rng(0).normal(size=(QUERIES, PARTIES))
    print(f"{PARTIES} parties in one process, median of {RUNS}; ms from values to the opened result")
    table = Table(
        *(
            ("protocol", ">8"),
            ("with agreement", ">14.1f"),
            (f"{QUERIES} queries", ">12.1f"),
            ("1 query", ">8.1f"),
        ),
        ("refused", ">15"),
    )
    for kind in (Gate, Sum):
        protocol = kind(names)
        first = seconds(lambda p=protocol: run_once(p, values))
        batch = median_seconds(lambda p=protocol: run_once(p, values), RUNS)
        row = median_seconds(lambda p=protocol: run_once(p, values[:1]), RUNS)
        refused = count_refused(kind(names[:5]), values[:3, :5])
        table.row(kind.__name__, 1e3 * first, 1e3 * batch, 1e3 * row, f"{refused} / {DAMAGED}")
