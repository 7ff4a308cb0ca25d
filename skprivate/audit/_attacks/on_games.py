# SPDX-License-Identifier: BSD-3-Clause
"""Attacks on the broadcasts of a game: the posterior of the players' types, and matched gradients."""

import copy
import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from ..._typing import FloatArray, RandomSource
from ...games import JointPrior, QuadraticAggregativeGame, TwoTypePrior, TypePrior, VaccinationGame
from ...games._rounds import Dynamics, replay
from ...utils import check_int
from ...utils._public_module import public_module
from .inputs import check_generator, check_observations


@dataclass(frozen=True, kw_only=True)
class BayesResult:
    """Information of an adversary who knows the prior, from the broadcasts of one run.

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
        The same for each single player.
    blind_gain, gain : float or None
        Largest mean gain of a guess, before and after. The gain is 1 plus the cosine of the angle between the
        guess and all players' private vectors. None: too many profiles for the mean.
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
        The adversary's prior knowledge: finitely many types.

    See Also
    --------
    GradientMatchingAdversary : An attack without a prior.
    skprivate.PrivateNashSolver : The target of this attack.

    Notes
    -----
    Given the broadcasts o, a player's path depends on its own costs alone. For each type in turn, the updates
    are replayed on o with this type for all players. This gives the estimates v of a player of that type, and
    the log of its likelihood up to a constant, ``-sum_k |o_k - v_k|_1 / M_k``. The likelihood of a profile is
    the product over players. It is exact up to the grid of the noise, which is at least 2^-40 times as fine
    as its scale.

    **Privacy**: this is a simulation by a person who may see the broadcasts. It reads the public part of the
    game and the prior, not the private vectors. No attack does better. For any broadcasts, `leakage` is at
    most the guarantee ``solver.privacy_guarantee(prior)``, and each of `leakages` is at most that of the
    individual view. The same bound holds for the log of the ratio of gains to blind gains of any adversary.

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
            The game that was played. Only its r may be private, and r is not read.
        solver : PrivateNashSolver
            Fitted with ``store="observations"`` or "all".

        Returns
        -------
        result : BayesResult

        Raises
        ------
        TypeError, ValueError
            The prior is of another kind or does not match the game. Something other than r is private. The
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
    # Only ratios are needed: subtracting a constant avoids an overflow.
    return out - out.max(axis=1, keepdims=True)


# Posteriors of players' types, for each kind of finite prior, from log-likelihoods of the types.

# Largest number of profiles for a mean over all of them; set by hand.
_MOST_PROFILES = 2**16


class _TypePosterior(ABC):
    """A finite prior: its posterior given the log-likelihoods of every player's types."""

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
    """A first player; with probability beta all others have its type, else any other profile is as likely."""

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
            # For one follower's type, all profiles of the others, except the one with equal types.
            rows = likelihood[1:] + either.sum() - either
            with np.errstate(divide="ignore"):
                # Rounding may make the part slightly larger than the whole.
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
            # The best profile with unequal types: if the best of all has equal types, one player differs.
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


Parameters = dict[str, FloatArray]
# A larger guess has diverged; its squares are still finite.
_LARGEST = 1e100


@dataclass(frozen=True, kw_only=True)
class GradientMatchingResult:
    """How close the direction of the adversary's guess is to the players' private parameters.

    Parameters
    ----------
    gain : float
        1 plus the cosine of the angle between all private parameters and the last guess; in [0, 2].
    gains : ndarray of shape (n_passes * (n_rounds - 1) + 1,)
        The same for the first dummy and after every prediction.
    blind_gain : float or None
        Largest mean gain of one guess for all games of the prior, without broadcasts; None: no prior.
    guess : dict of str to ndarray
        The last guess, by the parameters' names.
    """

    gain: float
    gains: FloatArray = field(repr=False, compare=False)
    blind_gain: float | None
    guess: Mapping[str, FloatArray] = field(repr=False, compare=False)

    @property
    def log_gain(self) -> float:
        """Logarithm of the gain. It is NOT the leakage: a blind guess may have the same gain."""
        return math.log(self.gain) if self.gain > 0 else -math.inf

    @property
    def log_ratio(self) -> float | None:
        """Logarithm of the gain over the blind gain: the fair figure after averaging gains over runs."""
        return None if self.blind_gain is None else self.log_gain - math.log(self.blind_gain)

    def __str__(self) -> str:
        lines = [
            f"gradient matching of {' and '.join(self.guess)} from {len(self.gains) - 1} predictions",
            f"- gain: {self.gain:.3g} of 2, at first {self.gains[0]:.3g}; log gain {self.log_gain:.3g}",
        ]
        if self.blind_gain is not None:
            lines.append(f"- blind gain: {self.blind_gain:.3g}; log of the ratio {self.log_ratio:.3g}")
        return "\n".join(lines)


