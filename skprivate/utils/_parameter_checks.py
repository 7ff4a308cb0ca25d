# SPDX-License-Identifier: BSD-3-Clause
"""Checks of parameters that every estimator shares; no message repeats a value of the data."""

import math
from collections.abc import Mapping, Sequence, Set, Sized
from fractions import Fraction
from numbers import Integral, Rational, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._typing import FloatArray

# Every amount can be printed, and turned into a float.
_LARGEST = 10**300


def check_epsilon(epsilon: Any) -> Fraction:
    """Return a privacy budget as the exact Fraction it stands for.

    Parameters
    ----------
    epsilon : float or Fraction
        Finite and positive.

    Returns
    -------
    epsilon : Fraction
        Exactly the number passed: a float is taken at its binary value.

    Raises
    ------
    TypeError
        Not a number (a bool is not a number here).
    ValueError
        Not finite, or not positive.

    Notes
    -----
    **Privacy.** A float is a multiple of a power of two: the Fraction equal to it loses nothing, and what is
    charged is what was asked for.

    Examples
    --------
    >>> from skprivate.base import check_epsilon
    >>> check_epsilon(0.5)
    Fraction(1, 2)
    """
    return check_positive(epsilon, "epsilon")


def check_positive(value: Any, name: str) -> Fraction:
    """Return a finite real number above 0 as the Fraction equal to it."""
    amount = _exact(value, name)
    if amount <= 0:
        raise ValueError(f"{name} must be greater than 0.")
    if amount > _LARGEST:
        raise ValueError(f"{name} must be at most 1e300.")
    return amount


def check_probability(value: Any, name: str) -> Fraction:
    """Return a real number in [0, 1) as the Fraction equal to it."""
    amount = _exact(value, name)
    if not 0 <= amount < 1:
        raise ValueError(f"{name} must be at least 0 and below 1.")
    return amount


def _exact(value: Any, name: str) -> Fraction:
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        raise TypeError(f"{name} must be an int, a float or a Fraction, not {type(value).__name__}.")
    if isinstance(value, Rational):
        # int(): a NumPy integer inside a Fraction would overflow.
        return Fraction(int(value.numerator), int(value.denominator))
    number: Any = value
    if not math.isfinite(number):
        raise ValueError(f"{name} must be finite.")
    return Fraction(*number.as_integer_ratio())


