# SPDX-License-Identifier: BSD-3-Clause
"""Tables drawn from public rows: whole rows with replacement, whose numbers are moved a little."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from ..._typing import FloatArray
from ...domain import TableDomain
from ...utils import is_frame
from ...utils._compat import num_samples, safe_indexing

# A column of numbers with fewer different values may be a code, and is not moved.
_FEW_VALUES = 10
# Bandwidth for one normal column, in its standard deviations: 0.9 m^(-1/5), Silverman's rule.
_BANDWIDTH, _RATE = 0.9, -0.2


@dataclass(frozen=True)
class _Column:
    """Public values of a column of numbers, in order, and whether most of them differ."""

    ordered: FloatArray
    continuous: bool

    def move(self, values: FloatArray, share: float, rng: np.random.Generator) -> FloatArray:
        """Return values whose normal scores have moved: a new row has the distribution of the public ones."""
        known = np.isfinite(values)
        left, right = (np.searchsorted(self.ordered, values[known], side=side) for side in ("left", "right"))
        ranks = (left + rng.uniform(size=len(left)) * (right - left)) / len(self.ordered)
        tail = 0.5 / len(self.ordered)
        scores = ndtri(np.clip(ranks, tail, 1 - tail))
        moved = ndtr(np.sqrt(1 - share**2) * scores + share * rng.normal(size=len(scores)))
        result = values.copy()
        if self.continuous:
            places = (np.arange(len(self.ordered)) + 0.5) / len(self.ordered)
            result[known] = np.interp(moved, places, self.ordered)
        else:
            result[known] = self.ordered[
                np.minimum(moved * len(self.ordered), len(self.ordered) - 1).astype(int)
            ]
        return result


class PublicTable:
    """Public rows as the estimator takes them, and as numbers.

    Parameters
    ----------
    table : array-like or data frame of shape (m, d)
    domain : TableDomain or None
        None: numbers are taken as they are, and a table of other values by the domain of the public rows.

    Attributes
    ----------
    table : ndarray or data frame
    encoded : ndarray of float64 of shape (m, k)
    is_moved : bool
        Whether any column is.
    """

    def __init__(self, table: Any, domain: TableDomain | None) -> None:
        self.table: Any = table if is_frame(table) else np.asarray(table)
        self._domain = domain
        if domain is None:
            try:
                np.asarray(self.table, dtype=np.float64)
            except (TypeError, ValueError):
                self._domain = TableDomain.from_public(table)
        self.encoded = self.encode(self.table)
        self._columns = self._find_columns()
        self._share = min(_BANDWIDTH * len(self) ** _RATE, 1.0)
        self.is_moved = bool(self._columns)

    def __len__(self) -> int:
        return num_samples(self.table)

    def encode(self, table: Any) -> FloatArray:
        """Return rows as numbers."""
        if self._domain is not None:
            return self._domain.encode(table)
        return np.asarray(table, dtype=np.float64)

    def draw(self, n: int, rng: np.random.Generator) -> Any:
        """Return rows of the same kind as the public ones."""
        drawn = safe_indexing(self.table, rng.integers(len(self), size=n))
        if not is_frame(drawn):
            drawn = np.array(drawn)
            for place, column in self._columns.items():
                drawn[:, place] = column.move(drawn[:, place].astype(np.float64), self._share, rng)
            return drawn
        moved = {
            name: column.move(drawn[name].to_numpy(dtype=np.float64), self._share, rng)
            for name, column in self._columns.items()
        }
        return drawn.reset_index(drop=True).assign(**moved) if moved else drawn

    def _find_columns(self) -> dict[Any, _Column]:
        """Return the columns of numbers that are moved, by name or place; only those of pandas and NumPy."""
        named: dict[Any, NDArray[Any]]
        if not is_frame(self.table):
            named = dict(enumerate(self.table.T)) if self.table.dtype.kind in "fiu" else {}
        elif hasattr(self.table, "assign"):
            named = {name: self.table[name].to_numpy() for name in self.table.columns}
        else:
            named = {}
        columns = {}
        for name, values in named.items():
            if values.dtype.kind not in "fiu":
                continue
            ordered = np.sort(values[np.isfinite(values)].astype(np.float64))
            n_values = len(np.unique(ordered))
            if n_values >= _FEW_VALUES:
                columns[name] = _Column(ordered, n_values > len(ordered) / 2)
        return columns
