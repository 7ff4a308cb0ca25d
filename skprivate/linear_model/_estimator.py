# SPDX-License-Identifier: BSD-3-Clause
"""Base class of the private log-location-scale regressors: parameters, fit, and the released model."""

import functools
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from numbers import Integral, Real
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import Tags, check_consistent_length

from .._typing import (
    CentralMechanism,
    CentralRelation,
    Distribution,
    FloatArray,
    MomentMethod,
    Observation,
    RandomSource,
    Regularization,
)
from ..accounting import PrivacyLedger, PrivacySpent
from ..accounting._statements.spent import name_inputs, source_of_input
from ..base import SHARED_CONSTRAINTS, claim_of, private_fit
from ..domain import TableDomain
from ..noise import check_entropy
from ..noise._fit_budget import FitBudget, resolve_mechanism
from ..rounds._driver import Rounds, RowsInMemory, drive, with_releases
from ..rounds._fit import RoundsMixin
from ..rounds._rows import (
    Target,
    check_observations,
    check_target_bounds,
    find_roles,
    read_target,
    refuse_other_forms,
    replace_target,
)
from ..rounds._schema import RowSchema
from ..rounds._sources import SourceFacts
from ..rounds._tables import TableColumns, count_columns
from ..utils import check_bounds, is_structured
from ..utils._arguments import KEY_BYTES, number_units
from ..utils._compat import CallbackSupportMixin, Interval, StrOptions
from ..utils._private_fit import progress, public_errors
from ..utils._tables import validate_data, within_bounds
from ._censored.rounds import CensoredPlan, censored_rounds
from ._distributions import error_distribution_of, models_log_target
from ._fit_plan import PUBLIC_INPUTS, FitTask, PlannedMoments, SurvivalRows, check_scale_bounds, plan_complete
from ._moments.released_moments import METHODS, REGULARIZATIONS, Neighbours
from ._noise_scales import moment_weights, order_of_norm, root_above
from ._released_model import ReleasedModel

LLS_CONSTRAINTS: dict[str, list[Any]] = {
    **SHARED_CONSTRAINTS,
    "delta": [Fraction, Interval(Real, 0, 1, closed="left")],
    "mechanism": [StrOptions({"auto", "laplace", "gaussian"})],
    "bounds_X": ["array-like", Mapping, None],
    "domain": [TableDomain, None],
    "bounds_y": ["array-like", None],
    "x_norm": [Interval(Real, 0, None, closed="neither"), None],
    "method": [StrOptions(set(METHODS))],
    "regularization": [StrOptions(set(REGULARIZATIONS))],
    "scale_bounds": ["array-like", None],
    "relation": [StrOptions({"replace-one", "add-remove"})],
    "max_iter": [StrOptions({"auto"}), Interval(Integral, 1, 20, closed="both")],
    "hazard_clip": [StrOptions({"auto"}), Interval(Real, 0.1, 100.0, closed="both")],
    "observations": ["array-like", None],
}


