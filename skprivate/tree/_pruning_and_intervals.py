# SPDX-License-Identifier: BSD-3-Clause
"""Leaves after a release: pruning, offsets of a public model, and confidence intervals of means.

Everything here is a function of released or public quantities: it costs no privacy.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from .._typing import BoolArray, FloatArray, IntArray
from ..metrics._probabilities import BaseRate, log, pool_base_rates, row_totals, softmax
from ..partition import Partition
from ..utils._public_module import public_module
from ._leaf_probabilities import (
    LEAST_DRIFT,
    ClassShares,
    LeafCounts,
    bounded_shares,
    choose_weight,
    estimate_public_drift,
    estimate_shares_of_classes,
    measure_drift,
    smooth_over_tree,
    with_variances,
)
from ._public_model import LeafModel
from ._release import DEEPEST, TreeDesign, choose_depth, count_split_features
from ._rows import NoisyHistogram, NumberCells

# Pruning: every leaf takes its own estimate or that of an ancestor, from the same release.

# These thresholds are evaluated in benchmarks/figures/trees/depth_and_weight.py. Margin, in standard errors,
# from which a leaf takes the estimate of a node that is no deeper than the noise supports. It is low, because
# an ancestor mixes leaves of different majorities, and lower with several labels, which an ancestor mixes
# more.
_SUPPORTED_MARGIN = {"two labels": 0.2, "more": 0.05}
# Below that depth: a clear margin, or a margin that exceeds that of the current node by this much. With two
# labels, noise alone makes one lead by 0.8 errors. With several labels the first leads the second by less.
_DEEPER_MARGIN = 2.0
_CLEARLY_MORE = {"two labels": 0.5, "more": 0.0}
# Number of standard errors of the drift from which public labels are considered wrong.
_CONTRADICTION = 2.0
# Number of features that `smooth_over_tree` assumes for values that vary little: offsets from a model, and
# means of numbers, whose variance may be mostly noise. With the number of split features a weak function of
# five columns lost 0.02 in R2.
_FEATURES_OF_LITTLE = 20.0


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
        kept = (partition.depth == depth) | ((partition.depth < depth) & (partition.leaf_index >= 0))
        ancestors[depth] = (np.cumsum(kept) - 1)[node]
    return ancestors


def prune_leaves(
    ancestors: NDArray[np.int32],
    counts: LeafCounts,
    *,
    weight: float | None = None,
    n_features: int | IntArray = 2,
) -> tuple[ClassShares, IntArray]:
    """Return the class probabilities of every leaf after pruning, and the depths of their nodes.

    From the depth that the noise supports upwards, a leaf takes the estimate of the first node whose leading
    class leads the second by enough standard errors. If there is none, it takes that of the node with the
    largest margin. Below that depth it takes the estimate of a node with a clear margin, or with a clearly
    larger margin than the node found so far. The variance of a node's estimates includes all its leaves and
    public rows, with the drift of public labels at that depth.

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
        The probabilities of a node are shrunk towards the base rate, not towards its ancestors, which were
        rejected.
    depth : ndarray of int of shape (n_leaves,)
        Depth of the node whose estimate the leaf takes. If it takes its own, this is the largest depth at
        which the leaf is undivided.
    """
    supported = _supported_depth(ancestors, counts, n_features)
    by_depth = np.broadcast_to(n_features, len(ancestors))
    chosen, best = np.full(counts.n_leaves, -1), np.full(counts.n_leaves, -1.0)
    probabilities, errors = np.empty(counts.label_estimates.shape), np.empty(counts.n_leaves)
    rates: list[BaseRate] = []

    def assign_leaves(depths: range, least: float | FloatArray) -> None:
        """Assign to each leaf the first node upwards with enough margin, or the one with the largest."""
        open_leaves = np.ones(counts.n_leaves, dtype=bool)
        for depth in depths:
            node, nodes = ancestors[depth], counts.aggregate(ancestors[depth])
            weights = choose_weight(nodes) if weight is None else np.full(nodes.n_leaves, float(weight))
            margin = _standardised_margins(nodes, weights)[node]
            enough = open_leaves & (margin >= least)
            taken = enough | (open_leaves & (margin > best)) if depth <= supported else enough
            chosen[taken], best[taken] = depth, margin[taken]
            drift = estimate_public_drift(nodes) if weight is None else 0.0
            # Splits of several levels may be of different features.
            n_divided = float(by_depth[depth]) / max(depth, 1)
            shares = estimate_shares_of_classes(nodes, weights, None, n_divided, drift)
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


def _supported_depth(ancestors: NDArray[np.int32], counts: LeafCounts, n_features: int | IntArray) -> int:
    """The depth that the release supports, or that public rows do unless the release contradicts them."""
    n_nodes = ancestors.max(axis=1).astype(np.int64) + 1
    total = float(counts.variance.sum())
    # A node has the noise of all its leaves.
    supported = choose_depth(counts.n_rows, n_nodes, lambda count: total / count, n_features)
    if _public_labels_contradicted(ancestors[supported], counts):
        return supported
    return max(supported, choose_depth(counts.n_public, n_nodes, lambda count: 1 / count, n_features))


def _public_labels_contradicted(node: NDArray[np.int32], counts: LeafCounts) -> bool:
    """Whether the release contradicts public labels, by leaves or by nodes, which are less noisy."""
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
    return (ordered[:, -1] - ordered[:, -2]) / np.sqrt(np.maximum(variances, 1e-300))


# Depth and pruning as printed in the paper, for comparison: ``prune="paper"``.


def paper_depth(n_private: int, n_public: int, n_features: int, epsilon: float) -> int:
    """Return the depth p0 from which the paper prunes.

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
    """Return class probabilities of the leaves by Algorithm 2 of the paper as printed, and the depths.

    Its thresholds do not fit the noise of a report, so that predictions are sometimes near chance.

    Parameters
    ----------
    ancestors : ndarray of int32 of shape (max_depth + 1, n_leaves)
        From `leaf_ancestors`.
    counts : LeafCounts
        Counts of the leaves, with two labels. Private rows are counted by the unbiased estimates if there are
        some; these may be negative.
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
    """Estimate and strength of every node, and whether it takes private rows that noise outweighs."""
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


# Class probabilities by a public model and an offset in every leaf, estimated from released counts.

# Standard deviations of two equally probable priors of the slope around the one that cross-fitting found on
# public rows. Private rows may come from the same population, or from one in which the model explains
# nothing, or twice as much. With the second prior alone Friedman's function, predicted by boosting, lost 0.15
# in R2 to noise at epsilon 0.5.
_PRIOR_SLOPE_ERRORS = (0.05, 0.5)
#: Slope below which the model is dropped: it then explains less than a tenth of its apparent part (2 s -
# s^2).
LEAST_SLOPE = 0.05
# Smallest probability of a mixed prediction.
_LEAST_SHARE = 1e-4
# Largest number of steps, and accuracy, of the proportional fitting of shifts, which converges geometrically.
_FITTING_STEPS = 100
_FITTED = 1e-10


@public_module("skprivate.tree")
@dataclass(frozen=True, eq=False)
class Mixture:
    """Predictions of a model, moved towards the base rate.

    Attributes
    ----------
    slope : float
        Factor of the model's differences from its mean, 0 to 1.
    center : ndarray of shape (n_labels,)
        The model's mean over private rows.
    base : ndarray of shape (n_labels,)
        The base rate, which replaces the model's mean.
    """

    slope: float
    center: FloatArray
    base: FloatArray

    def of(self, shares: FloatArray) -> FloatArray:
        """Return the mixed probabilities, of the shape of the model's."""
        mixed = np.maximum(self.base + self.slope * (shares - self.center), _LEAST_SHARE)
        return mixed / row_totals(mixed)


