# SPDX-License-Identifier: BSD-3-Clause
"""Games from costs: their gradients, their equilibria, and the costs and gradients that are refused."""

import pickle
import re

import numpy as np
import pytest
from scipy.special import xlogy

from skprivate.exceptions import UtilityWarning
from skprivate.games import (
    AggregativeGame,
    ConstraintSet,
    PrivateNashSolver,
    QuadraticAggregativeGame,
    Simplex,
    VaccinationGame,
)
from skprivate.games._games import cost_gradient
from skprivate.games._games.cost_gradient import CostDifferences

N, n = 6, 2
P = np.array([[2.0, 0.5], [0.5, 1.0]])
Q = np.array([[0.5, 0.1], [0.0, 0.3]])
R = np.random.default_rng(1).normal(size=(N, n))


def cost(x, aggregate):
    return np.einsum("ij,ij->i", x, x @ P / 2 + aggregate @ Q.T + R)


def derivatives(x, aggregate):
    """Return the derivatives by the own strategy and by the aggregate, each with the other held fixed."""
    return x @ P.T + aggregate @ Q.T + R, x @ Q


def curved(x, aggregate):
    return np.exp(x).sum(axis=1) + np.sin(aggregate).sum(axis=1) * x[:, 0]


def curved_derivatives(x, aggregate):
    by_strategy = np.exp(x)
    by_strategy[:, 0] += np.sin(aggregate).sum(axis=1)
    return by_strategy, np.cos(aggregate) * x[:, :1]


def complex_step(function):
    """Differentiate with imaginary steps: exact to rounding, as automatic differentiation is."""

    def gradient(x, aggregate):
        parts = []
        for place in (0, 1):
            slopes = np.empty(x.shape)
            for j in range(x.shape[1]):
                points = [x.astype(complex), aggregate.astype(complex)]
                points[place][:, j] += 1e-50j
                slopes[:, j] = function(*points).imag / 1e-50
            parts.append(slopes)
        return tuple(parts)

    return gradient


class Disc(ConstraintSet):
    """The disc of radius 1 around 0."""

    diameter, expansion = 2 * np.sqrt(2), np.sqrt(2)

    def project(self, points):
        return points / np.maximum(1, np.linalg.norm(points, axis=1, keepdims=True))

    def contains(self, points):
        return np.linalg.norm(points, axis=1) <= 1 + 1e-9

    def start(self, n_players, n_dims):
        return np.zeros((n_players, n_dims))


SETS = {
    "free": None,
    "box": (-0.2, 0.1),
    "boxes": (np.linspace(-2, -1, N)[:, None] * [1, 5], np.linspace(0.1, 3, N)[:, None] * [5, 1]),
    "half": (0, np.inf),
    "simplex": "simplex",
    "disc": Disc(),
}


@pytest.fixture(params=SETS, ids=str)
def bounds(request):
    return SETS[request.param]


@pytest.fixture(
    params=[None, complex_step(cost), derivatives], ids=["differences", "complex step", "by hand"]
)
def gradient(request):
    return request.param


def test_a_game_from_its_cost_is_the_quadratic_one(bounds, gradient):
    game = AggregativeGame.from_cost(cost, N, n, bounds=bounds, gradient=gradient)
    known = QuadraticAggregativeGame(P, Q, R, bounds)
    x = game.constraint.project(np.random.default_rng(0).normal(size=(N, n)))
    # Differences have about ten digits.
    np.testing.assert_allclose(game.pseudo_gradient(x, x.mean(axis=0)), known._operator(x), atol=1e-8)
    np.testing.assert_allclose(game.solve(), known.solve(), atol=1e-7)
    assert game.regret(game.solve()) < 1e-8


@pytest.mark.parametrize("own_effect", [True, False, 0.3, np.linspace(0, 1, N)], ids=str)
def test_the_own_effect_is_the_weight_times_the_derivative_by_the_aggregate(bounds, own_effect):
    x = np.random.default_rng(0).uniform(-0.2, 0.1, (N, n))
    estimates = np.random.default_rng(1).normal(size=(N, n))
    weights = {True: 1 / N, False: 0.0}[own_effect] if isinstance(own_effect, bool) else own_effect
    by_strategy, by_aggregate = curved_derivatives(x, estimates)
    expected = by_strategy + np.broadcast_to(weights, N)[:, None] * by_aggregate
    found = AggregativeGame.from_cost(curved, N, n, bounds=bounds, own_effect=own_effect, check=False)
    np.testing.assert_allclose(found.pseudo_gradient(x, estimates), expected, atol=1e-8)
    chained = AggregativeGame.from_cost(
        curved, N, n, bounds=bounds, gradient=curved_derivatives, own_effect=own_effect, check=False
    )
    np.testing.assert_allclose(chained.pseudo_gradient(x, estimates), expected, atol=1e-12)


