# SPDX-License-Identifier: BSD-3-Clause
"""Nodes of a fitted tree: paths, estimates, importances, and whether leaves differ in their labels."""

import math
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from scipy.special import chdtrc
from scipy.stats import chi2

from .._typing import FloatArray, IndexArray
from ..base._likely_mistakes import hardly_any_rows, mean_at_a_bound, no_effect, warn_of_mistakes
from ..partition import Partition
from ._leaf_probabilities import LeafCounts, with_variances
from ._pruning_and_intervals import LAPLACE_KURTOSIS, leaf_ancestors
from ._release import ReleaseMechanism
from ._rows import NumberCells

# Gains below this share of the root's impurity, some thousand times 2^-53, are rounding errors.
_ROUNDING = 1e-12


def leaf_paths(partition: Partition) -> Any:
    """Return which nodes lie on the path from the root to every leaf.

    Parameters
    ----------
    partition : Partition

    Returns
    -------
    paths : csr_matrix of int64 of shape (n_leaves, n_nodes)
        1 at the nodes of the path, root and leaf included, and 0 elsewhere. Indices increase along the path.
    """
    inner = np.flatnonzero(partition.leaf_index < 0)
    parent = np.zeros(len(partition.left), dtype=np.int64)
    for child in (partition.left[inner], partition.left[inner] + 1):
        parent[child] = inner
    node = np.flatnonzero(partition.leaf_index >= 0)
    leaf = np.arange(partition.n_leaves)
    leaves, nodes = [leaf], [node]
    while (below := node > 0).any():
        leaf, node = leaf[below], parent[node[below]]
        leaves.append(leaf)
        nodes.append(node)
    where = np.concatenate(leaves), np.concatenate(nodes)
    ones = np.ones(len(where[0]), dtype=np.int64)
    return csr_matrix((ones, where), shape=(partition.n_leaves, len(partition.left)))


@dataclass(frozen=True, eq=False)
class NodeEstimates:
    """Estimates of all nodes, each from the leaves below it.

    Attributes
    ----------
    sizes : ndarray of shape (n_nodes,)
        Estimated numbers of private rows.
    probabilities : ndarray of shape (n_nodes, n_classes)
        Mean of the leaves' class probabilities, weighted by their sizes.
    """

    sizes: FloatArray
    probabilities: FloatArray

    @classmethod
    def of(cls, partition: Partition, leaf_sizes: FloatArray, leaf_proba: FloatArray) -> Self:
        """Return the estimates of the nodes, given those of the leaves."""
        below = leaf_paths(partition).T
        # Leaves that are estimated to be empty have almost no weight, but a node of such leaves needs an
        # estimate.
        weights = np.maximum(leaf_sizes, 1e-9)
        sums = below @ weights
        return cls(below @ leaf_sizes, (below @ (weights[:, np.newaxis] * leaf_proba)) / sums[:, np.newaxis])


def gini_importances(
    partition: Partition, nodes: NodeEstimates, source: IndexArray | None = None
) -> FloatArray:
    """Return the share of every feature in the decrease of the Gini impurity by the splits.

    Parameters
    ----------
    partition : Partition
    nodes : NodeEstimates
    source : ndarray of int of shape (n_columns,), default=None
        Feature of every column that the partition compares. None: those of the partition.

    Returns
    -------
    importances : ndarray of shape (n_features,)
        They add up to 1. All are 0 if no split gains anything.
    """
    source = partition.source if source is None else source
    impurity = nodes.sizes * (1 - np.sum(nodes.probabilities**2, axis=1))
    inner = np.flatnonzero(partition.leaf_index < 0)
    left = partition.left[inner]
    # Apart from rounding never negative: the impurity of a mean is at least the mean of the impurities.
    gains = np.maximum(impurity[inner] - impurity[left] - impurity[left + 1], 0.0)
    gains[gains <= _ROUNDING * impurity[0]] = 0.0
    by_feature = np.bincount(source[partition.feature[inner]], gains, minlength=source[-1] + 1)
    total = float(by_feature.sum())
    return by_feature / total if total > 0 else np.zeros(len(by_feature))


