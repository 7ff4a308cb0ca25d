# SPDX-License-Identifier: BSD-3-Clause
"""Tables of rows: refused kinds of values, cells read as numbers, and scikit-learn's validation.

Only the owner of a date knows whether it is a number of days or of nanoseconds. The type of an array or of a
frame's column is public, but a single object in a column of objects is not. So dates are refused by their
type in every mode. As single objects they are refused only outside strict mode, where other values make a fit
fail too.

In strict mode no value of a row makes a fit fail: a failure that depends on one row is a release that no
budget covers. The rules have no exception: a cell is read as a number or is missing, infinity is beyond every
bound, and a missing cell counts as the middle of the bounds.

Arrays of other libraries become arrays of NumPy, whatever the setting ``array_api_dispatch``: exact sums and
noise need its integers. scikit-learn is imported in the functions that call it, because clients with NumPy
alone read tables too.
"""

import json
import re
import sys
from collections.abc import Container, Iterable, Iterator, Mapping
from datetime import date, time, timedelta
from decimal import Decimal
from fractions import Fraction
from numbers import Number, Real
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._typing import FloatArray
from ._arguments import as_cells, check_characters, is_frame

# scikit-learn's validation, after dates, masks and other kinds are refused.

_NOT_GIVEN = "no_validation"


def validate_data(
    estimator: Any,
    X: Any = _NOT_GIVEN,
    y: Any = _NOT_GIVEN,
    *,
    cells: bool = True,
    kinds: bool = True,
    **options: Any,
) -> Any:
    """Validate as scikit-learn does; X and y of kinds that no table may hold are refused.

    Parameters
    ----------
    estimator : estimator
    X, y : array-like or data frame
    cells : bool, default=True
        Whether single objects are checked. Pass False in strict mode, where they are replaced.
    kinds : bool, default=True
        Whether to refuse X of a kind that no table of numbers may hold. Pass False if columns are declared.
    **options
        Options of scikit-learn's function.

    Returns
    -------
    out : X, y or both
        As scikit-learn returns them.

    Raises
    ------
    TypeError, ValueError
        As `refuse_kinds`, `refuse_text` (if numbers are required), `refuse_cells`, `refuse_missing` and
        scikit-learn's function.
    """
    refuse_series(X)
    if kinds:
        _refuse(X, "X", cells)
        if options.get("dtype", "numeric") is not None and not options.get("skip_check_array"):
            refuse_text(X, objects=not cells, takes_domain=hasattr(estimator, "domain"))
    _refuse(y, "y", cells)
    from sklearn import config_context
    from sklearn.utils.validation import validate_data as validate

    with config_context(array_api_dispatch=False):
        return validate(estimator, X, y, **options)


def check_array(values: Any, *, input_name: str = "", **options: Any) -> Any:
    """Check an array as scikit-learn does; values of kinds that no table may hold are refused."""
    _refuse(values, input_name or "X", True)
    if input_name in ("", "X") and options.get("dtype", "numeric") is not None:
        refuse_text(values, objects=False)
    from sklearn import config_context
    from sklearn.utils import check_array as check

    with config_context(array_api_dispatch=False):
        return check(values, input_name=input_name, **options)


def read_numbers(estimator: Any, X: Any, *, reset: bool = True, least_rows: int = 1) -> FloatArray:
    """Validate a table of numbers; no cell makes this fail: NaN replaces a cell that is not a number.

    Parameters
    ----------
    estimator : estimator
    X : array-like or data frame of shape (n_rows, n_features)
    reset : bool, default=True
        True in ``fit``: number and names of the columns are kept. False: they are compared.
    least_rows : int, default=1
        Smallest number of rows.

    Returns
    -------
    table : ndarray of float64 of shape (n_rows, n_features)
        In C order; the caller handles values that are not finite.

    Raises
    ------
    TypeError, ValueError
        X is not a table, holds text, dates, masks or complex numbers, or has other columns.

    Notes
    -----
    **Privacy.** Errors depend only on the container's type, names and shape.
    """
    refuse_text(X, objects=estimator.is_strict(), takes_domain=hasattr(estimator, "domain"))
    refuse_series(X)
    options: dict[str, Any] = {"ensure_all_finite": False, "ensure_min_samples": least_rows}
    table: FloatArray = check_array(
        numbers_of(X), dtype=np.float64, order="C", estimator=estimator, **options
    )
    validate_data(estimator, X if is_frame(X) else table, skip_check_array=True, reset=reset, cells=False)
    return table


