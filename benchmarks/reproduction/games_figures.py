# SPDX-License-Identifier: BSD-3-Clause
"""Leakage bounds and attacks on broadcasts: Figures 1 to 3 of the paper on private Nash equilibria."""

import math
import warnings
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import uniform

from skprivate import PrivateNashSolver, QuadraticAggregativeGame
from skprivate.audit import BayesAdversary, GradientMatchingAdversary
from skprivate.audit._attacks.gradient_matching import blind_gain
from skprivate.games import TwoTypePrior, TypePrior, VaccinationGame

from .._pictures import lines, new_panels, write
from .._tables import Table, across, standard_error
from .games_as_printed import ALPHA, BETA, EPSILON, corrected_lower_bound, upper_bound

SEEDS = 20
#: Of figure 1: rounds beyond the first few tell little under noise that grows, and passes repeat the noise.
GAMES, FEW, PASSES = 200, 6, (0, 1, 2, 5)
N_PLAYERS, P2 = 10, (0.5, 1.0, 1.5)
#: Theorem 1, Corollary 1 and Corollary 2 of the setting of figure 2, from an independent computation.
EXPECTED = {0.5: (7.44, 12.67, 17.31), 1.0: (5.63, 9.26, 12.56), 1.5: (4.54, 7.32, 9.90)}
#: Lower bound of figure 3 for N = 2, 5, 10, 20, 50: the paper's eq. (9), corrected.
EXPECTED_LOWER = {2: 0.162, 5: 0.410, 10: 0.692, 20: 0.999, 50: 1.192}


def run(save: Path | None = None) -> None:
    with warnings.catch_warnings():
        # Runs without noise, or with a private B, are what is shown.
        warnings.simplefilter("ignore")
        gains, entire, individual = figure_1(), figure_2(), figure_3()
    if save is not None:
        draw_gains(gains, save)
        draw_bounds(entire, "p2, M = 1 + p2 k", save, "games_figure_2")
        draw_bounds(individual, "N", save, "games_figure_3")


def vaccination(seed: int) -> VaccinationGame:
    """Two vaccines, A uniform on [0, 1], B the identity's half plus uniform on [0, 1/2]."""
    rng = np.random.default_rng(seed)
    A, B = rng.uniform(size=(N_PLAYERS, 2)), 0.5 * rng.uniform(size=(N_PLAYERS, 2, 2)) + 0.5 * np.eye(2)
    return VaccinationGame(A, B, bounds=None)


def quadratic(seed: int) -> QuadraticAggregativeGame:
    """P = 1, Q = 1/2, r uniform on [-1, 1] squared."""
    r = np.random.default_rng(seed).uniform(-1, 1, (N_PLAYERS, 2))
    return QuadraticAggregativeGame(1.0, 0.5, r)


def played(game: Any, noise: Any, n_rounds: int, seed: int, step: Any = (1, 1, 0.1)) -> PrivateNashSolver:
    """Run "ye", the paper's algorithm, and keep the broadcasts."""
    solver = PrivateNashSolver(
        "ye",
        max_iter=n_rounds,
        noise_scale=noise,
        step_size=step,
        store="observations",
        random_state=seed,
    )
    return solver.fit(game)


def figure_1() -> dict[str, dict[str, Any]]:
    """Print mean gains after passes, and return them after every step, by game and noise."""
    means: dict[str, dict[str, Any]] = {}
    noises = {"no noise": 0.0, "M = 0.1": 0.1} | {f"M = 1 + {p2:g} k": (1.0, p2, 1.0) for p2 in P2}
    for make, theta in ((quadratic, "r"), (vaccination, "A and B")):
        games = [make(seed) for seed in range(GAMES)]
        print(
            f"  Figure 1: gain of matching {theta}, {type(games[0]).__name__}, ye, N = {N_PLAYERS}, "
            f"n = 2, l = 1 / (1 + 0.1 k), {FEW} rounds, adversary's step 0.2; mean of seeds 0 to {GAMES - 1}"
        )
        table = Table(
            ("after passes", "<32"), *across(PASSES, ">7.3f"), ("error of the last", ">17.3f"), indent=2
        )
        for sign, (name, noise) in product(("corrected", "printed"), noises.items()):
            paths = np.array([_path(game, noise, s, sign) for s, game in enumerate(games)])
            mean, error = paths.mean(axis=0), standard_error(paths)[-1]
            table.row(f"{sign}, {name}", *mean[:: FEW - 1][list(PASSES)], error)
            means.setdefault(f"gain of {theta}, {sign} sign", {})[name] = mean
        print(f"  blind guess that knows the prior: {blind_gain(games):.3f}")
    return means


