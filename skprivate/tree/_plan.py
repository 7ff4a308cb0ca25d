# SPDX-License-Identifier: BSD-3-Clause
"""Public side of a tree: its depth, how far public labels are to be believed, and its design."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._typing import FloatArray, IntArray
from ..accounting import ReleaseRecord
from ..partition import Partition
from ..utils._public_module import public_module
from ._first_phase import FirstPhase
from ._public_model import LeafModel, PublicModel
from ._rows import NumberCells, PublicVotes, usual_variance
from ._splits import PaidTreeMechanism, SplitBudget

# Choice of the depth of a tree: the largest whose leaves a release suffices to estimate.

#: Deepest tree that the automatic rule considers.
DEEPEST = 12
#: Without public rows no cell stops early: 2^16 leaves.
DEEPEST_COMPLETE = 16
#: Rows over the variance of one row's report about a half of them, below which there is no split where public
#: rows say nothing either: the standard deviation of a share in each half is above .2 then.
LEAST_INFORMATION = 24
# Average number of private rows in a leaf below which labels are too few, whatever the noise; compared with 8
# in benchmarks/figures/trees/depth_and_weight.py.
_LEAST_ROWS_OF_A_LEAF = 16


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
    return min(max((n_rows // _LEAST_ROWS_OF_A_LEAF).bit_length() - 1, 1), DEEPEST)


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
        if _LEAST_ROWS_OF_A_LEAF * leaf_counts[depth] > n_rows:
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


# How much of what public labels show in the leaves that they shaped holds on other public rows.

# Parts of the public rows, each of which is predicted from the others.
_FOLDS = 5
# Fewer rows tell nothing of each other.
_LEAST_ROWS_OF_THE_FOLDS = 2 * _FOLDS


def slope_of_public_rows(
    grow: Callable[[FloatArray, NDArray[np.int32]], Partition], votes: PublicVotes, depth: int
) -> float:
    """Return how much of the differences between leaves, beyond their sampling, other public rows confirm.

    A tree that was grown on labels fits their noise too: shares in its leaves differ from the base rate by
    more than sampling explains. Rows are put into folds by their place, and each fold meets a partition of
    the other rows. The slope of its labels on the shares there is divided by the slope that sampling alone
    would leave. A function of public rows alone.

    Parameters
    ----------
    grow : callable
        Grows a partition on rows and labels.
    votes : PublicVotes
        Public rows.
    depth : int
        Depth at which the partitions are cut.

    Returns
    -------
    slope : float
        From 0 to 1; 1 where there are fewer than 10 rows.
    """
    if votes.n_rows < _LEAST_ROWS_OF_THE_FOLDS:
        return 1.0
    product = square = sampled = 0.0
    for fold in range(_FOLDS):
        held = np.arange(votes.n_rows) % _FOLDS == fold
        others, tested = votes.where(~held), votes.where(held)
        partition = grow(others.X, others.labels).truncate(depth)
        counts = others.count(partition)
        base = counts.sum(axis=0) / counts.sum()
        rows = counts.sum(axis=1)
        fitted = (counts - rows[:, np.newaxis] * base) / (rows[:, np.newaxis] + 1.0)
        found = tested.count(partition)
        leaf_rows = found.sum(axis=1)
        product += float(np.sum((found - leaf_rows[:, np.newaxis] * base) * fitted))
        square += float(leaf_rows @ np.sum(fitted**2, axis=1))
        sampled += others.row_variance(partition) * float(leaf_rows @ _sampling(counts, base))
    # Where little is known, the slope is 1: as much is added to both as the product's noise.
    noise = np.sqrt(square * np.mean(base * (1 - base)))
    return float(np.clip((product + noise) / max(max(square - sampled, 0.0) + noise, 1e-300), 0.0, 1.0))


def _sampling(counts: IntArray | FloatArray, base: FloatArray) -> FloatArray:
    """Return what sampling adds to the squared differences of shares in leaves, with one pseudo-row each."""
    rows = counts.sum(axis=1)
    shares = (counts + base) / (rows[:, np.newaxis] + 1.0)
    found: FloatArray = rows / (rows + 1.0) ** 2 * (1.0 - np.sum(shares**2, axis=1))
    return found


# Public design of a tree: partition, release mechanism, classes, bounds and public counts.


@dataclass(frozen=True, eq=False)
class PendingSplits:
    """Public side of splits that private rows will choose.

    Attributes
    ----------
    budget : SplitBudget
        How epsilon is divided.
    votes : PublicVotes
        Public rows; there may be none.
    """

    budget: SplitBudget
    votes: PublicVotes


class ReleaseMechanism(Protocol):
    """A mechanism that releases counts of the private rows by leaf and label.

    A `LocalRandomizer` is one: the counts are those of its reports. See there for the members.
    """

    name: str
    relation: str
    epsilon: Fraction
    n_cells: int
    n_labels: int

    @property
    def sensitivity(self) -> int | None:
        """Integer L1 sensitivity, where there is additive noise."""

    @property
    def noise_scale(self) -> int | Fraction | None:
        """Scale of the noise on the integers, where there is additive noise."""

    def describe(self) -> str:
        """Return the mechanism and its resolved parameters in a few words."""

    def simulate(self, categories: ArrayLike, random_state: Any = None) -> IntArray:
        """Draw what is released of rows of the categories ``n_labels * leaf + label``."""

    def estimate(self, counts: ArrayLike, n: int) -> FloatArray:
        """Return signed sums, or numbers by label where there are more than two."""

    def estimate_cells(self, counts: ArrayLike, n: int) -> FloatArray | None:
        """Return unbiased estimates of the rows in the leaves; None where the release has none."""

    def variance(self, n: int, cell_counts: ArrayLike | None = None) -> FloatArray:
        """Return the variance of the difference of two labels' estimates in every leaf."""


