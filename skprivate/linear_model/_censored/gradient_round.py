# SPDX-License-Identifier: BSD-3-Clause
"""Sums of residuals and curvatures in a round of a censored fit: exact integers, and their release."""

import functools
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, isqrt
from typing import Any

import numpy as np

from ..._typing import FloatArray, IntArray
from ...rounds._driver import Round
from ...rounds._plans.gradients import BLOCK_ROWS, GradientsPlan, ResidualGrid, count_sums
from ...rounds._plans.gram import EXACT
from ...rounds._plans.grid import SCALE_BITS, SUM_BITS, MomentGrid
from ...utils._public_module import public_module
from .._moments.noise_scale import NoiseScales, gaussian_scales, laplace_scales
from .._moments.release import Neighbours
from .._moments.sensitivity import sensitivity_of_unit
from .._moments.weights import MomentWeights
from .sensitivity import (
    Residuals,
    l1_curvature,
    l1_gradient,
    squared_l2_curvature,
    squared_l2_gradient,
)

# Bits of the grids. The gradient decides where rounds end, and the curvature only how fast: its weights have
# fewer bits. Fewer than _FEWEST_BITS would round most rows away.
_EXPONENT = 14
_RESIDUAL_BITS = 20
_CURVATURE_BITS = 12
_FEWEST_BITS = 3
# Weight of the gradient beside the curvature, where both are released; weights (1, 2, 2) for the latter.
_GRADIENT_WEIGHT = 2


@public_module("skprivate.linear_model")
@dataclass(frozen=True, eq=False)
class GradientRound:
    """One released round, in scaled units.

    Attributes
    ----------
    theta : ndarray of shape (D,)
        Where the round was taken: the standardised error is theta . z.
    events : float
        Noisy number of events that are left within the cuts, less what `residuals_of` takes off.
    events_std : float
        Standard deviation of its noise.
    gradient, gradient_std : ndarray of shape (D,)
        Noisy sum of residual times z.
    curvature, curvature_std : ndarray of shape (D, D), or None
        Noisy sum of curvature times z z', where the round released it.
    less : float
        How much less than the number of events rows of intervals, and rows with an entry, tell of the scale;
        noisy, 0 where there are none.
    """

    theta: FloatArray
    events: float
    events_std: float
    gradient: FloatArray
    gradient_std: FloatArray
    curvature: FloatArray | None = None
    curvature_std: FloatArray | None = None
    less: float = 0.0

    @property
    def score(self) -> FloatArray:
        """Noisy derivative of the log likelihood by theta."""
        score = self.gradient.copy()
        score[1] += max(self.events, 1.0) / self.theta[1]
        return score

    @property
    def score_variance(self) -> FloatArray:
        """Variances of its noise."""
        variance = self.gradient_std**2
        variance[1] += (self.events_std / self.theta[1]) ** 2
        return variance

    @property
    def scale_information(self) -> float:
        """Information about the logarithm of the scale beside that of the curvature, at least 1."""
        return max(self.events - self.less, 1.0)


