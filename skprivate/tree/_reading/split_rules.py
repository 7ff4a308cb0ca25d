# SPDX-License-Identifier: BSD-3-Clause
"""Splits of a tree in words: names of the columns, thresholds, levels and dates of a declared domain."""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from ..._typing import BoolArray
from ...domain import BooleanColumn, DateColumn, TableDomain
from ...domain._values import DAY, text_of_instant
from ...partition import Partition
from ...partition._derived import FilledColumn, LevelsColumn

# Levels that are listed; of a longer list the others are counted.
_LISTED = 6

#: The rules of the rows that go left and of those that go right, given the threshold and its decimals.
Rule = Callable[[float, int], tuple[str, str]]


def to_ascii(text: object) -> str:
    """Return text on one line in ASCII; other characters are escaped."""
    return str(text).encode("unicode_escape").decode("ascii")


class SplitRules:
    """Rules of the inner nodes of a tree, in words.

    Parameters
    ----------
    partition : Partition
    names : sequence of length n_features, default=None
        Names of the features; None: "feature_0" and so on.
    domain : TableDomain, default=None
        The domain; its levels, booleans, missing cells and dates are put in words.
    """

    def __init__(
        self, partition: Partition, names: Sequence[object] | None = None, domain: TableDomain | None = None
    ) -> None:
        self._partition, self._domain = partition, domain
        if domain is not None:
            self._rules = [_rule_of_values(domain, name) for name in domain.names]
        else:
            known = range(partition.n_features) if names is None else names
            prefix = "feature_" if names is None else ""
            self._rules = [partial(_compare, f"{prefix}{to_ascii(name)}") for name in known]
        self._possible = [] if partition.derived is None else self._find_possible()

    def sides(self, node: int, decimals: int) -> tuple[str, str]:
        """Return the rules of the rows that an inner node sends left, and of those that it sends right."""
        partition = self._partition
        feature, threshold = int(partition.feature[node]), float(partition.threshold[node])
        if partition.derived is None:
            return self._rules[feature](threshold, decimals)
        assert self._domain is not None
        column = partition.derived.columns[feature]
        name, group = to_ascii(self._domain.names[column.source]), self._domain.groups[column.source]
        possible, left = self._possible[node][column.source], self._missing_left(feature, threshold)
        if isinstance(column, LevelsColumn):
            return _list_levels(name, self._levels_of(column.source), possible, possible & self._left(node))
        if getattr(column, "column", None) == group.indicator:
            return f"{name} is not missing", f"{name} is missing"
        if isinstance(column, FilledColumn) and not column.lower < threshold <= column.upper:
            alone = f"{name} is missing", f"{name} is not missing"
            return alone if left else alone[::-1]
        below, above = self._rules[column.source](threshold, decimals)
        if group.indicator is None:
            return below, above
        if group.values == (0.0, 1.0):
            # With an indicator no value is between false and true.
            below, above = f"{name} is false", f"{name} is true"
        known = " or missing" if possible[0] else ""
        return below + known * left, above + known * (not left)

    def _levels_of(self, source: int) -> list[str]:
        """Return the levels of a column in words, the missing one the last."""
        assert self._domain is not None
        column = self._domain.columns[self._domain.names[source]]
        return [*(to_ascii(end.removeprefix("=")) for end in column.suffixes()), "missing"]

    def _left(self, node: int) -> BoolArray:
        """Return which levels a node of levels sends left, a missing cell the last."""
        assert self._partition.derived is not None
        column = self._partition.derived.columns[self._partition.feature[node]]
        assert isinstance(column, LevelsColumn)
        absent = [] if column.indicator is not None else [column.absent < self._partition.threshold[node]]
        return np.array([*self._partition.levels_left(node), *absent])

    def _missing_left(self, feature: int, threshold: float) -> bool:
        """Return whether a missing cell of a number goes left."""
        assert self._partition.derived is not None
        column = self._partition.derived.columns[feature]
        # Of an indicator the place of missing cells is 1, the end of its box.
        return isinstance(column, FilledColumn) and column.place < threshold

    def _find_possible(self) -> list[list[BoolArray]]:
        """Return of every node and declared column which levels, and whether missing cells, get there."""
        assert self._domain is not None
        assert self._partition.derived is not None
        root = []
        for group in self._domain.groups:
            missing = group.indicator is not None or group.absent
            root.append(np.array([True] * group.n_levels + [missing]))
        possible = [root] * len(self._partition.left)
        for node in np.flatnonzero(self._partition.leaf_index < 0).tolist():
            feature = self._partition.feature[node]
            column = self._partition.derived.columns[feature]
            if isinstance(column, LevelsColumn):
                left = self._left(node)
            else:
                left = np.array([self._missing_left(feature, float(self._partition.threshold[node]))])
            for child, side in ((self._partition.left[node], left), (self._partition.left[node] + 1, ~left)):
                possible[child] = possible[node].copy()
                possible[child][column.source] = possible[node][column.source] & side
        return possible


def _list_levels(name: str, levels: list[str], possible: BoolArray, left: BoolArray) -> tuple[str, str]:
    """Return the two rules of a split by levels, of which only the possible ones are listed."""
    sides = [
        [level for level, listed in zip(levels, side, strict=True) if listed]
        for side in (left, possible & ~left)
    ]
    rules = []
    for own, other in (sides, sides[::-1]):
        if own == ["missing"] or other == ["missing"]:
            rules.append(f"{name} is {'not ' * (own != ['missing'])}missing")
        elif len(own) > _LISTED >= len(other):
            rules.append(f"{name} not in {_list(other)}")
        else:
            rules.append(f"{name} in {_list(own)}")
    return rules[0], rules[1]


def _list(levels: list[str]) -> str:
    more = [f"... {len(levels) - _LISTED} more"] if len(levels) > _LISTED else []
    return "{" + ", ".join(levels[:_LISTED] + more) + "}"


def _rule_of_values(domain: TableDomain, name: str) -> Rule:
    column, shown = domain.columns[name], to_ascii(name)
    if isinstance(column, BooleanColumn):
        return partial(_compare_boolean, shown)
    if isinstance(column, DateColumn):
        return partial(_compare_date, shown, column.start)
    return partial(_compare, to_ascii(name + column.suffixes()[0]))


def _compare(name: str, threshold: float, decimals: int) -> tuple[str, str]:
    return f"{name} < {threshold:.{decimals}f}", f"{name} >= {threshold:.{decimals}f}"


def _compare_boolean(name: str, threshold: float, decimals: int) -> tuple[str, str]:
    # A missing value may be 0.5, on the side of either.
    if threshold <= 0.5:
        return f"{name} is false", f"{name} is not false"
    return f"{name} is not true", f"{name} is true"


def _compare_date(name: str, start: int, threshold: float, decimals: int) -> tuple[str, str]:
    day = text_of_instant(start + round(threshold * DAY))
    return f"{name} < {day}", f"{name} >= {day}"
