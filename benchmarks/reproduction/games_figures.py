# SPDX-License-Identifier: BSD-3-Clause
"""Leakage bounds and attacks on broadcasts: Figures 1 to 3 of the paper on private Nash equilibria."""

import math
import warnings
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import uniform

from skprivate import PrivateNashSolver, QuadraticAggregativeGame
from skprivate.audit import BayesAdversary, GradientMatchingAdversary
from skprivate.audit._attacks.on_games import blind_gain
from skprivate.games import TwoTypePrior, TypePrior, VaccinationGame

from .._pictures import lines, new_panels, write
from .._tables import Table, across, standard_error
from .games_as_printed import ALPHA, BETA, EPSILON, PLAYERS, corrected_lower_bound, upper_bound


class Sizes(NamedTuple):
    """Games of figure 1, runs that gradient matching and Bayes attack in figure 2, runs of figure 3."""

    games: int
    matched: int
    bayes: int
    followed: int


SIZES = {False: Sizes(200, 80, 20, 200), True: Sizes(2, 1, 1, 1)}
#: Of figure 1: rounds beyond the first few tell little under noise that grows, and passes repeat the noise.
FEW, PASSES = 6, (0, 1, 2, 5)
N_PLAYERS, P2 = 10, (0.5, 1.0, 1.5)


def run(save: Path | None = None, small: bool = False) -> None:
    sizes = SIZES[small]
    with warnings.catch_warnings():
        # Runs without noise, or with a private B, are what is shown.
        warnings.simplefilter("ignore")
        gains, entire, individual = figure_1(sizes), figure_2(sizes), figure_3(sizes)
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
    options = {"max_iter": n_rounds, "noise_scale": noise, "step_size": step, "random_state": seed}
    return PrivateNashSolver("ye", store="observations", **options).fit(game)


def scalar(r: Any, noise: Any, n_rounds: int, seed: int) -> tuple[Any, PrivateNashSolver]:
    """Return the game of figures 2 and 3 with private r, and a run of it."""
    game = QuadraticAggregativeGame(1.0, 0.5, r, r_bounds=(-1, 1), own_effect=False)
    return game, played(game, noise, n_rounds, seed, (1, 1, 1))


def figure_1(sizes: Sizes) -> dict[str, dict[str, Any]]:
    """Print mean gains after passes, and return them after every step, by game and noise."""
    means: dict[str, dict[str, Any]] = {}
    noises = {"no noise": 0.0, "M = 0.1": 0.1} | {f"M = 1 + {p2:g} k": (1.0, p2, 1.0) for p2 in P2}
    for make, theta in ((quadratic, "r"), (vaccination, "A and B")):
        games = [make(seed) for seed in range(sizes.games)]
        print(
            f"  Figure 1: gain of matching {theta}, {type(games[0]).__name__}, ye, N = {N_PLAYERS}, n = 2, "
            f"l = 1 / (1 + 0.1 k), {FEW} rounds, adversary's step 0.2; mean of seeds 0 to {sizes.games - 1}"
        )
        columns = (*across(PASSES, ">7.3f"), ("error of the last", ">17.3f"))
        table = Table(("after passes", "<32"), *columns, indent=2)
        for sign, (name, noise) in product(("corrected", "printed"), noises.items()):
            paths = np.array([_gains(game, noise, seed, sign) for seed, game in enumerate(games)])
            mean, error = paths.mean(axis=0), standard_error(paths)[-1]
            table.row(f"{sign}, {name}", *mean[:: FEW - 1][list(PASSES)], error)
            means.setdefault(f"gain of {theta}, {sign} sign", {})[name] = mean
        print(f"  blind guess that knows the prior: {blind_gain(games):.3f}")
    return means


def _gains(game: Any, noise: Any, seed: int, sign: Any) -> Any:
    """Gains before the first step and after every step; a pass has one step less than rounds."""
    adversary = GradientMatchingAdversary(0.2, sign=sign, n_passes=PASSES[-1], random_state=seed)
    return adversary.run(game, played(game, noise, FEW, seed)).gains


def figure_2(sizes: Sizes) -> dict[str, dict[float, float]]:
    """Print bounds and attacks on all players, and return them by name and p2."""
    print(
        f"  Figure 2: all {N_PLAYERS} players, r uniform on [-1, 1], P = 1, Q = 1/2, ye, l = 1 / (1 + k), "
        f"M = 1 + p2 k, 200 rounds; attacks: mean of seeds 0 to {sizes.matched - 1}"
    )
    print("  leakage of Bayes: r -1 or 1 alike; its Theorem 1 in the column before")
    bounds = ("Theorem 1", "Corollary 1", "group DP")
    names = (*bounds, "log g", "Theorem 1 (two)", "Bayes", "its honest")
    table, rows = Table(("p2", "<5g"), *across(names, ">11.3f"), indent=2), {}
    for p2 in P2:
        rows[p2] = [*_bounds(p2), _matched(p2, sizes.matched), *_bayes(p2, sizes.bayes)]
        table.row(p2, *rows[p2])
    return {name: {p2: row[i] for p2, row in rows.items()} for i, name in enumerate(names)}


