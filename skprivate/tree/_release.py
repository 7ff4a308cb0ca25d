# SPDX-License-Identifier: BSD-3-Clause
"""Releases of a tree: rounds of noisy sums over a curator's rows, or one report of every client."""

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._typing import IntArray
from ..accounting import PrivacySpent
from ..noise._mechanisms import Entropy
from ..partition import DerivedColumns, Partition
from ..randomizers._factory import MECHANISMS
from ..rounds._driver import Round, Rounds
from ..rounds._plans.cells import CellsPlan, LabelAxis, LeafAxis, TargetAxis
from ..rounds._plans.masses import NUMBER_BITS, WEIGHT_STEPS, LabelMasses, Masses, MassesPlan, NumberMasses
from ..rounds._task import Plan
from ..utils import check_epsilon
from ..utils._compat import StrOptions
from ._first_phase import FEW_COLUMNS, FirstPhase, PlannedLeaves, draw_part
from ._leaf_estimates import pruning_method
from ._plan import DEEPEST_COMPLETE, PendingSplits, TreeDesign
from ._public_model import PublicModel
from ._rows import NoisyHistogram, NumberCells, TreeRows
from ._splits import (
    DEFAULT_BINS,
    N_BINS,
    ORDER_SHARE,
    SPLIT_SHARE,
    ComparedColumns,
    PaidTreeMechanism,
    SplitBudget,
    automatic_levels,
    columns_to_order,
    grow_private_partition,
    most_levels,
    narrow_bounds,
)

# Steps of a target between its bounds, log2: sums of squares of 2^32 rows fit 64 bits. The mean of n equal
# targets is rounded by at most 2^-16 of the width, less than the noise's standard deviation, some
# 2 / (n epsilon) of it, up to n epsilon = 2^17.
_BITS = 15

LOCAL_CONSTRAINTS: dict[str, list[Any]] = {
    "mechanism": [StrOptions({"auto", *MECHANISMS})],
    "protect": [StrOptions({"record", "label"})],
}
LOCAL_ROLES = {"mechanism": "release", "protect": "release"}
# Below it the noise of a report's estimate passes what doubles tell from their square.
_LEAST_EPSILON = Fraction(1, 10**6)


# A curator's rows: rounds of noisy sums.


@dataclass(frozen=True)
class LeafSums:
    """What a curator sums in the leaves of a tree.

    Attributes
    ----------
    cells : NumberCells or None
        The cells that a number is divided among; None: rows are counted by label.
    narrows : bool
        Whether bounds of numbers are narrowed where splits are paid for: a public model speaks of shares of
        the declared width.
    max_weight : float or None
        Bound on the weight of a row; None: all rows count alike.
    """

    cells: NumberCells | None
    narrows: bool
    max_weight: float | None

    @property
    def _steps(self) -> int:
        return 1 if self.max_weight is None else WEIGHT_STEPS

    @property
    def n_target_bins(self) -> int:
        """Number of bins by which bounds of numbers are narrowed; 0: they are not."""
        return N_BINS if self.cells is not None and self.narrows else 0

    def masses(self, classes: NDArray[Any]) -> LabelMasses | NumberMasses:
        """Return what a row adds to the cells of its leaf."""
        if self.cells is None:
            return LabelMasses(len(classes), self._steps)
        low, high = (float(bound) for bound in classes)
        # Steps of weights take the room of the finer steps of targets.
        bits = _BITS if self.max_weight is None else NUMBER_BITS
        return NumberMasses(low / 2 + high / 2, high / 2 - low / 2, bits, largest=self._steps)

    def plan(self, design: TreeDesign) -> Plan:
        """Return what is summed in the leaves."""
        if self.cells is None and self.max_weight is None:
            return CellsPlan(((LeafAxis(design.partition), LabelAxis(len(design.classes))),))
        return MassesPlan.of_leaves(design.partition, self.masses(design.classes))

    def noise(
        self, epsilon: float | Fraction, n_cells: int, n_labels: int, rows_per_unit: int
    ) -> NoisyHistogram:
        """Return the noise of these sums at an epsilon."""
        total = 1
        if self.cells is not None:
            # What a row adds does not depend on the bounds of numbers.
            masses = self.masses(np.arange(2.0))
            n_labels, total = masses.n_cells, masses.total
        return NoisyHistogram(epsilon, n_cells, n_labels, rows_per_unit, total * self._steps, self.max_weight)


