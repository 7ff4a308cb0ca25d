# SPDX-License-Identifier: BSD-3-Clause
"""Private fit of a logistic regression: moments by label, then rounds of gradients with momentum."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from ..._typing import FloatArray, IntArray
from ...accounting import PrivacySpent
from ...noise._fit_budget import FitBudget
from ...rounds._driver import Round, Rounds
from ...rounds._plans._logits.label_moments import LabelMomentsPlan
from ...rounds._plans._logits.logits import BLOCK_ROWS, LogitsPlan, StandardRows
from ...rounds._plans.gram import EXACT
from ...rounds._plans.grid import FINEST, MANY_ROWS, SCALE_BITS, SUM_BITS, MomentGrid, choose_exponent
from .estimate import LogisticRelease
from .schedule import MOMENTS_SHARE, MOMENTUM, Schedule, make_schedule
from .sensitivity import LogisticNeighbours
from .standards import Standards, read_standards

# What a round gets at least, of the whole: the most rounds, the smallest share of a leading one.
_LEAST_AMOUNT = Fraction(1, 512)
# Bits of rows and of residuals below which a fit is refused: rounding toward zero would show.
_FEWEST_BITS = 7
# Narrower half-widths are refused: a slope of 10^8 standardised units divided by them would be no float.
_NARROWEST = 1e-300
# Most bits of the rows in the curvature, whose products are added up.
_COARSE = 14


@dataclass(frozen=True, eq=False, kw_only=True)
class LogisticPlan:
    """Everything public about a fit.

    Attributes
    ----------
    grid : MomentGrid
        On which columns are packed, finely: only what is standardised is added up.
    moments_exponent : int
        The grid's exponent for the moments by label.
    exponent, residual_bits : int
        Of the standardised rows, and of residuals.
    coarse : tuple of two ints
        Of the rows in the curvature, and of the curvature.
    neighbours : LogisticNeighbours
    budget : FitBudget
    n_rows : int or None
        None: protected.
    """

    grid: MomentGrid
    moments_exponent: int
    exponent: int
    residual_bits: int
    coarse: tuple[int, int]
    neighbours: LogisticNeighbours
    budget: FitBudget
    n_rows: int | None


def plan_logistic(
    lower: FloatArray,
    upper: FloatArray,
    x_norm: float | None,
    *,
    neighbours: LogisticNeighbours,
    budget: FitBudget,
    n_rows: int | None,
) -> LogisticPlan:
    """Choose the grids by public numbers alone.

    Raises
    ------
    ValueError
        There are too many rows, or epsilon is too small, for 64-bit integers, or bounds too close.
    """
    most_rows = MANY_ROWS if n_rows is None else n_rows
    share = MOMENTS_SHARE[budget.mechanism] * budget.amount
    scales = neighbours.moments_noise(neighbours.n_labels + 2 * neighbours.n_features, 0, share).scales
    moments_exponent = choose_exponent(most_rows, Fraction(int(scales.max())))
    largest = neighbours.largest_scale(_LEAST_AMOUNT * budget.amount)
    room = min(
        EXACT.bit_length() - BLOCK_ROWS.bit_length(),
        SUM_BITS - max(most_rows - 1, 1).bit_length(),
        SCALE_BITS - largest.bit_length(),
    )
    bits = room // 2
    if bits < _FEWEST_BITS:
        raise ValueError("too many rows, or epsilon too small, for gradients in 64-bit integers.")
    coarse = min(_COARSE, room // 3)
    grid = MomentGrid(
        lower=lower,
        upper=upper,
        target=(-1.0, 1.0),
        exponent=FINEST,
        x_norm=x_norm,
        norm_order=None if x_norm is None else 2 if budget.mechanism == "gaussian" else 1,
    )
    if grid.half.min() < _NARROWEST:
        raise ValueError("bounds, or x_norm, are so narrow that slopes overflow: use other units of X.")
    return LogisticPlan(
        grid=grid,
        moments_exponent=min(moments_exponent, FINEST),
        exponent=min(bits, FINEST),
        residual_bits=min(bits, FINEST),
        coarse=(coarse, min(room - 2 * coarse, FINEST)),
        neighbours=neighbours,
        budget=budget,
        n_rows=n_rows,
    )


def logistic_rounds(
    plan: LogisticPlan, spent: PrivacySpent | None = None, on_progress: Callable[[], object] = bool
) -> Rounds[LogisticRelease]:
    """Yield the moments by label and the rounds of gradients; return what they released.

    Notes
    -----
    **Privacy**: standards, schedule and parameters are functions of what was released before. Amounts are
    positive and add up to the budget whatever they are, so that the whole is private with the budget, for
    pure differential privacy and for zCDP, although earlier releases choose their number.
    """
    neighbours, amount = plan.neighbours, MOMENTS_SHARE[plan.budget.mechanism] * plan.budget.amount
    moments = LabelMomentsPlan(replace(plan.grid, exponent=plan.moments_exponent), neighbours.n_labels)
    noise = neighbours.moments_noise(moments.n_sums, plan.moments_exponent, amount)
    released = yield Round(moments, noise, spent, noise.describe("moments by label"))
    on_progress()
    standards = read_standards(moments, noise, released, plan.n_rows, neighbours)
    schedule = make_schedule(standards, neighbours, plan.budget)
    return (yield from _Descent(plan, standards, schedule).rounds(on_progress))


class _Descent:
    """State between rounds; everything in it is released or public."""

    def __init__(self, plan: LogisticPlan, standards: Standards, schedule: Schedule) -> None:
        self._plan, self._standards, self._schedule = plan, standards, schedule
        self._rows = StandardRows(
            standards.center,
            standards.scale,
            standards.radius,
            2 if plan.budget.mechanism == "gaussian" else 1,
            plan.exponent,
        )
        logs = np.log(standards.rates)
        constant = logs[1:] - logs[0] if len(logs) == 2 else logs - logs.mean()
        self.start = np.zeros((len(constant), len(standards.variances)))
        self.start[:, 0] = constant

    def rounds(self, on_progress: Callable[[], object]) -> Rounds[LogisticRelease]:
        """Yield rounds until the budget is spent."""
        schedule = self._schedule
        theta, velocity = self.start.copy(), np.zeros_like(self.start)
        mean, slope = np.zeros_like(theta), np.zeros_like(theta)
        for number, amount in enumerate(schedule.amounts):
            gradient = self._gradient((yield self._round(theta, amount)))
            on_progress()
            pull = gradient + schedule.ridge * (theta - self.start)
            if number >= schedule.n_leading:
                weight = schedule.weights[number - schedule.n_leading]
                mean, slope = mean + weight * theta, slope + weight * gradient
            velocity = MOMENTUM * velocity - pull / (schedule.damping + schedule.ridge)
            theta = theta + velocity
        curvature: tuple[FloatArray | None, float] = None, 0.0
        if schedule.curvature_amount:
            curvature = yield from self._curvature(mean)
            on_progress()
        return LogisticRelease(
            standards=self._standards,
            schedule=schedule,
            mechanism=self._plan.budget.mechanism,
            start=self.start,
            theta=mean,
            gradient=slope,
            curvature=curvature[0],
            curvature_std=curvature[1],
            rows_per_unit=self._plan.neighbours.rows_per_unit,
        )

    def _round(self, theta: FloatArray, amount: Fraction) -> Round:
        sums = LogitsPlan(self._plan.grid, self._rows, theta, self._plan.residual_bits)
        noise = self._plan.neighbours.gradient_noise(sums, amount)
        return Round(sums, noise, release=noise.describe("gradients"))

    def _gradient(self, released: IntArray) -> FloatArray:
        """Return the gradient of the mean loss."""
        unit = 2.0 ** (self._plan.exponent + self._plan.residual_bits)
        values = released.astype(np.float64).reshape(self.start.shape)
        gradient: FloatArray = -values * (self._standards.radius / unit / self._standards.n_rows)
        return gradient

    def _curvature(self, theta: FloatArray) -> Rounds[tuple[FloatArray | None, float]]:
        """Yield the round of the curvature around theta; return it as a mean over rows, and its noise."""
        coarse, bits = self._plan.coarse
        sums = LogitsPlan(self._plan.grid, self._rows, theta, self._plan.residual_bits, (coarse, bits))
        noise = self._plan.neighbours.curvature_noise(sums, self._schedule.curvature_amount)
        released = yield Round(sums, noise, release=noise.scales.describe("curvature"))
        unit = self._standards.radius**2 / 2.0 ** (2 * coarse + bits) / self._standards.n_rows
        size = len(self._standards.variances)
        matrix = np.empty((size, size))
        rows, columns = np.triu_indices(size)
        matrix[rows, columns] = matrix[columns, rows] = released * unit
        # Entry 1 is the first beside the diagonal.
        return matrix, float(noise.scales.std[1]) * unit
