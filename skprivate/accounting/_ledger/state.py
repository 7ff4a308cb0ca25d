# SPDX-License-Identifier: BSD-3-Clause
"""The identity of a ledger, the state that its entries lead to, and its limits.

`PrivacyLedger` calls a `LedgerStore`, which runs transactions on `LedgerRecords`. A file is one such place
(`sqlite_store`); a database server would be another.
"""

import hashlib
import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from ...exceptions import BudgetExceededError, LedgerError
from ...utils import check_positive, check_probability
from ...utils._json_documents import UNREADABLE
from ...utils._public_module import public_module
from .._amounts import Remaining, RunningSum, Spent, from_text, show, show_pair
from .._statements.fields import describe_error

# Interface of a ledger's storage, the state of a ledger, and the check of its entries.

Row = tuple[Any, ...]
_EPSILON, _DELTA = 3, 4  # columns of a row, see ledger_entry.to_row
_REMEDY = "Restore the latest backup with PrivacyLedger.restore"


@public_module("skprivate.accounting")
@dataclass(frozen=True)
class Identity:
    """What makes a store this ledger and no other; the limits are fixed at creation."""

    uuid: str
    epsilon: Fraction | None
    delta: Fraction
    max_failures: int | None = None


@dataclass(frozen=True)
class LedgerState:
    """What a sequence of entries leads to; without arguments: that of no entry.

    ``chain`` is a hash of every entry in order. It has no key: it shows accidents, and whoever means to alter
    entries can compute it anew.
    """

    count: int = 0
    epsilon: RunningSum = field(default_factory=RunningSum)
    delta: RunningSum = field(default_factory=RunningSum)
    chain: str = ""
    failures: int = 0
    places_taken: int = 0
    places_returned: int = 0

    @property
    def spent(self) -> Spent:
        """The sums of epsilon and delta, or upper bounds on them."""
        return Spent(self.epsilon.upper, self.delta.upper)

    @property
    def places(self) -> int:
        """The number of fits that have begun and not ended, as far as the ledger knows."""
        return self.places_taken - self.places_returned

    def after(self, row: Row) -> "LedgerState":
        """Return the state after one entry more; ValueError if its amounts are none."""
        epsilon, delta = from_text(row[_EPSILON]), from_text(row[_DELTA])
        text = repr((self.chain, *row))
        return replace(
            self,
            count=self.count + 1,
            epsilon=self.epsilon.plus(epsilon),
            delta=self.delta.plus(delta),
            chain=hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest(),
        )

    def agrees(self, other: "LedgerState") -> bool:
        """Return whether both come from the same entries; failed fits and places are counted apart."""
        mine, others = ((it.count, it.epsilon, it.delta, it.chain) for it in (self, other))
        return mine == others

    def lacks(self, known: "LedgerState") -> str:
        """Return what would be forgotten of a known state if this one took its place; empty if nothing."""
        counts = (
            (known.count - self.count, "entries"),
            (known.failures - self.failures, "failed fits"),
            (known.places_taken - self.places_taken, "fits that had begun"),
        )
        return next((f"{lost} newer {what}" for lost, what in counts if lost > 0), "")


class LedgerRecords(ABC):
    """A ledger inside one transaction.

    Attributes
    ----------
    identity : Identity
        Who the ledger says it is.
    state : LedgerState
        What it says its entries lead to; every method that writes brings it up to date.
    mark : LedgerState or None
        The state that was last acknowledged, kept apart from the entries. None: it was lost, or never
        written.
    is_kept : bool
        Whether what was written is lasting: an interrupt may reach the caller after it, and before it.
    """

    identity: Identity
    state: LedgerState
    mark: LedgerState | None
    is_kept: bool = False

    @abstractmethod
    def rows(self, after: int = 0) -> list[Row]:
        """Return the entries but the first ``after``, oldest first, in time that does not depend on those."""

    @abstractmethod
    def append(self, row: Row, state: LedgerState, charge_id: str | None = None) -> None:
        """Add one entry, the state that it leads to, and the id that the ledger counts it by."""

    @abstractmethod
    def charged(self, charge_id: str) -> Row | None:
        """Return the entry that was counted by an id, None if there is none."""

    @abstractmethod
    def refusals(self) -> list[Row]:
        """Return the charges that a limit refused, oldest first; no total and no chain counts them."""

    @abstractmethod
    def add_refusal(self, row: Row) -> None:
        """Keep a charge that was refused."""

    @abstractmethod
    def failures(self) -> dict[str, int]:
        """Return the number of failed fits of each estimator."""

    @abstractmethod
    def add_failure(self, estimator: str) -> None:
        """Count one failed fit."""

    @abstractmethod
    def take_place(self) -> None:
        """Count one fit that has begun."""

    @abstractmethod
    def return_place(self) -> None:
        """Count one fit that has ended."""

    @abstractmethod
    def check_structure(self) -> None:
        """Let the store look for damage of its own."""

    @abstractmethod
    def backup(self, target: Path) -> None:
        """Write a copy to a file, whole or not at all."""


