# SPDX-License-Identifier: BSD-3-Clause
"""Labels as the target of a specification."""

from collections.abc import Callable
from functools import cached_property
from typing import Any, Self

import numpy as np

from ..._typing import FloatArray, IntArray
from ...domain._labels import class_positions, number_labels, plain_cell, plain_classes, refuse_label_types
from ...utils import as_column
from ...utils._json_documents import Fields
from ...utils._refused_values import refuse_kinds


class LabelTarget:
    """One of several labels; a report is about its position among them.

    Parameters
    ----------
    classes : iterable of str, int, float or bool
        Two or more: all text or all numbers, none of them twice. White space around text does not count.
    """

    bounds = None

    def __init__(self, classes: Any) -> None:
        self.classes = tuple(plain_classes(list(classes)))

    @classmethod
    def from_dict(cls, state: Any) -> Self:
        """Restore a target from its JSON; ValueError for anything else."""
        return cls(Fields(state, ("classes",), what="the target").items("classes"))

    @property
    def n_labels(self) -> int:
        """Number of labels that a report is about."""
        return len(self.classes)

    @property
    def document(self) -> dict[str, Any]:
        """What the JSON of a specification says of the target."""
        return {"classes": list(self.classes)}

    def describe(self) -> str:
        """Return the target in a few words."""
        return f"{len(self.classes)} classes"

    def read(self, value: Any, name: str) -> float:
        """Return the position of one person's label, or refuse it without showing it."""
        position = self._positions.get(plain_cell(value), -1)
        if position < 0:
            raise ValueError(f"{name!r} is not one of the specification's classes.")
        return float(position)

    def read_many(self, target: Any) -> FloatArray:
        """Return the position of every label, 0 where it is none of the classes; no value makes it fail."""
        refuse_kinds(target, "y")
        refuse_label_types(target, self.classes)
        labels = np.asarray(as_column(target))
        if labels.ndim != 1:
            raise ValueError("y must be one-dimensional.")
        return number_labels(labels, self.classes).astype(np.float64)

    def draw(self, positions: FloatArray, random_bytes: Callable[[int], bytes]) -> IntArray:
        """Return what the reports are about: the labels as they are."""
        return positions.astype(np.int64)

    @cached_property
    def _positions(self) -> dict[Any, int]:
        return class_positions(self.classes)
