# SPDX-License-Identifier: BSD-3-Clause
"""Releases of a tree: rounds of noisy sums over a curator's rows, or one report of every client."""

import functools
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._typing import IntArray, Protection, Relation, ReportMechanism
from ..accounting import PrivacySpent
from ..noise._mechanisms import Entropy
from ..partition import DerivedColumns, Partition
from ..randomizers._factory import MECHANISMS
from ..rounds._driver import Round, Rounds, RowsInMemory, drive
from ..rounds._fit import RoundsMixin
from ..rounds._plans.masses import WEIGHT_STEPS, Masses
from ..rounds._schema import RowSchema
from ..rounds._sources import SourceFacts
from ..rounds._tables import TableColumns, count_columns
from ..rounds._task import Plan
from ..utils import check_epsilon
from ..utils._compat import StrOptions
from ._estimator import DEEPEST_COMPLETE, BasePrivateTree
from ._first_phase import FEW_COLUMNS, FirstPhase, PlannedLeaves, draw_part
from ._leaf_estimates import pruning_method
from ._leaf_shares import variance_per_row
from ._plan import DepthInputs, PendingSplits, TreeDesign
from ._public_model import PublicModel
from ._rows import NoisyHistogram, TreeRows
from ._splits import (
    DEFAULT_BINS,
    ORDER_SHARE,
    SPLIT_SHARE,
    ComparedColumns,
    PaidTreeMechanism,
    SplitBudget,
    automatic_levels,
    columns_to_order,
    grow_private_partition,
    most_levels,
)

# Base of the trees of a trusted curator: rounds of noisy sums over the private rows.


