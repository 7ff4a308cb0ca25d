# SPDX-License-Identifier: BSD-3-Clause
"""Counts of the leaves of a tree: released estimates of private rows, their variance, and public rows."""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ..._typing import FloatArray, IntArray
from .._noisy_leaf_counts import NoisyHistogram, NumberCells
from .._tree_design import ReleaseMechanism, TreeDesign

# Public rows, or sums of them over leaves.
Counts = IntArray | FloatArray

# External counts may be exact, and the choice of a depth divides by the variance.
_LEAST_VARIANCE = 1e-100


@dataclass(frozen=True, eq=False)
class LeafCounts:
    """What is known of every leaf, or of every node that stands for several leaves.

    All of it was released or is public.

    Attributes
    ----------
    label_estimates : ndarray of shape (n_leaves, n_labels)
        Unbiased estimates of the private rows by leaf and label, up to one constant a leaf: from signed sums
        W, the columns -W/2 and W/2.
    n_rows : int
        Number of private rows in the tree.
    public_counts : ndarray of shape (n_leaves, n_labels)
        Public rows by leaf and label.
    variance : ndarray of shape (n_leaves,)
        Variance of one row's report about the difference of two labels in the leaf, averaged over the pairs
        of labels: that of the estimates is ``n_rows`` times as large.
    cell_sizes : ndarray of shape (n_leaves,)
        Estimates of the private rows in the leaf, all positive.
    cell_estimates : ndarray of shape (n_leaves,), or None
        Unbiased estimates of the private rows in the leaf. None: they do not follow from the release, and
        private rows are taken to fill the leaves as the public rows do.
    public_slope : float
        From `slope_of_public_rows`.
    row_variance, public_row_variance : float
        Variance of what a private, or a public, row adds to a share in its leaf, as a part of that of a
        label, p (1 - p): 1 of labels, less of numbers that are not rounded to the ends of their width.
    total_variance : float
        The same of all private rows together, but for random rounding of numbers.
    """

    label_estimates: FloatArray
    n_rows: int
    public_counts: Counts
    variance: FloatArray
    cell_sizes: FloatArray
    cell_estimates: FloatArray | None = None
    public_slope: float = 1.0
    row_variance: float = 1.0
    public_row_variance: float = 1.0
    total_variance: float = 1.0

    @classmethod
    def of(
        cls,
        label_estimates: FloatArray,
        n_rows: int,
        public_counts: Counts,
        variance: float | FloatArray,
        cell_estimates: FloatArray | None = None,
        public_slope: float = 1.0,
    ) -> Self:
        """Return the counts of leaves; their cell sizes follow from the other attributes."""
        variances = np.full(len(label_estimates), variance, dtype=np.float64)
        sizes = estimate_sizes(public_counts, n_rows, cell_estimates, variances)
        return cls(label_estimates, n_rows, public_counts, variances, sizes, cell_estimates, public_slope)

    @classmethod
    def from_release(cls, design: TreeDesign, counts: IntArray, n_rows: int) -> Self:
        """Return what the counts that a design's mechanism released about n_rows private rows say."""
        mechanism = design.randomizer
        if isinstance(mechanism, NoisyHistogram):
            n_rows = mechanism.count_rows(counts, n_rows)
        released = mechanism.estimate(counts, n_rows)
        if released.ndim == 1:
            released = np.column_stack([-released / 2, released / 2])
        elif design.cells is not None:
            released = design.cells.halves(released)
        found = cls.of(
            released,
            n_rows,
            design.public_counts,
            variance_per_row(mechanism, n_rows, design.cells),
            mechanism.estimate_cells(counts, n_rows),
            design.public_slope,
        )
        weighted = mechanism.weight_variance if isinstance(mechanism, NoisyHistogram) else 1.0
        return replace(
            found,
            row_variance=weighted,
            public_row_variance=design.public_row_variance,
            total_variance=design.public_total_variance,
        )

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return self.label_estimates.shape[0]

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return self.label_estimates.shape[1]

    @property
    def n_public(self) -> int:
        """Number of public rows in the tree."""
        return round(float(self.public_counts.sum()))

    @property
    def drift_unit(self) -> float:
        """Variance of all rows, in which a drift is counted, in units of the sampling of a private row."""
        return self.total_variance / self.row_variance

    @property
    def public_noise(self) -> float:
        """Sampling variance of a public row, in units of that of a private one."""
        return self.public_row_variance / self.row_variance

    @property
    def public_rows(self) -> Counts:
        """Number of public rows in every leaf."""
        return self.public_counts.sum(axis=1)

    def shares(self) -> FloatArray:
        """Return the estimated share of the private rows in every leaf; see `estimate_shares`."""
        return estimate_shares(self.public_counts, self.n_rows, self.cell_estimates, self.variance)

    def label_totals(self) -> FloatArray:
        """Return estimates of the private rows by leaf and label, with the constant of every leaf.

        It follows from the released number of rows in the leaf, or else from the estimated one.
        """
        cells = self.cell_sizes if self.cell_estimates is None else self.cell_estimates
        missing = cells - self.label_estimates.sum(axis=1)
        totals: FloatArray = self.label_estimates + missing[:, np.newaxis] / self.n_labels
        return totals

    def aggregate(self, node: NDArray[np.int32]) -> "LeafCounts":
        """Return the counts of nodes, each the sum over its leaves; ``node[i]`` is the node of leaf i."""
        cells = self.cell_estimates
        return LeafCounts(
            label_estimates=_sum_by_node(node, self.label_estimates),
            n_rows=self.n_rows,
            public_counts=_sum_by_node(node, self.public_counts),
            variance=_sum_by_node(node, self.variance),
            cell_sizes=_sum_by_node(node, self.cell_sizes),
            cell_estimates=None if cells is None else _sum_by_node(node, cells),
            public_slope=self.public_slope,
            row_variance=self.row_variance,
            public_row_variance=self.public_row_variance,
            total_variance=self.total_variance,
        )


