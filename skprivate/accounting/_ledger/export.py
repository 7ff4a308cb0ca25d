# SPDX-License-Identifier: BSD-3-Clause
"""Export of a ledger as JSON."""

import json
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from .._amounts import to_text
from .._statements.ledger_entry import LedgerEntry
from .store import Identity, LedgerState

FORMAT = "skprivate.ledger-export"
VERSION = 1
_NOTE = (
    "Amounts are exact: numerator/denominator, the totals in hexadecimal digits (0x...), rounded up where "
    "exact ones would grow with every entry. Totals are by basic composition over every entry. Failed fits "
    "cost no epsilon and may tell something of the rows. Groups of data are disjoint as declared by the "
    "user. Claimed by the software, not certified. The scores and the choice of a plain search are not "
    "covered."
)


def write_export(
    identity: Identity, entries: Sequence[LedgerEntry], state: LedgerState, failures: Mapping[str, int]
) -> str:
    """Return the JSON of a ledger; the file's path stays out of it."""
    ceiling = None if identity.epsilon is None else _pair(identity.epsilon, identity.delta, to_text)
    content = {
        "format": FORMAT,
        "version": VERSION,
        "note": _NOTE,
        "ledger": identity.uuid,
        "ceiling": ceiling,
        "spent": _pair(state.epsilon.upper, state.delta.upper, _to_hexadecimal),
        "failures": {"total": state.failures, "limit": identity.max_failures, "estimators": dict(failures)},
        "entries": [entry.to_dict() for entry in entries],
    }
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def _to_hexadecimal(amount: Fraction) -> str:
    # A thousand digits, where a sum was rounded.
    return f"{amount.numerator:#x}/{amount.denominator:#x}"


def _pair(epsilon: Fraction, delta: Fraction, write: Any) -> dict[str, str]:
    return {"epsilon": write(epsilon), "delta": write(delta)}
