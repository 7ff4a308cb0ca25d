# SPDX-License-Identifier: BSD-3-Clause
"""Shape functions and importances of a fitted boosting, and columns that are not as declared."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._typing import FloatArray
from ..base._likely_mistakes import BoundedColumn, least_share
from ..domain import TableDomain
from ..rounds._plans.boosting import UNIT, CellGrid
from ..utils._public_module import public_module
from ._plan import ColumnCells
from ._release import BoostingRelease, BoostingTask, NoisyCounts

# The effect of each feature in a fitted boosting: values by cell, their noise, importances, and other steps.


@public_module("skprivate.ensemble")
@dataclass(frozen=True, eq=False)
class ShapeFunction:
    """The effect of one feature on the scores, cell by cell.

    Attributes
    ----------
    name : str
        The column; ``public_model`` for the score of a public model.
    edges : ndarray of shape (n_bins + 1,), or None
        Bounds of the bins of numbers, lower ends included. A value below the first bound or above the last
        is in the end bin. Dates are days since the declared lower bound. None: the cells are levels.
    levels : tuple, or None
        The declared level of every cell, if the cells are levels.
    has_missing : bool
        Whether the last cell is that of missing values.
    values : ndarray of shape (n_cells,) or (n_cells, n_classes)
        For two classes, logits of the second one. For three or more, logarithms of odds of every class. For
        numbers, in the unit of y. Their mean over the rows is 0, by noisy counts.
    std : ndarray of the shape of `values`
        Standard deviation of the noise from the sums of this column's own steps, for these cells and sizes.
        It is only a part of the error. In correlated columns or small cells, it is not the largest part. It
        does not include noise of other columns' steps, noise of the counts that made the cells, and the
        random choice of the rows.
    sizes : ndarray of shape (n_cells,)
        Numbers of rows, estimated from noisy counts.

    See Also
    --------
    skprivate.DPBoostingClassifier : Has one shape function for every column.

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate import DPBoostingRegressor
    >>> X = np.random.default_rng(0).uniform(size=(20000, 1))
    >>> model = DPBoostingRegressor(4.0, bounds_X=(0, 1), bounds_y=(0, 1)).fit(X, X[:, 0])
    >>> shape = model.shape_functions_[0]
    >>> bool(shape.values[0] < 0 < shape.values[-1]), len(shape.labels) == len(shape.edges) - 1
    (True, True)
    """

    name: str
    edges: FloatArray | None
    levels: tuple[Any, ...] | None
    has_missing: bool
    values: FloatArray
    std: FloatArray
    sizes: FloatArray

    @property
    def labels(self) -> list[str]:
        """Names of the cells, for axes and tables."""
        if self.edges is not None:
            inner = [
                f"{low:.6g} to {high:.6g}" for low, high in zip(self.edges, self.edges[1:], strict=False)
            ]
        else:
            inner = [str(level) for level in self.levels or ()]
        return inner + ["missing"] * self.has_missing


@public_module("skprivate.ensemble")
@dataclass(frozen=True, eq=False)
class RandomCells:
    """One step on random cells of several features.

    Attributes
    ----------
    names : tuple of str
        The columns.
    grid : CellGrid
        Groups of the codes of these columns. A cell is one group of each column; the last column changes
        fastest.
    values : ndarray of shape (n_cells,) or (n_cells, n_classes)
        Values that are added to the scores, in the units of shape functions.
    std : ndarray of the shape of `values`
        Standard deviation of the noise from the sums of this step.
    sizes : ndarray of shape (n_cells,)
        Numbers of rows, estimated from noisy counts as if the columns were independent.

    See Also
    --------
    skprivate.DPBoostingClassifier : Has one object for every such step.

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate import DPBoostingClassifier
    >>> X = np.random.default_rng(0).uniform(size=(20000, 2))
    >>> y = (X[:, 0] > 0.5) ^ (X[:, 1] > 0.5)
    >>> model = DPBoostingClassifier(4.0, bounds=(0, 1), classes=[False, True], interactions=5).fit(X, y)
    >>> step = model.interactions_[0]
    >>> step.names, step.values.shape, step.grid.shape
    (('x0', 'x1'), (4,), (2, 2))
    """

    names: tuple[str, ...]
    grid: CellGrid
    values: FloatArray
    std: FloatArray
    sizes: FloatArray


def random_cells_of(
    columns: Sequence[ColumnCells], release: BoostingRelease, unit: float
) -> tuple[RandomCells, ...]:
    """Return the steps on random cells, in the units of scores."""
    found = []
    for grid, weights, stds, sizes in release.grids:
        names = tuple(columns[number].name for number in grid.features)
        found.append(RandomCells(names, grid, _squeezed(weights * unit), _squeezed(stds * unit), sizes))
    return tuple(found)


def shapes_of(
    columns: Sequence[ColumnCells], release: BoostingRelease, unit: float
) -> tuple[tuple[ShapeFunction, ...], FloatArray]:
    """Return the centred shape functions and the constant, in the units of scores.

    Parameters
    ----------
    columns : sequence of ColumnCells
    release : BoostingRelease
    unit : float
        Factor of a score.
    """
    found = []
    constant = release.model.base.astype(np.float64) * (UNIT * unit)
    rows = zip(columns, release.model.tables, release.variances, release.sizes, strict=True)
    for number, (column, table, variance, sizes) in enumerate(rows):
        values = table.astype(np.float64) * (UNIT * unit)
        mean = np.average(values, axis=0, weights=_weights(sizes))
        constant = constant + mean
        feature = release.model.codes.features[number]
        edges = np.array([column.lower, *feature.thresholds, column.upper]) if column.is_number else None
        found.append(
            ShapeFunction(
                name=column.name,
                edges=edges,
                levels=column.levels,
                has_missing=feature.has_missing,
                values=_squeezed(values - mean),
                std=_squeezed(np.sqrt(variance) * unit),
                sizes=sizes.copy(),
            )
        )
    return tuple(found), constant


def importances_of(
    shapes: Sequence[ShapeFunction], interactions: Sequence[RandomCells], n_features: int
) -> FloatArray:
    """Return the share of every column in the variation of scores, of shape (n_features,).

    The part of a column is the root of the variance of its shape function over the rows, by noisy counts.
    That of a step on several features is divided equally among them.
    """
    found = np.array([_spread(shape.values, shape.sizes) for shape in shapes])
    for step in interactions:
        found[list(step.grid.features)] += _spread(step.values, step.sizes) / len(step.names)
    found = found[:n_features]
    total = found.sum()
    return found / total if total > 0 else found


def _spread(values: FloatArray, sizes: FloatArray) -> float:
    weights = _weights(sizes)
    table = values.reshape(len(values), -1)
    mean = np.average(table, axis=0, weights=weights)
    return float(np.sqrt(np.average((table - mean) ** 2, axis=0, weights=weights).sum()))


def _weights(counts: FloatArray) -> FloatArray:
    held = np.maximum(counts, 0.0)
    return held if held.sum() > 0 else np.ones(len(counts))


def _squeezed(table: FloatArray) -> FloatArray:
    return table[:, 0] if table.shape[1] == 1 else table


# Columns that are not as declared, by the first counts of cells.

# Width of a bin that is narrow enough to hold few values that were not filled in, as a share of the bounds'
# distance.
_NARROW = 0.02
# Width of a bin at a bound whose values are near the bound.
_WIDE = 0.1


def least_missing(
    task: BoostingTask, release: BoostingRelease, domain: TableDomain | None
) -> dict[str, float]:
    """Return a lower limit of the share of cells that are missing or undeclared, if it is known.

    Without a cell of their own, they are in the bin of the value that is filled in. They are then known if
    this bin is narrow and holds nearly all rows.
    """
    limits = {}
    for column, found in _counted(task, release):
        place = found.feature.n_bins if found.feature.has_missing else column.place_of_missing
        if place is not None:
            share, std = float(found.counts[place]) / release.n_rows, found.std / release.n_rows
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
    """Return the columns of numbers and dates, with the rows that are not in the bins at their bounds."""
    columns = []
    for column, found in _counted(task, release):
        kind = "number" if domain is None else domain.columns[column.name].kind
        if column.is_number and kind in ("number", "date"):
            bounded = _bounded(column, found, release.n_rows, (0, found.feature.n_bins - 1))
            columns.append(replace(bounded, is_date=kind == "date"))
    return columns


def _counted(task: BoostingTask, release: BoostingRelease) -> Iterator[tuple[ColumnCells, NoisyCounts]]:
    # The score of a public model is not a column of the table.
    own = len(task.columns) - bool(task.offsets)
    return ((task.columns[j], found) for j, found in release.counted.items() if j < own)


def _bounded(column: ColumnCells, found: NoisyCounts, n_rows: int, bins: tuple[int, int]) -> BoundedColumn:
    """Return the column with the share of the rows outside each of two bins; 1 if a bin is wide."""
    missing = found.counts[found.feature.n_bins] if found.feature.has_missing else 0.0
    rows = max(n_rows - missing, 1.0)
    is_narrow = [_width(column, found, place) < _WIDE for place in bins]
    shares = [float(found.counts[place]) / rows for place in bins]
    below, above = (1.0 - share if narrow else 1.0 for share, narrow in zip(shares, is_narrow, strict=True))
    return BoundedColumn(column.name, column.lower, column.upper, below, above, found.std / rows)


def _width(column: ColumnCells, found: NoisyCounts, place: int) -> float:
    edges = [column.lower, *found.feature.thresholds, column.upper]
    return float(edges[place + 1] - edges[place]) / (column.upper - column.lower)