def _path(game: Any, noise: Any, seed: int, sign: Any) -> Any:
    """Gains before the first step and after every step; a pass has one step less than rounds."""
    adversary = GradientMatchingAdversary(0.2, sign=sign, n_passes=PASSES[-1], random_state=seed)
    return adversary.run(game, played(game, noise, FEW, seed)).gains


def figure_2() -> dict[str, dict[float, float]]:
    """Print bounds and attacks on all players, and return them by name and p2."""
    print(
        f"  Figure 2: all {N_PLAYERS} players, r uniform on [-1, 1], P = 1, Q = 1/2, ye, l = 1 / (1 + k), "
        f"M = 1 + p2 k, 200 rounds; attacks: mean of seeds 0 to {4 * SEEDS - 1}"
    )
    print("  leakage of Bayes: r -1 or 1 alike; its Theorem 1 in the column before")
    bounds = ("Theorem 1", "Corollary 1", "group DP")
    attacks = ("log g", "honest", "Theorem 1 (two)", "Bayes", "its honest")
    names, found = (*bounds, *attacks), {}
    table = Table(("p2", "<5g"), *across(names, ">11.3f"), indent=2)
    for p2 in P2:
        row = [*_bounds(p2), *_matched(p2), *_bayes(p2)]
        if not np.allclose(row[:3], EXPECTED[p2], atol=0.006):
            raise RuntimeError("the bounds are not those of an independent computation")
        if not max(row[4], 0.0) <= row[0] <= row[1] <= row[2] or not row[7] <= row[6] <= row[5]:
            raise RuntimeError("the order of the bounds and attacks is broken")
        table.row(p2, *row)
        found[p2] = row
    return _by_name(names, found)


def _scalar(
    p2: float, seed: int, draw: Callable[[np.random.Generator], Any]
) -> tuple[Any, PrivateNashSolver]:
    game = QuadraticAggregativeGame(
        1.0, 0.5, draw(np.random.default_rng(seed)), r_bounds=(-1, 1), own_effect=False
    )
    return game, played(game, (1.0, p2, 1.0), 200, seed, (1, 1, 1))


def _uniform(rng: np.random.Generator) -> Any:
    return rng.uniform(-1, 1, N_PLAYERS)


def _two(rng: np.random.Generator) -> Any:
    return rng.choice([-1.0, 1.0], N_PLAYERS)


def _bounds(p2: float) -> list[float]:
    solver = _scalar(p2, 0, _uniform)[1]
    prior = uniform(-1, 2)
    return [
        solver.privacy_guarantee(prior).epsilon,
        solver.privacy_guarantee(prior, criterion="corollary1").epsilon,
        solver.privacy_guarantee(None, criterion="dp").epsilon,
    ]


def _matched(p2: float) -> list[float]:
    """Log of the mean gain, and the log of its ratio to the blind gain, which is 1 here by symmetry."""
    gains = []
    for seed in range(4 * SEEDS):
        game, solver = _scalar(p2, seed, _uniform)
        gains.append(GradientMatchingAdversary(0.2, n_passes=5, random_state=seed).run(game, solver).gain)
    blind = 1.0
    return [math.log(np.mean(gains)), math.log(np.mean(gains) / blind)]


def _bayes(p2: float) -> list[float]:
    prior = TypePrior([-1.0, 1.0], [0.5, 0.5])
    results = [BayesAdversary(prior).run(*_scalar(p2, seed, _two)) for seed in range(SEEDS)]
    bound = _scalar(p2, 0, _two)[1].privacy_guarantee(prior).epsilon
    worst, honest = max(found.leakage for found in results), [found.log_ratio or 0.0 for found in results]
    return [bound, worst, max(honest)]


