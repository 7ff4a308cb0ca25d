# SPDX-License-Identifier: BSD-3-Clause
"""The driver of rounds: plan, charge, exact sums, noise, and the next plan."""

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np

from .._typing import IntArray
from ..accounting import PrivacySpent, ReleaseRecord
from ..noise._entropy import Entropy
from ._checkpoint import RunRecord
from ._plans._additive.coded_rows import CodedRows
from ._plans._additive.plans import CodeCountsPlan, ResidualsPlan
from ._plans.plan import Plan
from ._plans.rows import PreparedRows

Result = TypeVar("Result")


class Noise(Protocol):
    """What turns exact sums into released integers."""

    def randomize(self, values: IntArray, entropy: Any) -> IntArray:
        """Return what is released of the sums."""


@dataclass(frozen=True, eq=False)
class Round:
    """One round of a private fit, public: what is summed, what it costs, and the noise.

    Attributes
    ----------
    plan : Plan
    noise : Noise
    spent : PrivacySpent or None
        What is charged before rows are read; None: an earlier round has paid for this one.
    release : ReleaseRecord or None
        What statements say about it; None where the statement was made before.
    """

    plan: Plan
    noise: Noise
    spent: PrivacySpent | None = None
    release: ReleaseRecord | None = None


#: A generator that yields rounds, is sent what each released, and returns the fit.
Rounds = Generator[Round, IntArray, Result]


def with_releases(rounds: Rounds[Result], spent: PrivacySpent) -> Rounds[tuple[Result, PrivacySpent]]:
    """Yield rounds; return their result, and the statement that lists what each of them released."""
    found: list[ReleaseRecord] = []
    try:
        step = next(rounds)
        while True:
            assert step.release is not None
            found.append(step.release)
            step = rounds.send((yield step))
    except StopIteration as end:
        return end.value, spent.with_releases(found)
    finally:
        rounds.close()


class RowSource(Protocol):
    """Where rows are; sums over all of them come from it."""

    def prepare(self, number: int, plan: Plan) -> None:
        """Raise what can be raised before anything is charged."""

    def sums(self, number: int, plan: Plan) -> IntArray:
        """Return the exact sums over all rows."""


class RowsInMemory:
    """Rows that were validated and are at hand.

    Their sums are made before the charge, as validation is part of them: nobody sees them before it. Plans
    over codes find what earlier rounds made of the rows.
    """

    def __init__(self, rows: PreparedRows) -> None:
        self._rows = rows
        self._sums: IntArray | None = None
        self._coded: CodedRows | None = None

    def prepare(self, number: int, plan: Plan) -> None:
        """Make the sums."""
        self._sums = self._sums_of(plan)

    def sums(self, number: int, plan: Plan) -> IntArray:
        """Return the sums that were prepared."""
        prepared, self._sums = self._sums, None
        return self._sums_of(plan) if prepared is None else prepared

    def _sums_of(self, plan: Plan) -> IntArray:
        if not isinstance(plan, CodeCountsPlan | ResidualsPlan):
            return plan.sums(self._rows)
        if self._coded is None:
            self._coded = CodedRows(self._rows)
        return plan.coded_sums(self._coded)


def drive(
    rounds: Rounds[Result],
    source: RowSource,
    entropy: Entropy,
    charge: Callable[..., object] = bool,
    record: RunRecord | None = None,
) -> Result:
    """Run rounds over a source to their end.

    Parameters
    ----------
    rounds : generator
        It yields a `Round`, is sent the integers that it released, and returns the result.
    source : RowSource
    entropy : Entropy
        Of the noise.
    charge : callable
        Called with what a round costs, before its noise is drawn, and before rows that are elsewhere are
        read: that reading fails is an answer about them. With a record that is kept on disk, also with an id
        of the charge.
    record : RunRecord, default=None
        What rounds released before the driver was stopped, which are not done again.

    Returns
    -------
    result : object
        What the generator returned.

    Notes
    -----
    **Privacy.** The exact sums of a round live until its noise is drawn. Each plan is made of public values
    and of what earlier rounds released.
    """
    number = 0
    try:
        step = next(rounds)
        while True:
            released = None if record is None else record.released(number, step.plan)
            if released is None:
                released = _release(step, number, source, entropy, charge, record)
            else:
                _go_on(step, number, entropy, charge, record)
            number += 1
            step = rounds.send(released)
    except StopIteration as end:
        result: Result = end.value
        return result
    finally:
        rounds.close()


def _release(
    step: Round,
    number: int,
    source: RowSource,
    entropy: Entropy,
    charge: Callable[..., object],
    record: RunRecord | None,
) -> IntArray:
    source.prepare(number, step.plan)
    charge_id = None if record is None else record.charge_id(number)
    if step.spent is not None:
        charge(step.spent, **({} if charge_id is None else {"charge_id": charge_id}))
    released = step.noise.randomize(source.sums(number, step.plan), entropy)
    if record is not None:
        record.add(step.plan, released)
    return released


def _go_on(
    step: Round, number: int, entropy: Entropy, charge: Callable[..., object], record: RunRecord | None
) -> None:
    """Take a round as done: what it released is on record."""
    if step.spent is not None and record is not None:
        # A ledger that has counted the id takes nothing; another one hears of the whole cost.
        charge(step.spent, charge_id=record.charge_id(number))
    if not entropy.private:
        # A seeded simulation goes on where its stream was.
        step.noise.randomize(np.zeros(step.plan.n_sums, dtype=np.int64), entropy)