@dataclass(frozen=True, eq=False)
class RoundPlan:
    """Grids and sensitivities of the rounds of one fit: public.

    Attributes
    ----------
    neighbours : Neighbours
    residuals : Residuals
    mechanism : {"laplace", "gaussian"}
    exponent : int
        Of the rows in the gradient.
    coarse : int
        Of the rows in the curvature.
    residual_bits, curvature_bits : int
        The residuals and the curvatures are multiples of 2^-bits.
    """

    neighbours: Neighbours
    residuals: Residuals
    mechanism: str
    exponent: int
    coarse: int
    residual_bits: int
    curvature_bits: int

    @property
    def n_counts(self) -> int:
        """Number of integers before the gradient: events and, with other kinds, the information less."""
        return count_sums(self.residuals.observations)

    @property
    def gradient_weights(self) -> MomentWeights:
        """Weights of the entries of z in the gradient."""
        return self.neighbours.weights

    @property
    def curvature_weights(self) -> MomentWeights:
        """Weights of the entries of z in the curvature, where the constant matters less."""
        weights = self.neighbours.weights
        return MomentWeights(2, 2 * weights.features, weights.n_features, weights.norm_order)

    def sensitivity(self, with_curvature: bool) -> Fraction:
        """Sensitivity of one round, L1 or squared L2, to one unit.

        That of the gradient and the number of events, times the weight of both, plus that of the curvature:
        distances of parts of a vector add up, and so do their squares.
        """
        squared = self.mechanism == "gaussian"
        total = self._gradient_sensitivity
        if with_curvature:
            curvature = squared_l2_curvature if squared else l1_curvature
            total *= _GRADIENT_WEIGHT ** (2 if squared else 1)
            total += curvature(self.residuals, self.curvature_weights, self.neighbours.relation)
        return sensitivity_of_unit(total, self.neighbours.rows_per_unit, squared=squared)

    @functools.cached_property
    def _gradient_sensitivity(self) -> Fraction:
        # The maximum over all pairs of corners takes long, and every round asks for it.
        gradient = squared_l2_gradient if self.mechanism == "gaussian" else l1_gradient
        return gradient(self.residuals, self.gradient_weights, self.neighbours.relation)

    def noise(self, size: int, amount: Fraction, with_curvature: bool) -> NoiseScales:
        """Plan the noise of one round: the number of events, the gradient, then the curvature's triangle."""
        kinds = np.minimum(np.arange(size), 2)
        weights = [Fraction(1, 2**self.residual_bits), *self._gradient_classes()]
        codes = np.concatenate([[0] * self.n_counts, 1 + kinds])
        power = 2 if self.mechanism == "gaussian" else 1
        classes = [weight**power for weight in weights]
        if with_curvature:
            classes = [weight * _GRADIENT_WEIGHT**power for weight in classes]
            classes += self._curvature_classes()
            rows, columns = np.triu_indices(size)
            codes = np.concatenate([codes, 4 + 3 * kinds[rows] + kinds[columns] + 9 * (rows == columns)])
        plan = gaussian_scales if self.mechanism == "gaussian" else laplace_scales
        return plan(classes, codes, self.sensitivity(with_curvature), amount)

    def sums(self, grid: MomentGrid, theta: FloatArray, with_curvature: bool) -> GradientsPlan:
        """Return what a round around theta adds up over rows."""
        fine, short = 2**self.residual_bits, 2**self.curvature_bits
        limits = self.residuals.limits(fine, short)
        largest = np.finfo(np.float64).max
        # JSON has no infinity, and no error passes the largest number.
        low, high = (float(np.clip(cut, -largest, largest)) for cut in self.residuals.cuts)
        residuals = ResidualGrid(
            self.residuals.code,
            (low, high),
            self.residual_bits,
            self.curvature_bits,
            tuple(float(limit) for limit in limits),
            self.residuals.observations,
        )
        rows = replace(grid, exponent=self.exponent)
        return GradientsPlan(rows, residuals, theta, self.coarse if with_curvature else None)

    def round_at(self, grid: MomentGrid, theta: FloatArray, amount: Fraction, with_curvature: bool) -> Round:
        """Return a round around theta for `amount` of epsilon, or rho.

        Notes
        -----
        **Privacy**: the sums are integers with the sensitivity that `sensitivity` proves, whatever theta is;
        discrete noise makes the release private with `amount`. Rounds around parameters that earlier releases
        chose compose: their amounts add up.
        """
        sums = self.sums(grid, theta, with_curvature)
        noise = self.noise(grid.size, amount, with_curvature)
        name = (
            "number of events, gradients and curvature"
            if with_curvature
            else "number of events and gradients"
        )
        return Round(sums, _RoundNoise(sums, noise), release=noise.describe(name))

    def read(self, step: Round, released: IntArray) -> GradientRound:
        """Return what a round of `round_at` released, in scaled units."""
        sums, std = step.plan, step.noise.scales.std  # type: ignore[attr-defined]
        noisy, size = released.astype(np.float64), sums.grid.size  # type: ignore[attr-defined]
        fine = 2.0**self.residual_bits
        unit = 2.0**self.exponent * fine
        first = self.n_counts
        vector = slice(first, size + first)
        theta = sums.theta  # type: ignore[attr-defined]
        result = GradientRound(
            theta, noisy[0] / fine, std[0] / fine, noisy[vector] / unit, std[vector] / unit
        )
        if first > 1:
            result = replace(result, less=noisy[1] / fine)
        if len(noisy) == size + first:
            return result
        unit = 2.0 ** (2 * self.coarse + self.curvature_bits)
        full, full_std = (mirrored(values[size + first :] / unit, size) for values in (noisy, std))
        return replace(result, curvature=full, curvature_std=full_std)

    def _gradient_classes(self) -> list[Fraction]:
        weights = self.gradient_weights
        unit = 2 ** (self.exponent + self.residual_bits)
        return [Fraction(weight, unit) for weight in (1, weights.target, weights.features)]

    def _curvature_classes(self) -> list[Fraction]:
        weights = self.curvature_weights
        unit = 2 ** (2 * self.coarse + self.curvature_bits)
        single = [1, weights.target, weights.features]
        pairs = [Fraction(one * other, unit) for one in single for other in single]
        if self.mechanism == "gaussian":
            return [2 * pair**2 for pair in pairs] + [pair**2 for pair in pairs]
        return pairs + [pair / 2 for pair in pairs]


