# SPDX-License-Identifier: BSD-3-Clause
"""Everything public about a fit: its task, its rounds, its cost, and the roles of its parameters."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from .._typing import FloatArray, IndexArray
from ..accounting import PrivacySpent
from ..base import PublicShape
from ..noise._mechanisms import FitBudget
from ..rounds._driver import Rounds
from ..rounds._plans.moments import MANY_ROWS
from ..rounds._rows import (
    PreparedRows,
    Target,
    check_form,
    check_observations,
    check_target_bounds,
    find_roles,
    within_target_bounds,
)
from ..utils import check_bounds
from ..utils._arguments import RowUnits
from ._censored.histograms import HistogramRelease
from ._censored.release import CensoredRelease
from ._censored.rounds import CensoredPlan, censored_rounds, ends_round, plan_censored
from ._distributions import error_distribution_of, models_log_target
from ._moments.looks import FitTask, LookRelease, MomentFit, moments_budget, part_of
from ._moments.released_moments import MomentRelease, make_grid

# Declared bounds of scale_: their squares are floats.
_NARROWEST, _WIDEST = 1e-70, 1e70


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


def check_scale_bounds(bounds: Any) -> tuple[float, float] | None:
    """Return declared bounds of the scale as two floats above 0; None where there are none."""
    if bounds is None:
        return None
    lower, upper = check_bounds(bounds, 1, name="scale_bounds")
    if lower[0] <= 0:
        raise ValueError("scale_bounds must be above 0.")
    if not (lower[0] >= _NARROWEST and upper[0] <= _WIDEST):
        raise ValueError("scale_bounds are too close to 0 or too far from it for floats.")
    return float(lower[0]), float(upper[0])


def plan_public(
    estimator: Any, shape: PublicShape, budget: FitBudget, most_looks: int | None
) -> CensoredPlan | None:
    """Check what is public; return the plan of a fit to censored targets, on a grid of no bounds."""
    shape = estimator.encoded_shape(shape)
    known = shape.structured and shape.no_targets is not None
    roles = find_roles(shape.no_targets) if known else ()
    kinds = check_observations(estimator.observations, shape.structured, roles)
    if kinds != ("exact",) and estimator.method == "taylor":
        raise ValueError("method='taylor' takes no censored targets; use method='moments'.")
    log_target = shape.structured or models_log_target(estimator.distribution)
    if estimator.bounds_y is not None:
        check_target_bounds(estimator.bounds_y, log_target)
    if shape.no_targets is not None:
        check_form(shape.no_targets, log_target, strict=estimator.is_strict())
    check_scale_bounds(estimator.scale_bounds)
    shape.check_bounds(estimator.bounds_X, "bounds_X")
    if shape.n_features is None:
        return None
    neighbours = estimator._neighbours(shape.n_features, shape.grouped)
    n_rows = shape.n_rows if neighbours.n_is_public else MANY_ROWS
    # Any bounds will do: whether there is a grid does not depend on them, and on every grid the noise of the
    # moments can be planned.
    sides, target = (np.zeros(shape.n_features), np.ones(shape.n_features)), (0.0, 1.0)
    part = moments_budget(budget, most_looks) if kinds == ("exact",) else budget
    grid = make_grid(*sides, target, estimator.x_norm, n_rows=n_rows, neighbours=neighbours, budget=part)
    if kinds == ("exact",):
        return None
    return plan_censored(
        grid,
        error_distribution_of(estimator.distribution),
        budget,
        neighbours,
        max_iter=estimator.max_iter,
        hazard_clip=estimator.hazard_clip,
        regularization=estimator.regularization,
        n_rows=n_rows,
        observations=kinds,
    )


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
    task: FitTask, most_looks: int | None, max_iter: Any, hazard_clip: Any
) -> tuple[MomentFit, TimesFit | None]:
    """Plan the fit to a complete target; also with counts of times, where these would tell something.

    They are not counted where all of the budget goes to one release of moments, or the target is no time.
    """
    alone = MomentFit.of(task, most_looks)
    if not task.log_target or alone.looks is None:
        return alone, None
    amount = ENDS_SHARE * task.budget.amount
    rest = replace(task, budget=part_of(task.budget, 1 - ENDS_SHARE))
    complete = MomentFit.of(rest, most_looks)
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
