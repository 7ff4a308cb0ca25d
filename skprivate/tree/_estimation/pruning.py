# SPDX-License-Identifier: BSD-3-Clause
"""Pruning: every leaf takes the estimate of itself or of an ancestor, from the same release.

Everything here is a function of released or public quantities: pruning costs no privacy.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..._typing import FloatArray, IntArray
from ...partition import Partition
from ...utils._posteriors.base_rate import BaseRate
from .depth import choose_depth
from .leaf_counts import LeafCounts
from .probabilities import ClassShares, estimate_shares_of_classes
from .weight import LEAST_DRIFT, choose_weight, estimate_public_drift, measure_drift

# These thresholds are evaluated in benchmarks/figures/trees/depth_and_weight.py.
# Margin, in standard errors, at which a leaf takes the estimate of a node no deeper than the noise supports.
# Low, since an ancestor mixes leaves of different majorities; lower with several labels, which it mixes more.
_SUPPORTED_MARGIN = {"two labels": 0.2, "more": 0.05}
# Below that depth: a clear margin, or so much more than that of the node chosen so far. Of two labels noise
# alone makes one lead by .8 errors; the first of several leads the second by less.
_DEEPER_MARGIN = 2.0
_CLEARLY_MORE = {"two labels": 0.5, "more": 0.0}
# Standard errors of the drift of public labels that show them to be wrong.
_CONTRADICTION = 2.0


def leaf_ancestors(partition: Partition) -> NDArray[np.int32]:
    """Return the number of every leaf's ancestor at every depth.

    Parameters
    ----------
    partition : Partition
        The tree.

    Returns
    -------
    ancestors : ndarray of int32 of shape (max_depth + 1, n_leaves)
        Row k holds leaf numbers of ``partition.truncate(k)``; a leaf shallower than k is its own ancestor.
    """
    inner = np.flatnonzero(partition.leaf_index < 0)
    parent = np.arange(len(partition.left))
    parent[partition.left[inner]] = inner
    parent[partition.left[inner] + 1] = inner
    node = np.flatnonzero(partition.leaf_index >= 0)
    ancestors = np.empty((partition.max_depth + 1, len(node)), dtype=np.int32)
    for depth in range(partition.max_depth, -1, -1):
        node = np.where(partition.depth[node] > depth, parent[node], node)
        ancestors[depth] = np.unique(node, return_inverse=True)[1]
    return ancestors


def prune_leaves(
    ancestors: NDArray[np.int32],
    counts: LeafCounts,
    *,
    weight: float | None = None,
    n_features: int | IntArray = 2,
) -> tuple[ClassShares, IntArray]:
    """Return the class probabilities of every leaf after pruning, and the depth they come from.

    Up from the depth that the noise supports, a leaf takes the estimate of the first node whose leading class
    leads the second by enough standard errors, or else of the one with the largest margin; below that depth
    it takes that of a node with a clear margin, or with a clearly larger one than the node found so far. The
    variance of a node's estimates is that of all its leaves, and of a public row's, with the drift of public
    labels at that depth.

    Parameters
    ----------
    ancestors : ndarray of int32 of shape (max_depth + 1, n_leaves)
        From `leaf_ancestors`.
    counts : LeafCounts
        Of the leaves.
    weight : float, default=None
        Weight of a public row at every depth; None: the automatic weight of every depth.
    n_features : int or ndarray of int of shape (max_depth + 1,), default=2
        Number of features among which the leaves are divided, at every depth.

    Returns
    -------
    shares : ClassShares
        Each node's are drawn to the base rate, not to those of its ancestors, which it was preferred to.
    depth : ndarray of int of shape (n_leaves,)
        Depth of the node whose estimate the leaf takes; the largest at which the leaf is undivided where it
        takes its own.
    """
    supported = _supported_depth(ancestors, counts, n_features)
    chosen, best = np.full(counts.n_leaves, -1), np.full(counts.n_leaves, -1.0)
    probabilities, errors = np.empty(counts.label_estimates.shape), np.empty(counts.n_leaves)
    rates: list[BaseRate] = []

    def assign_leaves(depths: range, least: float | FloatArray) -> None:
        """Assign to each leaf the first node on the way up with enough margin, or that with the largest."""
        open_leaves = np.ones(counts.n_leaves, dtype=bool)
        for depth in depths:
            node, nodes = ancestors[depth], counts.aggregate(ancestors[depth])
            weights = choose_weight(nodes) if weight is None else np.full(nodes.n_leaves, float(weight))
            margin = _standardised_margins(nodes, weights)[node]
            enough = open_leaves & (margin >= least)
            taken = enough | (open_leaves & (margin > best)) if depth <= supported else enough
            chosen[taken], best[taken] = depth, margin[taken]
            drift = estimate_public_drift(nodes) if weight is None else 0.0
            shares = estimate_shares_of_classes(nodes, weights, _root_and_leaves(nodes.n_leaves), drift)
            probabilities[taken], errors[taken] = (
                shares.probabilities[node[taken]],
                shares.errors[node[taken]],
            )
            rates.append(shares.base)
            open_leaves &= ~enough

    case = "two labels" if counts.n_labels == 2 else "more"
    assign_leaves(range(supported, -1, -1), _SUPPORTED_MARGIN[case])
    assign_leaves(
        range(len(ancestors) - 1, supported, -1), np.minimum(_DEEPER_MARGIN, best + _CLEARLY_MORE[case])
    )
    return ClassShares(probabilities, errors, rates[0]), chosen


def _root_and_leaves(n_leaves: int) -> NDArray[np.int32]:
    """Return the ancestors of leaves that have none but the root."""
    return np.stack([np.zeros(n_leaves, dtype=np.int32), np.arange(n_leaves, dtype=np.int32)])


def _supported_depth(ancestors: NDArray[np.int32], counts: LeafCounts, n_features: int | IntArray) -> int:
    """The depth that the release supports, or public rows, unless the release shows these to be wrong."""
    n_nodes = ancestors.max(axis=1).astype(np.int64) + 1
    total = float(counts.variance.sum())
    # A node has the noise of all its leaves.
    supported = choose_depth(counts.n_rows, n_nodes, lambda count: total / count, n_features)
    if _public_labels_contradicted(ancestors[supported], counts):
        return supported
    return max(supported, choose_depth(counts.n_public, n_nodes, lambda count: 1 / count, n_features))


def _public_labels_contradicted(node: NDArray[np.int32], counts: LeafCounts) -> bool:
    """Whether the release shows that public labels are wrong, by leaves or by nodes, which are less noisy."""
    if counts.n_public == 0:
        return True
    leaves = replace(counts, cell_estimates=None)
    found = [measure_drift(table) for table in (leaves, leaves.aggregate(node)) if table.n_rows]
    return any(drift - _CONTRADICTION * error > LEAST_DRIFT for drift, error in found)


def _standardised_margins(nodes: LeafCounts, weight: FloatArray) -> FloatArray:
    """Margin of the first over the second class in every node, in standard errors."""
    drift = estimate_public_drift(nodes)
    ordered = np.sort(nodes.label_estimates + weight[:, np.newaxis] * nodes.public_counts, axis=1)
    # A row adds at most 1 to the variance of the difference of two classes.
    private_part = nodes.n_rows * nodes.variance + nodes.cell_sizes
    variances = private_part + weight**2 * (nodes.public_rows + drift * nodes.public_rows**2)
    margins: FloatArray = (ordered[:, -1] - ordered[:, -2]) / np.sqrt(np.maximum(variances, 1e-300))
    return margins
