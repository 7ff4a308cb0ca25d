# SPDX-License-Identifier: BSD-3-Clause
"""The printed report of a ledger, and its label in notebooks."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime
from fractions import Fraction

from .._amounts import show, show_pair
from .._checks import escape_controls
from .._running_sum import upper_sum
from .._statements.html import PRIVATE_VERDICT, Label, amounts_figure
from .._statements.ledger_entry import NO_RECORD, LedgerEntry, Record
from .export import Account
from .limits import left_of

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