@public_module("skprivate.tree")
@dataclass(frozen=True, eq=False)
class ModelWithOffsets:
    """Predictions of a public model, moved towards the base rate and shifted in every leaf.

    Attributes
    ----------
    model : LeafModel
    mixture : Mixture
    shifts : ndarray of shape (n_leaves, n_labels)
        Added to the logarithms of the probabilities, which are then normalised.
    """

    model: LeafModel
    mixture: Mixture
    shifts: FloatArray

    def predict(self, X: FloatArray, leaves: NDArray[np.int32]) -> FloatArray:
        """Return class probabilities of rows in these leaves, of shape (n, n_labels)."""
        return _shifted(self.mixture.of(self.model.predict(X, leaves)), self.shifts[leaves])


def estimate_offsets(
    counts: LeafCounts, model: LeafModel, plain: ClassShares, ancestors: NDArray[np.int32]
) -> tuple[ClassShares, ModelWithOffsets] | None:
    """Return class probabilities of the leaves by a public model with offsets; None if the model is wrong.

    The model's differences from its mean are multiplied by a slope. This is the regression of released shares
    on the model's means over the leaves, under a normal prior around the slope that cross-fitting found on
    public rows. The difference of the released shares from this is the offset of a leaf. Offsets are smoothed
    over the tree by empirical Bayes (`smooth_over_tree`), with their noise, the sampling of the leaf's rows,
    and the error of the model's mean.

    Parameters
    ----------
    counts : LeafCounts
        Only the private estimates are used, because the model already uses the public rows.
    model : LeafModel
    plain : ClassShares
        Estimates of the leaves without the model, of which the base rate is used.
    ancestors : ndarray of int32 of shape (max_depth + 1, n_leaves)

    Returns
    -------
    shares : ClassShares
        Probabilities of the leaves, means over their rows.
    offsets : ModelWithOffsets
        Predicts rows.
    """
    rate = plain.base if model.base is None else pool_base_rates(plain.base, model.base)
    base = rate.shares
    totals, cells, rows = counts.label_totals(), counts.label_totals().sum(axis=1), counts.cell_sizes
    noise = 0.5 * counts.n_rows * counts.variance
    per_label = float(np.mean((1 - base) ** 2 + (len(base) - 1) * base**2))
    even = float(np.mean(base * (1 - base)))
    unknown = counts.row_variance / (rows + 2.0) ** 2
    variance = (per_label * noise + counts.row_variance * even * rows) / rows**2 + unknown
    deviations = (totals - base * cells[:, np.newaxis]) / rows[:, np.newaxis]
    # The mean over private rows, by the sizes of the leaves: features may be distributed otherwise among
    # public rows.
    center = np.average(model.means, axis=0, weights=rows)
    slope, slope_variance = estimate_model_slope(deviations, variance, model, center)
    if slope < LEAST_SLOPE:
        return None
    mix = Mixture(slope, center, base)
    means = mix.of(model.means)
    offsets = (totals - means * cells[:, np.newaxis]) / rows[:, np.newaxis]
    sampling = counts.row_variance * np.mean(means * (1 - means), axis=1)
    variance = (per_label * noise + sampling * rows) / rows**2 + slope**2 * model.variances
    variance += unknown
    largest = counts.total_variance * even
    smooth, variances = smooth_over_tree(ancestors, offsets, variance, largest, _FEATURES_OF_LITTLE)
    variances += unknown + slope_variance * np.mean((model.means - center) ** 2, axis=1)
    found, errors = bounded_shares(means + smooth, variances, rate)
    mixed = mix.of(model.shares)
    shifts = _fit_shifts(mixed, model.weights, model.leaf, means, found)
    return ClassShares(found, errors, rate), ModelWithOffsets(model, mix, shifts)


