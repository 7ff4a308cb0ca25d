# SPDX-License-Identifier: BSD-3-Clause
"""Gradient matching: what it learns without noise, with either sign, and the honest figure."""

import warnings

import numpy as np
import pytest

from skprivate import PrivateNashSolver, QuadraticAggregativeGame
from skprivate.audit import GradientMatchingAdversary
from skprivate.audit._attacks.on_games import VaccinationCosts, blind_gain
from skprivate.games import AggregativeGame, VaccinationGame

pytestmark = pytest.mark.filterwarnings("ignore::skprivate.exceptions.PrivacyLeakWarning")


def quadratic(seed, n_players=6, n_dims=2):
    return QuadraticAggregativeGame(1.0, 0.5, np.random.default_rng(seed).uniform(-1, 1, (n_players, n_dims)))


def vaccination(seed, cost="herd_immunity", own_effect=True, n_players=6):
    rng = np.random.default_rng(seed)
    A, B = rng.uniform(size=(n_players, 2)), 0.5 * rng.uniform(size=(n_players, 2, 2)) + 0.5 * np.eye(2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return A, B, VaccinationGame(A, B, cost=cost, bounds=None, own_effect=own_effect)


def played(game, algorithm="wang_nedic", noise=0.0, n_rounds=50, seed=0):
    solver = PrivateNashSolver(
        algorithm,
        max_iter=n_rounds,
        noise_scale=noise,
        step_size=(1, 1, 0.1),
        store="observations",
        random_state=seed,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return solver.fit(game)


@pytest.mark.parametrize("algorithm", ["ye", "wang_nedic"])
def test_learns_r_without_noise_and_its_opposite_with_the_printed_sign(algorithm):
    game = quadratic(0)
    solver = played(game, algorithm)
    options = {"step": 0.2, "n_passes": 20, "random_state": 0}
    corrected = GradientMatchingAdversary(**options).run(game, solver)
    assert corrected.gain > 1.99
    assert corrected.guess["r"] == pytest.approx(game.r_, abs=0.05)
    printed = GradientMatchingAdversary(sign="printed", **options).run(game, solver)
    assert printed.gain < 0.1


def test_noise_hides():
    gains = []
    for noise in (0.0, (1, 0.5, 1)):
        found = [
            GradientMatchingAdversary(0.2, n_passes=20, random_state=s).run(
                quadratic(s), played(quadratic(s), noise=noise, seed=s)
            )
            for s in range(5)
        ]
        gains.append(np.mean([result.gain for result in found]))
    assert gains[0] > 1.9 > 1.5 > gains[1]


@pytest.mark.parametrize("own_effect", [True, False])
@pytest.mark.parametrize("cost", ["herd_immunity", "as_printed"])
def test_vaccination_parameters_and_their_gradient(cost, own_effect):
    A, B, game = vaccination(1, cost, own_effect)
    costs, rng = VaccinationCosts(game), np.random.default_rng(0)
    truth = costs.truth(game)
    assert truth["A"] == pytest.approx(A)
    assert truth["B"] == pytest.approx(B)
    x, v, w = rng.normal(size=(3, 6, 2))
    assert costs.gradient(truth, x, v) == pytest.approx(game.pseudo_gradient(x, v))
    pull = costs.derivative(w, x, v)
    # The gradient is linear in the parameters; players' pulls point where it grows, up to a positive factor.
    other = {name: rng.normal(size=part.shape) for name, part in truth.items()}
    change = (w * costs.gradient(other, x, v)).sum(axis=1)
    slope = (pull["A"] * other["A"]).sum(axis=1) + (pull["B"] * other["B"]).sum(axis=(1, 2))
    shared = -v if cost == "as_printed" else v - 1
    own = (1 - x) / 6 if own_effect else 0 * x
    assert change == pytest.approx(slope * (1 + (shared**2 + own**2).sum(axis=1)))


def test_projected_games_are_simulated_with_their_projection():
    game = QuadraticAggregativeGame(1.0, 0.5, [-2.0, 0.3, 2.0], bounds=(-0.5, 0.5))
    result = GradientMatchingAdversary(0.5, n_passes=50, random_state=0).run(game, played(game))
    # Without the projection: 1.972.
    assert result.gain > 1.98


def test_a_blind_guess_may_score_high_and_the_ratio_says_so():
    games = [QuadraticAggregativeGame(1.0, 0.5, [a, b]) for a, b in ((3, 4), (4, 3))]
    assert blind_gain(games) == pytest.approx(1 + np.linalg.norm([0.7, 0.7]))
    result = GradientMatchingAdversary(random_state=0).run(
        games[0], played(games[0]), prior_games=iter(games)
    )
    assert result.log_ratio == pytest.approx(np.log(result.gain / result.blind_gain))
    assert result.log_gain == pytest.approx(np.log(result.gain))
    assert f"blind gain: {result.blind_gain:.3g}" in str(result)
    assert GradientMatchingAdversary().run(games[0], played(games[0])).log_ratio is None


def test_refuses_what_it_cannot_do():
    game = quadratic(0)
    solver = played(game, n_rounds=3)
    for options in ({"sign": "wrong"}, {"step": 0}, {"step": float("nan")}, {"n_passes": 0}):
        with pytest.raises(ValueError, match=next(iter(options))):
            GradientMatchingAdversary(**options).run(game, solver)
    with pytest.raises(TypeError, match="Quadratic"):
        GradientMatchingAdversary().run(AggregativeGame(lambda x, v: x, 6, 2), solver)
    with pytest.raises(ValueError, match="only r"):
        GradientMatchingAdversary().run(QuadraticAggregativeGame(1.0, 0.5, game.r_, private="P"), solver)
    with pytest.raises(ValueError, match="fitted on"):
        GradientMatchingAdversary().run(quadratic(0, n_players=5), solver)
    with pytest.raises(ValueError, match="two rounds"):
        GradientMatchingAdversary().run(game, played(game, n_rounds=1))
    with pytest.raises(ValueError, match="at least one game"):
        GradientMatchingAdversary().run(game, solver, prior_games=[])
    zero = QuadraticAggregativeGame(1.0, 0.5, [0.0, 0.0])
    silent = played(zero)
    with pytest.raises(ValueError, match="are 0"):
        GradientMatchingAdversary().run(zero, silent)
    with pytest.raises(OverflowError, match="smaller step"):
        GradientMatchingAdversary(1e6, n_passes=50, random_state=0).run(game, played(game))