class LedgerStore(ABC):
    """A place where a ledger is kept.

    A transaction sees what every transaction before it left, and none runs beside it, in any process. What it
    wrote is lasting, and marked as acknowledged, when its block has ended without an error; an error in the
    block writes nothing. An error of the store is a LedgerError that says whether something was charged.
    """

    @abstractmethod
    def create(self, identity: Identity) -> None:
        """Create the ledger unless another process was first; refuse if one was here and is gone."""

    @abstractmethod
    def transaction(self, *, write: bool) -> AbstractContextManager[LedgerRecords]:
        """Run a block as one transaction."""


def verify(records: LedgerRecords, seen: LedgerState | None, place: Path, *, full: bool = False) -> list[Row]:
    """Check the entries after the last state that was verified, and return them.

    Parameters
    ----------
    records : LedgerRecords
        The ledger, inside a transaction.
    seen : LedgerState or None
        What the caller has verified before; None: nothing.
    place : Path
        Where the ledger is, for messages.
    full : bool, default=False
        Whether to check every entry.

    Returns
    -------
    rows : list of tuple
        The entries that were checked: all of them if ``full``.

    Raises
    ------
    LedgerError
        If the ledger is in an older state than was seen or acknowledged, or is not what was written.

    Notes
    -----
    The mark is a state that a process had verified before it was written. A ledger is taken for good if its
    entries lead from the earlier of both states through the later one to what the ledger says of itself. An
    entry before both is not read: its alteration shows at the next full check.
    """
    known = [state for state in (seen, records.mark) if state is not None]
    for state in known:
        _require_not_older(records.state, state, place)
    start = LedgerState() if full or not known else min(known, key=lambda state: state.count)
    with undamaged(place):
        rows = records.rows(start.count)
        reached = replay(start, rows, known)
        n_failures = sum(records.failures().values()) if full else records.state.failures
    if reached is None:
        raise LedgerError(
            f"The ledger {place} is damaged: its entries do not lead to those that were acknowledged. They "
            f"were altered, or an older state was put in its place and charged. {_REMEDY}."
        )
    if not reached.agrees(records.state) or n_failures != records.state.failures:
        raise damaged(place)
    return rows


def replay(start: LedgerState, rows: list[Row], known: list[LedgerState]) -> LedgerState | None:
    """Return the state after some entries, or None if they miss a known state on the way."""
    waypoints = {state.count: [other for other in known if other.count == state.count] for state in known}
    reached = start
    for row in (*rows, None):
        if any(not state.agrees(reached) for state in waypoints.get(reached.count, ())):
            return None
        if row is not None:
            reached = reached.after(row)
    return reached


def damaged(place: Path, error: Exception | None = None) -> LedgerError:
    """Return the error for a ledger whose content cannot be what was written."""
    what = "" if error is None else f" ({describe_error(error)})"
    return LedgerError(
        f"The ledger {place} is damaged, or is no ledger{what}. {_REMEDY}, or start a new ledger under "
        "another name and count what was lost."
    )


@contextmanager
def undamaged(place: Path) -> Iterator[None]:
    """Turn whatever the content of a ledger makes fail into the error for a damaged one."""
    try:
        yield
    except UNREADABLE as error:
        raise damaged(place, error) from error


def _require_not_older(state: LedgerState, known: LedgerState, place: Path) -> None:
    what = state.lacks(known)
    if not what:
        return
    raise LedgerError(
        f"The ledger {place} is in an older state than was seen: it holds {state.count} entries, and {what} "
        f"would be forgotten. {_REMEDY}; discard_newer=True forgets them, and what they spent is for you to "
        "count."
    )