def test_without_the_own_effect_the_equilibrium_is_wardrops():
    game = AggregativeGame.from_cost(cost, N, n, own_effect=False)
    known = QuadraticAggregativeGame(P, Q, R, own_effect=False)
    np.testing.assert_allclose(game.solve(), known.solve(), atol=1e-7)
    # The regret counts the own weight all the same.
    assert game.regret(game.solve()) == pytest.approx(known.regret(known.solve()), rel=1e-5)
    assert game.regret(game.solve()) > 1e-4


def test_rows_that_stand_for_many_players_are_as_the_players_written_out():
    def of(unit):
        return lambda x, mean: x[:, 0] ** 2 + unit * x[:, 0] + x[:, 0] * mean[:, 0]

    kinds = np.array([-3.0, -1.0])
    rows = AggregativeGame.from_cost(of(kinds), 2, bounds=(0, 5), own_effect=1 / 8)
    players = AggregativeGame.from_cost(of(np.repeat(kinds, 4)), 8, bounds=(0, 5))
    np.testing.assert_allclose(np.repeat(rows.solve(), 4, axis=0), players.solve(), atol=1e-8)
    x = np.array([[0.5], [1.5]])
    assert rows.regret(x) == pytest.approx(players.regret(np.repeat(x, 4, axis=0)), rel=1e-6)


def test_costs_are_not_evaluated_outside_of_a_box_or_simplex():
    for bounds, least, most in (((0.25, 1.0), 0.25, 1.0), ("simplex", 0.0, 1.0)):
        seen = []

        def recorded(x, mean, seen=seen):
            seen.append((x.min(), x.max(), mean.min(), mean.max()))
            return (x**2).sum(axis=1) + (x * mean).sum(axis=1)

        game = AggregativeGame.from_cost(recorded, N, n, bounds=bounds)
        for corner in (np.full((N, n), least), np.full((N, n), most)):
            inside = game.constraint.project(corner)
            game.pseudo_gradient(inside, inside.mean(axis=0))
        game.solve()
        game.check_gradient()
        low, high = np.min(seen, axis=0), np.max(seen, axis=0)
        assert low[0] >= least
        assert high[1] <= most
        if bounds != "simplex":
            assert low[2] >= least - 1e-12
            assert high[3] <= most + 1e-12


def test_at_a_side_the_difference_is_of_second_order():
    game = AggregativeGame.from_cost(lambda x, mean: np.exp(3 * x[:, 0]), 3, bounds=(0, 1))
    ends = np.array([[0.0], [1.0], [1 - 1e-6]])
    np.testing.assert_allclose(game.pseudo_gradient(ends, ends), 3 * np.exp(3 * ends), rtol=1e-8)


def test_outside_of_the_box_the_difference_is_taken_there():
    # "ye" does not project.
    game = AggregativeGame.from_cost(lambda x, mean: x[:, 0] ** 4, 2, bounds=(0, 1))
    np.testing.assert_allclose(game.pseudo_gradient(np.array([[-2.0], [3.0]]), np.zeros(1)), [[-32], [108]])


def test_the_step_is_near_the_best_of_all():
    # A function of three widths of its set, whatever the units: errors of other steps are larger.
    for width in (1e-3, 1.0, 1e4):

        def wave(x, mean, width=width):
            return np.cos(3 * x[:, 0] / width) + 2

        x = width * np.linspace(0.1, 0.9, 200)[:, None]
        exact = -3 / width * np.sin(3 * x / width)
        sides = np.zeros(1), np.full(1, width)

        def error(factor, wave=wave, x=x, exact=exact, sides=sides, width=width):
            # The step grows as the cube root of the precision that is told.
            differences = CostDifferences(wave, np.zeros(200), sides, np.inf, factor**3 * np.finfo(float).eps)
            return np.sqrt(np.square(differences(x, x) - exact).mean()) * width

        assert error(1) < 1e-9
        assert error(1) < min(error(0.01), error(30)) / 5