@public_module("skprivate.audit")
class GradientMatchingAdversary:
    """Simulate an adversary who fits dummy costs to the broadcasts, by one gradient step per round.

    It sees the broadcasts o, the weights, the schedules and the public starting point. It simulates every
    player's strategy with dummy parameters of the pseudo-gradient F. Then it predicts the player's next
    broadcast and descends the squared error of the prediction in the parameters.

    Parameters
    ----------
    step : float, default=0.1
        Size of the gradient steps, above 0.
    sign : {"corrected", "printed"}, default="corrected"
        Sign of the dummy's step in the prediction. "printed" is the sign of the paper's eq. (10), which fits
        the negative of the parameters.
    n_passes : int, default=1
        Number of passes over the broadcasts.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the dummies, which are standard normal.

    See Also
    --------
    BayesAdversary : The best possible attack with a finite prior.
    skprivate.PrivateNashSolver : The target of this attack.

    Notes
    -----
    The prediction of the next broadcast uses a broadcast in place of the estimate. It is
    ``sum_j L_ij o_j - l F(x, o_i)`` for "ye", and
    ``o_i + g sum_j L_ij (o_j - o_i) + P[x - l F(x, o_i)] - x`` for "wang_nedic". x is the simulated strategy
    of the dummy. Gradients ignore the projection P.

    The attack learns A and B of a `VaccinationGame` that keeps B private. For any other game with an affine
    pseudo-gradient, whose P and Q are public, it learns the constant part r.

    **Privacy**: this is a simulation by a person who holds the true parameters. Its figures are exact
    functions of them, and nothing here is private. It is one attack: a low gain proves nothing. The gain
    itself is not the leakage, because a blind guess that knows the prior has the gain
    ``1 + |E[theta / |theta|]|``, often nearly 2. Let epsilon be the pointwise maximal leakage. The mean gain
    over games of the prior and their broadcasts is at most exp(epsilon) times the blind gain. The log of that
    ratio is the fair figure. Proof: given o, the mean gain of any guess is at most exp(epsilon) times the
    largest mean gain of a guess without o. This is the definition of that leakage.

    References
    ----------
    Cheng, Chen, Oechtering, Skoglund, "Privacy guarantee for Nash equilibrium computation of aggregative
    games based on pointwise maximal leakage", section 5.2.

    Examples
    --------
    >>> import warnings
    >>> from skprivate import PrivateNashSolver, QuadraticAggregativeGame
    >>> from skprivate.audit import GradientMatchingAdversary
    >>> game = QuadraticAggregativeGame(P=1.0, Q=0.5, r=[-0.6, 0.1, 0.4, 0.9])
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")  # without noise: a leak
    ...     solver = PrivateNashSolver(max_iter=100, noise_scale=0, store="observations").fit(game)
    >>> print(GradientMatchingAdversary(random_state=0).run(game, solver))
    gradient matching of r from 99 predictions
    - gain: ...
    """

    def __init__(
        self,
        step: float = 0.1,
        *,
        sign: Literal["corrected", "printed"] = "corrected",
        n_passes: int = 1,
        random_state: RandomSource = None,
    ) -> None:
        self.step = step
        self.sign = sign
        self.n_passes = n_passes
        self.random_state = random_state

    def run(
        self, game: Any, solver: Any, *, prior_games: Iterable[Any] | None = None
    ) -> GradientMatchingResult:
        """Attack the broadcasts of one run.

        Parameters
        ----------
        game : QuadraticAggregativeGame or VaccinationGame
            The game that was played. The adversary knows its public part. The private part is compared with
            the guess.
        solver : PrivateNashSolver
            Fitted with ``store="observations"`` or "all".
        prior_games : iterable of games, default=None
            Games drawn from the prior, for the gain of a blind guess. A small number overstates this gain.

        Returns
        -------
        result : GradientMatchingResult

        Raises
        ------
        TypeError, ValueError
            The game is not affine or keeps something else private. The solver stored no broadcasts, or fewer
            than two. A parameter is out of its range. All private parameters are 0.
        OverflowError
            The guess diverges.
        """
        if self.sign not in ("corrected", "printed"):
            raise ValueError('sign must be "corrected" or "printed".')
        if not (isinstance(self.step, int | float) and 0 < self.step < math.inf):
            raise ValueError("step must be a finite number above 0.")
        n_passes = check_int(self.n_passes, "n_passes", least=1)
        observations = check_observations(game, solver)
        costs = private_costs_of(game)
        truth = _flat(costs.truth(game))
        rng = check_generator(self.random_state)
        guess = {name: rng.normal(size=part.shape) for name, part in costs.truth(game).items()}
        gains = [_gain(truth, guess)]
        for _ in range(n_passes):
            path = list(self._descend(guess, costs, game, solver, observations))
            gains += [_gain(truth, found) for found in path]
            guess = path[-1]
        return GradientMatchingResult(
            gain=gains[-1],
            gains=np.array(gains),
            blind_gain=None if prior_games is None else blind_gain(prior_games),
            guess=guess,
        )

    def _descend(
        self, guess: Parameters, costs: "PrivateCosts", game: Any, solver: Any, observations: FloatArray
    ) -> Iterator[Parameters]:
        """Yield the guesses after every prediction of one pass."""
        projects = solver.mechanism_.algorithm == "wang_nedic"
        direction = 1.0 if self.sign == "corrected" else -1.0
        x = solver.start_
        for k, (o, following) in enumerate(itertools.pairwise(observations)):
            length = solver.steps_[k]
            moved = x - length * costs.gradient(guess, x, o)
            moved = game.constraint.project(moved) if projects else moved
            heard = solver.mixing_.at(k).average(o)
            base = o + solver.consensus_steps_[k] * (heard - o) if projects else heard
            error = base + direction * (moved - x) - following
            # The derivative of |error|^2 by F is -2 direction length error.
            derivative = costs.derivative(2.0 * direction * length * error, x, o)
            guess = {name: part + self.step * derivative[name] for name, part in guess.items()}
            # Comparisons with nan are false.
            if not all(np.abs(part).max() < _LARGEST for part in guess.values()):
                raise OverflowError("the guess diverges: use a smaller step.")
            yield guess
            x = moved


