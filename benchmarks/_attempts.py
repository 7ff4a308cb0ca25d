# SPDX-License-Identifier: BSD-3-Clause
"""Attempts as a user makes them: what came of one, whether it was charged, and whether the message helps."""

import re
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from skprivate import PrivacyLedger, config_context

from ._tables import Table

SILENT = "SILENT NONSENSE"
#: Warnings that say nothing of what the user declared.
_OF_PYTHON = (DeprecationWarning, FutureWarning, ResourceWarning)


@dataclass(frozen=True)
class Attempt:
    """What somebody typed.

    ``call`` takes a ledger and returns a result; ``right`` says whether the result is what the user wanted
    (None: it never is, so that it must be an error or a warning). ``hint`` is a regular expression that a
    helpful message matches.
    """

    group: str
    name: str
    call: Callable[[PrivacyLedger], Any]
    right: Callable[[Any], bool] | None = None
    hint: str = ""
    modes: tuple[bool, ...] = (False, True)


def outcome(attempt: Attempt, strict: bool) -> tuple[int, str, str]:
    """Make an attempt with a ledger of its own; return its entries, what came of it, and the message."""
    result, error = None, ""
    with tempfile.TemporaryDirectory() as folder:
        ledger = PrivacyLedger(Path(folder) / "ledger", epsilon=10_000, delta=0.5)
        with warnings.catch_warnings(record=True) as caught, config_context(strict=strict):
            warnings.simplefilter("always")
            try:
                result = attempt.call(ledger)
            except Exception as failure:
                error = f"{type(failure).__name__}: {failure}"
        charged = len(ledger.entries())
    told = dict.fromkeys(str(one.message) for one in caught if not issubclass(one.category, _OF_PYTHON))
    message = error or " | ".join(told)
    kind = _kind(attempt, result, bool(error), message, charged)
    return charged, kind, " ".join(message.split())


def _kind(attempt: Attempt, result: Any, failed: bool, message: str, charged: int) -> str:
    helps = "" if re.search(attempt.hint, message, re.I | re.S) else ", no remedy"
    if failed:
        refused = " of a RIGHT use" if attempt.right and not attempt.hint else helps
        return f"error {'after' if charged else 'before'} charge{refused}"
    right = attempt.right is not None and bool(attempt.right(result))
    if message:
        return "right, but warned" if right else f"warned{helps}"
    return "right" if right else SILENT


def run_attempts(attempts: Iterable[Attempt]) -> None:
    """Print a table of attempts in both modes, and how many of each kind there were."""
    counts: Counter[str] = Counter()
    for group, members in groupby(attempts, key=lambda attempt: attempt.group):
        print(f"\n{group}")
        table = Table(("", "<44"), ("", "<6"), ("", ">2"), ("", "<36"), ("", "<0"), indent=2)
        for attempt, strict in ((one, strict) for one in members for strict in one.modes):
            charged, kind, message = outcome(attempt, strict)
            counts[kind] += 1
            table.row(attempt.name[:44], "strict" if strict else "plain", charged, kind, message[:150])
    print("\n" + "; ".join(f"{kind}: {count}" for kind, count in sorted(counts.items())))