def divide_budget(
    tree: Any, n_rows: int, n_public: int, rows_per_unit: int, n_features: int | None, n_labels: int
) -> SplitBudget | None:
    """Return how epsilon is divided where a curator's rows choose splits; None where they do not."""
    if tree._deployment != "curator":
        return None
    own_depth = tree.max_depth == "auto" and pruning_method(tree.prune).has_own_depth
    epsilon = check_epsilon(tree.epsilon)
    automatic = tree.split_share == "auto"
    worth_it = n_rows * epsilon > tree._rows_for_a_public_row * rows_per_unit * n_public
    if tree.rule == "random" or tree.split_share == 0 or own_depth or (automatic and not worth_it):
        return None
    share = SPLIT_SHARE if automatic else Fraction(float(tree.split_share))
    columns = None
    if tree.domain is not None:
        groups = tree.domain.groups
        ordered = columns_to_order(groups, epsilon * share * ORDER_SHARE, n_rows, rows_per_unit)
        columns = ComparedColumns(groups, ordered, n_labels)
    # How many columns there are is not known yet where steps in front make them.
    n_bins = (DEFAULT_BINS,) * (n_features or 1) if columns is None else columns.n_bins
    wanted = automatic_levels(n_rows, epsilon, rows_per_unit)
    wanted = wanted if tree.max_depth == "auto" else tree._check_depth(n_public)
    n_levels = min(wanted, most_levels(n_bins, n_labels), DEEPEST_COMPLETE)
    sums = tree._sums
    # What a row adds does not depend on what the target is, but for its kind.
    total = sums.masses(np.arange(2.0)).for_splits().total
    return SplitBudget.divide(epsilon, share, n_levels, rows_per_unit, columns, total, sums.n_target_bins)


def design_paid_splits(
    tree: Any, rows: TreeRows, budget: SplitBudget, model: PublicModel | None
) -> TreeDesign:
    """Make what is public before private rows choose the splits: the root."""
    root = Partition.from_splits([-1], [], *rows.bounds)
    leaf = tree._sums.noise(budget.leaf_epsilon, 1, len(rows.classes), budget.rows_per_unit)
    design: TreeDesign = tree._begin(rows, root, leaf, "private", public_model=model)
    # Public rows are counted for the statement, and where there are too few rows for a split.
    design = design.with_leaves(root, leaf, rows.votes)
    if not budget.level_epsilons:
        return design
    pending = PendingSplits(budget, rows.votes)
    return replace(design, randomizer=PaidTreeMechanism(budget, leaf), pending=pending)


def sum_in_rounds(
    design: TreeDesign, spent: PrivacySpent, sums: LeafSums
) -> Rounds[tuple[TreeDesign, IntArray]]:
    """Yield the rounds of a fit: those that choose splits, where they are paid for, and the sums."""
    paid: PrivacySpent | None = spent
    if design.pending is not None:
        design, paid = yield from _choose_splits(design, design.pending, spent, sums)
    counts = yield Round(sums.plan(design), design.randomizer, paid)  # type: ignore[arg-type]
    return design, counts


def _choose_splits(
    design: TreeDesign, pending: PendingSplits, spent: PrivacySpent, sums: LeafSums
) -> Rounds[tuple[TreeDesign, PrivacySpent | None]]:
    """Yield rounds for bounds of numbers and for an order of levels, and one for every level of splits.

    The first two only where they are paid for. Returned is the design with the leaves, and what is still
    to be charged: all of it where there was no round, as the box is a point.
    """
    budget, votes = pending.budget, pending.votes
    paid: PrivacySpent | None = spent
    if budget.target is not None:
        declared = sums.masses(design.classes)
        assert isinstance(declared, NumberMasses)
        axis = TargetAxis(declared.center, declared.half, N_BINS)
        counts = yield Round(CellsPlan(((axis,),)), budget.target, paid)
        narrow = narrow_bounds(counts, budget.target, design.classes)
        votes = votes.within(design.classes, narrow)
        design, paid = replace(design, classes=narrow, declared=design.classes), None
    masses: Masses = sums.masses(design.classes).for_splits()
    lower, upper = design.bounds
    derived: DerivedColumns | None = None
    n_bins: tuple[int, ...] = (DEFAULT_BINS,) * len(lower)
    if budget.columns is not None:
        places: dict[int, IntArray] = {}
        if budget.order is not None:
            plan = budget.columns.plan(masses)
            noisy = yield Round(plan, budget.order, paid)
            public = np.concatenate([votes.sum_by(axis) for axis in plan.axes])
            places = budget.columns.places(noisy / masses.total, budget.order.variance, public)
            paid = None
        derived, lower, upper = budget.columns.derive(lower, upper, places)
        n_bins = budget.columns.n_bins
    partition = yield from grow_private_partition(
        lower, upper, masses, budget.level_epsilons, budget.rows_per_unit, n_bins, paid, derived
    )
    leaves = sums.noise(budget.leaf_epsilon, partition.n_leaves, len(design.classes), budget.rows_per_unit)
    scales = tuple(float(2 * budget.rows_per_unit / epsilon) for epsilon in budget.level_epsilons)
    design = replace(design, split_scales=scales, n_candidates=sum(n_bins) - len(n_bins))
    return design.with_leaves(partition, leaves, votes), paid if partition.n_leaves == 1 else None