def test_a_solution_is_found_to_the_rounding_of_its_cost(recwarn):
    # Differences of 1 in costs of 1e6 leave three digits of the slope, single precision two.
    for offset, kind, accuracy in ((1e6, np.float64, 1e-3), (0.0, np.float32, 1e-2), (0.0, np.float64, 1e-8)):

        def rough(x, mean, offset=offset, kind=kind):
            return (offset + (x[:, 0] - 0.3) ** 2 + mean[:, 0] * x[:, 0]).astype(kind)

        found = AggregativeGame.from_cost(rough, 5, bounds=(0, 1)).solve()
        np.testing.assert_allclose(found, 0.1875, atol=accuracy)
    single = AggregativeGame(lambda x, mean: (x - 7.0 + mean).astype(np.float32), 5)
    np.testing.assert_allclose(single.solve(), 3.5, atol=1e-4)
    assert not recwarn.list


def test_the_solver_takes_it_and_clipping_bounds_what_it_leaks():
    game = AggregativeGame.from_cost(cost, N, n, bounds=(-1, 1))
    fitted = PrivateNashSolver(noise_scale=1e-6, max_iter=300, random_state=0).fit(game)
    np.testing.assert_allclose(fitted.strategies_, game.solve(), atol=1e-4)
    noisy = PrivateNashSolver(noise_scale=10, max_iter=3, clip_norm=0.5).fit(game)
    assert 0 < noisy.privacy_spent_.epsilon < 1
    assert noisy.privacy_spent_.claim == "dp"


def test_a_game_of_functions_that_can_be_pickled_is_pickled():
    for gradient in (None, derivatives):
        game = AggregativeGame.from_cost(cost, N, n, bounds=(-1, 1), gradient=gradient, own_effect=0.2)
        copy = pickle.loads(pickle.dumps(game))
        np.testing.assert_array_equal(copy.solve(), game.solve())
        assert copy.regret(np.zeros((N, n))) == game.regret(np.zeros((N, n)))


BAD_COSTS = {
    "NaN for one": (
        lambda x, mean: np.where((x[:, 0] > 0.8) & (np.arange(N) == 3), np.nan, x[:, 0]),
        "cost of player 3 is NaN at strategy",
    ),
    "infinite at the end": (lambda x, mean: -np.log(x[:, 0]), r"is infinite at strategy \[0\]"),
    "NaN for large means": (lambda x, mean: np.sqrt(0.7 - mean[:, 0]) + x[:, 0], "is NaN at strategy"),
    "kink": (
        lambda x, mean: np.where(np.arange(N) == 2, np.abs(x[:, 0] - 0.37), 0) + x[:, 0] ** 2,
        r"cost of player 2 is not differentiable at strategy \[0\.3(69|70)",
    ),
    "kink at the middle": (lambda x, mean: np.maximum(x[:, 0], 0.5), "not differentiable at strategy"),
    "small kink": (lambda x, mean: x[:, 0] ** 2 + 0.01 * np.abs(x[:, 0] - 0.2), r"strategy \[0\.(2|19999)"),
    "kink in the mean": (
        lambda x, mean: x[:, 0] ** 2 + x[:, 0] * np.maximum(0, mean[:, 0] - 0.6),
        r"not differentiable at .* aggregate \[0\.(6|5999)",
    ),
    "steps": (lambda x, mean: x[:, 0] ** 2 + np.floor(4 * x[:, 0]), "not differentiable"),
    "power 1.2": (lambda x, mean: np.abs(x[:, 0] - 0.5) ** 1.2, "not differentiable"),
    "single precision returned as double": (
        lambda x, mean: (x[:, 0] ** 2 + mean[:, 0]).astype(np.float32).astype(float),
        "not differentiable.*full precision",
    ),
    "concave for one": (
        lambda x, mean: np.where(np.arange(N) == 4, -1, 1) * x[:, 0] ** 2,
        "cost of player 4 is not convex in its own strategy at strategy",
    ),
    "hump": (lambda x, mean: x[:, 0] ** 2 + 0.1 * np.sin(9 * x[:, 0]), "not convex"),
    "concave by the own effect": (
        lambda x, mean: x[:, 0] ** 2 - 8 * x[:, 0] * mean[:, 0],
        "not convex in its own",
    ),
}


