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
from ..utils._compat import validate_parameter_constraints
from ._estimation.leaf_estimates import estimate_leaves, pruning_method
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

    def _adopt(self, design: TreeDesign, counts: IntArray, n_used: int, spent: PrivacySpent) -> None:
        """Take over a release, whoever collected it, and post-process it."""
        self.n_features_in_ = design.partition.n_features
        if design.feature_names is not None:
            self.feature_names_in_ = np.array(design.feature_names, dtype=object)
        self.name_columns()
        self.classes_, self.bounds_ = design.classes, design.bounds
        self.rule_, self.mechanism_ = design.rule, design.randomizer.name
        self.partition_, self.randomizer_ = design.partition, design.randomizer
        self.public_counts_ = design.public_counts
        self.max_depth_ = design.partition.max_depth
        self.n_leaves_ = design.partition.n_leaves
        self.report_counts_, self.n_reports_ = counts, n_used
        self.privacy_spent_ = spent
        self._post_process()

    def _post_process(self) -> None:
        design = TreeDesign(
            self.partition_, self.randomizer_, self.classes_, self.bounds_, self.rule_, self.public_counts_
        )
        estimates = estimate_leaves(
            design, self.report_counts_, self.n_reports_, self.public_weight, self.prune
        )
        self.public_weight_ = estimates.weight
        self.leaf_proba_, self.leaf_depth_ = estimates.probabilities, estimates.depth

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
            A parameter is out of range.
        """
        check_is_fitted(self)
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

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Return the class probabilities of every row's leaf.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            Columns in the order of ``classes_``.
        """
        leaves = self.apply(X)
        return self.leaf_proba_[leaves]

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the class of every row's leaf; of equally probable classes the first.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        leaves = self.apply(X)
        return self.classes_[np.argmax(self.leaf_proba_, axis=1)][leaves]