class BaseCentralTree(BasePrivateTree, RoundsMixin):
    """A private tree of a trusted curator, who sees the rows and adds noise to sums over them."""

    _deployment = "curator"
    #: Bound on the weight of a row, where an accumulator declares one; None: all rows count alike.
    _max_sample_weight: float | None = None
    #: Private rows times epsilon, for each public row, beyond which private rows choose better splits.
    _rows_for_a_public_row: int

    @abstractmethod
    def _masses(self, classes: NDArray[Any]) -> Masses:
        """Return what a row adds to the cells of its leaf."""

    @abstractmethod
    def _leaf_plan(self, design: TreeDesign) -> Plan:
        """Return what is summed in the leaves."""

    @abstractmethod
    def _no_targets(self) -> NDArray[Any]:
        """Return targets of no rows."""

    @abstractmethod
    def _schema_of_target(self, rows: TreeRows) -> dict[str, Any]:
        """Return how the target of a source is read."""

    def _release(
        self, design: TreeDesign, rows: TreeRows, spent: PrivacySpent, entropy: Entropy
    ) -> tuple[TreeDesign, IntArray]:
        prepared = RowsInMemory(rows.prepare(entropy.random_bytes))
        return drive(self._rounds(design, spent), prepared, entropy, self.charge)

    def _known_columns(self) -> int | None:
        return count_columns(self._declared_bounds) if self.domain is None else len(self.domain.names)

    def _open_source(
        self, columns: TableColumns, facts: SourceFacts, public: Any
    ) -> tuple[RowSchema, Callable[[str], Rounds[None]]]:
        self._check_parameters()
        missing = self._find_leaks(public is not None)
        if missing:
            raise ValueError("a source is not read for bounds or classes: declare them, or pass public rows.")
        facts.require_target()
        facts.name_columns(self)
        self.name_columns()
        grouped = columns.group is not None
        rows: TreeRows = self._public_rows(public, facts, self.max_rows_per_group if grouped else 1)
        self.check_public(facts.shape(grouped, None if public is None else public[1]))
        n_used = facts.n_units * rows.rows_per_unit
        design = self._design(rows, n_used)
        schema = RowSchema(
            columns=columns,
            n_features=rows.X.shape[1],
            domain=self.domain,
            lower=rows.bounds[0],
            upper=rows.bounds[1],
            strict=self.is_strict(),
            max_rows_per_unit=rows.rows_per_unit if grouped else None,
            **self._schema_of_target(rows),
        )
        return schema, functools.partial(self._rounds_of_source, design, n_used, grouped)

    def _rounds_of_source(
        self, design: TreeDesign, n_used: int, grouped: bool, noise_source: str
    ) -> Rounds[None]:
        spent = self._describe_spending(
            design, n_used, grouped, [], source=noise_source, deployment=self._deployment
        )
        design, counts = yield from self._rounds(design, spent)
        self._adopt(design, counts, n_used, spent)

    def _rounds(self, design: TreeDesign, spent: PrivacySpent) -> Rounds[tuple[TreeDesign, IntArray]]:
        """Yield the rounds of a fit: those that choose splits, where they are paid for, and the counts."""
        paid: PrivacySpent | None = spent
        if design.pending is not None:
            design, paid = yield from self._choose_splits(design, design.pending, spent)
        counts = yield Round(self._leaf_plan(design), design.randomizer, paid)  # type: ignore[arg-type]
        return design, counts

    def _choose_splits(
        self, design: TreeDesign, pending: PendingSplits, spent: PrivacySpent
    ) -> Rounds[tuple[TreeDesign, PrivacySpent | None]]:
        """Yield rounds for bounds of numbers and for an order of levels, and one for every level of splits.

        The first two only where they are paid for. Returned is the design with the leaves, and what is still
        to be charged: all of it where there was no round, as the box is a point.
        """
        budget = pending.budget
        paid: PrivacySpent | None = spent
        if budget.target is not None:
            counts = yield Round(self._target_plan(design), budget.target, paid)
            design, paid = self._with_narrow_bounds(design, counts, budget.target), None
            assert design.pending is not None
            pending = design.pending
        masses = self._masses(design.classes).for_splits()
        lower, upper = design.bounds
        derived: DerivedColumns | None = None
        n_bins: tuple[int, ...] = (DEFAULT_BINS,) * len(lower)
        if budget.columns is not None:
            places: dict[int, IntArray] = {}
            if budget.order is not None:
                plan = budget.columns.plan(masses)
                noisy = yield Round(plan, budget.order, paid)
                public = np.concatenate([pending.votes.sum_by(axis) for axis in plan.axes])
                places = budget.columns.places(noisy / masses.total, budget.order.variance, public)
                paid = None
            derived, lower, upper = budget.columns.derive(lower, upper, places)
            n_bins = budget.columns.n_bins
        partition = yield from grow_private_partition(
            lower, upper, masses, budget.level_epsilons, budget.rows_per_unit, n_bins, paid, derived
        )
        leaves = self._leaf_noise(budget, partition.n_leaves, len(design.classes))
        scales = tuple(float(2 * budget.rows_per_unit / epsilon) for epsilon in budget.level_epsilons)
        design = replace(design, split_scales=scales, n_candidates=sum(n_bins) - len(n_bins))
        whole = design.with_leaves(partition, leaves, pending.votes)
        return whole, paid if partition.n_leaves == 1 else None

    def _target_plan(self, design: TreeDesign) -> Plan:
        """Return what is counted of numbers before their bounds are narrowed."""
        raise NotImplementedError

    def _with_narrow_bounds(self, design: TreeDesign, counts: IntArray, noise: NoisyHistogram) -> TreeDesign:
        """Return the design with narrower bounds of numbers."""
        raise NotImplementedError

    def _n_target_bins(self) -> int:
        """Return the number of bins by which bounds of numbers are narrowed; 0: they are not."""
        return 0

    def _design(self, rows: TreeRows, n_used: int) -> TreeDesign:
        n_labels = len(rows.classes)
        pruning_method(self.prune).check_classes(n_labels)
        budget = self._budget_of_splits(n_used, rows.n_public, rows.rows_per_unit, rows.X.shape[1], n_labels)
        if budget is None:
            return super()._design(rows, n_used)
        model = self._fit_public_model(rows.votes, rows.classes)
        return self._design_to_split(rows, PendingSplits(budget, rows.votes), model)

    def _design_to_split(
        self, rows: TreeRows, pending: PendingSplits, model: PublicModel | None
    ) -> TreeDesign:
        """Make what is public before private rows choose the splits: the root."""
        n_labels, root = len(rows.classes), Partition.from_splits([-1], [], *rows.bounds)
        budget = pending.budget
        design = TreeDesign(
            partition=root,
            randomizer=PaidTreeMechanism(budget, self._leaf_noise(budget, 1, n_labels)),
            classes=rows.classes,
            bounds=rows.bounds,
            rule="private",
            public_counts=np.zeros((1, n_labels), dtype=np.int64),
            feature_names=self.names_of_features(),
            pending=pending,
            public_model=model,
            cells=self._cells(),
        )
        # Public rows are counted for the statement, and where there are too few rows for a split.
        counted = design.with_leaves(root, self._leaf_noise(budget, 1, n_labels), pending.votes)
        if not budget.level_epsilons:
            return counted
        return replace(counted, randomizer=design.randomizer, pending=pending)

    def _budget_of_splits(
        self, n_rows: int, n_public: int, rows_per_unit: int, n_features: int | None, n_labels: int
    ) -> SplitBudget | None:
        """Return how epsilon is divided where private rows choose splits; None where they do not."""
        own_depth = self.max_depth == "auto" and pruning_method(self.prune).has_own_depth
        epsilon = check_epsilon(self.epsilon)
        automatic = self.split_share == "auto"
        worth_it = n_rows * epsilon > self._rows_for_a_public_row * rows_per_unit * n_public
        if self.rule == "random" or self.split_share == 0 or own_depth or (automatic and not worth_it):
            return None
        share = SPLIT_SHARE if automatic else Fraction(float(self.split_share))
        columns = None
        if self.domain is not None:
            groups = self.domain.groups
            ordered = columns_to_order(groups, epsilon * share * ORDER_SHARE, n_rows, rows_per_unit)
            columns = ComparedColumns(groups, ordered, n_labels)
        # How many columns there are is not known yet where steps in front make them.
        n_bins = (DEFAULT_BINS,) * (n_features or 1) if columns is None else columns.n_bins
        wanted = automatic_levels(n_rows, epsilon, rows_per_unit)
        wanted = wanted if self.max_depth == "auto" else self._check_depth(n_public)
        n_levels = min(wanted, most_levels(n_bins, n_labels), DEEPEST_COMPLETE)
        # What a row adds does not depend on what the target is, but for its kind.
        total = self._masses(np.arange(2.0)).for_splits().total
        target = self._n_target_bins()
        return SplitBudget.divide(epsilon, share, n_levels, rows_per_unit, columns, total, target)

    def _leaf_noise(self, budget: SplitBudget, n_cells: int, n_labels: int) -> NoisyHistogram:
        return self._make_leaves(budget.leaf_epsilon, n_cells, n_labels, budget.rows_per_unit)

    def _make_leaves(
        self, epsilon: float | Fraction, n_cells: int, n_labels: int, rows_per_unit: int
    ) -> NoisyHistogram:
        """Return the noise of the leaves' counts at an epsilon."""
        return self._noisy_sums(epsilon, n_cells, n_labels, rows_per_unit)

    def _noisy_sums(
        self, epsilon: float | Fraction, n_cells: int, n_labels: int, rows_per_unit: int, total: int = 1
    ) -> NoisyHistogram:
        """Return the noise of sums to which a row adds so much, times its steps where rows have weights."""
        steps = self._largest_steps()
        return NoisyHistogram(
            epsilon, n_cells, n_labels, rows_per_unit, total * steps, self._max_sample_weight
        )

    def _largest_steps(self) -> int:
        return 1 if self._max_sample_weight is None else WEIGHT_STEPS

    def _make_randomizer(
        self, n_cells: int, n_labels: int, rows_per_unit: int, n_rows: int = 0, n_public: int = 0
    ) -> NoisyHistogram:
        return self._make_leaves(self.epsilon, n_cells, n_labels, rows_per_unit)