def blind_gain(games: Iterable[Any]) -> float:
    """Return the largest mean gain over games of one guess for all of them.

    Parameters
    ----------
    games : iterable of QuadraticAggregativeGame or VaccinationGame
        Games of one size, drawn from the prior.

    Returns
    -------
    gain : float
        ``1 + |mean of theta / |theta||``: the mean of ``1 + w' theta / |theta|`` over unit vectors w is
        largest for w in the direction of the mean.
    """
    total, count = np.zeros(1), 0
    for count, game in enumerate(games, start=1):  # noqa: B007
        total = total + _direction(_flat(private_costs_of(game).truth(game)))
    if count == 0:
        raise ValueError("prior_games must hold at least one game.")
    return 1.0 + float(np.linalg.norm(total)) / count


def _flat(parameters: Parameters) -> FloatArray:
    return np.concatenate([part.ravel() for part in parameters.values()])


def _direction(theta: FloatArray) -> FloatArray:
    length = np.linalg.norm(theta)
    if length == 0:
        raise ValueError("all private parameters are 0: they have no direction to guess.")
    return theta / length


def _gain(truth: FloatArray, guess: Parameters) -> float:
    return 1.0 + float(np.clip(_direction(truth) @ _direction(_flat(guess)), -1.0, 1.0))


