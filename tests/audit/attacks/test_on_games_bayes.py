# SPDX-License-Identifier: BSD-3-Clause
"""The Bayes adversary: equal to plain enumeration, and never above the guarantee."""

import copy
import itertools

import numpy as np
import pytest

from skprivate import PrivateNashSolver, QuadraticAggregativeGame
from skprivate.audit import BayesAdversary
from skprivate.games import JointPrior, TwoTypePrior, TypePrior, VaccinationGame

TYPES = [-1.0, 0.2, 1.0]


def fitted(n_players=3, n_rounds=6, algorithm="wang_nedic", bounds=None, noise=2.0):
    r = np.resize([1.0, -1.0, 1.0], n_players)
    game = QuadraticAggregativeGame(1.0, 0.5, r, bounds, r_bounds=(-1, 1))
    solver = PrivateNashSolver(
        algorithm, max_iter=n_rounds, noise_scale=noise, store="observations", random_state=0
    )
    return game, solver.fit(game)


def observing(solver, seed, scale=2.0):
    """The solver, had it broadcast anything at all."""
    other = copy.copy(solver)
    rng = np.random.default_rng(seed)
    other.observations_ = rng.laplace(scale=scale, size=solver.observations_.shape) * rng.integers(1, 4)
    return other


def path_of(r, solver, P, Q):
    """The estimates of all players by hand, without projection."""
    x = v = solver.start_
    for k, o in enumerate(solver.observations_):
        yield v
        step, gamma = solver.steps_[k], solver.consensus_steps_[k]
        moved = x - step * (P * x + Q * v + r)
        x, v = moved, v + gamma * (o.mean(axis=0) - o) + moved - x


def enumerated(solver, profiles, prior):
    """Prior and posterior of profiles, by replaying each of them."""
    n = profiles.shape[1]
    logs = np.array(
        [
            -sum(
                np.abs(o - v).sum() / m
                for o, v, m in zip(
                    solver.observations_,
                    path_of(r[:, None], solver, 1 + 0.5 / n, 0.5),
                    solver.noise_scales_,
                    strict=True,
                )
            )
            for r in profiles
        ]
    )
    joint = prior * np.exp(logs - logs.max())
    return joint / joint.sum()


def two_type_table(n, alpha, beta):
    profiles = np.array(list(itertools.product([-1.0, 1.0], repeat=n)))
    alike = (profiles == profiles[:, :1]).all(axis=1)
    others = np.where(alike, beta, (1 - beta) / (2 ** (n - 1) - 1))
    return profiles, np.where(profiles[:, 0] == -1, alpha, 1 - alpha) * others


def finite_prior(kind):
    """A prior and the table of its profiles."""
    if kind == "types":
        profiles = np.array(list(itertools.product(TYPES, repeat=3)))
        odds = np.array([0.5, 0.2, 0.3])
        return (
            TypePrior(TYPES, odds),
            profiles,
            np.array(list(itertools.product(odds, repeat=3))).prod(axis=1),
        )
    if kind == "joint":
        profiles = np.array([[-1.0, -1, -1], [1, 1, 1], [0.2, -1, 1], [1, -1, 1]])
        odds = np.array([0.4, 0.3, 0.2, 0.1])
        return JointPrior(profiles, odds), profiles, odds
    beta = {"followers": 0.6, "never alike": 0.0, "always alike": 1.0}[kind]
    return TwoTypePrior([-1.0, 1.0], 0.3, beta), *two_type_table(3, 0.3, beta)


KINDS = ["types", "joint", "followers", "never alike", "always alike"]


@pytest.mark.parametrize("kind", KINDS)
def test_equals_enumeration_for_any_broadcasts(kind):
    game, solver = fitted()
    prior, profiles, odds = finite_prior(kind)
    kept = odds > 0
    for seed in range(10):
        heard = observing(solver, seed)
        result, posterior = BayesAdversary(prior).run(game, heard), enumerated(heard, profiles, odds)
        ratio = posterior[kept] / odds[kept]
        assert result.leakage == pytest.approx(np.log(ratio.max()), abs=1e-9)
        assert result.prior_success == pytest.approx(odds.max())
        assert result.posterior_success == pytest.approx(posterior.max())
        for i, types in enumerate(result.types[:, :, 0]):
            where = profiles[:, [i]] == types
            before, after = odds @ where, posterior @ where
            assert result.prior[i] == pytest.approx(before)
            assert result.posterior[i] == pytest.approx(after)
            most = (after[before > 0] / before[before > 0]).max()
            assert result.leakages[i] == pytest.approx(np.log(most), abs=1e-9)
        directions = profiles / np.linalg.norm(profiles, axis=1, keepdims=True)
        assert result.blind_gain == pytest.approx(1 + np.linalg.norm(odds @ directions))
        assert result.gain == pytest.approx(1 + np.linalg.norm(posterior @ directions))


