# SPDX-License-Identifier: BSD-3-Clause
"""From one release to the probabilities of the leaves: free post-processing, in one place."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._tree_design import ReleaseMechanism, TreeDesign, dimensions
from .depth import choose_weight, leaf_probabilities, leaf_shares
from .pruning import leaf_ancestors, paper_prune, prune_leaves

FloatArray = NDArray[np.float64]

_LEAST_VARIANCE = 1e-100


@dataclass(frozen=True)
class Decision:
    """What the leaves answer.

    Attributes
    ----------
    weight : ndarray of shape (n_leaves,)
        Weight of a public row against a private one, in the leaf itself.
    probabilities : ndarray of shape (n_leaves, n_labels)
    depth : ndarray of int of shape (n_leaves,)
        Depth of the node that judges the leaf.
    """

    weight: FloatArray
    probabilities: FloatArray
    depth: NDArray[np.int64]


def decide(
    design: TreeDesign, counts: NDArray[np.int64], n_rows: int, public_weight: Any, prune: Any
) -> Decision:
    """Return what the leaves answer: a function of what was released and of what is public.

    Parameters
    ----------
    design : TreeDesign
    counts : ndarray
        What the design's randomizer released about the private rows.
    n_rows : int
        Number of private rows behind it.
    public_weight : float or "auto"
    prune : bool or "paper"

    Returns
    -------
    decision : Decision
    """
    mechanism, public = design.randomizer, design.public_counts
    released = mechanism.estimate(counts, n_rows)
    votes = np.column_stack([-released / 2, released / 2]) if released.ndim == 1 else released
    told = mechanism.estimate_cells(counts, n_rows)
    variance = variance_per_row(mechanism, n_rows)
    cells = n_rows * leaf_shares(public, n_rows, told, variance)
    if public_weight == "auto":
        weight = choose_weight(votes, n_rows, public, variance, told)
    else:
        weight = np.full(len(votes), float(public_weight))
    if not prune:
        undivided = np.full(len(votes), design.partition.max_depth)
        return Decision(weight, leaf_probabilities(votes, cells, public, weight), undivided)
    ancestors = leaf_ancestors(design.partition)
    if prune == "paper":
        rows, epsilon = cells if told is None else told, float(mechanism.epsilon)
        pruned = paper_prune(ancestors, votes, rows, public, n_rows, design.partition.n_features, epsilon)
    else:
        pruned = prune_leaves(
            ancestors,
            votes,
            n_rows,
            public,
            variance,
            cells,
            weight=None if public_weight == "auto" else float(public_weight),
            cell_estimates=told,
            n_features=dimensions(design.partition, design.rule),
        )
    return Decision(weight, *pruned)


def check_pruning(prune: Any, n_labels: int) -> None:
    """Refuse the paper's pruning of more than two classes: it is not defined there."""
    if prune == "paper" and n_labels > 2:
        raise ValueError('Only binary classification is supported by prune="paper".')


def variance_per_row(mechanism: ReleaseMechanism, n_rows: int) -> float:
    """Variance, a private row, of the difference of two labels' estimates in a leaf; above 0."""
    n_rows = max(n_rows, 1)
    # Counts that are declared exact have none, and the choice of a depth divides by it.
    return max(float(mechanism.variance(n_rows)[0]) / n_rows, _LEAST_VARIANCE)
