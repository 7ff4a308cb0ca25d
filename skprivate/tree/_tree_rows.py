# SPDX-License-Identifier: BSD-3-Clause
"""Validated private and public rows of a tree."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._typing import BoolArray, FloatArray, IntArray
from ..partition import Partition
from ..rounds._plans.rows import PreparedRows
from ..utils._groups import KEY_BYTES, RowUnits


@dataclass
class TreeRows:
    """Validated rows, which are public, and whose they are; kept during one fit only.

    Attributes
    ----------
    X : ndarray of shape (n_rows, d)
    labels : ndarray of int32 of shape (n_rows,)
        Positions in `classes`; a label outside them counts as the first.
    public : ndarray of bool of shape (n_rows,)
    units : RowUnits, or None
        The persons of the private rows; None: the unit is the row.
    classes : ndarray of shape (n_labels,)
    bounds : tuple of two ndarrays of shape (d,)
    rows_per_unit : int
        Rows of one person that count; 1 where the unit is the row.
    """

    X: FloatArray
    labels: NDArray[np.int32]
    public: BoolArray
    units: RowUnits | None
    classes: NDArray[Any]
    bounds: tuple[FloatArray, FloatArray]
    rows_per_unit: int

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

    def categories(self, partition: Partition) -> IntArray:
        """Return ``n_labels * leaf + label`` of every row, public ones too."""
        # All rows find their leaves: that is faster than to copy the private ones.
        return len(self.classes) * partition.apply(self.X).astype(np.int64) + self.labels

    def prepare(self, random_bytes: Callable[[int], bytes]) -> PreparedRows:
        """Return all rows, of which the private ones count, and of a person so many as may."""
        kept: Any = ~self.public if self.n_public else None
        if self.units is not None:
            chosen = self.units.choose_rows(self.rows_per_unit, random_bytes(KEY_BYTES))
            kept = chosen if kept is None else np.flatnonzero(kept)[chosen]
        return PreparedRows(self.X, labels=self.labels, kept=kept)
