# SPDX-License-Identifier: BSD-3-Clause
"""Splits of a tree in words: names of the columns, thresholds, levels and dates of a declared domain."""

from collections.abc import Callable, Sequence
from functools import partial

from ...domain import BooleanColumn, CategoricalColumn, DateColumn, TableDomain
from ...domain._values import DAY, text_of_instant

#: The rules of the rows that go left and of those that go right, given the threshold and its decimals.
Rule = Callable[[float, int], tuple[str, str]]


def to_ascii(text: object) -> str:
    """Return text on one line in ASCII; other characters are escaped."""
    return str(text).encode("unicode_escape").decode("ascii")


def split_rules(
    n_features: int, names: Sequence[object] | None = None, domain: TableDomain | None = None
) -> list[Rule]:
    """Return the rule of every feature of a tree.

    Parameters
    ----------
    n_features : int
        Of the tree: encoded columns where there is a domain.
    names : sequence of length n_features, default=None
        Names of the features; None: "feature_0" and so on.
    domain : TableDomain, default=None
        The domain; its levels, booleans, indicators and dates are put in words.

    Returns
    -------
    rules : list of callable
    """
    if domain is not None:
        return [rule for name in domain.names for rule in _rules_of_column(domain, name)]
    known = [f"feature_{number}" for number in range(n_features)] if names is None else names
    return [partial(_compare, to_ascii(name)) for name in known]


def _rules_of_column(domain: TableDomain, name: str) -> list[Rule]:
    column, shown = domain.columns[name], to_ascii(name)
    rules: list[Rule]
    if isinstance(column, CategoricalColumn) and not column.ordered:
        rules = [partial(_indicate, shown, to_ascii(end.removeprefix("="))) for end in column.suffixes()]
    elif isinstance(column, BooleanColumn):
        rules = [partial(_compare_boolean, shown)]
    elif isinstance(column, DateColumn):
        rules = [partial(_compare_date, shown, column.start)]
    else:
        rules = [partial(_compare, shown)]
    if column.missing == "indicator":
        rules.append(partial(_indicate, shown, "missing"))
    return rules


def _compare(name: str, threshold: float, decimals: int) -> tuple[str, str]:
    return f"{name} < {threshold:.{decimals}f}", f"{name} >= {threshold:.{decimals}f}"


def _indicate(name: str, level: str, threshold: float, decimals: int) -> tuple[str, str]:
    # The column is 1 where the row has the level, and 0 elsewhere; thresholds lie in (0, 1].
    return f"{name} is not {level}", f"{name} is {level}"


def _compare_boolean(name: str, threshold: float, decimals: int) -> tuple[str, str]:
    # A missing value may be 0.5, on the side of either.
    if threshold <= 0.5:
        return f"{name} is false", f"{name} is not false"
    return f"{name} is not true", f"{name} is true"


def _compare_date(name: str, start: int, threshold: float, decimals: int) -> tuple[str, str]:
    day = text_of_instant(start + round(threshold * DAY))
    return f"{name} < {day}", f"{name} >= {day}"
