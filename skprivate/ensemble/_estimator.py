# SPDX-License-Identifier: BSD-3-Clause
"""Fit of private boosting to rows in memory or in a source: task, charge, rounds, and model."""

import functools
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from .._typing import BoolArray, CentralRelation, FloatArray
from ..accounting import PrivacySpent
from ..accounting._statements.spent import name_inputs
from ..base import PlannedCost, PublicShape, assign_roles, claim_of, private_fit
from ..base import _likely_mistakes as mistakes
from ..base._mixin import CURATOR_CONSTRAINTS, PrivateEstimatorMixin
from ..base._public_facts import cost_of, shape_of, sources_of
from ..noise import check_entropy
from ..noise._mechanisms import FitBudget
from ..rounds._driver import Rounds, RowsInMemory, drive, with_releases
from ..rounds._fit import read_public_rows, schema_of
from ..rounds._plans.boosting import UNIT, AdditiveModel, ClassLoss, Loss, NumberLoss
from ..rounds._rates import NoiseShares
from ..rounds._rows import PreparedRows
from ..rounds._schema import RowSchema
from ..rounds._sources import SourceFacts
from ..rounds._tables import TableColumns
from ..utils import check_row_mask
from ..utils._arguments import KEY_BYTES, RowUnits, number_units
from ..utils._compat import Interval, StrOptions
from ..utils._private_fit import public_errors
from ..utils._tables import within_bounds
from ._plan import ColumnCells, check_cells, check_monotone, columns_of_domain, columns_of_numbers
from ._public_scores import PublicScores
from ._release import BoostingRelease, BoostingTask, boosting_rounds
from ._shape_functions import bounded_columns, importances_of, least_missing, random_cells_of, shapes_of
from ._shrinkage import shows_effect

BOOSTING_CONSTRAINTS: dict[str, list[Any]] = {
    **CURATOR_CONSTRAINTS,
    "monotonic_cst": ["array-like", Mapping, None],
    "interactions": [StrOptions({"auto"}), Interval(Integral, 0, 1000, closed="both")],
    "partition_seed": [Interval(Integral, 0, None, closed="left")],
}
BOOSTING_ROLES = assign_roles(
    release="epsilon delta mechanism domain relation public_model monotonic_cst interactions "
    "partition_seed max_rows_per_group random_state",
    computing="ledger",
)


@dataclass(frozen=True, eq=False, repr=False)
class BoostingRows:
    """Validated rows, the mask of public ones, and their persons; kept during one fit only.

    Attributes
    ----------
    X : ndarray of shape (n_rows, d)
    y : ndarray of shape (n_rows,)
        Numbers, or positions of labels among the classes.
    public : ndarray of bool of shape (n_rows,)
    units : RowUnits, or None
        The persons of the private rows. None: the unit is the row.
    rows_per_unit : int
        Number of rows of one person that count; 1 if the unit is the row.
    bounds : tuple of two ndarrays of shape (d,)
    grouped : bool
        Whether the unit is the person. These rows do not include persons of a source.
    """

    X: FloatArray
    y: NDArray[Any]
    public: BoolArray
    units: RowUnits | None
    rows_per_unit: int
    bounds: tuple[FloatArray, FloatArray]
    grouped: bool

    @property
    def n_public(self) -> int:
        """Number of public rows."""
        return int(np.count_nonzero(self.public))

    @property
    def n_used(self) -> int:
        """Largest number of private rows that count. It does not depend on a person's rows."""
        if self.units is None:
            return len(self.public) - self.n_public
        return self.units.n_units * self.rows_per_unit

    def prepare(self, X: FloatArray, random_bytes: Callable[[int], bytes]) -> PreparedRows:
        """Return all rows, of which the private ones count, and of a person so many as may."""
        kept: Any = ~self.public if self.n_public else None
        if self.units is not None:
            chosen = self.units.choose_rows(self.rows_per_unit, random_bytes(KEY_BYTES))
            kept = chosen if kept is None else np.flatnonzero(kept)[chosen]
        if self.y.dtype.kind == "i":
            return PreparedRows(X, labels=self.y, kept=kept)
        return PreparedRows(X, y=self.y, kept=kept)