def round_to_noise(size: float, error: float) -> int:
    """Return a number of rows without the digits below its noise; `error` is the noise of a share."""
    noise = size * error
    unit = 10 ** math.floor(math.log10(noise)) if noise > 1 else 1
    return round(size / unit) * unit


# Warnings of likely mistakes, and the test on which they are based.

_ONE_LEAF = "the tree has a single leaf, and predicts the same everywhere."
_ELSEWHERE = "beyond a constant, its predictions come from {source} alone."


def warn_of_low_utility(tree: Any) -> None:
    """Warn of classes that hardly occur, and of leaves that do not clearly differ, by the released counts.

    Parameters
    ----------
    tree : PrivateTree
        It has just stored a release.

    Warns
    -----
    UtilityWarning
        It is raised after the release, and therefore never an error. `leaves_differ` states rates of wrong
        warnings.

    Notes
    -----
    **Privacy.** A function of released and public values: it costs nothing.
    """
    design = tree._released
    counts = LeafCounts.from_release(design, tree.report_counts_, tree.n_reports_)
    counts = with_variances(counts, design, tree.report_counts_, tree._leaf_shares[:, -1])
    table = NoisyTable.of(design.randomizer, counts, design.cells)
    sentences = []
    if design.cells is None:
        std = math.sqrt(0.5 * counts.n_rows * float(counts.variance.sum()))
        totals = counts.label_estimates.sum(axis=0)
        known = getattr(design.randomizer, "total_is_public", True)
        n_rows = counts.n_rows if known else None
        sentences.append(hardly_any_rows(design.classes, totals, std, n_rows))
    else:
        low, high = tree.range_y_
        sentences.append(mean_at_a_bound(tree.base_value_, tree._base_error * (high - low), (low, high)))
    if not leaves_differ(table, leaf_ancestors(design.partition), design.n_candidates):
        target: Any = "classes" if design.cells is None else "numbers"
        sentences.append(no_effect(target, _ONE_LEAF if tree.n_leaves_ == 1 else None))
        # The sources of predictions other than the counts of the leaves.
        if tree.public_counts_.sum():
            sentences.append(_ELSEWHERE.format(source="the public rows"))
        elif tree.split_counts_ is not None:
            sentences.append(_ELSEWHERE.format(source="the reports that shaped it"))
    warn_of_mistakes(type(tree).__name__, *sentences)


# Nominal level: the share of useless trees for which the test finds by chance that leaves differ.
# `leaves_differ` states the measured rate.
_LEVEL = 0.01