@pytest.mark.parametrize("name", BAD_COSTS)
def test_bad_costs_are_named(name, recwarn):
    bad, message = BAD_COSTS[name]
    with pytest.raises(ValueError, match=message):
        AggregativeGame.from_cost(bad, N, bounds=(0, 1))
    if "infinite" not in name and "NaN" not in name:
        assert AggregativeGame.from_cost(bad, N, bounds=(0, 1), check=False).n_players == N
    assert not recwarn.list


GOOD_COSTS = {
    "linear": lambda x, mean: 3 * x[:, 0] - mean[:, 0],
    "constant": lambda x, mean: 1e6 + 0 * x[:, 0],
    "squared hinge": lambda x, mean: x[:, 0] * np.maximum(0, mean[:, 0] - 0.6) ** 2 + x[:, 0] ** 2,
    "power 1.5": lambda x, mean: np.abs(x[:, 0] - 0.3) ** 1.5,
    "entropy": lambda x, mean: xlogy(x[:, 0], x[:, 0]),
    "minus the root": lambda x, mean: -np.sqrt(x[:, 0]),
    "steep": lambda x, mean: np.exp(50 * x[:, 0]),
    "sharp but smooth": lambda x, mean: np.logaddexp(0, 1e4 * (x[:, 0] - 0.5)) / 1e4,
    "large offset": lambda x, mean: 1e9 + (x[:, 0] - 0.5) ** 2,
    "expanded square": lambda x, mean: x[:, 0] ** 2 - 2e3 * x[:, 0] + 1e6,
    "barrier inside": lambda x, mean: -np.log(x[:, 0] + 0.01),
    "integers": lambda x, mean: np.zeros(len(x), dtype=int),
    "in single precision": lambda x, mean: (x[:, 0] ** 2 + mean[:, 0] * x[:, 0]).astype(np.float32),
    "concave in others' strategies": lambda x, mean: x[:, 0] ** 2 - np.sqrt(1 + mean[:, 0] ** 2),
}


@pytest.mark.parametrize("bounds", [(0, 1), ([0.1], [0.9]), (np.zeros(N), np.linspace(0.5, 1, N))])
@pytest.mark.parametrize("name", GOOD_COSTS)
def test_good_costs_pass(name, bounds):
    assert AggregativeGame.from_cost(GOOD_COSTS[name], N, bounds=bounds).n_dims == 1


@pytest.mark.parametrize(
    "bounds", [(0.1, 0.9), (-0.7, 0.3), (0.05, 0.35), (1 / 3, 2 / 3), (-1.0, -0.5), (2.0, 2.3)]
)
def test_costs_are_not_evaluated_outside_of_a_box_by_rounding(bounds):
    low, high = bounds

    def strict(x, mean):
        assert (x >= low).all()
        assert (x <= high).all()
        return x[:, 0] ** 2 - np.sqrt(x[:, 0] - low) - np.sqrt(high - x[:, 0])

    game = AggregativeGame.from_cost(strict, N, bounds=bounds)
    for share in np.linspace(0, 1e-4, 201):
        for x in (low + share * (high - low), high - share * (high - low)):
            profile = np.full((N, 1), np.clip(x, low, high))
            assert np.isfinite(game.pseudo_gradient(profile, profile)).all()


@pytest.mark.parametrize("units", [1e-6, 1.0, 1e6])
def test_units_change_nothing(units):
    def scaled(x, mean):
        return GOOD_COSTS["squared hinge"](x / units, mean / units) * units**2

    AggregativeGame.from_cost(scaled, N, bounds=(0, units))
    with pytest.raises(ValueError, match="not differentiable"):
        AggregativeGame.from_cost(
            lambda x, mean: units * np.abs(x[:, 0] / units - 0.37), N, bounds=(0, units)
        )
    far = 1e6 + np.arange(2) * 1e-2
    AggregativeGame.from_cost(lambda x, mean: units * (x[:, 0] - 1e6) ** 2, N, bounds=(far[0], far[1]))


