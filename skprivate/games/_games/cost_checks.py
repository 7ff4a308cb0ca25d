# SPDX-License-Identifier: BSD-3-Clause
"""Checks of costs and gradients at public random points: finite, convex, differentiable, and consistent."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..._typing import BoolArray, FloatArray
from ...exceptions import UtilityWarning
from ...utils._private_fit import warn_user
from .cost_gradient import (
    LOST_DIGITS,
    CostDifferences,
    PartialDerivatives,
    PlayerFunction,
    precision_of,
    read_only,
    sides_of,
)
from .sets import Box, ConstraintSet

# Segments of every player's set that are tried: a kink that a random segment crosses with probability 1/2 is
# overlooked with probability 1/256. Costs are evaluated some 400 times in all.
_SEGMENTS = 8
# Points of a segment on which a cost must be convex.
_POINTS = 9
# Halvings that one-sided slopes get to come together, as many as the precision leaves. At a kink, which three
# overlapping parts hold near the middle of one, their difference does not fall below 1/2. After 5 halvings it
# is 1/32 of its first value if the slope is smooth, and at most 0.36 of it if the slope changes as the root
# of the distance.
_HALVINGS = (5, 8)
_SHRUNK = 0.375
# Points far outside of a bounded set, in diameters: their projections are on its boundary.
_FAR = 1e3
# Of a segment, left out at either end: a slope may be infinite on the boundary, as that of x log x is at 0.
_MARGIN = 0.01
# Coordinates of a point that a message lists.
_MOST_LISTED = 6
_PARTIAL = (
    " It is the partial derivative by the own strategy: add the own effect, 1/N times the derivative by the "
    "aggregate, for a Nash equilibrium; own_effect=False is for Wardrop's."
)


class PointSampler:
    """Random points of the players' public sets, and means of such points.

    Parameters
    ----------
    constraint : ConstraintSet
        The sets.
    n_players, n_dims : int
    seed : int
        The points depend on it and on what is public alone.
    """

    def __init__(self, constraint: ConstraintSet, n_players: int, n_dims: int, seed: int) -> None:
        self._constraint, self._shape = constraint, (n_players, n_dims)
        self._generator = np.random.default_rng(seed)
        self._start = constraint.start(n_players, n_dims)
        self._bounded = 0 < constraint.diameter < np.inf

    def chord(self) -> tuple[FloatArray, FloatArray]:
        """Return two points on opposite sides of every player's set: on its boundary, if it is bounded."""
        return self._opposite(self._generator.standard_normal(self._shape))

    def inside(self) -> FloatArray:
        """Return one point within every player's set."""
        end = self.chord()[0]
        # A box holds any mixture of coordinates of two points, another convex set the points in between.
        shape = self._shape if isinstance(self._constraint, Box) else (self._shape[0], 1)
        return np.asarray(self._start + self._generator.uniform(size=shape) * (end - self._start))

    def profiles(self) -> tuple[FloatArray, FloatArray]:
        """Return two profiles, in each of which all players go in one direction: their means differ."""
        ends = self._opposite(self._generator.standard_normal((1, self._shape[1])))
        shares = self._generator.uniform(size=2)
        first, second = (
            self._start + share * (end - self._start) for share, end in zip(shares, ends, strict=True)
        )
        return first, second

    def _opposite(self, direction: FloatArray) -> tuple[FloatArray, FloatArray]:
        scale = _FAR * self._constraint.diameter if self._bounded else 10 ** self._generator.uniform(-1, 1)
        step = np.broadcast_to(scale * direction, self._shape)
        first, second = (self._constraint.project(self._start + move) for move in (step, -step))
        return first, second


