# SPDX-License-Identifier: BSD-3-Clause
"""Design and release of a tree: public facts, then a curator's noisy sums or the clients' reports."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._typing import FloatArray, IntArray
from ..accounting import PrivacySpent, ReleaseRecord
from ..accounting._statements.spent import source_of_input
from ..noise._mechanisms import Entropy
from ..partition import DerivedColumns, Partition
from ..randomizers import LocalRandomizer
from ..rounds._driver import Round, Rounds
from ..rounds._plans.cells import CellsPlan, LabelAxis, LeafAxis, TargetAxis
from ..rounds._plans.masses import NUMBER_BITS, WEIGHT_STEPS, LabelMasses, Masses, MassesPlan, NumberMasses
from ..rounds._task import Plan
from ..utils import check_epsilon
from ..utils._public_module import public_module
from ._public_model import LeafModel, PublicModel
from ._rows import NoisyHistogram, NumberCells, PublicVotes, TreeRows, usual_variance
from ._splits import (
    DEFAULT_BINS,
    N_BINS,
    ORDER_SHARE,
    SPLIT_SHARE,
    ComparedColumns,
    PrivateSplitsMechanism,
    SplitBudget,
    automatic_levels,
    columns_to_order,
    grow_private_partition,
    most_levels,
    narrow_bounds,
)
from ._splits_by_clients import FEW_COLUMNS, FirstPhase, PlannedLeaves, draw_part

# Choice of the depth of a tree: the largest depth whose leaves a release can estimate.

#: Deepest tree that the automatic rule considers.
DEEPEST = 12
#: Deepest tree without public rows, in which every cell is split: 2^16 leaves.
DEEPEST_COMPLETE = 16
#: Without public rows there is no split if the number of rows, over the variance of one row's report about
# half of them, is below this: the standard deviation of a share in each half is then above 0.2.
LEAST_INFORMATION = 24
# Smallest average number of private rows in a leaf, whatever the noise; compared with 8 in
# benchmarks/figures/trees/depth_and_weight.py.
_LEAST_ROWS_OF_A_LEAF = 16


def deepest_to_grow(n_rows: int, variance: Callable[[int], float] | None = None) -> int:
    """Return an upper bound on the depth that `choose_depth` can choose.

    Parameters
    ----------
    n_rows : int
        Number of private rows.
    variance : callable, default=None
        As in `choose_depth`; None: the tree is complete, and has 2^p leaves at depth p.

    Returns
    -------
    depth : int
        From 1 to 12.
    """
    most = min(max(n_rows // _LEAST_ROWS_OF_A_LEAF, 2), 2**DEEPEST)
    if variance is None:
        return most.bit_length() - 1
    # The variance rises or falls with the number of leaves, except for a choice among mechanisms that differ
    # by 5 %. One level is added for that; it corresponds to a factor of 8.
    signal = math.log2(max(n_rows, 1) / min(variance(2), variance(most)))
    return min(max(math.floor(signal / 3 + 0.5) + 1, 1), DEEPEST)


def choose_depth(
    n_rows: int, leaf_counts: IntArray, variance: Callable[[int], float], n_features: int | IntArray = 2
) -> int:
    """Return the largest depth p in 1..12 whose leaves n rows suffice to estimate.

    The largest p with ``p <= round(log2(2 n / (d v(p))) / 3)`` and with at least 16 rows a leaf on average; 1
    if there is none. Here v(p) is the variance of one row's report about a leaf of the depth-p partition. The
    second condition matters only if v is very small, as for a trusted curator, so that only sampling limits
    the depth. A single split cannot find an interaction, so a plain number of features is ignored up to depth
    2.

    Parameters
    ----------
    n_rows : int
        Number of private rows.
    leaf_counts : ndarray of int of shape (max_depth + 1,)
        Number of leaves of the partition at every depth.
    variance : callable
        v as a function of the number of leaves.
    n_features : int or ndarray of int of shape (max_depth + 1,), default=2
        Number of features d: all columns, or those that the partition has split down to every depth. A number
        below 2 counts as 2.

    Returns
    -------
    depth : int
    """
    deepest = min(DEEPEST, len(leaf_counts) - 1)
    depths = np.arange(len(leaf_counts))
    divided = np.where(depths > 2, n_features, 2) if np.ndim(n_features) == 0 else np.asarray(n_features)
    features = np.log2(np.maximum(divided, 2) / 2)
    for depth in range(deepest, 1, -1):
        if _LEAST_ROWS_OF_A_LEAF * leaf_counts[depth] > n_rows:
            continue
        signal = math.log2(n_rows / variance(int(leaf_counts[depth]))) - features[depth]
        if depth <= math.floor(signal / 3 + 0.5):
            return depth
    return min(1, deepest)


def count_split_features(partition: Partition, rule: str) -> int | IntArray:
    """Return the number of features among which the leaves are divided, for `choose_depth`.

    "cart" and "private" do not split features without an effect. For them the features count that they have
    split down to every depth. The other rules take all columns in turn.
    """
    if rule in ("cart", "private"):
        return partition.feature_counts_by_depth()
    return len(set(partition.source[partition.lower < partition.upper].tolist()))


# Slope of public rows: how much of the differences between leaves other public rows confirm.

# Number of folds of the public rows, each of which is predicted from the others.
_FOLDS = 5
# Fewer rows cannot confirm each other.
_LEAST_ROWS_OF_THE_FOLDS = 2 * _FOLDS


def slope_of_public_rows(grow: Callable[..., Partition], votes: PublicVotes, depth: int) -> float:
    """Return how much of the differences between leaves, apart from sampling, other public rows confirm.

    A tree that was grown on labels also fits their noise: shares in its leaves differ from the base rate by
    more than sampling explains. Rows are put into folds by their position, and each fold is predicted by a
    partition of the other rows. The slope of its labels on the predicted shares is divided by the slope that
    sampling alone would leave. The result is a function of public rows alone.

    Parameters
    ----------
    grow : callable
        Grows a partition on rows and labels to a ``max_depth``.
    votes : PublicVotes
        Public rows.
    depth : int
        Depth of the partitions.

    Returns
    -------
    slope : float
        From 0 to 1; 1 if there are fewer than 10 rows.
    """
    if votes.n_rows < _LEAST_ROWS_OF_THE_FOLDS:
        return 1.0
    product = square = sampled = 0.0
    for fold in range(_FOLDS):
        held = np.arange(votes.n_rows) % _FOLDS == fold
        others, tested = votes.where(~held), votes.where(held)
        partition = grow(others.X, others.labels, max_depth=depth)
        counts = others.count(partition)
        base = counts.sum(axis=0) / counts.sum()
        rows = counts.sum(axis=1)
        fitted = (counts - rows[:, np.newaxis] * base) / (rows[:, np.newaxis] + 1.0)
        found = tested.count(partition)
        leaf_rows = found.sum(axis=1)
        product += float(np.sum((found - leaf_rows[:, np.newaxis] * base) * fitted))
        square += float(leaf_rows @ np.sum(fitted**2, axis=1))
        sampled += others.row_variance(partition) * float(leaf_rows @ _sampling(counts, base))
    # With little information the slope is near 1: the product's noise is added to numerator and denominator.
    noise = np.sqrt(square * np.mean(base * (1 - base)))
    return float(np.clip((product + noise) / max(max(square - sampled, 0.0) + noise, 1e-300), 0.0, 1.0))


def _sampling(counts: IntArray | FloatArray, base: FloatArray) -> FloatArray:
    """Return the part of sampling in the squared differences of shares in leaves, with a pseudo-row each."""
    rows = counts.sum(axis=1)
    shares = (counts + base) / (rows[:, np.newaxis] + 1.0)
    return rows / (rows + 1.0) ** 2 * (1.0 - np.sum(shares**2, axis=1))


# Design of a tree: partition, release mechanism, classes, bounds and public counts.


# A mechanism that releases counts of the private rows by leaf and label. Those of a curator and of planned
# releases have the members of a `LocalRandomizer`, where these are described.
ReleaseMechanism = LocalRandomizer | NoisyHistogram | PrivateSplitsMechanism | PlannedLeaves


@public_module("skprivate.tree")
@dataclass(frozen=True, eq=False)
class TreeDesign:
    """The public side of a private tree: partition, randomizer, classes and public counts.

    Attributes
    ----------
    partition : Partition
        The cells.
    randomizer : ReleaseMechanism
        The mechanism that releases counts of the categories.
    classes : ndarray of shape (n_labels,)
        The labels, sorted; for a tree of numbers, their two bounds.
    bounds : tuple of two ndarrays of shape (n_features,)
        Lower and upper bounds of X.
    rule : str
        The rule that the partition was grown by.
    public_counts : ndarray of shape (n_leaves, n_labels)
        Public rows by leaf and label; for numbers, sums of their shares.
    feature_names : tuple of str or None
        Names of the columns of X, if they have names.
    public_slope : float
        From `slope_of_public_rows`.
    pending : tuple of SplitBudget and PublicVotes, or None
        If private rows will choose the splits: how epsilon is divided, and the public rows.
    public_model : PublicModel or None
        A classifier that was fitted to public rows.
    leaf_model : LeafModel or None
        Its predictions in the leaves.
    first_phase : FirstPhase or None
        The reports that shape the partition, which is the root before they have arrived; None without them.
    cells : NumberCells or None
        The cells of a release about numbers; None for labels.
    public_row_variance : float
        From `PublicVotes.row_variance`.
    public_total_variance : float
        The same on a tree of a single leaf; without public rows a usual value.
    declared : ndarray of shape (2,), or None
        Bounds of numbers before they were narrowed to `classes`; None if they were not.
    split_scales : tuple of float
        Scale of the noise of every level's scores, in rows, if private rows chose the splits.
    n_candidates : int
        Number of candidates that were compared in a node.
    """

    partition: Partition
    randomizer: ReleaseMechanism
    classes: NDArray[Any]
    bounds: tuple[FloatArray, FloatArray]
    rule: str
    public_counts: IntArray | FloatArray
    feature_names: tuple[str, ...] | None = None
    public_slope: float = 1.0
    pending: tuple[SplitBudget, PublicVotes] | None = None
    public_model: PublicModel | None = None
    leaf_model: LeafModel | None = None
    first_phase: FirstPhase | None = None
    cells: NumberCells | None = None
    public_row_variance: float = 1.0
    public_total_variance: float = 1.0
    declared: NDArray[Any] | None = None
    split_scales: tuple[float, ...] = ()
    n_candidates: int = 1

    def with_leaves(
        self, partition: Partition, randomizer: ReleaseMechanism, votes: PublicVotes | None
    ) -> "TreeDesign":
        """Return the finished design on a partition, with these public rows in its leaves."""
        nobody = np.zeros((partition.n_leaves, len(self.classes)), dtype=np.int64)
        return replace(
            self,
            partition=partition,
            randomizer=randomizer,
            public_counts=nobody if votes is None else votes.count(partition),
            public_row_variance=1.0 if votes is None else votes.row_variance(partition),
            public_total_variance=usual_variance(self.cells, votes),
            pending=None,
            leaf_model=None if self.public_model is None else self.public_model.on_leaves(partition),
        )

    def describe_mechanism(self) -> str:
        """Return a short description of the release."""
        own, first = self.randomizer.describe(), self.first_phase
        return own if first is None else f"{first.randomizer.describe()}; then, by the other clients, {own}"

    def releases(self) -> tuple[ReleaseRecord, ...]:
        """Return the releases in order."""
        if isinstance(self.randomizer, PrivateSplitsMechanism):
            return self.randomizer.releases
        leaves = ReleaseRecord.of("counts of the leaves", self.randomizer)
        if self.first_phase is None:
            return (leaves,)
        rows = "the clients of the first phase", "the other clients"
        shape = ReleaseRecord.of("counts of columns", self.first_phase.randomizer, rows=rows[0])
        return shape, replace(leaves, rows=rows[1])

    def reports_of_leaves(self, n_used: int) -> int:
        """Return the number of the private rows that fill the leaves."""
        return n_used if self.first_phase is None else n_used - self.first_phase.n_reports

    @property
    def n_public(self) -> int:
        """Number of public rows."""
        return round(float(self.public_counts.sum()))


def unprotected_facts(tree: Any, design: TreeDesign, n_used: int, grouped: bool) -> dict[str, Any]:
    """Return the facts that a statement on this release lists as not protected."""
    protected = tree._inputs_to_declare()
    sources = {}
    for name in (tree._bounds_parameter, tree._target_parameter):
        if name == tree._bounds_parameter and tree.domain is not None:
            sources[name] = "declared by the domain"
        elif getattr(tree, name) is not None:
            sources[name] = source_of_input(getattr(tree, name))
        elif design.n_public:
            sources[name] = "those of the public rows"
        else:
            sources[name] = "READ FROM PRIVATE ROWS" if name in protected else "those of the rows"
    facts: dict[str, Any] = {
        tree._rows_are_called: n_used,
        "public rows": design.n_public,
        "depth": design.partition.max_depth,
        "leaves": design.partition.n_leaves,
        **sources,
    }
    if design.pending is not None:
        # The splits are not chosen yet. A path may end at a box without width.
        levels = len(design.pending[0].level_epsilons)
        facts.update({"depth": f"at most {levels}", "leaves": f"at most {2**levels}"})
    if design.first_phase is not None:
        facts["reports that shape the tree"] = design.first_phase.n_reports
        if design.first_phase.counts is None:
            facts.update(dict.fromkeys(("depth", "leaves"), "found from these reports"))
    if tree._bounds_parameter not in protected:
        facts["features"] = f"ALL features of the private rows: only their {tree._targets} are protected"
    if grouped and design.n_public:
        facts["public rows of a person"] = "used in clear; only the person's private rows are protected"
    return facts


# A curator's rows: rounds of noisy sums.

# log2 of the number of steps of a target between its bounds: sums of squares of 2^32 rows fit 64 bits. The
# mean of n equal targets is rounded by at most 2^-16 of the width. That is less than the noise's standard
# deviation, some 2 / (n epsilon) of the width, up to n epsilon = 2^17.
_BITS = 15


@dataclass(frozen=True)
class LeafSums:
    """The sums in the leaves of a curator's tree.

    Attributes
    ----------
    cells : NumberCells or None
        The cells among which a number is divided; None: rows are counted by label.
    narrows : bool
        Whether bounds of numbers are narrowed if private rows choose the splits. They are not if a public
        model predicts shares of the declared width.
    max_weight : float or None
        Bound on the weight of a row; None: all rows have the weight 1.
    """

    cells: NumberCells | None
    narrows: bool
    max_weight: float | None

    @property
    def _steps(self) -> int:
        return 1 if self.max_weight is None else WEIGHT_STEPS

    @property
    def n_target_bins(self) -> int:
        """Number of bins by which bounds of numbers are narrowed; 0 if they are not."""
        return N_BINS if self.cells is not None and self.narrows else 0

    def masses(self, classes: NDArray[Any]) -> LabelMasses | NumberMasses:
        """Return the contributions of a row to the cells of its leaf."""
        if self.cells is None:
            return LabelMasses(len(classes), self._steps)
        low, high = (float(bound) for bound in classes)
        # With weights, targets have fewer steps, so that the products fit.
        bits = _BITS if self.max_weight is None else NUMBER_BITS
        return NumberMasses(low / 2 + high / 2, high / 2 - low / 2, bits, largest=self._steps)

    def plan(self, design: TreeDesign) -> Plan:
        """Return the plan of the sums in the leaves."""
        if self.cells is None and self.max_weight is None:
            return CellsPlan(((LeafAxis(design.partition), LabelAxis(len(design.classes))),))
        return MassesPlan.of_leaves(design.partition, self.masses(design.classes))

    def noise(
        self, epsilon: float | Fraction, n_cells: int, n_labels: int, rows_per_unit: int
    ) -> NoisyHistogram:
        """Return the noise of these sums at an epsilon."""
        total = 1
        if self.cells is not None:
            # The contribution of a row does not depend on the bounds of numbers.
            masses = self.masses(np.arange(2.0))
            n_labels, total = masses.n_cells, masses.total
        return NoisyHistogram(epsilon, n_cells, n_labels, rows_per_unit, total * self._steps, self.max_weight)


def divide_budget(
    tree: Any, n_rows: int, n_public: int, rows_per_unit: int, n_features: int | None, n_labels: int
) -> SplitBudget | None:
    """Return how epsilon is divided if a curator's rows choose the splits; None if they do not."""
    if tree._deployment != "curator":
        return None
    own_depth = tree.max_depth == "auto" and tree._pruning.as_printed
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
    # The number of columns is not known yet if earlier steps of a pipeline make them.
    n_bins = (DEFAULT_BINS,) * (n_features or 1) if columns is None else columns.n_bins
    wanted = automatic_levels(n_rows, epsilon, rows_per_unit)
    wanted = wanted if tree.max_depth == "auto" else tree._check_depth(n_public)
    n_levels = min(wanted, most_levels(n_bins, n_labels), DEEPEST_COMPLETE)
    sums = tree._sums
    # The contribution of a row depends only on the kind of the target.
    total = sums.masses(np.arange(2.0)).for_splits().total
    return SplitBudget.divide(epsilon, share, n_levels, rows_per_unit, columns, total, sums.n_target_bins)


