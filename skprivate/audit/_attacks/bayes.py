# SPDX-License-Identifier: BSD-3-Clause
"""The Bayes adversary: the exact posterior of the players' types given all broadcasts."""

import copy
import itertools
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from ..._typing import FloatArray
from ...games import JointPrior, TwoTypePrior, TypePrior
from ...games._rounds import Dynamics, replay
from ...utils._public_module import public_module
from .inputs import check_observations


@dataclass(frozen=True, kw_only=True)
class BayesResult:
    """What the broadcasts of one run tell an adversary who knows the prior.

    Parameters
    ----------
    types : ndarray of shape (n_players, m, n_dims)
        The types of every player.
    prior, posterior : ndarray of shape (n_players, m)
        Probabilities of every player's types, before and after the broadcasts.
    prior_success, posterior_success : float
        Probability that the best guess of all players' types is right, before and after.
    leakage : float
        Pointwise leakage about all players together, in nats: the log of the largest factor by which a
        profile of types became likelier.
    leakages : ndarray of shape (n_players,)
        The same about every single player.
    blind_gain, gain : float or None
        Largest mean of 1 plus the cosine of the angle between all players' private vectors and a guess,
        before and after; None: too many profiles to take the mean over.
    """

    types: FloatArray = field(repr=False, compare=False)
    prior: FloatArray = field(repr=False, compare=False)
    posterior: FloatArray = field(repr=False, compare=False)
    prior_success: float
    posterior_success: float
    leakage: float
    leakages: FloatArray = field(repr=False, compare=False)
    blind_gain: float | None
    gain: float | None

    @property
    def log_ratio(self) -> float | None:
        """Log of the best gain over the blind one; at most `leakage`."""
        if self.gain is None or self.blind_gain is None:
            return None
        return math.log(self.gain / self.blind_gain)

    def __str__(self) -> str:
        before, after = self.prior.max(axis=1).mean(), self.posterior.max(axis=1).mean()
        lines = [
            f"exact posterior of the types of {len(self.types)} players",
            f"- all players: best guess right with probability {self.prior_success:.3g} before, "
            f"{self.posterior_success:.3g} after; leakage {self.leakage:.3g} nats",
            f"- one player: {before:.3g} before, {after:.3g} after, on average; largest leakage "
            f"{self.leakages.max():.3g} nats",
        ]
        if self.log_ratio is not None:
            lines.append(
                f"- gain: {self.blind_gain:.3g} before, {self.gain:.3g} after; log {self.log_ratio:.3g}"
            )
        return "\n".join(lines)


@public_module("skprivate.audit")
class BayesAdversary:
    """Compute the posterior of the players' private vectors from the broadcasts of a run.

    Parameters
    ----------
    prior : TypePrior, JointPrior or TwoTypePrior
        What the adversary knows before: finitely many types.

    See Also
    --------
    GradientMatchingAdversary : An attack that knows no prior.
    skprivate.PrivateNashSolver : What this attacks.

    Notes
    -----
    Given the broadcasts o, a player's path depends on its own costs alone. With every type in turn for all
    players, the updates are replayed on o, which gives the estimates v that a player of that type would have
    had, and the log of its likelihood up to a constant, ``-sum_k |o_k - v_k|_1 / M_k``. The likelihood of a
    profile is the product over players. That is exact up to the grid of the noise, which is at least 2^-40
    times as fine as its scale.

    **Privacy**: this is a simulation by someone who may see the broadcasts; it reads the public part of the
    game and the prior, not the private vectors. No attack does better: `leakage`, of any broadcasts, is at
    most the guarantee ``solver.privacy_guarantee(prior)``, a `leakages` at most that of the individual view,
    and so is the log of the ratio of gains to blind gains of any adversary.

    References
    ----------
    Saeidian, Cervia, Oechtering, Skoglund, "Pointwise maximal leakage", IEEE Transactions on Information
    Theory 2023.

    Examples
    --------
    >>> from skprivate import PrivateNashSolver, QuadraticAggregativeGame
    >>> from skprivate.audit import BayesAdversary
    >>> from skprivate.games import TypePrior
    >>> prior = TypePrior([-1.0, 1.0], [0.5, 0.5])
    >>> game = QuadraticAggregativeGame(P=1.0, Q=0.5, r=[-1.0, 1.0, 1.0, -1.0], r_bounds=(-1, 1))
    >>> solver = PrivateNashSolver(max_iter=50, noise_scale=20.0, store="observations", random_state=0)
    >>> solver = solver.fit(game)
    >>> result = BayesAdversary(prior).run(game, solver)
    >>> result.leakage <= solver.privacy_guarantee(prior).epsilon
    True
    """

    def __init__(self, prior: Any) -> None:
        self.prior = prior

    def run(self, game: Any, solver: Any) -> BayesResult:
        """Compute the posterior given the broadcasts of one run.

        Parameters
        ----------
        game : QuadraticAggregativeGame or VaccinationGame
            The game that was played, of which r alone is private. Its r is not read.
        solver : PrivateNashSolver
            Fitted with ``store="observations"`` or "all".

        Returns
        -------
        result : BayesResult

        Raises
        ------
        TypeError, ValueError
            The prior has another kind or does not fit the game; the game keeps something else private; the
            solver stored no broadcasts, or a round had no noise.
        """
        posterior = type_posterior(self.prior, game.n_players)
        observations = check_observations(game, solver)
        if game.private != {"r"}:
            raise ValueError("the game must keep r alone private, of an affine pseudo-gradient.")
        if (solver.noise_scales_ == 0).any():
            raise ValueError("a round had no noise: its broadcasts have no likelihood.")
        self.prior.check(solver.mechanism_)
        likelihood = _log_likelihoods(game, solver, observations, posterior.types)
        return posterior.result(likelihood)


