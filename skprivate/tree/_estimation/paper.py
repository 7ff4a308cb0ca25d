# SPDX-License-Identifier: BSD-3-Clause
"""Depth and pruning as the paper prints them, for comparison: ``prune="paper"``.

All of it is behind `PaperPruning`, which `pruning_method` returns.
"""

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..._typing import BoolArray, FloatArray, IntArray
from .._tree_design import TreeDesign
from .depth import DEEPEST, DepthInputs
from .leaf_counts import LeafCounts
from .probabilities import ClassShares, estimate_shares_of_classes
from .pruning import leaf_ancestors


class PaperPruning:
    """The paper's depth, and its pruning on top of it; see `PruningMethod`."""

    several_classes = False
    has_own_depth = True

    def check_classes(self, n_labels: int) -> None:
        """Refuse more than two classes: the method is not defined there."""
        if n_labels > 2:
            raise ValueError('Only binary classification is supported by prune="paper".')

    def choose_depth(self, inputs: DepthInputs) -> int:
        """Return the depth that the paper prunes from, at most 12."""
        n_features, epsilon = inputs.partition.n_sources, float(inputs.epsilon)
        return min(paper_depth(inputs.n_rows, inputs.n_public, n_features, epsilon), DEEPEST)

    def estimate(
        self, design: TreeDesign, counts: LeafCounts, weight: FloatArray, given_weight: float | None
    ) -> tuple[ClassShares, IntArray]:
        """Return the probabilities of the leaves, and the depths they come from; no weight enters."""
        ancestors, epsilon = leaf_ancestors(design.partition), float(design.randomizer.epsilon)
        printed, depth = paper_prune(ancestors, counts, design.partition.n_sources, epsilon)
        plain = estimate_shares_of_classes(counts, weight, ancestors)
        # The printed shares are often 0 or 1, which nobody can know; the order of the classes stays.
        least = 1.0 / (counts.n_rows + counts.n_public + 2.0)
        return replace(plain, probabilities=least + (1.0 - 2.0 * least) * printed), depth


def paper_depth(n_private: int, n_public: int, n_features: int, epsilon: float) -> int:
    """Return the depth p0 that the paper prunes from.

    ``floor(d / (2 + 2 d) log2(n_P epsilon^2 + n_Q^((2 + 2 d) / d)))``, at least 1.

    Parameters
    ----------
    n_private, n_public : int
        Numbers of rows.
    n_features : int
        Number of features d.
    epsilon : float
        Privacy loss of a report.

    Returns
    -------
    depth : int
    """
    exponent = n_features / (2 + 2 * n_features)
    information = n_private * epsilon**2 + n_public ** (1 / exponent)
    return max(1, math.floor(exponent * math.log2(information))) if information > 1 else 1


def paper_prune(
    ancestors: NDArray[np.int32], counts: LeafCounts, n_features: int, epsilon: float
) -> tuple[FloatArray, IntArray]:
    """Return the class probabilities of every leaf by Algorithm 2 of the paper as printed, and the depths.

    Its thresholds are made for noise that a report does not have: predictions are near chance at times.

    Parameters
    ----------
    ancestors : ndarray of int32 of shape (max_depth + 1, n_leaves)
        From `leaf_ancestors`.
    counts : LeafCounts
        Of the leaves, with two labels. Their private rows are counted by the unbiased estimates, which may be
        negative, where there are some.
    n_features : int
        Number of features.
    epsilon : float
        Privacy loss of a report.

    Returns
    -------
    probabilities : ndarray of shape (n_leaves, 2)
    depth : ndarray of int of shape (n_leaves,)
        Depth of the node whose estimate the leaf takes, at least 1 in a tree that has splits.

    References
    ----------
    Ma, Y. and Yang, H. "Optimal Locally Private Nonparametric Classification with Public Data", algorithm 2
    and appendix A.2.
    """
    deepest = len(ancestors) - 1
    exponent = n_features / (2 + 2 * n_features)
    limit = math.floor(exponent * math.log2(counts.n_rows * epsilon**2)) if counts.n_rows else 0
    logarithm = math.log(max(counts.n_rows + counts.n_public, 2))
    second, chosen = np.full(counts.n_leaves, 0.5), np.full(counts.n_leaves, -1)
    for depth in range(deepest, min(1, deepest) - 1, -1):
        node = ancestors[depth]
        noise = 2 ** (deepest - depth + 3) * counts.n_rows / epsilon**2
        share, strength, stops = _estimate_nodes(counts.aggregate(node), noise, logarithm)
        stops = (strength >= 1) | (stops & (depth <= limit))
        open_leaves = chosen < 0
        second = np.where(open_leaves, share[node], second)
        chosen = np.where(open_leaves & stops[node], depth, chosen)
    second = np.clip(second, 0.0, 1.0)
    return np.column_stack([1.0 - second, second]), np.where(chosen < 0, min(1, deepest), chosen)


def _estimate_nodes(
    nodes: LeafCounts, noise: float, logarithm: float
) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Estimate, strength and whether the private one was taken, where noise outweighs the rows, per node."""
    signed = nodes.label_estimates[:, 1] - nodes.label_estimates[:, 0]
    rows = nodes.cell_sizes if nodes.cell_estimates is None else nodes.cell_estimates
    public, per_node = nodes.public_counts, nodes.public_rows
    # Distances of the two estimates from 1/2; strengths are distance / r with the printed r.
    mine = np.divide(signed, 2 * rows, out=np.zeros(len(rows)), where=rows != 0)
    theirs = (public[:, 1] - public[:, 0]) / (2 * np.maximum(per_node, 1))
    public_strength = np.abs(theirs) * np.sqrt(per_node / (4 * logarithm))
    noisy = noise >= rows
    mass = np.where(noisy, rows**2 / (4 * noise), np.maximum(rows, 0) / 32)
    private_strength = np.abs(mine) * np.sqrt(mass / logarithm)
    own = public_strength <= private_strength
    share, strength = np.where(own, mine, theirs), np.where(own, private_strength, public_strength)
    # Appendix A.2: the weight 8 theirs / mine makes the strength largest where both are on one side of 1/2.
    agree = ~noisy & (mine * theirs > 0)
    weight = np.divide(8 * theirs, mine, out=np.zeros(len(rows)), where=agree)
    total = np.where(agree, rows + weight * per_node, 1.0)
    joint = (rows * mine + weight * per_node * theirs) / total
    share = np.where(agree, joint, share)
    strength = np.where(agree, np.hypot(private_strength, public_strength), strength)
    return 0.5 + share, strength, own & noisy