class BaseLogLocationScale(
    CallbackSupportMixin,
    ReleasedModel,
    PlannedMoments,
    RoundsMixin,
    RegressorMixin,
    BaseEstimator,
):
    """Base of the private log-location-scale regressors.

    A fit validates the rows, resolves everything public (`_resolve_task`), computes exact integers, charges
    the cost, draws the noise, and post-processes what was released (`_adopt`).
    """

    distribution: Distribution

    leak_remedy = "Declare them from public knowledge (bounds_X=..., bounds_y=...), or use estimate_bounds."

    _parameter_constraints: dict[str, list[Any]] = LLS_CONSTRAINTS

    # Requested by default: the guarantee is about the groups.
    __metadata_request__fit = {"groups": True}

    def __init__(
        self,
        epsilon: float | Fraction = 1.0,
        *,
        delta: float | Fraction = 0.0,
        mechanism: CentralMechanism = "auto",
        bounds_X: Any = None,
        domain: TableDomain | None = None,
        bounds_y: Any = None,
        x_norm: float | None = None,
        method: MomentMethod = "moments",
        regularization: Regularization = "floor",
        scale_bounds: Any = None,
        relation: CentralRelation = "replace-one",
        max_iter: int | Literal["auto"] = "auto",
        hazard_clip: float | Literal["auto"] = "auto",
        observations: Sequence[Observation] | None = None,
        max_rows_per_group: int = 1,
        random_state: RandomSource = None,
        ledger: PrivacyLedger | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.mechanism = mechanism
        self.bounds_X = bounds_X
        self.domain = domain
        self.bounds_y = bounds_y
        self.x_norm = x_norm
        self.method = method
        self.regularization = regularization
        self.scale_bounds = scale_bounds
        self.relation = relation
        self.max_iter = max_iter
        self.hazard_clip = hazard_clip
        self.observations = observations
        self.max_rows_per_group = max_rows_per_group
        self.random_state = random_state
        self.ledger = ledger

    @private_fit
    def fit(self, X: Any, y: Any, groups: Any = None) -> Self:
        """Release noisy sums over the rows, and compute the model from them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Finite numbers; in strict mode what is no finite number is put within the bounds.
        y : array-like of shape (n_samples,)
            Numbers: times > 0 for "weibull", "loglogistic" and "lognormal". Or a structured array, as
            `life_data` makes it, always of times: two fields, (event, time), as in scikit-survival, where
            event is True where the time was observed, False where it is censored, and times are > 0; or the
            fields lower and upper, between which the event happened (after lower, and not after upper); and
            beside either a field entry, from which the row was watched, before the end of the row. What may
            occur is declared by ``observations``; a row of another kind is an error. In strict mode no row
            is: times are put within the bounds, ends in the wrong order change places, an entry that is not
            before the end is none, and a row of another kind is read as a declared one that says no more
            than it, so far as there is one (:doc:`/life_data`).
        groups : array-like of shape (n_samples,), default=None
            Person (or machine) of every row; of each ``max_rows_per_group`` rows count, drawn at random.
            None: the unit of privacy is the row. In a search or a pipeline, groups arrive here only where
            scikit-learn's metadata routing is on; ``privacy_spent_.unit`` says which unit was used.

        Returns
        -------
        self : estimator

        Raises
        ------
        TypeError, ValueError
            Unusable rows, targets, groups or parameters; nothing is charged then, and the ledger counts a
            failure. In strict mode the reason is public: it lies in no single row.
        PrivacyLeakError
            In strict mode, where bounds would be read from private rows, or the noise be seeded.
        BudgetExceededError, LedgerError
            The ledger refused; nothing is charged, and a previous fit is as it was.

        Warns
        -----
        PrivacyLeakWarning
            Bounds were read from private rows.
        UtilityWarning
            By the released values, the noise hides the effect of the features, or the rounds of a fit to
            censored targets did not settle. That none comes is no promise: the page on life data says on
            which designs coverage was measured, and where quiet fits hold less often than they should.
        """
        leaks = self._find_leaks()
        if self.is_strict():
            # Raises before any row is read; afterwards all bounds are known to be declared.
            self.announce_leaks(list(leaks.values()))
        with public_errors():
            kinds = self._kinds(find_roles(y) if is_structured(y) else ())
        rows, log_target = self._read(X, y, groups, kinds)
        self.announce_leaks(list(leaks.values()))
        with public_errors():
            plan = self._plan_noise(self._shape_of(rows.X, rows.units, rows.target.structured))
        task = self._resolve_task(
            self._bounds_of_X(rows.X),
            self._bounds_of_y(rows.target, log_target),
            rows.n_units,
            grouped=rows.units is not None,
            log_target=log_target,
            leaks=leaks,
        )
        entropy = check_entropy(self.random_state)
        kept = None
        if rows.units is not None:
            kept = rows.units.choose_rows(self.max_rows_per_group, entropy.random_bytes(KEY_BYTES))
        prepared = rows.prepare(kept, kinds, task.target)
        drive(self._rounds(task, plan, entropy.source), RowsInMemory(prepared), entropy, self.charge)
        self._after_release()
        return self

    def _known_columns(self) -> int | None:
        return count_columns(self.bounds_X) if self.domain is None else len(self.domain.names)

    def _open_source(
        self, columns: TableColumns, facts: SourceFacts, public: Any
    ) -> tuple[RowSchema, Callable[[str], Rounds[None]]]:
        if public is not None:
            raise ValueError(f"{type(self).__name__} uses no public rows.")
        missing = sorted(self._find_leaks())
        if missing:
            raise ValueError(f"a source is not read for bounds: declare {' and '.join(missing)}.")
        facts.require_target()
        kinds = self._kinds(facts.roles)
        facts.name_columns(self)
        self.name_columns()
        grouped, log_target = (
            columns.group is not None,
            facts.structured or models_log_target(self.distribution),
        )
        plan = self._plan_noise(facts.shape(grouped))
        bounds = self._bounds_of_X(np.empty((0, facts.n_features)))
        bounds_y = check_target_bounds(self.bounds_y, log_target)
        task = self._resolve_task(
            bounds, bounds_y, facts.n_units, grouped=grouped, log_target=log_target, leaks={}
        )
        schema = RowSchema(
            columns=columns,
            n_features=len(bounds[0]),
            domain=self.domain,
            lower=bounds[0],
            upper=bounds[1],
            log_target=log_target,
            bounds_y=bounds_y,
            structured=facts.structured,
            kinds=kinds,
            strict=self.is_strict(),
            max_rows_per_unit=self.max_rows_per_group if grouped else None,
        )
        return schema, functools.partial(self._rounds, task, plan)

    def _after_release(self) -> None:
        self._warn_if_useless()

    def _find_leaks(self) -> dict[str, str]:
        """Return what would have to be read from private rows, by parameter; no row is needed for it."""
        missing = {
            "bounds_X": self.bounds_X is None and self.domain is None and self.x_norm is None,
            "bounds_y": self.bounds_y is None,
        }
        text = "the bounds of {} were read from private rows"
        return {name: text.format(name[-1]) for name, read in missing.items() if read}

    def _kinds(self, roles: tuple[str, ...]) -> tuple[str, ...]:
        """Return the declared kinds of observation of a target with these fields, or with none."""
        return check_observations(self.observations, bool(roles), roles)

    def _read(self, X: Any, y: Any, groups: Any, kinds: tuple[str, ...]) -> tuple[SurvivalRows, bool]:
        """Validate the rows, and put the target on the scale of the model; also whether that is log time."""
        structured = is_structured(y)
        log_target = structured or models_log_target(self.distribution)
        X = self.encode_rows(X)
        read = self._read_strictly if self.is_strict() else self._read_checked
        rows = read(X, y, groups, log_target, kinds)
        self.name_columns()
        return rows, log_target

    def _read_checked(
        self, X: Any, y: Any, groups: Any, log_target: bool, kinds: tuple[str, ...]
    ) -> SurvivalRows:
        """Validate the rows outside strict mode: unusable values are errors."""
        structured = is_structured(y)
        # The kernel checks that values are finite while it reads them. They are checked here where not every
        # row reaches the kernel.
        finite = structured or groups is not None or (self.bounds_X is None and self.x_norm is None)
        if structured:
            X = validate_data(self, X, dtype=np.float64, order="C", ensure_all_finite=finite)
            check_consistent_length(X, y)
        else:
            refuse_other_forms(y)
            X, y = validate_data(
                self, X, y, dtype=np.float64, order="C", y_numeric=True, ensure_all_finite=finite
            )
        target = read_target(y, log_target, kinds)
        units = number_units(groups, np.ones(len(X), dtype=bool))
        return SurvivalRows(X, target, units)

    def _read_strictly(
        self, X: Any, y: Any, groups: Any, log_target: bool, kinds: tuple[str, ...]
    ) -> SurvivalRows:
        """Validate the rows in strict mode: unusable values are replaced by values within the bounds."""
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None.")
        X = self.read_numbers(X)
        X = within_bounds(X, *self._bounds_of_X(X))
        target = replace_target(y, check_target_bounds(self.bounds_y, log_target), log_target, kinds)
        check_consistent_length(X, target.time_on_model_scale)
        units = number_units(groups, np.ones(len(X), dtype=bool), strict=True)
        return SurvivalRows(X, target, units)

    def _resolve_task(
        self,
        bounds: tuple[FloatArray, FloatArray],
        bounds_y: tuple[float, float],
        n_units: int,
        *,
        grouped: bool,
        log_target: bool,
        leaks: dict[str, str],
    ) -> FitTask:
        """Return everything public about the fit."""
        return FitTask(
            distribution=error_distribution_of(self.distribution),
            log_target=log_target,
            bounds=bounds,
            bounds_y=bounds_y,
            neighbours=self._neighbours(len(bounds[0]), grouped),
            budget=FitBudget.of(self.epsilon, self.delta, self.mechanism),
            n_units=n_units if self.relation == "replace-one" else None,
            scale_bounds=self._bounds_of_scale(),
            leaks=leaks,
        )

    def _neighbours(self, n_features: int, grouped: bool, max_weight: Fraction | None = None) -> Neighbours:
        mechanism = resolve_mechanism(self.mechanism, self.delta)
        return Neighbours(
            weights=moment_weights(n_features, mechanism, order_of_norm(mechanism, self.x_norm)),
            relation=self.relation,
            rows_per_unit=self.max_rows_per_group if grouped else 1,
            grouped=grouped,
            max_weight=max_weight,
        )

    def _bounds_of_X(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        if self.domain is not None:
            return self.domain.bounds
        if self.bounds_X is None and self.x_norm is not None:
            return check_bounds((-self.x_norm, self.x_norm), X.shape[1])
        lower, upper = self.resolve_bounds(self.bounds_X, X, None, name="bounds_X")
        return lower, np.where(upper > lower, upper, lower + np.maximum(1.0, np.abs(lower)))

    def _bounds_of_y(self, target: Target, log_target: bool) -> tuple[float, float]:
        """Bounds in the units passed to fit."""
        if self.bounds_y is not None:
            return check_target_bounds(self.bounds_y, log_target)
        low, high = target.range()
        high = high if high > low else low + max(1.0, abs(low))
        return (float(np.exp(low)), float(np.exp(high))) if log_target else (low, high)

    def _bounds_of_scale(self) -> tuple[float, float] | None:
        return None if self.scale_bounds is None else check_scale_bounds(self.scale_bounds)

    def _rounds(self, task: FitTask, plan: CensoredPlan | None, source: str) -> Rounds[None]:
        """Yield the rounds of a fit, and compute the model from what they released."""
        if plan is None:
            return self._rounds_of_moments(task, source)
        return self._rounds_of_censored(task, plan, source)

    def _rounds_of_moments(self, task: FitTask, source: str) -> Rounds[None]:
        """Yield the moments of fully observed targets, and rounds that improve on them."""
        fit, times = plan_complete(task, self.x_norm, self._most_looks(), self.max_iter, self.hazard_clip)
        whole = times or fit
        if fit.looks is None:
            spent = self._describe_moments(task, fit.unit, source)
        else:
            spent = self._describe_spending(task, source, whole.releases, None, None)
        with progress(self, "release", None) as on_progress:
            release, spent = yield from with_releases(whole.rounds(spent, on_progress), spent)
        self._adopt(release, fit.grid, task, spent)

    def _rounds_of_censored(self, task: FitTask, plan: CensoredPlan, source: str) -> Rounds[None]:
        """Yield histograms and Newton rounds, for targets that may be censored."""
        grid = task.grid(self.x_norm, task.budget)
        plan = plan.within(grid, task.scale_limits(grid))
        what = "histograms (up to a quarter of the budget) and on rounds of residual sums (the rest)"
        spent = self._describe_spending(task, source, what, None, None)
        n_parts = None if plan.max_iter is None else 2 + plan.max_iter
        with progress(self, "release", n_parts) as on_progress:
            release, spent = yield from with_releases(censored_rounds(plan, spent, on_progress), spent)
        self._adopt(release, grid, task, spent)

    def _describe_moments(self, task: FitTask, unit: Fraction, source: Any) -> PrivacySpent:
        """Return what a release of moments spent and claims; sensitivity and noise are those of weight 1."""
        if task.budget.mechanism == "laplace":
            sensitivity: Any = task.neighbours.l1 * unit
            scale: Any = sensitivity / task.budget.amount
        else:
            squared = task.neighbours.squared_l2 * unit**2
            sensitivity, scale = root_above(squared), root_above(squared / (2 * task.budget.amount))
        return self._describe_spending(task, source, "moments", sensitivity, scale)

    def _describe_spending(
        self, task: FitTask, source: Any, released: str, sensitivity: Any, scale: Any
    ) -> PrivacySpent:
        """Return what one fit spent and claims."""
        grouped = task.neighbours.grouped
        return PrivacySpent(
            mechanism=f"discrete {task.budget.mechanism.capitalize()} noise on {released}",
            epsilon=task.budget.epsilon,
            delta=task.budget.delta,
            rho=task.budget.rho,
            relation=self.relation,
            unit="group" if grouped else "row",
            max_rows_per_unit=task.neighbours.rows_per_unit,
            sensitivity=sensitivity,
            noise_scale=scale,
            noise_source=source,
            deployment="curator",
            public_inputs=name_inputs(self, PUBLIC_INPUTS),
            unprotected=self._unprotected(task),
            **claim_of(task.leaks.values(), source, self, PUBLIC_INPUTS),
        )

    def _unprotected(self, task: FitTask) -> dict[str, Any]:
        facts: dict[str, Any] = {}
        if task.n_units is not None:
            facts["groups" if task.neighbours.grouped else "rows"] = task.n_units
        for name in ("bounds_X", "bounds_y"):
            leak = name in task.leaks
            facts[name] = "READ FROM PRIVATE ROWS" if leak else source_of_input(getattr(self, name))
        if self.domain is not None:
            facts["bounds_X"] = "declared by the domain"
        return facts

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        # At the default epsilon the score check fails: it has 200 rows with 10 features.
        tags.regressor_tags.poor_score = True
        return tags
