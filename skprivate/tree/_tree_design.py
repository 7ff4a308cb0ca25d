# SPDX-License-Identifier: BSD-3-Clause
"""Public design of a tree: partition, release mechanism, classes, bounds and public counts."""

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._typing import FloatArray, IntArray
from ..accounting import ReleaseRecord
from ..partition import Partition
from ..utils._public_module import public_module
from ._growth.first_phase import FirstPhase
from ._growth.split_budget import PaidTreeMechanism, SplitBudget
from ._noisy_leaf_counts import USUAL_VARIANCE, NumberCells
from ._public_model import LeafModel, PublicModel
from ._tree_rows import PublicVotes


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
            public_total_variance=self._total_variance(votes),
            pending=None,
            leaf_model=None if self.public_model is None else self.public_model.on_leaves(partition),
        )

    def _total_variance(self, votes: PublicVotes | None) -> float:
        if self.cells is None:
            return 1.0
        told = None if votes is None else votes.total_variance
        return USUAL_VARIANCE if told is None else told

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