def check_int(value: Any, name: str, *, least: int) -> int:
    """Return a whole number of at least so much as a Python int."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Integral):
        raise TypeError(f"{name} must be an int, not {type(value).__name__}.")
    if value < least:
        raise ValueError(f"{name} must be at least {least}, got {value}.")
    return int(value)


def check_bounds(
    bounds: Any, n_features: int, feature_names: Sequence[str] | None = None, *, name: str = "bounds"
) -> tuple[FloatArray, FloatArray]:
    """Return declared bounds as two arrays, one value per feature.

    Parameters
    ----------
    bounds : pair or dict
        ``(lower, upper)``, each a scalar or an array of shape (n_features,); or a dict
        ``{column: (lower, upper)}`` with an entry for every column, by name or by position.
    n_features : int
        Number of columns of X.
    feature_names : sequence of str, default=None
        Names of the columns, where X had names.
    name : str, default="bounds"
        The parameter's name, for messages.

    Returns
    -------
    lower, upper : ndarray of shape (n_features,)

    Raises
    ------
    TypeError, ValueError
        Not a pair or a dict; wrong length; unknown, repeated or missing columns; not finite;
        ``lower >= upper`` somewhere.

    Examples
    --------
    >>> from skprivate.utils import check_bounds
    >>> lower, upper = check_bounds(([0, 18], [1, 99]), n_features=2)
    >>> lower, upper
    (array([ 0., 18.]), array([ 1., 99.]))
    """
    if isinstance(bounds, Mapping):
        lower, upper = _bounds_from_columns(bounds, n_features, feature_names, name)
    else:
        lower, upper = _bounds_from_pair(bounds, n_features, name, feature_names)
    if not (np.isfinite(lower).all() and np.isfinite(upper).all()):
        raise ValueError(f"{name} must be finite.")
    if n_features == 1 and lower[0] >= upper[0]:
        raise ValueError(f"{name}: lower must be below upper.")
    if (lower >= upper).any():
        column = int(np.argmax(lower >= upper))
        raise ValueError(
            f"{name}: lower must be below upper in every column; it is not in column {column}. A pair is "
            "(lower, upper) over all columns; for a pair per column pass {column: (lower, upper)}."
        )
    return lower, upper


def _bounds_from_pair(
    bounds: Any, n_features: int, name: str, feature_names: Sequence[str] | None = None
) -> tuple[FloatArray, FloatArray]:
    if isinstance(bounds, str | Set) or not hasattr(bounds, "__len__") or len(bounds) != 2:
        raise TypeError(f"{name} must be a pair (lower, upper) or a dict {{column: (lower, upper)}}.")
    lower, upper = bounds
    return _side(lower, n_features, name, feature_names), _side(upper, n_features, name, feature_names)


def _side(side: Any, n_features: int, name: str, feature_names: Sequence[str] | None) -> FloatArray:
    if feature_names is not None and hasattr(side, "to_dict") and set(side.to_dict()) == set(feature_names):
        # A labelled column of bounds: by name, not by position.
        by_name = side.to_dict()
        side = [by_name[feature] for feature in feature_names]
    values = np.asarray(side)
    if values.dtype.kind not in "iuf":
        raise TypeError(f"{name} must hold numbers.")
    if values.ndim > 1 or (values.ndim == 1 and values.shape[0] != n_features):
        raise ValueError(
            f"{name}: each side must be a scalar or have one value per column "
            f"({n_features}), got shape {values.shape}."
        )
    return np.array(np.broadcast_to(values, n_features), dtype=np.float64)


def _bounds_from_columns(
    bounds: Mapping[Any, Any], n_features: int, feature_names: Sequence[str] | None, name: str
) -> tuple[FloatArray, FloatArray]:
    lower, upper = np.full((2, n_features), np.nan)
    seen: set[int] = set()
    for column, pair in bounds.items():
        index = _column_index(column, n_features, feature_names, name)
        if index in seen:
            raise ValueError(f"{name}: column {column!r} is given twice.")
        seen.add(index)
        pair_lower, pair_upper = _bounds_from_pair(pair, 1, name)
        lower[index], upper[index] = pair_lower[0], pair_upper[0]
    if len(seen) < n_features:
        missing = next(i for i in range(n_features) if i not in seen)
        label = repr(feature_names[missing]) if feature_names is not None else missing
        raise ValueError(f"{name}: column {label} has no bounds.")
    return lower, upper


def _column_index(column: Any, n_features: int, feature_names: Sequence[str] | None, name: str) -> int:
    if isinstance(column, Integral) and not isinstance(column, bool):
        index = int(column)
        if not 0 <= index < n_features:
            raise ValueError(f"{name}: there is no column {index}; X has {n_features} columns.")
        return index
    names = [] if feature_names is None else list(feature_names)
    if column not in names:
        raise ValueError(f"{name}: there is no column {column!r}.")
    return names.index(column)


def check_characters(text: str, what: str) -> None:
    """Raise ValueError for text that UTF-8 cannot carry: it holds half of a surrogate pair."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise ValueError(f"{what} holds lone surrogates, which UTF-8 cannot write.") from None


