# SPDX-License-Identifier: BSD-3-Clause
"""Nodes of a fitted tree: paths to the leaves, estimates of all nodes, importances of the features."""

import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_matrix

from ..._typing import FloatArray, IndexArray
from ...partition import Partition

# Gains below this share of the root's impurity are those of rounding: some thousand times 2^-53.
_ROUNDING = 1e-12


def leaf_paths(partition: Partition) -> Any:
    """Return which nodes lie on the path from the root to every leaf.

    Parameters
    ----------
    partition : Partition

    Returns
    -------
    paths : csr_matrix of int64 of shape (n_leaves, n_nodes)
        1 at the nodes of the path, root and leaf included, else 0. Indices rise along the path.
    """
    inner = np.flatnonzero(partition.leaf_index < 0)
    parent = np.zeros(len(partition.left), dtype=np.int64)
    for child in (partition.left[inner], partition.left[inner] + 1):
        parent[child] = inner
    node = np.flatnonzero(partition.leaf_index >= 0)
    leaf = np.arange(partition.n_leaves)
    leaves, nodes = [leaf], [node]
    while (below := node > 0).any():
        leaf, node = leaf[below], parent[node[below]]
        leaves.append(leaf)
        nodes.append(node)
    where = np.concatenate(leaves), np.concatenate(nodes)
    ones = np.ones(len(where[0]), dtype=np.int64)
    return csr_matrix((ones, where), shape=(partition.n_leaves, len(partition.left)))


@dataclass(frozen=True, eq=False)
class NodeEstimates:
    """Estimates of all nodes, each from the leaves below it.

    Attributes
    ----------
    sizes : ndarray of shape (n_nodes,)
        Estimated numbers of private rows.
    probabilities : ndarray of shape (n_nodes, n_classes)
        Mean of the leaves' class probabilities, weighted by their sizes.
    """

    sizes: FloatArray
    probabilities: FloatArray

    @classmethod
    def of(cls, partition: Partition, leaf_sizes: FloatArray, leaf_proba: FloatArray) -> Self:
        """Return the estimates of the nodes, given those of the leaves."""
        below = leaf_paths(partition).T
        # A leaf that is estimated to be empty says nothing, and a node of such leaves needs some estimate.
        weights = np.maximum(leaf_sizes, 1e-9)
        sums = below @ weights
        return cls(below @ leaf_sizes, (below @ (weights[:, np.newaxis] * leaf_proba)) / sums[:, np.newaxis])


def gini_importances(
    partition: Partition, nodes: NodeEstimates, source: IndexArray | None = None
) -> FloatArray:
    """Return the share of every feature in the decrease of the Gini impurity by the splits.

    Parameters
    ----------
    partition : Partition
    nodes : NodeEstimates
    source : ndarray of int of shape (n_columns,), default=None
        Feature that every column belongs to which the partition compares. None: as the partition says.

    Returns
    -------
    importances : ndarray of shape (n_features,)
        They add up to 1; all are 0 where no split gains anything.
    """
    source = partition.source if source is None else source
    impurity = nodes.sizes * (1 - np.sum(nodes.probabilities**2, axis=1))
    inner = np.flatnonzero(partition.leaf_index < 0)
    left = partition.left[inner]
    # Never negative, but for rounding: the impurity of a mean is at least the mean of the impurities.
    gains = np.maximum(impurity[inner] - impurity[left] - impurity[left + 1], 0.0)
    gains[gains <= _ROUNDING * impurity[0]] = 0.0
    by_feature = np.bincount(source[partition.feature[inner]], gains, minlength=source[-1] + 1)
    total = float(by_feature.sum())
    importances: FloatArray = by_feature / total if total > 0 else np.zeros(len(by_feature))
    return importances


def round_to_noise(size: float, error: float) -> int:
    """Return a number of rows without the digits that lie below its noise, given that of a share of it."""
    noise = size * error
    unit = 10 ** math.floor(math.log10(noise)) if noise > 1 else 1
    return round(size / unit) * unit
