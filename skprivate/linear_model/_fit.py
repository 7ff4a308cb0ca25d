# SPDX-License-Identifier: BSD-3-Clause
"""A fit of life data: what is public about it, its rounds and statement, and the model from its release.

Released values and public inputs are all that the model is computed from, and all that is kept on the
regressor: `self` in the functions of the second half.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from .._config import get_config
from .._typing import FloatArray, IndexArray
from ..accounting import PrivacySpent
from ..accounting._statements.spent import name_inputs, source_of_input
from ..base import PublicShape, claim_of
from ..base._likely_mistakes import (
    bounded_columns,
    columns_at_a_bound,
    count_at_a_bound,
    least_missing,
    mean_at_a_bound,
    mostly_missing,
    warn_of_mistakes,
)
from ..domain import TableDomain
from ..rounds._driver import Rounds
from ..rounds._plans.moments import MANY_ROWS, MomentGrid
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
from ._censored.histograms import HistogramRelease, beyond_bounds, kaplan_meier
from ._censored.population import PopulationPlan, PopulationRelease, bootstrap_population, population_warning
from ._censored.release import CensoredRelease, bootstrap_censored, censored_warning
from ._censored.rounds import CensoredPlan, censored_rounds, ends_round, plan_censored
from ._distributions import error_distribution_of, models_log_target
from ._moments.released_moments import (
    FitTask,
    MomentRelease,
    ScaledFit,
    make_grid,
    root_above,
    solve_moments,
    unscale,
)
from ._moments.replicates import bootstrap_looks, bootstrap_moments, looks_warning, moments_warning, pivotal
from ._moments.rounds import LookRelease, MomentFit, moments_budget, part_of

# Parameters that hold public knowledge about the rows.
PUBLIC_INPUTS = ("domain", "bounds_X", "bounds_y", "x_norm", "scale_bounds")
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


def plan_public(estimator: Any, shape: PublicShape) -> CensoredPlan | PopulationPlan | None:
    """Check what is public; return the plan of a fit to censored targets, on a grid of no bounds."""
    budget = estimator._budget()
    shape = estimator._encoded_shape(shape)
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
    part = moments_budget(budget, estimator._most_looks()) if kinds == ("exact",) else budget
    grid = make_grid(*sides, target, estimator.x_norm, n_rows=n_rows, neighbours=neighbours, budget=part)
    if shape.n_features == 0:
        return _plan_population(estimator, kinds, grid, budget, neighbours)
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


def _plan_population(
    estimator: Any, kinds: tuple[str, ...], grid: MomentGrid, budget: Any, neighbours: Any
) -> PopulationPlan:
    """Return the plan of a fit without columns; ValueError for what it does not take."""
    if not set(kinds) <= {"exact", "right"}:
        raise ValueError(
            "fit(None, y) counts events and right-censored rows by their time: it takes no earlier events, "
            "intervals or entries. Pass a column, such as a group, to fit these."
        )
    if estimator.method == "taylor":
        raise ValueError("fit(None, y) takes method='moments' alone.")
    return PopulationPlan(grid, error_distribution_of(estimator.distribution), budget, neighbours)


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


def describe_moments(estimator: Any, task: FitTask, unit: Fraction, source: Any) -> PrivacySpent:
    """Return what a release of moments spent and claims; sensitivity and noise are those of weight 1."""
    if task.budget.mechanism == "laplace":
        sensitivity: Any = task.neighbours.l1 * unit
        scale: Any = sensitivity / task.budget.amount
    else:
        squared = task.neighbours.squared_l2 * unit**2
        sensitivity, scale = root_above(squared), root_above(squared / (2 * task.budget.amount))
    return describe_spending(estimator, task, source, "moments", sensitivity, scale)


def describe_spending(
    estimator: Any, task: FitTask, source: Any, released: str, sensitivity: Any = None, scale: Any = None
) -> PrivacySpent:
    """Return what one fit spent and claims."""
    grouped = task.neighbours.grouped
    unprotected: dict[str, Any] = {}
    if task.n_units is not None:
        unprotected["groups" if grouped else "rows"] = task.n_units
    for name in ("bounds_X", "bounds_y"):
        leak = name in task.leaks
        unprotected[name] = "READ FROM PRIVATE ROWS" if leak else source_of_input(getattr(estimator, name))
    if not len(task.bounds[0]):
        del unprotected["bounds_X"]
    if estimator.domain is not None:
        unprotected["bounds_X"] = "declared by the domain"
    return PrivacySpent(
        mechanism=f"discrete {task.budget.mechanism.capitalize()} noise on {released}",
        epsilon=task.budget.epsilon,
        delta=task.budget.delta,
        rho=task.budget.rho,
        relation=estimator.relation,
        unit="group" if grouped else "row",
        max_rows_per_unit=task.neighbours.rows_per_unit,
        sensitivity=sensitivity,
        noise_scale=scale,
        noise_source=source,
        deployment="curator",
        public_inputs=name_inputs(estimator, PUBLIC_INPUTS),
        unprotected=unprotected,
        **claim_of(task.leaks.values(), source, estimator, PUBLIC_INPUTS),
    )


# The released model: estimates, a parametric bootstrap, intervals, and warnings.

# Of coef_interval_ and scale_interval_; predictions have the same default.
CONFIDENCE = 0.9
# Replicates that the warning is decided by: with 100, standard errors are known within a tenth.
_FEW = 100
# Attributes that only a fit to censored targets sets: the next fit deletes them.
_ONLY_CENSORED = ("survival_curve_", "event_share_")

AnyRelease = MomentRelease | LookRelease | CensoredRelease | PopulationRelease


def adopt(self: Any, release: AnyRelease, grid: MomentGrid, task: FitTask, spent: PrivacySpent) -> None:
    """Store a release with its public inputs, and compute the model from it."""
    self.error_distribution_, self.log_target_ = task.distribution, task.log_target
    self.bounds_, self.bounds_y_ = task.bounds, task.bounds_y
    self.release_, self.grid_ = release, grid
    self.privacy_spent_ = spent
    for name in _ONLY_CENSORED:
        vars(self).pop(name, None)
    # Intervals are computed when they are first read, with the parameters of this fit: set_params may have
    # changed the others by then.
    self._method, self._regularization = self.method, self.regularization
    self._scale_limits = task.scale_limits(grid)
    self._rows_per_unit = task.neighbours.rows_per_unit
    self._constant = constant_directions(self.domain)
    self._was_strict = get_config()["strict"]
    solve_release(self)
    if isinstance(release, CensoredRelease):
        self.n_iter_ = len(release.rounds)
        self.event_share_ = release.event_share
        if len(release.histogram.counts) == 2:
            counted = release.histogram
            ends = np.linspace(*counted.target, counted.counts.shape[1] + 1)[1:]
            times, survival = kaplan_meier(counted.counts, counted.noise_std, ends)
            self.survival_curve_ = (np.exp(times), survival)
    elif isinstance(release, PopulationRelease):
        self.n_iter_, self.event_share_ = 2, release.event_share
        ends = self.intercept_ + self.scale_ * release.residuals.edges[1:-1]
        times, survival = kaplan_meier(release.residuals.counts, release.residuals.noise_std, ends)
        self.survival_curve_ = (np.exp(times) if self.log_target_ else times, survival)
    else:
        self.n_iter_ = 1 + len(release.looks) if isinstance(release, LookRelease) else 1


def constant_directions(domain: TableDomain | None) -> FloatArray | None:
    """Return unit vectors along which the encoded columns of every row are equal by declaration.

    Of a category without an order, the columns of its levels and of a missing cell add up to one; not where
    a row with a missing cell is 0 in all of them. The bounds of these columns are alike.

    Returns
    -------
    constant : ndarray of shape (k, n_encoded) or None
        None where there is no such category, or no domain.
    """
    if domain is None:
        return None
    groups = [group for group in domain.groups if group.n_levels and not group.absent]
    if not groups:
        return None
    constant = np.zeros((len(groups), len(domain.encoded_names)))
    for row, group in zip(constant, groups, strict=True):
        row[group.start : group.end] = 1.0 / np.sqrt(group.end - group.start)
    return constant


def solve_release(self: Any) -> None:
    """Compute the estimates; the bootstrap waits until it is read."""
    self._replicates = None
    if isinstance(self.release_, MomentRelease):
        self._scaled_fit = solve_moments(
            self.release_, self.error_distribution_, self._regularization, self._scale_limits, self._method
        )
    else:
        self._scaled_fit = self.release_.fit
    self.coef_, self.intercept_, self.scale_ = unscale(self._scaled_fit, self.grid_)


def moments_of(release: MomentRelease | LookRelease) -> MomentRelease:
    """Return the moments of a release, after which there may have been looks."""
    return release.moments if isinstance(release, LookRelease) else release


def warn_of_release(self: Any) -> None:
    """Warn of columns that are not what is declared, of clipped targets, and where noise hides the model."""
    misfits: tuple[str | None, ...] = ()
    if isinstance(self.release_, MomentRelease | LookRelease):
        moments, grid = moments_of(self.release_), self.grid_
        n_rows = max(float(moments.matrix[0, 0]), 1.0)
        # Columns in their own units, and not in those of the grid.
        means = grid.center + grid.half * moments.matrix[0, 2:] / n_rows
        std, bounds = grid.half * moments.noise_std[0, 2:] / n_rows, (grid.lower, grid.upper)
        columns = bounded_columns(self.domain, self._names_of_features(), bounds, means, std)
        missing = mostly_missing(self.domain, least_missing(self.domain, means, std))
        misfits = missing, columns_at_a_bound(columns)
    warn_of_mistakes(type(self).__name__, *misfits, why_useless(self))


def why_useless(self: Any) -> str | None:
    """Return why the model may be of no use, as far as released values show it."""
    return " And ".join(filter(None, [_why_clipped(self), _why_noisy(self)])) or None


def _why_clipped(self: Any) -> str | None:
    """Return what released counts, or the mean, say of values of the target beyond its bounds."""
    release, grid = self.release_, self.grid_
    if release.ends is not None:
        return beyond_bounds(release.ends)
    if isinstance(release, CensoredRelease):
        return beyond_bounds(release.histogram)
    if isinstance(release, PopulationRelease):
        # Rows beyond the bounds are in open cells: a few of them bias nothing.
        counts = release.histogram
        return count_at_a_bound(counts.below, 0.0, max(float(counts.counts.sum()), 1.0))
    moments = moments_of(release)
    n = max(float(moments.matrix[0, 0]), 1.0)
    mean, noise = float(moments.matrix[0, 1]) / n, float(moments.noise_std[0, 1]) / n
    return mean_at_a_bound(grid.y_center + grid.y_half * mean, grid.y_half * noise, grid.target)


def _why_noisy(self: Any) -> str | None:
    release, constant = self.release_, self._constant
    if isinstance(release, CensoredRelease):
        return censored_warning(release, self.error_distribution_, constant, strict=self._was_strict)
    if isinstance(release, PopulationRelease):
        return population_warning(release, self.error_distribution_, self._rows_per_unit)
    if isinstance(release, LookRelease):
        replicates = bootstrap_looks(
            release,
            self.error_distribution_,
            rows_per_unit=self._rows_per_unit,
            n_replicates=_FEW,
            by_steps=True,
            constant=constant,
        )
        return looks_warning(release, replicates, constant)
    return moments_warning(release, self._scaled_fit, constant)


def replicate(self: Any, with_noise: bool = True) -> FloatArray:
    """Return a parametric bootstrap: intercept, scale and slopes of every replicate, in units of X and y."""
    coef, intercept, scale = unscale(bootstrap(self, with_noise), self.grid_)
    return np.column_stack([intercept, scale, coef])


def bootstrap(self: Any, with_noise: bool) -> ScaledFit:
    """Return fits to replicated releases, in scaled units."""
    release, distribution = self.release_, self.error_distribution_
    if isinstance(release, PopulationRelease):
        return bootstrap_population(release, rows_per_unit=self._rows_per_unit, with_noise=with_noise)
    options: dict[str, Any] = {
        "rows_per_unit": self._rows_per_unit,
        "with_noise": with_noise,
        "constant": self._constant,
    }
    if isinstance(release, CensoredRelease):
        return bootstrap_censored(release, **options)
    if isinstance(release, LookRelease):
        return bootstrap_looks(release, distribution, **options)
    regularization, limits = self._regularization, self._scale_limits
    return bootstrap_moments(release, distribution, regularization, limits, method=self._method, **options)


def interval_of_coef(self: Any, confidence: float) -> FloatArray:
    """Return the confidence interval of every slope."""
    return pivotal(self.coef_, self.replicates_[:, 2:].T, confidence)


def interval_of_scale(self: Any, confidence: float) -> FloatArray:
    """Return the confidence interval of the scale."""
    # The noise is added to squares: their errors are symmetric where those of the scale are not.
    squares = pivotal(self.scale_**2, self.replicates_[:, 1] ** 2, confidence)
    low, high = (bound * self.grid_.y_half for bound in self._scale_limits)
    return np.sqrt(np.clip(squares, low**2, high**2))
