# SPDX-License-Identifier: BSD-3-Clause
"""The part of the demonstration about players who seek an equilibrium: error and leakage against noise."""

from typing import Any

import numpy as np
from scipy import stats

from ..accounting import pml_from_ldp
from ..accounting._statements.guarantee import Criterion
from ..games import PrivateNashSolver, QuadraticAggregativeGame
from ..games._leakage.guarantees import View
from .results import FloatArray, Scores, add_common_legend, print_table, progress

NOISE_SCALES = (1.0, 3.0, 10.0, 30.0, 100.0)
N_PLAYERS, N_ROUNDS = 100, 50
TITLE = f"An equilibrium of {N_PLAYERS} players, SIMULATED: {N_ROUNDS} rounds, constants uniform on [-4, 0]"
#: Columns of the table: distances from the equilibrium, and guarantees in nats.
STRATEGIES, AGGREGATE = "strategies", "mean strategy"
PML_ONE, DP_ONE, PML_ALL, DP_ALL = "PML, one", "DP, one", "PML, all", "DP, all"
_GUARANTEES: dict[str, tuple[View, Criterion]] = {
    PML_ONE: ("individual", "pml"),
    DP_ONE: ("individual", "dp"),
    PML_ALL: ("entire", "pml"),
    DP_ALL: ("entire", "dp"),
}
_PRIORS = {"uniform, 2 values": 0.5, "70/30": 0.3, "uniform, 10 values": 0.1, "99/1": 0.01}


def run(repetitions: int) -> Scores:
    """Print a table of errors and guarantees."""
    print("\nPlayers who seek an equilibrium and broadcast noisy estimates of the mean. Errors,")
    print("and what the broadcasts tell of one player or of all, in nats. PML: pointwise maximal leakage,")
    print("exact, for who knows the prior alone. DP: whatever is known. Strategies are not covered.")
    print(f"\n{TITLE}")
    scores = evaluate(repetitions)
    print_table("noise scale", NOISE_SCALES, scores, ".3g")
    return scores


def evaluate(repetitions: int) -> Scores:
    """Return root mean squared errors and guarantees, each of shape (n_scales, repetitions)."""
    columns = (STRATEGIES, AGGREGATE, *_GUARANTEES)
    scores = {name: np.zeros((len(NOISE_SCALES), repetitions)) for name in columns}
    for repetition in progress(range(repetitions), repetitions):
        game = _draw(repetition)
        equilibrium = game.solve()
        for row, scale in enumerate(NOISE_SCALES):
            solver = PrivateNashSolver(
                max_iter=N_ROUNDS, noise_scale=scale, step_size=(0.5, 1, 0.05), consensus_step=(1, 1, 1)
            ).fit(game)
            scores[STRATEGIES][row, repetition] = _rms(solver.strategies_ - equilibrium)
            scores[AGGREGATE][row, repetition] = _rms(solver.aggregate_ - equilibrium.mean(axis=0))
            for name, epsilon in _guarantees(solver).items():
                scores[name][row, repetition] = epsilon
    return scores


def _draw(seed: int) -> QuadraticAggregativeGame:
    constants = np.random.default_rng(seed).uniform(-4, 0, size=N_PLAYERS)
    return QuadraticAggregativeGame(P=1.0, Q=0.5, r=constants, r_bounds=(-4, 0))


def _rms(values: FloatArray) -> float:
    return float(np.sqrt((values**2).mean()))


def _guarantees(solver: PrivateNashSolver) -> dict[str, float]:
    prior = stats.uniform(-4, 4)
    return {
        name: solver.privacy_guarantee(None if criterion == "dp" else prior, view, criterion).epsilon
        for name, (view, criterion) in _GUARANTEES.items()
    }


def draw_lines(axis: Any, scores: Scores) -> None:
    """Draw the error of the strategies, and on an axis of its own what one player leaks."""
    axis.plot(NOISE_SCALES, scores[STRATEGIES].mean(axis=1), marker="o", markersize=3, label=STRATEGIES)
    axis.set(
        xscale="log",
        yscale="log",
        xlabel="noise scale",
        ylabel="root mean squared error",
        title=TITLE.split(":")[0],
    )
    twin = axis.twinx()
    for name, style in ((PML_ONE, "--"), (DP_ONE, ":")):
        twin.plot(NOISE_SCALES, scores[name].mean(axis=1), color="gray", linestyle=style, label=name)
    twin.set(ylabel="epsilon of one player, nats", yscale="log")
    add_common_legend(axis, twin, loc="lower center")


def draw_leakage(axis: Any) -> None:
    """Draw what a report of a given epsilon leaks at most, by the adversary's prior."""
    epsilons = np.linspace(0.05, 8, 160)
    axis.plot(epsilons, epsilons, color="gray", linestyle=":", label="any prior (epsilon)")
    for name, p_min in _PRIORS.items():
        axis.plot(epsilons, [pml_from_ldp(epsilon, p_min) for epsilon in epsilons.tolist()], label=name)
    axis.set(
        xlabel="epsilon of a report",
        ylabel="pointwise maximal leakage, nats",
        title="What a report leaks, by the prior",
        ylim=(0, 8),
    )
    axis.legend(fontsize="small")
