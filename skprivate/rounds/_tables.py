# SPDX-License-Identifier: BSD-3-Clause
"""Reads tables of all forms (arrays, data frames, Arrow) as pieces of features and targets."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._config import get_config
from ..accounting import EstimatedBounds
from ..domain import TableDomain
from ..domain._labels import refuse_label_types
from ..domain._life_data import TRUE_OR_FALSE, EventCoding
from ..utils import as_column, check_characters, is_frame
from ..utils._arguments import exact_names
from ..utils._json_documents import Fields
from ..utils._tables import check_array, kind_of_labels, numbers_of, refuse_cells, refuse_kinds, refuse_text
from ._row_kernels import join_columns

# Rows that are copied out of columns at a time: 26 MB for 100 features.
PIECE_ROWS = 2**15
#: Roles of columns that a schema names only if a table has them: "lower" is written as "lower_column".
OPTIONAL_ROLES = ("lower", "upper", "entry")
_ROLES = ("target", "event", "group")


@dataclass(frozen=True)
class TableColumns:
    """Roles of the columns of a table.

    Attributes
    ----------
    features : tuple of str, or None
        Names of the columns of X, in their order. None: all columns without another role, in the table's
        order.
    target, event, group : str or None
        Names of the other columns. Tuples of arrays need no names.
    lower, upper, entry : str or None
        `lower` and `upper` name the times between which an event happened, in place of target and event;
        `entry` names the time at which observation began.
    coding : EventCoding
        Values of the column of events which mean that the event happened. None declared: the column is
        boolean.
    """

    features: tuple[str, ...] | None = None
    target: str | None = None
    event: str | None = None
    group: str | None = None
    lower: str | None = None
    upper: str | None = None
    entry: str | None = None
    coding: EventCoding = TRUE_OR_FALSE

    def __post_init__(self) -> None:
        given = [name for name in (*(self.features or ()), *self.others) if name is not None]
        if not all(isinstance(name, str) for name in given):
            raise TypeError("features must be a list of names, and target, event, groups and others names.")
        for name in given:
            check_characters(name, "the name of a column")
        if len(set(given)) < len(given):
            raise ValueError("features, target, event and groups must be different columns.")
        if (self.lower is None) is not (self.upper is None) or None not in (self.lower, self.target):
            raise ValueError("name the columns lower and upper together, in place of a target.")
        if self.coding.declared and self.event is None:
            raise ValueError("happened and censored declare the values of event: name its column as well.")
        if self.event is not None and self.target is None:
            raise ValueError("event needs target: the name of the column of times.")
        if self.entry is not None and self.event is None and self.lower is None:
            raise ValueError("entry needs the columns of times: event and target, or lower and upper.")

    @property
    def others(self) -> tuple[str, ...]:
        """Columns that are not features."""
        names = (self.target, self.event, self.lower, self.upper, self.entry, self.group)
        return tuple(name for name in names if name is not None)

    @property
    def has_target(self) -> bool:
        """Whether one or several columns are named as the target."""
        return self.target is not None or self.lower is not None

    @property
    def roles(self) -> tuple[str, ...]:
        """Fields of a target of several columns; empty if it is one column."""
        found = tuple(role for role, name in self.named.items() if name is not None)
        return found if len(found) > 1 else ()

    @property
    def named(self) -> dict[str, str | None]:
        """Column names of the target's fields, by role."""
        others = {role: getattr(self, role) for role in OPTIONAL_ROLES}
        return {"event": self.event, "time": self.target, **others}

    def refuse_codes(self, is_boolean: bool) -> None:
        """Raise TypeError if a column of events is not boolean and no values are declared."""
        if self.event is not None and not self.coding.declared and not is_boolean:
            raise TypeError(
                f"column {self.event!r} is not boolean. Declare the value which means that the event "
                f"happened (2 if 1 means censored, 1 if 0 does): TableSource(..., event={self.event!r}, "
                "happened=...)."
            )

    def refuse_types(self, column_of: Callable[[str], Any], classes: Any) -> None:
        """Raise TypeError if a column holds numbers where text is declared, or text where numbers are."""
        if self.target is not None:
            refuse_label_types(column_of(self.target), classes, f"column {self.target!r}")
        if (
            self.event is not None
            and self.coding.is_text
            and kind_of_labels(column_of(self.event)) == "numbers"
        ):
            raise TypeError(f"column {self.event!r} holds numbers, and happened is text: declare numbers.")

    def choose(self, names: list[Any]) -> tuple[str, ...]:
        """Return the features among the columns of a table; each must exist exactly once."""
        chosen = self.features or tuple(name for name in names if name not in self.others)
        missing = sorted(str(name) for name in (*chosen, *self.others) if names.count(name) != 1)
        if missing:
            raise ValueError(f"a batch must have each of these columns once: {', '.join(missing)}.")
        return chosen

    def choose_features(self, frame: Any) -> list[Any]:
        """Return the columns of a frame that holds only features."""
        names = list(frame.columns)
        if self.features is None or not has_names(frame):
            return names
        if sorted(names) != sorted(self.features):
            raise ValueError(f"the columns of X must be {', '.join(sorted(self.features))}.")
        return list(self.features)

    def to_dict(self) -> dict[str, Any]:
        """Return JSON values."""
        features = None if self.features is None else list(self.features)
        names = {name: getattr(self, name) for name in _ROLES}
        others = {f"{role}_column": getattr(self, role) for role in OPTIONAL_ROLES}
        declared = {name: list(values) for name, values in vars(self.coding).items()}
        return {"features": features, **names, **others, **declared}

    @staticmethod
    def _names() -> list[str]:
        others = (f"{role}_column" for role in OPTIONAL_ROLES)
        return ["features", *_ROLES, *others, "happened", "censored"]

    @classmethod
    def _of_fields(cls, fields: Fields) -> "TableColumns":
        features = fields.maybe(fields.texts, "features")
        names: dict[str, Any] = {name: fields.maybe(fields.text, name) for name in _ROLES}
        names |= {role: fields.maybe(fields.text, f"{role}_column") for role in OPTIONAL_ROLES}
        coding = EventCoding.of(*(fields.items(name) or None for name in ("happened", "censored")))
        return cls(None if features is None else tuple(features), **names, coding=coding)


