# SPDX-License-Identifier: BSD-3-Clause
"""Regret of five games at an epsilon: broadcasts, with the last step at home, a mediator, and what is free.

Of "charging, shifted" and "market, shifted" the private costs depart from the public draw.
"""

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from skprivate.games import (
    AggregativeGame,
    MediatedNashSolver,
    PrivateNashSolver,
    QuadraticAggregativeGame,
    Simplex,
    VaccinationGame,
)

from .._tables import Table, across, mean_and_error

EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
OTHERS = np.array([2.0, 1.0, 0.0, 1.0, 1.5, 0.5])


def charging(n: int, rng: np.random.Generator, low: float = 0.2) -> AggregativeGame:
    """Return vehicles with totals of their own that wear, and a price that grows with the load."""
    wear, totals = rng.uniform(low, low + 0.8, (n, 1)), rng.uniform(4, 8, n)

    def cost(x: Any, mean: Any) -> Any:
        return (wear * x**2 + x * (OTHERS + mean)).sum(axis=1)

    def gradient(x: Any, mean: Any) -> Any:
        return 2 * wear * x + OTHERS + mean + x / n

    return AggregativeGame(gradient, n, 6, bounds=Simplex(totals), cost=cost)


def quadratic(n: int, rng: np.random.Generator) -> AggregativeGame:
    """Return the quadratic game in a box."""
    return QuadraticAggregativeGame(1.0, 0.5, rng.uniform(-4, 0, (n, 2)), bounds=(0, 4), r_bounds=(-4, 0))


def vaccination(n: int, rng: np.random.Generator) -> AggregativeGame:
    """Return the paper's game."""
    return VaccinationGame(rng.uniform(0.1, 0.6, n), rng.uniform(0.5, 1.5, n))


def market(n: int, rng: np.random.Generator, dearer: float = 0.0) -> AggregativeGame:
    """Return firms that sell into one market."""
    unit = rng.uniform(1, 3, (n, 1)) + dearer

    def cost(x: Any, mean: Any) -> Any:
        return (unit * x + x**2 / 2 - x * (10 - 2 * mean))[:, 0]

    def gradient(x: Any, mean: Any) -> Any:
        return unit + x - (10 - 2 * mean) + 2 * x / n

    return AggregativeGame(gradient, n, bounds=(0, 10), cost=cost)


def network(n: int, rng: np.random.Generator) -> AggregativeGame:
    """Return households that wish loads of their own; broadcasts go round a ring."""
    wish = rng.uniform(1, 3, (n, 3))

    def cost(x: Any, mean: Any) -> Any:
        return ((x - wish) ** 2 + x * np.exp(mean / 2)).sum(axis=1)

    def gradient(x: Any, mean: Any) -> Any:
        return 2 * (x - wish) + np.exp(mean / 2) * (1 + x / 2 / n)

    return AggregativeGame(gradient, n, 3, bounds=(0, 3), cost=cost)


Draw = Callable[[int, np.random.Generator], AggregativeGame]
GAMES: dict[str, tuple[Draw, Draw]] = {
    "charging": (charging, charging),
    "charging, shifted": (partial(charging, low=1.2), charging),
    "quadratic": (quadratic, quadratic),
    "vaccination": (vaccination, vaccination),
    "market": (market, market),
    "market, shifted": (partial(market, dearer=2.0), market),
    "wishes on a ring": (network, network),
}


def played(name: str, game: AggregativeGame, public: AggregativeGame, seed: int) -> dict[str, list[Any]]:
    """Return strategies by what leads to them, one for each epsilon or one for all."""
    start, n = game.constraint.start(game.n_players, game.n_dims), game.n_players
    ring = None
    if name.endswith("ring"):
        import scipy.sparse as sp

        ring = sp.diags_array([1.0] * 5, offsets=[-n + 1, -1, 0, 1, n - 1], shape=(n, n)).tocsr() / 3
    found: dict[str, list[Any]] = {
        "public start": [start],
        "responses to it": [game.respond(start.mean(axis=0))],
        "as if all were alike": [game.respond(start.mean(axis=0), reference=start, conjecture=1)],
        "public draw": [game.respond(public.solve().mean(axis=0))],
    }
    for label, step in (("broadcasts", "update"), ("broadcasts, last step", "response")):
        try:
            made = [PrivateNashSolver.from_epsilon(e, game, last_step=step, weights=ring) for e in EPSILONS]
            found[label] = [one.set_params(random_state=seed).fit(game).strategies_ for one in made]
        except ValueError:
            found[label] = []
    found["mediator"] = [MediatedNashSolver(e, random_state=seed).fit(game).strategies_ for e in EPSILONS]
    return found


def run(seeds: int = 6, *, small: bool = False) -> None:
    """Print a table a number of players."""
    warnings.simplefilter("ignore")
    for n in (30,) if small else (30, 100, 300, 1000, 3000):
        print(f"\nRegret, {n} players")
        table = Table(("game", "<18"), ("strategies", "<22"), *across(EPSILONS, ">13"))
        for name, (private, public) in GAMES.items():
            regrets: dict[str, list[list[float]]] = {}
            for seed in range(2 if small else seeds):
                pair = [
                    draw(n, np.random.default_rng((n, seed, k))) for k, draw in enumerate((private, public))
                ]
                for label, strategies in played(name, pair[0], pair[1], seed).items():
                    regrets.setdefault(label, []).append([pair[0].regret(x) for x in strategies])
            for label, values in regrets.items():
                cells = [mean_and_error(column) for column in np.array(values).T]
                table.row(name, label, *cells, *[None] * (len(EPSILONS) - len(cells)))
