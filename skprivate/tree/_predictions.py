# SPDX-License-Identifier: BSD-3-Clause
"""Fitted private trees: attributes of a release, post-processing again, leaves and predictions of rows."""

import copy
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from .._typing import FloatArray, IntArray
from ..accounting import PrivacySpent
from ..base import redact_errors
from ..base._domain_reading import DomainMixin
from ..partition import Partition
from ..randomizers import LocalRandomizer
from ..utils._compat import validate_parameter_constraints
from ._estimation.leaf_estimates import estimate_leaves, pruning_method
from ._estimation.offsets import ModelWithOffsets
from ._public_model import LeafModel
from ._reading.nodes import NodeEstimates, gini_importances, leaf_paths
from ._reading.utility_warning import warn_of_low_utility
from ._tree_design import ReleaseMechanism, TreeDesign


class TreePredictionsMixin(DomainMixin):
    """The methods of a private tree that need its released counts and no private row."""

    public_weight: Any
    prune: Any
    _parameter_constraints: dict[str, list[Any]]

    classes_: NDArray[Any]
    bounds_: tuple[FloatArray, FloatArray]
    rule_: str
    partition_: Partition
    randomizer_: ReleaseMechanism
    public_counts_: IntArray
    report_counts_: IntArray
    n_reports_: int
    leaf_proba_: FloatArray
    leaf_sizes_: FloatArray
    leaf_errors_: FloatArray
    split_counts_: IntArray | None
    split_randomizer_: LocalRandomizer | None

    # What trees of earlier versions, in pickles, have not heard of: they predict as they did.
    split_share: Any = 0
    public_model: Any = None
    _leaf_model: LeafModel | None = None
    _offsets: ModelWithOffsets | None = None

    def _adopt(self, design: TreeDesign, counts: IntArray, n_used: int, spent: PrivacySpent) -> None:
        """Take over a release, whoever collected it, and post-process it."""
        self.n_features_in_ = design.partition.n_features
        if design.feature_names is not None:
            self.feature_names_in_ = np.array(design.feature_names, dtype=object)
        self.name_columns()
        self.classes_, self.bounds_ = design.classes, design.bounds
        self.rule_, self.mechanism_ = design.rule, design.randomizer.name
        self.partition_, self.randomizer_ = design.partition, design.randomizer
        self.public_counts_, self.public_slope_ = design.public_counts, design.public_slope
        self._leaf_model = design.leaf_model
        first = design.first_phase
        self.split_counts_ = None if first is None else first.counts
        self.split_randomizer_ = None if first is None else first.randomizer
        self.max_depth_ = design.partition.max_depth
        self.n_leaves_ = design.partition.n_leaves
        self.report_counts_, self.n_reports_ = counts, n_used
        self.privacy_spent_ = spent
        self._post_process()
        warn_of_low_utility(self)

    def _post_process(self) -> None:
        design = TreeDesign(
            self.partition_,
            self.randomizer_,
            self.classes_,
            self.bounds_,
            self.rule_,
            self.public_counts_,
            public_slope=self.public_slope_,
            leaf_model=self._leaf_model,
        )
        estimates = estimate_leaves(
            design, self.report_counts_, self.n_reports_, self.public_weight, self.prune
        )
        self.public_weight_ = estimates.weight
        self.leaf_proba_, self.leaf_depth_ = estimates.shares.probabilities, estimates.depth
        self.leaf_errors_, self.base_proba_ = estimates.shares.errors, estimates.shares.base.shares
        self.leaf_sizes_, self._offsets = estimates.sizes, estimates.offsets

    def repruned(
        self,
        *,
        prune: bool | Literal["paper"] | None = None,
        public_weight: float | Literal["auto"] | None = None,
    ) -> Self:
        """Return a copy with other post-processing of the same release: no data are needed, nothing is spent.

        Parameters
        ----------
        prune : bool or "paper", default=None
            As in the class. None: as before.
        public_weight : float or "auto", default=None
            As in the class. None: as before.

        Returns
        -------
        tree : estimator
            Fitted, with the same ``privacy_spent_`` and ``report_counts_``. The partition stays as it is:
            its leaves take the estimates of their ancestors.

        Raises
        ------
        ValueError
            A parameter is out of range, or an earlier version of skprivate fitted the tree.
        """
        check_is_fitted(self)
        if not hasattr(self, "leaf_errors_"):
            raise ValueError("an earlier version fitted this tree and released other counts: fit it again.")
        changed = copy.copy(self)
        given = {"prune": prune, "public_weight": public_weight}
        vars(changed).update({name: value for name, value in given.items() if value is not None})
        validate_parameter_constraints(
            self._parameter_constraints, {name: getattr(changed, name) for name in given}, type(self).__name__
        )
        pruning_method(changed.prune).check_classes(len(changed.classes_))
        changed._post_process()
        return changed

    @redact_errors
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
        return self.partition_.apply(self.read_fitted(X, order="C"))

    @redact_errors
    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Return the class probabilities of every row: those of its leaf, or with `public_model` its own.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            Columns in the order of ``classes_``.
        """
        check_is_fitted(self)
        return self._predict_rows(self.read_fitted(X, order="C"))

    def _predict_rows(self, X: FloatArray) -> FloatArray:
        leaves = self.partition_.apply(X)
        return self.leaf_proba_[leaves] if self._offsets is None else self._offsets.predict(X, leaves)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the most probable class of every row by `predict_proba`; of equally probable ones the first.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        if self._offsets is not None:
            return self.classes_[np.argmax(self.predict_proba(X), axis=1)]
        leaves = self.apply(X)
        return self.classes_[np.argmax(self.leaf_proba_, axis=1)][leaves]

    def predict_log_proba(self, X: ArrayLike) -> FloatArray:
        """Return the natural logarithms of what `predict_proba` returns.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        log_probabilities : ndarray of shape (n_samples, n_classes)
            Columns in the order of ``classes_``.
        """
        logarithms: FloatArray = np.log(self.predict_proba(X))
        return logarithms

    def get_depth(self) -> int:
        """Return the depth of the tree: the number of splits between the root and its deepest leaf.

        Returns
        -------
        depth : int
        """
        check_is_fitted(self)
        return self.partition_.max_depth

    def get_n_leaves(self) -> int:
        """Return the number of leaves.

        Returns
        -------
        n_leaves : int
        """
        check_is_fitted(self)
        return self.partition_.n_leaves

    def decision_path(self, X: ArrayLike) -> Any:
        """Return which nodes every row passes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        indicator : scipy.sparse.csr_matrix of shape (n_samples, n_nodes)
            1 where a row passes a node, root and leaf included; nodes are numbered as in ``partition_``.
        """
        leaves = self.apply(X)
        return leaf_paths(self.partition_)[leaves]

    @property
    def feature_importances_(self) -> FloatArray:
        """Share of every feature in the decrease of the Gini impurity by the splits, (n_features_in_,).

        Impurities are those of ``leaf_proba_``, weighted by ``leaf_sizes_``: of what was released, so they
        cost nothing, and share its noise. They add up to 1; all are 0 for a tree of one leaf, and where no
        split gains anything. What a public model predicts within a leaf is not in them. With ``domain`` they
        are about its columns: all splits on levels of a column, or on its missing cells, count for it.
        """
        check_is_fitted(self)
        nodes = NodeEstimates.of(self.partition_, self.leaf_sizes_, self.leaf_proba_)
        domain, source = getattr(self, "domain_", None), None
        if domain is not None and self.partition_.derived is None:
            # Splits are of encoded columns, as in trees of earlier versions.
            widths = [group.end - group.start for group in domain.groups]
            source = np.repeat(np.arange(len(widths)), widths)
        return gini_importances(self.partition_, nodes, source)