def design_private_splits(
    tree: Any, rows: TreeRows, budget: SplitBudget, model: PublicModel | None
) -> TreeDesign:
    """Return the public design before private rows choose the splits: the root."""
    root = Partition.from_splits([-1], [], *rows.bounds)
    leaf = tree._sums.noise(budget.leaf_epsilon, 1, len(rows.classes), budget.rows_per_unit)
    design: TreeDesign = tree._begin(rows, root, leaf, "private", public_model=model)
    # Public rows are counted for the statement, and for a tree without any split.
    design = design.with_leaves(root, leaf, rows.votes)
    if not budget.level_epsilons:
        return design
    return replace(design, randomizer=PrivateSplitsMechanism(budget, leaf), pending=(budget, rows.votes))


def sum_in_rounds(
    design: TreeDesign, spent: PrivacySpent, sums: LeafSums
) -> Rounds[tuple[TreeDesign, IntArray]]:
    """Yield the rounds of a fit: those in which private rows choose splits, if they do, and the sums."""
    uncharged: PrivacySpent | None = spent
    if design.pending is not None:
        design, uncharged = yield from _choose_splits(design, *design.pending, spent, sums)
    counts = yield Round(sums.plan(design), design.randomizer, uncharged)  # type: ignore[arg-type]
    return design, counts