def test_concave_costs_of_the_paper_are_refused_and_those_of_herd_immunity_are_not():
    A, B = np.linspace(0.2, 0.6, N)[:, None], np.ones((N, 1, 1))
    herd = VaccinationGame(A, B)
    game = AggregativeGame.from_cost(herd.cost, N, bounds=(0, 1))
    np.testing.assert_allclose(game.solve(), herd.solve(), atol=1e-7)
    with pytest.warns(UserWarning, match="concave"):
        printed = VaccinationGame(A, B, cost="as_printed")
    with pytest.raises(ValueError, match="not convex"):
        AggregativeGame.from_cost(printed.cost, N, bounds=(0, 1))


def test_the_checks_are_bounded_in_the_number_of_evaluations_and_repeat():
    places = []
    for _ in range(2):
        seen = []

        def recorded(x, mean, seen=seen):
            seen.append((x.copy(), mean.copy()))
            return (x**2).sum(axis=1)

        AggregativeGame.from_cost(recorded, 3, 20, bounds=Simplex())
        places.append(seen)
    assert len(places[0]) < 600
    for (x, mean), (other, other_mean) in zip(*places, strict=True):
        np.testing.assert_array_equal(x, other)
        np.testing.assert_array_equal(mean, other_mean)


def test_a_gradient_that_rounding_hides_is_not_passed_in_silence(recwarn):
    def lifted(constant):
        return lambda x, mean: constant + x[:, 0] ** 2 + x[:, 0] * mean[:, 0]

    def twice(x, mean):
        return 2 * (2 * x + mean), 2 * x

    total = AggregativeGame(lambda x, mean: 2 * (2 * x + mean + x / N), N, bounds=(0, 1), cost=lifted(1e9))
    for check in (
        lambda: AggregativeGame.from_cost(lifted(1e9), N, bounds=(0, 1), gradient=twice),
        total.check_gradient,
    ):
        with pytest.warns(UtilityWarning, match=r"the cost of player 0 hides .* for 6 of 6 players"):
            check()
    recwarn.clear()
    for constant in (0.0, 1e6):
        with pytest.raises(ValueError, match="not the derivative"):
            AggregativeGame.from_cost(lifted(constant), N, bounds=(0, 1), gradient=twice)
    # A cost that nothing moves has nothing to hide.
    AggregativeGame.from_cost(
        lambda x, mean: 1e9 + 0 * x[:, 0], N, bounds=(0, 1), gradient=lambda x, mean: (0 * x, 0 * x)
    )
    assert not recwarn.list


def test_messages_show_no_cost():
    secret = 7654.321

    def private(x, mean):
        return secret * np.abs(x[:, 0] - 0.37)

    with pytest.raises(ValueError, match="not differentiable") as caught:
        AggregativeGame.from_cost(private, N, bounds=(0, 1))
    wrong = AggregativeGame(
        lambda x, mean: secret + x, N, bounds=(0, 1), cost=lambda x, m: secret * x[:, 0] ** 2
    )
    with pytest.raises(ValueError, match="not the derivative") as other:
        wrong.check_gradient()
    numbers = re.findall(r"\d+\.?\d*", str(caught.value) + str(other.value))
    assert all(float(number) < 10 for number in numbers)


class TestGradientsThatAreRefused:
    @pytest.mark.parametrize(
        ("change", "part", "player", "coordinate", "error"),
        [
            (lambda a, b: (a * [1, 1.01], b), "first", None, 1, 0.01),
            (lambda a, b: (a, b + np.eye(N, n)), "second", None, None, None),
            (lambda a, b: (a + np.eye(N)[:, 4:5] * [1e-4, 0], b), "first", 4, 0, None),
            (lambda a, b: (-a, b), "first", None, None, 2.0),
            (lambda a, b: (np.full_like(a, np.nan), b), "first", None, None, np.inf),
        ],
    )
    def test_wrong_parts(self, change, part, player, coordinate, error):
        with pytest.raises(ValueError, match=f"its {part} part, by the") as caught:
            AggregativeGame.from_cost(
                cost, N, n, bounds=(-1, 1), gradient=lambda x, mean: change(*derivatives(x, mean))
            )
        found = re.search(r"player (\d+), coordinate (\d+), relative error (\S+),", str(caught.value))
        assert player is None or int(found[1]) == player
        assert coordinate is None or int(found[2]) == coordinate
        assert error is None or float(found[3]) == pytest.approx(error, rel=0.1)

    def test_one_array(self):
        with pytest.raises(TypeError, match="must return a pair"):
            AggregativeGame.from_cost(cost, N, n, gradient=lambda x, mean: derivatives(x, mean)[0])

    def test_shapes_and_types(self):
        with pytest.raises(ValueError, match=r"two arrays of shape \(6, 2\); it returned \(6,\)"):
            AggregativeGame.from_cost(cost, N, n, gradient=lambda x, mean: (x[:, 0], x))
        with pytest.raises(TypeError, match="real numbers"):
            AggregativeGame.from_cost(cost, N, n, gradient=lambda x, mean: (x * 1j, x))

    def test_single_precision_is_no_error(self):
        game = AggregativeGame.from_cost(
            cost,
            N,
            n,
            bounds=(-1, 1),
            gradient=lambda x, mean: [part.astype(np.float32) for part in derivatives(x, mean)],
        )
        np.testing.assert_allclose(
            game.solve(), QuadraticAggregativeGame(P, Q, R, (-1, 1)).solve(), atol=1e-4
        )


