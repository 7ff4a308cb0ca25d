# SPDX-License-Identifier: BSD-3-Clause
"""Columns of tables of many libraries as NumPy arrays, lists of cells, or codes of categories.

A library is used only if it is already loaded: without it no object can be its table.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._typing import IndexArray
from ..utils import as_cells
from ..utils._tables import is_temporal_type

_DURATIONS = "its type is one of durations, times of a day or periods."
_NESTED = "its type is one of lists or records."


class ColumnTypeError(TypeError):
    """The type of a whole column cannot be read; the message holds no value."""


@dataclass(frozen=True)
class CodedColumn:
    """A column whose cells are positions in a list of categories.

    Parameters
    ----------
    codes : ndarray of intp of shape (n,)
        Positions; -1 for a missing cell.
    categories : ndarray, list or CodedColumn
        Values of the positions.
    declared : bool, default=False
        Whether the categories are all possible ones in their order, and not only those that were found.
    ordered : bool, default=False
        Whether their order has a meaning.
    """

    codes: IndexArray
    categories: Any
    declared: bool = False
    ordered: bool = False


@dataclass(frozen=True)
class RawTable:
    """Columns of a table without conversion.

    Parameters
    ----------
    names : tuple, or None
        Names of the columns; None if a table has none.
    columns : list
        The columns: arrays, columns of a library or lists.
    n_rows : int
    """

    names: tuple[Any, ...] | None
    columns: list[Any]
    n_rows: int


def read_table(table: Any, record_names: Sequence[str] | None = None, *, strict: bool = False) -> RawTable:
    """Return the columns of a table.

    Parameters
    ----------
    table : data frame, Arrow table, dict, array or list
        See `TableDomain.encode`.
    record_names : sequence of str, default=None
        Names of the fields of records; None: those of the first record.
    strict : bool, default=False
        Whether records with missing or further fields are read; a missing field is a missing value.

    Returns
    -------
    raw : RawTable

    Raises
    ------
    TypeError, ValueError
        It is not a table, or its columns have different lengths.
    """
    if isinstance(table, np.ma.MaskedArray) or hasattr(table, "tocsr"):
        raise TypeError("the table must not be a masked array or a sparse matrix.")
    if type(table).__module__.startswith("polars.lazyframe"):
        raise TypeError("the table is a query that has not run yet: pass table.collect().")
    if isinstance(table, Mapping):
        return _of_mapping(table, record_names, strict)
    for library, kind, read in _FRAMES:
        if library in sys.modules and isinstance(table, getattr(sys.modules[library], kind, ())):
            return read(table)
    if hasattr(table, "__arrow_c_stream__") or hasattr(table, "__arrow_c_array__"):
        try:
            import pyarrow
        except ImportError:
            raise ImportError(
                "a table that is passed as an Arrow stream needs pyarrow: pip install pyarrow."
            ) from None
        return _of_arrow(pyarrow.table(table))
    if isinstance(table, list | tuple):
        return _of_rows(table, record_names, strict)
    return _of_array(table)


def _of_mapping(table: Mapping[Any, Any], names: Sequence[str] | None, strict: bool) -> RawTable:
    columns = list(table.values())
    if not columns or any(
        isinstance(one, str | bytes | Mapping) or not hasattr(one, "__len__") for one in columns
    ):
        return _of_records([table], names, strict)
    lengths = set(map(len, columns))
    if len(lengths) != 1:
        raise ValueError("the columns of the table have different lengths.")
    return RawTable(tuple(table), columns, lengths.pop())


def _of_rows(rows: list[Any] | tuple[Any, ...], names: Sequence[str] | None, strict: bool) -> RawTable:
    if rows and all(isinstance(row, Mapping) for row in rows):
        return _of_records(rows, names, strict)
    if not rows and names is not None:
        return RawTable(None, [[] for _ in names], 0)
    cells = as_cells(rows)
    if not isinstance(cells, np.ndarray) or cells.ndim != 2:
        raise ValueError("a list must hold rows of one length, or records with the names of the columns.")
    return _of_array(cells)


def _of_records(records: Sequence[Any], names: Sequence[str] | None, strict: bool) -> RawTable:
    fields = tuple(records[0]) if names is None else tuple(names)
    if not strict and any(set(record) != set(fields) for record in records):
        missing = [repr(name) for name in fields if any(name not in record for record in records)]
        what = f"lacks {', '.join(missing)}" if missing else "has a field that is not declared"
        raise ValueError(f"a record {what}.")
    return RawTable(fields, [[record.get(name) for record in records] for name in fields], len(records))


def _of_array(table: Any) -> RawTable:
    array = np.asarray(table)
    if array.dtype.names is not None and array.ndim == 1:
        return RawTable(array.dtype.names, [array[name] for name in array.dtype.names], len(array))
    if array.ndim != 2:
        raise ValueError(
            "the table must be a data frame, an Arrow table, a dict of columns, records, or an array of two "
            "dimensions. Pass one row as a frame of one row: frame.iloc[[0]] in place of frame.iloc[0]."
        )
    return RawTable(None, list(array.T), len(array))


def _of_frame(frame: Any) -> RawTable:
    if hasattr(frame, "iloc"):
        columns = [frame.iloc[:, place] for place in range(frame.shape[1])]
    else:
        columns = frame.get_columns()
    return RawTable(tuple(frame.columns), columns, len(frame))


def _of_arrow(table: Any) -> RawTable:
    return RawTable(tuple(table.schema.names), list(table.columns), table.num_rows)


_FRAMES: tuple[tuple[str, str, Callable[[Any], RawTable]], ...] = (
    ("pandas", "DataFrame", _of_frame),
    ("polars", "DataFrame", _of_frame),
    ("pyarrow", "Table", _of_arrow),
    ("pyarrow", "RecordBatch", _of_arrow),
)


def cells_of(column: Any) -> Any:
    """Return the cells of one column of a table.

    Parameters
    ----------
    column : array, list, or column of pandas, polars or pyarrow

    Returns
    -------
    cells : ndarray of shape (n,), list or CodedColumn
        The type of an array is one of numbers, booleans, text, objects or dates.

    Raises
    ------
    ColumnTypeError
        A column may not have this type: masked arrays, durations, more than one dimension.
    """
    if isinstance(column, np.ma.MaskedArray):
        raise ColumnTypeError("it must not be a masked array: write NaN where a value is missing.")
    if isinstance(column, list):
        return column
    for library, kind, read in _COLUMNS:
        if library in sys.modules and isinstance(column, getattr(sys.modules[library], kind, ())):
            return read(column)
    if isinstance(column, tuple | range):
        return list(column)
    array = np.asarray(column)
    if array.ndim != 1:
        raise ColumnTypeError("it must have one dimension.")
    return array


def _cells_of_pandas(series: Any) -> Any:
    dtype = series.dtype
    if hasattr(dtype, "categories") and hasattr(series, "cat"):
        categories = series.cat.categories.to_series()
        codes = series.cat.codes.to_numpy().astype(np.intp)
        return CodedColumn(codes, cells_of(categories), declared=True, ordered=bool(series.cat.ordered))
    if hasattr(dtype, "pyarrow_dtype"):
        return _cells_of_arrow(series.array.__arrow_array__())
    if isinstance(dtype, np.dtype):
        return series.to_numpy()
    if dtype.kind == "b":
        return _booleans(series.to_numpy(dtype=np.float64, na_value=np.nan))
    if dtype.kind in "iuf":
        return series.to_numpy(dtype=np.float64, na_value=np.nan)
    if dtype.kind == "M":
        return series.to_numpy(dtype="M8[us]")
    _refuse_durations(dtype)
    return series.to_numpy(dtype=object).tolist()


def _cells_of_polars(series: Any) -> Any:
    dtype = series.dtype
    if dtype.is_numeric() and not dtype.is_decimal():
        return series.to_numpy()
    if str(dtype) == "Boolean":
        import polars

        return _booleans(series.cast(polars.Float64).to_numpy())
    if str(dtype) == "Date" or str(dtype).startswith("Datetime"):
        return series.to_numpy()
    _refuse_durations(dtype)
    if dtype.is_nested():
        raise ColumnTypeError(_NESTED)
    return series.to_list()


def _cells_of_arrow(column: Any) -> Any:
    chunks = column.chunks if hasattr(column, "chunks") else [column]
    cells = [_cells_of_chunk(chunk) for chunk in chunks]
    return cells[0] if len(cells) == 1 else _joined(cells)


def _cells_of_chunk(chunk: Any) -> Any:
    import pyarrow

    kinds, kind = pyarrow.types, chunk.type
    if kinds.is_dictionary(kind):
        codes = _codes(chunk.indices.to_numpy(zero_copy_only=False))
        return CodedColumn(codes, _cells_of_chunk(chunk.dictionary), ordered=bool(kind.ordered))
    if kinds.is_string(kind) or kinds.is_large_string(kind):
        coded = chunk.dictionary_encode()
        codes = _codes(coded.indices.to_numpy(zero_copy_only=False))
        # As bytes: text that is not UTF-8 is an invalid cell, and not an error.
        return CodedColumn(codes, coded.dictionary.cast(pyarrow.large_binary()).to_pylist())
    if kinds.is_boolean(kind):
        return _booleans(chunk.cast(pyarrow.uint8()).to_numpy(zero_copy_only=False))
    if kinds.is_time(kind) or kinds.is_duration(kind):
        raise ColumnTypeError(_DURATIONS)
    if kinds.is_nested(kind):
        raise ColumnTypeError(_NESTED)
    plain = (kinds.is_integer, kinds.is_floating, kinds.is_date, kinds.is_timestamp, kinds.is_null)
    if any(check(kind) for check in plain):
        return chunk.to_numpy(zero_copy_only=False)
    return chunk.to_pylist()


def _booleans(numbers: NDArray[Any]) -> CodedColumn:
    """Return 0, 1 and NaN as booleans, which the type of their categories distinguishes from numbers."""
    return CodedColumn(_codes(numbers), np.array([False, True]))


def _codes(numbers: NDArray[Any]) -> IndexArray:
    if numbers.dtype.kind != "f":
        return numbers.astype(np.intp)
    # Floats are integers of which some are missing.
    return np.where(np.isnan(numbers), -1.0, numbers).astype(np.intp)


def _joined(parts: list[Any]) -> Any:
    """Return chunks as one column: the categories of all chunks are concatenated."""
    if not parts:
        return []
    if all(isinstance(part, np.ndarray) for part in parts):
        return np.concatenate(parts)
    if not all(isinstance(part, CodedColumn) for part in parts):
        return list(chain.from_iterable(parts))
    lists = [as_list(part.categories) for part in parts]
    starts = np.cumsum([0, *map(len, lists[:-1])])
    codes = [
        np.where(part.codes < 0, -1, part.codes + start) for part, start in zip(parts, starts, strict=True)
    ]
    return CodedColumn(np.concatenate(codes), list(chain.from_iterable(lists)), ordered=parts[0].ordered)


def as_list(cells: Any) -> list[Any]:
    """Return the cells from `cells_of` as a list."""
    if isinstance(cells, CodedColumn):
        known = [*as_list(cells.categories), None]
        return [known[code] for code in cells.codes]
    return list(cells)


def _refuse_durations(dtype: Any) -> None:
    if is_temporal_type(dtype):
        raise ColumnTypeError(_DURATIONS)


_COLUMNS: tuple[tuple[str, str, Callable[[Any], Any]], ...] = (
    ("pandas", "Series", _cells_of_pandas),
    ("polars", "Series", _cells_of_polars),
    ("pyarrow", "ChunkedArray", _cells_of_arrow),
    ("pyarrow", "Array", _cells_of_arrow),
)