@dataclass(frozen=True, eq=False, repr=False)
class Piece:
    """Some rows of a table: features as numbers, the other columns as they are."""

    X: NDArray[Any]
    target: Any = None
    group: Any = None
    is_finite: bool = False  # False: not known

    @classmethod
    def joined(cls, pieces: "list[Piece]") -> "Piece | None":
        """Return all rows of these pieces; None where there is no piece."""
        if len(pieces) < 2:
            return pieces[0] if pieces else None
        columns = zip(*((piece.X, piece.target, piece.group) for piece in pieces), strict=True)
        whole: list[Any] = [None if parts[0] is None else np.concatenate(parts) for parts in columns]
        return cls(*whole)


def read_pieces(
    table: Any, columns: TableColumns, domain: TableDomain | None = None, classes: Any = None
) -> Iterator[Piece]:
    """Read a table of any form in pieces.

    Parameters
    ----------
    table : tuple, data frame or Arrow data
        ``(X, y)`` or ``(X, y, groups)``, or X alone; a frame of pandas or polars; or an object with
        ``__arrow_c_stream__`` or ``__arrow_c_array__``, which needs pyarrow and is never held whole.
    columns : TableColumns
    domain : TableDomain, default=None
        Declaration of the columns of X; None: numbers.
    classes : array-like, default=None
        Classes of a target of labels, which must have their type.

    Yields
    ------
    piece : Piece
        Features are numbers, which may be NaN or infinite. In strict mode, NaN replaces every cell that is
        not a number.

    Raises
    ------
    ImportError
        The table is Arrow data, and pyarrow is not installed.
    TypeError, ValueError
        Columns are missing, or, outside strict mode, a cell is not a number. No message repeats a value.
    """
    is_named = has_names(table)
    if not is_named and not holds_arrow(table):
        parts = table if isinstance(table, tuple) else (table,)
        refuse_label_types(parts[1] if len(parts) > 1 else None, classes)
        yield _of_arrays(*parts, columns=columns, domain=domain)
        return
    found, tables = (list(table.columns), [table]) if is_named else arrow_records(table)
    names = columns.choose(list(found))
    wanted = columns.others if domain is not None else (*names, *columns.others)
    for part in tables:
        column_of = part.__getitem__ if is_named else part.column
        columns.refuse_types(column_of, classes)
        refuse_text(part, takes_domain=True, columns=names if domain is None else ())
        values = {
            name: frame_column(part, name) if is_named else arrow_columns(part, (name,))[0]
            for name in wanted
            if name != columns.group
        }
        if columns.group is not None:
            values[columns.group] = exact_names(column_of(columns.group))
        encoded = None
        if domain is not None:
            encoded = domain.encode(part[list(names)] if is_named else part.select(list(names)))
        yield from _slices(values, names, columns, encoded)


