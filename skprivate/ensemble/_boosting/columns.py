# SPDX-License-Identifier: BSD-3-Clause
"""What is declared of the columns of a table, as cells: bins, levels, and what is missing."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..._typing import FloatArray
from ...domain import TableDomain
from ...rounds._plans._additive.codes import MOST_CELLS, CodedFeature, FeatureCodes

# Cells of booleans where a missing value is written as 0.5.
_WITH_MISSING = (False, "missing", True)


@dataclass(frozen=True, eq=False)
class ColumnCells:
    """One column of the table as it was declared.

    Attributes
    ----------
    name : str
    feature : CodedFeature
        Its bins stand for those that are made when their number is known, unless `fixed`.
    lower, upper : float
        Bounds of numbers.
    fixed : bool
        Whether the cells are those of `feature` already.
    levels : tuple, or None
        What the cells stand for where they are levels.
    fill : float, or None
        The number that missing values become where they have no cell.
    """

    name: str
    feature: CodedFeature
    lower: float = 0.0
    upper: float = 1.0
    fixed: bool = False
    levels: tuple[Any, ...] | None = None
    fill: float | None = None

    @property
    def is_number(self) -> bool:
        """Whether the cells are bins of numbers."""
        return self.levels is None

    @property
    def has_order(self) -> bool:
        """Whether the cells, but that of missing values, have an order."""
        return self.feature.is_number

    @property
    def place_of_missing(self) -> int | None:
        """The cell of missing values among the levels; None where there is none."""
        return self.levels.index("missing") if self.levels == _WITH_MISSING else None

    @property
    def is_constant(self) -> bool:
        """Whether there is but one cell, whatever the number of bins."""
        if self.fixed:
            return self.feature.size < 2
        return self.lower >= self.upper and self.feature.missing is None

    def with_bins(self, n_bins: int) -> CodedFeature:
        """Return the feature with so many bins of equal width."""
        if self.fixed or self.lower >= self.upper:
            return self.feature
        # Weights of the bounds: their difference may overflow.
        part = np.arange(1, n_bins) / n_bins
        thresholds = np.unique(self.lower * (1 - part) + self.upper * part)
        return replace(self.feature, thresholds=thresholds)


def columns_of_numbers(
    lower: FloatArray, upper: FloatArray, names: Sequence[str] | None
) -> tuple[ColumnCells, ...]:
    """Return the columns of a table of numbers between bounds."""
    return tuple(
        ColumnCells(
            name=f"x{j}" if names is None else str(names[j]),
            feature=CodedFeature(j, np.empty(0)),
            lower=float(lower[j]),
            upper=float(upper[j]),
        )
        for j in range(len(lower))
    )


def columns_of_domain(domain: TableDomain, *, strict: bool) -> tuple[ColumnCells, ...]:
    """Return the declared columns of a table, whose rows are encoded.

    In strict mode cells that are no values count as missing in all columns, and levels have a cell for them.
    """
    found, at = [], 0
    for name, column in domain.columns.items():
        width = len(column.suffixes())
        indicator = at + width if column.missing == "indicator" else None
        filled = column.missing == "fill" or (strict and indicator is None)
        found.append(_declared(name, column, at, indicator, filled))
        at += width + (indicator is not None)
    return tuple(found)


def _declared(name: str, column: Any, at: int, indicator: int | None, filled: bool) -> ColumnCells:
    low, high = column.encoded_bounds()
    if column.kind == "categorical" and not column.ordered:
        # Rows of no level: missing ones.
        no_level = filled and column.fill is None
        feature = CodedFeature.of_levels(at, len(column.levels), indicator, no_level)
        return ColumnCells(name, feature, fixed=True, levels=tuple(column.levels))
    if column.kind == "categorical" or column.kind == "boolean":
        n_levels = len(column.levels) if column.kind == "categorical" else 2
        thresholds: FloatArray = np.arange(1.0, n_levels) - 0.5
        levels: tuple[Any, ...] = tuple(column.levels) if column.kind == "categorical" else (False, True)
        if column.kind == "boolean" and filled and column.fill is None:
            # A missing value is written as 0.5.
            thresholds, levels = np.array([0.25, 0.75]), _WITH_MISSING
        feature = CodedFeature(at, thresholds, missing=indicator)
        return ColumnCells(name, feature, low, high, fixed=True, levels=levels)
    fill = column.fill_value() if filled else None
    return ColumnCells(name, CodedFeature(at, np.empty(0), missing=indicator), low, high, fill=fill)


def make_codes(columns: Sequence[ColumnCells], n_bins: int) -> FeatureCodes:
    """Return the codes of the columns with so many bins at most."""
    return FeatureCodes(tuple(column.with_bins(n_bins) for column in columns))


def check_cells(columns: Sequence[ColumnCells], n_rows: int | None) -> None:
    """Refuse a column with more declared cells than there are rows.

    Parameters
    ----------
    columns : sequence of ColumnCells
    n_rows : int or None
        Where it is public.
    """
    for column in columns:
        size = column.feature.size if column.fixed else 1
        if size > MOST_CELLS:
            raise ValueError(f"column {column.name!r} has more than {MOST_CELLS} cells.")
        if n_rows is not None and size > n_rows:
            raise ValueError(
                f"column {column.name!r} has more cells than there are rows: {size} declared levels, and "
                f"{n_rows} rows. Declare fewer levels."
            )
