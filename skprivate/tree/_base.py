# SPDX-License-Identifier: BSD-3-Clause
"""Base class of the private trees: public design, charge, one private release, post-processing."""

import functools
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags

from .._typing import BoolArray, FloatArray, IntArray, Relation, SplitCriterion, SplitRule
from ..accounting import PrivacySpent
from ..accounting._statements.estimated_bounds import name_inputs, source_of_input
from ..base import (
    SHARED_CONSTRAINTS,
    PlannedCost,
    PrivateEstimatorMixin,
    PublicShape,
    assign_roles,
    claim_of,
    private_fit,
)
from ..base._classes import declared_classes, find_classes, warn_of_unknown_labels
from ..domain import TableDomain
from ..exceptions import UtilityWarning
from ..noise import check_entropy
from ..noise._entropy import Entropy
from ..partition import CRITERIA, RULES, Partition, build_partition
from ..rounds._reading.schema import number_labels
from ..utils import (
    as_labels,
    check_epsilon,
    check_row_mask,
)
from ..utils._compat import HasMethods, Interval, StrOptions
from ..utils._groups import number_units
from ..utils._private_fit import public_errors
from ..utils._replacements import within_bounds
from ..utils._table_validation import validate_data
from ..utils._user_frame import warn_user
from ._estimation.depth import DEEPEST, LEAST_INFORMATION, DepthInputs, deepest_to_grow
from ._estimation.leaf_counts import variance_per_row
from ._estimation.leaf_estimates import pruning_method
from ._estimation.public_slope import slope_of_public_rows
from ._growth.split_budget import PaidTreeMechanism, SplitBudget
from ._predictions import TreePredictionsMixin
from ._public_model import PublicModel
from ._tree_design import PendingSplits, ReleaseMechanism, TreeDesign
from ._tree_rows import TreeRows

#: Without public rows no cell stops early: 2^16 leaves.
DEEPEST_COMPLETE = 16

# Parameters that are public knowledge about the rows.
_PUBLIC_INPUTS = ("domain", "bounds", "classes")
# Those that would be read from rows if nothing else told them.
_INPUTS_OF_ROWS = ("bounds", "classes")

TREE_CONSTRAINTS: dict[str, list[Any]] = {
    **SHARED_CONSTRAINTS,
    "max_depth": [StrOptions({"auto"}), Interval(Integral, 1, 30, closed="both")],
    "public_weight": [StrOptions({"auto"}), Interval(Real, 0, 1e100, closed="both")],
    "rule": [StrOptions(set(RULES))],
    "criterion": [StrOptions(set(CRITERIA))],
    "prune": ["boolean", StrOptions({"paper"})],
    "min_samples_leaf": [Interval(Integral, 0, None, closed="left")],
    "bounds": ["array-like", Mapping, None],
    "domain": [TableDomain, None],
    "classes": ["array-like", None],
    "partition_seed": [Interval(Integral, 0, None, closed="left")],
    "public_model": [HasMethods(["fit", "predict_proba"]), None],
    "split_share": [StrOptions({"auto"}), Interval(Real, 0, 1, closed="left")],
}


TREE_ROLES = assign_roles(
    release="epsilon max_depth rule criterion min_samples_leaf bounds domain classes partition_seed "
    "split_share public_model max_rows_per_group random_state",
    post_processing="public_weight prune",
    computing="ledger",
)


