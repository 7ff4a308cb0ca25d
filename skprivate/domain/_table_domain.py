# SPDX-License-Identifier: BSD-3-Clause
"""The declared columns of a table, and the encoding of rows as numbers by the declaration alone."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .._config import get_config
from .._typing import BoolArray, FloatArray, IndexArray, MissingRule
from ..utils import check_characters
from ..utils._json_documents import canonical, restore_json
from ..utils._public_module import public_module
from . import _columns as kinds
from ._public_rows import columns_of_public_rows
from ._readers import Reader, Reading, reader_of, refusal
from ._table_columns import ColumnTypeError, RawTable, cells_of, read_table
from ._text_values import DAY, Marker, check_list

# Number of names in a message or a repr.
_SHOWN = 6


@dataclass(frozen=True)
class ColumnGroup:
    """The encoded columns of one declared column.

    Attributes
    ----------
    name : str
        Name of the declared column.
    start, stop : int
        Its encoded columns, without the indicator: one, or one for each level without an order.
    n_levels : int
        Number of levels without an order; 0 for numbers, dates, booleans and ordered levels.
    indicator : int or None
        The encoded column that is 1 if the cell is missing; None without such a column.
    fill : float or None
        The declared encoded value of a missing cell; None if no value is declared.
    absent : bool
        Whether a row with a missing cell is 0 in all columns of levels.
    values : tuple of float
        All values of the encoded column, ascending, for booleans and ordered levels; otherwise empty.
    """

    name: str
    start: int
    stop: int
    n_levels: int = 0
    indicator: int | None = None
    fill: float | None = None
    absent: bool = False
    values: tuple[float, ...] = ()

    @property
    def end(self) -> int:
        """The first encoded column after this declared column."""
        return self.stop + (self.indicator is not None)


def groups_of(columns: Mapping[str, kinds.Column]) -> tuple[ColumnGroup, ...]:
    """Return the groups of declared columns, in order."""
    groups: list[ColumnGroup] = []
    for name, column in columns.items():
        start = groups[-1].end if groups else 0
        width = len(column.suffixes())
        unordered = isinstance(column, kinds.CategoricalColumn) and not column.ordered
        groups.append(
            ColumnGroup(
                name,
                start,
                start + width,
                n_levels=width if unordered else 0,
                indicator=start + width if column.missing == "indicator" else None,
                fill=None if column.fill is None else column.fill_value(),
                absent=unordered and column.missing == "fill" and column.fill is None,
                values=_values_of(column),
            )
        )
    return tuple(groups)


def _values_of(column: kinds.Column) -> tuple[float, ...]:
    """Return all encoded values of booleans and ordered levels."""
    ordered = isinstance(column, kinds.CategoricalColumn) and column.ordered
    if not (ordered or isinstance(column, kinds.BooleanColumn)):
        return ()
    values = {float(value) for value in range(int(column.encoded_bounds()[1]) + 1)}
    fill = column.fill_value()
    return tuple(sorted(values | ({fill} if column.missing == "fill" and fill is not None else set())))


@public_module("skprivate.domain")
class TableDomain:
    """Public knowledge about a table: the kind, the bounds or levels, and the missing cells of each column.

    A private estimator must not learn any of this from private rows. With a domain it accepts the table as it
    is, with text, categories, booleans, dates and missing cells.

    Parameters
    ----------
    columns : dict
        Name of each column, in order, and its declaration. ``(lower, upper)`` of two numbers is a
        `NumberColumn`, and of two dates, or of ISO 8601 text, a `DateColumn`. A list of levels is a
        `CategoricalColumn`, and ``bool`` a `BooleanColumn`. Pass an object of one of these classes to declare
        more.
    missing_values : sequence of str, int or float, default=()
        Values in every column that mean a missing one, in addition to None, NaN and empty text.
    missing : {"error", "fill", "indicator"}, default=None
        Rule for missing cells in the columns that do not declare one; see `NumberColumn`. None: if values are
        declared that mean a missing one, "fill" for numbers and dates (the middle of the bounds), and
        "indicator" for levels and booleans (a separate column); otherwise "error".

    Attributes
    ----------
    names : tuple of str
        Names of the columns, in order.
    columns : mapping
        The declaration of each column, by name, including the table's declaration of missing values.
    encoded_names : tuple of str of length d
        Names of the encoded columns: the name of the column if it is encoded as one column, "job=clerk" for a
        level, "job:missing" for an indicator, "celsius:arrhenius" for a stress.
    bounds : (lower, upper)
        Public bounds of the encoded columns, two read-only arrays of float64 of shape (d,).
    groups : tuple of objects
        Encoded columns of each column, in order: ``name``; ``start`` and ``stop``, its encoded columns
        without the indicator; ``n_levels``, the number of levels without an order, or 0; ``indicator``, the
        encoded column that is 1 if the cell is missing, or None.

    Raises
    ------
    TypeError, ValueError
        A declaration is contradictory, a name is not text, or two encoded columns have the same name. The
        message names the column.

    See Also
    --------
    skprivate.preprocessing.DomainEncoder : The same as a step of a pipeline.

    Notes
    -----
    **Privacy.** Everything in a domain must be public: from a data sheet, a regulation, common knowledge, or
    public rows (`from_public`). The encoded values of a row depend on the domain and on that row alone, bit
    for bit. They do not depend on other rows or on the library of the table. In strict mode
    (`skprivate.set_config`) no cell makes `encode` raise an error.

    Spaces around text are ignored in cells, levels and missing values: raw CSV files hold " Private". Case
    matters, except in booleans.

    Examples
    --------
    >>> from skprivate.domain import TableDomain
    >>> domain = TableDomain(
    ...     {"age": (17, 90), "job": ["clerk", "smith"], "married": bool,
    ...      "since": ("2001-01-01", "2020-12-31")}, missing_values=["?"])
    >>> domain.encode([{"age": "39", "job": " smith", "married": "yes", "since": "2001-01-03"},
    ...                {"age": None, "job": "?", "married": False, "since": "2020-12-31"}])
    array([[3.900e+01, 0.000e+00, 1.000e+00, 0.000e+00, 1.000e+00, 0.000e+00,
            2.000e+00],
           [5.350e+01, 0.000e+00, 0.000e+00, 1.000e+00, 0.000e+00, 0.000e+00,
            7.304e+03]])
    >>> domain.encoded_names
    ('age', 'job=clerk', 'job=smith', 'job:missing', 'married', 'married:missing', 'since')
    """

    _columns: dict[str, kinds.Column]

    def __init__(
        self,
        columns: Mapping[str, Any],
        *,
        missing_values: Sequence[Marker] = (),
        missing: MissingRule | None = None,
    ) -> None:
        if not isinstance(columns, Mapping):
            raise TypeError("columns must be a dict: name -> declaration.")
        if not columns:
            raise ValueError(
                "columns must hold at least one column. fit(None, y) fits lifetimes of one population."
            )
        markers = check_list(missing_values, "missing_values")
        found = {}
        for name, declaration in columns.items():
            if not isinstance(name, str) or not name:
                raise TypeError("names of columns must be text that is not empty.")
            check_characters(name, "the name of a column")
            try:
                found[str(name)] = kinds.column_of(declaration).resolved(missing, markers)
            except (TypeError, ValueError) as error:
                kind = TypeError if isinstance(error, TypeError) else ValueError
                raise kind(f"column {name!r}: {error}") from None
        self.__dict__["_columns"] = found
        if len(set(self.encoded_names)) < len(self.encoded_names):
            raise ValueError("two encoded columns have the same name: rename a column.")

    @classmethod
    def from_public(
        cls,
        table: Any,
        *,
        columns: Mapping[str, Any] | None = None,
        missing_values: Sequence[Marker] = (),
        missing: MissingRule | None = None,
        max_levels: int = 100,
        rounded: bool = False,
    ) -> Self:
        """Return the domain of public rows.

        Parameters
        ----------
        table : as in `encode`
            Public rows. **Never pass private rows**: the smallest and the largest value and every level of
            the table become public.
        columns : dict, default=None
            Declarations that are used as they are, by name. The other columns are read.
        missing_values, missing : as of the constructor
            A column with missing cells and without a declaration follows the rule for columns with declared
            missing values.
        max_levels : int, default=100
            Largest number of different values in a column of text; more raise ValueError.
        rounded : bool, default=False
            Whether bounds are rounded outwards: numbers to multiples of the power of ten that is at most the
            width, dates to whole years.

        Returns
        -------
        domain : TableDomain
            Columns of numbers, of text of numbers, and of dates have the bounds of the public rows.
            Categories keep their order. Other text becomes levels in alphabetical order. Text of numbers or
            dates in another format becomes a column with that format, if all texts have it.

        Warns
        -----
        UserWarning
            Text is read as levels, but looks like numbers or dates: it fits two formats, such as 03/04/2012,
            or only words such as "n/a" do not fit. The warning shows texts of these public rows.

        Raises
        ------
        TypeError, ValueError
            `table` is not a table, or two columns have the same name. Or a column cannot be declared: it is
            empty, constant, infinite, of mixed types, or has too many levels. The message names the column.

        Examples
        --------
        >>> from skprivate.domain import TableDomain
        >>> TableDomain.from_public({"age": [21, 68], "job": ["smith", "clerk"]}, rounded=True)
        TableDomain(age: 20 to 70, job: 2 levels; 3 encoded columns)
        """
        found = columns_of_public_rows(
            read_table(table), dict(columns or {}), tuple(missing_values), max_levels, rounded
        )
        return cls(found, missing_values=missing_values, missing=missing)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns, in order."""
        return tuple(self._columns)

    @property
    def columns(self) -> Mapping[str, kinds.Column]:
        """Declarations of the columns, by name."""
        return MappingProxyType(self._columns)

    @cached_property
    def encoded_names(self) -> tuple[str, ...]:
        """Names of the encoded columns."""
        return tuple(
            name + end
            for name, column in self._columns.items()
            for end in (*column.suffixes(), *([":missing"] if column.missing == "indicator" else []))
        )

    @cached_property
    def bounds(self) -> tuple[FloatArray, FloatArray]:
        """Public bounds of the encoded columns."""
        limits = [
            limit
            for column in self._columns.values()
            for limit in (
                *[column.encoded_bounds()] * len(column.suffixes()),
                *([(0.0, 1.0)] if column.missing == "indicator" else []),
            )
        ]
        lower, upper = np.array(limits, dtype=np.float64).T.copy()
        lower.flags.writeable = upper.flags.writeable = False
        return lower, upper

    @cached_property
    def groups(self) -> tuple[ColumnGroup, ...]:
        """Encoded columns of each column, in order."""
        return groups_of(self._columns)

    @cached_property
    def _readers(self) -> tuple[Reader, ...]:
        return tuple(map(reader_of, self._columns.values()))

    def encode(self, table: Any, *, strict: bool | None = None) -> FloatArray:
        """Return a table as numbers.

        Parameters
        ----------
        table : data frame, Arrow table, dict, array or list
            A frame of pandas or polars; a table or a record batch of pyarrow; an object with
            ``__arrow_c_stream__``, if pyarrow is installed; a dict of columns; a structured array; a list of
            records (dicts), or one record (a dict of values that are not all lists or arrays). Their names
            must be those of the domain, in any order. An array or a list of rows has the columns in the
            domain's order.
        strict : bool, default=None
            Whether strict mode is on; None: the setting in `skprivate.get_config`.

        Returns
        -------
        X : ndarray of float64 of shape (n, d), in C order
            Finite values: numbers in their unit, also beyond their bounds; transformed stresses; days since
            the lower bound for dates; 0 and 1 for booleans; one column for each level, or the position of
            ordered levels; indicators.

        Raises
        ------
        TypeError
            `table` is not a table, or the type of a column cannot be read: durations, dates without declared
            dates, or numbers if dates are declared, or levels that no number can match.
        ValueError
            The names are not those of the domain. Outside strict mode also: a cell is not a value of its
            column, or it is missing and the rule is ``missing="error"``. The message names the column, and
            shows no value.

        Notes
        -----
        **Privacy.** In strict mode a cell that is not a value of its column counts as missing, and infinity
        as the bound. Errors then depend only on names and types of columns. A list whose rows have different
        lengths, or are not all records, is not a table in any mode.

        Examples
        --------
        >>> from skprivate.domain import TableDomain
        >>> domain = TableDomain({"size": (0, 10), "kind": ["a", "b"]})
        >>> domain.encode({"kind": ["b", "a"], "size": [2, 11.5]})
        array([[ 2. ,  0. ,  1. ],
               [11.5,  1. ,  0. ]])
        """
        strict = get_config()["strict"] if strict is None else strict
        return self._encode(read_table(table, self.names, strict=strict), None if strict else _check_refused)

    def encode_with_nan(self, table: Any) -> FloatArray:
        """Return a table as numbers, with NaN for cells that `encode` refuses outside strict mode.

        Parameters
        ----------
        table : as in `encode`

        Returns
        -------
        X : ndarray of float64 of shape (n, d)
            As from `encode` in strict mode, but with NaN in all encoded columns of a cell that is not a value
            of its column, or is missing with the rule ``missing="error"``.

        Raises
        ------
        TypeError, ValueError
            As in `encode` in strict mode.

        Examples
        --------
        >>> from skprivate.domain import TableDomain
        >>> domain = TableDomain({"size": (0, 10), "kind": ["a", "b"]})
        >>> domain.encode_with_nan({"kind": ["b", "c"], "size": [2, 11.5]})
        array([[ 2. ,  0. ,  1. ],
               [11.5,  nan,  nan]])
        """
        return self._encode(read_table(table, self.names, strict=True), _mark_refused)

    def _encode(self, raw: RawTable, treat_refused: Callable[..., None] | None) -> FloatArray:
        encoded = np.zeros((raw.n_rows, len(self.encoded_names)))
        parts = zip(self.groups, self._columns.values(), self._readers, self._in_order(raw), strict=True)
        for group, column, reader, values in parts:
            reading = _read(group.name, reader, values)
            block = encoded[:, group.start : group.end]
            _write(column, reading.values, block)
            if treat_refused is not None:
                treat_refused(group.name, column, reading, block)
        return encoded

    def read_columns(
        self, table: Any, names: Sequence[str] | None = None
    ) -> dict[str, tuple[FloatArray, BoolArray]]:
        """Return the values of columns before missing cells are filled; no cell raises an error.

        Parameters
        ----------
        table : as in `encode`
        names : sequence of str, default=None
            Columns of the domain; None: all of them.

        Returns
        -------
        columns : dict of (values, unusable)
            Two arrays of shape (n,) for each column. The first holds numbers and stresses, also infinite
            ones; positions of levels from 0; 0 and 1 for booleans; days since the lower bound for dates. It
            is NaN if a cell is missing or not a value of the column. The second is True if a cell is not
            missing, but not a finite value of the column.

        Raises
        ------
        TypeError, ValueError
            As in `encode` in strict mode.

        Notes
        -----
        **Privacy.** The values of a row depend on the domain and on that row alone. Errors depend only on
        names and types of columns.

        Examples
        --------
        >>> from skprivate.domain import TableDomain
        >>> domain = TableDomain({"size": (0, 10), "kind": ["a", "b"]})
        >>> domain.read_columns({"kind": ["b", "c"], "size": [2, None]}, ["kind"])
        {'kind': (array([ 1., nan]), array([False,  True]))}
        """
        wanted = self.names if names is None else names
        found = dict(zip(self.names, self._in_order(read_table(table, self.names, strict=True)), strict=True))
        readers = dict(zip(self.names, self._readers, strict=True))
        readings = {name: _read(name, readers[name], found[name]) for name in wanted}
        return {name: (reading.values, reading.unusable) for name, reading in readings.items()}

    def decode(self, encoded: Any) -> dict[str, NDArray[Any]]:
        """Return the columns of encoded rows.

        Parameters
        ----------
        encoded : array-like of shape (n, d)
            From `encode`.

        Returns
        -------
        columns : dict of ndarray of shape (n,)
            float64 for numbers, datetime64[us] for dates, objects for levels and booleans. A value is NaN,
            NaT or None if an indicator marks it as missing, if a row has no level, or if a boolean is 0.5. A
            filled value is returned as it is.

        Raises
        ------
        ValueError
            `encoded` is not an array of d columns.

        Examples
        --------
        >>> from skprivate.domain import TableDomain
        >>> domain = TableDomain({"size": (0, 10), "kind": ["a", "b"]})
        >>> {name: cells.tolist() for name, cells in domain.decode([[2.0, 0.0, 1.0]]).items()}
        {'size': [2.0], 'kind': ['b']}
        """
        array = np.asarray(encoded, dtype=np.float64)
        if array.ndim != 2 or array.shape[1] != len(self.encoded_names):
            raise ValueError(f"encoded rows must have {len(self.encoded_names)} columns.")
        columns = zip(self.groups, self._columns.values(), strict=True)
        return {
            group.name: decode_column(column, array[:, group.start : group.end]) for group, column in columns
        }

    def _in_order(self, raw: RawTable) -> list[Any]:
        """Return the columns of a table in the domain's order; ValueError if they are not the domain's."""
        if raw.names is None:
            if len(raw.columns) != len(self.names):
                raise ValueError(
                    f"the table has {len(raw.columns)} columns, and the domain declares {len(self.names)}."
                )
            return raw.columns
        found = dict(zip(raw.names, raw.columns, strict=True))
        lacking = [name for name in self.names if name not in found]
        others = [name for name in raw.names if name not in self._columns]
        if lacking or others or len(found) < len(raw.names):
            raise ValueError(_describe_names(lacking, others))
        return [found[name] for name in self.names]

    def to_dict(self) -> dict[str, Any]:
        """Return the domain as plain lists, numbers and texts; `from_dict` restores it."""
        return kinds.columns_to_dict(self._columns)

    @classmethod
    def from_dict(cls, state: Any) -> Self:
        """Restore a domain from `to_dict`.

        Parameters
        ----------
        state : dict

        Returns
        -------
        domain : TableDomain

        Raises
        ------
        ValueError
            The value does not come from `to_dict`.
        """
        try:
            made = cls(kinds.columns_from_dict(state))
        except TypeError as error:
            raise ValueError(str(error)) from None
        if made.to_dict() != state:
            raise ValueError("it is not in the one form that is written")
        return made

    def to_json(self) -> str:
        """Return the domain as JSON text, ASCII on one line; `from_json` restores it."""
        return canonical(self.to_dict()).decode("ascii")

    @classmethod
    def from_json(cls, source: str | bytes | os.PathLike[str]) -> Self:
        """Restore a domain from the text of `to_json`.

        Parameters
        ----------
        source : str, bytes or path-like
            JSON, or the path of a file that holds it. A str that begins with "{" is JSON, and any other str
            the name of a file. A byte-order mark is accepted.

        Returns
        -------
        domain : TableDomain

        Raises
        ------
        TypeError
            `source` is of another type.
        ValueError
            It is neither JSON nor the name of a file, or not a domain. The message repeats no content.
        OSError
            The file cannot be read.
        """
        return restore_json(source, cls.from_dict, "domain")

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("A TableDomain is read-only.")

    def __delattr__(self, name: str) -> None:
        raise AttributeError("A TableDomain is read-only.")

    def __eq__(self, other: object) -> bool:
        return self.to_json() == other.to_json() if isinstance(other, TableDomain) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.to_json())

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __getstate__(self) -> dict[str, Any]:
        return self.to_dict()

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__["_columns"] = type(self).from_dict(state)._columns

    def __repr__(self) -> str:
        shown = [f"{name}: {_describe(column)}" for name, column in list(self._columns.items())[:_SHOWN]]
        more = ["..."] if len(self._columns) > _SHOWN else []
        return f"TableDomain({', '.join(shown + more)}; {len(self.encoded_names)} encoded columns)"


