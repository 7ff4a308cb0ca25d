# SPDX-License-Identifier: BSD-3-Clause
"""Private regression trees: for a trusted curator, and for clients who send reports."""

from collections.abc import Mapping
from fractions import Fraction
from numbers import Real
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from .._typing import (
    BoolArray,
    FloatArray,
    IntArray,
    NumberMechanism,
    Protection,
    RandomSource,
    SplitCriterion,
    SplitRule,
)
from ..accounting import PrivacyLedger
from ..base import PublicShape, assign_roles, redact_errors
from ..domain import TableDomain
from ..noise._mechanisms import Entropy
from ..randomizers import (
    HadamardRandomizer,
    LabelRandomizer,
    LocalRandomizer,
    SubsetRandomizer,
    UnaryRandomizer,
    make_randomizer,
)
from ..rounds._rows import check_target_bounds, check_target_width, read_numbered_rows
from ..utils._compat import HasMethods, StrOptions
from ..utils._public_module import public_module
from ._estimator import LOCAL_CONSTRAINTS, LOCAL_ROLES, TREE_CONSTRAINTS, TREE_ROLES, PrivateTree
from ._leaf_probabilities import variance_per_row
from ._pruning_and_intervals import LeafEstimates, share_intervals
from ._release import TreeDesign
from ._rows import NumberCells, TreeRows, round_at_random, shares_of

# Trees of numbers: targets with public bounds, means of the leaves, and confidence intervals.

NUMBER_CONSTRAINTS: dict[str, list[Any]] = {
    "bounds_X": ["array-like", Mapping, None],
    "bounds_y": ["array-like", None],
    "public_model": [HasMethods(["fit", "predict"]), None],
}
NUMBER_ROLES = assign_roles(release="bounds_X bounds_y")


