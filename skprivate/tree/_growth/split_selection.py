# SPDX-License-Identifier: BSD-3-Clause
"""Splits that private rows choose: level by level, in every node the purest one by noisy scores."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..._typing import FloatArray, IntArray
from ...accounting import PrivacySpent
from ...noise import DiscreteLaplaceMechanism
from ...noise._noisy_max import NoisyMax
from ...partition import DerivedColumns, Partition
from ...rounds._driver import Round, Rounds
from ...rounds._plans._masses.histograms import MassHistogramsPlan
from ...rounds._plans._masses.masses import LabelMasses, Masses, NumberMasses
from ...rounds._plans.histograms import MOST_COUNTS, HistogramsPlan
from ...utils import check_epsilon
from .._noisy_leaf_counts import _scale
from .contrast import IMPURITY_BITS, contrast_scores

# Squares of fewer rows, and their sums, fit 64 bits.
_FITS = 2**31
# Below every score, which is above -2^52, even with noise, which is below 2^58: 44 times the largest scale.
_NO_CANDIDATE = -(2**62)


def selection_noise(
    epsilon: float | Fraction, rows_per_unit: int = 1, largest: int = 1
) -> DiscreteLaplaceMechanism:
    """Return the mechanism whose noise a level's scores get.

    Parameters
    ----------
    epsilon : float or Fraction
        Privacy loss of a level, > 0 and finite.
    rows_per_unit : int, default=1
        Rows that one unit of privacy contributes at most.
    largest : int, default=1
        Bound on a row's weight, in steps; 1: rows have no weights.

    Returns
    -------
    mechanism : DiscreteLaplaceMechanism
        Its ``epsilon``, a Fraction, is what the level really costs: never more than was asked for.

    Raises
    ------
    ValueError
        Epsilon is so small that the scale passes 2^52.
    """
    # A unit's rows are taken away and others put in: scores move by amounts within a range of the weight.
    sensitivity = 2 * rows_per_unit * largest * 2**IMPURITY_BITS
    return DiscreteLaplaceMechanism.from_scale(_scale(check_epsilon(epsilon), sensitivity), sensitivity)


class SplitSelection:
    """The choice of a split in every node of a partition: report-noisy-max of impurities, or contrasts.

    Parameters
    ----------
    plan : HistogramsPlan or MassHistogramsPlan
        What is counted; its thresholds are the candidates.
    mechanism : DiscreteLaplaceMechanism
        From `selection_noise`, for the plan's largest weight.

    Notes
    -----
    **Privacy.** Relation: replace-one. Released is the number of the chosen candidate of every node, nothing
    else. The score of a candidate is minus the Gini impurity of its two sides: half of a side's number of
    rows times its Gini index, rounded down to a multiple of 2^-10, summed over both. A row that is added to
    a node lowers the scores of all its candidates by between 0 and 1. To each score geometric noise is added,
    P(x) proportional to exp(-x / scale) on x = 0, 1, 2, ... steps of 2^-10; the highest one is chosen, the
    first of equal ones. Adding or taking away a row changes the probability of a node's choice by at most the
    factor exp(2^10 / scale); replacing ``rows_per_unit`` rows changes that of all choices of a level by at
    most exp(2 * rows_per_unit * 2^10 / scale), which is exp(mechanism.epsilon).

    With weights all of this holds for steps of weight in place of rows, and a row is ``largest`` steps at
    most. Of numbers the score is that of `contrast_scores`, which a row may raise at some candidates and
    lower at others, by a half at most: within a range of 1 as well.

    Proof: :doc:`/proofs/tree_release`.

    References
    ----------
    McKenna, Sheldon, Permute-and-flip: a new mechanism for differentially private selection, 2020.
    Ding, Kifer, Saghaian, Steinke, Wang, Xiao, Zhang, The permute-and-flip mechanism is identical to
    report-noisy-max with exponential noise, 2021.
    """

    def __init__(self, plan: HistogramsPlan, mechanism: DiscreteLaplaceMechanism) -> None:
        self._plan, self._mechanism = plan, mechanism

    def randomize(self, values: IntArray, entropy: Any) -> IntArray:
        """Return the number of every node's chosen candidate, of shape (n_nodes,); -1 where a node has none.

        Candidates are numbered column by column, in each column from the lowest threshold to the highest.
        """
        scores = np.concatenate([self._score(table) for table in self._plan.by_column(values)], axis=1)
        allowed = ~np.isnan(self._plan.thresholds)
        scores[~allowed] = _NO_CANDIDATE
        chosen = NoisyMax(self._mechanism).randomize(scores, entropy)
        return np.where(allowed.any(axis=1), chosen, -1)

    def _score(self, table: IntArray) -> IntArray:
        masses = self._plan.masses if isinstance(self._plan, MassHistogramsPlan) else None
        return contrast_scores(table, masses.bits) if type(masses) is NumberMasses else split_scores(table)


def split_scores(table: IntArray) -> IntArray:
    """Return the scores of the thresholds between bins, in steps of 2^-10 rows: the higher, the purer.

    Parameters
    ----------
    table : ndarray of int64 of shape (n_nodes, n_labels, n_bins)
        Exact counts of rows, or of steps of their weights; at most 2^40 in a node.

    Returns
    -------
    scores : ndarray of int64 of shape (n_nodes, n_bins - 1)
        Minus the impurity of the bins before the threshold, and of those behind it.
    """
    left = np.cumsum(table[:, :, :-1], axis=2)
    right = table.sum(axis=2, keepdims=True) - left
    return -(impurity(left) + impurity(right))


def impurity(counts: IntArray) -> IntArray:
    """Return half of n times the Gini index of label counts, ``floor(2^10 (n - sum c^2 / n) / 2)``, exactly.

    Parameters
    ----------
    counts : ndarray of int64 of shape (n_nodes, n_labels, ...)

    Returns
    -------
    impurity : ndarray of int64 of shape (n_nodes, ...)
        0 where there is no row.
    """
    n = counts.sum(axis=1)
    if n.size and n.max() >= _FITS:
        # Python's integers have no end.
        counts, n = counts.astype(object), n.astype(object)
    pairs = n * n - (counts * counts).sum(axis=1)
    n = np.maximum(n, 1)
    half = 2 ** (IMPURITY_BITS - 1)
    return np.asarray(half * (pairs // n) + half * (pairs % n) // n, dtype=np.int64)


def chosen_splits(plan: HistogramsPlan, chosen: IntArray) -> tuple[NDArray[np.int32], FloatArray]:
    """Return column and threshold of the candidates that the nodes chose; -1 and NaN where there is none."""
    columns = np.repeat(np.arange(len(plan.n_bins)), np.array(plan.n_bins) - 1)
    column = np.where(chosen < 0, -1, columns[chosen]).astype(np.int32)
    threshold = np.where(chosen < 0, np.nan, plan.thresholds[np.arange(len(chosen)), chosen])
    return column, threshold


def most_levels(n_bins: Sequence[int], n_labels: int) -> int:
    """Return how many levels of splits there is room for: the counts of the last one take 1 GiB at most."""
    return (MOST_COUNTS // (sum(n_bins) * n_labels)).bit_length()


def grow_private_partition(
    lower: ArrayLike,
    upper: ArrayLike,
    target: int | Masses,
    level_epsilons: Sequence[Fraction],
    rows_per_unit: int,
    n_bins: Sequence[int],
    spent: PrivacySpent | None,
    derived: DerivedColumns | None = None,
) -> Rounds[Partition]:
    """Grow a partition level by level, one round a level.

    Parameters
    ----------
    lower, upper : array-like of shape (n_columns,)
        The public box of the columns that are compared.
    target : int or Masses
        Number of labels, or what rows add to the leaves: numbers, and rows with weights, need this.
    level_epsilons : sequence of Fraction
        Privacy loss of every level, from the root; the depth of the tree is at most their number.
    rows_per_unit : int
        Rows that one unit of privacy contributes at most.
    n_bins : sequence of int
        Bins of every column, 2 or more.
    spent : PrivacySpent or None
        What the first round charges. It must cover all levels: the sum of `selection_noise(...).epsilon`,
        for the largest weight of the masses.
    derived : DerivedColumns, default=None
        The columns that are compared; None: those of X.

    Yields
    ------
    round : Round
        It releases the number of the chosen candidate of every leaf so far.

    Returns
    -------
    partition : Partition
        A leaf is above the last level only where its box has no width in any column. If the whole box is a
        point, no round is yielded, and nothing is charged here.

    Raises
    ------
    ValueError
        Before the first round: an epsilon is too small, or the last level has too many counts.
    """
    masses = LabelMasses(target) if isinstance(target, int) else target.for_splits()
    mechanisms = [selection_noise(epsilon, rows_per_unit, masses.largest) for epsilon in level_epsilons]
    if len(mechanisms) > most_levels(n_bins, masses.n_cells):
        raise ValueError(
            "the histograms of the last level take more than 1 GiB: declare fewer levels, columns or bins."
        )
    levels: list[tuple[NDArray[np.int32], FloatArray]] = []
    partition = _assemble(levels, lower, upper, derived)
    for mechanism in mechanisms:
        plan = _plan(partition, tuple(n_bins), masses)
        if np.isnan(plan.thresholds).all():
            break
        chosen = yield Round(plan, SplitSelection(plan, mechanism), spent)
        spent = None
        column, threshold = chosen_splits(plan, chosen)
        # Leaves of higher levels come first: they have no candidate.
        n_nodes = np.count_nonzero(partition.depth == len(levels))
        levels.append((column[-n_nodes:], threshold[-n_nodes:]))
        partition = _assemble(levels, lower, upper, derived)
    return partition


def _plan(partition: Partition, n_bins: tuple[int, ...], masses: Masses) -> HistogramsPlan:
    """Return the plan of one level: rows without weights are counted, which is faster."""
    if type(masses) is LabelMasses and masses.largest == 1:
        return HistogramsPlan(partition, n_bins, masses.n_cells)
    return MassHistogramsPlan.of(partition, n_bins, masses)


def _assemble(
    levels: list[tuple[NDArray[np.int32], FloatArray]],
    lower: ArrayLike,
    upper: ArrayLike,
    derived: DerivedColumns | None,
) -> Partition:
    """Return the partition of levels of columns, -1 at leaves, and thresholds; then come leaves."""
    n_leaves = 2 * np.count_nonzero(levels[-1][0] >= 0) if levels else 1
    columns = [*(column for column, _ in levels), np.full(n_leaves, -1, dtype=np.int32)]
    cuts = [np.empty(0), *(threshold[column >= 0] for column, threshold in levels)]
    return Partition.from_splits(np.concatenate(columns), np.concatenate(cuts), lower, upper, derived=derived)
