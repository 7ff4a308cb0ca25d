# SPDX-License-Identifier: BSD-3-Clause
"""Growth of a partition on public rows, by one of three rules: max-edge, cart and random."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._typing import FloatArray, SplitCriterion, SplitRule
from ..domain._groups import ColumnGroup
from ._cart import grow_by_cuts
from ._derived import DerivedColumns
from ._derived_fit import derive_columns, settle_missing
from ._halving import grow_by_halving
from ._max_edge import purest_edges
from ._partition import DEPTH_LIMIT, Partition, check_box
from ._random import random_edges

RULES: tuple[SplitRule, ...] = get_args(SplitRule)
CRITERIA: tuple[SplitCriterion, ...] = get_args(SplitCriterion)


def build_partition(
    X: ArrayLike,
    labels: ArrayLike,
    *,
    lower: ArrayLike,
    upper: ArrayLike,
    max_depth: int,
    n_labels: int = 2,
    rule: SplitRule = "max-edge",
    criterion: SplitCriterion = "gini",
    min_samples_leaf: int = 0,
    seed: int = 0,
    groups: Sequence[ColumnGroup] | None = None,
    copies: int = 1,
) -> Partition:
    """Grow a partition of the box [lower, upper] on public rows, by halving longest edges or as CART does.

    Halving: a cell splits if it holds a public row, is shallower than `max_depth`, and one of its longest
    edges (halved the fewest times; edges of length 0 do not count) leaves `min_samples_leaf` public rows on
    both sides. The split is at the edge's midpoint. Without public rows the rule is "random" and every cell
    splits: the tree is complete.

    CART: a cell splits if it holds public rows of two labels, is shallower than `max_depth`, and a cut leaves
    `min_samples_leaf` public rows, and at least one, on both sides; it need not lower the impurity. The cuts
    of a feature are the midpoints of adjacent distinct public values in the box; where there are more than
    255, those at the 256-quantiles of the public rows.

    With `groups` the rows are those that a `TableDomain` encoded, and columns are derived of them first, by
    the public rows: levels without an order lie at their places, by their labels, so that a split sends a
    subset of them left, and missing cells get a side of numbers. Halving looks at no edge whose halves do not
    both hold a value that the column may have.

    Parameters
    ----------
    X : array-like of float, shape (n, n_features)
        Public rows; 0 rows are allowed. Rows outside the box count where their clipped values lie.
    labels : array-like of int, shape (n,)
        Public labels, 0 to `n_labels - 1`.
    lower, upper : array-like of float, shape (n_features,)
        The public box; finite, lower <= upper.
    max_depth : int
        Largest depth of a leaf, 0 to 30.
    n_labels : int, default=2
        Number of labels.
    rule : {"max-edge", "cart", "random"}, default="max-edge"
        Which split to take. "max-edge", "cart": the longest edge, or the cut, with the least weighted
        impurity of the two sides; the lowest feature, then the lowest cut, among ties. "random": a longest
        edge drawn at random.
    criterion : {"gini", "entropy"}, default="gini"
        Impurity for "max-edge" and "cart". Gini scores are compared exactly; entropies that differ by
        rounding alone are ties.
    min_samples_leaf : int, default=0
        Least number of public rows in a child; 0 allows empty cells, but not to "cart". Of no effect without
        public rows.
    seed : int, default=0
        Public seed of "random", 0 or more. One word is drawn per node, level by level, so the partition of a
        smaller depth is a truncation.
    groups : sequence, default=None
        `TableDomain.groups` of encoded rows; None: every column is a number.
    copies : int, default=1
        How many rows of X stand for one public row, with which `min_samples_leaf` and the places of levels
        reckon.

    Returns
    -------
    Partition
        The partition; building at a smaller `max_depth` gives its truncation.

    References
    ----------
    Ma, Y. and Yang, H. "Optimal Locally Private Nonparametric Classification with Public Data", section 3.

    Breiman, L., Friedman, J., Olshen, R. and Stone, C. "Classification and Regression Trees", 1984.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.1, 0.2], [0.7, 0.3], [0.8, 0.9]])
    >>> partition = build_partition(X, [0, 1, 1], lower=[0, 0], upper=[1, 1], max_depth=2)
    >>> partition
    Partition(n_leaves=4, max_depth=2, n_features=2)
    >>> partition.apply(X)
    array([0, 2, 3], dtype=int32)
    """
    low, high = check_box(lower, upper)
    _check_options(max_depth, n_labels, rule, criterion, min_samples_leaf)
    rows, marks = _check_rows(X, labels, n_labels, len(low))
    limits = (max_depth, n_labels, min_samples_leaf * copies)
    derived: DerivedColumns | None = None
    known: tuple[Any, ...] = ()
    if groups is not None:
        by_cuts = rule == "cart" and len(rows) > 0
        box = derive_columns(
            groups, rows, marks, low, high, n_labels=n_labels, two_sides=by_cuts, copies=copies
        )
        derived, low, high = box.columns, box.lower, box.upper
        known = box.places, box.indicators
        rows = derived.apply(rows)
    # Without rows there is nothing to compare edges by.
    if rule == "random" or len(rows) == 0:
        splits = grow_by_halving(rows, marks, low, high, random_edges(seed), *limits, *known)
    elif rule == "cart":
        splits = grow_by_cuts(rows, marks, low, high, _entropy_terms(criterion, len(rows)), *limits)
        if derived is not None:
            splits = settle_missing(*splits, rows, derived), splits[1]
    else:
        choose = purest_edges(_entropy_terms(criterion, len(rows)))
        splits = grow_by_halving(rows, marks, low, high, choose, *limits, *known)
    return Partition.from_splits(*splits, low, high, derived)


def _entropy_terms(criterion: str, n_rows: int) -> FloatArray | None:
    """Return k log k for k from 0 to `n_rows`, of which entropies are sums; None for the Gini impurity."""
    if criterion == "gini":
        return None
    count = np.arange(n_rows + 1.0)
    return count * np.log(np.maximum(count, 1))


def _check_options(max_depth: int, n_labels: int, rule: str, criterion: str, min_samples_leaf: int) -> None:
    if not 0 <= max_depth <= DEPTH_LIMIT:
        raise ValueError(f"max_depth must lie between 0 and {DEPTH_LIMIT}, got {max_depth}")
    if n_labels < 2 or min_samples_leaf < 0:
        raise ValueError("n_labels must be at least 2 and min_samples_leaf at least 0")
    if rule not in RULES or criterion not in CRITERIA:
        raise ValueError(f"rule must be one of {RULES} and criterion one of {CRITERIA}")


def _check_rows(
    X: ArrayLike, labels: ArrayLike, n_labels: int, n_features: int
) -> tuple[FloatArray, NDArray[np.int32]]:
    rows, marks = np.ascontiguousarray(X, dtype=np.float64), np.asarray(labels)
    if rows.ndim != 2 or rows.shape[1] != n_features:
        raise ValueError(f"X must have shape (n, {n_features}), got {np.shape(X)}")
    if marks.shape != (len(rows),):
        raise ValueError(f"labels must have shape ({len(rows)},), got {marks.shape}")
    if marks.size and (marks.dtype.kind not in "iub" or marks.min() < 0 or marks.max() >= n_labels):
        raise ValueError(f"labels must be integers from 0 to {n_labels - 1}")
    return rows, np.ascontiguousarray(marks, dtype=np.int32)
