# SPDX-License-Identifier: BSD-3-Clause
"""Classification tree of a trusted curator: noisy counts of the private rows by leaf and label."""

import functools
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from sklearn.utils import Tags

from .._typing import IntArray, RandomSource, SplitCriterion, SplitRule
from ..accounting import PrivacyLedger, PrivacySpent
from ..base._classes import declared_classes
from ..domain import TableDomain
from ..noise._entropy import Entropy
from ..rounds._driver import Round, Rounds, RowsInMemory, drive
from ..rounds._fit import RoundsMixin
from ..rounds._inspection import SourceFacts
from ..rounds._plans.axes import LabelAxis, LeafAxis
from ..rounds._plans.cells import CellsPlan
from ..rounds._plans.rows import PreparedRows
from ..rounds._reading.batches import has_names
from ..rounds._reading.columns import TableColumns, count_columns
from ..rounds._reading.schema import RowSchema
from ..utils import check_epsilon
from ..utils._public_module import public_module
from ._base import DEEPEST_COMPLETE, TREE_CONSTRAINTS, BasePrivateTree
from ._estimation.leaf_estimates import pruning_method
from ._growth.level_order import DEFAULT_BINS, ORDER_SHARE, ComparedColumns, columns_to_order
from ._growth.split_budget import ROWS_FOR_A_PUBLIC_ROW, SPLIT_SHARE, SplitBudget, automatic_levels
from ._growth.split_selection import grow_private_partition, most_levels
from ._noisy_leaf_counts import NoisyHistogram
from ._tree_design import PendingSplits, TreeDesign
from ._tree_rows import TreeRows