@dataclass(frozen=True, eq=False)
class NoisyTable:
    """Counts of the leaves, or of the nodes of one depth, with the facts about their noise for the test.

    Attributes
    ----------
    counts : LeafCounts
        Their variance is that of the leaf itself, at its estimated size.
    exact_cells : bool
        Whether ``cell_estimates`` are exact numbers of rows.
    kurtosis : ndarray of shape (n_leaves,)
        Excess kurtosis of the noise of one count.
    """

    counts: LeafCounts
    exact_cells: bool
    kurtosis: FloatArray

    @classmethod
    def of(cls, mechanism: ReleaseMechanism, counts: LeafCounts, cells: NumberCells | None = None) -> Self:
        """Return the table of the leaves that a mechanism released."""
        exact_cells = mechanism.relation == "label" and counts.cell_estimates is not None
        # Sizes that add up to the number of rows; the variance is computed for them.
        sizes = counts.cell_sizes * (counts.n_rows / counts.cell_sizes.sum())
        if exact_cells and counts.cell_estimates is not None:
            # A leaf without rows has neither noise nor labels, and its counts are exactly 0.
            sizes = np.maximum(counts.cell_estimates, 0.0)
        contrast = 1.0 if cells is None else cells.contrast
        variance = np.maximum(
            contrast * mechanism.variance(counts.n_rows, sizes) / counts.n_rows, counts.variance * 1e-9
        )
        # Reports are drawn independently, and their sum is nearly normal.
        kurtosis = 0.0 if mechanism.relation in ("local", "label") else LAPLACE_KURTOSIS
        counts = replace(counts, cell_sizes=sizes, variance=variance)
        return cls(counts, exact_cells, np.full(counts.n_leaves, kurtosis))

    def aggregate(self, node: NDArray[np.int32]) -> Self:
        """Return the table of nodes; ``node[i]`` is the node of leaf i."""
        counts = self.counts.aggregate(node)
        fourth = np.bincount(node, self.kurtosis * self.counts.variance**2)
        return replace(self, counts=counts, kurtosis=fourth / counts.variance**2)

    @property
    def noise(self) -> FloatArray:
        """Variance of the noise of one label, of shape (n_leaves,)."""
        # A difference has the noise of two labels.
        return self.counts.n_rows * self.counts.variance / 2

    @property
    def cells(self) -> tuple[FloatArray, FloatArray]:
        """Numbers of rows in the leaves, and the variances of their errors."""
        counts = self.counts
        if counts.cell_estimates is not None:
            errors = np.zeros(counts.n_leaves) if self.exact_cells else counts.n_labels * self.noise
            return counts.cell_estimates, errors
        # Guessed from the public rows; the variance of the shares is that of a Dirichlet distribution.
        share = counts.cell_sizes / counts.n_rows
        spread = share * (1 - share) / (counts.n_public + counts.n_leaves + 1)
        return counts.cell_sizes, counts.n_rows**2 * spread


def leaves_differ(table: NoisyTable, ancestors: NDArray[np.int32], n_candidates: int = 1) -> bool:
    """Return whether released counts show that leaves, or nodes of some depth, differ in their labels.

    A function of released and public values. Public labels are not used, because they may be wrong. Public
    rows are used if the release does not contain the numbers of rows in the leaves.

    Parameters
    ----------
    table : NoisyTable
        Table of the leaves.
    ancestors : ndarray of int32 of shape (max_depth + 1, n_leaves)
        Nodes of every depth, from `leaf_ancestors`.
    n_candidates : int, default=1
        Number of candidates among which the counted rows chose every split; 1 if they chose none.

    Returns
    -------
    differ : bool
        False for a tree of one leaf.

    Notes
    -----
    The level of the test, 0.01, is divided by the number of depths, and by the number of trees of this shape
    among which the rows chose (Bonferroni).

    ``SETTINGS=100 python -m benchmarks utility_warning`` draws 100 settings of two and 100 of four labels:
    500 to 50,000 rows, 2 to 10 features, epsilon 0.1 to 8, with and without public rows, which have no
    weight. In useless trees (permuted labels, a typo in the classes, or bounds 100 times too wide) the test
    found differences in 1 % of 1,800 fits, and in at most 4 % of any 100. The share of useful trees without a
    found difference depends on how much lower than the base rate's their log loss is. For 0 to 1 % it is 73 %
    of 73; for 1 to 3 %, 31 % of 29; for 3 to 10 %, 15 % of 39. Above that it is 2 % of 56 central trees, 2 %
    of 41 label-private ones, and 21 % of 34 local ones. In local trees, the reports that shape the tree often
    contain more information than those that fill its leaves.

    Without public rows, signed reports, which a user has to request by name, do not show the number of rows
    in a leaf. Leaves of unknown sizes then appear to differ, and such trees seldom warn.
    """
    depths = len(ancestors) - 1
    for node in ancestors[:0:-1]:
        n_splits = int(node.max())
        least = np.log(_LEVEL / depths) - n_splits * np.log(n_candidates)
        if log_p_value(table.aggregate(node)) < least:
            return True
    return False


