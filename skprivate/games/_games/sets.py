# SPDX-License-Identifier: BSD-3-Clause
"""Constraint sets of the players: projections, diameters, and Lipschitz constants of the projections."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..._typing import BoolArray, FloatArray
from ...utils import check_positive
from ...utils._public_module import public_module

# Constraint sets of the players: projections, diameters, and Lipschitz constants of the projections.

Projection = Callable[[FloatArray], FloatArray]
#: What the parameter ``bounds`` of a game takes.
Bounds: TypeAlias = 'ConstraintSet | Literal["simplex"] | tuple[ArrayLike, ArrayLike] | list[Any] | None'

# What counts as rounding when a point is asked whether it lies in a set.
_ROUNDING = 1e-9
# Scales of the random points at which a user's set is tried, in diameters (or 1), and tries at each of them.
_PAIR_SCALES = (0.1, 1.0, 1e3)
_PAIRS_PER_SCALE = 8
# Relative, of their distances: some thousand roundings.
_PAIR_ROUNDING = 1e-12
# Sides of a box with more entries than this are shown by their shape.
_MOST_LISTED = 6


@public_module("skprivate.games")
class ConstraintSet(ABC):
    """A closed convex set for every player's strategy.

    Attributes
    ----------
    diameter : float
        Largest L1 distance of two points of one player's set; infinite if it is unbounded.
    expansion : float
        Bound on the L1 Lipschitz constant of the Euclidean projection.
    euclidean_diameter : float
        Bound on the Euclidean distance of two points of one player's set; `diameter` unless a set knows more.

    Notes
    -----
    A set that does not say how many dimensions it has (``Box(0, 1)``, ``Simplex()``) takes it from the game
    it is given to: ``game.constraint`` is the set with its dimensions.

    **Privacy**: a set is public. Guarantees rest on its diameters and `expansion`: one that is too small
    makes them wrong. A game refuses a set that two of some random points show to be larger, which proves
    nothing of others.

    See Also
    --------
    Box : Every coordinate for itself.
    Simplex : Shares of a whole.

    Examples
    --------
    A set of your own: the disc around 0. Its projection cannot move two points apart in L2, hence not by more
    than sqrt(2) in L1.

    >>> import numpy as np
    >>> from skprivate.games import ConstraintSet, QuadraticAggregativeGame
    >>> class Disc(ConstraintSet):
    ...     diameter, expansion = 2 * np.sqrt(2), np.sqrt(2)
    ...     def project(self, points):
    ...         return points / np.maximum(1, np.linalg.norm(points, axis=1, keepdims=True))
    ...     def contains(self, points):
    ...         return np.linalg.norm(points, axis=1) <= 1 + 1e-9
    ...     def start(self, n_players, n_dims):
    ...         return np.zeros((n_players, n_dims))
    >>> QuadraticAggregativeGame(1.0, 0.5, [[-3.0, -4.0], [0.0, 0.3]], Disc()).solve().round(3)
    array([[ 0.595,  0.804],
           [-0.099, -0.334]])
    """

    diameter: float
    expansion: float

    @property
    def euclidean_diameter(self) -> float:
        """Upper bound on the Euclidean distance of two points of one player's set."""
        return self.diameter

    @abstractmethod
    def project(self, points: FloatArray) -> FloatArray:
        """Return the Euclidean projections of the rows; points of shape (n_players, n_dims)."""

    @abstractmethod
    def contains(self, points: FloatArray) -> BoolArray:
        """Return which rows lie in the set, up to rounding; of shape (n_players,)."""

    @abstractmethod
    def start(self, n_players: int, n_dims: int) -> FloatArray:
        """Return a public point for every player to start from; of shape (n_players, n_dims)."""

    def fit_to(self, n_players: int, n_dims: int) -> "ConstraintSet":
        """Return the set for so many players and dimensions; a ValueError if it is of another shape."""
        return self

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        mine, theirs = vars(self), vars(other)
        return mine.keys() == theirs.keys() and all(np.array_equal(mine[key], theirs[key]) for key in mine)

    __hash__ = None  # type: ignore[assignment]


