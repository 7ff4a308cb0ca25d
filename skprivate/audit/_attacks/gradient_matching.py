# SPDX-License-Identifier: BSD-3-Clause
"""Gradient matching: estimates players' private costs by predicting each broadcast from the last."""

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from ..._typing import FloatArray, RandomSource
from ...games import QuadraticAggregativeGame, VaccinationGame
from ...utils import check_int
from ...utils._public_module import public_module
from .inputs import check_generator, check_observations

Parameters = dict[str, FloatArray]
# A guess beyond has diverged; its squares are still finite.
_LARGEST = 1e100


@dataclass(frozen=True, kw_only=True)
class GradientMatchingResult:
    """How well the adversary's guess points in the direction of the players' private parameters.

    Parameters
    ----------
    gain : float
        1 plus the cosine of the angle between all private parameters and the last guess; in [0, 2].
    gains : ndarray of shape (n_passes * (n_rounds - 1) + 1,)
        The same of the first dummy and after every prediction.
    blind_gain : float or None
        Largest mean gain of one guess for all games of the prior, made without listening; None: no prior.
    guess : dict of str to ndarray
        The last guess, by the parameters' names.
    """

    gain: float
    gains: FloatArray = field(repr=False, compare=False)
    blind_gain: float | None
    guess: Mapping[str, FloatArray] = field(repr=False, compare=False)

    @property
    def log_gain(self) -> float:
        """Logarithm of the gain. It is NOT what leaked: a blind guess may have as much."""
        return math.log(self.gain) if self.gain > 0 else -math.inf

    @property
    def log_ratio(self) -> float | None:
        """Logarithm of the gain over the blind one, the honest figure once gains are averaged over runs."""
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
    player's strategy with dummy parameters of the pseudo-gradient F, predicts the player's next broadcast and
    descends the squared error of the prediction in the parameters.

    Parameters
    ----------
    step : float, default=0.1
        Size of the gradient steps, above 0.
    sign : {"corrected", "printed"}, default="corrected"
        Sign of the dummy's step in the prediction. "printed" is that of the paper's eq. (10), which fits the
        opposite of the parameters.
    n_passes : int, default=1
        How many times the adversary goes through the broadcasts.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the dummies, which are standard normal.

    See Also
    --------
    BayesAdversary : The best that can be done with a finite prior.
    skprivate.PrivateNashSolver : What this attacks.

    Notes
    -----
    The prediction of the next broadcast is, a broadcast standing in for the estimate,
    ``sum_j L_ij o_j - l F(x, o_i)`` for "ye", and for "wang_nedic"
    ``o_i + g sum_j L_ij (o_j - o_i) + P[x - l F(x, o_i)] - x``. x is the simulated strategy, of the
    dummy. Gradients pass through the projection P as if it were the identity.

    What is learnt: A and B of a `VaccinationGame` that keeps B private; the constant part r of any other
    game with an affine pseudo-gradient, whose P and Q are public.

    **Privacy**: this is a simulation by someone who holds the true parameters; its figures are exact
    functions of them, and nothing here is private. It is one attack: a low gain proves nothing. The gain
    itself does not say what leaked, for a blind guess that knows the prior scores
    ``1 + |E[theta / |theta|]|``, often nearly 2. The mean gain over games of the prior and their broadcasts
    is at most exp(epsilon) times the blind one, epsilon the pointwise maximal leakage; the log of that ratio
    is the honest figure. Proof: given o, the gain of any guess has a mean of at most exp(epsilon) times the
    largest mean of a guess without o, by the definition of that leakage.

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
            The game that was played. The adversary knows what is public of it; what is private is compared
            with its guess.
        solver : PrivateNashSolver
            Fitted with ``store="observations"`` or "all".
        prior_games : iterable of games, default=None
            Games drawn from the prior, for the gain of a blind guess. With few of them it is overrated.

        Returns
        -------
        result : GradientMatchingResult

        Raises
        ------
        TypeError, ValueError
            The game is not affine or keeps something else private; the solver stored no broadcasts, or fewer
            than two; a parameter is out of its range; all private parameters are 0.
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
            # Of |error|^2, whose derivative by F is -2 direction length error.
            derivative = costs.derivative(2.0 * direction * length * error, x, o)
            guess = {name: part + self.step * derivative[name] for name, part in guess.items()}
            # Comparisons with nan are false.
            if not all(np.abs(part).max() < _LARGEST for part in guess.values()):
                raise OverflowError("the guess diverges: use a smaller step.")
            yield guess
            x = moved