def estimate_model_slope(
    deviations: FloatArray, variance: FloatArray, model: LeafModel, center: FloatArray
) -> tuple[float, float]:
    """Return the slope of private rows on the model's differences, from 0 to 1, and its variance.

    Parameters
    ----------
    deviations : ndarray of shape (n_leaves, n_labels)
        Released shares, less the base rate.
    variance : ndarray of shape (n_leaves,)
    model : LeafModel
    center : ndarray of shape (n_labels,)
        The model's mean over private rows.

    Returns
    -------
    slope, variance : float
    """
    differences = model.means - center
    precision = float(np.sum(differences**2 / variance[:, np.newaxis]))
    product = float(np.sum(differences * deviations / variance[:, np.newaxis]))
    # For each prior, the posterior and the evidence of the release.
    spread = np.array(_PRIOR_SLOPE_ERRORS) ** 2
    variances = spread / (1.0 + precision * spread)
    means = variances * (product + model.slope / spread)
    surprise = (product - precision * model.slope) ** 2 * spread / (1.0 + precision * spread)
    evidence = 0.5 * surprise - 0.5 * np.log1p(precision * spread)
    weights = np.exp(evidence - evidence.max())
    weights /= weights.sum()
    slope = float(weights @ means)
    return float(np.clip(slope, 0.0, 1.0)), float(weights @ (variances + means**2) - slope**2)


