# SPDX-License-Identifier: BSD-3-Clause
"""The private log-location-scale regressors: parameters, fit, and the released model.

`_fit` has what is public about a fit, its rounds, and the model that follows from them. Predictions are
functions of a fitted regressor; the base class has them as its methods.
"""

import copy
import functools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from inspect import cleandoc
from numbers import Integral, Real
from string import Template
from typing import Any, Literal, Self, TypeVar, cast

import numpy as np
from scipy.special import ndtri
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import Tags, check_consistent_length
from sklearn.utils.validation import check_is_fitted

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
from ..accounting import PrivacyLedger
from ..base._mixin import CURATOR_CONSTRAINTS, PrivateEstimatorMixin
from ..base._public_facts import PlannedCost, PublicShape, assign_roles, cost_of, shape_of
from ..domain import TableDomain
from ..noise._mechanisms import FitBudget, check_entropy
from ..rounds import _rows as targets
from ..rounds._driver import Rounds, RowsInMemory, drive, with_releases
from ..rounds._fit import schema_of
from ..rounds._schema import RowSchema
from ..rounds._sources import SourceFacts
from ..rounds._tables import TableColumns
from ..utils._arguments import KEY_BYTES, check_bounds, is_structured, number_units
from ..utils._compat import CallbackSupportMixin, Interval, StrOptions
from ..utils._private_fit import private_fit, progress, public_errors
from ..utils._public_module import name_constructor, public_module
from ..utils._tables import validate_data, within_bounds
from . import _fit as fitting
from . import _predictions as predictions
from . import _summary
from . import _survival_curves as survival_curves
from ._censored.population import PopulationPlan, population_rounds
from ._censored.rounds import CensoredPlan, censored_rounds
from ._distributions import DISTRIBUTIONS, error_distribution_of, models_log_target
from ._goodness_of_fit import States, goodness_of_fit, states_of_place, states_of_slopes, warn_of_release
from ._moments.released_moments import METHODS, REGULARIZATIONS, FitTask, Neighbours, moment_weights
from ._moments.rounds import part_of
from ._scale_by_level import LEVEL_SHARE, SpreadByLevel, level_rounds

# Types and ranges of the parameters, and the part that each has in a fit.
LLS_CONSTRAINTS: dict[str, list[Any]] = {
    **CURATOR_CONSTRAINTS,
    "bounds_X": ["array-like", Mapping, None],
    "bounds_y": ["array-like", None],
    "x_norm": [Interval(Real, 0, None, closed="neither"), None],
    "method": [StrOptions(set(METHODS))],
    "regularization": [StrOptions(set(REGULARIZATIONS))],
    "scale_bounds": ["array-like", None],
    "max_iter": [StrOptions({"auto"}), Interval(Integral, 1, 20, closed="both")],
    "hazard_clip": [StrOptions({"auto"}), Interval(Real, 0.1, 100.0, closed="both")],
    "observations": ["array-like", None],
    "scale_by": [str, "array-like", None],
}
LLS_ROLES = assign_roles(
    release="epsilon delta mechanism bounds_X domain bounds_y x_norm scale_bounds relation max_iter "
    "hazard_clip observations scale_by max_rows_per_group random_state",
    post_processing="method regularization",
    computing="ledger",
)


