# SPDX-License-Identifier: BSD-3-Clause
"""Queries, answers and announcements of sites as messages in bytes, and the digest of a query.

The encoding that is hashed is a sequence of byte strings, each behind its length in 8 bytes (big-endian):

1. the domain and version of the encoding, `_DOMAIN`;
2. the query id, 16 bytes;
3. the roster that is asked: empty, or 32 bytes;
4. the shape: two whole numbers of 8 bytes (big-endian);
5. ``names``, and then one string per column, its name in UTF-8; or ``no names``;
6. ``<f8``, and then one string with all rows, row by row, as little-endian doubles bit for bit; or
   ``cells``, and then one string per cell, row by row, whose first byte is its kind: ``N`` None, ``M``
   missing (NaN), ``B`` a truth value, ``I`` a whole number in decimal digits, ``F`` a double in little-endian
   order, ``S`` text in UTF-8.

**Proof that it is injective.** A sequence of strings behind their lengths is read back in one way. The
strings 1 to 4 are at fixed places and give the number of columns; the fifth says whether so many names
follow; the next says whether one string of rows follows or as many cells as the shape has. Each string is an
injective encoding of its part: doubles go bit for bit, so that -0.0 is not 0.0, and 1, 1.0 and True have
other first bytes; UTF-8 without surrogates is injective, and a NUL is a character as any other. The lengths
are those of whole strings, so that no text can look like two. Hence two queries of one encoding have the same
id, roster, shape, names and cells; SHA-256 is taken to be free of collisions.
"""

import hashlib
import math
import os
import struct
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._typing import FloatArray
from ...exceptions import ConsentError
from ...utils import check_characters
from ...utils._json_documents import canonical, check_envelope, parse_json

_VERSION = 3
_LENGTH_BYTES = 4
_DOUBLE_BYTES = 8
QUERY_ID_BYTES = 16
DIGEST_BYTES = 32
_QUERY, _ANSWER, _CARD = "skprivate-query", "skprivate-answer", "skprivate-site"
#: Cells of a table that is not numeric; anything else has no form in JSON.
_CELLS = (str, bool, int, float, type(None))
#: Up to here a double distinguishes every whole number from the next.
_EXACT = 2**53
#: A platform makes room for a row before it has seen one: 8 MiB for as many features.
_MOST_FEATURES = 2**20
#: JSON has no NaN, and None is another missing value.
_NAN = ["nan"]
# Of the digest.
_DOMAIN = b"skprivate query digest 1"
_KINDS = {type(None): b"N", bool: b"B", int: b"I", float: b"F", str: b"S"}


@dataclass(frozen=True, eq=False)
class Query:
    """A perturbed query as it travels: rows of features under a fresh id, for one roster of sites.

    Numbers are finite. A missing value travels only as a cell of a table (None or NaN of an object array).
    """

    query_id: bytes
    X: NDArray[Any] = field(repr=False)
    names: tuple[str, ...] | None = None
    #: Digest of the sites that are asked; empty where a protocol binds its own roster.
    roster: bytes = b""

    @cached_property
    def digest(self) -> bytes:
        """What is bound: rows, names, id and roster (`query_digest`)."""
        rows = self.X if self.X.dtype == np.float64 else _cells(self.X)
        return query_digest(self.query_id, rows, self.names, self.roster)

    def to_bytes(self) -> bytes:
        """Return the message: floats as they are, other tables as JSON; ValueError for what is no query."""
        numeric = self.X.dtype == np.float64
        _check_query(self.X if numeric else np.array(_cells(self.X), dtype=object))
        if self.names is not None:
            check_columns(self.names, self.X.shape[1])
        table = None
        if not numeric:
            table = [[_NAN if cell != cell else cell for cell in row] for row in _cells(self.X)]
        head = {
            "id": self.query_id.hex(),
            "shape": list(self.X.shape),
            "names": self.names,
            "table": table,
            "roster": self.roster.hex(),
        }
        return _pack(_QUERY, head, self.X if numeric else np.empty(0))

    @classmethod
    def from_bytes(cls, message: bytes) -> "Query":
        """Read a message; ConsentError if it is not exactly a query."""
        head, payload = _unpack(message, _QUERY, ("id", "shape", "names", "table", "roster"))
        with _as_consent_error():
            shape = _shape(head["shape"])
            X = _table(head["table"], shape, payload)
            names = _columns(head["names"], shape[1])
            _check_query(X)
            roster = b"" if head["roster"] == "" else _bytes(head["roster"], DIGEST_BYTES)
            return cls(_bytes(head["id"], QUERY_ID_BYTES), X, names, roster)

    def rows(self, *, named: bool) -> Any:
        """Return the rows as a model wants them: a data frame if it knows names, or if there is text."""
        if self.names is None or not (named or self.X.dtype == object):
            return self.X
        import pandas as pd

        return pd.DataFrame(self.X, columns=list(self.names)).infer_objects()


