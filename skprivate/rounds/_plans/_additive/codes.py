# SPDX-License-Identifier: BSD-3-Clause
"""Columns as small whole numbers: bins of numbers, levels of categories, and cells for what is missing."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...._typing import FloatArray
from ....utils._json_documents import Fields
from ....utils._public_module import public_module
from .code_kernels import add_cells, fill_codes

#: Most cells of one feature: codes are of 16 bits.
MOST_CELLS = 2**16
# Most columns that a plan may name, as `axes`.
_MOST = 2**24
# Most cells of a grid: room is made for their sums before rows are read.
_MOST_GRID = 2**24


@public_module("skprivate.ensemble")
@dataclass(frozen=True, eq=False)
class CodedFeature:
    """A column of numbers in bins, or a category that stands in one column of X a level.

    Attributes
    ----------
    column : int
        Of X; the first one of a category.
    thresholds : ndarray of shape (n_bins - 1,)
        Ascending. The bin of a number is the number of thresholds at or below it. None of a category.
    n_levels : int
        Of a category; 0: the column holds numbers.
    missing : int or None
        Column of X that is above 0.5 where the value is missing, whatever was filled in.
    no_level : bool
        Whether a row of no level is missing; else it is in the first cell.
    """

    column: int
    thresholds: FloatArray
    n_levels: int = 0
    missing: int | None = None
    no_level: bool = False

    @classmethod
    def of_levels(
        cls, column: int, n_levels: int, missing: int | None = None, no_level: bool = False
    ) -> "CodedFeature":
        """Return a category."""
        return cls(column, np.empty(0), n_levels, missing, no_level)

    @property
    def is_number(self) -> bool:
        """Whether cells are bins, and so have an order."""
        return self.n_levels == 0

    @property
    def has_missing(self) -> bool:
        """Whether the last cell is that of missing values."""
        return self.missing is not None or self.no_level

    @property
    def n_bins(self) -> int:
        """Number of bins, in the order of the numbers, or of levels."""
        return self.n_levels or len(self.thresholds) + 1

    @property
    def size(self) -> int:
        """Number of cells."""
        return self.n_bins + self.has_missing

    @property
    def end(self) -> int:
        """Number of columns of X that there must be."""
        last = self.column + max(self.n_levels, 1)
        return last if self.missing is None else max(last, self.missing + 1)

    def fill(self, X: NDArray[Any], codes: NDArray[Any]) -> None:
        """Write the cell of every row, uint8 or uint16."""
        if self.is_number:
            fill_codes(np.ascontiguousarray(X[:, self.column], dtype=np.float64), self.thresholds, codes)
        else:
            levels = X[:, self.column : self.column + self.n_levels] > 0.5
            # The first level that a row has, and 0 for rows of none.
            codes[:] = np.argmax(levels, axis=1)
            if self.no_level:
                codes[~levels.any(axis=1)] = self.n_levels
        if self.missing is not None:
            codes[X[:, self.missing] > 0.5] = self.n_bins

    def to_dict(self) -> dict[str, Any]:
        """Return JSON values."""
        return {**vars(self), "thresholds": self.thresholds.tolist()}

    @classmethod
    def from_dict(cls, content: Any) -> "CodedFeature":
        """Restore the feature; ValueError for what `to_dict` would not write."""
        names = ("column", "thresholds", "n_levels", "missing", "no_level")
        fields = Fields(content, names, what="a feature")
        thresholds = np.array(fields.numbers("thresholds"))
        n_levels = fields.integer("n_levels", 0, MOST_CELLS - 1)
        most = 0 if n_levels else MOST_CELLS - 2
        if (np.diff(thresholds) <= 0).any() or len(thresholds) > most:
            raise ValueError("a feature: thresholds must ascend, and categories have none")
        return cls(
            fields.integer("column", 0, _MOST),
            thresholds,
            n_levels,
            fields.maybe(fields.integer, "missing", 0, _MOST),
            fields.flag("no_level"),
        )


@public_module("skprivate.ensemble")
@dataclass(frozen=True, eq=False)
class FeatureCodes:
    """Public description of how every feature of a row becomes a small whole number.

    Attributes
    ----------
    features : tuple of CodedFeature

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate.rounds._plans._additive.codes import CodedFeature, FeatureCodes
    >>> colour = CodedFeature.of_levels(1, 2, no_level=True)
    >>> layout = FeatureCodes((CodedFeature(0, np.array([0.5])), colour))
    >>> layout.codes(np.array([[0.2, 0, 1], [0.5, 1, 0], [0.7, 0, 0]]))
    array([[0, 1, 1],
           [1, 0, 2]], dtype=uint8)
    """

    features: tuple[CodedFeature, ...]

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Number of cells of every feature."""
        return tuple(feature.size for feature in self.features)

    @property
    def n_columns(self) -> int:
        """Number of columns of X that features read."""
        return max((feature.end for feature in self.features), default=0)

    def codes(self, X: NDArray[Any]) -> NDArray[Any]:
        """Return the codes, uint8 or uint16 of shape (n_features, n); a row decides about its own."""
        if X.shape[1] < self.n_columns:
            raise ValueError("the rows do not have so many columns.")
        small = max(self.sizes, default=0) <= 2**8
        found = np.empty((len(self.features), len(X)), dtype=np.uint8 if small else np.uint16)
        for code, feature in zip(found, self.features, strict=True):
            feature.fill(X, code)
        return found

    def to_list(self) -> list[dict[str, Any]]:
        """Return JSON values."""
        return [feature.to_dict() for feature in self.features]

    @classmethod
    def from_list(cls, content: list[Any]) -> "FeatureCodes":
        """Restore the description; ValueError for what `to_list` would not write."""
        return cls(tuple(map(CodedFeature.from_dict, content)))


