# SPDX-License-Identifier: BSD-3-Clause
"""Leakage of all players and of one under a correlated prior: `JointPrior` and `TwoTypePrior`."""

from collections.abc import Iterator
from math import exp, inf, log, log1p, prod
from typing import Any

import numpy as np
from scipy.special import logsumexp

from ..._typing import FloatArray
from .broadcast_sensitivity import Distance
from .independent_players import LeakageBound
from .priors import JointPrior, TwoTypePrior

# Leakage of all players and of one under a `JointPrior`: correlated players with finitely many profiles.

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
    players' D_i. So all sums over f of p(f) exp(-D(f, f')) come from one array: that of p over all types of
    all players. It is contracted with the tables exp(-D_i), one player at a time.
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
        # For every profile, the sum of the players' largest distances from their types.
        largest = np.zeros(len(self.log_probabilities))
        for table, labels in zip(self.tables, self.labels, strict=True):
            largest = largest + table.max(axis=1)[labels]
        return max(0.0, float(-logsumexp(self.log_probabilities - largest)))

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
            return LeakageBound(max(map(self._worst_vertex, players)), self.exact)
        upper = min(self.entire().value, self.rarest_type_bound())
        if not self.exact:
            return LeakageBound(upper, False)
        lower = max(map(self._worst_vertex, players)) if self.gridded else self._worst_profile()
        return LeakageBound(upper, False, min(lower, upper))

    def rarest_type_bound(self) -> float:
        """Return ``log 1 / p`` of the rarest type of any player."""
        return max(max(0.0, float(-self._marginal(player).min())) for player in range(len(self.tables)))

    def _marginal(self, player: int) -> FloatArray:
        """Log-probabilities of the types of a player."""
        return np.log(np.bincount(self.labels[player], np.exp(self.log_probabilities)))

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


# Leakage under a `TwoTypePrior`, computed in logarithms for any number of players.


class TwoTypeChannel:
    """Broadcasts under a `TwoTypePrior` of players with the same distance between the two types.

    Parameters
    ----------
    prior : TwoTypePrior
    n_players : int
        At least 2.
    distance : float
        D between the types of every player.

    Notes
    -----
    The likelihoods of a player's broadcasts under its two types enter ``P(o | F_i = a) / P(o)``
    linear-fractionally and have a ratio in [exp(-D), exp(D)]. In that ratio the leakage is monotone, the
    other players' given: the supremum is at a vertex, where the likelihoods of every player are those at the
    noiseless broadcasts of one of the types; so vertices are attained. Players 2 to N are exchangeable, so
    that only the number of those with the broadcasts of type 0 counts. With l_i(a) the likelihoods, the
    larger of the two being 1, and q = (1 - beta) / (2^(N-1) - 1) the probability of every other profile,

        P(o, F_1 = a) = P(F_1 = a) l_1(a) (beta prod_i l_i(a) + q (prod_i (l_i(0) + l_i(1)) - prod_i l_i(a))),

    products over i = 2..N. All is computed in logarithms, and no term is negative, also where beta is below
    the 2^-(N-1) of independence.
    """

    def __init__(self, prior: TwoTypePrior, n_players: int, distance: float) -> None:
        self.prior, self.n_players, self.distance = prior, n_players, distance
        with np.errstate(divide="ignore"):
            self.log_beta = float(np.log(prior.beta))
            self.log_first = np.log([prior.alpha, 1 - prior.alpha])
            self.log_other = float(np.log1p(-prior.beta) - _log_expm1((n_players - 1) * log(2)))

    def entire(self) -> float:
        """Return the largest ``-log E exp(-D(f, f'))`` over the profiles f' of positive probability."""
        joint = self._log_joint_of_first(self.distance)
        possible = np.full(joint.shape[1:], 0 < self.prior.beta < 1)
        alike = [(0, self.n_players - 1), (1, 0)]
        for vertex in alike:
            possible[vertex] = self.prior.beta > 0
        if self.prior.beta == 0:
            possible[:] = True
            possible[tuple(zip(*alike, strict=True))] = False
        return max(0.0, float(-np.logaddexp(*joint)[possible].min()))

    def first(self) -> float:
        """Return the largest leakage about player 1."""
        return _largest_leakage(self._log_joint_of_first(self.distance), self.log_first[:, None, None])

    def others(self) -> float:
        """Return the largest leakage about any other player."""
        return _largest_leakage(
            self._log_joint_of_other(self.distance), self._log_joint_of_other(0.0)[:, :1, :1, :1]
        )

    def rarest_type_bound(self) -> float:
        """Return ``log 1 / p`` of the rarest type of any player."""
        return float(-min(self.log_first.min(), self._log_joint_of_other(0.0).min()))

    def _log_joint_of_first(self, distance: float) -> FloatArray:
        """Log P(o, F_1 = a), of shape (2, 2, N): a, the type that 1 shows, how many others show type 0."""
        own = -distance * (1 - np.eye(2))
        followers = self._log_followers(self.n_players - 1, distance)
        return self.log_first[:, None, None] + own[:, :, None] + followers[:, None, :]

    def _log_joint_of_other(self, distance: float) -> FloatArray:
        """Log P(o, F_2 = b), of shape (2, 2, 2, N - 1): b, the types that 2, 1 and others show."""
        own, rest = -distance * (1 - np.eye(2)), self.n_players - 2
        first = self.log_first[:, None] + own
        same = self._log_followers(rest, distance)
        other = self.log_other + rest * log1p(exp(-distance))
        like = first[:, :, None] + same[:, None, :]
        unlike = first[::-1, :, None] + other
        return own[:, :, None, None] + np.logaddexp(like, unlike)[:, None]

    def _log_followers(self, count: int, distance: float) -> FloatArray:
        """Log of ``beta prod l(a) + q (prod (l(0) + l(1)) - prod l(a))``, of shape (2, count + 1)."""
        zeros = np.arange(count + 1)
        alike = -distance * np.stack([count - zeros, zeros])
        any_types = count * log1p(exp(-distance))
        return np.logaddexp(self.log_beta + alike, self.log_other + alike + _log_expm1(any_types - alike))


def as_joint_prior(prior: TwoTypePrior, n_players: int) -> JointPrior:
    """Return the same prior profile by profile: 2^N of them."""
    bits = np.arange(2**n_players)[:, None] >> np.arange(n_players) & 1
    alike = (bits[:, 1:] == bits[:, :1]).all(axis=1)
    given = np.where(alike, prior.beta, (1 - prior.beta) / (2 ** (n_players - 1) - 1))
    first = np.where(bits[:, 0] == 0, prior.alpha, 1 - prior.alpha)
    return JointPrior(prior.types[bits], first * given)


def _largest_leakage(joint: FloatArray, marginal: FloatArray) -> float:
    conditional = np.where(np.isfinite(marginal), joint - marginal, -inf)
    return max(0.0, float((conditional - np.logaddexp(*joint)).max()))


def _log_expm1(values: Any) -> FloatArray:
    """``log(exp(x) - 1)`` for x >= 0, without overflow."""
    with np.errstate(divide="ignore"):
        return np.asarray(values + np.log(-np.expm1(-np.asarray(values))))
