# SPDX-License-Identifier: BSD-3-Clause
"""A fit of life data: what is public about it, its rounds and statement, and the model from its release.

The model is computed from released values and public inputs alone, and only these are kept on the regressor:
`self` in the functions of the second half.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._config import get_config
from .._typing import FloatArray, IndexArray
from ..accounting._statements.spent import PrivacySpent, name_inputs, source_of_input
from ..base import PublicShape, claim_of
from ..domain import TableDomain
from ..rounds import _rows as targets
from ..rounds._driver import Rounds
from ..rounds._plans.moments import MANY_ROWS, MomentGrid
from ..utils._arguments import RowUnits, check_bounds
from ._censored.histograms import HistogramRelease, kaplan_meier
from ._censored.population import PopulationPlan, PopulationRelease, bootstrap_population
from ._censored.release import CensoredRelease, bootstrap_censored
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
from ._moments.replicates import bootstrap_looks, bootstrap_moments, shrink
from ._moments.rounds import LookRelease, MomentFit, moments_budget, part_of
from ._scale_by_level import LEVEL_SHARE, LevelModel, LevelPlan, LevelRelease

# Parameters that hold public knowledge about the rows.
PUBLIC_INPUTS = ("domain", "bounds_X", "bounds_y", "x_norm", "scale_bounds")
# Quantiles of a normal variable one standard error below and above its mean.
_ONE_ERROR = (0.1585, 0.8415)
# Limits of declared bounds of scale_: the squares of both are floats.
_NARROWEST, _WIDEST = 1e-70, 1e70


@dataclass(frozen=True, eq=False)
class SurvivalRows:
    """Validated private rows: features, target on the scale of the model, and persons."""

    X: FloatArray
    target: targets.Target
    units: RowUnits | None

    @property
    def n_units(self) -> int:
        """Number of persons, or of rows."""
        return len(self.X) if self.units is None else self.units.n_units

    def prepare(
        self, kept: IndexArray | None, kinds: tuple[str, ...], bounds: tuple[float, float]
    ) -> targets.PreparedRows:
        """Return the kept rows as rounds read them, with what is known of each within the bounds."""
        target = targets.within_target_bounds(self.target, kinds, bounds)
        rows = targets.PreparedRows(
            self.X, y=target.time_on_model_scale, event=target.event, start=target.start, entry=target.entry
        )
        return rows.keeping(kept).only_kept()


def check_scale_bounds(bounds: Any) -> tuple[float, float] | None:
    """Return declared bounds of the scale as two floats above 0; None if there are none."""
    if bounds is None:
        return None
    lower, upper = check_bounds(bounds, 1, name="scale_bounds")
    if lower[0] <= 0:
        raise ValueError("scale_bounds must be above 0.")
    if not (lower[0] >= _NARROWEST and upper[0] <= _WIDEST):
        raise ValueError("scale_bounds are too close to 0 or too far from it for floats.")
    return float(lower[0]), float(upper[0])


def levels_of(estimator: Any) -> LevelPlan | None:
    """Return the levels of ``scale_by``; None without it."""
    return None if estimator.scale_by is None else LevelPlan.of(estimator.scale_by, estimator.domain)


def plan_public(estimator: Any, shape: PublicShape) -> CensoredPlan | PopulationPlan | None:
    """Check what is public. Return the plan of a fit to censored targets, on a grid without bounds."""
    budget = estimator._budget()
    levels = levels_of(estimator)
    if levels is not None:
        budget = part_of(budget, 1 - LEVEL_SHARE)
    shape = estimator._encoded_shape(shape)
    known = shape.structured and shape.no_targets is not None
    roles = targets.find_roles(shape.no_targets) if known else ()
    kinds = targets.check_observations(estimator.observations, shape.structured, roles)
    if kinds != ("exact",) and estimator.method == "taylor":
        raise ValueError("method='taylor' takes no censored targets; use method='moments'.")
    if levels is not None and not set(kinds) <= {"exact", "right"}:
        raise ValueError(
            "scale_by takes only events and right-censored rows, as other kinds have no known residual: "
            "leave it out."
        )
    log_target = shape.structured or models_log_target(estimator.distribution)
    if estimator.bounds_y is not None:
        targets.check_target_bounds(estimator.bounds_y, log_target)
    if shape.no_targets is not None:
        targets.check_form(shape.no_targets, log_target, strict=estimator.is_strict())
    check_scale_bounds(estimator.scale_bounds)
    shape.check_bounds(estimator.bounds_X, "bounds_X")
    if shape.n_features is None:
        return None
    neighbours = estimator._neighbours(shape.n_features, shape.grouped)
    n_rows = shape.n_rows if neighbours.n_is_public else MANY_ROWS
    # Any bounds give the same result. Whether there is a grid does not depend on them, and the noise of the
    # moments can be planned on every grid.
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
    """Return the plan of a fit without columns; ValueError for kinds and methods that it does not take."""
    if not set(kinds) <= {"exact", "right"}:
        raise ValueError(
            "fit(None, y) counts events and right-censored rows by their time. It takes no earlier events, "
            "intervals or entries. Pass a column, such as a group, to fit these."
        )
    if estimator.method == "taylor":
        raise ValueError("fit(None, y) takes only method='moments'.")
    return PopulationPlan(grid, error_distribution_of(estimator.distribution), budget, neighbours)


# Share of the budget of the counts beyond the bounds. At n epsilon = 20,000, three counts of Laplace noise
# find
# 2 % of the rows beyond a bound. Estimates lose about the precision that 3 % of the budget makes.
ENDS_SHARE = Fraction(3, 100)


@dataclass(frozen=True, eq=False)
class TimesFit:
    """Everything public about a fit to times, many of which may be above the upper bound.

    Attributes
    ----------
    complete : MomentFit
        The fit if few times are above it, with the budget that the counts leave.
    censored : CensoredPlan
        The fit if many are, with the same budget: these times count as censored at the bound.
    amount : Fraction
        Amount of epsilon, or rho, for the counts.
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
        **Privacy**: either fit takes the budget that the counts leave. Released values choose between them,
        and a row is in one cell of the counts.
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
    """Plan the fit to a complete target; also with counts of times, if these would reveal something.

    Times are not counted if all of the budget goes to one release of moments, or the target is no time.
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
    """Return the cost and claim of a release of moments; sensitivity and noise are those of weight 1."""
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
    """Return the cost and claim of one fit."""
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

# Confidence of coef_interval_ and scale_interval_; predictions have the same default.
CONFIDENCE = 0.9
# Attributes that only a fit to censored targets sets: the next fit deletes them.
_ONLY_CENSORED = ("survival_curve_", "event_share_")

AnyRelease = MomentRelease | LookRelease | CensoredRelease | PopulationRelease


def adopt(
    self: Any,
    release: AnyRelease,
    grid: MomentGrid,
    task: FitTask,
    spent: PrivacySpent,
    levels: tuple[LevelPlan | None, LevelRelease | None] = (None, None),
) -> None:
    """Store a release with its public inputs, and compute the model from it."""
    self.error_distribution_, self.log_target_ = task.distribution, task.log_target
    self.bounds_, self.bounds_y_ = task.bounds, task.bounds_y
    self.release_, self.grid_ = release, grid
    self.privacy_spent_ = spent
    for name in _ONLY_CENSORED:
        vars(self).pop(name, None)
    # Intervals are computed when they are first read, with the parameters of this fit: set_params may have
    # changed the parameters by then.
    self._method, self._regularization = self.method, self.regularization
    self._scale_limits = task.scale_limits(grid)
    self._rows_per_unit = task.neighbours.rows_per_unit
    self._constant = constant_directions(self.domain)
    self._level_plan, self.level_release_ = levels
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

    The columns of the levels of a category without an order, and of a missing cell, add up to one. This is
    not so if a row with a missing cell is 0 in all of them. The bounds of these columns are alike.

    Returns
    -------
    constant : ndarray of shape (k, n_encoded) or None
        None if there is no such category, or no domain.
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
    """Compute the estimates. The bootstrap is computed when it is read."""
    self._replicates = self._without_noise = self._ground = self._level_model = None
    counted = self.level_release_
    options = self.error_distribution_, self._regularization, self._scale_limits, self._method
    self._unshrunk, shrunk = unshrunk_fit_of(self.release_, *options), fit_of(self.release_, *options)
    self.slopes_kept_ = 1.0
    if shrunk is not self._unshrunk and self._unshrunk.coef.any():
        self.slopes_kept_ = float(np.linalg.norm(shrunk.coef) / np.linalg.norm(self._unshrunk.coef))
    # With levels, residuals were counted about the shrunk fit.
    parts = [in_units(self, one) for one in (shrunk if counted is None else counted.fit, self._unshrunk)]
    self.coef_, self.intercept_, self.scale_ = parts[0]
    estimates, others = (np.r_[intercept, scale, coef] for coef, intercept, scale in parts)
    self._shift = estimates - others
    if counted is not None:
        center = self.grid_.center + self.grid_.half * means_of(self.release_)
        common = 0.0
        if isinstance(self.release_, CensoredRelease):
            common = 0.5 * float(np.diff(np.quantile(np.log(bootstrap(self, True).scale), _ONE_ERROR))[0])
        model = LevelModel.of(self._level_plan, counted, self.scale_, common, center, self._rows_per_unit)
        self._level_model = model
        intercept, coef = model.moved(self.intercept_, self.coef_)
        self.coef_, self.intercept_ = _about_levels(self, coef, intercept)


def in_units(self: Any, fit: ScaledFit) -> tuple[FloatArray, Any, Any]:
    """Return slopes, intercept and scale in the units of X and of the model's target."""
    coef, intercept, scale = unscale(fit, self.grid_)
    return *_about_levels(self, coef, intercept), scale


