# SPDX-License-Identifier: BSD-3-Clause
"""The account of a ledger: its views, its printed report, its label, and its export as JSON and back."""

import json
import os
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

from ...exceptions import LedgerError
from ...utils import check_int
from ...utils._files import write_atomically
from ...utils._json_documents import Fields, check_envelope
from .._composition.compose import Composition, Method, compose
from .._privacy_amounts import Spent, from_text, show, show_pair, to_text, upper_sum
from .._statements.fields import check_text, escape_controls
from .._statements.html import PRIVATE_VERDICT, Label, aligned, amounts_figure, label_fragment, label_page
from .._statements.spent import NO_RECORD, RECORD, LedgerEntry, from_row
from .records import SQLiteRecords, refuse_own_files
from .state import Identity, LedgerState, left_of, resolve, undamaged

Key = TypeVar("Key", bound=Hashable)

_HEADER = ("label", "estimator", "fits", "epsilon", "delta", "not private")
_NOTES = (
    "Totals are by basic composition over EVERY entry, as if all touched the same rows.",
    "Fits of a plain GridSearchCV are counted. But its cv_results_, its best_score_ and its choice are",
    "exact functions of private rows, which no entry covers: only PrivateGridSearch has a guarantee for the",
    "whole search. A grid over epsilon is for planning on public or simulated data.",
    "Purposes, persons, approvers and expiries are statements of the user; nothing checks them.",
    "Printed amounts have six digits: spent ones are rounded up, remaining ones down. entries() is exact.",
)


@dataclass(frozen=True)
class Account:
    """Content of a ledger."""

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


def account_of(records: SQLiteRecords, place: Path) -> Account:
    """Return the content of a ledger, inside a transaction, after a check of all entries."""
    with undamaged(place):
        parts = records.checked, records.refusals()
        entries, refusals = ([from_row(*row) for row in part] for part in parts)
        return Account(records.identity, entries, records.state, records.failures(), refusals)


