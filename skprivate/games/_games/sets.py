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

    Notes
    -----
    A set that does not say how many dimensions it has (``Box(0, 1)``, ``Simplex()``) takes it from the game
    it is given to: ``game.constraint`` is the set with its dimensions.

    **Privacy**: a set is public. Guarantees rest on its `diameter` and `expansion`: one that is too small
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
    """Points with no negative coordinate whose coordinates have a given sum: shares, or probabilities.

    Parameters
    ----------
    total : float, default=1.0
        The sum, > 0.

    Attributes
    ----------
    total : float
        The sum.
    n_dims : int or None
        Number of coordinates; None until the set is given to a game.
    diameter : float
        ``2 * total``; 0 with one coordinate.
    expansion : float
        ``2 - 2 / n_dims``; 2 while the number of coordinates is open.

    Raises
    ------
    TypeError, ValueError
        `total` is not a finite number above 0.

    See Also
    --------
    Box : Every coordinate for itself.

    Notes
    -----
    The Euclidean projection can move two points apart in L1, by the factor ``2 - 2 / n`` (1.6 at n = 5) and
    no more. Proof: it is continuous and linear on finitely many pieces. Where the coordinates in S, k of
    them, stay above 0, its derivative takes the mean over S from every coordinate of S and is 0 on the
    others; each of its columns has the absolute sum ``(1 - 1/k) + (k - 1) / k = 2 - 2/k`` or 0. The columns'
    largest absolute sum is the L1 norm, and a segment crosses finitely many pieces. All of S = {1..n} is
    reached around the middle of the simplex.

    **Privacy**: a larger expansion makes broadcasts more sensitive to what is private, and so costs epsilon.

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
    """

    def __init__(self, total: float = 1.0) -> None:
        self.total = float(check_positive(total, "total"))
        self.n_dims: int | None = None

    @property
    def diameter(self) -> float:  # type: ignore[override]
        """Largest L1 distance of two points."""
        return 0.0 if self.n_dims == 1 else 2.0 * self.total

    @property
    def expansion(self) -> float:  # type: ignore[override]
        """L1 Lipschitz constant of the projection."""
        return 2.0 if self.n_dims is None else 2.0 - 2.0 / self.n_dims

    def project(self, points: FloatArray) -> FloatArray:
        """Return the nearest point of the simplex for every row."""
        if np.shape(points)[1] == 2:
            return self._project_pairs(np.asarray(points))
        # The projection does not feel a shift of all coordinates, nor how far below the largest one less
        # the total a coordinate lies: so nothing large is ever summed.
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
        first = points[:, 0] / 2 - points[:, 1] / 2 + self.total / 2
        np.clip(first, 0.0, self.total, out=projected[:, 0])
        np.subtract(self.total, projected[:, 0], out=projected[:, 1])
        return projected

    def contains(self, points: FloatArray) -> BoolArray:
        """Return which rows lie in the simplex, up to rounding."""
        slack = _ROUNDING * self.total
        values = np.asarray(points)
        near = np.abs(values.sum(axis=1) - self.total) <= slack
        return near & rows_all(values >= -slack)

    def start(self, n_players: int, n_dims: int) -> FloatArray:
        """Return equal shares."""
        return np.full((n_players, n_dims), self.total / n_dims)

    def fit_to(self, n_players: int, n_dims: int) -> "Simplex":
        """Return the simplex of so many coordinates."""
        if self.n_dims not in (None, n_dims):
            raise ValueError(f"the simplex has {self.n_dims} coordinates, the game has {n_dims}.")
        fitted = Simplex(self.total)
        fitted.n_dims = n_dims
        return fitted

    def __repr__(self) -> str:
        return f"Simplex(total={self.total!r})"


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
            limits = (("diameter", constraint.diameter), ("expansion", constraint.expansion * before))
            for name, most in limits:
                if (apart > most + slack).any():
                    raise ValueError(
                        f"{name} is too small: {type(constraint).__name__} projects two points to points "
                        "that are further apart in L1, the sum of absolute differences."
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
