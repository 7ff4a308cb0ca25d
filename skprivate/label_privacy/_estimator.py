# SPDX-License-Identifier: BSD-3-Clause
"""Base class of the estimators that protect only labels: reports, then a model of them."""

import copy
from abc import abstractmethod
from math import ceil
from numbers import Integral
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import Tags, check_consistent_length, get_tags, indexable
from sklearn.utils.validation import check_is_fitted

from .._typing import BoolArray, Deployment, FloatArray, IndexArray
from ..accounting import PrivacySpent, ReleaseRecord
from ..accounting._statements.spent import name_inputs
from ..base import SHARED_CONSTRAINTS, PlannedCost, PrivateEstimatorMixin, PublicShape, assign_roles, claim_of
from ..base._likely_mistakes import no_effect, warn_of_mistakes
from ..base._public_facts import sources_of
from ..exceptions import UtilityWarning
from ..noise import check_entropy
from ..utils import check_epsilon, check_row_mask
from ..utils._arguments import KEY_BYTES, RowUnits, number_units
from ..utils._compat import HasMethods, Interval, num_samples, safe_indexing
from ..utils._private_fit import private_fit, public_errors, redact_errors, warn_user
from ..utils._tables import validate_data
from . import _models as models
from ._models import NoisyRows
from ._reporters import ClassReporter, NumberReporter

Reporter = ClassReporter | NumberReporter

# Types and ranges of the parameters.
LABEL_CONSTRAINTS: dict[str, list[Any]] = {
    **SHARED_CONSTRAINTS,
    "estimator": [HasMethods(["fit", "predict"]), None],
    "cv": [Interval(Integral, 2, None, closed="left"), None],
}


