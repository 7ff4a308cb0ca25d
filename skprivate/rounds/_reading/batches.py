# SPDX-License-Identifier: BSD-3-Clause
"""Conversion of batches (arrays, data frames, Arrow streams) to pieces of (X, y)."""

from collections.abc import Container, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._config import get_config
from ...domain import TableDomain
from ...utils import as_column, check_characters
from ...utils._refused_values import refuse_cells, refuse_kinds, refuse_text
from ...utils._replacements import numbers_of
from ...utils._table_validation import check_array

# Rows that are copied out of columns at a time: of 100 features, 26 MB.
PIECE_ROWS = 2**15

Piece = tuple[NDArray[Any], NDArray[Any]]


def iter_batches(
    batch: Any,
    y: Any = None,
    *,
    features: Sequence[str] | None = None,
    target: str | None = None,
    domain: TableDomain | None = None,
) -> tuple[tuple[str, ...] | None, Iterator[Piece]]:
    """Read one batch, in whatever form it comes.

    Parameters
    ----------
    batch : array-like, data frame or Arrow data
        Of shape (n, n_features); or anything with columns, among them the target's: a pandas or polars data
        frame, or an object with ``__arrow_c_stream__`` or ``__arrow_c_array__`` (a pyarrow table, record
        batch or reader, a DuckDB result, ...), which needs pyarrow. Streams are never held whole.
    y : array-like of shape (n,), default=None
        Target. None: the column `target`.
    features : sequence of str, default=None
        Names of the columns to take, in their order. None: all but the target's, as they come.
    target : str, default=None
        Name of the target's column.
    domain : TableDomain, default=None
        What the columns hold; None: numbers.

    Returns
    -------
    names : tuple of str, or None
        The columns taken; None for arrays.
    pieces : iterator of (X, y)
        One piece for arrays, else of at most 2^15 rows each. Values are numbers; NaN and infinity are still
        among them. In strict mode NaN stands for every cell that is no number; otherwise it is an error.

    Raises
    ------
    ImportError
        Arrow data, and pyarrow is not installed.
    ValueError
        There is no target, a column is missing, or its values are no numbers; also while pieces are read.

    Examples
    --------
    >>> import pandas as pd
    >>> from skprivate.rounds._reading.batches import iter_batches
    >>> names, pieces = iter_batches(pd.DataFrame({"load": [1, 2], "hours": [10.0, 9.0]}), target="hours")
    >>> names, [(X.tolist(), y.tolist()) for X, y in pieces]
    (('load',), [([[1.0], [2.0]], [10.0, 9.0])])
    """
    if has_names(batch):
        names = _chosen(list(batch.columns), y, features, target)
        if domain is not None:
            aside = frame_column(batch, str(target)) if y is None else y
            return names, iter([_encoded(batch[list(names)], aside, domain)])
        refuse_text(batch, takes_domain=True, columns=names)
        return names, _pieces([_frame_columns(batch, names, y, target)])
    if holds_arrow(batch):
        if y is not None:
            raise ValueError("y must be a column of Arrow data: name it with target=...")
        schema, records = arrow_records(batch)
        names = _chosen(list(schema), y, features, target)
        if domain is not None:
            return names, (
                _encoded(record.select(list(names)), arrow_columns(record, (str(target),))[0], domain)
                for record in records
            )
        return names, _pieces(number_columns(record, names, (*names, str(target))) for record in records)
    if y is None:
        raise ValueError("y is missing: only batches with named columns hold the target themselves.")
    if domain is not None:
        return None, iter([_encoded(batch, y, domain)])
    return None, iter([(read_array(batch), _target_numbers(y))])


def _encoded(table: Any, y: Any, domain: TableDomain) -> Piece:
    X, target = domain.encode(table), _target_numbers(y)
    if len(target) != len(X):
        raise ValueError("y must have one value per row of the batch.")
    return X, target


def _target_numbers(y: Any) -> NDArray[Any]:
    y = numbers_of(as_column(y), "y") if get_config()["strict"] else y
    y = check_array(
        y, dtype=None, ensure_2d=False, ensure_all_finite=False, ensure_min_samples=0, input_name="y"
    )
    return column_numbers(y, "y")


def _chosen(
    columns: list[Any], y: Any, features: Sequence[str] | None, target: str | None
) -> tuple[str, ...]:
    """Names of the features' columns; the target's column is there if it is needed."""
    if y is None and target is None:
        raise ValueError("y is missing: pass it, or name the target's column with target=...")
    aside = target if y is None else None
    names = tuple(features) if features is not None else tuple(c for c in columns if c != aside)
    needed = names if aside is None else (*names, aside)
    for name in names:
        check_characters(name, "the name of a column of X")
    # A name that is there twice is as good as missing: which of them is meant?
    missing = sorted(str(name) for name in needed if columns.count(name) != 1)
    if missing:
        raise ValueError(f"the batch must have each of these columns once: {', '.join(missing)}.")
    return names