def _choose_splits(
    design: TreeDesign, budget: SplitBudget, votes: PublicVotes, spent: PrivacySpent, sums: LeafSums
) -> Rounds[tuple[TreeDesign, PrivacySpent | None]]:
    """Yield rounds for bounds of numbers and for an order of levels, and one round for every level of splits.

    The first two rounds are there only if the budget has a part for them. Returns the design with the leaves,
    and the statement that is still to be charged: this is None, except if there was no round because the box
    is a point.
    """
    uncharged: PrivacySpent | None = spent
    if budget.target is not None:
        declared = sums.masses(design.classes)
        assert isinstance(declared, NumberMasses)
        axis = TargetAxis(declared.center, declared.half, N_BINS)
        counts = yield Round(CellsPlan(((axis,),)), budget.target, uncharged)
        narrow = narrow_bounds(counts, budget.target, design.classes)
        votes = votes.within(design.classes, narrow)
        design, uncharged = replace(design, classes=narrow, declared=design.classes), None
    masses: Masses = sums.masses(design.classes).for_splits()
    lower, upper = design.bounds
    derived: DerivedColumns | None = None
    n_bins: tuple[int, ...] = (DEFAULT_BINS,) * len(lower)
    if budget.columns is not None:
        places: dict[int, IntArray] = {}
        if budget.order is not None:
            plan = budget.columns.plan(masses)
            noisy = yield Round(plan, budget.order, uncharged)
            public = np.concatenate([votes.sum_by(axis) for axis in plan.axes])
            places = budget.columns.places(noisy / masses.total, budget.order.variance, public)
            uncharged = None
        derived, lower, upper = budget.columns.derive(lower, upper, places)
        n_bins = budget.columns.n_bins
    partition = yield from grow_private_partition(
        lower, upper, masses, budget.level_epsilons, budget.rows_per_unit, n_bins, uncharged, derived
    )
    leaves = sums.noise(budget.leaf_epsilon, partition.n_leaves, len(design.classes), budget.rows_per_unit)
    scales = tuple(float(2 * budget.rows_per_unit / epsilon) for epsilon in budget.level_epsilons)
    design = replace(design, split_scales=scales, n_candidates=sum(n_bins) - len(n_bins))
    return design.with_leaves(partition, leaves, votes), uncharged if partition.n_leaves == 1 else None