def refuse_series(X: Any) -> None:
    """Refuse a series as a table: it may be one row of a frame or one column."""
    if hasattr(X, "to_frame") and getattr(X, "ndim", len(getattr(X, "shape", ()))) == 1:
        raise ValueError(
            "X is a series, not a table. Pass a frame of one row, such as frame.iloc[[0]] in place of "
            "frame.iloc[0], or a frame of one column, X.to_frame()."
        )


def _refuse(values: Any, name: str, cells: bool) -> None:
    if values is None or isinstance(values, str):
        return
    refuse_kinds(values, name)
    if cells and name == "y":
        refuse_missing(values, name)
    if cells:
        refuse_cells(values, name)


# Kinds of values that no table may hold: dates, durations, text, masked values, numbers beyond floats.

_TEMPORAL = (date, time, timedelta, np.datetime64, np.timedelta64)
_DATES = "holds dates or durations; turn them into numbers of one unit, such as days."
# Number of columns in the suggested declaration of a domain; set by hand.
_SHOWN = 6
# First letters of the names of pyarrow's types of numbers; dates have their own.
_ARROW_NUMBERS = ("int", "uint", "halffloat", "float", "double", "bool", "decimal", "null")
_ARROW_DATES = ("date", "time", "duration")
_LARGEST_FLOAT = Fraction(sys.float_info.max)
_PLAIN_TYPES = {float, bool, str, bytes, type(None), np.float64, np.float32, np.int64, np.str_, np.bool_}


def refuse_kinds(values: Any, name: str = "X", *, all_columns: bool = True) -> None:
    """Refuse a table or a column for its type, or the types and names of its columns.

    Parameters
    ----------
    values : array-like or data frame
    name : str, default="X"
        Name for messages.
    all_columns : bool, default=True
        Whether the types of all columns of a frame are checked. Pass False if some are passed on unchanged.

    Raises
    ------
    TypeError
        A masked array, or a type of dates or durations.
    ValueError
        The name of a column is a text that UTF-8 cannot encode.

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate.utils._tables import refuse_kinds
    >>> refuse_kinds(np.array(["2020-01-01"], dtype="M8[D]"))
    Traceback (most recent call last):
    TypeError: X holds dates or durations; turn them into numbers of one unit, such as days.
    """
    if isinstance(values, np.ma.MaskedArray):
        raise _masked(name)
    if (all_columns or not is_frame(values)) and any(map(is_temporal_type, _types(values))):
        types = column_types(values) if name == "X" else None
        declared = "" if types is None else f" Or declare the columns to a model: {domain_line(types)}."
        raise TypeError(f"{name} {_DATES}{declared}")
    if is_frame(values):
        for label in values.columns:
            if isinstance(label, str):
                check_characters(label, f"the name of a column of {name}")


