# SPDX-License-Identifier: BSD-3-Clause
"""The part of the demonstration about players who seek an equilibrium: error and leakage against noise."""

import warnings

import numpy as np
from scipy import stats

from .._typing import Criterion, FloatArray
from ..games import PrivateNashSolver, QuadraticAggregativeGame
from ..games._leakage.guarantees import View
from .summary import Axis, Baseline, Curve, Panel, Scores, Summary, print_table, progress

# Sizes of the demonstration. Set by hand.
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
# Distribution of the players' constants.
_PRIOR = stats.uniform(-4, 4)


def run(repetitions: int) -> None:
    """Print a table of errors and guarantees."""
    print("\nPlayers who seek an equilibrium and broadcast noisy estimates of the mean. Errors, and")
    print(
        "what the broadcasts reveal about one player or about all, in nats. PML: pointwise maximal leakage,"
    )
    print("exact, if only the prior is known. DP: whatever is known. Strategies are not covered.")
    print(f"\n{TITLE}")
    print_table("noise scale", NOISE_SCALES, evaluate(repetitions), ".3g")


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
            )
            with warnings.catch_warnings():
                # The table shows how little protection little noise gives.
                warnings.simplefilter("ignore", UserWarning)
                solver.fit(game)
            scores[STRATEGIES][row, repetition] = _rms(solver.strategies_ - equilibrium)
            scores[AGGREGATE][row, repetition] = _rms(solver.aggregate_ - equilibrium.mean(axis=0))
            for name, (view, criterion) in _GUARANTEES.items():
                known = None if criterion == "dp" else _PRIOR
                scores[name][row, repetition] = solver.privacy_guarantee(known, view, criterion).epsilon
    return scores


def _draw(seed: int) -> QuadraticAggregativeGame:
    constants = np.random.default_rng(seed).uniform(-4, 0, size=N_PLAYERS)
    return QuadraticAggregativeGame(P=1.0, Q=0.5, r=constants, r_bounds=(-4, 0))


def _rms(values: FloatArray) -> float:
    return float(np.sqrt((values**2).mean()))


def summarise(repetitions: int) -> Summary:
    """Return errors against the leakage about one player."""
    scores = evaluate(repetitions)
    error, prior, worst = (scores[name].mean(axis=1) for name in (STRATEGIES, PML_ONE, DP_ONE))
    games = [_draw(repetition).solve() for repetition in range(repetitions)]
    alike = float(np.mean([_rms(equilibrium - equilibrium.mean(axis=0)) for equilibrium in games]))
    costs = (np.diff(error) > 0).all()
    return Summary(
        message=f"In a game, hiding players {'costs' if costs else 'may cost'} accuracy",
        data=f"{N_PLAYERS} SIMULATED players",
        rows={
            "leakage (nats), prior known": prior,
            "leakage (nats), all others known": worst,
            "error of strategies": error,
        },
        baselines=[Baseline("one strategy for all", alike, side="above, left")],
        panel=Panel(
            Axis("leakage about one player, in nats (less hides more)", "log", (1, 10, 100), (0.3, 700)),
            Axis("error of strategies", "log", (0.1, 1, 10), (0.07, 20)),
            [
                Curve("if the prior\nis known", prior, error, at=1, side="below, left"),
                Curve("if all others\nare known", worst, error, at=1, side="above, right"),
            ],
        ),
    )
