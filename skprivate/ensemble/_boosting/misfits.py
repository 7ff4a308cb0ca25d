# SPDX-License-Identifier: BSD-3-Clause
"""What the first counts of cells tell of columns that are not what is declared."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ...base._likely_mistakes import BoundedColumn, least_share
from ...domain import TableDomain
from .cells import NoisyCounts
from .columns import ColumnCells
from .release import BoostingRelease, BoostingTask

# Width of a bin, as a share of the bounds', in which values that are not filled in are no more than others.
_NARROW = 0.02
# Width of a bin at a bound, in which values are near it.
_WIDE = 0.1


def least_missing(
    task: BoostingTask, release: BoostingRelease, domain: TableDomain | None
) -> dict[str, float]:
    """Return a lower limit of the share of cells that are missing or undeclared, where that is known.

    Without a cell for them they are in the bin of the value that is filled in: if nearly all rows are in it,
    and it is narrow.
    """
    limits = {}
    for column, found in _counted(task, release):
        place = found.feature.n_bins if found.feature.has_missing else column.place_of_missing
        if place is not None:
            share, std = _share(found, release.n_rows, place), found.std / release.n_rows
            limits[column.name] = least_share(domain, column.name, share, std)
        elif column.fill is not None:
            place = int(np.searchsorted(found.feature.thresholds, column.fill, side="right"))
            middle = _bounded(column, found, release.n_rows, (place, place))
            if middle.is_near(middle.below) and _width(column, found, place) < _NARROW:
                limits[column.name] = 1.0 - middle.below
    return limits


def bounded_columns(
    task: BoostingTask, release: BoostingRelease, domain: TableDomain | None
) -> list[BoundedColumn]:
    """Return the columns of numbers and dates, and the rows that are not in the bins at their bounds."""
    columns = []
    for column, found in _counted(task, release):
        kind = "number" if domain is None else domain.columns[column.name].kind
        if column.is_number and kind in ("number", "date"):
            bounded = _bounded(column, found, release.n_rows, (0, found.feature.n_bins - 1))
            columns.append(replace(bounded, is_date=kind == "date"))
    return columns


def _counted(task: BoostingTask, release: BoostingRelease) -> Iterator[tuple[ColumnCells, NoisyCounts]]:
    # The score of a public model is no column of the table.
    own = len(task.columns) - bool(task.offsets)
    return ((task.columns[j], found) for j, found in release.counted.items() if j < own)


def _bounded(column: ColumnCells, found: NoisyCounts, n_rows: int, bins: tuple[int, int]) -> BoundedColumn:
    """Return the column with the share of the rows that are in none of two bins; 1 where a bin is wide."""
    missing = found.counts[found.feature.n_bins] if found.feature.has_missing else 0.0
    rows = max(n_rows - missing, 1.0)
    below, above = (
        1.0 - _share(found, rows, place) if _width(column, found, place) < _WIDE else 1.0 for place in bins
    )
    return BoundedColumn(column.name, column.lower, column.upper, below, above, found.std / rows)


def _share(found: NoisyCounts, n_rows: float, place: int) -> float:
    return float(found.counts[place]) / n_rows


def _width(column: ColumnCells, found: NoisyCounts, place: int) -> float:
    edges = [column.lower, *found.feature.thresholds, column.upper]
    return float(edges[place + 1] - edges[place]) / (column.upper - column.lower)