def _of_arrays(
    X: Any, y: Any = None, groups: Any = None, *, columns: TableColumns, domain: TableDomain | None = None
) -> Piece:
    if domain is not None:
        X = domain.encode(X)
    elif is_frame(X):
        names = columns.choose_features(X)
        refuse_text(X, takes_domain=True, columns=names)
        X = np.column_stack([column_numbers(frame_column(X, name), f"column {name!r}") for name in names])
    else:
        X = read_array(X)
    target = None if y is None else y if is_frame(y) or hasattr(y, "dtype") else as_column(y)
    if isinstance(target, np.ndarray) and target.ndim == 2 and target.shape[1] == 1:
        target = target[:, 0]
    if target is not None and len(target) != len(X):
        raise ValueError("y must have one value per row of X.")
    return Piece(X, target, None if columns.group is None else groups)


def _slices(
    values: dict[str, NDArray[Any]],
    names: tuple[str, ...],
    columns: TableColumns,
    encoded: NDArray[Any] | None = None,
) -> Iterator[Piece]:
    """Copy columns side by side, some rows at a time: they stay in the cache while a plan reads them."""
    if not values and encoded is None:
        raise ValueError("a batch has no columns.")
    n_rows = len(next(iter(values.values()))) if encoded is None else len(encoded)
    for first in range(0, max(n_rows, 1), PIECE_ROWS):
        here = slice(first, first + PIECE_ROWS)
        part = {name: column[here] for name, column in values.items()}
        X, is_finite = _numbers(part, names, columns) if encoded is None else (encoded[here], False)
        group = None if columns.group is None else part[columns.group]
        yield Piece(X, _target_of(part, columns, len(X)), group, is_finite)


def _target_of(values: dict[str, NDArray[Any]], columns: TableColumns, n_rows: int) -> Any:
    if not columns.roles:
        return None if columns.target is None else values[columns.target]
    fields = {role: values[str(columns.named[role])] for role in columns.roles}
    if columns.coding.declared:
        # A missing cell turns booleans into objects; that the types are those of the coding is known.
        events = fields["event"].astype(object) if columns.coding.is_text else fields["event"]
        found = columns.coding.read(events, repr(columns.event))
        happened = found == 1
        # In strict mode, unknown events stay unknown: the fit counts them as missing.
        known = ~np.isnan(found)
        fields["event"] = happened if known.all() else np.array(np.where(known, happened, None), dtype=object)
    target = np.empty(n_rows, dtype=[(role, field.dtype) for role, field in fields.items()])
    for role, field in fields.items():
        target[role] = field
    return target


def _numbers(
    values: dict[str, NDArray[Any]], names: tuple[str, ...], columns: TableColumns
) -> tuple[NDArray[Any], bool]:
    """Return the features side by side, and whether all of them are finite."""
    if not names:
        return np.empty((len(values[columns.others[0]]), 0)), True
    features = [
        np.ascontiguousarray(column_numbers(values[name], f"column {name!r}"), dtype=np.float64)
        for name in names
    ]
    X = np.empty((len(features[0]), len(names)))
    return X, join_columns(features, X)


def count_columns(bounds: Any) -> int | None:
    """Return the number of columns of the bounds; None for one pair for all columns."""
    if isinstance(bounds, Mapping):
        return len(bounds)
    sides = bounds if isinstance(bounds, tuple | list | np.ndarray | EstimatedBounds) else ()
    counts = {len(side) for side in sides if not isinstance(side, Real) and np.ndim(side) == 1}
    if len(counts) > 1:
        raise ValueError("bounds_X: both sides must be arrays of one length.")
    return counts.pop() if counts else None


def read_array(table: Any) -> NDArray[Any]:
    """Return a table without names as numbers; in strict mode, NaN replaces cells that are not numbers."""
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
    """Return whether this is a data frame of pandas or polars whose columns have names."""
    is_frame = hasattr(table, "columns") and hasattr(table, "to_numpy")
    # Numbers of columns are not names.
    return is_frame and all(isinstance(name, str) for name in table.columns)


def holds_arrow(table: Any) -> bool:
    """Return whether this exports Arrow data and is no data frame."""
    is_frame = hasattr(table, "columns") and hasattr(table, "to_numpy")
    return not is_frame and (hasattr(table, "__arrow_c_stream__") or hasattr(table, "__arrow_c_array__"))


def frame_column(frame: Any, name: str) -> NDArray[Any]:
    """Return one column of a data frame as an array; masks, dates and the like are refused."""
    # An array of a column has neither its mask nor its time zone.
    refuse_kinds(frame[name], f"column {name!r}")
    values = np.asarray(frame[name])
    # Text of polars with a missing cell becomes objects, so all text does.
    return values.astype(object) if values.dtype.kind in "UT" else values


