# SPDX-License-Identifier: BSD-3-Clause
"""Columns and targets of a specification: their declarations, and the answer of one client."""

import math
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .._typing import FloatArray, IntArray
from ..domain import TableDomain
from ..domain._labels import class_positions, number_labels, plain_cell, plain_classes, refuse_label_types
from ..partition import ColumnBins, Partition, TableCells
from ..randomizers import ColumnRandomizer, LocalRandomizer
from ..tree._rows import shares_of
from ..utils import as_column, check_characters
from ..utils._json_documents import Fields
from ..utils._tables import is_temporal, numbers_of, refuse_kinds, within_bounds

# Unicode's categories of characters that are invisible or break lines; unassigned ones depend on its version.
_UNSEEN = {"Cc", "Cf", "Co", "Cs", "Zl", "Zp"}

# Columns.


def kind_of(cells: Any) -> Any:
    """Return the class of cells, by a field that only this class has."""
    if isinstance(cells, dict) and "groups" in cells:
        return TableCells
    return ColumnBins if isinstance(cells, dict) and "n_bins" in cells else Partition


def check_columns(partition: Partition | ColumnBins | TableCells, randomizer: LocalRandomizer) -> None:
    """Refuse cells and a randomizer unless both or neither are about columns, of the same number."""
    if isinstance(partition, Partition) == isinstance(randomizer, ColumnRandomizer):
        raise ValueError("cells of columns need a ColumnRandomizer, and leaves another randomizer")
    if isinstance(partition, Partition) or not isinstance(randomizer, ColumnRandomizer):
        return
    if randomizer.n_columns != partition.n_columns:
        raise ValueError(
            f"the randomizer is for {randomizer.n_columns} columns, but there are {partition.n_columns}"
        )


def check_domain(domain: Any, partition: Partition | ColumnBins | TableCells, features: Any) -> None:
    """Refuse declared columns that are not those of the cells."""
    n_features = partition.n_features
    derived = partition.derived if isinstance(partition, Partition) else None
    if domain is None:
        if derived is not None or isinstance(partition, TableCells):
            raise ValueError("the cells are those of a domain's columns: pass this domain")
        return
    if not isinstance(domain, TableDomain):
        raise TypeError("domain must be a TableDomain")
    if isinstance(partition, TableCells) and partition.groups != domain.groups:
        raise ValueError("the cells are not those of the domain's columns")
    if len(domain.encoded_names) != n_features:
        raise ValueError(
            f"the partition has {n_features} columns, but the domain encodes {len(domain.encoded_names)}"
        )
    if features is not None and tuple(features) != domain.names:
        raise ValueError("features must be the columns of the domain, in their order")
    if derived is not None:
        derived.check_groups(domain.groups)


def check_names(features: Any, label: Any, n_features: int) -> tuple[str, ...]:
    """Return the names of the columns; refuse names that are invalid or not different."""
    names = tuple(features)
    if not all(isinstance(name, str) and name for name in (*names, label)):
        raise ValueError("features and label must be names: text that is not empty")
    if len(names) != n_features:
        raise ValueError(f"there are {n_features} columns, but features has {len(names)} names")
    if len({*names, label}) != n_features + 1:
        raise ValueError("features and label must be different names")
    for name in (*names, label):
        _check_shown(name, "a name of features and label")
    # np.str_ is also a str, but names are written to JSON and shown in messages.
    return tuple(str(name) for name in names)


def _check_shown(text: Any, what: str) -> None:
    """Refuse text with invisible characters: on a page it could look like another text."""
    if not isinstance(text, str):
        return
    check_characters(text, what)
    if not _UNSEEN.isdisjoint(map(unicodedata.category, text)):
        raise ValueError(f"{what} holds control, formatting or private characters: remove them.")


# Targets.


class LabelTarget:
    """A target that is one of several labels; a report is about its position.

    Parameters
    ----------
    classes : iterable of str, int, float or bool
        Two or more, all text or all numbers, each once. White space around text is ignored.
    """

    bounds = None

    def __init__(self, classes: Any) -> None:
        self.classes = tuple(plain_classes(list(classes)))
        for label in self.classes:
            _check_shown(label, "a label of classes")

    @classmethod
    def from_dict(cls, state: Any) -> Self:
        """Restore a target from its JSON; ValueError for any other value."""
        return cls(Fields(state, ("classes",), what="the target").items("classes"))

    @property
    def n_labels(self) -> int:
        """Number of labels in a report."""
        return len(self.classes)

    @property
    def document(self) -> dict[str, Any]:
        """The target in the JSON of a specification."""
        return {"classes": list(self.classes)}

    def describe(self) -> str:
        """Return a short description of the target."""
        return f"{len(self.classes)} classes"

    def read(self, value: Any, name: str) -> float:
        """Return the position of one person's label; ValueError, which does not show it, for other values."""
        position = self._positions.get(plain_cell(value), -1)
        if position < 0:
            raise ValueError(f"{name!r} is not one of the specification's classes.")
        return float(position)

    def read_many(self, target: Any) -> FloatArray:
        """Return the position of every label, or 0 if it is not a class; no value raises an error."""
        refuse_kinds(target, "y")
        refuse_label_types(target, self.classes)
        labels = np.asarray(as_column(target))
        if labels.ndim != 1:
            raise ValueError("y must be one-dimensional.")
        return number_labels(labels, self.classes).astype(np.float64)

    def draw(self, positions: FloatArray, random_bytes: Callable[[int], bytes]) -> IntArray:
        """Return the labels for the reports: the positions themselves."""
        return positions.astype(np.int64)

    @cached_property
    def _positions(self) -> dict[Any, int]:
        return class_positions(self.classes)