def blind_gain(games: Iterable[Any]) -> float:
    """Return the largest mean gain over games that one guess for all of them has.

    Parameters
    ----------
    games : iterable of QuadraticAggregativeGame or VaccinationGame
        Drawn from the prior, and of one size.

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

    The pseudo-gradient is ``A - s (B' e + w B (1 - x))``: e = 1 - delta and s = 1 for "herd_immunity",
    e = delta with B' e subtracted and s = -1 in the second term for "as_printed"; w = 1/N with own effect.
    """

    def __init__(self, game: Any) -> None:
        self.rises = not game.herd_immunity
        self.own = 1.0 / game.n_players if game.own_effect else 0.0

    def truth(self, game: Any) -> Parameters:
        """Return the true parameters."""
        # Q_ is B' or -B', and r_ is A less P_ 1, and less Q_ 1 where the risk falls.
        one = np.ones((game.n_players, game.n_dims))
        Q = np.broadcast_to(game.Q_, (game.n_players, game.n_dims, game.n_dims))
        prices = game.r_ + multiply(game.P_, one)
        if self.rises:
            return {"A": prices, "B": -Q.swapaxes(1, 2)}
        return {"A": prices + multiply(Q, one), "B": Q.swapaxes(1, 2)}

    def _features(self, x: FloatArray, aggregate: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return what B' and what B are multiplied with."""
        own = self.own * (1.0 - x)
        return (-aggregate, own) if self.rises else (aggregate - 1.0, -own)

    def gradient(self, guess: Parameters, x: FloatArray, aggregate: FloatArray) -> FloatArray:
        """Return the pseudo-gradient with guessed parameters."""
        shared, own = self._features(x, aggregate)
        risks = guess["B"]
        return guess["A"] + multiply(risks.swapaxes(1, 2), shared) + multiply(risks, own)

    def derivative(self, weights: FloatArray, x: FloatArray, aggregate: FloatArray) -> Parameters:
        """Return the derivative of ``sum(weights * gradient)`` by the parameters.

        Each player's is divided by 1 plus the squared length of what its risks are multiplied with.
        """
        shared, own = self._features(x, aggregate)
        # Broadcasts with large noise would otherwise throw the guess far off, and farther in every round.
        weights = weights / (1.0 + (shared**2 + own**2).sum(axis=1, keepdims=True))
        outer = shared[:, :, None] * weights[:, None, :] + weights[:, :, None] * own[:, None, :]
        return {"A": weights, "B": outer}


PrivateCosts = ConstantCosts | VaccinationCosts


def private_costs_of(game: Any) -> PrivateCosts:
    """Return the private parameters of a game in the form that the attack estimates."""
    if not isinstance(game, QuadraticAggregativeGame | VaccinationGame):
        raise TypeError("game must be a QuadraticAggregativeGame or a VaccinationGame.")
    if game.private == {"r"}:
        return ConstantCosts(game)
    if isinstance(game, VaccinationGame):
        return VaccinationCosts(game)
    raise ValueError('of a QuadraticAggregativeGame only r can be learnt: use private="r".')


def multiply(matrices: FloatArray, vectors: FloatArray) -> FloatArray:
    """Return the product of every matrix, shape (..., j, k), with its vector, shape (..., k)."""
    return np.einsum("...jk,...k->...j", matrices, vectors)