@public_module("skprivate.ensemble")
@dataclass(frozen=True, eq=False)
class CellGrid:
    """A partition of rows by groups of the codes of some features; a feature may come more than once.

    Attributes
    ----------
    features : tuple of int
        Numbers of the features.
    groups : tuple of ndarray of int32
        Group of every code, from 0, for each of them.

    Notes
    -----
    The cell of a row has the groups as its digits, the last one fastest. No feature: one cell.
    """

    features: tuple[int, ...]
    groups: tuple[NDArray[np.int32], ...]

    @classmethod
    def of_feature(cls, number: int, size: int) -> "CellGrid":
        """Return the cells of one feature."""
        return cls((number,), (np.arange(size, dtype=np.int32),))

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Number of groups of every feature."""
        return tuple(int(groups.max()) + 1 for groups in self.groups)

    @property
    def size(self) -> int:
        """Number of cells."""
        return math.prod(self.shape)

    def cells(self, codes: NDArray[Any]) -> NDArray[np.int32]:
        """Return the cell of every row."""
        found = np.zeros(codes.shape[1], dtype=np.int32)
        for number, groups, size in zip(self.features, self.groups, self.shape, strict=True):
            add_cells(codes[number], groups, size, found)
        return found

    def check(self, sizes: tuple[int, ...]) -> None:
        """Raise ValueError where the features have other numbers of cells."""
        fits = all(
            number < len(sizes) and len(groups) == sizes[number]
            for number, groups in zip(self.features, self.groups, strict=True)
        )
        if not fits or self.size > _MOST_GRID:
            raise ValueError("a plan: cells are not those of its features")

    def to_dict(self) -> dict[str, Any]:
        """Return JSON values."""
        return {"features": list(self.features), "groups": [groups.tolist() for groups in self.groups]}

    @classmethod
    def from_dict(cls, content: Any) -> "CellGrid":
        """Restore the cells; ValueError for what `to_dict` would not write."""
        fields = Fields(content, ("features", "groups"), what="cells")
        features, groups = fields.items("features"), fields.items("groups")
        if len(features) != len(groups) or not all(
            type(number) is int and 0 <= number < _MOST for number in features
        ):
            raise ValueError("cells: features and groups belong together")
        for group in groups:
            whole = type(group) is list and group and all(type(value) is int for value in group)
            # Every group is there: else a reader would make room for what nobody uses.
            if not whole or sorted(set(group)) != list(range(len(set(group)))):
                raise ValueError("cells: groups must be whole numbers from 0")
        return cls(tuple(features), tuple(np.array(group, dtype=np.int32) for group in groups))