# Clients: one report each, here simulated.

# Below it the noise of a report's estimate is too large for exact arithmetic with doubles.
_LEAST_EPSILON = Fraction(1, 10**6)


def plan_first_phase(tree: Any, rows: TreeRows, n_clients: int) -> TreeDesign | None:
    """Return the design of a tree that a share of the clients will shape; None if none will."""
    own_depth = tree.max_depth == "auto" and tree._pruning.as_printed
    groups = () if tree.domain is None else tree.domain.groups
    few = (len(groups) or len(rows.bounds[0])) <= FEW_COLUMNS
    # Halving levels in their declared order would divide them at random.
    halved = tree.split_share == "auto" and few and all(group.n_levels < 3 for group in groups)
    if halved or tree.rule == "random" or tree.protect == "label" or own_depth or tree.split_share == 0:
        return None
    tree._check_depth(0)
    tree._pruning.check_classes(len(rows.classes))
    epsilon, n_labels = check_epsilon(tree.epsilon), len(rows.classes)
    first = FirstPhase.plan(epsilon, tree.split_share, n_clients, n_labels, rows.bounds, groups)
    if first is None:
        return None
    if epsilon < _LEAST_EPSILON:
        raise ValueError("epsilon is too small for two phases: pass split_share=0.")
    # Errors of the second phase must be raised before anything is charged.
    tree._make_randomizer(2 if tree.max_depth == "auto" else 2**tree.max_depth, n_labels, 1)
    root = Partition.from_splits([-1], [], *rows.bounds)
    leaves = PlannedLeaves(first, tree.mechanism)
    return tree._begin(rows, root, leaves, "cart", first_phase=first)