def _uniform(p2: float, seed: int) -> tuple[Any, PrivateNashSolver]:
    return scalar(np.random.default_rng(seed).uniform(-1, 1, N_PLAYERS), (1.0, p2, 1.0), 200, seed)


def _bounds(p2: float) -> list[float]:
    solver, prior = _uniform(p2, 0)[1], uniform(-1, 2)
    asked = (
        {"prior": prior},
        {"prior": prior, "criterion": "corollary1"},
        {"prior": None, "criterion": "dp"},
    )
    return [solver.privacy_guarantee(**each).epsilon for each in asked]


def _matched(p2: float, n_runs: int) -> float:
    """Log of the mean gain, over the blind gain, which is 1 here by symmetry."""
    adversaries = (GradientMatchingAdversary(0.2, n_passes=5, random_state=seed) for seed in range(n_runs))
    return math.log(np.mean([one.run(*_uniform(p2, seed)).gain for seed, one in enumerate(adversaries)]))


def _bayes(p2: float, n_runs: int) -> list[float]:
    prior = TypePrior([-1.0, 1.0], [0.5, 0.5])
    types = (np.random.default_rng(seed).choice([-1.0, 1.0], N_PLAYERS) for seed in range(n_runs))
    runs = [scalar(r, (1.0, p2, 1.0), 200, seed) for seed, r in enumerate(types)]
    results = [BayesAdversary(prior).run(*each) for each in runs]
    worst, honest = max(found.leakage for found in results), max(found.log_ratio or 0.0 for found in results)
    return [runs[0][1].privacy_guarantee(prior).epsilon, worst, honest]


def figure_3(sizes: Sizes) -> dict[str, dict[float, float]]:
    """Print bounds and attacks on player 1, and return them by name and number of players."""
    print(
        f"  Figure 3: player 1 of N, TwoTypePrior(alpha = {ALPHA}, beta = {BETA}), types -1 and 1, P = 1, "
        f"Q = 1/2, ye, l = 1 / (1 + k), 50 rounds, M constant with eps_o = {EPSILON} for one player; "
        f"leaks of seeds 0 to {sizes.followed - 1}"
    )
    names = ("eq. (9)", "exact sup", "Lemma 5 (1)", "log 1/alpha", "DP", "mean leak", "largest leak")
    table, rows = Table(("N", "<5"), *across(names, ">12.3f"), indent=2), {}
    for n_players in PLAYERS:
        lower = corrected_lower_bound(n_players, EPSILON, ALPHA, BETA)
        upper = upper_bound(n_players, EPSILON, ALPHA)
        exact, single, leaks = _followed(n_players, sizes.followed)
        rows[n_players] = lower, exact, upper, -math.log(ALPHA), single, float(np.mean(leaks)), max(leaks)
        table.row(n_players, *rows[n_players])
    return {name: {n: row[i] for n, row in rows.items()} for i, name in enumerate(names)}


def _followed(n_players: int, n_runs: int) -> tuple[float, float, list[float]]:
    """Return leakage of a single player, its differential privacy, and what Bayes learns in runs."""
    prior, dp = TwoTypePrior([-1.0, 1.0], ALPHA, BETA), {"view": "individual", "criterion": "dp"}
    solver = scalar(_profile(n_players, 0), 20.0, 50, 0)[1]
    scale = 20.0 * solver.privacy_guarantee(None, **dp).epsilon / EPSILON
    runs = [scalar(_profile(n_players, seed), scale, 50, seed) for seed in range(n_runs)]
    leaks = [float(BayesAdversary(prior).run(*each).leakages[0]) for each in runs]
    solver = runs[0][1]
    exact = solver.privacy_guarantee(prior, view="individual").epsilon
    return exact, solver.privacy_guarantee(None, **dp).epsilon, leaks


def _profile(n_players: int, seed: int) -> Any:
    """Draw the types of all players from the prior."""
    rng = np.random.default_rng(seed)
    r = np.full(n_players, -1.0 if rng.uniform() < ALPHA else 1.0)
    while rng.uniform() >= BETA:
        others = rng.choice([-1.0, 1.0], n_players - 1)
        if (others != r[0]).any():
            r[1:] = others
            break
    return r


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
