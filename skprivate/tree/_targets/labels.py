# SPDX-License-Identifier: BSD-3-Clause
"""Trees of labels: classes from public knowledge, probabilities, and labels by them."""

from collections.abc import Mapping
from numbers import Real
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from ..._typing import BoolArray, FloatArray, SplitCriterion
from ...base import PublicShape, assign_roles, redact_errors
from ...base._classifier_mixin import PrivateClassifierMixin
from ...base._public_model import of_encoded_rows
from ...domain._labels import declared_classes, number_labels
from ...metrics._row_arithmetic import log, row_totals
from ...partition import CRITERIA
from ...rounds._reading.fit_rows import read_labelled_rows
from ...utils._compat import HasMethods, StrOptions
from .._estimation.leaf_estimates import LeafEstimates, pruning_method
from .._public_model import PublicModel
from .._reading.split_rules import to_ascii
from .._tree_design import TreeDesign
from .._tree_rows import PublicVotes, TreeRows

LABEL_CONSTRAINTS: dict[str, list[Any]] = {
    "criterion": [StrOptions(set(CRITERIA))],
    "prune": ["boolean", StrOptions({"paper"})],
    "bounds": ["array-like", Mapping, None],
    "classes": ["array-like", None],
    "class_weight": [dict, StrOptions({"balanced"}), None],
    "public_model": [HasMethods(["fit", "predict_proba"]), None],
}
LABEL_ROLES = assign_roles(release="criterion bounds classes", post_processing="prune class_weight")


class LabelTargetMixin(PrivateClassifierMixin):
    """What is particular to a private tree whose target is a label."""

    criterion: SplitCriterion
    prune: Any
    classes: Any
    classes_: NDArray[Any]
    leaf_proba_: FloatArray
    class_weight: Any
    _label_weights: FloatArray

    _bounds_parameter = "bounds"
    _target_parameter = "classes"
    _target_leak = "the classes were read from private rows"
    _targets = "labels"

    _read_rows = read_labelled_rows

    def _resolve_target(self, y: NDArray[Any], public: BoolArray) -> dict[str, Any]:
        classes = self._resolve_classes(y, public)
        label_weights(self.class_weight, classes)
        return {"classes": classes, "labels": number_labels(y, classes)}

    def _check_target(self, shape: PublicShape) -> int:
        if shape.structured:
            raise ValueError("the target must be labels, and no times with events.")
        classes = self._known_classes(shape)
        if classes is None:
            return 2
        label_weights(self.class_weight, classes)
        return len(classes)

    def _fit_to_public_rows(self, votes: PublicVotes, classes: NDArray[Any]) -> PublicModel | None:
        groups = None if self.domain is None else self.domain.groups
        seed = self.partition_seed
        model = of_encoded_rows(self.public_model, self.domain)
        return PublicModel.fit(model, votes.X, votes.labels, classes, seed, groups)

    def _no_targets(self) -> NDArray[Any]:
        return np.asarray(declared_classes(self.classes))[:0]

    def _schema_of_target(self, rows: TreeRows) -> dict[str, Any]:
        return {"classes": rows.classes}

    def roles_for(self, y: Any = None) -> Mapping[str, str]:
        # A pruning method with a depth of its own makes another tree.
        own_depth = self.max_depth == "auto" and pruning_method(self.prune).has_own_depth
        return {**self.declared_roles, "prune": "release"} if own_depth else self.declared_roles

    def _name_target(self, design: TreeDesign) -> None:
        self.classes_ = design.classes

    def _known_target(self) -> NDArray[Any]:
        return self.classes_

    @property
    def _leaf_shares(self) -> FloatArray:
        return self.leaf_proba_

    @property
    def _share_errors(self) -> FloatArray:
        return self.leaf_errors_

    def _describe_estimate(self, leaf: int, decimals: int) -> str:
        shares: FloatArray = self.leaf_proba_[leaf]
        best, error = int(shares.argmax()), float(self.leaf_errors_[leaf])
        label = to_ascii(self.classes_[best])
        return f"class: {label}, {shares[best]:.{decimals}f} +- {error:.{decimals}f}"

    def _set_estimates(self, estimates: LeafEstimates) -> None:
        shares, base = estimates.shares.probabilities, estimates.shares.base.shares
        self._label_weights = label_weights(self.class_weight, self.classes_, base)
        self.leaf_errors_ = estimates.shares.errors * _stretch(shares, self._label_weights)
        self.leaf_proba_, self.base_proba_ = (_weighted(each, self._label_weights) for each in (shares, base))

    def repruned(
        self,
        *,
        prune: bool | Literal["paper"] | None = None,
        public_weight: float | Literal["auto"] | None = None,
        class_weight: dict[Any, float] | Literal["balanced", "keep"] | None = "keep",
    ) -> Self:
        """Return a copy with other post-processing of the same release: no data are needed, nothing is spent.

        Parameters
        ----------
        prune : bool or "paper", default=None
            As in the class. None: as before.
        public_weight : float or "auto", default=None
            As in the class. None: as before.
        class_weight : dict, "balanced" or None, default="keep"
            As in the class. "keep": as before.

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
        given: dict[str, Any] = {"prune": prune, "public_weight": public_weight}
        given = {name: value for name, value in given.items() if value is not None}
        # None is a value of this one.
        if class_weight != "keep":
            given["class_weight"] = class_weight
        return self._estimated_anew(given)

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
        if self._offsets is None:
            return self.leaf_proba_[leaves]
        return _weighted(self._offsets.predict(X, leaves), self._label_weights)

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
        return log(self.predict_proba(X))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = pruning_method(self.prune).several_classes
        return tags


def label_weights(class_weight: Any, classes: NDArray[Any], base: FloatArray | None = None) -> FloatArray:
    """Return the weight of every class, with mean 1 over the base rate; ValueError for unusable ones.

    Parameters
    ----------
    class_weight : dict, "balanced" or None
    classes : ndarray of shape (n_labels,)
    base : ndarray of shape (n_labels,), default=None
        Released shares of the classes; None: they are not there yet, and are taken as equal.
    """
    shares = np.full(len(classes), 1.0 / len(classes)) if base is None else base
    if class_weight is None:
        return np.ones(len(classes))
    if isinstance(class_weight, str):
        weights = 1.0 / shares
    else:
        known = classes.tolist()
        if any(label not in known for label in class_weight):
            raise ValueError("class_weight names a class that is none of the tree's.")
        if not all(isinstance(weight, Real) for weight in class_weight.values()):
            raise TypeError("class_weight must hold a number for every class that it names.")
        weights = np.array([class_weight.get(label, 1.0) for label in known], dtype=np.float64)
        if not (np.isfinite(weights).all() and (weights > 0).all()):
            raise ValueError("class_weight must hold finite numbers above 0.")
    found: FloatArray = weights / float(shares @ weights)
    return found


def _weighted(shares: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the probabilities of a population in which each class counts as much as its weight."""
    parts = shares * weights
    found: FloatArray = parts / row_totals(parts)
    return found


def _stretch(shares: FloatArray, weights: FloatArray) -> FloatArray:
    """Return by how much weights stretch a small error of a probability, a mean over the classes."""
    parts = shares * weights
    total = parts.sum(axis=1, keepdims=True)
    # Of q = w p / S, where the other classes share 1 - p as before.
    slopes = weights * (total - parts) / (total**2 * (1.0 - shares))
    found: FloatArray = slopes.mean(axis=1)
    return found
