# SPDX-License-Identifier: BSD-3-Clause
"""Times of the consent gate and of the secure sum over 20 parties, and the damaged messages they refuse."""

import numpy as np

from skprivate.collaborative import ConsentBox, MaskedSum
from skprivate.exceptions import ConsentError

from .._tables import Table
from .._timing import median_seconds, seconds

PARTIES = 20
#: Numbers of rows, with how often each is run: short ones are over in a millisecond.
ROWS = {1: 301, 4: 301, 100: 101, 10_000: 11}
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
    """The secure sum, all parties in one process, which read each query once."""

    def __init__(self, names):
        self.names = names
        self.roster, self.keys, self.receiver = MaskedSum.simulate(names)
        self.sites = dict.fromkeys(names, self.roster)

    def send(self, query, values):
        masked = {
            n: self.sites[n].mask(n, self.keys[n], query, values[:, j]) for j, n in enumerate(self.names)
        }
        return (masked,)

    def receive(self, query, messages):
        return self.roster.open(self.receiver, query, *messages)


class SumApart(Sum):
    """The same with a roster of its own for every site, which reads the query itself."""

    def __init__(self, names):
        super().__init__(names)
        publics = {name: key.public for name, key in self.keys.items()}
        self.sites = {name: MaskedSum(publics, self.receiver.public) for name in names}


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
    values = np.random.default_rng(0).normal(size=(max(ROWS), PARTIES))
    print(f"{PARTIES} parties in one process, one thread; ms from values to the opened result, medians")
    table = Table(
        ("protocol", ">8"),
        ("with agreement", ">14.1f"),
        *((f"{rows} row{'s' * (rows > 1)}", ">10.2f") for rows in ROWS),
        ("refused", ">15"),
    )
    for kind in (Gate, Sum, SumApart):
        protocol = kind(names)
        first = seconds(lambda p=protocol: run_once(p, values[:1]))
        times = [
            median_seconds(lambda p=protocol, n=rows: run_once(p, values[:n]), runs)
            for rows, runs in ROWS.items()
        ]
        refused = count_refused(kind(names[:5]), values[:3, :5])
        milliseconds = [1e3 * time for time in (first, *times)]
        table.row(kind.__name__, *milliseconds, f"{refused} / {DAMAGED}")