# Limits of a ledger, fixed at its creation: ceilings on epsilon, delta and the number of failed fits.


def check_limits(
    uuid: str, epsilon: float | Fraction | None, delta: float | Fraction, max_failures: int | None
) -> Identity:
    """Return the identity of a ledger with these limits, or raise TypeError or ValueError."""
    ceiling = None if epsilon is None else check_positive(epsilon, "epsilon")
    ceiling_delta = check_probability(delta, "delta")
    if ceiling is None and ceiling_delta:
        raise ValueError("A ceiling on delta needs one on epsilon: without epsilon there is no ceiling.")
    if max_failures is not None:
        if isinstance(max_failures, bool) or not isinstance(max_failures, int):
            raise TypeError(f"max_failures must be an int or None, got {type(max_failures).__name__}.")
        if max_failures < 0:
            raise ValueError("max_failures must be at least 0.")
    return Identity(uuid, ceiling, ceiling_delta, max_failures)


def left_of(identity: Identity, spent: Spent) -> Remaining:
    """Return what the ceiling leaves; infinities without a ceiling."""
    if identity.epsilon is None:
        return Remaining(math.inf, math.inf)
    return Remaining(identity.epsilon - spent.epsilon, identity.delta - spent.delta)


def describe_limits(identity: Identity) -> str:
    """Return the limits as a phrase for messages."""
    ceiling = "no ceiling"
    if identity.epsilon is not None:
        ceiling = f"the ceiling {show_pair(identity.epsilon, identity.delta, down=True)}"
    limit = identity.max_failures
    return ceiling if limit is None else f"{ceiling} and at most {limit} failed fits"


def require_below_ceiling(identity: Identity, before: LedgerState, after: LedgerState, place: Path) -> None:
    """Refuse a charge that would pass the ceiling; rounded sums are compared by their upper bounds."""
    if identity.epsilon is None:
        return
    excess = [
        max(total.upper - ceiling, Fraction(0))
        for total, ceiling in ((after.epsilon, identity.epsilon), (after.delta, identity.delta))
    ]
    if excess == [0, 0]:
        return
    amount = after.epsilon.upper - before.epsilon.upper, after.delta.upper - before.delta.upper
    raise BudgetExceededError(
        f"A run of {show_pair(*amount)} would pass the ceiling of the ledger {place} by "
        f"{show_pair(*excess)}: spent so far {show_pair(*before.spent)}, ceiling "
        f"{show_pair(identity.epsilon, identity.delta, down=True)}. Nothing was spent. Ask for less, or run "
        'fewer fits; amounts are exact, so give decimals as Fraction("0.1").'
    )


def require_few_failures(identity: Identity, state: LedgerState, place: Path) -> None:
    """Refuse to go on when more fits failed than the limit allows."""
    if identity.max_failures is None or state.failures <= identity.max_failures:
        return
    raise BudgetExceededError(
        f"The ledger {place} counts {state.failures} failed fits, and its limit is {identity.max_failures}: "
        "a failure reveals something about the rows and costs no epsilon. Nothing was spent. Find out why "
        "fits fail, on data that are not private; the limit is fixed, so that more fits need a new ledger."
    )


def require_place(identity: Identity, state: LedgerState, place: Path) -> None:
    """Refuse a fit that could fail beyond the limit if those that run fail, too."""
    require_few_failures(identity, state, place)
    if identity.max_failures is None or state.failures + state.places <= identity.max_failures:
        return
    raise BudgetExceededError(
        f"The ledger {place} counts {state.failures} failed fits, its limit is {identity.max_failures}, and "
        f"{state.places} fits have begun and may still fail. Nothing was spent. Wait until they have ended, "
        "or run fewer at once (n_jobs). If none runs, their processes were stopped, which counts like a "
        "failure for good: start a new ledger with a larger max_failures and count what this one holds."
    )


def show_limits(identity: Identity) -> str:
    """Return the limits as the arguments of a constructor, each after a comma."""
    text = ""
    if identity.epsilon is not None:
        text += f", epsilon={show(identity.epsilon, down=True)}, delta={show(identity.delta, down=True)}"
    return text if identity.max_failures is None else f"{text}, max_failures={identity.max_failures}"
