# SPDX-License-Identifier: BSD-3-Clause
"""Compares the outputs of two workers, one of them with names replaced, and shows where they differ."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_PARTS = ("fit", "predictions", "statements")
_WIDTH = 110
# Differences shown of an estimator.
_MOST = 3


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

    def __init__(self, old: str, new: str, names: dict[str, str]) -> None:
        self.same_bytes = _cases_text(old) == _cases_text(new)
        self._old, self._new = json.loads(substitute(old, names)), json.loads(new)
        left_out = (side["cases"].pop("estimators without a case") for side in (self._old, self._new))
        self.left_out = sorted(set().union(*left_out))
        estimators = sorted({*self._old["cases"], *self._new["cases"]})
        self.differences = {estimator: list(self._compare(estimator)) for estimator in estimators}

    @property
    def equal(self) -> bool:
        """Whether nothing differs, and every public estimator has a case."""
        return not any(self.differences.values()) and not self.left_out

    def _compare(self, estimator: str) -> Iterator[tuple[str, str]]:
        """Yield (part, what differs)."""
        old, new = (side["cases"].get(estimator, {}) for side in (self._old, self._new))
        for name in sorted({*old, *new}):
            if name not in old or name not in new:
                yield "case", f"case {name!r} is only in {'NEW' if name in new else 'OLD'}"
                continue
            for part in _PARTS:
                one, other = (dict(_values(side[name][part])) for side in (old, new))
                if one != other:
                    path = min(path for path in {*one, *other} if one.get(path) != other.get(path))
                    values = " != ".join(str(side.get(path, "nothing"))[:_WIDTH] for side in (one, other))
                    yield part, f"{name}: {part}{path}: {values}"

    def __str__(self) -> str:
        heading = ("estimator", "cases", *(f"{part} equal" for part in _PARTS), "first difference")
        rows: list[tuple[str, ...]] = [heading]
        for estimator, found in self.differences.items():
            cases, wrong = self._new["cases"].get(estimator, {}), {part for part, _ in found}
            recorded = {part for case in cases.values() for part in _PARTS if case[part]}
            marks = ["no" if part in wrong else "yes" if part in recorded else "-" for part in _PARTS]
            rows.append((estimator, str(len(cases)), *marks, found[0][1][:_WIDTH] if found else ""))
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        table = [" | ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
        return "\n".join([*table, "", *self._details(), *self._summary()])

    def _details(self) -> list[str]:
        lines = []
        for estimator, found in self.differences.items():
            lines += [f"{estimator}: {text}" for _, text in found[:_MOST]]
            if len(found) > _MOST:
                lines.append(f"{estimator}: and {len(found) - _MOST} more parts of cases")
        return lines

    def _summary(self) -> list[str]:
        cases = [case for kind in self._new["cases"].values() for case in kind.values()]
        values = sum(1 for case in cases for _ in _values(case))
        raised = sum("raised" in case["statements"] for case in cases)
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


def _values(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every single value, and every empty container, with its path; a digest counts as one."""
    if not value or not isinstance(value, dict | list):
        yield path, value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _values(inner, f"{path}.{key}")
    else:
        for index, inner in enumerate(value):
            yield from _values(inner, f"{path}[{index}]")