@public_module("skprivate.games")
class Unconstrained(ConstraintSet):
    """The whole space: nothing is projected."""

    diameter = math.inf
    expansion = 1.0

    def project(self, points: FloatArray) -> FloatArray:
        """Return the points themselves."""
        return points

    def contains(self, points: FloatArray) -> BoolArray:
        """Return which rows are finite."""
        return rows_all(np.isfinite(points))

    def start(self, n_players: int, n_dims: int) -> FloatArray:
        """Return zeros."""
        return np.zeros((n_players, n_dims))

    def __repr__(self) -> str:
        return "Unconstrained()"


@public_module("skprivate.games")
class Box(ConstraintSet):
    """All points between two corners, coordinate by coordinate.

    Parameters
    ----------
    lower, upper : float, or array-like of shape (n_dims,) or (n_players, n_dims)
        Public corners; infinite sides are allowed.

    Attributes
    ----------
    lower, upper : ndarray of float64
        The corners, read-only.
    diameter : float
        Largest sum of a player's side lengths; infinite while scalars leave the number of dimensions open.
    expansion : float
        1: the projection clips every coordinate for itself.

    Raises
    ------
    TypeError
        A corner does not hold numbers.
    ValueError
        Not a number, a wrong shape, a lower side above the upper one, or nothing finite in between.

    See Also
    --------
    Simplex : Shares of a whole.

    Notes
    -----
    **Privacy**: the corners are public; do not read them from what the players hold.

    Examples
    --------
    >>> from skprivate.games import Box
    >>> box = Box([0.0, -1.0], [1.0, 1.0])
    >>> box.project([[2.0, -3.0]])
    array([[ 1., -1.]])
    >>> box.diameter
    3.0
    """

    expansion = 1.0

    def __init__(self, lower: ArrayLike, upper: ArrayLike) -> None:
        low, high = _corner(lower, "lower"), _corner(upper, "upper")
        try:
            np.broadcast_shapes(low.shape, high.shape)
        except ValueError:
            raise ValueError(
                f"lower and upper do not fit together: shapes {low.shape} and {high.shape}."
            ) from None
        if (low > high).any():
            raise ValueError("lower must not be above upper.")
        if (low == np.inf).any() or (high == -np.inf).any():
            raise ValueError("lower must be below infinity, and upper above minus infinity.")
        self.lower, self.upper = low, high

    @property
    def diameter(self) -> float:  # type: ignore[override]
        """Largest sum of a player's side lengths."""
        sides = np.asarray(self.upper - self.lower)
        if sides.ndim == 0:
            return math.inf if sides > 0 else 0.0
        return float(sides.sum(axis=-1).max())

    @property
    def euclidean_diameter(self) -> float:
        """Largest Euclidean norm of a player's side lengths."""
        sides = np.asarray(self.upper - self.lower)
        return self.diameter if sides.ndim == 0 else float(np.linalg.norm(sides, axis=-1).max())

    def project(self, points: FloatArray) -> FloatArray:
        """Return the rows, every coordinate clipped to its sides."""
        low, high = (_in_short(corner) for corner in (self.lower, self.upper))
        clipped = np.maximum(points, low)
        return np.minimum(clipped, high, out=clipped)

    def contains(self, points: FloatArray) -> BoolArray:
        """Return which rows lie in the box, up to rounding."""
        above = points >= self.lower - rounding_slack(self.lower)
        below = points <= self.upper + rounding_slack(self.upper)
        return rows_all(above & below & np.isfinite(points))

    def start(self, n_players: int, n_dims: int) -> FloatArray:
        """Return the middle of the box, and the value nearest 0 where a side is infinite."""
        bounded = np.isfinite(self.lower) & np.isfinite(self.upper)
        low, high = np.where(bounded, self.lower, 0.0), np.where(bounded, self.upper, 0.0)
        nearest = np.clip(0.0, self.lower, self.upper)
        start = np.where(bounded, low / 2 + high / 2, nearest)
        return np.array(np.broadcast_to(start, (n_players, n_dims)))

    def fit_to(self, n_players: int, n_dims: int) -> "Box":
        """Return the box with corners of shape (n_dims,) or (n_players, n_dims)."""
        named = (("lower", self.lower), ("upper", self.upper))
        return Box(*(_fitted_corner(corner, n_players, n_dims, name) for name, corner in named))

    def __repr__(self) -> str:
        return f"Box(lower={_describe_corner(self.lower)}, upper={_describe_corner(self.upper)})"


