# SPDX-License-Identifier: BSD-3-Clause
"""Bins of equal width of every column, each column by itself."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._typing import FloatArray, IntArray
from ..utils._json_documents import Fields
from ..utils._public_module import public_module
from ._partition import check_box

#: Most bins of a column: clients report about one column each, so that more hold too few of them.
MOST_BINS = 256


@public_module("skprivate.partition")
@dataclass(frozen=True, eq=False)
class ColumnBins:
    """Bins of equal width of every column of the box [lower, upper].

    Where a `Partition` gives a row one leaf, this gives it one bin in every column.

    Parameters
    ----------
    lower, upper : ndarray of shape (n_features,)
        The public box; finite, lower <= upper.
    n_bins : int
        Bins of every column, from 2 to 256.

    Examples
    --------
    >>> from skprivate.partition import ColumnBins
    >>> bins = ColumnBins.of([0.0, -1.0], [1.0, 1.0], 4)
    >>> bins.apply([[0.3, 0.0], [2.0, -5.0]])
    array([[1, 2],
           [3, 0]], dtype=int32)
    """

    lower: FloatArray
    upper: FloatArray
    n_bins: int

    @classmethod
    def of(cls, lower: ArrayLike, upper: ArrayLike, n_bins: int) -> Self:
        """Return the bins of a box; ValueError if it is none, or has a number of bins out of range."""
        if type(n_bins) is not int or not 2 <= n_bins <= MOST_BINS:
            raise ValueError(f"n_bins must be a whole number from 2 to {MOST_BINS}")
        return cls(*check_box(lower, upper), n_bins)

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return len(self.lower)

    @property
    def n_columns(self) -> int:
        """Number of columns that have bins: all."""
        return len(self.lower)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of bins of every column."""
        return (self.n_bins,) * len(self.lower)

    @property
    def n_leaves(self) -> int:
        """Number of cells that a value can be in: the bins of one column."""
        return self.n_bins

    def bins_in_order(self, column: int) -> int:
        """Return how many of the first bins of a column stand in the order of its numbers: all."""
        return self.n_bins

    @cached_property
    def thresholds(self) -> FloatArray:
        """Thresholds between the bins, ascending, of shape (n_features, n_bins - 1)."""
        # Halves of an interval of any size, without overflow.
        place = np.arange(1, self.n_bins) / self.n_bins
        inner = self.lower[:, np.newaxis] * (1 - place) + self.upper[:, np.newaxis] * place
        thresholds: FloatArray = np.maximum.accumulate(inner, axis=1)
        return thresholds

    def apply(self, X: ArrayLike) -> NDArray[np.int32]:
        """Return the bin of every value: how many thresholds lie at or below it.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Values outside the box are in an end bin.

        Returns
        -------
        bins : ndarray of int32 of shape (n, n_features)
        """
        rows = np.asarray(X, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != self.n_features:
            raise ValueError(f"X must have shape (n, {self.n_features}), got {rows.shape}")
        bins = np.empty(rows.shape, dtype=np.int32)
        for column, thresholds in enumerate(self.thresholds):
            bins[:, column] = np.searchsorted(thresholds, rows[:, column], side="right")
        return bins

    def rows_within(self, cells: IntArray, places: FloatArray) -> FloatArray:
        """Return rows in these bins, at places from 0 to below 1 of their width, of shape (n, n_features)."""
        share = (cells + places) / self.n_bins
        rows: FloatArray = self.lower * (1 - share) + self.upper * share
        return rows

    def to_dict(self) -> dict[str, Any]:
        """Return what `from_dict` restores, ready for JSON."""
        return {"lower": self.lower.tolist(), "upper": self.upper.tolist(), "n_bins": self.n_bins}

    @classmethod
    def from_dict(cls, state: Any) -> Self:
        """Restore bins from `to_dict`; ValueError for anything else."""
        fields = Fields(state, ("lower", "upper", "n_bins"), what="the bins of the columns")
        return cls.of(
            fields.numbers("lower"), fields.numbers("upper"), fields.integer("n_bins", 2, MOST_BINS)
        )
