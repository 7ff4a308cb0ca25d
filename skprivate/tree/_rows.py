# SPDX-License-Identifier: BSD-3-Clause
"""Rows by who owns them, and the classes that their labels stand for."""

import warnings
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets

from ..utils import as_labels, common_type

FloatArray = NDArray[np.float64]
LabelArray = NDArray[np.int32]


@dataclass
class Rows:
    """Validated rows; lives during one fit.

    Attributes
    ----------
    public_X, private_X : ndarray of shape (n_public, d) and (n_private, d)
    public_labels, private_labels : ndarray of int32
        0 or 1.
    groups : ndarray of int of shape (n_private,), or None
        Number of the person of every private row; None: the unit is the row.
    """

    public_X: FloatArray
    public_labels: LabelArray
    private_X: FloatArray
    private_labels: LabelArray
    groups: NDArray[np.intp] | None

    @classmethod
    def part(
        cls, X: FloatArray, labels: LabelArray, public: NDArray[np.bool_], groups: NDArray[np.intp] | None
    ) -> Self:
        """Part the rows by a mask of the public ones."""
        private = ~public
        return cls(X[public], labels[public], X[private], labels[private], groups)

    @property
    def n_units(self) -> int:
        """Number of reports: one a person, or one a row."""
        return len(self.private_X) if self.groups is None else int(self.groups.max()) + 1


def declared_classes(classes: Any) -> NDArray[Any]:
    """Return declared classes, sorted."""
    labels = np.asarray(as_labels(classes))
    if labels.ndim != 1 or len(labels) != 2:
        raise ValueError("Only binary classification is supported. classes must hold two labels.")
    kinds = {isinstance(label, str) for label in labels.tolist()}
    labels = common_type(labels)
    finite = labels.dtype.kind != "f" or np.isfinite(labels).all()
    if len(kinds) > 1 or labels.dtype.kind == "O" or labels[0] == labels[1] or not finite:
        raise ValueError("classes must hold two labels, two different strings or two different numbers.")
    return np.unique(labels)


def classes_of(labels: NDArray[Any]) -> NDArray[Any]:
    """Return the two classes that stand in labels, sorted."""
    labels = common_type(labels)
    check_classification_targets(labels)
    classes = np.unique(labels)
    if len(classes) > 2:
        raise ValueError("Only binary classification is supported. The type of the target is multiclass.")
    if len(classes) < 2:
        raise ValueError(
            "The rows that tell the classes hold one class only; declare both with classes=[...]."
        )
    return classes


def warn_of_unknown_labels(public_labels: NDArray[Any], classes: NDArray[Any]) -> None:
    """Warn where public labels are not among the declared classes: probably the classes are mistaken."""
    known = (public_labels == classes[0]) | (public_labels == classes[1])
    if not np.all(known):
        warnings.warn(
            "Some public rows have a label outside `classes`, which counts as the first class. Do the "
            "classes have the labels' type and spelling?",
            UserWarning,
            stacklevel=_USER_FRAME,
        )


# Frames to the user's call of fit: warn_of_unknown_labels, _split_rows, fit, scikit-learn's context,
# without_private_text, fit_context.
_USER_FRAME = 7