def _log_likelihoods(game: Any, solver: Any, observations: FloatArray, types: FloatArray) -> FloatArray:
    """Return log-likelihoods of shape (n_players, m), up to one constant per player."""
    model, out = solver.mechanism_, np.zeros(types.shape[:2])
    for j in range(types.shape[1]):
        trial = copy.copy(game)
        trial.r_ = np.ascontiguousarray(types[:, j])
        dynamics = Dynamics(trial, solver.mixing_, model.algorithm, model.clip_norm)
        paths = replay(dynamics, solver.start_, observations, solver.steps_, solver.consensus_steps_)
        for o, v, scale in zip(observations, paths, solver.noise_scales_, strict=True):
            out[:, j] -= np.abs(o - v).sum(axis=1) / scale
    # Of ratios alone something is asked: a constant keeps them from overflowing.
    return out - out.max(axis=1, keepdims=True)


# Posteriors of players' types, for each kind of finite prior, from log-likelihoods of the types.

# Profiles beyond which no mean over all of them is taken.
_MOST_PROFILES = 2**16


class _TypePosterior(ABC):
    """A finite prior: what it makes of the log-likelihoods of every player's types."""

    types: FloatArray

    @abstractmethod
    def marginals(self, likelihood: FloatArray) -> FloatArray:
        """Return the logs of the joint probabilities of one player's type and of the broadcasts of all."""

    @abstractmethod
    def likeliest_profiles(self, likelihood: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return log-priors and log-likelihoods of profiles, the likeliest before and after among them."""

    @abstractmethod
    def profiles(self) -> tuple[NDArray[np.intp], FloatArray] | None:
        """Return all profiles as indices of types, and their log-probabilities; None if they are too many."""

    def result(self, likelihood: FloatArray) -> BayesResult:
        """Return the posterior for log-likelihoods of shape (n_players, m)."""
        before, after = self.marginals(np.zeros_like(likelihood)), self.marginals(likelihood)
        evidence = float(logsumexp(after[0]))
        possible = np.where(before > -np.inf, after, -np.inf)
        gains = self._gains(likelihood, evidence)
        priors, likelihoods = self.likeliest_profiles(likelihood)
        return BayesResult(
            types=self.types,
            prior=np.exp(before),
            posterior=np.exp(after - logsumexp(after, axis=1, keepdims=True)),
            prior_success=float(np.exp(self.likeliest_profiles(np.zeros_like(likelihood))[0].max())),
            posterior_success=float(np.exp((priors + likelihoods).max() - evidence)),
            leakage=float(likelihoods.max() - evidence),
            leakages=(possible - np.where(before > -np.inf, before, 0.0)).max(axis=1) - evidence,
            blind_gain=gains[0],
            gain=gains[1],
        )

    def _gains(self, likelihood: FloatArray, evidence: float) -> tuple[float, float] | tuple[None, None]:
        found = self.profiles()
        if found is None:
            return None, None
        labels, log_prior = found
        players = np.arange(len(self.types))
        vectors = self.types[players, labels].reshape(len(labels), -1)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        # The zero vector has no direction; its cosine counts as 0.
        directions = vectors / np.where(lengths > 0, lengths, 1.0)
        log_posterior = log_prior + likelihood[players, labels].sum(axis=1) - evidence
        blind, seeing = (
            1.0 + float(np.linalg.norm(np.exp(logs) @ directions)) for logs in (log_prior, log_posterior)
        )
        return blind, seeing


class _IndependentTypes(_TypePosterior):
    def __init__(self, prior: Any, n_players: int) -> None:
        m = prior.types.shape[-2]
        self.types = np.broadcast_to(prior.types, (n_players, m, prior.types.shape[-1]))
        with np.errstate(divide="ignore"):
            self.log_prior = np.log(np.broadcast_to(prior.probabilities, (n_players, m)))

    def marginals(self, likelihood: FloatArray) -> FloatArray:
        joint = self.log_prior + likelihood
        own = logsumexp(joint, axis=1, keepdims=True)
        return joint + own.sum() - own

    def likeliest_profiles(self, likelihood: FloatArray) -> tuple[FloatArray, FloatArray]:
        # The best by likelihood and the best by posterior, player by player.
        rows = np.arange(len(likelihood))
        possible = np.where(self.log_prior > -np.inf, likelihood, -np.inf)
        picks = [possible.argmax(axis=1), (self.log_prior + likelihood).argmax(axis=1)]
        return tuple(  # type: ignore[return-value]
            np.array([table[rows, pick].sum() for pick in picks]) for table in (self.log_prior, likelihood)
        )

    def profiles(self) -> tuple[NDArray[np.intp], FloatArray] | None:
        n_players, m = self.log_prior.shape
        if n_players * math.log(m) > math.log(_MOST_PROFILES):
            return None
        labels = np.array(list(itertools.product(range(m), repeat=n_players)))
        return labels, self.log_prior[np.arange(n_players), labels].sum(axis=1)


class _JointTypes(_TypePosterior):
    def __init__(self, prior: Any) -> None:
        n_players = prior.profiles.shape[1]
        distinct, labels = np.unique(
            prior.profiles.reshape(-1, prior.profiles.shape[2]), axis=0, return_inverse=True
        )
        self.types = np.broadcast_to(distinct, (n_players, *distinct.shape))
        self.labels, self.log_prior = labels.reshape(-1, n_players), np.log(prior.probabilities)

    def marginals(self, likelihood: FloatArray) -> FloatArray:
        joint, out = np.add(*self.likeliest_profiles(likelihood)), np.full_like(likelihood, -np.inf)
        for row, labels in zip(out, self.labels.T, strict=True):
            np.logaddexp.at(row, labels, joint)
        return out

    def likeliest_profiles(self, likelihood: FloatArray) -> tuple[FloatArray, FloatArray]:
        return self.log_prior, likelihood[np.arange(likelihood.shape[0]), self.labels].sum(axis=1)

    def profiles(self) -> tuple[NDArray[np.intp], FloatArray]:
        return self.labels, self.log_prior


class _TwoTypes(_TypePosterior):
    """A first player, and others who all are as it is with probability beta; else any other profile alike."""

    def __init__(self, prior: Any, n_players: int) -> None:
        self.types = np.broadcast_to(prior.types, (n_players, *prior.types.shape))
        others = n_players - 1
        with np.errstate(divide="ignore"):
            self.first = np.log([prior.alpha, 1.0 - prior.alpha])
            self.same = np.log(prior.beta)
            # log(2^others - 1), without overflow.
            count = others * math.log(2.0) + math.log1p(-(0.5**others))
            self.other = np.log1p(-prior.beta) - count

    def marginals(self, likelihood: FloatArray) -> FloatArray:
        out = np.full_like(likelihood, -np.inf)
        for kind in range(2):
            start = self.first[kind] + likelihood[0, kind]
            alike = likelihood[1:, kind].sum()
            either = logsumexp(likelihood[1:], axis=1, keepdims=True)
            # For one follower's type, all profiles of the others, less the one in which all are alike.
            rows = likelihood[1:] + either.sum() - either
            with np.errstate(divide="ignore"):
                # Rounding may make the part a little larger than the whole.
                rows[:, kind] += np.log(-np.expm1(np.minimum(alike - rows[:, kind], 0.0)))
            rows = self.other + rows
            rows[:, kind] = np.logaddexp(rows[:, kind], self.same + alike)
            out[1:] = np.logaddexp(out[1:], start + rows)
            out[0, kind] = start + logsumexp(rows[0])
        return out

    def likeliest_profiles(self, likelihood: FloatArray) -> tuple[FloatArray, FloatArray]:
        priors, likelihoods = [], []
        for kind in range(2):
            alike = likelihood[1:, kind].sum()
            best, gap = likelihood[1:].max(axis=1), likelihood[1:, kind] - likelihood[1:, 1 - kind]
            # The best profile in which not all are alike: if the best of all is, one player differs.
            unlike = best.sum() - (gap.min() if (gap > 0).all() else 0.0)
            for log_prior, value in ((self.same, alike), (self.other, unlike)):
                if log_prior > -np.inf:
                    priors.append(self.first[kind] + log_prior)
                    likelihoods.append(likelihood[0, kind] + value)
        return np.array(priors), np.array(likelihoods)

    def profiles(self) -> tuple[NDArray[np.intp], FloatArray] | None:
        n_players = len(self.types)
        if n_players * math.log(2) > math.log(_MOST_PROFILES):
            return None
        labels = np.array(list(itertools.product(range(2), repeat=n_players)))
        alike = (labels == labels[:, :1]).all(axis=1)
        return labels, self.first[labels[:, 0]] + np.where(alike, self.same, self.other)


def type_posterior(prior: Any, n_players: int) -> _TypePosterior:
    """Return the computation of posteriors for the kind of a finite prior."""
    if isinstance(prior, TypePrior):
        return _IndependentTypes(prior, n_players)
    if isinstance(prior, JointPrior):
        return _JointTypes(prior)
    if isinstance(prior, TwoTypePrior):
        return _TwoTypes(prior, n_players)
    raise TypeError("prior must be a TypePrior, a JointPrior or a TwoTypePrior: a finite one.")
