# SPDX-License-Identifier: BSD-3-Clause
"""The identity of a ledger, its state after a sequence of entries, and its limits."""

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
from ...utils import check_int, check_positive, check_probability
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
    """Identifier and limits of a ledger; the limits are fixed at creation."""

    uuid: str
    epsilon: Fraction | None
    delta: Fraction
    max_failures: int | None = None


@dataclass(frozen=True)
class LedgerState:
    """State of a ledger after a sequence of entries; without arguments: after no entry.

    ``chain`` is a hash of every entry in order. It has no key: it detects accidents, but a person who alters
    entries can recompute it.
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
        """Number of fits that have begun and not ended, as far as the ledger knows."""
        return self.places_taken - self.places_returned

    def after(self, row: Row) -> "LedgerState":
        """Return the state after one more entry; ValueError if its amounts are invalid."""
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
        """Return whether both come from the same entries; failed fits and places are not compared."""
        mine, others = ((it.count, it.epsilon, it.delta, it.chain) for it in (self, other))
        return mine == others

    def lacks(self, known: "LedgerState") -> str:
        """Return what a known state has and this one lacks, as a text; empty if nothing."""
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
    limit = None if max_failures is None else check_int(max_failures, "max_failures", least=0)
    return Identity(uuid, ceiling, ceiling_delta, limit)


def left_of(identity: Identity, spent: Spent) -> Remaining:
    """Return the remaining budget under the ceiling; infinite without a ceiling."""
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
    """Refuse a charge that would exceed the ceiling; rounded sums are compared by their upper bounds."""
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
        f"A run of {show_pair(*amount)} would exceed the ceiling of the ledger {place} by "
        f"{show_pair(*excess)}: spent so far {show_pair(*before.spent)}, ceiling "
        f"{show_pair(identity.epsilon, identity.delta, down=True)}. Nothing was spent. Request less, or run "
        'fewer fits. Amounts are exact, so pass decimals as Fraction("0.1").'
    )


def require_few_failures(identity: Identity, state: LedgerState, place: Path) -> None:
    """Refuse to continue if more fits failed than the limit allows."""
    if identity.max_failures is None or state.failures <= identity.max_failures:
        return
    raise BudgetExceededError(
        f"The ledger {place} counts {state.failures} failed fits, and its limit is {identity.max_failures}: "
        "a failure reveals something about the rows and costs no epsilon. Nothing was spent. Find out why "
        "fits fail, on data that are not private. The limit is fixed, so more fits need a new ledger."
    )


def require_place(identity: Identity, state: LedgerState, place: Path) -> None:
    """Refuse a fit that could exceed the limit of failures if all running fits fail."""
    require_few_failures(identity, state, place)
    if identity.max_failures is None or state.failures + state.places <= identity.max_failures:
        return
    raise BudgetExceededError(
        f"The ledger {place} counts {state.failures} failed fits, its limit is {identity.max_failures}, and "
        f"{state.places} fits have begun and may still fail. Nothing was spent. Wait until they have ended, "
        "or run fewer at once (n_jobs). If none is running, their processes were stopped, and each counts as "
        "a failure for good: start a new ledger with a larger max_failures, and add the costs in this one."
    )


def damaged(place: Path, error: Exception | None = None) -> LedgerError:
    """Return the error for a ledger whose content differs from anything that a ledger writes."""
    what = "" if error is None else f" ({describe_error(error)})"
    return LedgerError(
        f"The ledger {place} is damaged, or is no ledger{what}. {REMEDY}, or start a new ledger under "
        "another name and count the lost entries."
    )


@contextmanager
def undamaged(place: Path) -> Iterator[None]:
    """Turn every error that the content of a ledger causes into the error for a damaged ledger."""
    try:
        yield
    except UNREADABLE as error:
        raise damaged(place, error) from error


def resolve(path: str | os.PathLike[str]) -> Path:
    """Return the absolute path without symbolic links; TypeError if it is not a path."""
    if not isinstance(os.fspath(path), str):
        raise TypeError("path must be a str or a path-like of str.")
    try:
        return Path(path).resolve()
    except (OSError, RuntimeError) as error:
        raise LedgerError(
            "The ledger's path cannot be resolved. Look for a loop of symbolic links."
        ) from error
