# SPDX-License-Identifier: BSD-3-Clause
"""How much of what public labels show in the leaves that they shaped holds on other public rows."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ..._typing import FloatArray, IntArray
from ...partition import Partition
from .._tree_rows import PublicVotes

# Parts of the public rows, each of which is predicted from the others.
_FOLDS = 5
# Fewer rows tell nothing of each other.
_LEAST_ROWS = 2 * _FOLDS


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
    if votes.n_rows < _LEAST_ROWS:
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