@dataclass(frozen=True, eq=False)
class CostChecks:
    """Checks of one game's cost, and of gradients that users say are its derivatives.

    Parameters
    ----------
    cost : callable
        From strategies and aggregates to costs.
    weights : ndarray of shape (n_players,)
        By how much the aggregate moves with the own strategy.
    constraint : ConstraintSet
    shape : tuple of int
        (n_players, n_dims).
    seed : int, default=0

    Notes
    -----
    **Privacy**: points come from a seed and from public sets. Messages name a player, a point, a coordinate
    and a relative error, and never a cost. They go to whoever holds the costs and makes the game.
    """

    cost: PlayerFunction
    weights: FloatArray
    constraint: ConstraintSet
    shape: tuple[int, int]
    seed: int = 0

    @cached_property
    def precision(self) -> float:
        """Of the floating-point numbers that costs are computed in."""
        start = read_only(self.constraint.start(*self.shape))
        return precision_of(self.cost(start, start))

    def checked_gradient(self, derivatives: Any, *, check: bool) -> PlayerFunction:
        """Return the pseudo-gradient, by differences (None) or from a user's `PartialDerivatives`.

        With `check`, cost and derivatives are tried at random points: a TypeError or a ValueError if they are
        not what they must be.
        """
        if check:
            self.check_cost()
        if derivatives is None:
            return self._differences(self.cost, self.weights)
        chained = PartialDerivatives(derivatives, self.weights)
        if check:
            self.check_partial_derivatives(chained)
        return chained

    def compare_gradient(self, gradient: PlayerFunction, n_points: int) -> float:
        """Return the largest relative error of a pseudo-gradient; a ValueError if it is not the derivative.

        See `AggregativeGame.check_gradient`.
        """
        errors, hint = self._errors_of(gradient, self.weights, n_points), ""
        if errors.wrong.any() and self.weights.any():
            partial = self._errors_of(gradient, np.zeros(self.shape[0]), n_points)
            hint = "" if partial.wrong.any() else _PARTIAL
        errors.refuse("pseudo_gradient is not the derivative of cost", hint)
        errors.warn_of_rounding("pseudo_gradient")
        return errors.largest

    def check_cost(self) -> None:
        """Refuse a cost that is not finite, not differentiable, or not convex in the own strategy."""
        points = PointSampler(self.constraint, *self.shape, self.seed)
        for number in range(_SEGMENTS):
            first, second = points.chord() if number % 2 == 0 else (points.inside(), points.inside())
            profile, other = points.profiles()
            for y in (first, second):
                self.evaluate(y, _rows(profile))
            self._check_smooth(first, second, profile, other)
            self._check_convex(first, second, profile)

    def check_partial_derivatives(self, derivatives: PartialDerivatives) -> None:
        """Compare a user's partial derivatives with differences of the cost."""
        nothing, reach = np.zeros(self.shape[0]), self.constraint.diameter
        means = [np.broadcast_to(side, self.shape).mean(axis=0) for side in sides_of(self.constraint)]
        by_strategy = self._differences(self.evaluate, nothing)
        by_aggregate = CostDifferences(
            lambda aggregate, x: self.evaluate(x, aggregate),
            nothing,
            (means[0], means[1]),
            reach,
            self.precision,
        )
        points = PointSampler(self.constraint, *self.shape, self.seed)
        errors, other_errors = _Errors(), _Errors()
        for _ in range(_SEGMENTS):
            x, aggregate = points.inside(), _rows(points.profiles()[0])
            given = derivatives.parts(x, aggregate)
            errors.add(given[0], by_strategy.with_spread(x, aggregate), x, aggregate)
            other_errors.add(given[1], by_aggregate.with_spread(aggregate, x), x, aggregate)
        errors.refuse("gradient: its first part, by the own strategy, is not the derivative of the cost")
        other_errors.refuse("gradient: its second part, by the aggregate, is not the derivative of the cost")
        errors.warn_of_rounding("gradient")

    def _differences(self, cost: PlayerFunction, weights: FloatArray) -> CostDifferences:
        sides = sides_of(self.constraint)
        return CostDifferences(cost, weights, sides, self.constraint.diameter, self.precision)

    def _errors_of(self, gradient: PlayerFunction, weights: FloatArray, n_points: int) -> "_Errors":
        """Compare a pseudo-gradient with differences of the cost at random points."""
        differences = self._differences(self.evaluate, weights)
        points, errors = PointSampler(self.constraint, *self.shape, self.seed), _Errors()
        for _ in range(n_points):
            x, aggregate = points.inside(), _rows(points.profiles()[0])
            errors.add(gradient(x, aggregate), differences.with_spread(x, aggregate), x, aggregate)
        return errors

    def evaluate(self, x: FloatArray, aggregate: FloatArray) -> FloatArray:
        """Return the costs; an error that names a player and the point if one is no finite number."""
        with np.errstate(all="ignore"):
            costs = np.asarray(self.cost(read_only(x), read_only(aggregate)), dtype=np.float64)
        bad = np.flatnonzero(~np.isfinite(costs))
        if bad.size:
            kind = "NaN" if np.isnan(costs[bad[0]]) else "infinite"
            raise ValueError(
                f"cost of player {bad[0]} is {kind} at {_place(x, aggregate, bad[0])}. Costs must be finite "
                "on the whole set of strategies: choose bounds on which they are."
            )
        return costs

    def _check_convex(self, first: FloatArray, second: FloatArray, profile: FloatArray) -> None:
        """Refuse costs that are not convex on segments of the own strategy, by more than rounding.

        Of equidistant points every one must cost at most the mean of its neighbours.
        """
        inner = np.linspace(0, 1, _POINTS)[1:-1]
        # The ends as they are: computed from the other end, one may lie a rounding outside of the set.
        path = [first, *(first + t * (second - first) for t in inner), second]
        centre = profile.mean(axis=0)
        aggregates = [centre + self.weights[:, None] * (y - profile) for y in path]
        costs = np.stack([self.evaluate(*pair) for pair in zip(path, aggregates, strict=True)])
        bends = costs[:-2] - 2 * costs[1:-1] + costs[2:]
        excess = -bends - self._rounding(costs, first, second)
        if excess.max() > 0:
            at, player = (int(index) for index in np.unravel_index(np.argmax(excess), excess.shape))
            raise ValueError(
                f"cost of player {player} is not convex in its own strategy at "
                f"{_place(path[at + 1], aggregates[at + 1], player)}: a strategy where the gradient "
                "vanishes need not be a best response. check=False takes the game all the same."
            )

    def _check_smooth(
        self, first: FloatArray, second: FloatArray, profile: FloatArray, other: FloatArray
    ) -> None:
        """Refuse costs whose one-sided slopes along a segment stay apart as the step shrinks.

        The segment is halved toward the part where the slope changes most, of three parts that overlap.
        """
        first, second = first + _MARGIN * (second - first), second + _MARGIN * (first - second)
        ends = (_rows(profile), _rows(other))

        def point(t: FloatArray) -> tuple[FloatArray, FloatArray]:
            share = t[:, None]
            return first + share * (second - first), ends[0] + share * (ends[1] - ends[0])

        def costs_at(t: FloatArray) -> FloatArray:
            return self.evaluate(*point(t))

        players, start, spacing, changes = np.arange(self.shape[0]), np.zeros(self.shape[0]), 0.25, []
        values = np.stack([costs_at(start + k * spacing) for k in range(5)])
        rounding = self._rounding(values, np.stack([first, ends[0]]), np.stack([second, ends[1]]))
        while True:
            bends = np.abs(values[:-2] - 2 * values[1:-1] + values[2:])
            part = np.argmax(bends, axis=0)
            changes.append(bends[part, players] / spacing)
            if spacing / 2 < np.cbrt(self.precision):
                break
            kept = [values[part + k, players] for k in range(3)]
            start, spacing = start + part * spacing, spacing / 2
            values = np.stack(
                [kept[0], costs_at(start + spacing), kept[1], costs_at(start + 3 * spacing), kept[2]]
            )
        fewest, most = _HALVINGS
        if len(changes) <= fewest:
            return
        apart = (changes[-1] > _SHRUNK * changes[-1 - min(most, len(changes) - 1)]) & (
            changes[-1] > rounding / spacing
        )
        if apart.any():
            player = int(np.argmax(apart))
            place = _place(*point(start + 2 * spacing), player)
            raise ValueError(
                f"cost of player {player} is not differentiable at {place}: "
                "its slopes on the two sides stay apart as the step shrinks. Use a smooth cost, in full "
                "precision; check=False takes the game all the same."
            )

    def _rounding(self, costs: FloatArray, first: FloatArray, second: FloatArray) -> FloatArray:
        """Return what rounding of costs, and of points between two ends, may do to a second difference."""
        way = np.abs(second - first)
        size = np.maximum(np.abs(first), np.abs(second))
        ratios = np.divide(size, way, out=np.zeros(way.shape), where=way > 0)
        ratio = ratios.max(axis=tuple(axis for axis in range(ratios.ndim) if axis != ratios.ndim - 2))
        largest = np.abs(costs).max(axis=0) + np.ptp(costs, axis=0) * ratio
        # Numbers below the smallest normal one have fewer digits.
        return np.asarray(LOST_DIGITS * (self.precision * largest + np.finfo(np.float64).tiny))