def make_query(rows: Any, names: Any = None, roster: bytes = b"") -> Query:
    """Return rows under a fresh id: numbers as float64, anything else as cells, a frame with its names.

    Whole numbers that a double would round are cells too: what is asked is what travels.
    """
    refuse_masked(rows, "a query")
    found = column_names(rows)
    names = tuple(map(str, found if found is not None else () if names is None else names))
    table = np.asarray(rows)
    if table.dtype.kind in "iu" and table.size and not -_EXACT <= table.min() <= table.max() <= _EXACT:
        table = table.astype(object)
    elif table.dtype.kind in "iufb":
        table = table.astype(np.float64)
    if table.ndim != 2:
        raise ValueError("a query must be two-dimensional: a row for each prediction.")
    # Fresh random bytes name the query: never used twice.
    return Query(os.urandom(QUERY_ID_BYTES), table, names or None, roster)


def column_names(rows: Any) -> Any:
    """Return the names of a frame's columns, None if it is none."""
    # An Arrow table's `columns` are values. (Of a pandas frame this may be a column.)
    arrow = getattr(rows, "column_names", None)
    return arrow if isinstance(arrow, list) else getattr(rows, "columns", None)


def refuse_masked(values: Any, name: str) -> None:
    """Raise ValueError for a masked array: the values under its mask would be sent."""
    if isinstance(values, np.ma.MaskedArray):
        raise ValueError(f"{name} must not be a masked array: fill it, or pass None or NaN.")


def as_doubles(values: Any, name: str) -> FloatArray:
    """Return real numbers as doubles; TypeError for other types, and for types that a double would round."""
    refuse_masked(values, name)
    array = np.asarray(values)
    if array.dtype.kind not in "biuf" or array.dtype.itemsize > _DOUBLE_BYTES:
        raise TypeError(f"{name} must be real numbers of at most 64 bits.")
    return array.astype(np.float64, copy=False)


@dataclass(frozen=True, eq=False)
class Answer:
    """What one site answers to one query: one value per row, or one per row and class."""

    query_id: bytes
    site: str
    n_samples: int
    values: FloatArray = field(repr=False)
    #: `Query.digest` of what the site was asked.
    asked: bytes

    def to_bytes(self) -> bytes:
        """Return the message."""
        head: dict[str, Any] = {"id": self.query_id.hex(), "site": self.site, "n_samples": self.n_samples}
        head |= {"asked": self.asked.hex(), "shape": list(self.values.shape)}
        return _pack(_ANSWER, head, self.values)

    @classmethod
    def from_bytes(cls, message: bytes) -> "Answer":
        """Read a message; ConsentError if it is not exactly an answer."""
        head, payload = _unpack(message, _ANSWER, ("id", "site", "n_samples", "asked", "shape"))
        with _as_consent_error():
            values = _reshaped(payload, _shape(head["shape"]))
            if np.isinf(values).any():
                raise ValueError("an answer is infinite")
            query_id, asked = _bytes(head["id"], QUERY_ID_BYTES), _bytes(head["asked"], DIGEST_BYTES)
            return cls(query_id, _name(head["site"]), _count(head["n_samples"]), values, asked)


@dataclass(frozen=True)
class SiteCard:
    """What a site announces: its name, numbers of rows and features, classes, names of columns. No model."""

    site: str
    n_samples: int
    n_features: int
    classes: tuple[Any, ...] | None = None
    #: Rows of all sites for which the model smooths (`LocalAverageRegressor`); None: it has no such choice.
    refined_to: int | None = None
    #: Names of the features, in the order of the model; None: they have none.
    columns: tuple[str, ...] | None = None

    def to_bytes(self) -> bytes:
        """Return the message."""
        return _pack(_CARD, vars(self), np.empty(0))

    @classmethod
    def from_bytes(cls, message: bytes) -> "SiteCard":
        """Read a message; ConsentError if it is not exactly a card."""
        head, payload = _unpack(message, _CARD, tuple(one.name for one in fields(cls)))
        with _as_consent_error():
            if payload.size:
                raise ValueError("a card has no values")
            n_features = _count(head["n_features"], _MOST_FEATURES)
            return cls(
                _name(head["site"]),
                _count(head["n_samples"]),
                n_features,
                _classes(head["classes"]),
                None if head["refined_to"] is None else _count(head["refined_to"]),
                _columns(head["columns"], n_features),
            )


