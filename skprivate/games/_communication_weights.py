# SPDX-License-Identifier: BSD-3-Clause
"""Communication weights of the players: checks, averages, and weights that change between rounds."""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from .._typing import FloatArray
from ..utils._public_module import public_module
from ._round_kernels import average_rows, count_components

# Communication weights of the players: checks, and weighted averages of broadcasts.

# Deviation of a sum of weights from 1, or of a weight from its transpose, that counts as rounding.
_TOLERANCE = 1e-9
# A dense matrix of so many players takes 800 MB.
_LARGEST_DENSE = 10_000


class Mixing(ABC):
    """Weighted averages of broadcasts, one for every player: the same weights in all rounds."""

    def at(self, k: int) -> "Mixing":
        """Return the weights of round k = 0, 1, ...: themselves."""
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
        if not sparse.issparse(self.weights):
            return np.asarray(self.weights @ broadcasts)
        out = np.empty(broadcasts.shape)
        parts = self.weights.indptr, self.weights.indices, self.weights.data
        average_rows(*parts, np.ascontiguousarray(broadcasts), out)
        return out

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
        as in networkx. Player i is its i-th node. The edges are public and get the Metropolis weights ``1 /
        (1 + max(degree_i, degree_j))``.
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
        The type or shape is wrong, or a dense matrix has more than 10,000 players. Weights are negative or
        not finite, or rows or columns do not sum to 1. The matrix is not symmetric where it must be. Some
        players never hear of others.
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
    if connected and not _connects_all(matrix):
        raise ValueError("weights must connect all players: some never hear of others.")
    dense = matrix.nnz > 0.25 * n_players**2
    return MatrixMixing(np.ascontiguousarray(matrix.toarray()) if dense else matrix)


def _connects_all(matrix: Any) -> bool:
    """Return whether everybody hears of everybody, directly or through others.

    Rows and columns add up to 1: what a group gives to others is what it gets from them, up to the rounding
    of sums. So larger weights that connect all players in any direction do so in both.
    """
    n_players = matrix.shape[0]
    parent, least = np.arange(n_players, dtype=matrix.indices.dtype), 2 * n_players * _TOLERANCE
    if count_components(matrix.indptr, matrix.indices, matrix.data, least, parent) == 1:
        return True
    found: int = connected_components(matrix, directed=True, connection="strong", return_labels=False)
    return found == 1


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


# Communication weights that change from round to round: their checks, and connection over several rounds.


@public_module("skprivate.games")
class ChangingMixing:
    """One of several weights in every round.

    Parameters
    ----------
    choices : list of Mixing
        The different weights.
    order : list of int
        Which of them every round has.
    """

    def __init__(self, choices: list[Mixing], order: list[int]) -> None:
        self.choices, self.order = choices, order

    def at(self, k: int) -> Mixing:
        """Return the weights of round k."""
        return self.choices[self.order[k]]


MixingSchedule = Mixing | ChangingMixing


def make_mixing(
    weights: Any, n_players: int, n_rounds: int, *, symmetric: bool, connected_within: int | None
) -> MixingSchedule:
    """Return checked weights of so many rounds: the same in all, or some for each.

    Parameters
    ----------
    weights : None, matrix, graph, sequence of these, or callable
        As for `check_weights`, for all rounds. Or one of these for every round: in a list, a tuple, an array
        of shape (n_rounds, n_players, n_players), or a function of the round that returns it.
    n_players, n_rounds : int
    symmetric : bool
        Whether every matrix must equal its transpose.
    connected_within : int or None
        Number of consecutive rounds, B, whose graphs together must connect all players. None is N - 1.

    Returns
    -------
    mixing : MixingSchedule

    Raises
    ------
    TypeError, ValueError
        What `check_weights` raises, with the number of the round; too few rounds; or B rounds in a row that
        leave some players without the others.

    Notes
    -----
    From every round of the run on, B rounds are checked. They may reach beyond the end of the run: always if
    `weights` is a function, and up to its own end if it is a sequence. A sequence shorter than B must connect
    all as a whole. Directions do not matter: a doubly stochastic matrix sends as much weight out of any set
    of players as into it, and so does a sum of them. So whoever is linked to others hears of them, too.
    """
    source = _source(weights, n_rounds)
    if source is None:
        return check_weights(weights, n_players, symmetric=symmetric)
    window = max(1, n_players - 1) if connected_within is None else connected_within
    rounds = _Rounds(*source, n_players, symmetric)
    for k in range(n_rounds):
        rounds.add(k)
    _check_connected(rounds, n_rounds, window)
    return ChangingMixing(rounds.choices, rounds.order[:n_rounds])