class BaseLabelPrivate(PrivateEstimatorMixin, BaseEstimator):
    """Base of the estimators that protect only labels.

    A fit reads the labels (`_read_targets`), charges, draws one report per private label, and fits regressors
    to the unbiased targets of the reports (`_learn`). Features are not protected, and everything that follows
    the reports is post-processing.
    """

    estimator: Any
    epsilon: Any
    cv: int | None
    max_rows_per_group: int
    random_state: Any

    # Routed by default, because the guarantee is about the mask and the groups.
    __metadata_request__fit = {"is_public": True, "groups": True}

    slope_: float
    reporter_: Any

    #: The parameter that is read from labels if it is not declared, and its name in a statement.
    _declared: str
    _leak: str
    _kind: Literal["classes", "numbers"]

    # Another inner estimator needs the rows again, and a fitted object does not keep them.
    declared_roles = assign_roles(
        release="estimator epsilon cv max_rows_per_group random_state", computing="ledger"
    )

    @abstractmethod
    def _make_reporter(self, y: Any, rows_per_unit: int) -> Reporter:
        """Return what a client runs; `y` holds labels that show what is not declared, or is None."""

    @abstractmethod
    def _read_targets(self, y: Any, n_rows: int) -> NDArray[Any]:
        """Validate y; in strict mode no cell of it makes it fail."""

    @abstractmethod
    def _calibrate(self, predictions: FloatArray | None, rows: NoisyRows, reports: NDArray[Any]) -> None:
        """Set how much the models' predictions are trusted. None: they are used as they are."""

    @private_fit
    def fit(self, X: Any, y: Any, is_public: Any = None, groups: Any = None) -> Self:
        """Draw one report of every private label, and fit the regressor to them.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Anything that the inner estimator takes. It is used as it is: features are not protected.
        y : array-like of shape (n_samples,)
            The targets. The private ones are protected.
        is_public : array-like of bool of shape (n_samples,), default=None
            Marks rows whose targets are public. These are used in clear, and have a larger weight. None:
            every target is private.
        groups : array-like of shape (n_samples,), default=None
            Person of every row. ``max_rows_per_group`` private rows of each person count, drawn at random.
            None: the unit of privacy is the row. In a search or a pipeline, groups arrive here only if
            scikit-learn's metadata routing is on; ``privacy_spent_.unit`` shows which unit was used.

        Returns
        -------
        self : estimator

        Raises
        ------
        TypeError, ValueError
            Unusable rows, targets, mask, groups or parameters. Nothing is charged then, and the ledger counts
            a failure. If a ledger is charged, the inner estimator is first fitted to made-up targets, so that
            an X that it refuses costs nothing either.
        PrivacyLeakError
            In strict mode, if classes or bounds would be read from private rows, or the noise is seeded.
        BudgetExceededError, LedgerError
            The ledger refused. Nothing is charged, and a previous fit stays as it was.

        Warns
        -----
        UtilityWarning
            Public rows are passed, and the inner estimator takes no weights: each counts as a private one. Or
            by the reports, a class has hardly any row, or a constant predicts as well.
        """
        check_epsilon(self.epsilon)
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None.")
        y = self._read_targets(y, num_samples(X))
        X = self._read_features(X)
        check_consistent_length(X, y)
        public = check_row_mask(is_public, len(y), strict=self.is_strict())
        if public.all():
            raise ValueError(
                "is_public marks every row, so there is nothing to protect; use a plain estimator."
            )
        any_public = bool(public.any())
        leaks = self._find_leaks(any_public)
        self.announce_leaks(leaks)
        known = y[public] if any_public else None
        n_features = getattr(self, "n_features_in_", None)
        grouped = groups is not None
        with public_errors():
            self.check_public(
                PublicShape(n_features=n_features, n_rows=len(y), grouped=grouped, public_labels=known)
            )
        units = number_units(groups, ~public, strict=self.is_strict())
        rows_per_unit = 1 if units is None else self.max_rows_per_group
        reporter = self._make_reporter(y if known is None else known, rows_per_unit)
        values = reporter.encode(y)
        self._warn_of_weights(any_public)
        n_used = int(np.count_nonzero(~public))
        if units is not None:
            # Groups are as public as features.
            n_used = int(np.minimum(np.bincount(units.codes), rows_per_unit).sum())
        if self.ledger is not None:
            made = reporter.exact_targets(np.array([0, 1]))[:, 0]
            n_left = self._least_part(n_used, units, public)
            models.rehearse(self.estimator, X, made, n_left, weighted=any_public)
        entropy = check_entropy(self.random_state)
        spent = self._describe_spending(reporter, n_used, public, grouped, leaks, entropy.source, "simulated")
        self.charge(spent)
        kept = np.flatnonzero(~public)
        codes = np.arange(len(kept))
        if units is not None:
            chosen = units.choose_rows(rows_per_unit, entropy.random_bytes(KEY_BYTES))
            kept, codes = kept[chosen], np.unique(units.codes[chosen], return_inverse=True)[1]
        reports = np.array(values)
        reports[kept] = reporter.randomize_encoded(values[kept], entropy)
        self._learn(X, reporter, reports, public, kept, codes, spent)
        return self

    @private_fit
    def fit_reports(self, X: Any, reports: Any, is_public: Any = None) -> Self:
        """Fit the regressor to reports that clients drew themselves, of labels that never left them.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The clients' features, which are known in clear.
        reports : array-like of int of shape (n_samples,)
            One report per row, as ``make_reporter().randomize`` returns it; for public rows what its
            ``encode`` returns.
        is_public : array-like of bool of shape (n_samples,), default=None
            Marks rows whose targets are public.

        Returns
        -------
        self : estimator
            ``privacy_spent_.deployment`` is "collected". No ledger is charged: the reports cost the clients.

        Raises
        ------
        TypeError, ValueError
            Unusable rows or reports, or classes or bounds are not declared.
        """
        reporter = self.make_reporter()
        X = self._read_features(X)
        checked = reporter.check_reports(reports)
        check_consistent_length(X, checked)
        public = check_row_mask(is_public, len(checked))
        if public.all():
            raise ValueError("is_public marks every row: there are no reports.")
        self._warn_of_weights(bool(public.any()))
        kept = np.flatnonzero(~public)
        spent = self._describe_spending(reporter, len(kept), public, False, [], "os-entropy", "collected")
        self._learn(X, reporter, checked, public, kept, np.arange(len(kept)), spent)
        return self

    def make_reporter(self) -> Any:
        """Return what every client runs on its own label, by declared parameters alone.

        Returns
        -------
        reporter : ClassReporter or NumberReporter
            Its ``randomize`` turns a label into a report, for `fit_reports`.

        Raises
        ------
        ValueError
            Classes or bounds are not declared.
        """
        check_epsilon(self.epsilon)
        if getattr(self, self._declared) is None:
            raise ValueError(f"clients need {self._declared}: declare them.")
        return self._make_reporter(None, 1)

    def _read_features(self, X: Any) -> Any:
        """Count and name the columns. The inner estimator judges their values."""
        X = _of_numpy(X)
        validate_data(self, X, skip_check_array=True, cells=False, kinds=False)
        return indexable(X)[0]

    def _least_part(self, n_used: int, units: RowUnits | None, public: BoolArray) -> int:
        """Return the least number of rows that are left when cross-fitting holds a fold out."""
        n_public = int(np.count_nonzero(public))
        n_units, rows_per_unit = n_used, 1
        if units is not None:
            n_units, rows_per_unit = units.n_units, self.max_rows_per_group
        if self.cv is None or n_units < 2 * self.cv:
            return n_used + n_public
        held = ceil(n_units / self.cv) * rows_per_unit + ceil(n_public / self.cv)
        return max(n_used + n_public - held, 1)

    def _warn_of_weights(self, any_public: bool) -> None:
        if any_public and not models.takes_weights(self.estimator):
            warn_user(
                f"{type(self.estimator).__name__}.fit takes no sample_weight: every public row counts as one "
                "with a noisy label.",
                UtilityWarning,
            )

    def _learn(
        self,
        X: Any,
        reporter: Reporter,
        reports: NDArray[Any],
        public: BoolArray,
        kept: IndexArray,
        codes: IndexArray,
        spent: PrivacySpent,
    ) -> None:
        """Fit the models: a function of features, public targets and reports."""
        declared = reporter.classes if isinstance(reporter, ClassReporter) else reporter.bounds
        setattr(self, f"{self._declared}_", declared)
        self.reporter_ = reporter
        used = np.sort(np.concatenate([np.flatnonzero(public), kept]))
        known = public[used]
        targets = reporter.targets(reports[used])
        targets[known] = reporter.exact_targets(reports[used][known])
        clean = self._clean_variance(reporter, targets, known)
        weights = np.where(known, 1.0, clean / (clean + reporter.noise_variance))
        if not models.takes_weights(self.estimator):
            weights[:] = weights[~known].mean()
        rows = NoisyRows(
            X=X if len(used) == len(public) else safe_indexing(X, used),
            targets=targets,
            weights=weights,
            known=known,
            folds=models.make_folds(known, codes, self.cv),
        )
        if self.estimator is None:
            chosen, predictions = models.choose_default(rows)
        else:
            chosen, predictions = self.estimator, models.cross_fit(self.estimator, rows)
        self._calibrate(predictions, rows, reports[used])
        self.estimators_ = models.fit_models(chosen, rows.X, targets, weights)
        self.privacy_spent_ = spent
        warn_of_mistakes(
            type(self).__name__,
            self._mistaken_targets(targets[~known]),
            None if self.slope_ else no_effect(self._kind, bounds=False),
        )

    @abstractmethod
    def _mistaken_targets(self, targets: FloatArray) -> str | None:
        """Return the sentence on a mistake that the unbiased targets of the reports suggest."""

    @abstractmethod
    def _clean_variance(self, reporter: Any, targets: FloatArray, known: BoolArray) -> float:
        """Return the typical variance of an exact target, given features."""

    def _describe_spending(
        self,
        reporter: Reporter,
        n_used: int,
        public: BoolArray,
        grouped: bool,
        leaks: list[str],
        source: Any,
        deployment: Deployment,
    ) -> PrivacySpent:
        """Return the statement on reports of n_used labels."""
        n_public = int(np.count_nonzero(public))
        rows_per_unit = self.max_rows_per_group if grouped else 1
        undeclared = "READ FROM PRIVATE ROWS" if leaks else "those of the public rows"
        facts: dict[str, Any] = {
            "reports": n_used,
            "public rows": n_public,
            **sources_of(self, [self._declared], undeclared),
            "features": "ALL features of the private rows: only their labels are protected",
        }
        if grouped:
            facts["groups"] = "whose rows are whose"
        if grouped and n_public:
            facts["public rows of a person"] = "used in clear; only the person's private rows are protected"
        kind, epsilon = reporter.describe(), rows_per_unit * reporter.epsilon
        noise: dict[str, Any] = {}
        if isinstance(reporter, NumberReporter):
            kind, laplace = "discrete Laplace", reporter.mechanism
            noise = {"sensitivity": rows_per_unit * laplace.sensitivity, "noise_scale": laplace.scale}
        public_inputs = ["public rows with their labels"] if n_public else []
        return PrivacySpent(
            releases=(ReleaseRecord(name="reports of targets", mechanism=kind, epsilon=epsilon, **noise),),
            mechanism=reporter.describe(),
            epsilon=epsilon,
            relation="label",
            unit="group" if grouped else "row",
            max_rows_per_unit=rows_per_unit,
            **{"noise_scale": None, **noise},
            noise_source=source,
            deployment=deployment,
            public_inputs=(*public_inputs, *name_inputs(self, (self._declared,))),
            unprotected=facts,
            **claim_of(leaks, source, self, (self._declared,)),
        )

    def check_public(self, shape: PublicShape) -> None:
        check_epsilon(self.epsilon)
        rows_per_unit = self.max_rows_per_group if shape.grouped else 1
        if getattr(self, self._declared) is not None or shape.public_labels is not None:
            self._make_reporter(shape.public_labels, rows_per_unit)

    def planned_cost(self, any_public: bool) -> PlannedCost:
        return PlannedCost(
            epsilon=check_epsilon(self.epsilon),
            relation="label",
            leaks=tuple(self._find_leaks(any_public)),
            seeded=self.random_state is not None,
        )

    def _find_leaks(self, any_public: bool) -> list[str]:
        return [self._leak] if getattr(self, self._declared) is None and not any_public else []

    @redact_errors
    def _predict_targets(self, X: Any) -> FloatArray:
        check_is_fitted(self)
        X = _of_numpy(X)
        if hasattr(self, "n_features_in_") and len(getattr(X, "shape", (0, 0))) == 1:
            raise ValueError("Expected 2D array. Reshape your data: X.reshape(1, -1) for one row.")
        validate_data(self, X, reset=False, skip_check_array=True, cells=False, kinds=False)
        return models.predict_targets(self.estimators_, X)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        inner = get_tags(models.default_model(np.ones(1)) if self.estimator is None else self.estimator)
        tags.input_tags = copy.copy(inner.input_tags)
        return tags


def _of_numpy(X: Any) -> Any:
    """Return arrays of other libraries as NumPy's, which targets are."""
    return np.asarray(X) if hasattr(X, "__array_namespace__") else X
