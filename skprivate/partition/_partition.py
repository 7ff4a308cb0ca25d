# SPDX-License-Identifier: BSD-3-Clause
"""Partition of a public box into the cells of a binary tree, and the columns that its splits compare."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._typing import BoolArray, FloatArray, IndexArray, IntArray
from ..domain._table_domain import ColumnGroup
from ..utils._json_documents import Fields
from ..utils._public_module import public_module
from ._derived_kernels import derive_rows
from ._leaf_kernels import apply_rows

# Columns that a tree compares, derived from encoded rows: numbers, filled numbers, and places of levels.

_Integers = NDArray[np.int32]

# Largest number of encoded columns: an index is an int32, and no table has as many.
_MOST = 2**24


@dataclass(frozen=True)
class ValueColumn:
    """An encoded column without a change.

    Attributes
    ----------
    source : int
        Number of the declared column.
    column : int
        The encoded column.
    """

    source: int
    column: int
    kind: ClassVar[str] = "value"

    @property
    def _reads(self) -> list[int]:
        return [self.column]

    def _packed(self) -> tuple[int, int, int, int, list[float]]:
        return 0, self.column, 0, -1, []


@dataclass(frozen=True)
class FilledColumn:
    """An encoded column of numbers, clipped to bounds, in which missing cells have their own place.

    Attributes
    ----------
    source : int
        Number of the declared column.
    column, indicator : int
        The encoded column, and the one that is 1 if the cell is missing.
    place : float
        Place of a missing cell: below `lower`, above `upper`, or between them.
    lower, upper : float
        Bounds of the values, so that no value has the place of a missing cell outside them.
    """

    source: int
    column: int
    indicator: int
    place: float
    lower: float
    upper: float
    kind: ClassVar[str] = "filled"

    @property
    def _reads(self) -> list[int]:
        return [self.column, self.indicator]

    def _packed(self) -> tuple[int, int, int, int, list[float]]:
        return 1, self.column, 0, self.indicator, [self.place, self.lower, self.upper]


@dataclass(frozen=True)
class LevelsColumn:
    """The place of the level of a row.

    Attributes
    ----------
    source : int
        Number of the declared column.
    start : int
        The first of the encoded columns, one for each level; that of a row's level is 1.
    places : tuple of float
        Place of every level, and with an indicator at the end that of a missing cell.
    absent : float
        Place of a row without a level.
    indicator : int or None
        The encoded column that is 1 if the cell is missing.
    """

    source: int
    start: int
    places: tuple[float, ...]
    absent: float
    indicator: int | None = None
    kind: ClassVar[str] = "levels"

    @property
    def n_levels(self) -> int:
        """Number of levels, without the missing one."""
        return len(self.places) - (self.indicator is not None)

    @property
    def _reads(self) -> list[int]:
        last = self.start + self.n_levels - 1
        return [last] if self.indicator is None else [last, self.indicator]

    def _packed(self) -> tuple[int, int, int, int, list[float]]:
        # Without an indicator no cell is known to be missing, and the place of a missing one is not used.
        unused = [self.absent] * (self.indicator is None)
        indicator = -1 if self.indicator is None else self.indicator
        return 2, self.start, self.n_levels, indicator, [*self.places, *unused, self.absent]


DerivedColumn = ValueColumn | FilledColumn | LevelsColumn


def _index(fields: Fields, name: str) -> int:
    return fields.integer(name, 0, _MOST)


# Readers of the values of each kind, in the order in which these are written.
_KINDS: dict[str, tuple[type[DerivedColumn], dict[str, Callable[[Fields, str], Any]]]] = {
    "value": (ValueColumn, {"column": _index}),
    "filled": (
        FilledColumn,
        {"column": _index, "indicator": _index, **dict.fromkeys(("place", "lower", "upper"), Fields.number)},
    ),
    "levels": (
        LevelsColumn,
        {
            "start": _index,
            "places": lambda fields, name: tuple(fields.numbers(name)),
            "absent": Fields.number,
            "indicator": lambda fields, name: fields.maybe(fields.integer, name, 0, _MOST),
        },
    ),
}


@public_module("skprivate.partition")
@dataclass(frozen=True)
class DerivedColumns:
    """The columns that a tree compares, each derived row by row from encoded columns.

    Parameters
    ----------
    n_features : int
        Number of encoded columns.
    columns : tuple of ValueColumn, FilledColumn or LevelsColumn
        In the order of the declared columns, each of which has one or more derived columns.

    Raises
    ------
    ValueError
        There is no column, one of them reads a missing column, or they are not in order.

    Notes
    -----
    **Privacy.** The derived values of a row are a function of these public facts and of that row alone.

    Examples
    --------
    >>> from skprivate.partition import DerivedColumns
    >>> from skprivate.partition._partition import FilledColumn, LevelsColumn
    >>> age = FilledColumn(0, column=0, indicator=1, place=-120.0, lower=0.0, upper=120.0)
    >>> job = LevelsColumn(1, start=2, places=(0.3, 0.8), absent=0.5)
    >>> derived = DerivedColumns(4, (age, job))
    >>> derived.apply([[39.0, 0.0, 0.0, 1.0], [60.0, 1.0, 1.0, 0.0]])
    array([[  39. ,    0.8],
           [-120. ,    0.3]])
    """

    n_features: int
    columns: tuple[DerivedColumn, ...]

    def __post_init__(self) -> None:
        sources = [column.source for column in self.columns]
        if not sources or sources[0] != 0 or not set(np.diff(sources)) <= {0, 1}:
            raise ValueError("derived columns: they are not in the order of the declared columns")
        if not all(0 <= read < self.n_features for column in self.columns for read in column._reads):
            raise ValueError("derived columns: one of them reads a column that does not exist")

    @property
    def n_columns(self) -> int:
        """Number of derived columns."""
        return len(self.columns)

    @property
    def n_sources(self) -> int:
        """Number of declared columns."""
        return self.columns[-1].source + 1

    @cached_property
    def source(self) -> NDArray[np.intp]:
        """Number of the declared column of every derived column, shape (n_columns,)."""
        return np.array([column.source for column in self.columns], dtype=np.intp)

    @cached_property
    def _arrays(self) -> tuple[_Integers, _Integers, _Integers, _Integers, _Integers, FloatArray]:
        """The arrays for the kernel, from `kind` to `numbers`."""
        packed = [column._packed() for column in self.columns]
        kind, first, n_levels, indicator = np.array(
            [column[:4] for column in packed], dtype=np.int32
        ).T.copy()
        offset = np.cumsum([0, *(len(column[4]) for column in packed[:-1])]).astype(np.int32)
        numbers = np.array([number for column in packed for number in column[4]], dtype=np.float64)
        return kind, first, n_levels, indicator, offset, numbers

    def check_groups(self, groups: Sequence[ColumnGroup]) -> None:
        """Raise ValueError if a column is not derived from those of its group in `TableDomain.groups`."""
        known = self.n_sources == len(groups) and self.n_features == groups[-1].end
        if not known or not all(_fits(column, groups[column.source]) for column in self.columns):
            raise ValueError("derived columns: they are not those of the declared columns")

    def apply(self, X: ArrayLike) -> FloatArray:
        """Return the derived columns of encoded rows.

        Parameters
        ----------
        X : array-like of float, shape (n, n_features)
            C-contiguous float64 is not copied.

        Returns
        -------
        Z : ndarray of float64, shape (n, n_columns), in C order
        """
        rows = as_rows(X, self.n_features)
        derived = np.empty((len(rows), self.n_columns))
        derive_rows(rows, *self._arrays, derived)
        return derived

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists and numbers that JSON holds exactly; `from_dict` restores them."""
        columns = []
        for column in self.columns:
            plain = {name: list(value) if name == "places" else value for name, value in vars(column).items()}
            columns.append({"kind": column.kind, **plain})
        return {"n_features": self.n_features, "columns": columns}

    @classmethod
    def from_dict(cls, state: Any) -> Self:
        """Restore the columns from `to_dict`; ValueError for anything else."""
        fields = Fields(state, ("n_features", "columns"), what="derived columns")
        columns = tuple(_column_from_dict(column) for column in fields.items("columns"))
        return cls(fields.integer("n_features", 1, _MOST), columns)


