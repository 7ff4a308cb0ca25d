# SPDX-License-Identifier: BSD-3-Clause
"""Expected regret of a mediated game at an epsilon, by simulation, beside what needs no epsilon."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt

import numpy as np

from .._config import config_context
from ..exceptions import UtilityWarning
from ..utils import check_int
from ..utils._public_module import public_module
from ._games.game import AggregativeGame
from ._mediated import MediatedNashSolver
from ._rounds import check_game

# What players reach without a release: the public start, and responses to public things.
_START = "the public start"
_HELD = "responses to the start"
_ALIKE = "responses to the start, as if all players were alike"
_DRAWN = "responses to the equilibrium of a public draw"
_ROUNDS = (1, 2, 4, 8)


@public_module("skprivate.games")
@dataclass(frozen=True)
class GamePlan:
    """Expected regrets at an epsilon.

    Attributes
    ----------
    epsilon, delta : float
    regrets : dict of str to (float, float)
        Mean regret and its standard error: without spending anything, and by rounds of a mediator.
    max_iter : int
        Rounds of the least expected regret.
    worth_spending : bool
        Whether a mediator's regret is below the least without spending by two standard errors of the paired
        difference.

    Examples
    --------
    >>> from skprivate.games import GamePlan
    >>> GamePlan(1.0, 1e-6, {"the public start": (1.0, 0.1)}, 1, False).worth_spending
    False
    """

    epsilon: float
    delta: float
    regrets: dict[str, tuple[float, float]]
    max_iter: int
    worth_spending: bool

    def __str__(self) -> str:
        lines = [f"Expected regret at epsilon {self.epsilon:g}, delta {self.delta:g} (standard error):"]
        lines += [f"  {name:<55} {mean:9.3g} ({error:.2g})" for name, (mean, error) in self.regrets.items()]
        best = _name_of(self.max_iter)
        free = "spend nothing, play the best of the first four"
        advice = f"spend it on {best}" if self.worth_spending else free
        return "\n".join([*lines, f"Advice: {advice}."])


def plan_game(
    draw: Callable[[np.random.Generator], AggregativeGame],
    epsilon: float = 1.0,
    *,
    delta: float = 1e-6,
    n_games: int = 10,
    random_state: int = 0,
) -> GamePlan:
    """Simulate the regret of a `MediatedNashSolver` at an epsilon, before any private value is used.

    Parameters
    ----------
    draw : callable
        Takes a `numpy.random.Generator` and returns a game of the size and the sets of the real game. Its
        private parts are drawn from a public distribution.
    epsilon : float, default=1.0
        Of one player, > 0.
    delta : float, default=1e-6
        In (0, 1).
    n_games : int, default=10
        Games that are drawn; at least 2.
    random_state : int, default=0
        Seed.

    Returns
    -------
    plan : GamePlan
        Regrets for 1, 2, 4 and 8 rounds, beside those that need no epsilon.

    Raises
    ------
    TypeError, ValueError
        Wrong types or ranges; a game without a cost, or whose sets have no bound.

    Notes
    -----
    The public draw is independent of the game and of the same distribution. If the real players may differ
    from it, let `draw` draw the distribution, too. That row of the plan then shows the effect of such a
    shift.

    **Privacy**: games are simulated. Nothing private is read, and seeded noise protects nobody.

    Examples
    --------
    >>> from skprivate.games import QuadraticAggregativeGame, plan_game
    >>> def draw(rng):
    ...     return QuadraticAggregativeGame(1.0, 0.5, rng.uniform(-4, 0, 200), bounds=(0, 4))
    >>> plan = plan_game(draw, epsilon=1.0, n_games=4)
    >>> plan.worth_spending       # where the distribution is public, its equilibrium is good enough
    False
    >>> plan.regrets["the public start"][0] > plan.regrets["responses to the equilibrium of a public draw"][0]
    True
    """
    n_games, random_state = (
        check_int(value, name, least=least)
        for value, name, least in ((n_games, "n_games", 2), (random_state, "random_state", 0))
    )
    if not callable(draw):
        raise TypeError("draw must be a function from a numpy.random.Generator to a game.")
    found: dict[str, list[float]] = {}
    with config_context(allow_seeds=True):
        for number in range(n_games):
            game, public = (draw(np.random.default_rng((random_state, number, side))) for side in (0, 1))
            check_game(game)
            for name, regret in _regrets(game, public, epsilon, delta, (random_state, number)).items():
                found.setdefault(name, []).append(regret)
    means = {name: float(np.mean(values)) for name, values in found.items()}
    errors = {name: float(np.std(values, ddof=1)) / sqrt(n_games) for name, values in found.items()}
    rounds = {_name_of(n): n for n in _ROUNDS}
    best = min(rounds, key=lambda name: means[name])
    free = min(means.keys() - rounds.keys(), key=lambda name: means[name])
    gains = np.subtract(found[free], found[best])
    worth = bool(gains.mean() > 2 * gains.std(ddof=1) / sqrt(n_games))
    regrets = {name: (means[name], errors[name]) for name in means}
    return GamePlan(float(epsilon), float(delta), regrets, rounds[best], worth)


def _name_of(n_rounds: int) -> str:
    return f"a mediator, {n_rounds} rounds" if n_rounds > 1 else "a mediator, 1 round"


def _regrets(
    game: AggregativeGame, public: AggregativeGame, epsilon: float, delta: float, seed: tuple[int, ...]
) -> dict[str, float]:
    """Return the regrets of one game."""
    start = game.constraint.start(game.n_players, game.n_dims)
    mean = start.mean(axis=0)
    played = {
        _START: start,
        _HELD: game.respond(mean),
        _ALIKE: game.respond(mean, reference=start, conjecture=1),
        _DRAWN: game.respond(public.solve().mean(axis=0)),
    }
    for n in _ROUNDS:
        solver = MediatedNashSolver(
            epsilon, delta=delta, max_iter=n, random_state=np.random.default_rng((*seed, n))
        )
        with warnings.catch_warnings():
            # The plan shows what the warning says.
            warnings.simplefilter("ignore", UtilityWarning)
            played[_name_of(n)] = solver.fit(game).strategies_
    return {name: game.regret(strategies) for name, strategies in played.items()}
