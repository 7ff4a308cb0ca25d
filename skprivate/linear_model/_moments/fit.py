# SPDX-License-Identifier: BSD-3-Clause
"""Private fit to complete targets: moments, then looks at residuals, or moments again."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from ...accounting import PrivacySpent
from ...noise._fit_budget import FitBudget
from ...rounds._driver import Round, Rounds
from ...rounds._plans.grid import MomentGrid
from ...rounds._plans.moments import MomentsPlan
from .._distributions import ErrorDistribution
from .look_plan import LookPlan, plan_looks
from .looks import COUNTS_SHARE, MOMENTS_SHARE, NUMBERS, LookRelease, choose_number, rounds_of_looks
from .release import MomentRelease, Neighbours, plan_moments
from .solve import solve_moments


def part_of(budget: FitBudget, share: Fraction) -> FitBudget:
    """Return a part of a budget."""
    return replace(budget, amount=share * budget.amount)


def moments_budget(budget: FitBudget, most_looks: int | None) -> FitBudget:
    """Return the budget of the first moments."""
    return budget if most_looks == 0 else part_of(budget, MOMENTS_SHARE)


@dataclass(frozen=True, eq=False)
class MomentFit:
    """Everything public about a fit to complete targets.

    Attributes
    ----------
    grid : MomentGrid
    distribution : ErrorDistribution
    budget : FitBudget
    neighbours : Neighbours
    scale_limits : tuple of two floats
        In scaled units.
    looks : LookPlan or None
        None: one release of moments.
    number : int or None
        Of looks; None: by released values.
    """

    grid: MomentGrid
    distribution: ErrorDistribution
    budget: FitBudget
    neighbours: Neighbours
    scale_limits: tuple[float, float]
    looks: LookPlan | None
    number: int | None

    @classmethod
    def of(cls, task, x_norm: float | None, most_looks: int | None) -> "MomentFit":  # type: ignore[no-untyped-def]
        """Plan the fit of a task."""
        looks = None
        if most_looks != 0:
            least = (1 - MOMENTS_SHARE - COUNTS_SHARE) * task.budget.amount / (most_looks or NUMBERS[-1])
            looks = plan_looks(task.neighbours, task.budget, task.n_rows, least)
            # Of so few rows the counts would tell nothing: one release of moments is better than two parts.
            counts = COUNTS_SHARE * task.budget.amount
            if looks is not None and most_looks is None and looks.hides_quartiles(task.n_rows, counts):
                looks = None
        grid = task.grid(x_norm, moments_budget(task.budget, 0 if looks is None else most_looks))
        return cls(
            grid=grid,
            distribution=task.distribution,
            budget=task.budget,
            neighbours=task.neighbours,
            scale_limits=task.scale_limits(grid),
            looks=looks,
            number=most_looks,
        )

    @property
    def unit(self) -> Fraction:
        """Grid units of one unit of the moments."""
        return Fraction(4**self.grid.exponent)

    @property
    def releases(self) -> str:
        """What is released, in words."""
        return (
            f"moments ({float(MOMENTS_SHARE):.0%} of the budget), and counts of residuals "
            f"({float(COUNTS_SHARE):.0%}) and sums of clipped residuals, or moments again (the rest)"
        )

    def rounds(
        self, spent: PrivacySpent | None, on_progress: Callable[[], object] = bool
    ) -> Rounds[MomentRelease | LookRelease]:
        """Yield the rounds of the fit.

        Notes
        -----
        **Privacy**: the amounts add up to the budget whatever was released. Which rounds follow the first is
        a function of what it released; each is private with its amount whatever was released before, so that
        the whole is private with the budget, for pure differential privacy and for zCDP.
        """
        if self.looks is None:
            return (yield from self._moments(self.budget, spent, on_progress))
        first = yield from self._moments(part_of(self.budget, MOMENTS_SHARE), spent, on_progress)
        rest = 1 - MOMENTS_SHARE - COUNTS_SHARE
        number = self.number
        if number is None:
            fit = solve_moments(first, self.distribution, "floor", self.scale_limits)
            amounts = tuple(share * self.budget.amount for share in (MOMENTS_SHARE, rest, 1 - MOMENTS_SHARE))
            number = choose_number(self.looks, first, self.distribution, fit, amounts)  # type: ignore[arg-type]
        if number == 0:
            again = part_of(self.budget, 1 - MOMENTS_SHARE)
            return _combined(first, (yield from self._moments(again, None, on_progress)))
        amounts = COUNTS_SHARE * self.budget.amount, rest * self.budget.amount
        return (
            yield from rounds_of_looks(
                self.looks,
                self.grid,
                first,
                self.distribution,
                self.scale_limits,
                number,
                amounts,
                on_progress,
            )
        )

    def _moments(
        self, budget: FitBudget, spent: PrivacySpent | None, on_progress: Callable[[], object]
    ) -> Rounds[MomentRelease]:
        plan = plan_moments(self.grid, self.neighbours, budget)
        released = yield Round(MomentsPlan(self.grid), plan, spent, plan.noise.describe("moments"))
        on_progress()
        return plan.read(released)


def _combined(first: MomentRelease, second: MomentRelease) -> MomentRelease:
    """Return the mean of two releases of the same moments, weighted by the inverse of their variances."""
    variances = first.noise_std**2, second.noise_std**2
    total = variances[0] + variances[1]
    weight = np.where(total > 0.0, variances[1] / np.where(total > 0.0, total, 1.0), 0.5)
    matrix = weight * first.matrix + (1.0 - weight) * second.matrix
    std = np.hypot(weight * first.noise_std, (1.0 - weight) * second.noise_std)
    return MomentRelease(matrix, std, first.mechanism)