class TestCheckGradient:
    @staticmethod
    def game(gradient, bounds=(-1, 1)):
        return AggregativeGame(gradient, N, n, bounds=bounds, cost=cost)

    @staticmethod
    def nash(x, aggregate):
        return x @ (P + Q.T / N).T + aggregate @ Q.T + R

    def test_the_right_one_passes_on_every_set(self, bounds):
        assert self.game(self.nash, bounds).check_gradient() < 1e-7
        known = QuadraticAggregativeGame(P, Q, R, bounds)
        assert known.check_gradient() < 1e-7
        herd = VaccinationGame(np.linspace(0.2, 0.6, N), np.ones(N))
        assert herd.check_gradient() < 1e-7

    def test_a_partial_one_is_told_to_be_wardrops(self):
        partial = self.game(lambda x, mean: derivatives(x, mean)[0])
        with pytest.raises(
            ValueError, match=r"not the derivative of cost: player .* add the own effect, 1/N"
        ):
            partial.check_gradient()
        assert partial.check_gradient(own_effect=False) < 1e-7
        with pytest.raises(ValueError, match="not the derivative") as caught:
            self.game(self.nash).check_gradient(own_effect=False)
        assert "own effect" not in str(caught.value)

    @pytest.mark.parametrize("player", [0, 3, 5])
    @pytest.mark.parametrize("coordinate", [0, 1])
    def test_player_coordinate_and_error_are_named(self, player, coordinate):
        def wrong(x, aggregate):
            found = self.nash(x, aggregate)
            found[player, coordinate] *= 1.25
            return found

        with pytest.raises(
            ValueError, match=f"player {player}, coordinate {coordinate}, .* 1 of 6"
        ) as caught:
            self.game(wrong).check_gradient()
        # 0.25 of this derivative, relative to the player's largest, which may be the other coordinate.
        assert 0.01 < float(re.search("relative error ([0-9.]+)", str(caught.value))[1]) <= 0.2

    def test_a_wrong_one_has_regret_and_is_found(self):
        wrong = self.game(lambda x, mean: self.nash(x, mean) + 0.5)
        assert wrong.regret(wrong.solve()) > 0.05
        with pytest.raises(ValueError, match="so for 6 of 6 players"):
            wrong.check_gradient()

    def test_subgradients_at_kinks_are_no_errors(self):
        # Some of 2e6 points lie within a step of the kink.
        many = AggregativeGame(
            lambda x, mean: np.sign(x - 0.25),
            200_000,
            bounds=(0, 1),
            cost=lambda x, mean: np.abs(x[:, 0] - 0.25),
        )
        assert many.check_gradient() > 1e-3

    def test_other_points_for_another_seed(self):
        def wrong_at_the_top(x, aggregate):
            return self.nash(x, aggregate) + np.where(x > 0.9, 1.0, 0.0)

        rare = AggregativeGame(wrong_at_the_top, N, n, bounds=(-1, 1), cost=cost)
        with pytest.raises(ValueError, match="relative error"):
            rare.check_gradient(n_points=100)
        messages = set()
        for seed in (1, 2):
            with pytest.raises(ValueError, match="strategy") as caught:
                rare.check_gradient(n_points=100, random_state=seed)
            messages.add(str(caught.value))
        assert len(messages) == 2

    def test_it_needs_a_cost_and_numbers(self):
        with pytest.raises(ValueError, match="needs the players' costs"):
            AggregativeGame(self.nash, N, n).check_gradient()
        with pytest.raises(ValueError, match="n_points"):
            self.game(self.nash).check_gradient(n_points=0)
        with pytest.raises(TypeError, match="random_state"):
            self.game(self.nash).check_gradient(random_state="x")

    def test_the_own_effect_of_from_cost_is_its_own(self):
        for gradient in (None, derivatives):
            game = AggregativeGame.from_cost(cost, N, n, bounds=(-1, 1), gradient=gradient, own_effect=0.5)
            assert game.check_gradient() < 1e-7
            with pytest.raises(ValueError, match="not the derivative"):
                game.check_gradient(own_effect=True)


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"cost": 3}, TypeError, "cost must be callable, not int"),
        ({"gradient": 3}, TypeError, "gradient must be callable, not int"),
        ({"own_effect": "yes"}, TypeError, "own_effect must be True, False"),
        ({"own_effect": 1.5}, ValueError, "numbers from 0 to 1"),
        ({"own_effect": np.nan}, ValueError, "numbers from 0 to 1"),
        ({"own_effect": [0.1, 0.2]}, ValueError, "one for each of 6 players"),
        ({"n_players": 0}, ValueError, "n_players"),
        ({"n_dims": 1.5}, TypeError, "n_dims"),
        ({"cost": lambda x, mean: x}, ValueError, r"cost must return real numbers of shape \(6,\)"),
        ({"cost": lambda x, mean: x.sum() + x[:, 0]}, ValueError, "cost: row i"),
        ({"cost": lambda x, mean: x[:, 0] + np.inf}, ValueError, "finite.*player 0"),
        ({"cost": lambda x, mean: np.where(np.arange(len(x)) == 1, np.nan, x[:, 0])}, ValueError, "player 1"),
        ({"bounds": (1, 0)}, ValueError, "above"),
        ({"diameter": 1.0}, ValueError, "goes with a projection"),
    ],
)
def test_bad_parameters(parameters, error, message):
    with pytest.raises(error, match=message):
        AggregativeGame.from_cost(**{"cost": cost, "n_players": N, "n_dims": n, **parameters})


