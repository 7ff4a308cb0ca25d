# SPDX-License-Identifier: BSD-3-Clause
"""Classification tree of a trusted curator: noisy counts of the private rows by leaf and label."""

from fractions import Fraction
from typing import Any, Literal

from numpy.typing import NDArray
from sklearn.utils import Tags

from .._typing import RandomSource, SplitCriterion, SplitRule
from ..accounting import PrivacyLedger
from ..domain import TableDomain
from ..rounds._plans._masses.masses import LabelMasses
from ..rounds._plans._masses.plans import MassesPlan
from ..rounds._plans.axes import LabelAxis, LeafAxis
from ..rounds._plans.cells import CellsPlan
from ..rounds._plans.plan import Plan
from ..utils._public_module import public_module
from ._base import TREE_CONSTRAINTS, TREE_ROLES
from ._central import BaseCentralTree
from ._growth.split_budget import ROWS_FOR_A_PUBLIC_ROW
from ._targets.labels import LABEL_CONSTRAINTS, LABEL_ROLES, LabelTargetMixin
from ._tree_design import TreeDesign


@public_module("skprivate.tree")
class DPTreeClassifier(LabelTargetMixin, BaseCentralTree):
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
        Least number of public rows in a leaf, with "cart" at least 1. No effect without public rows. With
        ``public_model`` it is about rows that stand for the model, eight for each public or drawn one.
    bounds : pair or dict, default=None
        ``(lower, upper)`` of X, each a scalar or of shape (n_features,), or ``{column: (lower, upper)}``; in
        the units of X, from public knowledge. None: those of the public rows; without public rows they are
        read from private rows, which is a leak. Rows outside are routed like rows on the boundary.
    domain : TableDomain, default=None
        What is publicly known of the columns of X, which may then hold text, categories, dates and missing
        cells; it declares the bounds. A split of a column of levels without an order sends a subset of them
        left, and one of a number that may be missing says on which side missing cells are, where the
        declaration gives them a column of their own.
    classes : array-like of labels, default=None
        Two labels or more from public knowledge, all text or all numbers; used in sorted order. None: those
        of the public rows; without public rows they are read from private rows, which is a leak. White space
        around text does not count, and True equals 1. A private label that is not in ``classes`` is counted
        as the first class, without a warning. A public one raises ``ValueError``. If the type of ``y`` is
        text and the classes are numbers, or the reverse, the fit raises ``TypeError``. Inside a
        meta-estimator that encodes labels, declare 0 to K - 1 (:doc:`/choosing`).
    class_weight : dict or "balanced", default=None
        What every class counts in probabilities and predictions: weights by label, 1 where none is given, or
        the inverse of the released shares of the classes. It is post-processing, costs nothing, and moves no
        split; `repruned` changes it after the fact.
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
        are off by what the model says there. With ``domain``, a model that chooses columns by name or encodes
        levels (a pipeline with a ``ColumnTransformer``, or a ``OneHotEncoder``) gets a data frame of the
        declared columns; any other model gets the encoded rows.
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

    _rows_for_a_public_row = ROWS_FOR_A_PUBLIC_ROW

    declared_roles = {**TREE_ROLES, **LABEL_ROLES}

    _parameter_constraints: dict[str, list[Any]] = {**TREE_CONSTRAINTS, **LABEL_CONSTRAINTS}

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
        class_weight: dict[Any, float] | Literal["balanced"] | None = None,
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
        self.class_weight = class_weight
        self.partition_seed = partition_seed
        self.split_share = split_share
        self.public_model = public_model
        self.max_rows_per_group = max_rows_per_group
        self.random_state = random_state
        self.ledger = ledger

    def _masses(self, classes: NDArray[Any]) -> LabelMasses:
        return LabelMasses(len(classes), self._largest_steps())

    def _leaf_plan(self, design: TreeDesign) -> Plan:
        if self._max_sample_weight is not None:
            return MassesPlan.of_leaves(design.partition, self._masses(design.classes))
        return CellsPlan(((LeafAxis(design.partition), LabelAxis(len(design.classes))),))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        # 300 rows at epsilon 1 pay for two levels of splits: 80 of 100 seeds pass the score check.
        tags.classifier_tags.poor_score = True
        return tags