def arrow_records(batch: Any) -> tuple[list[str], Iterable[Any]]:
    """Return the names of the columns, and the record batches."""
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
    """Return columns of a record batch as arrays."""
    return [record.column(name).to_numpy(zero_copy_only=False) for name in names]


def column_numbers(values: NDArray[Any], name: str) -> NDArray[Any]:
    """Return real numbers; the error repeats no value."""
    if type(values) is np.ndarray and values.dtype == np.float64:
        # Every value is valid; the checks below take as long as copying the numbers.
        return values
    if get_config()["strict"]:
        return numbers_of(values, name)
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


NumberPiece = tuple[NDArray[Any], NDArray[Any]]


def iter_batches(
    batch: Any,
    y: Any = None,
    *,
    features: Sequence[str] | None = None,
    target: str | None = None,
    domain: TableDomain | None = None,
) -> tuple[tuple[str, ...] | None, Iterator[NumberPiece]]:
    """Read one batch of any form.

    Parameters
    ----------
    batch : array-like, data frame or Arrow data
        An array of shape (n, n_features), or a table with named columns, the target's included: a data frame
        of pandas or polars, or an object with ``__arrow_c_stream__`` or ``__arrow_c_array__`` (a pyarrow
        table, record batch or reader, a DuckDB result, ...). Arrow data needs pyarrow, and is never held as a
        whole.
    y : array-like of shape (n,), default=None
        Target. None: the column `target`.
    features : sequence of str, default=None
        Names of the columns of X, in their order. None: all but the target's, in the table's order.
    target : str, default=None
        Name of the target's column.
    domain : TableDomain, default=None
        Declaration of the columns; None: numbers.

    Returns
    -------
    names : tuple of str, or None
        Names of the columns of X; None for arrays.
    pieces : iterator of (X, y)
        One piece for arrays, otherwise pieces of at most 2^15 rows. Values are numbers, which may be NaN or
        infinite. A cell that is not a number becomes NaN in strict mode, and is an error otherwise.

    Raises
    ------
    ImportError
        The batch is Arrow data, and pyarrow is not installed.
    ValueError
        There is no target, a column is missing, or its values are not numbers; also while pieces are read.

    Examples
    --------
    >>> import pandas as pd
    >>> from skprivate.rounds._tables import iter_batches
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
        return names, _pieces(_number_columns(record, names, str(target)) for record in records)
    if y is None:
        raise ValueError("y is missing: only batches with named columns hold the target themselves.")
    if domain is not None:
        return None, iter([_encoded(batch, y, domain)])
    return None, iter([(read_array(batch), _target_numbers(y))])


def _encoded(table: Any, y: Any, domain: TableDomain) -> NumberPiece:
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
    """Return the names of the features' columns; check that the target's column exists if it is needed."""
    if y is None and target is None:
        raise ValueError("y is missing: pass it, or name the target's column with target=...")
    aside = target if y is None else None
    names = tuple(features) if features is not None else tuple(c for c in columns if c != aside)
    needed = names if aside is None else (*names, aside)
    for name in names:
        check_characters(name, "the name of a column of X")
    # A name of two columns is ambiguous, and refused like a missing one.
    missing = sorted(str(name) for name in needed if columns.count(name) != 1)
    if missing:
        raise ValueError(f"the batch must have each of these columns once: {', '.join(missing)}.")
    return names


def _frame_columns(frame: Any, names: tuple[str, ...], y: Any, target: str | None) -> list[NDArray[Any]]:
    """Return the columns of the features, then the target."""
    series = [*(frame[name] for name in names), frame[target] if y is None else y]
    for name, one in zip((*names, "y"), series, strict=True):
        # An array of a column has neither its mask nor its time zone.
        refuse_kinds(one, f"column {name!r}" if name != "y" else "y")
    columns = [np.asarray(one) for one in series]
    if columns[-1].shape != (len(frame),):
        raise ValueError("y must have one value per row of the batch.")
    return columns


def _number_columns(record: Any, names: tuple[str, ...], target: str) -> list[NDArray[Any]]:
    refuse_text(record, takes_domain=True, columns=names)
    return arrow_columns(record, (*names, target))


def _pieces(tables: Iterable[list[NDArray[Any]]]) -> Iterator[NumberPiece]:
    """Copy columns side by side, some rows at a time; the target's column is the last one."""
    for columns in tables:
        for first in range(0, len(columns[-1]), PIECE_ROWS):
            here = slice(first, first + PIECE_ROWS)
            y = column_numbers(columns[-1][here], "the target")
            X = np.empty((len(y), len(columns) - 1))
            for j, column in enumerate(columns[:-1]):
                X[:, j] = column_numbers(column[here], f"column {j}")
            yield X, y
