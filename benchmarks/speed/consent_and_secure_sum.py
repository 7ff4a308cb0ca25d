# SPDX-License-Identifier: BSD-3-Clause
"""Times of the consent gate and of the secure sum over 20 parties, all of them in one process."""

from functools import partial
from typing import Any

import numpy as np

from skprivate.collaborative import ConsentBox, MaskedSum

from ._goals import SideBySide

#: Parties; numbers of rows, with how often each is run: short ones are over in a millisecond.
SIZES = {False: (20, {1: 101, 4: 101, 100: 31, 10_000: 5}), True: (3, {1: 0, 4: 0, 100: 0})}


class Gate:
    """The consent gate."""

    kind: Any = ConsentBox

    def __init__(self, n_sites: int) -> None:
        self.names = [f"site {j}" for j in range(n_sites)]
        self.roster, self.keys, self.receiver = self.kind.simulate(self.names)
        self.sites = dict.fromkeys(self.names, self.roster)

    def messages(self, query: Any, answers: dict[str, Any]) -> tuple[dict[str, bytes], ...]:
        sealed = {n: self.roster.seal(n, self.keys[n], query, answer) for n, answer in answers.items()}
        return sealed, {n: self.roster.consent(n, self.keys[n], query, sealed) for n in self.names}

    def ask(self, values: Any) -> Any:
        """Return the opened result of one query, with one value of every site for each row."""
        query = self.roster.new_query(np.arange(len(values))[:, np.newaxis])
        answers = dict(zip(self.names, values.T, strict=True))
        return self.roster.open(self.receiver, query, *self.messages(query, answers))


class Sum(Gate):
    """The secure sum, whose sites read each query once."""

    kind = MaskedSum

    def messages(self, query: Any, answers: dict[str, Any]) -> tuple[dict[str, bytes], ...]:
        return ({n: self.sites[n].mask(n, self.keys[n], query, answer) for n, answer in answers.items()},)


class SumApart(Sum):
    """The same with a roster of its own for every site, which reads the query itself."""

    def __init__(self, n_sites: int) -> None:
        super().__init__(n_sites)
        publics = {name: key.public for name, key in self.keys.items()}
        self.sites = {name: MaskedSum(publics, self.receiver.public) for name in self.names}


def run(small: bool = False) -> None:
    n_sites, rows = SIZES[small]
    values = np.random.default_rng(0).normal(size=(max(rows), n_sites))
    gate, shared, apart = (kind(n_sites) for kind in (Gate, Sum, SumApart))
    table = SideBySide(1)
    table.heading(f"secure sum over {n_sites} parties, from values to the opened result")
    for n, pairs in rows.items():
        for beside, other in (("the consent gate", gate), ("every site reads the query", apart)):
            ours, theirs = partial(shared.ask, values[:n]), partial(other.ask, values[:n])
            table.row(f"{n:,} row{'s' * (n > 1)}", beside, ours, theirs, pairs=pairs)
    ours, theirs = (lambda kind=kind: kind(n_sites).ask(values[:1]) for kind in (Sum, Gate))
    table.row("keys, and a first query", "the consent gate", ours, theirs)
