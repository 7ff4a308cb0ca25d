# SPDX-License-Identifier: BSD-3-Clause
"""Pruning: every leaf is judged by itself or by one of its ancestors, from the same release.

Everything here is a function of released or public quantities: pruning costs no privacy.
"""

import math

import numpy as np
from numpy.typing import NDArray

from ...partition._partition import Partition
from .depth import (
    LEAST_DRIFT,
    Counts,
    choose_depth,
    choose_weight,
    estimate_drift,
    estimate_slope,
    leaf_probabilities,
)

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

# Standard errors of the lead at which a leaf is judged by a node no deeper than the noise supports. Low,
# since an ancestor mixes leaves of different majorities; lower with several labels, which it mixes more.
_SUPPORTED_LEAD = {"two labels": 0.2, "more": 0.05}
# Below that depth: a clear lead, or so much more than the node that judges so far. Of two labels noise alone
# makes one lead by .8 errors; the first of several leads the second by less.
_DEEPER_LEAD = 2.0
_CLEARLY_MORE = {"two labels": 0.5, "more": 0.0}
# Below it public labels say nothing, and have no weight either.
_LEAST_SLOPE = 1e-3
# Standard errors of the drift of public labels that show them to be wrong.
_SHOWN = 2.0


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
    votes: FloatArray,
    n_reports: int,
    public_counts: Counts,
    variance: float | FloatArray,
    cells: FloatArray,
    *,
    weight: float | None = None,
    cell_estimates: FloatArray | None = None,
    n_features: int | IntArray = 2,
) -> tuple[FloatArray, IntArray]:
    """Return the class probabilities of every leaf after pruning, and the depth they come from.

    Up from the depth that the noise supports, the first node whose leading class leads the second by enough
    standard errors judges, or else the one that leads most; below that depth a node judges that leads
    clearly, or by more than the one found so far. The variance of a node's votes is that of all its leaves,
    and of a public row's, with the drift of public labels at that depth.

    Parameters
    ----------
    ancestors : ndarray of int32 of shape (max_depth + 1, n_leaves)
        From `leaf_ancestors`.
    votes, n_reports, public_counts, variance
        As in `choose_weight`, for the leaves.
    cells : ndarray of shape (n_leaves,)
        Estimated, positive, numbers of private rows.
    weight : float, default=None
        Weight of a public row at every depth; None: the automatic weight of every depth.
    cell_estimates : ndarray of shape (n_leaves,), default=None
        The unbiased estimates of `cells`, where the release tells them, for the automatic weight.
    n_features : int or ndarray of int of shape (max_depth + 1,), default=2
        Number of features among which the leaves are divided, at every depth.

    Returns
    -------
    probabilities : ndarray of shape (n_leaves, n_labels)
    depth : ndarray of int of shape (n_leaves,)
        Depth of the node that judges the leaf; the largest at which the leaf is undivided where it judges
        itself.
    """
    n_leaves = len(votes)
    leaf_counts = ancestors.max(axis=1).astype(np.int64) + 1
    each = np.broadcast_to(np.asarray(variance, dtype=np.float64), n_leaves)
    supported = _supported_depth(ancestors, leaf_counts, votes, n_reports, public_counts, each, n_features)
    chosen, best = np.full(n_leaves, -1), np.full(n_leaves, -1.0)
    probabilities = np.empty(votes.shape)

    def assign_leaves(depths: range, least: float | FloatArray) -> None:
        """Assign to each leaf the first node on the way up that leads enough, or the one that leads most."""
        open_leaves = np.ones(n_leaves, dtype=bool)
        for depth in depths:
            node = ancestors[depth]
            told = None if cell_estimates is None else _add(node, cell_estimates)
            sums = _add(node, votes), n_reports, _add(node, public_counts), _add(node, each), told
            weights = choose_weight(*sums) if weight is None else np.full(leaf_counts[depth], float(weight))
            rows = _add(node, cells)
            lead = _lead(*sums, rows, weights)[node]
            enough = open_leaves & (lead >= least)
            taken = enough | (open_leaves & (lead > best)) if depth <= supported else enough
            chosen[taken], best[taken] = depth, lead[taken]
            probabilities[taken] = leaf_probabilities(sums[0], rows, sums[2], weights)[node[taken]]
            open_leaves &= ~enough

    case = "two labels" if votes.shape[1] == 2 else "more"
    assign_leaves(range(supported, -1, -1), _SUPPORTED_LEAD[case])
    assign_leaves(
        range(len(ancestors) - 1, supported, -1), np.minimum(_DEEPER_LEAD, best + _CLEARLY_MORE[case])
    )
    return probabilities, chosen


def _supported_depth(
    ancestors: NDArray[np.int32],
    leaf_counts: IntArray,
    votes: FloatArray,
    n_reports: int,
    public_counts: Counts,
    variance: FloatArray,
    n_features: int | IntArray,
) -> int:
    """The depth that the reports support, or public rows, unless the reports show these to be wrong."""
    total = float(variance.sum())
    # A node has the noise of all its leaves.
    supported = choose_depth(n_reports, leaf_counts, lambda count: total / count, n_features)
    if _public_labels_contradicted(ancestors[supported], votes, n_reports, public_counts, variance):
        return supported
    n_public = int(public_counts.sum())
    return max(supported, choose_depth(n_public, leaf_counts, lambda count: 1 / count, n_features))


