# SPDX-License-Identifier: BSD-3-Clause
"""The identity of a ledger, the state that its entries lead to, and its limits."""

import hashlib
import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from ...exceptions import BudgetExceededError, LedgerError
from ...utils import check_positive, check_probability
from ...utils._json_documents import UNREADABLE
from ...utils._public_module import public_module
from .._privacy_amounts import Remaining, RunningSum, Spent, from_text, show_pair
from .._statements.fields import describe_error

Row = tuple[Any, ...]
_EPSILON, _DELTA = 3, 4  # columns of a row, see `spent.to_row`
REMEDY = "Restore the latest backup with PrivacyLedger.restore"


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


def damaged(place: Path, error: Exception | None = None) -> LedgerError:
    """Return the error for a ledger whose content cannot be what was written."""
    what = "" if error is None else f" ({describe_error(error)})"
    return LedgerError(
        f"The ledger {place} is damaged, or is no ledger{what}. {REMEDY}, or start a new ledger under "
        "another name and count what was lost."
    )


@contextmanager
def undamaged(place: Path) -> Iterator[None]:
    """Turn whatever the content of a ledger makes fail into the error for a damaged one."""
    try:
        yield
    except UNREADABLE as error:
        raise damaged(place, error) from error


def resolve(path: str | os.PathLike[str]) -> Path:
    """Return the absolute path without symbolic links; TypeError if it is none."""
    if not isinstance(os.fspath(path), str):
        raise TypeError("path must be a str or a path-like of str.")
    try:
        return Path(path).resolve()
    except (OSError, RuntimeError) as error:
        raise LedgerError(
            "The ledger's path cannot be resolved. Look for a loop of symbolic links."
        ) from error