@public_module("skprivate.games")
class Simplex(ConstraintSet):
    """Points with no negative coordinate whose coordinates have a given sum: shares, probabilities, energy.

    Parameters
    ----------
    total : float or array-like of shape (n_players,), default=1.0
        The sum, > 0, of all players or of each.
    upper : float, or array-like of shape (n_dims,) or (n_players, n_dims), default=None
        Largest coordinates, > 0, such as the power of a charger. None: the total alone.

    Attributes
    ----------
    total : float or ndarray of shape (n_players, 1)
        The sum.
    upper : ndarray or None
        The largest coordinates, of shape (n_dims,) or (n_players, n_dims) in a game.
    n_dims : int or None
        Number of coordinates; None until the set is given to a game.
    diameter : float
        ``2 * total``; 0 with one coordinate. With totals a player that of the largest; with `upper` a bound.
    expansion : float
        ``2 - 2 / n_dims``; 2 while the number of coordinates is open.

    Raises
    ------
    TypeError, ValueError
        `total` is not finite and above 0, `upper` not above 0; in a game, other shapes, or a player whose
        largest coordinates do not reach its total.

    See Also
    --------
    Box : Every coordinate for itself.

    Notes
    -----
    The Euclidean projection can move two points apart in L1, by the factor ``2 - 2 / n`` (1.6 at n = 5) and
    no more. Proof: it is continuous and linear on finitely many pieces. Where the coordinates in S, k of
    them, stay above 0 and below their largest values, its derivative takes the mean over S from every
    coordinate of S and is 0 on the others; each of its columns has the absolute sum
    ``(1 - 1/k) + (k - 1) / k = 2 - 2/k`` or 0. The columns' largest absolute sum is the L1 norm, and a
    segment crosses finitely many pieces. All of S = {1..n} is reached around the middle of the simplex.

    Two points x and y with one total t and largest coordinates u: what x has above y is what y has above x,
    and is at most t, and at most ``sum(u - y) = sum(u) - t``.

    **Privacy**: a larger expansion makes broadcasts more sensitive to what is private, and so costs epsilon.
    Totals and largest coordinates are public.

    References
    ----------
    J. Duchi, S. Shalev-Shwartz, Y. Singer, T. Chandra, "Efficient Projections onto the l1-Ball for Learning
    in High Dimensions", ICML 2008 (the projection by sorting).

    Examples
    --------
    >>> from skprivate.games import Simplex
    >>> Simplex().project([[0.5, 1.0], [2.0, -1.0]])
    array([[0.25, 0.75],
           [1.  , 0.  ]])

    Two vehicles that need 4 and 10 kWh, from chargers of at most 4 kW:

    >>> Simplex([4, 10], upper=4).project([[9.0, 1.0, 1.0], [9.0, 1.0, 1.0]])
    array([[4., 0., 0.],
           [4., 3., 3.]])
    """

    # As in pickles of sets that had none.
    upper: FloatArray | None = None

    def __init__(self, total: float | ArrayLike = 1.0, *, upper: float | ArrayLike | None = None) -> None:
        if np.ndim(total) == 0:
            self.total: Any = float(check_positive(total, "total"))
        else:
            totals = as_numbers(total, "total").astype(np.float64)
            if totals.ndim != 1 or not (np.isfinite(totals) & (totals > 0)).all():
                raise ValueError("total must be finite and above 0, one number for each player.")
            self.total = totals[:, np.newaxis]
            self.total.flags.writeable = False
        self.upper = None if upper is None else _corner(upper, "upper")
        if self.upper is not None and not (self.upper > 0).all():
            raise ValueError("upper must be above 0.")
        self.n_dims: int | None = None

    @property
    def diameter(self) -> float:  # type: ignore[override]
        """Largest L1 distance of two points, or a bound on it."""
        return 0.0 if self.n_dims == 1 else float(2.0 * np.max(self._movable))

    @property
    def euclidean_diameter(self) -> float:
        """Largest Euclidean distance of two points, or a bound on it."""
        # A squared norm is at most the sum of absolute values times the largest of them.
        most = self.total
        if self.upper is not None:
            most = np.minimum(self.total, self.upper.max(axis=-1, keepdims=True))
        return 0.0 if self.n_dims == 1 else float(np.sqrt(np.max(2.0 * self._movable * most)))

    @property
    def _movable(self) -> Any:
        """The most that one point has above another."""
        if self.upper is None or self.n_dims is None:
            return self.total
        room = np.broadcast_to(self.upper, (*self.upper.shape[:-1], self.n_dims)).sum(axis=-1, keepdims=True)
        return np.maximum(np.minimum(self.total, room - self.total), 0.0)

    @property
    def expansion(self) -> float:  # type: ignore[override]
        """L1 Lipschitz constant of the projection."""
        return 2.0 if self.n_dims is None else 2.0 - 2.0 / self.n_dims

    def project(self, points: FloatArray) -> FloatArray:
        """Return the nearest point of the simplex for every row."""
        if self.upper is not None:
            return self._project_bounded(np.asarray(points, dtype=np.float64))
        if np.shape(points)[1] == 2:
            return self._project_pairs(np.asarray(points))
        # A shift of all coordinates does not change the projection, nor does the amount by which a coordinate
        # lies below the largest one less the total. So nothing large is ever summed.
        shifted = np.asarray(points) - np.max(points, axis=1, keepdims=True)
        np.maximum(shifted, -self.total, out=shifted)
        descending = np.sort(shifted, axis=1)[:, ::-1]
        counts = np.arange(1, shifted.shape[1] + 1)
        thresholds = (np.cumsum(descending, axis=1) - self.total) / counts
        n_positive = np.maximum((descending > thresholds).sum(axis=1), 1)
        shifted -= thresholds[np.arange(len(shifted)), n_positive - 1][:, None]
        return np.maximum(shifted, 0.0, out=shifted)

    def _project_pairs(self, points: FloatArray) -> FloatArray:
        # Sorting takes ten times as long: 16 ms for 1e5 players.
        projected = np.empty(points.shape)
        total = np.ravel(self.total)
        first = points[:, 0] / 2 - points[:, 1] / 2 + total / 2
        np.clip(first, 0.0, total, out=projected[:, 0])
        np.subtract(total, projected[:, 0], out=projected[:, 1])
        return projected

    def _project_bounded(self, points: FloatArray) -> FloatArray:
        """Return ``clip(points - t, 0, upper)`` with the t of every row at which it has its total.

        The sum falls with t, linearly between the values at which a coordinate reaches an end.
        """
        assert self.upper is not None
        shifted = points - points.max(axis=1, keepdims=True)
        rows, total = np.arange(len(points)), np.broadcast_to(np.ravel(self.total), len(points))
        upper = np.minimum(np.broadcast_to(self.upper, points.shape), total[:, None])
        bends = np.sort(np.concatenate([shifted, shifted - upper], axis=1), axis=1)
        low, high = np.zeros(len(points), dtype=np.intp), np.full(len(points), bends.shape[1] - 1)
        for _ in range(bends.shape[1].bit_length()):
            middle = (low + high) // 2
            above = np.clip(shifted - bends[rows, middle, None], 0.0, upper).sum(axis=1) >= total
            low, high = np.where(above, middle, low), np.where(above, high, middle)
        left, right = bends[rows, low, None], bends[rows, high, None]
        ends = [np.clip(shifted - end, 0.0, upper).sum(axis=1) for end in (left, right)]
        fall = ends[0] - ends[1]
        part = np.divide(ends[0] - total, fall, out=np.zeros(len(points)), where=fall > 0)
        found: FloatArray = np.clip(shifted - left - part[:, None] * (right - left), 0.0, upper)
        # What rounding of far points leaves of the total goes to coordinates with room for it.
        for _ in range(points.shape[1] + 1):
            short = total - found.sum(axis=1)
            room = np.where(short[:, None] > 0, found < upper, found > 0)
            found = np.clip(found + room * (short / np.maximum(room.sum(axis=1), 1))[:, None], 0.0, upper)
        return found

    def contains(self, points: FloatArray) -> BoolArray:
        """Return which rows lie in the simplex, up to rounding."""
        total, values = np.ravel(self.total), np.asarray(points)
        near = np.abs(values.sum(axis=1) - total) <= _ROUNDING * total
        above = values >= -_ROUNDING * np.asarray(self.total)
        below = True if self.upper is None else values <= self.upper + rounding_slack(self.upper)
        return near & rows_all(above & below)

    def start(self, n_players: int, n_dims: int) -> FloatArray:
        """Return equal shares, or the nearest to them."""
        equal = np.broadcast_to(np.asarray(self.total) / n_dims, (n_players, n_dims)).copy()
        return equal if self.upper is None else self.project(equal)

    def fit_to(self, n_players: int, n_dims: int) -> "Simplex":
        """Return the simplex of so many coordinates."""
        if self.n_dims not in (None, n_dims):
            raise ValueError(f"the simplex has {self.n_dims} coordinates, the game has {n_dims}.")
        if np.ndim(self.total) and len(self.total) != n_players:
            raise ValueError(f"total has {len(self.total)} entries, the game has {n_players} players.")
        upper = None if self.upper is None else _fitted_corner(self.upper, n_players, n_dims, "upper")
        fitted = Simplex(self.total if np.ndim(self.total) == 0 else self.total[:, 0], upper=upper)
        fitted.n_dims = n_dims
        if upper is not None:
            room = upper.sum(axis=-1, keepdims=True) * (1 + _ROUNDING)
            short = np.broadcast_to(room < self.total, (n_players, 1))
            if short.any():
                raise ValueError(
                    f"total of player {int(np.argmax(short))} is above the sum of its largest coordinates: "
                    "lower the total, or raise upper."
                )
        return fitted

    def __repr__(self) -> str:
        total = repr(self.total) if np.ndim(self.total) == 0 else _describe_corner(self.total[:, 0])
        upper = "" if self.upper is None else f", upper={_describe_corner(self.upper)}"
        return f"Simplex(total={total}{upper})"


