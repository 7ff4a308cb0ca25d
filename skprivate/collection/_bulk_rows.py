# SPDX-License-Identifier: BSD-3-Clause
"""Rows of many people, in tables and streams of tables, as the cells and targets that reports hide."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from .._typing import FloatArray
from ..domain._labels import refuse_label_types
from ..partition import ColumnBins, Partition, TableCells
from ..rounds._tables import TableColumns, arrow_columns, arrow_records, frame_column, has_names, holds_arrow
from ..utils._tables import numbers_of, refuse_text, within_bounds

# Number of rows that are read together: 26 MB with 100 columns. As in `rounds`.
_ROWS_AT_ONCE = 2**15


def read_rows(
    X: Any,
    y: Any,
    columns: TableColumns,
    encode: Callable[[Any], FloatArray],
    partition: Partition | ColumnBins | TableCells,
    read_target: Callable[[Any], FloatArray],
    classes: Any,
) -> Iterator[FloatArray]:
    """Yield the cells and the target of every row, some thousands of rows at a time.

    Parameters
    ----------
    X : table, or iterator of tables and of pairs (X, y)
    y : array-like of shape (n,), or None
    columns : TableColumns
        Names of the features in a table, and of the label.
    encode : callable
        Returns the columns of the partition for a table of features; no value of a cell raises an error.
    partition : Partition, ColumnBins or TableCells
    read_target : callable
        Returns the target of every row as a number; no value raises an error.
    classes : sequence, or None
        Classes of a target of labels, which must have their type.

    Yields
    ------
    rows : ndarray of float64 of shape (k, 1 + n_cells)
        The cell of the row, or its cell in every column, and then its target.

    Raises
    ------
    TypeError, ValueError
        The form, the columns or the types of a table are not the expected ones; never for the value of a
        cell.
    """
    for table, labels in _batches(X, y):
        for features, own in _parts(table, labels, columns, classes):
            X = encode(features)
            if X.shape[1] != partition.n_features:
                raise ValueError(f"X must have {partition.n_features} columns.")
            # A domain makes every cell a finite number, and derived columns are clipped.
            if not isinstance(partition, Partition) or partition.derived is None:
                X = within_bounds(X, partition.lower, partition.upper)
            cells = partition.apply(X)
            # Doubles hold the numbers of cells exactly.
            yield np.column_stack([cells, read_target(own)])


def read_numbers(table: Any) -> FloatArray:
    """Return a table of numbers by the rules of strict mode: a cell that is not a number becomes NaN."""
    refuse_text(table, takes_domain=True)
    if holds_arrow(table):
        return np.column_stack([numbers_of(one) for one in arrow_columns(table, tuple(table.schema.names))])
    numbers = numbers_of(table)
    if not isinstance(numbers, np.ndarray) or numbers.ndim != 2:
        # scikit-learn's message would show the rows.
        raise ValueError("X must be two-dimensional, a row for every person.")
    return numbers


def regroup(arrays: Iterable[FloatArray], size: int) -> Iterator[FloatArray]:
    """Yield the same values in arrays of one size, the last of which may be shorter."""
    held: list[FloatArray] = []
    length = 0
    for array in arrays:
        held.append(array)
        length += len(array)
        if length >= size:
            joined = np.concatenate(held)
            whole = length // size * size
            yield from (joined[start : start + size] for start in range(0, whole, size))
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


def _parts(table: Any, labels: Any, columns: TableColumns, classes: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the features of some rows, as a separate table, and their labels."""
    if holds_arrow(table):
        if labels is not None:
            raise ValueError(f"the labels of Arrow data are its column {columns.target!r}: leave y out.")
        schema, records = arrow_records(table)
        names = list(columns.choose(list(schema)))
        for record in records:
            refuse_label_types(record.column(str(columns.target)), classes, f"column {columns.target!r}")
            (own,) = arrow_columns(record, (str(columns.target),))
            yield record.select(names), own
        return
    if not hasattr(table, "__len__") or not hasattr(table, "__getitem__"):
        raise TypeError("X must be a table, or an iterator of tables.")
    if has_names(table):
        wanted = columns if labels is None else TableColumns(columns.features)
        names = list(wanted.choose(list(table.columns)))
        if labels is None:
            refuse_label_types(table[str(columns.target)], classes, f"column {columns.target!r}")
            labels = frame_column(table, str(columns.target))
        table = table[names]
    elif labels is None:
        raise ValueError("y is missing: only tables with named columns hold the labels themselves.")
    if not hasattr(labels, "__len__") or len(labels) != len(table):
        raise ValueError("y must have one value per row of X.")
    for first in range(0, len(table), _ROWS_AT_ONCE):
        here = slice(first, first + _ROWS_AT_ONCE)
        yield _rows(table, here), _rows(labels, here)


def _rows(values: Any, here: slice) -> Any:
    return values.iloc[here] if hasattr(values, "iloc") else values[here]