def test_games_that_are_given_by_numbers_are_not_made_from_a_cost():
    for kind in (QuadraticAggregativeGame, VaccinationGame):
        with pytest.raises(TypeError, match=r"use AggregativeGame\.from_cost"):
            kind.from_cost(cost, N, n)


def test_a_cost_cannot_move_the_players_by_itself():
    def moving(x, aggregate):
        x += 1.0
        return x[:, 0]

    with pytest.raises(ValueError, match="read-only"):
        AggregativeGame.from_cost(moving, N)


def test_automatic_differentiation_of_jax():
    jax = pytest.importorskip("jax")
    unit_cost = np.linspace(1.0, 3.0, 5)

    def firm(x, mean):
        return unit_cost * x[:, 0] + jax.numpy.exp(x[:, 0] / 5) - x[:, 0] * (10 - 2 * mean[:, 0])

    gradient = jax.grad(lambda x, mean: firm(x, mean).sum(), argnums=(0, 1))
    automatic = AggregativeGame.from_cost(firm, 5, bounds=(0, 10), gradient=gradient)
    differences = AggregativeGame.from_cost(
        lambda x, mean: unit_cost * x[:, 0] + np.exp(x[:, 0] / 5) - x[:, 0] * (10 - 2 * mean[:, 0]),
        5,
        bounds=(0, 10),
    )
    np.testing.assert_allclose(automatic.solve(), differences.solve(), atol=1e-3)


def test_the_step_comes_from_the_precision_and_the_set():
    assert cost_gradient.precision_of(np.zeros(2, np.float32), np.zeros(2)) == np.finfo(np.float32).eps
    free = CostDifferences(cost, np.zeros(N), (np.full(1, -np.inf), np.full(1, np.inf)), np.inf, 1e-15)
    np.testing.assert_allclose(free.steps(np.array([[0.0, -300.0]])), [[1e-5, 3e-3]])
