# SPDX-License-Identifier: BSD-3-Clause
"""Costs and gradients that are refused, with the player, the place and no number that is private."""

import re

import numpy as np
import pytest

from skprivate.exceptions import UtilityWarning
from skprivate.games import (
    AggregativeGame,
    Simplex,
)
from tests.games.conftest import N, cost, derivatives, n, nash

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


class TestCheckGradient:
    @staticmethod
    def game(gradient, bounds=(-1, 1)):
        return AggregativeGame(gradient, N, n, bounds=bounds, cost=cost)

    def test_a_partial_one_is_told_to_be_wardrops(self):
        partial = self.game(lambda x, mean: derivatives(x, mean)[0])
        with pytest.raises(
            ValueError, match=r"not the derivative of cost: player .* add the own effect, 1/N"
        ):
            partial.check_gradient()
        assert partial.check_gradient(own_effect=False) < 1e-7
        with pytest.raises(ValueError, match="not the derivative") as caught:
            self.game(nash).check_gradient(own_effect=False)
        assert "own effect" not in str(caught.value)

    @pytest.mark.parametrize("player", [0, 3, 5])
    @pytest.mark.parametrize("coordinate", [0, 1])
    def test_player_coordinate_and_error_are_named(self, player, coordinate):
        def wrong(x, aggregate):
            found = nash(x, aggregate)
            found[player, coordinate] *= 1.25
            return found

        with pytest.raises(
            ValueError, match=f"player {player}, coordinate {coordinate}, .* 1 of 6"
        ) as caught:
            self.game(wrong).check_gradient()
        # 0.25 of this derivative, relative to the player's largest, which may be the other coordinate.
        assert 0.01 < float(re.search("relative error ([0-9.]+)", str(caught.value))[1]) <= 0.2

    def test_other_points_for_another_seed(self):
        def wrong_at_the_top(x, aggregate):
            return nash(x, aggregate) + np.where(x > 0.9, 1.0, 0.0)

        rare = AggregativeGame(wrong_at_the_top, N, n, bounds=(-1, 1), cost=cost)
        with pytest.raises(ValueError, match="relative error"):
            rare.check_gradient(n_points=100)
        messages = set()
        for seed in (1, 2):
            with pytest.raises(ValueError, match="strategy") as caught:
                rare.check_gradient(n_points=100, random_state=seed)
            messages.add(str(caught.value))
        assert len(messages) == 2

    def test_the_own_effect_of_from_cost_is_its_own(self):
        for gradient in (None, derivatives):
            game = AggregativeGame.from_cost(cost, N, n, bounds=(-1, 1), gradient=gradient, own_effect=0.5)
            assert game.check_gradient() < 1e-7
            with pytest.raises(ValueError, match="not the derivative"):
                game.check_gradient(own_effect=True)
