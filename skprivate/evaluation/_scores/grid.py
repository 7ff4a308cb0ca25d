# SPDX-License-Identifier: BSD-3-Clause
"""Which cell of an evaluation a row is in: public grids for classifiers and regressors."""

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_regressor
from sklearn.pipeline import Pipeline

from ..._typing import FloatArray
from ...domain._labels import class_positions, codes_of, plain_classes, refuse_label_types
from ...metrics._model_outputs import predicted_numbers, predictions, probabilities
from ...metrics._probability_intervals import choose_number
from ...rounds._reading.targets import refuse_text
from ...utils import is_structured
from ...utils._compat import num_samples
from ...utils._parameter_checks import as_column
from ...utils._refused_values import refuse_missing
from ...utils._replacements import numbers_of
from ...utils._table_validation import check_array
from .nodes import (
    probability_nodes,
    residual_nodes,
    round_at_random,
    round_probabilities,
    top_nodes,
)
from .result import Kind


@dataclass(frozen=True, eq=False)
class Grid:
    """Public cells of rows: labels by nodes.

    Attributes
    ----------
    kind : {"two-classes", "classes", "errors"}
    labels : list
        Empty for errors.
    bounds : tuple (lower, upper)
        Of the target, for errors.
    nodes : ndarray of shape (n_nodes,)
    n_low : int
        Of two classes, how many nodes stand for at most 1/2.
    shape : tuple of int
        Of the table of counts of one group.
    """

    kind: Kind
    labels: list[Any]
    bounds: tuple[float, float]
    nodes: FloatArray
    n_low: int
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """Number of cells."""
        return int(np.prod(self.shape))

    def cells(self, model: Any, X: Any, y: Any, strict: bool, random_bytes: Any) -> NDArray[np.intp]:
        """Return the cell of every row."""
        n_rows = num_samples(X)
        if self.kind == "errors":
            low, high = self.bounds
            target = _read_numbers(y, strict, (low + high) / 2)
            predicted = predicted_numbers(model, X, strict, (low + high) / 2)
            errors = np.clip(predicted, low, high) - np.clip(target, low, high)
            return round_at_random(errors, self.nodes, random_bytes)
        if not strict:
            refuse_missing(y)
        label = codes_of(y, self.labels, 0, n_rows, "y")
        if len(self.nodes) == 1:
            predicted_label = _predicted_labels(model, X, self.labels, strict)
            return label * len(self.labels) + predicted_label
        table = _in_order(model, self.labels, probabilities(model, X, len(self.labels), strict))
        if self.kind == "two-classes":
            node = round_probabilities(table[:, 1], self.nodes, self.n_low, random_bytes)
            return label * len(self.nodes) + node
        top = table.argmax(axis=1)
        node = round_at_random(table.max(axis=1), self.nodes, random_bytes)
        return (label * len(self.labels) + top) * len(self.nodes) + node


def _in_order(model: Any, labels: list[Any], table: FloatArray) -> FloatArray:
    """Return the columns in the order of the declared classes."""
    own = getattr(model, "classes_", None)
    if own is None:
        return table
    return table[:, codes_of(labels, np.asarray(own), 0, len(labels), "classes")]


def _predicted_labels(model: Any, X: Any, classes: list[Any], strict: bool) -> NDArray[np.intp]:
    """Return the numbers of predicted labels; one that is no class counts as the first."""

    def check(found: Any, n_rows: int) -> NDArray[np.intp]:
        return codes_of(found, classes, 0, n_rows, "what predict returns")

    return predictions(model, "predict", X, strict, check, 0)


def _read_numbers(y: Any, strict: bool, middle: float) -> FloatArray:
    try:
        target = np.asarray(numbers_of(as_column(y), "y") if strict else y)
        checked = check_array(
            target, ensure_2d=False, dtype=np.float64, ensure_all_finite=not strict, input_name="y"
        )
    except Exception:
        checked = None
    if checked is None:
        # Raised outside the handler: the message of a cell, or its position, is not kept as __context__.
        raise ValueError("y must be finite numbers, one per row.")
    numbers: FloatArray = np.asarray(checked, dtype=np.float64)
    if numbers.ndim != 1:
        raise ValueError("y must have one number per row.")
    return np.where(np.isnan(numbers), middle, numbers)