def _describe(column: kinds.Column) -> str:
    if isinstance(column, kinds.CategoricalColumn):
        return f"{len(column.levels)}{' ordered' if column.ordered else ''} levels"
    if column.kind == "boolean":
        return "true or false"
    ends = [getattr(column, side) for side in ("lower", "upper")]
    return " to ".join(end if isinstance(end, str) else f"{end:g}" for end in ends)


def _describe_names(lacking: list[str], others: list[Any]) -> str:
    said = [
        f"{what} {', '.join(map(repr, names[:_SHOWN]))}{', ...' if len(names) > _SHOWN else ''}"
        for what, names in (("lacks", lacking), ("has columns that the domain does not declare:", others))
        if names
    ]
    remedy = (
        " Declare these, or pass the declared columns alone: table[list(domain.names)]." if others else ""
    )
    return f"the table {' and '.join(said) or 'has a column twice'}.{remedy}"


def _read(name: str, reader: Reader, values: Any) -> Reading:
    try:
        return reader.read(cells_of(values))
    except ColumnTypeError as error:
        raise TypeError(f"column {name!r}: {error}") from None
    except (TypeError, ValueError, ArithmeticError):
        # The message of another library may show a value.
        raise ValueError(f"column {name!r} cannot be read.") from None


def _mark_refused(name: str, column: kinds.Column, reading: Reading, block: FloatArray) -> None:
    """Write NaN for cells that are not values; infinity is the bound on its side."""
    block[np.isnan(reading.values) & (reading.unusable | (column.missing == "error"))] = np.nan


