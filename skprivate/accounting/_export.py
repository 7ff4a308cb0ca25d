# SPDX-License-Identifier: BSD-3-Clause
"""A ledger as JSON for other programs."""

import json
from collections.abc import Sequence
from dataclasses import fields
from datetime import datetime
from fractions import Fraction
from typing import Any

from ._amounts import to_text
from ._ledger_entry import LedgerEntry

FORMAT = "skprivate.ledger-export"
VERSION = 1
_NOTE = (
    "Amounts are exact: numerator/denominator, the totals in hexadecimal digits (0x...). Totals are by basic "
    "composition over every entry. Groups of data are disjoint as declared by the user. Claimed by the "
    "software, not certified. The scores and the choice of a plain search are not covered."
)


def write_export(
    uuid: str,
    entries: Sequence[LedgerEntry],
    spent: tuple[Fraction, Fraction],
    ceiling: tuple[Fraction, Fraction] | None,
) -> str:
    """Return the JSON of a ledger; the file's path stays out of it."""
    content = {
        "format": FORMAT,
        "version": VERSION,
        "note": _NOTE,
        "ledger": uuid,
        "ceiling": None if ceiling is None else _pair(ceiling, to_text),
        "spent": _pair(spent, _to_hexadecimal),
        "entries": [_entry(entry) for entry in entries],
    }
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def _to_hexadecimal(amount: Fraction) -> str:
    # Python refuses to print decimal numbers as long as sums can be.
    return f"{amount.numerator:#x}/{amount.denominator:#x}"


def _pair(amounts: tuple[Fraction, Fraction], write: Any) -> dict[str, str]:
    return {"epsilon": write(amounts[0]), "delta": write(amounts[1])}


def _entry(entry: LedgerEntry) -> dict[str, Any]:
    return {field.name: _value(getattr(entry, field.name)) for field in fields(entry)}


def _value(value: Any) -> Any:
    if isinstance(value, Fraction):
        return to_text(value)
    return value.isoformat() if isinstance(value, datetime) else value