def _fits(column: DerivedColumn, group: ColumnGroup) -> bool:
    if isinstance(column, LevelsColumn):
        found = column.start, column.n_levels, column.indicator
        return found == (group.start, group.n_levels, group.indicator)
    if isinstance(column, FilledColumn):
        return (column.column, column.indicator, 0) == (group.start, group.indicator, group.n_levels)
    return group.n_levels == 0 and column.column in (group.start, group.indicator)


def _column_from_dict(state: Any) -> DerivedColumn:
    kind = state.get("kind") if type(state) is dict else None
    if type(kind) is not str or kind not in _KINDS:
        raise ValueError("derived columns: one is of an unknown kind")
    column, values = _KINDS[kind]
    fields = Fields(state, ("kind", "source", *values), what="a derived column")
    made = column(_index(fields, "source"), **{name: read(fields, name) for name, read in values.items()})
    if isinstance(made, FilledColumn) and made.lower > made.upper:
        raise ValueError("a derived column: lower must be at most upper")
    if isinstance(made, LevelsColumn) and made.n_levels < 1:
        raise ValueError("a derived column: it has no levels")
    return made


# Partition of a public box into the cells of a binary tree: splits, truncation, assignment of rows, JSON.

# Largest depth: the nodes of a complete tree have int32 numbers, and every midpoint fraction is exact.
DEPTH_LIMIT = 30
# Version of the dictionary of `to_dict`.
_VERSION = 2


