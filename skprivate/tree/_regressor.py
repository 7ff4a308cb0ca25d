# SPDX-License-Identifier: BSD-3-Clause
"""Private regression trees: of a trusted curator, and of clients who report; what a number is to both."""

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

# Trees of numbers: targets between public bounds, means of the leaves, and their intervals.

NUMBER_CONSTRAINTS: dict[str, list[Any]] = {
    "bounds_X": ["array-like", Mapping, None],
    "bounds_y": ["array-like", None],
    "public_model": [HasMethods(["fit", "predict"]), None],
}
NUMBER_ROLES = assign_roles(release="bounds_X bounds_y")


class TreeRegressor(RegressorMixin, PrivateTree):
    """A private tree whose target is a number between public bounds.

    A number is a share t of the width between its bounds, from 0 to 1, and a leaf has the two shares 1 - t
    and t, as if they were those of two labels.
    """

    bounds_y: Any
    bounds_y_: tuple[float, float]
    range_y_: tuple[float, float]
    leaf_values_: FloatArray

    # Means of shares have one impurity, and no leading class to prune by.
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

    def _known_target(self) -> NDArray[Any]:
        return np.array(self.range_y_)

    @property
    def _leaf_shares(self) -> FloatArray:
        return self._shares

    @property
    def _share_errors(self) -> FloatArray:
        return self._errors

    def _describe_estimate(self, leaf: int, decimals: int) -> str:
        value, error = float(self.leaf_values_[leaf]), float(self.leaf_errors_[leaf])
        return f"value: {value:.{decimals}f} +- {error:.{decimals}f}"

    def _set_estimates(self, estimates: LeafEstimates) -> None:
        self._shares, self._errors = estimates.shares.probabilities, estimates.shares.errors
        self.leaf_values_ = self._in_units(self._shares[:, 1])
        # Halves first: a width may be more than the largest float.
        self.leaf_errors_ = 2 * self._errors * (self.range_y_[1] / 2 - self.range_y_[0] / 2)
        base = estimates.shares.base
        self.base_value_ = float(self._in_units(base.shares[1]))
        # In widths of the bounds.
        self._base_error = float(np.sqrt(base.variances[1]))

    def _in_units(self, shares: Any) -> Any:
        """Return shares of the width as numbers in the unit of y."""
        low, high = self.range_y_
        # A rounding may pass a bound.
        return np.clip((1 - shares) * low + shares * high, low, high)

    def reweighted(self, *, public_weight: float | Literal["auto"]) -> Self:
        """Return a copy with another weight of public rows: no data are needed, nothing is spent.

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
        """Return the mean of every row's leaf, or with ``public_model`` its own prediction.

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
            Of each interval, above 0 and below 1.

        Returns
        -------
        intervals : ndarray of shape (n_leaves, 2)
            Of the mean, among all rows like the private ones, of y clipped to ``range_y_``, leaf by leaf.
            They rest on the release alone: the prediction, which public rows and the other leaves helped, may
            lie outside. ``range_y_`` where noise does not let the leaf be seen. For rows:
            ``tree.leaf_intervals()[tree.apply(X)]``.

        Raises
        ------
        ValueError
            The confidence is out of range.

        Notes
        -----
        **Privacy.** A function of what was released and of what is public: it costs nothing.

        The interval holds every mean that the released sums do not contradict (Fieller): so the noise of the
        number of rows in the leaf is in it, and there is one however small the leaf. The noise's variance is
        known; that of y within the leaf is estimated from released sums of squares. Quantiles are normal ones
        with a correction for the tails of Laplace noise (Cornish and Fisher). Where private rows chose the
        splits, these draw the means of the leaves apart on the same rows: an allowance for that is added, as
        if no split but the choice made the leaves differ, and intervals are wider than need be where splits
        are clear.
        """
        check_is_fitted(self)
        if not isinstance(confidence, Real) or not 0 < confidence < 1:
            raise ValueError("confidence must be a number between 0 and 1.")
        design = self._design_of_release()
        found = share_intervals(design, self.report_counts_, self.n_reports_, self._shares[:, 1], confidence)
        return self._in_units(found)


# Regression tree of a trusted curator: noisy sums of the private targets, and of their squares, by leaf.


@public_module("skprivate.tree")
class DPTreeRegressor(TreeRegressor):
    """Differentially private regression tree of a trusted curator, shaped by public rows or paid splits.

    Public rows build a partition of the feature space, or private rows pay for it where public ones are few
    or missing (``split_share``); the curator sums the targets of the private rows by leaf, adds discrete
    Laplace noise once, and a leaf predicts the mean that the noisy sums and its public rows tell. The same
    noise tells the number of rows in a leaf and how much targets vary there, so that leaves have intervals.

    Parameters
    ----------
    epsilon : float or Fraction, default=1.0
        Greatest privacy loss of the release, > 0 and finite; ``privacy_spent_`` states what was spent, never
        more, and less only where a fraction had too many digits.
    max_depth : int or "auto", default="auto"
        Depth of the tree, from 1 to 30, without public rows to 16. "auto": as deep as the noise allows, to
        12. Splits that private rows pay for go no deeper than 16, and than their sums fit 1 GiB.
    public_weight : float or "auto", default="auto"
        Weight of a public row against a private one, between 0 and 1e100. "auto": per leaf, by how far the
        public targets are from the released sums; 0 uses public rows for the partition only.
    rule : {"cart", "max-edge", "random"}, default="cart"
        "cart" takes the feature and the threshold that lower the variance of the public targets most, among
        at most 255 thresholds a feature; "max-edge" halves the longest edge of a cell that does; "random"
        halves a longest edge at random. Where private rows choose the splits (`split_share`), only
        "random" has an effect: there is no such choice then. Without public rows and without such a choice
        the rule is "random".
    min_samples_leaf : int, default=0
        Least number of public rows in a leaf, with "cart" at least 1. No effect without public rows. With
        ``public_model`` it is about rows that stand for the model, eight for each public or drawn one.
    bounds_X : pair or dict, default=None
        ``(lower, upper)`` of X, each a scalar or of shape (n_features,), or ``{column: (lower, upper)}``; in
        the units of X, from public knowledge. None: those of the public rows; without public rows they are
        read from private rows, which is a leak. Rows outside are routed like rows on the boundary.
    domain : TableDomain, default=None
        What is publicly known of the columns of X, which may then hold text, categories, dates and missing
        cells; it declares their bounds.
    bounds_y : pair, default=None
        ``(lower, upper)`` of y in its unit, from public knowledge or paid for (`estimate_bounds`); y is
        clipped to them in silence. None: those of the public rows; without public rows they are read from
        private rows, which is a leak.
    partition_seed : int, default=0
        Public seed of rule "random".
    split_share : float or "auto", default="auto"
        Share of epsilon that private rows get to choose the splits, from 0 to below 1; the leaves get the
        rest. 0: public rows choose them by `rule`, and without public rows they are drawn at random; they
        cost nothing then. "auto": 0.7 without public rows, and where the number of private rows times epsilon
        is more than 200 times that of public rows; else 0. Without public rows there is no split where n
        epsilon is too small for one. With rule "random" no effect.
    public_model : regressor, default=None
        A regressor with ``fit`` and ``predict``, such as a random forest, which is fitted to the public rows
        alone. The released sums then correct it: every leaf gets an offset, and the model is given up where
        they show that it says nothing; the leaves stay. They are those of a small tree that stands for the
        model (rule "cart" on its predictions), unless private rows choose them. What it predicts for a row
        must not depend on the rows beside it, but for rounding. With ``domain`` it gets rows as the
        ``public_model`` of the classifiers does.
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
    bounds_ : tuple of two ndarrays of shape (n_features,)
        Lower and upper bounds of X.
    bounds_y_ : tuple of two floats
        Bounds of y, as declared, or those of the public rows.
    range_y_ : tuple of two floats
        Targets are clipped to these two, and predictions keep to them: ``bounds_y_``, or where private rows
        choose the splits, what noisy counts of the targets have narrowed them to.
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
    report_counts_ : ndarray of int64 of shape (n_leaves, 3)
        Noisy sums over the private rows of (1 - t)^2, 2 t (1 - t) and t^2 by leaf, in units of 2^-30: with
        the splits of ``partition_``, where private rows paid for them, all that was released about these
        rows.
    n_reports_ : int
        Number of private rows; with ``groups`` that of persons, times ``max_rows_per_group``.
    public_counts_ : ndarray of shape (n_leaves, 2)
        Public rows by leaf: sums of 1 - t and of t, where t is the target's share of the width of
        ``bounds_y_``.
    public_weight_ : ndarray of shape (n_leaves,)
        Weight of a public row in every leaf.
    public_slope_ : float
        How much of what public targets show in leaves that they shaped holds on other public rows, 0 to 1.
    leaf_values_ : ndarray of shape (n_leaves,)
        Estimated mean of every leaf, in the unit of y; with ``public_model`` about the means of its rows.
    leaf_depth_ : ndarray of int of shape (n_leaves,)
        ``max_depth_`` for every leaf.
    leaf_errors_ : ndarray of shape (n_leaves,)
        Standard deviations of ``leaf_values_`` by noise and sampling, in the unit of y.
    leaf_sizes_ : ndarray of shape (n_leaves,)
        Estimated numbers of private rows in the leaves, above 0.
    base_value_ : float
        The mean of the whole tree.
    feature_importances_ : ndarray of shape (n_features,)
        Share of every feature in the decrease of the variance by the splits, from released sums.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, where X had string names.
    domain_ : TableDomain
        The domain of the fit. Only with ``domain``.

    See Also
    --------
    LocallyPrivateTreeRegressor : The same tree from reports of clients who trust nobody.
    DPTreeClassifier : The same for labels.
    DPBoostingRegressor : Sums of shape functions, more accurate where effects add up.
    export_text : The rules of a fitted tree and the estimates of its leaves, as text.
    skprivate.inspection.PrivateTreeDisplay : The same as a picture.

    Notes
    -----
    **Privacy.** Relation: replace-one. A target, clipped to its bounds, is a share t of the width between
    them, on a grid of 2^-15. A row adds (1 - t)^2, 2 t (1 - t) and t^2 to three cells of its leaf: whole
    numbers of 2^-30 that add up to 1 exactly. Replacing a row moves these sums by 2 in L1 at most, replacing
    the ``max_rows_per_group`` rows of a person by so many times as much, and exact discrete Laplace noise of
    scale sensitivity / epsilon is added to each. Where private rows choose the splits (``rule_`` is
    "private"), every level releases the numbers of the splits that are best by noisy scores; levels and
    leaves then share epsilon, which is charged once, before the first round. Noisy counts of the
    targets, in 32 bins between the declared bounds, come first, and cost a tenth of the splits' share: the
    bounds are narrowed to where these show rows, which pays where declared ones are far too wide. Everything
    else is a function of that and of public rows. Whoever runs ``fit`` sees the rows and is trusted. Not
    protected: the number of private rows, or with ``groups`` the number of persons, the public rows and
    bounds. A seeded fit, or one that reads bounds from private rows, claims "not-private".

    Proof: :doc:`/proofs/tree_release`.

    Means are those of the noisy sums and the weighted public rows, drawn to those of the nodes above and to
    that of the whole tree as far as their noise demands.

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

    # On Friedman's, a linear, a skewed, a step and a weak function, with 4,000 and 40,000 rows, 50 and 400
    # public ones, epsilon .5 and 2: from 400 on paid splits were better within tight bounds in all cases but
    # one, at 200 as good, below it worse; within bounds ten times too wide they needed about 1,600.
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
        # 200 rows with 10 columns at epsilon 1 pay for no split.
        tags.regressor_tags.poor_score = True
        return tags


