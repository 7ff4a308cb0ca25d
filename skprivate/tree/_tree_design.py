# SPDX-License-Identifier: BSD-3-Clause
"""Public design of a tree: partition, release mechanism, classes, bounds and public counts."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

from numpy.typing import ArrayLike, NDArray

from .._typing import FloatArray, IntArray
from ..partition import Partition
from ..utils._public_module import public_module


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
        The labels, sorted.
    bounds : tuple of two ndarrays of shape (n_features,)
        Lower and upper bounds of X.
    rule : str
        The rule that the partition was grown by.
    public_counts : ndarray of int64 of shape (n_leaves, n_labels)
        Public rows by leaf and label.
    feature_names : tuple of str or None
        Names of the columns of X, where they have some.
    """

    partition: Partition
    randomizer: ReleaseMechanism
    classes: NDArray[Any]
    bounds: tuple[FloatArray, FloatArray]
    rule: str
    public_counts: IntArray
    feature_names: tuple[str, ...] | None = None

    @property
    def n_public(self) -> int:
        """Number of public rows."""
        return int(self.public_counts.sum())