def _shifted(shares: FloatArray, shifts: FloatArray) -> FloatArray:
    return softmax(log(shares) + shifts)


def _fit_shifts(
    shares: FloatArray, weights: FloatArray, leaf: NDArray[np.int32], means: FloatArray, wanted: FloatArray
) -> FloatArray:
    """Return the shifts that make the mean prediction in every leaf the wanted one."""
    n_leaves, n_labels = wanted.shape
    total = np.bincount(leaf, weights, n_leaves)
    some = total > 0
    # In a leaf without any row the mean is shifted.
    shifts = np.where(some[:, np.newaxis], 0.0, np.log(wanted / means))
    for _ in range(_FITTING_STEPS):
        predicted = weights[:, np.newaxis] * _shifted(shares, shifts[leaf])
        sums = np.column_stack([np.bincount(leaf, predicted[:, m], n_leaves) for m in range(n_labels)])
        step = np.zeros_like(shifts)
        step[some] = np.log(wanted[some] * total[some, np.newaxis] / sums[some])
        shifts += step
        if np.abs(step).max() < _FITTED:
            break
    return shifts


# Post-processing of a release: weight of public rows, pruning, class probabilities of the leaves.


@dataclass(frozen=True)
class LeafEstimates:
    """The estimates of the leaves.

    Attributes
    ----------
    weight : ndarray of shape (n_leaves,)
        Weight of a public row relative to a private one, in the leaf itself.
    shares : ClassShares
        Class probabilities, their errors, and the base rate.
    depth : ndarray of int of shape (n_leaves,)
        Depth of the node whose estimate the leaf takes.
    sizes : ndarray of shape (n_leaves,)
        Estimated number of private rows in the leaf, positive.
    offsets : ModelWithOffsets or None
        Predictions of rows by a public model; None without one, or if the release contradicts it.
    """

    weight: FloatArray
    shares: ClassShares
    depth: IntArray
    sizes: FloatArray
    offsets: ModelWithOffsets | None = None


@dataclass(frozen=True)
class PruningMethod:
    """A value of ``prune``: the rule for the depth, and for the nodes from which leaves take their estimates.

    Attributes
    ----------
    prune : bool or "paper"
        Whether leaves take estimates of their ancestors.
    """

    prune: Any

    @property
    def as_printed(self) -> bool:
        """Whether depth and pruning are those that the paper prints, for two classes only."""
        return bool(self.prune == "paper")

    def check_classes(self, n_labels: int) -> None:
        """Raise ValueError if so many classes are not supported."""
        if self.as_printed and n_labels > 2:
            raise ValueError('Only binary classification is supported by prune="paper".')

    def choose_depth(
        self,
        partition: Partition,
        n_rows: int,
        n_public: int,
        epsilon: Fraction,
        variance: Callable[[int], float],
    ) -> int:
        """Return the automatic depth: the largest whose leaves can be estimated, or the paper's.

        All inputs are public; `variance` is that of one row's report about a leaf, by the number of leaves.
        """
        if self.as_printed:
            return min(paper_depth(n_rows, n_public, partition.n_sources, float(epsilon)), DEEPEST)
        # Smoothing makes up for leaves that are divided among many features, so their number does not count.
        return choose_depth(n_rows, partition.leaf_counts_by_depth(), variance)

    def estimate(
        self, design: TreeDesign, counts: LeafCounts, weight: FloatArray, given_weight: float | None
    ) -> tuple[ClassShares, IntArray]:
        """Return the probabilities of the leaves, and the depths they come from.

        `weight` is that of the leaves, `given_weight` the user's for every node, None where it is automatic.
        """
        partition, ancestors = design.partition, leaf_ancestors(design.partition)
        if self.as_printed:
            epsilon = float(design.randomizer.epsilon)
            printed, depth = paper_prune(ancestors, counts, partition.n_sources, epsilon)
            plain = estimate_shares_of_classes(counts, weight, ancestors, partition.n_sources)
            # The printed shares are often 0 or 1, which is never certain. The order of the classes does not
            # change.
            least = 1.0 / (counts.n_rows + counts.n_public + 2.0)
            return replace(plain, probabilities=least + (1.0 - 2.0 * least) * printed), depth
        n_features = count_split_features(partition, design.rule)
        if self.prune:
            return prune_leaves(ancestors, counts, weight=given_weight, n_features=n_features)
        # A user who gives a weight vouches for the public labels.
        drift = estimate_public_drift(counts) if given_weight is None else 0.0
        n_split = float(np.max(n_features)) if design.cells is None else _FEATURES_OF_LITTLE
        shares = estimate_shares_of_classes(counts, weight, ancestors, n_split, drift)
        return shares, np.full(counts.n_leaves, partition.max_depth)