def refuse_text(
    X: Any, *, objects: bool = True, takes_domain: bool = False, columns: Container[Any] | None = None
) -> None:
    """Refuse a table of numbers with a column of text or of objects, by its type, before a cell is read.

    Parameters
    ----------
    X : array-like, data frame or Arrow table
        A list has no type: its cells are read one by one.
    objects : bool, default=True
        Whether an array of objects is refused, as in strict mode. Such columns of a frame always are.
    takes_domain : bool, default=False
        Whether the reader of the table has a parameter ``domain``.
    columns : container of str, default=None
        Names of the columns to check; None: all of them.

    Raises
    ------
    TypeError
        The message has the domain to be declared, with the table's own names and no cell.

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate.utils._tables import refuse_text
    >>> refuse_text(np.array([["39", "clerk"]]), takes_domain=True)
    Traceback (most recent call last):
    TypeError: X holds text or objects, and numbers are required. Declare ... domain=TableDomain({"x0": ...
    """
    types = column_types(X)
    if types is not None:
        types = {name: dtype for name, dtype in types.items() if columns is None or name in columns}
        refused = any(map(is_text_type, types.values()))
    else:
        dtype = getattr(X, "dtype", None)
        kind = getattr(dtype, "kind", "") if getattr(dtype, "names", None) is None else ""
        refused = kind in ("U", "S", "T") or (objects and kind == "O")
    if refused:
        raise TypeError(
            "X holds text or objects, and numbers are required. Declare its columns, from public knowledge: "
            f"{domain_line(types, takes_domain)}. From rows that are public, TableDomain.from_public(rows) "
            "declares them."
        )


def column_types(X: Any) -> dict[Any, Any] | None:
    """Return the type of each column of a frame or an Arrow table, by name; None for anything else."""
    schema: Any = getattr(X, "schema", None)
    if hasattr(schema, "types"):  # pyarrow
        return dict(zip(schema.names, schema.types, strict=True))
    return dict(zip(X.columns, getattr(X, "dtypes", ()), strict=False)) if is_frame(X) else None


def domain_line(types: Mapping[Any, Any] | None, takes_domain: bool = True) -> str:
    """Return the argument of a model that declares a table's columns, for the owner to complete."""
    line = table_domain(types)
    return f"domain={line}" if takes_domain else f"DomainEncoder({line}), as a step in front"


def table_domain(types: Mapping[Any, Any] | None) -> str:
    """Return the domain of a table, from the types of its columns, for the owner to complete.

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate.utils._tables import table_domain
    >>> print(table_domain({"age": np.dtype(float), "job": np.dtype(object)}))
    TableDomain({"age": (low, high), "job": ["...", ...]})
    """
    if types is None or not all(isinstance(name, str) for name in types):
        said = ['"x0": (low, high) or ["...", ...]', "..."]
    else:
        shown = list(types.items())[:_SHOWN]
        said = [f"{json.dumps(name, ensure_ascii=False)}: {_declaration(dtype)}" for name, dtype in shown]
        said += ["..."] if len(types) > _SHOWN else []
    return f"TableDomain({{{', '.join(said)}}})"


def _declaration(dtype: Any) -> str:
    if is_temporal_type(dtype):
        return '("yyyy-mm-dd", "yyyy-mm-dd")'
    if getattr(dtype, "kind", None) == "b" or str(dtype) in ("Boolean", "bool"):
        return "bool"
    return '["...", ...]' if is_text_type(dtype) else "(low, high)"


def refuse_cells(values: Any, name: str = "X") -> None:
    """Refuse a table or a column for one of its objects; call it only outside strict mode.

    Parameters
    ----------
    values : array-like or data frame
    name : str, default="X"
        Name for messages.

    Raises
    ------
    TypeError
        A date, a duration or a masked value.
    ValueError
        A number that a float cannot hold. No message shows a value.
    """
    for cells in _objects(values):
        for kind in set(map(type, cells)) - _PLAIN_TYPES:
            if _is_temporal_class(kind):
                raise TypeError(f"{name} {_DATES}")
            if issubclass(kind, np.ma.MaskedArray):
                raise _masked(name)
            if issubclass(kind, int | Fraction):
                exact = [cell for cell in cells if isinstance(cell, int | Fraction)]
                if not all(-_LARGEST_FLOAT <= cell <= _LARGEST_FLOAT for cell in exact):
                    raise ValueError(f"{name} holds a number that a float cannot hold.")


