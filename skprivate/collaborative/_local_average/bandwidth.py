# SPDX-License-Identifier: BSD-3-Clause
"""Bandwidths and numbers of neighbours: cross-validation at one site, and refinement to all sites' rows."""

import math
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .row_layouts import UNIT_RANGE, LocalModel

FloatArray = NDArray[np.float64]

FOLDS = 5
# Rows on which a choice is validated at most: beyond, time grows and the choice does not change.
VALIDATION_ROWS = 1000
# The grid, from the largest on, in steps of the square root of 2.
BANDWIDTHS = tuple(2.0 ** (-step / 2) for step in range(17))
MOST_NEIGHBORS = 1024


def neighbors_grid(n_samples: int) -> list[int]:
    """Return the numbers of neighbours that cross-validation tries, descending from those of a training part.

    Parameters
    ----------
    n_samples : int
        At least 1.

    Returns
    -------
    sizes : list of int
        1, 2, 3, 4, 6, 8, ..., about a factor of the square root of 2 apart, at most 1,024.
    """
    most = min(MOST_NEIGHBORS, max(1, n_samples - -(-n_samples // FOLDS)))
    steps = range(2 * MOST_NEIGHBORS.bit_length())
    return sorted({min(most, round(2.0 ** (step / 2))) for step in steps}, reverse=True)


def cross_validate(
    model: type[LocalModel], X: FloatArray, y: FloatArray, sizes: Sequence[Any]
) -> tuple[Any, FloatArray]:
    """Return the size with the least mean squared error on rows left out, the largest on ties.

    Row i is in fold i mod 5 (one fold per row where there are fewer). At most 1,000 rows, evenly spaced
    within each fold, are predicted from all rows of the other folds. One row can leave nothing out: the
    largest size.

    Parameters
    ----------
    model : type of LocalModel
    X : ndarray of shape (n_samples, n_features)
        Scaled to [0, 1].
    y : ndarray of shape (n_samples,)
    sizes : sequence
        Descending.

    Returns
    -------
    size : one of the sizes
    errors : ndarray of shape (n_sizes,)
        The mean squared error of each, with y scaled to [-1, 1]; zeros for one row.
    """
    folds = min(FOLDS, len(X))
    if folds < 2:
        return sizes[0], np.zeros(len(sizes))
    ranges = np.ascontiguousarray(np.broadcast_to(UNIT_RANGE, (4, X.shape[1])))
    # No square overflows, and the mean of a constant is exact.
    y = y / (np.abs(y).max() or 1.0)
    # The kernel of neighbours takes its sizes in ascending order.
    ascending = sizes[::-1]
    fold_of = np.arange(len(X)) % folds
    residuals = []
    for fold in range(folds):
        left_out = _evenly_spaced(np.flatnonzero(fold_of == fold), VALIDATION_ROWS // folds)
        kept = fold_of != fold
        values, _ = model(X[kept], y[kept], ascending).averages(X[left_out], ranges)
        residuals.append(values - y[left_out, None])
    errors = np.mean(np.concatenate(residuals) ** 2, axis=0)[::-1]
    return sizes[int(np.argmin(errors))], errors


def _evenly_spaced(rows: NDArray[np.intp], most: int) -> NDArray[np.intp]:
    if len(rows) <= most:
        return rows
    return rows[np.arange(most) * len(rows) // most]


def refined_bandwidth(bandwidth: float, n_samples: int, n_total: int) -> float:
    """Return h^e, e = ln n / ln n_j: what suits n_j rows, made to suit the mean over all sites.

    Parameters
    ----------
    bandwidth : float
        In scaled units. One of 1 or more is returned as it is: a power would widen it.
    n_samples, n_total : int
        Rows of this site and of all sites, n_samples <= n_total.

    Returns
    -------
    bandwidth : float
        Positive.
    """
    if n_samples == 1 or bandwidth >= 1:
        return bandwidth
    return max(bandwidth ** (math.log(n_total) / math.log(n_samples)), sys.float_info.min)


def refined_neighbors(n_neighbors: int, n_samples: int, n_total: int) -> int:
    """Return max(1, round(n_j (k / n_j)^e)), e = ln n / ln n_j; `n_neighbors` at most `n_samples`."""
    if n_samples == 1:
        return n_neighbors
    share = (n_neighbors / n_samples) ** (math.log(n_total) / math.log(n_samples))
    return max(1, round(n_samples * share))
