# SPDX-License-Identifier: BSD-3-Clause
"""Compares the outputs of two workers, one of them with names replaced, and shows where they differ."""

import json
import re
from pathlib import Path
from typing import Any

_PARTS = ("fit", "predictions", "statements")
_WIDTH = 110


def read_substitutions(path: Path | None) -> dict[str, str]:
    """Read lines of the form ``old -> new``."""
    found: dict[str, str] = {}
    for line in path.read_text().splitlines() if path else ():
        if line.strip() and not line.lstrip().startswith("#"):
            old, arrow, new = line.partition("->")
            if not arrow or not old.strip():
                raise SystemExit(f"{path}: a line must read 'old -> new': {line!r}")
            found[old.strip()] = new.strip()
    return found


def substitute(text: str, names: dict[str, str]) -> str:
    """Replace whole words, all at once, the longest first: no replacement is replaced again."""
    if not names:
        return text
    words = sorted(names, key=len, reverse=True)
    pattern = re.compile("|".join(_bounded(json.dumps(word)[1:-1]) for word in words))
    return pattern.sub(lambda match: json.dumps(names[json.loads(f'"{match[0]}"')])[1:-1], text)


def _bounded(word: str) -> str:
    before = r"(?<!\w)" if re.match(r"\w", word) else ""
    # An escape such as \n in front of a word ends in a letter that is none of its letters.
    before = before and r"(?:(?<!\w)|(?<=[^\\]\\n)|(?<=[^\\]\\t))"
    return before + re.escape(word) + (r"(?!\w)" if re.search(r"\w$", word) else "")


class Comparison:
    """The outputs of two workers side by side; as a text, a table and what is different."""

    def __init__(self, old: str, new: str, names: dict[str, str], *, most: int = 3) -> None:
        self.same_bytes = _cases_text(old) == _cases_text(new)
        self._old, self._new = json.loads(substitute(old, names)), json.loads(new)
        self._most = most
        self.differences: dict[str, list[tuple[str, str]]] = {}
        for estimator in self._estimators():
            self.differences[estimator] = list(self._compare(estimator))
        self.left_out = sorted(
            {
                *self._old["cases"]["estimators without a case"],
                *self._new["cases"]["estimators without a case"],
            }
        )

    @property
    def equal(self) -> bool:
        """Whether nothing differs, and every public estimator has a case."""
        return not any(self.differences.values()) and not self.left_out

    def _estimators(self) -> list[str]:
        names = {*self._old["cases"], *self._new["cases"]} - {"estimators without a case"}
        return sorted(names)

    def _compare(self, estimator: str) -> Any:
        """Yield (part, what differs)."""
        old, new = (side["cases"].get(estimator, {}) for side in (self._old, self._new))
        for name in sorted({*old, *new}):
            if name not in old or name not in new:
                yield "case", f"case {name!r} is only in {'NEW' if name in new else 'OLD'}"
                continue
            for part in _PARTS:
                one, other = old[name][part], new[name][part]
                if one != other:
                    yield part, f"{name}: {part}{_first_difference(one, other)}"

    def __str__(self) -> str:
        rows = [
            ("estimator", "cases", "fits equal", "predictions equal", "statements equal", "first difference")
        ]
        for estimator, found in self.differences.items():
            cases = self._new["cases"].get(estimator, {})
            wrong = {part for part, _ in found}
            marks = [
                "-" if self._is_empty(estimator, part) else "no" if part in wrong else "yes"
                for part in _PARTS
            ]
            shown = found[0][1][:_WIDTH] if found else ""
            rows.append((estimator, str(len(cases)), *marks, shown))
        return "\n".join([*_table(rows), "", *self._details(), *self._summary()])

    def _mark(self, estimator: str, part: str, wrong: set[str]) -> str:
        if self._is_empty(estimator, part):
            return "-"
        return "no" if part in wrong else "yes"

    def _is_empty(self, estimator: str, part: str) -> bool:
        sides = [side["cases"].get(estimator, {}) for side in (self._old, self._new)]
        return not any(case[part] for side in sides for case in side.values())

    def _details(self) -> list[str]:
        lines = []
        for estimator, found in self.differences.items():
            lines += [f"{estimator}: {text}" for _, text in found[: self._most]]
            if len(found) > self._most:
                lines.append(f"{estimator}: and {len(found) - self._most} more parts of cases")
        return lines

    def _summary(self) -> list[str]:
        cases = [case for kind in self._new["cases"].values() for case in kind.values()]
        values = sum(_count(case) for case in cases)
        raised = sum("raised" in case.get("statements", {}) for case in cases)
        seconds = " and ".join(f"{side['seconds']['all']:.0f}" for side in (self._old, self._new))
        found = sum(map(len, self.differences.values()))
        verdict = "the same byte for byte" if self.same_bytes else "the same up to names" if not found else ""
        counts = f"{len(self.differences)} subjects, {len(cases)} cases, {values} values"
        return [
            f"{counts}; {seconds} CPU seconds. {raised} cases end in an error, the same in both if equal.",
            *([f"Public estimators without a case: {', '.join(self.left_out)}."] if self.left_out else []),
            f"DIFFERENT in {found} parts of cases." if found else f"Equal: {verdict}.",
        ]


def _cases_text(text: str) -> str:
    return json.dumps(json.loads(text)["cases"], sort_keys=True)


def _count(value: Any) -> int:
    """Return the number of values; a digest counts as one."""
    if isinstance(value, dict):
        return sum(map(_count, value.values()))
    return sum(map(_count, value)) if isinstance(value, list) else 1


def _first_difference(one: Any, other: Any, path: str = "") -> str:
    if isinstance(one, dict) and isinstance(other, dict):
        for key in sorted({*one, *other}):
            if key not in one or key not in other:
                return f"{path}.{key} is only in {'NEW' if key in other else 'OLD'}"
            if one[key] != other[key]:
                return _first_difference(one[key], other[key], f"{path}.{key}")
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for index, (left, right) in enumerate(zip(one, other, strict=True)):
            if left != right:
                return _first_difference(left, right, f"{path}[{index}]")
    return f"{path}: {_shown(one)} != {_shown(other)}"


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= _WIDTH else f"{text[:_WIDTH]}..."


def _table(rows: list[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]) - 1)]
    return [
        " | ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[-1]]).rstrip()
        for row in rows
    ]
