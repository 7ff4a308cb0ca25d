# SPDX-License-Identifier: BSD-3-Clause
"""Tables in which one row, or every row, is another: numbers, text and missing values, in arrays and frames.

A column keeps its type where the new values fit into it, as in memory; where they do not, it gets the type
that NumPy or the frame's library infers from them, as after reading a file.
"""

import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Cells = list[list[Any]]  # column by column

# Beyond every bound, and so far from a double's 1.8e308 that sums of some rows of it stay finite.
_FAR = 1e300
#: What a number becomes, and what a text does; the row's position tells the sign, and which column is left.
_CHANGES: dict[str, tuple[Callable[[Any, int], Any], Callable[[Any, int], Any]]] = {
    "zeros": (lambda value, _: 0, lambda value, _: ""),
    "halves": (lambda value, _: 0.5, lambda value, _: "0.5"),
    "negative numbers": (lambda value, _: -3, lambda value, _: "-3"),
    "whole numbers": (lambda value, place: place % 3, lambda value, place: str(place % 3)),
    "far numbers": (lambda value, place: _FAR if place % 2 else -_FAR, lambda value, _: "unseen" * 9),
    "missing values": (lambda value, _: np.nan, lambda value, _: None),
    "infinite numbers": (lambda value, place: np.inf if place % 2 else -np.inf, lambda value, _: "inf"),
}


def changed_tables(X: Any, rows: NDArray[np.intp]) -> Iterator[tuple[str, Any]]:
    """Yield what was put into some rows of a table, and the table."""
    cells = _cells_of(X)
    for what, change in _CHANGES.items():
        yield what, _rebuild(X, [_changed(column, rows, change) for column in cells])
    yield (
        "copies of one row",
        _rebuild(X, [_with(column, rows, column[0]) for column in cells]),
    )
    if len(rows) == 1 and len(cells) > 1:
        yield from _changed_cells(X, cells, rows)


def _changed_cells(X: Any, cells: Cells, rows: NDArray[np.intp]) -> Iterator[tuple[str, Any]]:
    """Change one cell alone: a row that is strange in one column may pass where a whole one does not."""
    for position, column in enumerate(cells):
        for what in ("zeros", "halves", "missing values"):
            changed = [*cells[:position], _changed(column, rows, _CHANGES[what]), *cells[position + 1 :]]
            yield f"{what} in column {position}", _rebuild(X, changed)


def mixed_table(X: Any, other: Any, n_rows: int) -> Any:
    """Return a table whose first rows are those of another one."""
    pairs = zip(_cells_of(X), _cells_of(other), strict=True)
    return _rebuild(X, [theirs[:n_rows] + mine[n_rows:] for mine, theirs in pairs])


def _changed(column: list[Any], rows: NDArray[np.intp], change: Any) -> list[Any]:
    number, text = change
    is_text = any(isinstance(value, str) for value in column)
    result = list(column)
    for row in rows:
        result[row] = (text if is_text else number)(column[row], int(row))
    return result


def _with(column: list[Any], rows: NDArray[np.intp], value: Any) -> list[Any]:
    result = list(column)
    for row in rows:
        result[row] = value
    return result


def _cells_of(X: Any) -> Cells:
    if hasattr(X, "columns"):
        columns = [X[name] for name in X.columns]
        return [list(column.to_list()) for column in columns]
    return [column.tolist() for column in np.asarray(X.toarray() if sparse.issparse(X) else X).T]


def _rebuild(X: Any, cells: Cells) -> Any:
    """Return cells as a table of the kind of X."""
    if hasattr(X, "columns"):
        library = sys.modules[type(X).__module__.partition(".")[0]]
        build = _pandas_column if hasattr(X, "iloc") else _polars_column
        columns = {name: build(library, X[name], cells[k]) for k, name in enumerate(X.columns)}
        return library.DataFrame(columns, **({"index": X.index} if hasattr(X, "iloc") else {}))
    old = X if sparse.issparse(X) else np.asarray(X)
    table = _fitting(old.dtype, cells)
    return type(X)(table) if sparse.issparse(X) else table


def _fitting(dtype: Any, cells: Cells) -> NDArray[Any]:
    """Return cells as an array of a type, or of the next one that holds them."""
    objects = np.empty((len(cells[0]), len(cells)), dtype=object)
    objects[:] = list(zip(*cells, strict=True))
    for candidate in (dtype, np.float64):
        if np.dtype(candidate).kind in "iufb" and _holds(objects, candidate):
            return objects.astype(candidate)
    if np.dtype(dtype).kind == "U" and all(isinstance(value, str) for value in objects.flat):
        return objects.astype(str)
    return objects


def _holds(objects: NDArray[Any], dtype: Any) -> bool:
    try:
        with np.errstate(all="ignore"):
            values = objects.astype(dtype)
    except (TypeError, ValueError, OverflowError):
        return False
    same = all(a == b or (a != a and b != b) for a, b in zip(values.flat, objects.flat, strict=True))
    return same and not any(isinstance(value, str) for value in objects.flat)


def _pandas_column(pandas: Any, old: Any, values: list[Any]) -> Any:
    inferred = pandas.Series(values, index=old.index)
    try:
        same = inferred.astype(old.dtype)
    except (TypeError, ValueError, OverflowError):
        return inferred
    equal = all(
        a == b or (_is_missing(a) and _is_missing(b)) for a, b in zip(same.to_list(), values, strict=True)
    )
    return same if equal else inferred


def _is_missing(value: Any) -> bool:
    # None, NaN, and pandas.NA, whose comparisons have no truth.
    return value is None or type(value).__name__ == "NAType" or bool(value != value)


def _polars_column(polars: Any, old: Any, values: list[Any]) -> Any:
    try:
        same = polars.Series(values, dtype=old.dtype)
        if all(
            a == b or (_is_missing(a) and _is_missing(b)) for a, b in zip(same.to_list(), values, strict=True)
        ):
            return same
    except (TypeError, ValueError, OverflowError, polars.exceptions.PolarsError):
        pass
    return polars.Series(values, strict=False)
