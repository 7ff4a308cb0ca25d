# SPDX-License-Identifier: BSD-3-Clause
"""Text of a fitted tree: its splits as rules in words, and the estimates of its leaves."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._typing import BoolArray
from ..domain import BooleanColumn, DateColumn, TableDomain
from ..domain._text_values import DAY, text_of_instant
from ..partition import Partition
from ..partition._partition import FilledColumn, LevelsColumn
from ..utils import check_int
from ._estimator import PrivateTree
from ._nodes import round_to_noise

# Number of levels that are listed; in a longer list the others are only counted.
_LISTED = 6

#: The rules of the rows that go left and of those that go right, given the threshold and its decimals.
Rule = Callable[[float, int], tuple[str, str]]


def export_text(
    tree: PrivateTree,
    *,
    feature_names: Sequence[object] | None = None,
    max_depth: int = 10,
    spacing: int = 3,
    decimals: int = 2,
) -> str:
    """Return the rules of a fitted private tree as text.

    The format is that of `sklearn.tree.export_text`. Rows with a value below the threshold go left, the
    others right. The left branch comes first.

    Parameters
    ----------
    tree : DPTreeClassifier or LocallyPrivateTreeClassifier
        A fitted tree. It may come from `skprivate.collection.TreeCurator`.
    feature_names : sequence of str, one for every column, default=None
        Names of the columns. None: those of the fit, or else "feature_0" and so on. A tree with a domain uses
        the names of its domain.
    max_depth : int, default=10
        Depth of the rules that are shown, 0 or more. Deeper branches are only mentioned.
    spacing : int, default=3
        Width of a step of the indentation, 1 or more.
    decimals : int, default=2
        Decimals of thresholds, probabilities and their errors, 0 or more.

    Returns
    -------
    text : str
        ASCII; other characters of names and classes are escaped. The text is the same for the same tree. A
        leaf shows its most probable class and the probability of that class, or for numbers the mean in the
        unit of y. Then follow plus or minus one standard deviation due to noise and sampling, and the
        estimated number of private rows, rounded to the last digit above its noise.

    Raises
    ------
    TypeError
        `tree` is another kind of estimator.
    NotFittedError
        The tree is not fitted.
    ValueError
        The number of names is not that of the columns, names were passed for a tree with a domain, or a
        number is out of range.

    See Also
    --------
    skprivate.inspection.PrivateTreeDisplay : The same as a picture.

    Notes
    -----
    **Privacy.** A function of released and public values: it costs nothing.

    Columns of a declared domain are shown in words. For levels the text is "job in {clerk, smith}": at most
    six levels, and only those that can reach the node. "age < 40.00 or missing" means that missing cells go
    the same way. "since < 2010-05-03" is a date. "married is not false" means that a missing value, which
    counts as 0.5, goes there too. Levels with an order are shown as positions from 0.

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate import DPTreeClassifier
    >>> from skprivate.tree import export_text
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(20000, 2))
    >>> y = np.where(X[:, 0] > rng.uniform(size=20000), "yes", "no")
    >>> tree = DPTreeClassifier(bounds=(0, 1), max_depth=1, split_share=0, random_state=0)
    >>> tree = tree.fit(X, y, is_public=rng.permutation(20000) < 50)
    >>> print(export_text(tree, feature_names=["age", "income"]), end="")
    |--- age < 0.50
    |   |--- class: no, 0.75 +- 0.01, about 10010 private rows
    |--- age >= 0.50
    |   |--- class: yes, 0.76 +- 0.01, about 9940 private rows
    """
    if not isinstance(tree, PrivateTree):
        raise TypeError(
            "tree must be a DPTreeClassifier, a DPTreeRegressor, or a locally private tree of either kind, "
            f"not {type(tree).__name__}."
        )
    check_is_fitted(tree)
    max_depth = check_int(max_depth, "max_depth", least=0)
    spacing = check_int(spacing, "spacing", least=1)
    decimals = check_int(decimals, "decimals", least=0)
    rules = SplitRules(tree.partition_, _names_of(tree, feature_names), getattr(tree, "domain_", None))
    sizes = map(round_to_noise, tree.leaf_sizes_.tolist(), tree._share_errors.tolist())
    leaves = [
        f"{tree._describe_estimate(leaf, decimals)}, about {size} private rows"
        for leaf, size in enumerate(sizes)
    ]
    lines = _lines(tree.partition_, rules, leaves, max_depth, decimals)
    indent, bar = "|" + " " * spacing, "|" + "-" * spacing
    return "".join(f"{indent * depth}{bar} {line}\n" for depth, line in lines)


def _names_of(tree: PrivateTree, feature_names: Sequence[object] | None) -> Sequence[object] | None:
    if feature_names is None:
        return getattr(tree, "feature_names_in_", None)
    if getattr(tree, "domain_", None) is not None:
        raise ValueError("feature_names must be None: the domain of the tree names its columns.")
    if len(feature_names) != tree.n_features_in_:
        raise ValueError(f"feature_names must hold {tree.n_features_in_} names, got {len(feature_names)}.")
    return feature_names


def _lines(
    partition: Any, rules: "SplitRules", leaves: list[str], max_depth: int, decimals: int
) -> Iterator[tuple[int, str]]:
    """Yield the depth and the text of every line; with a stack, because a tree may be deep."""
    heights = _heights(partition)
    waiting: list[tuple[int, str | None]] = [(0, None)]
    while waiting:
        node, rule = waiting.pop()
        depth = int(partition.depth[node])
        if rule is not None:
            yield depth - 1, rule
        if partition.leaf_index[node] >= 0:
            yield depth, leaves[partition.leaf_index[node]]
        elif depth >= max_depth:
            yield depth, f"truncated branch of depth {heights[node]}"
        else:
            left = int(partition.left[node])
            below, above = rules.sides(node, decimals)
            waiting += [(left + 1, above), (left, below)]


def _heights(partition: Any) -> list[int]:
    """Return the number of edges from every node to its deepest leaf."""
    heights = [0] * len(partition.left)
    for node in range(len(heights) - 1, -1, -1):
        if partition.leaf_index[node] < 0:
            left = int(partition.left[node])
            heights[node] = 1 + max(heights[left], heights[left + 1])
    return heights


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
        The domain; its levels, booleans, missing cells and dates are shown in words.
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
        possible, goes_left = self._possible[node][column.source], self._goes_left(node)
        if isinstance(column, LevelsColumn):
            ends = self._domain.columns[self._domain.names[column.source]].suffixes()
            levels = [*(to_ascii(end.removeprefix("=")) for end in ends), "missing"]
            return _list_levels(name, levels, possible, possible & goes_left)
        left = bool(goes_left[0])
        if getattr(column, "column", None) == group.indicator:
            return f"{name} is not missing", f"{name} is missing"
        if isinstance(column, FilledColumn) and not column.lower < threshold <= column.upper:
            alone = f"{name} is missing", f"{name} is not missing"
            return alone if left else alone[::-1]
        below, above = self._rules[column.source](threshold, decimals)
        if group.indicator is None:
            return below, above
        if group.values == (0.0, 1.0):
            # With an indicator there is no value between false and true.
            below, above = f"{name} is false", f"{name} is true"
        known = " or missing" if possible[0] else ""
        return below + known * left, above + known * (not left)

    def _goes_left(self, node: int) -> BoolArray:
        """Return which levels a node sends left, a missing cell last; for numbers only a missing cell."""
        derived, threshold = self._partition.derived, float(self._partition.threshold[node])
        assert derived is not None
        column = derived.columns[self._partition.feature[node]]
        if isinstance(column, LevelsColumn):
            absent = [] if column.indicator is not None else [column.absent < threshold]
            return np.array([*self._partition.levels_left(node), *absent])
        # For an indicator, the place of missing cells is 1, the end of its box.
        return np.array([isinstance(column, FilledColumn) and column.place < threshold])

    def _find_possible(self) -> list[list[BoolArray]]:
        """Return the levels that reach every node in every declared column, with missing cells last."""
        assert self._domain is not None
        root = []
        for group in self._domain.groups:
            missing = group.indicator is not None or group.absent
            root.append(np.array([True] * group.n_levels + [missing]))
        possible = [root] * len(self._partition.left)
        for node in np.flatnonzero(self._partition.leaf_index < 0).tolist():
            source = self._partition.source[self._partition.feature[node]]
            left, child = self._goes_left(node), self._partition.left[node]
            for number, side in ((child, left), (child + 1, ~left)):
                possible[number] = possible[node].copy()
                possible[number][source] = possible[node][source] & side
        return possible


def _list_levels(name: str, levels: list[str], possible: BoolArray, left: BoolArray) -> tuple[str, str]:
    """Return the two rules of a split by levels; only possible levels are listed."""
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
    # A missing value may be 0.5, on either side.
    if threshold <= 0.5:
        return f"{name} is false", f"{name} is not false"
    return f"{name} is not true", f"{name} is true"


def _compare_date(name: str, start: int, threshold: float, decimals: int) -> tuple[str, str]:
    day = text_of_instant(start + round(threshold * DAY))
    return f"{name} < {day}", f"{name} >= {day}"