class BaseLogLocationScale(CallbackSupportMixin, PrivateEstimatorMixin, RegressorMixin, BaseEstimator):
    """Base of the private log-location-scale regressors.

    A fit validates the rows, resolves everything public (`_resolve_task`), computes exact integers, charges
    the cost, draws the noise, and post-processes what was released. `share_docstring` copies sections of this
    docstring into those of the regressors.

    Parameters
    ----------
    epsilon : float or Fraction, default=1.0
        Largest privacy loss of the fit, > 0 and finite.
    delta : float or Fraction, default=0.0
        The delta of (epsilon, delta)-differential privacy, in [0, 1). It is above 0 for Gaussian noise, and 0
        for Laplace noise. If n is public, a fit warns about a delta that is not below 1 / n.
    mechanism : {"auto", "laplace", "gaussian"}, default="auto"
        "laplace": exact discrete Laplace noise, with ``epsilon``. "gaussian": exact discrete Gaussian noise,
        with ``epsilon`` and ``delta``, by the rho of zero-concentrated differential privacy; it is smaller
        with many features. "auto": Gaussian if ``delta`` is above 0, else Laplace. "laplace" with a ``delta``
        above 0 is an error.
    bounds_X : pair or dict, default=None
        ``(lower, upper)`` of X, each a scalar or of shape (n_features,), or ``{column: (lower, upper)}``.
        They are in the units of X, and come from public knowledge. Values outside are clipped silently. None:
        the bounds are read from the rows, which is a leak, unless ``x_norm`` is given.
    domain : TableDomain, default=None
        What is publicly known of the columns of X. It declares the bounds of X. The columns may then hold
        text, categories, dates and missing cells. The slopes are those of ``domain.encoded_names``.
    bounds_y : pair of floats, default=None
        ``(lower, upper)`` of the target in the units passed to ``fit``; above 0 for times. Values outside are
        clipped. A time after the upper bound counts as censored there, if there are many such times or
        targets may be censored. Counts of times below the lower bound are released, and the fit warns if
        there are many. None: the bounds are read from the rows, which is a leak.
    x_norm : float, default=None
        Public bound on the norm of a row of X minus the centre of ``bounds_X`` (minus 0 without them). The
        norm is the sum of absolute values with Laplace noise, and the Euclidean norm with Gaussian noise.
        Longer rows are shrunk to it. All features must then have one unit. If rows are short, the noise is
        smaller than with ``bounds_X``.
    method : {"moments", "taylor"}, default="moments"
        "moments" is consistent for every distribution. "taylor" is the paper's truncated likelihood, for
        comparison; it takes no censored targets.
    regularization : {"floor", "trim", "zhang", "none"}, default="floor"
        What is done about directions of the features whose moments are below the level of the noise. "floor"
        raises these moments to that level, "trim" drops the directions, "zhang" adds a ridge, "none" does
        nothing. It is post-processing of one release of moments. With censored targets, anything but "none"
        shrinks the noise in the curvature.
    scale_bounds : pair of floats, default=None
        Limits of ``scale_``, on the scale of the model. None: 0.001 and 2 half-widths of the target's bounds.
    relation : {"replace-one", "add-remove"}, default="replace-one"
        Neighbouring tables. "replace-one": tables of the same, public size. "add-remove": tables whose sizes
        differ by one row; the number of rows is then protected too, and released with noise.
    max_iter : int or "auto", default="auto"
        Number of rounds of estimates, which share the budget. "auto": released values choose it. With
        censored targets: the number of Newton rounds after the histogram, 2 to 10. A small scale needs more
        rounds; with fewer rounds, each has less noise. With complete targets: a round of moments, and then
        looks at residuals. 1 is one release of moments. So are a ``method`` or ``regularization`` that is not
        the default, and "auto" with few rows.
    hazard_clip : float or "auto", default="auto"
        With censored targets: cumulative hazard, from 0.1 to 100, at which a row counts as censored in a
        round. A smaller one means less noise, and less information from late rows. "auto": 1; 0.5 if less
        than a tenth of the rows are events; 8 if the noise does not matter. Released counts decide which. It
        has no effect for logistic errors.
    observations : sequence of {"exact", "right", "left", "interval", "entry"}, default=None
        Kinds of observation that may occur in a structured target. This is public knowledge, never read from
        the rows. "left": the event came before a time. "interval": it came between two times. "entry": rows
        were watched from a time on, and would not be in the table if the event had come before. None: exact
        and right-censored. Targets of lower and upper ends, or with entries, must be declared.
        ``["exact"]``: every event was observed; the fit is that of the times alone, which is far more
        accurate.
    scale_by : str or sequence of str, default=None
        Columns of ``domain``, booleans or of levels without an order, by whose levels the scale of the errors
        may differ. Several columns: every combination of their levels is a level, 64 at most. A quarter of
        the budget counts residuals by level. A row is in one level, so more levels cost no more budget, but
        each has the noise of its own counts. Location and scale of a level follow from its counts;
        predictions and intervals use them. ``spread_by_level_`` shows whether scales differ. Events and
        right-censored rows only.
    max_rows_per_group : int, default=1
        With ``groups``: number of rows of one person that count, drawn at random. The noise grows in
        proportion. Intervals of fits to complete targets hold however these rows depend on each other. If the
        rows are independent, the intervals are wider than necessary.
    random_state : None, int, RandomState or Generator, default=None
        None: entropy of the operating system. Any other value makes the fit reproducible, and not private.
    ledger : PrivacyLedger, default=None
        It is charged before any noise is drawn.

    Attributes
    ----------
    privacy_spent_ : PrivacySpent
        What was spent, on what unit, and what is claimed.
    coef_ : ndarray of shape (n_features,)
        Slopes of the location, in units of y (log time if y is structured) per unit of X.
    intercept_, scale_ : float
        Location at X = 0, and scale of the errors.
    coef_interval_, scale_interval_ : ndarray of shape (n_features, 2) and (2,)
        90 % confidence intervals.
    slopes_kept_ : float
        Factor that the slopes were multiplied by; see `DPLogLocationScaleRegressor`.
    release_, level_release_ : object
        Everything that was released about private rows. Counts by level are None without ``scale_by``. The
        other attributes are those of `DPLogLocationScaleRegressor`.

    Notes
    -----
    **Privacy.** Neighbouring tables differ by one row, as ``relation`` states. With ``groups`` they
    differ by the rows of one person, of which at most ``max_rows_per_group`` count.

    Complete times, unless ``max_iter=1``: 3 % of the budget is spent on counts beyond the bounds, which
    choose how the rest is spent. Complete targets: the sums of products of (1, y, x) are released with exact
    noise. They are scaled to [-1, 1] by the bounds and rounded toward zero to integers. Unless
    ``max_iter=1``, counts of residuals and sums of clipped residuals times (1, x) follow. If noise hides the
    slopes, the sums of products of (1, y, prediction) follow too. Sensitivities follow from the bounds
    (proof: :doc:`/proofs/moments`).

    Censored targets: a tenth of the budget is spent on a histogram of 64 bins of log time by event. The rest
    is spent on ``max_iter`` rounds of weighted sums and on two histograms of residuals. One comes before the
    last round, with a twentieth of the budget, and one after it, with a tenth. They are left out if released
    values show that they would reveal nothing (proof: :doc:`/proofs/censored`).

    Coefficients, intervals, curves and warnings are functions of these releases. Whoever runs ``fit`` sees
    the rows and is trusted. Not protected: the number of rows (of persons, with ``groups``) unless
    ``relation="add-remove"``, and the bounds. A seeded fit, or one that reads bounds from the rows, claims
    "not-private".

    References
    ----------
    Sheng, Fang, Differentially private log-location-scale regression using functional mechanism, 2024.

    Ferrando, Wang, Sheldon, Parametric bootstrap for differentially private confidence intervals, 2022.
    """

    distribution: Distribution

    leak_remedy = "Declare them from public knowledge (bounds_X=..., bounds_y=...), or use estimate_bounds."
    declared_roles = LLS_ROLES
    _bounds_parameter = "bounds_X"
    _has_rounds = _reads_numbers = True

    _parameter_constraints: dict[str, list[Any]] = LLS_CONSTRAINTS

    _replicates: FloatArray | None

    # Routed by default, because the guarantee is about the groups.
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
        scale_by: str | Sequence[str] | None = None,
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
        self.scale_by = scale_by
        self.max_rows_per_group = max_rows_per_group
        self.random_state = random_state
        self.ledger = ledger

    @private_fit
    def fit(self, X: Any, y: Any, groups: Any = None) -> Self:
        """Release noisy sums over the rows, and compute the model from them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or None
            Finite numbers. In strict mode, values that are not finite are replaced by values within the
            bounds. None: lifetimes of one population, without columns. Predictions then take None too, and
            return one value, as for one row; ``bounds_X``, ``domain`` and ``x_norm`` must be left out.
        y : array-like of shape (n_samples,)
            Numbers: times > 0 for "weibull", "loglogistic" and "lognormal". Or a structured array, as
            `life_data` makes it, always of times > 0. Its fields are (event, time), as in scikit-survival:
            event is True if the time was observed, False if it is censored. Or they are lower and upper: the
            event happened after lower, and not after upper. Either may have a field entry: the row was
            watched from then on, and entry is before the end of the row. ``observations`` declares the kinds
            of rows; another kind is an error. In strict mode no row is an error. Times are put within the
            bounds, ends in the wrong order change places, and an entry that is not before the end is
            ignored. A row of another kind is read as a declared kind that claims no more than the row does,
            if there is one (:doc:`/life_data`).
        groups : array-like of shape (n_samples,), default=None
            Person (or machine) of every row. ``max_rows_per_group`` rows of each count, drawn at random.
            None: the unit of privacy is the row. In a search or a pipeline, groups arrive here only if
            scikit-learn's metadata routing is on; ``privacy_spent_.unit`` shows which unit was used.

        Returns
        -------
        self : estimator

        Raises
        ------
        TypeError, ValueError
            Unusable rows, targets, groups or parameters. Nothing is charged then, and the ledger counts a
            failure. In strict mode the reason is public: no single row causes it.
        PrivacyLeakError
            In strict mode, if bounds would be read from private rows, or the noise is seeded.
        BudgetExceededError, LedgerError
            The ledger refused. Nothing is charged, and a previous fit stays as it was.

        Warns
        -----
        PrivacyLeakWarning
            Bounds were read from private rows.
        UtilityWarning
            By the released values, some estimates are unknown. Either the noise hides the effects of columns
            or levels, which are named. Or the residuals reject the distribution. Or the rounds of a fit to
            censored targets did not settle. ``summary()`` has the state of every estimate. No warning is no
            promise: the page on life data lists the designs on which coverage was measured.
        """
        leaks = self._find_leaks(X is not None)
        if self.is_strict():
            # Raises before any row is read. After it, all bounds are known to be declared.
            self.announce_leaks(list(leaks.values()))
        with public_errors():
            roles = targets.find_roles(y) if is_structured(y) else ()
            kinds = targets.check_observations(self.observations, bool(roles), roles)
        rows, log_target = self._read(X, y, groups, kinds)
        self.announce_leaks(list(leaks.values()))
        grouped = rows.units is not None
        with public_errors():
            shape = shape_of(self, rows.n_units, grouped, structured=rows.target.structured)
            plan = fitting.plan_public(self, shape)
        bounds, bounds_y = self._bounds_of_X(rows.X), self._bounds_of_y(rows.target, log_target)
        task = self._resolve_task(bounds, bounds_y, rows.n_units, grouped, log_target, leaks)
        entropy = check_entropy(self.random_state)
        kept = None
        if rows.units is not None:
            kept = rows.units.choose_rows(self.max_rows_per_group, entropy.random_bytes(KEY_BYTES))
        prepared = rows.prepare(kept, kinds, task.target)
        drive(self._rounds(task, plan, entropy.source), RowsInMemory(prepared), entropy, self.charge)
        self._after_release()
        return self

    def _open_source(
        self, columns: TableColumns, facts: SourceFacts, public: Any
    ) -> tuple[RowSchema, Callable[[str], Rounds[None]]]:
        if public is not None:
            raise ValueError(f"{type(self).__name__} uses no public rows.")
        missing = sorted(self._find_leaks())
        if missing:
            raise ValueError(f"a source is not read for bounds: declare {' and '.join(missing)}.")
        facts.require_target()
        kinds = targets.check_observations(self.observations, bool(facts.roles), facts.roles)
        facts.name_columns(self)
        self._name_columns()
        grouped = columns.group is not None
        log_target = facts.structured or models_log_target(self.distribution)
        plan = fitting.plan_public(self, facts.shape(grouped))
        bounds = self._bounds_of_X(np.empty((0, facts.n_features)))
        bounds_y = targets.check_target_bounds(self.bounds_y, log_target)
        task = self._resolve_task(bounds, bounds_y, facts.n_units, grouped, log_target, {})
        target = {"log_target": log_target, "bounds_y": bounds_y, "structured": facts.structured}
        schema = schema_of(self, columns, bounds, kinds=kinds, **target)
        return schema, functools.partial(self._rounds, task, plan)

    # Rows, and what is public about them.

    def _find_leaks(self, columns: bool = True) -> dict[str, str]:
        """Return what would have to be read from private rows, by parameter. It needs no row."""
        missing = {
            "bounds_X": columns and self.bounds_X is None and self.domain is None and self.x_norm is None,
            "bounds_y": self.bounds_y is None,
        }
        text = "the bounds of {} were read from private rows"
        return {name: text.format(name[-1]) for name, read in missing.items() if read}

    def _read(self, X: Any, y: Any, groups: Any, kinds: tuple[str, ...]) -> tuple[fitting.SurvivalRows, bool]:
        """Validate the rows, and put the target on the scale of the model; also whether that is log time.

        In strict mode unusable values are replaced by values within the bounds. Otherwise they are errors.
        """
        structured, strict = is_structured(y), self.is_strict()
        log_target = structured or models_log_target(self.distribution)
        population = X is None
        X = self._encode_rows(_columns_of(X, y, self))
        if strict:
            if y is None:
                raise ValueError("requires y to be passed, but the target y is None.")
            if not population:
                X = self.read_numbers(X)
                X = within_bounds(X, *self._bounds_of_X(X))
            target = targets.replace_target(
                y, targets.check_target_bounds(self.bounds_y, log_target), log_target, kinds
            )
            check_consistent_length(X, target.time_on_model_scale)
        else:
            # The kernel checks that values are finite while it reads them. They are checked here if some
            # rows do not reach the kernel.
            finite = structured or groups is not None or (self.bounds_X is None and self.x_norm is None)
            options: dict[str, Any] = {"dtype": np.float64, "order": "C", "ensure_all_finite": finite}
            options["ensure_min_features"] = int(not population)
            if structured:
                X = validate_data(self, X, **options)
                check_consistent_length(X, y)
            else:
                targets.refuse_other_forms(y)
                X, y = validate_data(self, X, y, y_numeric=True, **options)
            target = targets.read_target(y, log_target, kinds)
        units = number_units(groups, np.ones(len(X), dtype=bool), strict=strict)
        self._name_columns()
        return fitting.SurvivalRows(X, target, units), log_target

    def _budget(self) -> FitBudget:
        return FitBudget.of(self.epsilon, self.delta, self.mechanism)

    def _resolve_task(
        self,
        bounds: tuple[FloatArray, FloatArray],
        bounds_y: tuple[float, float],
        n_units: int | None,
        grouped: bool,
        log_target: bool,
        leaks: dict[str, str],
        max_weight: Fraction | None = None,
    ) -> FitTask:
        """Return everything public about the fit."""
        return FitTask(
            distribution=error_distribution_of(self.distribution),
            log_target=log_target,
            bounds=bounds,
            bounds_y=bounds_y,
            neighbours=self._neighbours(len(bounds[0]), grouped, max_weight),
            budget=self._budget(),
            n_units=n_units if self.relation == "replace-one" else None,
            scale_bounds=fitting.check_scale_bounds(self.scale_bounds),
            x_norm=self.x_norm,
            leaks=leaks,
        )

    def _neighbours(self, n_features: int, grouped: bool, max_weight: Fraction | None = None) -> Neighbours:
        mechanism = self._budget().mechanism
        return Neighbours(
            weights=moment_weights(n_features, mechanism, self.x_norm is not None),
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
        if not X.shape[1]:
            return np.zeros(0), np.zeros(0)
        lower, upper = self.resolve_bounds(self.bounds_X, X, None, name="bounds_X")
        return lower, np.where(upper > lower, upper, lower + np.maximum(1.0, np.abs(lower)))

    def _bounds_of_y(self, target: targets.Target, log_target: bool) -> tuple[float, float]:
        """Bounds in the units passed to fit."""
        if self.bounds_y is not None:
            return targets.check_target_bounds(self.bounds_y, log_target)
        low, high = target.range()
        high = high if high > low else low + max(1.0, abs(low))
        return (float(np.exp(low)), float(np.exp(high))) if log_target else (low, high)

    # What a private search must know in advance.

    def roles_for(self, y: Any = None) -> Mapping[str, str]:
        # If there may be several rounds, one depends on the estimate of the round before.
        several = self.max_iter != 1 or (y is not None and is_structured(y))
        again = ("method", "regularization") if several or self.scale_by is not None else ()
        return {**self.declared_roles, **dict.fromkeys(again, "release")}

    def planned_cost(self, any_public: bool) -> PlannedCost:
        return cost_of(self, self._budget(), self._find_leaks().values())

    def check_public(self, shape: PublicShape) -> None:
        fitting.plan_public(self, shape)

    def _most_looks(self) -> int | None:
        """Return how many looks follow the moments of complete targets; None: by released values."""
        if self.method == "taylor" or self.regularization != "floor":
            return 0
        return None if isinstance(self.max_iter, str) else int(self.max_iter) - 1

    # The rounds, and the statement of what they spend.

    def _rounds(self, task: FitTask, plan: CensoredPlan | PopulationPlan | None, source: str) -> Rounds[None]:
        """Yield the rounds of a fit, and compute the model from what they released.

        Complete targets: moments, and rounds that improve on them. Targets that may be censored have a plan:
        histograms and Newton rounds, or two histograms if there are no columns.
        """
        rounds: Any
        levels, whole_task = fitting.levels_of(self), task
        if levels is not None:
            task = replace(task, budget=part_of(task.budget, 1 - LEVEL_SHARE))
        if plan is None:
            fit, times = fitting.plan_complete(task, self._most_looks(), self.max_iter, self.hazard_clip)
            whole = times or fit
            grid, rounds, n_parts = fit.grid, whole.rounds, None
            alone = "moments" if fit.first == 1 else "moments, and moments of target and prediction"
            what = alone if fit.looks is None else whole.releases
        else:
            grid = task.grid(task.budget)
            plan = replace(plan, grid=grid, scale_bounds=task.scale_limits(grid))
            if isinstance(plan, PopulationPlan):
                rounds, n_parts, what = functools.partial(population_rounds, plan), 2, "two histograms"
            else:
                rounds = functools.partial(censored_rounds, plan)
                what = "histograms (up to a quarter of the budget) and on rounds of residual sums (the rest)"
                n_parts = None if plan.max_iter is None else 2 + plan.max_iter
        spent = fitting.describe_spending(self, whole_task, source, what)
        if what == "moments" and levels is None:
            spent = fitting.describe_moments(self, task, Fraction(4**grid.exponent), source)
        with progress(self, "release", n_parts) as on_progress:
            if levels is None:
                release, spent = yield from with_releases(rounds(spent, on_progress), spent)
                fitting.adopt(self, release, grid, task, spent)
                return
            options = task.distribution, self.regularization, task.scale_limits(grid), self.method
            what = f"{spent.mechanism}: of three quarters of the budget; and counts by level"
            spent = replace(spent, mechanism=what)
            inner, solve = rounds(spent, on_progress), lambda one: fitting.fit_of(one, *options)
            run = level_rounds(levels, inner, whole_task, grid, solve, fitting.events_of)
            (release, counted), spent = yield from with_releases(run, spent)
        fitting.adopt(self, release, grid, whole_task, spent, (levels, counted))

    # The released model. All that follows is computed from it, at no further cost.

    def _read_fitted(self, X: Any, **options: Any) -> FloatArray:
        if self.n_features_in_:
            return super()._read_fitted(X, **options)
        if X is not None:
            raise ValueError("the model is of one population, without columns: pass None for X.")
        return np.zeros((1, 0))

    def post_processed(self, parameters: Mapping[str, Any]) -> Self:
        changed = copy.copy(self)
        changed.set_params(**parameters)
        changed._validate_params()
        changed._method, changed._regularization = changed.method, changed.regularization
        fitting.solve_release(changed)
        return changed

    @property
    def replicates_(self) -> FloatArray:
        """Parametric bootstrap of the release, computed when it is first read."""
        check_is_fitted(self)
        if self._replicates is None:
            self._replicates = fitting.replicate(self)
        return self._replicates

    @property
    def coef_interval_(self) -> FloatArray:
        """Confidence interval of every slope, of shape (n_features, 2)."""
        return fitting.interval_of_coef(self, fitting.CONFIDENCE)

    @property
    def scale_interval_(self) -> FloatArray:
        """Confidence interval of the scale, of shape (2,)."""
        return fitting.interval_of_scale(self, fitting.CONFIDENCE)

    @property
    def coef_state_(self) -> States:
        """What is known of every slope, of shape (n_features,)."""
        check_is_fitted(self)
        return states_of_slopes(self)

    @property
    def scale_state_(self) -> str:
        """What is known of the scale."""
        check_is_fitted(self)
        return str(states_of_place(self)[1])

    @property
    def spread_by_level_(self) -> SpreadByLevel:
        """Scale of every level of ``scale_by``, and whether they differ."""
        check_is_fitted(self)
        if self._level_model is None:
            raise AttributeError("the fit had no scale_by: nothing was counted by level.")
        return cast(SpreadByLevel, self._level_model.spread(float(ndtri(0.5 + 0.5 * fitting.CONFIDENCE))))

    summary = _summary.summary
    _study_figures = _summary.study_figures
    goodness_of_fit = goodness_of_fit
    _after_release = warn_of_release

    predict = predictions.predict
    predict_mean = predictions.predict_mean
    predict_quantile = predictions.predict_quantile
    predict_quantile_bound = predictions.predict_quantile_bound
    quantile_state = predictions.quantile_state
    b_lives = predictions.b_lives
    acceleration_factor = predictions.acceleration_factor
    score = predictions.score
    _with_intervals = predictions._with_intervals
    _beyond = predictions._beyond

    unique_times_ = property(survival_curves.unique_times_)
    predict_survival_function = survival_curves.predict_survival_function
    predict_cumulative_hazard_function = survival_curves.predict_cumulative_hazard_function

    def __getstate__(self) -> dict[str, Any]:
        # Replicates and states are computed again when they are read.
        again = dict.fromkeys({"_replicates", "_without_noise", "_ground"} & vars(self).keys())
        return {**super().__getstate__(), **again}

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        # The score check has 200 rows with 10 features: at the default epsilon it fails.
        tags.regressor_tags.poor_score = True
        return tags


def _columns_of(X: Any, y: Any, estimator: Any) -> Any:
    """Return X, with no column if it is None; ValueError for a table without columns."""
    if X is None and y is not None:
        other = ("bounds_X", "domain", "x_norm", "scale_by")
        given = [name for name in other if getattr(estimator, name) is not None]
        if given:
            names = " and ".join(given)
            raise ValueError(f"fit(None, y) is of one population, without columns: leave out {names}.")
        vars(estimator).pop("feature_names_in_", None)
        estimator.n_features_in_ = 0
        return np.zeros((len(y), 0))
    shape: tuple[int, ...] = getattr(X, "shape", ())
    if isinstance(X, list):
        shape = (len(X), *np.shape(X[:1])[1:])
    if len(shape) == 2 and not shape[1]:
        raise ValueError(
            f"Found array with 0 feature(s) (shape={tuple(shape)}) while a minimum of 1 is required. "
            "Lifetimes of one population, without columns, are fitted by fit(None, y)."
        )
    return X


# The public classes.

Regressor = TypeVar("Regressor", bound=type)


def share_docstring(regressor: Regressor) -> Regressor:
    """Replace the names of shared sections in the docstring of a class by these sections.

    Parameters
    ----------
    regressor : type
        Its docstring names a section as ``$epsilon``, ``$parameters``, ``$preset_attributes``, ``$privacy``
        or ``$references``. A docstring that is None, as under ``python -OO``, stays None.

    Returns
    -------
    regressor : type
        The same class.

    Raises
    ------
    KeyError
        The docstring names a section that does not exist.

    Examples
    --------
    >>> from skprivate.linear_model._regressors import share_docstring
    >>> @share_docstring
    ... class Regressor:
    ...     '''A regressor.
    ...
    ...     References
    ...     ----------
    ...     $references
    ...     '''
    >>> Regressor.__doc__.splitlines()[4].split(",")[0]
    'Sheng'
    """
    shared = BaseLogLocationScale.__doc__
    if regressor.__doc__ is not None and shared is not None:
        _, *parts = re.split(r"\n\n([A-Z]\w+)\n-+\n", cleandoc(shared))
        sections = dict(zip(parts[::2], parts[1::2], strict=True))
        epsilon, parameters = sections["Parameters"].split("\ndelta ", 1)
        regressor.__doc__ = Template(cleandoc(regressor.__doc__)).substitute(
            epsilon=epsilon,
            parameters=f"delta {parameters}",
            preset_attributes=sections["Attributes"],
            privacy=sections["Notes"],
            references=sections["References"],
        )
    return regressor


# The private log-location-scale regressor of times, censored or not.


@public_module("skprivate.linear_model")
@share_docstring
class DPLogLocationScaleRegressor(BaseLogLocationScale):
    """Differentially private Weibull AFT, log-logistic AFT and log-normal AFT regression, with censoring.

    Fits the accelerated failure time model log T = intercept + X coef + scale * error to private releases.
    Targets may be right-censored. A private survival curve is then estimated at no further cost.

    Parameters
    ----------
    $epsilon
    distribution : {"weibull", "loglogistic", "lognormal", "sev", "logistic", "normal"}, default="weibull"
        Distribution of the target. The first three take times above 0 and model their logarithms. The others
        take numbers as they are. "sev" is the smallest extreme value distribution: that of the logarithm of a
        Weibull time. Structured targets (event, time) are always times.
    $parameters

    Attributes
    ----------
    privacy_spent_ : PrivacySpent
        What was spent, on what unit, and what is claimed.
    coef_ : ndarray of shape (n_features,)
        Slopes of the location, in the units of X, on the scale of the model (log time).
    slopes_kept_ : float
        Factor from 0 to 1 that the slopes of a fit to complete targets were multiplied by. It is below 1 only
        if, by released values, the slopes predict no better than a constant, or if released values, or public
        numbers with few rows, asked for a check of the predictions. Other fits are not shrunk. Predictions
        follow the shrunk slopes. Intervals are those of the fit before it was shrunk: an estimate need not be
        in the middle of its interval.
    intercept_ : float
        Location at X = 0.
    scale_ : float
        Scale sigma of the errors, on the scale of the model (log time).
    coef_interval_ : ndarray of shape (n_features, 2)
        90 % confidence interval of every slope, from a parametric bootstrap of the release.
    scale_interval_ : ndarray of shape (2,)
        The same for ``scale_``.
    coef_state_, scale_state_ : ndarray of str of shape (n_features,), and str
        What is known of each: "known", "mostly noise" or "unknown"; see ``quantile_state``.
    replicates_ : ndarray of shape (n_replicates, 2 + n_features)
        The bootstrap: intercept, scale and slopes of every replicate.
    bounds_ : tuple of two ndarrays of shape (n_features,)
        Bounds of X.
    bounds_y_ : tuple of two floats
        Bounds of the target, in the units passed to ``fit``.
    release_ : object
        Everything that was released about private rows, and the scale of its noise: moments, ``residuals``
        (counts of standardised residuals) and ``looks``.
    level_release_ : object
        Counts of residuals by level; None without ``scale_by``.
    spread_by_level_ : object
        Scale of every level with its interval, and whether scales differ. It prints as a table. Only with
        ``scale_by``; ``scale_`` is then the scale of all rows.
    survival_curve_ : tuple of two ndarrays
        With censored targets: times, and the private Kaplan-Meier estimate of surviving them. It does not
        exist if intervals, earlier events or entries are declared: that estimate does not apply to them.
    event_share_ : float
        With censored targets: released share of rows whose event was observed, or is known to have come.
    n_iter_ : int
        Number of Newton rounds with censored targets, otherwise of releases of moments and looks.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, if X had string names.
    domain_ : TableDomain
        The domain of the fit. Only with ``domain``.

    See Also
    --------
    DPSEVRegressor, DPLogisticLLSRegressor, DPNormalLLSRegressor : The same for targets that are logarithms.
    MomentAccumulator : Adds rows batch by batch, from files or from a cluster, and fits once.
    skprivate.preprocessing.estimate_bounds : Estimates bounds privately if none are known.

    Notes
    -----
    $privacy

    References
    ----------
    $references

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate import DPLogLocationScaleRegressor
    >>> rng = np.random.default_rng(0)
    >>> load = rng.uniform(0, 10, size=(20000, 1))
    >>> hours = np.exp(9 - 0.2 * load[:, 0]) * rng.weibull(2.0, size=20000)
    >>> model = DPLogLocationScaleRegressor(epsilon=1.0, bounds_X=(0, 10), bounds_y=(10, 20000))
    >>> model = model.fit(load, hours)
    >>> bool(abs(model.coef_[0] + 0.2) < 0.05), bool(abs(model.scale_ - 0.5) < 0.1)
    (True, True)
    >>> b10, interval = model.predict_quantile([[5.0]], 0.1, return_interval=True)
    >>> bool(interval[0, 0] < b10[0] < interval[0, 1])
    True
    >>> model.privacy_spent_.private, model.privacy_spent_.epsilon
    (True, Fraction(1, 1))
    """

    declared_roles = {**LLS_ROLES, "distribution": "release"}

    _parameter_constraints: dict[str, list[Any]] = {
        **LLS_CONSTRAINTS,
        "distribution": [StrOptions(set(DISTRIBUTIONS))],
    }

    def __init__(
        self,
        epsilon: float | Fraction = 1.0,
        *,
        distribution: Distribution = "weibull",
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
        scale_by: str | Sequence[str] | None = None,
        max_rows_per_group: int = 1,
        random_state: RandomSource = None,
        ledger: PrivacyLedger | None = None,
    ) -> None:
        # All parameters of a preset: all but the distribution.
        super().__init__(**{name: value for name, value in dict(locals()).items() if name in LLS_CONSTRAINTS})
        self.distribution = distribution

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = models_log_target(self.distribution)
        return tags


# Regressors of one distribution each, for targets that are not times, or are logarithms of times.


@public_module("skprivate.linear_model")
@share_docstring
@name_constructor
class DPSEVRegressor(BaseLogLocationScale):
    """Differentially private Weibull AFT regression on the log scale: smallest extreme value errors.

    `DPLogLocationScaleRegressor` with ``distribution="sev"``. The model is
    y = intercept + X coef + scale * error on the target as passed. Structured targets (event, time) are
    times; the model is then about their logarithms.

    Parameters
    ----------
    $epsilon
    $parameters

    Attributes
    ----------
    $preset_attributes

    See Also
    --------
    DPLogLocationScaleRegressor : The same for times; lists every attribute.

    Notes
    -----
    $privacy

    References
    ----------
    $references

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate import DPSEVRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, size=(20000, 2))
    >>> y = X @ [1.0, -0.5] + 0.3 * np.log(rng.exponential(size=20000))
    >>> model = DPSEVRegressor(epsilon=1.0, bounds_X=(-1, 1), bounds_y=(-4, 4)).fit(X, y)
    >>> bool(np.abs(model.coef_ - [1.0, -0.5]).max() < 0.1)
    True
    """

    distribution = "sev"


@public_module("skprivate.linear_model")
@share_docstring
@name_constructor
class DPLogisticLLSRegressor(BaseLogLocationScale):
    """Differentially private log-logistic AFT regression on the log scale: logistic errors.

    `DPLogLocationScaleRegressor` with ``distribution="logistic"``. The model is
    y = intercept + X coef + scale * error on the target as passed. Structured targets (event, time) are
    times; the model is then about their logarithms.

    Parameters
    ----------
    $epsilon
    $parameters

    Attributes
    ----------
    $preset_attributes

    See Also
    --------
    DPLogLocationScaleRegressor : The same for times; lists every attribute.

    Notes
    -----
    $privacy

    References
    ----------
    $references

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate import DPLogisticLLSRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, size=(20000, 2))
    >>> y = X @ [1.0, -0.5] + 0.3 * rng.logistic(size=20000)
    >>> model = DPLogisticLLSRegressor(epsilon=1.0, bounds_X=(-1, 1), bounds_y=(-4, 4)).fit(X, y)
    >>> bool(np.abs(model.coef_ - [1.0, -0.5]).max() < 0.1)
    True
    """

    distribution = "logistic"


@public_module("skprivate.linear_model")
@share_docstring
@name_constructor
class DPNormalLLSRegressor(BaseLogLocationScale):
    """Differentially private log-normal AFT regression on the log scale: normal errors.

    `DPLogLocationScaleRegressor` with ``distribution="normal"``. The model is
    y = intercept + X coef + scale * error on the target as passed. Structured targets (event, time) are
    times; the model is then about their logarithms.

    Parameters
    ----------
    $epsilon
    $parameters

    Attributes
    ----------
    $preset_attributes

    See Also
    --------
    DPLogLocationScaleRegressor : The same for times; lists every attribute.

    Notes
    -----
    $privacy

    References
    ----------
    $references

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate import DPNormalLLSRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, size=(20000, 2))
    >>> y = X @ [1.0, -0.5] + 0.3 * rng.normal(size=20000)
    >>> model = DPNormalLLSRegressor(epsilon=1.0, bounds_X=(-1, 1), bounds_y=(-4, 4)).fit(X, y)
    >>> bool(np.abs(model.coef_ - [1.0, -0.5]).max() < 0.1)
    True
    """

    distribution = "normal"
