# SPDX-License-Identifier: BSD-3-Clause
"""Communication weights of the players: checks, and weighted averages of broadcasts."""

import hashlib
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from .._typing import FloatArray
from ..utils._public_module import public_module

# Deviation of a sum of weights from 1, or of a weight from its transpose, that counts as rounding.
_TOLERANCE = 1e-9
# A dense matrix of so many players takes 800 MB.
_LARGEST_DENSE = 10_000


class MixingSchedule(ABC):
    """Weights of every round."""

    @abstractmethod
    def at(self, k: int) -> "Mixing":
        """Return the weights of round k = 0, 1, ..."""


class Mixing(MixingSchedule):
    """Weighted averages of broadcasts, one for every player: the same weights in all rounds."""

    def at(self, k: int) -> "Mixing":
        """Return the weights themselves."""
        return self

    @abstractmethod
    def average(self, broadcasts: FloatArray) -> FloatArray:
        """Return ``sum_j L_ij o_j`` of all players i; of shape (1, n_dims) where it is the same for all."""

    @abstractmethod
    def key(self) -> bytes:
        """Return a digest that two weights share only if they are the same."""


@public_module("skprivate.games")
class CompleteMixing(Mixing):
    """The complete graph: weight 1 / N for every pair of players."""

    def average(self, broadcasts: FloatArray) -> FloatArray:
        return broadcasts.mean(axis=0, keepdims=True)

    def key(self) -> bytes:
        return b"complete"


@public_module("skprivate.games")
class MatrixMixing(Mixing):
    """Weights in a matrix, dense or sparse."""

    def __init__(self, weights: Any) -> None:
        self.weights = weights

    def average(self, broadcasts: FloatArray) -> FloatArray:
        return np.asarray(self.weights @ broadcasts)

    def key(self) -> bytes:
        matrix = sparse.csr_array(self.weights, copy=True)
        matrix.sum_duplicates()
        digest = hashlib.sha256(repr(matrix.shape).encode())
        for part in (matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64), matrix.data):
            digest.update(part.tobytes())
        return digest.digest()


def check_weights(weights: Any, n_players: int, *, symmetric: bool, connected: bool = True) -> Mixing:
    """Check communication weights of one round, or of all.

    Parameters
    ----------
    weights : None, array-like or sparse matrix of shape (n_players, n_players), or graph
        None is the complete graph with weights 1 / N. A graph is undirected and has ``nodes`` and ``edges``
        as in networkx: player i is its i-th node, with Metropolis weights
        ``1 / (1 + max(degree_i, degree_j))`` on the edges, which are public.
    n_players : int
        N.
    symmetric : bool
        Whether the matrix must equal its transpose.
    connected : bool, default=True
        Whether the graph of the weights must connect all players.

    Returns
    -------
    mixing : Mixing

    Raises
    ------
    TypeError, ValueError
        Wrong type or shape; more than 10,000 players in a dense matrix; negative or non-finite weights; rows
        or columns that do not sum to 1; not symmetric where it must be; players who never hear of others.
    """
    if weights is None:
        return CompleteMixing()
    matrix = _metropolis(weights, n_players) if hasattr(weights, "edges") else _as_csr(weights, n_players)
    if not np.isfinite(matrix.data).all() or (matrix.data < 0).any():
        raise ValueError("weights must be finite and at least 0.")
    for axis, side in ((1, "row"), (0, "column")):
        if np.abs(np.asarray(matrix.sum(axis=axis)) - 1).max() > _TOLERANCE:
            raise ValueError(f"weights must be doubly stochastic: a {side} does not sum to 1.")
    if symmetric and abs(matrix - matrix.T).max() > _TOLERANCE:
        raise ValueError("weights must be symmetric with algorithm='wang_nedic'.")
    if (
        connected
        and connected_components(matrix, directed=True, connection="strong", return_labels=False) > 1
    ):
        raise ValueError("weights must connect all players: some never hear of others.")
    dense = matrix.nnz > 0.25 * n_players**2
    return MatrixMixing(np.ascontiguousarray(matrix.toarray()) if dense else matrix)


def _as_csr(weights: Any, n_players: int) -> Any:
    if not sparse.issparse(weights):
        weights = np.asarray(weights)
        if weights.dtype.kind not in "iuf":
            raise TypeError("weights must be None, a matrix of numbers, a sparse matrix or a graph.")
        if n_players > _LARGEST_DENSE:
            raise ValueError(
                f"weights of more than {_LARGEST_DENSE} players must be a sparse matrix or a graph."
            )
    if weights.shape != (n_players, n_players):
        raise ValueError(f"weights must have shape {(n_players, n_players)}, got {weights.shape}.")
    # A copy: zeros are taken out in place, and what was checked must not change with the user's matrix.
    matrix = sparse.csr_array(weights, dtype=np.float64, copy=True)
    matrix.eliminate_zeros()
    return matrix


def _metropolis(graph: Any, n_players: int) -> Any:
    """Weights of an undirected graph: symmetric and doubly stochastic whatever the degrees."""
    if getattr(graph, "is_directed", bool)():
        raise ValueError("weights must be an undirected graph.")
    index = {node: i for i, node in enumerate(graph.nodes)}
    if len(index) != n_players:
        raise ValueError(f"weights must be a graph of {n_players} nodes, one per player, got {len(index)}.")
    pairs = {(min(i, j), max(i, j)) for i, j in ((index[e[0]], index[e[1]]) for e in graph.edges) if i != j}
    ends = np.array(sorted(pairs), dtype=np.int64).reshape(-1, 2)
    degree = np.bincount(ends.ravel(), minlength=n_players)
    weight = 1.0 / (1 + degree[ends].max(axis=1, initial=0))
    one_way = sparse.coo_array((weight, (ends[:, 0], ends[:, 1])), shape=(n_players, n_players))
    both = sparse.csr_array(one_way + one_way.T)
    return sparse.csr_array(both + sparse.diags_array(1 - np.asarray(both.sum(axis=1)).ravel()))