def estimate_leaves(
    design: TreeDesign, released: IntArray, n_rows: int, public_weight: Any, prune: Any
) -> LeafEstimates:
    """Return the estimates of the leaves, a function of released and public values.

    Parameters
    ----------
    design : TreeDesign
    released : ndarray
        The release of the design's randomizer about the private rows.
    n_rows : int
        Number of private rows in it.
    public_weight : float or "auto"
    prune : bool or "paper"

    Returns
    -------
    estimates : LeafEstimates
    """
    counts = LeafCounts.from_release(design, released, n_rows)
    found = _estimate(with_variances(counts, design, released), design, public_weight, prune)
    if design.cells is None:
        return found
    # The variance within the leaves is known only after their means.
    shares = found.shares.probabilities[:, 1]
    return _estimate(with_variances(counts, design, released, shares), design, public_weight, prune)


def _estimate(counts: LeafCounts, design: TreeDesign, public_weight: Any, prune: Any) -> LeafEstimates:
    given = None if public_weight == "auto" else float(public_weight)
    weight = choose_weight(counts) if given is None else np.full(counts.n_leaves, given)
    shares, depth = PruningMethod(prune).estimate(design, counts, weight, given)
    offsets = None
    if design.leaf_model is not None:
        corrected = estimate_offsets(counts, design.leaf_model, shares, leaf_ancestors(design.partition))
        shares, offsets = (shares, None) if corrected is None else corrected
    return LeafEstimates(weight, shares, depth, counts.cell_sizes, offsets)


# Confidence intervals of the means of leaves, from released sums of numbers.

#: Excess kurtosis E x^4 / (E x^2)^2 - 3 of Laplace noise.
LAPLACE_KURTOSIS = 3.0
# Smallest variance within a leaf, relative to the mean one: noise may make an estimate 0. Set by hand.
_LEAST_SPREAD = 0.25


def share_intervals(
    design: TreeDesign, released: IntArray, n_rows: int, shares: FloatArray, confidence: float
) -> FloatArray:
    """Return intervals of the mean share t of the width in every leaf.

    If m is the mean, the released sum of t - m over the rows of the leaf has the mean 0. m is in the interval
    if the distance of the sum from 0, in standard deviations, is at most a quantile. This is a quadratic
    inequality in m.

    Parameters
    ----------
    design : TreeDesign
    released : ndarray
        The release of the design's randomizer.
    n_rows : int
        Number of private rows.
    shares : ndarray of shape (n_leaves,)
        Estimated means of the leaves.
    confidence : float

    Returns
    -------
    intervals : ndarray of shape (n_leaves, 2)
        Within [0, 1].
    """
    cells = design.cells
    assert cells is not None
    mechanism = design.randomizer
    counts = with_variances(LeafCounts.from_release(design, released, n_rows), design, released, shares)
    n_rows = counts.n_rows
    estimates = _cell_estimates(design, released, n_rows)
    # The noise of one cell: half the variance of a difference of two.
    sizes = counts.cell_sizes * (n_rows / counts.cell_sizes.sum())
    noise = mechanism.variance(n_rows, sizes) / 2
    exact = mechanism.relation == "label"
    values = cells.values - cells.values.mean() if exact else cells.values
    rows, sums = estimates.sum(axis=1), estimates @ cells.values
    weighted = mechanism.weight_variance if isinstance(mechanism, NoisyHistogram) else 1.0
    counts = replace(counts, row_variance=counts.row_variance / weighted)
    spreads = weighted * _spreads(cells, estimates, counts, noise, shares)
    sampling = np.maximum(rows, 0.0) * spreads + rows**2 * _selection_variance(design, counts, spreads)
    # The noise of the sum of t - m has the variance noise * (square - 2 m line + m^2 n_noisy).
    square = float(values @ values)
    line, n_noisy = (0.0, 0.0) if exact else (float(values.sum()), float(cells.n_cells))
    center = np.clip(sums / np.where(rows > 0, rows, np.inf), 0.0, 1.0)
    of_noise = noise * (square - 2 * center * line + center**2 * n_noisy)
    kurtosis = 0.0
    if isinstance(mechanism, NoisyHistogram):
        fourth = np.sum((values - center[:, np.newaxis]) ** 4, axis=1) * noise**2
        kurtosis = LAPLACE_KURTOSIS * fourth / np.maximum(of_noise + sampling, 1e-300) ** 2
    # Quantile of a symmetric distribution, in standard deviations, by Cornish and Fisher.
    z = float(norm.ppf(0.5 + confidence / 2))
    z = z + (z**3 - 3 * z) * kurtosis / 24
    a = rows**2 - z**2 * noise * n_noisy
    b = sums * rows - z**2 * noise * line
    c = sums**2 - z**2 * (noise * square + sampling)
    with np.errstate(invalid="ignore", divide="ignore"):
        half = np.sqrt(np.maximum(b**2 - a * c, 0.0))
        ends = np.column_stack([b - half, b + half]) / a[:, np.newaxis]
    # If noise could explain the number of rows, every mean is possible.
    seen = ((a > 0) & (rows > 0))[:, np.newaxis]
    return np.clip(np.where(seen, ends, [0.0, 1.0]), 0.0, 1.0)