def _pack(kind: str, head: dict[str, Any], payload: NDArray[Any]) -> bytes:
    body = payload.astype("<f8").tobytes()
    # Against accidents on the way; who alters on purpose is stopped by the transport or by a ConsentBox.
    envelope = {"format": kind, "version": _VERSION, "sha256": hashlib.sha256(body).hexdigest()}
    header = canonical(head | envelope)
    return len(header).to_bytes(_LENGTH_BYTES, "little") + header + body


def _unpack(message: bytes, kind: str, names: tuple[str, ...]) -> tuple[dict[str, Any], FloatArray]:
    try:
        if not isinstance(message, bytes | bytearray | memoryview):
            raise ValueError("it is not bytes")
        content = bytes(message)
        start = _LENGTH_BYTES + int.from_bytes(content[:_LENGTH_BYTES], "little")
        if start > len(content):
            raise ValueError("it is cut short")
        head = parse_json(content[_LENGTH_BYTES:start])
        check_envelope(head, kind, _VERSION, (*names, "sha256"))
        # One content, one form: no field is there twice, and no number or text is spelt in another way.
        if canonical(head) != content[_LENGTH_BYTES:start]:
            raise ValueError("its header is not in the one form that is written")
        body = content[start:]
        if hashlib.sha256(body).hexdigest() != head["sha256"]:
            raise ValueError("its content is not the one that was sent")
        if len(body) % _DOUBLE_BYTES:
            raise ValueError("its content is no sequence of numbers")
        return head, np.frombuffer(body, dtype="<f8").astype(np.float64)
    except (TypeError, ValueError, RecursionError) as error:
        problem = str(error) if type(error) is ValueError else "it is not text"
    raise ConsentError(f"The message is not a {kind} message: {problem}.")


@contextmanager
def _as_consent_error() -> Iterator[None]:
    """Raise a ConsentError that names the field for a ValueError about one."""
    try:
        yield
    except ValueError as error:
        problem = str(error)
    else:
        return
    raise ConsentError(f"The message is damaged: {problem}.")


def _shape(found: Any) -> tuple[int, int]:
    shape = _list(found, int)
    if len(shape) != 2 or min(shape) < 1:
        raise ValueError("a shape is two positive whole numbers, of rows and of columns")
    return shape[0], shape[1]


def _reshaped(payload: FloatArray, shape: tuple[int, int]) -> FloatArray:
    if payload.size != shape[0] * shape[1]:
        raise ValueError("its values do not fill its shape")
    return payload.reshape(shape)


def _table(table: Any, shape: tuple[int, int], payload: FloatArray) -> NDArray[Any]:
    if table is None:
        return _reshaped(payload, shape)
    if payload.size:
        raise ValueError("a table of cells is followed by numbers")
    rows = [[math.nan if cell == _NAN else cell for cell in _list(row)] for row in _list(table, list)]
    # Before room is made: a short message must not ask for a large table.
    if len(rows) != shape[0] or any(len(row) != shape[1] for row in rows):
        raise ValueError("its cells do not fill its shape")
    X = np.empty(shape, dtype=object)
    for i, row in enumerate(rows):
        X[i] = _list(row, *_CELLS)
    return X


def _check_query(X: NDArray[Any]) -> None:
    """Refuse rows that no query may hold."""
    if X.ndim != 2 or not X.size or X.shape[1] > _MOST_FEATURES:
        raise ValueError("a query has at least one row, and from one to 2^20 columns")
    if X.dtype == np.float64 and not np.isfinite(X).all():
        raise ValueError(
            "the numbers of a query must be finite: pass missing values as cells of an object array"
        )
    if X.dtype == object:
        for cell in X.flat:
            _check_cell(cell)


def check_columns(names: Sequence[str], n_columns: int) -> tuple[str, ...]:
    """Return names of columns; ValueError unless they are as many as the columns, and all different."""
    if len(names) != n_columns or len(set(names)) < len(names):
        raise ValueError("the names of columns must be as many as the columns, and all different")
    for name in names:
        check_characters(name, "the name of a column")
    return tuple(names)