def inside_of_means(constraint: ConstraintSet, point: FloatArray) -> FloatArray:
    """Return the nearest mean of points of the players' sets; of a set that nobody knows, the point."""
    sets: ConstraintSet = constraint
    if isinstance(constraint, Box):
        sets = Box(*(np.atleast_2d(side).mean(axis=0) for side in (constraint.lower, constraint.upper)))
    elif isinstance(constraint, Simplex):
        upper = None if constraint.upper is None else np.atleast_2d(constraint.upper).mean(axis=0)
        sets = Simplex(float(np.mean(constraint.total)), upper=upper).fit_to(1, len(point))
    else:
        return point
    return sets.project(point[np.newaxis])[0]


def check_constraint(bounds: Bounds, n_players: int, n_dims: int) -> ConstraintSet:
    """Return the constraint set that a game was given, with the game's shape.

    Parameters
    ----------
    bounds : None, pair, "simplex" or ConstraintSet
        None is the whole space, a pair the corners of a `Box`, "simplex" is ``Simplex()``. For one dimension
        a corner may have shape (n_players,).
    n_players, n_dims : int

    Raises
    ------
    TypeError
        Something else.
    ValueError
        A set that does not fit the game's shape, or corners that make no box.
    """
    if bounds is None:
        return Unconstrained()
    if isinstance(bounds, str) and bounds == "simplex":
        bounds = Simplex()
    if isinstance(bounds, ConstraintSet):
        fitted = bounds.fit_to(n_players, n_dims)
        check_declared_sizes(fitted, n_players, n_dims)
        return fitted
    if not isinstance(bounds, tuple | list) or len(bounds) != 2:
        raise TypeError('bounds must be None, a pair (lower, upper), "simplex" or a ConstraintSet.')
    lower, upper = (_column(side, n_players, n_dims) for side in bounds)
    return Box(lower, upper).fit_to(n_players, n_dims)


