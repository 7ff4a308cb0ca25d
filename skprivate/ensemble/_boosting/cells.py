# SPDX-License-Identifier: BSD-3-Clause
"""Cells of steps: groups of a feature's cells that noisy counts tell apart, and random grids of groups."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..._typing import FloatArray
from ...rounds._plans._additive.codes import CellGrid
from .columns import ColumnCells

# Standard deviations of the noise of a count that a cell has to stand out by, to be one of its own.
_LEAST_COUNT = 2.0
# A random threshold has at least this share of the rows on both sides, where the cells allow it.
_LEAST_SIDE = 0.15


def group_cells(counts: FloatArray, std: float, column: ColumnCells) -> NDArray[np.int32]:
    """Join cells that hold too few rows for noise to see them.

    Parameters
    ----------
    counts : ndarray of shape (n_cells,)
        Noisy numbers of rows.
    std : float
        Of the noise.
    column : ColumnCells

    Returns
    -------
    groups : ndarray of int32 of shape (n_cells,)
        Neighbouring bins make one group until it stands out; levels that do not are one group together. The
        cell of missing values, the last one, stays one of its own.
    """
    least = _LEAST_COUNT * std
    has_missing = column.feature.missing is not None or getattr(column.feature, "has_missing", False)
    n_cells = len(counts) - has_missing
    if column.has_order:
        groups, number, held = np.zeros(len(counts), dtype=np.int32), 0, 0.0
        for cell in range(n_cells):
            groups[cell] = number
            held += counts[cell]
            if held >= least and cell < n_cells - 1:
                number, held = number + 1, 0.0
        if number and held < least:
            # The last group is too small by itself.
            groups[groups == number] = number - 1
            number -= 1
    else:
        rare = counts[:n_cells] < least
        groups = np.zeros(len(counts), dtype=np.int32)
        groups[:n_cells][~rare] = np.arange(np.count_nonzero(~rare))
        number = int(np.count_nonzero(~rare)) - (not rare.any())
        groups[:n_cells][rare] = number
    if has_missing:
        groups[-1] = number + 1
    return groups


def draw_grid(
    columns: Sequence[ColumnCells],
    features: Sequence[int],
    counts: Sequence[FloatArray],
    depth: int,
    rng: np.random.Generator,
) -> CellGrid:
    """Draw a grid of two groups in each of some features.

    Parameters
    ----------
    columns : sequence of ColumnCells
    features : sequence of int
        That may be drawn.
    counts : sequence of ndarray
        Noisy numbers of rows of every feature's cells: thresholds are drawn between them.
    depth : int
        Number of features, which are different ones where there are so many.
    rng : numpy Generator
        Of a public seed.
    """
    drawn = rng.choice(len(features), size=depth, replace=len(features) < depth)
    chosen = sorted(int(features[place]) for place in drawn)
    return CellGrid(tuple(chosen), tuple(_split(columns[j], np.maximum(counts[j], 0.0), rng) for j in chosen))


def _split(column: ColumnCells, counts: FloatArray, rng: np.random.Generator) -> NDArray[np.int32]:
    """Draw two groups of a feature's cells; both have cells."""
    n_cells = len(counts)
    order = np.arange(n_cells) if column.has_order else rng.permutation(n_cells)
    share = np.cumsum(counts[order]) / max(float(counts.sum()), 1e-300)
    aim = rng.uniform(_LEAST_SIDE, 1 - _LEAST_SIDE)
    # Cells before the threshold: one at least, and not all.
    before = int(np.clip(np.argmin(np.abs(share - aim)) + 1, 1, n_cells - 1))
    groups = np.zeros(n_cells, dtype=np.int32)
    groups[order[before:]] = 1
    return groups
