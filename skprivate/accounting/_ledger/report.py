# SPDX-License-Identifier: BSD-3-Clause
"""The account of a ledger: its printed report, its label, and its export as JSON and back."""

import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

from ...utils import check_int
from ...utils._json_documents import Fields, check_envelope
from .._amounts import Spent, from_text, show, show_pair, to_text, upper_sum
from .._statements.fields import check_text, escape_controls
from .._statements.html import PRIVATE_VERDICT, Label, amounts_figure
from .._statements.ledger_entry import NO_RECORD, LedgerEntry, Record, from_row
from .state import Identity, LedgerRecords, LedgerState, Row, left_of, undamaged

# What a ledger holds, and its export as JSON, which can be read and checked again.

FORMAT = "skprivate.ledger-export"
VERSION = 3
_EXPORT_FIELDS = ("note", "ledger", "ceiling", "spent", "failures", "chain", "entries", "refusals")
_MOST = 2**62  # as in the mark
_EXPORT_NOTE = (
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
        "note": _EXPORT_NOTE,
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
    check_envelope(content, FORMAT, VERSION, _EXPORT_FIELDS)
    fields = Fields(content, ("format", "version", *_EXPORT_FIELDS))
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


# The printed report of a ledger, and its label in notebooks.

_HEADER = ("label", "estimator", "fits", "epsilon", "delta", "not private")
_NOTES = (
    "Totals are by basic composition over EVERY entry, as if all touched the same rows.",
    "Fits made by a plain GridSearchCV are counted, but its cv_results_, its best_score_ and its choice are",
    "exact functions of private rows that no entry covers: only PrivateGridSearch has a guarantee from end",
    "to end. A grid over epsilon is for planning on public or simulated data.",
    "Purposes, persons, approvers and expiries are what the user said; nothing checks them.",
    "Printed amounts have six digits: spent ones are rounded up, remaining ones down. entries() is exact.",
)


def write_report(title: str, account: Account) -> str:
    """Return the table of the entries by label and estimator, the totals and what they mean."""
    entries = account.entries
    lines = [
        title,
        *_table(entries, account.spent),
        "",
        *_limits(account),
        _exposed(entries),
        ": ".join(describe_failures(account)),
    ]
    lines += [f"{name}: {text}" for name, text in (*describe_refusals(account.refusals), *_records(entries))]
    return "\n".join(map(escape_controls, [*lines, *_kinds(entries), *_groups(entries), *_NOTES]))


def label_of_ledger(title: str, account: Account) -> Label:
    """Return what the report says as a label."""
    entries = account.entries
    rows = [line.partition(": ") for line in (*_limits(account), _exposed(entries))]
    return Label(
        subject=title,
        private=all(entry.private for entry in entries),
        verdict=verdict_of(entries),
        figure=f"{amounts_figure(*account.spent)} spent",
        rows=[
            *((name, value) for name, _, value in rows),
            describe_failures(account),
            *describe_refusals(account.refusals),
            *(_group_row(names, group) for names, group in _by_label_and_estimator(entries).items()),
            *_records(entries),
        ],
        note=" ".join([*_kinds(entries), *_groups(entries), *_NOTES]),
    )


def label_of_unreadable(title: str, error: Exception) -> Label:
    """Return the label of a ledger whose file cannot be used."""
    return Label(
        subject=title, private=False, verdict="The ledger cannot be read", figure="", rows=[], note=str(error)
    )


def verdict_of(entries: Sequence[LedgerEntry]) -> str:
    """Return what holds of a ledger as a whole."""
    if not entries:
        return "Nothing was charged"
    if not all(entry.private for entry in entries):
        return "NOT PRIVATE: some entries are not"
    if len({(entry.relation, entry.unit) for entry in entries}) > 1:
        return "Relations or units differ: the total holds for none of them alone"
    return PRIVATE_VERDICT


def _group_row(names: tuple[str, str], group: Sequence[LedgerEntry]) -> tuple[str, str]:
    n_fits, *amounts, n_exposed = _numbers(group, sums_of(group))
    exposed = f", {n_exposed} not private" if n_exposed != "0" else ""
    return (
        f"label {names[0]}, {names[1]}",
        f"epsilon = {amounts[0]}, delta = {amounts[1]} ({n_fits} fits{exposed})",
    )


def _limits(account: Account) -> list[str]:
    identity = account.identity
    if identity.epsilon is None:
        return ["Ceiling: none"]
    left = show_pair(*left_of(identity, account.spent), down=True)
    return [f"Ceiling: {show_pair(identity.epsilon, identity.delta, down=True)}", f"Remaining: {left}"]


def _exposed(entries: Sequence[LedgerEntry]) -> str:
    exposed = sum(not entry.private for entry in entries)
    return f"Not private: {exposed} of {len(entries)} entries{_nominal(exposed)}"


def _by_label_and_estimator(entries: Sequence[LedgerEntry]) -> dict[tuple[str, str], list[LedgerEntry]]:
    groups: defaultdict[tuple[str, str], list[LedgerEntry]] = defaultdict(list)
    for entry in entries:
        groups[entry.label or "-", entry.estimator].append(entry)
    return groups


def _table(entries: Sequence[LedgerEntry], spent: tuple[Fraction, Fraction]) -> list[str]:
    rows = [_HEADER]
    for (label, estimator), group in _by_label_and_estimator(entries).items():
        rows.append((label, estimator, *_numbers(group, sums_of(group))))
    rows.append(("total", "", *_numbers(entries, spent)))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [_line(row, widths) for row in rows]


def sums_of(entries: Sequence[LedgerEntry]) -> tuple[Fraction, Fraction]:
    """Return the sums of epsilon and delta of some entries, or upper bounds on them."""
    return upper_sum(entry.epsilon for entry in entries), upper_sum(entry.delta for entry in entries)


def _numbers(entries: Sequence[LedgerEntry], sums: tuple[Fraction, Fraction]) -> tuple[str, str, str, str]:
    exposed = sum(not entry.private for entry in entries)
    return str(len(entries)), show(sums[0]), show(sums[1]), str(exposed)


def _line(row: tuple[str, ...], widths: list[int]) -> str:
    texts = [cell.ljust(width) for cell, width in zip(row[:2], widths[:2], strict=True)]
    numbers = [cell.rjust(width) for cell, width in zip(row[2:], widths[2:], strict=True)]
    return "  ".join(texts + numbers)


def _nominal(exposed: int) -> str:
    return ", charged their nominal amounts: no total holds for their rows" if exposed else ""


def describe_failures(account: Account) -> tuple[str, str]:
    """Return how many fits failed, of which estimators, and how many have not ended."""
    failures, max_failures = account.failures, account.identity.max_failures
    limit = "no limit" if max_failures is None else f"limit {max_failures}"
    names = "".join(f"; {name}: {count}" for name, count in failures.items())
    begun = f"; {account.state.places} more run or were stopped, and count" if account.state.places else ""
    return "Failed fits, which cost no epsilon", f"{sum(failures.values())} ({limit}{names}{begun})"


def describe_refusals(refusals: Sequence[LedgerEntry]) -> list[tuple[str, str]]:
    """Return how many charges were refused, and of which amounts."""
    head = ("Refused charges, which cost nothing", str(len(refusals)))
    kinds = Counter(
        (it.label or "-", it.estimator, it.purpose or "-", it.person or "-", it.epsilon, it.delta)
        for it in refusals
    )
    return [head] + [
        (
            f"refused, label {label}, {estimator}",
            f"{show_pair(epsilon, delta)} asked for {count} times; purpose {purpose}; person {person}",
        )
        for (label, estimator, purpose, person, epsilon, delta), count in kinds.items()
    ]


def _records(entries: Sequence[LedgerEntry]) -> list[tuple[str, str]]:
    """Return what was said of the entries, and what each such record spent; nothing if nothing was."""
    groups = group_by_record(entries)
    if set(groups) <= {NO_RECORD}:
        return []
    return [
        (
            f"purpose {record[0] or '-'}",
            f"{show_pair(*sums_of(group))} ({len(group)} entries); person {record[1] or '-'}; approver "
            f"{record[2] or '-'}; expiry {describe_expiry(group)}",
        )
        for record, group in groups.items()
    ]


def group_by_record(entries: Sequence[LedgerEntry]) -> dict[Record, list[LedgerEntry]]:
    """Return the entries by their purpose, person, approver and expiry, in the order of the first of each."""
    groups: defaultdict[Record, list[LedgerEntry]] = defaultdict(list)
    for entry in entries:
        groups[entry.purpose, entry.person, entry.approver, entry.expiry].append(entry)
    return groups


def describe_expiry(entries: Sequence[LedgerEntry]) -> str:
    """Return the expiry of entries that share it, and whether it is over, or was when they were charged."""
    first = entries[0]
    if first.expiry is None:
        return "-"
    late = sum(entry.has_expired(entry.time.date()) for entry in entries)
    expired = first.has_expired(datetime.now(UTC).date())
    told = f"{first.expiry}{' (EXPIRED)' if expired else ''}"
    return f"{told}, {late} entries CHARGED AFTER IT" if late else told


def _groups(entries: Sequence[LedgerEntry]) -> list[str]:
    sums: defaultdict[str | None, list[LedgerEntry]] = defaultdict(list)
    for entry in entries:
        sums[entry.data].append(entry)
    if set(sums) <= {None}:
        return []
    lines = ["Groups of data, disjoint as declared (composition() takes the dearest; the totals add all up):"]
    for name, group in sorted(sums.items(), key=lambda item: item[0] or ""):
        title = "without a group" if name is None else repr(name)
        lines.append(f"  {title}: {show_pair(*sums_of(group))} ({len(group)} entries)")
    return lines


def _kinds(entries: Sequence[LedgerEntry]) -> list[str]:
    kinds = Counter((entry.relation, entry.unit) for entry in entries)
    if len(kinds) < 2:
        return [f"Relation and unit: {relation}, {unit}" for relation, unit in kinds]
    # A sum over different relations is a sum of numbers that mean different things.
    lines = [
        f"Relation and unit: {relation}, {unit} ({count} entries)"
        for (relation, unit), count in kinds.items()
    ]
    return [*lines, "Entries differ in relation or unit: the totals hold for neither alone."]
