# SPDX-License-Identifier: BSD-3-Clause
"""The plan of looks at residuals: grids, sensitivities and noise, by public numbers alone."""

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from ..._typing import FloatArray, IntArray
from ...noise._fit_budget import FitBudget
from ...rounds._driver import Round
from ...rounds._plans._looks.looks import LooksPlan
from ...rounds._plans._looks.residuals import BLOCK_ROWS, ResidualAxis
from ...rounds._plans.cells import CellsPlan
from ...rounds._plans.gram import EXACT
from ...rounds._plans.grid import FINEST, SCALE_BITS, SUM_BITS, MomentGrid
from .noise_scale import NoiseScales, gaussian_scales, laplace_scales
from .release import Neighbours
from .sensitivity import l1_look, sensitivity_of_unit, square_weights, squared_l2_look

# Bits of rows and of residuals below which there are no looks: rounding toward zero would show.
_FEWEST_BITS = 7
#: Cells of the counts: between quantiles of the distribution, and two beyond.
N_CELLS = 50


@dataclass(frozen=True, eq=False)
class LookPlan:
    """What is public about the looks of a fit.

    Attributes
    ----------
    neighbours : Neighbours
    mechanism : {"laplace", "gaussian"}
    bits : int
        Of rows, and of residuals.
    """

    neighbours: Neighbours
    mechanism: str
    bits: int

    def look(self, grid: MomentGrid, line: FloatArray, clip: float, amount: Fraction) -> Round:
        """Return a look about a line for `amount` of epsilon, or rho.

        Notes
        -----
        **Privacy**: residuals and rows are integers within their bounds, whatever the line and the clip are,
        so that the sums have the sensitivity of `l1_look` or `squared_l2_look`, times the rows of a unit.
        """
        sums = LooksPlan(replace(grid, exponent=self.bits), line, clip, self.bits)
        noise = self.noise(grid.n_features, amount)
        return Round(sums, noise, release=noise.describe("sums of clipped residuals"))

    def noise(self, n_features: int, amount: Fraction) -> NoiseScales:
        """Return the scales of the noise of a look."""
        weights = self.neighbours.weights
        codes = np.array([0, *[1] * n_features, 2])
        unit = Fraction(4**self.bits)
        square, squared = square_weights(weights)
        if self.mechanism == "laplace":
            classes = [Fraction(1) / unit, weights.features / unit, square / unit]
            return laplace_scales(classes, codes, self._sensitivity, amount)
        classes = [1 / unit**2, weights.features**2 / unit**2, squared / unit**2]
        return gaussian_scales(classes, codes, self._sensitivity, amount)

    @property
    def _sensitivity(self) -> Fraction:
        gaussian = self.mechanism == "gaussian"
        one = squared_l2_look if gaussian else l1_look
        bound = one(self.neighbours.weights, self.neighbours.relation)
        return sensitivity_of_unit(bound, self.neighbours.rows_per_unit, squared=gaussian)

    def noise_of_counts(self, n_cells: int, amount: Fraction) -> NoiseScales:
        """Return the scales of the noise of counts of residuals."""
        gaussian = self.mechanism == "gaussian"
        one = Fraction(1 if self.neighbours.relation == "add-remove" else 2)
        sensitivity = sensitivity_of_unit(one, self.neighbours.rows_per_unit, squared=gaussian)
        planner = gaussian_scales if gaussian else laplace_scales
        return planner([Fraction(1)], np.zeros(n_cells, dtype=np.intp), sensitivity, amount)

    def hides_quartiles(self, n: float, amount: Fraction) -> bool:
        """Return whether the noise of counts of n residuals hides what the looks start from.

        A quartile is where half of the cells, or fewer, add up to a quarter of the rows: it is hidden where
        the standard deviation of the noise of that sum is a quarter of the rows.
        """
        std = float(self.noise_of_counts(N_CELLS, amount).std[0])
        return std * float(np.sqrt(N_CELLS / 2)) > n / 4

    def residual_counts(
        self, grid: MomentGrid, line: FloatArray, edges: FloatArray, amount: Fraction
    ) -> Round:
        """Return the round of counts of residuals between edges.

        Notes
        -----
        **Privacy**: a row is in one cell: replaced, it moves the counts by 2 in L1 and in squared L2, added
        or removed by 1.
        """
        cells = CellsPlan(((ResidualAxis(replace(grid, exponent=self.bits), line, edges),),))
        noise = self.noise_of_counts(cells.n_sums, amount)
        return Round(cells, noise, release=noise.describe("counts of residuals"))

    def read(self, step: Round, released: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return sums of r, r x' and r^2, r in clips, and the standard deviations of their noise."""
        unit = 4.0**self.bits
        return released / unit, step.noise.std / unit  # type: ignore[attr-defined]


def plan_looks(
    neighbours: Neighbours, budget: FitBudget, n_rows: int, least_amount: Fraction
) -> LookPlan | None:
    """Choose the grid of looks by public numbers alone; None where no grid is fine enough for so many rows.

    Parameters
    ----------
    neighbours : Neighbours
    budget : FitBudget
    n_rows : int
        Largest number of rows.
    least_amount : Fraction
        Least epsilon, or rho, of a look.
    """
    draft = LookPlan(neighbours, budget.mechanism, 0)
    scale = int(draft.noise(1, least_amount).scales.max())
    room = min(
        SCALE_BITS - scale.bit_length(),
        SUM_BITS - (n_rows - 1).bit_length(),
        EXACT.bit_length() - 1 - (BLOCK_ROWS - 1).bit_length(),
    )
    bits = min(room // 2, FINEST)
    return None if bits < _FEWEST_BITS else replace(draft, bits=bits)