def _columns(found: Any, n_columns: int) -> tuple[str, ...] | None:
    return None if found is None else check_columns(_list(found, str), n_columns)


def _check_cell(cell: Any) -> None:
    if isinstance(cell, str):
        check_characters(cell, "a cell")
    elif isinstance(cell, int | float) and cell == cell and abs(cell) > sys.float_info.max:
        raise ValueError("a cell must not be infinite, or beyond what a double holds")


def _name(found: Any) -> str:
    if type(found) is not str or not found:
        raise ValueError("a site has a name: text that is not empty")
    check_characters(found, "the name of a site")
    return found


def _count(found: Any, most: int = _EXACT) -> int:
    if type(found) is not int or not 0 < found <= most:
        raise ValueError("numbers of rows and of features are positive whole numbers, and not absurdly large")
    return found


def _classes(found: Any) -> tuple[Any, ...] | None:
    if found is None:
        return None
    classes = tuple(_list(found, str, bool, int, float))
    for label in classes:
        _check_cell(label)
    if not classes or len({isinstance(label, str) for label in classes}) > 1:
        raise ValueError("classes must be at least one, and all text or all numbers")
    _check_different(classes)
    return classes


def _check_different(classes: Sequence[Any]) -> None:
    # Not by a set: whole numbers can be chosen to have one hash, and take quadratic time in it.
    if any(label == following for label, following in pairwise(sorted(classes))):
        raise ValueError("classes must be all different")


def _bytes(found: Any, length: int) -> bytes:
    content = bytes.fromhex(found) if type(found) is str else b""
    if len(content) != length or content.hex() != found:
        raise ValueError(f"an id or a digest is {length} bytes in lower-case hexadecimal digits")
    return content


def _list(found: Any, *types: type) -> list[Any]:
    """Return what JSON held if it is a list, with items of these types if any are given."""
    if type(found) is not list or (types and not all(type(item) in types for item in found)):
        raise ValueError("a field holds something of another kind than it should")
    return found


def _cells(X: NDArray[Any]) -> list[list[Any]]:
    """Return a table as lists of plain cells."""
    # Dates in nanoseconds would become whole numbers.
    dated = X.dtype.kind in "mM" or any(isinstance(value, np.datetime64 | np.timedelta64) for value in X.flat)
    rows = [[value.item() if isinstance(value, np.generic) else value for value in row] for row in X.tolist()]
    if dated or not all(type(value) in _CELLS for row in rows for value in row):
        raise TypeError("A query travels as numbers, strings and booleans; encode other columns first.")
    return rows


def query_digest(
    query_id: bytes, X: NDArray[Any] | Sequence[Sequence[Any]], names: Sequence[str] | None, roster: bytes
) -> bytes:
    """Return the digest of a query, the same at every party that was asked the same.

    Parameters
    ----------
    query_id : bytes of length 16
    X : ndarray of float64 of shape (n_queries, n_features), or as many lists of cells
        Cells are None, bool, int, float or str.
    names : sequence of str, or None
        Names of the columns.
    roster : bytes
        Digest of who is asked; empty where the query does not say it.

    Returns
    -------
    digest : bytes of length 32

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate.collaborative._protocols.messages import query_digest
    >>> one, other = (query_digest(bytes(16), np.array([[zero]]), None, b"") for zero in (0.0, -0.0))
    >>> len(one), one == other
    (32, False)
    """
    found = hashlib.sha256()
    for part in _parts(query_id, X, names, roster):
        found.update(len(part).to_bytes(8, "big"))
        found.update(part)
    return found.digest()


def _parts(query_id: bytes, X: Any, names: Sequence[str] | None, roster: bytes) -> Iterator[bytes]:
    yield from (_DOMAIN, query_id, roster, struct.pack(">QQ", len(X), len(X[0])))
    yield b"no names" if names is None else b"names"
    yield from (name.encode() for name in names or ())
    if isinstance(X, np.ndarray):
        yield from (b"<f8", X.astype("<f8").tobytes())
        return
    yield b"cells"
    yield from (_cell(cell) for row in X for cell in row)


def _cell(cell: Any) -> bytes:
    if cell != cell:
        return b"M"
    content = struct.pack("<d", cell) if type(cell) is float else "" if cell is None else str(cell)
    return _KINDS[type(cell)] + (content.encode() if isinstance(content, str) else content)