def _add(node: NDArray[np.int32], values: Counts) -> FloatArray:
    """Sums over the leaves of every node; one column per label where there are several."""
    if values.ndim == 1:
        return np.bincount(node, values).astype(np.float64)
    return np.column_stack([np.bincount(node, column) for column in values.T])


def _public_labels_contradicted(
    node: NDArray[np.int32], votes: FloatArray, n_reports: int, public: Counts, variance: FloatArray
) -> bool:
    """Whether the reports show that public labels are wrong, by leaves or by nodes, which are less noisy."""
    if public.sum() == 0:
        return True
    tables = (votes, public, variance), tuple(_add(node, table) for table in (votes, public, variance))
    drifts = [estimate_drift(v, n_reports, q, noise, caution=-_SHOWN) for v, q, noise in tables]
    return max(drifts) > LEAST_DRIFT


def _lead(
    votes: FloatArray,
    n_reports: int,
    public: FloatArray,
    variance: FloatArray,
    told: FloatArray | None,
    rows: FloatArray,
    weight: FloatArray,
) -> FloatArray:
    """Lead of the first over the second class in every node, in standard errors."""
    per_node = public.sum(axis=1)
    drift = 0.0
    if per_node.sum():
        known = votes, n_reports, public, variance, told
        slope = max(estimate_slope(*known), _LEAST_SLOPE)
        # Of the public labels themselves: what is left of the private ones, by the slope.
        drift = estimate_drift(*known, slope=slope) / slope**2
    ordered = np.sort(votes + weight[:, np.newaxis] * public, axis=1)
    # A row adds at most 1 to the variance of the difference of two classes.
    private_part = n_reports * variance + rows
    variances = private_part + weight**2 * (per_node + drift * per_node**2)
    lead: FloatArray = (ordered[:, -1] - ordered[:, -2]) / np.sqrt(np.maximum(variances, 1e-300))
    return lead


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
    ancestors: NDArray[np.int32],
    votes: FloatArray,
    cells: FloatArray,
    public_counts: Counts,
    n_reports: int,
    n_features: int,
    epsilon: float,
) -> tuple[FloatArray, IntArray]:
    """Return the class probabilities of every leaf by Algorithm 2 of the paper as printed, and the depths.

    Its thresholds are made for noise that a report does not have: it is near chance at times.

    Parameters
    ----------
    ancestors : ndarray of int32 of shape (max_depth + 1, n_leaves)
        From `leaf_ancestors`.
    votes : ndarray of shape (n_leaves, 2)
        Estimates of the private rows by leaf and label, up to one constant a leaf.
    cells : ndarray of shape (n_leaves,)
        Estimates of the private rows in the leaves; they may be negative.
    public_counts : ndarray of int of shape (n_leaves, 2)
        Public rows by leaf and label.
    n_reports : int
        Number of private reports.
    n_features : int
        Number of features.
    epsilon : float
        Privacy loss of a report.

    Returns
    -------
    probabilities : ndarray of shape (n_leaves, 2)
    depth : ndarray of int of shape (n_leaves,)
        Depth of the node that judges the leaf, at least 1 in a tree that has splits.

    References
    ----------
    Ma, Y. and Yang, H. "Optimal Locally Private Nonparametric Classification with Public Data", algorithm 2
    and appendix A.2.
    """
    deepest, n_leaves = len(ancestors) - 1, len(votes)
    exponent = n_features / (2 + 2 * n_features)
    limit = math.floor(exponent * math.log2(n_reports * epsilon**2)) if n_reports else 0
    logarithm = math.log(max(n_reports + int(public_counts.sum()), 2))
    second, chosen = np.full(n_leaves, 0.5), np.full(n_leaves, -1)
    for depth in range(deepest, min(1, deepest) - 1, -1):
        node = ancestors[depth]
        signed, rows = _add(node, votes[:, 1] - votes[:, 0]), _add(node, cells)
        public = _add(node, public_counts)
        noise = 2 ** (deepest - depth + 3) * n_reports / epsilon**2
        share, strength, stops = _paper_node(signed, rows, public, noise, logarithm)
        stops = (strength >= 1) | (stops & (depth <= limit))
        open_leaves = chosen < 0
        second = np.where(open_leaves, share[node], second)
        chosen = np.where(open_leaves & stops[node], depth, chosen)
    second = np.clip(second, 0.0, 1.0)
    return np.column_stack([1.0 - second, second]), np.where(chosen < 0, min(1, deepest), chosen)


def _paper_node(
    signed: FloatArray, rows: FloatArray, public: FloatArray, noise: float, logarithm: float
) -> tuple[FloatArray, FloatArray, NDArray[np.bool_]]:
    """Estimate, strength and whether the private one was taken, where noise outweighs the rows, per node."""
    per_node = public.sum(axis=1)
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