def _about_levels(self: Any, coef: FloatArray, intercept: Any) -> tuple[FloatArray, Any]:
    """Return slopes about the mean of the levels of each category, and the intercept that belongs to them.

    The levels of a category add up to one in every row. A constant can therefore be moved from their slopes
    to the intercept.
    """
    if self._constant is None:
        return coef, intercept
    along = coef @ self._constant.T
    # A unit vector of m levels is 1 / sqrt(m) in each of them, and so in every row.
    return coef - along @ self._constant, intercept + along @ self._constant.max(axis=1)


def fit_of(release: AnyRelease, *options: Any) -> ScaledFit:
    """Return the fit of a release by the options of `solve_moments`, shrunk if noise hides its slopes."""
    fit = unshrunk_fit_of(release, *options)
    shrinks = isinstance(release, MomentRelease | LookRelease) and options[1::2] == ("floor", "moments")
    return shrink(release, fit, options[0], options[2]) if shrinks else fit


def unshrunk_fit_of(release: AnyRelease, *options: Any) -> ScaledFit:
    """Return the fit that replicates are centred on."""
    return solve_moments(release, *options) if isinstance(release, MomentRelease) else release.fit


def events_of(release: AnyRelease) -> float:
    """Return the noisy number of events."""
    if isinstance(release, CensoredRelease):
        return release.histogram.n_events
    return max(float(moments_of(release).matrix[0, 0]), 1.0)  # type: ignore[arg-type]


