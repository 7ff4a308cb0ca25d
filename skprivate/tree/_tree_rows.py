# SPDX-License-Identifier: BSD-3-Clause
"""Validated private and public rows of a tree, and the classes of their labels."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets

from .._typing import BoolArray, FloatArray, IndexArray, IntArray
from ..partition import Partition
from ..utils import as_labels, common_type
from ..utils._user_frame import warn_user


@dataclass
class TreeRows:
    """Validated rows, which are public, and whose they are; kept during one fit only.

    Attributes
    ----------
    X : ndarray of shape (n_rows, d)
    labels : ndarray of int32 of shape (n_rows,)
        Positions in `classes`; a label outside them counts as the first.
    public : ndarray of bool of shape (n_rows,)
    groups : ndarray of int of shape (n_private,), or None
        Number of the person of every private row; None: the unit is the row.
    classes : ndarray of shape (n_labels,)
    bounds : tuple of two ndarrays of shape (d,)
    rows_per_unit : int
        Rows of one person that count; 1 where the unit is the row.
    """

    X: FloatArray
    labels: NDArray[np.int32]
    public: BoolArray
    groups: IndexArray | None
    classes: NDArray[Any]
    bounds: tuple[FloatArray, FloatArray]
    rows_per_unit: int

    @property
    def n_public(self) -> int:
        """Number of public rows."""
        return int(np.count_nonzero(self.public))

    @property
    def n_used(self) -> int:
        """Number of private rows that count at most; the same whatever rows a person has."""
        if self.groups is None:
            return len(self.public) - self.n_public
        # Not the exact number: one person's rows would show in it.
        return (int(self.groups.max()) + 1) * self.rows_per_unit

    def private_categories(self, partition: Partition) -> IntArray:
        """Return ``n_labels * leaf + label`` of every private row."""
        # All rows find their leaves: that is faster than to copy the private ones.
        categories = len(self.classes) * partition.apply(self.X).astype(np.int64) + self.labels
        return categories[~self.public] if self.n_public else categories


def number_labels(y: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.int32]:
    """Return the position of every label in classes, 0 where it is not among them."""
    labels = np.zeros(len(y), dtype=np.int32)
    for position, label in enumerate(classes[1:], start=1):
        labels[y == label] = position
    return labels


def declared_classes(classes: Any) -> NDArray[Any]:
    """Return declared classes, sorted."""
    labels = np.asarray(as_labels(classes))
    if labels.ndim != 1 or len(labels) < 2:
        raise ValueError("classes must hold two labels or more.")
    kinds = {isinstance(label, str) for label in labels.tolist()}
    labels = common_type(labels)
    finite = labels.dtype.kind != "f" or np.isfinite(labels).all()
    if len(kinds) > 1 or labels.dtype.kind == "O" or not finite or len(np.unique(labels)) < len(labels):
        raise ValueError("classes must hold different labels, either strings or finite numbers.")
    return np.unique(labels)


def find_classes(labels: NDArray[Any]) -> NDArray[Any]:
    """Return the different labels, sorted."""
    labels = common_type(labels)
    check_classification_targets(labels)
    classes = np.unique(labels)
    if len(classes) < 2:
        raise ValueError(
            "The rows that tell the classes hold one class only; declare them all with classes=[...]."
        )
    return classes


def warn_of_unknown_labels(public_labels: NDArray[Any], classes: NDArray[Any]) -> None:
    """Warn where public labels are not among the declared classes: probably the classes are mistaken."""
    known = np.zeros(len(public_labels), dtype=bool)
    for label in classes:
        known |= public_labels == label
    if not known.all():
        warn_user(
            "Some public rows have a label outside `classes`, which counts as the first class. Do the "
            "classes have the labels' type and spelling?",
            UserWarning,
        )
