# SPDX-License-Identifier: BSD-3-Clause
"""Fitted private trees: attributes of a release, post-processing again, leaves and predictions of rows."""

import copy
from abc import abstractmethod
from typing import Any, Self

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
from ._estimation.leaf_estimates import LeafEstimates, estimate_leaves, pruning_method
from ._estimation.offsets import ModelWithOffsets
from ._noisy_leaf_counts import NumberCells
from ._public_model import LeafModel
from ._reading.nodes import NodeEstimates, gini_importances, leaf_paths
from ._reading.utility_warning import warn_of_low_utility
from ._tree_design import ReleaseMechanism, TreeDesign


class TreePredictionsMixin(DomainMixin):
    """The methods of a private tree that need its released counts and no private row."""

    public_weight: Any
    prune: Any
    _parameter_constraints: dict[str, list[Any]]

    bounds_: tuple[FloatArray, FloatArray]
    rule_: str
    partition_: Partition
    randomizer_: ReleaseMechanism
    public_counts_: IntArray | FloatArray
    report_counts_: IntArray
    n_reports_: int
    leaf_sizes_: FloatArray
    leaf_errors_: FloatArray
    split_counts_: IntArray | None
    split_randomizer_: LocalRandomizer | None
    split_share: Any
    public_model: Any
    _leaf_model: LeafModel | None
    _offsets: ModelWithOffsets | None
    _number_cells: NumberCells | None
    _public_variances: tuple[float, float]
    _split_noise: tuple[tuple[float, ...], int]

    @abstractmethod
    def _name_target(self, design: TreeDesign) -> None:
        """Set the attributes of the target that a design knows."""

    @abstractmethod
    def _known_target(self) -> NDArray[Any]:
        """Return the ``classes`` of the design."""

    @abstractmethod
    def _set_estimates(self, estimates: LeafEstimates) -> None:
        """Set the attributes that say what the leaves predict."""

    @property
    @abstractmethod
    def _leaf_shares(self) -> FloatArray:
        """What the leaves predict, as shares of the labels, of shape (n_leaves, n_labels)."""

    @property
    @abstractmethod
    def _share_errors(self) -> FloatArray:
        """Standard deviations of these shares by noise and sampling, of shape (n_leaves,)."""

    @abstractmethod
    def _describe_estimate(self, leaf: int, decimals: int) -> str:
        """Return what a leaf predicts, plus or minus a standard deviation."""

    def _adopt(self, design: TreeDesign, counts: IntArray, n_used: int, spent: PrivacySpent) -> None:
        """Take over a release, whoever collected it, and post-process it."""
        self.n_features_in_ = design.partition.n_features
        if design.feature_names is not None:
            self.feature_names_in_ = np.array(design.feature_names, dtype=object)
        self.name_columns()
        self._name_target(design)
        self.bounds_ = design.bounds
        self.rule_, self.mechanism_ = design.rule, design.randomizer.name
        self.partition_, self.randomizer_ = design.partition, design.randomizer
        self.public_counts_, self.public_slope_ = design.public_counts, design.public_slope
        self._leaf_model, self._number_cells = design.leaf_model, design.cells
        self._public_variances = design.public_row_variance, design.public_total_variance
        self._split_noise = design.split_scales, design.n_candidates
        first = design.first_phase
        self.split_counts_ = None if first is None else first.counts
        self.split_randomizer_ = None if first is None else first.randomizer
        self.max_depth_ = design.partition.max_depth
        self.n_leaves_ = design.partition.n_leaves
        self.report_counts_, self.n_reports_ = counts, n_used
        self.privacy_spent_ = spent
        self._post_process()
        warn_of_low_utility(self)

    def _design_of_release(self) -> TreeDesign:
        """Return the public side of what was released."""
        return TreeDesign(
            self.partition_,
            self.randomizer_,
            self._known_target(),
            self.bounds_,
            self.rule_,
            self.public_counts_,
            public_slope=self.public_slope_,
            leaf_model=self._leaf_model,
            cells=self._number_cells,
            public_row_variance=self._public_variances[0],
            public_total_variance=self._public_variances[1],
            split_scales=self._split_noise[0],
            n_candidates=self._split_noise[1],
        )

    def _post_process(self) -> None:
        estimates = estimate_leaves(
            self._design_of_release(), self.report_counts_, self.n_reports_, self.public_weight, self.prune
        )
        self.public_weight_, self.leaf_depth_ = estimates.weight, estimates.depth
        self.leaf_sizes_, self._offsets = estimates.sizes, estimates.offsets
        self._set_estimates(estimates)

    def _estimated_anew(self, given: dict[str, Any]) -> Self:
        """Return a copy with other parameters of the post-processing."""
        check_is_fitted(self)
        changed = copy.copy(self)
        vars(changed).update(given)
        validate_parameter_constraints(self._parameter_constraints, given, type(self).__name__)
        pruning_method(changed.prune).check_classes(len(self._known_target()))
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
        """Share of every feature in the decrease of the Gini impurity by the splits, (n_features,).

        Impurities are those of ``leaf_proba_``, weighted by ``leaf_sizes_``: of what was released, so they
        cost nothing, and share its noise. They add up to 1; all are 0 for a tree of one leaf, and where no
        split gains anything. What a public model predicts within a leaf is not in them. With ``domain`` they
        are about its columns: all splits on levels of a column, or on its missing cells, count for it.
        """
        check_is_fitted(self)
        nodes = NodeEstimates.of(self.partition_, self.leaf_sizes_, self._leaf_shares)
        domain, source = getattr(self, "domain_", None), None
        if domain is not None and self.partition_.derived is None:
            # Where no split was paid for, the root still has the box of the encoded columns.
            source = np.repeat(
                np.arange(len(domain.groups)), [group.end - group.start for group in domain.groups]
            )
        return gini_importances(self.partition_, nodes, source)
