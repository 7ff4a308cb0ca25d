# SPDX-License-Identifier: BSD-3-Clause
"""Fit of private boosting to rows in memory or in a source: task, charge, rounds, and model."""

import functools
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from numbers import Integral, Real
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from .._typing import BoolArray, CentralRelation, FloatArray
from ..accounting import PrivacySpent
from ..accounting._statements.spent import name_inputs, source_of_input
from ..base import SHARED_CONSTRAINTS, PlannedCost, PublicShape, assign_roles, claim_of, private_fit
from ..base import _likely_mistakes as mistakes
from ..base._mixin import DomainMixin
from ..domain import TableDomain
from ..noise import check_entropy
from ..noise._fit_budget import FitBudget
from ..rounds._driver import Rounds, RowsInMemory, drive, with_releases
from ..rounds._fit import RoundsMixin
from ..rounds._plans.additive import UNIT, AdditiveModel, ClassLoss, Loss
from ..rounds._rows import PreparedRows
from ..rounds._schema import RowSchema
from ..rounds._sources import SourceFacts
from ..rounds._tables import TableColumns, count_columns
from ..utils import check_row_mask
from ..utils._arguments import KEY_BYTES, RowUnits, number_units
from ..utils._compat import HasMethods, Interval, StrOptions
from ..utils._private_fit import public_errors
from ..utils._tables import within_bounds
from ._plan import (
    ColumnCells,
    NoiseShares,
    check_cells,
    check_monotone,
    columns_of_domain,
    columns_of_numbers,
)
from ._public_scores import PublicScores
from ._release import BoostingRelease, BoostingTask, boosting_rounds
from ._shape_functions import (
    RandomCells,
    ShapeFunction,
    bounded_columns,
    importances_of,
    least_missing,
    random_cells_of,
    shapes_of,
)
from ._step_weights import shows_effect

# Validated private and public rows of a boosting.


@dataclass(frozen=True, eq=False, repr=False)
class BoostingRows:
    """Validated rows, which are public, and whose they are; kept during one fit only.

    Attributes
    ----------
    X : ndarray of shape (n_rows, d)
    y : ndarray of shape (n_rows,)
        Numbers, or positions of labels among the classes.
    public : ndarray of bool of shape (n_rows,)
    units : RowUnits, or None
        The persons of the private rows; None: the unit is the row.
    rows_per_unit : int
        Rows of one person that count; 1 where the unit is the row.
    bounds : tuple of two ndarrays of shape (d,)
    """

    X: FloatArray
    y: NDArray[Any]
    public: BoolArray
    units: RowUnits | None
    rows_per_unit: int
    bounds: tuple[FloatArray, FloatArray]

    @property
    def n_public(self) -> int:
        """Number of public rows."""
        return int(np.count_nonzero(self.public))

    @property
    def n_used(self) -> int:
        """Number of private rows that count at most; the same whatever rows a person has."""
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


# Base class of private boosting: public task, charge, rounds of noisy sums, and the model made of them.

BOOSTING_CONSTRAINTS: dict[str, list[Any]] = {
    **SHARED_CONSTRAINTS,
    "delta": [Fraction, Interval(Real, 0, 1, closed="left")],
    "mechanism": [StrOptions({"auto", "laplace", "gaussian"})],
    "domain": [TableDomain, None],
    "relation": [StrOptions({"replace-one", "add-remove"})],
    "public_model": [HasMethods(["fit"]), None],
    "monotonic_cst": ["array-like", Mapping, None],
    "interactions": [StrOptions({"auto"}), Interval(Integral, 0, 1000, closed="both")],
    "partition_seed": [Interval(Integral, 0, None, closed="left")],
}
BOOSTING_ROLES = assign_roles(
    release="epsilon delta mechanism domain relation public_model monotonic_cst interactions "
    "partition_seed max_rows_per_group random_state",
    computing="ledger",
)