def means_of(release: AnyRelease) -> FloatArray:
    """Return the released means of the scaled features; with censored rows, of the rows at risk."""
    if isinstance(release, CensoredRelease):
        return np.asarray(release.curvature_estimate.mean[1:])
    if isinstance(release, PopulationRelease):
        return np.zeros(0)
    matrix = moments_of(release).matrix
    return np.clip(matrix[0, 2:] / max(float(matrix[0, 0]), 1.0), -1.0, 1.0)


def moments_of(release: MomentRelease | LookRelease) -> MomentRelease:
    """Return the moments of a release, with or without looks after them."""
    return release.moments if isinstance(release, LookRelease) else release


def replicate(self: Any, with_noise: bool = True, n_replicates: int = 400) -> FloatArray:
    """Return a parametric bootstrap: intercept, scale and slopes of every replicate, in units of X and y."""
    coef, intercept, scale = in_units(self, bootstrap(self, with_noise, n_replicates))
    # An interval is twice the estimate less quantiles of replicates. With this shift it is that of the
    # unshrunk fit.
    drawn = np.column_stack([intercept, scale, coef]) + 2.0 * self._shift
    if self._level_model is not None:
        drawn = self._level_model.replicates(drawn, self.intercept_, self.coef_, with_noise)
        drawn[:, 2:], drawn[:, 0] = _about_levels(self, drawn[:, 2:], drawn[:, 0])
    return drawn


