# SPDX-License-Identifier: BSD-3-Clause
"""Rows of many people, in tables and streams of tables, as the categories that their reports hide."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._config import config_context
from .._typing import FloatArray, IntArray
from ..partition import Partition
from ..rounds._reading.batches import has_names, holds_arrow
from ..rounds._reading.columns import Piece, TableColumns, read_pieces
from ..rounds._reading.schema import number_labels
from ..utils._refused_values import refuse_kinds
from ..utils._replacements import labels_of, numbers_of, within_bounds

# Rows that are read together: of 100 columns, 26 MB. As in `rounds`.
_ROWS_AT_ONCE = 2**15


def read_categories(
    X: Any, y: Any, columns: TableColumns, partition: Partition, classes: NDArray[Any]
) -> Iterator[IntArray]:
    """Yield ``n_labels * cell + label`` of every row, some thousand rows at a time.

    Parameters
    ----------
    X : table, or iterator of tables and of pairs (X, y)
    y : array-like of shape (n,), or None
    columns : TableColumns
        Names of the features, in the partition's order, and of the label.
    partition : Partition
    classes : ndarray

    Yields
    ------
    categories : ndarray of int64

    Raises
    ------
    TypeError, ValueError
        The form, the columns or the types of a table are others than wanted; never for the value of a cell.
    """
    for table, labels in _batches(X, y):
        for piece in _pieces(table, labels, columns):
            cells = partition.apply(_numbers(piece.X, partition))
            categories = len(classes) * cells.astype(np.int64)
            categories += number_labels(_labels(piece.target, classes), classes)
            yield categories


def regroup(arrays: Iterable[IntArray], size: int) -> Iterator[IntArray]:
    """Yield the same values in arrays of one size, the last of which may be shorter."""
    held: list[IntArray] = []
    length = 0
    for array in arrays:
        held.append(array)
        length += len(array)
        if length >= size:
            joined = np.concatenate(held)
            whole = length // size * size
            yield from joined[:whole].reshape(-1, size)
            held, length = [joined[whole:]], length - whole
    if length:
        yield np.concatenate(held)


def _batches(X: Any, y: Any) -> Iterator[tuple[Any, Any]]:
    if not hasattr(X, "__next__"):
        yield X, y
        return
    if y is not None:
        raise ValueError("y belongs to each batch: let the iterator return pairs (X, y).")
    for batch in X:
        is_pair = isinstance(batch, tuple) and len(batch) == 2
        yield batch if is_pair else (batch, None)


def _pieces(table: Any, labels: Any, columns: TableColumns) -> Iterator[Piece]:
    """Read one table; where it has no labels beside it, they are a column."""
    if holds_arrow(table):
        if labels is not None:
            raise ValueError(f"the labels of Arrow data are its column {columns.target!r}: leave y out.")
        yield from _read(table, columns)
        return
    if not hasattr(table, "__len__") or not hasattr(table, "__getitem__"):
        raise TypeError("X must be a table, or an iterator of tables.")
    named = has_names(table)
    if labels is None and not named:
        raise ValueError("y is missing: only tables with named columns hold the labels themselves.")
    if labels is not None:
        if not hasattr(labels, "__len__") or len(labels) != len(table):
            raise ValueError("y must have one value per row of X.")
        if named:
            table = table[list(TableColumns(columns.features).choose(list(table.columns)))]
    for first in range(0, len(table), _ROWS_AT_ONCE):
        here = slice(first, first + _ROWS_AT_ONCE)
        part = _rows(table, here)
        if labels is not None:
            part = part if named else _numbers_of_rows(part), _rows(labels, here)
        yield from _read(part, columns)


def _read(table: Any, columns: TableColumns) -> Iterator[Piece]:
    """Read a table by the rules of strict mode, in which no cell makes reading fail."""
    pieces = read_pieces(table, columns)
    while True:
        # Whoever takes the pieces has a mode of his own meanwhile.
        with config_context(strict=True):
            piece = next(pieces, None)
        if piece is None:
            return
        yield piece


def _numbers_of_rows(rows: Any) -> NDArray[Any]:
    numbers = numbers_of(rows)
    if not isinstance(numbers, np.ndarray) or numbers.ndim != 2:
        # scikit-learn's message would show the rows.
        raise ValueError("X must be two-dimensional, a row for every person.")
    return numbers


def _rows(values: Any, here: slice) -> Any:
    return values.iloc[here] if hasattr(values, "iloc") else values[here]


def _numbers(X: NDArray[Any], partition: Partition) -> FloatArray:
    if X.ndim != 2 or X.shape[1] != partition.n_features:
        raise ValueError(f"X must have {partition.n_features} columns.")
    return within_bounds(X.astype(np.float64, copy=False), partition.lower, partition.upper)


def _labels(target: Any, classes: NDArray[Any]) -> NDArray[Any]:
    refuse_kinds(target, "y")
    labels = np.asarray(target)
    if labels.ndim != 1:
        raise ValueError("y must be one-dimensional.")
    text = classes.dtype.kind == "U"
    if labels.dtype.kind not in ("OU" if text else "Obiuf"):
        # The type of a whole column is public, and here all rows would count as the first class.
        raise TypeError(
            f"y is of type {labels.dtype.name}, but the classes are {'text' if text else 'numbers'}."
        )
    return labels_of(labels)