class BaseDPBoosting(PrivateEstimatorMixin, BaseEstimator):
    """Base of the private boosting estimators.

    A fit validates the rows and separates public from private ones. It makes everything that is public
    (`_task`), charges the cost, and takes the rounds of noisy sums. The model is a function of their
    releases.
    """

    epsilon: Any
    delta: Any
    mechanism: str
    relation: CentralRelation
    public_model: Any
    monotonic_cst: Any
    interactions: Any
    partition_seed: int
    max_rows_per_group: int
    random_state: Any

    # Requested by default, as the guarantee depends on the mask and the groups.
    __metadata_request__fit = {"is_public": True, "groups": True}

    #  Parameters that declare bounds of X and the target, each with the text of the leak if it is read from
    # rows.
    _leak_texts: Mapping[str, str]
    #  The parameter that declares the target.
    _target_parameter: str

    _has_rounds = _reads_numbers = True
    _model: AdditiveModel
    _public: PublicScores | None = None
    _unit: float = 1.0

    @private_fit
    def fit(self, X: Any, y: Any, is_public: Any = None, groups: Any = None) -> Self:
        """Fit the model to noisy sums over the private rows, step by step.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Finite numbers. In strict mode, other values are put within the bounds. With ``domain``, a table
            in any form that it reads.
        y : array-like of shape (n_samples,)
            Labels, or numbers.
        is_public : array-like of bool of shape (n_samples,), default=None
            Marks public rows. None: every row is private.
        groups : array-like of shape (n_samples,), default=None
            Person of every row. Of a person's private rows, ``max_rows_per_group`` count, drawn at random.
            None: the unit of privacy is the row. In a search or a pipeline, groups are passed on only if
            scikit-learn's metadata routing is on. ``privacy_spent_.unit`` is the unit that was used.

        Returns
        -------
        self : estimator

        Raises
        ------
        TypeError, ValueError
            Unusable rows, targets, mask, groups or parameters; more declared levels of a column than rows;
            or Gaussian noise without delta. Also a public model that cannot be fitted, or whose score is
            constant. Nothing is charged then, and the ledger counts a failure. In strict mode, the reason is
            public and does not depend on a single row.
        PrivacyLeakError
            In strict mode, if bounds or classes would be read from private rows, or if the noise is seeded.
        BudgetExceededError, LedgerError
            The ledger refused. Nothing is charged, and a previous fit is unchanged.

        Warns
        -----
        UtilityWarning
            According to the released values, a class has hardly any rows, a declared column is mostly
            missing, or the columns have no effect.
        """
        self._budget()
        X, y = self._read_rows(X, y)
        public = check_row_mask(is_public, len(X), strict=self.is_strict())
        if public.all() and not self.may_lack_rows():
            raise ValueError("is_public marks every row, so there is nothing to protect: use another model.")
        leaks = self._find_leaks(bool(public.any()))
        self.announce_leaks(leaks)
        units = number_units(groups, ~public, strict=self.is_strict())
        with public_errors():
            n_units = int(np.count_nonzero(~public)) if units is None else units.n_units
            known = y[public] if public.any() else None
            self.check_public(shape_of(self, n_units, units is not None, public_labels=known))
        rows = self._part_rows(X, y, public, units)
        with public_errors():
            scores = None
            if self.public_model is not None:
                # Before anything is charged.
                scores = self._fit_scores(rows.X[public], rows.y[public])
            task = self._task(rows, rows.n_used, scores)
        entropy = check_entropy(self.random_state)
        table = rows.X
        if scores is not None:
            made = np.empty((len(table), len(scores.offsets) + 1))
            made[public] = scores.augment(table[public])
            made[~public] = scores.augment_private(table[~public], strict=self.is_strict())
            table = np.column_stack([table, made])
        prepared = RowsInMemory(rows.prepare(table, entropy.random_bytes))
        drive(self._rounds(task, rows, leaks, scores, entropy.source), prepared, entropy, self.charge)
        return self

    @abstractmethod
    def _read_rows(self, X: Any, y: Any) -> tuple[FloatArray, NDArray[Any]]:
        """Validate X and y. In strict mode, none of their cells can make it fail."""

    @abstractmethod
    def _resolve_target(self, y: NDArray[Any], public: NDArray[np.bool_]) -> NDArray[Any]:
        """Resolve classes or bounds of the target, and return the target as rounds read it."""

    @abstractmethod
    def _loss(self) -> Loss:
        """Return the loss. Classes or bounds are already resolved."""

    @abstractmethod
    def _check_target(self, shape: PublicShape) -> Loss:
        """Raise an error if the declared target is wrong; return a loss with as many outputs, if known."""

    @abstractmethod
    def _fit_scores(self, X: FloatArray, y: NDArray[Any]) -> PublicScores:
        """Fit the public model to public rows."""

    @abstractmethod
    def _mistaken_target(self, task: BoostingTask, release: BoostingRelease) -> str | None:
        """Return the sentence on a mistake that the released counts of the target suggest."""

    def _budget(self) -> FitBudget:
        """Return the budget; ValueError if epsilon, delta and mechanism do not fit."""
        return FitBudget.of(self.epsilon, self.delta, self.mechanism)

    def _find_leaks(self, any_public: bool) -> list[str]:
        """Return the leaks: what would be read from private rows. They are found before any row is read."""
        if any_public:
            return []
        missing = [name for name in self._leak_texts if getattr(self, name) is None]
        if self.domain is not None:
            missing = [name for name in missing if name != self._bounds_parameter]
        return [self._leak_texts[name] for name in missing]

    def check_public(self, shape: PublicShape) -> None:
        noise = NoiseShares(
            self._budget(), self.relation, int(self.max_rows_per_group) if shape.grouped else 1
        )
        self._encoded_shape(shape).check_bounds(self._declared_bounds, self._bounds_parameter)
        loss = self._check_target(shape)
        if self.public_model is not None and not shape.n_public:
            raise ValueError("public_model is fitted to public rows, and there are none.")
        if self.public_model is not None and self.monotonic_cst is not None:
            raise ValueError("monotonic_cst says nothing about public_model: pass one of them.")
        if self.domain is not None:
            columns = columns_of_domain(self.domain, strict=self.is_strict())
            n_rows = shape.n_rows * noise.rows_per_unit if self.relation == "replace-one" else None
            check_cells(columns, n_rows)
        elif shape.n_features is None:
            return
        else:
            box = np.zeros(shape.n_features), np.ones(shape.n_features)
            columns = columns_of_numbers(*box, shape.feature_names)
        self._task_of(columns, loss, noise, None).check_noise()

    def _part_rows(self, X: FloatArray, y: NDArray[Any], public: Any, units: Any) -> BoostingRows:
        """Resolve bounds and target, and separate public from private rows."""
        declared = self._declared_bounds if self.domain is None else self.domain.bounds
        bounds = self.resolve_bounds(declared, X, X[public], name=self._bounds_parameter)
        # Only strict mode passes on values that are not finite.
        X = within_bounds(X, *bounds) if self.is_strict() else X
        target = self._resolve_target(y, public)
        grouped = units is not None
        rows_per_unit = self.max_rows_per_group if grouped else 1
        return BoostingRows(X, target, public, units, rows_per_unit, bounds, grouped)

    def _task(self, rows: BoostingRows, n_used: int, scores: PublicScores | None) -> BoostingTask:
        """Make everything that is public about the fit."""
        if self.domain is not None:
            columns = columns_of_domain(self.domain, strict=self.is_strict())
        else:
            columns = columns_of_numbers(*rows.bounds, self._names_of_features())
        noise = NoiseShares(self._budget(), self.relation, rows.rows_per_unit)
        n_rows, loss = n_used if self.relation == "replace-one" else None, self._loss()
        if scores is not None and isinstance(loss, NumberLoss):
            loss = replace(loss, clip=scores.clip)
        return self._task_of(columns, loss, noise, n_rows, scores)

    def _task_of(
        self,
        columns: tuple[ColumnCells, ...],
        loss: Loss,
        noise: NoiseShares,
        n_rows: int | None,
        scores: PublicScores | None = None,
    ) -> BoostingTask:
        signs = check_monotone(self.monotonic_cst, columns)
        return BoostingTask(
            columns=columns if scores is None else (*columns, scores.column),
            loss=loss,
            noise=noise,
            n_rows=n_rows,
            monotone=signs if scores is None else (*signs, 0),
            offsets=() if scores is None else scores.offsets,
            with_model=scores is not None and scores.slope > 0,
            **({} if scores is None else {"public": scores.public}),
            n_grids=None if self.interactions == "auto" else int(self.interactions),
            seed=int(self.partition_seed),
        )

    def _rounds(
        self,
        task: BoostingTask,
        rows: BoostingRows,
        leaks: list[str],
        scores: PublicScores | None,
        noise_source: Any,
    ) -> Rounds[None]:
        """Yield the rounds of a fit, and keep the model that is made of their releases."""
        spent = self._describe_spending(task, rows, leaks, noise_source)
        release, spent = yield from with_releases(boosting_rounds(task, spent), spent)
        self._name_columns()
        self._model, self._public = release.model, scores and replace(scores, public=np.zeros((0, 1)))
        self.bounds_ = rows.bounds
        self.mechanism_ = task.noise.budget.mechanism
        self.shape_functions_, self.intercept_ = shapes_of(task.columns, release, self._unit)
        self.n_steps_ = release.n_steps
        self.interactions_ = random_cells_of(task.columns, release, self._unit)
        self.feature_importances_ = importances_of(
            self.shape_functions_, self.interactions_, self.n_features_in_
        )
        self.privacy_spent_ = spent
        target: Literal["classes", "numbers"] = "classes" if isinstance(task.loss, ClassLoss) else "numbers"
        # With a public model, the steps show only what the columns add to it. That may be little.
        useless = not task.offsets and not shows_effect(release.evidence)
        mistakes.warn_of_mistakes(
            type(self).__name__,
            self._mistaken_target(task, release),
            mistakes.mostly_missing(self.domain, least_missing(task, release, self.domain)),
            mistakes.columns_at_a_bound(bounded_columns(task, release, self.domain)),
            mistakes.no_effect(target) if useless else None,
        )

    def _describe_spending(
        self, task: BoostingTask, rows: BoostingRows, leaks: list[str], source: Any
    ) -> PrivacySpent:
        """Return the record of what the fit spends and claims."""
        budget, inputs = task.noise.budget, ("domain", *self._leak_texts)
        public = ["public rows"] if rows.n_public else []
        public += ["a model fitted to the public rows"] if task.offsets else []
        facts: dict[str, Any] = {} if task.n_rows is None else {"private rows": task.n_rows}
        facts["public rows"] = rows.n_public
        undeclared = "those of the public rows" if rows.n_public else "READ FROM PRIVATE ROWS"
        facts |= sources_of(self, self._leak_texts, undeclared)
        if rows.grouped and rows.n_public:
            facts["public rows of a person"] = "used in clear; only the person's private rows are protected"
        return PrivacySpent(
            mechanism=f"discrete {budget.mechanism.capitalize()} noise on counts of cells and on rounds of "
            "residual sums",
            epsilon=budget.epsilon,
            delta=budget.delta,
            rho=budget.rho,
            relation=self.relation,
            unit="group" if rows.grouped else "row",
            max_rows_per_unit=task.noise.rows_per_unit,
            sensitivity=None,
            noise_scale=None,
            noise_source=source,
            deployment="curator",
            public_inputs=(*public, *name_inputs(self, inputs)),
            unprotected=facts,
            **claim_of(leaks, source, self, inputs),
        )

    def _scores_of(self, X: Any) -> FloatArray:
        """Return the scores of rows, of shape (n, n_outputs)."""
        check_is_fitted(self)
        rows = self._read_fitted(X)
        if self._public is not None:
            rows = np.column_stack([rows, self._public.augment(rows)])
        return self._model.scores(rows).astype(np.float64) * UNIT

    def _open_source(
        self, columns: TableColumns, facts: SourceFacts, public: Any
    ) -> tuple[RowSchema, Callable[[str], Rounds[None]]]:
        self._budget()
        if self.public_model is not None:
            raise ValueError("public_model predicts rows in memory: a source cannot be fitted with one.")
        if self._find_leaks(public is not None):
            raise ValueError(
                f"a source is not read for {' or '.join(self._leak_texts)}: declare them, or pass public "
                "rows."
            )
        facts.require_target()
        facts.name_columns(self)
        self._name_columns()
        grouped = columns.group is not None
        rows: BoostingRows = read_public_rows(self, public, facts, self.max_rows_per_group if grouped else 1)
        rows = replace(rows, grouped=grouped)
        self.check_public(facts.shape(grouped, None if public is None else public[1]))
        task = self._task(rows, facts.n_units * rows.rows_per_unit, None)
        target = {self._target_parameter: getattr(self, f"{self._target_parameter}_")}
        schema = schema_of(self, columns, rows.bounds, **target)
        return schema, functools.partial(self._rounds, task, rows, [], None)

    @abstractmethod
    def _no_targets(self) -> NDArray[Any]:
        """Return targets of no rows."""

    def planned_cost(self, any_public: bool) -> PlannedCost:
        return cost_of(self, self._budget(), self._find_leaks(any_public))