# Clients: one report each, here simulated.


def plan_first_phase(tree: Any, rows: TreeRows, n_clients: int) -> TreeDesign | None:
    """Return the design of a tree that a share of the clients will shape; None where none do."""
    own_depth = tree.max_depth == "auto" and pruning_method(tree.prune).has_own_depth
    groups = () if tree.domain is None else tree.domain.groups
    few = (len(groups) or len(rows.bounds[0])) <= FEW_COLUMNS
    # Halving levels in the order in which they are declared parts them at random.
    halved = tree.split_share == "auto" and few and all(group.n_levels < 3 for group in groups)
    if halved or tree.rule == "random" or tree.protect == "label" or own_depth or tree.split_share == 0:
        return None
    tree._check_depth(0)
    pruning_method(tree.prune).check_classes(len(rows.classes))
    epsilon, n_labels = check_epsilon(tree.epsilon), len(rows.classes)
    first = FirstPhase.plan(epsilon, tree.split_share, n_clients, n_labels, rows.bounds, groups)
    if first is None:
        return None
    if epsilon < _LEAST_EPSILON:
        raise ValueError("epsilon is too small for two phases: pass split_share=0.")
    # What the second phase refuses is to be heard of before anything is charged.
    tree._make_randomizer(2 if tree.max_depth == "auto" else 2**tree.max_depth, n_labels, 1)
    root = Partition.from_splits([-1], [], *rows.bounds)
    leaves = PlannedLeaves(first, tree.mechanism)
    design: TreeDesign = tree._begin(rows, root, leaves, "cart", first_phase=first)
    return design


def shape_by_reports(tree: Any, design: TreeDesign, first: FirstPhase, n_clients: int) -> TreeDesign:
    """Return the design whose leaves follow from the reports of the first phase; n_clients fill them."""
    model, n_labels = first.fit_model(tree.partition_seed), len(design.classes)
    partition = first.grow(model, tree._check_depth(0), tree.criterion, tree.min_samples_leaf)
    if tree.max_depth == "auto":
        inputs = tree._depth_inputs(partition, design.rule, None, n_clients, n_labels)
        partition = partition.truncate(pruning_method(tree.prune).choose_depth(inputs))
    randomizer = tree._make_randomizer(partition.n_leaves, n_labels, 1)
    shaped = replace(design, first_phase=first, public_model=model)
    return shaped.with_leaves(partition, randomizer, None)


def collect_reports(
    tree: Any, design: TreeDesign, rows: TreeRows, spent: PrivacySpent, entropy: Entropy
) -> tuple[TreeDesign, IntArray]:
    """Charge the cost and draw every client's report; return the finished design and the leaves' counts."""
    # Reports are drawn row by row: no round of sums, although what is released is a sum of them.
    first = design.first_phase
    leaves = design.partition.apply(rows.X) if first is None else None
    tree.charge(spent)
    kept = rows.prepare(entropy.random_bytes).kept
    everyone = np.arange(len(rows.X))
    numbers = everyone if kept is None else everyone[kept]
    # Drawn before any report, so that what was released changes no rounding.
    n_labels = len(design.classes) if design.cells is None else design.cells.n_cells
    labels = tree._draw_labels(rows, numbers, n_labels, entropy)
    if first is not None:
        own, others = draw_part(len(numbers), first.n_reports, entropy)
        own = numbers[own]
        own_labels = tree._draw_labels(rows, own, first.randomizer.n_labels, entropy)
        first = first.simulate(rows.X[own], own_labels, entropy)
        design = shape_by_reports(tree, design, first, len(others))
        numbers, labels = numbers[others], labels[others]
    leaves = design.partition.apply(rows.X) if leaves is None else leaves
    categories = n_labels * leaves[numbers].astype(np.int64) + labels
    return design, design.randomizer.simulate(categories, entropy)