def log_p_value(table: NoisyTable) -> float:
    """Return the log p-value of the hypothesis that every leaf has the same shares of the labels.

    Parameters
    ----------
    table : NoisyTable

    Returns
    -------
    log_p_value : float
        The natural logarithm; 0 for a single leaf.

    Notes
    -----
    Counts of a leaf with m rows are m p + noise + sampling, with the variances s of the noise and m p of the
    sampling. The squared distances from the line of all m p, in these units, have a sum that is nearly
    chi-square, for the p that minimises it. The tails of Laplace noise are accounted for by its kurtosis: the
    sum is scaled to a chi-square variable of the same mean and variance.
    """
    counts = table.counts
    filled = counts.cell_sizes > 0
    degrees = (np.count_nonzero(filled) - 1) * (counts.n_labels - 1)
    if degrees < 1:
        return 0.0
    found = [(_squares(table, rates), rates) for rates in _candidate_rates(table)]
    squares, rates = min(found, key=lambda pair: float(pair[0].sum()))
    scale = float(_variances(table, rates)[filled].mean()) / (2 * (counts.n_labels - 1))
    tail = float(chdtrc(degrees / scale, squares.sum() / scale))
    return math.log(tail) if tail else float(chi2.logsf(squares.sum() / scale, degrees / scale))


def _variances(table: NoisyTable, rates: FloatArray) -> FloatArray:
    """Approximate variance of every leaf's square: that of chi-square, and the part of the noise's tails."""
    counts = table.counts
    sampling = counts.row_variance * counts.cell_sizes * (1 - rates @ rates) / (counts.n_labels - 1)
    share = table.noise / (table.noise + sampling)
    # Squares of the diagonal of the projection that removes the rates; signed sums have one noise.
    diagonal = np.sum((1 - rates**2 / (rates @ rates)) ** 2) if counts.cell_estimates is not None else 1.0
    return 2 * (counts.n_labels - 1) + table.kurtosis * share**2 * diagonal


def _candidate_rates(table: NoisyTable) -> list[FloatArray]:
    """Estimates of the shares of the labels if leaves are equal; which is best depends on noise and sizes."""
    counts, noise = table.counts, table.noise
    totals, (cells, _) = counts.label_totals(), table.cells
    # Sums over leaves: with equal weights, and with weights that fall with the noise.
    weights = [np.ones(counts.n_leaves), counts.cell_sizes / (2 * noise + counts.cell_sizes)]
    rates = (weight @ totals / max(float(weight @ cells), 1.0) for weight in weights)
    return [_within_simplex(rate, counts.n_rows) for rate in rates]


def _within_simplex(rates: FloatArray, n_rows: int) -> FloatArray:
    """Return positive shares that add up to 1: half a row is added to each."""
    positive = np.maximum(rates, 0.0) + 1e-100
    return (n_rows * positive / positive.sum() + 0.5) / (n_rows + 0.5 * len(rates))


def _squares(table: NoisyTable, rates: FloatArray) -> FloatArray:
    """Squared distance of every leaf's counts from its size times the rates, in units of its covariance.

    The difference d = c - m p of M labels adds up to 0. With an exact m its covariance is C = s (I - 1 1' /
    M) + m (diag(p) - p p'), and ``inverse`` is d' C^+ t in closed form. An error of m of variance v adds v t
    t' to C, with t = 1 / M - p, and its inverse follows from that of C (Sherman and Morrison).
    """
    counts = table.counts
    cells, error = table.cells
    tilt = 1 / counts.n_labels - rates
    difference = counts.label_totals() - np.multiply.outer(cells, rates)
    sampled = counts.row_variance * counts.cell_sizes
    diagonal = table.noise[:, np.newaxis] + np.multiply.outer(sampled, rates)

    def inverse(left: FloatArray, right: FloatArray) -> FloatArray:
        one_sided = np.sum(left / diagonal * rates, axis=1) * np.sum(right / diagonal, axis=1)
        product: FloatArray = np.sum(left * right / diagonal, axis=1)
        return product - one_sided / np.sum(rates / diagonal, axis=1)

    tilts = np.broadcast_to(tilt, difference.shape)
    along = inverse(difference, tilts)
    explained = error * along**2 / (1 + error * inverse(tilts, tilts))
    return inverse(difference, difference) - explained
