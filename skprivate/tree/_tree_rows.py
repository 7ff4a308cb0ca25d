# SPDX-License-Identifier: BSD-3-Clause
"""Validated private and public rows of a tree."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .._typing import BoolArray, FloatArray, IntArray
from ..partition import Partition, count_leaves
from ..rounds._plans.axes import Axis
from ..rounds._plans.rows import PreparedRows
from ..utils._groups import KEY_BYTES, RowUnits

# Copies that stand for a public number: their labels have its share, to a sixteenth of the width.
_COPIES = 16
# Least variance, as a part of the largest, which keeps divisions finite.
_LEAST_VARIANCE = 1e-6
# Rows that vary as all do, beside those of the leaves: these were chosen by the same rows, to differ.
_PSEUDO_ROWS = 4
# The golden ratio: multiples of it fill the interval evenly, so that the rounding of the rows adds up to 0.
_GOLDEN = 0.6180339887498949


@dataclass(frozen=True, eq=False)
class PublicVotes:
    """Public rows with labels; of a number there are copies, whose labels have its share of the width.

    Attributes
    ----------
    X : ndarray of shape (n, d)
    labels : ndarray of int32 of shape (n,)
    n_labels : int
    copies : int
        What a row is copied into; copies stand side by side.
    shares : ndarray of shape (n / copies,) or None
        The numbers, from 0 at the lower bound to 1; None of labels.
    """

    X: FloatArray
    labels: NDArray[np.int32]
    n_labels: int
    copies: int = 1
    shares: FloatArray | None = None

    @classmethod
    def of_numbers(cls, X: FloatArray, shares: FloatArray) -> Self:
        """Return the copies of public rows with numbers from 0 to 1."""
        shift = (np.arange(len(shares)) * _GOLDEN) % 1.0
        place = (np.arange(_COPIES) + shift[:, np.newaxis]) / _COPIES
        labels = (place < shares[:, np.newaxis]).astype(np.int32).ravel()
        return cls(np.repeat(X, _COPIES, axis=0), labels, 2, _COPIES, shares)

    @property
    def n_rows(self) -> int:
        """Number of public rows."""
        return len(self.labels) // self.copies

    def within(self, old: NDArray[Any], new: NDArray[Any]) -> "PublicVotes":
        """Return the same numbers as shares of the width between other bounds."""
        if self.shares is None:
            return self
        numbers = (1 - self.shares) * old[0] + self.shares * old[1]
        return PublicVotes.of_numbers(self.X[:: self.copies], shares_of(numbers, new))

    def where(self, kept: BoolArray) -> "PublicVotes":
        """Return the votes of some of the rows; `kept` has one place a row."""
        each = np.repeat(kept, self.copies)
        shares = None if self.shares is None else self.shares[kept]
        return PublicVotes(self.X[each], self.labels[each], self.n_labels, self.copies, shares)

    def count(self, partition: Partition) -> IntArray | FloatArray:
        """Return the numbers of public rows by leaf and label; of numbers, their shares."""
        counts = np.zeros((partition.n_leaves, self.n_labels), dtype=np.int64)
        if self.shares is None:
            count_leaves(partition.apply(self.X), self.labels, counts)
            return counts
        leaf = partition.apply(self.X[:: self.copies])
        upper = np.bincount(leaf, self.shares, partition.n_leaves)
        return np.column_stack([np.bincount(leaf, minlength=partition.n_leaves) - upper, upper])

    def sum_by(self, axis: Axis) -> FloatArray:
        """Return the numbers of public rows by the cells of an axis and label; of numbers, their shares."""
        rows = PreparedRows(self.X[:: self.copies])
        cell = axis.codes(rows)
        if self.shares is None:
            shares = np.eye(self.n_labels)[self.labels]
        else:
            shares = np.column_stack([1 - self.shares, self.shares])
        sums: FloatArray = np.column_stack([np.bincount(cell, one, axis.size) for one in shares.T])
        return sums.ravel()

    @property
    def total_variance(self) -> float | None:
        """Variance of a row's share, as a part of that of a label with the same mean: 1 of labels.

        None where fewer than two rows tell it.
        """
        if self.shares is None:
            return 1.0
        if len(self.shares) < 2:
            return None
        mean = float(np.mean(self.shares))
        part = float(np.var(self.shares, ddof=1)) / max(mean * (1.0 - mean), 1e-300)
        return float(np.clip(part, _LEAST_VARIANCE, 1.0))

    def row_variance(self, partition: Partition) -> float:
        """Return the variance of a row's share within its leaf, as a part of that of a label: 1 of labels.

        A label that is 1 with probability p has the variance p (1 - p), and no share from 0 to 1 with the
        mean p has more.
        """
        if self.shares is None or len(self.shares) < 2:
            return 1.0
        leaf = partition.apply(self.X[:: self.copies])
        counts = np.bincount(leaf, minlength=partition.n_leaves)
        means = np.bincount(leaf, self.shares, partition.n_leaves) / np.maximum(counts, 1)
        square = float(np.sum((self.shares - means[leaf]) ** 2))
        degrees = len(leaf) - np.count_nonzero(counts)
        whole = _PSEUDO_ROWS * float(np.var(self.shares, ddof=1))
        spread = (square + whole) / (degrees + _PSEUDO_ROWS)
        largest = max(float(np.mean((means * (1.0 - means))[leaf])), 1e-300)
        return float(np.clip(spread / largest, _LEAST_VARIANCE, 1.0))


@dataclass(kw_only=True)
class TreeRows:
    """Validated rows, which are public, and whose they are; kept during one fit only.

    Attributes
    ----------
    X : ndarray of shape (n_rows, d)
    labels : ndarray of int32 of shape (n_rows,), or None
        Positions in `classes`; a label outside them counts as the first. None: the target is a number.
    y : ndarray of float64 of shape (n_rows,), or None
        Numbers, not yet clipped to their bounds, which are the two `classes`.
    public : ndarray of bool of shape (n_rows,)
    units : RowUnits, or None
        The persons of the private rows; None: the unit is the row.
    classes : ndarray of shape (n_labels,)
        The labels, or the bounds of the numbers.
    bounds : tuple of two ndarrays of shape (d,)
    rows_per_unit : int
        Rows of one person that count; 1 where the unit is the row.
    """

    X: FloatArray
    public: BoolArray
    units: RowUnits | None
    classes: NDArray[Any]
    bounds: tuple[FloatArray, FloatArray]
    rows_per_unit: int
    labels: NDArray[np.int32] | None = None
    y: FloatArray | None = None

    @property
    def n_public(self) -> int:
        """Number of public rows."""
        return int(np.count_nonzero(self.public))

    @property
    def n_used(self) -> int:
        """Number of private rows that count at most; the same whatever rows a person has."""
        if self.units is None:
            return len(self.public) - self.n_public
        # Not the exact number: one person's rows would show in it.
        return self.units.n_units * self.rows_per_unit

    @cached_property
    def votes(self) -> PublicVotes:
        """The public rows."""
        X = self.X[self.public]
        if self.y is not None:
            return PublicVotes.of_numbers(X, shares_of(self.y[self.public], self.classes))
        assert self.labels is not None
        return PublicVotes(X, self.labels[self.public], len(self.classes))

    def prepare(self, random_bytes: Callable[[int], bytes]) -> PreparedRows:
        """Return all rows, of which the private ones count, and of a person so many as may."""
        kept: Any = ~self.public if self.n_public else None
        if self.units is not None:
            chosen = self.units.choose_rows(self.rows_per_unit, random_bytes(KEY_BYTES))
            kept = chosen if kept is None else np.flatnonzero(kept)[chosen]
        return PreparedRows(self.X, y=self.y, labels=self.labels, kept=kept)


def shares_of(y: FloatArray, bounds: NDArray[Any]) -> FloatArray:
    """Return numbers as shares of the width between two bounds, from 0 to 1; those beyond are clipped."""
    low, high = (float(bound) for bound in bounds)
    center, half = low / 2 + high / 2, high / 2 - low / 2
    # Divided first: the difference of two bounds may overflow.
    shares: FloatArray = np.clip((y / half - center / half + 1.0) / 2, 0.0, 1.0)
    return shares


def round_at_random(
    shares: FloatArray, n_levels: int, random_bytes: Callable[[int], bytes]
) -> NDArray[np.int64]:
    """Return one of the levels 0 to n_levels - 1 for every share, whose mean is the share up to 2^-53."""
    words = np.frombuffer(random_bytes(8 * len(shares)), dtype=np.uint64)
    place = shares * (n_levels - 1)
    below = np.floor(place)
    above = (words >> np.uint64(11)) * 2.0**-53 < place - below
    return below.astype(np.int64) + above