class _Errors:
    """Errors of a gradient at several points, relative to the largest derivative of the player there."""

    def __init__(self) -> None:
        self._absolute, self._size = list[FloatArray](), list[FloatArray]()
        self._allowed, self._unseen = list[BoolArray](), list[BoolArray]()
        self._points: list[tuple[FloatArray, FloatArray]] = []

    def add(self, given: Any, parts: tuple[FloatArray, ...], x: FloatArray, aggregate: FloatArray) -> None:
        """Add the errors at one point; those are allowed that one-sided parts and rounding explain."""
        slopes, apart, rounding = parts
        values = np.asarray(given)
        precision = np.finfo(values.dtype if values.dtype.kind == "f" else np.float64).eps
        values = values.astype(np.float64)
        error = np.abs(values - slopes)
        size = np.maximum(np.abs(values), np.abs(slopes))
        self._absolute.append(error)
        # Comparisons with nan are false.
        self._allowed.append(error <= apart + rounding + LOST_DIGITS * precision * size)
        self._size.append(size.max(axis=1))
        given_size = np.abs(values).max(axis=1)
        self._unseen.append((given_size > 0) & (given_size <= (apart + rounding).max(axis=1)))
        self._points.append((x, aggregate))

    @property
    def relative(self) -> FloatArray:
        """Relative errors, of shape (n_points, n_players, n_dims); infinite where a gradient is NaN."""
        size = np.max(self._size, axis=0)[:, None]
        ratios = np.divide(self._absolute, size, out=np.zeros(np.shape(self._absolute)), where=size != 0)
        return np.nan_to_num(ratios, nan=np.inf)

    @property
    def largest(self) -> float:
        """The largest relative error."""
        return float(self.relative.max())

    @property
    def wrong(self) -> BoolArray:
        """Which errors are more than differences and rounding explain."""
        return ~np.array(self._allowed)

    def refuse(self, what: str, hint: str = "") -> None:
        """Raise a ValueError if there are such errors, and name the largest."""
        wrong = self.wrong
        if not wrong.any():
            return
        errors = np.where(wrong, self.relative, -1.0)
        at, player, coordinate = (int(i) for i in np.unravel_index(np.argmax(errors), errors.shape))
        count, place = int(wrong.any(axis=(0, 2)).sum()), _place(*self._points[at], player)
        raise ValueError(
            f"{what}: player {player}, coordinate {coordinate}, relative error "
            f"{errors[at, player, coordinate]:.2g}, at {place}; so for {count} of {wrong.shape[1]} "
            f"players.{hint}"
        )

    def warn_of_rounding(self, name: str) -> None:
        """Warn of players whose derivatives are nowhere above what is allowed: 0 would have passed, too."""
        unseen = np.all(self._unseen, axis=0)
        if unseen.any():
            warn_user(
                f"{name} cannot be compared with cost: the rounding of the cost of player "
                f"{int(np.argmax(unseen))} hides its derivatives at all points that were tried; so for "
                f"{int(unseen.sum())} of {len(unseen)} players. Leave a large constant out of the cost.",
                UtilityWarning,
            )


def _rows(profile: FloatArray) -> FloatArray:
    """Return the mean of a profile for every player."""
    return np.broadcast_to(profile.mean(axis=0), profile.shape)


def _place(x: FloatArray, aggregate: FloatArray, player: int) -> str:
    return f"strategy {_listed(x[player])} and aggregate {_listed(aggregate[player])}"


def _listed(point: FloatArray) -> str:
    shown = ", ".join(f"{value:.6g}" for value in point[:_MOST_LISTED])
    return f"[{shown}{', ...' if len(point) > _MOST_LISTED else ''}]"
