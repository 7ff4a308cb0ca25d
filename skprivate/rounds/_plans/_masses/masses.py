# SPDX-License-Identifier: BSD-3-Clause
"""What a row adds to some cells: whole numbers, its masses, which add up to the same for all rows."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from ...._typing import IntArray
from ....utils._json_documents import Fields
from ..grid import FINEST, SUM_BITS
from ..rows import PreparedRows
from .mass_kernels import fill_terms, multiply

#: Steps of the largest weight of a row: a weight is rounded by less than a thousandth of that.
WEIGHT_STEPS = 2**10
#: Steps of a number between its bounds, log2: the squares of 2^31 rows with weights of `WEIGHT_STEPS` fit 64
#: bits. The mean of n rows that are spread over several steps is rounded by about 2^-10 / sqrt(3 n) of the
#: half-width, far less than by sampling; the mean of n equal ones by at most 2^-10, which is less than the
#: noise's standard deviation, some 4 / (n epsilon), up to n epsilon = 4096.
NUMBER_BITS = 10
# Largest number of labels: room is made for them before rows are read.
_MOST_LABELS = 2**24


class Masses(Protocol):
    """One way to share out a row's amount among cells.

    The masses of a row are at least 0 and stand in neighbouring cells. They add up to ``total``, times the
    row's steps where rows have weights.
    """

    kind: ClassVar[str]

    @property
    def n_cells(self) -> int:
        """Number of cells."""

    @property
    def total(self) -> int:
        """Sum of the masses of a row of weight one step."""

    @property
    def largest(self) -> int:
        """Bound on a row's weight, in steps; 1: rows have no weights."""

    def place(self, rows: PreparedRows) -> tuple[NDArray[np.int32], IntArray]:
        """Return each row's first cell, and its masses from there on, of shape (n, number of neighbours)."""

    def row_masses(self, rows: PreparedRows) -> IntArray:
        """Return the masses of every row in all cells, of shape (n, n_cells)."""

    def for_splits(self) -> "Masses":
        """Return the masses whose histograms choose splits."""

    def to_dict(self) -> dict[str, Any]:
        """Return JSON values, the kind among them."""

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Self:
        """Restore the masses; ValueError for what `to_dict` would not write."""


@dataclass(frozen=True)
class LabelMasses:
    """One in the cell of a row's label.

    Attributes
    ----------
    n_cells : int
        Number of labels.
    largest : int
        Bound on a row's weight, in steps; 1: rows have no weights.

    Notes
    -----
    **Privacy.** A row's masses add up to 1, or to its steps, which are clipped to [0, largest]. Adding or
    removing a row moves sums of masses by at most ``largest`` in L1, replacing it by ``2 * largest``.

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate.rounds._plans._masses.masses import LabelMasses
    >>> from skprivate.rounds._plans.rows import PreparedRows
    >>> rows = PreparedRows(np.zeros((2, 1)), labels=np.array([1, 0]), steps=np.array([3.0, 9.0]))
    >>> LabelMasses(2).row_masses(rows).tolist(), LabelMasses(2, largest=8).row_masses(rows).tolist()
    ([[0, 1], [1, 0]], [[0, 3], [8, 0]])
    """

    n_cells: int
    largest: int = 1
    total: ClassVar[int] = 1
    kind: ClassVar[str] = "labels"

    def place(self, rows: PreparedRows) -> tuple[NDArray[np.int32], IntArray]:
        """Return each row's label, and its steps.

        Raises
        ------
        ValueError
            The rows have no labels, more of them than there are cells, or no weights where some are due.
        """
        if rows.labels is None:
            raise ValueError("the rows have no labels.")
        labels = np.ascontiguousarray(rows.labels, dtype=np.int32)
        if len(labels) and not (labels.min() >= 0 and labels.max() < self.n_cells):
            raise ValueError("the rows have more classes than the plan.")
        return labels, _weighted(np.ones((len(labels), 1), dtype=np.int64), rows, self.largest)

    def row_masses(self, rows: PreparedRows) -> IntArray:
        """Return the steps of every row in the cell of its label, of shape (n, n_cells)."""
        labels, steps = self.place(rows)
        masses = np.zeros((len(labels), self.n_cells), dtype=np.int64)
        np.put_along_axis(masses, labels[:, np.newaxis].astype(np.int64), steps, axis=1)
        return masses

    def for_splits(self) -> "LabelMasses":
        """Return the same masses."""
        return self

    def to_dict(self) -> dict[str, Any]:
        """Return JSON values."""
        return {"kind": self.kind, "n_cells": self.n_cells, "largest": self.largest}

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Self:
        """Restore the masses."""
        fields = Fields(content, ("kind", "n_cells", "largest"), what="masses")
        return cls(fields.integer("n_cells", 1, _MOST_LABELS), fields.integer("largest", 1, 2**FINEST))


