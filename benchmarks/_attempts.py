# SPDX-License-Identifier: BSD-3-Clause
"""Attempts as a user makes them: what came of one, whether it was charged, and whether the message helps."""

import re
import tempfile
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from skprivate import PrivacyLedger, config_context

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


@dataclass(frozen=True)
class Outcome:
    """What came of an attempt: in a word, the message, and the number of entries in the ledger."""

    kind: str
    message: str
    charged: int


def make(attempt: Attempt, strict: bool) -> Outcome:
    """Make an attempt with a ledger of its own in a temporary folder."""
    with tempfile.TemporaryDirectory() as folder:
        ledger = PrivacyLedger(Path(folder) / "ledger", epsilon=10_000, delta=0.5)
        result: Any = None
        error = ""
        with warnings.catch_warnings(record=True) as caught, config_context(strict=strict):
            warnings.simplefilter("always")
            try:
                result = attempt.call(ledger)
            except Exception as failure:
                error = f"{type(failure).__name__}: {failure}"
        charged = len(ledger.entries())
    told = " | ".join(dict.fromkeys(str(w.message) for w in caught if not issubclass(w.category, _OF_PYTHON)))
    return Outcome(_kind(attempt, result, error, told, charged), " ".join((error or told).split()), charged)


def _kind(attempt: Attempt, result: Any, error: str, told: str, charged: int) -> str:
    helps = "" if re.search(attempt.hint, error or told, re.I | re.S) else ", no remedy"
    if error:
        refused = " of a RIGHT use" if attempt.right and not attempt.hint else helps
        return f"error {'after' if charged else 'before'} charge{refused}"
    right = attempt.right is not None and bool(attempt.right(result))
    if told:
        return "right, but warned" if right else f"warned{helps}"
    return "right" if right else SILENT


def run_attempts(attempts: Iterable[Attempt], width: int = 150) -> dict[str, int]:
    """Print a table of attempts in both modes; return how many of each kind there were."""
    counts: dict[str, int] = {}
    group = ""
    for attempt in attempts:
        if attempt.group != group:
            group = attempt.group
            print(f"\n{group}")
        for strict in attempt.modes:
            found = make(attempt, strict)
            counts[found.kind] = counts.get(found.kind, 0) + 1
            mode, told = "strict" if strict else "plain", found.message[:width]
            print(
                f"  {attempt.name:<44.44} {mode:<7}{found.charged:>2}  {found.kind:<36}{told}",
                flush=True,
            )
    print("\n" + "; ".join(f"{kind}: {count}" for kind, count in sorted(counts.items())))
    return counts