class BaseDPBoosting(DomainMixin, RoundsMixin, BaseEstimator):
    """Base of the private boosting estimators.

    A fit validates the rows and separates public from private ones, makes everything that is public
    (`_task`), charges the cost, and takes the rounds of noisy sums; the model is a function of what they
    release.
    """

    epsilon: Any
    delta: Any
    mechanism: str
    domain: TableDomain | None
    relation: CentralRelation
    public_model: Any
    monotonic_cst: Any
    interactions: Any
    partition_seed: int
    max_rows_per_group: int
    random_state: Any

    # Asked for by default: the mask and the groups are what the guarantee is about.
    __metadata_request__fit = {"is_public": True, "groups": True}

    #: Parameters that are public knowledge about the rows, and what is said where one was read from them.
    _public_inputs: tuple[str, ...]
    _leak_texts: Mapping[str, str]

    shape_functions_: tuple[ShapeFunction, ...]
    interactions_: tuple[RandomCells, ...]
    _model: AdditiveModel
    _public: PublicScores | None = None
    _unit: float = 1.0

    @private_fit
    def fit(self, X: Any, y: Any, is_public: Any = None, groups: Any = None) -> Self:
        """Fit the model to noisy sums over the private rows, step by step.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Finite numbers; in strict mode what is no finite number is put within the bounds. With ``domain``
            a table in any form that it reads.
        y : array-like of shape (n_samples,)
            Labels, or numbers.
        is_public : array-like of bool of shape (n_samples,), default=None
            Marks public rows. None: every row is private.
        groups : array-like of shape (n_samples,), default=None
            Person of every row; of a person's private rows ``max_rows_per_group`` count, drawn at random.
            None: the unit of privacy is the row. In a search or a pipeline, groups arrive here only where
            scikit-learn's metadata routing is on; ``privacy_spent_.unit`` is the unit that was used.

        Returns
        -------
        self : estimator

        Raises
        ------
        TypeError, ValueError
            Unusable rows, targets, mask, groups or parameters; a column with more declared levels than there
            are rows; Gaussian noise without delta; a public model that cannot be fitted, or whose score is
            constant. Nothing is charged then, and the ledger counts a failure. In strict mode the reason is
            public: it lies in no single row.
        PrivacyLeakError
            In strict mode, where bounds or classes would be read from private rows, or the noise be seeded.
        BudgetExceededError, LedgerError
            The ledger refused; nothing is charged, and a previous fit is as it was.

        Warns
        -----
        UtilityWarning
            By the released values, a class has hardly any row, a declared column is mostly missing, or
            the columns have no effect.
        """
        self._budget()
        self._read_early(y)
        X, y = self._read_rows(X, y)
        public = check_row_mask(is_public, len(X), strict=self.is_strict())
        if public.all() and not self.may_lack_rows():
            raise ValueError("is_public marks every row, so there is nothing to protect: use another model.")
        leaks = self._find_leaks(bool(public.any()))
        self.announce_leaks(leaks)
        units = number_units(groups, ~public, strict=self.is_strict())
        with public_errors():
            self.check_public(self._shape_of(X, y[public], units, int(np.count_nonzero(~public))))
        rows = self._part_rows(X, y, public, units)
        with public_errors():
            scores = self._fit_public_model(rows)
            task = self._task(rows, rows.n_used, scores)
        entropy = check_entropy(self.random_state)
        spent = self._describe_spending(
            task, rows.n_used, rows, leaks, entropy.source, rows.units is not None
        )
        table = rows.X
        if scores is not None:
            made = np.empty((len(table), len(scores.offsets) + 1))
            made[public] = scores.augment(table[public])
            made[~public] = scores.augment_private(table[~public], strict=self.is_strict())
            table = np.column_stack([table, made])
        prepared = rows.prepare(table, entropy.random_bytes)
        rounds = with_releases(boosting_rounds(task, spent), spent)
        release, spent = drive(rounds, RowsInMemory(prepared), entropy, self.charge)
        self._adopt(task, release, scores, rows.bounds, spent)
        return self

    @abstractmethod
    def _read_rows(self, X: Any, y: Any) -> tuple[FloatArray, NDArray[Any]]:
        """Validate X and y; in strict mode no cell of them makes it fail."""

    @abstractmethod
    def _resolve_target(self, y: NDArray[Any], public: NDArray[np.bool_]) -> NDArray[Any]:
        """Resolve classes or bounds of the target, and return it as rounds read it."""

    @abstractmethod
    def _loss(self) -> Loss:
        """Return the loss; classes or bounds are resolved."""

    @abstractmethod
    def _schema_of_target(self) -> dict[str, Any]:
        """Return how the target of a source is read."""

    @abstractmethod
    def _check_target(self, shape: PublicShape) -> None:
        """Raise what is wrong about the declared target."""

    def _read_early(self, y: Any) -> None:
        """Raise what the form of the target tells before rows are read."""

    @property
    def _declared_bounds(self) -> Any:
        return getattr(self, self._bounds_parameter)

    def _budget(self) -> FitBudget:
        """Return the budget; ValueError for epsilon, delta and mechanism that do not fit."""
        return FitBudget.of(self.epsilon, self.delta, self.mechanism)

    def _noise(self, grouped: bool) -> NoiseShares:
        return NoiseShares(self._budget(), self.relation, int(self.max_rows_per_group) if grouped else 1)

    def _shape_of(self, X: FloatArray, public_y: NDArray[Any], units: Any, n_private: int) -> PublicShape:
        names = getattr(self, "feature_names_in_", None)
        return PublicShape(
            n_features=self.n_features_in_,
            feature_names=None if names is None else tuple(names),
            n_rows=n_private if units is None else units.n_units,
            grouped=units is not None,
            public_labels=public_y if len(public_y) else None,
        )

    def check_public(self, shape: PublicShape) -> None:
        noise = self._noise(shape.grouped)
        encoded = self.encoded_shape(shape)
        encoded.check_bounds(self._declared_bounds, self._bounds_parameter)
        self._check_target(shape)
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
        if shape.names_known or not isinstance(self.monotonic_cst, Mapping):
            check_monotone(self.monotonic_cst, columns)
        self._task_of(columns, self._any_loss(shape), noise, None, ()).check_noise()

    @abstractmethod
    def _any_loss(self, shape: PublicShape) -> Loss:
        """Return a loss with as many outputs as that of the fit, as far as it is known."""

    def _find_leaks(self, any_public: bool) -> list[str]:
        """Return what would have to be read from private rows; found before any of them is read."""
        if any_public:
            return []
        missing = [name for name in self._leak_texts if getattr(self, name) is None]
        if self.domain is not None:
            missing = [name for name in missing if name != self._bounds_parameter]
        return [self._leak_texts[name] for name in missing]

    def _part_rows(self, X: FloatArray, y: NDArray[Any], public: Any, units: Any) -> BoostingRows:
        """Resolve bounds and target, and separate public from private rows."""
        declared = self._declared_bounds if self.domain is None else self.domain.bounds
        bounds = self.resolve_bounds(declared, X, X[public], name=self._bounds_parameter)
        X = self._within(X, bounds)
        target = self._resolve_target(y, public)
        return BoostingRows(X, target, public, units, self.max_rows_per_group if units else 1, bounds)

    def _within(self, X: FloatArray, bounds: tuple[FloatArray, FloatArray]) -> FloatArray:
        # Only strict mode lets what is not finite come so far.
        return within_bounds(X, *bounds) if self.is_strict() else X

    def _fit_public_model(self, rows: BoostingRows) -> PublicScores | None:
        """Fit the public model to public rows, before anything is charged; None where there is none."""
        if self.public_model is None:
            return None
        public = rows.public
        return self._fit_scores(rows.X[public], rows.y[public])

    @abstractmethod
    def _fit_scores(self, X: FloatArray, y: NDArray[Any]) -> PublicScores | None:
        """Fit the public model."""

    def _task(self, rows: BoostingRows, n_used: int, scores: PublicScores | None) -> BoostingTask:
        """Make everything that is public about the fit."""
        if self.domain is not None:
            columns = columns_of_domain(self.domain, strict=self.is_strict())
        else:
            columns = columns_of_numbers(*rows.bounds, self.names_of_features())
        noise = NoiseShares(self._budget(), self.relation, rows.rows_per_unit)
        offsets: tuple[int, ...] = ()
        if scores is not None:
            columns = (*columns, scores.column)
            offsets = scores.offsets
        n_rows = n_used if self.relation == "replace-one" else None
        return self._task_of(columns, self._loss(), noise, n_rows, offsets)

    def _task_of(
        self,
        columns: tuple[ColumnCells, ...],
        loss: Loss,
        noise: NoiseShares,
        n_rows: int | None,
        offsets: tuple[int, ...],
    ) -> BoostingTask:
        known = columns[:-1] if offsets else columns
        monotone = check_monotone(self.monotonic_cst, known)
        return BoostingTask(
            columns=columns,
            loss=loss,
            noise=noise,
            n_rows=n_rows,
            monotone=(*monotone, *[0] * (len(columns) - len(known))),
            offsets=offsets,
            n_grids=None if self.interactions == "auto" else int(self.interactions),
            seed=int(self.partition_seed),
        )

    def _describe_spending(
        self,
        task: BoostingTask,
        n_used: int,
        rows: BoostingRows,
        leaks: list[str],
        source: Any,
        grouped: bool,
    ) -> PrivacySpent:
        """Return what the fit spends and claims."""
        budget = task.noise.budget
        public = ["public rows"] if rows.n_public else []
        public += ["a model fitted to the public rows"] if task.offsets else []
        return PrivacySpent(
            mechanism=f"discrete {budget.mechanism.capitalize()} noise on counts of cells and on rounds of "
            "residual sums",
            epsilon=budget.epsilon,
            delta=budget.delta,
            rho=budget.rho,
            relation=self.relation,
            unit="group" if grouped else "row",
            max_rows_per_unit=task.noise.rows_per_unit,
            sensitivity=None,
            noise_scale=None,
            noise_source=source,
            deployment="curator",
            public_inputs=(*public, *name_inputs(self, self._public_inputs)),
            unprotected=self._unprotected(n_used, rows, grouped),
            **claim_of(leaks, source, self, self._public_inputs),
        )

    def _unprotected(self, n_used: int, rows: BoostingRows, grouped: bool) -> dict[str, Any]:
        facts: dict[str, Any] = {}
        if self.relation == "replace-one":
            facts["private rows"] = n_used
        facts["public rows"] = rows.n_public
        for name in self._leak_texts:
            if name == self._bounds_parameter and self.domain is not None:
                facts[name] = "declared by the domain"
            elif getattr(self, name) is not None:
                facts[name] = source_of_input(getattr(self, name))
            else:
                facts[name] = "those of the public rows" if rows.n_public else "READ FROM PRIVATE ROWS"
        if grouped and rows.n_public:
            facts["public rows of a person"] = "used in clear; only the person's private rows are protected"
        return facts

    def _adopt(
        self,
        task: BoostingTask,
        release: BoostingRelease,
        scores: PublicScores | None,
        bounds: tuple[FloatArray, FloatArray],
        spent: PrivacySpent,
    ) -> None:
        """Take over what was released."""
        self.name_columns()
        self._model, self._public = release.model, scores
        self.bounds_ = bounds
        self.mechanism_ = task.noise.budget.mechanism
        self.shape_functions_, constant = shapes_of(task.columns, release, self._unit)
        self.intercept_ = constant
        self.n_steps_ = release.n_steps
        self.interactions_ = random_cells_of(task.columns, release, self._unit)
        self.feature_importances_ = importances_of(
            self.shape_functions_, self.interactions_, self.n_features_in_
        )
        self.privacy_spent_ = spent
        self._warn_of_mistakes(task, release)

    def _warn_of_mistakes(self, task: BoostingTask, release: BoostingRelease) -> None:
        target: Literal["classes", "numbers"] = "classes" if isinstance(task.loss, ClassLoss) else "numbers"
        # Beside a public model the steps show what the columns add to it, which need not be much.
        useless = not task.offsets and not shows_effect(release.evidence)
        mistakes.warn_of_mistakes(
            type(self).__name__,
            self._mistaken_target(task, release),
            mistakes.mostly_missing(self.domain, least_missing(task, release, self.domain)),
            mistakes.columns_at_a_bound(bounded_columns(task, release, self.domain)),
            mistakes.no_effect(target) if useless else None,
        )

    @abstractmethod
    def _mistaken_target(self, task: BoostingTask, release: BoostingRelease) -> str | None:
        """Return the sentence on a mistake that the released counts of the target suggest."""

    def _scores_of(self, X: Any) -> FloatArray:
        """Return the scores of rows, of shape (n, n_outputs)."""
        check_is_fitted(self)
        rows = self.read_fitted(X)
        if self._public is not None:
            rows = np.column_stack([rows, self._public.augment(rows)])
        return self._model.scores(rows).astype(np.float64) * UNIT

    def _known_columns(self) -> int | None:
        return count_columns(self._declared_bounds) if self.domain is None else len(self.domain.names)

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
        self.name_columns()
        grouped = columns.group is not None
        rows: BoostingRows = self._public_rows(public, facts, self.max_rows_per_group if grouped else 1)
        self.check_public(facts.shape(grouped, None if public is None else public[1]))
        n_used = facts.n_units * rows.rows_per_unit
        task = self._task(rows, n_used, None)
        schema = RowSchema(
            columns=columns,
            n_features=rows.X.shape[1],
            domain=self.domain,
            lower=rows.bounds[0],
            upper=rows.bounds[1],
            strict=self.is_strict(),
            max_rows_per_unit=rows.rows_per_unit if grouped else None,
            **self._schema_of_target(),
        )
        return schema, functools.partial(self._rounds_of_source, task, n_used, rows, grouped)

    @abstractmethod
    def _no_targets(self) -> NDArray[Any]:
        """Return targets of no rows."""

    def _rounds_of_source(
        self, task: BoostingTask, n_used: int, rows: BoostingRows, grouped: bool, noise_source: str
    ) -> Rounds[None]:
        spent = self._describe_spending(task, n_used, rows, [], noise_source, grouped)
        release, spent = yield from with_releases(boosting_rounds(task, spent), spent)
        self._adopt(task, release, None, rows.bounds, spent)

    def planned_cost(self, any_public: bool) -> PlannedCost:
        budget = self._budget()
        return PlannedCost(
            epsilon=budget.epsilon,
            delta=budget.delta,
            relation=self.relation,
            leaks=tuple(self._find_leaks(any_public)),
            seeded=self.random_state is not None,
        )
