# SPDX-License-Identifier: BSD-3-Clause
"""Rows in memory as plans read them: validated, as numbers."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._typing import BoolArray, FloatArray, IndexArray


@dataclass(frozen=True, eq=False, repr=False)
class PreparedRows:
    """Validated rows of one batch; what a plan does not read may be None.

    Attributes
    ----------
    X : ndarray of float64 or float32 of shape (n, n_features)
    y : ndarray of float64 of shape (n,), or None
        Target on the scale of the model.
    event : ndarray of uint8 of shape (n,), or None
        What the target tells (`CODES`): 1: the time of the event; 0: it comes later; 2: it came earlier;
        3: it came after `start`, and not after the target.
    labels : ndarray of int of shape (n,), or None
        Positions among the classes.
    steps : ndarray of float64 of shape (n,), or None
        Weights as whole numbers.
    start : ndarray of float64 of shape (n,), or None
        Where intervals begin, on the scale of the model; read where `event` is 3.
    entry : ndarray of float64 of shape (n,), or None
        When watching began, on the scale of the model; -inf: from the start. None: all rows from the start.
    kept : ndarray of bool or int, or None
        Mask, or numbers, of the rows that count; None: all.
    """

    X: NDArray[Any]
    y: FloatArray | None = None
    event: NDArray[np.uint8] | None = None
    labels: NDArray[Any] | None = None
    steps: FloatArray | None = None
    start: FloatArray | None = None
    entry: FloatArray | None = None
    kept: BoolArray | IndexArray | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows that count."""
        if self.kept is None:
            return len(self.X)
        return int(np.count_nonzero(self.kept)) if self.kept.dtype == bool else len(self.kept)

    def only_kept(self) -> "PreparedRows":
        """Return the rows that count, copied where others stand between them."""
        if self.kept is None:
            return self
        kept = self.kept

        def chosen(column: Any) -> Any:
            return None if column is None else column[kept]

        names = ("y", "event", "labels", "steps", "start", "entry")
        return PreparedRows(self.X[kept], **{name: chosen(getattr(self, name)) for name in names})

    def keeping(self, kept: BoolArray | IndexArray | None) -> "PreparedRows":
        """Return the same rows, of which only these count."""
        return replace(self, kept=kept)