@public_module("skprivate.partition")
@dataclass(frozen=True, eq=False, repr=False)
class Partition:
    """A binary tree that divides a public box into cells, its leaves.

    Nodes are numbered level by level. The partition truncated at a smaller depth is therefore a prefix of
    this one, and the children of a node are adjacent. Instances come from `build_partition`, `from_splits` or
    `from_dict`. Their arrays are read-only.

    Attributes
    ----------
    feature : ndarray of int32, shape (n_nodes,)
        Column that an inner node compares; 0 at leaves. Columns are the features or the derived columns.
    threshold : ndarray of float64, shape (n_nodes,)
        A row goes left if its value is below the threshold, and otherwise right; +inf at leaves.
    left : ndarray of int32, shape (n_nodes,)
        Left child; the right child is `left + 1`. A leaf points to itself.
    depth : ndarray of int8, shape (n_nodes,)
        Number of edges from the root.
    leaf_index : ndarray of int32, shape (n_nodes,)
        Leaf number, 0 to `n_leaves - 1` in node order; -1 at inner nodes.
    n_leaves : int
        Number of leaves.
    max_depth : int
        Depth of the deepest leaf.
    n_features : int
        Number of features.
    lower, upper : ndarray of float64, shape (n_columns,)
        The public box, in the units of the columns.
    derived : DerivedColumns or None
        The columns that splits compare, derived from the features; None if they are the features.

    Notes
    -----
    Every threshold is in (lower, upper] of its feature. A value outside the box therefore takes the same path
    as the clipped value, and rows need no clipping.

    **Privacy**: a partition of `build_partition` is a function of public data alone and costs nothing. If
    private rows or reports choose the splits, it is a function of what they released.

    Examples
    --------
    >>> from skprivate.partition import build_partition
    >>> X = [[0.1, 0.2], [0.7, 0.3], [0.8, 0.9]]
    >>> partition = build_partition(X, [0, 1, 1], lower=[0, 0], upper=[1, 1], max_depth=1)
    >>> partition.n_leaves, partition.apply(X).tolist()
    (2, [0, 1, 1])
    """

    feature: NDArray[np.int32]
    threshold: FloatArray
    left: NDArray[np.int32]
    depth: NDArray[np.int8]
    leaf_index: NDArray[np.int32]
    n_leaves: int
    max_depth: int
    n_features: int
    lower: FloatArray
    upper: FloatArray
    derived: DerivedColumns | None = None

    @classmethod
    def from_splits(
        cls,
        feature: ArrayLike,
        threshold: ArrayLike,
        lower: ArrayLike,
        upper: ArrayLike,
        derived: DerivedColumns | None = None,
    ) -> Partition:
        """Assemble a partition from its splits.

        Parameters
        ----------
        feature : array-like of int, shape (n_nodes,)
            Column of every node, level by level; -1 at leaves. The children of the k-th inner node (from 0)
            are the nodes 2k + 1 and 2k + 2.
        threshold : array-like of float, shape (n_inner_nodes,)
            Thresholds of the inner nodes, in node order, in (lower, upper] of their columns.
        lower, upper : array-like of float, shape (n_columns,)
            The public box; finite.
        derived : DerivedColumns, default=None
            The columns that splits compare; None: the features.

        Returns
        -------
        Partition
            The partition.

        Raises
        ------
        ValueError
            If the splits do not form such a tree, or it is deeper than 30.
        """
        low, high = check_box(lower, upper)
        if derived is not None and derived.n_columns != len(low):
            raise ValueError(f"lower and upper must hold {derived.n_columns} numbers, one a derived column")
        split, cut = np.asarray(feature), np.asarray(threshold, dtype=np.float64)
        inner = np.flatnonzero(split >= 0)
        _check_splits(split, cut, inner, low, high)
        is_leaf = split < 0
        left = np.arange(len(split), dtype=np.int32)
        left[inner] = 2 * np.arange(len(inner)) + 1
        thresholds = np.full(len(split), np.inf)
        thresholds[inner] = cut
        depth = _depths(inner, len(split))
        arrays = (
            np.where(is_leaf, 0, split).astype(np.int32),
            thresholds,
            left,
            depth,
            np.where(is_leaf, np.cumsum(is_leaf) - 1, -1).astype(np.int32),
        )
        for array in (*arrays, low, high):
            array.setflags(write=False)
        n_features = len(low) if derived is None else derived.n_features
        return cls(*arrays, len(split) - len(inner), int(depth[-1]), n_features, low, high, derived)

    @property
    def n_columns(self) -> int:
        """Number of columns that splits compare: features, or derived columns."""
        return len(self.lower)

    @property
    def source(self) -> IndexArray:
        """Declared column, or feature, of every column that splits compare, shape (n_columns,)."""
        return np.arange(self.n_columns) if self.derived is None else self.derived.source

    @property
    def n_sources(self) -> int:
        """Number of features, or of the declared columns of the derived ones."""
        return self.n_columns if self.derived is None else self.derived.n_sources

    def truncate(self, depth: int) -> Partition:
        """Return the partition truncated at `depth`, 0 or more: nodes at `depth` become leaves."""
        if depth < 0:
            raise ValueError(f"depth must be at least 0, got {depth}")
        if depth >= self.max_depth:
            return self
        kept = int(np.searchsorted(self.depth, depth, side="right"))
        feature = np.where(self.depth[:kept] < depth, self._splits()[:kept], -1)
        threshold = self.threshold[:kept][feature >= 0]
        return Partition.from_splits(feature, threshold, self.lower, self.upper, self.derived)

    def leaf_counts_by_depth(self) -> IntArray:
        """Return the number of leaves of every truncation, shape (max_depth + 1,)."""
        at_depth = np.bincount(self.depth, minlength=self.max_depth + 1)
        leaves = np.bincount(self.depth[self.leaf_index >= 0], minlength=self.max_depth + 1)
        return (at_depth + np.cumsum(leaves) - leaves).astype(np.int64)

    def feature_counts_by_depth(self) -> IntArray:
        """Return the number of different features that every truncation splits, shape (max_depth + 1,).

        With derived columns, the number of their declared columns.
        """
        inner = self.leaf_index < 0
        first = np.full(self.n_sources, self.max_depth, dtype=np.int64)
        np.minimum.at(first, self.source[self.feature[inner]], self.depth[inner])
        return np.searchsorted(np.sort(first), np.arange(self.max_depth + 1))

    def apply(self, X: ArrayLike) -> NDArray[np.int32]:
        """Return the leaf number of every row.

        Parameters
        ----------
        X : array-like of float, shape (n, n_features)
            Rows in the units of the box. Values outside it, or not finite, are allowed (NaN goes left).
            C-contiguous float64 is not copied.

        Returns
        -------
        ndarray of int32, shape (n,)
            Leaf numbers, 0 to `n_leaves - 1`.
        """
        return self.apply_derived(self.derive(X))

    def derive(self, X: ArrayLike) -> FloatArray:
        """Return the columns that splits compare: the features of every row, or the derived columns.

        Parameters
        ----------
        X : array-like of float, shape (n, n_features)
            C-contiguous float64 is not copied if the columns are the features.

        Returns
        -------
        Z : ndarray of float64, shape (n, n_columns), in C order
        """
        return as_rows(X, self.n_features) if self.derived is None else self.derived.apply(X)

    def apply_derived(self, Z: ArrayLike) -> NDArray[np.int32]:
        """Return the leaf number of every row of `derive`.

        Parameters
        ----------
        Z : array-like of float, shape (n, n_columns)

        Returns
        -------
        ndarray of int32, shape (n,)
        """
        rows = as_rows(Z, self.n_columns)
        out = np.empty(len(rows), dtype=np.int32)
        apply_rows(rows, self.feature, self.threshold, self.left, self.leaf_index, self.max_depth, out)
        return out

    def levels_left(self, node: int) -> BoolArray:
        """Return which levels an inner node sends left.

        Parameters
        ----------
        node : int
            A node that compares a column of levels.

        Returns
        -------
        left : ndarray of bool, shape (n_levels,) or (n_levels + 1,)
            The last one is for a missing cell, if that is a separate level.

        Raises
        ------
        ValueError
            The node is a leaf, or compares numbers.
        """
        column = None if self.derived is None else self.derived.columns[self.feature[node]]
        if self.leaf_index[node] >= 0 or not isinstance(column, LevelsColumn):
            raise ValueError("the node does not compare levels")
        return np.array(column.places) < self.threshold[node]

    def cells(self) -> tuple[FloatArray, FloatArray]:
        """Return the lower and upper corners of the leaves' boxes, each of shape (n_leaves, n_columns)."""
        low = np.tile(self.lower, (len(self.left), 1))
        high = np.tile(self.upper, (len(self.left), 1))
        for depth in range(self.max_depth):
            node = np.flatnonzero((self.depth == depth) & (self.leaf_index < 0))
            feature, left = self.feature[node], self.left[node]
            for child in (left, left + 1):
                low[child], high[child] = low[node], high[node]
            # In a very small box, rounding may move a midpoint out of its cell.
            cut = np.clip(self.threshold[node], low[node, feature], high[node, feature])
            high[left, feature] = cut
            low[left + 1, feature] = cut
        is_leaf = self.leaf_index >= 0
        return low[is_leaf], high[is_leaf]

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists and numbers that JSON holds exactly; `from_dict` restores them."""
        arrays = {name: array.tolist() for name, array in self._arrays().items()}
        return {"version": _VERSION, **arrays, "derived": self._plain_columns()}

    @classmethod
    def from_dict(cls, state: Mapping[str, Any]) -> Partition:
        """Restore a partition from `to_dict`; ValueError for any other value."""
        names = ("feature", "threshold", "lower", "upper")
        if not isinstance(state, Mapping) or set(state) != {"version", *names, "derived"}:
            raise ValueError(f"a partition has the keys 'version', {names} and 'derived'")
        if type(state["version"]) is not int or state["version"] != _VERSION:
            raise ValueError(f"the version of a partition must be {_VERSION}")
        feature = _check_list("feature", state["feature"], (int,), np.iinfo(np.int32).max)
        largest = sys.float_info.max
        threshold, lower, upper = (
            _check_list(name, state[name], (int, float), largest) for name in names[1:]
        )
        return cls.from_splits(feature, threshold, lower, upper, _columns_of(state["derived"]))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Partition):
            return NotImplemented
        # Everything else follows from these.
        mine, theirs = self._arrays(), other._arrays()
        same = all(np.array_equal(mine[name], theirs[name]) for name in mine)
        return same and self.derived == other.derived

    def __repr__(self) -> str:
        return (
            f"Partition(n_leaves={self.n_leaves}, max_depth={self.max_depth}, n_features={self.n_features})"
        )

    def __getstate__(self) -> dict[str, Any]:
        # Plain values, so that no reader of pickles has another class to trust.
        return self._arrays() | {"derived": self._plain_columns()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        columns = _columns_of(state["derived"])
        self.__dict__.update(Partition.from_splits(**{**state, "derived": columns}).__dict__)

    def _plain_columns(self) -> dict[str, Any] | None:
        return None if self.derived is None else self.derived.to_dict()

    def _arrays(self) -> dict[str, NDArray[Any]]:
        cut = self.threshold[self.leaf_index < 0]
        return {"feature": self._splits(), "threshold": cut, "lower": self.lower, "upper": self.upper}

    def _splits(self) -> NDArray[np.int32]:
        return np.where(self.leaf_index < 0, self.feature, np.int32(-1))


def _columns_of(plain: Any) -> DerivedColumns | None:
    return None if plain is None else DerivedColumns.from_dict(plain)


def as_rows(X: ArrayLike, width: int) -> FloatArray:
    """Return rows with this number of columns as an array; ValueError for others."""
    rows = np.ascontiguousarray(X, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[1] != width:
        raise ValueError(f"X must have shape (n, {width}), got {np.shape(X)}")
    return rows


def _depths(inner: IndexArray, n_nodes: int) -> NDArray[np.int8]:
    """Depth of every node; nodes are numbered level by level."""
    depth = np.empty(n_nodes, dtype=np.int8)
    start, stop = 0, 1
    for level in range(DEPTH_LIMIT + 1):
        depth[start:stop] = level
        start, stop = stop, 2 * int(np.searchsorted(inner, stop)) + 1
        if start == stop:
            return depth
    raise ValueError(f"a partition has a depth of at most {DEPTH_LIMIT}")


def check_box(lower: ArrayLike, upper: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return the corners of a box as arrays; ValueError for an invalid box."""
    low, high = np.array(lower, dtype=np.float64), np.array(upper, dtype=np.float64)
    if low.ndim != 1 or low.shape != high.shape or low.size == 0:
        raise ValueError(f"lower and upper must be two lists of one length, got {low.shape} and {high.shape}")
    if not (np.isfinite(low).all() and np.isfinite(high).all() and (low <= high).all()):
        raise ValueError("lower and upper must be finite, and lower at most upper")
    return low, high


def _check_splits(
    split: NDArray[Any],
    cut: FloatArray,
    inner: IndexArray,
    low: FloatArray,
    high: FloatArray,
) -> None:
    if split.dtype.kind not in "iu":
        raise ValueError("feature must hold integers")
    if split.ndim != 1 or len(split) != 2 * len(inner) + 1 or cut.shape != inner.shape:
        raise ValueError("a partition has one more leaf than inner nodes, and a threshold for each of these")
    if split.min() < -1 or split.max() >= len(low):
        raise ValueError(f"feature must lie between -1 and {len(low) - 1}")
    if (inner > 2 * np.arange(len(inner))).any():
        raise ValueError("a node comes before its parent")
    if not ((low[split[inner]] < cut) & (cut <= high[split[inner]])).all():
        raise ValueError("a threshold lies outside the box")


def _check_list(name: str, value: Any, kinds: tuple[type, ...], largest: float) -> list[Any]:
    # type() and not isinstance(): JSON's true is not a number. The comparison is false for NaN.
    if not isinstance(value, list) or not all(type(v) in kinds and abs(v) <= largest for v in value):
        raise ValueError(f"{name} must be a list of finite numbers in range")
    return value