def without_noise(self: Any) -> FloatArray:
    """Return the same for the rows alone, computed when it is first read."""
    if self._without_noise is None:
        self._without_noise = replicate(self, with_noise=False)
    without: FloatArray = self._without_noise
    return without


def bootstrap(self: Any, with_noise: bool, n_replicates: int = 400) -> ScaledFit:
    """Return fits to replicated releases, in scaled units."""
    release, distribution = self.release_, self.error_distribution_
    options: dict[str, Any] = {
        "rows_per_unit": self._rows_per_unit,
        "with_noise": with_noise,
        "n_replicates": n_replicates,
    }
    if isinstance(release, PopulationRelease):
        return bootstrap_population(release, **options)
    options["constant"] = self._constant
    if isinstance(release, CensoredRelease):
        return bootstrap_censored(release, **options)
    if isinstance(release, LookRelease):
        return bootstrap_looks(release, distribution, **options)
    regularization, limits = self._regularization, self._scale_limits
    return bootstrap_moments(release, distribution, regularization, limits, method=self._method, **options)


def check_confidence(confidence: float) -> None:
    """Raise ValueError if a confidence is not above 0 and below 1."""
    if not 0 < confidence < 1:
        raise ValueError("confidence must be above 0 and below 1.")


def ends_of(confidence: float) -> tuple[float, float]:
    """Return the probabilities of the two ends of an interval."""
    return 0.5 - 0.5 * confidence, 0.5 + 0.5 * confidence


def pivotal(estimates: ArrayLike, replicates: FloatArray, confidence: float) -> FloatArray:
    """Reflect the spread of replicates at the estimates.

    Parameters
    ----------
    estimates : array-like of any shape
    replicates : ndarray of the shape of the estimates and one axis more
    confidence : float

    Returns
    -------
    intervals : ndarray of the shape of the estimates and one axis more, of length 2

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate.linear_model._fit import pivotal
    >>> pivotal(5.0, np.linspace(4.0, 8.0, 101), 0.5)
    array([3., 5.])
    """
    ends = np.moveaxis(np.quantile(replicates, ends_of(confidence)[::-1], axis=-1), 0, -1)
    return 2.0 * np.asarray(estimates)[..., np.newaxis] - ends


def interval_of_coef(self: Any, confidence: float) -> FloatArray:
    """Return the confidence interval of every slope."""
    return pivotal(self.coef_, self.replicates_[:, 2:].T, confidence)


def interval_of_scale(self: Any, confidence: float) -> FloatArray:
    """Return the confidence interval of the scale."""
    # The noise is added to squares: their errors are symmetric, and those of the scale are not.
    shift = self._shift[1]
    squares = pivotal((self.scale_ - shift) ** 2, (self.replicates_[:, 1] - 2.0 * shift) ** 2, confidence)
    low, high = (bound * self.grid_.y_half for bound in self._scale_limits)
    return np.sqrt(np.clip(squares, low**2, high**2))
