# SPDX-License-Identifier: BSD-3-Clause
"""Private fit to times that are not declared as censored: counts beyond the bounds choose its method."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from ..accounting import PrivacySpent
from ..rounds._driver import Rounds
from ._censored.fit import CensoredPlan, censored_rounds, ends_round, plan_censored
from ._censored.histogram import HistogramRelease
from ._censored.release import CensoredRelease
from ._fit_task import FitTask
from ._moments.fit import MomentFit, part_of
from ._moments.looks import LookRelease
from ._moments.release import MomentRelease

# Share of the budget of the counts. At n epsilon = 20,000 three counts of Laplace noise find 2 % of the rows
# beyond a bound; estimates lose about as much of their precision as with 3 % less of the budget.
ENDS_SHARE = Fraction(3, 100)


@dataclass(frozen=True, eq=False)
class TimesFit:
    """Everything public about a fit to times, of which those above the upper bound may be many.

    Attributes
    ----------
    complete : MomentFit
        Of the budget that the counts leave, where few are above it.
    censored : CensoredPlan
        Of the same, where many are: they count as censored at the bound.
    amount : Fraction
        Of epsilon, or rho, for the counts.
    """

    complete: MomentFit
    censored: CensoredPlan
    amount: Fraction

    @property
    def releases(self) -> str:
        """What is released, in words."""
        return (
            f"counts of times beyond the bounds ({float(ENDS_SHARE):.0%} of the budget) and, of the rest, "
            f"{self.complete.releases}; or histograms and residual sums, as for censored times"
        )

    def rounds(
        self, spent: PrivacySpent | None, on_progress: Callable[[], object] = bool
    ) -> Rounds[MomentRelease | LookRelease | CensoredRelease]:
        """Yield the rounds of the fit.

        Notes
        -----
        **Privacy**: either fit takes what the counts leave of the budget. Which of them it is follows from
        what was released, and a row is in one cell of the counts.
        """
        counting = ends_round(self.censored, self.amount, spent)
        released = yield counting
        std = float(counting.noise.std[0])  # type: ignore[attr-defined]
        ends = HistogramRelease.of(released, std, self.censored.grid.target, 2)
        on_progress()
        if ends.stands_out(ends.n_late):
            return replace((yield from censored_rounds(self.censored, None, on_progress)), ends=ends)
        return replace((yield from self.complete.rounds(None, on_progress)), ends=ends)


def plan_complete(
    task: FitTask, x_norm: float | None, most_looks: int | None, max_iter: Any, hazard_clip: Any
) -> tuple[MomentFit, TimesFit | None]:
    """Plan the fit to a complete target; also with counts of times, where these would tell something.

    They are not counted where all of the budget goes to one release of moments, or the target is no time.
    """
    alone = MomentFit.of(task, x_norm, most_looks)
    if not task.log_target or alone.looks is None:
        return alone, None
    amount = ENDS_SHARE * task.budget.amount
    rest = replace(task, budget=part_of(task.budget, 1 - ENDS_SHARE))
    complete = MomentFit.of(rest, x_norm, most_looks)
    try:
        censored = plan_censored(
            complete.grid,
            task.distribution,
            rest.budget,
            task.neighbours,
            max_iter=max_iter,
            hazard_clip=hazard_clip,
            scale_bounds=complete.scale_limits,
            n_rows=task.n_rows,
        )
    except ValueError:  # no grid for such an epsilon
        return alone, None
    return complete, TimesFit(complete, censored, amount)
