# SPDX-License-Identifier: BSD-3-Clause
"""Labels as the target of a specification."""

import sys
from collections.abc import Callable
from functools import cached_property
from typing import Any, Self

import numpy as np

from ..._typing import FloatArray, IntArray
from ...utils import as_column, check_characters
from ...utils._json_documents import Fields
from ...utils._refused_values import is_temporal, refuse_kinds

Label = str | int | float | bool


class LabelTarget:
    """One of several labels; a report is about its position among them.

    Parameters
    ----------
    classes : iterable of str, int, float or bool
        Two or more: all text or all numbers, none of them twice.
    """

    bounds = None

    def __init__(self, classes: Any) -> None:
        self.classes = _check_classes(classes)

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
        # NumPy's durations would become whole numbers.
        value = value.item() if isinstance(value, np.generic) and not is_temporal(value) else value
        try:
            found = self._positions.get(value, -1)
        except TypeError:  # not hashable
            found = -1
        if found < 0:
            raise ValueError(f"{name!r} is not one of the specification's classes.")
        return float(found)

    def read_many(self, target: Any) -> FloatArray:
        """Return the position of every label, 0 where it is none of the classes; no value makes it fail."""
        # Needs scikit-learn, which a client has no use for.
        from ...rounds._reading.schema import number_labels

        refuse_kinds(target, "y")
        labels, classes = np.asarray(as_column(target)), np.array(self.classes)
        if labels.ndim != 1:
            raise ValueError("y must be one-dimensional.")
        text = classes.dtype.kind == "U"
        if labels.dtype.kind not in ("OU" if text else "Obiuf"):
            # The type of a whole column is public, and here all rows would count as the first class.
            raise TypeError(
                f"y is of type {labels.dtype.name}, but the classes are {'text' if text else 'numbers'}."
            )
        if labels.dtype.kind != "O":
            return number_labels(labels, classes).astype(np.float64)
        positions = {label: position for position, label in enumerate(classes.tolist())}
        try:
            found = [positions.get(label, 0) for label in labels.tolist()]
        except Exception:  # a list, or an object of the user's own
            found = [_position(positions, label) for label in labels.tolist()]
        return np.array(found, dtype=np.float64)

    def draw(self, positions: FloatArray, random_bytes: Callable[[int], bytes]) -> IntArray:
        """Return what the reports are about: the labels as they are."""
        return positions.astype(np.int64)

    @cached_property
    def _positions(self) -> dict[Any, int]:
        return {label: position for position, label in enumerate(self.classes)}


def _position(positions: dict[Any, int], label: Any) -> int:
    try:
        return positions.get(label, 0)
    except Exception:
        return 0


def _check_classes(classes: Any) -> tuple[Label, ...]:
    labels = tuple(label.item() if isinstance(label, np.generic) else label for label in classes)
    kinds = {type(label) for label in labels}
    if not kinds <= {str, int, float, bool} or (str in kinds and len(kinds) > 1):
        raise ValueError("classes must be all text or all numbers")
    # False for NaN too.
    if not all(abs(label) <= sys.float_info.max for label in labels if not isinstance(label, str)):
        raise ValueError("classes must be finite")
    if len(labels) < 2 or len(set(labels)) < len(labels):
        raise ValueError("classes must be two or more, none of them twice")
    for label in labels:
        if isinstance(label, str):
            check_characters(label, "a label of classes")
    return labels
