# SPDX-License-Identifier: BSD-3-Clause
"""Limits of a ledger, fixed at its creation: ceilings on epsilon, delta and the number of failed fits."""

import math
from fractions import Fraction
from pathlib import Path

from ...exceptions import BudgetExceededError
from ...utils import check_positive, check_probability
from .._amounts import Remaining, Spent, show, show_pair
from .store import Identity, LedgerState


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
        "a failure tells something of the rows and costs no epsilon. Nothing was spent. Find out why fits "
        "fail, on data that are not private; the limit is fixed, so that more fits need a new ledger."
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
