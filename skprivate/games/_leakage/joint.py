# SPDX-License-Identifier: BSD-3-Clause
"""Leakage of all players and of one under a `JointPrior`: correlated players with finitely many profiles."""

from collections.abc import Iterator
from math import prod

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from .independent import LeakageBound
from .priors import JointPrior
from .sensitivity import Distance

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]

# Cells of the grid of all types of all players; beyond, profiles are compared pair by pair.
_MOST_CELLS = 2**21
# Of profiles, compared at once.
_PAIRS_AT_ONCE = 2_000_000
_FAR = 1e300


class JointChannel:
    """Broadcasts under a `JointPrior`: profiles as indices of types, and tables of distances.

    Notes
    -----
    At the noiseless broadcasts of f', ``P(o | f) / P(o | f') = exp(-D(f, f'))``, and D is the sum of the
    players' D_i. So all sums over f of p(f) exp(-D(f, f')) come from contracting the array of p over all
    types of all players with the tables exp(-D_i), one player at a time.
    """

    def __init__(self, prior: JointPrior, distances: list[Distance]) -> None:
        self.log_probabilities = np.log(prior.probabilities)
        columns = prior.profiles.swapaxes(0, 1)
        found = [np.unique(column, axis=0, return_inverse=True) for column in columns]
        self.labels = np.stack([labels.reshape(-1) for _, labels in found])
        # Infinite distances, of recursions that overflow, would make nan of differences of logarithms.
        self.tables = [
            np.minimum(distance.between(types), _FAR)
            for (types, _), distance in zip(found, distances, strict=True)
        ]
        self.exact = all(distance.exact for distance in distances)
        self.shape = tuple(map(len, self.tables))
        self.gridded = prod(self.shape) <= _MOST_CELLS

    def entire(self) -> LeakageBound:
        """Return Theorem 1: the largest ``-log E exp(-D(f, f'))`` over the profiles f'."""
        if self.gridded:
            sums = self._contracted()[tuple(self.labels)]
        else:
            sums = np.concatenate([logsumexp(block, axis=0) for block in self._blocks()])
        return LeakageBound(max(0.0, float(-sums.min())), self.exact)

    def corollary1(self) -> float:
        """Return Corollary 1 with the worst type of every player for itself, which is at least as much."""
        return max(0.0, float(-logsumexp(self.log_probabilities - self._largest_from_profiles())))

    def largest_distances(self) -> list[float]:
        """Return the largest distance of two types of every player."""
        return [float(table.max()) for table in self.tables]

    def individual(self) -> LeakageBound:
        """Return the largest leakage about one player's type.

        Given the others, a player's likelihoods enter ``P(o | F_i = a) / P(o)`` linear-fractionally. With two
        types they are one likelihood ratio in [exp(-D_i), exp(D_i)], in which such a function is monotone:
        the supremum is at a vertex, that is at the noiseless broadcasts of some combination of types. With
        more types these are evaluated as a lower bound; above, no player leaks more than all do, nor more
        than ``log 1 / p`` of its rarest type.
        """
        players = range(len(self.tables))
        if self.gridded and max(self.shape) <= 2:
            return LeakageBound(max(self._worst_vertex(player) for player in players), self.exact)
        upper = min(self.entire().value, max(self._rarest_type_bound(player) for player in players))
        if not self.exact:
            return LeakageBound(upper, False)
        if self.gridded:
            lower = max(self._worst_vertex(player) for player in players)
        else:
            lower = self._worst_profile()
        return LeakageBound(upper, False, min(lower, upper))

    def rarest_type_bound(self) -> float:
        """Return ``log 1 / p`` of the rarest type of any player."""
        return max(self._rarest_type_bound(player) for player in range(len(self.tables)))

    def _rarest_type_bound(self, player: int) -> float:
        return max(0.0, float(-self._marginal(player).min()))

    def _marginal(self, player: int) -> FloatArray:
        """Log-probabilities of the types of a player."""
        sums = np.bincount(self.labels[player], np.exp(self.log_probabilities))
        return np.log(sums)

    def _largest_from_profiles(self) -> FloatArray:
        """For every profile, the sum of the players' largest distances from their types."""
        return sum(
            (table.max(axis=1)[labels] for table, labels in zip(self.tables, self.labels, strict=True)),
            start=np.zeros(len(self.log_probabilities)),
        )

    def _contracted(self, kept_apart: int | None = None) -> FloatArray:
        """Logarithms of the sums over f for all combinations f', but for the player `kept_apart`."""
        grid = np.full(self.shape, -np.inf)
        np.logaddexp.at(grid, tuple(self.labels), self.log_probabilities)
        for axis, table in enumerate(self.tables):
            if axis != kept_apart:
                grid = _contract(grid, axis, table)
        return grid

    def _worst_vertex(self, player: int) -> float:
        """Largest leakage about a player's type at the noiseless broadcasts of any combination of types."""
        grid = np.moveaxis(self._contracted(kept_apart=player), player, 0).reshape(self.shape[player], -1)
        marginal, largest = self._marginal(player)[:, None], 0.0
        for column in self.tables[player].T:
            terms = grid - column[:, None]
            largest = max(largest, float((terms - marginal - logsumexp(terms, axis=0)).max()))
        return largest

    def _worst_profile(self) -> float:
        """The same at the noiseless broadcasts of the profiles themselves."""
        largest = 0.0
        for block in self._blocks():
            total = logsumexp(block, axis=0)
            for player, labels in enumerate(self.labels):
                for kind, marginal in enumerate(self._marginal(player)):
                    part = logsumexp(block[labels == kind], axis=0)
                    largest = max(largest, float((part - marginal - total).max()))
        return largest

    def _blocks(self) -> Iterator[FloatArray]:
        """Yield log p(f) - D(f, f') for all profiles f, in rows, and some profiles f', in columns."""
        m = len(self.log_probabilities)
        size = max(1, _PAIRS_AT_ONCE // m)
        for start in range(0, m, size):
            block = np.repeat(self.log_probabilities[:, None], min(size, m - start), axis=1)
            for table, labels in zip(self.tables, self.labels, strict=True):
                block -= table[labels[:, None], labels[start : start + size]]
            yield block


def _contract(grid: FloatArray, axis: int, table: FloatArray) -> FloatArray:
    """Logarithm of the sum over the types of one axis, weighted with exp(-table), for every type of it."""
    grid = np.moveaxis(grid, axis, 0)
    out = np.full_like(grid, -np.inf)
    for kind, row in enumerate(table):
        for other, distance in enumerate(row):
            out[other] = np.logaddexp(out[other], grid[kind] - distance)
    return np.moveaxis(out, 0, axis)