@public_module("skprivate.tree")
@dataclass(frozen=True, eq=False)
class TreeDesign:
    """The public side of a private tree: partition, randomizer, classes and public counts.

    Attributes
    ----------
    partition : Partition
        The cells.
    randomizer : ReleaseMechanism
        The mechanism that releases counts of the categories.
    classes : ndarray of shape (n_labels,)
        The labels, sorted; of a tree of numbers the two bounds of these.
    bounds : tuple of two ndarrays of shape (n_features,)
        Lower and upper bounds of X.
    rule : str
        The rule that the partition was grown by.
    public_counts : ndarray of shape (n_leaves, n_labels)
        Public rows by leaf and label; of numbers, sums of their shares.
    feature_names : tuple of str or None
        Names of the columns of X, where they have some.
    public_slope : float
        From `slope_of_public_rows`.
    pending : PendingSplits or None
        What is needed where private rows choose the splits, which are not there yet.
    public_model : PublicModel or None
        A classifier that was fitted to public rows.
    leaf_model : LeafModel or None
        What it predicts in the leaves.
    first_phase : FirstPhase or None
        The reports that shape the partition, which is the root before they are there; None where none do.
    cells : NumberCells or None
        What the cells of a release about numbers say; None of labels.
    public_row_variance : float
        From `PublicVotes.row_variance`.
    public_total_variance : float
        The same on a tree of a single leaf; without public rows what is usual.
    declared : ndarray of shape (2,), or None
        Bounds of numbers before they were narrowed to `classes`; None: they were not.
    split_scales : tuple of float
        Scale of the noise of every level's scores, in rows, where private rows chose the splits.
    n_candidates : int
        Number of the candidates that were compared in a node.
    """

    partition: Partition
    randomizer: ReleaseMechanism
    classes: NDArray[Any]
    bounds: tuple[FloatArray, FloatArray]
    rule: str
    public_counts: IntArray | FloatArray
    feature_names: tuple[str, ...] | None = None
    public_slope: float = 1.0
    pending: PendingSplits | None = None
    public_model: PublicModel | None = None
    leaf_model: LeafModel | None = None
    first_phase: FirstPhase | None = None
    cells: NumberCells | None = None
    public_row_variance: float = 1.0
    public_total_variance: float = 1.0
    declared: NDArray[Any] | None = None
    split_scales: tuple[float, ...] = ()
    n_candidates: int = 1

    def with_leaves(
        self, partition: Partition, randomizer: ReleaseMechanism, votes: PublicVotes | None
    ) -> "TreeDesign":
        """Return the finished design on a partition, with these public rows in its leaves."""
        nobody = np.zeros((partition.n_leaves, len(self.classes)), dtype=np.int64)
        return replace(
            self,
            partition=partition,
            randomizer=randomizer,
            public_counts=nobody if votes is None else votes.count(partition),
            public_row_variance=1.0 if votes is None else votes.row_variance(partition),
            public_total_variance=usual_variance(self.cells, votes),
            pending=None,
            leaf_model=None if self.public_model is None else self.public_model.on_leaves(partition),
        )

    def describe_mechanism(self) -> str:
        """Return what is released, in a few words."""
        own, first = self.randomizer.describe(), self.first_phase
        return own if first is None else f"{first.randomizer.describe()}; then, by the other clients, {own}"

    def releases(self) -> tuple[ReleaseRecord, ...]:
        """Return what is released, in order."""
        if isinstance(self.randomizer, PaidTreeMechanism):
            return self.randomizer.releases
        leaves = ReleaseRecord.of("counts of the leaves", self.randomizer)
        if self.first_phase is None:
            return (leaves,)
        rows = "the clients of the first phase", "the other clients"
        shape = ReleaseRecord.of("counts of columns", self.first_phase.randomizer, rows=rows[0])
        return shape, replace(leaves, rows=rows[1])

    def reports_of_leaves(self, n_used: int) -> int:
        """Return how many of so many private rows tell of the leaves."""
        return n_used if self.first_phase is None else n_used - self.first_phase.n_reports

    @property
    def n_public(self) -> int:
        """Number of public rows."""
        return round(float(self.public_counts.sum()))
