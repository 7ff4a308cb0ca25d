# SPDX-License-Identifier: BSD-3-Clause
"""What a ledger holds, and its export as JSON, which can be read and checked again."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from ...utils import check_int
from ...utils._json_documents import Fields, check_envelope
from .._amounts import Spent, from_text, to_text
from .._checks import check_text
from .._statements.ledger_entry import LedgerEntry, from_row
from .store import Identity, LedgerRecords, LedgerState, Row, undamaged

FORMAT = "skprivate.ledger-export"
VERSION = 3
_FIELDS = ("note", "ledger", "ceiling", "spent", "failures", "chain", "entries", "refusals")
_MOST = 2**62  # as in the mark
_NOTE = (
    "Amounts are exact: numerator/denominator, the totals in hexadecimal digits (0x...), rounded up where "
    "exact ones would grow with every entry. Totals are by basic composition over every entry. Failed fits "
    "cost no epsilon and may tell something of the rows. Groups of data are disjoint as declared by the "
    "user. Claimed by the software, not certified. The scores and the choice of a plain search are not "
    "covered. Purposes, persons, approvers and expiries are texts of the user. Refused charges cost nothing. "
    "The chain is a hash of the entries in order, without a key: it finds accidents, not adversaries; "
    "failures and refusals are outside of it."
)


@dataclass(frozen=True)
class Account:
    """All that a ledger holds."""

    identity: Identity
    entries: list[LedgerEntry]
    state: LedgerState
    failures: dict[str, int]
    refusals: list[LedgerEntry]

    def __post_init__(self) -> None:
        check_text(self.identity.uuid, "the id of the ledger")
        for name, count in self.failures.items():
            check_text(name, "the name of an estimator that failed")
            check_int(count, "a number of failed fits", least=1)

    @property
    def spent(self) -> Spent:
        """The sums of epsilon and delta, or upper bounds on them."""
        return self.state.spent


def account_of(records: LedgerRecords, rows: Sequence[Row], place: Path) -> Account:
    """Return what a ledger holds, inside a transaction; ``rows`` are all of its entries."""
    with undamaged(place):
        entries, refusals = ([from_row(*row) for row in part] for part in (rows, records.refusals()))
        return Account(records.identity, entries, records.state, records.failures(), refusals)


def write_export(account: Account) -> str:
    """Return the JSON of a ledger; the file's path stays out of it."""
    identity, state = account.identity, account.state
    ceiling = None if identity.epsilon is None else _pair(identity.epsilon, identity.delta, to_text)
    content = {
        "format": FORMAT,
        "version": VERSION,
        "note": _NOTE,
        "ledger": identity.uuid,
        "ceiling": ceiling,
        "spent": _pair(*state.spent, _to_hexadecimal),
        "failures": {
            "total": state.failures,
            "limit": identity.max_failures,
            "estimators": account.failures,
            "begun": state.places,
        },
        "chain": state.chain,
        "entries": [entry.to_dict() for entry in account.entries],
        "refusals": [entry.to_dict() for entry in account.refusals],
    }
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def read_export(content: Any) -> Account:
    """Read `write_export` back, with a check of its sums and of its chain.

    Parameters
    ----------
    content : object
        Parsed JSON.

    Returns
    -------
    account : Account
        What the ledger held.

    Raises
    ------
    ValueError, TypeError, LookupError
        If it is no export, or if it contradicts itself.
    """
    check_envelope(content, FORMAT, VERSION, _FIELDS)
    fields = Fields(content, ("format", "version", *_FIELDS))
    entries = [LedgerEntry.from_dict(entry) for entry in fields.items("entries")]
    refusals = [LedgerEntry.from_dict(entry) for entry in fields.items("refusals")]
    failed = Fields(fields.mapping("failures"), ("total", "limit", "estimators", "begun"), what="failures")
    counts = failed.mapping("estimators")
    total = sum(Fields(counts, list(counts)).integer(name, 1, _MOST) for name in counts)
    state = LedgerState(failures=total, places_taken=failed.integer("begun", 0, _MOST))
    for entry in entries:
        state = state.after(entry.to_row())
    written = [total, _pair(state.epsilon.upper, state.delta.upper, _to_hexadecimal)]
    if [failed.integer("total", 0, _MOST), fields.mapping("spent")] != written:
        raise ValueError("its entries do not lead to its totals")
    if fields.text("chain") != state.chain:
        raise ValueError("its entries do not lead to its hash")
    ceiling = fields.maybe(fields.mapping, "ceiling")
    epsilon, delta = None, Fraction(0)
    if ceiling is not None:
        Fields(ceiling, ("epsilon", "delta"))
        epsilon, delta = from_text(ceiling["epsilon"]), from_text(ceiling["delta"])
    limit = failed.maybe(failed.integer, "limit", 0, _MOST)
    identity = Identity(fields.text("ledger"), epsilon, delta, limit)
    return Account(identity, entries, state, counts, refusals)


def _to_hexadecimal(amount: Fraction) -> str:
    # A thousand digits, where a sum was rounded.
    return f"{amount.numerator:#x}/{amount.denominator:#x}"


def _pair(epsilon: Fraction, delta: Fraction, write: Any) -> dict[str, str]:
    return {"epsilon": write(epsilon), "delta": write(delta)}