def check_same_rounds(before: MixingSchedule, mixing: MixingSchedule, n_rounds: int) -> None:
    """Refuse weights that differ from those of the rounds that were run, and name the first such round."""
    same: dict[tuple[int, int], bool] = {}
    for k in range(n_rounds):
        pair = before.at(k), mixing.at(k)
        kinds = id(pair[0]), id(pair[1])
        if kinds not in same:
            same[kinds] = pair[0].key() == pair[1].key()
        if not same[kinds]:
            raise ValueError(f"weights differ from those of the rounds that were run, in round {k}.")


class _Rounds:
    """The weights of the rounds that were asked for so far, each different one kept once."""

    def __init__(
        self, weights_of: Callable[[int], Any], n_told: int | None, n_players: int, symmetric: bool
    ) -> None:
        self._weights_of, self.n_told = weights_of, n_told
        self.n_players, self._symmetric = n_players, symmetric
        self.choices: list[Mixing] = []
        self.order: list[int] = []
        self._patterns: list[Any] = []
        self._known: dict[bytes, int] = {}

    def add(self, k: int) -> None:
        """Ask for the next round's weights, and check them."""
        try:
            mixing = check_weights(
                self._weights_of(k), self.n_players, symmetric=self._symmetric, connected=False
            )
        except (TypeError, ValueError) as error:
            kind = TypeError if isinstance(error, TypeError) else ValueError
            raise kind(f"In round {k}, {error}") from error
        choice = self._known.setdefault(mixing.key(), len(self.choices))
        self.order.append(choice)
        if choice == len(self.choices):
            self.choices.append(mixing)
            # Of the complete graph a path is enough.
            path = sparse.eye_array(self.n_players, k=1, dtype=np.int32)
            links = mixing.weights != 0 if isinstance(mixing, MatrixMixing) else path
            self._patterns.append(sparse.csr_array(links, dtype=np.int32))

    def pattern(self, k: int) -> Any:
        """Return the links of round k, 1 where there is one."""
        while len(self.order) <= k:
            self.add(len(self.order))
        return self._patterns[self.order[k]]


def _source(weights: Any, n_rounds: int) -> tuple[Callable[[int], Any], int | None] | None:
    """Return a function of the round and how many rounds it knows; None where weights are those of all."""
    if weights is None or hasattr(weights, "edges") or sparse.issparse(weights):
        return None
    if callable(weights):
        return weights, None
    # One matrix, as an array or as its rows, is no sequence of matrices.
    several = isinstance(weights, np.ndarray) and weights.ndim == 3
    if isinstance(weights, list | tuple) and weights:
        first: Any = next((item for item in weights if item is not None), None)
        several = hasattr(first, "edges") or sparse.issparse(first) or np.ndim(first) == 2
    if not several:
        return None
    if len(weights) < n_rounds:
        raise ValueError(
            f"weights must be given for each of {n_rounds} rounds, and there are {len(weights)}: a function "
            "of the round can repeat them."
        )
    return weights.__getitem__, len(weights)


def _check_connected(rounds: _Rounds, n_rounds: int, window: int) -> None:
    """Refuse rounds in a row whose graphs together leave some players without the others."""
    shape = (rounds.n_players, rounds.n_players)
    together, end = sparse.csr_array(shape, dtype=np.int32), 0
    for first in range(n_rounds):
        while not _connects(together):
            told_all = rounds.n_told is not None and end == rounds.n_told
            if told_all and first > 0 and end < first + window:
                return
            if told_all or end == first + window:
                raise ValueError(
                    f"weights lose connection: rounds {first} to {end - 1} together leave some players who "
                    f"never hear of others. Any {window} rounds in a row must connect all players "
                    "(connected_within)."
                )
            together, end = together + rounds.pattern(end), end + 1
        together = together - rounds.pattern(first)


def _connects(links: Any) -> bool:
    links.eliminate_zeros()
    return bool(connected_components(links, directed=False, return_labels=False) == 1)