@public_module("skprivate.tree")
class DPTreeClassifier(BasePrivateTree, RoundsMixin):
    """Differentially private classification tree of a trusted curator, shaped by public rows.

    Public rows build a partition of the feature space, or private rows pay for it where public ones are few
    or missing (``split_share``); the curator counts the private rows by leaf and label, adds discrete Laplace
    noise once, and a leaf predicts by the noisy counts together with its public rows. The same tree as
    `LocallyPrivateTreeClassifier`, for those who hold the rows already: one noise a leaf instead of one a
    row.

    Parameters
    ----------
    epsilon : float or Fraction, default=1.0
        Greatest privacy loss of the release, > 0 and finite; ``privacy_spent_`` states what was spent, never
        more, and less only where a fraction had too many digits.
    max_depth : int or "auto", default="auto"
        Depth of the tree, from 1 to 30, without public rows to 16. "auto": as deep as the noise allows, to
        12. Splits that private rows pay for go no deeper than 16, and than their counts fit 1 GiB.
    public_weight : float or "auto", default="auto"
        Weight of a public row against a private one, between 0 and 1e100. "auto": per leaf, by how far the
        public labels are from the released counts; 0 uses public rows for the partition only.
    rule : {"max-edge", "cart", "random"}, default="max-edge"
        "max-edge" halves the longest edge of a cell that separates the public labels best; "cart" takes the
        feature and the threshold that do, among at most 255 thresholds a feature; "random" halves a longest
        edge at random. Where private rows choose the splits (`split_share`), only "random" has an effect:
        there is no such choice then. Without public rows and without such a choice the rule is "random".
    criterion : {"gini", "entropy"}, default="gini"
        Impurity of public labels that "max-edge" and "cart" minimise. No effect without public rows.
    prune : bool or "paper", default=False
        True: every leaf takes the estimate of the ancestor whose counts and public rows decide most clearly,
        on the same release. "paper": Algorithm 2 of the paper as printed, for comparison, two classes only:
        it is near chance at a small epsilon. `repruned` changes it after the fact.
    min_samples_leaf : int, default=0
        Least number of public rows in a leaf, with "cart" at least 1. No effect without public rows.
    bounds : pair or dict, default=None
        ``(lower, upper)`` of X, each a scalar or of shape (n_features,), or ``{column: (lower, upper)}``; in
        the units of X, from public knowledge. None: those of the public rows; without public rows they are
        read from private rows, which is a leak. Rows outside are routed like rows on the boundary.
    domain : TableDomain, default=None
        What is publicly known of the columns of X, which may then hold text, categories, dates and missing
        cells; it declares the bounds. The tree is about the encoded columns, ``domain.encoded_names``.
    classes : array-like of labels, default=None
        Two labels or more, from public knowledge; used in sorted order. None: those of the public rows;
        without public rows they are read from private rows, which is a leak. A label outside them counts as
        the first class: silently if it is private, with a warning if it is public.
    partition_seed : int, default=0
        Public seed of rule "random".
    split_share : float or "auto", default="auto"
        Share of epsilon that private rows get to choose the splits, from 0 to below 1; the leaves get the
        rest. 0: public rows choose them by `rule`, and without public rows they are drawn at random; they
        cost nothing then. "auto": 0.7 without public rows, and where the number of private rows times epsilon
        is more than 15 times that of public rows; else 0. Without public rows there is no split where n
        epsilon is too small for one; where it is not, declared levels may be put in an order first, by counts
        that this share pays for. With rule "random" no effect. Splits that are chosen one after the other see
        no pure interaction of two columns, of which neither says anything alone; public rows with rule
        "max-edge", or 0, do.
    public_model : classifier, default=None
        A classifier with ``fit`` and ``predict_proba``, such as a random forest, which is fitted to the
        public rows alone. The released counts then correct it: every leaf gets an offset, and the model is
        given up where they show that it says nothing; the leaves stay. They are those of a small tree that
        stands for the model (rule "cart" on its predictions), unless private rows choose them. Within a leaf
        features are taken to be distributed as among public rows; where they are not, the predictions of rows
        are off by what the model says there.
    max_rows_per_group : int, default=1
        With ``groups``: rows of one person that count, drawn at random; the noise grows in proportion.
    random_state : None, int, RandomState or Generator, default=None
        None: entropy of the operating system. Anything else makes the fit reproducible, and not private.
    ledger : PrivacyLedger, default=None
        Charged before any noise is drawn.

    Attributes
    ----------
    privacy_spent_ : PrivacySpent
        What was spent, on what unit, and what is claimed.
    classes_ : ndarray of shape (n_classes,)
        The labels.
    bounds_ : tuple of two ndarrays of shape (n_features,)
        Lower and upper bounds of X.
    partition_ : Partition
        The tree: over public data, or with splits that private rows paid for.
    max_depth_ : int
        Depth of the tree.
    n_leaves_ : int
        Number of leaves.
    rule_, mechanism_ : str
        The rule used, "private" where private rows chose the splits; and "histogram".
    randomizer_ : object
        The noise that was added.
    report_counts_ : ndarray of int64 of shape (n_leaves, n_classes)
        Noisy counts of the private rows by leaf and label: with the splits of ``partition_``, where private
        rows paid for them, all that was released about these rows.
    n_reports_ : int
        Number of private rows; with ``groups`` that of persons, times ``max_rows_per_group``.
    public_counts_ : ndarray of int64 of shape (n_leaves, n_classes)
        Public rows by leaf and label.
    public_weight_ : ndarray of shape (n_leaves,)
        Weight of a public row in every leaf.
    public_slope_ : float
        How much of what public labels show in leaves that they shaped holds on other public rows, 0 to 1.
    leaf_proba_ : ndarray of shape (n_leaves, n_classes)
        Class probabilities of every leaf, never 0 or 1; with ``public_model`` about the means of its rows.
    leaf_depth_ : ndarray of int of shape (n_leaves,)
        Depth of the node whose estimate a leaf takes: ``max_depth_`` where it takes its own.
    leaf_errors_ : ndarray of shape (n_leaves,)
        Standard deviation of a leaf's class probability by noise and sampling, a mean over the classes.
    leaf_sizes_ : ndarray of shape (n_leaves,)
        Estimated numbers of private rows in the leaves, above 0.
    base_proba_ : ndarray of shape (n_classes,)
        The base rate: class probabilities of the whole tree.
    feature_importances_ : ndarray of shape (n_features,)
        Share of every feature in the decrease of the Gini impurity by the splits, from released counts.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, where X had string names.
    domain_ : TableDomain
        The domain of the fit. Only with ``domain``.

    See Also
    --------
    LocallyPrivateTreeClassifier : The same tree from reports of clients who trust nobody.
    export_text : The rules of a fitted tree and the estimates of its leaves, as text.
    skprivate.inspection.PrivateTreeDisplay : The same as a picture.
    skprivate.PublicPrivateSplit : Cross-validation that tests private rows only.
    skprivate.PrivacyLedger : Adds up what fits spend.

    Notes
    -----
    **Privacy.** Relation: replace-one. The count of every leaf and label is released. Replacing a row moves
    these by 2 in L1 at most, replacing the ``max_rows_per_group`` rows of a person by so many times as much,
    and exact discrete Laplace noise of scale sensitivity / epsilon is added to each. Where private rows
    choose the splits (``rule_`` is "private"), every level releases the numbers of the splits that are best
    by noisy scores; levels and leaves then share epsilon, which is charged once, before the first round.
    With ``domain`` noisy counts by level and label may come first, which put the levels of columns without an
    order in one: a row counts once in each of these columns, and .3 of the splits' share pays for all.
    Everything else is a function of that and of public rows. Whoever runs ``fit`` sees the rows and is
    trusted. Not protected: the number of private rows, or with ``groups`` the number of persons, the public
    rows, bounds and classes. How many rows a person has shows nowhere but in the noisy counts: the depth
    takes ``max_rows_per_group`` rows for each, and probabilities the sum of the noisy counts. A seeded fit,
    or one that reads bounds or classes from private rows, claims "not-private".

    Proof: :doc:`/proofs/tree_release`.

    Probabilities are those of the noisy counts and the weighted public rows, drawn to those of the nodes
    above and to the base rate as far as their noise demands: none is 0 or 1.

    References
    ----------
    Ma, Yang, Optimal locally private nonparametric classification with public data, 2023.

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate import DPTreeClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(20000, 2))
    >>> y = (X[:, 0] > 0.5).astype(int)
    >>> is_public = rng.permutation(20000) < 50
    >>> tree = DPTreeClassifier(epsilon=1.0, bounds=(0, 1), classes=[0, 1])
    >>> tree = tree.fit(X, y, is_public=is_public)
    >>> bool(tree.score(X, y) > 0.95)
    True
    >>> tree.privacy_spent_.private, tree.privacy_spent_.epsilon
    (True, Fraction(1, 1))
    """

    _deployment = "curator"

    _parameter_constraints: dict[str, list[Any]] = TREE_CONSTRAINTS

    def __init__(
        self,
        epsilon: float | Fraction = 1.0,
        *,
        max_depth: int | Literal["auto"] = "auto",
        public_weight: float | Literal["auto"] = "auto",
        rule: SplitRule = "max-edge",
        criterion: SplitCriterion = "gini",
        prune: bool | Literal["paper"] = False,
        min_samples_leaf: int = 0,
        bounds: Any = None,
        domain: TableDomain | None = None,
        classes: Any = None,
        partition_seed: int = 0,
        split_share: float | Literal["auto"] = "auto",
        public_model: Any = None,
        max_rows_per_group: int = 1,
        random_state: RandomSource = None,
        ledger: PrivacyLedger | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.max_depth = max_depth
        self.public_weight = public_weight
        self.rule = rule
        self.criterion = criterion
        self.prune = prune
        self.min_samples_leaf = min_samples_leaf
        self.bounds = bounds
        self.domain = domain
        self.classes = classes
        self.partition_seed = partition_seed
        self.split_share = split_share
        self.public_model = public_model
        self.max_rows_per_group = max_rows_per_group
        self.random_state = random_state
        self.ledger = ledger

    def _release(
        self, design: TreeDesign, rows: TreeRows, spent: PrivacySpent, entropy: Entropy
    ) -> tuple[TreeDesign, IntArray]:
        prepared = RowsInMemory(rows.prepare(entropy.random_bytes))
        return drive(self._rounds(design, spent), prepared, entropy, self.charge)

    def _known_columns(self) -> int | None:
        return count_columns(self.bounds) if self.domain is None else len(self.domain.names)

    def _open_source(
        self, columns: TableColumns, facts: SourceFacts, public: Any
    ) -> tuple[RowSchema, Callable[[str], Rounds[None]]]:
        self._check_parameters()
        missing = self._find_leaks(public is not None)
        if missing:
            raise ValueError("a source is not read for bounds or classes: declare them, or pass public rows.")
        facts.require_target()
        if facts.structured:
            raise ValueError("the target must be labels, and no times with events.")
        facts.name_columns(self)
        self.name_columns()
        grouped = columns.group is not None
        rows = self._public_rows(public, facts, self.max_rows_per_group if grouped else 1)
        self.check_public(facts.shape(grouped, rows.labels if public is not None else None))
        n_used = facts.n_units * rows.rows_per_unit
        design = self._design(rows, n_used)
        schema = RowSchema(
            columns=columns,
            n_features=rows.X.shape[1],
            domain=self.domain,
            lower=rows.bounds[0],
            upper=rows.bounds[1],
            classes=rows.classes,
            strict=self.is_strict(),
            max_rows_per_unit=rows.rows_per_unit if grouped else None,
        )
        return schema, functools.partial(self._rounds_of_source, design, n_used, grouped)

    def _public_rows(self, public: Any, facts: SourceFacts, rows_per_unit: int) -> TreeRows:
        """Validate public rows, all that a design is made of; there may be none."""
        if public is None:
            width = facts.n_features if self.domain is None else len(self.domain.encoded_names)
            X, y = np.empty((0, width)), np.asarray(declared_classes(self.classes))[:0]
        else:
            if not isinstance(public, tuple) or len(public) != 2:
                raise TypeError("public must be a tuple (X, y).")
            X, y = public
            if self.domain is None and facts.features is not None and has_names(X):
                X = X[TableColumns(facts.features).choose_features(X)]
            X, y = self._read_rows(X, y)
            # The names are those of the source.
            facts.name_columns(self)
        rows = self._part_rows(X, y, np.ones(len(X), dtype=bool), None)
        return replace(rows, rows_per_unit=rows_per_unit)

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
            design = yield from self._choose_splits(design, design.pending, spent)
            # A box that is a point has no splits, which would have been charged first.
            paid = None if design.partition.n_leaves > 1 else spent
        cells = CellsPlan(((LeafAxis(design.partition), LabelAxis(len(design.classes))),))
        counts = yield Round(cells, design.randomizer, paid)  # type: ignore[arg-type]
        return design, counts

    def _choose_splits(
        self, design: TreeDesign, pending: PendingSplits, spent: PrivacySpent
    ) -> Rounds[TreeDesign]:
        """Yield one round for an order of levels, where it is paid for, and one for every level of splits.

        Returned is the design with the leaves.
        """
        n_labels, budget = len(design.classes), pending.budget
        lower, upper = design.bounds
        derived = None
        paid: PrivacySpent | None = spent
        n_bins: tuple[int, ...] = (DEFAULT_BINS,) * len(lower)
        if budget.columns is not None:
            places: dict[int, IntArray] = {}
            if budget.order is not None:
                plan = budget.columns.plan()
                noisy = yield Round(plan, budget.order, paid)
                public = plan.sums(PreparedRows(pending.X, labels=pending.labels))
                places, paid = budget.columns.places(noisy, budget.order.variance, public), None
            derived, lower, upper = budget.columns.derive(lower, upper, places)
            n_bins = budget.columns.n_bins
        partition = yield from grow_private_partition(
            lower, upper, n_labels, budget.level_epsilons, budget.rows_per_unit, n_bins, paid, derived
        )
        leaves = budget.leaves(partition.n_leaves, n_labels)
        return design.with_leaves(partition, leaves, pending.X, pending.labels)

    def _budget_of_splits(
        self, n_rows: int, n_public: int, rows_per_unit: int, n_features: int | None, n_labels: int
    ) -> SplitBudget | None:
        """Return how epsilon is divided where private rows choose splits; None where they do not."""
        own_depth = self.max_depth == "auto" and pruning_method(self.prune).has_own_depth
        epsilon = check_epsilon(self.epsilon)
        automatic = self.split_share == "auto"
        worth_it = n_rows * epsilon > ROWS_FOR_A_PUBLIC_ROW * rows_per_unit * n_public
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
        return SplitBudget.divide(epsilon, share, n_levels, rows_per_unit, columns)

    def _make_randomizer(
        self, n_cells: int, n_labels: int, rows_per_unit: int, n_rows: int = 0, n_public: int = 0
    ) -> NoisyHistogram:
        return NoisyHistogram(self.epsilon, n_cells, n_labels, rows_per_unit)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        # 300 rows at epsilon 1 pay for two levels of splits: 80 of 100 seeds pass the score check.
        tags.classifier_tags.poor_score = True
        return tags
