# SPDX-License-Identifier: BSD-3-Clause
"""Cases of games: every class of game and of prior, guarantees, and attacks on the broadcasts."""

from itertools import product
from typing import Any

import numpy as np
from scipy import stats

from .encode import read
from .names import public
from .record import FIT, PREDICTIONS, STATEMENTS, Case, Recorder


def games(recorder: Recorder) -> None:
    """Solve every game, run it, ask for every guarantee, and attack its broadcasts."""
    for name, (kind, options) in _games().items():
        with recorder.case(kind, name) as case:
            game = public(kind)(**options)
            x = game.solve()
            case.put(FIT, "game", game)
            case.put(PREDICTIONS, "equilibrium", [x, game.residual(x), read(game, "n_players")])
            case.attempt(PREDICTIONS, "regret", game.regret, x)
            case.attempt(PREDICTIONS, "cost", game.cost, x, x.mean(axis=0))
            case.attempt(PREDICTIONS, "gradient", game.pseudo_gradient, x, x)
            case.put(STATEMENTS, "texts", [repr(game), str(game), game.is_monotone()])
            _run(case, game)
    points = np.random.default_rng(2).normal(size=(12, 2))
    for name, bounds in {"Box": ([0.0, -1], [1.0, 1]), "Simplex": ()}.items():
        with recorder.case(name, "projection") as case:
            found = public(name)(*bounds)
            case.put(FIT, "set", [found, repr(found)])
            projected = [found.project(points), found.contains(points), found.start(3, 2)]
            case.put(PREDICTIONS, "projected", projected)


def _games() -> dict[str, tuple[str, dict[str, Any]]]:
    line: dict[str, Any] = {"P": 1.0, "Q": 0.5, "r": [-0.6, 0.1, 0.4, 0.9]}
    plane = {"P": 1.5, "Q": 0.2, "r": [[-0.5, 0.2], [0.1, 0.4], [0.3, -0.2], [0.8, 0.1]], "r_bounds": (-1, 1)}
    vaccines = {"A": [0.2, 0.4, 0.6, 0.1], "B": [1.0] * 4}
    constants = np.array([[1.0], [1.5], [2.0], [2.5]])
    gradient = lambda x, mean: constants + 1.4 * x - 10 + 2 * mean  # noqa: E731
    return {
        "no bounds": ("QuadraticAggregativeGame", line),
        "bounds of r": ("QuadraticAggregativeGame", {**line, "r_bounds": (-1, 1)}),
        "bounds": (
            "QuadraticAggregativeGame",
            {**line, "r_bounds": (-1, 1), "bounds": (-2, 2), "own_effect": False},
        ),
        "simplex": ("QuadraticAggregativeGame", {**plane, "bounds": public("Simplex")()}),
        "box": ("QuadraticAggregativeGame", {**plane, "bounds": public("Box")([0, -1], [1, 1])}),
        "private A": ("VaccinationGame", {**vaccines, "A_bounds": (0, 1), "private": "A"}),
        "as printed": ("VaccinationGame", {**vaccines, "cost": "as_printed"}),
        "own": ("AggregativeGame", {"pseudo_gradient": gradient, "n_players": 4, "bounds": (0, 10)}),
    }


def _priors() -> dict[str, Any]:
    profiles = [[-1.0] * 4, [0.5, 0, 1, -1.0], [1.0] * 4]
    return {
        "none": None,
        "uniform": stats.uniform(-1, 2),
        "continuous": public("ContinuousPrior")(stats.truncnorm(-1, 1)),
        "types": public("TypePrior")([-1.0, 0.0, 1.0], [0.5, 0.2, 0.3]),
        "joint": public("JointPrior")(profiles, [0.4, 0.2, 0.4]),
        "two types": public("TwoTypePrior")([-1.0, 1.0], alpha=0.3, beta=0.6),
        "sampled": public("SampledPrior")(lambda n, rng: rng.triangular(-1, 0, 1, size=n), bounds=(-1, 1)),
    }


def _run(case: Case, game: Any) -> None:
    options = {"max_iter": 25, "noise_scale": 2.0, "store": "observations", "random_state": 0}
    solver = public("PrivateNashSolver")(**options).fit(game)
    case.estimator(solver)
    for (name, prior), view, criterion in product(
        _priors().items(), ("entire", "individual"), ("pml", "corollary1", "dp")
    ):
        ask = {"prior": prior, "view": view, "criterion": criterion}
        key = f"{name}, {view}, {criterion}"
        guarantee = case.attempt(STATEMENTS, key, solver.privacy_guarantee, **ask)
        if guarantee is not None:
            case.statement(key, guarantee)
    bayes = public("BayesAdversary")(public("TypePrior")([-1.0, 1.0], [0.5, 0.5]))
    for adversary in (bayes, public("GradientMatchingAdversary")(random_state=0)):
        found = case.attempt(PREDICTIONS, type(adversary).__name__, adversary.run, game, solver)
        case.put(STATEMENTS, type(adversary).__name__, str(found))
    case.attempt(FIT, "further rounds", lambda: solver.partial_fit(game).strategies_)
    case.put(FIT, "broadcasts", read(solver, "observations_"))
    case.statement("spent after further rounds", solver.privacy_spent_)
