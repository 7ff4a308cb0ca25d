# SPDX-License-Identifier: BSD-3-Clause
"""Rows and targets that ``fit`` is passed, validated: labels, and numbers without censoring."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_consistent_length

from ..._typing import FloatArray
from ...domain._labels import refuse_label_types
from ...utils import as_labels, is_structured
from ...utils._private_fit import public_errors
from ...utils._table_validation import validate_data
from .targets import check_target_bounds, refuse_other_forms, replace_target


def read_labelled_rows(model: Any, X: Any, y: Any) -> tuple[FloatArray, NDArray[Any]]:
    """Validate X and labels; in strict mode no cell of them makes it fail."""
    with public_errors():
        refuse_label_types(y, model.classes)
    X = model.encode_rows(X)
    if model.is_strict():
        X = model.read_numbers(X)
        y = model.read_labels(y, len(X))
    else:
        X, y = validate_data(model, X, as_labels(y), dtype=np.float64, order="C")
    model.name_columns()
    return X, y


def read_numbered_rows(model: Any, X: Any, y: Any) -> tuple[FloatArray, NDArray[Any]]:
    """Validate X and numbers; in strict mode no cell of them makes it fail."""
    if is_structured(y):
        raise ValueError("y must be numbers, and no times with events.")
    X = model.encode_rows(X)
    if model.is_strict():
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None.")
        X = model.read_numbers(X)
        y = replace_target(y, _known_range(model.bounds_y), False).time_on_model_scale
        check_consistent_length(X, y)
    else:
        refuse_other_forms(y)
        X, y = validate_data(model, X, y, dtype=np.float64, order="C", y_numeric=True)
        y = np.asarray(y, dtype=np.float64)
    model.name_columns()
    return X, y


def _known_range(bounds_y: Any) -> tuple[float, float]:
    """Return declared bounds of y; without them those of the largest floats."""
    if bounds_y is not None:
        return check_target_bounds(bounds_y, False)
    # Halves: the width is finite.
    largest = float(np.finfo(np.float64).max) / 2
    return -largest, largest