def _check_refused(name: str, column: kinds.Column, reading: Reading, block: FloatArray) -> None:
    """Refuse cells that are not values of the column."""
    if reading.unusable.any():
        raise ValueError(refusal(name, column))
    if column.missing == "error" and np.isnan(reading.values).any():
        raise ValueError(
            f"column {name!r} holds a missing value, and its declaration does not say what becomes of it: "
            "declare missing='fill' or missing='indicator'."
        )


def _write(column: kinds.Column, values: FloatArray, out: FloatArray) -> None:
    """Write the encoded values of one column; `out` is zero."""
    absent: BoolArray = np.isnan(values)
    fill = column.fill_value()
    if isinstance(column, kinds.CategoricalColumn) and not column.ordered:
        rows = np.flatnonzero(~absent)
        out[rows, values[rows].astype(np.intp)] = 1.0
        if fill is not None:
            out[absent, int(fill)] = 1.0
    else:
        lower, upper = column.read_bounds()
        finite = np.where(np.isposinf(values), upper, np.where(np.isneginf(values), lower, values))
        out[:, 0] = np.where(absent, np.nan if fill is None else fill, column.encode_values(finite))
    if column.missing == "indicator":
        out[:, -1] = absent


def decode_column(column: kinds.Column, encoded: FloatArray) -> NDArray[Any]:
    """Return the values of a column.

    Parameters
    ----------
    column : Column
    encoded : ndarray of shape (n, width)
        From `TableDomain.encode`, with the indicator last if there is one.

    Returns
    -------
    values : ndarray of shape (n,)
        float64, datetime64[us] or objects; NaN, NaT or None if the value is missing.
    """
    absent: BoolArray = np.logical_not(np.isfinite(encoded).all(axis=1))
    if column.missing == "indicator":
        absent = absent | (encoded[:, -1] > 0.5)
    # Impossible values are missing; here they only must not raise an error.
    usable = np.where(np.isfinite(encoded), encoded, 0.0)
    if isinstance(column, kinds.CategoricalColumn):
        return _levels(column, usable, absent)
    if isinstance(column, kinds.BooleanColumn):
        return _objects((False, True), (usable[:, 0] > 0.5).astype(np.intp), absent | (usable[:, 0] == 0.5))
    if isinstance(column, kinds.DateColumn):
        # Ten thousand years, far from the limits of 64 bits.
        days = np.clip(usable[:, 0], -3.7e6, 3.7e6)
        instants = np.rint(days * DAY).astype(np.int64) + column.start
        return np.where(absent, np.datetime64("NaT", "us"), instants.view("M8[us]"))
    values = column.transform.invert(usable[:, 0]) if isinstance(column, kinds.StressColumn) else usable[:, 0]
    return np.where(absent, np.nan, values)


def _levels(column: kinds.CategoricalColumn, encoded: FloatArray, absent: BoolArray) -> NDArray[Any]:
    if column.ordered:
        places = np.rint(np.clip(encoded[:, 0], 0, len(column.levels) - 1)).astype(np.intp)
        return _objects(column.levels, places, absent)
    of_levels = encoded[:, : len(column.levels)]
    return _objects(column.levels, of_levels.argmax(axis=1), absent | (of_levels.max(axis=1) <= 0.5))


def _objects(values: Any, places: IndexArray, absent: BoolArray) -> NDArray[Any]:
    known = np.empty(len(values) + 1, dtype=object)
    known[:-1] = values
    return known[np.where(absent, len(values), places)]