class TreeRegressor(RegressorMixin, PrivateTree):
    """A private tree whose target is a number between public bounds.

    A number is a share t of the width between its bounds, from 0 to 1. A leaf has the two shares 1 - t and t,
    as if of two labels.
    """

    bounds_y: Any
    bounds_y_: tuple[float, float]
    range_y_: tuple[float, float]
    leaf_values_: FloatArray

    # There is only one impurity of shares, and no leading class for pruning.
    criterion: SplitCriterion = "gini"
    prune: Any = False

    _bounds_parameter = "bounds_X"
    _target_parameter = "bounds_y"
    _target_leak = "the bounds of y were read from private rows"
    _targets = "targets"
    leak_remedy = "Declare them from public knowledge (bounds_X=..., bounds_y=...), or use estimate_bounds."

    _read_rows = read_numbered_rows

    def _resolve_target(self, y: NDArray[Any], public: BoolArray) -> dict[str, Any]:
        if self.bounds_y is not None:
            low, high = check_target_bounds(self.bounds_y, False)
        else:
            known = y[public] if public.any() else y
            low, high = float(known.min()), float(known.max())
            high = high if high > low else low + max(1.0, abs(low))
        check_target_width((low, high))
        return {"classes": np.array([low, high]), "y": y}

    def _check_target(self, shape: PublicShape) -> int:
        if shape.structured:
            raise ValueError("y must be numbers, and no times with events.")
        if self.bounds_y is not None:
            check_target_width(check_target_bounds(self.bounds_y, False))
        return 2

    def _no_targets(self) -> NDArray[Any]:
        return np.empty(0)

    def _schema_of_target(self, rows: TreeRows) -> dict[str, Any]:
        return {"bounds_y": (float(rows.classes[0]), float(rows.classes[1]))}

    def _name_target(self, design: TreeDesign) -> None:
        known = design.classes if design.declared is None else design.declared
        self.bounds_y_ = float(known[0]), float(known[1])
        self.range_y_ = float(design.classes[0]), float(design.classes[1])

    def _describe_estimate(self, leaf: int, decimals: int) -> str:
        value, error = float(self.leaf_values_[leaf]), float(self.leaf_errors_[leaf])
        return f"value: {value:.{decimals}f} +- {error:.{decimals}f}"

    def _set_estimates(self, estimates: LeafEstimates) -> None:
        self._leaf_shares, self._share_errors = estimates.shares.probabilities, estimates.shares.errors
        self.leaf_values_ = self._in_units(self._leaf_shares[:, 1])
        # Bounds are halved first: the width may exceed the largest float.
        self.leaf_errors_ = 2 * self._share_errors * (self.range_y_[1] / 2 - self.range_y_[0] / 2)
        base = estimates.shares.base
        self.base_value_ = float(self._in_units(base.shares[1]))
        # In widths of the bounds.
        self._base_error = float(np.sqrt(base.variances[1]))

    def _in_units(self, shares: Any) -> Any:
        """Return shares of the width as numbers in the unit of y."""
        low, high = self.range_y_
        # Rounding may exceed a bound.
        return np.clip((1 - shares) * low + shares * high, low, high)

    def reweighted(self, *, public_weight: float | Literal["auto"]) -> Self:
        """Return a copy with another weight of public rows. It needs no data and spends nothing.

        Parameters
        ----------
        public_weight : float or "auto"
            As in the class.

        Returns
        -------
        tree : estimator
            Fitted, with the same ``privacy_spent_`` and ``report_counts_``.

        Raises
        ------
        ValueError
            The weight is out of range.
        """
        return self._estimated_anew({"public_weight": public_weight})

    @redact_errors
    def predict(self, X: ArrayLike) -> FloatArray:
        """Return the mean of every row's leaf, or with ``public_model`` the prediction for the row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        y : ndarray of shape (n_samples,)
            In the unit of y, within ``range_y_``.
        """
        check_is_fitted(self)
        rows = self._read_fitted(X, order="C")
        leaves = self.partition_.apply(rows)
        if self._offsets is None:
            return self.leaf_values_[leaves]
        return self._in_units(self._offsets.predict(rows, leaves)[:, 1])

    def leaf_intervals(self, confidence: float = 0.9) -> FloatArray:
        """Return confidence intervals of the means of the leaves.

        Parameters
        ----------
        confidence : float, default=0.9
            Probability that an interval holds the mean, above 0 and below 1.

        Returns
        -------
        intervals : ndarray of shape (n_leaves, 2)
            For every leaf, an interval of the mean of y, clipped to ``range_y_``, in the population of the
            private rows. Intervals use the release alone. Predictions also use public rows and the other
            leaves, and may lie outside. The interval is ``range_y_`` if noise hides the leaf. For rows:
            ``tree.leaf_intervals()[tree.apply(X)]``.

        Raises
        ------
        ValueError
            The confidence is out of range.

        Notes
        -----
        **Privacy.** A function of what was released and of what is public: it costs nothing.

        The interval holds every mean that the released sums do not contradict (Fieller). It therefore
        accounts for the noise of the number of rows in the leaf, and exists for every leaf, however small.
        The variance of the noise is known. The variance of y within the leaf is estimated from released sums
        of squares. Quantiles are those of a normal distribution with a correction for the tails of Laplace
        noise (Cornish and Fisher). If private rows chose the splits, the choice itself makes the means of the
        leaves differ on the same rows. An allowance for that is added, as if nothing else made the leaves
        differ. Intervals are therefore too wide if splits are clear.
        """
        check_is_fitted(self)
        if not isinstance(confidence, Real) or not 0 < confidence < 1:
            raise ValueError("confidence must be a number between 0 and 1.")
        shares = self._leaf_shares[:, 1]
        found = share_intervals(self._released, self.report_counts_, self.n_reports_, shares, confidence)
        return self._in_units(found)


# Regression tree of a trusted curator: noisy sums of the private targets and of their squares in every leaf.