def as_labels(values: Any) -> Any:
    """Return labels in a form in which no value changes another's type.

    NumPy gives a list one common type: ``[0, 1, "?"]`` becomes text, and then no row is labelled 1. A list or
    tuple therefore becomes an array of objects; an array or a column stays as its owner made it.
    """
    if getattr(getattr(values, "dtype", None), "kind", None) == "T":
        # NumPy's text of any length, which scikit-learn does not take.
        return values.astype(object)
    if not isinstance(values, list | tuple):
        return values
    try:
        if np.ndim(values) > 1:
            return np.array(values, dtype=object)
    except ValueError:
        raise ValueError("labels must be one-dimensional: some of these are sequences.") from None
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def as_cells(values: list[Any] | tuple[Any, ...]) -> Any:
    """Return a list of rows, or of cells, as an array of objects in which no cell changes another's type."""
    if values and all(_is_row(row) for row in values):
        width = len(values[0])
        if any(len(row) != width for row in values):
            return values
        table = np.empty((len(values), width), dtype=object)
        for i, row in enumerate(values):
            for j, cell in enumerate(row):
                table[i, j] = cell
        return table
    column = np.empty(len(values), dtype=object)
    for i, cell in enumerate(values):
        column[i] = cell
    return column


def as_column(values: Any) -> Any:
    """Return a list of targets as an array of objects; no row has a say in how another is read.

    A list, tuple or array of one item stands for the item. Rows that all have one other length make a table,
    to be refused. What is no list stays as its owner made it.
    """
    if not isinstance(values, list | tuple):
        return values
    widths = [_width(value) for value in values]
    if len(set(widths)) == 1 and widths[0] not in (None, 1):
        return as_cells(values)
    column = np.empty(len(values), dtype=object)
    for i, (value, width) in enumerate(zip(values, widths, strict=True)):
        column[i] = value[0] if width == 1 else value
    return column


def _width(value: Any) -> int | None:
    """Number of items of a list, tuple or array; None for a single value."""
    # By its type: an object of the user's own may refuse to tell its class.
    if issubclass(type(value), np.ndarray):
        return len(value) if value.ndim else None
    return len(value) if issubclass(type(value), list | tuple) else None


def _is_row(value: Any) -> bool:
    return isinstance(value, Sized) and hasattr(value, "__getitem__") and not isinstance(value, str | bytes)


def is_frame(values: Any) -> bool:
    """Tell whether something is a data frame: two-dimensional, with named columns."""
    return hasattr(values, "columns") and hasattr(values, "shape") and len(values.shape) == 2


def is_structured(y: Any) -> bool:
    """Tell whether a target has fields: a structured or record array, a data frame of several columns."""
    if is_frame(y):
        return bool(y.shape[1] > 1)
    return getattr(getattr(y, "dtype", None), "names", None) is not None


def check_row_mask(
    mask: Any, n_rows: int, *, name: str = "is_public", strict: bool = False
) -> NDArray[np.bool_]:
    """Return a mask over rows as a boolean array; None means that no row is marked.

    Parameters
    ----------
    mask : array-like of bool, of shape (n_rows,), or None
    n_rows : int
    name : str, default="is_public"
        The parameter's name, for messages.
    strict : bool, default=False
        Of objects, as in a list, only True marks a row: whatever else a row has there makes it private.

    Returns
    -------
    mask : ndarray of bool, of shape (n_rows,)

    Raises
    ------
    TypeError
        The values are not booleans (0 and 1 are refused: they may be row numbers).
    ValueError
        Wrong length or not one-dimensional.

    Notes
    -----
    Values belong to rows by position; the index of a data frame is not looked at, as in scikit-learn.
    """
    if mask is None:
        return np.zeros(n_rows, dtype=bool)
    if isinstance(mask, np.ma.MaskedArray):
        raise TypeError(f"{name} must not be a masked array: a hidden value is neither public nor private.")
    cells = as_cells(mask) if strict and isinstance(mask, list | tuple) else mask
    array = np.asarray(cells)
    if array.shape != (n_rows,):
        raise ValueError(f"{name} must have shape ({n_rows},), one value per row of X, not {array.shape}.")
    if strict and array.dtype == object:
        array = np.array([isinstance(cell, bool | np.bool_) and bool(cell) for cell in array], dtype=bool)
    if array.dtype == object and all(isinstance(value, bool | np.bool_) for value in array):
        array = array.astype(bool)
    if array.dtype != bool:
        raise TypeError(f"{name} must hold booleans, True for a public row, not {array.dtype}.")
    return array
