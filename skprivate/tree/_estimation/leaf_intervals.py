# SPDX-License-Identifier: BSD-3-Clause
"""Confidence intervals of the means of leaves, from what was released of numbers."""

import math
from dataclasses import replace

import numpy as np
from scipy.stats import norm

from ..._typing import FloatArray, IntArray
from .._noisy_leaf_counts import NoisyHistogram, NumberCells
from .._tree_design import TreeDesign
from .leaf_counts import LeafCounts
from .number_variance import with_variances
from .pruning import leaf_ancestors

# Excess kurtosis of Laplace noise.
_LAPLACE_KURTOSIS = 3.0
# Least variance within a leaf, as a part of the mean one: an estimate of it may be 0 by its own noise.
_LEAST_SPREAD = 0.25


def share_intervals(
    design: TreeDesign, released: IntArray, n_rows: int, shares: FloatArray, confidence: float
) -> FloatArray:
    """Return intervals of the mean share t of the width in every leaf.

    A mean m is in the interval of a leaf if the released sum of t - m over its rows, whose mean is 0 then, is
    no more standard deviations away from 0 than a quantile says. That is a quadratic inequality in m.

    Parameters
    ----------
    design : TreeDesign
    released : ndarray
        What the design's randomizer released.
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
    # Of one cell: the variance of a difference is that of two.
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
        kurtosis = _LAPLACE_KURTOSIS * fourth / np.maximum(of_noise + sampling, 1e-300) ** 2
    z = _quantile(confidence, kurtosis)
    a = rows**2 - z**2 * noise * n_noisy
    b = sums * rows - z**2 * noise * line
    c = sums**2 - z**2 * (noise * square + sampling)
    with np.errstate(invalid="ignore", divide="ignore"):
        half = np.sqrt(np.maximum(b**2 - a * c, 0.0))
        ends = np.column_stack([b - half, b + half]) / a[:, np.newaxis]
    # Where the number of rows may be 0 by its noise, every mean is possible.
    seen = ((a > 0) & (rows > 0))[:, np.newaxis]
    intervals: FloatArray = np.clip(np.where(seen, ends, [0.0, 1.0]), 0.0, 1.0)
    return intervals


def _cell_estimates(design: TreeDesign, released: IntArray, n_rows: int) -> FloatArray:
    """Return estimates of the sums by leaf and cell."""
    found = design.randomizer.estimate(released, n_rows)
    if found.ndim == 2:
        return found
    rows = design.randomizer.estimate_cells(released, n_rows)
    assert rows is not None
    return np.column_stack([rows - found, rows + found]) / 2


def _quantile(confidence: float, kurtosis: FloatArray | float) -> FloatArray | float:
    """Return the number of standard deviations that hold so much of a symmetric distribution."""
    z = float(norm.ppf(0.5 + confidence / 2))
    return z + (z**3 - 3 * z) * kurtosis / 24


def _spreads(
    cells: NumberCells, estimates: FloatArray, counts: LeafCounts, noise: FloatArray, shares: FloatArray
) -> FloatArray:
    """Return the variance of a row's t within every leaf, drawn to the mean one as noise demands."""
    largest = shares * (1 - shares)
    if cells.n_cells == 2:
        return largest
    rows = np.maximum(estimates.sum(axis=1), 1.0)
    usual = counts.row_variance * float(np.average(largest, weights=counts.cell_sizes))
    # The mean of (t - s)^2 about the estimated mean s: no less than the variance, but for noise.
    slopes = cells.squares - 2 * shares[:, np.newaxis] * cells.values + (shares**2)[:, np.newaxis]
    found = np.sum(estimates * slopes, axis=1) / rows
    error = noise * np.sum(slopes**2, axis=1) / rows**2 + 2 * usual**2 / rows
    weight = 1.0 / error
    between = max(float(np.average((found - usual) ** 2 - error, weights=weight**2)), 0.0)
    kept = between / (between + error)
    spreads: FloatArray = np.clip(usual + kept * (found - usual), _LEAST_SPREAD * usual, largest + usual)
    return spreads


def _selection_variance(design: TreeDesign, counts: LeafCounts, spreads: FloatArray) -> FloatArray:
    """Return the variance of a leaf's mean by the choice of splits on the rows that it is the mean of.

    Of candidates without signal, whose contrasts have the standard deviation c by sampling, the best by noisy
    scores has a mean of about c^2 / s, where s is the scale of the noise, and of no more than c times
    ``sqrt(2 log M)`` where M are compared. Half of that is the sum that the two sides are drawn apart by; the
    levels of a path add their squares.
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
