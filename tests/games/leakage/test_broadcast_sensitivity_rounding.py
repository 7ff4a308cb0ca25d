# SPDX-License-Identifier: BSD-3-Clause
"""Rounding: runs on doubles against the same runs in fractions, with the same broadcasts."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from skprivate.exceptions import PrivacyLeakWarning
from skprivate.games import (
    AggregativeGame,
    Box,
    PrivateNashSolver,
    QuadraticAggregativeGame,
    Simplex,
    TypePrior,
)
from skprivate.games._communication_weights import check_weights
from skprivate.games._games.sets import Unconstrained
from skprivate.games._leakage.broadcast_sensitivity import (
    _wang_nedic_rounding,
    _ye_rounding,
    affine_rounding,
    constant_bound,
    player_distances,
)
from skprivate.games._plan import BroadcastMechanism
from skprivate.games._rounds import Dynamics, PlayerStates

N_PLAYERS, N_ROUNDS = 3, 10
exact = np.vectorize(Fraction, otypes=[object])


def make_case(seed, algorithm, constraint, clip, n, magnitude):
    """A mechanism and a game whose broadcasts, costs and starts go up to the limit."""
    rng = np.random.default_rng(seed)
    limit = 2.0**12
    P, Q = rng.normal(size=(2, n, n))
    P = P @ P.T / n + np.eye(n)
    start = constraint.fit_to(N_PLAYERS, n).start(N_PLAYERS, n)
    mechanism = BroadcastMechanism(
        n_players=N_PLAYERS, n_dims=n, algorithm=algorithm, noise_scales=np.full(N_ROUNDS, 1.0),
        steps=rng.uniform(0.05, 0.6, N_ROUNDS), constraint=constraint.fit_to(N_PLAYERS, n), clip_norm=clip,
        private=frozenset({"r"}), P=P, Q=Q, private_bounds=None, allowance=2.0**-40, limit=limit,
    )  # fmt: skip
    r = magnitude * limit * rng.uniform(-1, 1, (N_PLAYERS, n))
    observed = np.trunc(magnitude * limit * rng.uniform(-1, 1, (N_ROUNDS, N_PLAYERS, n)) * 2.0**40) / 2.0**40
    bounds = None if isinstance(constraint, Unconstrained) else constraint
    return mechanism, QuadraticAggregativeGame(P, Q, r, bounds, own_effect=False), start, observed


def project(point, constraint):
    if isinstance(constraint, Box):
        # Fractions and infinities compare exactly.
        sides = (np.broadcast_to(side, point.shape) for side in (constraint.lower, constraint.upper))
        return np.array(
            [min(max(value, low), high) for value, low, high in zip(point, *sides, strict=True)], dtype=object
        )
    if not isinstance(constraint, Simplex):
        return point
    total = Fraction(constraint.total)
    for count in range(len(point), 0, -1):
        highest = sorted(point)[-count:]
        threshold = (sum(highest) - total) / count
        if highest[0] > threshold:
            return np.array([max(value - threshold, Fraction(0)) for value in point])
    raise AssertionError


def exact_own(mechanism, game, start, givens):
    """Strategies and own parts of the estimates in fractions, players in a list; `givens` are taken as is."""
    P, Q, r = exact(mechanism.P), exact(mechanism.Q), exact(game.r_)
    for i in range(N_PLAYERS):
        x = own = exact(start[i])
        path = [own]
        for step, given in zip(mechanism.steps, givens, strict=True):
            F = P @ x + Q @ (own + exact(given[min(i, len(given) - 1)])) + r[i]
            if mechanism.clip_norm is not None and (norm := sum(map(abs, F))) > mechanism.clip_norm:
                F = F * Fraction(mechanism.clip_norm) / norm
            move = -Fraction(step) * F
            x = project(x + move, mechanism.constraint) if mechanism.algorithm == "wang_nedic" else x + move
            own = x if mechanism.algorithm == "wang_nedic" else move
            path.append(own)
        yield path


SETS = {
    "none": Unconstrained(), "box": Box(-3.0, 5.0), "half": Box(-3.0, np.inf), "simplex": Simplex(7.0),
}  # fmt: skip
CASES = [
    (algorithm, name, clip, n)
    for algorithm, names in (("wang_nedic", SETS), ("ye", ["none"]))
    for name in names
    for clip in (None, 50.0)
    for n in (1, 3)
]


@pytest.mark.parametrize(("algorithm", "name", "clip", "n"), CASES)
def test_no_run_on_doubles_leaves_the_bound(algorithm, name, clip, n):
    largest = 0.0
    for seed, magnitude in enumerate([1.0, 1.0, 1e-3, 1e-6]):
        mechanism, game, start, observed = make_case(seed, algorithm, SETS[name], clip, n, magnitude)
        mixing = check_weights(None, N_PLAYERS, symmetric=True)
        dynamics = Dynamics(game, mixing, algorithm, clip)
        states = [PlayerStates.initial(start)]
        for o, step in zip(observed, mechanism.steps, strict=True):
            states.append(dynamics.advance(states[-1], mixing.average(o), o, step, 0.01))
        assert max(np.abs(state.public_part).max() for state in states) <= mechanism.limit
        bounds = list(
            (_ye_rounding if algorithm == "ye" else _wang_nedic_rounding)(mechanism, game.P_, game.Q_)
        )
        paths = exact_own(mechanism, game, start, [state.public_part for state in states[:-1]])
        for i, path in enumerate(paths):
            for state, own, bound in zip(states, path, bounds, strict=False):
                error = float(sum(map(abs, exact(state.private_part[i]) - own)))
                assert error <= bound
                largest = max(largest, error / bound if bound else 0.0)
    # Not vacuous: within a factor of 2,000 of what happens where nothing is projected.
    assert largest > (5e-4 if name == "none" else -1)


@pytest.mark.parametrize("n", [1, 2, 7])
def test_a_clipped_move_is_never_longer_than_the_bound(n):
    rng = np.random.default_rng(n)
    rows = rng.normal(size=(2000, n)) * 10.0 ** rng.integers(-3, 4, (2000, 1))
    norms = np.abs(rows).sum(axis=1)
    rows[:500] /= norms[:500, None]  # close to the bound from both sides
    game = QuadraticAggregativeGame(np.zeros((n, n)), np.zeros((n, n)), rows, own_effect=False)
    zeros = np.zeros((1, n))
    for step in (1.0, 0.1, 1 / 3):
        dynamics = Dynamics(game, None, "ye", 1.0)
        moved = dynamics.advance(
            PlayerStates.initial(np.zeros_like(rows)), zeros, zeros, step, 1.0
        ).private_part
        assert all(sum(abs(Fraction(value)) for value in row) <= Fraction(step) for row in moved.tolist())


def test_bounds_of_affine_games_count_twice_and_per_scale():
    mechanism, game, _, _ = make_case(0, "wang_nedic", Unconstrained(), None, 2, 1.0)
    errors = list(_wang_nedic_rounding(mechanism, game.P_, game.Q_))
    assert errors[0] == 0
    assert all(early < late for early, late in pairwise(errors))
    assert affine_rounding(mechanism, game.P_, game.Q_) == pytest.approx(2.02 * sum(errors))
    (distance,), _ = player_distances(mechanism)
    assert distance.allowance == pytest.approx(2.02 * sum(errors) + 2 * N_ROUNDS * 2.0**-40, rel=1e-12)
    assert distance.without_allowance().allowance == 0


def test_exact_arithmetic_adds_nothing():
    mechanism, game, _, _ = make_case(0, "wang_nedic", Simplex(7.0), 2.0, 3, 1.0)
    mechanism = BroadcastMechanism(**{**vars(mechanism), "limit": 0.0})
    assert affine_rounding(mechanism, game.P_, game.Q_) == 0
    assert constant_bound(mechanism, rounded=True) == constant_bound(mechanism)


def test_secrets_beyond_the_range_of_the_run_are_refused():
    game = QuadraticAggregativeGame(1.0, 0.5, [1.0, 2.0])
    with pytest.warns(PrivacyLeakWarning):
        solver = PrivateNashSolver(max_iter=5).fit(game)
    assert solver.privacy_guarantee(TypePrior([0.0, 4000.0], [0.5, 0.5])).epsilon > 0
    with pytest.raises(ValueError, match="declare the game's bounds"):
        solver.privacy_guarantee(TypePrior([0.0, 5000.0], [0.5, 0.5]))
    assert solver.privacy_guarantee(stats.norm()).epsilon == np.inf


def test_gradients_that_are_no_numbers_do_not_end_a_run_with_noise():
    def gradient(x, aggregate):
        return np.where(x > 0.2, np.nan, x - 1.0)

    with pytest.warns(PrivacyLeakWarning):
        solver = PrivateNashSolver(max_iter=30).fit(AggregativeGame(gradient, 2))
    assert np.isfinite(solver.strategies_).all()


def written_out(algorithm, constraint, clip, n, limit=8.0, p=1.5, q=-0.25, steps=(0.5, 0.25, 0.125)):
    """A mechanism with P = p I, Q = q I, and its errors e_k."""
    mechanism = BroadcastMechanism(
        n_players=1, n_dims=n, algorithm=algorithm, noise_scales=np.ones(len(steps)), steps=np.array(steps),
        constraint=constraint.fit_to(1, n), clip_norm=clip, private=frozenset({"r"}), P=p * np.eye(n),
        Q=q * np.eye(n), private_bounds=None, allowance=0.0, limit=limit,
    )  # fmt: skip
    errors = (_ye_rounding if algorithm == "ye" else _wang_nedic_rounding)(
        mechanism, mechanism.P, mechanism.Q
    )
    return [error * 2.0**53 for error in errors]


class TestErrorsWrittenOut:
    """In units of 2^-53, with L = 8 n: sizes, gradients, eta and errors of two rounds by hand."""

    def test_wang_nedic(self):
        # L = 16. Round 0: X = 16, V = 32, D = 24 + 8 + 16 = 48, eta = .5 * 5 * 48 + (2 * .5 * 48 + 16).
        eta0 = 0.5 * 5 * 48 + 48 + 16
        # X = |1 - .5 * 1.25| 16 + .5 (.25 * 16 + 16) = 6 + 10; V = 32; D = 48 again.
        eta1 = 0.25 * 5 * 48 + 2 * 0.25 * 48 + 16
        expected = [0, eta0, (1 - 0.25 * 1.25) * eta0 + eta1]
        assert written_out("wang_nedic", Unconstrained(), None, 2) == pytest.approx(expected)

    def test_wang_nedic_in_a_simplex(self):
        # The simplex has the diameter 2: rounding within is 8 * 3 * 2; Y = 6 + 10, counted twice.
        eta0 = 0.5 * 5 * 48 + 48 + 16
        added0 = 48 + 2 * 16
        # X = 16 + 2, V = 34, D = 27 + 8.5 + 16; Y = .6875 * 18 + .25 * 20.
        eta1 = 0.25 * 5 * 51.5 + 2 * 0.25 * 51.5 + 18
        added1 = 48 + 2 * (0.6875 * 18 + 0.25 * 20)
        first = eta0 + added0
        assert written_out("wang_nedic", Simplex(), None, 2) == pytest.approx(
            [0, first, 0.6875 * first + eta1 + added1]
        )
        # Three coordinates: in L2 nothing expands, and L1 is sqrt(3) of that. L = 24.
        eta0 = 0.5 * 6 * 72 + 72 + 24
        first = eta0 + 8 * 4 * 2 + 2 * (0.375 * 24 + 0.5 * 30)
        eta1 = 0.25 * 6 * 75.5 + 2 * 0.25 * 75.5 + 26
        second = 0.6875 * first + eta1 + 8 * 4 * 2 + 2 * (0.6875 * 26 + 0.25 * 30)
        expected = np.sqrt(3) * np.array([0, first, second])
        assert written_out("wang_nedic", Simplex(), None, 3) == pytest.approx(expected)

    def test_wang_nedic_with_clipping(self):
        # Gradients are at most 4: eta = .5 (2 * 5 * 48 + 18 * 4) + 2 * .5 * 4 + 16.
        eta0 = 0.5 * (2 * 5 * 48 + 18 * 4) + 4 + 16
        # X = 16 + .5 * 4; V = 34; D = 51.5.
        eta1 = 0.25 * (2 * 5 * 51.5 + 18 * 4) + 2 * 0.25 * 4 + 18
        expected = [0, eta0, (1 + 0.25 * 1.25) * eta0 + eta1]
        assert written_out("wang_nedic", Unconstrained(), 4.0, 2) == pytest.approx(expected)
        # On the simplex of three coordinates an L1 distance may grow by 4/3.
        eta0 = 0.5 * (2 * 6 * 72 + 24 * 4) + 4 + 24
        first = 4 / 3 * eta0 + 8 * 4 * 2 + 2 * (24 + 0.5 * 4)
        assert written_out("wang_nedic", Simplex(), 4.0, 3)[1] == pytest.approx(first)

    def test_ye(self):
        # V = 16 + the last move; the first own part is the start, taken for 0: it is in the limit already.
        D0 = 1.5 * 16 + 0.25 * 16 + 16
        eta0 = 0.5 * 5 * D0 + D0 + 16
        X1 = abs(1 - 0.5 * 1.5) * 16 + 0.5 * (0.25 * 16 + 16)
        V1 = 16 + 0.5 * D0
        D1 = 1.5 * X1 + 0.25 * V1 + 16
        eta1 = 0.25 * 5 * D1 + 2 * 0.25 * D1 + X1
        X2 = (1 - 0.25 * 1.5) * X1 + 0.25 * (0.25 * V1 + 16)
        D2 = 1.5 * X2 + 0.25 * (16 + 0.25 * D1) + 16
        eta2 = 0.125 * 5 * D2 + 2 * 0.125 * D2 + X2
        e2, a2 = 0.25 * (1.5 * eta0 + 0.25 * eta0) + eta1, (0.625 + 0.0625) * eta0 + eta1
        e3 = 0.125 * (1.5 * a2 + 0.25 * e2) + eta2
        errors = written_out("ye", Unconstrained(), None, 2, steps=(0.5, 0.25, 0.125, 0.1))
        assert errors == pytest.approx([0, eta0, e2, e3])

    def test_ye_with_clipping(self):
        # Gradients are at most 4, differences of clipped ones at most doubled.
        D0 = 1.5 * 16 + 0.25 * 16 + 16
        eta0 = 0.5 * (2 * 5 * D0 + 18 * 4) + 4 + 16
        D1 = 1.5 * 18 + 0.25 * (16 + 2) + 16
        eta1 = 0.25 * (2 * 5 * D1 + 18 * 4) + 2 * 0.25 * 4 + 18
        D2 = 1.5 * 19 + 0.25 * (16 + 1) + 16
        eta2 = 0.125 * (2 * 5 * D2 + 18 * 4) + 2 * 0.125 * 4 + 19
        change = 2 * 0.25 * (1.5 + 0.25) * eta0
        e2, a2 = change + eta1, eta0 + change + eta1
        e3 = 2 * 0.125 * (1.5 * a2 + 0.25 * e2) + eta2
        errors = written_out("ye", Unconstrained(), 4.0, 2, steps=(0.5, 0.25, 0.125, 0.1))
        assert errors == pytest.approx([0, eta0, e2, e3])

    def test_no_two_points_of_a_set_are_further_apart_than_its_diameter(self):
        # Errors of a game that drives them apart: half the diameter, and the rounding within.
        errors = written_out("wang_nedic", Simplex(1e-12), None, 2, limit=1e6, p=-50.0)
        assert errors[2] == pytest.approx(1e-12 * 2.0**53 + 8 * 3 * 2e-12)
