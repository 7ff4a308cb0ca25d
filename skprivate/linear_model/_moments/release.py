# SPDX-License-Identifier: BSD-3-Clause
"""The plan and the private release of the moments of an uncensored fit."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ..._typing import FloatArray, IndexArray, IntArray
from ...noise._fit_budget import FitBudget
from ...rounds._plans.grid import MomentGrid, choose_exponent
from ...utils._public_module import public_module
from .noise_scale import NoiseScales, gaussian_scales, laplace_scales, root_above
from .sensitivity import l1_moments, sensitivity_of_unit, squared_l2_moments
from .weights import MomentWeights


@public_module("skprivate.linear_model")
@dataclass(frozen=True, eq=False)
class MomentRelease:
    """Noisy moments of the scaled rows z = (1, y', x').

    Attributes
    ----------
    matrix : ndarray of shape (D, D)
        Sum of z z', symmetric; ``matrix[0, 0]`` is the number of rows, or a noisy one.
    noise_std : ndarray of shape (D, D)
        Standard deviation of the noise of every entry; 0 where none was added. An entry and its mirror image
        carry the same noise.
    mechanism : {"laplace", "gaussian"}
        Distribution of the noise.
    ends : HistogramRelease or None
        Counts of times within and beyond the bounds of the target, where they were released first.
    """

    matrix: FloatArray
    noise_std: FloatArray
    mechanism: str
    ends: Any = None


@dataclass(frozen=True, kw_only=True)
class Neighbours:
    """Neighbouring relation of tables, and the sensitivity of their moments.

    Attributes
    ----------
    weights : MomentWeights
    relation : {"replace-one", "add-remove"}
    rows_per_unit : int
        Rows of one person that count.
    grouped : bool
        Whether the unit is a group: its number of rows is then protected.
    max_weight : Fraction
        Largest weight of a row; other than 1 only in accumulators that take weights.
    """

    weights: MomentWeights
    relation: str = "replace-one"
    rows_per_unit: int = 1
    grouped: bool = False
    max_weight: Fraction | None = None

    @property
    def n_is_public(self) -> bool:
        """Whether the number (or the total weight) of the rows is public."""
        return self.relation == "replace-one" and not self.grouped and self.max_weight is None

    @property
    def l1(self) -> Fraction:
        """L1 sensitivity of the moments' coefficients, before the grid.

        A row of weight w counts as sqrt(w) v. That is a row of the same cube, its constant included, times
        sqrt(max_weight); so the bound for rows that may be absent holds, max_weight times as large.
        """
        one = l1_moments(self.weights, self.relation)
        return sensitivity_of_unit(one * (self.max_weight or 1), self.rows_per_unit)

    @property
    def squared_l2(self) -> Fraction:
        """Squared L2 sensitivity of the moments, before the grid."""
        one = squared_l2_moments(self.weights, self.relation)
        return sensitivity_of_unit(one * (self.max_weight or 1) ** 2, self.rows_per_unit, squared=True)


@dataclass(frozen=True, eq=False)
class MomentPlan:
    """The moments that are released, and the scales of their noise; `plan_moments` returns one."""

    grid: MomentGrid
    noise: NoiseScales
    rows: IndexArray
    columns: IndexArray
    unit: Fraction  # grid units of one unit of the sum of z z'

    def randomize(self, values: IntArray, entropy: Any) -> IntArray:
        """Return what is released of the sums: the number of rows where it is public, and noisy moments."""
        gram = values.reshape(self.grid.size, self.grid.size)
        n_is_public = self.columns[0] > 0
        known = gram[0, 0] if n_is_public else 0
        return np.append(np.int64(known), self.noise.randomize(gram[self.rows, self.columns], entropy))

    def read(self, released: IntArray) -> MomentRelease:
        """Return what was released, in units of the sum of z z'."""
        exact = np.zeros((self.grid.size, self.grid.size))
        exact[0, 0] = released[0]
        matrix = self._mirrored(released[1:].astype(np.float64), exact)
        std = self._mirrored(self.noise.std, np.zeros(exact.shape))
        return MomentRelease(matrix, std, self.noise.mechanism)

    def release(self, gram: IntArray, entropy: Any) -> MomentRelease:
        """Release the moments with noise."""
        return self.read(self.randomize(gram, entropy))

    def _mirrored(self, values: FloatArray, matrix: FloatArray) -> FloatArray:
        matrix[self.rows, self.columns] = values
        matrix[self.columns, self.rows] = values
        return matrix / float(self.unit)


def largest_scale(neighbours: Neighbours, budget: FitBudget) -> Fraction:
    """Return the largest scale of the noise before the grid, as `choose_exponent` takes it."""
    lightest = min(1, neighbours.weights.target, neighbours.weights.features) ** 2
    if budget.mechanism == "laplace":
        return 2 * neighbours.l1 / (budget.amount * lightest)
    variance = neighbours.squared_l2 / (2 * budget.amount * lightest**2)
    return Fraction(root_above(variance))


def plan_moments(
    grid: MomentGrid, neighbours: Neighbours, budget: FitBudget, weight_bits: int = 0
) -> MomentPlan:
    """Plan the release of all moments but a public number of rows.

    Parameters
    ----------
    grid : MomentGrid
    neighbours : Neighbours
    budget : FitBudget
    weight_bits : int, default=0
        The rows' weights were rounded to multiples of 2^-weight_bits, and are counted in these.
    """
    rows, columns = np.triu_indices(grid.size)
    if neighbours.n_is_public:
        rows, columns = rows[1:], columns[1:]
    unit = Fraction(4**grid.exponent * 2**weight_bits)
    # Classes of moments: by what is multiplied, and whether it is a square.
    kinds = np.minimum(np.arange(grid.size), 2)
    codes = 3 * kinds[rows] + kinds[columns] + 9 * (rows == columns)
    single = [1, neighbours.weights.target, neighbours.weights.features]
    pairs = [Fraction(one * other) for one in single for other in single]
    if budget.mechanism == "laplace":
        weights = pairs + [pair / 2 for pair in pairs]
        noise = laplace_scales(weights, codes, neighbours.l1 * unit, budget.amount)
    else:
        squares = [2 * pair**2 for pair in pairs] + [pair**2 for pair in pairs]
        noise = gaussian_scales(squares, codes, neighbours.squared_l2 * unit**2, budget.amount)
    return MomentPlan(grid, noise, rows, columns, unit)


def make_grid(
    lower: FloatArray,
    upper: FloatArray,
    target: tuple[float, float],
    x_norm: float | None,
    *,
    n_rows: int,
    neighbours: Neighbours,
    budget: FitBudget,
) -> MomentGrid:
    """Return the finest grid on which the sums and the noise of a fit are safe."""
    exponent = choose_exponent(n_rows, largest_scale(neighbours, budget))
    return MomentGrid(
        lower=lower,
        upper=upper,
        target=target,
        exponent=exponent,
        x_norm=x_norm,
        norm_order=neighbours.weights.norm_order,
    )
