# SPDX-License-Identifier: BSD-3-Clause
"""The locally private classification tree: public rows shape it, private rows vote by one report each."""

from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from ..accounting import PrivacySpent
from ..base import (
    SHARED_CONSTRAINTS,
    PrivateEstimatorMixin,
    fit_context,
    without_private_text,
)
from ..noise import check_entropy
from ..randomizers import HadamardRandomizer, LaplaceRandomizer, LocalRandomizer
from ..utils import (
    as_labels,
    check_epsilon,
    check_row_mask,
    number_groups,
    select_rows,
)
from ..utils._compat import Interval, StrOptions
from ._estimation import DEEPEST, choose_depth, choose_weight, leaf_probabilities, leaf_shares
from ._leaf_kernels import count_leaves
from ._partition import Partition, build_partition
from ._rows import Rows, classes_of, declared_classes, warn_of_unknown_labels

FloatArray = NDArray[np.float64]

# Without public rows no cell stops early.
_DEEPEST_COMPLETE = 16

_RANDOMIZERS: dict[str, type[LocalRandomizer]] = {
    "hadamard": HadamardRandomizer,
    "laplace": LaplaceRandomizer,
}


class LocallyPrivateTreeClassifier(PrivateEstimatorMixin, ClassifierMixin, BaseEstimator):
    """Locally private classification tree (LPCT), shaped by public rows.

    Public rows build a partition of the feature space; every private row then sends one epsilon-LDP report of
    its leaf and label, and a leaf predicts by the noisy private majority together with its public rows. Depth
    and the weight of public rows are chosen from released and public quantities, so tuning costs nothing.

    Parameters
    ----------
    epsilon : float or Fraction, default=1.0
        Privacy loss of one report, > 0 and finite.
    max_depth : int or "auto", default="auto"
        Depth of the tree, from 1 to 30, without public rows to 16. "auto": as deep as the noise allows, to
        12.
    public_weight : float or "auto", default="auto"
        Weight of a public row against a private one, between 0 and 1e100. "auto": per leaf, by how far the
        public labels are from the released reports; 0 uses public rows for the partition only.
    mechanism : {"auto", "hadamard", "laplace"}, default="auto"
        "hadamard": two-byte block-Hadamard reports. "laplace": the paper's noisy one-hot vectors. "auto" is
        "hadamard".
    rule : {"max-edge", "random"}, default="max-edge"
        "max-edge" halves the longest edge of a cell that separates the public labels best; "random" halves a
        longest edge at random. Without public rows the rule is "random".
    criterion : {"gini", "entropy"}, default="gini"
        Impurity of public labels that "max-edge" minimises. No effect without public rows.
    prune : False, default=False
        Reserved: this version does not prune.
    min_samples_leaf : int, default=0
        Least number of public rows in a leaf. No effect without public rows.
    bounds : pair or dict, default=None
        ``(lower, upper)`` of X, each a scalar or of shape (n_features,), or ``{column: (lower, upper)}``; in
        the units of X, from public knowledge. None: those of the public rows; without public rows they are
        read from private rows, which is a leak. Rows outside are routed like rows on the boundary.
    classes : array-like of 2 labels, default=None
        The labels, from public knowledge; used in sorted order. None: those of the public rows; without
        public rows they are read from private rows, which is a leak. A label outside them counts as the first
        class: silently if it is private, with a warning if it is public.
    partition_seed : int, default=0
        Public seed of rule "random".
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
    classes_ : ndarray of shape (2,)
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
        The rule and the mechanism used.
    randomizer_ : LocalRandomizer
        What every client ran.
    report_counts_ : ndarray of int64
        Sum of all reports: all that was released about private rows.
    n_reports_ : int
        Number of reports.
    public_counts_ : ndarray of int64 of shape (n_leaves, 2)
        Public rows by leaf and label.
    public_weight_ : ndarray of shape (n_leaves,)
        Weight of a public row in every leaf.
    leaf_proba_ : ndarray of shape (n_leaves, 2)
        Class probabilities of every leaf.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, where X had string names.

    See Also
    --------
    skprivate.PublicPrivateSplit : Cross-validation that tests private rows only.
    skprivate.PrivacyLedger : Adds up what fits spend.

    Notes
    -----
    **Privacy.** Relation: local, epsilon-LDP per report; one report per row, or per person where ``groups``
    is passed (of a row drawn at random). Reports are drawn here from rows that this process holds, so a fit
    is a *simulation* of clients that randomise on their own devices: whoever runs it sees the rows. What is
    released is the sum of the reports; the partition, depth, weights and probabilities are functions of it
    and of public rows. Not protected: the number of private rows, the public rows, bounds and classes. A
    seeded fit, or one that reads bounds or classes from private rows, claims "not-private".
    ``predict_proba`` takes the number of private rows in a leaf from the public ones (P_X = Q_X); ``predict``
    depends on that only through the automatic weight.

    References
    ----------
    Ma, Yang, Optimal locally private nonparametric classification with public data, 2023.

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate import LocallyPrivateTreeClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(20000, 2))
    >>> y = (X[:, 0] > 0.5).astype(int)
    >>> is_public = np.arange(20000) < 50
    >>> tree = LocallyPrivateTreeClassifier(epsilon=1.0, bounds=(0, 1), classes=[0, 1])
    >>> tree = tree.fit(X, y, is_public=is_public)
    >>> bool(tree.score(X, y) > 0.9)
    True
    >>> tree.privacy_spent_.private, tree.privacy_spent_.epsilon
    (True, Fraction(1, 1))
    """

    # Asked for by default: the mask and the groups are what the guarantee is about.
    __metadata_request__fit = {"is_public": True, "groups": True}

    _parameter_constraints: dict[str, list[Any]] = {
        **SHARED_CONSTRAINTS,
        "max_depth": [StrOptions({"auto"}), Interval(Integral, 1, 30, closed="both")],
        "public_weight": [StrOptions({"auto"}), Interval(Real, 0, 1e100, closed="both")],
        "mechanism": [StrOptions({"auto", *_RANDOMIZERS})],
        "rule": [StrOptions({"max-edge", "random"})],
        "criterion": [StrOptions({"gini", "entropy"})],
        "prune": ["boolean"],
        "min_samples_leaf": [Interval(Integral, 0, None, closed="left")],
        "bounds": ["array-like", Mapping, None],
        "classes": ["array-like", None],
        "partition_seed": [Interval(Integral, 0, None, closed="left")],
    }

    def __init__(
        self,
        epsilon: Any = 1.0,
        *,
        max_depth: Any = "auto",
        public_weight: Any = "auto",
        mechanism: str = "auto",
        rule: str = "max-edge",
        criterion: str = "gini",
        prune: bool = False,
        min_samples_leaf: int = 0,
        bounds: Any = None,
        classes: Any = None,
        partition_seed: int = 0,
        max_rows_per_group: int = 1,
        random_state: Any = None,
        ledger: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.max_depth = max_depth
        self.public_weight = public_weight
        self.mechanism = mechanism
        self.rule = rule
        self.criterion = criterion
        self.prune = prune
        self.min_samples_leaf = min_samples_leaf
        self.bounds = bounds
        self.classes = classes
        self.partition_seed = partition_seed
        self.max_rows_per_group = max_rows_per_group
        self.random_state = random_state
        self.ledger = ledger

    @fit_context
    def fit(self, X: Any, y: Any, is_public: Any = None, groups: Any = None) -> Self:
        """Build the tree on the public rows and fill it with one report per private row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Finite numbers.
        y : array-like of shape (n_samples,)
            Two classes. A list may mix types; an array or a column that was made from mixed labels has
            already given them one type.
        is_public : array-like of bool of shape (n_samples,), default=None
            Marks public rows. None: every row is private.
        groups : array-like of shape (n_samples,), default=None
            Person of every row; a person sends one report, of one of their private rows drawn at random.
            None: the unit of privacy is the row. In a search or a pipeline, groups arrive here only where
            scikit-learn's metadata routing is on; ``privacy_spent_.unit`` tells.

        Returns
        -------
        self : LocallyPrivateTreeClassifier

        Raises
        ------
        TypeError, ValueError
            Unusable rows, labels, mask, groups or parameters; nothing is charged then.
        PrivacyLeakError
            In strict mode, where bounds or classes would be read from private rows.
        BudgetExceededError, LedgerError
            The ledger refused; nothing is charged, and a previous fit is as it was.
        """
        self._check_parameters()
        X, y = validate_data(self, X, as_labels(y), dtype=np.float64, order="C")
        public = check_row_mask(is_public, len(X))
        if public.all():
            raise ValueError(
                "is_public marks every row, so there is nothing to protect; use a plain classifier."
            )
        leaks = self._find_leaks(public)
        self._announce_leaks(leaks)
        rows = self._split_rows(X, y, public, groups)
        partition, randomizer = self._build(rows)
        categories = 2 * partition.apply(rows.private_X) + rows.private_labels
        entropy = check_entropy(self.random_state)
        spent = self._describe_spending(rows, partition, randomizer, entropy, leaks)
        self._charge(spent)
        if rows.groups is not None:
            categories = categories[select_rows(rows.groups, 1, entropy.random_bytes)]
        self.report_counts_ = randomizer.simulate(categories, entropy)
        self.n_reports_ = len(categories)
        self.privacy_spent_ = spent
        self._finish(rows, partition, randomizer)
        return self

    def _check_parameters(self) -> None:
        check_epsilon(self.epsilon)
        if self.prune:
            raise ValueError("prune=True is not available in this version; pass prune=False.")
        if self.max_rows_per_group != 1:
            raise ValueError("max_rows_per_group must be 1: a client sends one report, of one of its rows.")

    def _check_depth(self, n_public: int) -> int:
        if self.max_depth == "auto":
            return DEEPEST
        if not n_public and self.max_depth > _DEEPEST_COMPLETE:
            raise ValueError(
                f"max_depth must be at most {_DEEPEST_COMPLETE} without public rows: the tree is complete "
                "then, with 2^max_depth leaves."
            )
        return int(self.max_depth)

    def _find_leaks(self, public: NDArray[np.bool_]) -> list[str]:
        """What would have to be read from private rows; found before any of them is looked at."""
        if public.any():
            return []
        wanted = {
            "the bounds of X were read from private rows": self.bounds,
            "the classes were read from private rows": self.classes,
        }
        return [leak for leak, declared in wanted.items() if declared is None]

    def _split_rows(self, X: FloatArray, y: NDArray[Any], public: NDArray[np.bool_], groups: Any) -> Rows:
        """Resolve bounds and classes, and part the rows by owner."""
        codes = number_groups(groups, ~public)
        self.bounds_ = self._resolve_bounds(self.bounds, X, X[public])
        if self.classes is None:
            self.classes_ = classes_of(y[public] if public.any() else y)
        else:
            self.classes_ = declared_classes(self.classes)
            warn_of_unknown_labels(y[public], self.classes_)
        return Rows.part(X, (y == self.classes_[1]).astype(np.int32), public, codes)

    def _build(self, rows: Rows) -> tuple[Partition, LocalRandomizer]:
        """Return the partition at its final depth, and what every client will run."""
        lower, upper = self.bounds_
        self.rule_ = self.rule if len(rows.public_X) else "random"
        self.mechanism_ = "hadamard" if self.mechanism == "auto" else self.mechanism
        partition = build_partition(
            rows.public_X,
            rows.public_labels,
            lower=lower,
            upper=upper,
            max_depth=self._check_depth(len(rows.public_X)),
            n_labels=2,
            rule=self.rule_,
            criterion=self.criterion,
            min_samples_leaf=self.min_samples_leaf,
            seed=self.partition_seed,
        )
        if self.max_depth == "auto":
            leaf_counts = partition.leaf_counts_by_depth()
            depth = choose_depth(rows.n_units, leaf_counts, lambda n: self._randomizer(n).variance(1)[0])
            partition = partition.truncate(depth)
        return partition, self._randomizer(partition.n_leaves)

    def _randomizer(self, n_leaves: int) -> LocalRandomizer:
        return _RANDOMIZERS[self.mechanism_](self.epsilon, n_leaves)

    def _describe_spending(
        self, rows: Rows, partition: Partition, randomizer: LocalRandomizer, entropy: Any, leaks: list[str]
    ) -> PrivacySpent:
        seeded = [] if entropy.private else ["random_state is seeded: who knows the seed can undo the noise"]
        reasons = (*leaks, *seeded)
        declared = [name for name in ("bounds", "classes") if getattr(self, name) is not None]
        public = ["public rows with their labels"] if len(rows.public_X) else []
        return PrivacySpent(
            mechanism=randomizer.describe(),
            epsilon=randomizer.epsilon,
            relation="local",
            unit="row" if rows.groups is None else "group",
            max_rows_per_unit=1,
            sensitivity=randomizer.sensitivity,
            noise_scale=randomizer.noise_scale,
            noise_source=entropy.source,
            deployment="simulated",
            public_inputs=(*public, *declared),
            unprotected={
                "reports": rows.n_units,
                "public rows": len(rows.public_X),
                "depth": partition.max_depth,
                "leaves": partition.n_leaves,
                **self._unprotected_sources(rows),
            },
            claim="not-private" if reasons else "dp",
            reasons=reasons,
        )

    def _unprotected_sources(self, rows: Rows) -> dict[str, str]:
        read = "those of the public rows" if len(rows.public_X) else "READ FROM PRIVATE ROWS"
        sources = {
            name: read if getattr(self, name) is None else "declared" for name in ("bounds", "classes")
        }
        if rows.groups is not None and len(rows.public_X):
            sources["public rows of a person"] = "used in clear; only the person's private rows are protected"
        return sources

    def _finish(self, rows: Rows, partition: Partition, randomizer: LocalRandomizer) -> None:
        """Post-process the release: weights and probabilities of the leaves."""
        self.partition_ = partition
        self.randomizer_ = randomizer
        self.max_depth_ = partition.max_depth
        self.n_leaves_ = partition.n_leaves
        self.public_counts_ = np.zeros((partition.n_leaves, 2), dtype=np.int64)
        count_leaves(partition.apply(rows.public_X), rows.public_labels, self.public_counts_)
        signed = randomizer.estimate(self.report_counts_, self.n_reports_)
        if self.public_weight == "auto":
            variance = float(randomizer.variance(1)[0])
            self.public_weight_ = choose_weight(signed, self.n_reports_, self.public_counts_, variance)
        else:
            self.public_weight_ = np.full(partition.n_leaves, float(self.public_weight))
        cells = self.n_reports_ * leaf_shares(self.public_counts_)
        second = leaf_probabilities(signed, cells, self.public_counts_, self.public_weight_)
        self.leaf_proba_ = np.column_stack([1.0 - second, second])

    @without_private_text
    def apply(self, X: ArrayLike) -> NDArray[np.int32]:
        """Return the leaf of every row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        leaves : ndarray of int32 of shape (n_samples,)
            Between 0 and ``n_leaves_ - 1``.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, order="C", reset=False)
        return self.partition_.apply(X)

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Return the class probabilities of every row's leaf.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        probabilities : ndarray of shape (n_samples, 2)
            Columns in the order of ``classes_``.
        """
        leaves = self.apply(X)
        return self.leaf_proba_[leaves]

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the class of every row's leaf; an even leaf takes the first class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        leaves = self.apply(X)
        return self.classes_[(self.leaf_proba_[:, 1] > 0.5).astype(np.intp)][leaves]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags
