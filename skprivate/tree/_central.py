# SPDX-License-Identifier: BSD-3-Clause
"""Classification tree of a trusted curator: noisy counts of the private rows by leaf and label."""

import functools
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from .._typing import IntArray, RandomSource, SplitCriterion, SplitRule
from ..accounting import PrivacyLedger, PrivacySpent
from ..domain import TableDomain
from ..noise._entropy import Entropy
from ..rounds._driver import Round, Rounds, RowsInMemory, drive
from ..rounds._fit import RoundsMixin
from ..rounds._inspection import SourceFacts
from ..rounds._plans.axes import LabelAxis, LeafAxis
from ..rounds._plans.cells import CellsPlan
from ..rounds._reading.batches import has_names
from ..rounds._reading.columns import TableColumns, count_columns
from ..rounds._reading.schema import RowSchema
from ..utils._public_module import public_module
from ._base import TREE_CONSTRAINTS, BasePrivateTree
from ._noisy_leaf_counts import NoisyHistogram
from ._tree_design import TreeDesign
from ._tree_rows import TreeRows, declared_classes


@public_module("skprivate.tree")
class DPTreeClassifier(BasePrivateTree, RoundsMixin):
    """Differentially private classification tree of a trusted curator, shaped by public rows.

    Public rows build a partition of the feature space; the curator counts the private rows by leaf and label,
    adds discrete Laplace noise once, and a leaf predicts by the noisy majority together with its public rows.
    The same tree as `LocallyPrivateTreeClassifier`, for those who hold the rows already: one noise a leaf
    instead of one a row.

    Parameters
    ----------
    epsilon : float or Fraction, default=1.0
        Greatest privacy loss of the release, > 0 and finite: exactly that of ``privacy_spent_``, as the scale
        of the noise is a fraction.
    max_depth : int or "auto", default="auto"
        Depth of the tree, from 1 to 30, without public rows to 16. "auto": as deep as the noise allows, to
        12.
    public_weight : float or "auto", default="auto"
        Weight of a public row against a private one, between 0 and 1e100. "auto": per leaf, by how far the
        public labels are from the released counts; 0 uses public rows for the partition only.
    rule : {"max-edge", "cart", "random"}, default="max-edge"
        "max-edge" halves the longest edge of a cell that separates the public labels best; "cart" takes the
        feature and the threshold that do, among at most 255 thresholds a feature; "random" halves a longest
        edge at random. Without public rows the rule is "random".
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
        The tree over public data.
    max_depth_ : int
        Depth of the tree.
    n_leaves_ : int
        Number of leaves.
    rule_, mechanism_ : str
        The rule used, and "histogram".
    randomizer_ : object
        The noise that was added.
    report_counts_ : ndarray of int64 of shape (n_leaves,) or (n_leaves, n_classes)
        Noisy signed counts of the leaves for two classes, noisy counts by label for more: all that was
        released about private rows.
    n_reports_ : int
        Number of private rows; with ``groups`` that of persons, times ``max_rows_per_group``.
    public_counts_ : ndarray of int64 of shape (n_leaves, n_classes)
        Public rows by leaf and label.
    public_weight_ : ndarray of shape (n_leaves,)
        Weight of a public row in every leaf.
    leaf_proba_ : ndarray of shape (n_leaves, n_classes)
        Class probabilities of every leaf.
    leaf_depth_ : ndarray of int of shape (n_leaves,)
        Depth of the node whose estimate a leaf takes: ``max_depth_`` where it takes its own.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, where X had string names.
    domain_ : TableDomain
        The domain of the fit. Only with ``domain``.

    See Also
    --------
    LocallyPrivateTreeClassifier : The same tree from reports of clients who trust nobody.
    skprivate.PublicPrivateSplit : Cross-validation that tests private rows only.
    skprivate.PrivacyLedger : Adds up what fits spend.

    Notes
    -----
    **Privacy.** Relation: replace-one. With two classes the signed count of every leaf is released, rows of
    the second class minus rows of the first, with more classes the count of every leaf and label. Replacing a
    row moves these by 2 in L1 at most, replacing the ``max_rows_per_group`` rows of a person by so many times
    as much, and exact discrete Laplace noise of scale sensitivity / epsilon is added to each. Everything else
    is a function of that and of public rows. Whoever runs ``fit`` sees the rows and is trusted. Not
    protected: the number of private rows, or with ``groups`` the number of persons, the public rows, bounds
    and classes. How many rows a person has shows nowhere: depth, weights and probabilities take
    ``max_rows_per_group`` rows for each. A seeded fit, or one that reads bounds or classes from private rows,
    claims "not-private".

    Proof: :doc:`/proofs/tree_release`.

    With two classes ``predict_proba`` takes the number of private rows in a leaf from the public ones
    (P_X = Q_X).

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
    >>> is_public = np.arange(20000) < 50
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
        self.max_rows_per_group = max_rows_per_group
        self.random_state = random_state
        self.ledger = ledger

    def _release(self, design: TreeDesign, rows: TreeRows, spent: PrivacySpent, entropy: Entropy) -> IntArray:
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
        counts = yield from self._rounds(design, spent)
        self._adopt(design, counts, n_used, spent)

    def _rounds(self, design: TreeDesign, spent: PrivacySpent) -> Rounds[IntArray]:
        """Yield the one round of a fit: counts by leaf and label."""
        cells = CellsPlan(((LeafAxis(design.partition), LabelAxis(len(design.classes))),))
        return (yield Round(cells, design.randomizer, spent))  # type: ignore[arg-type]

    def _make_randomizer(self, n_cells: int, n_labels: int, rows_per_unit: int) -> NoisyHistogram:
        return NoisyHistogram(self.epsilon, n_cells, n_labels, rows_per_unit)