# Locally private regression tree: every private row reports its leaf and a random rounding of its target.

# Levels that targets may be rounded to: each doubling of the steps quarters the variance of the rounding.
_LEVELS = (2, 3, 5, 9)
# Leaves of the tree that the number of levels is chosen for; it changes little with them.
_TYPICAL_LEAVES = 16
# Of variances; the standard deviations differ by a quarter of a percent.
_NEARLY_EQUAL = 1.005


@public_module("skprivate.tree")
class LocallyPrivateTreeRegressor(TreeRegressor):
    """Locally private regression tree, shaped by public rows.

    Public rows build a partition of the feature space; every private row then sends one epsilon-LDP report of
    its leaf and of its target, which is rounded at random to one of a few levels, and a leaf predicts the
    mean that the reports and its public rows tell. Depth, levels and the weight of public rows follow from
    released and public quantities, so tuning costs nothing.

    Parameters
    ----------
    epsilon : float or Fraction, default=1.0
        Privacy loss of one report, > 0 and finite.
    max_depth : int or "auto", default="auto"
        Depth of the tree, from 1 to 30, without public rows to 16. "auto": as deep as the noise allows, or
        as public rows fill, to 12.
    public_weight : float or "auto", default="auto"
        Weight of a public row against a private one, between 0 and 1e100. "auto": per leaf, by how far the
        public targets are from the released sums; 0 uses public rows for the partition only.
    mechanism : {"auto", "hadamard", "krr", "subset", "unary"}, default="auto"
        How a report is randomised: block-Hadamard response, k-ary randomised response on (leaf, level),
        subset selection, or one bit per (leaf, level). "auto": the cheapest to send whose exact variance is
        within 1.05 of the least, and not "subset" where that of "unary" is within 1.005 of it.
    rule : {"cart", "max-edge", "random"}, default="cart"
        "cart" takes the feature and the threshold that lower the variance of the public targets most, among
        at most 255 thresholds a feature; "max-edge" halves the longest edge of a cell that does; "random"
        halves a longest edge at random. Without public rows the rule is "random", or "cart" on what
        a share of the clients reports (`split_share`).
    protect : {"record", "label"}, default="record"
        "record": a report hides leaf and target. "label": the curator knows the features, and a report hides
        the target alone, by randomised response on its level: far less noise. "mechanism" must be "auto" or
        "krr" then.
    min_samples_leaf : int, default=0
        Least number of public rows in a leaf, with "cart" at least 1. No effect without public rows. With
        ``public_model`` it is about rows that stand for the model, eight for each public or drawn one.
    bounds_X : pair or dict, default=None
        ``(lower, upper)`` of X, each a scalar or of shape (n_features,), or ``{column: (lower, upper)}``; in
        the units of X, from public knowledge. None: those of the public rows; without public rows they are
        read from private rows, which is a leak. Rows outside are routed like rows on the boundary.
    domain : TableDomain, default=None
        What is publicly known of the columns of X, which may then hold text, categories, dates and missing
        cells; it declares their bounds.
    bounds_y : pair, default=None
        ``(lower, upper)`` of y in its unit, from public knowledge or paid for (`estimate_bounds`); y is
        clipped to them in silence. None: those of the public rows; without public rows they are read from
        private rows, which is a leak.
    partition_seed : int, default=0
        Public seed of rule "random".
    split_share : float or "auto", default="auto"
        Without public rows: share of the clients whose reports shape the tree, from 0 to below 1; the others
        fill its leaves. "auto": 0.6, or 0 where a column would have too few reports for this epsilon, and
        with up to 3 columns. 0: the splits are drawn at random, as by rule "random". No effect with public
        rows, with rule "random", or with ``protect="label"``.
    public_model : regressor, default=None
        A regressor with ``fit`` and ``predict``, such as a random forest, which is fitted to the public rows
        alone. The released sums then correct it: every leaf gets an offset, and the model is given up where
        they show that it says nothing; the leaves stay. They are those of a small tree that stands for the
        model (rule "cart" on its predictions), unless private rows choose them. What it predicts for a row
        must not depend on the rows beside it, but for rounding. With ``domain`` it gets rows as the
        ``public_model`` of the classifiers does.
    max_rows_per_group : int, default=1
        Must be 1: a client sends one report.
    random_state : None, int, RandomState or Generator, default=None
        None: entropy of the operating system. Anything else makes the fit reproducible, and not private.
    ledger : PrivacyLedger, default=None
        Charged before any noise is drawn.

    Attributes
    ----------
    privacy_spent_ : PrivacySpent
        What was spent, on what unit, and what is claimed.
    bounds_ : tuple of two ndarrays of shape (n_features,)
        Lower and upper bounds of X.
    bounds_y_, range_y_ : tuple of two floats
        Bounds of y: targets are clipped to them, and predictions keep to them.
    partition_ : Partition
        The tree over public data.
    max_depth_ : int
        Depth of the tree.
    n_leaves_ : int
        Number of leaves.
    rule_, mechanism_ : str
        The rule and the mechanism used.
    randomizer_ : object
        What every client ran: ``n_labels`` is the number of levels that targets are rounded to.
    report_counts_ : ndarray of int64
        Sum of all reports about the leaves: with ``split_counts_``, all that was released about private rows.
    n_reports_ : int
        Number of these reports.
    split_counts_ : ndarray of int64 of shape (n_columns, n_categories), or None
        Sum of the reports that shaped the tree; None where none did.
    split_randomizer_ : ColumnRandomizer or None
        What the clients ran whose reports shaped the tree.
    public_counts_ : ndarray of shape (n_leaves, 2)
        Public rows by leaf: sums of 1 - t and of t, where t is the target's share of the width of
        ``bounds_y_``.
    public_weight_ : ndarray of shape (n_leaves,)
        Weight of a public row in every leaf.
    public_slope_ : float
        How much of what public targets show in leaves that they shaped holds on other public rows, 0 to 1.
    leaf_values_ : ndarray of shape (n_leaves,)
        Estimated mean of every leaf, in the unit of y; with ``public_model`` about the means of its rows.
    leaf_depth_ : ndarray of int of shape (n_leaves,)
        ``max_depth_`` for every leaf.
    leaf_errors_ : ndarray of shape (n_leaves,)
        Standard deviations of ``leaf_values_`` by noise and sampling, in the unit of y.
    leaf_sizes_ : ndarray of shape (n_leaves,)
        Estimated numbers of private rows in the leaves, above 0.
    base_value_ : float
        The mean of the whole tree.
    feature_importances_ : ndarray of shape (n_features,)
        Share of every feature in the decrease of the variance by the splits, from released sums.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, where X had string names.
    domain_ : TableDomain
        The domain of the fit. Only with ``domain``.

    See Also
    --------
    DPTreeRegressor : The same tree for a trusted curator, with far less noise.
    LocallyPrivateTreeClassifier : The same for labels.
    LabelPrivateRegressor : Any regressor on randomised targets: where only these are protected and no rows
        are public, it predicts better.
    export_text : The rules of a fitted tree and the estimates of its leaves, as text.
    skprivate.inspection.PrivateTreeDisplay : The same as a picture.

    Notes
    -----
    **Privacy.** Relation: local, epsilon-LDP per report; one report per row, or per person where ``groups``
    is passed (of a row drawn at random). A target, clipped to its bounds, is a share of the width between
    them; it is rounded to the level below or above with probabilities whose mean is the share, and the
    report is an epsilon-LDP report of (leaf, level), drawn from fresh randomness. A mixture of reports that
    are within a factor e^epsilon of each other stays within it, whatever the rounding. Reports are drawn here
    from rows that this process holds, so a fit is a *simulation* of clients that randomise on their own
    devices: whoever runs it sees the rows. What is released is the sum of the reports; everything else is a
    function of it and of public rows. Not protected: the number of private rows, the public rows and bounds.
    A seeded fit, or one that reads bounds from private rows, claims "not-private". With ``protect="label"``
    the relation is label: two private rows with the same features and different targets are hard to tell
    apart, and the features themselves are NOT protected, so ``bounds_X`` may be read from them.

    Proof: :doc:`/proofs/tree_release`.

    **Without public rows** a share of the clients, drawn at random, reports first: each draws one column and
    reports its bin there with its target, rounded to one of two levels. A naive Bayes model of these reports
    shapes the tree, by rule "cart" on rows that are drawn from it, and predicts rows together with the
    leaves. Each of the other clients then reports its leaf and target. Nobody reports twice.

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
        """Return what a row adds to the variance of the sum of 2 t - 1 in a leaf: noise and rounding."""
        noise = variance_per_row(self._make_reports(_TYPICAL_LEAVES, cells.n_cells), 1, cells)
        # A share of the width lies anywhere between two levels: the mean of p (1 - p) is 1/6.
        rounding = 4 / 6 / (cells.n_cells - 1) ** 2
        return noise + rounding / _TYPICAL_LEAVES

    def _draw_labels(self, rows: TreeRows, numbers: IntArray, n_labels: int, entropy: Entropy) -> IntArray:
        assert rows.y is not None
        return round_at_random(shares_of(rows.y[numbers], rows.classes), n_labels, entropy.random_bytes)

    def _make_reports(self, n_cells: int, n_levels: int) -> LocalRandomizer:
        if self.protect == "label":
            return LabelRandomizer(self.epsilon, n_cells, n_levels)
        if self.mechanism == "hadamard":
            # Signed reports would not show how full a leaf is.
            return HadamardRandomizer(self.epsilon, n_cells, n_levels, signed=False)
        made = make_randomizer(self.mechanism, self.epsilon, n_cells, n_levels, counts_cells=True)
        if self.mechanism == "auto" and isinstance(made, SubsetRandomizer):
            # As many bytes, and the sums of many reports are drawn in two draws a category.
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