def refuse_missing(values: Any, name: str = "y") -> None:
    """Refuse a target of objects with a missing value; call it only outside strict mode."""
    for cells in _objects(values):
        if any(cell is None or type(cell).__name__ in ("NAType", "NaTType") for cell in cells):
            raise ValueError(
                f"{name} holds None or another missing value: leave such rows out, or fill the values."
            )


def is_temporal(cell: Any) -> bool:
    """Return whether one value is a date, a time or a duration."""
    return _is_temporal_class(type(cell))


def _masked(name: str) -> TypeError:
    return TypeError(f"{name} must not be a masked array: write NaN where a value is missing.")


def _is_temporal_class(kind: type) -> bool:
    return issubclass(kind, _TEMPORAL) or kind.__name__ == "Period"  # of pandas, which may be absent


def _types(values: Any) -> Iterable[Any]:
    if is_frame(values):
        return list(getattr(values, "dtypes", ()))
    dtype = getattr(values, "dtype", None)
    names = getattr(dtype, "names", None)
    return [dtype] if not names else [dtype[field] for field in names]  # type: ignore[index]


def is_temporal_type(dtype: Any) -> bool:
    """Return whether the type of a column, of NumPy, pandas or polars, is one of dates or durations."""
    if getattr(dtype, "kind", None) in ("m", "M"):  # NumPy, pandas with a time zone or of Arrow
        return True
    decides = getattr(dtype, "is_temporal", None)  # polars
    if callable(decides):
        return bool(decides())
    inner = getattr(getattr(dtype, "categories", None), "dtype", None)
    kind = getattr(dtype, "type", None)
    if inner is not None:
        return is_temporal_type(inner)
    if type(dtype).__module__.startswith("pyarrow"):
        return str(dtype).startswith(_ARROW_DATES)
    return isinstance(kind, type) and _is_temporal_class(kind)


def is_text_type(dtype: Any) -> bool:
    """Return whether the type of a column, of NumPy, pandas, polars or pyarrow, is text or objects."""
    if is_temporal_type(dtype):
        return False
    decides = getattr(dtype, "is_numeric", None)  # polars
    if callable(decides):
        return not (decides() or str(dtype) in ("Boolean", "Null"))
    inner = getattr(getattr(dtype, "categories", None), "dtype", getattr(dtype, "value_type", None))
    if inner is not None:  # categories have the type of their values
        return is_text_type(inner)
    kind, cell = getattr(dtype, "kind", None), getattr(dtype, "type", None)
    if kind is None:
        return not str(dtype).startswith(_ARROW_NUMBERS)
    return kind in "OUST" and not (isinstance(cell, type) and issubclass(cell, Number | Decimal))


# Names of types in NumPy, pandas, polars and Arrow, in lower case.
_NAMES_OF_TEXT = re.compile(r"(dictionary<values=)?(large_)?(str(?!uct)|utf8|bytes|binary|cat|enum)")
_NAMES_OF_NUMBERS = re.compile(r"(dictionary<values=)?(u?int(?!erval)|float|double|half|bool|decimal)")


def kind_of_labels(labels: Any) -> Literal["text", "numbers", "complex"] | None:
    """Return the kind of labels by the public type of a column or of a field of Arrow; None if unknown."""
    if is_frame(labels):
        dtypes = list(labels.dtypes)
        dtype = dtypes[0] if len(dtypes) == 1 else None
    else:
        dtype = getattr(labels, "dtype", getattr(labels, "type", None))
    dtype = getattr(getattr(dtype, "categories", None), "dtype", dtype)
    name = str(getattr(dtype, "name", dtype)).lower()
    if name.startswith("complex"):
        return "complex"
    return "text" if _NAMES_OF_TEXT.match(name) else "numbers" if _NAMES_OF_NUMBERS.match(name) else None


