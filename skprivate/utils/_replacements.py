# SPDX-License-Identifier: BSD-3-Clause
"""Public replacements of values that cannot be used: in strict mode no value of a row makes a fit fail.

A failure that depends on one row is a release that nobody pays for. These rules have no exception: a cell is
read as a number or is missing, infinity is beyond every bound, what is missing is the middle of the bounds.
"""

from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._typing import FloatArray
from ._parameter_checks import as_cells, is_frame
from ._refused_values import is_temporal, refuse_kinds


def numbers_of(values: Any, name: str = "X") -> Any:
    """Read a table or a column as numbers, cell by cell where it must be; no cell makes it fail.

    Parameters
    ----------
    values : array-like or data frame
    name : str, default="X"
        For messages.

    Returns
    -------
    numbers : ndarray of float64
        Text is read as a number where it says one; NaN stands for every cell that is none, an infinity for a
        number that a float cannot hold. A sparse matrix, and a list of rows of different lengths, are
        returned as they are, to be refused.

    Raises
    ------
    TypeError, ValueError
        A masked array, or the type of a whole column is that of dates, or complex.

    Notes
    -----
    **Privacy.** Every cell is read by itself, and what is raised depends on the type of the container alone.

    Examples
    --------
    >>> from skprivate.utils._replacements import numbers_of
    >>> numbers_of([[1, "2.5"], [None, 10**400]])
    array([[1. , 2.5],
           [nan, inf]])
    """
    refuse_kinds(values, name)
    if hasattr(values, "tocsr"):
        return values
    if is_frame(values) and values.shape[1]:
        return np.column_stack([_column(np.asarray(column), name) for column in _columns(values)])
    if isinstance(values, list | tuple):
        values = as_cells(values)
        if isinstance(values, list | tuple):
            return values
    return _column(np.asarray(values), name)


def within_bounds(values: FloatArray, lower: ArrayLike, upper: ArrayLike) -> FloatArray:
    """Put what is not finite within declared bounds: infinities at the bounds, NaN in their middle.

    Parameters
    ----------
    values : ndarray of float64 of shape (n_rows, ...)
    lower, upper : float or array-like
        Public and finite; one value, or one per column.

    Returns
    -------
    values : ndarray of float64
        Finite, and the same where they were finite before, also outside the bounds: clip them yourself.

    Notes
    -----
    **Privacy.** The replacement is public, and no value makes the function fail or warn.

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate.base import within_bounds
    >>> within_bounds(np.array([np.inf, -np.inf, np.nan, 7.0]), 0.0, 4.0)
    array([4., 0., 2., 7.])
    """
    finite = np.isfinite(values)
    if finite.all():
        return values
    low, high = np.asarray(lower, dtype=np.float64), np.asarray(upper, dtype=np.float64)
    # Halves first: the sum of two large bounds is infinite.
    placed = np.where(np.isnan(values), low / 2 + high / 2, np.where(values < 0, low, high))
    return np.where(finite, values, placed)


def _columns(frame: Any) -> list[Any]:
    if hasattr(frame, "iloc"):
        return [frame.iloc[:, place] for place in range(frame.shape[1])]
    if hasattr(frame, "to_series"):  # polars
        return [frame.to_series(place) for place in range(frame.shape[1])]
    return list(np.asarray(frame).T)


def _column(values: NDArray[Any], name: str) -> FloatArray:
    kind = values.dtype.kind
    if kind in "biuf":
        with np.errstate(over="ignore"):
            return values.astype(np.float64, copy=False)
    if kind == "c":
        raise ValueError("Complex data not supported.")
    if kind not in "OUS":
        raise ValueError(f"{name} must hold real numbers, not {values.dtype.name}.")
    cells = [_number(cell) for cell in values.ravel().tolist()]
    return np.array(cells, dtype=np.float64).reshape(values.shape)


def _number(cell: Any) -> float:
    try:
        if not isinstance(cell, Real | Decimal | str | bytes | np.bool_) or is_temporal(cell):
            return np.nan
        try:
            return float(cell)
        except OverflowError:
            return np.inf if cell > 0 else -np.inf  # type: ignore[operator]
    except Exception:  # text that is no number, or a type of the user's own
        return np.nan