class LedgerViews(ABC):
    """The views of an account, for a ledger and for an audit of one."""

    _path: Path
    #: Title of reports, before the path.
    _heading: str

    @abstractmethod
    def _account(self) -> Account:
        """Return the account, after a check of all entries."""

    def entries(self) -> list[LedgerEntry]:
        """Return every entry, oldest first, after a check of all of them."""
        return list(self._account().entries)

    def refusals(self) -> list[LedgerEntry]:
        """Return the charges that a limit refused, oldest first, in the form of entries.

        They cost nothing, no total counts them, and the hash of the entries does not cover them. Fits with an
        infinite epsilon, and fits that the limit of failures stopped before they read rows, are not included.

        Returns
        -------
        refusals : list of LedgerEntry
        """
        return list(self._account().refusals)

    def report(self) -> str:
        """Return a text: the entries by label and estimator, the totals, and what they cover."""
        return write_report(f"{self._heading} {self._path}", self._account())

    def _repr_html_(self) -> str:
        """Return the report as a label for a notebook, or the error of the file."""
        title = f"{self._heading} {self._path}"
        try:
            label = label_of_ledger(title, self._account())
        except LedgerError as error:
            label = Label(subject=title, verdict="The ledger cannot be read", note=str(error))
        return label_fragment([label])

    def to_html(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return the report as one page: a whole HTML document without scripts and external resources.

        Parameters
        ----------
        path : str or path-like, default=None
            File to which the page is also written; an existing file is replaced. The ledger's own files are
            refused.

        Returns
        -------
        page : str
            All texts are escaped. It holds the file's name, but not its folder.
        """
        title = f"Privacy ledger {self._path.name}"
        return self._written(label_page([label_of_ledger(title, self._account())], "Ledger"), path)

    def composition(self, method: Method = "basic", delta: float | Fraction | None = None) -> Composition:
        """Return the total cost of all entries, with separate groups of disjoint data and separate kinds.

        Parameters
        ----------
        method : {"basic", "rdp", "pld"}, default="basic"
            See `compose`.
        delta : float or Fraction, default=None
            Delta of the result, for "rdp" and "pld" only.

        Returns
        -------
        composition : Composition
            Less than `spent` if data are disjoint; the ceiling does not use it.
        """
        return compose(self.entries(), method, delta)

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return every entry, the totals and the ceiling as JSON, with exact amounts as text.

        Parameters
        ----------
        path : str or path-like, default=None
            File to which the text is also written; an existing file is replaced. The ledger's own files are
            refused.

        Returns
        -------
        text : str
            An object with ``"format": "skprivate.ledger-export"`` and ``"version": 3``, and the hash that
            links the entries. `LedgerAudit` reads and checks it. It cannot be opened as a ledger: the spent
            budget is recorded in the ledger's file.
        """
        return self._written(write_export(self._account()), path)

    def _written(self, text: str, path: str | os.PathLike[str] | None) -> str:
        """Return a text, and write it to a file that does not belong to the ledger."""
        if path is not None:
            target = resolve(path)
            refuse_own_files(self._path, target)
            write_atomically(target, text.encode("utf-8"))
        return text


# The printed report, and the label.


def write_report(title: str, account: Account) -> str:
    """Return the table of the entries by label and estimator, the totals and their meaning."""
    table = [_HEADER]
    for (label, estimator), group in _by_label_and_estimator(account.entries).items():
        table.append((label, estimator, *_numbers(group, sums_of(group))))
    table.append(("total", "", *_numbers(account.entries, account.spent)))
    rows = [*_rows(account), *_records(account.entries)]
    lines = [title, *aligned(table, 2), "", *(f"{name}: {text}" for name, text in rows)]
    lines += _remarks(account.entries)
    return "\n".join(map(escape_controls, lines))


def label_of_ledger(title: str, account: Account) -> Label:
    """Return the report as a label."""
    rows = _rows(account)
    for (label, estimator), group in _by_label_and_estimator(account.entries).items():
        n_fits, epsilon, delta, n_exposed = _numbers(group, sums_of(group))
        exposed = f", {n_exposed} not private" if n_exposed != "0" else ""
        spent = f"epsilon = {epsilon}, delta = {delta} ({n_fits} fits{exposed})"
        rows.append((f"label {label}, {estimator}", spent))
    return Label(
        subject=title,
        private=not count_exposed(account.entries),
        verdict=verdict_of(account.entries),
        figure=f"{amounts_figure(*account.spent)} spent",
        rows=[*rows, *_records(account.entries)],
        note=" ".join(_remarks(account.entries)),
    )


def verdict_of(entries: Sequence[LedgerEntry]) -> str:
    """Return the verdict on a whole ledger."""
    if not entries:
        return "Nothing was charged"
    if count_exposed(entries):
        return "NOT PRIVATE: some entries are not private"
    if len({(entry.relation, entry.unit) for entry in entries}) > 1:
        return "Relations or units differ: the total holds for none of them alone"
    return PRIVATE_VERDICT


def grouped(entries: Sequence[LedgerEntry], key: Callable[..., Key]) -> dict[Key, list[LedgerEntry]]:
    """Return the entries by a key; keys are in the order of their first entry."""
    groups: dict[Key, list[LedgerEntry]] = {}
    for entry in entries:
        groups.setdefault(key(entry), []).append(entry)
    return groups


def sums_of(entries: Sequence[LedgerEntry]) -> tuple[Fraction, Fraction]:
    """Return the sums of epsilon and delta of some entries, or upper bounds on them."""
    return upper_sum(entry.epsilon for entry in entries), upper_sum(entry.delta for entry in entries)


def count_exposed(entries: Sequence[LedgerEntry]) -> int:
    """Return the number of entries that are not private."""
    return sum(not entry.private for entry in entries)


def _by_label_and_estimator(entries: Sequence[LedgerEntry]) -> dict[tuple[str, str], list[LedgerEntry]]:
    return grouped(entries, lambda entry: (entry.label or "-", entry.estimator))


def _numbers(entries: Sequence[LedgerEntry], sums: tuple[Fraction, Fraction]) -> tuple[str, str, str, str]:
    return str(len(entries)), show(sums[0]), show(sums[1]), str(count_exposed(entries))


def _rows(account: Account) -> list[tuple[str, str]]:
    """Return names and texts of the limits, and of facts that the totals do not show."""
    entries, exposed = account.entries, count_exposed(account.entries)
    nominal = ", charged their nominal amounts: no total holds for their rows" if exposed else ""
    return [
        *describe_ceiling(account),
        ("Not private", f"{exposed} of {len(entries)} entries{nominal}"),
        describe_failures(account),
        *describe_refusals(account.refusals),
    ]


def describe_ceiling(account: Account) -> list[tuple[str, str]]:
    """Return the ceiling and the remaining budget."""
    identity = account.identity
    if identity.epsilon is None:
        return [("Ceiling", "none")]
    ceiling = show_pair(identity.epsilon, identity.delta, down=True)
    left = show_pair(*left_of(identity, account.spent), down=True)
    return [("Ceiling", ceiling), ("Remaining", left)]


def describe_failures(account: Account) -> tuple[str, str]:
    """Return the number of failed fits, in all and by estimator, and of fits that have not ended."""
    failures, max_failures = account.failures, account.identity.max_failures
    limit = "no limit" if max_failures is None else f"limit {max_failures}"
    names = "".join(f"; {name}: {count}" for name, count in failures.items())
    begun = f"; {account.state.places} more run or were stopped, and count" if account.state.places else ""
    return "Failed fits, which cost no epsilon", f"{sum(failures.values())} ({limit}{names}{begun})"


def describe_refusals(refusals: Sequence[LedgerEntry]) -> list[tuple[str, str]]:
    """Return the number and the amounts of refused charges."""
    head = ("Refused charges, which cost nothing", str(len(refusals)))
    kinds = Counter(
        (it.label or "-", it.estimator, it.purpose or "-", it.person or "-", it.epsilon, it.delta)
        for it in refusals
    )
    return [head] + [
        (
            f"refused, label {label}, {estimator}",
            f"{show_pair(epsilon, delta)} requested {count} times; purpose {purpose}; person {person}",
        )
        for (label, estimator, purpose, person, epsilon, delta), count in kinds.items()
    ]


def describe_expiry(entries: Sequence[LedgerEntry]) -> str:
    """Return the expiry of entries that share it, and whether it is over or was over at their charge."""
    first = entries[0]
    if first.expiry is None:
        return "-"
    late = sum(entry.has_expired(entry.time.date()) for entry in entries)
    expired = first.has_expired(datetime.now(UTC).date())
    text = f"{first.expiry}{' (EXPIRED)' if expired else ''}"
    return f"{text}, {late} entries CHARGED AFTER IT" if late else text


def _records(entries: Sequence[LedgerEntry]) -> list[tuple[str, str]]:
    """Return the records of the entries and the cost of each record; empty if there are no records."""
    groups = grouped(entries, lambda entry: (tuple(getattr(entry, name) for name in RECORD), entry.data))
    if {record for record, _ in groups} <= {NO_RECORD}:
        return []
    return [
        (
            f"purpose {purpose or '-'}",
            f"{show_pair(*sums_of(group))} ({len(group)} entries); person {person or '-'}; approver "
            f"{approver or '-'}; expiry {describe_expiry(group)}" + (f"; data {data!r}" if data else ""),
        )
        for ((purpose, person, approver, _), data), group in groups.items()
    ]


def _remarks(entries: Sequence[LedgerEntry]) -> list[str]:
    """Return relations and units of the entries, the cost of each group of data, and general notes."""
    kinds = Counter((entry.relation, entry.unit) for entry in entries)
    several = len(kinds) > 1
    lines = [
        f"Relation and unit: {relation}, {unit}" + (f" ({count} entries)" if several else "")
        for (relation, unit), count in kinds.items()
    ]
    if several:
        # A sum over different relations adds numbers of different meaning.
        lines.append("Entries differ in relation or unit: the totals hold for none of them alone.")
    groups = grouped(entries, lambda entry: entry.data)
    if not set(groups) <= {None}:
        lines.append(
            "Groups of data, disjoint as declared (composition() counts only the most expensive one; the "
            "totals add up all):"
        )
        for name, group in sorted(groups.items(), key=lambda item: item[0] or ""):
            title = "without a group" if name is None else repr(name)
            lines.append(f"  {title}: {show_pair(*sums_of(group))} ({len(group)} entries)")
    return [*lines, *_NOTES]


# The export.

FORMAT = "skprivate.ledger-export"
VERSION = 3
_EXPORT_FIELDS = ("note", "ledger", "ceiling", "spent", "failures", "chain", "entries", "refusals")
_MOST = 2**62  # as in the mark
_EXPORT_NOTE = (
    "Amounts are exact: numerator/denominator. The totals are in hexadecimal digits (0x...), and rounded up "
    "if exact ones would grow with every entry. Totals are by basic composition over every entry. Failed "
    "fits cost no epsilon and may reveal something about the rows. Groups of data are disjoint as declared "
    "by the user. Claimed by the software, not certified. The scores and the choice of a plain search are "
    "not covered. Purposes, persons, approvers and expiries are texts of the user. Refused charges cost "
    "nothing. The chain is a hash of the entries in order, without a key: it finds accidents, not "
    "adversaries. It does not cover failures and refusals."
)


def write_export(account: Account) -> str:
    """Return the JSON of a ledger, without the path of its file."""
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
    """Return the account that `write_export` wrote, with a check of its sums and of its chain.

    Parameters
    ----------
    content : object
        Parsed JSON.

    Returns
    -------
    account : Account
        Content of the ledger.

    Raises
    ------
    ValueError, TypeError, LookupError
        The content is not an export, or contradicts itself.
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
    # A rounded sum has a thousand digits.
    return f"{amount.numerator:#x}/{amount.denominator:#x}"


def _pair(epsilon: Fraction, delta: Fraction, write: Any) -> dict[str, str]:
    return {"epsilon": write(epsilon), "delta": write(delta)}
