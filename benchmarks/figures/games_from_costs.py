# SPDX-License-Identifier: BSD-3-Clause
"""Regret of five games from their costs, against the same games from gradients, without and with noise."""

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from skprivate.games import AggregativeGame, PrivateNashSolver, Simplex

from .._tables import Table
from .._timing import compare

#: Rounds with noise, repeats of a time, and games.
SIZES = {False: (300, 200, 5), True: (10, 2, 2)}

Function = Callable[[np.ndarray, np.ndarray], np.ndarray]


class Costs(NamedTuple):
    """A game by its cost, and by its derivatives by the own strategy and by the mean."""

    name: str
    cost: Function
    by_strategy: Function
    by_mean: Function
    n_players: int
    n_dims: int
    bounds: Any

    def nash_gradient(self, x: np.ndarray, mean: np.ndarray) -> np.ndarray:
        """Return the pseudo-gradient with the own effect."""
        return self.by_strategy(x, mean) + self.by_mean(x, mean) / self.n_players


def make_games(rng: np.random.Generator) -> list[Costs]:
    """Return the games of the page on games, with the gradients that it spares its readers."""
    unit = np.linspace(1, 3, 5)[:, None]
    wear, others = rng.uniform(0.2, 1, (20, 1)), np.array([2.0, 1.0, 0.0, 1.0])
    benefit = np.linspace(1, 8, 10)[:, None]
    target = rng.normal(size=(8, 2))
    wish = rng.uniform(1, 3, (30, 3))
    return [
        Costs(
            "Cournot",
            lambda x, mean: (unit * x + x**2 / 2 - x * (10 - 2 * mean))[:, 0],
            lambda x, mean: unit + x - (10 - 2 * mean),
            lambda x, mean: 2 * x,
            *(5, 1, (0, 10)),
        ),
        Costs(
            "charging",
            lambda x, mean: (wear * x**2 + x * (others + mean) ** 2).sum(axis=1),
            lambda x, mean: 2 * wear * x + (others + mean) ** 2,
            lambda x, mean: 2 * x * (others + mean),
            *(20, 4, Simplex(8)),
        ),
        Costs(
            "public good",
            lambda x, mean: (x**2 / 2 - benefit * np.log(1 + 10 * mean))[:, 0],
            lambda x, mean: x,
            lambda x, mean: -10 * benefit / (1 + 10 * mean),
            *(10, 1, (0, 5)),
        ),
        Costs(
            "tracking",
            lambda x, mean: ((x - target) ** 2 + (x - mean) ** 2).sum(axis=1) / 2,
            lambda x, mean: 2 * x - target - mean,
            lambda x, mean: mean - x,
            *(8, 2, None),
        ),
        Costs(
            "demand response",
            lambda x, mean: ((x - wish) ** 2 + x * np.exp(mean / 2)).sum(axis=1),
            lambda x, mean: 2 * (x - wish) + np.exp(mean / 2),
            lambda x, mean: x * np.exp(mean / 2) / 2,
            *(30, 3, (0, 3)),
        ),
    ]


def play(game: AggregativeGame, rounds: int) -> np.ndarray:
    """Return strategies after rounds with noise, the same for all games of one shape."""
    steps: dict[str, Any] = {"step_size": (0.1, 1, 0.01), "consensus_step": (1, 1, 1)}
    solver = PrivateNashSolver(max_iter=rounds, noise_scale=0.01, random_state=0, **steps)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return solver.fit(game).strategies_


def run(*, small: bool = False) -> None:
    """Print the figures."""
    rounds, repeats, n_games = SIZES[small]
    print("Regret: what the player who gains most would gain by another strategy. Partial: from a gradient")
    print(f"that leaves the own effect out. With noise: {rounds} rounds of scale 0.01, one seed. Difference:")
    print(
        "the largest of strategies from gradient and cost. Time: a gradient by differences over one by hand."
    )
    table = Table(
        *(("game", "<16"), ("regret, gradient", ">16.1e"), ("cost", ">8.1e"), ("partial", ">8.1e")),
        *(("difference", ">10.1e"), ("noise, gradient", ">15.1e"), ("cost", ">8.1e")),
        *(("difference", ">10.1e"), ("time, ratio", ">11.1f")),
    )
    for costs in make_games(np.random.default_rng(0))[:n_games]:
        shape, known = (costs.n_players, costs.n_dims), {"bounds": costs.bounds}
        given = AggregativeGame(costs.nash_gradient, *shape, cost=costs.cost, **known)
        found = AggregativeGame.from_cost(costs.cost, *shape, **known)
        partial = AggregativeGame(costs.by_strategy, *shape, cost=costs.cost, **known)
        given.check_gradient()
        solved, quiet = given.solve(), found.solve()
        noisy, played = (play(game, rounds) for game in (given, found))
        mean = solved.mean(axis=0)
        times = compare(
            lambda game=found, x=solved, mean=mean: game.pseudo_gradient(x, mean),
            lambda game=given, x=solved, mean=mean: game.pseudo_gradient(x, mean),
            repeats,
        )
        regrets = (given.regret(strategies) for strategies in (solved, quiet, partial.solve()))
        noise = given.regret(noisy), given.regret(played), np.abs(noisy - played).max()
        table.row(costs.name, *regrets, np.abs(solved - quiet).max(), *noise, times.ratio)