def check_declared_sizes(constraint: ConstraintSet, n_players: int, n_dims: int) -> None:
    """Refuse a user's set that projects random points further apart than its diameter or expansion allow."""
    if type(constraint) in (Box, Simplex, Unconstrained):
        return
    generator, start = np.random.default_rng(0), constraint.start(n_players, n_dims)
    unit = constraint.diameter if 0 < constraint.diameter < math.inf else 1.0
    for scale in np.repeat(_PAIR_SCALES, _PAIRS_PER_SCALE) * unit:
        far, move = start + scale * generator.standard_normal((2, *start.shape))
        # On opposite sides of the set; and at its boundary, where a projection turns moves most.
        edge = np.asarray(constraint.project(far.copy()))
        for pair in ((far, 2 * start - far), (edge, edge + 0.01 * unit / scale * (move - start))):
            ends = [np.asarray(constraint.project(points.copy())) for points in pair]
            apart, before = _l1_rows(ends[0] - ends[1]), _l1_rows(pair[0] - pair[1])
            slack = _PAIR_ROUNDING * (before + _l1_rows(ends[0]) + _l1_rows(ends[1]))
            straight = np.linalg.norm(ends[0] - ends[1], axis=1)
            limits = (
                ("diameter", apart, constraint.diameter),
                ("expansion", apart, constraint.expansion * before),
                ("euclidean_diameter", straight, constraint.euclidean_diameter),
            )
            for name, distance, most in limits:
                if (distance > most + slack).any():
                    raise ValueError(
                        f"{name} is too small: {type(constraint).__name__} projects two points to points "
                        "that are further apart (the first two in L1, the sum of absolute differences)."
                    )