def estimate_shares(
    public_counts: Counts,
    n_rows: int = 0,
    cell_estimates: FloatArray | None = None,
    variance: FloatArray | None = None,
) -> FloatArray:
    """Return the share of rows like the private ones in every leaf.

    From public rows, one pseudo-row a leaf; where there are unbiased estimates of the cells, moved towards
    these as far as their noise and sampling allow (James-Stein), so that P(X) need not be the public rows'.

    Parameters
    ----------
    public_counts, n_rows, cell_estimates, variance
        As in `LeafCounts`; `n_rows` and `variance` are used with `cell_estimates`.

    Returns
    -------
    shares : ndarray of shape (n_leaves,)
        Positive, with sum 1.
    """
    moved = _moved_shares(public_counts, n_rows, cell_estimates, variance, 1.0)
    return moved / moved.sum()


def estimate_sizes(
    public_counts: Counts, n_rows: int, cell_estimates: FloatArray | None, variance: FloatArray
) -> FloatArray:
    """Return how many of the private rows are in every leaf, all positive.

    As `estimate_shares`, but of the rows at hand, of which the release tells all but for its noise.
    """
    return n_rows * _moved_shares(public_counts, n_rows, cell_estimates, variance, 0.0)


def _moved_shares(
    public_counts: Counts,
    n_rows: int,
    cell_estimates: FloatArray | None,
    variance: FloatArray | None,
    sampling: float,
) -> FloatArray:
    """Shares by public rows, moved towards those that were released; none is 0, and no sum is kept."""
    per_leaf = public_counts.sum(axis=1)
    shares: FloatArray = (per_leaf + 1.0) / (per_leaf.sum() + len(per_leaf))
    if cell_estimates is None or variance is None or n_rows == 0:
        return shares
    difference = cell_estimates / n_rows - shares
    # A label's estimate has half the variance of a difference; a cell is the sum of its labels.
    per_row = 0.5 * public_counts.shape[1] * float(variance.sum())
    noise = (per_row + sampling) / n_rows
    # No further than as far as the shares are from nothing: estimates beyond it are noise.
    spread = min(max(float(np.sum(difference**2)) - noise, 0.0), float(np.sum(shares**2)))
    trust = spread / max(spread + noise, 1e-300)
    return np.maximum(shares + trust * difference, 1.0 / (n_rows + len(cell_estimates)))


def variance_per_row(mechanism: ReleaseMechanism, n_rows: int, cells: NumberCells | None = None) -> float:
    """Variance, a private row, of the difference of two labels' estimates in a leaf; above 0.

    Of numbers: of the sum of twice their shares of the width, less 1.
    """
    n_rows = max(n_rows, 1)
    contrast = 1.0 if cells is None else cells.contrast
    return max(contrast * float(mechanism.variance(n_rows)[0]) / n_rows, _LEAST_VARIANCE)


def _sum_by_node(node: NDArray[np.int32], values: Counts) -> FloatArray:
    """Sums over the leaves of every node; one column per label where there are several."""
    if values.ndim == 1:
        return np.bincount(node, values).astype(np.float64)
    return np.column_stack([np.bincount(node, column) for column in values.T])
