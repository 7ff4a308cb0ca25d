# SPDX-License-Identifier: BSD-3-Clause
"""Leakage under a `TwoTypePrior`, computed in logarithms for any number of players."""

from math import exp, inf, log, log1p
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .priors import JointPrior, TwoTypePrior

FloatArray = NDArray[np.float64]


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