def _l1_rows(values: FloatArray) -> FloatArray:
    return np.asarray(np.abs(values).sum(axis=1))


def _column(side: Any, n_players: int, n_dims: int) -> Any:
    """Turn one number per player into a column, if there is one dimension."""
    return np.reshape(side, (n_players, 1)) if n_dims == 1 and np.shape(side) == (n_players,) else side


def as_numbers(values: ArrayLike, name: str) -> NDArray[Any]:
    """Return an array of integers or floats."""
    array = np.asarray(values)
    if array.dtype.kind not in "iuf":
        raise TypeError(f"{name} must hold numbers.")
    return array


def _corner(values: ArrayLike, name: str) -> FloatArray:
    corner = as_numbers(values, name)
    if corner.ndim > 2:
        raise ValueError(f"{name} must be a number or have shape (n_dims,) or (n_players, n_dims).")
    corner = corner.astype(np.float64)
    if np.isnan(corner).any():
        raise ValueError(f"{name} must not hold NaN.")
    corner.flags.writeable = False
    return corner


def _fitted_corner(corner: FloatArray, n_players: int, n_dims: int, name: str) -> FloatArray:
    if corner.ndim == 0:
        return np.full(n_dims, corner)
    if corner.shape not in ((n_dims,), (n_players, n_dims)):
        raise ValueError(
            f"{name} must be a number or have shape ({n_dims},) or ({n_players}, {n_dims}), "
            f"not {corner.shape}."
        )
    return corner


