# SPDX-License-Identifier: BSD-3-Clause
"""Selection and replacement of columns in arrays, data frames and lists."""

import sys
from collections.abc import Iterable, Sequence
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._typing import FloatArray
from ..utils import as_cells
from ..utils._replacements import numbers_of


def is_frame(X: Any) -> bool:
    """Whether X is a data frame of pandas or polars."""
    return _is_of("pandas", X) or _is_of("polars", X)


def _is_of(library: str, X: Any) -> bool:
    # Whoever passes a frame has imported its library.
    module = sys.modules.get(library)
    return module is not None and isinstance(X, module.DataFrame)


def as_table(X: Any) -> Any:
    """Return what is not an array or a frame as an array in which numbers beside text stay numbers."""
    if hasattr(X, "__array_namespace__"):
        return np.asarray(X)
    if is_frame(X) or not isinstance(X, list | tuple):
        return X
    cells = as_cells(X)
    plain = isinstance(cells, np.ndarray) and set(map(type, cells.ravel())) <= _NUMBERS
    return np.asarray(cells.tolist()) if plain else cells


# Of a list: these very types, since a subclass may raise what it likes.
_NUMBERS = {int, float, bool, *(np.dtype(code).type for code in "?bBhHiIlLqQefdg")}


def label_of(column: int, names: Sequence[str] | None) -> str:
    """Return the name of a column as it is printed: its own, else ``x`` and its position."""
    return f"x{column}" if names is None else str(names[column])


def resolve_columns(choice: Any, X: Any, names: Sequence[str] | None, *, name: str) -> list[int]:
    """Return positions of chosen columns: names, positions, a slice, a mask, a function of X, None for all.

    Parameters
    ----------
    choice : str, int, slice, array-like, callable or None
    X : array or data frame
        Given to a callable, which returns one of the other forms.
    names : sequence of str or None
        Names of the columns, where X has any.
    name : str
        The parameter's name, for messages.

    Returns
    -------
    columns : list of int
        In the order of the choice.

    Raises
    ------
    TypeError, ValueError
        There is no such column, or one is chosen twice.
    """
    n_features = X.shape[1]
    if callable(choice):
        choice = choice(X)
    if choice is None:
        return list(range(n_features))
    if isinstance(choice, slice):
        return _sliced(choice, n_features, names, name)
    chosen = [choice] if isinstance(choice, str | Integral) else _listed(choice, name)
    if chosen and all(isinstance(item, bool | np.bool_) for item in chosen):
        chosen = _marked(chosen, n_features, name)
    return positions_of(chosen, n_features, names, name=name)


def positions_of(
    chosen: Iterable[Any], n_features: int, names: Sequence[str] | None, *, name: str
) -> list[int]:
    """Return positions of columns that are given by names or positions, none of them twice."""
    columns = [_position(item, n_features, names, name) for item in chosen]
    if len(set(columns)) < len(columns):
        raise ValueError(f"{name}: a column is given twice.")
    return columns


def _sliced(choice: slice, n_features: int, names: Sequence[str] | None, name: str) -> list[int]:
    if isinstance(choice.start, str) or isinstance(choice.stop, str):
        raise TypeError(f"{name}: a slice is over positions; list the names instead.")
    return list(range(n_features))[choice]


def _listed(choice: Any, name: str) -> list[Any]:
    if not isinstance(choice, Iterable):
        raise TypeError(f"{name} must be names or positions of columns, not {type(choice).__name__}.")
    return list(choice)


def _marked(mask: list[Any], n_features: int, name: str) -> list[int]:
    if len(mask) != n_features:
        raise ValueError(f"{name}: a mask has one value per column, {n_features}, not {len(mask)}.")
    return [column for column, marked in enumerate(mask) if marked]


def _position(item: Any, n_features: int, names: Sequence[str] | None, name: str) -> int:
    if isinstance(item, str):
        if names is None:
            raise ValueError(f"{name}: X has no column names; give positions instead.")
        if item not in list(names):
            raise ValueError(f"{name}: there is no column {item!r}.")
        return list(names).index(item)
    if isinstance(item, bool | np.bool_) or not isinstance(item, Integral):
        raise TypeError(f"{name} must be names or positions of columns, not {type(item).__name__}.")
    column = int(item)
    if not -n_features <= column < n_features:
        raise ValueError(f"{name}: there is no column {column}; X has {n_features} columns.")
    return column % n_features


def read_columns(X: Any, columns: Sequence[int], names: Sequence[str] | None) -> FloatArray:
    """Return some columns as numbers, NaN for what is none; no cell makes it fail, nothing is shared with X.

    Parameters
    ----------
    X : ndarray or data frame of shape (n_samples, n_features)
    columns : sequence of int
    names : sequence of str or None

    Returns
    -------
    values : ndarray of shape (n_samples, len(columns))

    Raises
    ------
    TypeError, ValueError
        The type of a column is one of text, dates or complex numbers.
    """
    values = np.empty((X.shape[0], len(columns)))
    for place, column in enumerate(columns):
        cells, label = _raw(X, column), f"column {label_of(column, names)!r}"
        kind = _type_of(X, column)
        # Dates of a time zone arrive as objects, too.
        kinds = {cells.dtype.kind, getattr(kind, "kind", "O")}
        if not kinds <= set("biufO") or str(kind) in _TEXT:
            raise ValueError(
                f"{label} is a quasi-identifier and does not hold numbers; put "
                "DomainEncoder(TableDomain({...})) in front, or leave it out of quasi_identifiers: other "
                "columns pass through as they are."
            )
        values[:, place] = numbers_of(cells, label)
    return values


# Of pandas and polars, whose cells arrive as objects.
_TEXT = ("str", "string", "String")


def _type_of(X: Any, column: int) -> Any:
    return list(X.dtypes)[column] if is_frame(X) else X.dtype


def _raw(X: Any, column: int) -> NDArray[Any]:
    if _is_of("pandas", X):
        series = X.iloc[:, column]
        if series.dtype.kind in "biuf":
            return series.to_numpy(dtype=np.float64, na_value=np.nan)
        return series.to_numpy()
    if _is_of("polars", X):
        return X.to_series(column).to_numpy()
    return X[:, column]


def replace_columns(X: Any, columns: Sequence[int], values: FloatArray) -> Any:
    """Return X with other values in some columns; X itself is not written to.

    Parameters
    ----------
    X : ndarray or data frame
    columns : sequence of int
    values : ndarray of shape (n_samples, len(columns))

    Returns
    -------
    X_new : ndarray or data frame
        Of X's kind. The replaced columns of a frame are of float64; an array of numbers becomes one of
        float64, any other array stays one of objects.
    """
    if _is_of("pandas", X):
        frame = X.copy()
        for place, column in enumerate(columns):
            frame.isetitem(column, values[:, place])
        return frame
    if _is_of("polars", X):
        frame = X.clone()
        for place, column in enumerate(columns):
            series = X.to_series(column)
            frame.replace_column(column, type(series)(series.name, values[:, place]))
        return frame
    if len(columns) == X.shape[1]:
        array = np.empty(X.shape)
    else:
        array = np.array(X, dtype=np.float64 if X.dtype.kind in "biuf" else object) if columns else X.copy()
    array[:, list(columns)] = values
    return array
