# SPDX-License-Identifier: BSD-3-Clause
"""A private tree: public design, charge, release, post-processing, predictions."""

import copy
import functools
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from .._typing import (
    BoolArray,
    FloatArray,
    IntArray,
    Protection,
    Relation,
    ReportMechanism,
    SplitCriterion,
    SplitRule,
)
from ..accounting import PrivacySpent
from ..accounting._statements.spent import name_inputs
from ..base import (
    SHARED_CONSTRAINTS,
    PlannedCost,
    PrivateEstimatorMixin,
    PublicShape,
    assign_roles,
    claim_of,
    private_fit,
    redact_errors,
)
from ..base._public_facts import shape_of
from ..base._public_model import of_encoded_rows
from ..domain import TableDomain
from ..exceptions import UtilityWarning
from ..noise import check_entropy
from ..partition import RULES, Partition, build_partition
from ..randomizers._factory import MECHANISMS
from ..rounds._driver import Rounds, RowsInMemory, drive
from ..rounds._fit import read_public_rows, schema_of
from ..rounds._schema import RowSchema
from ..rounds._sources import SourceFacts
from ..rounds._tables import TableColumns
from ..utils import check_epsilon, check_row_mask
from ..utils._arguments import number_units
from ..utils._compat import Interval, StrOptions, validate_parameter_constraints
from ..utils._private_fit import public_errors, warn_user
from ..utils._tables import within_bounds
from ._leaf_probabilities import variance_per_row
from ._nodes import NodeEstimates, gini_importances, leaf_paths, warn_of_low_utility
from ._pruning_and_intervals import LeafEstimates, PruningMethod, estimate_leaves
from ._public_model import PublicModel
from ._release import (
    DEEPEST,
    DEEPEST_COMPLETE,
    LEAST_INFORMATION,
    LeafSums,
    ReleaseMechanism,
    TreeDesign,
    choose_depth,
    collect_reports,
    deepest_to_grow,
    design_private_splits,
    divide_budget,
    plan_first_phase,
    slope_of_public_rows,
    sum_in_rounds,
    unprotected_facts,
)
from ._rows import NumberCells, PublicVotes, TreeRows, usual_variance

TREE_CONSTRAINTS: dict[str, list[Any]] = {
    **SHARED_CONSTRAINTS,
    "max_depth": [StrOptions({"auto"}), Interval(Integral, 1, 30, closed="both")],
    "public_weight": [StrOptions({"auto"}), Interval(Real, 0, 1e100, closed="both")],
    "rule": [StrOptions(set(RULES))],
    "min_samples_leaf": [Interval(Integral, 0, None, closed="left")],
    "domain": [TableDomain, None],
    "partition_seed": [Interval(Integral, 0, None, closed="left")],
    "split_share": [StrOptions({"auto"}), Interval(Real, 0, 1, closed="left")],
}
TREE_ROLES = assign_roles(
    release="epsilon max_depth rule min_samples_leaf domain partition_seed split_share public_model "
    "max_rows_per_group random_state",
    post_processing="public_weight",
    computing="ledger",
)

#: Further parameters of the locally private trees.
LOCAL_CONSTRAINTS: dict[str, list[Any]] = {
    "mechanism": [StrOptions({"auto", *MECHANISMS})],
    "protect": [StrOptions({"record", "label"})],
}
LOCAL_ROLES = {"mechanism": "release", "protect": "release"}


