# SPDX-License-Identifier: BSD-3-Clause
"""Pseudo-gradients from costs, by differences or derivatives, and checks of the users' functions."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..._typing import FloatArray
from .sets import Box, ConstraintSet, Simplex

# Checks of the functions that a user gives for all players at once, where a game is made.

PlayerFunction = Callable[[FloatArray, FloatArray], ArrayLike]


def read_only(values: FloatArray) -> FloatArray:
    """Return a view that a user's function cannot write to: a step that it takes by itself is not clipped."""
    view = values.view()
    view.flags.writeable = False
    return view


def check_player_function(
    name: str, function: Any, shape: tuple[int, ...], constraint: ConstraintSet, sizes: tuple[int, int]
) -> None:
    """Refuse a user's function that returns no finite numbers of this shape, or mixes the players."""
    n_players, n_dims = sizes
    start = constraint.start(n_players, n_dims)
    values = np.asarray(function(read_only(start), read_only(start)))
    if values.dtype.kind not in "iuf" or values.shape != shape:
        raise ValueError(
            f"{name} must return real numbers of shape {shape} for a game of {n_players} players "
            f"and {n_dims} dimensions; it returned {values.dtype} of shape {values.shape}."
        )
    wrong = ~np.isfinite(values).reshape(n_players, -1).all(axis=1)
    if wrong.any():
        raise ValueError(
            f"{name} must return finite numbers; it does not for player {int(np.argmax(wrong))} at the "
            "public start."
        )
    # Differences are those of a cost, row by row as it is.
    if not isinstance(function, CostDifferences):
        _check_rows_apart(name, function, start, constraint)


def _check_rows_apart(
    name: str, function: PlayerFunction, start: FloatArray, constraint: ConstraintSet
) -> None:
    """Refuse a function of which a row changes with other rows, or from one call to the next.

    Of every two players each is moved while the other stays, as the numbers of two players differ in a bit:
    some back and some forth, since a least or largest row is felt one way only. Players who stay are not at
    the start, where a factor that other rows enter may be 0. No player is on the boundary of its set.
    """
    players, n_dims = np.arange(len(start)), start.shape[1]
    way = constraint.project(start + np.linspace(0.1, 0.3, n_dims)) - start
    away, farther = start + 0.5 * way, start + 0.95 * way
    values = np.asarray(function(read_only(away), read_only(away)))
    if not _are_close(values, np.asarray(function(read_only(away), read_only(away)))):
        raise ValueError(
            f"{name} must return the same numbers whenever it is given the same arguments, and it does not: "
            "no random numbers, and no memory of earlier calls."
        )
    for bit in range((len(start) - 1).bit_length()):
        for side, moved in enumerate((start, farther)):
            kept = players >> bit & 1 == side
            other = np.where(kept[:, None], away, moved)
            found = np.asarray(function(read_only(other), read_only(other)))
            if not _are_close(values[kept], found[kept]):
                raise ValueError(
                    f"{name}: row i of the result must depend on row i of the arguments alone, and it does "
                    "not. The aggregate comes as an argument; do not take a mean inside."
                )


def _are_close(values: NDArray[Any], others: NDArray[Any]) -> bool:
    # Rounding of terms that cancel is relative to the values where they do not: in any unit of them.
    size = max(np.abs(np.where(np.isfinite(item), item, 0)).max(initial=0.0) for item in (values, others))
    return np.allclose(others, values, rtol=1e-9, atol=1e-12 * min(1.0, float(size)), equal_nan=True)


# Pseudo-gradients from costs: differences or partial derivatives, with the own effect on the aggregate.

Sides = tuple[FloatArray, FloatArray]
# Digits that a cost may lose to the rounding of its own terms: three, as 2^10.
LOST_DIGITS = 2.0**10
# Roundings of a cost that a solution is not asked to be better than: one for each of so many operations.
_OPERATIONS = 32


