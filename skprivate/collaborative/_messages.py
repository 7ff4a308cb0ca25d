# SPDX-License-Identifier: BSD-3-Clause
"""Queries, answers and announcements as bytes that any transport can carry; checked when they come back."""

import hashlib
import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import ConsentError
from ..utils._documents import canonical, check_envelope, parse_json

FloatArray = NDArray[np.float64]

_VERSION = 1
_LENGTH_BYTES = 4
QUERY_ID_BYTES = 16
_QUERY, _ANSWER, _CARD = "skprivate-query", "skprivate-answer", "skprivate-site"
#: Cells of a table that is not numeric; anything else has no form in JSON.
_CELLS = (str, bool, int, float, type(None))
#: No site has as many rows, or features.
_MOST = 2**53
#: JSON has no NaN, and None is another missing value.
_NAN = ["nan"]


def new_query_id() -> bytes:
    """Return 16 fresh random bytes: the name of one query, never used twice."""
    return os.urandom(QUERY_ID_BYTES)


@dataclass(frozen=True, eq=False)
class Query:
    """A perturbed query as it travels: rows of features under a fresh id."""

    query_id: bytes
    X: NDArray[Any]
    names: tuple[str, ...] | None = None

    def to_bytes(self) -> bytes:
        """Return the message: floats as they are, any other table as JSON."""
        head = {"id": self.query_id.hex(), "shape": list(self.X.shape), "names": self.names, "table": None}
        if self.X.dtype == np.float64:
            return _pack(_QUERY, head, self.X)
        return _pack(_QUERY, head | {"table": _cells(self.X)}, np.empty(0))

    @classmethod
    def from_bytes(cls, message: bytes) -> "Query":
        """Read a message; ConsentError if it is not exactly a query."""
        head, payload = _unpack(message, _QUERY, ("id", "shape", "names", "table"))
        try:
            X = _table(head, payload)
            names = None if head["names"] is None else tuple(_list(head["names"], str))
            if X.ndim != 2 or not X.size or (names is not None and len(names) != X.shape[1]):
                raise ValueError
            return cls(_query_id(head), X, names)
        except (TypeError, ValueError):
            raise ConsentError("The message is damaged: its rows do not fit its header.") from None

    def rows(self, *, named: bool) -> Any:
        """Return the rows as a model wants them: a data frame if it knows names, or if there is text."""
        if self.names is None or not (named or self.X.dtype == object):
            return self.X
        import pandas as pd

        return pd.DataFrame(self.X, columns=list(self.names)).infer_objects()


@dataclass(frozen=True, eq=False)
class Answer:
    """What one site answers to one query: one value per row, or one per row and class."""

    query_id: bytes
    site: str
    n_samples: int
    values: FloatArray

    def to_bytes(self) -> bytes:
        """Return the message."""
        head = {"id": self.query_id.hex(), "site": self.site, "n_samples": self.n_samples}
        return _pack(_ANSWER, head | {"shape": list(self.values.shape)}, self.values)

    @classmethod
    def from_bytes(cls, message: bytes) -> "Answer":
        """Read a message; ConsentError if it is not exactly an answer."""
        head, payload = _unpack(message, _ANSWER, ("id", "site", "n_samples", "shape"))
        try:
            values = payload.reshape(head["shape"])
            if values.ndim != 2 or type(head["site"]) is not str or type(head["n_samples"]) is not int:
                raise ValueError
            return cls(_query_id(head), head["site"], head["n_samples"], values)
        except (TypeError, ValueError):
            raise ConsentError("The message is damaged: its values do not fit its header.") from None


@dataclass(frozen=True)
class SiteCard:
    """What a site tells when it joins: its name, its numbers of rows and features, its classes. No model."""

    site: str
    n_samples: int
    n_features: int
    classes: tuple[Any, ...] | None = None

    def to_bytes(self) -> bytes:
        """Return the message."""
        return _pack(_CARD, vars(self), np.empty(0))

    @classmethod
    def from_bytes(cls, message: bytes) -> "SiteCard":
        """Read a message; ConsentError if it is not exactly a card."""
        head, _ = _unpack(message, _CARD, ("site", "n_samples", "n_features", "classes"))
        counts, classes = (head["n_samples"], head["n_features"]), head["classes"]
        try:
            classes = None if classes is None else tuple(_list(classes, *_CELLS))
            if type(head["site"]) is not str or not all(type(n) is int and 0 < n < _MOST for n in counts):
                raise ValueError
        except ValueError:
            raise ConsentError("The message is damaged: a site has a name, rows and features.") from None
        return cls(head["site"], *counts, classes)


def _pack(kind: str, head: dict[str, Any], payload: NDArray[Any]) -> bytes:
    body = payload.astype("<f8").tobytes()
    # Against accidents on the way; who alters on purpose is stopped by the transport or by a ConsentBox.
    fields = head | {"format": kind, "version": _VERSION, "sha256": hashlib.sha256(body).hexdigest()}
    header = canonical(fields)
    return len(header).to_bytes(_LENGTH_BYTES, "little") + header + body


def _unpack(message: bytes, kind: str, fields: tuple[str, ...]) -> tuple[dict[str, Any], FloatArray]:
    try:
        content = bytes(message)
        start = _LENGTH_BYTES + int.from_bytes(content[:_LENGTH_BYTES], "little")
        head = parse_json(content[_LENGTH_BYTES:start].decode("ascii"))
        check_envelope(head, kind, _VERSION, (*fields, "sha256"))
        body = content[start:]
        if hashlib.sha256(body).hexdigest() != head["sha256"]:
            raise ValueError("its content is not the one that was sent")
        return head, np.frombuffer(body, dtype="<f8").astype(np.float64)
    except (TypeError, ValueError) as error:
        problem = "it is not text" if isinstance(error, UnicodeDecodeError | TypeError) else str(error)
    raise ConsentError(f"The message is not a {kind} message: {problem}.")


def _query_id(head: dict[str, Any]) -> bytes:
    query_id = bytes.fromhex(head["id"])
    if len(query_id) != QUERY_ID_BYTES:
        raise ValueError("an id has 16 bytes")
    return query_id


def _table(head: dict[str, Any], payload: FloatArray) -> NDArray[Any]:
    if head["table"] is None:
        return payload.reshape(head["shape"])
    rows = [[np.nan if cell == _NAN else cell for cell in _list(row)] for row in _list(head["table"], list)]
    # Before room is made: a short message must not ask for a large table.
    if [[len(rows), len(row)] for row in rows] != [head["shape"]] * len(rows) or not rows:
        raise ValueError
    X = np.empty(head["shape"], dtype=object)
    for i, row in enumerate(rows):
        X[i] = _list(row, *_CELLS)
    return X


def _list(found: Any, *types: type) -> list[Any]:
    """Return what JSON held if it is a list, with items of these types if any are given."""
    if type(found) is not list or (types and not all(type(item) in types for item in found)):
        raise ValueError
    return found


def _cells(X: NDArray[Any]) -> list[list[Any]]:
    """Return a table as lists."""
    rows = [[_cell(value) for value in row] for row in X.tolist()]
    if not all(value is _NAN or isinstance(value, _CELLS) for row in rows for value in row):
        raise TypeError("A query travels as numbers, strings and booleans; encode other columns first.")
    return rows


def _cell(value: Any) -> Any:
    value = value.item() if isinstance(value, np.generic) else value
    return _NAN if isinstance(value, float) and np.isnan(value) else value