@pytest.mark.parametrize("algorithm", ["ye", "wang_nedic"])
@pytest.mark.parametrize("kind", KINDS)
def test_never_learns_more_than_the_guarantee(kind, algorithm):
    game, solver = fitted(algorithm=algorithm)
    prior = finite_prior(kind)[0]
    entire = solver.privacy_guarantee(prior)
    single = solver.privacy_guarantee(prior, view="individual")
    assert entire.status == "exact"
    for seed in range(200):
        result = BayesAdversary(prior).run(game, observing(solver, seed, scale=0.3 + seed / 50))
        assert result.leakage <= entire.epsilon - entire.allowance + 1e-9
        assert result.leakages.max() <= single.epsilon - single.allowance + 1e-9
        assert result.log_ratio <= result.leakage + 1e-9


@pytest.mark.parametrize("kind", KINDS)
def test_attains_the_guarantee_at_a_noiseless_path(kind):
    game, solver = fitted()
    prior, profiles, odds = finite_prior(kind)
    guarantee, most = solver.privacy_guarantee(prior), 0.0
    for r in profiles[odds > 0]:
        heard = copy.copy(solver)
        heard.observations_ = np.zeros_like(solver.observations_)
        for k in range(len(heard.observations_)):
            # What is broadcast in round k follows from the broadcasts before.
            heard.observations_[k] = list(path_of(r[:, None], heard, 1 + 0.5 / 3, 0.5))[k]
        most = max(most, BayesAdversary(prior).run(game, heard).leakage)
    assert most == pytest.approx(guarantee.epsilon - guarantee.allowance, abs=1e-9)


@pytest.mark.filterwarnings("ignore:The noise in every player")
def test_projected_games_stay_below_their_bound():
    game = VaccinationGame([0.2, 0.8, 0.8], [1.0] * 3, private="A", A_bounds=(0, 1))
    solver = PrivateNashSolver(max_iter=10, noise_scale=1.0, store="all", random_state=0).fit(game)
    shift = game.r_[0, 0] - 0.2
    prior = TypePrior(np.array([0.2, 0.8]) + shift, [0.5, 0.5])
    bound = solver.privacy_guarantee(prior).epsilon
    for seed in range(50):
        assert BayesAdversary(prior).run(game, observing(solver, seed, 0.7)).leakage <= bound


def test_many_players_cost_no_profiles():
    game, solver = fitted(n_players=60)
    prior = TwoTypePrior([-1.0, 1.0], 0.3, 0.6)
    result = BayesAdversary(prior).run(game, solver)
    assert result.gain is None
    assert result.log_ratio is None
    assert result.prior.sum(axis=1) == pytest.approx(np.ones(60))
    assert result.prior[0] == pytest.approx([0.3, 0.7])
    assert 0 < result.leakages[0] <= np.log(1 / 0.3)


def test_reads_well():
    game, solver = fitted()
    lines = str(BayesAdversary(finite_prior("types")[0]).run(game, solver)).splitlines()
    assert lines[0] == "exact posterior of the types of 3 players"
    assert "right with probability 0.125 before" in lines[1]
    assert "log" in lines[3]


def test_refuses_what_it_cannot_do():
    game, solver = fitted()
    with pytest.raises(TypeError, match="finite"):
        BayesAdversary(0.5).run(game, solver)
    prior = finite_prior("types")[0]
    private = QuadraticAggregativeGame(1.0, 0.5, [1.0, -1.0, 1.0], private=("P", "r"))
    with pytest.raises(ValueError, match="r alone"):
        BayesAdversary(prior).run(private, solver)
    silent = copy.copy(solver)
    silent.noise_scales_ = np.zeros(6)
    with pytest.raises(ValueError, match="no noise"):
        BayesAdversary(prior).run(game, silent)
    del silent.observations_
    with pytest.raises(ValueError, match="store"):
        BayesAdversary(prior).run(game, silent)
