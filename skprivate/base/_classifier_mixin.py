# SPDX-License-Identifier: BSD-3-Clause
"""What private classifiers share: their classes, and a score by the rule that their fits read labels by."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import column_or_1d

from .._typing import BoolArray
from ..domain._labels import (
    declared_classes,
    find_classes,
    number_labels,
    refuse_label_types,
    refuse_unknown_labels,
)
from ..utils import as_labels
from ..utils._private_fit import redact_errors
from ._planned_cost import PublicShape


class PrivateClassifierMixin(ClassifierMixin):
    """Classifiers that read labels by one rule, in fits and in scores."""

    classes: Any
    classes_: NDArray[Any]

    def _resolve_classes(self, y: NDArray[Any], public: BoolArray) -> NDArray[Any]:
        """Return the classes: declared, or those of the public rows, or else of all rows."""
        if self.classes is None:
            return find_classes(y[public] if public.any() else y)
        classes = declared_classes(self.classes)
        refuse_unknown_labels(y[public], classes)
        return classes

    def _known_classes(self, shape: PublicShape) -> NDArray[Any] | None:
        """Return the classes as far as public facts tell, once these facts were checked."""
        if self.classes is None:
            return None if shape.public_labels is None else find_classes(shape.public_labels)
        refuse_label_types(shape.no_targets, self.classes)
        classes = declared_classes(self.classes)
        if shape.public_labels is not None:
            refuse_unknown_labels(shape.public_labels, classes)
        return classes

    @redact_errors
    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy of `predict`: an exact function of the rows that are passed.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            True labels, read as in ``fit``: white space around text does not count. A label that is none of
            ``classes_`` is never predicted.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows. None: all rows have the same weight.

        Returns
        -------
        score : float

        Raises
        ------
        TypeError
            The type of y is one of numbers and the classes are text, or the reverse.
        """
        refuse_label_types(y, self.classes_)
        predicted = number_labels(self.predict(X), self.classes_)
        right = number_labels(column_or_1d(np.asarray(as_labels(y))), self.classes_, elsewhere=-1)
        return float(accuracy_score(right, predicted, sample_weight=sample_weight))
