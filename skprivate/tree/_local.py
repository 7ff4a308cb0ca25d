# SPDX-License-Identifier: BSD-3-Clause
"""Base of the locally private trees: every private row sends one report of its leaf and label."""

from abc import abstractmethod
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from .._typing import IntArray, Protection, Relation, ReportMechanism
from ..accounting import PrivacySpent
from ..noise._entropy import Entropy
from ..partition import Partition
from ..randomizers._factory import MECHANISMS
from ..utils import check_epsilon
from ..utils._compat import StrOptions
from ._base import BasePrivateTree
from ._estimation.depth import DepthInputs
from ._estimation.leaf_counts import variance_per_row
from ._estimation.leaf_estimates import pruning_method
from ._growth.first_phase import FEW_COLUMNS, FirstPhase, PlannedLeaves, draw_part
from ._tree_design import TreeDesign
from ._tree_rows import TreeRows

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