def read_array(table: Any) -> NDArray[Any]:
    """Return a table without names as numbers; in strict mode NaN stands for every cell that is none."""
    refuse_text(table, objects=get_config()["strict"], takes_domain=True)
    numbers: NDArray[Any] = check_array(
        numbers_of(table) if get_config()["strict"] else table,
        dtype=[np.float64, np.float32],
        ensure_all_finite=False,
        ensure_min_samples=0,
        input_name="X",
    )
    return numbers


def has_names(table: Any) -> bool:
    """Tell whether something is a data frame of pandas or polars whose columns have names."""
    is_frame = hasattr(table, "columns") and hasattr(table, "to_numpy")
    # Numbered columns are no names.
    return is_frame and all(isinstance(name, str) for name in table.columns)


def holds_arrow(table: Any) -> bool:
    """Tell whether something hands out Arrow data, and is no data frame."""
    is_frame = hasattr(table, "columns") and hasattr(table, "to_numpy")
    return not is_frame and (hasattr(table, "__arrow_c_stream__") or hasattr(table, "__arrow_c_array__"))


def frame_column(frame: Any, name: str) -> NDArray[Any]:
    """Return one column of a data frame as an array; masks, dates and the like are refused."""
    # An array of a column has neither its mask nor its time zone.
    refuse_kinds(frame[name], f"column {name!r}")
    values = np.asarray(frame[name])
    # Of polars a missing cell makes objects of text: all text is objects.
    return values.astype(object) if values.dtype.kind in "UT" else values


def _frame_columns(frame: Any, names: tuple[str, ...], y: Any, target: str | None) -> list[NDArray[Any]]:
    """Columns of the features, then the target."""
    series = [*(frame[name] for name in names), frame[target] if y is None else y]
    for name, one in zip((*names, "y"), series, strict=True):
        # An array of a column has neither its mask nor its time zone.
        refuse_kinds(one, f"column {name!r}" if name != "y" else "y")
    columns = [np.asarray(one) for one in series]
    if columns[-1].shape != (len(frame),):
        raise ValueError("y must have one value per row of the batch.")
    return columns


def arrow_records(batch: Any) -> tuple[list[str], Iterable[Any]]:
    """Names of the columns, and record batches."""
    try:
        import pyarrow
    except ImportError:
        raise ImportError(
            "Arrow data is read through pyarrow, which is not installed: pip install 'skprivate[dask]'."
        ) from None
    if hasattr(batch, "__arrow_c_array__"):
        record = pyarrow.record_batch(batch)
        return record.schema.names, [record]
    reader = pyarrow.RecordBatchReader.from_stream(batch)
    return reader.schema.names, reader


def arrow_columns(record: Any, names: tuple[str, ...]) -> list[NDArray[Any]]:
    return [record.column(name).to_numpy(zero_copy_only=False) for name in names]


def number_columns(record: Any, names: Container[str], wanted: tuple[str, ...]) -> list[NDArray[Any]]:
    """Return columns of a record batch whose features are numbers by their types."""
    refuse_text(record, takes_domain=True, columns=names)
    return arrow_columns(record, wanted)


def _pieces(tables: Iterable[list[NDArray[Any]]]) -> Iterator[Piece]:
    """Copy columns, the target's last, side by side, some rows at a time."""
    for columns in tables:
        for first in range(0, len(columns[-1]), PIECE_ROWS):
            here = slice(first, first + PIECE_ROWS)
            y = column_numbers(columns[-1][here], "the target")
            X = np.empty((len(y), len(columns) - 1))
            for j, column in enumerate(columns[:-1]):
                X[:, j] = column_numbers(column[here], f"column {j}")
            yield X, y


def column_numbers(values: NDArray[Any], name: str) -> NDArray[Any]:
    """Return real numbers; the error repeats no value."""
    if type(values) is np.ndarray and values.dtype == np.float64:
        # Nothing to refuse; what follows takes as long as copying the numbers.
        return values
    if get_config()["strict"]:
        numbers: NDArray[Any] = numbers_of(values, name)
        return numbers
    refuse_kinds(values, name)
    refuse_cells(values, name)
    if values.dtype.kind in "biuf":
        return values
    if values.dtype.kind == "O":
        try:
            return values.astype(np.float64)
        except (TypeError, ValueError):
            pass
    # Outside the handler, whose error repeats the value.
    raise ValueError(f"{name} must hold numbers, none of them missing.")
