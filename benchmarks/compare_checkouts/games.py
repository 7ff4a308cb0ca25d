# SPDX-License-Identifier: BSD-3-Clause
"""Cases of games: every class of game, setting of the solver, prior and guarantee, and the attacks."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import stats

from .encode import read
from .names import public
from .record import FIT, PREDICTIONS, SEEDS, STATEMENTS, Recorder, folder, sweep

_RING = 0.5 * np.eye(4) + 0.25 * (np.roll(np.eye(4), 1, axis=0) + np.roll(np.eye(4), -1, axis=0))
_SETTINGS: dict[str, dict[str, Any]] = {
    "scale 5": {"noise_scale": 5.0},
    "growing noise": {"noise_scale": (1.0, 0.1, 0.2)},
    "noise per round": {"noise_scale": np.linspace(1, 3, 40)},
    "no noise": {"noise_scale": 0},
    "constant steps": {"step_size": 0.05, "consensus_step": 0.2},
    "called steps": {"step_size": lambda k: 1 / (3 + k)},
    "clipped": {"clip_norm": 0.5},
    "ring": {"weights": _RING},
    "ring, ye": {"weights": _RING, "algorithm": "ye", "noise_scale": 0.2},
    "all stored": {"store": "all", "max_iter": 15},
}


def _games() -> dict[str, Callable[[], Any]]:
    quadratic, vaccination = public("games", "QuadraticAggregativeGame"), public("games", "VaccinationGame")
    r, spread = [-0.6, 0.1, 0.4, 0.9], {"r_bounds": (-1, 1)}
    simplex, box = public("games", "Simplex"), public("games", "Box")
    plane = np.array([[-0.5, 0.2], [0.1, 0.4], [0.3, -0.2], [0.8, 0.1]])
    return {
        "quadratic": lambda: quadratic(P=1.0, Q=0.5, r=r, **spread),
        "quadratic, bounded": lambda: quadratic(
            P=1.0, Q=0.5, r=r, bounds=(-2, 2), own_effect=False, **spread
        ),
        "quadratic, simplex": lambda: quadratic(P=1.0, Q=0.2, r=plane, bounds=simplex(), **spread),
        "quadratic, box": lambda: quadratic(P=1.5, Q=0.2, r=plane, bounds=box([0, -1], [1, 1]), **spread),
        "quadratic, no bounds": lambda: quadratic(P=1.0, Q=0.5, r=r),
        "vaccination": lambda: vaccination(A=[0.2, 0.4, 0.6, 0.1], B=[1.0] * 4, A_bounds=(0, 1), private="A"),
        "vaccination, printed": lambda: vaccination(A=[0.2, 0.4, 0.6, 0.1], B=[1.0] * 4, cost="as_printed"),
        "own": lambda: public("games", "AggregativeGame")(
            lambda x, mean: np.array([[1.0], [1.5], [2.0], [2.5]]) + 1.4 * x - 10 + 2 * mean,
            4,
            bounds=(0, 10),
        ),
    }


def _priors() -> dict[str, Callable[[], Any]]:
    def draw(n: int, rng: Any) -> Any:
        return rng.triangular(-1, 0, 1, size=n)

    return {
        "none": lambda: None,
        "uniform": lambda: stats.uniform(-1, 2),
        "continuous": lambda: public("games", "ContinuousPrior")(stats.truncnorm(-1, 1)),
        "types": lambda: public("games", "TypePrior")([-1.0, 0.0, 1.0], [0.5, 0.2, 0.3]),
        "joint": lambda: public("games", "JointPrior")(
            [[-1.0] * 4, [0.5, 0, 1, -1.0], [1.0] * 4], [0.4, 0.2, 0.4]
        ),
        "two types": lambda: public("games", "TwoTypePrior")([-1.0, 1.0], alpha=0.3, beta=0.6),
        "sampled": lambda: public("games", "SampledPrior")(draw, bounds=(-1, 1)),
    }


def games(recorder: Recorder) -> None:
    """Solve every game, run every setting, and ask for every guarantee."""
    for name, make in _games().items():
        kind = "VaccinationGame" if "vacc" in name else "AggregativeGame" if name == "own" else "Quadratic"
        label = "QuadraticAggregativeGame" if kind == "Quadratic" else kind
        with recorder.case(label, name) as case:
            game = make()
            x = game.solve()
            case.put(FIT, "game", game)
            case.put(PREDICTIONS, "equilibrium", [x, game.residual(x), read(game, "n_players")])
            case.attempt(PREDICTIONS, "regret", lambda game=game, x=x: game.regret(x))
            case.attempt(PREDICTIONS, "cost", lambda game=game, x=x: game.cost(x, x.mean(axis=0)))
            case.attempt(PREDICTIONS, "gradient", lambda game=game, x=x: game.pseudo_gradient(x, x))
            case.put(STATEMENTS, "texts", [repr(game), str(game), game.is_monotone()])
    _sets(recorder)
    kind = public("games", "PrivateNashSolver")
    for label, parameters in sweep(kind, {"max_iter": 40, "store": "observations"}, _SETTINGS):
        for seed in (*SEEDS, None):
            _solve(recorder, f"{label}, seed {seed}", parameters, seed, "quadratic", label == "base")
    for name in _games():
        for seed in SEEDS:
            settings = {"max_iter": 25, "noise_scale": 2.0, "store": "observations"}
            _solve(recorder, f"game {name}, seed {seed}", settings, seed, name, seed == 0)


def _sets(recorder: Recorder) -> None:
    points = np.random.default_rng(2).normal(size=(12, 2))
    for name, options in {"Box": {"lower": [0.0, -1], "upper": [1.0, 1]}, "Simplex": {}}.items():
        with recorder.case(name, "projection") as case:
            kind = public("games", name)
            found = kind(*options.values())
            case.put(FIT, "set", found)
            case.put(
                PREDICTIONS, "projected", [found.project(points), found.contains(points), found.start(3, 2)]
            )
            case.put(STATEMENTS, "repr", repr(found))


def _solve(recorder: Recorder, label: str, parameters: Any, seed: Any, name: str, all_priors: bool) -> None:
    with recorder.case("PrivateNashSolver", label) as case, folder() as here:
        game = _games()[name]()
        solver = public("games", "PrivateNashSolver")(**{**parameters, "random_state": seed})
        if seed is None and all_priors:
            solver.set_params(ledger=public("accounting", "PrivacyLedger")(here / "a.ledger", epsilon=10**6))
        case.estimator(solver.fit(game))
        for prior_name, prior in _priors().items():
            if ((all_priors or prior_name in ("none", "types")) and case.level > 1) or prior_name == "none":
                _guarantees(case, solver, prior_name, prior)
        if case.level > 1:
            _attacks(case, game, solver)
        case.attempt(FIT, "further rounds", lambda: solver.partial_fit(game).strategies_)
        case.put(FIT, "broadcasts", read(solver, "observations_"))
        case.statement("spent after further rounds", solver.privacy_spent_)


def _guarantees(case: Any, solver: Any, name: str, prior: Callable[[], Any]) -> None:
    for view in ("entire", "individual"):
        for criterion in ("pml", "corollary1", "dp"):
            ask = {"prior": prior(), "view": view, "criterion": criterion}
            key = f"{name}, {view}, {criterion}"
            guarantee = case.attempt(STATEMENTS, key, lambda ask=ask: solver.privacy_guarantee(**ask))
            if guarantee is not None:
                case.statement(key, guarantee)


def _attacks(case: Any, game: Any, solver: Any) -> None:
    bayes = public("audit", "BayesAdversary")(public("games", "TypePrior")([-1.0, 1.0], [0.5, 0.5]))
    matching = public("audit", "GradientMatchingAdversary")(random_state=0)
    for name, adversary in (("bayes", bayes), ("matching", matching)):
        case.attempt(PREDICTIONS, name, lambda adversary=adversary: adversary.run(game, solver))
        case.attempt(STATEMENTS, name, lambda adversary=adversary: str(adversary.run(game, solver)))