def rows_all(entries: BoolArray) -> BoolArray:
    """Return which rows are True in every entry."""
    return np.asarray(entries.all(axis=1))


def rounding_slack(values: FloatArray) -> FloatArray:
    """Return what counts as rounding at these values; 0 at infinite ones."""
    return np.where(np.isfinite(values), _ROUNDING * np.maximum(1.0, np.abs(values)), 0.0)


def _in_short(corner: FloatArray) -> FloatArray:
    """Return one number for a point with equal coordinates: lines as short as a row would be slow."""
    equal = corner.ndim == 1 and (corner == corner[0]).all()
    return corner[0] if equal else corner


def _describe_corner(corner: FloatArray) -> str:
    return f"<array of shape {corner.shape}>" if corner.size > _MOST_LISTED else str(corner.tolist())


# The constraint set of a projection that a user wrote, and the choice of a game's constraint set.


class ProjectionSet(ConstraintSet):
    """The set behind a Euclidean projection that a user wrote.

    ``expansion`` is sqrt(n_dims): a Euclidean projection is nonexpansive in L2, and
    ``|z|_2 <= |z|_1 <= sqrt(n) |z|_2``.
    """

    def __init__(self, function: Projection, n_dims: int, diameter: float | None = None) -> None:
        self.function = function
        self.diameter = math.inf if diameter is None else float(diameter)
        self.expansion = math.sqrt(n_dims)

    @classmethod
    def checked(cls, function: Any, diameter: Any, n_players: int, n_dims: int) -> Self:
        """Return the set if the function is one, and looks like a projection where it is tried."""
        if not callable(function):
            raise TypeError(f"projection must be callable, not {type(function).__name__}.")
        if diameter is not None and (np.ndim(diameter) != 0 or not diameter >= 0):
            raise ValueError("diameter must be a number of at least 0 (the L1 diameter of one player's set).")
        made = cls(function, n_dims, diameter)
        start = np.asarray(function(np.zeros((n_players, n_dims))))
        if start.shape != (n_players, n_dims) or start.dtype.kind not in "iuf":
            raise ValueError(
                "projection must take and return real arrays of shape (n_players, n_dims) = "
                f"{(n_players, n_dims)}; it returned {start.dtype} of shape {start.shape}."
            )
        if not np.isfinite(start).all():
            raise ValueError("projection must return finite numbers: it does not at 0.")
        if not made.contains(start.astype(np.float64)).all():
            raise ValueError("projection must leave its own results where they are: it moves that of 0.")
        check_declared_sizes(made, n_players, n_dims)
        return made

    def project(self, points: FloatArray) -> FloatArray:
        """Return what the user's function makes of the rows."""
        return np.asarray(self.function(points), dtype=np.float64)

    def contains(self, points: FloatArray) -> BoolArray:
        """Return which rows the projection leaves where they are, up to rounding."""
        moved = np.abs(self.project(np.array(points, dtype=np.float64)) - points)
        return rows_all(moved <= rounding_slack(np.asarray(points)))

    def start(self, n_players: int, n_dims: int) -> FloatArray:
        """Return the projection of 0."""
        return np.array(self.project(np.zeros((n_players, n_dims))))

    def __repr__(self) -> str:
        return f"ProjectionSet({getattr(self.function, '__name__', type(self.function).__name__)})"


def make_constraint(
    bounds: Any, projection: Any, diameter: Any, n_players: int, n_dims: int
) -> ConstraintSet:
    """Return the constraint set of a game that was given bounds, or a projection with its diameter."""
    if projection is None:
        if diameter is not None:
            raise ValueError("diameter goes with a projection; a set given as bounds knows its own.")
        return check_constraint(bounds, n_players, n_dims)
    if bounds is not None:
        raise ValueError("give bounds or a projection, not both.")
    return ProjectionSet.checked(projection, diameter, n_players, n_dims)