class BasePrivateTree(TreePredictionsMixin, PrivateEstimatorMixin, ClassifierMixin, BaseEstimator):
    """Base of the private trees; a subclass provides the release mechanism.

    A fit validates the rows and separates public from private ones (`_part_rows`), makes everything that is
    public (`_design`), charges the cost, draws the release, and post-processes it (`_adopt`).
    """

    epsilon: Any
    max_depth: Any
    public_weight: Any
    rule: SplitRule
    criterion: SplitCriterion
    prune: Any
    min_samples_leaf: int
    bounds: Any
    domain: TableDomain | None
    classes: Any
    partition_seed: int
    max_rows_per_group: int
    random_state: Any

    # Asked for by default: the mask and the groups are what the guarantee is about.
    __metadata_request__fit = {"is_public": True, "groups": True}

    #: Where the noise is added, as in `PrivacySpent`.
    _deployment: str
    #: The name of private rows in a statement.
    _rows_are_called = "private rows"

    declared_roles = TREE_ROLES

    @abstractmethod
    def _make_randomizer(
        self, n_cells: int, n_labels: int, rows_per_unit: int, n_rows: int = 0, n_public: int = 0
    ) -> ReleaseMechanism:
        """Return the mechanism for n_cells leaves, under which so many rows of one unit are protected."""

    def _inputs_to_declare(self) -> tuple[str, ...]:
        """Parameters that would be read from protected values if they were not declared."""
        return ("bounds", "classes")

    @private_fit
    def fit(self, X: Any, y: Any, is_public: Any = None, groups: Any = None) -> Self:
        """Build the tree on the public rows and fill it with one release about the private rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Finite numbers; in strict mode what is no finite number is put within the bounds.
        y : array-like of shape (n_samples,)
            Labels. A list may mix types; an array or a column that was made from mixed labels has already
            given them one type.
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
            Unusable rows, labels, mask, groups or parameters; nothing is charged then, and the ledger counts
            a failure. In strict mode the reason is public: it lies in no single row.
        PrivacyLeakError
            In strict mode, where bounds or classes would be read from private rows, or the noise be seeded.
        BudgetExceededError, LedgerError
            The ledger refused; nothing is charged, and a previous fit is as it was.
        """
        self._check_parameters()
        X, y = self._read_rows(X, y)
        public = check_row_mask(is_public, len(X), strict=self.is_strict())
        if public.all():
            raise ValueError(
                "is_public marks every row, so there is nothing to protect; use a plain classifier."
            )
        leaks = self._find_leaks(bool(public.any()))
        self.announce_leaks(leaks)
        with public_errors():
            self.check_public(self._shape_of(X, y[public], groups))
        rows = self._part_rows(X, y, public, groups)
        design = self._design(rows, rows.n_used)
        entropy = check_entropy(self.random_state)
        spent = self._describe_spending(
            design,
            rows.n_used,
            rows.units is not None,
            leaks,
            source=entropy.source,
            deployment=self._deployment,
        )
        design, counts = self._release(design, rows, spent, entropy)
        self._adopt(design, counts, design.reports_of_leaves(rows.n_used), spent)
        return self

    @abstractmethod
    def _release(
        self, design: TreeDesign, rows: TreeRows, spent: PrivacySpent, entropy: Entropy
    ) -> tuple[TreeDesign, IntArray]:
        """Charge the cost, and return the finished design and what is released of its leaves."""

    def _read_rows(self, X: Any, y: Any) -> tuple[FloatArray, NDArray[Any]]:
        """Validate X and y; in strict mode no cell of them makes it fail."""
        X = self.encode_rows(X)
        if self.is_strict():
            X = self.read_numbers(X)
            y = self.read_labels(y, len(X))
        else:
            X, y = validate_data(self, X, as_labels(y), dtype=np.float64, order="C")
        self.name_columns()
        return X, y

    def _check_parameters(self) -> None:
        check_epsilon(self.epsilon)

    def _shape_of(self, X: FloatArray, public_labels: NDArray[Any], groups: Any) -> PublicShape:
        names = getattr(self, "feature_names_in_", None)
        return PublicShape(
            n_features=self.n_features_in_,
            feature_names=None if names is None else tuple(names),
            n_rows=len(X),
            grouped=groups is not None,
            public_labels=public_labels if len(public_labels) else None,
        )

    def check_public(self, shape: PublicShape) -> None:
        self._check_parameters()
        self.encoded_shape(shape).check_bounds(self.bounds, "bounds")
        n_labels = 2
        if self.classes is not None:
            n_labels = len(declared_classes(self.classes))
        elif shape.public_labels is not None:
            n_labels = len(find_classes(shape.public_labels))
        pruning_method(self.prune).check_classes(n_labels)
        if self.public_model is not None and not shape.n_public:
            raise ValueError("public_model is fitted to public rows, and there are none.")
        depth = self._check_depth(shape.n_public)
        # Without public rows a tree of a given depth is complete, and otherwise of any number of cells.
        complete = not shape.n_public and self.max_depth != "auto"
        rows_per_unit = self.max_rows_per_group if shape.grouped else 1
        self._budget_of_splits(shape.n_rows or 1, shape.n_public, rows_per_unit, shape.n_features, n_labels)
        self._make_randomizer(
            2**depth if complete else 2, n_labels, self.max_rows_per_group if shape.grouped else 1
        )

    def _find_leaks(self, any_public: bool) -> list[str]:
        """What would have to be read from private rows; found before any of them is read."""
        if any_public:
            return []
        texts = {
            "bounds": "the bounds of X were read from private rows",
            "classes": "the classes were read from private rows",
        }
        missing = [name for name in self._inputs_to_declare() if getattr(self, name) is None]
        return [texts[name] for name in missing if name != "bounds" or self.domain is None]

    def _part_rows(self, X: FloatArray, y: NDArray[Any], public: BoolArray, groups: Any) -> TreeRows:
        """Resolve bounds and classes, and separate public from private rows."""
        units = number_units(groups, ~public, strict=self.is_strict())
        declared = self.bounds if self.domain is None else self.domain.bounds
        bounds = self.resolve_bounds(declared, X, X[public])
        # Only strict mode lets what is not finite come so far.
        X = within_bounds(X, *bounds) if self.is_strict() else X
        if self.classes is None:
            classes = find_classes(y[public] if public.any() else y)
        else:
            classes = declared_classes(self.classes)
            warn_of_unknown_labels(y[public], classes)
        rows_per_unit = 1 if units is None else self.max_rows_per_group
        return TreeRows(X, number_labels(y, classes), public, units, classes, bounds, rows_per_unit)

    def _design(self, rows: TreeRows, n_used: int) -> TreeDesign:
        """Make everything public: the partition at its final depth, and the release mechanism."""
        lower, upper = rows.bounds
        n_labels = len(rows.classes)
        pruning_method(self.prune).check_classes(n_labels)
        budget = self._budget_of_splits(n_used, rows.n_public, rows.rows_per_unit, rows.X.shape[1], n_labels)
        public_X, public_labels = rows.X[rows.public], rows.labels[rows.public]
        model = self._fit_public_model(public_X, public_labels, rows.classes)
        if budget is not None:
            pending = PendingSplits(budget, public_X, public_labels)
            return self._design_to_split(rows, pending, model)
        rule = self.rule if len(public_X) else "random"
        rule = rule if model is None or rule == "random" else "cart"
        grow = functools.partial(
            build_partition,
            lower=lower,
            upper=upper,
            max_depth=self._depth_to_grow(len(public_X), n_used),
            n_labels=n_labels,
            rule=rule,
            criterion=self.criterion,
            min_samples_leaf=self.min_samples_leaf,
            seed=self.partition_seed,
            groups=None if self.domain is None else self.domain.groups,
        )
        shaping = (public_X, public_labels) if model is None else model.soft_rows()
        partition = grow(*shaping)
        if self.max_depth == "auto":
            partition = partition.truncate(
                self._automatic_depth(partition, rule, rows, n_used, model is not None)
            )
        design = TreeDesign(
            partition=partition,
            randomizer=self._make_randomizer(
                partition.n_leaves, n_labels, rows.rows_per_unit, n_used, rows.n_public
            ),
            classes=rows.classes,
            bounds=rows.bounds,
            rule=rule,
            public_counts=np.zeros((partition.n_leaves, n_labels), dtype=np.int64),
            feature_names=self.names_of_features(),
            public_slope=slope_of_public_rows(grow, public_X, public_labels, partition.max_depth, n_labels),
            public_model=model,
        )
        return design.with_leaves(partition, design.randomizer, public_X, public_labels)

    def _fit_public_model(
        self, X: FloatArray, labels: NDArray[np.int32], classes: NDArray[Any]
    ) -> PublicModel | None:
        """Fit the public model to public rows, before anything is charged; None where there is none."""
        if self.public_model is None:
            return None
        with public_errors():
            groups = None if self.domain is None else self.domain.groups
            model = PublicModel.fit(self.public_model, X, labels, classes, self.partition_seed, groups)
        if model is None:
            warn_user(
                "public_model predicts public rows that it has not seen no better than their base rate does; "
                "the tree is made without it. Are the public labels those of the public rows?",
                UtilityWarning,
            )
        return model

    def _design_to_split(
        self, rows: TreeRows, pending: PendingSplits, model: PublicModel | None
    ) -> TreeDesign:
        """Make what is public before private rows choose the splits: the root."""
        n_labels, root = len(rows.classes), Partition.from_splits([-1], [], *rows.bounds)
        budget = pending.budget
        design = TreeDesign(
            partition=root,
            randomizer=PaidTreeMechanism(budget, n_labels),
            classes=rows.classes,
            bounds=rows.bounds,
            rule="private",
            public_counts=np.zeros((1, n_labels), dtype=np.int64),
            feature_names=self.names_of_features(),
            pending=pending,
            public_model=model,
        )
        # Public rows are counted for the statement, and where there are too few rows for a split.
        counted = design.with_leaves(root, budget.leaves(1, n_labels), pending.X, pending.labels)
        if not budget.level_epsilons:
            return counted
        return replace(counted, randomizer=design.randomizer, pending=pending)

    def _budget_of_splits(
        self, n_rows: int, n_public: int, rows_per_unit: int, n_features: int | None, n_labels: int
    ) -> SplitBudget | None:
        """Return how epsilon is divided where private rows choose splits; None where they do not."""
        return None

    def _check_depth(self, n_public: int) -> int:
        if self.max_depth == "auto":
            return DEEPEST
        if not n_public and self.max_depth > DEEPEST_COMPLETE:
            raise ValueError(
                f"max_depth must be at most {DEEPEST_COMPLETE} without public rows: the tree is complete "
                "then, with 2^max_depth leaves."
            )
        return int(self.max_depth)

    def _depth_to_grow(self, n_public: int, n_used: int) -> int:
        """Return the depth of the partition that an automatic depth is chosen from, or the depth itself."""
        depth = self._check_depth(n_public)
        automatic = self.max_depth == "auto" and not pruning_method(self.prune).has_own_depth
        # Without public rows the tree is complete, so that the depths which cannot be chosen are known.
        return min(depth, deepest_to_grow(n_used)) if automatic and not n_public else depth

    def _automatic_depth(
        self, partition: Partition, rule: str, rows: TreeRows, n_used: int, with_model: bool
    ) -> int:
        def variance(n_leaves: int) -> float:
            randomizer = self._make_randomizer(
                n_leaves, len(rows.classes), rows.rows_per_unit, n_used, rows.n_public
            )
            return variance_per_row(randomizer, n_used)

        epsilon = check_epsilon(self.epsilon)
        inputs = DepthInputs(partition, rule, n_used, rows.n_public, epsilon, variance)
        depth = pruning_method(self.prune).choose_depth(inputs)
        if not rows.n_public and n_used < LEAST_INFORMATION * variance(2):
            return 0
        # Offsets from a model need fewer leaves than a tree that stands by itself.
        return max(depth - 1, 1) if with_model else depth

    def _describe_spending(
        self,
        design: TreeDesign,
        n_used: int,
        grouped: bool,
        leaks: list[str],
        *,
        source: Any,
        deployment: Any,
    ) -> PrivacySpent:
        """Return the statement on a release about n_used private rows."""
        randomizer = design.randomizer
        public = ["public rows with their labels"] if design.n_public else []
        with_model = design.first_phase is None and (design.public_model or design.leaf_model) is not None
        # Without public rows a model is that of the first phase: released, and paid for.
        with_model = with_model and design.first_phase is None
        public += ["a model fitted to the public rows"] if with_model else []
        return PrivacySpent(
            mechanism=design.describe_mechanism(),
            epsilon=randomizer.epsilon,
            relation=randomizer.relation,  # type: ignore[arg-type]
            unit="group" if grouped else "row",
            max_rows_per_unit=self.max_rows_per_group if grouped else 1,
            sensitivity=randomizer.sensitivity,
            noise_scale=randomizer.noise_scale,
            noise_source=source,
            deployment=deployment,
            public_inputs=(*public, *name_inputs(self, _PUBLIC_INPUTS)),
            unprotected=self._unprotected(design, n_used, grouped),
            **claim_of(leaks, source, self, _PUBLIC_INPUTS),
        )

    def _unprotected(self, design: TreeDesign, n_used: int, grouped: bool) -> dict[str, Any]:
        protected = self._inputs_to_declare()
        sources = {}
        for name in _INPUTS_OF_ROWS:
            if name == "bounds" and self.domain is not None:
                sources[name] = "declared by the domain"
            elif getattr(self, name) is not None:
                sources[name] = source_of_input(getattr(self, name))
            elif design.n_public:
                sources[name] = "those of the public rows"
            else:
                sources[name] = "READ FROM PRIVATE ROWS" if name in protected else "those of the rows"
        facts: dict[str, Any] = {
            self._rows_are_called: n_used,
            "public rows": design.n_public,
            "depth": design.partition.max_depth,
            "leaves": design.partition.n_leaves,
            **sources,
        }
        if design.pending is not None:
            # Before they are chosen; a path may end where its box has no width.
            levels = len(design.pending.budget.level_epsilons)
            facts.update({"depth": f"at most {levels}", "leaves": f"at most {2**levels}"})
        if design.first_phase is not None:
            facts["reports that shape the tree"] = design.first_phase.n_reports
            if design.first_phase.counts is None:
                facts.update(dict.fromkeys(("depth", "leaves"), "found from these reports"))
        if "bounds" not in protected:
            facts["features"] = "ALL features of the private rows: only their labels are protected"
        if grouped and design.n_public:
            facts["public rows of a person"] = "used in clear; only the person's private rows are protected"
        return facts

    def roles_for(self, y: Any = None) -> Mapping[str, str]:
        # A pruning method with a depth of its own makes another tree.
        own_depth = self.max_depth == "auto" and pruning_method(self.prune).has_own_depth
        return {**self.declared_roles, "prune": "release"} if own_depth else self.declared_roles

    def _planned_relation(self) -> Relation:
        return "replace-one"

    def planned_cost(self, any_public: bool) -> PlannedCost:
        self._check_parameters()
        return PlannedCost(
            epsilon=check_epsilon(self.epsilon),
            relation=self._planned_relation(),
            leaks=tuple(self._find_leaks(any_public)),
            seeded=self.random_state is not None,
        )

    def post_processed(self, parameters: Mapping[str, Any]) -> Self:
        return self.repruned(**parameters)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = pruning_method(self.prune).several_classes
        return tags
