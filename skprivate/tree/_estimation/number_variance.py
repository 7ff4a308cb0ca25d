# SPDX-License-Identifier: BSD-3-Clause
"""How much numbers vary, in all and within leaves, from released sums of their squares."""

from dataclasses import replace

import numpy as np

from ..._typing import FloatArray, IntArray
from ...utils._posteriors.truncated_normal import truncated_mean
from .._noisy_leaf_counts import NumberCells
from .._tree_design import TreeDesign
from .leaf_counts import LeafCounts

# Least of both, which keeps divisions finite: a standard deviation of a thousandth of the largest.
_LEAST = 1e-6


def with_variances(
    counts: LeafCounts, design: TreeDesign, released: IntArray, shares: FloatArray | None = None
) -> LeafCounts:
    """Return the counts with what the release says of the variance of the numbers.

    The variance of all numbers is that of a label, p (1 - p), times a part R, and the mean variance within
    leaves is that of labels with the leaves' means, times a part r. R follows from the sums of the numbers
    and of their squares, over all leaves; r from R, less the variance of the leaves' means.

    Parameters
    ----------
    counts : LeafCounts
    design : TreeDesign
    released : ndarray
        What the design's randomizer released.
    shares : ndarray of shape (n_leaves,), default=None
        Means of the leaves, as shares of the width; None: not known yet, and r is R.

    Returns
    -------
    counts : LeafCounts
        As they were where a release has two cells: numbers are rounded to the ends of their width then, and
        public rows alone tell how much they vary.
    """
    cells = design.cells
    if cells is None or cells.n_cells == 2 or counts.n_rows == 0:
        return counts
    estimates = design.randomizer.estimate(released, counts.n_rows)
    noise = counts.n_rows * float(counts.variance.sum()) / (2 * cells.contrast)
    mean, whole = _total_part(cells, estimates, counts.n_rows, noise, counts.total_variance)
    within = whole
    if shares is not None:
        weights = counts.shares()
        between = float(weights @ (shares - mean) ** 2)
        left = whole * mean * (1 - mean) - between
        within = left / max(float(weights @ (shares * (1 - shares))), 1e-300)
    # Leaves tell no more of a row than noise lets be seen.
    least = max(_LEAST, whole / 100)
    # Times what weights add to it, which the counts of a release come with.
    varied = counts.row_variance * float(np.clip(within, least, 1.0))
    return replace(counts, total_variance=whole, row_variance=varied)


def _total_part(
    cells: NumberCells, estimates: FloatArray, n_rows: int, noise: float, usual: float
) -> tuple[float, float]:
    """Return the mean, and the variance as a part of the largest; `noise` is the variance of a cell's sum.

    The posterior mean under a normal prior around what is usual, or what public rows tell, with a standard
    deviation as large as that.
    """
    sums = estimates.sum(axis=0)
    mean = float(np.clip(sums @ cells.values / n_rows, 1e-3, 1 - 1e-3))
    largest = mean * (1 - mean)
    found = float(sums @ cells.squares / n_rows) - mean**2
    error = np.sqrt(noise * np.sum((cells.squares - 2 * mean * cells.values) ** 2)) / n_rows
    own, prior = 1 / max((error / largest) ** 2, 1e-18), 1 / usual**2
    center = (own * found / largest + prior * usual) / (own + prior)
    part = truncated_mean(np.array([center]), float((own + prior) ** -0.5))
    return mean, float(np.clip(part[0], _LEAST, 1.0))