def find_kind(model: Any, y: Any, classes: Any, bounds_y: Any) -> tuple[Kind, list[Any], tuple[float, float]]:
    """Return what is evaluated, the labels and the bounds of the target."""
    if is_structured(y):
        raise TypeError(
            "targets with times of events cannot be evaluated: rows that were followed for too short a time "
            "would take an assumption that no interval here counts."
        )
    if _predicts_numbers(model, bounds_y):
        refuse_text(y)
        declared = bounds_y if bounds_y is not None else getattr(last_step(model), "bounds_y", None)
        return "errors", [], _check_bounds_y(declared)
    if not hasattr(model, "predict"):
        raise TypeError("model must be a fitted classifier or regressor, with predict.")
    own = getattr(model, "classes_", None)
    if classes is None and own is None:
        raise ValueError("the model has no classes_: fit it first; of a fitted model declare classes=[...].")
    labels: list[Any] = plain_classes(own if classes is None else classes)
    if own is not None and set(class_positions(np.asarray(own))) != set(class_positions(labels)):
        raise ValueError("classes must be those of the model, in the order that you want.")
    refuse_label_types(y, labels)
    two = len(labels) == 2 and hasattr(model, "predict_proba")
    return ("two-classes" if two else "classes"), labels, (0.0, 1.0)


def _predicts_numbers(model: Any, bounds_y: Any) -> bool:
    """Tell regressors from classifiers, of any library."""
    if hasattr(model, "predict_proba"):
        return False
    try:
        return bool(is_regressor(model))
    except AttributeError:  # without tags of scikit-learn
        return bounds_y is not None


def last_step(model: Any) -> Any:
    return model.steps[-1][1] if isinstance(model, Pipeline) else model


def _check_bounds_y(bounds: Any) -> tuple[float, float]:
    if bounds is None:
        raise ValueError("declare bounds_y=(lower, upper): errors of a regressor are counted within them.")
    try:
        low, high = (float(end) for end in bounds)
    except (TypeError, ValueError):
        raise ValueError("bounds_y must be two numbers (lower, upper).") from None
    if not (np.isfinite([low, high, low * low, high * high, 4 * low * high]).all() and low < high):
        raise ValueError("bounds_y must be finite, as must be their squares, with lower < upper.")
    return low, high


def choose_intervals(
    n_bins: Any, kind: Kind, n_rows: int | None, std: float, n_classes: int
) -> int | FloatArray:
    if isinstance(n_bins, str):
        # Labels by predicted labels: as many times the cells of two classes.
        many = std * n_classes / np.sqrt(2) if kind == "classes" else std
        return choose_number(n_rows, many)
    if isinstance(n_bins, Integral):
        return int(n_bins)
    edges = np.unique(np.asarray(n_bins, dtype=np.float64))
    if edges.ndim != 1 or not len(edges) or not np.isfinite(edges).all():
        raise ValueError("n_bins must be a number of intervals, or their finite ends.")
    return edges


def plan_grid(
    kind: Kind, model: Any, labels: list[Any], bounds: tuple[float, float], intervals: int | FloatArray
) -> Grid:
    k, n_low = len(labels), 0
    if kind == "errors":
        nodes = residual_nodes(intervals, bounds[1] - bounds[0])
        return Grid(kind, labels, bounds, nodes, 0, (len(nodes),))
    if kind == "two-classes":
        nodes, n_low = probability_nodes(intervals)
        return Grid(kind, labels, bounds, nodes, n_low, (2, len(nodes)))
    nodes = top_nodes(intervals, k) if hasattr(model, "predict_proba") else np.ones(1)
    return Grid(kind, labels, bounds, nodes, 0, (k, k, len(nodes)))