# Private parameters of games whose pseudo-gradient is affine in them, and its derivative by them.


class ConstantCosts:
    """r of a game with public P and Q."""

    def __init__(self, game: Any) -> None:
        self.P, self.Q = game.P_, game.Q_

    def truth(self, game: Any) -> Parameters:
        """Return the true parameters."""
        return {"r": game.r_}

    def gradient(self, guess: Parameters, x: FloatArray, aggregate: FloatArray) -> FloatArray:
        """Return the pseudo-gradient with guessed parameters."""
        return multiply(self.P, x) + multiply(self.Q, aggregate) + guess["r"]

    def derivative(self, weights: FloatArray, x: FloatArray, aggregate: FloatArray) -> Parameters:
        """Return the derivative of ``sum(weights * gradient)`` by the parameters."""
        return {"r": weights}


class VaccinationCosts:
    """A and B of a vaccination game.

    The pseudo-gradient is ``A - s (B' e + w B (1 - x))``. For "herd_immunity", e = 1 - delta and s = 1. For
    "as_printed", e = delta with B' e subtracted, and s = -1 in the second term. w = 1/N with own effect.
    """

    def __init__(self, game: Any) -> None:
        self.rises = not game.herd_immunity
        self.own = 1.0 / game.n_players if game.own_effect else 0.0

    def truth(self, game: Any) -> Parameters:
        """Return the true parameters."""
        # Q_ is B' or -B', and r_ is A minus P_ 1, and minus Q_ 1 if the risk falls.
        one = np.ones((game.n_players, game.n_dims))
        Q = np.broadcast_to(game.Q_, (game.n_players, game.n_dims, game.n_dims))
        prices = game.r_ + multiply(game.P_, one)
        if self.rises:
            return {"A": prices, "B": -Q.swapaxes(1, 2)}
        return {"A": prices + multiply(Q, one), "B": Q.swapaxes(1, 2)}

    def _features(self, x: FloatArray, aggregate: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the vectors with which B' and B are multiplied."""
        own = self.own * (1.0 - x)
        return (-aggregate, own) if self.rises else (aggregate - 1.0, -own)

    def gradient(self, guess: Parameters, x: FloatArray, aggregate: FloatArray) -> FloatArray:
        """Return the pseudo-gradient with guessed parameters."""
        shared, own = self._features(x, aggregate)
        risks = guess["B"]
        return guess["A"] + multiply(risks.swapaxes(1, 2), shared) + multiply(risks, own)

    def derivative(self, weights: FloatArray, x: FloatArray, aggregate: FloatArray) -> Parameters:
        """Return the derivative of ``sum(weights * gradient)`` by the parameters.

        Each player's derivative is divided by 1 plus the squared length of the vectors of its risks.
        """
        shared, own = self._features(x, aggregate)
        # Otherwise broadcasts with large noise would move the guess far off, and farther in every round.
        weights = weights / (1.0 + (shared**2 + own**2).sum(axis=1, keepdims=True))
        outer = shared[:, :, None] * weights[:, None, :] + weights[:, :, None] * own[:, None, :]
        return {"A": weights, "B": outer}


PrivateCosts = ConstantCosts | VaccinationCosts


def private_costs_of(game: Any) -> PrivateCosts:
    """Return the private parameters of a game, in the form in which the attack estimates them."""
    if not isinstance(game, QuadraticAggregativeGame | VaccinationGame):
        raise TypeError("game must be a QuadraticAggregativeGame or a VaccinationGame.")
    if game.private == {"r"}:
        return ConstantCosts(game)
    if isinstance(game, VaccinationGame):
        return VaccinationCosts(game)
    raise ValueError('only r of a QuadraticAggregativeGame can be learnt: use private="r".')


def multiply(matrices: FloatArray, vectors: FloatArray) -> FloatArray:
    """Return the product of every matrix, shape (..., j, k), with its vector, shape (..., k)."""
    return np.einsum("...jk,...k->...j", matrices, vectors)