class PrivateTree(PrivateEstimatorMixin, BaseEstimator):
    """Base of the private trees; its subclasses are for a kind of target, and theirs for a kind of release.

    A fit validates the rows and separates public from private ones (`_part_rows`). It makes everything that
    is public (`_design`), charges the cost, draws the release, and post-processes it (`_adopt`).
    """

    epsilon: Any
    max_depth: Any
    public_weight: Any
    mechanism: ReportMechanism
    protect: Protection
    rule: SplitRule
    criterion: SplitCriterion
    prune: Any
    min_samples_leaf: int
    partition_seed: int
    split_share: Any
    public_model: Any
    max_rows_per_group: int
    random_state: Any

    _parameter_constraints: dict[str, list[Any]]
    declared_roles: Mapping[str, str] = TREE_ROLES
    # Requested by default: the guarantee depends on the mask and the groups.
    __metadata_request__fit = {"is_public": True, "groups": True}

    #: Where the noise is added, as in `PrivacySpent`.
    _deployment: Literal["curator", "simulated"] = "curator"
    _has_rounds = _reads_numbers = True
    #: The name of private rows in a statement.
    _rows_are_called = "private rows"
    #: Private rows times epsilon, for each public row, above which a curator's private rows choose better
    # splits.
    _rows_for_a_public_row: int
    #: Bound on the weight of a row, if an accumulator declares one; None: all rows have the weight 1.
    _max_sample_weight: float | None = None
    #: The parameter that declares the bounds or classes of the target, and the leak if rows define them.
    _target_parameter: str
    _target_leak: str
    #: What a statement calls the values of the target.
    _targets: str
    #: Predictions of the leaves as shares of the labels, of shape (n_leaves, n_labels).
    _leaf_shares: FloatArray
    #: Standard deviations of these shares due to noise and sampling, of shape (n_leaves,).
    _share_errors: FloatArray

    @abstractmethod
    def _read_rows(self, X: Any, y: Any) -> tuple[FloatArray, NDArray[Any]]:
        """Validate X and y; in strict mode no value in a row makes it fail."""

    @abstractmethod
    def _resolve_target(self, y: NDArray[Any], public: BoolArray) -> dict[str, Any]:
        """Resolve bounds or classes; return them as ``classes`` with the target, as fields of `TreeRows`."""

    @abstractmethod
    def _check_target(self, shape: PublicShape) -> int:
        """Check the declared target, and return the number of labels, or 2 if it is unknown."""

    @abstractmethod
    def _schema_of_target(self, rows: TreeRows) -> dict[str, Any]:
        """Return the fields of a schema by which a source reads the target."""

    @abstractmethod
    def _name_target(self, design: TreeDesign) -> None:
        """Set the attributes of the target that follow from a design."""

    @abstractmethod
    def _set_estimates(self, estimates: LeafEstimates) -> None:
        """Set the attributes that hold the predictions of the leaves."""

    @abstractmethod
    def _describe_estimate(self, leaf: int, decimals: int) -> str:
        """Return the prediction of a leaf, plus or minus a standard deviation, as text."""

    def _cells(self) -> NumberCells | None:
        """Return the cells by which a release describes numbers; None for labels."""
        return None

    @property
    def _pruning(self) -> PruningMethod:
        return PruningMethod(self.prune)

    @property
    def _sums(self) -> LeafSums:
        """The sums in the leaves of a curator's tree."""
        return LeafSums(self._cells(), self.public_model is None, self._max_sample_weight)

    def _make_randomizer(
        self, n_cells: int, n_labels: int, rows_per_unit: int, n_rows: int = 0, n_public: int = 0
    ) -> ReleaseMechanism:
        """Return the mechanism for n_cells leaves that protects so many rows of one unit."""
        return self._sums.noise(self.epsilon, n_cells, n_labels, rows_per_unit)

    @private_fit
    def fit(self, X: Any, y: Any, is_public: Any = None, groups: Any = None) -> Self:
        """Build the tree, and estimate its leaves from one release about the private rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Finite numbers. In strict mode, other values are replaced by values within the bounds.
        y : array-like of shape (n_samples,)
            Labels, or numbers. A list of labels may mix types. An array or a column has already converted
            mixed labels to one type.
        is_public : array-like of bool of shape (n_samples,), default=None
            Marks public rows. None: every row is private.
        groups : array-like of shape (n_samples,), default=None
            Person of every row. At most ``max_rows_per_group`` private rows of a person count, drawn at
            random. None: the unit of privacy is the row. In a search or a pipeline, groups are passed on only
            if scikit-learn's metadata routing is enabled. ``privacy_spent_.unit`` is the unit that was used.

        Returns
        -------
        self : estimator

        Raises
        ------
        TypeError, ValueError
            Invalid rows, targets, mask, groups or parameters. Nothing is charged, and the ledger counts a
            failure. In strict mode the reason is public: it does not depend on a single row.
        PrivacyLeakError
            In strict mode, if bounds or classes would be read from private rows, or the noise would be
            seeded.
        BudgetExceededError, LedgerError
            The ledger refuses the charge. Nothing is spent, and a previous fit does not change.
        """
        self._check_parameters()
        X, y = self._read_rows(X, y)
        public = check_row_mask(is_public, len(X), strict=self.is_strict())
        if public.all():
            raise ValueError("is_public marks every row, so there is nothing to protect; use a plain tree.")
        leaks = self._find_leaks(bool(public.any()))
        self.announce_leaks(leaks)
        known = y[public] if public.any() else None
        shape = shape_of(self, len(X), groups is not None, public_labels=known)
        with public_errors():
            self.check_public(shape)
        rows = self._part_rows(X, y, public, groups)
        n_used, grouped = rows.n_used, rows.units is not None
        design = self._design(rows, n_used)
        entropy = check_entropy(self.random_state)
        spent = self._describe_spending(design, n_used, grouped, leaks, source=entropy.source)
        if self._deployment == "curator":
            prepared = RowsInMemory(rows.prepare(entropy.random_bytes))
            design, counts = drive(sum_in_rounds(design, spent, self._sums), prepared, entropy, self.charge)
        else:
            design, counts = collect_reports(self, design, rows, spent, entropy)
        self._adopt(design, counts, design.reports_of_leaves(n_used), spent)
        return self

    def _open_source(
        self: Any, columns: TableColumns, facts: SourceFacts, public: Any
    ) -> tuple[RowSchema, Callable[[str], Rounds[None]]]:
        """Prepare the fit of a curator's tree to rows that are elsewhere."""
        self._check_parameters()
        if self._find_leaks(public is not None):
            raise ValueError("a source is not read for bounds or classes: declare them, or pass public rows.")
        facts.require_target()
        facts.name_columns(self)
        self._name_columns()
        grouped = columns.group is not None
        rows: TreeRows = read_public_rows(self, public, facts, self.max_rows_per_group if grouped else 1)
        self.check_public(facts.shape(grouped, None if public is None else public[1]))
        n_used = facts.n_units * rows.rows_per_unit
        design = self._design(rows, n_used)
        schema = schema_of(self, columns, rows.bounds, **self._schema_of_target(rows))
        return schema, functools.partial(self._rounds_of_source, design, n_used, grouped)

    def _rounds_of_source(
        self, design: TreeDesign, n_used: int, grouped: bool, noise_source: str
    ) -> Rounds[None]:
        spent = self._describe_spending(design, n_used, grouped, [], source=noise_source)
        design, counts = yield from sum_in_rounds(design, spent, self._sums)
        self._adopt(design, counts, n_used, spent)

    @property
    def _relation(self) -> Relation:
        if self._deployment == "curator":
            return "replace-one"
        return "label" if self.protect == "label" else "local"

    @property
    def _public_inputs(self) -> tuple[str, ...]:
        """Parameters that are public knowledge about the rows."""
        return ("domain", self._bounds_parameter, self._target_parameter)

    def _inputs_to_declare(self) -> tuple[str, ...]:
        """Parameters that would be read from protected values if they were not declared."""
        # If only labels are protected, bounds may be read from the features of any row.
        of_target = (self._target_parameter,)
        return of_target if self._relation == "label" else (self._bounds_parameter, *of_target)

    def _find_leaks(self, any_public: bool) -> list[str]:
        """Return which facts a fit would read from private rows; this is known before any of them is read."""
        if any_public:
            return []
        texts = {
            self._bounds_parameter: "the bounds of X were read from private rows",
            self._target_parameter: self._target_leak,
        }
        missing = [name for name in self._inputs_to_declare() if getattr(self, name) is None]
        return [texts[name] for name in missing if name != self._bounds_parameter or self.domain is None]

    def _check_parameters(self) -> None:
        check_epsilon(self.epsilon)
        if self._deployment == "curator":
            return
        if self.max_rows_per_group != 1:
            raise ValueError("max_rows_per_group must be 1: a client sends one report, of one of its rows.")
        if self.protect == "label" and self.mechanism not in ("auto", "krr"):
            raise ValueError('protect="label" sends the label by randomised response: pass mechanism="auto".')

    def check_public(self, shape: PublicShape) -> None:
        self._check_parameters()
        self._encoded_shape(shape).check_bounds(self._declared_bounds, self._bounds_parameter)
        n_labels = self._check_target(shape)
        self._pruning.check_classes(n_labels)
        if self.public_model is not None and not shape.n_public:
            raise ValueError("public_model is fitted to public rows, and there are none.")
        depth = self._check_depth(shape.n_public)
        # Without public rows a tree of a given depth is complete; otherwise the number of leaves is not known
        # yet.
        complete = not shape.n_public and self.max_depth != "auto"
        rows_per_unit = self.max_rows_per_group if shape.grouped else 1
        divide_budget(self, shape.n_rows or 1, shape.n_public, rows_per_unit, shape.n_features, n_labels)
        self._make_randomizer(2**depth if complete else 2, n_labels, rows_per_unit)

    def _part_rows(self, X: FloatArray, y: NDArray[Any], public: BoolArray, groups: Any) -> TreeRows:
        """Resolve bounds and target, and separate public from private rows."""
        units = number_units(groups, ~public, strict=self.is_strict())
        declared = self._declared_bounds if self.domain is None else self.domain.bounds
        bounds = self.resolve_bounds(declared, X, X[public], name=self._bounds_parameter)
        # Only in strict mode can values be infinite or missing here.
        X = within_bounds(X, *bounds) if self.is_strict() else X
        rows_per_unit = 1 if units is None else self.max_rows_per_group
        target = self._resolve_target(y, public)
        return TreeRows(X=X, public=public, units=units, bounds=bounds, rows_per_unit=rows_per_unit, **target)

    def _design(self, rows: TreeRows, n_used: int) -> TreeDesign:
        """Return the public design: a partition at its final depth, or the root that private rows split."""
        n_public, n_labels = rows.n_public, len(rows.classes)
        if self._deployment != "curator" and not n_public:
            shaped = plan_first_phase(self, rows, n_used)
            if shaped is not None:
                return shaped
        self._pruning.check_classes(n_labels)
        budget = divide_budget(self, n_used, n_public, rows.rows_per_unit, rows.X.shape[1], n_labels)
        model = self._fit_public_model(rows.votes, rows.classes)
        if budget is not None:
            return design_private_splits(self, rows, budget, model)
        rule = self.rule if n_public else "random"
        rule = rule if model is None or rule == "random" else "cart"
        depth = self._check_depth(n_public)
        # Public rows may make a tree of numbers deeper.
        if self.max_depth == "auto" and not self._pruning.as_printed and not (n_public and self._cells()):
            # Do not grow levels that cannot be chosen.
            variance = self._variance_by_leaves(rows, n_used, n_labels) if n_public else None
            depth = min(depth, deepest_to_grow(n_used, variance))
        (lower, upper), votes = rows.bounds, rows.votes
        grow = functools.partial(
            build_partition,
            lower=lower,
            upper=upper,
            max_depth=depth,
            n_labels=n_labels,
            rule=rule,
            criterion=self.criterion,
            min_samples_leaf=self.min_samples_leaf,
            seed=self.partition_seed,
            groups=None if self.domain is None else self.domain.groups,
            copies=votes.copies,
        )
        partition = grow(votes.X, votes.labels) if model is None else grow(*model.soft_rows(), copies=1)
        if self.max_depth == "auto":
            depth = self._automatic_depth(partition, rows, n_used, n_labels, model is not None)
            partition = partition.truncate(depth)
        randomizer = self._make_randomizer(partition.n_leaves, n_labels, rows.rows_per_unit, n_used, n_public)
        slope = slope_of_public_rows(grow, votes, partition.max_depth)
        design = self._begin(rows, partition, randomizer, rule, public_slope=slope, public_model=model)
        return design.with_leaves(partition, randomizer, votes)

    def _begin(
        self, rows: TreeRows, partition: Partition, randomizer: ReleaseMechanism, rule: str, **facts: Any
    ) -> TreeDesign:
        """Return a design without public rows in its leaves."""
        return TreeDesign(
            partition=partition,
            randomizer=randomizer,
            classes=rows.classes,
            bounds=rows.bounds,
            rule=rule,
            public_counts=np.zeros((partition.n_leaves, len(rows.classes)), dtype=np.int64),
            feature_names=self._names_of_features(),
            cells=self._cells(),
            **facts,
        )

    def _fit_public_model(self, votes: PublicVotes, classes: NDArray[Any]) -> PublicModel | None:
        """Fit the public model to public rows, before anything is charged; None if it has learnt noise."""
        if self.public_model is None:
            return None
        groups = None if self.domain is None else self.domain.groups
        with public_errors():
            model = of_encoded_rows(self.public_model, self.domain)
            fitted = PublicModel.fit(model, votes, classes, self.partition_seed, groups)
        if fitted is None:
            warn_user(
                "public_model predicts held-out public rows no better than their base rate; the tree is made "
                f"without it. Check that the public {self._targets} belong to the public rows.",
                UtilityWarning,
            )
        return fitted

    def _check_depth(self, n_public: int) -> int:
        if self.max_depth == "auto":
            return DEEPEST
        if not n_public and self.max_depth > DEEPEST_COMPLETE:
            raise ValueError(
                f"max_depth must be at most {DEEPEST_COMPLETE} without public rows: the tree is then "
                "complete, with 2^max_depth leaves."
            )
        return int(self.max_depth)

    def _variance_by_leaves(
        self, rows: TreeRows | None, n_used: int, n_labels: int
    ) -> Callable[[int], float]:
        """Return the variance of a row's report about a leaf, as a function of the number of leaves."""
        n_public, rows_per_unit = (0, 1) if rows is None else (rows.n_public, rows.rows_per_unit)
        cells = self._cells()
        # Numbers vary less than labels, so noise hides them more.
        signal = usual_variance(cells, None if rows is None else rows.votes)

        def variance(n_leaves: int) -> float:
            randomizer = self._make_randomizer(n_leaves, n_labels, rows_per_unit, n_used, n_public)
            return variance_per_row(randomizer, n_used, cells) / signal

        return variance

    def _automatic_depth(
        self,
        partition: Partition,
        rows: TreeRows | None,
        n_used: int,
        n_labels: int,
        with_model: bool = False,
    ) -> int:
        """Return the depth for n_used private rows; without `rows`, reports have shaped the partition."""
        variance = self._variance_by_leaves(rows, n_used, n_labels)
        n_public, epsilon = 0 if rows is None else rows.n_public, check_epsilon(self.epsilon)
        depth = self._pruning.choose_depth(partition, n_used, n_public, epsilon, variance)
        if rows is None:
            return depth
        if self._cells() is not None:
            # If noise allows fewer levels, public rows decide the depth. With 500 of them, epsilon 0.5 to 2
            # and 4,000 clients, this gained 0.1 to 0.6 in R2 on Friedman's, a linear and a step function, and
            # lost up to 0.2 on a weak one. With 50 public rows it changed little.
            depth = max(depth, choose_depth(n_public, partition.leaf_counts_by_depth(), lambda n: 1 / n))
        if not n_public and n_used < LEAST_INFORMATION * variance(2):
            return 0
        # Offsets from a model need fewer leaves than a tree without one.
        return max(depth - 1, 1) if with_model else depth

    def _describe_spending(
        self,
        design: TreeDesign,
        n_used: int,
        grouped: bool,
        leaks: list[str],
        *,
        source: Any,
        deployment: Literal["collected"] | None = None,
    ) -> PrivacySpent:
        """Return the statement on a release about n_used private rows."""
        randomizer = design.randomizer
        public = [f"public rows with their {self._targets}"] if design.n_public else []
        # Without public rows the model is that of the first phase, which is released and covered by the
        # budget.
        if design.first_phase is None and (design.public_model or design.leaf_model) is not None:
            public.append("a model fitted to the public rows")
        return PrivacySpent(
            releases=design.releases(),
            mechanism=design.describe_mechanism(),
            epsilon=randomizer.epsilon,
            relation=randomizer.relation,  # type: ignore[arg-type]
            unit="group" if grouped else "row",
            max_rows_per_unit=self.max_rows_per_group if grouped else 1,
            sensitivity=randomizer.sensitivity,
            noise_scale=randomizer.noise_scale,
            noise_source=source,
            deployment=deployment or self._deployment,
            public_inputs=(*public, *name_inputs(self, self._public_inputs)),
            unprotected=unprotected_facts(self, design, n_used, grouped),
            **claim_of(leaks, source, self, self._public_inputs),
        )

    def planned_cost(self, any_public: bool) -> PlannedCost:
        self._check_parameters()
        return PlannedCost(
            epsilon=check_epsilon(self.epsilon),
            relation=self._relation,
            leaks=tuple(self._find_leaks(any_public)),
            seeded=self.random_state is not None,
        )

    def post_processed(self, parameters: Mapping[str, Any]) -> Self:
        return self._estimated_anew(dict(parameters))

    def _adopt(self, design: TreeDesign, counts: IntArray, n_used: int, spent: PrivacySpent) -> None:
        """Store a release, whoever collected it, and post-process it."""
        self.n_features_in_ = design.partition.n_features
        if design.feature_names is not None:
            self.feature_names_in_ = np.array(design.feature_names, dtype=object)
        self._name_columns()
        self._name_target(design)
        self.bounds_ = design.bounds
        self.rule_, self.mechanism_ = design.rule, design.randomizer.name
        self.partition_, self.randomizer_ = design.partition, design.randomizer
        self.public_counts_, self.public_slope_ = design.public_counts, design.public_slope
        # Without the public rows that a model was fitted to.
        self._released = replace(design, public_model=None, first_phase=None)
        first = design.first_phase
        self.split_counts_ = None if first is None else first.counts
        self.split_randomizer_ = None if first is None else first.randomizer
        self.max_depth_ = design.partition.max_depth
        self.n_leaves_ = design.partition.n_leaves
        self.report_counts_, self.n_reports_ = counts, n_used
        self.privacy_spent_ = spent
        self._post_process()
        warn_of_low_utility(self)

    def _post_process(self) -> None:
        estimates = estimate_leaves(
            self._released, self.report_counts_, self.n_reports_, self.public_weight, self.prune
        )
        self.public_weight_, self.leaf_depth_ = estimates.weight, estimates.depth
        self.leaf_sizes_, self._offsets = estimates.sizes, estimates.offsets
        self._set_estimates(estimates)

    def _estimated_anew(self, given: dict[str, Any]) -> Self:
        """Return a copy with other parameters of the post-processing."""
        check_is_fitted(self)
        changed = copy.copy(self)
        changed.__dict__.update(given)
        validate_parameter_constraints(self._parameter_constraints, given, type(self).__name__)
        changed._pruning.check_classes(len(self._released.classes))
        changed._post_process()
        return changed

    @redact_errors
    def apply(self, X: ArrayLike) -> NDArray[np.int32]:
        """Return the leaf of every row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        leaves : ndarray of int32 of shape (n_samples,)
            Between 0 and ``n_leaves_ - 1``.
        """
        check_is_fitted(self)
        return self.partition_.apply(self._read_fitted(X, order="C"))

    def get_depth(self) -> int:
        """Return the depth of the tree: the number of splits between the root and its deepest leaf.

        Returns
        -------
        depth : int
        """
        check_is_fitted(self)
        return self.partition_.max_depth

    def get_n_leaves(self) -> int:
        """Return the number of leaves.

        Returns
        -------
        n_leaves : int
        """
        check_is_fitted(self)
        return self.partition_.n_leaves

    def decision_path(self, X: ArrayLike) -> Any:
        """Return which nodes every row passes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        indicator : scipy.sparse.csr_matrix of shape (n_samples, n_nodes)
            1 if a row passes a node, root and leaf included; nodes are numbered as in ``partition_``.
        """
        leaves = self.apply(X)
        return leaf_paths(self.partition_)[leaves]

    @property
    def feature_importances_(self) -> FloatArray:
        """Share of every feature in the decrease of the Gini impurity by the splits, (n_features,).

        Impurities are those of ``leaf_proba_``, weighted by ``leaf_sizes_``. They are functions of the
        release, so they cost nothing and have its noise. The shares add up to 1. All are 0 for a tree of one
        leaf, and if no split gains anything. They do not include what a public model predicts within a leaf.
        With ``domain`` there is one share for each declared column: all splits on its levels, or on its
        missing cells, count for it.
        """
        check_is_fitted(self)
        nodes = NodeEstimates.of(self.partition_, self.leaf_sizes_, self._leaf_shares)
        domain, source = getattr(self, "domain_", None), None
        if domain is not None and self.partition_.derived is None:
            # If no level of splits was released, the root still has the box of the encoded columns.
            source = np.repeat(
                np.arange(len(domain.groups)), [group.end - group.start for group in domain.groups]
            )
        return gini_importances(self.partition_, nodes, source)