@public_module("skprivate.tree")
class DPTreeRegressor(TreeRegressor):
    """Differentially private regression tree of a trusted curator, shaped by public or private rows.

    Public rows build a partition of the feature space. If they are few or missing, private rows choose the
    splits, with a part of epsilon (``split_share``). The curator sums the targets of the private rows by
    leaf, and adds discrete Laplace noise once. A leaf predicts a mean, estimated from the noisy sums and its
    public rows. The same release shows the number of rows in a leaf and the variance of their targets, so
    every leaf has a confidence interval.

    Parameters
    ----------
    epsilon : float or Fraction, default=1.0
        Largest privacy loss of the release, > 0 and finite. ``privacy_spent_`` states what was spent. This is
        never more, and is less only if a fraction has too many digits.
    max_depth : int or "auto", default="auto"
        Depth of the tree, from 1 to 30, or to 16 without public rows. "auto": as deep as the noise allows, up
        to 12. If private rows choose the splits, the depth is at most 16, and the sums must fit in 1 GiB.
    public_weight : float or "auto", default="auto"
        Weight of a public row relative to a private one, between 0 and 1e100. "auto": chosen for each leaf,
        by how far the public targets are from the released sums. 0: public rows are used for the partition
        only.
    rule : {"cart", "max-edge", "random"}, default="cart"
        How public rows split a cell. "cart" takes the feature and the threshold that lower the variance of
        the public targets most, among at most 255 thresholds a feature. "max-edge" halves one of the longest
        edges of the cell, the one that lowers it most. "random" halves one of the longest edges at random. If
        private rows choose the splits (`split_share`), only "random" has an effect: private rows then choose
        none. If neither public nor private rows choose the splits, the rule is "random".
    min_samples_leaf : int, default=0
        Smallest number of public rows in a leaf; with "cart" at least 1. No effect without public rows. With
        ``public_model`` it counts the rows from which the model's small tree is grown: eight for each public
        or drawn row.
    bounds_X : pair or dict, default=None
        ``(lower, upper)`` of X, each a scalar or of shape (n_features,), or ``{column: (lower, upper)}``, in
        the units of X, from public knowledge. None: those of the public rows. Without public rows they are
        read from private rows, which is a leak. Rows outside are treated like rows on the boundary.
    domain : TableDomain, default=None
        Public knowledge about the columns of X, which may then hold text, categories, dates and missing
        cells. It declares their bounds.
    bounds_y : pair, default=None
        ``(lower, upper)`` of y in its unit, from public knowledge or from `estimate_bounds`, which spends
        budget. y is clipped to them without a warning. None: those of the public rows. Without public rows
        they are read from private rows, which is a leak.
    partition_seed : int, default=0
        Public seed of rule "random".
    split_share : float or "auto", default="auto"
        Share of epsilon with which private rows choose the splits, from 0 to below 1. The leaves get the
        rest. 0: public rows choose the splits by `rule`, or without public rows the splits are drawn at
        random. They then cost nothing. "auto": 0.7 without public rows, and if the number of private rows
        times epsilon is more than 200 times the number of public rows; otherwise 0. Without public rows,
        there is no split if n epsilon is too small for one. No effect with rule "random".
    public_model : regressor, default=None
        A regressor with ``fit`` and ``predict``, such as a random forest, which is fitted to the public rows
        alone. The released sums then correct it: every leaf gets an offset. The model is dropped, and the
        leaves are kept, if the sums show that it predicts nothing. Unless private rows choose the splits, the
        leaves are those of a small tree that imitates the model (rule "cart" on its predictions). Except for
        rounding, its prediction for a row must not depend on the other rows. With ``domain`` it gets rows in
        the same form as the ``public_model`` of the classifiers.
    max_rows_per_group : int, default=1
        With ``groups``: number of rows of one person that count, drawn at random. The noise grows in
        proportion.
    random_state : None, int, RandomState or Generator, default=None
        None: entropy of the operating system. Any other value makes the fit reproducible, and not private.
    ledger : PrivacyLedger, default=None
        Charged before any noise is drawn.

    Attributes
    ----------
    privacy_spent_ : PrivacySpent
        The budget that was spent, the unit that it protects, and the claim.
    bounds_ : tuple of two ndarrays of shape (n_features,)
        Lower and upper bounds of X.
    bounds_y_ : tuple of two floats
        Bounds of y, as declared, or those of the public rows.
    range_y_ : tuple of two floats
        Targets are clipped to these bounds, and predictions lie between them. They are ``bounds_y_``; if
        private rows choose the splits, noisy counts of the targets may have narrowed them.
    partition_ : Partition
        The tree: over public data, or with splits that private rows chose.
    max_depth_ : int
        Depth of the tree.
    n_leaves_ : int
        Number of leaves.
    rule_, mechanism_ : str
        The rule used ("private" if private rows chose the splits), and "histogram".
    randomizer_ : object
        The noise that was added.
    report_counts_ : ndarray of int64 of shape (n_leaves, 3)
        Noisy sums over the private rows of (1 - t)^2, 2 t (1 - t) and t^2 by leaf, in units of 2^-30.
        Together with the splits of ``partition_`` and the bounds ``range_y_``, if private rows chose these,
        they are all that the tree holds about these rows.
    n_reports_ : int
        Number of private rows; with ``groups``, the number of persons times ``max_rows_per_group``.
    public_counts_ : ndarray of shape (n_leaves, 2)
        Public rows by leaf: sums of 1 - t and of t, with t the target's share of the width of ``range_y_``.
    public_weight_ : ndarray of shape (n_leaves,)
        Weight of a public row in every leaf.
    public_slope_ : float
        Share of the differences between leaves, as public targets show them, that other public rows confirm,
        0 to 1.
    leaf_values_ : ndarray of shape (n_leaves,)
        Estimated mean of every leaf, in the unit of y; with ``public_model``, approximately the mean of its
        rows.
    leaf_depth_ : ndarray of int of shape (n_leaves,)
        ``max_depth_`` for every leaf.
    leaf_errors_ : ndarray of shape (n_leaves,)
        Standard deviations of ``leaf_values_`` due to noise and sampling, in the unit of y.
    leaf_sizes_ : ndarray of shape (n_leaves,)
        Estimated numbers of private rows in the leaves, above 0.
    base_value_ : float
        The mean of the whole tree.
    feature_importances_ : ndarray of shape (n_features,)
        Share of every feature in the decrease of the variance due to the splits, from released sums.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, if X has string names.
    domain_ : TableDomain
        The domain of the fit; only with ``domain``.

    See Also
    --------
    LocallyPrivateTreeRegressor : The same tree from reports of clients, who need not trust the curator.
    DPTreeClassifier : The same for labels.
    DPBoostingRegressor : Sums of shape functions, more accurate where effects add up.
    export_text : The rules of a fitted tree and the estimates of its leaves, as text.
    skprivate.inspection.PrivateTreeDisplay : The same as a picture.

    Notes
    -----
    **Privacy.** Relation: replace-one. A target, clipped to its bounds, is a share t of the width between
    them, on a grid of 2^-15. A row adds (1 - t)^2, 2 t (1 - t) and t^2 to three cells of its leaf. These are
    multiples of 2^-30 that add up to 1 exactly. Replacing a row changes the sums by at most 2 in L1.
    Replacing the ``max_rows_per_group`` rows of a person changes them by that many times as much. Exact
    discrete Laplace noise of scale sensitivity / epsilon is added to each sum. If private rows choose the
    splits (``rule_`` is "private"), every level also releases the numbers of the splits with the best noisy
    scores. Levels and leaves then share epsilon, which is charged once, before the first round. Noisy counts
    of the targets, in 32 bins between the declared bounds, come first, and cost a tenth of the splits' share.
    The bounds are narrowed to the bins where these counts show rows, which helps if the declared bounds are
    far too wide. Everything else is a function of these releases and of public rows. Whoever runs ``fit``
    sees the rows and is trusted. Not protected: the number of private rows, or with ``groups`` the number of
    persons, the public rows and bounds. A seeded fit, or one that reads bounds from private rows, claims
    "not-private".

    Proof: :doc:`/proofs/tree_release`.

    Means are estimated from the noisy sums and the weighted public rows. They are shrunk towards those of the
    nodes above and towards that of the whole tree, more strongly the larger their noise.

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate import DPTreeRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(20000, 2))
    >>> y = 10.0 * (X[:, 0] > 0.5) + rng.normal(size=20000)
    >>> tree = DPTreeRegressor(epsilon=1.0, bounds_X=(0, 1), bounds_y=(-5, 15)).fit(X, y)
    >>> bool(tree.score(X, y) > 0.9)
    True
    >>> tree.privacy_spent_.private, tree.privacy_spent_.epsilon
    (True, Fraction(1, 1))
    """

    # Measured on Friedman's, a linear, a skewed, a step and a weak function, with 4,000 and 40,000 rows, 50
    # and 400 public ones, and epsilon 0.5 and 2. With tight bounds, private splits were better from 400 on in
    # all cases but one, as good at 200, and worse below. With bounds ten times too wide they needed about
    # 1,600.
    _rows_for_a_public_row = 200

    declared_roles = {**TREE_ROLES, **NUMBER_ROLES}

    _parameter_constraints: dict[str, list[Any]] = {**TREE_CONSTRAINTS, **NUMBER_CONSTRAINTS}

    def __init__(
        self,
        epsilon: float | Fraction = 1.0,
        *,
        max_depth: int | Literal["auto"] = "auto",
        public_weight: float | Literal["auto"] = "auto",
        rule: SplitRule = "cart",
        min_samples_leaf: int = 0,
        bounds_X: Any = None,
        domain: TableDomain | None = None,
        bounds_y: Any = None,
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
        self.min_samples_leaf = min_samples_leaf
        self.bounds_X = bounds_X
        self.domain = domain
        self.bounds_y = bounds_y
        self.partition_seed = partition_seed
        self.split_share = split_share
        self.public_model = public_model
        self.max_rows_per_group = max_rows_per_group
        self.random_state = random_state
        self.ledger = ledger

    def _cells(self) -> NumberCells:
        return NumberCells.of_moments()

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        # 200 rows with 10 columns at epsilon 1 do not suffice for a split.
        tags.regressor_tags.poor_score = True
        return tags


# Locally private regression tree: every private row reports its leaf and its randomly rounded target.

# Numbers of levels that targets may be rounded to. Twice as many steps quarter the variance of the rounding.
_LEVELS = (2, 3, 5, 9)
# Number of leaves for which the number of levels is chosen; the choice depends little on it. Set by hand.
_TYPICAL_LEAVES = 16
# Ratio of variances that counts as equal: standard deviations then differ by a quarter of a percent. Set by
# hand.
_NEARLY_EQUAL = 1.005


@public_module("skprivate.tree")
class LocallyPrivateTreeRegressor(TreeRegressor):
    """Locally private regression tree, shaped by public rows.

    Public rows build a partition of the feature space. Every private row then sends one epsilon-LDP report of
    its leaf and of its target, which is rounded at random to one of a few levels. A leaf predicts a mean,
    estimated from the reports and its public rows. The depth, the levels and the weight of public rows are
    chosen from released and public quantities, so tuning costs nothing.

    Parameters
    ----------
    epsilon : float or Fraction, default=1.0
        Privacy loss of one report, > 0 and finite.
    max_depth : int or "auto", default="auto"
        Depth of the tree, from 1 to 30, or to 16 without public rows. "auto": as deep as the noise allows, or
        as the number of public rows allows, up to 12.
    public_weight : float or "auto", default="auto"
        Weight of a public row relative to a private one, between 0 and 1e100. "auto": chosen for each leaf,
        by how far the public targets are from the released sums. 0: public rows are used for the partition
        only.
    mechanism : {"auto", "hadamard", "krr", "subset", "unary"}, default="auto"
        How a report is randomised: "hadamard" is block-Hadamard response, "krr" k-ary randomised response on
        (leaf, level), "subset" subset selection, "unary" one bit per (leaf, level). "auto": the one with the
        smallest report whose exact variance is within a factor 1.05 of the smallest; "unary" replaces
        "subset" if its variance is within a factor 1.005.
    rule : {"cart", "max-edge", "random"}, default="cart"
        How public rows split a cell. "cart" takes the feature and the threshold that lower the variance of
        the public targets most, among at most 255 thresholds a feature. "max-edge" halves one of the longest
        edges of the cell, the one that lowers it most. "random" halves one of the longest edges at random.
        Without public rows the rule is "random", or "cart" on the reports of a share of the clients
        (`split_share`).
    protect : {"record", "label"}, default="record"
        "record": a report hides leaf and target. "label": the curator knows the features, and a report hides
        only the target, by randomised response on its level. This needs far less noise. `mechanism` must then
        be "auto" or "krr".
    min_samples_leaf : int, default=0
        Smallest number of public rows in a leaf; with "cart" at least 1. No effect without public rows. With
        ``public_model`` it counts the rows from which the model's small tree is grown: eight for each public
        or drawn row.
    bounds_X : pair or dict, default=None
        ``(lower, upper)`` of X, each a scalar or of shape (n_features,), or ``{column: (lower, upper)}``, in
        the units of X, from public knowledge. None: those of the public rows. Without public rows they are
        read from private rows, which is a leak. Rows outside are treated like rows on the boundary.
    domain : TableDomain, default=None
        Public knowledge about the columns of X, which may then hold text, categories, dates and missing
        cells. It declares their bounds.
    bounds_y : pair, default=None
        ``(lower, upper)`` of y in its unit, from public knowledge or from `estimate_bounds`, which spends
        budget. y is clipped to them without a warning. None: those of the public rows. Without public rows
        they are read from private rows, which is a leak.
    partition_seed : int, default=0
        Public seed of rule "random".
    split_share : float or "auto", default="auto"
        Without public rows: share of the clients whose reports shape the tree, from 0 to below 1. The reports
        of the others fill its leaves. "auto": 0.6, or 0 with up to 3 columns, and if a column would have too
        few reports for this epsilon. 0: the splits are drawn at random, as by rule "random". No effect with
        public rows, with rule "random", or with ``protect="label"``.
    public_model : regressor, default=None
        A regressor with ``fit`` and ``predict``, such as a random forest, which is fitted to the public rows
        alone. The released sums then correct it: every leaf gets an offset. The model is dropped, and the
        leaves are kept, if the sums show that it predicts nothing. Unless private rows choose the splits, the
        leaves are those of a small tree that imitates the model (rule "cart" on its predictions). Except for
        rounding, its prediction for a row must not depend on the other rows. With ``domain`` it gets rows in
        the same form as the ``public_model`` of the classifiers.
    max_rows_per_group : int, default=1
        Must be 1: a client sends one report.
    random_state : None, int, RandomState or Generator, default=None
        None: entropy of the operating system. Any other value makes the fit reproducible, and not private.
    ledger : PrivacyLedger, default=None
        Charged before any noise is drawn.

    Attributes
    ----------
    privacy_spent_ : PrivacySpent
        The budget that was spent, the unit that it protects, and the claim.
    bounds_ : tuple of two ndarrays of shape (n_features,)
        Lower and upper bounds of X.
    bounds_y_, range_y_ : tuple of two floats
        Bounds of y: targets are clipped to them, and predictions lie between them.
    partition_ : Partition
        The tree: over public data, or with splits that reports chose.
    max_depth_ : int
        Depth of the tree.
    n_leaves_ : int
        Number of leaves.
    rule_, mechanism_ : str
        The rule and the mechanism used.
    randomizer_ : object
        The mechanism that every client ran. ``n_labels`` is the number of levels that targets are rounded to.
    report_counts_ : ndarray of int64
        Sum of all reports about the leaves. Apart from ``split_counts_``, nothing else was released about
        private rows.
    n_reports_ : int
        Number of these reports.
    split_counts_ : ndarray of int64 of shape (n_columns, n_categories), or None
        Sum of the reports that shaped the tree; None if there were none.
    split_randomizer_ : ColumnRandomizer or None
        The mechanism of the clients whose reports shaped the tree.
    public_counts_ : ndarray of shape (n_leaves, 2)
        Public rows by leaf: sums of 1 - t and of t, with t the target's share of the width of ``range_y_``.
    public_weight_ : ndarray of shape (n_leaves,)
        Weight of a public row in every leaf.
    public_slope_ : float
        Share of the differences between leaves, as public targets show them, that other public rows confirm,
        0 to 1.
    leaf_values_ : ndarray of shape (n_leaves,)
        Estimated mean of every leaf, in the unit of y; with ``public_model``, approximately the mean of its
        rows.
    leaf_depth_ : ndarray of int of shape (n_leaves,)
        ``max_depth_`` for every leaf.
    leaf_errors_ : ndarray of shape (n_leaves,)
        Standard deviations of ``leaf_values_`` due to noise and sampling, in the unit of y.
    leaf_sizes_ : ndarray of shape (n_leaves,)
        Estimated numbers of private rows in the leaves, above 0.
    base_value_ : float
        The mean of the whole tree.
    feature_importances_ : ndarray of shape (n_features,)
        Share of every feature in the decrease of the variance due to the splits, from released sums.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, if X has string names.
    domain_ : TableDomain
        The domain of the fit; only with ``domain``.

    See Also
    --------
    DPTreeRegressor : The same tree for a trusted curator, with far less noise.
    LocallyPrivateTreeClassifier : The same for labels.
    LabelPrivateRegressor : Any regressor on randomised targets. It predicts better if only targets are
        protected and no rows are public.
    export_text : The rules of a fitted tree and the estimates of its leaves, as text.
    skprivate.inspection.PrivateTreeDisplay : The same as a picture.

    Notes
    -----
    **Privacy.** Relation: local, epsilon-LDP per report. There is one report per row, or with ``groups`` one
    per person (of a row drawn at random). A target, clipped to its bounds, is a share of the width between
    them. It is rounded at random to the level below or above, so that the mean of the level is the share. The
    client then sends an epsilon-LDP report of (leaf, level), drawn from fresh randomness. Rounding mixes
    reports whose probabilities are within a factor e^epsilon of each other, and the mixtures are within this
    factor too. The reports are drawn here, from rows that this process holds. A fit therefore *simulates*
    clients that randomise on their own devices, and whoever runs it sees the rows. The sum of the reports is
    released. Everything else is a function of it and of public rows. Not protected: the number of private
    rows, the public rows and bounds. A seeded fit, or one that reads bounds from private rows, claims
    "not-private". With ``protect="label"`` the relation is label: two private rows with the same features and
    different targets are hard to distinguish. The features themselves are NOT protected, so ``bounds_X`` may
    be read from them.

    Proof: :doc:`/proofs/tree_release`.

    **Without public rows**, a share of the clients, drawn at random, reports first. Each draws one column
    and reports its bin in this column with its target, rounded to one of two levels. A naive Bayes model of
    these reports shapes the tree, by rule "cart" on rows that are drawn from the model. It also predicts
    rows, together with the leaves. Each of the other clients then reports its leaf and target. Nobody reports
    twice.

    References
    ----------
    Ma, Zhang, Cai, Yang, Decision tree for locally private estimation with public data, 2023.

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate import LocallyPrivateTreeRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(20000, 2))
    >>> y = 10.0 * (X[:, 0] > 0.5) + rng.normal(size=20000)
    >>> is_public = rng.permutation(20000) < 50
    >>> tree = LocallyPrivateTreeRegressor(epsilon=2.0, bounds_X=(0, 1), bounds_y=(-5, 15))
    >>> tree = tree.fit(X, y, is_public=is_public)
    >>> bool(tree.score(X, y) > 0.8)
    True
    >>> tree.privacy_spent_.private, tree.privacy_spent_.epsilon
    (True, Fraction(2, 1))
    """

    _deployment = "simulated"
    _has_rounds = False
    _rows_are_called = "reports"

    declared_roles = {**TREE_ROLES, **NUMBER_ROLES, **LOCAL_ROLES}

    _parameter_constraints: dict[str, list[Any]] = {
        **TREE_CONSTRAINTS,
        **NUMBER_CONSTRAINTS,
        **LOCAL_CONSTRAINTS,
        "mechanism": [StrOptions({"auto", "hadamard", "krr", "subset", "unary"})],
    }

    def __init__(
        self,
        epsilon: float | Fraction = 1.0,
        *,
        max_depth: int | Literal["auto"] = "auto",
        public_weight: float | Literal["auto"] = "auto",
        mechanism: NumberMechanism = "auto",
        rule: SplitRule = "cart",
        protect: Protection = "record",
        min_samples_leaf: int = 0,
        bounds_X: Any = None,
        domain: TableDomain | None = None,
        bounds_y: Any = None,
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
        self.mechanism = mechanism
        self.rule = rule
        self.protect = protect
        self.min_samples_leaf = min_samples_leaf
        self.bounds_X = bounds_X
        self.domain = domain
        self.bounds_y = bounds_y
        self.partition_seed = partition_seed
        self.split_share = split_share
        self.public_model = public_model
        self.max_rows_per_group = max_rows_per_group
        self.random_state = random_state
        self.ledger = ledger

    def _cells(self) -> NumberCells:
        return min((NumberCells.of_levels(n_levels) for n_levels in _LEVELS), key=self._row_variance)

    def _row_variance(self, cells: NumberCells) -> float:
        """Return what a row adds to the variance of the sum of 2 t - 1 in a leaf, by noise and rounding."""
        noise = variance_per_row(self._make_reports(_TYPICAL_LEAVES, cells.n_cells), 1, cells)
        # A share is anywhere between two levels, so the mean of p (1 - p) is 1/6.
        rounding = 4 / 6 / (cells.n_cells - 1) ** 2
        return noise + rounding / _TYPICAL_LEAVES

    def _draw_labels(self, rows: TreeRows, numbers: IntArray, n_labels: int, entropy: Entropy) -> IntArray:
        assert rows.y is not None
        return round_at_random(shares_of(rows.y[numbers], rows.classes), n_labels, entropy.random_bytes)

    def _make_reports(self, n_cells: int, n_levels: int) -> LocalRandomizer:
        if self.protect == "label":
            return LabelRandomizer(self.epsilon, n_cells, n_levels)
        if self.mechanism == "hadamard":
            # Signed reports would not show the number of rows in a leaf.
            return HadamardRandomizer(self.epsilon, n_cells, n_levels, signed=False)
        made = make_randomizer(self.mechanism, self.epsilon, n_cells, n_levels, counts_cells=True)
        if self.mechanism == "auto" and isinstance(made, SubsetRandomizer):
            # A report has as many bytes, and the sum of many reports takes two draws a category.
            bits = UnaryRandomizer(self.epsilon, n_cells, n_levels)
            if bits.variance(1)[0] <= _NEARLY_EQUAL * made.variance(1)[0]:
                return bits
        return made

    def _make_randomizer(
        self, n_cells: int, n_labels: int, rows_per_unit: int, n_rows: int = 0, n_public: int = 0
    ) -> LocalRandomizer:
        return self._make_reports(n_cells, self._cells().n_cells)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        # 200 reports at epsilon 1 distinguish no leaf from another.
        tags.regressor_tags.poor_score = True
        return tags