# Base of the locally private trees: every private row sends one report of its leaf and label.

LOCAL_CONSTRAINTS: dict[str, list[Any]] = {
    "mechanism": [StrOptions({"auto", *MECHANISMS})],
    "protect": [StrOptions({"record", "label"})],
}
LOCAL_ROLES = {"mechanism": "release", "protect": "release"}

# Below it the noise of a report's estimate passes what doubles tell from their square.
_LEAST_EPSILON = Fraction(1, 10**6)


class BaseLocalTree(BasePrivateTree):
    """A locally private tree, fitted to rows that this process holds: a simulation of their reports."""

    mechanism: ReportMechanism
    protect: Protection

    _deployment = "simulated"
    _rows_are_called = "reports"

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.max_rows_per_group != 1:
            raise ValueError("max_rows_per_group must be 1: a client sends one report, of one of its rows.")
        if self.protect == "label" and self.mechanism not in ("auto", "krr"):
            raise ValueError('protect="label" sends the label by randomised response: pass mechanism="auto".')

    def _inputs_to_declare(self) -> tuple[str, ...]:
        # Where only labels are protected, bounds may be read from the features of any row.
        inputs = super()._inputs_to_declare()
        return inputs if self.protect == "record" else (self._target_parameter,)

    def _planned_relation(self) -> Relation:
        return "label" if self.protect == "label" else "local"

    def _design(self, rows: TreeRows, n_used: int) -> TreeDesign:
        first = None if rows.n_public else self._plan_first_phase(rows, n_used)
        if first is None:
            return super()._design(rows, n_used)
        return TreeDesign(
            partition=Partition.from_splits([-1], [], *rows.bounds),
            randomizer=PlannedLeaves(first, self.mechanism),
            classes=rows.classes,
            bounds=rows.bounds,
            rule="cart",
            public_counts=np.zeros((1, len(rows.classes)), dtype=np.int64),
            feature_names=self.names_of_features(),
            first_phase=first,
            cells=self._cells(),
        )

    def _plan_first_phase(self, rows: TreeRows, n_clients: int) -> FirstPhase | None:
        """Return what the clients that shape the tree are asked; None where none do."""
        own_depth = self.max_depth == "auto" and pruning_method(self.prune).has_own_depth
        groups = () if self.domain is None else self.domain.groups
        few = (len(groups) or len(rows.bounds[0])) <= FEW_COLUMNS
        # Halving levels in the order in which they are declared parts them at random.
        halved = self.split_share == "auto" and few and all(group.n_levels < 3 for group in groups)
        if halved or self.rule == "random" or self.protect == "label" or own_depth or self.split_share == 0:
            return None
        self._check_depth(0)
        pruning_method(self.prune).check_classes(len(rows.classes))
        epsilon, n_labels = check_epsilon(self.epsilon), len(rows.classes)
        first = FirstPhase.plan(epsilon, self.split_share, n_clients, n_labels, rows.bounds, groups)
        if first is not None:
            if epsilon < _LEAST_EPSILON:
                raise ValueError("epsilon is too small for two phases: pass split_share=0.")
            # What the second phase refuses is to be heard of before anything is charged.
            self._make_randomizer(2 if self.max_depth == "auto" else 2**self.max_depth, n_labels, 1)
        return first

    def _shape_by_reports(self, design: TreeDesign, first: FirstPhase, n_clients: int) -> TreeDesign:
        """Return the design whose leaves follow from the reports of the first phase; n_clients fill them."""
        model, n_labels = first.fit_model(self.partition_seed), len(design.classes)
        partition = first.grow(model, self._check_depth(0), self.criterion, self.min_samples_leaf)
        if self.max_depth == "auto":

            def variance(n_leaves: int) -> float:
                randomizer = self._make_randomizer(n_leaves, n_labels, 1)
                return variance_per_row(randomizer, n_clients, self._cells()) / self._usual_variance(None)

            epsilon = check_epsilon(self.epsilon)
            inputs = DepthInputs(partition, design.rule, n_clients, 0, epsilon, variance)
            partition = partition.truncate(pruning_method(self.prune).choose_depth(inputs))
        shaped = replace(design, first_phase=first, public_model=model)
        randomizer = self._make_randomizer(partition.n_leaves, n_labels, 1)
        return shaped.with_leaves(partition, randomizer, None)

    @abstractmethod
    def _draw_labels(self, rows: TreeRows, numbers: IntArray, n_labels: int, entropy: Entropy) -> IntArray:
        """Return the label that each of these rows reports about, 0 to n_labels - 1."""

    def _release(
        self, design: TreeDesign, rows: TreeRows, spent: PrivacySpent, entropy: Entropy
    ) -> tuple[TreeDesign, IntArray]:
        # Reports are drawn row by row: no round of sums, although what is released is a sum of them.
        first = design.first_phase
        leaves = design.partition.apply(rows.X) if first is None else None
        self.charge(spent)
        kept = rows.prepare(entropy.random_bytes).kept
        everyone = np.arange(len(rows.X))
        numbers = everyone if kept is None else everyone[kept]
        # Drawn before any report, so that what was released changes no rounding.
        n_labels = len(design.classes) if design.cells is None else design.cells.n_cells
        labels = self._draw_labels(rows, numbers, n_labels, entropy)
        if first is not None:
            design, others = self._release_first(design, first, rows, numbers, entropy)
            numbers, labels = numbers[others], labels[others]
        leaves = design.partition.apply(rows.X) if leaves is None else leaves
        categories = n_labels * leaves[numbers].astype(np.int64) + labels
        return design, design.randomizer.simulate(categories, entropy)

    def _release_first(
        self, design: TreeDesign, first: FirstPhase, rows: TreeRows, numbers: IntArray, entropy: Entropy
    ) -> tuple[TreeDesign, IntArray]:
        """Draw the reports of the first phase; return the design that they shape, and who did not report."""
        own, others = draw_part(len(numbers), first.n_reports, entropy)
        own = numbers[own]
        labels = self._draw_labels(rows, own, first.randomizer.n_labels, entropy)
        first = first.simulate(rows.X[own], labels, entropy)
        return self._shape_by_reports(design, first, len(others)), others
