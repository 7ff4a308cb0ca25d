# SPDX-License-Identifier: BSD-3-Clause
"""Choice of the depth of a tree: the largest whose leaves a release suffices to estimate."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ..._typing import IntArray
from ...partition import Partition

#: Deepest tree that the automatic rule considers.
DEEPEST = 12
#: Rows over the variance of one row's report about a half of them, below which there is no split where public
#: rows say nothing either: the standard deviation of a share in each half is above .2 then.
LEAST_INFORMATION = 24
# Average number of private rows in a leaf below which labels are too few, whatever the noise; compared with 8
# in benchmarks/figures/trees/depth_and_weight.py.
_LEAST_ROWS = 16


@dataclass(frozen=True)
class DepthInputs:
    """What the depth of a tree is chosen from; all of it is public.

    Attributes
    ----------
    partition : Partition
        At the greatest depth that is considered.
    rule : str
        The rule that it was grown by.
    n_rows, n_public : int
        Numbers of private and of public rows.
    epsilon : Fraction
        Privacy loss of the release.
    variance : callable
        Variance of one row's report about a leaf, as a function of the number of leaves.
    """

    partition: Partition
    rule: str
    n_rows: int
    n_public: int
    epsilon: Fraction
    variance: Callable[[int], float]


def deepest_to_grow(n_rows: int) -> int:
    """Return the deepest complete tree, of 2^p leaves at depth p, whose depth `choose_depth` can choose.

    Parameters
    ----------
    n_rows : int
        Number of private rows.

    Returns
    -------
    depth : int
        From 1 to 12.
    """
    return min(max((n_rows // _LEAST_ROWS).bit_length() - 1, 1), DEEPEST)


def choose_depth(
    n_rows: int, leaf_counts: IntArray, variance: Callable[[int], float], n_features: int | IntArray = 2
) -> int:
    """Return the largest depth p in 1..12 whose leaves n rows suffice to estimate.

    The largest p with ``p <= round(log2(2 n / (d v(p))) / 3)``, where v(p) is the variance of one row's
    report about a leaf of the depth-p partition, and with at least 16 rows a leaf on average; 1 if there is
    none. The second condition counts only where v vanishes, as for a trusted curator, and sampling alone
    limits. A single split sees no interaction, so a plain number of features does not count up to depth 2.

    Parameters
    ----------
    n_rows : int
        Number of private rows.
    leaf_counts : ndarray of int of shape (max_depth + 1,)
        Number of leaves of the partition at every depth.
    variance : callable
        v as a function of the number of leaves.
    n_features : int or ndarray of int of shape (max_depth + 1,), default=2
        Number of features d: all columns, or those that the partition has split down to every depth. Below
        2 it counts as 2.

    Returns
    -------
    depth : int
    """
    deepest = min(DEEPEST, len(leaf_counts) - 1)
    depths = np.arange(len(leaf_counts))
    divided = np.where(depths > 2, n_features, 2) if np.ndim(n_features) == 0 else np.asarray(n_features)
    features = np.log2(np.maximum(divided, 2) / 2)
    for depth in range(deepest, 1, -1):
        if _LEAST_ROWS * leaf_counts[depth] > n_rows:
            continue
        signal = math.log2(n_rows / variance(int(leaf_counts[depth]))) - features[depth]
        if depth <= math.floor(signal / 3 + 0.5):
            return depth
    return min(1, deepest)


def count_split_features(partition: Partition, rule: str) -> int | IntArray:
    """Return the number of features among which the leaves are divided, for `choose_depth`.

    "cart" and "private" do not split what does not matter: those features count that it has split down to
    every depth. The other rules take all columns in turn.
    """
    if rule in ("cart", "private"):
        return partition.feature_counts_by_depth()
    return len(set(partition.source[partition.lower < partition.upper].tolist()))
