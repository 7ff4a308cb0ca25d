# SPDX-License-Identifier: BSD-3-Clause
"""The validated rows of one fit, and everything public about it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._typing import FloatArray, IndexArray
from ..noise._fit_budget import FitBudget
from ..rounds._plans.grid import MANY_ROWS, MomentGrid
from ..rounds._plans.rows import PreparedRows
from ..rounds._reading.lives import Target, within_target_bounds
from ..rounds._reading.targets import on_model_scale
from ..utils import check_bounds
from ..utils._groups import RowUnits
from ._distributions import ErrorDistribution
from ._moments.release import Neighbours, make_grid

# Bounds of scale_ where none are declared, in half-widths of the target: no distribution whose scale is
# beyond 2 keeps to the bounds of the target, and 1e-3 is 500 times finer than a histogram between them shows.
_SCALE_RANGE = (1e-3, 2.0)
# Declared bounds of scale_, and these in half-widths of the target: the squares of both are floats.
_NARROWEST, _WIDEST = 1e-70, 1e70
_LEAST, _GREATEST = 1e-100, 1e100


@dataclass(frozen=True, eq=False)
class SurvivalRows:
    """Validated private rows: features, target on the scale of the model, and persons."""

    X: FloatArray
    target: Target
    units: RowUnits | None

    @property
    def n_units(self) -> int:
        """Number of persons, or of rows."""
        return len(self.X) if self.units is None else self.units.n_units

    def prepare(
        self, kept: IndexArray | None, kinds: tuple[str, ...], bounds: tuple[float, float]
    ) -> PreparedRows:
        """Return the rows that are kept as rounds read them, what is said of each within the bounds."""
        target = within_target_bounds(self.target, kinds, bounds)
        rows = PreparedRows(
            self.X,
            y=target.time_on_model_scale,
            event=target.event,
            start=target.start,
            entry=target.entry,
        )
        return rows.keeping(kept).only_kept()


@dataclass(frozen=True, eq=False, kw_only=True)
class FitTask:
    """Everything public about one fit."""

    distribution: ErrorDistribution
    log_target: bool
    bounds: tuple[FloatArray, FloatArray]
    bounds_y: tuple[float, float]  # in the units passed to fit
    neighbours: Neighbours
    budget: FitBudget
    n_units: int | None  # None: protected
    scale_bounds: tuple[float, float] | None  # on the scale of the model
    leaks: Mapping[str, str] = field(default_factory=dict)  # parameter -> what was read in its place

    @property
    def target(self) -> tuple[float, float]:
        """Bounds of the target on the scale of the model."""
        return on_model_scale(self.bounds_y, self.log_target)

    @property
    def n_rows(self) -> int:
        """Number of rows that the sums on the grid must hold."""
        return self.n_units if self.neighbours.n_is_public and self.n_units is not None else MANY_ROWS

    def grid(self, x_norm: float | None, budget: FitBudget) -> MomentGrid:
        """Return the grid of moments that are released for a part of the budget, or all of it."""
        return make_grid(
            *self.bounds, self.target, x_norm, n_rows=self.n_rows, neighbours=self.neighbours, budget=budget
        )

    def scale_limits(self, grid: MomentGrid) -> tuple[float, float]:
        """Bounds of the scale in scaled units."""
        if self.scale_bounds is None:
            return _SCALE_RANGE
        scaled = np.clip(np.divide(self.scale_bounds, grid.y_half), _LEAST, _GREATEST)
        return float(scaled[0]), float(scaled[1])


def check_scale_bounds(bounds: Any) -> tuple[float, float]:
    """Return declared bounds of the scale as two floats above 0."""
    lower, upper = check_bounds(bounds, 1, name="scale_bounds")
    if lower[0] <= 0:
        raise ValueError("scale_bounds must be above 0.")
    if not (lower[0] >= _NARROWEST and upper[0] <= _WIDEST):
        raise ValueError("scale_bounds are too close to 0 or too far from it for floats.")
    return float(lower[0]), float(upper[0])
