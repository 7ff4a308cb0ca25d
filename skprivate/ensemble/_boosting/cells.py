# SPDX-License-Identifier: BSD-3-Clause
"""Cells of steps, from noisy counts: finer bins for many rows, joined ones for few, random grids."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..._typing import FloatArray
from ...rounds._plans._additive.codes import CellGrid, CodedFeature
from .columns import ColumnCells

# A bin is cut into finer ones where it has so many times the rows of a bin, and so many standard deviations
# of a count.
_HEAVY, _HEAVY_STDS = 2.0, 4.0
# Rows of a finer bin, in standard deviations of a count, and most of them.
_ROWS_OF_A_FINER_BIN, _MOST_FINER = 3.0, 32
# Least part of a bin's rows that the last one has.
_LAST = 0.35
# Bins are joined up to this part of the rows that they should have.
_FULL = 0.99


@dataclass(frozen=True, eq=False)
class CountedCells:
    """Cells of one feature, and what is known of the rows in them.

    Attributes
    ----------
    feature : CodedFeature
    sizes : ndarray of shape (n_cells,)
        Estimated numbers of rows, above 0; they add up to n.
    """

    feature: CodedFeature
    sizes: FloatArray

    @property
    def n_missing(self) -> int:
        """1 where there is a cell of missing values, the last one."""
        return int(self.feature.has_missing)

    @property
    def positions(self) -> FloatArray | None:
        """Middle ranks of ordered cells, NaN for that of missing values; None where there is no order."""
        if not self.feature.is_number:
            return None
        sizes = self.sizes[: len(self.sizes) - self.n_missing]
        ranks = (np.cumsum(sizes) - sizes / 2) / sizes.sum()
        return np.append(ranks, np.full(self.n_missing, np.nan))


@dataclass(frozen=True, eq=False)
class NoisyCounts:
    """Counts of the finest cells of one feature as they were released, and the deviation of their noise."""

    feature: CodedFeature
    counts: FloatArray
    std: float


def posterior_sizes(counts: FloatArray, variance: float, total: float, least: float = 0.0) -> FloatArray:
    """Return counts that are shrunk to equal ones, not below 0, and add up to a total.

    Notes
    -----
    James and Stein's estimator toward the mean.
    """
    mean = counts.mean()
    square = float(np.sum((counts - mean) ** 2))
    kept = max(0.0, 1.0 - (len(counts) - 1) * variance / max(square, 1e-300))
    sizes = np.maximum(mean + kept * (counts - mean), 0.0) + least
    return sizes * (total / sizes.sum()) if sizes.sum() > 0 else np.full(len(sizes), total / len(sizes))


def first_cells(feature: CodedFeature, counts: FloatArray, std: float, n_rows: int) -> CountedCells:
    """Return the cells of a feature as they were counted first."""
    # A level that nobody seems to have may still come.
    least = 1e-9 if feature.is_number else 1.0
    return CountedCells(feature, posterior_sizes(counts, std**2, n_rows, least))


def finer_feature(
    cells: CountedCells, column: ColumnCells, std: float, rows_of_a_bin: float
) -> CodedFeature | None:
    """Return the feature with finer bins where many rows are; None where there is nothing to refine."""
    if column.fixed:
        return None
    edges = _edges(cells.feature, column)
    sizes = cells.sizes[: len(edges) - 1]
    heavy = sizes > max(_HEAVY * rows_of_a_bin, _HEAVY_STDS * std)
    # Noise of a huge epsilon has no variance.
    parts = np.clip(sizes / max(_ROWS_OF_A_FINER_BIN * std, 1e-300), 2, _MOST_FINER).astype(np.int64)
    inner = [_between(edges[b], edges[b + 1], int(parts[b])) for b in np.flatnonzero(heavy)]
    if not inner:
        return None
    return replace(cells.feature, thresholds=np.unique(np.concatenate([cells.feature.thresholds, *inner])))


def finer_cells(cells: CountedCells, finer: CodedFeature, counts: FloatArray, std: float) -> CountedCells:
    """Return finer cells: the rows of a first one are divided by the counts of its parts."""
    owner = np.searchsorted(finer.thresholds, cells.feature.thresholds, side="left") + 1
    parts = np.split(np.arange(finer.n_bins), owner)
    sizes = [
        posterior_sizes(counts[part].astype(np.float64), std**2, cells.sizes[b], 1e-9)
        for b, part in enumerate(parts)
    ]
    return CountedCells(finer, np.concatenate([*sizes, cells.sizes[cells.feature.n_bins :]]))


def joined_cells(cells: CountedCells, column: ColumnCells, std: float, rows_of_a_bin: float) -> CountedCells:
    """Return bins that are joined with their neighbours until they have enough rows."""
    if column.fixed:
        return cells
    n_bins, kept, held, sizes = cells.feature.n_bins, [], 0.0, []
    for b in range(n_bins):
        held += float(cells.sizes[b])
        if held >= _FULL * rows_of_a_bin and b < n_bins - 1:
            kept.append(b)
            sizes.append(held)
            held = 0.0
    if kept and held < max(_LAST * rows_of_a_bin, std):
        kept.pop()
        sizes[-1] += held
    else:
        sizes.append(held)
    feature = replace(cells.feature, thresholds=cells.feature.thresholds[kept])
    missing = cells.sizes[n_bins:]
    found = np.maximum(np.concatenate([sizes, missing]), 1.0)
    return CountedCells(feature, found * (cells.sizes.sum() / found.sum()))


def _edges(feature: CodedFeature, column: ColumnCells) -> FloatArray:
    return np.array([column.lower, *feature.thresholds, column.upper])


def _between(low: float, high: float, parts: int) -> FloatArray:
    part = np.arange(1, parts) / parts
    return low * (1 - part) + high * part


def draw_grid(
    cells: Sequence[CountedCells], features: Sequence[int], depth: int, rng: np.random.Generator
) -> tuple[CellGrid, FloatArray]:
    """Draw a grid of two groups in each of some features, and estimate the rows of its cells.

    Parameters
    ----------
    cells : sequence of CountedCells
    features : sequence of int
        That may be drawn.
    depth : int
        Number of features, at most all of them.
    rng : numpy Generator
        Of a public seed.

    Returns
    -------
    grid : CellGrid
    sizes : ndarray of shape (n_cells,)
        As if features were independent.
    """
    drawn = rng.choice(len(features), size=min(depth, len(features)), replace=False)
    chosen = sorted(int(features[place]) for place in drawn)
    groups = tuple(_split(cells[j], rng) for j in chosen)
    sizes = np.ones(1)
    for j, group in zip(chosen, groups, strict=True):
        shares = np.bincount(group, cells[j].sizes) / cells[j].sizes.sum()
        sizes = (sizes[:, np.newaxis] * shares).ravel()
    return CellGrid(tuple(chosen), groups), sizes * cells[chosen[0]].sizes.sum()


def _split(cells: CountedCells, rng: np.random.Generator) -> NDArray[np.int32]:
    """Draw two groups of a feature's cells; both have cells."""
    size = len(cells.sizes)
    n_ordered = size - cells.n_missing
    if cells.feature.is_number and n_ordered > 1:
        groups = np.arange(size) >= rng.integers(1, n_ordered)
        groups[n_ordered:] = rng.random() < 0.5
    else:
        groups = rng.random(size) < 0.5
        if groups.all() or not groups.any():
            groups[rng.integers(size)] ^= True
    return groups.astype(np.int32)