@dataclass(frozen=True)
class NumberMasses:
    """Terms of ((B - a) + a)^degree, a the place of a number between its bounds in 0, ..., B = 2^bits.

    Attributes
    ----------
    center, half : float
        Centre and half-width of the bounds; half > 0. A number is clipped to them, u = (y - center) / half in
        [-1, 1], and a is the whole number nearest to B (1 + u) / 2.
    bits : int
        1 to 20.
    degree : {1, 2}
        2: the cells hold (B - a)^2, 2 a (B - a) and a^2. 1: B - a and a, which is enough to choose splits.
    largest : int
        Bound on a row's weight, in steps; 1: rows have no weights.

    Notes
    -----
    The terms add up to B^degree, exactly. From sums c of the three cells follow, in units of 4^bits and with
    u on the grid, the number of rows, c_0 + c_1 + c_2; the sum of u, c_2 - c_0; and the sum of u^2,
    c_0 - c_1 + c_2. With weights these are the sum of the steps, and sums of steps times u and u^2. Then the
    sum of the three cells over all leaves, which else is the public number of rows, is private too.

    **Privacy.** Adding or removing a row moves sums of masses by at most ``total * largest`` in L1, replacing
    it by twice that: what a count alone would cost, for the number of rows, the mean and the spread together.

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate.rounds._plans._masses.masses import NumberMasses
    >>> from skprivate.rounds._plans.rows import PreparedRows
    >>> rows = PreparedRows(np.zeros((3, 1)), y=np.array([-5.0, 0.5, 10.0]))
    >>> NumberMasses(center=0.0, half=1.0, bits=3).row_masses(rows).tolist()
    [[64, 0, 0], [4, 24, 36], [0, 0, 64]]
    """

    center: float
    half: float
    bits: int = NUMBER_BITS
    degree: int = 2
    largest: int = 1
    kind: ClassVar[str] = "numbers"

    @property
    def n_cells(self) -> int:
        """Number of terms."""
        return self.degree + 1

    @property
    def total(self) -> int:
        """Sum of the terms."""
        return 2 ** (self.bits * self.degree)

    def place(self, rows: PreparedRows) -> tuple[NDArray[np.int32], IntArray]:
        """Return zeros, and the terms of every row times its steps.

        Raises
        ------
        ValueError
            The rows have no target, no weights where some are due, or NaN or infinity in one of them.
        """
        masses = self.row_masses(rows)
        return np.zeros(len(masses), dtype=np.int32), masses

    def row_masses(self, rows: PreparedRows) -> IntArray:
        """Return the terms of every row times its steps, of shape (n, degree + 1)."""
        if rows.y is None:
            raise ValueError("the rows have no target.")
        y = np.ascontiguousarray(rows.y, dtype=np.float64)
        masses = np.empty((len(y), self.n_cells), dtype=np.int64)
        if not fill_terms(y, self.center, self.half, 2**self.bits, masses):
            raise ValueError("y contains NaN or infinity.")
        return _weighted(masses, rows, self.largest)

    def for_splits(self) -> "NumberMasses":
        """Return the masses of degree 1."""
        return replace(self, degree=1)

    def to_dict(self) -> dict[str, Any]:
        """Return JSON values."""
        names = ("kind", "center", "half", "bits", "degree", "largest")
        return {name: getattr(self, name) for name in names}

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Self:
        """Restore the masses."""
        fields = Fields(content, ("kind", "center", "half", "bits", "degree", "largest"), what="masses")
        half = fields.number("half")
        if half <= 0:
            raise ValueError("masses: half must be above 0")
        bits, degree = fields.integer("bits", 1, FINEST), fields.integer("degree", 1, 2)
        return cls(fields.number("center"), half, bits, degree, fields.integer("largest", 1, 2**FINEST))


def check_room(masses: Masses, n_rows: int) -> None:
    """Refuse rows whose masses might not fit 64 bits, with two to spare; from public numbers alone."""
    if n_rows * masses.total * masses.largest > 2**SUM_BITS:
        raise OverflowError("too many rows for the grid: its exact sums do not fit 64-bit integers.")


def check_totals(masses: Masses, totals: NDArray[Any], n_rows: int) -> None:
    """Refuse masses by group of rows, summed over the cells, that no n_rows rows have."""
    amounts = [divmod(int(total), masses.total) for total in totals]
    steps = sum(amount for amount, _ in amounts)
    possible = steps == n_rows if masses.largest == 1 else 0 <= steps <= n_rows * masses.largest
    if not possible or any(rest for _, rest in amounts):
        raise ValueError("the sums are not those of so many rows")


_KINDS: dict[str, Any] = {masses.kind: masses for masses in (LabelMasses, NumberMasses)}


def masses_from_dict(content: Any) -> Masses:
    """Restore masses of any kind; ValueError for what none would write."""
    kind = content.get("kind") if type(content) is dict else None
    if type(kind) is not str or kind not in _KINDS:
        raise ValueError("a plan has masses of an unknown kind")
    masses: Masses = _KINDS[kind].from_dict(content)
    return masses


def _weighted(masses: IntArray, rows: PreparedRows, largest: int) -> IntArray:
    """Multiply masses by the steps of their rows, clipped to [0, largest] and rounded down, in place."""
    if largest == 1:
        return masses
    if rows.steps is None:
        raise ValueError("the rows have no weights.")
    if not multiply(masses, np.ascontiguousarray(rows.steps, dtype=np.float64), largest):
        raise ValueError("the weights contain NaN.")
    return masses
