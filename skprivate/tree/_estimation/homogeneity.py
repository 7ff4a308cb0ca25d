# SPDX-License-Identifier: BSD-3-Clause
"""A chi-square test of the released counts: do the leaves differ in their shares of the labels?"""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from ..._typing import FloatArray
from .._noisy_leaf_counts import NumberCells
from .._tree_design import ReleaseMechanism
from .leaf_counts import LeafCounts

# Share of trees without any use for which the test says by chance that leaves differ, but for its
# approximations: the rate that was measured stands in `leaves_differ`.
_LEVEL = 0.01
# Excess kurtosis E x^4 / (E x^2)^2 - 3 of Laplace noise.
_LAPLACE_KURTOSIS = 3.0


@dataclass(frozen=True, eq=False)
class NoisyTable:
    """Counts of the leaves, or of the nodes of one depth, with what the test has to know of their noise.

    Attributes
    ----------
    counts : LeafCounts
        The variance is that of the leaf itself, at its estimated size.
    exact_cells : bool
        Whether ``cell_estimates`` are the numbers of rows themselves.
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
        # The variance is that at these sizes, which add up to the rows.
        sizes = counts.cell_sizes * (counts.n_rows / counts.cell_sizes.sum())
        if exact_cells and counts.cell_estimates is not None:
            # A leaf without rows has neither noise nor labels, and its counts are exactly 0.
            sizes = np.maximum(counts.cell_estimates, 0.0)
        contrast = 1.0 if cells is None else cells.contrast
        variance = np.maximum(
            contrast * mechanism.variance(counts.n_rows, sizes) / counts.n_rows, counts.variance * 1e-9
        )
        # Reports are drawn one by one, and their sum is nearly normal.
        kurtosis = 0.0 if mechanism.relation in ("local", "label") else _LAPLACE_KURTOSIS
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
        # A difference has that of two labels.
        return self.counts.n_rows * self.counts.variance / 2

    @property
    def cells(self) -> tuple[FloatArray, FloatArray]:
        """Numbers of rows in the leaves, and the variances of their errors."""
        counts = self.counts
        if counts.cell_estimates is not None:
            errors = np.zeros(counts.n_leaves) if self.exact_cells else counts.n_labels * self.noise
            return counts.cell_estimates, errors
        # Guessed from the public rows: the variance of shares that these leave, by Dirichlet's distribution.
        share = counts.cell_sizes / counts.n_rows
        spread = share * (1 - share) / (counts.n_public + counts.n_leaves + 1)
        return counts.cell_sizes, counts.n_rows**2 * spread


def leaves_differ(
    table: NoisyTable, ancestors: NDArray[np.int32], n_candidates: int = 1, level: float = _LEVEL
) -> bool:
    """Return whether released counts show that the leaves, or the nodes of any depth, differ in their labels.

    A function of what was released and of what is public. Public labels are not looked at, as they may be
    wrong; public rows count where the release does not tell how full a leaf is.

    Parameters
    ----------
    table : NoisyTable
        Of the leaves.
    ancestors : ndarray of int32 of shape (max_depth + 1, n_leaves)
        Nodes of every depth, from `leaf_ancestors`.
    n_candidates : int, default=1
        Number of splits among which the counted rows themselves chose every split; 1 where they chose none.
    level : float, default=0.01
        Of the test. It is divided by the number of depths, and by the number of trees of this shape that the
        rows chose from (Bonferroni).

    Returns
    -------
    differ : bool
        False for a tree of one leaf.

    Notes
    -----
    ``SETTINGS=100 python -m benchmarks utility_warning`` draws 100 settings of two and 100 of four labels
    (500 to 50,000 rows, 2 to 10 features, epsilon .1 to 8, with and without public rows, which have no
    weight). Useless trees, after permuted labels, a typo in the classes or bounds 100 times too wide, were
    called different in 1 % of 1,800 fits, and in at most 4 % of any 100. Useful trees were not called
    different, by how much lower than the base rate's their log loss is: 0 to 1 %: 73 % of 73; 1 to 3 %: 31 %
    of 29; 3 to 10 %: 15 % of 39; more: central 2 % of 56, label 2 % of 41, and local 21 % of 34, where the
    reports that shape a tree often tell more than those that fill its leaves.

    Without public rows, mechanisms that do not tell how full a leaf is (signed reports that are asked for by
    name) make leaves of unknown sizes look different, and their trees seldom warn.
    """
    depths = len(ancestors) - 1
    for node in ancestors[:0:-1]:
        n_splits = int(node.max())
        least = np.log(level / depths) - n_splits * np.log(n_candidates)
        if log_p_value(table.aggregate(node)) < least:
            return True
    return False


def log_p_value(table: NoisyTable) -> float:
    """Return how probable counts are that differ as much, if every leaf has the same shares of the labels.

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
    sampling. Squares of the distances from the line of all m p, in these units, add up to nearly chi-square,
    for the p that makes the sum least. The tails of Laplace noise are taken into account by its kurtosis: the
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
    return float(chi2.logsf(squares.sum() / scale, degrees / scale))


def _variances(table: NoisyTable, rates: FloatArray) -> FloatArray:
    """Variance of every leaf's square, about: that of chi-square, and what the tails of the noise add."""
    counts = table.counts
    sampling = counts.row_variance * counts.cell_sizes * (1 - rates @ rates) / (counts.n_labels - 1)
    share = table.noise / (table.noise + sampling)
    # Squares of the diagonal of the projection that removes the rates; signed sums have one noise.
    diagonal = np.sum((1 - rates**2 / (rates @ rates)) ** 2) if counts.cell_estimates is not None else 1.0
    variances: FloatArray = 2 * (counts.n_labels - 1) + table.kurtosis * share**2 * diagonal
    return variances


def _candidate_rates(table: NoisyTable) -> list[FloatArray]:
    """Estimates of the shares of the labels if leaves are alike; which is best depends on noise and sizes."""
    counts, noise = table.counts, table.noise
    totals, (cells, _) = counts.label_totals(), table.cells
    # Sums over leaves: of all alike, and of those that say something despite their noise.
    weights = [np.ones(counts.n_leaves), counts.cell_sizes / (2 * noise + counts.cell_sizes)]
    rates = (weight @ totals / max(float(weight @ cells), 1.0) for weight in weights)
    return [_within_simplex(rate, counts.n_rows) for rate in rates]


def _within_simplex(rates: FloatArray, n_rows: int) -> FloatArray:
    """Return positive shares that add to 1: half a row is added to each."""
    positive = np.maximum(rates, 0.0) + 1e-100
    shares: FloatArray = (n_rows * positive / positive.sum() + 0.5) / (n_rows + 0.5 * len(rates))
    return shares


def _squares(table: NoisyTable, rates: FloatArray) -> FloatArray:
    """Squared distance of every leaf's counts from its size times the rates, in units of its covariance.

    The difference d = c - m p of M labels adds to 0. With an exact m its covariance is C = s (I - 1 1' / M)
    + m (diag(p) - p p'), and ``inverse`` is d' C^+ t, in a closed form. An error of m of variance v adds
    v t t' to C, with t = 1 / M - p, and its inverse follows from that of C (Sherman and Morrison).
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
    squares: FloatArray = inverse(difference, difference) - explained
    return squares