def plan_rounds(
    neighbours: Neighbours, residuals: Residuals, mechanism: str, n_rows: int, least_amount: Fraction
) -> RoundPlan:
    """Choose the grids of the rounds by public numbers alone.

    Parameters
    ----------
    neighbours : Neighbours
    residuals : Residuals
    mechanism : {"laplace", "gaussian"}
    n_rows : int
        Largest number of rows.
    least_amount : Fraction
        Least epsilon, or rho, of a round.

    Raises
    ------
    ValueError
        There are too many rows, or epsilon is too small, for 64-bit integers.
    """
    draft = RoundPlan(neighbours, residuals, mechanism, 0, 0, 0, 0)
    # Noise scale of an integer of weight 1/2, before the grid; the largest there is.
    scale = 2 * draft.sensitivity(True) / least_amount
    if mechanism == "gaussian":
        scale = Fraction(isqrt(ceil(draft.sensitivity(True) / (2 * least_amount))) + 1)
    by_noise = SCALE_BITS - ceil(scale).bit_length()
    by_sums = min(
        EXACT.bit_length() - 1 - (BLOCK_ROWS - 1).bit_length(), SUM_BITS - (n_rows - 1).bit_length()
    )
    largest = max(residuals.curvature, residuals.reach, *residuals.extent)
    room = min(by_noise, by_sums - ceil(largest - 1).bit_length())
    bits = min(_RESIDUAL_BITS, room // 2)
    curvature_bits = min(_CURVATURE_BITS, room // 2)
    exponent, coarse = min(_EXPONENT, room - bits), min(_EXPONENT, (room - curvature_bits) // 2)
    if min(exponent, coarse, bits) < _FEWEST_BITS:
        raise ValueError("too many rows, or epsilon too small, for censored targets in 64-bit integers.")
    return replace(draft, exponent=exponent, coarse=coarse, residual_bits=bits, curvature_bits=curvature_bits)


@dataclass(frozen=True, eq=False)
class _RoundNoise:
    """Noise on the number of events, the gradient and one triangle of the curvature."""

    sums: GradientsPlan
    scales: NoiseScales

    def randomize(self, values: IntArray, entropy: Any) -> IntArray:
        """Return the noisy integers."""
        _, gradient, matrix = self.sums.split(values)
        parts = [values[: self.sums.residuals.n_counts], gradient]
        if matrix is not None:
            parts.append(matrix[np.triu_indices(len(matrix))])
        return self.scales.randomize(np.concatenate(parts), entropy)


def mirrored(values: FloatArray, size: int) -> FloatArray:
    """Return the symmetric matrix with these values on and above its diagonal."""
    matrix = np.empty((size, size))
    rows, columns = np.triu_indices(size)
    matrix[rows, columns] = matrix[columns, rows] = values
    return matrix
