# SPDX-License-Identifier: BSD-3-Clause
"""The classes of a classifier: declared, or found among labels."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets

from ..utils import as_labels, common_type
from ..utils._user_frame import warn_user

# Integers up to it are told apart as floats.
_LARGEST_LABEL = 2**53


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
    if labels.dtype.kind in "iu" and max(map(abs, labels.tolist())) > _LARGEST_LABEL:
        # One label that is missing makes floats of a column, in which larger ones are not told apart.
        raise ValueError("classes must be at most 2^53 in magnitude: name them by text.")
    return np.unique(labels)


def find_classes(labels: NDArray[Any]) -> NDArray[Any]:
    """Return the different labels, sorted.

    Whole numbers are integers, even from a column of floats: one that a private row made so, by a label that
    is missing or no whole number, would show in the type.
    """
    labels = common_type(labels)
    check_classification_targets(labels)
    classes = np.unique(labels)
    if classes.dtype.kind == "f" and (classes % 1 == 0).all() and abs(classes).max() <= _LARGEST_LABEL:
        classes = classes.astype(np.int64)
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