@dataclass(frozen=True, eq=False)
class CostDifferences:
    """Central differences of costs by the own strategy, which moves the aggregate by its weight too.

    Parameters
    ----------
    cost : callable
        From strategies and aggregates to costs, row by row.
    weights : ndarray of shape (n_players,)
        By how much the aggregate moves with the own strategy; 0 gives the partial derivatives.
    sides : tuple of two ndarrays
        Lowest and highest values of every coordinate, of a shape that broadcasts to (n_players, n_dims), with
        infinity where there is none. Costs are not evaluated beyond them.
    reach : float
        Length over which costs vary in coordinates without sides; infinite where nobody knows it.
    precision : float
        Relative spacing of the floating-point numbers that costs are computed in (eps).

    Notes
    -----
    Rounding moves a central difference of step h by about ``eps |f| / h``, truncation by ``h^2 / 6`` times
    the third derivative. If that is of the order of ``|f| / L^3``, L being the length over which the cost
    varies, their sum is least at about ``h = eps^(1/3) L``. L is the distance of the sides, or else `reach`,
    or else the size of the coordinate and at least 1. Nearer than h to a side, the parabola through the three
    points that end at the side is differentiated. The error is of the same order.
    """

    cost: PlayerFunction
    weights: FloatArray
    sides: Sides
    reach: float
    precision: float

    def steps(self, x: FloatArray) -> FloatArray:
        """Return the steps of the differences at these strategies."""
        width = self.sides[1] - self.sides[0]
        without = np.maximum(1.0, np.abs(x)) if np.isinf(self.reach) else self.reach
        return np.asarray(np.cbrt(self.precision) * np.where(np.isfinite(width), width, without))

    def __call__(self, x: FloatArray, aggregate: FloatArray) -> FloatArray:
        """Return the derivatives of the players' costs."""
        return self.with_spread(x, aggregate, spread=False)[0]

    def noise(self, x: FloatArray, aggregate: FloatArray) -> float:
        """Return how far rounding may move the derivatives of any player: below it they show nothing."""
        size = np.abs(np.asarray(self.cost(read_only(x), read_only(aggregate)), dtype=np.float64))
        steps = np.broadcast_to(self.steps(x), x.shape)
        rates = np.divide(
            _OPERATIONS * self.precision * size[:, None], steps, out=np.zeros(x.shape), where=steps > 0
        )
        return float(np.sqrt(np.square(rates).sum(axis=1).max()))

    def with_spread(
        self, x: FloatArray, aggregate: FloatArray, *, spread: bool = True
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return derivatives, how far one-sided ones are apart, and what rounding may do to either.

        A derivative of a convex cost lies between the one-sided differences.
        """
        steps, (lower, upper) = np.broadcast_to(self.steps(x), x.shape), self.sides
        inner = np.minimum(np.maximum(x, lower + steps), upper - steps)
        outside = (x < lower) | (x > upper)
        centres = np.where(outside, x, inner)
        least, most = np.where(outside, -np.inf, lower), np.where(outside, np.inf, upper)
        slopes, apart, rounding = np.zeros((3, *x.shape))
        for j in range(x.shape[1]):
            centre, step = centres[:, j], steps[:, j]
            # Without the clip rounding may carry an end out of the set.
            ends = [np.clip(end, least[:, j], most[:, j]) for end in (centre + step, centre - step)]
            up, down = (self._moved(x, aggregate, j, end) for end in ends)
            width = ends[0] - ends[1]
            slopes[:, j] = np.divide(up - down, width, out=np.zeros(len(x)), where=width > 0)
            shifted = (centre != x[:, j]) & (width > 0)
            if not spread and not shifted.any():
                continue
            bend = up - 2 * self._moved(x, aggregate, j, centre) + down
            rate = np.divide(bend, step, out=np.zeros(len(x)), where=width > 0)
            slopes[:, j] += np.divide((x[:, j] - centre) * rate, step, out=np.zeros(len(x)), where=shifted)
            apart[:, j] = np.abs(rate)
            # Of the costs, and of the coordinates that they are evaluated at.
            reach = np.abs(centre) + np.abs(aggregate[:, j])
            lost = (
                LOST_DIGITS
                * self.precision
                * (np.maximum(np.abs(up), np.abs(down)) + np.abs(slopes[:, j]) * reach)
            )
            rounding[:, j] = np.divide(lost, step, out=np.zeros(len(x)), where=width > 0)
        return slopes, apart, rounding

    def _moved(self, x: FloatArray, aggregate: FloatArray, j: int, values: FloatArray) -> FloatArray:
        """Return the costs with these values in coordinate j, and the aggregate moved with them."""
        y, moved = x.copy(), aggregate.copy()
        y[:, j] = values
        moved[:, j] += self.weights * (values - x[:, j])
        return np.asarray(self.cost(read_only(y), read_only(moved)), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class PartialDerivatives:
    """Pseudo-gradients by the chain rule from a user's partial derivatives.

    Parameters
    ----------
    derivatives : callable
        From strategies and aggregates to a pair: the derivatives of the costs by the own strategy and by the
        aggregate, each of shape (n_players, n_dims).
    weights : ndarray of shape (n_players,)
        By how much the aggregate moves with the own strategy.
    """

    derivatives: Callable[..., Any]
    weights: FloatArray

    def parts(self, x: FloatArray, aggregate: FloatArray) -> tuple[Any, Any]:
        """Return the two derivatives; an error if they are no pair of the shape of the strategies."""
        found = self.derivatives(x, aggregate)
        if not isinstance(found, tuple | list) or len(found) != 2:
            raise TypeError(
                "gradient must return a pair: the derivatives of the costs by the own strategy and by the "
                "aggregate, as jax.grad(lambda x, mean: cost(x, mean).sum(), argnums=(0, 1)) does."
            )
        by_strategy, by_aggregate = (_as_floats(part) for part in found)
        if by_strategy.shape != x.shape or by_aggregate.shape != x.shape:
            raise ValueError(
                f"gradient must return two arrays of shape {x.shape}; it returned {by_strategy.shape} and "
                f"{by_aggregate.shape}."
            )
        return by_strategy, by_aggregate

    def __call__(self, x: FloatArray, aggregate: FloatArray) -> FloatArray:
        """Return the derivatives by the own strategy, which the aggregate holds with its weight."""
        by_strategy, by_aggregate = self.parts(x, aggregate)
        # In the precision of the derivatives, which a check reads from the result.
        return np.asarray(by_strategy + self.weights[:, None].astype(by_aggregate.dtype) * by_aggregate)


def residual_noise(gradient: Any, start: FloatArray) -> Callable[[FloatArray], float] | None:
    """Return the residual that rounding alone may make, as a function of strategies; None where it is little.

    It is the rounding of differences, or of a gradient in less than double precision. It is relative to the
    gradient's size at these strategies, from which a solution starts.
    """
    if isinstance(gradient, CostDifferences):
        return lambda x: gradient.noise(x, np.broadcast_to(x.mean(axis=0), x.shape))
    values = np.asarray(gradient(read_only(start), np.broadcast_to(start.mean(axis=0), start.shape)))
    precision = precision_of(values)
    if precision <= np.finfo(np.float64).eps:
        return None
    noise = _OPERATIONS * precision * float(np.sqrt(np.square(values, dtype=np.float64).sum(axis=1).max()))
    return lambda x: noise


def own_weights(own_effect: Any, n_players: int) -> FloatArray:
    """Return by how much the aggregate moves with every player's own strategy, of shape (n_players,).

    Parameters
    ----------
    own_effect : bool, float, or array-like of shape (n_players,)
        True is 1 / n_players, False is 0; numbers lie in [0, 1].
    n_players : int

    Raises
    ------
    TypeError, ValueError
        Something else.
    """
    if isinstance(own_effect, bool | np.bool_):
        return np.full(n_players, 1.0 / n_players if own_effect else 0.0)
    weights = np.asarray(own_effect)
    if weights.dtype.kind not in "iuf":
        raise TypeError("own_effect must be True, False, a number, or one number per player.")
    if weights.shape not in ((), (n_players,)) or not ((weights >= 0) & (weights <= 1)).all():
        raise ValueError(
            f"own_effect must hold numbers from 0 to 1: one, or one for each of {n_players} players."
        )
    return np.array(np.broadcast_to(weights, n_players), dtype=np.float64)


def sides_of(constraint: ConstraintSet) -> Sides:
    """Return the lowest and highest values of every coordinate in a set, infinite where nobody knows."""
    if isinstance(constraint, Box):
        return constraint.lower, constraint.upper
    if isinstance(constraint, Simplex):
        most = np.asarray(constraint.total).reshape(-1, 1)
        return np.zeros(1), most if constraint.upper is None else np.minimum(most, constraint.upper)
    return np.full(1, -np.inf), np.full(1, np.inf)


def precision_of(*arrays: Any) -> float:
    """Return the relative spacing (eps) of the coarsest floating-point type among these arrays."""
    kinds = [np.asarray(array).dtype for array in arrays]
    return float(max(np.finfo(kind if kind.kind == "f" else np.float64).eps for kind in kinds))


def _as_floats(values: Any) -> NDArray[Any]:
    array = np.asarray(values)
    if array.dtype.kind not in "iuf":
        raise TypeError("gradient must return real numbers.")
    return array if array.dtype.kind == "f" else array.astype(np.float64)