def _cell_estimates(design: TreeDesign, released: IntArray, n_rows: int) -> FloatArray:
    """Return estimates of the sums by leaf and cell."""
    found = design.randomizer.estimate(released, n_rows)
    if found.ndim == 2:
        return found
    rows = design.randomizer.estimate_cells(released, n_rows)
    assert rows is not None
    return np.column_stack([rows - found, rows + found]) / 2


def _spreads(
    cells: NumberCells, estimates: FloatArray, counts: LeafCounts, noise: FloatArray, shares: FloatArray
) -> FloatArray:
    """Return the variance of a row's t within every leaf, shrunk towards the mean one by its noise."""
    largest = shares * (1 - shares)
    if cells.n_cells == 2:
        return largest
    rows = np.maximum(estimates.sum(axis=1), 1.0)
    usual = counts.row_variance * float(np.average(largest, weights=counts.cell_sizes))
    # The mean of (t - s)^2 with the estimated mean s: apart from noise, no less than the variance.
    slopes = cells.squares - 2 * shares[:, np.newaxis] * cells.values + (shares**2)[:, np.newaxis]
    found = np.sum(estimates * slopes, axis=1) / rows
    error = noise * np.sum(slopes**2, axis=1) / rows**2 + 2 * usual**2 / rows
    weight = 1.0 / error
    between = max(float(np.average((found - usual) ** 2 - error, weights=weight**2)), 0.0)
    kept = between / (between + error)
    return np.clip(usual + kept * (found - usual), _LEAST_SPREAD * usual, largest + usual)


def _selection_variance(design: TreeDesign, counts: LeafCounts, spreads: FloatArray) -> FloatArray:
    """Return the variance of a leaf's mean due to the choice of splits on the same rows.

    Candidates without signal have contrasts with the standard deviation c, due to sampling. The one with the
    best noisy score has a mean contrast of about c^2 / s, with s the scale of the noise, and of at most c
    times ``sqrt(2 log M)`` among M candidates. Half of that is the change of the sum on either side of the
    split. The squares add up over the levels of a path.
    """
    partition, found = design.partition, np.zeros(counts.n_leaves)
    if not design.split_scales:
        return found
    most = math.sqrt(2 * math.log(max(design.n_candidates, 2)))
    for node, scale in zip(leaf_ancestors(partition), design.split_scales, strict=False):
        rows = np.maximum(np.bincount(node, counts.cell_sizes), 1.0)
        spread = np.bincount(node, counts.cell_sizes * spreads) / rows
        contrast = np.sqrt(spread * rows) / 2
        drawn = np.minimum(contrast**2 / scale, most * contrast)
        # A leaf above this level has no split here.
        inner = np.bincount(node) > 1
        found += (np.where(inner, 2 * drawn / rows, 0.0) ** 2)[node]
    return found