def figure_3() -> dict[str, dict[float, float]]:
    """Print bounds and attacks on player 1, and return them by name and number of players."""
    found: dict[float, Sequence[float]] = {}
    print(
        f"  Figure 3: player 1 of N, TwoTypePrior(alpha = {ALPHA}, beta = {BETA}), types -1 and 1, P = 1, "
        f"Q = 1/2, ye, l = 1 / (1 + k), 50 rounds, M constant with eps_o = {EPSILON} for one player; "
        f"leaks of seeds 0 to {10 * SEEDS - 1}"
    )
    names = ("eq. (9)", "exact sup", "Lemma 5 (1)", "log 1/alpha", "DP", "mean leak", "largest leak")
    table = Table(("N", "<5"), *across(names, ">12.3f"), indent=2)
    for n_players, expected in EXPECTED_LOWER.items():
        row = [corrected_lower_bound(n_players, EPSILON, ALPHA, BETA), *_followed(n_players)]
        if abs(row[0] - expected) > 6e-4 or not row[0] <= row[1] + 1e-6 <= row[2] + 2e-6:
            raise RuntimeError("the bounds of the individual view are not in their order")
        if row[6] > row[1]:
            raise RuntimeError("an attack learnt more than the guarantee allows")
        table.row(n_players, *row)
        found[n_players] = row
    return _by_name(names, found)


def _by_name(names: Sequence[str], rows: dict[float, Sequence[float]]) -> dict[str, dict[float, float]]:
    return {name: {x: row[i] for x, row in rows.items()} for i, name in enumerate(names)}


def draw_gains(gains: dict[str, dict[str, Any]], folder: Path) -> None:
    """Draw Figure 1: the gain after every step, a line for each noise."""
    figure, panels = new_panels(list(gains), columns=2)
    for panel, series in zip(panels, gains.values(), strict=True):
        steps = np.arange(len(next(iter(series.values()))))
        lines(panel, steps, series, ("steps of the adversary", "gain"))
        panel.axhline(1.0, linestyle=":", color="grey")
        panel.set_ylim(0, 2)
    write(figure, folder, "games_figure_1")


def draw_bounds(found: dict[str, dict[float, float]], label: str, folder: Path, name: str) -> None:
    """Draw Figure 2 or 3: bounds and attacks, in nats, over what is varied."""
    figure, (panel,) = new_panels([name.replace("_", " ")])
    figure.set_size_inches(7, 5)
    series = {line: list(values.values()) for line, values in found.items()}
    lines(panel, list(next(iter(found.values()))), series, (label, "leakage, nats"))
    write(figure, folder, name)


def _followed(n_players: int) -> Sequence[float]:
    scale = 20.0 * _individual(n_players, 20.0, 0)[1] / EPSILON
    prior, leaks = TwoTypePrior([-1.0, 1.0], ALPHA, BETA), []
    for seed in range(10 * SEEDS):
        game, solver = _drawn(n_players, scale, seed)
        leaks.append(float(BayesAdversary(prior).run(game, solver).leakages[0]))
    upper = upper_bound(n_players, EPSILON, ALPHA)
    exact, single = _individual(n_players, scale, 0)
    return [exact, upper, math.log(1.0 / ALPHA), single, float(np.mean(leaks)), max(leaks)]


def _drawn(n_players: int, scale: float, seed: int) -> tuple[Any, PrivateNashSolver]:
    """Draw a profile from the prior, and run it."""
    rng = np.random.default_rng(seed)
    r = np.full(n_players, -1.0 if rng.uniform() < ALPHA else 1.0)
    while rng.uniform() >= BETA:
        others = rng.choice([-1.0, 1.0], n_players - 1)
        if (others != r[0]).any():
            r[1:] = others
            break
    game = QuadraticAggregativeGame(1.0, 0.5, r, r_bounds=(-1, 1), own_effect=False)
    return game, played(game, scale, 50, seed, (1, 1, 1))


def _individual(n_players: int, scale: float, seed: int) -> tuple[float, float]:
    """Leakage of a single player, and its differential privacy."""
    solver = _drawn(n_players, scale, seed)[1]
    prior = TwoTypePrior([-1.0, 1.0], ALPHA, BETA)
    return (
        solver.privacy_guarantee(prior, view="individual").epsilon,
        solver.privacy_guarantee(None, view="individual", criterion="dp").epsilon,
    )
