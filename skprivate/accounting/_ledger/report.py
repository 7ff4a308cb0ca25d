# SPDX-License-Identifier: BSD-3-Clause
"""The printed report of a ledger."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from fractions import Fraction

from .._amounts import show, show_pair
from .._running_sum import upper_sum
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
    exposed = sum(not entry.private for entry in entries)
    lines = [title, *_table(entries, spent), ""]
    if ceiling is None:
        lines.append("Ceiling: none")
    else:
        lines.append(f"Ceiling: {show_pair(*ceiling)}")
        lines.append(f"Remaining: {show_pair(*remaining)}")
    lines.append(f"Not private: {exposed} of {len(entries)} entries{_nominal(exposed)}")
    lines.append(_failed(failures, max_failures))
    return "\n".join([*lines, *_kinds(entries), *_groups(entries), *_NOTES])


def _table(entries: Sequence[LedgerEntry], spent: tuple[Fraction, Fraction]) -> list[str]:
    groups: defaultdict[tuple[str, str], list[LedgerEntry]] = defaultdict(list)
    for entry in entries:
        groups[entry.label or "-", entry.estimator].append(entry)
    rows = [_HEADER]
    for (label, estimator), group in groups.items():
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