def holds_booleans(labels: Any) -> bool:
    """Return whether the type of a column, of NumPy, pandas, polars or pyarrow, is one of booleans."""
    return str(getattr(labels, "dtype", getattr(labels, "type", ""))).lower().startswith("bool")


def _objects(values: Any) -> Iterator[list[Any]]:
    """Yield the cells that are objects, column by column or row by row."""
    if is_frame(values):
        for place, dtype in enumerate(getattr(values, "dtypes", ())):
            if getattr(dtype, "kind", "O") == "O" and _holds_objects(dtype):
                column = values.iloc[:, place] if hasattr(values, "iloc") else values.to_series(place)
                yield column.to_list()
    elif isinstance(values, list | tuple):
        yield list(values)
        for row in values:
            if isinstance(row, list | tuple | np.ndarray):
                yield from _objects_of_row(row)
    elif hasattr(values, "dtype") and _holds_objects(values.dtype):
        yield np.asarray(values).ravel().tolist()


def _objects_of_row(row: Any) -> Iterator[list[Any]]:
    if isinstance(row, list | tuple):
        yield list(row)
    elif row.dtype.kind in "mMO":
        yield row.ravel().astype(object).tolist() if row.dtype == object else [row.dtype.type(0, "D")]


def _holds_objects(dtype: Any) -> bool:
    return str(dtype) in ("object", "Object")  # of NumPy and pandas, of polars


# Public replacements of unusable values: in strict mode no value of a row makes a fit fail.


def numbers_of(values: Any, name: str = "X") -> Any:
    """Read a table or a column as numbers, cell by cell if necessary; no cell makes it fail.

    Parameters
    ----------
    values : array-like or data frame
    name : str, default="X"
        Name for messages.

    Returns
    -------
    numbers : ndarray of float64
        A text with a number is read as that number. NaN replaces every cell that is not a number, an infinity
        replaces a number that a float cannot hold. A sparse matrix, and a list of rows of different lengths,
        are returned unchanged, and a later check refuses them.

    Raises
    ------
    TypeError, ValueError
        A masked array, or a whole column with a type of dates or of complex numbers.

    Notes
    -----
    **Privacy.** Every cell is read by itself, and errors depend only on the type of the container.

    Examples
    --------
    >>> from skprivate.utils._tables import numbers_of
    >>> numbers_of([[1, "2.5"], [None, 10**400]])
    array([[1. , 2.5],
           [nan, inf]])
    """
    refuse_kinds(values, name)
    if hasattr(values, "tocsr"):
        return values
    if is_frame(values) and values.shape[1]:
        return np.column_stack(
            [_numbers_of_column(np.asarray(column), name) for column in _columns_of_frame(values)]
        )
    if isinstance(values, list | tuple):
        values = as_cells(values)
        if isinstance(values, list | tuple):
            return values
    return _numbers_of_column(np.asarray(values), name)


def within_bounds(values: FloatArray, lower: ArrayLike, upper: ArrayLike) -> FloatArray:
    """Replace values that are not finite: infinities by the declared bounds, NaN by their middle.

    Parameters
    ----------
    values : ndarray of float64 of shape (n_rows, ...)
    lower, upper : float or array-like
        Public and finite; one value, or one per column.

    Returns
    -------
    values : ndarray of float64
        All finite. Finite values are unchanged, also outside the bounds: clip them yourself.

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


def _columns_of_frame(frame: Any) -> list[Any]:
    if hasattr(frame, "iloc"):
        return [frame.iloc[:, place] for place in range(frame.shape[1])]
    if hasattr(frame, "to_series"):  # polars
        return [frame.to_series(place) for place in range(frame.shape[1])]
    return list(np.asarray(frame).T)


def _numbers_of_column(values: NDArray[Any], name: str) -> FloatArray:
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
    except Exception:  # a text that is not a number, or a type of a user
        return np.nan