# Largest number of levels: the variance of the rounding is then below 1e-6 of the largest variance of a
# target.
_MOST_LEVELS = 2**10


@dataclass(frozen=True)
class NumberTarget:
    """A target that is a number, as a share of the width between two bounds; a report is about a level.

    Attributes
    ----------
    lower, upper : float
        Numbers beyond them are clipped.
    levels : int
        Number of levels. They are evenly spaced; the bounds are the first and the last level.

    Notes
    -----
    **Privacy.** A share is rounded at random to the level below or above it, so that the mean is the share. A
    report of the level is drawn with fresh words of entropy. Its distribution is a mixture over the levels.
    The distributions of the levels are within a factor e^epsilon of each other, and so are two such mixtures,
    for any rounding.
    """

    classes = None

    lower: float
    upper: float
    levels: int

    def __post_init__(self) -> None:
        half = self.upper / 2 - self.lower / 2
        # Also False for NaN.
        if not (math.isfinite(self.lower) and math.isfinite(self.upper) and half > 0):
            raise ValueError("the bounds of the target must be finite, the lower one below the upper one")
        if not 2 <= self.levels <= _MOST_LEVELS:
            raise ValueError(f"the levels of the target must be from 2 to {_MOST_LEVELS}")

    @classmethod
    def from_dict(cls, state: Any) -> Self:
        """Restore a target from its JSON; ValueError for any other value."""
        fields = Fields(state, ("lower", "upper", "levels"), what="the target")
        return cls(fields.number("lower"), fields.number("upper"), fields.integer("levels", 2, _MOST_LEVELS))

    @property
    def bounds(self) -> tuple[float, float]:
        """Lower and upper bound."""
        return self.lower, self.upper

    @property
    def n_labels(self) -> int:
        """Number of levels in a report."""
        return self.levels

    @property
    def document(self) -> dict[str, Any]:
        """The target in the JSON of a specification."""
        return {"lower": self.lower, "upper": self.upper, "levels": self.levels}

    def describe(self) -> str:
        """Return a short description of the target."""
        return f"numbers from {self.lower:g} to {self.upper:g} on {self.levels} levels"

    def read(self, value: Any, name: str) -> float:
        """Return the share of one person's number; ValueError, which does not show it, for other values."""
        return float(self.shares(np.array([read_number(value, f"column {name!r}")]))[0])

    def read_many(self, target: Any) -> FloatArray:
        """Return the share of every number, or one half for other values; no value raises an error."""
        values = numbers_of(as_column(target), "y")
        if not isinstance(values, np.ndarray) or values.ndim != 1:
            raise ValueError("y must be one-dimensional.")
        return self.shares(within_bounds(values, self.lower, self.upper))

    def shares(self, values: FloatArray) -> FloatArray:
        """Return finite numbers, clipped to the bounds, as shares of the width between them."""
        bounds: NDArray[Any] = np.array([self.lower, self.upper])
        # Clipped first: the division of a number far beyond the bounds could overflow.
        return shares_of(np.clip(values, *bounds), bounds)

    def draw(self, shares: FloatArray, random_bytes: Callable[[int], bytes]) -> IntArray:
        """Return the labels for the reports: the shares, rounded at random, each by one word."""
        words = np.frombuffer(random_bytes(8 * len(shares)), dtype=np.uint64)
        place = shares * (self.levels - 1)
        below = np.floor(place)
        above = (words >> np.uint64(11)) * 2.0**-53 < place - below
        return below.astype(np.int64) + above


def read_number(value: Any, name: str) -> float:
    """Return a finite number; ValueError, which does not show the value, for anything else."""
    if isinstance(value, Real | np.bool_) and not is_temporal(value):
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if math.isfinite(number):
            return number
    raise ValueError(f"{name} must hold a finite number.")
