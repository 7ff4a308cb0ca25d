# SPDX-License-Identifier: BSD-3-Clause
"""Validated private and public rows of a boosting."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._typing import BoolArray, FloatArray
from ...rounds._plans.rows import PreparedRows
from ...utils._groups import KEY_BYTES, RowUnits


@dataclass(frozen=True, eq=False, repr=False)
class BoostingRows:
    """Validated rows, which are public, and whose they are; kept during one fit only.

    Attributes
    ----------
    X : ndarray of shape (n_rows, d)
    y : ndarray of shape (n_rows,)
        Numbers, or positions of labels among the classes.
    public : ndarray of bool of shape (n_rows,)
    units : RowUnits, or None
        The persons of the private rows; None: the unit is the row.
    rows_per_unit : int
        Rows of one person that count; 1 where the unit is the row.
    bounds : tuple of two ndarrays of shape (d,)
    """

    X: FloatArray
    y: NDArray[Any]
    public: BoolArray
    units: RowUnits | None
    rows_per_unit: int
    bounds: tuple[FloatArray, FloatArray]

    @property
    def n_public(self) -> int:
        """Number of public rows."""
        return int(np.count_nonzero(self.public))

    @property
    def n_used(self) -> int:
        """Number of private rows that count at most; the same whatever rows a person has."""
        if self.units is None:
            return len(self.public) - self.n_public
        return self.units.n_units * self.rows_per_unit

    def prepare(self, X: FloatArray, random_bytes: Callable[[int], bytes]) -> PreparedRows:
        """Return all rows, of which the private ones count, and of a person so many as may."""
        kept: Any = ~self.public if self.n_public else None
        if self.units is not None:
            chosen = self.units.choose_rows(self.rows_per_unit, random_bytes(KEY_BYTES))
            kept = chosen if kept is None else np.flatnonzero(kept)[chosen]
        if self.y.dtype.kind == "i":
            return PreparedRows(X, labels=self.y, kept=kept)
        return PreparedRows(X, y=self.y, kept=kept)
