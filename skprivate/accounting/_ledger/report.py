# SPDX-License-Identifier: BSD-3-Clause
"""The printed report of a ledger, and its label in notebooks."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from fractions import Fraction

from .._amounts import show, show_pair
from .._running_sum import upper_sum
from .._statements.html import PRIVATE_VERDICT, Label, amounts_figure
from .._statements.ledger_entry import LedgerEntry

_HEADER = ("label", "estimator", "fits", "epsilon", "delta", "not private")
_NOTES = (
    "Totals are by basic composition over EVERY entry, as if all touched the same rows.",
    "Fits made by a plain GridSearchCV are counted, but its cv_results_, its best_score_ and its choice are",
    "exact functions of private rows that no entry covers: only PrivateGridSearch has a guarantee from end",
    "to end. A grid over epsilon is for planning on public or simulated data.",
    "Printed amounts are rounded to six digits; entries() has the exact ones.",
)


def write_report(
    *,
    title: str,
    entries: Sequence[LedgerEntry],
    spent: tuple[Fraction, Fraction],
    ceiling: tuple[Fraction, Fraction] | None,
    remaining: tuple[Fraction | float, Fraction | float],
    failures: Mapping[str, int],
    max_failures: int | None,
) -> str:
    """Return the table of the entries by label and estimator, the totals and what they mean."""
    lines = [title, *_table(entries, spent), "", *_limits(ceiling, remaining)]
    lines += [_exposed(entries), _failed(failures, max_failures)]
    return "\n".join([*lines, *_kinds(entries), *_groups(entries), *_NOTES])


def label_of_ledger(
    *,
    title: str,
    entries: Sequence[LedgerEntry],
    spent: tuple[Fraction, Fraction],
    ceiling: tuple[Fraction, Fraction] | None,
    remaining: tuple[Fraction | float, Fraction | float],
    failures: Mapping[str, int],
    max_failures: int | None,
) -> Label:
    """Return what the report says as a label."""
    rows = [line.partition(": ") for line in _limits(ceiling, remaining)]
    rows += [line.partition(": ") for line in (_exposed(entries), _failed(failures, max_failures))]
    return Label(
        subject=title,
        private=all(entry.private for entry in entries),
        verdict=_verdict(entries),
        figure=f"{amounts_figure(*spent)} spent",
        rows=[
            *((name, value) for name, _, value in rows),
            *(_group_row(names, group) for names, group in _by_label_and_estimator(entries).items()),
        ],
        note=" ".join([*_kinds(entries), *_groups(entries), *_NOTES]),
    )


def label_of_unreadable(title: str, error: Exception) -> Label:
    """Return the label of a ledger whose file cannot be used."""
    return Label(
        subject=title, private=False, verdict="The ledger cannot be read", figure="", rows=[], note=str(error)
    )


def _verdict(entries: Sequence[LedgerEntry]) -> str:
    if not entries:
        return "Nothing was charged"
    if not all(entry.private for entry in entries):
        return "NOT PRIVATE: some entries are not"
    if len({(entry.relation, entry.unit) for entry in entries}) > 1:
        return "Relations or units differ: the total holds for none of them alone"
    return PRIVATE_VERDICT


def _group_row(names: tuple[str, str], group: Sequence[LedgerEntry]) -> tuple[str, str]:
    n_fits, *amounts, n_exposed = _numbers(group, _sums(group))
    exposed = f", {n_exposed} not private" if n_exposed != "0" else ""
    return (
        f"label {names[0]}, {names[1]}",
        f"epsilon = {amounts[0]}, delta = {amounts[1]} ({n_fits} fits{exposed})",
    )


def _limits(
    ceiling: tuple[Fraction, Fraction] | None, remaining: tuple[Fraction | float, Fraction | float]
) -> list[str]:
    if ceiling is None:
        return ["Ceiling: none"]
    return [f"Ceiling: {show_pair(*ceiling)}", f"Remaining: {show_pair(*remaining)}"]


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
        rows.append((label, estimator, *_numbers(group, _sums(group))))
    rows.append(("total", "", *_numbers(entries, spent)))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [_line(row, widths) for row in rows]


def _sums(entries: Sequence[LedgerEntry]) -> tuple[Fraction, Fraction]:
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


def _failed(failures: Mapping[str, int], max_failures: int | None) -> str:
    limit = "no limit" if max_failures is None else f"limit {max_failures}"
    names = "".join(f"; {name}: {count}" for name, count in failures.items())
    return f"Failed fits, which cost no epsilon: {sum(failures.values())} ({limit}{names})"


def _groups(entries: Sequence[LedgerEntry]) -> list[str]:
    sums: defaultdict[str | None, list[LedgerEntry]] = defaultdict(list)
    for entry in entries:
        sums[entry.data].append(entry)
    if set(sums) <= {None}:
        return []
    lines = ["Groups of data, disjoint as declared (composition() takes the dearest; the totals add all up):"]
    for name, group in sorted(sums.items(), key=lambda item: item[0] or ""):
        title = "without a group" if name is None else repr(name)
        lines.append(f"  {title}: {show_pair(*_sums(group))} ({len(group)} entries)")
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
