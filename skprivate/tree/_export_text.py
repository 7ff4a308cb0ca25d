# SPDX-License-Identifier: BSD-3-Clause
"""Text of a fitted tree: its splits as indented rules, and what was estimated in its leaves."""

from collections.abc import Iterator, Sequence
from typing import Any

from sklearn.utils.validation import check_is_fitted

from ..utils import check_int
from ._estimator import PrivateTree
from ._reading import SplitRules, round_to_noise


def export_text(
    tree: PrivateTree,
    *,
    feature_names: Sequence[object] | None = None,
    max_depth: int = 10,
    spacing: int = 3,
    decimals: int = 2,
) -> str:
    """Return the rules of a fitted private tree as text.

    The manner is that of `sklearn.tree.export_text`. Rows whose value lies below the threshold go left, which
    comes first, and the others right.

    Parameters
    ----------
    tree : DPTreeClassifier or LocallyPrivateTreeClassifier
        A fitted tree, also one that a `skprivate.collection.TreeCurator` released.
    feature_names : sequence of str, one for every column, default=None
        Names of the columns. None: those of the fit, else "feature_0" and so on. A tree with a domain has the
        names of its domain.
    max_depth : int, default=10
        Depth of the rules that are shown, 0 or more; what lies deeper is only mentioned.
    spacing : int, default=3
        Width of a step of the indentation, 1 or more.
    decimals : int, default=2
        Decimals of thresholds, probabilities and their errors, 0 or more.

    Returns
    -------
    text : str
        ASCII; other characters of names and classes are escaped. The same for the same tree. A leaf shows its
        most probable class and the probability of that class, or of numbers the mean in the unit of y, plus
        or minus one standard deviation of its noise and sampling, and the estimated number of private rows,
        rounded to the last digit above its noise.

    Raises
    ------
    TypeError
        Another kind of estimator.
    NotFittedError
        The tree is not fitted.
    ValueError
        Names of another number of columns, names beside a domain, or a number out of range.

    See Also
    --------
    skprivate.inspection.PrivateTreeDisplay : The same as a picture.

    Notes
    -----
    **Privacy.** A function of what was released and of what is public: it costs nothing.

    Columns of a declared domain are put in words: "job in {clerk, smith}" for levels, of which only those are
    listed that can get to the node, and at most six; "age < 40.00 or missing" where missing cells go the same
    way; and "since < 2010-05-03" for a date. "married is not false" says that a missing value, which counts
    as 0.5, goes there as well. Levels with an order are their positions from 0.

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
    |   |--- class: no, 0.75 +- 0.01, about 10000 private rows
    |--- age >= 0.50
    |   |--- class: yes, 0.75 +- 0.01, about 9950 private rows
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
    leaves = [_describe_leaf(tree, leaf, decimals) for leaf in range(tree.partition_.n_leaves)]
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
    partition: Any, rules: SplitRules, leaves: list[str], max_depth: int, decimals: int
) -> Iterator[tuple[int, str]]:
    """Yield the depth and the text of every line; a stack, because a tree may be deep."""
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


def _describe_leaf(tree: PrivateTree, leaf: int, decimals: int) -> str:
    size, error = float(tree.leaf_sizes_[leaf]), float(tree._share_errors[leaf])
    estimate = tree._describe_estimate(leaf, decimals)
    return f"{estimate}, about {round_to_noise(size, error)} private rows"