def shape_by_reports(tree: Any, design: TreeDesign, first: FirstPhase, n_clients: int) -> TreeDesign:
    """Return the design with the leaves that the reports of the first phase give; n_clients fill them."""
    model, n_labels = first.fit_model(tree.partition_seed), len(design.classes)
    partition = first.grow(model, tree._check_depth(0), tree.criterion, tree.min_samples_leaf)
    if tree.max_depth == "auto":
        partition = partition.truncate(tree._automatic_depth(partition, None, n_clients, n_labels))
    randomizer = tree._make_randomizer(partition.n_leaves, n_labels, 1)
    shaped = replace(design, first_phase=first, public_model=model)
    return shaped.with_leaves(partition, randomizer, None)


def collect_reports(
    tree: Any, design: TreeDesign, rows: TreeRows, spent: PrivacySpent, entropy: Entropy
) -> tuple[TreeDesign, IntArray]:
    """Charge the cost and draw every client's report; return the finished design and the leaves' counts."""
    # Reports are drawn row by row, without rounds, although their sum is released.
    first = design.first_phase
    leaves = design.partition.apply(rows.X) if first is None else None
    tree.charge(spent)
    kept = rows.prepare(entropy.random_bytes).kept
    everyone = np.arange(len(rows.X))
    numbers = everyone if kept is None else everyone[kept]
    # Drawn before any report, so that no release affects the rounding.
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
